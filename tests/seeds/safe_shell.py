"""Design 000: `safe.shell`, one program with arguments, for tests and verification."""
from seeds import ABSENT

TOOL = "safe_shell"


def ask(command, *args, force=False, **expected):
    return ("explain", {"profile": "verify", "command": command, "args": list(args), "force": force}, expected)


def deny(command, *args, rule=None, force=False, why=None):
    door, call, expected = ask(command, *args, force=force)
    return door, call, {"verdict": "deny", **({"rule.id": rule} if rule else {}), **({"reason": "~" + why} if why else {})}


def nudge(command, *args, use):
    door, call, _ = ask(command, *args)
    return door, call, {"verdict": "nudge", "recommended": use, "reason": "~" + use[0].replace(".", r"\.")}


def python(code, **more):
    return {"command": "python3", "args": ["-c", code], **more}


ROWS = [
    # 1. Tool specification
    ("the tool is found by the design's own name", "mcp", ("safe.shell", python("print(6 * 7)")), {"text": "~42", "is_error": False}),
    ("name", "schema", TOOL, {"name": TOOL}),
    ("the description says what it is for", "schema", TOOL, {"description": "~compiler, a test, or a program that was just built"}),
    ("the description says how output is cut", "schema", (TOOL, ("--profile", "verify")), {"description": "~16384 bytes the beginning and the end"}),
    ("command is a string", "schema", TOOL, {"inputSchema.properties.command.type": "string"}),
    ("args is a list of strings", "schema", TOOL, {"inputSchema.properties.args.type": "array", "inputSchema.properties.args.items.type": "string"}),
    ("input is a string", "schema", TOOL, {"inputSchema.properties.input.type": "string"}),
    ("output_mode has four values", "schema", TOOL,
     {"inputSchema.properties.output_mode.enum": ["separate", "merged", "stdout", "stderr"],
      "inputSchema.properties.output_mode.description": "~default merged"}),
    ("force is a boolean, and says what it does not override", "schema", TOOL,
     {"inputSchema.properties.force.type": "boolean", "inputSchema.properties.force.description": "~blocked programs stay blocked"}),
    ("timeout_millis: default and maximum", "schema", TOOL,
     {"inputSchema.properties.timeout_millis.type": "integer",
      "inputSchema.properties.timeout_millis.description": "~default 5000, at most 30000"}),
    ("only command is required", "schema", TOOL, {"inputSchema.required": ["command"]}),
    ("arguments reach the program as they are", "call", (TOOL, {"command": "python3", "args": ["-c", "import sys; print(sys.argv[1:])", "a b|c>d;$e`f"]}),
     {"success": True, "output": "~a b\\|c>d;\\$e`f"}),
    ("input is standard input", "call", (TOOL, python("print(input().upper())", input="hello\n")), {"output": "HELLO\n"}),
    ("without input standard input is empty", "call", (TOOL, python("import sys; print(repr(sys.stdin.read()))")), {"output": "''\n"}),
    ("merged is the default, in true order", "call",
     (TOOL, python("import sys\nfor s in (sys.stdout, sys.stderr) * 2: print(s.name, file=s, flush=True)")),
     {"output": "<stdout>\n<stderr>\n<stdout>\n<stderr>\n", "stdout": ABSENT}),
    ("separate: two members", "call", (TOOL, python("import sys; print(1); print(2, file=sys.stderr)", output_mode="separate")),
     {"stdout": "1\n", "stderr": "2\n", "output": ABSENT}),
    ("stdout alone, with the file of the hidden stderr", "call",
     (TOOL, python("import sys; print(1); print(2, file=sys.stderr)", output_mode="stdout")),
     {"stdout": "1\n", "stderr": ABSENT, "stderr_file": "~/err$"}),
    ("stderr alone, with the file of the hidden stdout", "call",
     (TOOL, python("import sys; print(1); print(2, file=sys.stderr)", output_mode="stderr")),
     {"stderr": "2\n", "stdout": ABSENT, "output_file": "~/out$"}),
    ("an output_mode of no kind is refused", "call", (TOOL, python("1", output_mode="both")), {"exit_code": 125, "reason": "~output_mode"}),
    ("the exit code of the program", "call", (TOOL, python("raise SystemExit(3)")), {"success": False, "exit_code": 3}),
    ("a program that is not there", "call", (TOOL, {"command": "./nothing"}), {"exit_code": 127, "reason": "~no such file"}),
    ("wrong parameters are answered as JSON", "call", (TOOL, {}), {"success": False, "exit_code": 125, "output": "", "reason": "~'command' is missing"}),
    ("a parameter that there is not", "call", (TOOL, {"command": "node", "argv": []}), {"exit_code": 125, "reason": "~argv"}),
    # 2. Safety: no shell
    ("no shell reads the words", "call", (TOOL, {"command": "python3", "args": ["-c", "import sys; print(sys.argv[1])", "$HOME $(id) *"]}),
     {"output": "$HOME $(id) *\n"}),
    *[(f"{name} is allowed", *ask(name, "x.txt", verdict="allow")) for name in ("cargo", "npm", "node", "python", "python3")],
    ("go run is allowed", *ask("go", "run", ".", verdict="allow")),
    ("a program of the workspace is allowed", *ask("./tool", "--json", verdict="allow")),
    ("in a directory, too", *ask("bin/tool", verdict="allow")),
    ("a built program runs and speaks JSON-RPC", "call", (TOOL, {"command": "./server", "input": '{"id": 1}'}), {"success": True, "output": '~"id": 1'}),
    ("what leads out of the workspace is refused", *deny("../outside-tool")),
    ("by a link, too", *deny("./link-to-true")),
    *[(f"{name} of relative paths is allowed", *ask(name, *words, verdict="allow"))
      for name, words in (("rm", ["a.txt"]), ("mv", ["a.txt", "c.txt"]), ("cp", ["a.txt", "sub/c.txt"]))],
    *[(f"{name} of an absolute path is blocked", *deny(name, *words)) for name, words in
      (("rm", ["/etc/passwd"]), ("mv", ["a.txt", "/tmp/x"]), ("cp", ["/etc/passwd", "x"]))],
    *[(f"{name} that leaves by .. is blocked", *deny(name, *words)) for name, words in
      (("rm", ["../x"]), ("mv", ["a.txt", "sub/../../x"]), ("cp", ["../x", "."]))],
    ("rm through a link that leaves is blocked", *deny("rm", "out/hosts")),
    ("rm works", "call", (TOOL, {"command": "rm", "args": ["gone.txt"]}), {"success": True}),
    # 2.4 The blocklist that nothing overrides
    *[(f"{name} is always blocked", *deny(name, "x")) for name in
      ("git", "sudo", "su", "chown", "chmod", "bash", "sh", "zsh", "vi", "nano")],
    *[(f"{name} is blocked with force, too", *deny(name, "x", force=True)) for name in
      ("git", "sudo", "su", "chown", "chmod", "bash", "sh", "zsh", "vi", "nano")],
    ("git diff: the words of the example", "call", (TOOL, {"command": "git", "args": ["diff"]}),
     {"success": False, "exit_code": 126, "reason": "~git is strictly blocked.*version-control"}),
    # 2.5 Output
    ("16 KB come back whole", "call", (TOOL, python("print('x' * 16000)")), {"truncated": False, "output": "~^x{16000}\n$"}),
    ("more: the first and the last 1 KB", "call", (TOOL, python("print('a' * 20000 + 'z' * 20000)")),
     {"truncated": True, "output": "~(?s)^a{1024}.*z{1023}\n$", "output_file": "~/out$"}),
    ("the warning names size and place", "call", (TOOL, python("print('x' * 2000000)")), {"output": "~output truncated: it has 2000001 bytes.*the full output is in .*/out"}),
    # 2.6 Metacharacters in the command
    *[(f"'{mark}' in the command is refused", *deny(f"node {mark} x", why="metacharacter")) for mark in ("|", ">", "<", "&", ";", "$", "`")],
    ("an absolute path is refused", *deny("/bin/ls", why="absolute path")),
    # 2.7 Time
    ("5 s are the default", "policy", "verify", {"timeout.default": "5s"}),
    ("30 s are the maximum", "policy", "verify", {"timeout.max": "30s"}),
    ("a command is ended at its time limit", "call", (TOOL, python("import time; time.sleep(600)", timeout_millis=300)),
     {"timed_out": True, "exit_code": 124, "reason": "~timed out after 300ms"}),
    ("a longer wish is capped, and said", "call", (TOOL, python("print(1)", timeout_millis=100000)), {"success": True, "notices": "~30s"}),
    # 3. Nudges
    *[(f"{name} is nudged to search tools", *nudge(name, "x", use=["file.search", "go.docs", "symbol.inspect"]))
      for name in ("grep", "find", "ack", "ripgrep", "rg")],
    *[(f"{name} is nudged to list tools", *nudge(name, use=["file.list", "project.map"])) for name in ("ls", "dir", "tree")],
    *[(f"{name} is nudged to read tools", *nudge(name, "x", use=["file.read"])) for name in ("cat", "less", "more", "head")],
    *[(f"{name} is nudged to the editor", *nudge(name, "x", use=["file.edit"])) for name in ("vim", "sed", "awk")],
    ("nano is pointed to the editor, and blocked", "explain", {"profile": "verify", "command": "nano", "args": []},
     {"verdict": "deny", "recommended": ["file.edit"]}),
    ("go build", *nudge("go", "build", use=["go.build"])),
    ("go test", *nudge("go", "test", "./...", use=["go.test"])),
    *[(f"go {sub}", *nudge("go", sub, use=["go.mod", "go.get", "go.install"])) for sub in ("mod", "get", "install")],
    *[(f"go {sub}", *nudge("go", sub, use=["go.docs", "go.lint"])) for sub in ("doc", "vet", "lint")],
    ("a nudge can be forced", "call", (TOOL, {"command": "grep", "args": ["TODO", "a.txt"], "force": True}), {"success": True, "output": "one TODO\n"}),
    ("a nudge is a result with the tool to use", "call", (TOOL, {"command": "grep", "args": ["TODO", "a.txt"]}),
     {"success": False, "exit_code": 126, "recommended": ["file.search", "go.docs", "symbol.inspect"]}),
    ("force is named in the advice", *ask("ls", reason="~repeat the call with force")),
    ("what would be decided can be asked, in the tool's own words", "mcp", ("shell_explain", {"tool": TOOL, "command": "go", "args": ["build"]}),
     {"text": "~verdict: nudge"}),
]
