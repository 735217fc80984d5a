"""Tasks: how many at once and how small, how quick a long list is, how soon a follower sees a line.

The bars of the project: 500 background tasks at once with at most 1 MiB of private memory each (keeper
and init), a list with 10,000 finished tasks within 100 ms, a line at its follower within 50 ms, and all
bytes of a flood at 100 followers.
"""
import hashlib
import json
import os
import resource
import shutil
import subprocess
import time

from measure import median, progress, quantile, table

PATIENCE = 600
WORDS = b"a line of the flood, some words long\n"


def call(bench, *args, env=None, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([bench.nacre, *args], env=env or bench.env, cwd=bench.workspace,
                          stdin=subprocess.DEVNULL, check=True, timeout=PATIENCE, **options)


def judge(bench, what, value, bar, unit):
    bench.note(f"{what}: {value:.1f} {unit}, at most {bar}: {'kept' if value <= bar else 'MISSED'}")


def rollup(pid):
    """Kibibytes by name, or nothing when the process is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return {words[0][:-1]: int(words[1]) for words in map(str.split, file) if len(words) == 3}
    except OSError:
        return {}


def own_processes(bench):
    """Keepers and inits of this very binary, which is a copy of the bench's own."""
    found = {"nacre-keeper": [], "nacre-init": []}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                name = file.read().strip()
            if name in found and os.readlink(f"/proc/{pid}/exe") == bench.nacre:
                found[name].append(pid)
        except OSError:
            pass
    return found


def many(bench):
    count = bench.size(500, 4)
    progress(f"tasks: {count} in the background")
    requests = "".join(json.dumps({"id": i, "argv": ["sleep", "3600"], "background": True}) + "\n"
                       for i in range(count))
    began = time.monotonic()
    done = subprocess.run([bench.nacre, "run", "--batch", "--jobs", "8"], input=requests.encode(),
                          env=bench.env, cwd=bench.workspace, capture_output=True, check=True,
                          timeout=PATIENCE)
    took = time.monotonic() - began
    ids = [json.loads(line)["result"]["task_id"] for line in done.stdout.splitlines()]
    running = json.loads(call(bench, "tasks", "--running", "--json").stdout)["running"]
    if len(ids) != count or running != count:
        raise SystemExit(f"bench: {running} of {count} tasks run")
    found = own_processes(bench)
    rolls = {name: [rollup(pid) for pid in pids] for name, pids in found.items()}
    rows, private = [], 0
    for name, each in rolls.items():
        each = [r for r in each if r]
        if not each:  # an ordinary user may not look into processes that cannot be dumped
            rows.append([name, len(found[name]), "unreadable", "unreadable", "unreadable"])
            continue
        own = median([r["Private_Clean"] + r["Private_Dirty"] for r in each])
        private += own
        rows.append([name, len(found[name]), own, median([r["Pss_Anon"] for r in each]),
                     median([r["Pss"] for r in each])])
    table(f"{count} tasks at once, started in {took:.1f} s",
          ["process", "count", "private KiB", "share of anonymous KiB", "share of all KiB"], rows)
    if private:
        judge(bench, "private memory of an idle task, keeper and init", private, 1024, "KiB")
    began = time.monotonic()
    call(bench, "stop", "--now", *ids)
    bench.note(f"{count} tasks stopped one after another in {time.monotonic() - began:.1f} s")


def copies(bench, count):
    """A state directory with so many finished tasks, copied from a true one."""
    state = os.path.join(bench.work, "many-state")
    env = {**bench.env, "NACRE_STATE_DIR": state}
    call(bench, "run", "--background", "-c", "echo some output", env=env,
         stderr=subprocess.DEVNULL)
    [model] = [os.path.join(state, "tasks", name) for name in os.listdir(os.path.join(state, "tasks"))]
    call(bench, "output", "--wait", "60s", os.path.basename(model), env=env)
    for i in range(count - 1):
        shutil.copytree(model, os.path.join(state, "tasks", f"bash-{i:016d}"))
    return env


def processor_seconds():
    """Of all children that have ended: on a busy machine it tells more than the time that passed."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def listing(bench):
    count = bench.size(10000, 20)
    progress(f"tasks: a list of {count}")
    env = copies(bench, count)
    rows = []
    for words in (["tasks"], ["tasks", "--json"], ["tasks", "--running"], ["tasks", "--all"]):
        taken, used = [], []
        for _ in range(bench.rounds(30)):
            began, before = time.monotonic(), processor_seconds()
            call(bench, *words, env=env, stderr=subprocess.DEVNULL)
            taken.append((time.monotonic() - began) * 1000)
            used.append((processor_seconds() - before) * 1000)
        rows.append(["nacre " + " ".join(words), f"{median(taken):.1f}",
                     f"{quantile(taken, 0.1):.1f} - {quantile(taken, 0.9):.1f}", f"{median(used):.1f}"])
        if words == ["tasks"]:
            judge(bench, f"nacre tasks with {count} finished tasks, best", min(taken), 100, "ms")
    table(f"Lists of {count} finished tasks",
          ["command", "median ms", "p10 - p90 ms", "processor ms"], rows)


def delay(bench):
    lines = bench.size(200, 10)
    progress(f"tasks: {lines} lines to a follower")
    # Wall clock in the line itself: the shell's own, so that nothing else has to start.
    script = f"for i in {{1..{lines}}}; do echo $EPOCHREALTIME; sleep 0.02; done"
    task = call(bench, "run", "--background", "-c", script,
                stderr=subprocess.DEVNULL).stdout.decode().strip()
    follower = subprocess.Popen([bench.nacre, "output", "--follow", task], env=bench.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    taken = [(time.time() - float(line)) * 1000 for line in follower.stdout][5:]
    follower.wait(PATIENCE)
    table("From a line to its follower", ["lines", "median ms", "p10 - p90 ms", "most ms"],
          [[len(taken), f"{median(taken):.2f}",
            f"{quantile(taken, 0.1):.2f} - {quantile(taken, 0.9):.2f}", f"{max(taken):.2f}"]])
    judge(bench, "a line at its follower (p90)", quantile(taken, 0.9), 50, "ms")


def flood(bench):
    followers, size = bench.size((100, 100_000_000), (2, 100_000))
    progress(f"tasks: {followers} followers of {size} bytes")
    go = os.path.join(bench.workspace, "go")
    os.mkfifo(go)
    line = f"read -r _ <go; yes '{WORDS.decode().strip()}' | head -c {size}"
    task = call(bench, "run", "--background", "--output-cap", "1G", "-c", line,
                stderr=subprocess.DEVNULL).stdout.decode().strip()
    digests = [subprocess.Popen(["sha256sum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for _ in range(followers)]
    readers = [subprocess.Popen([bench.nacre, "output", "--follow", "--raw", task], env=bench.env,
                                stdin=subprocess.DEVNULL, stdout=digest.stdin) for digest in digests]
    for digest in digests:
        digest.stdin.close()
        digest.stdin = None
    began = time.monotonic()
    with open(go, "w", encoding="ascii") as file:
        file.write("go\n")
    sums = {digest.communicate(timeout=PATIENCE)[0].split()[0].decode() for digest in digests}
    took = time.monotonic() - began
    for reader in readers:
        reader.wait(PATIENCE)
    want = hashlib.sha256((WORDS * (size // len(WORDS) + 1))[:size]).hexdigest()
    end = json.loads(call(bench, "output", "--json", "--tail", "1", task).stdout)
    table("Followers of a flood", ["followers", "bytes", "all seconds", "command's own ms", "all bytes"],
          [[followers, size, f"{took:.1f}", end["duration_ms"], "yes" if sums == {want} else "NO"]])
    bench.note(f"{followers} followers of {size} bytes: "
               f"{'kept' if sums == {want} else 'MISSED'}")


def section(bench):
    for part in (many, listing, delay, flood):
        part(bench)
