"""Container engines: made ready before their clients run, and as the box of a command.

Against a real dockerd and a real podman, which the test starts and ends (engines.py).
"""
import json
import os
import pathlib
import tarfile
import shutil
import re
import signal
import stat
import subprocess
import time
import unittest
import unittest.mock

import engines
import helpers
from helpers import DEADLINE, NACRE, NacreTest, descendants, wait_until
from serving import ServeTest

ENGINES = None
WHY_NOT = None


def setUpModule():
    global ENGINES, WHY_NOT
    if os.geteuid() != 0:
        WHY_NOT = "root: dockerd and podman with networks of their own are started by root only"
    elif not engines.have("dockerd", "docker", "podman", "runc", "docker-init"):
        WHY_NOT = "docker: dockerd, docker, podman or runc is not installed (tools/setup test)"
    else:
        ENGINES = engines.Engines()
        unittest.addModuleCleanup(ENGINES.close)
        ENGINES.start("d")
        wait_until("dockerd answers", lambda: ping(ENGINES.docker_socket) == b"OK")
        for engine in ("docker", "podman"):
            ENGINES.import_image(engine)


def ping(path):
    done = subprocess.run(["curl", "-sS", "--max-time", "2", "--unix-socket", str(path), "http://d/_ping"],
                          capture_output=True, check=False) if engines.have("curl") else None
    if done is not None:
        return done.stdout
    return b"OK" if subprocess.run([engines.CLIENT, "-H", f"unix://{path}", "version"], check=False,
                                   capture_output=True).returncode == 0 else b""


def connections(path):
    """Sockets of this name: the one that listens, and those that wait to be taken."""
    with open("/proc/net/unix", encoding="utf-8") as file:
        return sum(line.rstrip("\n").endswith(f" {path}") for line in file)


def stop_all(pid):
    """Podman's service is a child of what was started, or not yet. Whose parent is stopped has no new brothers."""
    stopped = []
    while more := [p for p in (pid, *(p.pid for p in descendants(pid))) if p not in stopped]:
        for each in more:
            os.kill(each, signal.SIGSTOP)
        stopped += more
    return stopped


class EngineTest(NacreTest):
    BOXED = True

    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        # The engines are below this process, too, and are not what a command leaves behind.
        patch = unittest.mock.patch.object(helpers, "descendants", self.others)
        patch.start()
        self.addCleanup(patch.stop)
        super().setUp()
        self.env.update(ENGINES.environment())

    @staticmethod
    def others(root=None):
        theirs = {ENGINES.pid, *(p.pid for p in descendants(ENGINES.pid))}
        return [p for p in descendants(root) if p.pid not in theirs]

    def policy(self, text, name="engine"):
        path = self.dir / f"{name}.yaml"
        path.write_text(f"profile: {name}\ninherits: bash\ndefault: allow\n{text}")
        return ["--policy", str(path)]


class Readiness(EngineTest):
    def docker(self, socket=None, more="", ping=2, start=30):
        """The engine has so many seconds to answer and to start: more of them on a busy machine."""
        times = f"ping_timeout: {engines.at_most(60, ping)}, start_timeout: {engines.at_most(600, start)}"
        return self.policy(f"docker: {{allow: true, endpoint: 'unix://{socket or ENGINES.docker_socket}', {times}{more}}}\n")

    def impatient(self, socket=None):
        """For an engine that will not answer."""
        return self.policy(f"docker: {{allow: true, endpoint: 'unix://{socket or ENGINES.docker_socket}', "
                           "ping_timeout: 300ms, start_timeout: 1s}\n")

    def refused(self, policy, *words):
        """The command does not run, nacre says why, and the reason has these words."""
        result = self.run_json(*policy, "--", "docker", "version")
        self.assertEqual((result["exit_code"], result["stdout"]), (125, ""), result)
        for word in words:
            self.assertIn(word, result["reason"])
        return result

    def test_ready_and_a_container_through_the_readiness_path(self):
        result = self.run_json(*self.docker(), "-c", f"docker run --rm --network none {engines.IMAGE} "
                               "/bin/tool words 'a b' && docker ps -aq | wc -l")
        self.assertEqual(result["stdout"], "[a b]\n0\n", result)
        self.assertEqual(result["notices"], [])

    def test_what_is_stopped_ends_its_container(self):
        popen = self.start("--json", *self.docker(), "--", "docker", "run", "--rm", "--init", "--network", "none",
                           engines.IMAGE, "/bin/tool", "wait")
        wait_until("it runs", lambda: any((d / "out").exists() for d in self.task_dirs()))
        popen.send_signal(signal.SIGINT)
        self.assertEqual(json.loads(self.finish(popen).out)["exit_code"], 130)
        wait_until("nothing is left", lambda: not ENGINES.containers("docker"))

    def test_a_time_limit_and_what_the_engine_still_has(self):
        """A container that does not heed the signal goes on without its client, and is removed. Others
        that were made in the meantime are left alone, and named."""
        ENGINES.call("docker", "tag", engines.IMAGE, "nacre-test/other:1")
        for limit in ("5s", "30s", "300s"):  # within which there are both
            popen = self.start("--json", *self.docker(), "--timeout", limit, "--grace", "100ms", "--", "docker", "run", "--rm",
                               "--network", "none", engines.IMAGE, "/bin/tool", "stay")
            wait_until("it runs", lambda: ENGINES.containers("docker") or popen.poll() is not None)
            other = ENGINES.call("docker", "run", "-d", "--network", "none", "nacre-test/other:1", "/bin/tool", "wait").strip()
            if popen.poll() is None:
                break
            ENGINES.call("docker", "rm", "-f", other)
        try:
            result = json.loads(self.finish(popen).out)
            self.assertEqual((result["exit_code"], result["stdout"]), (124, "staying\n"), result)
            notice = [n for n in result["notices"] if "1 container was made since the start" in n]
            self.assertEqual(len(notice), 1, result)
            self.assertIn(other[:12], notice[0])
            wait_until("only the other is left", lambda: len(ENGINES.containers("docker")) == 1)
        finally:
            ENGINES.call("docker", "rm", "-f", other)
        self.assertEqual(ENGINES.containers("docker"), [])

    def test_a_time_limit_ends_a_container_that_does_not_heed_it(self):
        for limit in ("4s", "30s", "300s"):  # within which it has to say that it stays
            result = self.run_json(*self.docker(), "--timeout", limit, "--grace", "100ms", "--", "docker", "run", "--rm",
                                   "--network", "none", engines.IMAGE, "/bin/tool", "stay")
            if result["stdout"]:
                break
        self.assertEqual((result["exit_code"], result["stdout"]), (124, "staying\n"), result)
        self.assertIn("1 container of the command went on without its client, and was removed",
                      result["notices"][0])
        wait_until("nothing is left", lambda: not ENGINES.containers("docker"))

    def test_absent(self):
        self.refused(self.docker(self.dir / "no.sock"), "is not running", "systemctl start docker", "docker.start")

    def test_no_socket_at_all(self):
        (self.dir / "file.sock").write_text("")
        self.refused(self.docker(self.dir / "file.sock"), "has ended and left its socket")

    def test_hung_is_told_within_the_bound(self):
        """One that has been there for longer than a start takes, and takes connections only."""
        wait_until("the socket is old enough", lambda: time.time() - ENGINES.docker_socket.stat().st_mtime > 1)
        policy = self.impatient()
        os.kill(ENGINES.pids["d"], signal.SIGSTOP)
        try:
            began = time.monotonic()
            self.refused(policy, "does not answer", "restart")
            self.assertLess(time.monotonic() - began, 0.3 + 5 + helpers.SLACK)
        finally:
            os.kill(ENGINES.pids["d"], signal.SIGCONT)
        wait_until("it answers again", lambda: ping(ENGINES.docker_socket) == b"OK")
        self.assertEqual(self.run_json(*self.docker(), "--", "docker", "ps", "-q")["exit_code"], 0)

    def test_forbidden(self):
        socket = self.dir / "closed.sock"
        os.link(ENGINES.docker_socket, socket)
        result = self.run_json(*self.docker(socket), "--", "docker", "version", **self.as_ordinary_user())
        self.assertEqual(result["exit_code"], 125)
        self.assertIn("does not let this user in", result["reason"])

    def expect_starting(self, name, socket, policy):
        """Its socket is there, and it cannot answer yet: it is waited for."""
        pid = ENGINES.start(name)
        wait_until("the socket is made", lambda: socket.exists() and stat.S_ISSOCK(socket.stat().st_mode))
        stopped = stop_all(pid)
        popen = self.start("--json", *policy, "--", "docker", "version", "--format", "{{.Server.Version}}")
        keeper = self.find("nacre-keeper", popen.pid)
        wait_until("nacre has asked twice", lambda: connections(socket) > 2)
        self.assertIsNone(popen.poll())
        for each in stopped:
            os.kill(each, signal.SIGCONT)
        result = json.loads(self.finish(popen).out)
        self.assertEqual(result["exit_code"], 0, result)
        self.assertRegex(result["stdout"], r"^\d+\.")
        self.assertIn("was starting", result["notices"][0])
        self.expect_gone(keeper.pid)

    def test_starting_stale_and_started_once_for_all(self):
        socket = ENGINES.dir / "e.sock"
        policy = self.docker(socket, ping=0.5, start=40)
        self.expect_starting("e", socket, policy)
        # Stale: nobody listens at the socket that it left.
        ENGINES.kill("e")
        self.refused(policy, "has ended and left its socket", "systemctl start docker")
        # Started: by the first of many callers, for all of them.
        log = self.dir / "starts"
        script = self.dir / "start.sh"
        words = " ".join(engines.command_of(ENGINES.dir, "e"))
        script.write_text(f"#!/bin/sh\necho start >>{log}\nexec {words}\n")
        script.chmod(0o755)
        policy = self.docker(socket, f", start: ['{script}']", ping=0.5, start=40)
        callers = [self.start("--json", *policy, "--", "docker", "ps", "-q") for _ in range(4)]
        try:
            results = [json.loads(self.finish(c).out) for c in callers]
            self.assertEqual([r["exit_code"] for r in results], [0] * 4, results)
            self.assertEqual(log.read_text(), "start\n")
            self.assertTrue(any("it was started" in n for r in results for n in r["notices"]), results)
        finally:
            # It outlives its keeper, and falls to this process.
            pid = int((ENGINES.dir / "e.pid").read_text())
            os.kill(pid, signal.SIGTERM)
            self.expect_gone(pid, seconds=30)

    def test_a_start_that_fails_is_told_to_all_and_tried_once(self):
        log = self.dir / "starts"
        script = self.dir / "start.sh"
        script.write_text(f"#!/bin/sh\necho start >>{log}\nsleep 1\necho 'no such unit' >&2\nexit 3\n")
        script.chmod(0o755)
        policy = self.docker(self.dir / "no.sock", f", start: ['{script}']")
        callers = [self.start("--json", *policy, "--", "docker", "ps") for _ in range(4)]
        for caller in callers:
            reason = json.loads(self.finish(caller).out)["reason"]
            self.assertIn("ended with exit code 3: no such unit", reason)
        self.assertEqual(log.read_text(), "start\n")

    def test_waiting_can_be_stopped(self):
        policy = self.docker(self.dir / "no.sock", ", start: [sleep, '30']")
        popen = self.start("--json", *policy, "--", "docker", "ps")
        sleeper = self.find("sleep")
        popen.send_signal(signal.SIGINT)
        result = json.loads(self.finish(popen).out)
        self.assertEqual((result["exit_code"], result["reason"]), (130, "stopped"))
        os.kill(sleeper.pid, signal.SIGKILL)  # the operator's command is not nacre's to end

    def test_the_time_limit_bounds_the_wait(self):
        policy = self.docker(self.dir / "no.sock", ", start: ['true']")
        began = time.monotonic()
        result = self.run_json(*policy, "--timeout", "1s", "--", "docker", "ps")
        self.assertIn("was not ready in time: it is absent", result["reason"])
        self.assertLess(time.monotonic() - began, 1 + 5 + helpers.SLACK)

    def test_without_the_permission_there_is_no_socket(self):
        policy = self.policy(f"docker: {{endpoint: 'unix://{ENGINES.docker_socket}'}}\n")
        result = self.run_json(*policy, "-c", f"docker -H unix://{ENGINES.docker_socket} ps")
        self.assertNotEqual(result["exit_code"], 0)
        self.assertIn("docker: {allow: true}", result["notices"][0])
        result = self.run_json(*policy, "-c", f"ls {ENGINES.docker_socket}")
        self.assertNotEqual(result["exit_code"], 0)
        [notice] = result["notices"]  # only about where it lies: ls is no client
        self.assertIn("sandbox.readable or sandbox.writable", notice)
        self.assertNotIn("docker: {allow", notice)

    def test_a_project_cannot_allow_it(self):
        (self.work / ".nacre.yaml").write_text("docker: {allow: true}\n")
        result = self.run_json(*self.policy(""), "--", "true")
        self.assertIn("'docker.allow' would loosen the profile", result["reason"])

    def test_a_request_does_not_choose_the_engine(self):
        other = self.dir / "other.sock"
        os.link(ENGINES.docker_socket, other)
        result = self.run_json(*self.docker(), "--env", f"DOCKER_HOST=unix://{other}", "-c",
                               f"echo $DOCKER_HOST; docker ps -q; ls {other}")
        self.assertTrue(result["stdout"].startswith(f"unix://{ENGINES.docker_socket}\n"), result)
        self.assertIn("No such file", result["stderr"])

    def test_what_is_no_socket_is_not_granted(self):
        """Nor what a link in the workspace leads to."""
        secret = self.dir / "secret"
        secret.mkdir()
        (secret / "key").write_text("secret\n")
        result = self.run_json(*self.docker(secret), "-c", f"cat {secret}/key")
        self.assertNotEqual(result["exit_code"], 0)
        link = self.work / "d.sock"
        link.symlink_to(ENGINES.docker_socket)
        result = self.run_json(*self.docker(link), "-c", f"ls {ENGINES.docker_socket}; docker ps")
        self.assertNotIn(f"{ENGINES.docker_socket}\n", result["stdout"])

    def test_the_socket_cannot_be_changed(self):
        mode = ENGINES.docker_socket.stat().st_mode
        result = self.run_json(*self.docker(), "-c", f"chmod 666 {ENGINES.docker_socket}; "
                               f"rm -f {ENGINES.docker_socket}; docker ps -q")
        self.assertEqual(result["exit_code"], 0, result)
        self.assertEqual(ENGINES.docker_socket.stat().st_mode, mode)

    def test_without_namespaces(self):
        policy = self.policy(f"docker: {{allow: true, endpoint: '{ENGINES.docker_socket}'}}\n"
                             "sandbox: {mode: landlock}\n")
        result = self.run_json(*policy, "--", "docker", "ps", "-q")
        self.assertEqual(result["exit_code"], 0, result)
        self.assertIn("landlock", result["sandbox"]["layers"])

    def test_where_a_context_or_the_environment_says(self):
        settings = self.dir / ".docker"
        meta = settings / "contexts" / "meta" / "0123"
        meta.mkdir(parents=True)
        (settings / "config.json").write_text('{"currentContext": "mine"}')
        (meta / "meta.json").write_text(json.dumps(
            {"Name": "mine", "Endpoints": {"docker": {"Host": f"unix://{ENGINES.docker_socket}"}}}))
        policy = self.policy("docker: {allow: true}\n")
        self.assertEqual(self.run_json(*policy, "--", "docker", "ps", "-q")["exit_code"], 0)
        result = self.run_json(*policy, "--", "docker", "ps", "-q", env={"DOCKER_HOST": "unix:///nowhere/d.sock"})
        self.assertIn("unix:///nowhere/d.sock is not running", result["reason"])
        result = self.run_json(*policy, "--", "docker", "ps", env={"DOCKER_HOST": "tcp://127.0.0.1:1"})
        self.assertIn("cannot be reached from the box, which has no network", result["reason"])
        result = self.run_json(*policy, "--", "docker", "ps", env={"DOCKER_HOST": "unix:/x.sock"})
        self.assertIn("'unix:/x.sock', from DOCKER_HOST, is no address of an engine", result["reason"])
        # What the agent can write does not say it.
        result = self.run_json(*policy, "--workspace", str(self.dir), "--", "docker", "ps", cwd=self.dir)
        self.assertNotEqual(result["exit_code"], 0)

    def test_podman_and_its_service(self):
        policy = self.policy(f"docker: {{allow: true, endpoint: 'unix://{ENGINES.podman_socket}'}}\n")
        result = self.run_json(*policy, "--", "podman", "ps", "-q")
        self.assertIn("podman service", result["reason"])
        self.assertIn("start podman.socket", result["reason"])
        self.expect_starting("podman", ENGINES.podman_socket,
                             self.docker(ENGINES.podman_socket, ping=0.5, start=40))
        result = self.run_json(*policy, "-c", f"podman run --rm --network none --ulimit nofile=512:512 "
                               f"--ulimit nproc=512:512 {engines.IMAGE} /bin/tool words x && podman ps -aq")
        self.assertEqual((result["stdout"], result["exit_code"]), ("[x]\n", 0), result)
        result = self.run_json(*policy, "--", "docker", "version", "--format", "{{.Server.Version}}")
        self.assertEqual(result["exit_code"], 0, result)
        self.expect_other_states_of_podman()

    def expect_other_states_of_podman(self):
        socket = ENGINES.podman_socket
        policy = self.impatient(socket)
        closed = self.dir / "closed.sock"
        os.link(socket, closed)
        wait_until("the socket is old enough", lambda: time.time() - socket.stat().st_mtime > 1)
        os.kill(ENGINES.pids["podman"], signal.SIGSTOP)
        try:
            self.refused(policy, "does not answer")
        finally:
            os.kill(ENGINES.pids["podman"], signal.SIGCONT)
        ENGINES.kill("podman")
        wait_until("nobody listens", lambda: ping(socket) == b"")
        self.refused(policy, "has ended and left its socket")
        result = self.run_json(*self.docker(closed), "--", "docker", "version", **self.as_ordinary_user())
        self.assertEqual(result["exit_code"], 125)
        self.assertIn("does not let this user in", result["reason"])

    def test_explain_and_doctor_tell(self):
        policy = self.docker()
        done = subprocess.run([NACRE, "explain", *policy, "--", "docker", "ps"], cwd=self.work, env=self.env,
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertIn("reaches outside the sandbox", done.stdout)
        done = subprocess.run([NACRE, "explain", "--json", *policy, "--", "docker", "ps"], cwd=self.work,
                              env=self.env, capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(json.loads(done.stdout)["docker"]["allow"], True)
        done = subprocess.run([NACRE, "doctor", "--json"], cwd=self.work, capture_output=True, text=True, timeout=DEADLINE,
                              env={**self.env, "DOCKER_HOST": f"unix://{ENGINES.docker_socket}"}, check=False)
        docker = {e["client"]: e for e in json.loads(done.stdout)["engines"]}["docker"]
        self.assertEqual((docker["state"], docker["installed"]), ("ready", True))
        self.assertTrue(docker["engine"].startswith("Docker/"))


class Inside(EngineTest):
    """nacre itself in a container as docker makes it, where there are no namespaces to be had."""
    TOOLS = ("bash", "cat", "id", "ls", "sleep", "touch")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if WHY_NOT:
            return
        root = ENGINES.dir / "inside"
        for name in ("usr/bin", "usr/lib", "usr/lib64", "etc", "tmp", "work"):
            (root / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64"):
            (root / name).symlink_to(f"usr/{name}")
        (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/tmp:/bin/bash\n")
        (root / "etc/shadow").write_text("the secret of root\n")
        (root / "etc/shadow").chmod(0o600)
        for name in ("work", "tmp"):
            (root / name).chmod(0o1777)
        for program in (NACRE, *(shutil.which(tool) for tool in cls.TOOLS)):
            shutil.copy(program, root / "usr/bin")
            libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
            for library in re.findall(r"/\S+", libraries):
                (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, root / library[1:])
        with tarfile.open(ENGINES.dir / "inside.tar", "w") as tar:
            tar.add(root, ".")
        ENGINES.call("docker", "import", str(ENGINES.dir / "inside.tar"), "nacre-test/inside:1")

    def nacre_inside(self, user, *words):
        return ENGINES.call("docker", "run", "--rm", "--network", "none", "--user", user, "-w", "/work",
                           "-e", "NACRE_STATE_DIR=/tmp/state", "nacre-test/inside:1", "/usr/bin/nacre", *words, check=False)

    def test_commands_are_confined_by_what_is_left(self):
        for user in ("1000:1000", "0:0"):
            result = json.loads(self.nacre_inside(
                user, "run", "--json", "-c", "touch made && ls && cat /etc/shadow; touch /tmp/state/x /usr/bin/y"))
            self.assertEqual(result["stdout"], "made\n", result)
            self.assertEqual(result["sandbox"]["tier"], "landlock")
            self.assertIn("namespaces", result["sandbox"]["missing"])
            for layer in ("landlock", "seccomp", "network", "no_new_privs"):
                self.assertIn(layer, result["sandbox"]["layers"])
            self.assertEqual(result["stderr"].count("Permission denied"), 3, result["stderr"])

    def test_a_time_limit_holds(self):
        result = json.loads(self.nacre_inside("1000:1000", "run", "--json", "--timeout", "500ms", "-c",
                                              "sleep 60 & sleep 60"))
        self.assertEqual((result["exit_code"], result["timed_out"]), (124, True))

    def test_doctor_says_what_to_do(self):
        answer = json.loads(self.nacre_inside("1000:1000", "doctor", "--json"))
        self.assertEqual((answer["tier"], answer["container"]), ("landlock", True))
        self.assertIn("--security-opt seccomp", self.nacre_inside("1000:1000", "doctor"))


class Container:
    """Each engine runs all of these."""
    ENGINE = None

    def box(self, more="", image=engines.IMAGE, endpoint=None):
        container = f"container: {{engine: {self.ENGINE}, image: '{image}'}}"
        return self.policy(f"docker: {{endpoint: 'unix://{endpoint or ENGINES.docker_socket}'}}\n"
                           f"sandbox: {{mode: container, {container}{more}}}\n", f"box-{self.ENGINE}")

    def run_tool(self, *words, more="", options=(), **how):
        return self.run_json(*self.box(more), *options, "--", "/bin/tool", *words, **how)

    def expect_nothing_left(self):
        wait_until("no container is left", lambda: not ENGINES.containers(self.ENGINE), 30)

    def test_words_streams_input_and_place_are_unchanged(self):
        words = ["a b", "", "'\"$x`", "-v", "--rm", "ü\n\t*"]
        (self.work / "sub").mkdir()
        result = self.run_tool("words", *words, "+", "who", "+", "copy", "+", "both",
                               options=["--cwd", "sub", "--input", "one\ntwo\n"])
        self.assertEqual(result["stdout"], "".join(f"[{w}]\n" for w in words) +
                         f"0 0 {self.work}/sub\none\ntwo\nout\n", result)
        self.assertEqual(result["stderr"], "err\n")
        self.assertEqual(result["sandbox"]["tier"], "container")
        self.assertIn("container", result["sandbox"]["layers"])
        self.expect_nothing_left()

    def test_the_proxy_of_the_operator_stays_with_the_client(self):
        """Clients put it in by themselves: podman from its environment, docker from its file. A password may be in it."""
        proxy = "http://operator:s3cret@proxy.invalid:3128"
        config = pathlib.Path(self.env["HOME"]) / ".docker"
        config.mkdir(parents=True, exist_ok=True)
        (config / "config.json").write_text(json.dumps({"proxies": {"default": {
            "httpProxy": proxy, "httpsProxy": proxy, "ftpProxy": proxy, "allProxy": proxy, "noProxy": proxy}}}))
        names = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
        result = self.run_tool("environ", env={name: proxy for word in names for name in (word, word.upper())})
        self.assertEqual(result["exit_code"], 0, result)
        self.assertNotIn("s3cret", result["stdout"])

    def test_environment_is_unchanged_and_not_the_hosts(self):
        given = {"PLAIN": "x", "BLANKS": " a  b ", "LINES": "one\ntwo", "QUOTES": "\"'\\n#$HOME", "EMPTY": ""}
        options = [o for name, value in given.items() for o in ("--env", f"{name}={value}")]
        result = self.run_tool("environ", options=options, env={"SECRET_TOKEN": "t"})
        seen = dict(e.split("=", 1) for e in result["stdout"].split("\n--\n")[:-1])
        self.assertEqual({name: seen.get(name) for name in given}, given)
        self.assertNotIn("SECRET_TOKEN", seen)
        self.assertEqual(seen["HOME"], "/tmp")
        self.assertFalse(set(seen) & {"DOCKER_HOST", "NACRE_STATE_DIR", "CONTAINERS_CONF"})

    def test_the_wall(self):
        (self.work / "file").write_text("inside\n")
        (self.dir / "secret").write_text("outside\n")
        result = self.run_tool("show", str(self.work / "file"), "+", "show", str(self.dir / "secret"), "+", "write",
                               "/bin/x", "+", "write", "/tmp/x", "+", "network", "+", "show", "/proc/self/status",
                               "+", "forks", more=", limits: {processes: 30}")
        self.assertTrue(result["stdout"].startswith("inside\nread ENOENT\nwrite EROFS\nwrite ok\nlo\n"), result)
        self.assertIn("CapEff:\t0000000000000000", result["stdout"])
        self.assertIn("NoNewPrivs:\t1", result["stdout"])
        self.assertTrue(result["stdout"].endswith("bounded\n"), result)
        self.assertNotIn("unbounded", result["stdout"])

    def test_what_is_protected_or_secret_in_the_workspace(self):
        (self.work / ".git" / "hooks").mkdir(parents=True)
        (self.work / ".git" / "config").write_text("")
        (self.work / "keys").mkdir()
        (self.work / "keys" / "id").write_text("secret\n")
        (self.work / "token").write_text("secret\n")
        result = self.run_tool("write", ".git/hooks/pre-commit", "+", "rename", ".git", "git", "+", "list", "keys",
                               "+", "show", "token", "+", "write", "new", "+", "write", ".nacre.yaml",
                               more=f", secrets: ['{self.work}/keys', '{self.work}/token']")
        self.assertEqual(result["stdout"], "write EROFS\nrename EBUSY\nwrite ok\nwrite ok\n", result)
        self.assertIn(".nacre.yaml, which is protected", result["notices"][0])
        self.assertFalse((self.work / ".nacre.yaml").exists())
        self.assertEqual((self.work / "keys" / "id").read_text(), "secret\n")
        # What the engine would follow is not run.
        os.rmdir(self.work / ".git" / "hooks")
        os.symlink("/etc", self.work / ".git" / "hooks")
        self.assertIn("symbolic link", self.run_tool("exit", "0")["reason"])

    def test_memory(self):
        for _ in range(10):  # docker tells in most cases, podman does not
            result = self.run_tool("memory", more=", limits: {memory: 32M}")
            self.assertEqual(result["exit_code"], 137, result)
            self.assertIn("limit on memory", " ".join(result["notices"]), result)
            self.expect_nothing_left()
            if self.ENGINE == "podman" or result["sandbox"]["limit_hit"]:
                break
        if self.ENGINE == "docker":
            self.assertEqual(result["sandbox"]["limit_hit"], "memory")

    def test_a_background_task_is_stopped(self):
        task = self.run_tool("wait", options=["--background"])["task_id"]
        wait_until("it runs", lambda: b"waiting" in (self.tasks / task / "out").read_bytes())
        self.assertEqual(ENGINES.containers(self.ENGINE), [f"nacre-{task}"])
        subprocess.run([NACRE, "stop", task], env=self.env, check=True, capture_output=True, timeout=DEADLINE)
        self.expect_nothing_left()
        self.others_are_gone()

    def others_are_gone(self):
        wait_until("no process is left", lambda: not self.others(), 30)

    def start_and_find(self):
        popen = self.start("--json", *self.box(), "--", "/bin/tool", "wait")
        keeper = self.find("nacre-keeper", popen.pid)
        wait_until("it runs", lambda: any((d / "out").exists() and (d / "out").stat().st_size
                                          for d in self.task_dirs()))
        return popen, keeper

    def test_a_killed_keeper_leaves_no_container(self):
        popen, keeper = self.start_and_find()
        os.kill(keeper.pid, signal.SIGKILL)
        self.assertEqual(json.loads(self.finish(popen).out)["exit_code"], 125)
        self.expect_nothing_left()
        self.others_are_gone()

    def test_a_time_limit_ends_the_container(self):
        for limit in ("5s", "30s"):
            result = self.run_tool("stay", options=["--timeout", limit, "--grace", "200ms"])
            if result["stdout"]:
                break
        self.assertTrue(result["timed_out"], result)
        self.assertEqual((result["exit_code"], result["stdout"]), (124, "staying\n"))
        self.expect_nothing_left()

    def test_the_owner_of_the_workspace(self):
        os.chown(self.work, 1234, 1235)
        result = self.run_tool("who", "+", "write", "made")
        self.assertTrue(result["stdout"].startswith("1234 1235 "), result)
        self.assertIn("unprivileged", result["sandbox"]["layers"])
        made = (self.work / "made").stat()
        self.assertEqual((made.st_uid, made.st_gid), (1234, 1235))

    def test_a_workspace_of_any_name(self):
        for name in ("-a  b:c=d\\ü$x`'{{.x}}#* ", "a,b", 'a"b', "a\nb"):
            work = self.dir / name
            work.mkdir()
            result = self.run_tool("write", "made", "+", "who", options=["--workspace", str(work)], cwd=work)
            if set(name) & set(',"\n'):
                self.assertEqual(result["exit_code"], 125)
                self.assertIn("a comma, a quote or a line break", result["reason"])
                continue
            self.assertEqual(result["stdout"], f"write ok\n0 0 {work}\n", result)
            self.assertTrue((work / "made").exists())
        self.expect_nothing_left()

    def test_output_is_bounded(self):
        (self.work / "large").write_bytes(b"0123456789abcde\n" * (1 << 14))
        result = self.run_tool("show", "large", "+", "exit", "7")
        self.assertEqual((result["exit_code"], result["stdout_bytes"], result["truncated"]), (7, 16 << 14, True), result)
        self.assertLess(len(result["stdout"]), 31000)
        with open(result["output_file"], "rb") as file:
            self.assertEqual(file.read(), (self.work / "large").read_bytes())

    def test_an_image_that_is_missing(self):
        result = self.run_json(*self.box(image="nacre-test/none:1"), "--", "/bin/tool", "exit", "0")
        self.assertEqual(result["exit_code"], 125)
        self.assertIn("the image 'nacre-test/none:1' is not there", result["reason"])
        self.assertIn(f"{self.ENGINE} pull nacre-test/none:1", result["reason"])
        self.expect_nothing_left()

    def test_a_terminal(self):
        result = self.run_tool("terminal", options=["--pty"])
        self.assertRegex(result["output"] if "output" in result else result["stdout"], r"^1 1 \d+")
        self.expect_nothing_left()


class DockerContainer(Container, EngineTest):
    ENGINE = "docker"

    def test_an_engine_that_is_down(self):
        result = self.run_json(*self.box(endpoint=self.dir / "no.sock"), "--", "/bin/tool", "exit", "0")
        self.assertEqual(result["exit_code"], 125)
        self.assertIn("is not running: start it with", result["reason"])

    def test_exit_codes_and_what_cannot_be_executed(self):
        for code in (3, 125):
            self.assertEqual(self.run_tool("exit", str(code))["exit_code"], code)
        result = self.run_json(*self.box(), "--", "/bin/none")
        self.assertEqual(result["exit_code"], 127, result)
        # A line goes to the bash of the image, as everywhere.
        result = self.run_json(*self.box(), "-c", "a; b")
        self.assertEqual(result["stdout"].split("\n")[:2], ["[/bin/bash]", "[--noprofile]"])

    def test_what_cannot_be_enforced_is_not_run(self):
        self.assertIn("'landlock', which a container does not have",
                      self.run_tool("exit", "0", more=", require: [landlock]")["reason"])
        self.assertIn("cannot be enforced in a container",
                      self.run_tool("exit", "0", more=", exec: listed")["reason"])
        self.assertIn("not UTF-8", self.run_json(*self.box(), "--", "/bin/tool", "words", b"\xff")["reason"])
        self.assertIn("not UTF-8", self.run_tool("environ", options=["--env", b"X=\xff"])["reason"])

    def test_what_keeper_and_guard_leave_is_swept(self):
        popen, keeper = self.start_and_find()
        guard = self.find("nacre-guard", popen.pid)
        for pid in (guard.pid, keeper.pid):
            os.kill(pid, signal.SIGKILL)
        self.finish(popen)
        self.assertEqual(len(ENGINES.containers(self.ENGINE)), 1)
        (self.state / "containers-swept").unlink(missing_ok=True)
        self.assertEqual(self.run_tool("exit", "0")["exit_code"], 0)
        self.expect_nothing_left()


class NamedWorkspace(EngineTest, ServeTest):
    """A container for a workspace that a request names: the mounts are planned by the root, as for a box of nacre's own."""
    TCP = False

    def test_it_keeps_what_its_root_protects(self):
        for name in (".git/hooks", "sub/hooks", "sub/.vscode", "plain"):
            (self.work / name).mkdir(parents=True)
        (self.work / ".git/config").write_text("[core]\n\thooksPath = sub/hooks\n")
        self.write_config("boxed.yaml", f"profile: boxed\ninherits: bash\ndefault: allow\ndocker: {{endpoint: 'unix://{ENGINES.docker_socket}'}}\n"
                                        f"sandbox: {{mode: container, container: {{engine: docker, image: '{engines.IMAGE}'}}}}\n")
        server = self.serve("--profile", "boxed", unix=self.dir / "boxed.sock")
        for workspace, path, written in ((".git/hooks", "pre-commit", False), ("sub/hooks", "pre-commit", False), ("sub/.vscode", "x", False),
                                         (".git", "hooks/pre-commit", False), ("sub", "hooks/pre-commit", False), ("sub", ".vscode/x", False),
                                         ("sub", "file", True), ("plain", "file", True)):
            with self.subTest(workspace, path=path):
                answer = self.post("/v1/run", {"argv": ["/bin/tool", "write", str(self.work / workspace / path)], "workspace": workspace},
                                   unix=True, server=server)
                self.assertEqual((self.work / workspace / path).exists(), written, answer)
        wait_until("no container is left", lambda: not ENGINES.containers("docker"), 30)


class PodmanContainer(Container, EngineTest):
    ENGINE = "podman"


if __name__ == "__main__":
    unittest.main()
