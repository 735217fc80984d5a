"""What the audit log costs: many callers that share a sync, and a command with and without its records.

The bars of the project: with 16 callers at least 8 times the rate of one sync per record, and an audited
command costs at most 10 % more than an unaudited one with 8 callers.
"""
import os

from measure import HERE, ROOT, Skip, compile_c, median, milliseconds, program, progress, ratio, read_samples, run, table
from startup import TRUE
from wall import judge

LINE = "ls | wc -l"
WAYS = {"each": "a sync for each record", "group": "the audit log"}


def build(bench):
    library = os.path.join(os.path.dirname(bench.nacre), "libnacre-core.a")
    built = compile_c(bench.work, "append", [os.path.join(HERE, "append.c")],
                      ["-I", os.path.join(ROOT, "src"), "-I", HERE, library, "-ljansson", "-lpcre2-8", "-lsodium"],
                      optional=True)
    if not built:
        raise Skip(f"{library} has no audit log")
    return built


def appends(bench):
    append = build(bench)
    out = os.path.join(bench.work, "samples")
    turns, count = bench.turns(7), bench.rounds(16000)
    rates, latencies = {}, {}
    progress(f"audit: records, {turns} turns of {count}")
    for turn in range(turns):
        for callers in (1, 16):
            for way in WAYS:
                directory = os.path.join(bench.work, f"log-{turn}-{callers}-{way}")
                os.mkdir(directory, 0o700)
                run([append, out, way, directory, str(callers), str(max(1, count // callers))], bench.env)
                samples = read_samples(out)
                rates.setdefault((callers, way), []).append(len(samples["0"]) * 1e9 / samples["total"][0])
                latencies.setdefault((callers, way), []).append(median(samples["0"]))
    rows = [[f"{WAYS[way]}, {callers} caller{'s' if callers > 1 else ''}", f"{median(taken):.0f}",
             f"{min(taken):.0f}-{max(taken):.0f}", milliseconds(median(latencies[callers, way])),
             ratio(median(taken) / median(rates[callers, "each"]))] for (callers, way), taken in rates.items()]
    table("Records that are on the disk", ["way", "per second", "of the turns", "median ms", "rate"], rows)
    shared, each = rates[16, "group"], rates[16, "each"]
    value, best = median(shared) / median(each), max(shared) / max(each)
    bench.result("audit log, 16 callers", "a sync for each record", ratio(value), ratio(best))
    judge(bench, "16 callers, rate of records against a sync each, at least 8", value, lambda v: v >= 8, best)


def commands(bench, what, asked):
    driver = program(bench.work, "batch")
    out = os.path.join(bench.work, "samples")
    turns, count = bench.turns(9), bench.rounds(800)
    files, times = {}, {}
    for mode in ("on", "off"):
        files[mode] = os.path.join(bench.work, f"bench-audit-{mode}.yaml")
        with open(files[mode], "w", encoding="ascii") as file:
            file.write(f"profile: bench-audit-{mode}\ninherits: bash\naudit: {{mode: {mode}}}\n")
    progress(f"audit: {what}, {turns} turns of {count}")
    for turn in range(turns):
        for jobs in (1, 8):
            for mode in ("on", "off") if turn % 2 else ("off", "on"):
                run([driver, out, str(jobs), str(max(1, count // jobs)), asked, bench.nacre, "run", "--batch",
                     "--jobs", str(jobs), "--policy", files[mode]], bench.env, cwd=bench.workspace)
                samples = read_samples(out)
                times.setdefault((jobs, mode), []).append(samples["total"][0] / len(samples["0"]))
    rows = [[f"audit {mode}, {jobs} caller{'s' if jobs > 1 else ''}", milliseconds(median(taken)),
             f"{milliseconds(min(taken))}-{milliseconds(max(taken))}", f"{1e9 / median(taken):.0f}",
             ratio(median(taken) / median(times[jobs, "off"])), ratio(min(taken) / min(times[jobs, "off"]))]
            for (jobs, mode), taken in sorted(times.items())]
    table(f"{what}, with and without the records of it", ["way", "ms a command", "of the turns", "per second", "of off",
                                                      "by best"], rows)
    for jobs in (1, 8):
        on, off = times[jobs, "on"], times[jobs, "off"]
        bench.result(f"audited: {what}, {jobs} caller{'s' if jobs > 1 else ''}", "unaudited",
                     ratio(median(on) / median(off)), ratio(min(on) / min(off)))
    value = sorted(a / b for a, b in zip(times[8, "on"], times[8, "off"]))
    judge(bench, f"8 callers, {what}, audited against unaudited, at most 1.10", median(value),
          lambda v: v <= 1.10, min(times[8, "on"]) / min(times[8, "off"]))


def section(bench):
    appends(bench)
    commands(bench, "`true`, the shortest of all commands", TRUE)
    commands(bench, f"`{LINE}`, as agents write", LINE)
