"""What a person sees: a description, output as it comes, a sign of life, and how it ended."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
import unittest

from helpers import DEADLINE, NacreTest, is_alive, wait_until

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def without_spinner(text):
    """What is left when it has gone: where a command comes to the point late, there is one."""
    return re.sub(rf"\r\x1b\[K(\x1b\[2m[{SPINNER}] \d+s\x1b\[0m)?", "", text)


class Terminal(NacreTest):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.work / "go")
        self.env["TERM"] = "xterm-256color"
        self.seen = bytearray()

    def open(self, *args, streams=("stdin", "stdout", "stderr"), **options):
        """nacre in a session of its own, whose terminal is at least these streams."""
        self.master, slave = pty.openpty()
        self.addCleanup(lambda: os.close(self.master) if self.master >= 0 else None)
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST  # a newline stays one byte
        termios.tcsetattr(slave, termios.TCSANOW, attributes)

        def take_terminal():
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        nacre = self.start(*args, **{name: slave for name in streams}, start_new_session=True,
                           preexec_fn=take_terminal, pass_fds=[slave], **options)
        os.close(slave)
        return nacre

    def read_until(self, condition, what):
        """Reads what the terminal shows until the condition holds for all of it; without WHAT, until
        nobody has the other side open any more."""
        end = time.monotonic() + DEADLINE
        while not what or not condition(self.seen.decode(errors="replace")):
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not ready:
                self.fail(f"{what}: not within {DEADLINE} s after {self.seen!r}")
            try:
                self.seen += os.read(self.master, 65536)  # bytearray: appending is cheap
            except OSError:  # EIO, the end of a terminal
                if what:
                    self.fail(f"{what}: not before the end after {self.seen!r}")
                return

    def show(self, *args, **options):
        """All that the terminal showed, and the exit code."""
        nacre = self.open(*args, **options)
        self.read_until(None, None)
        return nacre.wait(DEADLINE), self.seen.decode()

    def go(self):
        with open(self.work / "go", "w", encoding="utf-8") as file:
            file.write("go\n")


class Show(Terminal):
    def test_description_output_and_a_tick_with_the_duration(self):
        code, text = self.show("--description", "greet the world", "-c", "echo hello")
        self.assertEqual(code, 0)
        self.assertRegex(without_spinner(text), r"^\x1b\[1mRunning: greet the world\x1b\[0m\n"
                               r"hello\n\x1b\[32m✓\x1b\[0m \x1b\[2m[0-9.]+m?s\x1b\[0m\n$")

    def test_a_failure_gets_a_cross_and_its_code(self):
        code, text = self.show("-c", "echo oops >&2; exit 3")
        self.assertEqual(code, 3)
        self.assertIn("oops\n", text)
        self.assertRegex(text, r"✗\x1b\[0m \x1b\[2mexit code 3, [0-9.]+m?s")

    def test_a_time_out_says_so(self):
        code, text = self.show("--timeout", "200ms", "--", "sleep", "1000")
        self.assertEqual(code, 124)
        self.assertIn("✗", text)
        self.assertIn("timed out", text)

    def test_output_is_shown_before_the_end_and_not_again(self):
        nacre = self.open("-c", "echo first; echo warn >&2; read -r _ <go; echo second")
        self.read_until(lambda text: "first\n" in text and "warn\n" in text, "output while it runs")
        self.assertNotIn("second", self.seen.decode())
        self.go()
        self.read_until(lambda text: "✓" in text, "the end")
        self.assertEqual(nacre.wait(DEADLINE), 0)
        for word in (b"first", b"warn", b"second"):
            self.assertEqual(self.seen.count(word), 1)

    def test_a_quiet_command_shows_a_spinner_that_goes_away(self):
        nacre = self.open("-c", "read -r _ <go; echo end")
        self.read_until(lambda text: len(set(text) & set(SPINNER)) >= 2, "a spinner that turns")
        self.go()
        self.read_until(lambda text: "✓" in text, "the end")
        text = self.seen.decode()
        last = max(text.rindex(c) for c in SPINNER if c in text)
        self.assertIn("\r\x1b[K", text[last:text.index("end\n")])
        self.assertEqual(nacre.wait(DEADLINE), 0)

    def expect_plain(self, **env):
        nacre = self.open("--description", "plain", "-c", "sleep 0.8; echo out; exit 3", env=env)
        self.read_until(lambda text: "✗" in text and text.endswith("s\n"), "the end")
        self.assertEqual(nacre.wait(DEADLINE), 3)
        self.assertRegex(self.seen.decode(), r"^Running: plain\nout\n✗ exit code 3, [0-9.]+m?s\n$")

    def test_no_color_is_respected(self):
        self.expect_plain(NO_COLOR="1")

    def test_a_dumb_terminal_is_respected(self):
        self.expect_plain(TERM="dumb")

    def test_a_terminal_without_a_name_is_taken_as_dumb(self):
        del self.env["TERM"]
        self.expect_plain()

    def test_quiet_shows_only_the_output(self):
        self.assertEqual(self.show("--quiet", "--description", "x", "-c", "echo out; exit 3"),
                         (3, "out\n"))

    def test_json_is_alone(self):
        code, text = self.show("--json", "--description", "x", "-c", "echo out")
        self.assertEqual((code, json.loads(text)["stdout"]), (0, "out\n"))

    def test_pipes_get_plain_text_without_status(self):
        done = self.run_nacre("--description", "x", "-c", "sleep 0.8; echo out; echo err >&2; exit 3")
        self.assertEqual(done[:3], (3, b"out\n", b"err\n"))

    def test_with_only_standard_output_piped_the_status_is_still_shown(self):
        nacre = self.open("--description", "x", "-c", "echo out", streams=("stdin", "stderr"))
        self.read_until(lambda text: "✓" in text, "the end")
        self.assertEqual((nacre.wait(DEADLINE), nacre.stdout.read()), (0, b"out\n"))
        self.assertNotIn(b"out\n", self.seen)

    def test_a_flood_on_a_terminal_shows_its_end(self):
        code, text = self.show("-c", "seq 1 2000000; echo the end")
        self.assertEqual(code, 0)
        self.assertIn("\n1999999\n2000000\nthe end\n", text)

    def test_a_terminal_that_was_held_still_gets_all_and_the_true_end(self):
        # As with Ctrl-S. The terminal's buffer is full long before the command ends.
        nacre = self.open("-c", "for i in {1..20000}; do echo $i; done; exit 3")
        keeper = self.find("nacre-keeper", nacre.pid)
        deadline = time.monotonic() + 12
        wait_until("the keeper is gone, or waits", lambda: not is_alive(keeper.pid) or
                   time.monotonic() > deadline)
        self.read_until(None, None)
        self.assertEqual(nacre.wait(DEADLINE), 3, bytes(self.seen[-200:]))
        self.assertIn(b"\n19999\n20000\n", self.seen)

    def test_a_description_cannot_steer_the_terminal(self):
        _, text = self.show("--description", "a\x1b]0;title\x07\x1b[2Jb\rc", "--", "true")
        self.assertNotIn("\x1b]0;", text)
        self.assertNotIn("\x1b[2J", text)
        self.assertNotIn("\r", without_spinner(text))


class Control(Terminal):
    def test_the_command_has_no_controlling_terminal(self):
        _, text = self.show("--quiet", "-c", "tty; (: </dev/tty) 2>/dev/null || echo none; "
                            "read -r -a f </proc/$$/stat; echo ${f[6]}")
        self.assertEqual(text, "not a tty\nnone\n0\n")

    def test_standard_input_of_a_terminal_is_not_handed_on(self):
        code, text = self.show("--stdin", "--", "cat")
        self.assertEqual(code, 125)
        self.assertIn("standard input is a terminal", text)
        self.assertFalse(self.state.exists())

    def test_ctrl_c_ends_the_command(self):
        nacre = self.open("-c", "setsid sleep 1000 & echo ready; sleep 1000; echo not reached")
        self.read_until(lambda text: "ready\n" in text, "the command runs")
        os.write(self.master, b"\x03")
        self.assertEqual(nacre.wait(DEADLINE), 128 + signal.SIGINT)

    def test_a_terminal_that_goes_away_ends_the_command(self):
        nacre = self.open("-c", "setsid sleep 1000 & echo ready; sleep 1000")
        self.read_until(lambda text: "ready\n" in text, "the command runs")
        os.close(self.master)
        self.master = -1
        self.assertIn(nacre.wait(DEADLINE), (125, 128 + signal.SIGHUP))

    def test_batch_on_a_terminal_answers_line_by_line(self):
        nacre = self.open("--batch", streams=("stdin",), stderr=subprocess.DEVNULL)
        os.write(self.master, b'{"id":1,"command":"echo one"}\n')
        self.assertEqual(json.loads(nacre.stdout.readline())["result"]["stdout"], "one\n")
        os.write(self.master, b"\x04")
        self.assertEqual(nacre.wait(DEADLINE), 0)


if __name__ == "__main__":
    unittest.main()
