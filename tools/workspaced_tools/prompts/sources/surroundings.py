"""Selected text, or a cursor, in what stands around it.

The block's content is a piece of the text with marks in it: `<selection_start/>` and `<selection_end/>` around
what is selected, `<cursor_position/>` where nothing is. No text can fake a mark, and each stands there once; what
lies between them is what `rendering.unescape_body` makes of it.
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
"""So far from a cut it is looked where a character begins, of those that consist of several."""
KEPT_CHARS_MAX: Final = SURROUNDINGS_CHARS_MAX + _CLUSTER_CHARS_MAX
"""Of what is read to stand around something so much is kept: enough to tell that there is more than is shown."""
_PLACE: Final = regex.compile(r"(?P<path>.+)#L(?P<first>[0-9]{1,9})-L(?P<last>[0-9]{1,9})", regex.DOTALL)
_CLUSTER: Final = regex.compile(r"\X")


class Place(NamedTuple):
    """What the id of selected text says."""

    path: str
    first: int
    last: int
    """The lines, from 1 on."""


class Around(NamedTuple):
    before: str
    after: str
    is_shortened: bool


def place_of(artifact_id: str) -> Place | None:
    """Of `path#Lx-Ly`; None where the id is something else."""
    found = _PLACE.fullmatch(artifact_id)
    if found is None:
        return None
    first, last = int(found["first"]), int(found["last"])
    return Place(found["path"], first, last) if 1 <= first <= last else None


def around(artifact: Artifact, texts: Texts) -> Around:
    """The end of what stands before it and the beginning of what stands after it, in whole characters.

    Raises:
        NotRecorded: of `texts`.
    """
    before = texts(artifact.before) if artifact.before else ""
    after = texts(artifact.after) if artifact.after else ""
    is_shortened = max(len(before), len(after)) > SURROUNDINGS_CHARS_MAX
    return Around(_end_of(before), _beginning_of(after), is_shortened)


def is_cursor(artifact: Artifact) -> bool:
    """Whether nothing is selected, and it is known where."""
    return artifact.kind == "selected_text" and artifact.bytes == 0 and bool(artifact.before or artifact.after)


def marked_block(artifact: Artifact, text: str, shown: Around) -> str:
    """The block of selected text, or of a cursor where `text` is empty."""
    place = place_of(artifact.id)
    path = place.path if place is not None else artifact.id
    title = artifact.title if artifact.title not in ("", artifact.id) else stem(path)
    fields = file_fields(path, title)
    if place is not None:
        fields["line_numbers"] = f"{place.first}-{place.last}" if place.first < place.last else f"{place.first}"
    if text:
        return render_marked("selected_text", fields, (shown.before, text, shown.after), SELECTION_MARKS)
    return render_marked("cursor_context", fields, (shown.before, shown.after), CURSOR_MARKS)


def cut_out(text: str, lines: Place, selected: str) -> tuple[str, str] | None:
    """What stands before and after `selected`, which lies in these lines; None where it does not, or may lie in
    several places."""
    span = _span(text, lines)
    if span is None:
        return None
    start, end = span
    if not selected:  # it may be anywhere in a line that is not empty
        is_certain = lines.first == lines.last and not text[start:end].strip("\r\n")
        return (text[:start], text[start:]) if is_certain else None
    at = text.find(selected, start, end)
    if at < 0 or text.find(selected, at + 1, end) >= 0:
        return None
    return text[:at], text[at + len(selected) :]


def _span(text: str, lines: Place) -> tuple[int, int] | None:
    """From where to where the lines go, the end of the last one included."""
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
