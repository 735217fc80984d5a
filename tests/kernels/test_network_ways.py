"""The three ways of the network by name on a stock kernel, where they are modules that nobody has loaded: an ordinary user is the first.

In the order in which modules come in: with nf_tables closed there is a listener for each port, without nft_tproxy the kernel redirects."""
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from helpers import DEADLINE  # noqa: E402
from outside import HOST  # noqa: E402
from test_network import NetworkTest  # noqa: E402

CLOSED = pathlib.Path("/etc/modprobe.d/nacre-test.conf")
WAYS = {"ports": "nf_tables", "redirect": "nft_tproxy", "tproxy": None}
GET = "RES_OPTIONS='timeout:30 attempts:5' python3 -c 'import urllib.request as u; print(u.urlopen(\"http://a.test/x\", timeout=60).read().decode())'"


def loaded():
    return {line.split()[0] for line in pathlib.Path("/proc/modules").read_text().splitlines()}


class Ways(NetworkTest):
    def test_each_way_as_user_and_as_root(self):
        if not pathlib.Path("/etc/modprobe.d").is_dir() or any(pathlib.Path("/sys/module").glob("nf_tables")) and "nf_tables" not in loaded():
            self.skipTest("modules: nf_tables is built in")
        self.give_up_after(20 * DEADLINE)
        self.addCleanup(CLOSED.unlink, missing_ok=True)
        self.outside.web()
        self.outside.web(8080, near=True)
        for way, closed in WAYS.items():
            CLOSED.write_text(f"install {closed} /bin/false\n" if closed else "")
            self.assertNotIn(closed or "nft_tproxy", loaded(), "nobody has loaded it before")
            for who in ("user", "root"):
                self.become(who)
                with self.subTest(way=way, who=who):
                    began = time.monotonic()
                    self.assertIn("hello a.test /x", self.says(GET))
                    first = time.monotonic() - began
                    began = time.monotonic()
                    self.assertIn("hello a.test /x", self.says(GET))
                    print(f"# {way}, {who}: first {first:.2f} s, second {time.monotonic() - began:.2f} s")
                    self.assertEqual(json.loads(self.nacre("doctor", "--json"))["network_names"], way)
                    result = self.call(GET.replace("a.test", "other.test"))
                    self.assertEqual([r["reason"] for r in result["network"]["refused"]], ["not-allowed"])
                    self.assertNotIn("hello", self.call(GET.replace("a.test/x", f"{HOST}:8080/"))["stdout"])
        self.assertIn("nft_tproxy", loaded())
