"""Makes the attempts of tests/escape/ and looks at what came of them; the test_escape_*.py use it.

What counts is what is seen from outside: a secret in the output, a file that changed, a listener that was
reached, a signal that arrived, a process that is still there. What only the attacker can see ("GOT") counts
as well.
"""
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from helpers import (DEADLINE, NACRE, ROOT, Deadline, ample, descendants, process_read, reap_strangers,
                     unused_uid, wait_until)

sys.path.insert(0, str(ROOT / "tests" / "escape"))

from attempts import ATTEMPTS, DISK, LACKS, NODEV, WATCHED  # noqa: E402
from world import World  # noqa: E402

HERE = ROOT / "tests" / "escape"
TIERS = {"strict": "strict", "warm": "strict", "landlock": "landlock"}
LIMITS = "{memory: 256M, processes: 64, file: 64M, tmp: 64M, open_files: 1024}"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OWN = {"kill_nacre", "stop_nacre"}  # attempts at nacre's own processes
ANSWER = 90  # seconds on an idle machine until nacre must have answered
MOST_PROCESSES = 64 + 8
MOST_MEMORY_KB = 960 * 1024  # of 1 GiB: without a control group a watch strikes, a moment late


def is_in_memory(path):
    return subprocess.run(["stat", "--file-system", "--format=%T", path], check=True, capture_output=True,
                          text=True).stdout.strip() == "tmpfs"


def compile_attackers(into):
    """Every C file is one program; scripts are copied."""
    for source in sorted(set(HERE.glob("*.c")) - {HERE / "preload.c"}):
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall",
                        "-Wextra", "-Wno-unused-parameter", "-o", into / source.stem, source, "-lrt"],
                       check=True, timeout=DEADLINE)
    for script in sorted(HERE.glob("*.sh")):
        shutil.copy(script, into / script.name)


def command_of(attempt, world):
    script = HERE / f"{attempt.theme}.sh"
    if script.exists():
        return ["bash", f"attack/{attempt.theme}.sh", attempt.name]
    marker = [world.marker] if attempt.theme == "daemons" else []
    return [f"attack/{attempt.theme}", attempt.name, *marker]


class Sample(threading.Thread):
    """Counts the attacker's processes and memory from outside, as long as it runs."""

    def __init__(self, root, names):
        super().__init__(daemon=True)
        self.root, self.names, self.most, self.most_kb = root, names, 0, 0
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.02):
            count = memory = 0
            for process in descendants(self.root):
                if process.name not in self.names:
                    continue
                try:
                    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                        fields = dict(line.split(":", 1) for line in file)
                except (FileNotFoundError, ProcessLookupError):
                    continue
                count += int(fields.get("Threads", "1"))
                memory += int(fields.get("VmRSS", "0 kB").split()[0])
            self.most, self.most_kb = max(self.most, count), max(self.most_kb, memory)

    def close(self):
        self.ended.set()
        self.join()


class Knocker(threading.Thread):
    """Tries to reach a port from the host, as long as the attacker may be listening."""

    def __init__(self, port, text):
        super().__init__(daemon=True)
        self.port, self.text, self.reached = port, text, False
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.02) and not self.reached:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as peer:
                    peer.sendall(self.text)
                    self.reached = True
            except OSError:
                pass

    def close(self):
        self.ended.set()
        self.join()


class Place:
    """Somebody who runs nacre: root, root in a workspace of somebody else's, or a user."""

    def __init__(self, who, tools):
        self.who, self.tools = who, tools
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="nacre-escape-"))
        os.chmod(self.base, 0o755)
        self.root = os.geteuid() == 0
        self.uid = os.geteuid() if not self.root or who != "user" else unused_uid()
        self.owner = unused_uid() if self.root and who != "root" else self.uid
        self.binary = self.base / "nacre"
        shutil.copy(NACRE, self.binary)
        self.policies = self.base / "policies"
        self.policies.mkdir()
        for tier, mode in TIERS.items():
            for profile in ("bash", "universal", "readonly"):
                self.policy(f"{profile}-{tier}", profile, f"sandbox: {{mode: {mode}}}")
            self.policy(f"undebugged-{tier}", "bash", f"sandbox: {{mode: {mode}, debug: false}}")
            self.policy(f"limits-{tier}", "bash", f"sandbox: {{mode: {mode}, limits: {LIMITS}}}")
            self.policy(f"online-{tier}", "bash", f"sandbox: {{mode: {mode}, network: host}}")
            self.policy(f"session-{tier}", "bash", f"sandbox: {{mode: {mode}}}", "keep")
            self.policy(f"session-denied-{tier}", "universal", f"sandbox: {{mode: {mode}}}", "keep")
            self.policy(f"session-listed-{tier}", "bash", f"sandbox: {{mode: {mode}}}\ndefault: deny\n"
                        "allow: [bash, python3, curl, git]\nunknown: sandbox", "keep")
            self.policy(f"named-{tier}", "bash", f"sandbox: {{mode: {mode}, network: {{allow: [a.test], ask: ['*']}}}}")
        self.worlds, self.warms = {}, {}

    def policy(self, name, inherits, text, leftover="end"):
        path = self.policies / f"{name}.yaml"
        # Daemons are to end with their command; what may stay is left to the next command of its session.
        path.write_text(f"profile: {name}\ninherits: {inherits}\nroom: {{leftover: {leftover}}}\n{text}\n")
        return path

    def options(self, uid):
        return {"user": uid, "group": uid, "extra_groups": []} if self.root else {}

    def env(self, world):
        """What nacre itself is started with: nothing of the secrets may reach the command."""
        return {"PATH": f"{world.home}/.local/bin:{PATH}", "HOME": str(world.home), "LANG": "C.UTF-8", "TMPDIR": str(world.tmp),
                "NACRE_STATE_DIR": str(world.state), "OPENAI_API_KEY": f"{world.secret}-env",
                "DATABASE_URL": f"{world.secret}-env", "SOME_WORD": f"{world.secret}-env",
                **{name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS")
                   if name in os.environ}}

    def world(self, tier):
        if tier not in self.worlds:
            self.worlds[tier] = None  # a world that could not be made is not tried again
            base = self.base / tier
            base.mkdir()
            os.chmod(base, 0o755)
            box_uid = self.box_uid(tier)
            self.worlds[tier] = World(base, self.tools, self.owner, self.uid, box_uid, tier != "control")
        if not self.worlds[tier]:
            raise AssertionError("there is no world for this attempt")
        return self.worlds[tier]

    @property
    def grouped(self):
        """Whether nacre gets control groups: version 1 by root, version 2 where a part is delegated."""
        return self.uid == 0

    def box_uid(self, tier):
        """The kernel's user in the box; in the control run it is who runs it."""
        if tier == "control" or not self.root:
            return self.uid
        work = self.base / "probe"
        work.mkdir(exist_ok=True)
        os.chown(work, self.owner, self.owner)
        state = self.base / "probe-state"
        state.mkdir(mode=0o700, exist_ok=True)
        os.chown(state, self.uid, self.uid)
        done = subprocess.run([self.binary, "run", "--policy", self.policies / f"bash-{tier}.yaml",
                               "--json", "--workspace", work, "--", "cat", "/proc/self/uid_map",
                               "/proc/self/status"],
                              env={"PATH": PATH, "HOME": str(work), "NACRE_STATE_DIR": str(state)},
                              cwd=work, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=DEADLINE, **self.options(self.uid))
        lines = json.loads(done.stdout)["stdout"].splitlines()
        inside = int(next(line for line in lines if line.startswith("Uid:")).split()[1])
        first, outer, count = (int(word) for word in lines[0].split()[:3])
        return outer + inside - first if first <= inside < first + count else inside

    def warm(self, world, profile):
        """The long-lived nacre for this profile; it gets the same treats as a short-lived one."""
        if profile not in self.warms:
            inherited = self.open_inherited(world)
            command = [self.binary, "run", "--batch", "--jobs", "2", "--policy",
                       self.policies / f"{profile}-warm.yaml", "--workspace", world.work]
            self.warms[profile] = Warm(subprocess.Popen(
                command, env=self.env(world), cwd=world.work, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=inherited,
                **self.options(self.uid)))
            for fd in inherited:
                os.close(fd)
        return self.warms[profile]

    def forget_warm(self, profile):
        self.warms.pop(profile).close()

    @staticmethod
    def open_inherited(world):
        """Descriptors that a careless caller leaves open."""
        return [os.open(world.outside / "secret.txt", os.O_RDONLY),
                os.open(world.outside, os.O_RDONLY | os.O_DIRECTORY),
                os.open("/proc/self/ns/mnt", os.O_RDONLY)]

    def start(self, world, argv, tier, profile, session=None, **options):
        """ARGV is a line for bash where there is a session."""
        inherited = self.open_inherited(world)
        env = self.env(world)
        if tier == "control":
            command = ["sh", "-c", '"$@"; exit $?', "sh", *(["bash", "-c", argv] if session else argv)]
            if self.root and self.uid == 0:
                command = ["unshare", "--mount", "--propagation", "private", *command]
        else:
            command = [self.binary, "run", "--policy", self.policies / f"{profile}-{tier}.yaml", "--json",
                       "--description", f"{world.secret}-argv", "--timeout", ample(60),
                       "--workspace", world.work, *(["--session", session, "-c", argv] if session else ["--", *argv])]
        # Into a file: a daemon that holds a pipe would hold the test.
        with open(self.base / "output", "wb") as out, open(self.base / "errors", "wb") as err:
            popen = subprocess.Popen(command, env=env, cwd=world.work, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=err, pass_fds=inherited,
                                     **self.options(self.uid), **options)
            for fd in inherited:
                os.close(fd)
            return popen

    def read_output(self):
        return (self.base / "output").read_bytes(), (self.base / "errors").read_bytes()

    def close(self):
        for profile in list(self.warms):
            self.forget_warm(profile)
        for world in filter(None, self.worlds.values()):
            world.close()
        shutil.rmtree(self.base, ignore_errors=True)


class Outcome:
    """What came of one attempt: evidence from outside, the attacker's own claims, its output."""

    def __init__(self, output, evidence, claims, result):
        self.output, self.evidence, self.claims, self.result = output, evidence, claims, result

    @property
    def escaped(self):
        return bool(self.evidence or self.claims)

    def __str__(self):
        return "\n".join([*self.evidence, *self.claims, "--- output", self.output[-1500:]])


def wait_for_end(popen, seconds):
    """Whether it ended in time; the kernel tells, since Popen.wait with a limit only looks now and then."""
    pidfd = os.pidfd_open(popen.pid)
    try:
        return is_readable(pidfd, seconds)
    finally:
        os.close(pidfd)


def is_readable(fd, seconds):
    end = time.monotonic() + Deadline(seconds)
    while end > time.monotonic():
        if select.select([fd], [], [], 1)[0]:
            return True
    return False


class Warm:
    """A nacre that runs one command after the other in boxes that it keeps; see --batch."""

    def __init__(self, popen):
        self.popen, self.pid, self.count = popen, popen.pid, 0

    def ask(self, argv, session=None):
        self.count += 1
        what = {"command": argv, "session": session} if session else {"argv": argv}
        request = json.dumps({"id": self.count, **what, "timeout_ms": 1000 * int(ample(60)[:-1])})
        self.popen.stdin.write(request.encode() + b"\n")
        self.popen.stdin.flush()

    def answer(self, seconds):
        """One line, or None when there is none in time."""
        if not is_readable(self.popen.stdout, seconds):
            return None
        return self.popen.stdout.readline()

    def close(self):
        self.popen.stdin.close()
        if not wait_for_end(self.popen, 60):
            self.popen.kill()
        self.popen.wait(DEADLINE)
        self.popen.stdout.close()


def watch(attempt, world, pid):
    """What has to happen outside while the attempt is made."""
    if attempt.theme == "resources":
        return Sample(pid, {"resources"})
    if attempt.name == "listen_outside":
        return Knocker(world.listen_port, f"{world.secret}-knock".encode())
    return None


def what_was_seen(watcher, tier):
    seen = []
    if watcher:
        watcher.close()
    if isinstance(watcher, Sample) and tier != "control":
        if watcher.most > MOST_PROCESSES:
            seen.append(f"{watcher.most} processes")
        if watcher.most_kb > MOST_MEMORY_KB:
            seen.append(f"{watcher.most_kb} kB of memory")
    if isinstance(watcher, Knocker) and watcher.reached:
        seen.append("the host could connect")
    return seen


def end(pid):
    """Ends a nacre that no longer answers, with all that it has started."""
    for process in [*descendants(pid), process_read(pid)]:
        if process:
            os.kill(process.pid, signal.SIGCONT)
            os.kill(process.pid, signal.SIGKILL)


def run_once(place, world, attempt, tier, session=None, line=None):
    """Returns what was printed, the errors, and what was seen meanwhile."""
    popen = place.start(world, line or command_of(attempt, world), tier, attempt.profile, session)
    watcher, seen = watch(attempt, world, popen.pid), []
    if attempt.name in OWN:
        name_nacres(world, popen)
    if not wait_for_end(popen, ANSWER):
        end(popen.pid)
        seen.append(f"nacre did not answer within {ANSWER} s")
    popen.wait(DEADLINE)
    return *place.read_output(), seen + what_was_seen(watcher, tier)


def run_warm(place, world, attempt, session=None, line=None):
    warm = place.warm(world, attempt.profile)
    warm.ask(line or command_of(attempt, world), session)
    watcher, seen = watch(attempt, world, warm.pid), []
    if attempt.name in OWN:
        name_nacres(world, warm.popen)
    line = warm.answer(ANSWER)
    if not line:
        end(warm.pid)
        seen.append(f"nacre did not answer within {ANSWER} s")
        place.forget_warm(attempt.profile)
    return line or b"", b"", seen + what_was_seen(watcher, "warm")


def read_result(out, output, seen):
    try:
        result = json.loads(out)
        result = result.get("result", result)
        return result, result.get("output") or (result["stdout"] or "") + (result["stderr"] or "")
    except (ValueError, KeyError, TypeError):
        seen.append(f"no result: {output[-300:]}")
        return None, output


def leave_and_use(place, world, attempt, tier):
    """One call leaves something, the next two use it: in the same session, but for what is meant to be apart.
    Only what the later ones print counts."""
    first = f"leaving-{attempt.name}"
    second = f"{first}-other" if attempt.name == "apart" else first
    outputs, result, seen = [], None, []
    for session, step in ((first, "leave"), (second, "use"), (second, "use")):
        # Sourced, so that what a session keeps is kept; where the line must be known, by a shell of its own.
        line = f"{'.' if attempt.profile == 'session' else 'bash'} {world.work}/attack/leaving.sh {attempt.name} {step}"
        if tier == "warm":
            out, err, more = run_warm(place, world, attempt, session, line)
        else:
            out, err, more = run_once(place, world, attempt, tier, session, line)
        output = (out + err).decode(errors="replace")
        if tier != "control":
            result, output = read_result(out, output, more)
        # Where the directory is exchanged at the very moment of a start, nothing runs.
        refused = attempt.name == "directory" and result and result["exit_code"] == 125
        if "TRIED" not in output and not refused:
            more.append(f"{step} did not take place: {output[-600:]}")
        seen += more
        outputs += [output] if step == "use" else []
    if tier != "control":
        seen += end_sessions(place, world, {first, second})
    return "\n".join(outputs), result, seen


def end_sessions(place, world, sessions):
    """Ends them with what was left running; what is there of them afterwards."""
    subprocess.run([place.binary, "session", "end", *sessions], env=place.env(world), cwd=world.work, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=DEADLINE, **place.options(place.uid))
    rooms = world.state / "rooms"
    left = [path.name for path in rooms.iterdir() if not path.name.startswith(".")] if rooms.exists() else []
    return [f"of the room is left: {left}"] if left else []


def make(place, attempt, tier):
    """Makes one attempt, and looks at what came of it."""
    world = place.world(tier)
    if attempt.theme == "leaving":
        output, result, seen = leave_and_use(place, world, attempt, tier)
        evidence, claims = world.evidence(output)
        return Outcome(output, seen + evidence, claims, result)
    if tier == "warm":
        out, err, seen = run_warm(place, world, attempt)
    else:
        out, err, seen = run_once(place, world, attempt, tier)
    result = None
    output = (out + err).decode(errors="replace")
    if tier != "control":
        result, output = read_result(out, output, seen)
        if attempt.name in OWN and result is not None and result["exit_code"] != 0:
            seen.append(f"the result is {out[-600:]}")
    elif attempt.theme == "daemons":
        wait_until("the daemon stays", lambda: stays(world))
    evidence, claims = world.evidence(output)
    return Outcome(output, seen + evidence, claims, result)


def stays(world):
    """Whether a daemon has become what it will be. One that changes its id is between two of them now
    and then, and not to be seen, until then."""
    for pid in world.daemons():
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip() == "bash":
                    return True
        except OSError:
            pass
    return False


def name_nacres(world, popen):
    """Tells the attacker who nacre's processes are, once it runs."""
    def attacker():
        return [p for p in descendants(popen.pid) if p.name == "signals"] or popen.poll() is not None
    wait_until("the attacker runs", attacker)
    pids = [popen.pid] + [p.pid for p in descendants(popen.pid) if p.name != "signals"]
    path = world.work / "attack" / "nacre-pids.new"
    path.write_text(" ".join(str(pid) for pid in pids) + "\n")
    path.rename(world.work / "attack" / "nacre-pids")


# Root in a workspace of somebody else's gets a box of its own kind, that user's: where it matters who one is.
OTHER_USER = {"reading", "writing", "tracing", "signals", "kernel", "privileges", "planting"}


def chances(base):
    """Exceptions of the landlock tier that need not show with workspaces below BASE."""
    found = ["", WATCHED]  # a watch may strike in time
    if is_in_memory(base):
        found.append(DISK)  # then the limit of memory holds
    if os.statvfs(base).f_flag & os.ST_NODEV:
        found.append(NODEV)  # then no device node opens there, box or no box
    return found


def whos(tier):
    if os.geteuid() != 0:
        return ("user",)
    return ("root", "user", "root for a user") if tier == "strict" else ("root", "user")


class EscapeTest(unittest.TestCase):
    """One test per theme and tier; a sub-test per attempt and user."""

    @classmethod
    def setUpClass(cls):
        cls.tools = pathlib.Path(tempfile.mkdtemp(prefix="nacre-attackers-"))
        os.chmod(cls.tools, 0o755)
        compile_attackers(cls.tools)
        cls.places = {who: Place(who, cls.tools) for who in whos(cls.TIER)}

    @classmethod
    def tearDownClass(cls):
        for place in cls.places.values():
            place.close()
        shutil.rmtree(cls.tools, ignore_errors=True)
        reap_strangers(set())

    def attempts(self, theme, tier):
        for attempt in ATTEMPTS:
            if attempt.theme != theme:
                continue
            escaped = False
            for who, place in self.places.items():
                if who == "root for a user" and theme not in OTHER_USER:
                    continue
                with self.subTest(attempt=attempt.name, who=who, tier=tier):
                    outcome = make(place, attempt, tier)
                    escaped = escaped or outcome.escaped
                    self.judge(attempt, tier, who, outcome)
            must_show = attempt.landlock not in chances(place.base) and attempt.control != LACKS
            if tier == "landlock" and must_show and os.geteuid() == 0:
                with self.subTest(attempt=attempt.name):
                    self.assertTrue(escaped, "the table admits an exception that is none any more")

    def judge(self, attempt, tier, who, outcome):
        if tier == "control":
            self.assertTrue(outcome.escaped or who not in attempt.control.split(),
                            f"it does not even succeed without a box:\n{outcome}")
            return
        if not (outcome.result and outcome.result["sandbox"].get("limit_hit")):
            self.assertIn("TRIED", outcome.output, f"it did not take place: {outcome.result}")
        if tier == "landlock" and attempt.landlock:
            return
        if attempt.ungrouped and not self.places[who].grouped:
            self.assertTrue(outcome.escaped, "the table admits an exception that is none any more")
            return
        self.assertFalse(outcome.escaped, f"{attempt.what}:\n{outcome}")


def add_tests(cls, tier):
    cls.TIER = tier
    for theme in dict.fromkeys(attempt.theme for attempt in ATTEMPTS):
        def test(self, theme=theme):
            self.attempts(theme, tier)
        setattr(cls, f"test_{theme}", test)
    return cls
