"""nacre's analysis against real bash: lines that once disagreed, and a few hundred generated ones.

`make differential` compares many more; tests/differential/README.md tells how.
"""
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NACRE = os.path.abspath(os.environ.get("NACRE") or ROOT / "build" / "nacre")
PLACE = ROOT / "tests" / "differential"
sys.path.insert(0, str(PLACE))

import compare  # noqa: E402
import engine  # noqa: E402
import grammar  # noqa: E402
import sandbox  # noqa: E402


class Differential(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="nacre-differential-")
        cls.addClassCleanup(cls.directory.cleanup)
        try:
            cls.engine = engine.Engine(NACRE, sandbox.build_probe(cls.directory.name), workers=2,
                                       strace_every=25)
        except sandbox.SandboxError as error:
            raise unittest.SkipTest(f"userns: {error}")
        cls.addClassCleanup(cls.engine.close)
        cls.engine.most_of_a_kind = 2  # to make a line small takes seconds

    def test_lines_that_once_disagreed_agree(self):
        lines = [json.loads(line) for line in (PLACE / "regressions.txt").read_text().splitlines()]
        self.assertGreater(len(lines), 5)
        box = self.engine.boxes[0]
        for line, _, found, _, _ in self.engine.examine(box, lines):
            with self.subTest(line=line):
                self.assertEqual([one for one in found
                                  if self.engine.is_steady(box, line, self.engine.sort(one))], [])


    def test_generated_lines_do_what_was_foreseen(self):
        findings = []
        self.engine.run(grammar.lines(20260, 400), findings.append)
        self.assertEqual(self.engine.count["lines"], 400)
        self.assertGreater(self.engine.count["execve seen"], 400)
        self.assertGreater(self.engine.count["compared with the canonical form"], 200)
        self.assertEqual([(one.kind, one.line, one.words) for one in findings], [])


class Comparison(unittest.TestCase):
    """The judge must be able to find fault: known wrong answers are given to it."""

    def run_of(self, *argvs, **other):
        return {"status": 0, "late": False, "out": "", "err": "", "files": {},
                "execs": [["/mnt/" + argv[0], list(argv)] for argv in argvs], **other}

    def judge(self, answer, first, refused=False, second=None):
        runs = {"syntax": {"refused": refused, "late": False, "err": ""}, "first": first, "second": second}
        return [kind for kind, _ in compare.check("c1", answer, answer, runs)]

    def answer(self, *commands, status="dynamic", **other):
        return {"status": status, "commands": list(commands), "effects": [], **other}

    def test_a_program_that_no_command_covers_is_unsound(self):
        known = self.answer({"argv": ["c1", "a"]})
        self.assertEqual(self.judge(known, self.run_of(["c1", "a"])), [])
        for argv in (["c1"], ["c1", "b"], ["c1", "a", "b"], ["c2", "a"]):
            self.assertEqual(self.judge(known, self.run_of(argv)), ["unsound"])

    def test_an_unknown_word_covers_what_its_kind_allows(self):
        one = self.answer({"argv": ["c1", None], "dyn": {"1": {"k": "one", "pre": "x"}}})
        many = self.answer({"argv": ["c1", None, "z"], "dyn": {"1": {"k": "many"}}})
        glob = self.answer({"argv": ["c1", None], "dyn": {"1": {"k": "glob", "pat": "*.txt"}}})
        deep = self.answer({"argv": ["c1", None], "dyn": {"1": {"k": "glob", "pat": "**/a"}}})
        for answer, good, bad in ((one, [["c1", "xy"]], [["c1"], ["c1", "y"], ["c1", "x", "x"]]),
                                  (many, [["c1", "z"], ["c1", "a", "b", "z"]], [["c1"], ["c1", "a"]]),
                                  (glob, [["c1", "a.txt", "b.txt"], ["c1", "*.txt"]], [["c1", "a.c"]]),
                                  (deep, [["c1", "a", "d/a", "d/e/a"]], [["c1", "b"], ["c1", "da"]])):
            for argv in good:
                self.assertEqual(self.judge(answer, self.run_of(argv)), [], argv)
            for argv in bad:
                self.assertEqual(self.judge(answer, self.run_of(argv)), ["unsound"], argv)

    def test_an_opaque_answer_covers_all(self):
        self.assertEqual(self.judge(self.answer(status="opaque"), self.run_of(["c9"])), [])

    def test_a_line_that_only_one_of_the_two_refuses_is_found(self):
        self.assertEqual(self.judge(self.answer(), self.run_of(), refused=True), ["accepts"])
        self.assertEqual(self.judge(self.answer(status="error"), self.run_of()), ["refuses"])
        self.assertEqual(self.judge(self.answer(status="error"), self.run_of(), refused=True), [])

    def test_a_canonical_text_that_does_something_else_is_found(self):
        answer = self.answer({"argv": ["c1"]}, executed="c1")
        first = self.run_of(["c1"])
        self.assertEqual(self.judge(answer, first, second=self.run_of(["c1"])), [])
        for second in (self.run_of(), self.run_of(["c1"], status=1), self.run_of(["c1"], out="x\n"),
                       self.run_of(["c1"], err="x\n"), self.run_of(["c1"], files={"w/o": ""})):
            self.assertEqual(self.judge(answer, first, second=second), ["canonical"])

    def differs(self, text, first, second):
        return [what for what, _ in compare.differences(text, self.run_of(**first), self.run_of(**second))]

    def test_how_a_killed_command_was_written_does_not_count_but_how_it_ended_does(self):
        said = ('/bin/bash: line 1:  1002 Broken pipe             find "/"\n'
                '      1003 Killed                  | sh -c "kill -9 \\$\\$"\n')
        other = ("/bin/bash: line 1:  1002 Broken pipe             'find' '/'\n"
                 "      1003 Killed                  | 'sh' '-c' 'kill -9 $$'\n")
        self.assertEqual(self.differs("c1", {"err": said}, {"err": other}), [])
        for wrong in (other.replace("Killed", "Exit 1"), other.replace("Broken pipe", "Done"),
                      other.replace("1003", "1004"), other.partition("\n")[0] + "\n", other + "x\n",
                      other.replace("| ", "")):
            self.assertEqual(self.differs("c1", {"err": said}, {"err": wrong}), ["stderr"], wrong)

    def test_how_a_traced_array_was_written_does_not_count_but_what_else_is_traced_does(self):
        said, other = "+ a=({,})\n+ c1 x\n", "+ a=()\n+ c1 x\n"
        self.assertEqual(self.differs("set -x", {"out": said}, {"out": other}), [])
        self.assertEqual(self.differs("c1", {"out": said}, {"out": other}), ["stdout"])
        for wrong in ("+ b=()\n+ c1 x\n", "+ a+=()\n+ c1 x\n", "+ a=() c1 x\n", "+ a=()\n+ c1 y\n",
                      "+ a=()\n", "+ a=()\n+ c1 x\n\n", "a=()\n+ c1 x\n"):
            self.assertEqual(self.differs("set -x", {"out": said}, {"out": wrong}), ["stdout"], wrong)

    def test_where_several_write_at_once_only_the_order_of_their_words_does_not_count(self):
        first = self.run_of(["c2", "<c8|#;|aa>|c4|-x", "b"])
        second = self.run_of(["c2", "c4|-x|<c8|#;|aa>", "b"])
        wrong = [self.run_of(["c2", "c4|-x|<c8|#;|ab>", "b"]), self.run_of(["c2", "c4|-x|<c8|#;|aa>", "b", ""])]
        self.assertEqual(compare.differences("c2 $(c8 & w3) b", first, second), [])
        self.assertEqual([what for what, _ in compare.differences("c2 $(c8; w3) b", first, second)], ["execs"])
        for other in wrong:
            self.assertEqual([what for what, _ in compare.differences("c2 $(c8 & w3) b", first, other)], ["execs"])

    def test_only_setsid_at_the_end_may_end_with_0_instead(self):
        for text in ("setsid c1\n\n", "c1; setsid c1\n# c\n"):
            self.assertEqual(self.differs(text, {"status": 127}, {"status": 0}), [], text)
            self.assertEqual(self.differs(text, {"status": 127}, {"status": 1}), ["status"], text)
            self.assertEqual(self.differs(text, {"status": 0}, {"status": 127}), ["status"], text)
        for text in ("setsid c1", "setsid c1\nc2", "c1\n\n"):
            self.assertEqual(self.differs(text, {"status": 127}, {"status": 0}), ["status"], text)

    def test_a_file_that_no_redirection_names_is_found(self):
        answer = self.answer({"argv": [], "redirs": [{"fd": 1, "op": ">", "target": "o"}]})
        self.assertEqual(self.judge(answer, self.run_of(files={"w/o": ""})), [])
        self.assertEqual(self.judge(answer, self.run_of(files={"w/p": ""})), ["unwritten"])
        writer = self.answer({"argv": ["sort", "-do"], "does": [{"class": "write"}]})
        self.assertEqual(self.judge(writer, self.run_of(files={"w/o": ""})), [])
        self.assertEqual(self.judge(writer, self.run_of(files={"w/p": ""})), ["unwritten"])


if __name__ == "__main__":
    unittest.main()
