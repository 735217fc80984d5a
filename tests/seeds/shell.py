"""Design 002: a shell tool with a command policy, which asks."""
TOOL = "shell"


def judge(*argv, verdict, **more):
    return "explain", {"profile": "workspace", "argv": list(argv)}, {"verdict": verdict, **more}


def run(*argv, options=(), **parameters):
    return "call", (TOOL, {"command": list(argv), **parameters}, options)


ROWS = [
    ("name", "schema", TOOL, {"name": TOOL}),
    ("command is a list of words", "schema", TOOL,
     {"inputSchema.properties.command.type": "array", "inputSchema.properties.command.items.type": "string", "inputSchema.required": ["command"]}),
    ("working_dir, timeout_seconds and pty", "schema", TOOL,
     {"inputSchema.properties.working_dir.type": "string", "inputSchema.properties.timeout_seconds.type": "integer",
      "inputSchema.properties.pty.description": "~terminal"}),
    ("the usage of the design", *run("ls", "-la", working_dir="src", timeout_seconds=10), {"exit_code": 0, "stdout": "~main\\.c"}),
    # Confinement
    ("it begins in the workspace", *run("pwd"), {"stdout": "{work}\n"}),
    ("working_dir", *run("pwd", working_dir="sub"), {"stdout": "{work}/sub\n"}),
    ("working_dir outside is refused", *run("pwd", working_dir="../outside"), {"exit_code": 125, "reason": "~outside of the workspace"}),
    ("working_dir by a link is refused", *run("pwd", working_dir="out"), {"exit_code": 125, "reason": "~outside of the workspace"}),
    ("../ is refused", *run("cat", "../outside/hosts"), {"exit_code": 126, "reason": "~leaves the workspace"}),
    ("an absolute path is refused", *run("cat", "/etc/passwd"), {"exit_code": 126, "reason": "~leaves the workspace"}),
    ("a link that leaves is refused", *run("cat", "out/hosts"), {"exit_code": 126, "reason": "~leaves the workspace"}),
    ("a link to a file outside is refused", *run("cat", "link-to-passwd"), {"exit_code": 126, "reason": "~leaves the workspace"}),
    ("a link inside is not", *run("cat", "link-dir/b.txt"), {"exit_code": 0, "stdout": "x\n"}),
    ("an absolute path inside is not", *run("cat", "{work}/a b"), {"exit_code": 0}),
    ("a sibling with the same beginning is outside", *judge("cat", "../work-evil/x", verdict="deny")),
    # Policy
    *[(f"allowed at once: {' '.join(words)}", *judge(*words, verdict="allow")) for words in
      (("ls", "-la"), ("cat", "a.txt"), ("grep", "-r", "x", "."), ("git", "status"), ("git", "diff"), ("wc", "-l", "a.txt"), ("find", ".", "-name", "x"))],
    *[(f"refused: {' '.join(words)}", *judge(*words, verdict="deny")) for words in
      (("sudo", "ls"), ("su",), ("rm", "-rf", "/"), ("mkfs.ext4", "x"), ("systemctl", "stop", "x"), ("iptables", "-F"), ("passwd",), ("mount", "a", "b"))],
    *[(f"asked: {' '.join(words)}", *judge(*words, verdict="ask")) for words in
      (("make",), ("npm", "install"), ("python3", "x.py"), ("git", "push"), ("rm", "a.txt"), ("sh", "-c", "ls"), ("frobnicate",))],
    ("without a person the answer says how to approve", *run("python3", "-c", "print(6 * 7)"),
     {"exit_code": 126, "reason": "=once~nacre approve (ap-\\w+)`, then retry"}),
    ("it has not run", *run("ls", "nothing-ran"), {"exit_code": 2}),
    ("a person approves it once", "nacre", ("approve", "{once}"), {"code": 0}),
    ("then it runs", *run("python3", "-c", "print(6 * 7)"), {"exit_code": 0, "stdout": "42\n"}),
    ("once is once", *run("python3", "-c", "print(6 * 7)"), {"exit_code": 126}),
    ("asked in a session", *run("git", "add", "x.py", options=("--session", "s1")), {"exit_code": 126, "reason": "=ever~nacre approve (ap-\\w+)"}),
    ("a person allows it for the session", "nacre", ("approve", "--session", "{ever}"), {"code": 0}),
    ("SessionAllow: it runs there", *run("git", "add", "x.py", options=("--session", "s1")), {"exit_code": 128, "stderr": "~not a git repository"}),
    ("... and again", *run("git", "add", "x.py", options=("--session", "s1")), {"exit_code": 128}),
    ("what runs other code is approved once only", *run("python3", "x.py", options=("--session", "s1")), {"reason": "=code~nacre approve (ap-\\w+)"}),
    ("... and a session is refused", "nacre", ("approve", "--session", "{code}"), {"code": 125, "err": "~cannot be approved for a session"}),
    ("in no other session", *run("git", "add", "x.py", options=("--session", "s2")), {"exit_code": 126, "reason": "=no~nacre approve (ap-\\w+)"}),
    ("it covers that and nothing else", *run("git", "push", options=("--session", "s1")), {"exit_code": 126}),
    ("a person refuses", "nacre", ("deny", "--reason", "not today", "{no}"), {"code": 0}),
    ("a no is told as a no, with its reason", *run("git", "add", "x.py", options=("--session", "s2")), {"exit_code": 126, "reason": "~not today"}),
    ("nobody is asked about a program that does not exist", *run("frobnicate"), {"exit_code": 127, "reason": "frobnicate: command not found"}),
    # No shell
    ("words are not read by a shell", *run("echo", "$HOME; $(id) | cat > x *"), {"stdout": "$HOME; $(id) | cat > x *\n"}),
    ("one string is no list", "call", (TOOL, {"command": "ls -la"}), {"exit_code": 125, "reason": "~list"}),
    ("an empty list", *run(), {"exit_code": 125, "reason": "~at least one"}),
    # Output
    ("stdout and stderr apart", *run("ls", "a.txt", "nothing"), {"exit_code": 2, "stdout": "a.txt\n", "stderr": "~nothing"}),
    ("their sizes are told", *run("echo", "four"), {"stdout_bytes": 5, "stderr_bytes": 0, "truncated": False, "binary": False}),
    ("1 MiB of each stream", "policy", "workspace", {"output.limit": "1M", "output.style": "bytes"}),
    ("more is cut, and kept in a file", *run("cat", "large.txt"), {"truncated": True, "stdout_bytes": 1500000, "output_file": "~/out$"}),
    ("binary output is told, not shown", *run("cat", "picture.png"), {"binary": True, "stdout": "~binary.*PNG", "output_file": "~/out$"}),
    # Time
    ("a time limit ends it", *run("tail", "-f", "a.txt", timeout_seconds=1), {"timed_out": True, "exit_code": 124}),
    ("default and maximum", "policy", "workspace", {"timeout.default": "120s", "timeout.max": "3600s"}),
    ("SIGTERM, then SIGKILL after the grace", "policy", "workspace", {"timeout.grace": "5s", "timeout.on_timeout": "kill"}),
    # Docker, terminals
    ("docker is asked about", *judge("docker", "ps", verdict="ask")),
    ("a start command can be configured", "policy", "workspace", {"docker.start": None, "docker.start_timeout": "30s"}),
    ("its socket is not in the box unless the operator says so", "policy", "workspace", {"docker.allow": False}),
    ("without one they do not", *run("ls"), {"exit_code": 0, "stdout": "~\na.txt\n"}),
    ("with one programs see it: ls has columns", *run("ls", pty=True), {"exit_code": 0, "output": "~ a\\.txt[ \t]+chain2[ \t]"}),
]
