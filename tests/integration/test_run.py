"""Running a command: what it is given, what it is not, and what its end looks like from outside."""
import json
import os
import signal
import subprocess
import unittest

from helpers import DEADLINE, NACRE, PYTHON, NacreTest


class Start(NacreTest):
    def test_words_reach_the_program_as_they_are(self):
        done = self.run_nacre("--", "printf", "<%s>", "a  b", "$HOME", "*", "", "é", "-c", "--json")
        self.assertEqual(done[:3], (0, b"<a  b><$HOME><*><><\xc3\xa9><-c><--json>", b""))

    def test_a_line_is_run_by_bash(self):
        done = self.run_nacre("-c", "a=(x y); echo ${a[1]} | tr y z; echo err >&2; [[ q == ? ]]")
        self.assertEqual(done[:3], (0, b"z\n", b"err\n"))

    def test_bash_reads_no_start_up_file(self):
        for name in (".bashrc", ".bash_profile", ".profile", "env"):
            (self.dir / name).write_text("echo from a start-up file\n")
        done = self.run_nacre("-c", "echo line", env={"BASH_ENV": str(self.dir / "env"),
                                                      "ENV": str(self.dir / "env")})
        self.assertEqual(done[:3], (0, b"line\n", b""))

    def test_the_exit_code_is_the_commands_own(self):
        for code in (0, 1, 7, 255):
            self.assertEqual(self.run_nacre("-c", f"exit {code}").code, code)

    def test_a_signal_is_told_as_128_and_its_number(self):
        for name, number in (("SEGV", 11), ("KILL", 9), ("TERM", 15)):
            result = self.run_json("-c", f"kill -{name} $$")
            self.assertEqual((result["exit_code"], result["signal"], result["success"]),
                             (128 + number, f"SIG{name}", False))

    def test_the_result_has_every_field_of_the_contract(self):
        result = self.run_json("--", "true")
        self.assertEqual(list(result), [
            "success", "exit_code", "signal", "timed_out", "duration_ms", "stdout", "stderr",
            "truncated", "stdout_bytes", "stderr_bytes", "output_file", "stderr_file", "task_id",
            "background", "left_running", "verdict", "reason", "rule", "recommended", "approval", "left_to_sandbox",
            "killed", "processes", "notices", "sandbox", "room", "network", "usage"])
        self.assertEqual((result["success"], result["killed"], result["notices"]), (True, 0, []))
        self.assertRegex(result["task_id"], r"^bash-[0-9a-z]{8,}$")
        self.assertIn("no_new_privs", result["sandbox"]["layers"])

    def test_usage_counts_the_command(self):
        usage = self.run_json("-c", "for ((i = 0; i < 100000; i++)); do :; done")["usage"]
        self.assertGreater(usage["cpu_ms"], 0)
        self.assertGreater(usage["max_rss_kb"], 500)

    def test_a_program_that_is_not_there_is_127(self):
        done = self.run_nacre("--", "no-such-program")
        self.assertEqual(done[:3], (127, b"", b"nacre: no-such-program: command not found\n"))
        done = self.run_nacre("--", "./missing")
        self.assertEqual(done.code, 127)
        self.assertIn(b"./missing: no such file", done.err)
        done = self.run_nacre("-c", "no-such-program")
        self.assertEqual(done.code, 127)
        self.assertIn(b"no-such-program: command not found", done.err)

    def test_an_empty_program_name_is_found_nowhere(self):
        done = self.run_nacre("--", "", "x")
        self.assertEqual(done.code, 127)
        self.assertIn(b"command not found", done.err)

    def program(self, name, text, mode=0o755):
        path = self.work / name
        path.write_text(text)
        path.chmod(mode)
        return f"./{name}"

    def test_a_missing_interpreter_is_named_as_a_reason(self):
        done = self.run_nacre("--", self.program("script", "#!/no/such/interpreter\n"))
        self.assertEqual(done.code, 127)
        self.assertIn(b"interpreter", done.err)

    def test_what_may_not_be_executed_is_126(self):
        done = self.run_nacre("--", self.program("plain", "#!/bin/sh\necho no\n", mode=0o644))
        self.assertEqual((done.code, done.out), (126, b""))
        self.assertIn(b"./plain: cannot be executed: Permission denied", done.err)
        self.assertEqual(self.run_nacre("--", str(self.dir)).code, 126)

    def test_what_is_no_program_is_126(self):
        done = self.run_nacre("--", self.program("data", "neither script nor ELF\n"))
        self.assertEqual((done.code, done.out), (126, b""))
        self.assertIn(b"./data: cannot be executed: Exec format error", done.err)

    def test_a_file_that_may_not_be_run_lets_the_next_of_the_path_try(self):
        second = self.dir / "second"
        second.mkdir()
        self.program("tool", "#!/bin/sh\necho first\n", mode=0o644)
        (second / "tool").write_text("#!/bin/sh\necho second\n")
        (second / "tool").chmod(0o755)
        done = self.run_nacre("--", "tool", env={"PATH": f"{self.work}:{second}:/usr/bin:/bin"})
        self.assertEqual(done[:2], (0, b"second\n"))

    def test_relative_directories_of_the_path_are_not_searched(self):
        self.program("tool", "#!/bin/sh\necho planted\n")
        for path in (".", "", ":/usr/bin", "../work:/usr/bin"):
            self.assertEqual(self.run_nacre("--", "tool", env={"PATH": path}).code, 127, path)

    def test_an_argument_that_is_too_long_for_the_system_is_126(self):
        request = json.dumps({"id": 1, "argv": ["echo", "x" * 200_000]}).encode()
        done = self.run_nacre("--batch", input=request)
        result = json.loads(done.out)["result"]
        self.assertEqual((result["exit_code"], result["stdout"]), (126, ""))
        self.assertIn("too long", result["reason"])

    def test_many_long_arguments_arrive_whole(self):
        words = [chr(ord("a") + i) * 100_000 for i in range(18)]
        done = self.run_nacre("--", "bash", "-c", "echo $# ${#1} ${#18} ${18:0:1}", "x", *words)
        self.assertEqual(done[:3], (0, b"18 100000 100000 r\n", b""))

    def test_bytes_that_are_not_utf8_pass_unchanged(self):
        odd = b"\xff\xfe\xc3(\x80"
        (self.work / "odd-link").symlink_to(".")
        os.mkdir(os.fsencode(self.work) + b"/" + odd)
        want = b" ff fe c3 28 80\n"
        done = self.run_nacre("--", "bash", "-c", 'printf %s "$1" | od -An -tx1', "x", odd)
        self.assertEqual(done[:2], (0, want))
        done = self.run_nacre("-c", b"printf %s '" + odd + b"' | od -An -tx1")
        self.assertEqual(done[:2], (0, want))
        done = self.run_nacre("--env", b"ODD=" + odd, "-c", 'printf %s "$ODD" | od -An -tx1')
        self.assertEqual(done[:2], (0, want))
        done = self.run_nacre("--cwd", odd, "-c", "/bin/pwd | tr -d '\\n' | tail -c 5 | od -An -tx1")
        self.assertEqual(done[:2], (0, want))


class Lines(NacreTest):
    """What bash runs is printed from the tree; what it says about lines and commands is about the source."""
    SCRIPTS = (
        "if true\nthen\n  x=1\nfi\nnosuch",
        "for i in 1 2\ndo\n  true\n\n  nosuch $i\ndone\nnosuch2",
        "# a remark\n\nwhile nosuch\ndo :\ndone\necho $LINENO",
        "f() {\n  true\n  echo $LINENO\n  nosuch\n}\nf\necho $LINENO",
        "case a in\n  b) true ;;\n  a)\n    echo $LINENO\n    nosuch ;;\nesac\nnosuch2",
        "cat <<E\none\ntwo\nE\nnosuch",
        "if cat <<E\none\nE\nthen\n  nosuch\nfi\necho $LINENO",
        "{ cat <<E; }; echo $LINENO\none\nE\nnosuch",
        "(\ncat <<E\none\nE\nnosuch\n)\nnosuch2",
        "true &&\n  nosuch ||\n  echo $LINENO |\n  cat",
        "x=$(\n  true\n  nosuch\n)\necho $LINENO",
        "echo 'a\nb' $'c\\nd'\nnosuch",
        "nosuch \\\n  a \\\n  b\necho $LINENO",
        "trap 'echo \"$BASH_COMMAND\"' DEBUG\nls -d /dev/null\ntrue a=b -x",
        "set -x\ntrue a b",
    )

    def test_messages_name_the_lines_of_the_source(self):
        for script in self.SCRIPTS:
            with self.subTest(script=script):
                plain = subprocess.run(["/bin/bash", "--noprofile", "--norc", "-p", "-c", script], cwd=self.work,
                                       env=self.env, capture_output=True, timeout=60, check=False)
                done = self.run_nacre("-c", script)
                self.assertEqual((done.code, done.out, done.err), (plain.returncode, plain.stdout, plain.stderr))

    def test_those_of_a_session_do_so_too(self):
        done = self.run_nacre("--session", "s", "-c", "if true\nthen\n  x=1\nfi\nnosuch")
        self.assertIn(b"line 5: nosuch", done.err)


class Directory(NacreTest):
    def test_the_workspace_is_the_current_directory_unless_told(self):
        (self.work / "sub").mkdir()
        self.assertEqual(self.run_nacre("--", "pwd").out.decode(), f"{self.work}\n")
        self.assertEqual(self.run_nacre("--cwd", "sub", "-c", "echo $PWD; /bin/pwd").out.decode(),
                         f"{self.work}/sub\n" * 2)
        done = self.run_nacre("--workspace", self.work, "--cwd", self.work / "sub", "--", "pwd",
                              cwd="/")
        self.assertEqual(done.out.decode(), f"{self.work}/sub\n")

    def expect_no_run(self, words, *options):
        result = self.run_json(*options, "--", "touch", str(self.dir / "it-ran"))
        self.assertEqual((result["exit_code"], result["success"]), (125, False))
        self.assertIn(words, result["reason"])
        self.assertFalse((self.dir / "it-ran").exists())

    def test_a_directory_that_is_none_is_refused_by_name(self):
        (self.work / "file").write_text("")
        self.expect_no_run("working directory 'nowhere': No such file", "--cwd", "nowhere")
        self.expect_no_run("working directory 'file': Not a directory", "--cwd", "file")
        self.expect_no_run("workspace 'nowhere': No such file", "--workspace", "nowhere")
        self.expect_no_run("", "--cwd", "")

    def test_no_way_leads_out_of_the_workspace(self):
        (self.dir / "work-evil").mkdir()  # a prefix of the name is not the directory
        (self.work / "sub").mkdir()
        (self.work / "link").symlink_to("/")
        (self.work / "hop").symlink_to("../work-evil")
        for way in ("..", "sub/../..", "/", "/etc", "link", "link/tmp", "hop", "../work-evil",
                    str(self.dir), str(self.dir / "work-evil"), "/proc/self/root"):
            with self.subTest(way):
                self.expect_no_run("outside of the workspace", "--cwd", way)

    def test_ways_that_come_back_are_fine(self):
        (self.work / "sub").mkdir()
        (self.work / "link").symlink_to("sub")
        for way in ("sub/..", "../work/sub", "link", str(self.work)):
            self.assertEqual(self.run_nacre("--cwd", way, "--", "true").code, 0, way)


class Input(NacreTest):
    def test_standard_input_is_empty_by_default_and_nacres_own_stays_unread(self):
        ours, theirs = os.pipe()
        os.write(theirs, b"not for the command")
        done = self.run_nacre("-c", "wc -c; readlink /proc/self/fd/0", stdin=ours)
        self.assertEqual(done.out, b"0\n/dev/null\n")
        self.assertEqual(os.read(ours, 100), b"not for the command")
        os.close(ours)
        os.close(theirs)

    def test_input_text_arrives_byte_by_byte(self):
        text = "a\nb é\t" + "x" * 100_000
        self.assertEqual(self.run_nacre("--input", text, "--truncate", "all", "--", "cat").out,
                         text.encode())
        self.assertEqual(self.run_nacre("--input", "", "--", "wc", "-c").out, b"0\n")

    def test_the_command_cannot_change_its_input(self):
        done = self.run_nacre("--input", "text", "-c", "echo more >/proc/self/fd/0; cat")
        self.assertEqual(done.out, b"text")

    def test_stdin_hands_on_a_pipe(self):
        data = os.urandom(1 << 16) * 80
        done = self.run_nacre("--stdin", "--", "cksum", input=data)
        want = subprocess.run(["cksum"], input=data, capture_output=True, check=True, timeout=DEADLINE)
        self.assertEqual(done[:2], (0, want.stdout))

    def test_stdin_hands_on_a_file(self):
        path = self.dir / "input"
        path.write_bytes(b"0123456789" * 300_000)
        with open(path, "rb") as file:
            self.assertEqual(self.run_nacre("--stdin", "--", "wc", "-c", stdin=file).out, b"3000000\n")

    def test_a_command_that_does_not_read_its_input_does_not_hang(self):
        self.assertEqual(self.run_nacre("--input", "x" * 100_000, "--", "true").code, 0)
        self.assertEqual(self.run_nacre("--stdin", "--", "true", input=b"x" * 10_000).code, 0)


class Environment(NacreTest):
    def names(self, *options, env=None):
        done = self.run_nacre(*options, "--", "env", env=env)
        self.assertEqual((done.code, done.err), (0, b""))
        return dict(line.split("=", 1) for line in done.out.decode().splitlines())

    BASE = {"PATH", "HOME", "LANG", "TMPDIR", "TERM", "PWD"}

    def test_secrets_and_everything_else_unnamed_stay_outside(self):
        seen = self.names(env={
            "AWS_SECRET_ACCESS_KEY": "s", "AWS_ACCESS_KEY_ID": "s", "GITHUB_TOKEN": "s",
            "OPENAI_API_KEY": "s", "DB_PASSWORD": "s", "SSH_AUTH_SOCK": "/s", "DOCKER_HOST": "s",
            "PYTHONPATH": "s", "BASH_ENV": "s", "ENV": "s", "PS4": "s", "CDPATH": "s", "FOO": "s",
            "BASH_FUNC_ls%%": "() { echo s; }", "MALLOC_CHECK_": "0", "LOCPATH": "/s"})
        self.assertEqual(set(seen), self.BASE)
        self.assertEqual(seen["TERM"], "dumb")
        self.assertEqual(seen["PWD"], str(self.work))

    def test_language_and_time_zone_pass(self):
        seen = self.names(env={"LC_ALL": "C", "TZ": "Asia/Tokyo"})
        self.assertEqual((seen["LC_ALL"], seen["TZ"]), ("C", "Asia/Tokyo"))

    def test_without_a_path_there_is_a_plain_one(self):
        del self.env["PATH"]
        self.assertIn("/usr/bin", self.names()["PATH"].split(":"))

    def test_no_function_of_the_parent_reaches_bash(self):
        done = self.run_nacre("-c", "echo plain; env | grep -c BASH_FUNC",
                              env={"BASH_FUNC_echo%%": "() { printf hacked; }"})
        self.assertEqual(done.out, b"plain\n0\n")

    def test_a_named_variable_is_set_or_passed_on(self):
        seen = self.names("--env", "A=1", "--env", "B=x=y z", "--env", "A=2", "--env", "MY_TOKEN",
                          "--env", "UNSET_ONE", "--env", "EMPTY=", "--env", "HOME=/h",
                          env={"MY_TOKEN": "t"})
        self.assertEqual(set(seen), self.BASE | {"A", "B", "MY_TOKEN", "EMPTY"})
        self.assertEqual([seen[k] for k in ("A", "B", "MY_TOKEN", "EMPTY", "HOME")],
                         ["2", "x=y z", "t", "", "/h"])

    def expect_no_run(self, setting, words, env=None):
        result = self.run_json("--env", setting, "--", "touch", "it-ran", env=env)
        self.assertEqual(result["exit_code"], 125, setting)
        self.assertIn(words, result["reason"])
        self.assertFalse((self.work / "it-ran").exists())

    def test_names_that_change_what_shell_and_loader_run_are_refused(self):
        for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GLIBC_TUNABLES", "GCONV_PATH",
                     "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH",
                     "GLOBIGNORE", "BASH_XTRACEFD", "PROMPT_COMMAND", "NACRE_STATE_DIR"):
            with self.subTest(name):
                self.expect_no_run(f"{name}=x", f"{name} cannot be set")
        self.expect_no_run("BASH_FUNC_ls%%=() { :; }", "environment:")
        self.expect_no_run("BASH_ENV", "BASH_ENV cannot be set", env={"BASH_ENV": "/x"})

    def test_what_is_no_name_is_refused(self):
        for setting in ("=x", "1A=x", "A-B=x", "A B=x", "A.B=", "é=x"):
            with self.subTest(setting):
                self.expect_no_run(setting, "environment:")

    def test_at_most_256_variables(self):
        words = [word for i in range(257) for word in ("--env", f"V{i}=x")]
        self.assertEqual(len(self.names(*words[:-2])), 256 + len(self.BASE))
        self.assertEqual(self.run_nacre(*words, "--", "true").code, 125)


class Inheritance(NacreTest):
    def test_no_descriptor_of_the_parent_leaks(self):
        reader, writer = os.pipe()
        os.dup2(writer, 123, inheritable=True)
        done = self.run_nacre("-c", "ls /proc/$$/fd; : >&123", pass_fds=[writer, 123])
        os.close(reader)
        os.close(writer)
        os.close(123)
        self.assertEqual(done[:2], (1, b"0\n1\n2\n"))
        self.assertIn(b"Bad file descriptor", done.err)

    def test_closed_standard_streams_of_the_parent_confuse_nobody(self):
        line = f'exec "{NACRE}" run -c "ls /proc/\\$\\$/fd >list; echo out; echo err >&2" <&- >&- 2>&-'
        done = subprocess.run(["bash", "-c", line], env=self.env, cwd=self.work, timeout=DEADLINE,
                              check=False)
        self.assertIn(done.returncode, (0, 125))
        self.assertEqual((self.work / "list").read_text(), "0\n1\n2\n")

    def test_ignored_and_blocked_signals_of_the_parent_are_default_in_the_command(self):
        def ignore_and_block():
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE,
                           signal.SIGUSR1, signal.SIGCHLD, signal.SIGRTMIN + 3):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGALRM})
        done = self.run_nacre("--", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status",
                              preexec_fn=ignore_and_block)
        self.assertEqual(done.out.decode().split(), [
            "SigBlk:", "0" * 16, "SigIgn:", "0" * 16])

    def test_no_core_file_and_no_new_privileges(self):
        done = self.run_nacre("-c", "ulimit -c; grep NoNewPrivs /proc/self/status")
        self.assertEqual(done.out, b"0\nNoNewPrivs:\t1\n")

    def test_the_command_leads_a_session_of_its_own(self):
        done = self.run_nacre("-c", "read -r -a f </proc/$$/stat; echo $(($$ == ${f[5]}))")
        self.assertEqual(done.out, b"1\n")


ALTERNATE = """
import os
for i in range(1000):
    os.write(1, b"o%d\\n" % i)
    os.write(2, b"e%d\\n" % i)
"""


class OutputMode(NacreTest):
    OUT = "".join(f"o{i}\n" for i in range(1000))
    ERR = "".join(f"e{i}\n" for i in range(1000))

    def alternate(self, mode):
        return self.run_json("--output-mode", mode, "--", PYTHON, "-c", ALTERNATE)

    def test_merged_keeps_the_true_order(self):
        result = self.alternate("merged")
        self.assertEqual(result["output"], "".join(f"o{i}\ne{i}\n" for i in range(1000)))
        self.assertNotIn("stdout", result)
        self.assertNotIn("stderr", result)
        self.assertEqual(result["stdout_bytes"], len(self.OUT) + len(self.ERR))

    def test_separate_keeps_each_whole(self):
        result = self.alternate("separate")
        self.assertEqual((result["stdout"], result["stderr"]), (self.OUT, self.ERR))
        self.assertEqual((result["stdout_bytes"], result["stderr_bytes"]),
                         (len(self.OUT), len(self.ERR)))

    def test_one_stream_is_shown_and_both_are_kept(self):
        result = self.alternate("stdout")
        self.assertEqual(result["stdout"], self.OUT)
        self.assertNotIn("stderr", result)
        with open(result["stderr_file"], encoding="utf-8") as file:
            self.assertEqual(file.read(), self.ERR)
        result = self.alternate("stderr")
        self.assertEqual(result["stderr"], self.ERR)
        self.assertNotIn("stdout", result)
        with open(result["output_file"], encoding="utf-8") as file:
            self.assertEqual(file.read(), self.OUT)

    def test_as_text_each_stream_goes_where_it_belongs(self):
        line = "echo one; echo two >&2"
        for mode, out, err in (("separate", b"one\n", b"two\n"), ("merged", b"one\ntwo\n", b""),
                               ("stdout", b"one\n", b""), ("stderr", b"two\n", b"")):
            done = self.run_nacre("--output-mode", mode, "-c", line)
            self.assertEqual(done[:3], (0, out, err), mode)

    def test_a_full_pipe_blocks_the_command_and_loses_nothing(self):
        # The command's ends of the pipes must be blocking, or dd would give up.
        result = self.run_json("-c", "dd if=/dev/zero bs=1M count=8 status=none | tr '\\0' x")
        self.assertEqual((result["exit_code"], result["stdout_bytes"]), (0, 8 << 20))


class Usage(NacreTest):
    def test_a_wrong_command_line_is_told_and_changes_nothing(self):
        true = ("--", "true")
        for args, words in (
                ((), "nothing to run"),
                (("--",), "nothing to run"),
                (("--no-such-option", *true), "run: unknown option '--no-such-option'"),
                (("-x", *true), "run: unknown option '-x'"),
                (("-c",), "option '-c' needs a value: LINE"),
                (("--timeout",), "option '--timeout' needs a value: DUR"),
                (("-c", "true", "--", "true"), "both -c and 'true' given"),
                (("-c", "true", "word"), "both -c and 'word' given"),
                (("--input", "x", "--stdin", *true), "--input and --stdin cannot be combined"),
                (("--batch", "-c", "true"), "--batch takes its commands from standard input"),
                (("--batch", *true), "--batch takes its commands from standard input"),
                (("--output-mode", "both", *true), "--output-mode both: expected"),
                (("--max-processes", "0", *true), "--max-processes 0: expected"),
                (("--max-processes", "many", *true), "--max-processes many: expected"),
                (("--jobs", "0", "--batch"), "--jobs 0: expected"),
                (("--jobs", "257", "--batch"), "--jobs 257: expected"),
                (("--grace", "61s", *true), "--grace 61s: expected")):
            with self.subTest(args):
                self.expect_refused(self.run_nacre(*args), words)

    def test_bad_durations_are_refused(self):
        for value in ("", "5", "abc", "-1s", "5x", "1e3s", "5 s", "s", ".5s", "1.s", "0x5s", "1,5s",
                      "99999999999999999999s", "9999999999999999h", "5S"):
            with self.subTest(value):
                self.expect_refused(self.run_nacre("--timeout", value, "--", "true"),
                                    f"--timeout {value}: expected a duration")

    def test_bad_sizes_and_limits_are_refused(self):
        for value in ("", "1Q", "-1", "M", "1MM", "1k", "0x10", "99999999999999999999", "2000G"):
            for option in ("--output-cap", "--state-cap"):
                with self.subTest(option=option, value=value):
                    self.expect_refused(self.run_nacre(option, value, "--", "true"),
                                        f"{option} {value}: expected a size")
        for value in ("", "middle", "halves:", "halves:0", "tail:x", "all:2M", "halves:1:2"):
            with self.subTest(truncate=value):
                self.expect_refused(self.run_nacre("--truncate", value, "--", "true"),
                                    f"--truncate {value}: expected")

    def test_good_units_are_understood(self):
        for words in (("--timeout", "5000ms"), ("--timeout", "1.5s"), ("--timeout", "1m"),
                      ("--timeout", "1min"), ("--grace", "0"), ("--output-cap", "64K"),
                      ("--output-cap", "1MiB"), ("--state-cap", "2G"), ("--truncate", "tail:1K")):
            self.assertEqual(self.run_nacre(*words, "--", "true").code, 0, words)

    def test_a_wish_beyond_the_maximum_is_capped_and_told(self):
        result = self.run_json("--timeout", "1h", "--", "true")
        self.assertEqual(result["exit_code"], 0)
        self.assertEqual(len(result["notices"]), 1)
        self.assertIn("lowered to the maximum of 10m", result["notices"][0])

    def test_options_end_where_the_command_begins(self):
        self.assertEqual(self.run_nacre("echo", "--json").out, b"--json\n")

    def test_help_goes_to_standard_output_and_a_mistake_to_standard_error(self):
        done = self.run_nacre("--help")
        self.assertEqual((done.code, done.err), (0, b""))
        self.assertIn(b"--max-processes", done.out)
        for words, code in (([], 125), (["frobnicate"], 125), (["--help"], 0), (["--version"], 0)):
            done = subprocess.run([NACRE, *words], env=self.env, capture_output=True, timeout=DEADLINE,
                                  stdin=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, code, words)
            self.assertTrue(done.stdout if code == 0 else done.stderr)
            self.assertFalse(done.stderr if code == 0 else done.stdout)
        self.assertFalse(self.state.exists())

    def test_a_result_that_nobody_reads_is_an_error_and_is_kept(self):
        with open("/dev/full", "wb") as full:
            done = self.run_nacre("-c", "echo precious", stdout=full)
        self.assertEqual(done.code, 125)
        self.assertIn(b"standard output: No space left on device", done.err)
        [task] = self.task_dirs()
        self.assertEqual((task / "out").read_text(), "precious\n")
        self.assertIn(task.name.encode(), done.err)


if __name__ == "__main__":
    unittest.main()
