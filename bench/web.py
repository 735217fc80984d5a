"""HTTP: how much of what the launcher can do is left behind POST /shell, and what a follower costs.

The bars of the project: with 64 connections at least 0.8 of the commands a second that the launcher alone
reaches with as many callers; for a minute without an error, and without a byte, a descriptor or a process that is left; 1,000 idle
followers at most 20 kB each, and no time.
"""
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

from measure import ROOT, Skip, median, progress, table

LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer %s"
wrk.body = '{"command":"pwd"}'
bad = 0
function response(status, headers, body)
  if status ~= 200 or not body:find('"success":true', 1, true) then bad = bad + 1 end
end
local threads = {}
function setup(thread) table.insert(threads, thread) end
function done(summary, latency, requests)
  local all = 0
  for _, thread in ipairs(threads) do all = all + thread:get("bad") end
  io.write(string.format("bad %%d errors %%d\\n", all, summary.errors.connect + summary.errors.read +
    summary.errors.write + summary.errors.timeout))
end
"""


def connections(bench):
    return bench.size(64, 8)


class Server:
    def __init__(self, bench):
        self.socket = os.path.join(bench.work, "http.sock")
        self.popen = subprocess.Popen([bench.nacre, "serve", "--listen", "127.0.0.1:0", "--unix", self.socket, "--rate", "0",
                                       "--workspace", bench.workspace], env=bench.env, stdin=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
        for line in self.popen.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                break
        else:
            raise SystemExit("bench: the server does not listen")
        with open(os.path.join(bench.state, "token"), encoding="ascii") as file:
            self.token = file.read().strip()

    def rss_kb(self):
        with open(f"/proc/{self.popen.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.popen.pid}/fd"))

    def processes(self):
        """All below the server: the launcher, boxes that stand by, and what should not be there."""
        parents = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(pid)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass  # it has gone
        found = {self.popen.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return len(found)

    def ticks(self):
        with open(f"/proc/{self.popen.pid}/stat", encoding="ascii") as file:
            return sum(int(x) for x in file.read().rsplit(")", 1)[1].split()[11:13])

    def send(self, text):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.socket)
        sock.sendall(text)
        return sock

    def close(self):
        self.popen.send_signal(signal.SIGTERM)
        self.popen.wait(60)
        self.popen.stderr.close()


def batch(bench, count):
    """Commands a second through the launcher alone, with as many callers."""
    requests = b'{"command":"pwd"}\n' * count
    began = time.monotonic()
    done = subprocess.run([bench.nacre, "run", "--batch", "--jobs", str(connections(bench)), "--profile", "readonly"], input=requests,
                          env=bench.env, cwd=bench.workspace, capture_output=True, check=True, timeout=600)
    took = time.monotonic() - began
    good = done.stdout.count(b'"success":true')
    return count / took, count - good


def load(bench, server, seconds):
    script = os.path.join(bench.work, "post.lua")
    with open(script, "w", encoding="ascii") as file:
        file.write(LUA % server.token)
    done = subprocess.run(["wrk", "-t", "2", "-c", str(connections(bench)), "-d", f"{seconds}s", "--timeout", "30s", "-s", script,
                           f"http://127.0.0.1:{server.port}/shell"], capture_output=True, text=True, check=True)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])
    bad, errors = map(int, re.search(r"bad (\d+) errors (\d+)", done.stdout).groups())
    return rate, bad + errors


def commands(bench, server):
    seconds, rounds = bench.size((12, 5), (1, 1))
    progress(f"http: {rounds} rounds of {seconds} s with {connections(bench)} connections")
    rows, ratios, wrong = [], [], 0
    load(bench, server, bench.size(2, 1))
    before = server.rss_kb()
    for _ in range(rounds):
        http, bad = load(bench, server, seconds)
        alone, failed = batch(bench, max(bench.size(100, 8), int(http * seconds)))
        wrong += bad
        ratios.append(http / alone)
        rows.append([f"{http:.0f}", f"{alone:.0f}", f"{http / alone:.2f}", bad, failed])
    table("POST /shell against the launcher alone, commands per second",
          ["HTTP", "launcher", "ratio", "wrong over HTTP", "wrong in the launcher"], rows)
    bench.result(f"POST /shell, {connections(bench)} connections", "the launcher alone", f"{median(ratios):.2f}", f"{max(ratios):.2f}")
    bench.note(f"commands per second over HTTP: {median(ratios):.2f} of the launcher alone, at least 0.8: "
               f"{'kept' if median(ratios) >= 0.8 else 'MISSED'}; {wrong} wrong answers; the server has grown by "
               f"{server.rss_kb() - before} kB")


def at_rest(bench, server):
    """Memory, descriptors and processes when connections are closed and boxes that were in use cleared away."""
    last = None
    if bench.quick:
        return server.rss_kb(), server.descriptors(), server.processes()
    time.sleep(6)  # then the keepers of a crowd have been given up
    for _ in range(30):
        now = server.rss_kb(), server.descriptors(), server.processes()
        if now == last:
            break
        last = now
        time.sleep(1)
    return last


def endurance(bench, server):
    seconds = bench.size(60, 1)
    progress(f"http: {seconds} s with {connections(bench)} connections")
    load(bench, server, bench.size(2, 1))
    before = at_rest(bench, server)
    rate, bad = load(bench, server, seconds)
    after = at_rest(bench, server)
    words = ", ".join(f"{name} {old} -> {new}" for name, old, new in zip(("kB", "descriptors", "processes"), before, after))
    leaks = after[0] - before[0] > 1024 or after[1] > before[1] + 2 or after[2] > before[2]
    bench.note(f"POST /shell for {seconds} s with {connections(bench)} connections: {rate:.0f} commands a second, {bad} wrong answers, none may be: "
               f"{'MISSED' if bad else 'kept'}; {words}, none may be left: {'MISSED' if leaks else 'kept'}")


def followers(bench, server):
    count = bench.size(1000, 10)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    progress(f"http: {count} idle followers")
    body = json.dumps({"command": "sleep 3600", "profile": "bash", "background": True}).encode()
    head = (f"POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n").encode()
    with server.send(head + body) as sock:
        answer = b"".join(iter(lambda: sock.recv(65536), b""))
    task = re.search(rb'"task_id":"([^"]+)"', answer)[1].decode()
    request = f"GET /v1/tasks/{task}/output?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode()

    def follow():
        sock = server.send(request)
        assert b"200 OK" in sock.recv(4096)
        return sock
    warm = [follow() for _ in range(20)]
    before = server.rss_kb()
    socks = [follow() for _ in range(count)]
    each = (server.rss_kb() - before) * 1024 / count / 1000
    used = server.ticks()
    seconds = bench.size(5, 0.2)
    time.sleep(seconds)
    used = (server.ticks() - used) * 1000 / os.sysconf("SC_CLK_TCK") / seconds
    for sock in warm + socks:
        sock.close()
    stop = f"POST /v1/tasks/{task}/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    with server.send(stop) as sock:
        sock.recv(4096)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    bench.note(f"an idle follower: {each:.1f} kB, at most 20: {'kept' if each <= 20 else 'MISSED'}; {count} of them use "
               f"{used:.1f} ms of processor time a second")


def section(bench):
    if not shutil.which("wrk") and not bench.quick:  # `make bench` has asked for it already
        subprocess.run([os.path.join(ROOT, "tools", "setup"), "bench"], stdin=subprocess.DEVNULL, check=False)
    if not shutil.which("wrk"):
        raise Skip("POST /shell: wrk is not installed: apt-get install wrk")
    server = Server(bench)
    try:
        commands(bench, server)
        endurance(bench, server)
        followers(bench, server)
    finally:
        server.close()
