"""What git runs after a command: the operator's own git is asked, in each work tree, whether anything runs that the
command has left.

Each attempt arranges repositories, lets a command in the box write wherever git would look, and then lets the
operator commit and ask for the status outside of it. To show that the place matters, the same is written by the
operator at the end, and git runs it then.
"""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

from helpers import DEADLINE
from test_escape_places import PlaceTest

IDENTITY = "[user]\n\tname = x\n\temail = x@y\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n"


class GitTest(PlaceTest):
    def setUp(self):
        super().setUp()
        self.mark = self.dir / "marks" / "ran"
        self.world = self.dir / "world"
        self.options = {}

    def git(self, where, *words):
        who = {key: self.options[key] for key in ("user", "group", "extra_groups") if key in self.options}
        done = subprocess.run(["git", *words], cwd=where, env=self.env, capture_output=True, timeout=DEADLINE,
                              check=False, **who)
        return done.returncode, done.stdout.decode() + done.stderr.decode()

    def must(self, where, *words):
        code, text = self.git(where, *words)
        self.assertEqual(code, 0, text)
        return text

    def repository(self, name, *commands):
        """A repository in the operator's world with one commit."""
        path = self.world / name
        path.mkdir(parents=True, exist_ok=True)
        if self.options:
            os.chown(path, self.options["user"], self.options["user"])
        self.must(path, "init", "-q", ".")
        self.must(path, "commit", "-q", "--allow-empty", "-m", "first")
        for words in commands:
            self.must(path, *words)
        return path

    def write(self, path, text, mode=0o644):
        path = pathlib.Path(path)
        made = [part for part in [*reversed(path.parents), path] if not part.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        for part in made if self.options else []:
            os.chown(part, self.options["user"], self.options["user"])

    def hook(self):
        return f"#!/bin/sh\necho ran >>'{self.mark}'\n"

    def program(self):
        return f"[core]\n\tfsmonitor = \"echo ran >>'{self.mark}'; false\"\n"

    def plant_line(self, hooks, files, programs):
        """What the command tries; the directories of hooks may be there already."""
        words = [f"mkdir -p '{path}'; for h in pre-commit post-commit pre-receive; do rm -f '{path}'/$h; "
                 f"printf %s \"$HOOK\" >'{path}'/$h; chmod 755 '{path}'/$h; done" for path in hooks]
        words += [f"mkdir -p \"$(dirname '{path}')\"; rm -f '{path}'; printf %s \"$PROGRAM\" >'{path}'" for path in files]
        words += [f"mkdir -p \"$(dirname '{path}')\"; rm -f '{path}'; printf %s \"$HOOK\" >'{path}'; chmod 755 '{path}'"
                  for path in programs]
        return "; ".join(words) + "; echo TRIED"

    def operate(self, tops):
        """The operator at work; whether anything ran."""
        self.mark.unlink(missing_ok=True)
        for top in tops:
            self.git(top, "status")
            self.git(top, "commit", "-q", "--allow-empty", "-m", "work")
        return self.mark.exists()

    def run_cold(self, workspace, line, *args):
        return self.text(self.run_result(*args, "-c", line, cwd=workspace, **self.options))

    def run_warm(self, workspace, line, *args):
        popen = self.start(*args, "--batch", "--jobs", "1", stdin=subprocess.PIPE, cwd=workspace, **self.options)
        requests = "".join(json.dumps({"command": text}) + "\n" for text in ("true", "true", "true", line))
        out = self.finish(popen, requests.encode()).out.decode()
        return out

    def attempt(self, arrange, hooks=(), files=(), programs=(), tops=(), ways=("cold", "warm"), args=()):
        """ARRANGE makes the world and returns the workspace; paths are relative to it, TOPS to the world."""
        for user, options in self.users():
            for way in ways:
                self.options = options
                shutil.rmtree(self.world, ignore_errors=True)
                shutil.rmtree(self.mark.parent, ignore_errors=True)
                for path in (self.world, self.mark.parent):
                    path.mkdir()
                    path.chmod(0o777)
                    if options:
                        os.chown(path, options["user"], options["user"])
                (self.dir / ".gitconfig").unlink(missing_ok=True)
                (self.dir / ".gitconfig").write_text(IDENTITY)
                workspace = arrange()
                line = self.plant_line(hooks, files, programs)
                text = f"HOOK='{self.quoted(self.hook())}'; PROGRAM='{self.quoted(self.program())}'; {line}"
                with self.subTest(who=user, way=way):
                    self.assertFalse(self.operate(self.world / top for top in tops))
                    run = self.run_cold if way == "cold" else self.run_warm
                    self.assertIn("TRIED", run(workspace, text, *args))
                    self.assertFalse(self.operate(self.world / top for top in tops), "what the command left was run")
                    self.control(workspace, hooks, files, programs, tops)

    def quoted(self, text):
        return text.replace("'", "'\\''")

    def control(self, workspace, hooks, files, programs, tops):
        """Each of these places would have been enough."""
        for path in hooks:
            self.write(workspace / path / "pre-commit", self.hook(), 0o755)
        for path in files:
            self.write(workspace / path, self.program())
        for path in programs:
            self.write(workspace / path, self.hook(), 0o755)
        self.assertTrue(self.operate(self.world / top for top in tops), "the attempt would not have done anything")


class WorkTrees(GitTest):
    """core.hooksPath is relative to the top of each work tree."""

    def linked(self, value, *more):
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", value), *more)
            self.must(main, "worktree", "add", "-q", "../tree")
            return self.world / "tree"
        return arrange

    def test_the_workspace_is_a_linked_one(self):
        self.attempt(self.linked(".tools/hooks"), hooks=[".tools/hooks"], tops=["tree"])

    def test_and_the_hooks_are_there(self):
        def arrange():
            tree = self.linked("tools")()
            self.write(tree / "tools" / "other", "x")
            return tree
        self.attempt(arrange, hooks=["tools"], tops=["tree"])

    def test_the_path_goes_up_and_comes_back(self):
        def arrange():
            tree = self.linked("./x/../hooks")()
            self.write(tree / "x" / "file", "x")
            return tree
        self.attempt(arrange, hooks=["hooks"], tops=["tree"])

    def test_the_path_is_absolute(self):
        def arrange():
            tree = self.linked("x")()
            self.must(self.world / "main", "config", "core.hooksPath", f"{tree}/tools/hooks")
            return tree
        self.attempt(arrange, hooks=["tools/hooks"], tops=["tree", "main"])

    def test_the_path_goes_by_a_link_outside(self):
        def arrange():
            tree = self.linked("x")()
            (self.world / "by").symlink_to(tree)
            self.must(self.world / "main", "config", "core.hooksPath", f"{self.world}/by/tools/hooks")
            return tree
        self.attempt(arrange, hooks=["tools/hooks"], tops=["tree", "main"])

    def test_the_work_trees_own_configuration(self):
        def arrange():
            tree = self.linked("nothing", ("config", "extensions.worktreeConfig", "true"))()
            self.must(tree, "config", "--worktree", "core.hooksPath", "own-hooks")
            return tree
        self.attempt(arrange, hooks=["own-hooks"], tops=["tree"])

    def test_included_by_the_work_trees_own_configuration(self):
        def arrange():
            tree = self.linked("nothing", ("config", "extensions.worktreeConfig", "true"))()
            self.must(tree, "config", "--worktree", "include.path", f"{tree}/own.config")
            return tree
        self.attempt(arrange, files=["own.config"], tops=["tree"])

    def test_linked_ones_inside(self):
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", ".tools/_"))
            self.must(main, "worktree", "add", "-q", "wt")
            self.must(main, "worktree", "add", "-q", "deep/er/tree")
            return main
        self.attempt(arrange, hooks=["wt/.tools/_", "deep/er/tree/.tools/_", ".tools/_"],
                     tops=["main", "main/wt", "main/deep/er/tree"])

    def test_a_linked_one_that_is_forgotten_first(self):
        """What tells where the work trees are is the command's to write, unless it is protected."""
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", ".tools/_"))
            self.must(main, "worktree", "add", "-q", "wt")
            self.run_cold(main, "echo /nowhere/.git >.git/worktrees/wt/gitdir; rm -f .git/worktrees/wt/gitdir; mv wt wt2; "
                                "mv .git/worktrees .git/w; mv .git/worktrees/wt .git/worktrees/w; mv .git .g; echo TRIED")
            return main
        self.attempt(arrange, hooks=["wt/.tools/_"], tops=["main/wt"])

    def test_another_one_of_the_main_repository_inside(self):
        def arrange():
            tree = self.linked(".tools/_")()
            self.must(self.world / "main", "worktree", "add", "-q", "../tree/in/wt")
            return tree
        self.attempt(arrange, hooks=["in/wt/.tools/_"], tops=["tree/in/wt"])

    def test_made_with_a_relative_path(self):
        def arrange():
            tree = self.linked(".tools/_")()
            self.write(tree / ".git", "gitdir: ../main/.git/worktrees/tree\n")
            self.write(self.world / "main/.git/worktrees/tree/gitdir", "../../../../tree/.git\n")
            return tree
        self.attempt(arrange, hooks=[".tools/_"], tops=["tree"])

    def test_a_bare_repository_with_work_trees(self):
        def arrange():
            source = self.repository("source")
            self.must(self.world, "clone", "-q", "--bare", str(source), "bare")
            self.must(self.world / "bare", "config", "core.hooksPath", ".tools/_")
            self.must(self.world / "bare", "worktree", "add", "-q", "../tree")
            return self.world / "tree"
        self.attempt(arrange, hooks=[".tools/_"], tops=["tree"])

    def test_a_bare_repository_around_its_work_trees(self):
        def arrange():
            source = self.repository("source")
            self.must(self.world, "clone", "-q", "--bare", str(source), "place/.bare")
            self.write(self.world / "place/.git", "gitdir: ./.bare\n")
            self.must(self.world / "place/.bare", "config", "core.hooksPath", ".tools/_")
            self.must(self.world / "place", "worktree", "add", "-q", "tree")
            return self.world / "place"
        self.attempt(arrange, hooks=["tree/.tools/_"], files=[".bare/config.worktree"], tops=["place/tree"])

    def test_core_worktree(self):
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", "tools/_"))
            self.write(main / "place" / "file", "x")
            self.must(main, "config", "core.worktree", str(main / "place"))
            return main
        self.attempt(arrange, hooks=["place/tools/_"], tops=["main/place"])

    def test_the_hooks_are_those_of_the_top_itself(self):
        def arrange():
            tree = self.linked("x")()
            self.must(self.world / "main", "config", "core.hooksPath", str(tree))
            return tree
        self.attempt(arrange, hooks=["."], tops=["tree", "main"])


class ByLinks(GitTest):
    """Links on the way, in the workspace and outside of it."""

    def test_out_and_back(self):
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", "way"))
            self.write(main / "real" / "file", "x")
            (self.world / "by").symlink_to(main)
            (main / "way").symlink_to("../by/real")
            return main
        self.attempt(arrange, hooks=["real"], tops=["main"])

    def test_absolute_and_back(self):
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", "way/deep"))
            self.write(main / "real" / "deep" / "file", "x")
            (self.world / "by").symlink_to(main)
            (main / "way").symlink_to(self.world / "by" / "real")
            return main
        self.attempt(arrange, hooks=["real/deep"], tops=["main"])

    def test_from_elsewhere_by_a_link_in_the_workspace(self):
        """The link is replaced, and so is what it leads to."""
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", f"{self.world}/by/way"))
            self.write(main / "real" / "file", "x")
            self.write(main / "evil" / "pre-commit", self.hook(), 0o755)
            (self.world / "by").symlink_to(main)
            (main / "way").symlink_to("real")
            self.run_cold(main, "ln -sfn evil way; rm -f way; mv evil way; mv real old; mv evil real; echo TRIED")
            return main
        self.attempt(arrange, hooks=["real"], tops=["main"])

    def test_many_links(self):
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", "l0"))
            self.write(main / "real" / "file", "x")
            for n in range(20):
                (main / f"l{n}").symlink_to(f"l{n + 1}" if n < 19 else "real")
            return main
        self.attempt(arrange, hooks=["real"], tops=["main"], ways=["cold"])

    def test_a_hook_that_is_a_link(self):
        def arrange():
            main = self.repository("main")
            self.write(main / "scripts" / "check", "#!/bin/sh\n", 0o755)
            (main / ".git/hooks").mkdir(exist_ok=True)
            (main / ".git/hooks/pre-commit").symlink_to(self.world / "by" / "scripts" / "check")
            (self.world / "by").symlink_to(main)
            return main
        self.attempt(arrange, programs=["scripts/check"], tops=["main"])


class Programs(GitTest):
    """Programs that git runs by itself."""

    def filtered(self, key, value, attribute):
        def arrange():
            main = self.repository("main")
            self.write(main / "file", "x\n")
            self.write(main / ".gitattributes", f"file {attribute}\n")
            self.must(main, "add", ".")
            self.must(main, "commit", "-q", "-m", "file")
            self.must(main, "config", key, value)
            self.write(main / "tools" / "clean", "#!/bin/sh\ncat\n", 0o755)
            self.write(main / "file", "y\n")
            return main
        return arrange

    def test_a_filter(self):
        self.attempt(self.filtered("filter.f.clean", "tools/clean %f", "filter=f"), programs=["tools/clean"], tops=["main"])

    def test_a_filter_by_an_interpreter(self):
        self.attempt(self.filtered("filter.f.clean", "sh './tools/clean' -x", "filter=f"), programs=["tools/clean"],
                     tops=["main"])

    def test_a_directory_that_is_named_can_be_written(self):
        main = self.filtered("filter.f.clean", "cat tools/ | sed s/x/y/", "filter=f")
        self.world.mkdir()
        (self.dir / ".gitconfig").write_text(IDENTITY)
        self.assertEqual(self.run_cold(main(), "echo z >tools/new && cat tools/new"), "z\n")


class WithoutNamespaces(GitTest):
    """In the landlock tier nothing that is there can be protected; what is not there must not appear."""

    def setUp(self):
        super().setUp()
        self.args = ("--policy", self.policy("tier", "profile: tier\ninherits: bash\nsandbox: {mode: landlock}\n"))

    def test_a_linked_work_tree(self):
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", ".tools/hooks"))
            self.must(main, "worktree", "add", "-q", "../tree")
            return self.world / "tree"
        self.attempt(arrange, hooks=[".tools/hooks"], tops=["tree"], args=self.args)

    def test_linked_ones_inside(self):
        def arrange():
            main = self.repository("main", ("config", "core.hooksPath", ".tools/_"))
            self.must(main, "worktree", "add", "-q", "wt")
            return main
        self.attempt(arrange, hooks=["wt/.tools/_"], tops=["main/wt"], args=self.args)

    def test_a_part_of_a_repository(self):
        def arrange():
            main = self.repository("main", ("config", "include.path", "../sub/x.config"))
            self.write(main / "sub/file", "x")
            return main / "sub"
        self.attempt(arrange, files=["x.config"], tops=["main"], args=self.args)


class Modules(GitTest):
    """A submodule has a configuration of its own."""

    def with_submodule(self, *commands):
        def arrange():
            self.repository("source")
            main = self.repository("main", ("submodule", "add", "-q", str(self.world / "source"), "libs/sub"),
                                   ("commit", "-q", "-m", "sub"))
            for words in commands:
                self.must(main / "libs" / "sub", *words)
            return main
        return arrange

    def test_hooks(self):
        self.attempt(self.with_submodule(("config", "core.hooksPath", "tools/_")), hooks=["libs/sub/tools/_"],
                     tops=["main/libs/sub"])

    def test_included(self):
        arrange = self.with_submodule(("config", "include.path", "../../../../libs/sub/own.config"))
        self.attempt(arrange, files=["libs/sub/own.config"], tops=["main/libs/sub", "main"])

    def test_from_a_directory_of_submodules(self):
        def arrange():
            return self.with_submodule(("config", "core.hooksPath", "tools/_"))() / "libs"
        self.attempt(arrange, hooks=["sub/tools/_"], tops=["main/libs/sub"])

    def test_from_the_submodule(self):
        def arrange():
            return self.with_submodule(("config", "core.hooksPath", "tools/_"))() / "libs" / "sub"
        self.attempt(arrange, hooks=["tools/_"], tops=["main/libs/sub"])

    def test_with_its_repository_in_place(self):
        def arrange():
            main = self.with_submodule()()
            sub = main / "libs" / "sub"
            (sub / ".git").unlink()
            shutil.move(main / ".git/modules/libs/sub", sub / ".git")
            config = sub / ".git" / "config"
            config.write_text("".join(line for line in config.read_text().splitlines(True) if "worktree" not in line))
            self.must(sub, "config", "core.hooksPath", "tools/_")
            return main
        self.attempt(arrange, hooks=["libs/sub/tools/_"], tops=["main/libs/sub"])

    def test_a_work_tree_of_a_submodule(self):
        arrange = self.with_submodule(("config", "core.hooksPath", "tools/_"), ("worktree", "add", "-q", "../wt"))
        self.attempt(arrange, hooks=["libs/wt/tools/_"], tops=["main/libs/wt"])


class Above(GitTest):
    """The workspace is a sub-directory of a repository."""

    def below(self, *commands):
        def arrange():
            main = self.repository("main", *commands)
            self.write(main / "sub/dir/file", "x")
            return main / "sub" / "dir"
        return arrange

    def test_hooks(self):
        self.attempt(self.below(("config", "core.hooksPath", "sub/dir/tools")), hooks=["tools"], tops=["main"])

    def test_included(self):
        self.attempt(self.below(("config", "include.path", "../sub/dir/x.config")), files=["x.config"], tops=["main"])

    def test_included_by_a_condition(self):
        for name, condition in enumerate(("gitdir:**", "gitdir/i:/", "onbranch:main", "hasconfig:remote.*.url:**")):
            key = f"includeIf.{condition}.path"
            arrange = self.below(("config", "remote.origin.url", "/x"), ("config", key, "../sub/dir/x.config"))
            with self.subTest(condition=condition):
                # On another branch, with another remote, it would hold the next day.
                self.attempt(arrange, files=["x.config"], tops=["main"], ways=["cold"])

    def test_included_by_what_is_included(self):
        def arrange():
            workspace = self.below(("config", "include.path", str(self.dir / "marks" / "outside.config")))()
            self.write(self.dir / "marks" / "outside.config", f"[include]\n\tpath = {workspace}/x.config\n")
            return workspace
        self.attempt(arrange, files=["x.config"], tops=["main"])

    def test_a_watcher(self):
        self.attempt(self.below(("config", "core.fsmonitor", "sub/dir/watch")), programs=["watch"], tops=["main"])

    def test_two_repositories_above(self):
        def arrange():
            outer = self.repository("main", ("config", "core.hooksPath", "nested/sub/tools"))
            self.repository("main/nested")
            self.write(outer / "nested/sub/file", "x")
            return outer / "nested" / "sub"
        self.attempt(arrange, hooks=["tools"], tops=["main"])


class OfTheUser(GitTest):
    """Configuration that holds for all repositories of the operator."""

    def everywhere(self, text, place=".gitconfig", sub=""):
        def arrange():
            main = self.repository("main")
            self.must(main, "worktree", "add", "-q", "wt")
            path = self.dir / place
            had = path.read_text() if path.exists() else ""
            self.write(path, had + text.replace("{world}", str(self.world)))
            if place != ".gitconfig":
                self.addCleanup(path.unlink, missing_ok=True)
            return main / sub if sub else main
        return arrange

    def test_relative_hooks(self):
        self.attempt(self.everywhere("[core]\n\thooksPath = tools/_\n"), hooks=["tools/_", "wt/tools/_"],
                     tops=["main", "main/wt"])

    def test_of_the_other_place(self):
        self.attempt(self.everywhere("[core]\n\thooksPath = tools/_\n", "config/git/config"), hooks=["wt/tools/_"],
                     tops=["main/wt"])

    def test_included(self):
        self.attempt(self.everywhere("[include]\n\tpath = {world}/main/x.config\n"), files=["x.config"], tops=["main"])
        self.attempt(self.everywhere("[includeIf \"gitdir:{world}/\"]\n\tpath = ~/world/main/x.config\n"),
                     files=["x.config"], tops=["main"])

    def test_by_a_link_to_the_configuration(self):
        def arrange():
            main = self.everywhere("")()
            dots = self.world / "dots"
            self.write(dots / "gitconfig", IDENTITY + "[include]\n\tpath = ../main/x.config\n"
                       f"[core]\n\thooksPath = {main}/tools\n")
            (self.dir / ".gitconfig").unlink()
            (self.dir / ".gitconfig").symlink_to("world/dots/gitconfig")
            return main
        self.attempt(arrange, hooks=["tools"], tops=["main"], ways=["cold"])


class Spelling(GitTest):
    """A configuration is read as git reads it."""

    SPELLINGS = {
        "continued": "[core]\n\thooksPath = to\\\nols/_\n",
        "continued key": "[core]\n\thooksPath = \\\n\\\n  tools/_\n",
        "behind the section": "[core] hooksPath = tools/_\n",
        "many sections in one line": "[a] x = 1\n[a \"]\"] [core] [core] hookspath=tools/_\n",
        "quoted": "[core]\n\thooksPath = \"tools\"/_ ; a comment\n",
        "quoted in the middle": "[core]\n\thooksPath = to\"ols/\"_   # a comment\n",
        "capitals": "[CORE]\n\tHOOKSPATH=tools/_\n",
        "carriage returns": "[core]\r\n\thooksPath = tools/_\r\n",
        "a mark at the start": "\ufeff[core]\n\thooksPath = tools/_\n",
        "no newline at the end": "[core]\n\thooksPath = tools/_",
        "behind a key without a value": "[core]\n\tfilemode\n\thooksPath = tools/_\n",
        "behind a sub-section with a bracket": "[x \"a]b\\\"c\"]\n\ty = z\n[core]\n\thooksPath = tools/_\n",
        "behind a comment": "# [x\n[core] ; [y\n\t; x = \\\n\thooksPath = tools/_\n",
        "the last one counts": "[core]\n\thooksPath = one\n\thooksPath = tools/_\n",
    }

    def test_hooks(self):
        for name, text in self.SPELLINGS.items():
            def arrange(text=text):
                main = self.repository("main")
                path = main / ".git" / "config"
                had = "" if text.startswith("\ufeff") else path.read_text()
                path.write_bytes((had + text).encode())
                self.write(main / "sub/file", "x")
                return main
            with self.subTest(spelling=name):
                self.attempt(arrange, hooks=["tools/_"], tops=["main"], ways=["cold"])

    def test_escapes(self):
        def arrange():
            main = self.repository("main")
            with open(main / ".git" / "config", "a", encoding="ascii") as file:
                file.write('[core]\n\thooksPath = a\\tb\\"c\\\\d\n')
            return main
        self.attempt(arrange, hooks=["a\tb\"c\\d"], tops=["main"], ways=["cold"])


class Bounds(GitTest):
    """What is too much to be read is not passed over: nothing runs."""

    def refused(self, workspace, *words):
        done = self.run_nacre("-c", "echo RAN", cwd=workspace, **self.options)
        self.assertEqual((done.code, done.out), (125, b""), done)
        for word in words:
            self.assertIn(word, done.err.decode())

    def arrange(self):
        shutil.rmtree(self.world, ignore_errors=True)
        self.world.mkdir()
        (self.dir / ".gitconfig").write_text(IDENTITY)
        return self.repository("main")

    def test_a_long_file_is_read(self):
        def arrange():
            main = self.repository("main")
            with open(main / ".git" / "config", "a", encoding="ascii") as file:
                file.write("# a comment\n" * 30000 + "[core]\n\thooksPath = tools/_\n")
            return main
        self.attempt(arrange, hooks=["tools/_"], tops=["main"], ways=["cold"])

    def test_one_that_is_too_long_is_named(self):
        main = self.arrange()
        with open(main / ".git" / "config", "a", encoding="ascii") as file:
            file.write("# a comment\n" * 200000)
        self.refused(main, ".git/config", "larger than")
        (main / ".git" / "config").write_text("")
        self.write(self.dir / ".gitconfig", "# a comment\n" * 200000)
        self.refused(main, str(self.dir / ".gitconfig"), "larger than")

    def test_many_files_are_read(self):
        def arrange():
            main = self.repository("main")
            with open(main / ".git" / "config", "a", encoding="ascii") as file:
                file.write("".join(f"[include]\n\tpath = {self.world}/c{n}\n" for n in range(60)))
            self.write(self.world / "c59", "[core]\n\thooksPath = tools/_\n")
            return main
        self.attempt(arrange, hooks=["tools/_"], tops=["main"], ways=["cold"])

    def test_files_that_lead_on_and_on(self):
        def arrange():
            main = self.repository("main", ("config", "include.path", f"{self.world}/c0"))
            for n in range(8):
                self.write(self.world / f"c{n}", f"[include]\n\tpath = c{n + 1}\n")
            self.write(self.world / "c8", "[core]\n\thooksPath = tools/_\n")
            return main
        self.attempt(arrange, hooks=["tools/_"], tops=["main"], ways=["cold"])

    def test_a_file_that_includes_itself_ends(self):
        main = self.arrange()
        self.must(main, "config", "includeIf.onbranch:x.path", "config")
        self.assertIn("RAN", self.run_cold(main, "echo RAN"))

    def test_too_many_are_named(self):
        main = self.arrange()
        with open(main / ".git" / "config", "a", encoding="ascii") as file:
            file.write("".join(f"[include]\n\tpath = {self.world}/c{n}\n" for n in range(2000)))
        self.refused(main, ".git/config", "more than")


class Work(GitTest):
    """The operator's own git is not in the way of the agent's."""

    def test_an_agent_works_in_a_repository(self):
        for user, options in self.users():
            self.options = options
            shutil.rmtree(self.world, ignore_errors=True)
            self.world.mkdir()
            if options:
                os.chown(self.world, options["user"], options["user"])
            (self.dir / ".gitconfig").write_text(IDENTITY)
            main = self.repository("main", ("config", "core.hooksPath", ".tools/_"))
            self.must(main, "worktree", "add", "-q", "wt")
            with self.subTest(who=user):
                line = ("export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y; "
                        "echo x >file && git add file && git commit -q -m more && git checkout -q -b other && "
                        "(cd wt && echo y >z && git add z && git commit -q -m z) && git worktree add -q new && "
                        "mkdir -p .tools/x && echo y >.tools/x/y && git log --oneline | wc -l")
                result = self.run_result("-c", line, cwd=main, **options)
                self.assertEqual((result["exit_code"], result["stdout"].strip(), result["notices"]), (0, "2", []), result)


if __name__ == "__main__":
    unittest.main()
