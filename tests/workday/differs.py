"""The scenarios that do not come out in nacre as they do natively, why, and what to do instead.

This is the one place where a difference is admitted, and docs/workday.md shows it: a test compares the two. A
scenario that is listed here and comes out the same is a failure, too: take it off the list.
"""
ROOMS = "each command has a /tmp, /dev/shm, home and loopback of its own"
HELD = "protected paths of the workspace cannot be changed by a command"
LEFT = "what a command leaves running ends with it"

DIFFERS = {
    "shell/tmp-across-calls": (ROOMS, "keep files in the workspace"),
    "shell/home-across-calls": (ROOMS, "keep files in the workspace"),
    "shell/cd-home": (ROOMS, "stay in the workspace"),
    "shell/shared-memory-across-calls": (ROOMS, "keep files in the workspace"),
    "shell/order-of-streams": ("the two streams come back one after the other", "2>&1 in the command, or output.mode: merged"),
    "server/client-in-a-later-call": (ROOMS, "start server and client in one command"),
    "server/ampersand": (LEFT, "run_in_background"),
    "server/nohup": (LEFT, "run_in_background"),
    "server/kill-of-an-earlier-task": ("each command has process ids of its own", "TaskStop"),
    "git/config-user": (HELD, "git -c user.email=..., or the environment of git"),
    "git/remote-add": (HELD, "name the URL in the command"),
    "git/tracked-settings": (HELD, "ask a person to switch the branch"),
    "git/editor-settings-new": (HELD, "ask a person to make the file"),
    "git/hook": (HELD, "run the hook's command by hand"),
    "files/beside-the-workspace": ("a command writes in the workspace only", "sandbox.writable"),
    "system/sudo": ("a command cannot gain privileges", "install into the workspace"),
}


def table():
    """The differences as docs/workday.md shows them."""
    lines = ["| scenario | why it differs | what to do |", "|---|---|---|"]
    lines += [f"| {name} | {why} | {remedy} |" for name, (why, remedy) in DIFFERS.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
