"""`bench/run --quick`: every section runs to its end and prints its rows. What it measures is not looked at."""
import os
import re
import shutil
import subprocess
import sys
import unittest

from helpers import DEADLINE, NACRE, ROOT, NacreTest

# Section -> titles of its tables (a beginning is enough), with rows that must be there. What comes from elsewhere and is not
# installed is told by a note that begins "not measured" or names the package.
TABLES = {
    "startup": {"Cold start of `true`": ["posix_spawn + wait", "nacre run -- true", "nacre run -c true"],
                "What a start is made of": ["nacre run -- true"],
                "Many commands through one nacre": ["nacre run --batch --jobs 1", "nacre run --batch --jobs 8"]},
    "capture": {"Capture of": ["C loop to a file", "nacre run, everything in the file", "nacre run, a quarter in the file",
                               "Python subprocess.run(capture_output)"]},
    "analyse": {"Analyser": ["nacre: parse, 84 bytes", "nacre: parse + facts, 84 bytes"],
                "Analyser: cost against size": ["nested $(: 6", "sh -c in sh -c: 8"]},
    "decide": {"Decisions": ["ls -la src"], "Loading of profiles": ["all"]},
    "wall": {"A box for one command": ["nacre run -- true", "landlock tier", "no box"],
             "Many commands, each in a box": ["kept boxes, 1 caller", "kept boxes, 8 callers"]},
    "tasks": {"4 tasks at once": ["nacre-keeper", "nacre-init"], "Lists of 20 finished tasks": ["nacre tasks"],
              "From a line to its follower": [], "Followers of a flood": []},
    "http": {"POST /shell against the launcher alone": []},
    "audit": {"Records that are on the disk": ["the audit log, 16 callers"],
              "`true`, the shortest": ["audit on, 8 callers"], "`ls | wc -l`": ["audit off, 1 caller"]},
    "mcp": {"MCP over stdio": ["nacre mcp: shell, in its box", "nacre mcp: Bash, in its box and with bash"]},
    "network": {"A command that uses no network": ["cold, names", "kept, names"]},
}
NOTES = {"http": ["POST /shell for 1 s", "an idle follower"], "tasks": ["2 followers of 100000 bytes: kept"]}
PEERS = {"wall": ("bwrap", "bwrap --unshare-all"), "startup": ("bwrap", "bwrap --unshare-all")}


def tables_of(text):
    """Title -> first cells of its rows."""
    found, title = {}, None
    for line in text.splitlines():
        if line.startswith("### "):
            title = line[4:]
            found[title] = []
        elif title and line.startswith("| "):
            found[title].append([cell.strip() for cell in line.strip("|").split(" | ")])
    return {title: [row[0].strip() for row in rows[1:] if any(row[1:])] for title, rows in found.items()}


class Quick(NacreTest):
    def test_every_section_prints_its_rows(self):
        if not (ROOT / "bench").is_dir():
            self.skipTest("bench: not part of this tree")
        env = {**os.environ, "NACRE": NACRE, "TMPDIR": str(self.tmp)}
        popen = subprocess.Popen([sys.executable, str(ROOT / "bench" / "run"), "--quick"], env=env, cwd=self.work,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(popen)
        out, err = popen.communicate(timeout=4 * DEADLINE)
        self.assertEqual(popen.returncode, 0, err[-2000:] + out[-2000:])
        tables = tables_of(out)
        for section, wanted in TABLES.items():
            with self.subTest(section=section):
                if section == "http" and not shutil.which("wrk"):
                    self.assertIn("not measured: POST /shell: wrk is not installed", out)
                    continue
                for title, rows in wanted.items():
                    [found] = [name for name in tables if name == title or name.startswith(title + " ") or
                               (title != "Analyser" and name.startswith(title))]
                    self.assertTrue(tables[found], found)
                    for row in rows:
                        self.assertIn(row, tables[found])
                for note in NOTES.get(section, []):
                    self.assertIn(f"- {note}", out)
                if section == "network" and "not measured: ways out of a namespace" not in out:
                    self.assertLessEqual({"direct", "nacre, by name"}, set(tables["Ways out of a namespace"]))
                tool, row = PEERS.get(section, (None, None))
                if tool:
                    known = [rows for rows in tables.values() if row in rows] or re.search(rf"{tool} (is not installed|does not work)", out)
                    self.assertTrue(known, tool)
        self.assertNotIn("has no policy", out)
        self.assertNotIn("has no analyser", out)
        self.assertNotIn("has no audit log", out)
        self.assertEqual(list(self.tmp.iterdir()), [], "the benchmark leaves something behind")


if __name__ == "__main__":
    unittest.main()
