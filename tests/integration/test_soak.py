"""A sample of tests/soak/run: kept boxes collect nothing, and ended sessions leave nothing."""
import json
import os
import random
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, QUICK, descendants
from soak import Owners, control_groups, grown, soak
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
        told = subprocess.run([program, "doctor", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.work,
                              env=self.env, timeout=DEADLINE, check=False, **options)
        self.assertEqual(warm.groups > 0, json.loads(told.stdout)["cgroup"]["kind"] != "none", warm)
        self.assertEqual(grown(end, 4), [], f"{warm} -> {end}")
        self.assertEqual(gone.groups, 0, "control groups are left")

    def test_as_root(self):
        if os.geteuid() != 0:
            self.skipTest("root: this is the test of an ordinary user")
        self.soak({})

    def test_as_a_user(self):
        self.soak(self.as_ordinary_user())


class Count(NacreTest):
    def test_groups_of_others_are_not_counted(self):
        space = os.stat("/proc/self/ns/pid").st_ino
        with Owners() as owners:
            popen = subprocess.Popen(["sleep", "1000"])
            [own] = [process for process in descendants() if process.pid == popen.pid]
            control_groups(owners)
            popen.kill()
            popen.wait()
            for name in (f"{space}-{own.pid}-{own.start}-x", f"{space}-{own.pid}-{own.start}-kept-x", f"{space}-1-{own.start}-x",
                         f"{space}-{own.pid}-{own.start + 1}-x", f"{space + 1}-{own.pid}-{own.start}-x"):
                (self.work / f"nacre-{name}").mkdir()
            found = control_groups(owners, self.work)
        self.assertEqual({os.path.basename(path) for path in found},
                         {f"nacre-{space}-{own.pid}-{own.start}-x", f"nacre-{space}-{own.pid}-{own.start}-kept-x"})


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
