"""The state directory in every bad shape: the command runs, its result comes, and says so."""
import json
import os
import shutil
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, user_namespace_or_skip

LINE = "echo shown; seq 1 20000 >&2"
ERR_BYTES = sum(len(str(i)) + 1 for i in range(1, 20_001))


class State(NacreTest):
    def expect_result(self, result, words):
        """All of the result, and a notice with these words (None: no notice)."""
        self.assertEqual((result["exit_code"], result["success"]), (0, True))
        self.assertEqual((result["stdout"], result["stderr_bytes"]), ("shown\n", ERR_BYTES))
        self.assertTrue(result["truncated"])
        self.assertTrue(result["stderr"].startswith("1\n2\n"))
        self.assertTrue(result["stderr"].endswith("\n19999\n20000\n"))
        notices = " ".join(result["notices"])
        if words is None:
            self.assertEqual(notices, "")
        else:
            self.assertIn(words, notices)

    def run_without_records(self):
        """The profile lets commands run that cannot be recorded; else nothing would."""
        path = self.config / "nacre" / "bash.yaml"
        path.write_text(path.read_text() + "audit: {on_failure: notice}\n")

    def expect_only_the_audit_log(self):
        [place] = self.tmp.iterdir()
        self.assertEqual([entry.name for entry in place.iterdir()], ["audit"])

    def expect_fallback(self, words, **options):
        """The output lies in a private temporary directory, and the notice names it."""
        result = self.run_json("-c", LINE, **options)
        self.expect_result(result, words)
        [place] = self.tmp.iterdir()
        self.assertEqual(place.stat().st_mode & 0o777, 0o700)
        self.assertIn(str(place), " ".join(result["notices"]))
        self.assertTrue(result["stderr_file"].startswith(f"{place}/tasks/"))
        self.assertEqual(os.stat(result["stderr_file"]).st_size, ERR_BYTES)


class Shape(State):
    def test_a_missing_one_is_made_and_is_private(self):
        self.env["NACRE_STATE_DIR"] = str(self.dir / "a" / "b" / "c")
        self.expect_result(self.run_json("-c", LINE), None)
        for name in ("a", "a/b", "a/b/c", "a/b/c/tasks"):
            self.assertEqual((self.dir / name).stat().st_mode & 0o777, 0o700, name)

    def test_one_that_cannot_be_made_is_replaced(self):
        self.env["NACRE_STATE_DIR"] = "/proc/nowhere/state"
        self.expect_fallback("/proc/nowhere/state cannot be used (No such file or directory)")

    def test_a_file_in_its_place_is_left_alone(self):
        self.state.write_text("a file")
        self.expect_fallback(f"{self.state} cannot be used (Not a directory)")
        self.assertEqual(self.state.read_text(), "a file")

    def test_a_file_in_the_place_of_its_tasks_is_left_alone(self):
        self.state.mkdir(mode=0o700)
        self.tasks.write_text("a file")
        self.expect_fallback(f"{self.state} cannot be used (Not a directory)")

    def test_one_that_others_can_write_to_is_refused(self):
        for mode in (0o777, 0o1777, 0o770, 0o702):
            with self.subTest(oct(mode)):
                self.state.mkdir(exist_ok=True)
                self.state.chmod(mode)
                self.expect_fallback(f"{self.state} cannot be used (Operation not permitted)")
                self.assertEqual(list(self.state.iterdir()), [])
                shutil.rmtree(self.tmp)
                self.tmp.mkdir()

    def test_one_of_somebody_else_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest("root: only root can give a directory away")
        self.state.mkdir(mode=0o700)
        os.chown(self.state, 12345, 12345)
        self.expect_fallback(f"{self.state} cannot be used (Operation not permitted)")

    def test_one_without_write_permission_is_replaced(self):
        user = self.as_ordinary_user()
        self.state.mkdir(mode=0o500)
        if user:
            os.chown(self.state, user["user"], user["group"])
        self.expect_fallback(f"{self.state} cannot be used (Permission denied)", **user)

    def test_a_relative_path_is_refused(self):
        self.env["NACRE_STATE_DIR"] = "state"
        self.expect_fallback("state cannot be used (Invalid argument)")
        self.assertFalse((self.work / "state").exists())

    def test_of_a_replacement_the_audit_log_stays(self):
        self.state.write_text("a file")
        result = self.run_json("--", "echo", "small")
        self.assertEqual((result["stdout"], len(result["notices"])), ("small\n", 1))
        self.expect_only_the_audit_log()

    def test_without_any_place_output_is_kept_in_memory(self):
        self.state.write_text("a file")
        self.env["TMPDIR"] = "/proc/nowhere"
        self.run_without_records()
        result = self.run_json("-c", LINE)
        self.expect_result(result, "output is kept in memory only")
        self.assertIn("the full output was not kept", result["stderr"])
        self.assertIsNone(result["stderr_file"])

    def test_as_text_the_notice_goes_to_standard_error(self):
        self.state.write_text("a file")
        done = self.run_nacre("--", "echo", "small")
        self.assertEqual((done.code, done.out), (0, b"small\n"))
        self.assertRegex(done.err.decode(), r"^nacre: .* cannot be used \(Not a directory\)")

    def test_in_a_batch_every_result_has_the_notice(self):
        self.state.write_text("a file")
        requests = b"".join(b'{"id":%d,"command":"echo %d"}\n' % (i, i) for i in range(3))
        done = self.run_nacre("--batch", input=requests)
        answers = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual(sorted(a["id"] for a in answers), [0, 1, 2])
        for answer in answers:
            self.assertEqual(answer["result"]["stdout"], f"{answer['id']}\n")
            self.assertEqual(len(answer["result"]["notices"]), 1)
        self.expect_only_the_audit_log()

    def test_users_have_it_where_the_xdg_rules_say(self):
        user = self.as_ordinary_user()
        del self.env["NACRE_STATE_DIR"]
        self.expect_result(self.run_json("-c", LINE, env={"HOME": str(self.work)}, **user), None)
        self.assertEqual(len(list((self.work / ".local/state/nacre/tasks").iterdir())), 1)
        self.expect_result(self.run_json("-c", LINE, env={"XDG_STATE_HOME": str(self.work / "xdg")},
                                         **user), None)
        self.assertEqual(len(list((self.work / "xdg/nacre/tasks").iterdir())), 1)


class Landlock(NacreTest):
    BOXED = True

    def test_a_state_inside_of_the_workspace_is_in_the_way_and_the_result_says_so(self):
        policy = self.dir / "landlock.yaml"
        policy.write_text("profile: ll\ninherits: bash\nsandbox: {mode: landlock}\n")
        (self.work / "made").mkdir()
        self.env["NACRE_STATE_DIR"] = str(self.work / ".local" / "nacre")
        # Its names can be listed there, its files cannot be read.
        line = "touch made/a && touch b; cat .local/nacre/tasks/*/*; touch .local/nacre/tasks/x"
        result = self.run_json("--policy", str(policy), "--workspace", str(self.work), "-c", line)
        self.assertIn("set NACRE_STATE_DIR to a place outside", " ".join(result["notices"]))
        self.assertEqual(result["stdout"], "")
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), [".local", "made"])
        self.assertTrue((self.work / "made" / "a").exists())
        self.env["NACRE_STATE_DIR"] = str(self.state)
        result = self.run_json("--policy", str(policy), "--workspace", str(self.work), "-c", "touch b")
        self.assertEqual((result["exit_code"], result["notices"]), (0, []))


class Disk(State):
    """A state directory on a small file system of its own, in a user and mount namespace."""

    def setUp(self):
        super().setUp()
        # In a namespace of an ordinary user "/" belongs to nobody it knows, and nacre believes no file below that.
        self.believed = os.geteuid() == 0
        if not self.believed:
            (self.config / "nacre" / "bash.yaml").unlink()

    def run_without_records(self):
        if not self.believed:
            self.skipTest("an ordinary user's namespace has no profile of its own")
        super().run_without_records()

    def run_on(self, mount_options, after="true"):
        self.state.mkdir(mode=0o700)
        script = ('mount -t tmpfs -o "$1,mode=700" none "$2" && cd "$2" && eval "$3" && cd "$4" &&'
                  ' shift 4 && exec "$@"')
        words = [*user_namespace_or_skip(self), "sh", "-c", script, "x", mount_options, self.state,
                 after, self.work, NACRE, "run", "--json", "-c", LINE]
        done = subprocess.run(words, env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=2 * DEADLINE, check=False)
        self.assertEqual(done.stderr, b"")
        return json.loads(done.stdout)

    def test_a_disk_that_fills_up_under_the_output_loses_only_the_file(self):
        result = self.run_on("size=64k")
        self.expect_result(result, "could not be written to disk (No space left on device)")
        self.assertIn("bytes that could not be written", result["stderr"])

    def test_a_disk_that_is_already_full_loses_only_the_file(self):
        self.run_without_records()
        result = self.run_on("size=64k", after="cat /dev/zero >filler 2>/dev/null; mkdir -m 700 tasks")
        self.expect_result(result, "No space left on device")

    def test_a_disk_without_room_for_a_name_is_named(self):
        self.run_without_records()
        result = self.run_on("nr_inodes=3", after="mkdir -m 700 tasks; : >filler")
        self.expect_result(result, "No space left on device")
        self.assertIsNone(result["stderr_file"])

    def test_a_read_only_disk_is_replaced(self):
        result = self.run_on("ro,size=64k")
        self.expect_result(result, "cannot be used (Read-only file system)")
        self.assertEqual(len(list(self.tmp.iterdir())), 1)


if __name__ == "__main__":
    unittest.main()
