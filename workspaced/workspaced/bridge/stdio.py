"""`workspaced mcp`: copies lines between an agent's standard input and output and the daemon's socket, and goes on
with the next daemon when one ends.

    copying ── the daemon ends ──► waiting ── the next one serves the same, and takes the session up ──► copying

It takes each side's lines as they come, on one thread: a side that does not read is not read from, and neither
waits for the other. What the agent asked before it closed its end is answered.

When the daemon ends, what is in flight is answered (`session.py`), and the bridge looks for the next daemon. At
the agent's next request it starts one, if the former was started on demand too and its user has not stopped it:
one that somebody runs comes back by itself, with options that nobody else knows. A daemon is taken only if it has
the name of the first one and serves the same folders.

Imports only a small part of the standard library, because every agent has its own bridge process.
"""

import json
import os
import select
import socket
import sys
import time
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn

from workspaced_events.errors import WorkspacedError

from ..discovery.records import Record, recorded, was_stopped
from ..errors import NoDaemon, RequestError
from ..ipc.greeting import GREETING, SERVES
from ..ipc.peer import open_socket
from ..limits import (
    ANSWER_BYTES_MAX,
    BRIDGE_GREETING_S,
    BRIDGE_HELD_BYTES_MAX,
    BRIDGE_LINE_BYTES_MAX,
    BRIDGE_LINGER_S,
    BRIDGE_RESTART_S,
    PROBE_S,
    REQUEST_BYTES_MAX,
)
from .lines import Input, Output, TooLong
from .session import Session, failures, id_of, messages, pong, refused
from .target import Target, connect, named

_BRIDGE_IDLE_LOOK_S: Final = 1.0
"""How often it looks at other times."""
_BRIDGE_LOOK_S: Final = 0.05
"""How often a bridge looks for the next daemon in that time, and while requests wait."""
_BRIDGE_CHUNK_BYTES: Final = 64 * 1024


def run(target: Target) -> int:
    """Connects standard input and output with the daemon until the agent ends; returns the exit code.

    0 if the agent ended it, 3 if no daemon could be reached, or one went away whose client alone could go on with
    another (it spoke `workspaced/*`), 130 if interrupted.
    """
    if sys.stdin is None or sys.stdout is None:
        _say("workspaced: Standard input or output is closed; an agent's runtime opens them. [INVALID_ARGUMENT]")
        return 2
    if os.isatty(0):
        _say("workspaced mcp talks to an agent, not to a person; see `workspaced connect`.")
    try:
        _Bridge(target).run()
    except WorkspacedError as error:
        _complain(error)
        return 3
    except _AgentGone:
        return 0
    except KeyboardInterrupt:
        return 130
    raise AssertionError("a session ends only by an exception")


class _AgentGone(Exception):
    """The agent reads no more, or has closed its end and got its answers."""


class _Served(NamedTuple):
    """What a daemon serves. A session keeps to it."""

    workspace: str
    vaults: frozenset[str]


class _Bridge:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._session = Session(target.tools)
        self._input = Input()
        self._output = Output(self._seen)
        self._to_daemon = bytearray()
        self._connection: socket.socket | None = None
        self._path = ""
        """Where the first daemon listened."""
        self._serves: _Served | None = None
        """What the first daemon served; None: it did not say."""
        self._vaults: tuple[str, ...] = ()
        """The same folders, in the order in which it named them."""
        self._is_on_demand = False
        self._is_taken_up = False
        """Whether the connection's daemon has taken the session up."""
        self._greeted: bytes | None = None
        """The answer of a daemon that is about to."""
        self._held: list[bytes] = []
        """Lines with requests that wait for the next daemon."""
        self._has_asked = False
        """Whether the agent has asked for something since the bridge last looked for a daemon."""
        self._polled: tuple[tuple[int, int], ...] = ()
        """The descriptors that `_poll` waits for, each with its events."""
        self._poll = select.poll()
        self._room = select.poll()
        """Tells whether the agent's pipe takes something."""
        self._room.register(1, select.POLLOUT)
        self._end_at: float | None = None
        """When a bridge whose agent has closed its end gives up."""

    def run(self) -> NoReturn:
        """Raises:
        _AgentGone: as every session ends.
        NoDaemon: there is none, or it went away and none can take its place.
        """
        connection, self._path = connect(self._target)
        self._take_up(connection)
        while True:
            self._copy()
            if self._end_at is not None:
                self._end()
            if self._serves is None or self._session.is_native:
                self._flush()
                raise NoDaemon(
                    "The daemon has ended the connection.", hint="See `workspaced status`, and reconnect."
                )
            self._wait()

    # -- copying --

    def _copy(self) -> None:
        """Passes lines on until the daemon ends."""
        is_shut = False
        while self._connection is not None:
            if self._end_at is not None and not self._to_daemon and not is_shut:
                is_shut = True
                with suppress(OSError):  # it has ended just now
                    self._connection.shutdown(socket.SHUT_WR)
            self._turn(None)

    def _turn(self, timeout_s: float | None) -> None:
        """Waits until something can be read or written, and does it.

        Raises:
            _AgentGone: it reads no more, or was waited for long enough.
        """
        if self._end_at is not None:
            left_s = self._end_at - time.monotonic()
            if left_s <= 0:
                self._answer_rest()
                raise _AgentGone
            timeout_s = left_s if timeout_s is None else min(timeout_s, left_s)
        has_room = self._output.ready < ANSWER_BYTES_MAX + REQUEST_BYTES_MAX
        has_begun = self._is_taken_up or self._serves is not None
        is_read = self._end_at is None and has_begun and has_room and not self._to_daemon
        polled = (
            (
                self._connection.fileno() if self._connection is not None else -1,
                (0 if self._output.ready else select.POLLIN) | (select.POLLOUT if self._to_daemon else 0),
            ),
            (0, select.POLLIN if is_read else 0),
            (1, select.POLLOUT if self._output.ready else 0),
        )
        if polled != self._polled:
            self._polled, self._poll = polled, select.poll()
            for descriptor, events in polled:
                if events and descriptor >= 0:
                    self._poll.register(descriptor, events)
        for descriptor, _ in self._poll.poll(None if timeout_s is None else timeout_s * 1000):
            if descriptor == 0:
                self._read()
            elif descriptor == 1:
                self._write()
            else:
                self._send()
                self._receive()

    def _write(self) -> None:
        """Writes to the agent what it takes without a wait, whatever others have set for its pipe."""
        while self._output.ready and self._room.poll(0):
            try:
                self._output.written(os.write(1, self._output.first(select.PIPE_BUF)))
            except BlockingIOError:
                return
            except OSError:
                raise _AgentGone from None

    def _flush(self) -> None:
        while self._output.ready:
            self._turn(None)

    def _read(self) -> None:
        try:
            data = os.read(0, _BRIDGE_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end_at = time.monotonic() + BRIDGE_LINGER_S
            data = b"\n" if self._input.partial else b""  # the last line may end without LF
        for line in self._input.feed(data):
            self._take(line)

    def _take(self, line: bytes | TooLong) -> None:
        """Takes a line of the agent's."""
        if isinstance(line, TooLong):
            error = RequestError(
                "LINE_TOO_LARGE",
                f"A line is longer than {REQUEST_BYTES_MAX} bytes.",
                hint="Ask for less at a time.",
            )
            self._output.add(refused(line.request_id, error))
            self._write()
        elif not self._is_taken_up:
            self._hold(line)
        else:
            self._session.forward(line)
            self._to_daemon += line
            self._send()

    def _send(self) -> None:
        if self._connection is None or not self._to_daemon:
            return
        try:
            del self._to_daemon[: self._connection.send(self._to_daemon)]
        except BlockingIOError:
            return
        except OSError:
            self._to_daemon.clear()  # `_receive` sees the end, too

    def _receive(self) -> None:
        assert self._connection is not None
        if self._output.ready:
            return
        try:
            data = self._connection.recv(_BRIDGE_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._output.feed(data)
        is_endless = self._output.partial > BRIDGE_LINE_BYTES_MAX and not self._session.is_native
        if not data or is_endless:
            self._leave()
        self._write()

    def _seen(self, line: bytes) -> bytes:
        if self._is_taken_up:
            return self._session.answer(line)
        self._greeted = line
        return b""

    def _leave(self) -> None:
        """Ends the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._is_taken_up = None, False
        self._to_daemon.clear()
        self._output.drop_partial()

    # -- from one daemon to the next --

    def _wait(self) -> None:
        """Answers what was in flight, and waits until a daemon has taken the session up."""
        _say("workspaced: The daemon has ended the connection; the session goes on with the next one. [NO_DAEMON]")
        answers, again = self._session.lost()
        self._output.add(answers)
        self._held[:0] = again
        self._has_asked = bool(self._held)  # the agent may have asked in the turn that saw the end
        restart_until = time.monotonic() + BRIDGE_RESTART_S
        is_passive = True
        error: WorkspacedError | None = None
        while True:
            with suppress(ChildProcessError):  # a daemon that this bridge has started looks alive until then
                os.waitpid(-1, os.WNOHANG)
            has_asked, self._has_asked = self._has_asked, False
            if has_asked or is_passive:
                try:
                    if self._look(may_start=has_asked):
                        return
                    error, is_passive = self._gone(), True
                except WorkspacedError as why:
                    # One that refuses the session is left alone until the agent asks: looks would keep it alive.
                    error, is_passive = why, bool(why.details.get("retryable"))
            assert error is not None
            is_soon = is_passive and time.monotonic() < restart_until
            if not is_soon:
                self._refuse_held(error)
            self._pause(_BRIDGE_LOOK_S if is_soon else _BRIDGE_IDLE_LOOK_S)

    def _look(self, *, may_start: bool) -> bool:
        """Lets a daemon that runs, or one that may be started, take the session up; returns whether there is one.

        Raises:
            NoDaemon, UnsupportedVersion: it cannot, or must not.
        """
        connection = self._reach()
        if connection is None and may_start and self._is_on_demand and not was_stopped(self._pinned.workspace):
            connection = self._start()
        if connection is not None:
            self._take_up(connection)
        return connection is not None

    def _reach(self) -> socket.socket | None:
        """A connection to a daemon that says of itself, or may say, that it serves what the first one served."""
        path, _ = named(self._target)
        fitting = [] if path else [each.socket for each in recorded() if _served(each) == self._pinned]
        for each in dict.fromkeys([*fitting, self._path]):
            with suppress(NoDaemon):  # one that accepts nobody, or another user's
                if (connection := open_socket(each, PROBE_S)) is not None:
                    return connection
        return None

    def _start(self) -> socket.socket | None:
        from ..discovery.autostart import reach_or_start

        path, _ = named(self._target)
        try:
            return reach_or_start(
                self._reach,
                vaults=self._vaults,
                socket_path=path,
                workspace=self._pinned.workspace,
                pause=self._pause,
            )
        except NoDaemon as error:
            _complain(error)
            hint = "Standard error of `workspaced mcp` says why."
            self._refuse_held(NoDaemon("A daemon could not be started.", hint=hint, retryable=True))
            return None

    def _pause(self, seconds: float) -> None:
        """A turn without a daemon, which ends the session if its agent has closed its end."""
        self._turn(seconds)
        if self._end_at is not None:
            self._end()

    def _end(self) -> NoReturn:
        """Ends a session without a daemon whose agent has closed its end."""
        self._answer_rest()
        self._flush()
        raise _AgentGone

    def _answer_rest(self) -> None:
        """Answers what no daemon will answer any more, as far as the agent takes it without a wait."""
        answers, again = self._session.lost()
        self._output.add(answers)
        self._held[:0] = again
        self._refuse_held(NoDaemon("The connection to the daemon has ended.", hint="Ask again.", retryable=True))

    def _take_up(self, connection: socket.socket) -> None:
        """Makes the session one of the connection's daemon, and passes on what waits for it.

        Raises:
            NoDaemon: it does not answer, or serves something else than the first one.
            UnsupportedVersion: it speaks another version of MCP than the session does.
        """
        connection.setblocking(False)
        self._connection = connection
        try:
            self._greet()
            if initialize := self._session.initialize():
                self._session.check_version(self._ask(initialize))
        except BaseException:
            self._leave()
            raise
        self._is_taken_up = True
        self._to_daemon += self._session.resume()
        held, self._held = self._held, []
        for line in held:
            self._take(line)
        self._send()

    def _greet(self) -> None:
        """Asks the daemon what it serves: the first one decides what this session is shown, ever."""
        answer = json.loads(self._ask(GREETING + self._session.choice()))
        facts = answer.get("result", {}).get("_meta", {}).get(SERVES)
        serves = facts and _Served(facts["workspace"], frozenset(facts["vaults"]))
        if self._serves is None:
            self._serves, self._vaults = serves, tuple(facts["vaults"] if facts else ())
        elif self._serves != serves:
            now = f"{serves.workspace!r} with {', '.join(sorted(serves.vaults))}" if serves else "unknown"
            then = f"{self._serves.workspace!r} with {', '.join(self._vaults)}"
            _say(f"workspaced: The daemon that runs now is {now}; this session began with {then}. [NO_DAEMON]")
            raise NoDaemon(
                "The daemon that runs now serves other folders than this session began with.",
                hint="Reconnect this MCP server.",
                retryable=False,
            )
        self._is_on_demand = bool(facts and facts["onDemand"])

    def _ask(self, lines: bytes) -> bytes:
        """The daemon's answer to a request of the bridge's own. The agent's lines wait meanwhile."""
        self._greeted = None
        self._to_daemon += lines
        deadline = time.monotonic() + BRIDGE_GREETING_S
        while self._greeted is None:
            if self._connection is None:
                raise NoDaemon("The daemon ended the connection at once.", hint="Ask again.", retryable=True)
            if (left_s := deadline - time.monotonic()) <= 0:
                raise NoDaemon("The daemon does not answer.", hint="See `workspaced status`.", retryable=True)
            self._pause(left_s)
        return self._greeted

    @property
    def _pinned(self) -> _Served:
        assert self._serves is not None, "a session whose daemon did not say what it serves ends with it"
        return self._serves

    def _gone(self) -> NoDaemon:
        """Why a request is not answered while no daemon runs."""
        workspace = self._pinned.workspace
        if was_stopped(workspace):
            hint = "Go on without it. The user starts it again by `workspaced serve`, or with a new session."
            return NoDaemon("The user has stopped workspaced.", hint=hint, retryable=False)
        hint = "Go on without it, and ask again later."
        return NoDaemon(f"No daemon of the workspace {workspace!r} runs any more.", hint=hint, retryable=True)

    # -- what waits --

    def _hold(self, line: bytes) -> None:
        """Keeps requests for the next daemon. What a notification says is noted, and told to that daemon."""
        found = messages(line)
        notifications = [each for each in found if "id" not in each]
        for each in notifications:
            if (cancelled := self._session.note(each)) is not None:
                self._held = [held for held in self._held if list(map(id_of, messages(held))) != [cancelled]]
        requests = {request_id: each for each in found if (request_id := id_of(each)) is not None}
        if (found and len(notifications) == len(found)) or not line.strip():
            return
        if requests and all(each["method"] == "ping" for each in requests.values()):
            # It asks for the connection, which is there. A runtime that pings must not start a daemon.
            self._output.add(b"".join(map(pong, requests)))
            return
        self._has_asked = True
        if self._held and sum(map(len, self._held)) + len(line) > BRIDGE_HELD_BYTES_MAX:
            error = NoDaemon("Too many requests wait for a daemon.", hint="Ask again later.", retryable=True)
            self._output.add(b"".join(failures(line, error)))
            return
        self._held.append(line)

    def _refuse_held(self, error: WorkspacedError) -> None:
        held, self._held, self._has_asked = self._held, [], False
        for line in held:
            self._output.add(b"".join(failures(line, error)))
        self._write()


def _served(record: Record) -> _Served:
    return _Served(record.workspace, frozenset(record.vaults))


def _complain(error: WorkspacedError) -> None:
    _say(f"workspaced: {error.message} [NO_DAEMON]")
    _say(f"  {error.hint}")


def _say(line: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError):
            os.write(2, line.encode("utf-8", "backslashreplace") + b"\n")
