#!/usr/bin/env python3
"""Run one cmocka test program and print its TAP the way meson reads it.

cmocka 1.1.5 reports a skipped test as `not ok N # SKIP name`, which meson takes for a failure, and
a program that finds the kernel lacking leaves with 77, which meson's TAP reader takes for an error.
Both become a TAP skip here. The reason of a 77 is the last line that the program wrote.
"""
import os
import re
import signal
import subprocess
import sys

SKIPPED = re.compile(r"not ok (\d+) # SKIP (.*)")
PLAN = re.compile(r"1\.\.\d+")


def main():
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP")
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               env=environment, text=True, errors="replace")
    planned, last = False, ""
    for line in program.stdout:
        line = line.rstrip("\n")
        skipped = SKIPPED.fullmatch(line)
        if skipped:
            line = f"ok {skipped[1]} - {skipped[2]} # SKIP {skipped[2]}"
        planned = planned or PLAN.match(line) is not None
        last = line or last
        if planned:
            print(line, flush=True)
        else:
            print(f"# {line}", flush=True)

    code = program.wait()
    if code == 77 and not planned:
        print(f"1..0 # SKIP {last.lstrip('# ')}")
        return 0
    if not planned:
        print("Bail out! the program ended before its plan")
        return 1
    if code < 0:
        print(f"# ended by {signal.Signals(-code).name} after: {last}")
        return 128 - code
    return code


if __name__ == "__main__":
    sys.exit(main())
