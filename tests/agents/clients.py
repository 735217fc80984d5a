"""The agents: how each is started against a model on loopback, and what its tools are called.

Keys are fake, telemetry and updates are off, and proxies lead nowhere, so that nothing leaves the machine.
"""
import json
import pathlib
import subprocess

NOWHERE = "http://127.0.0.1:9"
QUIET = {"HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "http_proxy": NOWHERE, "https_proxy": NOWHERE,
         "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "DO_NOT_TRACK": "1", "CI": "1", "NO_COLOR": "1",
         "OTEL_SDK_DISABLED": "true"}


class Client:
    name, title, package, program = "", "", "", ()
    tools = {}
    hook = True  # it has one that nacre answers
    leaves_commands = False  # ended by SIGTERM, it leaves a running command to itself, with nacre and without it
    fails_open = False  # it runs the command when nacre is not there

    def __init__(self, node, modules):
        self.node, self.modules = node, pathlib.Path(modules)

    def version(self):
        return json.loads((self.modules / self.package / "package.json").read_text())["version"]

    def command(self):
        """The words that start it."""
        path = self.modules.joinpath(*self.program)
        return [str(path)] if path.suffix not in (".js", ".mjs", ".cjs") else [self.node, str(path)]

    def prepare(self, home, work, url):
        """Writes what it needs beside the settings of nacre; returns its environment and the words after the program."""
        raise NotImplementedError

    def run(self, home, work, url, env, timeout):
        own, words = self.prepare(home, work, url)
        return subprocess.Popen([*self.command(), *words], cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env={**env, **QUIET, **own}, start_new_session=True)

    @staticmethod
    def merge(path, more):
        """Members of an own settings file, beside those that are there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        old = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**old, **more}, indent=2) + "\n")

    def call(self, command, **more):
        return ("shell", {"command": command, **more})


class Claude(Client):
    name, title, package = "claude", "Claude Code", "@anthropic-ai/claude-code"
    program = ("@anthropic-ai", "claude-code-linux-x64", "claude")
    tools = {"shell": ["Bash"], "background": ["Bash"], "mcp": ["mcp__nacre__Bash"]}

    def prepare(self, home, work, url):
        return ({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-fake", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
                 "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_UPDATES": "1"},
                ["-p", "go", "--model", "claude-sonnet-4-5", "--output-format", "json", "--allowedTools", "mcp__nacre__Bash"])

    def call(self, command, background=False, **more):
        return ("shell", {"command": command, "description": "test", **({"run_in_background": True} if background else {}), **more})


class Codex(Client):
    name, title, package = "codex", "Codex", "@openai/codex"
    program = ("@openai", "codex", "bin", "codex.js")
    tools = {"shell": ["exec_command", "shell_command", "shell"], "mcp": ["mcp__nacre__Bash", "mcp__nacre/Bash"]}
    words = ["--dangerously-bypass-hook-trust"]

    def prepare(self, home, work, url):
        return ({"CODEX_HOME": str(home / ".codex"), "OPENAI_API_KEY": "sk-fake", "FAKE_KEY": "sk-fake"},
                ["exec", "--skip-git-repo-check", "-s", "danger-full-access", *self.words, "-c", "model_provider=scripted", "-c",
                 f'model_providers.scripted={{name="scripted", base_url="{url}/v1", env_key="FAKE_KEY", wire_api="responses"}}',
                 "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false", "-c", "otel.exporter=none",
                 "-m", "gpt-5", "go"])

    def call(self, command, **more):
        return ("shell", lambda results: {"cmd": command, "command": command, **more})


class Gemini(Client):
    name, title, package = "gemini", "Gemini CLI", "@google/gemini-cli"
    program = ("@google", "gemini-cli", "bundle", "gemini.js")
    leaves_commands = True
    tools = {"shell": ["run_shell_command"], "mcp": ["Bash", "nacre__Bash", "mcp_nacre_Bash"]}

    def prepare(self, home, work, url):
        self.merge(home / ".gemini" / "settings.json",
                   {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                    "telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False},
                    "general": {"disableAutoUpdate": True, "disableUpdateNag": True}})
        return ({"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
                ["-p", "go", "-y", "-m", "gemini-2.5-flash"])


class OpenCode(Client):
    name, title, package = "opencode", "OpenCode", "opencode-ai"
    program = ("opencode-linux-x64", "bin", "opencode")
    tools = {"shell": ["bash"], "mcp": ["nacre_Bash"]}
    hook = False
    leaves_commands = True
    fails_open = True  # see docs/clients.md

    def prepare(self, home, work, url):
        config = home / ".config" / "opencode" / "opencode.json"
        self.merge(config, {"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
                                                      "options": {"baseURL": f"{url}/v1", "apiKey": "fake"},
                                                      "models": {"m": {"name": "m", "tool_call": True}}}},
                            "autoupdate": False, "share": "disabled"})
        return ({"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                 "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "XDG_CONFIG_HOME": str(home / ".config")},
                ["run", "-m", "scripted/m", "go"])

    def call(self, command, **more):
        return ("shell", {"command": command, "description": "test", **more})


class Copilot(Client):
    name, title, package = "copilot", "Copilot CLI", "@github/copilot"
    program = ("@github", "copilot", "npm-loader.js")
    tools = {"shell": ["bash"], "mcp": ["nacre-Bash"]}

    def prepare(self, home, work, url):
        return ({"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "fake", "COPILOT_MODEL": "gpt-5",
                 "COPILOT_AUTO_UPDATE": "false", "COPILOT_OFFLINE": "true"},
                ["-p", "go", "--allow-all-tools", "--no-auto-update", "--no-color"])

    def call(self, command, **more):
        return ("shell", {"command": command, "description": "test", **more})


class Qwen(Client):
    name, title, package = "qwen", "Qwen Code", "@qwen-code/qwen-code"
    program = ("@qwen-code", "qwen-code", "cli.js")
    tools = {"shell": ["run_shell_command"], "mcp": ["mcp__nacre__Bash", "Bash"]}

    def prepare(self, home, work, url):
        self.merge(home / ".qwen" / "settings.json",
                   {"security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
                    "telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False},
                    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True}})
        return ({"OPENAI_API_KEY": "fake", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"},
                ["-p", "go", "-y"])

    def call(self, command, background=False, **more):
        return ("shell", {"command": command, "description": "test", "is_background": background, **more})


CLIENTS = {client.name: client for client in (Claude, Codex, Gemini, OpenCode, Copilot, Qwen)}
