"""Lines that the doorman leaves to the box (tests/data/policy-bypass.tsv), run for real: the box stops them."""
import json
import shutil
import subprocess
import unittest

from helpers import DEADLINE, Deadline, wait_until
from policy import table
from test_escape_places import PlaceTest


class LeftToTheBox(PlaceTest):
    """The denied program is a harmless one of our own: sudo, in a directory of PATH, that leaves a mark when it runs."""

    def setUp(self):
        super().setUp()
        self.mark = self.work / "mark"
        self.tools = self.dir / "tools"
        self.tools.mkdir()
        (self.tools / "sudo").write_text(f"#!/bin/sh\necho ran >>{self.mark}\n")
        (self.tools / "sudo").chmod(0o755)
        self.env["PATH"] = f"{self.tools}:{self.env['PATH']}"  # there may be a real one
        (self.dir / ".gitconfig").write_text("[safe]\n\tdirectory = *\n[user]\n\tname = x\n\temail = x@y\n")
        self.template = self.dir / "template"
        self.template.mkdir()
        for name in ("f", "a", "a.txt"):
            (self.template / name).write_text('sudo ls\n"\\]\n')
        (self.template / "Makefile").write_text("x:\n\tls\n")
        (self.template / "x.c").write_text("int main(void) { return 0; }\n")
        subprocess.run(["bash", "-c", "tar cf x a; git init -q .; git add a f; git commit -qm 1; echo y >>a; "
                        "git commit -qam 2; echo z >>a"], cwd=self.template, env=self.env, check=True, timeout=DEADLINE)

    def lines(self):
        for _, cells in table("policy-bypass.tsv"):
            if cells[0] == "universal" and cells[2] == "sandbox" and "sudo" in cells[1] and cells[1].startswith('"') \
                    and not any(word in cells[1] for word in ("crontab", "screen", "tmux", "at now")):
                yield json.loads(cells[1])

    def furnish(self, options):
        # What ran without a box may still be at work there for a moment.
        wait_until("the workspace is gone", lambda: shutil.rmtree(self.work, ignore_errors=True) or not self.work.exists())
        shutil.copytree(self.template, self.work, symlinks=True)
        self.give(options)

    def run_outside(self, line):
        try:
            subprocess.run(["bash", "-c", line], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, check=False,
                           capture_output=True, timeout=Deadline(3), start_new_session=True)
        except subprocess.TimeoutExpired:
            pass
        return self.mark.exists()

    def test_the_denied_program_does_not_run(self):
        policy = self.policy("left", f"profile: left\ninherits: universal\nsandbox: {{readable: ['{self.tools}']}}\n")
        for user, options in self.users():
            for line in self.lines():
                self.furnish(options)
                with self.subTest(line=line, who=user):
                    self.run_result("--policy", policy, "--timeout", "2s", "-c", line, **options)
                    self.assertFalse(self.mark.exists())

    def test_control(self):
        """Without a box many of them run it, so far as the tool at hand is there."""
        live = 0
        for line in self.lines():
            self.furnish({})
            live += self.run_outside(line)
        self.assertGreater(live, 30)


del PlaceTest


if __name__ == "__main__":
    unittest.main()
