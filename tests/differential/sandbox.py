"""A place where generated lines run under real bash, many of them, one after the other.

The worker is process 1 of user, mount, pid, network, host name and IPC namespaces of its own. All of
the machine's files are read-only there; only small memory file systems can be written, and what a
line leaves in them is looked at and removed before the next line. Under root the worker is a kernel
user that nobody else is, so the bound on the number of processes counts its own ones only.

The PATH holds nothing but links to the probe (probe.c), which logs how it was started. A name that
is not found goes to command_not_found_handle, which calls the probe, too.

Sandbox is the outer end: run([{"text": ...}, ...]) returns one answer each, what bash did with the text; with
"syntax" whether bash -n refuses it, with "strace" also what strace saw.
"""
import ctypes
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BASH = "/bin/bash"
BIN, WORK, OUT, LOG, TRACE = "/mnt", "/tmp/w", "/run/out", "/run/exec", "/run/trace"
LIBC = ctypes.CDLL(None, use_errno=True)
TIMEOUT = 1.5

NAMES = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "w1", "w2", "w3", "w4", ".notfound", "ls", "rm",
         "git", "make", "curl", "echo", "printf", "true", "false", "test", "[", "kill", "pwd", "time", "é",
         "bash", "sh", "env", "nice", "nohup", "timeout", "find", "xargs", "cat", "setsid", "sort",
         "tr", "wc", "head", "grep", "stdbuf", "tail", "cut", "uniq", "sed", "awk", "python3", "jq", "docker",
         "npm", "ssh", "sleep", "date", "base64", "diff", "comm", "tee", "mkdir", "touch", "cp", "mv", "basename",
         "chmod"]
TREE = {"a.txt": "alpha\nbeta\n", "b.txt": "gamma\n", "my file.txt": "spaces\n", "[z]": "odd\n",
        "src/main.c": "int x;\n", "src/util.c": "int y;\n", "dir/sub/deep.txt": "deep\n",
        "home/.rc": "rc\n", "home/h.txt": "h\n", "in": "l1 x\nl2\\ y\n l3\n"}
ENVIRONMENT = {"PATH": BIN, "HOME": WORK + "/home", "LANG": "C.UTF-8", "A": "aa", "B": "b1  b2",
               "BASH_FUNC_command_not_found_handle%%": "() { " + BIN + "/.notfound \"$@\"; }"}

CLONE = {"user": 0x10000000, "mount": 0x00020000, "pid": 0x20000000, "net": 0x40000000,
         "uts": 0x04000000, "ipc": 0x08000000}
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 0x4000, 1 << 18
NR_MOUNT_SETATTR = 442  # the same number everywhere
AT_FDCWD, AT_RECURSIVE = -100, 0x8000


class SandboxError(Exception):
    """This machine does not let such a place be made."""


def check(result, what):
    if result < 0:
        error = ctypes.get_errno()
        raise SandboxError(f"{what}: {os.strerror(error)}")


def mount(source, target, kind, flags, data=None):
    check(LIBC.mount(source and source.encode(), target.encode(), kind and kind.encode(),
                     ctypes.c_ulong(flags), data and data.encode()), f"mount on {target}")


# ------------------------------------------------------------------ inside

def make_place(probe):
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    read_only = struct.pack("=QQQQ", 1, 0, 0, 0)
    check(LIBC.syscall(NR_MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, read_only, len(read_only)),
          "mount_setattr")
    for place in ("/tmp", "/root", "/home", "/run", "/var/tmp", "/dev/shm", BIN):
        if os.path.isdir(place):
            mount("none", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=777")
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)
    if os.path.exists("/etc/profile"):  # what a login shell starts there is the machine's, not the line's
        mount("/dev/null", "/etc/profile", None, MS_BIND)
    with open(BIN + "/.probe", "wb") as file:
        file.write(probe)
    os.chmod(BIN + "/.probe", 0o755)
    for name in NAMES:
        os.symlink(".probe", f"{BIN}/{name}")
    mount(None, BIN, None, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)
    for what, most in ((resource.RLIMIT_FSIZE, 1 << 20), (resource.RLIMIT_NPROC, 120),
                       (resource.RLIMIT_AS, 1 << 30), (resource.RLIMIT_CORE, 0),
                       (resource.RLIMIT_NOFILE, 256)):
        resource.setrlimit(what, (most, most))
    os.umask(0o022)


def clear(place):
    for entry in os.scandir(place):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def make_tree():
    clear("/tmp")
    clear("/run")
    clear("/dev/shm")
    for place in ("", "/src", "/dir", "/dir/sub", "/home"):
        os.mkdir(WORK + place)
    for name, body in TREE.items():
        fd = os.open(f"{WORK}/{name}", os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(fd, body.encode())
        os.close(fd)
    os.symlink(BIN + "/.probe", WORK + "/run.sh")
    os.chdir(WORK)


def files_left():
    """name -> content, of what is not as make_tree left it; None for what is gone."""
    found = {}

    def look(directory, prefix):
        for entry in os.scandir(directory):
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                found[name + "/"] = ""
                look(entry.path, name + "/")
            elif entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as file:
                    found[name] = file.read(1 << 16).decode("utf-8", "surrogateescape")
            else:
                found[name] = "special"
    look("/tmp", "")
    same = {"w/" + name: body for name, body in TREE.items()}
    same.update({"w/": "", "w/src/": "", "w/dir/": "", "w/dir/sub/": "", "w/home/": "", "w/run.sh": "special"})
    left = {name: body for name, body in found.items() if same.get(name) != body}
    left.update({name: None for name in same if name not in found})
    return left


def executions():
    try:
        with open(LOG, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    found, place = [], 0
    while place + 4 <= len(data):
        (length,) = struct.unpack_from("=I", data, place)
        words = data[place + 4:place + 4 + length].decode("utf-8", "surrogateescape").split("\0")[:-1]
        place += 4 + length
        name = words[0].rpartition("/")[2]
        found.append([words[0], words[2:] if name == ".notfound" else words[1:]])
    return found


STRING = r'"((?:\\x[0-9a-f]{2})*)"'


def traced():
    """What strace -xx saw: every execve that succeeded, but for the first, which is bash itself."""
    found = []
    if not os.path.exists(TRACE):  # it was stopped before it began
        return found
    with open(TRACE, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"\d+\s+execve\(" + STRING + r", \[(.*?)\], ", line)
            if match and re.search(r"(\) += 0|<unfinished \.\.\.>|\) = \?)\s*$", line):
                words = [bytes.fromhex(word.replace("\\x", "")).decode("utf-8", "surrogateescape")
                         for word in [match[1], *re.findall(STRING, match[2])]]
                found.append([words[0], words[1:]])
    return found[1:]


def end_all():
    """Kills and collects whatever the line has left running."""
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def wait_all(child, deadline):
    """The status of the child; all its descendants have ended, too, or the deadline has passed."""
    status = None
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or signal.sigtimedwait({signal.SIGCHLD}, left) is None:
            end_all()
            return status, True
        while True:
            try:
                pid, code = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return status, False
            if pid == 0:
                break
            if pid == child:
                status = os.waitstatus_to_exitcode(code)


def reset_numbers():
    """The same $$ for every line, where the kernel lets process 1 of a namespace say so."""
    try:
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="utf-8") as file:
            file.write("1000")
    except OSError:
        pass


def spawn(argv, out, err):
    mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [(os.POSIX_SPAWN_OPEN, 0, WORK + "/in", os.O_RDONLY, 0),
               (os.POSIX_SPAWN_OPEN, 1, out, mode, 0o600), (os.POSIX_SPAWN_OPEN, 2, err, mode, 0o600)]
    return os.posix_spawn(argv[0], argv, ENVIRONMENT, file_actions=actions, setsigmask=[],
                          setsigdef=[signal.SIGPIPE, signal.SIGXFSZ], setsid=True)


def slurp(path):
    with open(path, "rb") as file:
        return file.read(1 << 16).decode("utf-8", "surrogateescape")


def run_one(job):
    make_tree()
    argv = [BASH, "--norc", "--noprofile", *(["-n"] if job.get("syntax") else []), "-c", "--", job["text"]]
    seconds = TIMEOUT
    if job.get("strace"):
        argv = ["/usr/bin/strace", "-f", "-qqq", "-xx", "-s", "100000", "-e", "signal=none",
                "-e", "trace=execve", "-o", TRACE, *argv]
        seconds = 4 * TIMEOUT
    reset_numbers()
    child = spawn(argv, OUT + ".1", OUT + ".2")
    status, late = wait_all(child, time.monotonic() + seconds)
    if job.get("syntax"):
        return {"refused": status != 0, "late": late, "err": slurp(OUT + ".2")}
    answer = {"status": status, "late": late, "execs": executions(), "out": slurp(OUT + ".1"),
              "err": slurp(OUT + ".2"), "files": files_left()}
    if job.get("strace"):
        answer["traced"] = traced()
    return answer


def serve(probe):
    make_place(probe)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        try:
            answer = [run_one(job) for job in json.loads(line)]
        except OSError as error:
            end_all()
            answer = {"broken": str(error)}
        print(json.dumps(answer), flush=True)


def enter(probe):
    """Becomes process 1 of new namespaces; the parents only wait and pass the end on."""
    outside_uid, outside_gid = os.getuid(), os.getgid()
    if outside_uid == 0:
        outside_uid = outside_gid = 200000 + os.getpid() % 1000000
    ready_read, ready_write = os.pipe()
    mapped_read, mapped_write = os.pipe()
    child = os.fork()
    if child:
        os.close(ready_write)
        os.close(mapped_read)
        if os.read(ready_read, 1):
            try:
                pathlib.Path(f"/proc/{child}/setgroups").write_text("deny")
                pathlib.Path(f"/proc/{child}/gid_map").write_text(f"0 {outside_gid} 1\n")
                pathlib.Path(f"/proc/{child}/uid_map").write_text(f"0 {outside_uid} 1\n")
            finally:
                os.write(mapped_write, b"x")
        os.closerange(0, 2)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)
    check(LIBC.unshare(CLONE["user"]), "unshare user")
    os.write(ready_write, b"x")
    os.read(mapped_read, 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    check(LIBC.unshare(sum(CLONE.values()) - CLONE["user"]), "unshare")
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)
    child = os.fork()
    if child:
        os.closerange(0, 2)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)
    for fd in (ready_read, ready_write, mapped_read, mapped_write):
        os.close(fd)
    try:
        serve(probe)
    except SandboxError as error:
        print(json.dumps({"broken": str(error)}), flush=True)
    os._exit(0)


# ------------------------------------------------------------------ outside

def build_probe(directory, sh="bash"):
    """The compiler is the one the build uses; a static program starts fastest."""
    target = pathlib.Path(directory) / "probe"
    command = [os.environ.get("CC", "cc"), "-std=gnu17", "-O1", f'-DSH="{sh}"', "-o", str(target), str(HERE / "probe.c")]
    done = subprocess.run([*command, "-static"], capture_output=True, check=False)
    if done.returncode != 0:
        subprocess.run(command, check=True)
    return target


class Sandbox:
    def __init__(self, probe):
        self.process = subprocess.Popen([sys.executable, "-I", str(HERE / "sandbox.py"), str(probe)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
        answer = self.read()
        if answer != "ready":
            self.close()
            raise SandboxError(str(answer))

    def read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"broken": "the worker has ended"}

    def send(self, jobs):
        self.process.stdin.write(json.dumps(jobs).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        answer = self.read()
        if isinstance(answer, dict):
            raise SandboxError(answer["broken"])
        return answer

    def run(self, jobs):
        self.send(jobs)
        return self.receive()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


if __name__ == "__main__":
    enter(pathlib.Path(sys.argv[1]).read_bytes())
