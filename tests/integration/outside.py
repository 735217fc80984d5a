"""An outside world of the test's own: a network namespace for nacre, another one for servers, a name server that
counts, and certificates. Nothing of the machine's network is touched or reached."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from helpers import wait_until

SERVER = "192.0.2.10"  # documentation addresses are fit: nothing real is there
HOST = "192.0.2.1"

HOLDER = r"""
import os, sys
os.write(1, b"ready\n")
sys.stdin.read()
"""

DNS = r"""
import json, socket, struct, sys
names, more = json.loads(sys.argv[1]), sys.argv[3]
log = open(sys.argv[2], "a", buffering=1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 53))
asked = {}
print("ready", flush=True)
while True:
    q, peer = s.recvfrom(1500)
    i, labels = 12, []
    while q[i]:
        labels.append(q[i + 1:i + 1 + q[i]].decode("latin1"))
        i += q[i] + 1
    name, kind = ".".join(labels).lower(), struct.unpack(">H", q[i + 1:i + 3])[0]
    log.write(name + "\n")
    if name not in names:
        with open(more) as file:
            names.update(json.load(file))
    owner, turns = None, names.get(name)
    if turns and isinstance(turns[0], list):  # another answer each time
        n = asked[name, kind] = asked.get((name, kind), -1) + 1
        addresses = turns[min(n, len(turns) - 1)]
    else:
        addresses = turns
    out = []
    while addresses and addresses[0].startswith("="):  # another name for it
        alias = b"".join(bytes([len(l)]) + l.encode() for l in addresses[0][1:].split(".")) + b"\0"
        out.append((b"\xc0\x0c" if not out else owner) + struct.pack(">HHIH", 5, 1, 5, len(alias)) + alias)
        owner, addresses = alias, names.get(addresses[0][1:])
    for a in addresses or []:
        six = ":" in a
        if kind == (28 if six else 1):
            data = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, a)
            out.append((owner if out and owner else b"\xc0\x0c") + struct.pack(">HHIH", kind, 1, 5, len(data)) + data)
    head = q[:2] + struct.pack(">HHHHH", 0x8180 | (0 if addresses is not None else 3), 1, len(out), 0, 0)
    s.sendto(head + q[12:i + 5] + b"".join(out), peer)
"""

WEB = r"""
import hashlib, http.server, ssl, sys
port, cert = int(sys.argv[1]), sys.argv[2]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def say(self, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if not self.path.startswith("/big"):
            return self.say(f"hello {self.headers.get('Host', '')} {self.path}\n")
        left = int(self.path[4:])
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        block = bytes(range(256)) * 256
        while left > 0:
            self.wfile.write(block[:left])
            left -= len(block)
    def do_PUT(self):
        left, digest = int(self.headers["Content-Length"]), hashlib.sha256()
        while left > 0:
            part = self.rfile.read(min(left, 65536))
            digest.update(part)
            left -= len(part)
        self.say(digest.hexdigest() + "\n")
    def log_message(self, *args):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True
    def handle_error(self, *args):
        pass
server = Server(("0.0.0.0", port), Handler)
if cert:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert)
    server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", flush=True)
server.serve_forever()
"""


class Outside:
    """The two namespaces and what runs in them. NAMES: name -> addresses."""

    def __init__(self, directory, names):
        self.dir = pathlib.Path(directory)
        self.names = names
        self.processes = []
        self.log = self.dir / "asked"
        self.log.touch()
        self.near = self.hold("--net", "--mount")
        self.far = self.hold("--net")
        self.ip(self.near, "link set lo up")
        self.ip(self.far, "link set lo up")
        self.ip(self.near, f"link add near type veth peer name far netns {self.far}")
        for pid, name, address in ((self.near, "near", HOST), (self.far, "far", SERVER)):
            self.ip(pid, f"addr add {address}/24 dev {name}")
            self.ip(pid, f"link set {name} up")
        resolv = self.dir / "resolv.conf"
        resolv.write_text(f"nameserver {SERVER}\n")
        os.chmod(resolv, 0o644)
        subprocess.run([*self.inside(), "mount", "--bind", str(resolv), os.path.realpath("/etc/resolv.conf")], check=True)
        self.more = self.dir / "more"
        self.more.write_text("{}")
        self.serve(DNS, json.dumps(names), str(self.log), str(self.more))

    def hold(self, *namespaces):
        process = subprocess.Popen(["unshare", *namespaces, sys.executable, "-c", HOLDER], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.processes.append(process)
        process.stdout.readline()
        return process.pid

    def ip(self, pid, words):
        subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", *words.split()], check=True)

    def inside(self, directory="/", user=None):
        """Words before a program that is to run where nacre does."""
        who = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return ["nsenter", "-t", str(self.near), "-n", "-m", f"--wd={directory}", *who]

    def serve(self, text, *arguments, near=False):
        where = self.inside() if near else ["nsenter", "-t", str(self.far), "-n"]
        process = subprocess.Popen([*where, sys.executable, "-c", text, *arguments], stdout=subprocess.PIPE)
        self.processes.append(process)
        process.stdout.readline()
        return process

    def web(self, port=80, cert="", near=False):
        return self.serve(WEB, str(port), cert, near=near)

    def start(self, words, **options):
        """A server of the far side that tells nothing when it listens."""
        process = subprocess.Popen(["nsenter", "-t", str(self.far), "-n", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def wait_for(self, port):
        """Until something on the far side listens at the port."""
        wait_until(f"port {port} is open", lambda: subprocess.run(
            [*self.inside(), sys.executable, "-c", f"import socket; socket.create_connection(('{SERVER}', {port}), 5)"], stderr=subprocess.DEVNULL).returncode == 0)

    def ssh(self, work, readable):
        """A real server for root, who comes in by WORK/key; his home is one of the test's own."""
        def run(*words):
            subprocess.run(words, check=True, capture_output=True)
        home = self.dir / "home"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        os.chmod(home, 0o700)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(work / "key"))
        os.chmod(work / "key", 0o644)
        shutil.copy(work / "key.pub", home / ".ssh" / "authorized_keys")
        os.chmod(home / ".ssh" / "authorized_keys", 0o600)
        run("dropbearkey", "-t", "ed25519", "-f", str(self.dir / "host.key"))
        passwd = self.dir / "passwd"
        passwd.write_text(f"root:x:0:0::{home}:/bin/sh\n")
        self.start(["unshare", "-m", "sh", "-c", f"mount --bind {passwd} /etc/passwd && exec dropbear -F -s -m -P '' -r {self.dir}/host.key -p 22"])
        self.wait_for(22)

    def redis(self):
        # Debian's package of tools has the server under another name: it looks at its own.
        self.start(["redis-server", "--port", "6379", "--bind", "0.0.0.0", "--protected-mode", "no", "--save", "", "--dir", str(self.dir)]
                   if shutil.which("redis-server") else
                   ["bash", "-c", f"exec -a redis-server redis-check-rdb --port 6379 --bind 0.0.0.0 --protected-mode no --save '' --dir {self.dir}"])
        self.wait_for(6379)

    def postgres(self, programs):
        data, who = self.dir / "data", ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        data.mkdir()
        shutil.chown(data, "nobody", "nogroup")
        subprocess.run([*who, f"{programs}/initdb", "-D", str(data), "-A", "trust", "-U", "tester", "-N"], check=True, capture_output=True, cwd=data)
        with open(data / "pg_hba.conf", "a", encoding="ascii") as file:
            file.write("host all all 0.0.0.0/0 trust\n")
        self.start([*who, f"{programs}/postgres", "-D", str(data), "-h", "0.0.0.0", "-k", "", "-F"], cwd=data)
        self.wait_for(5432)

    def certificates(self, *names):
        """A test authority, and one certificate for all names: its file; the authority is in ca.pem."""
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.dir)
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
                "-subj", "/CN=test authority")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj",
                f"/CN={names[0]}")
        (self.dir / "ext").write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names) + "\n")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                "server.crt", "-days", "2", "-extfile", "ext")
        both = self.dir / "server.pem"
        both.write_text((self.dir / "server.crt").read_text() + (self.dir / "server.key").read_text())
        os.chmod(self.dir / "ca.pem", 0o644)
        return str(both)

    def answer(self, names):
        """Names from now on, beside those from the beginning."""
        self.more.write_text(json.dumps({**json.loads(self.more.read_text()), **names}))

    def asked(self):
        """The names that the name server was asked for."""
        return self.log.read_text().split()

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()


class Here:
    """The machine's own network, for the one test that leaves it."""

    def inside(self, directory="/", user=None):
        who = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return ["env", f"--chdir={directory}", *who]

    def close(self):
        pass


def missing():
    """Why there can be no world of the test's own here; None: there can."""
    if os.geteuid() != 0:
        return "root: namespaces and addresses for the servers need it"
    for tool in ("unshare", "nsenter", "ip", "curl"):
        if not shutil.which(tool):
            return f"{tool}: it is not installed"
    tried = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True)
    return None if tried.returncode == 0 else "netns: not permitted here"
