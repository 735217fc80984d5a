"""What a newcomer meets first is true: the recording, the first screen of the README, the table of peers, the agents."""
import http.server
import json
import re
import shutil
import subprocess
import threading
import xml.etree.ElementTree as xml

from client_suites import EXAMPLES, ClientTest
from helpers import DEADLINE, NACRE, ROOT, NacreTest

PICTURES = ROOT / "docs" / "pictures"


class Model(http.server.BaseHTTPRequestHandler):
    """A model with a plan: calls one after the other, then an answer made of what came back."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if len(results) < len(self.server.plan):
            call = {"id": f"call_{len(results)}", "type": "function", "function": {
                "name": "Bash", "arguments": self.server.plan[len(results)]}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        else:
            message = {"role": "assistant", "content": "I saw: " + " | ".join(results)}
        data = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Agents(ClientTest):
    def setUp(self):
        super().setUp()
        self.model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        self.model.plan = [json.dumps({"command": "ls"}), json.dumps({"command": "rm -rf /"}), "no JSON"]
        self.model.asked = []
        threading.Thread(target=self.model.serve_forever, daemon=True).start()
        self.addCleanup(self.model.server_close)
        self.addCleanup(self.model.shutdown)
        (self.work / "large.txt").write_text("x" * 1000)
        self.tools = self.dir / "tools.json"
        self.tools.write_text(subprocess.run([NACRE, "call", "--schema", "Bash"], capture_output=True, text=True, check=True, env=self.env,
                                             timeout=DEADLINE).stdout)

    def agent(self, *program):
        env = {"NACRE_URL": self.client_env["NACRE_TEST_URL"], "NACRE_TOKEN": self.boss, "OPENAI_API_KEY": "k", "MODEL": "m",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{self.model.server_address[1]}/v1"}
        out = self.program(*program, self.tools, self.work, "Which file is the largest?", env=env)
        self.assertIn("large.txt", out)
        self.assertIn("deletes everything below", out)
        self.assertIn("not the arguments", out)
        self.assertEqual(self.model.asked[0]["tools"], json.loads(self.tools.read_text()))
        self.assertTrue((self.work / "large.txt").exists())

    def test_in_python_with_the_standard_library(self):
        self.agent("/usr/bin/python3", "-I", EXAMPLES / "agents" / "agent.py")

    def test_in_node(self):
        if not shutil.which("node"):
            self.skipTest("node: it is not installed")
        self.agent(shutil.which("node"), EXAMPLES / "agents" / "agent.mjs")

    def test_they_are_short(self):
        for path in (EXAMPLES / "agents").iterdir():
            self.assertLess(len(path.read_text().splitlines()), 65, path.name)


class Schema(NacreTest):
    def schema(self, *words, code=0):
        done = subprocess.run([NACRE, "call", "--schema", *words], capture_output=True, text=True, timeout=DEADLINE, env=self.env, cwd=self.work)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def test_it_is_the_list_in_another_shape(self):
        listed = json.loads(subprocess.run([NACRE, "call", "--list"], capture_output=True, text=True, check=True, timeout=DEADLINE,
                                           env=self.env).stdout)
        made = self.schema()
        self.assertEqual([tool["type"] for tool in made], ["function"] * len(listed))
        for tool, was in zip(made, listed):
            self.assertEqual(tool["function"], {"name": was["name"], "description": was["description"], "parameters": was["inputSchema"]})

    def test_one_tool_or_none(self):
        [tool] = self.schema("shell")
        self.assertEqual(tool["function"]["name"], "shell")
        self.assertIn("there is no tool 'shel', did you mean 'shell'?", self.schema("shel", code=125))


class Pictures(NacreTest):
    BOXED = True

    def test_the_recording_is_what_comes_now(self):
        env = {**self.env, "PATH": f"{self.env['PATH']}"}
        done = subprocess.run([ROOT / "tools" / "record", "--check", NACRE, PICTURES / "terminal.txt", PICTURES / "terminal.svg"], env=env,
                              capture_output=True, text=True, timeout=DEADLINE * 2)
        if "network: example.org" not in done.stderr and "hidden from commands" not in done.stderr and done.returncode:
            self.skipTest("userns: the recording was made in the strict tier")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_pictures_stand_alone(self):
        for path in PICTURES.glob("*.svg"):
            text = path.read_text()
            xml.fromstring(text)
            self.assertNotRegex(text, r"<script|href=|url\((?!#)|@import|<image|<foreignObject", path.name)


class Readme(NacreTest):
    TEXT = (ROOT / "README.md").read_text()

    def test_the_first_screen_has_the_two_commands(self):
        first = "\n".join(self.TEXT.splitlines()[:45])
        for words in ("make run CMD='ls -la'", "make test", "docs/pictures/terminal.svg"):
            self.assertIn(words, first)

    def test_every_cell_about_a_peer_has_a_source(self):
        rows = re.findall(r"^\| \*?\*?([^|]+?)\*?\*? \|(.*)\|$", self.TEXT[self.TEXT.index("## Beside others"):], re.MULTILINE)
        cells = [cell.strip() for _, row in rows[2:] for cell in row.split("|")]
        self.assertGreater(len(cells), 20)
        notes = set(re.findall(r"^\[\^([\w-]+)\]: ", self.TEXT, re.MULTILINE))
        for cell in cells:
            used = re.findall(r"\[\^([\w-]+)\]", cell)
            self.assertTrue(used or cell == "?", f"'{cell}' has no source")
            self.assertLessEqual(set(used), notes)

    def test_what_the_notes_name_of_ours_is_there(self):
        for name in re.findall(r"`((?:tests|docs|tools)/[\w/.-]+)`", self.TEXT):
            self.assertTrue((ROOT / name).exists(), name)
        for name in re.findall(r"\]\((?!http)([\w/.-]+)\)", self.TEXT):
            self.assertTrue((ROOT / name).exists(), name)


if __name__ == "__main__":
    import unittest
    unittest.main()
