"""nacre doctor: what it says about this machine is what other witnesses say."""
import json
import os
import shutil
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, wait_until

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

    def test_quiet_is_the_exit_code_alone(self):
        done = self.examine("--quiet")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", self.examine("--json").returncode))

    def under(self, knobs, uid=0):
        """doctor's text where no user namespace may be made, and /proc/sys says KNOBS: in a user namespace with a limit of 0,
        and with files of ours over /proc/sys."""
        if os.geteuid() != 0:
            self.skipTest("root: maps of many users need it")
        self.dir.chmod(0o755)
        shutil.copy(NACRE, self.dir / "nacre")  # an ordinary user may not reach where it was built
        script = ["read go", "echo 0 >/proc/sys/user/max_user_namespaces", "mount -t tmpfs none /proc/sys"]
        for name, value in {"kernel/cap_last_cap": 40, **knobs}.items():
            script.append(f"mkdir -p /proc/sys/{name.split('/')[0]} && echo {value} >/proc/sys/{name}")
        script.append(f"exec setpriv --reuid {uid} --regid {uid} --clear-groups --inh-caps=-all '{self.dir}/nacre' doctor")
        popen = subprocess.Popen(["unshare", "--user", "--keep-caps", "--mount", "sh", "-ec", "\n".join(script)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.dir)
        self.started.append(popen)
        own = os.readlink("/proc/self/ns/user")
        wait_until("it is in a namespace of its own or failed", lambda: popen.poll() is not None or (
            os.readlink(f"/proc/{popen.pid}/ns/user") != own and os.path.basename(os.readlink(f"/proc/{popen.pid}/exe")) != "unshare"))
        if popen.poll() is not None:
            self.skipTest(f"userns: not permitted here ({popen.stderr.read().strip()[:60]})")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{popen.pid}/{name}", "w", encoding="ascii") as file:
                file.write("0 0 65536")
        out, err = popen.communicate("go\n", timeout=DEADLINE)
        self.assertIn("best tier", out, err)
        return out

    def test_a_sysctl_is_named_with_the_command_that_changes_it(self):
        command = "echo {} | sudo tee /etc/sysctl.d/60-nacre.conf && sudo sysctl --system\n"
        self.assertIn(command.format("user.max_user_namespaces=10000"), self.under({"user/max_user_namespaces": 0}))

    def test_a_sysctl_for_users_is_named_to_users(self):
        text = self.under({"user/max_user_namespaces": 9, "kernel/unprivileged_userns_clone": 0}, 1234)
        self.assertIn("echo kernel.unprivileged_userns_clone=1 | sudo tee", text)

    def test_apparmor_is_named_with_the_profile_to_install(self):
        knobs = {"user/max_user_namespaces": 9, "kernel/apparmor_restrict_unprivileged_userns": 1}
        text = self.under(knobs, 1234)
        for words in ("/usr/share/nacre/apparmor/nacre /etc/apparmor.d/nacre && sudo apparmor_parser -r /etc/apparmor.d/nacre",
                      "echo kernel.apparmor_restrict_unprivileged_userns=0 | sudo tee"):
            self.assertIn(words, text)
        self.assertNotIn("AppArmor", self.under(knobs), "it stands against users, not against root")

    def test_wrong_arguments_are_refused(self):
        for arguments, words in ((["--jsn"], "unknown option '--jsn', did you mean '--json'?"), (["bash"], "usage: nacre doctor")):
            done = self.examine(*arguments)
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
