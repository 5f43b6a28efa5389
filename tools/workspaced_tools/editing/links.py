"""Links with the ranges where they stand: those of a note, and those that lead to it."""

from collections.abc import Sequence

import msgspec

from workspaced_events.ids import NoteId, is_markdown

from ..errors import NoteNotFound, ReadFailed
from ..notes.markdown import Link
from ..notes.note import Note
from ..notes.sections import Section, block_section, heading_section
from ..ports.questions import Incoming, LinkTargets, Read
from ..ports.vault import NoteRef
from ..ports.view import View
from .positions import Encoding, Positions, Range


class PlacedLink(msgspec.Struct, frozen=True):
    """A link, and where it stands in the whole text, front matter included."""

    link: Link
    range: Range


class WrittenLink(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A link as a text has it: its target is percent-decoded, without heading, block and alias."""

    target: str
    wiki: bool = True
    """True for `[[target]]`, false for `[text](target)`."""
    heading: str | None = None
    block: str | None = None


class Wanted(msgspec.Struct, frozen=True):
    """How much is told of links."""

    limit: int
    """At most so many links."""
    encoding: Encoding = "utf-16"
    """What columns count."""
    parts: bool = False
    """Whether the lines of headings and blocks are looked up, which reads the targets."""
    excerpt_chars: int = 0
    """How much of each target is told, which reads it."""


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
    excerpt: str | None = None
    """How the target, or the part of it that is named, begins, if that was asked for."""


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


def placed_links(note: Note, encoding: Encoding) -> list[PlacedLink]:
    """Every link of the note, in the order of the text; those of a canvas's cards stand nowhere in its file."""
    links = note.markdown.links if is_markdown(note.id) else ()
    if not links:
        return []
    positions = Positions(note.text, encoding)
    return [
        PlacedLink(each, positions.range(each.start, each.start + len(each.raw.encode(errors="replace"))))
        for each in links
    ]


def outgoing(
    view: View, note: NoteId, written: Sequence[WrittenLink] | None, wanted: Wanted
) -> list[OutgoingLink]:
    """What the links of a note lead to, in the order of the text.

    Args:
        written: links of the note's unsaved text, instead of those in the file.

    Raises:
        NoteNotFound, ReadFailed: without `written`: the note cannot be read.
    """
    if written is not None:
        found = [OutgoingLink(each, None, False) for each in written]
    else:
        found = [
            OutgoingLink(as_written(each.link), None, False, each.link.raw, each.range)
            for each in placed_links(_read(view, note), wanted.encoding)[: wanted.limit]
        ]
    names = [each.link.target for each in found]
    targets = view.vault.ask(LinkTargets(note, names)) if names else []
    found = [
        msgspec.structs.replace(each, note=target.note, ambiguous=target.ambiguous)
        for each, target in zip(found, targets, strict=True)
    ]
    return _with_parts(view, found, wanted) if wanted.parts or wanted.excerpt_chars else found


def incoming(view: View, note: NoteId, wanted: Wanted) -> IncomingPlaces:
    """The first links from other notes to `note`, by source and place."""
    rows = view.vault.ask(Incoming(note, wanted.limit))
    sources = list(dict.fromkeys(row.source.id for row in rows.links))
    contexts = {(row.source.id, row.line): row.context for row in rows.links}
    links: list[IncomingPlace] = []
    for read in view.vault.ask(Read(sources)) if sources else []:
        if isinstance(read, Note):
            links += _places(view, read, note, contexts, wanted.encoding)
    return IncomingPlaces(links[: wanted.limit], max(rows.total, len(links)))


def _places(
    view: View, source: Note, note: NoteId, contexts: dict[tuple[NoteId, int], str], encoding: Encoding
) -> list[IncomingPlace]:
    """The links in `source` that lead to `note`, as its file has them now."""
    placed = placed_links(source, encoding)
    names = [each.link.target for each in placed]
    ref = NoteRef(source.id, source.title, source.id)
    return [
        IncomingPlace(
            *(ref, as_written(each.link), each.link.raw, each.range),
            contexts.get((source.id, each.link.line), each.link.raw),
        )
        for each, target in zip(placed, view.vault.ask(LinkTargets(source.id, names)), strict=True)
        if target.note is not None and target.note.id == note
    ]


def _with_parts(view: View, found: Sequence[OutgoingLink], wanted: Wanted) -> list[OutgoingLink]:
    """The links with the places of the parts that they name, and with excerpts. Reads each target once."""
    notes = list(
        dict.fromkeys(
            each.note.id
            for each in found
            if each.note is not None and (wanted.excerpt_chars or each.link.heading or each.link.block)
        )
    )
    read = dict(zip(notes, view.vault.ask(Read(notes)), strict=True)) if notes else {}
    links = []
    for each in found:
        target = read.get(each.note.id) if each.note is not None else None
        links.append(_with_part(each, target, wanted) if isinstance(target, Note) else each)
    return links


def _with_part(link: OutgoingLink, target: Note, wanted: Wanted) -> OutgoingLink:
    part = part_of(target, link.link)
    excerpt = None
    if wanted.excerpt_chars:
        body = target.body
        begun = body[part.start : part.end] if part is not None else body
        excerpt = begun[: wanted.excerpt_chars].strip()
    return msgspec.structs.replace(link, part_line=part.start_line if part is not None else None, excerpt=excerpt)


def part_of(note: Note, link: WrittenLink) -> Section | None:
    """The heading's section or the block that the link names in `note`; None: it names none, or there is none."""
    if link.block:
        return block_section(note, link.block)
    return heading_section(note, link.heading) if link.heading else None


def as_written(link: Link) -> WrittenLink:
    """The link as a document has it, without its place."""
    return WrittenLink(link.target, link.wiki, link.heading, link.block)


def _read(view: View, note: NoteId) -> Note:
    [found] = view.vault.ask(Read([note]))
    if isinstance(found, Note):
        return found
    if found.code == ReadFailed.code:
        raise ReadFailed(found.message, hint="Ask again, or look whether the file can be opened.")
    raise NoteNotFound(found.message, hint="Give the path of a note in the vault.")
