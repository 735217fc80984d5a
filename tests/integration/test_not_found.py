"""Nobody is asked about a program that does not exist: 127 and its name, at every door."""
import json
import subprocess
import unittest

from helpers import NACRE
from mcp_client import Client
from patience import DEADLINE
from serving import ServeTest

NAME = "no-such-program-x"
SAID = f"{NAME}: command not found"


class NotFound(ServeTest):
    BOXED = True

    def nacre(self, *args):
        return subprocess.run([NACRE, *args], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=DEADLINE, check=False)

    def questions(self):
        return self.nacre("approvals", "--json").stdout.strip()

    def test_the_command_line(self):
        done = self.nacre("run", "--profile", "workspace", NAME, "x")
        self.assertEqual((done.returncode, done.stderr.decode()), (127, f"nacre: {SAID}\n"))
        done = self.nacre("run", "--profile", "workspace", "./none")
        self.assertEqual((done.returncode, b"./none: no such file" in done.stderr), (127, True), done)
        done = self.nacre("call", "shell", json.dumps({"command": [NAME]}))
        self.assertEqual((json.loads(done.stdout)["exit_code"], json.loads(done.stdout)["reason"]), (127, SAID))
        answer = json.loads(self.nacre("explain", "--json", "--profile", "workspace", NAME).stdout)
        self.assertEqual(answer["verdict"], "ask", "what the policy says does not depend on what is installed today")
        self.assertIn(self.questions(), (b"", b'{"approvals":[]}'))

    def test_mcp_and_http(self):
        client = Client(self, "--profile", "workspace")
        client.initialize(capabilities={"elicitation": {}})
        result = client.call("shell", {"command": [NAME]})
        self.assertIn(SAID, json.dumps(result))
        self.assertEqual(result["structuredContent"]["exit_code"] if "structuredContent" in result else 127, 127)
        client.close()
        answer = self.post("/v1/run", {"argv": [NAME], "profile": "workspace"}).json
        self.assertEqual((answer["exit_code"], answer["reason"], answer["approval"]), (127, SAID, None))
        self.assertIn(self.questions(), (b"", b'{"approvals":[]}'))

    def test_what_exists_or_may_come_to_be_is_asked_about(self):
        self.write_config("workspace.yaml", "profile: workspace\nshell: bash\n")
        for line in ("python3 -c 1", f"make {NAME} && ./{NAME}", f"touch {NAME}; ./{NAME}"):
            answer = json.loads(self.nacre("explain", "--json", "--profile", "workspace", "-c", line).stdout)
            self.assertEqual(answer["verdict"], "ask", line)
        (self.work / "tool").write_text("#!/bin/sh\n")
        answer = json.loads(self.nacre("explain", "--json", "--profile", "workspace", "env", "./tool").stdout)
        self.assertEqual(answer["verdict"], "ask")

    def test_what_only_a_session_can_see_is_asked_about(self):
        """Its /tmp and home are others than those that the policy can look into."""
        self.write_config("bash.yaml", "profile: bash\ndefault: ask\n")
        home = self.env["HOME"]
        for line in (f"/tmp/{NAME}", f"/dev/shm/{NAME}", f"{home}/{NAME}", f"../../../../../../tmp/{NAME}"):
            done = self.nacre("run", "--profile", "bash", "--session", "s", "-c", line)
            self.assertIn(b"a person decides", done.stderr, line)
        done = self.nacre("run", "--profile", "bash", "--session", "s", "-c", f"./{NAME}")
        self.assertEqual(done.returncode, 127)
        self.env["PATH"] = f"{home}/bin:{self.env['PATH']}"
        done = self.nacre("run", "--profile", "bash", "-c", NAME)
        self.assertEqual(done.returncode, 127, "PATH is cleaned of what a command could fill")

    def test_what_appears_meanwhile_does_not_run_unasked(self):
        """The answer is a refusal and not a promise: the same words again are judged again."""
        self.write_config("bash.yaml", "profile: bash\ndefault: ask\n")
        words = ("run", "--profile", "bash", "-c", "./late")
        self.assertEqual(self.nacre(*words).returncode, 127)
        late = self.work / "late"
        late.write_text("#!/bin/sh\ntouch ran\n")
        late.chmod(0o755)
        done = self.nacre(*words)
        self.assertEqual((done.returncode, b"a person decides" in done.stderr), (126, True), done)
        self.assertFalse((self.work / "ran").exists())

    def test_nobody_learns_what_is_elsewhere(self):
        """The question is the same whether it is there or not."""
        secret = self.dir / "secret"
        secret.mkdir()
        (secret / "there").write_text("x")
        (self.work / "link").symlink_to(secret)
        self.write_config("workspace.yaml", "profile: workspace\nshell: bash\n")
        for form in (f"{secret}/%s", "link/%s", "./link/%s", "link/../secret/%s"):
            there, none = (self.nacre("run", "--json", "--profile", "workspace", "-c", form % name) for name in ("there", "none"))
            self.assertEqual((there.returncode, none.returncode), (126, 126), form)
            self.assertNotIn(b"no such file", none.stdout)
        for name in ("there", "none"):
            answer = self.post("/v1/run", {"argv": [name], "profile": "workspace", "env": {"PATH": str(secret)}}).json
            self.assertNotEqual(answer.get("exit_code"), 127, answer)

    def test_what_is_refused_stays_refused(self):
        self.env["PATH"] = str(self.dir)
        for words, verdict in ((("sudo", "ls"), "deny"), (("rm", "-rf", "/"), "deny")):
            answer = json.loads(self.nacre("explain", "--json", "--profile", "workspace", *words).stdout)
            self.assertEqual(answer["verdict"], verdict)
            self.assertNotIn("not found", answer["reason"])


if __name__ == "__main__":
    unittest.main()
