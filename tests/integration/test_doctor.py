"""nacre doctor: what it says about this machine is what other witnesses say."""
import json
import os
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest

LAYERS = {"namespaces", "network", "programs", "landlock", "seccomp", "memory", "processes",
          "no_new_privs", "unprivileged", "network-names"}


class Doctor(NacreTest):
    BOXED = True

    def examine(self, *arguments, program=NACRE, **identity):
        return subprocess.run([program, "doctor", *arguments], capture_output=True, text=True, timeout=DEADLINE,
                              env=self.env, cwd=self.dir, **identity)

    def examine_json(self, **identity):
        done = self.examine("--json", **identity)
        self.assertEqual(done.stderr, "")
        answer = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if all(p["runs"] for p in answer["profiles"]) else 1)
        return answer

    def test_the_machine_is_described(self):
        answer = self.examine_json()
        self.assertEqual(answer["kernel"], {"release": os.uname().release, "machine": os.uname().machine})
        self.assertEqual(answer["root"], os.geteuid() == 0)
        self.assertGreaterEqual(answer["landlock_abi"], 0)
        for name, trial in answer["trials"].items():
            if trial is not None and not trial["works"]:
                self.assertRegex(trial["error"], "^E[A-Z0-9]+$", name)

    def test_user_namespaces_are_as_unshare_finds_them(self):
        answer = self.examine_json()
        try:
            found = subprocess.run(["unshare", "--user", "true"], capture_output=True, timeout=DEADLINE)
        except FileNotFoundError:
            self.skipTest("there is no unshare")
        self.assertEqual(answer["trials"]["user_namespace"]["works"], found.returncode == 0)

    def test_each_profile_has_every_layer_in_force_or_missing(self):
        answer = self.examine_json()
        names = [p["profile"] for p in answer["profiles"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"bash", "readonly", "universal", "verify", "workspace"}, set(names))
        for profile in answer["profiles"]:
            layers, missing = set(profile["layers"]), set(profile["missing"])
            self.assertLessEqual(layers | missing, LAYERS)
            self.assertEqual(layers & missing, set())
            self.assertIn("no_new_privs", layers)
            self.assertEqual(profile["runs"], not profile["required_missing"])
            self.assertLessEqual(set(profile["required_missing"]), missing)
            self.assertLessEqual(missing, set(answer["remedies"]))

    def test_an_ordinary_user_is_told_about_itself(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become somebody else")
        answer = self.examine_json(**self.as_ordinary_user())
        self.assertFalse(answer["root"])
        self.assertIsNone(answer["trials"]["idmapped_mounts"])

    def test_people_get_text(self):
        done = self.examine()
        self.assertIn(os.uname().release, done.stdout)
        self.assertIn("\nprofile bash: tier ", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_wrong_arguments_are_refused(self):
        for arguments, words in ((["--jsn"], "unknown option '--jsn', did you mean '--json'?"), (["bash"], "usage: nacre doctor")):
            done = self.examine(*arguments)
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
