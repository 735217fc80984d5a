"""Network by name: what the gateway costs against other ways out of a namespace, and what a command pays that uses no network.

All ways in turn, in one run, to one server in a namespace of its own. The goals of the project: to the first answer not later than
pasta; at most 0.3 s of processor time for a GiB; at most 1.5 KiB of private memory for an idle connection; a command that uses no
network within 5 % of `network: none`, in kept boxes not slower.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from measure import PATH, ROOT, Skip, median, milliseconds, progress, quantile, ratio, table
from startup import interleaved

GIB = 1 << 30
PORT = 7777

SERVER_PY = r"""
import socket, struct, sys, threading
block = bytes(1 << 20)
def exactly(c, n):
    data = b''
    while len(data) < n:
        part = c.recv(n - len(data))
        if not part: raise OSError
        data += part
    return data
def one(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while True:
            kind, size = struct.unpack('>BQ', exactly(c, 9))
            if kind == 2:
                while size > 0: size -= c.send(block[:min(size, len(block))])
            elif kind == 3:
                into = bytearray(1 << 20)
                while size > 0:
                    n = c.recv_into(into)
                    if n == 0: return
                    size -= n
            c.sendall(b'k')
    except OSError: pass
    finally: c.close()
s = socket.create_server(('', int(sys.argv[1])), backlog=4096)
print('ready', flush=True)
while True: threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()
"""

# Phase after phase, each when the bench has looked at the forwarder: it says so by a line in the file `go`.
CLIENT_PY = r"""
import json, os, resource, socket, struct, sys, time
place, host, proxy, rounds, size, idle = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address, result = socket.gethostbyname(host), {}
def connect():
    if proxy == '-':
        s = socket.create_connection((address, 7777), 60)
    else:
        s = socket.create_connection(('127.0.0.1', int(proxy)), 60)
        s.sendall(b'CONNECT %s:7777 HTTP/1.1\r\n\r\n' % address.encode())
        while not s.recv(4096).endswith(b'\r\n\r\n'): pass
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s
def answer(s):
    data = s.recv(1)
    if data != b'k': raise SystemExit('no answer')
def now(): return time.perf_counter()
def phase(name, value):
    result[name] = value
    with open(place + '/said.new', 'w') as f: json.dump(result, f)
    os.rename(place + '/said.new', place + '/said-' + name)
    while not os.path.exists(place + '/go-' + name): time.sleep(0.005)
c, a = [], []
for i in range(rounds + 5):
    t = now(); s = connect(); c.append(now() - t); s.sendall(struct.pack('>BQ', 1, 0)); answer(s); a.append(now() - t); s.close()
phase('latency', [c[5:], a[5:]])
s = connect(); into = bytearray(1 << 20)
t = now(); s.sendall(struct.pack('>BQ', 2, size)); left = size + 1
while left > 0:
    n = s.recv_into(into)
    if n == 0: raise SystemExit('ended early')
    left -= n
phase('down', now() - t)
block = bytes(1 << 20)
t = now(); s.sendall(struct.pack('>BQ', 3, size)); left = size
while left > 0: left -= s.send(block[:min(left, len(block))])
answer(s)
phase('up', now() - t)
s.close()
def hold(n):
    some = [connect() for _ in range(n)]
    for s in some: s.sendall(struct.pack('>BQ', 1, 0))
    for s in some: answer(s)
    return some
warm = hold(20); phase('few', 0)
held = hold(idle); phase('idle', 0)
"""

NODE_JS = r"""
const http = require('http'), net = require('net');
const server = http.createServer();
server.on('connect', (request, client, head) => {
  const [host, port] = request.url.split(':');
  const up = net.connect(port, host, () => { client.write('HTTP/1.1 200 OK\r\n\r\n'); up.write(head); up.pipe(client); client.pipe(up); });
  up.setNoDelay(true); client.setNoDelay(true);
  up.on('error', () => client.destroy()); client.on('error', () => up.destroy());
});
server.listen(3128, '127.0.0.1', 4096, () => console.log('ready'));
"""


def processes():
    """pid -> (parent, name)."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            found[int(pid)] = int(rest.split()[1]), name
        except OSError:
            pass  # it has gone
    return found


def below(root, name):
    """The process of this name below ROOT."""
    all_ = processes()
    for pid, (parent, own) in all_.items():
        while own.startswith(name) and parent not in (0, root):
            parent = all_.get(parent, (0, ""))[0]
        if own.startswith(name) and parent == root:
            return pid
    return None


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


class Way:
    """How a client reaches the server: the words before it, and which process forwards."""

    def __init__(self, bench, world, name):
        self.bench, self.world, self.name, self.started = bench, world, name, []
        self.host, self.proxy, self.forwarder = "192.0.2.10", "-", None

    def begin(self, words, **options):
        process = subprocess.Popen([*self.world.inside(self.bench.workspace), *words], stdin=subprocess.DEVNULL, env=self.env(),
                                   start_new_session=True, **options)
        self.started.append(process)
        return process

    def env(self):
        return {**self.bench.env, "XDG_CONFIG_HOME": os.path.join(self.bench.work, "config")}

    def client(self):
        return [sys.executable, "-c", CLIENT_PY, self.bench.workspace, self.host, self.proxy, str(self.bench.rounds(200)),
                str(self.bench.size(GIB, 1 << 20)), str(self.bench.size(900, 20))]

    def start(self):
        if self.name == "nacre, by name":
            self.host = "a.test"
            process = self.begin([self.bench.nacre, "run", "--profile", "named", "--timeout", "10m", "--", "/usr/bin/python3", *self.client()[1:]],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.find = lambda: below(process.pid, "nacre-gateway")
        elif self.name == "pasta":
            # As root it would become nobody, who has no /dev/net/tun on some machines, and wait for ever.
            process = self.begin(["pasta", "--config-net", "-f", "-q", "--runas", "0", "--", *self.client()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.find = lambda: process.pid if processes().get(process.pid, (0, ""))[1].startswith(("pasta", "passt")) else None
        elif self.name == "slirp4netns":
            hold = self.begin(["unshare", "--net", "sh", "-c", f"touch {self.bench.workspace}/net; while [ ! -e {self.bench.workspace}/tap ]; do sleep 0.05; done; exec \"$@\"",
                               "sh", *self.client()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.wait("net", hold)
            tap = self.begin(["slirp4netns", "-c", "--mtu=65520", "-r", "3", str(hold.pid), "tap0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=())
            end = time.monotonic() + 20
            while b"10.0.2.100" not in subprocess.run(["nsenter", "-t", str(hold.pid), "-n", "ip", "addr"], capture_output=True).stdout:
                if time.monotonic() > end or tap.poll() is not None:
                    raise Skip("slirp4netns does not work here")
                time.sleep(0.05)
            open(os.path.join(self.bench.workspace, "tap"), "w").close()
            process, self.find = hold, lambda: tap.pid
        elif self.name == "CONNECT proxy in Node":
            node = self.begin(["node", "-e", NODE_JS], stdout=subprocess.PIPE)
            if node.stdout.readline() != b"ready\n":
                raise Skip("node does not work here")
            self.proxy = "3128"
            process, self.find = self.begin(self.client(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE), lambda: node.pid
        else:
            process, self.find = self.begin(self.client(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE), lambda: None
        return process

    def wait(self, name, process):
        path = os.path.join(self.bench.workspace, name)
        end = time.monotonic() + self.bench.size(300, 60)
        while not os.path.exists(path):
            if process.poll() is not None or time.monotonic() > end:
                why = process.stderr.read().decode(errors="replace").strip().split("\n")[-1] if process.poll() is not None and process.stderr else "no answer"
                raise Skip(f"{self.name} does not work here: {why[:200]}")
            time.sleep(0.002)
        return path

    def measure(self):
        """The client's own times, the forwarder's processor time for both directions, memory of an idle connection."""
        process = self.start()
        used, before, kib, said = {}, 0.0, {}, {}
        for phase in ("latency", "down", "up", "few", "idle"):
            with open(self.wait("said-" + phase, process), encoding="ascii") as file:
                said = json.load(file)
            pid = self.find()
            if pid:
                now = cpu_seconds(pid)
                used[phase], before = now - before, now
                kib[phase] = private_kib(pid)
            open(os.path.join(self.bench.workspace, "go-" + phase), "w").close()
        process.wait(60)
        share = self.bench.size(GIB, 1 << 20) / GIB
        return {"connect": said["latency"][0], "answer": said["latency"][1], "down": share / said["down"], "up": share / said["up"],
                "cpu": (used["down"] / share, used["up"] / share) if used else None,
                "idle": (kib["idle"] - kib["few"]) / self.bench.size(900, 20) if kib else None}

    def close(self):
        for process in reversed(self.started):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            try:
                os.killpg(process.pid, signal.SIGKILL)  # what it has started: pasta leaves its children behind
            except ProcessLookupError:
                pass
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        for name in os.listdir(self.bench.workspace):
            os.unlink(os.path.join(self.bench.workspace, name))


def config(bench):
    place = os.path.join(bench.work, "config", "nacre")
    os.makedirs(place)
    for name, network in (("named", f"{{allow: [\"a.test:{PORT}\"]}}"), ("closed", "none")):
        with open(os.path.join(place, name + ".yaml"), "w", encoding="ascii") as file:
            file.write(f"profile: {name}\ninherits: bash\nsandbox:\n  network: {network}\n")


def ways(bench, world):
    names = ["direct", "nacre, by name", "pasta", "slirp4netns", "CONNECT proxy in Node"]
    tools = {"pasta": ("pasta", "passt"), "slirp4netns": ("slirp4netns", "slirp4netns"), "CONNECT proxy in Node": ("node", "nodejs")}
    found, skipped = {}, []
    for turn in range(bench.turns(3)):
        for name in names:
            tool, package = tools.get(name, (None, None))
            if name in skipped:
                continue
            if tool and not shutil.which(tool, path=PATH):
                bench.note(f"{tool} is not installed: apt-get install {package}")
                skipped.append(name)
                continue
            progress(f"network: {name}")
            way = Way(bench, world, name)
            try:
                found.setdefault(name, []).append(way.measure())
            except Skip as reason:
                bench.note(f"not measured: {reason}")
                skipped.append(name)
            finally:
                way.close()
    return {name: turns for name, turns in found.items() if name not in skipped}


def report(bench, found):
    def of(name, key):
        return [number for turn in found[name] for number in turn[key]]

    def each(name, key):
        return [turn[key] for turn in found[name]]
    rows = []
    for name in found:
        cpu = each(name, "cpu")
        rows.append([name, f"{median(of(name, 'connect')) * 1e6:.0f}", f"{median(of(name, 'answer')) * 1e6:.0f}",
                     f"{quantile(of(name, 'answer'), 0.1) * 1e6:.0f}", f"{median(each(name, 'down')):.2f} / {median(each(name, 'up')):.2f}",
                     f"{median([c[0] for c in cpu]):.2f} / {median([c[1] for c in cpu]):.2f}" if cpu[0] else "-",
                     f"{median(each(name, 'idle')):.1f}" if cpu[0] else "-"])
    table("Ways out of a namespace", ["way", "connect, us", "first answer, us", "p10", "down / up, GiB/s", "forwarder, s per GiB", "KiB per idle connection"], rows)
    own = "nacre, by name"
    if own not in found:
        return
    if "pasta" in found:
        bench.result("first answer by the gateway", "pasta", ratio(median(of(own, "answer")) / median(of("pasta", "answer"))),
                     ratio(quantile(of(own, "answer"), 0.1) / quantile(of("pasta", "answer"), 0.1)))
    cpu = max(median([c[i] for c in each(own, "cpu")]) for i in (0, 1))
    idle = median(each(own, "idle"))
    bench.note(f"processor time of the gateway: {cpu:.2f} s per GiB, at most 0.3: {'kept' if cpu <= 0.3 else 'MISSED'}")
    bench.note(f"private memory of an idle connection: {idle:.2f} KiB, at most 1.5: {'kept' if idle <= 1.5 else 'MISSED'}")


def unused(bench):
    """What a command pays for a network that it does not use."""
    env = {**bench.env, "XDG_CONFIG_HOME": os.path.join(bench.work, "config")}
    bench.env, plain = env, bench.env
    commands = {f"cold, {name}": ([bench.nacre, "run", "--profile", profile, "--", "/usr/bin/true"], 1)
                for name, profile in (("`network: none`", "closed"), ("names", "named"))}
    progress("network: commands that use none")
    try:
        samples = interleaved(bench, commands, bench.rounds(200))
    finally:
        bench.env = plain
    count = bench.size(300, 5)
    for turn in range(bench.turns(7)):
        pair = [("`network: none`", "closed"), ("names", "named")]
        for name, profile in pair if turn % 2 else reversed(pair):
            began = time.monotonic_ns()
            subprocess.run([bench.nacre, "run", "--batch", "--jobs", "1", "--profile", profile], input=b'{"argv":["/usr/bin/true"]}\n' * count, env=env,
                           cwd=bench.workspace, stdout=subprocess.DEVNULL, check=True)
            samples.setdefault(f"kept, {name}", []).append((time.monotonic_ns() - began) // count)
    rows = [[name, milliseconds(median(numbers)), milliseconds(quantile(numbers, 0.1))] for name, numbers in samples.items()]
    table("A command that uses no network, ms", ["box", "median", "p10"], rows)
    for box in ("cold", "kept"):
        a, b = samples[f"{box}, names"], samples[f"{box}, `network: none`"]
        bench.result(f"no network used, names, {box}", "`network: none`", ratio(median(a) / median(b)), ratio(quantile(a, 0.1) / quantile(b, 0.1)))


def section(bench):
    sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
    from outside import SERVER, Outside, missing
    reason = missing()
    config(bench)
    unused(bench)
    if reason:
        raise Skip(f"ways out of a namespace: {reason}")
    place = os.path.join(bench.work, "outside")
    os.mkdir(place)
    world = Outside(place, {"a.test": [SERVER]})
    try:
        world.ip(world.near, f"route add default via 192.0.2.254")  # pasta and slirp4netns look for one
        world.serve(SERVER_PY, str(PORT))
        report(bench, ways(bench, world))
    finally:
        world.close()
