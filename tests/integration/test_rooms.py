"""Rooms: what the calls of one session share, and what they do not."""
import json
import os
import shutil
import time
import unittest

from helpers import DEADLINE, NacreTest, ample, cmdline, descendants, load_factor, wait_until
from mcp_client import Client
from rooms import ASK, SERVE, AsUser, RoomTest
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
    def without_launcher(self):
        """It ends sooner than the room; a process of it that is still ending has the room in use."""
        wait_until("no launcher is left", lambda: self.end_launchers() or not descendants())

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

    def test_session_end_forgets_directory_and_variables(self):
        (self.work / "sub").mkdir()
        for share in ("all", "none"):
            self.write_config("bash.yaml", f"profile: bash\nroom: {{share: {share}}}\n")
            with self.subTest(share=share):
                self.call("cd sub; export A=1")
                self.assertEqual(self.nacre("session", "end", "s").returncode, 0)
                self.assertEqual(os.listdir(self.state / "sessions"), [".use"])
                self.assertEqual(self.says("pwd; echo ${A-none}").split(), [str(self.work), "none"])
                self.nacre("session", "end", "s")

    def test_what_nobody_used_for_long_goes(self):
        self.call("echo a >/tmp/a", session="old")
        [old] = self.rooms()
        path = self.state / "rooms" / f"{old}.json"
        at = time.time() - 31 * 60
        self.without_launcher()
        os.utime(path, (at, at))
        result = self.call("ls /tmp/a", session="old")
        self.assertEqual((result["exit_code"], result["room"]["fresh"], result["room"]["generation"]), (2, True, 2))
        self.assertEqual(sorted(p.name for p in (self.state / "rooms" / old).iterdir()), ["2"])
        self.without_launcher()
        os.utime(path, (at, at))
        (self.state / "rooms" / ".swept").unlink()
        self.call("true", session="new")
        self.assertNotIn(old, self.rooms())
        self.assertEqual(len(self.rooms()), 1)

    def test_what_is_too_old_begins_anew(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {age: 1ms}\n")
        self.call("echo a >/tmp/a")
        self.without_launcher()
        self.assertEqual(self.call("ls /tmp/a")["exit_code"], 2)

    def test_a_changed_profile_begins_a_new_generation(self):
        self.call("cp /bin/true /tmp/denied; chmod +x /tmp/denied; echo a >~/a")
        self.write_config("bash.yaml", "profile: bash\ndeny: [something]\n")
        result = self.call("ls /tmp/denied ~/a")
        self.assertEqual((result["exit_code"], result["room"]["generation"], result["room"]["fresh"]), (2, 2, True))

    def test_a_program_that_was_copied_before_it_was_denied_does_not_run(self):
        copies = "/tmp/copy ~/copy /dev/shm/copy"
        use = f"for p in {copies}; do $p if=/dev/zero of=ran count=1; done; ls ran"
        self.says(f"for p in {copies}; do cp /usr/bin/dd $p; done")
        self.assertEqual(self.says(use), "ran\n")  # the control
        self.says("rm ran")
        self.write_config("bash.yaml", "profile: bash\ndeny: [dd]\n")
        for client in (None, Client(self, "--profile", "bash", "--session", "s", **self.options)):
            if client:
                client.initialize()
            for _ in range(3):
                if client:
                    client.call("Bash", {"command": use})
                else:
                    self.call(use)
                self.assertFalse((self.work / "ran").exists())
        client.close()

    def test_a_launcher_does_not_make_it_again(self):
        """Boxes that stand by are made anew after a call that left something in them; a room is not."""
        client = Client(self, "--profile", "bash", "--session", "s", **self.options)
        client.initialize()
        for _ in range(4):
            client.call("Bash", {"command": "ipcmk -M 64; echo x >/tmp/x"})
        for _ in range(10):
            self.assertEqual(self.nacre("session", "end", "s").returncode, 0)
            client.result("ping")
            for name in ("t", "u"):  # the launcher is at work meanwhile
                self.call("true", session=name)
            self.assertEqual([path.stem for path in (self.state / "rooms").glob("*.json")
                              if json.loads(path.read_text())["session"] == "s"], [])
            client.call("Bash", {"command": "ipcmk -M 64; kill -9 $$"})
        client.close()

    def test_end_stops_its_tasks(self):
        started = self.run_json("--session", "s", "--background", "-c", "echo on >/tmp/on; sleep 1000", **self.options)
        task = started["task_id"]
        wait_until("it is marked", lambda: self.nacre("session", "show", "s", "--json").stdout.count(task))
        self.assertEqual(self.nacre("session", "end", "s").returncode, 0)
        listed = json.loads(self.nacre("tasks", "--json", "--running").stdout or '{"tasks": []}')
        self.assertEqual(listed if isinstance(listed, list) else listed.get("tasks", []), [])


class Records(RoomTest):
    """Making and ending a room are records of the audit log, with the reason."""

    def records(self, *args):
        return json.loads(self.nacre("audit", "show", "--all", "--json", *args).stdout)["records"]

    def rooms_of(self):
        return [(r["event"], r["room"].split("/")[1], r["reason"]) for r in self.records() if r["event"].startswith("room-")]

    def intact(self):
        done = self.nacre("audit", "verify")
        self.assertEqual(done.returncode, 0, done)

    def test_first_call_and_end(self):
        result = self.call("true")
        name = f"{result['room']['id']}/1"
        self.call("true")
        self.nacre("session", "end", "s")
        made, ended = [r for r in self.records() if r["event"].startswith("room-")]
        self.assertEqual((made["event"], made["room"], made["session"], made["workspace"], made["reason"]),
                         ("room-made", name, "s", str(self.work), "first call"))
        self.assertEqual((ended["event"], ended["room"], ended["reason"]), ("room-ended", name, "session end"))
        self.assertLess(made["seq"], self.records("--event", "started")[0]["seq"])
        shown = self.nacre("audit", "show", "--event", "room-ended").stdout
        self.assertIn(f"session s, room {name}: session end", shown)
        self.intact()

    def test_each_record_of_a_command_from_its_start_on(self):
        result = self.call("sleep 1000 & echo x")
        self.addCleanup(self.nacre, "session", "end", "s")
        self.nacre("stop", result["task_id"])
        wait_until("it has ended", lambda: self.records("--task", result["task_id"], "--event", "ended"))
        for record in self.records("--task", result["task_id"]):
            if record["event"] in ("started", "left", "ended"):
                self.assertEqual(record["room"], f"{result['room']['id']}/1", record)
        self.assertEqual([r["event"] for r in self.records("--task", result["task_id"])],
                         ["requested", "decided", "started", "left", "ended"])

    def test_profile_idle_age_and_loss(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {warm: 0s}\n")  # a launcher has it in use
        self.call("true")
        self.write_config("bash.yaml", "profile: bash\nroom: {warm: 0s}\ndeny: [something]\n")
        self.call("true")
        [room] = self.rooms()
        path = self.state / "rooms" / f"{room}.json"
        at = time.time() - 31 * 60
        os.utime(path, (at, at))
        self.call("true")
        (self.state / "rooms" / room / "3").rename(self.dir / "gone")
        self.call("true")
        self.write_config("bash.yaml", "profile: bash\nroom: {age: 1ms, warm: 0s}\n")
        self.call("true")
        self.call("true")
        os.utime(path, (at, at))
        self.nacre("tasks", "--clean")
        whys = ["profile changed", "idle", "its files were gone", "profile changed", "age"]
        wanted = [("room-made", "1", "first call")]
        for number, why in enumerate(whys, 1):
            wanted += [("room-ended", str(number), why), ("room-made", str(number + 1), why)]
        self.assertEqual(self.rooms_of(), [*wanted, ("room-ended", "6", "idle")])
        self.intact()

    def test_a_client_that_is_gone_and_kept_boxes(self):
        c = Client(self, "--profile", "bash", **self.options)
        c.initialize()
        for _ in range(6):
            c.call("Bash", {"command": "true"})
        c.close()
        wait_until("the room has ended", lambda: not self.rooms())
        self.assertEqual(self.rooms_of(), [("room-made", "1", "first call"), ("room-ended", "1", "client gone")])
        self.assertEqual({r["room"] for r in self.records("--event", "ended")}, {r["room"] for r in self.records("--event", "room-made")})
        self.intact()

    def test_size(self):
        self.write_config("bash.yaml", "profile: bash\nroom: {size: 8M}\n")
        self.call("fallocate -l 24M /tmp/big")  # at once: nobody looks in between
        wait_until("it is counted", lambda: self.call("ls") and ("room-ended", "1", "size") in self.rooms_of())

    def test_nothing_where_the_log_is_off(self):
        self.write_config("bash.yaml", "profile: bash\naudit: {mode: off}\n")
        self.call("true")
        self.nacre("session", "end", "s")
        self.assertFalse((self.state / "audit" / "log.000001").exists())


class Required(RoomTest):
    """With `require: [room]` nothing runs where there is none; without, a call runs alone and says so."""

    def require(self, more=""):
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{require: [room]}}\n{more}")

    def refused(self, words, *options):
        done = self.nacre("run", *options, "--json", "-c", "echo ran >ran")
        result = json.loads(done.stdout)
        self.assertFalse((self.work / "ran").exists(), result)
        self.assertIn(words, result["reason"] or done.stderr, result)
        self.assertIsNone(result["room"])

    def spoil(self):
        (self.state / "rooms").write_text("")
        if self.options:
            os.chown(self.state / "rooms", self.options["user"], self.options["group"])

    def test_it_runs_where_there_is_one(self):
        self.require()
        self.assertTrue(self.call("echo a >/tmp/a")["room"]["fresh"])
        self.assertEqual(self.says("cat /tmp/a"), "a\n")

    def test_without_a_session(self):
        self.require()
        self.refused("this call has no session")

    def test_where_nothing_is_shared(self):
        self.require("room: {share: none}\n")
        self.refused("set room.share", "--session", "s")

    def test_in_another_mode(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: landlock, require: [room]}\n")
        self.refused("mode: strict", "--session", "s")

    def test_where_it_cannot_be_made(self):
        self.call("true")  # the state directory is there now
        self.nacre("session", "end", "s")
        shutil.rmtree(self.state / "rooms")
        self.spoil()
        result = self.call("echo ran")
        self.assertEqual((result["stdout"], result["room"]), ("ran\n", None), result)
        self.assertIn("shares no files with others of its session", " ".join(result["notices"]))
        self.require()
        self.refused("which cannot be had", "--session", "s")

    def test_over_mcp_with_boxes_that_are_kept(self):
        self.require()
        c = Client(self, "--profile", "bash", "--session", "s", **self.options)
        c.initialize()
        for _ in range(4):
            self.assertTrue(c.call("Bash", {"command": "echo ok"})["content"][0]["text"].startswith("ok"))
        self.nacre("session", "end", "s")
        shutil.rmtree(self.state / "rooms")
        self.spoil()
        for _ in range(3):
            told = c.call("Bash", {"command": "echo ran >ran"})
            self.assertTrue(told["isError"], told)
            self.assertFalse((self.work / "ran").exists(), told)
        c.close()

    def test_a_project_can_require_it(self):
        (self.work / ".nacre.yaml").write_text("sandbox: {require: [room]}\n")
        self.refused("this call has no session")


class Connection(RoomTest):
    """What an MCP client has, and what its end leaves."""

    def connect(self, *options):
        c = Client(self, "--profile", "bash", *options, **self.options)
        c.initialize()
        return c

    def session(self, c):
        [one] = c.result("resources/read", {"uri": "nacre://session"})["contents"]
        self.assertEqual(one["mimeType"], "application/json")
        return json.loads(one["text"])

    def nothing_left(self):
        wait_until("the room is gone", lambda: not self.rooms())
        wait_until("its files are", lambda: os.listdir(self.state / "rooms") == [".swept"])

    def test_the_resource(self):
        other = self.connect()
        other.call("Bash", {"command": "echo other >/tmp/x"})
        c = self.connect()
        self.assertIn("nacre://session", [r["uri"] for r in c.result("resources/list")["resources"]])
        empty = self.session(c)
        self.assertEqual((empty["rooms"], empty["caches"]), ([], []))
        c.call("Bash", {"command": "head -c 100000 /dev/zero >/tmp/x; head -c 5000 /dev/zero >~/.npm/x"})
        started = c.call("Bash", {"command": "sleep 1000", "run_in_background": True})
        task = started["_meta"]["dev.nacre/run"]["task_id"]
        wait_until("it is marked", lambda: self.session(c)["rooms"][0]["tasks"] == [task])
        told = self.session(c)
        [room], [caches] = told["rooms"], told["caches"]
        self.assertIn(room["room"], self.rooms())
        self.assertEqual((room["generation"], room["fresh"], room["workspace"]), (1, False, str(self.work)))
        self.assertGreaterEqual(room["bytes"], 100000)
        self.assertGreaterEqual(caches["bytes"], 5000)
        self.nacre("stop", task)
        c.close()
        other.close()
        self.nothing_left()

    def test_a_task_keeps_the_room_until_it_ends(self):
        c = self.connect()
        started = c.call("Bash", {"command": "echo x >/tmp/x; sleep 1000", "run_in_background": True})
        task = started["_meta"]["dev.nacre/run"]["task_id"]
        wait_until("it is marked", lambda: self.session(c)["rooms"][0]["tasks"] == [task])
        c.close()
        self.assertEqual(len(self.rooms()), 1)
        shown = json.loads(self.nacre("tasks", "--json", "--running").stdout)
        self.assertIn(task, json.dumps(shown))
        self.nacre("stop", task)
        self.nothing_left()

    def test_tasks_that_are_stopped_with_the_server(self):
        c = self.connect("--stop-tasks")
        for _ in range(2):
            c.call("Bash", {"command": "sleep 1000", "run_in_background": True})
        c.call("Bash", {"command": "sleep 1000 & echo x"})
        c.close()
        self.nothing_left()

    def test_a_named_session_stays(self):
        c = self.connect("--session", "mine")
        c.call("Bash", {"command": "echo x >/tmp/x"})
        c.close()
        self.assertEqual(len(self.rooms()), 1)
        self.assertEqual(self.says("cat /tmp/x", "--profile", "bash", session="mine"), "x\n")


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
                           ("url.ext::sh.insteadOf", "https://"), ("init.templateDir", "/tmp/t"), ("core.attributesFile", "/tmp/a"),
                           ("help.autocorrect", "immediate")):
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
                     "printf '[core]\\n\\tpager = evil\\n[user' >~/.gitconfig",
                     "printf '[alias]\\nx = push\\n' >~/.gitconfig; truncate -s 262145 ~/.gitconfig",
                     "mkdir -p ~/.gitconfig/a/b; chmod 000 ~/.gitconfig",
                     "rm -rf ~/.config; mkfifo ~/.config",
                     "mkdir -p ~/.config; rm -rf ~/.config/git; mkfifo ~/.config/git"):
            with self.subTest(line=line):
                result = self.call(line)
                self.assertEqual(result["exit_code"], 0, result)
                self.assertTrue(result["notices"], result)
                self.assertEqual(self.says("git config --global alias.x || echo none"), "none\n")

    def test_modes_hide_nothing(self):
        """A directory that keeps its owner out is looked into, or the next line opens it again."""
        alias = "mkdir -p ~/.config/git; printf '[alias]\\nx = push\\n' | tee ~/.gitconfig >~/.config/git/config; "
        for hidden in ("~/.config", "~/.config/git", "~"):
            for mode in ("000", "300", "400"):
                with self.subTest(hidden=hidden, mode=mode):
                    self.call(f"{alias} chmod {mode} {hidden}")
                    self.assertEqual(self.says(f"chmod 700 {hidden}; git config --global alias.x || echo none; "
                                               "git config --file ~/.config/git/config alias.x || echo none"), "none\nnone\n")

    def test_what_was_taken_out_is_told_though_something_goes_on(self):
        result = self.call("git config --global alias.x push; sleep 1000 & true")
        self.addCleanup(self.nacre, "session", "end", "s")
        self.assertIn("~/.gitconfig had keys", " ".join(result["notices"]))

    def test_what_a_task_wrote_meanwhile_is_told(self):
        self.run_json("--session", "s", "--background", "-c",
                      "until [ -e go ]; do sleep 0.02; done; git config --global alias.x push; touch done; sleep 1000", **self.options)
        self.addCleanup(self.nacre, "session", "end", "s")
        (self.work / "go").touch()
        wait_until("it has written", (self.work / "done").exists)
        result = self.call("git config --global alias.x || echo none")
        self.assertEqual(result["stdout"], "none\n")
        self.assertIn("~/.gitconfig had keys", " ".join(result["notices"]))


    def test_a_locked_home_is_looked_at_all_the_same(self):
        for line in ("git config --global alias.x push; chmod 500 ~", "git config --global alias.x push; chmod 000 ~",
                     "mkdir -p ~/.config/git; printf '[alias]\\nx = push\\n' >~/.config/git/config; chmod 500 ~/.config/git",
                     "mkdir -p ~/.config/git; printf '[alias]\\nx = push\\n' >~/.config/git/config; chmod 000 ~/.config",
                     "git config --global alias.x push; chmod 000 ~/.gitconfig"):
            with self.subTest(line=line):
                result = self.call(line)
                self.assertTrue(result["notices"], result)
                self.assertEqual(self.says("chmod 700 ~ ~/.config ~/.config/git ~/.gitconfig 2>/dev/null; "
                                           "git config --global alias.x || echo none"), "none\n")


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
                result = self.call("pwd; echo x >made; readlink -f ~/a/b", "--cwd", ".")
                self.assertEqual(result["stdout"].split(), [str(self.deep)] * 2, result)
                self.assertTrue((self.deep / "made").exists())
                (self.deep / "made").unlink()
        self.assertEqual(list(self.outside.iterdir()), [])

    def test_directories_on_the_way_stay(self):
        """In a kept box as well: what was mounted below them would be elsewhere, and the next call in an empty place."""
        client = Client(self, "--profile", "bash", "--workspace", str(self.deep), **self.options)
        client.initialize()
        for i in range(6):
            text = client.call("Bash", {"command": f"mv ~/a ~/gone; mkdir -p ~/a/b; pwd; echo {i} >made"})["content"][0]["text"]
            self.assertIn("Device or resource busy", text)
            self.assertEqual((self.deep / "made").read_text(), f"{i}\n")
        client.close()

    def test_a_file_or_fifo_in_the_way_goes(self):
        for line in ("touch ~/a", "mkfifo ~/a", "ln -s nowhere ~/a"):
            with self.subTest(line=line):
                self.call(f"mv ~/a ~/gone-$RANDOM-$RANDOM; {line}")
                self.assertEqual(self.says("pwd", "--cwd", ".").strip(), str(self.deep))

    def test_over_mcp_with_boxes_that_are_kept(self):
        """A mount goes along with a directory above it that is renamed, in every box of the session."""
        c = Client(self, "--profile", "bash", "--workspace", str(self.deep), **self.options)
        c.initialize()
        for line in ("true", "mkdir -p ~/a/b", "ln -s nowhere ~/a"):
            for _ in range(3):  # the third is in a kept box
                c.call("Bash", {"command": f"mv ~/a ~/gone-$RANDOM-$RANDOM; {line}"})
                text = c.call("Bash", {"command": f"cd {self.deep} && pwd; echo x >made"})["content"][0]["text"]
                self.assertEqual(text.split()[0], str(self.deep), text)
                self.assertTrue((self.deep / "made").exists(), line)
                (self.deep / "made").unlink()
        c.close()

    def test_a_mode_in_the_way_does_not_end_the_session(self):
        for line in ("mv ~/a ~/gone-$RANDOM-$RANDOM; ln -s /etc ~/a; chmod 000 ~", "chmod 000 ~/a",
                     "mv ~/a ~/gone-$RANDOM-$RANDOM; mkdir ~/a; ln -s /etc ~/a/b; chmod 000 ~/a", "chmod 000 /tmp /dev/shm"):
            with self.subTest(line=line):
                self.call(line)
                self.assertEqual(self.says("pwd; touch ~/x /tmp/x /dev/shm/x").strip(), str(self.deep))

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
        most = 0
        popen = self.start("--json", "--session", "s", "--timeout", ample(3), "-c", "python3 storm.py", **self.options)
        while popen.poll() is None:
            storm = [p for p in descendants() if cmdline(p.pid)[1:] == [b"storm.py"]]
            most = max(most, len(storm))
        self.assertNotEqual(self.finish(popen).code, 0)
        self.assertGreater(most, 10)
        self.assertLessEqual(most, 60)
        self.assertEqual([p for p in descendants() if cmdline(p.pid)[1:] == [b"storm.py"]], [])
        servers = [p for p in descendants() if b"http.server" in cmdline(p.pid)]
        self.assertEqual(len(servers), 1)
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

    def test_what_is_over_the_limit_is_what_a_moment_writes(self):
        """Ten times as much as the room may have. What is there at the end is at most what the disk takes in 200 ms more."""
        rate = self.disk_rate()
        result = self.call("for i in $(seq 10); do head -c 64M /dev/zero >/tmp/big$i; done", "--timeout", "60s")
        self.assertEqual(result["sandbox"]["limit_hit"], "room", result)
        there = sum(path.stat().st_blocks * 512 for path in (self.state / "rooms").rglob("big*"))
        over = there - (64 << 20)
        print(f"# {over >> 20} MiB over a room of 64 MiB; the disk takes {rate * 0.2 / (1 << 20):.0f} MiB in 200 ms")
        self.assertLess(over, max(rate * 0.2, 64 << 20) * load_factor())

    def disk_rate(self):
        began = time.monotonic()
        (self.tmp / "rate").write_bytes(bytes(128 << 20))
        return (128 << 20) / (time.monotonic() - began)

    def test_many_files_end_it_as_well(self):
        result = self.call("i=0; while :; do mkdir ~/d$i; touch ~/d$i/{1..200}; i=$((i+1)); done", "--timeout", "60s")
        self.assertEqual(result["sandbox"]["limit_hit"], "room", result)

    def test_what_cannot_be_listed_is_counted(self):
        # Over the limit, and never twice that: then all files would go.
        line = "mkdir -p ~/a/b; chmod {} ~/a; head -c 100M /dev/zero >>~/a/b/big; exec sleep 60"
        for mode in ("100", "300"):  # search only: it can be written, and not listed
            with self.subTest(mode=mode):
                result = self.call(line.format(mode), "--timeout", "60s", session=f"m{mode}")
                self.assertEqual(result["sandbox"]["limit_hit"], "room", result)
                self.assertEqual(self.says("stat -c %a ~/a", session=f"m{mode}"), mode + "\n")

    def test_it_can_be_cleared_up(self):
        self.call("head -c 80M /dev/zero >/tmp/big")
        full = self.call("ls /tmp; rm /tmp/big")
        self.assertEqual(full["exit_code"], 0, full)
        self.assertEqual(self.call("head -c 8M /dev/zero >/tmp/big && ls /tmp")["exit_code"], 0)

    def test_what_lies_deep_is_counted(self):
        deep = "cd /tmp; for i in $(seq 400); do mkdir -p d; cd d; done; "
        result = self.call(f"echo keep >~/keep; {deep} head -c 30M /dev/zero >some; sleep 1; head -c 30M /dev/zero >more; sleep 1; echo end")
        self.assertIsNone(result["sandbox"]["limit_hit"], result)
        result = self.call(f"{deep} while :; do head -c 1M /dev/zero >>big; sleep 0.05; done", "--timeout", ample(60))
        self.assertEqual(result["sandbox"]["limit_hit"], "room", result)
        self.assertEqual(self.says("cat ~/keep; rm -rf /tmp/d"), "keep\n")

    def test_modes_hide_nothing(self):
        result = self.call("mkdir /tmp/h; cd /tmp/h; exec 3>>big; chmod 000 /tmp/h; "
                           "head -c 100M /dev/zero >&3; exec sleep 60", "--timeout", ample(60))
        self.assertEqual(result["sandbox"]["limit_hit"], "room", result)
        self.assertEqual(self.says("stat -c %a /tmp/h; chmod 700 /tmp/h; rm -r /tmp/h"), "0\n")

    def test_short_calls_cannot_add_to_it_without_end(self):
        for _ in range(12):
            last = self.call("head -c 24M /dev/zero >/tmp/f$RANDOM$RANDOM")
        size = sum(path.stat().st_size for path in (self.state / "rooms").rglob("f*") if path.is_file())
        self.assertLess(size, 200 << 20, last)


    def test_space_that_is_freed_elsewhere_hides_nothing(self):
        """The workspace is emptied while the room is filled: the file system loses nothing."""
        for index in range(8):
            (self.work / "big").write_bytes(bytes(40 << 20))
            result = self.call(f"rm -f big; head -c 40M /dev/zero >/tmp/f{index}; sleep 1.2", "--timeout", "60s")
            if result["notices"]:
                break
        self.assertIn("room.size", " ".join(result["notices"]))
        self.assertLess(index, 4)


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

    def test_an_ended_session_does_not_come_back_by_its_kept_box(self):
        """The box that is made for the next call of a session makes no room."""
        for n in range(8):
            self.run_command("true", session=f"s{n}")
            self.assertEqual(self.ask("DELETE", f"/v1/sessions/s{n}").status, 200)
        for _ in range(8):  # with each of them the launcher looks after its boxes
            self.run_command("true", session="t")
        self.assertEqual(len(self.get("/v1/sessions").json["sessions"]), 1)

    def rpc(self, method, params, session=None):
        head = {"Accept": "application/json, text/event-stream", **({"Mcp-Session-Id": session} if session else {})}
        answer = self.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=head)
        self.assertEqual(answer.status, 200, answer)
        return answer

    def test_the_end_of_an_mcp_session_ends_its_room(self):
        begun = self.rpc("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                        "clientInfo": {"name": "t", "version": "1"}})
        session = begun.headers["Mcp-Session-Id"]
        for _ in range(3):
            self.rpc("tools/call", {"name": "Bash", "arguments": {"command": "echo x >/tmp/x"}}, session)
        read = self.rpc("resources/read", {"uri": "nacre://session"}, session).json["result"]["contents"][0]
        [room] = json.loads(read["text"])["rooms"]
        self.assertEqual([one["room"] for one in self.get("/v1/sessions").json["sessions"]], [room["room"]])
        self.assertEqual(self.ask("DELETE", "/mcp", headers={"Mcp-Session-Id": session}).status, 200)
        wait_until("the room is gone", lambda: os.listdir(self.state / "rooms") == [".swept"])

    def test_another_principal_has_another_room(self):
        other = self.make_token("other", "--workspace", str(self.work))
        self.run_command("echo a >/tmp/a", session="s")
        self.assertEqual(self.run_command("ls /tmp/a", session="s", token=other)["exit_code"], 2)
        [one] = self.get("/v1/sessions", token=other).json["sessions"]
        self.assertNotEqual(one["room"], self.get("/v1/sessions/s").json["sessions"][0]["room"])
        self.assertEqual(self.ask("DELETE", f"/v1/sessions/{self.get('/v1/sessions/s').json['sessions'][0]['room']}", token=other).status, 404)


class Tiers(RoomTest):
    """Where there are no namespaces there is no room, and the result says so where it matters."""

    WORDS = "rooms need namespaces"

    def expect_no_room(self, **more):
        result = self.run_json("--session", "s", "-c", "echo a >$TMPDIR/a; cat /tmp/a", **more)
        self.assertIsNone(result["room"])
        self.assertEqual(sum(self.WORDS in text for text in result["notices"]), 1, result["notices"])
        self.assertEqual(self.run_json("--session", "s", "-c", "echo a", **more)["notices"], [])
        result = self.run_json("--session", "s", "--profile", "readonly", "-c", "ls /tmp", **more)
        self.assertNotIn(self.WORDS, " ".join(result["notices"]))

    def test_landlock(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: landlock}\n")
        probe = self.run_json("-c", "true")
        if probe["exit_code"] == 125:
            self.skipTest(f"landlock: {probe['reason']}")
        self.expect_no_room()
        (self.work / "f").touch()
        self.assertEqual(self.run_json("--session", "s", "-c", "cd /; ls ~", cwd=self.work)["room"], None)

    def test_strict_without_namespaces(self):
        """As on a machine that gives ordinary users none."""
        options = self.as_ordinary_user()
        if not options:
            self.skipTest("root: it takes the namespaces away")
        limit = "/proc/sys/user/max_user_namespaces"
        words = ["unshare", "--user", "--map-root-user", "sh", "-c", f"echo 0 >{limit} && exec \"$@\"", "sh"]
        program = self.dir / "without"
        program.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + f" {options['program']} \"$@\"\n")
        program.chmod(0o755)
        self.expect_no_room(**{**options, "program": str(program)})

    def test_none(self):
        self.write_config("bash.yaml", "profile: bash\nsandbox: {mode: none}\n")
        result = self.run_json("--session", "s", "-c", "ls /tmp >/dev/null; ls ~")
        self.assertEqual((result["room"], result["notices"]), (None, []))


class Many(RoomTest):
    def test_many_sessions_leave_nothing(self):
        """A sample of what a thousand would leave: no mount, namespace, process or file."""
        for i in range(25):
            self.call("echo x >/tmp/x", session=f"s{i}")
        self.assertEqual(len(self.rooms()), 25)
        done = self.nacre("session", "end", *(f"s{i}" for i in range(25)))
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(os.listdir(self.state / "rooms"), [".swept"])


class FilesOfAUser(AsUser, Files):
    pass


class EndsOfAUser(AsUser, Ends):
    pass


class RecordsOfAUser(AsUser, Records):
    pass


class RequiredOfAUser(AsUser, Required):
    pass


class ConnectionOfAUser(AsUser, Connection):
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
