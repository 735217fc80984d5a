"""What a request, a session, or a file of the workspace could choose: the home directory that a box is made for, its
policy, the repository that git finds there, and other names of denied programs. Seen from outside, as root and as an
ordinary user.
"""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import unittest

from helpers import DEADLINE
from test_escape_places import PlaceTest, SECRET

TIERS = {"strict": "strict", "landlock": "landlock"}


class ChoiceTest(PlaceTest):
    def places(self, inherits="bash", more=""):
        """Yields (tier, user, options of start, options of the tier): a user at a time, since the test's directories
        become the user's."""
        policies = {tier: self.policy(tier, f"profile: {tier}\ninherits: {inherits}\nsandbox: {{mode: {mode}{more}}}\n")
                    for tier, mode in TIERS.items()}
        for user, options in self.users():
            for tier, policy in policies.items():
                yield tier, user, options, ("--policy", policy)


class Owner(ChoiceTest):
    """Root works in a directory of somebody else's: the box is that user's, who may not get everywhere by himself."""

    def test_what_only_root_gets_to_is_granted_all_the_same(self):
        if os.geteuid() != 0:
            self.skipTest("root: only he can run as the owner of a workspace")
        home = self.dir / "home"
        work = home / "work"
        (home / ".cargo" / "bin").mkdir(parents=True)  # the profile grants it
        (home / ".cargo" / "bin" / "tool").write_text("#!/bin/sh\necho from the tool\n")
        (home / ".cargo" / "bin" / "tool").chmod(0o755)
        (home / ".ssh").mkdir()
        (home / ".ssh" / "id_ed25519").write_text(SECRET + "\n")
        work.mkdir()
        os.chown(work, 12345, 12345)
        home.chmod(0o700)
        self.env["HOME"] = str(home)
        line = "id -u; ~/.cargo/bin/tool; touch made; touch ~/.cargo/bin/x; cat ~/.ssh/id_ed25519"
        for kept in (False, True):
            with self.subTest(kept=kept):
                if kept:
                    [result] = [json.loads(text)["result"] for text in self.run_nacre(
                        "--batch", cwd=work, input=json.dumps({"id": 1, "command": line}).encode()).out.splitlines()]
                else:
                    result = self.run_result("-c", line, cwd=work)
                self.assertEqual(result["stdout"], "12345\nfrom the tool\n", result)
                self.assertIn("Read-only file system", result["stderr"])
                self.assertNotIn(SECRET, self.text(result))
                self.assertEqual((work / "made").stat().st_uid, 12345)
                (work / "made").unlink()


class Home(ChoiceTest):
    """The home that counts is the operator's: what a request says HOME is grants nothing and uncovers nothing."""

    def setUp(self):
        super().setUp()
        self.env["HOME"] = str(self.work)
        (self.work / ".ssh").mkdir()
        (self.work / ".ssh" / "id_ed25519").write_text(SECRET + "\n")
        self.outside = self.dir / "outside"
        (self.outside / "go").mkdir(parents=True)  # the profile grants ~/go
        (self.outside / "go" / "secret.txt").write_text(SECRET + "\n")
        self.line = f"cat .ssh/id_ed25519 {self.outside}/go/secret.txt; echo TRIED"

    def expect_none(self, *args, **options):
        result = self.run_result(*args, "-c", self.line, **options)
        self.assertIn("TRIED", self.text(result), result)
        self.assertNotIn(SECRET, self.text(result))

    def test_by_the_environment_of_a_request(self):
        for tier, user, options, policy in self.places():
            for home in (str(self.outside), "/nonexistent", "relative", ""):
                with self.subTest(tier=tier, who=user, home=home):
                    self.expect_none(*policy, "--env", f"HOME={home}", **options)

    def test_by_what_a_session_keeps(self):
        for user, options in self.users():
            with self.subTest(who=user):
                self.run_result("--session", f"s-{user}", "-c", f"export HOME={self.outside}", **options)
                self.expect_none("--session", f"s-{user}", **options)

    def test_by_a_request_to_a_kept_box(self):
        request = {"id": 1, "command": self.line, "env": {"HOME": str(self.outside)}}
        for user, options in self.users():
            with self.subTest(who=user):
                done = self.run_nacre("--batch", input=(json.dumps(request) + "\n").encode() * 2, **options)
                self.assertEqual(done.out.count(b"TRIED"), 2, done)
                self.assertNotIn(SECRET.encode(), done.out)

    def test_the_operators_own_is_found_in_every_spelling(self):
        for home in (f"{self.work}/", f"{self.work}/.", f"{self.work}//", f"{self.dir}//work"):
            self.env["HOME"] = home
            with self.subTest(home=home):
                self.expect_none()

    def test_without_a_word_of_the_environment_the_system_is_asked(self):
        """Where HOME says nothing: the keys of the user's own home, which is the workspace, stay hidden."""
        own = pathlib.Path(os.path.expanduser(f"~{'root' if os.geteuid() == 0 else ''}"))
        history = own / ".bash_history"
        if not own.is_dir() or not os.access(own, os.W_OK) or own in (pathlib.Path("/"), self.dir):
            self.skipTest("the user has no home")
        for home in (None, "", "/", str(self.dir)):
            self.env.pop("HOME", None)
            if home is not None:
                self.env["HOME"] = home
            with self.subTest(home=home):
                result = self.run_result("--workspace", str(own), "--", "cat", str(history))
                self.assertNotEqual(result["exit_code"], 0, result)


class PolicyFile(ChoiceTest):
    """A policy that lies in the workspace: a command cannot write the one of the next command."""

    WEAK = "profile: own\\ninherits: bash\\nsandbox: {mode: none}\\n"

    def attempt(self, mode):
        policy = self.work / "own.yaml"
        text = f"profile: own\ninherits: bash\nsandbox: {{mode: {mode}}}\n"
        line = (f"printf '{self.WEAK}' >own.yaml; printf '{self.WEAK}' >new.yaml; mv -f new.yaml own.yaml; rm -f own.yaml; "
                f"ln -f new.yaml own.yaml; mv own.yaml old.yaml; sed -i s/{mode}/none/ own.yaml; echo TRIED")
        for user, options in self.users():
            policy.write_text(text)
            self.give(options)
            with self.subTest(who=user):
                result = self.run_result("--policy", str(policy), "-c", line, **options)
                self.assertIn("TRIED", self.text(result), result)
                self.assertEqual(policy.read_text(), text)
                result = self.run_result("--policy", str(policy), "-c", "true", **options)
                self.assertNotEqual(result["sandbox"]["tier"], "none")

    def test_strict(self):
        self.attempt("strict")

    def test_landlock(self):
        self.attempt("landlock")

    def test_in_a_kept_box(self):
        policy = self.work / "own.yaml"
        text = "profile: own\ninherits: bash\n"
        for user, options in self.users():
            policy.write_text(text)
            self.give(options)
            line = json.dumps({"id": 1, "command": f"printf '{self.WEAK}' >own.yaml; mv own.yaml x; echo TRIED"}) + "\n"
            with self.subTest(who=user):
                done = self.run_nacre("--policy", str(policy), "--batch", input=line.encode() * 2, **options)
                self.assertEqual(done.out.count(b"TRIED"), 2, done)
                self.assertEqual(policy.read_text(), text)


# Each makes a repository where there was none, with something in it that git would run.
REPOSITORIES = {
    "a file that leads to another repository":
        "mkdir -p e/refs e/objects; echo 'ref: refs/heads/main' >e/HEAD; "
        "printf '[core]\\n\\tfsmonitor = touch pwned; false\\n' >e/config; echo 'gitdir: e' >.git",
    "a link that leads to another repository":
        "mkdir -p e/refs e/objects; echo 'ref: refs/heads/main' >e/HEAD; "
        "printf '[core]\\n\\tfsmonitor = touch pwned; false\\n' >e/config; ln -s e .git",
    "a key in the line of its section":
        "git init -q .; printf '[core] fsmonitor = \"touch pwned; false\" #]\\n' >>.git/config",
    "a key behind a section with a name":
        "git init -q .; printf '[core \"x\"]\\n[core] fsmonitor = \"touch pwned; false\" ;\"]\\n' >>.git/config",
    "a bare repository, with a key in the line of its section":
        "git init -q --bare .; printf '[core] bare = false #]\\n[core] worktree = . #]\\n"
        "[core] fsmonitor = \"touch pwned; false\" #]\\n' >>config",
    "a key of its own line": "git init -q .; git config core.fsmonitor 'touch pwned; false'",
}


class NewRepository(ChoiceTest):
    """git, run by the operator afterwards, runs nothing of the command's."""

    def git_runs_it(self, options):
        subprocess.run(["git", "status"], cwd=self.work, env={"PATH": self.env["PATH"], "HOME": str(self.tmp)},
                       check=False, capture_output=True, timeout=DEADLINE,
                       **{key: value for key, value in options.items() if key != "program"})
        return (self.work / "pwned").exists()

    def empty(self, options):
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.give(options)

    def test_nothing_is_left_that_git_would_run(self):
        for tier, user, options, policy in self.places():
            for name, line in REPOSITORIES.items():
                self.empty(options)
                with self.subTest(tier=tier, who=user, repository=name):
                    result = self.run_result(*policy, "-c", f"{line}; echo TRIED", **options)
                    self.assertIn("TRIED", self.text(result), result)
                    self.assertFalse(self.git_runs_it(options))

    def test_control(self):
        for name, line in REPOSITORIES.items():
            self.empty({})
            with self.subTest(repository=name):
                subprocess.run(["bash", "-c", line], cwd=self.work, env=self.env, check=True, timeout=DEADLINE)
                self.assertTrue(self.git_runs_it({}))

    def test_an_ordinary_new_repository_stays(self):
        line = ("git init -q . && git config user.name x && git config user.email x@y && "
                "git remote add origin https://example.com/x && touch a && git add a && git commit -qm a")
        for user, options in self.users():
            self.empty(options)
            with self.subTest(who=user):
                result = self.run_result("-c", line, **options)
                self.assertEqual((result["exit_code"], result["notices"]), (0, []), result)
                self.assertTrue((self.work / ".git" / "config").exists())


class OtherNames(ChoiceTest):
    """The denied program dd, where a policy's list does not name it."""

    def setUp(self):
        super().setUp()
        self.tools = self.dir / "tools"
        self.tools.mkdir()
        self.dd = os.path.realpath(shutil.which("dd"))

    def tiers(self):
        return self.places("universal", f", readable: ['{self.tools}']")

    def ran(self, policy, program, options):
        """By an interpreter, so that no word of the line is a name of it."""
        (self.work / "run.py").write_text(f"import os; os.execv({program!r}, ['x', 'if=run.py', 'of=ran', 'count=1'])\n")
        result = self.run_result(*policy, "--", "python3", "run.py", **options)
        self.assertEqual(result["verdict"], "allow", result)
        there = (self.work / "ran").exists()
        (self.work / "ran").unlink(missing_ok=True)
        return there

    def test_in_a_directory_of_the_operators_path(self):
        shutil.copy(self.dd, self.tools / "dd")
        shutil.copy(self.dd, self.tools / "other")
        self.env["PATH"] += f":{self.tools}"
        for tier, user, options, policy in self.tiers():
            with self.subTest(tier=tier, who=user):
                self.assertTrue(self.ran(policy, f"{self.tools}/other", options), "the control")
                self.assertFalse(self.ran(policy, f"{self.tools}/dd", options))

    def test_by_a_hard_link_of_somebody_elses(self):
        try:
            os.link(self.dd, self.tools / "link")
            (self.work / "sub").mkdir()
            os.link(self.dd, self.work / "sub" / "link")
        except OSError as error:
            self.skipTest(f"no hard link of dd can be made here: {error}")
        for tier, user, options, policy in self.tiers():
            if user == "user":
                break  # the file would be given away, and that is the system's
            with self.subTest(tier=tier):
                self.assertFalse(self.ran(policy, f"{self.tools}/link", options))
                self.assertFalse(self.ran(policy, "sub/link", options))

    def test_by_the_copy_that_a_package_has_of_its_own(self):
        """git lies in a directory of its parts a second time, on some systems as another file."""
        code = ("import os, subprocess\n"
                "for p in ('/usr/bin/git', '/usr/lib/git-core/git', '/usr/libexec/git-core/git'):\n"
                "    if os.path.exists(p):\n"
                "        try: print(subprocess.run([p, '--version'], capture_output=True).stdout)\n"
                "        except OSError as e: print(e)\n"
                "print('TRIED')\n")
        (self.work / "run.py").write_text(code)
        for tier, user, options, policy in self.places("verify"):
            with self.subTest(tier=tier, who=user):
                text = self.text(self.run_result(*policy, "--", "python3", "run.py", **options))
                self.assertIn("TRIED", text)
                self.assertNotIn("git version", text)

    def test_in_the_last_of_many_directories(self):
        many = [self.dir / f"tools-{n}" for n in range(40)]
        for path in many:
            path.mkdir()
        shutil.copy(self.dd, many[-1] / "dd")
        self.env["PATH"] += ":" + ":".join(map(str, many))
        for tier, user, options, policy in self.places("universal", f", readable: ['{many[-1]}']"):
            with self.subTest(tier=tier, who=user):
                self.assertFalse(self.ran(policy, f"{many[-1]}/dd", options))


class PrivateFiles(ChoiceTest):
    """What not everybody may read in /etc is not the command's, in either tier, though nacre be root."""

    def test_nothing_of_it_can_be_read(self):
        found = [str(path) for path in pathlib.Path("/etc").rglob("*")
                 if stat.S_ISREG(path.lstat().st_mode) and not path.lstat().st_mode & 0o004]
        if os.geteuid() != 0 or not found:
            self.skipTest("only root could read them")
        (self.work / "names").write_text("\n".join(found) + "\n")
        line = "while IFS= read -r f; do cat -- \"$f\" >/dev/null && echo \"GOT $f\"; done <names; echo TRIED"
        for tier, user, options, policy in self.places():
            with self.subTest(tier=tier, who=user):
                text = self.text(self.run_result(*policy, "-c", line, **options))
                self.assertIn("TRIED", text)
                self.assertNotIn("GOT", text)


del PlaceTest, ChoiceTest


if __name__ == "__main__":
    unittest.main()
