"""Thousands of spellings of a few commands that a profile refuses: quoting, wrappers and places combined.

The lines are made from a fixed seed, so a failure can be seen again. Each of them would run the
command; so none may be a plain allow, and nearly all are refused outright. Nothing is run.
"""
import random
import unittest

from policy import PolicyTest, outcome, told

SEED, COUNT = 20260, 1500

REFUSED = {
    "universal": (("sudo", "ls"), ("mount",), ("reboot",), ("kill", "-9", "1"), ("apt-get", "install", "x"),
                  ("chmod", "+x", "x"), ("mkfs.ext4", "x"), ("ip", "a"), ("dd", "if=a"),
                  ("systemctl", "stop", "x")),
    "bash": (("rm", "-rf", "/"), ("rm", "-r", "-f", "//"), ("rm", "--recursive", "--force", "/."),
             ("rm", "-fr", "/usr/.."), ("mkfs.ext4", "/dev/sda1"), ("dd", "if=/dev/zero", "of=/dev/sda"),
             ("chmod", "-R", "777", "."), ("tee", "/etc/hosts"), ("cp", "x", "/etc/passwd"),
             ("rm", "/etc/hosts"), ("sed", "-i", "s/a/b/", "/etc/hosts"), ("find", "/", "-delete"),
             ("tee", "/dev/sda"), ("chmod", "--recursive", "a+rwx", "x")),
}

# In front of a program, and still that program runs.
WRAPPERS = ("env ", "nice -n 3 ", "timeout 5 ", "nohup ", "setsid ", "stdbuf -oL ", "env -i A=1 ",
            "ionice -c 3 ", "/usr/bin/env ", "taskset -c 0 ", "flock /tmp/l ", "chrt -i 0 ", "unshare -r ",
            "env -u A ", "prlimit --nproc=9 ", "busybox env ", "xargs -a /dev/null ")
# In front of a simple command of the shell.
PREFIXES = ("command ", "exec ", "A=1 B=2 ", "> out ", "2>/dev/null ", "</dev/null ", "\\\n", "builtin command ")
# Programs that start a program.
STARTERS = ("find . -exec %s \\;", "find . -name x -o -exec %s {} +", "xargs %s < f", "exec -a z %s",
            "command -p %s")
# Places in a line; the last ones must be outermost.
PLACES = ("ls; %s", "ls && %s", "false || %s", "ls | %s", "(%s)", "{ %s; }", "%s & wait", "! %s", "time %s",
          "echo $(%s)", "echo \"$(%s)\"", "cat <(%s)", "if true; then %s; fi", "for i in 1 2; do %s; done",
          "while :; do %s; break; done", "case a in a) %s;; esac", "f() { %s; }; f", "function f { %s; }; f",
          "x=$(%s)", "x=${y:-$(%s)}", "[[ -n $(%s) ]]", "until ! %s; do :; done", "((1)) && %s", "ls\n%s",
          "ls # x\n%s", "A=$(%s) true", "{ %s; } 2>&1 | cat", "(cd sub && %s)", "declare a=$(%s)",
          "cat < <(%s)", "test -n \"$(%s)\" && ls", "coproc { %s; }", "export A=\"$(%s)\"")
OUTERMOST = ("cat <<E\n$(%s)\nE", "echo `%s`", "trap '%s' EXIT", "bash -c '%s'", "sh -c '%s'", "eval '%s'",
             "bash <<< '%s'", "bash <<'E'\n%s\nE", "find . -exec sh -c '%s' \\;", "nice bash -c '%s'", "watch '%s'")


def quoted(pick, word):
    """One of the many ways to write a word."""
    place = pick.randrange(len(word))
    split = pick.randrange(1, len(word)) if len(word) > 1 else 0
    return pick.choice((
        word, word, word, "'%s'" % word, '"%s"' % word, word[:split] + "''" + word[split:],
        word[:split] + '""' + word[split:], word[:split] + "\\\n" + word[split:],
        word[:place] + "\\" + word[place:],
        "$'%s'" % "".join("\\x%02x" % ord(c) if pick.random() < 0.5 else c for c in word),
        "$'%s'" % "".join("\\%03o" % ord(c) if pick.random() < 0.5 else c for c in word)))


def spelling(pick, words):
    outermost = pick.choice(OUTERMOST) if pick.random() < 0.2 else "%s"
    plain = "'" in outermost or "`" in outermost  # no quotes inside of those
    line = " ".join(words if plain else [quoted(pick, word) for word in words])
    for _ in range(pick.choice((0, 0, 1, 1, 2))):
        line = pick.choice(WRAPPERS) + line
    if pick.random() < 0.2:
        line = pick.choice(STARTERS) % line
    elif pick.random() < 0.3:
        line = pick.choice(PREFIXES) + line
    for _ in range(pick.choice((0, 1, 1, 2))):
        place = pick.choice(PLACES)
        if not (plain and "'" in place):
            line = place % line
    return outermost % line


class Spellings(PolicyTest):
    def expect_refused(self, profile):
        pick = random.Random(SEED)
        lines = sorted({spelling(pick, pick.choice(REFUSED[profile])) for _ in range(COUNT)})
        self.assertGreater(len(lines), COUNT * 0.9)
        answers = self.explain([{"profile": profile, "command": line} for line in lines])
        self.expect_none("spellings get past", ["%r: %s" % (line, told(answer))
                                                for line, answer in zip(lines, answers)
                                                if outcome(answer) == "allow"])
        left = [line for line, answer in zip(lines, answers) if outcome(answer) == "sandbox"]
        print("%s: %d of %d spellings are left to the box" % (profile, len(left), len(lines)))
        self.assertLess(len(left), len(lines) * 0.03, left[:20])

    def test_universal_knows_a_denied_program_in_every_spelling(self):
        self.expect_refused("universal")

    def test_bash_knows_a_dangerous_command_in_every_spelling(self):
        self.expect_refused("bash")


if __name__ == "__main__":
    unittest.main()
