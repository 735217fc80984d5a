"""Sessions whose working directory lies outside of the workspace: what the next call means is what was decided on."""
import json
import os
import unittest

from helpers import NacreTest


class AwayTest(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.home = self.dir / "home"
        self.home.mkdir()
        self.env["HOME"] = str(self.home)
        self.options = {}

    def call(self, line, *options, session="s"):
        result = self.run_json("--session", session, *options, "-c", line, **self.options)
        if (result.get("sandbox") or {}).get("tier") == "landlock":
            self.skipTest("userns: not permitted here")
        return result

    def says(self, line, *options):
        result = self.call(line, *options)
        self.assertEqual(result["exit_code"], 0, result)
        return result["stdout"]


class Away(AwayTest):
    def test_a_directory_in_home_or_tmp_stays(self):
        for line, place in (("cd", str(self.home)), ("mkdir -p /tmp/a/b; cd /tmp/a/b", "/tmp/a/b"),
                            ("cd ..", "/tmp/a"), ("cd /usr/lib", "/usr/lib")):
            with self.subTest(line=line):
                self.assertEqual(self.call(line)["notices"], [])
                self.assertEqual(self.says("pwd; echo $LINENO"), f"{place}\n1\n")
        self.assertEqual(self.says(f"cd {self.work}; touch made; pwd"), f"{self.work}\n")
        self.assertEqual(self.says("pwd; ls"), f"{self.work}\nmade\n")

    def test_each_session_has_its_own(self):
        self.says("cd /tmp")
        self.assertEqual(self.call("pwd", session="other")["stdout"], f"{self.work}\n")
        self.assertEqual(self.says("pwd", "--cwd", "."), f"{self.work}\n")

    def test_a_line_runs_there_or_not_at_all(self):
        self.says("mkdir /tmp/x; cd /tmp/x")
        self.call(f"cd /; rmdir /tmp/x; cd {self.work}", session="t")  # another room
        self.says("cd /tmp/x; rmdir /tmp/x; cd /tmp; mkdir x; cd x; (sleep 0.1; rmdir /tmp/x) >/dev/null 2>&1 &")
        for _ in range(100):  # until it has gone
            result = self.call("touch here")
            if result["exit_code"]:
                break
        self.assertIn("/tmp/x: No such file or directory", result["stderr"])
        self.assertFalse((self.work / "here").exists())
        self.assertEqual(self.says("pwd"), f"{self.work}\n")

    def test_relative_names_are_judged_from_there(self):
        for place, line, rule in (("/", "rm -rf usr", "danger:rm-root"), ("/", "rm -rf *", "danger:rm-root"),
                                  ("/etc", "echo x >hosts", "danger:etc"), ("/usr", "rm -rf ../usr/lib", "danger:rm-system")):
            with self.subTest(line=line):
                self.says(f"cd {place}")
                result = self.call(line)
                self.assertEqual(result["verdict"], "deny", result)
                self.assertEqual(result["rule"]["id"], rule)

    def test_a_link_leads_where_it_leads_in_the_box(self):
        self.says("mkdir /tmp/real; ln -s real /tmp/link; cd /tmp/link")
        self.assertEqual(self.says("pwd"), "/tmp/real\n")  # what was reported is where it was
        (self.dir / "beside").mkdir()
        (self.dir / "beside" / "secret").write_text("x")
        self.says(f"rmdir /tmp/real; ln -s {self.dir}/beside /tmp/real; cd {self.work}")
        self.assertNotIn("secret", self.call("cd /tmp/real; ls")["stdout"])

    def test_a_directory_that_is_swapped_for_a_link_leads_nowhere_new(self):
        (self.dir / "beside").mkdir()
        (self.dir / "beside" / "secret").write_text("x")
        self.says("mkdir /tmp/d; cd /tmp/d")
        self.says(f"cd /tmp; rmdir d; ln -s {self.dir}/beside d; cd {self.work}; cd /tmp")
        self.assertNotEqual(self.call("cd d")["exit_code"], 0)
        self.assertNotIn("secret", self.call("ls d/")["stdout"])

    def test_a_name_that_is_no_text_is_not_kept(self):
        for name in ("$'a\\nb'", "$'\\033[2J'", "$'\\377'"):
            with self.subTest(name=name):
                result = self.call(f"mkdir -p /tmp/{name}; cd /tmp/{name}")
                self.assertIn("goes back to the workspace", " ".join(result["notices"]))
                self.assertEqual(self.says("pwd"), f"{self.work}\n")

    def test_a_name_like_a_command_is_a_name(self):
        self.says("d=\"/tmp/x'; touch made; '\"; mkdir \"$d\"; cd \"$d\"")
        self.assertEqual(self.says("pwd"), "/tmp/x'; touch made; '\n")
        self.assertFalse((self.work / "made").exists())

    def test_a_file_of_a_session_names_no_other_line(self):
        self.says("cd /tmp")
        path = self.state / "sessions" / "s.json"
        data = json.loads(path.read_text())
        self.assertEqual((data["away"], data["cwd"]), ("/tmp", "."))
        for wrong in ("tmp", "/tmp\n/x", "", 7, None):
            path.write_text(json.dumps({**data, "away": wrong}))
            with self.subTest(wrong=wrong):
                self.assertEqual(self.says("pwd"), f"{self.work}\n")

    def test_profiles_that_share_no_home_stay_in_the_workspace(self):
        self.says("cd /tmp")
        result = self.call("pwd", "--profile", "readonly")
        self.assertEqual(result["stdout"], f"{self.work}\n")
        result = self.call("cd /usr && pwd", "--profile", "workspace")
        if result["verdict"] == "allow":
            self.assertIn("goes back to the workspace", " ".join(result["notices"]))

    def test_the_audit_log_has_the_line_that_ran(self):
        self.says("cd /tmp")
        self.says("echo here")
        log = "".join(path.read_text(errors="replace") for path in (self.state / "audit").iterdir() if path.is_file())
        self.assertIn("cd -- '/tmp' || exit; echo here", log)


class AwayOfAUser(Away):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("root: the other class runs as this user already")
        self.options = self.as_ordinary_user()
        for path in (self.dir, self.work, self.home):
            os.chown(path, self.options["user"], self.options["user"])


if __name__ == "__main__":
    unittest.main()
