"""Network by name on the real binary, as far as rules go: what is decided, shown, and not claimed."""
import json
import subprocess

from helpers import DEADLINE, NACRE, NacreTest

LAYER = """sandbox:
  network:
    allow: ["@forges", "*.corp.example", "host.nacre:6379"]
    ask: ["*"]
    deny: ["*.pastebin.com"]
    private: [db.corp.example]
    via: http://127.0.0.1:9
"""  # with a proxy above explain looks nothing up: no query leaves the machine


class NetworkTest(NacreTest):
    BOXED = True  # the user's layer is the test's own

    def nacre(self, *args, code=0):
        done = subprocess.run([NACRE, *map(str, args)], env=self.env, cwd=self.work, timeout=DEADLINE,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def layer(self, text=LAYER):
        path = self.dir / "layer.yaml"
        path.write_text(text)
        path.chmod(0o600)
        return ("--policy", path)


class NetworkRulesTest(NetworkTest):
    def explain(self, host, *args):
        return json.loads(self.nacre("explain", "--json", *self.layer(), *args, "--network", host))

    def test_explain_tells_rule_and_runner_up(self):
        told = self.explain("a.corp.example:443")
        self.assertEqual((told["verdict"], told["reason"]), ("allow", None))
        self.assertEqual((told["rule"]["list"], told["rule"]["entry"], told["rule"]["line"]),
                         ("allow", "*.corp.example", 3))
        self.assertTrue(told["rule"]["file"].endswith("layer.yaml"))
        self.assertEqual(told["runner_up"]["entry"], "*")
        told = self.explain("github.com:22")
        self.assertEqual((told["rule"]["set"], told["rule"]["source"]), ("@forges", "GitHub"))

    def test_explain_tells_why_not(self):
        for host, verdict, reason in (("x.example:25", "none", "port"), ("a.pastebin.com", "deny", "denied"),
                                      ("10.1.2.3:80", "none", "address"), ("host.nacre:22", "none", "port"),
                                      ("x.example", "ask", None)):
            told = self.explain(host)
            self.assertEqual((told["verdict"], told["reason"]), (verdict, reason), host)
        text = self.nacre("explain", *self.layer(), "--network", "x.example:25")
        self.assertIn('add "x.example:25" to sandbox.network.allow', text)

    def test_explain_without_a_map(self):
        told = json.loads(self.nacre("explain", "--json", "--profile", "readonly", "--network", "x.example"))
        self.assertEqual((told["verdict"], told["rule"]), ("none", None))

    def test_what_is_no_host_is_an_error(self):
        for text in ("*.x.example", "0x7f000001:80", "https://x.example", "x.example:0", ""):
            self.assertIn("nacre: ", self.nacre("explain", "--network", text, code=125))

    def test_the_hosts_of_a_line_are_named(self):
        told = json.loads(self.nacre("explain", "--json", *self.layer(), "-c",
                                     "curl https://a.pastebin.com/x; git clone git@github.com:a/b"))
        self.assertEqual([(h["name"], h["port"], h["verdict"]) for h in told["hosts"]],
                         [("a.pastebin.com", 443, "deny"), ("github.com", 22, "allow")])

    def test_show_expands_sets_with_their_sources(self):
        text = self.nacre("policy", "show", *self.layer())
        self.assertIn("- github.com:22  # @forges from GitHub, ", text)
        told = json.loads(self.nacre("policy", "show", "--json", *self.layer()))
        self.assertEqual(told["values"]["sandbox.network"]["value"], "names")
        self.assertEqual(told["values"]["sandbox.network.allow"]["value"],
                         ["@forges", "*.corp.example", "host.nacre:6379"])
        self.assertEqual(told["values"]["sandbox.network.allow"]["from"]["line"], 3)
        self.assertIn(("private", "db.corp.example"), [(r["list"], r["entry"]) for r in told["network"]])

    def test_a_project_cannot_open_the_network(self):
        (self.work / ".nacre.yaml").write_text("sandbox: {network: {allow: [evil.example]}}\n")
        self.assertIn("would loosen the profile", self.nacre("run", "-c", "true", code=125))


class NotInForceTest(NetworkTest):
    """Until a gateway serves names a map is no network, and nothing else is claimed."""

    def run_json(self, *args, layer=LAYER):
        return json.loads(self.nacre("run", "--json", *self.layer(layer), *args))

    def test_a_map_is_closed(self):
        told = self.run_json("-c", "tail -n +3 /proc/net/dev | cut -d: -f1")
        self.assertEqual(told["stdout"].split(), ["lo"])
        if "network-names" in told["sandbox"]["layers"]:
            return
        self.assertIn("network-names", told["sandbox"]["missing"])
        self.assertTrue(any("network by name is not available" in n for n in told["notices"]), told["notices"])

    def test_a_profile_can_require_names(self):
        if "network-names" in self.run_json("-c", "true")["sandbox"]["layers"]:
            return
        layer = self.layer(LAYER.replace("sandbox:\n", "sandbox:\n  require: [network-names]\n"))
        self.assertIn("network-names", self.nacre("run", *layer, "-c", "true", code=125))
