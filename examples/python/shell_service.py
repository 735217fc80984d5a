"""A sandbox service on FastAPI: POST /shell runs one read-only command in a workspace.

    nacre serve --workspace /srv/repos
    uvicorn shell_service:app --port 8000

nacre checks the command twice, in the server and in the process that runs it, and its audit log
remembers every request. So this service has no list of commands of its own.
"""
import logging
from typing import Optional

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import BaseModel

import nacre

app = FastAPI(title="sandbox")
client = nacre.AsyncClient()  # NACRE_URL and NACRE_TOKEN, else the socket of this user's server
logger = logging.getLogger("sandbox")


class ShellRequest(BaseModel):
    command: str
    workspace: Optional[str] = None
    timeout: int = 30


class ShellResponse(BaseModel):
    success: bool
    stdout: str = ""
    stderr: str = ""
    returncode: int


@app.post("/shell", response_model=ShellResponse)
async def execute_shell(request: ShellRequest) -> JSONResponse:
    """Execute a command of the whitelist."""
    logger.info("shell command: %s in %s", request.command, request.workspace)
    try:
        done = await client.shell(request.command, request.workspace, request.timeout)
    except nacre.ApiError as error:
        return answer(error.status, ShellResponse(success=False, stderr=error.message, returncode=125))
    except nacre.NacreError:
        return answer(503, ShellResponse(success=False, stderr="The sandbox is not available. Retry later.", returncode=125))
    return answer(200, ShellResponse(success=done.success, stdout=done.stdout, stderr=done.stderr, returncode=done.returncode))


def answer(status: int, body: ShellResponse) -> JSONResponse:
    return JSONResponse(body.dict(), status_code=status)
