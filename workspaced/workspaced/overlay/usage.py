"""Reads out of an answer while it passes what the provider counted, and by which name it holds the chat. Pure.

One reader serves all providers: chat completions have `usage` in an answer and in the last event, responses in the
event that ends them; Anthropic begins it in the first event and completes it in the last but one; Gemini has
`usageMetadata` in each. What comes later wins, field by field.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

import msgspec

from ..limits import PROXY_USAGE_BYTES_MAX

Report = dict[str, Any]
_NAME: Final = b'"usage'
_LINE_END: Final = re.compile(rb"[\r\n]")
"""Of an event stream; between the two characters of one end is an empty line, which says nothing."""


class _Inner(msgspec.Struct, frozen=True):
    usage: Any = None
    id: Any = None
    object: Any = None
    """`response` says that a later request may continue the chat by `id`, or by its conversation's."""
    conversation: Any = None


class _Outer(_Inner, frozen=True, rename={"gemini": "usageMetadata"}):
    gemini: Any = None
    message: _Inner | None = None
    """Of the event that begins Anthropic's answers."""
    response: _Inner | None = None
    """Of the event that ends OpenAI's responses."""


_OUTER: Final = msgspec.json.Decoder(_Outer)
_OUTERS: Final = msgspec.json.Decoder(list[_Outer])


class UsageReader:
    """Takes the bytes of an answer; holds PROXY_USAGE_BYTES_MAX of them at most."""

    def __init__(self, content_type: bytes) -> None:
        self._is_stream = content_type.strip().lower().startswith(b"text/event-stream")
        self._held = bytearray()
        self._is_too_long = False
        """The rest of this line, or of the answer if it is no stream, is not looked into."""
        self._report: Report = {}
        self.response_id = ""
        """A hash of the name by which a later request may continue the chat; empty: none has passed."""

    def feed(self, data: bytes) -> None:
        """Takes the next bytes."""
        if not self._is_stream:
            self._hold(data)
            return
        *lines, rest = _LINE_END.split(data)
        for line in lines:
            self._hold(line)
            if _NAME in self._held and self._held.startswith(b"data:"):
                self._take(bytes(self._held[len(b"data:") :]))
            self._held.clear()
            self._is_too_long = False
        self._hold(rest)

    def told(self) -> Report | None:
        """What has passed, as `finished` tells it; None: there was nothing so far."""
        if not self._is_stream and not self._is_too_long and _NAME in self._held:
            self._take(bytes(self._held))
            self._held.clear()
        told = {"usage": self._report, "responseId": self.response_id}
        return {name: value for name, value in told.items() if value} or None

    def _hold(self, data: bytes) -> None:
        if len(self._held) + len(data) > PROXY_USAGE_BYTES_MAX:
            self._is_too_long = True
            self._held.clear()
        if not self._is_too_long:
            self._held += data

    def _take(self, text: bytes) -> None:
        try:
            found = _OUTERS.decode(text) if text.lstrip().startswith(b"[") else [_OUTER.decode(text)]
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return  # the answer goes to the runtime as it is; here it only has no usage
        for outer in found:
            for inner in (outer.message, outer.response, outer):
                self._take_inner(inner)
            self._count(outer.gemini)

    def _take_inner(self, inner: _Inner | None) -> None:
        if inner is None:
            return
        self._count(inner.usage)
        if inner.object == "response":
            conversation = inner.conversation if isinstance(inner.conversation, dict) else {}
            names = (name for name in (conversation.get("id"), inner.id) if name and isinstance(name, str))
            name = next(names, "")
            self.response_id = sha256(name.encode()).hexdigest() if name else ""

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._report |= {name: value for name, value in usage.items() if value is not None}


def usage_reader(status: int, headers: Mapping[str, str]) -> UsageReader | None:
    """None: it is no answer whose usage could be read."""
    if status != HTTPStatus.OK or headers.get("content-encoding", "identity") != "identity":
        return None
    return UsageReader(headers.get("content-type", "").encode())
