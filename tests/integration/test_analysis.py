"""nacre analyse against a corpus of lines whose commands were verified with real bash.

Sound: every expected command is covered by a listed one (a null covers any words), and a line that
is opaque or an error there is never called static or dynamic. Exact: the same commands with the
same redirections and assignments. Useful: a line that is static there comes out static.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from patience import DEADLINE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NACRE = os.path.abspath(os.environ.get("NACRE") or ROOT / "build" / "nacre")
CORPUS = pathlib.Path(__file__).resolve().parent / "analysis" / "corpus.tsv"
EXECS = CORPUS.parent / "execs.tsv"
REAL_LINES = ROOT.parent / "shared" / "data" / "tldr-commands.txt"
MOST_OPAQUE = 1.0  # per cent of real lines that may come out opaque or unsupported


def analyse(*arguments, text="", data=None):
    data = text.encode("utf-8", "surrogatepass") if data is None else data
    return subprocess.run([NACRE, "analyse", *arguments], input=data,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=2 * DEADLINE, check=False)


def batch(lines):
    done = analyse("--batch", text="".join(json.dumps(line) + "\n" for line in lines))
    return done, [json.loads(line) for line in done.stdout.decode().split("\n") if line]


def is_covered(expected, mine):
    """Does the argv MINE (null: any number of words) cover the argv EXPECTED?"""
    if len(mine) == len(expected) and all(a is None or a == b for a, b in zip(mine, expected)):
        return True
    reach = {0}
    for word in mine:
        following = set()
        for place in reach:
            if word is None:
                following.update(range(place, len(expected) + 1))
            elif place < len(expected) and expected[place] == word:
                following.add(place + 1)
        reach = following
    return len(expected) in reach


def shape(command):
    redirections = sorted(json.dumps([r.get("fd"), r.get("op"), r.get("target", r.get("delim"))])
                          for r in command.get("redirs") or [])
    assignments = sorted(json.dumps([a.get("name"), a.get("value")])
                         for a in command.get("assigns") or [])
    return json.dumps([command.get("argv"), redirections, assignments])


def why_unsound(expected, got):
    if got["status"] not in ("static", "dynamic"):
        return None
    if expected["status"] in ("opaque", "error"):
        return "called %s, is %s" % (got["status"], expected["status"])
    mine = [command["argv"] for command in got["commands"]]
    for command in expected["commands"]:
        if command["argv"] and not any(is_covered(command["argv"], argv) for argv in mine):
            return "missed %s" % command["argv"]
    return None


class Corpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rows = [line.rstrip("\n").split("\t") for line in CORPUS.read_text().splitlines()
                if line and not line.startswith("#")]
        cls.rows = [(row[0], json.loads(row[2]), json.loads(row[3])) for row in rows]
        cls.done, cls.answers = batch([line for _, line, _ in cls.rows])

    def test_every_line_has_an_answer(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(len(self.answers), len(self.rows))
        self.assertGreater(len(self.rows), 400)

    def test_every_line_is_sound(self):
        unsound = {ident: why_unsound(expected, got)
                   for (ident, _, expected), got in zip(self.rows, self.answers)}
        self.assertEqual({ident: why for ident, why in unsound.items() if why}, {})

    def test_nearly_every_line_is_exact(self):
        other = [ident for (ident, _, expected), got in zip(self.rows, self.answers)
                 if got["status"] != expected["status"]
                 or sorted(map(shape, got["commands"])) != sorted(map(shape, expected["commands"]))]
        print("exact: %d of %d; not: %s" % (len(self.rows) - len(other), len(self.rows), other))
        self.assertLessEqual(len(other), 0.03 * len(self.rows), other)

    def test_nearly_every_static_line_is_called_static(self):
        static = [(ident, got) for (ident, _, expected), got in zip(self.rows, self.answers)
                  if expected["status"] == "static"]
        other = [ident for ident, got in static if got["status"] != "static"]
        print("static: %d of %d; not: %s" % (len(static) - len(other), len(static), other))
        self.assertGreater(len(static), 100)
        self.assertLessEqual(len(other), 0.01 * len(static), other)

    def test_the_canonical_text_has_the_same_commands(self):
        self.expect_same("canonical")

    def test_the_text_for_bash_has_the_same_commands(self):
        self.expect_same("executed")

    def expect_same(self, text):
        readable = [(ident, got) for (ident, _, _), got in zip(self.rows, self.answers)
                    if got["status"] in ("static", "dynamic")]
        done, again = batch([got[text] for _, got in readable])
        self.assertEqual(done.returncode, 0, done.stderr)
        for (ident, got), other in zip(readable, again):
            with self.subTest(line=ident):
                self.assertEqual(other["status"], got["status"])
                argvs = [sorted(json.dumps(command["argv"]) for command in answer["commands"])
                         for answer in (got, other)]
                self.assertEqual(argvs[0], argvs[1])


class Execs(unittest.TestCase):
    """What bash started for a line is in the list, or the line is not called known."""

    def test_no_program_was_started_that_is_not_listed(self):
        rows = [[json.loads(cell) for cell in line.split("\t")]
                for line in EXECS.read_text().split("\n") if line and not line.startswith("#")]
        self.assertGreater(len(rows), 1000)
        done, answers = batch([line for line, _ in rows])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(answers), len(rows))
        known = 0
        for (line, started), answer in zip(rows, answers):
            if answer["status"] not in ("static", "dynamic"):
                continue
            known += 1
            mine = [command["argv"] for command in answer["commands"]]
            mine += [[os.path.basename(argv[0])] + argv[1:] for argv in mine if argv and argv[0]]
            for argv in started:
                names = {argv[0], os.path.basename(argv[0])}
                self.assertTrue(any(is_covered([name] + argv[1:], other)
                                    for name in names for other in mine), (line, argv))
        print("%d of %d lines are known" % (known, len(rows)))
        self.assertGreater(known, len(rows) // 3)  # most of the lines are made to be unknown


class RealLines(unittest.TestCase):
    def test_real_lines_are_analysed_nearly_all(self):
        if not REAL_LINES.exists():
            self.skipTest("real lines: %s is not here" % REAL_LINES.name)
        lines = [line for line in REAL_LINES.read_text().splitlines()
                 if line and not line.startswith("#")]
        done, answers = batch(lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(answers), len(lines))
        count = {}
        for answer in answers:
            count[answer["status"]] = count.get(answer["status"], 0) + 1
        share = 100.0 * (count.get("opaque", 0) + count.get("unsupported", 0)) / len(lines)
        print("%d real lines: %s; opaque or unsupported %.2f %%" % (len(lines), count, share))
        self.assertLess(share, MOST_OPAQUE)


class RandomBytes(unittest.TestCase):
    """A megabyte of noise: every piece gets an answer, without a crash and without a long wait."""
    SIZE = 1 << 20
    PIECE = 40000  # below the longest text that is read

    def noise(self, seed, alphabet):
        return bytes(random.Random(seed).choices(alphabet, k=self.SIZE))

    def check_pieces(self, noise):
        for start in range(0, len(noise), self.PIECE):
            done = analyse("--json", data=noise[start:start + self.PIECE])
            self.assertEqual(done.returncode, 0, (start, done.stderr))
            self.assertIn("status", json.loads(done.stdout), start)

    def check_lines(self, noise):
        lines = noise.decode("latin-1").split("\n")
        done, answers = batch(lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(answers), len(lines))

    def test_any_bytes(self):
        noise = self.noise(1, range(256))
        self.check_pieces(noise)
        self.check_lines(noise)

    def test_characters_that_mean_something(self):
        noise = self.noise(2, b"\n\t  \\\"\"''``$$((){}[]<>|&;#=*?~!:+-/@,.%^a1_xifdone")
        self.check_pieces(noise)
        self.check_lines(noise)

    def test_all_at_once_is_too_long(self):
        done = analyse("--json", data=self.noise(3, range(256)))
        self.assertEqual(json.loads(done.stdout)["status"], "opaque")


class Command(unittest.TestCase):
    def test_a_line_comes_from_the_option_or_from_standard_input(self):
        for done in (analyse("--json", "-c", "ls -a | wc -l"), analyse("--json", text="ls -a | wc -l")):
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = json.loads(done.stdout)
            self.assertEqual(answer["status"], "static")
            self.assertEqual([command["argv"] for command in answer["commands"]],
                             [["ls", "-a"], ["wc", "-l"]])

    def test_a_bad_batch_line_is_answered_and_the_next_one_too(self):
        long = json.dumps("x" * (2 << 20))
        done = analyse("--batch", text='not json\n[1]\n' + long + '\n"ls"\n"a\\u0000b"')
        answers = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(answers), 5)
        for answer in answers[:3]:
            self.assertIn("message", answer["error"])
        self.assertEqual(answers[3]["status"], "static")
        self.assertNotIn(answers[4]["status"], ("static", "dynamic"))

    def test_an_error_tells_what_and_where(self):
        answer = json.loads(analyse("--json", "-c", "ls | ; pwd").stdout)
        self.assertEqual(answer["status"], "error")
        self.assertEqual(answer["error"]["start"], 5)
        self.assertTrue(answer["error"]["message"])
        self.assertEqual(answer["commands"], [])

    def test_the_text_for_people_shows_the_tree_and_the_reason(self):
        done = analyse("-c", 'timeout 5 nice ls; eval "$x"')
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(text.startswith("opaque: "), text)
        for part in ("wrapper:timeout", "wrapper:nice", "└─ ls", "eval-dynamic", "^"):
            self.assertIn(part, text)

    def test_invisible_characters_are_shown(self):
        text = analyse("-c", "ls \u202etxt\x1b[31m").stdout.decode()
        self.assertNotIn("\u202e", text)
        self.assertNotIn("\x1b", text)
        self.assertIn("\\u202e", text)

    def test_wrong_arguments_are_refused(self):
        for arguments, told in ((("--nothing",), b"'nacre analyse --help' lists the options"),
                                (("ls",), b"usage: nacre analyse"), (("--batch", "-c", "ls"), b"omit -c")):
            with self.subTest(arguments=arguments):
                done = analyse(*arguments)
                self.assertEqual(done.returncode, 125)
                self.assertIn(told, done.stderr)

    def test_a_line_beyond_the_limits_is_opaque(self):
        for text in ("x" * 70000, "echo " + "{1..9}" * 9, "(" * 200 + "ls" + ")" * 200):
            with self.subTest(text=text[:20]):
                answer = json.loads(analyse("--json", text=text).stdout)
                self.assertNotIn(answer["status"], ("static", "dynamic"))


class Tables(unittest.TestCase):
    """The generator refuses what it does not understand, with the place."""

    def generate(self, name, text):
        with tempfile.TemporaryDirectory() as directory:
            paths = [ROOT / "data" / file for file in
                     ("wrappers.tsv", "command-knowledge.tsv", "command-safe-options.tsv",
                      "options.tsv")]
            if name:
                changed = pathlib.Path(directory) / name
                changed.write_text(text)
                paths = [changed if path.name == name else path for path in paths]
            out = pathlib.Path(directory) / "tables.c"
            done = subprocess.run([sys.executable, ROOT / "tools" / "gen-tables", *paths, out],
                                  capture_output=True, text=True, timeout=DEADLINE, check=False)
            return done, out.exists()

    def test_the_tables_of_the_project_are_understood(self):
        done, written = self.generate(None, "")
        self.assertEqual((done.returncode, done.stderr, written), (0, "", True))

    def test_a_bad_row_is_named_and_nothing_is_written(self):
        for name, text in (("wrappers.tsv", "# head\nenv\t-i\n"),
                           ("wrappers.tsv", "# head\nenv\t-xy\t\t\t0\targv\t-\t\n"),
                           ("wrappers.tsv", "# head\nenv\t-i\t\t\t0\tmagic\t-\t\n"),
                           ("command-knowledge.tsv", "# head\nls\t-x\teats\tnote\n"),
                           ("command-knowledge.tsv", "# head\nls\t%%\twrite\tnote\n"),
                           ("command-safe-options.tsv", "# head\nls\t-x\n"),
                           ("options.tsv", "# head\nls\t-l\t-IX\t\t\n"),
                           ("options.tsv", "# head\nls\t-l\t-l\t\t\n"),
                           ("options.tsv", "# head\nls\t-l\t\t\tmagic\n")):
            with self.subTest(name=name, text=text):
                done, written = self.generate(name, text)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(name + ":2:", done.stderr)
                self.assertFalse(written)


if __name__ == "__main__":
    unittest.main()
