"""clients/go: go vet, its own tests, the example of its README and those of examples/go against a running server."""
import json
import re
import shutil
import unittest

from client_suites import CLIENTS, EXAMPLES, ClientTest, blocks
from helpers import NACRE

HERE = CLIENTS / "go"


class Go(ClientTest):
    def setUp(self):
        super().setUp()
        # No network, no C, nothing of the person who runs the tests; what was compiled stays for this test.
        self.client_env.update(GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local", CGO_ENABLED="0", GOCACHE=str(self.dir / "go-cache"),
                               GOPATH=str(self.dir / "gopath"), NACRE_TEST_BINARY=NACRE, NO_COLOR="1")

    def go(self, *args, cwd=HERE, env=None):
        return self.program("go", *args, cwd=cwd, env=env)

    def test_all(self):
        """One test for all, since the standard library is compiled only once."""
        self.assertEqual(self.program("gofmt", "-l", HERE, EXAMPLES / "go"), "")
        self.go("vet", "./...")
        self.check_dependencies()
        self.check_own_tests()
        self.check_readme()
        self.go("vet", "./...", cwd=EXAMPLES / "go")
        for name in ("shell-tool", "mcp-server"):
            self.go("build", "-o", self.dir / name, "./" + name, cwd=EXAMPLES / "go")
        self.check_shell_tool()
        self.check_mcp_server()

    def check_dependencies(self):
        """The standard library, without cgo."""
        out = self.go("list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}{{range .CgoFiles}} cgo {{.}}{{end}}", "./...")
        self.assertEqual(out.split(), ["nacre.dev/client"])

    def check_own_tests(self):
        out = self.go("test", "-count=1", "-v", "./...")
        self.assertGreaterEqual(len(re.findall(r"^--- PASS: ", out, re.MULTILINE)), 12, out)
        self.assertNotIn("--- SKIP", out)

    def check_readme(self):
        place = self.dir / "readme"
        place.mkdir()
        (place / "main.go").write_text(blocks(HERE / "README.md", "go")[0])
        (place / "go.mod").write_text(f"module readme\n\ngo 1.19\n\nrequire nacre.dev/client v0.0.0\n\nreplace nacre.dev/client => {HERE}\n")
        self.go("build", "-o", "readme", ".", cwd=place)
        for env in self.default_doors():
            out = self.program("./readme", cwd=place, env=env)
            for word in ("hello\n0\n", "Use instead: [go.get go.mod]", "1\n2\n3\n", "true <nil>"):
                self.assertIn(word, out)

    def check_shell_tool(self):
        (self.work / "src").mkdir(exist_ok=True)
        (self.work / "notes.txt").write_text("a note\n")
        (self.work / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
        for env in self.default_doors():
            out = self.program(self.dir / "shell-tool", env=env)
            self.assertEqual(out.count("asked: 'make' '--version'"), 1, out)
            self.assertEqual(out.count("GNU Make"), 2, out)
            self.assertRegex(out, r"\$ ls -la\nexit 0, timed out false\ntotal ")
            self.assertRegex(out, r"\$ cat \.\./\.\./\.\./etc/passwd\nrefused \(deny\): .*leaves the workspace")
            self.assertRegex(out, r"\$ sudo reboot\nrefused \(deny\): ")
            self.assertRegex(out, r"\$ curl .*\nrefused \(ask\): .*only make today")
            self.assertRegex(out, r"\$ tail -f notes.txt\nexit 124, timed out true")
            self.assertRegex(out, r"\$ cat image.png\nexit 0, timed out false\n.*binary")

    def check_mcp_server(self):
        self.assertTrue(shutil.which("python3"))
        calls = [("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
                 ("tools/list", {}),
                 ("tools/call", {"name": "project.map", "arguments": {}}),
                 ("tools/call", {"name": "safe.shell", "arguments": {"command": "python3", "args": ["-c", "print(input())"], "input": "fed"}}),
                 ("tools/call", {"name": "safe.shell", "arguments": {"command": "git", "args": ["diff"]}}),
                 ("tools/call", {"name": "safe.shell", "arguments": {"command": "ls"}}),
                 ("tools/call", {"name": "safe.shell", "arguments": {"command": "ls", "force": True}})]
        lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}) for i, (method, params) in enumerate(calls)]
        lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        for env in self.default_doors():
            out = self.program(self.dir / "mcp-server", env=env, input="\n".join(lines) + "\n")
            answers = [json.loads(line)["result"] for line in out.splitlines()]
            self.assertEqual(len(answers), len(calls), out)
            self.assertEqual([tool["name"] for tool in answers[1]["tools"]], ["project.map", "safe.shell"])
            self.assertIn("timeout_millis", answers[1]["tools"][1]["inputSchema"]["properties"])
            texts = [answer["content"][0]["text"] for answer in answers[2:]]
            self.assertEqual(texts[0], "a project")
            self.assertTrue(texts[1].startswith("fed\n"), texts)
            self.assertIn("strictly blocked", texts[2])
            self.assertIn("file.list", texts[3])
            self.assertEqual([answer.get("isError", False) for answer in answers[2:]], [False, False, True, True, False])


if __name__ == "__main__":
    unittest.main(verbosity=2)
