"""Network by name: each program reaches a real server without any proxy variable, in cold, kept and session boxes, as root and as an ordinary user."""
import base64
import glob
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile

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


SITE = r"""
import functools, http.server, ssl, sys, threading
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
servers = [http.server.ThreadingHTTPServer(('', port), functools.partial(Handler, directory=sys.argv[1])) for port in (80, 443)]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(sys.argv[2])
servers[1].socket = context.wrap_socket(servers[1].socket, server_side=True)
threading.Thread(target=servers[0].serve_forever, daemon=True).start()
print('ready', flush=True)
servers[1].serve_forever()
"""


class Packages(ProgramsTest):
    """Package managers and a registry of the test's own, each with one package. Nothing is configured but what the operator's files
    name as registries (@packages)."""
    POLICY = "profile: net\ninherits: bash\nsandbox: {network: {allow: ['@packages']}}\n"
    PIP = "/usr/bin/python3 -m pip --disable-pip-version-check --no-cache-dir download -q --no-deps -d $d --cert ca.pem"
    NPM = "npm install --prefix $d demo --cafile ca.pem --cache $d/cache --no-audit --no-fund --no-update-notifier"
    # A package manager's own files lie in the workspace, and it need not become another user.
    APT = ("mkdir -p $d/state/lists/partial $d/cache/archives/partial && touch $d/status && echo 'deb [trusted=yes] http://a.test/apt ./' >$d/list && "
           "o=\"-qq -o Dir::State=$d/state -o Dir::State::status=$d/status -o Dir::Cache=$d/cache -o Dir::Etc::sourcelist=$d/list -o Dir::Etc::sourceparts=- "
           "-o Dir::Etc::main=- -o Dir::Etc::parts=- -o APT::Sandbox::User= -o Acquire::Languages=none\" && apt-get $o update && cd $d && apt-get $o download demo")
    GO = ("cd $d && printf 'module x\\nrequire demo.test/m v1.0.0\\n' >go.mod && GOPROXY=http://a.test/go GOFLAGS=-mod=mod GONOSUMDB=* GONOSUMCHECK=1 GOSUMDB=off "
          "GOPATH=$d/go GOCACHE=$d/build go mod download -x demo.test/m && chmod -R u+w go")

    def setUp(self):
        super().setUp()
        site = self.outside.dir / "site"
        for part in ("simple/demo", "demo", "apt", "go/demo.test/m/@v"):
            (site / part).mkdir(parents=True)
        wheel = "demo-1.0-py3-none-any.whl"
        with zipfile.ZipFile(site / "simple" / "demo" / wheel, "w") as z:
            z.writestr("demo.py", "print('demo')\n")
            z.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
            z.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            z.writestr("demo-1.0.dist-info/RECORD", "")
        (site / "simple" / "demo" / "index.html").write_text(f"<a href='{wheel}'>{wheel}</a>\n")
        with tarfile.open(site / "demo.tgz", "w:gz") as t:
            for name, text in (("package.json", '{"name": "demo", "version": "1.0.0"}'), ("index.js", "module.exports = 'demo'\n")):
                about = tarfile.TarInfo("package/" + name)
                about.size = len(text)
                t.addfile(about, io.BytesIO(text.encode()))
        digest = base64.b64encode(hashlib.sha512((site / "demo.tgz").read_bytes()).digest()).decode()
        (site / "demo").rmdir()
        (site / "demo").write_text(json.dumps({"name": "demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "demo", "version": "1.0.0", "dist": {"tarball": "https://a.test/demo.tgz", "integrity": "sha512-" + digest}}}}))
        versions = site / "go" / "demo.test" / "m" / "@v"
        (versions / "list").write_text("v1.0.0\n")
        (versions / "v1.0.0.info").write_text('{"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}')
        (versions / "v1.0.0.mod").write_text("module demo.test/m\n")
        with zipfile.ZipFile(versions / "v1.0.0.zip", "w") as z:
            z.writestr("demo.test/m@v1.0.0/go.mod", "module demo.test/m\n")
            z.writestr("demo.test/m@v1.0.0/m.go", "package m\n")
        if shutil.which("dpkg-deb"):
            tree = self.dir / "deb" / "DEBIAN"
            tree.mkdir(parents=True)
            about = "Package: demo\nVersion: 1.0\nArchitecture: all\nMaintainer: t <t@t>\nDescription: demo\n"
            (tree / "control").write_text(about)
            subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree.parent, site / "apt" / "demo.deb"], check=True, capture_output=True)
            bytes_ = (site / "apt" / "demo.deb").read_bytes()
            (site / "apt" / "Packages").write_text(f"{about}Filename: ./demo.deb\nSize: {len(bytes_)}\nSHA256: {hashlib.sha256(bytes_).hexdigest()}\n")
        self.outside.serve(SITE, str(site), self.outside.certificates("a.test"))
        shutil.copy(self.outside.dir / "ca.pem", self.work / "ca.pem")
        # What the operator's own programs use; the sandbox does not see these files.
        (self.dir / ".npmrc").write_text("registry=https://a.test/\n")
        (self.dir / ".config" / "go").mkdir(parents=True, exist_ok=True)
        (self.dir / ".config" / "go" / "env").write_text("GOPROXY=http://a.test/go\n")
        (self.dir / ".pip").mkdir()
        (self.dir / ".pip" / "pip.conf").write_text("[global]\nindex-url = https://a.test/simple/\n")

    def test_each(self):
        rows = {"pip": (["/usr/bin/python3"], f"{self.PIP} -i https://a.test/simple/ demo && ls $d", "demo-1.0-py3-none-any.whl"),
                "npm": (["npm", "node"], f"{self.NPM} --registry=https://a.test/ >$d/said && node -e \"console.log(require('$d/node_modules/demo'))\"", "demo"),
                "go": (["go"], f"{self.GO} && ls $d/go/pkg/mod/demo.test", "m@v1.0.0"),
                "apt": (["apt-get", "dpkg-deb"], f"{self.APT} && ls $d", "demo_1.0_all.deb")}
        if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True).returncode != 0:
            del rows["pip"]
        self.everywhere({name: ("d=$(mktemp -d) && " + line, wanted) for name, (programs, line, wanted) in rows.items() if all(map(shutil.which, programs))})

    def test_other_hosts_stay_closed(self):
        result = self.call("/usr/bin/python3 -m pip download -q --retries 0 -i https://b.test/simple/ demo; curl -sS http://b.test/; curl -sS http://a.test/simple/demo/")
        self.assertIn("demo-1.0", result["stdout"])
        self.assertNotIn("b.test", self.outside.asked())


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
