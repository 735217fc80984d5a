"""Network by name, when clients, servers and processes misbehave: nothing is mixed up, lost, held for ever or let through."""
import json
import os
import signal

from helpers import DEADLINE, descendants, wait_until
from outside import HOST, SERVER
from test_network import POLICY, NetworkTest

# One server for all ports: what it does is the name of the function.
TALK = r"""
import hashlib, socket, sys, threading
def banner(c):  # speaks first, then once more after a line
    c.sendall(b'220 ready\r\n')
    c.sendall(b'250 ' + c.recv(100))
def word(c):  # answers one word that has no end
    c.sendall(b'pong ' + c.recv(100))
    c.recv(1)
def digest(c):  # reads to the end, then answers: needs a half-closed client
    h = hashlib.sha256()
    while (d := c.recv(65536)): h.update(d)
    c.sendall(h.hexdigest().encode())
def early(c):  # ends its own half at once, and tells what came later
    c.sendall(b'bye'); c.shutdown(socket.SHUT_WR)
    got = b''
    while (d := c.recv(65536)): got += d
    open(sys.argv[3], 'wb').write(got)
def ok(c):
    c.sendall(b'k'); c.recv(1)
def one(c, f):
    try:
        with c: f(c)
    except OSError: pass
s = socket.create_server(('', int(sys.argv[1])), backlog=2048)
print('ready', flush=True)
while True: threading.Thread(target=one, args=(s.accept()[0], globals()[sys.argv[2]]), daemon=True).start()
"""

# Servers that take the end of the connection for the end of the head.
LENIENT = r"""
import http.server, sys
log = open(sys.argv[1], 'a', buffering=1)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        log.write(self.headers.get('Host', '') + ' ' + self.path + '\n')
        self.send_response(200); self.end_headers(); self.wfile.write(b'hello')
    def log_message(self, *args): pass
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    def handle_error(self, *args): pass
s = Server(('', 80), Handler)
print('ready', flush=True)
s.serve_forever()
"""

MANY = r"""
import resource, select, socket, sys
count = int(sys.argv[1])
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
address = socket.gethostbyname('a.test')
socks = {}
for _ in range(count):
    s = socket.socket(); s.setblocking(False); s.connect_ex((address, 80)); socks[s.fileno()] = s
waits, got, poll = dict(socks), 0, select.poll()
for fd in waits: poll.register(fd, select.POLLIN)
while waits:
    ready = poll.poll(30000)
    if not ready: break
    for fd, _ in ready:
        try: got += waits[fd].recv(1) == b'k'
        except OSError as e: print(e)
        poll.unregister(fd); del waits[fd]
print(got)
"""

MIX = r"""
import hashlib, random, socket, struct, threading
block = bytes(range(256)) * 256
wanted, size = hashlib.sha256(block * 8).hexdigest(), len(block) * 8
address, bad, lock, start = socket.gethostbyname('a.test'), [], threading.Lock(), threading.Barrier(400)
def connect():
    start.wait(60)
    s = socket.create_connection((address, 80), 60); s.settimeout(120); return s
def head(method, path, length=0):
    return f'{method} {path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n'.encode()
def body(s):
    data = b''
    while (part := s.recv(65536)): data += part
    return data.split(b'\r\n\r\n', 1)[1]
def wrong(n, what):
    with lock: bad.append((n, what))
def get(n):
    s = connect(); s.sendall(head('GET', f'/big{size}')); b = body(s)
    if hashlib.sha256(b).hexdigest() != wanted: wrong(n, len(b))
def put(n):
    s = connect(); s.sendall(head('PUT', '/', size)); s.sendall(block * 8); b = body(s)
    if b.decode().strip() != wanted: wrong(n, b)
def reset(n):
    s = connect()
    if n % 2: s.sendall(head('GET', f'/big{size}')); s.recv(random.randrange(1, 200000))
    else: s.sendall(head('PUT', '/', size) + random.randbytes(random.randrange(1, 200000)))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close()
def guarded(f, n):
    try: f(n)
    except Exception as e:
        if f is not reset: wrong(n, repr(e))
threading.stack_size(262144)
ts = [threading.Thread(target=guarded, args=(f, i)) for i in range(100) for f in (get, reset, put, reset)]
[t.start() for t in ts]; [t.join() for t in ts]
print(bad)
"""


class FirstBytes(NetworkTest):
    POLICY = POLICY.replace('"a.test:8443"', '"a.test:8443", "a.test:7", "a.test:25", "a.test:26", "a.test:27"')

    def talk(self, port, what, *more):
        return self.outside.serve(TALK, str(port), what, *more)

    def python(self, text, *options):
        (self.work / "client.py").write_text("import hashlib, socket, sys, time\n"
                                             "def to(port):\n    s = socket.create_connection(('a.test', port), 60); s.settimeout(60); return s\n"
                                             "def rest(s):\n    data = b''\n    while (d := s.recv(65536)): data += d\n    return data\n" + text)
        return self.says("python3 client.py", *options)

    def test_a_server_may_speak_first(self):
        self.talk(25, "banner")
        self.assertEqual(self.python("s = to(25)\nprint(s.recv(100)); s.sendall(b'EHLO x\\r\\n'); print(s.recv(100))"),
                         "b'220 ready\\r\\n'\nb'250 EHLO x\\r\\n'\n")

    def test_one_word_is_not_held_back(self):
        self.talk(7, "word")
        for text in (b"PING", b"\x16", b"G", b"\x05"):
            with self.subTest(text=text):
                self.assertEqual(self.python(f"s = to(7); s.sendall({text!r}); print(s.recv(100))"), f"{b'pong ' + text!r}\n")

    def test_each_side_may_end_its_half_first(self):
        seen = self.dir / "later"
        self.talk(26, "digest")
        self.talk(27, "early", str(seen))
        text = self.python("data = bytes(range(256)) * 4096\ns = to(26); s.sendall(data); s.shutdown(socket.SHUT_WR)\n"
                           "print(rest(s).decode() == hashlib.sha256(data).hexdigest())\n"
                           "s = to(27); print(rest(s)); s.sendall(b'line\\n' * 60000); s.close()")
        self.assertEqual(text, "True\nb'bye'\n")
        wait_until("what came later", lambda: seen.exists() and seen.stat().st_size == 300000)

    def test_a_hello_byte_by_byte_is_still_read(self):
        cert = self.outside.certificates("a.test", "evil.test")
        self.outside.web(443, cert)
        text = self.python(
            "import ssl\n"
            "def attempt(name):\n"
            "    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE\n"
            "    come, go = ssl.MemoryBIO(), ssl.MemoryBIO(); o = context.wrap_bio(come, go, server_hostname=name)\n"
            "    s = to(443); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
            "    while True:\n"
            "        try: o.do_handshake(); break\n"
            "        except ssl.SSLWantReadError: pass\n"
            "        for byte in go.read(): s.send(bytes([byte]))\n"
            "        data = s.recv(65536)\n"
            "        if not data: raise OSError('ended')\n"
            "        come.write(data)\n"
            "    s.sendall(go.read()); o.write(b'GET /slow HTTP/1.0\\r\\nHost: a.test\\r\\n\\r\\n'); s.sendall(go.read())\n"
            "    while True:\n"
            "        try: return o.read(200).split(b'\\r\\n')[0]\n"
            "        except ssl.SSLWantReadError: come.write(s.recv(65536))\n"
            "print(attempt('a.test'))\n"
            "try: print(attempt('evil.test'))\n"
            "except (OSError, ssl.SSLError) as e: print('refused' if 'access denied' in str(e).lower() or isinstance(e, OSError) else e)")
        self.assertEqual(text, "b'HTTP/1.1 200 OK'\nrefused\n")

    def test_heads_of_nearly_and_more_than_16_kib(self):
        self.outside.web()
        text = self.python("def ask(n):\n"
                           "    h = b'GET /long HTTP/1.1\\r\\nHost: a.test\\r\\nConnection: close\\r\\n'\n"
                           "    for i in range(n): h += b'X-%d: ' % i + b'y' * 1000 + b'\\r\\n'\n"
                           "    s = to(80); s.sendall(h + b'\\r\\n')\n"
                           "    try: return rest(s).split(b'\\r\\n')[0]\n"
                           "    except ConnectionResetError: return 'reset'\n"
                           "print(ask(15)); print(ask(17))")
        first, second = text.splitlines()
        self.assertEqual(first, "b'HTTP/1.1 200 OK'")
        self.assertNotIn("200", second)

    def test_a_head_for_another_host_never_ends_at_the_server(self):
        """A server may take the end of the connection for the end of the head, so that must not reach it either."""
        log = self.dir / "requests"
        log.touch()
        self.outside.serve(LENIENT, str(log))
        self.python(
            "import struct\n"
            "def slow(data, half):\n"
            "    s = to(80); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
            "    for i in range(len(data)):\n"
            "        try: s.send(data[i:i + 1])\n"
            "        except OSError: return\n"
            "        time.sleep(0.002)\n"
            "    try:\n"
            "        if half: s.shutdown(socket.SHUT_WR)\n"
            "        rest(s)\n"
            "    except OSError: pass\n"
            "slow(b'GET /slow HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n', False)\n"
            "slow(b'GET /half HTTP/1.1\\r\\nHost: evil.test\\r\\n', True)\n"
            "slow(b'GET /unended HTTP/1.1\\r\\nHost: evil.test', True)\n"
            "slow(b'GET /absolute HTTP/1.1\\r\\nHost: a.test\\r\\nHost: evil.test\\r\\n', True)\n"
            "slow(b'GET /good HTTP/1.1\\r\\nHost: a.test\\r\\n', True)\n"
            "slow(b'GET /last HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n', False)")
        wait_until("the last request", lambda: "/last" in log.read_text())
        self.assertEqual(log.read_text(), "a.test /good\na.test /last\n")
        self.assertEqual([r["reason"] for r in self.records("network") if r["verdict"] == "deny"], ["host"] * 4)


class Crowd(NetworkTest):
    def test_a_thousand_at_once_are_all_answered(self):
        """The word for each of them to go on must not be lost, however many there are."""
        self.outside.serve(TALK, "80", "ok")
        (self.work / "many.py").write_text(MANY)
        self.give_up_after(6 * DEADLINE)
        result = self.call("python3 many.py 1000", "--timeout", "3m")
        self.assertEqual(result["stdout"], "1000\n", result)
        self.assertEqual(result["network"]["connections"], 1000)

    def test_200_resets_beside_200_that_compare(self):
        self.outside.web()
        (self.work / "mix.py").write_text(MIX)
        self.give_up_after(6 * DEADLINE)
        self.assertEqual(self.says("python3 mix.py", "--timeout", "5m"), "[]\n")


RANGES = [("0.0.0.0", "0.255.255.255"), ("10.0.0.0", "10.255.255.255"), ("100.64.0.0", "100.127.255.255"),
          ("127.0.0.0", "127.255.255.255"), ("169.254.0.0", "169.254.255.255"), ("172.16.0.0", "172.31.255.255"),
          ("192.0.0.0", "192.0.0.255"), ("192.168.0.0", "192.168.255.255"), ("198.18.0.0", "198.19.255.255"),
          ("224.0.0.0", "239.255.255.255"), ("240.0.0.0", "255.255.255.255"), ("::", "::1"), ("::2", "::ffff:ffff"),
          ("::ffff:0.0.0.0", "::ffff:255.255.255.255"), ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
          ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
          ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"),
          ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"), ("64:ff9b::10.0.0.0", "64:ff9b::10.255.255.255"),
          ("64:ff9b::127.0.0.0", "64:ff9b::127.255.255.255"), ("2002:a00::", "2002:aff:ffff:ffff:ffff:ffff:ffff:ffff"),
          ("2002:7f00::", "2002:7fff:ffff:ffff:ffff:ffff:ffff:ffff"), ("168.63.129.16", "100.100.100.200"),
          ("fd00:ec2::254", "fd20:ce::254"), ("64:ff9b:2::", "1fff::1"), ("4000::", "fbff::1")]
FIT = ["1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
       "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.167.255.255", "192.169.0.0",
       "198.17.255.255", "198.20.0.0", "223.255.255.255", "2001:1::", "2003::", "64:ff9b::8.8.8.8", "2002:808:808::", "3fff:ffff::1"]


class Unfit(NetworkTest):
    POLICY = 'profile: net\ninherits: bash\nsandbox:\n  network:\n    allow: ["*.range.test"]\n'

    def test_every_range_from_its_first_to_its_last_address(self):
        unfit = [address for both in RANGES for address in both]
        rows = {f"{kind}{i}.range.test": address for kind, list_ in (("bad", unfit), ("good", FIT)) for i, address in enumerate(list_)}
        self.outside.answer({name: [address] for name, address in rows.items()})
        self.outside.answer({"mixed0.range.test": [SERVER, "10.0.0.1"], "mixed1.range.test": [SERVER, "fd00::1"], "own.range.test": [HOST]})
        (self.work / "all.py").write_text(
            "import socket, sys\nfor name in sys.stdin.read().split():\n"
            "    try:\n        s = socket.create_connection((name, 80), 30); s.sendall(b'x'); s.recv(10)\n    except OSError: pass\n")
        names = [*rows, "mixed0.range.test", "mixed1.range.test", "own.range.test"]
        self.give_up_after(6 * DEADLINE)
        self.says("python3 all.py <<'E'\n" + "\n".join(names) + "\nE", "--timeout", "3m")
        seen = {}
        for record in self.records("network"):
            seen.setdefault(record["name"], record)
        for name in names:
            record = seen.get(name, {})
            with self.subTest(address=rows.get(name, name)):
                if name.startswith("good"):
                    self.assertEqual(record.get("verdict"), "allow", record)
                else:
                    self.assertEqual((record.get("verdict"), record.get("reason")), ("deny", "private"), record)


class Silence(NetworkTest):
    """A name server that counts: nothing leaves for names that are refused, or that nobody has answered for."""

    def test_no_query_leaves(self):
        (self.work / "ask.py").write_text(
            "import socket, struct\n"
            "for name in ('other.test', 'denied.test', 'x.denied.test', 'c2VjcmV0.evil.test', 'b.test', 'y.ask.test', 'evila.test', 'a.test.evil.test',\n"
            "             'a.a.test', 'test', 'localhost', 'x.localhost', 'host.nacre', '9.2.0.192.in-addr.arpa'):\n"
            "    for kind in (1, 28, 16, 15, 33, 65, 12, 255, 252):\n"
            "        q = struct.pack('>6H', 7, 256, 1, 0, 0, 0) + b''.join(bytes([len(l)]) + l.encode() for l in name.split('.')) + struct.pack('>BHH', 0, kind, 1)\n"
            "        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10); s.sendto(q, ('8.8.8.8', 53)); s.recv(600)\n"
            "print('asked')\n")
        self.assertEqual(self.says("python3 ask.py; curl -fsS --max-time 20 http://b.test/ || curl -fsS --max-time 20 http://y.ask.test/ || true"), "asked\n")
        self.assertEqual(self.outside.asked(), [])
        self.call("curl -sS --max-time 20 http://missing.test/")  # the control: one that is allowed is asked for
        self.assertIn("missing.test", self.outside.asked())


class Death(NetworkTest):
    """kill -9 of each process in turn, with a connection open: nothing hangs, and the log tells of every connection's end or of a break."""

    def setUp(self):
        super().setUp()
        self.outside.serve("import socket\ns = socket.create_server(('', 80))\nprint('ready', flush=True)\nkeep = []\n"
                           "while True:\n    c, _ = s.accept(); keep.append(c); c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\nx')\n")

    def connected(self, *options):
        part = self.work / "part"
        part.unlink(missing_ok=True)
        popen = self.start("--json", "--timeout", "2m", *options, "-c", "curl -sSN --max-time 90 http://a.test/ >part; echo $?")
        wait_until("it is connected", lambda: part.exists() and part.stat().st_size > 0, 2 * DEADLINE)
        return popen

    def kill(self, name):
        found = [p for p in descendants() if p.name == name]
        self.assertTrue(found, [p.name for p in descendants()])
        for process in found:
            os.kill(process.pid, signal.SIGKILL)

    def expect_ends(self):
        """Each connection has an end; or the task's own record says that it was cut off."""
        ended = [r.get("task_id") for r in self.records("network-ended")]
        broken = [r["task_id"] for r in self.records("ended") if r.get("end") in ("lost", "unknown", "broken")]
        for record in self.records("network"):
            if record["verdict"] == "allow":
                self.assertTrue(record["task_id"] in ended or record["task_id"] in broken,
                                (record, self.records("network-ended"), self.records("ended")))

    def test_gateway_and_gate(self):
        for who in ("root", "user"):
            self.become(who)
            for name in ("nacre-gateway", "nacre-gate"):
                for options in ((), ("--session", "s" + name + who)):
                    with self.subTest(who=who, killed=name, options=options):
                        popen = self.connected(*options)
                        self.kill(name)
                        result = json.loads(self.finish(popen).out)
                        self.assertIn(result["stdout"], ("56\n", "18\n"), result)
                        self.expect_ends()

    def test_keeper(self):
        for who in ("root", "user"):
            self.become(who)
            with self.subTest(who=who):
                popen = self.connected()
                self.kill("nacre-keeper")
                self.finish(popen)
                wait_until("gate and gateway have ended", lambda: not [p for p in descendants() if p.name.startswith("nacre-g")])
                self.call("true")  # the next command settles what was left
                self.expect_ends()

    def test_launcher(self):
        for who in ("root", "user"):
            self.become(who)
            with self.subTest(who=who):
                self.call("true", "--session", "l" + who)
                wait_until("one stays", lambda: [p for p in descendants() if p.name == "nacre-launcher"])
                popen = self.connected("--session", "l" + who)
                self.kill("nacre-launcher")
                wait_until("it has ended", lambda: not [p for p in descendants() if p.name == "nacre-launcher"])
                self.assertIsNone(popen.poll(), "the command goes on without it")
                self.kill("nacre-gateway")
                self.assertIn(json.loads(self.finish(popen).out)["stdout"], ("56\n", "18\n"))
                self.expect_ends()
                self.assertEqual(self.says("echo again", "--session", "l" + who), "again\n")
