"""Lines of bash out of a seeded grammar, harmless and short-lived when they run in the sandbox.

The commands are names that the sandbox's PATH holds (c1 ... c9, w1 ... w4, a few real programs that
run others), names that it does not hold, builtins and functions. Every loop is bounded. A part of
the lines is damaged afterwards, by a token or by a character, so that refusals are compared, too.
"""
import json
import pathlib
import random
import re

TOKEN = re.compile(r"\s+|\w+|<<-?|>>|&&|\|\||;;|\$\(\(|\$\(|\$\{|\(\(|\)\)|\[\[|\]\]|.", re.DOTALL)
DAMAGE = ["'", '"', "`", "$", "\\", "(", ")", "{", "}", ";", "&", "|", "<", ">", "\n", " ", "#", "!", "=",
          "*", "~", "[", "]", "<<", "((", "))", "$(", "${", "then", "fi", "do", "done", "esac", "in", "\t",
          "\\\n", "$'", '$"', "@(", ";;", "|&", "&>", "function ", "case ", "if ", "for ", "[[ ", "]]",
          "{ ",
          "time ", "coproc ", "é", "1", "<(", "-", ",", "..", "%", "^", "@", ":", "?", "+", "/", "\r"]


# Pieces that are thrown together without any grammar, and what such a text may stand in.
PIECES = [*"\"'\"'\"'$$(){}`\\ ;#\n[]|&=*~!:-@/%1^,?+<>é\t", "$$", "$(c9)", "`c8`", "c7", "${u-", "${A", "$((",
          "))", "<<E", "\nE\n", "a=(", "$(", "$(", "$'", '$"', "\\'", '\\"', "\\`", "\\\n", "'$(c9)'", '"$(c9)"', "<(",
          "[[ ", " ]]", "{a,b}", "case a in ", "esac", "a) ", ";;", "! ", "$x", '"$@"', "arr", "..", "o1", "if ",
          "then ", "fi", "do ", "done", "for i in ", "time ", "coproc ", "function f ", "()", "{ ", ";}", "$[", "$#",
          "$!", "${#", "${!", "@Q}", "[0]", "[$(c9)]", "let ", "eval ", "export ", "-eq ", "=~ ", "== ", "$'\\x27'",
          "$'\\x24'", "\\\\", "\\$", "''", '""']
FRAMES = [("c1 ", ""), ("c1 ", ""), ('c1 "', '"'), ("c1 $(", ")"), ('c1 "$(', ')"'), ("c1 ${u-", "}"),
          ('c1 "${u-', '}"'), ("c1 `", "`"), ("x=", ""), ("c1 <<E\n", "\nE"), ("c1 $((", "))"), ("", ""),
          ('c1 "`', '`"'), ("c1 <(", ")"), ("[[ ", " ]]"), ("case ", " in *) c2;; esac"), ("c1 ${A/", "}"),
          ("arr=(", ")"), ("c1 >", "")]


# Options of programs that run another one, right and wrong ones, and values that may go astray among them.
OPTIONS = {
    "env": "-i - -0 -v -u A -uA --unset=A --uns -C src -Csrc --chd=src A=1 B= =x --ignore-env -iu -- -x --block-signal=INT "
           "--default -S -Sc9 -vS'c8 q' '-S\\c' '-Sc7 \\c'",
    "nice": "-n 5 -n5 -5 --5 -+5 --adjustment=5 --adj 5 -19 -- - -x",
    "timeout": "-k 1 -k1 --kill=1 --kill-after -s KILL -sKILL --sig --pres --fore -v 5 5s -vk1 -vs -- -x",
    "stdbuf": "-i 0 -i0 -oL -o L -e0 --inp=0 --output --err=0 -- -x -ioL",
    "setsid": "-f -w --wait --wa -fw -- -x -",
    "nohup": "-- - -x x",
    "xargs": "-0 -r -t -x -a in -ain --arg-f=in -d , -d, --delim=, -E u -Eu -e -eu --eof --eof=u -I {} -I{} -i -iQ --replace "
             "--replace=Q -L 1 -L1 -l -l2 --max-lines --max-lines=1 -n 1 -n1 --max-args=1 -P 2 -s 1000 -- -rn1 -0n1 -rI{} -tI",
    "find": "-name f * -exec -execdir c9 {} \\; + -o ! \\( \\) -prune -type d -maxdepth 0 -newer -fprintf -printf x -quit -true "
            "-perm -644 -not -mindepth x{}y -L -O2 -D exec -newermt",
    "bash": "-x -e -u -n +x -o errexit -O nullglob +O -c --norc -norc --posix -s -- - -ec -xc -cx -sc -eo -co -p +c --foo",
    "sh": "-x -e -u -n +x -o errexit -c -s -- - -ec -xc -sc -eo -co +c",
}


def strings(name):
    """The lines of a file beside this one, each a JSON string."""
    text = (pathlib.Path(__file__).resolve().parent / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


TEMPLATES, EVERYDAY = strings("templates.txt"), strings("everyday.txt")


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pending = []     # bodies of here-documents that the next newline must bring
        self.depth = 0
        self.functions = []
        self.delimiters = 0

    # -------------------------------------------------------------- small things

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def weighted(self, table):
        """One of {function: weight}; deeper means simpler."""
        makers = list(table)
        return self.random.choices(makers, [table[maker] for maker in makers])[0]()

    def deep(self):
        return self.depth > 4 or self.random.random() < self.depth * 0.18

    def nested(self, maker):
        self.depth += 1
        try:
            return maker()
        finally:
            self.depth -= 1

    def space(self):
        if self.chance(0.06):
            return self.pick("  ", "\t", " \\\n", "\\\n ", " \t ")
        return " "

    def name(self):
        return self.pick("A", "B", "x", "y", "Z", "u", "_v1", "arr")

    def plain(self):
        return self.pick("a", "b", "foo", "-x", "--long", "a.txt", "src/main.c", "x=1", "1", "0", "é", "日本",
                         "a-b",
                         "%s", "a,b", "@", "+x", "-", "--", "n1", "a:b", "in", "do", "done", "if", "time",
                         "}", "]]",
                         "a#b", "1.5", "..", ".", "/", "c2", "-n", "-e", "a=b=c", "^x", "a!b", "fi",
                         "function")

    # -------------------------------------------------------------- words

    def word(self):
        return "".join(self.part() for _ in range(self.random.choices((1, 2, 3), (75, 19, 6))[0]))

    def part(self):
        if self.deep():
            return self.weighted({self.plain: 5, self.single: 2, self.simple_double: 2, self.variable: 2})
        return self.weighted({self.plain: 30, self.single: 9, self.double: 12, self.ansi: 5, self.escape: 6,
                              self.variable: 9, self.parameter: 9, self.substitution: 7, self.backtick: 3,
                              self.arithmetic: 4, self.brace: 6, self.glob: 5, self.tilde: 3,
                              self.locale: 1,
                              self.process: 2, self.continued: 2})

    def single(self):
        return "'" + self.pick("", "a b", "$x", "`c1`", "\\", '"', "a\nb", "*", "$(c9)", "#", "é", "!",
                               "a  b") + "'"

    def simple_double(self):
        return '"' + self.pick("", "a b", "'", "\\$x", "\\\\", "\\a", "a\\\nb", "$", "a$", "*", "!", "~",
                               "\\`", "#") + '"'

    def double(self):
        parts = []
        for _ in range(self.random.randint(0, 3)):
            parts.append(self.weighted({
                lambda: self.simple_double()[1:-1]: 5, self.variable: 3, self.parameter_quoted: 3,
                self.substitution: 2, self.backtick: 1, self.arithmetic: 1, lambda: self.pick("a", " ",
                                                                                              "x y", "$@",
                                                                                              "$*"): 4}))
        return '"' + "".join(parts) + '"'

    def ansi(self):
        return "$'" + "".join(self.random.choices(
            ["a", "\\n", "\\t", "\\'", '\\"', "\\\\", "\\x41", "\\x", "\\101", "\\u00e9", "\\e", "\\cA",
             "\\q", " ", "$x",
             "\\U1F600", "\\x{41}", "\\0", "\\8", "\\a", "*", "\n"], k=self.random.randint(0, 3))) + "'"

    def locale(self):
        return '$"' + self.pick("a b", "", "x$A", "\\$x") + '"'

    def escape(self):
        return "\\" + self.pick("a", " ", "\\", "'", '"', "$", "*", "#", "&", ";", "|", "<", "~", "{", "\n",
                                "(", "`", "!", "\t", "é")

    def continued(self):
        return self.plain() + "\\\n" + self.pick("", "a", "b")

    def variable(self):
        return self.pick("$A", "$B", "$x", "$y", "${A}", "${B}", "$Z", "${u}", "$1", "$#", "$?", "$@", "$*",
                         "${x}", "$-",
                         "${#A}", "$A$B", "${arr[0]}", "${arr[@]}", "${#arr[@]}", "$9", "${10}", "$0",
                         "$_v1", "${!x}", "$$", "$!", "${arr[$x]}", "${arr[-1]}", "${arr[@]:1}", "${!arr[*]}",
                         "${arr[x]}", "${#arr[1]}")

    def parameter(self, quoted=False):
        name = self.pick("A", "B", "x", "u", "y", "1", "@", "*", "arr[@]", "arr[1]", "arr[*]", "#", "?",
                         "Z")
        word = (self.nested(self.word) if not quoted or self.chance(0.3) else
                self.pick("", "a b", "'q'", "$A", "$(c1 p)", "\\}", '"in"', "~", "*", "${B}"))
        op = self.pick(":-", "-", ":+", "+", ":-", ":=", "=", "#", "##", "%", "%%", "/", "//", "/#", "/%",
                       "^", "^^", ",", ",,",
                       "@Q", "@U", "@a", "@E", "@P", "@A", "@K", "~", "~~", ":", ":", "!", ":?")
        if op == ":?":
            return "${" + self.pick("A", "A", "A", "u") + self.pick(":?", "?") + word + "}"
        if op == ":":
            return "${" + name + self.pick(":1", ":0:1", ": -1", ":1:1", ":x", ":(1)", ":0:$x",
                                           ":$((1))") + "}"
        if op == "!":
            return self.pick("${!A}", "${!x}", "${!A*}", "${!arr[@]}", "${!B@}", "${!u:-" + word + "}")
        if op[0] == "@":
            return "${" + name + op + "}"
        if op[0] == "/":
            return "${" + name + op + self.pick("a", "b", "*", "?", "[ab]", "$A", '"a"', "'b'", "\\/",
                                                "\\}") + self.pick("", "/", "/" + word) + "}"
        if op in (":=", "=") and name in "1@*#?":
            name = "u"
        return "${" + name + op + word + "}"

    def parameter_quoted(self):
        return self.parameter(quoted=True)

    def inner_list(self):
        """A list with here-documents of its own, all complete."""
        outer, self.pending = self.pending, []
        text = self.nested(self.short_list)
        if self.pending:
            text += "\n" + self.bodies()
        self.pending = outer
        return text

    def substitution(self):
        text = self.inner_list()
        lead = " " if text.startswith("(") else self.pick("", "", "", " ", "\n")
        tail = self.pick("", "", "", " ", ";", " # c )\n", "\n", "\n<in") if not text.endswith("\n") else ""
        if self.chance(0.05):
            return self.pick("$(<a.txt)", "$(< in)", "$(<nofile)", "$()", "$( )", "$(# c\n)", "$(w1)",
                             "$(w2)", "$(w4)")
        if tail == ";" and text.endswith("&"):
            tail = ""
        return "$(" + lead + text + tail + ")"

    def backtick(self):
        text = self.inner_list()
        return "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def process(self):
        return self.pick("<(", "<(", ">(") + self.inner_list() + ")"

    def arithmetic(self):
        return "$((" + self.expression() + "))" if self.chance(0.9) else "$[" + self.expression() + "]"

    def expression(self):
        if self.deep() or self.chance(0.3):
            if self.chance(0.6):
                return self.pick("1", "2", "0x1f", " 3 ", "-1", "!0", "010", "2#101", "$#", "~1")
            return self.pick("1", "x", "$x", "A1", "0x1f", "2#101", "010", "n++", "x=3", "${u:-2}", " 1 ",
                             "arr[0]", "$#", "x", "-1", "!0", "'1'", '"2"')
        left, right = self.nested(self.expression), self.nested(self.expression)
        return self.pick(f"{left}+{right}", f"{left} * {right}", f"({left})-{right}", f"{left}?{right}:0",
                         f"{left}<{right}",
                         f"{left}&&{right}", f"{left},{right}", f"{left} | {right}", f"{left}<<1",
                         f"~{right}", f"n={right}",
                         f"{left}==\\\n{right}", f"{left}**2", f"n+={right}", f"$(w4){left}", f"{left} % 3")

    def brace(self):
        word = self.plain
        return self.pick("{a,b}", "{1..3}", "{a..c}", "{3..1..2}", "{01..03}", "{a}", "{,x}", "{a,b}{1,2}",
                         "{a,{b,c}}",
                         "{" + word() + "," + word() + "}", "{}", "{a,", "{1..}", "{a\\,b}", "{'a,b',c}",
                         "{$A,$B}", "{$x..3}",
                         "{\"a b\",c}", "a{b,c}d", "{a..c}{1..2}", "{x,y\\}", "{-1..1}", "{a,b}$x",
                         "${A}{1,2}", "{,}",
                         "{a,$(c1 b)}", "{~,x}", "{*,b}", "{A..c..2}", "{1..2..0}", "{a,b", "a,b}",
                         "{{a,b}", "{a,b}}", "$A{,b}")

    def glob(self):
        return self.pick("*", "*.txt", "?.txt", "[ab].txt", "src/*", "[!a]*.txt", "no*such", "\\*.txt",
                         "'a'*", "[z]", "[[:alpha:]].txt",
                         "*/", "s*/m*.c", "[a", "a]", "[]a]*", "\"*\"*", "*.{txt,c}", "~/*", "[a-c].txt",
                         ".*", "**", "d?r", "$A*", "*$x")

    def tilde(self):
        return self.pick("~", "~/x", "~nouser", "~+", "~-", "a~", "~/'b'", "~\\/x", "x=~", "x=~/y", "\"~\"",
                         "~:~", "a=b:~", "~root/x", "~$A", "'~'/x")

    # -------------------------------------------------------------- assignments and redirections

    def assignment(self):
        name = self.name() if self.chance(0.97) else "PATH"
        value = self.nested(self.word) if self.chance(0.85) else ""
        if self.chance(0.12):
            words = " ".join(self.nested(self.word) for _ in range(self.random.randint(0, 3)))
            return self.pick(f"arr=({words})",
                             f"arr[{self.nested(self.expression)}]={value}", "arr+=(" + value + ")",
                             f"arr=([1]={value} [0]=z)", f"arr=([{self.pick('1', '$x', 'x', '$(w4)1', '')}]={self.brace()})",
                             f"arr=({self.brace()} {self.brace()})", f"arr+=([{self.brace()}]+={value})",
                             f"arr[{self.pick('$x', '$(c9)', '0 ', '`w4`0', '-1', '<(c9)')}]={value}",
                             "arr=(a\nb # c\n)", f"arr[1]+={value}")
        if name == "PATH":
            return self.pick("PATH=/mnt", "PATH=/none", "PATH=$PATH:/x", "PATH=")
        return name + self.pick("=", "=", "=", "=", "+=") + value

    def target(self):
        return self.pick("o1", "o2", "o3", "'o 4'", '"o1"', "/dev/null", "o\\ 5", "~/o6", "$A", "o$A",
                         "src/o7", "{o8,}", "*.none", "a.txt", "$B", '"$B"', "o9\\\n",
                         "$(c1 >&2; w4)o")

    def redirection(self):
        kind = self.random.random()
        if kind < 0.22 and len(self.pending) < 3:
            return self.heredoc()
        fd = self.pick("", "", "", "1", "2", "3", "0", "{fd}", "10")
        if self.chance(0.03):
            fd = self.pick("{f\\\nd}", "{arr[1]}", "{arr[$(c9)]}", "{_}", "{1}", "{a,b}", "\\\n2", "{fd\\\n}")
        gap = self.pick("", "", " ", "\\\n", "\t")
        if kind < 0.62:
            return fd + self.pick(">", ">", ">>", ">|", "<>") + gap + self.target()
        if kind < 0.72:
            return fd.replace("{fd}", "") + "<" + gap + self.pick("in", "a.txt", "'my file.txt'", "nofile",
                                                                  "/dev/null", "$A", "*.none", '"in"')
        if kind < 0.80:
            return self.pick("&>", "&>>", ">&") + gap + self.pick("o1", "o2", "/dev/null", '"o 3"', "o$A")
        if kind < 0.92:
            return self.pick("2>&1", "1>&2", ">&2", "2>&-", "<&-", "0<&0", "3>&1", "3>&1-", "3<&0", ">& 2",
                             "2>& 1", "1>&$x", ">&\"2\"", "2>&'1'", "4>&3", "{fd}>&1", "{fd}>&-")
        return self.pick("<<<", "<<< ") + self.nested(self.word)

    def heredoc(self):
        self.delimiters += 1
        plain = self.pick("E", "EOF", "E F", "-", "E1", "}", "é", "$x", "a'b") + str(self.delimiters % 10)
        if " " in plain or "'" in plain or "$" in plain or self.chance(0.35):
            form = self.pick('"{}"', "'{}'") if "'" not in plain else '"{}"'
            if "$" in plain:
                form = self.pick("'{}'", "\\{}")
            written, quoted = form.format(plain), True
            if " " not in plain and "'" not in plain and "$" not in plain and self.chance(0.3):
                written = self.pick("\\" + plain, plain[0] + "''" + plain[1:], plain + '""',
                                    "$'" + plain + "'")
        else:
            written, quoted = plain, False
        tabs = self.chance(0.3)
        lines = []
        for _ in range(self.random.randint(0, 3)):
            lines.append(self.pick("plain text", "$A and ${B}", "`c1 h`", "$(c2 h)", "\\$x \\\\ \\a",
                                   "\ttabbed", "'q' \"d\"", "a\\\nb", " " + plain,
                                   plain + " ", "", "$((1+2))", "${u:-'d'}", "${x:-\"e\"}", "$(c4 'a b')",
                                   "\\`c5\\`", "$(c3 \"${A}\")", "é*~", "c6", "$", "\"",
                                   "${A", "}") if not quoted else
                         self.pick("$A", "`c1", "$(c2", "\\", "\\" + plain, "it's", "\ttab", "\"", " ",
                                   "#x", "", "${"))
        if not quoted and "${A" in lines:
            lines.remove("${A")
        end = ("\t" if tabs and self.chance(0.5) else "") + plain
        self.pending.append("".join(line + "\n" for line in lines) + end)
        return self.pick("", "", "", "3", "0") + "<<" + ("-" if tabs else "") + self.pick("", "",
                                                                                          " ") + written

    def bodies(self):
        text = "".join(body + "\n" for body in self.pending)
        self.pending = []
        return text

    # -------------------------------------------------------------- commands

    def command_name(self):
        if self.functions and self.chance(0.15):
            return self.random.choice(self.functions)
        return self.weighted({
            lambda: "c" + str(self.random.randint(1, 9)): 40,
            lambda: "w" + str(self.random.randint(1, 4)): 4,
            lambda: self.pick("echo", "printf '%s\\n'", ":", "true", "false", "pwd", "test", "[ a = "): 9,
            lambda: self.pick("nosuch", "é", "ls", "git", "rm", "./run.sh", "/mnt/c2", "nosuch/x", "-c",
                              "1", "c1\\\n"): 6,
            lambda: self.pick("'c1'", '"c2"', "c\\3", "$'c4'", "c''5", "\\c6", 'c"7"', "c{8,9}",
                              "c\\\n1"): 5,
            lambda: self.pick("$x", "$(w3)", "\"$A\"", "${u:-c5}", "c$u", "~"): 0.7})

    def simple(self):
        if not self.deep() and self.chance(0.2):
            return self.weighted({self.wrapper: 10, self.builtin: 12,
                                  self.code: 5} if self.pending or self.depth > 1
                                 else {self.wrapper: 10, self.builtin: 10, self.code: 5, self.hidden: 9})
        parts = []
        while self.chance(0.16):
            parts.append(self.assignment() if self.chance(0.75) else self.redirection())
        if not parts or self.chance(0.7):
            parts.append(self.command_name())
            if parts[-1] == "[ a = ":
                parts.append(self.word() + " ]")
            for _ in range(self.random.choices((0, 1, 2, 3), (25, 40, 25, 10))[0]):
                parts.append(self.redirection() if self.chance(0.13) else self.word())
        text = parts[0]
        for part in parts[1:]:
            text += self.space() + part
        return text

    def options(self):
        """A program that runs another one, with options at random."""
        name = self.random.choice(sorted(OPTIONS))
        words = [self.random.choice(OPTIONS[name].split(" ")) for _ in range(self.random.randint(0, 4))]
        inner = "c" + str(self.random.randint(1, 8)) + self.pick("", " a", " {}", " -x 'b c'", " -- {} u")
        behind = {"xargs": " <in", "bash": " <<< 'c6 s'", "sh": " <<< 'c6 s'"}.get(name, "")
        if name in ("bash", "sh"):
            inner = self.pick(f"-c '{inner}'", f"-c '{inner}' n 'q r'", "-c 'c5 \"$0\" \"$@\"' n 'q r'", "-s", "-c", "")
        elif name == "find":
            inner = self.pick("-exec ", "-execdir ") + inner + self.pick(" \\;", " \\;", " {} +", " ';' -exec c2 \\;")
            behind = " 2>/dev/null"
        elif name == "timeout" and self.chance(0.7):
            inner = "5 " + inner
        return " ".join([name, *self.pick([], ["src"] if name == "find" else []), *words, inner]) + behind

    def wrapper(self):
        if self.chance(0.3):
            return self.options()
        inner = "c" + str(self.random.randint(1, 9))
        for _ in range(self.random.randint(0, 2)):
            inner += " " + self.nested(self.word)
        return self.pick("env ", "env -i ", "env A=1 ", "env -u A Z=2 ", "nice ", "nice -n 3 ", "nohup ",
                         "timeout 5 ", "timeout -k 1 5s ", "command ",
                         "builtin echo ", "exec ", "exec -a nm ", "command -p ", "echo a b | xargs ",
                         "xargs -n 1 <in ", "xargs -I{} <in ", "find src -name '*.c' -exec ",
                         "time ", "setsid ", "command -v ", "env env ", "nice timeout 5 ", "stdbuf -o0 ",
                         "env -S ", "xargs -a in ", "command -- ", "env -- ", "builtin command ",
                         "env -C src ", "timeout --preserve-status 5 ", "nice -5 ",
                         "xargs -r -L1 <in ") + inner + self.pick("", "", "", " {} \\;", " {} ';'", " {} +")

    def builtin(self):
        word = self.nested(self.word)
        return self.pick(f"export A={word}", "local x", f"declare x={word}", "declare -a arr=(a b)",
                         f"readonly Q{self.delimiters}={word}", "unset x A", "set -- a 'b c'",
                         "shift", "read x", "read -r y <in", f"printf '%s|' {word}",
                         f"printf -v x %s {word}", "cd src", "cd", "cd ~-", "cd nowhere", "pushd src >o1",
                         "set -e", "set +e", "set -f",
                         "set -u", "set -o pipefail", "shopt -s nullglob", "wait", "return 2", "exit 3",
                         "true", "false", ": ${x:=" + "c1}", "umask", "let x=1+2", "let 'x = 3'",
                         "test -n \"$A\"", "[ -f a.txt ]", "echo $?", "echo \"$x\"", "mapfile -t arr <in",
                         "getopts ab x", "type c1 >o1", "hash", "alias q=c9", "break", "continue",
                         "echo ${PIPESTATUS[@]}", "echo $((x++)) $x", "dirs", "unset -f f",
                         "declare -A m=([k]=v)", "local -a arr", "set -o noglob", "shopt -s extglob",
                         f"export -n A B={word}", f"typeset -i x={self.expression()}", "declare -n r=A",
                         "echo $r", f"x={word} eval 'c1 \"$x\"'", "unset 'arr[0]'", "set a b",
                         "shopt -u nullglob")

    def code(self):
        line = self.nested(self.short_list) if not self.pending else "c1 n"
        if self.pending or "'" in line or "\n" in line:
            self.pending, line = [], self.pick("c1 a; c2", "c3 || c4 b", "c1 \"$A\" $B",
                                               "if c1; then c2; fi", "c1 |", "f2() { c6; }; f2", "c1 \\$A",
                                               "for i in 1 2; do c1 $i; done")
        return self.pick("eval '{}'", "bash -c '{}'", "sh -c '{}'", "trap '{}' EXIT", "eval {}",
                         "bash -c \"{}\"", "bash -c '{}' z 1 2", "bash -ec '{}'", "trap -- '{}' 0",
                         "env bash -c '{}'", "bash <<< '{}'", "echo '{}' | bash", "bash -x -c '{}' 2>o1",
                         "trap '{}' ERR; c3", "trap '{}' DEBUG; c1", "eval 'c1 a;' '{}'",
                         "bash --norc -c -- '{}'", "xargs -I{{}} bash -c '{}' <in", "eval -- '{}'",
                         "bash -O extglob -c '{}'", "command eval '{}'").format(line)

    def hidden(self):
        """Places where bash evaluates data as code, and other ways to a command."""
        code = self.pick("$(c9 h)", "`c9 h`", "$(c8)", "$(c7 $A)")
        name = "c" + str(self.random.randint(1, 9))
        return self.random.choice(TEMPLATES).replace("@NAME@", name).replace("@CODE@", code)

    def condition(self):
        one = self.nested(self.word) if self.chance(0.6) else self.variable()
        two = self.nested(self.word)
        text = self.pick(f"-n {one}", f"{one} == {two}", f"{one} = *.txt", f"{one} != @(a|b)*",
                         f"{one} =~ ^[a-z]+$", f"{one} =~ (a|b)c", "-f a.txt", f"! {one}", f"{one} < {two}",
                         f"( {one} )", f"-z {one} && {two}", f"-n {one} ||\n -n {two}", "1 -eq 1",
                         f"{one} -lt 3", f"{one} =~ 'a b'", f"{one} == ?(x)\"y\"", "-v x", f"{one} == !(a)",
                         f"{one} =~ {self.pick('a.c', '[[:alpha:]]', 'x{1,2}', '$A', '(a b)', 'a|b', '^$')}",
                         f"{one} == $(w1)", f"{one} -ot a.txt", f"{one}", "a && ( b || c )", "! -e nofile", "x -nt y")
        return "[[ " + text + self.pick(" ]]", " ]]", " ]]", "\n]]")

    def body(self):
        return self.nested(self.short_list)

    def end(self):
        """What ends a list before a closing word."""
        if self.pending:
            return "\n" + self.bodies()
        return self.pick("; ", ";", "\n", " ;\n", "; # c\n")

    def closed(self, text):
        if text.endswith("&") and not self.pending:
            return text + " "
        return text + self.end()

    def group(self):
        return "{ " + self.closed(self.body()) + "}"

    def subshell(self):
        text = self.body()
        if self.pending:
            text += "\n" + self.bodies()
        return "(" + (" " if text.startswith("(") else "") + text + ")"

    def conditional(self):
        text = self.pick("if ", "if\n") + self.closed(self.body()) + "then " + self.closed(self.body())
        if self.chance(0.3):
            text += "elif " + self.closed(self.body()) + "then " + self.closed(self.body())
        if self.chance(0.4):
            text += "else " + self.closed(self.body())
        return text + "fi"

    def loop(self):
        if self.chance(0.5):
            head = self.pick("while read -r y", "until c1", "while c3 no", "while read x y", "until true",
                             "while false")
            inner = self.closed(self.body())
            return head + self.pick("; do ", "\ndo ", ";do\n") + inner + "done" + self.pick(" <in",
                                                                                            " < a.txt",
                                                                                            " <<< 'q r'")
        words = " ".join(self.nested(self.word) for _ in range(self.random.randint(0, 3)))
        head = self.pick("for i in {}; do ", "for i in {}\ndo ", "for i\nin {}; do ", "for i; do ",
                         "for i in {} ; do\n", "for ((i=0; i<2; i++)); do ", "for ((i=0;i<1;i++)) do ",
                         "for i in {};do ", "for i do ", "for ((;0;)) ; do ").replace("{}", words)
        return head + self.pick("", "", "c1 \"$i\"; ", "break; ",
                                "c2 $i || continue; ") + self.closed(self.body()) + "done"

    def case(self):
        text = "case " + self.nested(self.word) + self.pick(" in ", " in\n", "\nin ")
        for _ in range(self.random.randint(0, 3)):
            pattern = self.pick("a", "*", "a|b", "'x y'", "\"$A\"", "[ab]*", "(a", "( b | c ", "$x", "?",
                                "aa", "esac2", "@(a|b)", "foo*", "\\*", "(esac", "if", "a\\\n", "~",
                                "{a,b}", "$(w1)")
            inner = self.pick("", " " + self.body())
            if self.pending:
                inner += "\n" + self.bodies()
            end = self.pick(";;", ";;", ";;", ";&", ";;&")
            text += pattern + ")" + inner + self.pick(" ", "\n", "") + end + self.pick(" ", "\n", " # c\n")
        return text + "esac"

    def function(self):
        name = self.pick("f", "g", "f-1", "h", "f")
        body = self.weighted({self.group: 8, self.subshell: 2, self.conditional: 1, lambda: "((1))": 0.3,
                              self.condition: 0.5})
        text = self.pick("{}() ", "{} () ", "function {} ", "function {} () ", "{}()\n",
                         "function {}\n").replace("{}", name) + body
        if name not in self.functions:
            self.functions.append(name)
        return text + self.pick("", "", "", " >o1", " 2>&1")

    def arithmetic_command(self):
        return "((" + self.expression() + "))"

    def command(self):
        if self.deep():
            return self.simple()
        text = self.weighted({self.simple: 62, self.group: 4, self.subshell: 5, self.conditional: 5,
                              self.loop: 6, self.case: 4,
                              self.function: 3, self.condition: 5, self.arithmetic_command: 2})
        if text[:1] in "{(" and self.chance(0.15) or text.endswith(("fi", "esac")) and self.chance(0.2):
            text += " " + self.redirection()
        return text

    def pipeline(self):
        text = self.command()
        while self.chance(0.14):
            text += self.pick(" | ", "|", " |& ", " |\n" if not self.pending else " | ") + self.command()
        if self.chance(0.06):
            text = self.pick("! ", "time ", "! ! ", "time -p ", "! time ", "!  ", "time ! ") + text
        if self.chance(0.01):
            text = self.pick("coproc ", "coproc CO ") + text
        return text

    def short_list(self):
        return self.joined(self.random.choices((1, 2, 3), (70, 22, 8))[0])

    def joined(self, count):
        text = self.pipeline()
        for _ in range(count - 1):
            if self.pending and self.chance(0.8):
                text += "\n" + self.bodies()
            else:
                between = self.pick("; ", ";", " && ", " || ", "\n", "&&\n", " & ", " ; ", "\n\n",
                                    " # c'\n", "||", " &\n")
                if "\n" in between and self.pending:
                    between = "; "
                text += between
            text += self.pipeline()
        if self.chance(0.02):
            text += " &"
        return text

    def everyday(self):
        """What people and agents type all day, with words of the grammar in it."""
        makers = {"@W@": self.everyday_word, "@S@": lambda: self.pick("alpha", "x-1", "v2", "é"),
                  "@C@": lambda: "c" + str(self.random.randint(1, 9)),
                  "@F@": lambda: self.pick("a.txt", "src/main.c", "b.txt", "nofile", "./in")}
        return re.sub("@[WSCF]@", lambda found: makers[found[0]](), self.random.choice(EVERYDAY))

    def everyday_word(self):
        if self.chance(0.4):
            return self.pick("a", "b.txt", "-n", "'a b'", '"$A"', "$B", "--x=1", "src/", '"$A/$B"', "x*")
        return self.nested(self.word)

    def many_lines(self):
        """Everyday lines, one after the other or inside something."""
        text = self.everyday()
        if self.chance(0.25) and "\n" not in text and "#" not in text:
            form = self.pick("c1 $({})", 'c1 "$({})"', "x=$({}); c1 \"$x\"", "( {} )", "{{ {}; }}",
                             "if {}; then c2; fi", "f() {{ {}; }}; f", "{} | c1", "{} && c1 && c2",
                             "for i in 1 2; do {}; done", "{} 2>&1 | sort", "! {}", "c3 && {{ {}; }} >o1")
            return text if text.endswith("&") else form.format(text)
        if self.chance(0.2):
            text += "\n" + self.everyday()
        return text

    def soup(self):
        """No grammar at all: the few of these that are no errors lead into odd corners of quoting."""
        begin, end = self.pick(*FRAMES)
        text = begin + "".join(self.random.choices(PIECES, k=self.random.randint(2, 8)))
        if self.chance(0.85):
            text += end + self.pick("", "", "", "'$(c9)'", "; c6", " c6", "'; c6 '", '"; c6 "', "\nc6")
        return text

    def line(self):
        self.pending, self.depth, self.functions, self.delimiters = [], 0, [], 0
        if self.chance(0.1):
            return self.soup()
        if self.chance(0.25):
            text = self.many_lines()
        else:
            text = self.joined(self.random.choices((1, 2, 3, 4), (50, 28, 14, 8))[0])
        if self.pending:
            text += "\n" + self.bodies()
        if self.chance(0.05):
            text = self.pick("  ", "\n", "# c\n", "\t", "\\\n", "#!/bin/bash\n", " # x\n\n") + text
        if self.chance(0.05):
            text += self.pick(" ", "\n", " # c", ";", "\\\n", " #", "\n\n", "\t", "\n# 'x", "\\")
        if self.chance(0.25):
            for _ in range(self.random.choices((1, 2), (85, 15))[0]):
                text = self.damaged(text)
        return text.replace("\0", "")

    def damaged(self, text):
        """Mostly small changes: they stay near what the grammar knows."""
        units = TOKEN.findall(text) if self.chance(0.6) else list(text)
        if not units:
            return text
        at = self.random.randrange(len(units))
        what = self.random.random()
        if what < 0.35:
            del units[at]
        elif what < 0.55:
            units.insert(at, self.random.choice(units))
        elif what < 0.85:
            units.insert(at, self.random.choice(DAMAGE))
        elif len(units) > 1:
            other = self.random.randrange(len(units))
            units[at], units[other] = units[other], units[at]
        return "".join(units)


def lines(seed, count):
    """The lines of one seed; a longer list begins with the shorter one."""
    generator = Generator(seed)
    for _ in range(count):
        while True:
            text = generator.line()
            if len(text) <= 1500:
                break
        yield text


def tokens(text):
    return TOKEN.findall(text)
