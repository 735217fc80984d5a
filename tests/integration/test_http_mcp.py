"""MCP over Streamable HTTP: both eras, sessions, streams, and whose they are."""
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from helpers import DEADLINE, NACRE, SANITIZED, SLACK, descendants, wait_until
from serving import ServeTest

BOTH = "application/json, text/event-stream"
MODERN = "2026-07-28"
DISORDER = int(os.environ.get("NACRE_DISORDER", "150"))  # steps
SEED = int(os.environ.get("NACRE_SEED", "1"))


class Mcp(ServeTest):
    def message(self, method, params=None, ident=1):
        body = {"jsonrpc": "2.0", "method": method}
        if ident is not None:
            body["id"] = ident
        if params is not None:
            body["params"] = params
        return body

    def legacy(self, method, params=None, session=None, ident=1, headers=None, **options):
        head = {"Accept": BOTH, **({"Mcp-Session-Id": session} if session else {}), **(headers or {})}
        return self.post("/mcp", self.message(method, params, ident), headers=head, **options)

    def modern_parts(self, method, params=None, name=None, ident=1, meta=None):
        params = dict(params or {})
        params["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN,
                           "io.modelcontextprotocol/clientCapabilities": {}, **(meta or {})}
        head = {"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if name:
            head["Mcp-Name"] = name
        return self.message(method, params, ident), head

    def modern(self, method, params=None, name=None, headers=None, ident=1, **options):
        body, head = self.modern_parts(method, params, name, ident)
        head.update(headers or {})
        return self.post("/mcp", body, headers={k: v for k, v in head.items() if v is not None}, **options)

    def begin(self, **options):
        answer = self.legacy("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                            "clientInfo": {"name": "t", "version": "1"}}, **options)
        self.assertEqual(answer.status, 200, answer)
        session = answer.headers["Mcp-Session-Id"]
        self.assertRegex(session, r"^[0-9a-f]{32}$")
        self.assertEqual(answer.json["result"]["protocolVersion"], "2025-06-18")
        done = self.legacy("notifications/initialized", session=session, ident=None, **options)
        self.assertEqual((done.status, done.body), (202, b""))
        return session

    def test_a_session_lists_and_calls_tools(self):
        session = self.begin()
        tools = self.legacy("tools/list", session=session).json["result"]["tools"]
        self.assertIn("Bash", [tool["name"] for tool in tools])
        answer = self.legacy("tools/call", {"name": "Bash", "arguments": {"command": "echo hi"}}, session=session, ident="x")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.json["id"], "x")
        self.assertIn("hi", answer.json["result"]["content"][0]["text"])

    def test_sessions_are_checked_and_end(self):
        session = self.begin()
        self.assertEqual(self.legacy("tools/list").status, 400)
        self.assertEqual(self.legacy("tools/list", session="0" * 32).status, 404)
        self.assertEqual(self.legacy("ping", session=session, headers={"MCP-Protocol-Version": "1999-01-01"}).status, 400)
        self.assertEqual(self.legacy("ping", session=session, headers={"MCP-Protocol-Version": "2025-06-18"}).status, 200)
        self.assertEqual(self.ask("DELETE", "/mcp").status, 400)
        self.assertEqual(self.ask("DELETE", "/mcp", headers={"Mcp-Session-Id": session}).status, 200)
        self.assertEqual(self.ask("DELETE", "/mcp", headers={"Mcp-Session-Id": session}).status, 404)
        self.assertEqual(self.legacy("tools/list", session=session).status, 404)
        refused = self.legacy("initialize", {"capabilities": 1})
        self.assertIn("error", refused.json)
        self.assertNotIn("Mcp-Session-Id", refused.headers)

    def test_without_a_session_there_is_only_post(self):
        for method, revision in (("GET", {}), ("GET", {"MCP-Protocol-Version": "2025-11-25"}),
                                 ("GET", {"MCP-Protocol-Version": MODERN}), ("DELETE", {"MCP-Protocol-Version": MODERN})):
            for head in ({"Accept": "text/event-stream"}, {"Accept": "application/json"}, {}):
                answer = self.ask(method, "/mcp", headers={**head, **revision})
                self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"))
        self.assertEqual(self.ask("DELETE", "/mcp", headers={"Accept": "text/event-stream"}).status, 400)

    def test_of_too_many_sessions_the_one_that_rests_ends(self):
        first, second = self.begin(), self.begin()
        events = self.stream("GET", "/mcp", headers={"Mcp-Session-Id": first})  # in use
        others = [self.begin() for _ in range(255)]
        for session, status in ((first, 200), (second, 404), (others[0], 200), (others[-1], 200)):
            self.assertEqual(self.legacy("ping", session=session).status, status)
        events.close()

    def test_a_session_is_its_principals(self):
        session = self.begin()
        other = self.make_token("other")
        for answer in (self.legacy("tools/list", session=session, token=other),
                       self.ask("DELETE", "/mcp", headers={"Mcp-Session-Id": session}, token=other),
                       self.ask("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": BOTH}, token=other)):
            self.assertEqual(answer.status, 404, answer)
        self.assertEqual(self.legacy("tools/list", session=session, token=None).status, 401)
        self.assertEqual(self.legacy("tools/list", session=session).status, 200)

    def test_progress_makes_a_stream(self):
        session = self.begin()
        body = self.message("tools/call", {"name": "Bash", "_meta": {"progressToken": "p"}, "arguments": {
            "command": "echo a; while [ ! -e go ]; do sleep 0.05; done; echo b"}}, 7)
        events = self.stream("POST", "/mcp", body, headers={"Accept": BOTH, "Mcp-Session-Id": session})
        self.assertEqual(events.headers["Content-Type"], "text/event-stream")
        first = events.next()
        self.assertEqual((first["event"], first["json"]["method"]), ("message", "notifications/progress"))
        (self.work / "go").touch()
        while "id" not in (last := events.next()["json"]):
            self.assertEqual(last["params"]["progressToken"], "p")
        self.assertEqual(last["id"], 7)
        self.assertIn("b", last["result"]["content"][0]["text"])
        self.assertIsNone(events.next())

    def test_the_stream_of_a_session_is_one(self):
        session = self.begin()
        head = {"Mcp-Session-Id": session}
        self.assertEqual(self.ask("GET", "/mcp", headers={"Accept": "application/json", **head}).status, 406)
        first = self.stream("GET", "/mcp", headers=head)
        self.assertEqual((first.status, first.headers["Content-Type"]), (200, "text/event-stream"))
        self.assertEqual(self.stream("GET", "/mcp", headers=head).status, 409)
        first.close()
        wait_until("it may be had again", lambda: self.stream("GET", "/mcp", headers=head).status == 200)
        self.assertEqual(self.ask("DELETE", "/mcp", headers=head).status, 200)

    def test_a_stateless_request_needs_no_session(self):
        found = self.modern("server/discover")
        self.assertEqual(found.status, 200, found)
        self.assertEqual(found.json["result"]["supportedVersions"][0], MODERN)
        self.assertNotIn("Mcp-Session-Id", found.headers)
        answer = self.modern("tools/call", {"name": "Bash", "arguments": {"command": "echo hi"}}, "Bash")
        self.assertEqual(answer.status, 200, answer)
        self.assertIn("hi", answer.json["result"]["content"][0]["text"])
        self.assertEqual(self.modern("initialize").status, 404)
        self.assertEqual(self.modern("nothing/known").status, 404)

    def test_who_takes_only_a_stream_gets_one(self):
        body, head = self.modern_parts("tools/call", {"name": "Bash", "arguments": {"command": "echo hi"}}, "Bash")
        events = self.stream("POST", "/mcp", body, headers={**head, "Accept": "text/event-stream"})
        self.assertEqual((events.status, events.headers["Content-Type"]), (200, "text/event-stream"))
        self.assertIn("hi", events.next()["json"]["result"]["content"][0]["text"])
        self.assertIsNone(events.next())
        self.assertEqual(self.modern("nothing/known", headers={"Accept": "text/event-stream"}).status, 404)

    def test_who_takes_no_stream_gets_none_for_mere_news(self):
        call = {"name": "Bash", "arguments": {"command": "echo a; sleep 0.6; echo b"}}
        body, head = self.modern_parts("tools/call", call, "Bash", meta={"progressToken": 1})
        answer = self.post("/mcp", body, headers={**head, "Accept": "application/json"})
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/json"), answer)
        self.assertIn("a\nb\n", answer.json["result"]["content"][0]["text"])

    def test_headers_must_say_what_the_body_says(self):
        call = {"name": "Bash", "arguments": {"command": "true"}}
        for headers in ({"Mcp-Method": "tools/list"}, {"Mcp-Method": None}, {"Mcp-Name": "other"}, {"Mcp-Name": None},
                        {"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": "2025-11-25"}, {"Mcp-Name": "=?base64?QmFzaA?="},
                        {"Mcp-Name": "bash"}, {"Mcp-Method": "=?base64?dG9vbHMvY2FsbA==?="},
                        {"MCP-Protocol-Version": "=?base64?MjAyNi0wNy0yOA==?="}):
            answer = self.modern("tools/call", call, "Bash", headers=headers)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (400, -32020), (headers, answer))
            self.assertEqual(answer.json["id"], 1)
        for headers in ({"Mcp-Name": "=?base64?QmFzaA==?="}, {"Mcp-Name": " \tBash "}, {"Mcp-Session-Id": "nonsense"}):
            self.assertEqual(self.modern("tools/call", call, "Bash", headers=headers).status, 200, headers)
        read = {"uri": "nacre://output/\u00e9"}
        for name, status in (("nacre://output/\u00e9".encode(), 400), ("=?base64?bmFjcmU6Ly9vdXRwdXQvw6k=?=", 200)):
            self.assertEqual(self.modern("resources/read", read, name).status, status, name)

    def test_versions_and_envelopes(self):
        body, head = self.modern_parts("tools/list")
        body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01"
        answer = self.post("/mcp", body, headers={**head, "MCP-Protocol-Version": "2031-01-01"})
        self.assertEqual((answer.status, answer.json["error"]["code"]), (400, -32022))
        self.assertIn(MODERN, answer.json["error"]["data"]["supported"])
        answer = self.post("/mcp", body, headers=head)
        self.assertEqual((answer.status, answer.json["error"]["code"]), (400, -32020))
        body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2025-06-18"
        for session in ({}, {"Mcp-Session-Id": self.begin()}):
            answer = self.post("/mcp", body, headers={**head, **session})
            self.assertEqual((answer.status, answer.json["error"]["code"]), (400, -32020), session)
        del body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
        answer = self.post("/mcp", body, headers=head)
        self.assertEqual((answer.status, answer.json["error"]["code"]), (400, -32602))

    def test_bad_bodies(self):
        head = {"Content-Type": "application/json", "Accept": BOTH}
        for body, code in ((b"{", -32700), (b"[]", -32600), (b"1", -32600), (b'{"jsonrpc":"2.0"}', -32600),
                           (b"\xff", -32700), (b"[" * 9000, -32700)):
            answer = self.ask("POST", "/mcp", body, headers=head)
            self.assertEqual(answer.status, 400, (body[:20], answer))
            self.assertIn(answer.json["error"]["code"], (-32700, -32600), body[:20])
        self.assertEqual(self.ask("POST", "/mcp", b"{}", headers={"Content-Type": "text/plain"}).status, 415)
        self.assertEqual(self.ask("POST", "/mcp", b"{}", headers={**head, "Accept": "text/html"}).status, 406)
        self.assertEqual(self.ask("PUT", "/mcp", b"{}", headers=head).status, 405)

    def test_what_needs_no_answer_is_accepted_without_one(self):
        session = self.begin()
        head = {"Accept": BOTH, "Mcp-Session-Id": session}
        for body in ({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}}, {"jsonrpc": "2.0", "id": 7, "result": {}},
                     self.message("notifications/nonsense", ident=None)):
            answer = self.post("/mcp", body, headers=head)
            self.assertEqual((answer.status, answer.body), (202, b""), body)

    def test_batches_belong_to_one_revision(self):
        older = self.legacy("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}}).headers["Mcp-Session-Id"]
        for session, status in ((older, 200), (self.begin(), 400), (None, 400)):
            head = {"Accept": BOTH, **({"Mcp-Session-Id": session} if session else {})}
            answer = self.post("/mcp", [self.message("ping"), self.message("notifications/x", ident=None)], headers=head)
            self.assertEqual(answer.status, status, answer)
        head = {"Accept": BOTH, "Mcp-Session-Id": older}
        answer = self.post("/mcp", [self.message("notifications/x", ident=None)] * 3, headers=head)
        self.assertEqual((answer.status, answer.body), (202, b""))
        call = {"name": "Bash", "arguments": {"command": "echo hi"}}
        answers = self.post("/mcp", [self.message("tools/call", call, i) for i in range(3)], headers=head).json
        self.assertEqual(sorted(a["id"] for a in answers), [0, 1, 2])

    def test_to_close_a_stateless_request_is_to_cancel_it(self):
        body, head = self.modern_parts("tools/call", {"name": "Bash", "arguments": {"command": "echo $$ > pid; exec sleep 1000"}},
                                       "Bash")
        connection = self.connect()
        connection.request("POST", "/mcp", json.dumps(body), {**head, "Content-Type": "application/json",
                                                              "Authorization": f"Bearer {self.token()}"})
        pid = int(self.wait_for_file(self.work / "pid"))
        connection.close()
        self.expect_gone(pid)

    def begin_stream(self, session, command, ident=7):
        body = self.message("tools/call", {"name": "Bash", "_meta": {"progressToken": "p"}, "arguments": {"command": command}}, ident)
        return self.stream("POST", "/mcp", body, headers={"Accept": BOTH, "Mcp-Session-Id": session})

    def resume(self, session, last, **options):
        return self.stream("GET", "/mcp", headers={"Mcp-Session-Id": session, "Last-Event-ID": last}, **options)

    def test_a_lost_stream_goes_on_behind_the_last_event(self):
        session = self.begin()
        first = self.begin_stream(session, "for i in 1 2 3; do echo line $i; until [ -e go$i ]; do sleep 0.02; done; done; echo end")
        seen = first.next()
        self.assertRegex(seen["id"], r"^\d+-\d+$")
        first.close()
        (self.work / "go1").touch()  # nobody listens meanwhile
        wait_until("the server knows", lambda: "\nnacre_streams 1\n" in self.get("/v1/metrics").body.decode())
        (self.work / "go2").touch()
        second = self.resume(session, seen["id"])
        self.assertEqual((second.status, second.headers["Content-Type"]), (200, "text/event-stream"))
        numbers = [int(seen["id"].split("-")[1])]
        while "line 3" not in str(event := second.next()):
            numbers.append(int(event["id"].split("-")[1]))
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)), "none is missing, none comes twice")
        third = self.resume(session, event["id"])  # the connection before it is not dead: it is left
        (self.work / "go3").touch()
        while "result" not in (last := third.next())["json"]:
            pass
        self.assertEqual(last["json"]["id"], 7)
        self.assertIn("end", last["json"]["result"]["content"][0]["text"])
        self.assertIsNone(third.next())
        again = self.resume(session, event["id"])  # whether the end has been seen nobody knows
        while "result" not in (same := again.next())["json"]:
            pass
        self.assertEqual((same["id"], same["data"]), (last["id"], last["data"]))
        self.assertIsNone(self.resume(session, last["id"]).next())

    def test_nobody_goes_on_with_what_is_not_theirs(self):
        session = self.begin()
        events = self.begin_stream(session, "echo private-words; until [ -e go ]; do sleep 0.02; done")
        ident = events.next()["id"]
        for last in ("", "x", "1", "99-1", ident + "0x", "-1-1", "1e3-1", "9" * 40 + "-1"):
            self.assertEqual(self.resume(session, last).status, 400, last)
        self.assertEqual(self.resume(session, ident, token=self.make_token("other")).status, 404)
        self.assertEqual(self.resume(self.begin(), ident).status, 400)
        self.assertEqual(self.ask("DELETE", "/mcp", headers={"Mcp-Session-Id": session}).status, 200)
        self.assertIsNone(events.next())
        self.assertEqual(self.resume(session, ident).status, 404)

    def begin_asking(self, **options):
        """A client that says it can ask its person."""
        answer = self.legacy("initialize", {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}, **options)
        session = answer.headers["Mcp-Session-Id"]
        self.legacy("notifications/initialized", session=session, ident=None, **options)
        return session

    def test_only_a_token_with_a_person_is_asked(self):
        """Any program can say that it asks its person, and answer for them."""
        self.write_config("workspace.yaml", "profile: workspace\nsandbox: {mode: none}\n")
        call = {"name": "shell", "arguments": {"command": ["expr", "6", "*", "7"]}}
        meta = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        body, head = self.modern_parts("tools/call", call, "shell", meta=meta)
        alone = self.make_token("alone")
        for token in ("", alone):
            session = self.begin_asking(token=token)
            answer = self.legacy("tools/call", call, session=session, token=token)
            self.assertIn("nacre approve ap-", answer.json["result"]["content"][0]["text"])
            answer = self.post("/mcp", body, headers=head, token=token)
            self.assertNotIn("inputRequests", answer.json["result"])
            self.assertIn("nacre approve ap-", answer.json["result"]["content"][0]["text"])
        for asked in ({"token": self.make_token("seat", "--person")}, {"token": self.make_token("boss", "--approve")},
                      {"unix": True, "token": None}):
            self.assertIn("inputRequests", self.post("/mcp", body, headers=head, **asked).json["result"], asked)
        # One who has lost their person does not bring the answer, either.
        token = self.make_token("gone", "--person")
        state = self.post("/mcp", body, headers=head, token=token).json["result"]["requestState"]
        tokens = self.state / "tokens.json"
        listed = json.loads(tokens.read_text())
        listed["tokens"][-1]["person"] = False
        tokens.write_text(json.dumps(listed))
        yes = {"inputResponses": {"approval": {"action": "accept", "content": {"decision": "once"}}}, "requestState": state}
        body, head = self.modern_parts("tools/call", {**call, **yes}, "shell", meta=meta)
        answer = self.post("/mcp", body, headers=head, token=token)
        self.assertNotIn("42", json.dumps(answer.json))
        self.assertEqual({a["state"] for a in self.get("/v1/approvals", unix=True, token=None).json["approvals"]}, {"open"})

    def test_a_question_waits_for_a_client_that_comes_back(self):
        self.write_config("workspace.yaml", "profile: workspace\nsandbox: {mode: none}\n")
        token = self.make_token("seat", "--person")
        session = self.begin_asking(token=token)
        body = self.message("tools/call", {"name": "shell", "arguments": {"command": ["expr", "6", "*", "7"]}}, 7)
        events = self.stream("POST", "/mcp", body, headers={"Accept": BOTH, "Mcp-Session-Id": session}, token=token)
        question = events.next()
        self.assertEqual(question["json"]["method"], "elicitation/create")
        events.close()
        stream, number = question["id"].split("-")
        events = self.resume(session, f"{stream}-{int(number) - 1}", token=token)
        self.assertEqual(events.next()["json"], question["json"])
        # Others do not wait for a person.
        self.assertEqual(self.legacy("ping", session=session, ident=8, token=token).status, 200)
        reply = {"jsonrpc": "2.0", "id": question["json"]["id"], "result": {"action": "accept", "content": {"decision": "once"}}}
        self.assertEqual(self.post("/mcp", reply, headers={"Accept": BOTH, "Mcp-Session-Id": session}, token=token).status, 202)
        while "result" not in (last := events.next()["json"]):
            pass
        self.assertIn("42", last["result"]["content"][0]["text"])

    def test_a_stateless_stream_has_nothing_to_go_on_from(self):
        body, head = self.modern_parts("tools/call", {"name": "Bash", "arguments": {"command": "echo a; sleep 0.5"}}, "Bash",
                                       meta={"progressToken": 1})
        for event in self.stream("POST", "/mcp", body, headers=head):
            self.assertNotIn("id", event)

    def test_what_a_lost_client_asked_for_is_kept_for_it(self):
        session, known = self.begin(), set()
        for token in ({"progressToken": "p"}, {}):  # as a stream, and before there is any answer
            for name in ("go", "begun"):
                (self.work / name).unlink(missing_ok=True)
            body = self.message("tools/call", {"name": "Bash", "_meta": token, "arguments": {
                "command": f"echo; touch begun; while [ ! -e go ]; do sleep 0.05; done; echo precious {len(token)}"}}, 7)
            connection = self.connect()
            connection.request("POST", "/mcp", json.dumps(body), {
                "Accept": BOTH, "Mcp-Session-Id": session, "Content-Type": "application/json", "Authorization": f"Bearer {self.token()}"})
            if token:
                connection.sock.recv(10)
            wait_until("it has begun", (self.work / "begun").exists)
            connection.close()
            wait_until("the server knows", lambda: "\nnacre_streams 1\n" in self.get("/v1/metrics").body.decode())
            (self.work / "go").touch()
            task = wait_until("it is kept", lambda: next((t["task_id"] for t in self.get("/v1/tasks").json["tasks"]
                                                          if not t["running"] and t["task_id"] not in known), None))
            known.add(task)
            answer = self.legacy("tools/call", {"name": "TaskOutput", "arguments": {"task_id": task}}, session)
            self.assertIn(f"precious {len(token)}", answer.json["result"]["content"][0]["text"])
            self.assertIn(task, self.legacy("tools/call", {"name": "TaskList", "arguments": {}}, session).body.decode())

    def test_cancellation_in_a_session_ends_the_tree(self):
        session = self.begin()
        got = []
        thread = threading.Thread(target=lambda: got.append(self.legacy(
            "tools/call", {"name": "Bash", "arguments": {"command": "echo $$ > pid; exec sleep 1000"}}, session, 5)))
        thread.start()
        pid = int(self.wait_for_file(self.work / "pid"))
        answer = self.legacy("notifications/cancelled", {"requestId": 5}, session, None)
        self.assertEqual(answer.status, 202)
        self.expect_gone(pid)
        thread.join(DEADLINE)
        self.assertNotIn(b'"result"', got[0].body)

    def test_a_principal_has_the_tools_of_its_profiles(self):
        token = self.make_token("narrow", "--profile", "readonly")
        answer = self.modern("tools/list", token=token)
        names = [tool["name"] for tool in answer.json["result"]["tools"]]
        self.assertIn("run_shell", names)
        self.assertNotIn("Bash", names)
        self.assertIn("error", self.modern("tools/call", {"name": "Bash", "arguments": {"command": "true"}}, "Bash",
                                           token=token).json)

    def test_a_principal_has_all_of_its_directories(self):
        for name in ("a", "b", "c"):
            (self.dir / name / "in").mkdir(parents=True)
        token = self.make_token("two", "--profile", "readonly", "--workspace", str(self.dir / "a"), "--workspace", str(self.dir / "b"))

        def run(place):
            arguments = {"command": "pwd", **({"workspace": str(place)} if place else {})}
            answer = self.modern("tools/call", {"name": "run_shell", "arguments": arguments}, "run_shell", token=token)
            return answer.json["result"]["content"][0]["text"].splitlines()[0]
        self.assertEqual(run(None), str(self.dir / "a"))
        for place in (self.dir / "a", self.dir / "b", self.dir / "a" / "in", self.dir / "b" / "in"):
            self.assertEqual(run(place), str(place))
        (self.dir / "b" / "link").symlink_to(self.dir / "c")
        told = {run(place) for place in (self.dir / "c", self.work, "/etc", "/nowhere", self.dir / "b" / "link", "../b")}
        self.assertEqual(len(told), 1, told)
        self.assertNotIn(str(self.dir), told.pop())

    def test_many_principals_have_directories_of_their_own(self):
        server = self.serve(*(f"--profile={name}" for name in ("bash", "verify", "universal", "workspace", "readonly")),
                            unix=self.dir / "many.sock")
        for i in range(60):
            home = self.dir / f"home{i}"
            home.mkdir()
            token = self.make_token(f"p{i}", "--workspace", str(home))
            call = {"name": "run_shell", "arguments": {"command": "pwd"}}
            answer = self.modern("tools/call", call, "run_shell", token=token, server=server)
            self.assertEqual(answer.status, 200, (i, answer))
            self.assertIn(str(home), answer.json["result"]["content"][0]["text"])

    def test_a_token_made_anew_has_no_rights_of_the_one_before(self):
        token = self.make_token("ci")
        session = self.begin(token=token)
        waits = self.stream("POST", "/mcp", self.modern_parts("subscriptions/listen", {"notifications": {}})[0], token=token,
                            headers=self.modern_parts("subscriptions/listen")[1])
        self.assertEqual(waits.next()["json"]["method"], "notifications/subscriptions/acknowledged")
        for rights in (("--profile", "readonly"), ("--profile", "bash", "--workspace", str(self.dir / "yard"))):
            (self.dir / "yard").mkdir(exist_ok=True)
            done = subprocess.run([NACRE, "token", "revoke", "ci"], env=self.env, check=False)
            self.assertEqual(done.returncode, 0)
            token = self.make_token("ci", *rights)
            call = {"name": "Bash", "arguments": {"command": "pwd"}}
            self.assertEqual(self.legacy("tools/call", call, session, token=token).status, 404)
            answer = self.modern("tools/call", call, "Bash", token=token).json
            self.assertIsNone(waits.next())
            if "readonly" in rights:
                self.assertEqual(answer["error"]["code"], -32602, answer)
            else:
                self.assertIn(str(self.dir / "yard"), answer["result"]["content"][0]["text"])
            session = self.begin(token=token)

    def test_tasks_of_one_principal_are_not_anothers(self):
        run = self.run_command("echo private-words; sleep 1000", background=True)["task_id"]
        wait_until("it has begun", lambda: "private" in self.get(f"/v1/tasks/{run}/output").json["output"])
        other = self.make_token("other")
        mine = self.modern("tools/call", {"name": "TaskList", "arguments": {}}, "TaskList").json
        self.assertIn(run, json.dumps(mine))
        for name, arguments in (("TaskList", {}), ("TaskOutput", {"task_id": run}), ("TaskStop", {"task_id": run}),
                                ("shell_list", {}), ("shell_output", {"task_id": run}), ("shell_kill", {"task_id": run}),
                                ("shell_input", {"task_id": run, "text": "x"})):
            answer = self.modern("tools/call", {"name": name, "arguments": arguments}, name, token=other)
            text = json.dumps(answer.json)
            self.assertNotIn("private-words", text, name)
            if not arguments:
                self.assertNotIn(run, text, name)
        read = self.modern("resources/read", {"uri": f"nacre://output/{run}"}, f"nacre://output/{run}", token=other)
        self.assertIn("error", read.json)
        listed = self.modern("resources/list", token=other)
        self.assertNotIn(run, listed.body.decode())
        self.assertTrue(self.get(f"/v1/tasks/{run}").json["running"])
        self.post(f"/v1/tasks/{run}/stop", {"now": True})

    def test_many_tasks_of_another_hide_none(self):
        mine = self.run_command("echo mine", background=True)["task_id"]
        wait_until("it has ended", lambda: not self.get(f"/v1/tasks/{mine}").json["running"])
        other = self.make_token("other")
        theirs = self.run_command("echo theirs", background=True, token=other)["task_id"]
        theirs = [theirs, *self.copy_task(theirs, 1200)]
        listed = self.modern("tools/call", {"name": "TaskList", "arguments": {}}, "TaskList").json["result"]
        self.assertEqual([line.split()[0] for line in listed["content"][0]["text"].splitlines()], [mine])
        listed = self.modern("resources/list").json["result"]
        self.assertEqual([entry["name"] for entry in listed["resources"]], ["policy", "session", mine])
        self.assertNotIn("nextCursor", listed)
        session = self.legacy("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}).headers["Mcp-Session-Id"]
        self.legacy("notifications/initialized", session=session, ident=None)
        listed = self.legacy("tasks/list", session=session).json["result"]
        self.assertEqual([task["taskId"] for task in listed["tasks"]], [mine])
        self.assertNotIn("nextCursor", listed)
        self.assertEqual([task["task_id"] for task in self.get("/v1/tasks").json["tasks"]], [mine])
        cursor, pages = None, []

        def next_page():
            answer = self.modern("resources/list", {"cursor": cursor} if cursor else {}, token=other)
            return answer.status != 429 and answer.json["result"]  # each is dear to the server, and counts for more than one

        while cursor or not pages:
            page = wait_until("the rate allows one more", next_page)
            pages.append([entry["name"] for entry in page["resources"] if entry["name"] not in ("policy", "session")])
            cursor = page.get("nextCursor")
        names = [name for page in pages for name in page]
        self.assertEqual((set(names), len(names)), (set(theirs), len(theirs)))
        self.assertEqual({len(page) for page in pages[:-1]}, {50})

    def test_a_long_output_is_read_to_its_end_without_a_session(self):
        def call(tool, **arguments):
            return self.modern("tools/call", {"name": tool, "arguments": arguments}, tool).json["result"]
        task = call("Bash", command="seq 10000", run_in_background=True)["_meta"]["dev.nacre/run"]["task_id"]
        text, since = "", 0
        while since < 48894:
            result = call("TaskOutput", task_id=task, block=True, since=since)
            text += result["content"][0]["text"].rsplit("[exit", 1)[0]
            since = result["_meta"]["dev.nacre/run"]["next"]
        self.assertEqual("".join(text.split()), "".join(str(i) for i in range(1, 10001)))

    def test_no_method_tells_of_the_tasks_of_others(self):
        run = self.run_command("echo private-words; sleep 1000", background=True)["task_id"]
        wait_until("it has begun", lambda: "private" in self.get(f"/v1/tasks/{run}/output").json["output"])
        other = self.make_token("other")
        start = self.legacy("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}, token=other)
        session = start.headers["Mcp-Session-Id"]
        self.legacy("notifications/initialized", session=session, ident=None, token=other)
        for method, params in (("tasks/get", {"taskId": run}), ("tasks/result", {"taskId": run}), ("tasks/cancel", {"taskId": run}),
                               ("tasks/list", {}), ("resources/read", {"uri": f"nacre://output/{run}"}), ("resources/list", {}),
                               ("resources/subscribe", {"uri": f"nacre://output/{run}"})):
            answer = self.legacy(method, params, session, token=other)
            self.assertNotIn("private-words", answer.body.decode(), method)
            if params:
                unknown = {key: value.replace(run, "bash-" + "0" * 16) for key, value in params.items()}
                same = self.legacy(method, unknown, session, token=other)
                self.assertEqual(answer.json["error"]["code"], same.json["error"]["code"], method)
                self.assertEqual(answer.json["error"]["message"], same.json["error"]["message"], method)
            else:
                self.assertNotIn(run, answer.body.decode(), method)
        body, head = self.modern_parts("subscriptions/listen", {"notifications": {
            "taskIds": [run], "resourceSubscriptions": [f"nacre://output/{run}"]}}, meta={
                "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}})
        events = self.stream("POST", "/mcp", body, headers=head, token=other)
        self.assertEqual(events.next()["json"]["params"]["notifications"], {"taskIds": [], "resourceSubscriptions": []})
        events.close()
        self.assertTrue(self.get(f"/v1/tasks/{run}").json["running"])
        self.post(f"/v1/tasks/{run}/stop", {"now": True})

    def test_to_ask_about_a_directory_tells_no_more_than_to_work_there(self):
        (self.work / "file").write_text("x")
        places = ("/etc", "/etc/passwd", "/no/such", "..", "file", "nothing", "x" * 300)

        def told(tool, place):
            answer = self.modern("tools/call", {"name": tool, "arguments": {"command": "ls", "cwd": place}}, tool)
            self.assertTrue(answer.json["result"]["isError"], answer)
            return answer.json["result"]["content"][0]["text"]
        self.assertEqual(len({told(tool, place) for tool in ("Bash", "shell_explain") for place in places}), 1)
        self.assertEqual({self.post("/v1/explain", {"command": "ls", "cwd": place}).status for place in places}, {404})

    def test_nothing_of_the_server_is_in_an_answer(self):
        self.write_config("bash.yaml", "profile: bash\ndeny:\n  - {id: own-rule, commands: [frobnicate], reason: never}\n")
        secret = "hunter2-very-secret"
        server = self.serve(unix=self.dir / "x.sock", env={"MY_TOKEN": secret, "AWS_SECRET_ACCESS_KEY": secret})

        def check(answer, *words):
            text = answer.body.decode()
            for word in (secret, self.token(), str(self.state), str(self.config), server.unix):
                self.assertNotIn(word, text)
            for word in words:
                self.assertIn(word, text)
            return answer

        def call(tool, *words, **arguments):
            return check(self.modern("tools/call", {"name": tool, "arguments": arguments}, tool, server=server), *words)

        def read(uri, *words):
            return check(self.modern("resources/read", {"uri": uri}, uri, server=server), *words)
        task = call("Bash", command="echo x", run_in_background=True).json["result"]["_meta"]["dev.nacre/run"]["task_id"]
        call("Bash", command="env; ls -l /proc/self/fd; cat /proc/$PPID/environ /proc/1/environ; mount")
        call("Bash", command="seq 100000")
        call("Bash", "own-rule", command="frobnicate")
        call("shell_explain", "own-rule", "bash.yaml", command="frobnicate | ls")
        for tool in ("TaskOutput", "shell_output", "TaskStop", "shell_kill"):
            call(tool, task_id=task)
        for tool in ("TaskList", "shell_list"):
            call(tool)
        for tool, words in (("shell", ["frob"]), ("safe_shell", "frob"), ("run_shell", "frob"), ("run_command", "frob")):
            call(tool, command=words)
        read("nacre://policy", "own-rule, bash.yaml:3:")
        read(f"nacre://output/{task}")
        for method in ("resources/list", "server/discover", "tools/list"):
            check(self.modern(method, server=server))
        self.write_config("bash.yaml", "profile: bash\nbroken: x\n")  # while it serves
        for tool in ("Bash", "shell_explain"):
            self.assertTrue(call(tool, command="true").json["result"]["isError"])
        read("nacre://policy")
        self.assertFalse(check(self.post("/v1/run", {"command": "ls"}, server=server)).json["success"])
        self.assertEqual(check(self.post("/v1/explain", {"command": "ls"}, server=server)).status, 500)
        self.assertIn(b"unknown key 'broken'", self.read_log(server))
        self.write_config("bash.yaml", "profile: bash\n")
        (self.work / ".nacre.yaml").write_text("timeouts: {}\n")  # a file of the client's own
        call("Bash", ".nacre.yaml:1:1: unknown key", command="true")

    def test_a_state_is_its_principals(self):
        """What a stateless client carries for us is of no use to another, nor for another call."""
        self.write_config("workspace.yaml", "profile: workspace\nsandbox: {mode: none}\n")
        form = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}

        own, other = self.make_token("own", "--person"), self.make_token("other", "--person")

        def ask(words, token=own, **more):
            params = {"name": "shell", "arguments": {"command": words}, **more}
            body, head = self.modern_parts("tools/call", params, "shell", meta=form)
            return self.post("/mcp", body, headers=head, token=token)
        words = ["expr", "6", "*", "7"]
        state = ask(words).json["result"]["requestState"]
        yes = {"inputResponses": {"approval": {"action": "accept", "content": {"decision": "once"}}}, "requestState": state}
        for answer in (ask(words, other, **yes), ask(["expr", "6", "*", "8"], **yes),
                       ask(words, **{**yes, "requestState": state[:-4] + "AAAA"}), ask(words, **{**yes, "requestState": ""})):
            self.assertEqual(answer.json.get("error", {}).get("code"), -32602, answer)
        self.assertIn("42", ask(words, **yes).json["result"]["content"][0]["text"])
        self.assertEqual(ask(words, **yes).json["error"]["code"], -32602)

    def test_a_profile_of_the_operator_is_the_tool_that_it_says(self):
        self.write_config("team.yaml", "profile: team\ninherits: bash\n")
        server = self.serve("--profile", "team", "--profile", "readonly", unix=self.dir / "team.sock")
        names = [tool["name"] for tool in self.modern("tools/list", server=server).json["result"]["tools"]]
        self.assertEqual({"Bash", "run_shell"} - set(names), set())
        answer = self.modern("tools/call", {"name": "Bash", "arguments": {"command": "echo hi"}}, "Bash", server=server)
        self.assertIn("hi", answer.json["result"]["content"][0]["text"])
        self.assertEqual(self.number('nacre_commands_total{profile="team",verdict="allow"}', server), 1)

    def number(self, name, server):
        text = self.get("/v1/metrics", server=server).body.decode()
        return float(re.search(rf"(?m)^{re.escape(name)} (\S+)$", text)[1])

    def begin_calls(self, server, count, token=""):
        """Calls that run until there is a file "gate"; what comes of them is added to the list."""
        got = []

        def call(i):
            got.append(self.modern("tools/call", {"name": "Bash", "arguments": {
                "command": f"while [ ! -e gate ]; do sleep 0.05; done; echo {i}"}}, "Bash", ident=i, server=server, token=token))
        threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        return got, threads

    def test_its_commands_are_counted(self):
        server = self.serve(unix=self.dir / "count.sock")
        for command in ("echo 12345", "rm -rf /"):
            self.modern("tools/call", {"name": "Bash", "arguments": {"command": command}}, "Bash", server=server)
        for name, value in (('nacre_commands_total{profile="bash",verdict="allow"}', 1),
                            ('nacre_commands_total{profile="bash",verdict="deny"}', 1),
                            ('nacre_output_bytes_total{stream="stdout"}', 6), ("nacre_command_duration_seconds_count", 1),
                            ("nacre_running", 0), ("nacre_queued", 0)):
            self.assertEqual(self.number(name, server), value, name)

    def test_its_commands_have_their_places_with_all_others(self):
        server = self.serve("--jobs", "4", "--queue", "1", unix=self.dir / "places.sock")  # three of one principal
        got, threads = self.begin_calls(server, 5)
        wait_until("one is refused", lambda: len(got) == 1)
        self.assertIn("too many", got[0].json["result"]["content"][0]["text"])
        self.assertEqual((self.number("nacre_running", server), self.number("nacre_queued", server)), (3, 1))
        self.assertEqual(self.post("/v1/run", {"command": "true"}, server=server).status, 503)
        other = self.make_token("other")  # has the fourth place, by either door
        self.assertEqual(self.run_command("echo hi", server=server, token=other)["stdout"], "hi\n")
        answer = self.modern("tools/call", {"name": "Bash", "arguments": {"command": "echo hi"}}, "Bash", server=server, token=other)
        self.assertIn("hi", answer.json["result"]["content"][0]["text"])
        (self.work / "gate").touch()
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual(sum("exit 0" in a.body.decode() for a in got), 4)
        self.assertEqual((self.number("nacre_running", server), self.number("nacre_queued", server)), (0, 0))

    def test_one_door_wakes_the_queue_of_the_other(self):
        server = self.serve("--jobs", "1", unix=self.dir / "wake.sock")
        got, threads = self.begin_calls(server, 1)
        wait_until("it runs", lambda: self.number("nacre_running", server) == 1)
        rest = []
        threads.append(threading.Thread(target=lambda: rest.append(self.run_command("echo rest; sleep 0.2", server=server))))
        threads[-1].start()
        wait_until("the other waits", lambda: self.number("nacre_queued", server) == 1)
        late, more = self.begin_calls(server, 1)
        wait_until("both wait", lambda: self.number("nacre_queued", server) == 2)
        (self.work / "gate").touch()
        for thread in threads + more:
            thread.join(DEADLINE)
        self.assertEqual(rest[0]["stdout"], "rest\n")
        self.assertIn("exit 0", late[0].body.decode())

    def test_background_tasks_have_a_number_by_this_door_too(self):
        server = self.serve("--tasks", "2", unix=self.dir / "tasks.sock")
        call = {"name": "Bash", "arguments": {"command": "sleep 1000", "run_in_background": True}}
        answers = [self.modern("tools/call", call, "Bash", server=server).json["result"] for _ in range(3)]
        self.assertEqual([a["isError"] for a in answers], [False, False, True])
        self.assertIn("too many", answers[2]["content"][0]["text"])
        for task in self.get("/v1/tasks", server=server).json["tasks"]:
            self.post(f"/v1/tasks/{task['task_id']}/stop", {"now": True})

    def test_sigterm_ends_fifty_calls_of_both_eras_in_time(self):
        server = self.serve("--stop-time", "300ms", "--rate", "0", "--jobs", "80", unix=self.dir / "stop.sock")
        session, got = self.begin(server=server), []
        call = {"name": "Bash", "arguments": {"command": "echo begun; sleep 1000"}}

        def run(i):
            try:
                got.append(self.modern("tools/call", call, "Bash", ident=i, server=server) if i % 2 else
                           self.legacy("tools/call", call, session, i, server=server))
            except OSError:  # it may be cut off; what counts is that it ends
                got.append(None)
        threads = [threading.Thread(target=run, args=(i,)) for i in range(50)]
        for thread in threads:
            thread.start()
        stream = self.stream("GET", "/mcp", headers={"Mcp-Session-Id": session}, server=server)
        wait_until("all of them run", lambda: self.number("nacre_running", server) == 50)
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(DEADLINE), 0)
        self.assertLess(time.monotonic() - began, (60 if SANITIZED else 15) + SLACK)
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual(len(got), 50)
        self.assertIsNone(stream.next())
        wait_until("no command of them is left", lambda: not [p for p in descendants() if p.name == "sleep"])

    def test_sessions_in_disorder_leave_nothing(self):
        """Calls, streams, cancellations, lost and resumed connections and ends of sessions, in any order."""
        dice = random.Random(SEED)
        server = self.serve("--rate", "0", "--jobs", "8", "--queue", "8", unix=self.dir / "disorder.sock")
        port, token = server.port, self.token()
        sessions, ids, open_socks = [], ["1-1"], []

        def send(method, body=None, session=None, *lines):
            data = json.dumps(body).encode() if body is not None else b""
            head = [f"{method} /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token}", f"Accept: {BOTH}", *lines]
            if session:
                head.append(f"Mcp-Session-Id: {session}")
            if body is not None:
                head += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
            sock = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
            sock.sendall("\r\n".join([*head, "", ""]).encode() + data)
            return sock

        def look(sock, seconds):
            """What comes within this time; names of events are remembered."""
            sock.settimeout(seconds)
            try:
                text = sock.recv(65536).decode(errors="replace")
            except (TimeoutError, OSError):
                text = ""
            ids.extend(re.findall(r"(?m)^id: (\S+)\r?$", text))
            return text

        def step():
            what = dice.random()
            session = dice.choice(sessions) if sessions else None
            ident = dice.randrange(5)
            if what < 0.12 or not session:
                text = look(send("POST", self.message("initialize", {"protocolVersion": dice.choice(
                    ["2025-03-26", "2025-06-18", "2025-11-25"]), "capabilities": dice.choice([{}, {"elicitation": {}}])})), DEADLINE)
                sessions.extend(re.findall(r"(?i)mcp-session-id: (\w+)", text))
                return
            if what < 0.5:
                call = {"name": "Bash", "arguments": {"command": dice.choice(
                    ["echo a; sleep 0.3; echo b; sleep 0.3", "true", "sleep 0.5", "rm -rf /", "seq 20000"])}}
                if dice.random() < 0.7:
                    call["_meta"] = {"progressToken": ident}
                if dice.random() < 0.1:
                    call = {"name": "shell", "arguments": {"command": ["expr", "1"]}}
                sock = send("POST", self.message("tools/call", call, ident), session)
            elif what < 0.6:
                sock = send("POST", self.message("notifications/cancelled", {"requestId": ident}, None), session)
            elif what < 0.75:
                last = dice.choice(ids[-6:])
                sock = send("GET", None, session, f"Last-Event-ID: {last}")
            elif what < 0.8:
                sock = send("GET", None, session)
            elif what < 0.85:
                sock = send("POST", self.message("notifications/initialized", None, None), session)
            elif what < 0.9:
                sock = send("POST", [self.message("ping", None, ident), self.message("tools/call", {"name": "Bash", "arguments": {
                    "command": "sleep 0.2"}}, ident)], session)
            elif what < 0.95:
                sock = send("DELETE", None, session)
                if dice.random() < 0.5:
                    sessions.remove(session)
            else:
                body, head = self.modern_parts("tools/call", {"name": "Bash", "arguments": {"command": "echo a; sleep 0.4"}}, "Bash",
                                               meta={"progressToken": 1})
                sock = send("POST", body, None, *[f"{key}: {value}" for key, value in head.items() if key != "Accept"])
            look(sock, dice.choice([0.001, 0.05, 0.3]))
            open_socks.append(sock)
            while len(open_socks) > 20 or (open_socks and dice.random() < 0.3):
                open_socks.pop(dice.randrange(len(open_socks))).close()
        for _ in range(DISORDER):
            step()
            self.assertIsNone(server.poll(), SEED)
        for sock in open_socks:
            sock.close()
        for session in sessions:  # a question that is open waits for its client to come back
            look(send("DELETE", None, session), DEADLINE)
        wait_until("no request is under way but this", lambda: self.number("nacre_streams", server) == 1)
        wait_until("no command runs", lambda: self.number("nacre_running", server) == 0 and self.number("nacre_queued", server) == 0)
        self.stop_server(server)
        self.assertEqual(server.returncode, 0, server.log)

    def test_calls_run_side_by_side(self):
        session = self.begin()
        got = []
        thread = threading.Thread(target=lambda: got.append(self.legacy(
            "tools/call", {"name": "Bash", "arguments": {"command": "while [ ! -e go ]; do sleep 0.05; done; echo late"}},
            session, 1)))
        thread.start()
        self.assertEqual(self.legacy("tools/call", {"name": "Bash", "arguments": {"command": "touch go"}}, session, 2).status, 200)
        thread.join(DEADLINE)
        self.assertIn("late", got[0].body.decode())


if __name__ == "__main__":
    unittest.main()
