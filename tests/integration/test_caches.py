"""Caches: what persists across the sessions of one workspace, and what never does."""
import json
import os
import shutil
import subprocess
import time
import unittest

from helpers import DEADLINE, NACRE, NacreTest, wait_until
from mcp_client import Client
from rooms import AsUser, RoomTest
from serving import ServeTest

ALL = (".npm", ".cache", ".cargo/registry", "go/pkg", ".m2/repository", ".gradle/caches", ".gradle/wrapper")


class CacheTest(RoomTest):
    def caches(self, *args):
        done = self.nacre("session", "caches", "--json", *args)
        self.assertEqual(done.returncode, 0, done)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def generation(self):
        [one] = self.caches()
        return self.state / "caches" / one["caches"] / str(one["generation"])

    def limit(self, size, files=0):
        self.write_config("bash.yaml", f"profile: bash\nroom: {{cache_size: {size}, cache_files: {files}}}\n")


class Persist(CacheTest):
    def test_what_a_session_fetched_the_next_one_has(self):
        self.call("; ".join(f"echo {name} >~/{name}/x" for name in ALL), session="a")
        self.assertEqual(self.nacre("session", "end", "a").returncode, 0)
        result = self.call("cat " + " ".join(f"~/{name}/x" for name in ALL), session="b")
        self.assertEqual(result["stdout"].split(), list(ALL), result)
        self.assertEqual(result["notices"], [])
        [one] = self.caches()
        self.assertEqual((one["profile"], one["workspace"]), ("bash", str(self.work)))
        self.assertGreaterEqual(one["files"], 2 * len(ALL))

    def test_who_names_the_default_profile_shares_them(self):
        self.call("echo a >~/.npm/x", session="a")
        self.assertEqual(self.says("cat ~/.npm/x", "--profile", "bash", session="b"), "a\n")

    def test_others_do_not_have_them(self):
        self.call("echo a >~/.npm/x", session="a")
        other = self.work / "other"
        other.mkdir()
        if self.options:
            os.chown(other, self.options["user"], self.options["group"])
        (self.dir / "p.yaml").write_text("profile: bash\n")
        for options, more in ((("--workspace", str(other)), {}), (("--profile", "universal"), {}),
                              (("--policy", str(self.dir / "p.yaml")), {})):
            with self.subTest(options=options):
                self.assertNotEqual(self.call("cat ~/.npm/x", *options, session="b", **more)["exit_code"], 0)
        result = self.run_json("-c", "cat ~/.npm/x", **self.options)  # no session, no room
        self.assertNotEqual(result["exit_code"], 0)

    def test_a_changed_profile_begins_with_empty_ones(self):
        self.call("cp /bin/true ~/.cache/denied", session="a")
        self.write_config("bash.yaml", "profile: bash\ndeny: [something]\n")
        self.assertEqual(self.says("ls ~/.cache", session="b"), "")
        [one] = self.caches()
        self.assertEqual(one["generation"], 2)
        self.nacre("session", "end", "a")  # whose launcher may have the old ones
        wait_until("the old ones go", lambda: self.nacre("tasks", "--clean") and
                   [path.name for path in (self.state / "caches" / one["caches"]).iterdir()] == ["2"])

    def test_with_boxes_that_are_kept(self):
        for word in ("one", "two"):
            c = Client(self, "--profile", "bash", **self.options)
            c.initialize()
            texts = [c.call("Bash", {"command": f"cat ~/.npm/log; echo {word} >>~/.npm/log"})["content"][0]["text"]
                     for _ in range(6)]
            c.close()
        self.assertTrue(texts[-1].startswith("one\n" * 6 + "two\n" * 5), texts[-1])

    def test_two_sessions_at_once(self):
        started = self.run_json("--session", "a", "--background", "-c",
                                "until test -e ~/.npm/go; do sleep 0.05; done; echo back >~/.npm/back", **self.options)
        self.call("echo go >~/.npm/go", session="b")
        wait_until("the other has seen it", lambda: self.call("cat ~/.npm/back", session="b")["stdout"] == "back\n")
        self.nacre("stop", started["task_id"])

    def test_they_can_be_switched_off_by_a_project(self):
        (self.work / ".nacre.yaml").write_text("room: {caches: [~/.npm]}\n")
        self.call("echo a >~/.npm/x; mkdir -p ~/.cache; echo b >~/.cache/y", session="a")
        result = self.call("cat ~/.npm/x ~/.cache/y", session="b")
        self.assertEqual((result["stdout"], result["exit_code"]), ("a\n", 1), result)

    def test_a_project_cannot_add_one(self):
        (self.work / ".nacre.yaml").write_text("room: {caches: [~/.npm, ~/.ccache]}\n")
        done = self.nacre("run", "--session", "a", "-c", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("'room.caches' would loosen the profile", done.stderr)


class Never(CacheTest):
    """What PATH, git or a build tool's configuration is, a session does not leave to the next."""

    def test_programs_and_configuration_do_not_persist(self):
        names = (".cargo/bin/ls", ".cargo/config.toml", "go/bin/ls", ".gitconfig", ".config/git/config", ".m2/settings.xml",
                 ".gradle/init.gradle", ".gradle/init.d/x.gradle", ".gradle/gradle.properties", ".npmrc", ".bashrc",
                 ".local/bin/ls", "bin/ls")
        self.call("cd ~; " + "; ".join(f"mkdir -p $(dirname {name}); echo '[user]' >{name}" for name in names), session="a")
        result = self.call("cd ~; ls -d " + " ".join(names) + " 2>/dev/null", session="b")
        self.assertEqual(result["stdout"], "", result)

    def test_what_leads_to_a_cache_is_not_the_commands(self):
        """A link in the place of ~/.cargo is the session's, and no way to the host's files."""
        outside = self.dir / "outside"
        outside.mkdir()
        for link in (str(outside), "/etc", "../..", "nowhere"):
            with self.subTest(link=link):
                self.call(f"mv ~/.cargo ~/gone-$RANDOM-$RANDOM; ln -s {link} ~/.cargo", session="a")
                self.assertEqual(self.says("echo x >~/.cargo/registry/x; readlink ~/.cargo; true", session="a"), "")
                self.assertEqual(self.says("cat ~/.cargo/registry/x; rm ~/.cargo/registry/x", session="b"), "x\n")
        self.assertEqual(list(outside.iterdir()), [])

    def test_a_mode_that_locks_out_is_of_one_call(self):
        self.call("echo x >~/.npm/x; chmod 000 ~/.npm", session="a")
        self.assertEqual(self.says("cat ~/.npm/x", session="b"), "x\n")

    def test_they_are_noexec_where_the_workspace_is(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {workspace_exec: false}\n")
        result = self.call("cp /bin/true ~/.cache/t; ~/.cache/t", session="a")
        self.assertEqual(result["exit_code"], 126, result)

    def test_set_user_id_and_devices_have_no_effect(self):
        result = self.call("grep -c ' /[^ ]*/.npm .*nosuid,nodev' /proc/self/mountinfo", session="a")
        self.assertEqual(result["stdout"], "1\n", result)


class Bound(CacheTest):
    def test_too_much_is_emptied_after_the_call(self):
        self.limit("8M")
        result = self.call("head -c 12M /dev/zero >~/.npm/big", session="a")
        self.assertEqual(result["exit_code"], 0, result)
        self.assertIn("room.cache_size", " ".join(result["notices"]))
        after = self.call("ls -A ~/.npm", session="a")
        self.assertEqual((after["stdout"], after["notices"], after["room"]["fresh"]), ("", [], False), after)
        [one] = self.caches()
        self.assertLess(one["bytes"], 1 << 20)

    def test_too_many_files_as_well(self):
        self.limit("0", 100)
        said = self.call("mkdir ~/.cache/d; touch ~/.cache/d/{1..150}", session="a")["notices"]

        def is_emptied():
            """At once, unless others free as many files meanwhile: then a later call counts, but no sooner
            than fifty times as long after a count as that took."""
            said.extend(self.call("true", session="a")["notices"])
            return self.says("ls -A ~/.cache", session="b") == ""
        wait_until("they are emptied", is_emptied, 60)
        self.assertIn("room.cache_files", " ".join(said))

    def test_a_call_that_adds_without_end_is_ended(self):
        self.limit("16M")
        result = self.call("while :; do head -c 4M /dev/zero >>~/.cache/big; done", "--timeout", "60s", session="a")
        self.assertEqual((result["exit_code"], result["sandbox"]["limit_hit"]), (137, "room"), result)
        self.assertIn("room.cache_size", " ".join(result["notices"]))

    def test_what_another_session_has_open_stays_its_own(self):
        """Emptied under a task that goes on writing: nothing of the task's is followed or lost to it."""
        self.limit("8M")
        task = self.run_json("--session", "a", "--background", "-c",
                             "echo mine >~/.npm/mine; until test -e /tmp/go; do sleep 0.05; done; cat ~/.npm/mine", **self.options)
        wait_until("it has begun", lambda: self.call("cat ~/.npm/mine", session="b")["stdout"] == "mine\n")
        self.call("head -c 12M /dev/zero >~/.npm/big", session="b")
        self.assertEqual(self.says("ls -A ~/.npm", session="b"), "")
        self.call("touch /tmp/go", session="a")
        wait_until("it has ended", lambda: "mine" in self.nacre("output", task["task_id"]).stdout)

    def test_a_kept_box_has_the_new_ones(self):
        self.limit("8M")
        c = Client(self, "--profile", "bash", **self.options)
        c.initialize()
        for _ in range(4):
            c.call("Bash", {"command": "echo x >~/.npm/x"})
        self.assertIn("room.cache_size", json.dumps(c.call("Bash", {"command": "head -c 12M /dev/zero >~/.npm/big"})))
        for _ in range(4):
            self.assertTrue(c.call("Bash", {"command": "ls -A ~/.npm"})["content"][0]["text"].startswith("["))
        c.close()

    def test_what_cannot_be_listed_is_counted_and_removed(self):
        self.limit("8M")
        # Without a walk the size is known by what the disk has lost: others who give back at the same time hide it once.
        for i in range(5):
            result = self.call(f"mkdir -p ~/.npm/{i}/b; head -c 12M /dev/zero >~/.npm/{i}/b/big; chmod 000 ~/.npm/{i}/b; chmod 400 ~/.npm/{i}",
                               session="a")
            if result["notices"]:
                break
        self.assertIn("room.cache_size", " ".join(result["notices"]), result)
        self.assertEqual(self.says("ls -A ~/.npm", session="b"), "")
        self.assertEqual(len(os.listdir(self.state / "caches")), 2)


class Ends(CacheTest):
    HOSTILE = ("cd ~/.npm; ln -s / root; mkfifo f; mkdir -p d/e; touch d/e/x; chmod 000 d/e d; "
               "python3 -c \"import os\nfor _ in range(600): os.mkdir('n'); os.chdir('n')\"")

    def setUp(self):
        super().setUp()
        self.write_config("bash.yaml", "profile: bash\nroom: {warm: 0s}\n")  # a launcher has them in use

    def test_they_can_be_removed(self):
        for index in range(2):
            with self.subTest(index=index):
                self.call(self.HOSTILE, session="a")
                [one] = self.caches(*(["--remove"] if index else []))
                if not index:
                    self.assertEqual(self.caches("--remove", one["caches"])[0]["removed"], True)
                self.assertEqual(os.listdir(self.state / "caches"), [])
                self.assertEqual(self.says("ls -A ~/.npm", session="a"), "")
        self.assertEqual(self.nacre("session", "caches", "--remove", "0" * 32).returncode, 125)
        self.assertEqual(self.nacre("session", "caches", "../rooms").returncode, 125)

    def test_while_a_task_has_them(self):
        task = self.run_json("--session", "a", "--background", "-c", "echo x >~/.npm/x; sleep 1000", **self.options)["task_id"]
        self.addCleanup(self.nacre, "stop", task)
        wait_until("it has begun", lambda: self.call("cat ~/.npm/x", session="b")["stdout"] == "x\n")
        done = self.nacre("session", "caches", "--remove")
        self.assertIn("removed when its last user has ended", done.stdout)
        self.assertEqual(self.says("ls -A ~/.npm", session="b"), "")
        self.nacre("stop", task)
        [one] = self.caches("--remove")
        wait_until("all is gone", lambda: self.nacre("tasks", "--clean") and os.listdir(self.state / "caches") == [])

    def test_what_nobody_used_for_a_month_goes(self):
        self.call("echo x >~/.npm/x", session="a")
        [one] = self.caches()
        for days, left in ((29, 1), (31, 0)):
            at = time.time() - days * 86400
            os.utime(self.state / "caches" / f"{one['caches']}.json", (at, at))
            self.nacre("tasks", "--clean")
            self.assertEqual(len(self.caches()), left)
        self.assertEqual(os.listdir(self.state / "caches"), [])

    def test_the_list_for_people(self):
        self.call("echo x >~/.npm/x", session="a")
        lines = self.nacre("session", "caches").stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[0].startswith("PROFILE"))
        self.assertIn(str(self.work), lines[1])


class Npm(CacheTest):
    """npm's own cache: what one session fetched, the next installs without a network."""

    def setUp(self):
        super().setUp()
        if not shutil.which("npm"):
            self.skipTest("npm: not installed")

    def test_an_offline_install_in_the_next_session(self):
        package = self.work / "dep"
        package.mkdir()
        (package / "package.json").write_text('{"name": "dep", "version": "1.0.0", "main": "i.js"}')
        (package / "i.js").write_text("module.exports = 42\n")
        (self.work / "fetch.js").write_text("""
const http = require('http'), fs = require('fs'), { execSync } = require('child_process'), crypto = require('crypto')
execSync('npm pack --silent', { cwd: 'dep' })
const tgz = fs.readFileSync('dep/dep-1.0.0.tgz')
const integrity = 'sha512-' + crypto.createHash('sha512').update(tgz).digest('base64')
const s = http.createServer((q, a) => {
  if (q.url.endsWith('.tgz')) return a.end(tgz)
  a.end(JSON.stringify({ name: 'dep', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': {
    name: 'dep', version: '1.0.0', dist: { tarball: 'http://127.0.0.1:8733/dep/-/dep-1.0.0.tgz', integrity } } } }))
}).listen(8733, '127.0.0.1', () => {
  fs.mkdirSync('app', { recursive: true })
  fs.writeFileSync('app/package.json', '{"name":"app","version":"1.0.0","dependencies":{"dep":"1.0.0"}}')
  const { spawn } = require('child_process')
  spawn('npm', ['install', '--registry', 'http://127.0.0.1:8733', '--no-audit', '--no-fund'],
    { cwd: 'app', stdio: 'inherit' }).on('exit', c => { s.close(); process.exit(c) })
})
""")
        for path in (package, *package.iterdir(), self.work / "fetch.js"):
            if self.options:
                os.chown(path, self.options["user"], self.options["group"])
        first = self.call("node fetch.js", "--timeout", "120s", session="a")
        self.assertEqual(first["exit_code"], 0, first)
        line = "cd app && rm -rf node_modules && npm ci --offline --no-audit --no-fund && node -p 'require(\"dep\")'"
        second = self.call(line, "--timeout", "120s", session="b")
        self.assertEqual((second["exit_code"], second["stdout"].splitlines()[-1]), (0, "42"), second)
        self.write_config("bash.yaml", "profile: bash\nroom: {caches: []}\n")
        third = self.call(line, "--timeout", "120s", session="c")
        self.assertNotEqual(third["exit_code"], 0)


class Policy(NacreTest):
    def test_each_that_is_refused(self):
        for path, words in (("~", "whole home"), ("~/", "whole home"), ("/var/cache", "must begin with ~/"),
                            ("cache", "must begin with ~/"), ("~root/.cache", "must begin with ~/"), ("~/.bashrc", "top of home"),
                            ("~/.gitconfig", "top of home"), ("~/bin", "programs"), ("~/.local/bin", "programs"),
                            ("~/.cargo/bin", "programs"), ("~/.pyenv/shims", "programs"), ("~/.config/git", "git"),
                            ("~/.config/pip", "configuration"), ("~/.cargo", "~/.cargo/registry"), ("~/.gradle", "~/.gradle/caches"),
                            ("~/.gradle/init.d", "~/.gradle/caches"), ("~/.m2/settings.xml", "~/.m2/repository"),
                            ("~/.local/share", "name a directory in it"), ("~/.local/lib", "programs or configuration"),
                            ("~/.ssh/x", "secret"), ("~/.cache/../.ssh", "'..'"), ("~/.cache/./x", "'.'"), ("~/.cache/", "empty part"),
                            ("~//.cache", "empty part"), ("~/.cache/x/.git", "git"), ("~/go", "~/go/pkg"), ("~/go/bin", "programs")):
            with self.subTest(path=path):
                file = self.dir / "p.yaml"
                file.write_text(f"profile: p\ninherits: bash\nroom: {{caches: ['{path}']}}\n")
                done = self.nacre("policy", "check", str(file))
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("room.caches", done.stdout + done.stderr)
                self.assertIn(words, done.stdout + done.stderr)

    def test_those_that_are_accepted(self):
        file = self.dir / "p.yaml"
        file.write_text("profile: p\ninherits: bash\nroom: {caches: ['@inherited', ~/.ccache, ~/.nuget/packages, ~/.local/share/pnpm, "
                        "~/.bun/install/cache]}\n")
        done = self.nacre("policy", "check", str(file))
        self.assertEqual(done.returncode, 0, done)

    def test_one_in_another_and_too_many(self):
        for text, words in (("[~/.cache, ~/.cache/pip]", "lies in"), ("[~/.npm, ~/.npm]", "lies in"),
                            (f"[{', '.join(f'~/.x/{i}' for i in range(17))}]", "more than 16")):
            with self.subTest(text=text):
                file = self.dir / "p.yaml"
                file.write_text(f"profile: p\ninherits: bash\nroom: {{caches: {text}}}\n")
                done = self.nacre("policy", "check", str(file))
                self.assertIn(words, done.stdout + done.stderr)

    def nacre(self, *args):
        return subprocess.run([NACRE, *args], env=self.env, capture_output=True, text=True, timeout=DEADLINE, check=False)


class Http(ServeTest):
    BOXED = True

    def test_another_principal_has_others(self):
        other = self.make_token("other", "--workspace", str(self.work))
        self.run_command("echo a >~/.npm/x", session="s")
        self.assertEqual(self.run_command("cat ~/.npm/x", session="t")["stdout"], "a\n")
        self.assertNotEqual(self.run_command("cat ~/.npm/x", session="s", token=other)["exit_code"], 0)


class PersistOfAUser(AsUser, Persist):
    pass


class NeverOfAUser(AsUser, Never):
    pass


class BoundOfAUser(AsUser, Bound):
    pass


class EndsOfAUser(AsUser, Ends):
    pass


class NpmOfAUser(AsUser, Npm):
    pass


del CacheTest, RoomTest, AsUser, ServeTest


if __name__ == "__main__":
    unittest.main()
