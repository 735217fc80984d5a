"""Network by name: tricks that a program might try on the gateway, each against a real server that would fall for it."""
import shutil
import subprocess

from helpers import DEADLINE, wait_until
from outside import SERVER
from test_network import NetworkTest

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
