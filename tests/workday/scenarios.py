"""What coding agents do on a working day: each scenario is a few calls of a shell tool.

A call has the exit code that it must have and a pattern that its output must match. $TAG is a word that nobody else
has, $PORT a free port; setup runs before the first call, outside of any box.
"""
import collections

Call = collections.namedtuple("Call", "kind command code out name talk")
Scenario = collections.namedtuple("Scenario", "group name calls setup need")

SCENARIOS = []
MEMORY_GROUP = "a control group for memory"  # without one a sanitizer cannot map its terabytes


def sh(command, out="", code=0):
    """One call of the tool."""
    return Call("sh", command, code, out, None, None)


def task(name, command):
    """A call that goes on in the background."""
    return Call("task", command, None, "", name, None)


def shows(name, out):
    """What the task has printed, soon."""
    return Call("shows", "", None, out, name, None)


def stop(name):
    return Call("stop", "", None, "", name, None)


def talk(command, *lines, out=""):
    """A conversation on a terminal: what is seen, and what is typed then."""
    return Call("talk", command, None, out, None, lines)


def day(group, name, *calls, setup="", need=()):
    SCENARIOS.append(Scenario(group, name, calls, setup, need))


NOTHING = r"\A\s*\Z"
REPO = "git init -q -b main . && for i in 1 2 3 4 5; do echo line $i >>a.txt; git add a.txt; git commit -qm \"change $i\"; done"
LATE = "curl -sS --retry 10 --retry-connrefused --retry-delay 1 --max-time 15"

# git
day("git", "init-commit-log", sh("git init -q -b main . && echo x >a && git add a && git commit -qm first"),
    sh("git log --oneline | wc -l", "^1"), sh("git status --porcelain", NOTHING))
day("git", "branch-and-merge", sh("git checkout -q -b topic && echo t >t && git add t && git commit -qm t"),
    sh("git checkout -q main && git merge --no-edit topic", "Fast-forward"), sh("git branch --merged", "topic"), setup=REPO)
day("git", "merge-conflict", sh("git checkout -q -b other HEAD~1 && echo mine >>a.txt && git commit -qam mine"),
    sh("git merge main", "CONFLICT", 1), sh("git checkout --theirs a.txt && git add a.txt && git commit -qm merged"),
    sh("git status --porcelain; tail -1 a.txt", "line 5"), setup=REPO)
day("git", "stash", sh("echo work >>a.txt && git stash"), sh("git status --porcelain", NOTHING), sh("git stash pop && tail -1 a.txt", "work"), setup=REPO)
day("git", "rebase-onto", sh("git checkout -q -b topic HEAD~2 && echo b >b && git add b && git commit -qm b"),
    sh("git rebase main", "Successfully|up to date"), sh("git log --oneline | wc -l", "^6"), setup=REPO)
day("git", "rebase-squash", sh("GIT_SEQUENCE_EDITOR=\"sed -i '2,3s/^pick/fixup/'\" git rebase -i HEAD~3", "Successfully"),
    sh("git log --oneline | wc -l", "^3"), setup=REPO)
day("git", "cherry-pick", sh("git checkout -q -b pick HEAD~3 && git log --oneline main | head -1"), sh("git cherry-pick main", "CONFLICT", 1),
    sh("git cherry-pick --abort && git status --porcelain", NOTHING), setup=REPO)
day("git", "bisect", sh("git bisect start HEAD HEAD~4 && git bisect run sh -c '! grep -q \"line 4\" a.txt'", "change 4"),
    sh("git bisect reset && git rev-parse --abbrev-ref HEAD", "main"), setup=REPO)
day("git", "blame-diff-show", sh("git blame a.txt | tail -1", "line 5"), sh("git diff HEAD~1 --stat", "a.txt"), sh("git show HEAD:a.txt | wc -l", "5"), setup=REPO)
day("git", "tags", sh("git tag -a v1 -m one && git describe", "v1"), sh("git tag -l && git show v1 --stat | head -1", "tag v1"), setup=REPO)
day("git", "clone-push-pull", sh("git clone -q . copy && ls copy", "a.txt"),
    sh("cd copy && git log --oneline | wc -l", "^5"), setup=REPO)
day("git", "format-patch-and-am", sh("git format-patch -1 -o out && git reset -q --hard HEAD~1 && git am out/*.patch", "Applying"),
    sh("git log -1 --format=%s", "change 5"), setup=REPO)
day("git", "archive", sh("git archive --format=tar HEAD | tar tf -", "a.txt"), sh("git gc -q && git fsck && git count-objects", "objects"), setup=REPO)
day("git", "revert-and-reset", sh("git revert --no-edit HEAD && tail -1 a.txt", "line 4"), sh("git reset -q --hard HEAD~2 && git log --oneline | wc -l", "^4"), setup=REPO)
day("git", "ignored-files", sh("printf '*.o\\nbuild/\\n' >.gitignore && touch x.o && mkdir build && git status --porcelain", r"\?\? .gitignore"),
    sh("git check-ignore x.o", "x.o"), setup=REPO)
day("git", "worktree-inside", sh("git worktree add -q wt -b wt && ls wt", "a.txt"), sh("cd wt && git status -sb", "## wt"), setup=REPO)
day("git", "config-user", sh("git config user.email agent@example.invalid"), sh("git config user.email", "agent@example.invalid"), setup=REPO)
day("git", "remote-add", sh("git remote add up https://example.invalid/x.git"), sh("git remote -v", "example.invalid"), setup=REPO)
day("git", "tracked-settings", sh("git checkout -q with && cat .vscode/settings.json", "tab"), sh("git status --porcelain", NOTHING), sh("git checkout -q main && git status --porcelain", NOTHING),
    setup=REPO + " && git checkout -q -b with && mkdir .vscode && echo '{\"tab\": 4}' >.vscode/settings.json && git add . && git commit -qm s && git checkout -q main")
day("git", "tracked-settings-change", sh("git merge -q --ff-only next && cat .vscode/settings.json .envrc", "tab\\W+8"), sh("git status --porcelain", NOTHING),
    sh("git reset -q --hard HEAD~1 && git status --porcelain && cat .envrc", "one"), sh("echo x >>a.txt && git commit -qam x && git show --format= --name-only", r"^a.txt$"),
    sh("git rebase -q next && git status --porcelain", NOTHING), sh("git checkout -q main && git status --porcelain", NOTHING), sh("ls -A", r"^\.git\na.txt$"),
    setup=REPO + " && git checkout -q -b with && mkdir .vscode && echo '{\"tab\": 4}' >.vscode/settings.json && echo one >.envrc && git add . && git commit -qm s && git checkout -q -b next"
    " && echo '{\"tab\": 8}' >.vscode/settings.json && echo two >.envrc && echo '{}' >.vscode/launch.json && git add . && git commit -qm n && git checkout -q with")
day("git", "editor-settings-new", sh("mkdir -p .vscode && echo '{}' >.vscode/settings.json"), sh("cat .vscode/settings.json", r"\{\}"), setup=REPO)
day("git", "hook", sh("printf '#!/bin/sh\\necho hooked\\n' >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"),
    sh("echo z >>a.txt && git commit -am z", "hooked"), setup=REPO)
day("git", "grep-and-log-search", sh("git grep -n 'line 3'", "a.txt:3"), sh("git log -S'line 4' --format=%s", "change 4"), setup=REPO)
# C
HELLO = "printf '#include <stdio.h>\\nint main(void) { puts(\"hello\"); return 0; }\\n' >h.c"
day("c", "compile-and-run", sh("gcc -Wall -o h h.c && ./h", "hello"), setup=HELLO, need=("gcc",))
day("c", "warnings-are-errors", sh("gcc -Wall -Werror -c w.c", "unused variable", 1), setup="echo 'int f(void) { int x; return 0; }' >w.c", need=("gcc",))
day("c", "make", sh("make -j2 && ./h", "hello"), sh("make", "up to date"), sh("make clean && ls", "Makefile"),
    setup=HELLO + " && printf 'h: h.c\\n\\tgcc -o h h.c\\nclean:\\n\\trm -f h\\n' >Makefile", need=("gcc", "make"))
day("c", "static-library", sh("gcc -c f.c && ar rcs libf.a f.o && gcc -o m m.c -L. -lf && ./m; echo $?", "^7"),
    setup="echo 'int f(void) { return 7; }' >f.c; echo 'int f(void); int main(void) { return f(); }' >m.c", need=("gcc", "ar"))
day("c", "shared-library", sh("gcc -shared -fPIC -o libf.so f.c && gcc -o m m.c -L. -lf -Wl,-rpath,. && ./m; echo $?", "^8"), sh("ldd ./m", "libf.so"),
    setup="echo 'int f(void) { return 8; }' >f.c; echo 'int f(void); int main(void) { return f(); }' >m.c", need=("gcc",))
day("c", "threads", sh("gcc -pthread -o t t.c && ./t", "100"), need=("gcc",),
    setup="printf '#include <pthread.h>\\n#include <stdio.h>\\nstatic int n; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\\nvoid *f(void *x) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return x; }\\nint main(void) { pthread_t t[100]; for (int i = 0; i < 100; i++) pthread_create(t + i, 0, f, 0); for (int i = 0; i < 100; i++) pthread_join(t[i], 0); printf(\"%%d\\\\n\", n); }\\n' >t.c")
day("c", "leak-sanitizer", sh("gcc -g -fsanitize=address -o l l.c && ./l", "detected memory leaks", 1), need=("gcc", MEMORY_GROUP),
    setup="printf '#include <stdlib.h>\\nvoid *volatile p;\\nint main(void) { p = malloc(9); p = 0; return 0; }\\n' >l.c")
day("c", "address-sanitizer", sh("gcc -g -fsanitize=address -o o o.c && ./o", "heap-buffer-overflow", 1), need=("gcc", MEMORY_GROUP),
    setup="printf '#include <stdlib.h>\\nint main(int c, char **v) { char *p = malloc(8); p[8 + c] = 1; free(p); return 0; }\\n' >o.c")
day("c", "nm-and-objdump", sh("gcc -c h.c && nm h.o", "T main"), sh("objdump -d h.o | head -20", "<main>"), setup=HELLO, need=("gcc", "objdump"))
day("c", "cmake-like-out-of-tree", sh("mkdir -p build && cd build && gcc -o h ../h.c && ./h", "hello"), sh("pwd", "build$"), setup=HELLO, need=("gcc",))
# Debugging
DBG = "printf 'int twice(int x) { return 2 * x; }\\nint main(void) { return twice(21) != 42; }\\n' >d.c && gcc -g -O0 -o d d.c"
day("debug", "gdb-batch", sh("gdb -q -batch -ex 'break twice' -ex run -ex bt -ex 'print x' ./d", r"twice \(x=21\).*= 21"), setup=DBG, need=("gdb", "gcc"))
day("debug", "gdb-crash", sh("gcc -g -o c c.c; gdb -q -batch -ex run -ex bt ./c", "SIGSEGV.*main"), setup="echo 'int main(void) { *(volatile int *)0 = 1; }' >c.c", need=("gdb", "gcc"))
day("debug", "gdb-attach", sh("sleep 60 & gdb -q -batch -p $! -ex bt 2>&1; kill $!", "#0"), need=("gdb",))
day("debug", "strace", sh("strace -f -o t sh -c 'cat /etc/hostname >/dev/null' && grep -c openat t", "[1-9]"), need=("strace",))
day("debug", "strace-count", sh("strace -c ls 2>&1 | tail -1", "total"), need=("strace",))
day("debug", "ltrace", sh("ltrace -e puts ./h 2>&1", "puts"), setup=HELLO + " && gcc -no-pie -Wl,-z,lazy -fno-builtin -o h h.c", need=("ltrace", "gcc"))
day("debug", "core-size", sh("ulimit -c", "[0-9u]"), sh("bash -c 'kill -SEGV $$'; echo $?", "139"))
day("debug", "python-faulthandler", sh("python3 -X faulthandler -c 'import ctypes; ctypes.string_at(0)'; echo $?", "Segmentation fault"), need=("python3",))
day("debug", "proc-of-a-child", sh("sleep 9 & grep -c . /proc/$!/maps; cat /proc/$!/comm; kill $!", "sleep"))
# Python
day("python", "venv", sh("python3 -m venv v && v/bin/python -c 'import sys; print(sys.prefix)'", "/v$"), sh("v/bin/pip --version", "pip"), need=("python3",))
day("python", "unittest", sh("python3 -m unittest -v", "OK"), setup="printf 'import unittest\\nclass T(unittest.TestCase):\\n    def test_a(self): self.assertEqual(1, 1)\\n' >test_a.py", need=("python3",))
day("python", "unittest-fails", sh("python3 -m unittest", "FAILED", 1), setup="printf 'import unittest\\nclass T(unittest.TestCase):\\n    def test_a(self): self.fail()\\n' >test_a.py", need=("python3",))
day("python", "package", sh("python3 -m app 3", "^9"), sh("python3 -m compileall -q app && ls app/__pycache__", "pyc"),
    setup="mkdir app && echo 'import sys; print(int(sys.argv[1]) ** 2)' >app/__main__.py && touch app/__init__.py", need=("python3",))
day("python", "json-and-csv", sh("python3 -c \"import json; print(json.load(open('d.json'))['a'][1])\"", "^2"), sh("python3 -m json.tool d.json", '"a"'), setup="echo '{\"a\": [1, 2]}' >d.json", need=("python3",))
day("python", "sqlite", sh("python3 -c \"import sqlite3; c = sqlite3.connect('x.db'); c.execute('create table t (a)'); c.execute('insert into t values (5)'); c.commit()\""),
    sh("python3 -c \"import sqlite3; print(sqlite3.connect('x.db').execute('select a from t').fetchone())\"", r"\(5,\)"), need=("python3",))
day("python", "multiprocessing", sh("python3 -c \"import multiprocessing as m; print(sum(m.Pool(4).map(abs, range(-9, 1))))\"", "45"), need=("python3",))
day("python", "asyncio-subprocess", sh("python3 -c \"import asyncio; asyncio.run(asyncio.create_subprocess_shell('true')); print('ran')\"", "ran"), need=("python3",))
day("python", "tempfile", sh("python3 -c \"import tempfile; f = tempfile.NamedTemporaryFile(); print(f.name)\"", "/"), need=("python3",))
day("python", "cpu-count", sh("python3 -c 'import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))'", r"^[1-9]"), need=("python3",))
day("python", "traceback", sh("python3 -c 'import nothing'", "ModuleNotFoundError", 1), need=("python3",))
day("python", "socket-in-one-call", sh("python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); s.accept()[0].sendall(b'hi'); print(c.recv(2))\"", "hi"), need=("python3",))
# Node
day("node", "script", sh("node -e 'console.log([1, 2, 3].map(x => x * x).join())'", "1,4,9"), need=("node",))
day("node", "npm-scripts", sh("npm run -s hi", "hi there"), sh("npm pkg get name", "thing"), setup="echo '{\"name\": \"thing\", \"version\": \"1.0.0\", \"scripts\": {\"hi\": \"echo hi there\"}}' >package.json", need=("npm",))
day("node", "npm-local-package", sh("npm install --offline --no-audit --no-fund ./lib"), sh("node -e 'console.log(require(\"lib\"))'", "42"),
    setup="mkdir lib && echo '{\"name\": \"lib\", \"version\": \"1.0.0\"}' >lib/package.json && echo 'module.exports = 42' >lib/index.js && echo '{\"name\": \"app\", \"version\": \"1.0.0\"}' >package.json", need=("npm",))
day("node", "test-runner", sh("node --test", "pass 1"), setup="printf \"const t = require('node:test'); t('a', () => {});\" >a.test.js", need=("node",))
day("node", "workers", sh("node -e \"const {Worker} = require('worker_threads'); new Worker('require(\\\"worker_threads\\\").parentPort.postMessage(7)', {eval: true}).on('message', m => console.log('got', m))\"", "got 7"), need=("node",))
day("node", "fs-watch", sh("node -e \"const fs = require('fs'); const w = fs.watch('.', () => { console.log('seen'); w.close(); }); setTimeout(() => fs.writeFileSync('n', 'x'), 200)\"", "seen"), need=("node",))
# Shell
day("shell", "cd-stays", sh("mkdir -p a/b && cd a/b"), sh("pwd", "/a/b$"), sh("cd ../.. && ls", "a"))
day("shell", "exports-stay", sh("export WORD=from-before"), sh("echo $WORD", "from-before"))
day("shell", "exit-codes", sh("false", "", 1), sh("exit 42", "", 42), sh("no-such-program-$TAG", "not found", 127))
day("shell", "pipes-and-redirections", sh("printf '3\\n1\\n2\\n' | sort | tee s | head -1", "1"), sh("wc -l <s", "3"), sh("cat nothing 2>err; grep -c . err", "1"))
day("shell", "heredoc", sh("cat >f <<'END'\n$not expanded\nEND\ncat f", r"\$not expanded"))
day("shell", "arrays-and-globs", sh("shopt -s globstar nullglob; touch a.x b.x; f=(*.x); echo ${#f[@]}", "2"))
day("shell", "process-substitution", sh("diff <(echo a) <(echo b)", "< a", 1))
day("shell", "find-xargs", sh("mkdir d && touch d/{1..20} && find d -type f -print0 | xargs -0 -n5 -P2 echo | wc -l", "4"))
day("shell", "sed-awk-cut", sh("printf 'a,1\\nb,2\\n' | awk -F, '{s += $2} END {print s}'", "3"), sh("echo abc | sed 's/b/X/' | cut -c2", "X"))
day("shell", "traps", sh("trap 'echo bye' EXIT; echo hi", "hi.*bye"))
day("shell", "background-job-in-one-call", sh("sleep 0.2 & wait; echo waited", "waited"))
day("shell", "timeout-program", sh("timeout 1 sleep 9; echo $?", "124"))
day("shell", "stdin-is-empty", sh("cat; read x || echo no input", "no input"))
day("shell", "order-of-streams", sh("for i in 1 2; do echo out$i; echo err$i >&2; done", "out1.*err1.*out2.*err2"))
day("shell", "long-output", sh("seq 100000 | tail -1", "100000"), sh("seq 5", "5"))
day("shell", "utf8", sh("echo 'grüße 漢字' | tee u; wc -m <u", "漢字"))
day("shell", "script-file", sh("printf '#!/bin/bash\\necho args $#\\n' >s.sh && chmod +x s.sh && ./s.sh a b", "args 2"))
day("shell", "tmp-in-one-call", sh("t=$(mktemp -d) && echo x >$t/f && cat $t/f && rm -r $t", "x"))
day("shell", "tmp-across-calls", sh("echo data >/tmp/$TAG"), sh("cat /tmp/$TAG; rm -f /tmp/$TAG", "data"))
day("shell", "home-across-calls", sh("echo set >~/.workday-$TAG"), sh("cat ~/.workday-$TAG", "set"))
day("shell", "cd-home", sh("cd ~ && pwd"), sh("test \"$PWD\" = ~ && echo home", "home"))
day("shell", "shared-memory-across-calls", sh("echo data >/dev/shm/$TAG"), sh("cat /dev/shm/$TAG; rm -f /dev/shm/$TAG", "data"))
# Data
day("data", "tar-and-gzip", sh("mkdir d && seq 100 >d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && wc -l <d/f", "100"), need=("gzip",))
day("data", "sqlite-shell", sh("sqlite3 x.db 'create table t (a); insert into t values (1), (2)'"), sh("sqlite3 x.db 'select sum(a) from t'", "3"), need=("sqlite3",))
day("data", "sort-join-uniq", sh("printf '1 a\\n2 b\\n' >l; printf '1 x\\n2 y\\n' >r; join l r", "1 a x"), sh("printf 'b\\na\\nb\\n' | sort | uniq -c | sort -rn | head -1", "2 b"))
day("data", "checksums", sh("seq 10 >f && sha256sum f >sums && sha256sum -c sums", "f: OK"), sh("echo 11 >>f; sha256sum -c sums", "FAILED", 1))
day("data", "diff-and-patch", sh("seq 9 >a; seq 8 >b; diff -u a b >p; patch a p && cmp a b && echo same", "same"), need=("patch",))
day("data", "split-and-join", sh("seq 1000 >f && split -l 300 f part. && cat part.* | cmp - f && ls part.* | wc -l", "4"))
day("data", "large-file", sh("head -c 50000000 /dev/zero >z && stat -c %s z && rm z", "50000000"))
day("data", "sparse-and-truncate", sh("truncate -s 1G s && stat -c %s s && rm s", "1073741824"))
# Files
day("files", "modes-and-links", sh("touch f && chmod 640 f && stat -c %a f", "640"), sh("ln -s f l && ln f h && stat -c %h f && readlink l", "2.*f"))
day("files", "move-and-remove", sh("mkdir -p a/b && touch a/b/c && mv a z && find z -type f", "z/b/c"), sh("rm -r z && ls | wc -l", "0"))
day("files", "many-files", sh("mkdir m && cd m && touch f{1..2000} && ls | wc -l", "2000"), sh("rm -r ../m && ls .. | wc -l", "0"))
day("files", "times", sh("touch -d 2020-01-02 f && date -r f +%F", "2020-01-02"), sh("find . -newermt 2021-01-01 -name f | wc -l", "0"))
day("files", "beside-the-workspace", sh("echo x >../beside-$TAG"), sh("cat ../beside-$TAG; rm -f ../beside-$TAG", "x"))
day("files", "locks", sh("flock l -c 'echo locked'", "locked"), need=("flock",))
day("files", "fifo", sh("mkfifo p && (echo through >p &) && cat p", "through"))
day("files", "rsync-like-copy", sh("mkdir s && touch s/{a,b} && cp -a s t && diff -r s t && echo equal", "equal"))
# System
day("system", "processors", sh("lscpu", r"CPU\(s\):"), sh("nproc", "[1-9]"), need=("lscpu",))
day("system", "packages", sh("dpkg -l coreutils", "ii +coreutils"), sh("dpkg -S /bin/ls", "coreutils"), sh("apt-cache policy coreutils", "Installed"), need=("dpkg", "apt-cache"))
day("system", "memory-and-load", sh("free -m", "Mem:"), sh("cat /proc/loadavg; uptime", "load average"), need=("free",))
day("system", "disk-free", sh("df -h .", "%"), sh("du -sh .", r"\."))
day("system", "who-am-i", sh("id -un && whoami && test -n \"$HOME\" && echo home", "home"))
day("system", "versions", sh("uname -s; cat /etc/os-release | head -1", "Linux.*NAME"))
day("system", "ps-own", sh("sleep 5 & ps -o comm= -p $!; kill $!", "sleep"), need=("ps",))
day("system", "limits", sh("ulimit -n", "[0-9]"), sh("python3 -c 'import os; f = [os.open(\"/dev/null\", 0) for _ in range(2000)]; print(len(f))'", "2000"), need=("python3",))
day("system", "kill-by-name", sh("(exec -a marked-$TAG sleep 77) & sleep 0.3; pkill -f ^marked-$TAG; wait; echo gone", "gone"), need=("pkill",))
day("system", "lsblk", sh("lsblk >/dev/null && echo fine", "fine"), need=("lsblk",))
day("system", "sudo", sh("sudo -n true && echo root", "root"), need=("sudo",))
day("system", "interfaces", sh("ip -br addr show lo", "127.0.0.1"), sh("ls /sys/class/net", "lo"), need=("ip",))
# Servers
day("server", "client-in-the-same-call", sh(f"python3 -m http.server -b 127.0.0.1 $PORT >/dev/null 2>&1 & p=$!; {LATE} http://127.0.0.1:$PORT/f; kill $p", "served"), setup="echo served >f", need=("python3", "curl"))
day("server", "task-and-output", task("t", "for i in 1 2 3; do echo tick $i; sleep 0.2; done; sleep 30"), shows("t", "tick 3"), stop("t"))
day("server", "client-in-a-later-call", task("s", "python3 -m http.server -b 127.0.0.1 $PORT"), sh(f"{LATE} http://127.0.0.1:$PORT/f", "served"), stop("s"), setup="echo served >f", need=("python3", "curl"))
day("server", "ampersand", sh("python3 -m http.server -b 127.0.0.1 $PORT >log 2>&1 &"), sh(f"{LATE} http://127.0.0.1:$PORT/f", "served"), setup="echo served >f", need=("python3", "curl"))
day("server", "nohup", sh("nohup sh -c 'sleep 1; echo late >late' >/dev/null 2>&1 &"), sh("sleep 2; cat late", "late"))
day("server", "unix-socket-across-calls", task("u", "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.bind('sock'); s.listen(); s.accept()[0].sendall(b'hi')\""),
    sh("for i in $(seq 50); do [ -S sock ] && break; sleep 0.1; done; python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('sock'); print(s.recv(9))\"", "hi"), need=("python3",))
day("server", "kill-of-an-earlier-task", task("k", "exec -a mark-$TAG sleep 60"), sh("sleep 0.3; pkill -f ^mark-$TAG && echo killed", "killed"), stop("k"), need=("pkill",))
# Terminals
day("terminal", "prompt", talk("read -p 'name? ' n; echo hello $n", ("name\\?", "Ann"), out="hello Ann"))
day("terminal", "python", talk("python3 -q", (">>> ", "6 * 7"), ("42", "exit()"), out="42"), need=("python3",))
day("terminal", "isatty", talk("test -t 0 && test -t 1 && echo is a terminal; stty size", out="is a terminal.*24 80"))
day("terminal", "gdb", talk("gdb -q ./d", (r"\(gdb\)", "break twice"), ("Breakpoint 1", "run"), (r"twice \(x=21\)", "kill"), (r"\(y or n\)", "y"), out="x=21"), setup=DBG, need=("gdb", "gcc"))
day("terminal", "yes-or-no", talk("touch f; rm -i f; ls | wc -l", ("remove", "y"), out="0"))
day("terminal", "without-one", sh("test -t 0 || echo none", "none"), sh("tty", "not a tty", 1))
# What one call leaves to the next
day("left", "kill-by-a-number-that-was-told", sh("sleep 300 & echo $! >pid"), sh("kill -0 $(cat pid) && kill $(cat pid) && echo sent", "sent"))
day("left", "a-number-of-nobody", sh("sleep 0.1 & echo $! >pid; wait"), sh("kill $(cat pid)", "No such process", 1), sh("echo still here", "still here"))
day("left", "find-and-end-a-server", task("s", "exec -a serve-$TAG sleep 300"), sh("pgrep -af ^serve-$TAG", "serve-"), sh("ps aux | grep [s]erve-$TAG | wc -l", "^1"),
    sh("pkill -f ^serve-$TAG; sleep 0.3; pgrep -f ^serve-$TAG || echo none", "none"), need=("pkill",))
day("left", "restart-a-server", sh("python3 -m http.server -b 127.0.0.1 $PORT >log 2>&1 & echo $! >pid"), sh(f"{LATE} http://127.0.0.1:$PORT/f", "one"),
    sh("kill $(cat pid) && sleep 0.5 && echo two >f && (python3 -m http.server -b 127.0.0.1 $PORT >log 2>&1 & echo $! >pid)"), sh(f"{LATE} http://127.0.0.1:$PORT/f", "two"),
    sh("kill $(cat pid)"), setup="echo one >f", need=("python3", "curl"))
day("left", "wait-for-a-build", sh("(sleep 1; echo built >result) >/dev/null 2>&1 & echo $! >pid"), sh("for i in $(seq 100); do kill -0 $(cat pid) 2>/dev/null && [ ! -e result ] || break; sleep 0.1; done; cat result", "built"))
day("left", "reload-by-a-signal", sh("printf 'import signal, time\\nsignal.signal(signal.SIGHUP, lambda *_: open(\"again\", \"w\").close())\\nopen(\"up\", \"w\").close()\\nwhile True: time.sleep(0.1)\\n' >d.py"),
    sh("python3 d.py & echo $! >pid; until [ -e up ]; do sleep 0.1; done"), sh("kill -HUP $(cat pid); for i in $(seq 50); do [ -e again ] && break; sleep 0.1; done; ls again", "again"),
    sh("kill -9 $(cat pid) && echo ended", "ended"), need=("python3",))
day("left", "a-signal-to-a-group-of-names", task("a", "exec -a many-$TAG sleep 300"), task("b", "exec -a many-$TAG sleep 300"), sh("pgrep -fc ^many-$TAG", "^2"),
    sh("pkill -9 -f ^many-$TAG; sleep 0.3; pgrep -fc ^many-$TAG", "^0", 1), need=("pkill",))
day("left", "cd-to-tmp", sh("mkdir -p /tmp/$TAG/src && cd /tmp/$TAG"), sh("ls && cd src", "src"), sh("echo 'int main(void) { return 3; }' >m.c && gcc m.c -o m && ./m", "", 3),
    sh("pwd", "/src$"), sh("cd / && rm -r /tmp/$TAG"), need=("gcc",))
day("left", "cd-and-back", sh("mkdir -p sub && cd /tmp"), sh("cd - >/dev/null 2>&1; cd /usr && pwd", "^/usr"), sh("pwd; cd ~", "^/usr"), sh("pwd | grep -c home", "^1"))
day("left", "repository-in-tmp", sh("cd $(mktemp -d) && git init -q -b main . && echo x >f && git add f"), sh("git commit -qm one && git log --oneline | wc -l", "^1"),
    sh("git checkout -q -b two && git branch", "two"))
day("left", "exports-and-cd", sh("mkdir -p out && cd out && export OUT=$PWD"), sh("cd /tmp && echo x >$OUT/f"), sh("cat $OUT/f; pwd", "x.*/tmp"))
day("left", "home-of-tools", sh("~/miniconda3/bin/tool", "from home"), sh("~/.local/bin/other", "other"),
    setup="mkdir -p ~/miniconda3/bin ~/.local/bin; printf '#!/bin/sh\necho from home\n' >~/miniconda3/bin/tool; printf '#!/bin/sh\necho other\n' >~/.local/bin/other; chmod +x ~/miniconda3/bin/tool ~/.local/bin/other")
# Output as it comes
day("output", "errors-between-lines", sh("echo one; echo two >&2; echo three; ls /nothing-$TAG; echo four", "one.*two.*three.*nothing.*four"))
day("output", "a-failing-build", sh("make", "compiling.*error.*Error 1", 2), setup="printf 'all:\n\t@echo compiling\n\t@echo error: broken >&2; false\n' >Makefile", need=("make",))
day("output", "python-both-streams", sh("python3 -u -c \"import sys; print('a'); print('b', file=sys.stderr); print('c'); sys.exit(5)\"", "a.*b.*c", 5), need=("python3",))
day("output", "eight-seconds", sh("for i in 1 2 3 4; do sleep 2; echo tick $i; done", "tick 4"))
# More languages and tools
day("more", "cmake", sh("cmake -S . -B build >/dev/null && cmake --build build && ./build/h", "hello"), sh("cmake --build build && (cd build && ctest)", "tests passed"),
    setup=HELLO + " && printf 'cmake_minimum_required(VERSION 3.10)\nproject(h C)\nadd_executable(h h.c)\nenable_testing()\nadd_test(NAME h COMMAND h)\n' >CMakeLists.txt", need=("cmake", "gcc"))
day("more", "perl", sh("perl -ne 'print if /b/' l", "^b"), sh("perl -pi -e 's/b/x/' l && cat l", "x"), setup="printf 'a\\nb\\n' >l", need=("perl",))
day("more", "java", sh("java H.java", "from java"), setup="printf 'class H { public static void main(String[] a) { System.out.println(\"from java\"); } }' >H.java", need=("javac",))
day("more", "javac-and-jar", sh("javac H.java && jar cfe h.jar H H.class && java -jar h.jar", "from java"), setup="printf 'class H { public static void main(String[] a) { System.out.println(\"from java\"); } }' >H.java", need=("javac",))
day("more", "cxx-threads", sh("g++ -O1 -pthread t.cc -o t && ./t", "^8"), setup="printf '#include <thread>\n#include <vector>\n#include <atomic>\n#include <cstdio>\nint main() { std::atomic<int> n{0}; std::vector<std::thread> v; for (int i = 0; i < 8; i++) v.emplace_back([&] { n++; }); for (auto &t : v) t.join(); printf(\"%%d\\\\n\", n.load()); }\n' >t.cc", need=("g++",))
day("more", "valgrind", sh("valgrind --error-exitcode=9 --leak-check=full ./l", "definitely lost: 9 bytes", 9), setup="printf '#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(9); p = 0; return 0; }\n' >l.c && gcc -g -o l l.c", need=("valgrind", "gcc"))
day("more", "venv-with-a-package", sh("python3 -m venv --system-site-packages v && v/bin/python -c 'import app; print(app.x)'", "5"), setup="mkdir app && echo 'x = 5' >app/__init__.py", need=("python3",))
day("more", "node-server", task("n", "node -e \"require('http').createServer((q, r) => r.end('from node $TAG')).listen($PORT, '127.0.0.1')\""), sh(f"{LATE} http://127.0.0.1:$PORT/", "from node"),
    sh("pkill -f \"[f]rom node $TAG\"; sleep 0.5; curl -sS --max-time 3 http://127.0.0.1:$PORT/", "refused|connect", 7), need=("node", "curl", "pkill"))
day("more", "tmux", sh("tmux -L $TAG new-session -d -s w 'sleep 60' && tmux -L $TAG ls", "w: 1 windows"), sh("tmux -L $TAG send-keys -t w x && tmux -L $TAG kill-server && echo gone", "gone"), need=("tmux",))
day("more", "npm-run-with-arguments", sh("npm run -s show -- one two", "one two"), sh("npm test 2>&1 | tail -1; exit ${PIPESTATUS[0]}", "", 1),
    setup="echo '{\"name\": \"t\", \"version\": \"1.0.0\", \"scripts\": {\"show\": \"echo\", \"test\": \"exit 1\"}}' >package.json", need=("npm",))
# A second day: longer work in more calls
day("git", "bisect-by-hand", sh("git bisect start && git bisect bad && git bisect good HEAD~4", "Bisecting"), sh("grep -q 'line 4' a.txt && git bisect bad || git bisect good"),
    sh("while git bisect log | tail -1 | grep -qv 'first bad'; do grep -q 'line 4' a.txt && git bisect bad || git bisect good; done; git bisect log", "first bad commit.*change 4"), sh("git bisect reset", "main"), setup=REPO)
day("git", "rebase-conflict-continue", sh("git checkout -q -b topic HEAD~2 && echo mine >>a.txt && git commit -qam mine"), sh("git rebase main", "CONFLICT", 1),
    sh("git checkout --theirs a.txt && git add a.txt && GIT_EDITOR=true git rebase --continue", "Success"), sh("git log --format=%s -1; git status --porcelain", r"mine\s*\Z"), setup=REPO)
day("git", "rebase-edit-stop", sh("GIT_SEQUENCE_EDITOR=\"sed -i 1s/pick/edit/\" git rebase -i HEAD~2", "amend"), sh("git commit --amend -m reworded && git rebase --continue", "Successfully"),
    sh("git log --format=%s -2", "change 5\nreworded"), setup=REPO)
day("git", "worktree-beside", sh("git worktree add ../tree-$TAG -b other"), sh("cd ../tree-$TAG && echo o >o && git add o && git commit -qm o"), sh("git -C ../work log --format=%s -1 other; cd ../work && pwd", "^o"),
    sh("git worktree list | wc -l; git worktree remove --force ../tree-$TAG && git worktree list | wc -l", "2\n1"), setup=REPO)
day("git", "submodule", sh("git -c protocol.file.allow=always submodule add ./lib.git lib", "Cloning"), sh("git commit -qm sub && git submodule status", "lib"), sh("git status --porcelain", NOTHING),
    sh("git show --stat --format= HEAD", "gitmodules"), setup=REPO + " && git init -q --bare lib.git && git push -q lib.git main && echo lib.git >.gitignore && git add .gitignore && git commit -qm i")
day("git", "stash-parts", sh("echo one >>a.txt; echo new >new; git stash push -u -m wip && git stash list", "wip"), sh("git stash show -p stash@{0}", r"\+one"), sh("git stash branch again && git status --porcelain", "M a.txt.*new"), setup=REPO)
day("git", "apply-and-check", sh("git diff HEAD~1 >../p-$TAG; git apply -R --check ../p-$TAG && git apply -R ../p-$TAG && tail -1 a.txt", "line 4"), sh("git diff --stat; git checkout a.txt; rm ../p-$TAG", "a.txt"), setup=REPO)
day("git", "am-three-way", sh("git format-patch -2 --stdout >p.mbox && git checkout -q -b old HEAD~2 && git am -3 p.mbox", "Applying: change 5"), sh("git diff main --stat", NOTHING), setup=REPO)
day("git", "bare-remote-and-hooks-of-it", sh("git clone -q --bare . r.git && git remote add r ./r.git && git push -q r HEAD:refs/heads/up"), sh("git ls-remote r up", "refs/heads/up"), sh("git fetch -q r && git branch -u r/up && git status -sb", r"r/up"),
    sh("git push r --delete up && git fetch -p r", "deleted"), setup=REPO)
day("git", "notes-reflog-gc", sh("git notes add -m noted && git log -1", "noted"), sh("git reset -q --hard HEAD~3 && git reset -q --hard ORIG_HEAD && git reflog | wc -l", "[7-9]"), sh("git gc -q --prune=now && git fsck 2>&1 | grep -c error", "0", 1), setup=REPO)
day("git", "attributes-and-lfs-like-filter", sh("printf '*.txt text eol=crlf\\n' >.gitattributes && git add . && git commit -qm attr && rm a.txt && git checkout a.txt && file a.txt", "CRLF"), setup=REPO, need=("file",))
day("git", "sparse-and-clean", sh("mkdir d && touch d/x y && git clean -ndx", "Would remove d/"), sh("git clean -fdxq && ls", "^a.txt$"), sh("git mv a.txt b.txt && git commit -qm mv && git log --follow --oneline b.txt | wc -l", "^6"), setup=REPO)
day("git", "commit-from-an-editor-script", sh("printf '#!/bin/sh\\necho \"by script\" >\"$1\"\\n' >ed.sh && chmod +x ed.sh && echo e >>a.txt && GIT_EDITOR=./ed.sh git commit -a && git log -1 --format=%s", "by script"), setup=REPO)
day("git", "local-hook-runs", sh("mkdir -p .git/hooks && printf '#!/bin/sh\\necho checked >&2; ! grep -q TODO a.txt\\n' >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"), sh("echo TODO >>a.txt && git commit -am todo", "checked", 1),
    sh("sed -i /TODO/d a.txt && echo fine >>a.txt && git commit -qam fine && git log -1 --format=%s", "checked.*fine"), sh("git commit -q --allow-empty --no-verify -m skipped && rm .git/hooks/pre-commit && git commit -q --allow-empty -m last && git log --oneline | wc -l", "^8"), setup=REPO)
day("c", "make-many", sh("for i in $(seq 40); do echo \"int f$i(void) { return $i; }\" >f$i.c; done; make -j8 -s && ls lib.a && nm lib.a | grep -c ' T '", "^40"), sh("touch f3.c && make -j8 | grep -c 'gcc'", "^1"),
    setup="printf 'SRC := $(wildcard *.c)\\nlib.a: $(SRC:.c=.o)\\n\\tar rcs $@ $^\\n%%.o: %%.c\\n\\tgcc -c $< -o $@\\n' >Makefile", need=("gcc", "make"))
day("c", "gdb-core-of-a-crash", sh("gcc -g -o c c.c; ulimit -c unlimited; gdb -q -batch -ex run -ex 'info locals' -ex 'generate-core-file core.x' ./c", "SIGSEGV.*n = 5"), sh("gdb -q -batch -ex bt ./c core.x", "main"),
    setup="echo 'int main(void) { int n = 5; *(volatile int *)0 = n; }' >c.c", need=("gdb", "gcc"))
day("c", "mmap-and-shared-memory", sh("gcc -o m m.c && ./m", "shared 7"), need=("gcc",),
    setup="printf '#include <sys/mman.h>\\n#include <sys/wait.h>\\n#include <fcntl.h>\\n#include <stdio.h>\\n#include <unistd.h>\\nint main(void) { int fd = shm_open(\"/w\", O_CREAT | O_RDWR, 0600); ftruncate(fd, 4096); int *p = mmap(0, 4096, 3, MAP_SHARED, fd, 0); if (!fork()) { *p = 7; _exit(0); } wait(0); printf(\"shared %%d\\\\n\", *p); shm_unlink(\"/w\"); return 0; }\\n' >m.c")
day("python", "venv-and-a-wheel", sh("python3 -m venv v && v/bin/python -m pip install --no-index -q ./demo-1.0-py3-none-any.whl && v/bin/python -c 'import demo; print(demo.x)'", "^5"), sh(". v/bin/activate && pip list 2>/dev/null", r"demo +1.0"), sh("v/bin/demo-run", "ran 5"), need=("python3",),
    setup="mkdir demo-1.0.dist-info && echo 'x = 5\ndef run(): print(\"ran\", x)' >demo.py && printf 'Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n' >demo-1.0.dist-info/METADATA && printf 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n' >demo-1.0.dist-info/WHEEL"
    " && printf '[console_scripts]\\ndemo-run = demo:run\\n' >demo-1.0.dist-info/entry_points.txt && printf 'demo.py,,\\ndemo-1.0.dist-info/METADATA,,\\ndemo-1.0.dist-info/WHEEL,,\\ndemo-1.0.dist-info/entry_points.txt,,\\ndemo-1.0.dist-info/RECORD,,\\n' >demo-1.0.dist-info/RECORD"
    " && python3 -m zipfile -c demo-1.0-py3-none-any.whl demo.py demo-1.0.dist-info")
day("python", "user-install", sh("python3 -m pip install --user --no-index --no-build-isolation --break-system-packages -q ./pkg 2>&1 | tail -2; python3 -c 'import mine; print(mine.y)'", "^8"), sh("cd / && python3 -c 'import mine; print(mine.y)'", "^8"), need=("python3",),
    setup="python3 -c 'import setuptools, wheel' && mkdir pkg && echo 'y = 8' >pkg/mine.py && printf 'from setuptools import setup\\nsetup(name=\"mine\", version=\"1\", py_modules=[\"mine\"])\\n' >pkg/setup.py")
day("python", "inotify-mmap-sockets", sh("python3 t.py", "event.*mapped.*pair.*epoll"), need=("python3",),
    setup="cat >t.py <<'E'\nimport ctypes, mmap, os, select, socket\nlibc = ctypes.CDLL(None)\nfd = libc.inotify_init(); libc.inotify_add_watch(fd, b'.', 0x100); open('made', 'w').close()\nprint('event' if os.read(fd, 999) else '')\nf = open('m', 'wb+'); f.truncate(8192); m = mmap.mmap(f.fileno(), 8192); m[:3] = b'abc'; m.flush(); print('mapped', open('m').read(3))\na, b = socket.socketpair(); a.send(b'x'); print('pair', b.recv(1))\ne = select.epoll(); e.register(b, select.EPOLLIN); a.send(b'y'); print('epoll', len(e.poll(1)))\nE\n")
day("python", "server-with-health-polling", sh("printf 'import http.server, time\\ntime.sleep(1)\\nclass H(http.server.BaseHTTPRequestHandler):\\n    def do_GET(s):\\n        s.send_response(200); s.end_headers(); s.wfile.write(b\"healthy\")\\n    def log_message(s, *a): print(*a, flush=True)\\nimport os\\nhttp.server.HTTPServer((\"127.0.0.1\", int(os.environ[\"PORT\"])), H).serve_forever()\\n' >srv.py; nohup python3 srv.py >srv.log 2>&1 & echo $! >srv.pid"),
    sh("for i in $(seq 60); do curl -sf http://127.0.0.1:$PORT/health && break; sleep 0.25; done", "healthy"), sh("grep -c health srv.log; ps -p $(cat srv.pid) -o args=", "srv.py"), sh("kill $(cat srv.pid); for i in $(seq 40); do kill -0 $(cat srv.pid) 2>/dev/null || break; sleep 0.1; done; curl -s http://127.0.0.1:$PORT/", "", 7), need=("python3", "curl"))
day("node", "http-server-and-watch", task("w", "node --watch-path=. s.js 2>&1"), sh(f"{LATE} http://127.0.0.1:$PORT/", "one"), sh("sed -i s/one/two/ s.js; for i in $(seq 80); do curl -s http://127.0.0.1:$PORT/ | grep two && break; sleep 0.25; done", "two"), stop("w"),
    setup="echo \"require('http').createServer((q, r) => r.end('one')).listen(+process.env.PORT, '127.0.0.1')\" >s.js", need=("node", "curl"))
day("node", "workspaces-and-bin", sh("npm install --offline --no-audit --no-fund", "added|up to date"), sh("npx --offline hello you", "hello you"), sh("npm run -s all", "hello all"), sh("npm ls", "hello@1.0.0"),
    setup="mkdir -p packages/hello && echo '{\"name\": \"root\", \"private\": true, \"workspaces\": [\"packages/*\"], \"scripts\": {\"all\": \"hello all\"}}' >package.json && echo '{\"name\": \"hello\", \"version\": \"1.0.0\", \"bin\": {\"hello\": \"h.js\"}}' >packages/hello/package.json && printf '#!/usr/bin/env node\\nconsole.log(\"hello\", process.argv[2])\\n' >packages/hello/h.js && chmod +x packages/hello/h.js", need=("npm",))
day("go", "module-and-test", sh("go mod init example.invalid/m && go build ./... && go vet ./...", "go.mod"), sh("go test ./...", "ok .*m"), sh("go run . && go test -run Nothing -v . | tail -1", "sum 5"),
    setup="printf 'package main\\nimport \"fmt\"\\nfunc add(a, b int) int { return a + b }\\nfunc main() { fmt.Println(\"sum\", add(2, 3)) }\\n' >m.go && printf 'package main\\nimport \"testing\"\\nfunc TestAdd(t *testing.T) { if add(1, 2) != 3 { t.Fatal() } }\\n' >m_test.go", need=("go",))
day("rust", "library-and-program", sh("cargo build --offline 2>&1 && ./target/debug/app", "twice 42"), sh("cargo test --offline 2>&1 | grep 'test result'", "ok. 1 passed"),
    setup="mkdir -p src lib/src && printf '[package]\\nname = \"app\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n[dependencies]\\nlib = { path = \"lib\" }\\n' >Cargo.toml && printf '[package]\\nname = \"lib\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' >lib/Cargo.toml && echo 'pub fn twice(x: i32) -> i32 { 2 * x }' >lib/src/lib.rs && printf 'fn main() { println!(\"twice {}\", lib::twice(21)); }\\n#[test] fn t() { assert_eq!(lib::twice(2), 4); }\\n' >src/main.rs", need=("cargo",))
day("java", "maven-offline", sh("mvn -o -q validate && echo valid", "valid"), sh("mkdir -p ~/.m2/repository/g && touch ~/.m2/repository/g/x && ls ~/.m2/repository", "g"), setup="printf '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version></project>' >pom.xml", need=("mvn",))
day("shell", "job-control", sh("set -m; sleep 30 & jobs -l; kill %1; wait %1; echo code $?", "Running.*code 143"), sh("sleep 0.1 & disown %1; jobs | wc -l", "^0"), sh("sleep 5 & sleep 0.2 & wait -n; echo first $?; kill %1", "first 0"), sh("(exit 3) & wait $!; echo $?", "^3"))
day("shell", "coproc-fifo-exec", sh("coproc bc_like { while read -r a b; do echo $((a + b)); done; }; echo 2 3 >&${bc_like[1]}; read -r x <&${bc_like[0]}; echo $x", "^5"), sh("mkfifo q; exec 3<>q; echo through >&3; read -r y <&3; echo $y; exec 3>&-", "through"), sh("exec 4>log4; echo x >&4; exec 4>&-; cat log4", "x"))
day("shell", "signals-and-traps", sh("trap 'echo int' INT; trap 'echo usr' USR1; kill -INT $$; kill -USR1 $$; echo on", "int\nusr\non"), sh("bash -c 'trap \"\" TERM; kill $$; echo lives'", "lives"), sh("timeout -s INT 1 bash -c 'trap \"echo caught; exit 9\" INT; while :; do sleep 0.1; done'; echo $?", "caught\n124"), sh("( trap 'echo bye' EXIT; exit 4 ); echo $?", "bye\n4"))
day("shell", "locale-and-time-zone", sh("TZ=Asia/Tokyo date -d @0 +%H:%M; TZ=UTC date -d @0 +%H:%M", "09:00\n00:00"), sh("LC_ALL=C sort <<<$'b\\nB\\na' | tr -d '\\n'", "Bab"), sh("printf '%s' 'ä€' | wc -m; locale | grep -c LANG", "2"), sh("export TZ=America/New_York"), sh("date -d @0 +%Y-%H", "1969-19"))
day("shell", "umask-and-modes", sh("umask 077; touch p; stat -c %a p", "600"), sh("install -m 755 p q && stat -c %a q; mkdir -m 1777 s && stat -c %a s", "755\n1777"), sh("chmod u+x,g=r p && ls -l p", "-rwxr-----"), sh("touch r && chmod 000 r && rm -f r && ls", "p\nq"))
day("shell", "ulimits", sh("ulimit -n 100; ulimit -n; python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])'", "100\n100"), sh("(ulimit -v 500000; python3 -c 'x = bytearray(900000000)'); echo $?", "MemoryError"), sh("ulimit -f 1; head -c 5000 /dev/zero >big; echo $?", "1"), need=("python3",))
day("shell", "heredocs-and-expansion", sh("cat <<-E\n\tindented $((6 * 7))\n\tE\n", "^indented 42"), sh("x='a b'; f() { printf '<%s>' \"$@\"; }; f $x \"$x\" ${x// /-} \"${x^^}\"", "<a><b><a b><a-b><A B>"), sh("mapfile -t l < <(seq 3); echo ${#l[@]} ${l[-1]}; declare -A m=([k]=v); echo ${m[k]}; [[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}", "3 3\nv\nc"))
day("shell", "cron-like-loop", task("c", "for i in 1 2 3 4 5; do date +%s >>beat; sleep 0.5; done; echo loop over"), sh("for i in $(seq 100); do [ \"$(wc -l <beat 2>/dev/null)\" = 5 ] && break; sleep 0.1; done; wc -l <beat", "5"), shows("c", "loop over"))
day("shell", "tmux-work", sh("tmux -L $TAG new-session -d -s w -x 80 -y 24 && tmux -L $TAG send-keys -t w 'echo made-$((40 + 2)) >out; cat out' Enter"), sh("for i in $(seq 50); do grep -q made-42 out 2>/dev/null && break; sleep 0.1; done; sleep 0.3; tmux -L $TAG capture-pane -p -t w", "made-42"), sh("tmux -L $TAG new-window -t w && tmux -L $TAG list-windows -t w | wc -l", "2"), sh("tmux -L $TAG kill-server; cat out", "made-42"), need=("tmux",))
day("shell", "flock-across-calls", task("h", "flock l sleep 60"), sh("for i in $(seq 50); do flock -n l true || break; sleep 0.1; done; flock -n l echo free || echo taken", "taken"), stop("h"), sh("flock -w 10 l echo free", "free"), need=("flock",))
day("shell", "xargs-find-parallel", sh("mkdir -p 't/a b' && touch 't/a b/x y' t/z && find t -type f -print0 | xargs -0 -P4 -I{} sh -c 'echo \"[{}]\"' | sort", r"\[t/a b/x y\]"), sh("find t -depth -name '* *' -execdir bash -c 'mv \"$1\" \"${1// /_}\"' _ {} \\; ; find t | sort", "t/a_b/x_y"), sh("seq 100 | xargs -n 10 -P 4 | wc -l; seq 5 | xargs -I{} false; echo $?", "10\n123"))
day("data", "jq-and-csv", sh("jq -r '.[] | [.n, .v] | @csv' d.json", '"a",1'), sh("jq 'map(.v) | add' d.json; jq -e '.[] | select(.n == \"zz\")' d.json; echo $?", "3\n4"), sh("jq '.[0].v = 9' d.json >t && mv t d.json && jq .[0].v d.json", "9"), setup="echo '[{\"n\": \"a\", \"v\": 1}, {\"n\": \"b\", \"v\": 2}]' >d.json", need=("jq",))
day("data", "sqlite-import-and-dump", sh("printf 'a,1\\nb,2\\n' >x.csv; sqlite3 d.db -cmd '.mode csv' 'create table t (n, v)' '.import x.csv t' 'select sum(v) from t'", "3"), sh("sqlite3 d.db .dump | sqlite3 e.db && sqlite3 e.db 'select count(*) from t'", "2"), sh("sqlite3 d.db 'pragma journal_mode = wal; begin; update t set v = 7; commit; select distinct v from t'", "wal\n7"), need=("sqlite3",))
day("data", "rsync-and-tar", sh("mkdir -p s/d && seq 9 >s/d/f && ln -s d/f s/l && rsync -a --delete s/ t/ && diff -r s t && echo equal", "equal"), sh("echo x >s/n && rsync -ain s/ t/", r">f\+\+\+\+\+\+\+\+\+ n"), sh("tar -C s -cJf a.tar.xz . && tar -tvJf a.tar.xz", "l -> d/f"), sh("mkdir u && tar -xpf a.tar.xz -C u && stat -c %F u/l", "symbolic link"), need=("rsync", "xz"))
day("data", "redis", sh("redis-server --port $PORT --bind 127.0.0.1 --daemonize yes --save '' --dir $PWD --logfile r.log --pidfile $PWD/r.pid && sleep 0.7 && redis-cli -p $PORT set k v", "OK"), sh("redis-cli -p $PORT get k; kill -0 $(cat r.pid) && echo alive", "v.*alive"), sh("redis-cli -p $PORT shutdown nosave; sleep 0.3; redis-cli -p $PORT ping", "refused", 1), need=("redis-server",))
day("files", "unicode-and-odd-names", sh("touch 'naïve 文.txt' $'line\\nbreak' -- -dash && ls | wc -l", "4"), sh("git init -q . && git add -A && git commit -qm odd && git ls-files -z | tr '\\0' '\\n' | grep -c .", "4"), sh("rm -- -dash $'line\\nbreak' && mv naïve* plain && ls", "^plain$"))
day("files", "links-and-loops", sh("ln -s loop loop; cat loop", "Too many levels", 1), sh("mkdir d && ln -s ../d d/self && find -L d 2>&1 | grep -c loop; readlink -f d/self/self", "1.*/d$"), sh("ln -s /nowhere dangling; [ -L dangling ] && ! [ -e dangling ] && cp -P dangling c && readlink c", "/nowhere"), sh("cp -al d e && ls e; realpath --relative-to=d/x .", "self"))
day("files", "large-and-sparse", sh("truncate -s 1500M big && dd if=/dev/urandom of=big bs=1M count=1 seek=1024 conv=notrunc status=none && du -m big | cut -f1", "^[12]$"), sh("cp --sparse=always big copy && cmp big copy && stat -c %s copy", "1572864000"), sh("fallocate -l 10M pre && stat -c %b pre && rm big copy pre", "20480"))
day("files", "extended-attributes-and-times", sh("touch -d '2001-02-03 04:05:06.789' f && stat -c %y f && cp -p f g && stat -c %Y f g | uniq | wc -l", "04:05:06.789.*1"), sh("[ g -nt f ] || [ f -nt g ] || echo same age; touch g; [ g -nt f ] && echo newer", "same age\nnewer"))
day("system", "proc-of-oneself", sh("cat /proc/self/comm; tr '\\0' ' ' </proc/self/cmdline; ls /proc/self/fd | wc -l", "cat"), sh("grep -c processor /proc/cpuinfo; grep MemTotal /proc/meminfo; head -1 /proc/stat; cat /proc/sys/kernel/pid_max /proc/version | head -2", "MemTotal.*cpu"), sh("ls -l /proc/$$/exe /proc/$$/cwd; cat /proc/$PPID/comm 2>/dev/null; awk '/VmRSS/' /proc/self/status", "bash.*VmRSS"))
day("system", "groups-of-processes", sh("setsid sh -c 'echo $$ >leader; sleep 60 & sleep 60' & until [ -s leader ]; do sleep 0.05; done; p=$(cat leader); pgrep -g $p | wc -l; kill -- -$p; for i in $(seq 60); do pgrep -g $p -r R,S,D >/dev/null || break; sleep 0.05; done; pgrep -g $p -r R,S,D || echo gone", "^[23]\ngone"), sh("nice -n 5 sh -c 'nice'; renice -n 7 -p $$ >/dev/null && nice; taskset -p $$ | wc -l", "5\n7\n1"), need=("pgrep", "taskset"))
day("system", "install-without-sudo", sh("mkdir -p ~/.local/bin && printf '#!/bin/sh\\necho own tool\\n' >~/.local/bin/own-$TAG && chmod +x ~/.local/bin/own-$TAG"), sh("PATH=$HOME/.local/bin:$PATH own-$TAG", "own tool"), sh("export PATH=$HOME/.local/bin:$PATH"), sh("own-$TAG", "own tool"))
