"""Long output in a short answer: what names the cause is in it, each gap says how it is read, and no client cuts it."""
import json
import lzma
import pathlib
import re
import subprocess
import unittest

from helpers import NACRE, NacreTest
from mcp_client import Client

LOGS = pathlib.Path(__file__).resolve().parent.parent / "data" / "logs"
BUDGET = 10 * 1024
MARK = re.compile(r"\[… (?:(?P<n>\d+) similar lines, (?P<a>\d+)-(?P<b>\d+)|(?:\d+ similar lines; )?lines? (?P<from>\d+)(?:-(?P<to>\d+))? left out"
                  r"(?:: (?P<call>.+))?)\]")


def causes():
    rows = (LOGS / "causes.tsv").read_text(encoding="utf-8").splitlines()
    return [row.split("\t") for row in rows if not row.startswith("#")]


def log(name):
    return lzma.decompress((LOGS / f"{name}.log.xz").read_bytes())


class Logs(NacreTest):
    """Recorded output of real tools that failed."""

    def shown(self, data, style):
        (self.work / "log").write_bytes(data)
        return self.run_json("--truncate", f"{style}:{BUDGET}", "--", "cat", "log")["stdout"]

    def test_the_cause_is_in_the_answer(self):
        found = {"salient": [], "halves": []}
        for name, _, cause in causes():
            data = log(name)
            for style, names in found.items():
                text = self.shown(data, style)
                if style == "salient":
                    self.assertLessEqual(len(text.encode()), BUDGET, name)
                if cause in text:
                    names.append(name)
        missed = [name for name, _, _ in causes() if name not in found["salient"]]
        print(f"# of {len(causes())} logs the cause is in {len(found['salient'])} (halves: {len(found['halves'])})")
        self.assertGreaterEqual(len(causes()), 40)
        self.assertLessEqual(len(missed), 2, missed)
        self.assertLess(len(found["halves"]), len(found["salient"]) / 2)

    def test_they_are_of_many_tools_and_name_no_host(self):
        self.assertGreaterEqual(len({tool for _, tool, _ in causes()}), 20)
        self.assertLessEqual(sum(path.stat().st_size for path in LOGS.iterdir()), 1 << 20)
        for name, _, cause in causes():
            data = log(name)
            self.assertIn(cause.encode(), data, name)
            self.assertGreater(len(data), BUDGET, name)
            for place in (b"/root/", b"/work/", b"/home/runner"):
                self.assertNotIn(place, data, name)


class CommandLine(NacreTest):
    def test_halves_stay_the_style_of_run(self):
        text = self.run_json("--", "seq", "20000")["stdout"]
        self.assertIn("characters left out; the full output is in ", text)

    def test_gaps_are_read_by_the_call_they_name(self):
        script = "for i in $(seq 3000); do echo $i-$((i * i % 997)); [ $i != 1400 ] || echo 'a.c:1:2: error: boom'; done"
        result = self.run_json("--truncate", "salient:2000", "--", "bash", "-c", script)
        lines = [f"{i}-{i * i % 997}" for i in range(1, 3001)]
        lines.insert(1400, "a.c:1:2: error: boom")
        self.assertIn("\na.c:1:2: error: boom\n", result["stdout"])
        calls = 0
        for mark in MARK.finditer(result["stdout"]):
            words = mark["call"].split()
            self.assertEqual(words[:2], ["nacre", "output"])
            read = subprocess.run([NACRE, *words[1:]], env=self.env, cwd=self.work, capture_output=True, check=True).stdout
            first, last = int(mark["from"]), int(mark["to"] or mark["from"])
            self.assertEqual(read.decode().splitlines(), lines[first - 1:last])
            calls += 1
        self.assertGreater(calls, 1)

    def test_what_is_far_from_both_ends_is_found_in_a_flood(self):
        """More than memory keeps of it: the lines are looked for while it comes."""
        script = ("i=0; seq -f 'row %.0f of the first part' 400000; echo 'src/main.c:9:1: error: the needle'; "
                  "seq -f 'row %.0f of the second part' 400000")
        result = self.run_json("--truncate", "salient:4000", "--", "bash", "-c", script)
        self.assertIn("\nsrc/main.c:9:1: error: the needle\n", result["stdout"])
        self.assertGreater(result["stdout_bytes"], 10_000_000)
        self.assertLessEqual(len(result["stdout"].encode()), 4000)
        last = list(MARK.finditer(result["stdout"]))
        self.assertTrue(any(mark["to"] and int(mark["to"]) > 700_000 for mark in last), result["stdout"])


class Answers(NacreTest):
    BOXED = True
    FLOOD = ("for i in $(seq 9000); do echo $i-$((i * i % 997)); [ $i != 4000 ] || echo 'a.c:1:2: error: boom'; done; "
             "exit 3")

    def client(self, name, *options):
        client = Client(self, *options)
        client.result("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                     "clientInfo": {"name": name, "version": "1"}})
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return client

    def call(self, client, tool, **arguments):
        return client.result("tools/call", {"name": tool, "arguments": arguments})

    def text(self, client, tool, **arguments):
        return self.call(client, tool, **arguments)["content"][0]["text"]

    def test_an_answer_fits_the_client(self):
        for name, most, lines in (("claude-code", 30000, None), ("codex-mcp-client", 10240, None), ("somebody", 10240, 1900),
                                  ("gemini-cli-mcp-client", 30000, None), ("opencode", 30000, 1900),
                                  ("qwen-cli-mcp-client-x", 24000, 950)):
            client = self.client(name)
            text = self.text(client, "Bash", command=self.FLOOD)
            self.assertLessEqual(len(text.encode()), most, name)
            self.assertGreater(len(text.encode()), most * 0.6 if not lines else 4000, name)
            if lines:
                self.assertLessEqual(text.count("\n"), lines, name)
            self.assertIn("a.c:1:2: error: boom\n", text)
            client.close()

    def test_how_it_ended_is_first_and_last(self):
        client = self.client("somebody")
        result = self.call(client, "Bash", command=self.FLOOD)
        text = result["content"][0]["text"]
        task = result["_meta"]["dev.nacre/run"]["task_id"]
        self.assertRegex(text.splitlines()[0],
                         rf"^\[exit 3 after .*; output nacre://output/{task}, \d+ bytes, \d+ of 9001 lines shown\]$")
        self.assertRegex(text, r"\n\[exit 3 after [^\n;]*\]$")
        self.assertRegex(self.text(client, "Bash", command="echo hi"), r"^hi\n\[exit 0 after [^\n]*\]$")

    def test_each_gap_is_read_by_the_call_it_names(self):
        client = self.client("somebody")
        text = self.text(client, "Bash", command=self.FLOOD)
        lines = [f"{i}-{i * i % 997}" for i in range(1, 9001)]
        lines.insert(4000, "a.c:1:2: error: boom")
        marks = list(MARK.finditer(text))
        self.assertGreaterEqual(len(marks), 2)
        for mark in marks:
            tool, _, arguments = mark["call"].partition(" ")
            arguments = json.loads(arguments)
            first, last, read = int(mark["from"]), int(mark["to"]), []
            while True:
                part = self.text(client, tool, **arguments)
                self.assertLessEqual(len(part.encode()), 10240)
                *some, end = part.splitlines()
                read += some
                more = re.search(r"\[more: lines (\S+)\]$", end)
                if not more:
                    break
                arguments["lines"] = more[1]
            self.assertEqual(read, lines[first - 1:last])
        self.assertIn("must be line numbers", self.text(client, "TaskOutput", **{**arguments, "lines": "5-2"}))

    def test_the_operator_says_how_long_an_answer_is(self):
        client = self.client("claude-code", "--answer-bytes", "4K")
        self.assertLessEqual(len(self.text(client, "Bash", command=self.FLOOD).encode()), 4096)
        client.close()
        (self.dir / "p.yaml").write_text("profile: mine\ninherits: bash\noutput: {answer: 3K}\n")
        for options, most in (((), 3072), (("--answer-bytes", "50K"), 51200)):
            client = self.client("claude-code", "--policy", str(self.dir / "p.yaml"), "--profile", "mine", *options)
            size = len(self.text(client, "Bash", command=self.FLOOD).encode())
            self.assertLessEqual(size, most)
            self.assertGreater(size, most / 2)
            client.close()

    def test_a_profile_that_names_halves_has_them(self):
        (self.dir / "p.yaml").write_text("profile: mine\ninherits: bash\noutput: {style: halves}\n")
        client = self.client("claude-code", "--policy", str(self.dir / "p.yaml"), "--profile", "mine")
        text = self.text(client, "Bash", command=self.FLOOD)
        self.assertIn("characters left out; the full output is in nacre://output/", text)
        self.assertNotIn("error: boom", text)

    def test_errors_are_small(self):
        client = self.client("gemini-cli-mcp-client")
        for arguments in ({"command": "rm -rf /"}, {"command": "sleep 60", "timeout": 200}):
            result = self.call(client, "Bash", **arguments)
            self.assertTrue(result["isError"] or arguments.get("timeout"), result)
            self.assertLess(len(json.dumps(result["_meta"])), 120, result)
            self.assertNotIn("reason", result["_meta"]["dev.nacre/run"])

    def test_tools_are_found_and_cost_little(self):
        client = self.client("claude-code")
        tools = client.result("tools/list")["tools"]
        told = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]
        self.assertLessEqual(len(json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()), 4200)
        always = {tool["name"] for tool in tools if tool.get("_meta", {}).get("anthropic/alwaysLoad") is True}
        self.assertEqual(always, {"Bash", "TaskOutput"})
        client.close()
        for profile in ("bash", "universal", "workspace", "verify", "readonly"):
            client = self.client("claude-code", "--profile", profile)
            tool = client.result("tools/list")["tools"][0]
            self.assertIn("shell command", tool["description"])
            self.assertIs(tool["_meta"]["anthropic/alwaysLoad"], True)
            client.close()

    def test_colours_and_progress_do_not_hide_the_error(self):
        client = self.client("somebody")
        script = (r"for i in $(seq 3000); do printf 'fetch %d%%\r' $((i / 30)); done; echo; "
                  r"for i in $(seq 2000); do echo \"é$((i * i % 997)) ü\"; done; "
                  r"printf '\033[1ma.c:1:2: \033[31merror: \033[0mcoloured\n'; for i in $(seq 2000); do echo é$((i * 7 % 997)); done")
        text = self.text(client, "Bash", command=script)
        self.assertIn("\na.c:1:2: error: coloured\n", text)
        self.assertNotIn("fetch 1%", text)
        self.assertNotIn("\ufffd", text)

    def test_both_streams_keep_their_order(self):
        client = self.client("somebody")
        script = "for i in $(seq 4000); do echo out $((i * i % 997)); echo err $((i * 3 % 997)) >&2; done"
        text = self.text(client, "Bash", command=script)
        lines = [line for line in text.splitlines() if line[:4] in ("out ", "err ")]
        gap = next(i for i, line in enumerate(text.splitlines()) if line.startswith("[…"))
        for i, line in enumerate(text.splitlines()[1:gap]):
            self.assertEqual(line[:3], "err" if i % 2 else "out")
        self.assertGreater(len(lines), 100)


if __name__ == "__main__":
    unittest.main()
