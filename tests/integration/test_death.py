"""Time and death: every command ends when it should, with all that it has started."""
import json
import os
import signal
import socket
import time
import unittest

from helpers import (DEADLINE, NacreTest, PYTHON, SLACK, ample, cmdline, descendants, limit_processes,
                     wait_until)

UNIQUE = 1_000_000 + os.getpid() * 10  # seconds to sleep: long, and no other test's
A, B, C = UNIQUE, UNIQUE + 1, UNIQUE + 2


def sleepers():
    """The processes of this test run that still sleep, wherever they hang in the tree."""
    want = {str(n).encode() for n in range(UNIQUE, UNIQUE + 10)}
    words = {pid: cmdline(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    return [pid for pid, line in words.items() if want & set(line) and line[0] == b"sleep"]


def tasks_of_the_system():
    with open("/proc/loadavg", encoding="ascii") as file:
        return int(file.read().split()[3].split("/")[1])


class TimeLimit(NacreTest):
    def test_a_double_setsid_daemon_does_not_survive(self):
        line = f'(setsid sh -c "setsid sleep {A} & setsid sleep {B}") & trap "" TERM; echo >ready; sleep {C}'
        ready = self.work / "ready"

        def attempt():
            ready.unlink(missing_ok=True)
            done = self.run_nacre("--timeout", "1s", "-c", line)
            self.assertEqual(sleepers(), [])
            self.assertEqual(done[:2], (124, b""))
            if not ready.exists():  # a busy machine: try again
                return float("inf")
            self.assertIn(b"nacre: timed out after 1s, sleeping: sleep\n", done.err)
            return done.seconds
        self.best_seconds(1 + 2 + SLACK, attempt)

    def test_endless_output_does_not_put_off_the_limit(self):
        def attempt():
            done = self.run_nacre("--json", "--timeout", "500ms", "--output-cap", "1M", "--", "yes")
            result = json.loads(done.out)
            self.assertEqual((done.code, result["timed_out"], result["truncated"]), (124, True, True))
            self.assertGreater(result["stdout_bytes"], 1 << 20)
            return done.seconds
        self.best_seconds(0.5 + SLACK, attempt)

    def script(self, line):
        """The line in a file: the policy would refuse to see a storm."""
        path = self.work / "storm"
        path.write_text(f"#!/bin/bash\n{line}\n")
        path.chmod(0o755)
        return "./storm"

    def storm(self, line):
        """Runs the line as an ordinary user whose processes are bounded twice. The kernel counts all
        processes of the user, so nacre's bound is what the system has plus the command's share."""
        user = self.as_ordinary_user()
        before = tasks_of_the_system()
        began = time.monotonic()
        nacre = self.start("--json", "--timeout", "2s", "--grace", "200ms", "--max-processes", "60",
                           "-c", self.script(line), preexec_fn=limit_processes(before + 600), **user)
        most = 0
        while nacre.poll() is None and time.monotonic() < began + 60:
            most = max(most, sum(p.name in ("storm", "sleep") for p in descendants()))
        done = self.finish(nacre)
        self.assertEqual(sleepers(), [])
        result = json.loads(done.out)
        self.assertEqual((done.code, result["timed_out"]), (124, True), result)
        self.assertGreater(most, 10, "there was no storm")
        self.assertLess(most, before + 400, "only the test's own bound held")

    def test_a_fork_storm_is_bounded_and_ends(self):
        self.storm("f() { f & f & wait; }; f 2>/dev/null")

    def test_a_storm_of_daemons_is_bounded_and_ends(self):
        self.storm(f'exec 2>/dev/null; trap "" TERM; while :; do setsid sleep {A} & done')

    def test_roots_storm_is_seen_and_killed(self):
        # Root is exempt from the kernel's limit. The storms of this test are finite by themselves.
        if os.geteuid() != 0:
            self.skipTest("root: an ordinary user's processes are limited by the kernel")
        tree = "f() { (($1 > 0)) && { f $(($1 - 1)) & f $(($1 - 1)) & }; sleep %d; }; f 8" % A
        row = f'trap "" TERM; for ((i = 0; i < 300; i++)); do setsid sleep {A} & done; wait'
        for line in (tree, row):
            result = self.run_json("--max-processes", "50", "--timeout", ample(60), "-c",
                                   self.script(line))
            self.assertEqual(sleepers(), [])
            self.assertEqual((result["exit_code"], result["signal"], result["timed_out"]),
                             (137, "SIGKILL", False), result)
            self.assertIn("more than 50 processes", result["reason"])
            self.assertGreater(result["killed"], 50)

    def test_a_process_that_is_always_somebody_else_is_caught(self):
        # Each starts the next and goes: a single walk over the processes would miss it. Without its
        # file, which goes with the test's directory, it ends in any case.
        comet = self.work / "comet"
        comet.write_text('#!/bin/bash\ntrap "" TERM\n"$0" &\n')
        comet.chmod(0o755)
        result = self.in_time((self.work / "flies").exists, lambda limit: self.run_json(
            "--timeout", limit, "--grace", "100ms", "-c", "./comet; echo >flies; while :; do sleep 0.05; done"))
        self.assertEqual(result["exit_code"], 124)
        self.assertGreaterEqual(result["killed"], 1)

    def test_a_command_that_stopped_itself_is_ended(self):
        ready = self.work / "ready"
        for line, name in (("echo >ready; kill -STOP $$", "SIGTERM"),
                           ('trap "" TERM; echo >ready; kill -STOP $$; sleep 1000', "SIGKILL")):
            result = self.in_time(ready.exists, lambda limit: self.run_json(
                "--timeout", limit, "--grace", "300ms", "-c", line))
            self.assertEqual((result["exit_code"], result["signal"]), (124, name))
            ready.unlink()

    def test_the_command_may_clean_up_within_the_grace(self):
        result = self.in_time((self.work / "ready").exists, lambda limit: self.run_json(
            "--timeout", limit, "--grace", "30s", "-c",
            f'trap "echo cleaned; exit 5" TERM; sleep {A} & echo >ready; wait'), ("1s", "5s", "30s"))
        self.assertEqual((result["exit_code"], result["stdout"]), (124, "cleaned\n"))
        self.assertEqual((result["signal"], result["killed"]), (None, 0))
        self.assertLess(result["duration_ms"], 1000 * (20 + SLACK))

    def test_sigkill_comes_only_after_the_grace(self):
        result = self.in_time((self.work / "ready").exists, lambda limit: self.run_json(
            "--timeout", limit, "--grace", "700ms", "-c", f'trap "" TERM; echo >ready; sleep {A}; exit'))
        self.assertEqual((result["exit_code"], result["signal"]), (124, "SIGKILL"))
        self.assertGreaterEqual(result["duration_ms"], 1200)

    def test_without_a_grace_sigkill_comes_at_once(self):
        def attempt():
            done = self.run_nacre("--timeout", "200ms", "--grace", "0", "-c",
                                  f'trap "" TERM; sleep {A}; exit')
            self.assertEqual(done.code, 124)
            return done.seconds
        self.best_seconds(0.2 + SLACK, attempt)

    def test_the_result_counts_what_had_to_be_killed(self):
        result = self.in_time((self.work / "ready").exists, lambda limit: self.run_json(
            "--timeout", limit, "--grace", "100ms", "-c",
            f'trap "" TERM; sleep {A} & setsid sleep {B} & echo >ready; wait'))
        self.assertEqual((result["exit_code"], result["killed"]), (124, 3))
        self.assertIn("3 processes were still alive", " ".join(result["notices"]))

    def test_a_command_within_its_limit_is_not_touched(self):
        result = self.run_json("--timeout", ample(60), "-c", "sleep 0.1; echo whole")
        self.assertEqual((result["exit_code"], result["stdout"], result["timed_out"]),
                         (0, "whole\n", False))
        self.assertGreaterEqual(result["duration_ms"], 100)


class Leftover(NacreTest):
    def test_a_background_job_does_not_delay_the_result(self):
        def attempt():
            done = self.run_nacre("-c", f"sleep {A} & echo done")
            self.assertEqual(done[:2], (0, b"done\n"))
            self.assertRegex(done.err, rb"\Anacre: sleep was still running at the end and ended with the command\. [^\n]+\n\Z")
            self.assertEqual(sleepers(), [])
            return done.seconds
        self.best_seconds(0.3 + SLACK, attempt)

    def test_a_grandchild_that_holds_stdout_and_ignores_sigterm_is_killed_and_counted(self):
        os.mkfifo(self.work / "fifo")

        def attempt():
            done = self.run_nacre("--json", "-c", f'(trap "" TERM HUP; echo >fifo; sleep {A}; exit) &'
                                  " read -r _ <fifo; exit 3")
            result = json.loads(done.out)
            self.assertEqual(result["exit_code"], 3)
            self.assertIn(result["killed"], (1, 2))
            self.assertRegex(" ".join(result["notices"]), r"^[12] process(es were| was) still alive")
            return done.seconds
        self.best_seconds(0.8 + SLACK, attempt)

    def test_a_background_job_that_prints_without_end_is_bounded(self):
        def attempt():
            done = self.run_nacre("--json", "--output-cap", "1M", "-c", "yes & echo done >&2")
            self.assertEqual(json.loads(done.out)["stderr"], "done\n")
            return done.seconds
        self.best_seconds(1.2 + SLACK, attempt)

    def test_what_a_background_job_printed_before_the_end_is_there(self):
        os.mkfifo(self.work / "fifo")
        done = self.run_nacre("-c", "{ echo job; exec >&-; echo >fifo; sleep 1000; } &"
                              " read -r _ <fifo; echo end")
        self.assertEqual(done[:2], (0, b"job\nend\n"))

    def test_a_stranger_who_holds_the_pipe_does_not_delay_the_result(self):
        # The command gives its standard output to this process, which is not of its tree.
        path = str(self.dir / "socket")
        client = ("import socket, sys\n"
                  "s = socket.socket(socket.AF_UNIX)\n"
                  f"s.connect({path!r})\n"
                  "print('before', flush=True)\n"
                  "socket.send_fds(s, [b'x'], [1])\n"
                  "s.recv(1)\n")

        def attempt():
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path)
                server.listen()
                nacre = self.start("--", PYTHON, "-c", client)
                server.settimeout(DEADLINE)
                with server.accept()[0] as connection:
                    _, [held], _, _ = socket.recv_fds(connection, 1, 1)
                    began = time.monotonic()
                    connection.send(b"x")
                    try:
                        done = self.finish(nacre, began=began)
                    finally:
                        os.close(held)
                        os.unlink(path)
            self.assertEqual(done[:3], (0, b"before\n", b""))
            return done.seconds
        self.best_seconds(0.5 + SLACK, attempt)


class Signals(NacreTest):
    def expect_end(self, number):
        # Whoever runs the tests in the background of a shell has some signals ignored, as with nohup.
        nacre = self.start("--json", "-c", f"sleep {A} & setsid sleep {B} & echo ready >ready; wait",
                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
        self.wait_for_file(self.work / "ready")
        wait_until("both sleep", lambda: len(sleepers()) == 2)
        nacre.send_signal(number)
        done = self.finish(nacre)
        self.assertEqual(sleepers(), [])
        result = json.loads(done.out)
        self.assertEqual((done.code, result["exit_code"]), (128 + number, 128 + number))
        self.assertEqual((result["success"], result["timed_out"]), (False, False))
        self.assertEqual(result["reason"], "stopped")

    def test_ctrl_c_ends_the_tree(self):
        self.expect_end(signal.SIGINT)

    def test_sigterm_ends_the_tree(self):
        self.expect_end(signal.SIGTERM)

    def test_sighup_ends_the_tree(self):
        self.expect_end(signal.SIGHUP)

    def test_sigquit_ends_the_tree(self):
        self.expect_end(signal.SIGQUIT)

    def test_output_up_to_the_signal_is_shown(self):
        nacre = self.start("-c", "echo early; echo ready >ready; sleep 1000")
        self.wait_for_file(self.work / "ready")
        nacre.send_signal(signal.SIGINT)
        done = self.finish(nacre)
        self.assertEqual((done.code, done.out), (130, b"early\n"))
        self.assertIn(b"nacre: stopped\n", done.err)

    def test_the_second_signal_insists(self):
        nacre = self.start("--json", "--grace", "60s", "-c",
                           'trap "echo got >got" TERM; echo ready >ready; while :; do sleep 1; done')
        self.wait_for_file(self.work / "ready")
        nacre.send_signal(signal.SIGINT)
        self.wait_for_file(self.work / "got")
        began = time.monotonic()
        self.assertIsNone(nacre.poll(), "the first signal left no grace")
        nacre.send_signal(signal.SIGINT)
        done = self.finish(nacre, began=began)
        result = json.loads(done.out)
        self.assertEqual((done.code, result["signal"]), (130, "SIGKILL"))
        self.assertGreaterEqual(result["killed"], 1)
        self.assertLess(done.seconds, 30 + SLACK)

    def test_under_nohup_a_hangup_ends_nothing(self):
        nacre = self.start("-c", "echo ready >ready; until [ -e go ]; do sleep 0.02; done; echo whole",
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_file(self.work / "ready")
        nacre.send_signal(signal.SIGHUP)
        (self.work / "go").write_text("")
        self.assertEqual(self.finish(nacre)[:3], (0, b"whole\n", b""))

    def test_the_commands_own_group_may_be_signalled_without_harm_to_nacre(self):
        done = self.run_nacre("-c", "echo x; kill -TERM 0; sleep 1000")
        self.assertEqual((done.code, done.out), (128 + 15, b"x\n"))


if __name__ == "__main__":
    unittest.main()
