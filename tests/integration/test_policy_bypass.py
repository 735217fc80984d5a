"""Lines that try to get past a profile, and ordinary lines that must not be mistaken for them.

A line of the first kind is refused, asked about, or marked as left to the box, with the attempt of
tests/escape that shows how the box stops it. No line is run here.
"""
import collections
import importlib.util
import json
import os
import pathlib
import re
import unittest

from policy import DATA, PolicyTest, outcome, request, rule_id, table, told

STRENGTH = ("allow", "sandbox", "ask", "nudge", "deny")


def escape_attempts():
    """The names of the attempts that the tests of the box make, as theme.name."""
    path = DATA.parent / "escape" / "attempts.py"
    spec = importlib.util.spec_from_file_location("attempts", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"%s.%s" % (attempt.theme, attempt.name) for attempt in module.ATTEMPTS}


class Bypass(PolicyTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = [(number, (cells + [""] * 5)[:5]) for number, cells in table("policy-bypass.tsv")]

    def test_there_are_enough_lines_for_every_profile(self):
        count = collections.Counter(cells[0] for _, cells in self.rows)
        self.assertGreaterEqual(len(self.rows), 1800)
        for profile in ("verify", "universal", "workspace", "readonly", "bash"):
            self.assertGreaterEqual(count[profile], 150, profile)

    def test_no_line_gets_past_its_profile(self):
        answers = self.explain([request(cells[1], profile=cells[0]) for _, cells in self.rows])
        failures = []
        for (number, (profile, text, expected, _, technique)), answer in zip(self.rows, answers):
            if STRENGTH.index(outcome(answer)) < STRENGTH.index(expected):
                failures.append("%d: %s: %.120s: wanted %s (%s): %s"
                                % (number, profile, text, expected, technique, told(answer)))
        self.expect_none("lines get past", failures)

    def test_what_is_left_to_the_box_names_the_attempt_that_it_stops(self):
        known = escape_attempts()
        for number, (_, text, expected, attempt, _) in self.rows:
            with self.subTest(line=number):
                self.assertIn(expected, STRENGTH[1:])
                if expected == "sandbox":
                    self.assertIn(attempt, known, text)
                else:
                    self.assertEqual(attempt, "")


class Corpus(PolicyTest):
    """Lines whose programs real bash was seen to start: denying one of these refuses the line."""

    def lines_by_name(self):
        """For each program, the lines that run it."""
        found = collections.defaultdict(set)
        folder = pathlib.Path(__file__).resolve().parent / "analysis"
        for line in (folder / "corpus.tsv").read_text().split("\n"):
            if line and not line.startswith("#"):
                cells = line.split("\t")
                for command in json.loads(cells[3])["commands"]:
                    if command["argv"] and command["argv"][0] and command.get("kind") == "external":
                        found[os.path.basename(command["argv"][0])].add(json.loads(cells[2]))
        for line in (folder / "execs.tsv").read_text().split("\n"):
            if line and not line.startswith("#"):
                text, started = [json.loads(cell) for cell in line.split("\t")]
                for argv in started:
                    found[os.path.basename(argv[0])].add(text)
        return {name: sorted(lines) for name, lines in found.items() if re.fullmatch(r"[\w.+-]+", name)}

    def expect_refused(self, unknown, refused):
        found = self.lines_by_name()
        self.assertGreater(sum(map(len, found.values())), 2000)
        file = self.top / "deny.yaml"
        failures = []
        for name, lines in sorted(found.items()):
            file.write_text("profile: probe\ntool: Bash\nshell: bash\ndefault: allow\nunknown: %s\n"
                            "deny:\n  - {id: x, commands: [%s]}\n" % (unknown, json.dumps(name)))
            file.chmod(0o600)
            text = "".join(json.dumps({"command": line}) + "\n" for line in lines)
            done = self.nacre("explain", "--json", "--batch", "--policy", file, "--workspace", self.work,
                              text=text)
            self.assertEqual(done.returncode, 0, done.stderr)
            answers = [json.loads(answer) for answer in done.stdout.decode().split("\n") if answer]
            self.assertEqual(len(answers), len(lines))
            failures += ["%s: %s: %s" % (name, json.dumps(line), told(answer))
                         for line, answer in zip(lines, answers) if outcome(answer) not in refused]
        self.expect_none("lines run a denied program", failures)

    def test_a_denied_program_is_refused_in_every_line_that_runs_it(self):
        self.expect_refused("deny", ("deny",))

    def test_what_cannot_be_known_is_never_a_plain_allow(self):
        self.expect_refused("sandbox", ("deny", "sandbox"))


class Ordinary(PolicyTest):
    def expect_allowed(self, profile):
        rows = [(number, json.loads(cells[0]), cells[1:]) for number, cells in table("policy-ordinary.txt")]
        self.assertGreaterEqual(len(rows), 220)
        answers = self.explain([{"profile": profile, "command": line} for _, line, _ in rows])
        failures, refused = [], 0
        for (number, line, notes), answer in zip(rows, answers):
            wanted = [note.split(" ", 1)[1] for note in notes if note.startswith(profile + " ")]
            if wanted:
                refused += 1
                if outcome(answer) == "deny" and rule_id(answer) == wanted[0]:
                    continue
            elif outcome(answer) in ("allow", "sandbox"):
                continue
            failures.append("%d: %s: wanted %s: %s" % (number, line, wanted or "allow", told(answer)))
        self.expect_none("ordinary lines are not answered as they should be", failures)
        self.assertLess(refused, len(rows) // 15)

    def test_universal_refuses_none_but_by_a_rule_of_the_specification(self):
        self.expect_allowed("universal")

    def test_bash_refuses_none_but_by_a_rule_of_the_specification(self):
        self.expect_allowed("bash")


if __name__ == "__main__":
    unittest.main()
