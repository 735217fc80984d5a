"""Attempts to get out of the box, as root, as an ordinary user, and as root in a user's workspace.

The attackers and the table of what is expected are in tests/escape/; docs/security.md shows the table.
"""
import json
import re
import subprocess
import unittest

from escape_driver import ATTEMPTS, DEADLINE, HERE, NACRE, ROOT, EscapeTest, add_tests, make
from attempts import table  # the driver has put its directory on the path

# Functions that test_escape_places.py uses, or that only help.
ELSEWHERE = {"show", "workspace_is_home", "state_in_workspace", "sub_repository", "memory_pipes"}


class Strict(EscapeTest):
    """With namespaces: every attempt is stopped."""

    def test_the_hosts_network_is_no_more_than_that(self):
        """A profile that grants it gives TCP and UDP; not the sockets of the host's own programs."""
        names = {"unix_path", "unix_abstract", "vsock", "crypto", "raw", "packet", "netlink",
                 "other_families", "administer"}
        doctor = subprocess.run([NACRE, "doctor", "--json"], capture_output=True, check=False, timeout=DEADLINE)
        given = {"tcp"}
        if json.loads(doctor.stdout)["landlock_abi"] < 6:  # nothing else holds these back: see docs/security.md
            given.add("unix_abstract")
        for attempt in ATTEMPTS:
            if attempt.theme == "network" and attempt.name in names | {"tcp"}:
                for who, place in self.places.items():
                    with self.subTest(attempt=attempt.name, who=who):
                        outcome = make(place, attempt._replace(profile="online"), "strict")
                        self.assertIn("TRIED", outcome.output)
                        self.assertEqual(outcome.escaped, attempt.name in given, str(outcome))

    def test_the_network_by_name_opens_nothing(self):
        """With the doors of a gateway in the box each attempt on the network is stopped all the same."""
        for attempt in ATTEMPTS:
            if attempt.theme == "network" and attempt.profile == "bash":
                for who, place in self.places.items():
                    with self.subTest(attempt=attempt.name, who=who):
                        outcome = make(place, attempt._replace(profile="named"), "strict")
                        self.assertIn("TRIED", outcome.output)
                        self.assertFalse(outcome.escaped, str(outcome))


add_tests(Strict, "strict")
del EscapeTest


class Documentation(unittest.TestCase):
    def test_the_table_is_the_one_in_the_documentation(self):
        text = (ROOT / "docs" / "security.md").read_text()
        shown = text.partition("<!-- attempts -->\n")[2].partition("<!-- end of attempts -->")[0]
        self.assertEqual(shown, table(), "make it again: tests/escape/attempts.py prints it")

    def test_every_attempt_of_the_attackers_is_in_the_table(self):
        known = {(attempt.theme, attempt.name) for attempt in ATTEMPTS}
        for theme in {attempt.theme for attempt in ATTEMPTS}:
            source = next(path for path in (HERE / f"{theme}.c", HERE / f"{theme}.sh") if path.exists())
            pattern = r'\{"(\w+)", [a-z]\w+\}' if source.suffix == ".c" else r"^(\w+)\(\) \{$"
            found = set(re.findall(pattern, source.read_text(), re.MULTILINE))
            missing = {name for name in found if (theme, name) not in known}
            self.assertEqual(missing - ELSEWHERE, set(), source.name)


if __name__ == "__main__":
    unittest.main()
