"""The five designs that the profiles come from, fact by fact: tests/seeds has a table for each.

One server, one MCP client and one batch of explain serve all rows of a table; `nacre call` and other
command lines are processes of their own. tests/seeds/__init__.py tells the form of a row.
"""
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from helpers import DEADLINE, NACRE, ROOT
from mcp_client import Client
from policy import SEED_TOOLS, make_workspace
from patience import Deadline
from serving import ServeTest

sys.path.insert(0, str(ROOT / "tests"))
from seeds import ABSENT, SEEDS  # noqa: E402

PROFILES = ("verify", "universal", "workspace", "readonly", "bash")
FILES = {  # of an application, as the rows name them
    "app": "profile: app-writer\ninherits: universal\nshell: {allow: [ls, wc], deny: [cat], default_timeout: 240, max_timeout: 480}\n",
    "coding": "profile: app-coder\ninherits: universal\ncoding: {allow: [ls]}\n",
    "own": "tools:\n  shell: [run_command]\n  coding: [run_command]\nshell:\n  allow: [pdflatex, wc]\n  deny: []\nmodel: large\n",
    "jobs": "profile: jobs\ninherits: universal\nworkspace: {root: JOBS, per_job: true}\n",
    "strict": "profile: strict-bash\ninherits: bash\nrequire_description: true\ndanger: [{id: sql, literal: DROP TABLE}, {id: no, commands: [forbidden]}]\n",
}
SERVER = "#!/usr/bin/python3\nimport json, sys\nprint(json.dumps(json.load(sys.stdin)))\n"


def rows_of(name):
    return importlib.import_module(f"seeds.{name}").ROWS


def at(answer, path):
    """What stands at a path; names may have dots themselves, so the longest that fits is taken."""
    words = path.split(".")
    for n in range(len(words), 0, -1):
        key, rest = ".".join(words[:n]), ".".join(words[n:])
        if isinstance(answer, dict) and key in answer:
            found = answer[key]
        elif isinstance(answer, list) and key.isdigit() and int(key) < len(answer):
            found = answer[int(key)]
        else:
            continue
        return at(found, rest) if rest else found
    return ABSENT


def fits(wanted, got, kept):
    if wanted is ABSENT or got is ABSENT or not isinstance(wanted, str):
        return wanted is got if ABSENT in (wanted, got) else wanted == got
    text = got if isinstance(got, str) else json.dumps(got)
    if wanted.startswith("~"):
        return re.search(wanted[1:], text) is not None
    if wanted.startswith("!~"):
        return re.search(wanted[2:], text) is None
    if re.match(r"=\w+~", wanted):
        name, _, pattern = wanted[1:].partition("~")
        found = re.search(pattern, text)
        if found:
            kept[name] = found[1]
        return found is not None
    return wanted == got


class Doors:
    """All ways to ask, opened when a row first needs one."""

    def __init__(self, test):
        self.test, self.kept = test, {"work": str(test.work), **{name: str(path) for name, path in test.files.items()}}
        self.client = self.server = None
        self.tools, self.explained = {}, {}

    def fill(self, value):
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.fill(item) for item in value]
        if not isinstance(value, str):
            return value
        return re.sub(r"\{(\w+)\}", lambda m: self.kept.get(m[1], m[0]), value)

    def nacre(self, words, input=None):
        return subprocess.run([NACRE, *words], env=self.test.env, cwd=self.test.work, capture_output=True, text=True, check=False,
                              timeout=DEADLINE, **({"input": input} if input is not None else {"stdin": subprocess.DEVNULL}))

    def explain_all(self, rows):
        """From one process; the answers lie by the text of their request."""
        texts = [json.dumps(self.fill(call)) for _, door, call, _ in rows if door == "explain"]
        done = self.nacre(["explain", "--json", "--batch"], "".join(text + "\n" for text in texts))
        self.test.assertEqual(done.returncode, 0, done.stderr)
        self.explained = dict(zip(texts, map(json.loads, done.stdout.splitlines())))

    def ask_explain(self, call):
        return self.explained[json.dumps(call)]

    def ask_call(self, call):
        tool, parameters, *options = call
        done = self.nacre(["call", *(options[0] if options else []), tool, json.dumps(parameters)])
        return {**json.loads(done.stdout), "code": done.returncode}

    def ask_policy(self, profile):
        values = json.loads(self.nacre(["policy", "show", "--json", "--profile", profile]).stdout)["values"]
        return {key: entry["value"] for key, entry in values.items()}

    def ask_nacre(self, words):
        done = self.nacre(words)
        return {"code": done.returncode, "out": done.stdout, "err": done.stderr}

    def mcp(self):
        if not self.client:
            self.client = Client(self.test, *(word for name in PROFILES for word in ("--profile", name)))
            self.client.initialize("2025-06-18")
        return self.client

    def ask_mcp(self, call):
        result = self.mcp().call(*call)
        return {"text": result["content"][0]["text"], "is_error": result["isError"], "meta": result.get("_meta")}

    def ask_schema(self, call):
        tool, options = (call, None) if isinstance(call, str) else call
        key = tuple(options or ())
        if key not in self.tools and not options:
            self.tools[key] = json.loads(self.nacre(["call", "--list"]).stdout)
        elif key not in self.tools:
            client = Client(self.test, *options)
            client.initialize("2025-06-18")
            self.tools[key] = client.result("tools/list")["tools"]
            client.close()
        return next(found for found in self.tools[key] if found["name"] == tool)

    def ask_http(self, path, call):
        body, token = call if isinstance(call, list) else (call, "")
        if not self.server:
            self.server = self.test.server = self.test.serve(*(word for name in PROFILES for word in ("--profile", name)))
        answer = self.test.post(path, body, token=token)
        return {**answer.json, "status": answer.status}

    def ask_shell(self, call):
        return self.ask_http("/shell", call)

    def ask_run(self, call):
        return self.ask_http("/v1/run", call)

    def close(self):
        if self.client:
            self.client.close()


class Seeds(ServeTest):
    BOXED = True

    def setUp(self):
        ServeTest.__bases__[0].setUp(self)
        self.servers = []
        self.give_up_after(Deadline(240))
        self.work.rmdir()
        make_workspace(self.dir)
        (self.work / "a.txt").write_text("one TODO\ntwo\n")
        (self.work / "gone.txt").write_text("x\n")
        (self.work / "server").write_text(SERVER)
        (self.work / "server").chmod(0o755)
        if os.geteuid() == 0:  # as an ordinary user's tree: a command of root runs as the owner
            shutil.copymode("/usr/bin", self.dir)
        (self.work / "large.txt").write_bytes(b"0123456789abcd\n" * 100000)
        (self.work / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)
        self.write_config("verify.yaml", SEED_TOOLS)
        self.files = {name: self.dir / f"{name}.yaml" for name in FILES}
        for name, text in FILES.items():
            self.files[name].write_text(text.replace("JOBS", str(self.dir / "jobs")))
        (self.dir / "jobs").mkdir()

    def check(self, name):
        rows, doors, wrong = rows_of(name), Doors(self), []
        doors.explain_all(rows)
        for fact, door, call, expected in rows:
            try:
                answer = getattr(doors, f"ask_{door}")(doors.fill(call))
            except (AssertionError, ValueError, KeyError, StopIteration) as error:
                wrong.append(f"{fact}: {door} {call}: {error!r}")
                continue
            for path, wanted in expected.items():
                if not fits(doors.fill(wanted), at(answer, path), doors.kept):
                    wrong.append(f"{fact}: {door} {call}\n  {path} must be {wanted!r}\n  {json.dumps(answer)[:1200]}")
        doors.close()
        if wrong:
            self.fail(f"{len(wrong)} of {len(rows)} facts of {name}:\n" + "\n".join(wrong))


def fact_test(name):
    return lambda self: self.check(name)


for seed in SEEDS:
    setattr(Seeds, f"test_{seed}", fact_test(seed))


class Tables(unittest.TestCase):
    def test_there_are_facts_enough_and_none_twice(self):
        rows = [(seed, *row) for seed in SEEDS for row in rows_of(seed)]
        self.assertGreaterEqual(len(rows), 200)
        self.assertEqual(len({(row[0], row[1]) for row in rows}), len(rows))
        for row in rows:
            self.assertTrue(row[4], row)


if __name__ == "__main__":
    unittest.main(verbosity=2)
