"""What a box has of the host beside its workspace: paths that are links, in a new box and in one that is kept."""
import json
import os
import subprocess
import unittest

from test_escape_places import PlaceTest


class GrantTest(PlaceTest):
    def batch(self, lines, *args, **options):
        popen = self.start(*args, "--batch", "--jobs", "1", stdin=subprocess.PIPE, **options)
        requests = "".join(json.dumps({"id": n, "command": line}) + "\n" for n, line in enumerate(lines))
        done = self.finish(popen, requests.encode())
        answers = sorted((json.loads(line) for line in done.out.splitlines()), key=lambda a: a["id"])
        return [answer["result"] for answer in answers]

    def give_all(self, options):
        if options:
            for where, names, files in os.walk(self.dir):
                for name in [*names, *files]:
                    os.lchown(os.path.join(where, name), options["user"], options["user"])


class Links(GrantTest):
    """~/.gitconfig -> dotfiles/gitconfig, and their like."""

    def setUp(self):
        super().setUp()
        for path, text in (("dots/gitconfig", "[user]\n\tname = dots\n"), ("place/rustup/bin/x", "rust\n"),
                           ("place/rustup/more/y", "more\n"), ("wide/inner/z", "inner\n")):
            (self.dir / path).parent.mkdir(parents=True, exist_ok=True)
            (self.dir / path).write_text(text)
        (self.dir / ".gitconfig").symlink_to("dots/gitconfig")
        (self.dir / ".rustup").symlink_to("place/rustup")
        (self.dir / ".inner").symlink_to("wide/inner")
        (self.dir / ".usr").symlink_to("/usr/share")

    LINE = "cat ~/.gitconfig ~/.rustup/bin/x ~/.rustup/more/y ~/.inner/z; ls -d ~/.usr/. ~/.rustup/more"

    def expect(self, result):
        home = str(self.dir)
        self.assertEqual((result["exit_code"], self.text(result)),
                         (0, f"[user]\n\tname = dots\nrust\nmore\ninner\n{home}/.rustup/more\n{home}/.usr/.\n"), result)

    def test_they_are_there_in_each_command(self):
        """Covered by another grant, granted twice, or one below the other: all of them have their names."""
        policy = self.policy("links", "profile: links\ninherits: bash\nsandbox: {readable: ['~/.gitconfig', '~/.rustup', "
                             "'~/.rustup/more', '~/.rustup', '~/wide', '~/.inner', '~/.usr']}\n")
        for user, options in self.users():
            self.give_all(options)
            with self.subTest(who=user):
                self.expect(self.run_result("--policy", policy, "-c", self.LINE, **options))
                for n, result in enumerate(self.batch([self.LINE] * 6, "--policy", policy, **options)):
                    with self.subTest(command=n):
                        self.expect(result)

    def test_one_that_leads_elsewhere_by_now_leads_there(self):
        policy = self.policy("links", "profile: links\ninherits: bash\nsandbox: {readable: ['~/.gitconfig']}\n")
        popen = self.start("--policy", policy, "--batch", "--jobs", "1", stdin=subprocess.PIPE)
        seen = []
        for n in range(6):
            if n == 3:
                (self.dir / "dots" / "new").write_text("[user]\n\tname = new\n")
                os.replace(self.dir / "dots" / "new", self.dir / "dots" / "gitconfig")
            popen.stdin.write(json.dumps({"command": "cat ~/.gitconfig"}).encode() + b"\n")
            popen.stdin.flush()
            seen.append(json.loads(popen.stdout.readline())["result"]["stdout"].split()[-1])
        self.finish(popen)
        self.assertEqual(seen, ["dots"] * 3 + ["new"] * 3)


if __name__ == "__main__":
    unittest.main()
