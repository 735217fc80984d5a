"""The surroundings of a box: things to steal, to spoil, to talk to, and a look at them from outside.

Everything lies in one throwaway directory, but for a few names that only exist machine-wide (System V
keys, /dev/shm, abstract sockets, one sysctl), which carry a random number. All of it is as open as a mode
can make it and belongs to the user that the box runs as: what stops an attempt is then the box, and not
the ordinary rights.
"""
import ctypes
import ctypes.util
import hashlib
import os
import pathlib
import secrets
import selectors
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
LIBRT = ctypes.CDLL(ctypes.util.find_library("rt") or None, use_errno=True)
IPC_CREAT, IPC_RMID = 0o1000, 0
SYS_ADD_KEY, SYS_KEYCTL = (248, 250) if os.uname().machine == "x86_64" else (217, 219)
KEYCTL_JOIN_SESSION_KEYRING, KEYCTL_SETPERM = 1, 5
SYSCTL = "/proc/sys/fs/inotify/max_queued_events"
SPOTS = ("/etc", "/usr", "/usr/bin", "/usr/lib", "/usr/local/bin", "/opt", "/var", "/var/lib", "/boot",
         "/root", "/home", "/", "/run", "/etc/cron.d", "/var/spool/cron", "/tmp", "/var/tmp", "/dev/shm",
         "/dev", "/bin", "/lib", "/sbin")
# Hooks and configuration that lie elsewhere: those of a submodule, and those that .git/config names.
OTHERS = (".git/modules/group/inner/hooks", ".git/modules/group/inner/config", "inner/.git", "tools/hooks",
          "tools/shared", ".githooks", "tools/way", "elsewhere", "scripts")
# What must not exist in the workspace after a command, because somebody would run it later.
PLANTS = (".vscode", ".mcp.json", ".claude", ".cursor", ".idea", ".envrc", ".bashrc", ".profile",
          ".zshrc", ".gitconfig", ".nacre.yaml", ".git/commondir", ".git/config.worktree",
          ".git/info/attributes", ".config/git", ".config/autostart", ".config/systemd", ".bash_aliases", ".hg/hgrc",
          "HEAD", "settings/hooks.yaml")


class Shared:
    """Machine-wide things to share, each with a secret inside."""

    def __init__(self, secret, number):
        self.key = 0x6e610000 | (number & 0xffff)
        text = f"{secret}-shared".encode()
        self.shm = LIBC.shmget(self.key, 4096, IPC_CREAT | 0o666)
        LIBC.shmat.restype = ctypes.c_void_p
        self.memory = LIBC.shmat(self.shm, None, 0)
        ctypes.memmove(self.memory, text + b"\0", len(text) + 1)
        self.msg = LIBC.msgget(self.key, IPC_CREAT | 0o666)
        self.sem = LIBC.semget(self.key, 1, IPC_CREAT | 0o666)
        self.text = text
        self.name = f"/nacre-escape-{number}"
        old = os.umask(0)
        self.path = pathlib.Path("/dev/shm" + self.name)
        self.path.write_bytes(text)
        self.path.chmod(0o666)
        shape = struct.pack("8l", os.O_NONBLOCK, 2, 256, 0, 0, 0, 0, 0)  # two messages of 256 bytes
        self.queue = LIBRT.mq_open(self.name.encode(), os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o666, shape)
        os.umask(old)
        if min(self.shm, self.msg, self.sem, self.queue) < 0:
            raise OSError(ctypes.get_errno(), "making something to share")
        # The session keyring is inherited: by nacre, and by its children if nobody cares.
        self.key_name = f"nacre-escape-{number}"
        LIBC.syscall(SYS_KEYCTL, KEYCTL_JOIN_SESSION_KEYRING, self.key_name.encode())
        self.key_id = LIBC.syscall(SYS_ADD_KEY, b"user", self.key_name.encode(), text, len(text), -3)
        LIBC.syscall(SYS_KEYCTL, KEYCTL_SETPERM, self.key_id, 0x3f3f3f3f)  # all for everybody
        self.refill()

    def refill(self):
        ctypes.memmove(self.memory, self.text + b"\0", len(self.text) + 1)
        ctypes.memset(self.memory + 100, 0, 1)
        self.path.write_bytes(self.text)
        message = struct.pack("l", 1) + self.text.ljust(120, b"\0")
        info = (ctypes.c_char * 256)()
        LIBC.msgrcv(self.msg, info, 120, 0, 0o4000)
        LIBC.msgsnd(self.msg, message, 120, 0o4000)
        buffer = ctypes.create_string_buffer(8192)
        LIBRT.mq_receive(self.queue, buffer, 8192, None)
        LIBRT.mq_send(self.queue, self.text, len(self.text), 0)
        LIBC.semctl(self.sem, 0, 16, 0)  # SETVAL

    def look(self):
        memory = ctypes.string_at(self.memory, 128)
        return {"System V memory": memory, "POSIX memory": self.path.read_bytes(),
                "semaphore": LIBC.semctl(self.sem, 0, 12)}

    def close(self):
        LIBC.shmdt(ctypes.c_void_p(self.memory))
        LIBC.shmctl(self.shm, IPC_RMID, None)
        LIBC.msgctl(self.msg, IPC_RMID, None)
        LIBC.semctl(self.sem, 0, IPC_RMID)
        LIBRT.mq_unlink(self.name.encode())
        os.close(self.queue)
        self.path.unlink(missing_ok=True)


class Listeners(threading.Thread):
    """Sockets of the host; whoever reaches one is written down and gets a secret."""

    def __init__(self, secret, outside, number):
        super().__init__(daemon=True)
        self.secret = f"{secret}-socket".encode()
        self.heard, self.ports, self.sockets = [], {}, []
        self.selector = selectors.DefaultSelector()
        for name, family, kind in (("tcp4", socket.AF_INET, socket.SOCK_STREAM),
                                   ("tcp6", socket.AF_INET6, socket.SOCK_STREAM),
                                   ("udp4", socket.AF_INET, socket.SOCK_DGRAM),
                                   ("udp6", socket.AF_INET6, socket.SOCK_DGRAM)):
            address = "::" if family == socket.AF_INET6 else "0.0.0.0"
            made = self.add(name, family, kind, (address, 0))
            self.ports[name] = made.getsockname()[1]
        self.add("unix path", socket.AF_UNIX, socket.SOCK_STREAM, f"{outside}/sock")
        self.add("unix datagram", socket.AF_UNIX, socket.SOCK_DGRAM, f"{outside}/dgram")
        self.add("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0nacre-escape-{number}")
        self.add("abstract datagram", socket.AF_UNIX, socket.SOCK_DGRAM, f"\0nacre-escape-dgram-{number}")
        for name in ("sock", "dgram"):
            os.chmod(f"{outside}/{name}", 0o777)
        self.wake, self.ear = socket.socketpair()
        self.selector.register(self.ear, selectors.EVENT_READ, "end")
        self.start()

    def add(self, name, family, kind, address):
        made = socket.socket(family, kind)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        if kind == socket.SOCK_STREAM:
            made.listen(64)
        made.setblocking(False)
        self.sockets.append(made)
        self.selector.register(made, selectors.EVENT_READ, name)
        return made

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.data == "end":
                    return
                try:
                    self.answer(key.fileobj, key.data)
                except OSError:
                    pass

    def answer(self, sock, name):
        if sock.type == socket.SOCK_STREAM:
            peer, _ = sock.accept()
            self.heard.append(name)
            with peer:
                peer.sendall(self.secret)
        else:
            _, sender = sock.recvfrom(4096)
            self.heard.append(name)
            if sender:
                sock.sendto(self.secret, sender)

    def close(self):
        self.wake.send(b"x")
        self.join()
        for sock in (*self.sockets, self.wake, self.ear):
            sock.close()
        self.selector.close()


class Victim:
    """A process outside that belongs to the user of the box; see victim.c."""

    def __init__(self, program, log, secret, secret_file, uid):
        self.log = log
        log.touch()
        os.chown(log, uid, uid)
        options = {"user": uid, "group": uid, "extra_groups": []} if os.geteuid() == 0 else {}
        self.popen = subprocess.Popen([program, str(log), str(secret_file)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      env={"VICTIM_SECRET": f"{secret}-victim"}, process_group=0,
                                      **options)
        self.pid = self.popen.pid
        self.address = int(self.popen.stdout.readline(), 16)

    def look(self):
        with open(f"/proc/{self.pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(self.address)
            text = memory.read(16)
        # Whether it sleeps or runs at this moment is nobody's doing.
        state = fields[0] if fields[0] in (b"T", b"t", b"Z", b"X") else b"lives"
        return {"victim's signals": self.log.read_bytes(), "victim's state": state,
                "victim's group": fields[2], "victim's priority": fields[16], "victim's memory": text,
                "victim's scheduler": os.sched_getscheduler(self.pid),
                "victim's processors": os.sched_getaffinity(self.pid),
                "victim's limit": pathlib.Path(f"/proc/{self.pid}/limits").read_bytes(),
                "victim's disk priority": LIBC.syscall(252 if os.uname().machine == "x86_64" else 31,
                                                       1, self.pid)}

    def close(self):
        self.popen.stdin.close()
        try:
            self.popen.wait(5)
        except subprocess.TimeoutExpired:
            os.kill(self.pid, signal.SIGKILL)
            self.popen.wait(60)
        self.popen.stdout.close()


def reserved_port():
    """A free port that nobody gets who takes any: the server of another test is not to be taken for the attacker's."""
    text = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    end = max(int(text.split()[0]), 10000)
    while True:
        port = 1024 + secrets.randbelow(end - 1024)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def fingerprint(root, skip=()):
    """Everything below a directory that an attempt could change: path -> what it is like."""
    found = {}
    todo = [pathlib.Path(root)]
    while todo:
        path = todo.pop()
        if path in skip:
            continue
        try:
            info = path.lstat()
            what = (stat.filemode(info.st_mode), info.st_uid, info.st_nlink)
            found[str(path)] = what  # of what an attempt has closed to its owner this is all that can be told
            if stat.S_ISLNK(info.st_mode):
                what += (os.readlink(path),)
            elif stat.S_ISREG(info.st_mode):
                what += (info.st_mtime_ns, hashlib.sha1(path.read_bytes()).hexdigest())
            elif stat.S_ISDIR(info.st_mode):
                todo += list(path.iterdir())
            if stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode):
                what += (tuple(sorted(os.listxattr(path))),)
            found[str(path)] = what
        except (FileNotFoundError, PermissionError):
            pass
    return found


def differences(before, after):
    keys = [key for key in sorted(set(before) | set(after)) if before.get(key) != after.get(key)]
    found = [f"{key}: {before.get(key, 'nothing')} -> {after.get(key, 'nothing')}" for key in keys[:6]]
    return found + ([f"and {len(keys) - 6} more"] if len(keys) > 6 else [])


def remove(path):
    """Takes away whatever an attempt left, however deep or locked it is."""
    if not path.is_symlink() and path.is_dir():
        try:
            shutil.rmtree(path)
            return
        except (OSError, RecursionError):
            pass
        subprocess.run(["chmod", "-R", "u+rwx", "--", path], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", "--", path], check=False, capture_output=True)
    else:
        path.unlink(missing_ok=True)


class World:
    """One set of surroundings: a workspace of UID's, nacre run by RUNNER, a box (or none) whose kernel user is BOX_UID."""

    def __init__(self, base, tools, uid, runner, box_uid, boxed):
        self.base, self.uid, self.runner, self.box_uid = pathlib.Path(base), uid, runner, box_uid
        self.boxed = boxed
        self.number = secrets.randbelow(1 << 30)
        self.secret = f"SECRET-{secrets.token_hex(8)}"
        self.marker = str(3_000_000 + secrets.randbelow(1_000_000))
        self.as_root = os.geteuid() == 0
        self.outside = self.base / "outside"
        self.home = self.base / "home"
        self.work = self.home / "project"
        self.state = self.base / "state"
        self.tmp = self.base / "tmp"
        self.kept = {"attack", "planted", "planted-zero", "planted-disk"}
        self.tools = tools
        for path in (self.outside, self.home, self.work, self.state, self.tmp):
            path.mkdir()
        self.fill_home()
        self.shared = Shared(self.secret, self.number)
        self.build_outside()
        self.listeners = Listeners(self.secret, self.outside, self.number)
        self.victim = Victim(tools / "victim", self.base / "victim.log", self.secret,
                             self.outside / "secret.txt", box_uid)
        self.sysctl = pathlib.Path(SYSCTL).read_text(encoding="ascii")
        self.sysctl_value = int(self.sysctl) + 1 + secrets.randbelow(1000)  # nobody else's
        self.plant()
        self.write_world()
        self.template = self.base / "git-template"
        subprocess.run(["git", "init", "-q", "--template=", str(self.template)], check=True,
                       env={"PATH": os.environ["PATH"], "HOME": str(self.tmp)})
        shutil.copytree(self.template / ".git", self.base / "git")
        shutil.rmtree(self.template)
        self.template = self.base / "git"
        (self.template / "hooks").mkdir()
        (self.template / "hooks" / "existing").write_text("#!/bin/sh\n")
        (self.template / "hooks" / "sample").write_text("#!/bin/sh\n")
        inner = self.template / "modules" / "group" / "inner"
        (inner / "hooks").mkdir(parents=True)
        (inner / "hooks" / "existing").write_text("#!/bin/sh\n")
        (inner / "HEAD").write_text("ref: refs/heads/main\n")
        (inner / "config").write_text("[core]\n\tworktree = ../../../../inner\n")
        (self.template / "link").write_text("gitdir: ../.git/modules/group/inner\n")
        with open(self.template / "config", "a", encoding="ascii") as config:
            config.write("[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../tools/shared\n")
        (self.template / "tools" / "hooks").mkdir(parents=True)
        (self.template / "tools" / "hooks" / "existing").write_text("#!/bin/sh\n")
        (self.template / "tools" / "shared").write_text("[user]\n\tname = nobody\n")
        self.reset_workspace()
        self.before = self.look()

    def give(self, path, uid=None, mode=None):
        if mode is not None:
            os.chmod(path, mode)
        if self.as_root:
            os.lchown(path, self.uid if uid is None else uid, self.uid if uid is None else uid)

    def build_outside(self):
        for name in list(self.outside.iterdir()):
            if name.name not in ("sock", "dgram"):
                remove(name)
        (self.outside / "secret.txt").write_text(f"{self.secret}-outside\n")
        (self.outside / "victim.txt").write_text("untouched\n")
        (self.outside / "attributes").write_text("a file that has the name of a protected one\n")
        (self.outside / "empty").mkdir()
        (self.base / "secret.txt").write_text(f"{self.secret}-above\n")
        for path, mode in ((self.outside, 0o777), (self.outside / "secret.txt", 0o666),
                           (self.outside / "victim.txt", 0o666), (self.outside / "empty", 0o777),
                           (self.base / "secret.txt", 0o666)):
            self.give(path, self.box_uid, mode)
        for directory in ("/tmp", "/var/tmp", "/dev/shm"):
            path = pathlib.Path(directory) / f"nacre-escape-secret-{self.number}"
            path.write_text(f"{self.secret}-tmp\n")
            self.give(path, self.box_uid, 0o666)
            (pathlib.Path(directory) / f"nacre-escape-new-{self.number}").unlink(missing_ok=True)
        root_secret = self.base / "root-secret"
        root_secret.write_text(f"{self.secret}-root\n")
        root_secret.chmod(0o600)
        self.give(self.tmp, mode=0o777)
        for path in list(self.tmp.iterdir()):
            remove(path)
        (self.tmp / "private.txt").write_text(f"{self.secret}-tmpdir\n")

    def fill_home(self):
        for path in list(self.home.iterdir()) if self.home.exists() else []:
            if path != self.work:
                remove(path)
        for name in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gcloud/token", "notes.txt",
                     "secret.txt", ".bash_history"):
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self.secret}-home\n")
            self.give(path, self.box_uid, 0o666)
        for name in (".ssh", ".aws", ".config", ".config/gcloud"):
            self.give(self.home / name, self.box_uid, 0o777)
        self.give(self.home, self.uid, 0o777)
        if self.as_root and self.uid == 0:
            os.chmod(self.home, 0o777)
        task = self.state / "tasks" / "bash-old"
        task.mkdir(parents=True, exist_ok=True)
        (task / "out").write_text(f"{self.secret}-task\n")
        for path, mode in ((self.state, 0o700), (self.state / "tasks", 0o700), (task, 0o700),
                           (task / "out", 0o600)):
            self.give(path, self.runner, mode)

    def plant(self):
        """What the workspace holds from the start: attackers, and traps that only root can make."""
        planted = self.work / "planted"
        planted.mkdir()
        for name, mode, source in (("cat-setuid", 0o4755, "/bin/cat"), ("cat-setgid", 0o6755, "/bin/cat"),
                                   ("who-setuid", 0o4755, self.tools / "who"),
                                   ("cat-capable", 0o755, "/bin/cat")):
            shutil.copy(source, planted / name)
            if self.as_root:
                os.chown(planted / name, 0, 0)
                os.chmod(planted / name, mode)
        if self.as_root:
            # cap_dac_override and cap_dac_read_search, effective: version 2 of the attribute
            value = struct.pack("<IIIII", 0x02000001, 6, 0, 0, 0)
            os.setxattr(planted / "cat-capable", "security.capability", value)
            disk = next((os.stat(name).st_rdev for name in ("/dev/vda", "/dev/sda", "/dev/loop0")
                         if os.path.exists(name)), os.makedev(7, 0))
            os.mknod(self.work / "planted-zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
            os.mknod(self.work / "planted-disk", 0o666 | stat.S_IFBLK, disk)
            for name in ("planted-zero", "planted-disk"):
                self.give(self.work / name, mode=0o666)
        self.give(planted, mode=0o755)
        shutil.copytree(self.tools, self.work / "attack")
        self.give(self.work / "attack", mode=0o755)

    def write_world(self):
        host_ip = "127.0.0.1"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
                host_ip = probe.getsockname()[0]
            except OSError:
                pass
        self.listen_port = reserved_port()
        facts = {
            "id": self.number, "outside": self.outside, "beside": self.home / "secret.txt",
            "home": self.home, "state": self.state, "hosttmp": self.tmp, "marker": self.marker,
            "root_secret": self.base / "root-secret", "protected": ".git/hooks/existing",
            "own_user": int(self.as_root), "victim": self.victim.pid, "victim_group": self.victim.pid,
            "victim_secret": hex(self.victim.address), "host_ip": host_ip, "boxed": int(self.boxed),
            "listen_port": self.listen_port, "unix_path": self.outside / "sock",
            "unix_dgram": self.outside / "dgram", "unix_abstract": f"nacre-escape-{self.number}",
            "unix_abstract_dgram": f"nacre-escape-dgram-{self.number}",
            "shm_key": self.shared.key, "shm_id": self.shared.shm, "msg_key": self.shared.key,
            "msg_id": self.shared.msg, "sem_key": self.shared.key, "posix_shm": self.shared.name,
            "posix_queue": self.shared.name, "key_name": self.shared.key_name,
            "key_id": self.shared.key_id, "sysctl": SYSCTL,
            "sysctl_value": self.sysctl_value, **self.listeners.ports,
        }
        path = self.work / "attack" / "world"
        path.write_text("".join(f"{key}={value}\n" for key, value in facts.items()))
        (self.work / "attack" / "token").write_text("the denied program ran\n")

    def reset_workspace(self):
        for path in list(self.work.iterdir()):
            if path.name not in self.kept:
                remove(path)
        shutil.copytree(self.template, self.work / ".git")
        (self.work / "inner").mkdir()
        shutil.copy2(self.template / "link", self.work / "inner" / ".git")
        shutil.copytree(self.template / "tools", self.work / "tools")
        self.plant_links()
        (self.work / "attack" / "nacre-pids").unlink(missing_ok=True)
        (self.work / "link-out").symlink_to("../../outside")
        (self.work / "link-secret").symlink_to(self.home / "secret.txt")
        (self.work / "link-proc").symlink_to("/proc")
        if self.as_root:
            for where, names, files in os.walk(self.work):
                if pathlib.Path(where).name in ("attack", "planted"):
                    names.clear()
                    continue
                for name in [*names, *files]:
                    os.lchown(os.path.join(where, name), self.uid, self.uid)
        self.give(self.work, mode=0o755)

    def plant_links(self):
        """What is protected, and leads elsewhere in the workspace: by links that lead to links, and to nothing."""
        for name in ("elsewhere/hooks/existing", "scripts/hook"):
            (self.work / name).parent.mkdir(parents=True)
            shutil.copy2(self.template / "hooks" / "existing", self.work / name)
        for name, target in ((".githooks", "tools/way"), ("tools/way", "../elsewhere/hooks"),
                             (".git/hooks/linked", "../../scripts/hook"),
                             (".pre-commit-config.yaml", "settings/hooks.yaml")):
            (self.work / name).symlink_to(target)

    def look(self):
        """The state of everything outside, and of what must not change inside."""
        seen = {}
        seen.update(fingerprint(self.outside))
        seen.update(fingerprint(self.home, {self.work}))
        seen.update(fingerprint(self.tmp))
        seen["names beside"] = sorted(path.name for path in self.base.iterdir())
        seen["above"] = (self.base / "secret.txt").read_bytes()
        for name in (".git/hooks", ".git/config", *OTHERS, *PLANTS):
            seen.update(fingerprint(self.work / name))
        git = self.work / ".git"
        seen["git"] = (git.is_dir(), git.is_symlink())
        for spot in SPOTS:
            for kind in ("", "new-"):
                path = f"{spot}/nacre-escape-{kind}{self.number}"
                seen[path] = os.path.exists(path)
        for path in ("/etc/passwd", "/etc/hosts"):
            with open(path, "rb") as file:
                seen[path] = f"#{self.number}".encode() in file.read()
        for directory in ("/tmp", "/var/tmp", "/dev/shm"):
            path = f"{directory}/nacre-escape-secret-{self.number}"
            seen.update(fingerprint(path))
        seen["sysctl"] = int(pathlib.Path(SYSCTL).read_text(encoding="ascii")) == self.sysctl_value
        seen["daemons"] = self.daemons()
        seen["set-user-id files"] = self.privileged_files()
        seen["denied program"] = (self.work / "denied-ran").exists()
        seen["what a daemon wrote"] = (self.work / f"daemon-{self.marker}").exists()
        seen["listeners"] = tuple(self.listeners.heard)
        seen.update(self.victim.look())
        seen.update(self.shared.look())
        return seen

    def daemons(self):
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/cmdline", "rb") as file:
                        if self.marker.encode() in file.read().split(b"\0"):
                            found.append(int(entry))
                except OSError:
                    pass
        return found

    def privileged_files(self):
        found = []
        for path in self.work.iterdir():
            if path.name not in self.kept and not path.is_symlink() and path.is_file():
                mode = path.stat().st_mode
                if mode & (stat.S_ISUID | stat.S_ISGID) or "security.capability" in os.listxattr(path):
                    found.append(f"{path.name} {stat.filemode(mode)}")
        return found

    def evidence(self, output):
        """What an attempt achieved, seen from outside (first) or by itself; then all is as before."""
        after = self.look()
        found = differences(self.before, after)
        if self.secret in output:
            found += [f"output: {line}" for line in output.splitlines() if self.secret in line][:3]
        own = [line for line in output.splitlines() if line.startswith("GOT")][:5]
        if found:
            self.restore(after)
        self.reset_workspace()
        return found, own

    def restore(self, after):
        for pid in after["daemons"]:
            os.kill(pid, signal.SIGKILL)
        if after["sysctl"]:
            pathlib.Path(SYSCTL).write_text(self.sysctl, encoding="ascii")
        if any(after[key] != self.before[key] for key in self.before if key.startswith("victim")):
            self.victim.close()
            self.victim.log.unlink(missing_ok=True)
            self.victim = Victim(self.tools / "victim", self.victim.log, self.secret,
                                 self.outside / "secret.txt", self.box_uid)
        for entry in list(self.base.iterdir()):
            if entry.name not in self.before["names beside"]:
                remove(entry)
        if not self.outside.exists():  # it was moved away, with the sockets in it
            (self.work / "taken-dir").rename(self.outside)
        self.shared.refill()
        self.build_outside()
        self.fill_home()
        self.listeners.heard.clear()
        self.write_world()
        self.reset_workspace()
        self.before = self.look()

    def close(self):
        self.listeners.close()
        self.victim.close()
        self.shared.close()
        for pid in self.daemons():
            os.kill(pid, signal.SIGKILL)
        for directory in ("/tmp", "/var/tmp", "/dev/shm"):
            for kind in ("secret", "new"):
                path = pathlib.Path(directory) / f"nacre-escape-{kind}-{self.number}"
                path.unlink(missing_ok=True)
        remove(self.base)
