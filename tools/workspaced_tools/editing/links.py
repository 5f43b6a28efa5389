"""Links with the ranges where they stand: those of a note, and those that lead to it."""

from collections.abc import Sequence

import msgspec

from workspaced_events.ids import NoteId

from ..errors import NoteNotFound, ReadFailed
from ..notes.markdown import Link
from ..notes.note import Note
from ..notes.sections import block_section, heading_section
from ..ports.questions import Incoming, LinkTargets, Read
from ..ports.vault import LinkName, LinkTarget, NoteRef
from ..ports.view import View
from .placed_links import placed_links
from .positions import Range


class WrittenLink(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A link as a text has it: its target is percent-decoded, without heading, block and alias."""

    target: str
    wiki: bool = True
    """True for `[[target]]`, false for `[text](target)`."""
    heading: str | None = None
    block: str | None = None


class OutgoingLink(msgspec.Struct, frozen=True, rename="camel"):
    """A link of a note with what it leads to."""

    link: WrittenLink
    note: NoteRef | None
    """None: no note that the client is shown has the name, or several have (`ambiguous`)."""
    ambiguous: bool
    raw: str | None = None
    """The link's text, if it was read from the file."""
    range: Range | None = None
    """Where it stands in the file, if it was read from there."""
    part_line: int | None = None
    """The 1-based line of the heading or block in the target; None: none is named, there is none, or it was not
    asked for."""


class IncomingPlace(msgspec.Struct, frozen=True, rename="camel"):
    """A link to a note, and where it stands."""

    note: NoteRef
    """The note that it stands in."""
    link: WrittenLink
    raw: str
    range: Range
    context: str
    """The line, trimmed; at most 240 characters around the link."""


class IncomingPlaces(msgspec.Struct, frozen=True, rename="camel"):
    """The links to a note."""

    links: list[IncomingPlace]
    total: int
    """The number of all links from other notes."""


def outgoing(
    view: View, note: NoteId, written: Sequence[WrittenLink] | None, *, limit: int, parts: bool
) -> list[OutgoingLink]:
    """What the links of a note lead to, in the order of the text.

    Args:
        written: links of the note's unsaved text, instead of those in the file.
        limit: at most so many links of the file.
        parts: whether the lines of headings and blocks are looked up, which reads the targets.

    Raises:
        NoteNotFound, ReadFailed: without `written`: the note cannot be read.
    """
    if written is not None:
        found = [OutgoingLink(each, None, False) for each in written]
    else:
        found = [
            OutgoingLink(_written(each.link), None, False, each.link.raw, each.range)
            for each in placed_links(_read(view, note))[:limit]
        ]
    names = [LinkName(each.link.target, each.link.wiki) for each in found]
    targets: Sequence[LinkTarget] = view.vault.ask(LinkTargets(note, names)) if names else []
    lines = _part_lines(view, found, targets) if parts else [None] * len(found)
    return [
        msgspec.structs.replace(each, note=target.note, ambiguous=target.ambiguous, part_line=line)
        for each, target, line in zip(found, targets, lines, strict=True)
    ]


def incoming(view: View, note: NoteId, limit: int) -> IncomingPlaces:
    """The first `limit` links from other notes to `note`, by source and place."""
    rows = view.vault.ask(Incoming(note, limit))
    sources = list(dict.fromkeys(row.source.id for row in rows.links))
    contexts = {(row.source.id, row.line): row.context for row in rows.links}
    links: list[IncomingPlace] = []
    for read in view.vault.ask(Read(sources)) if sources else []:
        if isinstance(read, Note):
            links += _places(view, read, note, contexts)
    return IncomingPlaces(links[:limit], max(rows.total, len(links)))


def _places(
    view: View, source: Note, note: NoteId, contexts: dict[tuple[NoteId, int], str]
) -> list[IncomingPlace]:
    """The links in `source` that lead to `note`, as its file has them now."""
    placed = placed_links(source)
    names = [LinkName(each.link.target, each.link.wiki) for each in placed]
    ref = NoteRef(source.id, source.title, source.id)
    return [
        IncomingPlace(
            *(ref, _written(each.link), each.link.raw, each.range),
            contexts.get((source.id, each.link.line), each.link.raw),
        )
        for each, target in zip(placed, view.vault.ask(LinkTargets(source.id, names)), strict=True)
        if target.note is not None and target.note.id == note
    ]


def _part_lines(view: View, found: Sequence[OutgoingLink], targets: Sequence[LinkTarget]) -> list[int | None]:
    """The lines of the headings and blocks that the links name."""
    notes = [
        target.note.id if target.note is not None and (each.link.heading or each.link.block) else None
        for each, target in zip(found, targets, strict=True)
    ]
    wanted = list(dict.fromkeys(note for note in notes if note is not None))
    read = dict(zip(wanted, view.vault.ask(Read(wanted)), strict=True)) if wanted else {}
    lines: list[int | None] = []
    for each, note in zip(found, notes, strict=True):
        target = read.get(note) if note is not None else None
        lines.append(part_line(target, each.link) if isinstance(target, Note) else None)
    return lines


def part_line(note: Note, link: WrittenLink) -> int | None:
    """The 1-based line of the heading or block that the link names in `note`; None: there is none."""
    section = None
    if link.block:
        section = block_section(note, link.block)
    elif link.heading:
        section = heading_section(note, link.heading)
    return section.start_line if section is not None else None


def _written(link: Link) -> WrittenLink:
    return WrittenLink(link.target, link.wiki, link.heading, link.block)


def _read(view: View, note: NoteId) -> Note:
    [found] = view.vault.ask(Read([note]))
    if isinstance(found, Note):
        return found
    if found.code == ReadFailed.code:
        raise ReadFailed(found.message)
    raise NoteNotFound(found.message, hint="Give the path of a note in the vault.")
