"""What the tests of the clients share: a server with two tokens, told to the clients' own tests by the environment."""
import re
import subprocess

from helpers import DEADLINE, ROOT
from serving import ServeTest

CLIENTS = ROOT / "clients"
EXAMPLES = ROOT / "examples"


class ClientTest(ServeTest):
    """A server on a unix socket and on loopback, whose profiles are those of the five designs."""
    BOXED = True
    ARGS = ("--profile", "bash", "--profile", "readonly", "--profile", "verify", "--profile", "workspace", "--profile", "universal")

    def setUp(self):
        super().setUp()
        self.boss = self.make_token("boss", "--approve", "--audit")
        # Compilers keep what they made; everything else has nothing of the person who runs the tests.
        self.client_env = {
            **self.env, "NACRE_TEST_UNIX": self.server.unix, "NACRE_TEST_URL": f"http://127.0.0.1:{self.server.port}",
            "NACRE_TEST_TOKEN": self.token(), "NACRE_TEST_APPROVER": self.boss, "NACRE_TEST_WORKSPACE": str(self.work),
            "NACRE_TEST_PATIENCE": str(int(DEADLINE)), "PYTHONDONTWRITEBYTECODE": "1",
        }

    def program(self, *argv, cwd=None, env=None, input=None):
        """What a program prints on both of its streams; it must succeed."""
        popen = subprocess.Popen([str(word) for word in argv], cwd=cwd or self.dir, env={**self.client_env, **(env or {})}, text=True,
                                 stdin=subprocess.PIPE if input else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.started.append(popen)
        out, _ = popen.communicate(input, timeout=DEADLINE * 4)
        self.assertEqual(popen.returncode, 0, f"{argv}\n{out}")
        return out

    def default_doors(self):
        """The environments of a program that names no server: the socket in the state directory, and a URL with a token."""
        door = self.state / "nacre.sock"
        if not door.is_symlink():
            door.symlink_to(self.server.unix)
        return {}, {"NACRE_URL": self.client_env["NACRE_TEST_URL"], "NACRE_TOKEN": self.boss}


def blocks(path, language):
    """The blocks of code of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
