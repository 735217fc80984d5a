"""A sample of the working day of tests/workday/, and its table in the documentation. `make workday` runs all of it."""
import os
import subprocess
import sys
import unittest

from helpers import DEADLINE, NACRE, ROOT

HERE = ROOT / "tests" / "workday"
sys.path.insert(0, str(HERE))

from differs import DIFFERS, table  # noqa: E402
from scenarios import SCENARIOS  # noqa: E402

SAMPLE = 8


class Workday(unittest.TestCase):
    def test_a_sample_is_as_in_plain_bash(self):
        seed = os.environ.get("WORKDAY_SEED", "1")
        done = subprocess.run([HERE / "run.py", NACRE, "--sample", str(SAMPLE), "--seed", seed], capture_output=True, text=True,
                              timeout=10 * DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_there_are_scenarios_of_every_kind(self):
        self.assertGreaterEqual(len(SCENARIOS), 100)
        self.assertEqual(len({(s.group, s.name) for s in SCENARIOS}), len(SCENARIOS))

    def test_only_scenarios_are_listed_as_different(self):
        self.assertEqual(set(DIFFERS) - {f"{s.group}/{s.name}" for s in SCENARIOS}, set())

    def test_the_table_is_the_one_in_the_documentation(self):
        text = (ROOT / "docs" / "workday.md").read_text()
        shown = text.partition("<!-- differs -->\n")[2].partition("<!-- end of differs -->")[0]
        self.assertEqual(shown, table(), "make it again: tests/workday/differs.py prints it")


if __name__ == "__main__":
    unittest.main()
