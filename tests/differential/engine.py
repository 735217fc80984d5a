"""Generated lines through nacre and through real bash; what disagrees is made small and kept."""
import collections
import json
import subprocess
import threading
import time

import compare
import grammar
import sandbox

CHUNK = 100
MOST_STEPS = 250  # attempts to make one disagreement smaller

Finding = collections.namedtuple("Finding", "kind words line original")


def analyse(nacre, lines):
    """One answer a line; None for those that a crash has left without."""
    if not lines:
        return []
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([nacre, "analyse", "--batch"], input=text.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False)
    answers = [json.loads(line) for line in done.stdout.decode("utf-8", "replace").split("\n") if line]
    if len(answers) == len(lines):
        return answers
    if len(lines) == 1:
        return [None]
    half = len(lines) // 2
    return analyse(nacre, lines[:half]) + analyse(nacre, lines[half:])


class Engine:
    def __init__(self, nacre, probe, workers=1, strace_every=0):
        self.nacre = nacre
        self.boxes = [sandbox.Sandbox(probe) for _ in range(workers)]
        self.strace_every = strace_every
        self.count = collections.Counter()
        self.findings = []
        self.lock = threading.Lock()
        self.stopping = False  # set by whoever wants the totals of what was done so far

    def close(self):
        for box in self.boxes:
            box.close()

    def examine(self, box, lines, strace=0):
        """[(line, disagreements)]; STRACE: every so many lines are traced, too."""
        answers = analyse(self.nacre, lines)
        canonical = [answer.get("executed") if answer else None for answer in answers]
        printed = [text for text in canonical if text is not None]
        again = iter(analyse(self.nacre, printed))
        for number, (line, answer, text) in enumerate(zip(lines, answers, canonical)):
            other = next(again) if text is not None else None
            first = box.run([{"text": line, "strace": bool(strace) and number % strace == 0}])[0]
            syntax = {"refused": False, "late": False, "err": ""}
            if not self.is_surely_accepted(line, answer, first):
                syntax = box.run([{"text": line, "syntax": True}])[0]
            second = None
            if text is not None and not first["late"]:
                second = box.run([{"text": text}])[0]
            found = compare.check(line, answer, other, {"syntax": syntax, "first": first, "second": second})
            if any(kind == "refuses" for kind, _ in found) and not self.is_read_to_its_end(box, line):
                found = [one for one in found if one[0] != "refuses"]
            yield line, answer, found, first, second

    @staticmethod
    def is_read_to_its_end(box, line):
        """Some lines, such as [[ ]] or for((()), bash gives up without a message and with status 0."""
        run = box.run([{"text": line + "\nc9 the end"}])[0]
        return any(argv == ["c9", "the", "end"] for _, argv in run["execs"])

    @staticmethod
    def is_surely_accepted(line, answer, run):
        """A single line is read whole before anything runs: no message of the parser, no error."""
        return ("\n" not in line and answer is not None
                and answer.get("status") in ("static", "dynamic", "opaque") and not run["late"]
                and ": -c: " not in run["err"] and "unexpected" not in run["err"]
                and "syntax error" not in run["err"])

    def kinds(self, box, line):
        for _, _, found, _, _ in self.examine(box, [line]):
            return found
        return []

    def is_steady(self, box, line, kind):
        """Seen again twice, and not because the line itself does not always do the same."""
        if kind in ("unsound", "unwritten"):
            return True  # once is enough
        for _ in range(2):
            if kind not in [self.sort(found) for found in self.kinds(box, line)]:
                return False
        return not kind.startswith("canonical") or self.is_never_the_same(box, line)

    def is_never_the_same(self, box, line):
        """The line always does the same, and its canonical text never does that."""
        answer = analyse(self.nacre, [line])[0]
        texts = [box.run([{"text": line}, {"text": answer["executed"]}]) for _ in range(5)]
        if any(compare.differences(line, texts[0][0], first) for first, _ in texts[1:]):
            return False
        return all(compare.differences(line, texts[0][0], second) for _, second in texts)

    @staticmethod
    def sort(found):
        """The kind, with what differs."""
        kind, words = found
        return kind + " " + words.split(":")[0] if kind in ("canonical", "accepts") else kind

    def minimise(self, box, line, kind):
        """Removes tokens, then characters, while the same kind of disagreement is left."""
        steps = 0
        for cut in (grammar.tokens, list):
            units = cut(line)
            size = max(1, len(units) // 2)
            while size >= 1 and steps < MOST_STEPS:
                place, changed = 0, False
                while place < len(units) and steps < MOST_STEPS:
                    attempt = units[:place] + units[place + size:]
                    steps += 1
                    if attempt and kind in [self.sort(found) for found in self.kinds(box, "".join(attempt))]:
                        units, changed = attempt, True
                    else:
                        place += size
                if not changed or size > 1:
                    size //= 2
            line = "".join(units)
        return line

    def work(self, box, chunks, report):
        while True:
            with self.lock:
                lines = None if self.stopping else next(chunks, None)
            if lines is None:
                return
            for line, answer, found, first, second in self.examine(box, lines, self.strace_every):
                with self.lock:
                    self.count["lines"] += 1
                    self.count["status " + str(answer and answer.get("status"))] += 1
                    self.count["execve seen"] += len(first["execs"])
                    self.count["late"] += bool(first["late"])
                    self.count["compared with the canonical form"] += bool(second and not second["late"])
                    self.count["traced with strace"] += "traced" in first
                for one in found[:1]:
                    self.note(box, line, one, report)

    def note(self, box, line, found, report):
        kind = self.sort(found)
        with self.lock:
            self.count["disagreements"] += 1
            many = sum(finding.kind == kind for finding in self.findings) >= self.most_of_a_kind
        if not self.is_steady(box, line, kind):
            with self.lock:
                self.count["not steady"] += 1
            return
        if many:
            report(Finding(kind, found[1], line, line))
            return
        small = self.minimise(box, line, kind)
        words = [found for found in self.kinds(box, small) if self.sort(found) == kind]
        if not words or not self.is_steady(box, small, kind):
            small, words = line, [found]
        with self.lock:
            if any((finding.line, finding.kind) == (small, kind) for finding in self.findings):
                self.count["same again"] += 1
                return
            finding = Finding(kind, words[0][1], small, line)
            self.findings.append(finding)
        report(finding)

    most_of_a_kind = 60

    def run(self, lines, report):
        lines = iter(lines)

        def chunked():
            while True:
                chunk = [line for _, line in zip(range(CHUNK), lines)]
                if not chunk:
                    return
                yield chunk
        chunks, failed = chunked(), []

        def guarded(box):
            try:
                self.work(box, chunks, report)
            except Exception as error:  # reported where the threads are joined
                failed.append(error)
        began = time.monotonic()
        threads = [threading.Thread(target=guarded, args=(box,)) for box in self.boxes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.count["seconds"] = round(time.monotonic() - began)
        if failed:
            raise failed[0]
