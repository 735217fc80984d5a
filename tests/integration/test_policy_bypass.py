"""Lines that try to get past a profile, and ordinary lines that must not be mistaken for them.

A line of the first kind is refused, asked about, or marked as left to the box, with the attempt of
tests/escape that shows how the box stops it. No line is run here.
"""
import collections
import importlib.util
import json
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
