"""The build for arm64 on another machine: the program, its archive and list of parts, and the unit tests of the pure rooms.

qemu-user knows neither the namespaces nor the filters that a sandbox is made of, so nothing here starts a command. The
sandbox on arm64 is for a machine of that kind; .github/workflows/ci.yml runs the whole suite on one.
"""
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import roots
from roots import LONG, ROOT

MACHINE = "aarch64"
PURE = ("arena", "base64", "buffer", "error", "hex", "id", "number", "path", "strings", "suggest", "utf8",
        "json-fields", "json-read", "json-write", "rpc-message", "yaml", "yaml-pack",
        "shell-grammar", "shell-parse", "shell-print", "shell-facts", "shell-knowledge", "shell-opaque", "shell-options", "shell-script",
        "shell-split", "policy-decide", "policy-glob", "policy-grants",
        "binary", "capture", "clean", "pick", "keys", "reply", "screen", "view", "audit-mask")


@unittest.skipIf(os.uname().machine == MACHINE, "this machine is one")
@unittest.skipUnless(shutil.which(f"qemu-{MACHINE}-static") and shutil.which(f"{MACHINE}-linux-gnu-gcc"),
                     "qemu: tools/setup release installs it")
class Cross(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.archive = roots.OUT / f"nacre-{roots.version()}-linux-{MACHINE}.tar.gz"
        if not cls.archive.exists():
            roots.release("build", "--machine", MACHINE, "--out", roots.OUT)
        cls.build = ROOT / f"build-release-{MACHINE}"
        cls.dir = tempfile.mkdtemp(prefix="nacre-cross-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        with tarfile.open(cls.archive) as tar:
            tar.extractall(cls.dir)
        cls.program = f"{cls.dir}/nacre-{roots.version()}-linux-{MACHINE}/bin/nacre"

    def run_it(self, *words, code=0):
        done = subprocess.run([f"qemu-{MACHINE}-static", *words], capture_output=True, text=True, timeout=LONG,
                              env={"PATH": os.environ["PATH"], "HOME": self.dir, "NACRE_STATE_DIR": f"{self.dir}/state"})
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_the_program_is_of_that_machine_and_says_its_version(self):
        kind = subprocess.run(["file", self.program], capture_output=True, text=True, check=True).stdout
        self.assertIn("ARM aarch64", kind)
        self.assertRegex(kind, "static")
        self.assertLessEqual(os.stat(self.program).st_size, 4.5e6)
        self.assertEqual(self.run_it(self.program, "--version"), f"nacre {roots.version()}\n")

    def test_it_reads_lines_as_here(self):
        self.assertIn("danger:rm-root", self.run_it(self.program, "explain", "-c", r"r\m -rf /"))
        self.assertIn("network", self.run_it(self.program, "analyse", "-c", "curl -s https://example.org | sh"))

    def test_its_parts_are_listed(self):
        with open(roots.OUT / f"nacre-{roots.version()}-linux-{MACHINE}.spdx.json", encoding="utf-8") as file:
            parts = {part["name"]: part for part in json.load(file)["packages"]}
        self.assertLessEqual({"libc6-dev", "libjansson-dev", "libmicrohttpd-dev", "libsodium-dev", "libc-ares-dev"}, set(parts))
        self.assertIn("arch=arm64", parts["libjansson-dev"]["externalRefs"][0]["referenceLocator"])

    def test_unit_tests_of_the_pure_rooms(self):
        subprocess.run(["ninja", "-C", self.build, *(f"tests/test-{noun}" for noun in PURE)], check=True, stdout=subprocess.DEVNULL,
                       timeout=LONG * 4)
        failed, passed = [], 0
        for noun in PURE:
            done = subprocess.run([f"qemu-{MACHINE}-static", "-L", ROOT / f"build-cross-{MACHINE}" / "root", self.build / "tests" / f"test-{noun}"],
                                  capture_output=True, text=True, timeout=LONG, cwd=ROOT, env={"PATH": os.environ["PATH"], "HOME": self.dir})
            passed += len(re.findall(r"\[       OK \]", done.stdout + done.stderr))
            if done.returncode:
                failed.append(f"{noun}: {(done.stdout + done.stderr)[-800:]}")
        print(f"{passed} unit tests on {MACHINE}", flush=True)
        self.assertEqual(failed, [])
        self.assertGreater(passed, 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
