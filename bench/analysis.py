"""The analyser: time of a short line and of a script beside tree-sitter-bash and `bash -n`, and cost
against size up to the caps of src/shell/parse.h."""
import os
import shutil
import subprocess
import tarfile

from measure import (HERE, ROOT, Skip, compile_c, median, milliseconds, progress, quantile, ratio,
                     read_samples, run, table)
from startup import interleaved

LINE = 'cd "$dir" && git log --oneline -n 20 | grep -v "^Merge" | sort -u > ../log2.txt 2>&1'
SCRIPT_BYTES = 10240
TREE_SITTER = ["tree-sitter@0.25.1", "tree-sitter-bash@0.25.1"]
BASH_LINES = 2000
STATUS = dict(enumerate(("static", "dynamic", "opaque", "not analysed", "error")))


def tree_sitter(work):
    """Flags that compile tree-sitter-bash in; from npm into the work directory, for this run only."""
    if not shutil.which("npm"):
        raise Skip("tree-sitter-bash, which comes from npm: apt-get install npm")
    packed = subprocess.run(["npm", "pack", "--silent", *TREE_SITTER], cwd=work,
                            capture_output=True, text=True, timeout=300)
    archives = packed.stdout.split()
    if packed.returncode != 0 or len(archives) != 2:
        raise Skip("tree-sitter-bash: npm could not fetch it")
    folders = []
    for archive in archives:
        folders.append(os.path.join(work, archive + ".d"))
        with tarfile.open(os.path.join(work, archive)) as tar:
            tar.extractall(folders[-1])
    core = os.path.join(folders[0], "package", "vendor", "tree-sitter", "lib")
    grammar = os.path.join(folders[1], "package", "src")
    objects = []
    for name, source, include in (("core", os.path.join(core, "src", "lib.c"), "src"),
                                  ("parser", os.path.join(grammar, "parser.c"), "include"),
                                  ("scanner", os.path.join(grammar, "scanner.c"), "include")):
        built = compile_c(work, f"tree-sitter-{name}.o", [source],
                          ["-w", "-c", "-I", os.path.join(core, "include"), "-I",
                           os.path.join(core, include), "-I", grammar], optional=True)
        if not built:
            raise Skip("tree-sitter-bash: its sources could not be compiled")
        objects.append(built)
    return ["-DWITH_TREE_SITTER", "-I", os.path.join(core, "include"), *objects]


def build(bench):
    """bench/analyse.c with as much of the analyser and of its peer as there is."""
    library = os.path.join(os.path.dirname(bench.nacre), "libnacre-core.a")
    source = os.path.join(HERE, "analyse.c")
    flags = ["-I", os.path.join(ROOT, "src"), "-I", HERE]
    link = [library, "-ljansson"]
    try:
        if bench.quick:
            raise Skip("tree-sitter-bash, which comes from npm: a quick run fetches nothing")
        peer = tree_sitter(bench.work)
    except Skip as reason:
        bench.note(f"not measured: {reason}")
        peer = []
    for what in (["-DWITH_FACTS"], []):
        built = compile_c(bench.work, "analyse", [source], flags + what + peer + link, True)
        if built:
            if not what:
                bench.note("this nacre has no facts: the parser alone is measured")
            return built
    raise Skip(f"{library} has no analyser")


def write_texts(folder, texts):
    os.makedirs(folder, exist_ok=True)
    paths = []
    for name, text in texts.items():
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(text)
    return paths


def script_of(size):
    with open(os.path.join(HERE, "sample.sh"), encoding="utf-8") as file:
        sample = file.read()
    lines = (sample * (size // len(sample) + 1)).splitlines(keepends=True)
    whole = sample * (size // len(sample))
    fill = "".join(line for line in lines if line.startswith(("rm", "touch", "readonly")))
    return whole + (fill * 100)[:(size - len(whole)) // len(fill) * len(fill)]


def bash_costs(bench, paths):
    """What `bash -n` takes for one line and one script beyond its start, and the start alone."""
    many = write_texts(os.path.join(bench.work, "bash"), {
        "empty": "", "lines": (LINE + "\n") * BASH_LINES,
        "scripts": script_of(SCRIPT_BYTES) * 20})
    bash = shutil.which("bash", path=bench.env["PATH"])
    commands = {name: ([bash, "--norc", "-n", path], 1)
                for name, path in zip(("start", "lines", "scripts"), many)}
    commands["line"] = ([bash, "--norc", "-n", paths[0]], 1)
    samples = interleaved(bench, commands, bench.rounds(100))
    start = median(samples["start"])
    return {"start": start, "whole": median(samples["line"]),
            "84": (median(samples["lines"]) - start) / BASH_LINES,
            "10K": (median(samples["scripts"]) - start) / 20}


def microseconds(ns):
    return f"{ns / 1e3:.2f}" if ns < 1e5 else f"{ns / 1e3:.0f}"


def compare(bench, analyse):
    """The table of the readers, for a line and for a script."""
    texts = {"84": LINE, "10K": script_of(SCRIPT_BYTES)}
    assert len(LINE) == 84
    paths = write_texts(os.path.join(bench.work, "texts"), texts)
    out = os.path.join(bench.work, "samples")
    progress("analyser: a line and a script")
    run([analyse, out, str(bench.rounds(300)), "all", *paths], bench.env)
    samples = read_samples(out)
    bash = bash_costs(bench, paths)
    rows = []
    for number, name in enumerate(texts):
        title = f"{len(texts[name])} bytes"
        ours = "facts" if f"facts:{number}" in samples else "parse"
        base = samples[f"{ours}:{number}"]
        for reader, label in (("parse", "nacre: parse"), ("facts", "nacre: parse + facts"),
                              ("tree-sitter", "tree-sitter-bash: parse")):
            taken = samples.get(f"{reader}:{number}")
            if not taken:
                continue
            rows.append([f"{label}, {title}", microseconds(median(taken)),
                         f"{microseconds(quantile(taken, 0.1))}-{microseconds(quantile(taken, 0.9))}",
                         f"{len(texts[name]) * 1e3 / median(taken):.0f}",
                         ratio(median(taken) / median(base))])
            if reader == "tree-sitter":
                bench.result(f"analyser: tree-sitter-bash, {title}", f"nacre, {ours}", rows[-1][4],
                             ratio(quantile(taken, 0.1) / quantile(base, 0.1)))
        rows.append([f"bash -n without its start, {title}", microseconds(bash[name]), "",
                     f"{len(texts[name]) * 1e3 / bash[name]:.0f}", ratio(bash[name] / median(base))])
    table("Analyser", ["reader", "median us", "p10-p90 us", "MB/s", "against ours"], rows)
    bench.note(f"one `bash -n` of the short line takes {milliseconds(bash['whole'])} ms as a process")


def nested(open_, close, depth, inner="true"):
    return open_ * depth + inner + close * depth


def heredocs(count):
    return "".join(f"cat <<E{i} >f{i}\nsome text and $x\nE{i}\n" for i in range(count))


# name -> (text of a size, sizes that double up to a cap: 64 KiB, 4,096 commands or a depth of 100)
GROWTH = {
    "nested $(": (lambda n: nested("echo $(", ")", n), (6, 12, 24, 48, 96)),
    'nested "$(': (lambda n: nested('echo "$(', ')"', n), (6, 12, 24, 48, 96)),
    "nested $((": (lambda n: "echo " + nested("$((1+", "))", n, "1"), (6, 12, 24, 48, 96)),
    "nested $(( that are commands": (lambda n: nested("echo $((", ") )", n), (3, 6, 12, 24, 48)),
    "nested ((": (lambda n: nested("((", ") )", n), (3, 6, 12, 24, 48)),
    "nested ${x:-": (lambda n: "echo " + nested("${x:-", "}", n, "y"), (6, 12, 24, 48, 96)),
    "nested ( )": (lambda n: nested("( ", " )", n), (6, 12, 24, 48, 96)),
    "nested if": (lambda n: nested("if true; then ", "; fi", n), (6, 12, 24, 48, 96)),
    "eval eval ...": (lambda n: "eval " * n + "true", (16, 32, 64, 128, 256, 13000)),
    "nice nice ...": (lambda n: "nice " * n + "true", (16, 32, 64, 256, 1024, 4096, 13000)),
    "xargs xargs ...": (lambda n: "xargs " * n + "true", (16, 32, 64, 256, 1024, 4096)),
    "braces around $(": (lambda n: nested("echo {1..30}$(", ")", n), (1, 2, 4, 8, 16, 32)),
    "unmatched {": (lambda n: "echo " + "{" * n, (64, 256, 1024, 4096, 16384, 60000)),
    "unmatched [": (lambda n: "echo " + "[" * n, (64, 256, 1024, 4096, 16384, 60000)),
    "unclosed $(": (lambda n: "$(" * n, (1024, 4096, 16384, 32768)),
    "unclosed ((": (lambda n: "((" * n, (1024, 4096, 16384, 32768)),
    "backticks": (lambda n: "echo `echo a`\n" * n, (128, 512, 2048, 4096)),
    "here-documents": (heredocs, (64, 128, 256, 512, 1024, 1638)),
    "pending here-documents": (lambda n: "cat" + " <<E" * n + "\n" + "E\n" * n,
                               (512, 1024, 2048, 4096, 8192)),
    "one long word": (lambda n: "echo " + "a" * n, (4096, 8192, 16384, 32768, 65000)),
    "one long quoted word": (lambda n: "echo " + "a'b'\"c\"" * (n // 7), (4096, 16384, 65000)),
    "long word of $x": (lambda n: "echo " + "$x" * (n // 2), (4096, 8192, 16384, 32768, 65000)),
    "many words": (lambda n: "echo" + " a" * n, (2048, 4096, 8192, 16384, 32000)),
    "brace products": (lambda n: "echo " + "{a,b}{a,b}{a,b}{a,b}{a,b} " * n, (64, 128, 512, 2000)),
    "commands": (lambda n: "ls -l a\n" * n, (512, 1024, 2048, 4095)),
    "long pipeline": (lambda n: "true" + "|cat" * n, (512, 1024, 2048, 4095)),
    "functions": (lambda n: "".join(f"f{i}() {{ g{i} a; }}\n" for i in range(n)),
                  (256, 512, 1024, 2000)),
    "functions that call all before": (
        lambda n: "".join(f"f{i + 1}() {{ f{i}; f{i}; }}\n" for i in range(n)) + f"f{n}",
        (8, 16, 32, 64, 1024)),
    "assignments": (lambda n: "".join(f"v{i}=a{i}\n" for i in range(n)), (512, 1024, 2048, 4000)),
    "aliases": (lambda n: "".join(f"alias a{i}=b\n" for i in range(n)), (512, 1024, 2048, 4000)),
    "names of one declare": (lambda n: "declare" + "".join(f" v{i}=a" for i in range(n)),
                             (128, 256, 512, 1024, 4000)),
    "sh -c in sh -c": (lambda n: quoted_shells(n), (2, 4, 6, 8, 10)),
}


def quoted_shells(depth):
    text = "true"
    for _ in range(depth):
        text = "sh -c '" + text.replace("'", "'\\''") + "'"
    return text


def growth(bench, analyse):
    """Cost against size: linear means that the time per byte stays about the same."""
    texts = {}
    for number, (make, sizes) in enumerate(GROWTH.values()):
        for size in sizes:
            text = make(size)
            if len(text) <= 65536:
                texts[f"{number}-{size}"] = text
    paths = write_texts(os.path.join(bench.work, "growth"), texts)
    out = os.path.join(bench.work, "samples")
    progress(f"analyser: cost against size, {len(paths)} texts")
    run([analyse, out, str(bench.size(15, 1)), "ours", *paths], bench.env)
    samples = read_samples(out)
    position = {name: i for i, name in enumerate(texts)}
    rows, steep, broken = [], [], []
    for number, (name, (_, sizes)) in enumerate(GROWTH.items()):
        before = None
        for size in sizes:
            key = f"{number}-{size}"
            if key not in position:
                continue
            at, length = position[key], len(texts[key])
            best = min(samples.get(f"facts:{at}") or samples[f"parse:{at}"])
            status, growth_ = samples[f"status:{at}"][0], ""
            if status < 0:
                broken.append(f"{name}: {size}")
            if before and before[2] == status:  # a text that is refused early says nothing
                factor = (best / before[1]) / (length / before[0])
                growth_ = f"{factor:.2f}"
                if factor > 1.5 and best > 20000:
                    steep.append(f"{name}: {size}")
            rows.append([f"{name}: {size}", length, STATUS.get(status, "out of memory"),
                         microseconds(best), f"{best / length:.1f}",
                         f"{samples[f'memory:{at}'][0] / length:.0f}", growth_])
            before = (length, best, status)
    table("Analyser: cost against size", ["text", "bytes", "answer", "best us", "ns per byte",
                                          "memory per byte", "growth (1 is linear)"], rows)
    bench.note("more than linear: " + ", ".join(steep) if steep else
               "cost against size: no text costs more than linear")
    if broken:
        bench.note("memory does not suffice for: " + ", ".join(broken))
    worst = max(rows, key=lambda row: float(row[3]))
    bench.note(f"the dearest of these texts is '{worst[0]}' with {float(worst[3]) / 1e3:.1f} ms")


def section(bench):
    analyse = build(bench)
    compare(bench, analyse)
    growth(bench, analyse)
