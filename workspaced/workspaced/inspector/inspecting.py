"""The log that is inspected, opened and followed, and the API over it. Imported while the page is painted.

The log's directory is read once; what the daemon writes after it is told by a subscription that begins there. A
log that is another one (its id changed, or it does not continue) is read anew. A daemon that stops is looked for
until it is back.
"""

import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import msgspec
from anyio import from_thread, to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as WebRoute

from workspaced_events.errors import InvalidArgument, LogUnreadable, WorkspacedError
from workspaced_events.replay.kept_folds import NotFolded
from workspaced_events.replay.source import NEVER_COMPLETED, Progress
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.codec import decode_event

from .. import replay
from ..client.async_client import Client
from ..client.wire import Notice
from ..errors import NoDaemon, RemoteError, TimedOut
from ..limits import INSPECTOR_BODY_BYTES_MAX
from .inspected import Download, Inspected
from .routes import ROUTES, Route
from .server import API
from .subject import Subject
from .tail import TAIL_PATH, DaemonLink, Grew, Opened, Opening, Tail, TailResponse
from .views.agents import CLIENT

T = TypeVar("T")


class OpenLog:
    """A `workspaced.replay.Log`, opened once, which one thread at a time uses. Leaving its `with` block closes it.

    A long log takes seconds to fold. So it is folded in small steps, between views; a view that needs more than is
    folded gives way until it is, and is then asked again. Its coroutines belong to one event loop.
    """

    def __init__(self, subject: Subject, progress: Progress, *, may_change: bool = False) -> None:
        """`progress`: is told on the loop how much of the log is verified while it opens, and of how much."""
        self.subject = subject
        self._progress = progress
        self._may_change = may_change
        self._inspected: Inspected | None = None
        self._failure: WorkspacedError | None = None
        self._tried = anyio.Event()
        self._unfolded = anyio.Event()
        """Set when there is something to fold."""
        # Whoever waits longest is next, so the fold holds up a view by one step, and views the fold by one each.
        self._lock = anyio.Lock()
        self._closing = ExitStack()
        self._ending = threading.Event()

    def __enter__(self) -> "OpenLog":
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing.close()

    async def open(self) -> None:
        """Opens the log, then folds it, also what is added to it and what it is opened anew with; until cancelled.

        `read` waits until it is open, and raises the error if it could not be opened.
        """
        await self.reload()
        self._tried.set()
        while True:
            await self._unfolded.wait()
            self._unfolded = anyio.Event()
            with suppress(WorkspacedError, OSError):  # told to whoever asks for a moment
                while not await self._folded_to(None):
                    pass

    async def read(self, view: Callable[[Inspected], T]) -> T:
        """What `view` makes of the log, on a thread, after all views before it.

        A view that needs more folded than is begins anew once it is; so before it asks for a moment it changes
        nothing.

        Raises:
            WorkspacedError: the log cannot be opened, or the view's error.
        """
        await self._tried.wait()
        while True:
            try:
                return await self._locked(view)
            except NotFolded as more:
                needed = more.needed
            while not await self._folded_to(needed):
                pass

    def end(self) -> None:
        """Gives up what is under way: nobody waits for it any more."""
        self._ending.set()

    async def _locked(self, view: Callable[[Inspected], T]) -> T:
        async with self._lock:
            inspected = self._now()
            try:
                return await to_thread.run_sync(view, inspected)
            finally:
                folded, events = inspected.log.folded
                if folded < events:
                    self._unfolded.set()

    async def _folded_to(self, needed: int | None) -> bool:
        """Whether so many events are folded, after one step more if they were not; None: all.

        Raises:
            WorkspacedError: as `read`, or the inspector ends.
        """
        async with self._lock:
            log = self._now().log
            self._check_wanted()
            folded, events = log.folded
            wanted = events if needed is None else min(needed, events)
            if folded < wanted:
                folded, _ = await to_thread.run_sync(log.fold_some)
            return folded >= wanted

    def _now(self) -> Inspected:
        if self._failure is not None:
            raise self._failure
        # A bundle or an export stays open; of a directory each file is opened when it is needed.
        if self.subject.kind in ("directory", "daemon") and not self.subject.path.exists():
            raise LogUnreadable(
                f"{self.subject.name} is not there any more: it was moved or deleted.",
                hint="Open it where it is now, with `workspaced inspect`.",
            )
        assert self._inspected is not None
        return self._inspected

    async def reload(self) -> None:
        """Opens the log anew, as it is now; until then views read it as it was."""
        opened, failure = ExitStack(), None
        inspected = None
        try:
            inspected = await to_thread.run_sync(self._open, opened)
        except WorkspacedError as error:
            failure = error
        except OSError as error:
            failure = LogUnreadable(f"{self.subject.name} cannot be read: {error.strerror}.")
        async with self._lock:
            former, self._closing = self._closing, opened
            self._inspected, self._failure = inspected, failure
            former.close()
        self._unfolded.set()

    def _open(self, opened: ExitStack) -> Inspected:
        log = opened.enter_context(replay.open(self.subject.path, until_damage=True, progress=self._verified))
        log.fold_only_in_steps()
        if self.subject.socket is not None:
            # A daemon is about to complete the line, or will put it aside when it starts.
            log.warnings[:] = [each for each in log.warnings if not each.endswith(NEVER_COMPLETED)]
        return Inspected(self.subject, log, self._may_change)

    def _verified(self, done: int, of: int) -> None:
        self._check_wanted()
        from_thread.run_sync(self._progress, done, of)

    def _check_wanted(self) -> None:
        if self._ending.is_set():
            raise LogUnreadable(f"{self.subject.name} was not read to its end, since the inspector ends.")


_TAIL_RETRY_S: Final = 1.0
"""How often a daemon that is gone is looked for."""
_TAIL_PACE_S: Final = 0.1
"""Pause between two messages about a log that grows, so that a burst becomes few messages."""
_GOES_ON: Final = "This page goes on when it is back."
_PAGE_EVENTS: Final = 1_000
_NOTICES_MAX: Final = 200
"""Notices that are taken together."""


class Inspecting:
    """An inspected log. Leaving its `with` block closes it."""

    def __init__(self, subject: Subject, *, may_change: bool) -> None:
        self._closing = ExitStack()
        self._tail = Tail()
        self._log = self._closing.enter_context(OpenLog(subject, self._verified, may_change=may_change))

    def __enter__(self) -> "Inspecting":
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing.close()

    @property
    def routes(self) -> list[BaseRoute]:
        """The views, and the stream that says what is new, at their paths below `API`."""
        stream = WebRoute(TAIL_PATH.removeprefix(API), _following(self._tail))
        views = (
            WebRoute(each.path.removeprefix(API), _endpoint(self._log, each), methods=[each.method])
            for each in ROUTES
        )
        return [stream, *views]

    async def run(self) -> None:
        """Opens the log and follows it, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._log.open)
            tasks.start_soon(follow, self._log, self._tail)

    def end(self) -> None:
        """Gives up what is under way, and ends the pages' streams."""
        self._log.end()
        self._tail.close()

    def _verified(self, done: int, of: int) -> None:
        self._tail.tell(Opening(done, of))


# -- the API --


def _following(tail: Tail) -> Callable[[Request], Awaitable[Response]]:
    async def follow(_request: Request) -> Response:
        return TailResponse(tail.page())

    return follow


def _endpoint(log: OpenLog, route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        parameters = _parameters(request, await _object_in(request), route.parameters)
        return await log.read(lambda inspected: _response(route.view(inspected, parameters)))

    return answer


def _response(answer: msgspec.Struct | Download) -> Response:
    if not isinstance(answer, Download):
        return Response(msgspec.json.encode(answer), media_type="application/json")
    headers = {"content-disposition": f'attachment; filename="{answer.name}"'}
    return Response(answer.content, media_type=answer.media_type, headers=headers)


async def _object_in(request: Request) -> dict[str, Any]:
    """The JSON object that a POST holds.

    Raises:
        InvalidArgument: it is longer than allowed, or no JSON object.
    """
    if request.method != "POST":
        return {}
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > INSPECTOR_BODY_BYTES_MAX:
            raise InvalidArgument(f"Expected a body of at most {INSPECTOR_BODY_BYTES_MAX} bytes.")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidArgument(f"Expected a JSON object as the body of {request.url.path}: {error}.") from None


def _parameters(request: Request, body: dict[str, Any], kind: type[msgspec.Struct]) -> msgspec.Struct:
    """
    Raises:
        InvalidArgument: a parameter is unknown or has another type.
    """
    given: dict[str, Any] = {**body, **request.query_params, **request.path_params}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"{error} in the parameters of {request.url.path}.") from None


async def follow(log: OpenLog, tail: Tail) -> None:
    """Tells `tail` what becomes of `log`, until cancelled. Of a log that does not grow only that it is open."""
    socket = log.subject.socket
    try:
        tail.tell(Opened(await log.read(_last), grows=socket is not None))
    except WorkspacedError:
        return  # the page is told why by whatever it asks
    if socket is not None:
        await _Follower(log, socket, tail).run()


class _OtherLog(Exception):
    """What the daemon has is not what was read."""


class _Follower:
    """Follows one daemon, as often as it starts."""

    def __init__(self, log: OpenLog, socket: Path, tail: Tail) -> None:
        self._log = log
        self._socket = socket
        self._tail = tail
        self._instance: object = None
        """The daemon's life that was followed last."""
        self._last = 0
        """The sequence of the last event that the log has."""

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
                self._tell_gone("The daemon does not answer.")
            except (NoDaemon, TimedOut, RemoteError) as error:
                self._tell_gone(error.message)
            except _OtherLog:
                with suppress(WorkspacedError):  # the page is told why by whatever it asks
                    await self._log.reload()
                    self._tail.tell(Opened(await self._log.read(_last), grows=True))
            await anyio.sleep(_TAIL_RETRY_S)

    def _tell_gone(self, why: str) -> None:
        self._tail.tell(DaemonLink(connected=False, why=f"{why} {_GOES_ON}"))

    async def _follow(self) -> None:
        """Follows until the connection ends.

        Raises:
            _OtherLog: the log is to be read anew.
            NoDaemon, TimedOut, RemoteError: the daemon is not there, or refuses.
        """
        async with Client.open(self._socket, name=CLIENT) as client:
            log_id, self._last = await self._log.read(lambda inspected: (inspected.log.log_id, _last(inspected)))
            former, self._instance = self._instance, client.server.get("instance")
            daemons, _, clock = str(client.server["clock"]).rpartition(":")
            # What the files hold beyond the daemon's clock, it has acknowledged or lost by the next reading. Where
            # it started anew, notes may have been forgotten meanwhile, which changes events in their places.
            if daemons != log_id or int(clock) < self._last or former not in (None, self._instance):
                raise _OtherLog
            async with client.subscribe(since=f"{log_id}:{self._last}") as notices:
                self._tail.tell(DaemonLink(connected=True))
                async for notice in notices:
                    await self._take(client, [notice, *_waiting(notices)])
                    await anyio.sleep(_TAIL_PACE_S)

    async def _take(self, client: Client, notices: Sequence[Notice]) -> None:
        """Extends the log by what the notices tell.

        Raises:
            _OtherLog: they do not continue it.
        """
        before = self._last
        for notice in notices:
            if notice.method == "workspaced/gap":
                await self._fill(client, notice.params["to"])
            else:
                await self._extend(notice.params["events"])
        if self._last > before:
            self._tail.tell(Grew(self._last))

    async def _fill(self, client: Client, until: int) -> None:
        """Reads what a subscription skipped because we were far behind."""
        while self._last < until:
            page = await client.call("workspaced/log", {"from": self._last + 1, "limit": _PAGE_EVENTS})
            if not page["events"]:
                raise _OtherLog
            await self._extend(page["events"])

    async def _extend(self, events: list[dict[str, Any]]) -> None:
        decoded: list[Event] = [decode_event(msgspec.json.encode(each)) for each in events]
        following = [event for event in decoded if event.seq > self._last]
        if not following:
            return
        try:
            await self._log.read(lambda inspected: inspected.log.extend(following))
        except InvalidArgument:
            raise _OtherLog from None
        self._last = following[-1].seq


def _waiting(notices: MemoryObjectReceiveStream[Notice]) -> list[Notice]:
    """What has come already, without waiting."""
    found: list[Notice] = []
    while len(found) < _NOTICES_MAX:
        try:
            found.append(notices.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream):
            break
    return found


def _last(inspected: Inspected) -> int:
    events = inspected.log.events()
    return events[-1].seq if events else 0
