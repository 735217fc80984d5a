"""What can go wrong, from the least to the most particular."""
from __future__ import annotations

from typing import List, Optional, Sequence


class NacreError(Exception):
    """Every error of this package."""


class Unreachable(NacreError):
    """There is no server, or it went away in the middle of an answer."""


class ApiError(NacreError):
    """The server did not do what it was asked to. `retry_after` is in seconds, if the server names a time."""

    def __init__(self, status: int, kind: str, message: str, retry_after: Optional[int] = None) -> None:
        super().__init__(f"{message} (HTTP {status})")
        self.status = status
        self.kind = kind
        self.message = message
        self.retry_after = retry_after


class Refused(NacreError):
    """The command did not run. `recommended` lists what to use instead.

    `verdict` is that of the policy; None: the request was turned away before, as for a directory that is not there.
    """

    def __init__(self, verdict: Optional[str], reason: str, recommended: Sequence[str], rule: Optional[str], approval: Optional[str]) -> None:
        advice = f" Use instead: {', '.join(recommended)}." if recommended else ""
        super().__init__(reason + advice)
        self.verdict = verdict
        self.reason = reason
        self.recommended: List[str] = list(recommended)
        self.rule = rule
        self.approval = approval


class CommandFailed(NacreError):
    """The command ran, and failed or took too long."""

    def __init__(self, exit_code: int, message: str, signal: Optional[str], timed_out: bool) -> None:
        super().__init__(f"exit code {exit_code}: {message.strip()}")
        self.exit_code = exit_code
        self.signal = signal
        self.timed_out = timed_out
