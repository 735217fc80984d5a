"""nacre serve: the interface under /v1, who may use it, and what happens when somebody misbehaves."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from helpers import DEADLINE, NACRE, SANITIZED, SLACK, descendants, fd_count, is_alive, status_kb, wait_until
from serving import ServeTest, Unix


class Doors(ServeTest):
    def test_the_document_tells_what_is_served(self):
        """Every path and method of the document is there, and those that are not in it are not."""
        document = self.get("/v1/openapi.json", token=None).json
        self.assertEqual(document["openapi"], "3.1.0")
        methods = {"get", "post", "put", "delete", "patch"}
        for path, item in document["paths"].items():
            real = path.replace("{id}", "bash-0000000000000000")
            for method in methods:
                body = b"{}" if method in ("post", "put", "patch") else None
                head = {"Content-Type": "application/json"}
                if real == "/mcp":
                    head["Accept"] = "application/json, text/event-stream"
                    head["Mcp-Session-Id"] = "0" * 32
                query = "?topics=none" if (method, real) == ("get", "/v1/events") else ""  # a good one has no end
                answer = self.ask(method.upper(), real + query, body, headers=head)
                if method in item:
                    self.assertNotIn(answer.status, (405, 501), (method, path, answer))
                    allowed = set(item[method]["responses"])
                    self.assertIn(str(answer.status), allowed, (method, path, answer))
                else:
                    self.assertEqual(answer.status, 405, (method, path, answer))
                    named = {word.strip().lower() for word in answer.headers["Allow"].split(",")}
                    self.assertEqual(named - {"head"}, set(item))
                    self.assertEqual("head" in named, "get" in item and path != "/mcp")
        for path in ("/index.html", "/v1", "/v1/", "/v1/task", "/shell/", "/v1/tasks/a/b", "/v1/tasks/%41", "//shell",
                     "/v1/../shell", "/V1/run"):
            self.assertEqual(self.get(path).status, 404, path)

    def test_the_document_tells_what_an_answer_is(self):
        """What is asked for in any of these tests is held against the document; here, that this would find something."""
        document = self.interface()
        for method, path in (("GET", "/v1/health"), ("POST", "/v1/run"), ("GET", "/v1/tasks/x"), ("POST", "/mcp")):
            content = document.operation(method, path)["responses"]["200"]["content"]
            self.assertEqual(set(content) - {"text/event-stream"}, {"application/json"}, path)
        good = self.get("/v1/health").json
        self.assertEqual(document.check("GET", "/v1/health", 200, "application/json", json.dumps(good).encode()), [])
        for wrong in ({}, {**good, "status": 1}, {**good, "more": 1}, {**good, "version": None}, []):
            found = document.check("GET", "/v1/health", 200, "application/json", json.dumps(wrong).encode())
            self.assertEqual(len(found), 2 if wrong == {} else 1, (wrong, found))
        self.assertTrue(document.check("GET", "/v1/health", 200, "text/plain", b"ok"))
        self.assertTrue(document.check("GET", "/v1/tasks/x", 404, "application/json", b'{"error":"no"}'))
        self.assertTrue(document.check_event("POST", "/v1/run", "result", {}))
        for name, schema in document.document["components"]["schemas"].items():
            self.assertNotIn("the schema has", str(document.errors({}, schema)), name)

    def test_the_good_answer_of_every_operation_is_held_against_the_document(self):
        self.write_config("workspace.yaml", "profile: workspace\nsandbox: {mode: none}\n")
        seen, events, check = set(), set(), self.check_answer
        document = self.interface()
        operations = {(method, path): operation["responses"]["200"]["content"]
                      for path, item in document.document["paths"].items() for method, operation in item.items()}

        def note(method, path, answer):
            check(method, path, answer)
            if answer.status == 200:
                seen.update((m, p) for m, p in operations if m == method.lower() and
                            document.operation(m, p) is document.operation(method, path))
        self.check_answer = note

        def read(method, path, *args, **options):
            stream, last = self.stream(method, path, *args, **options), None
            while (event := stream.next()) is not None:
                if event["event"] == "asked":
                    self.post(f"/v1/approvals/{event['json']['id']}", {"answer": "once"}, unix=True)
                last = event["event"]
                events.add((method.lower(), path.split("?")[0].replace(task, "{id}"), last))
            return last
        task = self.run_command("read -r x; echo got $x", background=True, pty=True)["task_id"]
        self.post("/shell", {"command": "ls"})
        self.assertEqual(read("POST", "/v1/run", {"argv": ["ls", "-d", "."]}), "result")
        self.assertEqual(read("POST", "/v1/run", {"argv": ["touch", "x"], "profile": "workspace", "approval_timeout_ms": 30000}), "result")
        self.post("/v1/explain", {"command": "ls | rm x"})
        wait_until("it has its terminal", (self.tasks / task / "sizes").exists)
        self.post(f"/v1/tasks/{task}/input", {"text": "it\n"})
        self.assertEqual(read("GET", f"/v1/tasks/{task}/output?follow=1"), "end")
        for path in ("", "/output"):
            self.get(f"/v1/tasks/{task}{path}")
        self.post(f"/v1/tasks/{task}/stop", {})
        for path in ("tasks", "approvals?all=1", "audit", "health", "metrics", "openapi.json"):
            self.get(f"/v1/{path}")
        head = {"Accept": "application/json, text/event-stream"}
        start = self.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}, headers=head)
        self.ask("DELETE", "/mcp", headers={"Mcp-Session-Id": start.headers["Mcp-Session-Id"]})
        elsewhere = {key for key in operations if key[1].startswith(("/v1/sessions", "/v1/console", "/v1/events", "/v1/grants", "/v1/profiles")) or
                     key[1] in ("/v1/me", "/v1/metrics/history", "/v1/tasks/{id}/raw", "/v1/tasks/{id}/screen", "/v1/approvals/{id}",
                                "/v1/doctor", "/v1/audit/verify") and key[0] == "get"}  # test_rooms.py, test_console.py
        operations = {key: content for key, content in operations.items() if key not in elsewhere}
        seen -= elsewhere
        self.assertEqual(seen, {key for key, content in operations.items() if set(content) != {"text/event-stream"}})
        self.assertEqual(events, {(*key, name) for key, content in operations.items() if key[1] != "/mcp"
                                  for name in content.get("text/event-stream", {}).get("x-events", {})})

    def test_the_document_tells_the_members_of_a_request(self):
        document = self.get("/v1/openapi.json").json
        for path, required in (("/v1/run", []), ("/shell", ["command"])):
            body = document["paths"][path]["post"]["requestBody"]
            schema = body["content"]["application/json"]["schema"]
            self.assertEqual(schema["required"], required)
            self.assertFalse(schema["additionalProperties"])
            examples = {"string": "x", "integer": 1, "boolean": True, "array": ["true"], "object": {}}
            for name, member in schema["properties"].items():
                value = member.get("enum", [examples.get(member.get("type"), True)])[0]
                asked = {"command": "true", name: value}
                if name == "argv":
                    del asked["command"]
                answer = self.post(path, asked)
                self.assertNotIn("unknown member", answer.body.decode(), name)
                wrong = self.post(path, {"command": "true", name: {"x": 1} if member.get("type") != "object" else 1})
                self.assertEqual(wrong.status, 400, (name, wrong))
            self.assertEqual(self.post(path, {"command": "true", "surprise": 1}).status, 400)

    def test_a_command_runs_and_the_result_is_whole(self):
        result = self.run_command("echo out; echo err >&2; exit 3")
        self.assertEqual((result["success"], result["exit_code"]), (False, 3))
        self.assertEqual((result["stdout"], result["stderr"]), ("out\n", "err\n"))
        result = self.post("/v1/run", {"argv": ["printf", "%s|", "a b", "c"]}).json
        self.assertEqual(result["stdout"], "a b|c|")
        result = self.run_command("cat; echo $X", input="in\n", env={"X": "y"}, cwd=".")
        self.assertEqual(result["stdout"], "in\ny\n")
        self.assertEqual(self.task_dirs(), [])

    def test_the_owner_needs_no_token_on_the_socket(self):
        self.assertEqual(self.run_command("echo hi", unix=True)["stdout"], "hi\n")
        self.assertEqual(self.get("/v1/tasks", unix=True, token="nonsense").status, 401)
        self.assertEqual(os.stat(self.server.unix).st_mode & 0o777, 0o600)

    def test_without_a_token_there_is_nothing_on_tcp(self):
        document = self.get("/v1/openapi.json", token=None).json
        for path, item in document["paths"].items():
            for method in item:
                answer = self.ask(method.upper(), path.replace("{id}", "x"), token=None,
                                  body=b"{}" if method == "post" else None)
                opened = item[method].get("security") == []
                self.assertEqual(answer.status == 401, not opened, (method, path, answer))
        for given in ("Bearer", "Bearer ", "Basic eDp5", self.token(), "Bearer " + self.token()[:-1],
                      "Bearer " + self.token() + "A", "bearer x y", "Bearer " + "A" * 5000):
            answer = self.ask("GET", "/v1/tasks", token=None, headers={"Authorization": given})
            self.assertEqual(answer.status, 401, given)
            self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
            self.assertEqual(answer.json["error"]["kind"], "auth")
        self.assertEqual(self.get("/v1/tasks?token=" + self.token(), token=None).status, 401)

    def test_the_token_is_private(self):
        for name in ("token", "tokens.json"):
            self.assertEqual(os.stat(self.state / name).st_mode & 0o777, 0o600)
        self.assertNotIn(self.token(), (self.state / "tokens.json").read_text())
        self.assertNotIn(self.token().encode(), self.read_log(self.server))
        os.chmod(self.state / "tokens.json", 0o644)
        self.assertEqual(self.get("/v1/tasks").status, 401)
        os.chmod(self.state / "tokens.json", 0o600)
        self.assertEqual(self.get("/v1/tasks").status, 200)

    def test_a_revoked_token_is_worthless_at_once(self):
        token = self.make_token("bob")
        self.assertEqual(self.get("/v1/tasks", token=token).status, 200)
        listed = json.loads(subprocess.run([NACRE, "token", "list", "--json"], env=self.env, check=True,
                                           stdout=subprocess.PIPE).stdout)
        self.assertEqual([one["name"] for one in listed["tokens"]], ["default", "bob"])
        subprocess.run([NACRE, "token", "revoke", "bob"], env=self.env, check=True)
        self.assertEqual(self.get("/v1/tasks", token=token).status, 401)
        self.assertEqual(self.get("/v1/tasks").status, 200)

    def test_hosts_and_origins_of_others_are_refused(self):
        port = self.server.port
        for host, status in ((f"127.0.0.1:{port}", 200), (f"localhost:{port}", 200), (f"LOCALHOST:{port}", 200),
                             (f"[::1]:{port}", 200), ("localhost", 403), ("evil.example", 403),
                             (f"evil.example:{port}", 403), (f"localhost.evil.example:{port}", 403),
                             (f"127.0.0.1.evil.example:{port}", 403), (f"127.0.0.1:{port + 1}", 403)):
            self.assertEqual(self.get("/v1/health", token=None, headers={"Host": host}).status, status, host)
        for origin, status in ((f"http://localhost:{port}", 200), (f"http://127.0.0.1:{port}", 200), ("null", 403),
                               ("http://evil.example", 403), (f"http://localhost.evil.com:{port}", 403),
                               (f"http://localhost:{port}/", 403), ("", 403), (f"file://localhost:{port}", 403)):
            for unix in (False, True):
                answer = self.get("/v1/health", headers={"Origin": origin}, unix=unix, token="")
                self.assertEqual(answer.status, status, (origin, unix))
                self.assertNotIn("Access-Control-Allow-Origin", answer.headers)

    def test_types_lengths_and_sizes(self):
        json_type = {"Content-Type": "application/json"}
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp"):
            self.assertEqual(self.ask("POST", "/v1/run", b"{}", headers={"Content-Type": kind}).status, 415)
        self.assertEqual(self.ask("POST", "/v1/run", b'{"command":"true"}').status, 415)
        self.assertEqual(self.ask("GET", "/v1/tasks", b"x").status, 400)
        for coding, status in (("gzip", 415), ("identity", 200)):
            answer = self.ask("POST", "/v1/run", b'{"command":"true"}', headers={**json_type, "Content-Encoding": coding})
            self.assertEqual(answer.status, status, coding)
        self.assertEqual(self.ask("POST", "/v1/run", b" " * ((1 << 20) + 1), headers=json_type).status, 413)
        big = json.dumps({"command": "cat | wc -c", "input": "x" * 900000}).encode()
        self.assertEqual(self.ask("POST", "/v1/run", big, headers=json_type).json["stdout"].strip(), "900000")
        answer = self.raw(f"POST /v1/run HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nAuthorization: Bearer "
                          f"{self.token()}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n".encode())
        self.assertIn(b" 411 ", answer.split(b"\r\n")[0])
        self.assertEqual(self.get("/v1/tasks?surprise=1").status, 400)
        self.assertEqual(self.get("/v1/tasks?limit=x").status, 400)
        self.assertEqual(self.get("/v1/tasks?limit=5&limit=6").status, 400)

    def test_who_writes_too_much_reads_why(self):
        """The refusal comes before the body has; a client that writes on must not lose it to a reset."""
        open_files = len(os.listdir(f"/proc/{self.server.pid}/fd"))
        for path, size, token, status in (("/v1/run", 6 << 20, "", 413), ("/mcp", 17 << 20, "", 413), ("/mcp", 17 << 20, "wrong", 401)):
            head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            answer = self.ask("POST", path, b" " * size, token=token, headers=head)
            self.assertEqual(answer.status, status, path)
        wait_until("nothing is open for them", lambda: len(os.listdir(f"/proc/{self.server.pid}/fd")) <= open_files)

    def test_a_head_is_that_of_get_without_a_body(self):
        task = self.run_command("echo hi", background=True)["task_id"]
        wait_until("it has ended", lambda: not self.get(f"/v1/tasks/{task}").json["running"])
        for path, status in (("/v1/health", 200), ("/v1/openapi.json", 200), ("/v1/tasks", 200), (f"/v1/tasks/{task}", 200),
                             (f"/v1/tasks/{task}/output?follow=1", 200), ("/v1/tasks/bash-0000000000000000", 404),
                             ("/nothing", 404), ("/shell", 405), ("/mcp", 405)):
            answer = self.raw(f"HEAD {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nAuthorization: Bearer "
                              f"{self.token()}\r\nConnection: close\r\n\r\n".encode())
            head, _, body = answer.partition(b"\r\n\r\n")
            self.assertEqual((int(head.split()[1]), body), (status, b""), path)
            self.assertRegex(head, rb"Content-Length: [1-9]", path)

    def test_a_whole_number_may_have_a_fraction_of_zero(self):
        """It is an integer to JSON Schema, and all that some clients can write."""
        self.assertTrue(self.post("/shell", {"command": "pwd", "timeout": 30.0}).json["success"])
        self.assertTrue(self.run_command("true", timeout_ms=5e3, approval_timeout_ms=0.0)["success"])
        self.assertEqual(self.post("/shell", {"command": "pwd", "timeout": 1.5}).status, 400)

    def test_a_chunked_body_is_taken(self):
        head = (f"POST /shell HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nAuthorization: Bearer {self.token()}"
                "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        body = b'{"command":"pwd"}'
        chunks = b"".join(b"%x\r\n%s\r\n" % (1, body[i:i + 1]) for i in range(len(body))) + b"0\r\n\r\n"
        self.assertIn(b'"success":true', self.raw(head.encode() + chunks))

    def test_a_rate_is_kept_and_told(self):
        server = self.serve("--rate", "5", unix=self.dir / "rate.sock")
        answers, refused, began = [], [], time.monotonic()
        while len(refused) < 6:  # a slow machine stays within the rate for a while
            answers.append(self.get("/v1/tasks", server=server))
            refused += [a for a in answers[-1:] if a.status == 429]
            taken = len(answers) - len(refused)
            self.assertLessEqual(taken, 10 + 5 * (time.monotonic() - began) + 1)
        self.assertEqual({a.status for a in answers}, {200, 429})
        self.assertEqual(refused[0].headers["Retry-After"], "1")
        self.assertEqual(refused[0].json["error"]["kind"], "limit")
        strangers, began = [], time.monotonic()
        while 429 not in strangers:
            strangers.append(self.get("/v1/tasks", server=server, token="x").status)
            self.assertLessEqual(strangers.count(401), 10 + 5 * (time.monotonic() - began) + 1)
        self.assertEqual(set(strangers), {401, 429})
        other = self.make_token("other")  # somebody else is not held up by it
        self.assertEqual(self.get("/v1/tasks", server=server, token=other).status, 200)

    def test_one_client_in_a_hurry_does_not_come_to_the_limit(self):
        connection = self.connect()
        for _ in range(600):
            self.assertEqual(self.get("/v1/tasks", connection=connection).status, 200)
        connection.close()

    def test_commands_wait_for_a_place_and_no_more_than_fit(self):
        server = self.serve("--jobs", "1", "--queue", "2", unix=self.dir / "q.sock")
        gate = self.work / "gate"
        got = []

        def call(i):
            got.append(self.post("/v1/run", {"command": f"while [ ! -e gate ]; do sleep 0.05; done; echo {i}"},
                                 server=server))
        threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        wait_until("five are refused", lambda: len(got) >= 5)
        text = self.get("/v1/metrics", server=server).body.decode()
        self.assertIn("\nnacre_running 1\n", text)
        self.assertIn("\nnacre_queued 2\n", text)
        gate.touch()
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual(sorted(a.status for a in got), [200] * 3 + [503] * 5)
        self.assertTrue(all(a.headers["Retry-After"] for a in got if a.status == 503))

    def test_numbers_are_counted(self):
        self.run_command("echo 12345")
        self.run_command("rm -rf /")
        text = self.get("/v1/metrics").body.decode()
        self.assertIn('nacre_commands_total{profile="bash",verdict="allow"} 1\n', text)
        self.assertIn('nacre_commands_total{profile="bash",verdict="deny"} 1\n', text)
        self.assertIn('nacre_output_bytes_total{stream="stdout"} 6\n', text)
        self.assertIn("nacre_command_duration_seconds_count 1\n", text)
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) \S+ .+|[a-z_]+(\{[^}]*\})? -?[0-9.e+]+)$")

    def test_explain_runs_nothing(self):
        answer = self.post("/v1/explain", {"command": "rm -rf / ; echo hi"})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["verdict"], "deny")
        self.assertEqual(len(answer.json["commands"]), 2)
        self.assertEqual(self.post("/v1/explain", {"command": "touch x"}).json["verdict"], "allow")
        self.assertFalse((self.work / "x").exists())
        self.assertEqual(self.task_dirs(), [])

    def test_a_session_keeps_its_directory_and_is_one_principals(self):
        (self.work / "sub").mkdir()
        self.run_command("cd sub; export A=b", session="s1")
        self.assertEqual(self.run_command("echo $A; basename $PWD", session="s1")["stdout"], "b\nsub\n")
        other = self.make_token("other")
        self.assertEqual(self.run_command("echo $A; basename $PWD", session="s1", token=other)["stdout"],
                         "\nwork\n")
        self.assertEqual(self.run_command("echo $A", session="s1", unix=True)["stdout"], "\n")


class Tasks(ServeTest):
    def background(self, command, **members):
        result = self.run_command(command, background=True, **members)
        self.assertTrue(result["background"], result)
        return result["task_id"]

    def wait_end(self, task, **options):
        return wait_until("the task has ended",
                          lambda: (lambda t: t if not t["running"] else None)(self.get(f"/v1/tasks/{task}",
                                                                                        **options).json))

    def test_a_task_is_listed_read_and_stopped(self):
        task = self.background("echo begun; sleep 100; echo never")
        listed = self.get("/v1/tasks").json["tasks"]
        self.assertEqual([t["task_id"] for t in listed], [task])
        self.assertEqual(listed[0]["state"], "running")
        got = self.get(f"/v1/tasks/{task}/output?wait_ms=20000").json
        self.assertEqual((got["output"], got["next"], got["running"]), ("begun\n", 6, True))
        got = self.get(f"/v1/tasks/{task}/output?since=6").json
        self.assertEqual((got["output"], got["next"]), ("", 6))
        stopped = self.post(f"/v1/tasks/{task}/stop", {"now": True})
        self.assertEqual(stopped.status, 200, stopped)
        self.assertEqual((stopped.json["was_running"], stopped.json["running"]), (True, False))
        again = self.ask("POST", f"/v1/tasks/{task}/stop")
        self.assertEqual((again.status, again.json["was_running"]), (200, False))
        self.assertEqual(self.get("/v1/tasks?state=running").json["tasks"], [])

    def test_a_long_poll_wakes_with_the_output(self):
        task = self.background("while [ ! -e go ]; do sleep 0.02; done; echo came; sleep 100")
        got = []
        thread = threading.Thread(target=lambda: got.append(self.get(f"/v1/tasks/{task}/output?wait_ms=50000")))
        thread.start()
        wait_until("somebody waits", lambda: "\nnacre_streams 2\n" in self.get("/v1/metrics").body.decode())
        (self.work / "go").touch()
        thread.join(DEADLINE)
        self.assertEqual(got[0].json["output"], "came\n")
        began = time.monotonic()
        self.assertEqual(self.get(f"/v1/tasks/{task}/output?since=5&wait_ms=200").json["output"], "")
        self.assertGreaterEqual(time.monotonic() - began, 0.19)
        self.post(f"/v1/tasks/{task}/stop", {"now": True})

    def test_output_is_chosen(self):
        task = self.background("for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i; done; echo oops >&2",
                               output_mode="separate")
        self.wait_end(task)
        self.assertEqual(self.get(f"/v1/tasks/{task}/output?tail=2&stream=stdout").json["stdout"], "line 9\nline 10\n")
        self.assertEqual(self.get(f"/v1/tasks/{task}/output?grep=line%20%5B12%5D%24&stream=stdout").json["stdout"],
                         "line 1\nline 2\n")
        self.assertEqual(self.get(f"/v1/tasks/{task}/output?stream=stderr").json["stderr"], "oops\n")
        both = self.get(f"/v1/tasks/{task}/output").json
        self.assertEqual((both["stderr"], both["stdout"][:7]), ("oops\n", "line 1\n"))
        for query in ("grep=%5B", "stream=x", "stream=out", "since=-1", "wait_ms=x", "wait=1", "follow=x", "since=1&since=2"):
            self.assertEqual(self.get(f"/v1/tasks/{task}/output?{query}").status, 400, query)

    def test_an_expression_that_takes_too_long_holds_nobody_up(self):
        task = self.background("for i in {1..2000}; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac; done")
        self.wait_end(task)
        used = self.processor_time()
        for query in ("grep=%5E(a%2B)%2B%24", "grep=(a%7Ca)%2B%24&wait_ms=60000"):
            answer = self.get(f"/v1/tasks/{task}/output?{query}")
            self.assertEqual((answer.status, answer.json["error"]["kind"]), (400, "input"), answer)
        events = self.stream("GET", f"/v1/tasks/{task}/output?follow=1&grep=%5E(a%2B)%2B%24")
        self.assertIsNone(events.next("output"))
        self.assertLess(self.processor_time() - used, 5)

    def processor_time(self):
        fields = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_who_waits_for_a_line_does_not_read_all_again(self):
        task = self.background("head -c 8000000 /dev/zero | tr '\\0' x | fold -w 99; touch there; "
                               "while [ ! -e go ]; do echo; sleep 0.005; done; echo 'found it'; sleep 100")
        wait_until("most is printed", (self.work / "there").exists)
        used, since, text = self.processor_time(), 0, ""
        threading.Timer(3, (self.work / "go").touch).start()
        while not text:
            answer = self.get(f"/v1/tasks/{task}/output?wait_ms=50000&grep=%5Efound%7C%5B%5Ex%5D%24&since={since}").json
            since, text = answer["next"], answer["output"]
        self.assertEqual(text, "found it\n")
        self.assertLess(self.processor_time() - used, 4 if SANITIZED else 1.2)
        self.post(f"/v1/tasks/{task}/stop", {"now": True})

    def test_a_follower_sees_all_and_the_end(self):
        task = self.background("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 4")
        events = self.stream("GET", f"/v1/tasks/{task}/output?follow=1")
        self.assertEqual(events.headers["Content-Type"], "text/event-stream")
        self.assertEqual(events.headers["Cache-Control"], "no-cache")
        first = events.next()
        self.assertEqual((first["event"], first["json"]), ("output", {"stream": "stdout", "text": "one\n"}))
        self.assertEqual(first["id"], "4")
        (self.work / "go").touch()
        self.assertEqual(events.next("output")["json"]["text"], "two\n")
        end = events.next()
        self.assertEqual((end["event"], end["json"]["exit_code"]), ("end", 4))
        self.assertIsNone(events.next())
        again = self.stream("GET", f"/v1/tasks/{task}/output", headers={"Last-Event-ID": "4"})
        self.assertEqual(again.next()["json"]["text"], "two\n")
        self.assertEqual(again.next()["event"], "end")

    def test_a_run_streams_its_output_and_then_the_result(self):
        events = self.stream("POST", "/v1/run",
                             {"command": "echo a; while [ ! -e go ]; do sleep 0.02; done; echo b >&2; exit 7"})
        self.assertEqual(events.next()["json"], {"stream": "stdout", "text": "a\n"})
        (self.work / "go").touch()
        self.assertEqual(events.next()["json"], {"stream": "stderr", "text": "b\n"})
        result = events.next()
        self.assertEqual((result["event"], result["json"]["exit_code"], result["json"]["stdout"]),
                         ("result", 7, "a\n"))
        self.assertIsNone(events.next())
        wait_until("its directory is gone", lambda: not self.task_dirs())
        refused = self.stream("POST", "/v1/run", {"command": "rm -rf /"})
        self.assertEqual(refused.next()["json"]["verdict"], "deny")
        self.assertIsNone(refused.next())

    def test_a_slow_reader_gets_everything_and_delays_nobody(self):
        size = 6 << 20
        events = self.stream("POST", "/v1/run", {"command": f"head -c {size} /dev/zero | tr '\\0' 'x' | fold -w 99"})
        self.assertEqual(self.run_command("echo quick")["stdout"], "quick\n")
        wait_until("the command has ended", lambda: "\nnacre_running 0\n" in self.get("/v1/metrics").body.decode())
        self.assertLess(status_kb(self.server.pid, "VmRSS"), (400 if SANITIZED else 40) << 10)
        total = 0
        for event in events:
            if event.get("event") == "output":
                total += len(json.loads(event["data"])["text"].replace("\n", ""))
            elif event.get("event") == "result":
                break
        self.assertEqual(total, size)

    def test_a_terminal_is_typed_on(self):
        task = self.background("read -p 'name? ' x; echo hello $x; stty size", pty={"rows": 10, "cols": 70})
        wait_until("it asks", lambda: "name?" in self.get(f"/v1/tasks/{task}/output").json["output"])
        self.assertEqual(self.post(f"/v1/tasks/{task}/input", {"rows": 33, "cols": 99}).status, 200)
        self.assertEqual(self.post(f"/v1/tasks/{task}/input", {"text": "bob\r"}).status, 200)
        self.wait_end(task)
        output = self.get(f"/v1/tasks/{task}/output").json["output"]
        self.assertIn("hello bob", output)
        self.assertIn("33 99", output)
        self.assertEqual(self.post(f"/v1/tasks/{task}/input", {"text": "x"}).status, 409)
        for body in ({}, {"rows": 1}, {"text": 1}, {"rows": 0, "cols": 0}, {"text": "x", "y": 1}):
            self.assertEqual(self.post(f"/v1/tasks/{task}/input", body).status, 400, body)

    def test_background_tasks_have_a_number(self):
        server = self.serve("--tasks", "3", unix=self.dir / "few.sock")
        tasks = [self.run_command("sleep 1000", background=True, server=server)["task_id"] for _ in range(3)]
        refused = self.post("/v1/run", {"command": "sleep 1000", "background": True}, server=server)
        self.assertEqual((refused.status, refused.headers["Retry-After"]), (503, "1"))
        other = self.make_token("other")
        tasks.append(self.run_command("sleep 1000", background=True, server=server, token=other)["task_id"])
        self.post(f"/v1/tasks/{tasks[0]}/stop", {"now": True})
        tasks.append(self.run_command("sleep 1000", background=True, server=server)["task_id"])
        for task in tasks[1:]:
            self.assertEqual(self.post(f"/v1/tasks/{task}/stop", {"now": True}, unix=True).status, 200)

    def test_a_revoked_token_loses_its_streams(self):
        token = self.make_token("bob")
        task = self.background("sleep 1000", token=token)
        events = self.stream("GET", f"/v1/tasks/{task}/output?follow=1", token=token)
        subprocess.run([NACRE, "token", "revoke", "bob"], env=self.env, check=True)
        self.assertEqual(self.get("/v1/tasks", token=token).status, 401)
        self.assertIsNone(events.next())
        # Another one of that name is not the same.
        token = self.make_token("bob")
        events = self.stream("GET", f"/v1/tasks/{task}/output?follow=1", token=token)
        self.assertEqual(self.get("/v1/tasks", token=token).status, 200)
        subprocess.run([NACRE, "token", "revoke", "bob"], env=self.env, check=True)
        self.make_token("bob")
        self.assertEqual(self.get("/v1/tasks", token=token).status, 401)
        self.assertIsNone(events.next())
        self.post(f"/v1/tasks/{task}/stop", {"now": True}, unix=True)

    def test_nobody_sees_the_tasks_of_others(self):
        mine = self.background("echo mine; sleep 100")
        other = self.make_token("other")
        theirs = self.background("echo theirs; sleep 100", token=other)
        self.assertEqual([t["task_id"] for t in self.get("/v1/tasks").json["tasks"]], [mine])
        self.assertEqual([t["task_id"] for t in self.get("/v1/tasks", token=other).json["tasks"]], [theirs])
        none = self.get("/v1/tasks/bash-nothing", token=other)
        for method, path, body in (("GET", f"/v1/tasks/{mine}", None), ("GET", f"/v1/tasks/{mine}/output", None),
                                   ("GET", f"/v1/tasks/{mine}/output?follow=1", None),
                                   ("POST", f"/v1/tasks/{mine}/stop", {}),
                                   ("POST", f"/v1/tasks/{mine}/input", {"text": "x"}),
                                   ("GET", f"/v1/tasks/{mine[:-1]}", None), ("GET", "/v1/tasks/bash-", None)):
            answer = self.ask(method, path, body, token=other)
            self.assertEqual((answer.status, answer.body), (404, none.body), path)
        self.assertEqual(len(self.get("/v1/tasks", unix=True).json["tasks"]), 2)  # the owner sees all
        self.assertTrue(self.get(f"/v1/tasks/{mine}").json["running"])
        for task, token in ((mine, ""), (theirs, other)):
            self.assertEqual(self.post(f"/v1/tasks/{task}/stop", {"now": True}, token=token).status, 200)

    def test_a_long_command_does_not_hide_whose_it_is(self):
        task = self.background("true " + "x" * 20000 + "; sleep 1000")
        other = self.make_token("other")
        self.assertEqual(self.get(f"/v1/tasks/{task}").json["principal"], "default")
        self.assertEqual(self.get(f"/v1/tasks/{task}", token=other).status, 404)
        lying = self.background('true "\\"principal\\":\\"default\\""; sleep 1000', token=other,
                                description='","principal":"default')
        self.assertEqual(self.get(f"/v1/tasks/{lying}").status, 404)
        for one in (task, lying):
            self.assertEqual(self.post(f"/v1/tasks/{one}/stop", {"now": True}, unix=True).status, 200)

    def test_a_body_may_wait_to_be_asked_for(self):
        body = b'{"command":"echo hi"}'
        head = (f"POST /v1/run HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nAuthorization: Bearer {self.token()}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n"
                "Connection: close\r\n\r\n").encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE) as sock:
            sock.sendall(head)
            self.assertIn(b"100 Continue", sock.recv(4096))
            sock.sendall(body)
            got = b"".join(iter(lambda: sock.recv(4096), b""))
        self.assertIn(b'"stdout":"hi\\n"', got)

    def test_a_principal_has_its_profiles_and_directories(self):
        yard = self.dir / "yard"
        (yard / "in").mkdir(parents=True)
        token = self.make_token("narrow", "--profile", "readonly", "--workspace", str(yard))
        refused = self.post("/v1/run", {"command": "ls", "profile": "bash"}, token=token)
        self.assertEqual(refused.status, 403)
        self.assertIn("insufficient_scope", refused.headers["WWW-Authenticate"])
        self.assertEqual(self.post("/v1/run", {"command": "ls", "profile": "nope"}, token=token).status, 403)
        self.assertEqual(self.run_command("pwd", token=token)["stdout"].strip(), str(yard))
        self.assertEqual(self.run_command("pwd", token=token, workspace=str(yard / "in"))["stdout"].strip(),
                         str(yard / "in"))
        (yard / "link").symlink_to("/")
        for place in (self.work, "/", "/etc", self.dir, "/nowhere", yard / ".." / "work", "link", "nowhere"):
            answer = self.post("/v1/run", {"command": "pwd", "workspace": str(place)}, token=token)
            self.assertEqual(answer.status, 404, (place, answer))
        for members in ({"cwd": "/etc"}, {"cwd": "link/etc"}, {"cwd": "link/nowhere"}, {"cwd": "nowhere"}):
            answer = self.post("/v1/run", {"command": "pwd", **members}, token=token).json
            self.assertFalse(answer["success"])
            self.assertEqual(answer["reason"], "the workspace or the working directory is not there, or lies "
                                               "outside of what may be used")

    def test_nothing_of_the_server_is_in_an_answer(self):
        secret = "hunter2-very-secret"
        server = self.serve(unix=self.dir / "x.sock", env={"MY_TOKEN": secret, "AWS_SECRET_ACCESS_KEY": secret})
        task = self.run_command("echo x; sleep 0.1; exit 1", background=True, server=server)["task_id"]
        told = [self.post("/v1/run", {"command": "env; ls -l /proc/self/fd; cat /proc/$PPID/environ; true"}, server=server),
                self.post("/v1/run", {"command": "seq 100000"}, server=server),
                self.post("/v1/run", {"command": "nonexistent-program"}, server=server),
                self.post("/v1/run", {"command": "true", "session": "../x"}, server=server),
                self.post("/v1/explain", {"command": "ls | nothing"}, server=server),
                self.get(f"/v1/tasks/{task}", server=server), self.get("/v1/tasks", server=server),
                self.get(f"/v1/tasks/{task}/output", server=server), self.get("/v1/approvals", server=server),
                self.get("/v1/metrics", server=server), self.get("/v1/health", server=server)]
        for answer in told:
            text = answer.body.decode()
            for word in (secret, self.token(), str(self.state), str(self.config), server.unix):
                self.assertNotIn(word, text)

    def test_no_descriptor_of_the_server_is_in_a_command(self):
        streams = [self.stream("GET", "/v1/tasks/%s/output?follow=1" % self.background("sleep 100"))
                   for _ in range(3)]
        result = self.run_command("ls -l /proc/self/fd; ls -l /proc/$$/fd")
        kinds = set(re.findall(r"-> (\S+)", result["stdout"]))
        self.assertFalse([k for k in kinds if k.startswith("socket") or "inotify" in k or "eventpoll" in k], kinds)
        for stream in streams:
            stream.close()
        for task in self.get("/v1/tasks").json["tasks"]:
            self.post(f"/v1/tasks/{task['task_id']}/stop", {"now": True})


class Approvals(ServeTest):
    def setUp(self):
        super().setUp()
        self.write_config("workspace.yaml", "profile: workspace\nsandbox: {mode: none}\n")

    def ask_for(self, **options):
        answer = self.post("/v1/run", {"argv": ["touch", "made"], "profile": "workspace", "session": "s"}, **options)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_who_asks_cannot_answer_and_who_may_can(self):
        first = self.ask_for()
        self.assertEqual((first["verdict"], first["success"]), ("ask", False), first)
        listed = self.get("/v1/approvals").json["approvals"]
        self.assertEqual(len(listed), 1)
        self.assertEqual((listed[0]["sandbox"], listed[0]["network"], listed[0]["engine"]), ("none", "host", "open"))
        ident = listed[0]["id"]
        path = f"/v1/approvals/{ident}"
        self.assertEqual(self.post(path, {"answer": "once"}).status, 403)
        stranger = self.make_token("stranger")
        self.assertEqual(self.get("/v1/approvals", token=stranger).json["approvals"], [])
        self.assertEqual(self.post(path, {"answer": "once"}, token=stranger).status, 403)
        boss = self.make_token("boss", "--approve")
        self.assertEqual(len(self.get("/v1/approvals", token=boss).json["approvals"]), 1)
        for body in ({}, {"answer": "yes"}, {"answer": "once", "x": 1}):
            self.assertEqual(self.post(path, body, token=boss).status, 400)
        self.assertEqual(self.post("/v1/approvals/ap-0000000000", {"answer": "once"}, token=boss).status, 404)
        self.assertFalse((self.work / "made").exists())
        self.assertEqual(self.post(path, {"answer": "once"}, token=boss).status, 200)
        self.assertEqual(self.post(path, {"answer": "deny"}, token=boss).status, 409)
        self.assertTrue(self.ask_for()["success"])
        self.assertTrue((self.work / "made").exists())
        self.assertEqual(self.ask_for()["verdict"], "ask")

    def test_a_stream_tells_that_it_asks_and_goes_on_with_the_answer(self):
        events = self.stream("POST", "/v1/run", {"argv": ["touch", "made"], "profile": "workspace", "approval_timeout_ms": 50000})
        asked = events.next()
        self.assertEqual(asked["event"], "asked")
        self.assertFalse((self.work / "made").exists())
        path = f"/v1/approvals/{asked['json']['id']}"
        self.assertEqual(self.post(path, {"answer": "once"}, unix=True).status, 200)
        self.assertTrue(events.next("result")["json"]["success"])
        self.assertTrue((self.work / "made").exists())
        refused = self.stream("POST", "/v1/run", {"argv": ["touch", "again"], "profile": "workspace", "approval_timeout_ms": 50000})
        path = f"/v1/approvals/{refused.next()['json']['id']}"
        self.assertEqual(self.post(path, {"answer": "deny", "reason": "no"}, unix=True).status, 200)
        self.assertFalse(refused.next("result")["json"]["success"])
        self.assertFalse((self.work / "again").exists())

    def test_a_client_that_leaves_does_not_wait_for_a_person(self):
        events = self.stream("POST", "/v1/run", {"argv": ["touch", "made"], "profile": "workspace", "approval_timeout_ms": 50000})
        ident = events.next()["json"]["id"]
        events.close()
        self.wait_gone()
        self.post(f"/v1/approvals/{ident}", {"answer": "once"}, unix=True)
        self.assertFalse((self.work / "made").exists())

    def test_one_principals_consent_is_not_anothers(self):
        self.ask_for()
        ident = self.get("/v1/approvals").json["approvals"][0]["id"]
        self.assertEqual(self.post(f"/v1/approvals/{ident}", {"answer": "once"}, unix=True).status, 200)
        other = self.make_token("other")
        self.assertEqual(self.ask_for(token=other)["verdict"], "ask")
        self.assertFalse((self.work / "made").exists())


class Faults(ServeTest):
    def hang(self, data):
        """A connection that has said this and is still there."""
        sock = socket.create_connection(("127.0.0.1", self.server.port))
        sock.sendall(data)
        self.addCleanup(sock.close)
        return sock

    def head(self, method, path, *lines):
        return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}",
                            f"Authorization: Bearer {self.token()}", *lines, "", ""]).encode()

    def call(self, command):
        body = json.dumps({"command": command}).encode()
        return self.head("POST", "/v1/run", "Content-Type: application/json", f"Content-Length: {len(body)}") + body

    def test_a_client_that_vanishes_takes_its_command_along(self):
        sock = self.hang(self.call("echo $$ > pid; exec sleep 1000"))
        pid = int(self.wait_for_file(self.work / "pid"))
        sock.close()
        self.expect_gone(pid)
        self.wait_gone()
        wait_until("its directory is gone", lambda: not self.task_dirs())

    def test_a_client_that_vanishes_from_a_stream_takes_its_command_along(self):
        events = self.stream("POST", "/v1/run", {"command": "echo $$ > pid; exec sleep 1000"})
        pid = int(self.wait_for_file(self.work / "pid"))
        events.close()
        self.expect_gone(pid)
        self.wait_gone()

    def test_a_follower_that_vanishes_leaves_the_task_alone(self):
        task = self.run_command("echo x; sleep 1000", background=True)["task_id"]
        before = fd_count(self.server.pid)
        streams = [self.stream("GET", f"/v1/tasks/{task}/output?follow=1") for _ in range(20)]
        for stream in streams:
            stream.next("output")
        self.assertGreater(fd_count(self.server.pid), before + 19)
        for stream in streams:
            stream.close()
        wait_until("descriptors are back", lambda: fd_count(self.server.pid) <= before + 1)
        self.assertTrue(self.get(f"/v1/tasks/{task}").json["running"])
        self.post(f"/v1/tasks/{task}/stop", {"now": True})

    def test_half_a_body_and_half_a_head_hold_nobody_up(self):
        for _ in range(10):
            self.hang(self.head("POST", "/v1/run", "Content-Type: application/json", "Content-Length: 100") + b'{"c')
            self.hang(b"GET /v1/tasks HTT")
        self.assertEqual(self.run_command("echo hi")["stdout"], "hi\n")
        for sock in [self.hang(self.head("POST", "/v1/run", "Content-Type: application/json",
                                         "Content-Length: 100") + b'{"c') for _ in range(10)]:
            sock.close()
        self.assertEqual(self.run_command("echo hi")["stdout"], "hi\n")

    def test_pipelined_requests_are_answered_in_order(self):
        data = b"".join(self.call(f"echo {i}") for i in range(3)) + self.head("GET", "/v1/health", "Connection: close")
        got = self.raw(data)
        self.assertEqual([m.decode() for m in re.findall(rb'"stdout":"(\d)', got)], ["0", "1", "2"])
        self.assertIn(b'"status":"ok"', got)

    def test_odd_requests_are_refused(self):
        host = f"Host: 127.0.0.1:{self.server.port}\r\n"
        for request in (f"GET /v1/health HTTP/1.1\r\n{host}{host}\r\n", "GET /v1/health HTTP/1.1\r\n\r\n",
                        f"GET /v1/health HTTP/1.2\r\n{host}\r\n", f"GET http://other/v1/health HTTP/1.1\r\n{host}\r\n",
                        f"POST /shell HTTP/1.1\r\n{host}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
                        f"POST /shell HTTP/1.1\r\n{host}Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
                        f"POST /shell HTTP/1.1\r\n{host}Transfer-Encoding: xchunked\r\n\r\n",
                        f"POST /shell HTTP/1.1\r\n{host}Content-Length: +2\r\n\r\n",
                        f"GET /v1/health HTTP/1.1\r\n{host}X Y: 1\r\n\r\n",
                        f"GET /v1/health HTTP/1.1\r\n{host}Name : 1\r\n\r\n",
                        f"get /v1/health HTTP/1.1\r\n{host}\r\n"):
            got = self.raw(request.encode(), timeout=DEADLINE)
            self.assertRegex(got[:16], rb"^HTTP/1\.[01] (400|505) ", request)
        self.assertEqual(self.get("/v1/health").status, 200)

    def test_sigterm_ends_fifty_calls_in_time_and_loses_no_task(self):
        server = self.serve("--stop-time", "300ms", "--rate", "0", "--jobs", "80", unix=self.dir / "stop.sock")
        got, streams = [], []

        def call(i):
            got.append(self.post("/v1/run", {"command": f"echo begun {i}; sleep 1000"}, server=server))
        threads = [threading.Thread(target=call, args=(i,)) for i in range(50)]
        for thread in threads:
            thread.start()
        task = self.run_command("sleep 1000", background=True, server=server)["task_id"]
        streams = [self.stream("GET", f"/v1/tasks/{task}/output?follow=1", server=server) for _ in range(5)]
        wait_until("all of them run", lambda: "\nnacre_running 50\n" in self.get("/v1/metrics", server=server)
                   .body.decode())
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(DEADLINE), 0)
        self.assertLess(time.monotonic() - began, (60 if SANITIZED else 15) + SLACK)
        for thread in threads:
            thread.join(DEADLINE)
        for stream in streams:
            self.assertIsNone(stream.next("output"))
        self.assertEqual({a.status for a in got}, {200})
        tasks = {a.json["task_id"] for a in got if a.json["background"]}
        self.assertEqual(len(tasks), 50)
        listed = {t["task_id"]: t for t in self.get("/v1/tasks?state=running").json["tasks"]}  # the other server
        self.assertEqual(set(listed), tasks | {task})
        self.assertFalse(os.path.exists(server.unix))
        for one in listed:
            self.assertEqual(self.post(f"/v1/tasks/{one}/stop", {"now": True}).status, 200)

    def test_two_servers_share_one_state_directory(self):
        second = self.serve(unix=self.dir / "second.sock")
        task = self.run_command("echo x; sleep 1000", background=True)["task_id"]
        self.assertTrue(self.get(f"/v1/tasks/{task}", server=second).json["running"])
        self.assertEqual(self.post(f"/v1/tasks/{task}/stop", {"now": True}, server=second).status, 200)
        self.assertFalse(self.get(f"/v1/tasks/{task}").json["running"])
        third = self.serve(unix=self.dir / "s.sock", ready=False)  # the place is taken
        self.assertEqual(third.wait(DEADLINE), 125)
        self.assertIn(b"another server", self.read_log(third))
        self.assertEqual(self.get("/v1/health", unix=True).status, 200)

    def test_a_socket_that_was_left_behind_is_replaced(self):
        self.server.kill()
        self.server.wait(DEADLINE)
        self.assertTrue(os.path.exists(self.server.unix))
        again = self.serve()
        self.assertEqual(self.get("/v1/health", unix=True, server=again).status, 200)

    def test_a_killed_server_loses_no_task(self):
        task = self.run_command("echo x; sleep 1000", background=True)["task_id"]
        self.server.kill()
        self.server.wait(DEADLINE)
        again = self.serve(unix=self.dir / "again.sock")
        self.assertEqual(self.get(f"/v1/tasks/{task}/output?wait_ms=50000", server=again).json["output"], "x\n")
        self.assertEqual(self.post(f"/v1/tasks/{task}/stop", {"now": True}, server=again).status, 200)

    def test_idle_followers_cost_little_and_no_time(self):
        count = 100
        task = self.run_command("sleep 1000", background=True)["task_id"]
        self.stream("GET", f"/v1/tasks/{task}/output?follow=1").close()
        before = status_kb(self.server.pid, "VmRSS")
        streams = [self.stream("GET", f"/v1/tasks/{task}/output?follow=1") for _ in range(count)]
        each = (status_kb(self.server.pid, "VmRSS") - before) / count
        if not SANITIZED:
            self.assertLess(each, 24)

        def ticks():
            with open(f"/proc/{self.server.pid}/stat", encoding="ascii") as file:
                return sum(int(x) for x in file.read().rsplit(")", 1)[1].split()[11:13])
        used = ticks()
        time.sleep(1)  # the time that is measured
        self.assertLessEqual(ticks() - used, 2)
        self.post(f"/v1/tasks/{task}/stop", {"now": True})
        for stream in streams:
            self.assertEqual(stream.next()["event"], "end")


class Activation(ServeTest):
    TCP = False

    def test_sockets_of_a_service_manager_are_used(self):
        sock = socket.create_server(("127.0.0.1", 0))
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(str(self.dir / "notify"))
        notify.settimeout(DEADLINE)
        script = ("import os,sys; os.dup2(int(sys.argv[1]), 3); os.environ['LISTEN_PID'] = str(os.getpid()); "
                  "os.environ['LISTEN_FDS'] = '1'; os.execv(sys.argv[2], sys.argv[2:])")
        popen = subprocess.Popen(["python3", "-c", script, str(sock.fileno()), NACRE, "serve", "--workspace",
                                  str(self.work)], env={**self.env, "NOTIFY_SOCKET": str(self.dir / "notify")},
                                 pass_fds=[sock.fileno()], stderr=subprocess.PIPE)
        self.started.append(popen)
        self.assertEqual(notify.recv(100), b"READY=1")
        popen.port, popen.unix = sock.getsockname()[1], None
        result = self.run_command("env; ls /proc/self/fd | wc -l", server=popen)
        self.assertNotIn("LISTEN_", result["stdout"])
        self.assertNotIn("NOTIFY_", result["stdout"])
        self.assertEqual(result["stdout"].splitlines()[-1].strip(), "4")
        popen.send_signal(signal.SIGTERM)
        self.assertEqual(notify.recv(100), b"STOPPING=1")
        self.assertEqual(popen.wait(DEADLINE), 0)
        sock.close()
        notify.close()

    def test_by_default_there_is_nothing_on_the_network(self):
        inodes = {os.readlink(f"/proc/{self.server.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{self.server.pid}/fd")}
        for table in ("tcp", "tcp6", "udp"):
            with open(f"/proc/net/{table}", encoding="ascii") as file:
                for line in list(file)[1:]:
                    self.assertNotIn(f"socket:[{line.split()[9]}]", inodes)
        self.assertFalse((self.state / "token").exists())
        self.assertEqual(self.run_command("echo hi", unix=True)["stdout"], "hi\n")

    def start_by_file(self, text, *args, ready=True):
        """A server whose options stand in a file; the process, with its port if it listens on one."""
        path = self.dir / "serve.yaml"
        path.write_text(text)
        popen = subprocess.Popen([NACRE, "serve", "--config", str(path), *args], env=self.env, cwd="/", stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.started.append(popen)
        popen.log, popen.unix, popen.port = b"", None, None
        os.set_blocking(popen.stderr.fileno(), False)
        self.addCleanup(self.stop_server, popen)
        if ready:
            wait_until("it listens", lambda: b"listening on" in self.read_log(popen))
            found = re.search(rb"http://127\.0\.0\.1:(\d+)", popen.log)
            popen.port = found and int(found[1])
        return popen

    def test_a_file_says_what_options_say(self):
        yard = self.dir / "yard"
        yard.mkdir()
        text = (f"# comment\nlisten: [127.0.0.1:0]\nno_unix: true\nworkspace: [{self.work}, {yard}]\nprofile: [readonly]\n"
                "host: [nacre.example]\nrate: 0\njobs: 2\nqueue: 0\ntasks: 1\nstop_time: 1s\n")
        server = self.start_by_file(text)
        self.assertNotIn(b"sock", self.read_log(server))
        self.assertEqual(self.run_command("pwd", server=server)["stdout"].strip(), str(self.work))
        self.assertEqual(self.run_command("pwd", workspace=str(yard), server=server)["stdout"].strip(), str(yard))
        self.assertEqual(self.post("/v1/run", {"command": "ls", "profile": "bash"}, server=server).status, 403)
        self.assertEqual(self.get("/v1/health", server=server, headers={"Host": "nacre.example"}).status, 200)
        self.stop_server(server)
        server = self.start_by_file(text, "--profile", "bash", "--workspace", str(yard))  # the command line stands above it
        self.assertEqual(self.run_command("pwd", server=server)["stdout"].strip(), str(yard))
        self.assertEqual(self.post("/v1/run", {"command": "ls", "profile": "readonly"}, server=server).status, 403)
        self.assertEqual(self.post("/v1/run", {"command": "ls", "workspace": str(self.work)}, server=server).status, 404)

    def test_what_is_wrong_with_the_file_is_told_with_its_place(self):
        for text, words in (("listen: [127.0.0.1:0]\nworkspaces: [/tmp]\n", ":2:1: unknown key 'workspaces', did you mean 'workspace'?"),
                            ("rate: 5s\n", ":1:7: 'rate' wants a whole number"), ("jobs: 0\n", ":1:7: 'jobs': 0 is out of range"),
                            ("running: 8\n", ":1:1: unknown key 'running', did you mean 'jobs'?"),
                            ("stop_time: 5\n", ":1:12: 'stop_time': 5 has no unit"), ("workspace: [a/b]\n", ":1:13: 'workspace'"),
                            ("listen: 127.0.0.1:80\n", ":1:9: 'listen' wants a list"), ("- a\n", ":1:1: a map is wanted"),
                            ("no_unix: 1\n", ":1:10: 'no_unix'"),
                            (f"no_unix: true\nlisten: []\nprofile: []\nworkspace: [{self.work}]\nhost: []\n", "there is nothing to listen on"), ("workspace: [/nowhere/at/all]\n", "/nowhere/at/all")):
            popen = self.start_by_file(text, ready=False)
            self.assertEqual(popen.wait(DEADLINE), 125, text)
            log = self.read_log(popen).decode()
            self.assertIn(words, log)
            self.assertNotIn("usage:", log)
        path = self.dir / "serve.yaml"
        path.write_text("rate: 5\n")
        path.chmod(0o666)
        for file, words in ((path, "serve.yaml"), (self.dir / "missing.yaml", "there is no such file")):
            done = subprocess.run([NACRE, "serve", "--config", str(file)], env=self.env, check=False, stderr=subprocess.PIPE, timeout=DEADLINE)
            self.assertEqual((done.returncode, words.encode() in done.stderr), (125, True), done.stderr)

    def test_a_profile_that_cannot_be_offered_is_told_at_the_start(self):
        self.write_config("broken.yaml", "profile: broken\nrules: x\n")
        for name, words in (("nope", b"there is no profile 'nope'"), ("broken", b"broken.yaml:2:1: unknown key")):
            done = subprocess.run([NACRE, "serve", "--no-unix", "--listen", "127.0.0.1:0", "--profile", name], env=self.env,
                                  cwd=self.work, check=False, stderr=subprocess.PIPE, timeout=DEADLINE)
            self.assertEqual(done.returncode, 125)
            self.assertIn(words, done.stderr)

    def test_a_wrong_word_is_told_in_one_line(self):
        for line, words in ((("serve", "--frob"), "unknown option '--frob'"), (("serve", "word"), "unexpected word 'word'; usage: nacre serve"),
                            (("serve", "--rate", "x"), "--rate x: expected a number"),
                            (("serve", "--workspace", "/nowhere/at/all"), "workspace '/nowhere/at/all'"),
                            (("token", "create", "x", "--workspace", "/nowhere/at/all"), "workspace '/nowhere/at/all'"),
                            (("token", "create", "x", *["--profile", "bash"] * 65), "--profile is given more than 64 times"),
                            (("token", "list", "--frob"), "unknown option '--frob'"),
                            (("mcp", "--session", "../x"), "--session ../x: expected 1 to 64 letters")):
            done = subprocess.run([NACRE, *line], env=self.env, cwd=self.work, check=False, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (125, "", 1), done)
            self.assertIn(words, done.stderr)
        for line in ((), ("create",), ("list", "x"), ("frob", "x"), ("revoke", "x", "y")):
            done = subprocess.run([NACRE, "token", *line], env=self.env, check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (125, "", 1), done)
            self.assertIn("; usage: nacre token", done.stderr)

    def test_a_token_for_a_profile_that_is_not_there_is_remarked_on(self):
        self.write_config("later.yaml", "profile: later\ninherits: bash\n")
        done = subprocess.run([NACRE, "token", "create", "x", "--profile", "readonly", "--profile", "later", "--profile", "basch"],
                              env=self.env, check=True, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^nacre_\S+\n$")
        self.assertRegex(done.stderr, r"^nacre: token: there is no profile 'basch' yet; 'nacre profiles' lists them\n$")

    def test_an_address_for_others_wants_to_be_meant(self):
        for address in ("0.0.0.0:0", "[::]:0", "nonsense", "127.0.0.1", "localhost:x", "127.0.0.1:70000"):
            done = subprocess.run([NACRE, "serve", "--no-unix", "--listen", address], env=self.env, check=False,
                                  stderr=subprocess.PIPE, timeout=DEADLINE)
            self.assertEqual(done.returncode, 125, address)


if __name__ == "__main__":
    unittest.main()
