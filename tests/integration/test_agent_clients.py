#!/usr/bin/env python3
"""Real agents out of npm, set up by `nacre init` and driven by a scripted model on loopback: their own shell tool runs in nsh, what is
refused does not run, the model sees why, every command is in the audit log under the client's session, and nothing fails open.

A short set runs with the other tests where the packages are in the cache already: they are 1.6 GB, and `make clients` fetches them.
NACRE_CLIENTS=full runs all of it (`make clients`); NACRE_CLIENTS_REPORT=FILE keeps what each
model saw."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

import helpers
import suites  # noqa: F401: the path of the packages

sys.path.insert(0, str(helpers.ROOT / "tests" / "agents"))

import clients  # noqa: E402
import model  # noqa: E402
import packages  # noqa: E402

PINNED = helpers.ROOT / "tests" / "agents"
FULL = os.environ.get("NACRE_CLIENTS") == "full"
ONLY = [name for name in os.environ.get("NACRE_CLIENT", "").split(",") if name]
REFUSED = "mkfs.nacre-test"  # no such program: harmless wherever it is run
SAID = "what was on the disk is lost"
BOXED = "grep NoNewPrivs /proc/self/status"


def full(test):
    return unittest.skipUnless(FULL, "clients: `make clients` runs it")(test)


def numbers(value):
    """All that stand anywhere in a record."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value] if isinstance(value, int) else [n for part in inner for n in numbers(part)]


class AgentTest(helpers.NacreTest):
    """One client in a home of its own, with a copy of nacre that a test may break."""
    BOXED = True
    client_class = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if ONLY and cls.client_class.name not in ONLY:
            raise unittest.SkipTest("clients: not asked for")
        try:
            directory = packages.prepare(fetch=FULL, pinned=PINNED)
        except packages.Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from None
        cls.client = cls.client_class(packages.node(directory), directory / "node_modules")
        if not pathlib.Path(cls.client.command()[-1]).exists():
            raise unittest.SkipTest(f"npm: {cls.client.package} is not for this machine")

    def setUp(self):
        super().setUp()
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        self.nacre = self.bin / "nacre"
        shutil.copy(os.path.realpath(helpers.NACRE), self.nacre)
        for name in ("nsh", "nsh-bash"):
            os.symlink("nacre", self.bin / name)
        self.env.update(XDG_CONFIG_HOME=str(self.dir / ".config"), TERM="dumb", SHELL="/bin/bash")
        if self.client.name == "qwen":
            self.env["PATH"] = f"{self.state}/clients/bin:{self.env['PATH']}"
        subprocess.run(["git", "init", "-q"], cwd=self.work, check=True)
        self.model = None
        self.addCleanup(self.stop_tasks)

    def stop_tasks(self):
        """Headless clients end with their model's last word; what they left running does not."""
        for task in self.tasks.iterdir() if self.tasks.is_dir() else ():
            if not (task / "state.json").exists():
                subprocess.run([helpers.NACRE, "stop", task.name], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                               capture_output=True, check=False, timeout=helpers.DEADLINE)

    def init(self, *args):
        done = subprocess.run([str(self.nacre), "init", self.client.name, "--yes", *args], stdin=subprocess.DEVNULL, cwd=self.work,
                              env=self.env, capture_output=True, text=True, timeout=2 * helpers.DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def begin(self, script):
        self.model = model.Model(script, self.client.tools)
        self.addCleanup(self.model.stop)
        popen = self.client.run(self.dir, self.work, self.model.url, self.env, helpers.DEADLINE)
        self.started.append(popen)
        self.give_up_after(8 * helpers.DEADLINE)
        return popen

    def drive(self, *script):
        """Runs the script to its end; what the model saw of each step."""
        steps = [step if isinstance(step, tuple) else self.client.call(step) for step in script]
        popen = self.begin(steps)
        out, _ = popen.communicate(timeout=6 * helpers.DEADLINE)
        self.assertEqual(self.model.missing, [], list(self.model.offered))
        self.assertEqual(len(self.model.views), len(steps), (out[-1500:], self.model.seen))
        report = os.environ.get("NACRE_CLIENTS_REPORT")
        if report:
            with open(report, "a", encoding="utf-8") as file:
                for step, view in zip(script, self.model.views):
                    said = step if isinstance(step, str) else step[1] if not callable(step[1]) else "background"
                    print(json.dumps({"client": self.client.name, "version": self.client.version(), "test": self.id().split(".")[-1],
                                      "step": said, "bytes": len(view), "view": view[:300] + ("..." + view[-200:] if len(view) > 500 else
                                                                                            view[300:])}), file=file)
        return self.model.views

    def records(self, event):
        path = self.state / "audit" / "log.000001"
        return [r for r in map(json.loads, path.read_text().splitlines())
                if r["event"] == event and not (r.get("session") or "").startswith("proof-")]

    def expect_recorded(self, *commands):
        """Each under one and the same session of the client, at each door. What the client runs for itself when it starts has none."""
        asked = self.records("requested")
        for door in {r["door"] for r in asked}:
            found = [r for r in asked if r["door"] == door and any(c in (r.get("command") or "") for c in commands)]
            sessions = {r.get("session") for r in found}
            self.assertEqual(len(sessions), 1, (door, asked))
            self.assertNotIn(None, sessions)
        for command in commands:
            self.assertTrue(any(command in (r.get("command") or "") for r in asked), (command, [r.get("command") for r in asked]))


class Tests:
    """What is the same for all clients."""

    def test_its_own_shell_is_nsh(self):
        self.init()
        views = self.drive(f"echo hello; {BOXED}", "exit 3", REFUSED)
        self.assertIn("hello\nNoNewPrivs:\t1", views[0])
        if self.client.name != "opencode":  # it does not tell the model
            self.assertIn("3", views[1])
        self.assertIn(SAID, views[2])
        self.expect_recorded("echo hello", "exit 3", REFUSED)
        self.assertFalse([r for r in self.records("started") if REFUSED in json.dumps(r.get("executed"))])

    @full
    def test_output_of_a_megabyte(self):
        self.init()
        [view] = self.drive("seq 1 160000")
        self.assertIn("1\n2\n3\n", view)
        self.assertLess(len(view), 100000)
        self.assertTrue([v for r in self.records("ended") for v in numbers(r) if 1008895 <= v < 1009995], self.records("ended"))

    @full
    def test_a_server_is_reached_by_a_later_call(self):
        self.init()
        views = self.drive("python3 -m http.server 8137 --bind 127.0.0.1 >server.log 2>&1 & for i in $(seq 100); do curl -s "
                           "http://127.0.0.1:8137/ >got && break; sleep 0.1; done; echo begun",
                           "curl -s http://127.0.0.1:8137/ | grep -c server.log")
        self.assertIn("begun", views[0])
        self.assertIn("1", views[1])
        self.assertNotIn("refused", views[1].lower())

    @full
    def test_a_long_build_in_the_background(self):
        self.init()
        long = "for i in $(seq 120); do echo step $i; sleep 1; done; echo built >done.txt"
        step = (self.client.call(long, background=True) if self.client.name in ("claude", "qwen")
                else self.client.call(f"( {long} ) >build.log 2>&1 &"))
        views = self.drive(step, "sleep 3; echo meanwhile")
        self.assertIn("meanwhile", views[1])
        self.assertTrue(any("step" in (r.get("command") or "") for r in self.records("requested")))

    @full
    def test_cancel_leaves_nothing(self):
        if self.client.leaves_commands:
            self.skipTest(f"clients: {self.client.title} leaves a running command to itself")
        self.init()
        popen = self.begin([self.client.call("echo $$ >pid; sleep 1000")])
        helpers.wait_until("the command runs", (self.work / "pid").exists, 3 * helpers.DEADLINE)
        os.killpg(popen.pid, signal.SIGTERM)
        try:
            popen.wait(helpers.DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(popen.pid, signal.SIGKILL)
            popen.wait(helpers.DEADLINE)
        helpers.wait_until("its end is recorded", lambda:
                           {r["task_id"] for r in self.records("started")} <= {r["task_id"] for r in self.records("ended")})
        helpers.wait_until("the command is gone", lambda: not [p for p in helpers.descendants() if p.name == "sleep"])

    @full
    def test_a_question(self):
        self.write_rules("ask:\n  - {id: corp, commands: [uname], reason: People decide about uname.}\n")
        self.init()
        [view] = self.drive("uname -s")
        self.assertIn("People decide about uname.", view)
        self.assertIn("nacre approve", view)
        self.assertNotIn("Linux\n", view)

    @full
    def test_the_door_of_mcp(self):
        if self.client.name == "codex":
            self.skipTest("clients: Codex's tools of MCP are offered in a namespace of their own")
        self.init("--mcp")
        [view] = self.drive(("mcp", {"command": f"echo by mcp; {BOXED}", "description": "test"}))
        self.assertIn("by mcp", view)

    def write_rules(self, text):
        path = self.dir / ".config" / "nacre" / "bash.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("profile: bash\n" + text)

    # Nothing fails open

    def expect_nothing_runs(self, fault):
        self.init()
        fault()
        [view] = self.drive("touch ran; echo done")
        self.assertFalse((self.work / "ran").exists(), view)
        return view

    def replace_nacre(self, text):
        self.nacre.unlink()
        if text:
            self.nacre.write_text(text)
            self.nacre.chmod(0o755)

    def test_nacre_is_missing(self):
        if not FULL and self.client.name not in ("claude", "codex"):
            self.skipTest("clients: `make clients` runs it")
        if self.client.fails_open:
            self.skipTest(f"clients: {self.client.title} takes another shell then, and says nothing; docs/clients.md warns of it")
        self.expect_nothing_runs(lambda: self.replace_nacre(None))

    @full
    def test_nacre_crashes(self):
        self.expect_nothing_runs(lambda: self.replace_nacre("#!/bin/sh\nkill -SEGV $$\n"))

    @full
    def test_nacre_hangs(self):
        if not self.client.hook:
            self.skipTest("clients: its shell is nacre, and a shell may take its time")
        self.expect_nothing_runs(lambda: self.replace_nacre("#!/bin/sh\nexec sleep 100\n"))

    @full
    def test_nacre_answers_nonsense(self):
        self.expect_nothing_runs(lambda: self.replace_nacre("#!/bin/sh\necho '{\"permission'; exit 0\n"))

    @full
    def test_the_state_cannot_be_written(self):
        def fault():
            for path in (self.state / "tasks", self.state / "audit"):
                path.rename(path.with_name(path.name + ".old"))
                path.write_text("")
        self.expect_nothing_runs(fault)

    @full
    def test_the_rules_are_broken(self):
        self.expect_nothing_runs(lambda: self.write_rules("ask: ["))


for _class in clients.CLIENTS.values():
    _name = _class.__name__
    globals()[_name] = type(_name, (Tests, AgentTest), {"client_class": _class})
del _class, _name


if __name__ == "__main__":
    sys.exit(unittest.main())
