"""Experts of an application, each with run_command: every agent may use the shell, and a writer only what writers need.

    nacre serve --profile universal --profile writer
    python3 expert_agents.py WORKSPACE
"""
import dataclasses
import sys
from typing import Optional

import nacre


@dataclasses.dataclass
class Expert:
    """An agent's configuration: nacre's profile says what it may run."""
    name: str
    profile: str

    def run_command(self, client: nacre.Client, command: str, working_dir: Optional[str] = None, timeout: Optional[int] = None) -> str:
        """The tool: the text that the model reads."""
        request = nacre.Request(command, profile=self.profile, cwd=working_dir, session=f"job-{self.name}",
                                timeout_ms=timeout * 1000 if timeout else None)
        try:
            result = client.run(request)
        except nacre.ApiError as error:
            return f"Error: {error.message}"
        if result.refused:
            return f"Error: {result.reason}"
        return f"Exit code: {result.exit_code}\n{result.text}"


def main(workspace: str) -> None:
    client = nacre.Client()
    coder, writer = Expert("coder", "universal"), Expert("writer", "writer")
    with open(f"{workspace}/paper.md", "w", encoding="utf-8") as file:
        file.write("# Pearls\n\nNacre grows in layers.\n")
    for expert, command in ((writer, "wc -w paper.md"), (writer, "python3 -c 'print(1)'"), (coder, "python3 -c 'print(1)'"),
                            (coder, "ls | wc -l"), (coder, "sudo reboot"), (coder, "du -sh ."), (coder, "sleep 30")):
        print(f"{expert.name}$ {command}")
        print(expert.run_command(client, command, timeout=2 if "sleep" in command else None).rstrip())


if __name__ == "__main__":
    main(sys.argv[1])
