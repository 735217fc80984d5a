"""nacre run --batch: one JSON request a line in, one answer a line out."""
import array
import fcntl
import json
import os
import signal
import subprocess
import termios
import time
import unittest

from helpers import DEADLINE, SANITIZED, NacreTest, descendants, wait_until


class BatchTest(NacreTest):
    def ask(self, *lines, options=(), code=0):
        """Answers in the order in which they came; a line is text, or an object."""
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        done = self.run_nacre("--batch", *options, input=text.encode())
        self.assertEqual((done.code, done.err), (code, b""))
        return [json.loads(line) for line in done.out.splitlines()]

    def open(self, *options):
        return self.start("--batch", *options, stdin=subprocess.PIPE)

    def send(self, nacre, *requests):
        nacre.stdin.write(b"".join(json.dumps(r).encode() + b"\n" for r in requests))
        nacre.stdin.flush()

    def close(self, nacre):
        nacre.stdin.close()
        self.assertEqual((nacre.wait(DEADLINE), nacre.stdout.read()), (0, b""))


class Lines(BatchTest):
    def test_ids_of_any_kind_come_back_as_they_were(self):
        ids = [1, -7, 0.5, "a \"b\" é", None, True, ["x", {"y": []}], {"k": "v"}]
        answers = self.ask(*({"id": i, "argv": ["echo", str(n)]} for n, i in enumerate(ids)),
                           options=("--jobs", "1"))
        self.assertEqual([a["id"] for a in answers], ids)
        self.assertEqual([a["result"]["stdout"] for a in answers],
                         [f"{n}\n" for n in range(len(ids))])

    def test_a_request_without_an_id_is_answered_with_null(self):
        [answer] = self.ask({"command": "echo x"})
        self.assertEqual((answer["id"], answer["result"]["stdout"]), (None, "x\n"))

    def test_every_member_has_its_effect(self):
        (self.work / "sub").mkdir()
        [answer] = self.ask({"id": 1, "command": "pwd; echo $A$B; cat; echo e >&2", "cwd": "sub",
                             "env": {"A": "1", "B": "é"}, "input": "in\n", "timeout_ms": 60000,
                             "description": "d", "output_mode": "merged"})
        self.assertEqual(answer["result"]["output"], f"{self.work}/sub\n1é\nin\ne\n")
        [answer] = self.ask({"id": 1, "command": "sleep 1000", "timeout_ms": 200})
        self.assertEqual((answer["result"]["exit_code"], answer["result"]["timed_out"]), (124, True))

    def test_a_bad_line_is_answered_by_name_and_the_rest_goes_on(self):
        bad = {"not json": "request", "[1]": "must be an object", '"text"': "request",
               '{"id":9}': "give either 'argv' or 'command'",
               '{"id":9,"argv":["a"],"command":"b"}': "give either 'argv' or 'command'",
               '{"id":9,"argv":[]}': "'argv'", '{"id":9,"argv":"ls"}': "'argv'",
               '{"id":9,"argv":["a",1]}': "'argv'", '{"id":9,"command":["ls"]}': "'command'",
               '{"id":9,"command":"a","cwd":1}': "'cwd'", '{"id":9,"command":"a","env":[]}': "'env'",
               '{"id":9,"command":"a","env":{"A":1}}': "'env'",
               '{"id":9,"command":"a","input":{}}': "'input'",
               '{"id":9,"command":"a","description":0}': "'description'",
               '{"id":9,"command":"a","timeout_ms":"1s"}': "'timeout_ms'",
               '{"id":9,"command":"a","timeout_ms":0}': "'timeout_ms'",
               '{"id":9,"command":"a","timeout_ms":1.5}': "'timeout_ms'",
               '{"id":9,"command":"a","output_mode":"both"}': "'output_mode'",
               '{"id":9,"command":"a","comand":"b"}': "unknown member 'comand'",
               '{"id":9,"command":"a","command":"b"}': "duplicate",
               '{"id":9,"command":"a\\u0000b"}': "U+0000"}
        for line, words in bad.items():
            with self.subTest(line):
                first, second = self.ask(line, {"id": 2, "command": "echo on"},
                                         options=("--jobs", "1"))
                self.assertEqual(set(first), {"id", "error"})
                self.assertIn(words, first["error"])
                self.assertEqual((second["id"], second["result"]["stdout"]), (2, "on\n"))

    def test_a_refusal_is_a_result_and_names_its_reason(self):
        for request, code, words in (({"argv": ["no-such-program"]}, 127, "command not found"),
                                     ({"command": "true", "cwd": ".."}, 125, "outside"),
                                     ({"argv": ["ls"], "env": {"LD_PRELOAD": "x"}}, 125, "LD_PRELOAD"),
                                     ({"argv": [""]}, 127, "not found")):
            [answer] = self.ask({"id": 1, **request})
            self.assertEqual(answer["result"]["exit_code"], code)
            self.assertIn(words, answer["result"]["reason"])

    def test_an_over_long_line_is_answered_once_and_skipped(self):
        for size in (1 << 20, (1 << 20) + 70_000, 5 << 20):
            with self.subTest(size):
                long = '{"id":1,"command":"true","input":"' + "x" * size + '"}'
                answers = self.ask({"id": 0, "command": "echo before"}, long,
                                   {"id": 2, "command": "echo after"}, options=("--jobs", "1"))
                self.assertEqual([a.get("result", {}).get("stdout") for a in answers],
                                 ["before\n", None, "after\n"])
                self.assertIn("longer than", answers[1]["error"])

    def test_a_long_line_that_fits_is_run(self):
        [answer] = self.ask({"id": 1, "argv": ["wc", "-c"], "input": "x" * 1_000_000})
        self.assertEqual(answer["result"]["stdout"], "1000000\n")

    def test_the_last_line_needs_no_newline_and_empty_lines_are_nothing(self):
        answers = self.ask("", {"id": 1, "command": "true"}, "", "", {"id": 2, "command": "true"},
                           options=("--jobs", "1"))
        self.assertEqual([a["id"] for a in answers], [1, 2])
        self.assertEqual(self.ask(""), [])

    def test_requests_can_come_from_a_file(self):
        path = self.dir / "requests"
        path.write_text("".join(f'{{"id":{i},"command":"echo {i}"}}\n' for i in range(50)))
        with open(path, "rb") as file:
            done = self.run_nacre("--batch", stdin=file)
        self.assertEqual(sorted(json.loads(line)["id"] for line in done.out.splitlines()),
                         list(range(50)))

    def test_a_line_may_come_in_pieces(self):
        nacre = self.open()
        for piece in (b'{"id":1,"comm', b'and":"echo ', b'\xc3', b'\xa9"}', b"\n"):
            nacre.stdin.write(piece)
            nacre.stdin.flush()
            wait_until("it is read", lambda: not self.unread(nacre))
        self.assertEqual(json.loads(nacre.stdout.readline())["result"]["stdout"], "é\n")
        self.close(nacre)

    @staticmethod
    def unread(nacre):
        count = array.array("i", [0])
        fcntl.ioctl(nacre.stdin.fileno(), termios.FIONREAD, count)
        return count[0]

    def test_the_answer_comes_while_the_input_stays_open(self):
        nacre = self.open()
        for i in range(3):
            self.send(nacre, {"id": i, "command": f"echo {i}"})
            self.assertEqual(json.loads(nacre.stdout.readline())["id"], i)
        self.close(nacre)

    def test_options_hold_for_every_request(self):
        answers = self.in_time(lambda: (self.work / "one").exists() and (self.work / "two").exists(), lambda limit: self.ask(
            {"id": 1, "command": "echo $X; echo >one; sleep 1000"}, {"id": 2, "command": "seq 100; echo >two"},
            options=("--timeout", limit, "--env", "X=y", "--truncate", "tail:4")))
        first, second = sorted(answers, key=lambda a: a["id"])
        self.assertEqual((first["result"]["exit_code"], first["result"]["stdout"]), (124, "y\n"))
        self.assertEqual((second["result"]["stdout"], second["result"]["truncated"]), ("100\n", True))

    def test_the_commands_do_not_read_the_requests(self):
        answers = self.ask({"id": 1, "command": "cat"}, {"id": 2, "command": "echo two"},
                           options=("--jobs", "1"))
        self.assertEqual([a["result"]["stdout"] for a in answers], ["", "two\n"])


class Together(BatchTest):
    def test_as_many_run_at_once_as_there_are_jobs_and_no_more(self):
        nacre = self.open("--jobs", "8")
        line = "echo x >>started; until [ -e go ]; do sleep 0.02; done"
        self.send(nacre, *({"id": i, "command": line} for i in range(9)))
        started = self.work / "started"
        wait_until("eight have started", lambda: started.exists() and len(started.read_text()) == 16)
        self.assertEqual(sum(p.name == "nacre-keeper" for p in descendants()), 8)
        (self.work / "go").write_text("")
        answers = [json.loads(nacre.stdout.readline()) for _ in range(9)]
        self.assertEqual(len(started.read_text()), 18)
        self.assertEqual({a["id"] for a in answers}, set(range(9)))
        self.close(nacre)

    def test_sleeps_end_together(self):
        def attempt():
            began = time.monotonic()
            answers = self.ask(*({"id": i, "argv": ["sleep", "1"]} for i in range(16)),
                               options=("--jobs", "16"))
            self.assertEqual(len(answers), 16)
            return time.monotonic() - began
        self.best_seconds(12 if SANITIZED else 4, attempt)

    def test_answers_come_in_the_order_of_the_ends(self):
        os.mkfifo(self.work / "go")
        nacre = self.open("--jobs", "2")
        self.send(nacre, {"id": "slow", "command": "read -r _ <go"}, {"id": "fast", "command": "true"})
        self.assertEqual(json.loads(nacre.stdout.readline())["id"], "fast")
        with open(self.work / "go", "w", encoding="utf-8") as file:
            file.write("go\n")
        self.assertEqual(json.loads(nacre.stdout.readline())["id"], "slow")
        self.close(nacre)


class End(BatchTest):
    def begin(self, *options, line="echo early; setsid sleep 1000 & echo x >>started; sleep 1000"):
        nacre = self.open("--jobs", "4", *options)
        self.send(nacre, *({"id": i, "command": line} for i in range(6)))
        started = self.work / "started"
        wait_until("four have started", lambda: started.exists() and len(started.read_text()) == 8)
        return nacre

    def expect_stopped(self, number):
        nacre = self.begin()
        nacre.send_signal(number)
        out, _ = nacre.communicate(timeout=DEADLINE)
        answers = [json.loads(line) for line in out.splitlines()]
        self.assertEqual({a["id"] for a in answers}, {0, 1, 2, 3})
        for answer in answers:
            self.assertEqual(answer["result"]["reason"], "stopped")
            self.assertEqual(answer["result"]["stdout"], "early\n")
        self.assertEqual(len((self.work / "started").read_text()), 8, "a new one was started")
        return nacre.returncode

    def test_sigterm_ends_all_and_starts_nothing_new(self):
        self.assertEqual(self.expect_stopped(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_ctrl_c_ends_all_and_starts_nothing_new(self):
        self.assertEqual(self.expect_stopped(signal.SIGINT), 128 + signal.SIGINT)

    def test_the_second_signal_insists(self):
        nacre = self.begin("--grace", "60s", line='trap "echo x >>got" TERM; echo x >>started;'
                           " while :; do sleep 1; done")
        nacre.send_signal(signal.SIGTERM)
        got = self.work / "got"
        wait_until("all were asked", lambda: got.exists() and len(got.read_text()) == 8)
        self.assertIsNone(nacre.poll())
        nacre.send_signal(signal.SIGTERM)
        out, _ = nacre.communicate(timeout=DEADLINE)
        self.assertEqual([json.loads(line)["result"]["signal"] for line in out.splitlines()],
                         ["SIGKILL"] * 4)

    def test_a_signal_with_nothing_to_do_ends_the_batch(self):
        nacre = self.open()
        self.send(nacre, {"id": 1, "command": "true"})
        nacre.stdout.readline()
        nacre.send_signal(signal.SIGTERM)
        self.assertEqual(nacre.wait(DEADLINE), 128 + signal.SIGTERM)

    def test_a_reader_that_goes_away_is_an_error_and_starts_nothing_new(self):
        nacre = self.open("--jobs", "1")
        nacre.stdout.close()
        self.send(nacre, *({"id": i, "command": "echo x >>started"} for i in range(3)))
        self.assertEqual(nacre.wait(DEADLINE), 125)
        self.assertIn(b"standard output: Broken pipe", nacre.stderr.read())
        self.assertEqual((self.work / "started").read_text(), "x\n")
        [task] = self.task_dirs()
        self.assertTrue((task / "state.json").exists(), "the result that nobody read is kept")
        nacre.stdin.close()


if __name__ == "__main__":
    unittest.main()
