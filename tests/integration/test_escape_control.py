"""Without any box the attempts to get out of it succeed: they are worth making."""
import unittest

from escape_driver import ATTEMPTS, EscapeTest, add_tests, make


class Control(EscapeTest):
    """Without any box the attempts succeed: they are worth making."""

    def attempts(self, theme, tier):
        for attempt in ATTEMPTS:
            if attempt.theme != theme:
                continue
            for who, place in self.places.items():
                if who in attempt.control.split():
                    with self.subTest(attempt=attempt.name, who=who):
                        self.judge(attempt, tier, who, make(place, attempt, tier))


add_tests(Control, "control")
del EscapeTest


if __name__ == "__main__":
    unittest.main()
