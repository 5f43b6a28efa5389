"""Links in the text of the editor: what is under the cursor, where it leads, and what leads here."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from lsprotocol import types

from workspaced_tools.editing.links import PlacedLink, WrittenLink, as_written, part_of
from workspaced_tools.editing.positions import Position, Range
from workspaced_tools.notes.markdown import Link
from workspaced_tools.notes.note import Note
from workspaced_tools.notes.privacy_flag import HEAD_BYTES, flag_line, not_understood

from ..limits import LSP_ANSWER_S
from .daemons import Place
from .documents import uri_of
from .session import Session, Sight

_LSP_HOVER_CHARS: Final = 800
_WITHIN: Final = re.compile(r"\[\[(?P<wiki>[#^][^\]|\n]*)(?:\|[^\]\n]*)?\]\]|\[[^\]\n]*\]\((?P<path>#[^()\s]*)\)")
"""A link to a part of its own note."""


def position(at: types.Position) -> Position:
    """The editor's position as ours."""
    return Position(at.line, at.character)


def lsp_range(at: Range) -> types.Range:
    """Our range as the editor's."""
    start, end = at.start, at.end
    return types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))


def given_range(at: dict[str, Any]) -> types.Range:
    """A range of the daemon's answer as the editor's."""
    return types.Range(types.Position(**at["start"]), types.Position(**at["end"]))


def line_start(line: int | None) -> types.Range:
    """The beginning of a line, counted from 1; None: of the document."""
    start = types.Position((line or 1) - 1, 0)
    return types.Range(start, start)


def wire(link: Link) -> dict[str, Any]:
    """A link as `workspaced/links` takes it."""
    return {"target": link.target, "wiki": link.wiki, "heading": link.heading, "block": link.block}


def link_at(sight: Sight, at: types.Position) -> PlacedLink | None:
    """The link under the cursor, in the text that the editor shows."""
    where = position(at)
    for each in sight.document.links(sight.place.note):
        if each.range.start <= where <= each.range.end:
            return each
    return None


def place_uri(session: Session, place: Place, note: str) -> str:
    """The URI of another note of the vault, as the editor calls it if it is open."""
    path = f"{place.root.rstrip('/')}/{note}"
    document = session.documents.at(path)
    return document.uri if document is not None else uri_of(path)


# -- definition, hover --


async def definition(session: Session, uri: str, at: types.Position) -> types.Location | None:
    """The note, heading or block that the link under the cursor leads to."""
    sight = await session.sight(uri)
    if sight is None:
        return None
    link = link_at(sight, at)
    if link is None:
        line = _own_part(sight, at)
        return types.Location(uri, line_start(line)) if line is not None else None
    found = await session.targets(sight.place, [wire(link.link)], parts=True)
    if not found or found[0]["note"] is None:
        return None
    note = found[0]["note"]["id"]
    target = place_uri(session, sight.place, note)
    document = session.documents.get(target)
    line = found[0]["partLine"]
    if document is not None and document.text is not None:  # it may be unsaved
        part = part_of(document.note(note), as_written(link.link))
        line = part.start_line if part is not None else None
    return types.Location(target, line_start(line))


async def hover(session: Session, uri: str, at: types.Position) -> types.Hover | None:
    """How what the link under the cursor leads to begins."""
    sight = await session.sight(uri)
    link = link_at(sight, at) if sight is not None else None
    if sight is None or link is None:
        return None
    found = await session.targets(sight.place, [wire(link.link)], parts=True, excerptChars=_LSP_HOVER_CHARS)
    if not found or found[0]["note"] is None:
        return None
    note, excerpt = found[0]["note"], found[0]["excerpt"]
    text = f"**{note['title']}** — `{note['path']}`\n\n{excerpt or ''}"
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), lsp_range(link.range))


def _own_part(sight: Sight, at: types.Position) -> int | None:
    """The 1-based line of the part of its own note that the link under the cursor names."""
    document = sight.document
    positions, where = document.positions, position(at)
    column = positions.offset(where) - positions.offset(Position(where.line, 0))
    line = positions.line(where.line)
    for found in _WITHIN.finditer(line):
        first, last = (len(line[:each].encode()) for each in found.span())
        if first <= column <= last:
            name = (found["wiki"] or found["path"]).lstrip("#")
            is_block = name.startswith("^")
            link = WrittenLink("", heading=None if is_block else name, block=name[1:] if is_block else None)
            part = part_of(document.note(sight.place.note), link)
            return part.start_line if part is not None else None
    return None


# -- what leads here --


class FoundLink(NamedTuple):
    """A link to a note, in a file or in the text of an open document."""

    uri: str
    note: str
    """The note that it stands in."""
    raw: str
    link: dict[str, Any]
    range: types.Range


async def links_to(
    session: Session, place: Place, note: str, timeout_s: float
) -> tuple[list[FoundLink], int] | None:
    """The links of other notes to `note`, and how many more there are. Of a document that is open the text in the
    editor counts. None: the daemon does not say."""
    params = {"note": note, "direction": "in", "encoding": session.documents.encoding}
    answer = await session.ask(place, "workspaced/links", params, timeout_s)
    if answer is None:
        return None
    given = answer["links"]
    open_notes = {other.place.note: other for other in _open_in(session, place)}
    found = [
        FoundLink(
            *(place_uri(session, place, each["note"]["id"]), each["note"]["id"], each["raw"], each["link"]),
            given_range(each["range"]),
        )
        for each in given
        if each["note"]["id"] not in open_notes
    ]
    for name, other in open_notes.items():
        if name != note:
            found += await own_links_to(session, other, note, timeout_s)
    return found, answer["total"] - len(given)


async def own_links_to(session: Session, sight: Sight, note: str, timeout_s: float) -> list[FoundLink]:
    """The links to `note` in the text of an open document."""
    links = sight.document.links(sight.place.note)
    targets = await session.targets(sight.place, [wire(each.link) for each in links], timeout_s) or []
    return [
        FoundLink(*(sight.document.uri, sight.place.note, each.link.raw, wire(each.link)), lsp_range(each.range))
        for each, target in zip(links, targets, strict=False)
        if target["note"] is not None and target["note"]["id"] == note
    ]


def _open_in(session: Session, place: Place) -> Iterator[Sight]:
    """The open documents that are notes of the same vault."""
    for document in session.documents:
        other = session.daemons.place(document.real) if document.real is not None else None
        if other is not None and document.text is not None and other[:2] == place[:2]:
            yield Sight(document, other)


async def references(session: Session, uri: str, at: types.Position) -> list[types.Location] | None:
    """The links to the note that the link under the cursor leads to; elsewhere those to this note."""
    sight = await session.sight(uri)
    if sight is None:
        return None
    note = await meant_note(session, sight, at)
    found = await links_to(session, sight.place, note, LSP_ANSWER_S) if note is not None else None
    return [types.Location(each.uri, each.range) for each in found[0]] if found is not None else None


async def meant_note(session: Session, sight: Sight, at: types.Position) -> str | None:
    """The note that the link under the cursor leads to; elsewhere this note. None: the link leads nowhere."""
    link = link_at(sight, at)
    if link is None:
        return sight.place.note
    found = await session.targets(sight.place, [wire(link.link)])
    note: str | None = found[0]["note"]["id"] if found and found[0]["note"] is not None else None
    return note


# -- all links of a document --


async def document_links(session: Session, uri: str) -> list[types.DocumentLink] | None:
    """The links of a document that lead to a note."""
    sight = await session.sight(uri)
    if sight is None:
        return None
    links = sight.document.links(sight.place.note)
    targets = await session.targets(sight.place, [wire(each.link) for each in links])
    return [
        types.DocumentLink(lsp_range(each.range), place_uri(session, sight.place, target["note"]["id"]))
        for each, target in zip(links, targets or [], strict=False)
        if target["note"] is not None
    ]


async def problems(session: Session, uri: str) -> list[types.Diagnostic]:
    """What is wrong with the front matter of a document, and with its links as far as the daemon says."""
    sight = await session.sight(uri)
    if sight is None:
        return []
    links = sight.document.links(sight.place.note)
    targets = await session.targets(sight.place, [wire(each.link) for each in links], parts=True)
    found = []
    for each, target in zip(links, targets or [], strict=False):
        problem = _problem(target)
        if problem is not None:
            text, severity = problem
            found.append(types.Diagnostic(lsp_range(each.range), text, severity, source="workspaced"))
    return [*_front_matter(sight.document.note(sight.place.note)), *found]


def _front_matter(note: Note) -> list[types.Diagnostic]:
    found = []
    if note.front_matter.problem is not None:
        found.append((note.front_matter.problem, types.DiagnosticSeverity.Information, 1))
    head = note.source[:HEAD_BYTES]
    if note.is_markdown and (unclear := not_understood(head)) is not None:
        text = f"{unclear!r} is not understood, so the note is private. Write private, on-request or all."
        found.append((text, types.DiagnosticSeverity.Warning, flag_line(head) or 1))
    return [
        types.Diagnostic(
            types.Range(types.Position(line - 1, 0), types.Position(line, 0)), text, severity, source="workspaced"
        )
        for text, severity, line in found
    ]


def _problem(target: dict[str, Any]) -> tuple[str, types.DiagnosticSeverity] | None:
    link, note = target["link"], target["note"]
    if target["ambiguous"]:
        return f"Several notes are called {link['target']!r}.", types.DiagnosticSeverity.Information
    if note is None:
        text = f"No note is called {link['target']!r}, or it is withheld."
        return text, types.DiagnosticSeverity.Warning
    part = link.get("heading") or link.get("block")
    if part and target["partLine"] is None:
        return f"{note['path']} has no heading or block {part!r}.", types.DiagnosticSeverity.Information
    return None
