"""The client for programs that wait. One connection a call, so threads may share a client."""
from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import socket
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, TypeVar, Union

from . import wire
from .errors import Unreachable
from .tools import Tool, ToolAnswer
from .types import (Answer, Approval, Asked, Event, Explanation, Finished, Health, Order, Request, Result, Session, Shell, Task,
                    TaskEvent, TaskOutput)
from .wire import Address, AnyRequest, Call

T = TypeVar("T")
Approver = Callable[[Approval], Union[str, Answer]]


class _Connection(http.client.HTTPConnection):
    """HTTP over TCP or over a unix socket."""

    def __init__(self, address: Address, connect_timeout: float, timeout: Optional[float]) -> None:
        super().__init__(address.host, address.port or 80)
        self._address, self._connect_timeout, self._read_timeout = address, connect_timeout, timeout

    def connect(self) -> None:
        if self._address.unix:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self._connect_timeout)
            self.sock.connect(self._address.unix)
        else:
            self.sock = socket.create_connection((self._address.host, self._address.port), self._connect_timeout)
        self.sock.settimeout(self._read_timeout)


class Client:
    """A server, at `http://HOST:PORT` (with a token) or `unix:PATH`.

    `approver` is asked for every command that needs a person; without one such a command is refused,
    and the result names the approval. `session` is the session of every request that names none.
    `timeout` is how many seconds an answer may be silent; None waits as long as the server does.
    """

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None, approver: Optional[Approver] = None,
                 session: Optional[str] = None, timeout: Optional[float] = None, connect_timeout: float = 10.0) -> None:
        self.address = Address.parse(url, token)
        self._approver, self._session = approver, session
        self._timeout, self._connect_timeout = timeout, connect_timeout

    # --- commands ---

    def run(self, request: AnyRequest) -> Result:
        """Run a command to its end. A refusal is a result: see Result.check()."""
        made = wire.as_request(request, self._session)
        if not self._approver:
            return self._do(wire.run(made))
        result: Optional[Result] = None
        for event in self.stream(made):
            if isinstance(event, Finished):
                result = event.result
        if result is None:
            raise Unreachable("the stream ended without a result")
        return result

    def stream(self, request: AnyRequest) -> Iterator[Event]:
        """Run a command and yield its output as it comes, then Finished. To close the iterator ends the command."""
        made = wire.as_request(request, self._session)
        if self._approver and made.approval_timeout_ms is None:
            made = dataclasses.replace(made, approval_timeout_ms=300_000)
        for name, data in self._events(wire.run(made)):
            event = wire.run_event(name, data)
            if event is None:
                continue
            if isinstance(event, Asked) and self._approver:
                self.answer(event.approval.id, self._approver(event.approval))
            yield event

    def start(self, request: AnyRequest) -> Result:
        """Start a command as a background task. The result has its `task_id`, or a refusal."""
        return self._do(wire.run(dataclasses.replace(wire.as_request(request, self._session), background=True)))

    def explain(self, request: AnyRequest) -> Explanation:
        """What would be decided about a command. Nothing runs."""
        return self._do(wire.explain(wire.as_request(request, self._session)))

    def shell(self, command: str, workspace: Optional[str] = None, timeout: Optional[int] = None) -> Shell:
        """POST /shell: one read-only command, `timeout` in seconds."""
        return self._do(wire.shell(command, workspace, timeout))

    # --- tasks ---

    def tasks(self, limit: Optional[int] = None, running: bool = False) -> List[Task]:
        return self._do(wire.tasks(limit, running))

    def task(self, task_id: str) -> Task:
        return self._do(wire.task(task_id))

    def output(self, task_id: str, since: Optional[int] = None, wait_ms: Optional[int] = None, stream: Optional[str] = None,
               tail: Optional[int] = None, grep: Optional[str] = None) -> TaskOutput:
        """A piece of a task's output. Pass its `next` as `since` to continue."""
        return self._do(wire.output(task_id, since, wait_ms, stream, tail, grep))

    def follow(self, task_id: str, since: Optional[int] = None) -> Iterator[TaskEvent]:
        """A task's output as it comes, then Ended. To close the iterator leaves the task as it is."""
        for name, data in self._events(wire.follow(task_id, since)):
            event = wire.task_event(name, data)
            if event is not None:
                yield event

    def stop(self, task_id: str, now: bool = False) -> Order:
        """End a task with everything it started. `now` leaves out the friendly signal."""
        return self._do(wire.stop(task_id, now))

    def type(self, task_id: str, text: str) -> Order:
        """Type on the terminal of a task."""
        return self._do(wire.type_text(task_id, text))

    def resize(self, task_id: str, rows: int, cols: int) -> Order:
        return self._do(wire.resize(task_id, rows, cols))

    # --- sessions, approvals, audit ---

    def sessions(self) -> List[Session]:
        return self._do(wire.sessions())

    def session(self, session: str) -> Session:
        return self._do(wire.session(session))

    def end_session(self, session: str) -> Session:
        return self._do(wire.end_session(session))

    def approvals(self, answered: bool = False) -> List[Approval]:
        """Open questions; with `answered` all of them."""
        return self._do(wire.approvals(answered))

    def answer(self, approval_id: str, answer: Union[str, Answer]) -> Approval:
        return self._do(wire.answer(approval_id, wire.as_answer(answer)))

    def audit(self, **query: Union[None, int, str]) -> List[Dict[str, Any]]:
        return self._do(wire.audit(query))

    def health(self) -> Health:
        return self._do(wire.health())

    def toolbox(self) -> Toolbox:
        """The tools for a model, as the server's profiles describe them."""
        return Toolbox(self)

    # --- the wire ---

    @contextlib.contextmanager
    def _open(self, call: Call[Any], accept: str) -> Iterator[http.client.HTTPResponse]:
        connection = _Connection(self.address, self._connect_timeout, self._timeout)
        try:
            connection.request(call.method, call.path, call.encode(), {"Host": self.address.name, **call.head(self.address, accept)})
            with connection.getresponse() as response:
                if response.status >= 400:
                    raise wire.failure(response.status, response.headers.get("Retry-After"), response.read())
                yield response
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.address.unix or self.address.name}: {error}") from error
        finally:
            connection.close()

    def _do(self, call: Call[T]) -> T:
        with self._open(call, "application/json") as response:
            return call.read(wire.load(response.read()))

    def _events(self, call: Call[Any]) -> Iterator[Tuple[str, Any]]:
        with self._open(call, "text/event-stream") as response:
            yield from _parse(response)

    def _mcp(self, call: Call[Any]) -> Tuple[Any, Optional[str]]:
        """The message that answers, and the id of the session."""
        with self._open(call, "application/json, text/event-stream") as response:
            session = response.headers.get("Mcp-Session-Id")
            if response.headers.get_content_type() != "text/event-stream":
                body = response.read()
                return json.loads(body) if body else None, session
            for _, message in _parse(response):
                if "result" in message or "error" in message:
                    return message, session
        return None, session


def _parse(response: http.client.HTTPResponse) -> Iterator[Tuple[str, Any]]:
    parser = wire.EventParser()
    for line in response:
        yield from parser.feed(line.decode("utf-8", "replace"))


class Toolbox:
    """The tools of one MCP session: working directory and variables persist from call to call.

        with client.toolbox() as box:
            schemas = [tool.anthropic() for tool in box.tools]
            answer = box.call("Bash", {"command": "ls"})
    """

    def __init__(self, client: Client) -> None:
        self._client, self._count = client, 0
        self._id: Optional[str] = None
        self.instructions = ""
        self.tools: List[Tool] = []

    def __enter__(self) -> Toolbox:
        hello = self._request("initialize", {"protocolVersion": wire.MCP_REVISION, "capabilities": {},
                                             "clientInfo": {"name": "nacre-python", "version": "1"}})
        self.instructions = str(hello.get("instructions", ""))
        self._client._mcp(wire.mcp("notifications/initialized", {}, self._id, None))
        self.tools = [Tool.read(item) for item in self._request("tools/list", {})["tools"]]
        return self

    def __exit__(self, *reason: object) -> None:
        with self._client._open(Call("DELETE", "/mcp", lambda value: None, headers={"Mcp-Session-Id": self._id or ""}), "*/*"):
            pass

    def call(self, name: str, arguments: Dict[str, Any]) -> ToolAnswer:
        return ToolAnswer.read(self._request("tools/call", {"name": name, "arguments": arguments}))

    def _request(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        self._count += 1
        message, session = self._client._mcp(wire.mcp(method, params, self._id, self._count))
        self._id = session or self._id
        return wire.mcp_result(message)
