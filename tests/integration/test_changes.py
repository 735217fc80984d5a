"""Commands that are tried in a view of the workspace, applied, discarded and undone."""
import json
import os
import shutil
import subprocess
import threading
import unittest

from changes import Tester, difference, picture
from helpers import DEADLINE, NACRE, NacreTest, wait_until

SEED = int(os.environ.get("NACRE_SEED") or 1)
STEPS = 25
UNDO_ON = "profile: bash\nundo: {mode: on}\nenvironment: {set: {GIT_CONFIG_GLOBAL: /dev/null}}\n"


class Changes(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.give_up_after(8 * DEADLINE)
        (self.work / "old").write_text("old\n")
        (self.work / "dir").mkdir()
        (self.work / "dir" / "inner").write_text("inner\n")
        os.utime(self.work / "old", (1600000000, 1600000000))

    def nacre(self, *args, code=0, **options):
        done = subprocess.run([NACRE, *args], cwd=self.work, env=self.env, timeout=2 * DEADLINE, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, done)
        return done

    def try_(self, line, *args, code=None):
        done = self.nacre("try", "--json", *args, "-c", line, code=code)
        first = done.stdout.splitlines()[0]
        result = json.loads(first)
        if result.get("changes") is None:
            self.needs_view(result)
        return result

    def needs_view(self, result):
        if "no overlay" in (result["reason"] or "") or "overlay file system" in (result["reason"] or ""):
            self.skipTest("overlay: " + result["reason"])

    def undoable(self):
        self.write_config("bash.yaml", UNDO_ON)

    def stores(self):
        return [path for path in self.state.glob("undo/*/bash-*") if path.is_dir()]


class Trying(Changes):
    def test_a_command_that_is_tried_changes_nothing(self):
        before = picture(self.work)
        result = self.try_("echo new > new; echo more >> old; rm -r dir; cat old")
        self.assertEqual(result["stdout"], "old\nmore\n")
        self.assertEqual(picture(self.work), before)
        changes = result["changes"]
        self.assertEqual((changes["state"], changes["added"], changes["changed"], changes["deleted"], changes["conflicts"]),
                         ("kept", 1, 1, 2, []))
        self.assertEqual({(c["kind"], c["path"]) for c in changes["list"]}, {("A", "new"), ("M", "old"), ("D", "dir")})
        self.assertEqual(result["undo"], {"available": False, "why": "nothing was applied yet"})

    def test_what_was_tried_is_applied_and_undone(self):
        before = picture(self.work)
        task = self.try_("echo new > new; echo more >> old; rm -r dir")["task_id"]
        self.nacre("apply", task)
        self.assertEqual(sorted(os.listdir(self.work)), ["new", "old"])
        self.assertEqual((self.work / "old").read_text(), "old\nmore\n")
        self.nacre("undo", task)
        self.assertEqual(difference(picture(self.work), before), {})
        self.nacre("apply", task)
        self.assertEqual(sorted(os.listdir(self.work)), ["new", "old"])

    def test_discard_leaves_no_store(self):
        task = self.try_("echo new > new")["task_id"]
        self.assertEqual(len(self.stores()), 1)
        self.nacre("discard", task)
        self.assertEqual(self.stores(), [])
        self.assertIn("no changes of task", self.nacre("apply", task, code=125).stderr)

    def test_a_command_that_changes_nothing_leaves_no_store(self):
        result = self.try_("cat old; echo x > y; rm y; false")
        self.assertEqual((result["exit_code"], result["changes"]["list"]), (1, []))
        self.assertEqual(self.stores(), [])

    def test_options_say_what_comes_of_it(self):
        self.nacre("try", "--apply", "-c", "echo 1 > one; exit 7", code=7)
        self.assertEqual((self.work / "one").read_text(), "1\n")
        self.nacre("try", "--discard", "-c", "echo 2 > two")
        self.assertFalse((self.work / "two").exists())
        self.assertIn("cannot be combined", self.nacre("try", "--apply", "--discard", "-c", "true", code=125).stderr)
        self.assertIn("nacre apply bash-", self.nacre("try", "-c", "echo 3 > three").stderr)
        self.assertIn("at a terminal", self.nacre("try", "--ask", "-c", "echo 4 > four", code=125).stderr)
        self.assertFalse((self.work / "four").exists())

    def test_differences_are_shown_as_text(self):
        (self.work / "binary").write_bytes(b"\0\1")
        task = self.try_("echo more >> old; echo x >> binary; mv dir/inner dir/outer; ln -s old link")["task_id"]
        diff = self.nacre("diff", task).stdout
        self.assertIn("--- a/old\n+++ b/old\n@@ -1 +1,2 @@\n old\n+more\n", diff)
        self.assertIn("+link to old\n", diff)
        self.assertNotIn("binary", diff)
        self.assertNotIn("\033", diff)
        stat = self.nacre("diff", "--stat", task).stdout
        self.assertIn("M binary", stat)
        self.assertIn("R dir/outer (was dir/inner)", stat)
        self.assertNotIn("link", self.nacre("diff", task, "old").stdout)
        self.assertIn("was not changed", self.nacre("diff", task, "nowhere", code=125).stderr)
        whole = json.loads(self.nacre("diff", "--json", task).stdout)
        self.assertEqual((whole["task_id"], whole["state"]), (task, "kept"))

    def test_a_person_applies_where_the_profile_says_so(self):
        self.write_config("bash.yaml", "profile: bash\nundo: {apply: ask}\n")
        task = self.try_("echo new > new")["task_id"]
        self.assertIn("a person has to see these changes", self.nacre("apply", task, code=125).stderr)
        self.assertFalse((self.work / "new").exists())

    def test_without_a_view_nothing_is_run(self):
        for mode in ("landlock", "none"):
            self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: {mode}}}\n")
            result = json.loads(self.nacre("try", "--json", "-c", "echo new > new", code=125).stdout)
            self.assertIn("nothing was run", result["reason"])
            self.assertFalse((self.work / "new").exists())

    def test_a_state_directory_in_the_workspace_is_said(self):
        self.env["NACRE_STATE_DIR"] = str(self.work / "state")
        result = json.loads(self.nacre("try", "--json", "-c", "echo new > new", code=125).stdout)
        self.assertIn("undo.store", result["reason"])


class Boundaries(Changes):
    def test_protected_paths_stay(self):
        subprocess.run(["git", "init", "-q", "."], cwd=self.work, check=True, env=self.env)
        before = (self.work / ".git" / "config").read_bytes()
        result = self.try_("echo evil > .git/hooks/pre-commit; echo '[core]' >> .git/config; rm -rf .git; "
                           "mkdir -p .vscode; echo '{}' > .vscode/settings.json; echo fine > fine")
        done = self.nacre("apply", result["task_id"], code=None)
        self.assertEqual((self.work / ".git" / "config").read_bytes(), before)
        self.assertFalse((self.work / ".git" / "hooks" / "pre-commit").exists())
        self.assertFalse((self.work / ".vscode" / "settings.json").exists(), done)

    def test_git_may_write_harmless_keys_and_no_others(self):
        subprocess.run(["git", "init", "-q", "."], cwd=self.work, check=True, env=self.env)
        task = self.try_("git config user.name x")["task_id"]
        self.nacre("apply", task)
        self.assertIn("name = x", (self.work / ".git" / "config").read_text())
        task = self.try_("git config core.fsmonitor ./evil; echo more >> old")["task_id"]
        for how in ([], ["--force"]):
            self.assertIn("protected", self.nacre("apply", *how, task, code=125).stderr)
        self.assertNotIn("fsmonitor", (self.work / ".git" / "config").read_text())
        self.assertEqual((self.work / "old").read_text(), "old\n")

    def test_the_store_is_not_seen(self):
        result = self.try_(f"ls -d {self.state} {self.state}/undo /dev/shm/view /dev/shm/*; cat /proc/self/mountinfo; echo x > x")
        self.assertNotIn("upper\n", result["stdout"])
        self.assertNotIn("/dev/shm/view", result["stdout"])
        for store in self.stores():
            self.assertEqual(store.stat().st_mode & 0o7777, 0o700)
            self.assertEqual(store.parent.stat().st_mode & 0o7777, 0o700)

    def test_a_command_cannot_apply_or_undo(self):
        task = self.try_("echo new > new")["task_id"]
        shutil.copy(NACRE, self.work / "tool")
        for mode in ("strict", "none"):
            self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: {mode}}}\n")
            for verb in (f"./tool apply {task}", f"./tool discard {task}", "./tool undo --last"):
                self.nacre("run", "-c", verb, code=125)
        self.assertEqual(len(self.stores()), 1)
        self.assertFalse((self.work / "new").exists())

    def test_links_lead_nowhere(self):
        outside = self.dir / "outside"
        outside.mkdir()
        (outside / "inner").write_text("outside\n")
        task = self.try_("rm dir/inner; echo c > dir/c")["task_id"]
        (self.work / "dir").rename(self.work / "real")
        (self.work / "dir").symlink_to(outside)
        self.nacre("apply", task, code=3)
        self.nacre("apply", "--force", task, code=None)
        self.assertEqual((outside / "inner").read_text(), "outside\n")
        self.assertEqual(os.listdir(outside), ["inner"])

    def test_no_rights_are_lent(self):
        result = self.try_("cp /bin/true t; chmod u+s t; chmod g+s t; chmod +x t; ls -l t")
        self.nacre("apply", result["task_id"])
        self.assertEqual((self.work / "t").stat().st_mode & 0o6000, 0)

    def test_what_others_changed_meanwhile_is_a_conflict(self):
        task = self.try_("echo command > old; echo n > new")["task_id"]
        (self.work / "old").write_text("others\n")
        done = self.nacre("apply", task, code=3)
        self.assertIn("conflict: old: changed by somebody else meanwhile", done.stderr)
        self.assertFalse((self.work / "new").exists())
        self.nacre("apply", "--force", task)
        self.assertEqual((self.work / "old").read_text(), "command\n")
        self.nacre("undo", task)
        self.assertEqual((self.work / "old").read_text(), "others\n")


class Undoing(Changes):
    def setUp(self):
        super().setUp()
        self.undoable()

    def run_(self, line, *args, code=None):
        done = self.nacre("run", "--json", *args, "-c", line, code=code)
        result = json.loads(done.stdout)
        if not result["undo"]["available"] and "overlay" in (result["undo"]["why"] or ""):
            self.skipTest("overlay: " + result["undo"]["why"])
        return result

    def test_the_last_commands_are_undone_one_by_one(self):
        before = picture(self.work)
        self.assertTrue(self.run_("echo 1 >> old; mkdir n; echo x > n/x")["undo"]["available"])
        middle = picture(self.work)
        result = self.run_("echo 2 >> old; echo y > n/y; chmod 700 dir; exit 4")
        self.assertEqual((result["exit_code"], result["undo"]["available"], result["changes"]["state"]), (4, True, "applied"))
        self.nacre("undo", "--last")
        self.assertEqual(difference(picture(self.work), middle), {})
        self.nacre("undo", "--last")
        self.assertEqual(difference(picture(self.work), before), {})
        self.assertIn("nothing to undo", self.nacre("undo", "--last", code=125).stderr)

    def test_some_paths_are_undone(self):
        self.run_("echo 1 >> old; echo 2 >> dir/inner")
        self.nacre("undo", "--last", "old")
        self.assertEqual((self.work / "old").read_text(), "old\n")
        self.assertEqual((self.work / "dir" / "inner").read_text(), "inner\n2\n")
        self.nacre("undo", "--last")
        self.assertEqual((self.work / "dir" / "inner").read_text(), "inner\n")

    def test_what_was_changed_since_is_not_lost(self):
        task = self.run_("echo 1 >> old")["task_id"]
        (self.work / "old").write_text("newer\n")
        done = self.nacre("undo", task, code=3)
        self.assertIn("conflict: old: changed since", done.stderr)
        self.assertIn("conflict: old", self.nacre("undo", "--dry-run", task).stdout)
        self.assertEqual((self.work / "old").read_text(), "newer\n")
        self.nacre("undo", "--force", task)
        self.assertEqual((self.work / "old").read_text(), "old\n")

    def test_lines_that_write_nothing_have_no_view(self):
        for line in ("cat old; ls", "grep -r inner . | head -1", "echo a b 2>&1 | wc -c"):
            result = self.run_(line)
            self.assertEqual(result["undo"], {"available": False, "why": "nothing was changed"})
            self.assertNotIn("changes", result)
        self.assertEqual(list(self.state.glob("undo/*")), [])
        for line in ("cat old > copy", "find . -name copy -delete", "sort -o sorted old", "python3 -c pass"):
            self.assertIn("changes", self.run_(line), line)

    def test_background_commands_work_in_the_workspace(self):
        result = self.run_("echo b > background", "--background")
        self.assertEqual(result["undo"], {"available": False, "why": "background"})
        wait_until("it has written", lambda: (self.work / "background").exists())

    def test_a_command_that_is_ended_counts_for_what_it_did(self):
        result = self.run_("echo 1 > one; sleep 1000", "--timeout", "1s")
        self.assertTrue(result["timed_out"])
        self.assertEqual((self.work / "one").read_text(), "1\n")
        self.nacre("undo", "--last")
        self.assertFalse((self.work / "one").exists())

    def test_eight_at_once_that_touch_other_files(self):
        results = self.at_once(8, "echo {0} > file{0}; echo {0} >> common{0}")
        self.assertEqual([r["changes"]["conflicts"] for r in results], [[]] * 8)
        for i in range(8):
            self.assertEqual((self.work / f"file{i}").read_text(), f"{i}\n")

    def test_two_at_once_that_touch_the_same_file(self):
        """One is applied, the other is told which file: no change is lost."""
        results = self.at_once(2, "echo {0} >> old; echo {0} > only{0}")
        states = sorted(r["changes"]["state"] for r in results)
        self.assertEqual(states, ["applied", "kept"])
        [loser] = [i for i, r in enumerate(results) if r["changes"]["state"] == "kept"]
        self.assertEqual([c["path"] for c in results[loser]["changes"]["conflicts"]], ["old"])
        self.assertEqual(results[loser]["exit_code"], 3)
        self.assertEqual((self.work / "old").read_text(), f"old\n{1 - loser}\n")
        self.assertFalse((self.work / f"only{loser}").exists())

    def at_once(self, count, line):
        """None goes on before all of them have begun."""
        shared = self.dir / "shared"
        shared.mkdir(mode=0o777)
        shared.chmod(0o777)
        self.write_config("bash.yaml", UNDO_ON + f"sandbox: {{writable: ['{shared}']}}\n")
        results = [None] * count

        def one(i):
            results[i] = self.run_(f"touch {shared}/begun{i}; until [ -e {shared}/go ]; do sleep 0.02; done; " + line.format(i))

        threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        wait_until("all have begun", lambda: len(list(shared.glob("begun*"))) == count)
        (shared / "go").touch()
        for thread in threads:
            thread.join()
        return results

    def test_git_works_and_is_undone(self):
        subprocess.run(["git", "init", "-q", "."], cwd=self.work, check=True, env=self.env)
        self.run_("git config user.name x; git config user.email x@x; git add -A; git commit -qm one")
        first = picture(self.work)
        result = self.run_("git checkout -qb two; echo 2 >> old; git commit -qam two; git log --oneline; git stash list; git gc -q")
        self.assertEqual(result["exit_code"], 0, result)
        subprocess.run(["git", "status"], cwd=self.work, check=True, env=self.env, stdout=subprocess.DEVNULL)
        self.nacre("undo", "--last")
        now = picture(self.work)
        for tree in (first, now):
            tree.pop(".git/index")
            tree.pop(".git")  # its time is that of the index
        self.assertEqual(difference(now, first), {})

    def test_renaming_a_directory_is_explained(self):
        result = self.run_("python3 -c 'import os; os.rename(\"dir\", \"other\")'")
        self.assertNotEqual(result["exit_code"], 0)
        self.assertTrue(any("EXDEV" in notice for notice in result["notices"]), result["notices"])

    def test_each_step_is_in_the_audit_log(self):
        task = self.run_("echo 1 >> old")["task_id"]
        self.nacre("undo", task)
        self.nacre("discard", task)
        log = [json.loads(line) for path in sorted((self.state / "audit").glob("log.*")) for line in path.read_text().splitlines()]
        mine = [r for r in log if r.get("task_id") == task]
        self.assertEqual([r["event"] for r in mine if r["event"] in ("applied", "undone", "discarded")], ["applied", "undone", "discarded"])
        self.nacre("audit", "verify")


class Sample(Changes):
    def tester(self, **options):
        top = self.dir / "random"
        top.mkdir()
        program = NACRE
        if options:
            os.chown(top, options["user"], options["group"])
            os.chmod(self.dir, 0o755)
            program = options.pop("program")
        return Tester(top, program, self.env, SEED, **options)

    def test_lines_that_nobody_has_thought_of(self):
        self.try_("echo x > x")
        tester = self.tester()
        for _ in range(STEPS):
            tester.step()

    @unittest.skipIf(os.geteuid() != 0, "root: only root can be another user")
    def test_the_same_as_an_ordinary_user(self):
        self.try_("echo x > x")
        tester = self.tester(**self.as_ordinary_user())
        for _ in range(STEPS // 2):
            tester.step()


if __name__ == "__main__":
    unittest.main()
