"""The images, run by a real podman and a real dockerd: which flags give which tier, and that they work.

The table is that of docs/containers.md; a test compares the two.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile
import unittest

import roots
from roots import ROOT, LONG

sys.path.insert(0, str(ROOT / "tests" / "integration"))
from engines import Engines, have  # noqa: E402

SECCOMP = ROOT / "contrib" / "seccomp" / "nacre.json"
TABLE = ROOT / "docs" / "containers.md"
# Networks of an engine would want the machine's own, and logs a journal.
QUIET = ["--rm", "--network", "none", "--ulimit", "nofile=512:512"]
OURS = ["--ulimit", "nproc=256:256"]  # podman asks for more than the limits of some machines


def rows():
    """(engine, flags, tier) of the table."""
    for engine, flags, tier in re.findall(r"^\| (podman|docker) \| `?([^|`]*)`? \| (strict|landlock|none) \|", TABLE.read_text(), re.MULTILINE):
        yield engine, "" if flags.strip() == "none" else flags.strip(), tier


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("root: the engines need it")
        if not have("podman", "runc"):
            raise unittest.SkipTest("podman: it is not installed")
        cls.core = roots.artefacts("nacre-VERSION-core-*.oci.tar", "oci")[0]
        cls.engines = Engines()
        cls.engines.start("podman")  # it has written its settings by then
        cls.tags = {}

    @classmethod
    def tearDownClass(cls):
        cls.engines.close()

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nacre-oci-"))
        self.dir.chmod(0o777)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def engine(self, name):
        if name == "docker" and not have("dockerd"):
            self.skipTest("docker: it is not installed")
        if name == "docker" and "d" not in self.engines.pids:
            self.engines.start("d")
        return name

    def load(self, engine, archive):
        """The name of the image in the engine."""
        key = (engine, archive)
        if key not in self.tags:
            if engine == "docker":
                self.wait_for_docker()
            out = self.engines.call(engine, "load", "-i", str(archive))
            self.tags[key] = re.search(r"Loaded image.*?: (\S+)", out)[1]
        return self.tags[key]

    def wait_for_docker(self):
        from helpers import wait_until

        def answers():
            try:
                return self.engines.call("docker", "version")
            except Exception:  # noqa: BLE001: it is not there yet
                return None
        wait_until("dockerd answers", answers)

    def run_image(self, engine, image, flags, *words):
        return self.engines.call(engine, "run", *QUIET, *(OURS if engine == "podman" else []), *flags, image, *words, check=True)

    def userland(self):
        wanted = f"nacre-{roots.version()}-{os.uname().machine}.oci.tar"
        if not (roots.OUT / wanted).exists():
            roots.release("oci", "--userland", "--out", roots.OUT)
        return roots.OUT / wanted

    def tier(self, engine, flags):
        image = self.load(engine, self.core)
        words = [word.replace("nacre.json", str(SECCOMP)) for word in flags.split()]
        try:
            out = self.run_image(engine, image, words, "doctor", "--json")
        except Exception as error:  # noqa: BLE001: doctor's status 1 comes with its answer
            out = getattr(error, "stdout", None) or ""
            if not out:
                raise AssertionError(f"{engine} {flags}: {getattr(error, 'stderr', error)}") from error
        return json.loads(out)["tier"]

    def test_each_row_of_the_table_is_true(self):
        found = list(rows())
        self.assertGreater(len(found), 6)
        for engine, flags, tier in found:
            with self.subTest(engine=engine, flags=flags):
                self.assertEqual(self.tier(self.engine(engine), flags), tier)

    def test_it_runs_commands_with_the_userland(self):
        image = self.load("podman", self.userland())
        flags = ["--cap-drop", "all", "--security-opt", "unmask=ALL"]
        self.assertEqual(self.run_image("podman", image, flags, "run", "-c", "git --version | cut -d' ' -f1; id -u"), "git\n1000\n")
        # A read-only root: the state is a volume, the workspace a directory of the host.
        out = self.run_image("podman", image, [*flags, "--read-only", "-v", f"{self.dir}:/work"], "run", "-c", "echo kept >file; ls")
        self.assertEqual(out, "file\n")
        self.assertEqual((self.dir / "file").read_text(), "kept\n")

    def test_any_user_will_do(self):
        image = self.load("podman", self.userland())
        flags = ["--cap-drop", "all", "--security-opt", "unmask=ALL", "--user", "123456:0", "-e", "NACRE_STATE_DIR=/tmp/state"]
        self.assertEqual(self.run_image("podman", image, flags, "run", "-c", "echo $((6*7))"), "42\n")

    def test_the_core_holds_the_program_alone(self):
        with tarfile.open(self.core) as tar:
            manifest = json.load(tar.extractfile("manifest.json"))[0]
            config = json.load(tar.extractfile(manifest["Config"]))
            self.assertEqual(len(manifest["Layers"]), 1)
            with tarfile.open(fileobj=tar.extractfile(manifest["Layers"][0])) as layer:
                files = sorted(entry.name for entry in layer if entry.isfile())
            for name in tar.getnames():
                if name.startswith("blobs/sha256/"):
                    self.assertEqual(hashlib.sha256(tar.extractfile(name).read()).hexdigest(), name[13:])
        self.assertEqual(files, ["usr/bin/nacre", "usr/share/doc/nacre/LICENSE"])
        self.assertEqual(config["config"]["User"], "1000:1000")
        self.assertEqual(config["config"]["Labels"]["org.opencontainers.image.version"], roots.version())
        self.assertEqual(config["config"]["Healthcheck"]["Test"], ["CMD", "/usr/bin/nacre", "doctor", "--quiet"])

    def test_without_etc_passwd(self):
        image = self.load("podman", self.core)
        self.assertEqual(self.run_image("podman", image, [], "--version"), f"nacre {roots.version()}\n")

    def test_two_makings_are_the_same_bytes(self):
        again = self.dir / "out"
        again.mkdir()
        roots.release("oci", "--out", again, TZ="Asia/Kathmandu")
        self.assertEqual((again / self.core.name).read_bytes(), self.core.read_bytes())


if __name__ == "__main__":
    unittest.main(verbosity=2)
