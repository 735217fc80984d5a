"""Network by name: each program reaches a real server without any proxy variable, in cold, kept and session boxes, as root and as an ordinary user."""
import glob
import json
import os
import shutil
import subprocess

from helpers import DEADLINE
from outside import Here
from test_network import POLICY, NetworkTest

STATIC_C = r"""
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
	const char *text = "GET /x HTTP/1.0\r\nHost: a.test\r\n\r\n";
	struct addrinfo hint = {.ai_socktype = SOCK_STREAM}, *a;
	char bytes[4096];
	ssize_t n;
	int fd;

	if (getaddrinfo("a.test", "80", &hint, &a))
		return 1;
	fd = socket(a->ai_family, SOCK_STREAM, 0);
	if (connect(fd, a->ai_addr, a->ai_addrlen) || write(fd, text, strlen(text)) < 0)
		return 2;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		fwrite(bytes, 1, n, stdout);
	return 0;
}
"""

STATIC_GO = r"""package main

import ("io"; "net"; "os")

func main() {
	c, err := net.Dial("tcp", "a.test:80")
	if err != nil { panic(err) }
	c.Write([]byte("GET /x HTTP/1.0\r\nHost: a.test\r\n\r\n"))
	io.Copy(os.Stdout, c)
}
"""

JAVA = r"""
import java.net.*; import java.net.http.*;
public class Get {
	public static void main(String[] a) throws Exception {
		var r = HttpRequest.newBuilder(URI.create("http://a.test/x")).build();
		System.out.print(HttpClient.newHttpClient().send(r, HttpResponse.BodyHandlers.ofString()).body());
	}
}
"""

# git's own server side behind https.
GIT = r"""
import http.server, os, ssl, subprocess, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        path, _, query = self.path.partition('?')
        env = dict(os.environ, GIT_PROJECT_ROOT=sys.argv[1], GIT_HTTP_EXPORT_ALL='1', PATH_INFO=path, QUERY_STRING=query, REQUEST_METHOD=self.command,
                   CONTENT_TYPE=self.headers.get('Content-Type', ''), GIT_PROTOCOL=self.headers.get('Git-Protocol', ''),
                   HTTP_CONTENT_ENCODING=self.headers.get('Content-Encoding', ''), REMOTE_USER='t', REMOTE_ADDR='192.0.2.1',
                   GIT_CONFIG_COUNT='1', GIT_CONFIG_KEY_0='safe.directory', GIT_CONFIG_VALUE_0='*')
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        out = subprocess.run(['git', 'http-backend'], input=body, env=env, capture_output=True).stdout
        head, _, rest = out.partition(b'\r\n\r\n')
        lines = [line.split(': ', 1) for line in head.decode().split('\r\n')]
        self.send_response(int(dict(lines).get('Status', '200').split()[0]))
        for name, value in lines: self.send_header(name, value)
        self.send_header('Content-Length', str(len(rest))); self.end_headers(); self.wfile.write(rest)
    do_POST = do_GET
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(('', 8443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print('ready', flush=True)
server.serve_forever()
"""


class ProgramsTest(NetworkTest):
    POLICY = POLICY.replace('"a.test:8443"', '"a.test:8443", "a.test:22", "a.test:5432", "a.test:6379"')

    def setUp(self):
        super().setUp()
        self.give_up_after(10 * DEADLINE)
        for name in [name for name in self.env if "proxy" in name.lower()]:
            del self.env[name]

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f"{program}: it is not installed")

    def everywhere(self, rows):
        """ROWS: program -> (line, what its output has). The first command of a batch is cold, those behind it are kept."""
        for who in ("root", "user"):
            self.become(who)
            for name, (line, wanted) in rows.items():
                with self.subTest(who=who, box="cold", program=name):
                    self.assertRegex(self.says(line), wanted)
            for box, more in (("kept", {}), ("session", {"session": "s-" + who})):
                lines = ["true", *(line for line, _ in rows.values())]
                done = self.run_nacre("--batch", "--jobs", "1", input="".join(json.dumps({"command": line, **more}) + "\n" for line in lines).encode())
                results = [json.loads(line)["result"] for line in done.out.splitlines()][1:]
                self.assertEqual(len(results), len(rows))
                for (name, (_, wanted)), result in zip(rows.items(), results):
                    with self.subTest(who=who, box=box, program=name):
                        self.assertRegex(result["stdout"], wanted, result)


class Web(ProgramsTest):
    def setUp(self):
        super().setUp()
        self.outside.web(443, self.outside.certificates("a.test"))
        self.outside.web()
        shutil.copy(self.outside.dir / "ca.pem", self.work / "ca.pem")

    def test_clients(self):
        lines = {"curl": "curl -sS --cacert ca.pem https://a.test/x", "wget": "wget -qO- --ca-certificate=ca.pem https://a.test/x",
                 "python3": "python3 -c 'import ssl, urllib.request as u; print(u.urlopen(\"https://a.test/x\", context=ssl.create_default_context(cafile=\"ca.pem\")).read())'",
                 "node": "NODE_EXTRA_CA_CERTS=ca.pem node -e 'fetch(\"https://a.test/x\").then(r => r.text()).then(console.log)'",
                 "busybox": "./busybox wget -qO- http://a.test/x"}
        if shutil.which("busybox"):  # the profile has the machine's own closed
            shutil.copy(shutil.which("busybox"), self.work / "busybox")
        self.everywhere({name: (line, "hello a.test /x") for name, line in lines.items() if shutil.which(name)})

    def test_static_c(self):
        (self.dir / "static.c").write_text(STATIC_C)
        subprocess.run([os.environ.get("CC", "cc"), "-static", "-w", "-o", self.work / "static-c", self.dir / "static.c"], check=True, capture_output=True)
        self.everywhere({"static C": ("./static-c", "hello a.test /x")})

    def test_static_go(self):
        self.need("go")
        (self.dir / "static.go").write_text(STATIC_GO)
        subprocess.run(["go", "build", "-o", self.work / "static-go", self.dir / "static.go"], check=True, capture_output=True,
                       env={**os.environ, "CGO_ENABLED": "0", "GOCACHE": str(self.dir / "go-cache"), "GOTOOLCHAIN": "local", "GO111MODULE": "off"})
        self.everywhere({"static Go": ("./static-go", "hello a.test /x")})

    def test_java(self):
        self.need("java")
        modules = subprocess.run(["java", "--list-modules"], capture_output=True, text=True).stdout
        if "jdk.compiler" not in modules or "java.net.http" not in modules:
            self.skipTest("java: this runtime has no compiler for single files: default-jdk-headless is not installed")
        (self.work / "Get.java").write_text(JAVA)
        self.everywhere({"java": ("java -Xshare:auto -XX:TieredStopAtLevel=1 Get.java", "hello a.test /x")})


class Git(ProgramsTest):
    def setUp(self):
        super().setUp()
        self.need("git")
        self.site = self.outside.dir / "site"
        source = self.site / "repo"
        source.mkdir(parents=True)
        who = {f"GIT_{role}_{what}": "t@t" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first commit"]):
            subprocess.run(["git", *words], cwd=source, check=True, capture_output=True, env={**os.environ, **who, "HOME": str(self.outside.dir)})

    def test_https(self):
        self.outside.serve(GIT, str(self.site), self.outside.certificates("a.test"))
        shutil.copy(self.outside.dir / "ca.pem", self.work / "ca.pem")
        self.everywhere({"git": ("d=$(mktemp -d) && GIT_SSL_CAINFO=$PWD/ca.pem git clone -q https://a.test:8443/repo/.git $d/got && git -C $d/got log --oneline",
                                 "first commit")})

    def test_ssh(self):
        self.need("ssh", "ssh-keygen", "dropbear")
        self.outside.ssh(self.work, self.site)
        # Another key for each user: ssh takes no key that belongs to somebody else.
        ssh = "ssh -F none -i $k -o IdentitiesOnly=yes -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o LogLevel=ERROR"
        self.everywhere({"git": (f"k=$(mktemp) && cat key >$k && chmod 600 $k && d=$(mktemp -d) && "
                                 f"GIT_SSH_COMMAND=\"{ssh}\" git clone -q ssh://root@a.test{self.site}/repo $d/got && git -C $d/got log --oneline", "first commit"),
                         "ssh": (f"k=$(mktemp) && cat key >$k && chmod 600 $k && {ssh} root@a.test echo reached", "reached")})


class Databases(ProgramsTest):
    def test_psql(self):
        self.need("psql")
        bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not bins or not os.path.exists(bins[-1] + "/initdb"):
            self.skipTest("postgresql: it is not installed")
        self.outside.postgres(bins[-1])
        self.everywhere({"psql": ("psql -w -h a.test -U tester -d postgres -Atc 'select 6 * 7'", "^42$")})

    def test_redis_cli(self):
        self.need("redis-cli", "redis-check-rdb")
        self.outside.redis()
        self.everywhere({"redis-cli": ("redis-cli -h a.test set k v; redis-cli -h a.test get k", "OK\nv")})


class Names(ProgramsTest):
    def test_dig(self):
        self.need("dig")
        fake = r"^198\.1[89]\.\d+\.\d+\n"
        self.everywhere({"udp": ("dig +short a.test", fake), "tcp": ("dig +tcp +short a.test", fake),
                         "udp at 8.8.8.8": ("dig +short @8.8.8.8 a.test", fake), "tcp at 8.8.8.8": ("dig +tcp +short @8.8.8.8 a.test", fake),
                         "tcp at 2001:db8::53": ("dig +tcp +short @2001:db8::53 a.test", fake), "udp at 2001:db8::53": ("dig +short @2001:db8::53 a.test", fake),
                         "back": ("dig +short -x $(dig +short a.test)", r"^a\.test\.\n"),
                         "filtered": ("dig other.test", "status: NXDOMAIN[\\s\\S]*EDE: 17")})


class Npm(ProgramsTest):
    """The one test that leaves the machine, by npm's own client."""
    POLICY = "profile: net\ninherits: bash\nsandbox:\n  network:\n    allow: [registry.npmjs.org]\n"

    def make_outside(self):
        return Here()

    def test_install(self):
        self.need("npm")
        place = self.dir / "npm"
        place.mkdir()
        tried = subprocess.run(["npm", "view", "express", "version", "--cache", str(place / "cache"), "--fetch-retries=0", "--fetch-timeout=15000"],
                               cwd=place, capture_output=True, text=True, timeout=2 * DEADLINE)
        if tried.returncode != 0:
            self.skipTest("npm: the registry is not reached from here")
        for who in ("root", "user"):
            self.become(who)
            with self.subTest(who=who):
                line = (f"mkdir {who} && cd {who} && npm init -y >init && npm install express --registry=https://registry.npmjs.org/ --cache $PWD/cache "
                        "--no-audit --no-fund && node -e 'console.log(typeof require(\"express\"))'")
                result = self.call(line, "--timeout", "3m")
                self.assertEqual(result["exit_code"], 0, result)
                self.assertTrue(result["stdout"].endswith("function\n"), result)
                self.assertGreater(result["network"]["connections"], 0)
