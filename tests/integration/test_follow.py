"""The output of tasks: from any offset, in parts, as it comes, by many readers at once."""
import hashlib
import json
import os
import signal
import statistics
import subprocess
import time
import unittest

from helpers import DEADLINE, NACRE, PYTHON, QUICK, SANITIZED, NacreTest, wait_until
from test_tasks import TaskTest

# The full numbers are `NACRE_FOLLOW=full tests/integration/test_follow.py Flood`.
FULL = os.environ.get("NACRE_FOLLOW") == "full"


class FollowTest(TaskTest):
    def follow(self, task_id, *args, **options):
        """A follower under way."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        popen = subprocess.Popen([NACRE, "output", "--follow", *args, task_id], env=self.env,
                                 stdin=subprocess.DEVNULL, **options)
        self.started.append(popen)
        return popen

    def ended(self, *args):
        """A task that has ended, by its id."""
        task_id = self.background(*args)["task_id"]
        self.wait_for_end(task_id)
        return task_id

    def read(self, task_id, *args):
        done = self.nacre("output", *args, task_id)
        self.assertEqual((done.code, done.err), (0, b""), done)
        return done.out.decode()


class Parts(FollowTest):
    def setUp(self):
        super().setUp()
        self.task = self.ended("-c", "seq 100")

    def test_all_and_from_an_offset(self):
        whole = "".join(f"{i}\n" for i in range(1, 101))
        self.assertEqual(self.read(self.task), whole)
        self.assertEqual(self.read(self.task, "--since", "200"), whole[200:])
        self.assertEqual(self.read(self.task, "--since", "292"), "")
        self.assertEqual(self.read(self.task, "--since", "1000000"), "")
        answer = self.output(self.task, "--since", "290")
        self.assertEqual((answer["output"], answer["next"]), ("0\n", 292))

    def test_lines_by_number_and_from_both_ends(self):
        self.assertEqual(self.read(self.task, "--lines", "3-5"), "3\n4\n5\n")
        self.assertEqual(self.read(self.task, "--lines", "99-"), "99\n100\n")
        self.assertEqual(self.read(self.task, "--lines", "-2"), "1\n2\n")
        self.assertEqual(self.read(self.task, "--lines", "7"), "7\n")
        self.assertEqual(self.read(self.task, "--head", "2"), "1\n2\n")
        self.assertEqual(self.read(self.task, "--tail", "2"), "99\n100\n")

    def test_lines_that_match_with_context(self):
        self.assertEqual(self.read(self.task, "--grep", "^5.$", "--tail", "2"), "58\n59\n")
        self.assertEqual(self.read(self.task, "--grep", "^(20|40)$", "-C", "1"),
                         "--\n19\n20\n21\n--\n39\n40\n41\n")

    def test_what_makes_no_sense_is_refused(self):
        for words in (["--grep", "a("], ["--lines", "5-3"], ["--lines", "0"], ["--lines", "-"],
                      ["--raw", "--tail", "1"], ["--raw", "--json"], ["--since", "x"],
                      ["--head", "1", "--tail", "1"], ["--wait", "5"], ["--stream", "x"], ["--stream", "out"]):
            done = self.nacre("output", *words, self.task)
            self.assertEqual((done.code, done.out), (125, b""), (words, done))
            self.assertNotEqual(done.err, b"")


class Bytes(FollowTest):
    def test_raw_bytes_are_kept_and_text_is_made_harmless(self):
        task = self.ended("-c", r"printf 'a\033[31mred\033[0m\xff\r\n'")
        done = self.nacre("output", "--raw", task)
        self.assertEqual(done.out, b"a\33[31mred\33[0m\xff\r\n")
        self.assertEqual(self.read(task), "ared\ufffd\n")

    def test_streams_apart_and_in_the_order_of_their_coming(self):
        # Open all the time: one that opens again may do so before the writer of the last line has closed, and see its end.
        line = "exec 3<>go; echo o1; read -r _ <&3; echo e1 >&2; read -r _ <&3; echo o2; read -r _ <&3; echo e2 >&2"
        task = self.background("--output-mode", "separate", "-c", line)["task_id"]
        for stream, text in (("stdout", "o1\n"), ("stderr", "e1\n"), ("stdout", "o1\no2\n")):
            wait_until("it has come", lambda: self.read(task, "--stream", stream) == text)
            self.go()
        self.wait_for_end(task)
        self.assertEqual(self.read(task, "--stream", "stdout"), "o1\no2\n")
        self.assertEqual(self.read(task, "--stream", "stderr"), "e1\ne2\n")
        done = self.nacre("output", task)
        self.assertEqual((done.out, done.err), (b"o1\no2\n", b"e1\ne2\n"))
        lines = self.nacre("output", "--follow", "--json", "--since", "3", task).out.splitlines()
        texts = [(t["stream"], t["text"]) for t in map(json.loads, lines[:-1])]
        self.assertEqual(texts, [("stderr", "e1\n"), ("stdout", "o2\n"), ("stderr", "e2\n")])
        self.assertEqual(json.loads(lines[-1])["exit_code"], 0)

    def test_a_file_that_was_capped_has_a_gap_in_the_middle(self):
        task = self.ended("--output-cap", "64K", "-c", "seq 100000")
        done = self.nacre("output", "--raw", task)
        whole = "".join(f"{i}\n" for i in range(1, 100001)).encode()
        missing = len(whole) - len(done.out)
        self.assertEqual(len(done.out), 65536)
        self.assertEqual(done.err.decode(), f"nacre: {missing} bytes are missing here\n")
        self.assertEqual(done.out, whole[:32768] + whole[-32768:])
        end = self.nacre("output", "--raw", "--since", str(len(whole) - 7), task)
        self.assertEqual((end.out, end.err), (b"100000\n", b""))


class Live(FollowTest):
    def test_a_line_is_seen_before_the_end_and_the_end_ends_it(self):
        task = self.background("-c", self.LINE)["task_id"]
        follower = self.follow(task)
        self.assertEqual(follower.stdout.readline(), b"early\n")
        self.go()
        self.assertEqual(follower.stdout.read(), b"late\n")
        self.assertEqual(follower.wait(DEADLINE), 0)

    def test_a_prompt_without_newline_is_seen(self):
        task = self.background("-c", "printf 'name? '; read -r x <go; echo $x")["task_id"]
        follower = self.follow(task)
        self.assertEqual(os.read(follower.stdout.fileno(), 100), b"name? ")
        self.go()
        self.assertEqual(follower.stdout.read(), b"go\n")

    def test_waiting_has_an_end(self):
        task = self.background("-c", self.LINE)["task_id"]
        self.wait_for_output(task)
        answer = self.output(task, "--wait", "200ms", code=124)
        self.assertEqual((answer["state"], answer["output"]), ("running", "early\n"))
        self.nacre("stop", "--now", task)

    def test_a_follower_of_a_lost_task_ends(self):
        task = self.background("-c", self.LINE)["task_id"]
        follower = self.follow(task, "--json")
        self.assertEqual(json.loads(follower.stdout.readline())["text"], "early\n")
        os.kill(self.find("nacre-keeper").pid, signal.SIGKILL)
        self.assertEqual(json.loads(follower.stdout.readline())["state"], "lost")
        self.assertEqual(follower.wait(DEADLINE), 0)

    def test_a_foreground_command_can_be_followed_from_elsewhere(self):
        nacre = self.start("--json", "-c", self.LINE)
        self.wait_for_file(self.work / "ready")
        follower = self.follow(self.listed()["task_id"], "--raw")
        self.assertEqual(follower.stdout.readline(), b"early\n")
        self.go()
        self.finish(nacre)

    def test_an_offset_that_is_not_there_yet_is_waited_for(self):
        task = self.background("-c", self.LINE)["task_id"]
        follower = self.follow(task, "--since", "8")
        self.wait_for_file(self.work / "ready")
        self.go()
        self.assertEqual(follower.stdout.read(), b"te\n")

    def test_a_slow_follower_delays_nobody(self):
        """It does not read at all, and the command writes much more than a pipe takes."""
        task = self.background("-c", f"{self.LINE.replace('echo late', 'seq 1000000')}")["task_id"]
        slow = self.follow(task)
        quick = self.follow(task, "--raw", stdout=subprocess.PIPE)
        self.wait_for_file(self.work / "ready")
        self.go()
        self.assertEqual(quick.stdout.read().count(b"\n"), 1_000_001)
        self.assertEqual(self.wait_for_end(task)["exit_code"], 3)
        self.assertEqual(slow.stdout.read().count(b"\n"), 1_000_001)

    def test_a_line_is_there_within_50_ms(self):
        script = ("import time\n"
                  "with open('pace') as pace:\n"
                  "    for _ in range(40):\n"
                  "        print(time.time_ns(), flush=True)\n"
                  "        pace.readline()\n")
        bound = 0.05 + (0.5 if SANITIZED else 0)
        os.mkfifo(self.work / "pace")

        def attempt():
            task = self.background("--", PYTHON, "-c", script)["task_id"]
            follower = self.follow(task)
            delays = []
            with open(self.work / "pace", "w", encoding="ascii") as pace:
                for line in follower.stdout:
                    delays.append((time.time_ns() - int(line)) / 1e9)
                    if len(delays) < 40:
                        print(file=pace, flush=True)  # only now comes the next
                    else:
                        pace.close()
            self.assertEqual(len(delays), 40)
            return statistics.median(delays[5:])
        self.best_seconds(bound, attempt)


class Flood(FollowTest):
    FOLLOWERS = 100 if FULL else 8 if QUICK else 20
    BYTES = 100_000_000 if FULL else 5_000_000

    def test_many_followers_get_all_bytes(self):
        self.give_up_after(10 * DEADLINE)
        line = f"read -r _ <go; yes 'a line of the flood, some words long' | head -c {self.BYTES}"
        task = self.background("--output-cap", "1G", "-c", line)["task_id"]
        # Each through a digest of its own, so that the test itself reads next to nothing.
        digests = [subprocess.Popen(["sha256sum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                   for _ in range(self.FOLLOWERS)]
        followers = []
        for digest in digests:
            followers.append(self.follow(task, "--raw", stdout=digest.stdin))
            digest.stdin.close()
            digest.stdin = None
        self.started += digests
        began = time.monotonic()
        self.go()
        sums = {digest.communicate(timeout=10 * DEADLINE)[0].split()[0] for digest in digests}
        if FULL:
            print(f"# {self.FOLLOWERS} followers of {self.BYTES} bytes:"
                  f" {time.monotonic() - began:.1f} s")
        words = b"a line of the flood, some words long\n"
        want = hashlib.sha256((words * (self.BYTES // len(words) + 1))[:self.BYTES]).hexdigest()
        self.assertEqual(sums, {want.encode()})
        for follower in followers:
            self.assertEqual(follower.wait(DEADLINE), 0)

    def test_followers_of_a_capped_file_see_true_bytes_and_told_gaps(self):
        """The hole in the middle wanders while they read, and closes at the end."""
        line = "read -r _ <go; seq 2000000"
        task = self.background("--output-cap", "256K", "-c", line)["task_id"]
        followers = [self.follow(task, "--raw") for _ in range(4)]
        self.go()
        whole = "".join(f"{i}\n" for i in range(1, 2000001)).encode()
        for follower in followers:
            out, err = follower.communicate(timeout=2 * DEADLINE)
            gaps = [int(text.split()[1]) for text in err.decode().splitlines()]
            self.assertEqual(len(out) + sum(gaps), len(whole))
            self.assertTrue(whole.startswith(out[:131072]))
            self.assertTrue(whole.endswith(out[-1000:]))
            self.assertNotIn(b"\0", out)


if __name__ == "__main__":
    unittest.main()
