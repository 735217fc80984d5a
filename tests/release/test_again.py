"""Everything built a second time, in another directory, time zone, language and user's mask: the same bytes."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import roots
from roots import LONG, ROOT


class Again(unittest.TestCase):
    def test_two_builds_are_the_same_bytes(self):
        first = roots.artefacts("nacre-VERSION-linux-*.tar.gz", "build")[0].parent
        if not list(first.glob(f"nacre-{roots.version()}.tar.gz")):
            roots.release("source", "--out", first)
        roots.release("npm", "--out", first)
        roots.artefacts("nacre-VERSION-core-*.oci.tar", "oci")
        place = pathlib.Path(tempfile.mkdtemp(prefix="another place "))
        self.addCleanup(shutil.rmtree, place)
        tree = place / "deep" / "er"
        subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", ROOT, tree], check=True)
        before = os.umask(0o077)
        try:
            for step in ("source", "build", "npm", "oci"):
                done = subprocess.run([tree / "tools" / "release", step, "--out", place / "out"], capture_output=True, text=True,
                                      timeout=LONG * 2, env={**os.environ, "TZ": "Asia/Kathmandu", "LC_ALL": "C", "LANG": "de_DE.UTF-8",
                                                             "USER": "somebody"})
                self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            os.umask(before)
        compared = 0
        for path in sorted((place / "out").iterdir()):
            if path.suffix != ".debug":  # it holds the name of the directory; what people run does not
                self.assertEqual(path.read_bytes() == (first / path.name).read_bytes(), True, path.name)
                compared += 1
        self.assertGreaterEqual(compared, 6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
