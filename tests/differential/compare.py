"""What must hold between the analysis of a line and what real bash does with it.

check() returns the disagreements as [(kind, words for people)]:

    crash       nacre gave no answer
    log         strace saw a start of a probe that is not in the log of the probes, or the reverse
    unsound     a program was started that no analysed command covers
    unwritten   a file was made that no analysed redirection names
    accepts     bash refuses the line, nacre does not
    refuses     nacre calls it an error, bash does not
    canonical   bash does something else with the canonical text; the words begin with what differs
    reprint     the canonical text is analysed differently from the line itself
"""
import fnmatch
import json
import posixpath
import re
import signal

PROOF = ("static", "dynamic")
META = re.compile(r"[*?\[\\+@!({~]")
WRITES = (">", ">>", ">|", "&>", "&>>", "<>", ">&")
RUN_TIME_ERRORS = ("syntax error", "bad substitution", "unexpected EOF", "arithmetic syntax",
                   "operand expected",
                   "error token", "unbound variable", "not a valid identifier", "bad array subscript",
                   "unexpected argument", "unexpected token", "conditional binary operator",
                   "invalid variable name",
                   "invalid indirect", "ambiguous redirect", "Bad file descriptor",
                   "ignored null byte", "warning:", "must use subscript")
# "bash: 1002 Broken pipe             find /", and a line for each other part of its pipeline: the command
# stands there as it was written.
ENDINGS = "|".join(["Done", r"Exit \d+", *(re.escape(signal.strsignal(number) or "Killed")
                                           for number in sorted(signal.valid_signals()))])
KILLED = re.compile(r"((?:\S*(?:bash|sh|environment): | {5}) *\d+ (?:%s) +(?:\| )?).*" % ENDINGS)


def with_globstar(pattern):
    """The pattern, and what it means where **/ is no directory at all."""
    first, found, rest = pattern.partition("**/")
    if not found:
        return [pattern]
    return [first + some + one for one in with_globstar(rest) for some in (found, "")]


def fits(word, unknown):
    """May this one word be (a part of) what the unknown word becomes?"""
    if unknown["k"] == "glob":
        pattern = unknown.get("pat", "")
        start = META.search(pattern)
        if not start:
            return True
        if not word.startswith(pattern[:start.start()]):
            return False
        simple = not re.search(r"[\[\\(~]", pattern)
        return (not simple or word == pattern
                or any(fnmatch.fnmatchcase(word, one) for one in with_globstar(pattern)))
    return word.startswith(unknown.get("pre", ""))


def covers(command, argv, name=None):
    """Can the analysed command become these words? NAME is what the first word may be instead."""
    unknowns = command.get("dyn", {})
    reach = {0}
    for index, word in enumerate(command["argv"]):
        following = set()
        for place in reach:
            if word is not None:
                if place < len(argv) and (argv[place] == word or place == 0 and name == word):
                    following.add(place + 1)
                continue
            unknown = unknowns[str(index)]
            if unknown["k"] == "one":
                if place < len(argv) and fits(argv[place], unknown):
                    following.add(place + 1)
                continue
            following.add(place)
            for end in range(place, len(argv)):
                # Only the first of many words has the known beginning.
                if (end == place or unknown["k"] == "glob") and not fits(argv[end], unknown):
                    break
                following.add(end + 1)
        reach = following
    return len(argv) in reach


def unpredicted(answer, executions):
    """The executions that no command of the answer covers."""
    commands = [command for command in answer["commands"] if command["argv"]]
    missing = []
    for file, argv in executions:
        # The answer is JSON: bytes that are no character are told as U+FFFD there.
        argv = [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in argv]
        name = posixpath.basename(file)
        if not any(covers(command, argv, name) or covers(command, argv, file) for command in commands):
            missing.append(argv)
    return missing


def unpredicted_files(answer, files):
    targets = [redirection for command in answer["commands"] for redirection in command.get("redirs", ())
               if redirection["op"] in WRITES]
    if any(redirection.get("target") is None for redirection in targets):
        return []
    names = {posixpath.basename(redirection["target"]) for redirection in targets}
    # A program that writes what one of its own words names, as sort -oFILE, is told as such.
    words = [word for command in answer["commands"] for word in command["argv"]
             if any(effect["class"] == "write" for effect in command.get("does", ()))]

    def is_told(name):
        return name in names or any(word is None or word.endswith(name) for word in words)
    return [name for name in files if not is_told(posixpath.basename(name.rstrip("/")))]


def is_concurrent(text):
    rest = re.sub(r"&&|\|\||[0-9<>]&[0-9-]|&>", "", text)
    return bool(re.search(r"[|&]|[<>]\(|coproc", rest))


def messages(text):
    """Standard error, without what rightly depends on how the text is written."""
    found = []
    # The prompt of select is on the line of the next message.
    text = re.sub(r"(?m)^(#\? )+(?=\S*(bash|sh|environment): )", "", text)
    # The text that is quoted in front of these words may have several lines.
    text = re.sub(r"(?ms)^\S*(bash|sh|environment): "
                  r"((?!^\S*(bash|sh|environment): |^not found: ).)*?: (?=(bad substitution|ambiguous redirect)$)", "", text)
    text = re.sub(r"(?ms)bad substitution: no closing .*?(?=^\S*(bash|sh|environment): |\Z)",
                  "bad substitution\n", text)
    for line in text.split("\n"):
        line = re.sub(r"\b(line )?\d+: ", "", line, count=1) if re.match(r"\S*(bash|sh|environment)\b",
                                                                         line) else line
        if (re.match(r"\S*(bash|sh|environment)\b.*: `.*'$", line) or "warning: here-document" in line
                or line.startswith("+")):  # set -x shows the words as they are written
            continue
        line = KILLED.sub(r"\1", line, count=1) if KILLED.match(line) else line
        for words in RUN_TIME_ERRORS:
            if words in line:
                line = words
                break
        found.append(neutral(re.sub(r"\d+m?[.,]\d+s?", "TIME", line)))
    return found


def neutral(text):
    """Without numbers of lines, and with names as they may be written, in words that came out of a message."""
    text = re.sub(r'\bline(", "|[ |])\d+:', "line:", text)
    # Which number is free is bash's business, and depends on what it closes at the end of a line.
    text = re.sub(r"/dev/fd/\d+", "/dev/fd/N", text)
    return re.sub(r"\$\{(\w+)\}", r"$\1", text) if "ambiguous" in text else text


def is_traced(text):
    return bool(re.search(r"\bset\b[^;\n]*(-\w*x|xtrace)|\bPS4\b|(bash|sh)\b[^;\n]* -\w*x", text))


def unquoted(run):
    """A trace shows some words as they are written: without quotes and braces they are the same."""
    text = re.sub(r"'|(\\\\)+|\\\"", "", json.dumps(run))
    # Of an array the braces are not expanded, either.
    text = re.sub(r'((?:"|\\n)\++ \w+\+?=\()(?:(?!\\n|").)*(?=\)(?:\\n|"))', r"\1", text)
    return json.loads(re.sub(r"\$\{(\w+)\}", r"$\1", text))


def numberless(text):
    """Messages of bash in another place; a number of a line may differ there, too."""
    if text is None or "line" not in text:
        return text and neutral(text)
    found = messages(text)
    if re.search(r"\b(bash|sh|environment): line \d+: ", text):
        found.sort()  # where sort has ordered them, it has done so by these numbers
    return neutral("\n".join(found))


def spelled(execution):
    """For comparison: a number of a line may differ in words that came out of a message, too."""
    return neutral(json.dumps(execution))


def is_background(text):
    return bool(re.search(r"(?<![&|<>;\d])&(?![&>])", text))


def is_setsid_before_blank_lines(text):
    """Only behind the last byte of its text bash starts a program without a fork. Then the program leads the
    process group, and setsid forks itself and ends with 0 instead of with the status of what it runs."""
    return bool(re.search(r"\bsetsid\b.*\n(?:[ \t]*(?:#.*)?\n)*[ \t]*(?:#.*)?\Z", text))


def mixed(text):
    """The words of what several wrote at the same time, in any order."""
    return sorted(re.findall(r"[|;<>\s]|[^|;<>\s]+", text))


def jumbled(execution):
    """As spelled(), where such a text became the words, or a part of one."""
    file, argv = json.loads(spelled(execution))
    return json.dumps([file, len(argv), mixed(" ".join(argv))])


def differences(text, first, second):
    """Between two runs: what is named here, in the order of importance."""
    if "BASH_EXECUTION_STRING" in json.dumps([first, second]):
        return []  # a line that prints all variables prints its own text
    if is_traced(text):
        first, second = ({**run, **unquoted({"out": run["out"], "err": run["err"], "files": run["files"]})}
                         for run in (first, second))
    loose = sorted if is_concurrent(text) else list
    background = is_background(text)
    spell = jumbled if background else spelled
    show = mixed if background else str
    found = []
    if loose(map(spell, first["execs"])) != loose(map(spell, second["execs"])):
        found.append(("execs", "%s / %s" % ([e[1] for e in first["execs"]],
                                            [e[1] for e in second["execs"]])))
    if (first["status"] != second["status"]
            and not (second["status"] == 0 and is_setsid_before_blank_lines(text))):
        found.append(("status", "%s / %s" % (first["status"], second["status"])))
    if (loose(map(show, numberless(first["out"]).split("\n")))
            != loose(map(show, numberless(second["out"]).split("\n")))):
        found.append(("stdout", "%r / %r" % (first["out"], second["out"])))
    if ({name: body and show(numberless(body)) for name, body in first["files"].items()}
            != {name: body and show(numberless(body)) for name, body in second["files"].items()}):
        found.append(("files", "%s / %s" % (first["files"], second["files"])))
    # With a PS4 of its own, the lines of a trace, which show the source, cannot be told from others.
    if (sorted(messages(first["err"])) != sorted(messages(second["err"]))
            and not (is_traced(text) and "PS4" in text)):
        found.append(("stderr", "%r / %r" % (first["err"], second["err"])))
    return found


def shape(answer):
    return sorted(json.dumps([command["argv"], command.get("dyn"), command.get("via")], sort_keys=True)
                  for command in answer["commands"])


def is_run_time_error(run):
    return any(words in run["err"] for words in RUN_TIME_ERRORS)


def check(text, answer, again, runs):
    """AGAIN is the analysis of the canonical text; RUNS has "syntax", "first" and "second"."""
    if answer is None or "status" not in answer:
        return [("crash", str(answer))]
    status, found = answer["status"], []
    if "traced" in runs["first"] and not runs["first"]["late"]:
        logged = sorted(file for file, _ in runs["first"]["execs"])
        traced = sorted(file for file, _ in runs["first"]["traced"] if not file.startswith(("/usr/bin/",
                                                                                            "/bin/")))
        if logged != traced:
            found.append(("log", "%s / %s" % (logged, traced)))
    refused = runs["syntax"]["refused"]
    if refused and "extglob" in text:  # bash -n does not run what switches them on
        refused = "syntax error" in runs["first"]["err"]
    if (status == "error" and not refused and not runs["syntax"]["late"]
            and not is_run_time_error(runs["first"])):
        found.append(("refuses", json.dumps(answer.get("error"))))
    if refused and status in (*PROOF, "opaque"):
        found.append(("accepts", status + ": " + runs["syntax"]["err"][:200]))
    if status in PROOF:
        execs = runs["first"]["execs"] + runs["first"].get("traced", [])
        missing = unpredicted(answer, [e for e in execs if "/mnt/.notfound" not in e[1]])
        if missing:
            found.append(("unsound", json.dumps(missing, ensure_ascii=False)))
        written = unpredicted_files(answer, runs["first"]["files"])
        if written:
            found.append(("unwritten", json.dumps(written, ensure_ascii=False)))
    if "executed" in answer and not refused and runs["second"]:
        if again is None or "status" not in again:
            found.append(("crash", "of the canonical text: " + answer["executed"]))
        elif again["status"] != status or status in PROOF and shape(again) != shape(answer):
            found.append(("reprint", "%s / %s: %s" % (status, again["status"], answer["executed"])))
        told = "\ufffd" not in answer["executed"] or not re.search(r"\\[xuUc0-7]", text)
        if told and not runs["first"]["late"] and not runs["second"]["late"]:
            for what, words in differences(text, runs["first"], runs["second"])[:1]:
                found.append(("canonical", what + ": " + words + " with " + answer["executed"]))
    return found
