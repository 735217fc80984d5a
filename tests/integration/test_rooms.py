"""Rooms: what the calls of one session share, and what they do not."""
import unittest

from helpers import NacreTest


class SearchPath(NacreTest):
    """A name that is looked up is not a program that a command has written."""
    BOXED = True

    def setUp(self):
        super().setUp()
        for name in ("home/bin", "home/tools", "work/bin"):
            (self.dir / name).mkdir(parents=True, exist_ok=True)
        self.env["HOME"] = str(self.dir / "home")

    def path(self, *entries, **options):
        self.env["PATH"] = ":".join([*entries, "/usr/bin", "/bin"])
        result = self.run_json("-c", "echo $PATH", **options)
        return result["stdout"].strip().split(":")

    def test_what_a_command_can_fill_is_not_in_path(self):
        home, work = self.dir / "home", self.work
        self.assertEqual(self.path(str(home / "bin"), str(work / "bin"), "/tmp", "", ".", "bin"), ["/usr/bin", "/bin"])

    def test_what_the_operator_grants_read_only_is(self):
        self.write_config("bash.yaml", f"profile: bash\nsandbox: {{readable: ['{self.dir}/home/tools']}}\n")
        home = self.dir / "home"
        self.assertEqual(self.path(str(home / "tools"), str(home / "bin")), [str(home / "tools"), "/usr/bin", "/bin"])


if __name__ == "__main__":
    unittest.main()
