"""Attempts to get out where there are no namespaces: stopped, but for the exceptions of the table."""
import unittest

from escape_driver import EscapeTest, add_tests


class Landlock(EscapeTest):
    """Without namespaces: stopped, but for the exceptions of the table."""


add_tests(Landlock, "landlock")
del EscapeTest


if __name__ == "__main__":
    unittest.main()
