"""The five profiles, row by row: what the tables in tests/data/policy-*.tsv say about each request."""
import json
import unittest

from policy import DATA, PolicyTest, outcome, request, rule_id, table, told

PROFILES = ("verify", "universal", "workspace", "readonly", "bash")
AGENTS = ("coder", "debugger", "writer", "researcher")


def difference(answer, verdict, rule, words, tools):
    """What is not as the row says, or None."""
    got = outcome(answer)
    if got != verdict and not (verdict == "allow" and got == "sandbox"):
        return "verdict"
    if rule and rule != "*" and rule_id(answer) != rule:
        return "rule"
    if rule == "*" and not rule_id(answer):
        return "rule"
    reason = answer.get("reason") or answer.get("error") or ""
    for word in filter(None, words.split(" + ")):
        if word not in reason:
            return "reason without '%s'" % word
    if tools and sorted(answer.get("recommended") or []) != sorted(tools.split(" ")):
        return "tools %s" % answer.get("recommended")
    return None


class Profiles(PolicyTest):
    def expect_table(self, name, least, **more):
        rows = [(number, (cells + [""] * 5)[:5]) for number, cells in table("policy-%s.tsv" % name)]
        self.assertGreaterEqual(len(rows), least)
        answers = self.explain([request(cells[0], **more) for _, cells in rows])
        failures = []
        for (number, cells), answer in zip(rows, answers):
            wrong = difference(answer, *cells[1:])
            if wrong:
                failures.append("%d: %s: wanted %s %s, %s differs: %s"
                                % (number, cells[0], cells[1], cells[2], wrong, told(answer)))
        self.expect_none("rows of %s differ" % name, failures)

    def test_every_row_of_verify(self):
        self.expect_table("verify", 400, profile="verify")

    def test_every_row_of_universal(self):
        self.expect_table("universal", 800, profile="universal")

    def test_every_row_of_workspace(self):
        self.expect_table("workspace", 120, profile="workspace")

    def test_every_row_of_readonly(self):
        self.expect_table("readonly", 300, profile="readonly")

    def test_every_row_of_bash(self):
        self.expect_table("bash", 280, profile="bash")


class Agents(PolicyTest):
    """The agents inherit what universal refuses, and run what they are for."""

    def test_what_each_agent_may_run(self):
        rows = list(table("policy-agents.tsv"))
        self.assertGreater(len(rows), 60)
        answers = self.explain([request(cells[1], agent=cells[0]) for _, cells in rows])
        failures = ["%d: %s %s: wanted %s: %s" % (number, cells[0], cells[1], cells[2], told(answer))
                    for (number, cells), answer in zip(rows, answers)
                    if difference(answer, cells[2], "", "", "")]
        self.expect_none("rows of the agents differ", failures)

    def test_no_agent_runs_what_universal_refuses(self):
        lines = [cells[0] for _, cells in table("policy-universal.tsv") if cells[1] == "deny"]
        self.assertGreater(len(lines), 600)
        for agent in AGENTS:
            answers = self.explain([request(line, agent=agent) for line in lines])
            failures = ["%s: %s: %s" % (agent, line, told(answer))
                        for line, answer in zip(lines, answers) if outcome(answer) != "deny"]
            self.expect_none("lines are not refused", failures)


class Limits(PolicyTest):
    """Timeouts, sizes, dialects and what the box is told."""

    def shown(self, name):
        done = self.nacre("policy", "show", "--json", "--agent" if name in AGENTS else "--profile", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_every_limit_of_every_profile(self):
        shown = {name: self.shown(name) for name in PROFILES + AGENTS}
        rows = list(table("policy-limits.tsv"))
        self.assertGreater(len(rows), 60)
        for number, (name, key, value) in rows:
            with self.subTest(line=number, profile=name, key=key):
                if key in ("programs", "denied_programs"):
                    self.assertEqual(sorted(shown[name][key]), sorted(json.loads(value)))
                else:
                    self.assertEqual(shown[name]["values"][key]["value"], json.loads(value))

    def test_every_profile_hides_keys_and_guards_hooks(self):
        for name in PROFILES + AGENTS:
            values = self.shown(name)["values"]
            for secret in ("~/.ssh", "~/.aws", "~/.azure", "~/.config/gcloud", "~/.docker", "~/.kube",
                           "~/.gnupg", "~/.netrc", "~/.git-credentials", "~/.npmrc", "~/.pypirc"):
                self.assertIn(secret, values["sandbox.secrets"]["value"], name)
            for path in (".git/hooks", ".git/config", ".nacre.yaml", ".vscode", ".claude", ".mcp.json"):
                self.assertIn(path, values["sandbox.protected"]["value"], name)
            readable = set(values["sandbox.readable"]["value"])
            self.assertFalse(readable & set(values["sandbox.secrets"]["value"]), name)


class Shipped(PolicyTest):
    """The shipped files are right by their own account."""

    def test_the_examples_of_every_shipped_file_hold(self):
        source = DATA.parent.parent / "profiles"
        files = sorted(path for path in [*source.glob("*.yaml"), *source.glob("agents/*.yaml")] if path.stem != "base")
        self.assertEqual(len(files), len(PROFILES) + len(AGENTS))
        for file in files:
            with self.subTest(file=file.name):
                done = self.nacre("policy", "test", file)
                self.assertEqual(done.returncode, 0, (done.stdout + done.stderr).decode())

    def test_every_shipped_file_is_valid(self):
        source = DATA.parent.parent / "profiles"
        for file in sorted([*source.glob("*.yaml"), *source.glob("agents/*.yaml")]):
            with self.subTest(file=file.name):
                done = self.nacre("policy", "check", file)
                self.assertEqual(done.returncode, 0, (done.stdout + done.stderr).decode())

    def test_every_profile_is_listed(self):
        done = self.nacre("profiles")
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = done.stdout.decode().split()
        for name in PROFILES:
            self.assertIn(name, listed)

    def test_a_refusal_of_readonly_shows_the_whole_whitelist(self):
        answer = self.explain([{"profile": "readonly", "command": "rm x"}])[0]
        for name in ("ls cat head tail less file stat find grep rg awk sed wc sort uniq cut tr diff pwd "
                     "which whoami date env").split():
            self.assertIn(name, answer["reason"])

    def test_the_rule_is_named_with_its_file_and_line(self):
        answer = self.explain([{"profile": "universal", "command": "sudo ls"}])[0]
        self.assertEqual(answer["rule"]["id"], "deny:privilege")
        self.assertIn("universal", answer["rule"]["file"])
        line = (DATA.parent.parent / "profiles" / "universal.yaml").read_text().split("\n")
        self.assertIn("privilege", line[answer["rule"]["line"] - 1])

    def test_a_request_that_is_no_request_is_an_error(self):
        answers = self.explain([{"profile": "bash"}, {"profile": "nobody", "command": "ls"},
                                {"profile": "bash", "command": 3}, {"profile": "verify", "args": ["x"]}])
        for answer in answers:
            self.assertIn("error", answer, json.dumps(answer))


if __name__ == "__main__":
    unittest.main()
