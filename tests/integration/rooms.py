"""What the tests of rooms share: calls of one session, as root or as an ordinary user."""
import os
import subprocess

from helpers import DEADLINE, NACRE, NacreTest

SERVE = "exec python3 -u -m http.server 8123 --bind 127.0.0.1"
ASK = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8123/"


class RoomTest(NacreTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        self.home = self.dir / "home"
        self.home.mkdir()
        self.env["HOME"] = str(self.home)
        self.options = {}

    def call(self, line, *options, session="s", **more):
        result = self.run_json("--session", session, *options, "-c", line, **{**self.options, **more})
        if result["sandbox"]["tier"] == "landlock":
            self.skipTest("userns: not permitted here")
        return result

    def says(self, line, *options, **more):
        result = self.call(line, *options, **more)
        self.assertEqual(result["exit_code"], 0, result)
        return result["stdout"]

    def nacre(self, *args):
        done = subprocess.run([self.options.get("program", NACRE), *args], env=self.env, capture_output=True, text=True,
                              timeout=DEADLINE, check=False, cwd=self.work,
                              **{key: value for key, value in self.options.items() if key != "program"})
        return done

    def rooms(self):
        return sorted(path.stem for path in (self.state / "rooms").glob("*.json"))

    def generation(self):
        [room] = self.rooms()
        return max((self.state / "rooms" / room).iterdir(), key=lambda path: int(path.name))


class AsUser:
    """The same for an ordinary user."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("root: the other classes run as this user already")
        self.options = self.as_ordinary_user()
        user = self.options["user"]
        for top, _, files in os.walk(self.dir):
            for name in (top, *(os.path.join(top, file) for file in files)):
                os.chown(name, user, user)

    def write_config(self, name, text):
        path = super().write_config(name, text)
        if getattr(self, "options", None):
            for each in (path, path.parent, path.parent.parent):
                os.chown(each, self.options["user"], self.options["user"])
        return path
