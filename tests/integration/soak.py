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

from helpers import DEADLINE, descendants, fd_count, wait_until

Count = collections.namedtuple("Count", "mounts namespaces groups processes descriptors")
KINDS = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


PER_BOX = Count(mounts=60, namespaces=6, groups=2, processes=4, descriptors=40)


def grown(counted, jobs):
    """What is more than boxes for so many jobs, those that stand by among them, can have: a matter of the jobs,
    not of the number of commands."""
    return [name for name, most in PER_BOX._asdict().items()
            if getattr(counted, name) > most * (2 * jobs + 2)]


def own_namespaces():
    return {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}


def control_groups(pids):
    """The groups of these processes, and of processes that are gone, wherever they are mounted. Their names
    begin with "nacre-<pid namespace>-<pid of the owner>-"; others may run nacre at the same time."""
    found = set()
    for where, names, _ in os.walk("/sys/fs/cgroup"):
        for name in names:
            words = name.split("-")
            if words[0] == "nacre" and len(words) == 5:
                owner = int(words[2])
                if owner in pids or not os.path.exists(f"/proc/{owner}"):
                    found.add(os.path.join(where, name))
    return found


def count(pid, before):
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
    return Count(len(mounts), len(spaces), len(control_groups(pids) - before), len(pids), descriptors)


def soak(command, commands, jobs=4, options=None):
    """Runs `command` (a nacre run --batch) with so many commands; returns the counts on the way.

    The first count is taken when the boxes are warm, the last one when all commands have ended. The commands
    are of several kinds, those that leave something behind among them.
    """
    kinds = ({"argv": ["true"]}, {"command": "echo x >/tmp/f; mkdir -p /tmp/d; cat /tmp/f"},
             {"command": "(setsid sleep 1000 &) ; true"}, {"argv": ["sh", "-c", "exit 3"]},
             {"command": "ipcmk -M 64 >/dev/null; mkfifo /tmp/p 2>/dev/null; true"},
             {"command": "kill -9 $$"}, {"argv": ["no-such-program"]})
    before = control_groups([])
    popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, **(options or {}))
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
                counts.append(count(popen.pid, before))
        counts.append(settled(popen.pid, before))
    finally:
        popen.stdin.close()
        try:
            popen.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait(DEADLINE)
        popen.stdout.close()
    wait_until("nacre's processes are gone", lambda: not descendants(), 10)
    counts.append(Count(0, 0, len(control_groups([]) - before), 0, 0))
    return counts


def settled(pid, before):
    """The count once nothing runs any more: boxes are refilled after the answer."""
    last = count(pid, before)
    for _ in range(50):
        select.select([], [], [], 0.05)
        now = count(pid, before)
        if now == last:
            return now
        last = now
    return last
