"""The Debian packages: built, installed in a fresh Debian 12 and 13, used, upgraded under a task, removed."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import roots
from roots import HELLO, LONG, ROOT, RootTest

SUITES = ("bookworm", "trixie")


def packages():
    roots.artefacts("libnacre-dev_VERSION_*.deb", "deb")
    return {name: roots.artefacts(f"{name}_VERSION_*.deb", "deb")[0] for name in ("nacre", "libnacre0", "libnacre-dev")}


class Deb(RootTest):
    def setUp(self):
        super().setUp()
        self.packages = packages()
        self.version = roots.version()

    def with_nacre(self, suite):
        root = self.fresh(suite)
        root.put(*self.packages.values())
        self.before = self.listing(root)
        root.run(f"apt-get install -y /packages/{self.packages['nacre'].name}")
        return root

    def listing(self, root):
        """All files but the lists and logs of dpkg and apt themselves."""
        return set(root.run("find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /packages -o -path /run -o "
                            "-path /var/lib/dpkg -o -path /var/lib/systemd -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \\) -prune -o -print").splitlines())

    def test_one_line_installs_what_runs(self):
        for suite in SUITES:
            with self.subTest(suite=suite):
                root = self.with_nacre(suite)
                self.assertEqual(root.run("nacre --version"), f"nacre {self.version}\n")
                root.run("mkdir work; cd work; touch one two")
                self.assertEqual(root.run("cd work; nacre run -c 'ls'"), "one\ntwo\n")
                tier = json.loads(root.run("nacre doctor --json"))["tier"]
                self.assertEqual(tier, "strict")
                answer = json.loads(root.run("nacre mcp", given=HELLO).splitlines()[0])
                self.assertEqual(answer["result"]["serverInfo"]["version"], self.version)
                root.run("useradd --create-home somebody")
                self.assertEqual(root.run("nacre run -c 'id -u; echo $((6*7))' | tail -n 1", user="somebody"), "42\n")
                # Nothing but nacre came with it.
                self.assertEqual(root.run("dpkg-query -W -f '${Package} ' | tr ' ' '\\n' | grep -c nacre"), "1\n")

    def test_what_is_installed_is_whole(self):
        root = self.with_nacre("bookworm")
        new = self.listing(root) - self.before
        for name in ("/usr/bin/nacre", "/usr/share/bash-completion/completions/nacre", "/usr/share/zsh/vendor-completions/_nacre",
                     "/usr/share/fish/vendor_completions.d/nacre.fish", "/usr/lib/systemd/user/nacre.socket",
                     "/usr/lib/systemd/user/nacre.service", "/etc/nacre/README", "/usr/lib/sysusers.d/nacre.conf",
                     "/usr/share/nacre/apparmor/nacre", "/usr/share/nacre/seccomp/nacre.json", "/usr/share/nacre/bash.yaml"):
            self.assertTrue(name in new or name.replace("/usr/share/nacre/", "/usr/share/nacre/profiles/") in new, f"{name} in {sorted(new)}")
        self.assertTrue(any(name.endswith("systemd/system/nacre-system.service") for name in new), sorted(new))
        self.assertIn("sysusers", root.run("cat /var/lib/dpkg/info/nacre.postinst"))
        # Nobody gets a server that they did not ask for.
        self.assertFalse([name for name in new if "/etc/systemd" in name])

    def test_the_apparmor_profile_comes_where_it_is_understood(self):
        root = self.fresh("trixie")
        root.put(self.packages["nacre"])
        root.run("apt-get update && apt-get install -y --no-install-recommends apparmor")
        root.run(f"apt-get install -y /packages/{self.packages['nacre'].name}")
        root.run("apparmor_parser --skip-kernel-load --skip-cache /etc/apparmor.d/nacre")
        root.run("dpkg -r nacre && test -e /etc/apparmor.d/nacre && dpkg -P nacre && test ! -e /etc/apparmor.d/nacre")
        without = self.with_nacre("bookworm")
        without.run("test ! -e /etc/apparmor.d/nacre")

    def test_remove_and_purge_leave_only_state(self):
        for suite in SUITES:
            with self.subTest(suite=suite):
                root = self.with_nacre(suite)
                root.run("nacre run -c 'echo state'")
                root.run("dpkg -r nacre")
                self.assertEqual({name for name in self.listing(root) - self.before if not name.startswith("/var/lib/nacre")},
                                 {"/etc/nacre", "/etc/nacre/README"}, "a configuration file stays until purge")
                root.run("dpkg -P nacre")
                left = {name for name in self.listing(root) - self.before if not name.startswith("/var/lib/nacre")}
                self.assertEqual(left, set())
                root.run("test -e /var/lib/nacre/audit -o -d /var/lib/nacre")

    def newer(self, into):
        """The same package as a later version."""
        tree = into / "tree"
        subprocess.run(["dpkg-deb", "-R", self.packages["nacre"], tree], check=True)
        control = tree / "DEBIAN" / "control"
        control.write_text(re.sub(r"^Version: (.*)$", r"Version: \1+later", control.read_text(), flags=re.MULTILINE))
        subprocess.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "-b", tree, into / "nacre-later.deb"], check=True, stdout=subprocess.DEVNULL)
        return into / "nacre-later.deb"

    def test_a_task_lives_through_an_upgrade(self):
        place = pathlib.Path(tempfile.mkdtemp(prefix="nacre-later-"))
        self.addCleanup(shutil.rmtree, place)
        root = self.with_nacre("bookworm")
        root.put(self.newer(place))
        root.run("mkdir work; mkfifo work/go")
        task = root.run("cd work; nacre run --background --timeout 10m -c 'read word <go; echo got $word; exit 7'").split()[-1].strip()
        identity = re.search(r"[0-9a-z]{6,}", task)[0]
        root.run("dpkg -i /packages/nacre-later.deb")
        self.assertIn("running", root.run("cd work; nacre tasks"))
        root.run("cd work; echo it >go")
        out = root.run(f"cd work; nacre output --follow {identity}")
        self.assertIn("got it", out)
        self.assertIn('"exit_code":7', root.run("cd work; nacre tasks --json").replace(" ", ""))
        root.run("nacre audit verify")

    def test_programs_are_built_against_the_library(self):
        for suite in SUITES:
            with self.subTest(suite=suite):
                root = self.with_nacre(suite)
                root.put(ROOT / "examples" / "c" / "agent-shell.c")
                root.run("apt-get update >/dev/null; apt-get install -y --no-install-recommends gcc libc6-dev pkg-config "
                         f"/packages/{self.packages['libnacre0'].name} /packages/{self.packages['libnacre-dev'].name}")
                root.run("printf '#include <nacre.h>\\n#include <stdio.h>\\nint main(void) { return puts(nacre_version()) < 0; }\\n' >v.c; "
                         "gcc -o v v.c $(pkg-config --cflags --libs libnacre)")
                self.assertEqual(root.run("./v"), f"{self.version}\n")
                root.run("gcc -o agent /packages/agent-shell.c $(pkg-config --cflags --libs libnacre)")
                self.assertIn("libnacre.so.0", root.run("ldd ./agent"))


class Built(unittest.TestCase):
    """What can be said about the files themselves."""

    def setUp(self):
        self.packages = packages()
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="nacre-deb-"))
        self.addCleanup(shutil.rmtree, self.place)

    def unpack(self, name):
        subprocess.run(["dpkg-deb", "-x", self.packages[name], self.place / name], check=True)
        return self.place / name

    def test_lintian_finds_nothing_without_a_reason(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian: tools/setup release installs it")
        changes = roots.artefacts("nacre_VERSION_*.changes", "deb")[0]
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0",
                               # Of dpkg since 2022 and unknown to this lintian; the package of symbols repeats it.
                               "--suppress-tags", "unknown-field", changes],
                              capture_output=True, text=True, timeout=LONG)
        self.assertEqual((done.returncode, [line for line in done.stdout.splitlines() if line[:2] in ("E:", "W:")]), (0, []), done.stderr)

    def test_the_program_is_static_and_hardened(self):
        program = self.unpack("nacre") / "usr" / "bin" / "nacre"
        kind = subprocess.run(["file", program], capture_output=True, text=True, check=True).stdout
        self.assertIn("static-pie linked", kind)
        segments = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
        self.assertIn("GNU_RELRO", segments)
        self.assertRegex(segments, r"GNU_STACK\s+\S+ \S+ \S+ \S+ \S+ RW ")
        self.assertNotIn("INTERP", segments)
        dynamic = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=True).stdout
        self.assertNotRegex(dynamic, "RPATH|RUNPATH|NEEDED")
        self.assertLessEqual(program.stat().st_size, 4.5e6)
        self.assertNotIn(str(ROOT).encode(), program.read_bytes())

    def test_units_are_right(self):
        tree = self.unpack("nacre")
        for name in tree.rglob("*.service"):
            # The program of the unit has to be there to be right.
            name.write_text(name.read_text().replace("/usr/bin/nacre", str(tree / "usr/bin/nacre")))
        for where, who in (("usr/lib/systemd/user", ["--user"]), (self.system(tree), [])):
            for path in sorted((tree / where).glob("nacre*")):
                done = subprocess.run(["systemd-analyze", *who, "verify", path], capture_output=True, text=True, timeout=LONG,
                                      env={"PATH": roots.PATH, "XDG_RUNTIME_DIR": str(self.place), "HOME": str(self.place),
                                           "SYSTEMD_UNIT_PATH": f"{tree / where}:"})
                # The manual is not installed here, and the word is younger than this systemd.
                said = [line for line in done.stderr.splitlines()
                        if "DelegateSubgroup" not in line and "man nacre" not in line and "nacre" in line]
                self.assertEqual(said, [], path)

    @staticmethod
    def system(tree):
        return "usr/lib/systemd/system" if (tree / "usr/lib/systemd/system").exists() else "lib/systemd/system"

    def test_what_is_static_is_named_with_its_version(self):
        control = subprocess.run(["dpkg-deb", "-f", self.packages["nacre"], "Static-Built-Using"], capture_output=True, text=True,
                                 check=True).stdout
        for source in ("glibc", "jansson", "libyaml", "pcre2", "libvterm", "libsodium", "libmicrohttpd", "zlib", "c-ares"):
            self.assertRegex(control, rf"(^|, ){re.escape(source)} \(= \S+\)")


if __name__ == "__main__":
    unittest.main(verbosity=2)
