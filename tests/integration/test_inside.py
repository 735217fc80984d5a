"""What honest programs find in a box: their own streams by name, and the refusals that they know."""
import json
import os
import shlex
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest

IDS = r"""
import errno, os
os.close(os.open("file", os.O_CREAT | os.O_WRONLY))
me, group = os.getuid(), os.getgid()
for name, call in {
    "setuid": lambda: os.setuid(me + 1), "setgid": lambda: os.setgid(group + 1),
    "seteuid": lambda: os.seteuid(me + 1), "setreuid": lambda: os.setreuid(-1, me + 1),
    "setresuid": lambda: os.setresuid(-1, -1, me + 1), "setresgid": lambda: os.setresgid(-1, group + 1, -1),
    "chown": lambda: os.chown("file", me + 1, -1), "chgrp": lambda: os.chown("file", -1, group + 1),
    "lchown": lambda: os.lchown("file", me + 1, group + 1),
    "fchown": lambda: os.fchown(os.open("file", os.O_RDONLY), me + 1, -1),
    "fchownat": lambda: os.chown("file", me + 1, -1, dir_fd=os.open(".", os.O_RDONLY)),
}.items():
    try:
        call()
        print(name, "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
os.setuid(me), os.setgid(group), os.setresuid(-1, me, me), os.chown("file", me, group), os.chown("file", -1, -1)
print("own ids: done")
"""


STREAMS = ("echo one >/dev/stdout; echo two >/dev/stderr; echo three | tee /dev/stderr; "
           "python3 -c 'open(\"/dev/stdout\", \"w\").write(\"four\\n\"); open(\"/dev/fd/2\", \"w\").write(\"five\\n\")'; "
           "echo six >/proc/self/fd/1")


class Inside(NacreTest):
    BOXED = True
    MODE = "strict"

    def setUp(self):
        super().setUp()
        self.policy = self.dir / "inside.yaml"
        self.policy.write_text(f"profile: inside\ninherits: bash\nsandbox: {{mode: {self.MODE}}}\n")
        self.identity = {}
        self.place = ["--policy", str(self.policy), "--workspace", str(self.work)]

    def run_line(self, *words, **options):
        return self.run_json(*self.place, *words, **options, **self.identity)

    def test_another_id_is_not_permitted(self):
        (self.work / "ids.py").write_text(IDS)
        result = self.run_line("-c", "python3 ids.py")
        lines = result["stdout"].splitlines()
        self.assertEqual(lines[-1:], ["own ids: done"], result)
        self.assertEqual({line.split()[1] for line in lines[:-1]}, {"EPERM"}, result)

    def expect_streams(self, result):
        self.assertEqual((result["stdout"], result["stderr"], result["exit_code"]),
                         ("one\nthree\nfour\nsix\n", "two\nthree\nfive\n", 0), result)

    def test_streams_can_be_opened_by_name(self):
        self.expect_streams(self.run_line("-c", STREAMS))

    def test_merged_streams_can_be_opened_by_name(self):
        result = self.run_line("--output-mode", "merged", "-c", STREAMS)
        self.assertEqual(result["output"], "one\ntwo\nthree\nthree\nfour\nfive\nsix\n", result)

    def test_streams_of_a_kept_box_can_be_opened_by_name(self):
        text = "".join(json.dumps({"id": i, "command": STREAMS}) + "\n" for i in range(6))
        done = self.run_nacre("--batch", "--jobs", "1", *self.place, input=text.encode(), **self.identity)
        results = [json.loads(line)["result"] for line in done.out.splitlines()]
        self.assertEqual(len(results), 6, done)
        for result in results:
            self.expect_streams(result)

    def test_streams_of_a_session_can_be_opened_by_name(self):
        self.expect_streams(self.run_line("--session", "streams", "-c", STREAMS))

    def test_streams_that_are_a_terminal_can_be_opened_by_name(self):
        line = "echo one >/dev/stdout; echo two >/dev/stderr; echo three >/dev/tty; test -t 0 </dev/stdin && echo four"
        result = self.run_line("--pty", "-c", line)
        self.assertEqual(result["output"].replace("\r", ""), "one\ntwo\nthree\nfour\n", result)

    def test_input_can_be_opened_by_name(self):
        result = self.run_line("--input", "typed\n", "-c", "cat /dev/stdin")
        self.assertEqual((result["stdout"], result["stderr"]), ("typed\n", ""), result)

    def test_input_from_a_pipe_can_be_opened_by_name(self):
        """The pipe is the operator's own, so the operator's shell makes it."""
        identity = dict(self.identity)
        words = [identity.pop("program", NACRE), "run", *self.place, "--stdin", "-c", "cat /dev/stdin"]
        done = subprocess.run(["sh", "-c", f"echo typed | {shlex.join(words)}"], env=self.env, cwd=self.work,
                              capture_output=True, timeout=DEADLINE, **identity)
        self.assertEqual((done.stdout, done.stderr), (b"typed\n", b""), done)

    def test_no_input_can_be_opened_by_name(self):
        result = self.run_line("-c", "cat /dev/stdin; echo over")
        self.assertEqual((result["stdout"], result["stderr"]), ("over\n", ""), result)


class Root(Inside):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root")


class User(Inside):
    def setUp(self):
        super().setUp()
        self.identity = self.as_ordinary_user()


class UserWithoutNamespaces(User):
    MODE = "landlock"


class RootWithoutNamespaces(Root):
    MODE = "landlock"


del Inside

if __name__ == "__main__":
    unittest.main()
