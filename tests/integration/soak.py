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


PER_BOX = Count(mounts=90, namespaces=11, groups=2, processes=4, descriptors=40)  # each may be of a keeper of its own


def grown(counted, jobs):
    """What is more than boxes for so many jobs, those that stand by among them, can have: a matter of the jobs,
    not of the number of commands."""
    return [name for name, most in PER_BOX._asdict().items()
            if getattr(counted, name) > most * (3 * jobs + 2)]


def own_namespaces():
    return {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}


def owner_of(group):
    return int(os.path.basename(group).split("-")[2])


def control_groups(pids):
    """The groups of these processes, and of processes that are gone, wherever they are mounted. Their names
    begin with "nacre-<pid namespace>-<pid of the owner>-"; others may run nacre at the same time, also in
    pid namespaces of their own."""
    space = os.stat("/proc/self/ns/pid").st_ino
    found = set()
    for where, names, _ in os.walk("/sys/fs/cgroup"):
        for name in names:
            if name.startswith(f"nacre-{space}-"):
                owner = owner_of(name)
                if owner in pids or not os.path.exists(f"/proc/{owner}"):
                    found.add(os.path.join(where, name))
    return found


def groups_of_others():
    """Those of living processes that are not below this one. When such a process is killed, as other tests do it, its groups
    stay for a moment; they are not what was left here."""
    ours = {os.getpid(), *(process.pid for process in descendants())}
    return {group for group in control_groups(range(1, 1 << 22)) if owner_of(group) not in ours
            and os.path.exists(f"/proc/{owner_of(group)}")}


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
        before |= groups_of_others()
        counts.append(settled(popen.pid, before))
    finally:
        popen.stdin.close()
        try:
            popen.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait(DEADLINE)
        popen.stdout.close()
    wait_until("nacre's processes are gone", lambda: before.update(groups_of_others()) or not descendants(), 10)
    counts.append(Count(0, 0, len(control_groups([]) - before), 0, 0))
    return counts


def settled(pid, before):
    """The count once nothing runs any more: boxes are refilled after the answer."""
    last = count(pid, before)
    for _ in range(50):
        select.select([], [], [], 0.05)
        before |= groups_of_others()
        now = count(pid, before)
        if now == last:
            return now
        last = now
    return last
