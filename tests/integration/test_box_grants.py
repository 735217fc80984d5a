"""What a box has of the host beside its workspace: paths that are links, in a new box and in one that is kept, paths
that are not there; and what is done with protected paths that a command made."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from test_escape_places import PlaceTest


class GrantTest(PlaceTest):
    def batch(self, lines, *args, **options):
        popen = self.start(*args, "--batch", "--jobs", "1", stdin=subprocess.PIPE, **options)
        requests = "".join(json.dumps({"id": n, "command": line}) + "\n" for n, line in enumerate(lines))
        done = self.finish(popen, requests.encode())
        answers = sorted((json.loads(line) for line in done.out.splitlines()), key=lambda a: a["id"])
        return [answer["result"] for answer in answers]

    def give_all(self, options):
        if options:
            for where, names, files in os.walk(self.dir):
                for name in [*names, *files]:
                    os.lchown(os.path.join(where, name), options["user"], options["user"])


class Links(GrantTest):
    """~/.gitconfig -> dotfiles/gitconfig, and their like."""

    def setUp(self):
        super().setUp()
        for path, text in (("dots/gitconfig", "[user]\n\tname = dots\n"), ("place/rustup/bin/x", "rust\n"),
                           ("place/rustup/more/y", "more\n"), ("wide/inner/z", "inner\n")):
            (self.dir / path).parent.mkdir(parents=True, exist_ok=True)
            (self.dir / path).write_text(text)
        (self.dir / ".gitconfig").symlink_to("dots/gitconfig")
        (self.dir / ".rustup").symlink_to("place/rustup")
        (self.dir / ".inner").symlink_to("wide/inner")
        (self.dir / ".usr").symlink_to("/usr/share")

    LINE = "cat ~/.gitconfig ~/.rustup/bin/x ~/.rustup/more/y ~/.inner/z; ls -d ~/.usr/. ~/.rustup/more"

    def expect(self, result):
        home = str(self.dir)
        self.assertEqual((result["exit_code"], self.text(result)),
                         (0, f"[user]\n\tname = dots\nrust\nmore\ninner\n{home}/.rustup/more\n{home}/.usr/.\n"), result)

    def test_they_are_there_in_each_command(self):
        """Covered by another grant, granted twice, or one below the other: all of them have their names."""
        policy = self.policy("links", "profile: links\ninherits: bash\nsandbox: {readable: ['~/.gitconfig', '~/.rustup', "
                             "'~/.rustup/more', '~/.rustup', '~/wide', '~/.inner', '~/.usr']}\n")
        for user, options in self.users():
            self.give_all(options)
            with self.subTest(who=user):
                self.expect(self.run_result("--policy", policy, "-c", self.LINE, **options))
                for n, result in enumerate(self.batch([self.LINE] * 6, "--policy", policy, **options)):
                    with self.subTest(command=n):
                        self.expect(result)

    def test_one_that_leads_elsewhere_by_now_leads_there(self):
        policy = self.policy("links", "profile: links\ninherits: bash\nsandbox: {readable: ['~/.gitconfig']}\n")
        popen = self.start("--policy", policy, "--batch", "--jobs", "1", stdin=subprocess.PIPE)
        seen = []
        for n in range(6):
            if n == 3:
                (self.dir / "dots" / "new").write_text("[user]\n\tname = new\n")
                os.replace(self.dir / "dots" / "new", self.dir / "dots" / "gitconfig")
            popen.stdin.write(json.dumps({"command": "cat ~/.gitconfig"}).encode() + b"\n")
            popen.stdin.flush()
            seen.append(json.loads(popen.stdout.readline())["result"]["stdout"].split()[-1])
        self.finish(popen)
        self.assertEqual(seen, ["dots"] * 3 + ["new"] * 3)


class Missing(GrantTest):
    """A path that commands may write and that is not there is named."""

    def test_it_is_named(self):
        for user, options in self.users():
            for tier in ("strict", "landlock"):
                policy = self.policy("missing", f"profile: missing\ninherits: bash\nsandbox: {{mode: {tier}, "
                                     "writable: ['~/.cache', '~/tmp']}\n")
                shutil.rmtree(self.dir / ".cache", ignore_errors=True)
                self.give_all(options)
                with self.subTest(tier=tier, who=user):
                    result = self.run_result("--policy", policy, "-c", "true", **options)
                    self.assertEqual(len(result["notices"]), 1, result)
                    self.assertIn("~/.cache, which is not there", result["notices"][0])
                    for result in self.batch(["true"] * 3, "--policy", policy, **options):
                        self.assertIn("~/.cache, which is not there", " ".join(result["notices"]))
                    (self.dir / ".cache").mkdir()
                    self.give_all(options)
                    result = self.run_result("--policy", policy, "-c", "echo x >~/.cache/x && cat ~/.cache/x", **options)
                    self.assertEqual((self.text(result), result["notices"]), ("x\n", []))


class Planted(GrantTest):
    """What is said about protected paths that a command made is what was done."""

    def other_file_system(self):
        """A directory that nothing of the test's own can be moved to."""
        for place in ("/dev/shm", "/var/tmp", "/run", os.path.expanduser("~")):
            if os.path.isdir(place) and os.access(place, os.W_OK) and os.stat(place).st_dev != os.stat(self.dir).st_dev:
                path = tempfile.mkdtemp(prefix="nacre-test-", dir=place)
                self.addCleanup(shutil.rmtree, path, ignore_errors=True)
                os.chmod(path, 0o777)
                return path
        self.skipTest("there is one file system alone")
        return None

    def test_on_another_file_system(self):
        place = self.other_file_system()
        for user, options in self.users():
            shutil.rmtree(self.work)
            self.work.mkdir()
            self.give(options)
            self.env["NACRE_STATE_DIR"] = f"{place}/{user}"
            with self.subTest(who=user):
                result = self.run_result("-c", "mkdir -p .vscode sub; echo x >.vscode/tasks.json; echo x >.envrc", **options)
                left = sorted(path.name for path in self.work.iterdir())
                self.assertEqual(len(result["notices"]), 2, result)
                self.assertNotIn(".vscode", left)
                self.assertNotIn(".envrc", left)
                for notice in result["notices"]:
                    self.assertIn("which is protected; it was renamed to ", notice)
                    self.assertTrue((self.work / notice.rsplit(" ", 1)[1]).exists(), (notice, left))

    def test_aside(self):
        result = self.run_result("-c", "mkdir .vscode; echo x >.vscode/tasks.json")
        notice, held = result["notices"]
        self.assertIn(f"nacre approve {result['held'][0]['id']}", held)
        self.assertIn("it was moved to ", notice)
        self.assertTrue(os.path.exists(f"{notice.rsplit(' ', 1)[1]}/planted-0/tasks.json"), notice)

    def test_what_changed_was_not_moved(self):
        (self.work / ".envrc").write_text("x\n")
        policy = self.policy("tier", "profile: tier\ninherits: bash\nsandbox: {mode: landlock}\n")
        [notice] = self.run_result("--policy", policy, "-c", "echo y >>.envrc")["notices"]
        self.assertIn("the command changed .envrc, which is protected", notice)
        self.assertTrue((self.work / ".envrc").exists())

    def test_nothing_is_said_about_nacres_own(self):
        """A home directory as workspace: nacre writes its state there while the command runs."""
        policy = self.policy("tier", "profile: tier\ninherits: bash\nsandbox: {mode: landlock}\n")
        for user, options in self.users():
            shutil.rmtree(self.work)
            self.work.mkdir()
            self.give(options)
            self.env.update(HOME=str(self.work))
            self.env.pop("NACRE_STATE_DIR", None)
            self.env.pop("XDG_CONFIG_HOME", None)
            for n in range(3):
                with self.subTest(who=user, command=n):
                    notices = self.run_result("--policy", policy, "-c", "true", **options)["notices"]
                    self.assertEqual([notice for notice in notices if "protected" in notice], [])


class Etc(GrantTest):
    """What of the host's users, services and kernel a command can read."""

    LINE = "cat /etc/passwd /etc/group; ls -A /etc /etc/ssl; cat /proc/cmdline; ls /etc/ssh; cat /etc/fstab; id -un; date +%Z; python3 -c 'print(1)'"

    def hosts(self):
        with open("/etc/passwd", encoding="utf-8", errors="replace") as file:
            return {line.split(":")[0] for line in file} - {"root", "nobody", "nacre"}

    def test_a_minimal_one_has_nothing_of_the_host(self):
        policies = {mode: self.policy(mode, f"profile: {mode}\ninherits: bash\nsandbox: {{etc: minimal, mode: {mode}}}\n")
                    for mode in ("strict", "landlock")}
        for user, options in self.users():
            self.give_all(options)
            for mode, policy in policies.items():
                with self.subTest(mode=mode, who=user):
                    for result in self.batch([self.LINE] * 3, "--policy", policy, **options):
                        text = self.text(result)
                        for name in self.hosts():
                            self.assertNotRegex(text, rf"(?m)^{name}:", result)
                        self.assertRegex(text, "(?m)^1$", result)
                        for path in ("/etc/ssh", "/etc/fstab"):
                            self.assertRegex(result["stderr"], rf"{path}'?: (No such file|Permission denied)")
                        if mode == "strict":
                            self.assertIn("root:x:0:0:", text)
                            self.assertRegex(text, "(?m)^certs$")
                            self.assertNotIn("hostname", text.split())

    def test_nobody_reads_the_command_line_of_the_kernel(self):
        with open("/proc/cmdline", encoding="utf-8", errors="replace") as file:
            self.assertTrue(file.read().strip())
        for profile in ("bash", "universal", "workspace", "verify"):
            for user, options in self.users():
                self.give_all(options)
                with self.subTest(profile=profile, who=user):
                    results = self.batch(["wc -c /proc/cmdline"] * 3, "--profile", profile, **options)
                    self.assertNotIn(None, results)
                    for result in results:
                        if result["verdict"] == "allow":
                            self.assertEqual(self.text(result), "0 /proc/cmdline\n", result)

    def test_readonly_stays_in_the_workspace(self):
        (self.work / "a").write_text("a\n")
        for line in ("cat /etc/passwd", "cat /proc/cmdline", "ls /etc", "cat ../x", "find / -name x", "grep -f /etc/passwd a",
                     "diff a /etc/hosts", "head -n1 /proc/self/environ"):
            with self.subTest(line=line):
                done = self.run_nacre("--profile", "readonly", "-c", line)
                self.assertEqual(done.code, 126, done)
                self.assertIn(b"leaves the workspace", done.err)
        for user, options in self.users():
            self.give_all(options)
            with self.subTest(who=user):
                for line, text in (("cat a", "a\n"), ("whoami", None), ("stat -c %F a", "regular file\n"), ("date +%Y", None),
                                   ("sort a", "a\n"), ("grep -e /etc/passwd a", ""),
                                   *([("file a", "a: ASCII text\n")] if shutil.which("file") else [])):
                    result = self.run_result("--profile", "readonly", "-c", line, **options)
                    self.assertTrue(result["ran"] if "ran" in result else result["verdict"] == "allow", result)
                    self.assertEqual(result["stderr"], "", result)
                    self.assertIn(self.text(result), [text] if text is not None else [self.text(result)])


if __name__ == "__main__":
    unittest.main()
