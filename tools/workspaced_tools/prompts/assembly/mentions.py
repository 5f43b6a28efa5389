"""Finds the notes that the assistant used in a turn: those that its calls and its words name."""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from workspaced_events.projections.conversations import Message

from ...errors import NotRecorded
from ..model.types import Texts

_PATH: Final = re.compile(r"(?<![^\s\[\](){}<>\"'`|#^*])[^\s\[\](){}<>\"'`|#^*]+\.md\b|\[\[([^\[\]|#^]+)")
"""What may name a note in an answer: a path without blanks, or the target of a wikilink.

A path begins where a word does: tried at each of its characters, a word of 200,000 would take half a minute."""


def mentioned(messages: Iterable[Message], notes: Collection[str], texts: Texts) -> frozenset[str]:
    """Those of `notes` that the assistant's messages of one turn name.

    A call names a note by a string in its arguments: path, path without ending, or wikilink. An answer names one
    by its path or by a wikilink. `notes`: paths.
    """
    by_name = {name: note for note in notes for name in (note, note.removesuffix(".md"))}
    found: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            found.update(by_name[name] for name in _names_in(message, texts) if name in by_name)
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
