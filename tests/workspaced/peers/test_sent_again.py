"""What was true once and is sent again by anybody who may publish on the server: a roster, a request to join."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from random import Random
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from support.peers.nodes import MemoryOutbox
from support.peers.simulated import SimulatedServer
from support.peers.virtual_time import run_virtually

from workspaced.peers.command import print_link
from workspaced.peers.keys.invitation import Code, new_invitation, open_request, seal_request
from workspaced.peers.keys.origin_keys import OriginKeys, new_keys
from workspaced.peers.keys.roster import Roster, new_roster, seal_roster, with_member, with_vault, without_member
from workspaced.peers.link_status import link_status
from workspaced.peers.live import Live
from workspaced.peers.membership import Membership
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema.peer_events import Position

LINK = "1" * 32
ANN, BOB = new_keys(), new_keys()
INVITED = new_invitation("Ann", datetime.now(UTC))
REQUEST = seal_request(Code(LINK, ANN.verify_key, INVITED.secret), BOB, "desk")
ALONE = with_vault(new_roster(LINK, ANN, "Ann", "laptop"), "notes")
BOTH = with_member(ALONE, open_request(REQUEST, INVITED, BOB.origin), ANN)
LONG_S = 200.0


def lived(keys: OriginKeys, roster: Roster, act: Callable[[SimulatedServer], Awaitable[None]]) -> Live:
    """The link of one machine, after `act` and some minutes."""

    async def main() -> Live:
        server = SimulatedServer(Random(1))
        made = Membership(LINK, ANN.verify_key, "here", roster=roster, sealed_roster=seal_roster(roster, ANN))
        made = replace(made, invitations=(replace(INVITED, origin=BOB.origin),))

        async def change(change: Callable[[Membership], Membership]) -> None:
            live.take(change(live.membership))

        async def moved(timeout_s: float) -> None:
            await anyio.sleep(timeout_s)

        async def allowed(_named: Any) -> frozenset[Any]:
            return frozenset()

        daemon: Any = SimpleNamespace(state=lambda: EMPTY, moved=moved, allowed=allowed)
        outbox: Any = MemoryOutbox(Random(2))
        live = Live(daemon, keys, made, server.carrier(keys.origin), outbox, change)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(live.run)
            await anyio.sleep(1)
            await act(server)
            await anyio.sleep(LONG_S)
            tasks.cancel_scope.cancel()
        return live

    live: Live = run_virtually(main())
    return live


def test_an_old_roster_changes_nothing_and_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    now = with_vault(BOTH, "more")

    async def act(server: SimulatedServer) -> None:
        for former in (ALONE, BOTH, ALONE):
            server.put("roster", seal_roster(former, ANN), begins=True)
            await anyio.sleep(1)

    live = lived(BOB, now, act)
    assert not live.membership.was_removed and live.membership.roster == now
    status = link_status(live.membership, BOB.origin, (), live, EMPTY.peers, None)
    assert status["refused"] == {"OLD_ROSTER": 3}
    print_link(status)
    assert "rosters and requests to join: 3 OLD_ROSTER" in capsys.readouterr().out


def test_the_present_roster_is_no_old_one_and_a_newer_one_is_taken() -> None:
    newer = with_vault(BOTH, "more")

    async def act(server: SimulatedServer) -> None:
        for each in (BOTH, newer, newer):
            server.put("roster", seal_roster(each, ANN), begins=True)
            await anyio.sleep(1)

    live = lived(BOB, BOTH, act)
    assert live.membership.roster == newer and not live.refused


def test_a_newer_roster_without_this_machine_removes_it() -> None:
    async def act(server: SimulatedServer) -> None:
        server.put("roster", seal_roster(without_member(BOTH, BOB.origin, Position()), ANN), begins=True)

    assert lived(BOB, BOTH, act).membership.was_removed


def test_the_request_of_a_removed_machine_asks_nobody_again() -> None:
    async def act(server: SimulatedServer) -> None:
        server.put(f"join.{BOB.origin}", REQUEST, begins=True)

    assert lived(ANN, ALONE, act).membership.requests, "of one that never joined it asks"
    assert lived(ANN, without_member(BOTH, BOB.origin, Position()), act).membership.requests == ()
