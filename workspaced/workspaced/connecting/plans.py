"""Plans what connecting a program, or taking that back, changes in its settings. Writes nothing.

A plan is made for all files of a program or for none.

What a settings file was before us is kept beside it, and given back where nothing else changed it.
"""

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from ..bridge.target import Target
from ..errors import SettingsInvalid
from . import deny_rules, hooks, json_text, servers, toml_text
from .command_lines import bridge_line, hook_line
from .json_text import Unmergeable
from .ledger import read_ledger
from .runtimes import RUNTIMES, Runtime, ServerFile
from .settings_files import Change, backups, read

Part = Literal["mcp", "hook", "deny"]
PARTS: Final[tuple[Part, ...]] = ("mcp", "hook", "deny")


def plan_connection(
    runtime: str,
    vault: str,
    parts: Collection[Part] = PARTS,
    name: str | None = None,
    *,
    denied: Sequence[str] = (),
) -> list[Change]:
    """The changes that connect a program with a vault: its MCP entry, and where it has them its hooks, and rules
    against reading what is withheld.

    Args:
        name: of the MCP entry; default: that of an entry for the vault, else one after the folder.
        denied: the setting `deny`.

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
    if "deny" in parts and spec.has_deny_rules and spec.hooks is not None:
        rules = deny_rules.wanted(vault, denied)
        former = deny_rules.of_vault(read_ledger().rules(spec.hooks.path()), vault)
        gone = [each for each in former if each not in rules]
        files.edit(spec.hooks.path(), lambda text: deny_rules.add(deny_rules.remove(text, gone), rules))
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
    """The changes that take out what is ours for a vault; None: for all; with a name alone, that entry.

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
    if "deny" in parts and spec.has_deny_rules and spec.hooks is not None and not is_entry_only:
        ours = read_ledger().rules(spec.hooks.path())
        gone = list(ours if vault is None else deny_rules.of_vault(ours, vault))
        files.edit(spec.hooks.path(), lambda text: deny_rules.remove(text, gone))
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
    """Raises Unmergeable: the program is not known to read the file as it is."""
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
        """Raises SettingsInvalid: the file cannot be read, or not be changed without loss."""
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
    """Raises SettingsInvalid: the program would take a part of a word for a variable."""
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


def with_backup(spec: Runtime, change: Change) -> Change:
    """The change, with a backup if there is none of the file before us; a file that only we filled needs none."""
    path, before = change.path, change.before
    if before is None:
        return change
    texts = [text for _path, text in backups(path)]
    others = without_ours(spec, path, before)
    if others == before:
        return change._replace(keeps_backup=before not in texts)
    return change._replace(keeps_backup=not texts and _rest(spec, path, others) != "{}")


def as_before(spec: Runtime, change: Change) -> Change:
    """The change, to the bytes of a backup that says the same; or to no file if only we filled it."""
    path, after = change.path, change.after
    if not change.is_needed or after is None:
        return change
    former = [(backup, text) for backup, text in backups(path) if without_ours(spec, path, text) == text]
    rest = _rest(spec, path, after)
    for backup, text in reversed(former):
        if _rest(spec, path, text) == rest:
            return change._replace(after=text, old_backup=backup)
    return change._replace(after=None) if rest == "{}" and not former else change


def without_ours(spec: Runtime, path: Path, text: str) -> str:
    """The text without any entry or hook of ours; as it is if it cannot be changed."""
    try:
        if path == spec.servers.path():
            found = servers.find(spec.servers, servers.parse(spec.servers, text))
            text = servers.remove(spec.servers, text, [each.name for each in found])
        if spec.hooks is not None and path == spec.hooks.path():
            text = hooks.remove(spec.hooks, text, lambda _hook: True)
    except Unmergeable:
        pass
    return text


def _rest(spec: Runtime, path: Path, text: str) -> str:
    """What a text says, in its order and in comments, beside empty places for entries and hooks and fields that
    hooks need."""
    holds_servers = path == spec.servers.path()
    try:
        whole = servers.parse(spec.servers, text) if holds_servers else json_text.parse(text)
    except Unmergeable:
        return text
    head = {} if spec.hooks is None or holds_servers else spec.hooks.head
    places = (spec.servers.key, hooks.KEY, deny_rules.PLACE[0])
    emptied = {key: _without_empty(whole.get(key)) for key in places[1:]}
    rest = {
        key: value
        for key, value in {**whole, **emptied}.items()
        if (value or key not in places) and (key not in head or head[key] != value)
    }
    comments = [] if path.suffix == ".toml" else json_text.comments(text)
    return json.dumps(rest, default=str) + "".join(comments)  # TOML has dates


def _without_empty(value: Any) -> Any:
    """The value without the lists and objects in it that are empty, or so become."""
    if isinstance(value, dict):
        inner = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in inner.items() if each not in ({}, [])}
    if isinstance(value, list):
        return [each for each in map(_without_empty, value) if each not in ({}, [])]
    return value
