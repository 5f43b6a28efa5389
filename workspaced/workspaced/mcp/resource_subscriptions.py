"""Subscriptions to resources: `subscriptions/listen` (2026-07-28) and `resources/subscribe` (before).

A client gets a notification only if reading the resource would give another answer than before. So each commit
that may have changed an answer calls the tool again, through the same gate as a client's call, and compares the
answer's hash: a withheld note causes no notification either. During a pause nothing is compared; behind it all is.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from workspaced_events.errors import InvalidArgument, Paused
from workspaced_events.schema.catalogue import CATALOGUE

from ..errors import RequestError
from ..ipc.jsonrpc import NO_ANSWER, RequestId, notification, response
from ..journal.log_tail import NOTES_MOVED
from ..limits import COALESCE_S, SUBSCRIPTIONS_PER_CONNECTION_MAX
from ..recording.call_recorder import ToolAnswer
from ..service.service import Service
from ..service.session import Session
from .resources import Refused, Resource, Uri, resource
from .tools import moment

logger = logging.getLogger(__name__)

SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_CHANGE_NOTHING: Final = frozenset(
    each.name
    for each in CATALOGUE.values()
    if each.lane in ("calls", "volunteered", "log") and not each.changes_state
)
"""Events that change no resource. Reading a resource appends one, which must not wake the reader."""

_UNKNOWN: Final = b""
"""In place of a hash, if the watch began during a pause: the first answer behind it is a change."""


class Filter(msgspec.Struct, frozen=True, rename="camel"):
    """The requested notifications. Lists never change while the daemon runs, so there are none for them."""

    resource_subscriptions: tuple[str, ...] = ()


class Listen(msgspec.Struct, frozen=True):
    notifications: Filter


class ResourceWatch:
    """Watches resources on behalf of one client. Runs on the loop's thread only."""

    def __init__(
        self,
        service: Service,
        session: Session,
        caller: str,
        uris: Iterable[str],
        closing_response: bytes | None = None,
        **meta: Any,
    ) -> None:
        """
        Args:
            closing_response: the line to send when the daemon ends the watch.
            meta: goes into `_meta` of every notification.

        Raises:
            Refused: UNKNOWN_RESOURCE.
        """
        self.closing_response = closing_response
        self._service = service
        self._session = session
        self._caller = caller
        self._resources: dict[str, Resource] = {uri: resource(uri) for uri in uris}
        self._digests: dict[str, bytes] = {}
        self._meta = meta
        self._following = service.tail.seq + 1
        self._notes_moved = False
        self._busy = True
        self._closed = False
        service.tail.signals.on(NOTES_MOVED, self._moved)

    async def begin(self) -> None:
        """Hashes the present answers; later changes cause notifications."""
        for uri in self._resources:
            self._digests[uri] = await self._digest(uri) or _UNKNOWN
        self._busy = False

    def close(self) -> None:
        """Stops sending."""
        if not self._closed:
            self._closed = True
            self._service.tail.signals.remove_listener(NOTES_MOVED, self._moved)

    def tail_moved(self) -> None:
        """Checks for changes; called on the loop after every commit, and when the client reads again."""
        if self._busy or self._closed or not self._session.writable or not self._concerned():
            return
        self._busy = True
        self._session.call_later(COALESCE_S, self._start_comparing)

    def _moved(self) -> None:
        """Checks for changes after note files changed, whether or not the log holds an event for it."""
        self._notes_moved = True
        self.tail_moved()

    def _concerned(self) -> bool:
        """Whether anything since the last comparison may have changed a resource."""
        if self._service.pausing.paused is not None:
            return False
        if self._notes_moved:
            return True
        events = self._service.tail.events_from(self._following)
        if events is not None and all(event.type in _CHANGE_NOTHING for event in events):
            self._following += len(events)
            return False
        return True

    def _start_comparing(self) -> None:
        if not self._closed:
            self._session.start_soon(self._compare)

    async def _compare(self) -> None:
        self._following = self._service.tail.seq + 1
        self._notes_moved = False
        try:
            for uri in self._resources:
                digest = await self._digest(uri)
                if self._closed or digest is None:
                    return
                if digest != self._digests[uri]:
                    self._digests[uri] = digest
                    params = {"uri": uri, "_meta": {**self._meta, **moment(self._service)}}
                    self._session.send(notification("notifications/resources/updated", params))
        except Exception:
            # The next event compares again; a call would show the client the error.
            logger.exception("watched resources could not be compared")
        finally:
            self._busy = False
        self.tail_moved()

    async def _digest(self, uri: str) -> bytes | None:
        """The hash of the present answer; None during a pause, in which there is none."""
        tool, arguments = self._resources[uri]
        try:
            return _digest(await self._service.calls.preview(tool, arguments, self._caller))
        except Paused:
            return None


def _digest(answer: ToolAnswer) -> bytes:
    """The hash of an answer without `asOfSeq`. In JSON no text can contain the key unescaped."""
    content = answer.payload.replace(b'"asOfSeq":%d' % answer.as_of_seq, b"", 1)
    return hashlib.sha256(content).digest()


async def listen(session: Session, request_id: RequestId | None, params: Listen) -> Any:
    """Acknowledges the subscription, then notifies until the client cancels the request or either side ends.

    The acknowledgement omits unknown URIs, which get no notifications.
    """
    assert request_id is not None  # without an id it would be a notification, and no notification has this name
    wanted = dict.fromkeys(params.notifications.resource_subscriptions)
    if len(wanted) > SUBSCRIPTIONS_PER_CONNECTION_MAX:
        raise InvalidArgument(
            f"At most {SUBSCRIPTIONS_PER_CONNECTION_MAX} resources are watched by one request.",
            hint="Watch the rest with another request.",
        )
    if request_id in session.subscriptions:
        raise RequestError("INVALID_REQUEST", "A request of this id is still open.", hint="Give another id.")
    honoured = [uri for uri in wanted if _is_ours(uri)]
    meta = {SUBSCRIPTION: request_id}
    closing_response = response(request_id, {"resultType": "complete", "_meta": meta})
    watch = ResourceWatch(session.service, session, session.client, honoured, closing_response, **meta)

    def acknowledge() -> None:
        acknowledged = {"resourceSubscriptions": honoured} if honoured else {}
        params = {"notifications": acknowledged, "_meta": {**meta, **moment(session.service)}}
        session.send(notification("notifications/subscriptions/acknowledged", params))

    await _open(session, request_id, watch, acknowledge)
    return NO_ANSWER


async def subscribe(session: Session, _id: RequestId | None, params: Uri) -> Any:
    """Notifies of changes of one resource from now on; subscribing again changes nothing.

    Raises:
        Refused: UNKNOWN_RESOURCE.
    """
    if params.uri not in session.subscriptions:
        watch = ResourceWatch(session.service, session, session.client, [params.uri])
        await _open(session, params.uri, watch)
    return {}


def unsubscribe(session: Session, _id: RequestId | None, params: Uri) -> Any:
    watch = session.subscriptions.get(params.uri)
    if isinstance(watch, ResourceWatch):
        watch.close()
        del session.subscriptions[params.uri]
    return {}


async def _open(
    session: Session, key: RequestId, watch: ResourceWatch, ready: Callable[[], None] = lambda: None
) -> None:
    """Adds a watch to its session after the first comparison."""
    if len(session.subscriptions) >= SUBSCRIPTIONS_PER_CONNECTION_MAX:
        watch.close()
        raise InvalidArgument(
            f"A connection holds at most {SUBSCRIPTIONS_PER_CONNECTION_MAX} subscriptions.",
            hint="End one, or watch several resources by one request.",
        )
    session.subscriptions[key] = watch
    try:
        await watch.begin()
    except BaseException:
        watch.close()
        session.subscriptions.pop(key, None)
        raise
    ready()
    session.call_later(0, watch.tail_moved)


def _is_ours(uri: str) -> bool:
    try:
        resource(uri)
    except Refused:
        return False
    return True
