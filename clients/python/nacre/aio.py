"""The client for asyncio: the same calls as Client, with `await`.

The standard library has no HTTP client for asyncio. What is needed of one is little: a request, a
head, and a body with a length or in chunks.
"""
from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from typing import Any, AsyncIterator, Awaitable, Callable, Coroutine, Dict, List, Optional, Tuple, TypeVar, Union

from . import wire
from .errors import Unreachable
from .tools import Tool, ToolAnswer
from .types import (Answer, Approval, Asked, Event, Explanation, Finished, Health, Order, Result, Session, Shell, Task, TaskEvent,
                    TaskOutput)
from .wire import Address, AnyRequest, Call

T = TypeVar("T")
AsyncApprover = Callable[[Approval], Union[str, Answer, Awaitable[Union[str, Answer]]]]


class _Response:
    def __init__(self, status: int, headers: Dict[str, str], reader: asyncio.StreamReader, timeout: Optional[float]) -> None:
        self.status, self.headers, self._reader, self._timeout = status, headers, reader, timeout

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, as it comes."""
        try:
            if self.headers.get("transfer-encoding", "").lower() == "chunked":
                while True:
                    size = int((await self._soon(self._reader.readline())).split(b";")[0], 16)
                    if size == 0:
                        return
                    yield await self._soon(self._reader.readexactly(size))
                    await self._soon(self._reader.readline())
            elif "content-length" in self.headers:
                yield await self._soon(self._reader.readexactly(int(self.headers["content-length"])))
        except asyncio.TimeoutError as error:
            raise Unreachable(f"the server was silent for {self._timeout} s") from error
        except (OSError, EOFError, ValueError) as error:
            raise Unreachable(f"the server went away in the middle of an answer: {error}") from error

    async def _soon(self, piece: Coroutine[Any, Any, bytes]) -> bytes:
        return await (asyncio.wait_for(piece, self._timeout) if self._timeout else piece)

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.pieces()])

    async def events(self) -> AsyncIterator[Tuple[str, Any]]:
        parser, rest = wire.EventParser(), b""
        async for piece in self.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                for event in parser.feed(line.decode("utf-8", "replace")):
                    yield event


async def _head(reader: asyncio.StreamReader, timeout: Optional[float]) -> _Response:
    first = (await reader.readline()).split(None, 2)
    if len(first) < 2 or not first[0].startswith(b"HTTP/1.") or not first[1].isdigit():
        raise Unreachable("the server did not answer")
    headers: Dict[str, str] = {}
    while True:
        line = (await reader.readline()).decode("latin-1").strip()
        if not line:
            return _Response(int(first[1]), headers, reader, timeout)
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()


class AsyncClient:
    """As Client. The approver may be a coroutine function."""

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None, approver: Optional[AsyncApprover] = None,
                 session: Optional[str] = None, timeout: Optional[float] = None, connect_timeout: float = 10.0) -> None:
        self.address = Address.parse(url, token)
        self._approver, self._session = approver, session
        self._timeout, self._connect_timeout = timeout, connect_timeout

    # --- commands ---

    async def run(self, request: AnyRequest) -> Result:
        """Run a command to its end. If the awaiting task is cancelled, the command is ended."""
        made = wire.as_request(request, self._session)
        if not self._approver:
            return await self._do(wire.run(made))
        result: Optional[Result] = None
        async for event in self.stream(made):
            if isinstance(event, Finished):
                result = event.result
        if result is None:
            raise Unreachable("the stream ended without a result")
        return result

    async def stream(self, request: AnyRequest) -> AsyncIterator[Event]:
        """Run a command and yield its output as it comes, then Finished. To close the iterator ends the command."""
        made = wire.as_request(request, self._session)
        if self._approver and made.approval_timeout_ms is None:
            made = dataclasses.replace(made, approval_timeout_ms=300_000)
        async with self._open(wire.run(made), "text/event-stream") as response:
            async for name, data in response.events():
                event = wire.run_event(name, data)
                if event is None:
                    continue
                if isinstance(event, Asked) and self._approver:
                    given = self._approver(event.approval)
                    await self.answer(event.approval.id, given if isinstance(given, (str, Answer)) else await given)
                yield event

    async def start(self, request: AnyRequest) -> Result:
        return await self._do(wire.run(dataclasses.replace(wire.as_request(request, self._session), background=True)))

    async def explain(self, request: AnyRequest) -> Explanation:
        return await self._do(wire.explain(wire.as_request(request, self._session)))

    async def shell(self, command: str, workspace: Optional[str] = None, timeout: Optional[int] = None) -> Shell:
        return await self._do(wire.shell(command, workspace, timeout))

    # --- tasks ---

    async def tasks(self, limit: Optional[int] = None, running: bool = False) -> List[Task]:
        return await self._do(wire.tasks(limit, running))

    async def task(self, task_id: str) -> Task:
        return await self._do(wire.task(task_id))

    async def output(self, task_id: str, since: Optional[int] = None, wait_ms: Optional[int] = None, stream: Optional[str] = None,
                     tail: Optional[int] = None, grep: Optional[str] = None) -> TaskOutput:
        return await self._do(wire.output(task_id, since, wait_ms, stream, tail, grep))

    async def follow(self, task_id: str, since: Optional[int] = None) -> AsyncIterator[TaskEvent]:
        async with self._open(wire.follow(task_id, since), "text/event-stream") as response:
            async for name, data in response.events():
                event = wire.task_event(name, data)
                if event is not None:
                    yield event

    async def stop(self, task_id: str, now: bool = False) -> Order:
        return await self._do(wire.stop(task_id, now))

    async def type(self, task_id: str, text: str) -> Order:
        return await self._do(wire.type_text(task_id, text))

    async def resize(self, task_id: str, rows: int, cols: int) -> Order:
        return await self._do(wire.resize(task_id, rows, cols))

    # --- sessions, approvals, audit ---

    async def sessions(self) -> List[Session]:
        return await self._do(wire.sessions())

    async def session(self, session: str) -> Session:
        return await self._do(wire.session(session))

    async def end_session(self, session: str) -> Session:
        return await self._do(wire.end_session(session))

    async def approvals(self, answered: bool = False) -> List[Approval]:
        return await self._do(wire.approvals(answered))

    async def answer(self, approval_id: str, answer: Union[str, Answer]) -> Approval:
        return await self._do(wire.answer(approval_id, wire.as_answer(answer)))

    async def audit(self, **query: Union[None, int, str]) -> List[Dict[str, Any]]:
        return await self._do(wire.audit(query))

    async def health(self) -> Health:
        return await self._do(wire.health())

    def toolbox(self) -> AsyncToolbox:
        return AsyncToolbox(self)

    # --- the wire ---

    async def _connect(self) -> Tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.address.unix:
            return await asyncio.open_unix_connection(self.address.unix)
        return await asyncio.open_connection(self.address.host, self.address.port)

    @contextlib.asynccontextmanager
    async def _open(self, call: Call[Any], accept: str) -> AsyncIterator[_Response]:
        body = call.encode()
        head = {"Host": self.address.name, "Connection": "close", **call.head(self.address, accept)}
        if body is not None:
            head["Content-Length"] = str(len(body))
        lines = [f"{call.method} {call.path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        where = self.address.unix or self.address.name
        try:
            reader, writer = await asyncio.wait_for(self._connect(), self._connect_timeout)
        except (OSError, asyncio.TimeoutError) as error:
            raise Unreachable(f"{where}: {error or 'no answer'}") from error
        try:
            writer.write("\r\n".join(lines).encode("latin-1") + (body or b""))
            try:
                await writer.drain()
                response = await asyncio.wait_for(_head(reader, self._timeout), self._timeout)
            except (OSError, ValueError, asyncio.TimeoutError) as error:
                raise Unreachable(f"{where}: {error or 'no answer'}") from error
            if response.status >= 400:
                raise wire.failure(response.status, response.headers.get("retry-after"), await response.read())
            yield response
        finally:
            writer.close()

    async def _do(self, call: Call[T]) -> T:
        async with self._open(call, "application/json") as response:
            body = await response.read()
        return call.read(wire.load(body))

    async def _mcp(self, call: Call[Any]) -> Tuple[Any, Optional[str]]:
        async with self._open(call, "application/json, text/event-stream") as response:
            session = response.headers.get("mcp-session-id")
            if not response.is_stream:
                body = await response.read()
                return json.loads(body) if body else None, session
            answer: Any = None
            async for _, message in response.events():
                if "result" in message or "error" in message:
                    answer = message
            return answer, session


class AsyncToolbox:
    """As Toolbox: `async with client.toolbox() as box`, `await box.call(name, arguments)`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client, self._count = client, 0
        self._id: Optional[str] = None
        self.instructions = ""
        self.tools: List[Tool] = []

    async def __aenter__(self) -> AsyncToolbox:
        hello = await self._request("initialize", {"protocolVersion": wire.MCP_REVISION, "capabilities": {},
                                                   "clientInfo": {"name": "nacre-python", "version": "1"}})
        self.instructions = str(hello.get("instructions", ""))
        await self._client._mcp(wire.mcp("notifications/initialized", {}, self._id, None))
        self.tools = [Tool.read(item) for item in (await self._request("tools/list", {}))["tools"]]
        return self

    async def __aexit__(self, *reason: object) -> None:
        async with self._client._open(Call("DELETE", "/mcp", lambda value: None, headers={"Mcp-Session-Id": self._id or ""}), "*/*"):
            pass

    async def call(self, name: str, arguments: Dict[str, Any]) -> ToolAnswer:
        return ToolAnswer.read(await self._request("tools/call", {"name": name, "arguments": arguments}))

    async def _request(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        self._count += 1
        message, session = await self._client._mcp(wire.mcp(method, params, self._id, self._count))
        self._id = session or self._id
        return wire.mcp_result(message)
