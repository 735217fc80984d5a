"""Profiles on the real binary: broken and hostile files, layers, who may write them, the schema, the reference page."""
import grp
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import time

from helpers import DEADLINE, NACRE, ROOT, SANITIZED, NacreTest

NAMES = ("bash", "readonly", "universal", "verify", "workspace")
AGENTS = ("coder", "debugger", "researcher", "writer")


class ProfileTest(NacreTest):
    BOXED = True  # the user's layer is the test's own

    def nacre(self, *args, **options):
        return subprocess.run([NACRE, *map(str, args)], env=self.env, cwd=self.work, timeout=DEADLINE,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, **options)

    def project(self, text):
        path = self.work / ".nacre.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def policy(self, text, name="p.yaml", mode=0o600):
        path = self.dir / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return path

    def show(self, *args):
        done = self.nacre("policy", "show", "--json", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


HOSTILE = {
    "unknown key": ("alow: [x]\n", "1:1: unknown key 'alow', did you mean 'allow'?"),
    "wrong type": ("deny: sudo\n", "1:7: 'deny' wants a list of rules"),
    "number without unit": ("timeout: {max: 5}\n", "1:16: 'timeout.max': 5 has no unit"),
    "out of range": ("timeout: {max: 900h}\n", "1:16: 'timeout.max': 900h is out of range"),
    "a word that is no bool": ("require_description: no\n", "1:22: 'require_description' wants true or false"),
    "same key twice": ("deny: [a]\nask: [b]\ndeny: [c]\n", "3:1: the key 'deny' comes twice, first in line 1"),
    "anchor": ("deny: &x [a]\n", "1:7: anchors are not taken here"),
    "alias": ("deny: *x\n", "1:7: aliases are not taken here"),
    "alias bomb": ("a: &a [x, x]\nb: &b [*a, *a]\n", "1:4: anchors are not taken here"),
    "tag": ("deny: !!python/object/apply:os.system [ls]\n", "1:7: tags are not taken here"),
    "merge key": ("<<: {deny: [x]}\n", "1:1: unknown key '<<'"),
    "second document": ("deny: [a]\n---\nallow: [b]\n", "2:1: a second document"),
    "deep lists": ("deny: " + "[" * 5000, "nested too deep"),
    "deep maps": ("{a: " * 5000, "nested too deep"),
    "deep blocks": ("\n".join(" " * i + "a:" for i in range(200)), "nested too deep"),
    "NUL": (b"deny: [a]\nask: [b\0c]\n", "2:8: a NUL byte"),
    "escaped NUL": ('deny: ["a\\0b"]\n', "1:8: a NUL character"),
    "not UTF-8": (b"deny: [\xff]\n", "1:8: this is not UTF-8"),
    "UTF-16": ("deny: [a]\n".encode("utf-16"), "1:1: this is not UTF-8"),
    "tab": ("timeout:\n\tmax: 5s\n", "2:1: found character that cannot start any token"),
    "control character": ("deny: [\x1b]\n", "1:8: control characters are not allowed"),
    "not closed": ("deny: [a\n", "did not find expected ',' or ']'"),
    "empty": ("", "1:1: the file is empty"),
    "comment only": ("# deny: [a]\n", "1:1: the file is empty"),
    "a list": ("- deny\n", "1:1: a map is wanted"),
    "a text": ("deny everything\n", "1:1: a map is wanted"),
    "larger than 1 MiB": ("#" * (1 << 20) + "\ndeny: [a]\n", "1:1: the file is larger than 1 MiB"),
    "too many nodes": ("deny: [" + "a," * 150000 + "]\n", "the file holds too much"),
    "too many keys": ("".join(f"k{i}: 1\n" for i in range(300)), "257:1: a map with more than 256 keys"),
    "too many keys in a map": ("environment:\n  set:\n" + "".join(f"    K{i}: x\n" for i in range(300)),
                               "259:5: a map with more than 256 keys"),
    "too many rules": ("deny:\n" + "".join(f"- c{i}\n" for i in range(5000)), "more than 4096 rules"),
    "no such set": ("deny: ['@shels']\n", "there is no set '@shels', did you mean '@shells'?"),
    "bad regex": ("danger: [{regex: '(['}]\n", ".nacre.yaml:1:10: "),
    "loosened": ("sandbox: {network: host}\n", "1:20: 'sandbox.network' would loosen the profile"),
}


class Hostile(ProfileTest):
    def test_a_file_that_is_wrong_is_named_with_its_place_and_nothing_runs(self):
        for name, (text, words) in HOSTILE.items():
            with self.subTest(name):
                self.project(text)

                def attempt():
                    began = time.monotonic()
                    done = self.nacre("run", "-c", "touch ran")
                    seconds = time.monotonic() - began
                    self.assertEqual((done.returncode, done.stdout), (125, b""), done)
                    self.assertRegex(done.stderr.decode(), r"\.nacre\.yaml:\d+:\d+: ")
                    self.assertIn(words, done.stderr.decode())
                    self.assertFalse((self.work / "ran").exists())
                    return seconds
                self.best_seconds(20 if SANITIZED else 3, attempt)
        self.assertEqual(self.task_dirs(), [])

    def test_the_same_holds_for_a_file_of_the_command_line(self):
        for name, (text, words) in HOSTILE.items():
            if name in ("bad regex", "loosened"):
                continue
            with self.subTest(name):
                done = self.nacre("run", "--policy", self.policy(text), "-c", "touch ran")
                self.assertEqual((done.returncode, done.stdout), (125, b""), done)
                self.assertIn(words, done.stderr.decode())
                self.assertFalse((self.work / "ran").exists())

    def test_what_stands_there_instead_of_a_file_is_refused_at_once(self):
        path = self.work / ".nacre.yaml"
        os.mkfifo(path)
        done = self.nacre("run", "-c", "touch ran")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b".nacre.yaml: this is no regular file", done.stderr)
        path.unlink()
        for target in ("/dev/zero", "/etc/passwd", "missing"):
            path.symlink_to(target)
            done = self.nacre("run", "-c", "touch ran")
            self.assertEqual(done.returncode, 125, target)
            self.assertIn(b".nacre.yaml: this is no regular file", done.stderr)
            path.unlink()
        path.mkdir()
        self.assertEqual(self.nacre("run", "-c", "touch ran").returncode, 125)
        self.assertFalse((self.work / "ran").exists())

    def test_other_line_ends_and_a_byte_order_mark_are_taken(self):
        self.project(b"\xef\xbb\xbfdeny: [touch]\r\n# more\r\nrequire_description: true\r\n")
        rules = {rule["id"]: rule for rule in self.show()["rules"]}  # the workspace is where we are
        self.assertEqual((rules["deny:touch"]["file"], rules["deny:touch"]["line"]), (".nacre.yaml", 1))

    def test_a_message_cannot_write_to_the_terminal(self):
        self.project('"k\\e]0;title\\a": 1\n')
        done = self.nacre("run", "-c", "true")
        self.assertEqual(done.returncode, 125)
        self.assertNotIn(b"\x1b", done.stderr)
        self.assertNotIn(b"\x07", done.stderr)


class Layers(ProfileTest):
    def test_each_layer_stands_above_the_one_before(self):
        self.write_config("bash.yaml", "timeout: {max: 300s, default: 50s}\ndeny: [aa]\n")
        self.write_config("nacre.yaml", "deny: [bb]\n")
        self.project("timeout: {max: 200s}\ndeny: [cc]\n")
        file = self.policy("timeout: {max: 400s}\ndeny: [dd]\n")
        shown = self.show("--workspace", self.work, "--policy", file)
        self.assertEqual([layer.replace(str(self.dir), "") for layer in shown["layers"]],
                         ["built-in:base", "built-in:bash", "/config/nacre/bash.yaml", "/config/nacre/nacre.yaml",
                          ".nacre.yaml", "/p.yaml"])
        self.assertEqual(shown["values"]["timeout.max"]["value"], "400s")
        self.assertEqual(shown["values"]["timeout.max"]["from"]["file"], str(file))
        self.assertEqual(shown["values"]["timeout.default"]["from"]["line"], 1)
        ids = [rule["id"] for rule in shown["rules"]]
        for name in ("deny:aa", "deny:bb", "deny:cc", "deny:dd", "danger:rm-root"):
            self.assertIn(name, ids)

    def test_a_rule_of_each_layer_decides(self):
        self.write_config("bash.yaml", "deny: [{commands: [tac], reason: from the user}]\n")
        self.project("deny: [{commands: [rev], reason: from the project}]\n")
        file = self.policy("deny: [{commands: [nl], reason: from the command line}]\n")
        for command, words in (("tac", "from the user"), ("rev", "from the project"),
                               ("nl", "from the command line")):
            done = self.nacre("run", "--json", "--policy", file, "-c", f"echo x | {command}")
            result = json.loads(done.stdout)
            self.assertEqual((done.returncode, result["verdict"]), (126, "deny"), command)
            self.assertIn(words, result["reason"])

    def test_a_profile_that_inherits_a_tool_is_explained_by_its_parameters(self):
        self.write_config("mine.yaml", "profile: mine\ninherits: verify\n")
        for command, words in (("go", ["go"]), ("go vet", ["go vet"])):  # the name of one program
            answers = []
            for profile in ("verify", "mine"):
                text = json.dumps({"profile": profile, "command": command})
                done = subprocess.run([NACRE, "explain", "--batch"], env=self.env, cwd=self.work, input=text.encode() + b"\n",
                                      timeout=DEADLINE, capture_output=True, check=True)
                answers.append(json.loads(done.stdout))
            self.assertEqual(answers[0], answers[1])
            self.assertEqual(answers[1]["commands"][0]["words"], words)

    def test_a_project_may_only_tighten(self):
        looser = ("timeout: {max: 700s}", "unknown: sandbox", "sandbox: {mode: none}", "default: allow",
                  "sandbox: {writable: [/]}", "environment: {pass: ['*']}", "environment: {set: {A: b}}",
                  "remove: ['deny:sudo']", "inherits: bash", "sandbox: {limits: {memory: 0}}",
                  "workspace: {root: /}", "shell: none", "tool: Bash", "profile: bash",
                  "ask: [sudo]", "allow: [sudo]", "shell: {allow: [sudo]}",
                  "nudge: [{commands: [ls], force: true}]")
        for text in looser:
            with self.subTest(text):
                self.project(text + "\n")
                profile = "bash" if text.startswith("unknown") else "readonly"
                if text in ("unknown: sandbox", "remove: ['deny:sudo']", "inherits: bash", "profile: bash"):
                    profile = "universal"
                if text == "shell: none":
                    profile = "bash"
                done = self.nacre("policy", "show", "--profile", profile, "--workspace", self.work)
                self.assertEqual((done.returncode, done.stdout), (1, b""), done)
                self.assertRegex(done.stderr.decode(), r"\.nacre\.yaml:1:\d+: ")

    def test_no_rule_of_a_project_wins_against_those_below(self):
        severity = ("allow", "ask", "nudge", "deny")
        lines = ("ls", "cat x", "curl http://x", "$X foo", 'eval "$Y"', "sort -o a b", "rm -rf /", "mkfs /dev/sda",
                 "sudo ls", "echo x | tac", "echo x > /etc/passwd", "bash -c 'sudo ls'")
        self.write_config("bash.yaml", "unknown: deny\neffects: {deny: [network]}\ndeny: [sudo]\nask: [cat]\n")

        def verdicts(profile, *force):
            answers = [json.loads(self.nacre("explain", "--json", "--profile", profile, "--workspace", self.work,
                                             *force, "-c", line).stdout) for line in lines]
            return [severity.index(answer["verdict"]) for answer in answers]
        for profile in ("bash", "universal"):
            for force in ([], ["--force"]):
                (self.work / ".nacre.yaml").unlink(missing_ok=True)
                before = verdicts(profile, *force)
                for text in ('ask: ["*", sudo, curl, cat]', 'nudge: ["*", sudo, curl, cat]',
                             'allow: ["*", sudo, curl, cat, {commands: ["*"]}]', 'shell: {allow: ["*", sudo]}'):
                    self.project(text + "\n")
                    for line, was, now in zip(lines, before, verdicts(profile, *force)):
                        self.assertGreaterEqual(now, was, (profile, text, line))

    def test_the_same_file_as_two_layers_changes_nothing(self):
        for name in NAMES:
            text = self.nacre("profiles", name).stdout
            alone = self.show("--profile", name)
            path = self.policy(text)
            doubled = self.show("--profile", name, "--policy", path)
            self.assertEqual([rule["text"] for rule in alone["rules"]],
                             [rule["text"] for rule in doubled["rules"]], name)

    def test_agents_of_the_user_are_found(self):
        self.write_config("agents/poet.yaml", "profile: poet\ninherits: defaults\ndescription: Rhymes.\n"
                                              "coding: {allow: [wc], default_timeout: 7}\n")
        shown = self.show("--agent", "poet")
        self.assertEqual((shown["profile"], shown["base"]), ("poet", "universal"))
        self.assertEqual(shown["values"]["timeout.default"]["value"], "7s")
        self.assertEqual(shown["values"]["default"]["value"], "deny")
        done = self.nacre("profiles")
        self.assertIn(b"poet", done.stdout)
        self.assertIn(b"Rhymes.", done.stdout)
        self.assertIn(b"inherits: defaults", self.nacre("profiles", "poet").stdout)

    def test_a_name_that_does_not_exist_is_an_error(self):
        done = self.nacre("run", "--profile", "vrify", "-c", "touch ran")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"there is no profile 'vrify', did you mean 'verify'?", done.stderr)
        self.assertEqual(self.nacre("profiles", "nobody").returncode, 1)


class Trust(ProfileTest):
    def expect_refused(self, done, words):
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(words, done.stderr.decode())
        self.assertFalse((self.work / "ran").exists())

    def group_is_own(self):
        """Whether the group is the user's own, as Debian makes them: then it is nobody else (test_places.py has that)."""
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(os.getegid())
        return user.pw_uid != 0 and user.pw_name == group.gr_name and not group.gr_mem

    def test_files_that_others_can_write_are_refused(self):
        for mode in (0o602, 0o666) if self.group_is_own() else (0o620, 0o602, 0o666):
            file = self.policy("deny: [x]\n", mode=mode)
            self.expect_refused(self.nacre("run", "--policy", file, "-c", "touch ran"),
                                f"others can write 'p.yaml' (mode {mode:04o}): chmod go-w")
        path = self.write_config("bash.yaml", "deny: [x]\n")
        path.chmod(0o666 if self.group_is_own() else 0o664)
        self.expect_refused(self.nacre("run", "-c", "touch ran"), "others can write 'bash.yaml'")

    def test_directories_that_others_can_write_are_refused(self):
        self.write_config("bash.yaml", "deny: [x]\n")
        (self.config / "nacre").chmod(0o777)
        self.expect_refused(self.nacre("run", "-c", "touch ran"), "others can write 'nacre'")
        (self.config / "nacre").chmod(0o755)
        self.config.chmod(0o707 if self.group_is_own() else 0o770)
        self.expect_refused(self.nacre("run", "-c", "touch ran"), "others can write 'config'")

    def test_a_file_of_another_user_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest("root: wanted to give a file away")
        file = self.policy("deny: [x]\n")
        os.chown(file, 12345, 12345)
        self.expect_refused(self.nacre("run", "--policy", file, "-c", "touch ran"),
                            "'p.yaml' belongs to another user (12345)")

    def test_links_lead_to_trusted_places_only(self):
        open_dir = self.dir / "open"
        open_dir.mkdir()
        target = open_dir / "t.yaml"
        target.write_text("deny: [x]\n")
        link = self.dir / "link.yaml"
        link.symlink_to(target)
        self.assertEqual(self.nacre("policy", "show", "--policy", link).returncode, 0)
        open_dir.chmod(0o777)
        self.expect_refused(self.nacre("run", "--policy", link, "-c", "touch ran"), "others can write 'open'")

    def test_what_is_no_file_is_refused_at_once(self):
        fifo = self.dir / "fifo.yaml"
        os.mkfifo(fifo)
        self.expect_refused(self.nacre("run", "--policy", fifo, "-c", "touch ran"), "no regular file")
        self.expect_refused(self.nacre("run", "--policy", self.dir / "none.yaml", "-c", "touch ran"),
                            "No such file")

    def test_a_file_that_is_only_checked_may_be_anybodys(self):
        file = self.policy("deny: [x]\n", mode=0o666)
        self.assertEqual(self.nacre("policy", "check", file).returncode, 0)


class Commands(ProfileTest):
    def test_every_shipped_profile_holds_what_its_examples_say(self):
        done = self.nacre("policy", "test", *NAMES, *AGENTS)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())
        counts = [int(n) for n in re.findall(r": (\d+) examples hold, 0 do not", done.stdout.decode())]
        self.assertEqual(len(counts), len(NAMES + AGENTS))
        self.assertTrue(all(counts), counts)

    def test_every_shipped_profile_is_lint_free(self):
        done = self.nacre("policy", "check", "--strict", *NAMES, *AGENTS)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout.decode())

    def test_an_example_that_does_not_hold_is_told(self):
        file = self.policy("profile: mine\ninherits: bash\nexamples:\n"
                           "  - {command: ls, verdict: allow}\n"
                           "  - {command: ls, verdict: deny}\n"
                           "  - {command: rm -rf /, verdict: deny, rule: 'deny:other'}\n"
                           "  - {argv: [./tool], verdict: allow, files: [tool]}\n")
        done = self.nacre("policy", "test", file)
        out = done.stdout.decode()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{file}:5:5: 'ls': the verdict is allow, not deny", out)
        self.assertIn(f"{file}:6:5: 'rm -rf /': the rule is 'danger:rm-root', not 'deny:other'", out)
        self.assertIn("2 examples hold, 2 do not", out)
        told = json.loads(self.nacre("policy", "test", "--json", file).stdout)
        self.assertEqual((told["held"], told["failed"]), (2, 2))
        self.assertEqual([example["ok"] for example in told["examples"]], [True, False, False, True])

    def test_check_tells_errors_and_warnings(self):
        good = self.policy("deny: [foo]\n", "good.yaml")
        bad = self.policy("dney: [foo]\n", "bad.yaml")
        warned = self.policy("deny: [foo, foo bar]\n", "warned.yaml")
        done = self.nacre("policy", "check", good, bad, warned)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{bad}:1:1: unknown key 'dney', did you mean 'deny'?", done.stderr.decode())
        self.assertIn(f"{warned}:1:13: warning: 'deny:foo bar' never decides: 'deny:foo'", done.stdout.decode())
        self.assertEqual(self.nacre("policy", "check", warned).returncode, 0)
        self.assertEqual(self.nacre("policy", "check", "--strict", warned).returncode, 1)
        told = json.loads(self.nacre("policy", "check", "--json", warned).stdout)
        self.assertTrue(told["ok"])
        self.assertEqual((told["messages"][0]["rule"], told["messages"][0]["line"]), ("deny:foo bar", 1))
        told = json.loads(self.nacre("policy", "check", "--json", bad).stdout)
        self.assertEqual(told, {"messages": [{"level": "error", "message": "unknown key 'dney', did you mean 'deny'?",
                                              "rule": None, "file": str(bad), "line": 1, "column": 1}],
                                "ok": False})

    def test_check_knows_the_file_of_a_project(self):
        path = self.project("timeout: {max: 700s}\n")
        done = self.nacre("policy", "check", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"would loosen", done.stderr)
        self.assertEqual(self.nacre("policy", "check", ".nacre.yaml").returncode, 1)
        self.project("timeout: {max: 7s}\n")
        self.assertEqual(self.nacre("policy", "check", ".nacre.yaml").returncode, 0)

    def test_profiles_are_listed_and_printed(self):
        listed = {row["name"]: row for row in json.loads(self.nacre("profiles", "--json").stdout)["profiles"]}
        self.assertEqual(set(listed), set(NAMES + AGENTS))
        for name, row in listed.items():
            self.assertIsNone(row["error"])
            self.assertTrue(row["description"])
            folder = ROOT / "profiles" / ("agents" if row["kind"] == "agent" else "")
            self.assertEqual(self.nacre("profiles", name).stdout, (folder / f"{name}.yaml").read_bytes())

    def test_a_broken_profile_is_listed_as_such(self):
        self.write_config("mine.yaml", "dney: []\n")
        rows = json.loads(self.nacre("profiles", "--json").stdout)["profiles"]
        self.assertIn("unknown key 'dney'", [row["error"] for row in rows if row["name"] == "mine"][0])

    def test_wrong_usage_is_told(self):
        for args in (["policy"], ["policy", "check"], ["policy", "nothing"], ["policy", "show", "x"],
                     ["policy", "check", "--nothing", "x"], ["profiles", "a", "b"]):
            done = self.nacre(*args)
            self.assertEqual((done.returncode, done.stdout), (125, b""), args)
            self.assertIn(b"unknown option '--nothing'" if "--nothing" in args else
                          b"PROFILE is missing; 'nacre profiles' lists them" if args[1:] == ["check"] else b"usage: nacre " + args[0].encode(), done.stderr)

    def test_loading_is_quick(self):
        if SANITIZED:
            self.skipTest("instrumented: times mean nothing")
        def listing():
            began = time.monotonic()
            self.assertEqual(self.nacre("profiles").returncode, 0)
            return time.monotonic() - began
        self.best_seconds(0.1, listing)  # all nine, and the start of a process


class Reference(ProfileTest):
    def test_the_reference_in_the_docs_is_the_one_that_is_generated(self):
        page = (ROOT / "docs" / "policy-reference.md").read_text()
        begin, end = "<!-- reference: nacre policy schema --doc -->\n", "<!-- end of the reference -->"
        self.assertIn(begin, page)
        written = page[page.index(begin) + len(begin):page.index(end)].strip()
        told = self.nacre("policy", "schema", "--doc").stdout.decode().strip()
        self.assertEqual(written, told, "tools/update-reference writes it")

    def test_the_manual_page_names_every_key(self):
        page = subprocess.run([ROOT / "tools" / "manual-page", ROOT / "docs" / "man" / "nacre.yaml.5.scd", ROOT / "docs" / "policy-reference.md"],
                              check=True, capture_output=True, text=True, timeout=DEADLINE).stdout
        entries = {entry.replace("\\", "") for entry in re.findall(r"^\*(.+?)\*(?= \(|$)", page, re.MULTILINE)}

        def keys(schema, prefix=""):
            for form in (schema, *schema.get("anyOf", [])):
                for name, inner in form.get("properties", {}).items():
                    yield prefix + name
                    yield from keys(inner, f"{prefix}{name}.")
        schema = json.loads(self.nacre("policy", "schema").stdout)
        told = {re.sub(r"^coding\.", "shell.", key)  # an older name of the same map
                for part in (schema, *schema["$defs"].values()) for key in keys(part)}
        self.assertGreater(len(told), 80)
        self.assertEqual(told - entries, set())

    def test_the_examples_of_the_manual_page_can_be_used(self):
        page = (ROOT / "docs" / "man" / "nacre.yaml.5.scd").read_text()
        blocks = re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 3)
        for i, text in enumerate(blocks):
            with self.subTest(i):
                path = self.project(text) if "# .nacre.yaml" in text else self.policy(text, f"block{i}.yaml")
                done = self.nacre("policy", "check", "--strict", path)
                self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
                if "examples:" in text:
                    self.assertEqual(self.nacre("policy", "test", path).returncode, 0)

    def test_the_examples_of_the_docs_can_be_used(self):
        page = (ROOT / "docs" / "policy.md").read_text()
        blocks = re.findall(r"```yaml\n# (\S+)(?: \((\w+)\))?\n(.*?)```", page, re.DOTALL)
        self.assertGreaterEqual(len(blocks), 4)
        for name, profile, text in blocks:
            with self.subTest(name):
                if name == ".nacre.yaml":
                    path = self.project(text)
                else:
                    path = self.policy(text, pathlib.Path(name).name)
                args = ["--profile", profile] if profile else []
                done = self.nacre("policy", "check", "--strict", *args, path)
                self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
                if "examples:" in text:
                    done = self.nacre("policy", "test", *args, path)
                    self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_schema_takes_the_good_and_refuses_the_bad(self):
        """With ajv 8, which comes from npm into a directory of this test, for this run only."""
        if not shutil.which("npm"):
            self.skipTest("ajv comes from npm, which is not installed")
        box = self.dir / "npm"
        box.mkdir()
        environment = {**os.environ, "HOME": str(box), "npm_config_cache": str(box / "cache")}
        try:
            fetched = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts",
                                      "--prefix", str(box), "ajv@8", "js-yaml@4"], env=environment,
                                     capture_output=True, timeout=2 * DEADLINE, check=False)
        except subprocess.TimeoutExpired:
            self.skipTest("ajv: npm could not fetch it in time")
        if fetched.returncode != 0:
            self.skipTest("ajv: npm could not fetch it")
        good = [(ROOT / "profiles" / f"{name}.yaml").read_text() for name in NAMES]
        good += [(ROOT / "profiles" / "agents" / f"{name}.yaml").read_text() for name in AGENTS]
        good += ["deny: [sudo]\n", "timeout: {max: 5s, grace: 0}\n", "sandbox: {limits: {cpu: 5, memory: 4096}}\n",
                 "shell: {allow: [ls], max_timeout: 5}\n", "danger: [{pipe: {from: [a], to: ['@shells']}}]\n"]
        bad = [text for name, (text, _) in HOSTILE.items() if name in (
            "unknown key", "wrong type", "number without unit", "a word that is no bool", "a list", "a text")]
        bad += ["deny: [5]\n", "deny: ['a | b']\n", "deny: [{literal: x}]\n", "allow: [{with: [-x]}]\n",
                "sandbox: {readable: [x]}\n", "unknown: maybe\n", "examples: [{command: x}]\n",
                "sandbox: {limits: {processes: -1}}\n", "environment: {set: {'A B': c}}\n", "deny: [{}]\n"]
        for text in good:  # the loader and the schema agree
            self.assertEqual(self.nacre("policy", "check", self.policy(text)).returncode, 0, text)
        for text in bad:
            self.assertEqual(self.nacre("policy", "check", self.policy(text)).returncode, 1, text)
        (box / "schema.json").write_bytes(self.nacre("policy", "schema").stdout)
        (box / "samples.json").write_text(json.dumps({"good": good, "bad": bad}))
        (box / "check.js").write_text(
            "const fs = require('fs'), yaml = require('js-yaml');\n"
            "const Ajv = require('ajv/dist/2020');\n"
            "const ajv = new Ajv({strict: true, strictRequired: false, allErrors: true});\n"
            "const validate = ajv.compile(JSON.parse(fs.readFileSync('schema.json')));\n"
            "const samples = JSON.parse(fs.readFileSync('samples.json')), out = {good: [], bad: []};\n"
            "for (const kind of ['good', 'bad'])\n"
            "  for (const text of samples[kind]) {\n"
            "    const ok = validate(yaml.load(text, {schema: yaml.CORE_SCHEMA}));\n"
            "    out[kind].push({ok, errors: validate.errors, text: text.slice(0, 60)});\n"
            "  }\n"
            "console.log(JSON.stringify(out));\n")
        ran = subprocess.run(["node", "check.js"], cwd=box, env=environment, capture_output=True, timeout=DEADLINE,
                             check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr.decode())
        out = json.loads(ran.stdout)
        self.assertEqual([row for row in out["good"] if not row["ok"]], [])
        self.assertEqual([row["text"] for row in out["bad"] if row["ok"]], [])
        self.assertEqual((len(out["good"]), len(out["bad"])), (len(good), len(bad)))
