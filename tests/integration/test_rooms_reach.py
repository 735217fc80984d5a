"""A server that was started stays reachable by every later call of its session, whatever happened meanwhile."""
import json
import os
import shutil
import signal
import subprocess
import unittest

from helpers import DEADLINE, descendants, wait_until
from mcp_client import Client
from rooms import AsUser, RoomTest
from serving import ServeTest

PORT = 8123
LISTEN = "python3 -u -m http.server {} --bind 127.0.0.1"
SERVE = LISTEN.format(PORT)
UP = "until curl -s -o /dev/null http://127.0.0.1:{}/; do sleep 0.02; done"


def ask(port=PORT):
    return f"curl -s -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{port}/"


class ReachTest(RoomTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.nacre, "session", "end", "s")

    def expect_reached(self, answer=None, port=PORT):
        answer = answer or (lambda: self.call(ask(port))["stdout"])
        for _ in range(3):  # by a box of its own, and by kept ones
            self.assertEqual(answer()[:3], "200")

    def begin(self, line=f"{SERVE} >log 2>&1 & {UP.format(PORT)}", **more):
        result = self.call(line, **more)
        self.assertTrue(result["left_running"], result)
        return result

    def client(self):
        client = Client(self, "--profile", "bash", "--session", "s", **self.options)
        client.initialize()
        return client

    def text(self, client, line, **more):
        return client.call("Bash", {"command": line, **more})["content"][0]["text"]

    def give(self, *paths):
        for path in paths if self.options else ():
            os.chown(path, self.options["user"], self.options["group"])


class Meanwhile(ReachTest):
    """By `nacre run --session`."""

    def test_it_was_left_by_the_first_call(self):
        self.begin()
        self.expect_reached()
        self.assertEqual(self.call(ask(), session="t")["stdout"], "000")

    def test_each_way_to_start_it(self):
        ways = {"&": f"{SERVE} >log 2>&1 &", "nohup": f"nohup {SERVE} >log 2>&1 &", "setsid": f"setsid {SERVE} >log 2>&1 &",
                "disown": f"{SERVE} >log 2>&1 & disown", "twice": f"(setsid {SERVE} >log 2>&1 &) &",
                "a daemon": "python3 daemon.py"}
        (self.work / "daemon.py").write_text(
            "import http.server, os\n"
            f"server = http.server.HTTPServer(('127.0.0.1', {PORT}), http.server.SimpleHTTPRequestHandler)\n"
            "if os.fork() or os.setsid() or os.fork(): os._exit(0)\n"
            "null = os.open('/dev/null', os.O_RDWR)\nfor fd in range(3): os.dup2(null, fd)\nserver.serve_forever()\n")
        if shutil.which("tmux"):
            ways["tmux"] = f"tmux new-session -d -s web '{SERVE}'"
        for name, line in ways.items():
            with self.subTest(way=name):
                result = self.begin(f"{line}\n{UP.format(PORT)}")
                ports = {port: one for one in result["left_running"] for port in one["ports"]}
                self.assertIn(PORT, ports, result)
                self.assertEqual(ports[PORT]["name"], "python3")
                [notice] = [text for text in result["notices"] if result["task_id"] in text]
                self.assertIn(f"python3 (pid {ports[PORT]['pid']}, port {PORT})", notice)
                self.assertIn(f"`nacre stop {result['task_id']}`", notice)
                self.expect_reached()
                if name == "tmux":
                    self.assertIn("web: 1 windows", self.says("tmux ls"))
                self.assertEqual(self.nacre("stop", result["task_id"]).returncode, 0)
                self.assertEqual(self.call(ask())["stdout"], "000")

    def test_the_workspace_becomes_a_repository_and_has_settings(self):
        self.begin()
        for line in ("git init -q .; git config user.name x; git remote add origin https://example.com/x", "mkdir -p sub; cd sub; pwd"):
            self.says(line)
            self.expect_reached()
        for name in (".envrc", ".vscode/settings.json", ".git/hooks/pre-commit", ".mcp.json"):
            path = self.work / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
            self.give(path.parent, path)
            with self.subTest(made=name):
                self.expect_reached()

    def test_the_policy_changes(self):
        self.begin()
        self.write_config("bash.yaml", "profile: bash\ndeny: [something]\n")
        self.expect_reached()
        (self.work / ".nacre.yaml").write_text("deny: [something-else]\n")
        self.give(self.work / ".nacre.yaml")
        self.expect_reached()
        self.assertEqual(self.call("true")["room"]["generation"], 3)

    def test_several_are_started_at_once(self):
        ports = range(PORT, PORT + 4)
        running = [self.start("--json", "--session", "s", "--background", "-c", f"exec {LISTEN.format(port)}", **self.options)
                   for port in ports]
        for popen in running:
            self.assertEqual(self.finish(popen).code, 0)
        for port in ports:
            wait_until("it answers", lambda: self.call(ask(port))["stdout"] == "200")

    def test_another_task_of_the_session_ends_first(self):
        """The one that made the network goes; the others have it still."""
        first = self.begin()
        second = self.begin(f"{LISTEN.format(PORT + 1)} >log 2>&1 & {UP.format(PORT + 1)}")
        self.nacre("stop", first["task_id"])
        self.expect_reached(port=PORT + 1)
        third = self.begin()
        self.nacre("stop", second["task_id"])
        self.expect_reached()
        self.nacre("stop", third["task_id"])


class Servers(ReachTest):
    """By nacre mcp, and together with other doors."""

    def test_the_launcher_is_killed(self):
        client = self.client()
        self.text(client, f"{SERVE} >log 2>&1 & {UP.format(PORT)}")
        self.expect_reached(lambda: self.text(client, ask()))
        for _ in range(2):
            os.kill(self.find("nacre-launcher", client.popen.pid).pid, signal.SIGKILL)
            wait_until("it is gone", lambda: not [p for p in descendants(client.popen.pid) if p.name == "nacre-launcher"])
            self.expect_reached(lambda: self.text(client, ask()))
        client.close()

    def test_the_server_is_killed(self):
        client = self.client()
        self.text(client, f"{SERVE} >log 2>&1 & {UP.format(PORT)}")
        client.popen.kill()
        client.popen.wait(DEADLINE)
        self.expect_reached()
        client = self.client()
        self.expect_reached(lambda: self.text(client, ask()))
        client.close()

    def test_another_door_started_it(self):
        client = self.client()
        self.text(client, "true")
        self.text(client, "true")
        self.begin()
        self.expect_reached(lambda: self.text(client, ask()))
        self.text(client, f"{LISTEN.format(PORT + 1)} >log 2>&1 & {UP.format(PORT + 1)}")
        self.expect_reached(port=PORT + 1)
        other = self.client()
        for port in (PORT, PORT + 1):
            self.expect_reached(lambda: self.text(other, ask(port)))
        other.close()
        client.close()

    def test_several_are_started_at_once(self):
        client = self.client()
        asked = [client.request("tools/call", {"name": "Bash", "arguments": {
            "command": f"{LISTEN.format(port)} >log 2>&1 & {UP.format(port)}"}}) for port in range(PORT, PORT + 4)]
        for id in asked:
            self.assertIn("result", client.answer(id))
        for port in range(PORT, PORT + 4):
            self.expect_reached(lambda: self.text(client, ask(port)))
        client.close()

    def test_its_shelf_and_its_place_with_the_launcher_are_given_up(self):
        """A shelf is given up for eight younger ones, as it is when nobody asks for it; a network for 64."""
        batch = self.start("--batch", "--jobs", "1", stdin=subprocess.PIPE, **self.options)

        def run(line, session="s"):
            batch.stdin.write(json.dumps({"id": 1, "command": line, "session": session}).encode() + b"\n")
            batch.stdin.flush()
            return json.loads(batch.stdout.readline())["result"]
        self.assertTrue(run(f"{SERVE} >log 2>&1 & {UP.format(PORT)}")["left_running"])
        self.expect_reached(lambda: run(ask())["stdout"])
        for count in (10, 70):
            for i in range(count):
                self.assertEqual(run("true", f"other-{i}")["exit_code"], 0)
            self.expect_reached(lambda: run(ask())["stdout"])
        self.assertEqual(run(ask(), "other-1")["stdout"], "000")
        batch.stdin.close()
        self.assertEqual(batch.wait(DEADLINE), 0)
        self.nacre("session", "end", *(f"other-{i}" for i in range(70)))


class Tools(ReachTest):
    """A command that looks for the processes of a task is sent to the tasks."""

    LINES = ("kill 99999", f"fuser {PORT}/tcp", f"ss -ltnp | grep {PORT}", f"netstat -ltnp | grep {PORT}", f"lsof -i :{PORT}", "jobs -l")

    def test_by_run(self):
        self.begin()
        for line in self.LINES:
            with self.subTest(line=line):
                said = " ".join(self.call(line)["notices"])
                self.assertIn("`nacre tasks` lists the tasks that run, with their ports. `nacre stop ID` ends one;", said)
        self.assertIn("http.server", self.call("ps aux")["stdout"])

    def test_by_mcp(self):
        client = self.client()
        self.text(client, f"{SERVE} >log 2>&1 & {UP.format(PORT)}")
        for line in self.LINES:
            with self.subTest(line=line):
                self.assertIn("TaskList lists the tasks that run, with their ports. TaskStop ends one;", self.text(client, line))
        self.assertIn("http.server", self.text(client, "ps aux"))
        client.close()


class Http(ServeTest):
    BOXED = True

    def test_whatever_happens_to_the_server(self):
        token = self.token()
        first = self.run_command(f"{SERVE} >log 2>&1 & {UP.format(PORT)}", session="s")
        self.assertTrue(first["left_running"], first)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.stop_server(self.server, number)
            self.server = self.serve(unix=self.dir / f"{number}.sock")
            for _ in range(3):
                self.assertEqual(self.run_command(ask(), session="s")["stdout"], "200")
        self.assertEqual(self.run_command(ask(), session="t")["stdout"], "000")
        other = self.make_token("other", "--workspace", str(self.work))
        self.assertEqual(self.run_command(ask(), session="s", token=other)["stdout"], "000")
        self.assertEqual(self.run_command(ask(), session="s", profile="universal")["stdout"], "000")
        self.assertEqual(self.post(f"/v1/tasks/{first['task_id']}/stop", {}, token=token).json["state"], "stopped")


class MeanwhileOfAUser(AsUser, Meanwhile):
    pass


class ServersOfAUser(AsUser, Servers):
    pass


del ReachTest, RoomTest, AsUser, ServeTest


if __name__ == "__main__":
    unittest.main()
