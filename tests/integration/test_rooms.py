"""Rooms: what the calls of one session share, and what they do not."""
import json
import os
import subprocess
import time
import unittest

from helpers import DEADLINE, NACRE, NacreTest, wait_until
from mcp_client import Client
from serving import ServeTest


class SearchPath(NacreTest):
    """A name that is looked up is not a program that a command has written."""
    BOXED = True

    def setUp(self):
        super().setUp()
        for name in ("home/bin", "home/tools", "work/bin"):
            (self.dir / name).mkdir(parents=True, exist_ok=True)
        self.env["HOME"] = str(self.dir / "home")

    def path(self, *entries, **options):
        self.env["PATH"] = ":".join([*entries, "/usr/bin", "/bin"])
        result = self.run_json("-c", "echo $PATH", **options)
        return result["stdout"].strip().split(":")

    def test_what_a_command_can_fill_is_not_in_path(self):
        home, work = self.dir / "home", self.work
        self.assertEqual(self.path(str(home / "bin"), str(work / "bin"), "/tmp", "", ".", "bin"), ["/usr/bin", "/bin"])

    def test_what_the_operator_grants_read_only_is(self):
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{readable: ['{self.dir}/home/tools']}}\n")
        home = self.dir / "home"
        self.assertEqual(self.path(str(home / "tools"), str(home / "bin")), [str(home / "tools"), "/usr/bin", "/bin"])


class RoomTest(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.home = self.dir / "home"
        self.home.mkdir()
        self.env["HOME"] = str(self.home)
        self.options = {}

    def call(self, line, *options, session="s", **more):
        result = self.run_json("--session", session, *options, "-c", line, **{**self.options, **more})
        if result["sandbox"]["tier"] == "landlock":
            self.skipTest("userns: not permitted here")
        return result

    def says(self, line, *options, **more):
        result = self.call(line, *options, **more)
        self.assertEqual(result["exit_code"], 0, result)
        return result["stdout"]

    def nacre(self, *args):
        done = subprocess.run([self.options.get("program", NACRE), *args], env=self.env, capture_output=True, text=True,
                              timeout=DEADLINE, check=False, cwd=self.work,
                              **{key: value for key, value in self.options.items() if key != "program"})
        return done

    def rooms(self):
        return sorted(path.stem for path in (self.state / "rooms").glob("*.json"))

    def generation(self):
        [room] = self.rooms()
        return max((self.state / "rooms" / room).iterdir(), key=lambda path: int(path.name))


class Files(RoomTest):
    """A file in /tmp, /dev/shm or home is there in the next call, and in no other room."""

    def test_they_are_there_in_the_next_call(self):
        first = self.call("echo a >/tmp/a; echo b >~/b; echo c >/dev/shm/c; mkdir -p ~/.cache/x; echo d >~/.cache/x/d")
        self.assertTrue(first["room"]["fresh"])
        second = self.call("cat /tmp/a ~/b /dev/shm/c ~/.cache/x/d")
        self.assertEqual(second["stdout"], "a\nb\nc\nd\n")
        self.assertEqual(second["room"], {"id": first["room"]["id"], "generation": 1, "fresh": False})

    def test_without_a_session_there_is_no_room(self):
        self.assertIsNone(self.run_json("-c", "echo a >/tmp/a", **self.options)["room"])
        self.assertEqual(self.run_json("-c", "ls /tmp/a", **self.options)["exit_code"], 2)
        self.assertFalse((self.state / "rooms").exists())

    def test_another_session_profile_or_workspace_has_another(self):
        self.call("echo a >/tmp/a; echo b >~/b")
        other = self.work / "other"
        other.mkdir()
        if self.options:
            os.chown(other, self.options["user"], self.options["group"])
        for options, more in (((), {"session": "t"}), (("--workspace", str(other)), {}), (("--profile", "universal"), {})):
            with self.subTest(options=options, more=more):
                result = self.call("ls /tmp/a ~/b", *options, **more)
                self.assertEqual((result["exit_code"], result["stdout"]), (2, ""))
        self.assertEqual(len(self.rooms()), 4)

    def test_the_operators_home_is_not_the_rooms(self):
        (self.home / "mine").write_text("operator\n")
        self.assertEqual(self.call("cat ~/mine")["exit_code"], 1)
        self.call("echo agent >~/mine")
        self.assertEqual((self.home / "mine").read_text(), "operator\n")

    def test_a_profile_that_lists_programs_gets_no_home(self):
        (self.dir / "p.yaml").write_text("profile: p\ninherits: bash\nroom: {share: all}\ndefault: deny\n"
                                         "allow: [cat, ls, bash, echo, python3]\nunknown: sandbox\n")
        (self.work / "put.py").write_text("import os\nopen('/tmp/a', 'w').write('a')\n"
                                          "open(os.environ['HOME'] + '/b', 'w').write('b')\n")
        self.says("python3 put.py", "--policy", str(self.dir / "p.yaml"))
        result = self.call("cat /tmp/a; ls ~/b", "--policy", str(self.dir / "p.yaml"))
        self.assertEqual((result["stdout"], result["exit_code"]), ("a", 2), result)

    def test_readonly_shares_nothing(self):
        self.assertIsNone(self.call("ls", "--profile", "readonly")["room"])

    def test_over_mcp_with_boxes_that_are_kept(self):
        c = Client(self, "--profile", "bash", **self.options)
        c.initialize()
        for i in range(8):
            line = f"cat /tmp/n ~/n 2>/dev/null; echo {i} >/tmp/n; echo {i} >~/n"
            result = c.call("Bash", {"command": line})
            text = result["content"][0]["text"]
            self.assertEqual(text.split()[:2] if i else [], [str(i - 1)] * 2 if i else [], text)
        [room] = self.rooms()
        self.assertTrue((self.state / "rooms" / room).is_dir())
        c.close()
        wait_until("the room has ended with its client", lambda: not self.rooms())
        self.assertEqual(os.listdir(self.state / "rooms"), [".swept"])


class Ends(RoomTest):
    def test_session_end_removes_all(self):
        self.call("mkdir -p ~/deep/er; touch ~/deep/er/x; chmod 000 ~/deep/er ~/deep; ln -s / ~/root; mkfifo /tmp/f")
        shown = json.loads(self.nacre("session", "show", "s", "--json").stdout)
        self.assertEqual((shown["session"], shown["tasks"], shown["generation"]), ("s", [], 1))
        self.assertGreater(shown["files"], 5)
        done = self.nacre("session", "end", "s")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(os.listdir(self.state / "rooms"), [".swept"])
        self.assertTrue(self.call("ls ~")["room"]["fresh"])
        self.assertNotEqual(self.nacre("session", "end", "nobody").returncode, 0)

    def test_what_nobody_used_for_long_goes(self):
        self.call("echo a >/tmp/a", session="old")
        [old] = self.rooms()
        path = self.state / "rooms" / f"{old}.json"
        at = time.time() - 31 * 60
        os.utime(path, (at, at))
        result = self.call("ls /tmp/a", session="old")
        self.assertEqual((result["exit_code"], result["room"]["fresh"], result["room"]["generation"]), (2, True, 2))
        self.assertEqual(sorted(p.name for p in (self.state / "rooms" / old).iterdir()), ["2"])
        os.utime(path, (at, at))
        (self.state / "rooms" / ".swept").unlink()
        self.call("true", session="new")
        self.assertNotIn(old, self.rooms())
        self.assertEqual(len(self.rooms()), 1)

    def test_what_is_too_old_begins_anew(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {age: 1ms}\n")
        self.call("echo a >/tmp/a")
        self.assertEqual(self.call("ls /tmp/a")["exit_code"], 2)

    def test_a_changed_profile_begins_a_new_generation(self):
        self.call("cp /bin/true /tmp/denied; chmod +x /tmp/denied; echo a >~/a")
        self.write_config("bash.yaml", "profile: bash\ndeny: [something]\n")
        result = self.call("ls /tmp/denied ~/a")
        self.assertEqual((result["exit_code"], result["room"]["generation"], result["room"]["fresh"]), (2, 2, True))

    def test_end_stops_its_tasks(self):
        started = self.run_json("--session", "s", "--background", "-c", "echo on >/tmp/on; sleep 1000", **self.options)
        task = started["task_id"]
        wait_until("it is marked", lambda: self.nacre("session", "show", "s", "--json").stdout.count(task))
        self.assertEqual(self.nacre("session", "end", "s").returncode, 0)
        listed = json.loads(self.nacre("tasks", "--json", "--running").stdout or '{"tasks": []}')
        self.assertEqual(listed if isinstance(listed, list) else listed.get("tasks", []), [])


class Git(RoomTest):
    """What git reads in the room's home runs nothing in a later call."""

    def test_harmless_keys_stay(self):
        self.says("git config --global user.name Me; git config --global init.defaultBranch main; "
                  "git config --global color.ui never; git config --global --add safe.directory '*'")
        self.assertEqual(self.says("git config --global user.name; git config --global init.defaultBranch"), "Me\nmain\n")

    def test_the_operators_file_is_copied(self):
        (self.home / ".gitconfig").write_text('[user]\n\tname = Op\n[alias]\n\tco = checkout\n[core]\n\tpager = less\n'
                                              '\thooksPath = ~/hooks\n[include]\n\tpath = ~/more\n')
        self.assertEqual(self.says("git config --global --list --name-only | sort"), "alias.co\ncore.pager\nuser.name\n")
        result = self.call("git config --global user.name Agent")
        self.assertEqual(result["notices"], [])
        self.assertEqual(self.says("git config --global user.name; git config --global alias.co"), "Agent\ncheckout\n")
        self.assertIn("name = Op", (self.home / ".gitconfig").read_text())

    def test_keys_that_run_something_are_taken_out(self):
        for key, value in (("alias.x", "push"), ("core.pager", "evil"), ("core.sshCommand", "evil"),
                           ("diff.external", "evil"), ("filter.a.clean", "evil"), ("credential.helper", "evil"),
                           ("core.fsmonitor", "evil"), ("core.hooksPath", "/tmp"), ("include.path", "/tmp/x"),
                           ("includeIf.gitdir:/.path", "/tmp/x"), ("core.editor", "evil"), ("gpg.program", "evil"),
                           ("url.ext::sh.insteadOf", "https://"), ("init.templateDir", "/tmp/t"), ("core.attributesFile", "/tmp/a")):
            with self.subTest(key=key):
                result = self.call(f"git config --global user.name Me; git config --global {key} {value}")
                self.assertIn("~/.gitconfig", " ".join(result["notices"]))
                self.assertEqual(self.says("git config --global --list"), "user.name=Me\n")

    def test_other_places_and_kinds(self):
        for line in ("mkdir -p ~/.config/git; printf '[alias]\\nx = push\\n' >~/.config/git/config",
                     "printf '[alias]\\nx = push\\n' >/tmp/c; ln -sf /tmp/c ~/.gitconfig",
                     "rm -rf ~/.config; mkdir -p /tmp/d/git; printf '[alias]\\nx = push\\n' >/tmp/d/git/config; ln -s /tmp/d ~/.config",
                     "rm -f ~/.gitconfig; mkfifo ~/.gitconfig",
                     "head -c 300000 /dev/zero | tr '\\0' '#' >~/.gitconfig; printf '\\n[alias]\\nx = push\\n' >>~/.gitconfig",
                     "printf '[core]\\n\\tpager = evil\\n[user' >~/.gitconfig"):
            with self.subTest(line=line):
                result = self.call(line)
                self.assertEqual(result["exit_code"], 0, result)
                self.assertTrue(result["notices"], result)
                self.assertEqual(self.says("git config --global alias.x || echo none"), "none\n")


class Points(RoomTest):
    """Where a mount has to be in the room, a command of before has put something else."""

    def setUp(self):
        super().setUp()
        self.deep = self.home / "a" / "b"
        self.deep.mkdir(parents=True)
        self.outside = self.dir / "outside"
        self.outside.mkdir()

    def call(self, line, *options, **more):
        return super().call(line, "--workspace", str(self.deep), *options, **more)

    def test_a_link_in_the_way_leads_nowhere(self):
        for link in (str(self.outside), "/etc", str(self.home), "../../..", "loop"):
            with self.subTest(link=link):
                self.call(f"mv ~/a ~/gone-$RANDOM-$RANDOM; ln -s {link} ~/a")
                result = self.call("pwd; echo x >made; readlink -f ~/a/b")
                self.assertEqual(result["stdout"].split(), [str(self.deep)] * 2, result)
                self.assertTrue((self.deep / "made").exists())
                (self.deep / "made").unlink()
        self.assertEqual(list(self.outside.iterdir()), [])

    def test_a_file_or_fifo_in_the_way_goes(self):
        for line in ("touch ~/a", "mkfifo ~/a", "ln -s nowhere ~/a"):
            with self.subTest(line=line):
                self.call(f"mv ~/a ~/gone-$RANDOM-$RANDOM; {line}")
                self.assertEqual(self.says("pwd").strip(), str(self.deep))

    def test_the_granted_file_is_not_written_through_a_link(self):
        tools = self.home / "tools"
        tools.mkdir()
        (tools / "t").write_text("granted")
        victim = self.outside / "victim"
        self.call(f"ln -s {self.outside} ~/tools")
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{readable: ['{tools}/t']}}\n")
        self.call("true")
        self.assertFalse(victim.exists())
        self.assertEqual(list(self.outside.iterdir()), [])
        self.assertEqual(self.says("cat ~/tools/t"), "granted")


SERVE = "exec python3 -u -m http.server 8123 --bind 127.0.0.1"
ASK = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8123/"


class Network(RoomTest):
    """A server that was started is reached by every later call of its session, and by no other."""

    def serve(self, **more):
        started = self.run_json("--session", "s", "--background", "-c", SERVE, **{**self.options, **more})
        self.addCleanup(self.nacre, "session", "end", "s")
        return started["task_id"]

    def answer(self, **more):
        return self.call(ASK, **more)["stdout"]

    def test_by_run(self):
        self.serve()
        wait_until("the server answers", lambda: self.answer() == "200")
        self.assertEqual(self.answer(session="t"), "000")
        self.assertEqual(self.run_json("-c", ASK, **self.options)["stdout"], "000")
        self.assertEqual(self.call(ASK, "--profile", "universal")["stdout"], "000")

    def test_after_a_change_of_the_profile(self):
        self.serve()
        wait_until("the server answers", lambda: self.answer() == "200")
        self.write_config("bash.yaml", "profile: bash\ndeny: [something]\n")
        result = self.call(ASK)
        self.assertEqual((result["stdout"], result["room"]["generation"]), ("200", 2))

    def text(self, client, line, **more):
        return client.call("Bash", {"command": line, **more})["content"][0]["text"]

    def test_over_mcp_and_after_kill_9(self):
        c = Client(self, "--profile", "bash", "--session", "s", **self.options)
        c.initialize()
        self.addCleanup(self.nacre, "session", "end", "s")
        self.text(c, SERVE, run_in_background=True)
        wait_until("the server answers", lambda: self.text(c, ASK).startswith("200"))
        for _ in range(5):  # by kept boxes
            self.assertTrue(self.text(c, ASK).startswith("200"))
        c.popen.kill()
        c.popen.wait(DEADLINE)
        c = Client(self, "--profile", "bash", "--session", "s", **self.options)
        c.initialize()
        for _ in range(5):
            self.assertTrue(self.text(c, ASK).startswith("200"))
        c.close()

    def test_it_can_be_switched_off(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {network: false}\n")
        self.serve()
        wait_until("it has begun", lambda: self.nacre("session", "show", "s", "--json").stdout.count("bash-"))
        self.assertEqual(self.answer(), "000")

    def test_there_is_no_way_out_and_no_right_over_it(self):
        result = self.call("cat /proc/net/dev | wc -l; ip link add x type dummy 2>&1; grep -c . /proc/self/uid_map; "
                           "grep CapEff /proc/self/status; grep CapBnd /proc/self/status; unshare -n true 2>&1; "
                           "nsenter --net=/proc/1/ns/net true 2>&1")
        lines = result["stdout"].splitlines()
        self.assertEqual(lines[0], "3")  # two lines of names, and lo
        self.assertIn("CapEff:\t0000000000000000", lines)
        self.assertIn("CapBnd:\t0000000000000000", lines)
        self.assertIn("network", result["sandbox"]["layers"])

    def test_sockets_by_path_and_by_abstract_name(self):
        server = ("import socket\nfor name in ('/tmp/s', '\\0s'):\n a = socket.socket(socket.AF_UNIX); a.bind(name); a.listen()\n"
                  " globals()[repr(name)] = a\nopen('/tmp/ready', 'w')\nimport time; time.sleep(1000)\n")
        (self.work / "server.py").write_text(server)
        self.run_json("--session", "s", "--background", "-c", "exec python3 server.py", **self.options)
        self.addCleanup(self.nacre, "session", "end", "s")
        wait_until("it listens", lambda: self.call("ls /tmp/ready")["exit_code"] == 0)
        line = "python3 -c \"import socket; [socket.socket(socket.AF_UNIX).connect(n) for n in ('/tmp/s', '\\0s')]\""
        self.assertEqual(self.call(line)["exit_code"], 0)
        self.assertNotEqual(self.call(line, session="t")["exit_code"], 0)

    def test_a_storm_in_one_call_leaves_the_server_alone(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {limits: {processes: 60}}\n")
        self.serve()
        wait_until("the server answers", lambda: self.answer() == "200")
        (self.work / "storm.py").write_text("import os\nwhile True:\n try:\n  if os.fork() == 0: os.setsid()\n"
                                            " except OSError: pass\n")
        storm = self.call("python3 storm.py", "--timeout", "3s")
        self.assertNotEqual(storm["exit_code"], 0)
        self.assertEqual(self.answer(), "200")
        self.assertEqual(self.call("for i in $(seq 20); do sleep 0.01 & done; wait; echo all")["stdout"], "all\n")


class Size(RoomTest):
    """The files of a room are bounded, if with a delay."""

    def setUp(self):
        super().setUp()
        self.write_config("bash.yaml", "profile: bash\nroom: {size: 64M, files: 3000}\n")

    def test_a_call_that_fills_it_is_ended(self):
        result = self.call("while :; do head -c 4M /dev/zero >>/tmp/big; done", "--timeout", "60s")
        self.assertEqual((result["exit_code"], result["sandbox"]["limit_hit"]), (137, "room"), result)
        self.assertIn("room.size", " ".join(result["notices"]))

    def test_many_files_end_it_as_well(self):
        result = self.call("i=0; while :; do mkdir ~/d$i; touch ~/d$i/{1..200}; i=$((i+1)); done", "--timeout", "60s")
        self.assertEqual(result["sandbox"]["limit_hit"], "room", result)

    def test_it_can_be_cleared_up(self):
        self.call("head -c 80M /dev/zero >/tmp/big")
        full = self.call("ls /tmp; rm /tmp/big")
        self.assertEqual(full["exit_code"], 0, full)
        self.assertEqual(self.call("head -c 8M /dev/zero >/tmp/big && ls /tmp")["exit_code"], 0)

    def test_short_calls_cannot_add_to_it_without_end(self):
        for _ in range(12):
            last = self.call("head -c 24M /dev/zero >/tmp/f$RANDOM$RANDOM")
        size = sum(path.stat().st_size for path in (self.state / "rooms").rglob("f*") if path.is_file())
        self.assertLess(size, 200 << 20, last)


class Http(ServeTest):
    BOXED = True

    def test_calls_share_files_and_a_server(self):
        first = self.run_command("echo a >/tmp/a; echo b >~/b", session="s")
        second = self.run_command("cat /tmp/a ~/b", session="s")
        self.assertEqual((first["room"]["fresh"], second["room"]["fresh"], second["stdout"]), (True, False, "a\nb\n"))
        task = self.run_command(SERVE, session="s", background=True)["task_id"]
        wait_until("the server answers", lambda: self.run_command(ASK, session="s")["stdout"] == "200")
        self.assertEqual(self.run_command(ASK, session="t")["stdout"], "000")
        [one] = self.get("/v1/sessions/s").json["sessions"]
        self.assertEqual((one["room"], one["tasks"]), (first["room"]["id"], [task]))
        self.assertEqual(len(self.get("/v1/sessions").json["sessions"]), 2)
        self.assertEqual(self.ask("DELETE", "/v1/sessions/s").status, 409)
        self.post(f"/v1/tasks/{task}/stop", {})
        wait_until("it has ended", lambda: self.ask("DELETE", "/v1/sessions/s").status == 200)
        self.assertEqual(self.get("/v1/sessions/s").status, 404)
        self.assertTrue(self.run_command("ls ~", session="s")["room"]["fresh"])

    def test_another_principal_has_another_room(self):
        other = self.make_token("other", "--workspace", str(self.work))
        self.run_command("echo a >/tmp/a", session="s")
        self.assertEqual(self.run_command("ls /tmp/a", session="s", token=other)["exit_code"], 2)
        [one] = self.get("/v1/sessions", token=other).json["sessions"]
        self.assertNotEqual(one["room"], self.get("/v1/sessions/s").json["sessions"][0]["room"])
        self.assertEqual(self.ask("DELETE", f"/v1/sessions/{self.get('/v1/sessions/s').json['sessions'][0]['room']}", token=other).status, 404)


class Many(RoomTest):
    def test_many_sessions_leave_nothing(self):
        """A sample of what a thousand would leave: no mount, namespace, process or file."""
        for i in range(25):
            self.call("echo x >/tmp/x", session=f"s{i}")
        self.assertEqual(len(self.rooms()), 25)
        done = self.nacre("session", "end", *(f"s{i}" for i in range(25)))
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(os.listdir(self.state / "rooms"), [".swept"])


class AsUser:
    """The same for an ordinary user."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("root: the other classes run as this user already")
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


class FilesOfAUser(AsUser, Files):
    pass


class EndsOfAUser(AsUser, Ends):
    pass


class GitOfAUser(AsUser, Git):
    pass


class PointsOfAUser(AsUser, Points):
    pass


class SizeOfAUser(AsUser, Size):
    pass


class NetworkOfAUser(AsUser, Network):
    pass


del RoomTest, AsUser, ServeTest


if __name__ == "__main__":
    unittest.main()
