"""Registers our server with agents' runtimes: adds an entry to their configuration files without damage.

A file is changed only if it can be parsed and written without loss; it then holds its former content plus our
entry. Any other file is refused, with the snippet to insert by hand. Paths and keys are from the clients'
documentation; see `CLIENTS`.
"""

import difflib
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from workspaced_events.private_files import make_folder

from ..errors import SettingsInvalid

NAME: Final = "workspaced"
CONFIG_BYTES_MAX: Final = 16 * 1024 * 1024

Entry = dict[str, Any]


class ClientConfig(NamedTuple):
    """Where and how one runtime configures servers."""

    title: str
    path: Callable[[], Path]
    """The user's own file, which applies to all projects."""
    key: str
    """The top-level key of the servers."""
    fixed: Mapping[str, str]
    """Fields of an entry beside command and args."""
    syntax: Literal["json", "toml"] = "json"


class Change(NamedTuple):
    """A planned change of a file."""

    path: Path
    before: str | None
    """None: the file does not exist."""
    after: str

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    def difference(self) -> str:
        """The change as a unified diff."""
        before = (self.before or "").splitlines(keepends=True)
        lines = difflib.unified_diff(before, self.after.splitlines(keepends=True), str(self.path), str(self.path))
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _home(*parts: str) -> Path:
    return Path("~", *parts).expanduser()


def _from(variable: str, *otherwise: str) -> Path:
    return Path(directory) if (directory := os.environ.get(variable)) else _home(*otherwise)


def _claude() -> Path:
    return _from("CLAUDE_CONFIG_DIR") / ".claude.json"  # without the variable the file is in HOME itself


def _vscode() -> Path:
    if sys.platform == "darwin":
        return _home("Library", "Application Support", "Code", "User", "mcp.json")
    return _from("XDG_CONFIG_HOME", ".config") / "Code" / "User" / "mcp.json"


def _zed() -> Path:
    config = _home(".config") if sys.platform == "darwin" else _from("XDG_CONFIG_HOME", ".config")
    return config / "zed" / "settings.json"


CLIENTS: Final[dict[str, ClientConfig]] = {
    "claude": ClientConfig("Claude Code", _claude, "mcpServers", {"type": "stdio"}),
    "codex": ClientConfig(
        "Codex", lambda: _from("CODEX_HOME", ".codex") / "config.toml", "mcp_servers", {}, syntax="toml"
    ),
    "vscode": ClientConfig("VS Code", _vscode, "servers", {"type": "stdio"}),
    "cursor": ClientConfig("Cursor", lambda: _home(".cursor", "mcp.json"), "mcpServers", {}),
    "gemini": ClientConfig("Gemini CLI", lambda: _home(".gemini", "settings.json"), "mcpServers", {}),
    "zed": ClientConfig("Zed", _zed, "context_servers", {}),
}
"""Sources: code.claude.com/docs/en/mcp (user scope), developers.openai.com/codex/mcp, the MCP configuration
reference of code.visualstudio.com, docs.cursor.com, geminicli.com/docs/tools/mcp-server, zed.dev/docs/ai/mcp."""


def snippet(client: str, command: Sequence[str]) -> str:
    """The content for the client's configuration file, complete for an empty one."""
    config = CLIENTS[client]
    entry = _entry(config, command)
    if config.syntax == "toml":
        return _toml_table(config, entry)
    return json.dumps({config.key: {NAME: entry}}, ensure_ascii=False, indent=2) + "\n"


def plan(client: str, command: Sequence[str]) -> Change:
    """Plans the change of the client's file; writes nothing.

    Raises:
        SettingsInvalid: the file cannot be read, or cannot be changed without loss.
    """
    config = CLIENTS[client]
    path = config.path()
    before = _read(path)
    entry = _entry(config, command)
    merge = _merge_toml if config.syntax == "toml" else _merge_json
    try:
        return Change(path, before, merge(before or "", config, entry))
    except _Unmergeable as error:
        raise SettingsInvalid(
            f"{path} {error}; it was left as it is.",
            hint=f"Put this in by hand (`workspaced mcp --print-config {client}`):\n{snippet(client, command)}",
        ) from None


def write(change: Change) -> Path | None:
    """Writes a planned change atomically, through symlinks; returns the backup's path if the file existed.

    Raises:
        SettingsInvalid: the file has changed since the plan, or cannot be written.
    """
    path = Path(os.path.realpath(change.path))
    written: list[Path] = []  # removed again on an error
    try:
        make_folder(path.parent)
        mode = 0o600 if change.before is None else path.stat().st_mode & 0o777
        if change.before is not None:
            written.append(_new_file(path, ".before-workspaced", mode, change.before))
        written.append(_new_file(path, ".workspaced-draft", mode, change.after))
        if _read(path) != change.before:
            raise SettingsInvalid(f"{path} has changed in this very moment.", hint="Run it again.")
        written[-1].replace(path)
        written.pop()
    except (OSError, SettingsInvalid) as error:
        for each in written:
            each.unlink(missing_ok=True)
        if isinstance(error, SettingsInvalid):
            raise
        raise SettingsInvalid(f"Cannot write {error.filename or path}: {error.strerror or error}.") from None
    return written[0] if written else None


class _Unmergeable(Exception):
    """The reason why a file cannot be changed; continues a sentence that begins with the file's path."""


def _entry(config: ClientConfig, command: Sequence[str]) -> Entry:
    return {**config.fixed, "command": command[0], "args": list(command[1:])}


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(CONFIG_BYTES_MAX + 1)
        if len(content) > CONFIG_BYTES_MAX:
            raise SettingsInvalid(f"{path} is larger than {CONFIG_BYTES_MAX} bytes; it was left as it is.")
        return content.decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsInvalid(f"{path} is no UTF-8: {error.reason}; it was left as it is.") from None
    except OSError as error:
        raise SettingsInvalid(f"Cannot read {path}: {error.strerror or error}.") from None


def _new_file(beside: Path, suffix: str, mode: int, text: str) -> Path:
    """Makes a new file next to another one; never overwrites an existing file."""
    number = 1
    while True:
        path = beside.with_name(f"{beside.name}{suffix}{'' if number == 1 else f'-{number}'}")
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            break
        number += 1
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    return path


# -- JSON --


def _merge_json(text: str, config: ClientConfig, entry: Entry) -> str:
    whole = _parse_json(text) if text.strip() else {}
    servers = whole.get(config.key, {})
    if not isinstance(servers, dict) or not isinstance(servers.get(NAME, {}), dict):
        raise _Unmergeable(f"holds something else than objects under {config.key!r}")
    merged = {**whole, config.key: {**servers, NAME: {**servers.get(NAME, {}), **entry}}}
    if merged == whole:
        return text
    try:
        after = json.dumps(merged, ensure_ascii=text.isascii(), indent=_indent(text), allow_nan=False)
        after.encode()
    except ValueError as error:
        raise _Unmergeable(f"holds what cannot be written again ({error})") from None
    return after + ("\n" if not text or text.endswith("\n") else "")


def _parse_json(text: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        unique_keys = dict(pairs)
        if len(unique_keys) != len(pairs):
            raise _Unmergeable("names a key twice")
        return unique_keys

    try:
        whole = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise _Unmergeable(f"is no plain JSON ({error}); comments and final commas would be lost") from None
    if not isinstance(whole, dict):
        raise _Unmergeable("holds no JSON object")
    return whole


def _indent(text: str) -> str | int | None:
    if "\n" not in text.strip():
        return 2 if text.strip() in ("", "{}") else None
    first_indent = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return first_indent[1] if first_indent else 2


# -- TOML --


def _merge_toml(text: str, config: ClientConfig, entry: Entry) -> str:
    """Appends a table and leaves everything before it unchanged, so nothing can be lost."""
    whole = _parse_toml(text)
    servers = whole.get(config.key, {})
    present = servers.get(NAME) if isinstance(servers, dict) else None
    if isinstance(present, dict) and {**present, **entry} == present:
        return text
    if present is not None:
        raise _Unmergeable(f"has another [{config.key}.{NAME}]")
    gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
    after = text + gap + _toml_table(config, entry)
    try:
        good = _parse_toml(after) == {**whole, config.key: {**servers, NAME: entry}}
    except (_Unmergeable, TypeError):
        good = False
    if not good:
        raise _Unmergeable(f"writes {config.key!r} in a way that no table can be added to")
    return after


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _Unmergeable(f"is no TOML ({error})") from None


def _toml_table(config: ClientConfig, entry: Entry) -> str:
    lines = [f"{key} = {_toml(value)}" for key, value in entry.items()]
    return "\n".join([f"[{config.key}.{NAME}]", *lines, ""])


def _toml(value: str | list[str]) -> str:
    """JSON's strings and lists of strings are valid TOML, except for DEL and escaped surrogate pairs."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
