"""The workflows of the forge, held to rules of our own, since no checker of them is packaged.

Known keys only, actions pinned by commit, least permissions, no text of strangers in a script, and every make target and
tool that they call exists.
"""
import re
import unittest

from helpers import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"
TOP = {"name", "on", "permissions", "concurrency", "jobs", "env"}
JOB = {"needs", "strategy", "runs-on", "timeout-minutes", "container", "steps", "environment", "permissions", "env", "if"}
STEP = {"name", "uses", "with", "run", "env", "if", "id", "working-directory"}
EVENTS = {"push", "pull_request"}
# What stands in quotes in a script is text of whoever opened the pull request.
HOSTILE = re.compile(r"\$\{\{\s*(github\.(event|head_ref|ref_name|actor)|inputs\.|secrets\.)")


class Reader:
    """The part of YAML that the workflows are written in: maps, lists, plain and quoted words, flow, block text."""

    def __init__(self, text):
        self.lines = [(number, len(line) - len(line.lstrip()), line) for number, line in enumerate(text.split("\n"), 1)]
        self.at = 0

    def skip(self):
        while self.at < len(self.lines) and (not self.lines[self.at][2].strip() or self.lines[self.at][2].lstrip().startswith("#")):
            self.at += 1
        return self.at < len(self.lines)

    def read(self):
        value = self.block(0)
        if self.skip():
            raise ValueError(f"line {self.lines[self.at][0]} is where none should be")
        return value

    def block(self, indent):
        if not self.skip() or self.lines[self.at][1] < indent:
            return None
        indent = self.lines[self.at][1]
        if self.lines[self.at][2].lstrip().startswith("- "):
            return self.sequence(indent)
        return self.mapping(indent)

    def sequence(self, indent):
        found = []
        while self.skip() and self.lines[self.at][1] == indent and self.lines[self.at][2].lstrip().startswith("- "):
            number, _, line = self.lines[self.at]
            rest = line[indent + 2:]
            if re.match(r"[\w-]+:(\s|$)", rest):
                self.lines[self.at] = (number, indent + 2, " " * (indent + 2) + rest)
                found.append(self.mapping(indent + 2))
            else:
                self.at += 1
                found.append(self.scalar(rest))
        return found

    def mapping(self, indent):
        found = {}
        while self.skip() and self.lines[self.at][1] == indent:
            number, _, line = self.lines[self.at]
            match = re.fullmatch(r"([\w-]+):(?:\s+(.*))?", line.strip())
            if not match or match[1] in found:
                raise ValueError(f"line {number}: {line}")
            self.at += 1
            value = re.sub(r"\s+#.*$", "", match[2] or "").strip()
            if value == "|":
                found[match[1]] = self.text(indent)
            elif value and not value.startswith("#"):
                found[match[1]] = self.scalar(value)
            else:
                found[match[1]] = self.block(indent + 1)
        if self.skip() and self.lines[self.at][1] > indent:
            raise ValueError(f"line {self.lines[self.at][0]}: indented too far")
        return found

    def text(self, indent):
        lines = []
        while self.at < len(self.lines) and (not self.lines[self.at][2].strip() or self.lines[self.at][1] > indent):
            lines.append(self.lines[self.at][2].strip())
            self.at += 1
        return "\n".join(lines).strip()

    def scalar(self, text):
        text = text.strip()
        if text.startswith("[") and text.endswith("]"):
            return [self.scalar(part) for part in text[1:-1].split(",") if part.strip()]
        if text.startswith("{ ") and text.endswith("}"):
            return {key.strip(): self.scalar(value) for key, value in (part.split(":", 1) for part in text[1:-1].split(","))}
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
            return text[1:-1]
        return {"true": True, "false": False}.get(text, text)


class Workflows(unittest.TestCase):
    def setUp(self):
        self.found = {path.name: Reader(path.read_text()).read() for path in sorted(WORKFLOWS.glob("*.yml"))}

    def jobs(self):
        for file, flow in self.found.items():
            for name, job in flow["jobs"].items():
                yield f"{file}: {name}", flow, job

    def steps(self):
        for where, _, job in self.jobs():
            for number, step in enumerate(job["steps"]):
                yield f"{where}, step {number}", step

    def test_there_are_two(self):
        self.assertEqual(sorted(self.found), ["ci.yml", "release.yml"])

    def test_all_keys_are_known(self):
        for file, flow in self.found.items():
            self.assertLessEqual(set(flow), TOP, file)
            self.assertLessEqual(set(flow["on"]), EVENTS, f"{file}: above all no pull_request_target, which has our secrets")
        for where, _, job in self.jobs():
            self.assertLessEqual(set(job), JOB, where)
            self.assertLessEqual({"runs-on", "steps", "timeout-minutes"}, set(job), where)
        for where, step in self.steps():
            self.assertLessEqual(set(step), STEP, where)
            self.assertEqual(len({"uses", "run"} & set(step)), 1, where)

    def test_what_a_job_needs_is_there(self):
        for where, flow, job in self.jobs():
            needs = job.get("needs") or []
            self.assertLessEqual(set([needs] if isinstance(needs, str) else needs), set(flow["jobs"]), where)

    def test_actions_are_pinned_by_commit(self):
        for where, step in self.steps():
            if "uses" in step:
                self.assertRegex(step["uses"], r"^actions/[a-z-]+@[0-9a-f]{40}$", where)
        for path in WORKFLOWS.glob("*.yml"):
            for line in path.read_text().splitlines():
                if " uses: " in line:
                    self.assertRegex(line, r"@[0-9a-f]{40} # v[0-9.]+$", "a person reads the version")

    def test_nothing_may_more_than_it_needs(self):
        for file, flow in self.found.items():
            self.assertEqual(flow["permissions"], {"contents": "read"}, file)
        for where, _, job in self.jobs():
            more = job.get("permissions", {})
            if "write" in more.values():
                self.assertEqual(job.get("environment"), "release", f"{where}: a person agrees first")
                self.assertEqual(sorted(job["needs"]), ["install", "verify"])
                self.assertEqual(more, {"contents": "write", "id-token": "write", "attestations": "write"})
        for where, step in self.steps():
            if "checkout" in step.get("uses", ""):
                self.assertIs(step["with"]["persist-credentials"], False, where)

    def test_no_text_of_strangers_is_in_a_script(self):
        for where, step in self.steps():
            self.assertIsNone(HOSTILE.search(step.get("run", "")), where)

    def test_what_is_called_is_there(self):
        targets = set(re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        targets = {word for line in targets for word in line.split()}
        for where, step in self.steps():
            script = step.get("run", "")
            for line in re.findall(r"\bmake ((?:[a-z-]+ )*[a-z-]+)(?= |$)", script, re.MULTILINE):
                if not script.startswith("apt-get"):
                    self.assertLessEqual(set(line.split()), targets, where)
            for tool in re.findall(r"(?:^|\s)((?:tools|\.ci)/[a-z-]+)", script):
                self.assertTrue((ROOT / tool).exists(), f"{where}: {tool}")

    def test_the_rules_notice(self):
        with self.assertRaises(ValueError):
            Reader("a: 1\na: 2\n").read()
        self.assertIsNotNone(HOSTILE.search("echo ${{ github.event.issue.title }}"))
        self.assertEqual(Reader("a:\n  - b: [x, y] # z\n    c: |\n      d\n").read(), {"a": [{"b": ["x", "y"], "c": "d"}]})


if __name__ == "__main__":
    unittest.main()
