"""Terminals for agents: the tool Bash with `pty`, driven by shell_input, as a model would do it."""
import json
import re
import shutil
import unittest

from helpers import NacreTest, wait_until
from mcp_client import Client

# Asks as real programs do, with the terminal in raw mode, and shows what it was told.
ASK = """
import os, select, sys, termios, tty
tty.setraw(0)
os.write(1, bytes.fromhex(sys.argv[1]))
told = b""
while select.select([0], [], [], float(sys.argv[2]))[0] and len(told) < 4096:
    told += os.read(0, 4096)
print(repr(told), end="\\r\\n")
"""


class AgentTerminal(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.client = Client(self, "--profile", "bash")
        self.client.initialize()
        self.tasks = []
        self.addCleanup(self.stop)

    def stop(self):
        for task in self.tasks:
            self.client.call("TaskStop", {"task_id": task})
        self.client.close()

    def open(self, command, pty=True):
        text = self.client.text("Bash", {"command": command, "pty": pty, "run_in_background": True})
        task = re.search(r"\[task (\S+) ", text).group(1)
        self.tasks.append(task)
        self.seen = ""
        return task

    def see(self, task, words):
        """Reads what is new until the words have come."""
        def has_come():
            self.seen += self.client.text("TaskOutput", {"task_id": task})
            return words in self.seen
        try:
            wait_until(words, has_come)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.seen}")

    def see_more(self, task):
        """Reads until something is new but for the last line, which tells of the task."""
        def has_come():
            text = self.client.text("TaskOutput", {"task_id": task})
            self.seen += text
            return "\n" in text
        wait_until("more", has_come)

    def type(self, task, text="", *keys):
        arguments = {"task_id": task, "text": text, "keys": list(keys)} if keys else {"task_id": task, "text": text}
        self.assertEqual(self.client.text("shell_input", arguments), "[typed]")

    def need(self, *programs):
        for name in programs:
            if not shutil.which(name, path=self.env["PATH"]):
                self.skipTest(f"{name}: not installed")

    def test_the_tool_has_it_with_a_size(self):
        tools = {tool["name"]: tool for tool in self.client.result("tools/list")["tools"]}
        self.assertIn("pty", tools["Bash"]["inputSchema"]["properties"])
        text = self.client.text("Bash", {"command": "stty size; tty", "pty": {"rows": 30, "cols": 100}})
        self.assertRegex(text, r"30 100\n/dev/pts/\d")
        self.assertIn("'pty' must be", self.client.refusal("Bash", {"command": "tty", "pty": "yes"}))

    def test_a_python_that_reads_evaluates_and_prints(self):
        task = self.open("python3 -q")
        self.see(task, ">>> ")
        self.type(task, "print(6 * 7)", "Enter")
        self.see(task, "\n42\n")
        self.client.call("shell_input", {"task_id": task, "eof": True})
        self.see(task, "exit 0")

    def test_a_prompt(self):
        task = self.open("read -p 'Your name? ' name; echo hello $name")
        self.see(task, "Your name? ")
        self.type(task, "Ann", "Enter")
        self.see(task, "hello Ann")

    def test_an_interactive_rebase_in_an_editor(self):
        self.need("git", "vi")
        for step in ("init -q .", "commit -q --allow-empty -m one", "commit -q --allow-empty -m two",
                     "commit -q --allow-empty -m three"):
            line = f"git -c user.name=A -c user.email=a@example.org -c init.defaultBranch=main {step}"
            self.client.text("Bash", {"command": line})
        task = self.open("unset EDITOR VISUAL GIT_SEQUENCE_EDITOR; GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org "
                         "GIT_EDITOR=vi git rebase -i --keep-empty HEAD~2")
        self.see(task, "three")
        self.type(task, ":2s/^pick/drop/", "Enter")
        self.type(task, ":wq", "Enter")
        self.see(task, "Successfully rebased")
        self.assertEqual(self.client.text("Bash", {"command": "git log --format=%s"}).split("\n")[:2], ["two", "one"])

    def test_npm_init(self):
        self.need("npm")
        task = self.open("npm init")
        self.see(task, "package name:")
        self.type(task, "thing", "Enter")
        questions = 0
        while "About to write" not in self.seen:  # how many there are is npm's business
            self.see_more(task)
            questions = self.seen.count(": ") + self.seen.count(":\n")
            self.assertLess(questions, 40, self.seen)
            self.type(task, "", "Enter")
        # A question that came in two parts has had two answers: then the last one has been answered.
        self.client.call("shell_input", {"task_id": task, "keys": ["Enter"]})
        self.see(task, "exit 0")
        self.assertEqual(json.loads((self.work / "package.json").read_text())["name"], "thing")

    def test_gdb(self):
        self.need("gdb", "gcc")
        (self.work / "app.c").write_text("int twice(int x) { return 2 * x; }\nint main(void) { return twice(21) != 42; }\n")
        self.client.text("Bash", {"command": "gcc -g -O0 -o app app.c"})
        task = self.open("gdb -q ./app")
        self.see(task, "(gdb) ")
        for line, answer in (("break twice", "Breakpoint 1"), ("run", "twice (x=21)"), ("print x * 3", "= 63"),
                             ("continue", "exited normally")):
            self.type(task, line, "Enter")
            self.see(task, answer)

    def ask(self, question, pty=True, seconds="5"):
        """What a program is told that asks, and then waits for so long."""
        (self.work / "ask.py").write_text(ASK)
        task = self.open(f"python3 ask.py {question.encode().hex()} {seconds}", pty)
        return task

    def test_questions_to_the_terminal_are_answered(self):
        for question, answer in (("\033[6n", r"\x1b[1;1R"), ("abc\033[6n", r"\x1b[1;4R"), ("\033[c", r"\x1b[?1;2c"),
                                 ("\033[>c", r"\x1b[>0;100;0c"), ("\033[18t", r"\x1b[8;24;80t"),
                                 ("\033]11;?\033\\", r"\x1b]11;rgb:0000/0000/0000\x1b\\")):
            task = self.ask(question, seconds="1")
            self.see(task, answer)

    def test_the_size_is_the_one_that_was_asked_for(self):
        self.see(self.ask("\033[18t", {"rows": 30, "cols": 100}, "1"), r"\x1b[8;30;100t")
        self.see(self.ask("\033[999;999H\033[6n", {"rows": 30, "cols": 100}, "1"), r"\x1b[30;100R")

    def test_who_asks_without_end_is_told_no_more_than_fits(self):
        task = self.open("python3 -c \"import os, tty; tty.setraw(0); [os.write(1, b'\\033[6n' * 1000) for _ in range(2000)]; "
                         "print('asked')\"; echo ended")
        self.see(task, "ended")


del NacreTest

if __name__ == "__main__":
    unittest.main()
