#!/usr/bin/env python3
"""The official TypeScript clients against nacre: every tool of every profile, over stdio and HTTP, in both eras, with progress,
cancellation and questions answered yes, no and by closing them; and the official Inspector's command line."""
import json
import sys
import unittest
import urllib.request

import helpers
import suites

PROFILES = ["bash", "workspace", "universal", "verify", "readonly"]
LISTED = ["Bash", "shell", "run_command", "safe_shell", "run_shell", "TaskOutput", "TaskList", "TaskStop", "shell_output",
          "shell_input", "shell_kill", "shell_list", "shell_explain"]

# A product of eight digits: a short one would be found in the random name of an approval now and then.
ASKED, PRODUCT = ["expr", "4321", "*", "9877"], "42678517"


def call(name, tool, arguments, **more):
    return {"id": name, "do": "call", "name": tool, "arguments": arguments, **more}


# One list for all: {task} and {terminal} are ids that an earlier step found.
STEPS = [
    {"id": "tools", "do": "list"},
    {"id": "again", "do": "list"},
    {"id": "ping", "do": "ping"},
    call("bash", "Bash", {"command": "echo out; echo err >&2; exit 3", "description": "greet"}),
    call("bash_bad_arguments", "Bash", {"comand": "ls"}),
    call("verify", "safe_shell", {"command": "python3", "args": ["-c", "import sys; print(sys.argv[1])", "a b"]}),
    call("alias", "safe.shell", {"command": "python3", "args": ["-c", "print(6 * 7)"]}),
    call("universal", "run_command", {"command": "cat; echo $X", "input": "typed\n", "env": {"X": "set"}}),
    call("workspace", "shell", {"command": ["ls"]}),
    call("readonly", "run_shell", {"command": "ls"}),
    call("denied", "run_shell", {"command": "rm -rf x"}),
    call("unknown", "no_such_tool", {}),
    call("background", "Bash", {"command": "echo begun; sleep 0.3; echo over", "run_in_background": True},
         find={"task": r"(bash-[0-9A-Za-z]+)"}),
    call("task_output", "TaskOutput", {"task_id": "{task}", "block": True, "timeout": 30000}),
    call("task_list", "TaskList", {}),
    call("long", "Bash", {"command": "echo to end; sleep 1000", "run_in_background": True}, find={"long": r"(bash-[0-9A-Za-z]+)"}),
    call("task_stop", "TaskStop", {"task_id": "{long}"}),
    call("list", "shell_list", {}),
    call("output", "shell_output", {"task_id": "{task}"}),
    call("kept", "Bash", {"command": "sleep 1000", "run_in_background": True}, find={"kept": r"(bash-[0-9A-Za-z]+)"}),
    call("kill", "shell_kill", {"task_id": "{kept}"}),
    call("no_terminal", "shell_input", {"task_id": "{task}", "text": "x"}),
    call("explain", "shell_explain", {"command": "ls | wc -l"}),
    call("progress", "Bash", {"command": "for i in {1..8}; do echo line $i; sleep 0.3; done"}),
    {"id": "cancelled", "do": "cancel", "name": "Bash",
     "arguments": {"command": "echo started; sleep 1000 & echo $! > pid; wait"}},
    {"id": "together", "do": "together", "steps": [
        {"do": "call", "name": "Bash", "arguments": {"command": "sleep 0.4; echo slow"}},
        {"do": "call", "name": "Bash", "arguments": {"command": "echo quick"}}]},
    call("yes", "shell", {"command": ASKED}, answer="accept:once"),
    call("no", "shell", {"command": ASKED}, answer="accept:deny"),
    call("declined", "shell", {"command": ASKED}, answer="decline"),
    call("closed", "shell", {"command": ASKED}, answer="cancel"),
    {"id": "resources", "do": "resources"},
    {"id": "templates", "do": "templates"},
    {"id": "policy", "do": "read", "uri": "nacre://policy"},
    {"id": "missing", "do": "read", "uri": "nacre://output/none"},
]


def text(result):
    return "".join(block["text"] for block in result["value"]["content"] if block["type"] == "text")


class Sdk(suites.SuiteTest):
    def drive(self, plan, steps):
        path = self.dir / "plan.json"
        path.write_text(json.dumps({**plan, "steps": steps}))
        code, out, err = self.run_node(suites.packages.script(self.npm, "client.mjs"), path, timeout=2 * helpers.DEADLINE)
        self.assertEqual(code, 0, err[-2000:])
        return json.loads(out)

    def stdio(self):
        args = ["mcp"] + [word for name in PROFILES for word in ("--profile", name)]
        return {"stdio": {"command": helpers.NACRE, "args": args, "env": self.env, "cwd": str(self.work)}}

    def http(self):
        server = suites.Server(self, *[word for name in PROFILES for word in ("--profile", name)])
        return {"http": {"url": server.url + "/mcp", "headers": server.headers}}

    def check_tools(self, done):
        self.assertEqual(done["version"]["name"], "nacre")
        names = [tool["name"] for tool in done["tools"]["value"]]
        self.assertEqual(sorted(names), sorted(LISTED))
        self.assertEqual(done["tools"]["value"], done["again"]["value"], "a list is stable")
        for tool in done["tools"]["value"]:
            self.assertEqual(tool["inputSchema"]["type"], "object", tool["name"])
            self.assertTrue(tool["description"], tool["name"])

    def check_calls(self, done):
        bash = done["bash"]["value"]
        self.assertFalse(bash.get("isError"), bash)  # a command that ran is no error, whatever its exit code
        for words in ("out", "err", "exit 3"):
            self.assertIn(words, text(done["bash"]))
        self.assertTrue(done["bash_bad_arguments"]["value"]["isError"])
        self.assertIn("comand", text(done["bash_bad_arguments"]))
        self.assertIn("a b", text(done["verify"]))
        self.assertIn("42", text(done["alias"]))
        self.assertIn("typed\nset", text(done["universal"]))
        for name in ("workspace", "readonly"):
            self.assertFalse(done[name]["value"].get("isError"), done[name])
        self.assertTrue(done["denied"]["value"]["isError"])
        self.assertEqual(done["unknown"].get("code"), -32602, done["unknown"])

    def check_tasks(self, done):
        self.assertIn("over", text(done["task_output"]))
        self.assertIn("bash-", text(done["task_list"]))
        self.assertFalse(done["task_stop"]["value"].get("isError"), done["task_stop"])
        self.assertIn("bash-", text(done["list"]))
        self.assertIn("begun", text(done["output"]))
        self.assertFalse(done["kill"]["value"].get("isError"), done["kill"])
        self.assertTrue(done["no_terminal"]["value"]["isError"])
        self.assertIn("allow", text(done["explain"]))

    def check_progress(self, done):
        progress = done["progress"]["value"]["progress"]
        self.assertGreaterEqual(len(progress), 2, progress)
        values = [message["progress"] for message in progress]
        self.assertEqual(values, sorted(set(values)), "progress grows")
        self.assertTrue(any("line" in message.get("message", "") for message in progress), progress)
        self.assertTrue(done["cancelled"]["value"]["cancelled"], done["cancelled"])
        pid = helpers.wait_until("the command has begun", (self.work / "pid").exists)
        self.assertTrue(pid)
        helpers.wait_until("the tree of the cancelled call is gone",
                           lambda: not [p for p in helpers.descendants() if p.name == "sleep"])
        slow, quick = done["together"]["value"]
        self.assertIn("slow", slow["content"][0]["text"])
        self.assertIn("quick", quick["content"][0]["text"])

    def check_questions(self, done):
        for name in ("yes", "no", "declined", "closed"):
            self.assertEqual(len(done[name]["questions"]), 1, (name, done[name]))
            self.assertIn("expr", done[name]["questions"][0]["message"])
        self.assertIn(PRODUCT, text(done["yes"]))
        self.assertFalse(done["yes"]["value"].get("isError"))
        for name in ("no", "declined", "closed"):
            self.assertTrue(done[name]["value"]["isError"], done[name])
            self.assertNotIn(PRODUCT, text(done[name]))

    def check_resources(self, done):
        uris = [entry["uri"] for entry in done["resources"]["value"]]
        self.assertIn("nacre://policy", uris)
        self.assertTrue(done["templates"]["value"])
        self.assertTrue(done["policy"]["value"]["contents"])
        self.assertIn(done["missing"]["code"], (-32002, -32602))

    def check(self, done, era):
        self.assertEqual(done["era"], era)
        for part in (self.check_tools, self.check_calls, self.check_tasks, self.check_progress, self.check_questions,
                     self.check_resources):
            with self.subTest(part.__name__):
                part(done)

    def test_the_modern_era_over_stdio(self):
        print(f"# {suites.versions(self.npm)}", file=sys.stderr)
        self.check(self.drive({"era": "modern", **self.stdio()}, STEPS), "modern")

    def test_the_handshake_era_over_http(self):
        self.check(self.drive({"era": "legacy", **self.http()}, STEPS), "legacy")

    if not helpers.SANITIZED:  # the same code by the other pairs of era and transport
        def test_the_handshake_era_over_stdio(self):
            self.check(self.drive({"era": "legacy", **self.stdio()}, STEPS), "legacy")

        def test_the_modern_era_over_http(self):
            self.check(self.drive({"era": "modern", **self.http()}, STEPS), "modern")

    def test_a_client_that_loses_its_connections_loses_nothing(self):
        plan = self.http()
        plan["http"]["lossy"] = True
        done = self.drive({"era": "legacy", **plan}, [
            call("progress", "Bash", {"command": "for i in {1..8}; do echo line $i; sleep 0.3; done"}),
            call("yes", "shell", {"command": ASKED}, answer="accept:once"),
            call("quick", "Bash", {"command": "echo quick"})])
        self.assertIn("line 8", text(done["progress"]))
        values = [message["progress"] for message in done["progress"]["value"]["progress"]]
        self.assertGreaterEqual(len(values), 2)
        self.assertEqual(values, sorted(set(values)))
        self.assertIn(PRODUCT, text(done["yes"]))
        self.assertIn("quick", text(done["quick"]))

    def test_a_client_that_cannot_be_asked_is_told_how_to_approve(self):
        for era in ("legacy", "modern"):
            done = self.drive({"era": era, "elicitation": False, **self.stdio()},
                              [call("asked", "shell", {"command": ASKED})])
            self.assertTrue(done["asked"]["value"]["isError"])
            self.assertIn("nacre approve", text(done["asked"]))


class Inspector(suites.SuiteTest):
    def inspect(self, *args, code=0):
        cli = self.tool("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
        done, out, err = self.run_node(cli, "--cli", *args)
        self.assertEqual(done, code, out + err)
        return json.loads(out)

    def run_all(self, era, *target):
        def ask(method, *args, code=0):
            return self.inspect(*target, "--protocol-era", era, "--method", method, *args, code=code)
        tools = ask("tools/list", "--strict")["tools"]
        self.assertIn("Bash", [tool["name"] for tool in tools])
        done = ask("tools/call", "--tool-name", "Bash", "--tool-arg", "command=echo inspected")
        self.assertIn("inspected", done["content"][0]["text"])
        # What the protocol of each era looks like is seen in its result: only the younger one says what kind it is of.
        self.assertEqual(done.get("resultType"), "complete" if era == "modern" else None)
        refused = ask("tools/call", "--tool-name", "Bash", "--tool-args-json", '{"comand": "ls"}', code=5)
        self.assertTrue(refused["isError"])
        resources = ask("resources/list")["resources"]
        self.assertIn("nacre://policy", [entry["uri"] for entry in resources])
        self.assertTrue(ask("resources/templates/list")["resourceTemplates"])
        self.assertTrue(ask("resources/read", "--uri", "nacre://policy")["contents"])

    def over_http(self, era):
        server = suites.Server(self, "--profile", "bash")
        self.run_all(era, server.url + "/mcp", "--transport", "http", "--header", f"Authorization: Bearer {server.token}")

    def test_the_modern_era_over_stdio(self):
        self.run_all("modern", helpers.NACRE, "mcp")

    def test_the_handshake_era_over_http(self):
        self.over_http("legacy")

    if not helpers.SANITIZED:
        def test_the_handshake_era_over_stdio(self):
            self.run_all("legacy", helpers.NACRE, "mcp")

        def test_the_modern_era_over_http(self):
            self.over_http("modern")

        def test_many_calls_at_a_time(self):
            server = suites.Server(self, "--profile", "bash")
            for era in ("legacy", "modern"):
                done = self.inspect(server.url + "/mcp", "--transport", "http", "--header", f"Authorization: Bearer {server.token}",
                                    "--protocol-era", era, "--method", "tools/call", "--tool-name", "Bash",
                                    "--tool-args-json", '{"command": "true"}', "--load", "--load-requests", "100",
                                    "--load-concurrency", "20", "--format", "json")["result"]
                self.assertEqual((done["requests"], done["ok"], done["errorMessages"]), (100, 100, []), era)


class Document(suites.SuiteTest):
    def test_its_schemas_are_schemas(self):
        server = suites.Server(self)
        path = self.dir / "openapi.json"
        with urllib.request.urlopen(server.url + "/v1/openapi.json", timeout=helpers.DEADLINE) as answer:
            path.write_bytes(answer.read())
        code, out, err = self.run_node(suites.packages.script(self.npm, "schemas.mjs"), path)
        self.assertEqual(code, 0, err[-2000:])
        self.assertGreater(int(out), 100)


if __name__ == "__main__":
    sys.exit(unittest.main())
