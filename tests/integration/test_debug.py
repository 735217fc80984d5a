"""Debuggers in the box: they reach the command's own processes, and nothing else (sandbox.debug).

What a tracer must not reach is among the attempts of tests/escape/tracing.c.
"""
import json
import shutil
import subprocess
import unittest

from helpers import DEADLINE, NacreTest, ample
from box_tools import BoxTools, needs

PROGRAM = """#include <stdio.h>
int twice(int x) { return 2 * x; }
int main(void) { int y = twice(21); printf("%d\\n", y); return 0; }
"""
LEAK = "#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(7); p = 0; return 0; }\n"
READER = """
import ctypes, os, sys, time
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
libc = ctypes.CDLL(None, use_errno=True)
text = ctypes.create_string_buffer(b"before")
pid = os.fork()
if pid == 0:
    for _ in range(1000):
        if text.value != b"before":
            os._exit(7)
        time.sleep(0.01)
    os._exit(8)
def move(call, mine):
    here, there = iovec(ctypes.addressof(mine), len(mine)), iovec(ctypes.addressof(text), len(mine))
    return call(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
seen = ctypes.create_string_buffer(7)
print(move(libc.process_vm_readv, seen), seen.value.decode())
print(move(libc.process_vm_writev, ctypes.create_string_buffer(b"after!", 7)), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
# Its parent is the box's init, which does not trace it.
TRACED = "import ctypes, os, signal; ctypes.CDLL(None).ptrace(0, 0, 0, 0); "


class Debuggers(BoxTools):
    PROFILE = "bash"

    def build(self, text=PROGRAM, *options):
        needs("gcc")
        (self.work / "app.c").write_text(text)
        subprocess.run(["gcc", "-g", "-O0", *options, "-o", "app", "app.c"], cwd=self.work, check=True, timeout=DEADLINE)

    def test_gdb(self):
        needs("gdb")

        def check(options):
            self.build()
            shown = self.line("gdb -q -batch -ex 'break twice' -ex run -ex bt -ex 'print x' -ex 'set var x = 50' "
                              "-ex continue ./app 2>&1", options)
            for words in ("Breakpoint 1, twice (x=21)", "#1 ", "in main", "$1 = 21", "\n100\n", "exited normally"):
                self.assertIn(words, shown)
            shown = self.line("sleep 60 & gdb -q -batch -p $! -ex 'info registers' 2>&1; kill $!", options)
            self.assertRegex(shown, r"(rip|pc) +0x")
        self.every(check)

    def test_strace(self):
        needs("strace")

        def check(options):
            self.build()
            shown = self.line("strace -f -o trace -e trace=write sh -c ./app; cat trace; rm trace", options)
            self.assertIn('write(1, "42\\n", 3)', shown)
            self.assertIn("+++ exited with 0 +++", shown)
            self.assertIn("ppid", self.line("strace -e inject=getppid:retval=1 sh -c 'echo ppid $PPID' 2>&1", options))
        self.every(check)

    def test_ltrace(self):
        needs("ltrace")

        def check(options):
            self.build(PROGRAM, "-no-pie", "-z", "lazy")
            self.assertIn("printf", self.line("ltrace ./app 2>&1", options))
        self.every(check)

    def test_the_leak_sanitizer(self):
        def check(options):
            try:
                self.build(LEAK, "-fsanitize=address")
            except subprocess.CalledProcessError:
                self.skipTest("gcc has no address sanitizer")
            if "no" in self.line("ASAN_OPTIONS=detect_leaks=0 ./app >/dev/null 2>&1 || echo no", options):
                self.skipTest("the limit on a process leaves the sanitizer no room: there is no group for memory")
            self.assertIn("7 byte(s) leaked in 1 allocation(s)", self.line("./app 2>&1; test $? != 0", options))
        self.every(check)

    def test_the_memory_of_an_own_child(self):
        needs("python3")

        def check(options):
            (self.work / "reader.py").write_text(READER)
            self.assertEqual(self.line("python3 reader.py", options).split("\n")[:2], ["7 before", "7 7"])
        self.every(check)


class WhoTracesWhom(NacreTest):
    BOXED = True

    def result(self, code, *options, argv=("python3", "-c")):
        done = self.run_nacre("--json", *options, "--timeout", ample(10), "--", *argv, TRACED + code)
        return json.loads(done.out)

    def policy(self, sandbox):
        path = self.dir / "debug.yaml"
        path.write_text(f"profile: debug\ninherits: bash\nsandbox: {sandbox}\n")
        return "--policy", str(path)

    def expect_untraced(self, *options):
        """A command that wants init to trace it runs as if it had not asked."""
        result = self.result("os.kill(os.getpid(), signal.SIGWINCH); os.execvp('sh', ['sh', '-c', 'echo on; exit 5'])", *options)
        self.assertEqual((result["stdout"], result["exit_code"], result["timed_out"]), ("on\n", 5, False), result)
        result = self.result("print('here', flush=True); os.kill(os.getpid(), signal.SIGTERM)", *options)
        self.assertEqual((result["stdout"], result["signal"]), ("here\n", "SIGTERM"), result)

    def test_init_traces_nobody(self):
        self.expect_untraced("--profile", "bash")

    def test_neither_where_there_is_no_sandbox(self):
        self.expect_untraced(*self.policy("{mode: none}"))

    def test_a_tracer_that_is_left_ends_with_the_command(self):
        needs("strace")
        self.write_config("bash.yaml", "profile: bash\nroom: {leftover: end}\n")
        result = self.run_json("--profile", "bash", "--timeout", ample(20), "-c",
                               "sleep 1000 & strace -o /dev/null -p $! & sleep 0.5; echo done")
        self.assertEqual((result["stdout"], result["exit_code"]), ("done\n", 0), result)

    def test_a_traced_command_is_killed_in_time(self):
        needs("strace")
        result = self.run_json("--profile", "bash", "--timeout", "1s", "-c", "strace -f -o /dev/null sh -c 'sleep 61; true'")
        self.assertTrue(result["timed_out"], result)

    def test_without_namespaces_or_without_the_key_there_is_none(self):
        needs("strace")
        for sandbox in ("{mode: landlock}", "{debug: false}", "{workspace_exec: false}"):
            result = self.run_json(*self.policy(sandbox), "-c", "strace true")
            self.assertNotEqual(result["exit_code"], 0, result)
            self.assertIn("sandbox.debug: true", " ".join(result["notices"]))
        shown = self.run_json("--profile", "universal", "-c", "strace true")
        self.assertNotEqual(shown["exit_code"], 0, shown)

    def test_a_project_can_only_turn_it_off(self):
        needs("strace")
        (self.work / ".nacre.yaml").write_text("profile: bash\nsandbox: {debug: false}\n")
        self.assertNotEqual(self.run_json("--profile", "bash", "-c", "strace true")["exit_code"], 0)
        (self.work / ".nacre.yaml").write_text("profile: universal\nsandbox: {debug: true}\n")
        done = self.run_nacre("--profile", "universal", "-c", "true")
        self.assertNotEqual(done.code, 0)
        self.assertIn("sandbox.debug", done.err.decode() if isinstance(done.err, bytes) else done.err)


del BoxTools, NacreTest

if __name__ == "__main__":
    unittest.main()
