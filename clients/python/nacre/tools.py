"""Tools for a model: schemas in the shapes that model APIs want, and tool objects in the shapes that agent frameworks call.

Names, descriptions and schemas are the server's own, made from the profiles in force, so what the
model reads is what holds.
"""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from .errors import NacreError

if TYPE_CHECKING:
    from .aio import AsyncClient
    from .client import Client


@dataclasses.dataclass(frozen=True)
class Tool:
    """A tool as the server describes it."""
    name: str
    description: str
    input_schema: Dict[str, Any]

    @classmethod
    def read(cls, value: Dict[str, Any]) -> Tool:
        return cls(str(value["name"]), str(value.get("description", "")), dict(value["inputSchema"]))

    def openai(self) -> Dict[str, Any]:
        """A tool of the chat completions API."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}

    def openai_response(self) -> Dict[str, Any]:
        """A tool of the responses API."""
        return {"type": "function", "name": self.name, "description": self.description, "parameters": self.input_schema,
                "strict": False}

    def anthropic(self) -> Dict[str, Any]:
        """A tool of the messages API."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}


@dataclasses.dataclass(frozen=True)
class ToolAnswer:
    """What a model is told. `is_error`: the command did not run, or it reached its time limit."""
    text: str
    is_error: bool
    facts: Dict[str, Any]
    """Exit code, verdict, task and so on; see docs/mcp.md, `dev.nacre/run`."""

    @classmethod
    def read(cls, result: Dict[str, Any]) -> ToolAnswer:
        text = "\n".join(str(item["text"]) for item in result.get("content", []) if item.get("type") == "text")
        return cls(text, bool(result.get("isError")), dict(result.get("_meta", {}).get("dev.nacre/run", {})))

    def openai(self, tool_call_id: str) -> Dict[str, Any]:
        """The message that answers a tool call of the chat completions API."""
        return {"role": "tool", "tool_call_id": tool_call_id, "content": self.text}

    def anthropic(self, tool_use_id: str) -> Dict[str, Any]:
        """The block that answers a tool use of the messages API."""
        return {"type": "tool_result", "tool_use_id": tool_use_id, "content": self.text, "is_error": self.is_error}


@dataclasses.dataclass(frozen=True)
class ToolResult:
    """What a tool of a ReAct agent returns."""
    success: bool
    output: str = ""
    error: Optional[str] = None


class RunShellTool:
    """One read-only command in a workspace, by POST /shell: a tool for ReAct and LangChain agents.

    ReAct: `await tool.execute("ls -la")` gives a ToolResult. LangChain: `name`, `description`, `args`,
    `invoke`, `ainvoke`, `run` and `arun`, whose text is the output or the reason.
    """

    name = "run_shell"
    description = "Run one read-only shell command like ls, cat, grep or find. No pipes, redirections or variables."
    args: Dict[str, Any] = {"command": {"type": "string", "description": "the command and its words"}}
    return_direct = False

    def __init__(self, client: Union[Client, AsyncClient], workspace: Optional[str] = None, timeout: int = 30) -> None:
        # Both clients know the same server; which one the caller has is their business.
        from .aio import AsyncClient as Waiting
        from .client import Client as Plain
        where = client.address
        url = f"unix:{where.unix}" if where.unix else f"http://{where.name}"
        self._client = client if isinstance(client, Plain) else Plain(url, token=where.token)
        self._aclient = client if isinstance(client, Waiting) else Waiting(url, token=where.token)
        self.workspace, self.timeout = workspace, timeout

    @property
    def args_schema(self) -> Dict[str, Any]:
        return {"type": "object", "properties": self.args, "required": ["command"], "additionalProperties": False}

    def as_tool(self) -> Tool:
        """For the schemas of model APIs."""
        return Tool(self.name, self.description, self.args_schema)

    async def execute(self, command: str) -> ToolResult:
        try:
            shell = await self._aclient.shell(command, self.workspace, self.timeout)
        except NacreError as error:
            return ToolResult(False, error=str(error))
        return ToolResult(shell.success, shell.stdout, None if shell.success else shell.stderr)

    def invoke(self, input: Union[str, Dict[str, Any]], config: Optional[Any] = None, **more: Any) -> str:
        try:
            shell = self._client.shell(self._command(input), self.workspace, self.timeout)
        except NacreError as error:
            return f"Error: {error}"
        return shell.stdout if shell.success else self._failure(shell.stdout, shell.stderr, shell.returncode)

    async def ainvoke(self, input: Union[str, Dict[str, Any]], config: Optional[Any] = None, **more: Any) -> str:
        try:
            shell = await self._aclient.shell(self._command(input), self.workspace, self.timeout)
        except NacreError as error:
            return f"Error: {error}"
        return shell.stdout if shell.success else self._failure(shell.stdout, shell.stderr, shell.returncode)

    run, arun, __call__ = invoke, ainvoke, invoke

    @staticmethod
    def _command(given: Union[str, Dict[str, Any]]) -> str:
        return given if isinstance(given, str) else str(given["command"])

    @staticmethod
    def _failure(stdout: str, stderr: str, code: int) -> str:
        parts: List[str] = [part.rstrip("\n") for part in (stdout, stderr) if part]
        return "\n".join([*parts, f"[exit {code}]"])
