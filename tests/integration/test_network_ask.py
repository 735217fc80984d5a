"""Questions about names: while a connection waits, and before a line starts that has the name in it."""
import contextlib
import fcntl
import json
import os
import pty
import select
import shlex
import subprocess
import termios
import threading

from helpers import DEADLINE, wait_until
from mcp_client import FORM, Client
from serving import Unix
from test_network import NetworkTest

HELD = "curl -sS --max-time 60 $(cat url)"  # nobody sees the name before it runs


class AskTest(NetworkTest):
    def setUp(self):
        super().setUp()
        self.outside.web()
        (self.work / "url").write_text("http://b.test/\n")

    def list(self, *more):
        found = json.loads(self.nacre("approvals", "--json", *more))
        return found["approvals"] if isinstance(found, dict) else found

    def ids(self):
        return [a["id"] for a in self.list()]

    def wrapper(self):
        """A program that is nacre where the servers of the test are."""
        path = self.dir / "nacre-there"
        path.write_text(f"#!/bin/sh\nexec {shlex.join([*self.outside.inside(self.work, self.user), self.program])} \"$@\"\n")
        path.chmod(0o755)
        return str(path)

    def each(self):
        for who in ("root", "user"):
            self.become(who)
            with self.subTest(who=who):
                yield who


class Seat(AskTest):
    """A person before a terminal, played through a pseudo-terminal."""

    def sit(self, *args):
        master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.master, self.slave, self.seen = master, slave, ""

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.popen = self.start(*args, stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal, env={"TERM": "xterm"})
        self.addCleanup(os.close, slave)
        self.addCleanup(os.close, master)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                self.seen += os.read(self.master, 4096).decode()
        return self.seen

    def read_until(self, text):
        wait_until(repr(text), lambda: text in self.read(0.02) or self.popen.poll() is not None)
        self.assertIn(text, self.seen)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def leave(self, code=0):
        wait_until("nacre ends", lambda: self.read(0.02) is None or self.popen.poll() is not None)
        self.read(0)
        self.assertEqual(self.popen.returncode, code, self.seen)
        self.assertEqual(termios.tcgetattr(self.slave), self.before)


class Terminal(Seat):
    def test_a_held_connection_is_asked_about_and_goes_on(self):
        for who in self.each():
            self.sit("--session", f"t{who}", "-c", f"echo before; {HELD}; echo after")
            self.read_until("xplain? ")
            for part in ("before", "connect to b.test, port 80", "[o]nce  for the [s]ession  [d]eny"):
                self.assertIn(part, self.seen)
            self.assertNotIn("b.test", self.outside.asked() if who == "root" else [])
            self.press("o")
            self.leave()
            for part in ("once", "hello b.test /", "after"):
                self.assertIn(part, self.seen)
            self.assertEqual(self.ids(), [])

    def test_for_the_session(self):
        self.sit("--session", "s", "-c", HELD)
        self.read_until("xplain? ")
        self.press("s")
        self.leave()
        self.assertIn("hello b.test", self.says(HELD, "--session", "s"))
        self.assertEqual(self.call(HELD, "--session", "t")["network"]["refused"][0]["reason"], "person")

    def test_a_no_is_told_as_a_no(self):
        for key in ("d", "\x03"):
            with self.subTest(key=key):
                self.sit("-c", f"{HELD}; echo after")
                self.read_until("xplain? ")
                self.press(key)
                self.leave()
                for part in ("after", "a person said no. Do not retry it as it is."):
                    self.assertIn(part, self.seen)
                self.assertNotIn("hello", self.seen)

    def test_two_names_are_asked_about_one_after_the_other(self):
        (self.work / "url2").write_text("http://x.ask.test/\n")
        self.sit("-c", f"{HELD} & curl -sS --max-time 60 $(cat url2) & wait")
        self.read_until("xplain? ")
        self.press("o")
        wait_until("the other", lambda: self.read(0.02).count("xplain? ") == 2)
        self.press("o")
        self.leave()
        for name in ("b.test", "x.ask.test"):
            self.assertIn(f"connect to {name}, port 80", self.seen)
            self.assertIn(f"hello {name} /", self.seen)

    def test_an_answer_from_elsewhere_ends_the_prompt(self):
        self.sit("-c", HELD)
        self.read_until("xplain? ")
        [approval] = self.ids()
        self.nacre("approve", approval)
        self.leave()
        self.assertIn("hello b.test /", self.seen)

    def test_a_signal_ends_the_command_and_the_question_stays(self):
        self.sit("-c", HELD)
        self.read_until("xplain? ")
        subprocess.run(["kill", str(self.popen.pid)], check=True)
        self.leave(143)
        self.assertEqual(len(self.ids()), 1)

    def test_who_uses_the_terminal_is_not_interrupted(self):
        self.sit("--pty", "-c", HELD)
        self.leave_with_refusal()

    def leave_with_refusal(self):
        wait_until("nacre ends", lambda: self.read(0.02) is None or self.popen.poll() is not None)
        self.assertNotIn("xplain? ", self.seen)
        self.assertNotIn("hello", self.seen)
        self.assertEqual(termios.tcgetattr(self.slave), self.before)


class Before(Seat):
    """Names that stand in the line."""
    LINE = "touch ran; curl -sS --max-time 60 http://b.test/x"

    def test_they_are_asked_about_before_the_start(self):
        for who in self.each():
            (self.work / "ran").unlink(missing_ok=True)
            self.sit("-c", self.LINE)
            self.read_until("xplain? ")
            self.assertIn("connect to b.test, port 80", self.seen)
            self.assertFalse((self.work / "ran").exists())
            self.press("o")
            self.leave()
            self.assertIn("hello b.test /x", self.seen)
            self.assertEqual(self.seen.count("xplain? "), 1)

    def test_a_no_runs_nothing(self):
        self.sit("-c", self.LINE)
        self.read_until("xplain? ")
        self.press("d")
        self.leave(126)
        self.assertIn("A person said no", self.seen)
        self.assertFalse((self.work / "ran").exists())

    def test_once_is_for_this_command(self):
        self.sit("-c", "false && curl -sS http://b.test/; true")  # it connects to nobody
        self.read_until("xplain? ")
        self.press("o")
        self.leave()
        self.assertEqual(self.call("curl -sS http://b.test/")["network"]["refused"][0]["reason"], "person")

    def test_several_are_one_question(self):
        for key in ("o", "s"):
            with self.subTest(key=key):
                self.sit("--session", key, "-c", "curl -sS --max-time 60 http://b.test/ http://x.ask.test/")
                self.read_until("xplain? ")
                self.press(key)
                self.leave()
                self.assertEqual(self.seen.count("xplain? "), 1, self.seen)
                for name in ("b.test", "x.ask.test"):
                    self.assertIn(f"hello {name} /", self.seen)

    def test_together_with_the_command(self):
        self.write_config("net.yaml", self.POLICY + "ask: [curl]\n")
        self.sit("-c", "curl -sS --max-time 60 http://b.test/")
        self.read_until("xplain? ")
        self.assertRegex(self.seen, "Reaches +b.test:80")
        self.press("o")
        self.leave()
        self.assertIn("hello b.test /", self.seen)
        self.assertEqual(self.seen.count("xplain? "), 1, self.seen)

    def test_words_that_connect_nowhere_are_not_asked_about(self):
        for line in ("echo http://b.test/", "git config x.y http://b.test/ || true", "curl -sS -H 'Referer: http://b.test/' http://a.test/"):
            with self.subTest(line=line):
                self.sit("-c", line)
                self.leave()
                self.assertNotIn("xplain? ", self.seen)


class Mcp(AskTest):
    def client(self, **more):
        client = Client(self, "--profile", "net", "--workspace", str(self.work), program=self.wrapper())
        client.initialize(capabilities=FORM)
        return client

    def ask(self, client, line=HELD):
        id = client.request("tools/call", {"name": "Bash", "arguments": {"command": line}})
        return id, client.until(lambda m: m.get("method") == "elicitation/create")

    def reply(self, client, question, **result):
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def text(self, client, id):
        return client.answer(id)["result"]["content"][0]["text"]

    def test_yes_no_and_no_answer(self):
        for _ in self.each():
            client = self.client()
            id, question = self.ask(client)
            self.assertTrue(question["params"]["message"].startswith(
                f"Let a command in {self.work} do this?\n    connect to b.test, port 80\n"), question)
            self.reply(client, question, action="accept", content={"decision": "once"})
            self.assertIn("hello b.test /", self.text(client, id))

            id, question = self.ask(client)
            self.reply(client, question, action="accept", content={"decision": "deny"})
            self.assertIn("a person said no. Do not retry it as it is.", self.text(client, id))

            id, question = self.ask(client)  # nobody is there: refused at once, and it can be approved elsewhere
            self.reply(client, question, action="cancel")
            [approval] = wait_until("the question stays", self.ids)
            self.assertIn(f"nacre approve {approval}", self.text(client, id))

            id, question = self.ask(client)
            self.reply(client, question, action="accept", content={"decision": "session"})
            self.assertIn("hello b.test /", self.text(client, id))
            self.assertIn("hello b.test /", client.text("Bash", {"command": HELD}))
            client.close()

    def test_an_answer_from_elsewhere_takes_the_form_back(self):
        client = self.client()
        id, question = self.ask(client)
        [approval] = self.ids()
        self.nacre("approve", approval)
        self.assertIn("hello b.test /", self.text(client, id))
        client.until(lambda m: m.get("method") == "notifications/cancelled" and m["params"]["requestId"] == question["id"])
        self.reply(client, question, action="accept", content={"decision": "deny"})
        self.assertEqual(client.result("ping"), {})
        client.close()

    def test_a_client_without_a_person_is_refused_at_once(self):
        client = Client(self, "--profile", "net", "--workspace", str(self.work), program=self.wrapper())
        client.initialize()
        text = client.call("Bash", {"command": HELD})["content"][0]["text"]
        [approval] = self.ids()
        self.assertIn(f"nacre approve {approval}", text)
        client.close()


class Http(AskTest):
    def serve(self, who):
        place = self.dir / f"socket-of-{who}"
        place.mkdir(0o700)
        os.chown(place, self.user or 0, self.user or 0)
        popen = subprocess.Popen([self.wrapper(), "serve", "--unix", str(place / "s"), "--workspace", str(self.work), "--profile", "net"],
                                 env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.started.append(popen)
        line = popen.stderr.readline()
        self.assertIn(b"listening on", line)
        return popen, place / "s"

    def http(self, path, method, where, body=None):
        connection = Unix(path)
        connection.request(method, where, body=json.dumps(body) if body else None, headers={"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())

    def run_there(self, path, line, **more):
        """Asks in a thread; the result comes as the last of the list."""
        found = []
        thread = threading.Thread(target=lambda: found.append(self.http(path, "POST", "/v1/run", {"command": line, **more})))
        thread.start()
        self.addCleanup(thread.join)
        return thread, found

    def test_it_is_listed_and_answered(self):
        for who in self.each():
            popen, path = self.serve(who)
            for answer, words in (("once", "hello b.test /"), ("deny", "a person said no")):
                thread, found = self.run_there(path, HELD, approval_timeout_ms=60000)
                [approval] = wait_until("the question", lambda: self.http(path, "GET", "/v1/approvals")["approvals"])
                self.assertEqual(approval["command"], "connect to b.test, port 80")
                self.http(path, "POST", f"/v1/approvals/{approval['id']}", {"answer": answer})
                thread.join()
                self.assertIn(words, found[0]["stdout"] + " ".join(found[0]["notices"]))
            result = self.http(path, "POST", "/v1/run", {"command": HELD})
            self.assertEqual(result["network"]["refused"][0]["reason"], "person")
            popen.terminate()
            popen.wait(DEADLINE)


del NetworkTest, AskTest, Seat

if __name__ == "__main__":
    import unittest
    unittest.main()
