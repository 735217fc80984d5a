#!/usr/bin/env python3
"""docs/clients.md as it stands: every snippet is well-formed, every command line in one is understood by nacre, and the examples
in Python, Node.js and C run and print what they should."""
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import unittest

import helpers
import serving
import suites
import test_library

DOC = helpers.ROOT / "docs" / "clients.md"
HTTP = helpers.ROOT / "docs" / "http.md"
DISCOVER = {"jsonrpc": "2.0", "id": 1, "method": "server/discover",
            "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                 "io.modelcontextprotocol/clientCapabilities": {}}}}
CLIENTS = ["Claude Code", "Codex", "Gemini CLI", "Cursor", "VS Code", "OpenCode", "Goose"]


def blocks(language, page=DOC):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def commands(value):
    """The command lines in a configuration, however a client writes them."""
    if isinstance(value, dict):
        command = value.get("command", value.get("cmd"))
        if isinstance(command, str):
            yield [command, *value.get("args", [])]
        elif isinstance(command, list):
            yield command
        for inner in value.values():
            yield from commands(inner)


def configurations():
    found = [json.loads(text) for text in blocks("json")] + [tomllib.loads(text) for text in blocks("toml")]
    for text in blocks("yaml"):  # no YAML in Python's library: the one line that matters is a flow list
        args = re.search(r"^ *args: \[(.*)\]$", text, re.MULTILINE)
        if args:
            found.append({"cmd": re.search(r"^ *cmd: (.*)$", text, re.MULTILINE)[1], "args": args[1].split(", ")})
    return found


class Snippets(helpers.NacreTest):
    BOXED = True

    def test_every_client_has_a_section_with_both_doors(self):
        text = DOC.read_text()
        for name in CLIENTS:
            section = re.search(rf"^## {name}\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
            self.assertTrue(section, name)
            self.assertIn("mcp", section[1])
            self.assertIn("127.0.0.1:7878/mcp", section[1], name)

    def test_command_lines_are_understood(self):
        lines = {tuple(line) for configuration in configurations() for line in commands(configuration)}
        self.assertGreaterEqual(len(lines), 3)
        for line in lines:
            words = [word.replace("${workspaceFolder}", str(self.work)) for word in line]
            self.assertEqual(words[:2], ["nacre", "mcp"])
            done = subprocess.run([helpers.NACRE, *words[1:]], input=json.dumps(DISCOVER) + "\n", capture_output=True,
                                  text=True, env=self.env, cwd=self.work, timeout=helpers.DEADLINE, check=False)
            self.assertEqual(done.returncode, 0, (line, done.stderr))
            self.assertIn("2026-07-28", json.loads(done.stdout.splitlines()[0])["result"]["supportedVersions"])


class FirstSteps(serving.ServeTest):
    """What stands in the documents for people who have just started a server, typed as it stands there."""
    BOXED = True

    def type(self, text):
        if not shutil.which("curl"):
            self.skipTest("curl: not installed")
        os.symlink(helpers.NACRE, self.dir / "nacre")
        places = {"~/.local/state/nacre ": f"{self.state} ", '"$state/nacre.sock"': self.server.unix, "~/project": str(self.work),
                  "127.0.0.1:7878": f"127.0.0.1:{self.server.port}", "curl ": "curl -sS --fail-with-body "}
        for there, here in places.items():
            text = text.replace(there, here)
        done = subprocess.run(["bash", "-euc", text], env={**self.env, "PATH": f"{self.env['PATH']}:{self.dir}"}, cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=helpers.DEADLINE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_of_http(self):
        [text] = blocks("sh", HTTP)
        out = self.type(text.replace("\ncurl", "\necho; curl"))
        run, shell, tasks = [json.loads(line) for line in out.splitlines() if line]
        self.assertEqual((run["stdout"], shell["success"], tasks), ("hello\n", True, {"tasks": []}))

    def test_of_clients(self):
        [text] = blocks("sh")
        token, serve = text.splitlines()
        self.assertTrue(serve.startswith("nacre serve --listen 127.0.0.1:7878"))
        token = self.type(token + '\necho "$NACRE_TOKEN"').strip()
        self.assertEqual(self.run_command("pwd", token=token)["stdout"].strip(), str(self.work))
        self.assertEqual(self.post("/v1/run", {"command": "ls", "profile": "verify"}, token=token).status, 403)


class Examples(suites.SuiteTest):
    def setUp(self):
        super().setUp()
        os.symlink(helpers.NACRE, self.dir / "nacre")
        self.env["PATH"] = f"{self.dir}:{self.env['PATH']}"

    def example(self, language):
        found = blocks(language)
        self.assertEqual(len(found), 1, language)
        self.assertLessEqual(len(found[0].splitlines()), 11, "about ten lines were promised")
        return found[0]

    def expect_greeting(self, command, env):
        popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=env, cwd=self.work)
        self.started.append(popen)
        out, err = popen.communicate(timeout=helpers.DEADLINE)
        self.assertEqual((popen.returncode, err), (0, ""), out)
        self.assertIn("hello from 42 boxes", out)

    def test_python(self):
        script = self.dir / "example.py"
        script.write_text(self.example("python"))
        self.expect_greeting([sys.executable, str(script)], self.env)

    def test_node(self):
        server = suites.Server(self, "--profile", "bash")
        script = self.dir / "example.mjs"
        script.write_text(self.example("js"))
        self.expect_greeting([self.node, str(script)],
                             {**self.env, "NACRE_URL": server.url, "NACRE_TOKEN": server.token})

    def test_c(self):
        source = self.dir / "hello.c"
        source.write_text(self.example("c"))
        program = test_library.Tree.compile(source)
        self.expect_greeting([str(program)], {**self.env, "LD_LIBRARY_PATH": str(test_library.Tree.library)})


if __name__ == "__main__":
    sys.exit(unittest.main())
