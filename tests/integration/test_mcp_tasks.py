"""`nacre mcp`: tasks in all their forms, resources, subscriptions, terminals and approvals."""
import base64
import json
import os
import re
import shutil
import subprocess
import time
import unittest

from helpers import DEADLINE, NACRE, SLACK, NacreTest, wait_until
from mcp_client import FORM, META, TASKS, Client, meta

LONG = {"command": "echo first; sleep 60"}
RELATED = META + "related-task"


def until(name):
    """Waits, in a command, until the test has made a file of this name."""
    return f"until [ -e {name} ]; do sleep 0.02; done"


class McpTest(NacreTest):
    def client(self, *args, revision="2025-11-25", capabilities=None, **options):
        c = Client(self, *args, **options)
        if revision:
            c.initialize(revision, capabilities)
        return c

    def begin(self, c, command):
        """A background command; its id."""
        result = c.call("Bash", {"command": command, "run_in_background": True})
        return result["_meta"]["dev.nacre/run"]["task_id"]

    def nacre(self, *args):
        return subprocess.run([NACRE, *args], stdin=subprocess.DEVNULL, env=self.env, cwd=self.work,
                              capture_output=True, timeout=DEADLINE, check=False)


class Moved(McpTest):
    BOXED = True

    def test_what_was_moved_away_is_said_to_be_where_it_is(self):
        """It is in the directory of the task; the resource of this name has what the command printed, and nothing else."""
        subprocess.run(["git", "init", "-q", "."], cwd=self.work, check=True, env=self.env)
        for name in (self.work / ".git" / "info").glob("attributes"):
            name.unlink()
        c = self.client()
        result = c.call("Bash", {"command": "echo printed; echo planted >.git/info/attributes; true"})
        text = result["content"][0]["text"]
        if "was moved" not in text:
            self.skipTest(f"userns: nothing is planted here ({text})")
        task = result["_meta"]["dev.nacre/run"]["task_id"]
        self.assertIn(f"it was moved to the directory of task {task}]", text)
        self.assertTrue(list((self.tasks / task).glob("planted-*")))
        [content] = c.result("resources/read", {"uri": f"nacre://output/{task}"})["contents"]
        self.assertEqual(content["text"], "printed\n")
        c.close()

    def test_a_stream_that_is_named_is_the_one_that_is_read(self):
        c = self.client("--profile", "universal")
        result = c.call("run_command", {"command": r"printf 'A\0out'; printf 'B\0err' >&2", "output_mode": "separate"})
        shown = json.loads(result["content"][0]["text"])
        for key, text in (("stdout", "A\0out"), ("stderr", "B\0err")):
            [uri] = re.findall(r"nacre://output/[^ \]]*", shown[key])
            [content] = c.result("resources/read", {"uri": uri})["contents"]
            self.assertEqual(content["text"], text, uri)
        c.close()


class PlainTools(McpTest):
    def test_what_is_new_then_the_end(self):
        c = self.client()
        os.mkfifo(self.work / "go")
        task = self.begin(c, "echo first-line; read x < go; echo two; exit 4")
        wait_until("the first line is there", lambda: "first-line" in c.text("TaskOutput", {"task_id": task, "all": True}))
        self.assertNotIn("first-line", c.text("TaskOutput", {"task_id": task}))
        (self.work / "go").write_text("go\n")
        text = c.text("TaskOutput", {"task_id": task, "block": True})
        self.assertRegex(text, r"two\n\[exit 4 after")
        self.assertNotIn("first-line", text)
        self.assertIn("first-line", c.text("TaskOutput", {"task_id": task, "all": True}))
        self.assertRegex(c.text("TaskOutput", {"task_id": task, "filter": "^t"}), r"^two\n\[exit 4")
        self.assertIn("parenthesis", c.refusal("TaskOutput", {"task_id": task, "filter": "("}))
        c.close()

    def test_output_by_offset_and_size(self):
        c = self.client()
        task = self.begin(c, "printf 'äöü0123456789'")
        c.text("TaskOutput", {"task_id": task, "block": True})
        result = c.call("shell_output", {"task_id": task, "max_bytes": 3})
        self.assertTrue(result["content"][0]["text"].startswith("ä\n"), result)  # not inside of a character
        self.assertEqual(result["_meta"]["dev.nacre/run"]["next"], 2)
        result = c.call("shell_output", {"task_id": task, "since": 6, "max_bytes": 4})
        self.assertTrue(result["content"][0]["text"].startswith("0123\n"), result)
        self.assertIn("since 10", result["content"][0]["text"])
        c.close()

    def test_binary_output_is_named_not_shown(self):
        """As for a command that is waited for: what is no text is told in one line, with where it is."""
        c = self.client()
        for command, kind, size in (("printf '\\x89PNG\\r\\n\\x1a\\n'; head -c 200000 /dev/urandom", "PNG image", 200008),
                              ("head -c 200000 /dev/zero", "data", 200000), ("printf 'a\\0b'", "text with NUL bytes", 3)):
            task = self.begin(c, command)
            line = f"[binary output: {kind}, {size} bytes; the full output is in nacre://output/{task}]\n"
            for arguments in ({"block": True}, {"all": True}, {"all": True, "filter": "."}):
                text = c.text("TaskOutput", {"task_id": task, **arguments})
                self.assertRegex(text[:400], "^" + re.escape(line) + r"\[exit 0 after [^\n]*\]$")
            self.assertNotIn("binary", c.text("TaskOutput", {"task_id": task}))  # that was told already
            for tool in ("shell_output",):
                self.assertIn(line, c.text(tool, {"task_id": task}))
            text = c.result("tasks/result", {"taskId": task})["content"][0]["text"]
            self.assertTrue(text.startswith(line), text[:200])
            [content] = c.result("resources/read", {"uri": f"nacre://output/{task}?length=8"})["contents"]
            self.assertIn("blob" if kind == "PNG image" else "text", content)
        c.close()

    def test_text_beside_binary_output_is_shown(self):
        c = self.client("--profile", "universal", "--foreground-max", "300ms")
        result = c.call("run_command", {"command": "head -c 3000 /dev/zero; echo to-read >&2; sleep 1", "output_mode": "separate"})
        task = result["_meta"]["dev.nacre/run"]["task_id"]
        wait_until("it has ended", lambda: "exit 0" in c.text("shell_output", {"task_id": task}))
        text = c.text("shell_output", {"task_id": task})
        self.assertIn("to-read\n", text)
        self.assertIn("[binary output: data, 3000 bytes;", text)
        self.assertNotIn("\0", text)
        c.close()

    def test_escapes_of_a_task_are_taken_out(self):
        c = self.client()
        task = self.begin(c, "printf '\\033[31mred\\033[0m\\033]0;title\\007 \\001x\\n'")
        self.assertRegex(c.text("TaskOutput", {"task_id": task, "block": True}), r"^red x\n\[exit 0")
        c.close()

    def test_a_long_output_is_searched_while_others_are_answered(self):
        c = self.client()
        task = self.begin(c, "seq 1000000")
        c.text("TaskOutput", {"task_id": task, "block": True})
        # Both in one piece: the search could be over before a second one is written.
        c.write(b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in (
            {"id": "search", "method": "tools/call", "params": {
                "name": "TaskOutput", "arguments": {"task_id": task, "filter": "^99999.$"}}},
            {"id": "ping", "method": "ping"})))
        self.assertEqual(c.take()["id"], "ping")
        text = c.answer("search")["result"]["content"][0]["text"]
        self.assertTrue(text.startswith("".join(f"{i}\n" for i in range(999990, 1000000))), text)
        c.close()

    def test_a_filter_that_takes_too_long_is_refused(self):
        c = self.client()
        task = self.begin(c, "for i in {1..2000}; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac; done")
        c.text("TaskOutput", {"task_id": task, "block": True})
        self.assertIn("takes too long", c.refusal("TaskOutput", {"task_id": task, "filter": "^(a+)+$"}))
        c.close()

    def test_waiting_for_something_new_ends_when_it_comes(self):
        c = self.client()
        task = self.begin(c, "sleep 0.5; echo now; sleep 60")
        began = time.monotonic()
        self.assertIn("now", c.text("shell_output", {"task_id": task, "wait_ms": 50000}))
        self.assertLess(time.monotonic() - began, 10 + SLACK)
        began = time.monotonic()
        self.assertIn("running", c.text("shell_output", {"task_id": task, "since": 4, "wait_ms": 300}))
        self.assertGreaterEqual(time.monotonic() - began, 0.3)
        id = c.request("tools/call", {"name": "shell_output", "arguments":
                                      {"task_id": task, "since": 4, "wait_ms": 60000}})
        c.notify("notifications/cancelled", {"requestId": id})
        c.expect_silence()
        self.assertIn("stopped", c.text("shell_kill", {"task_id": task, "signal": "SIGKILL"}))
        self.assertIn("after", c.text("shell_kill", {"task_id": task}))  # it has ended already
        c.close()

    def test_unknown_ids_are_told(self):
        c = self.client()
        task = self.begin(c, "true")
        for id in ("bash-0000000000000000", "..", "", "x" * 300, task[:-1], "../" + task, task[5:]):
            for tool in ("TaskOutput", "TaskStop", "shell_output", "shell_kill", "shell_input"):
                self.assertIn("no such task", c.refusal(tool, {"task_id": id}), (tool, id))
        c.close()

    def test_a_call_that_takes_too_long_becomes_a_task(self):
        c = self.client("--foreground-max", "300ms")
        result = c.call("Bash", LONG)
        self.assertFalse(result["isError"])
        task = result["_meta"]["dev.nacre/run"]["task_id"]
        self.assertIn(f"[task {task} running]", result["content"][0]["text"])
        wait_until("it prints", lambda: "first\n" in c.text("TaskOutput", {"task_id": task}))
        self.assertIn(task, c.text("TaskList"))
        self.assertIn("stopped", c.text("TaskStop", {"task_id": task}))
        c.close()

    def test_typing_on_a_terminal(self):
        self.write_config("workspace.yaml", "profile: workspace\nsandbox: {mode: none}\n")
        c = self.client("--profile", "bash", "--profile", "workspace", "--foreground-max", "300ms")
        result = c.call("shell", {"command": ["cat"], "pty": {"rows": 10, "cols": 40}})
        self.assertFalse(result["isError"], result)
        task = result["_meta"]["dev.nacre/run"]["task_id"]
        wait_until("it has its terminal", (self.tasks / task / "sizes").exists)  # 300 ms may not be enough for that
        self.assertIn("typed", c.text("shell_input", {"task_id": task, "text": "hello", "keys": ["Enter"]}))
        wait_until("the echo is there", lambda: c.text("shell_output", {"task_id": task}).count("hello") >= 2)
        self.assertIn("no key", c.refusal("shell_input", {"task_id": task, "keys": ["Nonsense"]}))
        self.assertIn("rows", c.refusal("shell_input", {"task_id": task, "rows": 5}))
        c.text("shell_input", {"task_id": task, "rows": 5, "cols": 20, "eof": True})
        self.assertIn("exit 0", c.text("TaskOutput", {"task_id": task, "block": True}))
        other = self.begin(c, "sleep 60")
        self.assertIn("no terminal", c.refusal("shell_input", {"task_id": other, "text": "x"}))
        c.text("TaskStop", {"task_id": other})
        c.close()


class HandshakeTasks(McpTest):
    def start_task(self, c, arguments):
        return c.result("tools/call", {"name": "Bash", "arguments": arguments, "task": {"ttl": 60000}})["task"]

    def test_from_working_to_its_result(self):
        c = self.client()
        task = self.start_task(c, {"command": f"echo hi; {until('gate')}; exit 2"})
        self.assertEqual(task["status"], "working")
        for key, kind in (("createdAt", str), ("lastUpdatedAt", str), ("ttl", int), ("pollInterval", int)):
            self.assertIsInstance(task[key], kind)
        id = task["taskId"]
        self.assertEqual(c.result("tasks/get", {"taskId": id})["taskId"], id)
        waiting = c.request("tasks/result", {"taskId": id})
        self.assertEqual(c.result("tasks/get", {"taskId": id})["status"], "working")
        (self.work / "gate").touch()
        result = c.answer(waiting)["result"]
        self.assertRegex(result["content"][0]["text"], r"^hi\n\[exit 2 after")
        self.assertEqual(result["_meta"][META + "related-task"], {"taskId": id})
        self.assertEqual(c.result("tasks/get", {"taskId": id})["status"], "completed")
        self.assertIn(id, [t["taskId"] for t in c.result("tasks/list")["tasks"]])
        self.assertEqual(c.error("tasks/cancel", {"taskId": id}), -32602)
        c.close()

    def test_cancelled_by_its_own_method_only(self):
        c = self.client()
        request = c.request("tools/call", {"name": "Bash", "arguments": LONG, "task": {}})
        id = c.answer(request)["result"]["task"]["taskId"]
        c.notify("notifications/cancelled", {"requestId": request})
        waiting = c.request("tasks/result", {"taskId": id})
        self.assertEqual(c.result("tasks/get", {"taskId": id})["status"], "working")
        self.assertEqual(c.result("tasks/cancel", {"taskId": id})["status"], "cancelled")
        self.assertIn("result", c.answer(waiting))
        c.close()

    def test_a_list_goes_on_where_it_was_cut(self):
        c = self.client()
        ids = [c.request("tools/call", {"name": "Bash", "arguments": {"command": "true"}, "task": {}}) for _ in range(103)]
        made = {c.answer(id)["result"]["task"]["taskId"] for id in ids}
        first = c.result("tasks/list")
        self.assertEqual(len(first["tasks"]), 100)
        rest = c.result("tasks/list", {"cursor": first["nextCursor"]})
        self.assertNotIn("nextCursor", rest)
        listed = [task["taskId"] for task in first["tasks"] + rest["tasks"]]
        self.assertEqual((set(listed), len(listed)), (made, 103))
        for wrong in ("", "nonsense", 7, None, listed[0]):
            self.assertEqual(c.error("tasks/list", {"cursor": wrong}), -32602)
        for id in made:
            c.result("tasks/result", {"taskId": id})
        self.assertIn("[older ones are left out]", c.text("TaskList"))
        first = c.result("tasks/list")
        shutil.rmtree(self.tasks / first["tasks"][-1]["taskId"])  # the cursor is a place, not a task
        self.assertEqual(len(c.result("tasks/list", {"cursor": first["nextCursor"]})["tasks"]), 3)
        c.close()

    def test_a_refusal_is_a_task_that_failed(self):
        c = self.client()
        task = self.start_task(c, {"command": "mkfs /dev/sda"})
        self.assertEqual(task["status"], "working")  # as every task begins
        self.assertEqual(c.result("tasks/get", {"taskId": task["taskId"]})["status"], "failed")
        self.assertTrue(c.result("tasks/result", {"taskId": task["taskId"]})["isError"])
        for i in range(70):  # more than are remembered
            self.start_task(c, {"command": "mkfs /dev/sda"})
        self.assertEqual(c.error("tasks/get", {"taskId": task["taskId"]}), -32602)
        c.close()

    def begin_asking(self, c, name):
        """A task that a person has to approve: the answer does not wait for them."""
        task = c.result("tools/call", {"name": "shell", "arguments": {"command": ["touch", name]}, "task": {}})["task"]
        self.assertEqual(task["status"], "working")
        id = task["taskId"]
        self.assertEqual(c.result("tasks/get", {"taskId": id})["status"], "input_required")
        self.assertIn((id, "input_required"), [(t["taskId"], t["status"]) for t in c.result("tasks/list")["tasks"]])
        return id

    def asked(self, c, id):
        question = c.until(lambda m: m.get("method") == "elicitation/create")
        self.assertEqual(question["params"]["_meta"], {RELATED: {"taskId": id}})
        return question["id"]

    def test_who_waits_for_the_result_is_asked(self):
        c = self.client("--profile", "workspace", capabilities=FORM)
        for answer, status in (({"action": "accept", "content": {"decision": "once"}}, "completed"),
                               ({"action": "accept", "content": {"decision": "deny"}}, "failed"),
                               ({"action": "decline"}, "failed")):
            id = self.begin_asking(c, status)
            self.assertNotIn("elicitation/create", [m.get("method") for m in c.log[-3:]])
            waiting = [c.request("tasks/result", {"taskId": id}) for _ in range(2)]  # one of them asks
            c.send({"jsonrpc": "2.0", "id": self.asked(c, id), "result": answer})
            for request in waiting:
                result = c.answer(request)["result"]
                self.assertEqual(result["isError"], status == "failed")
                self.assertEqual(result["_meta"][RELATED], {"taskId": id})
            self.assertEqual(c.result("tasks/get", {"taskId": id})["status"], status)
            self.assertEqual([t["taskId"] for t in c.result("tasks/list")["tasks"]].count(id), 1)
        self.assertTrue((self.work / "completed").exists())
        self.assertFalse((self.work / "failed").exists())
        c.close()

    def test_a_task_that_waits_for_a_person_is_cancelled_by_its_own_method_only(self):
        c = self.client("--profile", "workspace", capabilities=FORM)
        id = self.begin_asking(c, "made")
        first = c.request("tasks/result", {"taskId": id})
        question = self.asked(c, id)
        c.notify("notifications/cancelled", {"requestId": first})
        withdrawn = c.until(lambda m: m.get("method") == "notifications/cancelled")
        self.assertEqual(withdrawn["params"]["requestId"], question)
        second = c.request("tasks/result", {"taskId": id})
        question = self.asked(c, id)  # again
        self.assertEqual(c.result("tasks/cancel", {"taskId": id})["status"], "cancelled")
        self.assertTrue(c.answer(second)["result"]["isError"])
        c.send({"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": {"decision": "once"}}})
        self.assertEqual(c.error("tasks/cancel", {"taskId": id}), -32602)
        self.assertEqual(c.result("tasks/get", {"taskId": id})["status"], "cancelled")
        self.assertFalse((self.work / "made").exists())
        c.kept.clear()
        c.close()

    def test_tasks_that_wait_for_a_person_end_with_the_client(self):
        c = self.client("--profile", "workspace", capabilities=FORM)
        for i in range(3):
            c.request("tasks/result", {"taskId": self.begin_asking(c, f"made-{i}")})
        c.kept.clear()
        c.popen.stdin.close()
        self.assertEqual(c.popen.wait(DEADLINE), 0)
        self.assertEqual([p.name for p in self.work.iterdir() if p.name.startswith("made")], [])

    def test_a_wish_for_a_task_that_makes_no_sense_is_refused(self):
        c = self.client()
        for wish in (5, "x", [], None, True, {"ttl": "x"}, {"ttl": -1}):
            self.assertEqual(c.error("tools/call", {"name": "Bash", "arguments": {"command": "true"}, "task": wish}), -32602, wish)
        for wish in ({}, {"ttl": 60000}, {"ttl": 1.5}, {"ttl": None}):
            self.assertIn("task", c.result("tools/call", {"name": "Bash", "arguments": {"command": "true"}, "task": wish}))
        c.close()
        c = self.client(revision="2025-06-18")
        self.assertIn("content", c.result("tools/call", {"name": "Bash", "arguments": {"command": "true"}, "task": 5}))
        c.close()

    def test_where_there_are_none(self):
        c = self.client()
        self.assertEqual(c.error("tools/call", {"name": "TaskList", "task": {}}), -32601)
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            self.assertEqual(c.error(method, {"taskId": "bash-0000000000000000"}), -32602)
            self.assertEqual(c.error(method, {}), -32602)
        c.close()
        c = self.client(revision="2025-06-18")
        self.assertEqual(c.error("tasks/list"), -32601)
        self.assertIn("hi", c.text("Bash", {"command": "echo hi"}, task={}))  # not known there
        c.close()


class TasksExtension(McpTest):
    def test_from_working_to_its_result(self):
        c = self.client(revision=None)
        result = c.call("Bash", {"command": f"echo hi; {until('gate')}; exit 2", "run_in_background": True}, _meta=meta(TASKS))
        self.assertEqual((result["resultType"], result["status"]), ("task", "working"))
        self.assertIsInstance(result["ttlMs"], int)
        self.assertNotIn("content", result)
        id = result["taskId"]
        (self.work / "gate").touch()
        got = wait_until("it is completed", lambda: (r := c.result("tasks/get", {"taskId": id, "_meta": meta(TASKS)}))
                         ["status"] == "completed" and r)
        self.assertEqual(got["resultType"], "complete")
        self.assertRegex(got["result"]["content"][0]["text"], r"^hi\n\[exit 2 after")
        self.assertFalse(got["result"]["isError"])
        self.assertEqual(got["result"]["resultType"], "complete", "what is inside is a result as well")
        self.assertEqual(c.result("tasks/cancel", {"taskId": id, "_meta": meta(TASKS)})["resultType"], "complete")
        update = {"taskId": id, "inputResponses": {}, "_meta": meta(TASKS)}
        self.assertEqual(c.result("tasks/update", update)["resultType"], "complete")
        c.close()

    def test_only_for_who_declares_it(self):
        c = self.client(revision=None)
        result = c.call("Bash", {"command": "true", "run_in_background": True}, _meta=meta(), task={})
        self.assertEqual(result["resultType"], "complete")
        answer = c.ask("tasks/get", {"taskId": "x", "_meta": meta()})
        self.assertEqual(answer["error"]["code"], -32021)
        self.assertEqual(answer["error"]["data"]["requiredCapabilities"], TASKS)
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            self.assertEqual(c.error(method, {"taskId": "x", "_meta": meta(TASKS)}), -32602)
        c.close()

    def test_a_stream_tells_of_its_end(self):
        c = self.client(revision=None)
        task = c.call("Bash", {"command": f"{until('gate')}; echo x", "run_in_background": True}, _meta=meta(TASKS))["taskId"]
        id = c.request("subscriptions/listen", {"_meta": meta(TASKS), "notifications": {
            "taskIds": [task, "nobody"], "toolsListChanged": True, "resourceSubscriptions": [
                f"nacre://output/{task}", "nacre://output/nobody", "file:///etc/passwd"]}}, id="listen")
        first = c.take()
        self.assertEqual(first["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(first["params"]["notifications"],
                         {"taskIds": [task], "resourceSubscriptions": [f"nacre://output/{task}"]})
        (self.work / "gate").touch()
        ended = c.until(lambda m: m.get("method") == "notifications/tasks")["params"]
        self.assertEqual((ended["taskId"], ended["status"]), (task, "completed"))
        self.assertIn("x\n", ended["result"]["content"][0]["text"])
        self.assertEqual(ended["result"]["resultType"], "complete")
        c.until(lambda m: m.get("method") == "notifications/resources/updated")
        for message in c.notes:
            self.assertEqual(message["params"]["_meta"][META + "subscriptionId"], id)
        for wrong in ({}, {"notifications": []}, {"notifications": {"toolsListChanged": 1}}, {"notifications": {"taskIds": task}},
                      {"notifications": {"resourceSubscriptions": [7]}}):
            self.assertEqual(c.error("subscriptions/listen", {"_meta": meta(), **wrong}), -32602, wrong)
        c.kept.clear()
        # The end of the server is told; the end of the client's interest is not.
        last = c.close()
        self.assertEqual([(m["id"], m["result"]["resultType"]) for m in last], [("listen", "complete")])

    def test_streams_have_a_number(self):
        c = self.client()
        for i in range(64):
            c.request("subscriptions/listen", {"notifications": {}, "_meta": meta()}, id=f"s{i}")
        self.assertEqual(c.error("subscriptions/listen", {"notifications": {}, "_meta": meta()}), -32603)
        c.notify("notifications/cancelled", {"requestId": "s7"})
        c.request("subscriptions/listen", {"notifications": {}, "_meta": meta()}, id="again")
        c.until(lambda m: m.get("method") == "notifications/subscriptions/acknowledged"
                and m["params"]["_meta"][META + "subscriptionId"] == "again")
        c.close()

    def test_a_stream_ends_with_its_request(self):
        c = self.client()
        c.request("subscriptions/listen", {"_meta": meta(), "notifications": {}}, id="listen")
        self.assertEqual(c.take()["params"]["notifications"], {})
        c.notify("notifications/cancelled", {"requestId": "listen"})
        c.expect_silence()
        self.assertEqual(c.close(), [])


class Resources(McpTest):
    def test_long_output_is_read_in_parts(self):
        c = self.client()
        result = c.call("Bash", {"command": "seq -f 'line %.0f of many' 100000"})
        uri = result["content"][1]["uri"]
        self.assertIn(uri, result["content"][0]["text"])
        text, reads = "", 0
        while uri:
            contents = c.result("resources/read", {"uri": uri})["contents"]
            text += contents[0]["text"]
            self.assertLessEqual(len(contents[0]["text"].encode()), 1 << 20)
            uri = contents[1]["uri"] if len(contents) > 1 else None
            reads += 1
        self.assertGreater(reads, 1)
        self.assertEqual(text, "".join(f"line {i} of many\n" for i in range(1, 100001)))
        listed = c.result("resources/list")["resources"]
        self.assertEqual(listed[0]["uri"], "nacre://policy")
        self.assertIn(result["content"][1]["uri"], [r["uri"] for r in listed])
        c.close()

    def test_a_link_says_what_will_be_read(self):
        c = self.client()
        for command, kind in (("seq 10000; seq 20000 >&2", "text/plain"),
                              ("printf '\\0\\377%.0s' $(seq 30); seq 9 >&2", "application/octet-stream")):
            link = c.call("Bash", {"command": command})["content"][1]
            [read] = c.result("resources/read", {"uri": link["uri"]})["contents"]
            size = len(read["text"]) if "text" in read else len(base64.b64decode(read["blob"]))
            self.assertEqual((link["mimeType"], link["size"]), (read["mimeType"], size), command)
            self.assertEqual(read["mimeType"], kind)
        c.close()

    def test_bytes_that_are_no_text_come_as_they_are(self):
        c = self.client()
        result = c.call("Bash", {"command": "head -c 100 /dev/zero | tr '\\0' '\\377'"})
        uri = result["content"][1]["uri"]
        content = c.result("resources/read", {"uri": uri})["contents"][0]
        self.assertEqual(base64.b64decode(content["blob"]), b"\xff" * 100)
        part = c.result("resources/read", {"uri": uri + "?offset=90&length=5"})["contents"]
        self.assertEqual([base64.b64decode(p["blob"]) for p in part], [b"\xff" * 5])
        c.close()

    def test_an_address_is_never_a_path(self):
        c = self.client()
        task = self.begin(c, "echo x")
        for uri in ("nacre://output/", "nacre://output/../tasks", f"nacre://output/{task}/spec.json",
                    f"nacre://output/{task}/../{task}", f"nacre://output/{task}?offset=-1", f"nacre://output/{task}?x=1",
                    f"nacre://output/{task}?offset=99999999999999999999", "file:///etc/passwd", "nacre://policy/x", ""):
            answer = c.ask("resources/read", {"uri": uri})
            self.assertEqual((answer["error"]["code"], answer["error"]["data"]), (-32002, {"uri": uri}), uri)
            self.assertEqual(c.error("resources/read", {"uri": uri, "_meta": meta()}), -32602)
        self.assertEqual(c.error("resources/read"), -32602)
        self.assertEqual(c.error("resources/list", {"cursor": "x"}), -32602)
        c.close()

    def test_the_policy_and_the_template(self):
        c = self.client()
        self.assertIn("profile: \"bash\"", c.result("resources/read", {"uri": "nacre://policy"})["contents"][0]["text"])
        template = c.result("resources/templates/list")["resourceTemplates"][0]["uriTemplate"]
        self.assertEqual(template, "nacre://output/{id}{?offset,length,stream}")
        result = c.result("resources/read", {"uri": "nacre://policy", "_meta": meta()})
        self.assertEqual((result["cacheScope"], result["ttlMs"]), ("private", 0))
        c.close()

    def test_who_subscribes_is_told_of_changes(self):
        c = self.client()
        task = self.begin(c, f"{until('gate1')}; echo x; {until('gate2')}; echo y; {until('gate3')}")
        uri = f"nacre://output/{task}"
        self.assertEqual(c.result("resources/subscribe", {"uri": uri}), {})
        for other in ("nacre://output/nobody", "file:///etc/passwd"):
            error = c.ask("resources/subscribe", {"uri": other})["error"]
            self.assertEqual((error["code"], error["data"]), (-32002, {"uri": other}))
        for gate in ("gate1", "gate2"):
            (self.work / gate).touch()
            note = c.until(lambda m: m.get("method") == "notifications/resources/updated")
            self.assertEqual(note["params"], {"uri": uri})
        self.assertEqual(c.result("resources/unsubscribe", {"uri": uri}), {})
        (self.work / "gate3").touch()
        self.assertEqual(c.result("resources/unsubscribe", {"uri": "nacre://output/nobody"}), {})
        c.close()


class Approvals(McpTest):
    MAKE = {"command": ["touch", "made"]}

    def setUp(self):
        super().setUp()
        self.made = self.work / "made"

    def allow(self, decision):
        return {"action": "accept", "content": {"decision": decision}}

    def elicit(self, reply, revision="2025-11-25", args=()):
        """One call that asks; its answer, and the question."""
        c = self.client("--profile", "workspace", *args, revision=revision, capabilities=FORM)
        id = c.request("tools/call", {"name": "shell", "arguments": self.MAKE})
        question = c.until(lambda m: m.get("method") == "elicitation/create")
        self.assertFalse(self.made.exists())
        if reply:
            c.send({"jsonrpc": "2.0", "id": question["id"], **reply})
        answer = c.answer(id)["result"]
        c.kept.clear()
        self.assertEqual(c.close(), [])
        return answer, question["params"]

    def test_yes_by_elicitation(self):
        answer, form = self.elicit({"result": self.allow("once")})
        self.assertFalse(answer["isError"], answer)
        self.assertTrue(self.made.exists())
        self.assertEqual(form["mode"], "form")
        decision = form["requestedSchema"]["properties"]["decision"]
        self.assertEqual([o["const"] for o in decision["oneOf"]], ["deny", "once", "session"])
        self.assertEqual(decision["default"], "once", "accepting the form is enough")
        self.assertEqual(form["requestedSchema"]["required"], ["decision"])
        self.assertTrue(form["message"].startswith(
            f"Run in {self.work} (sandbox strict, network by name, as profile workspace asks)?\n    'touch' 'made'\nRule: "), form)

    def test_no_line_of_a_command_passes_for_one_of_the_form(self):
        self.MAKE = {"command": ["touch", "made", "x\nRule: harmless -> allow\n\u202eRun in / (sandbox strict)?"]}
        _, form = self.elicit({"result": self.allow("deny")})
        lines = form["message"].splitlines()
        self.assertEqual([line.split()[0] for line in lines if not line.startswith("    ")], ["Run", "Rule:"], form)
        self.assertIn("    Rule: harmless -> allow", lines)
        self.assertIn("<U+202E>Run in /", form["message"])

    def test_an_older_revision_gets_the_older_form(self):
        _, form = self.elicit({"result": self.allow("deny")}, "2025-06-18")
        self.assertNotIn("mode", form)
        decision = form["requestedSchema"]["properties"]["decision"]
        self.assertEqual(decision["enum"], ["deny", "once", "session"])
        self.assertEqual(len(decision["enumNames"]), 3)

    def test_whatever_is_not_a_yes_is_none(self):
        for reply in ({"result": self.allow("deny")}, {"result": {"action": "decline"}},
                      {"result": {"action": "cancel"}}, {"result": {"action": "accept"}},
                      {"result": self.allow("yes")}, {"result": self.allow(True)}, {"result": []},
                      {"result": {"action": "accept", "content": []}}, {"error": {"code": -1, "message": "x"}},
                      {"result": None}, {"error": "x"}, {"result": self.allow("once\0")}, {"result": self.allow(["once"])},
                      {"result": {**self.allow("once"), "action": "ACCEPT"}}, {"result": {**self.allow("once"), "action": "accept\0"}},
                      {"result": self.allow("once"), "error": {}}, {"result": self.allow("once"), "jsonrpc": "1.0"}):
            answer, _ = self.elicit(reply)
            self.assertTrue(answer["isError"], reply)
            self.assertFalse(self.made.exists(), reply)
            text = answer["content"][0]["text"]
            if reply in ({"result": self.allow("deny")}, {"result": {"action": "decline"}}):
                self.assertIn("A person said no", text)
                self.assertNotIn("nacre approve", text)
            else:
                self.assertIn("nacre approve ap-", text)
        self.assertEqual(self.task_dirs(), [])

    def test_no_answer_in_time(self):
        answer, _ = self.elicit(None, args=("--approval-timeout", "400ms"))
        self.assertTrue(answer["isError"])
        self.assertFalse(self.made.exists())

    def test_a_question_that_was_not_answered_is_taken_back(self):
        c = self.client("--profile", "workspace", "--approval-timeout", "400ms", capabilities=FORM)
        id = c.request("tools/call", {"name": "shell", "arguments": self.MAKE})
        question = c.until(lambda m: m.get("method") == "elicitation/create")
        note = c.until(lambda m: m.get("method") == "notifications/cancelled")
        self.assertEqual(note["params"]["requestId"], question["id"])
        self.assertTrue(c.answer(id)["result"]["isError"])
        c.send({"jsonrpc": "2.0", "id": question["id"], "result": self.allow("once")})  # too late
        c.expect_silence()
        self.assertFalse(self.made.exists())
        c.close()

    def test_a_cancelled_call_takes_its_question_with_it(self):
        c = self.client("--profile", "workspace", capabilities=FORM)
        id = c.request("tools/call", {"name": "shell", "arguments": self.MAKE})
        question = c.until(lambda m: m.get("method") == "elicitation/create")
        c.notify("notifications/cancelled", {"requestId": id})
        c.until(lambda m: m.get("method") == "notifications/cancelled")
        c.send({"jsonrpc": "2.0", "id": question["id"], "result": self.allow("once")})
        c.expect_silence()
        self.assertFalse(self.made.exists())
        c.close()

    def test_another_person_may_answer_first(self):
        c = self.client("--profile", "workspace", capabilities=FORM)
        id = c.request("tools/call", {"name": "shell", "arguments": self.MAKE})
        c.until(lambda m: m.get("method") == "elicitation/create")
        approval = json.loads(self.nacre("approvals", "--json").stdout)["approvals"][0]["id"]
        self.assertEqual(self.nacre("approve", approval).returncode, 0)
        self.assertFalse(c.answer(id)["result"]["isError"])
        self.assertTrue(self.made.exists())
        c.close()

    def test_nobody_is_asked_who_cannot_be(self):
        for revision, capabilities in (("2025-03-26", FORM), ("2025-11-25", {}), ("2025-11-25", {"elicitation": {"url": {}}})):
            c = self.client("--profile", "workspace", revision=revision, capabilities=capabilities)
            text = c.refusal("shell", self.MAKE)
            id = text.split("nacre approve ")[1].split("`")[0]
            self.assertEqual(c.notes, [])
            self.assertEqual(self.nacre("approve", id).returncode, 0)
            c.text("shell", self.MAKE)
            self.assertTrue(self.made.exists())
            self.made.unlink()
            c.refusal("shell", self.MAKE)  # it was for once
            c.close()

    def test_for_the_session_means_no_more_questions(self):
        c = self.client("--profile", "workspace", capabilities=FORM)
        id = c.request("tools/call", {"name": "shell", "arguments": self.MAKE})
        question = c.until(lambda m: m.get("method") == "elicitation/create")
        c.send({"jsonrpc": "2.0", "id": question["id"], "result": self.allow("session")})
        self.assertFalse(c.answer(id)["result"]["isError"])
        self.made.unlink()
        c.text("shell", self.MAKE)
        self.assertTrue(self.made.exists())
        c.close()

    def test_what_does_not_fit_into_a_form_is_not_approved_by_one(self):
        c = self.client("--profile", "workspace", capabilities=FORM)
        text = c.refusal("shell", {"command": ["touch", "made", "x" * 3000]})
        self.assertIn("nacre approve", text)
        self.assertEqual([m for m in c.log if m.get("method") == "elicitation/create"], [])
        c.close()

    def retry(self, c, **more):
        params = {"name": "shell", "arguments": self.MAKE, "_meta": meta(FORM)}
        return c.ask("tools/call", {**params, **more})

    def test_yes_without_a_session(self):
        c = self.client("--profile", "workspace", revision=None)
        first = self.retry(c)["result"]
        self.assertEqual(first["resultType"], "input_required")
        self.assertEqual(list(first["inputRequests"]), ["approval"])
        self.assertEqual(first["inputRequests"]["approval"]["method"], "elicitation/create")
        self.assertNotIn("ttlMs", first)
        state, yes = first["requestState"], {"approval": self.allow("once"), "other": 7}
        self.assertEqual(self.retry(c, requestState=state)["result"]["resultType"], "input_required")
        self.assertEqual(self.retry(c, requestState=state, inputResponses={"wrong": {}})["result"]["resultType"],
                         "input_required")
        other = "A" if state[-1] != "A" else "B"  # the end is random: what is put there must not be the same
        for wrong in (state[:-1] + other, state + "A", "", "x", state.swapcase()):
            self.assertEqual(self.retry(c, requestState=wrong, inputResponses=yes)["error"]["code"], -32602)
        for wrong in ([], "x", {"approval": 7}, {"approval": {"action": "yes"}}, {"approval": self.allow("always")}):
            self.assertEqual(self.retry(c, requestState=state, inputResponses=wrong)["error"]["code"], -32602)
            self.assertEqual(self.retry(c, inputResponses=wrong)["error"]["code"], -32602)
        self.assertEqual(self.retry(c, inputResponses=yes)["result"]["resultType"], "input_required")
        self.assertEqual(self.retry(c, requestState=state, inputResponses=yes,
                                    arguments={"command": ["touch", "else"]})["error"]["code"], -32602)
        self.assertFalse(self.made.exists())
        self.assertEqual(self.retry(c, requestState=state, inputResponses=yes)["result"]["resultType"], "complete")
        self.assertTrue(self.made.exists())
        self.assertEqual(self.retry(c, requestState=state, inputResponses=yes)["error"]["code"], -32602)
        c.close()

    def test_a_state_outlives_the_server_but_is_used_once(self):
        c = self.client("--profile", "workspace", "--session", "s1", revision=None)
        state = self.retry(c)["result"]["requestState"]
        c.close()
        yes = {"approval": self.allow("once")}
        c = self.client("--profile", "workspace", "--session", "s1", revision=None)
        self.assertEqual(self.retry(c, requestState=state, inputResponses=yes)["result"]["resultType"], "complete")
        self.assertTrue(self.made.exists())
        self.made.unlink()
        c.close()
        c = self.client("--profile", "workspace", "--session", "s1", revision=None)
        self.retry(c, requestState=state, inputResponses=yes)
        self.assertFalse(self.made.exists())
        c.close()

    def test_no_without_a_session(self):
        for reply in (self.allow("deny"), {"action": "decline"}, {"action": "cancel"}):
            c = self.client("--profile", "workspace", revision=None)
            state = self.retry(c)["result"]["requestState"]
            result = self.retry(c, requestState=state, inputResponses={"approval": reply})["result"]
            self.assertTrue(result["isError"])
            self.assertEqual("A person said no" in result["content"][0]["text"], reply["action"] != "cancel")
            self.assertFalse(self.made.exists())
            c.close()

    def test_who_declares_no_form_is_told_of_the_other_way(self):
        c = self.client("--profile", "workspace", revision=None)
        self.assertIn("nacre approve", c.refusal("shell", self.MAKE, _meta=meta()))
        c.close()


if __name__ == "__main__":
    unittest.main()
