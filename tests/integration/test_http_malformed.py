"""Requests that are wrong in every way a generator can think of: the server lives, and stays small.

NACRE_MALFORMED is how many (default 500; `make malformed` sends 10,000), NACRE_SEED where they begin.
"""
import json
import os
import random
import signal
import socket
import unittest

from helpers import DEADLINE, SANITIZED, fd_count, status_kb, wait_until
from serving import ServeTest

COUNT = int(os.environ.get("NACRE_MALFORMED", "500"))
SEED = int(os.environ.get("NACRE_SEED", "1"))
PATHS = ["/shell", "/v1/run", "/v1/explain", "/v1/tasks", "/v1/tasks/bash-x/output", "/v1/tasks/bash-x/stop", "/mcp",
         "/v1/audit", "/v1/approvals/ap-x", "/v1/health", "/v1/metrics", "/v1/openapi.json", "/", "/nothing"]
BODIES = [b"", b"{}", b"[", b"{", b'{"command":"pwd"}', b'{"command":["a"]}', b'{"command":"pwd","timeout":-1}', b"null", b'"x"',
          b'{"jsonrpc":"2.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
          b"[" * 5000, b'{"a":' * 3000, b"\xff\xfe", b'{"command":"\\ud800"}', b'{"command":"a\\u0000b"}',
          b'{"command":"' + b"x" * 70000 + b'"}', b'{"argv":["ls"],"env":{"A=B":"c"}}', b'{"command":"ls","command":"pwd"}']
LINES = [b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Content-Length: 0x10",
         b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Transfer-Encoding : chunked", b"Host: evil.example",
         b"Host:", b"Expect: 100-continue", b"Expect: x", b"Origin: null", b"Connection: close, keep-alive", b"Upgrade: h2c",
         b"X" * 3000 + b": y", b"Y: " + b"z" * 9000, b": empty", b"No colon at all", b" folded: x", b"\x00: x", b"A: \x00",
         b"Mcp-Session-Id: " + b"0" * 32, b"MCP-Protocol-Version: 2026-07-28", b"Mcp-Method: tools/list", b"Last-Event-ID: x",
         b"Accept: text/event-stream", b"Accept: ,,;;,", b"Authorization: Bearer x", b"Range: bytes=0-1", b"Cookie: a=b; " * 50]


class Malformed(ServeTest):
    ARGS = ("--rate", "0", "--profile", "readonly")
    BOXED = True

    def request(self, dice, token):
        method = dice.choice([b"GET", b"POST", b"POST", b"POST", b"DELETE", b"PUT", b"HEAD", b"OPTIONS", b"TRACE", b"G\x00T", b"get", b""])
        path = dice.choice(PATHS).encode() + dice.choice([b"", b"", b"", b"?", b"?since=%", b"?limit=1&limit=2", b"?a=b", b"#x", b"%00"])
        version = dice.choice([b"HTTP/1.1"] * 8 + [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.1 x", b""])
        body = dice.choice(BODIES)
        lines = [b"Host: 127.0.0.1:%d" % self.server.port, b"Authorization: Bearer " + token, b"Content-Type: application/json"]
        lines = [line for line in lines if dice.random() > 0.05]
        if dice.random() < 0.8:
            lines.append(b"Content-Length: %d" % max(0, len(body) + dice.choice([0, 0, 0, 0, 1, -1, 100])))
        else:
            lines.append(b"Transfer-Encoding: chunked")
            size = dice.choice([b"%x" % len(body), b"zz", b"-1", b"ffffffffffffffffff", b"%x;ext=1" % len(body)])
            body = size + b"\r\n" + body + dice.choice([b"\r\n0\r\n\r\n", b"\n0\n\n", b"", b"\r\n0\r\nTrailer: x\r\n\r\n"])
        for _ in range(dice.choice([0, 0, 1, 2, 3])):
            lines.insert(dice.randrange(len(lines) + 1), dice.choice(LINES))
        end = dice.choice([b"\r\n"] * 9 + [b"\n"])
        data = bytearray(method + b" " + path + b" " + version + end + end.join(lines) + end + end + body)
        for _ in range(dice.choice([0, 0, 0, 1, 3, 20])):
            at = dice.randrange(len(data) or 1)
            what = dice.random()
            if what < 0.4 and data:
                data[at % len(data)] = dice.randrange(256)
            elif what < 0.7:
                del data[at:at + dice.randrange(1, 9)]
            else:
                data[at:at] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 9)))
        if dice.random() < 0.1:
            data = data[:dice.randrange(len(data) + 1)]
        return bytes(data)

    def send(self, data):
        """What comes back; the client closes its side at once, or leaves in the middle."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE) as sock:
            got = b""
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                while True:
                    more = sock.recv(65536)
                    if not more:
                        break
                    got += more
            except OSError as error:  # it may have closed already; but it must not keep us waiting
                self.assertNotIsInstance(error, TimeoutError, data)
            return got

    def test_the_server_lives_and_stays_small(self):
        token = self.token().encode()
        self.give_up_after(2 * DEADLINE + COUNT // 5)
        dice = random.Random(SEED)
        self.post("/shell", {"command": "pwd"})  # what is allocated and opened once
        for _ in range(min(100, COUNT)):
            self.send(self.request(dice, token))
        before, descriptors = status_kb(self.server.pid, "VmRSS"), fd_count(self.server.pid)
        for number in range(COUNT):
            data = self.request(dice, token)
            got = self.send(data)
            if got:
                self.assertRegex(got[:20], rb"^HTTP/1\.[01] [1-5]\d\d", (SEED, number, data))
                self.assertNotIn(b" 500 ", got.split(b"\r\n")[0], (SEED, number, data))
            self.assertIsNone(self.server.poll(), (SEED, number, data))
        wait_until("all is quiet", lambda: "\nnacre_running 0\n" in self.get("/v1/metrics").body.decode())
        wait_until("no request is under way but this", lambda: "\nnacre_streams 1\n" in self.get("/v1/metrics").body.decode())
        wait_until("no descriptor is left", lambda: fd_count(self.server.pid) <= descriptors + 2)
        if not SANITIZED:
            self.assertLess(status_kb(self.server.pid, "VmRSS") - before, 2048)
        self.assertTrue(json.loads(self.post("/shell", {"command": "pwd"}).body)["success"])


if __name__ == "__main__":
    unittest.main()
