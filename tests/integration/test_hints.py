"""Hints: when the sandbox is the likely cause of a failure, the result says so and names what changes it.

Each hint is earned by a real program, and has a control: the same words, or the same program, where the
sandbox is not the cause.
"""
import os
import shutil
import subprocess
import unittest

from helpers import DEADLINE, NacreTest
from mcp_client import Client
from serving import ServeTest

NETWORK = "The sandbox has no network (sandbox.network: none)"
LOOPBACK = "loopback network of its own (sandbox.network: none)"
ELSEWHERE = "/srv/nacre-test-elsewhere"  # nobody has it, and no hint tells that

LEAK = "#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(7); p = 0; return 0; }\n"


class Hints(NacreTest):
    BOXED = True
    MODE = "strict"

    def policy(self, sandbox="{}", more=""):
        path = self.dir / "hints.yaml"
        path.write_text(f"profile: hints\ninherits: bash\nsandbox: {sandbox}\nroom: {{leftover: end}}\n{more}")
        return "--policy", str(path)

    def notices(self, line, *options):
        options = options or self.policy(f"{{mode: {self.MODE}, network: none}}")
        result = self.run_json(*options, "-c", line)
        self.assertLessEqual(len(result["notices"]), 2, result)
        return result["notices"]

    def expect(self, words, line, *options):
        [notice] = self.notices(line, *options)
        self.assertIn(words, notice)

    def expect_none(self, line, *options):
        self.assertEqual(self.notices(line, *options), [])

    def say(self, words):
        return f"printf '%s\\n' \"{words}\" >&2; exit 1"


class BothTiers(Hints):
    def test_a_host_without_a_network(self):
        self.expect(NETWORK, "getent hosts nacre.invalid")
        self.expect(NETWORK, "python3 -c 'import socket; socket.create_connection((\"nacre.invalid\", 80))'")
        self.expect(NETWORK, self.say("curl: (6) Could not resolve host: nacre.invalid"))
        self.expect_none("getent passwd nacre-nobody")
        self.expect_none("getent hosts nacre.invalid || true")
        if self.MODE == "landlock":  # names, which only namespaces can serve
            self.expect("the names of sandbox.network need namespaces", "getent hosts nacre.invalid", *self.policy("{mode: landlock}"))
            self.expect_none("true", *self.policy("{mode: landlock}"))
        open_box = self.policy(f"{{mode: {self.MODE}, network: host}}")
        self.expect_none(self.say("curl: (6) Could not resolve host: nacre.invalid"), *open_box)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl_loud_and_silent(self):
        self.expect(NETWORK, "curl http://nacre.invalid/")
        self.expect(NETWORK, "curl -s http://nacre.invalid/")
        self.expect_none("curl -s file://$PWD/no-such-file")

    def test_a_path_outside_of_the_workspace(self):
        for line in (f"ls {ELSEWHERE}", f"cd {ELSEWHERE} && ls", f"cat <{ELSEWHERE}/x",
                     f"python3 -c 'open(\"{ELSEWHERE}/x\")'"):
            with self.subTest(line):
                self.expect(f"{ELSEWHERE}", line)
                self.expect("sandbox.readable", line)
        self.expect_none("ls no-such-file")
        self.expect_none("ls /usr/no-such-file $PWD/no-such-file")
        self.expect_none(f"ls {ELSEWHERE}; true")

    def test_a_secret_path(self):
        (self.dir / ".ssh").mkdir()
        (self.dir / ".ssh" / "id").write_text("key")
        self.expect("~/.ssh is hidden from commands (sandbox.secrets)", "cat ~/.ssh/id")
        self.expect_none("cat ~/.ssh/id; true")

    def test_a_place_that_cannot_be_written(self):
        self.expect("sandbox.writable", "touch /usr/nacre-test")
        self.expect_none("touch no-such-directory/x")

    def test_ptrace(self):
        lines = {"gdb": "gdb -batch -ex run -ex 'quit 1' /bin/true", "strace": "strace true"}
        here = [name for name in lines if shutil.which(name)]
        if not here:
            self.skipTest("neither gdb nor strace is installed")
        for name in here:
            with self.subTest(name):
                closed = self.policy(f"{{mode: {self.MODE}, debug: false}}")
                self.expect("refuses ptrace", lines[name], *closed)
                self.expect("sandbox.debug: true", lines[name], *closed)
                self.expect_none(f"{name} --no-such-option")

    @unittest.skipUnless(shutil.which("gcc"), "gcc is not installed")
    def test_leak_sanitizer(self):
        (self.work / "leak.c").write_text(LEAK)
        built = subprocess.run(["gcc", "-fsanitize=address", "-o", "leak", "leak.c"], cwd=self.work,
                               capture_output=True, text=True, timeout=DEADLINE, check=False)
        if built.returncode != 0:
            self.skipTest("gcc has no address sanitizer: " + built.stderr)
        if self.run_json("-c", "ASAN_OPTIONS=detect_leaks=0 ./leak")["exit_code"] != 0:
            self.skipTest("there is no group for memory here, and the limit of a process leaves the sanitizer no room")
        self.expect("ASAN_OPTIONS=detect_leaks=0", "./leak", *self.policy(f"{{mode: {self.MODE}, debug: false}}"))
        self.expect_none("ASAN_OPTIONS=detect_leaks=0 ./leak; exit 1")

    def test_privileges(self):
        self.expect("Run it without sudo", self.say("sudo: effective uid is not 0, is /usr/bin/sudo on a file system"))
        self.expect("Run it without sudo", self.say("sudo: The 'no new privileges' flag is set"))
        self.expect_none(self.say("sudo: command not found"))

    @unittest.skipUnless(shutil.which("sudo"), "sudo is not installed")
    def test_sudo_itself(self):
        self.expect("Run it without sudo", "sudo -n true")

    def test_open_files_and_file_size(self):
        limits = self.policy(f"{{mode: {self.MODE}, limits: {{open_files: 64, file: 1M}}}}")
        many = "python3 -c 'import os; [os.dup(0) for i in range(200)]'"
        self.expect("open files of a process (64)", many, *limits)
        self.expect("sandbox.limits.open_files", many, *limits)
        big = "python3 -c 'import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); open(\"x\", \"wb\").write(bytes(3 << 20))'"
        self.expect("sandbox.limits.file", big, *limits)
        self.expect("the limit on file size was reached (1.0 MiB)", "dd if=/dev/zero of=x bs=1M count=3", *limits)
        self.expect_none("dd if=/dev/zero of=x bs=64K count=3; exit 1", *limits)

    def test_processor_time(self):
        limits = self.policy(f"{{mode: {self.MODE}, limits: {{cpu: 1s}}}}")
        self.expect("sandbox.limits.cpu", "while :; do :; done", *limits)

    def test_a_time_limit(self):
        line = "sleep 60"
        self.expect("--timeout", line, "--timeout", "200ms")
        self.expect("--background", line, "--timeout", "200ms")
        self.expect("raise timeout.max", line, *self.policy(f"{{mode: {self.MODE}}}", "timeout: {default: 200ms, max: 200ms}\n"))
        self.expect("timeout.idle", line, "--idle-timeout", "200ms")
        self.expect_none("exit 124")

    def test_processes_that_were_left(self):
        self.expect("sleep was still running at the end", "sleep 60 & true")
        self.expect("--background", "sleep 60 & exit 1")
        self.expect_none("sleep 0.01 & wait")

    def test_output_only_chooses_among_facts(self):
        """Lies earn a useless hint, and no words of the output but a short plain path."""
        self.expect_none(self.say("Could not resolve host"), *self.policy("{mode: none}"))
        self.expect_none(self.say("/srv/\xe2\x80\xae/x: No such file or directory"))
        self.expect_none(self.say("/srv/" + "a" * 200 + ": No such file or directory"))
        [notice] = self.notices(r"printf '/srv/x\033[31m <b>obey</b>: No such file or directory\n'; exit 1")
        self.assertTrue(notice.startswith("/srv/x is outside"), notice)

    def test_at_most_two_on_the_terminal_and_after_the_output(self):
        done = self.run_nacre(*self.policy(), "-c", "echo x: Could not resolve host; echo ptrace: Operation not permitted; "
                                    "echo Too many open files; sleep 60 & exit 3")
        self.assertEqual((done.code, done.out.count(b"\n")), (3, 3))
        self.assertEqual(done.err.count(b"nacre: "), 2, done.err)
        self.assertIn(b"still running", done.err)


class Landlock(BothTiers):
    MODE = "landlock"

    def test_processes_that_were_left(self):
        self.expect("sleep was still running at the end", "sleep 60 & true")


class Namespaces(Hints):
    """What only this tier has."""

    def test_what_is_lost_with_the_command(self):
        (self.work / "sub").mkdir()
        self.expect("/tmp/kept was of this command alone and is gone with it. Write into the workspace", "echo a > /tmp/kept")
        self.expect("~/kept was of this command alone", "echo a >> ~/kept")
        self.expect_none("echo a > /tmp/kept; cat /tmp/kept")
        self.expect_none("echo a > sub/kept; ls /tmp")
        self.expect("The working directory is not kept for the next command. Name a session (--session ID)", "cd sub")
        self.expect_none("cd sub; ls")
        self.expect_none("cd sub", "--session", "s")
        self.expect_none("echo a > /tmp/kept", *self.policy("{writable: [/tmp]}"))

    def setUp(self):
        super().setUp()
        for words in (("init", "-q", "."), ("config", "user.name", "x"), ("config", "user.email", "x@y")):
            subprocess.run(["git", *words], cwd=self.work, env=self.env, check=True)

    def test_a_protected_path(self):
        for line, path in (("echo x >.git/config", ".git/config"),
                           ("echo x >.git/hooks/pre-commit", ".git/hooks"), ("mv .git x", ".git/"),
                           ("mkdir sub; cd sub; echo x >../.git/config", ".git/config"),
                           ("python3 -c 'open(\".git/config\", \"w\")'", ".git/config")):
            with self.subTest(line):
                self.expect(f"{path}", line)
                self.expect("sandbox.protected", line)
        self.expect_none("cat .git/no-such-file")
        for line in ("git config core.pager x", "git config core.pager x; true"):
            self.expect("is held until a person approves it: `nacre approve ap-", line)

    def test_the_way_that_a_hint_names_is_one(self):
        free = self.policy("{}", 'remove: ["sandbox.protected:.git/config"]\n')
        self.expect_none("git config core.pager x", *free)

    def test_a_server_of_the_host(self):
        line = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9))'"
        self.expect(LOOPBACK, line)
        self.expect("host.nacre:PORT", line, *self.policy())
        self.expect_none(line, *self.policy("{network: host}"))

    def test_a_hint_does_not_tell_what_is_there(self):
        """A path that exists on the host and one that does not earn the same words."""
        there, missing = "/var/log", "/var/nacre-test-missing"
        self.assertTrue(os.path.exists(there))
        [first], [second] = (self.notices(f"ls {path}") for path in (there, missing))
        self.assertEqual(first, second.replace(missing, there))

    def test_files_of_an_earlier_command(self):
        self.expect("a /tmp of its own", "cat /tmp/made-before")
        self.expect_none("echo x >/tmp/made-now; cat /tmp/made-now; exit 1")
        shown = self.dir / "shown"
        shown.mkdir()
        self.expect_none(f"cat {shown}/x", *self.policy(f"{{readable: [{shown}]}}"))

    def test_temporary_files(self):
        limits = self.policy("{limits: {tmp: 4M}}")
        self.expect("the limit on temporary files was reached (4.0 MiB)", "head -c 8M /dev/zero >/tmp/x", *limits)
        self.expect("sandbox.limits.tmp", "cp /dev/zero /tmp/x; s=$?; rm /tmp/x; exit $s", *limits)
        self.expect_none("head -c 1M /dev/zero >/tmp/x; exit 1", *limits)

    def test_processes(self):
        limits = self.policy("{limits: {processes: 20}}")
        line = "for i in $(seq 60); do sleep 60 & done 2>/dev/null; kill $(jobs -p); exit 1"
        notices = " ".join(self.notices(line, *limits))
        self.assertIn("(20)", notices)
        self.assertIn("sandbox.limits.processes", notices)

    def test_namespaces(self):
        self.expect("sandbox of its own", "unshare -r true")
        self.expect_none("unshare --no-such-option")

    def test_a_read_only_workspace(self):
        closed = self.policy("{workspace: readonly, workspace_exec: false}")
        (self.work / "tool").write_text("#!/bin/sh\nexit 0\n")
        (self.work / "tool").chmod(0o755)
        self.expect("sandbox.workspace: readonly", "touch ./x", *closed)
        self.expect("sandbox.workspace_exec: false", "./tool", *closed)
        self.expect_none("touch ./x; ./tool; exit 3")


class Mcp(NacreTest):
    BOXED = True

    def test_a_model_is_told(self):
        (self.work / ".nacre.yaml").write_text("sandbox: {network: none}\n")
        client = Client(self)
        client.initialize()
        text = client.text("Bash", {"command": "getent hosts nacre.invalid"})
        self.assertIn(NETWORK, text)
        self.assertNotIn(NETWORK, client.text("Bash", {"command": "exit 2"}))
        text = client.refusal("Bash", {"command": "sleep 60", "timeout": 200})
        self.assertIn("timeout.max", text)
        self.assertNotIn("--timeout", text)
        client.close()


class Http(ServeTest):
    BOXED = True

    def test_a_client_from_elsewhere_learns_no_path(self):
        answer = self.post("/v1/run", {"command": f"ls {ELSEWHERE}"})
        self.assertEqual(answer.json["notices"], [], answer)
        (self.work / ".nacre.yaml").write_text("sandbox: {network: none}\n")
        answer = self.post("/v1/run", {"command": "getent hosts nacre.invalid"})
        self.assertIn(NETWORK, " ".join(answer.json["notices"]))


if __name__ == "__main__":
    unittest.main()
