"""The first bytes of a connection: they tell whether the client sends lines or HTTP."""

from typing import Final

from ..limits import PARTIAL_LINE_S
from ..service.awake_timer import AwakeTimer
from .connection import Connection
from .host import Host
from .http.sessions import Sessions
from .socket_connection import SocketConnection

_METHODS: Final = (
    b"GET ",
    b"POST ",
    b"DELETE ",
    b"HEAD ",
    b"OPTIONS ",
    b"PUT ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
)
"""What a request of HTTP begins with. No message in JSON does."""


class Opening(SocketConnection):
    """A connection that has not sent enough; then its transport gets another protocol."""

    def __init__(self, host: Host, sessions: Sessions) -> None:
        super().__init__(host)
        self._sessions = sessions
        self._begun = b""
        self._timer: AwakeTimer | None = None

    def data_received(self, data: bytes) -> None:
        self._begun += data
        if any(self._begun.startswith(method) for method in _METHODS):
            # Imported here: most daemons never hear HTTP, and the parser takes 12 ms.
            from .http.connection import HttpConnection

            self._become(HttpConnection(self._host, self._sessions))
        elif not any(method.startswith(self._begun) for method in _METHODS):
            self._become(Connection(self._host))
        elif self._timer is None:
            self._timer = AwakeTimer(self._loop, PARTIAL_LINE_S, self.abort)

    def _become(self, connection: SocketConnection) -> None:
        transport, begun = self._transport, self._begun
        if transport is None:
            return
        self._transport = None
        self.lost()
        self._host.closed(self)
        transport.set_protocol(connection)
        connection.connection_made(transport)
        if not transport.is_closing():
            connection.data_received(begun)

    def lost(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
