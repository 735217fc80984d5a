#!/usr/bin/env python3
"""`nacre hook`: every doubt is a refusal in the client's own shape, what is allowed runs in nsh, and each decision is recorded; and
`nacre init`: what is not ours stays byte for byte, nothing is written through links, and what was written can be taken back."""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import unittest

import helpers

REFUSED = "mkfs.nacre-test"  # no such program: harmless wherever it is run
EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "qwen": "PreToolUse", "gemini": "BeforeTool", "cursor": "beforeShellExecution"}
TOOLS = {"claude": "Bash", "codex": "Bash", "qwen": "run_shell_command", "gemini": "run_shell_command"}
HOOKED = [*EVENTS, "copilot"]


class HookTest(helpers.NacreTest):
    def setUp(self):
        super().setUp()
        # As it is installed: nsh is nacre under another name.
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        self.nacre = self.bin / "nacre"
        os.symlink(helpers.NACRE, self.bin / "link")
        try:
            os.link(os.path.realpath(helpers.NACRE), self.nacre)
        except OSError:
            shutil.copy(helpers.NACRE, self.nacre)
        for name in ("nsh", "nsh-bash"):
            os.symlink("nacre", self.bin / name)

    def message(self, client, command, **changed):
        if client == "copilot":
            message = {"sessionId": "s-1", "cwd": str(self.work), "toolName": "bash", "toolArgs": json.dumps({"command": command})}
        elif client == "cursor":
            message = {"conversation_id": "s-1", "cwd": str(self.work), "hook_event_name": EVENTS[client], "command": command}
        else:
            message = {"session_id": "s-1", "cwd": str(self.work), "hook_event_name": EVENTS[client], "tool_name": TOOLS[client],
                       "tool_input": {"command": command, "description": "why"}}
        return json.dumps({**message, **changed})

    def raw(self, client, text, *args, env=None, **options):
        done = subprocess.run([str(self.nacre), "hook", client, *args], input=text, cwd=self.work, env={**self.env, **(env or {})},
                              capture_output=True, text=True, timeout=helpers.DEADLINE, check=False, **options)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def verdict(self, client, answer):
        """The word, the reason, and what is run instead."""
        if client == "gemini":
            inner = answer.get("hookSpecificOutput", {})
            return answer["decision"], answer.get("reason", ""), inner.get("tool_input", {}).get("command")
        if client == "copilot":
            return (answer["permissionDecision"], answer.get("permissionDecisionReason", ""),
                    answer.get("modifiedArgs", {}).get("command"))
        if client == "cursor":
            return answer["permission"], answer.get("agentMessage", ""), None
        inner = answer["hookSpecificOutput"]
        self.assertEqual(inner["hookEventName"], EVENTS[client])
        return inner["permissionDecision"], inner.get("permissionDecisionReason", ""), inner.get("updatedInput", {}).get("command")

    def ask(self, client, command, *args, env=None, **changed):
        return self.verdict(client, self.raw(client, self.message(client, command, **changed), *args, env=env))

    def records(self):
        path = self.state / "audit" / "log.000001"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def init(self, *args, code=0, env=None):
        done = subprocess.run([str(self.nacre), "init", *args], stdin=subprocess.DEVNULL, cwd=self.work,
                              env={**self.env, **(env or {})}, capture_output=True, text=True, timeout=2 * helpers.DEADLINE, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr


class Hook(HookTest):
    def test_what_is_denied_is_denied_with_its_reason(self):
        for client in HOOKED:
            word, reason, _ = self.ask(client, REFUSED)
            self.assertEqual(word, "deny", client)
            self.assertIn("makes a new file system", reason)
        kinds = [(r["event"], r.get("session"), r.get("verdict")) for r in self.records() if r["event"] in ("requested", "decided")]
        self.assertEqual(kinds, [("requested", "s-1", None), ("decided", "s-1", "deny")] * len(HOOKED))

    def test_what_is_allowed_runs_in_nsh(self):
        for client in ("claude", "codex", "gemini", "copilot"):
            word, _, command = self.ask(client, "echo it\\'s \"$((6 * 7))\"")
            self.assertEqual(word, "allow", client)
            done = subprocess.run(["bash", "-c", command], env=self.env, cwd=self.work, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=helpers.DEADLINE, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, "it's 42\n"), done)
        started = [r for r in self.records() if r["event"] == "started"]
        self.assertEqual(len(started), 4)
        self.assertEqual({r.get("session") for r in self.records() if r["event"] == "requested"}, {"s-1"})

    def test_the_own_shell_of_claude_needs_no_other_line(self):
        word, _, command = self.ask("claude", "ls", env={"CLAUDE_CODE_SHELL": str(self.bin / "nsh-bash")})
        self.assertEqual((word, command), ("allow", None))
        # A shell that is not ours is none.
        word, _, command = self.ask("claude", "ls", env={"CLAUDE_CODE_SHELL": "/bin/bash"})
        self.assertEqual(word, "allow")
        self.assertIn("nsh", command)

    def test_where_nsh_cannot_be_put_in_front_the_answer_is_no(self):
        for client, words in (("qwen", "first bash of PATH"), ("cursor", "cannot be boxed")):
            word, reason, _ = self.ask(client, "ls")
            self.assertEqual(word, "deny", client)
            self.assertIn(words, reason)
            self.assertEqual(self.ask(client, "ls", "--unboxed")[0], "allow")
        shims = self.dir / "shims"
        shims.mkdir()
        os.symlink(self.nacre, shims / "bash")
        self.assertEqual(self.ask("qwen", "ls", env={"PATH": f"{shims}:{self.env['PATH']}"})[0], "allow")
        (self.bin / "nsh").unlink()
        word, reason, _ = self.ask("codex", "ls")
        self.assertEqual(word, "deny")
        self.assertIn("no nsh", reason)

    def test_every_doubt_is_a_no(self):
        for client in HOOKED:
            good = json.loads(self.message(client, "ls"))
            bad = ["", "{", "[]", "null", "x" * 100, "{}"]
            bad += [json.dumps({key: value for key, value in good.items() if key != missing}) for missing in good]
            bad += [json.dumps({**good, "cwd": "relative"}), json.dumps({**good, "cwd": "/no/such/directory"}),
                    json.dumps({**good, "hook_event_name": "Stop"})]
            session = next(key for key in good if "ession" in key or key == "conversation_id")
            bad += [json.dumps({**good, session: "../../x"}), json.dumps({**good, session: 7})]
            for text in bad:
                word, reason, command = self.verdict(client, self.raw(client, text))
                self.assertEqual((word, command), ("deny", None), (client, text))
                self.assertTrue(reason, text)

    def test_no_profile_and_broken_rules_are_a_no(self):
        for client in HOOKED:
            word, reason, _ = self.ask(client, "ls", "--profile", "none-such")
            self.assertEqual(word, "deny", client)
            self.assertIn("none-such", reason)
        self.assertEqual(self.ask("claude", "ls", env={"NACRE_PROFILE": "none-such"})[0], "deny")
        self.write_config("bash.yaml", "profile: bash\nrules: [")
        for client in HOOKED:
            self.assertEqual(self.ask(client, "ls")[0], "deny", client)

    def test_what_cannot_be_recorded_is_a_no(self):
        self.state.write_text("a file where the directory should be")
        for client in HOOKED:
            word, reason, _ = self.ask(client, "ls")
            self.assertEqual(word, "deny", client)
            self.assertIn("recorded", reason)

    def test_too_little_time_is_a_no(self):
        popen = subprocess.Popen([str(self.nacre), "hook", "claude", "--timeout", "200ms"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env=self.env, cwd=self.work, text=True)
        self.started.append(popen)
        answer = json.loads(popen.stdout.readline())  # standard input stays open: the client says nothing
        self.assertEqual(self.verdict("claude", answer)[0], "deny")
        self.assertIn("in time", self.verdict("claude", answer)[1])
        self.assertEqual(popen.wait(helpers.DEADLINE), 0)

    def test_an_unknown_client_is_a_no_for_all_of_them(self):
        done = subprocess.run([str(self.nacre), "hook", "claud"], input="", env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'claude'", done.stderr)

    def shell(self, command):
        return subprocess.run(["bash", "-c", command], env=self.env, cwd=self.work, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=helpers.DEADLINE, check=False)

    def test_a_question_is_asked_by_nsh_and_its_answer_counts(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\nroom: {leftover: end}\n"
                                       "ask:\n  - {id: cal, commands: [echo], reason: Echoes are asked about.}\n")
        for client in ("claude", "codex", "gemini", "copilot"):
            word, _, command = self.ask(client, f"echo {client}")
            self.assertEqual(word, "allow")
            refused = self.shell(command)
            self.assertEqual((refused.returncode, refused.stdout), (126, ""), refused)
            self.assertIn("Echoes are asked about.", refused.stderr)
            ident = refused.stderr.split("nacre approve ")[1].split("`")[0]
            subprocess.run([str(self.nacre), "approve", ident], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, check=True,
                           capture_output=True)
            again = self.ask(client, f"echo {client}")[2]
            self.assertEqual(self.shell(again).stdout, f"{client}\n")
            self.assertEqual(self.shell(again).returncode, 126)  # it was for once

    def test_verdicts_alone_put_the_question_to_the_person(self):
        self.write_config("bash.yaml", "profile: bash\nask:\n  - {id: cal, commands: [echo], reason: Echoes are asked about.}\n")
        for client in HOOKED:
            word, reason, command = self.ask(client, "echo x", "--unboxed")
            self.assertEqual((word, command), ("ask" if client in ("claude", "qwen", "cursor") else "deny", None), client)
            self.assertIn("Echoes are asked about.", reason)
            self.assertIn("nacre approve", reason)

    def test_it_is_quick(self):
        if helpers.SANITIZED:
            self.skipTest("time: it is not measured with sanitizers")
        text = self.message("codex", "ls -la | wc -l").encode()
        self.ask("codex", "ls")

        def median():
            took = []
            for _ in range(60):
                began = time.perf_counter()
                subprocess.run([str(self.nacre), "hook", "codex"], input=text, env=self.env, cwd=self.work,
                               stdout=subprocess.DEVNULL, check=True)
                took.append(time.perf_counter() - began)
            return statistics.median(took)
        best = min(median() for _ in range(3))
        self.assertLess(best, 0.003 * max(1, helpers.load_factor()) + 0.003)


class Init(HookTest):
    FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json",
             "copilot": ".copilot/hooks/nacre.json", "qwen": ".qwen/settings.json", "cursor": ".cursor/hooks.json",
             "opencode": "opencode/opencode.json"}

    def path(self, client):
        return (self.config if client == "opencode" else self.dir) / self.FILES[client]

    def test_it_writes_proves_and_takes_back(self):
        for client in self.FILES:
            told = self.init(client, "--yes", "--mcp")
            self.assertIn("ok ", told)
            self.assertNotIn("FAIL", told)
            self.assertIn("nacre", self.path(client).read_text())
            self.assertIn("everything is there already", self.init(client, "--yes", "--mcp"))
            self.init("--undo", client, "--yes")
            self.assertFalse(self.path(client).exists(), client)

    def test_without_a_yes_nothing_is_written(self):
        told = self.init("claude", code=125)
        self.assertIn("+    \"CLAUDE_CODE_SHELL\"", told)
        self.assertIn("--yes", told)
        self.assertIn("+    \"CLAUDE_CODE_SHELL\"", self.init("claude", "--dry-run"))
        self.assertFalse((self.dir / ".claude").exists())

    OLD = ('// mine\n{\n\t"model": "opus", // the large one\n\t"env": {"CLAUDE_CODE_SHELL": "/bin/zsh"},\n\t"hooks": {\n\t\t"PreToolUse": [\n'
           '\t\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine.sh"}]},\n\t\t],\n\t},\n}\n')

    def test_all_else_stays_byte_for_byte(self):
        path = self.path("claude")
        path.parent.mkdir()
        path.write_text(self.OLD)
        path.chmod(0o600)
        self.init("claude", "--yes")
        text = path.read_text()
        kept = iter(text)
        self.assertTrue(all(c in kept for c in self.OLD.replace("/bin/zsh", "")), text)
        self.assertIn(str(self.bin / "nsh-bash"), text)
        self.assertIn("mine.sh", text)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.init("--undo", "claude", "--yes")
        self.assertEqual(path.read_text(), self.OLD)

    def test_undo_keeps_what_was_changed_since(self):
        path = self.path("claude")
        path.parent.mkdir()
        path.write_text(self.OLD)
        self.init("claude", "--yes")
        path.write_text(path.read_text().replace('"opus"', '"haiku"'))
        self.init("--undo", "claude", "--yes")
        self.assertEqual(path.read_text(), self.OLD.replace('"opus"', '"haiku"'))

    def test_toml_of_codex(self):
        path = self.dir / ".codex" / "config.toml"
        path.parent.mkdir()
        old = 'model = "gpt-5" # mine\n\n[features]\nweb = true\n\n[mcp_servers.other]\ncommand = "x"\n'
        path.write_text(old)
        self.init("codex", "--yes", "--mcp", "--no-shell")
        text = path.read_text()
        self.assertIn("web = true\nshell_tool = false\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.nacre]\n", text)
        self.init("--undo", "codex", "--yes")
        self.assertEqual(path.read_text(), old)

    def test_a_project_alone(self):
        self.init("claude", "--project", "--yes")
        self.assertTrue((self.work / ".claude" / "settings.local.json").exists())
        self.assertFalse(self.path("claude").exists())
        self.init("--undo", "claude", "--project", "--yes")
        self.assertFalse((self.work / ".claude" / "settings.local.json").exists())

    def test_nothing_is_written_through_a_link(self):
        victim = self.dir / "victim"
        victim.mkdir()
        (victim / "settings.local.json").write_text("{}")
        os.symlink(victim, self.work / ".claude")
        self.assertIn("link", self.init("claude", "--project", "--yes", code=125))
        (self.work / ".claude").unlink()
        (self.work / ".claude").mkdir()
        os.symlink(victim / "settings.local.json", self.work / ".claude" / "settings.local.json")
        self.assertIn("link", self.init("claude", "--project", "--yes", code=125))
        (self.work / ".claude" / "settings.local.json").unlink()
        os.link(victim / "settings.local.json", self.work / ".claude" / "settings.local.json")
        self.assertIn("another name", self.init("claude", "--project", "--yes", code=125))
        (self.work / ".claude" / "settings.local.json").unlink()
        os.mkfifo(self.work / ".claude" / "settings.local.json")
        self.init("claude", "--project", "--yes", code=125)
        (self.work / ".claude" / "settings.local.json").unlink()
        os.symlink(victim / "new.json", self.work / ".claude" / "settings.local.json")
        self.init("claude", "--project", "--yes", code=125)
        self.assertEqual((victim / "settings.local.json").read_text(), "{}")
        self.assertEqual(sorted(os.listdir(victim)), ["settings.local.json"])

    def test_files_of_others_are_left_alone(self):
        place = self.work / ".claude"
        place.mkdir()
        place.chmod(0o777)
        self.assertIn("changed by others", self.init("claude", "--project", "--yes", code=125))
        place.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(place, helpers.unused_uid(), 0)
            self.assertIn("another user", self.init("claude", "--project", "--yes", code=125))
        self.assertEqual(os.listdir(place), [])

    def test_a_file_that_cannot_be_read_stays(self):
        path = self.path("claude")
        path.parent.mkdir()
        for text in ("{", '{"env": 1}', '{"hooks": {"PreToolUse": {}}}', '{"env": {}, "env": {}}', "[" * 1000):
            path.write_text(text)
            self.init("claude", "--yes", code=125)
            self.assertEqual(path.read_text(), text)

    def test_the_line_of_the_hook_is_closed_by_itself(self):
        self.init("claude", "--yes")
        line = json.loads(self.path("claude").read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        faults = {"missing": None, "crashing": "#!/bin/sh\nkill -SEGV $$\n", "failing": "#!/bin/sh\nexit 1\n", "not a program": "x",
                  "printing half an answer": "#!/bin/sh\necho '{\"hookSpecificOutput\": {'\n", "printing nothing": "#!/bin/sh\n"}
        for fault, text in faults.items():
            self.nacre.unlink(missing_ok=True)
            if text:
                self.nacre.write_text(text)
                self.nacre.chmod(0o755)
            done = subprocess.run(["sh", "-c", line], input=self.message("claude", "ls"), env=self.env, cwd=self.work,
                                  capture_output=True, text=True, timeout=helpers.DEADLINE, check=False)
            self.assertEqual(done.returncode, 2, (fault, done))
            self.assertIn("refused", done.stderr)

    def test_what_does_not_work_any_more_is_seen(self):
        self.init("claude", "--yes")
        self.assertIn("client Claude Code: works", self.doctor())
        path = self.path("claude")
        path.write_text(path.read_text().replace(" hook claude", " hook gemini"))
        self.assertIn("client Claude Code: does not work", self.doctor())
        path.write_text("{}")
        self.assertIn("not in the client's file any more", self.doctor())

    def test_a_hook_that_codex_does_not_trust_is_seen(self):
        words = "Codex does not trust the hook yet"
        self.assertIn(words, self.init("codex", "--yes"))
        self.assertIn(words, self.doctor())
        # As Codex writes it when a person has said yes.
        (self.dir / ".codex" / "config.toml").write_text(
            f'[hooks.state]\n\n[hooks.state."{self.dir}/.codex/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n')
        self.assertNotIn(words, self.doctor())

    def doctor(self):
        done = subprocess.run([str(self.nacre), "doctor"], stdin=subprocess.DEVNULL, env=self.env, cwd=self.work,
                              capture_output=True, text=True, timeout=2 * helpers.DEADLINE, check=False)
        return done.stdout

    def test_an_updated_client_that_calls_no_more_is_seen(self):
        program = self.dir / "path" / "claude"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        self.env["PATH"] = f"{program.parent}:{self.env['PATH']}"
        self.init("claude", "--yes")
        self.assertNotIn("updated", self.doctor())
        helpers.wait_until("the clock has moved on", lambda: program.write_text("#!/bin/sh\n# new\n") and
                           int(program.stat().st_ctime_ns / 1e6) > json.loads(
                               next(pathlib.Path(self.state / "clients").glob("*.json")).read_text())["program_ms"])
        self.assertIn("has not called nacre since", self.doctor())
        helpers.wait_until("the clock has moved on", lambda: self.ask("claude", "ls") and "updated" not in self.doctor())


if __name__ == "__main__":
    sys.exit(unittest.main())
