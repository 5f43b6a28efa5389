"""Pinned providers: the text that each pin adds to a prompt.

Unchanged content gives identical bytes: the text has no clock, and lists have the order of the vault or of the
workspace. Only existing notes are named. A pin that fails has the code of its error; the others are not affected.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import NoteId, note_id
from workspaced_events.projections.workspace_fold import visible_tabs
from workspaced_events.schema.catalogue import ContextPinned, ProviderKind

from ...limits import ATTACHED_AT_ONCE, PROVIDED_CHANGES_MAX, PROVIDED_NOTES_MAX
from ...notes.note import Note
from ...ports.asking import VaultPort
from ...ports.questions import LinkTargets, Members, Names, Overview, Read
from ...ports.vault import NoteRef
from ...tools.note_answers import file_time
from ..model.blocks import BLANK_LINE, artifact_block
from ..model.token_estimate import estimate_tokens
from ..model.types import Artifact, Provided
from .environment import file_line
from .view_reader import Reading, Unavailable, checked

OTHERS: Final = "Not shown for want of room:"


def provide(pin: ContextPinned, reading: Reading) -> Provided:
    """The pin's present text.

    Raises:
        OSError: from `Reading.keep`.
    """
    try:
        found = _PROVIDERS[pin.kind](pin, reading)
    except (Unavailable, WorkspacedError) as error:
        return Provided(pin.id, pin.kind, failed=error.code)
    return Provided(pin.id, pin.kind, found.text_sha256, notes=tuple(dict.fromkeys(found.notes)))


_NEEDED: Final[dict[ProviderKind, str]] = {"text": "text", "note": "path", "folder": "folder"}


def checked_parameters(
    kind: ProviderKind, *, path: str | None, folder: str | None, text: str | None
) -> tuple[NoteId | None, str | None]:
    """Path and folder of a pin, if its kind takes these parameters and needs no other.

    The folder is its path from the vault's root, without a slash at its end; empty: the root itself.

    Raises:
        InvalidArgument: it does not.
        ActionError: a path is invalid.
    """
    needed = _NEEDED.get(kind)
    takes = {needed, "path"} if kind == "linked-files" else {needed}
    named = ", ".join(f"`{each}`" for each in ("text", "path", "folder") if each in takes) or "none of them"
    hint = f"Of `text`, `path` and `folder` this kind takes {named}."
    for name, value in (("text", text), ("path", path), ("folder", folder)):
        if value is not None and name not in takes:
            raise InvalidArgument(f"A pin of kind {kind!r} takes no `{name}`.", hint=hint)
        if value is None and name == needed:
            raise InvalidArgument(f"A pin of kind {kind!r} needs `{name}`.", hint=hint)
    if folder is not None:
        inner = folder.removesuffix("/")
        folder = note_id(f"{inner}/x.md").removesuffix("/x.md") if inner else ""
    return note_id(path) if path is not None else None, folder


class _Found(msgspec.Struct, frozen=True):
    text_sha256: str | None
    """None: no text."""
    notes: Sequence[NoteId] = ()


def _text(pin: ContextPinned, reading: Reading) -> _Found:
    assert pin.text_sha256 is not None, "checked"
    return _Found(pin.text_sha256 if checked(reading.texts(pin.text_sha256)) else None)


def _note(pin: ContextPinned, reading: Reading) -> _Found:
    assert pin.path is not None, "checked"
    note = reading.note(pin.path)
    return _Found(reading.keep_note(note) if note.source else None, [note.id])


def _folder(pin: ContextPinned, reading: Reading) -> _Found:
    assert pin.folder is not None, "checked"
    vault, _ = reading.names()
    found = vault.ask(Members(pin.folder.strip("/"), None, PROVIDED_NOTES_MAX))
    return _listed(reading, [("", found.notes)], found.total - len(found.notes))


def _workspace(_pin: ContextPinned, reading: Reading) -> _Found:
    vault, state = reading.names()
    active = [state.active.id] if state.active is not None else []
    tabs = [tab.note_id for tab in visible_tabs(state, reading.view.now, reading.view.state.clock_steps)]
    parts = (("Active note:", active), ("Pinned notes:", list(state.pins)), ("Open tabs:", tabs))
    known = _known(vault, [note for _, notes in parts for note in notes])
    return _listed(reading, [(head, [known[note] for note in notes if note in known]) for head, notes in parts])


def _open_files(_pin: ContextPinned, reading: Reading) -> _Found:
    vault, state = reading.names()
    active = [state.active.id] if state.active is not None else []
    tabs = (tab.note_id for tab in visible_tabs(state, reading.view.now, reading.view.state.clock_steps))
    return _contents(reading, list(_known(vault, [*active, *tabs, *state.pins]).values()))


def _linked_files(pin: ContextPinned, reading: Reading) -> _Found:
    vault, state = reading.whole()
    source = pin.path or (state.active.id if state.active is not None else None)
    if source is None:
        return _Found(None)
    note = reading.note(source)
    links = [link.target for link in note.markdown.links]
    targets = (each.note for each in vault.ask(LinkTargets(note.id, links)))
    linked = {each.id: each for each in targets if each is not None and each.id != note.id}
    found = _contents(reading, list(linked.values()))
    return _Found(found.text_sha256, [note.id, *found.notes])


def _recent_changes(_pin: ContextPinned, reading: Reading) -> _Found:
    vault, _ = reading.whole()
    changed = vault.ask(Overview(PROVIDED_CHANGES_MAX)).changed
    lines = [f"- {(file_time(ns) or '')[:10]} {file_line(ref)}" for ref, ns in changed]
    return _stored(reading, lines, [ref.id for ref, _ in changed])


_PROVIDERS: Final[dict[ProviderKind, Callable[[ContextPinned, Reading], _Found]]] = {
    "text": _text,
    "note": _note,
    "folder": _folder,
    "workspace": _workspace,
    "linked-files": _linked_files,
    "open-files": _open_files,
    "recent-changes": _recent_changes,
}


# -- contents --


def _contents(reading: Reading, refs: Sequence[NoteRef]) -> _Found:
    """Whole notes, the first ones, as many as have room; after them the names of the others."""
    blocks: list[str] = []
    room = reading.pinned_tokens if reading.view.sharing == "all" else 0
    for block in _blocks(reading, refs) if room else ():
        room -= estimate_tokens(block)
        if room < 0:
            break
        blocks.append(block)
    others = refs[len(blocks) :]
    if not blocks:
        return _listed(reading, [("", others)])
    lines, listed = _lines([(OTHERS, others)] if others else [])
    text = BLANK_LINE.join(filter(None, (*blocks, "\n".join(lines))))
    notes = [*(ref.id for ref in refs[: len(blocks)]), *listed]
    return _Found(reading.keep(text.encode()), notes)


def _blocks(reading: Reading, refs: Sequence[NoteRef]) -> Iterator[str]:
    """The notes that can be read, up to the first that cannot."""
    vault, _ = reading.whole()
    notes = [ref.id for ref in refs[:PROVIDED_NOTES_MAX]]
    for begin in range(0, len(notes), ATTACHED_AT_ONCE):
        for found in vault.ask(Read(notes[begin : begin + ATTACHED_AT_ONCE])):
            if not isinstance(found, Note):
                return
            revision = sha256(found.source).hexdigest()
            artifact = Artifact("note", found.id, found.title, revision)  # without a time, which changes alone
            yield artifact_block(artifact, found.text, fence=reading.fence)


# -- lists --


def _known(vault: VaultPort, notes: Iterable[NoteId]) -> dict[NoteId, NoteRef]:
    """The existing ones of these notes, distinct, in their order."""
    distinct = list(dict.fromkeys(notes))
    return {ref.id: ref for ref in vault.ask(Names(distinct)) if ref is not None}


def _listed(reading: Reading, parts: Iterable[tuple[str, Sequence[NoteRef]]], more: int = 0) -> _Found:
    return _stored(reading, *_lines(parts, more))


def _lines(parts: Iterable[tuple[str, Sequence[NoteRef]]], more: int = 0) -> tuple[list[str], list[NoteId]]:
    """Lists of files under their headings, together at most PROVIDED_NOTES_MAX, and these files.

    The last line counts the files left out; `more` adds files that are not in `parts`.
    """
    lines: list[str] = []
    shown: list[NoteId] = []
    for heading, refs in parts:
        fitting = refs[: PROVIDED_NOTES_MAX - len(shown)]
        more += len(refs) - len(fitting)
        shown += (ref.id for ref in fitting)
        lines += [heading] if heading and fitting else []
        lines += (f"- {file_line(ref)}" for ref in fitting)
    return [*lines, f"- and {more} more"] if more else lines, shown


def _stored(reading: Reading, lines: Sequence[str], notes: Sequence[NoteId]) -> _Found:
    return _Found(reading.keep("\n".join(lines).encode()) if lines else None, notes)
