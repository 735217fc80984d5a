"""A client of `nacre mcp` that sees every byte: what a library would repair or hide is the test here."""
import json
import queue
import subprocess
import threading
import time

from helpers import DEADLINE, NACRE

META = "io.modelcontextprotocol/"


class Client:
    """One server on stdio. Messages are read by a thread, so a test may send without reading."""

    def __init__(self, test, *args, **options):
        self.test = test
        self.count = 0
        self.messages = queue.Queue()
        self.kept = []  # read by a wait for something else
        self.notes = []  # notifications, in their order
        self.log = []  # everything
        options.setdefault("stdin", subprocess.PIPE)
        options.setdefault("cwd", test.work)
        env = {**test.env, **options.pop("env", {})}
        reads = options.pop("reads", True)
        self.popen = subprocess.Popen([options.pop("program", NACRE), "mcp", *args], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, env=env, **options)
        test.started.append(self.popen)
        if reads:
            self.start_reading()

    def start_reading(self):
        threading.Thread(target=self.read_all, daemon=True).start()

    def read_all(self):
        try:
            for line in self.popen.stdout:
                self.messages.put(line)
        except ValueError:
            pass
        self.messages.put(None)

    def write(self, data):
        self.popen.stdin.write(data)
        self.popen.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def request(self, method, params=None, id=None):
        """Sends; the id is returned."""
        if id is None:
            self.count += 1
            id = self.count
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return id

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def take(self, seconds=DEADLINE):
        """The next message as it came; None at the end of the output."""
        try:
            line = self.messages.get(timeout=seconds)
        except queue.Empty:
            self.test.fail(f"no message within {seconds} s")
        if line is None:
            return None
        self.test.assertTrue(line.endswith(b"\n"), line)
        message = json.loads(line.decode("utf-8", errors="strict"))
        self.log.append(message)
        return message

    def until(self, fits, seconds=DEADLINE):
        """The first message that fits; others are kept for later."""
        for i, message in enumerate(self.kept):
            if fits(message):
                return self.kept.pop(i)
        end = time.monotonic() + seconds
        while True:
            message = self.take(max(0.01, end - time.monotonic()))
            self.test.assertIsNotNone(message, "the server has gone")
            if isinstance(message, dict) and "method" in message and "id" not in message:
                self.notes.append(message)
            if fits(message):
                return message
            self.kept.append(message)

    def answer(self, id, seconds=DEADLINE):
        return self.until(lambda m: isinstance(m, dict) and m.get("id") == id
                          and type(m.get("id")) is type(id) and "method" not in m, seconds)

    def ask(self, method, params=None):
        return self.answer(self.request(method, params))

    def result(self, method, params=None):
        answer = self.ask(method, params)
        self.test.assertIn("result", answer, answer)
        return answer["result"]

    def error(self, method, params=None):
        answer = self.ask(method, params)
        self.test.assertIn("error", answer, answer)
        return answer["error"]["code"]

    def initialize(self, revision="2025-11-25", capabilities=None):
        result = self.result("initialize", {
            "protocolVersion": revision, "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")
        return result

    def call(self, tool, arguments=None, **more):
        params = {"name": tool, **more}
        if arguments is not None:
            params["arguments"] = arguments
        return self.result("tools/call", params)

    def text(self, tool, arguments=None, **more):
        """The text of a call that is no error."""
        result = self.call(tool, arguments, **more)
        self.test.assertFalse(result["isError"], result)
        return result["content"][0]["text"]

    def refusal(self, tool, arguments=None, **more):
        result = self.call(tool, arguments, **more)
        self.test.assertTrue(result["isError"], result)
        return result["content"][0]["text"]

    def expect_silence(self):
        """Nothing but what was asked for: a ping is the next thing that is answered."""
        seen = len(self.log)
        self.test.assertEqual(self.kept, [])
        self.result("ping")
        self.test.assertEqual(len(self.log), seen + 1, self.log[seen:])

    def close(self, code=0, seconds=DEADLINE):
        """The end of the input; everything that comes after that."""
        self.popen.stdin.close()
        self.test.assertEqual(self.popen.wait(seconds), code)
        rest = []
        while (message := self.take()) is not None:
            rest.append(message)
        return rest


def meta(capabilities=None, **more):
    """The envelope of a stateless request."""
    return {META + "protocolVersion": "2026-07-28",
            META + "clientCapabilities": capabilities or {}, **more}


FORM = {"elicitation": {}}
TASKS = {"extensions": {META + "tasks": {}}}
