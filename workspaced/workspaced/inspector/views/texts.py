"""Where a text stands: in events, messages, calls, what agents were told, and prompts; the earliest first."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.schema.catalogue import Event, MessageData, PromptAssembled, ToolCalled
from workspaced_events.schema.codec import encode_event
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.model.stored_texts import texts_in
from workspaced_tools.recording.recorded_calls import recorded_call

from ... import replay
from ..inspected import Inspected
from .events import EventRow, row_of, types_of

TEXT_CHARS_MAX: Final = 200
HITS_MAX: Final = 200
EVENTS_READ_MAX: Final = 2_000
"""Events that one answer reads."""
RECORDINGS_READ_MAX: Final = 50
"""Calls and prompts that one answer reads: a prompt is rebuilt to be searched, which takes some milliseconds."""
AROUND_CHARS: Final = 60
"""On each side of what was found."""


class TextsParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What to look for."""

    text: str
    """In any case; any white space of a text fits white space of it."""
    from_: int | None = msgspec.field(name="from", default=None)
    """The first sequence looked at; left out: the log's first."""
    lanes: str = ""
    """Names of lanes, with commas between; empty: all."""
    limit: int = 50


class TextHit(msgspec.Struct, rename="camel"):
    """An event with the text."""

    row: EventRow
    where: str
    """Of the first place: `event`, `message`, `arguments`, `answer`, `told`, the layer of a prompt, or
    its `messages`."""
    block: str
    """The id of a prompt's block, such as a note's path; empty: no block."""
    before: str
    """The text in front of what was found, on one line; `after` likewise."""
    found: str
    after: str
    times: int
    """In how many places of the event it stands."""


class Texts(msgspec.Struct, rename="camel"):
    """Events with a text, in their order."""

    hits: list[TextHit]
    next: int | None
    """`from` of what was not read yet; null: all was read. There may be more although no hit is here."""
    read: int
    """Events that were read."""
    not_kept: int
    """Calls, prompts and messages of which not all is kept: what is not was not searched."""


class _Place(NamedTuple):
    """A text of an event."""

    where: str
    text: str
    block: str = ""
    repeats: bool = False
    """It may repeat other places, so it counts only if the text stands in none of those."""


def texts(inspected: Inspected, parameters: TextsParameters) -> Texts:
    """Looks for a text in the log, as far as it is kept.

    Raises:
        InvalidArgument: the text is empty or too long, or the limit or a lane makes no sense.
    """
    pattern, types = _pattern(parameters.text), types_of(parameters.lanes)
    if not 1 <= parameters.limit <= HITS_MAX:
        raise InvalidArgument(f"Expected a limit from 1 to {HITS_MAX}, got {parameters.limit}.")
    begin = parameters.from_ or 1
    found = Texts([], begin, 0, 0)
    recordings = 0
    for event in islice(inspected.log.events_of(types, after=begin - 1), EVENTS_READ_MAX):
        is_recording = isinstance(event.data, ToolCalled | PromptAssembled)
        if len(found.hits) == parameters.limit or recordings + is_recording > RECORDINGS_READ_MAX:
            return found
        recordings += is_recording
        hit = _searched(inspected.log, event, pattern, found)
        if hit is not None:
            found.hits.append(hit)
        found.read += 1
        found.next = event.seq + 1
    if not any(inspected.log.events_of(types, after=(found.next or 1) - 1)):
        found.next = None
    return found


def _pattern(text: str) -> re.Pattern[str]:
    words = _composed(text).split()
    if not words or len(text) > TEXT_CHARS_MAX:
        raise InvalidArgument(f"Expected a text of 1 to {TEXT_CHARS_MAX} characters, got {len(text)}.")
    return re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)


def _composed(text: str) -> str:
    """One form for texts that read the same: some systems write names with their accents apart."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _searched(log: replay.Log, event: Event, pattern: re.Pattern[str], found: Texts) -> TextHit | None:
    """The event, if the text stands in it; counts in `found` what could not be read."""
    fields = msgspec.json.decode(encode_event(event)).get("data")
    places = [*(_Place("event", text) for text in _strings(fields)), *_of_recording(log, event, found)]
    first: tuple[_Place, str, re.Match[str]] | None = None
    times = 0
    for place in places:
        if place.repeats and first is not None and not first[0].repeats:
            break
        text = _composed(place.text)
        for match in pattern.finditer(text):
            first = first or (place, text, match)
            times += 1
    if first is None:
        return None
    place, text, match = first
    begin, end = match.span()
    return TextHit(
        row=row_of(event),
        where=place.where,
        block=place.block,
        before=_on_one_line(text[max(0, begin - AROUND_CHARS) : begin]),
        found=_on_one_line(match.group()),
        after=_on_one_line(text[end : end + AROUND_CHARS]),
        times=times,
    )


def _on_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


# -- the texts of an event --


def _of_recording(log: replay.Log, event: Event, found: Texts) -> Iterator[_Place]:
    """What was recorded with it."""
    data = event.data
    if isinstance(data, ToolCalled):
        yield from _of_call(log, event, found)
    elif isinstance(data, PromptAssembled):
        yield from _of_prompt(log, event, found)
    elif isinstance(data, MessageData) and data.text_sha256 is not None:
        try:
            yield _Place("message", texts_in(log.blob)(data.text_sha256))
        except (NotRecorded, LogDamaged):
            found.not_kept += 1


def _of_call(log: replay.Log, event: Event, found: Texts) -> Iterator[_Place]:
    try:
        kept = recorded_call(event, log.blob)
    except LogDamaged:
        found.not_kept += 1
        return
    found.not_kept += kept.arguments is None or kept.result is None
    if event.data.arguments_sha256 is not None:  # else they stand in the event
        yield from (_Place("arguments", text) for text in _strings(kept.arguments))
    if kept.result is not None:
        where = "answer" if event.type == "tool_called" else "told"
        yield from (_Place(where, text) for text in _strings(msgspec.json.decode(kept.result)))


def _of_prompt(log: replay.Log, event: Event, found: Texts) -> Iterator[_Place]:
    envelope = log.prompt(event.seq).verify().envelope
    if envelope is None:
        found.not_kept += 1
        return
    for layer in envelope.layers:
        yield from (_Place(layer.id, each.text, each.id) for each in layer.segments)
    # Calls of tools and their results stand in messages alone, and all that a runtime sends by itself.
    for message in envelope.messages:
        yield from (_Place("messages", each.text, repeats=True) for each in message.content if each.text)


def _strings(value: Any) -> Iterator[str]:
    """All texts in a value of JSON; names of fields are none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)
