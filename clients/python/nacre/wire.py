"""What the two clients have in common: addresses, calls, answers and events. Nothing here does I/O."""
from __future__ import annotations

import dataclasses
import json
import os
import urllib.parse
from typing import Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from .errors import ApiError, Unreachable
from .types import (Answer, Approval, Asked, Ended, Event, Explanation, Finished, Health, Order, Output, Request, Result, Session,
                    Shell, Task, TaskEvent, TaskOutput, decode)

T = TypeVar("T")
AnyRequest = Union[str, Sequence[str], Request]
MCP_REVISION = "2025-11-25"


@dataclasses.dataclass(frozen=True)
class Address:
    """Where the server is. With `unix` it is a socket, else a host and a port."""
    unix: Optional[str]
    host: str = "localhost"
    port: int = 0
    token: Optional[str] = None

    @property
    def name(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.unix else f"{host}:{self.port}"

    @classmethod
    def parse(cls, url: Optional[str], token: Optional[str]) -> Address:
        """`http://HOST:PORT`, `unix:PATH`, or None: NACRE_URL, else the socket of this user's server."""
        url = url or os.environ.get("NACRE_URL") or "unix:" + default_socket()
        token = token or os.environ.get("NACRE_TOKEN") or None
        if url.startswith("unix:"):
            return cls(unix=url[5:], token=token)
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"'{url}' is not an address. Use http://HOST:PORT or unix:PATH.")
        return cls(unix=None, host=parts.hostname, port=parts.port or 80, token=token)


def default_socket() -> str:
    state = os.environ.get("NACRE_STATE_DIR")
    if not state:
        state = "/var/lib/nacre" if os.geteuid() == 0 else os.path.expanduser("~/.local/state/nacre")
    return os.path.join(state, "nacre.sock")


@dataclasses.dataclass(frozen=True)
class Call(Generic[T]):
    """One request to the server, and how to read its answer."""
    method: str
    path: str
    read: Callable[[Any], T]
    body: Optional[Dict[str, Any]] = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def encode(self) -> Optional[bytes]:
        return None if self.body is None else json.dumps(self.body).encode()

    def head(self, address: Address, accept: str) -> Dict[str, str]:
        head = {"Accept": accept, **self.headers}
        if self.body is not None:
            head["Content-Type"] = "application/json"
        if address.token:
            head["Authorization"] = f"Bearer {address.token}"
        return head


def failure(status: int, retry_after: Optional[str], body: bytes) -> ApiError:
    """The error that an answer tells of."""
    kind, message = "system", f"the server answered {status}"
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if isinstance(value, dict):
        detail = value.get("error")
        if isinstance(detail, dict):
            kind, message = str(detail.get("kind", kind)), str(detail.get("message", message))
        elif "stderr" in value:
            message = str(value["stderr"])
    return ApiError(status, kind, message, int(retry_after) if retry_after and retry_after.isdigit() else None)


def load(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise Unreachable(f"the answer is not JSON: {error}") from None


# --- calls -------------------------------------------------------------------------------------------

def _query(path: str, members: Mapping[str, Union[None, int, str, bool]]) -> str:
    given = {key: "1" if value is True else str(value) for key, value in members.items() if value is not None and value is not False}
    return path + ("?" + urllib.parse.urlencode(given) if given else "")


def _id(path: str, ident: str, rest: str = "") -> str:
    return path + urllib.parse.quote(ident, safe="") + rest


def _reader(cls: Callable[..., T]) -> Callable[[Any], T]:
    def read(value: Any) -> T:
        return decode(cls, value)  # type: ignore[arg-type] # every cls here is a dataclass
    return read


def _many(name: str, cls: Callable[..., T]) -> Callable[[Any], List[T]]:
    one = _reader(cls)

    def read(value: Any) -> List[T]:
        return [one(item) for item in value[name]]
    return read


def as_request(request: AnyRequest, session: Optional[str] = None) -> Request:
    made = request if isinstance(request, Request) else Request(request)
    return dataclasses.replace(made, session=session) if session and not made.session else made


def run(request: Request) -> Call[Result]:
    return Call("POST", "/v1/run", _reader(Result), request.to_json())


def explain(request: Request) -> Call[Explanation]:
    return Call("POST", "/v1/explain", _reader(Explanation), request.to_json())


def shell(command: str, workspace: Optional[str], timeout: Optional[int]) -> Call[Shell]:
    body = {"command": command, "workspace": workspace, "timeout": timeout}
    return Call("POST", "/shell", _reader(Shell), {key: value for key, value in body.items() if value is not None})


def tasks(limit: Optional[int], running: bool) -> Call[List[Task]]:
    return Call("GET", _query("/v1/tasks", {"limit": limit, "state": "running" if running else None}), _many("tasks", Task))


def task(ident: str) -> Call[Task]:
    return Call("GET", _id("/v1/tasks/", ident), _reader(Task))


def output(ident: str, since: Optional[int], wait_ms: Optional[int], stream: Optional[str], tail: Optional[int],
           grep: Optional[str]) -> Call[TaskOutput]:
    query = {"since": since, "wait_ms": wait_ms, "stream": stream, "tail": tail, "grep": grep}
    return Call("GET", _query(_id("/v1/tasks/", ident, "/output"), query), _reader(TaskOutput))


def follow(ident: str, since: Optional[int]) -> Call[None]:
    return Call("GET", _query(_id("/v1/tasks/", ident, "/output"), {"follow": 1, "since": since}), lambda value: None)


def stop(ident: str, now: bool) -> Call[Order]:
    return Call("POST", _id("/v1/tasks/", ident, "/stop"), _reader(Order), {"now": now})


def type_text(ident: str, text: str) -> Call[Order]:
    return Call("POST", _id("/v1/tasks/", ident, "/input"), _reader(Order), {"text": text})


def resize(ident: str, rows: int, cols: int) -> Call[Order]:
    return Call("POST", _id("/v1/tasks/", ident, "/input"), _reader(Order), {"rows": rows, "cols": cols})


def sessions() -> Call[List[Session]]:
    return Call("GET", "/v1/sessions", _many("sessions", Session))


def session(ident: str) -> Call[Session]:
    return Call("GET", _id("/v1/sessions/", ident), lambda value: decode(Session, value["sessions"][0]))


def end_session(ident: str) -> Call[Session]:
    return Call("DELETE", _id("/v1/sessions/", ident), lambda value: decode(Session, value["sessions"][0]))


def approvals(answered: bool) -> Call[List[Approval]]:
    return Call("GET", _query("/v1/approvals", {"all": answered}), _many("approvals", Approval))


def answer(ident: str, given: Answer) -> Call[Approval]:
    body = {"answer": given.answer, **({"reason": given.reason} if given.reason else {})}
    return Call("POST", _id("/v1/approvals/", ident), _reader(Approval), body)


def audit(query: Mapping[str, Union[None, int, str]]) -> Call[List[Dict[str, Any]]]:
    return Call("GET", _query("/v1/audit", query), lambda value: list(value["records"]))


def health() -> Call[Health]:
    return Call("GET", "/v1/health", _reader(Health))


def mcp(method: str, params: Dict[str, Any], session_id: Optional[str], number: Optional[int]) -> Call[Any]:
    """A message of the Model Context Protocol; without a number it is a notification."""
    message: Dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    head = {"MCP-Protocol-Version": MCP_REVISION}
    if session_id:
        head["Mcp-Session-Id"] = session_id
    return Call("POST", "/mcp", lambda value: value, message, head)


def mcp_result(message: Any) -> Dict[str, Any]:
    if not isinstance(message, dict) or ("result" not in message and "error" not in message):
        raise Unreachable("the server did not answer a message")
    if "error" in message:
        raise ApiError(200, "mcp", str(message["error"].get("message", "error")))
    return dict(message["result"])


# --- events ------------------------------------------------------------------------------------------

class EventParser:
    """Lines of a stream of events become (name, data) pairs."""

    def __init__(self) -> None:
        self._name = ""
        self._data: List[str] = []

    def feed(self, line: str) -> Iterator[Tuple[str, Any]]:
        line = line.rstrip("\r\n")
        if not line:
            if self._data:
                yield self._name or "message", load("\n".join(self._data).encode())
            self._name, self._data = "", []
        elif line.startswith("event:"):
            self._name = line[6:].strip()
        elif line.startswith("data:"):
            self._data.append(line[5:].lstrip(" "))


def run_event(name: str, data: Any) -> Optional[Event]:
    if name == "output":
        return decode(Output, data)
    if name == "asked":
        return Asked(decode(Approval, data))
    return Finished(decode(Result, data)) if name == "result" else None


def task_event(name: str, data: Any) -> Optional[TaskEvent]:
    if name == "output":
        return decode(Output, data)
    return Ended(decode(Task, data)) if name == "end" else None


def as_answer(given: Union[str, Answer]) -> Answer:
    return given if isinstance(given, Answer) else Answer(given)
