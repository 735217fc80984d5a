"""A sample of tests/soak/run: kept boxes collect nothing, and ended sessions leave nothing."""
import os
import random
import unittest

from helpers import NACRE, NacreTest, QUICK
from soak import grown, soak
from soak_rooms import soak_sessions


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


class Sessions(NacreTest):
    BOXED = True

    def soak(self, options, **more):
        program = options.pop("program", NACRE)
        (self.work / "sub").mkdir()
        seed = int(os.environ.get("NACRE_SEED") or random.randrange(1 << 30))
        wrong = soak_sessions(program, self.state, 20 if QUICK else 60, seed, {"cwd": self.work, "env": self.env, **options}, **more)
        self.assertEqual(wrong, [], f"seed {seed}")

    def test_as_root(self):
        if os.geteuid() != 0:
            self.skipTest("root: this is the test of an ordinary user")
        self.soak({})

    def test_groups_of_tasks_that_outlived_their_box_go(self):
        """While the launcher lives as well, which may be for months."""
        if os.geteuid() != 0:
            self.skipTest("root: there are no control groups")
        self.soak({}, kinds=("(sleep 1000 &)",))

    def test_as_a_user(self):
        self.soak(self.as_ordinary_user())


if __name__ == "__main__":
    unittest.main()
