"""The npm packages in the ways that people install them, from a registry of our own on loopback."""
import hashlib
import http.server
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import threading
import unittest
import urllib.parse

import roots
from roots import HELLO, LONG

KIND = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, "x64")


class Registry(http.server.ThreadingHTTPServer):
    """What npm asks a registry: the document of a package, and its archive."""

    def __init__(self, archives):
        super().__init__(("127.0.0.1", 0), Answer)
        self.documents, self.archives = {}, {}
        for path in archives:
            data = path.read_bytes()
            with tarfile.open(path) as tar:
                described = json.load(tar.extractfile("package/package.json"))
            place = f"/-/{path.name}"
            self.archives[place] = data
            integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
            described["dist"] = {"tarball": self.address + place, "integrity": integrity, "shasum": hashlib.sha1(data).hexdigest()}
            self.documents["/" + described["name"]] = {
                "name": described["name"], "dist-tags": {"latest": described["version"]}, "versions": {described["version"]: described}}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path)
        document = self.server.documents.get(path)
        data = json.dumps(document).encode() if document else self.server.archives.get(path)
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    do_POST = do_GET  # audits and the like

    def log_message(self, *_):
        pass


@unittest.skipUnless(shutil.which("npm"), "npm: it is not installed")
class Npm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        roots.artefacts("nacre-VERSION-linux-*.tar.gz", "build")
        roots.release("npm", "--out", roots.OUT)
        number = roots.version().replace("+", "-")
        cls.archives = [roots.OUT / f"nacre-{number}.tgz", roots.OUT / f"nacre-linux-{KIND}-{number}.tgz"]
        cls.registry = Registry(cls.archives)
        cls.number = number

    @classmethod
    def tearDownClass(cls):
        cls.registry.shutdown()
        cls.registry.server_close()

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nacre-npm-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        (self.dir / "app").mkdir()
        (self.dir / "app" / "package.json").write_text('{"name": "app", "version": "1.0.0", "private": true}')
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.dir), "npm_config_registry": self.registry.address,
                    "npm_config_cache": str(self.dir / "cache"), "npm_config_update_notifier": "false", "npm_config_audit": "false",
                    "npm_config_fund": "false", "NACRE_STATE_DIR": str(self.dir / "state"), "npm_config_prefix": str(self.dir / "global")}

    def run_program(self, *words, given=None, code=0):
        done = subprocess.run(words, cwd=self.dir / "app", env=self.env, input=given, stdin=subprocess.DEVNULL if given is None else None,
                              capture_output=True, text=True, timeout=LONG)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout + (done.stderr if code else "")

    def expect_it_works(self, *program):
        self.assertEqual(self.run_program(*program, "--version"), f"nacre {roots.version()}\n")
        self.assertEqual(self.run_program(*program, "run", "-c", "echo $((6*7))"), "42\n")
        answer = json.loads(self.run_program(*program, "mcp", given=HELLO).splitlines()[0])
        self.assertEqual(answer["result"]["serverInfo"]["name"], "nacre")

    def test_hoisted_without_scripts(self):
        self.run_program("npm", "install", "--ignore-scripts", "nacre")
        self.assertTrue((self.dir / f"app/node_modules/@nacre/linux-{KIND}").exists())
        self.expect_it_works("node_modules/.bin/nacre")
        self.expect_it_works("npx", "nacre")

    def test_nested(self):
        self.run_program("npm", "install", "--install-strategy=nested", "nacre")
        self.assertTrue((self.dir / f"app/node_modules/nacre/node_modules/@nacre/linux-{KIND}").exists())
        self.expect_it_works("node_modules/.bin/nacre")

    def test_global(self):
        self.run_program("npm", "install", "--global", "nacre")
        self.expect_it_works(str(self.dir / "global" / "bin" / "nacre"))

    def test_by_npx_alone(self):
        self.expect_it_works("npx", "--yes", "nacre")

    def test_without_the_optional_package_it_says_so(self):
        self.run_program("npm", "install", "--omit=optional", "nacre")
        text = self.run_program("node_modules/.bin/nacre", "--version", code=125)
        self.assertIn("--omit=optional", text)

    def test_no_process_of_node_stays(self):
        self.run_program("npm", "install", "nacre")
        with open(self.dir / "app/node_modules/.bin/nacre", "rb") as file:
            self.assertEqual(file.readline(), b"#!/bin/sh\n")
        popen = subprocess.Popen(["node_modules/.bin/nacre", "mcp"], cwd=self.dir / "app", env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        popen.stdin.write(HELLO.encode())
        popen.stdin.flush()
        popen.stdout.readline()
        self.assertIn(f"@nacre/linux-{KIND}/bin/nacre", os.readlink(f"/proc/{popen.pid}/exe"))
        popen.communicate(timeout=LONG)

    def test_there_is_no_script_and_no_other_dependency(self):
        for path in self.archives:
            with tarfile.open(path) as tar:
                described = json.load(tar.extractfile("package/package.json"))
            self.assertNotIn("scripts", described)
            self.assertNotIn("dependencies", described)
            self.assertEqual(described["os"], ["linux"])
        self.assertEqual(described["cpu"], [KIND])

    def test_elsewhere_it_is_refused(self):
        # npm's own code, on a machine that says it is another.
        (self.dir / "mac.js").write_text("Object.defineProperty(process, 'platform', {value: 'darwin'})")
        done = subprocess.run(["npm", "install", "nacre"], cwd=self.dir / "app", capture_output=True, text=True, timeout=LONG,
                              env={**self.env, "NODE_OPTIONS": f"--require {self.dir}/mac.js"})
        self.assertIn("EBADPLATFORM", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
