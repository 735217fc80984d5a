"""Decisions: parse, facts and rules of a line under each profile, and the time that profiles take to load."""
import os

from measure import HERE, ROOT, Skip, compile_c, median, progress, quantile, read_samples, run, table

LINES = [
    "ls -la src",
    "git status --short",
    "npm run build 2>&1 | tail -n 20",
    "grep -rn 'struct policy' src --include='*.h' | sort -u | head -n 5",
    "cd src && make -j4 && ./run-tests --fast",
    "python3 -m pytest -q tests/test_api.py",
    'for f in *.c; do gcc -c "$f" -o "${f%.c}.o"; done',
    "rm -rf build dist && mkdir -p build",
]
DECISION_BAR_US, LOAD_BAR_MS = 20, 3


def build(bench):
    library = os.path.join(os.path.dirname(bench.nacre), "libnacre-core.a")
    built = compile_c(bench.work, "decide", [os.path.join(HERE, "decide.c")],
                      ["-I", os.path.join(ROOT, "src"), "-I", HERE, library, "-ljansson", "-lyaml",
                       "-lpcre2-8", "-lsodium"], optional=True)
    if not built:
        raise Skip(f"{library} has no policy")
    return built


def microseconds(ns):
    return f"{ns / 1e3:.1f}"


def section(bench):
    decide = build(bench)
    out = os.path.join(bench.work, "decisions")
    progress("decisions")
    run([decide, out, str(bench.rounds(100)), bench.workspace, *LINES], bench.env)
    samples = read_samples(out)
    profiles = sorted({key.split(":")[1] for key in samples if key.startswith("decide:")})
    rows, slow = [], []
    for number, line in enumerate(LINES):
        row = [line, microseconds(median(samples[f"facts:{number}"]))]
        for profile in profiles:
            taken = samples[f"decide:{profile}:{number}"]
            best = quantile(taken, 0.1)
            row.append(f"{microseconds(median(taken))} ({microseconds(best)})")
            if best > DECISION_BAR_US * 1e3:
                slow.append(f"{profile}: {line} ({microseconds(best)} us)")
        rows.append(row)
    table("Decisions: parse + facts + rules, median us (p10)", ["line", "facts alone", *profiles], rows)
    rows = [[key.split(":")[1], microseconds(median(taken)), microseconds(quantile(taken, 0.1))]
            for key, taken in samples.items() if key.startswith("load:")]
    table("Loading of profiles", ["profile", "median us", "p10 us"], rows)
    everything = quantile(samples["load:all"], 0.1) / 1e6
    bench.note(f"over {DECISION_BAR_US} us at p10: " + ", ".join(slow) if slow else
               f"every decision takes less than {DECISION_BAR_US} us")
    bench.note(f"all profiles and agents load in {everything:.2f} ms at p10 (bar: {LOAD_BAR_MS} ms)")
