#!/usr/bin/env python3
"""Test suites of other projects, outside of nacre and in a room: the same result, or a difference with a cause.

    run.py NACRE [--only REGEX] [--keep DIR] [--list]

Each project is fetched once (Debian's source packages by apt, npm's packages by npm), unpacked twice, and built and
tested by the same lines: as an ordinary user in plain bash, and through `nacre mcp --profile bash`. What is compared are
the verdicts that the suite itself prints, and its exit code. Where a suite differs twice, the difference must be in
CAUSES.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from projects import CAUSES, PROJECTS  # noqa: E402
from shells import Nacre  # noqa: E402

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LONG = 1500  # seconds that one line may take
LINE = "( {} ) >{} 2>&1; code=$?; times >>times.log; exit $code"

Outcome = collections.namedtuple("Outcome", "code verdicts seconds processor told")
USER = 64999  # whom a box of root's runs as


def apt_sources(cache):
    """A list of packages of sources beside the machine's own, from the archives that apt knows."""
    etc, lists = cache / "apt", cache / "lists"
    if not (lists / "partial").is_dir():
        etc.mkdir(exist_ok=True)
        (lists / "partial").mkdir(parents=True)
    for path in pathlib.Path("/etc/apt/sources.list.d").glob("*.sources"):
        (etc / path.name).write_text(re.sub(r"(?m)^Types:.*$", "Types: deb-src", path.read_text()))
    old = pathlib.Path("/etc/apt/sources.list")
    if old.exists():
        (etc / "more.list").write_text(re.sub(r"(?m)^deb ", "deb-src ", old.read_text()))
    return ["-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={etc}", "-o", f"Dir::State::Lists={lists}",
            "-o", "APT::Sandbox::User=root"]


def fetch(project, cache):
    """The directory with the project as it came; made once."""
    into = cache / "pristine" / project.name
    if (into / ".fetched").exists():
        return into / "tree"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    if project.source == "npm":
        subprocess.run(["npm", "pack", "--silent", project.package], cwd=into, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["tar", "xf", next(into.glob("*.tgz"))], cwd=into, check=True)
        (into / "package").rename(into / "tree")
    else:
        options = apt_sources(cache)
        if not list((cache / "lists").glob("*Sources*")):
            subprocess.run(["apt-get", "-q", *options, "update"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["apt-get", "-q", *options, "source", project.package], cwd=into, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        next(path for path in into.iterdir() if path.is_dir()).rename(into / "tree")
    if project.prepare:  # what needs the network or changes the sources, once for both
        subprocess.run(["bash", "-ec", project.prepare], cwd=into / "tree", check=True, stdout=subprocess.DEVNULL)
    (into / ".fetched").touch()
    return into / "tree"


class Outside:
    """Plain bash, without privileges."""

    def __init__(self, work, env):
        self.work, self.env = work, env

    def sh(self, command):
        lower = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []
        done = subprocess.run([*lower, "bash", "-c", command], cwd=self.work, env=self.env, timeout=LONG, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.decode(errors="replace")

    def close(self):
        pass


class Inside(Nacre):
    """A room; a call that is told to take long may."""

    patience = LONG

    def sh(self, command):
        facts, text = self.call("Bash", {"command": command, "timeout": LONG * 1000})
        while facts.get("exit_code") is None and facts.get("task_id"):
            facts, text = self.call("TaskOutput", {"task_id": facts["task_id"], "block": True, "timeout": 60000, "all": True})
        return facts.get("exit_code"), text


def verdicts(project, log):
    """The lines that tell how the suite went, without times."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if re.search(project.verdict, line)]


def processor_time(log):
    """Seconds that bash has waited for, by its own `times`: the second line is about its children."""
    lines = log.read_text().splitlines() if log.exists() else []
    return sum(60 * int(minutes) + float(seconds)
               for line in lines[1::2] for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", line))


def run(project, tree, top, nacre):
    shutil.rmtree(top, ignore_errors=True)
    work, home = top / "work", top / "home"
    home.mkdir(parents=True)
    shutil.copytree(tree, work, symlinks=True)
    if os.geteuid() == 0 and not nacre:
        subprocess.run(["chown", "-R", f"{USER}:{USER}", top], check=True)
    env = {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "NACRE_STATE_DIR": str(top / "state")}
    shell = Inside(nacre, work, env, {}) if nacre else Outside(work, env)
    began = time.monotonic()
    try:
        built, told = shell.sh(LINE.format(project.build, "build.log"))
        code, told = shell.sh(LINE.format(project.test, "test.log")) if built == 0 else (f"build {built}", told)
    finally:
        shell.close()
    return Outcome(code, verdicts(project, work / "test.log"), time.monotonic() - began, processor_time(work / "times.log"), told)


def compare(project, outside, inside):
    """What is different, a line each."""
    found = [] if outside.code == inside.code else [f"exit code {inside.code} inside, {outside.code} outside"]
    ours, theirs = list(inside.verdicts), list(outside.verdicts)
    for line in outside.verdicts:
        if line in ours:
            ours.remove(line)
            theirs.remove(line)
    return found + [f"only outside: {line}" for line in theirs] + [f"only inside: {line}" for line in ours]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("nacre", type=os.path.abspath)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build-upstream"))
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    chosen = [p for p in PROJECTS if re.search(args.only, p.name)]
    if args.list:
        print("\n".join(f"{p.name:12} {p.source:5} {p.test}" for p in chosen))
        return 0
    cache = args.keep.resolve()
    cache.mkdir(exist_ok=True)
    cache.chmod(0o755)
    bad = same = 0
    for project in chosen:
        missing = [program for program in project.need if not shutil.which(program, path=PATH)]
        if missing:
            print(f"skip     {project.name}: needs {' '.join(missing)}", flush=True)
            continue
        try:
            tree = fetch(project, cache)
        except subprocess.CalledProcessError as error:
            print(f"skip     {project.name}: it cannot be fetched ({error.cmd[0]}, exit code {error.returncode})", flush=True)
            continue
        outside = run(project, tree, cache / f"outside-{project.name}", None)
        if not outside.verdicts:
            print(f"BROKEN   {project.name}: no verdicts outside, exit code {outside.code}", flush=True)
            bad += 1
            continue
        inside = run(project, tree, cache / f"inside-{project.name}", args.nacre)
        found = compare(project, outside, inside)
        cause = CAUSES.get(project.name)
        word = "same" if not found else "differs" if cause else "NEW"
        bad += word == "NEW"
        same += word == "same"
        print(f"{word:8} {project.name}: {len(outside.verdicts)} verdicts outside, {len(inside.verdicts)} inside, exit code "
              f"{outside.code}, {outside.seconds:.0f} s outside, {inside.seconds:.0f} s inside, processor time "
              f"{outside.processor:.1f} s, {inside.processor:.1f} s, ratio {inside.processor / (outside.processor or 1):.3f}{': ' + cause if found and cause else ''}", flush=True)
        print("".join(f"         | {line}\n" for line in found[:12]), end="", flush=True)
        if inside.code != outside.code:
            print("".join(f"         > {line}\n" for line in inside.told.strip().splitlines()[-4:]), end="", flush=True)
    print(f"upstream: {len(chosen)} projects, {same} the same inside as outside, {bad} not as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
