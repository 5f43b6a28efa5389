"""Agents' real programs, each started for one prompt in a home of its own, with a hook, on a model of ours.

None of them reaches a network: the model's address is ours, and all else goes to a proxy that nobody serves.
Where their hooks are set, what these are told and what they answer: tests/data/runtimes/.
"""

import json
import os
import shutil
import subprocess
import sysconfig
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Final

from support.runtimes.model import PROMPT_TOKENS, ScriptedModel

Json = dict[str, Any]
INSTALLED: Final = Path(sysconfig.get_path("scripts")).parent / "runtimes" / "node_modules"
NOBODY: Final = "http://127.0.0.1:9"
RUN_S: Final = 60
HOOK_S: Final = 3
"""After this time a program gives its hook up."""


class Failed(Exception):
    """A program ended with an error; says what it wrote."""


class Program(ABC):
    """A program with its home, the folder it works in, and one session.

    Args:
        root: an empty folder for both.
        url: of the model.
        command: of the hook, as a shell takes it.
        events: for which the hook is run.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    prompt: ClassVar[str]
    """The event of a prompt, before the model is asked."""
    events: ClassVar[tuple[str, ...]]
    """The others that a session brings about (recordings.py)."""

    def __init__(self, root: Path, url: str, command: str, events: Iterable[str] = ()) -> None:
        self.home, self.vault, self.url = root / "home", root / "notes", url
        for folder in (self.home, self.vault, root / "tmp"):
            folder.mkdir(parents=True)
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TMPDIR": str(root / "tmp"),
            "HTTPS_PROXY": NOBODY,
            "NO_PROXY": "127.0.0.1",
        }
        self.begun = False
        self.set_up({event: self.hooks(command) for event in (*events, self.prompt)})

    @classmethod
    def missing(cls) -> str:
        """Why it cannot be started here; empty: it can."""
        if not cls.executable().exists():
            return f"{cls.package} is not installed: make .venv/.runtimes"
        if shutil.which("node") is None:
            return f"{cls.package} needs Node"
        return ""

    @classmethod
    def executable(cls) -> Path:
        return INSTALLED / ".bin" / cls.name

    @classmethod
    def version(cls) -> str:
        """Of the package."""
        return str(json.loads((INSTALLED / cls.package / "package.json").read_text())["version"])

    @staticmethod
    def hooks(command: str) -> list[Json]:
        """The hooks of one event as all of them write it."""
        return [{"hooks": [{"type": "command", "command": command, "timeout": HOOK_S}]}]

    @abstractmethod
    def set_up(self, hooks: Json) -> None:
        """Writes the settings into the home."""

    @abstractmethod
    def arguments(self, words: str) -> list[str]:
        """Of the command line for a prompt of the session."""

    def ask(self, words: str, *options: str) -> str:
        """What the program prints for the next prompt of its session.

        Raises:
            Failed: it ended with an error.
            subprocess.TimeoutExpired: it did not end within RUN_S.
        """
        command = [str(self.executable()), *self.arguments(words), *options]
        self.begun = True
        done = subprocess.run(
            command,
            cwd=self.vault,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
        )
        if done.returncode:
            raise Failed(f"{self.name} ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}")
        return done.stdout

    @abstractmethod
    def ask_for_tool(self, model: ScriptedModel) -> None:
        """The next prompts, to which the model answers with the call of a harmless tool, or of a subagent."""

    @abstractmethod
    def ask_about_picture(self, model: ScriptedModel, picture: Path) -> None:
        """The next prompt, with a picture or after which the program sends one."""

    def compact(self) -> None:
        """Has the history of the session replaced by a summary, and where that takes a prompt, asks one.

        Raises:
            NotImplementedError: the program does it only where a person types.
        """
        raise NotImplementedError(self.name)


class ClaudeCode(Program):
    name = "claude"
    package = "@anthropic-ai/claude-code"
    prompt = "UserPromptSubmit"
    events = (
        *("SessionStart", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop"),
        *("PreCompact", "PostCompact", "Stop", "SessionEnd"),
    )
    SESSION: Final = "11111111-1111-4111-8111-111111111111"

    def set_up(self, hooks: Json) -> None:
        self.environment |= {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }
        settings = self.home / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"hooks": hooks}))

    def arguments(self, words: str) -> list[str]:
        return ["-p", words, "--resume" if self.begun else "--session-id", self.SESSION]

    def ask_for_tool(self, model: ScriptedModel) -> None:
        """A subagent that runs a command; its result is told as a prompt."""
        work = {"description": "look", "prompt": "Look around.", "subagent_type": "Explore"}
        model.calls["Delegate this."] = ("Agent", work)
        model.calls["Look around."] = ("Bash", {"command": "echo done", "description": "Say done"})
        self.ask("Delegate this.", "--allowedTools", "Agent,Bash")

    def ask_about_picture(self, model: ScriptedModel, picture: Path) -> None:
        model.calls["Look at it."] = ("Read", {"file_path": str(picture)})
        self.ask("Look at it.", "--allowedTools", "Read")

    def compact(self) -> None:
        self.ask("/compact")

    def clear(self) -> None:
        """Ends the history, in a session of another id that is not gone on with."""
        self.ask("/clear")


class Codex(Program):
    name = "codex"
    package = "@openai/codex"
    prompt = "UserPromptSubmit"
    events = ("SessionStart", "PreToolUse", "PostToolUse", "SubagentStart", "PreCompact", "PostCompact", "Stop")

    def set_up(self, hooks: Json) -> None:
        self.environment |= {"CODEX_HOME": str(self.home / ".codex"), "MODEL_KEY": "none"}
        (self.home / ".codex").mkdir()
        (self.home / ".codex" / "config.toml").write_text(f"""\
model = "gpt-5.2-codex"
model_provider = "ours"
check_for_update_on_startup = false

[model_providers.ours]
name = "ours"
base_url = "{self.url}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
supports_websockets = false

[analytics]
enabled = false
""")
        (self.home / ".codex" / "hooks.json").write_text(json.dumps({"hooks": hooks}))

    def arguments(self, words: str) -> list[str]:
        session = ["resume", self.session] if self.begun else []
        return ["exec", *session, "--skip-git-repo-check", "--dangerously-bypass-hook-trust", words]

    @property
    def session(self) -> str:
        """The first one. The last may be a subagent's, which the program then goes on with."""
        kept = (self.home / ".codex" / "sessions").rglob("rollout-*.jsonl")
        return min(each.stem for each in kept)[-36:]

    def ask_for_tool(self, model: ScriptedModel) -> None:
        """A command, then a subagent, whose result is not waited for: the program ends with its own answer."""
        model.calls["Run it."] = ("exec_command", {"cmd": "echo done"})
        self.ask("Run it.")
        model.calls["Delegate this."] = ("spawn_agent", {"message": "Look around."})
        model.awaited = "Look around."
        self.ask("Delegate this.")

    def ask_about_picture(self, model: ScriptedModel, picture: Path) -> None:
        self.ask("Look at it.", "--image", str(picture))

    def compact(self) -> None:
        """By a prompt for which the history is too long."""
        self.ask("Go on.", "-c", f"model_auto_compact_token_limit={PROMPT_TOKENS // 2}")


class Gemini(Program):
    name = "gemini"
    package = "@google/gemini-cli"
    prompt = "BeforeAgent"
    events = ("SessionStart", "BeforeTool", "AfterTool", "PreCompress", "AfterAgent", "SessionEnd")

    def set_up(self, hooks: Json) -> None:
        self.environment |= {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        settings = self.home / ".gemini" / "settings.json"
        settings.parent.mkdir()
        given = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "hooks": hooks,
        }
        settings.write_text(json.dumps(given))

    @staticmethod
    def hooks(command: str) -> list[Json]:
        """With the time in milliseconds."""
        return [{"hooks": [{"type": "command", "command": command, "timeout": HOOK_S * 1_000}]}]

    def arguments(self, words: str) -> list[str]:
        session = ["--resume", "latest"] if self.begun else []
        return ["--model", "gemini-2.5-pro", *session, "--prompt", words]

    def ask_for_tool(self, model: ScriptedModel) -> None:
        model.calls["List them."] = ("list_directory", {"dir_path": "."})
        self.ask("List them.")

    def ask_about_picture(self, model: ScriptedModel, picture: Path) -> None:
        self.ask(f"Look at @{picture.name}")

    def compact(self) -> None:
        self.ask("/compress")


class Copilot(Program):
    name = "copilot"
    package = "@github/copilot"
    prompt = "UserPromptSubmit"
    events = ("SessionStart", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")

    def set_up(self, hooks: Json) -> None:
        self.environment |= {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "gpt-5.2",
            "COPILOT_PROVIDER_BASE_URL": f"{self.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_PROVIDER_WIRE_API": "responses",
        }
        folder = self.home / ".copilot" / "hooks"
        folder.mkdir(parents=True)
        (folder / "hooks.json").write_text(json.dumps({"version": 1, "hooks": hooks}))

    @staticmethod
    def hooks(command: str) -> list[Json]:
        return [{"type": "command", "bash": command, "timeoutSec": HOOK_S}]

    def arguments(self, words: str) -> list[str]:
        return ["--prompt", words, "--allow-all-tools", *(["--continue"] if self.begun else [])]

    def ask_for_tool(self, model: ScriptedModel) -> None:
        model.calls["Run it."] = ("bash", {"command": "echo done", "description": "Say done"})
        self.ask("Run it.")

    def ask_about_picture(self, model: ScriptedModel, picture: Path) -> None:
        model.calls["Look at it."] = ("view", {"path": str(picture)})
        self.ask("Look at it.")


PROGRAMS: Final = (ClaudeCode, Codex, Gemini, Copilot)
