"""workspace.per_job: the calls of one session are one job, with one directory of a limited size."""
import json
import subprocess
import unittest

from helpers import NACRE
from mcp_client import Client
from patience import DEADLINE
from serving import ServeTest


class Jobs(ServeTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.jobs = self.dir / "jobs"
        self.write_config("universal.yaml", f"profile: universal\nworkspace: {{root: {self.jobs}, per_job: true, size: 4M}}\n")

    def call(self, line, *args):
        done = subprocess.run([NACRE, "call", *args, "run_command", json.dumps({"command": line})], env=self.env,
                              cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE, check=False)
        return json.loads(done.stdout)

    def names(self):
        return sorted(p.name for p in self.jobs.iterdir()) if self.jobs.exists() else []

    def test_calls_of_a_session_are_one_job(self):
        self.assertEqual(self.call("pwd; echo one >a; mkdir sub; cd sub", "--session", "paper")["stdout"],
                         f"{self.jobs}/job_paper\n")
        self.assertEqual(self.call("pwd; cat ../a", "--session", "paper")["stdout"], f"{self.jobs}/job_paper/sub\none\n")
        self.assertEqual(self.call("ls", "--session", "other")["stdout"], "")
        self.assertEqual(self.names(), ["job_other", "job_paper"])
        self.assertEqual(self.call("ls")["stdout"], "", "a call without a session is a job by itself")
        self.assertEqual(len(self.names()), 3)
        listed = subprocess.run([NACRE, "session", "list", "--json"], env=self.env, check=True, capture_output=True,
                                cwd=self.work, text=True).stdout.splitlines()
        places = {s["session"]: s["workspace"] for s in map(json.loads, listed)}
        self.assertEqual(places["paper"], f"{self.jobs}/job_paper")
        subprocess.run([NACRE, "session", "end", "paper"], env=self.env, check=True, capture_output=True, cwd=self.work)
        self.assertEqual((self.jobs / "job_paper" / "a").read_text(), "one\n", "the files of a job are its result")

    def test_one_job_cannot_see_another(self):
        self.call("echo secret >s", "--session", "a")
        result = self.call("cat ../job_a/s; ls ..", "--session", "b")
        self.assertNotIn("secret", json.dumps(result))
        self.assertNotIn("job_a", result["stdout"])
        for name in ("../x", ".", "a/b", "x" * 65):
            done = subprocess.run([NACRE, "call", "--session", name, "run_command", '{"command":"ls"}'], env=self.env,
                                  cwd=self.work, capture_output=True, timeout=DEADLINE, check=False)
            self.assertEqual(done.returncode, 125, name)
        self.assertEqual(self.names(), ["job_a", "job_b"])

    def test_a_connection_is_a_job(self):
        for _ in range(2):
            c = Client(self, "--profile", "universal")
            c.initialize()
            c.call("run_command", {"command": "echo x >kept"})
            self.assertIn("kept", json.dumps(c.call("run_command", {"command": "ls"})))
            c.close()
        self.assertEqual(len(self.names()), 2)
        self.assertTrue(all(n.startswith("job_") for n in self.names()))

    def test_a_session_of_http_is_a_job(self):
        def run(line, **more):
            return self.post("/v1/run", {"command": line, "profile": "universal", **more}).json

        self.assertEqual(run("echo x >kept", session="j1")["exit_code"], 0)
        self.assertEqual(run("ls", session="j1")["stdout"], "kept\n")
        self.assertEqual(run("ls", session="j2")["stdout"], "")

    def test_the_size_of_a_job_is_limited_and_it_is_said(self):
        done = subprocess.run([NACRE, "run", "--json", "--profile", "universal", "--session", "big", "-c",
                               "i=0; while :; do head -c 1M /dev/zero >f$i; i=$((i+1)); sleep 0.1; done"], env=self.env,
                              cwd=self.work, capture_output=True, timeout=DEADLINE, check=False)
        result = json.loads(done.stdout)
        self.assertEqual((result["success"], result["sandbox"]["limit_hit"]), (False, "workspace"), result)
        self.assertIn("workspace.size", " ".join(result["notices"]))
        result = json.loads(subprocess.run([NACRE, "run", "--json", "--profile", "universal", "--session", "big", "-c",
                                            "rm -f f*; ls"], env=self.env, cwd=self.work, capture_output=True,
                                           timeout=DEADLINE, check=False).stdout)
        self.assertEqual((result["exit_code"], result["stdout"]), (0, ""), "it can be cleared up")
        self.assertIn("workspace.size", " ".join(result["notices"]))
        self.assertEqual(self.call("echo small >x; cat x", "--session", "big")["stdout"], "small\n")

    def test_to_ask_what_would_become_of_it_leaves_no_directory(self):
        subprocess.run([NACRE, "explain", "--profile", "universal", "-c", "ls"], env=self.env, cwd=self.work, check=True,
                       capture_output=True)
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    unittest.main()
