"""What the tests of policies share: tables of requests, a workspace full of traps, one batch of explain.

Nothing here is run: `nacre explain` reads a request, decides, and says why.
"""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

from patience import Deadline

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NACRE = os.path.abspath(os.environ.get("NACRE") or ROOT / "build" / "nacre")
DATA = ROOT / "tests" / "data"
DEADLINE = Deadline(120)


def table(name):
    """Rows of a table: (line number, cells). Requests are JSON, so cells hold no tab or newline."""
    for number, line in enumerate((DATA / name).read_text().split("\n"), 1):
        if line and not line.startswith("#"):
            yield number, line.split("\t")


def request(cell, **more):
    """A cell as one request of the batch: a line, an argv, or the parameters themselves."""
    value = json.loads(cell)
    if isinstance(value, dict) and "long" in value:  # [[text, how often], ...]
        value = "".join(text * count for text, count in value["long"])
    elif isinstance(value, dict) and "long_argv" in value:
        value = [text * count for text, count in value["long_argv"]]
    if isinstance(value, str):
        value = {"command": value}
    elif isinstance(value, list):
        value = {"argv": value}
    return {**more, **value}


def make_workspace(top):
    """A workspace beside places that are not to be reached, with links that lead out of it."""
    work = top / "work"
    for directory in (work / "sub", work / "bin", work / "src", top / "outside", top / "work-evil"):
        directory.mkdir(parents=True)
    for name in ("a.txt", "a b", "sub/b.txt", "src/main.c", "x.py", "x.js", "notes.txt", "-odd",
                 "../work-evil/x", "../outside/hosts"):
        (work / name).write_text("x\n")
    for name in ("tool", "bin/tool", "run.sh", "run-tests", "app", "../outside-tool", "../outside/tool"):
        program = work / name
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    links = {"out": "../outside", "up": "..", "link-dir": "sub", "link-to-passwd": "/etc/passwd",
             "link-to-true": "/bin/true", "cat-link": "/bin/cat", "bash-link": "/bin/bash",
             "kill-link": "/bin/kill", "git-link": shutil.which("git") or "/usr/bin/git",
             "chmod-link": "/bin/chmod", "mount-link": "/bin/mount", "rm-link": "/bin/rm",
             "sudo": "/bin/true", "loop": "loop", "chain": "mount-link", "chain2": "sub/../chain",
             "way": "/usr/bin", "../m-link": "/bin/mount"}
    for name, target in links.items():
        (work / name).symlink_to(target)
    os.link(work / "tool", work / "tool-hard")
    return work


SEED_TOOLS = """profile: verify
nudge:
  tools:
    search: [file.search, go.docs, symbol.inspect]
    list: [file.list, project.map]
    read: [file.read]
    edit: [file.edit]
    build: [go.build]
    test: [go.test]
    dependencies: [go.mod, go.get, go.install]
    docs: [go.docs, go.lint]
    versions: [go.get, go.mod]
"""  # the names that the application of design 000 has for its tools


class PolicyTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="nacre-policy-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        cls.top = cls.top.resolve()
        cls.work = make_workspace(cls.top)
        cls.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                   "HOME": str(cls.top / "home"), "LANG": "C.UTF-8",
                   "XDG_CONFIG_HOME": str(cls.top / "config"),
                   "NACRE_STATE_DIR": str(cls.top / "state")}
        (cls.top / "home").mkdir()
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                cls.env[name] = os.environ[name]

    def nacre(self, *arguments, text="", **options):
        return subprocess.run([NACRE, *map(str, arguments)], input=text.encode(), cwd=self.work,
                              env=self.env, capture_output=True, timeout=DEADLINE, check=False,
                              **options)

    def explain(self, requests):
        """The answers to all requests, from one process."""
        text = "".join(json.dumps(item) + "\n" for item in requests)
        done = self.nacre("explain", "--json", "--batch", "--workspace", self.work, text=text)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        answers = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
        self.assertEqual(len(answers), len(requests))
        return answers

    def expect_none(self, what, failures):
        """Failures are shown together, since one cause has many."""
        if failures:
            self.fail("%d %s:\n%s" % (len(failures), what, "\n".join(failures[:200])))


def rule_id(answer):
    rule = answer.get("rule")
    return rule["id"] if isinstance(rule, dict) else rule


def outcome(answer):
    """allow, ask, nudge, deny, or sandbox: allowed, since the box is what stops it. A request that is
    not even taken is refused, too."""
    if "error" in answer:
        return "deny"
    if answer["verdict"] == "allow" and answer.get("left_to_sandbox"):
        return "sandbox"
    return answer["verdict"]


def told(answer):
    """How an answer is shown in a failure."""
    return "%s %s: %s" % (outcome(answer), rule_id(answer), answer.get("reason") or answer.get("error"))
