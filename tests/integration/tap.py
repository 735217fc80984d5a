#!/usr/bin/env python3
"""Run one unittest module and report in TAP, one line a test: tap.py FILE [NAME]...

Every test is reported when it ends, so a time-out shows how far the module got; what a failing test
raised follows its line as comments. A skip carries its reason: one that begins with the name of a
kernel feature ("userns: not permitted here") is turned into a failure by NACRE_TEST_MUST, see
tools/run-tests. With NAMEs (Class or Class.test_method) only these tests run.
"""
import importlib.util
import os
import pathlib
import re
import sys
import unittest


class TapResult(unittest.TestResult):
    """Prints to the real standard output, which the tests themselves cannot reach."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.number = 0
        self.subtest_failures = []

    def report(self, verdict, test, directive="", details=""):
        self.number += 1
        # test_module.Class.test_x, or "setUpClass (test_module.Class)" when that is what failed
        name = re.sub(r"\btest_\w+\.(?=\w)", "", test.id(), count=1).replace("#", "")
        self.out.write(f"{verdict} {self.number} - {name}{directive}\n")
        for line in details.splitlines():
            self.out.write(f"# {line}\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self.subtest_failures = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.report("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.report("not ok", test, details=self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.report("not ok", test, details=self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        first = " ".join(reason.split())
        self.report("ok", test, directive=f" # SKIP {first}")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.report("not ok", test, directive=" # TODO expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.report("not ok", test, details="the test was expected to fail")

    def addSubTest(self, test, subtest, err):
        """Sub-tests are details: the test as a whole is what gets a number."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            text = f"{subtest}\n{self._exc_info_to_string(err, test)}"
            self.subtest_failures.append(text)

    def stopTest(self, test):
        super().stopTest(test)
        if self.subtest_failures:
            self.report("not ok", test, details="\n".join(self.subtest_failures))
            self.subtest_failures = []


def load(path):
    sys.path.insert(0, str(path.parent))  # helper modules stand beside the tests
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main():
    sys.dont_write_bytecode = True
    # A test that prints, or a program that inherits descriptor 1, must not tear the TAP apart.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    path = pathlib.Path(sys.argv[1]).resolve()
    loader = unittest.TestLoader()
    try:
        module = load(path)
    except unittest.SkipTest as skip:
        out.write(f"1..0 # SKIP {' '.join(str(skip).split())}\n")
        return 0
    if sys.argv[2:]:
        tests = loader.loadTestsFromNames(sys.argv[2:], module)
    else:
        tests = loader.loadTestsFromModule(module)
    planned = tests.countTestCases()
    result = TapResult(out)
    out.write("TAP version 13\n")
    out.flush()
    tests.run(result)
    if planned == 0:
        out.write(f"Bail out! {path.name} holds no test\n")
        return 1
    out.write(f"1..{result.number}\n")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
