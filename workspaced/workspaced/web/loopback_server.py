"""uvicorn on a port of the loopback interface, with our signals and exit codes."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import uvicorn

from workspaced_events.errors import WorkspacedError

from ..limits import HTTP_DRAIN_S

_HTTP_IDLE_S: Final = 120
"""How long a connection without a request stays open: longer than clients keep theirs, so that they close it."""
HOST: Final = "127.0.0.1"
_HOST_V6: Final = "::1"
_INTERRUPTED: Final = 130


def silence_logs(*names: str) -> None:
    """Switches off the loggers of uvicorn and of `names`: their lines would hold paths, and so tokens."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", *names):
        logging.getLogger(name).disabled = True


@contextmanager
def listening(port: int, hint: str, *, also_v6: bool = False) -> Iterator[list[socket.socket]]:
    """Sockets that listen on `port` of 127.0.0.1, and of ::1 where that is there and free; 0: any port.

    Raises:
        WorkspacedError: another program listens there; with `hint`.
    """
    with _socket(socket.AF_INET) as first:
        try:
            first.bind((HOST, port))
            first.listen()
        except OSError as error:
            raise WorkspacedError(
                f"Cannot listen on port {port}: {error.strerror or error}.", hint=hint, code="PORT_TAKEN"
            ) from None
        second = _v6(first.getsockname()[1]) if also_v6 else None
        if second is None:
            yield [first]
            return
        with second:
            yield [first, second]


def _v6(port: int) -> socket.socket | None:
    try:
        made = _socket(socket.AF_INET6)
    except OSError:
        return None
    try:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((_HOST_V6, port))
        made.listen()
    except OSError:
        made.close()
        return None
    return made


def _socket(family: int) -> socket.socket:
    # With its protocol named, asyncio sets TCP_NODELAY on what it accepts. Else an answer's body, which follows
    # its head in a second write, would wait 40 ms for the client's delayed acknowledgement.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made


def owner_of(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """The user whose program has the end `peer` of a connection to `own` on this machine.

    None: the system does not tell (it is not Linux), or no program that it can see has that end.
    """
    wanted = (_as_kernel_writes(peer), _as_kernel_writes(own))
    for name in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net", name).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _number, local, remote, _state, _queues, _timer, _retries, uid, *_ = line.split()
            if local.endswith(wanted[0]) and remote.endswith(wanted[1]):  # an IPv4 address may be mapped to IPv6
                return int(uid)
    return None


def _as_kernel_writes(end: tuple[str, int]) -> str:
    """An address and port as in /proc/net/tcp: words of 32 bits in the byte order of the machine."""
    data = socket.inet_pton(socket.AF_INET6 if ":" in end[0] else socket.AF_INET, end[0])
    words = (int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data), 4))
    return "".join(f"{each:08X}" for each in words) + f":{end[1]:04X}"


class LoopbackServer(uvicorn.Server):
    """uvicorn, with our signals: the first one ends it in good order, and the caller has the exit code."""

    def __init__(
        self, application: Any, started: Callable[[], None], ending: Callable[[], None] = lambda: None
    ) -> None:
        """`started` is called once connections are taken; `ending` when the server begins to end, so that streams
        which nobody else ends do not hold it up."""
        super().__init__(
            uvicorn.Config(
                application,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=_HTTP_IDLE_S,
                timeout_graceful_shutdown=HTTP_DRAIN_S,
            )
        )
        self._signal: int | None = None
        self._when_started = started
        self._when_ending = ending

    @property
    def exit_code(self) -> int:
        """Of the process, after the server ended."""
        return _INTERRUPTED if self._signal == signal.SIGINT else os.EX_OK

    def end(self) -> None:
        """Ends the server in good order, as a first signal does."""
        self.should_exit = True

    async def startup(self, sockets: Sequence[socket.socket] | None = None) -> None:
        await super().startup(list(sockets) if sockets is not None else None)
        self._when_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._when_ending()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        handled = {each: signal.signal(each, self._handle) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, before in handled.items():
                signal.signal(each, before)

    def _handle(self, number: int, _frame: object) -> None:
        if self.should_exit:
            self.force_exit = True
        self._signal = self._signal or number
        self.should_exit = True


class Refused(Exception):
    """A refusal: a status of HTTP, a code, what is wrong, and the next step."""

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
