"""Keepers and inits that stand by for another command: what one leaves, the next does not find; and what nobody took is kept."""
import json
import os
import re
import subprocess
import time
import unittest

from helpers import DEADLINE, NacreTest, descendants, wait_until

WHERE = "readlink /proc/self/ns/pid"
# Tells what is left in the namespaces of a command: files, their directories' modes, objects of System V, message queues.
LOOK = ("ls -A /tmp /dev/shm ~ | grep -v :; stat -c %a /tmp /dev/shm ~; ipcs -m -q -s | grep -c '^0x'; "
        "/usr/bin/python3 -IS queue.py look; ps -A -o comm= | grep -c sleep; grep ShdPnd /proc/1/status")
# Python knows no message queues; their names are not in any directory of the box.
QUEUES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
flags = os.O_RDWR | (os.O_CREAT if sys.argv[1] == "make" else 0)
print("queue", libc.mq_open(b"/left", flags, 0o600, None) >= 0)
"""
LEFT = {
    "a file": "echo x >/tmp/left",
    "a file that is hidden": "mkdir -p /tmp/.a/b",
    "shared memory": "echo x >/dev/shm/left",
    "a file at home": "echo x >~/left",
    "a directory that nobody can use": "chmod 700 /tmp",
    "a home that nobody can use": "chmod 000 ~",
    "a segment": "ipcmk -M 4096 >/dev/null",
    "a semaphore": "ipcmk -S 1 >/dev/null",
    "a queue of messages": "ipcmk -Q >/dev/null",
    "a queue with a name": "/usr/bin/python3 -IS queue.py make >/dev/null",
    "a process": "sleep 5 & disown",  # it goes on as a task for so long
    "a signal for init": "kill -RTMIN 1 2>/dev/null || true",
}


class AgainTest(NacreTest):
    BOXED = True

    def open(self, *options, **who):
        nacre = self.start("--batch", "--jobs", "1", *options, stdin=subprocess.PIPE, **who)
        self.ask(nacre, "true")  # the first of a kind has a box of its own
        wait_until("a keeper stands by", lambda: [p for p in descendants(nacre.pid) if p.name == "nacre-keeper"])
        return nacre

    def ask(self, nacre, command):
        nacre.stdin.write(json.dumps({"id": 1, "command": command}).encode() + b"\n")
        nacre.stdin.flush()
        return json.loads(nacre.stdout.readline())["result"]

    def out(self, nacre, command):
        result = self.ask(nacre, command)
        self.assertEqual((result["exit_code"], result["stderr"]), (0, ""), result)
        return result["stdout"]

    def close(self, nacre):
        nacre.stdin.close()
        self.assertEqual(nacre.wait(DEADLINE), 0)


class Namespaces(AgainTest):
    def setUp(self):
        super().setUp()
        (self.work / "queue.py").write_text(QUEUES)

    def test_commands_that_leave_nothing_share_theirs(self):
        nacre = self.open()
        places = {self.out(nacre, WHERE) for _ in range(40)}
        self.assertLess(len(places), 12, "each command had namespaces of its own")
        keepers = [p.pid for p in descendants(nacre.pid) if p.name == "nacre-keeper"]
        self.assertLess(len(keepers), 12)
        self.close(nacre)
        self.expect_gone(*keepers)

    def test_a_crowd_shares_them_too(self):
        """Who comes back is expected back: nobody is made in his place, or there is soon no room for him. Later the crowd is given up."""
        self.expect_shared()

    def test_a_crowd_of_an_ordinary_user_does(self):
        """Who has no control group has a box for each keeper: the limit of processes is one of a whole box then."""
        self.expect_shared(**self.as_ordinary_user())

    def expect_shared(self, **who):
        callers, rounds = 24, 12
        nacre = self.start("--batch", "--jobs", str(callers), stdin=subprocess.PIPE, **who)
        for n in range(callers * rounds):
            nacre.stdin.write(json.dumps({"id": n, "command": WHERE}).encode() + b"\n")
        nacre.stdin.flush()
        places = {json.loads(nacre.stdout.readline())["result"]["stdout"] for _ in range(callers * rounds)}
        # The first of all have boxes of their own, and at the end some are still on their way back.
        self.assertLess(len(places), callers * 3, "commands had namespaces of their own")
        wait_until("a few stand by", lambda: len([p for p in descendants(nacre.pid) if p.name == "nacre-keeper"]) <= 4)
        self.close(nacre)

    def expect_clean(self, **who):
        nacre = self.open(**who)
        clean = self.out(nacre, LOOK + "; true")
        self.assertIn("queue False", clean)
        for what, command in LEFT.items():
            with self.subTest(what):
                self.out(nacre, command)
                for _ in range(8):  # more than stand by
                    self.assertEqual(self.out(nacre, LOOK + "; true"), clean)
        self.close(nacre)

    def test_what_root_leaves_is_not_found(self):
        self.expect_clean()

    def test_what_a_user_leaves_is_not_found(self):
        self.expect_clean(**self.as_ordinary_user())

    def test_each_result_tells_of_its_own_command(self):
        nacre = self.open()
        for command, processes, memory in (("/usr/bin/true", 1, None), ("true; /usr/bin/true; /usr/bin/true; true", 3, None),
                                           ("head -c 80M /dev/zero | tail -c 79M | wc -c", None, 60000), ("/usr/bin/true", 1, None)):
            for _ in range(3):
                result = self.ask(nacre, command)
                if processes:
                    self.assertEqual(result["processes"]["total"], processes, result)
                    self.assertLess(result["usage"]["max_rss_kb"], 40000, result)
                if memory:
                    self.assertGreater(result["usage"]["max_rss_kb"], memory, result)
        self.close(nacre)

    def test_a_command_cannot_speak_for_its_init(self):
        """The socket of init is not the command's, and neither its number nor its name is in its reach."""
        nacre = self.open()
        for _ in range(6):
            text = self.out(nacre, "ls /proc/self/fd | wc -l; { kill -STOP 1; kill -KILL 1; } 2>/dev/null; ls /proc/1/fd 2>&1 | tail -1; echo on")
            self.assertEqual(text.splitlines()[0], "4")  # three, and that of ls
            self.assertRegex(text, r"Permission denied|cannot open")
            self.assertTrue(text.endswith("on\n"))
        self.close(nacre)


class Taken(AgainTest):
    """A result is in the keeper's memory until its caller has it."""

    def test_one_that_was_delivered_leaves_nothing_on_the_disk(self):
        nacre = self.open()
        for command in ("true", "echo small", "echo small >&2", "false"):
            self.ask(nacre, command)
        self.close(nacre)
        self.assertEqual(self.task_dirs(), [])

    def test_what_is_more_than_plain_text_lies_in_a_file(self):
        nacre = self.open()
        for command in ("printf 'a\\0b'", "printf '\\xff\\xfe'", "head -c 100000 /dev/zero | tr '\\0' x"):
            result = self.ask(nacre, command)
            self.assertTrue(os.path.isfile(result["output_file"]), result)
            self.assertEqual(os.path.getsize(result["output_file"]), result["stdout_bytes"])
        self.close(nacre)

    def test_none_is_lost_with_a_nacre_that_is_killed(self):
        """Each that has ended was read by its caller, or lies in its directory."""
        nacre = self.start("--batch", "--jobs", "8", stdin=subprocess.PIPE)
        requests = [{"id": i, "command": f"seq {i} {i + 300}"} for i in range(200)]
        text = "".join(json.dumps(request) + "\n" for request in requests).encode()
        nacre.stdin.write(text)  # it stops when nobody reads its answers: about 64 KiB of them
        nacre.stdin.flush()

        def ended():
            log = "".join(path.read_text(errors="replace") for path in sorted(self.state.glob("audit/log.*")))
            return set(re.findall(r'"event":"ended","task_id":"([^"]+)"', log))

        def is_still(before=[-1, 0.0]):  # for a moment nothing happens any more
            count = len(ended())
            if count != before[0]:
                before[:] = count, time.monotonic()
            return count > 8 and time.monotonic() - before[1] > 1
        wait_until("nobody reads", is_still, 2 * DEADLINE)
        nacre.kill()
        nacre.wait(DEADLINE)
        read = nacre.stdout.read().decode(errors="replace").split("\n")[:-1]  # the last may be torn
        taken = {json.loads(line)["result"]["task_id"]: json.loads(line) for line in read}
        wait_until("no keeper is left", lambda: not [p for p in descendants() if p.name == "nacre-keeper"])
        kept = {path.name for path in self.task_dirs() if (path / "state.json").exists()}
        self.assertGreater(len(kept), 0)
        self.assertEqual(ended() - set(taken) - kept, set())
        for answer in taken.values():
            self.assertEqual(len(answer["result"]["stdout"].split()), 301)
        for path in self.task_dirs():
            self.assertEqual(len((path / "out").read_text().split()), 301)


del NacreTest, AgainTest

if __name__ == "__main__":
    unittest.main()
