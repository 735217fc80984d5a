"""Commands that a person has to approve: asked once, answered once, run exactly as they were approved."""
import contextlib
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import termios
import time
import unittest

from helpers import DEADLINE, NACRE, PYTHON, SLACK, NacreTest, ample, wait_until

PROFILE = """profile: asker
inherits: bash
sandbox: {{mode: {mode}}}
environment: {{pass: ['@inherited', MARK]}}
{more}ask:
  - id: persons
    commands: [{commands}]
    reason: "{{name}} is asked about in this test."
"""


class ApprovalTest(NacreTest):
    BOXED = True
    MODE = "none"
    MORE = ""
    COMMANDS = "touch, docker, git, tee, sh, ./run.sh, python3"

    def is_waiting(self, pid):
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except FileNotFoundError:
            return False
        return any("inotify" in link for link in links) and any("eventpoll" in link for link in links)

    def setUp(self):
        super().setUp()
        self.user = {}
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        self.env["PATH"] = f"{self.bin}:{self.env['PATH']}"
        self.profile()

    def profile(self, more=None, mode=None):
        self.write_config("asker.yaml", PROFILE.format(mode=mode or self.MODE, commands=self.COMMANDS,
                                                       more=self.MORE if more is None else more))

    def program(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def nacre(self, *args, code=None, **options):
        options = {**self.user, **options}
        program = options.pop("program", NACRE)
        env = {**self.env, **options.pop("env", {})}
        done = subprocess.run([program, *args], env=env, cwd=self.work, timeout=DEADLINE, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, done)
        return done

    def ask(self, *args, **options):
        """The result of a run by the profile that asks."""
        options = {**self.user, **options}
        return self.run_json("--profile", "asker", *args, **options)

    def ask_id(self, *args, **options):
        """The id of the question, from a run that nobody waits for."""
        result = self.ask(*args, **options)
        self.assertEqual((result["exit_code"], result["verdict"]), (126, "ask"), result)
        self.assertEqual(result["approval"]["state"], "open")
        return result["approval"]["id"]

    def waiting(self, *args, wait="60s", **options):
        """A run that waits for a person, and the id of its question."""
        before = {a["id"] for a in self.open()}
        options = {**self.user, **options}
        popen = self.start("--json", "--profile", "asker", "--approval-timeout", wait, *args, **options)
        new = wait_until("a question", lambda: [a for a in self.open() if a["id"] not in before])
        return popen, new[0]["id"]

    def result(self, popen):
        return json.loads(self.finish(popen).out)

    def open(self, *args):
        return json.loads(self.nacre("approvals", "--json", *args, code=0).stdout)["approvals"]

    def state_of(self, ident):
        return json.loads(self.nacre("approvals", "--json", ident, code=0).stdout)["state"]


class Once(ApprovalTest):
    def test_nobody_to_ask_is_refused_at_once_and_the_words_say_how_to_go_on(self):
        began = time.monotonic()
        result = self.ask("--", "touch", "x")
        self.assertLess(time.monotonic() - began, 10 + SLACK)
        ident = result["approval"]["id"]
        self.assertEqual((result["exit_code"], result["verdict"]), (126, "ask"))
        self.assertIn("touch is asked about in this test.", result["reason"])
        self.assertIn(f"nacre approve {ident}", result["reason"])
        self.assertFalse((self.work / "x").exists())

    def test_approved_it_runs_when_it_is_repeated_and_only_once(self):
        ident = self.ask_id("--", "touch", "x")
        self.assertEqual(self.ask_id("--", "touch", "x"), ident, "the same question again")
        done = self.nacre("approve", ident.upper(), code=0)
        self.assertIn("approved once", done.stdout)
        result = self.ask("--", "touch", "x")
        self.assertEqual(result["exit_code"], 0, result)
        self.assertEqual(result["approval"]["id"], ident)
        self.assertIn("nacre approve", result["approval"]["by"])
        self.assertTrue((self.work / "x").exists())
        self.assertEqual(self.state_of(ident), "used")
        # The file that it has made is one of its files now, and a new question in any case.
        self.assertNotEqual(self.ask_id("--", "touch", "x"), ident)

    def test_who_waits_goes_on_when_it_is_approved(self):
        popen, ident = self.waiting("-c", "touch y && echo done")
        self.assertFalse((self.work / "y").exists())
        self.nacre("approve", ident, code=0)
        result = self.result(popen)
        self.assertEqual((result["exit_code"], result["stdout"]), (0, "done\n"), result)

    def test_refused_with_a_reason(self):
        popen, ident = self.waiting("--", "touch", "x")
        self.nacre("deny", "--reason", "not on a \033[31mfriday", ident, code=0)
        result = self.result(popen)
        self.assertEqual(result["exit_code"], 126)
        self.assertIn("not on a <U+001B>[31mfriday", result["reason"])
        self.assertEqual(result["approval"]["state"], "refused")
        self.assertFalse((self.work / "x").exists())
        self.assertNotEqual(self.ask_id("--", "touch", "x"), ident)

    def test_a_no_is_told_when_the_request_is_repeated(self):
        ident = self.ask_id("--", "touch", "x")
        self.nacre("deny", "--reason", "use make", ident, code=0)
        result = self.ask("--", "touch", "x")
        self.assertEqual((result["exit_code"], result["approval"]["id"], result["approval"]["state"]), (126, ident, "refused"))
        self.assertIn("use make", result["reason"])
        self.assertEqual(self.state_of(ident), "refused")
        self.assertEqual(self.open(), [])
        self.assertNotEqual(self.ask_id("--", "touch", "x"), ident)  # told once; then it can be asked again
        told = json.loads(self.nacre("audit", "show", "--json", code=0).stdout)["records"]
        self.assertEqual([r["event"] for r in told if r.get("approval") == ident], ["asked", "refused", "refused"])
        # So is one who waits.
        ident = self.ask_id("--", "touch", "y")
        self.nacre("deny", "--reason", "never", ident, code=0)
        result = self.ask("--approval-timeout", "60s", "--", "touch", "y")
        self.assertIn("never", result["reason"])
        self.assertFalse((self.work / "x").exists() or (self.work / "y").exists())

    def test_a_no_is_not_told_when_its_time_is_over(self):
        self.profile("approval: {keep: 1s}\n")
        ident = self.ask_id("--", "touch", "x")
        self.nacre("deny", ident, code=0)
        time.sleep(1.1)
        self.assertNotEqual(self.ask_id("--", "touch", "x"), ident)

    def test_the_input_and_the_environment_belong_to_it(self):
        ident = self.ask_id("--input", "one\n", "--env", "MARK=1", "--", "tee", "x")
        self.nacre("approve", ident, code=0)
        for args in (("--input", "two\n", "--env", "MARK=1"), ("--input", "one\n", "--env", "MARK=2"),
                     ("--env", "MARK=1"), ("--input", "one\n"),
                     ("--input", "one\n", "--env", "MARK=1", "--env", "B=1")):
            self.assertNotEqual(self.ask_id(*args, "--", "tee", "x"), ident, args)
        self.assertFalse((self.work / "x").exists())
        # Also a variable that comes from nacre's own environment.
        other = self.ask_id("--input", "one\n", "--env", "MARK=1", "--", "tee", "x", env={"LANG": "C"})
        self.assertNotEqual(other, ident)
        result = self.ask("--input", "one\n", "--env", "MARK=1", "--", "tee", "x")
        self.assertEqual(result["exit_code"], 0, result)
        self.assertEqual((self.work / "x").read_text(), "one\n")

    def test_other_words_another_directory_or_profile_are_another_question(self):
        (self.work / "sub").mkdir()
        self.write_config("other.yaml", "profile: other\ninherits: asker\n")
        ident = self.ask_id("--", "touch", "x")
        self.nacre("approve", ident, code=0)
        for args in (("--", "touch", "x", "y"), ("--", "touch", "./x"), ("-c", "touch x; touch y"),
                     ("--cwd", "sub", "--", "touch", "x"), ("--force", "--", "touch", "x"),
                     ("--profile", "other", "--", "touch", "x"), ("--pty", "--", "touch", "x")):
            self.assertNotEqual(self.ask_id(*args), ident, args)
        self.assertEqual(list(self.work.glob("**/[xy]")), [])

    def test_an_approval_is_no_parameter(self):
        """Whatever the asker says: ids, force, members of a request do not approve anything."""
        ident = self.ask_id("--", "touch", "x")
        for member in ({"approval": ident}, {"approve": True}, {"force": True}, {"can_ask": False},
                       {"approval_id": ident, "answer": "once"}):
            line = json.dumps({"argv": ["touch", "x"], **member}).encode()
            done = self.run_nacre("--profile", "asker", "--batch", input=line + b"\n")
            answer = json.loads(done.out)
            self.assertTrue("error" in answer or answer["result"]["exit_code"] == 126, answer)
        done = self.nacre("run", "--profile", "asker", "--approval", ident, "--", "touch", "x")
        self.assertEqual(done.returncode, 125)
        self.assertFalse((self.work / "x").exists())
        self.assertEqual(self.state_of(ident), "open")

    def test_what_a_rule_refuses_is_not_asked_about(self):
        result = self.ask("-c", "touch x; mkfs /dev/sda")
        self.assertEqual((result["verdict"], result["approval"]), ("deny", None))
        self.assertEqual(self.open(), [])

    def test_words_that_are_no_text(self):
        ident = self.ask_id("--", "touch", b"\xff\n\033")
        shown = json.loads(self.nacre("approvals", "--json", ident, code=0).stdout)["command"]
        self.assertEqual(shown, "'touch' '<0xFF>\n<U+001B>'")
        self.nacre("approve", ident, code=0)
        self.assertEqual(self.ask("--", "touch", b"\xff\n\033")["exit_code"], 0)
        self.assertIn(b"\xff\n\033", os.listdir(bytes(self.work)))

    def test_the_audit_log_has_it_all(self):
        popen, ident = self.waiting("--", "touch", "x")
        self.nacre("approve", ident, code=0)
        self.assertEqual(self.result(popen)["exit_code"], 0)
        refused = self.ask_id("--", "touch", "y")
        self.nacre("deny", "--reason", "no", refused, code=0)
        records = [json.loads(line) for path in sorted((self.state / "audit").glob("log.*"))
                   for line in path.read_text().splitlines()]
        told = [(r["event"], r.get("answer"), r.get("by")) for r in records if r.get("approval") == ident]
        self.assertEqual([event for event, _, _ in told], ["asked", "approved", "started"])
        self.assertEqual(told[1][1], "once")
        self.assertIn("nacre approve", told[1][2])
        told = [(r["event"], r.get("answer"), r.get("reason")) for r in records if r.get("approval") == refused]
        self.assertEqual([event for event, _, _ in told], ["asked", "refused"])
        self.assertEqual(told[1][1:], ("deny", "no"))

    def test_what_the_profile_calls_a_secret_is_none_of_the_log(self):
        self.profile("audit: {mask: ['corp-[0-9]+']}\n")
        self.nacre("approve", self.ask_id("--", "touch", "corp-4711"), code=0)
        self.nacre("deny", "--reason", "corp-4712", self.ask_id("--", "touch", "a", "corp-4713"), code=0)
        text = "".join(path.read_text() for path in (self.state / "audit").glob("log.*"))
        self.assertEqual(text.count('"event":"approved"'), 1)
        self.assertNotIn("corp-", text)

    def test_without_a_state_directory_nobody_can_be_asked(self):
        self.state.write_text("no directory")
        self.profile("audit: {on_failure: notice}\n")
        result = self.ask("--", "touch", "x")
        self.assertEqual((result["exit_code"], result["approval"]), (126, None), result)
        self.assertIn("Nobody can be asked", result["reason"])

    def test_in_the_background(self):
        popen, ident = self.waiting("--background", "-c", "touch y; echo is there >z")
        self.nacre("approve", ident, code=0)
        result = self.result(popen)
        self.assertTrue(result["background"] and result["success"], result)
        self.wait_for_file(self.work / "z")

    def test_a_profile_that_asks_nobody(self):
        self.profile("approval: {answer: deny}\n")
        result = self.ask("--approval-timeout", "60s", "--", "touch", "x")
        self.assertEqual((result["exit_code"], result["approval"]), (126, None))
        self.assertEqual(self.open(), [])

    def test_a_project_can_only_tighten(self):
        project = self.work / ".nacre.yaml"
        for text, fine in (("approval: {timeout: 10m}", False), ("approval: {keep: 5h}", False),
                           ("approval: {timeout: 1s, keep: 1m, answer: deny}", True)):
            project.write_text(text + "\n")
            result = self.ask("--", "touch", "x")
            self.assertEqual("approval." in result["reason"], not fine, result)
        self.profile("approval: {answer: deny}\n")
        project.write_text("approval: {answer: wait}\n")
        self.assertIn("approval.answer", self.ask("--", "touch", "x")["reason"])


class Races(ApprovalTest):
    def test_of_fifty_answers_at_once_exactly_one_counts(self):
        popen, ident = self.waiting("-c", "touch x; echo ran >>ran")
        go_read, go_write = os.pipe()
        answers = []
        for number in range(50):
            word = "approve" if number % 2 else "deny"
            answers.append((word, subprocess.Popen(
                ["/bin/sh", "-c", f"read x; exec '{NACRE}' {word} {ident}"], env=self.env, cwd=self.work,
                stdin=go_read, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)))
        os.close(go_read)
        os.close(go_write)  # the end of the file lets all of them go
        ends = [(word, *p.communicate(timeout=DEADLINE), p.returncode) for word, p in answers]
        won = [end for end in ends if end[3] == 0]
        self.assertEqual(len(won), 1, ends)
        for word, _out, err, code in ends:
            if code != 0:
                self.assertEqual(code, 1)
                self.assertIn("already answered: " + ("once" if won[0][0] == "approve" else "deny"), err)
        result = self.result(popen)
        self.assertEqual(result["exit_code"], 0 if won[0][0] == "approve" else 126, result)
        self.assertEqual((self.work / "ran").exists(), won[0][0] == "approve")

    def test_of_twenty_runs_at_once_one_has_the_approval(self):
        ident = self.ask_id("-c", "touch x; echo ran >>ran")
        self.nacre("approve", ident, code=0)
        runs = [self.start("--json", "--profile", "asker", "-c", "touch x; echo ran >>ran")
                for _ in range(20)]
        results = [self.result(popen) for popen in runs]
        self.assertEqual((self.work / "ran").read_text(), "ran\n")
        self.assertEqual(sorted(r["exit_code"] for r in results), [0] + [126] * 19)

    def test_of_many_that_wait_for_the_same_one_runs(self):
        runs = [self.waiting("-c", "touch x; echo ran >>ran")]
        for _ in range(5):
            runs.append((self.start("--json", "--profile", "asker", "--approval-timeout", "60s", "-c",
                                    "touch x; echo ran >>ran"), None))
        ident = runs[0][1]
        wait_until("all of them wait",
                   lambda: all(self.is_waiting(popen.pid) for popen, _ in runs))
        self.nacre("approve", ident, code=0)
        for other in self.open():  # who has asked in the same moment has a question of its own
            self.nacre("deny", other["id"], code=0)
        results = [self.result(popen) for popen, _ in runs]
        self.assertEqual((self.work / "ran").read_text(), "ran\n")
        self.assertEqual(sorted(r["exit_code"] for r in results), [0] + [126] * 5)


class Changed(ApprovalTest):
    """Between the approval and the run something changes: nothing runs."""

    def expect_refused(self, popen, words):
        result = self.result(popen)
        self.assertEqual((result["exit_code"], result["verdict"]), (126, "deny"), result)
        self.assertIn(words, result["reason"])
        self.assertFalse((self.work / "ran").exists())

    def test_a_script(self):
        script = self.program(self.work / "run.sh", "echo 1 >ran")
        popen, ident = self.waiting("--", "./run.sh")
        script.write_text("#!/bin/sh\necho 2 >ran\n")
        self.nacre("approve", ident, code=0)
        self.expect_refused(popen, "run.sh' is not what it was")
        self.assertEqual(self.state_of(ident), "given", "what did not run is not used up")

    def test_a_script_that_is_replaced_by_one_of_the_same_size_and_time(self):
        script = self.program(self.work / "run.sh", "echo 1 >ran")
        before = script.stat()
        popen, ident = self.waiting("-c", "./run.sh")
        other = self.program(self.work / "other", "echo 2 >ran")
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        os.rename(other, script)
        self.assertEqual(script.stat().st_size, before.st_size)
        self.nacre("approve", ident, code=0)
        self.expect_refused(popen, "run.sh' is not what it was")

    def test_a_file_that_a_word_names(self):
        (self.work / "code.py").write_text("open('ran', 'w')\n")
        popen, ident = self.waiting("-c", "cd . && python3 code.py")
        (self.work / "code.py").write_text("open('ran', 'a')\n")
        self.nacre("approve", ident, code=0)
        self.expect_refused(popen, "code.py' is not what it was")

    def test_what_env_finds_for_a_script(self):
        """Found by trying: the program behind #!/usr/bin/env was nobody's."""
        self.program(self.bin / "own-sh", 'exec /bin/sh "$@"')
        for line in "#!/usr/bin/env own-sh", "#!/usr/bin/env -S own-sh -e":
            with self.subTest(line):
                script = self.work / "run.sh"
                script.write_text(f"{line}\necho 1 >ran\n")
                script.chmod(0o755)
                popen, ident = self.waiting("--", "./run.sh")
                self.program(self.bin / "own-sh", "echo another >ran")
                self.nacre("approve", ident, code=0)
                self.expect_refused(popen, "own-sh' is not what it was")

    def test_the_way_to_the_program(self):
        """A file of the same name comes to stand in front of it in PATH."""
        self.program(self.bin / "docker", "echo real >>ran")
        first = self.dir / "first"
        first.mkdir()
        self.env["PATH"] = f"{first}:{self.env['PATH']}"
        popen, ident = self.waiting("--", "docker", "ps")
        self.program(first / "docker", "echo false >>ran")
        self.nacre("approve", ident, code=0)
        self.expect_refused(popen, "is not what it was")

    def test_a_directory_that_was_replaced(self):
        sub = self.work / "sub"
        for remake in (self.remake_by_rename, self.remake_by_remove):
            sub.mkdir()
            popen, ident = self.waiting("--cwd", "sub", "-c", "touch x; echo 1 >../ran")
            remake(sub)
            self.nacre("approve", ident, code=0)
            self.expect_refused(popen, "working directory")
            shutil.rmtree(sub)

    def remake_by_rename(self, sub):
        os.rename(sub, self.work / "old")
        sub.mkdir()

    def remake_by_remove(self, sub):
        sub.rmdir()
        sub.mkdir()

    def test_the_workspace_that_was_replaced(self):
        workspace = self.work / "ws"
        workspace.mkdir()
        popen, ident = self.waiting("--workspace", str(workspace), "-c", f"touch x; echo 1 >'{self.work}/ran'")
        os.rename(workspace, self.work / "old")
        workspace.mkdir()
        self.nacre("approve", ident, code=0)
        self.expect_refused(popen, "workspace")

    def test_the_rules(self):
        """What is refused by now stays refused, whatever was approved."""
        popen, ident = self.waiting("-c", "touch x; echo 1 >ran")
        self.write_config("asker.yaml", PROFILE.format(mode="none", commands=self.COMMANDS, more="deny: [touch]\n"))
        self.nacre("approve", ident, code=0)
        self.expect_refused(popen, "second check")

    def test_a_link_that_leads_elsewhere(self):
        for name in ("one", "two"):
            self.program(self.work / name, f"echo {name} >ran")
        (self.work / "run.sh").symlink_to("one")
        popen, ident = self.waiting("--", "./run.sh")
        (self.work / "run.sh").unlink()
        (self.work / "run.sh").symlink_to("two")
        self.nacre("approve", ident, code=0)
        self.expect_refused(popen, "is not what it was")


class Swapped(ApprovalTest):
    """A yes is for the files as they were, however the line comes to them: what is swapped behind it does not run."""

    COMMANDS = ("sh, bash, run2, ., source, make, sed, awk, git, tar, env, find, xargs, python3, tool, hash, command, exec, "
                "eval, docker, cat, ./run.sh, ./x, perl, run3")
    # The line, and the file that decides.
    LINES = (
        ("PATH=sub:$PATH run2", "sub/run2"), ("PATH=$PWD/sub:$PATH run2", "sub/run2"), ("env PATH=sub:$PATH run2", "sub/run2"),
        ("env PATH=sub:/bin run2", "sub/run2"), ("export PATH=$PWD/sub:$PATH; run2", "sub/run2"),
        ("PATH=sub:/usr/bin; run2", "sub/run2"), ("declare -x PATH=sub; run2", "sub/run2"), ("PATH+=:sub; run2", "sub/run2"),
        ("printf -v PATH sub; run2", "sub/run2"), ("for p in sub; do PATH=$p; done; run2", "sub/run2"),
        ("read PATH <p; run2", "sub/run2"), ("PATH=$(cat p) run2", "sub/run2"), ("cd sub; PATH=.:$PATH run2", "sub/run2"),
        ("PATH=s*b run2; PATH=sub; run2", "sub/run2"), ("PATH=sub:$PATH command run2", "sub/run2"),
        ("PATH=sub:$PATH . run2", "sub/run2"), ("hash -p sub/run2 run2; run2", "sub/run2"), ("BASH_CMDS[run2]=sub/run2; run2", "sub/run2"),
        (". run.sh", "run.sh"), ("source ./run.sh", "run.sh"), ("sh <run.sh", "run.sh"), ("cat run.sh | sh", "run.sh"),
        ("make -sfx.mk", "x.mk"), ("make -sf x.mk", "x.mk"), ("make -sCsub", "sub/Makefile"), ("make -sC sub", "sub/Makefile"),
        ("make -s --directory=sub", "sub/Makefile"), ("make -s", "Makefile"),
        ("sed -nfx.sed p", "x.sed"), ("sed -n --file=x.sed p", "x.sed"), ("sed -ne p -fx.sed p", "x.sed"), ("awk -fx.awk p", "x.awk"),
        ("bash -xe run.sh", "run.sh"), ("git -c alias.x='!sh run.sh' x", "run.sh"), ("git -c 'alias.x=!sh \"ru\"n.sh' x", "run.sh"),
        ("tar cf o.tar --checkpoint=1 --checkpoint-action=exec='sh run.sh' p", "run.sh"), ("env -S 'sh run.sh'", "run.sh"),
        ("env -S 'sh ru\"\"n.sh'", "run.sh"), ("find . -name run.sh -exec sh {} ';'", "run.sh"), ("find . -maxdepth 1 -name '*.sh' -exec sh {} +", "run.sh"),
        ("echo run.sh | xargs sh", "run.sh"), ("a=ru; sh ${a}n.sh", "run.sh"), ("a=ru; b=n; sh $a$b.sh", "run.sh"), ("sh r*.sh", "run.sh"),
        ("sh ru?.sh", "run.sh"), ("sh r{u,}n.sh || true", "run.sh"), ("eval \"sh ru''n.sh\"", "run.sh"), ("x=run.sh; eval sh '$x'", "run.sh"),
        ("BASH_ENV=run.sh bash -c true", "run.sh"), ("BASH_ENV=$PWD/run.sh bash -c true", "run.sh"), ("cd sub && ./x", "sub/x"), ("cd sub; ../run.sh", "run.sh"),
        ("pushd sub >/dev/null; ./x", "sub/x"), ("f() { sh run.sh; }; f", "run.sh"), ("trap 'sh run.sh' EXIT; sh -c :", "run.sh"),
        ("sh -c 'sh -c \"sh run.sh\"'", "run.sh"), ("python3 -c 'exec(open(\"x.py\").read())'", "x.py"), ("cat <(sh run.sh)", "run.sh"),
        ("sh $(echo run.sh)", "run.sh"), ("sh -- run.sh", "run.sh"), ("sh \"$(printf %s ru)n.sh\"", "run.sh"), ("sh link.sh", "run.sh"), ("sh links/run.sh", "run.sh"),
        ("shopt -s expand_aliases; alias zz='sh run.sh'; sh -c :; zz", "run.sh"), ("GIT_SSH_COMMAND='sh run.sh' git ls-remote ssh://x/y", "run.sh"),
        ("GIT_EXTERNAL_DIFF=./run.sh git diff --no-index p q", "run.sh"), ("git -c core.pager='sh run.sh' --paginate --version", "run.sh"),
        ("mapfile -C 'sh run.sh' -c 1 a <p; sh -c :", "run.sh"), ("exec sh run.sh", "run.sh"), ("command sh run.sh", "run.sh"),
        ("CDPATH=sub; cd d; ./x", "sub/d/x"), ("CDPATH=sub cd d; ./x", "sub/d/x"), ("HOME=$PWD/sub; cd; ./x", "sub/x"), ("HOME=sub; cd ~/d; ./x", "sub/d/x"),
        ("cd $(cat p) && ./x", "sub/x"), ("cd sub/d; cd ..; ./x", "sub/x"), ("cd sub; cd $OLDPWD; ./run.sh", "run.sh"), ("cd -P sub/d/..; ./x", "sub/x"),
        ("(cd sub; exec ./x)", "sub/x"), ("cd sub; PATH=$PWD run2", "sub/run2"), ("export BASH_ENV=run.sh; bash -c :", "run.sh"),
        ("HOME=sub; sh ~/x", "sub/x"), ("sh -c \"$(cat run.sh)\"", "run.sh"), ("sh -c \"$(<run.sh)\"", "run.sh"), (". <(cat run.sh)", "run.sh"),
        ("bash <(cat run.sh)", "run.sh"), ("exec 3<run.sh; sh <&3", "run.sh"), ("sh /dev/fd/3 3<run.sh", "run.sh"), ("sh /proc/self/cwd/run.sh", "run.sh"),
        ("cp run.sh y; sh y", "run.sh"), ("ln -sf run.sh y; sh y", "run.sh"), ("cat run.sh >y; sh y", "run.sh"), ("python3 -m mod", "mod.py"),
        ("python3 -mmod", "mod.py"), ("python3 -c 'import mod'", "mod.py"), ("python3 pkg", "pkg/__main__.py"), ("perl -I. -Mm -e 1", "m.pm"),
        ("python3 <<< 'import mod'", "mod.py"), ("sh <<E\n. ./run.sh\nE", "run.sh"), ("sh <<<'sh run.sh'", "run.sh"), ("sh -s <run.sh", "run.sh"),
        ("git -c include.path=../x.cfg status; sh -c :", "x.cfg"), ("git --exec-path=sub x; sh -c :", "sub/git-x"), ("declare -n r=PATH; r=sub; run2", "sub/run2"),
        ("export -n A; typeset PATH=sub:/bin; run2", "sub/run2"), ("{ PATH=sub; }; run2", "sub/run2"), ("p=PATH; declare \"$p=sub\"; run2", "sub/run2"),
        ("unset PATH; cd sub; run2", "sub/run2"), ("PATH=; cd sub; run2", "sub/run2"), ("PATH=: ; run3", "run3"), ("eval PATH=sub; run2", "sub/run2"),
        ("sh ~+/run.sh", "run.sh"), ("sh \"${PWD}\"/run.sh", "run.sh"), ("sh -- \"${x:-run.sh}\"", "run.sh"), ("sh ./sub/../run.sh", "run.sh"),
    )
    TEXT = {"mod.py": "open('ran', 'a').write('{}')\n", "__main__.py": "open('ran', 'a').write('{}')\n",
            "m.pm": 'system("echo {} >>ran"); 1;\n', "x.cfg": "[alias]\n\tx = !echo {} >>ran\n", "x.mk": "all:\n\t@echo {} >>ran\n", "Makefile": "all:\n\t@echo {} >>$(CURDIR)/ran\n", "x.sed": "1e echo {} >>ran\n",
            "x.awk": 'BEGIN {{ system("echo {} >>ran") }}\n', "x.py": "open('ran', 'a').write('{}')\n"}

    def put(self, name, word):
        path = self.work / name
        new = path.with_name(path.name + ".new")  # renamed over: the number and the times are new, the name is not
        new.write_text(self.TEXT.get(path.name, "#!/bin/sh\necho {} >>ran\n").format(word))
        new.chmod(0o755)
        new.rename(path)

    def setUp(self):
        super().setUp()
        (self.work / "sub" / "d").mkdir(parents=True)
        (self.work / "pkg").mkdir()
        (self.work / "links").symlink_to(".")
        (self.work / "link.sh").symlink_to("run.sh")
        (self.work / "p").write_text("sub\n")
        (self.work / "q").write_text("q\n")
        for name in {name for _, name in self.LINES}:
            self.put(name, "good")

    def lines(self, lines):
        for line, name in lines:
            with self.subTest(line):
                first = self.ask("-c", line)
                self.assertEqual(first["verdict"], "ask", first)
                self.nacre("approve", first["approval"]["id"], code=0)
                self.put(name, "bad")
                result = self.ask("-c", line)
                self.put(name, "good")
                ran = [path.unlink() for path in self.work.rglob("ran")]
                self.assertEqual((result["exit_code"], result["verdict"], ran), (126, "ask", []), result)
                self.assertNotEqual(result["approval"]["id"], first["approval"]["id"])
                self.nacre("deny", result["approval"]["id"], code=0)

    def test_what_was_named_is_not_what_it_was(self):
        self.lines(self.LINES)

    def test_what_was_not_changed_runs(self):
        for line, name in self.LINES[:40:7]:
            with self.subTest(line):
                ident = self.ask_id("-c", line)
                self.nacre("approve", ident, code=0)
                self.assertEqual(self.ask("-c", line)["approval"]["id"], ident)
                self.assertIn("good", (self.work / "ran").read_text())
                (self.work / "ran").unlink()

    def test_what_appears_behind_the_yes(self):
        """The file, or the directory, was not there when it was approved."""
        shutil.rmtree(self.work / "sub")
        for line, name in (("PATH=sub:$PATH run2 || true", "sub/run2"), ("make -s || true", "GNUmakefile"), ("sh z*.sh; sh -c :", "z.sh"),
                           ("cd sub; ./x; sh -c :", "sub/x"), ("sh late.sh || true", "late.sh"), ("PATH=.:$PATH tool || true", "tool")):
            with self.subTest(line):
                ident = self.ask_id("-c", line)
                self.nacre("approve", ident, code=0)
                (self.work / name).parent.mkdir(exist_ok=True)
                (self.work / name).write_text("all:\n\t@echo bad >>ran\n" if "make" in name else "#!/bin/sh\necho bad >>ran\n")
                (self.work / name).chmod(0o755)
                self.assertNotEqual(self.ask_id("-c", line), ident)
                self.assertFalse((self.work / "ran").exists())

    def test_who_waits_is_refused_by_the_keeper(self):
        for line, name, words in (("PATH=sub:$PATH run2", "sub/run2", "sub/run2' is not what it was"),
                                  ("a=ru; sh ${a}n.sh", "run.sh", "a file of the workspace is not what it was"),
                                  ("make -sfx.mk", "x.mk", "x.mk' is not what it was")):
            popen, ident = self.waiting("-c", line)
            self.put(name, "bad")
            self.nacre("approve", ident, code=0)
            result = self.result(popen)
            self.assertEqual((result["exit_code"], result["verdict"]), (126, "deny"), result)
            self.assertIn(words, result["reason"])
            self.assertFalse((self.work / "ran").exists())

    def test_the_person_sees_what_decides(self):
        for line, names, words in (("PATH=sub:$PATH run2", "known", "sub/run2"), ("make -sfx.mk", "known", "x.mk"),
                                   ("git -c alias.x='!sh run.sh' x", "known", "run.sh"), ("sh r*.sh", "workspace", "any file of the workspace")):
            ident = self.ask_id("-c", line)
            shown = json.loads(self.nacre("approvals", "--json", ident, code=0).stdout)
            self.assertEqual(shown["names"], names, line)
            self.assertIn(words, self.nacre("approvals", ident, code=0).stdout)
            if names == "known":
                self.assertIn(str(self.work / words), shown["files"])

    def test_too_many_to_bind_are_said_to_be_unknown(self):
        for directory in range(9):
            (self.work / f"d{directory}").mkdir()
            for i in range(1000):
                (self.work / f"d{directory}" / str(i)).touch()
        ident = self.ask_id("--session", "s", "-c", "a=ru; sh ${a}n.sh")
        shown = json.loads(self.nacre("approvals", "--json", ident, code=0).stdout)
        self.assertEqual((shown["names"], shown["answers"]), ("unknown", ["deny", "once"]))
        self.assertIn("files that cannot be named: a yes covers whatever they hold", self.nacre("approvals", ident, code=0).stdout)
        # What the line names itself counts all the same.
        ident = self.ask_id("-c", "a=x; sh run.sh $a")
        self.nacre("approve", ident, code=0)
        self.put("run.sh", "bad")
        self.assertNotEqual(self.ask_id("-c", "a=x; sh run.sh $a"), ident)

    def test_what_comes_out_of_a_pipe_nobody_has_seen(self):
        os.mkfifo(self.work / "fifo")
        for line in ("sh <fifo", "sh fifo", "cat fifo | sh", ". ./fifo"):
            ident = self.ask_id("--session", "s", "-c", line)
            shown = json.loads(self.nacre("approvals", "--json", ident, code=0).stdout)
            self.assertEqual((shown["names"], shown["answers"]), ("unknown", ["deny", "once"]), line)
        # A file that becomes a pipe is not what it was.
        ident = self.ask_id("-c", "sh <run.sh")
        self.nacre("approve", ident, code=0)
        (self.work / "run.sh").unlink()
        os.mkfifo(self.work / "run.sh")
        self.assertNotEqual(self.ask_id("-c", "sh <run.sh"), ident)

    def test_a_directory_or_link_that_is_swapped(self):
        for name in ("a", "b"):
            (self.work / name).mkdir()
            self.put(f"{name}/run.sh", name)
        (self.work / "way").symlink_to("a")
        popen, ident = self.waiting("-c", "sh way/run.sh")
        (self.work / "way").unlink()
        (self.work / "way").symlink_to("b")
        self.nacre("approve", ident, code=0)
        self.assertIn("is not what it was", self.result(popen)["reason"])
        popen, ident = self.waiting("-c", "cd a; sh run.sh")
        (self.work / "a").rename(self.work / "c")
        (self.work / "b").rename(self.work / "a")
        self.nacre("approve", ident, code=0)
        self.assertIn("is not what it was", self.result(popen)["reason"])
        # By another name of the same file, with its times set back.
        before = (self.work / "run.sh").stat()
        os.link(self.work / "run.sh", self.work / "other")
        popen, ident = self.waiting("-c", "sh run.sh")
        (self.work / "other").write_text("#!/bin/sh\necho evil >>ran\n")
        os.utime(self.work / "other", ns=(before.st_atime_ns, before.st_mtime_ns))
        self.nacre("approve", ident, code=0)
        self.assertIn("run.sh' is not what it was", self.result(popen)["reason"])
        self.assertEqual(list(self.work.rglob("ran")), [])

    def test_a_variable_of_the_request_that_names_a_file(self):
        for entry in ("GIT_SSH_COMMAND=sh run.sh", f"EDITOR={self.work}/run.sh", "PAGER='./run.sh'"):
            ident = self.ask_id("--env", entry, "-c", "sh -c :")
            self.nacre("approve", ident, code=0)
            self.put("run.sh", "bad")
            self.assertNotEqual(self.ask_id("--env", entry, "-c", "sh -c :"), ident, entry)
            self.put("run.sh", "good")


class Times(ApprovalTest):
    def test_nobody_answers(self):
        began = time.monotonic()
        result = self.ask("--approval-timeout", "300ms", "--", "touch", "x")
        self.assertEqual(result["exit_code"], 126)
        self.assertIn("in time", result["reason"])
        self.assertGreater(time.monotonic() - began, 0.3)
        # The request is refused; the question can still be answered for when it is repeated.
        self.nacre("approve", result["approval"]["id"], code=0)
        self.assertEqual(self.ask("--", "touch", "x")["exit_code"], 0)

    def test_the_limit_of_the_profile_is_the_most(self):
        self.profile("approval: {timeout: 200ms}\n")
        result = self.ask("--approval-timeout", "10h", "--", "touch", "x")
        self.assertEqual(result["exit_code"], 126)
        self.assertIn("in time", result["reason"])

    def test_too_late(self):
        self.profile("approval: {keep: 300ms}\n")
        ident = self.ask_id("--", "touch", "x")
        wait_until("it is over", lambda: self.state_of(ident) == "expired")
        done = self.nacre("approve", ident, code=1)
        self.assertIn("time for this approval is over", done.stderr)
        self.assertNotEqual(self.ask_id("--", "touch", "x"), ident)

    def test_an_answer_does_not_hold_for_ever(self):
        for seconds in (2, 10, 40):  # to answer in time takes as long as the machine needs
            self.profile(f"approval: {{keep: {seconds}s}}\n")
            ident = self.ask_id("--", "touch", "x")
            if self.nacre("approve", ident).returncode == 0:
                break
        wait_until("it is over", lambda: self.state_of(ident) == "expired")
        self.assertNotEqual(self.ask_id("--", "touch", "x"), ident)
        self.assertFalse((self.work / "x").exists())

    def test_the_server_that_asked_is_killed_and_another_one_goes_on(self):
        line = json.dumps({"argv": ["touch", "x"], "id": 1}).encode() + b"\n"
        options = ("--profile", "asker", "--approval-timeout", "60s", "--batch")
        server = self.start(*options, stdin=subprocess.PIPE)
        server.stdin.write(line)
        server.stdin.flush()
        ident = wait_until("a question", self.open)[0]["id"]
        server.kill()
        server.wait(DEADLINE)
        self.assertEqual([a["id"] for a in self.open()], [ident])
        self.nacre("approve", ident, code=0)
        again = json.loads(self.run_nacre(*options, input=line).out)
        self.assertEqual(again["result"]["exit_code"], 0, again)
        self.assertEqual(again["result"]["approval"]["id"], ident)
        self.assertTrue((self.work / "x").exists())

    def test_a_new_server_joins_the_question_of_the_old_one(self):
        line = json.dumps({"argv": ["touch", "x"], "id": 1}).encode() + b"\n"
        ident = self.ask_id("--", "touch", "x")
        server = self.start("--profile", "asker", "--approval-timeout", "60s", "--batch",
                            stdin=subprocess.PIPE)
        server.stdin.write(line)
        server.stdin.close()
        server.stdin = None
        wait_until("it waits", lambda: self.is_waiting(server.pid))
        self.nacre("approve", ident, code=0)
        self.assertEqual(json.loads(self.finish(server).out)["result"]["exit_code"], 0)

    def test_a_signal_ends_the_waiting_and_leaves_the_question(self):
        popen, ident = self.waiting("--", "touch", "x")
        popen.send_signal(signal.SIGTERM)
        self.finish(popen)
        self.assertEqual(popen.returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.state_of(ident), "open")


class SessionTest(ApprovalTest):
    def setUp(self):
        super().setUp()
        self.docker = self.program(self.bin / "docker", 'echo "docker $*"')

    def run_in(self, session, *words, **options):
        return self.ask("--session", session, "--", *words, **options)

    def expect_asks(self, session, *words, **options):
        result = self.run_in(session, *words, **options)
        self.assertEqual((result["exit_code"], result["verdict"]), (126, "ask"), (words, result))
        return result["approval"]["id"]

    def expect_runs(self, session, *words):
        result = self.run_in(session, *words)
        self.assertEqual(result["exit_code"], 0, (words, result))
        return result


class Sessions(SessionTest):
    def test_the_same_words_again_and_nothing_else(self):
        ident = self.expect_asks("s", "docker", "ps", "-a")
        self.assertIn("for the session", self.nacre("approve", "--session", ident, code=0).stdout)
        for _ in range(3):
            self.assertEqual(self.expect_runs("s", "docker", "ps", "-a")["stdout"], "docker ps -a\n")
        for words in (("ps",), ("ps", "-a", "-q"), ("run", "x"), ("--host", "x", "ps", "-a")):
            self.expect_asks("s", "docker", *words)
        self.expect_asks("t", "docker", "ps", "-a")
        self.ask_id("--", "docker", "ps", "-a")
        self.ask_id("--session", "s", "--env", "DOCKER_HOST=x", "--", "docker", "ps", "-a")
        (self.work / "sub").mkdir()
        self.ask_id("--session", "s", "--cwd", "sub", "--", "docker", "ps", "-a")
        self.ask_id("--session", "s", "-c", "docker ps -a; touch x")
        self.ask_id("--session", "s", "-c", "docker ps -a >x")

    def test_what_stands_around_it_is_not_covered(self):
        """Found by trying: a grant for docker ps once covered it in another directory of the line's choice."""
        (self.work / "sub").mkdir()
        self.program(self.work / "sub" / "run.sh", "echo false")
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session", ident, code=0)
        self.program(self.work / "run.sh", "echo true")
        ident = self.expect_asks("s", "./run.sh")
        self.nacre("approve", "--session", ident, code=0)
        self.assertEqual(self.expect_runs("s", "./run.sh")["stdout"], "true\n")
        for line in ("cd sub && docker ps", "export DOCKER_HOST=x; docker ps", "DOCKER_HOST=x; docker ps",
                     "echo x | docker ps", "env -C sub docker ps", "cd sub; ./run.sh", "docker ps; cd sub; ./run.sh"):
            self.ask_id("--session", "s", "-c", line)
        self.ask_id("--session", "s", "--input", "x", "--", "docker", "ps")
        self.write_config("other.yaml", "profile: other\ninherits: asker\nsandbox: {network: host}\n")
        self.ask_id("--profile", "other", "--session", "s", "--", "docker", "ps")
        self.expect_runs("s", "docker", "ps")

    def test_a_sub_command_and_no_sibling(self):
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session=sub", ident, code=0)
        self.assertEqual(self.expect_runs("s", "docker", "ps", "-a", "-q")["stdout"], "docker ps -a -q\n")
        for words in (("run", "x"), ("psx",), ("--debug", "ps"), ("exec", "ps")):
            self.expect_asks("s", "docker", *words)

    def test_it_ends_with_the_program(self):
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session", ident, code=0)
        self.expect_runs("s", "docker", "ps")
        self.docker.write_text("#!/bin/sh\necho another\n")
        self.expect_asks("s", "docker", "ps")
        # So it is with one that comes to stand in front of it.
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session", ident, code=0)
        self.expect_runs("s", "docker", "ps")

    def test_what_runs_anything_is_approved_for_once_only(self):
        (self.work / "x.py").write_text("print(1)\n")
        for words in (("python3", "x.py"), ("sh", "-c", "docker ps")):
            ident = self.expect_asks("s", *words)
            done = self.nacre("approve", "--session", ident, code=125)
            self.assertIn("approve it for once", done.stderr)
            self.assertEqual(self.state_of(ident), "open")
            self.assertNotIn("session", json.loads(
                self.nacre("approvals", "--json", ident, code=0).stdout)["answers"])
        ident = self.ask_id("--", "docker", "ps")
        self.assertIn("no session", self.nacre("approve", "--session", ident, code=125).stderr)

    def test_who_waits_runs_too_and_the_grant_stays(self):
        popen, ident = self.waiting("--session", "s", "--", "docker", "ps")
        self.nacre("approve", "--session", ident, code=0)
        self.assertEqual(self.result(popen)["exit_code"], 0)
        self.expect_runs("s", "docker", "ps")

    def grants(self):
        return json.loads(self.nacre("approvals", "--grants", "--json", code=0).stdout)["grants"]

    def test_what_holds_is_listed_and_can_be_taken_back(self):
        self.assertEqual(self.grants(), [])
        self.assertIn("nothing is approved", self.nacre("approvals", "--grants", code=0).stdout)
        exact = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session", exact, code=0)
        sub = self.expect_asks("s", "docker", "images", "-q")
        self.nacre("approve", "--session=sub", sub, code=0)
        other = self.expect_asks("t", "docker", "ps")
        self.nacre("approve", "--session", other, code=0)
        once = self.expect_asks("s", "touch", "x")
        self.nacre("approve", once, code=0)
        self.assertEqual({(g["approval"], g["session"], g["answer"], g["principal"], g["holds"]) for g in self.grants()},
                         {(exact, "s", "session", "", True), (sub, "s", "sub", "", True), (other, "t", "session", "", True)})
        table = self.nacre("approvals", "--grants", code=0).stdout
        self.assertRegex(table, rf"(?m)^{exact} +s +you +these words +'docker' 'ps'$")
        self.assertRegex(table, rf"(?m)^{sub} +s +you +any words +'docker' 'images' '-q'$")
        done = self.nacre("approvals", "--revoke", exact.upper().replace("AP-", ""), code=0)
        self.assertIn(f"{exact} revoked for session s: 'docker' 'ps'", done.stdout)
        self.expect_asks("s", "docker", "ps")
        self.expect_runs("s", "docker", "images")
        self.expect_runs("t", "docker", "ps")
        for ident in (exact, once, "ap-0000000000", "x"):
            self.assertIn("granted nothing", self.nacre("approvals", "--revoke", ident, code=125).stderr)
        self.assertEqual(len(self.nacre("approvals", "--revoke", "--json", sub, other, code=0).stdout.splitlines()), 2)
        self.assertEqual(self.grants(), [])
        self.assertEqual(list((self.state / "grants").iterdir()), [])
        self.expect_asks("s", "docker", "images")
        records = json.loads(self.nacre("audit", "show", "--event", "refused", "--json", code=0).stdout)["records"]
        self.assertEqual([(r["approval"], r["answer"], r["session"]) for r in records],
                         [(exact, "revoked", "s"), (sub, "revoked", "s"), (other, "revoked", "t")])
        self.assertIn("--revoke", records[0]["by"])
        for words in (["--revoke"], ["--grants", "x"], ["--grants", "--all"], ["--revoke", "--watch", "x"]):
            self.nacre("approvals", *words, code=125)

    def test_an_interpreter_by_any_name_is_approved_for_once_only(self):
        for name in ("perl5.36.0", "tclsh8.6", "lua5.4", "luajit", "gmake", "python3.11"):
            shutil.copy("/bin/true", self.bin / name)
        (self.bin / "linked").symlink_to("/usr/bin/env")
        (self.bin / "langue").symlink_to(shutil.which("perl"))
        shutil.copy("/bin/true", self.work / "own")
        (self.work / "x").touch()
        self.write_config("asker.yaml", "profile: asker\ninherits: bash\nsandbox: {mode: none}\nask: ['*']\n")
        for words in (("perl5.36.0", "x"), ("tclsh8.6", "x"), ("lua5.4", "x"), ("luajit", "x"), ("gmake", "-fx"), ("python3.11", "x"),
                      ("linked", "x"), ("langue", "x"), ("./own", "x"), (str(self.work / "own"), "x"), ("vim", "-es", "x")):
            ident = self.expect_asks("s", *words)
            answers = json.loads(self.nacre("approvals", "--json", ident, code=0).stdout)["answers"]
            self.assertEqual(answers, ["deny", "once"], words)

    def test_a_grant_is_its_principals(self):
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session", ident, code=0)
        grants = self.state / "grants" / "s.json"
        text = grants.read_text()
        grants.write_text(text.replace('"principal": ""', '"principal": "other"'))
        self.expect_runs("s", "docker", "ps")  # by the answer itself, which is good for one run
        self.expect_asks("s", "docker", "ps")
        grants.write_text(text)
        self.expect_runs("s", "docker", "ps")

    def test_a_running_server_heeds_what_is_taken_back(self):
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session", ident, code=0)
        batch = self.start("--batch", "--profile", "asker", "--session", "s", stdin=subprocess.PIPE)
        for number, verdict in enumerate(("allow", "allow", "ask")):
            if verdict == "ask":
                self.nacre("approvals", "--revoke", ident, code=0)
            batch.stdin.write(b'{"id":%d,"argv":["docker","ps"]}\n' % number)
            batch.stdin.flush()
            self.assertEqual(json.loads(batch.stdout.readline())["result"]["verdict"], verdict)
        self.finish(batch)

    def test_a_grant_whose_program_has_changed_is_shown_as_none(self):
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session", ident, code=0)
        self.docker.write_text("#!/bin/sh\necho another\n")
        self.assertFalse(self.grants()[0]["holds"])
        self.assertIn("nothing (1)", self.nacre("approvals", "--grants", code=0).stdout)
        self.nacre("approvals", "--revoke", ident, code=0)
        (self.state / "grants" / "u.json").write_text("[")
        done = self.nacre("approvals", "--grants", code=0)
        self.assertIn("session 'u' cannot be read", done.stderr)

    def test_a_damaged_file_of_grants_grants_nothing(self):
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session", ident, code=0)
        grants = self.state / "grants" / "s.json"
        self.assertEqual(grants.stat().st_mode & 0o777, 0o600)
        text = grants.read_text()
        for bad in (text[:-5], "{}", "[{}]", "[1]", text.replace('"sub": false', '"sub": 3')):
            grants.write_text(bad)
            self.assertNotEqual(self.run_in("s", "docker", "ps")["exit_code"], 0)
        grants.write_text(text)
        self.expect_runs("s", "docker", "ps")
        grants.chmod(0o640)
        self.assertNotEqual(self.run_in("s", "docker", "ps")["exit_code"], 0)


class Typed(SessionTest):
    """What is typed into a program is no part of what was approved."""

    COMMANDS = "docker, cat"

    def records(self, event):
        return json.loads(self.nacre("audit", "show", "--event", event, "--json", "--all", code=0).stdout)["records"]

    def begin(self, *args):
        result = self.ask("--background", "--pty", *args)
        self.assertTrue(result["success"], result)
        task = result["task_id"]
        self.addCleanup(self.nacre, "stop", "--now", task)
        return task

    def end(self, task):
        return json.loads(self.nacre("output", task, "--wait", f"{DEADLINE}s", "--json", code=0).stdout)

    def test_a_grant_does_not_cover_one_with_a_terminal(self):
        ident = self.expect_asks("s", "docker", "ps")
        self.nacre("approve", "--session=sub", ident, code=0)
        ident = self.expect_asks("s", "docker", "images")
        self.nacre("approve", "--session", ident, code=0)
        self.expect_runs("s", "docker", "ps")
        self.expect_runs("s", "docker", "images")
        for more in (("--pty",), ("--pty", "--background"), ("--pty=10x20",), ("--pty", "--input", "x\n")):
            self.ask_id("--session", "s", *more, "--", "docker", "ps")
            self.ask_id("--session", "s", *more, "--", "docker", "images")
        line = json.dumps({"argv": ["docker", "ps"], "pty": True}).encode()
        done = self.run_nacre("--profile", "asker", "--session", "s", "--batch", input=line + b"\n")
        self.assertNotIn(b'"exit_code":0', done.out)

    def test_there_is_no_grant_for_one_with_a_terminal(self):
        ident = self.ask_id("--session", "s", "--pty", "--", "docker", "ps")
        shown = json.loads(self.nacre("approvals", "--json", ident, code=0).stdout)
        self.assertEqual((shown["terminal"], shown["answers"]), (True, ["deny", "once"]))
        for answer in ("--session", "--session=sub"):
            self.assertIn("approve it for once", self.nacre("approve", answer, ident, code=125).stderr)
        text = self.nacre("approvals", ident, code=0).stdout
        self.assertIn("the agent will type into this program: a yes covers whatever it types", text)
        self.assertIn("for once only: it runs on a terminal", text)

    def test_once_is_for_the_one_that_was_asked_about(self):
        plain, typed = self.ask_id("--", "docker", "ps"), self.ask_id("--pty", "--", "docker", "ps")
        self.assertNotEqual(plain, typed)
        self.assertFalse(json.loads(self.nacre("approvals", "--json", plain, code=0).stdout)["terminal"])
        self.nacre("approve", plain, code=0)
        self.assertEqual(self.ask_id("--pty", "--", "docker", "ps"), typed)
        self.nacre("approve", typed, code=0)
        self.assertEqual(self.ask("--", "docker", "ps")["approval"]["id"], plain)
        self.assertNotEqual(self.ask_id("--", "docker", "ps"), typed)
        self.assertEqual(self.ask("--pty", "--", "docker", "ps")["approval"]["id"], typed)

    def test_what_is_typed_is_in_the_log(self):
        ident = self.ask_id("--background", "--pty", "--", "cat")
        self.nacre("approve", ident, code=0)
        task = self.begin("--", "cat")
        self.nacre("input", task, "hello\n", code=0)
        self.nacre("input", task, "--key", "C-a,Enter", "DB_PASSWORD=hunter2\n", "--eof", code=0)
        self.assertEqual(self.end(task)["exit_code"], 0)
        typed = self.records("typed")
        self.assertEqual([r["input"] for r in typed], ["hello\n", "\x01\rDB_PASSWORD=***\n\x04"])
        self.assertEqual({(r["task_id"], r["approval"]) for r in typed}, {(task, ident)})
        self.assertIn("hello<U+000A>\n", self.nacre("audit", "show", "--event", "typed", code=0).stdout)
        self.assertEqual(self.nacre("audit", "verify").returncode, 0)

    def test_the_input_of_a_request_is_typed_and_in_the_log(self):
        result = self.run_json("--pty", "--input", "b\na\n", "--", "sort", **self.user)
        self.assertEqual(result["exit_code"], 0, result)
        self.assertEqual([r["input"] for r in self.records("typed")], ["b\na\n"])

    def test_what_cannot_be_recorded_does_not_reach_the_program(self):
        result = self.run_json("--background", "--pty", "-c", "echo ready; read x; echo got $x >seen; sleep 60")
        task = result["task_id"]
        self.addCleanup(self.nacre, "stop", "--now", task)
        wait_until("the start", lambda: "ready" in self.nacre("output", task).stdout)
        # Somebody holds the log, and does not let go of it: the keeper waits for a while, then gives up.
        with open(self.state / "audit" / "head", "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.nacre("input", task, "forbidden\n", "--resize", "9x9", code=0)
            wait_until("the order behind it", lambda: json.loads(
                self.nacre("output", task, "--screen", "--json", code=0).stdout)["rows"] == 9)
        self.assertFalse((self.work / "seen").exists())
        self.nacre("input", task, "allowed\n", code=0)
        wait_until("what was typed then", (self.work / "seen").exists)
        self.nacre("stop", "--now", task, code=0)
        self.assertNotIn("forbidden", (self.work / "seen").read_text())
        self.assertNotIn("forbidden", json.dumps(self.records("typed")))
        self.assertIn("could not be recorded, so it was not typed", (self.state / "tasks" / task / "state.json").read_text())


class Shown(ApprovalTest):
    def test_a_refusal_says_each_thing_once(self):
        self.write_config("asker.yaml", "profile: asker\ninherits: bash\nsandbox: {mode: none}\nask: [ls]\n")
        result = self.ask("--", "ls")
        self.assertEqual(result["reason"], f"'ls' needs approval. Run `nacre approve {result['approval']['id']}`, then retry.")

    def test_nothing_hides_in_a_command(self):
        nasty = "touch 'a\u202egpj.exe' 'b\u200b' '\u00a0' x\nls"
        ident = self.ask_id("--description", "harmless\033[8m", "-c", nasty)
        for args in ((), (ident,), ("--json",), ("--json", ident)):
            text = self.nacre("approvals", *args, code=0).stdout
            for code in ("\u202e", "\u200b", "\u00a0", "\033"):
                self.assertNotIn(code, text)
            self.assertIn("<U+202E>", text)
        details = self.nacre("approvals", ident, code=0).stdout
        self.assertIn("asker.yaml:", details)
        self.assertIn("ask:persons", details)
        self.assertIn("harmless<U+001B>[8m", details)
        self.assertIn("for once only", details)

    def test_the_box_that_the_profile_asks_for_is_told(self):
        for mode, more, box, words in (
                ("strict", "", ("strict", "names", "off"), "strict, network by name, as profile asker asks"),
                ("strict, network: none", "", ("strict", "none", "off"), "strict, network none, as profile asker asks"),
                ("landlock, network: host", "docker: {allow: true}\n", ("landlock", "host", "open"),
                 "landlock, network host, container engine within reach, as profile asker asks"),
                ("none, network: none", "", ("none", "host", "open"), "none, network host, as profile asker asks")):
            self.profile(mode=mode, more=more)
            ident = self.ask_id("--", "touch", "x")
            told = json.loads(self.nacre("approvals", "--json", ident, code=0).stdout)
            self.assertEqual((told["sandbox"], told["network"], told["engine"]), box)
            self.assertIn(f"\n  Sandbox    {words}\n", self.nacre("approvals", ident, code=0).stdout)

    def test_the_list_tells_what_is_open(self):
        self.assertEqual(self.nacre("approvals", code=0).stdout, "nothing waits for approval\n")
        first, second = self.ask_id("--", "touch", "x"), self.ask_id("--", "touch", "y")
        self.assertEqual([a["id"] for a in self.open()], [second, first])
        self.nacre("deny", first, code=0)
        self.assertEqual([a["id"] for a in self.open()], [second])
        everything = self.open("--all")
        self.assertEqual([(a["id"], a["state"]) for a in everything],
                         [(second, "open"), (first, "refused")])
        table = self.nacre("approvals", code=0).stdout.splitlines()
        self.assertEqual(len(table), 2)
        self.assertRegex(table[1], rf"^{second}  open +5\dm .* you +'touch' 'y'$")

    def test_one_who_watches_sees_each_as_it_comes(self):
        first = self.ask_id("--", "touch", "x")
        watcher = subprocess.Popen([NACRE, "approvals", "--watch", "--json"], env=self.env, cwd=self.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.started.append(watcher)
        self.assertEqual(json.loads(watcher.stdout.readline())["id"], first)
        second = self.ask_id("--", "touch", "y")
        self.assertEqual(json.loads(watcher.stdout.readline())["id"], second)

    def test_one_who_watches_long_sees_each_once(self):
        """Also when more have come than there can be at one time."""
        self.profile("approval: {keep: 60s}\n")
        watcher = subprocess.Popen([NACRE, "approvals", "--watch", "--json"], env=self.env, cwd=self.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.started.append(watcher)
        first = self.ask_id("--", "touch", "x")
        self.assertEqual(json.loads(watcher.stdout.readline())["id"], first)
        desk = self.state / "approvals"
        template = (desk / f"{first}.json").read_text()
        for number in range(1005):  # come and go
            ident = f"ap-{number:010d}"
            new = desk / f".{ident}"
            new.write_text(template.replace(first, ident))
            new.chmod(0o600)
            new.rename(desk / f"{ident}.json")
            self.assertEqual(json.loads(watcher.stdout.readline())["id"], ident)
            (desk / f"{ident}.json").unlink()
        second = self.ask_id("--", "touch", "y")
        third = self.ask_id("--", "touch", "z")
        self.assertEqual([json.loads(watcher.stdout.readline())["id"] for _ in range(2)], [second, third])
        watcher.kill()
        self.assertEqual(watcher.stdout.read(), "")

    def test_ids_that_are_none(self):
        self.ask_id("--", "touch", "x")
        for ident in ("ap-0000000000", "../../x", "", "ap-", "k-00", "ap-000000000\n"):
            for word in ("approve", "deny", "approvals"):
                done = self.nacre(word, ident, code=125)
                self.assertIn("no such approval", done.stderr)
        self.nacre("approve", code=125)

    def test_a_directory_that_is_not_private_is_not_believed(self):
        ident = self.ask_id("--", "touch", "x")
        (self.state / "approvals").chmod(0o777)
        self.nacre("approve", ident, code=125)
        result = self.ask("--", "touch", "x")
        self.assertEqual(result["exit_code"], 126)
        self.assertIn("not private", result["reason"])
        (self.state / "approvals").chmod(0o700)

    def test_all_files_are_private(self):
        ident = self.ask_id("--", "touch", "x")
        self.nacre("approve", ident, code=0)
        directory = self.state / "approvals"
        self.assertEqual(directory.stat().st_mode & 0o777, 0o700)
        names = sorted(path.name for path in directory.iterdir())
        self.assertEqual(len(names), 3, names)
        for path in directory.iterdir():
            self.assertEqual(path.stat().st_mode & 0o777, 0o600, path)

    def test_one_who_asks_for_everything(self):
        for number in range(64):
            self.ask_id("--", "touch", f"x{number}")
        result = self.ask("--", "touch", "y")
        self.assertEqual(result["exit_code"], 126)
        self.assertIn("answer these first", result["reason"])
        self.assertIsNone(result["approval"])


class Terminal(ApprovalTest):
    """A person before a terminal, played through a pseudo-terminal."""

    def sit(self, *args):
        """nacre run on a terminal of its own; *self.seen* is what it has shown."""
        master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.addCleanup(self.close, slave)
        self.addCleanup(self.close, master)
        self.master, self.slave, self.seen = master, slave, ""

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.run_popen = subprocess.Popen([NACRE, "run", "--profile", "asker", *args], cwd=self.work,
                                          env={**self.env, "TERM": "xterm"}, stdin=slave, stdout=slave,
                                          stderr=slave, preexec_fn=take_terminal)
        self.started.append(self.run_popen)
        return self.run_popen

    def close(self, fd):
        with contextlib.suppress(OSError):
            os.close(fd)

    def read_until(self, text):
        end = time.monotonic() + DEADLINE
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"no {text!r} in {self.seen!r}")
            try:
                self.seen += os.read(self.master, 4096).decode()
            except OSError:
                self.fail(f"the terminal ended before {text!r}: {self.seen!r}")
        return self.seen

    def press(self, keys):
        os.write(self.master, keys.encode())

    def leave(self, code):
        """Waits for the end, reading on: nobody may wait for a reader. The terminal is as it was."""
        def ended():
            ready, _, _ = select.select([self.master], [], [], 0)
            if ready:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.master, 4096).decode()
            return self.run_popen.poll() is not None
        wait_until("nacre ends", ended)
        self.assertEqual(self.run_popen.returncode, code, self.seen)
        self.assertEqual(termios.tcgetattr(self.slave), self.before)

    def test_once(self):
        self.sit("-c", "touch x; echo out")
        text = self.read_until("xplain? ")
        for part in ("touch", "is asked about in this test", "asker.yaml:", "[o]nce  [d]eny",
                     "  Sandbox    none, network host, as profile asker asks"):
            self.assertIn(part, text)
        self.assertNotIn("ession", text)
        self.assertFalse((self.work / "x").exists())
        self.press("o")
        self.read_until("out\r\n")
        self.leave(0)
        self.assertTrue((self.work / "x").exists())
        self.assertRegex(self.open("--all")[0]["answered_by"], r"^uid \d+ on /dev/pts/\d+$")

    def test_for_the_session(self):
        self.program(self.bin / "docker", "echo yes")
        self.sit("--session", "s", "--", "docker", "ps")
        self.read_until("[o]nce  for the [s]ession  [d]eny  [e]xplain? ")
        self.press("s")
        self.leave(0)
        self.assertEqual(self.ask("--session", "s", "--", "docker", "ps")["exit_code"], 0)

    def test_no(self):
        for key in ("d", "\x03", "\x04"):
            self.sit("--", "touch", "x")
            self.read_until("xplain? ")
            self.press(key)
            self.leave(126)
            self.assertFalse((self.work / "x").exists())
            self.assertEqual(self.open(), [])

    def test_explained_first(self):
        (self.work / "data").write_text("x")
        self.sit("--env", "MARK=7", "--env", "MY_TOKEN=geheim", "--env", "db_password=geheim", "--", "touch", "data")
        self.read_until("xplain? ")
        self.press("xyz\re")
        text = self.read_until("no session.\r\n[o]nce")
        for part in ("/data", "MARK=7", "MY_TOKEN=***", "db_password=***", "bin/touch"):
            self.assertIn(part, text)
        self.assertNotIn("geheim", text)
        self.press("d")
        self.leave(126)

    def test_an_answer_from_elsewhere(self):
        for word, code in (("approve", 0), ("deny", 126)):
            self.sit("--", "touch", f"x{word}")
            self.read_until("xplain? ")
            self.nacre(word, self.open()[0]["id"], code=0)
            self.leave(code)

    def test_what_was_typed_before_is_no_answer(self):
        self.sit("--", "touch", "x")
        # The question has not been shown yet, as a rule; what comes later is thrown away as well.
        self.press("z")
        self.read_until("xplain? ")
        self.assertIsNone(self.run_popen.poll())
        self.press("d")
        self.leave(126)

    def test_what_the_terminal_says_by_itself_is_no_answer(self):
        """Found by trying: one that was told to report its focus said yes when the person looked elsewhere."""
        self.program(self.bin / "docker", "echo yes")
        self.sit("--session", "s", "--", "docker", "ps")
        self.read_until("xplain? ")
        for keys in ("\033[O", "\033OO", "\033Os", "\033o", "\033]11;rgb:dddd/eeee/0000\a", "\033P>|foot(1.16.2)\033\\",
                     "\033[200~once\033[201~", "\u00f6o", "so so"):
            self.press(keys)
            time.sleep(0.05)
        time.sleep(0.5)
        self.assertIsNone(self.run_popen.poll(), self.seen)
        self.assertEqual(len(self.open()), 1)

        def said_yes():  # as often as it takes: shortly behind such a sequence nothing is a key
            self.press("o")
            time.sleep(0.5)
            return not self.open()
        wait_until("a key is a key again", said_yes)
        self.leave(0)

    def test_the_time_is_over(self):
        self.profile("approval: {timeout: 500ms}\n")
        self.sit("--", "touch", "x")
        self.leave(126)
        self.assertIn("in time", self.seen)

    def test_the_standard_input_stays_the_commands(self):
        master, slave = pty.openpty()
        self.addCleanup(self.close, slave)
        self.addCleanup(self.close, master)
        self.master, self.slave, self.seen, self.before = master, slave, "", termios.tcgetattr(slave)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.run_popen = subprocess.Popen([NACRE, "run", "--profile", "asker", "--stdin", "--", "tee", "x"],
                                          cwd=self.work, env=self.env, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=slave, preexec_fn=take_terminal)
        self.started.append(self.run_popen)
        self.run_popen.stdin.write(b"ddd\n")
        self.run_popen.stdin.close()
        self.run_popen.stdin = None
        self.read_until("xplain? ")
        self.assertIn("nobody has looked at", self.seen)
        self.press("o")
        self.leave(0)
        self.assertEqual(self.run_popen.stdout.read(), b"ddd\n")

    def test_a_command_with_a_terminal_of_its_own(self):
        self.sit("--pty", "-c", "touch x; read -p 'name? ' name; echo \"hello $name\"")
        self.read_until("xplain? ")
        self.press("o")
        self.read_until("once\r\nname? ")  # not the one in the question
        self.press("od\r")
        self.read_until("hello od\r\n")
        self.leave(0)

    def test_the_terminal_is_put_back_after_a_kill(self):
        self.sit("--", "touch", "x")
        self.read_until("xplain? ")
        self.assertNotEqual(termios.tcgetattr(self.slave), self.before)
        self.run_popen.kill()
        self.run_popen.wait(DEADLINE)
        wait_until("the terminal is as it was", lambda: termios.tcgetattr(self.slave) == self.before)
        self.assertEqual(len(self.open()), 1)

    def test_the_terminal_goes_away(self):
        self.sit("--", "touch", "x")
        self.read_until("xplain? ")
        os.close(self.master)
        self.assertNotEqual(self.run_popen.wait(DEADLINE), 0)
        self.assertFalse((self.work / "x").exists())

    def test_with_json_nobody_is_asked(self):
        self.sit("--json", "--", "touch", "x")
        self.leave(126)
        self.assertNotIn("xplain", self.seen)


ATTACKER = r'''
import glob, os, socket, subprocess, sys
state, ident, nacre = sys.argv[1:4]
def attempt(name, action):
    try:
        answer = action()
    except Exception as error:
        answer = None
    if answer:
        print("GOT", name, repr(answer)[:200], flush=True)
def write(path, text):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return path
ANSWER = '{"answer":"once","by":"the command","at_ms":1}\n'
roots = ["", "/proc/1/root", "/proc/self/root", f"/proc/{os.getppid()}/root", "/proc/1/cwd", "..", "../../..", "/proc/self/cwd/.."]
for root in roots:
    base = root + state
    attempt(f"list {root}", lambda: os.listdir(base + "/approvals"))
    attempt(f"state {root}", lambda: os.listdir(base))
    attempt(f"read {root}", lambda: open(f"{base}/approvals/{ident}.json").read())
    attempt(f"answer {root}", lambda: write(f"{base}/approvals/{ident}.answer", ANSWER))
    attempt(f"grants {root}", lambda: write(f"{base}/grants/s.json", "[]"))
    for sock in glob.glob(f"{base}/tasks/*/sock"):
        def knock(path=sock):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.connect(path)
            return path
        attempt(f"socket {root}", knock)
for fd in range(3, 256):
    attempt(f"descriptor {fd}", lambda: state in os.readlink(f"/proc/self/fd/{fd}"))
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    attempt(f"root of {pid}", lambda: os.listdir(f"/proc/{pid}/root{state}/approvals"))
    attempt(f"cwd of {pid}", lambda: os.listdir(f"/proc/{pid}/cwd/approvals"))
for extra in ({}, {"NACRE_STATE_DIR": state}, {"HOME": os.path.dirname(state)}, {"XDG_STATE_HOME": os.path.dirname(state)}):
    for words in (["approve", ident], ["approve", "--session", ident], ["deny", ident], ["approvals", ident]):
        def call():
            done = subprocess.run([nacre, *words], env={**os.environ, **extra}, capture_output=True, text=True)
            return done.returncode == 0 and done.stdout
        attempt(f"nacre {words} {extra}", call)
# In a /tmp of its own it can make what it likes: what counts is what is seen from outside.
for root in roots:
    for action in (lambda: os.makedirs(root + state + "/approvals"),
                   lambda: open(f"{root}{state}/approvals/{ident}.answer", "w").write(ANSWER),
                   lambda: os.rename(root + state, root + state + ".old"),
                   lambda: os.remove(f"{root}{state}/approvals/{ident}.json")):
        try:
            action()
        except OSError:
            pass
print("TRIED", flush=True)
'''


class Inside(ApprovalTest):
    """A command in its box tries to answer for a person, and to read what others have asked."""
    MODE = "strict"

    def attack(self, ordinary, more=""):
        if ordinary:
            self.user = self.as_ordinary_user()
            for path in (self.config, self.config / "nacre", self.bin, *self.config.glob("nacre/*")):
                os.chown(path, os.stat(self.dir).st_uid, os.stat(self.dir).st_uid)
        ident = self.ask_id("--session", "s", "--", "touch", "x")
        shutil.copy(self.user.get("program", NACRE), self.work / "nacre-copy")
        (self.work / "attack.txt").write_text(ATTACKER)
        result = self.run_json("--profile", "plain", "--timeout", ample(60), "--", "python3", "attack.txt",
                               str(self.state), ident, "./nacre-copy", **self.user)
        self.assertIn("TRIED\n", result["stdout"], result)
        got = [line for line in result["stdout"].splitlines() if line.startswith("GOT")]
        self.assertEqual(got, [], result["sandbox"])
        self.assertEqual(self.state_of(ident), "open")
        self.assertFalse((self.state / "grants").exists())
        return result

    def test_the_attempts_work_where_nothing_stops_them(self):
        ident = self.ask_id("--session", "s", "--", "touch", "x")
        done = subprocess.run([PYTHON, "-c", ATTACKER, str(self.state), ident, NACRE], env=self.env,
                              cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE, check=True)
        for name in ("list ", "state ", "read ", "answer ", "nacre ['approvals'"):
            self.assertIn(f"GOT {name}", done.stdout)

    def plain(self, mode):
        self.write_config("plain.yaml", f"profile: plain\ninherits: bash\nsandbox: {{mode: {mode}}}\n")

    def test_full_box_root(self):
        self.plain("strict")
        self.assertEqual(self.attack(False)["sandbox"]["tier"], "strict")

    def test_full_box_user(self):
        self.plain("strict")
        self.attack(True)

    def test_landlock_root(self):
        self.plain("landlock")
        self.assertEqual(self.attack(False)["sandbox"]["tier"], "landlock")

    def test_landlock_user(self):
        self.plain("landlock")
        self.assertEqual(self.attack(True)["sandbox"]["tier"], "landlock")

    def test_an_approved_command_cannot_approve_the_next(self):
        """Also not itself: its own approval is used up before it runs."""
        self.profile(mode="strict")
        (self.work / "code.py").write_text("print(1)\n")
        popen, ident = self.waiting("--", "python3", "code.py")
        self.nacre("approve", ident, code=0)
        self.assertEqual(self.result(popen)["stdout"], "1\n")
        self.assertEqual(self.state_of(ident), "used")

    def test_without_a_box_the_program_refuses_at_least(self):
        self.write_config("plain.yaml", "profile: plain\ninherits: bash\nsandbox: {mode: none}\n")
        self.profile(mode="none")
        ident = self.ask_id("--", "touch", "x")
        line = (f"export NACRE_STATE_DIR='{self.state}'; '{NACRE}' approve {ident}; echo $?; "
                f"setsid '{NACRE}' approve {ident}; echo $?; (setsid '{NACRE}' deny {ident} &); wait")
        result = self.run_json("--profile", "plain", "-c", line)
        self.assertIn("125\n125\n", result["stdout"], result)
        self.assertIn("a command that nacre runs cannot approve or deny anything", result["stderr"])
        self.assertEqual(self.state_of(ident), "open")


if __name__ == "__main__":
    unittest.main()
