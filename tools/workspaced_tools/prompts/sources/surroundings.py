"""A selection or a cursor with the text around it.

The block's content is a piece of the note with marks: `<selection_start/>` and `<selection_end/>` around a
selection, `<cursor_position/>` for a cursor. No text can fake a mark, and each mark occurs once;
`untrusted_text.unescape_body` restores the text between them.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import regex

from ...limits import SURROUNDINGS_CHARS_MAX
from ...notes.name_keys import stem
from ..model.types import Artifact, Texts
from ..model.untrusted_text import render_marked
from .environment import file_fields

SELECTION_MARKS: Final = ("selection_start", "selection_end")
CURSOR_MARKS: Final = ("cursor_position",)
SHORTENED: Final = f"what stands before or after it is cut to {SURROUNDINGS_CHARS_MAX} characters"
LEFT_OUT: Final = "what stands before and after it is left out"
_CLUSTER_CHARS_MAX: Final = 64
"""A cut moves by at most this much to the boundary of a character that consists of several code points."""
KEPT_CHARS_MAX: Final = SURROUNDINGS_CHARS_MAX + _CLUSTER_CHARS_MAX
"""The stored length of the text on each side: enough to know that the shown text is shortened."""
_PLACE: Final = regex.compile(r"(?P<path>.+)#L(?P<first>[0-9]{1,9})-L(?P<last>[0-9]{1,9})", regex.DOTALL)
_CLUSTER: Final = regex.compile(r"\X")


class Place(NamedTuple):
    """The place in the id of selected text."""

    path: str
    first: int
    last: int
    """`first` and `last` are line numbers, from 1 on, both included."""


class Around(NamedTuple):
    before: str
    after: str
    is_shortened: bool


def place_of(artifact_id: str) -> Place | None:
    """Parses `path#Lx-Ly`; None for any other id."""
    found = _PLACE.fullmatch(artifact_id)
    if found is None:
        return None
    first, last = int(found["first"]), int(found["last"])
    return Place(found["path"], first, last) if 1 <= first <= last else None


def around(artifact: Artifact, texts: Texts) -> Around:
    """The end of the text before the artifact and the beginning of the text after it, in whole characters.

    Raises:
        NotRecorded: from `texts`.
    """
    before = texts(artifact.before) if artifact.before else ""
    after = texts(artifact.after) if artifact.after else ""
    is_shortened = max(len(before), len(after)) > SURROUNDINGS_CHARS_MAX
    return Around(_end_of(before), _beginning_of(after), is_shortened)


def is_cursor(artifact: Artifact) -> bool:
    """Whether the selection is empty and its place is known."""
    return artifact.kind == "selected_text" and artifact.bytes == 0 and bool(artifact.before or artifact.after)


def marked_block(artifact: Artifact, text: str, shown: Around, *, fence: str = "") -> str:
    """The block of a selection, or of a cursor if `text` is empty. `fence`: as in blocks.artifact_block."""
    place = place_of(artifact.id)
    path = place.path if place is not None else artifact.id
    title = artifact.title if artifact.title not in ("", artifact.id) else stem(path)
    fields = file_fields(path, title)
    if place is not None:
        fields["line_numbers"] = f"{place.first}-{place.last}" if place.first < place.last else f"{place.first}"
    fence = f"{fence}\n{artifact.id}\n{artifact.revision}" if fence else ""
    if text:
        pieces = (shown.before, text, shown.after)
        return render_marked("selected_text", fields, pieces, SELECTION_MARKS, fence=fence)
    return render_marked("cursor_context", fields, (shown.before, shown.after), CURSOR_MARKS, fence=fence)


def cut_out(text: str, lines: Place, selected: str) -> tuple[str, str] | None:
    """The text before and after `selected`, which lies in these lines.

    None if these lines do not contain `selected`, or contain it more than once.
    """
    span = _span(text, lines)
    if span is None:
        return None
    start, end = span
    if not selected:  # a cursor may be anywhere in a line that is not empty
        is_certain = lines.first == lines.last and not text[start:end].strip("\r\n")
        return (text[:start], text[start:]) if is_certain else None
    at = text.find(selected, start, end)
    if at < 0 or text.find(selected, at + 1, end) >= 0:
        return None
    return text[:at], text[at + len(selected) :]


def _span(text: str, lines: Place) -> tuple[int, int] | None:
    """The start and end offsets of the lines, with the last line's newline."""
    start = end = 0
    for number in range(1, lines.last + 1):
        if number == lines.first:
            start = end
        newline = text.find("\n", end)
        end = newline + 1 if newline >= 0 else len(text)
        if newline < 0 and number < lines.last:
            return None
    return start, end


def _end_of(text: str) -> str:
    if len(text) <= SURROUNDINGS_CHARS_MAX:
        return text
    window = text[-SURROUNDINGS_CHARS_MAX - _CLUSTER_CHARS_MAX :]
    cut = len(window) - SURROUNDINGS_CHARS_MAX
    return window[next(at for at in _boundaries(window) if at >= cut) :]


def _beginning_of(text: str) -> str:
    if len(text) <= SURROUNDINGS_CHARS_MAX:
        return text
    window = text[: SURROUNDINGS_CHARS_MAX + _CLUSTER_CHARS_MAX]
    return window[: max(at for at in _boundaries(window) if at <= SURROUNDINGS_CHARS_MAX)]


def _boundaries(text: str) -> Sequence[int]:
    return [*(cluster.start() for cluster in _CLUSTER.finditer(text)), len(text)]
