"""docs/coming-from.md: its tables say what the binary says, its policies hold, and its programs exist."""
import json
import re
import subprocess
import unittest

from client_suites import EXAMPLES
from helpers import DEADLINE, NACRE, ROOT, NacreTest
from serving import ServeTest

PAGE = ROOT / "docs" / "coming-from.md"
POLICIES = EXAMPLES / "policies"
TOOLS = {"safe.shell": "safe_shell", "run_command": "run_command", "command policy": "shell", "run_shell": "run_shell", "Bash": "Bash"}

# For each policy: a request that runs, what it prints, a request that is refused, and with which verdict.
REQUESTS = {
    "safe-shell": ({"argv": ["python3", "-c", "print(6 * 7)"]}, "42", {"argv": ["git", "diff"]}, "deny"),
    "run-command": ({"command": "echo a b | wc -w"}, "2", {"command": "sudo ls"}, "deny"),
    "expert-writer": ({"command": "wc -w paper.md"}, "2 paper.md", {"command": "python3 -c 1"}, "deny"),
    "shell-tool": ({"argv": ["make", "--version"]}, "GNU Make", {"argv": ["git", "push"]}, "ask"),
    "run-shell": ({"command": "cat paper.md"}, "two words", {"command": "ls | cat"}, "deny"),
    "bash-tool": ({"command": "echo hi", "description": "greet"}, "hi", {"command": "echo hi"}, None),  # it wants a description
}


def sections():
    """Title and tables of each section; a table is a heading and rows of cells."""
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        tables = []
        for line in part.splitlines():
            if line.startswith("|---"):
                continue
            if line.startswith("|"):
                cells = [cell.strip() for cell in line.strip("|").split(" | ")]
                if cells[0] in ("tool", "parameter", "result", "configuration"):
                    tables.append((cells[0], []))
                else:
                    tables[-1][1].append(cells)
        yield part.splitlines()[0], tables


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


class Page(NacreTest):
    BOXED = True

    def nacre(self, *args, code=0):
        done = subprocess.run([NACRE, *map(str, args)], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=DEADLINE)
        self.assertEqual(done.returncode, code, done)
        return done.stdout

    def tool_of(self, title):
        return next(tool for word, tool in TOOLS.items() if word in title)

    def test_parameters_are_those_of_the_tools(self):
        tools = {tool["name"]: tool for tool in json.loads(self.nacre("call", "--list"))}
        seen = 0
        for title, tables in sections():
            for row in dict(tables)["parameter"]:
                for name in codes(row[1]):
                    self.assertIn(name, tools[self.tool_of(title)]["inputSchema"]["properties"], (title, row))
                    seen += 1
        self.assertGreater(seen, 20)

    def test_results_are_those_of_the_tools(self):
        calls = {"safe_shell": [{"command": "python3", "args": ["-c", "print('x' * 20000)"]}, {"command": "ls"},
                                {"command": "python3", "args": ["-c", "1"], "output_mode": "separate"}],
                 "run_command": [{"command": "true"}, {"command": "sudo ls"}], "shell": [{"command": ["ls"]}], "run_shell": [{"command": "ls"}],
                 "Bash": [{"command": "seq 10000"}, {"command": "true", "run_in_background": True}]}
        self.write_config("verify.yaml", "profile: verify\nnudge: {tools: {list: [file.list]}}\n")
        for title, tables in sections():
            tool, members = self.tool_of(title), set()
            for arguments in calls[tool]:
                done = subprocess.run([NACRE, "call", tool, json.dumps(arguments)], env=self.env, cwd=self.work, capture_output=True,
                                      stdin=subprocess.DEVNULL, check=False, timeout=DEADLINE)
                members |= set(json.loads(done.stdout))
            for row in dict(tables)["result"]:
                for name in codes(row[1]):
                    self.assertIn(name, members, (title, row))

    def test_keys_are_those_of_policies(self):
        reference = self.nacre("policy", "schema", "--doc")
        keys = set(re.findall(r"^\| `([\w.]+)`", reference, re.MULTILINE))
        self.assertIn("timeout.default", keys)
        for title, tables in sections():
            rows = dict(tables)["configuration"]
            self.assertGreater(len(rows), 4, title)
            for row in rows:
                for name in codes(row[1]):
                    self.assertIn(name, keys, (title, row))

    def test_programs_and_policies_are_there(self):
        text = PAGE.read_text(encoding="utf-8")
        for name in re.findall(r"`((?:go|python|typescript)/[\w./-]+)`", text):
            self.assertTrue((EXAMPLES / name).exists(), name)
        named = set(re.findall(r"`([\w-]+)\.yaml`", text))
        self.assertEqual(named, {path.stem for path in POLICIES.glob("*.yaml")})
        self.assertEqual(named, set(REQUESTS))

    def test_policies_are_checked_and_their_examples_hold(self):
        for path in sorted(POLICIES.glob("*.yaml")):
            self.assertIn("0 warnings", self.nacre("policy", "check", "--strict", path))
            self.assertIn(" 0 do not", self.nacre("policy", "test", path))


class Served(ServeTest):
    """The policies as profiles of a server."""
    BOXED = True
    ARGS = tuple(word for name in REQUESTS for word in ("--profile", name))

    def setUp(self):
        NacreTest.setUp(self)
        self.servers = []
        for path in POLICIES.glob("*.yaml"):
            self.write_config(path.name, path.read_text(encoding="utf-8"))
        self.server = self.serve()

    def test_each_runs_and_refuses(self):
        (self.work / "paper.md").write_text("two words\n")
        for name, (fine, text, wrong, verdict) in REQUESTS.items():
            session = {"session": "here"} if name in ("run-command", "expert-writer") else {}
            answer = self.post("/v1/run", {"profile": name, **session, **fine})
            self.assertEqual(answer.status, 200, answer)
            result = answer.json
            self.assertTrue(result["success"], (name, result))
            self.assertIn(text, result.get("stdout", "") + result.get("output", ""), name)
            result = self.post("/v1/run", {"profile": name, **session, **wrong}).json
            self.assertEqual((result["success"], result["verdict"]), (False, verdict), (name, result))
            self.assertTrue(result["reason"], name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
