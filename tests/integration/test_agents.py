"""A day's work of the ready-made agents: documents, data, archives, programs, each with real tools."""
import http.server
import io
import json
import shutil
import tarfile
import threading
import unittest
import zipfile

from helpers import NacreTest
from patience import Deadline

PAPER = r"""\documentclass{article}
\title{Tides}\author{A. Writer}
\begin{document}
\maketitle
\section{Water}\label{water}
The moon pulls (section~\ref{water}, \cite{newton}).
%s
\end{document}
"""
PLAIN = r"""\begin{thebibliography}{9}\bibitem{newton} I. Newton, \emph{Principia}, 1687.\end{thebibliography}"""
BIB = "@book{newton, author = {Isaac Newton}, title = {Principia}, year = 1687, publisher = {Royal Society}}\n"


def tools_or_skip(test, *names):
    missing = [name for name in names if not shutil.which(name)]
    if missing:
        test.skipTest("tools: " + ", ".join(missing) + " not installed")


class AgentTest(NacreTest):
    BOXED = True
    AGENT = None

    def setUp(self):
        super().setUp()
        self.give_up_after(Deadline(240))

    def do(self, line, code=0):
        result = self.run_json("--profile", self.AGENT, "--workspace", str(self.work), "--timeout", "200s", "-c", line)
        self.assertEqual(result.get("exit_code"), code, f"{line}: {json.dumps(result)[:3000]}")
        return result

    def refused(self, line, *words):
        result = self.do(line, 126)
        for word in words:
            self.assertIn(word, result["reason"])


class Writer(AgentTest):
    AGENT = "writer"

    def test_a_paper_is_compiled_with_the_usual_options(self):
        tools_or_skip(self, "latexmk", "pdflatex")
        (self.work / "paper.tex").write_text(PAPER % PLAIN)
        self.do("latexmk -pdf -interaction=nonstopmode -silent -outdir=out paper.tex")
        self.assertTrue((self.work / "out" / "paper.pdf").read_bytes().startswith(b"%PDF-"))
        self.assertNotIn("undefined", (self.work / "out" / "paper.log").read_text(errors="replace"))
        self.do("latexmk -C -outdir=out paper.tex")
        self.assertFalse((self.work / "out" / "paper.pdf").exists())
        self.do("pdflatex -interaction=nonstopmode -halt-on-error paper.tex && wc -w paper.tex")
        self.assertTrue((self.work / "paper.pdf").exists())

    def test_a_bibliography_is_made_by_biber(self):
        tools_or_skip(self, "latexmk", "biber", "kpsewhich")
        if self.run_nacre("--profile", "writer", "-c", "kpsewhich biblatex.sty").code != 0:
            self.skipTest("tools: biblatex not installed")
        (self.work / "refs.bib").write_text(BIB)
        (self.work / "paper.tex").write_text(
            (PAPER % r"\printbibliography").replace(
                "{article}\n", "{article}\n\\usepackage[backend=biber]{biblatex}\\addbibresource{refs.bib}\n"))
        self.do("latexmk -pdf -interaction=nonstopmode paper.tex")
        self.assertIn("Principia", (self.work / "paper.bbl").read_text())

    def test_pandoc_makes_a_pdf_by_the_engine_that_is_named(self):
        tools_or_skip(self, "pandoc", "xelatex")
        (self.work / "a.md").write_text("# Tides\n\nThe *moon* pulls.\n")
        self.do("pandoc a.md -o a.docx && pandoc a.md --pdf-engine=xelatex -o a.pdf")
        self.assertTrue((self.work / "a.pdf").read_bytes().startswith(b"%PDF-"))
        self.refused("pandoc a.md --pdf-engine=./evil -o b.pdf", "--pdf-engine")
        self.refused("pandoc a.md --pdf-engine=xelatex --pdf-engine=python3 -o b.pdf", "--pdf-engine")
        self.refused("pandoc a.md --pdf-engine=xelatex --pdf-engine-opt=-shell-escape -o b.pdf", "--pdf-engine-opt")

    def test_code_for_the_tools_is_refused_in_every_spelling(self):
        for line in ("latexmk -e '$x=1' a.tex", "latexmk --e '$x=1' a.tex", "latexmk -r rc a.tex",
                     "latexmk -pdflatex='sh %S' a.tex", "latexmk --xelatex=evil a.tex", "latexmk -pretex=x a.tex",
                     "latexmk -latexoption=-shell-escape a.tex", "latexmk -pdf -shell-escape a.tex",
                     "latexmk --shell-escape a.tex", "tar xf a --use-compress-program=evil",
                     "tar xf a --to-command=evil", "tar -I evil -xf a", "tar xIf evil a"):
            self.refused(line)

    def test_archives_are_unpacked(self):
        with tarfile.open(self.work / "a.tgz", "w:gz") as tar:
            member = tarfile.TarInfo("chapter.tex")
            member.size = 5
            tar.addfile(member, io.BytesIO(b"words"))
        self.do("tar xzf a.tgz && tar -tzf a.tgz && tar czf b.tgz chapter.tex")
        self.assertEqual((self.work / "chapter.tex").read_text(), "words")
        self.assertTrue(tarfile.is_tarfile(self.work / "b.tgz"))
        tools_or_skip(self, "unzip")
        with zipfile.ZipFile(self.work / "c.zip", "w") as archive:
            archive.writestr("d.txt", "z")
        self.do("unzip -q c.zip -d out && ls out | wc -l && du -sh . && file out/d.txt || true")
        self.assertEqual((self.work / "out" / "d.txt").read_text(), "z")


class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"items": [{"n": 3}, {"n": 4}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Researcher(AgentTest):
    AGENT = "researcher"

    def test_data_is_fetched_computed_and_processed(self):
        tools_or_skip(self, "curl", "jq", "python3")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        # An operator who lets the agent reach an interface says so; this is the one of this machine.
        self.write_config("agents/researcher.yaml", "profile: researcher\nsandbox: {network: host}\n")
        port = server.server_address[1]
        result = self.do(f"curl -fsS http://127.0.0.1:{port}/data > d.json && jq '[.items[].n] | add' d.json")
        self.assertEqual(result["stdout"].strip(), "7")
        (self.work / "mean.py").write_text("import json\nd = json.load(open('d.json'))\n"
                                           "print(sum(i['n'] for i in d['items']) / len(d['items']))\n")
        self.assertEqual(self.do("python3 mean.py | tee mean.txt")["stdout"].strip(), "3.5")
        self.assertEqual((self.work / "mean.txt").read_text().strip(), "3.5")
        self.refused("apt install jq")


class Coder(AgentTest):
    AGENT = "coder"

    def test_a_program_is_written_built_and_tested(self):
        tools_or_skip(self, "make", "cc", "git")
        (self.work / "main.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
        (self.work / "Makefile").write_text("app: main.c\n\tcc -o app main.c\ntest: app\n\t./app | grep -q hello\n")
        self.do("git init -q . && git add main.c Makefile && make -s test && ./app")
        result = self.do("cd . && make 2>&1 | tail -n 1; ls | wc -l")
        self.assertIn("up to date", result["stdout"])
        self.refused("chmod +x app", "chmod")


class Debugger(AgentTest):
    AGENT = "debugger"

    def test_a_crash_is_looked_into(self):
        tools_or_skip(self, "cc", "gdb", "objdump")
        (self.work / "bad.c").write_text("int main(void) { int *p = 0; return *p; }\n")
        self.do("cc -g -O0 -o bad bad.c && objdump -d bad | head -n 3")
        self.do("./bad", 139)
        result = self.do("gdb -batch -ex run -ex bt --args ./bad 2>&1")
        self.assertIn("SIGSEGV", result["stdout"])
        self.assertIn("bad.c:1", result["stdout"])
        self.refused("gdb -batch -ex 'shell id' ./bad")
        self.refused("gdb -batch -ex run --args nmap localhost", "nmap")


del AgentTest

if __name__ == "__main__":
    unittest.main()
