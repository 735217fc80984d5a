"""What the box costs: cold against bubblewrap, warm against posix_spawn, with one and eight callers.

The bars of the project: a cold `nacre run -- true` takes at most 0.6 of bwrap's time with a like tree, a
command through a kept box at most 1.6 times a posix_spawn of the same program without any box, and
eight callers get at least 0.55 of the commands per second that they get without a box. The second call of
a session takes at most 0.5 of bwrap's time: a launcher stands by with a box.
"""
import json
import os
import subprocess
import time

from measure import (Skip, median, milliseconds, program, progress, quantile, ratio, read_samples, run,
                     spread, table)
from startup import BARE, TRUE, interleaved, peers

BWRAP = "bwrap --unshare-all"
LIKE = "bwrap --unshare-all, the mounts of nacre's box"
COLD = "nacre run -- true"
SESSION = "nacre run --session S -- true"


def policies(bench):
    """Files that choose the tier: there is no option for it, and the operator's own must not matter."""
    made = {}
    for name, text in (("strict", "inherits: bash"), ("readonly", "inherits: readonly"),
                       ("landlock", "inherits: bash\nsandbox: {mode: landlock}"),
                       ("none", "inherits: bash\nsandbox: {mode: none}")):
        made[name] = os.path.join(bench.work, f"bench-{name}.yaml")
        with open(made[name], "w", encoding="ascii") as file:
            file.write(f"profile: bench-{name}\n{text}\n")
    return made


def like_tree(bench, plain):
    """PLAIN, a call of bwrap, with all mounts that nacre's box has: what is masked is masked, what is private is private."""
    seen = subprocess.run([bench.nacre, "run", "--", "cat", "/proc/self/mountinfo"], env=bench.env, cwd=bench.workspace,
                          capture_output=True, text=True, check=True).stdout
    mounts = {}  # the last mount on a place is the one that is seen
    for line in seen.splitlines():
        before, _, behind = line.partition(" - ")
        fields, place = before.split(), before.split()[4]
        if place != "/" and not place.startswith("/dev/") and place != "/proc":  # bwrap has its own ways to make these
            mounts[place] = (behind.split()[0], fields[3], fields[5].split(",")[0])
    options = []
    for place in sorted(mounts, key=lambda place: place.count("/")):
        kind, source, access = mounts[place]
        source = place if os.path.exists(place) else source  # the box has things at their own path; where / is a bind, the field is not
        if kind not in ("tmpfs", "devtmpfs"):
            options += ["--bind" if access == "rw" else "--ro-bind", source, place]
        elif os.path.isdir(place):
            options += ["--tmpfs", place]
        else:
            options += ["--ro-bind", "/dev/null", place]
    links = plain[plain.index("--symlink"):plain.index("--proc")] if "--symlink" in plain else []
    links = [word for at in range(0, len(links), 3) if links[at] == "--symlink" for word in links[at:at + 3]]
    return [*plain[:3], *links, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm", *options,
            "--chdir", bench.workspace, TRUE], len(mounts)


def judge(bench, what, value, bar, best):
    """Each bar, and whether this run kept it; the best of a busy machine's turns is told beside."""
    kept = "kept" if bar(value) else "MISSED"
    bench.note(f"{what}: {value:.2f} by medians, {best:.2f} by p10 or best turns: {kept}")


def begin_session(bench, state):
    """A session whose launcher stands by, as it does from its second call on."""
    env = {**bench.env, "NACRE_STATE_DIR": state}
    words = [bench.nacre, "run", "--session", "S", "--", "true"]
    run(words, env, cwd=bench.workspace)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        told = subprocess.run([bench.nacre, "session", "show", "S", "--json"], env=env, capture_output=True, text=True, check=False)
        if told.returncode == 0 and (json.loads(told.stdout)["launcher"] or {}).get("ready"):
            return words
        time.sleep(0.01)
    raise SystemExit("bench: no launcher stands by for the session")


def end_session(bench, state):
    run([bench.nacre, "session", "end", "S"], {**bench.env, "NACRE_STATE_DIR": state})


def cold(bench, files):
    found, missing = peers(bench.workspace, bench.env)
    memory = f"NACRE_STATE_DIR={bench.memory_state}"
    commands = {
        BARE: ([TRUE], 1),
        COLD: ([bench.nacre, "run", "--", "true"], 1),
        "the same, state in memory": ([memory, bench.nacre, "run", "--", "true"], 1),
        SESSION: (begin_session(bench, bench.state), 1),
        "the same session, state in memory": ([memory, *begin_session(bench, bench.memory_state)], 1),
        "profile readonly": ([memory, bench.nacre, "run", "--policy", files["readonly"], "--", "ls", "-d", "."], 1),
        "landlock tier": ([memory, bench.nacre, "run", "--policy", files["landlock"], "--", "true"], 1),
        "no box": ([memory, bench.nacre, "run", "--policy", files["none"], "--", "true"], 1),
        **{name: (argv, 1) for name, (argv, _) in found.items() if name == BWRAP},
    }
    if BWRAP in commands:
        argv, mounts = like_tree(bench, commands[BWRAP][0])
        commands[LIKE] = (argv, 1)
        bench.note(f"the box has {mounts} mounts besides /, /proc and those in /dev")
    rounds = bench.rounds(300)
    progress(f"wall: cold boxes, {rounds} rounds")
    samples = interleaved(bench, commands, rounds)
    for state in (bench.state, bench.memory_state):
        end_session(bench, state)
    against = samples.get(BWRAP, samples[BARE])
    rows = [[name, milliseconds(median(taken)), spread(taken), ratio(median(taken) / median(against)),
             ratio(quantile(taken, 0.1) / quantile(against, 0.1))] for name, taken in samples.items()]
    table("A box for one command", ["command", "median ms", "p10-p90 ms", f"of {BWRAP}", "by p10"], rows)
    if BWRAP not in samples:
        for line in missing:
            bench.note(line)
        return
    bench.result("cold box: " + COLD, BWRAP, rows[1][3], rows[1][4])
    row = next(row for row in rows if row[0] == SESSION)
    bench.result("later call of a session: " + SESSION, BWRAP, row[3], row[4])
    value, best = (quantile(samples[SESSION], q) / quantile(samples[BWRAP], q) for q in (0.5, 0.1))
    judge(bench, f"later call of a session against {BWRAP}, at most 0.50", value, lambda value: value <= 0.5, best)
    for peer in (BWRAP, LIKE):
        value, best = (quantile(samples[COLD], q) / quantile(samples[peer], q) for q in (0.5, 0.1))
        judge(bench, f"cold box against {peer}, at most 0.60", value, lambda value: value <= 0.6, best)


def ways_of(bench, files, callers, driver, out, jobs, each):
    """The bare way first; then one nacre with kept boxes, the same with cold or weaker ones, without any."""
    asked = [out, str(jobs), str(each), TRUE]
    env = {**bench.env, "NACRE_STATE_DIR": bench.memory_state}

    def nacre(name):
        return [driver, *asked, bench.nacre, "run", "--batch", "--jobs", str(jobs), "--policy", files[name]]
    return {
        "posix_spawn + wait": ([callers, *asked], env),
        "kept boxes": (nacre("strict"), env),
        "landlock tier": (nacre("landlock"), env),
        "no box": (nacre("none"), env),
    }


def warm(bench, files):
    callers, driver = program(bench.work, "callers"), program(bench.work, "batch")
    out = os.path.join(bench.work, "samples")
    turns, count = bench.turns(7), bench.rounds(400)
    latencies, rates = {}, {}
    progress(f"wall: kept boxes, {turns} turns of {count} commands")
    for _ in range(turns):
        for jobs in (1, 8):
            ways = ways_of(bench, files, callers, driver, out, jobs, max(1, count // jobs))
            for name, (argv, env) in ways.items():
                run(argv, env, cwd=bench.workspace)
                samples = read_samples(out)
                latencies.setdefault((jobs, name), []).append(median(samples["0"]))
                rates.setdefault((jobs, name), []).append(len(samples["0"]) * 1e9 / samples["total"][0])
    rows = []
    for (jobs, name), taken in latencies.items():
        rate = rates[jobs, name]
        bare = rates[jobs, "posix_spawn + wait"]
        rows.append([f"{name}, {jobs} caller{'s' if jobs > 1 else ''}", milliseconds(median(taken)),
                     f"{milliseconds(min(taken))}-{milliseconds(max(taken))}", f"{median(rate):.0f}",
                     ratio(median(taken) / median(latencies[jobs, 'posix_spawn + wait'])),
                     ratio(median(rate) / median(bare))])
    table("Many commands, each in a box", ["way", "median ms", "of the turns", "per second", "time", "rate"],
          rows)
    report(bench, latencies, rates)


def report(bench, latencies, rates):
    bare, kept = latencies[1, "posix_spawn + wait"], latencies[1, "kept boxes"]
    value, best = median(kept) / median(bare), min(kept) / min(bare)
    bench.result("kept box, one caller", "posix_spawn", ratio(value), ratio(best))
    judge(bench, "kept box against posix_spawn, at most 1.60", value, lambda v: v <= 1.6, best)
    for name in ("posix_spawn + wait", "no box"):
        bare, kept = rates[8, name], rates[8, "kept boxes"]
        value, best = median(kept) / median(bare), max(kept) / max(bare)
        bench.result("kept boxes, commands per second of 8 callers", name, ratio(value), ratio(best))
        judge(bench, f"8 callers, rate in kept boxes against '{name}', at least 0.55", value,
              lambda v: v >= 0.55, best)


def section(bench):
    if not os.access(TRUE, os.X_OK):
        raise Skip("there is no true")
    files = policies(bench)
    cold(bench, files)
    warm(bench, files)
