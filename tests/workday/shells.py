"""Two shells with one face: plain bash as agents have it elsewhere, and nacre behind MCP."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import threading
import time

WAIT = 40  # seconds that something may take to be seen


class Plain:
    """Each call is a new bash; the directory and exported variables stay."""

    def __init__(self, work, env, keep):
        self.cwd, self.env, self.keep = str(work), dict(env), keep
        self.tasks, self.groups = {}, []

    def start(self, command, log):
        with open(log, "wb") as out:
            popen = subprocess.Popen(["bash", "-c", command], cwd=self.cwd, env=self.env, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self.groups.append(popen.pid)
        return popen

    def sh(self, command):
        cwd, variables = self.keep / "cwd", self.keep / "env"
        popen = self.start(f"_keep() {{ pwd -P >{cwd}; env -0 >{variables}; }}\n{command}\n_code=$?; _keep; exit $_code",
                           self.keep / "out")
        try:
            code = popen.wait(WAIT * 3)
        except subprocess.TimeoutExpired:
            return None, "no end"
        if cwd.exists():
            self.cwd = cwd.read_text().strip()
            pairs = (entry.split("=", 1) for entry in variables.read_text().split("\0") if "=" in entry)
            self.env = {name: value for name, value in pairs if name not in ("_", "SHLVL", "OLDPWD", "PWD")}
        return code, (self.keep / "out").read_text(errors="replace")

    def task(self, name, command):
        self.tasks[name] = self.start(command, self.keep / name)

    def output(self, name):
        return (self.keep / name).read_text(errors="replace")

    def stop(self, name):
        try:
            os.killpg(self.tasks[name].pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.tasks[name].wait()

    def talk(self, command, lines):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.cwd)
            os.execvpe("bash", ["bash", "-c", f"stty rows 24 cols 80; {command}"], {**self.env, "TERM": "xterm"})
        text = ""

        def see(pattern, seconds):
            nonlocal text
            begin, end = len(text), time.monotonic() + seconds
            while time.monotonic() < end and not re.search(pattern, text[begin:]):
                if select.select([fd], [], [], 0.2)[0]:
                    try:
                        text += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", os.read(fd, 65536).decode(errors="replace"))
                    except OSError:
                        return
        for pattern, typed in lines:
            see(pattern, WAIT)
            os.write(fd, typed.encode() + b"\r")
        see("(?!)", 3)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(pid, 0)
        os.close(fd)
        return text

    def close(self):
        for group in self.groups:  # which we have made ourselves
            try:
                os.killpg(group, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass


class Nacre:
    """One connection to `nacre mcp`."""

    patience = WAIT * 4

    def __init__(self, nacre, work, env, extra, options=()):
        self.extra, self.count, self.answers = extra, 0, {}
        self.told = threading.Condition()
        self.tasks = {}
        self.popen = subprocess.Popen([nacre, "mcp", "--profile", "bash", "--stop-tasks", "--workspace", work, *options], env=env, cwd=work,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        threading.Thread(target=self.read, daemon=True).start()
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "workday", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self):
        for line in self.popen.stdout:
            message = json.loads(line)
            with self.told:
                if "method" not in message:
                    self.answers[message.get("id")] = message
                self.told.notify_all()

    def send(self, message):
        self.popen.stdin.write(json.dumps(message).encode() + b"\n")
        self.popen.stdin.flush()

    def request(self, method, params):
        self.count += 1
        number = self.count
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        with self.told:
            if not self.told.wait_for(lambda: number in self.answers, self.patience):
                raise TimeoutError(f"no answer to {method}")
            answer = self.answers.pop(number)
        return answer["result"]

    def call(self, tool, arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        facts = result.get("_meta", {}).get("dev.nacre/run", {})
        return facts, "\n".join(part.get("text", "") for part in result["content"] if part["type"] == "text")

    def sh(self, command):
        facts, text = self.call("Bash", {"command": command, "env": self.extra})
        return facts.get("exit_code"), re.sub(r"\n?\[exit [^\n]*\]\n?\Z", "", text)

    def task(self, name, command, **more):
        facts, text = self.call("Bash", {"command": command, "env": self.extra, "run_in_background": True, **more})
        self.tasks[name] = facts["task_id"]

    def output(self, name):
        return self.call("TaskOutput", {"task_id": self.tasks[name], "all": True})[1]

    def stop(self, name):
        self.call("TaskStop", {"task_id": self.tasks.pop(name)})

    def talk(self, command, lines):
        self.task("talk", command, pty=True)
        text = ""

        def see(pattern, seconds):
            nonlocal text
            begin, end = len(text), time.monotonic() + seconds
            while time.monotonic() < end and not re.search(pattern, text[begin:]):
                new = self.call("TaskOutput", {"task_id": self.tasks["talk"]})[1]
                text += new
                if "running" not in new.rsplit("\n", 1)[-1]:
                    return
                time.sleep(0.1)
        for pattern, typed in lines:
            see(pattern, WAIT)
            self.call("shell_input", {"task_id": self.tasks["talk"], "text": typed, "keys": ["Enter"]})
        see("(?!)", 3)
        self.stop("talk")
        return text

    def close(self):
        for name in list(self.tasks):
            self.stop(name)
        self.popen.stdin.close()
        try:
            self.popen.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self.popen.stdout.close()
