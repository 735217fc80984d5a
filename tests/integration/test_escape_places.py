"""Attempts that depend on the place: the readonly box, a home directory as workspace, the operator's
terminal, races with the start of a command, what one command leaves to the next, and limits by name.

Like test_escape.py, these look from outside at what came of an attempt.
"""
import ctypes
import fcntl
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import termios
import threading
import time
import unittest

from helpers import DEADLINE, NACRE, NacreTest, ROOT

HERE = ROOT / "tests" / "escape"
SECRET = "SECRET-5a1f0c"
LIMITS = "{memory: 256M, processes: 64, file: 64M, tmp: 64M, open_files: 1024}"
LOADER = next((path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
               if os.path.exists(path)), "/lib/ld.so")
TIERS = {"strict": "strict", "landlock": "landlock"}


def build(source, target, *flags):
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-o", target,
                    HERE / source, *flags], check=True, timeout=DEADLINE)


class PlaceTest(NacreTest):
    """A workspace that belongs to the user who runs nacre: root as he is, and an ordinary user."""

    BOXED = True

    def users(self):
        """Yields (name, options of start) with the test's directories given to that user."""
        if os.geteuid() == 0:
            yield "root", {}
            options = self.as_ordinary_user()
            for where, names, files in os.walk(self.dir):
                for name in [*names, *files]:
                    os.lchown(os.path.join(where, name), options["user"], options["user"])
            yield "user", options
        else:
            yield "user", {}

    def give(self, options):
        if options:
            for where, names, files in os.walk(self.work):
                for path in [where, *(os.path.join(where, name) for name in [*names, *files])]:
                    os.lchown(path, options["user"], options["user"])

    def policy(self, name, text):
        path = self.dir / f"{name}.yaml"
        path.write_text(text)
        return str(path)

    def text(self, result):
        return result.get("output") or (result["stdout"] or "") + (result["stderr"] or "")

    def run_result(self, *args, **options):
        done = self.run_nacre("--json", *args, **options)
        self.assertEqual(done.out.count(b"\n"), 1, done)
        return json.loads(done.out)


# Each is an argv whose first word the readonly profile allows. RAN-42 is computed by what must not run.
SH = "echo RAN-$((6*7))"
READONLY = {
    "awk system": ["awk", f'BEGIN {{ system("{SH}") }}'],
    "awk pipe": ["awk", f'BEGIN {{ "{SH}" | getline x; print x }}'],
    "awk pipe out": ["awk", 'BEGIN { print "' + SH + '" | "sh" }'],
    "awk writes": ["awk", 'BEGIN { print "x" > "planted-file" }'],
    "awk appends": ["awk", 'BEGIN { print "x" >> "file.txt" }'],
    "gawk network": ["awk", 'BEGIN { s = "/inet/tcp/0/127.0.0.1/{port}"; print "x" |& s; s |& getline x; print x }'],
    "sed executes": ["sed", f"1e {SH}", "file.txt"],
    "sed writes": ["sed", "w planted-file", "file.txt"],
    "sed in place": ["sed", "-i", "s/a/b/", "file.txt"],
    "sed in place with backup": ["sed", "-i.planted", "s/a/b/", "file.txt"],
    "sort writes": ["sort", "-o", "planted-file", "file.txt"],
    "sort compresses": ["sort", "-S", "1k", "--compress-program=./program", "big.txt"],
    "uniq writes": ["uniq", "file.txt", "planted-file"],
    "find executes": ["find", "file.txt", "-exec", "sh", "-c", SH, ";"],
    "find executes python": ["find", "file.txt", "-exec", "python3", "-c", "print('RAN-%d' % (6*7))", ";"],
    "find executes the workspace": ["find", "file.txt", "-exec", "./program", ";"],
    "find executes bash by path": ["find", "file.txt", "-exec", "/bin/bash", "-c", SH, ";"],
    "find executes a script": ["find", "file.txt", "-exec", "./script", ";"],
    "find executes the loader": ["find", "file.txt", "-exec", LOADER, "/bin/bash", "-c", SH, ";"],
    "loader and a workspace program": ["find", "file.txt", "-exec", LOADER, "./program", ";"],
    "loader and preload": ["find", "file.txt", "-exec", LOADER, "--preload", "./preload.so", "/bin/ls", ";"],
    "find executes busybox": ["find", "file.txt", "-exec", "busybox", "sh", "-c", SH, ";"],
    "find executes /proc/self/exe": ["find", "file.txt", "-exec", "/proc/self/exe", ".", "-fprint", "planted-file", ";"],
    "find writes": ["find", ".", "-fprint", "planted-file"],
    "find writes lists": ["find", ".", "-fls", "planted-file"],
    "find deletes": ["find", "file.txt", "-delete"],
    "env executes": ["env", "sh", "-c", SH],
    "env splits": ["env", "-S", f"sh -c '{SH}'"],
    "env executes the workspace": ["env", "./program"],
    "env preloads": ["env", "LD_PRELOAD=./preload.so", "ls"],
    "env audits": ["env", "LD_AUDIT=./preload.so", "ls"],
    "env has its own libraries": ["env", "LD_LIBRARY_PATH=./lib", "ls"],
    "env with conversion modules": ["env", "GCONV_PATH=.", "LC_ALL=xx.EVIL", "ls"],
    "find makes hard links": ["find", "file.txt", "-exec", "ln", "{}", "planted-file", ";"],
    "find copies": ["find", "file.txt", "-exec", "cp", "{}", "planted-file", ";"],
    "find removes": ["find", "file.txt", "-exec", "rm", "{}", ";"],
    "awk removes": ["awk", 'BEGIN { system("rm file.txt") }'],
    "less reads through a program": ["env", "LESSOPEN=|./program", "less", "file.txt"],
    "less edits": ["env", "LESSEDIT=./program", "VISUAL=./program", "less", "+v", "file.txt"],
    "file compiles": ["file", "-C", "-m", "magic"],
    "date sets": ["date", "-s", "2001-01-01"],
    "cat reads shadow": ["cat", "/etc/shadow"],
    "cat reads outside": ["cat", "../outside.txt", "{outside}"],
    "grep reads outside": ["grep", "-r", "SECRET", "{outside}", "/proc/1/environ", ".."],
    "date reads outside": ["date", "-f", "{outside}"],
    "file reads outside": ["file", "-m", "{outside}", "file.txt"],
    "diff reads outside": ["diff", "{outside}", "file.txt"],
    "find reads outside": ["find", "..", "-name", "outside.txt", "-size", "-1000c", "-exec", "cat", "{}", "+"],
    "rg runs a filter": ["rg", "--pre", "./program", "x", "."],
    "which is no shell": ["which", "-a", "sh", "; " + SH],
}


ALLOWED = ("ls, cat, head, tail, less, file, stat, find, grep, rg, awk, sed, wc, sort, uniq, cut, tr, diff, "
           "pwd, which, whoami, date, env")


class Readonly(PlaceTest):
    """Nothing is written, nothing else runs, with the doorman's rules taken away and the wall alone."""

    def setUp(self):
        super().setUp()
        build("who.c", self.work / "program")
        build("preload.c", self.work / "preload.so", "-shared", "-fPIC")
        (self.work / "lib").mkdir()
        shutil.copy(self.work / "preload.so", self.work / "lib" / "libc.so.6")
        (self.work / "file.txt").write_text("a\nb\na\n")
        (self.work / "big.txt").write_text("".join(f"{n * 7919 % 100003}\n" for n in range(20000)))
        (self.work / "script").write_text(f"#!/bin/sh\n{SH}\n")
        (self.work / "magic").write_text("0 string x y\n")
        (self.work / "script").chmod(0o755)
        self.outside = self.dir / "outside.txt"
        self.outside.write_text(SECRET + "\n")
        # A profile of its own: rules of the shipped one that refuse cannot be taken away.
        self.policies = {
            tier: self.policy(f"wall-{tier}", f"profile: wall-{tier}\nshell: none\ndefault: allow\n"
                              f"unknown: sandbox\nallow: [{ALLOWED}]\n"
                              f"sandbox: {{mode: {mode}, exec: listed, workspace: readonly, "
                              "workspace_exec: false, network: none}\n")
            for tier, mode in TIERS.items()}

    def tree(self):
        return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size)
                for path in sorted(self.work.rglob("*"))}

    def words(self, argv):
        return [word.replace("{outside}", str(self.outside)).replace("{port}", "9") for word in argv]

    def signs(self, text):
        lines = text.splitlines()
        return [line for line in lines if "RAN-42" in line or "LOADED" in line or SECRET in line
                or line.startswith("uid ") or line.startswith("root:")]

    def attempt_all(self, tier, exceptions):
        before = self.tree()
        for user, options in self.users():
            for name, argv in READONLY.items():
                with self.subTest(attempt=name, who=user, tier=tier):
                    result = self.run_result("--policy", self.policies[tier], "--", *self.words(argv),
                                             **options)
                    self.assertEqual(result["verdict"], "allow", result)
                    found = self.signs(self.text(result))
                    after = self.tree()
                    found += [f"{path} changed" for path in before.keys() | after.keys()
                              if before.get(path) != after.get(path)]
                    if name in exceptions:
                        self.assertTrue(found, "an exception that is none any more")
                        self.assertIn("programs", result["sandbox"]["missing"])
                    else:
                        self.assertEqual(found, [], result)
                    before = after

    def test_strict(self):
        self.attempt_all("strict", {})

    def test_landlock(self):
        self.attempt_all("landlock", READONLY_LANDLOCK)

    def test_the_shipped_profile_wants_all_of_it(self):
        policy = self.policy("weak", "profile: weak\ninherits: readonly\nsandbox: {mode: landlock}\n")
        done = self.run_nacre("--policy", policy, "--", "ls")
        self.assertEqual((done.code, done.out), (125, b""), done)
        self.assertIn(b"programs", done.err)

    def test_control(self):
        """Without a box the same commands do it, so far as the tool at hand has the option."""
        done = set()
        for name, argv in READONLY.items():
            before = self.tree()
            out = subprocess.run(self.words(argv), cwd=self.work, stdin=subprocess.DEVNULL, check=False,
                                 capture_output=True, timeout=DEADLINE) if shutil.which(argv[0]) and \
                name != "date sets" else None
            text = (out.stdout + out.stderr).decode(errors="replace") if out else ""
            if self.signs(text) or self.tree() != before:
                done.add(name)
            (self.work / "planted-file").unlink(missing_ok=True)
            (self.work / "file.txt").write_text("a\nb\na\n")
        self.assertGreater(len(done), len(READONLY) * 2 // 3, sorted(set(READONLY) - done))

    def test_the_allowed_commands_work(self):
        for tier in TIERS:
            for argv, want in ((["ls"], "file.txt"), (["cat", "file.txt"], "a\nb\na\n"),
                               (["grep", "-c", "a", "file.txt"], "2\n"), (["pwd"], str(self.work) + "\n"),
                               (["sort", "-u", "file.txt"], "a\nb\n"), (["find", ".", "-name", "f*t"], "./file.txt\n"),
                               (["awk", "END { print NR }", "file.txt"], "3\n"),
                               (["sed", "-n", "2p", "file.txt"], "b\n"),
                               *([(["which", "ls"], "/ls\n")] if tier == "strict" else [])):
                with self.subTest(tier=tier, argv=argv):
                    result = self.run_result("--policy", self.policies[tier], "--", *argv)
                    self.assertIn(want, result["stdout"], result)


# What the landlock tier cannot stop here. The layer `programs` is then told as missing, and the shipped
# profile, which requires it, does not run at all.
LOADS = "the loader maps what may only be read: noexec wants a mount"
READONLY_LANDLOCK = {
    "loader and a workspace program": LOADS,
    "loader and preload": LOADS,
    "env preloads": LOADS,
    "env audits": LOADS,
}


class HomeAsWorkspace(PlaceTest):
    """Whoever works in the home directory itself: the keys in it stay hidden, and nacre's own files, too."""

    KEYS = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gcloud/token")

    def furnish(self):
        """A home as it is before a command; what is left of an earlier one is taken away."""
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.state = self.work / ".local" / "state" / "nacre"
        task = self.state / "tasks" / "bash-old"
        task.mkdir(parents=True)
        for path in (self.state, self.state / "tasks", task):
            path.chmod(0o700)
        for path in (*(self.work / name for name in self.KEYS), task / "out"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(SECRET + "\n")
        attack = self.work / "attack"
        attack.mkdir()
        shutil.copy(HERE / "reading.sh", attack)
        (attack / "world").write_text("id=1\n")
        self.env.update(HOME=str(self.work), NACRE_STATE_DIR=str(self.state), TMPDIR=str(self.tmp),
                        XDG_CONFIG_HOME=str(self.work / ".config"))

    def attempt(self, line):
        """Twice, since the first command may prepare what the second takes."""
        for user, options in self.users():
            self.furnish()
            self.give(options)
            with self.subTest(who=user):
                for _ in range(2):
                    result = self.run_result("-c", line, **options)
                    text = self.text(result)
                    self.assertIn("TRIED", text, result)
                    self.assertNotIn(SECRET, text)
                    found = [words for words in text.splitlines() if words.startswith("GOT")]
                    self.assertEqual(found, [])
                for path in (*(self.work / name for name in self.KEYS),
                             self.state / "tasks" / "bash-old" / "out"):
                    self.assertEqual(path.read_text(), SECRET + "\n")
                self.assertFalse((self.work / ".config" / "nacre").exists())

    def test_keys_stay_hidden(self):
        self.attempt("bash attack/reading.sh workspace_is_home")

    def test_keys_cannot_be_moved_to_light(self):
        self.attempt("mv .config c; mv .ssh s; mv .aws a; cat c/gcloud/token s/* a/* .config/gcloud/token; "
                     "cp -r .config copy; ln .netrc n; cat n copy/gcloud/token; echo TRIED")

    def test_keys_cannot_be_put_where_there_were_none(self):
        """A key that a command leaves in an empty home opens it to whoever has the other half."""
        plant = ("mkdir -p .ssh .config/gh x/.aws; echo x >.ssh/authorized_keys; echo x >.config/gh/hosts.yml; "
                 "ln -s x/.aws .aws; echo x >.netrc; echo TRIED")
        for user, options in self.users():
            for tier, mode in TIERS.items():
                shutil.rmtree(self.work)
                self.work.mkdir()
                self.give(options)
                self.env.update(HOME=str(self.work))
                policy = self.policy(f"home-{tier}", f"profile: home-{tier}\ninherits: bash\nsandbox: {{mode: {mode}}}\n")
                with self.subTest(who=user, tier=tier):
                    self.assertIn("TRIED", self.text(self.run_result("--policy", policy, "-c", plant, **options)))
                    left = [str(path.relative_to(self.work)) for path in self.work.rglob("*")]
                    self.assertEqual(sorted(left), [".config", "x", "x/.aws"])

    def test_the_state_directory_stays_hidden(self):
        self.attempt("bash attack/reading.sh state_in_workspace")

    def test_a_command_cannot_choose_its_own_box(self):
        """Settings of nacre that a command writes into its home would hold for the next one."""
        plant = ("mv .config c; mkdir -p .config/nacre; for f in bash policy default; do "
                 "printf 'profile: bash\\nsandbox: {mode: none}\\n' >.config/nacre/$f.yaml; done; echo TRIED")
        for user, options in self.users():
            for there in (True, False):
                self.furnish()
                if not there:
                    shutil.rmtree(self.work / ".config")
                self.give(options)
                with self.subTest(who=user, config=there):
                    self.assertIn("TRIED", self.text(self.run_result("-c", plant, **options)))
                    result = self.run_result("-c", "true", **options)
                    self.assertEqual((result["exit_code"], result["sandbox"]["tier"]), (0, "strict"), result)

    def test_settings_inside_the_workspace_do_not_count(self):
        """Whoever wrote them: the agent could have."""
        self.furnish()
        path = self.work / ".config" / "nacre" / "bash.yaml"
        path.parent.mkdir(parents=True)
        path.write_text("profile: bash\nsandbox: {mode: none}\n")
        done = self.run_nacre("-c", "echo RAN-$((6*7)); grep ^Seccomp: /proc/self/status")
        if b"RAN-42" in done.out:
            self.assertIn(b"Seccomp:\t2", done.out)
        else:
            self.assertEqual(done.code, 125, done)


class Terminal(PlaceTest):
    """nacre runs on a terminal: no key can be put into it, and nothing be read from it."""

    def run_on_terminal(self, *argv):
        master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        popen = subprocess.Popen([NACRE, "run", "--quiet", *argv], env=self.env, cwd=self.work, stdin=slave, stdout=slave,
                                 stderr=slave, start_new_session=True,
                                 preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.started.append(popen)
        shown = b""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if select.select([master], [], [], 0.05)[0]:
                shown += os.read(master, 65536)
            elif popen.poll() is not None:
                break
        injected = os.read(slave, 4096) if select.select([slave], [], [], 0)[0] else b""
        os.close(slave)
        os.close(master)
        return shown.decode(errors="replace"), injected

    def test_no_key_is_injected(self):
        build("kernel.c", self.work / "kernel")
        (self.work / "attack").mkdir()
        (self.work / "attack" / "world").write_text("victim=1\n")
        shown, injected = self.run_on_terminal("--", "./kernel", "inject")
        self.assertIn("TRIED", shown)
        self.assertEqual(injected, b"")
        self.assertNotIn("GOT", shown)

    def test_there_is_no_terminal_to_open(self):
        shown, _ = self.run_on_terminal(
            "-c", "(echo GOT it >/dev/tty) 2>/dev/null; ls /dev/pts; tty; [ -t 0 ] || echo no terminal")
        self.assertIn("no terminal", shown)
        self.assertNotIn("GOT", shown)


class Swapper(threading.Thread):
    """Exchanges two names over and over, as another command of the same workspace could."""

    def __init__(self, first, second):
        super().__init__(daemon=True)
        self.first, self.second = str(first).encode(), str(second).encode()
        self.ended, self.turns = threading.Event(), 0
        self.start()

    def run(self):
        libc = ctypes.CDLL(None, use_errno=True)
        while not self.ended.wait(0.0002):
            if libc.renameat2(-100, self.first, -100, self.second, 2) == 0:
                self.turns += 1

    def close(self):
        self.ended.set()
        self.join()
        return self.turns


class Races(PlaceTest):
    """A component is replaced by a link that leads out, again and again, while commands start."""

    ROUNDS = 40

    def setUp(self):
        super().setUp()
        self.outside = self.dir / "outside"
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text(SECRET + "\n")
        (self.outside / "hooks").mkdir()
        (self.outside / "hooks" / "secret.txt").write_text(SECRET + "\n")
        self.outside.chmod(0o777)

    def race(self, name, options_of, line):
        real, link = self.work / name, self.work / "link"
        link.symlink_to(self.outside)
        before = sorted(path.name for path in self.outside.rglob("*"))
        swapper = Swapper(real, link)
        ran = 0
        try:
            for _ in range(self.ROUNDS):
                done = self.run_nacre("--json", *options_of(real), "-c", line)
                self.assertNotIn(SECRET.encode(), done.out)
                ran += b'"exit_code":0' in done.out
        finally:
            turns = swapper.close()
        self.assertEqual(sorted(path.name for path in self.outside.rglob("*")), before)
        self.assertGreater(turns, self.ROUNDS, "there was no race")
        return ran

    def test_the_working_directory_is_replaced(self):
        (self.work / "sub").mkdir()
        ran = self.race("sub", lambda real: ["--cwd", str(real)],
                        "cat secret.txt; cat /proc/self/cwd/secret.txt; echo x >planted-by-race; true")
        self.assertGreater(ran, 0, "no command ran at all")

    def test_a_protected_directory_is_replaced(self):
        (self.work / ".git" / "hooks").mkdir(parents=True)
        (self.work / ".git" / "config").write_text("[core]\n")
        self.race(".git", lambda real: [],
                  "cat .git/secret.txt link/secret.txt .git/hooks/secret.txt; ls .git/ link/; "
                  "echo x >.git/planted-by-race; echo x >link/planted-by-race; true")

    def test_protected_hooks_are_replaced(self):
        (self.work / ".git" / "hooks").mkdir(parents=True)
        (self.work / ".git" / "config").write_text("[core]\n")
        (self.work / ".git" / "link").symlink_to(self.outside / "hooks")
        swapper = Swapper(self.work / ".git" / "hooks", self.work / ".git" / "link")
        try:
            for _ in range(self.ROUNDS):
                done = self.run_nacre("--json", "-c", "cat .git/hooks/secret.txt .git/link/secret.txt; "
                                      "echo x >.git/hooks/planted-by-race; true")
                self.assertNotIn(SECRET.encode(), done.out)
        finally:
            swapper.close()
        self.assertEqual(sorted(os.listdir(self.outside / "hooks")), ["secret.txt"])

    def test_the_box_does_not_become_a_weaker_one(self):
        """Something that is to be bound comes and goes: the box is made anew, and is no other one."""
        hook = self.work / ".git" / "hooks" / "existing"
        for user, options in self.users():
            shutil.rmtree(self.work)
            hook.parent.mkdir(parents=True)
            hook.write_text("#!/bin/sh\n")
            self.give(options)
            other = self.start("--quiet", "-c", "while [ ! -e stop ]; do mkdir .vscode; rmdir .vscode; done 2>/dev/null",
                               **options)
            tiers = []
            with self.subTest(who=user):
                try:
                    for _ in range(self.ROUNDS):
                        done = self.run_nacre("--json", "-c", "echo x >>.git/hooks/existing; true", **options)
                        tiers.append(json.loads(done.out)["sandbox"]["tier"])
                finally:
                    (self.work / "stop").touch()
                    self.finish(other)
                self.assertEqual({tier for tier in tiers if tier}, {"strict"})
                self.assertEqual(hook.read_text(), "#!/bin/sh\n")

    def test_a_path_that_is_too_long_makes_no_weaker_box(self):
        """A command writes it where git's own files name the places of others that are protected."""
        (self.work / ".git" / "hooks").mkdir(parents=True)
        hook = self.work / ".git" / "hooks" / "existing"
        hook.write_text("#!/bin/sh\n")
        plant = ("import os; top = os.getcwd(); parts = ['d' * 200] * 20 + ['e' * 60]; os.makedirs('.git/modules/x'); "
                 "open('.git/modules/x/HEAD', 'w').write('ref: refs/heads/main'); "
                 "open('.git/modules/x/config', 'w').write('[core]\\n\\tworktree = ../../../' + '/'.join(parts) + '\\n'); "
                 "[(os.mkdir(part), os.chdir(part)) for part in parts]; open('.git', 'w').write('gitdir: x')")
        self.run_nacre("--", "/usr/bin/python3", "-c", plant)
        result = json.loads(self.run_nacre("--json", "-c", "echo x >>.git/hooks/existing; rm -rf ddd*; true").out)
        self.assertEqual((result["exit_code"], result["sandbox"]["tier"]), (0, "strict"), result)
        self.assertEqual(hook.read_text(), "#!/bin/sh\n")

    def test_what_appeared_is_moved_from_the_workspace_only(self):
        """nacre itself takes away what a command has planted: it must not be led elsewhere meanwhile."""
        (self.work / ".git" / "info").mkdir(parents=True)
        (self.outside / "attributes").write_text("stays\n")
        (self.work / ".git" / "link").symlink_to(self.outside)
        swapper = Swapper(self.work / ".git" / "info", self.work / ".git" / "link")
        try:
            for _ in range(self.ROUNDS):
                self.run_nacre("--json", "-c", "echo x >.git/info/attributes; echo x >.git/link/attributes; true")
        finally:
            swapper.close()
        self.assertEqual((self.outside / "attributes").read_text(), "stays\n")

    def test_what_appeared_is_found_while_others_rename(self):
        """The kernel gives a lookup that must stay in the workspace and goes up in it back as not done, as soon
        as anything anywhere gets another name."""
        rename = "import os\nwhile True:\n os.rename('one', 'two')\n os.rename('two', 'one')"
        (self.dir / "one").touch()
        with subprocess.Popen([sys.executable, "-c", rename], cwd=self.dir) as renamer:
            try:
                for _ in range(self.ROUNDS):
                    self.run_nacre("-c", "mkdir -p up real; printf '[core]\\n\\tfsmonitor = x\\n' >real/config; "
                                   "ln -s up/../real .git")
                    self.assertFalse((self.work / ".git" / "config").exists())
                    (self.work / ".git").unlink(missing_ok=True)
                    shutil.rmtree(self.work / "real")
            finally:
                renamer.kill()

    def test_the_workspace_itself_is_replaced(self):
        real, link = self.dir / "place", self.dir / "place-link"
        real.mkdir()
        link.symlink_to(self.outside)
        (real / "mine.txt").write_text("mine\n")
        swapper = Swapper(real, link)
        try:
            for _ in range(self.ROUNDS):
                # Whichever of the two is meant at the moment: never a mixture of both.
                done = self.run_nacre("--json", "--workspace", str(real), "-c", "ls; pwd; true")
                names = json.loads(done.out).get("stdout") or "" if done.out else ""
                self.assertFalse("mine.txt" in names and "secret.txt" in names, names)
        finally:
            swapper.close()


class Between(NacreTest):
    """What one command leaves is not found by the next, but for the files of a /tmp that they share."""

    BOXED = True

    def setUp(self):
        super().setUp()
        self.write_config("bash.yaml", "profile: bash\nroom: {leftover: end}\n")

    def batch(self, *lines):
        popen = self.start("--batch", "--jobs", "1", stdin=subprocess.PIPE)
        requests = [json.dumps({"id": n, "command": line}) + "\n" for n, line in enumerate(lines)]
        done = self.finish(popen, "".join(requests).encode())
        answers = sorted((json.loads(line) for line in done.out.splitlines()), key=lambda a: a["id"])
        self.assertEqual([answer["id"] for answer in answers], list(range(len(lines))))
        return [answer["result"]["stdout"] for answer in answers]

    def test_no_process_no_memory_no_socket_no_mount(self):
        listen = ("import socket, time; s = socket.socket(socket.AF_UNIX); s.bind(chr(0) + 'left'); s.listen(); "
                  "print('bound', flush=True); time.sleep(1000)")
        connect = ("import socket; s = socket.socket(socket.AF_UNIX); "
                   "print('refused' if s.connect_ex(chr(0) + 'left') else 'connected')")
        left = self.batch(
            f'ipcmk -M 64 >/dev/null; ipcmk -Q >/dev/null; (setsid /usr/bin/python3 -c "{listen}" &) | head -1',
            "grep -alxE 'sleep|python3' /proc/[0-9]*/comm; ipcs -m -q | grep -c ^0x; "
            f'/usr/bin/python3 -c "{connect}"', *["grep -c . /proc/self/mountinfo"] * 8)
        self.assertEqual(left[:2], ["bound\n", "0\nrefused\n"])
        # One number in a kept box, and another where a command came too soon for that.
        self.assertLessEqual(len(set(left[2:])), 2, "a kept box collects mounts")

    def test_no_rank(self):
        """What init is made to be by one command the children that it has for the next would inherit."""
        show = ("/usr/bin/python3 -c 'import os; print(os.sched_getaffinity(0), os.nice(0), "
                "os.sched_getscheduler(0))'; ionice")
        lower = ("/usr/bin/python3 -c 'import os; os.sched_setaffinity(1, {min(os.sched_getaffinity(0))}); "
                 "os.setpriority(os.PRIO_PROCESS, 1, 19); os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))'; "
                 "ionice -c3 -p 1; echo lowered")
        first, lowered, *later = self.batch(show, lower, *[show] * 6)
        self.assertEqual(lowered, "lowered\n")
        self.assertEqual(set(later), {first})

    def test_two_callers_do_not_share_their_files(self):
        self.batch("echo left-behind >/tmp/left; echo left-behind >/dev/shm/left; echo left-behind >~/left")
        self.assertEqual(self.batch("cat /tmp/left /dev/shm/left ~/left"), [""])


class Together(PlaceTest):
    """One command makes what is protected and takes it away again, while another has it bound: the name is the
    other's then."""

    NAMES = ".envrc .claude .ssh .git/config"
    FIRST = (f"mkdir .git; for n in {NAMES}; do echo x >$n; done; echo x >made; while [ ! -e seen ]; do sleep 0.02; done; "
             f"rm -rf .git {NAMES}")
    SECOND = ("touch seen; while [ ! -e go ]; do sleep 0.02; done; mkdir -p .git; printf '[core]\\n\\tfsmonitor = x\\n' "
              f">.git/config; for n in .envrc .claude .ssh; do echo x >$n; done; ls -d {NAMES}")

    def left(self):
        return [name for name in self.NAMES.split() if os.path.lexists(self.work / name)]

    def clean(self, options):
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.give(options)
        self.env["HOME"] = str(self.work)  # which has keys

    def test_from_two_boxes(self):
        for user, options in self.users():
            with self.subTest(who=user):
                self.clean(options)
                first = self.start("-c", self.FIRST, **options)
                self.wait_for_file(self.work / "made")
                second = self.start("-c", self.SECOND, **options)
                self.finish(first)
                (self.work / "go").touch()
                done = self.finish(second)
                self.assertEqual(done.out.decode().split(), sorted(self.NAMES.split()), "they were not there at all")
                self.assertEqual(self.left(), [])

    def test_from_kept_boxes(self):
        for user, options in self.users():
            with self.subTest(who=user):
                self.clean(options)
                popen = self.start("--batch", "--jobs", "2", stdin=subprocess.PIPE, **options)
                ask = lambda line: popen.stdin.write(json.dumps({"command": line}).encode() + b"\n")  # noqa: E731
                for _ in range(3):  # until boxes are kept
                    ask("true")
                    popen.stdin.flush()
                    popen.stdout.readline()
                ask(self.FIRST)
                popen.stdin.flush()
                self.wait_for_file(self.work / "made")
                ask(self.SECOND)
                popen.stdin.flush()
                popen.stdout.readline()
                (self.work / "go").touch()
                done = self.finish(popen)
                self.assertIn(b".envrc", done.out, "it was not there at all")
                self.assertEqual(self.left(), [])

    def test_below_a_directory_that_stays(self):
        """Nothing is made in the workspace's own directory, whose time is looked at first."""
        first = ("mkdir .git/hooks; echo x >sub/made; while [ ! -e sub/seen ]; do sleep 0.02; done; rmdir .git/hooks")
        second = "touch sub/seen; while [ ! -e sub/go ]; do sleep 0.02; done; mkdir .git/hooks; echo x >.git/hooks/pre-push"
        for user, options in self.users():
            with self.subTest(who=user):
                shutil.rmtree(self.work)
                (self.work / ".git").mkdir(parents=True)
                (self.work / "sub").mkdir()
                self.give(options)
                time.sleep(2.1)
                one = self.start("-c", first, **options)
                self.wait_for_file(self.work / "sub" / "made")
                two = self.start("-c", second, **options)
                self.finish(one)
                (self.work / "sub" / "go").touch()
                self.finish(two)
                self.assertFalse((self.work / ".git" / "hooks" / "pre-push").exists())

    def test_what_the_operator_replaces_is_named(self):
        """git renames a new configuration over the old one, which was bound: the new one is not."""
        config = self.work / ".git" / "config"
        for user, options in self.users():
            for key, want in (("core.filemode", 0), ("core.fsmonitor", 1)):
                shutil.rmtree(self.work)
                config.parent.mkdir(parents=True)
                config.write_text("[core]\n\tbare = false\n")
                self.give(options)
                with self.subTest(who=user, key=key):
                    popen = self.start("--json", "-c", "echo x >up; while [ ! -e go ]; do sleep 0.02; done; true", **options)
                    self.wait_for_file(self.work / "up")
                    subprocess.run(["git", "config", "--file", str(config), key, "true"], check=True, timeout=DEADLINE)
                    (self.work / "go").touch()
                    notices = json.loads(self.finish(popen).out)["notices"]
                    self.assertEqual(len([n for n in notices if ".git/config" in n and "replaced" in n]), want, notices)
                    self.assertIn(key[5:], config.read_text())

    def test_what_others_did_not_touch_stays(self):
        """Company alone is no reason to take anything away."""
        (self.work / ".envrc").write_text("x\n")
        (self.work / ".git").mkdir()
        (self.work / ".git" / "config").write_text("[alias]\n\tx = !x\n")
        first = self.start("-c", "echo x >made; while [ ! -e seen ]; do sleep 0.02; done")
        self.wait_for_file(self.work / "made")
        self.run_nacre("-c", "touch seen .git/index; mkdir new")
        self.finish(first)
        self.assertEqual(self.left(), [".envrc", ".git/config"])


class Elsewhere(PlaceTest):
    """The repository is not in .git, but in a place of the workspace to which .git leads."""

    EVIL = ("for d in .git .bare repo; do echo x >$d/hooks/pre-commit; echo x >>$d/hooks/existing; "
            "printf '[core]\\n\\tfsmonitor = x\\n' >>$d/config; echo ../../evil >$d/commondir; done; "
            "mv .bare old; mv repo old; cp -r old .bare; cp -r old repo; ln -sfn evil .git; echo 'gitdir: evil' >.git; "
            "echo 'gitdir: ../evil' >tree/.git; echo x >old/hooks/pre-commit; touch old/index; echo TRIED")

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.work, check=True, capture_output=True, timeout=DEADLINE,
                       env={**self.env, "HOME": str(self.dir)})

    def seen(self):
        names = [".git", "tree/.git", *(f"{place}/{name}" for place in (".git", ".bare", "repo")
                                        for name in ("config", "hooks/existing", "hooks/pre-commit", "commondir"))]
        paths = [self.work / name for name in names]
        return [os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else None for path in paths]

    def attempt(self, arrange):
        for user, options in self.users():
            shutil.rmtree(self.work)
            self.work.mkdir()
            self.git("init", "-q", ".")
            hooks = self.work / ".git" / "hooks"
            shutil.rmtree(hooks, ignore_errors=True)
            hooks.mkdir()
            (hooks / "existing").write_text("#!/bin/sh\n")
            arrange()
            self.give(options)
            before = self.seen()
            with self.subTest(who=user):
                for _ in range(2):
                    self.assertIn("TRIED", self.text(self.run_result("-c", self.EVIL, **options)))
                    self.assertEqual(self.seen(), before)

    def test_a_link_leads_there(self):
        def arrange():
            (self.work / ".git").rename(self.work / "repo")
            (self.work / ".git").symlink_to("repo")
        self.attempt(arrange)

    def test_a_file_leads_there(self):
        def arrange():
            (self.work / ".git").rename(self.work / "repo")
            (self.work / ".git").write_text("gitdir: ./repo\n")
        self.attempt(arrange)

    def test_a_file_leads_to_a_work_tree_of_it(self):
        def arrange():
            self.git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "x")
            (self.work / ".git").rename(self.work / ".bare")
            (self.work / ".git").write_text(f"gitdir: {self.work}/.bare\n")
            self.git("worktree", "add", "-q", "tree")
            (self.work / ".git").write_text(f"gitdir: {self.work}/.bare/worktrees/tree\n")
        self.attempt(arrange)


class Submodules(PlaceTest):
    """One that .gitmodules names is not there yet: nobody else makes it, but git itself may."""

    MAKE = ("mkdir -p \"$d/objects\" \"$d/refs\"; echo 'ref: refs/heads/main' >\"$d/HEAD\"; "
            "printf '[core]\\n\\tbare = false\\n%b' \"$line\" >\"$d/config\"; [ -z \"$link\" ] || echo \"gitdir: $link\" >a/sub/.git; true")

    def attempt(self, stays, **variables):
        for user, options in self.users():
            shutil.rmtree(self.work)
            (self.work / "a" / "sub").mkdir(parents=True)
            (self.work / ".git").mkdir()
            (self.work / ".gitmodules").write_text('[submodule "the one"]\n\tpath = a/sub\n\turl = ../x\n')
            self.give(options)
            with self.subTest(who=user, **variables):
                words = "; ".join(f"{name}='{value}'" for name, value in variables.items())
                self.run_result("-c", f"{words}; {self.MAKE}", **options)
                left = [path for path in ("a/sub/.git", ".git/modules/the one") if (self.work / path).exists()]
                self.assertEqual(left, stays)

    def test_what_git_would_run_does_not_stay(self):
        evil, to = "\\tfsmonitor = x\\n", "../../.git/modules/the one"
        self.attempt([], d="a/sub/.git", line=evil, link="")
        self.attempt([], d=".git/modules/the one", line=evil, link=to)
        self.attempt([], d=".git/modules/the one", line=evil, link="")
        self.attempt([], d=".git/modules/the one", line="\\tworktree = ../../../..\\n", link=to)
        self.attempt([], d="evil", line="", link="../../evil")

    def test_what_git_makes_stays(self):
        self.attempt(["a/sub/.git"], d="a/sub/.git", line="", link="")
        self.attempt(["a/sub/.git", ".git/modules/the one"], d=".git/modules/the one",
                     line="\\tworktree = ../../../a/sub\\n", link="../../.git/modules/the one")


class Names(PlaceTest):
    """A limit that struck is named in the result."""

    def setUp(self):
        super().setUp()
        build("resources.c", self.work / "resources", "-lrt")
        self.limits = self.policy("limits", "profile: limits\ninherits: bash\n"
                                  f"sandbox: {{limits: {LIMITS}}}\n")

    def expect(self, name, *argv, users=("root", "user")):
        for user, options in self.users():
            if user not in users:
                continue
            with self.subTest(who=user):
                for _ in range(1 if user == "root" else 10):  # who only watches may be in time, or not
                    result = self.run_result("--policy", self.limits, "--", *argv, **options)
                    if result["sandbox"]["limit_hit"]:
                        break
                self.assertEqual(result["sandbox"]["limit_hit"], name, result)

    def test_processes(self):
        self.expect("processes", "./resources", "processes")

    def test_memory(self):
        # A control group tells of it; a process limit only makes an allocation fail.
        self.expect("memory", "./resources", "memory", users=("root",))

    def test_memory_in_pipes(self):
        """With as many open files as the profile has; fewer are a bound by themselves."""
        policy = self.policy("pipes", "profile: pipes\ninherits: bash\nsandbox: {limits: {memory: 256M, processes: 64}}\n")
        for user, options in self.users():
            with self.subTest(who=user):
                result = self.run_result("--policy", policy, "--", "./resources", "memory_pipes", **options)
                self.assertEqual(result["sandbox"]["limit_hit"], "memory", result)
                self.assertNotIn("GOT", self.text(result))

    def test_tmp(self):
        self.expect("tmp", "sh", "-c", "cat </dev/zero >/tmp/a; cat </dev/zero >/tmp/b")

    def test_file_size(self):
        self.expect("file_size", "sh", "-c", "exec head -c 100M /dev/zero >big")

    def test_cpu_time(self):
        policy = self.policy("cpu", "profile: cpu\ninherits: bash\nsandbox: {limits: {cpu: 1}}\n")
        result = self.run_result("--policy", policy, "-c", "while :; do :; done")
        self.assertEqual((result["sandbox"]["limit_hit"], result["timed_out"]), ("cpu", False), result)

    def test_no_limit_no_name(self):
        result = self.run_result("--policy", self.limits, "-c", "true")
        self.assertIsNone(result["sandbox"]["limit_hit"])


class Devices(PlaceTest):
    """What the box has of the machine's devices stays as it is, whatever it is called there."""

    def test_times_and_modes_stay(self):
        names = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /proc/keys"
        before = [(os.stat(name).st_mode, os.stat(name).st_mtime_ns) for name in names.split()[:-1]]
        for user, options in self.users():
            with self.subTest(who=user):
                result = self.run_result("-c", f"for d in {names}; do touch -c $d && echo GOT $d; "
                                         "chmod 600 $d && echo GOT $d; done; touch -c /proc/self/fd/0 && echo GOT 0; "
                                         "/usr/bin/python3 -c 'import os; os.utime(0); print(\"GOT 0\")'; echo TRIED",
                                         **options)
                self.assertIn("TRIED", self.text(result))
                self.assertNotIn("GOT", self.text(result))
                self.assertEqual([(os.stat(name).st_mode, os.stat(name).st_mtime_ns)
                                  for name in names.split()[:-1]], before)


class Mounts(PlaceTest):
    """The workspace is a tree that is being built, with file systems of the kernel in it."""

    @unittest.skipUnless(os.geteuid() == 0, "only root mounts")
    def test_root_stays_outside(self):
        for name in ("proc", "sys", "sub"):
            (self.work / name).mkdir()
        line = ("for f in proc/sys/kernel/core_pattern proc/sys/vm/drop_caches sys/kernel/mm/ksm/run; do [ -w $f ] && echo GOT $f; "
                "done; cat proc/1/environ >/dev/null && echo GOT it; echo x >file && echo TRIED")
        mount = (f"mount -t proc proc '{self.work}/proc' && mount -t sysfs sysfs '{self.work}/sys' && exec '{NACRE}' run --json "
                 f"-c '{line}'")
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", mount], cwd=self.work, env=self.env,
                              check=False, capture_output=True, timeout=DEADLINE)
        result = json.loads(done.stdout)
        self.assertEqual(result["stdout"], "TRIED\n", result)
        self.assertIn("unprivileged", result["sandbox"]["layers"])
        self.assertEqual((self.work / "file").stat().st_uid, 0)


class Refused(PlaceTest):
    """Workspaces that would be the machine itself are not taken."""

    def test_system_directories_are_no_workspace(self):
        for place in ("/", "/etc", "/usr", "/usr/bin", "/proc", "/sys", "/dev", "/boot", "/run", "/bin",
                      "/lib", "/proc/self", "/etc/ssl", "/dev/shm/../../etc", "/var", "/var/lib", "/var/spool",
                      "/home"):
            if not os.path.isdir(place):
                continue
            with self.subTest(place=place):
                done = self.run_nacre("--workspace", place, "-c", "echo RAN-$((6*7))", cwd=self.work)
                self.assertNotIn(b"RAN-42", done.out)
                self.assertEqual(done.code, 125, done)

    def test_a_link_to_a_system_directory_is_none_either(self):
        link = self.dir / "link"
        link.symlink_to("/etc")
        done = self.run_nacre("--workspace", str(link), "-c", "echo RAN-$((6*7))", cwd=self.work)
        self.assertNotIn(b"RAN-42", done.out)

    def test_a_request_cannot_choose_its_tier(self):
        for word in ("--sandbox", "--no-sandbox", "--tier"):
            done = self.run_nacre(word, "none", "-c", "echo RAN-$((6*7))")
            self.assertNotIn(b"RAN-42", done.out)
            self.assertEqual(done.code, 125, done)
        (self.work / ".nacre.yaml").write_text("sandbox: {mode: none}\n")
        done = self.run_nacre("-c", "echo RAN-$((6*7))")
        self.assertNotIn(b"RAN-42", done.out)


if __name__ == "__main__":
    unittest.main()
