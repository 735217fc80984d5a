"""Where nacre can stand on a machine with systemd: which control groups it gets, and that the limits hold.

Runs in the guests of `make kernels`, as root. Each place is a unit, a scope or a session of its own, made by
the real manager; the user has a manager of his own (linger).
"""
import json
import pathlib
import pwd
import shlex
import subprocess
import unittest

USER = "user"
HOME = pathlib.Path(pwd.getpwnam(USER).pw_dir)
RUNTIME = f"/run/user/{pwd.getpwnam(USER).pw_uid}"
GROUPS = pathlib.Path("/sys/fs/cgroup")
LIMIT = 600  # seconds: emulation is slow
POLICY = "profile: small\ninherits: bash\nsandbox: {limits: {memory: 128M, processes: 24}}\n"
GO_ON = "OOMPolicy=continue"  # the manager stops a unit otherwise if one of its processes dies of its limit
HOG = "head -c 600M /dev/zero | tail -n 1 | wc -c"
FILL = "head -c 200M /dev/zero | tail -n 1 | wc -c"
CROWD = """perl -e 'for (1 .. 200) { my $p = fork; if (!defined $p) { print "refused\\n"; last }
if (!$p) { sleep 60; exit } push @p, $p } kill 9, @p; print scalar(@p), " made\\n"'"""


def run(argv, check=True):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    if check and done.returncode:
        raise AssertionError(f"{shlex.join(argv)}: {done.returncode}\n{done.stdout[-800:]}\n{done.stderr[-800:]}")
    return done.stdout


def version():
    return int(run(["systemctl", "--version"]).split()[1])


def of_the_user(*argv):
    return ["runuser", "-u", USER, "--", "env", f"XDG_RUNTIME_DIR={RUNTIME}", f"HOME={HOME}", f"USER={USER}", *argv]


UNIT = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect"]


def service(*properties):
    """A unit of the system, as root."""
    return [*UNIT, *(f"--property={p}" for p in properties), "--setenv=HOME=/root", "bash", "-c"]


def user_service(*properties):
    """A unit of the system with User=."""
    return [*UNIT, f"--property=User={USER}", *(f"--property={p}" for p in properties), f"--setenv=HOME={HOME}", "bash", "-c"]


def managed(*properties):
    """A unit of the user's manager."""
    return of_the_user(*UNIT, "--user", *(f"--property={p}" for p in properties), "bash", "-c")


def scope():
    return of_the_user("systemd-run", "--user", "--scope", "--quiet", "--collect", "bash", "-c")


def login():
    """A session as ssh makes it: pam_systemd gives it a scope that belongs to root."""
    return ["su", "-l", USER, "-c"]


class Places(unittest.TestCase):
    maxDiff = 4000

    def in_place(self, place, line):
        """The line runs in that place, in a workspace of its own."""
        prepare = ("umask 022; d=$(mktemp -d ~/place.XXXXXX); mkdir $d/work; cd $d/work; "
                   f"printf %s {shlex.quote(POLICY)} >../small.yaml; ")
        return run([*place, prepare + line])

    def doctor(self, place):
        return json.loads(self.in_place(place, "nacre doctor --json || :"))

    def result(self, place, line):
        text = self.in_place(place, f"nacre run --json --policy ../small.yaml -c {shlex.quote(line)} || :")
        return json.loads(text)

    def expect_groups(self, place):
        answer = self.doctor(place)
        self.assertEqual(answer["cgroup"], {"kind": "v2", "memory": True, "processes": True}, answer["cgroup"])
        self.expect_limits(place)

    def expect_limits(self, place):
        """The limits of the profile hold, and are named, by the kernel's count."""
        result = self.result(place, HOG)
        self.assertEqual(result["sandbox"]["limit_hit"], "memory", result)
        self.assertNotIn(str(600 << 20), result["stdout"])
        result = self.result(place, CROWD)
        self.assertEqual(result["sandbox"]["limit_hit"], "processes", result)
        self.assertIn("refused", result["stdout"])
        self.expect_nothing_left()

    def expect_nothing_left(self):
        self.assertEqual([str(path) for path in GROUPS.rglob("nacre-[0-9]*")], [])

    def expect_unit_bounds_memory(self, place):
        """200 MB do not fit into a unit of 64 MB, whatever the profile allows."""
        text = self.in_place(place, f"nacre run --json -c {shlex.quote(FILL)} || :")
        result = json.loads(text)
        self.assertNotIn(str(200 << 20), result["stdout"] or "", result)

    def expect_unit_bounds_processes(self, place):
        result = json.loads(self.in_place(place, f"nacre run --json -c {shlex.quote(CROWD)} || :"))
        made = [line for line in result["stdout"].splitlines() if line.endswith(" made")]
        self.assertIn("refused", result["stdout"], result)
        self.assertLessEqual(int(made[0].split()[0]), 40, result)


class Root(Places):
    def test_a_service(self):
        self.expect_groups(service())

    def test_a_service_with_limits_of_its_own(self):
        place = service("MemoryMax=64M", GO_ON)
        self.assertEqual(self.doctor(place)["cgroup"]["kind"], "none")
        self.expect_unit_bounds_memory(place)
        self.expect_unit_bounds_processes(service("TasksMax=40"))

    def test_a_service_with_limits_that_may_be_divided(self):
        place = service("MemoryMax=96M", "Delegate=yes")
        self.expect_groups(place)
        self.expect_unit_bounds_memory(place)

    def test_a_delegated_service(self):
        self.expect_groups(service("Delegate=yes"))


class User(Places):
    def test_a_unit_of_the_manager(self):
        self.expect_groups(managed())

    def test_a_unit_with_limits_of_its_own(self):
        place = managed("MemoryMax=64M", GO_ON)
        self.assertEqual(self.doctor(place)["cgroup"]["kind"], "none")
        self.expect_unit_bounds_memory(place)
        self.expect_unit_bounds_processes(managed("TasksMax=40"))

    def test_a_unit_with_limits_that_may_be_divided(self):
        """A user's manager does not mark what it has delegated: nacre stays in the unit, unless that has room."""
        place = managed("MemoryMax=96M", "Delegate=yes")
        self.assertEqual(self.doctor(place)["cgroup"]["kind"], "none")
        self.expect_unit_bounds_memory(place)
        if version() >= 254:
            place = managed("MemoryMax=96M", "Delegate=yes", "DelegateSubgroup=nacre")
            self.expect_groups(place)
            self.expect_unit_bounds_memory(place)

    def test_a_scope(self):
        self.expect_groups(scope())

    def test_a_service_of_the_system(self):
        answer = self.doctor(user_service())
        self.assertEqual(answer["cgroup"]["kind"], "none")
        self.assertIn("Delegate=yes", answer["cgroup"]["remedy"])
        self.expect_unit_bounds_memory(user_service("MemoryMax=64M", GO_ON))

    def test_a_delegated_service_of_the_system(self):
        self.expect_groups(user_service("Delegate=yes"))

    def test_a_delegated_group_within_a_service(self):
        if version() < 254:
            self.skipTest(f"systemd {version()} has no DelegateSubgroup=")
        self.expect_groups(user_service("Delegate=yes", "DelegateSubgroup=nacre"))
        place = user_service("Delegate=yes", "DelegateSubgroup=nacre", "MemoryMax=96M")
        self.expect_groups(place)
        self.expect_unit_bounds_memory(place)

    def test_what_was_there_lives_in_a_leaf_afterwards(self):
        """The shell that started nacre is moved along, and everything goes on."""
        text = self.in_place(user_service("Delegate=yes"),
                             "for i in 1 2 3; do nacre run --policy ../small.yaml -c 'echo fine'; done; cat /proc/self/cgroup")
        self.assertEqual(text.splitlines()[:3], ["fine"] * 3)
        self.assertTrue(text.splitlines()[3].endswith(".service/nacre-host"), text)

    def test_a_login_session(self):
        answer = self.doctor(login())
        self.assertEqual(answer["cgroup"]["kind"], "none")
        self.assertIn("systemd-run --user --scope", answer["cgroup"]["remedy"])
        # The advice works, as it is given, in that very session.
        text = self.in_place(login(), "systemd-run --quiet --user --scope nacre doctor --json || :")
        self.assertEqual(json.loads(text)["cgroup"]["kind"], "v2")

    def test_an_own_policy_file_in_a_session_with_umask_002(self):
        text = self.in_place(login(), "umask 002; printf 'profile: p\\ninherits: bash\\n' >../p.yaml; "
                                      "stat -c %a ../p.yaml; nacre run --policy ../p.yaml -c 'echo fine'")
        self.assertEqual(text.split(), ["664", "fine"])


class Knobs(Places):
    """What doctor says is what a command gets, however the machine is set up."""

    def set(self, name, value):
        path = pathlib.Path("/proc/sys") / name.replace(".", "/")
        if not path.exists():
            self.skipTest(f"this kernel has no {name}")
        before = path.read_text()
        self.addCleanup(path.write_text, before)
        path.write_text(value)

    def expect_same_tier(self, tier, places):
        for place in places:
            with self.subTest(place=place[0]):
                self.assertEqual(self.doctor(place)["tier"], tier)
                result = self.result(place, "echo fine")
                self.assertEqual((result["stdout"], result["sandbox"]["tier"]), ("fine\n", tier), result)

    def test_nothing(self):
        self.expect_same_tier("strict", [service(), user_service()])

    def test_user_max_net_namespaces(self):
        self.set("user.max_net_namespaces", "0")
        self.expect_same_tier("landlock", [service(), user_service()])

    def test_user_max_user_namespaces(self):
        self.set("user.max_user_namespaces", "0")
        self.expect_same_tier("landlock", [service(), user_service()])

    def test_kernel_unprivileged_userns_clone(self):
        self.set("kernel.unprivileged_userns_clone", "0")
        self.expect_same_tier("landlock", [user_service()])
        self.expect_same_tier("strict", [service()])


del Places

if __name__ == "__main__":
    unittest.main()
