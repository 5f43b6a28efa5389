"""Sessions of MCP's versions with a handshake: each is a dispatcher that outlives its HTTP requests.

What the daemon tells unasked goes to the stream that the client holds open by GET. Without one the session counts
as a client that does not read, so its watches wait, and compare when a stream comes.
"""

import secrets
from typing import TYPE_CHECKING, Final

import msgspec

from workspaced_events.errors import WorkspacedError

from ...errors import RequestError
from ...ipc.jsonrpc import Request, RequestId
from ...limits import HTTP_SESSIONS_MAX
from ..batch import Batch
from ..dispatcher import Dispatcher
from ..host import Host
from ..protocol import ProtocolVersion

if TYPE_CHECKING:
    from .response import HttpResponse  # which imports h11

HEADER: Final = "Mcp-Session-Id"


class Session:
    """One client's session: the outlet of its dispatcher. Belongs to the loop's thread."""

    def __init__(self, host: Host, protocol: ProtocolVersion) -> None:
        self.id = secrets.token_hex(16)
        self.dispatcher = Dispatcher(host, self, protocol)
        self.is_greeted = False
        """Whether a handshake succeeded."""
        self.stream: HttpResponse | None = None
        self._responses: dict[RequestId, HttpResponse] = {}
        self._unsent: list[bytes] = []
        """What a comparison that was under way told after the stream had ended: at most one message a watch."""

    @property
    def is_idle(self) -> bool:
        """Whether its client waits for nothing: neither a stream nor a request is open."""
        return self.stream is None and not self._responses

    def post(self, request: Request, response: "HttpResponse") -> None:
        """Hands a request over; `response` gets its answer.

        Raises:
            RequestError: a request of this id is still open.
        """
        if isinstance(request.id, msgspec.UnsetType):
            self.dispatcher.handle(request)
            response.answer(202)
            return
        self._await(request.id, response)
        self.dispatcher.handle(request)

    def post_batch(self, batch: Batch, response: "HttpResponse") -> None:
        """As `post`, for several messages."""
        if batch.ids:
            self._await(batch.ids[0], response)
        self.dispatcher.take_batch(batch)
        if not batch.ids:
            response.answer(200, batch.line) if batch.answers else response.answer(202)

    def _await(self, request_id: RequestId, response: "HttpResponse") -> None:
        if request_id in self._responses:
            raise RequestError("INVALID_REQUEST", "A request of this id is still open.", hint="Give another id.")
        self._responses[request_id] = response
        response.gone = lambda: self._forget(request_id)  # the client may ask again; the request goes on

    def _forget(self, request_id: RequestId) -> None:
        self._responses.pop(request_id, None)

    def open_stream(self, response: "HttpResponse") -> None:
        """From now on messages go to this stream; an earlier one ends."""
        if self.stream is not None:
            self.stream.end()
        self.stream = response
        response.dispatcher = self.dispatcher
        response.gone = lambda: self._close_stream(response)
        response.begin_stream([(HEADER, self.id)])
        unsent, self._unsent = self._unsent, []
        for line in unsent:
            response.send_event(line)
        self.dispatcher.tail_moved()

    def _close_stream(self, response: "HttpResponse") -> None:
        if self.stream is response:
            self.stream = None

    def close(self) -> None:
        """Ends the session, its stream and its subscriptions."""
        self.dispatcher.close()
        if self.stream is not None:
            self.stream.end()
            self.stream = None
        for response in list(self._responses.values()):
            response.answer(404)
        self._responses.clear()

    # -- the outlet --

    @property
    def writable(self) -> bool:
        """Whether there is a stream that its client reads."""
        return self.stream is not None and self.stream.writable

    def send(self, line: bytes) -> None:
        """Sends a message by the stream."""
        if self.stream is not None and self.stream.is_open:
            self.stream.send_event(line)
        else:
            self._unsent.append(line)

    def reply(self, request_id: RequestId | None, line: bytes, error: WorkspacedError | None) -> None:
        """Answers the POST that brought the request."""
        self.is_greeted = self.is_greeted or error is None
        response = self._responses.pop(request_id, None) if request_id is not None else None
        if response is not None:
            response.answer(200, line, [(HEADER, self.id)] if self.is_greeted else [])

    def ended(self, request_id: RequestId | None) -> None:
        """A request that was cancelled has no answer, its POST has."""
        response = self._responses.pop(request_id, None) if request_id is not None else None
        if response is not None:
            response.answer(202, headers=[(HEADER, self.id)])


class Sessions:
    """The sessions of a daemon, at most HTTP_SESSIONS_MAX: a new one ends the longest unused of the idle."""

    def __init__(self) -> None:
        self._by_id: dict[str, Session] = {}

    def add(self, session: Session) -> None:
        """Adds a session whose handshake succeeded."""
        while len(self._by_id) >= HTTP_SESSIONS_MAX:
            idle = (each for each in self._by_id.values() if each.is_idle)
            self.end(next(idle, next(iter(self._by_id.values()))))
        self._by_id[session.id] = session

    def find(self, session_id: str) -> Session | None:
        """The session of this id, which thereby counts as used; None: there is none any more."""
        session = self._by_id.pop(session_id, None)
        if session is not None:
            self._by_id[session_id] = session
        return session

    def end(self, session: Session) -> None:
        """Ends a session. Requests that name it are refused from now on."""
        self._by_id.pop(session.id, None)
        session.close()
