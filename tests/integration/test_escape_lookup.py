"""Where openat2 is refused: units of systemd with RestrictSUIDSGID or DynamicUser, and filters of containers that do
not know it. What is protected is protected there, too, or nothing runs."""
import errno
import json
import shutil
import subprocess
import unittest

from helpers import DEADLINE, NACRE
from test_escape_places import PlaceTest, build

OPENAT2 = 437  # on all machines alike


class WithoutOpenat2(PlaceTest):
    EVIL = ("echo evil >.git/hooks/post-commit; echo evil >>.git/hooks/existing; echo evil >>.git/config; "
            "mv .git/hooks .git/old; mkdir -p .vscode .claude; echo evil >.vscode/settings.json; echo evil >.claude/x; "
            "echo evil >.git/info/attributes; echo evil >link/pre-commit; mv .git old; echo TRIED")

    def setUp(self):
        super().setUp()
        self.tool = self.dir / "without"
        build("without.c", self.tool)

    def give(self, options):
        super().give(options if "user" in options else {})

    def furnish(self, options):
        shutil.rmtree(self.work)
        for path, text in ((".git/hooks/existing", "x"), (".git/config", "[core]\n\thooksPath = link\n"),
                           (".git/info/exclude", ""), ("real/hooks/x", "x"), ("src/file", "x")):
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text)
        (self.work / "link").symlink_to("src/../real/hooks")
        self.give(options)

    def seen(self):
        return sorted((str(path.relative_to(self.work)), path.read_text()) for path in self.work.rglob("*") if path.is_file())

    def without(self, answer, options):
        """Options of start() for a nacre that has no openat2."""
        wrapper = self.dir / f"nacre-{answer}"
        wrapper.write_text(f"#!/bin/sh\nexec '{self.tool}' {OPENAT2} {answer} '{options.get('program', NACRE)}' \"$@\"\n")
        wrapper.chmod(0o755)
        return {**options, "program": str(wrapper)}

    def each(self):
        for user, options in self.users():
            for answer in (errno.ENOSYS, errno.EPERM):
                yield user, errno.errorcode[answer], self.without(answer, options)

    def test_nothing_is_changed(self):
        for user, answer, options in self.each():
            self.furnish(options)
            before = self.seen()
            with self.subTest(who=user, answer=answer):
                result = self.run_result("-c", self.EVIL, **options)
                self.assertIn("TRIED", self.text(result))
                self.assertEqual(self.seen(), before)
                self.assertEqual(result["sandbox"]["tier"], "strict")
                self.assertIn(".vscode", " ".join(result["notices"]))

    def test_nor_in_a_kept_box(self):
        for user, answer, options in self.each():
            self.furnish(options)
            before = self.seen()
            with self.subTest(who=user, answer=answer):
                popen = self.start("--batch", "--jobs", "1", stdin=subprocess.PIPE, **options)
                lines = ["true", "true", self.EVIL, self.EVIL]
                done = self.finish(popen, "".join(json.dumps({"command": line}) + "\n" for line in lines).encode())
                self.assertEqual(done.out.count(b"TRIED"), 2, done)
                self.assertEqual(self.seen(), before)

    def test_a_home_directory_is_a_workspace(self):
        for user, answer, options in self.each():
            self.furnish(options)
            (self.work / ".ssh").mkdir()
            (self.work / ".ssh" / "id").write_text("SECRET-KEY")
            self.give(options)
            with self.subTest(who=user, answer=answer):
                self.env["HOME"] = str(self.work)
                result = self.run_result("-c", "cat .ssh/id; mv .ssh x; cat x/id; echo x >new && cat new", **options)
                self.assertEqual(result["exit_code"], 0, result)
                self.assertNotIn("SECRET-KEY", self.text(result))
                self.assertIn("x\n", self.text(result))

    def test_the_policy_knows_what_is_inside(self):
        (self.work / "file").write_text("inside\n")
        policy = self.policy("p", "profile: p\ninherits: workspace\n")
        for user, answer, options in self.each():
            self.give(options)
            with self.subTest(who=user, answer=answer):
                self.assertIn("inside", self.text(self.run_result("--policy", policy, "-c", "cat ./file", **options)))
                self.assertEqual(self.run_result("--policy", policy, "-c", "cat /etc/hostname", **options)["exit_code"], 126)

    def test_another_answer_ends_it(self):
        """An error that says nothing about the file is no absence."""
        for user, options in self.users():
            self.furnish(options)
            before = self.seen()
            with self.subTest(who=user):
                done = self.run_nacre("-c", self.EVIL, **self.without(errno.EIO, options))
                self.assertEqual((done.code, done.out), (125, b""), done)
                self.assertIn(b"is protected and cannot be looked at", done.err)
                self.assertEqual(self.seen(), before)

    def test_doctor_says_it(self):
        wrapper = self.without(errno.ENOSYS, {})["program"]
        for program, works in ((wrapper, False), (NACRE, True)):
            done = subprocess.run([program, "doctor", "--json"], env=self.env, capture_output=True, timeout=DEADLINE,
                                  check=False)
            trial = json.loads(done.stdout)["trials"]["openat2"]
            self.assertEqual(trial["works"], works)
        done = subprocess.run([wrapper, "doctor"], env=self.env, capture_output=True, timeout=DEADLINE, check=False)
        self.assertIn(b"looked up step by step", done.stdout)


if __name__ == "__main__":
    unittest.main()
