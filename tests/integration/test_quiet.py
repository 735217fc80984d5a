"""Commands without output: the idle limit, what they wait for, and who was there at the end."""
import fcntl
import json
import os
import re
import shutil
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, wait_until

# Each prints when it comes to the point: how long it takes to get there is not counted as silence.
NETWORK = """
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(1)
c = socket.create_connection(s.getsockname()); print(flush=True); c.%s
"""


STARVED = re.compile(r"|busy: \S+ has used 0\.0 s of processor time")


class QuietTest(NacreTest):
    MODE = "none"

    def setUp(self):
        super().setUp()
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: {self.MODE}}}\n")
        self.options = {}

    def silent_input(self):
        """The read end of a pipe into which nobody writes."""
        read, write = os.pipe()
        self.addCleanup(os.close, write)
        self.addCleanup(os.close, read)
        return read

    def why(self, *args, limit="600ms", **options):
        """What a command was doing when it had been quiet for too long. One that had no processor until then gets more
        time: that it wants one is all that can be said of it."""
        for each in (limit, "4s", "20s"):
            result = self.run_json("--idle-timeout", each, *args, **{**self.options, **options})
            if self.MODE == "landlock" and result["exit_code"] == 125:
                self.skipTest(f"landlock: {result['reason']}")
            self.assertEqual((result["exit_code"], result["timed_out"]), (124, True), result)
            start = f"timed out after {each} without output"
            self.assertTrue(result["reason"].startswith(start), result["reason"])
            said = result["reason"].removeprefix(start).removeprefix(", ")
            if not STARVED.fullmatch(said):
                break
        return said

    def expect_all(self):
        work = self.work
        self.assertEqual(self.why("--stdin", "-c", "echo; cat", stdin=self.silent_input()),
                         "waiting for input on standard input: cat reads it, and nobody writes")
        self.assertEqual(self.why("--stdin", "-c", "echo; read -p 'name? ' x", stdin=self.silent_input()),
                         "waiting for input on standard input: bash reads it, and nobody writes")
        self.assertEqual(self.why("--stdin", "--", "python3", "-c", "print(flush=True); input()",
                                  stdin=self.silent_input()),
                         "waiting for input on standard input: python3 reads it, and nobody writes")
        self.assertEqual(self.why("-c", "flock lock sleep 1000 & until ! flock -n lock true; do :; done; "
                                        "echo; flock lock true"),
                         f"waiting for a lock: flock wants {work}/lock, held by flock")
        if self.MODE != "landlock":  # where a box without a network cannot have a loopback of its own
            self.assertRegex(self.why("--", "python3", "-c", NETWORK % "recv(1)"),
                             r"^waiting for the network: python3 has no answer from 127\.0\.0\.1:[0-9]+$")
            self.assertRegex(self.why("--", "python3", "-c", NETWORK % "close(); s.accept(); s.accept()"),
                             r"^waiting for the network: python3 waits for somebody to connect to 127")
        self.assertRegex(self.why("-c", "echo; while :; do :; done"),
                         r"^busy: bash has used [0-9.]+ s of processor time$")
        self.assertEqual(self.why("--", "sleep", "1000"), "sleeping: sleep")
        # A pipeline waits for its first command, not for input.
        self.assertEqual(self.why("-c", "echo; sleep 1000 | cat"), "sleeping: sleep")


class Bare(QuietTest):
    def test_what_a_quiet_command_waits_for(self):
        self.expect_all()

    def test_a_lock_that_a_stranger_holds_is_not_named(self):
        with open(self.work / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertEqual(self.why("--", "flock", "lock", "true"),
                             f"waiting for a lock: flock wants {self.work}/lock, held by another program")

    def test_names_are_made_fit_to_be_shown(self):
        script = ("open('/proc/self/comm', 'w').write(chr(27) + '[31m x) R'); import time; "
                  "print(flush=True); time.sleep(1000)")
        self.assertEqual(self.why("--", "python3", "-c", script), "sleeping: ?[31m x) R")

    def test_the_time_limit_says_it_too(self):
        limits, results = ["1s", "8s", "30s"], []
        self.in_time(lambda: "sleeping" in results[-1]["reason"], lambda limit: results.append(
            self.run_json("--timeout", limit, "-c", "echo x; sleep 1000")), limits)
        self.assertEqual(results[-1]["reason"], f"timed out after {limits[len(results) - 1]}, sleeping: sleep")
        result = self.run_json("--timeout", "1s", "-c", "while :; do echo; done")
        self.assertEqual(result["reason"], "timed out after 1s")


class Boxed(QuietTest):
    MODE = "strict"

    def test_what_a_quiet_command_waits_for(self):
        self.expect_all()

    def test_in_a_warm_box(self):
        nacre = self.start("--batch", "--jobs", "1", stdin=subprocess.PIPE)
        for i in range(4):
            for line, words in (("echo; sleep 1000; true", "sleeping: sleep"),
                                ("echo; while :; do :; done", "busy: bash")):
                for limit in (400 + i, 4000, 20000):
                    nacre.stdin.write(json.dumps({"command": line, "idle_timeout_ms": limit}).encode() + b"\n")
                    nacre.stdin.flush()
                    reason = json.loads(nacre.stdout.readline())["result"]["reason"]
                    if not STARVED.fullmatch(reason.partition(" without output")[2].removeprefix(", ")):
                        break
                self.assertIn(f" without output, {words}", reason)
        nacre.stdin.close()
        self.assertEqual(nacre.wait(DEADLINE), 0)


class BehindLandlock(QuietTest):
    MODE = "landlock"

    def test_what_a_quiet_command_waits_for(self):
        self.expect_all()


class AsAUser(QuietTest):
    MODE = "strict"

    def setUp(self):
        super().setUp()
        self.options = self.as_ordinary_user()

    def test_what_a_quiet_command_waits_for(self):
        self.expect_all()


class Terminal(QuietTest):
    MODE = "strict"

    def program(self, name):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")

    def test_a_prompt_on_the_terminal(self):
        self.program("ssh-keygen")
        self.assertEqual(self.why("--pty", "--", "ssh-keygen", "-q", "-t", "ed25519", "-f", "key", limit="1s"),
                         "waiting for input on the terminal: ssh-keygen")
        self.assertEqual(self.why("--pty", "--", "cat"), "waiting for input on the terminal: cat")

    def test_git_that_runs_an_editor(self):
        self.program("git")
        script = self.work / "ed"
        script.write_text("#!/bin/bash\necho\nread x\n")
        script.chmod(0o755)
        line = ("cd repo 2>/dev/null || { git init -q repo && cd repo && touch x && git add x; }; "
                "git -c user.name=n -c user.email=e -c core.editor=../ed commit")
        words = "git is running an editor (ed); set GIT_EDITOR=true or "
        self.assertEqual(self.why("--pty", "-c", line, limit="2s"),
                         f"waiting for input on the terminal: {words}type into it (nacre input)")
        self.assertEqual(self.why("--stdin", "--env", "TERM=vt100", "-c", line, limit="2s",
                                  stdin=self.silent_input()),
                         f"waiting for input on standard input: {words}use pty")


class Idle(QuietTest):
    def test_output_puts_it_off(self):
        result = self.run_json("--idle-timeout", "3s", "-c",
                               "for i in {1..7}; do sleep 0.5; echo $i >&$((i % 2 + 1)); done")
        self.assertEqual((result["exit_code"], result["reason"]), (0, None))
        self.assertGreater(result["duration_ms"], 3400)

    def test_the_whole_tree_is_ended(self):
        result = self.run_json("--idle-timeout", "300ms", "--grace", "200ms", "-c",
                               "trap '' TERM; sleep 1000 & sleep 1000 & echo; wait; wait; sleep 1000")
        self.assertEqual((result["exit_code"], result["signal"]), (124, "SIGKILL"))
        self.assertIn("sleep", result["processes"]["killed"])

    def test_the_profile_sets_it_and_a_request_can_only_lower_it(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\ntimeout: {idle: 700ms}\n")
        result = self.run_json("-c", "echo; sleep 1000")
        self.assertEqual(result["reason"], "timed out after 700ms without output, sleeping: sleep")
        result = self.run_json("--idle-timeout", "10m", "-c", "echo; sleep 1000")
        self.assertEqual(result["reason"], "timed out after 700ms without output, sleeping: sleep")
        result = self.run_json("--idle-timeout", "400ms", "-c", "echo; sleep 1000")
        self.assertEqual(result["reason"], "timed out after 400ms without output, sleeping: sleep")

    def test_a_task_says_why_it_is_quiet(self):
        done = self.run_nacre("--background", "--json", "-c", "sleep 1000; true")
        task = json.loads(done.out)["task_id"]
        quiet = self.tasks / task / "quiet"
        wait_until("the task is looked at", lambda: quiet.exists() and quiet.read_text() == "sleeping: sleep")
        done = subprocess.run([NACRE, "stop", task], env=self.env, cwd=self.work,
                              capture_output=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done)
        wait_until("the task ended", lambda: (self.tasks / task / "state.json").exists())
        self.assertFalse(quiet.exists())


class Census(QuietTest):
    MODE = "strict"

    def test_how_many_there_were(self):
        self.assertEqual(self.run_json("--", "true")["processes"], {"total": 1, "ended": [], "killed": []})
        line = "for i in {1..20}; do (exit 0); done; { { /bin/true & } & } ; wait; exit 3"
        self.assertEqual(self.run_json("-c", line)["processes"]["total"], 23)

    def test_who_had_to_be_ended(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {leftover: end}\n")
        line = ("setsid sleep 1000 & a=$!; (trap '' TERM; exec setsid tail -f /dev/null) & b=$!; "
                "until [ \"$(cat /proc/$a/comm /proc/$b/comm)\" = $'sleep\\ntail' ]; do :; done; exit 0")
        result = self.run_json("-c", line)
        self.assertEqual(result["exit_code"], 0)
        self.assertEqual(sorted(set(result["processes"]["ended"]) - {"bash"}), ["sleep", "tail"])
        self.assertEqual((result["killed"], result["processes"]["killed"]), (1, ["tail"]), result)

    def test_without_a_namespace_those_that_became_orphans_are_counted(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\n")
        self.assertEqual(self.run_json("--", "true")["processes"], {"total": 1, "ended": [], "killed": []})


if __name__ == "__main__":
    unittest.main()
