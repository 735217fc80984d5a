"""An agent in one file, with Python's standard library: a model that speaks the chat API, and nacre as its only tool.

    nacre serve --listen 127.0.0.1:7878 --workspace ~/project &
    export NACRE_URL=http://127.0.0.1:7878 NACRE_TOKEN=$(nacre token create agent --profile bash --workspace ~/project)
    export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_API_KEY=none MODEL=qwen3
    nacre call --schema Bash >tools.json
    python3 agent.py tools.json ~/project 'Which file here is the largest?'

nacre decides on every command, and runs it in its sandbox. What it refuses, the model is told, with what to do instead.
"""
import json
import os
import sys
import urllib.error
import urllib.request

ROUNDS = 20


def post(url, key, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {
        "Content-Type": "application/json", "Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)  # nacre says in JSON what was wrong with a request


def run(call, workspace):
    """One call of the model, as text for the model."""
    try:
        wanted = json.loads(call["function"]["arguments"])
        body = {"command": wanted["command"], "profile": "bash", "workspace": workspace}
    except (KeyError, ValueError) as error:
        return f"These are not the arguments of the tool: {error}"
    result = post(os.environ["NACRE_URL"] + "/v1/run", os.environ["NACRE_TOKEN"], body)
    kept = ("exit_code", "stdout", "stderr", "reason", "recommended", "notices", "error")
    return json.dumps({name: result[name] for name in kept if result.get(name) not in (None, "", [])})


def main(schema, workspace, task):
    with open(schema, encoding="utf-8") as file:
        tools = json.load(file)
    messages = [{"role": "user", "content": task}]
    for _ in range(ROUNDS):
        answer = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", os.environ["OPENAI_API_KEY"],
                      {"model": os.environ["MODEL"], "messages": messages, "tools": tools})
        message = answer["choices"][0]["message"]
        messages.append(message)
        for call in message.get("tool_calls") or []:
            print("tool:", call["function"]["arguments"], file=sys.stderr)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": run(call, workspace)})
        if not message.get("tool_calls"):
            return print(message["content"])
    sys.exit(f"no answer after {ROUNDS} rounds")


main(*sys.argv[1:])
