"""What was shared under rules that are stricter now is taken back as a whole."""

from collections.abc import Callable
from random import Random

import anyio
import pytest
from support.peers.nodes import VAULT, Node, make_nodes
from support.peers.simulated import SimulatedServer
from support.peers.virtual_time import run_virtually

from workspaced.peers.keys.roster import without_member
from workspaced.peers.leaving_notes import Named, exceeds, named_by
from workspaced_events.ids import LinkedVaultId, NoteId, VaultId
from workspaced_events.peers.differences import view_of
from workspaced_events.projections.peers import OwnVault, Peers
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.codec import encode_event
from workspaced_events.schema.peer_events import (
    Position,
    Replicate,
    SharedActive,
    SharedPin,
    SharedSelection,
    SharedTab,
    SharedVault,
    VaultMapping,
)

V, L, NOTE = VaultId("v"), LinkedVaultId("d" * 32), NoteId("a.md")
SECRET = NoteId("secret.md")
ACTIVE, PIN = SharedActive(NOTE, 1), SharedPin(NOTE, 1, 1, 1)


@pytest.mark.parametrize(
    ("shared", "most"),
    [
        (SharedVault(L, pins=(PIN,)), "pins"),
        (SharedVault(L, ACTIVE, pins=(PIN,)), "all"),
        (SharedVault(L, tabs=(SharedTab(NOTE, 1),)), "all"),
        (SharedVault(L), "none"),
    ],
)
@pytest.mark.parametrize("rule", ["none", "pins", "all"])
def test_whether_more_was_shared_than_a_rule_lets_leave(
    shared: SharedVault, most: Replicate, rule: Replicate
) -> None:
    strict: list[Replicate] = ["none", "pins", "all"]
    peers = Peers(vaults={V: OwnVault(VaultMapping(V, L, rule))})
    assert exceeds(view_of([shared]), peers, False) == (strict.index(rule) < strict.index(most))


@pytest.mark.parametrize("text", [None, "typed"])
@pytest.mark.parametrize("allowed", [True, False])
def test_text_of_a_selection_is_taken_back_unless_it_may_leave(text: str | None, allowed: bool) -> None:
    view = view_of([SharedVault(L, ACTIVE, SharedSelection(NOTE, 1, 1, text))])
    peers = Peers(vaults={V: OwnVault(VaultMapping(V, L, "all"))})
    assert exceeds(view, peers, allowed) == (text is not None and not allowed)


def withhold(here: Node) -> None:
    here.withheld.add(SECRET)
    here.sender.begin_generation()


def remove_bob(here: Node) -> None:
    [bob] = [each.origin for each in here.roster.members if each.person == "bob"]
    here.take_roster(without_member(here.roster, bob, Position(1, 1)))


@pytest.mark.parametrize("forbid", [withhold, remove_bob])
def test_what_waited_for_the_server_is_not_sent_once_it_may_not_leave(forbid: Callable[[Node], None]) -> None:
    async def main() -> Node:
        server = SimulatedServer(Random(1))
        here, there = make_nodes(server, Random(2), ["ann", "bob"])
        for node in (here, there):
            node.start()
        here.act(c.NotePinned(NoteId("plan.md")))
        await anyio.sleep(10)
        server.cut(here.origin)
        here.act(c.ActiveNoteSet(SECRET))
        await anyio.sleep(10)
        forbid(here)
        server.mend(here.origin)
        await anyio.sleep(200)
        assert here.sender.problem is None and not here.sender.unsent
        for node in (here, there):
            await node.kill()
        return there

    there = run_virtually(main())
    assert [pin.note for view in there.state.peers.origins.values() for pin in view.view[there.linked].pins]
    assert not any(b"secret" in encode_event(event) for event in there.events)


def test_what_a_generation_has_named_is_known_until_the_next_one() -> None:
    async def main() -> list[frozenset[Named]]:
        [here] = make_nodes(SimulatedServer(Random(1)), Random(2), ["ann"])
        here.start()
        found = []
        for act in (c.ActiveNoteSet(SECRET), c.ActiveNoteSet(NOTE), c.TemporaryTabClosed(note=SECRET)):
            here.act(act)
            await anyio.sleep(1)
        found.append(named_by(here.sender.sent, here.state))
        here.sender.begin_generation()
        await anyio.sleep(1)
        found.append(named_by(here.sender.sent, here.state))
        await here.kill()
        return found

    assert run_virtually(main()) == [{(VAULT, SECRET), (VAULT, NOTE)}, {(VAULT, NOTE)}]
