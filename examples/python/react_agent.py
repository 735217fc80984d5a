"""A ReAct agent's shell tool. The model is played by a list of actions, so that this runs anywhere.

    python3 react_agent.py WORKSPACE
"""
import asyncio
import sys

import nacre

ACTIONS = ["ls -la", "grep -r TODO .", "rm -rf /", "ls | cat", "echo $(cat /etc/passwd)"]


async def main(workspace: str) -> None:
    tool = nacre.RunShellTool(nacre.AsyncClient(), workspace)
    print(f"Tool: {tool.name}: {tool.description}")
    for command in ACTIONS:
        print(f"Action: {tool.name}({command!r})")
        result = await tool.execute(command)
        if result.success:
            print("Observation:\n" + result.output.rstrip())
        else:
            print("Observation: refused: " + str(result.error))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
