"""How far behind a machine is, in messages and seconds."""

from random import Random

import anyio
from support.peers.nodes import make_nodes
from support.peers.simulated import SimulatedServer
from support.peers.virtual_time import run_virtually

from workspaced_events.ids import NoteId
from workspaced_events.schema import catalogue as c


def test_what_waits_to_be_applied_counts_from_its_arrival_on() -> None:
    async def main() -> None:
        here, there = make_nodes(SimulatedServer(Random(1)), Random(2), ["ann", "ann"])
        for node in (here, there):
            node.start()
        await anyio.sleep(10)
        may_apply, apply = anyio.Event(), there._apply

        async def wait(event: c.RemoteEventsApplied) -> None:
            await may_apply.wait()
            await apply(event)

        there.receiver._apply = wait
        here.act(c.NotePinned(NoteId("a.md")))
        await anyio.sleep(40)
        assert there.receiver.behind(here.origin) == 1
        assert 35 < there.receiver.behind_s(here.origin) <= 40
        may_apply.set()
        await anyio.sleep(1)
        assert (there.receiver.behind(here.origin), there.receiver.behind_s(here.origin)) == (0, 0.0)
        for node in (here, there):
            await node.kill()

    run_virtually(main())
