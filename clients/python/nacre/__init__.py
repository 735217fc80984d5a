"""nacre: run commands of AI agents through a policy and a sandbox, by way of `nacre serve`."""
from .aio import AsyncApprover, AsyncClient, AsyncToolbox
from .client import Approver, Client, Toolbox
from .errors import ApiError, CommandFailed, NacreError, Refused, Unreachable
from .tools import RunShellTool, Tool, ToolAnswer, ToolResult
from .types import (Answer, Approval, Asked, Change, Changes, Box, Command, Conflict, Consent, Cover, Ended, Engine, Event, Explanation, Finished, Health, Held, Host,
                    Left, LookFinding, Mistake, Network, NetworkRule, Node, Order, Output, Piece, Processes, Request, Result, Room, Rule,
                    Sandbox, Session, Shell, Size, Task,
                    TaskEvent, TaskOutput, Terminal, Unreached, Usage, Undo)

__version__ = "0.1.0"
__all__ = [
    "Answer", "ApiError", "Approval", "Approver", "Asked", "AsyncApprover", "AsyncClient", "AsyncToolbox", "Box", "Client", "Command",
    "Change", "Changes", "CommandFailed", "Conflict", "Consent", "Cover", "Ended", "Engine", "Event", "Explanation", "Finished", "Health", "Held", "Host", "Left", "LookFinding", "Mistake", "NacreError",
    "Network", "NetworkRule", "Node", "Order", "Output", "Piece", "Processes", "Refused", "Request", "Result", "Room", "Rule", "RunShellTool",
    "Sandbox", "Session", "Shell", "Size", "Task", "TaskEvent", "TaskOutput", "Terminal", "Tool", "ToolAnswer", "Toolbox", "ToolResult", "Unreachable",
    "Unreached", "Usage", "Undo",
]
