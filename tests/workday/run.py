#!/usr/bin/env python3
"""How much of a working day is the same in nacre as in plain bash.

    run.py NACRE [--only REGEX] [--sample N] [--seed N] [--jobs N] [--list] [--verbose]

Each scenario runs in plain bash and through `nacre mcp --profile bash`, in a workspace and a home of its own. It is the
same if each call that answers as it must in bash does so in nacre. Fails on a difference that differs.py does not have,
and on one that it has and that is none any more.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from differs import DIFFERS  # noqa: E402
from scenarios import MEMORY_GROUP, SCENARIOS  # noqa: E402
from shells import WAIT, Nacre, Plain  # noqa: E402

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
GIT = "[user]\n\tname = Day\n\temail = day@example.invalid\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def name_of(scenario):
    return f"{scenario.group}/{scenario.name}"


def has_come(shell, call):
    """The output of a task, once it is as wanted, or after a while as it is."""
    end = time.monotonic() + WAIT
    while True:
        text = shell.output(call.name)
        if re.search(call.out, text, re.S) or time.monotonic() > end:
            return text
        time.sleep(0.1)


def make(shell, call):
    """One call: why it did not answer as it must, or an empty string; and what it answered."""
    code, text = call.code, ""
    if call.kind == "sh":
        code, text = shell.sh(call.command)
    elif call.kind == "task":
        shell.task(call.name, call.command)
    elif call.kind == "shows":
        text = has_come(shell, call)
    elif call.kind == "stop":
        shell.stop(call.name)
    elif call.kind == "talk":
        text = shell.talk(call.command, call.talk)
    if code != call.code:
        return f"exit code {code} in place of {call.code}", text
    if not re.search(call.out, text, re.M | re.S):
        return f"no /{call.out}/", text
    return "", text


def play(scenario, nacre):
    """One (why, answer) for each call; NACRE is None for plain bash."""
    top = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="nacre-workday-", dir="/tmp")))
    try:
        work, home, keep = top / "work", top / "home", top / "keep"
        for path in (work, home, keep):
            path.mkdir()
        (home / ".gitconfig").write_text(GIT)
        extra = {"PORT": str(free_port()), "TAG": "tag" + top.name[-8:].replace("_", "x")}
        env = {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "NACRE_STATE_DIR": str(top / "state")}
        if scenario.setup:
            subprocess.run(["bash", "-ec", scenario.setup], cwd=work, env={**env, **extra}, check=True, timeout=WAIT * 3,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shell = Nacre(nacre, work, env, extra) if nacre else Plain(work, {**env, **extra}, keep)
        try:
            return [make(shell, call) for call in scenario.calls]
        finally:
            shell.close()
    finally:
        shutil.rmtree(top, ignore_errors=True)


def differs(scenario, nacre):
    """Why nacre differs, with its answer; ("", "") if it does not; None where bash itself answers otherwise."""
    plain = play(scenario, None)
    if any(why for why, _ in plain):
        return None, next(f"{why}: {text[-300:]}" for why, text in plain if why)
    for call, (why, text) in zip(scenario.calls, play(scenario, nacre)):
        if why:
            return f"{call.command or call.name}: {why}", text
    return "", ""


def has_memory_group(nacre):
    done = subprocess.run([nacre, "doctor", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=WAIT, check=False)
    return json.loads(done.stdout)["cgroup"]["memory"]


def choose(args):
    chosen = [s for s in SCENARIOS if re.search(args.only, name_of(s))]
    grouped = has_memory_group(args.nacre) if any(MEMORY_GROUP in s.need for s in chosen) else False
    missing = {s for s in chosen
               if not all(grouped if need == MEMORY_GROUP else shutil.which(need, path=PATH) for need in s.need)}
    chosen = [s for s in chosen if s not in missing]
    if args.sample:
        chosen = random.Random(args.seed).sample(chosen, min(args.sample, len(chosen)))
    return chosen, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("nacre", type=os.path.abspath)
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it, and so would the shells
    chosen, missing = choose(args)
    if args.list:
        print("\n".join(f"{name_of(s):40} {len(s.calls)} calls" for s in chosen))
        return 0
    for scenario in sorted(missing, key=name_of):
        print(f"skip     {name_of(scenario)}: needs {', '.join(scenario.need)}")
    counts = {"same": 0, "differs": 0, "NEW": 0, "STALE": 0, "BASH": 0}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for scenario, (why, text) in zip(chosen, pool.map(lambda s: differs(s, args.nacre), chosen)):
            listed = name_of(scenario) in DIFFERS
            word = "BASH" if why is None else "differs" if why and listed else "NEW" if why else "STALE" if listed else "same"
            counts[word] += 1
            print(f"{word:8} {name_of(scenario)}{': ' + why if why else ''}", flush=True)
            if word in ("NEW", "BASH") or (args.verbose and why):
                print("".join(f"         | {line}\n" for line in text.strip().splitlines()[-8:]), end="")
    print(f"workday: {sum(counts.values())} scenarios, {counts['same']} the same as in bash, {counts['differs']} differ as listed, "
          f"{counts['NEW']} differ and are not listed, {counts['STALE']} are listed and do not, {counts['BASH']} fail in bash itself")
    return 1 if counts["NEW"] or counts["STALE"] or counts["BASH"] else 0


if __name__ == "__main__":
    sys.exit(main())
