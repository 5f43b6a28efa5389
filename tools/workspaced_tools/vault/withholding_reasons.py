"""Why a note is not volunteered, for people."""

import os
from contextlib import suppress
from typing import Literal

import msgspec

from workspaced_events.ids import NoteId

from ..errors import ToolError
from ..notes.note import Level
from ..notes.privacy_flag import HEAD_BYTES, flag_line, not_understood
from .files.note_levels import NoteLevels
from .files.safe_open import VaultRoot


class Reason(msgspec.Struct, frozen=True):
    """One reason why a note is not volunteered, for people."""

    kind: Literal["rule", "frontMatter", "settling", "missing", "unknown", "attachment", "gitignore"]
    detail: str
    level: Literal["never", "on-request"] = "never"
    """How far the note may go by this reason alone."""


class UnclearFlag(msgspec.Struct, frozen=True):
    """A note that its front matter withholds by a property `workspaced` that nobody can understand."""

    note: NoteId
    line: int | None
    says: str


def unclear_flags(root: VaultRoot, levels: NoteLevels) -> list[UnclearFlag]:
    """Those of the notes that front matter withholds, in order of path. Opens each of these files."""
    found = []
    for note in sorted(levels.private):
        line, says = _flag(root, note)
        if says is not None:
            found.append(UnclearFlag(note, line, says))
    return found


def rule_reasons(levels: NoteLevels, path: NoteId) -> list[Reason]:
    """The rule that denies a path, if there is one."""
    rule, level = levels.policy.why(path), levels.policy.level(path)
    return [] if rule is None else [Reason("rule", rule, "never" if level is Level.NEVER else "on-request")]


def reasons(root: VaultRoot, levels: NoteLevels, note: NoteId, level: Level) -> list[Reason]:
    """All reasons why the note at its present path, which is of this level, is not volunteered. Empty if it is.

    Opens a file whose front matter withholds the note.
    """
    rules, found = rule_reasons(levels, note), []
    if flagged := _flagged(root, levels, note):
        found.append(flagged)
    elif note in levels.unsettled:
        never = levels.level(note) is Level.NEVER
        detail = "its file changed a moment ago, and may still be being written"
        found.append(Reason("settling", detail, "never" if never else "on-request"))
    elif not rules and levels.was_withheld(note):
        found.append(Reason("frontMatter", "its front matter withheld it, as the log remembers"))
    elif not rules and levels.is_hidden(note):
        found.append(Reason("missing", "its file is gone, and it may have moved to where it is withheld"))
    elif root.is_left_out(note):
        found.append(Reason("gitignore", "a .gitignore file of the vault leaves it out"))
    elif level is Level.NEVER and not any(each.level == "never" for each in rules):
        found.append(Reason("unknown", "there is no such file, and nothing is known of one"))
    return [*rules, *found]


def _flagged(root: VaultRoot, levels: NoteLevels, note: NoteId) -> Reason | None:
    """The reason in the note's front matter, as it was last read."""
    if not levels.is_private(note):
        return None
    line, unclear = _flag(root, note)
    never = levels.is_private(note, Level.ON_REQUEST)
    detail = f"its front matter{f', line {line},' if line else ''} withholds it, as it was last read"
    if unclear is not None:
        detail += f"; {unclear!r} is not understood, so it is private: write private, on-request or all"
    return Reason("frontMatter", detail, "never" if never else "on-request")


def _flag(root: VaultRoot, note: NoteId) -> tuple[int | None, str | None]:
    """The line of the property `workspaced` and, if it is not understood, what it says; None: there is none."""
    with suppress(ToolError, OSError):
        descriptor = root.open_note(note)
        try:
            head = os.read(descriptor, HEAD_BYTES)
            return flag_line(head), not_understood(head)
        finally:
            os.close(descriptor)
    return None, None
