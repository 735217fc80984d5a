"""What a foreground command leaves running: with room.leftover: keep it goes on as a task, which is named."""
import json
import os
import shutil
import signal
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, descendants, wait_until
from mcp_client import Client
from serving import ServeTest

SERVER = """import http.server, os, sys
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
if sys.argv[1:] == ["daemon"] and (os.fork() or os.setsid() or os.fork()):
    os._exit(0)
with open("port.new", "w") as file:
    file.write(f"{server.server_port}\\n")
os.rename("port.new", "port")
print("serving", flush=True)
server.serve_forever()
"""
UP = "until [ -e port ]; do sleep 0.02; done"
START = f"python3 server.py & {UP}; echo up"


class LeftTest(NacreTest):
    """In the box unless a class says otherwise."""

    BOXED = True
    options = {}

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_tasks)  # before it is looked whether something is left
        (self.work / "server.py").write_text(SERVER)
        os.chmod(self.work / "server.py", 0o644)

    def nacre(self, *args, **more):
        options = {**self.options, **more}
        program = options.pop("program", NACRE)
        done = subprocess.run([program, *args], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=2 * DEADLINE, **options)
        return done.stdout.decode()

    def list_tasks(self):
        return json.loads(self.nacre("tasks", "--running", "--json"))["tasks"]

    def end_tasks(self):
        for task in self.list_tasks():
            self.nacre("stop", task["task_id"])

    def task(self, id):
        [task] = [task for task in json.loads(self.nacre("tasks", "--json"))["tasks"] if task["task_id"] == id]
        return task

    def read(self, task, stream="stdout"):
        return json.loads(self.nacre("output", "--json", "--stream", stream, task))[stream]

    def run_left(self, *args, **more):
        """A result with something left running; its task runs."""
        result = self.run_json(*args, **{**self.options, **more})
        self.assertTrue(result["left_running"], result)
        self.assertFalse(result["background"])
        self.assertEqual(self.task(result["task_id"])["state"], "running")
        return result

    def port(self):
        return int(self.wait_for_file(self.work / "port"))

    def records(self, task):
        records = json.loads(self.nacre("audit", "show", "--all", "--json"))["records"]
        return [record for record in records if record.get("task_id") == task]

    def expect_served(self, result, name="python3"):
        """The result, the list and the log tell of the server; a stop ends exactly that."""
        port, task = self.port(), result["task_id"]
        self.assertEqual((result["success"], result["exit_code"]), (True, 0))
        [server] = [process for process in result["left_running"] if port in process["ports"]]
        self.assertEqual(server["name"], name)
        [notice] = [text for text in result["notices"] if task in text]
        self.assertIn(f"{name} (pid {server['pid']}, port {port}) is still running", notice)
        self.assertIn(f"`nacre stop {task}`", notice)
        self.assertEqual(self.task(task)["ports"], [port])
        self.assertIn(f"port {port}", self.nacre("tasks"))
        self.assertIn("stopped", self.nacre("stop", task))
        wait_until("all is gone", lambda: not descendants())
        self.assertEqual(self.task(task)["state"], "stopped")
        events = [record["event"] for record in self.records(task)]
        self.assertEqual(events[-3:], ["started", "left", "ended"])
        left = self.records(task)[-2]
        self.assertIn(name, left["left"])
        self.assertEqual(left["exit_code"], 0)


class Spellings(LeftTest):
    def test_a_job_of_the_shell(self):
        result = self.run_left("-c", START)
        self.assertEqual(sorted(result["stdout"].split()), ["serving", "up"])  # it holds the pipes open
        self.expect_served(result)

    def test_nohup(self):
        self.expect_served(self.run_left("-c", f"nohup python3 server.py >log 2>&1 & {UP}"))

    def test_a_session_of_its_own(self):
        self.expect_served(self.run_left("-c", f"setsid python3 server.py >log 2>&1 & {UP}"))

    def test_a_daemon(self):
        self.expect_served(self.run_left("-c", f"python3 server.py daemon; {UP}"))

    def test_a_daemon_without_a_shell(self):
        self.expect_served(self.run_left("--", "python3", "server.py", "daemon"))

    def test_tmux(self):
        if not shutil.which("tmux"):
            self.skipTest("tmux: not installed")
        result = self.run_left("-c", f"export TMUX_TMPDIR=$PWD; tmux new-session -d 'exec python3 server.py' && {UP}")
        port = self.port()
        self.assertIn(port, [port for process in result["left_running"] for port in process["ports"]])
        self.assertIn("stopped", self.nacre("stop", result["task_id"]))
        wait_until("all is gone", lambda: not descendants())

    def test_a_pid_is_what_the_command_saw(self):
        result = self.run_left("-c", "sleep 1000 & echo $!")
        self.assertEqual([(p["pid"], p["name"], p["ports"]) for p in result["left_running"]],
                         [(int(result["stdout"]), "sleep", [])])

    def test_a_job_in_a_background_task(self):
        task = self.nacre("run", "--background", "-c", f"python3 server.py & {UP}").strip()
        port = self.port()
        wait_until("the shell has ended", lambda: "left" in [r["event"] for r in self.records(task)])
        self.assertEqual(self.task(task)["ports"], [port])
        self.assertEqual(self.task(task)["state"], "running")


class AsUser(Spellings):
    def setUp(self):
        super().setUp()
        self.options = self.as_ordinary_user()
        os.chown(self.work / "server.py", self.options.get("user", -1), -1)


class WithoutNamespaces(Spellings):
    def setUp(self):
        super().setUp()
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: landlock, network: host}\n")

    test_tmux = None  # it wants a terminal of its own, and only six devices can be opened in this tier


class WithoutBox(Spellings):
    def setUp(self):
        super().setUp()
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\n")


class Limits(LeftTest):
    def test_what_only_ends_is_no_task(self):
        result = self.run_json("-c", "sleep 0.01 & echo hi")
        self.assertEqual((result["left_running"], result["notices"]), ([], []))
        self.assertEqual(self.list_tasks(), [])

    def test_later_output_is_the_task_s(self):
        result = self.run_left("-c", "(until [ -e go ]; do sleep 0.02; done; echo later; echo wrong >&2; sleep 1000) & echo now")
        self.assertEqual(result["stdout"], "now\n")
        (self.work / "go").touch()
        for stream, text in (("stdout", "now\nlater\n"), ("stderr", "wrong\n")):
            wait_until("it is there", lambda: self.read(result["task_id"], stream) == text)

    def test_it_ends_by_itself(self):
        result = self.run_left("-c", "(until [ -e go ]; do sleep 0.02; done; echo later) & exit 3")
        self.assertEqual(result["exit_code"], 3)
        (self.work / "go").touch()
        wait_until("it has ended", lambda: self.task(result["task_id"])["state"] == "failed")
        self.assertEqual(self.task(result["task_id"])["exit_code"], 3)
        self.assertEqual(self.read(result["task_id"]), "later\n")

    def test_a_time_limit_that_was_asked_for_holds(self):
        result = self.run_left("--timeout", "3s", "-c", "sleep 1000 & true")
        self.assertIn("Its time limit stays 3s", result["notices"][0])
        wait_until("it has timed out", lambda: self.task(result["task_id"])["state"] == "timed out")
        wait_until("all is gone", lambda: not descendants())

    def test_the_usual_time_limit_is_for_who_waits(self):
        self.write_config("bash.yaml", "profile: bash\ntimeout: {default: 2s}\n")
        result = self.run_left("-c", "(sleep 4; echo there) & true")
        wait_until("it has ended", lambda: self.task(result["task_id"])["state"] == "finished")
        self.assertEqual(self.read(result["task_id"]), "there\n")

    def test_silence_is_fine(self):
        self.write_config("bash.yaml", "profile: bash\ntimeout: {idle: 1s}\n")
        result = self.run_left("-c", "(sleep 3; echo there) & true")
        wait_until("it has ended", lambda: self.task(result["task_id"])["state"] == "finished")

    def test_limits_hold_after_the_command(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {limits: {cpu: 2}}\n")
        result = self.run_left("-c", "(while :; do :; done) & true")
        wait_until("it was ended", lambda: self.task(result["task_id"])["state"] != "running")

    def test_a_profile_that_ends_it(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {leftover: end}\n")
        result = self.run_json("-c", "sleep 1000 & true")
        self.assertEqual(result["left_running"], [])
        self.assertEqual(result["processes"]["ended"], ["sleep"])
        self.assertEqual(self.list_tasks(), [])

    def test_who_keeps_by_default(self):
        for profile, keeps in (("bash", True), ("universal", True), ("coder", True), ("workspace", False),
                               ("readonly", False), ("verify", False)):
            with self.subTest(profile=profile):
                text = self.nacre("policy", "show", *(["--agent"] if profile == "coder" else ["--profile"]), profile)
                self.assertIn(f'room.leftover: "{"keep" if keeps else "end"}"', text)

    def test_a_project_can_only_end_it(self):
        (self.work / ".nacre.yaml").write_text("room: {leftover: end}\n")
        self.assertEqual(self.run_json("-c", "sleep 1000 & true")["left_running"], [])
        self.write_config("bash.yaml", "profile: bash\nroom: {leftover: end}\n")
        (self.work / ".nacre.yaml").write_text("room: {leftover: keep}\n")
        self.assertNotEqual(self.run_nacre("-c", "true").code, 0)

    def test_text_for_people(self):
        done = self.run_nacre("-c", START)
        self.assertEqual(done.code, 0)
        self.assertEqual(sorted(done.out.split()), [b"serving", b"up"])
        [task] = self.list_tasks()
        self.assertIn(f"python3 (pid ", done.err.decode())
        self.assertIn(f"port {self.port()}) is still running and goes on as task {task['task_id']}.", done.err.decode())
        self.assertIn(f"`nacre stop {task['task_id']}` ends it", done.err.decode())

    def test_the_session_is_written_at_once(self):
        (self.work / "sub").mkdir()
        self.run_left("--session", "s", "-c", "sleep 1000 & cd sub; export X=1")
        self.assertEqual(self.run_json("--session", "s", "-c", "pwd; echo $X")["stdout"], f"{self.work}/sub\n1\n")

    def test_protected_paths_are_looked_for_twice(self):
        result = self.run_left("-c", "echo early > .envrc; (until [ -e go ]; do sleep 0.02; done; echo late > .envrc) & true")
        self.assertTrue([text for text in result["notices"] if ".envrc" in text], result["notices"])
        self.assertFalse((self.work / ".envrc").exists())
        (self.work / "go").touch()
        wait_until("it has ended", lambda: self.task(result["task_id"])["state"] == "finished")
        self.assertFalse((self.work / ".envrc").exists())
        found = {path.read_text() for path in (self.tasks / result["task_id"]).glob("planted-*")}
        self.assertEqual(found, {"early\n", "late\n"})

    def test_kill_of_the_keeper_ends_it(self):
        result = self.run_left("-c", "sleep 1000 & true")
        os.kill(self.find("nacre-keeper").pid, signal.SIGKILL)
        wait_until("all is gone", lambda: not descendants())
        self.assertEqual(self.task(result["task_id"])["state"], "lost")

    def test_batch(self):
        lines = [{"command": START}, {"command": "echo next"}]
        done = self.run_nacre("--batch", input="".join(json.dumps(line) + "\n" for line in lines).encode())
        results = [json.loads(line)["result"] for line in done.out.splitlines()]
        left = [result for result in results if result["left_running"]]
        self.assertEqual(len(left), 1, results)
        self.assertEqual(self.task(left[0]["task_id"])["ports"], [self.port()])


class Terminal(LeftTest):
    def test_a_daemon_outlives_its_terminal(self):
        result = self.run_left("--pty", "-c", f"setsid python3 server.py >log 2>&1 & {UP}; echo up")
        self.assertIn("up", result["output"])
        self.expect_served(result)


class Mcp(LeftTest):
    def client(self, *args):
        client = Client(self, "--profile", "bash", *args)
        client.initialize()
        return client

    def begin(self, client):
        result = client.call("Bash", {"command": START})
        text, facts = result["content"][0]["text"], result["_meta"]["dev.nacre/run"]
        task, port = facts["task_id"], self.port()
        self.assertEqual(facts["exit_code"], 0)
        self.assertIn(port, [port for process in facts["left_running"] for port in process["ports"]])
        self.assertIn(f"port {port}) is still running and goes on as task {task}.", text)
        self.assertIn("TaskOutput shows its output, TaskStop ends it.", text)
        self.assertIn("[exit 0 after", text)
        return task, port

    def test_tools(self):
        client = self.client()
        for _ in range(3):  # the first has a box of its own, the others a kept one
            task, port = self.begin(client)
            self.assertIn(f"{task}  running  port {port}", client.text("TaskList"))
            self.assertIn("serving", client.text("TaskOutput", {"task_id": task, "all": True}))
            self.assertEqual(client.text("Bash", {"command": "echo beside"}).splitlines()[0], "beside")
            self.assertIn("stopped", client.text("TaskStop", {"task_id": task}))
            (self.work / "port").unlink()
        client.close()

    def test_another_dialect_with_streams_apart(self):
        client = Client(self, "--profile", "universal", "--workspace", str(self.work))
        client.initialize()
        result = client.call("run_command", {"command": "sleep 1000 & echo hi", "output_mode": "separate"})["structuredContent"]
        self.assertEqual([process["name"] for process in result["left_running"]], ["sleep"])
        self.assertIn("shell_output shows its output, shell_kill ends it.", result["notices"][0])
        self.assertIn("stopped", client.text("shell_kill", {"task_id": result["task_id"]}))
        client.close()

    def test_it_goes_on_after_the_connection(self):
        client = self.client()
        task, port = self.begin(client)
        client.close()
        self.assertEqual(self.task(task)["ports"], [port])

    def test_it_goes_with_the_connection_where_tasks_do(self):
        client = self.client("--stop-tasks")
        task, _ = self.begin(client)
        client.close()
        self.assertEqual(self.task(task)["state"], "stopped")

    def test_it_survives_the_server_and_the_launcher(self):
        client = self.client()
        self.begin(client)
        (self.work / "port").unlink()
        task, port = self.begin(client)
        os.kill(client.popen.pid, signal.SIGKILL)
        wait_until("only keepers are left", lambda: not [p for p in descendants() if p.name == "nacre-launcher"])
        self.assertEqual(self.task(task)["ports"], [port])


    def test_who_looks_for_its_processes_is_sent_to_the_tasks(self):
        words = "TaskList lists the tasks that run, with their ports. TaskStop ends one; so does kill with its pid."
        client = self.client()
        self.assertNotIn(words, client.text("Bash", {"command": "lsof -i"}))  # there are none
        task, _ = self.begin(client)
        self.assertIn("server.py", client.text("Bash", {"command": "ps ax"}))  # see test_standins.py
        for line in ("lsof -i || true", "fuser 1/tcp || true", "kill 99999", "pkill nobody-has-this-name", "kill 99999; true"):
            with self.subTest(line=line):
                self.assertIn(words, client.text("Bash", {"command": line}))
        for line in ("echo hi", "ps aux", "sleep 1000 & kill $!; wait", "echo steps; ls"):
            with self.subTest(line=line):
                self.assertNotIn(words, client.text("Bash", {"command": line}))
        client.text("TaskStop", {"task_id": task})
        self.assertNotIn(words, client.text("Bash", {"command": "pkill nobody-has-this-name"}))
        client.close()


class Http(LeftTest, ServeTest):
    ARGS = ("--tasks", "2")

    def test_rest(self):
        result = self.run_command(START)
        port = self.port()
        self.assertIn(port, [port for process in result["left_running"] for port in process["ports"]])
        [notice] = [text for text in result["notices"] if "still running" in text]
        self.assertIn(f"POST /v1/tasks/{result['task_id']}/stop", notice)
        self.assertEqual(self.get(f"/v1/tasks/{result['task_id']}").json["ports"], [port])
        answer = self.post(f"/v1/tasks/{result['task_id']}/stop", {})
        self.assertEqual(answer.json["state"], "stopped")

    def test_a_stream_ends_with_the_command(self):
        events = self.stream("POST", "/v1/run", {"command": f"printf 'no newline'; {START}; (while :; do echo more; done) &"})
        text, result = "", None
        while result is None:
            event = events.next()
            if event["event"] == "result":
                result = event["json"]
            elif event["event"] == "output":
                text += event["json"]["text"]
        self.assertTrue(result["left_running"])
        self.assertIn("no newline", text)
        self.post(f"/v1/tasks/{result['task_id']}/stop", {})

    def test_a_client_has_no_more_tasks_than_it_may(self):
        token = self.make_token("guest")
        left = [len(self.run_command("sleep 1000 & true", token=token)["left_running"]) for _ in range(4)]
        self.assertEqual(left, [1, 1, 0, 0])


del ServeTest, LeftTest


if __name__ == "__main__":
    unittest.main()
