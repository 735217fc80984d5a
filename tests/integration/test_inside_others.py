"""nacre inside of other people's sandboxes: where single calls are refused, commands run in the best tier that
is left, and doctor says which one that is. tests/deny-calls.c makes such a place."""
import json
import os
import subprocess
import unittest

from helpers import DEADLINE, NACRE, ROOT, NacreTest, user_namespace_or_skip, wait_until

# The sandbox of a coding agent that allows no network: sockets may be made in pairs, and sendmsg works on them.
OFFLINE = ("connect accept accept4 bind listen getpeername getsockname shutdown sendto sendmmsg recvmmsg getsockopt "
           "setsockopt ptrace")

# Without one of these there is no tree of the box's own.
TREE = ("open_tree", "mount_setattr", "move_mount", "fsopen", "fsconfig", "fsmount", "pivot_root")


class Others(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.tool = self.dir / "deny-calls"
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-o", self.tool,
                        ROOT / "tests" / "deny-calls.c"], check=True, timeout=DEADLINE)

    def people(self):
        """(name, program, options of subprocess) of root and of an ordinary user."""
        yield "root" if os.geteuid() == 0 else "user", NACRE, {}
        if os.geteuid() == 0:
            options = self.as_ordinary_user()
            yield "user", options.pop("program"), options

    def nacre(self, refused, program, *words, input=None, **identity):
        env = {**self.env, "NACRE_STATE_DIR": f"{self.state}-{identity.get('user', 'own')}"}
        return subprocess.run([self.tool, refused, "--", program, *words], env=env, cwd=self.work, input=input,
                              stdin=None if input else subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE, **identity)

    def run_in(self, refused, program, line, **identity):
        done = self.nacre(refused, program, "run", "--json", "-c", line, **identity)
        return json.loads(done.stdout)

    def doctor_in(self, refused, program, **identity):
        done = self.nacre(refused, program, "doctor", "--json", **identity)
        answer = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if all(p["runs"] for p in answer["profiles"]) else 1)
        return answer

    def expect_tier(self, refused, program, tier, **identity):
        """The command runs there, in the tier that doctor has named."""
        self.assertEqual(self.doctor_in(refused, program, **identity)["tier"], tier)
        result = self.run_in(refused, program, "echo fine", **identity)
        self.assertEqual((result["stdout"], result["sandbox"]["tier"]), ("fine\n", tier), result)


class Offline(Others):
    """send() and shutdown() are refused on all sockets, sendmsg() is not."""
    REFUSED = ",".join(f"{call}=EPERM" for call in OFFLINE.split())

    def test_commands_run_as_always(self):
        for who, program, identity in self.people():
            with self.subTest(who=who):
                tier = self.run_in("openat2@0:12345=EPERM", program, "true", **identity)["sandbox"]["tier"]
                self.expect_tier(self.REFUSED, program, tier, **identity)

    def test_only_send_and_shutdown(self):
        for who, program, identity in self.people():
            with self.subTest(who=who):
                usual = self.run_in("openat2@0:12345=EPERM", program, "echo fine; exit 3", **identity)
                result = self.run_in("sendto=EPERM,shutdown=EPERM", program, "echo fine; exit 3", **identity)
                self.assertEqual((result["exit_code"], result["stdout"]), (3, "fine\n"), result)
                self.assertLess(result["duration_ms"], 9000 + usual["duration_ms"])  # not 10 s for an answer

    def test_nothing_but_sendmsg_and_recvmsg(self):
        for who, program, identity in self.people():
            with self.subTest(who=who):
                result = self.run_in(f"{self.REFUSED},recvfrom=EPERM", program, "echo fine; exit 3", **identity)
                self.assertEqual((result["exit_code"], result["stdout"]), (3, "fine\n"), result)

    def test_many_in_kept_boxes(self):
        requests = "".join(json.dumps({"id": i, "command": "echo fine"}) + "\n" for i in range(6))
        for who, program, identity in self.people():
            with self.subTest(who=who):
                done = self.nacre(self.REFUSED, program, "run", "--batch", "--jobs", "2", input=requests, **identity)
                results = [json.loads(line)["result"] for line in done.stdout.splitlines()]
                self.assertEqual([r["stdout"] for r in results], ["fine\n"] * 6, done)

    def test_what_was_not_taken_is_kept_on_the_disk(self):
        """The output goes to a reader that is gone; the task has it."""
        with subprocess.Popen([self.tool, self.REFUSED, "--", NACRE, "run", "-c", "sleep 0.3; echo fine; exit 4"],
                              env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as popen:
            popen.stdout.close()
            popen.stderr.read()
            popen.wait(DEADLINE)
        [task] = wait_until("the task is there", self.task_dirs)
        wait_until("its end is written", (task / "state.json").exists)
        self.assertEqual(json.loads((task / "state.json").read_text())["status"], 4 << 8)

    def test_a_client_over_a_socket_is_answered(self):
        """Standard streams that are sockets, as some clients start their servers."""
        import socket
        ours, theirs = socket.socketpair()
        ours.settimeout(DEADLINE)
        popen = subprocess.Popen([self.tool, self.REFUSED, "--", NACRE, "mcp"], env=self.env, cwd=self.work,
                                 stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
        self.started.append(popen)
        theirs.close()
        with ours, ours.makefile("rw", encoding="utf-8") as stream:
            stream.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}) + "\n")
            stream.flush()
            self.assertEqual(json.loads(stream.readline())["id"], 1)
        popen.wait(DEADLINE)


class Tree(Others):
    """Calls without which the box has no tree of its own: Landlock is the wall then."""

    def setUp(self):
        super().setUp()
        user_namespace_or_skip(self)
        if self.doctor_in("openat2@0:12345=EPERM", NACRE)["landlock_abi"] < 1:
            self.skipTest("landlock: this kernel has none")

    def test_a_call_that_does_not_exist(self):
        for who, program, identity in self.people():
            for call in TREE:
                with self.subTest(who=who, call=call):
                    self.expect_tier(f"{call}=ENOSYS", program, "landlock", **identity)

    def test_a_call_that_is_refused(self):
        for who, program, identity in self.people():
            for call in TREE:
                with self.subTest(who=who, call=call):
                    self.expect_tier(f"{call}=EPERM", program, "landlock", **identity)

    def test_kept_boxes(self):
        requests = "".join(json.dumps({"id": i, "command": "echo fine"}) + "\n" for i in range(6))
        for who, program, identity in self.people():
            with self.subTest(who=who):
                done = self.nacre("open_tree=ENOSYS", program, "run", "--batch", "--jobs", "2", input=requests, **identity)
                results = [json.loads(line)["result"] for line in done.stdout.splitlines()]
                self.assertEqual([(r["stdout"], r["sandbox"]["tier"]) for r in results], [("fine\n", "landlock")] * 6, done)

    def test_unshare_is_not_what_a_box_is_made_with(self):
        for who, program, identity in self.people():
            with self.subTest(who=who):
                self.expect_tier("unshare=EPERM", program, "strict", **identity)

    def test_capabilities_that_cannot_be_given_up(self):
        """An ordinary user has none without namespaces; root keeps what it has, so nothing runs."""
        for who, program, identity in self.people():
            with self.subTest(who=who):
                result = self.run_in("capset=EPERM", program, "echo fine", **identity)
                if who == "user":
                    self.expect_tier("capset=EPERM", program, "landlock", **identity)
                else:
                    self.assertEqual((result["exit_code"], result["stdout"]), (125, ""), result)


class Old(Others):
    """What a kernel before 5.12 lacks."""

    def test_close_range_without_its_flag(self):
        for who, program, identity in self.people():
            with self.subTest(who=who):
                answer = self.doctor_in("close_range@2:4=EINVAL", program, **identity)
                self.assertEqual(answer["tier"], "none")
                self.assertEqual([p["profile"] for p in answer["profiles"] if p["runs"]], [])
                self.assertIn("close_range", answer["trials"]["close_range"]["remedy"])
                result = self.run_in("close_range@2:4=EINVAL", program, "echo fine", **identity)
                self.assertEqual((result["exit_code"], result["stdout"]), (125, ""))
                self.assertIn("close_range", result["reason"])

    def test_neither_namespaces_nor_landlock(self):
        refused = "mount_setattr=ENOSYS,landlock_create_ruleset=ENOSYS"
        for who, program, identity in self.people():
            with self.subTest(who=who):
                answer = self.doctor_in(refused, program, **identity)
                self.assertEqual(answer["tier"], "none")
                self.assertEqual([p["profile"] for p in answer["profiles"] if p["runs"] and p["tier"] != "container"], [])
                result = self.run_in(refused, program, "echo fine", **identity)
                self.assertEqual((result["exit_code"], result["stdout"]), (125, ""))


class WithoutProc(Others):
    def test_proc_is_what_is_named(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        bare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]
        done = subprocess.run([*bare, NACRE, "run", "-c", "echo fine"], env=self.env, cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("/proc", done.stderr)
        self.assertNotIn("workspace", done.stderr)
        done = subprocess.run([*bare, NACRE, "doctor"], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/proc is not mounted", done.stdout)


if __name__ == "__main__":
    unittest.main()
