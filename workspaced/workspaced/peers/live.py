"""`Live`: one connection's life of a link: what runs while the daemon is linked, or asks to be."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol

import anyio
from msgspec.structs import replace

from workspaced_events.clock import microseconds
from workspaced_events.errors import ActionError, Paused, WorkspacedError
from workspaced_events.ids import OriginId
from workspaced_events.journal.actions import Action
from workspaced_events.peers.differences import SharedView
from workspaced_events.peers.merging import removed_by_peers
from workspaced_events.projections.shared_view import shared_view
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.peer_events import Position, RemoteEventsApplied, SharedVault

from .carrier import Carried, Carrier, CarrierError
from .forgetting import as_asks, let_go
from .keys.invitation import open_request, seal_request
from .keys.keyring import Keyring
from .keys.message import MessageRefused
from .keys.origin_keys import OriginKeys
from .keys.roster import open_roster
from .leaving_notes import Named, exceeds, named_by, notes_named
from .membership import Membership, with_request
from .outbox import Outbox
from .receiving import Receiver
from .sending import TOGETHER_S, OriginTaken, Sender

logger = logging.getLogger(__name__)

ROSTER: Final = "roster"
JOIN: Final = "join."
RETRY_S: Final = 1.0
LOOK_S: Final = 60.0


class Daemon(Protocol):
    """What a link needs of its daemon."""

    def state(self) -> WorkspaceState: ...
    async def record(self, actions: list[Action]) -> None:
        """Raises WorkspacedError: they are not recorded."""

    async def moved(self, timeout_s: float) -> None:
        """Returns when the log or a vault has changed, or after a time."""

    async def allowed(self, named: frozenset[Named]) -> frozenset[Named]:
        """As `may_leave`."""


class Live:
    """Belongs to the loop's thread."""

    def __init__(
        self,
        daemon: Daemon,
        keys: OriginKeys,
        membership: Membership,
        carrier: Carrier,
        outbox: Outbox,
        changed: Callable[[Callable[[Membership], Membership]], Awaitable[None]],
        *,
        selection_text: bool = False,
    ) -> None:
        """
        Args:
            membership: as of now.
            changed: changes and keeps it; then `take` is called.
            selection_text: whether the text of a selection leaves.

        Raises:
            MessageRefused: the roster has no keys for this machine.
            OSError, msgspec.MsgspecError: the outbox cannot be read.
        """
        self._daemon = daemon
        self._keys = keys
        self.membership = membership
        self._carrier = carrier
        self._changed = changed
        self._selection_text = selection_text
        self.problem: CarrierError | None = None
        self.is_taken = False
        self.refused: Counter[str] = Counter()
        """How many rosters and requests to join were refused, by code."""
        self._allowed: frozenset[Named] = frozenset()
        self._knows_allowed = anyio.Event()
        self._state = daemon.state()
        self._messages: list[Carried] = []
        self._arrived = anyio.Event()
        self._roster_changed = anyio.Event()
        self.sender: Sender | None = None
        self.receiver: Receiver | None = None
        if membership.roster is not None:
            keyring = Keyring(keys, membership.roster)
            self._keyring = keyring
            self.sender = Sender(keyring, carrier, outbox, self._make)
            self.receiver = Receiver(keyring, carrier, self.positions, self._apply, self._take)
            self.receiver.on_connected = self.sender.check

    @property
    def carrier_state(self) -> str:
        return self._carrier.state

    async def run(self) -> None:
        """Runs until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._take_messages)
            tasks.start_soon(self._publish_own)
            tasks.start_soon(self._follow_reports)
            if self.sender is not None and self.receiver is not None:
                tasks.start_soon(self._send, self.sender)
                tasks.start_soon(self.receiver.run)
                tasks.start_soon(self._follow_state, self.sender)
            else:
                tasks.start_soon(self._listen)

    def take(self, membership: Membership) -> None:
        """The membership has changed, in a way that needs no other life."""
        self.membership = membership
        if membership.roster is not None and self.sender is not None and self.receiver is not None:
            self._keyring.replace_roster(membership.roster)
            self.sender.share()
            self.receiver.look_again()
        self._roster_changed.set()

    # -- what is shared --

    def _make(self, before: SharedView, n: int) -> tuple[SharedView, int]:
        allowed, state = self._allowed, self._state
        asks = as_asks(self.membership.asks)
        view = shared_view(
            state,
            lambda vault, note: (vault, note) in allowed,
            before,
            n,
            selection_text=self._selection_text,
            asks=asks,
        )
        return view, state.peers.ms

    async def _follow_state(self, sender: Sender) -> None:
        while True:
            state = self._daemon.state()
            named = notes_named(state) | named_by(sender.sent, state)
            allowed = await self._daemon.allowed(named)
            withdrawn = named_by(sender.sent, state) & (named - allowed)
            if withdrawn or exceeds(sender.sent.shared, state.peers, self._selection_text):
                sender.begin_generation()
            if allowed != self._allowed or state.peers is not self._state.peers or state.seq != self._state.seq:
                self._allowed, self._state = allowed, state
                sender.share()
            self._knows_allowed.set()
            await anyio.sleep(TOGETHER_S)  # many events in a row cost one look
            if self._daemon.state() is state:
                await self._daemon.moved(LOOK_S)

    async def _send(self, sender: Sender) -> None:
        await self._knows_allowed.wait()  # or it would take back everything first
        try:
            await sender.run()
        except OriginTaken:
            self.is_taken = True

    # -- what is received --

    def positions(self) -> dict[OriginId, Position]:
        """What was applied of each peer."""
        return {origin: view.position for origin, view in self._daemon.state().peers.origins.items()}

    async def _apply(self, event: RemoteEventsApplied) -> None:
        """Records a peer's message, unpins here what this person has unpinned or forgotten there, ends asks that
        have reached everybody."""
        await self._record([Action(event), *let_go(self._daemon.state(), event)])
        if unpinned := self._removed_by_peers():
            await self._record(unpinned)
        peers = self._daemon.state().peers
        left = tuple(each for each in self.membership.asks if peers.not_reached(each.vault, each.asked))
        if left != self.membership.asks:
            await self._changed(lambda now: replace(now, asks=left))

    def _removed_by_peers(self) -> list[Action]:
        state, sender = self._daemon.state(), self.sender
        peers, actions = state.peers, []
        if sender is None or peers.own is None or peers.person is None:
            return []
        views = [peers.origins[each].view for each in peers.of_person(peers.person) if each in peers.origins]
        for vault, own in peers.vaults.items():
            linked = own.mapping.linked
            shared = sender.sent.shared.get(linked, SharedVault(linked))
            pinned_us = {pin.note: pin.pinned_us for pin in shared.pins}
            gone = removed_by_peers(peers.own, shared, (view[linked] for view in views if linked in view))
            pins = state.of(vault).pins
            actions += [
                Action(c.NoteUnpinned(note), vault=vault)
                for note in gone
                if note in pins and microseconds(pins[note].pinned_at) == pinned_us[note]
            ]
        return actions

    async def _record(self, actions: list[Action]) -> None:
        """Records, however long the log does not take it: paused, no room, busy."""
        while True:
            try:
                await self._daemon.record(actions)
            except WorkspacedError as error:
                if isinstance(error, ActionError) and not isinstance(error, Paused):
                    logger.warning("of the link, not recorded: %s", error)  # a vault that is closed here, for one
                    return
                logger.info("not recorded yet: %s", error)
                await self._daemon.moved(RETRY_S)
                await anyio.sleep(RETRY_S)
            else:
                return

    # -- roster and requests --

    def _take(self, message: Carried) -> None:
        if len(self._messages) < 1_000:
            self._messages.append(message)
            self._arrived.set()

    async def _listen(self) -> None:
        """As long as there is no roster."""
        while True:
            try:
                await self._carrier.listen(self._take)
            except CarrierError as error:
                self.problem = error
            await anyio.sleep(RETRY_S)

    async def _take_messages(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived = anyio.Event()
            messages, self._messages = self._messages, []
            for message in messages:
                try:
                    if message.subject == ROSTER:
                        await self._take_roster(message)
                    elif message.subject.startswith(JOIN) and self.membership.is_creator(self._keys.origin):
                        await self._take_request(message)
                except MessageRefused as error:
                    self.refused[error.code] += 1
                    logger.info("refused on %s: %s", message.subject, error)

    async def _take_roster(self, message: Carried) -> None:
        membership = self.membership
        if membership.is_creator(self._keys.origin):
            return
        known = membership.roster.version if membership.roster is not None else 0
        roster = open_roster(message.data, membership.link, membership.creator_key, self._keys, known)
        if roster is None:
            if membership.roster is not None:
                await self._changed(lambda now: replace(now, was_removed=True))
        elif roster.version > known:
            await self._changed(lambda now: replace(now, roster=roster, code=None, was_removed=False))

    async def _take_request(self, message: Carried) -> None:
        origin, membership = message.subject.removeprefix(JOIN), self.membership
        roster = membership.roster
        assert roster is not None, "the creator has one"
        # The server keeps a request, and anybody may send it again: who was removed joins as another origin.
        if roster.member(OriginId(origin)) is not None or roster.was_removed(OriginId(origin)) is not None:
            return
        now = datetime.now(UTC)
        for invitation in membership.invitations:
            if not invitation.is_valid(now, origin):
                continue
            try:
                joining = open_request(message.data, invitation, origin)
            except MessageRefused:
                continue
            await self._changed(partial(with_request, joining=joining, secret=invitation.secret))
            return

    async def _publish_own(self) -> None:
        """Keeps on the server what is not an origin's: the creator's roster, or the request to join."""
        while True:
            try:
                await self._publish_once()
            except CarrierError as error:
                self.problem = error
                await anyio.sleep(RETRY_S)
                continue
            with anyio.move_on_after(LOOK_S):
                await self._roster_changed.wait()
            self._roster_changed = anyio.Event()

    async def _publish_once(self) -> None:
        membership = self.membership
        if membership.is_creator(self._keys.origin):
            subject, data = ROSTER, membership.sealed_roster
        elif membership.code is not None:
            subject, data = JOIN + self._keys.origin, seal_request(membership.code, self._keys, membership.machine)
        else:
            return
        last = await self._carrier.last(subject)
        is_there = last is not None and (last.data == data or subject != ROSTER)
        if not is_there:
            await self._carrier.publish(subject, data, after=last.sequence if last is not None else 0, begins=True)
        self.problem = None

    async def _follow_reports(self) -> None:
        async for report in self._carrier.reports():
            self.problem = report
