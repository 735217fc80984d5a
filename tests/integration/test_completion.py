"""The table of commands (`nacre describe`): parser, --help, completion and manual page all have every option of it, and
no other. And what real shells complete with the scripts of `nacre completion`."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from helpers import DEADLINE, NACRE, NacreTest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


# A value that the parser takes, by the word for it.
VALUES = {"DUR": "5s", "SIZE": "1M", "N": "3", "BYTES": "3", "LINE": "true", "TIME": "2h", "A-B": "2-3", "ADDR:PORT": "127.0.0.1:0",
          "EVENT": "ended", "NAME=VALUE": "A=b", "NAME[=VALUE]": "A=b", "REGEX": "x", "TEXT": "x"}
NEEDS_A_TASK = {("input", "key"), ("input", "eof"), ("input", "resize")}
NEEDS_A_PIPE = {("run", "stdin")}


class Commands(NacreTest):
    def setUp(self):
        super().setUp()
        self.env["PATH"] = f"{os.path.dirname(NACRE)}:{os.environ['PATH']}"
        self.commands = json.loads(self.nacre("describe").stdout)

    def nacre(self, *args):
        return subprocess.run([NACRE, *args], env=self.env, cwd=self.work, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=DEADLINE, check=False)

    def complete(self, *words):
        """What bash offers for the last of the words."""
        script = ('source <(nacre completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_nacre; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", "nacre", *words], env=self.env,
                              capture_output=True, text=True, timeout=DEADLINE, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()


class Table(Commands):
    def test_every_command_is_listed_once(self):
        names = [command["name"] for command in self.commands]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 25)
        listed = re.findall(r"^  ([a-z]+) ", self.nacre("--help").stdout, re.MULTILINE)
        self.assertEqual(listed, [name for name in names if " " not in name])
        self.assertEqual(self.complete(""), listed)
        for group in listed:
            verbs = [name.split()[1] for name in names if name.startswith(group + " ")]
            if verbs:
                done = self.nacre(group, "--help")
                self.assertEqual(re.findall(r"^  ([a-z]+) ", done.stdout, re.MULTILINE), verbs)
                self.assertEqual(self.complete(group, ""), verbs)

    def test_help_and_completion_have_its_options_and_no_others(self):
        for command in self.commands:
            if not command["usage"]:
                continue
            with self.subTest(command["name"]):
                words = command["name"].split()
                done = self.nacre(*words, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.nacre(*words, "-h").stdout, done.stdout)
                shown = [(name or "", letter or "") for letter, name in
                         re.findall(r"^  (?:-([A-Za-z])\b)?(?:, )?(?:--([a-z-]+))?", done.stdout.split("\n\n", 1)[1], re.MULTILINE)
                         if letter or name]
                options = [(o["name"] or "", o["letter"] or "") for o in command["options"]] + [("help", "h")]
                self.assertEqual(shown, options)
                for option in command["options"]:
                    self.assertIn(option["help"], done.stdout)
                self.assertEqual(self.complete(*words, "--"), ["--" + name for name, _ in options if name])
                self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
                for named in re.findall(r"(?<!\S)\[?--([a-z-]+)", command["usage"]):
                    self.assertIn(named, [name for name, _ in options])

    def test_the_parser_takes_its_options_and_no_others(self):
        """--help after an option: it is read, and nothing is done."""
        for command in self.commands:
            words = command["name"].split()
            for option in command["options"]:
                value = option["value"]
                if (command["name"], option["name"]) in NEEDS_A_TASK | NEEDS_A_PIPE:
                    continue
                sample = VALUES.get(value, re.split(r"[|\[]", value)[0] if value else None)
                for shown in filter(None, (option["letter"] and "-" + option["letter"], option["name"] and "--" + option["name"])):
                    given = [shown] if not value or value[0] == "[" else [shown, sample]
                    with self.subTest(command=command["name"], given=given):
                        done = self.nacre(*words, *given, "--help")
                        self.assertEqual((done.returncode, done.stderr), (0, ""))
                        if value and value[0] != "[":
                            done = self.nacre(*words, shown)
                            self.assertEqual(done.returncode, 125)
                            self.assertIn(f"option '{shown}' needs a value: {value}", done.stderr)
                        elif not value and shown[1] == "-":
                            done = self.nacre(*words, shown + "=x")
                            self.assertIn(f"option '{shown}' takes no value", done.stderr)
            if command["usage"]:
                for wrong in ("--no-such-thing", "-Z"):
                    done = self.nacre(*words, wrong)
                    self.assertEqual((done.returncode, done.stdout), (125, ""))
                    self.assertIn(f"{command['name']}: unknown option '{wrong}'", done.stderr)

    def test_commands_that_are_not_for_people_have_help_as_well(self):
        for name in ("launcher", "complete", "describe"):
            self.assertNotIn(name, [command["name"] for command in self.commands])
            done = self.nacre(name, "--help")
            self.assertEqual((done.returncode, done.stdout.split("\n")[0][:13 + len(name)]), (0, f"usage: nacre {name}"))

    def test_values_that_need_more_are_read_as_well(self):
        for option in ("--key", "--resize"):
            self.assertIn("the id of the task must come first", self.nacre("input", option, "x").stderr)
        self.assertIn("the id of the task must come first", self.nacre("input", "--eof").stderr)
        self.assertEqual(self.run_nacre("--stdin", "-c", "cat", input=b"x").out, b"x")

    def test_no_option_is_read_elsewhere(self):
        for path in (ROOT / "src" / "main.c", *sorted((ROOT / "src" / "cli").glob("*.[ch]"))):
            if path.name != "command.c":
                self.assertFalse(re.search(r"getopt|\bstruct option\b|\boptind\b", path.read_text()), path)

    def manual(self):
        table = self.dir / "commands.json"
        table.write_text(json.dumps(self.commands))
        return subprocess.run([sys.executable, ROOT / "tools" / "manual-page", ROOT / "docs" / "man" / "nacre.1.scd", table],
                              check=True, capture_output=True, text=True, timeout=DEADLINE).stdout

    def test_the_manual_page_has_its_options_and_no_others(self):
        manual = self.manual()
        synopsis = manual.split("# SYNOPSIS", 1)[1].split("\n# ", 1)[0]
        sections = dict(part.split("\n", 1) for part in
                        manual.split("\n# OPTIONS\n", 1)[1].split("\n# ", 1)[0].split("\n## nacre ")[1:])
        for command in self.commands:
            if not command["usage"]:
                continue
            with self.subTest(command["name"]):
                self.assertIn(f"*nacre {command['name']}*", synopsis)
                shown = re.findall(r"^(?:\*-([A-Za-z])\*)?(?:, )?(?:\*--([a-z-]+)\*)?", sections.pop(command["name"], ""), re.MULTILINE)
                self.assertEqual([(name, letter) for letter, name in shown if letter or name],
                                 [(o["name"] or "", o["letter"] or "") for o in command["options"]])
        self.assertEqual(sections, {})

    def test_pages_name_no_option_that_does_not_exist(self):
        known = {option["name"] for command in self.commands for option in command["options"]} | {"help", "version"}
        for option in re.findall(r"\*--([a-z-]+)", (ROOT / "docs" / "man" / "nacre.1.scd").read_text()):
            self.assertIn(option, known)
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
            for name, line in re.findall(r"`nacre ([a-z]+)\b([^`\n]*)`", page.read_text()):
                own = {option["name"] for command in self.commands if command["name"].split()[0] == name
                       for option in command["options"]} | {"help"}
                for option in re.findall(r"(?<!\S)--([a-z][a-z-]*)", line.split(" -- ")[0].split(" -c ")[0]):
                    self.assertIn(option, own, f"{page.name}: nacre {name}{line}")

    def test_a_detail_about_an_unknown_option_stops_the_build(self):
        table = self.dir / "commands.json"
        table.write_text(json.dumps([c for c in self.commands if c["name"] != "mcp"]))
        done = subprocess.run([sys.executable, ROOT / "tools" / "manual-page", ROOT / "docs" / "man" / "nacre.1.scd", table],
                              check=False, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual((done.returncode, done.stderr), (1, "manual-page: there is no option 'mcp --jobs'\n"))


class Completion(Commands):
    def test_names(self):
        self.assertEqual(self.complete("exp"), ["explain"])
        self.assertEqual(self.complete("output", "--con"), ["--context"])
        self.assertIn("--timeout", self.complete("run", "--ti"))

    def test_values(self):
        self.assertEqual(self.complete("run", "--profile", "read"), ["readonly"])
        self.assertEqual(self.complete("run", "--agent", "co"), ["coder"])
        self.assertEqual(self.complete("completion", "z"), ["zsh"])
        self.assertEqual(self.complete("audit", ""), ["show", "tail", "verify", "checkpoint"])
        self.assertEqual(self.complete("policy", "s"), ["show", "schema"])
        self.assertEqual(self.complete("token", "r"), ["revoke"])
        task = self.run_json("--background", "-c", "echo x")["task_id"]
        self.assertEqual(self.complete("output", task[:8]), [task])
        self.assertEqual(self.complete("audit", "show", "--task", task[:8]), [task])
        self.assertEqual(self.complete("run", "--output-mode", "m"), ["merged"])
        self.assertEqual(self.complete("run", "--truncate", ""), ["halves", "tail", "edges", "bytes", "all"])
        self.assertEqual(self.complete("policy", "test", "read"), ["readonly"])
        self.assertEqual(self.complete("run", "--policy", ""), [], "the shell completes names of files")
        self.assertEqual(self.complete("run", "--cwd", "-"), [])
        self.assertEqual(self.complete("run", "--", "ls", "--"), [], "options of another program")

    def test_the_scripts_are_read_by_their_shells(self):
        for shell, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
            script = self.nacre("completion", shell).stdout
            self.assertIn("nacre", script)
            if shutil.which(shell):
                path = self.dir / shell
                path.write_text(script)
                subprocess.run([*check, path], check=True, timeout=DEADLINE, capture_output=True)

    def test_another_word_is_told_what_to_say(self):
        done = self.nacre("completion", "csh")
        self.assertEqual(done.returncode, 125)
        self.assertIn("bash, zsh or fish", done.stderr)


if __name__ == "__main__":
    unittest.main()
