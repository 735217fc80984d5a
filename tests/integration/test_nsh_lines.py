"""Real lines through nsh and through bash, side by side: the same bytes and the same exit code, unless nsh refuses.

The lines are those of tests/data/nsh-lines.txt. A sample is run here; NACRE_NSH_LINES=all runs all of them.
"""
import json
import os
import pathlib
import re
import shutil
import unittest

from helpers import DEADLINE, ROOT, SANITIZED
from shells import BASH, ShellTest

LINES = ROOT / "tests" / "data" / "nsh-lines.txt"
SAMPLE = 20 if SANITIZED else 40
NUMBER = re.compile(rb"(?<=: ) *[0-9]+(?= (?:Terminated|Killed|Aborted))")  # of a process; bash pads it


def make_fixture(where):
    """What the lines work on."""
    where = pathlib.Path(where)
    for name in ("src/lib", "dir", "path/to", "docs", "bin"):
        (where / name).mkdir(parents=True)
    files = {"a.txt": "one\ntwo\nthree\ntwo\n", "b.txt": "two\nthree\nfour\n", "my file.txt": "a b\nc d\n",
             "c.txt": "3 c\n1 a\n2 b\n", "file": "alpha beta\nGAMMA\n", "path/to/file": "one:two:three\nfour:five:six\n",
             "path/to/file.txt": "the quick brown fox\njumps\n", "path/to/file1": "x\ny\n", "path/to/file2": "x\nz\n",
             "src/main.c": "int main(void)\n{\n\treturn 0; /* TODO */\n}\n", "src/lib/util.py": "def f():\n    return 1\n",
             "data.json": '{"name": "n", "list": [1, 2, 3]}\n', "data.csv": "h1,h2\n1,2\n3,4\n", "docs/README.md": "# Title\n",
             "empty": "", "input": "5\n3\n9\n"}
    for name, text in files.items():
        (where / name).write_text(text)
    for path in [where, *where.rglob("*")]:
        os.chmod(path, 0o777 if path.is_dir() else 0o666)
        os.utime(path, (1700000000, 1700000000))


def lines():
    return [json.loads(line) for line in LINES.read_text().splitlines() if line and not line.startswith("#")]


class Lines(ShellTest):
    def setUp(self):
        super().setUp()
        self.give_up_after(20 * DEADLINE)

    def run_fresh(self, run, line):
        shutil.rmtree(self.work)
        self.work.mkdir()
        os.chmod(self.work, 0o777)
        make_fixture(self.work)
        done = run("-c", line, cwd=self.work)
        files = {str(path.relative_to(self.work)): path.read_bytes().replace(BASH.encode(), b"bash") for path in sorted(self.work.rglob("*"))
                 if path.is_file() and not path.is_symlink()}
        return done, files

    def test_the_same_comes_out(self):
        all_lines = lines()
        self.assertGreaterEqual(len(all_lines), 300)
        wanted = os.environ.get("NACRE_NSH_LINES", "")
        step = 1 if wanted == "all" else max(1, len(all_lines) // SAMPLE)
        refused, different = [], []
        for line in all_lines[::step]:
            have, made = self.run_fresh(self.sh, line)
            if (have.code == 126 and b"nacre: rule" in have.err) or (have.code == 2 and b"nacre: bash refuses" in have.err):
                refused.append(line)
                continue
            want, wanted_files = self.run_fresh(self.bash, line)
            want = self.as_of_bash(want)
            if (have.code, have.out, NUMBER.sub(b"N", have.err)) != (want.code, want.out, NUMBER.sub(b"N", want.err)) \
                    or made != wanted_files:
                different.append((line, have, want))
        if os.environ.get("NACRE_NSH_REPORT"):
            pathlib.Path(os.environ["NACRE_NSH_REPORT"]).write_text(json.dumps(
                {"run": len(all_lines[::step]), "refused": refused,
                 "different": [(line, *(repr(x[:3]) for x in pair)) for line, *pair in different]}, indent=1))
        self.assertEqual(different, [])
        self.assertLess(len(refused), len(all_lines[::step]) // 10, refused)


if __name__ == "__main__":
    unittest.main()
