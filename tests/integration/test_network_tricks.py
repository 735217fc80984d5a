"""Network by name: tricks that a program might try on the gateway, each against a real server that would fall for it."""
import shutil
import subprocess

from helpers import DEADLINE, wait_until
from outside import SERVER
from test_network import NAMES, POLICY, NetworkTest

# A TLS server that notes each name it is asked for, and wants another key share than clients offer: they say hello twice.
TWICE = r"""
import socket, ssl, sys, threading
log = open(sys.argv[2], 'a', buffering=1)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
context.set_ecdh_curve('secp384r1')
context.sni_callback = lambda s, name, c: log.write(str(name) + '\n') and None
def one(c):
    try:
        c = context.wrap_socket(c, server_side=True); log.write('opened\n'); c.recv(4096); c.sendall(b'HTTP/1.0 200 OK\r\n\r\nhello tls\n'); c.close()
    except OSError as e: log.write('ended\n')
s = socket.create_server(('', 443))
print('ready', flush=True)
while True: threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()
"""

# Its second hello has another name: of the same length, so that nothing else changes.
SECOND_HELLO = r"""
import socket, ssl, sys
context = ssl.create_default_context(cafile='ca.pem')
inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = context.wrap_bio(inward, outward, server_hostname='a.test')
s = socket.create_connection(('a.test', 443), 20)
hellos = 0
while True:
    try:
        tls.do_handshake(); break
    except ssl.SSLWantReadError: pass
    except ssl.SSLError as e: print('failed', e); break
    out = outward.read()
    if out:
        hellos += 1
        if hellos == 2:
            out = out.replace(b'a.test', b'b.test')
            if sys.argv[1] == 'one': # byte by byte
                for i in range(len(out)): s.sendall(out[i:i + 1])
                out = b''
        s.sendall(out)
    try: data = s.recv(65536)
    except OSError as e: print('failed', e); break
    if not data: print('closed'); break
    inward.write(data)
print('hellos', hellos)
"""


class Tls(NetworkTest):
    def setUp(self):
        super().setUp()
        self.seen = self.dir / "seen"
        self.seen.touch()
        self.outside.serve(TWICE, self.outside.certificates("a.test", "b.test"), str(self.seen))
        shutil.copy(self.outside.dir / "ca.pem", self.work / "ca.pem")
        (self.work / "second.py").write_text(SECOND_HELLO)

    def test_a_second_hello_has_the_same_name(self):
        # The server takes the name of the second hello, so this is a way to another host of the same server.
        direct = SECOND_HELLO.replace("'a.test', 443", f"'{SERVER}', 443")
        subprocess.run([*self.outside.inside(self.work), "python3", "-c", direct, "all"], capture_output=True, timeout=DEADLINE, check=True)
        wait_until("the control reaches the other name", lambda: self.seen.read_text().split()[-1:] == ["ended"])
        self.assertEqual(self.seen.read_text().split()[:2], ["a.test", "b.test"], "the control")
        for who in ("root", "user"):
            self.become(who)
            for how in ("all", "one"):
                with self.subTest(who=who, how=how):
                    self.seen.write_text("")
                    result = self.call(f"python3 second.py {how}")
                    self.assertIn("hellos 2", result["stdout"], result)
                    self.assertNotIn("b.test", self.seen.read_text())
                    self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["sni"], result)

    def test_honest_clients_may_say_hello_twice(self):
        self.assertIn("hello tls", self.says("curl -sS --http0.9 --cacert ca.pem https://a.test/"))
        self.assertEqual(self.seen.read_text().split()[:3], ["a.test", "a.test", "opened"])
        self.assertIn("hello tls", self.says("curl -sS --cacert ca.pem --tls-max 1.2 https://a.test/"))


class Names(NetworkTest):
    """Other spellings of a name, and names that stand for others."""
    LONG = ".".join(["l" * 60] * 4) + ".test"
    POLICY = POLICY.replace("allow: [", f"allow: [alias.test, chain.test, trap.test, deep.test, round.test, xn--bcher-kva.test, {LONG}, ")

    def setUp(self):
        # The chain ends at a server, the trap at a private address, the round nowhere.
        NAMES.update({"alias.test": ["=other.test"], "other.test": [SERVER], "chain.test": ["=c1.test"], "c1.test": ["=c2.test"], "c2.test": [SERVER],
                      "trap.test": ["=t1.test"], "t1.test": ["=metadata.test"], "deep.test": ["=t2.test"], "t2.test": [SERVER, "10.0.0.7"],
                      "round.test": ["=r1.test"], "r1.test": [], "xn--bcher-kva.test": [SERVER], self.LONG: [SERVER]})
        super().setUp()
        self.outside.web()

    def test_names_that_stand_for_others(self):
        for who in ("root", "user"):
            self.become(who)
            with self.subTest(who=who):
                for name in ("alias.test", "chain.test"):
                    self.assertIn(f"hello {name} /x", self.says(f"curl -sS --max-time 20 http://{name}/x"))
                result = self.call("for n in trap deep round other t2; do curl -sS --max-time 20 http://$n.test/x; done")
                self.assertNotIn("hello", result["stdout"], result)
                self.assertEqual({r["name"]: r["reason"] for r in result["network"]["refused"]},
                                 {"trap.test": "private", "deep.test": "private", "other.test": "not-allowed", "t2.test": "not-allowed"}, result)

    def test_spellings(self):
        for name, wanted in (("A.TeSt", "hello"), ("a.test.", "hello"), ("A.TEST.", "hello"), ("xn--bcher-kva.test", "hello"), ("XN--BCHER-KVA.test", "hello"),
                             (self.LONG, "hello"), ("a.test..", ""), ("a..test", ""), ("denied.test.", ""), ("DENIED.TEST", ""), ("evila.test", ""),
                             ("a.test.evil.test", ""), ("x" + self.LONG, ""), ("a%2etest", "hello"), ("a\u3002test.evil", ""), ("\uff41.test.evil", "")):
            with self.subTest(name=name):
                self.assertEqual(wanted, "hello" if "hello" in self.call(f"curl -sS --max-time 20 'http://{name}/x'")["stdout"] else "")

    def test_the_environment_is_no_way_out(self):
        """An allowed host as a proxy for another, by the variables that programs look at."""
        seen = self.dir / "seen"
        seen.touch()
        self.outside.serve("import socket, sys, threading\nlog = open(sys.argv[1], 'ab', buffering=0)\n"
                           "def one(c):\n    try:\n        while (d := c.recv(4096)): log.write(d)\n    except OSError: pass\n"
                           "s = socket.create_server(('', 8443))\nprint('ready', flush=True)\n"
                           "while True: threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()", str(seen))
        for variable, proxy, url in (("http_proxy", "http://a.test:8443", "http://evil.test/"), ("https_proxy", "http://a.test:8443", "https://evil.test/"),
                                     ("ALL_PROXY", "socks5h://a.test:8443", "http://evil.test/"), ("ALL_PROXY", "socks4a://a.test:8443", "http://evil.test/")):
            with self.subTest(variable=variable, proxy=proxy):
                result = self.call(f"{variable}={proxy} curl -fsS --max-time 20 {url}")
                self.assertNotEqual(result["exit_code"], 0)
                self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["proxy"], result)
        self.assertNotIn(b"evil.test HTTP/1.1\r\n\r\n", seen.read_bytes())


class Preface(NetworkTest):
    def test_a_line_in_front_of_a_request(self):
        """A server behind a balancer takes the client's address from the PROXY protocol, and then any host."""
        self.outside.serve("import socket, threading\ndef one(c):\n    f = c.makefile('rb')\n    try: line = f.readline()\n    except OSError: return\n"
                           "    if line.startswith(b'PROXY '): line = f.readline()\n"
                           "    host = b''\n    while (h := f.readline()).strip():\n        if h.lower().startswith(b'host:'): host = h[5:].strip()\n"
                           "    c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\nsite ' + host); c.close()\n"
                           "s = socket.create_server(('', 80))\nprint('ready', flush=True)\n"
                           "while True: threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()")
        get = ("import socket, sys; s = socket.create_connection((sys.argv[1], 80), 20); "
               "s.sendall(b'PROXY TCP4 192.0.2.1 192.0.2.2 1 80\\r\\nGET / HTTP/1.0\\r\\nHost: evil.test\\r\\n\\r\\n'); print(s.makefile().read())")
        control = subprocess.run([*self.outside.inside(), "python3", "-c", get, SERVER], capture_output=True, text=True, timeout=DEADLINE)
        self.assertIn("site evil.test", control.stdout, "the control")
        (self.work / "get.py").write_text(get)
        result = self.call("python3 get.py a.test")
        self.assertNotIn("site", result["stdout"], result)
        self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["proxy"], result)
