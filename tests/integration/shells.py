"""What the tests of nsh share: the shell itself, and bash beside it."""
import json
import os
import shutil
import signal
import subprocess

from helpers import DEADLINE, NACRE, Done, NacreTest

BASH = shutil.which("bash")


class ShellTest(NacreTest):
    """In the box, in a session of the test's own, below a repository."""

    BOXED = True

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_tasks)  # before it is looked whether something is left
        bin_dir = self.dir / "bin"
        bin_dir.mkdir()
        for name in ("nsh", "nsh-bash"):
            os.symlink(NACRE, bin_dir / name)
        self.nsh = str(bin_dir / "nsh")
        os.mkdir(self.work / ".git")
        os.chmod(self.dir, 0o755)
        self.env["NACRE_SESSION"] = "test"

    def end_tasks(self):
        done = subprocess.run([NACRE, "tasks", "--running", "--json"], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, check=False)
        for task in json.loads(done.stdout or b'{"tasks":[]}')["tasks"]:
            subprocess.run([NACRE, "stop", task["task_id"]], env=self.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, check=False)

    def open(self, *argv, shell=None, env=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.work)
        popen = subprocess.Popen([shell or self.nsh, *argv], env={**self.env, **(env or {})},
                                 restore_signals=True, **options)
        self.started.append(popen)
        return popen

    def sh(self, *argv, input=None, **options):
        if input is not None:
            options["stdin"] = subprocess.PIPE
        popen = self.open(*argv, **options)
        out, err = popen.communicate(input, timeout=2 * DEADLINE)
        return Done(popen.returncode, out, err, 0)

    def bash(self, *argv, **options):
        return self.sh(*argv, shell=BASH, **options)

    def line(self, text, **options):
        return self.sh("-c", text, **options)

    def expect_same(self, *argv, **options):
        """The same bytes and the same end as of bash."""
        want, have = self.bash(*argv, **options), self.sh(*argv, **options)
        self.assertEqual(have[:3], self.as_of_bash(want)[:3], argv)
        return have

    @staticmethod
    def as_of_bash(done):
        """bash calls itself by the path by which it was started, nsh always "bash"."""
        return done._replace(err=done.err.replace(BASH.encode(), b"bash"), out=done.out.replace(BASH.encode(), b"bash"))

    def expect_refused(self, done, *words, code=126):
        self.assertEqual((done.code, done.out), (code, b""), done)
        for word in words:
            self.assertIn(word, done.err.decode())

    def records(self, event):
        """Those of the audit log, oldest first."""
        records = []
        for path in sorted((self.state / "audit").glob("log.*")):
            records += [json.loads(line) for line in path.read_text().splitlines()]
        return [record for record in records if record["event"] == event]


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
