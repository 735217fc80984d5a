"""The shell blocks of the README and the tutorial are run, and what they show is what comes.

A block that begins with ```console is a session of a person: `$ ` begins a command (`> ` continues
it), what follows is its output, both streams in their order. In the expected output `…` stands for
any text within a line, and a line that is nothing but `…` for any number of lines. All blocks of one
page share one shell, so what a page did before is there. A fence that says ```sh is not run: it shows
what cannot be, here.
"""
import os
import re
import subprocess
import unittest

from helpers import DEADLINE, NACRE, ROOT, NacreTest

FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "--end-of-command--"


def commands(text):
    """(line number, command, expected output) of every block of a page."""
    for block in FENCE.finditer(text):
        number = text.count("\n", 0, block.start(1)) + 1
        command, output, begun = None, [], number
        for line in block[1].splitlines():
            if line.startswith("$ "):
                if command is not None:
                    yield begun, command, output
                command, output, begun = line[2:], [], number
            elif line.startswith("> ") and not output:
                command += "\n" + line[2:]
            else:
                output.append(line)
            number += 1
        if command is not None:
            yield begun, command, output


def pattern(lines):
    parts = []
    for line in lines:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(piece) for piece in line.split("…")) + r" *\n")
    return re.compile("".join(parts))


class Session:
    """One bash that is given a command at a time."""

    def __init__(self, test, where):
        tools = where / "bin"
        tools.mkdir()
        (tools / "nacre").symlink_to(os.path.abspath(NACRE))
        env = {**test.env, "PATH": f"{tools}:{test.env['PATH']}", "PS1": "", "COLUMNS": "100"}
        for name in ("NACRE_STATE_DIR", "XDG_CONFIG_HOME"):
            env.pop(name)
        env.update(HOME=str(where / "home"), NACRE_STATE_DIR=str(where / "state"))
        work = where / "home" / "project"
        work.mkdir(parents=True)
        self.popen = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=work, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
        test.started.append(self.popen)

    def run(self, command):
        self.popen.stdin.write(f"{{ {command}\n}} < /dev/null\necho {MARK}\n")
        self.popen.stdin.flush()
        lines = []
        for line in self.popen.stdout:
            if line == MARK + "\n":
                return "".join(lines)
            if line.endswith(MARK + "\n"):
                return "".join(lines) + line[:-len(MARK) - 1] + "\n"
            lines.append(line)
        raise AssertionError(f"the shell ended in: {command}")

    def close(self):
        self.popen.stdin.close()
        self.popen.wait(DEADLINE)


class Pages(NacreTest):
    BOXED = True

    def check(self, name):
        text = (ROOT / name).read_text()
        found = list(commands(text))
        self.assertGreater(len(found), 0, f"{name} has no block to run")
        (self.dir / "page").mkdir()
        session = Session(self, self.dir / "page")
        for line, command, expected in found:
            output = session.run(command)
            self.assertTrue(pattern(expected).fullmatch(output), f"{name}:{line}: $ {command}\n{output}")
        session.close()

    def test_readme(self):
        self.check("README.md")

    def test_tutorial(self):
        self.check("docs/tutorial.md")


if __name__ == "__main__":
    unittest.main(verbosity=2)
