"""What completion of a link offers: notes for a part of a name; headings behind `#`, blocks behind `^`."""

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from workspaced_events.ids import NoteId

from ..notes.name_keys import stem, without_ending
from ..notes.note import Note
from ..notes.search_text import search_form
from ..notes.sections import block_ids
from ..ports.questions import LinkTargets, NamesLike, Read, Resolve, ResolveFrom
from ..ports.vault import NoteRef
from ..ports.view import View

_NOT_IN_LINKS: Final = frozenset("#^|[]")
"""Characters that mean something else in a wikilink, so that no link can hold a name with one of them."""


class Completion(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that a link may lead to."""

    kind: Literal["file", "title", "alias", "heading", "block"]
    name: str
    """What fits: the file's name or path, the title, an alias, a heading, a block's id."""
    link: str
    """What to write between `[[` and `]]`, with the name behind `|` where a title or an alias was meant."""
    note: NoteRef
    line: int | None = None
    """The 1-based line of a heading or block."""


class Completions(msgspec.Struct, frozen=True, rename="camel"):
    """What a link may lead to, best first."""

    names: list[Completion]
    complete: bool
    """False: more may fit than is told, so ask again when the user has written more."""


def completions(view: View, written: str, source: NoteId | None, limit: int) -> Completions:
    """What a link that begins with `written` may lead to.

    Args:
        written: the text behind `[[`: a part of a name, or a name with `#` or `^` and a part of what follows.
        source: the note that the link stands in, which decides what a bare name means; None: one in the root.

    Raises:
        ToolError: what stands before `#` or `^` leads out of the vault.
    """
    name = name_before_part(written)
    if name is None:
        return _names(view, written, source, limit)
    note = _note(view, name, source)
    return part_completions(note, written, limit) if note is not None else Completions([], True)


def name_before_part(written: str) -> str | None:
    """The name before `#` or `^`, empty for the link's own note; None: no part of a note is asked for."""
    cuts = [at for at in (written.find("#"), written.find("^")) if at >= 0]
    return written[: min(cuts)].strip() if cuts else None


def part_completions(note: Note, written: str, limit: int) -> Completions:
    """The headings of `note`, or behind `^` its blocks, that a link may lead to; `written` has a `#` or `^`."""
    name = name_before_part(written)
    assert name is not None, "the caller has seen a part"
    rest = written.strip()[len(name) :]
    ref = NoteRef(note.id, note.title, note.id)
    is_block = rest.lstrip().lstrip("#").startswith("^")
    wanted = search_form(rest.strip().lstrip("#^"))
    parts = _blocks(note, ref, name) if is_block else _headings(note, ref, name)
    fitting = [each for each in parts if wanted in search_form(each.name)]
    fitting.sort(key=lambda each: not search_form(each.name).startswith(wanted))
    return Completions(fitting[:limit], len(fitting) <= limit)


# -- notes --


def _names(view: View, written: str, source: NoteId | None, limit: int) -> Completions:
    found = view.vault.ask(NamesLike(written, limit))
    hits = [hit for hit in found.names if not _NOT_IN_LINKS & set(without_ending(hit.note.id))]
    bare = [stem(hit.note.id) for hit in hits]
    targets = view.vault.ask(LinkTargets(source or NoteId(""), bare)) if hits else []
    names = []
    for hit, target in zip(hits, targets, strict=True):
        is_meant = target.note is not None and target.note.id == hit.note.id
        link = stem(hit.note.id) if is_meant else without_ending(hit.note.id)
        if (
            hit.kind != "file"
            and not _NOT_IN_LINKS & set(hit.name)
            and search_form(hit.name) != search_form(stem(link))
        ):
            link = f"{link}|{hit.name}"
        names.append(Completion(hit.kind, hit.name, link, hit.note))
    return Completions(names, found.complete and len(found.names) < limit)


# -- parts of a note --


def _note(view: View, name: str, source: NoteId | None) -> Note | None:
    if not name:
        meant: NoteRef | None = NoteRef(source, "", source) if source is not None else None
    elif source is not None and isinstance(view.vault.ask(Read([source]))[0], Note):
        meant = view.vault.ask(ResolveFrom(f"[[{name}]]", source)).note
    else:
        meant = view.vault.ask(Resolve(name)).note
    if meant is None:
        return None
    [found] = view.vault.ask(Read([meant.id]))
    return found if isinstance(found, Note) else None


def _headings(note: Note, ref: NoteRef, name: str) -> Iterator[Completion]:
    for heading in note.markdown.headings:
        # Obsidian compares headings without these marks, so a link without them leads there.
        text = " ".join("".join(" " if each in _NOT_IN_LINKS else each for each in heading.text).split())
        if text:
            yield Completion("heading", heading.text, f"{name}#{text}", ref, heading.line)


def _blocks(note: Note, ref: NoteRef, name: str) -> Iterator[Completion]:
    for block, line in block_ids(note):
        yield Completion("block", block, f"{name}#^{block}", ref, line)
