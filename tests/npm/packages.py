"""Packages out of npm, in the versions that a package-lock.json pins: here the official MCP clients and suites, in tests/console what
drives a browser.

They are installed once per lock file into a cache directory (NACRE_TEST_CACHE, else the user's), with the Node.js that they want, so
that neither tests nor benchmarks depend on the Node.js of the machine.
"""
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess

PINNED = pathlib.Path(__file__).resolve().parent
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


class Unavailable(Exception):
    """There is no npm, or no network to get packages by."""


def cache():
    own = os.environ.get("NACRE_TEST_CACHE")
    if own:
        return pathlib.Path(own)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(home) / "nacre-tests"


def install(directory, pinned):
    for name in ("package.json", "package-lock.json"):
        shutil.copy(pinned / name, directory / name)
    try:
        # Not `npm ci`: that wants packages of all other platforms in the lock file, which not every registry has.
        done = subprocess.run(["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund",
                               "--loglevel=error"], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=400)
    except subprocess.TimeoutExpired:
        raise Unavailable("npm: no answer within 400 s") from None
    if done.returncode != 0:
        raise Unavailable("npm: " + " ".join(done.stderr.split())[-300:])


def place(pinned=PINNED):
    return cache() / ("npm-" + hashlib.sha256((pinned / "package-lock.json").read_bytes()).hexdigest()[:16])


def prepare(fetch=True, pinned=PINNED):
    """The directory with node_modules of what PINNED locks; without FETCH only if it is complete already."""
    directory = place(pinned)
    if not fetch and not (directory / ".complete").exists():
        raise Unavailable("npm: its packages are not here yet")
    if not shutil.which("npm"):
        raise Unavailable("npm: not installed")
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two programs may want it at the same time
        if not (directory / ".complete").exists():
            install(directory, pinned)
            (directory / ".complete").touch()
    return directory


def node(directory):
    own = directory / "node_modules" / f"node-linux-{MACHINES.get(platform.machine(), 'none')}" / "bin" / "node"
    return str(own) if own.exists() else "node"


def script(directory, name):
    """A script of ours beside the packages, where Node.js finds them."""
    target = directory / pathlib.Path(name).name
    source = (PINNED / name).read_bytes()  # an absolute name stays one
    if not target.exists() or target.read_bytes() != source:
        temporary = target.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(source)
        temporary.replace(target)  # others may be running it
    return target


def beside(directory, *folders):
    """Copies of FOLDERS of ours beside the packages, where Node.js finds these; the place of the first."""
    texts = [(folder.name + "/" + path.name, path.read_bytes()) for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
    digest = hashlib.sha256(b"".join(name.encode() + b"\0" + text + b"\0" for name, text in texts)).hexdigest()[:16]
    target = directory / "ours" / digest / "tests"  # "../../web" is the page's own place, as in the tree
    if not target.exists():
        temporary = target.parent.with_name(f"{digest}.{os.getpid()}")
        for name, text in texts:
            at = temporary / ("tests" if name.startswith(folders[0].name + "/") else ".") / name
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(text)
        try:
            temporary.rename(target.parent)
        except OSError:  # another one was quicker
            shutil.rmtree(temporary)
    return target / folders[0].name


def versions(directory, pinned=PINNED):
    """For the log: what exactly was run."""
    found = []
    for name in json.loads((pinned / "package.json").read_text())["dependencies"]:
        package = json.loads((directory / "node_modules" / name / "package.json").read_text())
        found.append(f"{name} {package['version']}")
    return ", ".join(found)
