"""clients/python: its own tests, its types, and the examples of its README against a running server."""
import http.client
import json
import re
import subprocess
import unittest

from client_suites import CLIENTS, EXAMPLES, ClientTest, blocks
from helpers import DEADLINE, wait_until

PYTHON = "/usr/bin/python3"  # the one that Debian's mypy and fastapi belong to
HERE = CLIENTS / "python"
PATH = {"PYTHONPATH": str(HERE)}


class Python(ClientTest):
    def test_the_types_are_strict(self):
        out = self.program("/usr/bin/mypy", "--strict", "--cache-dir", self.dir / "mypy", "nacre", "tests", cwd=HERE)
        self.assertIn("no issues found", out)
        out = self.program("/usr/bin/mypy", "--strict", "--cache-dir", self.dir / "mypy", *sorted((EXAMPLES / "python").glob("*.py")),
                           env={"MYPYPATH": str(HERE)})
        self.assertIn("no issues found", out)

    def test_its_own_tests_pass(self):
        out = self.program(PYTHON, "-m", "unittest", "discover", "-v", "-t", ".", "-s", "tests", cwd=HERE)
        found = re.search(r"Ran (\d+) tests in .*\n\nOK\n", out)  # "OK (skipped=1)" would not do
        self.assertTrue(found and int(found[1]) > 40, out)

    def test_it_takes_nothing_but_the_standard_library(self):
        out = self.program(PYTHON, "-I", "-S", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import nacre; print(nacre.__version__)", HERE)
        self.assertEqual(out.strip(), "0.1.0")

    def test_the_readme_does_what_it_says(self):
        expected = (("hello", "3", "deny", "use instead: ['go.get', 'go.mod']", "1\n2\n3\nexit code 0", "working"),
                    ("May I run 'make' '--version'", "GNU Make"), ("'tool_use_id': 'toolu_1'", "'role': 'tool'"))
        pieces = blocks(HERE / "README.md", "python")
        self.assertEqual(len(pieces), len(expected))
        for env in self.default_doors():
            for code, words in zip(pieces, expected):
                out = self.program(PYTHON, "-c", code, env={**PATH, **env})
                for word in words:
                    self.assertIn(word, out)


class Examples(ClientTest):
    ARGS = (*ClientTest.ARGS, "--profile", "writer")

    def example(self, name, *args, env):
        return self.program(PYTHON, EXAMPLES / "python" / name, *args, env={**PATH, **env})

    def test_react_agent(self):
        (self.work / "notes.txt").write_text("TODO: everything\n")
        for env in self.default_doors():
            out = self.example("react_agent.py", self.work, env=env)
            self.assertIn("./notes.txt:TODO: everything", out)
            self.assertEqual(out.count("Observation: refused: "), 3, out)
            self.assertIn("not in whitelist", out)
            self.assertIn("metacharacter", out)

    def test_expert_agents(self):
        for env in self.default_doors():
            out = self.example("expert_agents.py", self.work, env=env)
            self.assertIn("writer$ wc -w paper.md\nExit code: 0\n6 paper.md\n", out)
            self.assertRegex(out, r"writer\$ python3 .*\nError: .*python3")
            self.assertRegex(out, r"coder\$ python3 .*\nExit code: 0\n1\n")
            self.assertRegex(out, r"coder\$ sudo reboot\nError: .*sudo")
            self.assertRegex(out, r"coder\$ sleep 30\nExit code: 124")

    def test_the_service_answers_as_a_sandbox_server(self):
        self.default_doors()
        port, service = self.uvicorn()
        try:
            self.check_service(port)
        finally:
            service.terminate()
            service.wait(DEADLINE)
        log = (self.dir / "service.log").read_text()
        self.assertIn("POST /shell", log)

    def uvicorn(self):
        """The service on a port that the kernel chose."""
        with open(self.dir / "service.log", "w", encoding="utf-8") as log:
            service = subprocess.Popen([PYTHON, "-m", "uvicorn", "--port", "0", "shell_service:app"], cwd=EXAMPLES / "python",
                                       env={**self.client_env, **PATH}, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.started.append(service)

        def port():
            self.assertIsNone(service.poll(), (self.dir / "service.log").read_text())
            return re.search(r"running on http://127\.0\.0\.1:(\d+)", (self.dir / "service.log").read_text())
        return int(wait_until("the service listens", port)[1]), service

    def check_service(self, port):
        def post(**body):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
            connection.request("POST", "/shell", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            value = json.loads(response.read())
            connection.close()
            return response.status, value

        (self.work / "a.txt").write_text("TODO\n")
        status, value = post(command="grep -r TODO .", workspace=str(self.work), timeout=30)
        self.assertEqual((status, value), (200, {"success": True, "stdout": "./a.txt:TODO\n", "stderr": "", "returncode": 0}))
        for command, word in (("rm -rf /", "not in whitelist"), ("ls | cat", "metacharacter"), ("cat nothing", "nothing")):
            status, value = post(command=command, workspace=str(self.work))
            self.assertEqual((status, sorted(value), value["success"]), (200, ["returncode", "stderr", "stdout", "success"], False))
            self.assertIn(word, value["stderr"])
        status, value = post(command="ls", workspace="/nonexistent")
        self.assertEqual((status, value["stderr"]), (200, "Workspace not found"))
        status, value = post(command="tail -f a.txt", workspace=str(self.work), timeout=1)
        self.assertEqual((status, value["returncode"]), (200, 124))
        self.assertIn("timed out", value["stderr"])
        status, value = post(command="ls", workspace=str(self.work), timeout=0)
        self.assertEqual((status, sorted(value)), (400, ["returncode", "stderr", "stdout", "success"]), value)
        self.stop_server(self.server)
        status, value = post(command="ls", workspace=str(self.work))
        self.assertEqual((status, value["success"]), (503, False))
        self.assertNotIn(str(self.state), value["stderr"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
