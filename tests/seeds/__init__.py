"""Facts of the five designs that nacre's profiles come from, one row each; test_seeds.py tries them all.

A row is (fact, door, call, expected):

    explain   a request of `nacre explain --batch`: decided, not run
    call      (tool, parameters[, options]): `nacre call`, the result in the format of the tool
    mcp       (tool, arguments): a call of one MCP session; "text" and "is_error"
    schema    a tool, or (tool, options): name, description and input schema, as `nacre call --list` or an MCP
              client gets them
    shell     the body of POST /shell, or (body, token); the answer with its "status"
    run       the body of POST /v1/run
    policy    a profile: the values of its keys, as `nacre policy show` tells them
    nacre     words of a command line; "code", "out", "err"

`expected` maps a path into the answer ("stats.0.name") to what stands there: a value, "~regex" (found in
it), "!~regex" (not found), "=NAME~regex" (kept for later rows as {NAME}), or ABSENT. "{work}" is the
workspace. Rows of one file run in their order.
"""
ABSENT = object()

SEEDS = ("safe_shell", "run_command", "shell", "run_shell", "bash")
