"""What is released, as far as it shows in seconds and without a network: version, sources, list of parts, npm, signatures.

tests/release has the rest (make release-test): fresh systems, images, a second build, another machine.
"""
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import unittest

from helpers import DEADLINE, NACRE, ROOT, SANITIZED, NacreTest

TOOLS = ROOT / "tools"
IN_GIT = (ROOT / ".git").exists() and shutil.which("git")


class ReleaseTest(NacreTest):
    def tool(self, *words, cwd=None, code=0, **environment):
        done = subprocess.run([str(word) for word in words], cwd=cwd or self.dir, capture_output=True, text=True, timeout=DEADLINE,
                              env={**self.env, "SOURCE_DATE_EPOCH": "1700000000", **environment})
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def repository(self):
        """A small repository with the tools in it, so that tags and commits are ours to make."""
        tree = self.dir / "tree"
        (tree / "tools").mkdir(parents=True)
        for name in ("version", "release"):
            shutil.copy(TOOLS / name, tree / "tools" / name)
        (tree / "debian").mkdir()
        for name in ("clients/python/pyproject.toml", "clients/python/nacre/__init__.py", "clients/typescript/package.json"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
        number = self.tool(TOOLS / "version", "--number").strip()
        (tree / "meson.build").write_text(f"project('nacre', 'c',\n  version: '{number}',\n)\n")
        (tree / "NEWS.md").write_text(f"# News\n\n## {number} (2026-11-18)\n")
        (tree / "debian" / "changelog").write_text(f"nacre ({number}) unstable; urgency=medium\n")
        self.tool("git", "init", "-q", "-b", "main", tree)
        self.commit(tree, "one")
        return tree, number

    def commit(self, tree, words):
        self.tool("git", "-C", tree, "add", "-A")
        self.tool("git", "-C", tree, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", words)


@unittest.skipUnless(shutil.which("git"), "git: it is not installed")
class Version(ReleaseTest):
    def test_a_release_has_the_number_and_others_their_commit(self):
        tree, number = self.repository()
        commit = self.tool("git", "-C", tree, "rev-parse", "HEAD").strip()
        self.assertEqual(self.tool(tree / "tools/version"), f"{number}+g{commit[:10]}\n")
        self.tool("git", "-C", tree, "tag", f"v{number}")
        self.assertEqual(self.tool(tree / "tools/version"), f"{number}\n")
        self.commit(tree, "two")
        self.assertIn("+g", self.tool(tree / "tools/version"))

    def test_without_history_it_says_so_unless_an_archive_knows(self):
        tree, number = self.repository()
        shutil.rmtree(tree / ".git")
        self.assertEqual(self.tool(tree / "tools/version"), f"{number}+unknown\n")
        (tree / ".version").write_text(f"{number}+gabc\n")
        self.assertEqual(self.tool(tree / "tools/version"), f"{number}+gabc\n")
        (tree / ".version").write_text("9.9.9\n")
        self.assertEqual(self.tool(tree / "tools/version"), f"{number}+unknown\n", "of another tree")

    def test_a_tree_inside_another_repository_is_not_that_one(self):
        tree, number = self.repository()
        inner = tree / "inner"
        shutil.copytree(tree / "tools", inner / "tools")
        shutil.copy(tree / "meson.build", inner)
        self.assertEqual(self.tool(inner / "tools/version"), f"{number}+unknown\n")

    def test_the_program_says_it_at_every_door(self):
        said = self.tool(NACRE, "--version").strip()
        number = self.tool(TOOLS / "version", "--number").strip()
        self.assertRegex(said, rf"^nacre {re.escape(number)}(\+(g[0-9a-f]{{10}}|unknown))?$")
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        done = subprocess.run([NACRE, "mcp"], input=json.dumps(hello) + "\n", capture_output=True, text=True, timeout=DEADLINE, env=self.env,
                              cwd=self.work)
        self.assertEqual(json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["version"], said.split()[1])

    def test_check_names_everything_that_is_missing(self):
        tree, number = self.repository()
        self.assertIn(f"no tag v{number}", self.tool(tree / "tools/release", "check", code=1))
        self.tool("git", "-C", tree, "tag", f"v{number}")
        self.tool(tree / "tools/release", "check")
        self.tool(tree / "tools/release", "check", "--tag", f"v{number}")
        self.assertIn("the tag is v9.9.9", self.tool(tree / "tools/release", "check", "--tag", "v9.9.9", code=1))
        (tree / "NEWS.md").write_text(f"# News\n\n## {number} (unreleased)\n")
        (tree / "debian" / "changelog").write_text("nacre (0.0.1) UNRELEASED; urgency=medium\n")
        (tree / "clients/python/pyproject.toml").write_text('version = "3.0.0"\n')
        text = self.tool(tree / "tools/release", "check", code=1)
        for words in ("files differ", "(YYYY-MM-DD)", "debian/changelog says 0.0.1", "UNRELEASED", "pyproject.toml says 3.0.0"):
            self.assertIn(words, text)


@unittest.skipUnless(IN_GIT, "git: this tree has no history")
class Sources(ReleaseTest):
    def test_two_archives_are_the_same_bytes(self):
        made = []
        for zone, mask in (("UTC", 0o022), ("Asia/Kathmandu", 0o077)):
            out = self.dir / zone.replace("/", "-")
            before = os.umask(mask)
            try:
                self.tool(TOOLS / "release", "source", "--out", out, TZ=zone)
            finally:
                os.umask(before)
            [path] = out.iterdir()
            made.append(path.read_bytes())
        self.assertEqual(hashlib.sha256(made[0]).hexdigest(), hashlib.sha256(made[1]).hexdigest())
        name = path.name[:-len(".tar.gz")]
        with tarfile.open(path) as tar:
            self.assertEqual({entry.mtime for entry in tar}, {1700000000})
            self.assertEqual(f"nacre-{tar.extractfile(f'{name}/.version').read().decode().strip()}", name)
            self.assertIn(f"{name}/src/main.c", tar.getnames())


@unittest.skipIf(SANITIZED, "linked otherwise")
class Parts(ReleaseTest):
    def linker_map(self):
        path = pathlib.Path(NACRE).with_name("nacre.map")
        if not path.exists():
            self.skipTest("map: this nacre was not linked here")
        if not shutil.which("dpkg-query"):
            self.skipTest("dpkg: there are no packages here")
        return path

    def test_every_static_library_is_listed(self):
        path = self.linker_map()
        document = json.loads(self.tool(TOOLS / "sbom", NACRE, path, cwd=path.parent))
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        parts = {part["name"]: part for part in document["packages"]}
        linked = set(re.findall(r"^/[^\s()]*/(lib[\w.+-]+)\.a\(", path.read_text(errors="replace").split("\nMemory Configuration")[0], re.MULTILINE))
        listed = {name[:-2] for part in parts.values() for name in part.get("comment", "").partition(": ")[2].split(", ") if name}
        self.assertEqual(listed, linked)
        for name in ("libc6-dev", "libjansson-dev", "libyaml-dev", "libpcre2-dev", "libvterm-dev", "libsodium-dev", "libmicrohttpd-dev",
                     "libc-ares-dev", "zlib1g-dev"):
            self.assertRegex(parts[name]["versionInfo"], "[0-9]")
        self.assertIn("LGPL-2.1", parts["libmicrohttpd-dev"]["licenseDeclared"])
        [binary] = document["files"]
        sums = {sum_["algorithm"]: sum_["checksumValue"] for sum_ in binary["checksums"]}
        self.assertEqual(sums["SHA256"], hashlib.sha256(pathlib.Path(NACRE).read_bytes()).hexdigest())
        identities = [part["SPDXID"] for part in (*document["packages"], *document["files"])]
        self.assertEqual(len(set(identities)), len(identities))
        for relation in document["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], identities)

    def test_what_no_package_has_is_an_error(self):
        path = self.linker_map()
        stranger = self.dir / "map"
        stranger.write_text(f"{self.dir}/libstranger.a(x.o)\n" + path.read_text(errors="replace"))
        self.assertIn("no package has", self.tool(TOOLS / "sbom", NACRE, stranger, code=1))

    def test_no_function_loads_libraries_at_run_time(self):
        """A static getaddrinfo or getpwnam would load what nsswitch.conf names, of another C library."""
        if not shutil.which("nm"):
            self.skipTest("nm: it is not installed")
        names = subprocess.run(["nm", NACRE], capture_output=True, text=True, check=True).stdout
        for name in ("getaddrinfo", "gethostbyname", "getpwnam", "getpwuid", "getgrnam", "dlopen"):
            self.assertNotRegex(names, rf"(?m) T {name}$")


class Npm(ReleaseTest):
    def archive(self):
        """A tarball as tools/release makes it, with the nacre that is tested."""
        version = self.tool(TOOLS / "version").strip()
        out = self.dir / "dist"
        out.mkdir()
        name = f"nacre-{version}-linux-{os.uname().machine}"
        with tarfile.open(out / f"{name}.tar.gz", "w:gz") as tar:
            tar.add(NACRE, f"{name}/bin/nacre")
        return out, version.replace("+", "-")

    def test_the_wrapper_becomes_the_program_where_npm_puts_it(self):
        kind = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine)
        if not kind:
            self.skipTest("machine: there is no package for it")
        out, number = self.archive()
        self.tool(TOOLS / "release", "npm", "--out", out)
        with tarfile.open(out / f"nacre-{number}.tgz") as tar:
            described = json.load(tar.extractfile("package/package.json"))
            tar.extractall(self.dir / "main")
        self.assertEqual(described["optionalDependencies"], {f"@nacre/linux-{kind}": number})
        with tarfile.open(out / f"nacre-linux-{kind}-{number}.tgz") as tar:
            tar.extractall(self.dir / "platform")
        said = self.tool(NACRE, "--version")
        for name, inner in (("hoisted", "node_modules/@nacre"), ("nested", "node_modules/nacre/node_modules/@nacre")):
            place = self.dir / name
            shutil.copytree(self.dir / "main" / "package", place / "node_modules" / "nacre")
            (place / inner).mkdir(parents=True)
            (place / inner / f"linux-{kind}").symlink_to(self.dir / "platform" / "package")
            (place / "node_modules" / ".bin").mkdir()
            (place / "node_modules" / ".bin" / "nacre").symlink_to("../nacre/bin/nacre")
            self.assertEqual(self.tool(place / "node_modules/.bin/nacre", "--version"), said, name)
        shutil.rmtree(self.dir / "hoisted/node_modules/@nacre")
        self.assertIn("--omit=optional", self.tool(self.dir / "hoisted/node_modules/.bin/nacre", "--version", code=125))

    def test_the_archives_depend_on_nothing_of_this_moment(self):
        out, number = self.archive()
        made = []
        for zone in ("UTC", "America/St_Johns"):
            self.tool(TOOLS / "release", "npm", "--out", out, TZ=zone)
            made.append((out / f"nacre-{number}.tgz").read_bytes())
        self.assertEqual(*made)
        self.assertEqual(made[0][4:8], b"\0\0\0\0", "gzip's own time")
        self.assertIn(b"package/package.json", gzip.decompress(made[0]))


class Signatures(ReleaseTest):
    def setUp(self):
        super().setUp()
        self.out = self.dir / "dist"
        self.out.mkdir()
        (self.out / "nacre-1.tar.gz").write_bytes(b"one")

    def test_ssh_verifies_and_a_changed_byte_does_not(self):
        if not shutil.which("ssh-keygen"):
            self.skipTest("ssh: ssh-keygen is not installed")
        key = self.dir / "key"
        self.tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        self.tool(TOOLS / "release", "sums", "--out", self.out, NACRE_SSH_KEY=str(key))
        allowed = self.dir / "allowed"
        allowed.write_text(f"release {key.with_suffix('.pub').read_text()}")
        sums = self.out / "SHA256SUMS"

        def verify():
            with open(sums, "rb") as file:
                return subprocess.run(["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "release", "-n", "file", "-s",
                                       f"{sums}.sig"], stdin=file, capture_output=True, timeout=DEADLINE).returncode
        self.assertEqual(verify(), 0)
        self.tool("sha256sum", "--quiet", "-c", "SHA256SUMS", cwd=self.out)
        data = bytearray(sums.read_bytes())
        data[0] ^= 1
        sums.write_bytes(data)
        self.assertNotEqual(verify(), 0)

    def test_minisign_verifies_and_a_changed_byte_does_not(self):
        if not shutil.which("minisign"):
            self.skipTest("minisign: it is not installed")
        key, public = self.dir / "secret", self.dir / "public"
        self.tool("minisign", "-G", "-W", "-s", key, "-p", public)
        self.tool(TOOLS / "release", "sums", "--out", self.out, NACRE_MINISIGN_KEY=str(key))
        sums = self.out / "SHA256SUMS"
        self.tool("minisign", "-V", "-p", public, "-m", sums)
        sums.write_bytes(sums.read_bytes().replace(b"nacre-1", b"nacre-2"))
        self.tool("minisign", "-V", "-p", public, "-m", sums, code=1)


class Files(unittest.TestCase):
    def test_the_filter_for_containers_allows_what_a_sandbox_is_made_of(self):
        filter_ = json.loads((ROOT / "contrib/seccomp/nacre.json").read_text())
        allowed, refused = (set(rule["names"]) for rule in filter_["syscalls"])
        self.assertFalse(allowed & refused)
        self.assertLessEqual({"clone", "clone3", "mount", "umount2", "pivot_root", "mount_setattr", "open_tree", "move_mount", "fsopen",
                              "fsconfig", "fsmount", "seccomp", "landlock_restrict_self", "close_range", "openat2"}, allowed)
        self.assertLessEqual({"bpf", "init_module", "kexec_load", "keyctl", "open_by_handle_at", "reboot", "swapon", "userfaultfd"}, refused)
        self.assertEqual((filter_["defaultAction"], filter_["defaultErrnoRet"]), ("SCMP_ACT_ERRNO", 38))

    def test_units_take_nothing_that_the_sandbox_needs(self):
        for path in (ROOT / "contrib/systemd").glob("*.service"):
            for line in path.read_text().splitlines():
                self.assertNotRegex(line, "^(ProtectKernelTunables|ProtectProc|ProcSubset|PrivateUsers|RestrictNamespaces|RestrictSUIDSGID"
                                          "|NoNewPrivileges|MemoryDenyWriteExecute|DynamicUser)=", path.name)
            self.assertIn("KillMode=process\nDelegate=yes\n", path.read_text())

    def test_nothing_updates_itself_or_calls_home(self):
        listed = subprocess.run([NACRE, "--help"], capture_output=True, text=True, check=True, timeout=DEADLINE).stdout
        self.assertNotRegex(listed, r"(?m)^  (upgrade|update|self-update)\b")


if __name__ == "__main__":
    unittest.main()
