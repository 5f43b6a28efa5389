"""Plans what connecting a program, or taking that back, changes in its settings. Writes nothing.

A plan is made for all files of a program or for none.

What a settings file was before us is kept beside it, and given back where nothing else changed it.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import SettingsInvalid
from . import deny_rules, hooks, json_text, servers, toml_text
from .command_lines import bridge_line, hook_line
from .json_text import Unmergeable
from .runtimes import RUNTIMES, Runtime
from .settings_files import Change, backups, read, read_ledger


def plan_connection(runtime: str, vault: str, *, denied: Sequence[str] = ()) -> list[Change]:
    """The changes that connect a program with a vault: its MCP entry, and where it has them its hooks, and rules
    against reading what is withheld.

    Args:
        denied: the setting `deny`.

    Raises:
        SettingsInvalid: a file cannot be read or changed without loss, or the program would read another path.
        UnicodeEncodeError: the vault's path is not UTF-8.
    """
    spec = RUNTIMES[runtime]
    argv, at = bridge_line(vault), spec.servers
    # The program would take a part of a word for a variable.
    for word in argv:
        if spec.variables is not None and (found := spec.variables.search(word)) is not None:
            raise SettingsInvalid(
                f"{spec.title} would read {found[0]!r} in {word!r} as a variable.",
                hint="Name the folder by a symbolic link to it that has another name.",
            )
    files = _Files(spec, lambda: hand_made(runtime, vault, argv))

    def with_entry(text: str) -> str:
        whole = servers.parse(at, text)
        name = servers.name_for(at, whole, vault)
        return servers.add(at, text, name, servers.wanted_argv(at, whole, name, vault))

    files.edit(at.path(), with_entry)
    if (hook := spec.hooks) is not None:
        line = hook_line(runtime, vault)
        files.edit(hook.path(), lambda text: hooks.add(hook, text, line, vault))
    if spec.has_deny_rules and hook is not None:
        rules = deny_rules.wanted(vault, denied)
        former = deny_rules.of_vault(read_ledger().rules(hook.path()), vault)
        gone = [each for each in former if each not in rules]
        files.edit(hook.path(), lambda text: deny_rules.add(deny_rules.remove(text, gone), rules))
    return [with_backup(spec, each) for each in files.changes()]


def plan_removal(runtime: str, vault: str | None = None, *, only: Path | None = None) -> list[Change]:
    """The changes that take out what is ours for a vault; None: for all.

    A file that then holds what it held before us gets its former bytes; one that only we filled goes.

    Args:
        only: this file alone is changed.

    Raises:
        SettingsInvalid: a file cannot be read or changed without loss.
    """
    spec = RUNTIMES[runtime]
    by_hand = f"every entry whose command is `workspaced`, in {spec.title}'s settings\n"
    files = _Files(spec, lambda: by_hand, "Take out", only)
    at = spec.servers

    def is_meant(each: servers.Server | hooks.Hook) -> bool:
        return vault is None or each.command.serves(vault)

    def without_entries(text: str) -> str:
        found = servers.find(at, servers.parse(at, text))
        return servers.remove(at, text, [each.name for each in found if is_meant(each)])

    files.edit(at.path(), without_entries)
    if (hook := spec.hooks) is not None:
        files.edit(hook.path(), lambda text: hooks.remove(hook, text, is_meant))
    if spec.has_deny_rules and hook is not None:
        ours = read_ledger().rules(hook.path())
        gone = list(ours if vault is None else deny_rules.of_vault(ours, vault))
        files.edit(hook.path(), lambda text: deny_rules.remove(text, gone))
    return [as_before(spec, each) for each in files.changes()]


def hand_made(runtime: str, vault: str, argv: list[str]) -> str:
    """What the files need, to put in by hand: each complete for an empty file."""
    spec = RUNTIMES[runtime]
    at, name, fields = spec.servers, servers.name_for(spec.servers, {}, vault), servers.entry(spec.servers, argv)
    if at.syntax == "toml":
        entry = toml_text.table(at.key, name, fields)
    else:
        entry = json.dumps({at.key: {name: fields}}, ensure_ascii=False, indent=2) + "\n"
    text = f"in {at.path()}:\n{entry}"
    if spec.hooks is not None:
        whole = hooks.settings(spec.hooks, hook_line(runtime, vault))
        text += f"in {spec.hooks.path()}:\n{json.dumps(whole, ensure_ascii=False, indent=2)}\n"
    return text


def check_is_read(spec: Runtime, path: Path, text: str) -> None:
    """Raises Unmergeable: the program is not known to read the file as it is."""
    if not spec.comments and path.suffix == ".json" and not json_text.is_plain(text):
        raise Unmergeable(f"has comments or final commas, which {spec.title} is not known to read")


class _Files:
    """The files of one plan, each read once. `by_hand` says what a user puts in where we cannot."""

    def __init__(
        self, spec: Runtime, by_hand: Callable[[], str], verb: str = "Put in", only: Path | None = None
    ) -> None:
        self._spec = spec
        self._only = only
        self._by_hand = by_hand
        self._verb = verb
        self._texts: dict[Path, tuple[str | None, str]] = {}

    def edit(self, path: Path, change: Callable[[str], str]) -> None:
        """Raises SettingsInvalid: the file cannot be read, or not be changed without loss."""
        if self._only not in (None, path):
            return
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
