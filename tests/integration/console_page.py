"""What the tests of the console's page share: a browser, its driver out of npm, and a server with a page.

Without chromium, npm or a network the tests are skipped, with a reason that begins with "chromium" or "npm".
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import unittest

import helpers
from helpers import DEADLINE
from patience import load_factor

sys.path.insert(0, str(helpers.ROOT / "tests" / "npm"))

import packages  # noqa: E402

SOURCES = helpers.ROOT / "tests" / "console"
PICTURES = helpers.ROOT / "docs" / "pictures"
FULL = os.environ.get("NACRE_CONSOLE") in ("full", "pictures")
TAKE = os.environ.get("NACRE_CONSOLE") == "pictures"


def free_port():
    """A port that nobody has: the server gets it again after it was killed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class PageTest(helpers.NacreTest):
    """A server that serves the page, with a token that may all."""
    BOXED = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chromium = shutil.which("chromium")
        if not cls.chromium:
            raise unittest.SkipTest("chromium: not installed")
        try:
            cls.npm = packages.prepare(pinned=SOURCES)
        except packages.Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from None
        cls.node = packages.node(cls.npm)
        # Node.js finds packages beside a script, so the scripts go to where the packages are; the page lies two folders above.
        cls.place = packages.beside(cls.npm, SOURCES, helpers.ROOT / "web")

    def setUp(self):
        super().setUp()
        for name in ("src", "build"):
            (self.work / name).mkdir()
        self.addCleanup(self.stop_tasks)
        self.begin()

    def stop_tasks(self):
        """What the scenarios have to look at runs for longer than they do."""
        for task in self.tasks.iterdir() if self.tasks.is_dir() else ():
            if not (task / "state.json").exists():
                subprocess.run([helpers.NACRE, "stop", task.name], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=DEADLINE, check=False)

    def begin(self):
        made = subprocess.run([helpers.NACRE, "token", "create", "tester", "--approve", "--audit", "--person"], env=self.env,
                              cwd=self.work, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE)
        self.token = made.stdout.strip()
        port = free_port()
        self.arguments = ["serve", "--listen", f"127.0.0.1:{port}", "--no-unix", "--rate", "0", "--profile", "bash", "--profile",
                          "workspace", "--profile", "readonly", "--workspace", str(self.work)]
        self.log = open(self.dir / "serve.log", "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen([helpers.NACRE, *self.arguments], env=self.env, cwd=self.work,
                                       stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.started.append(self.server)
        self.url = f"http://127.0.0.1:{port}"
        helpers.wait_until("the server listens", self.listens)

    def listens(self):
        text = (self.dir / "serve.log").read_text(encoding="utf-8", errors="replace")
        if self.server.poll() is not None:
            raise AssertionError("nacre serve has ended: " + text)
        return "listening on http" in text

    def play(self, script, *only, timeout=None, **more):
        """Runs the scenarios of tests/console/SCRIPT.mjs, all or those named."""
        given = {"url": self.url, "nacre": str(helpers.NACRE), "deadline": int(min(DEADLINE, 300) * 1000), "slack": load_factor(), "workspace": str(self.work),
                 "token": self.token, "chromium": self.chromium, "full": FULL, "take": TAKE, "pictures": str(PICTURES), "shots": os.environ.get("NACRE_CONSOLE_SHOTS"),
                 "server": {"pid": self.server.pid, "args": self.arguments}, **more}
        if only:
            given["only"] = only
        popen = subprocess.Popen([self.node, str(self.place / f"{script}.mjs"), json.dumps(given)], cwd=self.work, env={**self.env, "HOME": str(self.work)},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(popen)
        out, err = popen.communicate(timeout=timeout or DEADLINE * 20)
        print("\n".join("# " + line for line in out.splitlines()), file=sys.stderr)
        self.assertEqual(popen.returncode, 0, out + err)
        return out
