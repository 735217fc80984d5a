"""What the tests of a running nacre share: a place of their own, the processes they cause, deadlines.

The test process is a child subreaper. Whatever nacre or a command leaves behind, a daemon that called
setsid twice included, becomes its descendant and is seen at the end of the test, where it is a
failure. Tests that run at the same time on one machine thus do not see each other.
"""
import collections
import ctypes
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from patience import DEADLINE, SLOW, Deadline, Slack, ample, load_factor  # noqa: F401: others take them from here

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NACRE = os.path.abspath(os.environ.get("NACRE") or ROOT / "build" / "nacre")
QUICK = bool(os.environ.get("NACRE_TEST_QUICK"))
PYTHON = sys.executable

PR_SET_CHILD_SUBREAPER = 36

Process = collections.namedtuple("Process", "pid parent name state start")
Done = collections.namedtuple("Done", "code out err seconds")


def is_sanitized():
    """An instrumented nacre is slow and large: times and memory are not asserted tightly."""
    told = os.environ.get("NACRE_SANITIZED")
    if told:
        return told == "1"
    with open(NACRE, "rb") as file:
        return b"__asan_init" in file.read()


SANITIZED = is_sanitized()
SLACK = Slack(5.0 if SANITIZED else 0.5)

if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0:
    raise OSError(ctypes.get_errno(), "becoming a subreaper")


def process_read(pid):
    """One process as /proc tells it, or None."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    name = text[text.index(b"(") + 1:text.rindex(b")")].decode(errors="replace")
    fields = text[text.rindex(b")") + 2:].split()
    return Process(int(pid), int(fields[1]), name, fields[0].decode(), int(fields[19]))


def descendants(root=None):
    """All living descendants of a process (of this one by default), parents before children."""
    table = {}
    for entry in os.listdir("/proc"):
        process = process_read(entry) if entry.isdigit() else None
        if process:
            table.setdefault(process.parent, []).append(process)
    found, todo = [], [root or os.getpid()]
    while todo:
        children = table.get(todo.pop(0), [])
        found += [child for child in children if child.state not in "ZX"]
        todo += [child.pid for child in children]
    return found


def is_alive(pid):
    process = process_read(pid)
    return process is not None and process.state not in "ZX"


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")[:-1]
    except (FileNotFoundError, ProcessLookupError):
        return []


def status_kb(pid, field):
    """A number of kB out of /proc/<pid>/status, or 0 when the process is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def fd_count(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def wait_until(what, condition, seconds=DEADLINE):
    """Returns the first true value of the condition; fails when the deadline passes first."""
    end = time.monotonic() + (seconds if isinstance(seconds, Deadline) else Deadline(seconds))
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s on a machine as busy as {end.factor:.1f}: {what}")
        time.sleep(0.005)


def reap_strangers(known):
    """Collects the dead that fell to this process as their subreaper."""
    for entry in os.listdir("/proc"):
        process = process_read(entry) if entry.isdigit() else None
        if process and process.parent == os.getpid() and process.state == "Z" \
                and process.pid not in known:
            try:
                os.waitpid(process.pid, os.WNOHANG)
            except ChildProcessError:
                pass


def unused_uid():
    """A user that nobody is, so that a limit on his processes counts only the test's own."""
    return 200000 + os.getpid() % 1000000


class NacreTest(unittest.TestCase):
    """Each test has a directory of its own with the state and a workspace, and leaves no process."""

    maxDiff = 2000
    BOXED = False  # what most tests look at is told better by processes that everybody can see

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nacre-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.state = self.dir / "state"
        self.tasks = self.state / "tasks"
        self.work = self.dir / "work"
        self.tmp = self.dir / "tmp"
        self.work.mkdir()
        self.tmp.mkdir()
        self.config = self.dir / "config"
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "HOME": str(self.dir), "LANG": "C.UTF-8", "TMPDIR": str(self.tmp),
                    "NACRE_STATE_DIR": str(self.state), "XDG_CONFIG_HOME": str(self.config)}
        if not self.BOXED:
            # What a command leaves running ends with it: test_left.py looks at the other way.
            self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\nroom: {leftover: end}\n"
                                           "environment: {pass: ['@inherited', TMPDIR]}\n")
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            # Keeper and init have no standard error: what a sanitizer finds there goes to a file.
            given = os.environ.get(name)
            log = f"log_path={self.dir}/sanitizer"
            self.env[name] = f"{given}:{log}" if given else log
        for name in ("LSAN_OPTIONS", "GCOV_PREFIX", "GCOV_PREFIX_STRIP"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.started = []
        self.addCleanup(self.expect_no_process_left)
        # Reading from a pipe that stays silent must not last for ever either.
        signal.signal(signal.SIGALRM, self.give_up)
        self.give_up_after(4 * DEADLINE)
        self.addCleanup(signal.alarm, 0)

    def give_up_after(self, deadline):
        """The whole test; looked at again while it lasts."""
        self.last = time.monotonic() + deadline
        signal.alarm(5)

    def write_config(self, name, text):
        """A file of the user's layer, above what is built in."""
        path = self.config / "nacre" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def give_up(self, _number, _frame):
        if self.last > time.monotonic():
            signal.alarm(5)
            return
        raise AssertionError(f"no end after {self.last.seconds:g} s on a machine as busy as {self.last.factor:.1f}")

    def end_launchers(self):
        """Those that stay for the next call of a session leave when nobody can find them any more."""
        for pattern in ("*/launchers/*.sock", ".local/state/nacre/launchers/*.sock", "*/*/launchers/*.sock"):
            for path in self.dir.glob(pattern):
                path.unlink(missing_ok=True)

    def expect_no_process_left(self):
        """What is dying may take its time; what lives on is a failure, and is ended by its id."""
        for popen in self.started:
            if popen.poll() is None:
                popen.kill()
            popen.wait(DEADLINE)
            for stream in (popen.stdin, popen.stdout, popen.stderr):
                if stream:
                    stream.close()
        known = {popen.pid for popen in self.started}
        try:
            # A launcher may have been about to begin.
            wait_until("no process is left", lambda: self.end_launchers() or not descendants(), 10)
        except AssertionError:
            left = descendants()
            for process in left:
                if process_read(process.pid) == process:
                    os.kill(process.pid, signal.SIGKILL)
            lines = [f"{p.pid} {p.name} {cmdline(p.pid)}" for p in left]
            self.fail("left behind: " + ", ".join(lines))
        finally:
            reap_strangers(known)
        for report in sorted(self.dir.glob("sanitizer.*")):
            text = report.read_text(errors="replace")
            # Of one that was killed while it looked for leaks; all else that is said there is a failure.
            if re.sub(r"==\d+==Unable to get registers from thread \d+\.\n", "", text):
                self.fail(text)

    def start(self, *args, env=None, program=NACRE, **options):
        """`nacre run ARGS...` in the workspace; standard input is empty unless told."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.work)
        popen = subprocess.Popen([program, "run", *args], env={**self.env, **(env or {})}, **options)
        self.started.append(popen)
        return popen

    def finish(self, popen, input=None, began=None):
        out, err = popen.communicate(input, timeout=2 * DEADLINE)
        seconds = time.monotonic() - began if began else 0
        return Done(popen.returncode, out, err, seconds)

    def run_nacre(self, *args, input=None, **options):
        began = time.monotonic()
        if input is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*args, **options), input, began)

    def run_json(self, *args, **options):
        """The result object; the exit code of nacre must be the one that it names."""
        done = self.run_nacre("--json", *args, **options)
        self.assertEqual(done.out.count(b"\n"), 1, done)
        result = json.loads(done.out)
        self.assertEqual(done.code, result["exit_code"])
        self.assertEqual(done.err, b"")
        return result

    def expect_refused(self, done, words):
        """A usage error: clear words, 125, nothing on standard output and no state written."""
        self.assertEqual((done.code, done.out), (125, b""), done)
        self.assertIn(words, done.err.decode())
        self.assertFalse(self.state.exists(), "a refused command line wrote state")

    def task_dirs(self):
        return sorted(self.tasks.iterdir()) if self.tasks.exists() else []

    def copy_task(self, task, count):
        """So many more of a task that has ended, as if the same had been run again; their ids."""
        wait_until("it has ended", lambda: (self.tasks / task / "state.json").exists() and
                   (self.tasks / task).stat().st_mode & 0o7777 == 0o1700)
        files = {path.name: path.read_text() for path in (self.tasks / task).iterdir() if path.is_file()}
        ids = [f"bash-{os.urandom(8).hex()}" for _ in range(count)]
        for copy in ids:
            (self.tasks / copy).mkdir(0o700)
            for name, text in files.items():
                (self.tasks / copy / name).write_text(text.replace(task, copy))
            (self.tasks / copy).chmod(0o1700)
        return ids

    def wait_for_file(self, path, seconds=DEADLINE):
        """Waits until the file is there with a whole line in it, and returns it."""
        def content():
            try:
                text = path.read_text()
            except FileNotFoundError:
                return None
            return text if text.endswith("\n") else None
        return wait_until(f"{path} is written", content, seconds)

    def find(self, name, root=None):
        """Waits for the one process of this name below ROOT (a process id; default: this one)."""
        def one():
            found = [p for p in descendants(root) if p.name == name]
            return found[0] if len(found) == 1 else None
        return wait_until(f"one process {name}", one)

    def expect_gone(self, *pids, seconds=10):
        wait_until(f"processes {pids} are gone",
                   lambda: not any(is_alive(pid) for pid in pids), seconds)

    def as_ordinary_user(self):
        """Options for start(): a kernel user other than root, who owns the test's directories. The
        binary is copied, since he may not be able to reach it where it was built."""
        if os.geteuid() != 0:
            return {}
        user = unused_uid()
        binary = self.dir / "nacre"
        shutil.copy(NACRE, binary)
        for path in (self.dir, self.work, self.tmp, binary):
            os.chown(path, user, user)
            os.chmod(path, 0o755)
        return {"user": user, "group": user, "extra_groups": [], "program": str(binary)}

    def only_task(self):
        """The directory of the one task: it is made when the command has run for a moment."""
        [task] = wait_until("the task has a directory",
                            lambda: [path for path in self.task_dirs() if not path.name.startswith(".")])
        return task

    def in_time(self, is_ready, run, limits=("500ms", "4s", "30s", "300s")):
        """What RUN returns for the first limit of time within which the command came as far as it has to
        before the limit strikes. How long that takes is a matter of the machine, not of nacre."""
        for limit in limits:
            result = run(limit)
            if is_ready():
                return result
        self.fail(f"not ready within {limits[-1]}: {result}")

    def best_seconds(self, bound, attempt, tries=10):
        """The bound must hold in one of a few tries: the machine may be busy with something else."""
        took = []
        for _ in range(tries):
            took.append(attempt())
            if took[-1] <= bound * load_factor():
                return
        self.fail(f"took {took} seconds, wanted {bound}")


def limit_processes(count):
    """A preexec_fn: a second bound under a fork storm, should the first one fail."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
    return limit


def user_namespace_or_skip(test):
    """The words of a command line that lets the rest run as root of a new user and mount namespace."""
    words = ["unshare", "--user", "--map-root-user", "--mount"]
    probe = subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/mnt"], check=False,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
    if probe.returncode != 0:
        test.skipTest(f"userns: {probe.stderr.decode().strip()}")
    return words
