"""Lines in the box as root and as an ordinary user, for the tests of real tools."""
import json
import os
import shutil
import unittest

from helpers import NacreTest, ample


def needs(*programs):
    for name in programs:
        if not shutil.which(name, path="/usr/local/bin:/usr/bin:/bin"):
            raise unittest.SkipTest(f"tools: there is no {name}")


class BoxTools(NacreTest):
    BOXED = True
    PROFILE = None

    def users(self):
        if os.geteuid() == 0:
            yield "root", {}
            options = self.as_ordinary_user()
            for path in self.work.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            yield "user", options
        else:
            yield "user", {}

    def line(self, text, options):
        """What a line prints that has to work."""
        words = ["--profile", self.PROFILE, "--workspace", str(self.work), "--timeout", ample(60)]
        for where, names, files in os.walk(self.work):  # what the test itself has put there
            for name in [*names, *files] if options else []:
                os.lchown(os.path.join(where, name), options["user"], options["user"])
        done = self.run_nacre("--json", *words, "-c", text, **options)
        result = json.loads(done.out)
        self.assertEqual((result["exit_code"], result["sandbox"]["tier"]), (0, "strict"), result)
        return result["stdout"]

    def every(self, check):
        for user, options in self.users():
            with self.subTest(profile=self.PROFILE, who=user):
                check(options)

    def expect_owner(self, path, options):
        """Files belong to whoever runs nacre, whatever the box's own user is."""
        info = os.lstat(path)
        self.assertEqual(info.st_uid, options.get("user", os.geteuid()), path)
