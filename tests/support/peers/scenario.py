"""One random history of a link: users act, machines and the server fail in every way; then all heals, and must
agree."""

from dataclasses import fields
from random import Random

import anyio

from support.peers.nodes import VAULT, Node, make_nodes
from support.peers.simulated import SimulatedServer
from support.peers.virtual_time import run_virtually
from workspaced.peers.keys.roster import rotated
from workspaced_events.ids import NoteId
from workspaced_events.schema import catalogue as c

NOTES = [NoteId(f"n{number}.md") for number in range(6)]
HEALS_S = 1_300.0


def play(seed: int, steps: int = 60) -> None:
    """Plays the history of a seed.

    Raises:
        AssertionError: the nodes do not agree in the end.
    """
    run_virtually(_play(Random(seed), steps))


async def _play(random: Random, steps: int) -> None:
    server = SimulatedServer(random)
    server.faults.delay_s = random.choice([0.0, 0.01, 0.2])
    persons = random.choice([["ann"] * 2, ["ann"] * 3, ["ann", "bob"], ["ann", "ann", "bob", "bob", "ann"]])
    nodes = make_nodes(server, random, persons)
    for node in nodes:
        node.start()
    kept = server.kept()
    for _ in range(steps):
        kept = await _step(random, server, nodes, kept)
        await anyio.sleep(random.choice([0, 0.005, 0.05, 1, 40]))
    await _heal(server, nodes)
    check(nodes)
    for node in nodes:
        await node.kill()


async def _step(random: Random, server: SimulatedServer, nodes: list[Node], kept: object) -> object:
    node = random.choice(nodes)
    match random.randrange(20):
        case 0 | 1:
            server.cut(node.origin) if random.random() < 0.5 else server.mend(node.origin)
        case 2 | 3:
            await node.kill() if node.is_running else node.start()
        case 4 | 5 | 6:
            _harm(random, server)
        case 7:
            kept = server.kept()
        case 8:
            server.restore(kept)  # type: ignore[arg-type]
        case 9:
            _change_faults(random, server)
        case 10:
            node.clock_ahead_ms += random.choice([-3_600_000, -50, 50, 3_600_000])
        case 11:
            note = random.choice(NOTES)
            node.withheld ^= {note}
            node.act(c.ActiveNoteCleared())
        case 12:
            server.put(node.origin, random.randbytes(512), begins=random.random() < 0.3)
        case 13 if random.random() < 0.1:  # rarely, since a new key has everything sent again
            _rotate(random, nodes)
        case 14 if random.random() < 0.3:
            await node.forget(random.choice(NOTES))
        case _:
            act(random, node)
    return kept


def _harm(random: Random, server: SimulatedServer) -> None:
    match random.randrange(3):
        case 0:
            server.stop() if random.random() < 0.5 else server.start()
        case 1:
            server.wipe() if server.store is not None else server.make_stream()
        case _:
            server.remove_stream() if random.random() < 0.3 else server.make_stream()


def _rotate(random: Random, nodes: list[Node]) -> None:
    """A new key, of which some hear sooner than others."""
    roster = rotated(max((node.roster for node in nodes), key=lambda each: each.version))
    for node in nodes:
        if node is nodes[0] or random.random() < 0.5:
            node.take_roster(roster)


def act(random: Random, node: Node) -> None:
    """Something that a user does."""
    note = random.choice(NOTES)
    state = node.state.of(VAULT)
    match random.randrange(7):
        case 0:
            node.act(c.ActiveNoteSet(note))
        case 1 | 2:
            node.act(c.NotePinned(note, index=random.choice([None, 0, 1])))
        case 3 | 4:
            node.act(c.NoteUnpinned(note))
        case 5:
            notes = [*state.pins]
            random.shuffle(notes)
            node.act(c.PinnedNotesReordered(tuple(notes)))
        case _:
            node.act(c.TemporaryTabOpened(note, "navigation"))


def _change_faults(random: Random, server: SimulatedServer) -> None:
    faults = server.faults
    name = random.choice([field.name for field in fields(faults) if field.name != "delay_s"])
    setattr(faults, name, random.choice([0.0, 0.1, 0.5]))


async def _heal(server: SimulatedServer, nodes: list[Node]) -> None:
    server.faults.heal()
    server.make_stream()
    server.start()
    newest = max((node.roster for node in nodes), key=lambda each: each.version)
    for node in nodes:
        if node.roster is not newest:
            node.take_roster(newest)
        server.mend(node.origin)
        if not node.is_running:
            node.start()
    await anyio.sleep(HEALS_S)


def check(nodes: list[Node]) -> None:
    """Every node's view of each origin is that origin's newest one, and persons see the same everywhere."""
    for node in nodes:
        assert not node.taken, "nobody else has its data"
        assert node.sender.problem is None, node.sender.problem
        expected = node.sender.sent.shared
        assert expected == node._make(expected, node.sender.sent.n + 1)[0], "something is unsent"
        for peer in nodes:
            if peer is not node:
                assert not [ask for ask in peer.asks if peer.state.peers.not_reached(ask.vault, ask.asked)]
                heard = peer.state.peers.origins.get(node.origin)
                assert (heard.view if heard is not None else {}) == expected
    for person in {each.person for each in nodes}:
        seen = {node.pins() for node in nodes if node.person == person}
        assert len(seen) == 1, seen
