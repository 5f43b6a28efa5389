"""The answer to one HTTP request: a status with a body, or a stream of server-sent events."""

import asyncio
from collections.abc import Callable, Iterable
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

import h11

from ...limits import STREAM_COMMENT_S
from ..dispatcher import Dispatcher

Headers = Iterable[tuple[str, str]]
_JSON: Final = ("Content-Type", "application/json")
_STREAM: Final = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-cache"),
    ("X-Accel-Buffering", "no"),
)
_COMMENT: Final = b":\n\n"


class HttpResponse:
    """Ignores what comes after its end, and after the client has gone. Belongs to the loop's thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        write: Callable[[Iterable[h11.Event]], None],
        writable: Callable[[], bool],
        ended: Callable[[], None],
        *,
        has_body: bool = True,
    ) -> None:
        """
        Args:
            write: writes events of HTTP to the client.
            writable: whether the client reads fast enough.
            ended: called once, when the response is complete.
            has_body: whether a body is sent; not for HEAD.
        """
        self.dispatcher: Dispatcher | None = None
        """Whose messages the stream carries."""
        self.gone: Callable[[], None] | None = None
        """Called if the client leaves before the end."""
        self.is_open = True
        self.is_stream = False
        self._loop = loop
        self._write = write
        self._writable = writable
        self._ended = ended
        self._has_body = has_body
        self._timer: asyncio.TimerHandle | None = None

    @property
    def writable(self) -> bool:
        """Whether the response is open and its client reads fast enough."""
        return self.is_open and self._writable()

    def answer(self, status: int, body: bytes = b"", headers: Headers = ()) -> None:
        """Sends all of the response; `body` is JSON."""
        if not self.is_open:
            return
        body = body if self._has_body else b""
        heads = [*headers, ("Content-Length", str(len(body))), *((_JSON,) if body else ())]
        data = [h11.Data(data=body)] if body else []
        self._write([_head(status, heads), *data, h11.EndOfMessage()])
        self._close()

    def begin_stream(self, headers: Headers = ()) -> None:
        """Begins a stream of server-sent events."""
        if self.is_open:
            self.is_stream = True
            self._write([_head(200, [*headers, *_STREAM])])
            self._timer = self._loop.call_later(STREAM_COMMENT_S, self._comment)

    def send_event(self, line: bytes) -> None:
        """Sends a message as an event of the stream. `line`: JSON and LF."""
        if self.is_open:
            self._write([h11.Data(data=b"event: message\ndata: " + line + b"\n")])

    def end(self) -> None:
        """Ends the stream."""
        if self.is_open:
            self._write([h11.EndOfMessage()])
            self._close()

    def lose(self) -> None:
        """The client has gone."""
        gone = self.gone if self.is_open else None
        self._release()
        if gone is not None:
            gone()

    def _comment(self) -> None:
        """Keeps the stream alive: some clients give up one that says nothing for minutes."""
        if self.writable:
            self._write([h11.Data(data=_COMMENT)])
        self._timer = self._loop.call_later(STREAM_COMMENT_S, self._comment)

    def _close(self) -> None:
        ended = self._ended
        self._release()
        ended()

    def _release(self) -> None:
        """Ends all references to and from the client's connection."""
        self.is_open = False
        self.gone = self.dispatcher = None
        self._ended = _nothing
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _head(status: int, headers: Headers) -> h11.Response:
    date = ("Date", formatdate(usegmt=True))
    return h11.Response(status_code=status, reason=HTTPStatus(status).phrase, headers=[date, *headers])


def _nothing() -> None:
    pass
