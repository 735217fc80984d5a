"""Many runs, in a row and at the same time: nothing is left behind, counted before and after."""
import json
import os
import subprocess
import unittest

from helpers import (DEADLINE, NACRE, NacreTest, QUICK, SANITIZED, descendants, fd_count, status_kb,
                     wait_until)

RUNS = 200 if SANITIZED or QUICK else 1000
WIDTH = 64


class Many(NacreTest):
    def setUp(self):
        super().setUp()
        self.run_nacre("--", "true")  # makes the state directory
        self.before = self.census()

    def census(self):
        return {"descriptors": fd_count("self"), "processes": len(descendants()),
                "tasks": len(self.task_dirs()), "temporary files": len(list(self.tmp.iterdir())),
                "work": len(list(self.work.iterdir()))}

    def expect_as_before(self):
        wait_until("all processes have gone", lambda: not descendants(), 10)
        self.assertEqual(self.census(), self.before)

    def test_in_a_row(self):
        for i in range(RUNS):
            done = subprocess.run([NACRE, "run", "--", "echo", str(i)], env=self.env,
                                  cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=DEADLINE, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"%d\n" % i, b""))
        self.expect_as_before()

    def test_at_the_same_time(self):
        fifo = self.dir / "fifo"
        os.mkfifo(fifo)
        nacres = [self.start("-c", f"echo {i}; echo {i} >>../ready; read -r _ <../fifo; exit {i}")
                  for i in range(WIDTH)]
        ready = self.dir / "ready"
        wait_until("all of them run", lambda: ready.exists() and
                   len(ready.read_text().splitlines()) == WIDTH)
        names = [p.name for p in descendants()]
        self.assertEqual([names.count(n) for n in ("nacre", "nacre-keeper", "nacre-init")], [WIDTH] * 3)
        self.release(fifo, nacres)
        for i, nacre in enumerate(nacres):
            self.assertEqual(self.finish(nacre)[:3], (i, b"%d\n" % i, b""))
            for stream in (nacre.stdout, nacre.stderr):
                stream.close()
        self.expect_as_before()

    def release(self, fifo, nacres):
        """Those who read get end of file together; some may not have opened it yet."""
        def all_ended():
            try:
                os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                pass  # nobody reads at this moment
            return all(nacre.poll() is not None for nacre in nacres)
        wait_until("all of them end", all_ended)


class Batch(NacreTest):
    def test_one_process_serves_many_and_keeps_nothing(self):
        nacre = self.start("--batch", "--jobs", str(WIDTH), stdin=subprocess.PIPE)
        launcher = self.find("nacre-launcher", nacre.pid)
        self.serve(nacre, range(WIDTH))
        self.expect_idle(nacre, launcher)
        before = fd_count(nacre.pid), fd_count(launcher.pid)
        memory = status_kb(nacre.pid, "VmRSS")
        self.serve(nacre, range(RUNS))
        self.expect_idle(nacre, launcher)
        # The launcher looks now and then whether to keep a box, which takes it a moment.
        wait_until(f"descriptors are no more than {before}", lambda: fd_count(nacre.pid) <= before[0]
                   and fd_count(launcher.pid) <= before[1], 10)
        if not SANITIZED:
            self.assertLess(status_kb(nacre.pid, "VmRSS"), memory + 2048)
        self.assertEqual(self.task_dirs(), [])
        nacre.stdin.close()
        self.assertEqual(nacre.wait(DEADLINE), 0)
        self.assertEqual(nacre.stdout.read() + nacre.stderr.read(), b"")
        self.assertEqual(list(self.tmp.iterdir()), [])

    def serve(self, nacre, numbers):
        """Asks for all of them at once; the answers come in any order."""
        text = b"".join(b'{"id":%d,"argv":["echo","%d"]}\n' % (i, i) for i in numbers)
        writer = os.fork()  # a process of its own: neither pipe may fill up while nobody reads
        if writer == 0:
            with os.fdopen(os.dup(nacre.stdin.fileno()), "wb") as stdin:
                stdin.write(text)
            os._exit(0)
        seen = set()
        for _ in numbers:
            answer = json.loads(nacre.stdout.readline())
            self.assertEqual(answer["result"]["stdout"], f"{answer['id']}\n")
            seen.add(answer["id"])
        os.waitpid(writer, 0)
        self.assertEqual(seen, set(numbers))

    def expect_idle(self, nacre, launcher):
        wait_until("only nacre and its launcher are left", lambda: {p.pid for p in descendants()} ==
                   {nacre.pid, launcher.pid})


if __name__ == "__main__":
    unittest.main()
