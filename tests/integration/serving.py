"""A `nacre serve` of its own for a test, and a client that shows what goes over the wire."""
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import time

import openapi
from helpers import DEADLINE, NACRE, NacreTest, wait_until


class Unix(http.client.HTTPConnection):
    def __init__(self, path, timeout=DEADLINE):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:500]!r}"


class Events:
    """A stream of events over a socket of its own."""

    def __init__(self, connection, response, check):
        self.connection, self.response, self.check = connection, response, check
        self.status, self.headers = response.status, response.headers

    def __iter__(self):
        event = {}
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if not line:
                if event:
                    yield event
                event = {}
            elif line.startswith(":"):
                yield {"comment": line}
            else:
                key, _, value = line.partition(": ")
                event[key] = value

    def next(self, name=None):
        for event in self:
            if "comment" in event or (name and event.get("event") != name):
                continue
            if "data" in event:
                event["json"] = json.loads(event["data"])
                self.check(event["event"], event["json"])
            return event
        return None

    def close(self):
        self.response.close()
        self.connection.close()


class ServeTest(NacreTest):
    """BOXED or not, as NacreTest; ARGS are further options of the server."""

    ARGS = ()
    TCP = True
    document = None  # the same for all servers

    def setUp(self):
        super().setUp()
        self.servers = []
        self.server = self.serve()

    def serve(self, *args, unix=None, ready=True, env=None, **options):
        """Starts a server and waits until it listens."""
        path = str(unix or self.dir / "s.sock")
        command = [NACRE, "serve", "--unix", path, *(["--listen", "127.0.0.1:0"] if self.TCP else []),
                   "--workspace", str(self.work), *self.ARGS, *args]
        options.setdefault("stdin", subprocess.DEVNULL)
        popen = subprocess.Popen(command, env={**self.env, **(env or {})}, cwd=self.work,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
        self.started.append(popen)
        popen.unix, popen.port, popen.log = path, None, b""
        os.set_blocking(popen.stderr.fileno(), False)
        self.addCleanup(self.stop_server, popen)
        if ready:
            wanted = 2 if self.TCP else 1
            wait_until("the server listens", lambda: self.read_log(popen).count(b"listening on") >= wanted or popen.poll() is not None)
            self.assertIsNone(popen.poll(), popen.log)
            for line in popen.log.decode().splitlines():
                if "listening on http://" in line:
                    popen.port = int(line.rsplit(":", 1)[1])
        return popen

    def read_log(self, popen):
        if popen.stderr.closed:
            return popen.log
        while select.select([popen.stderr], [], [], 0)[0]:
            more = popen.stderr.read()
            if not more:
                break
            popen.log += more
        return popen.log

    def stop_server(self, popen, number=signal.SIGTERM):
        if popen.poll() is None:
            popen.send_signal(number)
        popen.wait(DEADLINE)
        self.read_log(popen)

    def token(self):
        return (self.state / "token").read_text().strip()

    def make_token(self, name, *args):
        done = subprocess.run([NACRE, "token", "create", name, *args], env=self.env, cwd=self.work,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode().strip()

    def connect(self, server=None, unix=False, timeout=DEADLINE):
        server = server or self.server
        if unix or not server.port:
            return Unix(server.unix, timeout)
        return http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)

    def ask(self, method, path, body=None, token="", unix=False, headers=None, server=None,
            connection=None):
        """One request; body is JSON unless bytes. token: None for none, "" for the default one."""
        own = connection is None
        connection = connection or self.connect(server, unix)
        head = dict(headers or {})
        if not unix and token is not None:
            head.setdefault("Authorization", f"Bearer {token or self.token()}")
        elif unix and token:
            head.setdefault("Authorization", f"Bearer {token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            head.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body=body, headers=head)
            answer = Answer(connection.getresponse())
            self.check_answer(method, path, answer)
            return answer
        finally:
            if own:
                connection.close()

    def check_answer(self, method, path, answer):
        """Every answer of every test is one that the document tells of, and so is every event."""
        wrong = self.interface().check(method, path, answer.status, answer.headers["Content-Type"], answer.body)
        self.assertEqual(wrong, [], (method, path, answer))

    def interface(self):
        if not ServeTest.document:
            connection = Unix(self.server.unix)
            connection.request("GET", "/v1/openapi.json")
            ServeTest.document = openapi.Document(json.loads(connection.getresponse().read()))
            connection.close()
        return ServeTest.document

    def post(self, path, body, **options):
        return self.ask("POST", path, body, **options)

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def run_command(self, command, **members):
        """POST /v1/run; the result object."""
        options = {key: members.pop(key) for key in ("token", "unix", "server") if key in members}
        answer = self.post("/v1/run", {"command": command, **members}, **options)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def stream(self, method, path, body=None, token="", unix=False, headers=None, server=None):
        connection = self.connect(server, unix)
        head = {"Accept": "text/event-stream", **(headers or {})}
        if not unix:
            head["Authorization"] = f"Bearer {token or self.token()}"
        if body is not None:
            body = json.dumps(body).encode()
            head["Content-Type"] = "application/json"
        connection.request(method, path, body=body, headers=head)
        events = Events(connection, connection.getresponse(), lambda name, value: self.assertEqual(
            self.interface().check_event(method, path, name, value), []))
        self.addCleanup(events.close)
        return events

    def raw(self, data, unix=False, timeout=DEADLINE, half=False):
        """Bytes as they are; what comes back until the end, or until nothing comes any more."""
        if unix:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.connect(self.server.unix)
        else:
            sock = socket.create_connection(("127.0.0.1", self.server.port))
        sock.settimeout(timeout)
        got = b""
        try:
            sock.sendall(data)
            if half:
                sock.shutdown(socket.SHUT_WR)
            while True:
                more = sock.recv(65536)
                if not more:
                    break
                got += more
        except (ConnectionError, socket.timeout):
            pass
        finally:
            sock.close()
        return got

    def wait_gone(self, seconds=DEADLINE):
        """Nothing runs any more but the server, its launcher and what stands by."""
        def quiet():
            answer = self.get("/v1/metrics").body.decode()
            return "\nnacre_running 0\n" in answer
        wait_until("no command runs", quiet, seconds)


def now():
    return time.monotonic()
