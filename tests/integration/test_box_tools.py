"""The real tools of a developer's day inside the box, under the profiles that promise them.

Each runs as root (whose workspace is given by an idmapped mount) and as an ordinary user, and what it made
is looked at from outside: the right owner, the right content.
"""
import os
import shutil
import unittest

from box_tools import BoxTools, needs

COMMIT = ("GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A "
          "GIT_COMMITTER_EMAIL=a@example.org git commit -q -m")


class Git:
    def test_git(self):
        needs("git")

        def check(options):
            self.line(f"git init -q . && echo one >a.txt && git add . && {COMMIT} first", options)
            self.assertEqual(self.line("git status --porcelain", options), "")
            text = self.line("echo two >>a.txt; mkdir d; echo x >d/b.txt; git add .; git status --short; "
                             "git mv a.txt c.txt; "
                             f"{COMMIT} second; git log --oneline | wc -l; git diff HEAD~1 --stat | tail -1",
                             options)
            self.assertIn("M  a.txt\nA  d/b.txt\n2\n", text)
            self.assertIn("git status", self.line("git checkout -q -b topic && git stash list && echo git status", options))
            self.expect_owner(self.work / ".git" / "HEAD", options)
        self.every(check)

    def test_git_status_leaves_no_ghosts(self):
        """What is protected but missing does not show up as an empty file."""
        needs("git")

        def check(options):
            self.line("git init -q . && git status --porcelain --ignored", options)
            self.assertEqual(self.line("git status --porcelain --ignored; ls -A", options).split(), [".git"])
            self.assertEqual(os.listdir(self.work), [".git"])
        self.every(check)


class Build:
    def test_gcc_and_make(self):
        needs("gcc", "make")

        def check(options):
            (self.work / "main.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); }\n')
            (self.work / "Makefile").write_text("hello: main.c\n\tgcc -O2 -Wall -o $@ $<\n")
            self.assertIn("hello\n", self.line("make -j2 && ./hello", options))
            self.expect_owner(self.work / "hello", options)
            (self.work / "hello").unlink()
        self.every(check)

    def test_npm_install_of_a_local_package(self):
        needs("npm", "node")

        def check(options):
            package = self.work / "package"
            package.mkdir()
            (package / "package.json").write_text('{"name": "local-thing", "version": "1.0.0", "main": "i.js",'
                                                  '"bin": {"local-thing": "i.js"}}')
            (package / "i.js").write_text("#!/usr/bin/env node\nmodule.exports = 42; console.log('local', 6 * 7)\n")
            (self.work / "package.json").write_text(
                '{"name": "app", "version": "1.0.0", "scripts": {"show": "local-thing"}}')
            self.line("npm install --offline --no-audit --no-fund ./package", options)
            self.assertIn("local 42", self.line("npm run show", options))
            self.assertIn("local 42", self.line("node -e 'require(\"local-thing\")'", options))
        self.every(check)

    def test_python_venv(self):
        needs("python3")

        def check(options):
            self.line("/usr/bin/python3 -m venv --without-pip env", options)
            text = self.line("env/bin/python -c 'import sys; print(sys.prefix)'", options)
            self.assertEqual(text, f"{self.work}/env\n")
            self.line("/usr/bin/python3 -m venv full && full/bin/pip --version", options)
        self.every(check)


class Tools:
    def test_sqlite(self):
        needs("sqlite3")

        def check(options):
            text = self.line("sqlite3 x.db 'pragma journal_mode=wal; create table t(a); insert into t values (1), (2); "
                             "select sum(a) from t' && sqlite3 x.db 'select count(*) from t'", options)
            self.assertEqual(text, "wal\n3\n2\n")
        self.every(check)

    def test_editors_and_pagers_without_a_terminal(self):
        needs("vim", "less")

        def check(options):
            (self.work / "t.txt").write_text("one\ntwo\n")
            self.line("vim -es -u NONE -c '%s/one/three/' -c wq t.txt", options)
            self.assertEqual((self.work / "t.txt").read_text(), "three\ntwo\n")
            self.assertEqual(self.line("less t.txt | cat; man -P cat ls >/dev/null 2>&1; echo end", options),
                             "three\ntwo\nend\n")
        self.every(check)

    def test_tar_find_xargs_mktemp(self):
        def check(options):
            text = self.line(
                "mkdir -p d/e && echo x >d/e/f && tar czf a.tgz d && rm -r d && tar xzf a.tgz && "
                "find d -type f -print0 | xargs -0 cat && t=$(mktemp) && echo y >$t && cat $t && "
                "cp -a d copy && diff -r d copy && echo same", options)
            self.assertEqual(text, "x\ny\nsame\n")
        self.every(check)

    def test_shell_features(self):
        def check(options):
            text = self.line("diff <(echo a) <(echo a) && echo same; cat <<E\nhere\nE\n"
                             "cat <<<string; echo x | tee >(cat >copy) >/dev/null; "
                             "[ -w /dev/null ] && echo null; head -c 4 /dev/urandom | wc -c; "
                             "(echo >/dev/tty) 2>/dev/null || echo no terminal", options)
            self.assertEqual(text, "same\nhere\nstring\nnull\n4\nno terminal\n")
        self.every(check)

    def test_a_server_and_its_client_on_the_own_loopback(self):
        needs("node")

        def check(options):
            (self.work / "s.js").write_text(
                "const http = require('http');\n"
                "const s = http.createServer((q, r) => r.end('pong'));\n"
                "s.listen(0, '127.0.0.1', () => http.get({port: s.address().port, host: '127.0.0.1'}, r => {\n"
                "  r.on('data', d => console.log(String(d))); r.on('end', () => s.close()); }));\n")
            self.assertEqual(self.line("node s.js", options), "pong\n")
        self.every(check)

    def test_what_the_machine_is_like(self):
        """Processors and packages are told; disks, interfaces and serial numbers are not."""
        def check(options):
            self.assertIn(f"{os.sysconf('SC_NPROCESSORS_CONF')} ", self.line(
                "python3 -c 'import os; print(os.sysconf(\"SC_NPROCESSORS_CONF\"), os.cpu_count())'", options))
            self.assertIn("CPU(s):", self.line("lscpu", options))
            self.assertEqual(self.line("lsblk 2>&1", options), "")
            self.assertEqual(self.line("ls /sys /sys/devices /sys/devices/system; ls -A /sys/dev/block", options).split(),
                             ["/sys:", "class", "dev", "devices", "/sys/devices:", "system", "/sys/devices/system:",
                              *sorted(n for n in ("cpu", "node") if os.path.isdir(f"/sys/devices/system/{n}"))])
            self.assertEqual(self.line("ls -A /sys/class /sys/class/net /sys/class/net/lo", options).split(),
                             ["/sys/class:", "net", "/sys/class/net:", "lo", "/sys/class/net/lo:"])
            refused = self.line("touch /sys/x /sys/devices/system/cpu/x /var/lib/dpkg/x /var/lib/x; "
                                "echo 1 >/sys/devices/system/cpu/cpu0/online; echo end", options)
            self.assertEqual(refused, "end\n")
        needs("lscpu", "lsblk")
        self.every(check)

    def test_packages(self):
        def check(options):
            for line in ("dpkg -l coreutils", "dpkg -S /bin/ls", "apt-cache policy coreutils", "dpkg -L coreutils",
                         "apt-mark showmanual", "dpkg-query -W -f '${Version}' coreutils"):
                self.assertTrue(self.line(line, options).strip(), line)
            self.assertEqual(self.line("ls -A /var/cache | grep -vxE 'apt|fontconfig|man'; ls -A /var/cache/apt | grep -v '[.]bin$'; true",
                                       options), "")
        needs("dpkg", "apt-cache")
        self.every(check)

    def test_who_am_i(self):
        """Programs that look themselves up find a name and a home that they can write to."""
        def check(options):
            text = self.line("whoami >/dev/null && cd && touch x && rm x && [ -n \"$HOME\" ] && echo ok", options)
            self.assertEqual(text, "ok\n")
        self.every(check)


class Bash(Git, Build, Tools, BoxTools):
    PROFILE = "bash"


class Universal(Git, Build, Tools, BoxTools):
    PROFILE = "universal"


del BoxTools

if __name__ == "__main__":
    unittest.main()
