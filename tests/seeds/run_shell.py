"""Design 003: `run_shell` and `POST /shell`, read-only commands."""
from seeds import ABSENT

TOOL = "run_shell"
ALLOWED = ("ls", "cat", "head", "tail", "less", "file", "stat", "find", "grep", "rg", "awk", "sed", "wc", "sort", "uniq", "cut", "tr", "diff",
           "pwd", "which", "whoami", "date", "env")
WORDS = {"grep": "grep x a.txt", "rg": "rg x a.txt", "awk": "awk 1 a.txt", "sed": "sed -n 1p a.txt", "cut": "cut -c1 a.txt", "tr": "tr a b", "diff": "diff a.txt x.py",
         "which": "which ls", "pwd": "pwd", "whoami": "whoami", "date": "date", "env": "env", "find": "find . -name a.txt", "ls": "ls -la"}
BLOCKED = ("rm", "rmdir", "mv", "cp", "mkdir", "touch", "chmod", "chown", "chgrp", "kill", "pkill", "wget", "curl", "nc", "ssh", "scp", "rsync", "python",
           "python3", "node", "bash", "sh", "exec", "pip", "npm", "apt", "brew", "yum")
FOUR = {"success": False, "stdout": "", "returncode": 126}


def post(command, **more):
    return "shell", {"command": command, "workspace": "{work}", "timeout": 30, **more}


def judge(command, verdict, **more):
    return "explain", {"profile": "readonly", "command": command}, {"verdict": verdict, **more}


ROWS = [
    ("name", "schema", TOOL, {"name": TOOL}),
    ("command, workspace and timeout", "schema", TOOL,
     {"inputSchema.required": ["command"], "inputSchema.properties.command.type": "string", "inputSchema.properties.workspace.type": "string",
      "inputSchema.properties.timeout.description": "~30"}),
    *[(f"{name} is in the whitelist", *judge(WORDS.get(name, f"{name} a.txt"), "allow")) for name in ALLOWED],
    *[(f"{name} is not", *judge(f"{name} x", "deny", reason=f"~'{name}' is refused as not in whitelist.*Allowed: awk, cat, .*wc")) for name in BLOCKED],
    *[(f"the metacharacter {mark!r} is refused by name", *judge(f"ls {mark} x", "deny", reason="~metacharacter"))
      for mark in (";", "|", "&&", "||", "$", "`", "$(", "${", ">", "<", ">>", "&")],
    ("in quotes, too", *judge("grep 'a|b' a.txt", "deny", reason="~metacharacter '\\|'")),
    ("an empty command", *post(""), {**FOUR, "status": 200, "stderr": "~empty"}),
    ("a quote that is not closed", *post("cat 'x"), {**FOUR, "stderr": "~quote"}),
    # The tests of the design
    ("rm -rf /", *post("rm -rf /"), {**FOUR, "status": 200, "stderr": "~not in whitelist"}),
    ("ls | cat", *post("ls | cat"), {**FOUR, "stderr": "~metacharacter"}),
    ("echo $(cat /etc/passwd)", *post("echo $(cat /etc/passwd)"), {**FOUR, "stderr": "~metacharacter"}),
    ("ls -la", *post("ls -la"), {"status": 200, "success": True, "stdout": "~a\\.txt", "stderr": "", "returncode": 0}),
    ("grep -r TODO .", *post("grep -r TODO ."), {"success": True, "stdout": "~\\./a\\.txt:one TODO"}),
    ("as a tool call, the same", "call", (TOOL, {"command": "grep -r TODO ."}), {"success": True, "stdout": "~\\./a\\.txt:one TODO", "returncode": 0}),
    # Read-only in truth
    *[(f"refused: {line}", *judge(line, "deny")) for line in
      ("find . -delete", "find . -exec rm {} +", "find . -fprint x", "sed -i s/a/b/ a.txt", "sed 'w x' a.txt", "sed 1e a.txt", "sort -o x a.txt",
       "awk 'BEGIN{system(0)}' a.txt", "env ls", "env python3", "rg --pre ls x", "date -s now", "less +!ls a.txt", "file -C -m x", "./tool", "/bin/ls")],
    ("sed reads", *post("sed -n 1p a.txt"), {"stdout": "one TODO\n"}),
    ("nothing can be written", *post("awk 'BEGIN{print 1 ARGV[1]}' x"), {"success": True}),
    ("/etc/passwd", *post("cat /etc/passwd"), {**FOUR, "stderr": "~leaves the workspace"}),
    ("/proc/cmdline", *post("cat /proc/cmdline"), {**FOUR, "stderr": "~leaves the workspace"}),
    ("../", *post("cat ../outside/hosts"), {**FOUR, "stderr": "~leaves the workspace"}),
    ("a link that leaves", *post("cat link-to-passwd"), {**FOUR, "stderr": "~leaves the workspace"}),
    ("a link to a directory that leaves", *post("ls out/"), FOUR),
    ("cd is no command", *post("cd /"), FOUR),
    ("it runs in the workspace", *post("pwd"), {"stdout": "{work}\n"}),
    ("in a workspace below the root", *post("cat b.txt", workspace="{work}/sub"), {"success": True, "stdout": "x\n"}),
    ("env shows nothing of the server", *post("env"), {"success": True, "stdout": "!~NACRE|TOKEN|XDG"}),
    ("quotes group words", *post("cat 'a b'"), {"success": True}),
    # The service
    ("a program's own failure", *post("cat nothing"), {"status": 200, "success": False, "stderr": "~nothing: No such file", "returncode": 1}),
    ("a workspace that is not there", *post("ls", workspace="/nonexistent"), {"status": 200, "success": False, "stderr": "Workspace not found", "returncode": 125}),
    ("one that is not below the root", *post("ls", workspace="/usr"), {"status": 200, "success": False, "stderr": "Workspace not found"}),
    ("the time limit", *post("tail -f a.txt", timeout=1), {"success": False, "stderr": "~timed out after 1s", "returncode": 124}),
    ("30 s are default and maximum", "policy", "readonly", {"timeout.default": "30s", "timeout.max": "30s"}),
    ("a body without a command: 400 with the four members", "shell", {"workspace": "{work}"},
     {"status": 400, "success": False, "stdout": "", "stderr": "~command", "returncode": 125}),
    ("a time limit of no kind: 400", *post("ls", timeout="x"), {"status": 400, "success": False, "stderr": "~timeout", "returncode": 125}),
    ("a wrong token: 401 with the four members", "shell", ({"command": "ls"}, "wrong"), {"status": 401, "success": False, "stdout": "", "stderr": "~token", "returncode": 125}),
    ("parameters of no kind as a tool call", "call", (TOOL, {"cmd": "ls"}), {"success": False, "stdout": "", "stderr": "~cmd", "returncode": 125}),
    # Nothing of the host; everything in the log
    ("a refusal tells no path of the host", *post("rm x"), {"stderr": "!~/usr|/home|/tmp|errno"}),
    ("a workspace that is forbidden tells no path", *post("ls", workspace="/root"), {"stderr": "!~/root"}),
    ("what ran is in the audit log", "nacre", ("audit", "show", "--json", "--limit", "400"), {"out": "~grep -r TODO"}),
    ("so is what was refused", "nacre", ("audit", "show", "--json", "--limit", "400"), {"out": "~rm -rf /"}),
    ("the log is whole", "nacre", ("audit", "verify"), {"code": 0}),
    ("two checks: the keeper's is told", "nacre", ("explain", "--json", "--profile", "readonly", "-c", "ls | cat"), {"out": "~\"verdict\": ?\"deny\""}),
    ("a result has four members and no more", "call", (TOOL, {"command": "ls sub"}), {"stdout": "b.txt\n", "reason": ABSENT, "exit_code": ABSENT}),
]
