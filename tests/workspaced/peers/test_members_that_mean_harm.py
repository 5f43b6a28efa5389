"""A member that means harm can harm its own view, and nothing else."""

from collections.abc import Callable
from random import Random

import anyio
import msgspec
import pytest
from support.peers.nodes import Node, make_nodes
from support.peers.simulated import SimulatedServer
from support.peers.virtual_time import run_virtually

from workspaced.peers.keys.message import Header, digest, seal
from workspaced.peers.payload import Payload
from workspaced_events.ids import LinkedVaultId, NoteId
from workspaced_events.peers.differences import ASKS_MAX, PINS_MAX, VAULTS_MAX
from workspaced_events.peers.without_notes import name_hash
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.codec import decode_event, encode_event
from workspaced_events.schema.peer_events import (
    AskedName,
    Forgetting,
    NewPin,
    SharedActive,
    SharedVault,
    VaultDifference,
)

LONG_S = 200.0
Attack = Callable[[Node, SimulatedServer], object]


def sends(
    mallory: Node, server: SimulatedServer, payload: bytes, generation: int = 1, n: int = 1, previous: str = ""
) -> bytes:
    """What a member's own program would never send, sealed and signed as it must be."""
    header = Header(1, mallory.roster.link, mallory.origin, generation, n, previous, mallory.roster.epoch)
    frame = seal(header, payload, mallory.keyring._epochs[mallory.roster.epoch], mallory.keys.signing)
    server.put(mallory.origin, frame)
    return frame


def attacked(attack: Attack) -> tuple[Node, Node]:
    """Ann's two machines, after Mallory, a member too, has attacked and Ann has gone on working."""

    async def main() -> tuple[Node, Node]:
        server = SimulatedServer(Random(1))
        here, there, mallory = make_nodes(server, Random(2), ["ann", "ann", "mallory"])
        for node in (here, there, mallory):
            node.start()
        await anyio.sleep(1)
        await mallory.kill()
        attack(mallory, server)
        await anyio.sleep(1)
        here.act(c.NotePinned(NoteId("after.md")))
        await anyio.sleep(LONG_S)
        for node in (here, there):
            await node.kill()
        return here, there

    return run_virtually(main())


def names(note: str, vault_id: str) -> bytes:
    vault = {"vault": vault_id, "active": {"note": note, "sinceUs": 1}}
    return msgspec.json.encode({"ms": 1, "whole": True, "view": [vault]})


ATTACKS: dict[str, Attack] = {
    "a path out of the vault": lambda mallory, server: sends(
        mallory, server, names("../../etc/passwd", mallory.linked), 9, 9
    ),
    "a path in a dot folder": lambda mallory, server: sends(
        mallory, server, names(".ssh/id.md", mallory.linked), 9, 9
    ),
    "no JSON": lambda mallory, server: sends(mallory, server, b"\xff" * 300, 9, 9),
    "deep JSON": lambda mallory, server: sends(mallory, server, b"[" * 90_000, 9, 9),
    "a time beyond all": lambda mallory, server: sends(mallory, server, b'{"ms":%d,"whole":true}' % 2**62, 9, 9),
    "a number beyond all": lambda mallory, server: sends(mallory, server, b'{"ms":1,"whole":true}', 2**60, 2**60),
    "a message without its predecessor": lambda mallory, server: sends(
        mallory, server, b'{"ms":1,"changed":[]}', 1, 900, "0" * 64
    ),
    "bytes that are no frame": lambda mallory, server: server.put(mallory.origin, b"x" * 600_000),
    "another member's subject": lambda mallory, server: server.put(
        mallory.roster.members[0].origin, b"x" * 512, begins=True
    ),
    "the roster": lambda _mallory, server: server.put("roster", b"x" * 700, begins=True),
    "ten thousand origins": lambda _mallory, server: (
        [server.put(f"{number:032x}", b"x" * 512) for number in range(10_000)]
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_others_see_each_other_as_before_and_their_logs_read_back(attack: str) -> None:
    here, there = attacked(ATTACKS[attack])
    assert [pin.note for pin in there.pins()] == ["after.md"] == [pin.note for pin in here.pins()]
    for node in (here, there):
        again = [decode_event(encode_event(event)) for event in node.events]
        assert again == node.events and fold_all(again, EMPTY) == node.state
        assert len(node.receiver.origins) <= len(node.roster.members)


def test_what_one_machine_shares_is_bounded_however_long_it_goes_on() -> None:
    def attack(mallory: Node, server: SimulatedServer) -> None:
        view = SharedVault(mallory.linked, SharedActive(NoteId("a.md"), 1))
        previous = digest(sends(mallory, server, msgspec.json.encode(Payload(1, True, (view,))), 5, 1_000))
        for step in range(1, 6):
            pins = tuple(NewPin(0, NoteId(f"{step}-{number}.md"), 1, 1) for number in range(600))
            changed = (VaultDifference(mallory.linked, pinned=pins),)
            frame = sends(
                mallory, server, msgspec.json.encode(Payload(1, changed=changed)), 5, 1_000 + step, previous
            )
            previous = digest(frame)

    here, _there = attacked(attack)
    [mallory] = [each.origin for each in here.roster.members if each.person == "mallory"]
    view = here.state.peers.origins[mallory].view
    assert [len(vault.pins) for vault in view.values()] == [PINS_MAX]
    assert here.state.peers.origins[mallory].position.n == 1_005


def test_asks_of_vaults_that_nobody_has_push_no_vault_out_and_swell_no_message() -> None:
    def attack(mallory: Node, server: SimulatedServer) -> None:
        previous = digest(sends(mallory, server, msgspec.json.encode(Payload(1, True)), 5, 1_000))
        for step in range(VAULTS_MAX):
            asks = tuple(AskedName(f"{step:032x}{number:032x}", number) for number in range(ASKS_MAX))
            vault = LinkedVaultId(f"{step:032x}")
            changed = (VaultDifference(vault, forgetting=Forgetting(asks)),)
            payload = msgspec.json.encode(Payload(1, changed=changed))
            previous = digest(sends(mallory, server, payload, 5, 1_001 + step, previous))

    for node in attacked(attack):
        assert [pin.note for pin in node.pins()] == ["after.md"]
        assert node.sender.problem is None
        assert len(node.sender.sent.frame) <= 64 * 1024


def test_who_asks_to_forget_another_persons_note_keeps_no_pin_of_it_alive() -> None:
    note = NoteId("plan.md")

    async def main() -> list[Node]:
        server = SimulatedServer(Random(1))
        here, there, mallory = make_nodes(server, Random(2), ["ann", "ann", "mallory"])
        for node in (here, there, mallory):
            node.start()
        await mallory.kill()
        here.act(c.NotePinned(note))
        ask = Forgetting((AskedName(name_hash(mallory.linked, note), 0),))
        sends(
            mallory, server, msgspec.json.encode(Payload(1, True, (SharedVault(mallory.linked, forgetting=ask),)))
        )
        await anyio.sleep(10)
        assert [pin.note for pin in here.pins()] == [note] == [pin.note for pin in there.pins()]
        there.act(c.NoteUnpinned(note))
        await anyio.sleep(10)
        for node in (here, there):
            await node.kill()
        return [here, there]

    assert [node.pins() for node in run_virtually(main())] == [(), ()]
