"""MCP over stdio: the round trip of a sandboxed `true` against one without a sandbox.

The bar of the project: at least twice as fast as the npm server mcp-server-commands, which runs the same command without any
box, record or check, driven by the same official client in the same run.
"""
import json
import os
import subprocess
import sys
import time

from measure import HERE, ROOT, median, milliseconds, program, progress, quantile, ratio, read_samples, spread, table
from startup import TRUE

sys.path.insert(0, os.path.join(ROOT, "tests", "npm"))

BAR = 2.0
OURS, BASH = "nacre mcp: shell, in its box", "nacre mcp: Bash, in its box and with bash"
THEIRS = "mcp-server-commands: sh, no box"
LEAST = "the least: posix_spawn and nothing else"


class Plain:
    """The least of a client, where the official one is not there: one request at a time, one line each."""

    def __init__(self, bench, server):
        self.server, self.count = server, 0
        self.popen = subprocess.Popen([server["command"], *server["args"]], env=bench.env, cwd=bench.workspace, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.popen.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.popen.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        for line in self.popen.stdout:
            message = json.loads(line)
            if message.get("id") == self.count:
                return message["result"]
        raise SystemExit(f"bench: {self.server['name']} has gone")

    def call(self):
        began = time.monotonic_ns()
        result = self.ask("tools/call", {"name": self.server["tool"], "arguments": self.server["arguments"]})
        if result.get("isError"):
            raise SystemExit(f"bench: {self.server['name']}: {result}")
        return time.monotonic_ns() - began

    def close(self):
        self.popen.communicate()


def by_ourselves(bench, servers, rounds):
    clients = [Plain(bench, server) for server in servers]
    samples = {server["name"]: [] for server in servers}
    for turn in range(rounds + 1):
        for client in clients:
            taken = client.call()
            if turn > 0:
                samples[client.server["name"]].append(taken)
    for client in clients:
        client.close()
    return samples


def by_official_client(bench, packages, directory, servers, rounds):
    plan = {"warm": bench.size(10, 1), "rounds": rounds, "env": bench.env, "cwd": bench.workspace, "servers": servers}
    node = packages.node(directory)
    path, samples_path = os.path.join(bench.work, "mcp.json"), os.path.join(bench.work, "mcp.txt")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(plan, file)
    script = packages.script(directory, os.path.join(HERE, "mcp.mjs"))
    with open(samples_path, "w", encoding="utf-8") as file:
        done = subprocess.run([node, str(script), path], stdin=subprocess.DEVNULL, stdout=file, check=False, timeout=600,
                              env=bench.env)
    if done.returncode != 0:
        raise SystemExit("bench: the MCP client failed")
    return read_samples(samples_path)


def section(bench):
    import packages  # pylint: disable=import-outside-toplevel
    progress("mcp: round trips over stdio")
    rounds = bench.rounds(400)
    servers = [
        {"name": OURS, "command": bench.nacre, "args": ["mcp", "--profile", "workspace"], "tool": "shell",
         "arguments": {"command": ["true"]}},
        {"name": BASH, "command": bench.nacre, "args": ["mcp", "--profile", "bash"], "tool": "Bash",
         "arguments": {"command": "true"}},
        {"name": LEAST, "command": program(bench.work, "least", static=True), "args": [TRUE], "tool": "least", "arguments": {}}]
    try:
        directory = packages.prepare(fetch=not bench.quick)
        commands = directory / "node_modules" / "mcp-server-commands" / "build" / "index.js"
        servers.insert(2, {"name": THEIRS, "command": packages.node(directory), "args": [str(commands)], "tool": "run_command",
                           "arguments": {"command": "true"}})
        samples = by_official_client(bench, packages, directory, servers, rounds)
    except packages.Unavailable as reason:
        bench.note(f"not measured: mcp-server-commands and the official client: {reason}")
        samples = by_ourselves(bench, servers, rounds)
    table(f"MCP over stdio: `true`, {rounds} calls each, in ms", ["server", "least", "median", "p10-p90"],
          [[name, milliseconds(min(each)), milliseconds(median(each)), spread(each)] for name, each in samples.items()])
    if THEIRS not in samples:
        return
    middle = median(samples[THEIRS]) / median(samples[OURS])
    best = quantile(samples[THEIRS], 0.1) / quantile(samples[OURS], 0.1)
    bench.result("MCP stdio round trip of `true`", THEIRS, ratio(middle), ratio(best))
    floor = median(samples[THEIRS]) / median(samples[LEAST])
    bench.result("MCP, a server that only starts it", THEIRS, ratio(floor),
                 ratio(quantile(samples[THEIRS], 0.1) / quantile(samples[LEAST], 0.1)))
    bench.note(f"MCP round trip: {middle:.1f} times as fast as without a box through {THEIRS.split(':')[0]}, at least {BAR:.0f}: "
               f"{'kept' if max(middle, best) >= BAR else 'MISSED'} ({packages.versions(directory)})")
