"""The second check, by every door: a nacre whose own check says yes to everything (tests/credulous.c) has keepers that do not.

Nothing else stands in the way here: there is no box, so that a denied command which was started would leave its mark.
"""
import json
import os
import subprocess
import unittest

os.environ["NACRE"] += "-credulous"

import mcp_client  # noqa: E402
from helpers import DEADLINE, NACRE, NacreTest, descendants, wait_until  # noqa: E402
from serving import ServeTest  # noqa: E402

DENIED, ALLOWED = "touch denied", "mkdir allowed"
WORDS = "second check"


class Checks:
    """The file that a denied command would make is not there, and the log has who refused."""

    def prepare(self):
        for name in ("bash", "readonly"):
            self.write_config(f"{name}.yaml", f"profile: {name}\nsandbox: {{mode: none, require: []}}\n"
                              + ("deny: [touch]\n" if name == "bash" else ""))

    def expect_refused(self, text, words=WORDS):
        self.assertIn(words, text)
        self.assertFalse((self.work / "denied").exists(), "it ran")

    def expect_made(self):
        self.assertTrue((self.work / "allowed").is_dir(), "what is allowed does not run either")
        (self.work / "allowed").rmdir()

    def refusals(self):
        done = subprocess.run([NACRE, "audit", "show", "--json"], env=self.env, cwd=self.work, check=True,
                              stdout=subprocess.PIPE, timeout=DEADLINE)
        return [r for r in json.loads(done.stdout)["records"] if r["event"] == "refused" and WORDS in r.get("reason", "")]


class Lines(Checks, NacreTest):
    def setUp(self):
        super().setUp()
        self.prepare()

    def test_the_command_line(self):
        for form in (["-c", DENIED], ["--", *DENIED.split()]):
            result = self.run_json(*form)
            self.assertEqual(result["exit_code"], 126)
            self.expect_refused(result["reason"])
        self.assertEqual(len(self.refusals()), 2)
        self.run_json("-c", ALLOWED)
        self.expect_made()

    def test_in_the_background(self):
        done = self.run_nacre("--background", "--json", "-c", DENIED)
        self.assertNotEqual(done.code, 0, done)
        wait_until("its keeper is gone", lambda: not descendants())
        self.expect_refused(done.out.decode())

    def test_a_batch(self):
        requests = [ALLOWED, DENIED, "rmdir allowed", DENIED, ALLOWED]
        text = "".join(json.dumps({"id": i, "command": c}) + "\n" for i, c in enumerate(requests))
        done = self.run_nacre("--batch", "--jobs", "1", input=text.encode())
        results = [json.loads(line)["result"] for line in done.out.splitlines()]
        self.assertEqual([r["exit_code"] for r in results], [0, 126, 0, 126, 0], results)
        self.expect_refused(results[1]["reason"])
        self.expect_made()

    def test_a_call_of_a_tool(self):
        done = subprocess.run([NACRE, "call", "Bash", json.dumps({"command": DENIED})], env=self.env, cwd=self.work, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE)
        self.expect_refused(done.stdout.decode())

    def test_mcp(self):
        client = mcp_client.Client(self, "--profile", "bash")
        client.initialize()
        self.expect_refused(client.refusal("Bash", {"command": DENIED}))
        client.text("Bash", {"command": ALLOWED})
        self.expect_made()
        client.popen.stdin.close()
        self.assertEqual(client.popen.wait(DEADLINE), 0)
        self.assertEqual(len(self.refusals()), 1)


class Http(Checks, ServeTest):
    def serve(self, *args, **options):
        self.prepare()
        return super().serve(*args, **options)

    def test_rest(self):
        result = self.post("/v1/run", {"command": DENIED}).json
        self.expect_refused(result["reason"])
        events = self.stream("POST", "/v1/run", {"command": DENIED}, headers={"Accept": "text/event-stream"})
        self.expect_refused(" ".join(str(event) for event in events))
        self.post("/v1/run", {"command": ALLOWED})
        self.expect_made()

    def test_shell(self):
        result = self.post("/shell", {"command": DENIED, "workspace": str(self.work), "timeout": 30}).json
        self.assertFalse(result["success"])
        self.assertFalse((self.work / "denied").exists(), "it ran")
        self.assertEqual(len(self.refusals()), 1)

    def test_mcp(self):
        head = {"Accept": "application/json, text/event-stream"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        head["Mcp-Session-Id"] = self.post("/mcp", body, headers=head).headers["Mcp-Session-Id"]
        for command, refused in ((DENIED, True), (ALLOWED, False)):
            body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "Bash", "arguments": {"command": command}}}
            result = self.post("/mcp", body, headers=head).json["result"]
            self.assertEqual(result["isError"], refused, result)
            if refused:
                self.expect_refused(result["content"][0]["text"])
        self.expect_made()


del NacreTest, ServeTest

if __name__ == "__main__":
    unittest.main()
