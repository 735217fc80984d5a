"""A sample of tests/soak/run: kept boxes collect nothing."""
import os
import unittest

from helpers import NACRE, NacreTest, QUICK
from soak import grown, soak


class Soak(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        # What commands leave running would go on as tasks.
        self.write_config("bash.yaml", "profile: bash\nroom: {leftover: end}\n")

    def soak(self, options):
        program = options.pop("program", NACRE)
        counts = soak([program, "run", "--batch", "--jobs", "4"], 140 if QUICK else 700, 4,
                      {"cwd": self.work, "env": self.env, **options})
        warm, end, gone = counts
        self.assertEqual(grown(end, 4), [], f"{warm} -> {end}")
        self.assertEqual(gone.groups, 0, "control groups are left")

    def test_as_root(self):
        if os.geteuid() != 0:
            self.skipTest("root: this is the test of an ordinary user")
        self.soak({})

    def test_as_a_user(self):
        self.soak(self.as_ordinary_user())


if __name__ == "__main__":
    unittest.main()
