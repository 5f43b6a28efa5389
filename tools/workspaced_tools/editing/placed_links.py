"""The links of a note with the ranges that they take in the file."""

import msgspec

from workspaced_events.ids import is_markdown

from ..notes.markdown import Link
from ..notes.note import Note
from .positions import Encoding, Positions, Range


class PlacedLink(msgspec.Struct, frozen=True):
    """A link, and where it stands in the whole text, front matter included."""

    link: Link
    range: Range


def placed_links(note: Note, encoding: Encoding = "utf-16") -> list[PlacedLink]:
    """Every link of the note, in the order of the text; those of a canvas's cards stand nowhere in its file."""
    links = note.markdown.links if is_markdown(note.id) else ()
    if not links:
        return []
    positions = Positions(note.text, encoding)
    return [
        PlacedLink(each, positions.range(each.start, each.start + len(each.raw.encode(errors="replace"))))
        for each in links
    ]
