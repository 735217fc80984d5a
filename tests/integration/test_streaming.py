"""`nacre run` into a pipe: lines as they come, and with --events JSON objects."""
import json
import os
import subprocess
import unittest

from helpers import NACRE, NacreTest, wait_until
from patience import DEADLINE

# Goes on only when the reader has seen the line before: what comes at the end alone never ends.
TURNS = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2; printf three"


class Streams(NacreTest):
    BOXED = True

    def start(self, *args, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        p = subprocess.Popen([NACRE, "run", "--timeout", "600s", *args], env=self.env, cwd=self.work,
                             stdin=subprocess.DEVNULL, **options)
        self.addCleanup(p.wait)
        for each in (p.stdout, p.stderr):
            if each:
                self.addCleanup(each.close)
        return p

    def test_a_line_is_there_before_the_command_ends(self):
        p = self.start("-c", TURNS)
        self.assertEqual(p.stdout.readline(), b"one\n")
        self.assertIsNone(p.poll())
        (self.work / "go").touch()
        self.assertEqual(p.stdout.read(), b"three")
        self.assertEqual((p.stderr.read(), p.wait()), (b"two\n", 0))

    def test_a_file_gets_them_too(self):
        with open(self.work / "log", "wb") as log:
            p = self.start("-c", TURNS, stdout=log, stderr=log)
        wait_until("a line", lambda: (self.work / "log").read_bytes() == b"one\n")
        (self.work / "go").touch()
        p.wait()
        self.assertEqual(sorted((self.work / "log").read_bytes().split(b"\n")), sorted([b"one", b"threetwo", b""]))

    def whole(self, line, *args):
        """The same output early and at the end."""
        outs = []
        for after in ("", "; sleep 0.35"):
            done = subprocess.run([NACRE, "run", *args, "-c", line + after], env=self.env, cwd=self.work,
                                  capture_output=True, timeout=DEADLINE, check=False)
            outs.append([b"[" + part.split(b"]")[0].split(b";")[0] + part[part.find(b"]"):] if i else part
                         for i, part in enumerate(done.stdout.split(b"["))])
        return outs

    def test_what_comes_early_is_a_part_of_what_comes_at_the_end(self):
        for args in ((), ("--truncate", "edges:2k"), ("--truncate", "tail:500"), ("--truncate", "bytes:700"),
                     ("--truncate", "all"), ("--truncate", "halves:300"), ("--keep-escapes",)):
            for line in ("seq 1 40000", r"printf 'a\033[31mb\033[0m\nx\rylong\r\n\xff\xfe\n%s\n' äöü; seq 300",
                         r"printf '\033]0;title\nmore\007x\n'", r"echo text; head -c 3000 /dev/zero",
                         "echo first; printf 'no end'"):
                at_once, early = self.whole(line, *args)
                self.assertEqual(early, at_once, (args, line))

    def test_a_reader_who_leaves_ends_the_command(self):
        p = self.start("-c", "echo one; touch here; while :; do echo more; sleep 0.05; done")
        p.stdout.readline()
        p.stdout.close()
        p.stderr.read()
        self.assertEqual(p.wait(), 125)
        self.assertTrue((self.work / "here").exists())
        tasks = json.loads(subprocess.run([NACRE, "tasks", "--json"], env=self.env, capture_output=True, cwd=self.work,
                                          check=True).stdout)["tasks"]
        self.assertFalse([t for t in tasks if t["state"] == "running"], tasks)

    def test_a_reader_who_sleeps_keeps_nobody_from_ending_it(self):
        p = self.start("--truncate", "bytes:1M", "-c", "seq 1 140000; touch here; sleep 1000")
        wait_until("the file", (self.work / "here").exists)
        p.terminate()
        self.assertGreater(len(p.stdout.read()), 140000)
        self.assertEqual(p.wait(), 143)

    def events(self, p):
        return [json.loads(line) for line in p.stdout]

    def test_events(self):
        p = self.start("--events", "-c", TURNS)
        self.assertEqual(json.loads(p.stdout.readline()), {"event": "output", "stream": "stdout", "text": "one\n"})
        (self.work / "go").touch()
        rest = self.events(p)
        self.assertEqual([e["event"] for e in rest], ["output", "output", "result"])
        self.assertEqual(sorted((e["stream"], e["text"]) for e in rest[:-1]), [("stderr", "two\n"), ("stdout", "three")])
        result = rest[-1]["result"]
        self.assertEqual((result["exit_code"], result["stdout"], result["stderr"]), (0, "one\nthree", "two\n"))
        self.assertEqual((p.wait(), p.stderr.read()), (0, b""))

    def test_events_have_all_of_a_flood(self):
        events = self.events(self.start("--events", "-c", "seq 1 200000"))
        self.assertEqual("".join(e["text"] for e in events[:-1]), "".join(f"{i}\n" for i in range(1, 200001)))
        self.assertTrue(events[-1]["result"]["truncated"])

    def test_events_tell_who_is_asked(self):
        self.write_config("workspace.yaml", "profile: workspace\nshell: bash\n")
        p = self.start("--events", "--profile", "workspace", "--approval-timeout", f"{int(DEADLINE)}s", "python3", "-c",
                       "print(1)")
        asked = json.loads(p.stdout.readline())
        self.assertEqual((asked["event"], asked["approval"]["state"]), ("asked", "open"), asked)
        subprocess.run([NACRE, "approve", asked["approval"]["id"]], env=self.env, cwd=self.work, check=True,
                       capture_output=True)
        events = self.events(p)
        self.assertEqual([e.get("text") for e in events], ["1\n", None])
        self.assertEqual(events[-1]["result"]["approval"]["state"], "given", events)

    def test_events_of_what_does_not_run(self):
        events = self.events(self.start("--events", "--profile", "readonly", "rm", "x"))
        self.assertEqual([e["event"] for e in events], ["result"])
        self.assertEqual(events[0]["result"]["verdict"], "deny")
        events = self.events(self.start("--events", "--background", "sleep", "0"))
        self.assertEqual([e["event"] for e in events], ["result"])
        self.assertTrue(events[0]["result"]["background"])
        for other in ("--json", "--batch"):
            p = self.start("--events", other, *([] if other == "--batch" else ["true"]))
            self.assertEqual((p.wait(), b"cannot be combined" in p.stderr.read()), (125, True), other)

    def test_call_has_sessions(self):
        def call(line):
            done = subprocess.run([NACRE, "call", "--session", "s", "Bash", json.dumps({"command": line})], env=self.env,
                                  cwd=self.work, capture_output=True, timeout=DEADLINE, check=False)
            return json.loads(done.stdout)

        os.mkdir(self.work / "sub")
        self.assertTrue(call("cd sub; export X=5; echo t >/tmp/t")["success"])
        self.assertEqual(call("basename $PWD; echo $X; cat /tmp/t")["stdout"], "sub\n5\nt\n")


if __name__ == "__main__":
    unittest.main()
