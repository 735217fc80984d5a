"""What the tests with the official MCP clients and suites share: the packages of tests/npm, and a server with a token.

Without npm or a network the tests are skipped, with a reason that begins with "npm": NACRE_TEST_MUST=npm makes that a failure.
"""
import re
import subprocess
import sys
import unittest

import helpers

sys.path.insert(0, str(helpers.ROOT / "tests" / "npm"))

import packages  # noqa: E402
from packages import PINNED, versions  # noqa: E402, F401


class SuiteTest(helpers.NacreTest):
    """A test with the suites at hand and, if it wants, a server with a token."""
    BOXED = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.npm = packages.prepare()
        except packages.Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from None
        cls.node = packages.node(cls.npm)

    def setUp(self):
        super().setUp()
        # What the suites start is their own business but for nacre: they get its environment and a home of their own.
        self.node_env = {**self.env, "CI": "1"}

    def run_node(self, script, *args, timeout=helpers.DEADLINE, env=None):
        popen = subprocess.Popen([self.node, str(script), *map(str, args)], cwd=self.work, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env or self.node_env)
        self.started.append(popen)
        out, err = popen.communicate(timeout=timeout)
        return popen.returncode, out, err

    def tool(self, *path):
        return self.npm.joinpath("node_modules", *path)


class Server:
    """`nacre serve` on a port of its own with a token."""

    def __init__(self, test, *args, program=helpers.NACRE):
        self.test = test
        token = subprocess.run([program, "token", "create", "suite", "--person"], env=test.env, cwd=test.work, check=True,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=helpers.DEADLINE)
        self.token = token.stdout.strip()
        self.log = open(test.dir / "serve.log", "w+", encoding="utf-8")  # read while it is written
        test.addCleanup(self.log.close)
        self.popen = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--no-unix", "--rate", "0", *args],
                                      env=test.env, cwd=test.work, stdin=subprocess.DEVNULL, stdout=self.log,
                                      stderr=self.log)
        test.started.append(self.popen)
        self.port = int(helpers.wait_until("the server listens", self.find_port))
        self.url = f"http://127.0.0.1:{self.port}"
        self.headers = {"Authorization": f"Bearer {self.token}"}

    def find_port(self):
        if self.popen.poll() is not None:
            raise AssertionError("nacre serve has ended: " + self.text())
        match = re.search(r"127\.0\.0\.1:(\d+)", self.text())
        return match and match[1] != "0" and match[1]

    def text(self):
        return (self.test.dir / "serve.log").read_text(encoding="utf-8", errors="replace")

    def stop(self):
        self.popen.terminate()
        self.popen.wait(helpers.DEADLINE)

    def through_proxy(self):
        """The address of a proxy that adds the token, for a suite that knows no tokens."""
        popen = subprocess.Popen([self.test.node, str(PINNED / "proxy.mjs"), str(self.port)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env=self.test.node_env, text=True)
        self.test.started.append(popen)
        popen.stdin.write(self.token)
        popen.stdin.close()
        return f"http://127.0.0.1:{int(popen.stdout.readline())}"
