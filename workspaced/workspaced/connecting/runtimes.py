"""The agents' programs that can be connected: where their settings are, and what form entries and hooks have.

Facts of their documentation, each looked up at its `looked_up`. All paths are the user's own files, which apply to
every project.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

_MAC: Final = sys.platform == "darwin"
_BRACED: Final = re.compile(r"\$\{[^}]+\}")


class ServerFile(NamedTuple):
    """Where and how a program configures MCP servers."""

    path: Callable[[], Path]
    key: str
    """The top-level key of the servers."""
    fixed: Mapping[str, object] = {}
    """Fields of an entry beside its command."""
    syntax: Literal["json", "toml"] = "json"
    command_is_list: bool = False
    """Whether `command` holds the arguments too, instead of `args`."""


class HookEvent(NamedTuple):
    """A moment at which a program runs hooks."""

    name: str
    matcher: str | None = None
    """Which of the event's kinds; None: all."""


class HookFile(NamedTuple):
    """Where and how a program configures hooks. Always JSON."""

    path: Callable[[], Path]
    events: tuple[HookEvent, ...]
    timeout: int = 2
    """In the unit of the program."""
    head: Mapping[str, object] = {}
    """Fields that the file must have beside `hooks`."""
    is_grouped: bool = True
    """Whether hooks stand in groups, each with a matcher, or directly in the list of their event."""


class Runtime(NamedTuple):
    """An agents' program."""

    title: str
    programs: tuple[str, ...]
    """Names of its commands on PATH."""
    home: Callable[[], Path]
    """The folder that its installation or its first start makes."""
    clients: tuple[str, ...]
    """How the names begin by which it introduces itself over MCP, case-folded."""
    servers: ServerFile
    hooks: HookFile | None
    looked_up: str
    next_step: str = ""
    """What the user must do before its hooks run, beyond a restart."""
    has_deny_rules: bool = False
    """Whether the file of its hooks also holds rules against reading files (deny_rules.py)."""
    comments: bool = False
    """Whether it reads JSON with comments and final commas."""
    variables: re.Pattern[str] | None = None
    """What it replaces in the texts of its settings, and cannot be escaped."""


def _home(*parts: str) -> Path:
    return Path("~", *parts).expanduser()


def _from(variable: str, *otherwise: str) -> Path:
    return Path(directory) if (directory := os.environ.get(variable)) else _home(*otherwise)


def _config(*parts: str) -> Path:
    return _from("XDG_CONFIG_HOME", ".config").joinpath(*parts)


def _app(*parts: str) -> Path:
    return _home("Library", "Application Support", *parts) if _MAC else _config(*parts)


def _claude() -> Path:
    return _from("CLAUDE_CONFIG_DIR", ".claude")


def _codex() -> Path:
    return _from("CODEX_HOME", ".codex")


def _gemini() -> Path:
    return _from("GEMINI_CLI_HOME") / ".gemini"  # the variable stands for HOME


def _zed() -> Path:
    return _home(".config", "zed") if _MAC else _config("zed")


def _opencode() -> Path:
    return _config("opencode")


def _opencode_settings() -> Path:
    """The file that is there: the program reads both."""
    plain, with_comments = _opencode() / "opencode.json", _opencode() / "opencode.jsonc"
    return with_comments if with_comments.exists() and not plain.exists() else plain


# Codex trusts a hook by a hash of what is written here: a change of it makes every user trust it anew.
_CLAUDES: Final = (HookEvent("SessionStart", "compact"), HookEvent("UserPromptSubmit"))
"""Sessions begin without a hook: what is told then is stale by the first prompt, which has a hook of its own."""

RUNTIMES: Final[dict[str, Runtime]] = {
    "claude": Runtime(
        "Claude Code",
        ("claude",),
        _claude,
        ("claude-code",),
        # Without the variable the file is in HOME itself.
        ServerFile(lambda: _from("CLAUDE_CONFIG_DIR") / ".claude.json", "mcpServers", {"type": "stdio"}),
        HookFile(lambda: _claude() / "settings.json", _CLAUDES),
        "2026-11-28",
        has_deny_rules=True,
        variables=_BRACED,
    ),
    "codex": Runtime(
        "Codex",
        ("codex",),
        _codex,
        ("codex-mcp-client",),
        ServerFile(lambda: _codex() / "config.toml", "mcp_servers", syntax="toml"),
        HookFile(lambda: _codex() / "hooks.json", _CLAUDES),
        "2026-11-22",
        next_step="Open /hooks in Codex and trust the hook: until then Codex skips it.",
    ),
    "gemini": Runtime(
        "Gemini CLI",
        ("gemini",),
        _gemini,
        ("gemini-cli-mcp-client",),
        ServerFile(lambda: _gemini() / "settings.json", "mcpServers"),
        HookFile(
            lambda: _gemini() / "settings.json", (HookEvent("BeforeAgent"), HookEvent("PreCompress")), timeout=2000
        ),
        "2026-11-23",
        comments=True,
        variables=re.compile(r"\$(?:\w+|\{[^}]+\})"),
    ),
    "cursor": Runtime(
        "Cursor",
        ("cursor", "cursor-agent"),
        lambda: _home(".cursor"),
        ("cursor-vscode",),
        ServerFile(lambda: _home(".cursor", "mcp.json"), "mcpServers"),
        HookFile(
            lambda: _home(".cursor", "hooks.json"),
            (HookEvent("postToolUse"), HookEvent("sessionStart")),
            head={"version": 1},
            is_grouped=False,
        ),
        "2026-11-23",
        variables=_BRACED,
    ),
    "vscode": Runtime(
        "VS Code",
        ("code",),
        lambda: _app("Code"),
        ("visual studio code", "visual-studio-code"),
        ServerFile(lambda: _app("Code", "User", "mcp.json"), "servers", {"type": "stdio"}),
        None,
        "2026-11-22",
        comments=True,
        variables=_BRACED,
    ),
    "zed": Runtime(
        "Zed",
        ("zed", "zeditor"),
        _zed,
        ("zed",),
        ServerFile(lambda: _zed() / "settings.json", "context_servers"),
        None,
        "2026-11-22",
        comments=True,
    ),
    "claude-desktop": Runtime(
        "Claude Desktop",
        ("claude-desktop",),
        lambda: _app("Claude"),
        ("claude-ai",),
        ServerFile(lambda: _app("Claude", "claude_desktop_config.json"), "mcpServers"),
        None,
        "2026-11-23",
    ),
    "windsurf": Runtime(
        "Windsurf",
        ("windsurf",),
        lambda: _home(".codeium", "windsurf"),
        ("windsurf",),
        ServerFile(lambda: _home(".codeium", "windsurf", "mcp_config.json"), "mcpServers"),
        None,
        "2026-11-23",
        variables=_BRACED,
    ),
    "opencode": Runtime(
        "OpenCode",
        ("opencode",),
        _opencode,
        ("opencode",),
        ServerFile(_opencode_settings, "mcp", {"type": "local"}, command_is_list=True),  # version 2 reads it too
        None,
        "2026-11-23",
        comments=True,
        variables=re.compile(r"\{(?:env|file):[^}]+\}"),
    ),
}
"""Sources: code.claude.com/docs/en/{mcp,hooks,permissions}; developers.openai.com/codex/mcp and Codex's own hooks
engine; geminicli.com/docs/{tools/mcp-server,hooks/reference,reference/configuration}; cursor.com/docs/{mcp,hooks};
code.visualstudio.com's reference of the MCP configuration; zed.dev/docs/ai/mcp; modelcontextprotocol.io (Claude
Desktop); docs.windsurf.com; opencode.ai/docs/mcp-servers and v2/docs/migrate-v1. Comments: gemini-cli#422,
HarnessKit#41 (OpenCode), zed.dev/docs/configuring-zed, vscode#281583."""
