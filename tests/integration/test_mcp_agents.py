"""Several agents at one door: each is a tool of its own, over stdio and over HTTP."""
import json
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest
from mcp_client import Client
from serving import ServeTest

WRITER, CODER = "run_command_writer", "run_command_coder"


def tools_of(client):
    return {tool["name"]: tool for tool in client.result("tools/list")["tools"]}


class Stdio(NacreTest):
    BOXED = True

    def client(self, *options):
        client = Client(self, *options)
        self.instructions = client.initialize("2025-06-18")["instructions"]
        return client

    def test_each_agent_has_a_tool_with_its_name_role_and_commands(self):
        client = self.client("--agent", "writer", "--agent", "coder")
        tools = tools_of(client)
        self.assertNotIn("run_command", tools)
        self.assertIn("This is the tool of 'writer': Compile LaTeX", tools[WRITER]["description"])
        self.assertIn("Allowed commands: pdflatex", tools[WRITER]["description"])
        self.assertIn("This is the tool of 'coder'", tools[CODER]["description"])
        self.assertIn(f"{WRITER}, {CODER}", self.instructions)
        self.assertIn("shell_list", tools)
        client.close()

    def test_each_tool_runs_by_the_rules_of_its_agent(self):
        client = self.client("--agent", "writer", "--agent", "coder")
        self.assertIn("Python 3", client.text(CODER, {"command": "python3 -V"}))
        self.assertIn("not allowed here", client.refusal(WRITER, {"command": "python3 -V"}))
        self.assertIn("2", client.text(WRITER, {"command": "echo a b | wc -w"}))
        for tool, verdict in ((WRITER, "deny"), (CODER, "allow")):
            self.assertIn(f"verdict: {verdict}", client.text("shell_explain", {"tool": tool, "command": "python3 x.py"}))
        self.assertIn("did you mean 'run_command_writer'", client.ask("tools/call", {"name": "run_command", "arguments": {}})["error"]["message"])
        client.close()

    def test_the_profile_of_the_tool_keeps_the_name_of_the_tool(self):
        client = self.client("--profile", "universal", "--agent", "writer", "--profile", "bash")
        tools = tools_of(client)
        self.assertLessEqual({"run_command", WRITER, "Bash"}, set(tools))
        self.assertIn("Python 3", client.text("run_command", {"command": "python3 -V"}))
        client.close()

    def test_one_agent_alone_has_the_plain_name(self):
        client = self.client("--agent", "writer")
        self.assertIn("You are 'writer'", tools_of(client)["run_command"]["description"])
        client.close()

    def test_a_name_that_comes_twice_is_refused(self):
        done = subprocess.run([NACRE, "mcp", "--agent", "writer", "--agent", "writer"], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=DEADLINE)
        self.assertEqual(done.returncode, 125)
        self.assertIn("'writer' is named twice", done.stderr)

    def test_explain_takes_a_program_with_its_arguments(self):
        client = self.client("--profile", "verify")
        for arguments, verdict in (({"command": "go", "args": ["build"]}, "nudge"), ({"command": "go", "args": []}, "allow"),
                                   ({"command": "git", "args": ["diff"]}, "deny"), ({"argv": ["git", "diff"]}, "deny")):
            self.assertIn(f"verdict: {verdict}", client.text("shell_explain", arguments))
        self.assertIn("go with 'command'", client.refusal("shell_explain", {"argv": ["go"], "args": ["build"]}))
        self.assertIn("a list of strings", client.refusal("shell_explain", {"command": "go", "args": "build"}))
        client.close()


class Http(ServeTest):
    BOXED = True
    ARGS = ("--profile", "universal", "--profile", "writer", "--profile", "coder")

    def session(self, token):
        head = {"Accept": "application/json, text/event-stream"}
        answer = self.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}, token=token, headers=head)
        self.assertEqual(answer.status, 200, answer)
        return {**head, "Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}

    def mcp(self, token, head, method, **params):
        answer = self.post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}, token=token, headers=head)
        text = answer.body.decode()
        return json.loads(text[text.index("{"):])

    def test_agents_are_profiles_of_a_server(self):
        result = self.run_command("python3 -V", profile="writer")
        self.assertEqual((result["verdict"], result["exit_code"]), ("deny", 126))
        self.assertTrue(self.run_command("python3 -V", profile="coder")["success"])

    def test_a_token_sees_the_tools_of_its_agents(self):
        both, one = self.make_token("both", "--profile", "writer", "--profile", "coder"), self.make_token("one", "--profile", "writer")
        head = self.session(both)
        names = {tool["name"] for tool in self.mcp(both, head, "tools/list")["result"]["tools"]}
        self.assertLessEqual({WRITER, CODER}, names)
        self.assertNotIn("run_command", names)
        answer = self.mcp(both, head, "tools/call", name=WRITER, arguments={"command": "python3 -V"})
        self.assertTrue(answer["result"]["isError"], answer)
        answer = self.mcp(both, head, "tools/call", name=CODER, arguments={"command": "python3 -V"})
        self.assertFalse(answer["result"]["isError"], answer)
        head = self.session(one)
        self.assertIn("run_command", {tool["name"] for tool in self.mcp(one, head, "tools/list")["result"]["tools"]})
        self.assertEqual(self.mcp(one, head, "tools/call", name=CODER, arguments={"command": "ls"})["error"]["code"], -32602)

    def test_a_token_for_an_agent_is_created_without_a_warning(self):
        for profile, words in (("writer", ""), ("writre", "there is no profile 'writre' yet")):
            done = subprocess.run([NACRE, "token", "create", profile, "--profile", profile], env=self.env, cwd=self.work, capture_output=True,
                                  text=True, check=False, timeout=DEADLINE)
            self.assertEqual(done.returncode, 0, done)
            self.assertIn(words, done.stderr)
            self.assertEqual(bool(words), bool(done.stderr), done)


if __name__ == "__main__":
    unittest.main(verbosity=2)
