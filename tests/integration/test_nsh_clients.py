"""nsh as the shell of real clients: the texts that they wrap around a command, their files, their variables, and
what somebody who knows them could try."""
import json
import os
import pathlib
import shlex
import stat
import subprocess
import unittest

from helpers import NACRE, SANITIZED
from shells import ShellTest

SNAPSHOT_SCRIPT = """SNAPSHOT_FILE={file}
      source "{home}/.bashrc" < /dev/null
      # First, create/clear the snapshot file
      echo "# Snapshot file" >| "$SNAPSHOT_FILE"
      {more}
      if [ ! -f "$SNAPSHOT_FILE" ]; then
        exit 1
      fi
    """


class ClientTest(ShellTest):
    def setUp(self):
        super().setUp()
        del self.env["NACRE_SESSION"]
        self.cwd_file = self.tmp / "claude-1a2b-cwd"

    def claude(self, command, cwd_file=None, end="", **options):
        cwd_file = cwd_file or self.cwd_file
        text = ("source /home/u/.claude/shell-snapshots/snapshot-bash-1-a.sh 2>/dev/null || true && "
                "shopt -u extglob 2>/dev/null || true && "
                f"eval {shlex.quote(command)} < /dev/null && pwd -P >| {cwd_file}{end}")
        env = {"CLAUDE_CODE_SESSION_ID": "11111111-2222-3333-4444-555555555555", "CLAUDECODE": "1"}
        return self.sh("-c", text, env={**env, **options.pop("env", {})}, **options)

    def gemini(self, command, **options):
        text = ("shopt -u promptvars nullglob extglob nocaseglob dotglob; _bgpids_file='/tmp/gemini-shell-x/bgpids.tmp'\n"
                "(\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\n" + command + "\n)\n__code=$?\nexit $__code")
        return self.sh("-c", text, env={"GEMINI_CLI": "1"}, **options)

    def commands(self):
        return self.records("requested")


class Wrapped(ClientTest):
    def test_the_command_of_claude_is_judged_alone(self):
        done = self.claude("echo 'a b' | tr a-z A-Z")
        self.assertEqual((done.code, done.out, done.err), (0, b"A B\n", b""))
        asked = self.commands()
        self.assertEqual([event["command"] for event in asked], ["echo 'a b' | tr a-z A-Z"])
        self.assertEqual(asked[0]["session"], "11111111-2222-3333-4444-555555555555")
        self.assertEqual(asked[0]["door"], "nsh")

    def test_the_directory_at_the_end_is_told(self):
        (self.work / "sub").mkdir()
        self.assertEqual(self.claude("cd sub").code, 0)
        self.assertEqual(self.cwd_file.read_text(), f"{self.work}/sub\n")
        self.claude("cd /usr/share")
        self.assertEqual(self.cwd_file.read_text(), "/usr/share\n")
        self.assertEqual(self.claude("pwd", cwd="/usr/share").out, b"/usr/share\n")

    def test_a_failure_leaves_the_directory_as_it_was(self):
        self.cwd_file.write_text("before\n")
        self.assertEqual(self.claude("cd /usr; false").code, 1)
        self.assertEqual(self.cwd_file.read_text(), "before\n")

    def test_standard_input_is_empty_if_the_client_says_so(self):
        self.assertEqual(self.claude("cat; echo end", input=b"not for it").out, b"end\n")

    def test_a_refusal_reaches_the_model(self):
        self.expect_refused(self.claude("rm -rf /"), "Recursive delete", "rule danger:rm-root")
        self.assertFalse(self.cwd_file.exists())

    def test_the_command_of_gemini_is_judged_alone(self):
        done = self.gemini("echo one\n# a comment\nexit 5")
        self.assertEqual((done.code, done.out), (5, b"one\n"))
        self.expect_refused(self.gemini("echo x; rm -rf /"), "Recursive delete")
        asked = [event["command"] for event in self.commands()]
        self.assertEqual(asked[0], "echo one\n# a comment\nexit 5")

    def test_the_other_clients_put_nothing_around_it(self):
        for argv in (["-lc", "echo hi"], ["--norc", "--noprofile", "-c", "echo hi"], ["-c", "echo hi"]):
            self.assertEqual(self.sh(*argv).out, b"hi\n")

    def test_a_command_that_looks_like_a_wrapping_is_a_command(self):
        done = self.claude("echo 'eval x && pwd -P >| /tmp/claude-0-cwd'")
        self.assertEqual(done.out, b"eval x && pwd -P >| /tmp/claude-0-cwd\n")


class StartUp(ClientTest):
    """The call with which Claude Code reads a person's shell files. No word of its script is run."""

    def setUp(self):
        super().setUp()
        self.snapshots = self.dir / ".claude" / "shell-snapshots"
        self.snapshots.mkdir(parents=True)
        self.file = self.snapshots / "snapshot-bash-1763400000-abc123.sh"
        (self.dir / ".bashrc").write_text(f"touch {self.dir}/rc-was-run\n")

    def start_up(self, file, more="", argv=("-c", "-l"), **options):
        script = SNAPSHOT_SCRIPT.format(file=file, home=self.dir, more=more)
        return self.sh(*argv, script, **options)

    def test_it_finds_its_file(self):
        done = self.start_up(self.file, f"touch {self.dir}/script-was-run")
        self.assertEqual((done.code, done.out, done.err), (0, b"", b""))
        self.assertTrue(self.file.read_text().startswith("# Snapshot file\n"))
        self.assertEqual(subprocess.run(["bash", "-c", f"source {self.file} && echo fine"], stdout=subprocess.PIPE,
                                        check=False).stdout, b"fine\n")

    def test_no_command_comes_along(self):
        for more in (f"touch {self.dir}/smuggled", f"$(touch {self.dir}/smuggled)", f"\ntouch {self.dir}/smuggled &"):
            self.start_up(self.file, more)
        self.start_up(f"'{self.file}'$(touch {self.dir}/smuggled)")
        self.start_up(f"{self.file}; touch {self.dir}/smuggled")
        self.start_up(f"{self.file} touch {self.dir}/smuggled")
        self.assertFalse((self.dir / "smuggled").exists())
        self.assertFalse((self.dir / "rc-was-run").exists())

    def test_it_writes_nowhere_else(self):
        other = self.dir / ".claude" / "other"
        other.mkdir()
        (self.dir / "victim").write_text("as it was\n")
        link = self.snapshots / "snapshot-bash-2-b.sh"
        link.symlink_to(self.dir / "victim")
        hard = self.snapshots / "snapshot-bash-3-c.sh"
        os.link(self.dir / "victim", hard)
        away = self.dir / ".claude" / "linked"
        away.symlink_to(self.work)
        for file in (self.dir / ".bashrc", self.dir / "snapshot-bash-1-a.sh", other / "snapshot-bash-1-a.sh", link, hard,
                     self.snapshots / "x.sh", self.snapshots / ".." / "other" / "snapshot-bash-1-a.sh",
                     away / "snapshot-bash-1-a.sh", self.snapshots / "snapshot-bash-.sh.bak", "/etc/snapshot-bash-1-a.sh"):
            with self.subTest(file=str(file)):
                self.assertNotEqual(self.start_up(file).code, 0)
        self.assertEqual((self.dir / "victim").read_text(), "as it was\n")
        self.assertIn("rc-was-run", (self.dir / ".bashrc").read_text())
        self.assertEqual(sorted(path.name for path in other.iterdir()), [])
        self.assertFalse((self.work / "snapshot-bash-1-a.sh").exists())

    def test_only_the_call_itself_is_one(self):
        """With any other option, or from a script, it is a command, in the box."""
        for argv in (("-e", "-c"), ("-x", "-c"), ("--norc", "-c")):
            self.start_up(self.file, argv=argv)
            self.assertFalse(self.file.exists(), argv)


class CwdFile(ClientTest):
    """The path is the agent's to write, if it wants: only a file that has no other use is one."""

    def expect_untouched(self, path, **options):
        before = path.read_text() if path.is_file() else None
        self.claude("cd /usr", cwd_file=path, **options)
        self.assertEqual(path.read_text() if path.is_file() else None, before, path)

    def test_other_names_and_places_are_left_alone(self):
        (self.dir / ".bashrc").write_text("mine\n")
        (self.tmp / "notes").write_text("mine\n")
        (self.work / "claude-1-cwd").write_text("mine\n")
        for path in (self.dir / ".bashrc", self.tmp / "notes", self.work / "claude-1-cwd", self.dir / "claude-1-cwd",
                     self.tmp / "claude--cwd", self.tmp / "claude-1-cwd.sh", self.tmp / "xclaude-1-cwd"):
            self.expect_untouched(path)

    def test_links_are_not_followed(self):
        victim = self.dir / "victim"
        victim.write_text("mine\n")
        (self.tmp / "claude-2-cwd").symlink_to(victim)
        os.link(victim, self.tmp / "claude-3-cwd")
        (self.tmp / "deep").symlink_to(self.dir)
        for name in ("claude-2-cwd", "claude-3-cwd", "deep/claude-4-cwd"):
            self.claude("cd /usr", cwd_file=self.tmp / name)
        self.assertEqual(victim.read_text(), "mine\n")
        self.assertFalse((self.dir / "claude-4-cwd").exists())

    def test_a_fifo_does_not_hold_it_up(self):
        os.mkfifo(self.tmp / "claude-5-cwd")
        self.assertEqual(self.claude("cd /usr", cwd_file=self.tmp / "claude-5-cwd").code, 0)

    def test_a_directory_of_others_is_no_place(self):
        shared = self.tmp / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        self.claude("cd /usr", cwd_file=shared / "claude-6-cwd")
        self.assertEqual(list(shared.iterdir()), [])

    def test_the_file_is_private(self):
        self.claude("cd /usr")
        self.assertEqual(stat.S_IMODE(self.cwd_file.stat().st_mode), 0o600)

    def test_a_directory_with_a_newline_is_not_told(self):
        self.claude("mkdir $'a\\nb' && cd $'a\\nb'")
        self.assertFalse(self.cwd_file.exists())


class Belonging(ClientTest):
    def session_of(self, env):
        self.line("true", env=env)
        return self.commands()[-1].get("session")

    def test_the_session_is_the_clients(self):
        for name in ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID", "NACRE_SESSION"):
            self.assertEqual(self.session_of({name: f"of-{name}"}), f"of-{name}")
        self.assertEqual(self.session_of({"NACRE_SESSION": "mine", "CODEX_THREAD_ID": "theirs"}), "mine")
        self.assertIsNone(self.session_of({}))
        self.assertTrue(self.session_of({"CODEX_THREAD_ID": "../../etc"}).startswith("client-"))
        self.assertTrue(self.session_of({"OPENCODE": "1"}).startswith("opencode-"))
        self.assertEqual(self.session_of({"GEMINI_CLI": "1"}), self.session_of({"GEMINI_CLI": "1"}))

    def workspace(self, cwd, env=None):
        self.line("true", cwd=cwd, env=env)
        return self.commands()[-1]["workspace"]

    def test_the_workspace_is_the_top_of_the_repository(self):
        deep = self.work / "a" / "b"
        deep.mkdir(parents=True)
        self.assertEqual(self.workspace(deep), str(self.work))
        self.assertEqual(self.workspace(self.tmp), str(self.tmp))

    def test_home_is_no_workspace_of_what_lies_below(self):
        (self.dir / ".git").mkdir()
        self.assertEqual(self.workspace(self.tmp), str(self.tmp))

    def test_a_session_keeps_its_workspace(self):
        env = {"CODEX_THREAD_ID": "moving"}
        inner = self.work / "inner"
        (inner / ".git").mkdir(parents=True)
        self.assertEqual(self.workspace(self.work, env), str(self.work))
        self.assertEqual(self.workspace(inner, env), str(self.work))
        self.assertEqual(self.workspace("/usr/share", env), str(self.work))
        self.assertEqual(self.workspace(inner), str(inner))

    def test_the_client_can_name_it(self):
        self.assertEqual(self.workspace(self.work, {"CLAUDE_PROJECT_DIR": str(self.tmp)}), str(self.tmp))
        self.assertEqual(self.workspace(self.work, {"NACRE_WORKSPACE": str(self.tmp)}), str(self.tmp))
        self.expect_refused(self.line("true", env={"NACRE_WORKSPACE": "/nowhere"}), "NACRE_WORKSPACE", code=125)

    def test_the_profile_can_be_named(self):
        self.expect_refused(self.line("touch x", env={"NACRE_PROFILE": "readonly"}), "whitelist")
        policy = self.dir / "policy.yaml"
        policy.write_text("profile: bash\ndeny: [hostname]\n")
        self.expect_refused(self.line("hostname", env={"NACRE_POLICY": str(policy)}), "hostname")
        self.expect_refused(self.line("true", env={"NACRE_PROFILE": "nosuch"}), "nosuch", code=125)


class Closed(ClientTest):
    """Nothing fails open."""

    def setUp(self):
        super().setUp()
        self.mark = self.work / "was-run"

    def expect_closed(self, *words, **options):
        for text in ("touch was-run", "rm -rf /"):
            done = self.line(text, **options)
            self.assertIn(done.code, (125, 126), done)
            for word in words:
                self.assertIn(word, done.err.decode())
        self.assertFalse(self.mark.exists())

    def test_a_broken_policy_file(self):
        self.write_config("bash.yaml", "profile: bash\nno such key: 1\n")
        self.expect_closed("bash.yaml")

    def test_a_policy_file_that_is_no_yaml(self):
        self.write_config("bash.yaml", "{[")
        self.expect_closed("bash.yaml")

    def test_a_policy_file_that_is_not_there(self):
        self.expect_closed("nowhere", env={"NACRE_POLICY": "/nowhere.yaml"})

    def test_a_state_directory_that_cannot_be_written(self):
        self.expect_closed("state directory", env={"NACRE_STATE_DIR": "/proc/nacre"})

    def test_a_state_directory_that_is_a_file(self):
        (self.dir / "file").write_text("")
        self.expect_closed("state directory", env={"NACRE_STATE_DIR": str(self.dir / "file")})

    def test_a_log_that_cannot_be_written(self):
        self.line("true")
        for path in (self.state / "audit").iterdir():
            path.unlink()
        (self.state / "audit").rmdir()
        (self.state / "audit").write_text("no directory")
        self.expect_closed()

    def test_a_directory_that_is_gone(self):
        gone = self.dir / "gone"
        gone.mkdir()
        done = subprocess.run(["bash", "-c", f"cd {gone} && rmdir {gone} && {self.nsh} -c 'touch {self.mark}'"],
                              env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        self.assertEqual(done.returncode, 125)
        self.assertFalse(self.mark.exists())

    def test_a_box_that_cannot_be_had(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {require: [nosuchlayer]}\n")
        self.expect_closed("nosuchlayer")


class Asked(ClientTest):
    def setUp(self):
        super().setUp()
        self.write_config("bash.yaml", "profile: bash\nask: [hostname]\n")
        self.env["CODEX_THREAD_ID"] = "asking"

    def test_what_a_person_approves_runs_when_it_is_repeated(self):
        done = self.line("hostname")
        self.expect_refused(done, "approve")
        [question] = json.loads(self.run_other("approvals", "--json"))["approvals"]
        self.run_other("approve", question["id"])
        done = self.line("hostname")
        self.assertEqual(done.code, 0, done)
        self.expect_refused(self.line("hostname"), "approve")  # it was for once

    def test_an_approval_is_for_these_words_and_operands(self):
        self.expect_refused(self.sh("-c", "hostname $1", "x", "-s"), "approve")
        [question] = json.loads(self.run_other("approvals", "--json"))["approvals"]
        self.run_other("approve", question["id"])
        self.expect_refused(self.sh("-c", "hostname $1", "x", "-f"), "approve")
        self.assertEqual(self.sh("-c", "hostname $1", "x", "-s").code, 0)

    def run_other(self, *args):
        return subprocess.run([NACRE, *args], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              check=False).stdout


if __name__ == "__main__":
    unittest.main()
