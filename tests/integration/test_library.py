#!/usr/bin/env python3
"""libnacre as a stranger meets it: installed into an empty tree, found by pkg-config, and used by programs that know
nothing but the installed header. The programs are tests/api/*.c and examples/c/*.c; each scenario is a process."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import helpers

BUILD = pathlib.Path(helpers.NACRE).parent
API = helpers.ROOT / "tests" / "api"
CC = os.environ.get("NACRE_CC", "cc").replace("ccache ", "")
FLAGS = ["-std=gnu17", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
if helpers.SANITIZED:
    FLAGS += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


class Tree:
    """Installed once for all tests of this file; made when the first one asks."""
    root = None

    @classmethod
    def get(cls):
        if cls.root is None:
            root = pathlib.Path(tempfile.mkdtemp(prefix="nacre-library-"))
            unittest.addModuleCleanup(shutil.rmtree, root, ignore_errors=True)
            cls.run("meson", "install", "-C", BUILD, "--destdir", root, "--no-rebuild", "--tags", "runtime,devel")
            cls.pc = next(root.rglob("libnacre.pc"))
            cls.library = cls.pc.parent.parent
            cls.root = root
        return cls

    @staticmethod
    def run(*words, **options):
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=helpers.DEADLINE, **options)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    @classmethod
    def pkg_config(cls, *words):
        env = {**os.environ, "PKG_CONFIG_PATH": str(cls.pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(cls.root)}
        return cls.run("pkg-config", *words, "libnacre", env=env).split()

    @classmethod
    def compile(cls, source, compiler=CC, flags=()):
        cls.get()
        output = cls.root / f"{source.stem}-{len(list(cls.root.iterdir()))}"
        cls.run(*compiler.split(), *FLAGS, *flags, source, *cls.pkg_config("--cflags", "--libs"), "-o", output)
        return output


PROGRAMS = {}


def program(name):
    if name not in PROGRAMS:
        PROGRAMS[name] = Tree.compile(API / f"{name}.c")
    return PROGRAMS[name]


class Host(helpers.NacreTest):
    BOXED = True

    def host(self, path, *args, **options):
        """A program that uses the library, in a workspace of its own."""
        env = {**self.env, "LD_LIBRARY_PATH": str(Tree.get().library)}
        popen = subprocess.Popen([str(path), *args], env=env, cwd=self.work, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.started.append(popen)
        return popen

    def scenario(self, name, which):
        popen = self.host(program(name), which)
        out, err = popen.communicate(timeout=2 * helpers.DEADLINE)
        self.assertEqual(popen.returncode, 0, out + err)
        self.assertEqual(err, "", "the library prints nothing")
        return out


class Scenarios(Host):
    """Filled below: a test for each scenario of the programs."""


def scenarios(name):
    text = (API / f"{name}.c").read_text()
    return re.findall(r'\{"(\w+)", \1\}', text)


def add_scenarios(name, but=()):
    for which in scenarios(name):
        if which not in but:
            def test(self, which=which):
                self.scenario(name, which)
            setattr(Scenarios, f"test_{which}", test)


add_scenarios("calls")
add_scenarios("process", but=("starts_the_launcher_again", "waits_for_the_program"))


class Launcher(Host):
    def test_starts_the_launcher_again(self):
        popen = self.host(program("process"), "starts_the_launcher_again")
        self.assertEqual(popen.stdout.readline(), "kill\n")
        launcher = self.find("nacre-launcher")
        self.assertNotEqual(launcher.parent, popen.pid, "the launcher is no child of its host")
        os.kill(launcher.pid, 9)
        self.expect_gone(launcher.pid)
        out, err = popen.communicate("\n", timeout=2 * helpers.DEADLINE)
        self.assertEqual((popen.returncode, err), (0, ""), out + err)

    def test_comes_back_when_the_program_does(self):
        """While nacre is missing a request fails; later ones work again."""
        program_copy = self.dir / "nacre"
        shutil.copy(next(Tree.get().root.rglob("bin/nacre")), program_copy)
        self.env["NACRE_PROGRAM"] = str(program_copy)
        popen = self.host(program("process"), "waits_for_the_program")
        self.assertEqual(popen.stdout.readline(), "take away\n")
        launcher = self.find("nacre-launcher")
        program_copy.rename(self.dir / "away")
        os.kill(launcher.pid, 9)
        self.expect_gone(launcher.pid)
        popen.stdin.write("\n")
        popen.stdin.flush()
        self.assertEqual(popen.stdout.readline(), "bring back\n")
        (self.dir / "away").rename(program_copy)
        out, err = popen.communicate("\n", timeout=2 * helpers.DEADLINE)
        self.assertEqual((popen.returncode, err), (0, ""), out + err)

    def test_a_killed_host_leaves_nothing(self):
        popen = self.host(program("process"), "starts_the_launcher_again")
        self.assertEqual(popen.stdout.readline(), "kill\n")
        launcher = self.find("nacre-launcher")
        popen.kill()
        popen.wait(helpers.DEADLINE)
        self.expect_gone(launcher.pid)

    def test_another_version_is_refused(self):
        fake = self.dir / "nacre"
        binary = next(Tree.get().root.rglob("bin/nacre"))
        fake.write_text(f"#!/bin/sh\nexec '{binary}' launcher 9.9.9\n")
        fake.chmod(0o755)
        self.env["NACRE_PROGRAM"] = str(fake)
        popen = self.host(program("calls"), "runs_a_line_in_the_box")
        _, err = popen.communicate(timeout=helpers.DEADLINE)
        self.assertEqual(popen.returncode, 1)
        self.assertTrue(err, "the host says why")

    def test_the_hidden_subcommand_wants_a_socket(self):
        done = subprocess.run([helpers.NACRE, "launcher", "0.1.0"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, env=self.env, timeout=helpers.DEADLINE)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        listed = subprocess.run([helpers.NACRE, "--help"], capture_output=True, text=True, check=True, env=self.env)
        self.assertNotIn("launcher", listed.stdout)


class Build(Host):
    def test_abi_is_as_recorded(self):
        """Sizes, places and values of the header: lines may be added to the record, never changed."""
        recorded = [line for line in (API / "abi.txt").read_text().splitlines() if line and line[0] != "#"]
        told = self.host(program("abi")).communicate(timeout=helpers.DEADLINE)[0].splitlines()
        symbols = [line for line in recorded if line.startswith("symbol ")]
        self.assertEqual([line for line in recorded if line not in symbols], told)
        listing = Tree.run("nm", "-D", "--defined-only", Tree.get().library / "libnacre.so")
        names = sorted(line.split()[-1].partition('@')[0] for line in listing.splitlines())
        self.assertEqual([f"symbol {name}" for name in names if name != "NACRE_0"], symbols)

    def test_every_public_name_is_exported_and_documented(self):
        header = (helpers.ROOT / "include" / "nacre.h").read_text()
        declared = set(re.findall(r"\b(nacre_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
        exported = set(re.findall(r"\b(nacre_\w+);", (helpers.ROOT / "src/api/nacre.map").read_text()))
        self.assertEqual(declared, exported)
        manual = (helpers.ROOT / "docs" / "library.md").read_text()
        self.assertEqual(sorted(name for name in declared if f"`{name}`" not in manual), [])

    def test_links_statically_with_no_name_of_its_own(self):
        archive = Tree.get().library / "libnacre.a"
        if not archive.exists():
            self.skipTest("an instrumented build has no static library")
        names = [line.split()[-1] for line in Tree.run("nm", "-g", "--defined-only", archive).splitlines() if " T " in line]
        self.assertTrue(names)
        self.assertEqual([name for name in names if not name.startswith("nacre_")], [])
        output = Tree.root / "static"
        libraries = [word for word in Tree.pkg_config("--static", "--libs") if word != "-lnacre"]
        Tree.run(CC, *FLAGS, *Tree.pkg_config("--cflags"), API / "calls.c", archive, *libraries, "-o", output)
        # Where the library is part of the program, the program says where nacre lies.
        self.env["NACRE_PROGRAM"] = str(next(Tree.root.rglob("bin/nacre")))
        popen = self.host(output, "runs_a_line_in_the_box")
        self.assertEqual((popen.communicate(timeout=helpers.DEADLINE)[1], popen.returncode), ("", 0))

    def check_header(self, name, text, *flags):
        source = Tree.get().root / name
        source.write_text(text)
        Tree.run(CC, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *flags, source, *Tree.pkg_config("--cflags"))

    def test_the_header_is_strict_c(self):
        self.check_header("use.c", "#include <nacre.h>\nint main(void) { struct nacre_request r = NACRE_REQUEST_INIT; "
                                   "return r.size == sizeof(r) ? 0 : 1; }\n", "-std=c99", "-pedantic")

    def test_the_header_is_good_cxx(self):
        found = subprocess.run([CC, "-print-prog-name=cc1plus"], capture_output=True, text=True, check=False).stdout.strip()
        if "clang" not in CC and not os.path.isabs(found):
            self.skipTest("there is no C++ compiler here")
        self.check_header("use.cc", "#include <nacre.h>\nint main() { nacre_request r = NACRE_REQUEST_INIT; "
                                    "return r.size == sizeof(r) && nacre_version() ? 0 : 1; }\n",
                          "-x", "c++", "-Wno-missing-field-initializers")

    def test_the_example_keeps_a_session(self):
        shell = Tree.compile(helpers.ROOT / "examples" / "c" / "agent-shell.c")
        popen = self.host(shell)
        out, err = popen.communicate("mkdir sub; cd sub; export X=kept\npwd; echo $X\nexit 4\n",
                                     timeout=2 * helpers.DEADLINE)
        self.assertEqual((popen.returncode, err), (0, ""), out)
        self.assertIn(f"{self.work}/sub\nkept\n", out)
        self.assertIn("[exit 4 after", out)


if __name__ == "__main__":
    sys.exit(unittest.main())
