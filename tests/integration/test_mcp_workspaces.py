"""`nacre mcp` of one user in several directories: each client has the tasks of its own, and no others."""
import json
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, wait_until
from mcp_client import TASKS, Client, meta
from serving import ServeTest

NOBODY = "bash-0000000000000000"


class Workspaces(NacreTest):
    def setUp(self):
        super().setUp()
        self.other, self.above = self.dir / "other", self.dir / "above"
        self.mine = self.above / "mine"
        self.below = self.mine / "below"
        self.other.mkdir()
        self.below.mkdir(parents=True)

    def client(self, directory, *args, revision="2025-11-25"):
        c = Client(self, *args, cwd=directory)
        if revision:
            c.initialize(revision)
        return c

    def begin(self, c, command, **arguments):
        result = c.call("Bash", {"command": command, "run_in_background": True, **arguments})
        return result["_meta"]["dev.nacre/run"]["task_id"]

    def nacre(self, *args):
        return subprocess.run([NACRE, *args], stdin=subprocess.DEVNULL, env=self.env, cwd=self.dir,
                              capture_output=True, timeout=DEADLINE, check=True).stdout.decode()

    def expect_nothing_of(self, task, c):
        """All that can be asked about a task is answered as for one that does not exist."""
        def ask(method, params):
            return {key: value for key, value in c.ask(method, params).items() if key != "id"}

        def neutral(answer, id):
            return json.loads(json.dumps(answer).replace(id, "ID"))

        for method, params in (
                *(("tools/call", {"name": tool, "arguments": {"task_id": "ID", **more}}) for tool, more in (
                    ("TaskOutput", {}), ("TaskOutput", {"block": True, "filter": "."}), ("TaskStop", {}),
                    ("shell_output", {}), ("shell_kill", {}), ("shell_input", {"text": "x"}))),
                ("tasks/get", {"taskId": "ID"}), ("tasks/result", {"taskId": "ID"}), ("tasks/cancel", {"taskId": "ID"}),
                ("resources/read", {"uri": "nacre://output/ID"}),
                ("resources/read", {"uri": "nacre://output/ID?offset=0&length=10&stream=stdout"}),
                ("resources/subscribe", {"uri": "nacre://output/ID"}),
                ("subscriptions/listen", {"notifications": {"taskIds": ["ID"]}, "_meta": meta(TASKS)}),
                ("tasks/update", {"taskId": "ID", "inputResponses": {}, "_meta": meta(TASKS)}),
                ("tasks/get", {"taskId": "ID", "_meta": meta(TASKS)})):
            if method == "subscriptions/listen":  # it has no answer: what it takes is told by a notification
                for id in (task, NOBODY):
                    c.request(method, json.loads(json.dumps(params).replace("ID", id)), id=f"listen-{id}")
                    note = c.until(lambda m: m.get("method") == "notifications/subscriptions/acknowledged")
                    self.assertEqual(note["params"]["notifications"], {"taskIds": []})
                continue
            answers = [neutral(ask(method, json.loads(json.dumps(params).replace("ID", id))), id) for id in (task, NOBODY)]
            self.assertEqual(*answers, (method, params))
        for tool in ("TaskList", "shell_list"):
            self.assertNotIn(task, c.text(tool))
        for method in ("tasks/list", "resources/list"):
            self.assertNotIn(task, json.dumps(c.result(method)))

    def test_tasks_of_another_directory_do_not_exist(self):
        mine = self.client(self.mine, "--profile", "bash", "--profile", "universal")
        task = self.begin(mine, "echo secret-of-mine; sleep 60")
        wait_until("it prints", lambda: "secret-of-mine" in mine.text("TaskOutput", {"task_id": task, "all": True}))
        for directory in (self.other, self.below, self.above):
            with self.subTest(directory=directory):
                theirs = self.client(directory, "--profile", "bash", "--profile", "universal")
                self.expect_nothing_of(task, theirs)
                theirs.close()
        # It runs, whatever they tried, and whose it is goes on with it.
        self.assertIn("running", mine.text("TaskOutput", {"task_id": task, "all": True}))
        self.assertIn(task, mine.text("TaskList"))
        self.assertIn("stopped", mine.text("TaskStop", {"task_id": task}))
        mine.close()

    def test_a_later_client_in_the_same_directory_goes_on(self):
        first = self.client(self.mine)
        task = self.begin(first, "echo kept")
        first.text("TaskOutput", {"task_id": task, "block": True})
        first.close()
        (self.dir / "link").symlink_to(self.mine)  # the same directory by another name
        for options in ([], ["--workspace", str(self.mine)], ["--workspace", str(self.dir / "link")]):
            later = self.client(self.mine if not options else self.other, *options)
            self.assertIn("kept", later.text("TaskOutput", {"task_id": task}))
            self.assertIn(task, later.text("TaskList"))
            later.close()

    def test_a_task_in_a_workspace_that_the_call_names_is_of_who_started_it(self):
        (self.below / "deep").write_text("x")
        mine, below = (self.client(at, "--profile", "readonly") for at in (self.mine, self.below))
        answer = mine.call("run_shell", {"command": "ls", "workspace": str(self.below)}, task={})
        task = answer["task"]["taskId"]
        self.assertIn("deep", mine.result("tasks/result", {"taskId": task})["content"][0]["text"])
        self.assertIn(task, mine.text("shell_list"))
        self.assertNotIn(task, below.text("shell_list"))
        [entry] = json.loads(self.nacre("tasks", "--json"))["tasks"]
        self.assertEqual((entry["task_id"], entry["workspace"], entry["door"]), (task, str(self.below), "mcp"))
        mine.close()
        below.close()

    def test_a_root_around_several_workspaces_does_not_join_them(self):
        """Where the profile has roots, what is protected is looked for from there; whose a task is does not change by that."""
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: none}}\nworkspace: {{roots: ['{self.above}', '{self.dir}']}}\n")
        beside = self.above / "beside"
        beside.mkdir()
        clients = [self.client(at) for at in (self.mine, beside, self.above)]
        tasks = [self.begin(c, "echo of-one") for c in clients]
        for c, task in zip(clients, tasks):
            listed = c.text("TaskList")
            self.assertEqual([id for id in tasks if id in listed], [task])
            self.assertIn("of-one", c.text("TaskOutput", {"task_id": task, "block": True}))
            c.close()

    def test_odd_names_of_directories_are_told_apart(self):
        """A name is compared byte by byte: what is cut, quoted or not text is another directory."""
        names = [b"a", b"a b", b'a"b', b"a\\b", b"a\nb", b"a\tb", b"a\xffb", b"a\xfeb", b"a\x01b", "ä".encode(), b"x" * 200]
        clients, tasks = {}, {}
        for name in names:
            path = bytes(self.dir) + b"/" + name
            subprocess.run([b"mkdir", b"-p", path], check=True)
            clients[name] = self.client(path)
            tasks[name] = self.begin(clients[name], "true")
        for name, c in clients.items():
            listed = wait_until("it is listed", lambda c=c: c.text("TaskList"))
            self.assertEqual([task for task in tasks.values() if task in listed], [tasks[name]], name)
            c.close()

    def test_who_runs_nacre_sees_all_with_whose_they_are(self):
        ids = {}
        for at in (self.mine, self.other):
            c = self.client(at)
            ids[self.begin(c, "echo of-mcp")] = (str(at), "mcp")
            c.close()
        task = self.nacre("run", "--background", "--workspace", str(self.below), "-c", "echo of-cli").split()[0]
        ids[task.strip("[]")] = (str(self.below), "cli")
        listed = json.loads(self.nacre("tasks", "--json", "--all"))["tasks"]
        self.assertEqual({e["task_id"]: (e["workspace"], e["door"]) for e in listed}, ids)
        text = self.nacre("tasks", "--all")
        for id, (workspace, client) in ids.items():
            [line] = [line for line in text.splitlines() if line.startswith(id)]
            self.assertRegex(line, rf" {client} .* in {workspace}$")
        for id in ids:
            self.assertIn("of-", self.nacre("output", id))


class Roots(ServeTest):
    """Over HTTP a principal has the tasks of its roots, in whichever of them they run."""

    def test_what_is_no_root_any_more_has_no_tasks(self):
        places = [self.dir / "one", self.dir / "two"]
        for place in places:
            place.mkdir()
        token = self.make_token("ci", "--workspace", str(places[0]), "--workspace", str(places[1]))
        tasks = [self.run_command("echo of-a-root; sleep 60", background=True, workspace=str(place), token=token)["task_id"]
                 for place in places]
        listed = [task["task_id"] for task in self.get("/v1/tasks", token=token).json["tasks"]]
        self.assertEqual(sorted(listed), sorted(tasks))
        subprocess.run([NACRE, "token", "revoke", "ci"], env=self.env, check=True)
        token = self.make_token("ci", "--workspace", str(places[0]))
        listed = [task["task_id"] for task in self.get("/v1/tasks", token=token).json["tasks"]]
        self.assertEqual(listed, tasks[:1])
        unknown = [self.get(f"/v1/tasks/{id}{path}", token=token) for id in (tasks[1], NOBODY) for path in ("", "/output")]
        self.assertEqual({(answer.status, answer.body) for answer in unknown}, {(404, unknown[0].body)})
        session = self.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}}}, token=token).headers["Mcp-Session-Id"]
        listed = self.post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tasks/list", "params": {}}, token=token,
                           headers={"Mcp-Session-Id": session, "Accept": "application/json"}).json["result"]["tasks"]
        self.assertEqual([task["taskId"] for task in listed], tasks[:1])
        # Who runs nacre sees both.
        listed = [task["task_id"] for task in self.get("/v1/tasks", unix=True).json["tasks"]]
        self.assertEqual(sorted(listed), sorted(tasks))
        for task in tasks:
            self.post(f"/v1/tasks/{task}/stop", {"now": True}, unix=True)


class Sessions(NacreTest):
    def test_a_session_of_another_directory_brings_nothing_but_its_variables(self):
        """An id is given by who starts the server; made by it, an id cannot be guessed."""
        other = self.dir / "other"
        other.mkdir()
        (self.work / "sub").mkdir()
        first = Client(self, "--session", "mine", cwd=self.work)
        first.initialize()
        first.text("Bash", {"command": "cd sub"})
        first.close()
        second = Client(self, "--session", "mine", cwd=other)
        second.initialize()
        text = second.text("Bash", {"command": "pwd"})
        self.assertIn(f"{other}\n", text)
        self.assertIn("the session was in another workspace", text)
        second.close()
        for _ in range(2):
            c = Client(self, cwd=self.work)
            c.initialize()
            c.text("Bash", {"command": "export X=1"})
            c.close()
        ids = {path.stem for path in (self.state / "sessions").glob("mcp-*.json")}
        self.assertEqual(len(ids), 2)
        for id in ids:
            self.assertRegex(id, r"^mcp-[0-9a-z]{16}$")


if __name__ == "__main__":
    unittest.main()
