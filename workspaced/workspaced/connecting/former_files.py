"""What a settings file was before us: when it is kept beside, and when it is given back."""

import json
from pathlib import Path
from typing import Any

from . import hooks, json_text, servers
from .json_text import Unmergeable
from .runtimes import Runtime
from .settings_files import Change, backups


def with_backup(spec: Runtime, change: Change) -> Change:
    """The change, with a backup if there is none of the file before us; a file that only we filled needs none."""
    path, before = change.path, change.before
    if before is None:
        return change
    texts = [text for _path, text in backups(path)]
    others = _without_ours(spec, path, before)
    if others == before:
        return change._replace(keeps_backup=before not in texts)
    return change._replace(keeps_backup=not texts and _rest(spec, path, others) != "{}")


def as_before(spec: Runtime, change: Change) -> Change:
    """The change, to the bytes of a backup that says the same; or to no file if only we filled it."""
    path, after = change.path, change.after
    if not change.is_needed or after is None:
        return change
    former = [(backup, text) for backup, text in backups(path) if _without_ours(spec, path, text) == text]
    rest = _rest(spec, path, after)
    for backup, text in reversed(former):
        if _rest(spec, path, text) == rest:
            return change._replace(after=text, old_backup=backup)
    return change._replace(after=None) if rest == "{}" and not former else change


def _without_ours(spec: Runtime, path: Path, text: str) -> str:
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
    places = (spec.servers.key, hooks.KEY)
    rest = {
        key: value
        for key, value in {**whole, hooks.KEY: _without_empty(whole.get(hooks.KEY))}.items()
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
