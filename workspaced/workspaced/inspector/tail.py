"""What open pages are told, as server-sent events: that the log opens, that it grew, whether its daemon is there.

A message says that there is something new; a page asks the API for what it needs. So for a page that does not
read, the latest message of each kind is enough.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import anyio
import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from .access import Refusal

_INSPECTOR_TAILS_MAX: Final = 256
"""Pages that follow the log at once."""
_STREAM_COMMENT_S: Final = 15.0
"""Interval of the comments in a stream: some clients give up one that says nothing for five minutes."""


class Opening(msgspec.Struct, frozen=True, rename="camel"):
    """The log is being verified before it opens."""

    done: int
    of: int
    """Both in parts of the log: segments, or bytes."""


class Opened(msgspec.Struct, frozen=True, rename="camel"):
    """The log is open, or another one is: the page reads everything anew."""

    last: int
    """The sequence of the last event; 0: there is none."""
    grows: bool
    """Whether a daemon writes the log."""


class Grew(msgspec.Struct, frozen=True, rename="camel"):
    """The log has new events."""

    last: int


class DaemonLink(msgspec.Struct, frozen=True, rename="camel"):
    """Whether the daemon that writes the log is there."""

    connected: bool
    why: str = ""
    """Why it is not, for people."""


TailMessage = Opening | Opened | Grew | DaemonLink
MESSAGES: Final[dict[type[msgspec.Struct], str]] = {
    Opening: "opening",
    Opened: "opened",
    Grew: "grew",
    DaemonLink: "daemon",
}
"""Each message's name in the stream."""
TAIL_PATH: Final = "/api/tail"
_COMMENT: Final = b": still here\n\n"


class Tail:
    """The pages that follow the log. Belongs to the loop's thread."""

    def __init__(self) -> None:
        self._pages: set[_Page] = set()
        self._closed = False
        self._opened: Opened | Opening | None = None
        self._daemon: DaemonLink | None = None

    def tell(self, message: TailMessage) -> None:
        """Tells every page. What is true of later pages too, they are told when they come."""
        if isinstance(message, Opened | Opening):
            self._opened = message
        elif isinstance(message, DaemonLink):
            if message == self._daemon:
                return
            self._daemon = message
        elif isinstance(self._opened, Opened):
            self._opened = msgspec.structs.replace(self._opened, last=message.last)
        for page in self._pages:
            page.put(message)

    def close(self) -> None:
        """Ends the stream of every page, now and later."""
        self._closed = True
        for page in self._pages:
            page.end()

    @contextmanager
    def page(self) -> Iterator["_Page"]:
        """A page that follows from now on.

        Raises:
            Refusal: too many do.
        """
        if len(self._pages) >= _INSPECTOR_TAILS_MAX:
            raise Refusal(503, "BUSY", f"{_INSPECTOR_TAILS_MAX} pages follow the log.", "Close some of them.")
        page = _Page()
        for message in (self._opened, self._daemon):
            if message is not None:
                page.put(message)
        if self._closed:
            page.end()
        self._pages.add(page)
        try:
            yield page
        finally:
            self._pages.remove(page)


class _Page:
    """What one page was not sent yet."""

    def __init__(self) -> None:
        self._waiting: dict[type[TailMessage], TailMessage] = {}
        """Of each kind the latest, in their order."""
        self._changed = anyio.Event()
        self._ended = False

    def put(self, message: TailMessage) -> None:
        self._waiting.pop(type(message), None)
        self._waiting[type(message)] = message
        self._changed.set()

    def end(self) -> None:
        self._ended = True
        self._changed.set()

    async def next(self) -> bytes | None:
        """What to send next, a comment after a silence of _STREAM_COMMENT_S; None: the stream ends."""
        if not self._waiting and not self._ended:
            self._changed = anyio.Event()
            with anyio.move_on_after(_STREAM_COMMENT_S):
                await self._changed.wait()
        if self._ended:
            return None
        if not self._waiting:
            return _COMMENT
        message = self._waiting.pop(next(iter(self._waiting)))
        return b"event: %s\ndata: %s\n\n" % (MESSAGES[type(message)].encode(), msgspec.json.encode(message))


# -- over HTTP --


class TailResponse(Response):
    """A stream that ends when the page leaves, or the tail is closed."""

    def __init__(self, page: AbstractContextManager[_Page]) -> None:
        self.background = None
        self._page = page

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        with self._page as page:
            async with anyio.create_task_group() as tasks:

                async def cancel_when_gone() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    tasks.cancel_scope.cancel()

                tasks.start_soon(cancel_when_gone)
                headers = [(b"content-type", b"text/event-stream")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                while (part := await page.next()) is not None:
                    await send(_body(part, more=True))
                await send(_body(b"", more=False))
                tasks.cancel_scope.cancel()


def _body(part: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": part, "more_body": more}
