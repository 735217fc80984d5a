"""Output: bounded in the result, complete in the file, and text in any case."""
import json
import os
import time
import unittest

from helpers import NacreTest, PYTHON, QUICK, SANITIZED, descendants, status_kb

NUMBERS = "".join(f"{i}\n" for i in range(1, 20_001))  # 108,894 bytes, all different lines


class Output(NacreTest):
    def write(self, data, *options):
        """The result of a command that writes exactly these bytes."""
        (self.dir / "data").write_bytes(data)
        return self.run_json(*options, "--", "cat", str(self.dir / "data"))

    def file_of(self, result, member="output_file"):
        with open(result[member], "rb") as file:
            return file.read()


class Truncation(Output):
    def expect_ends(self, result, text, first, last, words):
        """The beginning, a line that counts, the end; the file has everything."""
        gap = "\n" if first and text[first - 1] != "\n" else ""
        line = f"[{words}; the full output is in {result['output_file']}]\n"
        self.assertEqual(result["stdout"], text[:first] + gap + line + text[len(text) - last:])
        self.assertTrue(result["truncated"])
        self.assertEqual(result["stdout_bytes"], len(text.encode()))
        self.assertEqual(self.file_of(result), text.encode())

    def test_halves_by_default_of_30000_characters(self):
        result = self.write(NUMBERS.encode())
        self.expect_ends(result, NUMBERS, 15_000, 15_000,
                         f"{len(NUMBERS) - 30_000} characters left out")

    def test_halves_count_characters_and_not_bytes(self):
        text = "aé€😀" * 1000
        for limit in (1, 2, 7, 1001):
            result = self.write(text.encode(), "--truncate", f"halves:{limit}")
            self.expect_ends(result, text, limit // 2, limit - limit // 2,
                             f"{4000 - limit} characters left out")

    def test_at_the_limit_nothing_is_cut_and_past_it_one_character_is(self):
        result = self.write(("é" * 100).encode(), "--truncate", "halves:100")
        self.assertEqual((result["stdout"], result["truncated"]), ("é" * 100, False))
        self.assertIsNone(result["output_file"])
        result = self.write(("é" * 101).encode(), "--truncate", "halves:100")
        self.expect_ends(result, "é" * 101, 50, 50, "1 character left out")

    def test_tail_is_the_last_characters(self):
        text = "aé€😀" * 20_000
        for options, limit in (((), 50_000), ((":10",), 10), ((":1",), 1)):
            result = self.write(text.encode(), "--truncate", "tail" + "".join(options))
            self.assertEqual(result["stdout"], text[-limit:])
            self.assertTrue(result["truncated"])
            self.assertEqual(self.file_of(result), text.encode())

    def test_edges_are_the_first_and_the_last_kib(self):
        result = self.write(NUMBERS.encode(), "--truncate", "edges")
        self.expect_ends(result, NUMBERS, 1024, 1024, f"output truncated: it has {len(NUMBERS)} bytes,"
                         " of which the first and the last 1024 are shown")
        fits = NUMBERS[:16 << 10]
        result = self.write(fits.encode(), "--truncate", "edges")
        self.assertEqual((result["stdout"], result["truncated"]), (fits, False))

    def test_bytes_is_a_prefix_that_ends_between_characters(self):
        text = "aé€😀" * 100
        for limit in range(20, 32):
            result = self.write(text.encode(), "--truncate", f"bytes:{limit}")
            shown = result["stdout"]
            self.assertTrue(text.startswith(shown))
            following = len(text[len(shown)].encode())
            self.assertLessEqual(len(shown.encode()), limit)
            self.assertGreater(len(shown.encode()) + following, limit)

    def test_all_is_everything_up_to_its_limit(self):
        text = NUMBERS * 9  # a little under 1 MiB
        result = self.write(text.encode(), "--truncate", "all")
        self.assertEqual((result["stdout"], result["truncated"]), (text, False))
        result = self.write(text.encode() * 2, "--truncate", "all")
        self.assertTrue(result["truncated"])
        self.assertEqual(self.file_of(result), text.encode() * 2)

    def test_no_character_is_cut_at_a_border_of_what_is_kept(self):
        # Far more than is kept in memory, in every phase of a three-byte character.
        for phase in range(3):
            text = "x" * phase + "€" * 700_000
            result = self.write(text.encode(), "--truncate", "halves:1000")
            self.expect_ends(result, text, 500, 500, f"{len(text) - 1000} characters left out")

    def test_each_stream_has_limit_and_file_of_its_own(self):
        (self.dir / "data").write_text(NUMBERS)
        result = self.run_json("--truncate", "tail:5", "-c", "cat ../data; tac ../data >&2")
        back = "".join(f"{i}\n" for i in range(20_000, 0, -1))
        self.assertEqual((result["stdout"], result["stderr"]), (NUMBERS[-5:], back[-5:]))
        self.assertEqual(self.file_of(result), NUMBERS.encode())
        self.assertEqual(self.file_of(result, "stderr_file"), back.encode())
        self.assertEqual((result["stdout_bytes"], result["stderr_bytes"]), (len(NUMBERS),) * 2)

    def test_as_text_people_are_told_what_is_missing(self):
        (self.dir / "data").write_text(NUMBERS)
        for style, shown in (("tail:10", NUMBERS[-10:]), ("bytes:10", NUMBERS[:10])):
            done = self.run_nacre("--truncate", style, "--", "cat", "../data")
            self.assertEqual((done.code, done.out.decode()), (0, shown))
            self.assertRegex(done.err.decode(), r"^nacre: only the .* are shown; the full output is in")
        done = self.run_nacre("--truncate", "halves:10", "--", "cat", "../data")
        self.assertEqual(done.err, b"", "the line between the halves has said it")


class File(Output):
    def test_what_fits_leaves_nothing_behind(self):
        result = self.write(b"all of it\n")
        self.assertEqual((result["stdout"], result["output_file"]), ("all of it\n", None))
        self.assertEqual(self.task_dirs(), [])

    def test_kept_output_is_private(self):
        result = self.write(NUMBERS.encode(), "--truncate", "tail:1")
        self.assertEqual(os.stat(result["output_file"]).st_mode & 0o777, 0o600)
        [task] = self.task_dirs()
        self.assertEqual(task.name, result["task_id"])
        for directory in (task, self.tasks, self.state):
            self.assertEqual(directory.stat().st_mode & 0o777, 0o700)
        self.assertEqual(sorted(p.name for p in task.iterdir()), ["out", "spec.json", "state.json"])

    def test_a_longer_command_leaves_no_more_files(self):
        """One that others could look for meanwhile had a socket, and told which processes are its own."""
        result = self.run_json("-c", "sleep 1.5; seq 100000", "--truncate", "tail:1")
        [task] = self.task_dirs()
        self.assertEqual(task.name, result["task_id"])
        self.assertEqual(sorted(p.name for p in task.iterdir()), ["out", "spec.json", "state.json"])

    def test_past_the_cap_the_middle_is_dropped_and_counted(self):
        cap = 64 << 10
        data = NUMBERS.encode() * 10
        result = self.write(data, "--output-cap", str(cap))
        state = json.loads((self.task_dirs()[0] / "state.json").read_text())["out"]
        kept = self.file_of(result)
        self.assertEqual(result["stdout_bytes"], len(data))
        self.assertEqual(state["bytes"], len(data))
        self.assertEqual(state["file_bytes"], len(kept))
        self.assertEqual(len(kept) + state["dropped_bytes"], len(data))
        self.assertLessEqual(len(kept), cap)
        self.assertGreaterEqual(len(kept), cap - 8192)
        at = state["dropped_at"]
        self.assertGreaterEqual(at, cap // 2 - 4096)
        self.assertEqual(kept, data[:at] + data[len(data) - (len(kept) - at):])
        self.assertIn(f"{state['dropped_bytes']} bytes in the middle", " ".join(result["notices"]))
        self.assertIn(f"without {state['dropped_bytes']} bytes of its middle", result["stdout"])

    def test_at_the_cap_nothing_is_dropped(self):
        data = os.urandom(3 << 14).replace(b"\0", b"x")
        result = self.write(data, "--output-cap", str(len(data)))
        self.assertEqual((self.file_of(result), result["notices"]), (data, []))

    def test_a_cap_of_nothing_keeps_no_file(self):
        result = self.write(NUMBERS.encode(), "--output-cap", "0")
        self.assertEqual(result["stdout_bytes"], len(NUMBERS))
        self.assertIsNone(result["output_file"], "it names a file that is not there")
        self.assertIn("the full output was not kept", result["stdout"])
        self.assertFalse([p for task in self.task_dirs() for p in task.iterdir() if p.name == "out"])


class StateCap(Output):
    def keep(self, *options):
        """A finished task that holds 256 KiB."""
        result = self.run_json("--truncate", "tail:1", *options, "-c", "yes | head -c 262144")
        return self.tasks / result["task_id"]

    def test_the_oldest_finished_go_first(self):
        old = [self.keep() for _ in range(12)]
        hour_ago = time.time_ns() - 3600 * 10**9
        for i, task in enumerate(old):  # all in one second of the past
            os.utime(task, ns=(hour_ago, hour_ago + i * 10**7))
        newest = self.keep("--state-cap", "2M")
        left = [task for task in old if task.exists()]
        self.assertTrue(newest.exists())
        self.assertIn(len(left), range(3, 8))
        self.assertEqual(left, old[-len(left):])

    def test_one_that_runs_is_never_deleted(self):
        os.mkfifo(self.work / "go")
        running = self.start("--json", "--truncate", "tail:1", "-c",
                             "yes | head -c 262144; echo ready >ready; read -r _ <go")
        self.wait_for_file(self.work / "ready")
        [alive] = self.task_dirs()
        os.utime(alive, ns=(10**18, 10**18))
        finished = self.keep()
        self.keep("--state-cap", "1K")
        self.assertTrue((alive / "out").exists())
        self.assertFalse(finished.exists())
        with open(self.work / "go", "w", encoding="utf-8") as file:
            file.write("go\n")
        self.assertEqual(self.finish(running).code, 0)
        self.assertEqual((alive / "out").stat().st_size, 262144)

    def test_strange_things_among_the_tasks_are_left_alone(self):
        self.keep()
        (self.tasks / "notes.txt").write_text("mine")
        (self.tasks / "other").mkdir()
        (self.tasks / "other" / "precious").write_text("mine")
        os.utime(self.tasks / "other", ns=(10**18, 10**18))
        self.keep("--state-cap", "1K")
        self.assertEqual((self.tasks / "notes.txt").read_text(), "mine")
        self.assertEqual((self.tasks / "other" / "precious").read_text(), "mine")


class Text(Output):
    def test_invalid_bytes_are_repaired_in_the_result_and_raw_in_the_file(self):
        raw = b"good \xc3\xa9 bad \xff half \xe2\x82 surrogate \xed\xa0\x80 end\n"
        result = self.write(raw)
        self.assertTrue(result["stdout"].startswith("good é bad \ufffd half \ufffd surrogate \ufffd"))
        self.assertTrue(result["stdout"].endswith(" end\n"))
        self.assertEqual(result["stdout_bytes"], len(raw))
        self.assertEqual(self.file_of(result), raw)

    def test_binary_output_is_named_and_counted(self):
        elf = b"\x7fELF\2\1\1" + bytes(1000)
        for raw, kind in ((elf, "ELF file"), (b"\x89PNG\r\n\x1a\n" + bytes(9), "PNG image"),
                          (b"\x1f\x8b\x08" + bytes(7), "gzip data"), (bytes(range(256)), "data")):
            result = self.write(raw)
            self.assertEqual(result["stdout"], f"[binary output: {kind}, {len(raw)} bytes; "
                             f"the full output is in {result['output_file']}]\n")
            self.assertEqual((result["truncated"], self.file_of(result)), (True, raw))

    def test_escape_sequences_are_stripped_or_kept(self):
        raw = b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain \x1b[2Ktext\n"
        self.assertEqual(self.write(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\n")["stdout"],
                         "red plain\n")
        self.assertEqual(self.write(raw, "--keep-escapes")["stdout"], raw.decode())

    def test_a_progress_bar_reads_as_it_ended(self):
        result = self.write(b"".join(b"\r%3d %% done" % i for i in range(101)) + b"\nready\r\n")
        self.assertEqual(result["stdout"], "100 % done\nready\n")

    def test_json_holds_any_text(self):
        text = 'quote " backslash \\ tab \t line\u2028 é 😀 \u007f'
        self.assertEqual(self.write(text.encode())["stdout"], text.replace("\u007f", ""))


class Flood(Output):
    SIZE = (64 << 20) if QUICK or SANITIZED else 1 << 30
    CAP = SIZE // 4
    FLOOD = """
import os, sys
size = int(sys.argv[1])
block = b"".join(b"%015d\\n" % i for i in range(65536))
os.write(1, b"BEGIN of flood.\\n")
left = size - 32
while left:
    left -= os.write(1, block[:left])
os.write(1, b"the flood's END\\n")
"""

    def test_memory_stays_small_and_counts_exact(self):
        nacre = self.start("--json", "--output-cap", str(self.CAP), "--", PYTHON, "-c", self.FLOOD,
                           str(self.SIZE))
        peak = {}
        while nacre.poll() is None:
            for process in descendants():
                if process.name.startswith("nacre"):
                    resident = status_kb(process.pid, "VmHWM")
                    peak[process.name] = max(peak.get(process.name, 0), resident)
        result = json.loads(self.finish(nacre).out)
        self.assertEqual((result["exit_code"], result["stdout_bytes"]), (0, self.SIZE))
        self.assertTrue(result["stdout"].startswith("BEGIN of flood.\n%015d\n" % 0))
        self.assertTrue(result["stdout"].endswith("\nthe flood's END\n"))
        self.assertEqual(set(peak), {"nacre", "nacre-keeper", "nacre-init"})
        if not SANITIZED:
            self.assertLessEqual(max(peak.values()), 16 << 10, peak)
        self.expect_complete_spool(result)

    def expect_complete_spool(self, result):
        state = json.loads((self.task_dirs()[0] / "state.json").read_text())["out"]
        self.assertEqual(state["file_bytes"] + state["dropped_bytes"], self.SIZE)
        self.assertLessEqual(state["file_bytes"], self.CAP)
        self.assertGreaterEqual(state["file_bytes"], self.CAP - (1 << 20))
        self.assertEqual(os.stat(result["output_file"]).st_size, state["file_bytes"])
        block = b"".join(b"%015d\n" % i for i in range(65536))

        def original(offset, n):
            """What the command wrote there, between its first and its last 16 bytes."""
            start = (offset - 16) % len(block)
            return (block * (n // len(block) + 2))[start:start + n]

        with open(result["output_file"], "rb") as file:
            at = 0
            while at < state["file_bytes"]:
                n = min(1 << 20, state["file_bytes"] - at)
                if at < state["dropped_at"]:
                    n = min(n, state["dropped_at"] - at)
                here = at if at < state["dropped_at"] else at + state["dropped_bytes"]
                want = original(here, n)
                if here == 0:
                    want = b"BEGIN of flood.\n" + want[16:]
                if here + n == self.SIZE:
                    want = want[:-16] + b"the flood's END\n"
                if file.read(n) != want:
                    self.fail(f"the file differs from the output after byte {here}")
                at += n


if __name__ == "__main__":
    unittest.main()
