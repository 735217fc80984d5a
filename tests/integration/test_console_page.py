"""The console's page in a real Chromium, against a real server.

A short set runs with the other tests; `make console-test` sets NACRE_CONSOLE=full and runs all. The scenarios are in tests/console,
a script for each theme of them.
"""
import subprocess
import unittest

import console_page
import helpers
from console_page import FULL, PageTest
from helpers import DEADLINE

WEB = helpers.ROOT / "web"


class Login(PageTest):
    def test_links_tokens_and_other_pages(self):
        self.play("login")


class Approvals(PageTest):
    def test_answers(self):
        self.play("approvals")

    def test_of_an_agent_over_mcp(self):
        self.play("agent")


class Tasks(PageTest):
    def test_output_and_terminal(self):
        self.play("tasks")


class Look(PageTest):
    def test_every_page(self):
        names = ["light, 1280", "dark, 390", "by keys alone"] + (["dark, 1280", "light, 390"] if FULL else [])
        self.play("look", *names)


class Endurance(PageTest):
    def test_a_server_that_dies_and_floods(self):
        self.play("restart", timeout=DEADLINE * (60 if FULL else 20))


class Files(unittest.TestCase):
    """What is in web/, without a browser."""

    def texts(self):
        return {path.name: path.read_text(encoding="utf-8") for path in WEB.iterdir() if path.is_file()}

    def test_no_markup_from_strings_no_inline_style_no_other_host(self):
        for name, text in self.texts().items():
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "style=", "javascript:"):
                self.assertNotIn(word, text, name)
            text = text.replace("http://www.w3.org/2000/svg", "")
            self.assertNotIn("http://", text, name)
            self.assertNotIn("https://", text, name)

    def test_size(self):
        files = [path for path in WEB.iterdir() if path.is_file()]
        raw = sum(path.stat().st_size for path in files)
        packed = sum(len(subprocess.run(["gzip", "-9nc", path], check=True, capture_output=True).stdout) for path in files)
        self.assertLessEqual(raw, 225000)
        self.assertLessEqual(packed, 78000)

    def test_parsers(self):
        done = subprocess.run(["node", "--test", str(console_page.SOURCES) + "/"], cwd=helpers.ROOT, capture_output=True, text=True, check=False,
                              timeout=DEADLINE * 4)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
