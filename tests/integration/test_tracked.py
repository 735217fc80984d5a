"""Protected files that a repository tracks: git brings them, changes them and takes them away as the person's commits
have them, and nothing that a command has made gets to their place.

Each honest line is git as an agent uses it; afterwards `git status` has nothing to say. Each attack tries to get
content, a mode or a place of its own choice past the keeper.
"""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest
import zlib

from helpers import DEADLINE, NACRE
from test_held import HeldTest

SMALL = {".envrc": "export A=1\n", ".pre-commit-config.yaml": "repos: []\n", ".vscode/settings.json": "{\"tab\": 4}\n",
         ".husky/pre-commit": "#!/bin/sh\nexit 0\n", ".claude/commands/x.md": "x\n", ".devcontainer/devcontainer.json": "{}\n",
         ".gitmodules": "[submodule \"s\"]\n\tpath = s\n\turl = ./s.git\n"}
LARGE = {".envrc": "export A=2\n", ".pre-commit-config.yaml": "repos: [1]\n", ".vscode/settings.json": "{\"tab\": 8}\n",
         ".vscode/launch.json": "{}\n", ".vscode/deep/er/x": "y\n", ".husky/pre-commit": "#!/bin/sh\nexit 1\n",
         ".claude/commands/y.md": "y\n", ".mcp.json": "{}\n",
         ".gitmodules": "[submodule \"s\"]\n\tpath = s\n\turl = ./t.git\n"}


class TrackedTest(HeldTest):
    def fill(self, workspace, files):
        """The operator's commit with these protected files, and no others."""
        for name in (*SMALL, *LARGE):
            path = workspace / name
            path.unlink(missing_ok=True)
            for above in [*path.parents][:-1]:
                if above != workspace and above.is_relative_to(workspace) and above.exists() and not any(above.iterdir()):
                    above.rmdir()
        for name, text in files.items():
            self.write(workspace / name, text, 0o755 if name.startswith(".husky") else 0o644)
        self.must(workspace, "add", "-A")
        self.must(workspace, "commit", "-qm", f"{len(files)} files")

    def branches(self, workspace, *more):
        """main has none of the files, small some, large others; topic is one commit beside main."""
        self.write(workspace / "a.txt", "a\n")
        self.fill(workspace, {})
        self.must(workspace, "checkout", "-qb", "topic")
        self.write(workspace / "t.txt", "t\n")
        self.must(workspace, "add", "-A")
        self.must(workspace, "commit", "-qm", "topic")
        self.must(workspace, "checkout", "-q", "main")
        self.must(workspace, "checkout", "-qb", "small")
        self.fill(workspace, SMALL)
        self.must(workspace, "checkout", "-qb", "large")
        self.fill(workspace, LARGE)
        self.must(workspace, "checkout", "-q", "main")
        for words in more:
            self.must(workspace, *words)

    def expect(self, workspace, files):
        """The work tree has these, the others are not there, and git has nothing to say."""
        for name in (*SMALL, *LARGE):
            path = workspace / name
            if name in files:
                self.assertEqual(path.read_text(), files[name], name)
                self.assertEqual(os.access(path, os.X_OK), name.startswith(".husky"), name)
                self.assertEqual(path.stat().st_uid, workspace.stat().st_uid, name)
            else:
                self.assertFalse(path.exists(), name)
        self.assertEqual(self.must(workspace, "status", "--porcelain"), "")
        self.assertEqual(list((workspace / ".git").glob("nacre-*")), [])

    def ok(self, run, workspace, line):
        result = run(workspace, line)
        self.assertEqual((result["exit_code"], result.get("held", []), result["notices"]), (0, [], []), (line, result))
        return self.text(result)


class Honest(TrackedTest):
    def test_branches_there_and_back(self):
        for workspace, run in self.each():
            self.branches(workspace)
            for name, files in (("small", SMALL), ("large", LARGE), ("main", {}), ("large", LARGE), ("small", SMALL),
                                ("main", {})):
                self.assertEqual(self.ok(run, workspace, f"git checkout -q {name} && git status --porcelain"), "", name)
                self.expect(workspace, files)

    def test_in_one_call(self):
        for workspace, run in self.each():
            self.branches(workspace)
            text = self.ok(run, workspace, "git checkout -q small && cat .envrc && git checkout -q large && cat .envrc && "
                                           "git checkout -q small && git status --porcelain && git checkout -q large")
            self.assertEqual(text, "export A=1\nexport A=2\n")
            self.expect(workspace, LARGE)
            text = self.ok(run, workspace, "git checkout -q small && cat .envrc .vscode/settings.json && git checkout -q main"
                                           " && git status --porcelain && git checkout -q large && cat .envrc")
            self.assertEqual(text, "export A=1\n{\"tab\": 4}\nexport A=2\n")
            self.expect(workspace, LARGE)

    def test_merge(self):
        for workspace, run in self.each():
            self.branches(workspace)
            self.ok(run, workspace, "git merge -q --ff-only small")
            self.expect(workspace, SMALL)
            self.ok(run, workspace, "git merge -q --no-ff large -m m")
            self.expect(workspace, LARGE)
            self.ok(run, workspace, "git checkout -q topic && git merge -q large -m m && git log -1 --format=%s")
            self.expect(workspace, LARGE)

    def test_rebase_and_cherry_pick(self):
        for workspace, run in self.each():
            self.branches(workspace)
            self.ok(run, workspace, "git checkout -q topic && git rebase -q small")
            self.expect(workspace, SMALL)
            self.ok(run, workspace, "git rebase -q --apply large")
            self.expect(workspace, LARGE)
            self.ok(run, workspace, "git rebase -q --onto main large")
            self.expect(workspace, {})
            self.ok(run, workspace, "git cherry-pick small >/dev/null")
            self.expect(workspace, SMALL)
            self.ok(run, workspace, "git revert --no-edit HEAD >/dev/null")
            self.expect(workspace, {})

    def test_stash(self):
        for workspace, run in self.each():
            self.branches(workspace, ("checkout", "-q", "small"))
            self.ok(run, workspace, "echo dirty >>a.txt && git stash -q && git checkout -q large && git stash pop -q && "
                                    "git diff --stat | grep -q a.txt && git checkout -q a.txt")
            self.expect(workspace, LARGE)
            self.ok(run, workspace, "echo n >new && git stash -qu && git stash pop -q && rm new")
            self.expect(workspace, LARGE)

    def test_reset_and_restore(self):
        for workspace, run in self.each():
            self.branches(workspace, ("checkout", "-q", "large"))
            self.ok(run, workspace, "git reset -q --hard small")
            self.expect(workspace, SMALL)
            self.ok(run, workspace, "git checkout -q -f large@{1} -B large")
            self.expect(workspace, LARGE)
            self.ok(run, workspace, "git restore --source=small .envrc && cat .envrc && git restore .envrc")
            self.expect(workspace, LARGE)
            self.ok(run, workspace, "git checkout -q --detach main && git switch -q large")
            self.expect(workspace, LARGE)

    def test_pull_of_what_the_operator_fetched(self):
        for workspace, run in self.each():
            self.branches(workspace, ("checkout", "-q", "small"))
            self.must(workspace, "clone", "-q", "--bare", ".", "up.git")
            self.write(workspace / ".git/info/exclude", "/up.git\n")
            self.must(workspace, "remote", "add", "up", "./up.git")
            self.must(workspace, "-C", "up.git", "update-ref", "refs/heads/small", "large")
            self.must(workspace, "fetch", "-q", "up")
            self.ok(run, workspace, "git pull -q up small")
            self.expect(workspace, LARGE)

    def test_a_new_commit_of_the_operator(self):
        for workspace, run in self.each():
            self.branches(workspace)
            self.ok(run, workspace, "git checkout -q small && echo b >>a.txt && git commit -qam agent && git checkout -q main")
            self.must(workspace, "checkout", "-q", "large")
            self.write(workspace / ".envrc", "export A=3\n")
            self.must(workspace, "commit", "-qam", "third")
            self.must(workspace, "checkout", "-q", "small")
            self.ok(run, workspace, "git checkout -q large && cat .envrc")
            self.expect(workspace, {**LARGE, ".envrc": "export A=3\n"})

    def test_a_commit_records_nothing_else(self):
        for workspace, run in self.each():
            self.branches(workspace)
            for line in ("git checkout -q small", "git checkout -q large", "git checkout -q topic; git merge -q small -m m"):
                self.ok(run, workspace, line)
                text = self.ok(run, workspace, "echo more >>a.txt && git commit -qam more && git show --format= --name-status")
                self.assertEqual(text, "M\ta.txt\n", line)

    def test_kinds_of_repositories(self):
        """SHA-256, packs with deltas, and objects elsewhere."""
        for workspace, run in self.each(("cold",)):
            def packed():
                self.must(workspace, "gc", "-q", "--aggressive", "--prune=now")

            def linked():
                self.must(self.world, "clone", "-q", "--bare", "main", "main/.git/store")
                self.must(workspace, "repack", "-adq")
                self.write(workspace / ".git/objects/info/alternates", str(workspace / ".git/store/objects") + "\n")
                for path in (workspace / ".git/objects").iterdir():
                    if path.name != "info":
                        shutil.rmtree(path)

            def sha256():
                shutil.rmtree(workspace / ".git")
                (workspace / "a.txt").unlink()
                self.must(workspace, "init", "-q", "--object-format=sha256")
                self.branches(workspace)
            self.branches(workspace)
            for arrange in (packed, linked, sha256):
                with self.subTest(kind=arrange.__name__):
                    arrange()
                    for name, files in (("small", SMALL), ("large", LARGE), ("main", {})):
                        self.ok(run, workspace, f"git checkout -q {name}")
                        self.expect(workspace, files)

    def test_a_long_history(self):
        """What no tip has any more."""
        for workspace, run in self.each(("cold",)):
            self.branches(workspace)
            self.must(workspace, "checkout", "-q", "large")
            for number in range(30):
                self.must(workspace, "commit", "-q", "--allow-empty", "-m", str(number))
            self.fill(workspace, {})
            self.must(workspace, "branch", "-D", "small")
            self.must(workspace, "checkout", "-q", "main")
            self.ok(run, workspace, "git checkout -q large~5")
            self.expect(workspace, LARGE)
            self.ok(run, workspace, "git checkout -q large~32")
            self.expect(workspace, SMALL)
            self.ok(run, workspace, "git checkout -q large")
            self.expect(workspace, {})

    def test_a_work_tree_inside(self):
        for workspace, run in self.each(("cold",)):
            self.branches(workspace, ("checkout", "-q", "small"))
            self.write(workspace / ".git/info/exclude", "/tree\n")
            self.ok(run, workspace, "git worktree add -q tree large && cd tree && git checkout -q --detach main && "
                                    "git checkout -q --detach large && git status --porcelain")
            self.expect(workspace, SMALL)
            self.ok(run, workspace, "git -C tree checkout -q --detach main && git checkout -q large")
            self.expect(workspace, LARGE)

    def test_what_the_operator_has_not_committed_stays(self):
        for workspace, run in self.each():
            self.branches(workspace, ("checkout", "-q", "small"))
            self.write(workspace / ".envrc", "export A=mine\n")
            self.write(workspace / ".vscode/settings.json", "mine\n")
            result = run(workspace, "git checkout -q -f large; git checkout -q -f main")
            self.assertEqual((workspace / ".envrc").read_text(), "export A=mine\n", result)
            self.assertEqual((workspace / ".vscode/settings.json").read_text(), "mine\n")

    def test_what_is_new_in_a_pull_is_held(self):
        """git goes on, its other files are right, and the result says what waits."""
        for workspace, run in self.each():
            self.branches(workspace, ("checkout", "-q", "small"))
            self.must(workspace, "clone", "-q", "--bare", ".", "up.git")
            self.write(workspace / ".git/info/exclude", "/up.git\n/copy\n")
            self.must(workspace, "clone", "-q", "up.git", "copy", "-b", "small")
            self.write(workspace / "copy/.envrc", "export A=new\n")
            self.write(workspace / "copy/.mcp.json", "new\n")
            self.write(workspace / "copy/a.txt", "new\n")
            for words in (("add", "-A"), ("commit", "-qm", "new"), ("push", "-q", "origin", "small")):
                self.must(workspace / "copy", *words)
            result = run(workspace, "git pull -q ./up.git small")
            self.assertEqual(result["exit_code"], 0, result)
            held = {entry["path"]: entry["id"] for entry in result["held"]}
            self.assertEqual(sorted(held), [".envrc", ".mcp.json"])
            self.assertEqual((workspace / ".envrc").read_text(), SMALL[".envrc"])
            self.assertEqual((workspace / "a.txt").read_text(), "new\n")
            self.assertFalse((workspace / ".mcp.json").exists())
            for name in held.values():
                self.assertEqual(self.answer("approve", name)[0], 0)
            self.assertEqual(self.must(workspace, "status", "--porcelain"), "")


class Attacks(TrackedTest):
    """Nothing of a command's own gets to a protected path."""

    def spared(self, workspace, files=None):
        """What lies at protected paths is the operator's."""
        files = SMALL if files is None else files
        for name in {*SMALL, *LARGE, ".vscode/tasks.json"}:
            path = workspace / name
            if path.exists() or path.is_symlink():
                self.assertFalse(path.is_symlink(), name)
                self.assertIn(path.read_text(), (files.get(name), SMALL.get(name), LARGE.get(name)), name)
                self.assertEqual(os.access(path, os.X_OK), name.startswith(".husky"), name)
        self.assertNotIn("evil", "".join(path.read_text() for path in workspace.glob(".vscode/**/*") if path.is_file()))

    EVIL = ("b=$(echo evil | git hash-object -w --stdin); "
            "git update-index --add --cacheinfo 100644,$b,.vscode/tasks.json && "
            "git update-index --add --cacheinfo 100644,$b,.vscode/settings.json && "
            "git update-index --add --cacheinfo 100644,$b,.envrc && "
            "evil=$(git commit-tree -p HEAD -m evil $(git write-tree)) && git branch -f evil $evil && git reset -q; ")

    def starts(self, ways=("cold", "warm")):
        """Where the files are not there yet, and where they are."""
        for workspace, run in self.each(ways):
            for start in ("main", "small"):
                if start == "small":
                    shutil.rmtree(workspace)
                    self.repository("main")
                self.branches(workspace, ("checkout", "-q", start))
                yield start, workspace, run

    def test_its_own_commit(self):
        for start, workspace, run in self.starts():
            result = run(workspace, self.EVIL + "git checkout -q -f evil; git log -1 --format=%s")
            self.assertIn("evil", self.text(result))
            self.assertIn(".envrc", [entry["path"] for entry in result["held"]], result)
            self.spared(workspace, SMALL if start == "small" else {})

    def test_its_own_commit_in_a_later_call(self):
        for start, workspace, run in self.starts():
            run(workspace, self.EVIL + "true")
            for _ in range(2):
                result = run(workspace, "git checkout -q -f evil")
                self.assertTrue(result["held"], result)
                self.spared(workspace)
                run(workspace, f"git checkout -q -f {start}")

    def test_a_ref_that_was_edited_before_the_operator_moved_another(self):
        """It is written in place, so that its directory does not change."""
        for workspace, run in self.each():
            self.branches(workspace)
            run(workspace, self.EVIL + "cat .git/refs/heads/evil >.git/refs/heads/topic; git branch -D evil")
            self.must(workspace, "branch", "another", "large")
            result = run(workspace, "git checkout -q topic")
            self.assertTrue(result["held"], result)
            self.spared(workspace)

    def test_a_repository_of_its_own(self):
        for workspace, run in self.each():
            shutil.rmtree(workspace / ".git")
            run(workspace, "git init -q && git config user.name x && git config user.email x@y && "
                           "git commit -q --allow-empty -m x; " + self.EVIL + "true")
            result = run(workspace, "git checkout -q -f evil")
            self.assertTrue(result["held"], result)
            self.spared(workspace, {})

    def test_replacements_and_grafts(self):
        for start, workspace, run in self.starts():
            for line in ("git replace large evil; git checkout -q -f large",
                         "git replace -d large; git replace --graft large evil; git checkout -q -f evil",
                         "echo $(git rev-parse large evil) >.git/info/grafts; git checkout -q -f evil"):
                result = run(workspace, self.EVIL + line)
                self.assertTrue(result["held"], (line, result))
                self.spared(workspace)
                run(workspace, f"git checkout -q -f {start}")

    def test_objects_that_are_not_what_they_are_called(self):
        """The files of the operator's commits, trees and blobs get the content of others."""
        swap = ("import os, subprocess as s\n"
                "def ask(*w): return s.run(['git', *w], capture_output=True, text=True).stdout.split()\n"
                "def path(i): return '.git/objects/' + i[:2] + '/' + i[2:]\n"
                "for a, b in (('large', 'evil'), ('large^{tree}', 'evil^{tree}'), ('large:.envrc', 'evil:.envrc'),\n"
                "             ('large:.vscode', 'evil:.vscode'), ('small', 'evil'), ('small^{tree}', 'evil^{tree}')):\n"
                "    a, b = ask('rev-parse', a)[0], ask('rev-parse', b)[0]\n"
                "    text = open(path(b), 'rb').read()\n"
                "    os.chmod(path(a), 0o644)\n"
                "    open(path(a), 'wb').write(text)\n")
        for start, workspace, run in self.starts():
            self.write(workspace / "swap.py", swap)
            run(workspace, self.EVIL + "python3 swap.py; git checkout -q -f evil; git checkout -q -f large; "
                                       "mkdir -p .vscode; echo evil >.vscode/tasks.json; echo evil >.envrc")
            self.spared(workspace)

    def test_another_path_and_another_mode(self):
        for workspace, run in self.each():
            self.branches(workspace)
            result = run(workspace, "git show small:.envrc >.mcp.json; git show small:.envrc >.envrc; chmod +x .envrc; "
                                    "mkdir .vscode; git show small:.vscode/settings.json >.vscode/tasks.json")
            self.assertEqual(sorted(entry["path"] for entry in result["held"]), [".envrc", ".mcp.json", ".vscode/tasks.json"])
            self.assertFalse(any((workspace / name).exists() for name in (".mcp.json", ".envrc", ".vscode")))

    def test_beside_what_is_the_operators(self):
        """Only the rest goes, and git is not told that it was removed."""
        for workspace, run in self.each():
            self.branches(workspace)
            result = run(workspace, "git checkout -q small && echo evil >.vscode/tasks.json && echo evil >.vscode/settings.json")
            self.assertEqual(sorted(entry["path"] for entry in result["held"]), [".vscode/settings.json", ".vscode/tasks.json"])
            self.assertFalse((workspace / ".vscode/tasks.json").exists())
            self.assertEqual(self.must(workspace, "status", "--porcelain").strip(), "D .vscode/settings.json")

    def test_links(self):
        for workspace, run in self.each():
            self.branches(workspace)
            self.must(workspace, "checkout", "-qb", "linked")
            self.write(workspace / "conf/settings.json", "{}\n")
            os.symlink("conf", workspace / ".vscode")
            self.must(workspace, "add", "-A")
            self.must(workspace, "commit", "-qm", "link")
            self.must(workspace, "checkout", "-q", "main")
            run(workspace, "git checkout -q linked; echo evil >conf/tasks.json")
            self.assertFalse((workspace / ".vscode").is_symlink())
            run(workspace, "git checkout -q -f main; mkdir other; echo evil >other/tasks.json; ln -s other .vscode")
            self.assertFalse((workspace / ".vscode").is_symlink())

    def test_a_git_that_is_a_link(self):
        for workspace, run in self.each():
            self.branches(workspace)
            os.rename(workspace / ".git", workspace / "store")
            os.symlink("store", workspace / ".git")
            run(workspace, "git checkout -q small")
            self.assertFalse((workspace / ".envrc").exists())

    FAKE = r"""
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, b'git', 0, 0, 0)
libc = ctypes.CDLL(None, use_errno=True)
def call(*words): return libc.syscall(*words)
for name in (b'.envrc', b'.vscode/settings.json', b'.vscode/tasks.json', b'.vscode/deep/x', b'.vscode/../evil',
             b'.vscode//settings.json', b'.vscode/./x', b'.git/config', b'.git/hooks/pre-commit', b'.nacre.yaml'):
    call(87, name); call(83, b'.vscode/deep', 0o777)
    fd = call(257, -100, name, 0o301, 0o755)
    if fd >= 0:
        os.write(fd, b'evil\n')
        keep = os.dup(fd); os.close(fd)
open('.git/index.lock', 'wb').write(open('.git/index', 'rb').read())
os.rename('.git/index.lock', '.git/index')
os.write(keep, b'evil again\n') if 'keep' in globals() else None
for name in (b'.envrc', b'.pre-commit-config.yaml', b'.husky/pre-commit'):
    call(87, name)
open('.git/refs/heads/x.lock', 'w').write(sys.argv[1] + '\n')
os.rename('.git/refs/heads/x.lock', '.git/refs/heads/x')
open('.git/HEAD.lock', 'w').write('ref: ../../../../etc/passwd\n'); os.rename('.git/HEAD.lock', '.git/HEAD2')
print('TRIED')
"""

    def test_a_program_that_says_it_is_git(self):
        for workspace, run in self.each():
            self.branches(workspace, ("checkout", "-q", "small"))
            shutil.copy(workspace / ".git/config", self.world / "config")
            self.write(workspace / "fake.py", self.FAKE)
            result = run(workspace, self.EVIL + "python3 fake.py $(git rev-parse evil)")
            self.assertIn("TRIED", self.text(result))
            self.assertEqual((workspace / ".git/config").read_bytes(), (self.world / "config").read_bytes())
            self.assertFalse((workspace / ".git/hooks/pre-commit").exists() or (workspace / ".nacre.yaml").exists())
            self.spared(workspace)
            for name, text in SMALL.items():
                self.assertEqual((workspace / name).read_text(), text, name)

    def test_a_file_that_every_commit_has_stays(self):
        for workspace, run in self.each():
            self.write(workspace / ".envrc", "first\n")
            self.must(workspace, "add", "-A")
            self.must(workspace, "commit", "-q", "--amend", "-m", "first")
            self.must(workspace, "reflog", "expire", "--expire=now", "--all")
            result = run(workspace, "git rm -q .envrc; git commit -qm gone; git checkout -q --orphan o; git commit -qm o")
            self.assertEqual((workspace / ".envrc").read_text(), "first\n")
            self.assertIn(".envrc", " ".join(result["notices"]), result)

    def test_objects_that_are_taken_away(self):
        """What cannot be read is not known to be absent."""
        for workspace, run in self.each(("cold",)):
            self.branches(workspace, ("checkout", "-q", "small"))
            self.write(workspace / "fake.py", self.FAKE)
            run(workspace, "t=$(git rev-parse 'main^{tree}' 'small:.vscode' 'small^{tree}'); m=$(git rev-parse small); "
                           "for i in $t; do rm -f .git/objects/${i:0:2}/${i:2}; done; python3 fake.py $m")
            for name, text in SMALL.items():
                self.assertEqual((workspace / name).read_text(), text, name)

    def test_what_goes_on_while_the_keeper_looks(self):
        for start, workspace, run in self.starts(("cold",)):
            run(workspace, "(while :; do echo evil >.vscode/settings.json; echo evil >.envrc; done) 2>/dev/null & "
                           "for i in 1 2 3; do git checkout -q -f large; git checkout -q -f small; done; kill $!; wait")
            self.spared(workspace)

    def test_a_keeper_that_was_killed(self):
        """Nobody has seen what its command did: it is not taken for the operator's."""
        for workspace, run in self.each(("cold",)):
            self.branches(workspace)
            popen = self.start("--profile", "bash", "-c", self.EVIL + "touch done; sleep 60", cwd=workspace, **self.options)
            end = time.monotonic() + DEADLINE
            while not (workspace / "done").exists() and time.monotonic() < end:
                time.sleep(0.02)
            for entry in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    if (entry / "comm").read_text() == "nacre-keeper\n" and \
                            f"\nPPid:\t{popen.pid}\n" in (entry / "status").read_text():
                        os.kill(int(entry.name), signal.SIGKILL)
                except OSError:
                    pass
            popen.communicate(timeout=DEADLINE)
            result = run(workspace, "git checkout -q -f evil")
            self.assertTrue(result["held"], result)
            self.spared(workspace)

    def test_a_repository_below_another_workspace(self):
        for workspace, run in self.each():
            inner = self.repository("main/inner")
            self.branches(inner)
            run(workspace, "cd inner; " + self.EVIL + "true")
            result = run(inner, "git checkout -q -f evil")
            self.assertTrue(result["held"], result)
            self.spared(inner)

    def test_many_files(self):
        """More than are looked at: then nothing of it is trusted."""
        for workspace, run in self.each(("cold",)):
            self.branches(workspace)
            run(workspace, "git checkout -q small; for i in $(seq 600); do echo evil >.vscode/$i; done")
            self.assertFalse((workspace / ".vscode").exists())


if __name__ == "__main__":
    unittest.main()
