"""Many sessions, made and ended, and a count of everything that could be left of them; and what rooms cost the kernel.

Counted from outside, as soak.py does. While a session lives, a launcher may hold its network, for at most 64
sessions, and boxes for at most eight: the counts must not grow beyond that.
"""
import json
import os
import pathlib
import random
import subprocess

from helpers import DEADLINE, descendants, wait_until
from soak import PER_BOX, Owners, control_groups, count, settled

HELD = 64  # networks that a launcher holds, two descriptors and a gate each; those of ended sessions go with a later command
GATE = 16  # descriptors of a gate
SHELVES = 8
# What a session does; some leave a task, some files that are hard to remove.
KINDS = ("true", "echo x >/tmp/x; mkdir -p ~/.cache/a/b; echo y >/dev/shm/y", "git config --global user.name x; export A=1; cd sub",
         "(sleep 1000 &)", "mkdir /tmp/d; touch /tmp/d/x; chmod 000 /tmp/d", "ln -s / ~/root; mkfifo ~/f; kill -9 $$")
COSTS = ("Slab", "KernelStack", "PageTables", "Percpu")


class Batch:
    """A `nacre run --batch` that is asked one thing after the other."""

    def __init__(self, program, options):
        self.program, self.options = program, options
        self.popen = subprocess.Popen([program, "run", "--batch", "--jobs", "1"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)

    def run(self, session, command):
        self.popen.stdin.write(json.dumps({"id": 1, "session": session, "command": command}).encode() + b"\n")
        self.popen.stdin.flush()
        return json.loads(self.popen.stdout.readline())["result"]

    def end(self, *sessions):
        done = subprocess.run([self.program, "session", "end", *sessions], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=DEADLINE, check=False, **self.options)
        if done.returncode:
            raise AssertionError(f"session end: {done.stderr.decode()}")

    def close(self):
        self.popen.stdin.close()
        self.popen.wait(DEADLINE)
        self.popen.stdout.close()


def files_of(state):
    """What sessions have on disk."""
    found = []
    for name in ("rooms", "sessions"):
        top = pathlib.Path(state, name)
        found += [f"{name}/{path.name}" for path in top.iterdir() if path.name not in (".swept", ".use")] if top.exists() else []
    return found


def mounts(state):
    """Those of the host that have to do with this nacre: others mount as well."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return sum(os.path.dirname(state) in line for line in file)


def soak_sessions(program, state, sessions, seed, options, kinds=KINDS):
    """Makes so many sessions with two calls each and ends them, in groups. Returns what is left or has grown: nothing."""
    with Owners() as owners:
        return soak_watched(program, state, sessions, seed, options, kinds, owners)


def soak_watched(program, state, sessions, seed, options, kinds, owners):
    chance, wrong = random.Random(seed), []
    batch = Batch(program, options)
    made, warm = [], None
    for i in range(sessions):
        made.append(f"s{seed}-{i}")
        for _ in range(2):
            result = batch.run(made[-1], chance.choice(kinds))
            if result["room"] is None:
                wrong.append(f"no room: {result['notices']}")
        if len(made) == 20 or i == sessions - 1:
            batch.end(*made)
            made = []
            wrong += files_of(state)
        if i == min(sessions // 5, 2 * SHELVES):
            warm = count(batch.popen.pid, owners)
    end = settled(batch.popen.pid, owners)
    # When it is warm all shelves are there; some keepers more or fewer are a matter of the moment.
    most = {name: value + 4 * getattr(PER_BOX, name) + value // 4 for name, value in warm._asdict().items()}
    most["descriptors"] += (2 + GATE) * HELD
    most["processes"] += HELD
    wrong += [f"{name}: {getattr(warm, name)}, then {getattr(end, name)}" for name, value in most.items() if getattr(end, name) > value]
    batch.close()
    left = set()
    # The group of a box that outlived its launcher is removed by the next command.
    for _ in range(5):
        subprocess.run([program, "run", "--", "true"], check=True, stdin=subprocess.DEVNULL, timeout=DEADLINE, **options)
        wait_until("nacre's processes are gone", lambda: not descendants(), 10)
        left = control_groups(owners)
        if not left:
            break
    wrong += [os.path.basename(group) for group in left]
    if mounts(state):
        wrong.append(f"{mounts(state)} mounts")
    return wrong + files_of(state)


def kernel_kb():
    with open("/proc/meminfo", encoding="utf-8") as file:
        fields = dict(line.split(":", 1) for line in file)
    return sum(int(fields[name].split()[0]) for name in COSTS if name in fields)


def rooms_kb(program, options, rooms=100):
    """Kernel memory of so many more rooms, in two launchers whose boxes are all there before. Others work on the
    machine meanwhile: the caller takes the median of some rounds."""
    batches = [Batch(program, options) for _ in range(2)]
    names = [[f"m{n}-{os.getpid()}-{i}" for i in range(2 * SHELVES + rooms // 2)] for n in range(2)]
    try:
        for batch, own in zip(batches, names):
            for name in own[:2 * SHELVES]:
                batch.run(name, "true")
        before = kernel_kb()
        for batch, own in zip(batches, names):
            for name in own[2 * SHELVES:]:
                batch.run(name, "true")
        return kernel_kb() - before
    finally:
        for batch, own in zip(batches, names):
            batch.end(*own)
            batch.close()
