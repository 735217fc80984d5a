"""How long a start takes: nacre and its peers, in rounds, against posix_spawn and wait."""
import os
import shutil
import subprocess

from measure import (Skip, median, milliseconds, program, progress, quantile, ratio, read_samples,
                     run, spread, table)

TRUE = "/usr/bin/true" if os.path.exists("/usr/bin/true") else "/bin/true"
BARE = "posix_spawn + wait"


def bwrap_argv(path, workspace):
    """A tree like nacre's own: system read-only, private /tmp and /dev, one writable directory."""
    argv = [path, "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink("/" + name):
            argv += ["--symlink", os.readlink("/" + name), "/" + name]
        elif os.path.isdir("/" + name):
            argv += ["--ro-bind", "/" + name, "/" + name]
    argv += ["--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    return argv + ["--bind", workspace, workspace, "--chdir", workspace, TRUE]


def peers(work, env):
    """name -> (argv, takes part in each n-th round); and what could not take part, with the reason."""
    wanted = {
        "bwrap --unshare-all": ("bwrap", "bubblewrap", lambda p: bwrap_argv(p, work), 2),
        "firejail --noprofile": ("firejail", "firejail",
                                 lambda p: [p, "--quiet", "--noprofile", "--", TRUE], 20),
    }
    found, missing = {}, []
    for name, (tool, package, argv, every) in wanted.items():
        path = shutil.which(tool, path=env["PATH"])
        if not path:
            missing.append(f"{tool} is not installed: apt-get install {package}")
            continue
        try:
            tried = subprocess.run(argv(path), env=env, stdin=subprocess.DEVNULL,
                                   capture_output=True, timeout=20)
            why = tried.stderr.decode(errors="replace").strip().split("\n")[0]
            failed = tried.returncode != 0
        except subprocess.TimeoutExpired:
            failed, why = True, "no answer in 20 s"
        if failed:
            missing.append(f"{tool} does not work here: {why}")
        else:
            found[name] = (argv(path), every)
    return found, missing


def interleaved(bench, commands, rounds):
    """name -> samples; all commands in each round (or each n-th) by one harness."""
    argv = [program(bench.work, "start"), os.path.join(bench.work, "samples"), str(rounds), str(bench.size(10, 1))]
    for number, (command, every) in enumerate(commands.values()):
        argv += ([":::"] if number else []) + [str(bench.size(every, 1))] + command
    run(argv, bench.env, cwd=bench.workspace)
    samples = read_samples(os.path.join(bench.work, "samples"))
    return {name: samples[str(number)] for number, name in enumerate(commands)}


def compare(bench):
    """The table of the cold starts."""
    found, missing = peers(bench.workspace, bench.env)
    commands = {
        BARE: ([TRUE], 1),
        "sh -c true": (["/bin/sh", "-c", TRUE], 1),
        "nacre run -- true": ([bench.nacre, "run", "--", "true"], 1),
        "the same, state in memory": (
            [f"NACRE_STATE_DIR={bench.memory_state}", bench.nacre, "run", "--", "true"], 1),
        "nacre run -c true": ([bench.nacre, "run", "-c", "true"], 1),
        **found,
    }
    progress(f"cold starts, {bench.rounds(400)} rounds")
    samples = interleaved(bench, commands, bench.rounds(400))
    bare = samples[BARE]
    rows = []
    for name, taken in samples.items():
        best = quantile(taken, 0.1) / quantile(bare, 0.1)
        rows.append([name, len(taken), milliseconds(median(taken)), spread(taken),
                     ratio(median(taken) / median(bare)), ratio(best)])
    table("Cold start of `true`", ["command", "runs", "median ms", "p10-p90 ms", "ratio",
                                   "ratio of p10"], rows)
    for line in missing:
        bench.note(line)
    for row in rows[1:]:
        bench.result(f"cold start: {row[0]}", BARE, row[4], row[5])


LADDER = ["a static program starts and ends", "it starts the command: one process more",
          "the keeper: a fork, a socket", "init: a fork, a socket, a signalfd",
          "output through two pipes", "signals, limits, descriptors", "sessions of their own",
          "task directory and its records, in memory"]


def parts(bench):
    """What the overhead is made of: differences between the rungs of bench/ladder.c.

    A file system on a disk has its own ways (ext4 is slow to reuse what was just deleted), so the
    state directory is in memory for all but the last line.
    """
    ladder = program(bench.work, "ladder", static=True)
    memory = f"NACRE_STATE_DIR={bench.memory_state}"
    commands = {BARE: ([TRUE], 1)}
    for rung, name in enumerate(LADDER):
        commands[name] = ([ladder, str(rung), bench.memory_state, TRUE], 1)
    commands["the rest of nacre: order, environment, report, result"] = (
        [memory, bench.nacre, "run", "--", TRUE], 1)
    commands["looking for the command in PATH"] = ([memory, bench.nacre, "run", "--", "true"], 1)
    commands["state directory on the disk"] = ([bench.nacre, "run", "--", "true"], 1)
    commands["nacre --version"] = ([bench.nacre, "--version"], 1)
    progress(f"parts of a start, {bench.rounds(300)} rounds")
    samples = interleaved(bench, commands, bench.rounds(300))
    version = samples.pop("nacre --version")
    total, bare = list(samples.values())[-1], samples[BARE]
    rows = [["the command itself: " + BARE, milliseconds(median(bare)),
             milliseconds(quantile(bare, 0.1)), ""]]
    before = {0.5: 0, 0.1: 0}
    for name in list(samples)[1:]:
        cost = {}
        for q, last in before.items():
            cost[q] = quantile(samples[name], q) - last
            if name == LADDER[1]:  # the command's own cost is in the first line
                cost[q] -= quantile(bare, q)
            before[q] = quantile(samples[name], q)
        overhead = quantile(total, 0.1) - quantile(bare, 0.1)
        rows.append([name, f"{cost[0.5] / 1e6:+.2f}", f"{cost[0.1] / 1e6:+.2f}",
                     f"{cost[0.1] / overhead * 100:.0f} %"])
    rows.append(["nacre run -- true", milliseconds(median(total)),
                 milliseconds(quantile(total, 0.1)), "100 %"])
    table("What a start is made of", ["part", "by medians, ms", "by p10, ms",
                                      "of the overhead (p10)"], rows)
    bench.note(f"for comparison, `nacre --version` takes {milliseconds(median(version))} ms "
               f"(p10-p90 {spread(version)})")


def batch_ways(bench, callers, driver, out, jobs, each):
    """name -> (argv, environment) of the ways to run many commands, the bare one first."""
    asked = [out, str(jobs), str(each), TRUE]
    nacre = [driver, *asked, bench.nacre, "run", "--batch", "--jobs", str(jobs)]
    memory = {**bench.env, "NACRE_STATE_DIR": bench.memory_state}
    return {
        f"posix_spawn + wait, {jobs} at a time": ([callers, *asked], bench.env),
        f"nacre run --batch --jobs {jobs}": (nacre, bench.env),
        f"the same with {jobs}, state in memory": (nacre, memory),
    }


def batch(bench):
    """One nacre for many commands, against loops of posix_spawn."""
    callers, driver = program(bench.work, "callers"), program(bench.work, "batch")
    out = os.path.join(bench.work, "samples")
    latencies, rates = {}, {}
    turns, count = bench.turns(5), bench.rounds(200)
    progress(f"batch, {turns} turns of {count} requests")
    for _ in range(turns):
        for jobs in (1, 8):
            ways = batch_ways(bench, callers, driver, out, jobs, max(1, count // jobs))
            for name, (argv, env) in ways.items():
                run(argv, env, cwd=bench.workspace)
                samples = read_samples(out)
                latencies.setdefault(name, []).extend(samples["0"])
                rates.setdefault(name, []).append(len(samples["0"]) * 1e9 / samples["total"][0])
    rows = []
    for name, taken in latencies.items():
        if name.startswith("posix"):
            base, best = median(rates[name]), max(rates[name])
        rate = median(rates[name])
        rows.append([name, f"{rate:.0f}", f"{min(rates[name]):.0f}-{max(rates[name]):.0f}",
                     milliseconds(median(taken)), spread(taken), ratio(base / rate),
                     ratio(best / max(rates[name]))])
        if not name.startswith("posix"):
            bench.result(f"batch: {name}", "posix_spawn, as many callers", rows[-1][5],
                         rows[-1][6])
    table("Many commands through one nacre",
          ["way", "per second", "range", "median ms", "p10-p90 ms", "time each", "best turns"],
          rows)


def section(bench):
    if not os.access(TRUE, os.X_OK):
        raise Skip("there is no true")
    compare(bench)
    parts(bench)
    batch(bench)
