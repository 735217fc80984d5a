"""Design 001: `run_command`, a shell for every agent."""
from seeds import ABSENT

TOOL = "run_command"
BLOCKED = ("sudo", "su", "reboot", "shutdown", "poweroff", "halt", "init", "systemctl", "mkfs", "dd", "fdisk", "parted", "mount", "umount",
           "chmod", "chown", "chgrp", "iptables", "ip6tables", "nft", "ifconfig", "ip", "dnf", "yum", "apt", "apt-get", "pacman", "zypper",
           "snap", "flatpak", "kill", "killall", "pkill")
AGENTS = {"writer": ("pdflatex paper.tex", "biber paper", "latexmk -pdf paper.tex", "wc -w paper.tex", "pandoc a.md -o a.docx",
                     "sort a.txt | head -n 1", "tail a.txt", "grep -c x a.txt", "find . -name '*.tex'", "cat a.txt"),
          "researcher": ("python3 analysis.py", "curl -s https://api.example.com/v1", "jq .items a.json"),
          "coder": ("pytest -q", "make", "git status"), "debugger": ("gdb -batch -ex bt --args ./app", "pytest -x")}
ANY = ("ls | wc -l", "du -sh .", "file a.txt", "unzip a.zip", "tar xzf a.tar.gz", "wc -l a.txt")


def judge(line, verdict, profile="universal", **more):
    return "explain", {"profile": profile, "command": line}, {"verdict": verdict, **more}


def agent(name, line, verdict, **more):
    return "explain", {"agent": name, "command": line}, {"verdict": verdict, **more}


def run(line, *options, **parameters):
    return "call", (TOOL, {"command": line, **parameters}, options)


ROWS = [
    ("name", "schema", TOOL, {"name": TOOL}),
    ("the description is not about coding", "schema", TOOL, {"description": "~Run a shell command in the workspace: a bash line", "title": ABSENT}),
    ("command is required, and nothing else", "schema", TOOL, {"inputSchema.required": ["command"], "inputSchema.properties.command.type": "string"}),
    ("working_dir", "schema", TOOL, {"inputSchema.properties.working_dir.type": "string"}),
    ("timeout in seconds: default and maximum", "schema", TOOL, {"inputSchema.properties.timeout.description": "~seconds .default 120, at most 600"}),
    ("an agent's own times are in its schema", "schema", (TOOL, ("--agent", "coder")),
     {"inputSchema.properties.timeout.description": "~default 300, at most 600"}),
    ("the agent's role and its commands are in the description", "schema", (TOOL, ("--agent", "writer")),
     {"description": "~You are 'writer': Compile LaTeX.*Allowed commands: pdflatex"}),
    # Every agent has it
    ("pipes, redirections and globs work", *run("echo a b > words.txt; cat words.t* | wc -w; ls *.py | sort"), {"stdout": "2\nx.py\n"}),
    ("files are counted", *run("ls src | wc -l"), {"stdout": "1\n"}),
    ("disk usage", *run("du -sh src"), {"success": True, "stdout": "~src\n"}),
    ("an archive is unpacked", *run("tar czf t.tgz a.txt && mkdir t && tar xzf t.tgz -C t && cat t/a.txt"), {"stdout": "one TODO\ntwo\n"}),
    *[(f"{name}: {line}", *agent(name, line, "allow")) for name, lines in AGENTS.items() for line in lines + ANY],
    # The blocklist
    *[(f"{name} is blocked", *judge(f"{name} x", "deny")) for name in BLOCKED],
    *[(f"{line} is blocked, wherever it stands", *judge(line, "deny")) for line in
      ("echo hi; sudo ls", "true && reboot", "ls | xargs kill", "echo $(su -c id)", "env A=1 mount x", "mkfs.ext4 /dev/sda1",
       "bash -c 'dd if=a of=b'", "find . -exec chmod 777 {} +", "nice /usr/bin/apt install x")],
    ("a blocked word is no blocked command", *judge("echo sudo reboot", "allow")),
    ("a refusal says which, and why", *run("sudo ls"), {"success": False, "exit_code": 126, "reason": "~'sudo' is blocked"}),
    ("what is refused does not begin", *run("touch began; sudo ls"), {"exit_code": 126}),
    ("... it did not", *run("ls began"), {"exit_code": 2}),
    # The workspace
    ("it begins in the workspace", *run("pwd"), {"stdout": "{work}\n"}),
    ("working_dir is inside", *run("pwd", working_dir="src"), {"stdout": "{work}/src\n"}),
    ("working_dir does not leave by ..", *run("pwd", working_dir="../outside"), {"exit_code": 125, "reason": "~outside of the workspace"}),
    ("working_dir does not leave by a link", *run("pwd", working_dir="out"), {"exit_code": 125, "reason": "~outside of the workspace"}),
    ("working_dir is not absolute elsewhere", *run("pwd", working_dir="/etc"), {"exit_code": 125, "reason": "~outside of the workspace"}),
    ("files outside are not there", *run("cat ../outside/hosts"), {"success": False, "stderr": "~No such file"}),
    ("a job is a directory of its own", "call", (TOOL, {"command": "pwd; touch mine"}, ("--policy", "{jobs}", "--session", "j1")),
     {"stdout": "~/job_j1\n"}),
    ("the same job is found again", "call", (TOOL, {"command": "ls"}, ("--policy", "{jobs}", "--session", "j1")), {"stdout": "mine\n"}),
    ("another has its own", "call", (TOOL, {"command": "ls"}, ("--policy", "{jobs}", "--session", "j2")), {"stdout": ""}),
    # Time and output
    ("120 s are the default", "policy", "universal", {"timeout.default": "120s"}),
    ("600 s are the maximum", "policy", "universal", {"timeout.max": "600s"}),
    ("a longer wish is capped, and said", *run("true", timeout=601), {"success": True, "notices": "~lowered to the maximum of 10m"}),
    ("a time limit ends the command", *run("sleep 600", timeout=1), {"timed_out": True, "exit_code": 124}),
    ("each stream has 50,000 characters, its tail", "policy", "universal", {"output.limit": 50000, "output.style": "tail"}),
    ("the end of long output is kept", *run("seq 20000"), {"truncated": True, "stdout": "~(?s)^(?!1\n).*20000\n$", "output_file": "~/out$"}),
    ("exit code and both streams", *run("echo a; echo b >&2; exit 3"), {"exit_code": 3, "stdout": "a\n", "stderr": "b\n", "success": False}),
    # Policies of agents
    ("a whitelist names what is allowed", *agent("writer", "python3 x.py", "deny", reason="~'python3' is not allowed here. Allowed: .*pdflatex.*wc")),
    ("a whitelist holds behind a pipe", *agent("writer", "ls | python3 -", "deny")),
    ("the global list holds for an agent", *agent("coder", "sudo make", "deny")),
    ("without a whitelist all but the list runs", *judge("frobnicate --all", "allow")),
    ("shell.allow, shell.deny and times as they stand", "nacre", ("policy", "check", "{app}"), {"code": 0}),
    ("they hold: allowed", "call", (TOOL, {"command": "ls | wc -l"}, ("--policy", "{app}")), {"success": True}),
    ("they hold: not in the list", "call", (TOOL, {"command": "du -sh ."}, ("--policy", "{app}")), {"exit_code": 126, "reason": "~Allowed: ls, wc"}),
    ("they hold: denied", "call", (TOOL, {"command": "cat a.txt"}, ("--policy", "{app}")), {"exit_code": 126}),
    ("they hold: the default time", "schema", (TOOL, ("--policy", "{app}", "--profile", "app-writer")),
     {"inputSchema.properties.timeout.description": "~default 240, at most 480"}),
    ("coding is another name of shell", "call", (TOOL, {"command": "du ."}, ("--policy", "{coding}")), {"exit_code": 126, "reason": "~Allowed: ls"}),
    ("the application's own file is converted", "nacre", ("policy", "import", "{own}"), {"code": 0, "out": "~inherits: universal", "err": "~tools.shell"}),
    # What remains is bounded
    ("a fork bomb ends at the limit of processes", "policy", "universal", {"sandbox.limits.processes": 512}),
    ("memory has a limit", "policy", "universal", {"sandbox.limits.memory": "4G"}),
    ("no root in the box", *run("cat /proc/self/status | grep CapEff"), {"stdout": "CapEff:\t0000000000000000\n"}),
    ("background is offered, too", *run("true", background=True), {"success": True, "task_id": "~^bash-"}),
]
