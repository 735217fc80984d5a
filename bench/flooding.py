"""1 GiB from a child: nacre's capture against a plain C loop and Python's subprocess."""
import json
import os
import shutil
import sys

from measure import (Skip, median, program, progress, ratio, read_samples, run, table)

GIB = 1 << 30
SLACK = 4 << 20  # the file gives back its middle in steps
PYTHON = """
import subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True)
sys.exit(done.returncode != 0 or len(done.stdout) != int(sys.argv[2]))
"""


def clean(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    os.chmod(path, 0o700)


def check_nacre(result_path, state, size, cap):
    """Quick but wrong does not count: every byte counted, and on the disk up to the cap."""
    with open(result_path, encoding="utf-8") as file:
        result = json.load(file)
    if result["exit_code"] != 0 or result["stdout_bytes"] != size:
        raise SystemExit(f"bench: nacre counted {result['stdout_bytes']} of {size} bytes")
    files = [os.path.join(where, name) for where, _, names in os.walk(state) for name in names
             if name == "out"]
    length = sum(os.path.getsize(path) for path in files)
    blocks = sum(os.stat(path).st_blocks * 512 for path in files)
    # Past its cap the file may have a hole in the middle, or be closed up.
    if length not in (size, cap) or blocks < min(size, cap) * 0.98 or blocks > cap + SLACK:
        raise SystemExit(f"bench: the output file is {length} bytes long and takes {blocks}, the cap "
                         f"is {cap}")


def section(bench):
    free = shutil.disk_usage(bench.work).free
    size = bench.size(GIB, GIB // 64)
    if free < 6 * size:
        raise Skip(f"the capture of {size / GIB:g} GiB wants {6 * size / GIB:g} GiB free in {bench.work}; there are "
                   f"{free / GIB:.1f} (TMPDIR chooses another place)")
    drain, watch = (program(bench.work, name) for name in ("drain", "watch"))
    flood = program(bench.workspace, "flood")  # of all that lies in /tmp a box has the workspace only
    child = [flood, str(size)]
    file, result = (os.path.join(bench.work, name) for name in ("drained", "result.json"))
    nacre = [bench.nacre, "run", "--json", "--output-cap"]
    plain = "C loop to a file"
    ways = {
        plain: ([drain, file, "65536", "0", "0"] + child, 0),
        "C loop, pipe of 1 MiB": ([drain, file, "262144", "1048576", "0"] + child, 0),
        "C loop, pipe of 1 MiB, own session": ([drain, file, "262144", "1048576", "1"] + child, 0),
        "nacre run, everything in the file": (nacre + [str(2 * size), "--"] + child, 2 * size),
        "nacre run, a quarter in the file": (nacre + [str(size // 4), "--"] + child, size // 4),
        "Python subprocess.run(capture_output)": ([sys.executable, "-c", PYTHON] + child, 0),
    }
    seconds = {name: [] for name in ways}
    peaks = {name: {} for name in ways}
    turns = bench.turns(7)
    progress(f"capture of {size / GIB:g} GiB, {turns} turns of {len(ways)} ways")
    for turn in range(turns + 1):
        for name, (argv, cap) in ways.items():
            clean(bench.state)
            with open(result, "wb") as out:
                run([watch, os.path.join(bench.work, "peaks")] + argv, bench.env,
                    cwd=bench.workspace, stdout=out)
            if cap:
                check_nacre(result, bench.state, size, cap)
            elif name.startswith("C") and os.path.getsize(file) != size:
                raise SystemExit("bench: the C loop lost something")
            if os.path.exists(file):
                os.unlink(file)
            clean(bench.state)
            read = read_samples(os.path.join(bench.work, "peaks"))
            took = read.pop("ns")[0]
            if turn == 0:  # for the caches
                continue
            seconds[name].append(took / 1e9)
            for process, kib in read.items():
                peaks[name][process] = max(kib[0], peaks[name].get(process, 0))
    report(bench, ways, seconds, peaks, size, plain)


def report(bench, ways, seconds, peaks, size, plain):
    def rate(s):
        return f"{size / GIB / s:.2f}"

    rows = []
    for name in ways:
        memory = {k: v for k, v in peaks[name].items() if k != "flood"}
        relative = median(seconds[plain]) / median(seconds[name])
        best = min(seconds[plain]) / min(seconds[name])
        rows.append([name, rate(median(seconds[name])),
                     f"{rate(max(seconds[name]))}-{rate(min(seconds[name]))}", ratio(relative),
                     ratio(best), ", ".join(f"{k} {v / 1024:.1f}" for k, v in memory.items())])
        if name != plain:
            bench.result(f"capture: {name}", "C loop, rate", ratio(relative), ratio(best))
    table(f"Capture of {size / GIB:g} GiB", ["way", "GiB/s", "range", "rate", "best rate",
                                            "peak MiB of each process"], rows)
