"""`nacre completion`: what real shells complete with the scripts."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Completion(NacreTest):
    def setUp(self):
        super().setUp()
        self.env["PATH"] = f"{os.path.dirname(NACRE)}:{os.environ['PATH']}"

    def nacre(self, *args):
        return subprocess.run([NACRE, *args], env=self.env, capture_output=True, text=True,
                              timeout=DEADLINE, check=False)

    def complete(self, *words):
        """What bash offers for the last of the words."""
        script = ('source <(nacre completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_nacre; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", "nacre", *words], env=self.env,
                              capture_output=True, text=True, timeout=DEADLINE, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands(self):
        offered = self.complete("")
        listed = [line.split()[0] for line in self.nacre("--help").stdout.splitlines()
                  if line.startswith("  ")]
        self.assertEqual(offered, listed)
        self.assertGreater(len(offered), 10)
        self.assertEqual(self.complete("exp"), ["explain"])

    def test_options_of_every_command(self):
        for command in self.complete(""):
            if command != "completion":
                self.assertIn("--help", self.complete(command, "--"), command)
            usage = self.nacre(command, "--help").stdout.split("\n\n")[0]
            for option in re.findall(r"--[a-z-]+", usage):
                self.assertIn(option, self.complete(command, "--"), command)
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

    def test_the_scripts_are_read_by_their_shells(self):
        for shell, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
            script = self.nacre("completion", shell).stdout
            self.assertIn("nacre", script)
            if shutil.which(shell):
                path = self.dir / shell
                path.write_text(script)
                subprocess.run([*check, path], check=True, timeout=DEADLINE, capture_output=True)

    def test_the_manual_has_every_command_and_option(self):
        manual = (ROOT / "docs" / "man" / "nacre.1.scd").read_text()
        synopsis, rest = manual.split("# DESCRIPTION", 1)
        of_run = rest.split("# OPTIONS OF RUN", 1)[1].split("\n# ", 1)[0]
        for command in self.complete(""):
            self.assertIn(f"*nacre {command}", synopsis)
            text = of_run if command == "run" else manual
            for option in self.complete(command, "--"):
                if option != "--help":
                    self.assertRegex(text, rf"{option}(?![\w-])", command)

    def test_another_word_is_told_what_to_say(self):
        done = self.nacre("completion", "csh")
        self.assertEqual(done.returncode, 125)
        self.assertIn("bash, zsh or fish", done.stderr)


if __name__ == "__main__":
    unittest.main()
