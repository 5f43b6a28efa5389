"""What `workspaced forget` leaves in the files of a link, and what it has others do; without a server."""

from pathlib import Path
from random import Random

import anyio
import pytest
from support.peers.nodes import Node, make_nodes
from support.peers.simulated import SimulatedServer
from support.peers.virtual_time import run_virtually

from workspaced.peers.forgetting import ask_to_forget
from workspaced.peers.keys.origin_keys import new_keys, save_keys
from workspaced.peers.keys.roster import Member, new_roster, with_member, with_vault, without_member
from workspaced.peers.membership import Membership, load_membership, save_membership
from workspaced.peers.outbox import FileOutbox, Sent, load_sent
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.peers.without_notes import name_hash
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.codec import encode_event
from workspaced_events.schema.peer_events import Position, SharedActive, SharedPin, SharedVault, VaultMapping

V, SHARED, OLD, PRIVATE = VaultId("v"), NoteId("shared.md"), NoteId("old.md"), NoteId("private.md")


def link(folder: Path) -> Membership:
    """A link of three machines, one of them removed, which has shared a note under two names."""
    keys, other, gone = new_keys(), new_keys(), new_keys()
    roster = with_vault(new_roster("0" * 32, keys, "Ann", "laptop"), "notes")
    for each, machine in ((other, "desk"), (gone, "phone")):
        roster = with_member(roster, Member(each.origin, "Ann", machine, each.verify_key, each.box_key), keys)
    roster = without_member(roster, gone.origin, Position())
    [linked] = roster.vaults
    made = Membership("0" * 32, keys.verify_key, "laptop", roster=roster, vaults={V: VaultMapping(V, linked)})
    save_keys(folder, keys)
    save_membership(folder, made)

    async def share() -> None:
        outbox = FileOutbox(folder)
        await outbox.keep(Sent(1, 1, view=(SharedVault(linked, SharedActive(OLD, 1)),), frame=b"sealed"))
        pins = (SharedPin(SHARED, 1, 1, 1), SharedPin(NoteId("kept.md"), 1, 1, 1))
        view = (SharedVault(linked, pins=pins),)
        await outbox.keep(Sent(1, 2, digest="d", view=view, frame=b"sealed", named={linked: (OLD, SHARED)}))

    anyio.run(share)
    return made


def test_others_are_asked_for_each_name_that_left_and_the_outbox_names_it_no_more(tmp_path: Path) -> None:
    before = link(tmp_path)
    asked = ask_to_forget(tmp_path, V, [SHARED, OLD, PRIVATE])
    assert asked is not None and asked.machines == ["desk"] and len(asked.removed) == 1
    [linked] = before.roster.vaults if before.roster is not None else {}
    now = load_membership(tmp_path)
    assert now is not None
    assert {(each.vault, each.asked.name) for each in now.asks} == {
        (linked, name_hash(linked, each)) for each in (SHARED, OLD)
    }
    sent = load_sent(tmp_path)
    assert [pin.note for pin in sent.view[0].pins] == ["kept.md"]
    assert (sent.frame, sent.digest, sent.n) == (b"", "d", 2), "what was sealed named it too"
    assert not any(b"shared.md" in path.read_bytes() for path in tmp_path.iterdir())


def test_for_what_never_left_no_byte_is_another_one(tmp_path: Path) -> None:
    link(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert ask_to_forget(tmp_path, V, [PRIVATE]) is None
    assert ask_to_forget(tmp_path, VaultId("other"), [SHARED]) is None
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_it_leaves_this_persons_other_machines_and_no_message_of_them_names_it_again() -> None:
    async def main() -> list[Node]:
        nodes = make_nodes(SimulatedServer(Random(1)), Random(2), ["ann", "ann", "bob"])
        for node in nodes:
            node.start()
            node.act(c.NotePinned(SHARED))
        await anyio.sleep(10)
        await nodes[0].forget(SHARED)
        await anyio.sleep(10)
        for node in nodes:
            await node.kill()
        return nodes

    here, there, bobs = run_virtually(main())
    assert [[pin.note for pin in node.pins()] for node in (here, there, bobs)] == [[], [], [SHARED]]
    naming = [event for event in here.events if b"shared.md" in encode_event(event)]
    assert {event.data.origin for event in naming} == {bobs.origin}, "who has it still, for himself"
    [ask] = here.asks
    assert not here.state.peers.not_reached(ask.vault, ask.asked)


@pytest.mark.parametrize("person", ["ann", "bob"])
def test_what_is_forgotten_again_while_the_first_ask_waits_is_taken_back_again(person: str) -> None:
    async def main() -> list[Node]:
        nodes = make_nodes(SimulatedServer(Random(1)), Random(2), ["ann", person, "bob"])
        here, there, _off = nodes
        here.start()
        there.start()
        for _ in range(2):
            here.act(c.NotePinned(SHARED))
            there.act(c.NotePinned(SHARED))
            await anyio.sleep(10)
            assert [pin.note for pin in there.state.peers.origins[here.origin].view[here.linked].pins] == [SHARED]
            await here.forget(SHARED)
            await anyio.sleep(10)
            assert [pin.note for pin in there.pins()] == ([] if person == "ann" else [SHARED])
            assert here.state.peers.origins[there.origin].view == there.sender.sent.shared
        for node in (here, there):
            await node.kill()
        return nodes

    here, there, _off = run_virtually(main())
    assert there.state.peers.origins[here.origin].view[here.linked].pins == ()
