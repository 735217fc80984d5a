"""The launcher that stays for the next call of a session: who is served, by what, and for how long."""
import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

from helpers import DEADLINE, NACRE, NacreTest, descendants, process_read, wait_until

# Asks for a keeper as nacre does: says "greeted" if there is one, "refused" if the connection ends.
CLIENT = """
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(10)
try:
    s.connect(sys.argv[1])
    s.send(struct.pack("I", 1) + sys.argv[8].encode())
    s.send(struct.pack("I", 2) + b"".join(part.encode() + b"\\0" for part in sys.argv[2:]))
    answer = s.recv(10)
except OSError as error:
    print("refused", type(error).__name__)
    sys.exit()
print("greeted" if answer else "refused")
if answer and sys.stdin.readline() == "hold\\n":
    print("held", flush=True)
    s.settimeout(60)
    print("ended" if s.recv(10) == b"" else "?")
"""
PYTHON = "/usr/bin/python3"  # that every user can run
HELD = "echo $$ >ready; read -r _ <go; echo done"
CROWD = f"""{PYTHON} -c '
import os, signal, time
many = []
try:
    for _ in range(40):
        many.append(os.fork())
        if many[-1] == 0:
            time.sleep(600)
    print("all of them")
finally:
    for pid in many:
        os.kill(pid, signal.SIGKILL)
'"""


class LauncherTest(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.home = self.dir / "home"
        self.home.mkdir()
        self.env["HOME"] = str(self.home)
        self.options = {}
        self.prepare()

    def prepare(self):
        pass

    def call(self, line, *options, session="s", **more):
        result = self.run_json("--session", session, *options, "-c", line, **{**self.options, **more})
        if result["sandbox"]["tier"] == "landlock":
            self.skipTest("userns: not permitted here")
        return result

    def says(self, line, *options, **more):
        result = self.call(line, *options, **more)
        self.assertEqual(result["exit_code"], 0, result)
        return result["stdout"].strip()

    def nacre(self, *args):
        options = {key: value for key, value in self.options.items() if key != "program"}
        return subprocess.run([self.options.get("program", NACRE), *args], env=self.env, capture_output=True, text=True,
                              timeout=DEADLINE, check=False, cwd=self.work, **options)

    def launcher(self, session="s"):
        shown = self.nacre("session", "show", session, "--json").stdout
        return json.loads(shown)["launcher"] if shown else None

    def warm(self, session="s", **more):
        """A session whose launcher has keepers that wait; its number."""
        self.assertEqual(self.call("true", session=session, **more)["exit_code"], 0)
        return self.wait_warm(session)

    def wait_warm(self, session="s", but=0):
        def ready():
            told = self.launcher(session)
            return told["pid"] if told and told["ready"] >= 1 and told["pid"] != but else None
        return wait_until("a keeper waits", ready)

    def hold(self, *options, line=HELD, **more):
        """A command that waits for a word; nacre's process, and whether the launcher serves it."""
        for name in ("go", "ready"):
            (self.work / name).unlink(missing_ok=True)
        os.mkfifo(self.work / "go")
        os.chmod(self.work / "go", 0o666)
        nacre = self.start("--json", "--session", "s", *options, "-c", line, **{**self.options, **more})
        self.wait_for_file(self.work / "ready")
        told = self.launcher()
        return nacre, bool(told and told["running"] == 1)

    def go(self):
        with open(self.work / "go", "w", encoding="ascii") as file:
            file.write("go\n")

    def is_served(self, *options, **more):
        nacre, served = self.hold(*options, **more)
        self.go()
        result = json.loads(self.finish(nacre).out)
        self.assertEqual((result["exit_code"], result["stdout"]), (0, "done\n"), result)
        return served

    def sockets(self):
        return sorted((self.state / "launchers").glob("*.sock"))


class Serves(LauncherTest):
    """A later call is what a first one is, but in a box that was there."""

    def test_the_second_call_has_a_box_that_was_ready(self):
        self.assertIsNone(self.launcher())
        launcher = self.warm()
        self.assertTrue(self.is_served())
        self.assertTrue(self.is_served())
        self.assertEqual(self.launcher()["pid"], launcher)
        self.assertEqual(len(self.sockets()), 1)

    def test_results_are_the_same(self):
        self.warm()
        for line, code, out, err in (("echo a; echo b >&2; exit 3", 3, "a\n", "b\n"), ("kill -9 $$", 137, "", ""),
                                     ("nonsuch-program", 127, "", None), ("cat", 0, "given", "")):
            with self.subTest(line=line):
                result = self.call(line, "--input", "given")
                self.assertEqual((result["exit_code"], result["stdout"]), (code, out), result)
                if err is not None:
                    self.assertEqual(result["stderr"], err)
        self.assertTrue(self.call("sleep 100", "--timeout", "300ms")["timed_out"])
        done = self.run_nacre("--session", "s", "--stdin", "-c", "wc -c", input=b"x" * 300_000, **self.options)
        self.assertEqual((done.code, done.out.strip()), (0, b"300000"))
        result = self.call("head -c 3000000 /dev/zero | tr '\\0' x")
        self.assertEqual((result["exit_code"], result["stdout_bytes"]), (0, 3_000_000))
        self.assertEqual(self.says("cd /tmp && export A=1; pwd"), "/tmp")
        self.assertEqual(self.says("echo $A"), "1")

    def test_on_a_terminal_and_in_the_background(self):
        self.warm()
        self.assertEqual(self.call("tty", "--pty=20x70")["output"].strip(), "/dev/pts/0")
        task = self.call("echo early; sleep 1000", "--background")["task_id"]
        wait_until("it has begun", lambda: (self.tasks / task / "out").read_bytes() == b"early\n")
        self.assertEqual(self.nacre("stop", task).returncode, 0)
        wait_until("it has ended", lambda: (self.tasks / task / "state.json").exists())

    def test_a_signal_to_nacre_ends_the_command(self):
        self.warm()
        for number in (signal.SIGINT, signal.SIGTERM):
            nacre, served = self.hold()
            self.assertTrue(served)
            nacre.send_signal(number)
            self.assertEqual(self.finish(nacre).code, 128 + number)
        self.wait_warm()
        self.assertTrue(self.is_served())

    def test_it_is_recorded_before_it_starts(self):
        self.warm()
        task = self.call("echo recorded")["task_id"]
        shown = self.nacre("audit", "show", "--task", task, "--json").stdout
        events = [record["event"] for record in json.loads(shown)["records"]]
        self.assertEqual(events, ["requested", "decided", "started", "ended"], shown)
        self.assertEqual(self.nacre("audit", "verify").returncode, 0)

    def test_what_is_refused_leaves_the_keeper_to_the_next(self):
        self.write_config("bash.yaml", "profile: bash\ndeny: [whoami]\n")
        self.warm()
        for _ in range(6):
            self.assertEqual(self.call("whoami")["exit_code"], 126)
        self.assertTrue(self.is_served())

    def test_a_changed_policy_holds_at_once(self):
        self.write_config("bash.yaml", "profile: bash\nenvironment: {set: {X: '1'}}\n")
        self.warm()
        self.assertEqual(self.says("echo $X"), "1")
        self.write_config("bash.yaml", "profile: bash\nenvironment: {set: {X: '2'}}\ndeny: [whoami]\n")
        self.assertEqual(self.says("echo $X"), "2")
        self.assertEqual(self.call("whoami")["exit_code"], 126)
        self.write_config("bash.yaml", "profile: bash\nsandbox: {limits: {processes: 20}}\n")
        self.expect_too_many(self.call(CROWD))

    def test_fewer_processes_than_the_profile_allows(self):
        self.warm()
        self.assertFalse(self.is_served("--max-processes", "50"))
        self.expect_too_many(self.call(CROWD, "--max-processes", "10"))

    def expect_too_many(self, result):
        """bash would try again for half a minute."""
        self.assertEqual((result["exit_code"], result["stdout"]), (1, ""), result)
        self.assertIn("BlockingIOError", result["stderr"], result)

    def test_many_at_once(self):
        """First calls at the same time make one launcher, and all have their own result."""
        for session in ("s", "s"):
            several = [self.start("--json", "--session", session, "-c", f"echo {i}", **self.options) for i in range(6)]
            for i, nacre in enumerate(several):
                self.assertEqual(json.loads(self.finish(nacre).out)["stdout"], f"{i}\n")
        self.wait_warm()
        wait_until("one launcher", lambda: len([p for p in descendants() if p.name == "nacre-launcher"]) == 1)
        self.assertEqual(len(self.sockets()), 1)

    def test_many_sessions_have_few_boxes(self):
        for i in range(12):
            self.call("true", session=f"s{i}")
        wait_until("no more than eight shelves", lambda: len([p for p in descendants() if p.name == "nacre-keeper"]) <= 8 * 3)
        # A child bears the launcher's name until it has its own.
        [launcher] = wait_until("one launcher", lambda: (found := [p.pid for p in descendants() if p.name == "nacre-launcher"]) and len(found) == 1 and found)
        self.nacre("session", "end", *(f"s{i}" for i in range(12)))
        self.expect_gone(launcher)
        self.assertEqual(self.sockets(), [])


class Heritage(LauncherTest):
    """What a command has from its caller it has from its own, not from the one that was first."""

    def test_limits_priority_and_the_rest_are_the_callers(self):
        self.warm()
        cpus = sorted(os.sched_getaffinity(0))
        cases = (
            (lambda: os.nice(7), "nice", None),
            (lambda: os.umask(0o027), "umask", None),
            (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000)), "ulimit -Hn", None),
            (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)), "ulimit -Hf", None),
            (lambda: os.sched_setaffinity(0, cpus[-1:]), "nproc", None),
            (lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)), "cut -d' ' -f41 /proc/$$/stat", None),
        )
        for change, line, _ in cases:
            with self.subTest(line=line):
                def begin(change=change):
                    change()
                plain = self.says(line)
                other = [self.says(line, preexec_fn=begin) for _ in range(2)]
                served = self.is_served(preexec_fn=begin)
                cold = self.run_json("-c", line, preexec_fn=begin, **self.options)["stdout"].strip()
                self.assertEqual(other, [cold] * 2)
                self.assertTrue(served or other[0] != plain, line)
                self.assertEqual(self.says(line), plain)

    def test_another_home_or_program_has_another_launcher(self):
        self.warm()
        other = self.dir / "other"
        other.mkdir()
        copy = self.dir / "copy"
        shutil.copy(self.options.get("program", NACRE), copy)
        if self.options:
            os.chown(other, self.options["user"], self.options["group"])
        for more in ({"env": {"HOME": str(other)}}, {"program": str(copy)}, {"env": {"PATH": "/usr/bin:/bin"}}):
            with self.subTest(more=more):
                count = len(self.sockets())
                self.call("true", **more)
                wait_until("one more", lambda count=count: len(self.sockets()) == count + 1)
        self.assertEqual(self.says("echo ~", env={"HOME": str(other)}), str(other))
        self.assertEqual(self.says("echo ~"), str(self.home))

    def test_no_privileges_to_be_gained(self):
        """Such a caller may be in a Landlock domain that nobody sees."""
        self.warm()
        found = self.sockets()
        setpriv = ["setpriv", "--no-new-privs", self.options.get("program", NACRE), "run", "--session", "s"]
        options = {key: value for key, value in self.options.items() if key != "program"}
        done = subprocess.run([*setpriv, "-c", "echo here"], env=self.env, cwd=self.work, capture_output=True,
                              timeout=DEADLINE, check=False, **options)
        self.assertEqual((done.returncode, done.stdout), (0, b"here\n"), done)
        self.assertEqual(self.sockets(), found)

    def test_calls_of_one_session_share_the_network_all_the_same(self):
        self.warm()
        self.call("exec python3 -u -m http.server 8124 --bind 127.0.0.1", "--background")
        ask = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8124/"
        wait_until("the server answers", lambda: self.call(ask)["stdout"] == "200")
        for options, more in ((("--max-processes", "60"), {}), ((), {"preexec_fn": lambda: os.nice(5)}), ((), {"preexec_fn": lambda: os.nice(5)})):
            self.assertEqual(self.call(ask, *options, **more)["stdout"], "200")
        self.nacre("session", "end", "s")


class Apart(LauncherTest):
    """It has nothing of the call that has left it behind, and ends when it should."""

    def test_it_keeps_nothing_of_the_caller(self):
        reader, writer = os.pipe()
        launcher = self.warm(env={"SECRET_OF_MINE": "x"}, pass_fds=[writer])
        os.close(writer)
        self.assertEqual(os.read(reader, 1), b"")
        os.close(reader)
        with open(f"/proc/{launcher}/environ", "rb") as file:
            names = {entry.split(b"=")[0] for entry in file.read().split(b"\0") if entry}
        self.assertEqual(names - {b"PATH", b"HOME", b"TMPDIR", b"NACRE_STATE_DIR", b"XDG_CONFIG_HOME", b"ASAN_OPTIONS",
                                  b"UBSAN_OPTIONS", b"LSAN_OPTIONS", b"GCOV_PREFIX", b"GCOV_PREFIX_STRIP"}, set())
        self.assertEqual(os.readlink(f"/proc/{launcher}/cwd"), "/")
        self.assertEqual((os.getsid(launcher), os.getpgid(launcher)), (launcher, launcher))
        for number in range(3):
            self.assertEqual(os.readlink(f"/proc/{launcher}/fd/{number}"), "/dev/null")

    def test_a_pipeline_ends(self):
        line = f"'{self.options.get('program', NACRE)}' run --session s -c 'echo x' | cat"
        options = {key: value for key, value in self.options.items() if key != "program"}
        for _ in range(2):
            done = subprocess.run(["bash", "-c", line], env=self.env, cwd=self.work, capture_output=True,
                                  timeout=DEADLINE, check=False, **options)
            self.assertEqual((done.returncode, done.stdout), (0, b"x\n"), done)
            self.wait_warm()

    def test_it_ends_with_its_session(self):
        launcher = self.warm()
        self.assertEqual(self.nacre("session", "end", "s").returncode, 0)
        self.expect_gone(launcher)
        self.assertEqual(self.sockets(), [])
        self.assertEqual(self.rooms(), [])

    def rooms(self):
        return sorted(path.stem for path in (self.state / "rooms").glob("*.json"))

    def test_it_ends_when_nobody_calls(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {warm: 1s}\n")
        launcher = self.warm()
        began = time.monotonic()
        self.expect_gone(launcher)
        self.assertGreater(time.monotonic() - began, 0.2)
        self.assertEqual(self.sockets(), [])
        self.assertEqual(len(self.rooms()), 1)

    def test_it_does_not_stay_longer_than_the_room(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {idle: 1s}\n")
        self.expect_gone(self.warm())

    def test_there_is_none_if_the_policy_wants_none(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {warm: 0s}\n")
        self.call("true")
        self.call("true")
        self.assertFalse((self.state / "launchers").exists())

    def test_without_a_session_there_is_none(self):
        self.run_json("-c", "true", **self.options)
        self.assertFalse((self.state / "launchers").exists())

    def test_it_ends_by_sigterm_and_without_its_socket(self):
        launcher = self.warm()
        os.kill(launcher, signal.SIGTERM)
        self.expect_gone(launcher)
        self.assertEqual(self.sockets(), [])
        launcher = self.warm()
        shutil.rmtree(self.state)
        self.expect_gone(launcher)


class Deaths(LauncherTest):
    def test_of_the_launcher(self):
        launcher = self.warm()
        nacre, served = self.hold()
        self.assertTrue(served)
        os.kill(launcher, signal.SIGKILL)
        self.expect_gone(launcher)
        self.go()
        self.assertEqual(json.loads(self.finish(nacre).out)["stdout"], "done\n")
        [stale] = self.sockets()
        self.assertEqual(self.says("echo again"), "again")
        self.assertNotEqual(self.wait_warm(), launcher)
        self.assertEqual(self.sockets(), [stale])
        self.assertTrue(self.is_served())

    def test_of_nacre(self):
        self.warm()
        nacre, served = self.hold()
        self.assertTrue(served)
        nacre.kill()
        nacre.wait()
        task = self.only_task()
        self.go()
        wait_until("the end is on disk", lambda: (task / "state.json").exists())
        self.assertEqual((task / "out").read_bytes(), b"done\n")

    def test_of_the_keeper(self):
        launcher = self.warm()
        nacre, _ = self.hold()
        box = process_read(next(p.pid for p in descendants(launcher) if p.name == "bash"))
        keeper = self.keeper()
        self.assertIn(keeper, [p.pid for p in descendants(launcher) if p.name == "nacre-keeper"])
        os.kill(keeper, signal.SIGKILL)
        done = self.finish(nacre)
        self.assertEqual(done.code, 125)
        self.assertIn("the keeper of this command was killed", json.loads(done.out)["reason"])
        self.expect_gone(box.pid)
        self.wait_warm()
        self.assertEqual(self.says("echo again"), "again")

    def keeper(self):
        """Who listens for the one task. Others stand by, and only root may look at their descriptors."""
        path = self.only_task() / "sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            wait_until("somebody listens", lambda: peer.connect_ex(str(path)) == 0)
            return struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def test_of_keepers_that_wait(self):
        launcher = self.warm()
        for _ in range(3):
            for process in descendants(launcher):
                if process.name == "nacre-keeper":
                    os.kill(process.pid, signal.SIGKILL)
            self.assertEqual(self.says("echo here"), "here")
        self.wait_warm()
        self.assertTrue(self.is_served())

    def test_one_that_does_not_answer_is_not_waited_for(self):
        launcher = self.warm()
        os.kill(launcher, signal.SIGSTOP)
        try:
            self.assertEqual(self.says("echo here"), "here")
        finally:
            os.kill(launcher, signal.SIGCONT)
        self.wait_warm()
        self.assertTrue(self.is_served())


class Strangers(LauncherTest):
    """It serves its own user, outside of every box."""

    def prepare(self):
        (self.work / "client.py").write_text(CLIENT)

    def words(self):
        [path] = self.sockets()
        work = str(self.work)
        return ["client.py", str(path), "", "", "", work, work, str(self.state), "s", "", ""]

    def ask(self, *before, **options):
        own = {key: value for key, value in self.options.items() if key != "program"}
        done = subprocess.run([*before, PYTHON, *self.words()], env=self.env, cwd=self.work, capture_output=True,
                              text=True, input="", timeout=DEADLINE, check=False, **{**own, **options})
        return done.stdout.split()[0] if done.stdout else done.stderr

    def test_the_same_user_is_served(self):
        self.warm()
        self.assertEqual(self.ask(), "greeted")

    def test_one_who_never_sends_an_order(self):
        self.warm()
        own = {key: value for key, value in self.options.items() if key != "program"}
        clients = []
        for _ in range(5):
            clients.append(subprocess.Popen([PYTHON, *self.words()], env=self.env, cwd=self.work, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, **own))
            self.started.append(clients[-1])
            clients[-1].stdin.write("hold\n")
            clients[-1].stdin.flush()
        self.assertEqual(self.says("echo here"), "here")
        for client in clients:
            self.assertIn(client.communicate(timeout=DEADLINE)[0].split()[-1], ("ended", "refused"))
        self.wait_warm()
        self.assertTrue(self.is_served())

    def test_other_limits_or_namespaces_are_refused(self):
        self.warm()
        self.assertEqual(self.ask("nice", "-n", "3"), "refused")
        self.assertEqual(self.ask("setpriv", "--no-new-privs"), "refused")
        for flag in ("-Un", "-Urm", "-Ui"):
            if subprocess.run(["unshare", flag, "true"], capture_output=True, check=False,
                              **{k: v for k, v in self.options.items() if k != "program"}).returncode == 0:
                self.assertEqual(self.ask("unshare", flag), "refused", flag)
        self.assertEqual(self.ask(), "greeted")

    def test_a_boxed_command_does_not_reach_it(self):
        self.warm()
        words = " ".join(f"'{word}'" for word in self.words())
        self.assertIn("refused", self.says(f"python3 {words} </dev/null"))
        for network in ("none", "host"):
            (self.dir / "p.yaml").write_text(f"profile: p\ninherits: bash\nsandbox: {{mode: landlock, network: {network}}}\n")
            result = self.run_json("--policy", str(self.dir / "p.yaml"), "-c", f"python3 {words} </dev/null", **self.options)
            self.assertNotIn("greeted", result["stdout"])
            self.assertTrue("refused" in result["stdout"] or result["exit_code"] != 0, result)
        self.assertEqual(self.ask(), "greeted")

    def test_another_user_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest("root: only root can be another user")
        self.warm()
        for path in (self.dir, self.state, self.state / "launchers"):
            path.chmod(0o755)
        [path] = self.sockets()
        path.chmod(0o666)
        self.assertEqual(self.ask(user=12345, group=12345, extra_groups=[]), "refused")
        self.assertEqual(self.ask(user=0, group=0) if self.options else "refused", "refused")
        self.assertEqual(self.ask(), "greeted")

    def test_a_socket_of_another_user_gets_no_order(self):
        if os.geteuid() != 0:
            self.skipTest("root: only root can be another user")
        launcher = self.warm()
        [path] = self.sockets()
        os.kill(launcher, signal.SIGKILL)
        self.expect_gone(launcher)
        trap = self.dir / "trap"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(trap))
            trap.chmod(0o666)
            # Who listens is who called listen().
            os.seteuid(54321)
            try:
                listener.listen(5)
            finally:
                os.seteuid(0)
            path.unlink()
            path.symlink_to(trap)
            self.assertEqual(self.says("echo here"), "here")
            listener.setblocking(False)
            got = b""
            try:
                connection, _ = listener.accept()
                connection.settimeout(1)
                got = connection.recv(100)
            except OSError:
                pass
            self.assertEqual(got, b"")

    def test_a_directory_that_others_can_write_is_not_used(self):
        self.warm()
        (self.state / "launchers").chmod(0o777)
        self.assertFalse(self.is_served())
        self.end_launchers()
        (self.state / "launchers").chmod(0o700)
        wait_until("none is left", lambda: not [p for p in descendants() if p.name == "nacre-launcher"])
        (self.state / "launchers").rmdir()
        elsewhere = self.dir / "elsewhere"
        elsewhere.mkdir()
        (self.state / "launchers").symlink_to(elsewhere)
        self.assertEqual(self.says("echo here"), "here")
        self.assertEqual(list(elsewhere.iterdir()), [])


class AsUser:
    """The same for an ordinary user."""

    def prepare(self):
        if os.geteuid() != 0:
            self.skipTest("root: the other classes run as this user already")
        super().prepare()
        self.options = self.as_ordinary_user()
        user = self.options["user"]
        for top, _, files in os.walk(self.dir):
            for name in (top, *(os.path.join(top, file) for file in files)):
                os.chown(name, user, user)

    def write_config(self, name, text):
        path = super().write_config(name, text)
        if getattr(self, "options", None):
            for each in (path, path.parent, path.parent.parent):
                os.chown(each, self.options["user"], self.options["user"])
        return path


class ServesAUser(AsUser, Serves):
    pass


class HeritageOfAUser(AsUser, Heritage):
    pass


class ApartOfAUser(AsUser, Apart):
    pass


class DeathsOfAUser(AsUser, Deaths):
    pass


class StrangersOfAUser(AsUser, Strangers):
    pass


del LauncherTest, AsUser


if __name__ == "__main__":
    unittest.main()
