"""The tools that build, count and check: a wrong count or a silent check would hide everything else."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from patience import DEADLINE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class House(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="nacre house ")  # spaces are part of the test
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        self.bin = self.dir / "bin"
        self.bin.mkdir()

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run_tool(self, *command, **variables):
        """Runs with the fake programs in front; returns exit code, standard output and error."""
        environment = {"PATH": f"{self.bin}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.dir),
                       "LANG": "C.UTF-8", **variables}
        done = subprocess.run([str(word) for word in command], cwd=self.dir, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE,
                              check=False)
        return done.returncode, done.stdout, done.stderr


class Unittest(House):
    def test_every_kind_of_outcome_gets_its_tap_line(self):
        module = self.dir / "test_sample.py"
        module.write_text("import unittest\n"
                          "class Sample(unittest.TestCase):\n"
                          "    def test_a(self): print('ok 99 - noise')\n"
                          "    def test_b(self): self.assertEqual(1, 2)\n"
                          "    def test_c(self): self.skipTest('userns: refused')\n"
                          "    def test_d(self):\n"
                          "        with self.subTest(x=1): self.fail('inner')\n"
                          "class Broken(unittest.TestCase):\n"
                          "    @classmethod\n"
                          "    def setUpClass(cls): raise RuntimeError('no way')\n"
                          "    def test_never(self): pass\n")
        code, out, err = self.run_tool(sys.executable, ROOT / "tests/integration/tap.py", module)
        self.assertEqual(code, 1)
        self.assertIn("ok 99 - noise", err)
        lines = [line for line in out.splitlines() if not line.startswith("#")]
        self.assertEqual(lines, ["TAP version 13", "not ok 1 - setUpClass (Broken)",
                                 "ok 2 - Sample.test_a", "not ok 3 - Sample.test_b",
                                 "ok 4 - Sample.test_c # SKIP userns: refused",
                                 "not ok 5 - Sample.test_d", "1..5"])
        self.assertIn("# AssertionError: 1 != 2", out)
        self.assertIn("# AssertionError: inner", out)

    def test_a_module_without_tests_is_a_failure(self):
        module = self.dir / "test_empty.py"
        module.write_text("import unittest\n")
        code, out, _ = self.run_tool(sys.executable, ROOT / "tests/integration/tap.py", module)
        self.assertEqual(code, 1)
        self.assertIn("Bail out!", out)


class Unit(House):
    def unit(self, script):
        program = self.program(self.dir / "test-sample", f"#!/bin/sh\n{script}\n")
        return self.run_tool(sys.executable, ROOT / "tests/unit.py", program)

    def test_the_skip_of_cmocka_is_a_skip(self):
        code, out, _ = self.unit("echo 1..1; echo 'not ok 1 # SKIP wants_landlock'")
        self.assertEqual(code, 0)
        self.assertEqual(out, "1..1\nok 1 - wants_landlock # SKIP wants_landlock\n")

    def test_77_before_the_plan_is_a_skip_with_its_reason(self):
        code, out, _ = self.unit("echo 'cgroup: not writable'; exit 77")
        self.assertEqual(code, 0)
        self.assertIn("1..0 # SKIP cgroup: not writable\n", out)

    def test_a_crash_is_a_failure(self):
        code, out, _ = self.unit("echo 1..2; echo 'ok 1 - fine'; kill -SEGV $$")
        self.assertEqual(code, 128 + 11)
        self.assertIn("SIGSEGV", out)

    def test_an_early_end_is_a_failure(self):
        self.assertEqual(self.unit("exit 0")[0], 1)


class RunTests(House):
    """tools/run-tests with a meson that only leaves its logs behind."""

    def count(self, tests, code=0, **variables):
        logs = self.dir / "build" / "meson-logs"
        info = self.dir / "build" / "meson-info"
        logs.mkdir(parents=True)
        info.mkdir()
        (self.dir / "build" / "build.ninja").write_text("")
        (info / "intro-buildoptions.json").write_text('[{"name": "b_sanitize", "value": "none"}]')
        suites, entries = "", ""
        for name, result, returncode, cases in tests:
            entries += json.dumps({"name": f"nacre:unit / {name}", "result": result, "stdout": "",
                                   "returncode": returncode}) + "\n"
            body = "".join(f'<testcase name="1 - {case}" classname="nacre.nacre:unit / {name}">{state}'
                           "</testcase>" for case, state in cases)
            suites += f"<testsuite>{body}</testsuite>" if cases else ""
        (self.dir / "json").write_text(entries)
        (self.dir / "xml").write_text(f"<testsuites>{suites}</testsuites>")
        self.program(self.bin / "meson", "#!/bin/sh\ncp json build/meson-logs/testlog.json\n"
                     f"cp xml build/meson-logs/testlog.junit.xml\nexit {code}\n")
        code, out, _ = self.run_tool(sys.executable, ROOT / "tools/run-tests", "build", **variables)
        return code, out.splitlines()[-1], out

    def test_cases_are_counted(self):
        code, last, _ = self.count([("a", "OK", 0, [("x", ""), ("y", "<skipped/>")]),
                                    ("b", "OK", 0, [("z", "")])])
        self.assertEqual((code, last), (0, "2 passed, 0 failed, 1 skipped"))

    def test_a_failed_case_is_named(self):
        code, last, out = self.count([("a", "FAIL", 1, [("x", ""), ("y", "<failure/>")])], code=1)
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))
        self.assertIn("FAILED: build: a: y\n", out)

    def test_a_program_that_dies_after_good_cases_has_failed(self):
        code, last, _ = self.count([("a", "ERROR", 139, [("x", "")])], code=1)
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.count([])[:2], (1, "0 passed, 0 failed"))

    def test_an_unexplained_failure_of_meson_is_a_failure(self):
        code, last, _ = self.count([("a", "OK", 0, [("x", "")])], code=3)
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))

    def test_a_skip_of_a_demanded_feature_is_a_failure(self):
        skip = "<skipped/><system-out>userns: refused</system-out>"
        code, last, _ = self.count([("a", "OK", 0, [("x", ""), ("y", skip)])],
                                   NACRE_TEST_MUST="landlock,userns")
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))


class Rooms(House):
    def check(self, files, symbols="file process/child.c\n_exit\n"):
        tree = self.dir / "tree"
        shutil.copytree(ROOT / "tools", tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        (tree / "tests/data").mkdir(parents=True)
        (tree / "tests/data/child-symbols.txt").write_text(symbols)
        rooms = {"src/meson.build": "rooms = ['base', 'json', 'process']\n", "src/base/a.h": ""}
        objects = self.dir / "objects"
        objects.mkdir()
        for name, text in {**rooms, **files}.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if name.endswith(".c"):
                subprocess.run(["cc", "-I", tree / "src", "-c", path, "-o",
                                objects / f"{name.replace('/', '_')}.o"], check=True, timeout=DEADLINE)
        return self.run_tool(sys.executable, tree / "tools/check-rooms", "--objects", objects)

    GOOD = {"src/json/a.c": '#include "base/a.h"\nint f(void) { return 0; }\n',
            "src/process/child.c": "#include <unistd.h>\nvoid g(void) { _exit(1); }\n"}

    def test_a_tidy_house_passes(self):
        self.assertEqual(self.check(self.GOOD), (0, "", ""))

    def test_an_upward_include_is_seen(self):
        code, out, _ = self.check({**self.GOOD, "src/json/b.h": "",
                                   "src/base/b.c": '\n#include "json/b.h"\n'})
        self.assertEqual((code, out), (1, "src/base/b.c:2: room 'base' stands below room 'json'\n"))

    def test_an_open_in_a_hostile_room_is_seen(self):
        code, out, _ = self.check({**self.GOOD, "src/json/b.c": "#include <fcntl.h>\n"
                                   'int h(void) { return open("/", O_RDONLY); }\n'})
        self.assertEqual(code, 1)
        self.assertRegex(out, r"src/json/b.c: room 'json' must not call open\(\)")

    def test_a_socket_in_a_reader_of_the_gateway_is_seen(self):
        code, out, _ = self.check({**self.GOOD, "src/meson.build": "rooms = ['base', 'json', 'process', 'gateway']\n",
                                   "src/gateway/dns.c": "#include <sys/socket.h>\n"
                                   "int d(void) { return socket(AF_INET, SOCK_STREAM, 0); }\n",
                                   "src/gateway/serve.c": "#include <sys/socket.h>\n"
                                   "int s(void) { return socket(AF_INET, SOCK_STREAM, 0); }\n"})
        self.assertEqual(code, 1)
        self.assertIn("src/gateway/dns.c reads what a box sends and must not call socket()", out)
        self.assertIn("src/gateway/fit.c: no object", out)  # a reader that was moved is not forgotten
        self.assertNotIn("serve.c", out)

    def test_a_malloc_between_fork_and_exec_is_seen(self):
        code, out, _ = self.check({**self.GOOD, "src/process/child.c":
                                   "#include <stdlib.h>\nvoid *g(void) { return malloc(9); }\n"})
        self.assertEqual(code, 1)
        self.assertIn("src/process/child.c: malloc is not on the list", out)


class Setup(House):
    """tools/setup with programs that only write down how they were called."""

    def setUp(self):
        super().setUp()
        self.calls = self.dir / "calls"
        self.calls.write_text("")

    def fake(self, name, script):
        self.program(self.bin / name, f'#!/bin/sh\necho "{name} $*" >>"{self.calls}"\n{script}\n')

    def setup(self, *sets):
        return self.run_tool("/bin/sh", ROOT / "tools/setup", *sets)

    ALL = 'shift 3; for p; do printf "ii :%s " "$p"; done'
    SOME = 'shift 3; for p; do [ "$p" = meson ] || printf "ii :%s " "$p"; done; exit 1'

    def test_it_only_asks_once_when_all_is_there(self):
        self.fake("dpkg-query", self.ALL)
        self.fake("apt-get", "exit 1")
        self.assertEqual(self.setup("build", "test"), (0, "", ""))
        self.assertEqual(len(self.calls.read_text().splitlines()), 1)

    def test_root_installs_what_is_missing_and_nothing_else(self):
        self.fake("dpkg-query", self.SOME)
        self.fake("id", "echo 0")
        self.fake("apt-get", "")
        code, out, _ = self.setup()
        self.assertEqual((code, out), (0, ""))
        calls = [line for line in self.calls.read_text().splitlines() if line.startswith("apt-get")]
        self.assertEqual(len(calls), 2)
        self.assertTrue(calls[0].endswith(" update"))
        self.assertTrue(calls[1].endswith(" install -y --no-install-recommends meson"))

    def test_a_user_goes_through_sudo(self):
        self.fake("dpkg-query", self.SOME)
        self.fake("id", "echo 1000")
        self.fake("sudo", "")
        self.fake("apt-get", "exit 1")
        self.assertEqual(self.setup()[0], 0)
        calls = self.calls.read_text()
        self.assertRegex(calls, r"sudo -n env \S+ apt-get .* install -y --no-install-recommends meson\n")
        self.assertNotIn("\napt-get", calls)

    def test_without_a_way_to_install_it_says_what_to_type(self):
        self.fake("dpkg-query", self.SOME)
        self.fake("id", "echo 1000")
        self.fake("sudo", "exit 1")
        code, out, err = self.setup()
        self.assertEqual((code, out), (1, ""))
        self.assertIn("apt-get update && apt-get install -y --no-install-recommends meson\n", err)


class MakeRun(House):
    """`make run` with a nacre that prints its arguments."""

    def make(self, *words):
        tree = self.dir / "tree"
        tree.mkdir(exist_ok=True)
        shutil.copy(ROOT / "Makefile", tree)
        for name in ("tools/setup", "tools/configure"):
            self.program(tree / name, "#!/bin/sh\necho chatter >&2\n")
        self.program(self.bin / "ninja", "#!/bin/sh\necho chatter\n")
        self.program(tree / "build/nacre", '#!/bin/sh\nprintf "<%s>" "$@"\n')
        # MAKEFLAGS of the make that runs the tests must not reach this one.
        return self.run_tool("make", "-s", "--no-print-directory", "-C", tree, *words)

    def test_the_line_arrives_untouched_and_alone(self):
        line = "echo \"a  b\" 'c' $HOME $$ $(shell touch pwned) `id` \\ # ; é\necho 2"
        code, out, _ = self.make("run", f"CMD={line}")
        self.assertEqual((code, out), (0, f"<run><-c><{line}>"))
        self.assertFalse(list(self.dir.rglob("pwned")))

    def test_without_a_line_it_says_how(self):
        code, out, err = self.make("run")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("usage: make run CMD=", err)


if __name__ == "__main__":
    unittest.main()
