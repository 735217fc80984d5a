"""Commands on a terminal: driven by orders as an agent does it, and used by a person before one."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from helpers import DEADLINE, NACRE, SANITIZED, SLACK, NacreTest, is_alive, status_kb, wait_until

SIZE = "rows=$(stty size); echo \"<$rows>\""


def program_or_skip(test, name):
    if not shutil.which(name, path=test.env["PATH"]):
        test.skipTest(f"{name}: not installed")
    return name


def vim_or_skip(test):
    """Debian's small one has a name of its own."""
    names = [name for name in ("vim", "vim.tiny") if shutil.which(name, path=test.env["PATH"])]
    if not names:
        test.skipTest("vim: not installed")
    return names[0]


class PtyTest(NacreTest):
    BOXED = True
    MODE = "strict"

    def setUp(self):
        super().setUp()
        self.user = {}  # options that make another user of the caller
        self.running = []
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: {self.MODE}}}\n")
        # Whatever a test leaves running is stopped before the look for processes.
        self.addCleanup(self.stop_tasks)

    def nacre(self, *args, check=True):
        options = dict(self.user)
        program = options.pop("program", NACRE)
        done = subprocess.run([program, *args], env=self.env, cwd=self.work, timeout=DEADLINE,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, **options)
        if check:
            self.assertEqual(done.returncode, 0, done)
        return done

    def stop_tasks(self):
        for task in self.running:
            self.nacre("stop", "--now", task, check=False)

    def open(self, *args, size="24x80", env=()):
        """A task on a terminal of this size; its id."""
        words = [word for pair in env for word in ("--env", pair)]
        done = self.nacre("run", "--json", "--background", f"--pty={size}", *words, *args)
        answer = json.loads(done.stdout)
        self.assertTrue(answer["success"], answer)
        self.running.append(answer["task_id"])
        return answer["task_id"]

    def type(self, task, *words):
        self.nacre("input", task, *words)

    def screen(self, task):
        return json.loads(self.nacre("output", task, "--screen", "--json").stdout)

    def see(self, task, condition, what):
        """Waits until the screen is as wanted, and returns it."""
        last = None

        def looks_right():
            nonlocal last
            last = self.screen(task)
            return condition(last)
        try:
            wait_until(what, looks_right)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{json.dumps(last, indent=1, ensure_ascii=False)}")
        return last

    def see_text(self, task, text):
        return self.see(task, lambda s: text in "\n".join(s["lines"]), f"'{text}' on the screen")

    def see_end(self, task, seconds=DEADLINE):
        """The task's end, as nacre tells it."""
        done = self.nacre("output", task, "--json", "--wait", f"{seconds}s")
        self.running.remove(task)
        return json.loads(done.stdout)


class Programs(PtyTest):
    """The real programs, in the box."""

    def test_python_reads_evaluates_and_prints(self):
        task = self.open("--", program_or_skip(self, "python3"), "-q")
        self.see(task, lambda s: s["lines"][-1:] == [">>>"], "the prompt")
        self.type(task, "print(6 * 7, 'ä日')", "--key", "Enter")
        self.see_text(task, "\n42 ä日\n>>>")
        self.type(task, "import time; time.sleep(1000)", "--key", "Enter")
        self.see_text(task, "sleep(1000)")
        self.type(task, "--key", "C-c")
        self.see_text(task, "KeyboardInterrupt")
        self.type(task, "raise SystemExit(5)", "--key", "Enter")
        self.assertEqual(self.see_end(task)["exit_code"], 5)

    def test_python_ends_with_its_input(self):
        task = self.open("--", program_or_skip(self, "python3"), "-q")
        self.see(task, lambda s: s["lines"][-1:] == [">>>"], "the prompt")
        self.type(task, "--eof")
        self.assertEqual(self.see_end(task)["exit_code"], 0)

    def test_python_finds_its_history_with_the_cursor_keys(self):
        task = self.open("--", program_or_skip(self, "python3"), "-q")
        self.see(task, lambda s: s["lines"][-1:] == [">>>"], "the prompt")
        self.type(task, "'one' * 2", "--key", "Enter")
        self.see_text(task, "'oneone'")
        self.type(task, "--key", "Up,Left,Backspace,3,Enter")
        # The line was "'one' * 2": the cursor before the 2, the blank gone, a 3 in its place.
        self.see_text(task, "'one' *32")

    def test_a_prompt_of_read_is_answered(self):
        task = self.open("-c", "read -p 'your name? ' name; echo \"hello, $name\"")
        screen = self.see_text(task, "your name?")
        self.assertEqual(screen["cursor"], {"row": 1, "col": 12, "visible": True})
        self.type(task, "Ada", "--key", "Enter")
        end = self.see_end(task)
        self.assertEqual(end["exit_code"], 0)
        self.assertEqual(self.screen(task)["lines"], ["your name? Ada", "hello, Ada"])

    def test_vim_edits_a_file_and_leaves_the_screen_as_it_was(self):
        vim = vim_or_skip(self)
        (self.work / "x.txt").write_text("first\nsecond\n")
        task = self.open("-c", f"echo before; {vim} -u NONE -i NONE -n x.txt; echo after")
        screen = self.see(task, lambda s: s["alternate"] and s["lines"][:2] == ["first", "second"]
                          and s["lines"][2:3] == ["~"], "the file in vim")
        self.assertEqual(screen["lines"][22], "~")
        self.assertNotIn("before", screen["lines"])
        self.type(task, "Go", "日本語 wide", "--key", "Escape")
        screen = self.see(task, lambda s: s["lines"][2] == "日本語 wide"
                          and s["cursor"]["row"] == 3 and s["cursor"]["col"] == 11,
                          "the new line, the cursor on its last letter")
        self.type(task, "--key", "Up,Up,Home", "ixyz", "--key", "Escape")
        self.see(task, lambda s: s["lines"][0] == "xyzfirst", "typed at the first line")
        self.type(task, "--resize", "10x40")
        screen = self.see(task, lambda s: s["rows"] == 10 and s["lines"][:3] ==
                          ["xyzfirst", "second", "日本語 wide"] and s["lines"][8:9] == ["~"]
                          and len(s["lines"]) <= 10, "vim in the smaller terminal")
        self.type(task, ":wq", "--key", "Enter")
        self.assertEqual(self.see_end(task)["exit_code"], 0)
        self.assertEqual((self.work / "x.txt").read_text(), "xyzfirst\nsecond\n日本語 wide\n")
        screen = self.screen(task)
        self.assertFalse(screen["alternate"])
        self.assertEqual(screen["lines"], ["before", "after"])

    def test_less_pages_searches_and_resizes(self):
        program_or_skip(self, "less")
        (self.work / "lines").write_text("".join(f"line {i}\n" for i in range(1, 301)))
        task = self.open("--", "less", "lines", size="12x40", env=["LESS="])
        self.see(task, lambda s: s["lines"][:11] == [f"line {i}" for i in range(1, 12)], "page one")
        self.type(task, "--key", "Space")
        self.see(task, lambda s: s["lines"][0] == "line 12" and s["lines"][10] == "line 22",
                 "page two")
        self.type(task, "--key", "Up")  # less takes it in the form that it has asked for
        self.see(task, lambda s: s["lines"][0] == "line 11", "a line back")
        self.type(task, "/line 250", "--key", "Enter")
        self.see(task, lambda s: s["lines"][0] == "line 250", "what was searched for")
        self.type(task, "--resize", "6x30")
        self.see(task, lambda s: s["rows"] == 6 and s["lines"][:5] ==
                 [f"line {i}" for i in range(250, 255)], "the same place in a smaller terminal")
        self.type(task, "--resize", "20x60")
        self.see(task, lambda s: s["rows"] == 20 and s["lines"][:19] ==
                 [f"line {i}" for i in range(250, 269)], "and in a larger one")
        self.type(task, "q")
        self.assertEqual(self.see_end(task)["exit_code"], 0)

    def test_top_shows_the_processes_of_the_box(self):
        program_or_skip(self, "top")
        task = self.open("-c", "sleep 1000 & top -d 0.3", env=["HOME=/nonexistent"])
        screen = self.see(task, lambda s: any("PID" in line and "COMMAND" in line
                                              for line in s["lines"])
                          and any("sleep" in line for line in s["lines"]), "top's table")
        self.assertTrue(screen["lines"][0].startswith("top - "), screen)
        self.type(task, "--resize", "15x85")
        self.see(task, lambda s: s["rows"] == 15 and s["lines"][:1] != []
                 and s["lines"][0].startswith("top - ") and any("top" in line[40:]
                                                               for line in s["lines"][6:]),
                 "top in the smaller terminal")
        self.type(task, "q")
        self.assertEqual(self.see_end(task)["exit_code"], 0)

    def test_git_rebase_asks_an_editor(self):
        program_or_skip(self, "git")
        vim = vim_or_skip(self)
        env = {**self.env, "GIT_CONFIG_GLOBAL": "/dev/null"}

        def git(*words):
            return subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.com",
                                   *words], cwd=self.work, env=env, check=True,
                                  capture_output=True, timeout=DEADLINE).stdout.decode()
        git("init", "-q", "-b", "main")
        git("config", "user.name", "A")
        git("config", "user.email", "a@example.com")
        for name in ("one", "two", "three"):
            (self.work / name).write_text(name + "\n")
            git("add", name)
            git("commit", "-q", "-m", name)
        task = self.open("-c", "git rebase -i HEAD~2",
                         env=[f"GIT_EDITOR={vim} -u NONE -i NONE -n"])
        self.see(task, lambda s: s["lines"][:1] != [] and s["lines"][0].startswith("pick ")
                 and s["lines"][0].endswith("two"), "the list of commits")
        self.type(task, ":2s/pick/fixup/", "--key", "Enter", ":wq", "--key", "Enter")
        end = self.see_end(task)
        self.assertEqual(end["exit_code"], 0, end)
        self.assertEqual(git("log", "--format=%s"), "two\none\n")
        self.assertEqual((self.work / "three").read_text(), "three\n")

    def test_an_interactive_bash_has_job_control(self):
        task = self.open("--", "bash", "--norc", "--noprofile", "-i", env=["PS1=$ "])
        self.see(task, lambda s: s["lines"][-1:] == ["$"], "the prompt")
        self.type(task, "sleep 1000", "--key", "Enter")
        self.see_text(task, "$ sleep 1000")
        self.find("sleep")  # it has the terminal before it has its name
        self.type(task, "--key", "C-z")
        self.see_text(task, "Stopped")
        self.type(task, "jobs; kill -9 %1; wait; echo over", "--key", "Enter")
        self.see_text(task, "\nover")
        self.type(task, "exit 7", "--key", "Enter")
        self.assertEqual(self.see_end(task)["exit_code"], 7)


class Screens(PtyTest):
    """What the screen shows, told by commands that write known bytes."""

    def draw(self, text, size="24x80"):
        (self.work / "bytes").write_bytes(text if isinstance(text, bytes) else text.encode())
        task = self.open("-c", "stty -opost; cat bytes; read x", size=size)
        self.see(task, lambda s: s["lines"] != [] or not text, "something")
        return task

    def test_wide_and_combining_characters(self):
        task = self.draw("日本語|\r\nab\u0301c\r\n12345678\u65e5X\r\n>", size="10x10")
        screen = self.see(task, lambda s: s["lines"][-1] == ">", "the last character")
        self.assertEqual(screen["lines"], ["日本語|", "ab\u0301c", "12345678\u65e5", "X", ">"])
        self.assertEqual(screen["cursor"], {"row": 5, "col": 2, "visible": True})

    def test_a_wide_character_that_does_not_fit_goes_to_the_next_line(self):
        task = self.draw("123456789\u65e5<", size="5x10")
        screen = self.see(task, lambda s: len(s["lines"]) == 2, "two lines")
        self.assertEqual(screen["lines"], ["123456789", "日<"])

    def test_moves_erasures_and_scrolling(self):
        task = self.draw("".join(f"l{i}\r\n" for i in range(20)) +
                         "\033[2;3Hxy\033[1;1H\033[K\033[4;1Hend", size="5x20")
        screen = self.see_text(task, "end")
        self.assertEqual(screen["lines"], ["", "l1xy", "l18", "end"])
        self.assertEqual(screen["cursor"], {"row": 4, "col": 4, "visible": True})

    def test_a_hidden_cursor_is_told(self):
        task = self.draw("\033[?25lx")
        self.assertFalse(self.see_text(task, "x")["cursor"]["visible"])

    def test_the_alternate_screen_covers_the_other_one(self):
        task = self.open("-c", "printf 'below\\n\\033[?1049h\\033[Habove'; read x; "
                               "printf '\\033[?1049l'; echo done; read x")
        screen = self.see_text(task, "above")
        self.assertEqual((screen["alternate"], screen["lines"]), (True, ["above"]))
        self.type(task, "--key", "Enter")
        screen = self.see(task, lambda s: "done" in s["lines"], "the other screen")
        self.assertEqual((screen["alternate"], screen["lines"]), (False, ["below", "done"]))

    def test_only_the_end_of_a_long_log_is_looked_at_and_the_screens_are_not_mixed_up(self):
        # The full-screen program began long before what is looked at, and has overdrawn itself.
        task = self.open("-c", "printf 'below\\n\\033[?1049h'; for i in {1..3000}; do "
                               "printf '\\033[H%0200d\\033[5;1Hround %d ' $i $i; done; "
                               "printf 'all'; read x; printf '\\033[?1049l'; echo done; read x")
        screen = self.see_text(task, "round 3000 all")
        self.assertTrue(screen["alternate"])
        self.assertGreater((self.tasks / task / "out").stat().st_size, 256 << 10)
        self.type(task, "--key", "Enter")
        screen = self.see(task, lambda s: "done" in s["lines"], "the other screen")
        self.assertFalse(screen["alternate"])
        self.assertNotIn("round 3000 all", "\n".join(screen["lines"]))

    def test_bytes_that_break_the_emulator_break_nothing_else(self):
        # Whatever they do there: an answer, or a complaint, and soon.
        (self.work / "random").write_bytes(os.urandom(200_000))
        task = self.open("-c", "stty -echo raw; cat random; sleep 1000")
        wait_until("all bytes are out",
                   lambda: (self.tasks / task / "out").exists()
                   and (self.tasks / task / "out").stat().st_size >= 200_000)
        began = time.monotonic()
        done = self.nacre("output", task, "--screen", "--json", check=False)
        self.assertIn(done.returncode, (0, 125))
        self.assertLess(time.monotonic() - began, 30 + SLACK)
        if done.returncode == 125:
            self.assertIn(b"nothing that a terminal could show", done.stderr)
        else:
            self.assertLessEqual(len(json.loads(done.stdout)["lines"]), 24)

    def test_text_for_people_has_the_lines_and_the_place_of_the_cursor(self):
        task = self.draw("one\r\ntwo")
        self.see_text(task, "two")
        done = self.nacre("output", task, "--screen")
        self.assertEqual(done.stdout, b"one\ntwo\n")
        self.assertEqual(done.stderr, b"[24x80, cursor in row 2, column 4]\n")

    def test_each_size_is_on_record_and_an_impossible_one_is_refused(self):
        task = self.open("-c", "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")
        self.see_text(task, "ready")
        self.type(task, "--resize", "30x90")
        self.see_text(task, "30 90")
        self.type(task, "--resize", "1x1", "--resize", "24x80")
        self.see(task, lambda s: (s["rows"], s["cols"]) == (24, 80), "the size")
        sizes = [line.split()[1:] for line in
                 (self.tasks / task / "sizes").read_text().splitlines()]
        self.assertEqual(sizes, [["24", "80"], ["30", "90"], ["1", "1"], ["24", "80"]])
        for wrong in ("0x80", "24x0", "24", "24x1001", "x", "24x80x", "-1x5", "+1x5", " 1x5", "24x 5"):
            done = self.nacre("input", task, "--resize", wrong, check=False)
            self.assertEqual(done.returncode, 125, wrong)
            self.assertIn(b"--resize", done.stderr)


class Orders(PtyTest):
    def test_keys_send_the_bytes_of_a_terminal(self):
        task = self.open("-c", "stty raw -echo; printf ready; dd bs=1 count=42 2>/dev/null | "
                               "od -An -v -tx1 | tr -d ' \\n'; printf '|'")
        self.see_text(task, "ready")
        self.type(task, "--key", "Enter,Tab,Escape,Backspace,C-c,M-x,S-Tab,Up,C-Right,F1,F5,Delete,"
                                 "PageUp,Home,é,C-Space,,")
        wanted = ("0d 09 1b 7f 03 1b78 1b5b5a 1b5b41 1b5b313b3543 1b4f50 1b5b31357e 1b5b337e "
                  "1b5b357e 1b5b48 c3a9 00 2c").replace(" ", "")
        self.assertEqual(len(wanted), 2 * 42)
        screen = self.see_text(task, "|")
        self.assertEqual("".join(screen["lines"]), f"ready{wanted}|")

    def test_unknown_keys_type_nothing(self):
        task = self.open("--", "cat")
        for key in ("Hyper", "C-Enter", "F13", "C-1", "S-a"):
            done = self.nacre("input", task, "text", "--key", key, check=False)
            self.assertEqual(done.returncode, 125, key)
            self.assertIn(b"no such key", done.stderr)
        self.type(task, "good", "--key", "Enter")
        self.assertEqual(self.see_text(task, "good\ngood")["lines"], ["good", "good"])

    def test_a_task_without_a_terminal_takes_no_input_and_has_no_screen(self):
        done = self.nacre("run", "--json", "--background", "--", "sleep", "1000")
        task = json.loads(done.stdout)["task_id"]
        self.running.append(task)
        for words in (("input", task, "x"), ("output", task, "--screen")):
            done = self.nacre(*words, check=False)
            self.assertEqual((done.returncode, done.stdout), (125, b""))
            self.assertIn(b"no terminal", done.stderr)

    def test_an_ended_task_takes_no_input_but_shows_its_screen(self):
        task = self.open("--", "echo", "last words")
        self.see_end(task)
        done = self.nacre("input", task, "x", check=False)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"not running", done.stderr)
        self.assertEqual(self.screen(task)["lines"], ["last words"])

    def test_much_input_arrives_whole(self):
        task = self.open("-c", "stty raw -echo; echo ready; head -c 100000 | sha256sum; echo over")
        self.see_text(task, "ready")
        text = "".join(f"{i:05d}\n" for i in range(20000))[:100000]
        for i in range(0, len(text), 50000):
            self.type(task, text[i:i + 50000])
        digest = subprocess.run(["sha256sum"], input=text.encode(), capture_output=True,
                                check=True).stdout.split()[0].decode()
        self.see_text(task, "over")
        self.assertIn(digest, "".join(self.screen(task)["lines"]))

    def test_input_that_nobody_reads_fills_no_memory(self):
        task = self.open("-c", "stty raw -echo; echo ready; sleep 1000")
        self.see_text(task, "ready")
        keeper = self.find("nacre-keeper")
        before = status_kb(keeper.pid, "VmRSS")
        for _ in range(12):  # 12 MB, three times what is kept
            self.type(task, *["x" * 100_000] * 10)
        if not SANITIZED:
            self.assertLess(status_kb(keeper.pid, "VmRSS") - before, 16 << 10)
        self.type(task, "--resize", "9x9")  # it listens
        self.see(task, lambda s: s["rows"] == 9, "the size")

    def test_input_of_the_request_is_typed_and_ends(self):
        result = self.run_json("--pty", "--input", "b\na\n", "--", "sort")
        self.assertEqual(result["exit_code"], 0, result)
        self.assertEqual(result["output"].splitlines()[-2:], ["a", "b"])


class Result(PtyTest):
    def test_one_stream_with_plain_lines(self):
        result = self.run_json("--pty", "-c", "echo out; echo err >&2; printf '\\033[31mred\\033[m\\n'")
        self.assertEqual(result["output"], "out\nerr\nred\n")

    def test_a_request_names_the_size(self):
        lines = [json.dumps({"id": 1, "command": SIZE, "pty": {"rows": 30, "cols": 111}}),
                 json.dumps({"id": 2, "command": SIZE, "pty": True}),
                 json.dumps({"id": 3, "command": "tty", "pty": False}),
                 json.dumps({"id": 4, "command": "tty", "pty": {"rows": 0, "cols": 5}}),
                 json.dumps({"id": 5, "command": "tty", "pty": {"rows": 5}})]
        done = self.run_nacre("--batch", "--jobs", "1", input="\n".join(lines).encode() + b"\n")
        answers = {a["id"]: a.get("result", a) for a in map(json.loads, done.out.splitlines())}
        self.assertEqual(answers[1]["output"], "<30 111>\n")
        self.assertEqual(answers[2]["output"], "<24 80>\n")
        self.assertEqual(answers[3]["stdout"], "not a tty\n")
        for bad in (4, 5):
            self.assertIn("'pty' must be", answers[bad]["error"])

    def test_the_tool_shell_has_it_as_a_parameter(self):
        for name in ("one", "two"):
            (self.work / name).touch()
        seen = {}
        for wanted in (False, True, {"rows": 20, "cols": 4}):
            done = self.nacre("call", "shell", json.dumps({"command": ["ls"], "pty": wanted}))
            seen[str(wanted)] = json.loads(done.stdout)
        self.assertEqual(seen["False"]["stdout"], "one\ntwo\n", seen)
        self.assertEqual(seen["True"]["output"], "one  two\n", seen)  # in columns, for a terminal
        self.assertEqual(list(seen.values())[2]["output"], "one\ntwo\n", seen)

    def test_the_end_of_all_writers_is_not_the_end_of_the_command(self):
        result = self.run_json("--pty", "-c", "exec </dev/null >/dev/null 2>&1; sleep 0.3; "
                                              "echo late >/dev/tty")
        self.assertEqual((result["exit_code"], result["output"]), (0, "late\n"))

    def test_all_that_was_written_last_is_read(self):
        result = self.run_json("--pty", "--truncate", "all", "-c", "seq 1 20000")
        self.assertEqual(result["output"].split(), [str(i) for i in range(1, 20001)])

    def test_a_time_limit_ends_what_ignores_the_hang_up(self):
        began = time.monotonic()
        result = self.run_json("--pty", "--timeout", "500ms", "--grace", "200ms", "-c",
                               "trap '' HUP TERM; (trap '' HUP TERM; sleep 1000) & sleep 1000")
        self.assertTrue(result["timed_out"])
        self.assertLess(time.monotonic() - began, 20 + SLACK)

    def test_typing_into_the_own_terminal_is_refused(self):
        result = self.run_json("--pty", "--", "python3", "-c",
                               "import fcntl, termios\n"
                               "try: fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('typed')\n"
                               "except OSError as e: print(e.errno)")
        self.assertEqual(result["output"], "1\n", result)  # EPERM, by the filter


class Places(PtyTest):
    """The same terminal wherever a command may run, and whoever asks."""
    LOOK = ("tty >/dev/null && test -t 0 && test -t 1 && test -t 2 && echo is-terminal; "
            "echo through >/dev/tty; stty size; "
            "[ \"$(ps -o tpgid= -p $$ | tr -d ' ')\" = \"$(ps -o pgid= -p $$ | tr -d ' ')\" ] && "
            "echo foreground")
    WANTED = "is-terminal\nthrough\n33 99\nforeground\n"

    def look(self, mode, **options):
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: {mode}}}\n")
        result = self.run_json("--pty=33x99", "-c", self.LOOK, **options)
        if mode == "landlock" and result["exit_code"] == 125:
            self.skipTest(f"landlock: {result['reason']}")
        self.assertEqual(result["output"], self.WANTED, result)
        return result

    def test_in_a_box(self):
        self.assertEqual(self.look("strict")["sandbox"]["tier"], "strict")

    def test_in_a_box_as_an_ordinary_user(self):
        self.look("strict", **self.as_ordinary_user())

    def test_behind_landlock(self):
        self.look("landlock")

    def test_behind_landlock_as_an_ordinary_user(self):
        self.look("landlock", **self.as_ordinary_user())

    def test_without_a_box(self):
        self.look("none")

    def test_without_a_box_as_an_ordinary_user(self):
        self.look("none", **self.as_ordinary_user())

    def test_in_warm_boxes(self):
        lines = "".join(json.dumps({"id": i, "command": self.LOOK,
                                    "pty": {"rows": 33, "cols": 99}}) + "\n" for i in range(6))
        done = self.run_nacre("--batch", "--jobs", "1", input=lines.encode())
        answers = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([a["result"]["output"] for a in answers], [self.WANTED] * 6, answers)

    def test_driven_in_every_place_as_an_ordinary_user(self):
        self.user = self.as_ordinary_user()
        for mode in ("strict", "landlock", "none"):
            with self.subTest(mode=mode):
                self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: {mode}}}\n")
                task = self.open("-c", "read -p 'q? ' a; stty size; echo \"a=$a\"")
                self.see_text(task, "q?")
                self.type(task, "--resize", "20x70", "yes", "--key", "Enter")
                self.assertEqual(self.see_end(task)["exit_code"], 0)
                self.assertEqual(self.screen(task)["lines"], ["q? yes", "20 70", "a=yes"])

    def test_the_terminals_of_the_machine_are_not_in_the_box(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        name = os.ttyname(slave)
        for mode, number in (("strict", "0"), ("landlock", r"\d+")):
            with self.subTest(mode=mode):
                self.write_config("bash.yaml", f"profile: bash\nsandbox: {{mode: {mode}}}\n")
                result = self.run_json("--pty", "-c", f"tty; ls /dev/pts; echo x > {name}; echo y >/dev/tty")
                self.assertRegex(result["output"].splitlines()[0], rf"^(/dev/pts/{number}|not a tty)$")
                self.assertIn("y", result["output"].splitlines())
                ready, _, _ = select.select([master], [], [], 0)
                self.assertEqual(ready, [], "something was written to a terminal of the machine")


class Person(PtyTest):
    """nacre run --pty as a person uses it: nacre itself runs on a terminal, which we hold."""

    def setUp(self):
        super().setUp()
        self.seen = bytearray()
        self.env["TERM"] = "xterm-256color"

    def sit(self, *args, size=(24, 80)):
        self.master, self.slave = pty.openpty()
        self.addCleanup(os.close, self.master)
        self.addCleanup(os.close, self.slave)
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        slave = self.slave

        def take_terminal():
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        return self.start("--pty", *args, stdin=slave, stdout=slave, stderr=slave, pass_fds=[slave],
                          start_new_session=True, preexec_fn=take_terminal)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def press(self, text):
        os.write(self.master, text.encode())

    def read_until(self, text):
        end = time.monotonic() + DEADLINE
        while text.encode() not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not ready:
                self.fail(f"no {text!r} after {bytes(self.seen)!r}")
            self.seen += os.read(self.master, 65536)

    def drain(self):
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536)

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO)

    def end(self, nacre):
        """nacre's exit code; meanwhile what it writes is read."""
        def ended():
            self.drain()
            return nacre.poll() is not None
        wait_until("nacre ends", ended)
        self.drain()
        return nacre.returncode

    def expect_restored(self):
        wait_until("the terminal is as it was",
                   lambda: termios.tcgetattr(self.slave) == self.before)

    def test_keys_reach_the_command_and_the_terminal_is_put_back(self):
        nacre = self.sit("-c", "echo ready; read x; echo \"<$x>\"; exit 3")
        self.read_until("ready")
        self.assertTrue(self.is_raw())
        self.press("typed\r")
        self.read_until("<typed>")
        self.assertEqual(self.end(nacre), 3)
        self.expect_restored()
        # The command's terminal echoes once, and nobody else writes.
        self.assertEqual(bytes(self.seen), b"ready\r\ntyped\r\n<typed>\r\n")

    def test_the_size_is_that_of_the_person_and_follows_it(self):
        nacre = self.sit("-c", "trap 'stty size' WINCH; stty size; "
                         "while :; do read -t 0.05 x && exit; done",
                         size=(31, 97))
        self.read_until("31 97")
        self.resize(22, 66)
        self.read_until("22 66")
        self.press("\r")
        self.assertEqual(self.end(nacre), 0)

    def test_control_c_is_for_the_command(self):
        nacre = self.sit("-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done")
        self.read_until("ready")
        self.press("\x03")
        self.read_until("caught")
        self.assertEqual(self.end(nacre), 5)
        self.expect_restored()

    def test_jobs_of_an_interactive_shell(self):
        nacre = self.sit("--env", "PS1=% ", "--", "bash", "--norc", "--noprofile", "-i")
        self.read_until("% ")
        self.press("sleep 1000\r")
        sleep = self.find("sleep")  # it has the terminal before it has its name
        self.press("\x1a")
        self.read_until("Stopped")
        self.press("fg\r")
        # Typed, told as stopped, told as continued: bash has read the line, which Ctrl-C would flush.
        wait_until("fg names the job",
                   lambda: self.drain() or self.seen.count(b"sleep 1000") == 3)
        # Until it has the terminal again, Ctrl-C is bash's, which only shows it.
        wait_until("sleep is interrupted",
                   lambda: not is_alive(sleep.pid) or self.press("\x03") or self.drain())
        self.press("exit 4\r")
        self.assertEqual(self.end(nacre), 4)
        self.expect_restored()

    def test_vim(self):
        vim = vim_or_skip(self)
        (self.work / "x").write_text("text\n")
        nacre = self.sit("--", vim, "-u", "NONE", "-i", "NONE", "-n", "x")
        self.read_until("text")
        self.press("ccnew\x1b:wq\r")
        self.assertEqual(self.end(nacre), 0)
        self.expect_restored()
        self.assertEqual((self.work / "x").read_text(), "new\n")
        self.assertIn(b"\033[?1049l", self.seen)

    def test_signals_end_it_and_put_the_terminal_back(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(signal=number):
                self.seen.clear()
                nacre = self.sit("-c", "printf '\\033[?1049hready'; sleep 1000")
                self.read_until("ready")
                nacre.send_signal(number)
                self.assertEqual(self.end(nacre), 128 + number)
                self.expect_restored()
                self.assertIn(b"\033[?1047l", self.seen)  # also the screen

    def test_after_sigkill_the_terminal_is_put_back_and_the_command_ends(self):
        nacre = self.sit("-c", "echo ready; sleep 1000")
        self.read_until("ready")
        sleep = self.find("sleep")
        nacre.kill()
        nacre.wait(DEADLINE)
        self.expect_restored()
        self.expect_gone(sleep.pid)

    def test_a_refusal_leaves_the_terminal_alone(self):
        nacre = self.sit("-c", "rm -rf /")
        self.assertEqual(self.end(nacre), 126)
        self.expect_restored()
        self.assertIn(b"nacre: ", self.seen)

    def test_a_command_that_is_not_found(self):
        nacre = self.sit("--", "no-such-program")
        self.assertEqual(self.end(nacre), 127)
        self.expect_restored()

    def test_the_profile_s_time_limit_is_not_for_people(self):
        self.write_config("bash.yaml", "profile: bash\ntimeout: {default: 300ms, max: 600ms}\n")
        nacre = self.sit("-c", "echo ready; read x; echo \"<$x>\"")
        self.read_until("ready")
        with self.assertRaises(subprocess.TimeoutExpired):
            nacre.wait(1.2)  # twice the maximum
        self.press("still here\r")
        self.read_until("<still here>")
        self.assertEqual(self.end(nacre), 0)

    def test_a_terminal_that_goes_takes_the_command_with_it(self):
        nacre = self.sit("-c", "echo ready; sleep 1000")
        self.read_until("ready")
        sleep = self.find("sleep")
        self.press("")
        os.kill(nacre.pid, signal.SIGSTOP)  # it cannot even see the signal
        os.kill(nacre.pid, signal.SIGKILL)
        nacre.wait(DEADLINE)
        self.expect_gone(sleep.pid)
        self.assertFalse(is_alive(sleep.pid))


if __name__ == "__main__":
    unittest.main()
