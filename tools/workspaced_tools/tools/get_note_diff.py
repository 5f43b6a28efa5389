"""`get_note_diff`: the changes of a note since a recorded version."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from pydantic import Field

from ..answers import NoteDiff, Since, Suggestions, Truncation
from ..errors import ArgumentInvalid, NoteNotFound, NotRecorded
from ..limits import REFERENCE_CHARS_MAX
from ..notes.name_only import NAMES_ONLY, NameOnly
from ..notes.note import Note
from ..ports.history import VersionAt
from ..ports.questions import Read, VersionOf
from ..ports.vault import NoteRef
from ..ports.view import View
from .line_changes import LineChange, line_changes, lines_of
from .note_answers import note_or_error, served_vault, to_second
from .read_note import only_note
from .references import resolved
from .tool import Answer, Arguments, Tool

CONTEXT_LINES: Final = 3


class GetNoteDiff(Arguments):
    reference: str = Field(min_length=1, max_length=REFERENCE_CHARS_MAX, description="Path or title.")
    since_seq: int | None = Field(None, ge=0, description="An asOfSeq.")
    since_time: str | None = Field(None, max_length=64, description="ISO 8601.")
    max_content_length: int = Field(10_000, ge=100, le=50_000, description="Characters.")
    offset: int = Field(0, ge=0, le=2**31, description="A former nextOffset.")


def get_note_diff(view: View, arguments: GetNoteDiff) -> Answer[NoteDiff]:
    """A unified diff of the whole files, front matter included, between a recorded version and the present one.

    Without `sinceSeq` and `sinceTime` the recorded version is the last one that differs from the present one.

    Raises:
        NoActiveVault.
        ReferenceOutsideVault, ArgumentInvalid: the reference or the moment is not allowed.
        AmbiguousReference, NoteNotFound: with `candidates` or `near`.
        NotRecorded: no call read the version of that moment.
        ReadFailed: the note cannot be read.
    """
    if arguments.since_seq is not None and arguments.since_time is not None:
        raise ArgumentInvalid("Expected sinceSeq or sinceTime, got both.", hint="Leave one of them out.")
    vault, _ = served_vault(view)
    ref = only_note(resolved(view, arguments.reference), arguments.reference, vault)
    [found] = vault.ask(Read([ref.id]))
    missing = partial(NoteNotFound, "Note not found", hint="The note was deleted just now; try another reference.")
    note = note_or_error(found, missing=missing)
    if isinstance(note, NameOnly):
        raise NotRecorded("No earlier version is shown", hint=NAMES_ONLY)
    since = arguments.since_seq if arguments.since_seq is not None else arguments.since_time
    return _answer(ref, note, vault.ask(VersionOf(ref.id, since, note.sha256)), arguments)


def _answer(ref: NoteRef, note: Note, then: VersionAt, arguments: GetNoteDiff) -> Answer[NoteDiff]:
    try:
        before: Note | None = note_or_error(then.note, missing=partial(NoteNotFound, ""))
    except NoteNotFound:
        before = None  # the note did not exist then
    lines = list(unified(lines_of(before.text if before is not None else ""), lines_of(note.text)))
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    text, truncation = _page("".join(lines), arguments.max_content_length, arguments.offset)
    changed = before is None or before.sha256 != note.sha256
    data = NoteDiff(
        id=ref.id,
        title=ref.title,
        since=Since(
            then.seq, to_second(then.at), before is not None, before.sha256 if before is not None else None
        ),
        sha256=note.sha256,
        changed=changed,
        added=added,
        removed=removed,
        diff=text,
    )
    message = f"{added} lines added, {removed} removed." if changed else "Nothing changed."
    return Answer(data, message, [], truncation)


def unified(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The hunks of a unified diff with CONTEXT_LINES lines of context, no header. Every line ends with LF."""
    for hunk in _hunks(line_changes(before, after)):
        first, last = hunk[0], hunk[-1]
        low, low_after = max(0, first[0] - CONTEXT_LINES), max(0, first[2] - CONTEXT_LINES)
        high = min(len(before), last[1] + CONTEXT_LINES)
        high_after = min(len(after), last[3] + CONTEXT_LINES)
        yield f"@@ -{_range(low, high)} +{_range(low_after, high_after)} @@\n"
        at = low
        for start, end, start_after, end_after in hunk:
            yield from _marked(" ", before[at:start])
            yield from _marked("-", before[start:end])
            yield from _marked("+", after[start_after:end_after])
            at = end
        yield from _marked(" ", before[at:high])


def _hunks(changes: Sequence[LineChange]) -> Iterator[list[LineChange]]:
    """Groups changes whose contexts touch."""
    hunk: list[LineChange] = []
    for change in changes:
        if hunk and change.start - hunk[-1].end > 2 * CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _range(low: int, high: int) -> str:
    """A range in the form of `diff`: an empty range names the line before it."""
    count = high - low
    return f"{low + 1}" if count == 1 else f"{low + 1 if count else low},{count}"


def _marked(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield sign + line
        else:
            yield f"{sign}{line}\n\\ No newline at end of file\n"


def _page(text: str, limit: int, offset: int) -> tuple[str, Truncation]:
    """Whole lines from `offset` on, at most `limit` characters. A longer line is cut."""
    end = min(len(text), offset + limit)
    if end < len(text) and (line_end := text.rfind("\n", offset, end)) > offset:
        end = line_end + 1
    shown = text[offset:end]
    more = end < len(text)
    return shown, Truncation(len(text), len(shown), end if more else None)


TOOL: Final[Tool[Any]] = Tool(
    name="get_note_diff",
    description="A note's changes as a unified diff, by default since it was last shown.",
    arguments=GetNoteDiff,
    data=NoteDiff,
    function=get_note_diff,
    failures=(Suggestions,),
    paged=True,
)
