"""The scenarios that do not come out in nacre as they do natively, why, and what to do instead.

This is the one place where a difference is admitted, and docs/workday.md shows it: a test compares the two. A
scenario that is listed here and comes out the same is a failure, too: take it off the list.
"""
HELD = "what a command writes at a protected path is held until a person approves it"

DIFFERS = {
    "git/editor-settings-new": (HELD, "nacre approve puts them in place"),
    "git/hook": ("hooks of a repository are read-only for commands", "run the hook's command by hand"),
    "git/local-hook-runs": ("hooks of a repository are read-only for commands", "run the hook's command by hand"),
    "system/sudo": ("a command cannot gain privileges", "install into the workspace"),
}


def table():
    """The differences as docs/workday.md shows them."""
    lines = ["| scenario | why it differs | what to do |", "|---|---|---|"]
    lines += [f"| {name} | {why} | {remedy} |" for name, (why, remedy) in DIFFERS.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
