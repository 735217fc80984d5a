"""`nacre mcp` on the wire: framing, both eras, every tool, and what the protocol says about order."""
import json
import os
import random
import signal
import subprocess
import time
import unittest

from helpers import DEADLINE, NACRE, SANITIZED, SLACK, NacreTest, descendants, is_alive, status_kb, wait_until
from mcp_client import META, Client, meta

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
ALL = [word for name in ("bash", "verify", "universal", "workspace", "readonly")
       for word in ("--profile", name)]


class McpTest(NacreTest):
    def client(self, *args, revision="2025-11-25", capabilities=None, **options):
        c = Client(self, *args, **options)
        if revision:
            c.initialize(revision, capabilities)
        return c

    def bare(self, *args, **options):
        return Client(self, *args, **options)

    def sleeping(self, count=1):
        """Waits for that many processes named sleep, and returns their ids."""
        def enough():
            found = [p.pid for p in descendants() if p.name == "sleep"]
            return found if len(found) == count else None
        return wait_until(f"{count} processes sleep", enough)


class Handshake(McpTest):
    def test_every_revision_is_echoed_and_others_get_the_youngest(self):
        for asked in [*REVISIONS, "2026-07-28", "1999-01-01", ""]:
            c = self.bare()
            result = c.initialize(asked)
            wanted = asked if asked in REVISIONS else "2025-11-25"
            self.assertEqual(result["protocolVersion"], wanted)
            self.assertEqual(result["serverInfo"]["name"], "nacre")
            self.assertEqual("tasks" in result["capabilities"], wanted == "2025-11-25")
            self.assertNotIn("resultType", result)
            self.assertNotIn("_meta", result)
            c.close()

    def test_before_it_only_ping_is_answered_and_it_happens_once(self):
        c = self.bare()
        self.assertEqual(c.result("ping"), {})
        for method in ("tools/list", "tools/call", "logging/setLevel", "nonsense"):
            self.assertEqual(c.error(method), -32600)
        self.assertEqual(c.error("initialize"), -32602)
        self.assertEqual(c.error("initialize", {"protocolVersion": 7}), -32602)
        c.initialize()
        self.assertEqual(c.error("initialize", {"protocolVersion": "2025-11-25"}), -32600)
        c.close()

    def test_it_is_one_whatever_else_a_client_says_of_itself(self):
        for extra in ({META + "clientInfo": {"name": "x", "version": "1"}}, {META + "protocolVersion": "2026-07-28"},
                      {META + "clientCapabilities": {}}):
            c = self.bare()
            result = c.result("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "_meta": extra})
            self.assertEqual(result["protocolVersion"], "2025-06-18", extra)
            c.close()
        c = self.bare()
        self.assertEqual(c.error("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "_meta": meta()}), -32601)
        c.close()

    def test_nothing_is_sent_before_the_client_is_ready(self):
        c = self.bare()
        c.result("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        c.call("Bash", {"command": "echo a; sleep 0.6; echo b"}, _meta={"progressToken": 1})
        self.assertEqual(c.notes, [])
        c.close()


class Framing(McpTest):
    def test_an_id_comes_back_as_it_was(self):
        c = self.client()
        for raw in ("0", "-7", "9007199254740991", '""', '"1"', "1", '"\\u00e9"', '"\u00e9"',
                    '"' + "x" * 300 + '"'):
            c.write(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % raw.encode())
            line = c.messages.get(timeout=DEADLINE).decode()
            self.assertEqual(line, '{"jsonrpc":"2.0","id":%s,"result":{}}\n' % raw)
        c.close()

    def test_what_is_no_message_is_answered_and_the_server_goes_on(self):
        c = self.client()
        deep = b'{"jsonrpc":"2.0","id":"deep","method":"ping","params":' + b"[" * 5000 + b"]" * 5000 + b"}"
        for line, code, id in (
                (b"nonsense", -32700, None), (b"{", -32700, None), (b'"text"', -32600, None),
                (b'{"jsonrpc":"2.0","id":1,"method":"ping\xff"}', -32700, None),
                (b'{"jsonrpc":"2.0","id":"\xed\xa0\x80","method":"ping"}', -32700, None),
                (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
                (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
                (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
                (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', -32600, 5),
                (b'{"jsonrpc":"2.0","id":5}', -32600, 5),
                (b'{"jsonrpc":"2.0","id":5,"method":["ping"]}', -32600, 5),
                (b'{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}', -32600, None),
                (b'{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}', -32600, None),
                (b"[]", -32600, None), (b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]', -32600, None),
                (deep, -32600, "deep"),
                (b'{"jsonrpc":"2.0","id":"n","method":"ping","params":{"x":18446744073709551616}}', -32600, "n"),
                (b'{"jsonrpc":"2.0","id":"n","method":"ping","params":{"x":1,"x":2}}', -32600, "n"),
                (b'{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"Bash","arguments":'
                 b'{"command":"echo \\ud83d"}}}', -32600, "n"),
                (b'{"jsonrpc":"2.0","id":"n","method":"ping","params":{"a\\u0000":1}}', -32600, "n"),
                (b'{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}', -32602, 5),
                (b'{"jsonrpc":"2.0","id":5,"method":"nonsense"}', -32601, 5)):
            c.write(line + b"\n")
            answer = c.take()
            self.assertEqual((answer["error"]["code"], answer["id"]), (code, id), line[:80])
        c.expect_silence()
        c.close()

    def test_a_line_that_is_too_long_is_refused_under_its_id(self):
        c = self.client("--message-max", "64K")
        c.write(b'{"jsonrpc":"2.0","id":"long","method":"ping","params":{"x":"' + b"y" * 500000 + b'"}}\n')
        answer = c.take()
        self.assertEqual((answer["error"]["code"], answer["id"]), (-32600, "long"))
        c.expect_silence()
        c.close()

    def test_a_megabyte_goes_in(self):
        c = self.client()
        text = c.text("Bash", {"command": "wc -c <<< " + "y" * 100000})
        self.assertTrue(text.startswith("100001\n"), text)
        c.write(b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"' + b"y" * (1 << 20) + b'"}}\n')
        self.assertEqual(c.take()["result"], {})
        c.close()

    def test_lines_may_come_in_any_pieces_and_with_any_ends(self):
        c = self.client()
        one = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        for byte in one + b"\r\n":
            c.write(bytes([byte]))
        self.assertEqual(c.take()["id"], 1)
        c.write(b"\n\r\n  \n" + one + b"\n" + one.replace(b"1,", b"2,") + b"\n\n")
        self.assertEqual([c.take()["id"], c.take()["id"]], [1, 2])
        c.expect_silence()
        c.close()

    def test_notifications_and_stray_responses_are_never_answered(self):
        c = self.client()
        c.notify("notifications/nonsense")
        c.notify("notifications/cancelled", {"requestId": "nobody"})
        c.notify("notifications/cancelled", {"requestId": {}})
        c.notify("notifications/cancelled")
        c.send({"jsonrpc": "2.0", "id": "nacre-1", "result": {"action": "accept"}})
        c.send({"jsonrpc": "2.0", "id": 77, "error": {"code": 1, "message": "x"}})
        c.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what did you say?"}})
        c.send({"jsonrpc": "2.0", "id": 77, "result": {}, "error": {}})
        c.send({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "Bash"}})
        c.expect_silence()
        c.close()

    def test_batches_belong_to_one_revision(self):
        for revision in REVISIONS:
            c = self.client(revision=revision)
            c.send([{"jsonrpc": "2.0", "id": "a", "method": "ping"}])
            answer = c.take()
            if revision != "2025-03-26":
                self.assertEqual(answer["error"]["code"], -32600)
            else:
                self.assertEqual(answer, [{"jsonrpc": "2.0", "id": "a", "result": {}}])
            c.close()

    def test_a_batch_is_answered_at_once_when_all_of_it_is_done(self):
        c = self.client(revision="2025-03-26")
        call = {"name": "Bash", "arguments": {"command": "until [ -e go ]; do sleep 0.02; done; echo slow"}}
        c.send([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, 7,
                {"jsonrpc": "2.0", "method": "notifications/nonsense"},
                {"jsonrpc": "2.0", "id": 2, "method": "ping"},
                {"jsonrpc": "2.0", "id": 3, "method": "initialize"}])
        c.send({"jsonrpc": "2.0", "id": 4, "method": "ping"})
        self.assertEqual(c.take()["id"], 4)
        (self.work / "go").touch()
        answers = c.take()
        self.assertEqual(len(answers), 4)
        byid = {a["id"]: a for a in answers}
        self.assertIn("slow", byid[1]["result"]["content"][0]["text"])
        self.assertEqual(byid[None]["error"]["code"], -32600)
        self.assertEqual(byid[3]["error"]["code"], -32600)
        c.send([{"jsonrpc": "2.0", "method": "notifications/nonsense"}])
        c.expect_silence()
        c.close()

    def test_random_damage_is_survived(self):
        c = self.client()
        rng = random.Random(8)
        seeds = [json.dumps(m).encode() for m in (
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}},
            {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "nacre://output/x?offset=1"}},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {"name": "shell_output", "arguments": {"task_id": "bash-x", "since": 1}}},
            {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
             "params": {"notifications": {"taskIds": ["a"]}, "_meta": meta()}})]
        before = status_kb(c.popen.pid, "VmRSS")
        for _ in range(2000):
            line = bytearray(rng.choice(seeds))
            for _ in range(rng.randint(1, 4)):
                line[rng.randrange(len(line))] = rng.choice(b'{}[]",:\\0a\x00\xff')
            c.write(bytes(line).replace(b"\n", b" ") + b"\n")
        c.request("ping", id="end")
        c.answer("end")
        if not SANITIZED:
            self.assertLess(status_kb(c.popen.pid, "VmRSS"), before + 16384)
        c.close()


class Modern(McpTest):
    def test_the_envelope_is_checked_before_the_method(self):
        c = self.bare()
        self.assertEqual(c.error("server/discover"), -32602)
        self.assertEqual(c.error("server/discover", {"_meta": {META + "protocolVersion": "2026-07-28"}}), -32602)
        self.assertEqual(c.error("nonsense", {"_meta": {META + "clientCapabilities": {}}}), -32602)
        self.assertEqual(c.error("nonsense", {"_meta": {**meta(), META + "clientCapabilities": []}}), -32602)
        answer = c.ask("tools/list", {"_meta": {**meta(), META + "protocolVersion": "2031-01-01"}})
        self.assertEqual(answer["error"]["code"], -32022)
        self.assertEqual(answer["error"]["data"]["requested"], "2031-01-01")
        self.assertEqual(answer["error"]["data"]["supported"],
                         c.result("server/discover", {"_meta": meta()})["supportedVersions"])
        # A handshake revision in the envelope is a request of that era, and needs its handshake.
        self.assertEqual(c.error("tools/list", {"_meta": {**meta(), META + "protocolVersion": "2025-06-18"}}), -32600)
        for level in ("loud", 5, None, ["info"]):
            self.assertEqual(c.error("tools/list", {"_meta": meta(**{META + "logLevel": level})}), -32602, level)
        c.close()

    def test_discovery_tells_what_is_there(self):
        c = self.bare()
        result = c.result("server/discover", {"_meta": meta()})
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual(result["supportedVersions"], ["2026-07-28", *reversed(REVISIONS)])
        self.assertEqual(result["capabilities"], {"tools": {}, "resources": {"subscribe": True}, "logging": {},
                                                  "extensions": {META + "tasks": {}}})
        self.assertEqual(result["_meta"][META + "serverInfo"]["name"], "nacre")
        self.assertIsInstance(result["ttlMs"], int)
        self.assertEqual(result["cacheScope"], "public")
        c.close()

    def test_what_is_gone_is_not_found(self):
        c = self.bare()
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
                       "tasks/list", "tasks/result", "prompts/list", "nonsense"):
            self.assertEqual(c.error(method, {"_meta": meta()}), -32601, method)
        c.close()

    def test_both_eras_on_one_connection(self):
        c = self.client(revision="2025-06-18")
        old, new = c.result("tools/list"), c.result("tools/list", {"_meta": meta()})
        self.assertEqual([t["name"] for t in old["tools"]], [t["name"] for t in new["tools"]])
        self.assertNotIn("resultType", old)
        self.assertNotIn("ttlMs", old)
        self.assertEqual((new["resultType"], new["cacheScope"]), ("complete", "public"))
        self.assertEqual(c.call("Bash", {"command": "echo hi"}, _meta=meta())["resultType"], "complete")
        self.assertNotIn("resultType", c.call("Bash", {"command": "echo hi"}))
        c.close()

    def test_logs_only_where_asked_for_and_before_the_answer(self):
        c = self.bare()
        bad = {"name": "Bash", "arguments": {"command": "mkfs /dev/sda"}}
        c.result("tools/call", {**bad, "_meta": meta()})
        self.assertEqual(c.notes, [])
        id = c.request("tools/call", {**bad, "_meta": meta(**{META + "logLevel": "info"})})
        self.assertEqual(c.take()["method"], "notifications/message")
        self.assertEqual(c.take()["id"], id)
        c.close()


class Tools(McpTest):
    def test_the_list_is_stable_and_fits_the_revision(self):
        for revision in REVISIONS:
            c = self.client(*ALL, revision=revision)
            result = c.result("tools/list")
            self.assertEqual(result, c.result("tools/list", {}))
            self.assertEqual([t["name"] for t in result["tools"]], [
                "Bash", "safe_shell", "run_command", "shell", "run_shell", "shell_output", "shell_kill",
                "shell_list", "TaskOutput", "TaskList", "TaskStop", "shell_input", "shell_explain"])
            for tool in result["tools"]:
                self.assertRegex(tool["name"], r"^[A-Za-z0-9_-]{1,64}$")
                schema = tool["inputSchema"]
                self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False))
                for member in schema["properties"].values():
                    self.assertTrue(member["description"])
                self.assertEqual("annotations" in tool, revision >= "2025-03-26")
                self.assertEqual("title" in tool, revision >= "2025-06-18")
                self.assertEqual("execution" in tool, revision == "2025-11-25"
                                 and tool["name"] in ("Bash", "safe_shell", "run_command", "shell", "run_shell"))
                if "annotations" in tool:
                    self.assertEqual(tool["annotations"]["readOnlyHint"], tool["name"] in (
                        "run_shell", "shell_output", "shell_list", "TaskOutput", "TaskList", "shell_explain"))
            self.assertEqual(c.error("tools/list", {"cursor": "x"}), -32602)
            c.close()

    def test_what_is_no_call_is_an_error_and_what_is_no_argument_is_told_to_the_model(self):
        c = self.client()
        for params in ({}, {"name": 7}, {"name": "nonsense"}, {"name": "safe_shell"},
                       {"name": "Bash", "arguments": []}, {"name": "Bash", "arguments": "x"}):
            self.assertEqual(c.error("tools/call", params), -32602, params)
        self.assertIn("missing", c.refusal("Bash"))
        self.assertIn("commando", c.refusal("Bash", {"command": "true", "commando": 1}))
        self.assertIn("must be", c.refusal("Bash", {"command": 5}))
        for command in ({"command": "echo a\0b"}, {"command": "true", "env": {"A": "b\0"}}):
            self.assertIn("U+0000", c.refusal("Bash", command))
        c.close()

    def test_a_command_that_ran_is_no_error_whatever_it_says(self):
        c = self.client()
        result = c.call("Bash", {"command": "echo out; echo err >&2; exit 3"})
        self.assertFalse(result["isError"])
        self.assertRegex(result["content"][0]["text"], r"^out\nerr\n\[exit 3 after \S+\]$")
        run = result["_meta"]["dev.nacre/run"]
        self.assertEqual((run["exit_code"], run["verdict"], run["stdout_bytes"]), (3, "allow", 8))
        self.assertNotIn("structuredContent", result)
        self.assertRegex(c.text("Bash", {"command": "kill -9 $$"}), r"\[killed by SIGKILL")
        self.assertIn("timed out", c.refusal("Bash", {"command": "sleep 60", "timeout": 200}))
        self.assertIn("[exit 127", c.text("Bash", {"command": "no-such-program"}))
        self.assertIn("\ufffd", c.text("Bash", {"command": "printf 'a line of text \\xff and more of the same text\\n'"}))
        c.close()

    def test_every_dialect_runs_and_refuses(self):
        c = self.client(*ALL)
        (self.work / "f.txt").write_text("content\n")
        self.assertIn("5\n", c.text("safe_shell", {"command": "python3", "args": ["-c", "print(5)"]}))
        self.assertIn("5\n", c.text("safe.shell", {"command": "python3", "args": ["-c", "print(5)"]}))
        self.assertIn("git", c.refusal("safe_shell", {"command": "git", "force": True}))
        self.assertIn("with force", c.refusal("safe_shell", {"command": "cat", "args": ["f.txt"]}))
        self.assertIn("2\n", c.text("run_command", {"command": "printf 'a\\nb\\n' | wc -l"}))
        self.assertIn("sudo", c.refusal("run_command", {"command": "sudo true"}))
        self.assertIn("f.txt", c.text("shell", {"command": ["ls"]}))
        self.assertIn("person", c.refusal("shell", {"command": ["touch", "g"]}))
        self.assertIn("content\n", c.text("run_shell", {"command": "cat f.txt"}))
        self.assertIn("whitelist", c.refusal("run_shell", {"command": "touch g"}))
        self.assertIn("hi\n", c.text("Bash", {"command": "echo hi"}))
        self.assertFalse((self.work / "g").exists())
        c.close()

    def test_streams_apart_are_the_same_in_both_forms(self):
        c = self.client("--profile", "universal")
        arguments = {"command": "echo out; echo err >&2", "output_mode": "separate"}
        result = c.call("run_command", arguments)
        both = result["structuredContent"]
        self.assertEqual(json.loads(result["content"][0]["text"]), both)
        self.assertEqual((both["stdout"], both["stderr"], both["exit_code"]), ("out\n", "err\n", 0))
        c.close()
        c = self.client("--profile", "universal", revision="2025-03-26")
        self.assertNotIn("structuredContent", c.call("run_command", arguments))
        c.close()

    def test_a_session_keeps_its_directory_and_variables(self):
        c = self.client()
        c.text("Bash", {"command": "mkdir -p sub; cd sub; export COLOUR=blue"})
        self.assertIn("sub\nblue\n", c.text("Bash", {"command": "basename $PWD; echo $COLOUR"}))
        c.close()

    def test_who_may_only_look_learns_nothing_of_the_host(self):
        c = self.client("--profile", "readonly", "--profile", "bash")
        (self.work / "file").write_text("x")
        places = ("/etc", "/etc/passwd", "/no/such", "..", "../work/file", "file", "nothing", "x" * 300)
        told = {c.refusal("run_shell", {"command": "ls", "workspace": place}) for place in places}
        told |= {c.refusal("shell_explain", {"command": "ls", "cwd": place}) for place in places}
        self.assertEqual(len(told), 1, told)
        # Whoever has a shell sees that by themselves, and is better off with the reason.
        self.assertIn("No such file", c.refusal("Bash", {"command": "ls", "cwd": "nothing"}))
        c.close()

    def test_explain_runs_nothing(self):
        c = self.client(*ALL)
        text = c.text("shell_explain", {"command": "touch g"})
        self.assertIn("verdict: allow", text)
        self.assertFalse((self.work / "g").exists())
        self.assertIn("verdict: ask", c.text("shell_explain", {"argv": ["touch", "g"], "tool": "shell"}))
        self.assertIn("either", c.refusal("shell_explain", {}))
        self.assertIn("tool", c.refusal("shell_explain", {"command": "x", "tool": "nonsense"}))
        c.close()

    def test_no_path_of_the_state_is_told(self):
        c = self.client()
        result = c.call("Bash", {"command": "seq 20000"})
        self.assertNotIn(str(self.state), json.dumps(result))
        self.assertIn("nacre://output/", result["content"][0]["text"])
        self.assertEqual(result["content"][1]["type"], "resource_link")
        c.close()

    def test_no_descriptor_and_no_secret_of_the_server_is_in_a_command(self):
        c = self.client(env={"MY_TOKEN": "sesame"})
        text = c.text("Bash", {"command": "ls /proc/self/fd; env"})
        self.assertNotIn("sesame", text)
        self.assertNotRegex(text, r"(?m)^[4-9]$")
        c.close()


class Streaming(McpTest):
    LINES = {"command": "for i in 1 2 3; do echo line $i; until [ -e go$i ]; do sleep 0.02; done; done"}

    def test_progress_grows_shows_the_last_line_and_ends_with_the_answer(self):
        for token in (7, "seven"):
            c = self.client()
            id = c.request("tools/call", {"name": "Bash", "arguments": self.LINES, "_meta": {"progressToken": token}})
            for i in range(1, 4):  # each line is shown before there is the next
                c.until(lambda m: m.get("params", {}).get("message") == f"line {i}")
                (self.work / f"go{i}").touch()
            c.answer(id)
            progress = [n["params"] for n in c.notes]
            values = [p["progress"] for p in progress]
            self.assertEqual(values, sorted(set(values)))
            self.assertTrue(all(p["progressToken"] == token and "total" not in p for p in progress))
            for i in range(1, 4):
                (self.work / f"go{i}").unlink()
            c.kept.clear()
            c.expect_silence()
            c.close()

    def test_nobody_is_told_who_did_not_ask(self):
        c = self.client()
        c.text("Bash", {"command": "for i in 1 2 3; do echo line $i; sleep 0.4; done"})
        self.assertEqual(c.notes, [])
        c.close()

    def test_log_messages_have_a_level(self):
        c = self.client()
        bad = {"command": "mkfs /dev/sda"}
        c.refusal("Bash", bad)
        self.assertEqual(c.notes, [])
        self.assertEqual(c.error("logging/setLevel", {"level": "loud"}), -32602)
        self.assertEqual(c.error("logging/setLevel"), -32602)
        c.result("logging/setLevel", {"level": "error"})
        c.refusal("Bash", bad)
        self.assertEqual(c.notes, [])
        c.result("logging/setLevel", {"level": "info"})
        c.refusal("Bash", bad)
        self.assertEqual([n["params"]["level"] for n in c.notes], ["notice"])
        c.kept.clear()
        c.close()

    def test_a_cancelled_call_says_nothing_and_its_tree_is_gone(self):
        c = self.client()
        id = c.request("tools/call", {"name": "Bash", "arguments": {"command": "sleep 60 & sleep 60"}})
        pids = self.sleeping(2)
        c.notify("notifications/cancelled", {"requestId": id, "reason": "test"})
        self.expect_gone(*pids)
        c.expect_silence()
        c.notify("notifications/cancelled", {"requestId": id})
        c.expect_silence()
        wait_until("its directory is gone", lambda: not self.task_dirs())
        c.close()

    def test_the_era_of_a_call_does_not_matter_for_its_cancellation(self):
        c = self.client()
        c.write(b'{"jsonrpc":"2.0","id":"\\u00e4","method":"tools/call","params":{"name":"Bash",'
                b'"arguments":{"command":"sleep 60"},"_meta":%s}}\n' % json.dumps(meta()).encode())
        pids = self.sleeping()
        c.notify("notifications/cancelled", {"requestId": "other"})
        c.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u00e4"}}\n'.encode())
        self.expect_gone(*pids)
        c.expect_silence()
        c.close()

    def test_one_answer_also_when_end_time_limit_and_cancel_meet(self):
        c = self.client()
        for delay in range(0, 60, 6):
            id = c.request("tools/call", {"name": "Bash", "arguments": {"command": "sleep 0.03", "timeout": 30}})
            time.sleep(delay / 1000)  # the race itself, not a wait for anything
            c.notify("notifications/cancelled", {"requestId": id})
            c.request("ping", id=f"after-{id}")
            c.answer(f"after-{id}")
        wait_until("all commands have ended", lambda: not [p for p in descendants() if p.name == "sleep"])
        c.result("ping")
        ids = [m["id"] for m in c.log if "id" in m]
        self.assertEqual(len(ids), len(set(map(str, ids))))
        c.kept.clear()
        c.close()

    def test_an_empty_line_is_no_command_and_a_number_may_have_a_fraction_of_zero(self):
        c = self.client()
        self.assertIn("'command'", c.refusal("Bash", {"command": ""}))
        self.assertEqual(c.result("tools/list")["tools"][0]["inputSchema"]["properties"]["command"]["minLength"], 1)
        self.assertIn("[exit 0", c.text("Bash", {"command": "true", "timeout": 5000.0}))
        self.assertIn("'timeout'", c.refusal("Bash", {"command": "true", "timeout": 0.5}))
        c.close()

    def test_calls_do_not_wait_for_each_other(self):
        c = self.client()
        slow = c.request("tools/call", {"name": "Bash", "arguments": {"command": "sleep 60"}})
        self.sleeping()
        self.assertIn("quick", c.text("Bash", {"command": "echo quick"}))
        self.assertEqual(c.result("ping"), {})
        c.notify("notifications/cancelled", {"requestId": slow})
        c.close()

    def test_no_more_run_at_a_time_than_may_and_the_rest_waits(self):
        c = self.client("--jobs", "2")
        ids = [c.request("tools/call", {"name": "Bash", "arguments": {"command": f"sleep 60; echo {i}"}})
               for i in range(4)]
        first = self.sleeping(2)
        c.notify("notifications/cancelled", {"requestId": ids[2]})  # it waits in the queue
        c.notify("notifications/cancelled", {"requestId": ids[0]})
        self.expect_gone(*[p for p in first if not is_alive(p)])
        wait_until("the fourth has started", lambda: {p.pid for p in descendants() if p.name == "sleep"} - set(first))
        self.sleeping(2)
        for id in (ids[1], ids[3]):
            c.notify("notifications/cancelled", {"requestId": id})
        c.expect_silence()
        c.close()

    def test_who_asks_for_many_commands_at_once_gets_them_all(self):
        """The one client of this server may have as many waiting as it may have requests under way."""
        c = self.client()
        calls = [{"jsonrpc": "2.0", "id": f"c{i}", "method": "tools/call",
                  "params": {"name": "Bash", "arguments": {"command": f"echo {i}"}}} for i in range(400)]
        c.write(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
        answers = {}
        for _ in calls:
            answer = c.take()
            answers[answer["id"]] = answer["result"]["content"][0]["text"]
        self.assertEqual({id: text.split("\n")[0] for id, text in answers.items()}, {f"c{i}": str(i) for i in range(400)})
        c.close()

    def test_a_client_that_does_not_read_is_not_read_from(self):
        c = self.bare(reads=False)
        c.send({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode() + b"\n"
        os.set_blocking(c.popen.stdin.fileno(), False)
        sent, quiet = 0, 0
        while quiet < 50:  # until the pipe is full and stays so
            try:
                sent += os.write(c.popen.stdin.fileno(), line * 50)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.01)
            self.assertLess(sent, 64 << 20)
        if not SANITIZED:
            self.assertLess(status_kb(c.popen.pid, "VmRSS"), 64 << 10)
        os.set_blocking(c.popen.stdin.fileno(), True)
        c.start_reading()
        c.write(line[len(line) - (-sent % len(line)):] if sent % len(line) else b"")
        c.send({"jsonrpc": "2.0", "id": "end", "method": "ping"})
        count = 0
        while (message := c.take()).get("id") != "end":
            count += message.get("id") == 1
        self.assertEqual(count, -(-sent // len(line)))
        c.close()


class Ends(McpTest):
    def test_requests_from_a_file_are_answered(self):
        path = self.dir / "requests"
        path.write_text("\n".join(json.dumps(m) for m in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
             "params": {"name": "Bash", "arguments": {"command": "echo from a file"}}})))
        with open(path, "rb") as file:
            c = self.bare(stdin=file)
            self.assertEqual(c.popen.wait(DEADLINE), 0)
        self.assertIn("from a file", c.answer(2)["result"]["content"][0]["text"])

    def test_at_the_end_of_the_input_calls_end_soon_and_tasks_go_on(self):
        self.best_seconds(2.5 + SLACK, self.end_with_a_call_and_a_task)

    def end_with_a_call_and_a_task(self):
        """How long the end takes."""
        c = self.client()
        task = c.call("Bash", {"command": "sleep 61", "run_in_background": True})["_meta"]["dev.nacre/run"]["task_id"]
        background = self.sleeping(1)
        c.request("tools/call", {"name": "Bash", "arguments": {"command": "sleep 60"}})
        foreground = [p for p in self.sleeping(2) if p not in background]
        began = time.monotonic()
        self.assertEqual(c.close(), [])
        took = time.monotonic() - began
        self.expect_gone(*foreground)
        self.assertTrue(all(is_alive(p) for p in background))
        c = self.client()
        self.assertIn(task, c.text("TaskList"))
        self.assertIn("stopped", c.text("TaskStop", {"task_id": task}))
        self.expect_gone(*background)
        c.close()
        return took

    def test_tasks_may_end_with_the_server(self):
        c = self.client("--stop-tasks")
        for _ in range(2):
            c.call("Bash", {"command": "sleep 61", "run_in_background": True})
        pids = self.sleeping(2)
        c.close()
        self.expect_gone(*pids)

    def end_by_signal(self, number, calls):
        """How long the end takes."""
        c = self.client("--jobs", "50")
        for _ in range(calls):
            c.request("tools/call", {"name": "Bash", "arguments": {"command": "sleep 60"}})
        pids = self.sleeping(calls)
        began = time.monotonic()
        c.popen.send_signal(number)
        self.assertEqual(c.popen.wait(DEADLINE), 0)
        took = time.monotonic() - began
        self.expect_gone(*pids)
        return took

    def test_fifty_calls_end_soon_together(self):
        self.best_seconds(2 + 4 * SLACK, lambda: self.end_by_signal(signal.SIGTERM, 50))

    def test_a_signal_is_the_same_but_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.best_seconds(1.5 + SLACK, lambda: self.end_by_signal(number, 1))

    def test_a_client_that_is_gone_ends_it_too(self):
        c = self.bare(reads=False)
        c.send({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})
        c.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "Bash", "arguments": {"command": "sleep 60"}}})
        pids = self.sleeping()
        c.popen.stdout.close()
        c.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        self.assertEqual(c.popen.wait(DEADLINE), 0)
        self.expect_gone(*pids)

    def test_wrong_options_are_told_and_nothing_is_served(self):
        for args, words in ((("--profile", "nonsense"), "nonsense"), (("--jobs", "0"), "--jobs"),
                            (("--workspace", "/nonexistent"), "workspace"), (("extra",), "extra"),
                            (("--profile", "bash", "--profile", "bash"), "named twice")):
            done = subprocess.run([NACRE, "mcp", *args], stdin=subprocess.DEVNULL, env=self.env,
                                  cwd=self.work, capture_output=True, timeout=DEADLINE, check=False)
            self.assertEqual((done.returncode, done.stdout), (125, b""), done)
            self.assertIn(words, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
