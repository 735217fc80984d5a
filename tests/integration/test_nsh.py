"""nsh in the place of bash: words, streams, exit codes and signals, side by side with bash where both can be run."""
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import unittest

from helpers import DEADLINE, descendants, wait_until
from shells import SIGNALS, ShellTest

NUMBER = re.compile(rb"(?<=: ) *[0-9]+(?= Aborted)")  # of a process; bash pads it
SCRIPT = """echo "$0: $# $1"
cd sub
pwd | sed 's,.*/,,'
exit 5
"""


class Words(ShellTest):
    """What the options mean, as bash reads them."""

    LINES = [
        ["-c", "echo hi; exit 3"],
        ["-lc", "echo hi"],
        ["-c", "-l", "echo hi"],
        ["-l", "-c", "echo hi"],
        ["--norc", "--noprofile", "-c", "echo hi"],
        ["--noprofile", "--norc", "-lc", "echo hi"],
        ["-norc", "-c", "echo hi"],
        ["-c", "echo $0 $1 $2 $#", "name", "one", "two words"],
        ["-c", "echo $0 \"$@\"", "a", "b", "*"],
        ["-c", "printf '<%s>' \"$@\"", "x", "", "$(touch no)", "a'b"],
        ["-c", "--", "echo after"],
        ["-c", "-", "echo after"],
        ["-ec", "false; echo no"],
        ["-e", "-c", "false; echo no"],
        ["+e", "-c", "false; echo yes"],
        ["-uc", "echo $missing; echo no"],
        ["-o", "pipefail", "-c", "false | true; echo $?"],
        ["-euo", "pipefail", "-c", "false | true; echo no"],
        ["-eu", "-o", "pipefail", "-c", "false | true; echo no"],
        ["-O", "nullglob", "-c", "echo no*such"],
        ["+O", "sourcepath", "-c", "shopt sourcepath"],
        ["-f", "-c", "echo *"],
        ["-C", "-c", "echo x > exists; echo $?"],
        ["-x", "-c", "echo traced"],
        ["-c", "true"],
        ["-c", "false"],
        ["-c", ""],
        ["-c", ":"],
        ["-c", "exit 256"],
        ["-c", "exit -1"],
        ["-c", "nosuchcommand"],
        ["-c", "./exists"],
        ["-c", "cd nowhere"],
        ["-c", "echo out; echo err >&2; (exit 7)"],
        ["-c", "x=1; export x; echo $x | cat; [[ a == a ]] && echo yes"],
        ["-c", "cat <<E\nhere $((1+2))\nE"],
        ["-c", "f() { echo \"$FUNCNAME $1\"; }; f a"],
        ["-c", "a=(1 2 3); echo ${#a[@]} ${a[-1]}"],
        ["-c", "set -- p q; echo $2; shift; echo $1"],
        ["-c", "echo $((6*7)); echo {a,b}{1,2}; echo ~+ | sed 's,.*/,,'"],
        ["-c", "trap 'echo bye' EXIT; echo hi"],
        ["-c", "kill -TERM $$"],
        ["-c", "kill -KILL $$"],
        ["-c", "sh -c 'kill -ABRT $$'; echo $?"],
        ["-c", "echo $LINENO\necho $LINENO\nnosuchcommand"],
        ["-c", "read x; echo \"<$x>\""],
        ["script"],
        ["script", "one", "two"],
        ["./script", "one"],
        ["-e", "script"],
        ["nowhere"],
        ["--badoption"],
        ["-c"],
        ["-Z"],
        ["-o", "nosuch", "-c", "echo hi"],
    ]

    def setUp(self):
        super().setUp()
        (self.work / "sub").mkdir()
        (self.work / "exists").write_text("there\n")
        (self.work / "script").write_text(SCRIPT)
        for path in (self.work, self.work / "sub", self.work / "exists", self.work / "script"):
            os.chmod(path, 0o777 if path.is_dir() else 0o644)

    # What bash says of its own words is not for agents to parse; that it failed is.
    OWN_WORDS = {("--badoption",), ("-c",), ("-Z",), ("-o", "nosuch", "-c", "echo hi")}

    def test_every_form_comes_out_as_in_bash(self):
        for argv in self.LINES:
            with self.subTest(argv=argv):
                if tuple(argv) in self.OWN_WORDS:
                    self.assertIn(self.sh(*argv).code, (1, 2))
                    continue
                want, have = self.as_of_bash(self.bash(*argv)), self.sh(*argv)
                self.assertEqual(have[:2], want[:2], (argv, have, want))
                if argv[0] != "-x" and "set -" not in str(argv):
                    self.assertEqual(NUMBER.sub(b"N", have.err), NUMBER.sub(b"N", want.err), argv)
                if (self.work / "exists").read_text() != "there\n":
                    self.fail(f"{argv} has written")

    def test_what_the_analysis_cannot_read_is_refused(self):
        self.expect_refused(self.sh("-O", "extglob", "-c", "echo !(sub|script)"), "extended pattern")
        self.expect_refused(self.sh("-c", "echo before; if"), "bash refuses this line", code=2)

    def test_a_script_comes_on_standard_input(self):
        for argv, text in [([], b"echo one\necho two; exit 4\n"), (["-s", "a", "b"], b"echo $1 $2\n"),
                           (["-s"], b"echo no newline"), (["-e"], b"false\necho no\n"), ([], b"")]:
            with self.subTest(argv=argv, text=text):
                want, have = self.bash(*argv, input=text), self.sh(*argv, input=text)
                self.assertEqual(have[:3], self.as_of_bash(want)[:3])

    def test_a_script_on_standard_input_is_judged(self):
        self.expect_refused(self.sh(input=b"echo first\nrm -rf /\n"), "danger", "Recursive delete")

    def test_a_line_stands_alone(self):
        self.assertEqual(self.sh("echo a lone line").out, b"a lone line\n")
        self.assertEqual(self.sh("echo one; exit 3").code, 3)

    def test_a_file_with_such_a_name_is_a_script(self):
        (self.work / "a script").write_text("echo from the file\n")
        self.assertEqual(self.sh("a script").out, b"from the file\n")

    def test_the_version_is_that_of_bash(self):
        self.assertEqual(self.sh("--version").out, self.bash("--version").out)

    def test_help_tells_of_the_variables(self):
        self.assertIn(b"NACRE_PROFILE", self.sh("--help").out)

    def test_both_names_are_the_shell(self):
        done = self.sh("-c", "echo yes", shell=str(pathlib.Path(self.nsh).with_name("nsh-bash")))
        self.assertEqual((done.code, done.out), (0, b"yes\n"))


class Streams(ShellTest):
    def test_every_byte_comes_as_it_was_written(self):
        data = os.urandom(300000) + b"\0\xff\x1b[31m\r\n" + bytes(range(256))
        (self.work / "data").write_bytes(data)
        os.chmod(self.work / "data", 0o644)
        self.assertEqual(self.line("cat data").out, data)
        self.assertEqual(self.line("cat data >&2").err, data)

    def test_nothing_is_cut(self):
        done = self.line("head -c 3000000 /dev/zero | tr '\\0' x; seq 1 100000")
        self.assertEqual(len(done.out), 3000000 + sum(len(str(n)) + 1 for n in range(1, 100001)))

    def test_one_file_for_both_has_one_order(self):
        text = "for i in $(seq 1 500); do echo o$i; echo e$i >&2; done"
        want = b"".join(b"o%d\ne%d\n" % (n, n) for n in range(1, 501))
        self.assertEqual(self.line(text, stderr=subprocess.STDOUT).out, want)
        with open(self.dir / "both", "wb") as file:
            self.line(text, stdout=file, stderr=file)
        self.assertEqual((self.dir / "both").read_bytes(), want)
        with open(self.dir / "twice", "ab") as one, open(self.dir / "twice", "ab") as other:
            self.line(text, stdout=one, stderr=other)
        self.assertEqual((self.dir / "twice").read_bytes(), want)

    def test_two_files_are_two(self):
        with open(self.dir / "one", "wb") as one, open(self.dir / "two", "wb") as two:
            self.line("echo out; echo err >&2", stdout=one, stderr=two)
        self.assertEqual((self.dir / "one").read_bytes(), b"out\n")
        self.assertEqual((self.dir / "two").read_bytes(), b"err\n")

    def test_output_comes_while_the_command_runs(self):
        popen = self.open("-c", "echo first; read x; echo got $x", stdin=subprocess.PIPE)
        self.assertEqual(popen.stdout.readline(), b"first\n")
        popen.stdin.write(b"word\n")
        popen.stdin.flush()
        self.assertEqual(popen.stdout.readline(), b"got word\n")
        self.assertEqual(popen.wait(2 * DEADLINE), 0)

    def test_a_prompt_without_a_newline_comes_at_once(self):
        popen = self.open("-c", "printf 'name? '; read x; echo", stdin=subprocess.PIPE)
        self.assertEqual(os.read(popen.stdout.fileno(), 100), b"name? ")
        popen.stdin.close()
        self.assertEqual(popen.wait(2 * DEADLINE), 0)

    def test_a_reader_who_is_gone_ends_the_writer(self):
        popen = self.open("-c", "yes; echo $? >&2")
        popen.stdout.read(10)
        popen.stdout.close()
        self.assertEqual(popen.stderr.read(), b"141\n")
        self.assertEqual(popen.wait(2 * DEADLINE), 0)

    def test_a_reader_who_sleeps_loses_nothing(self):
        popen = self.open("-c", "seq 1 200000")
        wait_until("the pipe is full and the command has ended or waits",
                   lambda: select.select([popen.stdout], [], [], 0)[0])
        out = popen.stdout.read()
        self.assertEqual(out, b"".join(b"%d\n" % n for n in range(1, 200001)))
        self.assertEqual(popen.wait(2 * DEADLINE), 0)

    def test_output_into_a_closed_descriptor(self):
        done = subprocess.run(["bash", "-c", f"{self.nsh} -c 'echo lost' >&-; echo $?"], env=self.env, cwd=self.work,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        self.assertNotIn(b"lost", done.stdout)

    def test_standard_input_is_as_it_is(self):
        self.assertEqual(self.line("cat", input=b"from a pipe").out, b"from a pipe")
        (self.dir / "input").write_bytes(b"from a file\nsecond\n")
        with open(self.dir / "input", "rb") as file:
            self.assertEqual(self.line("read a; echo $a; cat", stdin=file).out, b"from a file\nsecond\n")
        self.assertEqual(self.line("cat; echo end").out, b"end\n")  # /dev/null

    def test_standard_input_can_be_a_socket(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            popen = self.open("-c", "read x; echo $x", stdin=theirs)
            theirs.close()
            ours.sendall(b"by a socket\n")
            self.assertEqual(popen.communicate(timeout=2 * DEADLINE)[0], b"by a socket\n")

    def test_an_open_socket_that_says_nothing_holds_nothing_up(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self.assertEqual(self.line("echo done", stdin=theirs).out, b"done\n")


class Ends(ShellTest):
    def start_sleeper(self, text):
        popen = self.open("-c", text)
        self.assertEqual(popen.stdout.readline(), b"up\n")
        return popen

    def test_it_dies_by_the_signal_that_it_is_sent(self):
        for number in SIGNALS:
            with self.subTest(number=number):
                popen = self.start_sleeper("echo up; sleep 1000; echo no")
                popen.send_signal(number)
                out, err = popen.communicate(timeout=2 * DEADLINE)
                self.assertEqual((popen.returncode, out, err), (-number, b"", b""))

    def test_a_trap_has_its_way(self):
        popen = self.start_sleeper("trap 'echo bye; exit 3' TERM; echo up; sleep 1000 & wait")
        popen.terminate()
        self.assertEqual((popen.communicate(timeout=2 * DEADLINE)[0], popen.returncode), (b"bye\n", 3))

    def test_nothing_is_left_by_a_stop(self):
        popen = self.start_sleeper("(setsid sleep 1001 &) ; sleep 1002 & echo up; wait")
        popen.terminate()
        popen.communicate(timeout=2 * DEADLINE)
        wait_until("the sleepers are gone", lambda: not [p for p in descendants() if p.name == "sleep"])

    def test_nothing_is_left_by_a_kill(self):
        popen = self.start_sleeper("trap '' TERM; (setsid sleep 1001 &) ; echo up; sleep 1002")
        popen.kill()
        popen.communicate(timeout=2 * DEADLINE)
        wait_until("the sleepers are gone", lambda: not [p for p in descendants() if p.name in ("sleep", "bash")])

    def test_a_stop_that_is_ignored_is_followed_by_a_kill(self):
        popen = self.start_sleeper("trap '' TERM; echo up; while :; do sleep 1; done")
        popen.terminate()
        popen.kill()  # as clients do a little later
        popen.communicate(timeout=2 * DEADLINE)
        wait_until("nothing of it lives", lambda: not [p for p in descendants() if p.name in ("sleep", "bash")])

    def test_what_it_leaves_running_goes_on_as_a_task(self):
        done = self.line("sleep 1003 > /dev/null 2>&1 & echo $!")
        self.assertEqual(done.code, 0)
        self.assertIn(b"nacre stop bash-", done.err)
        self.assertEqual(len([p for p in descendants() if p.name == "sleep"]), 1)

    def test_a_caller_does_not_wait_for_what_is_left(self):
        done = self.line("sleep 1004 & echo started")  # it has our pipe still
        self.assertEqual(done.out, b"started\n")

    def test_there_is_no_time_limit_but_the_clients(self):
        self.write_config("bash.yaml", "profile: bash\ntimeout: {default: 200ms, max: 300ms}\n")
        self.assertEqual(self.line("sleep 1; echo late").out, b"late\n")


class Surroundings(ShellTest):
    def test_the_directory_is_the_callers(self):
        (self.work / "deep").mkdir()
        self.assertEqual(self.line("pwd", cwd=self.work / "deep").out.decode().strip(), str(self.work / "deep"))

    def test_a_directory_outside_is_one_of_the_room(self):
        self.assertEqual(self.line("pwd").code, 0)
        done = self.line("pwd; ls >/dev/null", cwd="/usr/share")
        self.assertEqual((done.code, done.out), (0, b"/usr/share\n"), done)

    def test_a_call_leaves_no_directory_and_no_variable_behind(self):
        (self.work / "deep").mkdir()
        self.line("cd deep; export LEFT=1")
        done = self.line("pwd; echo <${LEFT-none}>".replace("<", "'<'").replace(">", "'>'"))
        self.assertEqual(done.out.decode().splitlines(), [str(self.work), "<none>"])

    def test_calls_of_a_session_share_their_files(self):
        self.line("echo shared > /tmp/file")
        self.assertEqual(self.line("cat /tmp/file").out, b"shared\n")
        self.assertNotEqual(self.line("cat /tmp/file", env={"NACRE_SESSION": "other"}).code, 0)

    def test_the_callers_variables_are_there_but_no_secrets(self):
        given = {"CLAUDECODE": "1", "NODE_ENV": "test", "MY_FLAG": "a b\nc", "EDITOR": "ed"}
        secret = {"GITHUB_TOKEN": "x1", "MY_API_KEY": "x2", "AWS_PROFILE": "x3", "DB_PASSWORD": "x4", "MYSECRET": "x5",
                  "SSH_AUTH_SOCK": "/x6", "SITE": "https://user:x7@host/", "PLAIN": "ghp_x8", "LD_PRELOAD": "/x9.so",
                  "BASH_ENV": "/x10", "NACRE_X": "x11", "npm_config__auth": "x12", "SHELL": self.nsh}
        out = self.line("env -0", env={**given, **secret}).out.decode().split("\0")
        for name, value in given.items():
            self.assertIn(f"{name}={value}", out)
        for name, value in secret.items():
            self.assertFalse([line for line in out if line.startswith(name + "=") and value in line], name)

    def test_a_profile_of_arguments_gets_no_variables(self):
        out = self.line("env", env={"NACRE_PROFILE": "readonly", "NODE_ENV": "test"}).out
        self.assertNotIn(b"NODE_ENV", out)

    def test_the_shell_inside_is_bash(self):
        """nsh in a box is plain bash: there is no second box, and nothing to judge."""
        shutil.copy(os.path.realpath(self.nsh), self.work / "nsh")
        os.chmod(self.work / "nsh", 0o755)
        done = self.line("./nsh -c 'echo $((2+3)) $0; grep -c . /proc/1/comm' ; ./nsh -c 'exit 3'")
        self.assertEqual((done.code, done.out), (3, b"5 bash\n1\n"), done)

    def test_another_name_of_the_environment_does_not_unbox(self):
        done = self.line("echo $PPID; test -d /proc/1 && cat /proc/1/comm", env={"NACRE_INSIDE": "1"})
        self.assertIn(b"nacre-init", done.out)


class Interactive(ShellTest):
    def test_a_person_gets_a_prompt_and_job_control(self):
        import pty
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.work)
            os.execve(self.nsh, ["nsh"], {**self.env, "TERM": "xterm"})
        seen = bytearray()

        def read_until(what, words):
            def look():
                if select.select([fd], [], [], 0.01)[0]:
                    try:
                        seen.extend(os.read(fd, 4096))
                    except OSError:
                        return True
                return words in seen
            wait_until(f"{what}: {bytes(seen[-300:])}", look)
        try:
            read_until("a prompt", b"$ ")
            os.write(fd, b"echo $((20+22))\n")
            read_until("an answer", b"42\r\n")
            os.write(fd, b"sleep 1000 &\n")
            read_until("a job", b"[1]")
            os.write(fd, b"kill %1; wait; cat /proc/1/comm\n")
            read_until("a room", b"nacre-init")
            os.write(fd, b"exit 7\n")
            status = wait_until("its end", lambda: os.waitpid(pid, os.WNOHANG)[1] or None)
            self.assertEqual(os.waitstatus_to_exitcode(status), 7)
        finally:
            os.close(fd)


if __name__ == "__main__":
    unittest.main()
