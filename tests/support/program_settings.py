"""The settings of agents' programs below a temporary home."""

import sys
from pathlib import Path
from typing import Any

from workspaced.connecting.runtimes import RUNTIMES

APPS = "Library/Application Support" if sys.platform == "darwin" else ".config"
PLACES = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "vscode": f"{APPS}/Code/User/mcp.json",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "zed": ".config/zed/settings.json",
    "claude-desktop": f"{APPS}/Claude/claude_desktop_config.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "opencode": ".config/opencode/opencode.json",
}
"""The file of each program's MCP entries."""
HOOK_PLACES = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
}
VARIABLES = ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME")
"""Variables of the environment that move these files."""


def entry_of(client: str, settings: dict[str, Any], name: str) -> dict[str, Any]:
    """An MCP entry with `command` and `args` apart, as most programs have it."""
    entry: dict[str, Any] = settings[RUNTIMES[client].servers.key][name]
    if isinstance(entry["command"], list):
        return {**entry, "command": entry["command"][0], "args": entry["command"][1:]}
    return entry


def all_files(home: Path) -> dict[str, bytes]:
    """Every file of programs below the home, with its bytes; our own ledger is left out."""
    every = {path.relative_to(home): path for path in home.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in every.items() if name.parts[0] != ".local"}
