"""A connection of HTTP/1.1: one request after the other, each answered before the next is taken.

h11 reads and writes HTTP; this module moves the bytes, and holds the bounds: of a request's head, its body and its
time, and of what a client sends ahead or leaves unread.
"""

from collections.abc import Iterable
from typing import Final

import h11
import msgspec

from ...errors import RequestError
from ...ipc.jsonrpc import error_response
from ...limits import (
    HTTP_AHEAD_BYTES_MAX,
    HTTP_CHUNKS_MAX,
    HTTP_HEAD_BYTES_MAX,
    PARTIAL_LINE_S,
    REQUEST_BYTES_MAX,
)
from ...service.awake_timer import AwakeTimer
from ..host import Host
from ..socket_connection import SocketConnection
from .endpoint import Endpoint
from .request import HttpRequest
from .response import HttpResponse
from .sessions import Sessions

_AROUND_HEADER: Final = len(": \r\n")
_CLOSE: Final = ("Connection", "close")


class HttpConnection(SocketConnection):
    """Runs on the loop's thread only."""

    def __init__(self, host: Host, sessions: Sessions) -> None:
        super().__init__(host)
        self._endpoint = Endpoint(host, sessions)
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HTTP_HEAD_BYTES_MAX)
        self._head: h11.Request | None = None
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._chunks = 0
        """Of the body; none if its length is known."""
        self._response: HttpResponse | None = None
        self._client = "unknown"
        self._at_end = False
        self._timer: AwakeTimer | None = None

    @property
    def client(self) -> str:
        return self._client

    # -- what comes --

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        self.go_on()

    def eof_received(self) -> bool:
        # A client may send, shut down its side and read on. Only a stream ends: nobody can tell it otherwise.
        self._at_end = True
        self._http.receive_data(b"")
        if self._response is not None and self._response.is_stream:
            self.close()
        else:
            self.go_on()
        return True

    def go_on(self) -> None:
        try:
            while self._response is None and self._is_taking and self._take_event():
                pass
        except h11.RemoteProtocolError as error:
            hint = "Send requests of HTTP/1.1, or one JSON object a line."
            self._refuse(error.error_status_hint, f"This is not HTTP/1.1: {error}.", hint)
        self._watch_request()
        self.throttle()

    @property
    def _is_taking(self) -> bool:
        return self.writable and self._transport is not None and not self._transport.is_closing()

    def _take_event(self) -> bool:
        """Handles the next part of a request; whether there may be more."""
        event = self._http.next_event()
        if event is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                self._write([h11.InformationalResponse(status_code=100, headers=[])])
            return False
        if isinstance(event, h11.Request):
            self._begin(event)
        elif isinstance(event, h11.Data):
            self._body.append(bytes(event.data))
            self._body_bytes += len(event.data)
            self._chunks += event.chunk_start
            if self._body_bytes > REQUEST_BYTES_MAX:
                self._refuse_body()
            elif self._chunks > HTTP_CHUNKS_MAX:
                self._refuse(413, f"A body has at most {HTTP_CHUNKS_MAX} chunks.", "Send larger chunks.")
        elif isinstance(event, h11.EndOfMessage):
            self._serve()
            return False  # the next request has the next turn of the loop, so that others get theirs
        else:  # PAUSED after an error, or the client has closed its side
            if isinstance(event, h11.ConnectionClosed) and self._transport is not None:
                self._transport.close()
            return False
        return True

    def _begin(self, head: h11.Request) -> None:
        self._head = head
        length = len(head.target) + sum(len(name) + len(value) + _AROUND_HEADER for name, value in head.headers)
        if length > HTTP_HEAD_BYTES_MAX:  # h11 bounds only a head that comes in several pieces
            self._refuse(431, f"A request's head has at most {HTTP_HEAD_BYTES_MAX} bytes.", "Send fewer headers.")
        elif any(name == b"content-length" and int(value) > REQUEST_BYTES_MAX for name, value in head.headers):
            self._refuse_body()

    def _serve(self) -> None:
        assert self._head is not None, "a request ends after it has begun"
        request = HttpRequest.of(self._head, b"".join(self._body))
        self._head, self._body, self._body_bytes, self._chunks = None, [], 0, 0
        self._stop_timer()
        response = self._response = self._new_response(has_body=request.method != "HEAD")
        self._client = self._endpoint.serve(request, response) or self._client

    def lost(self) -> None:
        self._stop_timer()
        if self._response is not None:
            self._response.lose()
            self._response = None
        self._body.clear()

    # -- bounds --

    @property
    def _ahead_bytes(self) -> int:
        """What came and was not taken: a part of a head, or requests that wait for their turn."""
        return len(self._http.trailing_data[0])

    def throttle(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._ahead_bytes > HTTP_AHEAD_BYTES_MAX or not self._writable:
            self._transport.pause_reading()
            self._stop_timer()  # the client cannot complete a request that we do not read
        else:
            self._transport.resume_reading()

    def _watch_request(self) -> None:
        """A request must be complete in PARTIAL_LINE_S, counted from its first byte."""
        has_begun = self._head is not None or self._ahead_bytes > 0
        if self._response is not None or not has_begun or not self.writable:
            self._stop_timer()
        elif self._timer is None:
            self._timer = AwakeTimer(self._loop, PARTIAL_LINE_S, self._refuse_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_late(self) -> None:
        self._refuse(408, f"A request was not completed within {PARTIAL_LINE_S:g} s.", "Send it again.")

    def _refuse_body(self) -> None:
        self._refuse(413, f"A request's body has at most {REQUEST_BYTES_MAX} bytes.", "Ask for less at a time.")

    def _refuse(self, status: int, message: str, hint: str) -> None:
        """Answers a request that cannot be read on, and closes."""
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE) and self._response is None:
            error = RequestError("INVALID_REQUEST", message, hint=hint)
            body = error_response(msgspec.UNSET, error)
            self._response = self._new_response(has_body=self._head is None or self._head.method != b"HEAD")
            self._response.answer(status, body, [_CLOSE])
        super().close()

    # -- what goes --

    def _new_response(self, *, has_body: bool) -> HttpResponse:
        return HttpResponse(self._loop, self._write, lambda: self.writable, self._ended, has_body=has_body)

    def _write(self, events: Iterable[h11.Event]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._http.send(event) or b"" for event in events))

    def _ended(self) -> None:
        """Goes on with the next request, or closes if there can be none."""
        self._response = None
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._loop.call_soon(self.go_on)
        elif self._transport is not None:
            self._transport.close()

    def tail_moved(self) -> None:
        response = self._response
        if response is not None and response.dispatcher is not None and response.writable:
            response.dispatcher.tail_moved()

    def close(self) -> None:
        response = self._response
        if response is not None and response.is_stream:
            if response.dispatcher is not None and not self._at_end:
                response.dispatcher.say_goodbye()
            gone = response.gone
            response.end()
            if gone is not None:
                gone()
        super().close()
