"""Each limit of a box strikes, ends no more than it must, and is named in the result: in both tiers, for
root (whose boxes have control groups, where the machine has them) and for an ordinary user."""
import errno
import json
import os
import resource
import signal
import subprocess
import unittest

from helpers import SLOW, NacreTest, wait_until

CPU = max(1, round(SLOW))  # seconds; only tests of this limit have it, since an emulated processor is slow
LIMITS = "memory: 192M, processes: 24, file: 8M, tmp: 16M, open_files: 64"

# tail keeps a line as long as it gets, and this one does not end.
HOG = "head -c 600M /dev/zero | tail -n 1 | wc -c"
CROWD = """perl -e 'for (1 .. 200) { my $p = fork; if (!defined $p) { print "refused\\n"; last }
if (!$p) { sleep 60; exit } push @p, $p } select undef, undef, undef, 0.5; kill 9, @p; print "over\\n"'"""


class Limits(NacreTest):
    BOXED = True
    MODE = "strict"

    def setUp(self):
        super().setUp()
        self.policy = self.dir / "limits.yaml"
        self.policy.write_text(f"profile: limits\ninherits: bash\n"
                               f"sandbox: {{mode: {self.MODE}, limits: {{{LIMITS}}}}}\n")
        self.identity = {}

    def limit_time(self):
        self.policy.write_text(self.policy.read_text().replace(LIMITS, f"{LIMITS}, cpu: {CPU}"))

    def run_line(self, line):
        return self.run_json("--policy", str(self.policy), "--workspace", str(self.work), "-c", line,
                             **self.identity)

    def expect_hit(self, line, name):
        if name == "cpu":
            self.limit_time()
        grouped = os.geteuid() == 0 and not self.identity
        for _ in range(1 if grouped or not name else 10):  # who only watches may be in time, or not
            result = self.run_line(line)
            if result["sandbox"]["limit_hit"]:
                break
        self.assertEqual(result["sandbox"]["limit_hit"], name, result)
        return result

    def test_what_stays_within_the_limits_is_not_bothered(self):
        result = self.expect_hit("echo a | cat; head -c 4M /dev/zero >file; rm file", None)
        self.assertEqual((result["exit_code"], result["stdout"]), (0, "a\n"))

    def test_memory_of_one_pipeline(self):
        result = self.run_line(HOG)
        self.assertNotIn(str(600 << 20), result["stdout"])
        if os.geteuid() == 0 and not self.identity:
            self.assertEqual(result["sandbox"]["limit_hit"], "memory", result)

    def test_memory_of_many_together(self):
        each = "head -c 100M /dev/zero | tail -n 1 | (sleep 1; wc -c)"
        result = self.expect_hit(f"for i in 1 2 3 4; do {each} & done; wait", "memory")
        self.assertLess(result["stdout"].count(str(100 << 20)), 4)

    def test_processes(self):
        result = self.expect_hit(CROWD, "processes")
        if result["signal"] is None:  # else the watch has ended it
            self.assertIn("refused\n", result["stdout"])

    def test_size_of_a_file(self):
        result = self.expect_hit("exec head -c 20M /dev/zero >file", "file_size")
        self.assertEqual(result["signal"], "SIGXFSZ")
        self.assertLessEqual((self.work / "file").stat().st_size, 8 << 20)

    def test_processor_time(self):
        result = self.expect_hit("while :; do :; done", "cpu")
        self.assertEqual(result["signal"], "SIGXCPU")

    def test_processor_time_of_all_together(self):
        result = self.expect_hit("for i in 1 2 3; do (while :; do :; done) & done; wait; echo over", "cpu")
        self.assertEqual((result["signal"], result["stdout"]), ("SIGXCPU", ""), result)
        self.assertGreaterEqual(result["usage"]["cpu_ms"], 900 * CPU)
        self.assertLess(result["usage"]["cpu_ms"], 2500 * CPU, result)
        self.assertTrue(result["notices"][0].startswith("the limit on processor time was reached"), result)

    def test_processor_time_of_one_after_the_other(self):
        burn = "perl -e 'while ((times)[0] < 0.4) {}'"
        result = self.expect_hit(f"for i in $(seq {6 * CPU}); do {burn}; done; echo over", "cpu")
        self.assertEqual((result["signal"], result["stdout"]), ("SIGXCPU", ""), result)

    def test_processor_time_of_those_that_nobody_waits_for(self):
        """What they used is in no sum when they are gone."""
        result = self.expect_hit("perl -e '$SIG{CHLD} = \"IGNORE\"; for (1 .. 200) { if (!fork) { while ((times)[0] < 0.4) {} "
                                 "exit } select undef, undef, undef, 0.4 }'", "cpu")
        self.assertLess(result["duration_ms"], 30000 * CPU)

    def test_a_child_that_ends_for_its_processor_time_is_named(self):
        result = self.expect_hit("trap : XCPU; perl -e 'for (;;) {}'; true", "cpu")
        self.assertGreaterEqual(result["usage"]["cpu_ms"], 900 * CPU, result)

    def test_open_files(self):
        result = self.run_line("perl -e 'while (open my $f, \"<\", \"/dev/null\") { push @f, $f } "
                               "print scalar @f, \"\\n\"'")
        self.assertLessEqual(int(result["stdout"]), 64)


class Root(Limits):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root")

    def test_temporary_files(self):
        if self.MODE != "strict":
            self.skipTest("without namespaces nothing bounds a directory")
        self.expect_hit("for i in 1 2 3; do head -c 7M /dev/zero >/tmp/$i; done; true", "tmp")


    def test_when_memory_runs_out_the_command_goes_first(self):
        """And not the init that has to tell of it, with or without namespaces."""
        self.assertEqual(self.run_line("cat /proc/self/oom_score_adj")["stdout"], "500\n")

    def groups(self, owner):
        """Control groups of this owner, wherever they are made."""
        return [place for place, names, _ in os.walk("/sys/fs/cgroup") for name in names
                if name.startswith("nacre-") and f"-{owner}-" in name]

    def test_a_killed_keeper_leaves_no_control_group_for_long(self):
        popen = self.start("--policy", str(self.policy), "--workspace", str(self.work), "-c", "sleep 600")
        keeper = self.find("nacre-keeper", popen.pid).pid
        self.find("sleep", popen.pid)
        made = self.groups(keeper)
        os.kill(keeper, signal.SIGKILL)
        self.finish(popen)
        self.run_line("true")
        wait_until("the next command has removed them", lambda: not self.groups(keeper))
        if not made:
            self.skipTest("no control groups can be made here")


class User(Limits):
    def setUp(self):
        super().setUp()
        self.identity = self.as_ordinary_user()

    def test_temporary_files(self):
        Root.test_temporary_files(self)


class RootWithoutNamespaces(Root):
    MODE = "landlock"


class UserWithoutNamespaces(User):
    MODE = "landlock"


# Sends descriptors that nobody receives, as many as it may, says so, and stays.
UNDER_WAY = r"""
import array, os, socket, time
null, pairs = os.open("/dev/null", os.O_RDONLY), []
try:
    while True:
        pairs.append(socket.socketpair())
        for _ in range(50):
            try:
                pairs[-1][0].sendmsg([b"x"], [(1, 1, array.array("i", [null] * 200))], socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
except OSError as error:
    open("full", "w").write(error.strerror)
time.sleep(600)
"""
SEND = r"""
import array, resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
pair = socket.socketpair()
pair[0].sendmsg([b"x"], [(1, 1, array.array("i", [0]))])
"""


class UnderWay(NacreTest):
    """Descriptors that were sent and not received are counted for all processes of a user together."""
    BOXED = True

    def fill(self, files):
        policy = self.dir / "files.yaml"
        policy.write_text(f"profile: files\ninherits: bash\nsandbox: {{limits: {{open_files: {files}}}}}\n")
        (self.work / "send.py").write_text(UNDER_WAY)
        popen = self.start("--policy", str(policy), "--workspace", str(self.work), "--", "/usr/bin/python3", "send.py",
                           **self.identity)
        full = self.work / "full"
        wait_until("it may send no more", lambda: full.exists() and full.read_text())
        self.assertEqual(full.read_text(), os.strerror(errno.ETOOMANYREFS))
        self.addCleanup(self.empty, popen)

    def empty(self, popen):
        popen.terminate()
        self.finish(popen)

    def setUp(self):
        super().setUp()
        self.identity = self.as_ordinary_user()
        self.limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        if self.limit[1] < 8192:
            self.skipTest("needs a hard limit of more open files than a box has")
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, self.limit[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, self.limit)

    def test_nacre_goes_on_beside_a_command_that_has_all(self):
        self.fill(4096)
        for _ in range(2):
            result = self.run_json("--workspace", str(self.work), "-c", "echo runs", **self.identity)
            self.assertEqual(result["stdout"], "runs\n", result)
        text = "".join(json.dumps({"id": i, "command": "echo runs"}) + "\n" for i in range(8))
        done = self.run_nacre("--batch", "--jobs", "2", "--workspace", str(self.work), input=text.encode(), **self.identity)
        self.assertEqual([json.loads(line)["result"]["stdout"] for line in done.out.splitlines()], ["runs\n"] * 8, done)

    def test_a_box_with_few_open_files_leaves_some_to_the_operator(self):
        self.fill(512)
        user = {key: value for key, value in self.identity.items() if key != "program"}
        done = subprocess.run(["/usr/bin/python3", "-c", SEND], capture_output=True, timeout=60, **user)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


class Kept(NacreTest):
    """Commands of one kept box: the limit of processes is for each of them."""
    BOXED = True

    def test_each_has_its_own_processor_time(self):
        policy = self.dir / "cpu.yaml"
        policy.write_text("profile: cpu\ninherits: bash\nsandbox: {limits: {cpu: 3}}\n")
        # Together they need more than one may; the limit leaves room for the start on an emulated machine.
        line = "perl -e 'do { ($user, $system) = times } while $user + $system < 0.8'; echo done"
        text = "".join(json.dumps({"id": i, "command": line}) + "\n" for i in range(5))
        done = self.run_nacre("--batch", "--jobs", "1", "--policy", str(policy), "--workspace", str(self.work),
                              input=text.encode())
        results = [json.loads(text)["result"] for text in done.out.splitlines()]
        self.assertEqual([(r["stdout"], r["sandbox"]["limit_hit"]) for r in results], [("done\n", None)] * 5)

    def expect_room_for_all(self, **who):
        policy = self.dir / "few.yaml"
        policy.write_text("profile: few\ninherits: bash\nsandbox: {limits: {processes: 8}}\n")
        requests = [{"id": i, "command": "sleep 0.2; echo done"} for i in range(48)]
        text = "".join(json.dumps(request) + "\n" for request in requests)
        done = self.run_nacre("--batch", "--jobs", "24", "--policy", str(policy), "--workspace",
                              str(self.work), input=text.encode(), **who)
        results = [json.loads(line)["result"] for line in done.out.splitlines()]
        self.assertEqual([(r["stdout"], r["reason"]) for r in results],
                         [("done\n", None)] * len(requests))

    def test_what_strikes_one_is_named_there_and_spares_the_next(self):
        """Also that init lives on: it has to tell, and memory that runs out looks for somebody."""
        policy = self.dir / "limits.yaml"
        policy.write_text(f"profile: limits\ninherits: bash\nsandbox: {{limits: {{{LIMITS}}}}}\n")
        lines = ["true", "true", "for i in 1 2 3; do head -c 7M /dev/zero >/tmp/$i; done; true",
                 "cat /tmp/1 | wc -c; cat /proc/1/oom_score_adj", HOG, "cat /proc/self/oom_score_adj"]
        text = "".join(json.dumps({"id": i, "command": line}) + "\n" for i, line in enumerate(lines))
        done = self.run_nacre("--batch", "--jobs", "1", "--policy", str(policy), "--workspace", str(self.work),
                              input=text.encode())
        results = [json.loads(line)["result"] for line in done.out.splitlines()]
        hits = [result["sandbox"]["limit_hit"] for result in results]
        self.assertEqual([hits[i] for i in (0, 1, 3, 5)], [None] * 4, results)
        self.assertEqual((hits[2], results[2]["exit_code"]), ("tmp", 0))
        with open("/proc/self/oom_score_adj", encoding="ascii") as file:
            own = file.read()  # not 0 in a unit of a user's manager
        self.assertEqual((results[3]["stdout"], results[5]["stdout"]), ("0\n" + own, "500\n"))
        self.assertNotIn(str(600 << 20), results[4]["stdout"])
        self.assertNotEqual(results[4]["exit_code"], 125)
        if os.geteuid() == 0:  # a control group tells of it; a limit of the process only makes an allocation fail
            self.assertEqual(hits[4], "memory", results[4])

    def expect_init_chosen_last(self, **who):
        processors = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, processors)
        os.sched_setaffinity(0, {min(processors)})  # of two that want to run, one comes late
        line = json.dumps({"argv": ["cat", "/proc/1/oom_score_adj", "/proc/self/oom_score_adj"]}) + "\n"
        done = self.run_nacre("--batch", "--jobs", "1", "--workspace", str(self.work), input=line.encode() * 40, **who)
        with open("/proc/self/oom_score_adj", encoding="ascii") as file:
            own = file.read()
        results = [json.loads(text)["result"]["stdout"] for text in done.out.splitlines()]
        self.assertEqual(results, [own + "500\n"] * 40)

    def test_init_is_no_choice_when_the_command_begins(self):
        """The command may run before the init that has started it gets a processor again."""
        self.expect_init_chosen_last()

    def test_init_of_a_user_is_no_choice_when_the_command_begins(self):
        self.expect_init_chosen_last(**self.as_ordinary_user())

    def test_many_of_root_at_once(self):
        self.expect_room_for_all()

    def test_many_of_a_user_at_once(self):
        self.expect_room_for_all(**self.as_ordinary_user())


del Limits, NacreTest

if __name__ == "__main__":
    unittest.main()
