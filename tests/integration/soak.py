"""Many commands through kept boxes, and a count of everything that could be left of them.

Counted from outside: mounts and namespaces that are in use anywhere, control groups, nacre's processes and
their descriptors. The counts while the boxes are kept must not grow with the number of commands, and
when nacre is gone, nothing of it is.
"""
import collections
import json
import os
import select
import subprocess
import threading

from helpers import DEADLINE, descendants, fd_count, wait_until

Count = collections.namedtuple("Count", "mounts namespaces groups processes descriptors")
KINDS = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


PER_BOX = Count(mounts=90, namespaces=11, groups=2, processes=4, descriptors=40)  # each may be of a keeper of its own


def grown(counted, jobs):
    """What is more than boxes for so many jobs, those that stand by among them, can have: a matter of the jobs,
    not of the number of commands."""
    return [name for name, most in PER_BOX._asdict().items()
            if getattr(counted, name) > most * (3 * jobs + 2)]


def own_namespaces():
    return {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}


class Owners(threading.Thread):
    """Everybody who was ever seen below this process. Others run nacre at the same time, and are killed there: what
    they leave is not what was left here."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.ended = set(), threading.Event()

    def look(self):
        self.seen |= {(process.pid, process.start) for process in descendants()}

    def run(self):
        while not self.ended.wait(0.05):
            self.look()

    def __enter__(self):
        self.look()
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


def control_groups(owners, top="/sys/fs/cgroup"):
    """The groups of these, alive or not, wherever they are mounted. The names begin with "nacre-<pid namespace>-<pid of
    the owner>-<its start time>-"."""
    space = os.stat("/proc/self/ns/pid").st_ino
    owners.look()
    found = set()
    for where, names, _ in os.walk(top):
        for name in names:
            words = name.split("-")
            if name.startswith(f"nacre-{space}-") and (int(words[2]), int(words[3])) in owners.seen:
                found.add(os.path.join(where, name))
    return found


def count(pid, owners):
    """What belongs to one nacre and everything below it."""
    mine = own_namespaces()
    pids = [pid] + [process.pid for process in descendants(pid)]
    mounts, spaces, descriptors = set(), set(), 0
    for one in pids:
        try:
            descriptors += fd_count(one)
            for kind in KINDS:
                link = os.readlink(f"/proc/{one}/ns/{kind}")
                if link != mine[kind]:
                    spaces.add(link)
            with open(f"/proc/{one}/mountinfo", encoding="utf-8") as file:
                mounts.update(line.split()[0] for line in file)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mounts -= {line.split()[0] for line in file}
    return Count(len(mounts), len(spaces), len(control_groups(owners)), len(pids), descriptors)


def soak(command, commands, jobs=4, options=None):
    """Runs `command` (a nacre run --batch) with so many commands; returns the counts on the way.

    The first count is taken when the boxes are warm, the last one when all commands have ended. The commands
    are of several kinds, those that leave something behind among them.
    """
    with Owners() as owners:
        return soak_watched(command, commands, jobs, options or {}, owners)


def soak_watched(command, commands, jobs, options, owners):
    kinds = ({"argv": ["true"]}, {"command": "echo x >/tmp/f; mkdir -p /tmp/d; cat /tmp/f"},
             {"command": "(setsid sleep 1000 &) ; true"}, {"argv": ["sh", "-c", "exit 3"]},
             {"command": "ipcmk -M 64 >/dev/null; mkfifo /tmp/p 2>/dev/null; true"},
             {"command": "kill -9 $$"}, {"argv": ["no-such-program"]})
    popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, **options)
    counts, asked, answered = [], 0, 0
    out = popen.stdout.fileno()
    rest = b""
    try:
        while answered < commands:
            while asked < commands and asked - answered < 2 * jobs:
                request = {"id": asked, "timeout_ms": 20000, **kinds[asked % len(kinds)]}
                popen.stdin.write(json.dumps(request).encode() + b"\n")
                asked += 1
            popen.stdin.flush()
            if not select.select([out], [], [], DEADLINE)[0]:
                raise AssertionError(f"no answer after {answered} of {commands} commands")
            rest += os.read(out, 1 << 20)
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if "result" not in json.loads(line):
                    raise AssertionError(f"no result: {line[:300]}")
            answered += len(lines)
            if answered >= commands // 10 and not counts:
                counts.append(count(popen.pid, owners))
        counts.append(settled(popen.pid, owners))
    finally:
        popen.stdin.close()
        try:
            popen.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait(DEADLINE)
        popen.stdout.close()
    wait_until("nacre's processes are gone", lambda: not descendants(), 10)
    counts.append(Count(0, 0, len(control_groups(owners)), 0, 0))
    return counts


def settled(pid, owners):
    """The count once nothing runs any more: boxes are refilled after the answer."""
    last = count(pid, owners)
    for _ in range(50):
        select.select([], [], [], 0.05)
        now = count(pid, owners)
        if now == last:
            return now
        last = now
    return last
