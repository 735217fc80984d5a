"""A misspelt command, option, profile, tool or member is answered with the one that was meant."""
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest
from mcp_client import Client


class DidYouMean(NacreTest):
    def nacre(self, *words, **options):
        return subprocess.run([NACRE, *words], cwd=self.work, env=self.env, capture_output=True, text=True, timeout=DEADLINE,
                              check=False, stdin=subprocess.DEVNULL, **options)

    def test_commands_and_options(self):
        self.write_config("mine.yaml", "profile: mine\ninherits: bash\n")
        for words, meant in ((("rnu", "-c", "true"), "unknown command 'rnu', did you mean 'run'?"),
                             (("aproove", "x"), "did you mean 'approve'?"),
                             (("run", "--timout", "5s", "-c", "true"), "nacre: run: unknown option '--timout', did you mean '--timeout'?"),
                             (("run", "--timout=5s", "-c", "true"), "nacre: run: unknown option '--timout', did you mean '--timeout'?"),
                             (("tasks", "--jsn"), "did you mean '--json'?"),
                             (("serve", "--lisen", "x"), "did you mean '--listen'?"),
                             (("explain", "--proflie", "x", "-c", "x"), "did you mean '--profile'?"),
                             (("audit", "shwo"), "did you mean 'show'?"),
                             (("token", "creat", "x"), "token: unknown command 'creat', did you mean 'create'?"),
                             (("call", "Bsah", "{}"), "there is no tool 'Bsah', did you mean 'Bash'?"),
                             (("run", "--profile", "bsah", "-c", "true"), "no profile 'bsah', did you mean 'bash'?"),
                             (("run", "--profile", "mien", "-c", "true"), "no profile 'mien', did you mean 'mine'?"),
                             (("run", "--agent", "wrtier", "-c", "true"), "no agent 'wrtier', did you mean 'writer'?")):
            with self.subTest(words):
                done = self.nacre(*words)
                self.assertEqual((done.returncode, done.stdout), (125, ""), done)
                self.assertIn(meant, done.stderr)

    def test_other_words_for_the_same_thing(self):
        for words, meant in ((("run", "--wait-approval", "5s", "-c", "true"), "nacre: run: unknown option '--wait-approval', did you mean '--approval-timeout'?"),
                             (("serve", "--running", "8"), "nacre: serve: unknown option '--running', did you mean '--jobs'?"),
                             (("mcp", "--ask-timeout=5s"), "nacre: mcp: unknown option '--ask-timeout', did you mean '--approval-timeout'?")):
            with self.subTest(words):
                done = self.nacre(*words)
                self.assertEqual((done.returncode, done.stdout), (125, ""), done)
                self.assertIn(meant, done.stderr)
        for text, meant in (("deny: [{commands: [x], why: no}]", "unknown key 'why', did you mean 'reason'?"),
                            ("sandbox: {mode: full}", "did you mean 'strict'?"),
                            ("default_why: no", "unknown key 'default_why', did you mean 'default_reason'?"),
                            ("syntax: {why: no}", "unknown key 'why', did you mean 'reason'?")):
            with self.subTest(text):
                self.write_config("mine.yaml", f"profile: mine\ninherits: bash\n{text}\n")
                done = self.nacre("run", "--profile", "mine", "-c", "true")
                self.assertEqual((done.returncode, done.stdout), (125, ""), done)
                self.assertIn(meant, done.stderr)
        done = self.run_nacre("--batch", input=b'{"command": "ls", "ask_ms": 5}\n')
        self.assertIn(b"unknown member 'ask_ms', did you mean 'approval_timeout_ms'?", done.out)

    def test_the_text_of_a_profile(self):
        for name, words in (("bsah", "there is no profile 'bsah', did you mean 'bash'?\n"),
                            ("zzzzzz", "there is no profile 'zzzzzz'; 'nacre profiles' lists them\n")):
            done = self.nacre("profiles", name)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "nacre: " + words))

    def test_what_is_near_to_nothing_stands_alone(self):
        for words in (("frobnicate",), ("run", "--frobnicate"), ("run", "--" + "a" * 5000), ("x" * 5000,),
                      ("run", "-x"), ("run", "--timeout"), ("run", "--profile", "zzzzzz", "-c", "true"), ("lancher",),
                      ("call", "Bash", '{"frobnicate": 1}')):
            with self.subTest(words):
                done = self.nacre(*words)
                self.assertEqual(done.returncode, 125, done)
                self.assertNotIn("did you mean", done.stderr)

    def test_members(self):
        done = self.nacre("call", "Bash", '{"comand": "ls"}')
        self.assertEqual(done.returncode, 125, done)
        for text in (done.stdout, done.stderr):
            self.assertIn("unknown member 'comand', did you mean 'command'?", text)
        done = self.run_nacre("--batch", input=b'{"comand": "ls"}\n')
        self.assertIn(b"unknown member 'comand', did you mean 'command'?", done.out)
        client = Client(self)
        client.initialize()
        self.assertIn("did you mean 'command'?", client.refusal("Bash", {"comand": "ls"}))
        answer = client.ask("tools/call", {"name": "Bsh", "arguments": {}})
        self.assertIn("did you mean 'Bash'?", answer["error"]["message"])
        client.close()


if __name__ == "__main__":
    unittest.main()
