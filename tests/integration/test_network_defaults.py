"""What the shipped profiles reach: package registries at once, other names when a person says so."""
import functools
import json
import os
import shutil
import subprocess
import unittest

from helpers import DEADLINE, NACRE, NacreTest, wait_until
from outside import SERVER
from test_network import NetworkTest

WHEEL = "small-1.0-py3-none-any.whl"

SITE = r"""
import functools, http.server as h, ssl, sys
s = h.ThreadingHTTPServer(("", int(sys.argv[2])), functools.partial(h.SimpleHTTPRequestHandler, directory=sys.argv[1]))
if sys.argv[3]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    s.socket = context.wrap_socket(s.socket, server_side=True)
print("ready", flush=True)
s.serve_forever()
"""


class Defaults(NetworkTest):
    POLICY = "profile: net\ninherits: bash\n"
    NAMES = {"index.test": [SERVER], "forge.test": [SERVER], "b.test": [SERVER]}

    def site(self, port=80, cert=""):
        place = self.outside.dir / "site"
        place.mkdir(exist_ok=True)
        self.outside.serve(SITE, str(place), str(port), cert)
        return place

    def ids(self):
        found = json.loads(self.nacre("approvals", "--json"))
        return [a["id"] for a in (found["approvals"] if isinstance(found, dict) else found)]

    def test_pip_by_the_index_of_its_configuration(self):
        python = shutil.which("python3", path="/usr/bin")
        if not python or subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode != 0:
            self.skipTest("pip: it is not installed")
        small = self.site() / "simple" / "small"
        small.mkdir(parents=True)
        subprocess.run([python, "-c", "import zipfile, sys\nz = zipfile.ZipFile(sys.argv[1], 'w')\n"
                        "z.writestr('small.py', '')\nz.writestr('small-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: small\\nVersion: 1.0\\n')\n"
                        "z.writestr('small-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n"
                        "z.writestr('small-1.0.dist-info/RECORD', '')", str(small / WHEEL)], check=True)
        (small / "index.html").write_text(f'<a href="{WHEEL}">{WHEEL}</a>')
        line = f"{python} -m pip download -q --no-deps --trusted-host index.test -i http://index.test/simple small; ls"
        self.assertNotIn(WHEEL, self.call(line)["stdout"], "no configuration names the index yet")
        conf = self.dir / ".config" / "pip" / "pip.conf"
        conf.parent.mkdir(parents=True)
        conf.write_text("[global]\nindex-url = http://index.test/simple\n")
        self.assertIn(WHEEL, self.says(line))

    def test_git_clone_over_https_when_a_person_has_said_yes(self):
        source = self.outside.dir / "site" / "repo"
        source.mkdir(parents=True)
        who = {f"GIT_{w}_{k}": "t@t" for w in ("AUTHOR", "COMMITTER") for k in ("NAME", "EMAIL")}
        git = functools.partial(subprocess.run, cwd=source, check=True, capture_output=True,
                                env={**os.environ, **who, "HOME": str(self.outside.dir)})
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"], ["update-server-info"]):
            git(["git", *words])
        self.site(443, self.outside.certificates("forge.test"))
        shutil.copy(self.outside.dir / "ca.pem", self.work / "ca.pem")
        line = "GIT_SSL_CAINFO=$PWD/ca.pem git clone -q https://forge.test/repo/.git got && git -C got log --oneline"
        popen = self.start("--json", "--approval-timeout", "60s", "-c", line)
        [approval] = wait_until("the question", self.ids)
        self.assertNotIn("forge.test", self.outside.asked(), "nothing leaves before a person said yes")
        self.nacre("approve", approval)
        self.assertIn("first", json.loads(self.finish(popen).out)["stdout"])

    def test_nobody_to_ask_is_refused_at_once(self):
        self.outside.web()
        for profile in ("bash", "universal", "researcher"):
            self.write_config("net.yaml", f"profile: net\ninherits: {profile}\n")
            with self.subTest(profile=profile):
                result = self.call("curl -sS --max-time 20 http://b.test/")
                self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["person"], result)
                self.assertTrue(any("nacre approve ap-" in n for n in result["notices"]), result)
                self.assertNotIn("b.test", self.outside.asked())

    def test_certificates_are_readable(self):
        if not os.path.exists("/etc/ssl/certs/ca-certificates.crt"):
            self.skipTest("ca-certificates: not installed")
        self.assertEqual(self.says("head -c 10 /etc/ssl/certs/ca-certificates.crt; env | grep -ci _proxy || true")[-2:], "0\n")


class Shown(NacreTest):
    """By `nacre explain` and `nacre policy show`; nothing runs."""

    def verdict(self, profile, name):
        done = subprocess.run([NACRE, "explain", "--profile", profile, "--network", name, "--json"], env=self.env, cwd=self.work,
                              capture_output=True, timeout=DEADLINE)
        return json.loads(done.stdout)["verdict"]

    def test_verdicts_of_each_profile(self):
        rows = {"bash": ("allow", "ask", "ask"), "coder": ("allow", "ask", "ask"), "debugger": ("allow", "ask", "ask"),
                "verify": ("allow", "none", "none"), "researcher": ("ask", "ask", "none"), "universal": ("ask", "ask", "none"),
                "writer": ("ask", "ask", "none"), "workspace": ("ask", "ask", "none"), "readonly": ("none", "none", "none")}
        for profile, (packages, other, ssh) in rows.items():
            with self.subTest(profile=profile):
                self.assertEqual([self.verdict(profile, n) for n in ("pypi.org:443", "other.example:443", "github.com:22")],
                                 [packages, other, ssh])


class Npm(NacreTest):
    BOXED = True

    def test_install_from_the_registry_with_nothing_configured(self):
        if not shutil.which("npm"):
            self.skipTest("npm: it is not installed")
        reached = subprocess.run(["npm", "view", "express", "version"], capture_output=True, timeout=DEADLINE, cwd=self.work)
        if reached.returncode != 0:
            self.skipTest("registry: not reached from here")
        self.give_up_after(4 * DEADLINE)
        result = self.run_json("--timeout", "300s", "-c", "npm install --no-audit --no-fund express >log 2>&1; cat log; ls node_modules | grep -x express")
        if result["sandbox"]["tier"] == "landlock":
            self.skipTest("userns: not permitted here")
        self.assertTrue(result["stdout"].endswith("express\n"), result)
        self.assertGreater(result["network"]["connections"], 0)


del NacreTest, NetworkTest

if __name__ == "__main__":
    unittest.main()
