"""The landlock tier where Landlock governs neither signals nor cutting files (before Linux 6.12 and 6.2): the
filter stands in, and a command can still signal its own processes. nacre-older uses what ABI 2 has (tests/older.c)."""
import os

os.environ["NACRE"] = os.environ.get("NACRE") or "build/nacre"
os.environ["NACRE"] += "-older"
import json
import pathlib
import signal
import subprocess
import unittest

from escape_driver import EscapeTest, add_tests
from helpers import DEADLINE, NACRE, SLACK, NacreTest

OWN = r"""
import ctypes, errno, fcntl, os, signal, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    if libc.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def sleeper(**options):
    return subprocess.Popen(["sleep", "600"], **options)
def ended(child, by=signal.SIGTERM):
    assert child.wait(30) == -by, child.returncode
def info(number):
    return (ctypes.c_char * 128)(*number.to_bytes(4, "little"), *bytes(4), *(-1 & 0xffffffff).to_bytes(4, "little"))
heard = []
signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
signal.signal(signal.SIGIO, lambda number, frame: heard.append(number))
def hears(send, number=signal.SIGUSR1):
    heard.clear()
    send()
    end = time.monotonic() + 30
    while heard != [number] and time.monotonic() < end:
        time.sleep(0.001)
    assert heard == [number], heard

# oneself
me = os.getpid()
hears(lambda: os.kill(me, signal.SIGUSR1))
hears(lambda: os.kill(0, signal.SIGUSR1))
hears(lambda: call(234, me, me, signal.SIGUSR1))                # tgkill
hears(lambda: call(200, me, signal.SIGUSR1))                    # tkill
hears(lambda: call(129, me, signal.SIGUSR1, info(10)))          # rt_sigqueueinfo
hears(lambda: call(297, me, me, signal.SIGUSR1, info(10)))      # rt_tgsigqueueinfo
hears(lambda: signal.raise_signal(signal.SIGUSR1))
hears(lambda: signal.pidfd_send_signal(os.pidfd_open(me), signal.SIGUSR1))
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, me)
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
hears(lambda: os.write(w, b"x"), signal.SIGIO)
# a thread of one's own
go = threading.Event()
thread = threading.Thread(target=go.wait); thread.start()
hears(lambda: signal.pthread_kill(thread.ident, signal.SIGUSR1))
hears(lambda: call(200, thread.native_id, signal.SIGUSR1))
go.set(); thread.join()
# and from such a thread
def from_a_thread():
    os.kill(me, signal.SIGUSR1)
hears(lambda: threading.Thread(target=from_a_thread).start())
# children, also below a daemon, in groups and by descriptor
child = sleeper(); child.terminate(); ended(child)
child = sleeper(); call(234, child.pid, child.pid, 15); ended(child)
child = sleeper(); call(200, child.pid, 15); ended(child)
child = sleeper(); call(129, child.pid, 15, info(15)); ended(child)
child = sleeper(); signal.pidfd_send_signal(os.pidfd_open(child.pid), 15); ended(child)
leader = sleeper(start_new_session=True); os.killpg(leader.pid, 15); ended(leader)
group = sleeper(process_group=0) if sys.version_info >= (3, 11) else sleeper(preexec_fn=os.setpgrp)
more = [sleeper(preexec_fn=lambda: os.setpgid(0, group.pid)) for _ in range(3)]
os.killpg(group.pid, 9)
for one in [group, *more]:
    ended(one, signal.SIGKILL)
child = sleeper(); os.kill(child.pid, signal.SIGSTOP)
assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
os.kill(child.pid, signal.SIGCONT); child.kill(); ended(child, signal.SIGKILL)
out = subprocess.run(["sh", "-c", "(sleep 600 >/dev/null & echo $!)"], stdout=subprocess.PIPE, text=True).stdout
os.kill(int(out), 0); os.kill(int(out), 15)  # its parent is gone
# the dead, and nobody
child = sleeper(); child.terminate(); os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
os.kill(child.pid, 0); child.wait()
for nobody in (child.pid, -child.pid):
    try:
        os.kill(nobody, 0); print("there")
    except OSError as error:
        assert error.errno == errno.ESRCH, error
# all: the tree but oneself; by a signal that does nothing to anybody who has not asked for it
waiting = "trap 'exit 7' URG; echo; while :; do sleep 0.01; done"
children = [subprocess.Popen(["bash", "-c", waiting], stdout=subprocess.PIPE) for _ in range(3)]
for one in children:
    one.stdout.readline()
os.kill(-1, signal.SIGURG)
for one in children:
    assert one.wait(30) == 7, one.returncode
os.system("kill -TERM $$")
assert subprocess.run(["timeout", "0.1", "sleep", "600"]).returncode == 124
print("all of it", flush=True)
os.abort()
"""

# All but /proc and arguments of the caller's own making; each has to be refused.
OUT = r"""
import ctypes, errno, fcntl, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
pid, thread = int(sys.argv[1]), int(sys.argv[2])
def call(number, *words):
    if libc.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
info = (ctypes.c_char * 128)(*(10).to_bytes(4, "little"), *bytes(4), *(-1 & 0xffffffff).to_bytes(4, "little"))
r, w = os.pipe()
a, b = socket.socketpair()
owner = (ctypes.c_int * 2)(1, pid)
attempts = {
    "kill": lambda: os.kill(pid, 10), "kill 0": lambda: os.kill(pid, 0), "killpg": lambda: os.killpg(pid, 10),
    "high bits": lambda: call(62, ctypes.c_uint64(pid | 1 << 32), 10), "thread": lambda: os.kill(thread, 10),
    "tgkill": lambda: call(234, pid, pid, 10), "tgkill thread": lambda: call(234, pid, thread, 10),
    "tkill": lambda: call(200, pid, 10), "tkill thread": lambda: call(200, thread, 10),
    "sigqueue": lambda: call(129, pid, 10, info), "sigqueue thread": lambda: call(297, pid, thread, 10, info),
    "pidfd": lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 10),
    "pidfd info": lambda: call(424, os.pidfd_open(pid), 10, info, 0),
    "pidfd group": lambda: call(424, os.pidfd_open(pid), 10, None, 4),
    "F_SETOWN": lambda: fcntl.fcntl(r, fcntl.F_SETOWN, pid), "F_SETOWN group": lambda: fcntl.fcntl(r, fcntl.F_SETOWN, -pid),
    "F_SETOWN_EX": lambda: call(72, r, 15, owner),
    "FIOSETOWN": lambda: call(16, a.fileno(), 0x8901, ctypes.byref(ctypes.c_int(pid))),
    "SIOCSPGRP": lambda: call(16, a.fileno(), 0x8902, ctypes.byref(ctypes.c_int(pid))),
    "parent": lambda: os.kill(os.getppid(), 10), "parent's group": lambda: os.killpg(os.getpgid(os.getppid()), 0),
}
for name, attempt in attempts.items():
    try:
        attempt()
        print(name, "ALLOWED")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
"""

CUT = r"""
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    if libc.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
for path in sys.argv[1:]:
    for name, attempt in {
        "truncate": lambda: os.truncate(path, 1),
        "read": lambda: os.open(path, os.O_RDONLY | os.O_TRUNC), "write": lambda: os.open(path, os.O_WRONLY | os.O_TRUNC),
        "neither": lambda: call(2, path.encode(), os.O_TRUNC | 3, 0), "neither, at": lambda: call(257, -100, path.encode(), os.O_TRUNC | 3, 0),
        "creat": lambda: call(85, path.encode(), 0o600),
    }.items():
        try:
            attempt()
            print(path, name, "ALLOWED")
        except OSError as error:
            print(path, name, errno.errorcode[error.errno])
with open("own", "w") as file:
    file.write("long enough")
os.close(os.open("own", os.O_WRONLY | os.O_TRUNC))
with open("own", "r+") as file:
    file.write("long enough"), file.truncate(4)
print("own", os.stat("own").st_size)
"""


class Landlock(EscapeTest):
    """The attempts of the table that Landlock itself stops on newer kernels."""


add_tests(Landlock, "landlock")
for name in [name for name in dir(Landlock) if name.startswith("test_")]:
    if name not in ("test_signals", "test_writing"):
        setattr(Landlock, name, None)
del EscapeTest


class Older(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.policy = self.dir / "older.yaml"
        self.identity = {}
        self.readable = self.dir / "readable"
        self.readable.write_text("only to be read\n")
        self.write_policy("")

    def write_policy(self, more):
        self.policy.write_text("profile: older\ninherits: bash\n"
                               f"sandbox: {{mode: landlock, readable: [\"{self.readable}\"]{more}}}\n")

    def run_script(self, text, *words):
        (self.work / "script.py").write_text(text)
        return self.run_json("--policy", str(self.policy), "--workspace", str(self.work), "--", "python3", "script.py",
                             *map(str, words), **self.identity)

    def test_the_layers_are_told(self):
        self.write_policy(", require: [landlock, seccomp]")
        result = self.run_script("print('runs')")
        self.assertEqual(result["stdout"], "runs\n", result)
        self.assertEqual(result["sandbox"]["tier"], "landlock")
        self.assertIn("landlock", result["sandbox"]["layers"])

    def test_a_command_signals_its_own(self):
        result = self.run_script(OWN)
        self.assertEqual((result["stdout"], result["stderr"], result["signal"]), ("all of it\n", "", "SIGABRT"), result)

    def test_a_command_signals_nobody_else(self):
        script = ("import os, signal, threading\nsignal.signal(10, lambda *_: os.write(1, b'hit'))\nos.setpgrp()\n"
                  "thread = threading.Thread(target=threading.Event().wait); thread.start()\n"
                  "print(os.getpid(), thread.native_id, flush=True)\nthread.join()\n")
        user = {key: value for key, value in self.identity.items() if key != "program"}
        with subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE, **user) as victim:
            try:
                pid, thread = victim.stdout.readline().split()
                result = self.run_script(OUT, int(pid), int(thread))
                lines = result["stdout"].splitlines()
                self.assertEqual(len(lines), 21, result)
                answers = {line.rsplit(" ", 1)[0]: line.rsplit(" ", 1)[1] for line in lines}
                self.assertEqual(answers.pop("pidfd group"), "EINVAL", answers)
                self.assertEqual(set(answers.values()), {"EPERM"}, answers)
            finally:
                victim.kill()
                self.assertEqual(victim.stdout.read(), b"")

    def test_a_command_cuts_nothing_but_its_own(self):
        outside = self.dir / "outside"
        outside.write_text("outside of it\n")
        for path in (outside, self.readable):
            path.chmod(0o666)
            if self.identity:
                os.chown(path, self.identity["user"], self.identity["group"])
        before = outside.read_text(), self.readable.read_text()
        result = self.run_script(CUT, outside, self.readable)
        self.assertNotIn("ALLOWED", result["stdout"])
        self.assertEqual(result["stdout"].splitlines()[-1], "own 4", result)
        self.assertEqual((outside.read_text(), self.readable.read_text()), before)

    def test_many_who_ask_do_not_delay_the_end(self):
        storm = ("import os, subprocess\nfor _ in range(20):\n    if os.fork() == 0:\n        while True:\n"
                 "            os.kill(-1, 0)\nprint('storm', flush=True)\nos.wait()\n")
        (self.work / "script.py").write_text(storm)
        result = self.run_json("--policy", str(self.policy), "--workspace", str(self.work), "--timeout", "1s", "--",
                               "python3", "script.py", **self.identity)
        self.assertTrue(result["timed_out"], result)
        self.assertLess(result["duration_ms"], 1000 * (30 + SLACK))

    def test_without_init_nothing_runs_on(self):
        popen = self.start("--policy", str(self.policy), "--workspace", str(self.work), "-c", "sleep 600; true",
                           **self.identity)
        init = self.find("nacre-init", popen.pid).pid
        self.find("sleep", popen.pid)
        os.kill(init, signal.SIGKILL)
        self.assertEqual(self.finish(popen).code, 125)


class User(Older):
    def setUp(self):
        super().setUp()
        self.identity = self.as_ordinary_user()
        self.write_policy("")


class Within(NacreTest):
    """Somebody's filter around nacre has a listener already, of which there can be one only."""

    BOXED = True

    def test_a_box_that_cannot_ask_is_partial(self):
        inner = self.dir / "inner.yaml"
        inner.write_text("profile: inner\ninherits: bash\nsandbox: {mode: landlock, require: [landlock]}\n")
        loose = self.dir / "loose.yaml"
        loose.write_text("profile: loose\ninherits: bash\nsandbox: {mode: landlock}\n")
        listener = str(pathlib.Path(__file__).resolve().parent / "with_listener.py")
        results = []
        for policy in (inner, loose):
            done = subprocess.run(["python3", listener, NACRE, "run", "--json", "--policy", str(policy),
                                   "--workspace", str(self.work), "--", "echo", "runs"], env=self.env, cwd=self.work,
                                  capture_output=True, timeout=DEADLINE)
            results.append(json.loads(done.stdout))
        required, partial = results
        self.assertEqual(required["exit_code"], 125, required)
        self.assertIn("landlock", required["reason"])
        self.assertEqual(partial["stdout"], "runs\n", partial)
        self.assertIn("landlock", partial["sandbox"]["missing"])


if __name__ == "__main__":
    unittest.main()
