"""POST /shell: the cases of the design that it comes from, against a running server."""
import json
import unittest

from serving import ServeTest
from test_escape_places import Swapper


class ShellEndpoint(ServeTest):
    BOXED = True

    def setUp(self):
        super().setUp()
        (self.work / "a.txt").write_text("one\nTODO two\nthree\n")
        (self.work / "sub").mkdir()
        (self.work / "sub" / "b.txt").write_text("TODO\n")

    def shell(self, command, workspace=None, timeout=30, **options):
        answer = self.post("/shell", {"command": command, "workspace": str(self.work if workspace is None else workspace),
                                      "timeout": timeout}, **options)
        self.assertEqual(answer.status, 200, answer)
        result = answer.json
        self.assertEqual(sorted(result), ["returncode", "stderr", "stdout", "success"])
        return result

    def refused(self, command, *words):
        result = self.shell(command)
        self.assertFalse(result["success"], result)
        self.assertEqual(result["stdout"], "")
        self.assertNotEqual(result["returncode"], 0)
        for word in words:
            self.assertIn(word, result["stderr"])
        return result

    def test_shell_blocks_rm(self):
        result = self.refused("rm -rf /", "not in whitelist")
        for name in ("ls", "cat", "grep", "find", "env"):
            self.assertIn(name, result["stderr"])

    def test_shell_blocks_pipe(self):
        self.refused("ls | cat", "metacharacter", "|")

    def test_shell_blocks_command_substitution(self):
        self.refused("echo $(cat /etc/passwd)")

    def test_shell_allows_ls(self):
        result = self.shell("ls -la")
        self.assertTrue(result["success"], result)
        self.assertIn("a.txt", result["stdout"])
        self.assertEqual((result["stderr"], result["returncode"]), ("", 0))

    def test_shell_allows_grep(self):
        result = self.shell("grep -r TODO .")
        self.assertTrue(result["success"], result)
        self.assertEqual(sorted(result["stdout"].split("\n")),
                         sorted(["./a.txt:TODO two", "./sub/b.txt:TODO", ""]))

    def test_every_metacharacter_is_refused(self):
        for mark in (";", "|", "&", "&&", "||", "$", "`", "$(", "${", ">", "<", ">>", "\n"):
            self.refused(f"ls {mark} x", "metacharacter")

    def test_every_blocked_command_is_refused(self):
        for name in ("rm rmdir mv cp mkdir touch chmod chown chgrp kill pkill wget curl nc ssh scp rsync "
                     "python python3 node bash sh exec pip npm apt brew yum").split():
            self.refused(f"{name} x", "whitelist")

    def test_a_failing_command_says_so(self):
        result = self.shell("cat nothing-here")
        self.assertEqual((result["success"], result["returncode"], result["stdout"]), (False, 1, ""))
        self.assertIn("nothing-here", result["stderr"])

    def test_writing_options_are_refused(self):
        for command in ("find . -delete", "sed -i s/a/b/ a.txt", "sort -o a.txt a.txt",
                        "find . -exec cat {} +", "env ls"):
            self.refused(command)
        self.assertEqual((self.work / "a.txt").read_text(), "one\nTODO two\nthree\n")

    def test_the_workspace_does_not_become_one_above(self):
        """A command that works in the directory above can make a link of a workspace, when that was found allowed."""
        (self.dir / "secret.txt").write_text("SECRET-5a1f0c\n")
        (self.work / "link").symlink_to("..")
        swapper = Swapper(self.work / "sub", self.work / "link")
        answers = []
        try:
            for _ in range(150):
                answers.append(self.post("/shell", {"command": "cat secret.txt ../secret.txt ../../secret.txt",
                                                    "workspace": str(self.work / "sub"), "timeout": 30}).json)
        finally:
            turns = swapper.close()
        self.assertGreater(turns, 150, "there was no race")
        self.assertNotIn("SECRET", str(answers))

    def test_the_workspace_is_where_it_runs(self):
        self.assertEqual(self.shell("ls", self.work / "sub")["stdout"], "b.txt\n")
        self.assertEqual(self.shell("pwd")["stdout"].strip(), str(self.work))

    def test_a_workspace_outside_of_the_roots_looks_like_none(self):
        places = ("/etc", "/nonexistent", "/root/.ssh", str(self.dir), str(self.work) + "/../state", "/proc/self",
                  "/etc/passwd", str(self.work / "a.txt"), "a.txt", "nothing", "..", "../state", "", "x" * 300)
        for place in places:
            answer = self.shell("ls", place)
            self.assertEqual(answer["stderr"], "Workspace not found", place)
            self.assertEqual((answer["success"], answer["stdout"], answer["returncode"]), (False, "", 125))
            answer = self.post("/v1/run", {"command": "ls", "workspace": place})
            self.assertEqual((answer.status, answer.json["error"]["message"]), (404, "Workspace not found"), place)
            answer = self.post("/v1/run", {"command": "ls", "workspace": place}, headers={"Accept": "text/event-stream"})
            self.assertEqual(answer.status, 404, place)

    def test_a_link_out_of_the_root_is_no_way_out(self):
        (self.work / "out").symlink_to("/etc")
        result = self.shell("ls", self.work / "out")
        self.assertFalse(result["success"])
        self.assertNotIn("passwd", result["stdout"])
        answer = self.post("/shell", {"command": "ls", "workspace": "out"})
        self.assertFalse(answer.json["success"])
        self.assertNotIn("passwd", answer.json["stdout"])

    def test_the_time_limit_holds_and_is_capped(self):
        for limit in (1, 5, 25):  # what was printed by then is shown; when that is the machine decides
            result = self.shell("tail -f a.txt", timeout=limit)
            if result["stdout"]:
                break
        self.assertFalse(result["success"])
        self.assertEqual(result["returncode"], 124)
        self.assertEqual(result["stdout"], "one\nTODO two\nthree\n")
        self.assertIn("timed out after", result["stderr"])
        for limit in (1, 5, 25):
            result = self.shell("tail -f a.txt nothing-here", timeout=limit)
            if "nothing-here" in result["stderr"]:
                break
        self.assertIn("nothing-here", result["stderr"])
        self.assertIn("\ntimed out after", result["stderr"])

    def test_a_body_that_is_wrong_is_told(self):
        for body in (b"", b"{", b"[]", b'"ls"', b'{"command":1}', b'{"command":"ls","x":1}', b'{"workspace":"."}',
                     b'{"command":"ls","command":"rm"}', b'{"command":"ls","timeout":0}',
                     b'{"command":"ls","timeout":"1"}', b'{"command":"l\xff"}', b'{"command":"l\\u0000s"}'):
            answer = self.ask("POST", "/shell", body, headers={"Content-Type": "application/json"})
            self.assertEqual(answer.status, 400, (body, answer))
            self.assertIn("message", answer.json["error"])

    def test_it_is_kept_from_those_without_a_token(self):
        for token in (None, "x", "nacre_" + "A" * 43):
            answer = self.post("/shell", {"command": "ls"}, token=token)
            self.assertEqual(answer.status, 401)
            self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")

    def test_every_failure_has_the_four_members(self):
        """A client of such a service reads success and stderr, whatever the status."""
        narrow = self.make_token("narrow", "--profile", "bash")
        busy = self.serve("--rate", "3", "--jobs", "1", "--queue", "0", unix=self.dir / "busy.sock")
        running = self.stream("POST", "/v1/run", {"command": "echo begun; sleep 600"}, server=busy, unix=True)
        self.assertEqual(running.next("output")["json"]["text"], "begun\n")
        good = {"command": "ls", "workspace": str(self.work), "timeout": 30}
        answers = {
            400: self.post("/shell", {**good, "timeout": 0}),
            401: self.post("/shell", good, token="x"),
            403: self.post("/shell", good, token=narrow),
            415: self.ask("POST", "/shell", b"ls", headers={"Content-Type": "text/plain"}),
            503: self.post("/shell", good, server=busy, unix=True),
        }
        while answers.get(429) is None:  # a slow machine stays within the rate for a while
            answer = self.post("/shell", good, token="x", server=busy)
            answers[answer.status] = answer
        answers["host"] = self.post("/shell", good, headers={"Host": "example.org"})
        for status, answer in answers.items():
            self.assertEqual(answer.status, 403 if status == "host" else status, answer)
            value = answer.json
            self.assertEqual((value["success"], value["stdout"], value["returncode"]), (False, "", 125), answer)
            self.assertEqual(value["stderr"], value["error"]["message"])
            self.assertTrue(value["stderr"])
        running.close()

    def test_nothing_of_the_host_is_in_an_answer(self):
        told = []
        for command in ("env", "ls /", "cat /proc/self/environ", "cat /proc/1/environ", "cat ../state/token",
                        "rm x", "less", "cat /etc/shadow", "which ls", "ls nothing"):
            told.append(json.dumps(self.shell(command)))
        secrets = [self.token(), str(self.state), "NACRE_STATE_DIR", "XDG_CONFIG_HOME", "tokens.json"]
        for text in told:
            for secret in secrets:
                self.assertNotIn(secret, text)

    def test_a_command_in_its_box_reaches_neither_socket_nor_token(self):
        script = ("import socket,sys\n"
                  "for family, where in ((socket.AF_UNIX, %r), (socket.AF_INET, ('127.0.0.1', %d))):\n"
                  "    try:\n        socket.socket(family).connect(where); print('reached', where)\n"
                  "    except OSError as error: print('no', error)\n" % (self.server.unix, self.server.port))
        (self.work / "try.py").write_text(script)
        result = self.run_command(f"python3 try.py; cat {self.state}/token {self.state}/tokens.json; ls {self.state}")
        self.assertNotIn("reached", result["stdout"])
        self.assertEqual(result["stdout"].count("no [Errno"), 2, result)
        self.assertNotIn(self.token(), json.dumps(result))
        self.assertNotIn("digest", json.dumps(result))

    def test_calls_are_audited_refused_ones_too(self):
        self.shell("ls -la")
        self.refused("rm x")
        answer = self.get("/v1/audit?limit=100")
        self.assertEqual(answer.status, 200, answer)
        text = json.dumps(answer.json)
        self.assertIn("ls -la", text)
        self.assertIn("rm x", text)
        self.shell("ls", "/nonexistent")
        self.post("/v1/run", {"command": "ls", "workspace": "/etc"})
        records = self.get("/v1/audit?event=refused").json["records"]
        self.assertEqual(len(records), 2, records)
        ident = records[0]["task_id"]
        records = self.get(f"/v1/audit?task_id={ident}").json["records"]
        self.assertEqual({r["task_id"] for r in records}, {ident}, records)
        self.assertEqual(self.get(f"/v1/audit?task={ident}").status, 400)

    def test_what_is_wrong_with_the_log_is_told_to_its_operator_only(self):
        self.shell("ls")
        (self.state / "audit").rename(self.state / "away")
        (self.state / "audit").write_text("")
        told = [self.get("/v1/audit"), self.post("/v1/run", {"command": "ls"}), self.post("/v1/run", {"command": "rm x", "profile": "readonly"})]
        self.assertEqual(told[0].status, 500)
        for answer in told:
            self.assertNotIn("Not a directory", answer.body.decode())
            self.assertNotIn(str(self.state), answer.body.decode())
        self.assertIn(b"Not a directory", self.read_log(self.server))


if __name__ == "__main__":
    unittest.main()
