#!/usr/bin/env python3
"""The official conformance suite (@modelcontextprotocol/conformance) against `nacre serve`, both eras: with the build that has the
suite's fixtures, and with the program that is shipped. What does not pass is listed in tests/npm/baseline.txt, with reasons."""
import collections
import fnmatch
import json
import pathlib
import re
import sys
import unittest

import helpers
import suites

FIXTURES = pathlib.Path(helpers.NACRE).with_name("nacre-fixtures")
NOT_PASSED = ("FAILURE", "WARNING", "SKIPPED")
REVISIONS = ("2025-11-25", "2026-07-28")
Line = collections.namedtuple("Line", "optional program revision scenario check reason")


def read_baseline():
    lines = []
    for text in (suites.PINNED / "baseline.txt").read_text().splitlines():
        if not text.strip() or text.startswith("#"):
            continue
        optional = text.startswith("?")
        program, revision, scenario, check, reason = text.lstrip("? ").split(None, 4)
        lines.append(Line(optional, program, revision, scenario, check, reason))
    return lines


class Conformance(suites.SuiteTest):
    def run_suite(self, url, revision):
        """All checks of the scenarios that this revision requires: (scenario, id, status, words)."""
        results = self.dir / f"results-{revision}"
        cli = self.tool("@modelcontextprotocol", "conformance", "dist", "index.js")
        code, out, err = self.run_node(cli, "server", "--url", url, "--requirements", revision, "-o", results,
                                       timeout=2 * helpers.DEADLINE)
        self.assertIn(code, (0, 1), err[-2000:])
        checks = []
        for path in sorted(results.glob("*/checks.json")):
            scenario = re.fullmatch(r"(?:server-)?(.*)-\d{4}-\d\d-\d\dT.*", path.parent.name)[1]
            for check in json.loads(path.read_text()):
                checks.append((scenario, check["id"], check["status"], check.get("errorMessage") or ""))
        self.assertIn("Total:", out, out[-2000:] + err[-2000:])
        return checks

    def compare(self, program, revision, checks, used):
        """What did not pass without a line that explains it; adds the lines that did to USED."""
        lines = [line for line in read_baseline() if fnmatch.fnmatchcase(program, line.program)
                 and fnmatch.fnmatchcase(revision, line.revision)]
        surprises = []
        for scenario, check, status, words in checks:
            if status not in NOT_PASSED:
                continue
            found = [line for line in lines if fnmatch.fnmatchcase(scenario, line.scenario)
                     and fnmatch.fnmatchcase(check, line.check)]
            used.update(found)
            if not found:
                surprises.append(f"{revision} {scenario} {check} {status}: {words}")
        counts = collections.Counter(status for _, _, status, _ in checks)
        print(f"# {program} {revision}: {dict(sorted(counts.items()))}", file=sys.stderr)
        self.assertGreater(counts["SUCCESS"], 40, "the suite has hardly run")
        return surprises

    def check(self, program, path):
        server = suites.Server(self, program=str(path))
        url = server.through_proxy() + "/mcp"
        surprises, used = [], set()
        for revision in REVISIONS:
            surprises += self.compare(program, revision, self.run_suite(url, revision), used)
        self.assertEqual(surprises, [])
        stale = [f"{line.scenario} {line.check}" for line in read_baseline()
                 if line.program == program and not line.optional and line not in used]
        self.assertEqual(stale, [], "these pass by now: take them out of the baseline")

    def test_with_the_fixtures(self):
        if not FIXTURES.exists():
            self.skipTest("fixtures: nacre-fixtures is not built")
        print(f"# {suites.versions(self.npm)}", file=sys.stderr)
        self.check("fixtures", FIXTURES)

    if not helpers.SANITIZED:  # what differs is what is missing: nothing that a sanitizer would see
        def test_as_shipped(self):
            self.check("release", helpers.NACRE)


if __name__ == "__main__":
    sys.exit(unittest.main())
