"""kill -9 of each process of the picture in turn, and what the survivors do.

    nacre -> (launcher ->) keeper -> init -> command
"""
import json
import os
import signal
import subprocess
import unittest

from helpers import DEADLINE, NacreTest, descendants, is_alive, process_read, wait_until

# Prints, starts a daemon, says that it is ready, waits for a word, prints again.
LINE = ("echo early; echo warned >&2; setsid sleep 1000 & echo $! >daemon; echo ready >ready;"
        " read -r _ <go; echo late; head -c 300000 /dev/zero | tr '\\0' x; exit 3")
LATE_OUT = b"early\nlate\n" + b"x" * 300_000


class Killing(NacreTest):
    """The tools: start, find, kill, and see what is left."""

    def setUp(self):
        super().setUp()
        os.mkfifo(self.work / "go")

    def begin(self, *options, line=LINE):
        """A running command, and the processes around it."""
        nacre = self.start("--json", *options, "-c", line)
        self.wait_for_file(self.work / "ready")
        return nacre, *self.below(nacre.pid)

    def below(self, pid):
        keeper = self.find("nacre-keeper", pid)
        init = self.find("nacre-init", keeper.pid)
        [command] = [p for p in descendants(init.pid) if p.parent == init.pid and p.name == "bash"]
        self.assertEqual(init.parent, keeper.pid)
        return keeper.pid, init.pid, command.pid

    def kill(self, pid):
        self.assertIsNotNone(process_read(pid))
        os.kill(pid, signal.SIGKILL)

    def go(self):
        """Opening blocks until the command reads: it is alive and waiting."""
        with open(self.work / "go", "w", encoding="utf-8") as file:
            file.write("go\n")

    def wait_for_spool(self, want=b"early\n"):
        task = self.only_task()
        for name, text in (("out", want), ("err", b"warned\n")):
            wait_until(f"the output is in {name}",
                       lambda file=task / name, text=text: file.exists() and file.read_bytes() == text)
        return task

    def expect_no_daemon(self):
        pid = int((self.work / "daemon").read_text())
        self.expect_gone(pid)

    def expect_state(self, task):
        """Waits for the record of the end."""
        wait_until("the end is on disk", lambda: (task / "state.json").exists())
        return json.loads((task / "state.json").read_text())


class Kill(Killing):
    def test_after_the_death_of_nacre_the_command_goes_on_to_its_end(self):
        nacre, keeper, init, command = self.begin()
        self.kill(nacre.pid)
        nacre.wait(DEADLINE)
        self.assertTrue(is_alive(keeper) and is_alive(init) and is_alive(command))
        task = self.only_task()
        self.go()
        state = self.expect_state(task)
        self.assertEqual((state["end"], state["status"]), ("exited", 3 << 8))
        self.assertEqual(state["out"]["bytes"], len(LATE_OUT))
        self.assertEqual((task / "out").read_bytes(), LATE_OUT)
        self.assertEqual((task / "err").read_bytes(), b"warned\n")
        self.assertEqual(json.loads((task / "spec.json").read_text())["task_id"], task.name)
        self.expect_gone(keeper, init, command)
        self.expect_no_daemon()

    def test_after_the_death_of_nacre_the_time_limit_still_holds(self):
        nacre, keeper, init, command = self.begin("--timeout", "4s", "--grace", "100ms")
        self.kill(nacre.pid)
        nacre.wait(DEADLINE)
        state = self.expect_state(self.only_task())
        self.assertEqual(state["end"], "timeout")
        self.expect_gone(keeper, init, command)
        self.expect_no_daemon()

    def test_a_dead_nacre_is_not_kept_half_alive_by_what_it_inherited(self):
        reader, writer = os.pipe()
        nacre = self.start("-c", LINE, pass_fds=[writer], stdout=writer, stderr=writer)
        os.close(writer)
        self.wait_for_file(self.work / "ready")
        self.kill(nacre.pid)
        os.set_blocking(reader, False)

        def ended():
            try:
                return os.read(reader, 100) == b""
            except BlockingIOError:
                return False
        wait_until("the pipe ends with nacre", ended, 10)
        os.close(reader)
        self.go()
        self.expect_state(self.only_task())

    def test_after_the_death_of_the_keeper_init_ends_the_tree_and_nacre_tells(self):
        nacre, keeper, init, command = self.begin()
        self.wait_for_spool()
        self.kill(keeper)
        done = self.finish(nacre)
        result = json.loads(done.out)
        self.assertEqual((done.code, result["exit_code"], result["success"]), (125, 125, False))
        self.assertIn("the keeper of this command was killed", result["reason"])
        self.assertEqual((result["stdout"], result["stderr"]), ("early\n", "warned\n"))
        with open(result["output_file"], "rb") as file:
            self.assertEqual(file.read(), b"early\n")
        self.expect_gone(init, command)
        self.expect_no_daemon()

    def test_after_the_death_of_the_keeper_people_are_told_too(self):
        nacre = self.start("-c", LINE)
        self.wait_for_file(self.work / "ready")
        keeper, init, command = self.below(nacre.pid)
        self.wait_for_spool()
        self.kill(keeper)
        done = self.finish(nacre)
        self.assertEqual((done.code, done.out), (125, b"early\n"))
        self.assertIn(b"nacre: the keeper of this command was killed", done.err)
        self.expect_gone(init, command)

    def test_after_the_death_of_init_the_keeper_ends_the_tree_and_reports(self):
        nacre, keeper, init, command = self.begin()
        self.kill(init)
        done = self.finish(nacre)
        result = json.loads(done.out)
        self.assertEqual((done.code, result["exit_code"], result["signal"]), (125, 125, None))
        self.assertIn("init process was killed", result["reason"])
        self.assertEqual((result["stdout"], result["stderr"]), ("early\n", "warned\n"))
        self.assertEqual(result["killed"], 2)
        self.assertFalse(is_alive(command), "the result came before the end of the tree")
        self.expect_no_daemon()
        self.expect_gone(keeper)

    def test_a_command_that_is_killed_is_137_and_its_daemon_goes_with_it(self):
        nacre, _, _, command = self.begin()
        self.kill(command)
        done = self.finish(nacre)
        result = json.loads(done.out)
        self.assertEqual((done.code, result["signal"], result["stdout"]), (137, "SIGKILL", "early\n"))
        self.assertIsNone(result["reason"])
        self.expect_no_daemon()

    def test_other_signals_do_not_move_keeper_and_init(self):
        nacre, keeper, init, _ = self.begin()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(keeper, number)
            os.kill(init, number)
        self.go()
        done = self.finish(nacre)
        self.assertEqual((done.code, json.loads(done.out)["stdout_bytes"]), (3, len(LATE_OUT)))


class Batch(Killing):
    """The same with a launcher between nacre and its keepers."""

    def open_batch(self, *options):
        self.batch = self.start("--batch", *options, stdin=subprocess.PIPE)
        return self.find("nacre-launcher", self.batch.pid).pid

    def ask(self, **request):
        self.batch.stdin.write(json.dumps(request).encode() + b"\n")
        self.batch.stdin.flush()

    def answer(self):
        return json.loads(self.batch.stdout.readline())

    def begin_batch(self):
        launcher = self.open_batch()
        self.ask(id=1, command=LINE)
        self.wait_for_file(self.work / "ready")
        return launcher, *self.below(launcher)

    def end_batch(self):
        self.batch.stdin.close()
        self.assertEqual((self.batch.wait(DEADLINE), self.batch.stdout.read()), (0, b""))

    def test_after_the_death_of_the_launcher_keepers_go_on_and_the_next_request_gets_a_new_one(self):
        launcher, *_ = self.begin_batch()
        self.kill(launcher)
        wait_until("the launcher is dead", lambda: not is_alive(launcher))
        self.ask(id=2, command="echo second")
        second = self.answer()
        self.assertEqual((second["id"], second["result"]["stdout"]), (2, "second\n"))
        self.assertNotEqual(self.find("nacre-launcher", self.batch.pid).pid, launcher)
        self.go()
        first = self.answer()
        self.assertEqual((first["id"], first["result"]["exit_code"]), (1, 3))
        self.assertEqual(first["result"]["stdout_bytes"], len(LATE_OUT))
        self.end_batch()

    def test_after_the_death_of_the_batch_its_commands_go_on(self):
        launcher, keeper, *_ = self.begin_batch()
        self.kill(self.batch.pid)
        self.batch.wait(DEADLINE)
        self.expect_gone(launcher)
        self.assertTrue(is_alive(keeper))
        task = self.only_task()
        self.go()
        self.assertEqual(self.expect_state(task)["status"], 3 << 8)
        self.assertEqual((task / "out").read_bytes(), LATE_OUT)

    def test_the_death_of_a_keeper_is_one_requests_affair(self):
        _, keeper, init, command = self.begin_batch()
        self.wait_for_spool()
        self.kill(keeper)
        first = self.answer()
        self.assertEqual((first["id"], first["result"]["exit_code"]), (1, 125))
        self.assertEqual(first["result"]["stdout"], "early\n")
        self.ask(id=2, command="echo second")
        self.assertEqual(self.answer()["result"]["stdout"], "second\n")
        self.end_batch()
        self.expect_gone(init, command)

    def test_the_death_of_init_is_one_requests_affair(self):
        _, _, init, command = self.begin_batch()
        self.kill(init)
        first = self.answer()
        self.assertEqual((first["id"], first["result"]["exit_code"]), (1, 125))
        self.assertIn("init process was killed", first["result"]["reason"])
        self.assertFalse(is_alive(command))
        self.end_batch()


if __name__ == "__main__":
    unittest.main()
