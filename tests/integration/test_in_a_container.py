"""docs/in-a-container.md: nacre itself in containers of docker and podman: the tier of each setting, and what runs there."""
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import pathlib
import unittest

import engines
from helpers import DEADLINE, NACRE, ROOT, SANITIZED, wait_until

PAGE = (ROOT / "docs" / "in-a-container.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "container"
IMAGE = "nacre-test/inside:1"
PROGRAMS = ("sh", "ls", "cat", "grep", "find", "install", "pwd", "sort", "sed")
LIMITS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096")  # podman wants more than it may have, in a container
ENGINES = None
WHY_NOT = None


def libraries(program):
    """The paths that the loader names."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, timeout=DEADLINE).stdout
    return re.findall(r"(/\S+)(?= \(0x)", out)


def make_root(root):
    """A small system of this machine's own programs, laid out as Debian's."""
    for name in ("etc", "tmp", "proc", "sys", "dev", "root", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/local/bin", "var/lib"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "tmp").chmod(0o1777)
    (root / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\nsecret-of-the-image:x:1000:1000::/work:/bin/sh\n")
    for name in PROGRAMS:
        path = shutil.which(name, path=engines.PATH)
        shutil.copy(path, root / "usr" / "bin" / name)
        for library in libraries(path):
            target = root / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copy(library, target)


def setUpModule():
    global ENGINES, WHY_NOT
    if os.geteuid() != 0:
        WHY_NOT = "root: dockerd and podman with networks of their own are started by root only"
    elif SANITIZED:
        WHY_NOT = "sanitizer: the binary needs libraries that the image does not have"
    elif not engines.have("dockerd", "docker", "podman", "runc", "ldd"):
        WHY_NOT = "docker: dockerd, docker, podman or runc is not installed (tools/setup test)"
    if WHY_NOT:
        return
    ENGINES = engines.Engines()
    unittest.addModuleCleanup(ENGINES.close)
    ENGINES.start("d")
    wait_until("dockerd answers", lambda: subprocess.run([engines.CLIENT, "-H", f"unix://{ENGINES.docker_socket}", "version"], check=False,
                                                         capture_output=True, timeout=DEADLINE).returncode == 0)
    build()


def build():
    """The image of examples/container/Dockerfile, on a system that needs no registry; podman gets the same."""
    root = pathlib.Path(tempfile.mkdtemp(dir=ENGINES.dir))
    make_root(root / "system")
    subprocess.run(["tar", "-C", root / "system", "-cf", root / "system.tar", "."], check=True)
    ENGINES.call("docker", "import", str(root / "system.tar"), "nacre-test/system:1")
    shutil.copytree(EXAMPLE, root / "context")
    shutil.copy(NACRE, root / "context" / "nacre")
    done = subprocess.run([engines.CLIENT, "-H", f"unix://{ENGINES.docker_socket}", "build", "--network=none", "--build-arg", "BASE=nacre-test/system:1",
                           "--build-arg", "PACKAGES=", "-t", IMAGE, root / "context"], capture_output=True, text=True, check=False, timeout=DEADLINE,
                          env={"PATH": engines.PATH, "HOME": str(ENGINES.dir), "DOCKER_BUILDKIT": "0"})
    assert done.returncode == 0, done.stdout + done.stderr
    ENGINES.call("docker", "save", "-o", str(root / "image.tar"), IMAGE)
    ENGINES.call("podman", "load", "-q", "-i", str(root / "image.tar"))


def rows():
    """Setting, tier, and whether readonly runs, of the page's table."""
    return re.findall(r"^\| `((?:docker|podman) run[^`]*)` \| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)


class InAContainer(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="nacre-inside-"))
        self.addCleanup(shutil.rmtree, self.work)
        (self.work / "a.txt").write_text("one TODO\n")
        self.work.chmod(0o777)

    def run_in(self, setting, *words, policy=True):
        """What `nacre WORDS` says in a container of this setting."""
        engine, _, *options = shlex.split(setting)
        image = IMAGE if engine == "docker" else f"localhost/{IMAGE}"
        if "1000" not in options:
            options += ["--user", "0"]  # the image's own user is 1000
        if engine == "podman":
            options += LIMITS
        if not policy:
            options += ["--tmpfs", "/etc/nacre" + (":notmpcopyup" if engine == "podman" else "")]
        program = [engines.CLIENT, "-H", f"unix://{ENGINES.docker_socket}"] if engine == "docker" else ["podman"]
        return subprocess.run([*program, "run", "--rm", "--network=none", "-v", f"{self.work}:/work", *options, image, *words], capture_output=True, text=True,
                              check=False, timeout=DEADLINE, env={"PATH": engines.PATH, "HOME": str(ENGINES.dir), **ENGINES.environment()})

    def test_each_setting_gives_its_tier(self):
        self.assertGreater(len(rows()), 7)
        for setting, tier, readonly in rows():
            if "seccomp=/" in setting and not os.path.exists(re.search(r"seccomp=(/\S+)", setting)[1]):
                continue
            with self.subTest(setting=setting):
                done = self.run_in(setting, "doctor", "--json", policy=False)
                self.assertTrue(done.stdout, done)
                told = json.loads(done.stdout)
                self.assertEqual(told["tier"], tier, done)
                alone = self.run_in(setting, "call", "run_shell", '{"command": "grep -r TODO a.txt"}', policy=False)
                self.assertEqual(json.loads(alone.stdout)["success"], readonly == "yes", alone)
                if readonly != "yes":
                    answer = json.loads(alone.stdout)
                    self.assertEqual((answer["returncode"], answer["stdout"]), (125, ""), answer)
                    self.assertIn("requires the sandbox layer 'programs'", answer["stderr"])
                    self.assertIn("in-a-container.md", answer["stderr"])
                    self.assertIn(answer["stderr"].split(": ", 1)[1].split(" needs")[0][:40], PAGE)
                helped = self.run_in(setting, "call", "run_shell", '{"command": "grep -r TODO a.txt"}')
                self.assertEqual(json.loads(helped.stdout), {"success": True, "stdout": "one TODO\n", "stderr": "", "returncode": 0}, helped)

    def test_what_the_page_says_holds_without_namespaces(self):
        setting = "docker run --user 1000"
        requests = [("rm a.txt", 126), ("ls | cat", 126), ("find . -exec ls {} +", 126), ("sort -o x a.txt", 126), ("sed -i s/one/two/ a.txt", 126),
                    ("cat /etc/passwd", 126), ("cat ../etc/passwd", 126), ("cat a.txt", 0), ("ls -la", 0)]
        (self.work / "link").symlink_to("/etc/passwd")
        requests.append(("cat link", 126))
        lines = " ".join(shlex.quote(json.dumps({"id": n, "command": line})) for n, (line, _) in enumerate(requests))
        done = self.run_in(f"{setting} --entrypoint sh", "-c", f"for r in {lines}; do echo \"$r\"; done | nacre run --profile readonly --batch")
        answers = [answer["result"] for answer in sorted(map(json.loads, done.stdout.splitlines()), key=lambda answer: answer["id"])]
        self.assertEqual(len(answers), len(requests), done)
        for (line, code), answer in zip(requests, answers):
            self.assertEqual(answer["exit_code"], code, (line, answer))
            self.assertNotIn("secret-of-the-image", json.dumps(answer))
            if code == 0:
                self.assertEqual(answer["sandbox"]["tier"], "landlock")
                self.assertLessEqual({"landlock", "seccomp", "network", "no_new_privs"}, set(answer["sandbox"]["layers"]))
        self.assertEqual((self.work / "a.txt").read_text(), "one TODO\n")

    def test_nothing_can_be_written_where_no_word_shows_it(self):
        """As a person who waives the word check would see it: the kernel's layers alone."""
        (self.work / "loose.yaml").write_text("profile: readonly\nremove: ['sandbox.require:programs']\nsandbox: {require: [landlock, seccomp]}\n"
                                              "default: allow\nunknown: allow\neffects: {allow: [write, exec, network]}\n")
        done = self.run_in("docker run --user 1000", "run", "--json", "--policy", "loose.yaml", "--profile", "readonly", "--", "install", "a.txt", "b.txt")
        self.assertFalse((self.work / "b.txt").exists(), done)
        self.assertNotEqual(done.returncode, 0, done)

    def test_the_image_serves_as_the_compose_file_and_the_pod_say(self):
        compose, pod = (EXAMPLE / "compose.yaml").read_text(), (EXAMPLE / "pod.yaml").read_text()
        told = re.search(r"command: \[(.*)\]", compose)[1]
        words = [word.strip().strip('"') for word in told.split(", ")]
        args = [word.strip().strip('"') for word in re.search(r"args: \[(.*)\]", pod)[1].split(", ")]
        for each in (words, args):
            done = self.run_in("docker run --user 1000 --cap-drop ALL --read-only --tmpfs /tmp --entrypoint sh", "-c",
                               f"nacre {shlex.join(each)} & n=0; until nacre token list >/dev/null && ls /var/lib/nacre/token; do n=$((n+1)); "
                               "[ $n -lt 3000 ] || exit 9; done; nacre call run_shell '{\"command\": \"ls\"}'; kill $!; wait")
            self.assertIn('"stdout":"a.txt\\n"', done.stdout, done)
            self.assertIn("listening on http://", done.stderr)

    def test_files_of_a_config_map_are_read(self):
        """They are links to links, as Kubernetes mounts them."""
        top = self.work / "policy"
        (top / "..2026").mkdir(parents=True)
        shutil.copy(EXAMPLE / "readonly.yaml", top / "..2026")
        (top / "..data").symlink_to("..2026")
        (top / "readonly.yaml").symlink_to("..data/readonly.yaml")
        (self.work / "w").mkdir()
        done = self.run_in(f"docker run --user 1000 -v {top}:/etc/nacre:ro", "call", "--workspace", "/work/w", "run_shell", '{"command": "pwd"}')
        self.assertEqual(json.loads(done.stdout)["stdout"], "/work/w\n", done)


if __name__ == "__main__":
    unittest.main(verbosity=2)
