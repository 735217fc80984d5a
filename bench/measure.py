"""What the sections share: programs to build, samples to sum up, tables to print.

Times are given as p10, median and p90 of interleaved runs. The median tells what to expect on this
machine as it was; the ratio of the p10s is steadier when others use the machine at the same time.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
CFLAGS = ["-std=gnu17", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-fPIE"]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Skip(Exception):
    """A measurement that this machine cannot make, with the reason."""


def say(text=""):
    print(text, flush=True)


def progress(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def compile_c(into, name, sources, flags=(), optional=False):
    """Builds one of the small programs; with optional, returns None where that does not work."""
    target = os.path.join(into, name)
    command = [os.environ.get("CC", "cc"), *CFLAGS, "-o", target, *sources, *flags]
    done = subprocess.run(command, capture_output=optional, text=True)
    if done.returncode == 0:
        return target
    if optional:
        return None
    raise SystemExit(f"bench: {name} could not be compiled")


def program(into, name, static=False):
    """bench/NAME.c; static as nacre itself is, so that both start in the same way."""
    flags = ["-static-pie"] if static else ["-pie"]
    return compile_c(into, name, [os.path.join(HERE, name + ".c")], flags)


def environment(state):
    """The same for all that is measured: nothing from the caller's, a short PATH."""
    return {"PATH": PATH, "HOME": "/", "LC_ALL": "C", "NACRE_STATE_DIR": state}


def quantile(samples, q):
    ordered = sorted(samples)
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(samples):
    return quantile(samples, 0.5)


def read_samples(path):
    """The lines "KEY NUMBER" of the C programs as KEY -> numbers."""
    samples = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, number = line.rsplit(" ", 1)
            samples.setdefault(key, []).append(int(number))
    return samples


def run(argv, env, **options):
    """Runs a harness; the measured programs write to /dev/null and read from there."""
    options.setdefault("stdout", subprocess.DEVNULL)
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        raise SystemExit(f"bench: {os.path.basename(argv[0])} failed: {' '.join(argv)[:300]}")


def table(title, head, rows):
    """A Markdown table with its columns in line, so that it reads well as text too."""
    cells = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]

    def line(row):
        first, rest = row[0].ljust(widths[0]), [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        return "| " + " | ".join([first] + rest) + " |"

    say(f"\n### {title}\n")
    say(line(cells[0]))
    say("|" + "|".join(["-" * (widths[0] + 2)] + ["-" * (w + 1) + ":" for w in widths[1:]]) + "|")
    for row in cells[1:]:
        say(line(row))


def milliseconds(ns):
    return f"{ns / 1e6:.2f}"


def spread(samples):
    return f"{milliseconds(quantile(samples, 0.1))}-{milliseconds(quantile(samples, 0.9))}"


def ratio(number):
    return f"{number:.2f} x" if number < 10 else f"{number:.0f} x"
