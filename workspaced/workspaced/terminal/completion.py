"""Shell completion of the names of actions, tools, fields and notes.

Each function takes (context, parameter, incomplete), as click asks. None of them fails: without a daemon there are
fewer names. Notes are looked up in the folders of the daemon, so that completing records no call.
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from workspaced_events.errors import WorkspacedError

_NOTES_MAX: Final = 100
_LOOKED_AT_MAX: Final = 20_000
"""So many files and folders are looked at for a note's name."""
_NOTE_FIELDS: Final = ("note", "from", "to", "reference", "folder")
_BASH_SPECIAL: Final = re.compile(r"([^\w@%+,./:-])")


def actions(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The types of actions that a client may publish."""
    from workspaced_events.schema.catalogue import CATALOGUE

    return _items(name for name, entry in CATALOGUE.items() if entry.by_ui and name.startswith(incomplete))


def action_fields(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`FIELD=` of the action, and the notes of a field that names one."""
    from workspaced_events.schema.catalogue import CATALOGUE

    entry = CATALOGUE.get(context.params.get("type_") or "")
    return _pairs(context, "fields", entry.fields if entry is not None else (), incomplete)


def tools(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the tools."""
    return _items(tool["name"] for tool in _tools(context) if tool["name"].startswith(incomplete))


def tool_arguments(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`ARGUMENT=` of the tool, and the notes of an argument that names one."""
    wanted = context.params.get("tool")
    names = [
        name for tool in _tools(context) if tool["name"] == wanted for name in tool["inputSchema"]["properties"]
    ]
    return _pairs(context, "arguments", names, incomplete)


def notes(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Paths of notes, by the beginning of the path or of the file's name."""
    return _items(map(_escaped, _notes(context, incomplete)))


def _pairs(context: click.Context, given: str, names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """`KEY=` or `KEY=VALUE`. Bash breaks words at `=`: then the key and `=` are words of their own."""
    before = [*(context.params.get(given) or ())]
    if before[-1:] == ["="] and len(before) > 1:
        return _items(map(_escaped, _values(context, before[-2], incomplete)))
    key, equals, value = incomplete.partition("=")
    if equals:
        return _items(f"{key}={_escaped(each)}" for each in _values(context, key, value))
    return _items((f"{name}=" for name in sorted(names) if name.startswith(incomplete)), more=True)


def _values(context: click.Context, key: str, incomplete: str) -> Iterable[str]:
    return _notes(context, incomplete) if key in _NOTE_FIELDS else ()


def _items(values: Iterable[str], *, more: bool = False) -> list[CompletionItem]:
    """`more`: the word goes on after the value, so no space follows where the shell can leave it out."""
    return [CompletionItem(value, type="plain", help=None, nospace=more) for value in values]


def _escaped(value: str) -> str:
    """Bash takes a completion as it stands, so that a space in it would end the word."""
    is_bash = os.environ.get("_WORKSPACED_COMPLETE", "").startswith("bash")
    return _BASH_SPECIAL.sub(r"\\\1", value) if is_bash else value


def _client(context: click.Context) -> Any:
    """A connection to the daemon of the command line so far, or None."""
    from ..client.sync_client import connect
    from .daemon import choose

    try:
        with context.scope(cleanup=False):
            return connect(choose().socket, name="workspaced-cli", timeout_s=1.0)
    except (WorkspacedError, OSError):
        return None


def _tools(context: click.Context) -> list[dict[str, Any]]:
    client = _client(context)
    if client is None:
        from workspaced_tools.tools.registry import TOOLS

        return [tool.definition for tool in TOOLS.values()]
    with client:
        listed: list[dict[str, Any]] = client.call("tools/list")["tools"]
    return listed


def _notes(context: click.Context, incomplete: str) -> list[str]:
    client = _client(context)
    if client is None:
        return []
    with client:
        roots = [each["path"] for each in client.server["vaults"]]
    wanted = incomplete.replace("\\", "").casefold()
    found: list[str] = []
    for path in (path for root in roots for path in _files(root)):
        if path.casefold().startswith(wanted) or path.rpartition("/")[2].casefold().startswith(wanted):
            found.append(path)
            if len(found) >= _NOTES_MAX:
                break
    return sorted(found)


def _files(root: str) -> Iterator[str]:
    """Paths of notes below a folder, without dot folders and symlinks; looks at _LOOKED_AT_MAX files at most."""
    looked_at = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        looked_at += len(names) + len(folders)
        if looked_at > _LOOKED_AT_MAX:
            return
        below = folder[len(root) :].lstrip("/")
        for name in names:
            if name.lower().endswith(".md") and not name.startswith("."):
                yield f"{below}/{name}" if below else name
