"""Processes of other tasks of a session, as a command sees them: to be found and ended, and nothing more."""
import json
import os
import re
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, wait_until
from mcp_client import Client

MARK = "mark-of-a-stand-in"


class StandInTest(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.home = self.dir / "home"
        self.home.mkdir()
        self.env["HOME"] = str(self.home)
        self.options = {}
        self.addCleanup(self.end_tasks)

    def nacre(self, *args):
        return subprocess.run([self.options.get("program", NACRE), *args], env=self.env, capture_output=True, text=True,
                              timeout=2 * DEADLINE, check=False, cwd=self.work,
                              **{key: value for key, value in self.options.items() if key != "program"}).stdout

    def running(self):
        return [task["task_id"] for task in json.loads(self.nacre("tasks", "--running", "--json"))["tasks"]]

    def end_tasks(self):
        for task in self.running():
            self.nacre("stop", task)

    def call(self, line, *options, session="s"):
        result = self.run_json("--session", session, *options, "-c", line, **self.options)
        if (result.get("sandbox") or {}).get("tier") == "landlock":
            self.skipTest("userns: not permitted here")
        return result

    def serve(self, line=f"exec -a {MARK} sleep 1000", session="s"):
        """A task that later calls can find."""
        result = self.call(line, "--background", session=session)
        wait_until("it can be found", lambda: (self.state / "tasks" / result["task_id"] / "root").exists())
        wait_until("it runs", lambda: MARK in self.call("ps ax", session=session)["stdout"])
        return result["task_id"]

    def gone(self, task):
        wait_until("it has ended", lambda: task not in self.running())


class StandIns(StandInTest):
    def test_they_are_found_and_a_signal_is_sent_on(self):
        for line in (f"pkill -f ^{MARK}", f"kill $(pgrep -f ^{MARK})", f"pgrep -f ^{MARK} | xargs kill -9"):
            with self.subTest(line=line):
                task = self.serve()
                result = self.call(f"{line}; for i in 1 2 3 4 5 6 7 8 9; do pgrep -f ^{MARK} >/dev/null || break; sleep 0.1; done; "
                                   f"pgrep -f ^{MARK} || echo none")
                self.assertEqual(result["stdout"], "none\n", result)
                self.gone(task)

    def test_a_number_that_was_told_is_that_of_the_process(self):
        self.call(f"exec -a {MARK} sleep 1000 & echo $! >pid")
        [task] = self.running()
        result = self.call("kill -0 $(cat pid) && ps -o args= -p $(cat pid) && kill $(cat pid)")
        self.assertEqual((result["exit_code"], result["stdout"]), (0, f"{MARK} 1000\n"), result)
        self.gone(task)
        result = self.call("kill $(cat pid); echo alive")  # nobody has it, least of all the shell itself
        self.assertEqual(result["stdout"], "alive\n", result)
        self.assertIn("No such process", result["stderr"])

    def test_a_signal_with_a_handler_reaches_it(self):
        (self.work / "hup.py").write_text("import signal, time\nsignal.signal(signal.SIGHUP, lambda *_: open('again', 'w').close())\n"
                                          "open('up', 'w').close()\nwhile True:\n    time.sleep(0.1)\n")
        os.chmod(self.work / "hup.py", 0o644)
        task = self.serve(f"exec -a {MARK} python3 hup.py")
        wait_until("it has its handler", (self.work / "up").exists)
        self.assertEqual(self.call(f"pkill -HUP -f ^{MARK}")["exit_code"], 0)
        wait_until("its handler has run", (self.work / "again").exists)
        self.assertIn(task, self.running())

    def test_who_waits_for_its_end_sees_it(self):
        self.call("sh -c 'until [ -e go ]; do sleep 0.05; done; echo done >done' >/dev/null 2>&1 & echo $! >pid")
        result = self.call("kill -0 $(cat pid) && touch go; while kill -0 $(cat pid) 2>/dev/null; do sleep 0.05; done; cat done",
                           "--timeout", "30s")
        self.assertEqual(result["stdout"], "done\n", result)

    def test_a_signal_to_all_is_for_this_command_alone(self):
        task = self.serve()
        for line in ("bash -c 'kill -9 -1'; true", "kill -TERM -1; sleep 0.2", "kill -9 -1"):
            with self.subTest(line=line):
                self.call(line)
                self.assertIn(task, self.running())
        self.assertIn(MARK, self.call("ps ax")["stdout"])

    def test_the_end_of_a_command_is_its_own(self):
        task = self.serve()
        self.assertTrue(self.call("sleep 1000", "--timeout", "1s")["timed_out"])
        self.assertIn(task, self.running())
        other = self.call(f"exec -a other-{MARK} sleep 1000", "--background")["task_id"]
        self.nacre("stop", other)
        self.gone(other)
        self.assertEqual(self.running(), [task])
        self.assertIn(MARK, self.call("ps ax")["stdout"])

    def test_other_sessions_and_profiles_see_nothing(self):
        task = self.serve()
        for options, session in (((), "t"), (("--profile", "universal"), "s")):
            result = self.call(f"pkill -f ^{MARK}; ps ax", *options, session=session)
            self.assertNotIn(f"{MARK} 1000", result["stdout"])
        self.assertNotIn(MARK, self.run_json("-c", "ps ax", **self.options)["stdout"])
        self.assertIn(task, self.running())

    def test_nobody_can_look_into_one(self):
        self.serve()
        for line in ("cat /proc/$P/environ", "ls /proc/$P/fd/", "ls /proc/$P/root/", "ls /proc/$P/cwd/", "cat /proc/$P/maps",
                     "readlink /proc/$P/exe", "head -c1 /proc/$P/mem", "readlink /proc/$P/ns/mnt",
                     "python3 -c \"import ctypes, os; l = ctypes.CDLL(None, use_errno=True); "
                     "raise SystemExit(l.ptrace(16, int(os.environ['P']), 0, 0) != 0)\"",
                     "nsenter -t $P -m true"):
            for process in (f"^{MARK}", "'^nacre: tasks'"):
                with self.subTest(line=line, process=process):
                    result = self.call(f"export P=$(pgrep -f {process}); test -n \"$P\" || exit 0; {line}")
                    self.assertNotEqual(result["exit_code"], 0, result)
                    self.assertEqual(result["stdout"], "")

    def test_one_has_no_rights_and_no_room(self):
        self.serve()
        status = self.call(f"cat /proc/$(pgrep -f ^{MARK})/status")["stdout"]
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertIn(f"{name}:\t0000000000000000\n", status)
        self.assertIn("NoNewPrivs:\t1\n", status)
        mine = re.search(r"Uid:\t(\d+)", self.call("cat /proc/self/status")["stdout"]).group(1)
        self.assertIn(f"Uid:\t{mine}\t{mine}\t{mine}\t{mine}\n", status)

    def test_there_are_not_more_of_them_than_fit(self):
        self.call(f"for i in $(seq 60); do bash -c 'exec -a {MARK} sleep 1000' & done; sleep 0.5")
        count = int(self.call(f"pgrep -fc ^{MARK}")["stdout"])
        self.assertGreater(count, 4)
        self.assertLessEqual(count, 32)

    def test_nothing_is_left_of_them(self):
        self.serve()
        before = subprocess.run(["pgrep", "-fc", "^nacre: tasks of this session"], capture_output=True, text=True, check=False)
        for _ in range(3):
            self.call("true")
        after = subprocess.run(["pgrep", "-fc", "^nacre: tasks of this session"], capture_output=True, text=True, check=False)
        self.assertLessEqual(int(after.stdout), int(before.stdout) + 2)  # others may run tests

    def test_in_boxes_that_are_kept(self):
        client = Client(self, "--profile", "bash", **self.options)
        client.initialize()
        for i in range(4):
            text = client.text("Bash", {"command": f"exec -a {MARK}-{i} sleep 1000 & echo $! >pid"})
            [task] = re.findall(r"as task (bash-[0-9a-z]+)", text)
            text = client.text("Bash", {"command": "kill $(cat pid) && while kill -0 $(cat pid) 2>/dev/null; do sleep 0.05; done; ps ax"})
            self.assertNotIn(f"{MARK}-{i} 1000", text)
            self.assertIn("[exit 0", text)
            self.gone(task)
            self.assertIn("0\n[exit 1", client.text("Bash", {"command": f"pgrep -fc ^{MARK}"}))
        client.close()


class StandInsOfAUser(StandIns):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("root: the other class runs as this user already")
        self.options = self.as_ordinary_user()
        for path in (self.dir, self.work, self.home):
            os.chown(path, self.options["user"], self.options["user"])


if __name__ == "__main__":
    unittest.main()
