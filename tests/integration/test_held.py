"""What git may write in a box where its configuration is protected, and what is held for a person.

Real git works in the box, as root's and as an ordinary user's, in a box of its own and in one that is kept. What it
leaves is compared with what the same commands leave without nacre. The attacks try to get a key into the
configuration that makes the operator's git run a program.
"""
import json
import os
import shutil
import subprocess
import threading
import unittest

from helpers import DEADLINE, NACRE
from test_escape_git import IDENTITY, GitTest

EVIL = '[core]\\n\\tfsmonitor = \\"touch ran; false\\"\\n'


class HeldTest(GitTest):
    def each(self, ways=("cold", "warm")):
        """A repository in a world of its own, for each user and way: yields (workspace, run)."""
        for user, options in self.users():
            for way in ways:
                self.options = options
                for path in (self.world, self.mark.parent):
                    shutil.rmtree(path, ignore_errors=True)
                    path.mkdir()
                    path.chmod(0o777)
                    if options:
                        os.chown(path, options["user"], options["user"])
                (self.dir / ".gitconfig").unlink(missing_ok=True)
                (self.dir / ".gitconfig").write_text(IDENTITY)
                workspace = self.repository("main", ("config", "user.name", "operator"))
                self.case = f"{user}, {way}"
                yield workspace, self.result_cold if way == "cold" else self.result_warm

    def _formatMessage(self, msg, standardMsg):
        return f"[{self.case}] " + super()._formatMessage(msg, standardMsg)

    def result_cold(self, workspace, line):
        return self.run_result("--profile", "bash", "-c", line, cwd=workspace, **self.options)

    def result_warm(self, workspace, line):
        out = self.run_warm(workspace, line, "--profile", "bash")
        return json.loads(out.splitlines()[-1])["result"]

    def configuration(self, workspace):
        return (workspace / ".git" / "config").read_bytes()

    def answer(self, word, name):
        """The operator's word."""
        options = {key: value for key, value in self.options.items() if key != "program"}
        done = subprocess.run([self.options.get("program", NACRE), word, name], env=self.env, cwd=self.dir,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=DEADLINE, check=False, **options)
        return done.returncode, done.stdout.decode()


class Config(HeldTest):
    """Keys that name no program go into .git/config."""

    LINES = ("git config user.email agent@example.org",
             "git config --unset user.name",
             "git remote add origin https://example.org/x.git",
             "git remote add up git@example.org:x/y.git && git remote rename up down",
             "git remote add a /srv/a.git && git remote set-url a ../b.git && git remote remove a",
             "git checkout -q -b topic && git branch -u main && git checkout -q main && git branch -D topic",
             "git config color.ui never; git config pull.rebase true; git config push.default current; "
             "git config merge.conflictStyle diff3; git config init.defaultBranch x; git config diff.algorithm patience",
             "cd .git && git config -f config branch.x.description 'two words'",
             "mkdir -p deep/er && cd deep/er && git config core.autocrlf input",
             "python3 -c \"import subprocess as s; [s.check_call(['git', 'config', 'branch.b%d.merge' % i, "
             "'refs/heads/b%d' % i]) for i in range(9)]\"")

    def test_harmless_keys_are_written(self):
        for workspace, run in self.each():
            native = self.world / "native"
            shutil.copytree(workspace, native)
            if self.options:
                self.must(self.world, "config", "--global", "--add", "safe.directory", "*")
            for line in self.LINES:
                result = run(workspace, line)
                self.assertEqual(result["exit_code"], 0, result)
                self.assertNotIn("held", result)
                subprocess.run(["bash", "-c", line], cwd=native, env=self.env, check=True, capture_output=True)
                self.assertEqual(self.configuration(workspace), self.configuration(native), line)
            self.assertFalse((workspace / ".git" / "config.lock").exists())

    def test_the_file_stays_the_same_one(self):
        """What is mounted on it, in other boxes, stays where it is."""
        for workspace, run in self.each():
            before = os.stat(workspace / ".git" / "config")
            self.assertEqual(run(workspace, "git config user.email x@y")["exit_code"], 0)
            after = os.stat(workspace / ".git" / "config")
            self.assertEqual((before.st_ino, before.st_uid, before.st_mode), (after.st_ino, after.st_uid, after.st_mode))

    def test_a_submodule_and_a_linked_tree_have_theirs(self):
        for workspace, run in self.each():
            other = self.repository("other")
            self.must(workspace, "submodule", "add", "-q", str(other), "sub")
            self.must(workspace, "commit", "-qm", "sub")
            result = run(workspace, "cd sub && git config user.email s@u && git remote add up https://e.org/x")
            self.assertEqual(result["exit_code"], 0, result)
            self.assertIn(b"s@u", (workspace / ".git/modules/sub/config").read_bytes())
            result = run(workspace, "git worktree add -q inner && cd inner && git config user.email w@t")
            self.assertEqual(result["exit_code"], 0, result)
            self.assertIn(b"w@t", self.configuration(workspace))

    def test_what_the_operator_has_stays(self):
        """Keys that run programs are the operator's: they may be there, and nothing may happen to them."""
        for workspace, run in self.each():
            self.must(workspace, "config", "core.sshCommand", "ssh -i key")
            self.must(workspace, "config", "--add", "credential.helper", "")
            self.must(workspace, "config", "--add", "credential.helper", "store")
            self.assertEqual(run(workspace, "git remote add o https://e.org/x")["exit_code"], 0)
            text = self.configuration(workspace)
            for line in ("git config --unset core.sshCommand", "git config core.sshCommand 'ssh -i yek'",
                         "git config --unset-all credential.helper", "git config --remove-section credential",
                         "git config --replace-all credential.helper store", "git config --add credential.helper x"):
                result = run(workspace, line)
                self.assertNotEqual(result["exit_code"], 0, line)
                self.assertEqual(len(result["held"]), 1, line)
                self.assertEqual(self.configuration(workspace), text, line)


class Held(HeldTest):
    """What is not harmless waits for a person."""

    def test_yes_puts_it_in_place(self):
        for workspace, run in self.each():
            before = self.configuration(workspace)
            result = run(workspace, "git config core.fsmonitor ./watch")
            self.assertNotEqual(result["exit_code"], 0)
            self.assertEqual(self.configuration(workspace), before)
            [held] = result["held"]
            self.assertEqual(held["path"], ".git/config")
            self.assertIn(held["id"], " ".join(result["notices"]))
            code, text = self.answer("approvals", held["id"])
            self.assertEqual(code, 0)
            self.assertIn("+    fsmonitor = ./watch", text)
            self.assertNotIn("-[", text)
            code, text = self.answer("approve", held["id"])
            self.assertEqual(code, 0, text)
            self.assertEqual(self.must(workspace, "config", "core.fsmonitor").strip(), "./watch")
            code, text = self.answer("approve", held["id"])
            self.assertEqual(code, 1, text)

    def test_no_drops_it(self):
        for workspace, run in self.each():
            before = self.configuration(workspace)
            [held] = run(workspace, "git config alias.x '!sh'")["held"]
            self.assertEqual(self.answer("deny", held["id"])[0], 0)
            self.assertEqual(self.configuration(workspace), before)
            self.assertNotEqual(self.answer("approve", held["id"])[0], 0)
            self.assertEqual(self.configuration(workspace), before)

    def test_the_same_is_asked_once(self):
        for workspace, run in self.each():
            first = run(workspace, "git config core.pager x")["held"]
            self.assertEqual(first, run(workspace, "git config core.pager x")["held"])
            self.assertNotEqual(first, run(workspace, "git config core.pager y")["held"])

    def test_a_file_that_has_changed_since_stays(self):
        for workspace, run in self.each():
            [held] = run(workspace, "git config core.editor x")["held"]
            self.must(workspace, "config", "user.email", "since@then")
            before = self.configuration(workspace)
            code, text = self.answer("approve", held["id"])
            self.assertNotEqual(code, 0)
            self.assertIn("is not what it was", text)
            self.assertEqual(self.configuration(workspace), before)

    def test_a_link_in_its_place_is_not_followed(self):
        for workspace, run in self.each():
            [held] = run(workspace, "git config core.editor x")["held"]
            outside = self.world / "outside"
            outside.write_bytes(self.configuration(workspace))
            (workspace / ".git" / "config").unlink()
            (workspace / ".git" / "config").symlink_to(outside)
            before = outside.read_bytes()
            self.assertNotEqual(self.answer("approve", held["id"])[0], 0)
            self.assertEqual(outside.read_bytes(), before)

    def test_what_is_no_way_of_git_is_explained(self):
        for workspace, run in self.each():
            before = self.configuration(workspace)
            result = run(workspace, "cp .git/config /tmp/c; cp /tmp/c .git/new; mv -f .git/new .git/config")
            self.assertNotEqual(result["exit_code"], 0)
            self.assertIn(".git/config is protected", " ".join(result["notices"]))
            self.assertEqual(self.configuration(workspace), before)


class Made(HeldTest):
    """What the command makes at a protected path that was not there."""

    def test_files_are_held(self):
        for workspace, run in self.each():
            result = run(workspace, "mkdir -p .vscode/deep; echo one >.vscode/tasks.json; echo two >.vscode/deep/x; "
                                    "echo three >.envrc; chmod +x .envrc")
            self.assertEqual(result["exit_code"], 0, result)
            held = {entry["path"]: entry["id"] for entry in result["held"]}
            self.assertEqual(sorted(held), [".envrc", ".vscode/deep/x", ".vscode/tasks.json"])
            self.assertFalse((workspace / ".vscode").exists() or (workspace / ".envrc").exists())
            self.assertIn("+two", self.answer("approvals", held[".vscode/deep/x"])[1])
            for path in (".vscode/deep/x", ".envrc"):
                self.assertEqual(self.answer("approve", held[path])[0], 0)
            self.assertEqual(self.answer("deny", held[".vscode/tasks.json"])[0], 0)
            self.assertEqual((workspace / ".vscode/deep/x").read_text(), "two\n")
            self.assertEqual((workspace / ".envrc").read_text(), "three\n")
            self.assertTrue(os.access(workspace / ".envrc", os.X_OK))
            self.assertEqual([path.name for path in (workspace / ".vscode").iterdir()], ["deep"])

    def test_what_is_there_by_then_stays(self):
        for workspace, run in self.each():
            [held] = run(workspace, "echo agent >.mcp.json")["held"]
            self.write(workspace / ".mcp.json", "operator")
            self.assertNotEqual(self.answer("approve", held["id"])[0], 0)
            self.assertEqual((workspace / ".mcp.json").read_text(), "operator")

    def test_a_link_on_the_way_is_not_followed_out(self):
        for workspace, run in self.each():
            [held] = run(workspace, "mkdir .vscode; echo x >.vscode/tasks.json")["held"]
            outside = self.world / "outside"
            outside.mkdir()
            outside.chmod(0o777)
            (workspace / ".vscode").symlink_to(outside)
            self.assertNotEqual(self.answer("approve", held["id"])[0], 0)
            self.assertEqual(list(outside.iterdir()), [])

    def test_what_is_no_small_file_is_only_moved(self):
        for workspace, run in self.each(("cold",)):
            result = run(workspace, "mkdir .idea .claude; mkfifo .idea/f; ln -s /etc/passwd .idea/l; "
                                    "head -c 100000 /dev/zero >.claude/big; ln -s /etc/passwd .envrc")
            self.assertNotIn("held", result)
            self.assertFalse(any((workspace / name).is_symlink() or (workspace / name).exists()
                                 for name in (".idea", ".claude", ".envrc")))

    def test_the_desk_is_not_filled(self):
        """Others must get their question in."""
        for workspace, run in self.each(("cold",)):
            for number in range(4):
                run(workspace, f"mkdir .vscode; for i in $(seq 20); do echo {number} $i >.vscode/$i; done")
            code, text = self.answer("approvals", "--json")
            self.assertLessEqual(text.count("\"held\":"), 16)


class Submodules(HeldTest):
    def test_they_are_added(self):
        for workspace, run in self.each():
            other = self.repository("other")
            inner = workspace / "src.git"
            self.must(self.world, "clone", "-q", "--bare", str(other), str(inner))
            for name in ("one", "two"):
                result = run(workspace, f"git -c protocol.file.allow=always submodule add -q ./src.git {name}")
                self.assertEqual((result["exit_code"], result["notices"]), (0, []), result)
                self.assertIn(f"[submodule \"{name}\"]", (workspace / ".gitmodules").read_text())
                self.assertTrue((workspace / name / ".git").exists())
            self.assertEqual(self.must(workspace, "status", "--short").splitlines(),
                             ["A  .gitmodules", "A  one", "A  two", "?? src.git/"])
            result = run(workspace, "git commit -qam subs && git status --short")
            self.assertEqual(result["exit_code"], 0, result)
            self.assertEqual(self.must(workspace, "status", "--short").splitlines(), ["?? src.git/"])

    def test_one_that_runs_something_is_not(self):
        for trick in ("[submodule \"x\"]\n\tpath = x\n\turl = ext::sh\n",
                      "[submodule \"x\"]\n\tpath = x\n\turl = ./y\n\tupdate = !sh\n",
                      "[submodule \"../x\"]\n\tpath = x\n\turl = ./y\n",
                      "[submodule \"x\"]\n\tpath = ../x\n\turl = ./y\n",
                      "[submodule \"x\"]\n\tpath = x\n\turl = ./y\n[core]\n\tfsmonitor = z\n"):
            for workspace, run in self.each(("cold",)):
                text = trick.replace("\n", "\\n").replace("\t", "\\t")
                run(workspace, f"printf '{text}' >.gitmodules")
                self.assertFalse((workspace / ".gitmodules").exists(), trick)

    def test_a_repository_that_runs_something_is_not(self):
        for workspace, run in self.each():
            run(workspace, "git init -q x; git -C x commit -q --allow-empty -m x; git -C x config core.fsmonitor 'touch ran'; "
                           "printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = ./x\\n' >.gitmodules")
            self.assertFalse((workspace / ".gitmodules").exists())


class Attacks(HeldTest):
    """No key that runs a program gets into the configuration, not for a moment."""

    def attempt_lock(self, content, after=""):
        """The content as git would leave it; it must not get in."""
        for workspace, run in self.each():
            before = self.configuration(workspace)
            (self.world / "content").write_bytes(content)
            shutil.copyfile(self.world / "content", workspace / "content")
            run(workspace, f"cat content >.git/config.lock; {after} python3 -c "
                           "'import os; os.rename(\".git/config.lock\", \".git/config\")'")
            self.assertEqual(self.configuration(workspace), before)

    def test_keys_that_run_programs(self):
        for workspace, run in self.each(("warm",)):
            before = self.configuration(workspace)
            for words in ("core.fsmonitor true", "core.hooksPath .h", "core.sshCommand x", "core.pager x",
                          "core.editor x", "core.askpass x", "core.gitProxy x", "core.worktree ..",
                          "core.attributesFile a", "core.alternateRefsCommand x", "sequence.editor x",
                          "include.path ../x", "includeIf.gitdir:/.path x", "alias.status '!sh'", "diff.external x",
                          "diff.x.textconv x", "diff.x.command x", "merge.x.driver x", "merge.tool x",
                          "mergetool.x.cmd x", "filter.x.clean x", "filter.x.smudge x", "filter.x.process x",
                          "gpg.program x", "gpg.ssh.program x", "credential.helper x",
                          "credential.https://x.helper y", "remote.o.vcs x", "remote.o.uploadpack x",
                          "remote.o.receivepack x", "remote.o.proxy x", "remote.o.url ext::sh",
                          "remote.o.pushurl 'ext::sh -c x'", "remote.o.url evil://x", "remote.o.url -x",
                          "branch.m.remote ext::x", "branch.m.pushRemote fd::7", "remote.pushDefault ext::x",
                          "branch.m.mergeOptions -sx", "url.ext::x.insteadOf https://", "submodule.x.update '!sh'",
                          "submodule.x.url ext::x", "init.templateDir x", "uploadpack.packObjectsHook x",
                          "protocol.ext.allow always", "extensions.worktreeConfig true", "trailer.x.cmd x",
                          "pager.log x", "man.x.cmd x", "browser.x.cmd x", "core.commentString x", "safe.directory x",
                          "pull.twohead x", "interactive.diffFilter x", "fsmonitor.x y", "maintenance.repo x"):
                result = run(workspace, f"git config {words}")
                self.assertNotEqual(result["exit_code"], 0, words)
                self.assertEqual(self.configuration(workspace), before, words)

    def test_spellings_of_git(self):
        for text in (b'[core]fsmonitor=x\n', b'[CORE] FSmonitor = x\n', b'[user]name=x\n[core]\nfsmonitor\n',
                     b'[user] [core] fsmonitor = x\n', b'[user]\nname = x \\\n y\n[core]\n\tfsmonitor = x',
                     b'[core "x"]\nfsmonitor=x\n', b'\xef\xbb\xbf[core]\nfsmonitor=x\n', b'[core]\r\nfsmonitor=x\r\n',
                     b'[user\x00]\n[core]\nfsmonitor = x\n', b'[user]\nname=\x00\n[core]\nfsmonitor=x\n',
                     b'[include]path=x\n', b'[include]\n\tpath = x\n', b'[remote.x]\nurl=ext::x\n',
                     b'[remote "x"]url="ext:"":x"\n', b'[remote "x"]\n url = "e\\\nxt::x"\n',
                     b'[user]\n' + b'#' * 70000 + b'\n', b'[color]\n' + b' ui = x\n' * 9000):
            with self.subTest(text=text[:60]):
                self.attempt_lock(b'[core]\n\trepositoryformatversion = 0\n' + text)

    def test_what_is_no_file(self):
        for after in ("rm .git/config.lock; ln -s ../content .git/config.lock;",
                      "rm .git/config.lock; mkfifo .git/config.lock;",
                      "rm .git/config.lock; mkdir .git/config.lock;",
                      "ln .git/config.lock .git/other;",
                      "rm .git/config.lock;"):
            with self.subTest(after=after):
                self.attempt_lock(b"[user]\n\temail = q@r\n", after)

    RACE = r"""
import os, sys, threading, time
good = open('.git/config', 'rb').read()
evil = good + b'[core]\n\tfsmonitor = "touch ran; false"\n'
assert len(evil) > len(good)
end = time.time() + 3
def swap():
    while time.time() < end:
        for text in (evil, good):
            try:
                fd = os.open('.git/config.lock', os.O_WRONLY)
            except OSError:
                continue
            os.pwrite(fd, text, 0); os.ftruncate(fd, len(text)); os.close(fd)
threading.Thread(target=swap).start()
tries = 0
while time.time() < end:
    with open('.git/config.lock', 'wb') as f: f.write(good)
    try:
        os.rename('.git/config.lock', '.git/config')
    except OSError:
        pass
    tries += 1
print('TRIED', tries)
"""

    def test_content_that_changes_meanwhile(self):
        """The operator looks all the time; what is judged is what is written."""
        for workspace, run in self.each():
            self.write(workspace / "race.py", self.RACE)
            seen, stop = [], []

            def look():
                while not stop:
                    text = self.configuration(workspace)
                    if b"fsmonitor" in text:
                        seen.append(text)
            eye = threading.Thread(target=look)
            eye.start()
            result = run(workspace, "python3 race.py")
            stop.append(1)
            eye.join()
            self.assertIn("TRIED", self.text(result))
            self.assertEqual(seen, [])
            self.assertNotIn(b"fsmonitor", self.configuration(workspace))

    def test_names_that_are_swapped_meanwhile(self):
        """Directories change places while the keeper looks; only the one file is ever written."""
        for workspace, run in self.each():
            other = self.repository("main/other", ("config", "core.fsmonitor", "theirs"))
            line = ("(for i in $(seq 300); do mv -T other o2; ln -s .git other; rm other; mv -T o2 other; done) & "
                    "for i in $(seq 60); do echo '[user]' >other/config.lock; mv -f other/config.lock other/config; "
                    "echo '[user]' >.git/config.lock; mv -f .git/config.lock other/config; done; wait; echo TRIED")
            self.assertIn("TRIED", self.text(run(workspace, line)))
            self.assertIn(b"theirs", self.configuration(other))

    def test_names_that_are_nearly_the_same(self):
        for workspace, run in self.each(("warm",)):
            before = self.configuration(workspace)
            run(workspace, "for n in 'config ' Config config. ./config ../.git/config config/ .git/config; do "
                           "printf '" + EVIL + "' >.git/config.lock; (cd .git && mv -f config.lock \"$n\"); done; "
                           "ln -s .git g; printf '" + EVIL + "' >g/config.lock; mv -f g/config.lock g/config; "
                           "printf '" + EVIL + "' >/tmp/config.lock; mv -f /tmp/config.lock .git/config; true")
            self.assertEqual(self.configuration(workspace), before)

    def test_by_another_door(self):
        """Other ways to rename, and to exchange."""
        program = ("import ctypes, os\n"
                   "c = ctypes.CDLL(None, use_errno=True)\n"
                   "d = os.open('.git', os.O_RDONLY)\n"
                   "for flags in (0, 1, 2, 4):\n"
                   "    open('.git/config.lock', 'w').write('[core]\\nfsmonitor = x\\n')\n"
                   "    print(c.syscall(316, d, b'config.lock', d, b'config', flags))\n"
                   "    print(c.syscall(264, d, b'config.lock', d, b'config'))\n"
                   "    print(c.syscall(82, b'.git/config.lock', b'.git/config'))\n"
                   "    print(c.syscall(82, b'.git/config.lock', None), c.syscall(82, None, b'.git/config'))\n")
        for workspace, run in self.each():
            before = self.configuration(workspace)
            self.write(workspace / "p.py", program)
            result = run(workspace, "python3 p.py")
            self.assertEqual(result["exit_code"], 0, result)
            self.assertEqual(self.configuration(workspace), before)

    def test_a_harmless_one_by_descriptor(self):
        for workspace, run in self.each():
            result = run(workspace, "cp .git/config .git/config.lock; echo '[user] email = by@fd' >>.git/config.lock; "
                                    "python3 -c 'import os; d = os.open(\".git\", 0); "
                                    "os.rename(\"config.lock\", \"config\", src_dir_fd=d, dst_dir_fd=d)'")
            self.assertEqual(result["exit_code"], 0, result)
            self.assertIn(b"by@fd", self.configuration(workspace))

    def test_a_link_to_the_file_itself(self):
        """A second name of the configuration: then it is nobody's to write."""
        for workspace, run in self.each():
            os.link(workspace / ".git/config", workspace / "second")
            before = self.configuration(workspace)
            self.assertNotEqual(run(workspace, "git config user.email x@y")["exit_code"], 0)
            self.assertEqual(self.configuration(workspace), before)

    def test_thousands_of_renamings(self):
        for workspace, run in self.each():
            result = run(workspace, "python3 -c \"import os\nopen('a', 'w')\n"
                                    "for i in range(20000): os.rename('a', 'b'); os.rename('b', 'a')\"; "
                                    "git config user.email x@y")
            self.assertEqual(result["exit_code"], 0, result)
            self.assertIn(b"x@y", self.configuration(workspace))


class Tier(HeldTest):
    """Without mounts nothing can be held back: what changed is named."""

    def test_landlock_says_what_it_does(self):
        policy = self.policy("landlock", "profile: tier\ninherits: bash\nsandbox: {mode: landlock}\n")
        for workspace, _ in self.each(("cold",)):
            result = self.run_result("--policy", policy, "-c", "git config core.fsmonitor x", cwd=workspace,
                                     **self.options)
            self.assertEqual(result["exit_code"], 0, result)
            self.assertIn("changed .git/config, which is protected", " ".join(result["notices"]))


if __name__ == "__main__":
    unittest.main()
