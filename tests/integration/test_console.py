"""The console, the server's half: who may come in by a browser, the page's files, the stream of events, screens."""
import base64
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest

from helpers import DEADLINE, NACRE, SANITIZED, SLACK, wait_until
from serving import ServeTest

PACKER = pathlib.Path(NACRE).resolve().parent / "src/serve/pack-web"


class ConsoleTest(ServeTest):
    def setUp(self):
        super().setUp()
        if not self.BOXED:
            self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\nroom: {leftover: end}\n"
                                           "environment: {pass: ['@inherited', TMPDIR]}\nask: [git, expr]\n")

    def console(self, *args, code=0, env=None):
        done = subprocess.run([NACRE, "console", *args], env={**self.env, **(env or {})}, cwd=self.work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=DEADLINE)
        self.assertEqual(done.returncode, code, done)
        return done

    def link(self, *args):
        """The code of a new link, by way of the command."""
        url = self.console("--server", self.server.unix, *args).stdout.decode().strip()
        self.assertTrue(url.startswith(f"http://127.0.0.1:{self.server.port}/#in="), url)
        return url.split("#in=")[1]

    def log_in(self, *args, **body):
        """Headers that every request of the page has."""
        answer = self.post("/v1/console/login", body or {"code": self.link(*args)}, token=None)
        self.assertEqual(answer.status, 200, answer)
        cookie = answer.headers["Set-Cookie"].split(";")[0]
        return {"Cookie": cookie, "Nacre-Page": answer.json["key"]}

    def page_get(self, path, head, method="GET", body=None, **more):
        return self.ask(method, path, body, token=None, headers={**head, **more})

    def events(self, query, head, **more):
        """A stream of a page: no bearer token."""
        connection = self.connect()
        connection.request("GET", f"/v1/events?{query}", headers={**head, **more})
        from serving import Events
        events = Events(connection, connection.getresponse(), lambda name, value: self.assertEqual(
            self.interface().check_event("GET", "/v1/events", name, value), []))
        self.addCleanup(events.close)
        self.assertEqual(events.status, 200)
        return events

    def background(self, command, **members):
        return self.run_command(command, background=True, unix=True, **members)["task_id"]

    def audit_text(self):
        files = sorted((self.state / "audit").glob("log.*")) if (self.state / "audit").exists() else []
        return "".join(file.read_text(errors="replace") for file in files)


class Login(ConsoleTest):
    def test_a_link_logs_in_once(self):
        code = self.link()
        answer = self.post("/v1/console/login", {"code": code}, token=None)
        self.assertEqual(answer.status, 200)
        self.assertRegex(answer.headers["Set-Cookie"],
                         rf"^nacre-{self.server.port}=[\w-]{{43}}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200$")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        again = self.post("/v1/console/login", {"code": code}, token=None)
        self.assertEqual((again.status, again.json["error"]["kind"]), (401, "auth"))
        self.assertIn("used", again.json["error"]["message"])

    def test_a_code_that_was_never_made_is_refused(self):
        for body, status in (({"code": "x" * 22}, 401), ({"code": ""}, 401), ({"token": "nacre_" + "x" * 43}, 401), ({}, 400),
                             ({"code": "a", "token": "b"}, 400), ({"code": 1}, 400)):
            self.assertEqual(self.post("/v1/console/login", body, token=None).status, status, body)

    def test_both_halves_are_needed_and_belong_together(self):
        one, two = self.log_in(), self.log_in()
        self.assertEqual(self.page_get("/v1/me", one).status, 200)
        self.assertTrue(self.page_get("/v1/me", one).json["owner"])
        for head in ({"Cookie": one["Cookie"]}, {"Nacre-Page": one["Nacre-Page"]}, {},
                     {"Cookie": one["Cookie"], "Nacre-Page": two["Nacre-Page"]},
                     {"Cookie": one["Cookie"] + "; " + one["Cookie"], "Nacre-Page": one["Nacre-Page"]},
                     {"Cookie": one["Cookie"].replace(str(self.server.port), "1"), "Nacre-Page": one["Nacre-Page"]}):
            self.assertEqual(self.page_get("/v1/me", head).status, 401, head)
        among = {"Cookie": f"a=b; {one['Cookie']}; c=d", "Nacre-Page": one["Nacre-Page"]}
        self.assertEqual(self.page_get("/v1/me", among).status, 200)

    def test_a_bearer_token_works_as_before(self):
        self.assertEqual(self.get("/v1/me").json["principal"], "default")
        self.assertEqual(self.get("/v1/me").json["login"], None)

    def test_a_token_logs_in_with_its_own_rights(self):
        token = self.make_token("desk", "--profile", "readonly")
        head = self.log_in(token=token)
        me = self.page_get("/v1/me", head).json
        self.assertEqual((me["principal"], me["owner"], me["approve"], me["audit"], me["profiles"]), ("desk", False, False, False, ["readonly"]))
        self.assertEqual(self.page_get("/v1/audit/verify", head).status, 403)

    def test_as_gives_the_rights_of_a_token(self):
        self.make_token("boss", "--approve")
        me = self.page_get("/v1/me", self.log_in("--as", "boss")).json
        self.assertEqual((me["principal"], me["approve"], me["audit"]), ("boss", True, False))
        self.console("--server", self.server.unix, "--as", "nobody", code=125)

    def test_who_has_a_login_makes_no_links_for_others(self):
        self.make_token("boss", "--approve")
        self.assertEqual(self.page_get("/v1/console/link", self.log_in(), "POST", {"as": "boss"}).status, 403)
        self.assertEqual(self.post("/v1/console/link", {"as": "boss"}).status, 403)
        self.assertEqual(self.post("/v1/console/link", {}).json["principal"], "default")

    def test_logout_ends_it_and_its_streams(self):
        head = self.log_in()
        events = self.events("topics=tasks", head)
        self.assertEqual(events.next()["event"], "snapshot")
        answer = self.page_get("/v1/console/logout", head, "POST", {})
        self.assertEqual(answer.json, {"ended": True})
        self.assertIn("Max-Age=0", answer.headers["Set-Cookie"])
        self.assertEqual(events.next("bye")["json"], {"reason": "login"})
        self.assertIsNone(events.next())
        self.assertEqual(self.page_get("/v1/me", head).status, 401)

    def test_a_revoked_token_ends_its_page_within_a_second(self):
        self.make_token("desk")
        head = self.log_in("--as", "desk")
        events = self.events("topics=tasks", head)
        events.next("snapshot")
        began = time.monotonic()
        subprocess.run([NACRE, "token", "revoke", "desk"], env=self.env, check=True)
        self.assertEqual(events.next("bye")["json"], {"reason": "login"})
        self.assertLess(time.monotonic() - began, 1 + SLACK)
        self.assertEqual(self.page_get("/v1/me", head).status, 401)
        self.make_token("desk")
        self.assertEqual(self.page_get("/v1/me", head).status, 401, "a new token of the same name is another one")

    def test_a_link_of_a_token_that_was_revoked_is_worthless(self):
        self.make_token("desk")
        code = self.link("--as", "desk")
        subprocess.run([NACRE, "token", "revoke", "desk"], env=self.env, check=True)
        self.assertEqual(self.post("/v1/console/login", {"code": code}, token=None).status, 401)

    def test_logins_are_listed_and_ended_by_command(self):
        head = self.log_in()
        ident = self.page_get("/v1/me", head).json["login"]
        self.assertIn(ident, self.console("--server", self.server.unix, "--sessions").stdout.decode())
        self.console("--server", self.server.unix, "--end", ident)
        self.assertEqual(self.page_get("/v1/me", head).status, 401)
        self.assertNotIn(ident, self.console("--server", self.server.unix, "--sessions").stdout.decode())
        self.assertIn(b"no such login", self.console("--server", self.server.unix, "--end", ident, code=125).stderr)

    def test_others_see_and_end_only_their_own(self):
        self.make_token("one"), self.make_token("two")
        one, two = self.log_in("--as", "one"), self.log_in("--as", "two")
        ident = self.page_get("/v1/me", one).json["login"]
        self.assertNotIn(ident, self.page_get("/v1/console/logins", two).body.decode())
        self.assertEqual(self.page_get(f"/v1/console/logins/{ident}", two, "DELETE").status, 404)
        self.assertTrue(self.page_get("/v1/console/logins", one).json["logins"][0]["current"])

    def test_a_login_outlives_a_server_that_was_killed(self):
        head = self.log_in()
        self.server.kill()
        self.server.wait(DEADLINE)
        port = self.server.port
        self.server = self.serve("--listen", f"127.0.0.1:{port}", unix=self.dir / "again.sock")
        self.server.port = port
        self.assertEqual(self.page_get("/v1/me", head).status, 200)

    def test_no_secret_is_on_disk(self):
        head = self.log_in()
        text = (self.state / "logins.json").read_text()
        self.assertEqual((self.state / "logins.json").stat().st_mode & 0o777, 0o600)
        self.assertNotIn(head["Nacre-Page"], text)
        self.assertNotIn(head["Cookie"].split("=")[1], text)
        os.chmod(self.state / "logins.json", 0o644)
        self.assertEqual(self.page_get("/v1/me", head).status, 401, "a file that others can read is not believed")

    def test_the_link_is_in_no_log(self):
        code = self.link()
        self.log_in(code=code)
        self.assertNotIn(code.encode(), self.read_log(self.server))
        self.assertNotIn(code, self.audit_text())

    def test_a_server_without_an_address_says_what_to_do(self):
        self.TCP = False
        other = self.serve(unix=self.dir / "o.sock")
        self.assertIn(b"--listen", self.console("--server", other.unix, code=125).stderr)

    def test_without_a_server_one_is_started_and_how_to_stop_it_is_said(self):
        self.stop_server(self.server)
        state = self.dir / "other-state"
        state.mkdir(mode=0o700)
        done = self.console(env={"NACRE_STATE_DIR": str(state)})
        said = re.search(rb"kill (\d+)", done.stderr)
        self.assertTrue(said, done)
        pid = int(said[1])
        self.addCleanup(lambda: os.path.exists(f"/proc/{pid}") and os.kill(pid, signal.SIGKILL))
        self.assertRegex(done.stdout, rb"^http://127\.0\.0\.1:\d+/#in=[\w-]{22}\n$")
        self.console(env={"NACRE_STATE_DIR": str(state)})  # the same one answers
        os.kill(pid, signal.SIGTERM)
        wait_until("the server ends", lambda: not os.path.exists(f"/proc/{pid}") or
                   "State:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text())


class OtherPorts(ConsoleTest):
    """A page of another port of this host has the cookie, and nothing else."""

    def run_it(self, head, **more):
        return self.page_get("/v1/run", head, "POST", {"command": "touch gotcha"}, **more)

    def assert_silent(self):
        self.assertFalse((self.work / "gotcha").exists())
        self.assertNotIn("gotcha", self.audit_text())

    def test_a_foreign_origin_is_refused_whatever_it_brings(self):
        head = self.log_in()
        for origin in ("http://127.0.0.1:1", "http://evil.example", "null", f"http://localhost:{self.server.port + 1}"):
            self.assertEqual(self.run_it(head, Origin=origin).status, 403, origin)
        self.assertEqual(self.run_it(head, Origin=f"http://localhost:{self.server.port}").status, 403, "another host of ours")
        self.assert_silent()
        self.assertEqual(self.page_get("/v1/me", head, Origin=f"http://127.0.0.1:{self.server.port}").status, 200)

    def test_what_the_browser_says_about_the_site_counts(self):
        head = self.log_in()
        for site, status in (("same-site", 403), ("cross-site", 403), ("same-origin", 200), ("none", 200)):
            self.assertEqual(self.page_get("/v1/me", head, **{"Sec-Fetch-Site": site}).status, status, site)
        self.assertEqual(self.run_it(head, **{"Sec-Fetch-Site": "same-site"}).status, 403)
        self.assert_silent()

    def test_a_cookie_alone_runs_nothing(self):
        cookie = {"Cookie": self.log_in()["Cookie"]}
        self.assertEqual(self.run_it(cookie).status, 401)
        self.assertEqual(self.page_get("/v1/tasks", cookie).status, 401)
        form = self.ask("POST", "/v1/run", b"command=touch+gotcha", token=None,
                        headers={**cookie, "Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(form.status, 401)
        self.assert_silent()

    def test_a_form_cannot_log_anybody_in(self):
        code = self.link()
        body = json.dumps({"code": code}).encode()
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = self.ask("POST", "/v1/console/login", body, token=None, headers={"Content-Type": kind})
            self.assertEqual(answer.status, 415, kind)
        answer = self.post("/v1/console/login", {"code": code}, token=None, headers={"Sec-Fetch-Site": "cross-site"})
        self.assertEqual(answer.status, 403)
        answer = self.post("/v1/console/login", {"code": code}, token=None, headers={"Origin": "http://127.0.0.1:1"})
        self.assertEqual(answer.status, 403)
        self.assertEqual(self.post("/v1/console/login", {"code": code}, token=None).status, 200, "and the link is still good")

    def test_a_web_socket_gets_nothing(self):
        head = self.log_in()
        got = self.raw(f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nCookie: {head['Cookie']}\r\n"
                       "Upgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Version: 13\r\n"
                       f"Sec-WebSocket-Key: {base64.b64encode(b'x' * 16).decode()}\r\n\r\n".encode())
        self.assertTrue(got.startswith(b"HTTP/1.1 401 "), got[:200])

    def test_a_name_that_leads_here_is_not_enough(self):
        head = self.log_in()
        for path in ("/", "/v1/me", "/v1/health"):
            got = self.raw(f"GET {path} HTTP/1.1\r\nHost: evil.example:{self.server.port}\r\nCookie: {head['Cookie']}\r\n"
                           f"Nacre-Page: {head['Nacre-Page']}\r\nConnection: close\r\n\r\n".encode())
            self.assertTrue(got.startswith(b"HTTP/1.1 403 "), got[:200])

    def test_behind_tls_the_cookie_is_bound_to_the_host(self):
        self.stop_server(self.server)
        self.server = self.serve("--public-url", "https://nacre.example")
        answer = self.ask("POST", "/v1/console/link", {}, unix=True)
        self.assertTrue(answer.json["url"].startswith("https://nacre.example/#in="))
        head = {"Host": "nacre.example", "Origin": "https://nacre.example"}
        answer = self.post("/v1/console/login", {"code": answer.json["code"]}, token=None, headers=head)
        self.assertEqual(answer.status, 200, answer)
        self.assertRegex(answer.headers["Set-Cookie"], r"^__Host-nacre=.*; Secure$")
        both = {"Cookie": answer.headers["Set-Cookie"].split(";")[0], "Nacre-Page": answer.json["key"]}
        self.assertEqual(self.page_get("/v1/me", both, **head).status, 200)
        self.assertEqual(self.page_get("/v1/me", both).status, 401, "by the plain address it is another page")

    def test_answers_tell_browsers_what_not_to_do(self):
        for path, status in (("/v1/health", 200), ("/v1/me", 401), ("/nothing", 401)):
            answer = self.ask("GET", path, token=None)
            self.assertEqual(answer.status, status)
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(answer.headers["Cross-Origin-Resource-Policy"], "same-origin")
            self.assertIn("frame-ancestors 'none'", answer.headers["Content-Security-Policy"])


class Page(ConsoleTest):
    POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")

    def setUp(self):
        super().setUp()
        self.web = self.dir / "web"
        (self.web / "sub").mkdir(parents=True)
        (self.web / "index.html").write_text('<!doctype html><script type="module" src="app.js"></script><link href="sub/x.css">')
        (self.web / "app.js").write_text("import './sub/y.js';\n")
        (self.web / "sub/x.css").write_text("a{}")
        (self.web / "sub/y.js").write_text("1;\n")
        (self.web / ".secret.js").write_text("no")
        (self.web / "data.bin").write_text("no")
        (self.dir / "outside.js").write_text("no")
        (self.web / "link.js").symlink_to(self.dir / "outside.js")

    def fetch(self, path, **head):
        return self.ask("GET", path, token=None, headers=head)

    def test_a_directory_is_served_as_it_is(self):
        self.stop_server(self.server)
        self.server = self.serve("--web", str(self.web))
        answer = self.fetch("/")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertEqual(answer.headers["Content-Security-Policy"], self.POLICY)
        for name, value in (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                            ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
                            ("Permissions-Policy", "camera=(), microphone=(), geolocation=()")):
            self.assertEqual(answer.headers[name], value)
        self.assertEqual(self.fetch("/sub/y.js").headers["Content-Type"], "text/javascript; charset=utf-8")
        (self.web / "app.js").write_text("2;\n")
        self.assertEqual(self.fetch("/app.js").body, b"2;\n")
        for path in ("/.secret.js", "/data.bin", "/link.js", "/sub/", "/sub", "/sub/../app.js", "/%2e%2e/outside.js", "/nothing.js",
                     "/sub//y.js"):
            self.assertIn(self.fetch(path).status, (401, 404, 400), path)
        self.assertEqual(self.ask("POST", "/app.js", b"", token=None).status, 401)

    def pack(self, into):
        if not PACKER.exists():
            self.skipTest("pack-web: this build has none")
        subprocess.run([PACKER, self.web, into, str(into) + ".d"], check=True)
        return into.read_text()

    def test_two_packs_are_the_same_bytes(self):
        (self.web / "data.bin").unlink()
        one, two = self.pack(self.dir / "one.c"), self.pack(self.dir / "two.c")
        self.assertEqual(one, two)
        folder = re.search(r'"(w-[0-9a-f]{12})/app\.js"', one)[1]
        (self.web / "app.js").write_text("changed")
        self.assertNotIn(folder, self.pack(self.dir / "three.c"), "what a browser keeps is never old")

    def test_the_packed_index_names_the_folder(self):
        (self.web / "data.bin").unlink()
        text = self.pack(self.dir / "one.c")
        row = re.search(r'\{"", "text/html; charset=utf-8", "[^}]*file_(\d+), (\d+), (\d+)\}', text)
        numbers = re.search(rf"file_{row[1]}\[\] = \{{(.*?)\}};", text, re.S)[1].replace("\n", "").strip(",").split(",")
        index = gzip.decompress(bytes(map(int, numbers))).decode()
        self.assertRegex(index, r'src="w-[0-9a-f]{12}/app\.js".*href="w-[0-9a-f]{12}/sub/x\.css"')
        paths = re.findall(r'\t\{"([^"]*)", "', text)
        self.assertEqual(paths[:-1], sorted(paths[:-1]))

    def test_a_file_of_no_type_is_refused(self):
        if not PACKER.exists():
            self.skipTest("pack-web: this build has none")
        done = subprocess.run([PACKER, self.web, self.dir / "x.c", self.dir / "x.d"], stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, b"data.bin" in done.stderr), (1, True))

    def own_index(self):
        answer = self.fetch("/", **{"Accept-Encoding": "gzip"})
        if answer.status != 200:
            self.skipTest("console: this build has no page")
        return answer

    def test_the_page_of_the_binary_may_be_kept_for_ever_but_for_its_index(self):
        answer = self.own_index()
        self.assertEqual((answer.headers["Content-Encoding"], answer.headers["Cache-Control"]), ("gzip", "no-cache"))
        tag = answer.headers["ETag"]
        same = self.fetch("/", **{"If-None-Match": tag})
        self.assertEqual((same.status, same.body, same.headers["ETag"]), (304, b"", tag))
        index = gzip.decompress(answer.body)
        self.assertEqual(self.fetch("/").body, index, "and plain for who takes no gzip")
        names = re.findall(r'(?:src|href)="(w-[^"]+)"', index.decode())
        self.assertTrue(names)
        for name in names:
            answer = self.fetch("/" + name, **{"Accept-Encoding": "gzip"})
            self.assertEqual((answer.status, answer.headers["Cache-Control"]), (200, "public, max-age=31536000, immutable"), name)
            self.assertEqual(answer.headers["Content-Security-Policy"], self.POLICY)
        head = self.ask("HEAD", "/", token=None)
        self.assertEqual((head.status, head.body), (200, b""))

    def test_one_connection_serves_all_files(self):
        self.own_index()
        connection = self.connect()
        self.addCleanup(connection.close)
        sockets = set()
        for _ in range(3):
            self.assertEqual(self.ask("GET", "/", token=None, connection=connection).status, 200)
            sockets.add(id(connection.sock))
        self.assertEqual(len(sockets), 1)


class Stream(ConsoleTest):
    def test_it_begins_with_a_snapshot_and_tells_of_tasks(self):
        old = self.background("true")
        wait_until("it has ended", lambda: self.ask("GET", f"/v1/tasks/{old}", unix=True).json["state"] == "finished")
        events = self.events("topics=tasks,approvals", self.log_in())
        first = events.next()
        self.assertEqual(first["event"], "snapshot")
        self.assertEqual([task["task_id"] for task in first["json"]["tasks"]], [old])
        self.assertEqual((first["json"]["approvals"], first["json"]["more_tasks"]), ([], False))
        task = self.background("echo hi; read x < /dev/zero", description="waits")
        seen = events.next("task")["json"]
        while seen["task_id"] != task or not seen["running"]:
            seen = events.next("task")["json"]
        self.assertEqual((seen["profile"], seen["door"], seen["workspace"]), ("bash", "http", str(self.work)))
        self.ask("POST", f"/v1/tasks/{task}/stop", {"now": True}, unix=True)
        while seen["running"]:
            seen = events.next("task")["json"]
        self.assertEqual(seen["state"], "stopped")

    def test_tasks_of_the_command_line_are_heard_of(self):
        events = self.events("topics=tasks", self.log_in())
        events.next("snapshot")
        subprocess.run([NACRE, "run", "--background", "-c", "echo hello"], env=self.env, cwd=self.work, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = events.next("task")["json"]
        while seen["running"]:
            seen = events.next("task")["json"]
        self.assertEqual((seen["state"], seen["command"], seen["door"]), ("finished", "echo hello", "cli"))

    def test_another_principal_sees_nothing_of_it(self):
        self.make_token("other")
        mine, others = self.events("topics=tasks,audit", self.log_in()), self.events("topics=tasks,audit", self.log_in("--as", "other"))
        mine.next("snapshot"), others.next("snapshot")
        task = self.background("true")
        while mine.next("task")["json"]["running"]:
            pass
        done = self.run_command("echo own", background=True, token=self.make_token("third"))
        head = self.log_in("--as", "other")
        own = self.page_get("/v1/run", head, "POST", {"command": "true", "background": True}).json["task_id"]
        seen = others.next()
        self.assertNotIn(task, seen["data"])
        self.assertNotIn(done["task_id"], seen["data"])
        self.assertIn(own, seen["data"])
        self.assertEqual(self.page_get(f"/v1/tasks/{task}/raw", head).status, 404)
        self.assertEqual(self.page_get(f"/v1/tasks/{task}/screen", head).status, 404)

    def test_an_approval_comes_and_is_answered(self):
        head = self.log_in()
        events = self.events("topics=approvals", head)
        events.next("snapshot")
        asked = self.run_command("git push --force origin main && echo done", unix=True, session="s")
        ident = asked["approval"]["id"]
        seen = events.next("approval")["json"]
        self.assertEqual((seen["id"], seen["state"], seen["kind"], seen["risk"]), (ident, "open", "command", "high"))
        self.assertEqual("".join(piece["text"] for piece in seen["pieces"]), "git push --force origin main && echo done")
        marked = {piece["text"]: seen["findings"][piece["finding"]]["what"] for piece in seen["pieces"] if "finding" in piece}
        self.assertEqual(marked["--force"], "rewrites")
        kinds = {piece["text"]: piece["kind"] for piece in seen["pieces"]}
        self.assertEqual((kinds["git"], kinds["&&"], kinds["main"]), ("program", "operator", "word"))
        answer = self.page_get(f"/v1/approvals/{ident}", head, "POST", {"answer": "deny", "reason": "not today"})
        self.assertEqual(answer.json["state"], "refused")
        seen = events.next("approval")["json"]
        self.assertEqual((seen["state"], seen["answer_reason"]), ("refused", "not today"))
        login = self.page_get("/v1/me", head).json["login"]
        self.assertEqual(seen["answered_by"], f"the user, by the console ({login})")
        record = [r for r in map(json.loads, self.audit_text().splitlines()) if r.get("approval") == ident and r["event"] == "refused"]
        self.assertEqual([(r["door"], r["by"]) for r in record][-1], ("console", f"the user, by the console ({login})"))
        late = self.page_get(f"/v1/approvals/{ident}", head, "POST", {"answer": "once"})
        self.assertEqual(late.status, 409)
        self.assertEqual(self.page_get(f"/v1/approvals/{ident}", head).json["state"], "refused")

    def test_records_go_on_where_the_stream_broke_off(self):
        head = self.log_in()
        events = self.events("topics=audit", head)
        last = events.next("snapshot")["id"]
        self.run_command("echo one", unix=True)
        seen, last_seq = [], 0
        while not any("ended" == record["event"] for record in seen):
            event = events.next("audit")
            seen.append(event["json"])
            last, last_seq = (event["id"], event["json"]["seq"]) if "id" in event else (last, last_seq)
        while seen[-1]["seq"] != last_seq:  # up to one that has a place
            event = events.next("audit")
            seen.append(event["json"])
            last, last_seq = (event["id"], event["json"]["seq"]) if "id" in event else (last, last_seq)
        events.close()
        self.run_command("echo two", unix=True)
        again = self.events("topics=audit", head, **{"Last-Event-ID": last})
        numbers = []
        while True:
            record = again.next("audit")["json"]
            numbers.append(record["seq"])
            if record["event"] == "ended":
                break
        self.assertEqual(numbers, list(range(last_seq + 1, last_seq + 1 + len(numbers))))

    def test_output_goes_on_at_an_offset_with_its_colours(self):
        head = self.log_in()
        task = self.background("for i in $(seq 1 300); do printf '\\033[31mline %s\\033[0m\\n' $i; done")
        wait_until("it has ended", lambda: self.ask("GET", f"/v1/tasks/{task}", unix=True).json["state"] == "finished")
        events = self.events(f"output={task}", head)
        events.next("snapshot")
        text, offset = "", 0
        while True:
            event = events.next()
            if event["event"] == "output-end":
                break
            text += event["json"]["text"]
            offset = event["json"].get("next", offset)
        self.assertEqual(text, "".join(f"\033[31mline {i}\033[0m\n" for i in range(1, 301)))
        self.assertEqual(event["json"]["next"], len(text))
        half = text.index("\n", len(text) // 2) + 1
        events = self.events(f"output={task}@{half}", head)
        events.next("snapshot")
        self.assertEqual(events.next("output")["json"]["text"], text[half:])
        self.assertEqual(self.ask("GET", f"/v1/tasks/{task}/raw", unix=True).body.decode(), text)
        self.assertIn("\033[31m", self.ask("GET", f"/v1/tasks/{task}/output?colour=1", unix=True).json["output"])
        self.assertNotIn("\033", self.ask("GET", f"/v1/tasks/{task}/output", unix=True).json["output"])

    def test_a_stream_follows_something_else_when_told(self):
        head = self.log_in()
        task = self.background("echo first; sleep 1000")
        events = self.events("topics=approvals", head)
        ident = events.next("snapshot")["json"]["stream"]
        answer = self.page_get(f"/v1/events/{ident}", head, "POST", {"topics": ["tasks"], "outputs": [{"task_id": task, "since": 0}]})
        self.assertEqual(answer.json, {"stream": ident, "topics": ["tasks"], "outputs": [task], "screens": []})
        self.assertEqual([one["task_id"] for one in events.next("snapshot")["json"]["tasks"]], [task])
        self.assertEqual(events.next("output")["json"]["text"], "first\n")
        self.assertEqual(self.page_get(f"/v1/events/{ident}", head, "POST", {"outputs": []}).json["outputs"], [])
        for body in ({"topics": ["x"]}, {"outputs": [{"task_id": f"bash-{i}"} for i in range(9)]}, {"screens": ["a", "b", "c", "d", "e"]},
                     {"more": 1}, {"outputs": ["x"]}, {"screens": ["../x"]}):
            self.assertEqual(self.page_get(f"/v1/events/{ident}", head, "POST", body).status, 400, body)
        self.make_token("other")
        self.assertEqual(self.page_get(f"/v1/events/{ident}", self.log_in("--as", "other"), "POST", {}).status, 404)
        self.ask("POST", f"/v1/tasks/{task}/stop", {"now": True}, unix=True)

    def test_what_is_not_there_is_said_to_be_gone(self):
        events = self.events("output=bash-0000000000000000&screen=bash-0000000000000000", self.log_in())
        events.next("snapshot")
        self.assertTrue(events.next("output-end")["json"]["gone"])
        self.assertEqual(events.next("screen-end")["json"]["reason"], "gone")

    def test_wrong_queries_are_refused(self):
        head = self.log_in()
        for query in ("topics=x", "output=" + ",".join(f"bash-{i}" for i in range(9)), "output=a@b", "screen=,", "more=1", "topics=tasks,,"):
            self.assertEqual(self.page_get(f"/v1/events?{query}", head).status, 400, query)

    def test_a_server_that_stops_says_so(self):
        events = self.events("topics=tasks", self.log_in())
        events.next("snapshot")
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(events.next("bye")["json"], {"reason": "stopping"})
        self.assertIsNone(events.next())

    def test_an_idle_page_costs_no_processor_time(self):
        events = self.events("topics=tasks,approvals,audit,metrics", self.log_in())
        events.next("snapshot")
        points = [events.next("metrics")["json"] for _ in range(3)]
        self.assertLess(points[2]["cpu_ms"] - points[1]["cpu_ms"], 200 if SANITIZED else 20)
        self.assertGreater(points[2]["at_ms"], points[1]["at_ms"] + 1500)


class Screens(ConsoleTest):
    def terminal(self, command="cat", **size):
        return self.background(command, pty=size or True)

    def rows(self, frame, rows=None):
        rows = {} if rows is None or frame["whole"] else rows
        for line in frame["lines"]:
            rows[line["row"]] = "".join(run["text"] for run in line["runs"])
        return rows

    def test_rows_come_whole_and_then_as_they_change(self):
        head = self.log_in()
        task = self.terminal()
        events = self.events(f"screen={task}", head)
        events.next("snapshot")
        frame = events.next("screen")["json"]
        self.assertTrue(frame["whole"])
        rows = self.rows(frame)
        self.page_get(f"/v1/tasks/{task}/input", head, "POST", {"text": "ab\u00fc \u4f60\r"})
        while rows.get(1) != "ab\u00fc \u4f60":
            frame = events.next("screen")["json"]
            rows = self.rows(frame, rows)
        self.assertFalse(frame["whole"])
        self.assertLessEqual({line["row"] for line in frame["lines"]}, {0, 1, 2})
        self.page_get(f"/v1/tasks/{task}/input", head, "POST", {"rows": 12, "cols": 33})
        while (frame["rows"], frame["cols"]) != (12, 33):
            frame = events.next("screen")["json"]
        self.page_get(f"/v1/tasks/{task}/stop", head, "POST", {"now": True})
        self.assertEqual(events.next("screen-end")["json"]["reason"], "ended")

    def test_colours_title_and_modes_are_told(self):
        task = self.terminal("printf '\\033[1;31mred\\033[0m\\033[48;2;1;2;3mrgb\\033[0m \\033[7mrev\\033[0m\\033]2;<b>title\\007"
                             "\\033[?2004h\\033[?1h\\033[?1049h\\033[H\\033[4mlow'; cat")
        frame = {"alternate": False}
        while not frame["alternate"] or not frame["lines"]:
            answer = self.ask("GET", f"/v1/tasks/{task}/screen", unix=True)
            self.assertEqual(answer.status, 200, answer)
            frame = answer.json
        self.assertEqual((frame["title"], frame["bracketed_paste"], frame["application_keys"]), ("<b>title", True, True))
        self.assertEqual(frame["lines"][0]["runs"], [{"text": "low", "attributes": "u"}])
        self.page_get(f"/v1/tasks/{task}/stop", self.log_in(), "POST", {"now": True})
        task = self.terminal("printf '\\033[1;31mred\\033[0m\\033[48;2;1;2;3mrgb\\033[0m \\033[7mrev\\033[0m'; exit 0")
        wait_until("it has ended", lambda: not self.ask("GET", f"/v1/tasks/{task}", unix=True).json["running"])
        runs = self.ask("GET", f"/v1/tasks/{task}/screen", unix=True).json["lines"][0]["runs"]
        self.assertEqual(runs, [{"text": "red", "fg": 1, "attributes": "b"}, {"text": "rgb", "bg": "#010203"}, {"text": " "},
                                {"text": "rev", "attributes": "r"}])

    def test_ten_thousand_keys_arrive_in_order(self):
        head = self.log_in()
        task = self.terminal("stty raw -echo; head -c 10000 | md5sum; sleep 1000")
        wait_until("the terminal is raw", lambda: "stty" not in str(self.ask("GET", f"/v1/tasks/{task}", unix=True).json["processes"]))
        keys = "".join(chr(ord("a") + i % 26) for i in range(10000))
        connection = self.connect()
        self.addCleanup(connection.close)
        # The first ones may be read before the terminal is raw: they are in the queue all the same.
        for at in range(0, len(keys), 250):
            answer = self.ask("POST", f"/v1/tasks/{task}/input", {"text": keys[at:at + 250]}, token=None, headers=head, connection=connection)
            self.assertEqual(answer.status, 200, answer)
        import hashlib
        wanted = hashlib.md5(keys.encode()).hexdigest()
        wait_until("all keys have arrived", lambda: wanted in self.ask("GET", f"/v1/tasks/{task}/output", unix=True).body.decode())
        self.page_get(f"/v1/tasks/{task}/stop", head, "POST", {"now": True})

    def test_a_flood_costs_frames_and_no_memory(self):
        head = self.log_in()
        task = self.terminal("head -c 20000000 /dev/zero | tr '\\0' 'x'; printf '\\033[2J\\033[Hend'; sleep 1000")
        events = self.events(f"screen={task}", head)
        events.next("snapshot")
        rows, began, frames = {}, time.monotonic(), 0
        while rows.get(0) != "end":
            rows = self.rows(events.next("screen")["json"], rows)
            frames += 1
        self.assertLessEqual(frames, 31 * (time.monotonic() - began) + 3)
        self.assertLess(int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.server.pid}/status").read_text())[1]),
                        64 * 1024 * (8 if SANITIZED else 1))
        self.page_get(f"/v1/tasks/{task}/stop", head, "POST", {"now": True})

    def test_a_task_without_a_terminal_has_no_screen(self):
        head = self.log_in()
        task = self.background("sleep 1000")
        self.assertEqual(self.page_get(f"/v1/tasks/{task}/screen", head).status, 409)
        events = self.events(f"screen={task}", head)
        self.assertEqual(events.next("screen-end")["json"]["reason"], "no-terminal")
        self.page_get(f"/v1/tasks/{task}/stop", head, "POST", {"now": True})

    def test_the_emulator_goes_with_its_stream(self):
        head = self.log_in()
        task = self.terminal()
        events = self.events(f"screen={task}", head)
        events.next("screen")

        def emulators():
            return [pid for pid in pathlib.Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text().split()
                    if pathlib.Path(f"/proc/{pid}/comm").read_text() == "nacre-screen\n"]
        self.assertEqual(len(emulators()), 1)
        os.kill(int(emulators()[0]), signal.SIGKILL)  # as bytes that it does not survive would do
        self.page_get(f"/v1/tasks/{task}/input", head, "POST", {"text": "again\r"})
        rows = {}
        while rows.get(0) != "again":
            rows = self.rows(events.next("screen")["json"], rows)
        events.close()
        events.connection.close()
        wait_until("the emulator ends", lambda: not emulators())
        self.page_get(f"/v1/tasks/{task}/stop", head, "POST", {"now": True})


class Looks(ConsoleTest):
    TCP = False

    def look(self, path, **more):
        answer = self.ask("GET", path, unix=True, **more)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def explain(self, command):
        return self.ask("POST", "/v1/explain", {"command": command}, unix=True).json

    def test_the_tree_has_the_places_of_the_source(self):
        said = self.explain("for i in \u00e4 b; do ls $i | wc -l; done && X=$(date) git push")
        source = said["source"].encode()

        def walk(nodes, low, high):
            for node in nodes:
                self.assertTrue(low <= node["start"] <= node["end"] <= high, node)
                self.assertTrue(source[node["start"]:node["end"]].decode().startswith(node["text"][:50]), node)
                if "command" in node:
                    command = said["commands"][node["command"]]
                    self.assertEqual((command["start"], command["end"]), (node["start"], node["end"]))
                yield node["kind"]
                yield from walk(node["children"], 0, len(source))
        kinds = set(walk(said["tree"], 0, len(source)))
        self.assertLessEqual({"statement", "pipeline", "command", "for", "word", "assignment", "substitution"}, kinds)
        self.assertEqual((said["box"]["tier"], said["error"]), ("strict" if self.explain("ls")["box"]["tier"] == "strict" else said["box"]["tier"], None))
        self.assertIn(str(self.work), said["box"]["writable"])

    def test_a_mistake_has_its_place(self):
        said = self.explain("if then")
        self.assertEqual((said["verdict"], said["tree"], said["error"]["start"], said["error"]["end"]), ("deny", [], 3, 7))

    def test_a_deep_line_has_a_bounded_tree(self):
        said = self.explain("echo " + "$(echo " * 90 + ")" * 90)
        self.assertLess(len(json.dumps(said["tree"])), 200_000)

    def test_hidden_characters_are_pieces_of_their_own(self):
        ident = self.run_command("git push --force origin \"a\u202eb\"", unix=True)["approval"]["id"]
        seen = self.look(f"/v1/approvals/{ident}")
        self.assertIn({"text": "<U+202E>", "kind": "hidden"}, [{key: piece[key] for key in ("text", "kind")} for piece in seen["pieces"]])
        self.assertNotIn("\u202e", json.dumps(seen, ensure_ascii=False))
        self.assertEqual(seen["risk"], "high")

    def test_what_an_answer_covers_is_said_and_why_it_is_not_offered(self):
        alone = self.run_command("git push origin main", unix=True)
        covers = {cover["answer"]: cover for cover in self.look(f"/v1/approvals/{alone['approval']['id']}")["covers"]}
        self.assertEqual({name: cover["offered"] for name, cover in covers.items()},
                         {"once": True, "session": False, "sub": False, "deny": True})
        self.assertIn("no session", covers["session"]["text"])

    def test_grants_are_shown_and_taken_back(self):
        first = self.run_command("expr 1 + 1", unix=True, session="s")
        ident = first["approval"]["id"]
        self.assertEqual(self.ask("POST", f"/v1/approvals/{ident}", {"answer": "session"}, unix=True).status, 200)
        grants = self.look("/v1/grants")["grants"]
        self.assertEqual([(g["id"], g["session"], g["sub"], g["holds"]) for g in grants], [(ident, "s", False, True)])
        self.assertEqual(self.ask("DELETE", f"/v1/grants/{ident}", unix=True).json, {"grants": []})
        self.assertEqual(self.ask("DELETE", f"/v1/grants/{ident}", unix=True).status, 404)

    def test_sessions_tell_what_they_keep(self):
        self.run_command("mkdir -p d; cd d; export SECRET_TOKEN=abc", unix=True, session="work")
        for session in self.look("/v1/sessions")["sessions"]:
            self.assertEqual((session["session"], session["workspace"], session["cwd"]), ("work", str(self.work), "d"))
            self.assertEqual(session["variables"], ["SECRET_TOKEN"])
            self.assertNotIn("abc", json.dumps(session))

    def test_profiles_are_shown(self):
        names = [profile["name"] for profile in self.look("/v1/profiles")["profiles"]]
        self.assertEqual(names, ["bash", "readonly", "verify", "universal", "workspace"])
        bash = self.look("/v1/profiles/bash")
        self.assertIn("ask: [git, expr]", bash["text"])
        self.assertIn({"list": "ask", "id": "ask:git"}, [{key: rule[key] for key in ("list", "id")} for rule in bash["rules"]])
        self.assertTrue(bash["rules"] and bash["examples"])
        self.assertEqual(self.ask("GET", "/v1/profiles/nothing", unix=True).status, 404)

    def test_doctor_is_the_command(self):
        done = subprocess.run([NACRE, "doctor", "--json"], env=self.env, stdout=subprocess.PIPE, check=False)
        self.assertEqual(self.look("/v1/doctor")["tier"], json.loads(done.stdout)["tier"])

    def test_the_log_is_verified(self):
        self.run_command("true", unix=True)
        events = self.stream("GET", "/v1/audit/verify", unix=True)
        self.assertEqual(events.next("progress")["json"], {"files": 1, "of": 1})
        self.assertTrue(events.next("result")["json"]["good"])
        log = next((self.state / "audit").glob("log.*"))
        log.write_bytes(log.read_bytes().replace(b'"command":"true"', b'"command":"fals"'))
        bad = self.stream("GET", "/v1/audit/verify", unix=True).next("result")["json"]
        self.assertEqual((bad["good"], bad["first_bad"]["file"]), (False, log.name))

    def test_numbers_of_the_last_hour(self):
        history = self.look("/v1/metrics/history")
        self.assertEqual(history["step_ms"], 5000)
        self.assertGreaterEqual(len(history["points"]), 1)


if __name__ == "__main__":
    unittest.main()
