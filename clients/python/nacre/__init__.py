"""nacre: run commands of AI agents through a policy and a sandbox, by way of `nacre serve`."""
from .aio import AsyncApprover, AsyncClient, AsyncToolbox
from .client import Approver, Client, Toolbox
from .errors import ApiError, CommandFailed, NacreError, Refused, Unreachable
from .tools import RunShellTool, Tool, ToolAnswer, ToolResult
from .types import (Answer, Approval, Asked, Change, Changes, Command, Conflict, Consent, Ended, Engine, Event, Explanation, Finished, Health, Held, Host,
                    Left, Network, NetworkRule, Order, Output, Processes, Request, Result, Room, Rule, Sandbox, Session, Shell, Task,
                    TaskEvent, TaskOutput, Terminal, Unreached, Usage, Undo)

__version__ = "0.1.0"
__all__ = [
    "Answer", "ApiError", "Approval", "Approver", "Asked", "AsyncApprover", "AsyncClient", "AsyncToolbox", "Client", "Command",
    "Change", "Changes", "CommandFailed", "Conflict", "Consent", "Ended", "Engine", "Event", "Explanation", "Finished", "Health", "Held", "Host", "Left", "NacreError",
    "Network", "NetworkRule", "Order", "Output", "Processes", "Refused", "Request", "Result", "Room", "Rule", "RunShellTool",
    "Sandbox", "Session", "Shell", "Task", "TaskEvent", "TaskOutput", "Terminal", "Tool", "ToolAnswer", "Toolbox", "ToolResult", "Unreachable",
    "Unreached", "Usage", "Undo",
]
