"""Real container engines for the tests: a dockerd and a podman of their own, in one directory.

An engine starts processes that fall to whoever is nearest. So a process of its own stands between
the test and the engines: it is a child subreaper, has all of them below it, and ends and removes
everything when the test closes its pipe, or is killed.

The image is one static program, made here from C: nothing is fetched.
"""
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

from patience import DEADLINE, Deadline, load_factor

IMAGE = "nacre-test/tool:1"
PR_SET_CHILD_SUBREAPER = 36

TOOL = r"""
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static int is(const char *word, const char *verb) { return strcmp(word, verb) == 0; }

static int say(const char *what, int r)
{
	printf("%s %s\n", what, r < 0 ? strerrorname_np(errno) : "ok");
	return 0;
}

static int show(const char *path)
{
	char bytes[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return say("read", -1);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		(void)!write(1, bytes, n);
	return 0;
}

static int list(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			puts(d->d_name);
	return dir ? 0 : say("list", -1);
}

static void nothing(int signal) { (void)signal; }

static int act(int c, char **v)
{
	if (is(v[0], "words"))
		for (int i = 1; i < c; i++)
			printf("[%s]\n", v[i]);
	else if (is(v[0], "environ"))
		for (char **e = environ; *e; e++)
			printf("%s\n--\n", *e);
	else if (is(v[0], "copy"))
		for (int b; (b = getchar()) != EOF;)
			putchar(b);
	else if (is(v[0], "exit"))
		return atoi(v[1]);
	else if (is(v[0], "who"))
		printf("%u %u %s\n", getuid(), getgid(), getcwd(NULL, 0));
	else if (is(v[0], "show"))
		return show(v[1]);
	else if (is(v[0], "list"))
		return list(v[1]);
	else if (is(v[0], "write"))
		return say("write", open(v[1], O_WRONLY | O_CREAT, 0644));
	else if (is(v[0], "mkdir"))
		return say("mkdir", mkdir(v[1], 0755));
	else if (is(v[0], "rename"))
		return say("rename", rename(v[1], v[2]));
	else if (is(v[0], "both"))
		return fputs("out\n", stdout), fputs("err\n", stderr), 0;
	else if (is(v[0], "terminal")) {
		struct winsize s = {0};
		ioctl(1, TIOCGWINSZ, &s);
		printf("%d %d %d\n", isatty(0), isatty(1), s.ws_col);
	} else if (is(v[0], "network")) {
		struct if_nameindex *n = if_nameindex();
		for (; n && n->if_name; n++)
			puts(n->if_name);
	} else if (is(v[0], "forks")) {
		int n = 0;
		for (pid_t p = 1; n < 500 && (p = fork()) >= 0; n++)
			if (p == 0)
				for (;;)
					pause();
		printf("%s\n", n < 500 ? "bounded" : "unbounded");
	} else if (is(v[0], "memory"))
		for (;;)
			memset(malloc(1 << 20), 1, 1 << 20);
	else if (is(v[0], "wait")) { /* ends by SIGTERM at once */
		puts("waiting");
		fflush(stdout);
		pause();
	} else if (is(v[0], "stay")) { /* does not */
		signal(SIGTERM, nothing);
		puts("staying");
		fflush(stdout);
		for (;;)
			pause();
	} else
		return 99;
	return 0;
}

int main(int c, char **v)
{
	const char *name = strrchr(v[0], '/');

	if (name && is(name, "/bash")) { /* what bash is called with */
		for (int i = 0; i < c; i++)
			printf("[%s]\n", v[i]);
		return 0;
	}
	/* Several acts with a "+" between; the status is that of the last. */
	int r = 98;
	for (int i = 1, n; i < c; i += n + 1) {
		for (n = 0; i + n < c && !is(v[i + n], "+");)
			n++;
		r = act(n, v + i);
		fflush(stdout);
	}
	return r;
}
"""


def have(*programs):
    return all(shutil.which(program, path=PATH) for program in programs)


PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CLIENT = "/usr/bin/docker"  # of the same package as the engine


class Engines:
    """The test's end: where everything is, and the pipe that keeps it alive."""

    def __init__(self):
        # Short: the address of a socket has 107 bytes.
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nacre-eng-", dir="/tmp"))
        self.docker_socket = self.dir / "d.sock"
        self.podman_socket = self.dir / "p.sock"
        self.process = subprocess.Popen([sys.executable, __file__, str(self.dir)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pids = {}

    @property
    def pid(self):
        return self.process.pid

    def ask(self, *words):
        """One order to the process in between, and its answer."""
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer.startswith("ok"):
            raise AssertionError(f"{words}: {answer}")
        return answer[3:]

    def start(self, name):
        self.pids[name] = int(self.ask("start", name))
        return self.pids[name]

    def kill(self, name):
        """As a crash would: the socket stays."""
        self.ask("kill", name)
        del self.pids[name]

    def environment(self):
        """What podman needs to keep to its own files."""
        return {"CONTAINERS_CONF": str(self.dir / "containers.conf"),
                "CONTAINERS_STORAGE_CONF": str(self.dir / "storage.conf")}

    def call(self, engine, *words, check=True):
        program = [CLIENT, "-H", f"unix://{self.docker_socket}"] if engine == "docker" else ["podman"]
        return subprocess.run([*program, *words], capture_output=True, text=True, timeout=DEADLINE, check=check,
                              env={"PATH": PATH, "HOME": str(self.dir), **self.environment()}).stdout

    def import_image(self, engine):
        self.call(engine, "import", str(self.dir / "image.tar"), IMAGE)

    def containers(self, engine):
        return self.call(engine, "ps", "--all", "--format", "{{.Names}}").split()

    def close(self):
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.process.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def at_most(most, seconds):
    """A time limit of a profile that is not to strike, however busy the machine is."""
    return f"{int(1000 * min(most, seconds * load_factor()))}ms"


# From here on: the process in between.

def make_image(where):
    root = where / "root"
    (root / "bin").mkdir(parents=True)
    (root / "tmp").mkdir()
    source = where / "tool.c"
    source.write_text(TOOL)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-static", "-Os", "-w", "-o", str(root / "bin" / "tool"), str(source)],
                   check=True)
    shutil.copy(root / "bin" / "tool", root / "bin" / "bash")
    with tarfile.open(where / "image.tar", "w") as tar:
        tar.add(root, arcname=".")


def write_settings(where):
    # crun knows no machine with both versions of control groups; systemd may not be running.
    (where / "containers.conf").write_text(
        f'[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "runc"\n'
        f'tmp_dir = "{where}/pt"\n')
    (where / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{where}/pr"\nrunroot = "{where}/pn"\n')


def command_of(where, name):
    """No bridge and no firewall: the machine's own network is left alone."""
    if name == "podman":
        return ["podman", "system", "service", "--time=0", f"unix://{where}/p.sock"]
    return ["dockerd", "-H", f"unix://{where}/{name}.sock", "--data-root", f"{where}/{name}-data", "--exec-root",
            f"{where}/{name}-exec", "--pidfile", f"{where}/{name}.pid", "--bridge=none", "--iptables=false",
            "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]


def start(where, name):
    environment = {"PATH": PATH, "HOME": str(where), "CONTAINERS_CONF": f"{where}/containers.conf",
                   "CONTAINERS_STORAGE_CONF": f"{where}/storage.conf"}
    with open(where / f"{name}.log", "ab") as log:
        return subprocess.Popen(command_of(where, name), env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, start_new_session=True)


def descendants():
    table = {}
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                with open(f"/proc/{entry}/stat", "rb") as file:
                    text = file.read()
                table.setdefault(int(text[text.rindex(b")") + 2:].split()[1]), []).append(int(entry))
        except OSError:
            pass
    found, todo = [], [os.getpid()]
    while todo:
        children = table.get(todo.pop(), [])
        found += children
        todo += children
    return found


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_all(running):
    """First as they would like it, then by force: all that is below this process is theirs."""
    for process in running.values():
        for number in (signal.SIGCONT, signal.SIGTERM):
            try:
                os.kill(process.pid, number)
            except ProcessLookupError:
                pass
    end = time.monotonic() + Deadline(10)
    while descendants() and time.monotonic() < end:
        reap()
        if time.monotonic() > end - 5:
            for pid in descendants():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        time.sleep(0.02)


def unmount(where):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = [line.split()[4] for line in file]
    for point in sorted((p for p in points if p.startswith(f"{where}/")), reverse=True):
        subprocess.run(["umount", "--lazy", point], check=False)


def obey(where, running, words):
    if words[0] == "start":
        running[words[1]] = start(where, words[1])
        return f"ok {running[words[1]].pid}"
    if words[0] == "kill":
        process = running.pop(words[1])
        below = [pid for pid in descendants() if os.path.exists(f"/proc/{pid}/comm")
                 and pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().find(f"/{words[1]}-exec/".encode()) >= 0]
        process.kill()
        process.wait()
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        # The next dockerd takes a containerd that nobody has reaped for one that lives, and waits for it in vain.
        end = time.monotonic() + Deadline(30)
        while any(os.path.exists(f"/proc/{pid}") for pid in below) and time.monotonic() < end:
            reap()
            time.sleep(0.01)
        return "ok"
    return "what?"


def main():
    where = pathlib.Path(sys.argv[1])
    running = {}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0:
        sys.exit("no subreaper")
    make_image(where)
    write_settings(where)
    try:
        for line in sys.stdin:
            try:
                answer = obey(where, running, line.split())
            except (OSError, KeyError) as error:
                answer = f"failed: {error!r}"
            print(answer, flush=True)
    finally:
        end_all(running)
        unmount(where)
        shutil.rmtree(where, ignore_errors=True)


if __name__ == "__main__":
    main()
