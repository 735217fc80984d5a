"""nacre policy import: the configuration of other shell tools becomes a policy that says the same."""
import json
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest

EXPERT = """# config/experts/writer/config.yaml
model: large
tools:
  shell:
    - run_command
  web: [web_search]
shell:
  # Only these commands are allowed
  allow: [pdflatex, wc, ls]
  deny: [ls]
  default_timeout: 300
"""
DEFAULTS = """tools:
  coding: [run_command, other_tool]
blocked_commands: [sudo, frobnicate, "git push"]
timeout: 90
"""
POLICY = {"WorkspaceRoot": "/srv/repo", "CommandPolicy": {"Allow": ["ls", "make"], "Deny": ["cat"], "Ask": ["wc"], "Default": "ask", "SessionAllow": ["x"]},
          "DockerConfig": {"CheckTimeoutSeconds": 5, "StartCommand": "systemctl start docker", "StartTimeoutMs": 9000},
          "MaxBytes": 4096, "TimeoutSeconds": 60, "Theme": {"dark": True}}
BASH = {"defaultTimeout": 120000, "maxTimeout": 480000, "maxOutputSize": 20000, "requireDescription": True, "sandboxMode": False,
        "blockedCommands": ["rm -rf /", "mkfs", "dd if=/dev/zero", ":(){:|:&};:", "git push --force", "shutdown"]}
WHITELIST = {"tools": ["run_shell"], "ALLOWED_COMMANDS": ["ls", "wc"], "DANGEROUS_CHARS": [";", "|", "#"], "timeout": 10}


class Import(NacreTest):
    def take(self, name, text, *options, code=0):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        done = subprocess.run([NACRE, "policy", "import", *options, name], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=DEADLINE)
        self.assertEqual(done.returncode, code, done)
        (self.work / "made.yaml").write_text(done.stdout)
        return done

    def values(self):
        done = subprocess.run([NACRE, "policy", "show", "--json", "--policy", "made.yaml"], env=self.env, cwd=self.work, check=True,
                              capture_output=True, text=True, timeout=DEADLINE)
        shown = json.loads(done.stdout)
        return {"profile": shown["profile"], **{key: entry["value"] for key, entry in shown["values"].items()}}

    def verdict(self, line, force=False):
        done = subprocess.run([NACRE, "explain", "--json", "--policy", "made.yaml", *(("-c", line) if isinstance(line, str) else ("--", *line))],
                              env=self.env, cwd=self.work, capture_output=True, text=True, check=False, timeout=DEADLINE)
        return json.loads(done.stdout)["verdict"]

    def test_the_file_of_an_expert(self):
        done = self.take("config/experts/writer/config.yaml", EXPERT)
        where = "config/experts/writer/config.yaml"
        for line in (f"{where}:2:8: model: left out: it has no counterpart", f"{where}:5:7: tools.shell: 'run_command' is the tool of the profile 'universal'",
                     f"{where}:6:8: tools.web: left out", "shell.allow, as it stands", "shell.default_timeout, in seconds"):
            self.assertIn(line, done.stderr)
        values = self.values()
        self.assertEqual((values["profile"], values["inherits"], values["timeout.default"]), ("my-writer", "universal", "300s"))
        for line, verdict in (("wc -l x", "allow"), ("pdflatex x", "allow"), ("ls", "deny"), ("python3 x", "deny"), ("wc x | sudo wc", "deny")):
            self.assertEqual(self.verdict(line), verdict, line)

    def test_a_blocklist(self):
        done = self.take("defaults.yaml", DEFAULTS, "--name", "every-agent")
        self.assertIn("'other_tool' is no tool that runs commands", done.stderr)
        values = self.values()
        self.assertEqual((values["profile"], values["tool"], values["timeout.default"]), ("every-agent", "run_command", "90s"))
        for line, verdict in (("ls", "allow"), ("true; frobnicate", "deny"), ("git push origin", "deny"), ("git fetch", "allow")):
            self.assertEqual(self.verdict(line), verdict, line)

    def test_a_command_policy(self):
        done = self.take("shell-tool.json", POLICY)
        self.assertIn("Theme.dark: left out", done.stderr)
        self.assertIn("reach the engine only with docker.allow", done.stderr)
        values = self.values()
        self.assertEqual({key: values[key] for key in ("profile", "tool", "default", "timeout.default", "output.limit", "workspace.roots", "docker.start",
                                                       "docker.start_timeout", "docker.ping_timeout", "docker.allow")},
                         {"profile": "shell-tool", "tool": "shell", "default": "ask", "timeout.default": "60s", "output.limit": "4K",
                          "workspace.roots": ["/srv/repo"], "docker.start": ["systemctl", "start", "docker"], "docker.start_timeout": "9s",
                          "docker.ping_timeout": "5s", "docker.allow": False})
        self.assertIn('allow: ["ls", "make"]', done.stdout)

    def test_a_bash_tool(self):
        done = self.take("bash.json", BASH)
        self.assertIn("'rm -rf /' is refused by the profile 'bash' in every spelling", done.stderr)
        self.assertIn("the sandbox stays on", done.stderr)
        values = self.values()
        self.assertEqual((values["timeout.default"], values["timeout.max"], values["output.limit"], values["require_description"], values["sandbox.mode"]),
                         ("120s", "480s", 20000, True, "none"))  # the tests' own layer for bash has no sandbox
        for line, verdict in (("rm -r -f //", "deny"), ("git push --force", "deny"), ("git push", "allow"), ("ls; shutdown", "deny"), ("npm test", "allow")):
            self.assertEqual(self.verdict(line), verdict, line)

    def test_a_whitelist_of_the_read_only_tool(self):
        self.take("service.json", WHITELIST)
        for line, verdict in (("ls -la", "allow"), ("cat x", "deny"), ("ls | wc", "deny"), ("ls #x", "deny")):
            self.assertEqual(self.verdict(line), verdict, line)

    def test_a_whitelist_is_a_wall_below_a_permissive_profile_too(self):
        self.take("x.yaml", "whitelist: [ls]\n")
        self.assertEqual([self.verdict("ls"), self.verdict("cat x")], ["allow", "deny"])

    def test_what_cannot_be_used_is_told(self):
        for text, code, words in (("a: 1\n", 1, "no key of it is about commands"), ("- a\n", 125, "a map of keys"), ("a: [\n", 125, "x.yaml:"),
                                  ("timeout: soon\n", 1, "a number above 0"), ("default: maybe\nallow: [ls]\n", 0, "allow, ask or deny"),
                                  ("deny: [{a: 1}, ls]\n", 0, "a text was expected"), ("tools: [run_command]\nprofile: 'a b'\n", 1, "cannot be converted")):
            self.assertIn(words, self.take("x.yaml", text, code=code).stderr, text)
        self.assertIn("No such file", subprocess.run([NACRE, "policy", "import", "nothing"], env=self.env, cwd=self.work, capture_output=True, text=True,
                                                     check=False, timeout=DEADLINE).stderr)

    def test_any_text_stays_a_text(self):
        for text in ('a"b', "back\\slash", "x: y", "# no comment", "${HOME}", "tab\there"):
            self.take("x.yaml", {"blocked_commands": [text]})
            self.assertEqual(self.verdict(f"echo x; printf '%s' '{text}'"), "deny", text)

    def test_nothing_is_left_behind(self):
        self.take("x.yaml", "deny: [ls]\n")
        self.assertEqual(list(self.tmp.iterdir()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
