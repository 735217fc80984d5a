"""Commands that outlive their call: started in the background, listed, stopped, let go, cleared away."""
import json
import os
import random
import signal
import subprocess
import time
import unittest

from helpers import (DEADLINE, NACRE, QUICK, SANITIZED, SLACK, NacreTest, Done, ample, descendants, is_alive,
                     unused_uid, user_namespace_or_skip, wait_until)

# The full campaign is `NACRE_STORM=200 tests/integration/test_tasks.py Storm`.
STORM = int(os.environ.get("NACRE_STORM") or (2 if QUICK else 6))


class TaskTest(NacreTest):
    """What tests of tasks share: the other subcommands, and a command that waits for a word."""

    # Prints, says that it is ready, waits for a word, prints again.
    LINE = "echo early; echo ready >ready; read -r _ <go; echo late; exit 3"

    def setUp(self):
        super().setUp()
        os.mkfifo(self.work / "go")

    def nacre(self, *args, program=NACRE, **options):
        """Any subcommand."""
        options.setdefault("env", self.env)
        done = subprocess.run([program, *args], cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=2 * DEADLINE, **options)
        return Done(done.returncode, done.stdout, done.stderr, 0)

    def background(self, *args, **options):
        """The result of a command that was started as a task."""
        result = self.run_json("--background", *args, **options)
        self.assertTrue(result["success"] and result["background"], result)
        return result

    def list(self, *args, **options):
        done = self.nacre("tasks", "--json", *args, **options)
        self.assertEqual((done.code, done.err), (0, b""), done)
        return json.loads(done.out)

    def listed(self):
        """The one task that runs: a command is found by others when it has run for a moment."""
        wait_until("a task", lambda: self.list()["tasks"])
        [task] = self.list()["tasks"]
        return task

    def states(self):
        return {task["task_id"]: task["state"] for task in self.list("--all")["tasks"]}

    def output(self, task_id, *args, code=0, **options):
        done = self.nacre("output", "--json", *args, task_id, **options)
        self.assertEqual((done.code, done.err), (code, b""), done)
        return json.loads(done.out)

    def go(self):
        """Opening blocks until the command reads: it is alive and waiting."""
        with open(self.work / "go", "w", encoding="utf-8") as file:
            file.write("go\n")

    def wait_for_output(self, task_id, text="early\n"):
        """A command that has printed may be ahead of its keeper, which reads it."""
        wait_until("the output is kept", lambda: self.output(task_id)["output"] == text)

    def wait_for_end(self, task_id):
        return self.output(task_id, "--wait", ample(60))


class Background(TaskTest):
    def test_it_returns_at_once_and_goes_on(self):
        result = self.background("--description", "a test", "-c", self.LINE)
        self.assertRegex(result["task_id"], "^bash-[a-z0-9]{16}$")
        self.assertEqual(result["output_file"], str(self.tasks_dir(result) / "out"))
        self.assertTrue(os.path.exists(result["output_file"]), "its name was given away")
        self.assertIn(result["task_id"], result["note"])
        self.wait_for_file(self.work / "ready")
        [task] = self.list()["tasks"]
        self.assertEqual((task["task_id"], task["state"], task["exit_code"]),
                         (result["task_id"], "running", None))
        self.assertEqual((task["command"], task["description"]), (self.LINE, "a test"))
        self.wait_for_output(result["task_id"])
        self.go()
        end = self.wait_for_end(result["task_id"])
        self.assertEqual((end["state"], end["exit_code"], end["output"]),
                         ("failed", 3, "early\nlate\n"))
        self.assertEqual(self.states(), {result["task_id"]: "failed"})

    def tasks_dir(self, result):
        return self.tasks / result["task_id"]

    def test_in_a_script_the_id_is_all_of_the_output(self):
        done = self.run_nacre("--background", "-c", "echo x")
        task = done.out.decode().strip()
        self.assertEqual((done.code, task + "\n"), (0, done.out.decode()))
        self.assertIn(task.encode(), done.err)
        self.assertEqual(self.wait_for_end(task)["output"], "x\n")

    def test_both_streams_are_in_one_file_in_their_order(self):
        line = "for i in 1 2 3; do echo out$i; echo err$i >&2; done"
        result = self.background("-c", line)
        self.wait_for_end(result["task_id"])
        with open(result["output_file"], encoding="utf-8") as file:
            self.assertEqual(file.read(), "out1\nerr1\nout2\nerr2\nout3\nerr3\n")

    def test_what_cannot_be_started_is_told_at_once(self):
        done = self.run_nacre("--background", "--", "no-such-program-here")
        self.assertEqual(done.code, 127, done)
        self.assertEqual(self.list()["running"], 0)

    def test_what_may_not_be_run_is_no_task(self):
        done = self.run_nacre("--background", "-c", "rm -rf /")
        self.assertEqual(done.code, 126, done)
        self.assertEqual(self.task_dirs(), [])

    def test_a_task_has_no_time_limit_unless_one_is_asked_for(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\n"
                                       "timeout: {default: 100ms, max: 200ms, grace: 100ms}\n")
        free = self.background("-c", self.LINE)
        self.wait_for_file(self.work / "ready")
        bound = self.background("--timeout", "150ms", "--", "sleep", "1000")
        end = self.wait_for_end(bound["task_id"])
        self.assertEqual((end["state"], end["exit_code"]), ("timed out", 124))
        self.assertEqual(self.states()[free["task_id"]], "running")
        self.go()
        self.assertEqual(self.wait_for_end(free["task_id"])["exit_code"], 3)

    def test_it_survives_the_death_of_its_session(self):
        """The shell that called nacre ends, and so does its terminal."""
        result = self.background("-c", self.LINE, start_new_session=True)
        self.wait_for_file(self.work / "ready")
        self.go()
        self.assertEqual(self.wait_for_end(result["task_id"])["exit_code"], 3)

    def test_an_agent_starts_one_by_its_dialect(self):
        done = self.nacre("call", "Bash", json.dumps(
            {"command": "echo hi", "run_in_background": True, "description": "greet"}))
        answer = json.loads(done.out)
        self.assertTrue(answer["success"])
        self.assertIn(answer["task_id"], answer["stdout"])
        self.assertEqual(self.wait_for_end(answer["task_id"])["output"], "hi\n")
        self.assertTrue(answer["output_file"].endswith(answer["task_id"] + "/out"))

    def test_a_batch_does_not_wait_for_it(self):
        lines = [{"id": 1, "argv": ["cat", "go"], "background": True},
                 {"id": 2, "argv": ["echo", "done"]}]
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        done = self.run_nacre("--batch", "--jobs", "1", input=text)
        answers = {a["id"]: a["result"] for a in map(json.loads, done.out.splitlines())}
        self.assertTrue(answers[1]["background"])
        self.assertEqual(answers[2]["stdout"], "done\n")
        self.assertEqual(self.states()[answers[1]["task_id"]], "running")
        self.go()
        self.assertEqual(self.wait_for_end(answers[1]["task_id"])["output"], "go\n")

    def test_in_a_box_and_for_an_ordinary_user_it_is_the_same(self):
        self.config.joinpath("nacre", "bash.yaml").unlink()
        user = self.as_ordinary_user()
        result = self.background("-c", "echo early; sleep 1000", **user)
        options = {key: user[key] for key in user if key != "program"}
        program = user.get("program", NACRE)
        wait_until("it prints", lambda: self.output(result["task_id"], program=program,
                                                    **options)["output"] == "early\n")
        stopped = self.nacre("stop", result["task_id"], program=program, **options)
        self.assertEqual(stopped.out.decode(), result["task_id"] + " stopped\n", stopped)
        self.assertEqual(self.list(program=program, **options)["running"], 0)


class Stopping(TaskTest):
    def test_the_whole_tree_is_ended(self):
        result = self.background("-c", "setsid sleep 1000 & echo $! >daemon; sleep 1000")
        daemon = int(self.wait_for_file(self.work / "daemon"))
        done = self.nacre("stop", result["task_id"])
        self.assertEqual((done.code, done.out.decode()), (0, result["task_id"] + " stopped\n"))
        self.assertFalse(is_alive(daemon))
        [task] = self.list()["tasks"]
        self.assertEqual((task["state"], task["exit_code"]), ("stopped", 143))
        self.assertFalse((self.tasks_path(result) / "sock").exists())

    def tasks_path(self, result):
        return self.tasks / result["task_id"]

    def test_a_command_may_clear_up_in_its_grace(self):
        result = self.background(
            "-c", "trap 'echo bye; exit 0' TERM; echo ready >ready; while :; do sleep 0.02; done")
        self.wait_for_file(self.work / "ready")
        self.nacre("stop", result["task_id"])
        self.assertTrue(self.output(result["task_id"])["output"].endswith("bye\n"))

    def test_now_does_not_ask(self):
        result = self.background(
            "--grace", "60s", "-c", "trap '' TERM; echo ready >ready; while :; do sleep 0.02; done")
        self.wait_for_file(self.work / "ready")
        began = time.monotonic()
        done = self.nacre("stop", "--now", "--json", result["task_id"])
        self.assertLess(time.monotonic() - began, 30 + SLACK)
        self.assertEqual(json.loads(done.out)["signal"], "SIGKILL")

    def test_several_by_the_beginning_of_their_ids(self):
        ids = [self.background("--", "sleep", "1000")["task_id"] for _ in range(3)]
        done = self.nacre("stop", *(task[:14] for task in ids[:2]), ids[2][5:16])
        self.assertEqual((done.code, done.out.decode().count("stopped")), (0, 3), done)
        again = self.nacre("stop", ids[0])
        self.assertEqual((again.code, again.out.decode()), (0, ids[0] + " stopped already\n"))

    def test_unknown_and_ambiguous_ids_are_refused(self):
        for _ in range(2):
            self.wait_for_end(self.background("--", "true")["task_id"])
        for word, words in (("bash-zzzzzz", b"no task"), ("bash-", b"more than one"),
                            ("../../x", b"no task"), ("", b"no task")):
            for command in ("stop", "output"):
                done = self.nacre(command, word)
                self.assertEqual((done.code, done.out), (125, b""), done)
                self.assertIn(words, done.err)

    def test_a_foreground_command_can_be_stopped_from_elsewhere(self):
        nacre = self.start("--json", "-c", self.LINE)
        self.wait_for_file(self.work / "ready")
        self.nacre("stop", self.listed()["task_id"])
        self.assertEqual(json.loads(self.finish(nacre).out)["exit_code"], 143)

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_another_user_cannot_reach_it(self):
        python = "/usr/bin/python3"  # another user may not be able to reach ours
        if not os.path.exists(python):
            self.skipTest("no Python that everybody can run")
        result = self.background("-c", self.LINE)
        self.wait_for_file(self.work / "ready")
        os.chmod(self.dir, 0o755)
        os.chmod(self.state, 0o755)
        os.chmod(self.tasks, 0o755)
        os.chmod(self.tasks_path(result), 0o755)
        os.chmod(self.tasks_path(result) / "sock", 0o666)  # as if somebody had opened it all up
        script = ("import socket, struct, sys\n"
                  "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                  "s.connect(sys.argv[1])\n"
                  "try:\n"
                  "    s.send(struct.pack('I', 1))\n"
                  "    print(len(s.recv(100)))\n"
                  "except OSError:  # closed before it was read\n"
                  "    print(0)\n")
        done = subprocess.run([python, "-c", script, str(self.tasks_path(result) / "sock")],
                              user=unused_uid(), group=unused_uid(), extra_groups=[],
                              capture_output=True, check=False, timeout=DEADLINE)
        self.assertEqual(done.stdout, b"0\n", done)
        self.assertEqual(self.states(), {result["task_id"]: "running"})
        self.nacre("stop", "--now", result["task_id"])

    def test_clients_that_only_hang_on_do_not_keep_others_out_for_ever(self):
        import socket
        result = self.background("-c", self.LINE)
        self.wait_for_file(self.work / "ready")
        os.chdir(self.tasks_path(result))
        self.addCleanup(os.chdir, "/")
        idle = []
        for _ in range(20):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.settimeout(DEADLINE)
            client.connect("sock")
            client.recv(100)
            idle.append(client)
        for client in idle:
            client.close()
        self.assertEqual(self.nacre("stop", result["task_id"]).code, 0)


class LettingGo(TaskTest):
    def test_at_the_time_limit_a_profile_may_let_a_command_go_on(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\n"
                                       "timeout: {on_timeout: background}\n")
        result = self.run_json("--timeout", "300ms", "-c", self.LINE)
        self.assertTrue(result["background"] and result["timed_out"], result)
        self.assertIn("still running after 300ms", result["note"])
        self.assertEqual(self.states(), {result["task_id"]: "running"})
        self.go()
        end = self.wait_for_end(result["task_id"])
        self.assertEqual((end["exit_code"], end["stdout"]), (3, "early\nlate\n"))

    def test_on_a_terminal_control_z_lets_it_go_on(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        nacre = self.start("-c", self.LINE, stdin=slave, stdout=slave, stderr=slave,
                           env={"TERM": "dumb"}, start_new_session=True)
        os.close(slave)
        self.wait_for_file(self.work / "ready")
        nacre.send_signal(signal.SIGTSTP)
        self.assertEqual(nacre.wait(DEADLINE), 0)
        [task] = self.list()["tasks"]
        self.assertEqual(task["state"], "running")
        text = os.read(master, 65536).decode()
        self.assertIn(task["task_id"], text)
        self.go()
        self.assertEqual(self.wait_for_end(task["task_id"])["exit_code"], 3)


class Lost(TaskTest):
    def test_a_task_without_keeper_is_lost_and_never_running(self):
        result = self.background("-c", self.LINE)
        self.wait_for_output(result["task_id"])
        os.kill(self.find("nacre-keeper").pid, signal.SIGKILL)
        wait_until("it is lost", lambda: self.states() == {result["task_id"]: "lost"})
        end = self.output(result["task_id"], "--wait", "10s")
        self.assertEqual((end["state"], end["exit_code"], end["output"]),
                         ("lost", None, "early\n"))
        done = self.nacre("stop", result["task_id"])
        self.assertEqual((done.code, done.out.decode()), (0, result["task_id"] + " lost already\n"))

    def test_after_a_reboot_all_that_ran_is_lost(self):
        """Simulated: every process is killed at once, the files stay."""
        ids = {self.background("--", "sleep", "1000")["task_id"] for _ in range(5)}
        ended = self.background("--", "true")["task_id"]
        self.wait_for_end(ended)
        for process in descendants():
            os.kill(process.pid, signal.SIGSTOP)
        for process in descendants():
            os.kill(process.pid, signal.SIGKILL)
        wait_until("all is dead", lambda: not descendants())
        self.assertEqual(self.states(), {**{task: "lost" for task in ids}, ended: "finished"})
        self.assertEqual(self.list("--running")["tasks"], [])

    def test_a_start_that_was_cut_off_is_lost(self):
        self.wait_for_end(self.background("--", "true")["task_id"])
        os.mkdir(self.tasks_dir("bash-aaaaaaaaaaaaaaaa"), 0o700)
        self.tasks_dir("bash-bbbbbbbbbbbbbbbb").mkdir(mode=0o700)
        (self.tasks_dir("bash-bbbbbbbbbbbbbbbb") / "spec.json").write_text('{"task_id":"bash-b')
        self.tasks_dir("bash-cccccccccccccccc").mkdir(mode=0o700)
        (self.tasks_dir("bash-cccccccccccccccc") / "state.json").write_text("{")
        states = self.states()
        for letter in "abc":
            self.assertEqual(states["bash-" + letter * 16], "lost")
            self.assertEqual(self.nacre("output", letter * 16).code, 0)

    def tasks_dir(self, task_id):
        return self.tasks / task_id


class Listing(TaskTest):
    def test_nothing_is_made_where_there_is_nothing(self):
        done = self.nacre("tasks")
        self.assertEqual((done.code, done.out, done.err), (0, b"", b""))
        self.assertFalse(self.state.exists())

    def test_the_table_has_a_line_for_each(self):
        self.wait_for_end(self.background("--description", "first", "-c", "exit 4")["task_id"])
        running = self.background("-c", self.LINE)["task_id"]
        self.wait_for_file(self.work / "ready")
        lines = self.nacre("tasks").out.decode().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[1].startswith(running + "  running"), lines)
        self.assertIn("failed (4)", lines[2])
        self.assertIn("# first", lines[2])
        self.nacre("stop", "--now", running)

    def test_escape_sequences_of_a_command_do_not_reach_the_terminal(self):
        self.wait_for_end(self.background("--description", "\33[2J", "--", "true", "\33]0;x\7")
                          ["task_id"])
        self.assertNotIn(b"\33", self.nacre("tasks").out)

    def test_a_limit_holds_for_those_that_ended(self):
        for _ in range(4):
            self.wait_for_end(self.background("--", "true")["task_id"])
        self.assertEqual(len(self.list("--limit", "2")["tasks"]), 2)
        self.assertEqual(self.list("--limit", "2")["ended"], 4)
        self.assertEqual(len(self.list("--all")["tasks"]), 4)
        self.assertIn(b"2 more", self.nacre("tasks", "--limit", "2").err)


    def test_the_mark_of_an_ended_task_is_a_help_and_no_more(self):
        """A directory that is not marked is looked into; one that is marked and holds no report was lost."""
        ids = [self.background("-c", "echo x")["task_id"] for _ in range(3)]
        for task in ids:
            self.wait_for_end(task)
        places = [self.state / "tasks" / task for task in ids]
        self.assertEqual({place.stat().st_mode & 0o7777 for place in places}, {0o1700})
        places[0].chmod(0o700)
        (places[1] / "state.json").unlink()
        self.assertEqual(self.states(), {ids[0]: "finished", ids[1]: "lost", ids[2]: "finished"})


class Retention(TaskTest):
    def test_clean_deletes_by_age_and_size_and_nothing_that_runs(self):
        running = self.background("-c", self.LINE)["task_id"]
        self.wait_for_file(self.work / "ready")
        ids = []
        for age in (100, 5, 1):
            task = self.background("-c", "head -c 100000 /dev/zero")["task_id"]
            self.wait_for_end(task)
            wait_until("its keeper has left", lambda: len(self.keepers()) == 1)
            old = time.time() - age * 86400
            os.utime(self.tasks / task, (old, old))
            ids.append(task)
        self.assertEqual(self.nacre("tasks", "--clean").out, b"1 deleted\n")
        self.assertEqual(set(self.states()), {running, ids[1], ids[2]})
        self.assertEqual(self.nacre("tasks", "--clean", "--keep", "150K").out, b"1 deleted\n")
        self.assertEqual(set(self.states()), {running, ids[2]})
        self.assertEqual(self.nacre("tasks", "--clean", "--all").out, b"1 deleted\n")
        self.assertEqual(self.states(), {running: "running"})
        self.nacre("stop", "--now", running)

    def keepers(self):
        return [p for p in descendants() if p.name == "nacre-keeper"]


class FullDisk(TaskTest):
    def test_the_command_and_other_tasks_go_on_and_the_loss_is_told(self):
        words = user_namespace_or_skip(self)
        if os.geteuid() != 0:  # the owner of / is nobody in there, so no file of ours is trusted
            self.config.joinpath("nacre", "bash.yaml").unlink()
        self.state.mkdir(mode=0o700)
        script = ('mount -t tmpfs -o size=2m,mode=700 none "$1" && shift &&'
                  ' quiet=$("$1" run --background -c "read -r _ <go; echo small; exit 5") &&'
                  ' id=$("$1" run --background -c "head -c 8000000 /dev/zero; echo end; exit 4") &&'
                  ' "$1" output --json --wait 60s "$id" --tail 1 &&'
                  ' "$1" run --json --truncate tail:100 -c "echo fine" && echo go >go &&'
                  ' "$1" output --json --wait 60s "$quiet"')
        done = subprocess.run([*words, "sh", "-c", script, "sh", str(self.state), NACRE],
                              env=self.env, cwd=self.work, capture_output=True, check=False,
                              timeout=2 * DEADLINE)
        self.assertEqual(done.returncode, 0, done)
        full, other, quiet = map(json.loads, done.stdout.splitlines())
        self.assertEqual((full["state"], full["exit_code"]), ("failed", 4))
        self.assertEqual(full["stdout_bytes"], 8_000_004)
        self.assertGreater(full["lost_bytes"], 5_000_000)
        self.assertEqual(other["stdout"], "fine\n")
        self.assertEqual((quiet["state"], quiet["exit_code"]), ("failed", 5))


class Storm(TaskTest):
    """kill -9 of a server or of many CLIs at random moments while twenty tasks print."""

    TASKS = 20
    LINES = 150
    # Numbered lines with small pauses, then a status that tells the task.
    PRINTER = ("i=0; while [ $i -lt {lines} ]; do i=$((i+1)); echo line $i of {number};"
               " [ $((i % 10)) = 0 ] && sleep 0.01; done; exit {number}")

    def line(self, number):
        return self.PRINTER.format(lines=self.LINES, number=number)

    def start_server(self):
        popen = self.start("--batch", "--jobs", str(self.TASKS), stdin=subprocess.PIPE)
        for number in range(self.TASKS):
            request = {"id": number, "command": self.line(number), "background": number % 2 == 0,
                       "output_mode": "separate"}
            popen.stdin.write(json.dumps(request).encode() + b"\n")
        popen.stdin.flush()
        return [popen]

    def start_clients(self):
        return [self.start(*(["--background"] if number % 2 else []), "--output-mode", "separate",
                           "-c", self.line(number)) for number in range(self.TASKS)]

    def kill_in_the_middle(self, moment):
        server = moment % 3 != 2
        popens = self.start_server() if server else self.start_clients()
        time.sleep(random.random() * (0.4 if server else 0.05))
        for popen in popens:
            popen.kill()
            popen.communicate()
        self.started = []

    def expect_all_told(self, ids):
        """Every task is known and has ended, with all of its lines and its own status."""
        tasks = {task["task_id"]: task for task in self.list("--all")["tasks"]}
        self.assertEqual(set(tasks), ids)
        whole = 0
        for task_id, task in tasks.items():
            path = self.tasks / task_id
            if not (path / "spec.json").exists():  # killed before the order was given: never ran
                self.assertEqual(task["state"], "lost")
                self.assertEqual((path / "out").exists(), False)
                continue
            number = int(task["command"].split("exit ")[1])
            self.assertEqual((task["state"], task["exit_code"]),
                             ("failed" if number else "finished", number), task)
            want = "".join(f"line {i} of {number}\n" for i in range(1, self.LINES + 1))
            self.assertEqual((path / "out").read_text(), want)
            whole += 1
        return whole

    def test_no_line_no_status_and_no_task_is_lost(self):
        whole = 0
        for moment in range(STORM):
            self.give_up_after(2 * DEADLINE)
            self.kill_in_the_middle(moment)
            wait_until("all has ended", lambda: not descendants())
            ids = {path.name for path in self.task_dirs()}
            whole += self.expect_all_told(ids)
            self.assertEqual(self.nacre("tasks", "--clean", "--all").code, 0)
            self.assertEqual(self.task_dirs(), [])
        if os.environ.get("NACRE_STORM"):
            print(f"# killed at {STORM} moments, {whole} tasks whole")
        self.assertGreater(whole, 0)


class Many(TaskTest):
    """Some of the 500 tasks of the bench, and how much memory each has for itself."""

    COUNT = 10 if QUICK else 40

    def test_many_tasks_at_once_are_small(self):
        requests = [{"id": i, "argv": ["sleep", "1000"], "background": True}
                    for i in range(self.COUNT)]
        text = "".join(json.dumps(line) + "\n" for line in requests).encode()
        done = self.run_nacre("--batch", "--jobs", "8", input=text)
        ids = [json.loads(line)["result"]["task_id"] for line in done.out.splitlines()]
        self.assertEqual(self.list()["running"], self.COUNT)
        own = [p for p in descendants() if p.name in ("nacre-keeper", "nacre-init")]
        self.assertEqual(len(own), 2 * self.COUNT)
        if not SANITIZED and os.geteuid() == 0:  # keepers do not let others look into them
            kib = sum(self.private_kib(p.pid) for p in own) / self.COUNT
            self.assertLess(kib, 1024)
        done = self.nacre("stop", "--now", *ids)
        self.assertEqual(done.out.decode().count("stopped"), self.COUNT)

    @staticmethod
    def private_kib(pid):
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


class Kept(NacreTest):
    """Tasks in a kept box: who started them goes, and the box with them only when they have ended."""
    BOXED = True

    def test_tasks_outlive_the_launcher_and_the_sweeps_of_others(self):
        requests = "".join(json.dumps({"id": i, "argv": ["sleep", "300"], "background": True}) + "\n" for i in range(6))
        done = self.run_nacre("--batch", "--jobs", "2", "--workspace", str(self.work), input=requests.encode())
        ids = {json.loads(line)["result"]["task_id"] for line in done.out.splitlines()}
        try:
            # Both a box of its own and a kept one look for what others have left.
            self.assertEqual(self.run_nacre("--workspace", str(self.work), "-c", "true").code, 0)
            self.run_nacre("--batch", "--workspace", str(self.work), input=b'{"command":"true"}\n{"command":"true"}\n')
            listed = subprocess.run([NACRE, "tasks", "--running", "--json"], env=self.env, check=True, capture_output=True,
                                    timeout=DEADLINE).stdout
            self.assertEqual({task["task_id"] for task in json.loads(listed)["tasks"]}, ids)
        finally:
            subprocess.run([NACRE, "stop", "--now", *ids], env=self.env, check=True, capture_output=True, timeout=DEADLINE)


if __name__ == "__main__":
    unittest.main()
