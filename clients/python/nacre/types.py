"""What the server takes and gives, as dataclasses.

The names of the members are those of the HTTP interface. The tests compare every class here with the
OpenAPI document of a running server. Members that a newer server adds are ignored.
"""
from __future__ import annotations

import dataclasses
import functools
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import CommandFailed, NacreError, Refused

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Terminal:
    """The size of a terminal."""
    rows: int
    cols: int


@dataclasses.dataclass(frozen=True)
class Request:
    """A command. `command` is a line, or a list of words that no shell reads."""
    command: Union[str, Sequence[str]]
    profile: Optional[str] = None
    workspace: Optional[str] = None
    cwd: Optional[str] = None
    env: Optional[Mapping[str, str]] = None
    input: Optional[str] = None
    timeout_ms: Optional[int] = None
    idle_timeout_ms: Optional[int] = None
    approval_timeout_ms: Optional[int] = None
    description: Optional[str] = None
    output_mode: Optional[str] = None
    background: Optional[bool] = None
    pty: Union[None, bool, Terminal] = None
    force: Optional[bool] = None
    session: Optional[str] = None

    def to_json(self) -> Dict[str, Any]:
        body: Dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if field.name == "command" and not isinstance(value, str):
                body["argv"] = list(value)
            elif isinstance(value, Terminal):
                body[field.name] = dataclasses.asdict(value)
            elif field.name == "env":
                body[field.name] = dict(value)
            else:
                body[field.name] = value
        return body


@dataclasses.dataclass(frozen=True)
class Rule:
    id: str
    file: Optional[str]
    line: Optional[int]


@dataclasses.dataclass(frozen=True)
class Consent:
    """The approval that a result is about."""
    id: str
    state: Optional[str]
    by: Optional[str]


@dataclasses.dataclass(frozen=True)
class Left:
    """A process that the command left running."""
    pid: int
    name: str
    ports: List[int]


@dataclasses.dataclass(frozen=True)
class Change:
    """A: added, D: deleted, M: contents, m: mode or times, O: a directory made anew, T: type, R: renamed."""
    kind: str
    path: str
    other_names: int = 0
    directory: bool = False
    was: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Conflict:
    """What others have changed meanwhile."""
    path: str
    why: str


@dataclasses.dataclass(frozen=True)
class Changes:
    """What the command changed in its view of the workspace."""
    state: str
    added: int
    changed: int
    deleted: int
    bytes: int
    list: List[Change]
    more: int
    conflicts: List[Conflict]


@dataclasses.dataclass(frozen=True)
class Undo:
    """Whether the command can be taken back."""
    available: bool
    why: Optional[str]
    expires_ms: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Held:
    """A change of a protected path that waits for a person."""
    path: str
    id: str


@dataclasses.dataclass(frozen=True)
class Processes:
    total: int
    ended: List[str]
    killed: List[str]


@dataclasses.dataclass(frozen=True)
class Sandbox:
    tier: Optional[str]
    layers: List[str]
    missing: List[str]
    limit_hit: Optional[str]


@dataclasses.dataclass(frozen=True)
class Room:
    id: str
    generation: int
    fresh: bool


@dataclasses.dataclass(frozen=True)
class Unreached:
    name: str
    port: Optional[int]
    count: int
    reason: str
    rule: Optional[str]


@dataclasses.dataclass(frozen=True)
class Network:
    """What became of the connections of a command whose profile allows names."""

    connections: int
    refused_count: int
    refused: List[Unreached]


@dataclasses.dataclass(frozen=True)
class Usage:
    cpu_ms: int
    max_rss_kb: int


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a command. A refusal is a result, too: `verdict`, `reason` and `recommended` tell."""
    success: bool
    exit_code: int
    signal: Optional[str]
    timed_out: bool
    duration_ms: int
    truncated: bool
    stdout_bytes: int
    stderr_bytes: int
    output_file: Optional[str]
    stderr_file: Optional[str]
    task_id: Optional[str]
    background: bool
    left_running: List[Left]
    verdict: Optional[str]
    reason: Optional[str]
    rule: Optional[Rule]
    recommended: List[str]
    approval: Optional[Consent]
    left_to_sandbox: bool
    killed: int
    processes: Processes
    notices: List[str]
    sandbox: Sandbox
    room: Optional[Room]
    network: Optional[Network]
    usage: Usage
    output: str = ""
    stdout: str = ""
    stderr: str = ""
    stages: List[int] = dataclasses.field(default_factory=list)
    note: Optional[str] = None
    held: List[Held] = dataclasses.field(default_factory=list)
    changes: Optional[Changes] = None
    undo: Optional[Undo] = None

    @property
    def refused(self) -> bool:
        """Whether the command did not run: the policy or a person said no, or it could not be started."""
        return not self.success and self.task_id is None

    @property
    def text(self) -> str:
        """The output, whichever way the streams came."""
        return self.output or self.stdout + self.stderr

    def check(self) -> Result:
        """This result, or an exception if the command was refused or failed."""
        if self.refused:
            raise Refused(self.verdict, self.reason or "the command was refused", self.recommended,
                          self.rule.id if self.rule else None, self.approval.id if self.approval else None)
        if not self.success:
            raise CommandFailed(self.exit_code, self.reason or self.stderr or self.output, self.signal, self.timed_out)
        return self


@dataclasses.dataclass(frozen=True)
class Shell:
    """The answer of POST /shell."""
    success: bool
    stdout: str
    stderr: str
    returncode: int


@dataclasses.dataclass(frozen=True)
class Engine:
    client: bool
    allow: bool


@dataclasses.dataclass(frozen=True)
class Command:
    """One command of a line, and what is decided about it."""
    verdict: str
    reason: Optional[str]
    rule: Optional[Rule]
    left_to_sandbox: bool
    words: List[Optional[str]]
    via: Optional[str]
    resolved: Optional[str]
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class NetworkRule:
    list: str
    entry: str
    file: Optional[str]
    line: int
    set: Optional[str]
    source: Optional[str]


@dataclasses.dataclass(frozen=True)
class Host:
    """A host that stands in a line, and what the profile says about it."""

    name: str
    port: Optional[int]
    verdict: str
    reason: Optional[str]
    rule: Optional[NetworkRule]
    runner_up: Optional[NetworkRule]
    in_force: bool


@dataclasses.dataclass(frozen=True)
class Node:
    """A part of a line, and what it does. `start` and `end` are bytes of `source`; `command` is an index into `commands`."""
    kind: str
    start: int
    end: int
    text: str
    what: str
    children: List[Node]
    command: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Mistake:
    """Why a line cannot be read, and where."""
    message: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Box:
    """The sandbox that the profile asks for."""
    tier: str
    network: str
    engine: str
    limits: List[str]
    writable: List[str]


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What would be decided about a command, and why."""
    verdict: str
    reason: Optional[str]
    rule: Optional[Rule]
    left_to_sandbox: bool
    recommended: List[str]
    docker: Engine
    status: str
    canonical: Optional[str]
    commands: List[Command]
    hosts: List[Host]
    source: str
    tree: List[Node]
    error: Optional[Mistake]
    box: Box


@dataclasses.dataclass(frozen=True)
class Size:
    """Of a terminal."""
    rows: int
    cols: int


@dataclasses.dataclass(frozen=True)
class Task:
    task_id: str
    state: str
    running: bool
    command: Optional[str]
    description: Optional[str]
    principal: Optional[str]
    background: bool
    started_ms: int
    duration_ms: int
    exit_code: Optional[int]
    signal: Optional[str]
    stdout_bytes: int
    stderr_bytes: int
    door: Optional[str]
    profile: Optional[str]
    session: Optional[str]
    workspace: Optional[str]
    cwd: Optional[str]
    terminal: Optional[Size]
    tier: Optional[str]
    layers: List[str]
    missing: List[str]
    cpu_ms: Optional[int]
    max_rss_kb: Optional[int]
    timeout_ms: Optional[int]
    approval: Optional[str]
    processes: Optional[int]
    ports: List[int]
    published: List[str]


@dataclasses.dataclass(frozen=True)
class Order(Task):
    """A task after an order to it."""
    was_running: bool


@dataclasses.dataclass(frozen=True)
class TaskOutput(Task):
    """A piece of a task's output; the next one begins at `next`."""
    truncated: bool
    next: int
    output: str = ""
    stdout: str = ""
    stderr: str = ""


@dataclasses.dataclass(frozen=True)
class Session:
    room: str
    session: str
    principal: str
    profile: Optional[str]
    workspace: Optional[str]
    cwd: Optional[str]
    variables: List[str]
    ports: List[int]
    generation: int
    made_ms: int
    used_ms: int
    in_use: bool
    tasks: List[str]
    bytes: Optional[int] = None
    files: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Piece:
    """A piece of what would run. `finding` is an index into the findings: why it is marked."""
    text: str
    kind: str
    finding: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class LookFinding:
    """Why something is a risk: `low`, `medium` or `high`."""
    level: str
    what: str
    text: str


@dataclasses.dataclass(frozen=True)
class Cover:
    """What an answer covers, or why it is not offered."""
    answer: str
    offered: bool
    text: str


@dataclasses.dataclass(frozen=True)
class Approval:
    """A question to a person. `answers` lists the answers that are possible."""
    id: str
    state: str
    created_ms: int
    expires_ms: int
    kind: str
    title: str
    pieces: List[Piece]
    risk: str
    findings: List[LookFinding]
    programs: List[str]
    limits: List[str]
    covers: List[Cover]
    terminal: bool
    names: str
    rule_line: int
    env: List[str]
    files: List[str]
    answers: List[str]
    principal: Optional[str] = None
    door: Optional[str] = None
    session: Optional[str] = None
    profile: Optional[str] = None
    command: Optional[str] = None
    description: Optional[str] = None
    workspace: Optional[str] = None
    cwd: Optional[str] = None
    sandbox: Optional[str] = None
    network: Optional[str] = None
    reaches: Optional[str] = None
    engine: Optional[str] = None
    input: Optional[str] = None
    held: Optional[str] = None
    tree_files: Optional[int] = None
    rule_id: Optional[str] = None
    rule_file: Optional[str] = None
    reason: Optional[str] = None
    answer: Optional[str] = None
    answered_by: Optional[str] = None
    answer_reason: Optional[str] = None
    answered_ms: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Health:
    status: str
    version: str


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to an approval: `once`, `session`, `sub` or `deny`."""
    answer: str
    reason: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Output:
    """Event: a piece of the output. `missing_bytes`: so many bytes were lost before it."""
    stream: str
    text: str = ""
    missing_bytes: int = 0


@dataclasses.dataclass(frozen=True)
class Asked:
    """Event: a person must answer before the command starts."""
    approval: Approval


@dataclasses.dataclass(frozen=True)
class Finished:
    """Event: the result of the command, the last event of its stream."""
    result: Result


@dataclasses.dataclass(frozen=True)
class Ended:
    """Event: the task that was followed has ended."""
    task: Task


Event = Union[Output, Asked, Finished]
TaskEvent = Union[Output, Ended]


@functools.lru_cache(maxsize=None)
def _hints(cls: Any) -> Dict[str, Any]:
    return get_type_hints(cls)


def _convert(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) is Union:
        hint = next((arm for arm in get_args(hint) if dataclasses.is_dataclass(arm)), None)
    elif get_origin(hint) is list and isinstance(value, list):
        return [_convert(get_args(hint)[0], item) for item in value]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return decode(hint, value)
    return value


def decode(cls: Type[T], value: Any) -> T:
    """An object of the class from the JSON object; unknown members are ignored."""
    try:
        hints: Dict[str, Any] = _hints(cls)  # type: ignore[arg-type] # a class is hashable
        return cls(**{name: _convert(hint, value[name]) for name, hint in hints.items() if name in value})
    except TypeError as error:
        raise NacreError(f"the server's answer is not a {cls.__name__}: {error}") from None
