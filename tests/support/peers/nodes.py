"""Daemons of one link in a simulation: the real keys, sender, receiver and fold; a log in memory, no disk, no
socket."""

import asyncio
from contextlib import suppress
from random import Random
from typing import Any

import anyio

from support.peers.simulated import SimulatedServer
from workspaced.peers.forgetting import as_asks, asking, let_go, sent_without
from workspaced.peers.keys.keyring import Keyring
from workspaced.peers.keys.origin_keys import OriginKeys, new_keys
from workspaced.peers.keys.roster import Member, Roster, new_roster, with_member, with_vault
from workspaced.peers.membership import Ask
from workspaced.peers.outbox import Sent
from workspaced.peers.receiving import Receiver
from workspaced.peers.sending import OriginTaken, Sender
from workspaced_events.clock import event_time
from workspaced_events.ids import EventId, LinkedVaultId, NoteId, OriginId, VaultId
from workspaced_events.peers.differences import SharedView
from workspaced_events.peers.merging import MergedPin, merged_pins, removed_by_peers
from workspaced_events.peers.without_notes import name_hash
from workspaced_events.privacy.tombstones import ConversationEraser, NoteEraser, Trail
from workspaced_events.projections.shared_view import shared_view
from workspaced_events.projections.workspace_fold import apply, fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.peer_events import LinkMember, Position, SharedVault, VaultMapping

VAULT = VaultId("v")
START_MS = 1_790_000_000_000


class MemoryOutbox:
    """Durable some time after it is asked to be."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.durable = Sent()

    def load(self) -> Sent:
        return self.durable

    async def keep(self, sent: Sent) -> None:
        await anyio.sleep(self._random.uniform(0, 0.01))
        self.durable = sent
        await anyio.sleep(self._random.uniform(0, 0.01))


class Node:
    """One daemon. Its log is durable event by event; what else it holds dies with it, but keys, roster and
    outbox."""

    def __init__(
        self, server: SimulatedServer, random: Random, keys: OriginKeys, roster: Roster, person: str
    ) -> None:
        self.server, self.random, self.keys, self.roster, self.person = server, random, keys, roster, person
        self.outbox = MemoryOutbox(random)
        self.state: WorkspaceState = EMPTY
        self.events: list[c.Event] = []
        self.clock_ahead_ms = 0
        self.withheld: set[NoteId] = set()
        self.asks: tuple[Ask, ...] = ()
        self.taken = False
        self._task: asyncio.Task[None] | None = None
        self.append(c.VaultOpened(VAULT, "v", "/v"))
        self.take_roster(roster)

    # -- the log --

    def append(self, data: Any) -> None:
        entry = next(each for each in c.CATALOGUE.values() if each.data is type(data))
        now_ms = START_MS + int(asyncio.get_running_loop().time() * 1_000) + self.clock_ahead_ms
        seq = len(self.events) + 1
        event = entry.event(seq, EventId(str(seq)), event_time(now_ms * 1_000_000), "editor", VAULT, data)
        self.events.append(event)
        self.state = apply(self.state, event)

    def act(self, data: Any) -> None:
        """What the user does here."""
        self.append(data)
        if self.is_running:
            self.sender.share()

    async def forget(self, note: NoteId) -> None:
        """As `workspaced forget` does, which needs a daemon that is stopped."""
        was_running = self.is_running
        if was_running:
            await self.kill()
        trail = Trail(VAULT, note)
        trail.feed(self.events)
        eraser = NoteEraser(VAULT, trail, lambda _event: False, ConversationEraser(lambda _part: False))
        self.events = [eraser(event) for event in self.events]
        self.state = fold_all(self.events, EMPTY)
        self.asks = asking(self.asks, self.linked, [name_hash(self.linked, note)])
        self.outbox.durable = sent_without(self.outbox.durable, self.linked, {note})
        if was_running:
            self.start()

    # -- its life --

    @property
    def is_running(self) -> bool:
        return self._task is not None

    @property
    def origin(self) -> OriginId:
        return self.keys.origin

    def start(self) -> None:
        self.carrier = self.server.carrier(self.origin)
        self.keyring = Keyring(self.keys, self.roster)
        self.sender = Sender(self.keyring, self.carrier, self.outbox, self._make)
        self.receiver = Receiver(self.keyring, self.carrier, self._positions, self._apply)
        self.receiver.on_connected = self.sender.check
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def kill(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
        await self.carrier.aclose()

    async def _run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send)
            tasks.start_soon(self.receiver.run)

    async def _send(self) -> None:
        try:
            await self.sender.run()
        except OriginTaken:
            self.taken = True

    def take_roster(self, roster: Roster) -> None:
        self.roster = roster
        members = tuple(LinkMember(each.origin, each.person, each.machine) for each in roster.members)
        vaults = tuple(VaultMapping(VAULT, linked) for linked in roster.vaults)
        self.append(c.LinkChanged(self.origin, members, vaults))
        if self.is_running:
            self.keyring.replace_roster(roster)
            self.sender.share()
            self.receiver.look_again()

    # -- what the daemon does for sender and receiver --

    def _make(self, before: SharedView, n: int) -> tuple[SharedView, int]:
        def may_leave(_vault: VaultId, note: NoteId) -> bool:
            return note not in self.withheld

        return shared_view(self.state, may_leave, before, n, asks=as_asks(self.asks)), self.state.peers.ms

    def _positions(self) -> dict[OriginId, Position]:
        return {origin: view.position for origin, view in self.state.peers.origins.items()}

    async def _apply(self, event: c.RemoteEventsApplied) -> None:
        await anyio.sleep(self.random.uniform(0, 0.005))
        for data in (event, *(each.data for each in let_go(self.state, event))):
            self.append(data)
        for note in self.removed():
            self.append(c.NoteUnpinned(note))
        self.sender.share()

    def removed(self) -> list[NoteId]:
        """Own pins that the same person has removed elsewhere, and that are still pinned as they were sent."""
        own, peers = self.own_vault, self.peer_vaults
        return [
            note
            for note in removed_by_peers(self.origin, own, peers.values())
            if note in self.state.of(VAULT).pins
        ]

    # -- what is seen --

    @property
    def linked(self) -> LinkedVaultId:
        return next(iter(self.roster.vaults))

    @property
    def own_vault(self) -> SharedVault:
        """As it is now, with the numbers of what was sent."""
        shared = self._make(self.sender.sent.shared, self.sender.sent.n + 1)[0]
        return shared.get(self.linked, SharedVault(self.linked))

    @property
    def peer_vaults(self) -> dict[OriginId, SharedVault]:
        peers = self.state.peers
        return {
            origin: peers.origins[origin].view.get(self.linked, SharedVault(self.linked))
            for origin in peers.of_person(self.person)
            if origin in peers.origins
        }

    def pins(self) -> tuple[MergedPin, ...]:
        """Those of this node's person."""
        return merged_pins({**self.peer_vaults, self.origin: self.own_vault}, self.origin)


def make_nodes(server: SimulatedServer, random: Random, persons: list[str]) -> list[Node]:
    """A link of these persons' machines, one node each, none started."""
    keys = [new_keys() for _ in persons]
    roster = with_vault(new_roster("0" * 32, keys[0], persons[0], "m0"), "notes")
    for number, (each, person) in enumerate(zip(keys[1:], persons[1:], strict=True), 1):
        joining = Member(each.origin, person, f"m{number}", each.verify_key, each.box_key)
        roster = with_member(roster, joining, keys[0])
    return [Node(server, random, each, roster, person) for each, person in zip(keys, persons, strict=True)]
