"""What coding agents do on a working day: each scenario is a few calls of a shell tool.

A call has the exit code that it must have and a pattern that its output must match. $TAG is a word that nobody else
has, $PORT a free port; setup runs before the first call, outside of any box.
"""
import collections

Call = collections.namedtuple("Call", "kind command code out name talk")
Scenario = collections.namedtuple("Scenario", "group name calls setup need")

SCENARIOS = []


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
day("c", "leak-sanitizer", sh("gcc -g -fsanitize=address -o l l.c && ./l", "detected memory leaks", 1), need=("gcc",),
    setup="printf '#include <stdlib.h>\\nvoid *volatile p;\\nint main(void) { p = malloc(9); p = 0; return 0; }\\n' >l.c")
day("c", "address-sanitizer", sh("gcc -g -fsanitize=address -o o o.c && ./o", "heap-buffer-overflow", 1), need=("gcc",),
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
day("more", "node-server", task("n", "node -e \"require('http').createServer((q, r) => r.end('from node')).listen($PORT, '127.0.0.1')\""), sh(f"{LATE} http://127.0.0.1:$PORT/", "from node"),
    sh("pkill -f '[f]rom node'; sleep 0.5; curl -sS --max-time 3 http://127.0.0.1:$PORT/", "refused|connect", 7), need=("node", "curl", "pkill"))
day("more", "tmux", sh("tmux -L $TAG new-session -d -s w 'sleep 60' && tmux -L $TAG ls", "w: 1 windows"), sh("tmux -L $TAG send-keys -t w x && tmux -L $TAG kill-server && echo gone", "gone"), need=("tmux",))
day("more", "npm-run-with-arguments", sh("npm run -s show -- one two", "one two"), sh("npm test 2>&1 | tail -1; exit ${PIPESTATUS[0]}", "", 1),
    setup="echo '{\"name\": \"t\", \"version\": \"1.0.0\", \"scripts\": {\"show\": \"echo\", \"test\": \"exit 1\"}}' >package.json", need=("npm",))
