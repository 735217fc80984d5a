"""clients/typescript: its types, its own tests, and the examples of its README against a running server."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from client_suites import CLIENTS, EXAMPLES, ClientTest, blocks
from helpers import ROOT

sys.path.insert(0, str(ROOT / "tests" / "npm"))
import packages  # noqa: E402

HERE = CLIENTS / "typescript"


class TypeScript(ClientTest):
    """The package is built once, in a place of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="nacre-client-")) / "typescript"
        cls.addClassCleanup(shutil.rmtree, cls.place.parent)
        shutil.copytree(HERE, cls.place)
        done = subprocess.run(["tsc", "-p", "."], cwd=cls.place, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    def tsc(self, *args, cwd):
        return self.program("tsc", *args, cwd=cwd)

    def node_tests(self, name, place):
        """All tests of a file passed, and none was left out."""
        out = self.program("node", "--test", f"dist/tests/{name}.test.js", cwd=place)
        count = dict(re.findall(r"^(?:#|ℹ) (tests|pass|fail|skipped|todo) (\d+)$", out, re.MULTILINE))
        self.assertEqual((count["fail"], count["skipped"], count["todo"]), ("0", "0", "0"), out)
        self.assertEqual(count["pass"], count["tests"])
        return int(count["tests"]), out

    def test_the_types_are_those_of_the_server(self):
        made = self.program("node", "tools/generate.mjs", cwd=HERE, env={"NACRE_SOCKET": self.server.unix})
        self.assertEqual((HERE / "src" / "api.ts").read_text(), made,
                         "the interface has changed: run tools/update-clients")

    def test_its_own_tests_pass(self):
        self.assertFalse((self.place / "node_modules").exists())  # it needs nothing but Node.js
        count, out = self.node_tests("client", self.place)
        # Node.js before 20 counts the file, and tells of its tests inside.
        self.assertTrue(count > 25 or out.count("# Subtest: ") > 25, out)

    def test_the_schemas_are_those_of_zod(self):
        try:
            npm = packages.prepare()
        except packages.Unavailable as reason:
            self.skipTest(str(reason))
        place = shutil.copytree(HERE, self.dir / "typescript")
        (place / "node_modules").symlink_to(npm / "node_modules")
        self.tsc("-p", "tsconfig.zod.json", cwd=place)
        self.node_tests("zod", place)

    def programs(self, sources):
        """Programs that use the package as an application does: each compiled, and run through both doors."""
        (self.dir / "app" / "node_modules").mkdir(parents=True)
        (self.dir / "app" / "node_modules" / "nacre-client").symlink_to(self.place)
        (self.dir / "app" / "package.json").write_text('{"type": "module"}')
        for name, text in sources.items():
            (self.dir / "app" / f"{name}.ts").write_text(text)
        (self.dir / "app" / "tsconfig.json").write_text(json.dumps({"compilerOptions": {
            "strict": True, "target": "ES2022", "lib": ["ES2022", "DOM"], "module": "Node16", "moduleResolution": "Node16", "types": []}}))
        self.tsc("-p", ".", cwd=self.dir / "app")
        for env in self.default_doors():
            yield {name: self.program("node", f"{name}.js", cwd=self.dir / "app", env=env) for name in sources}

    def test_the_readme_does_what_it_says(self):
        pieces = blocks(HERE / "README.md", "ts")
        self.assertEqual(len(pieces), 2)
        for out in self.programs({"first": pieces[0], "second": pieces[1]}):
            for word in ("hello", " 3\n", "deny ", "use instead: go.get, go.mod", "1\n2\n3\nexit code 0", "working"):
                self.assertIn(word, out["first"])
            for word in ("May I run 'make' '--version'", "GNU Make", "true\n", "from a tool", "ecursive delete"):
                self.assertIn(word, out["second"])

    def test_the_example_bash_tool(self):
        for out in self.programs({"bash-tool": (EXAMPLES / "typescript" / "bash-tool.ts").read_text()}):
            text = out["bash-tool"]
            for line in ("Build the project: ok (Build completed)", "stdout: added 1", "stdout: added 3", "Exit code: 0",
                         "Background task started: yes", "TaskOutput: testing", "TaskStop: ended", "Truncated: true, 588895 bytes in a file",
                         "Timed out: exit code 124 after its limit"):
                self.assertIn(line + "\n", text)
            self.assertEqual(len(re.findall(r"^Command blocked \(126\): \S.{20}", text, re.MULTILINE)), 4, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
