"""The audit log: what it holds of a command, when, what it hides, and what becomes of a command without it."""
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, user_namespace_or_skip, wait_until

EVENTS = ["requested", "decided", "started", "ended"]


class Audit(NacreTest):
    def setUp(self):
        super().setUp()
        self.log = self.state / "audit"

    def audit(self, *args, code=0, **options):
        done = subprocess.run([NACRE, "audit", *args], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=DEADLINE, check=False, **options)
        self.assertEqual((done.returncode, done.stderr), (code, b"") if code != 125 else (125, done.stderr), done)
        return done.stdout.decode() if code != 125 else done.stderr.decode()

    def records(self, *args):
        told = json.loads(self.audit("show", "--all", "--json", *args))
        self.assertEqual(told["count"], len(told["records"]))
        return told["records"]

    def events(self, *args):
        return [r["event"] for r in self.records(*args) if r["event"] not in ("opened", "checkpoint")]

    def verify(self, code=0, *args):
        return json.loads(self.audit("verify", "--json", *args, code=code))

    def more_policy(self, text):
        path = self.config / "nacre" / "bash.yaml"
        path.write_text(path.read_text() + text)


class Records(Audit):
    def test_a_command_leaves_four_of_them(self):
        result = self.run_json("--description", "try it", "--env", "COLOUR=red", "-c", "echo out; echo err >&2; exit 3")
        records = self.records("--task", result["task_id"])
        self.assertEqual([r["event"] for r in records], EVENTS)
        requested, decided, started, ended = records
        for record in records:
            self.assertEqual((record["profile"], record["door"], record["uid"]), ("bash", "cli", os.geteuid()))
            self.assertRegex(record["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(requested["command"], "echo out; echo err >&2; exit 3")
        self.assertEqual((requested["description"], requested["env"]), ("try it", ["COLOUR=red"]))
        self.assertEqual((requested["cwd"], requested["workspace"]), (str(self.work), str(self.work)))
        self.assertEqual((decided["verdict"], decided["rule"]["id"]), ("allow", "default"))
        self.assertEqual(decided["executed"][0], "/bin/bash")
        self.assertEqual((started["executed"], started["tier"]), (decided["executed"], "none"))
        self.assertEqual((ended["end"], ended["exit_code"], ended["signal"]), ("exited", 3, None))
        self.assertEqual((ended["stdout_bytes"], ended["stderr_bytes"]), (4, 4))
        self.assertGreaterEqual(ended["duration_ms"], 0)
        self.assertTrue(self.verify()["good"])

    def test_a_refused_one_says_by_which_rule(self):
        self.assertEqual(self.run_nacre("--profile", "verify", "--", "git", "push").code, 126)
        requested, decided = self.records()[1:]
        self.assertEqual(requested["argv"], ["git", "push"])
        self.assertEqual((decided["event"], decided["verdict"], decided["rule"]["id"]), ("decided", "deny", "never:git"))
        self.assertIn("strictly blocked", decided["reason"])
        self.assertGreater(decided["rule"]["line"], 0)

    def test_one_that_cannot_be_decided_is_there_too(self):
        self.assertEqual(self.run_nacre("--cwd", "/nowhere", "--", "true").code, 125)
        self.assertEqual(self.events(), ["requested", "refused"])
        self.assertIn("/nowhere", self.records("--event", "refused")[0]["reason"])

    def test_how_it_ended_is_told(self):
        self.run_nacre("--timeout", "200ms", "--", "sleep", "30")
        self.run_nacre("-c", "kill -9 $$")
        self.run_nacre("--", "./no-such-file")
        ends = [(r["end"], r["exit_code"], r["signal"]) for r in self.records("--event", "ended")]
        self.assertEqual(ends, [("timeout", None, 15), ("exited", None, 9), ("failed", None, None)])

    def test_a_background_command_is_recorded_by_its_keeper(self):
        task = self.run_json("--background", "--", "sleep", "0.2")["task_id"]
        wait_until("its end is recorded", lambda: self.events("--task", task) == EVENTS)

    def test_control_characters_and_bytes_that_are_no_text_are_shown_as_such(self):
        self.run_nacre("--", "printf", b"\x1b[2J\xff\n\"")
        self.assertNotIn("\x1b", self.audit("show", "--all"))
        with open(self.log / "log.000001", "rb") as file:
            self.assertNotIn(b"\x1b", file.read())
        self.assertTrue(self.verify()["good"])

    def test_what_a_person_would_not_see_is_shown_by_its_number(self):
        """A word that is written from right to left, or not at all, must not look like another."""
        hidden = "a\u202egpj.exe b\u200bc d\u0085e f\U000e0041g"
        self.run_nacre("--", "printf", hidden)
        self.run_json("--background", "--description", hidden, "--", "true")
        texts = [self.audit("show", "--all")]
        for command in (["explain", "--", "printf", hidden], ["tasks", "--all"]):
            texts.append(subprocess.run([NACRE, *command], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                                        capture_output=True, timeout=DEADLINE, check=True).stdout.decode())
        for text in texts:
            for code in ("\u202e", "\u200b", "\u0085", "\U000e0041"):
                self.assertNotIn(code, text)
                self.assertIn("<U+%04X>" % ord(code), text)

    def test_a_long_command_keeps_its_beginning_and_its_end(self):
        line = json.dumps({"id": 1, "command": "true " + "x" * 200_000 + " the-end"})
        self.run_nacre("--batch", input=line.encode() + b"\n")
        command = self.records("--event", "requested")[0]["command"]
        self.assertTrue(command.startswith("true xxx") and command.endswith(" the-end"), command[-40:])
        self.assertIn("bytes left out]", command)
        self.assertLess(len(command), 70_000)

    def test_anybody_can_check_a_hash_with_b2sum(self):
        self.run_nacre("--", "true")
        before = "0" * 64
        for line in (self.log / "log.000001").read_bytes().splitlines():
            text, own = re.fullmatch(rb'(.*),"hash":"([0-9a-f]{64})"}', line).groups()
            told = subprocess.run(["b2sum", "-l", "256"], input=text, capture_output=True, check=True).stdout
            self.assertEqual(told.split()[0], own)
            self.assertIn(b'"prev":"%s"' % before.encode(), text)
            before = own.decode()


class Secrets(Audit):
    def everything(self):
        return b"".join(path.read_bytes() for path in self.log.glob("log.*")).decode()

    def test_they_are_masked_in_commands_words_and_environment(self):
        self.run_nacre("-c", "TOKEN=hunter2 true --password 'hunter2 x' -H 'Authorization: Bearer hunter2'")
        self.run_nacre("--env", "API_KEY=hunter2 and more", "--", "true", "--password", "hunter2", "https://u:hunter2@h/")
        self.run_nacre("--description", "with token=hunter2", "--profile", "verify", "--", "git", "--token=hunter2")
        self.assertEqual(self.events().count("requested"), 3)
        self.assertNotIn("hunter2", self.everything())
        self.assertIn("***", self.everything())

    def test_they_are_masked_in_what_is_executed(self):
        """Where every word stands in quotes."""
        for line in ("curl -u joe:hunter2 h", "curl -ujoe:hunter2 h", "mysql -phunter2 db", "docker login -u me -p hunter2 h",
                     "sshpass -phunter2 true", "x --token hunter2", "PGPASSWORD='hunter2 x' psql", "curl -H 'Cookie: hunter2' h",
                     "redis-cli -a hunter2 ping", "zip -P hunter2 x.zip f", "npm config set //h/:_authToken hunter2",
                     "7z a -phunter2 x f", "ldapsearch -w hunter2", "htpasswd -nb joe hunter2", "openssl enc -k hunter2",
                     "aws configure set aws_secret_access_key hunter2"):
            self.run_nacre("--env", "PATH=/nowhere", "-c", line)
            self.run_nacre("--env", "PATH=/nowhere", "--", *shlex.split(line))
        self.assertGreaterEqual(self.events().count("started"), 16)
        self.assertNotIn("hunter2", self.everything())
        self.assertIn("curl -u joe:*** h", self.everything())

    def test_the_profile_can_name_more(self):
        self.more_policy("audit: {mask: ['corp-[0-9]+']}\n")
        self.run_nacre("--", "echo", "corp-4711")
        self.assertNotIn("corp-4711", self.everything())
        self.more_policy("# again\n")
        (self.config / "nacre" / "bash.yaml").write_text("profile: bash\naudit: {mask: ['(']}\n")
        done = self.run_nacre("--", "true")
        self.assertEqual(done.code, 125)
        self.assertIn(b"is no pattern", done.err)


class Promise(Audit):
    def test_the_start_is_on_the_disk_before_the_command_runs(self):
        self.run_nacre("--", "true")  # the first one makes the files
        env = {**self.env, "ASAN_OPTIONS": self.env["ASAN_OPTIONS"] + ":detect_leaks=0"}  # it traces, too
        # A file for each process: in one for all a call can be broken in two by another's.
        done = subprocess.run(["strace", "-ff", "-ttt", "-T", "-o", str(self.dir / "trace"), "-e", "trace=openat,pwrite64,execve",
                               NACRE, "run", "--", "/bin/true"], env=env, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=DEADLINE, check=False)
        if done.returncode != 0:
            self.skipTest(f"strace: {done.stderr.decode()[:100]}")
        synced, ran = [], []
        for trace in self.dir.glob("trace.*"):
            kept = None  # a file of which each write is on the disk when it returns
            for line in trace.read_text().splitlines():
                call = re.match(r"([\d.]+) (\w+)\((.*)\) = (\d+).*<([\d.]+)>$", line)
                if not call:
                    continue
                if call[2] == "openat" and "O_DSYNC" in call[3]:
                    kept = call[4]
                elif call[2] == "pwrite64" and call[3].startswith(f"{kept},") and call[4] != "0":
                    synced.append(float(call[1]) + float(call[5]))
                elif call[2] == "execve":
                    ran.append(float(call[1]))
        self.assertEqual((len(synced), len(ran)), (1, 2))  # nacre itself is the first
        self.assertLess(synced[0], max(ran))
        seen = [line for line in (self.log / "log.000001").read_text().splitlines() if '"event":"started"' in line]
        self.assertEqual(len(seen), 2)

    def test_without_a_log_nothing_runs(self):
        self.state.mkdir(mode=0o700)
        self.log.write_text("a file")
        result = self.run_json("-c", "touch made")
        self.assertEqual((result["exit_code"], result["success"]), (125, False))
        self.assertIn("cannot be recorded, so it is not run", result["reason"])
        self.assertFalse((self.work / "made").exists())

    def test_the_keeper_refuses_for_itself(self):
        # The server's own log is fine; what the keeper finds is not.
        done = subprocess.run([NACRE, "run", "--batch", "--jobs", "1"], env=self.env, cwd=self.work, capture_output=True, check=True,
                              timeout=DEADLINE, input=b'{"id":1,"command":"mv %s/audit %s/gone && touch %s/audit"}\n'
                              b'{"id":2,"command":"touch made"}\n' % ((str(self.state).encode(),) * 3))
        self.assertNotIn(b'"id":2,"result":{"success":true', done.stdout)
        self.assertFalse((self.work / "made").exists())

    def test_on_a_full_disk_nothing_runs_that_is_not_recorded(self):
        if os.geteuid() != 0:
            self.skipTest("root: where others may mount, the directories above a profile are nobody's, and it is not believed")
        words = user_namespace_or_skip(self)
        requests = self.dir / "requests"
        requests.write_bytes(b"".join(b'{"id":%d,"argv":["touch","made-%d"]}\n' % (i, i) for i in range(900)))
        self.state.mkdir(mode=0o700)
        script = ('mount -t tmpfs -o size=1500k,mode=0700 none "$1" && "$0" run -- true && '
                  'head -c 2M /dev/zero >"$1/fill" 2>/dev/null; '
                  '"$0" run --batch <"$2" >"$3"; "$0" audit show --all --json >"$4"; rm "$1/fill"; '
                  '"$0" run -- true && "$0" audit verify')
        done = subprocess.run([*words, "sh", "-c", script, NACRE, str(self.state), str(requests), str(self.dir / "results"),
                               str(self.dir / "records")], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("intact:", done.stdout)
        results = [json.loads(line)["result"] for line in (self.dir / "results").read_text().splitlines()]
        ran = [r for r in results if r["exit_code"] == 0]
        refused = [r for r in results if "cannot be recorded, so it is not run" in (r["reason"] or "")]
        self.assertEqual(len(ran) + len(refused), 900)
        self.assertGreater(len(ran), 20)  # there was some room left for the log
        self.assertGreater(len(refused), 20)
        self.assertEqual(len(list(self.work.glob("made-*"))), len(ran))
        started = {r["task_id"] for r in json.loads((self.dir / "records").read_text())["records"] if r["event"] == "started"}
        self.assertGreaterEqual(started, {r["task_id"] for r in ran})

    def test_unless_the_profile_says_that_a_notice_is_enough(self):
        self.more_policy("audit: {on_failure: notice}\n")
        self.state.mkdir(mode=0o700)
        self.log.write_text("a file")
        result = self.run_json("-c", "touch made")
        self.assertEqual(result["exit_code"], 0)
        self.assertIn("not in the audit log", " ".join(result["notices"]))
        self.assertTrue((self.work / "made").exists())

    def test_a_project_cannot_loosen_it(self):
        for text in ("mode: off", "on_failure: notice", "mask: ['.*']", "max_bytes: 64K", "keep: 1", "max_age: 1s"):
            (self.work / ".nacre.yaml").write_text(f"audit: {{{text}}}\n")
            done = self.run_nacre("--", "true")
            self.assertEqual(done.code, 125, text)
            self.assertIn(b"audit." + text.split(":")[0].encode(), done.err)

    def test_an_operator_can_switch_it_off_and_every_result_says_so(self):
        self.more_policy("audit: {mode: off}\n")
        result = self.run_json("--", "true")
        self.assertEqual((result["exit_code"], result["notices"]),
                         (0, ["this profile keeps no audit log (audit.mode: off)"]))
        self.assertFalse(self.log.exists())

    def test_a_temporary_state_directory_has_one(self):
        self.state.write_text("a file")
        result = self.run_json("--", "true")
        self.assertEqual(result["exit_code"], 0)
        self.assertIn("/tasks, the audit log beside it", " ".join(result["notices"]))
        [place] = self.tmp.iterdir()
        self.env["NACRE_STATE_DIR"] = str(place)
        self.assertEqual(self.events(), EVENTS)


class Many(Audit):
    def test_at_once_they_share_one_chain(self):
        popens = [self.start("-c", f"echo {i}") for i in range(12)]
        requests = b"".join(b'{"id":%d,"argv":["true"]}\n' % i for i in range(40))
        batch = self.run_nacre("--batch", "--jobs", "8", input=requests)
        self.assertEqual(batch.out.count(b'"exit_code":0'), 40)
        for popen in popens:
            self.assertEqual(self.finish(popen).code, 0)
        told = self.verify()
        self.assertTrue(told["good"], told)
        tasks = {}
        for record in self.records():
            if "task_id" in record:
                tasks.setdefault(record["task_id"], []).append(record["event"])
        self.assertEqual(len(tasks), 52)
        for events in tasks.values():
            self.assertEqual(events, EVENTS)

    def test_a_keeper_that_is_killed_leaves_a_start_without_an_end(self):
        popen = self.start("--", "sleep", "60")
        wait_until("it is started", lambda: "started" in self.events())
        keeper = self.find("nacre-keeper", popen.pid)
        os.kill(keeper.pid, signal.SIGKILL)
        self.finish(popen)
        self.assertEqual(self.events(), EVENTS[:3])
        self.assertTrue(self.verify()["good"])

    def test_an_old_file_is_followed_by_the_next(self):
        self.more_policy("audit: {max_age: 1ms, keep: 3}\n")
        for _ in range(4):
            self.run_nacre("--", "true")
        told = self.verify()
        self.assertTrue(told["good"], told)
        self.assertEqual(told["files"], 4)
        self.assertGreater(told["first_seq"], 1)
        self.more_policy("# no more\n")
        path = self.config / "nacre" / "bash.yaml"
        path.write_text(path.read_text().replace("1ms", "7d"))
        self.run_nacre("--", "true")
        self.assertEqual(self.verify()["last_seq"], told["last_seq"] + 4)

    def test_a_full_file_is_followed_by_the_next(self):
        self.more_policy("audit: {max_bytes: 64K, keep: 2}\n")
        line = "true " + "x" * 9000
        requests = b"".join(b'{"id":%d,"command":"%s"}\n' % (i, line.encode()) for i in range(16))
        self.run_nacre("--batch", input=requests)
        told = self.verify()
        self.assertTrue(told["good"], told)
        self.assertEqual(told["files"], 3)
        self.assertGreater(told["first_seq"], 1)
        self.assertEqual(len(list(self.log.glob("log.*"))), 3)


class Commands(Audit):
    def test_records_are_found_by_what_is_asked_for(self):
        self.run_nacre("-c", "echo Apple")
        self.run_nacre("--profile", "verify", "--", "git", "x")
        self.assertEqual(len(self.records("--grep", "apple")), 3)
        self.assertEqual([r["profile"] for r in self.records("--verdict", "deny")], ["verify"])
        self.assertEqual(len(self.records("--profile", "verify")), 2)
        self.assertEqual(len(self.records("--event", "ended")), 1)
        self.assertEqual(self.records("--until", "2020-01-01"), [])
        self.assertEqual(len(self.records("--since", "1h")), 7)
        self.assertEqual(len(self.records("--since", "7d", "--until", "0s")), 7)
        self.assertEqual(len(self.records("--since", "2020-01-01T10:30", "--until", "2999-01-01T10:30Z")), 7)
        self.assertEqual(len(json.loads(self.audit("show", "--limit", "2", "--json"))["records"]), 2)
        text = self.audit("show")
        self.assertIn("deny by never:git", text)
        self.assertIn("[none] ", text)
        self.assertEqual(len(self.audit("tail", "--limit", "3").splitlines()), 3)
        for words in (["show", "--since", "soon"], ["show", "--event", "x"], ["show", "--limit", "0"], ["show", "x"],
                      ["show", "--since", "2026-02-30"], ["show", "--since", "2026-02-20T10"], ["show", "--since", "2026-02-20T10:30ZZ"], ["show", "--verdict", "maybe"], ["show", "--dir", "/nonexistent"],
                      ["tail", "--dir", "/nonexistent"], ["checkpoint", "--dir", str(self.log)], ["checkpoint", "--contains", "x"],
                      ["verify", "x"], ["verify", "--contains", "x"], ["nothing"], []):
            self.audit(*words, code=125)

    def test_of_a_session_the_line_is_shown(self):
        for line in ("cd /", "trap true EXIT"):
            self.run_nacre("--session", "s", "-c", line)
        shown = [line.split("[none] ")[1] for line in self.audit("show", "--event", "started").splitlines()]
        self.assertEqual(shown, ["cd /", "trap true EXIT"])

    def test_of_many_the_newest_are_shown(self):
        self.run_nacre("--batch", input=b"".join(b'{"id":%d,"argv":["true"]}\n' % i for i in range(60)))
        whole = self.audit("show", "--all").splitlines()
        for limit in (1, 7, 100, len(whole), 1000):
            self.assertEqual(self.audit("show", "--limit", str(limit)).splitlines(), whole[-limit:])

    def test_a_log_of_somebody_else_does_nothing_to_the_terminal(self):
        """Its chain may be whole, and its texts anything."""
        self.run_nacre("--", "true")
        path = self.log / "log.000001"
        before = path.read_bytes().splitlines()[-1]
        prev, texts = json.loads(before)["hash"], {"task_id": "\x1b[2J", "profile": "\x1b[2J", "tier": "\x1b[2J", "verdict": "\x1b[2J",
                                                   "cause": "\x1b[2J", "text": "\x1b[2J", "answer": "\x1b[2J", "end": "\x1b[2J",
                                                   "executed": ["/bin/bash", "", "", "", "", None]}
        with open(path, "ab") as file:
            for i, event in enumerate(("requested", "decided", "asked", "approved", "refused", "started", "ended")):
                text = json.dumps({"seq": 6 + i, "prev": prev, "time": "2026-11-16T07:24:47.000Z", "event": event, **texts},
                                  separators=(",", ":"))[:-1].encode()
                prev = hashlib.blake2b(text, digest_size=32).hexdigest()
                file.write(text + b',"hash":"%s"}\n' % prev.encode())
        shown = self.audit("show")
        self.assertEqual(len(shown.splitlines()), 12)
        self.assertNotIn("\x1b", shown)

    def test_without_a_log_nothing_is_shown(self):
        self.assertEqual(self.audit("show"), "")
        self.state.mkdir(mode=0o700)
        self.assertEqual(self.audit("show"), "")

    def test_a_log_on_a_disk_that_cannot_be_written_to_can_be_read(self):
        self.run_nacre("--", "true")
        words = user_namespace_or_skip(self)
        script = ('mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && "$0" audit verify && '
                  '"$0" audit show --event started')
        done = subprocess.run([*words, "sh", "-c", script, NACRE, str(self.state)], env=self.env, cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("intact: 5 records", done.stdout)
        self.assertIn("started", done.stdout.splitlines()[-1])

    def test_tail_follows(self):
        self.run_nacre("--", "true")
        popen = subprocess.Popen([NACRE, "audit", "tail", "-f", "--json", "--limit", "1"], env=self.env, cwd=self.work,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.started.append(popen)
        self.assertEqual(json.loads(popen.stdout.readline())["event"], "ended")
        self.run_nacre("--", "echo", "next")
        self.assertEqual([json.loads(popen.stdout.readline())["event"] for _ in EVENTS], EVENTS)
        popen.kill()

    def test_verify_names_the_first_bad_record(self):
        for _ in range(3):
            self.run_nacre("--", "true")
        path = self.log / "log.000001"
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        bad = {
            "changed": (whole.replace(b'"exit_code":0', b'"exit_code":1', 1), 5),
            "taken out": (b"".join(lines[:6] + lines[7:]), 7),
            "swapped": (b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]), 3),
            "put in": (b"".join([*lines[:4], lines[3], *lines[4:]]), 5),
            "cut off": (b"".join(lines[:-1]), 12),
        }
        for name, (text, line) in bad.items():
            with self.subTest(name):
                path.write_bytes(text)
                told = self.verify(1)
                self.assertEqual((told["good"], told["first_bad"]["file"]), (False, "log.000001"))
                self.assertEqual(told["first_bad"]["line"], line, told)
                self.assertTrue(self.audit("verify", code=1).startswith(f"log.000001:{line}: "))
        path.write_bytes(whole)
        self.assertTrue(self.verify()["good"])

    def test_a_checkpoint_kept_elsewhere_finds_a_log_that_was_made_anew(self):
        self.run_nacre("--", "true")
        seq, noted = self.audit("checkpoint").split()
        key = self.dir / "kept.pub"
        shutil.copy(self.log / "key.pub", key)
        self.assertEqual(int(seq), 6)
        self.assertTrue(self.verify(0, "--contains", noted, "--public-key", str(key))["good"])
        shutil.rmtree(self.log)
        self.run_nacre("--", "true")
        self.assertTrue(self.verify()["good"])
        self.assertIn("should be there", self.verify(1, "--contains", noted)["first_bad"]["problem"])
        self.assertIn("given key", self.verify(1, "--public-key", str(key))["first_bad"]["problem"])

    def test_a_key_that_is_damaged_or_not_private_signs_nothing(self):
        self.run_nacre("--", "true")
        key = self.log / "key"
        key.chmod(0o640)
        self.assertIn("is not private to this user", self.audit("checkpoint", code=125))
        key.chmod(0o600)
        whole = key.read_text()
        key.write_text(whole[:-9])
        self.assertIn("key of the audit log is damaged", self.audit("checkpoint", code=125))
        key.write_text(whole)
        self.audit("checkpoint")
        # One that was made anew is another one.
        key.unlink()
        self.audit("checkpoint")
        self.assertIn("not signed with the given key", self.verify(1)["first_bad"]["problem"])

    def test_nothing_of_it_is_for_others(self):
        self.run_nacre("--", "true")
        self.assertEqual(self.log.stat().st_mode & 0o777, 0o700)
        for path in self.log.iterdir():
            self.assertEqual(path.stat().st_mode & 0o777, 0o600, path)


class Box(Audit):
    BOXED = True

    def test_a_command_sees_nothing_of_it(self):
        policy = self.dir / "landlock.yaml"
        policy.write_text("profile: ll\ninherits: bash\nsandbox: {mode: landlock}\n")
        self.run_nacre("--", "true")
        before = len(self.records())
        for options in ([], ["--policy", str(policy)]):
            line = f"cat {self.log}/* {self.log}/key; ls {self.log}; : >>{self.log}/log.000001; echo done"
            result = self.run_json(*options, "-c", line)
            self.assertEqual(result["stdout"], "done\n", result)
            line = f"{NACRE} audit show --dir {self.log}; rm -f {self.log}/head {self.log}/log.000001"
            self.assertNotIn("requested", self.run_json(*options, "-c", line)["stdout"])
        self.assertTrue(self.verify()["good"])
        self.assertGreaterEqual(len(self.records()), before + 16)

    def test_the_layers_of_the_box_are_recorded(self):
        result = self.run_json("--", "true")
        [started] = self.records("--event", "started")
        self.assertEqual(started["tier"], result["sandbox"]["tier"])
        self.assertEqual(started["layers"], result["sandbox"]["layers"])


if __name__ == "__main__":
    unittest.main()
