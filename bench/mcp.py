"""MCP over stdio: the round trip of a sandboxed `true` against one without a sandbox.

The bar of the project: at least twice as fast as the npm server mcp-server-commands, which runs the same command without any
box, record or check, driven by the same official client in the same run.
"""
import json
import os
import subprocess
import sys

from measure import HERE, ROOT, Skip, median, milliseconds, program, progress, quantile, ratio, read_samples, spread, table
from startup import TRUE

sys.path.insert(0, os.path.join(ROOT, "tests", "npm"))

BAR = 2.0
OURS, BASH = "nacre mcp: shell, in its box", "nacre mcp: Bash, in its box and with bash"
THEIRS = "mcp-server-commands: sh, no box"
LEAST = "the least: posix_spawn and nothing else"


def section(bench):
    import packages  # pylint: disable=import-outside-toplevel
    progress("mcp: round trips over stdio")
    try:
        directory = packages.prepare()
    except packages.Unavailable as reason:
        raise Skip(f"MCP round trips: {reason}") from None
    node = packages.node(directory)
    commands = directory / "node_modules" / "mcp-server-commands" / "build" / "index.js"
    plan = {"warm": 10, "rounds": bench.rounds(400), "env": bench.env, "cwd": bench.workspace, "servers": [
        {"name": OURS, "command": bench.nacre, "args": ["mcp", "--profile", "workspace"], "tool": "shell",
         "arguments": {"command": ["true"]}},
        {"name": BASH, "command": bench.nacre, "args": ["mcp", "--profile", "bash"], "tool": "Bash",
         "arguments": {"command": "true"}},
        {"name": THEIRS, "command": node, "args": [str(commands)], "tool": "run_command",
         "arguments": {"command": "true"}},
        {"name": LEAST, "command": program(bench.work, "least", static=True), "args": [TRUE], "tool": "least", "arguments": {}}]}
    path, samples_path = os.path.join(bench.work, "mcp.json"), os.path.join(bench.work, "mcp.txt")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(plan, file)
    script = packages.script(directory, os.path.join(HERE, "mcp.mjs"))
    with open(samples_path, "w", encoding="utf-8") as file:
        done = subprocess.run([node, str(script), path], stdin=subprocess.DEVNULL, stdout=file, check=False, timeout=600,
                              env=bench.env)
    if done.returncode != 0:
        raise SystemExit("bench: the MCP client failed")
    samples = read_samples(samples_path)
    table(f"MCP over stdio: `true`, {plan['rounds']} calls each, in ms", ["server", "least", "median", "p10-p90"],
          [[name, milliseconds(min(each)), milliseconds(median(each)), spread(each)] for name, each in samples.items()])
    middle = median(samples[THEIRS]) / median(samples[OURS])
    best = quantile(samples[THEIRS], 0.1) / quantile(samples[OURS], 0.1)
    bench.result("MCP stdio round trip of `true`", THEIRS, ratio(middle), ratio(best))
    floor = median(samples[THEIRS]) / median(samples[LEAST])
    bench.result("MCP, a server that only starts it", THEIRS, ratio(floor),
                 ratio(quantile(samples[THEIRS], 0.1) / quantile(samples[LEAST], 0.1)))
    bench.note(f"MCP round trip: {middle:.1f} times as fast as without a box through {THEIRS.split(':')[0]}, at least {BAR:.0f}: "
               f"{'kept' if max(middle, best) >= BAR else 'MISSED'} ({packages.versions(directory)})")
