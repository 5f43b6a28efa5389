"""Plans what connecting a program, or taking that back, changes in its settings. Writes nothing.

A plan is made for all files of a program or for none.
"""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, Literal

from ..bridge.target import Target
from ..errors import SettingsInvalid
from . import hooks, json_text, servers, toml_text
from .command_lines import bridge_line, hook_line
from .former_files import as_before, with_backup
from .json_text import Unmergeable
from .runtimes import RUNTIMES, Runtime, ServerFile
from .settings_files import Change, read

Part = Literal["mcp", "hook"]
PARTS: Final[tuple[Part, ...]] = ("mcp", "hook")


def plan_connection(
    runtime: str, vault: str, parts: Collection[Part] = PARTS, name: str | None = None
) -> list[Change]:
    """The changes that connect a program with a vault: its MCP entry, and its hooks where it has some.

    Args:
        name: of the MCP entry; default: that of an entry for the vault, else one after the folder.

    Raises:
        SettingsInvalid: a file cannot be read or changed without loss, or the name is taken, or the program would
            read another path.
        UnicodeEncodeError: the vault's path is not UTF-8.
    """
    spec = RUNTIMES[runtime]
    _check_words(spec, bridge_line(Target(vaults=(vault,))))
    files = _Files(spec, lambda: hand_made(runtime, vault, parts, name))
    if "mcp" in parts:
        at = spec.servers

        def with_entry(text: str) -> str:
            whole = servers.parse(at, text)
            chosen = servers.name_for(at, whole, vault, name)
            return servers.add(at, text, chosen, servers.wanted_argv(at, whole, chosen, vault))

        files.edit(at.path(), with_entry)
    if "hook" in parts and (hook := spec.hooks) is not None:
        line = hook_line(runtime, vault)
        files.edit(hook.path(), lambda text: hooks.add(hook, text, line, vault))
    return [with_backup(spec, each) for each in files.changes()]


def plan_entry(runtime: str, target: Target) -> list[Change]:
    """The change of `mcp --install`: an MCP entry for any daemon, named `workspaced` if that is free.

    Raises:
        SettingsInvalid: the file cannot be read or changed without loss, or the program would read another path.
        UnicodeEncodeError: a path is not UTF-8.
    """
    spec = RUNTIMES[runtime]
    argv = bridge_line(target)
    _check_words(spec, argv)
    files = _Files(spec, lambda: entry_text(runtime, servers.NAME, argv))

    def with_entry(text: str) -> str:
        whole = servers.parse(spec.servers, text)
        return servers.add(spec.servers, text, _entry_name(spec.servers, whole, target), argv)

    files.edit(spec.servers.path(), with_entry)
    return [with_backup(spec, each) for each in files.changes()]


def plan_removal(
    runtime: str, vault: str | None = None, parts: Collection[Part] = PARTS, name: str | None = None
) -> list[Change]:
    """The changes that take out our entries and hooks for a vault; None: for all; with a name alone, that entry.

    A file that then holds what it held before us gets its former bytes; one that only we filled goes.

    Raises:
        SettingsInvalid: a file cannot be read or changed without loss.
    """
    spec = RUNTIMES[runtime]
    by_hand = f"every entry whose command is `workspaced`, in {spec.title}'s settings\n"
    files = _Files(spec, lambda: by_hand, "Take out")
    if "mcp" in parts:
        at = spec.servers

        def without_entries(text: str) -> str:
            found = servers.find(at, servers.parse(at, text))
            return servers.remove(at, text, [each.name for each in found if _is_meant(each, vault, name)])

        files.edit(at.path(), without_entries)
    is_entry_only = name is not None and vault is None
    if "hook" in parts and (hook := spec.hooks) is not None and not is_entry_only:
        files.edit(
            hook.path(),
            lambda text: hooks.remove(hook, text, lambda each: vault is None or each.command.serves(vault)),
        )
    return [as_before(spec, each) for each in files.changes()]


def hand_made(runtime: str, vault: str, parts: Collection[Part], name: str | None = None) -> str:
    """What the files need, to put in by hand: each complete for an empty file."""
    spec = RUNTIMES[runtime]
    texts = []
    if "mcp" in parts:
        chosen = name or servers.name_for(spec.servers, {}, vault)
        argv = bridge_line(Target(vaults=(vault,)))
        texts.append(f"in {spec.servers.path()}:\n{entry_text(runtime, chosen, argv)}")
    if "hook" in parts and spec.hooks is not None:
        whole = hooks.settings(spec.hooks, hook_line(runtime, vault))
        texts.append(f"in {spec.hooks.path()}:\n{json.dumps(whole, ensure_ascii=False, indent=2)}\n")
    return "".join(texts)


def entry_text(runtime: str, name: str, argv: list[str]) -> str:
    """The content of the program's settings for one MCP entry, complete for an empty file.

    Raises:
        SettingsInvalid: the program would read another path.
    """
    _check_words(RUNTIMES[runtime], argv)
    spec = RUNTIMES[runtime].servers
    entry = servers.entry(spec, argv)
    if spec.syntax == "toml":
        return toml_text.table(spec.key, name, entry)
    return json.dumps({spec.key: {name: entry}}, ensure_ascii=False, indent=2) + "\n"


def check_is_read(spec: Runtime, path: Path, text: str) -> None:
    """
    Raises:
        Unmergeable: the program is not known to read the file as it is.
    """
    if not spec.comments and path.suffix == ".json" and not json_text.is_plain(text):
        raise Unmergeable(f"has comments or final commas, which {spec.title} is not known to read")


class _Files:
    """The files of one plan, each read once. `by_hand` says what a user puts in where we cannot."""

    def __init__(self, spec: Runtime, by_hand: Callable[[], str], verb: str = "Put in") -> None:
        self._spec = spec
        self._by_hand = by_hand
        self._verb = verb
        self._texts: dict[Path, tuple[str | None, str]] = {}

    def edit(self, path: Path, change: Callable[[str], str]) -> None:
        """
        Raises:
            SettingsInvalid: the file cannot be read, or not be changed without loss.
        """
        before, text = self._texts[path] if path in self._texts else (former := read(path), former or "")
        try:
            check_is_read(self._spec, path, text)
            self._texts[path] = before, change(text)
        except Unmergeable as error:
            raise SettingsInvalid(
                f"{path} {error}; nothing was changed.", hint=f"{self._verb} by hand, {self._by_hand()}"
            ) from None

    def changes(self) -> list[Change]:
        return [
            Change(path, before, None if before is None and not text else text)
            for path, (before, text) in self._texts.items()
        ]


def _check_words(spec: Runtime, argv: list[str]) -> None:
    """
    Raises:
        SettingsInvalid: the program would take a part of a word for a variable.
    """
    for word in argv:
        if spec.variables is not None and (found := spec.variables.search(word)) is not None:
            raise SettingsInvalid(
                f"{spec.title} would read {found[0]!r} in {word!r} as a variable.",
                hint="Name the folder by a symbolic link to it that has another name.",
            )


def _entry_name(spec: ServerFile, whole: dict[str, object], target: Target) -> str:
    if len(target.vaults) != 1:
        return servers.NAME
    (vault,) = target.vaults
    for each in servers.find(spec, whole):
        is_for_another = each.name == servers.NAME and each.command.target.vaults
        if each.command.serves(vault) or is_for_another:
            return servers.name_for(spec, whole, vault)
    return servers.NAME


def _is_meant(server: servers.Server, vault: str | None, name: str | None) -> bool:
    if name is not None and server.name != name:
        return False
    return vault is None or server.command.serves(vault)
