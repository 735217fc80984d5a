"""The interactions and acceptance cases that the five published designs show, on the real binary.

Each is asked of `nacre explain` first, which runs nothing, and then, where something is to be seen
that only a run can show, of `nacre run`.
"""
import json
import subprocess
import unittest

from helpers import NACRE, NacreTest
from policy import SEED_TOOLS, PolicyTest, outcome, rule_id


def verify(command, *args, force=False):
    return {"profile": "verify", "command": command, "args": list(args), "force": force}


class SafeShell(PolicyTest):
    """Design 000: one program with arguments; a better tool is recommended where there is one."""

    def ask(self, command, *args, force=False):
        return self.explain([verify(command, *args, force=force)])[0]

    def test_git_diff_is_strictly_blocked(self):
        for force in (False, True):
            answer = self.ask("git", "diff", force=force)
            self.assertEqual((answer["verdict"], rule_id(answer)), ("deny", "never:git"))
            self.assertIn("git", answer["reason"])
            self.assertIn("strictly blocked", answer["reason"])
            self.assertIn("version-control", answer["reason"])

    def test_rm_of_an_absolute_path_and_a_redirection_are_blocked(self):
        self.assertEqual(self.ask("rm", "/etc/passwd")["verdict"], "deny")
        self.assertEqual(self.ask("rm", "old.txt")["verdict"], "allow")
        self.assertEqual(self.ask("echo x > y")["verdict"], "deny")

    def test_go_build_and_go_test_are_nudged_to_their_tools(self):
        for sub, tool in (("build", "go.build"), ("test", "go.test")):
            answer = self.ask("go", sub, "./...")
            self.assertEqual(answer["verdict"], "nudge")
            self.assertEqual(answer["recommended"], [tool])
            self.assertIn(tool, answer["reason"])

    def test_force_overrides_advice_and_not_the_blocklist(self):
        self.assertEqual(self.ask("grep", "x", "a.txt")["verdict"], "nudge")
        self.assertIn(outcome(self.ask("grep", "x", "a.txt", force=True)), ("allow", "sandbox"))
        for name in ("git", "sudo", "su", "chown", "chmod", "bash", "sh", "zsh", "vi", "nano"):
            self.assertEqual(self.ask(name, "x", force=True)["verdict"], "deny", name)

    def test_the_pending_sub_commands_of_go_are_nudged_too(self):
        for sub in ("mod", "get", "install", "doc"):
            self.assertEqual(self.ask("go", sub)["verdict"], "nudge", sub)

    def test_what_was_built_can_be_run(self):
        self.assertIn(outcome(self.ask("./tool", "--json", "a|b > c; $(d)")), ("allow", "sandbox"))


class ReadOnly(PolicyTest):
    """Design 003: the acceptance cases of the whitelist."""

    def ask(self, line):
        return self.explain([{"profile": "readonly", "command": line}])[0]

    def test_rm_is_not_in_the_whitelist(self):
        answer = self.ask("rm -rf /")
        self.assertEqual(answer["verdict"], "deny")
        self.assertIn("not in whitelist", answer["reason"])
        for name in ("ls", "cat", "grep", "find"):
            self.assertIn(name, answer["reason"])

    def test_a_pipe_is_a_metacharacter(self):
        answer = self.ask("ls | cat")
        self.assertEqual(answer["verdict"], "deny")
        self.assertIn("metacharacter", answer["reason"])
        self.assertIn("|", answer["reason"])

    def test_command_substitution_is_blocked(self):
        self.assertEqual(self.ask("echo $(cat /etc/passwd)")["verdict"], "deny")

    def test_ls_and_grep_are_allowed(self):
        self.assertEqual(self.ask("ls -la")["verdict"], "allow")
        self.assertEqual(self.ask("grep -r TODO .")["verdict"], "allow")

    def test_a_refusal_tells_nothing_about_the_host(self):
        for line in ("rm -rf /", "ls | cat", "/bin/ls", "./tool", "find . -delete", "cat 'x"):
            answer = self.ask(line)
            reason = answer.get("reason") or answer["error"]
            for word in (str(self.top), "/usr", "/home", "errno", "No such file"):
                self.assertNotIn(word, reason, line)


class Bash(PolicyTest):
    """Design 004: what is blocked, and the words of the block."""

    def ask(self, line):
        return self.explain([{"profile": "bash", "command": line}])[0]

    def test_a_blocked_line_names_the_pattern_and_what_to_do_instead(self):
        answer = self.ask("rm -rf /")
        self.assertEqual((answer["verdict"], rule_id(answer)), ("deny", "danger:rm-root"))
        self.assertIn("Recursive delete", answer["reason"])
        self.assertIn("exact paths", answer["reason"])

    def test_the_default_blocklist(self):
        for line in ("rm -rf /", "mkfs", "dd if=/dev/zero of=/dev/sda", ":(){:|:&};:", "echo x > /dev/sda",
                     "chmod -R 777 x", "echo x > /etc/x", "curl x | bash", "dd if=x of=/dev/sdb"):
            self.assertEqual(self.ask(line)["verdict"], "deny", line)

    def test_ordinary_lines_of_the_design_run(self):
        for line in ("npm run build", "npm test", "npm install", "cat large-file.log"):
            self.assertIn(outcome(self.ask(line)), ("allow", "sandbox"), line)


class Universal(PolicyTest):
    """Design 001: the examples of its problem statement, for the agents that had no shell."""

    def test_every_agent_can_do_what_the_examples_ask(self):
        cases = {"writer": ("pdflatex paper.tex", "biber paper", "latexmk -pdf paper.tex", "wc -w paper.tex",
                            "pandoc a.md -o a.docx"),
                 "researcher": ("python3 analysis.py", "curl -s https://example.com", "jq . a.json"),
                 "coder": ("pytest", "ruff check .", "make"), "debugger": ("pytest -x", "eslint .", "make")}
        for agent, lines in cases.items():
            lines += ("ls | wc -l", "du -sh .", "file a.txt", "unzip a.zip", "tar xf a.tar")
            answers = self.explain([{"agent": agent, "command": line} for line in lines])
            for line, answer in zip(lines, answers):
                self.assertIn(outcome(answer), ("allow", "sandbox"), (agent, line, answer))

    def test_a_whitelist_says_what_is_allowed(self):
        answer = self.explain([{"agent": "writer", "command": "python3 x.py"}])[0]
        self.assertEqual(answer["verdict"], "deny")
        self.assertIn("python3", answer["reason"])
        self.assertIn("pdflatex", answer["reason"])


class Runs(NacreTest):
    """The same through `nacre run`: what is refused does not start, what is allowed does."""

    def setUp(self):
        super().setUp()
        (self.work / "a.txt").write_text("one TODO\ntwo\n")

    def refused(self, *args):
        result = self.run_json(*args)
        self.assertEqual(result["exit_code"], 126, result)
        self.assertFalse(result["success"])
        self.assertIn(result["verdict"], ("deny", "nudge"))
        return result

    def test_readonly_lists_and_searches(self):
        result = self.run_json("--profile", "readonly", "-c", "ls -la")
        self.assertTrue(result["success"], result)
        self.assertIn("a.txt", result["stdout"])
        result = self.run_json("--profile", "readonly", "-c", "grep -r TODO .")
        self.assertEqual(result["stdout"], "./a.txt:one TODO\n")

    def test_readonly_refuses_what_the_design_refuses(self):
        self.assertIn("not in whitelist", self.refused("--profile", "readonly", "-c", "rm -rf a.txt")["reason"])
        self.assertIn("metacharacter", self.refused("--profile", "readonly", "-c", "ls | cat")["reason"])
        self.refused("--profile", "readonly", "-c", "echo $(cat /etc/passwd)")
        self.assertTrue((self.work / "a.txt").exists())

    def test_readonly_ends_at_its_timeout(self):
        result = self.run_json("--profile", "readonly", "--timeout", "300ms", "-c", "tail -f a.txt")
        self.assertTrue(result["timed_out"], result)

    def test_readonly_cannot_write_by_what_nobody_saw(self):
        self.run_json("--profile", "readonly", "-c", "find . -maxdepth 0 -newermt 2000-01-01")
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["a.txt"])

    def test_verify_blocks_git_and_nudges_go(self):
        result = self.refused("--profile", "verify", "--", "git", "diff")
        self.assertIn("strictly blocked", result["reason"])
        result = self.refused("--profile", "verify", "--", "go", "build")
        self.assertEqual((result["verdict"], result["recommended"]), ("nudge", ["go.build"]))
        self.assertIn("repeat the call with force", result["reason"])
        self.write_config("verify.yaml", SEED_TOOLS)
        result = self.refused("--profile", "verify", "--", "go", "build")
        self.assertEqual((result["verdict"], result["recommended"]), ("nudge", ["go.build"]))
        self.assertIn("Use go.build instead", result["reason"])

    def test_a_tool_that_the_application_may_not_have_is_an_example(self):
        for words in (["grep", "x"], ["ls"], ["cat", "x"], ["sed", "p"], ["go", "build"], ["go", "test"], ["go", "mod"],
                      ["go", "vet"], ["git", "diff"], ["vi", "x"]):
            result = self.refused("--profile", "verify", "--", *words)
            self.assertIn(f"If you have a tool of your own for this, such as {result['recommended'][0]}", result["reason"])

    def test_tools_of_a_role_replace_those_of_a_rule(self):
        self.write_config("verify.yaml", "profile: verify\nnudge:\n  tools: {search: [my_grep]}\n"
                          "  rules: [{id: ag, commands: [ag], role: search, use: [rg]}, {commands: [fd], role: list}]\n")
        result = self.refused("--profile", "verify", "--", "ag", "x")
        self.assertEqual(result["recommended"], ["my_grep"])
        self.assertIn("Use my_grep instead", result["reason"])
        self.assertEqual(self.refused("--profile", "verify", "--", "fd", "x")["recommended"], [])
        shown = json.loads(subprocess.run([NACRE, "policy", "show", "--profile", "verify", "--json"], env=self.env, cwd=self.work, check=True,
                                          capture_output=True).stdout)
        self.assertEqual(shown["values"]["nudge.tools.search"]["value"], ["my_grep"])

    def test_verify_runs_grep_by_force_and_git_never(self):
        self.refused("--profile", "verify", "--", "grep", "TODO", "a.txt")
        result = self.run_json("--profile", "verify", "--force", "--", "grep", "TODO", "a.txt")
        self.assertTrue(result["success"], result)
        self.refused("--profile", "verify", "--force", "--", "git", "diff")

    def test_verify_gives_the_input_to_what_was_built(self):
        program = self.work / "echo-server"
        program.write_text("#!/usr/bin/python3\nimport sys\nprint(sys.stdin.read().upper())\n")
        program.chmod(0o755)
        result = self.run_json("--profile", "verify", "--input", '{"jsonrpc": "2.0"}', "--", "./echo-server")
        self.assertIn('{"JSONRPC": "2.0"}', json.dumps(result["output"]).replace("\\", ""))

    def test_bash_blocks_before_anything_runs(self):
        result = self.refused("-c", "touch ran; rm -rf /")
        self.assertIn("Recursive delete", result["reason"])
        self.assertFalse((self.work / "ran").exists())

    def test_bash_runs_an_ordinary_line(self):
        result = self.run_json("-c", "echo hi > out.txt && cat out.txt")
        self.assertEqual(result["stdout"], "hi\n")

    def test_universal_refuses_sudo_anywhere_in_the_line(self):
        self.refused("--profile", "universal", "-c", "touch ran; echo $(sudo ls)")
        self.assertFalse((self.work / "ran").exists())

    def test_workspace_asks_and_without_a_person_it_is_refused(self):
        result = self.run_json("--profile", "workspace", "--", "python3", "-c", "open('ran', 'w')")
        self.assertEqual(result["exit_code"], 126, result)
        self.assertFalse((self.work / "ran").exists())


if __name__ == "__main__":
    unittest.main()
