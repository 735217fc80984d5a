"""Sessions: working directory and exported variables persist between calls of one id."""
import json
import os
import subprocess
import time
import unittest

from helpers import DEADLINE, NACRE, NacreTest, wait_until
from mcp_client import Client


class SessionTest(NacreTest):
    MODE = "none"

    def setUp(self):
        super().setUp()
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: {self.MODE}}}\n")
        (self.work / "sub" / "deep").mkdir(parents=True)
        self.options = {}

    def call(self, line, *options, session="s", **more):
        result = self.run_json("--session", session, *options, "-c", line, **{**self.options, **more})
        if self.MODE == "landlock" and result["exit_code"] == 125:
            self.skipTest(f"landlock: {result['reason']}")
        return result

    def where(self, session="s"):
        result = self.call("pwd", session=session)
        return result["stdout"].rstrip("\n").removeprefix(str(self.work)) or "/"

    def stored(self, session="s"):
        return json.loads((self.state / "sessions" / f"{session}.json").read_text())


class Calls(SessionTest):
    """`nacre call` as an agent's program uses it."""

    def tool(self, parameters, *options, **env):
        return subprocess.run([NACRE, "call", *options, "Bash", json.dumps(parameters)], cwd=self.work, env={**self.env, **env},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=False)

    def test_they_can_share_a_session(self):
        self.assertEqual(self.tool({"command": "cd sub; export A=1"}, "--session", "s").returncode, 0)
        for done in (self.tool({"command": "echo $A; pwd"}, "--session", "s"),
                     self.tool({"command": "echo $A; pwd"}, NACRE_SESSION="s")):
            self.assertEqual(json.loads(done.stdout)["stdout"], f"1\n{self.work}/sub\n", done)
        self.assertEqual(json.loads(self.tool({"command": "echo $A"}).stdout)["stdout"], "\n")
        self.assertEqual(self.tool({"command": "true"}, "--session", "../s").returncode, 125)

    def test_wrong_parameters_are_answered_in_the_format_of_the_tool(self):
        for tool, parameters, words in (("Bash", {"comand": "ls"}, "did you mean 'command'"), ("run_shell", {}, "'command' is missing"),
                                        ("safe_shell", {"command": 1}, "'command'"), ("shell", [], "object")):
            done = subprocess.run([NACRE, "call", tool, json.dumps(parameters)], cwd=self.work, env=self.env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
            answer = json.loads(done.stdout)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(words, answer.get("reason") or answer["stderr"], done)
            self.assertEqual(answer.get("exit_code", answer.get("returncode")), 125)
            self.assertIn(words.encode(), done.stderr)


class Ending(SessionTest):
    """Nobody says that a session is over: what was not used for long goes, and never one that is in use."""

    def make(self, session, days):
        """A session as it was left so many days ago."""
        path = self.state / "sessions" / f"{session}.json"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text('{"set": {"KEPT": "yes"}}')
        path.chmod(0o600)
        at = time.time() - days * 86400
        os.utime(path, (at, at))
        return path

    def setUp(self):
        super().setUp()
        self.state.mkdir(mode=0o700)

    def test_of_many_old_ones_none_is_left(self):
        for i in range(20):
            self.make(f"old-{i}", 8)
        young = self.make("young", 6)
        self.call("export X=1", session="new")
        self.assertEqual({path.stem for path in young.parent.glob("*.json")}, {"young", "new"})

    def test_there_are_never_more_than_so_many(self):
        for i in range(600):
            self.make(f"s{i}", i / 100)  # the last is the oldest
        self.call("export X=1", session="new")
        left = {path.stem for path in (self.state / "sessions").glob("*.json")}
        self.assertEqual(left, {"new", *(f"s{i}" for i in range(511))})
        self.assertEqual(self.call("echo $KEPT", session="s510")["stdout"], "yes\n")

    def test_it_is_swept_where_tasks_are(self):
        self.make("young", 1)
        old = self.make("old", 8)
        self.run_json("-c", "seq 100000")  # is kept, so that there is something to sweep
        wait_until("it is gone", lambda: not old.exists())
        old = self.make("old", 3)
        subprocess.run([NACRE, "tasks", "--clean", "--older-than", "48h"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual({path.stem for path in old.parent.glob("*.json")}, {"young"})

    def test_what_a_client_has_is_not_old(self):
        """A server that was idle for a month has its session when its client comes back."""
        path = self.make("mine", 30)
        c = Client(self, "--session", "mine")
        c.initialize()
        self.make("mine", 30)
        self.call("export X=1", session="new")
        self.run_json("-c", "seq 100000")
        subprocess.run([NACRE, "tasks", "--clean"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.assertTrue(path.exists())
        self.assertIn("yes", c.text("Bash", {"command": "echo $KEPT"}))
        c.close()
        self.make("mine", 30)
        subprocess.run([NACRE, "tasks", "--clean"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.assertFalse(path.exists())

    def test_what_a_command_has_is_not_old(self):
        path = self.make("mine", 1)
        running = self.start("--session", "mine", "-c", "echo >begun; until [ -e go ]; do sleep 0.05; done; export NEW=1")
        self.wait_for_file(self.work / "begun")
        self.make("mine", 30)
        self.call("export X=1", session="new")
        self.assertTrue(path.exists())
        (self.work / "go").touch()
        self.assertEqual(self.finish(running).code, 0)
        self.assertEqual(self.stored("mine")["set"], {"KEPT": "yes", "NEW": "1"})

    def test_using_it_keeps_it_young(self):
        path = self.make("mine", 6)
        self.assertEqual(self.call("echo $KEPT", session="mine")["stdout"], "yes\n")
        self.assertLess(time.time() - path.stat().st_mtime, 3600)


class Keeping(SessionTest):
    """In every box: what is kept, and after which ends."""

    def expect(self, line, code=0, cwd="/sub", **more):
        result = self.call(line, **more)
        self.assertEqual(result["exit_code"], code, result)
        self.assertEqual(self.where(), cwd)
        return result

    def test_directory_and_variables_after_any_end(self):
        self.expect("cd sub; export A='x  y' B=$'1\\n2\\t\"$`\\\\é'; exit 3", 3)
        self.assertEqual(self.call('printf %s "$A|$B"')["stdout"], "x  y|1\n2\t\"$`\\é")
        self.expect("cd deep; set -e; false; cd /", 1, "/sub/deep")
        self.expect("cd ..; kill -TERM $$; sleep 100", 143)
        self.expect("cd deep; echo ${nothing:?}", 127, "/sub/deep")

    def test_a_time_limit_keeps_what_was_reached(self):
        result = self.in_time((self.work / "ready").exists, lambda limit: self.call(
            f"cd {self.work}/sub; export X=1; echo >../ready; sleep 1000", "--timeout", limit))
        self.assertEqual((result["exit_code"], result["timed_out"]), (124, True))
        self.assertEqual(self.where(), "/sub")
        self.assertEqual(self.call("echo $X")["stdout"], "1\n")

    def test_sigkill_and_exec_keep_the_state_before(self):
        self.expect("cd sub; export A=1")
        self.expect("cd deep; A=2; kill -KILL $$", 137)
        self.expect("cd deep; A=2; exec true")
        self.assertEqual(self.call("echo $A")["stdout"], "1\n")

    def test_traps_options_and_functions_of_the_line(self):
        result = self.expect("set -eu; trap 'echo bye $?; cd sub' EXIT; false", 1)
        self.assertEqual(result["stdout"], "bye 1\n")
        result = self.expect("trap 'exit 7' EXIT; cd deep", 7, "/sub/deep")
        result = self.expect("trap 'echo never' EXIT; trap - EXIT; trap -p; cd ..")
        self.assertEqual(result["stdout"], "")
        result = self.expect("trap 'echo \"it'\\''s\"' EXIT; (trap 'echo in' EXIT); trap -p EXIT")
        self.assertEqual(result["stdout"], "in\ntrap -- 'echo \"it'\\''s\"' EXIT\nit's\n")
        self.expect("printf() { echo no; }; pwd() { echo no; }; export() { :; }; cd deep", 0,
                    "/sub/deep")
        result = self.expect("set -x; cd ..")
        self.assertEqual(result["stderr"], "+ cd ..\n")
        result = self.expect("trap 'echo err' ERR; false; cd deep", 0, "/sub/deep")
        self.assertEqual(result["stdout"], "err\n")
        result = self.expect("set -o posix; set -C; set -a; Z=5; cd ..")
        self.assertEqual(self.call("echo $Z")["stdout"], "5\n")
        result = self.call("echo $LINENO; nothing-like-this")
        self.assertEqual(result["stdout"], "1\n")
        self.assertIn("line 1: nothing-like-this", result["stderr"])

    def test_what_is_unset_stays_so_and_comes_back(self):
        self.expect("export A=1 B=2; unset LANG; cd sub")
        self.expect("unset A; export -n B")
        self.assertEqual(self.call("echo ${A-no} ${B-no} ${LANG-no}")["stdout"], "no no no\n")
        self.call("export LANG=C A=3")
        self.assertEqual(self.call("echo $A $LANG")["stdout"], "3 C\n")

    def test_a_directory_that_vanished_or_left_is_reset_with_a_notice(self):
        def notices(line):
            return " ".join(self.call(line)["notices"])
        self.assertIn("is gone", notices("mkdir gone; cd gone; rmdir ../gone"))
        self.assertEqual(self.where(), "/")
        left = self.call("cd /usr")
        if left["room"]:  # see test_away.py
            self.assertEqual(left["notices"], [])
            self.assertEqual(self.call(f"pwd; cd {self.work}")["stdout"], "/usr\n")
        else:
            self.assertIn("not in the workspace", " ".join(left["notices"]))
        self.assertEqual(self.where(), "/")
        self.assertEqual(notices("mkdir gone; cd gone"), "")
        (self.work / "gone").rmdir()
        self.assertIn("goes back to the workspace", notices("pwd"))
        self.assertEqual(notices("pwd"), "")
        self.assertEqual(notices("mkdir later; cd later"), "")
        (self.work / "later").rmdir()
        (self.work / "later").symlink_to("/usr")
        result = self.call("pwd")
        self.assertEqual(result["stdout"], f"{self.work}\n")
        self.assertIn("outside of the workspace", " ".join(result["notices"]))


class KeepingInABox(Keeping):
    MODE = "strict"


class KeepingBehindLandlock(Keeping):
    MODE = "landlock"


class KeepingAsAUser(Keeping):
    MODE = "strict"

    def setUp(self):
        super().setUp()
        self.options = self.as_ordinary_user()
        for path in self.work.rglob("*"):
            os.chown(path, self.options.get("user", -1), self.options.get("group", -1))


class Rules(SessionTest):
    def test_a_call_has_its_own_directory_and_variables_for_itself(self):
        self.call("cd sub; export A=1")
        result = self.call("pwd; echo $A $B", "--cwd", "sub/deep", "--env", "A=2", "--env", "B=3")
        self.assertEqual(result["stdout"], f"{self.work}/sub/deep\n2 3\n")
        self.assertEqual(self.call("pwd; echo $A ${B-no}")["stdout"], f"{self.work}/sub\n1 no\n")

    def test_words_and_single_programs_use_the_session(self):
        self.call("cd sub; export A=1")
        self.assertEqual(self.run_json("--session", "s", "--", "pwd")["stdout"],
                         f"{self.work}/sub\n")
        self.assertEqual(self.run_json("--session", "s", "--", "printenv", "A")["stdout"], "1\n")

    def test_sessions_do_not_see_each_other(self):
        self.call("cd sub; export A=1", session="one")
        self.call("cd sub/deep; export A=2", session="two")
        self.assertEqual(self.call("pwd; echo $A", session="one")["stdout"], f"{self.work}/sub\n1\n")
        self.assertEqual(self.run_json("-c", "pwd; echo ${A-no}")["stdout"], f"{self.work}\nno\n")

    def test_names_that_change_what_runs_are_never_kept(self):
        result = self.call("export LD_PRELOAD=/x.so BASH_ENV=/x IFS=: PS4=x GOOD=1 NACRE_STATE_DIR=/x; "
                           "f() { :; }; export -f f")
        self.assertIn("LD_PRELOAD is not kept", " ".join(result["notices"]))
        self.assertEqual(set(self.stored()["set"]) - {"OLDPWD"}, {"GOOD"})
        # Not even from a file that says so.
        path = self.state / "sessions" / "s.json"
        path.write_text(json.dumps({"set": {"LD_PRELOAD": "/x.so", "A=B": "1", "GOOD": "2",
                                            "BASH_FUNC_f%%": "() { :; }", "N": 5}, "unset": [1, "X Y"],
                                    "cwd": "/usr", "workspace": str(self.work)}))
        result = self.call("pwd; env")
        self.assertIn("GOOD=2\n", result["stdout"])
        self.assertTrue(result["stdout"].startswith(f"{self.work}\n"))
        for name in ("LD_PRELOAD", "BASH_FUNC", "A=B"):
            self.assertNotIn(name, result["stdout"])

    def test_an_id_is_a_name_and_nothing_else(self):
        for bad in ("", ".", "..", "../x", "a/b", ".hidden", "a b", "a\nb", "é", "x" * 65):
            done = self.run_nacre("--session", bad, "-c", "true")
            self.assertEqual(done.code, 125, bad)
        request = json.dumps({"command": "true", "session": "../x"}).encode()
        done = self.run_nacre("--batch", input=request)
        self.assertIn("session", json.loads(done.out)["result"]["reason"])
        self.assertEqual(self.call("true", session="A-z_0.9" + "x" * 57)["exit_code"], 0)

    def test_files_are_private(self):
        self.call("cd sub")
        self.assertEqual((self.state / "sessions").stat().st_mode & 0o777, 0o700)
        path = self.state / "sessions" / "s.json"
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        path.chmod(0o644)
        result = self.call("pwd")
        self.assertIn("not private", " ".join(result["notices"]))
        self.assertEqual(result["stdout"], f"{self.work}\n")

    def test_a_damaged_file_starts_the_session_anew(self):
        self.call("cd sub")
        path = self.state / "sessions" / "s.json"
        path.write_text('{"cwd": "su')
        result = self.call("pwd; export A=1")
        self.assertIn("starts anew", " ".join(result["notices"]))
        self.assertEqual(self.stored()["set"], {"A": "1"})
        path.unlink()
        path.mkdir()
        result = self.call("cd sub")
        self.assertEqual(result["exit_code"], 0)
        self.assertIn("could not be kept", " ".join(result["notices"]))

    def test_too_much_is_not_kept_and_the_rest_is(self):
        self.call("export A=1")
        result = self.call("cd sub; for i in {1..300}; do export V$i=x; done")
        self.assertIn("too many", " ".join(result["notices"]))
        self.assertEqual(set(self.stored()["set"]) - {"OLDPWD"}, {"A"})
        self.assertEqual(self.stored()["cwd"], "sub")
        result = self.call("export BIG=$(head -c 140000 /dev/zero | tr '\\0' x)")
        self.assertIn("too long", " ".join(result["notices"]))
        result = self.call("head -c 3000000 /dev/zero >&252; cd deep")
        self.assertIn("as it was", " ".join(result["notices"]))
        self.assertEqual(self.where(), "/sub")

    def test_noise_on_the_descriptor_is_no_state(self):
        lines = ["echo junk >&252",
                 "printf '\\0nacre-session 1\\0declare -x A=\"1\\0/\\0end\\0' >&252",
                 "printf '\\0nacre-session 1\\0rm -rf /\\0/usr\\n\\0end\\0' >&252; exec true",
                 "printf '\\0nacre-session 1\\0declare -x ../x=\"1\"\\n\\0/usr\\n\\0end\\0' >&252; exec true",
                 "printf '\\0nacre-session 1\\0' >&252", "exec 252>&-"]
        self.call("cd sub")
        for line in lines:
            self.assertEqual(self.call(line)["exit_code"], 0, line)
            self.assertEqual(self.stored()["cwd"], "sub", line)
            self.assertEqual(set(self.stored()["set"]), {"OLDPWD"}, line)

    def test_other_members_of_the_file_stay(self):
        self.call("cd sub")
        path = self.state / "sessions" / "s.json"
        path.write_text(json.dumps({**self.stored(), "grants": [{"x": 1}]}))
        self.call("cd deep")
        self.assertEqual(self.stored()["grants"], [{"x": 1}])
        self.assertEqual(self.stored()["cwd"], "sub/deep")

    def test_another_workspace_starts_in_its_root(self):
        self.call("cd sub; export A=1")
        other = self.dir / "other"
        (other / "sub").mkdir(parents=True)
        result = self.call("pwd; echo $A", "--workspace", str(other))
        self.assertEqual(result["stdout"], f"{other}\n1\n")
        self.assertIn("another workspace", " ".join(result["notices"]))

    def test_the_policy_sees_what_the_session_sets(self):
        self.call("export PATH=$PWD/bin:$PATH")
        done = self.run_nacre("--profile", "universal", "--workspace", str(self.work), "--session", "s",
                              "-c", "ls | cat")
        self.assertEqual(done.code, 126, done)
        self.assertIn(b"PATH", done.err)
        for name in ("XDG_CONFIG_HOME", "CURL_HOME", "WGETRC", "VIMINIT", "MAKEFILES", "_JAVA_OPTIONS"):
            self.call(f"export {name}=$PWD/x", session=name)
            done = self.run_nacre("--profile", "universal", "--workspace", str(self.work), "--session", name,
                                  "-c", "ls | cat")
            self.assertEqual(done.code, 126, done)
            self.assertIn(f"an earlier call of its session, sets the variable {name},".encode(), done.err)
            self.assertIn(b"begin a new session", done.err)

    def test_a_background_task_reads_the_session_and_does_not_write_it(self):
        self.call("cd sub")
        done = self.run_nacre("--background", "--json", "--session", "s", "-c", "pwd; cd deep; echo x >done")
        task = json.loads(done.out)["task_id"]
        wait_until("the task ended", lambda: (self.tasks / task / "state.json").exists())
        self.assertEqual((self.tasks / task / "out").read_text(), f"{self.work}/sub\n")
        self.assertTrue((self.work / "sub" / "deep" / "done").exists())
        self.assertEqual(self.where(), "/sub")


class Parallel(SessionTest):
    def test_each_keeps_what_it_changed_and_the_last_to_end_wins(self):
        os.mkfifo(self.work / "gate")
        os.mkfifo(self.work / "ready")
        slow = self.start("--session", "s", "--json", "-c",
                          "export A=slow B=slow; echo >ready; read x <gate")
        self.assertEqual((self.work / "ready").read_text(), "\n")
        self.call("cd sub; export A=fast C=fast")
        self.assertEqual(self.call("echo $A ${B-no} $C")["stdout"], "fast no fast\n")
        with open(self.work / "gate", "w") as gate:
            gate.write("\n")
        self.assertEqual(self.finish(slow).code, 0)
        self.assertEqual(self.call("pwd; echo $A $B $C")["stdout"],
                         f"{self.work}/sub\nslow slow fast\n")

    def test_many_at_once_lose_nothing(self):
        requests = "".join(json.dumps({"id": i, "session": "s", "command": f"export V{i}={i}; true"}) + "\n"
                           for i in range(40))
        done = self.run_nacre("--batch", "--jobs", "8", input=requests.encode())
        self.assertEqual(done.out.count(b'"success":true'), 40)
        self.assertEqual(set(self.stored()["set"]), {f"V{i}" for i in range(40)})
        self.assertEqual(sorted(p.name for p in (self.state / "sessions").iterdir()), [".use", "s.json"])


class Warm(SessionTest):
    """Boxes that are kept ready belong to a session."""
    MODE = "strict"

    def ask(self, nacre, command, session):
        request = {"command": command}
        if session:
            request["session"] = session
        nacre.stdin.write(json.dumps(request).encode() + b"\n")
        nacre.stdin.flush()
        return json.loads(nacre.stdout.readline())["result"]

    def test_a_box_is_kept_for_one_session(self):
        nacre = self.start("--batch", "--jobs", "1", stdin=subprocess.PIPE)
        networks = {}
        for session in ("one", "two", None):
            def network():
                return self.ask(nacre, "readlink /proc/self/ns/net; cd .", session)["stdout"]
            # The first has a box of its own; later ones find one that was made meanwhile.
            seen = []
            wait_until("a box is warm", lambda: seen.append(network()) or seen[-1] in seen[:-1])
            networks[session] = seen[-1]
        self.assertEqual(len(set(networks.values())), 3)
        nacre.stdin.close()
        self.assertEqual(nacre.wait(DEADLINE), 0)

    def test_the_state_of_a_session_in_a_warm_box(self):
        nacre = self.start("--batch", "--jobs", "1", stdin=subprocess.PIPE)
        for i in range(6):
            result = self.ask(nacre, f"echo $A; pwd; cd /; cd {self.work}/sub; export A={i}; exit {i}", "one")
            self.assertEqual((result["exit_code"], result["reason"]), (i, None))
            if i:
                self.assertEqual(result["stdout"], f"{i - 1}\n{self.work}/sub\n")
        self.assertEqual(self.ask(nacre, "pwd; echo $A", "two")["stdout"], f"{self.work}\n\n")
        nacre.stdin.close()
        self.assertEqual(nacre.wait(DEADLINE), 0)


class Stages(NacreTest):
    """The status of each stage of a pipeline that the line ended with, if one but the last has failed."""

    BOXED = True

    def stages(self, line):
        result = self.run_json("--session", "s", "-c", line)
        return result["exit_code"], result.get("stages")

    def test_told(self):
        for line, expected in (("false | cat", (0, [1, 0])),
                               ("(exit 3) | false | true", (0, [3, 1, 0])),
                               ("set -eu -o pipefail; (exit 7) | true", (7, [7, 0])),
                               ("trap 'echo bye | cat' EXIT; false | cat", (0, [1, 0])),
                               ("! false | true", (1, [1, 0])),
                               ("nacre-no-such-program | true", (0, [127, 0]))):
            with self.subTest(line=line):
                self.assertEqual(self.stages(line), expected)

    def test_not_told(self):
        for line in ("true | cat", "yes | head -n 1", "false | cat; true", "false; true", "true | true; echo", "f() { false | cat; }; f"):
            with self.subTest(line=line):
                self.assertEqual(self.stages(line), (0, None))
        self.assertEqual(self.stages("true | false"), (1, None))

    def test_a_line_s_own_separator_tells_nothing_false(self):
        for separator in ("", "0", "1", "x", "10"):
            with self.subTest(separator=separator):
                self.assertIn(self.stages(f"IFS={separator}; false | (exit 10) | true"), ((0, [1, 10, 0]), (0, None)))

    def test_the_meaning_of_the_line_stays(self):
        line = 'false | true; echo "${PIPESTATUS[@]}" $?; f() { echo "$?"; }; trap f EXIT; (exit 4)'
        bare = self.run_json("-c", line)
        result = self.run_json("--session", "s", "-c", line)
        self.assertEqual((result["stdout"], result["exit_code"]), (bare["stdout"], bare["exit_code"]))

    def test_text(self):
        self.assertEqual(self.run_nacre("--session", "s", "-c", "false | cat").err, b"nacre: exit 0; stages 1, 0\n")
        client = Client(self, "--profile", "bash")
        client.initialize()
        self.assertRegex(client.text("Bash", {"command": "false | cat"}), r"\[exit 0 after [0-9]+ms; stages 1, 0\]")
        client.close()


if __name__ == "__main__":
    unittest.main()
