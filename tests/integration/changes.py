"""What the tests of changes share: pictures of trees, and command lines that nobody has thought of.

A line is run in plain bash in one tree, and tried and applied in another one: both must be the same then. After an
undo the second must be as it was before, to each byte, mode, time and inode.
"""
import json
import os
import pathlib
import random
import stat
import subprocess

NAMES = ("a", "b", "c", "d1", "d2", "e f", "x.txt", "y.py", "ü", "-dash")


def picture(root, exact=True):
    """Each path of a tree with all that a person can tell it by; EXACT: with times and inodes as well."""
    found = {}
    groups = {}
    for directory, names, files in os.walk(root):
        for name in [".", *names, *files] if directory == str(root) else [*names, *files]:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            line = [stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode)]
            if stat.S_ISLNK(st.st_mode):
                line = [stat.S_IFMT(st.st_mode), os.readlink(path)]
            elif stat.S_ISREG(st.st_mode):
                line.append(pathlib.Path(path).read_bytes())
                groups.setdefault(st.st_ino, []).append(os.path.relpath(path, root))
            if exact:
                line += [st.st_mtime_ns, 0 if stat.S_ISDIR(st.st_mode) else st.st_ino]
            found[os.path.relpath(path, root)] = tuple(line)
    if exact:
        found["links"] = sorted(sorted(paths) for paths in groups.values() if len(paths) > 1)
    return found


def difference(one, other):
    return {path: (one.get(path), other.get(path)) for path in sorted({*one, *other}) if one.get(path) != other.get(path)}


class Lines:
    """Command lines by a seed. Hard links are made, but never written through: the other names keep the old contents."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def path(self, depth=2):
        parts = [self.random.choice(NAMES) for _ in range(self.random.randint(1, depth))]
        return "./" + "/".join(parts)

    def one(self):
        pick, self.count = self.random.choice, self.count + 1
        p, q = (f"'{self.path()}'" for _ in range(2))
        text = f"t{self.count}-{self.random.randrange(10 ** 6)}"
        return pick([
            f"rm -rf {p}; mkdir -p $(dirname {p}) 2>/dev/null && echo {text} > {p}",
            f"[ -f {p} ] && [ $(stat -c %h {p}) = 1 ] && echo {text} >> {p}",
            f"[ -f {p} ] && cp --remove-destination {p} {p}.new && echo {text} >> {p}.new && mv {p}.new {p}",
            f"rm -rf {p}",
            f"mkdir -p {p}/sub/deep && echo {text} > {p}/sub/deep/file && touch -d @1600000000 {p}/sub",
            f"mv -T {p} {q}",
            f"[ -e {p} ] && [ ! -L {p} ] && chmod {pick(['700', '755', '744', '600', '640'])} {p}; [ -d {p} ] && chmod u+rwx {p}; true",
            f"ln -sfn {text} {q}",
            f"[ -f {p} ] && ln -f {p} {q}",
            f"cp -a {p} {q}",
            f"[ -f {p} ] && touch -d @{1500000000 + self.random.randrange(10 ** 8)} {p}",
            f"rm -rf {p}; mkdir -p {p}; echo {text} > {p}/anew",
            f"[ -f {p} ] && [ $(stat -c %h {p}) = 1 ] && truncate -s {self.random.randrange(200000)} {p}",
            f"mkfifo {p}",
            f"rm -rf {p}; echo {text} > {p}; mv {p} {q}; ln -s {q} {p}",
            f"find . -name {pick(['anew', 'file', 'a'])} -delete",
            f"tar cf t.tar {p} && rm -rf {p} && tar xf t.tar && rm t.tar",
            f"[ -f {p} ] && [ $(stat -c %h {p}) = 1 ] && sed -i 's/t/{self.random.randrange(10)}/' {p}",
            f"[ ! -p {p} ] && echo {text} > {p} && false",
            "true",
        ])


def in_bash(line, where, env):
    subprocess.run(["/bin/bash", "-c", line], cwd=where, env=env, check=False, timeout=60, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Tester:
    """Runs lines both ways in the directory TOP, which has the state directory as well, so that both are on one file system."""

    def __init__(self, top, nacre, env, seed, **options):
        self.native, self.work = top / "native", top / "viewed"
        self.nacre, self.lines, self.options = nacre, Lines(seed), options
        self.env = {**env, "NACRE_STATE_DIR": str(top / "undo-state"), "HOME": str(top)}
        for directory in (self.native, self.work):
            directory.mkdir()
            if "user" in options:
                os.chown(directory, options["user"], options["group"])
        for line in ("mkdir -p d1/d2 b; for i in 1 2 3; do echo $i > d1/a; echo $i > d1/d2/b; echo $i > x.txt; done; touch -d @1600000000 x.txt",):
            for directory in (self.native, self.work):
                self.plain(line, directory)

    def plain(self, line, where):
        subprocess.run(["/bin/bash", "-c", line], cwd=where, env=self.env, check=False, timeout=60, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.options)

    def call(self, *args):
        done = subprocess.run([self.nacre, *args], cwd=self.work, env=self.env, check=False, timeout=300, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.options)
        return done

    def expect(self, *args):
        done = self.call(*args)
        assert done.returncode == 0, (args, done.returncode, done.stdout, done.stderr)

    def compare(self, line, what, one, other):
        left = difference(one, other)
        assert not left, f"line {self.lines.count}: {line}\n{what}: {left}"

    def step(self):
        line = self.lines.one()
        before = picture(self.work)
        self.plain(line, self.native)
        done = self.call("try", "--json", "-c", line)
        result = done.stdout.splitlines()
        assert result, (line, done.stderr)
        task = json.loads(result[0])
        self.compare(line, "the view changed the workspace", before, picture(self.work))
        assert "changes" in task and task["changes"]["state"] in ("kept", "none"), (line, task, done.stderr)
        if task["changes"]["state"] == "kept":
            assert not task["changes"]["conflicts"], (line, task["changes"])
            for again in range(2):
                self.expect("apply", task["task_id"])
                self.compare(line, "natively, and applied", picture(self.native, False), picture(self.work, False))
                if again == 0:
                    self.expect("undo", task["task_id"])
                    self.compare(line, "before, and after undo", before, picture(self.work))
        else:
            self.compare(line, "natively, and in a view that changed nothing", picture(self.native, False), picture(self.work, False))
