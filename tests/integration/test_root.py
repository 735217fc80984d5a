"""What is protected is a property of the root, the directory that the operator gave, and not of the
directory below it that a request names as its workspace.

Each attempt is looked at from outside: a secret in the answer, a file that appeared or changed.
"""
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
import unittest

from helpers import DEADLINE, NACRE, NacreTest
from serving import ServeTest

SECRET = "SECRET-7d31c2"
SWAPPER = """
import ctypes, os, random, sys, time
libc, count = ctypes.CDLL(None), 0
one, other, stop = map(os.fsencode, sys.argv[1:])
while count % 2 or not os.path.exists(stop):
    libc.renameat2(-100, one, -100, other, 2)
    count += 1
    time.sleep(random.random() * 0.004 if count % 3 else 0)
"""


def bind_privately(what, where):
    """In a namespace of the mounts of this process and those that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) < 0 or libc.mount(None, b"/", None, 0x44000, None) < 0 or \
            libc.mount(os.fsencode(what), os.fsencode(where), None, 0x1000, None) < 0:
        raise OSError(ctypes.get_errno(), f"mount of {what}")


class Served(ServeTest):
    """A server whose requests name a workspace below that of the operator: boxes that are kept."""

    BOXED = True
    TCP = False

    def attempt(self, workspace, command, server=None):
        answer = self.post("/v1/run", {"command": command, "workspace": workspace}, unix=True, server=server)
        return answer.json

    def cold(self, workspace, command):
        """The same by a tool that names its workspace, in a box of its own; it can only read."""
        done = subprocess.run([NACRE, "call", "run_shell", json.dumps({"command": command, "workspace": workspace})], cwd=self.work, env=self.env,
                              timeout=2 * DEADLINE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done

    def git(self, *args, cwd=None):
        subprocess.run(["git", "-c", "init.defaultBranch=main", "-c", "user.name=x", "-c", "user.email=x@x", *args],
                       cwd=cwd or self.work, check=True, capture_output=True, timeout=DEADLINE,
                       env={"PATH": self.env["PATH"], "HOME": str(self.dir)})


class Home(Served):
    """The root is a home directory."""

    def serve(self, *args, **options):
        self.env.update(HOME=str(self.work), NACRE_STATE_DIR=str(self.work / ".local/state/nacre"),
                        XDG_CONFIG_HOME=str(self.work / ".config"))
        for name in (".ssh", ".ssh/deep", ".aws", ".config/gcloud", ".config/nacre", "project", "project/.ssh"):
            (self.work / name).mkdir(parents=True, exist_ok=True)
        (self.work / ".ssh/id_rsa").write_text(SECRET)
        (self.work / ".ssh/deep/key").write_text(SECRET)
        (self.work / ".aws/credentials").write_text(SECRET)
        (self.work / ".config/gcloud/token").write_text(SECRET)
        (self.work / "way").symlink_to(".ssh")
        (self.work / "project/up").symlink_to("../.ssh")
        return super().serve(*args, **options)

    def test_secrets_are_no_workspace(self):
        for name in (".ssh", ".ssh/", "./.ssh", ".ssh/deep", ".aws", ".config/gcloud", "way", "project/up", "way/deep",
                     "project/../.ssh", "project/up/../.ssh", str(self.work / ".ssh"), ".ssh/deep/..", "/proc/self/cwd/.ssh",
                     "/proc/self/root" + str(self.work) + "/.ssh"):
            with self.subTest(name):
                result = self.attempt(name, "cat id_rsa key credentials token; ls -la")
                self.assertNotIn(SECRET, json.dumps(result))
                self.assertNotEqual(result.get("exit_code"), 0, result)
                done = self.cold(name, "cat id_rsa key credentials token")
                self.assertNotIn(SECRET.encode(), done.stdout)
                self.assertNotEqual(done.returncode, 0, done)

    def test_nacres_own_places_are_no_workspace(self):
        self.run_nacre("--", "true")  # the state is there now
        for name in (".local/state/nacre", ".local/state/nacre/tasks", ".config/nacre", ".local/state/nacre/audit"):
            with self.subTest(name):
                (self.work / name).mkdir(parents=True, exist_ok=True)
                result = self.attempt(name, "echo 'sandbox: {mode: none}' > nacre.yaml; echo x > planted; ls")
                self.assertNotEqual(result.get("exit_code"), 0, result)
                self.assertFalse((self.work / name / "planted").exists())
        self.assertFalse((self.work / ".config/nacre/nacre.yaml").exists())

    def test_what_lies_around_a_secret_has_it_masked(self):
        result = self.attempt(".config", "cat gcloud/token; ls nacre; echo x > nacre/nacre.yaml; true")
        self.assertNotIn(SECRET, json.dumps(result))
        self.assertFalse((self.work / ".config/nacre/nacre.yaml").exists())
        result = self.attempt(".local", "cat state/nacre/tokens.json; ls state/nacre; echo x > state/nacre/planted; true")
        self.assertFalse((self.work / ".local/state/nacre/planted").exists())

    def test_other_directories_of_the_home_work(self):
        result = self.attempt("project", "echo made > file && cat file && pwd")
        self.assertEqual((result["exit_code"], result["stdout"]), (0, f"made\n{self.work}/project\n"))
        # Only the home's own is a secret.
        result = self.attempt("project/.ssh", "echo fine")
        self.assertEqual(result.get("exit_code"), 0, result)

    def test_the_operator_cannot_choose_a_secret_by_mistake(self):
        done = self.run_nacre("-c", "cat id_rsa", cwd=self.work / ".ssh")
        self.assertEqual((done.code, done.out), (125, b""), done)
        self.assertIn(b"cannot be the workspace", done.err)


class Repository(Served):
    """The root is a repository; the operator's next git runs what lies in it."""

    def setUp(self):
        super().setUp()
        self.git("init", "-q")
        for name in (".vscode", ".claude", ".husky/_", "tools/hooks", "docs/hooks", "src/.git", "src/deep", "lib"):
            (self.work / name).mkdir(parents=True)
        (self.work / "link").symlink_to(".git/hooks")
        (self.work / ".githooks").symlink_to("docs/hooks")
        self.git("config", "core.hooksPath", "tools/hooks")

    def plant(self, workspace, server):
        return self.attempt(workspace, "echo 'touch ran' > post-commit && chmod +x post-commit; mkdir -p d/e", server)

    def test_protected_paths_are_no_workspace(self):
        landlock = self.serve("--policy", self.landlock(), unix=self.dir / "landlock.sock")
        for name in (".git/hooks", ".git/hooks/", "./.git/hooks", "link", ".vscode", ".claude", ".husky", ".husky/_", "tools/hooks", "docs/hooks",
                     "src/../.git/hooks", ".githooks", str(self.work / ".git" / "hooks"), ".VSCODE/../.vscode"):
            for server in (self.server, landlock):
                with self.subTest(name, landlock=server is landlock):
                    before = self.listing()
                    result = self.plant(name, server)
                    self.assertNotEqual(result.get("exit_code"), 0, result)
                    self.assertEqual(self.listing(), before)

    def landlock(self):
        path = self.dir / "landlock.yaml"
        path.write_text("sandbox: {mode: landlock}\n")
        return str(path)

    def listing(self):
        return sorted(os.path.join(where, name) for where, dirs, files in os.walk(self.work) for name in [*dirs, *files])

    @unittest.skipUnless(os.geteuid() == 0, "needs root: something is mounted")
    def test_another_mount_of_a_protected_path_is_no_workspace(self):
        (self.work / "mounted").mkdir()
        server = self.serve(unix=self.dir / "mounts.sock", preexec_fn=lambda: bind_privately(self.work / ".git/hooks", self.work / "mounted"))
        result = self.plant("mounted", server)
        self.assertNotEqual(result.get("exit_code"), 0, result)
        self.assertFalse((self.work / ".git/hooks/post-commit").exists())

    def test_what_lies_around_a_protected_path_has_it_protected(self):
        for workspace, inside in ((".git", "hooks/post-commit"), (".git", "config.worktree"), (".git", "info/attributes"), ("tools", "hooks/post-commit"),
                                  ("docs", "hooks/pre-commit")):
            with self.subTest(workspace, inside=inside):
                self.attempt(workspace, f"mkdir -p $(dirname {inside}); echo 'touch ran' > {inside}; chmod +x {inside}")
                self.assertFalse((self.work / workspace / inside).exists())
        before = (self.work / ".git/config").read_text()
        self.attempt(".git", "git config --file config core.fsmonitor ./x; echo '[core]' >> config; mv config away; mv hooks gone")
        self.assertEqual((self.work / ".git/config").read_text(), before)

    def test_each_directory_on_the_way_protects(self):
        """src is a repository of its own, and so is a directory below it."""
        self.git("init", "-q", cwd=self.work / "src")
        for name in ("src/.git/hooks", "src/.git", "src"):
            with self.subTest(name):
                self.attempt(name, "for d in . hooks .git/hooks; do echo x > $d/post-commit; done; true")
                self.assertFalse((self.work / "src/.git/hooks/post-commit").exists())

    def test_ordinary_directories_work(self):
        for name in ("src/deep", "lib", "docs", "tools"):
            with self.subTest(name):
                result = self.attempt(name, "echo made > file && cat file")
                self.assertEqual((result["exit_code"], result["stdout"]), (0, "made\n"), result)
                self.assertEqual((self.work / name / "file").read_text(), "made\n")

    def test_a_deep_workspace_is_refused_and_not_half_protected(self):
        deep = self.work
        for _ in range(80):
            deep = deep / "d"
            deep.mkdir()
        result = self.attempt(str(deep), "echo x")
        self.assertNotEqual(result.get("exit_code"), 0, result)
        self.assertIn("directories below its root", json.dumps(result))

    def swap(self, one, other, workspace, command, server):
        """Requests, three at a time, while two names are exchanged again and again."""
        stop = self.dir / "stop"
        swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, self.work / one, self.work / other, stop])
        self.started.append(swapper)
        try:
            threads = [threading.Thread(target=lambda: [self.attempt(workspace, command, server) for _ in range(40)]) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            stop.write_text("")
            swapper.wait(DEADLINE)
            stop.unlink()

    def test_one_that_is_swapped_for_a_link_meanwhile_is_not_used(self):
        """The engine, the keeper and the box look again; whatever is there then, no hook is written."""
        for name in ("sub", "up/hooks"):
            (self.work / name).mkdir(parents=True)
        (self.work / "other").symlink_to(".git/hooks")
        (self.work / "over").symlink_to(".git")
        landlock = self.serve("--policy", self.landlock(), unix=self.dir / "landlock.sock")
        for server in (self.server, landlock):
            for one, other, workspace in (("sub", "other", "sub"), ("up", "over", "up/hooks")):
                with self.subTest(workspace, landlock=server is landlock):
                    self.swap(one, other, workspace, "echo x > post-commit; true", server)
                    self.assertFalse((self.work / ".git/hooks/post-commit").exists())


class Everywhere(Served):
    """No directory of a tree is a better place to plant something than its root."""

    NAMES = ("hooks/pre-commit", "config", "config.worktree", "commondir", "HEAD", "info/attributes", ".git/hooks/pre-commit", ".git/config", ".gitmodules",
             ".husky/pre-commit", ".githooks/x", ".vscode/tasks.json", "tasks.json", ".envrc", ".nacre.yaml", "x", "pre-commit", "attributes")

    def grow(self):
        """A repository with a submodule, work trees, a repository in it, and keys and links that lead about."""
        other = self.dir / "other"
        for path in (self.work, other):
            path.mkdir(exist_ok=True)
            self.git("init", "-q", cwd=path)
            self.git("commit", "-q", "--allow-empty", "-m", "x", cwd=path)
        self.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "mods/m")
        self.git("worktree", "add", "-q", "trees/one")
        for name in ("tools/h", "cfg", "a/b/c", "a/.vscode", ".husky/_", "nested", "lib/real", "p/q"):
            (self.work / name).mkdir(parents=True)
        self.git("init", "-q", cwd=self.work / "nested")
        self.git("config", "core.hooksPath", "tools/h")
        (self.work / "cfg/more").write_text("[core]\n\thooksPath = p/q/hooks\n")
        self.git("config", "include.path", "../cfg/more")
        (self.work / ".githooks").symlink_to("lib/real")
        (self.work / "a/b/env").write_text("")
        (self.work / ".envrc").symlink_to("a/b/env")

    def content(self):
        found = {}
        for where, dirs, files in os.walk(self.work):
            for name in [*files, *dirs]:
                path = os.path.join(where, name)
                found[os.path.relpath(path, self.work)] = os.readlink(path) if os.path.islink(path) else \
                    None if os.path.isdir(path) else open(path, "rb").read()
        return found

    def changed(self, workspace, prefix):
        """The files that are others after a command that writes to each of the names; all is put back."""
        before = self.content()
        lines = [f'mkdir -p "$(dirname {prefix}{name})"; printf "[core]\\nfsmonitor=x\\n" >> {prefix}{name}' for name in self.NAMES]
        self.attempt(workspace, "{ " + "; ".join(lines) + "; } 2> /dev/null; true")
        now = self.content()
        different = {name for name in {*before, *now} if before.get(name) != now.get(name) or (name in before) != (name in now)}
        for name in sorted(different, reverse=True):
            path = self.work / name
            if name not in before:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for name in different & {*before}:
            self.assertIsInstance(before[name], bytes, name)
            (self.work / name).write_bytes(before[name])
        return {name for name in different if now.get(name, b"") is not None}

    def test_what_a_directory_can_change_its_root_can_change(self):
        self.grow()
        ways = [os.path.relpath(os.path.join(where, name), self.work) for where, dirs, _ in os.walk(self.work) for name in dirs]
        ways = [name for name in ways if not (self.work / name).is_symlink() and "/objects/" not in name and "/refs/" not in name and "/logs" not in name]
        self.assertGreater(len(ways), 30)
        for name in ways:
            with self.subTest(name):
                self.assertEqual(self.changed(name, "") - self.changed(".", name + "/"), set())

@unittest.skipUnless(os.geteuid() == 0, "needs root: the list of users is mounted over")
class Users(Served):
    """Root serves a directory that has the homes of users in it."""

    def serve(self, *args, **options):
        for name, uid in (("alice", 2001), ("bob", 2002), ("carol", 0)):
            home = self.work / name
            for path in (".ssh/deep", ".config/nacre", ".config/gh", "project"):
                (home / path).mkdir(parents=True, exist_ok=True)
            for path in (".ssh/key", ".ssh/deep/key", ".config/gh/key"):
                (home / path).write_text(SECRET)
            for where, dirs, files in os.walk(home):
                for path in (where, *(os.path.join(where, file) for file in files)):
                    os.chown(path, uid, uid)
        os.chown(self.work / "alice/.ssh/deep", 0, 0)
        os.chown(self.work / "alice/.ssh/deep/key", 0, 0)
        self.users = self.dir / "passwd"
        self.list_users("alice", "bob", "carol")
        return super().serve(*args, preexec_fn=self.use_list, **options)

    def list_users(self, *names):
        lines = [f"{name}:x:{2001 + i}:{2001 + i}::{self.work}/{name}:/bin/sh\n" for i, name in enumerate(names)]
        self.users.write_text("root:x:0:0:root:/root:/bin/sh\n" + "".join(lines))

    def use_list(self):
        bind_privately(self.users, "/etc/passwd")

    def test_no_secret_of_any_of_them_is_a_workspace(self):
        for user in ("alice", "bob", "carol"):
            for name in (".ssh", ".ssh/deep", ".config/gh", ".config/nacre"):
                with self.subTest(user, name=name):
                    result = self.attempt(f"{user}/{name}", "cat key; echo x > planted")
                    self.assertNotIn(SECRET, json.dumps(result))
                    self.assertFalse((self.work / user / name / "planted").exists())

    def test_what_is_around_them_has_them_masked(self):
        for name in (".", "alice", "bob", "carol", "alice/.config", "carol/.config"):
            with self.subTest(name):
                result = self.attempt(name, "cat .ssh/key .ssh/deep/key */.ssh/key */.ssh/deep/key gh/key .config/gh/key */.config/gh/key; echo done")
                self.assertEqual(result["stdout"], "done\n")

    def test_their_projects_work(self):
        for user in ("alice", "bob", "carol"):
            result = self.attempt(f"{user}/project", "echo made > file && cat file")
            self.assertEqual((result["exit_code"], result["stdout"]), (0, "made\n"), result)
            self.assertEqual((self.work / user / "project/file").stat().st_uid, (self.work / user).stat().st_uid)

    def test_more_homes_than_can_be_watched_are_refused(self):
        self.list_users("alice", "bob", "carol", *(f"u{i}" for i in range(20)))
        result = self.attempt(".", "echo ran")
        self.assertNotEqual(result.get("exit_code"), 0, result)
        self.assertIn("home directories", json.dumps(result))
        self.assertEqual(self.attempt("alice/project", "echo ran")["stdout"], "ran\n")


class ProjectFile(Served):
    """`.nacre.yaml` of every directory from the root down to the workspace."""

    def setUp(self):
        super().setUp()
        (self.work / "sub/deep").mkdir(parents=True)
        (self.work / "config").mkdir()
        (self.work / "config/prod.yaml").write_text("old\n")
        (self.work / ".nacre.yaml").write_text("deny: [head]\nsandbox: {protected: [config]}\n")
        (self.work / "sub/.nacre.yaml").write_text("deny: [tail]\n")

    def test_the_rules_of_all_of_them_hold(self):
        for workspace, denied in ((".", ["head"]), ("sub", ["head", "tail"]), ("sub/deep", ["head", "tail"]), ("sub/../sub", ["head", "tail"])):
            for name in ("head", "tail", "cat"):
                with self.subTest(workspace, name=name):
                    result = self.attempt(workspace, f"{name} /dev/null")
                    self.assertEqual(result.get("exit_code") == 0, name not in denied, result)

    def test_what_they_protect_stays(self):
        self.attempt("config", "echo new > prod.yaml")
        self.attempt(".", "echo new > config/prod.yaml")
        self.assertEqual((self.work / "config/prod.yaml").read_text(), "old\n")
        (self.work / "sub/config").mkdir()
        result = self.attempt("sub/deep", "echo made > file && cat file")
        self.assertEqual(result["stdout"], "made\n", result)

    def test_one_that_cannot_be_read_stops_everything_below(self):
        (self.work / ".nacre.yaml").write_text("deny: [head\n")
        result = self.attempt("sub/deep", "echo ran")
        self.assertNotEqual(result.get("exit_code"), 0, result)
        self.assertIn(".nacre.yaml", json.dumps(result))

    def test_one_that_is_no_file_is_named(self):
        path = self.work / "sub/.nacre.yaml"
        makers = {"socket": lambda: socket.socket(socket.AF_UNIX).bind(os.path.relpath(path)), "pipe": lambda: os.mkfifo(path),
                  "directory": path.mkdir, "link": lambda: path.symlink_to("../.nacre.yaml"), "nothing": lambda: path.symlink_to("nowhere")}
        path.unlink()
        for kind, make in makers.items():
            with self.subTest(kind):
                make()
                result = self.attempt("sub/deep", "echo ran")
                self.assertNotEqual(result.get("exit_code"), 0, result)
                self.assertIn("./sub/.nacre.yaml: this", json.dumps(result))
                path.rmdir() if kind == "directory" else path.unlink()

    def test_a_file_below_cannot_loosen_what_stands_above(self):
        (self.work / "sub/.nacre.yaml").write_text("allow: [head]\n")
        result = self.attempt("sub", "head /dev/null")
        self.assertNotEqual(result.get("exit_code"), 0, result)

    def test_a_change_on_the_way_is_seen_by_a_kept_box(self):
        for text, works in (("{}\n", True), ("deny: [cut]\n", False), ("deny: [tail]\n", True)):
            (self.work / "sub/.nacre.yaml").write_text(text)
            for _ in range(3):
                result = self.attempt("sub/deep", "cut -c1 /dev/null")
                self.assertEqual(result.get("exit_code") == 0, works, result)


class Doors(ServeTest):
    """The same over HTTP, with a token whose root is a home and a repository."""

    BOXED = True

    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", self.work], check=True, capture_output=True)

    def serve(self, *args, **options):
        (self.work / ".ssh").mkdir(exist_ok=True)
        (self.work / ".ssh/id_rsa").write_text(SECRET)
        (self.work / "inner").mkdir(exist_ok=True)
        return super().serve(*args, env={"HOME": str(self.work)}, **options)

    def test_no_door_opens_a_secret_or_a_hook(self):
        token = self.make_token("several", "--workspace", str(self.work / "inner"), "--workspace", str(self.work))
        for using in ("", token):
            for workspace in (".ssh", ".git/hooks", str(self.work / ".ssh"), str(self.work / ".git/hooks"), "inner/../.ssh"):
                with self.subTest(workspace, token=bool(using)):
                    for path, command in (("/v1/run", "cat id_rsa; echo x > post-commit"), ("/shell", "cat id_rsa")):
                        answer = self.post(path, {"command": command, "workspace": workspace}, token=using)
                        self.assertNotIn(SECRET.encode(), answer.body)
                        self.assertFalse((self.work / ".git/hooks/post-commit").exists())

    def test_a_root_in_a_root_does_not_shed_what_the_outer_one_protects(self):
        """Whichever of them comes first, and however the directory is named, or not at all."""
        inner = self.work / "inner"
        for name in ("hooks", "sub", "lib"):
            (inner / name).mkdir()
        subprocess.run(["git", "-C", self.work, "config", "core.hooksPath", "inner/hooks"], check=True)
        (self.work / ".nacre.yaml").write_text("deny: [head]\nsandbox: {protected: [inner/lib]}\n")
        both = ("--workspace", str(inner), "--workspace", str(self.work))
        tokens = {"inner first": self.make_token("a", *both), "outer first": self.make_token("b", *both[2:], *both[:2])}
        for order, token in tokens.items():
            for workspace in (None, ".", "sub", "hooks", "lib", "inner", "inner/hooks", str(inner), str(inner / "sub"), str(inner / "hooks")):
                named = {} if workspace is None else {"workspace": workspace}
                with self.subTest(order, workspace=workspace):
                    answer = self.post("/v1/run", {"command": "echo x > hooks/post-commit; echo x > lib/x; echo x > post-commit; echo x > x; true", **named},
                                       token=token)
                    made = [path for path in (inner / "hooks/post-commit", inner / "lib/x", inner / "lib/post-commit") if path.exists()]
                    self.assertEqual(made, [], answer)
                    answer = self.post("/v1/run", {"command": "head /dev/null", **named}, token=token)
                    self.assertNotEqual(answer.json.get("exit_code"), 0, answer)
        for named, where in (({}, inner), ({"workspace": "sub"}, inner / "sub"), ({"workspace": str(self.work)}, self.work)):
            answer = self.post("/v1/run", {"command": "pwd", **named}, token=tokens["inner first"])
            self.assertEqual(answer.json["stdout"], f"{where}\n")

    def test_a_tool_keeps_to_the_outer_root_too(self):
        (self.work / ".nacre.yaml").write_text("deny: [head]\n")
        token = self.make_token("mcp", "--workspace", str(self.work / "inner"), "--workspace", str(self.work))
        head = {"Accept": "application/json, text/event-stream"}
        answer = self.post("/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize",
                                    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
                           token=token, headers=head)
        head["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        self.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, token=token, headers=head)
        for arguments in ({}, {"workspace": "."}, {"workspace": str(self.work / "inner")}):
            for command, words in (("head /dev/null", b"'head' is refused"), ("pwd", b"work/inner")):
                with self.subTest(arguments, command=command):
                    answer = self.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                                "params": {"name": "run_shell", "arguments": {"command": command, **arguments}}}, token=token, headers=head)
                    self.assertIn(words, answer.body)

class Roots(NacreTest):
    """`workspace.roots` of a profile: they hold for who names no workspace, too."""

    BOXED = True

    def test_a_directory_in_one_of_them_keeps_its_protections(self):
        for name in ("project/sub/gen", "project/.vscode", "other"):
            (self.work / name).mkdir(parents=True)
        (self.work / "project/.nacre.yaml").write_text("deny: [head]\nsandbox: {protected: [sub/gen]}\n")
        self.write_config("rooted.yaml", f"profile: rooted\ninherits: bash\nworkspace: {{roots: ['{self.work}/project', '{self.work}/other']}}\n")
        for name, allowed in (("project", False), ("project/sub", False), ("other", True)):
            with self.subTest(name):
                done = self.run_nacre("--profile", "rooted", "-c", "head /dev/null", cwd=self.work / name)
                self.assertEqual(done.code == 0, allowed, done)
                told = subprocess.run([NACRE, "explain", "--json", "--profile", "rooted", "-c", "head /dev/null"], cwd=self.work / name, env=self.env,
                                      capture_output=True, timeout=DEADLINE, check=False)
                self.assertEqual(json.loads(told.stdout)["verdict"] == "allow", allowed, told)
        self.run_nacre("--profile", "rooted", "-c", "echo x > gen/x", cwd=self.work / "project/sub")
        self.assertFalse((self.work / "project/sub/gen/x").exists())
        done = self.run_nacre("--profile", "rooted", "-c", "true", cwd=self.work / "project/.vscode")
        self.assertEqual(done.code, 125, done)


class Tools(NacreTest):
    """`nacre call`: a policy file that names no profile is a layer of the tool's own profile."""

    def call(self, tool, parameters, text):
        path = self.dir / "policy.yaml"
        path.write_text(text)
        done = subprocess.run([NACRE, "call", "--policy", path, tool, json.dumps(parameters)], cwd=self.work, env=self.env, timeout=2 * DEADLINE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done

    def test_a_layer_that_tightens_does_not_loosen(self):
        for tool, parameters in (("safe_shell", {"command": "bash", "args": ["-c", "echo r''an"]}), ("run_shell", {"command": "ls | cat; echo r''an"}),
                                 ("run_command", {"command": "kill -l; echo r''an"})):
            for text in ("ask: [pwd]\n", "timeout: {max: 5s}\n", "{}\n", "deny: [pwd]\n"):
                with self.subTest(tool, text=text):
                    done = self.call(tool, parameters, text)
                    self.assertNotIn(b"ran", done.stdout)
                    self.assertNotEqual(done.returncode, 0, done)

    def test_a_file_that_names_a_profile_chooses_it(self):
        done = self.call("Bash", {"command": "ls | wc -l", "description": "x"}, "profile: readonly\n")
        self.assertNotEqual(done.returncode, 0, done)


if __name__ == "__main__":
    unittest.main(verbosity=2)
