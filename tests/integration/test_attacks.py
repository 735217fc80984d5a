"""What a command, or a careless caller, can do to the processes and files around it.

Each of these once made nacre wait, lose a result, or leave something alive.
"""
import fcntl
import os
import resource
import signal
import struct
import termios
import unittest

from helpers import DEADLINE, PYTHON, NacreTest, is_alive, wait_until

# The first thread ends, the second ignores SIGTERM and goes on: /proc shows a zombie.
HEADLESS = """
import ctypes, os, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
threading.Thread(target=lambda: time.sleep(1000)).start()
open('pid', 'w').write(str(os.getpid()) + chr(10))
ctypes.CDLL(None).pthread_exit(None)
"""


def unread(fd):
    """How many bytes wait in a pipe."""
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]


class Survival(NacreTest):
    def run_to_the_limit(self, *command):
        """The result of a command that writes the file "pid" when it has prepared itself."""
        pid = self.work / "pid"
        result = self.in_time(lambda: pid.exists() and pid.read_text().endswith("\n"), lambda limit: self.run_json(
            "--timeout", limit, "--grace", "100ms", *command))
        self.assertTrue(result["timed_out"])
        self.assertFalse(is_alive(int(pid.read_text())))
        return result

    def test_a_process_whose_first_thread_has_ended_is_killed(self):
        result = self.run_to_the_limit("--", PYTHON, "-c", HEADLESS)
        self.assertEqual(result["killed"], 1)

    def test_an_init_without_descriptors_still_ends_the_command(self):
        self.run_to_the_limit("-c", "prlimit --pid $PPID --nofile=2:2; echo $$ >pid; exec sleep 1000")

    def test_a_stopped_init_is_replaced_by_its_keeper(self):
        result = self.run_to_the_limit("-c", "kill -STOP $PPID; echo $$ >pid; exec sleep 1000")
        self.assertEqual(result["exit_code"], 124)


class Planted(NacreTest):
    """The command runs as the same user and can reach its own task's directory."""

    def at_home(self):
        """Goes to the task's directory: it is made when the command has run for a moment."""
        return f"until cd {self.state}/tasks/bash-* 2>/dev/null; do sleep 0.01; done"

    def test_a_fifo_in_place_of_the_state_does_not_hold_the_keeper(self):
        result = self.run_json("-c", f"{self.at_home()}; until mkfifo .state.json.new 2>/dev/null; do rm -f .state.json.new; done; echo ok")
        self.assertEqual(result["stdout"], "ok\n")

    def test_a_fifo_in_place_of_an_order_does_not_hold_the_sweep(self):
        planted = self.state / "tasks" / "bash-0000000000000000"
        self.run_json("--", "true")
        planted.mkdir()
        os.mkfifo(planted / "spec.json")
        result = self.run_json("--state-cap", "1", "--truncate", "tail:5", "-c", "seq 1000")
        self.assertTrue(result["truncated"])

    def test_a_fifo_in_place_of_the_output_does_not_hold_nacre(self):
        nacre = self.start("--json", "-c", f"echo x; {self.at_home()}; "
                           "until [ -s out ]; do sleep 0.01; done; rm out; mkfifo out; "
                           f"echo r >{self.work}/ready; sleep 1000")
        self.wait_for_file(self.work / "ready")
        os.kill(self.find("nacre-keeper", nacre.pid).pid, signal.SIGKILL)
        self.assertEqual(self.finish(nacre).code, 125)

    def test_a_link_in_place_of_the_output_is_not_followed(self):
        secret = self.work / "secret"
        secret.write_text("do not show\n")
        nacre = self.start("--json", "-c", f"echo x; {self.at_home()}; "
                           f"until [ -s out ]; do sleep 0.01; done; ln -sf {secret} out; "
                           f"echo r >{self.work}/ready; sleep 1000")
        self.wait_for_file(self.work / "ready")
        os.kill(self.find("nacre-keeper", nacre.pid).pid, signal.SIGKILL)
        done = self.finish(nacre)
        self.assertEqual(done.code, 125)
        self.assertNotIn(b"do not show", done.out)
        self.assertEqual(secret.read_text(), "do not show\n")


class Callers(NacreTest):
    def test_a_signal_at_the_end_does_not_hide_the_result(self):
        for _ in range(40):
            nacre = self.start("-c", "exit 3")
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                if nacre.poll() is None:
                    nacre.send_signal(number)
            code = self.finish(nacre).code
            # Its own end, or ours; before the signals are taken they end nacre itself.
            self.assertIn(code, (3, 129, 130, 131, 143, -signal.SIGTERM, -signal.SIGINT,
                                 -signal.SIGHUP, -signal.SIGQUIT))

    def test_a_standard_output_that_does_not_block_gets_everything(self):
        ours, theirs = os.pipe()
        fcntl.fcntl(theirs, fcntl.F_SETFL, os.O_NONBLOCK)
        nacre = self.start("--truncate", "all", "-c", "seq 50000", stdout=theirs)
        os.close(theirs)
        with os.fdopen(ours, "rb") as file:
            out = file.read()
        self.assertEqual(nacre.wait(), 0)
        self.assertEqual(out, b"".join(b"%d\n" % i for i in range(1, 50001)))

    def test_a_caller_who_may_write_no_file_gets_the_result(self):
        def no_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        done = self.finish(self.start("-c", "exit 3", preexec_fn=no_files))
        self.assertEqual(done.code, 125, done)  # what cannot be recorded does not run
        self.assertIn(b"audit", done.err)
        policy = self.dir / "unrecorded.yaml"
        policy.write_text("profile: unrecorded\ninherits: bash\nsandbox: {mode: none}\n"
                          "audit: {on_failure: notice}\n")
        done = self.finish(self.start("--policy", str(policy), "-c", "exit 3", preexec_fn=no_files))
        self.assertEqual(done.code, 3, done)
        self.assertIn(b"audit", done.err)

    def test_a_reader_who_stops_reading_can_end_nacre(self):
        ours, theirs = os.pipe()
        nacre = self.start("--truncate", "all", "-c", "seq 100000", stdout=theirs)
        os.close(theirs)
        wait_until("the pipe to its reader is full", lambda: unread(ours) >= 65536)
        nacre.send_signal(signal.SIGTERM)
        self.assertEqual(nacre.wait(DEADLINE), -signal.SIGTERM)
        os.close(ours)


if __name__ == "__main__":
    unittest.main()
