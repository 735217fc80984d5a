"""Fresh roots: a Debian that has never seen nacre, as often as it is wanted.

The base of a release is made once, by mmdebstrap, and kept in build-release-roots (or $NACRE_RELEASE_ROOTS). A test writes
to a layer above it, in namespaces of its own, not in a chroot: there the kernel would refuse the namespaces of nacre.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from patience import Deadline  # noqa: E402

BASES = pathlib.Path(os.environ.get("NACRE_RELEASE_ROOTS") or ROOT / "build-release-roots")
OUT = pathlib.Path(os.environ.get("NACRE_RELEASE_OUT") or ROOT / "dist")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LONG = Deadline(600)


def release(*words, **environment):
    """tools/release, with everything that it says shown when it fails."""
    done = subprocess.run([ROOT / "tools" / "release", *map(str, words)], capture_output=True, text=True, timeout=LONG * 3,
                          env={**os.environ, **environment})
    if done.returncode:
        raise AssertionError(f"tools/release {' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")
    return done.stderr


def version():
    return subprocess.run([ROOT / "tools" / "version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def artefacts(pattern, step, *more):
    """Files of this very version in DIST; what is not there is made."""
    wanted = sorted(OUT.glob(pattern.replace("VERSION", version())))
    if not wanted:
        release(step, *more, "--out", OUT)
        wanted = sorted(OUT.glob(pattern.replace("VERSION", version())))
    if not wanted:
        raise AssertionError(f"tools/release {step} made no {pattern}")
    return wanted


def base(suite):
    target = BASES / suite
    if (target / "etc" / "debian_version").exists() and not (BASES / f"{suite}.making").exists():
        return target
    BASES.mkdir(parents=True, exist_ok=True)
    (BASES / f"{suite}.making").touch()
    shutil.rmtree(target, ignore_errors=True)
    mirrors = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian",
                              "Component: main"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if not mirrors:
        raise unittest.SkipTest("apt: it knows no Debian archive")
    settings = BASES / "apt.conf"
    dump = subprocess.run(["apt-config", "dump", "--no-empty", "Acquire"], stdout=subprocess.PIPE, text=True, check=True).stdout
    settings.write_text("".join(line for line in dump.splitlines(keepends=True) if "::IndexTargets::" not in line))
    subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--aptopt={settings}",
                    "--aptopt=APT::Install-Recommends \"false\"", suite, str(target), mirrors[0]],
                   stdin=subprocess.DEVNULL, check=True, timeout=LONG * 3)
    (BASES / f"{suite}.making").unlink()
    return target


class Fresh:
    """One root, until close()."""

    def __init__(self, lower):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="nacre-root-", dir=BASES))
        self.holder = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
                                        HERE / "inside", lower, self.work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            self.close()
            raise AssertionError("the root could not be entered")
        children = pathlib.Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text().split()
        self.pid = children[0]

    def words(self, script, user=None, environment=()):
        enter = ["nsenter", "--target", self.pid, "--mount", "--pid", "--root", "--wd"]
        home = "/root" if user is None else f"/home/{user}"
        if user is not None:
            enter += ["setpriv", "--reuid", user, "--regid", user, "--init-groups"]
        return [*enter, "env", "-i", f"PATH={PATH}", f"HOME={home}", "LANG=C.UTF-8", "TERM=dumb", "DEBIAN_FRONTEND=noninteractive",
                *environment, "bash", "-euc", f"cd {home}\n{script}"]

    def run(self, script, user=None, code=0, given=None):
        done = subprocess.run(self.words(script, user), input=given, stdin=subprocess.DEVNULL if given is None else None,
                              capture_output=True, text=True, timeout=LONG)
        if done.returncode != code:
            raise AssertionError(f"{script}: status {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    def start(self, script, user=None):
        return subprocess.Popen(self.words(script, user), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def put(self, *files):
        """Into /packages of the root."""
        for path in files:
            with open(path, "rb") as file:
                name = pathlib.Path(path).name
                subprocess.run(self.words(f"mkdir -p /packages; cat >/packages/{name}; chmod 644 /packages/{name}"), stdin=file, check=True,
                               timeout=LONG)

    def close(self):
        if self.holder.stdin and not self.holder.stdin.closed:
            self.holder.stdin.close()
        try:
            self.holder.wait(Deadline(20))
        except subprocess.TimeoutExpired:
            self.holder.kill()
            self.holder.wait()
        self.holder.stdout.close()
        shutil.rmtree(self.work, ignore_errors=True)


class RootTest(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("root: fresh roots need it")
        if not shutil.which("mmdebstrap"):
            self.skipTest("mmdebstrap: tools/setup release installs it")

    def fresh(self, suite):
        root = Fresh(base(suite))
        self.addCleanup(root.close)
        return root


# One request of an MCP client, and the answer to it.
HELLO = ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
         '"clientInfo":{"name":"test","version":"1"}}}\n')
