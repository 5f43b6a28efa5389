"""Finds the notes that the assistant used in a turn: those that its calls name and its words cite."""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.projections.conversations import Message

from ...errors import NotRecorded
from ..model.sent_turn import SentPart
from ..model.types import Texts
from ..sources.search_block import numbers_of

_SOURCES: Final = r"(\d{1,4}(?:[ \t]*[,;–-][ \t]*\^?\d{1,4}){0,20})"
_CITED: Final = re.compile(rf"\[\^{_SOURCES}\]|(?<![\w\[])\[{_SOURCES}\](?![(\]])|【{_SOURCES}")
"""Numbers of sources in an answer, also in code and quotations: who cites a source there has read it, too."""
_RANGE_MAX: Final = 100
_PATH: Final = re.compile(r"(?<![^\s\[\](){}<>\"'`|#^*])[^\s\[\](){}<>\"'`|#^*]+\.md\b|\[\[([^\[\]|#^]+)")
"""What may name a note in an answer: a path without blanks, or the target of a wikilink.

A path begins where a word does: tried at each of its characters, a word of 200,000 would take half a minute."""


def mentioned(
    messages: Iterable[Message], parts: Iterable[SentPart], notes: Collection[str], texts: Texts
) -> frozenset[str]:
    """Those of `notes` that the assistant's messages of one turn name.

    A call names a note by a string in its arguments: path, path without ending, or wikilink. An answer names one
    by its path, by a wikilink, or by the number of a source of the turn's searches.

    Args:
        parts: of the turn's own message.
        notes: paths.
    """
    by_name = {name: note for note in notes for name in (note, note.removesuffix(".md"))}
    messages = list(messages)
    found: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            found.update(by_name[name] for name in _names_in(message, texts) if name in by_name)
    found.update(note for note in _cited(messages, parts, texts) if note in by_name.values())
    return frozenset(found)


def _names_in(message: Message, texts: Texts) -> Iterator[str]:
    for call in message.tool_calls:
        with suppress(NotRecorded, msgspec.MsgspecError, RecursionError):
            for text in _strings(msgspec.json.decode(texts(call.arguments_sha256))):
                yield text.removeprefix("[[").removesuffix("]]").strip("/")
    with suppress(NotRecorded):
        if message.text_sha256 is not None:
            for match in _PATH.finditer(texts(message.text_sha256)):
                yield match[1] or match[0]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def _cited(messages: Iterable[Message], parts: Iterable[SentPart], texts: Texts) -> Iterator[str]:
    """The sources that the turn's answers cite by number."""
    messages = list(messages)
    searches = [part.revision for part in parts if part.form == "search"]
    searches += [
        each.text_sha256 for message in messages for each in message.tool_results if each.form == "search"
    ]
    if not searches:
        return
    with suppress(NotRecorded, LogDamaged):
        sources = {each.number: each.source for each in numbers_of(searches, texts).sources}
        for message in messages:
            if message.role == "assistant" and message.text_sha256 is not None:
                for match in _CITED.finditer(texts(message.text_sha256)):
                    numbers = _numbers(match[1] or match[2] or match[3])
                    yield from (sources[number] for number in numbers if number in sources)


def _numbers(cited: str) -> Iterator[int]:
    """The numbers in one mark, such as `3`, `1, ^4` or `2-5`."""
    for part in re.split("[,;]", cited):
        ends = [int(each) for each in re.findall(r"\d+", part)]
        yield from range(ends[0], min(ends[-1], ends[0] + _RANGE_MAX) + 1)
