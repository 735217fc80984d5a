"""A /proc that hides processes (hidepid, ProtectProc=): what the keeper cannot see it does not claim to bound, and
what it cannot see ends nevertheless."""
import json
import os
import shlex
import shutil
import subprocess
import unittest

from helpers import DEADLINE, SLACK, NacreTest, descendants, wait_until

HIDER = r"""
import ctypes, os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
        with open("ready", "w") as file:
            file.write("x")
        os.closerange(0, 3)
        time.sleep(600)
    os._exit(0)
while not os.path.exists("ready"):
    time.sleep(0.01)
"""


class Hidden(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("needs root and unshare")
        self.user = self.as_ordinary_user()
        self.policy = self.dir / "hidden.yaml"

    def run_hidden(self, option, sandbox, *words):
        self.policy.write_text(f"profile: hidden\ninherits: bash\nroom: {{leftover: end}}\nsandbox: {sandbox}\n")
        command = ["setpriv", "--reuid", str(self.user["user"]), "--regid", str(self.user["group"]), "--clear-groups",
                   self.user["program"], "run", "--json", "--policy", str(self.policy), "--workspace", str(self.work),
                   *words]
        done = subprocess.run(["unshare", "-m", "sh", "-c",
                               f"mount -t proc -o {option} proc /proc && exec {shlex.join(command)}"], env=self.env,
                              cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
        self.assertTrue(done.stdout, done)
        return json.loads(done.stdout)

    def test_layers_that_need_a_look_are_missing(self):
        for option in ("hidepid=1", "hidepid=2", "hidepid=4"):
            for mode, missing in (("strict", {"memory"}), ("landlock", {"memory", "processes"})):
                with self.subTest(option=option, mode=mode):
                    result = self.run_hidden(option, f"{{mode: {mode}, limits: {{memory: 128M, processes: 24}}}}", "--",
                                             "true")
                    self.assertEqual(result["exit_code"], 0, result)
                    self.assertLessEqual(missing, set(result["sandbox"]["missing"]), result)
                    self.assertFalse(missing & set(result["sandbox"]["layers"]), result)

    def test_a_profile_that_requires_them_does_not_run(self):
        for mode, layer in (("strict", "memory"), ("landlock", "memory"), ("landlock", "processes")):
            with self.subTest(mode=mode, layer=layer):
                result = self.run_hidden("hidepid=2", f"{{mode: {mode}, require: [{layer}]}}", "--", "true")
                self.assertEqual(result["exit_code"], 125, result)
                self.assertIn(f"'{layer}'", result["reason"])

    def test_where_nothing_is_hidden_they_are_there(self):
        result = self.run_hidden("hidepid=0", "{mode: strict, require: [memory, processes]}", "--", "true")
        self.assertEqual(result["exit_code"], 0, result)

    def test_who_hides_ends_with_the_command(self):
        result = self.run_hidden("hidepid=2", "{mode: landlock}", "--", "python3", "-c", HIDER)
        self.assertEqual(result["exit_code"], 0, result)
        self.assertTrue((self.work / "ready").exists())
        wait_until("all of them are gone", lambda: not [p for p in descendants() if p.name.startswith("python")])
        self.assertLess(result["duration_ms"], 1000 * (8 + SLACK), result)


if __name__ == "__main__":
    unittest.main()
