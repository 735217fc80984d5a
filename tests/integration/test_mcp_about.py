"""The agent is told where it is: descriptions and instructions are made from the profile."""
import unittest

from helpers import NacreTest
from mcp_client import Client

WORDS = 200


class About(NacreTest):
    BOXED = True

    def told(self, *options):
        """The instructions, and the description of the tool that runs commands."""
        client = Client(self, *options)
        instructions = client.initialize()["instructions"]
        tools = client.result("tools/list")["tools"]
        client.close()
        return instructions, tools[0]["description"]

    def policy(self, sandbox, more=""):
        path = self.dir / "about.yaml"
        path.write_text(f"profile: about\ninherits: bash\nsandbox: {sandbox}\n{more}")
        return "--policy", str(path)

    def test_it_is_short_for_every_profile(self):
        for profile in ("bash", "universal", "workspace", "verify", "readonly"):
            for text in self.told("--profile", profile):
                self.assertLess(len(text.split()), WORDS, text)
                network = {"bash": "Network: package registries; others need a person.", "readonly": "There is no network",
                           "verify": "Network: package registries, no others."}.get(profile, "Network: every host needs a person.")
                for words in (network, "Limits: ", "without sudo", "A refusal says why"):
                    self.assertIn(words, text, profile)

    def schema(self, *options):
        client = Client(self, *options)
        client.initialize()
        tool = client.result("tools/list")["tools"][0]
        client.close()
        return tool["description"], tool["inputSchema"]

    def test_times_and_wishes_are_those_of_the_profile(self):
        for text in self.told("--agent", "writer"):
            self.assertIn("300 s a command", text)
        _, schema = self.schema("--agent", "writer")
        self.assertIn("(default 300, at most 600)", schema["properties"]["timeout"]["description"])
        _, schema = self.schema(*self.policy("{}", "timeout: {default: 7s, max: 9s}\nrequire_description: true\n"))
        self.assertIn("(default 7000, at most 9000)", schema["properties"]["timeout"]["description"])
        self.assertEqual(schema["required"], ["command", "description"])
        _, schema = self.schema("--profile", "bash")
        self.assertEqual(schema["required"], ["command"])

    def test_output_is_told_as_it_is_cut(self):
        for profile, words in (("bash", "the beginning, the end and the lines that matter"), ("universal", "the last 50000 characters"),
                               ("verify", "longer than 16384 bytes the beginning and the end"),
                               ("workspace", "the first 1048576 bytes")):
            for text in self.told("--profile", profile):
                self.assertIn(words, text)
                self.assertNotIn("cut in the middle", text)
        for text in self.told(*self.policy("{}", "output: {style: tail, limit: 99}\n")):
            self.assertIn("the last 99 characters", text)

    def test_an_agent_is_told_its_role_and_what_it_may(self):
        for text in self.told("--agent", "writer"):
            for words in ("You are 'writer': Compile LaTeX", "Allowed commands: ", "pandoc", "latexmk"):
                self.assertIn(words, text)
        for text in self.told("--profile", "bash"):
            self.assertNotIn("You are", text)
            self.assertNotIn("Allowed commands", text)
            for words in ("Quote paths", "&&", "dedicated tools", "exported variables persist"):
                self.assertIn(words, text)
        self.assertIn("TaskOutput", self.schema("--profile", "bash")[0])

    def test_it_tells_what_the_keys_say(self):
        for text in self.told("--profile", "bash"):
            for words in (".git/config", "more; changes there are refused or held", "stay, and in /tmp and home for this session",
                          "Commands share one loopback", "leaves running continues as a task", "gdb and strace",
                          "120 s a command (at most 600 s)", "4.0 GiB of memory", "2048 processes"):
                self.assertIn(words, text)

    def test_what_stays_is_what_the_room_keeps(self):
        for room, told, untold in (
                ("{share: tmp}", "and in /tmp for this session; home is empty", "and home for this session"),
                ("{share: tmp, network: false}", "A command has a loopback of its own", "share one loopback"),
                ("{share: none, leftover: end}", "/tmp and home are empty for each command", "continues as a task")):
            for text in self.told(*self.policy("{}", f"room: {room}\n")):
                self.assertIn(told, text)
                self.assertNotIn(untold, text)

    def test_other_keys_are_told_otherwise(self):
        for text in self.told(*self.policy("{network: host, workspace: readonly, debug: false, limits: {memory: 1G, processes: 7}}",
                                           "timeout: {default: 7s}\n")):
            for words in ("The network is the host's", "The workspace is read-only", "7 s a command", "1.0 GiB of memory", "7 processes"):
                self.assertIn(words, text)
            for words in ("gdb", "no network", "registries", "Protected"):
                self.assertNotIn(words, text)

    def test_no_network_is_told_with_its_loopback(self):
        for text in self.told(*self.policy("{network: none}")):
            self.assertIn("There is no network: your commands share one loopback", text)

    def test_no_wall_is_claimed_where_there_is_none(self):
        for text in self.told(*self.policy("{mode: none}")):
            self.assertIn("There is no sandbox", text)
            for words in ("no network", "registries", "Protected", "GiB"):
                self.assertNotIn(words, text)

    def test_a_profile_that_cannot_be_loaded_is_not_described(self):
        client = Client(self, "--profile", "bash")
        self.assertIn("Limits: ", client.initialize()["instructions"])
        (self.work / ".nacre.yaml").write_text("no_such_key: 1\n")
        self.assertNotIn("Limits: ", client.result("tools/list")["tools"][0]["description"])
        client.close()


del NacreTest

if __name__ == "__main__":
    unittest.main()
