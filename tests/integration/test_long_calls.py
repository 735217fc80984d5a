"""Calls whose answer comes before their end, and commands whose time is over: what they are told."""
import re
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, ample, wait_until
from mcp_client import Client


class LongCalls(NacreTest):
    BOXED = True
    WAIT = "until [ -e go ]; do sleep 0.02; done"

    def client(self, *args):
        client = Client(self, "--profile", "bash", *args)
        client.initialize()
        return client

    def stop(self, task):
        subprocess.run([NACRE, "stop", task], env=self.env, check=True, capture_output=True, timeout=2 * DEADLINE)

    def test_an_answer_before_the_end_has_the_output_so_far(self):
        client = self.client("--foreground-max", "4s")
        result = client.call("Bash", {"command": f"echo first; echo wrong >&2; {self.WAIT}; echo last"})
        text, task = result["content"][0]["text"], result["_meta"]["dev.nacre/run"]["task_id"]
        self.assertFalse(result["isError"])
        self.assertTrue(text.startswith("first\n"), text)
        self.assertIn("wrong\n", text)
        self.assertIn(f"still running; it goes on in the background as task {task}. TaskOutput shows more of its output, "
                      "TaskStop ends it.", text)
        self.assertIn(f"[task {task} running]", text)
        (self.work / "go").touch()
        self.assertIn("last", client.text("TaskOutput", {"task_id": task, "block": True, "all": True}))
        client.close()

    def test_a_caller_who_names_a_time_limit_waits_so_long(self):
        client = self.client("--foreground-max", "1s")
        text = client.text("Bash", {"command": "sleep 3; echo done", "timeout": 300000})
        self.assertTrue(text.startswith("done\n[exit 0 after"), text)
        client.close()

    def test_a_client_that_gives_up_finds_its_command_as_a_task(self):
        client = self.client()
        id = client.request("tools/call", {"name": "Bash", "arguments": {"command": f"touch up; {self.WAIT}; echo last"}})
        wait_until("it runs", (self.work / "up").exists)
        client.notify("notifications/cancelled", {"requestId": id, "reason": "McpError: MCP error -32001: Request timed out"})
        text = client.text("Bash", {"command": "echo next"})
        self.assertTrue(text.startswith("next\n[exit 0"), text)
        if "goes on as task" not in text:  # it was let go a moment later
            text = client.text("Bash", {"command": "echo next"})
        [task] = re.findall(r"It goes on as task (bash-[0-9a-z]+)", text)
        self.assertNotIn("goes on", client.text("Bash", {"command": "echo again"}))
        (self.work / "go").touch()
        self.assertIn("last", client.text("TaskOutput", {"task_id": task, "block": True, "all": True}))
        client.close()

    def test_its_next_calls_become_tasks_before_that(self):
        client = self.client()
        id = client.request("tools/call", {"name": "Bash", "arguments": {"command": f"touch up; {self.WAIT}"}})
        wait_until("it runs", (self.work / "up").exists)
        client.notify("notifications/cancelled", {"requestId": id, "reason": "timeout"})
        result = client.call("Bash", {"command": f"echo first; {self.WAIT}"})
        self.assertIn("first\n", result["content"][0]["text"])
        self.assertIn("it goes on in the background as task", result["content"][0]["text"])
        (self.work / "go").touch()
        client.close()

    def test_a_person_who_cancels_ends_the_command(self):
        client = self.client()
        id = client.request("tools/call", {"name": "Bash", "arguments": {"command": f"touch up; {self.WAIT}; touch late"}})
        wait_until("it runs", (self.work / "up").exists)
        client.notify("notifications/cancelled", {"requestId": id, "reason": "user pressed escape"})
        wait_until("it has ended", lambda: "[]" in client.text("TaskList", {}) or "no " in client.text("TaskList", {}).lower())
        self.assertNotIn("goes on", client.text("Bash", {"command": "touch go; sleep 0.2; ls"}))
        self.assertFalse((self.work / "late").exists())
        client.close()

    def test_a_time_limit_that_was_asked_for_ends_the_command(self):
        client = self.client()
        text = client.refusal("Bash", {"command": "echo first; sleep 1000", "timeout": 3000})
        self.assertTrue(text.startswith("first\n"), text)
        self.assertIn("timed out after 3s", text)
        self.assertIn("Ask for a longer time limit (`timeout`, at most 10m 0s, timeout.max), or run the command in the "
                      "background (`run_in_background`).", text)
        client.close()

    def test_a_time_limit_that_lets_go_has_the_output_so_far(self):
        self.write_config("bash.yaml", "profile: bash\ntimeout: {on_timeout: background}\n")
        result = self.run_json("--timeout", ample(3), "-c", "echo first; sleep 1000")
        self.assertTrue(result["background"] and result["timed_out"])
        self.assertEqual(result["stdout"], "first\n")
        self.assertIn(f"`nacre output {result['task_id']}` shows more of its output", result["note"])
        self.stop(result["task_id"])

    def test_text_for_a_script_is_the_id_alone(self):
        self.write_config("bash.yaml", "profile: bash\ntimeout: {on_timeout: background}\n")
        done = self.run_nacre("--timeout", "3s", "-c", "echo first; sleep 1000")
        self.assertRegex(done.out, rb"\Abash-[0-9a-z]+\n\Z")
        self.stop(done.out.decode().strip())


if __name__ == "__main__":
    unittest.main()
