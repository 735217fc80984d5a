"""Attempts to get out of boxes that are kept and used by one command after the other."""
import unittest

from escape_driver import EscapeTest, add_tests


class Warmed(EscapeTest):
    """The same boxes, kept and used by one command after the other."""


add_tests(Warmed, "warm")
del EscapeTest


if __name__ == "__main__":
    unittest.main()
