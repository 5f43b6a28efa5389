"""What every carrier does: the simulated one, and that of a real server."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from support.nats_server import make_stream, nats_server, needs_server
from support.peers.worlds import Listener, NatsWorld, SimulatedWorld, World

from workspaced.peers.carrier import Carrier, CarrierError

A, B = "a" * 32, "b" * 32


@pytest.fixture(params=["simulated", pytest.param("nats", marks=[pytest.mark.thorough, needs_server])])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Each carrier; a real server is the test's own."""
    if request.param == "simulated":
        yield SimulatedWorld()
    else:
        with nats_server(tmp_path / "server") as server:
            asyncio.run(make_stream(server.url))
            yield NatsWorld(server, tmp_path)


def in_world(does: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that runs in the time of its world."""

    @wraps(does)
    def test(world: World, **more: Any) -> None:
        world.run(lambda world: does(world, **more))

    return test


async def publish(carrier: Carrier, subject: str, *messages: bytes) -> int:
    """Publishes messages behind the subject's last one."""
    last = await carrier.last(subject)
    sequence = last.sequence if last else 0
    for each in messages:
        sequence = await carrier.publish(subject, each, after=sequence, begins=False)
    return sequence


async def data(carrier: Carrier, subject: str) -> list[bytes]:
    return [each.data for each in await carrier.read(subject)]


async def refusal(does: Awaitable[object]) -> str:
    with pytest.raises(CarrierError) as caught:
        await does
    assert caught.value.message
    return caught.value.code


async def eventually(ask: Callable[[], Awaitable[object]]) -> None:
    """Asks again until it is not refused."""
    while True:
        try:
            await ask()
        except CarrierError:
            await asyncio.sleep(0.05)
        else:
            return


@in_world
async def test_messages_of_a_subject_are_read_in_the_order_in_which_they_were_published(world: World) -> None:
    carrier, peer = await world.carrier(A), await world.carrier(B)
    await publish(carrier, A, b"one", b"two", b"three")
    await publish(peer, B, b"other")
    read = await peer.read(A)
    assert [each.data for each in read] == [b"one", b"two", b"three"]
    assert {each.subject for each in read} == {A}
    assert sorted(each.sequence for each in read) == [each.sequence for each in read]
    assert await peer.last(A) == read[-1]


@in_world
async def test_a_message_that_begins_replaces_those_before_it_and_no_other_subject(world: World) -> None:
    carrier = await world.carrier(A)
    await publish(carrier, B, b"kept")
    sequence = await publish(carrier, A, b"one", b"two")
    sequence = await carrier.publish(A, b"snapshot", after=sequence, begins=True)
    await carrier.publish(A, b"next", after=sequence, begins=False)
    assert await data(carrier, A) == [b"snapshot", b"next"]
    assert await data(carrier, B) == [b"kept"]


@pytest.mark.parametrize("begins", [False, True])
@in_world
async def test_a_message_behind_another_predecessor_than_the_last_is_not_kept(world: World, begins: bool) -> None:
    carrier = await world.carrier(A)
    sequence = await publish(carrier, A, b"one")
    for after in (0, sequence - 1, sequence + 1):
        with pytest.raises(CarrierError, match="last message"):
            await carrier.publish(A, b"wrong", after=after, begins=begins)
    assert await data(carrier, A) == [b"one"]


@in_world
async def test_messages_are_carried_byte_for_byte_up_to_the_largest(world: World) -> None:
    carrier = await world.carrier(A)
    largest = bytes(range(256)) * 2048
    assert len(largest) == 512 * 1024
    await publish(carrier, A, b"", b"\r\n", largest)
    assert await data(carrier, A) == [b"", b"\r\n", largest]
    last = await carrier.last(A)
    assert last is not None and last.data == largest


@in_world
async def test_subjects_are_listed_with_the_sequence_of_their_last_message(world: World) -> None:
    carrier = await world.carrier(A)
    expected = {
        subject: await publish(carrier, subject, b"one", b"two") for subject in (A, B, "roster", f"join.{A}")
    }
    assert await carrier.subjects() == expected


@in_world
async def test_who_listens_gets_the_last_message_of_each_subject_and_then_each_new_one(world: World) -> None:
    carrier, peer = await world.carrier(A), await world.carrier(B)
    await publish(carrier, A, b"old", b"latest")
    await publish(carrier, "roster", b"roster")
    listener = Listener(peer)
    await listener.until(lambda each: len(each.arrived) == 2)
    await publish(carrier, A, b"new")
    await publish(peer, B, b"own")
    await listener.until(lambda each: len(each.arrived) == 4)
    assert [each.data for each in listener.arrived] == [b"latest", b"roster", b"new", b"own"]
    assert [each.subject for each in listener.arrived] == [A, "roster", A, B]
    assert listener.arrived[2] == await peer.last(A)
    await listener.stop()


@in_world
async def test_a_wiped_server_has_no_messages_and_takes_new_ones(world: World) -> None:
    carrier = await world.carrier(A)
    sequence = await publish(carrier, A, b"one", b"two")
    await world.wipe()
    await eventually(lambda: carrier.last(A))
    assert await carrier.subjects() == {}
    with pytest.raises(CarrierError, match="last message"):
        await carrier.publish(A, b"three", after=sequence, begins=False)
    assert await carrier.publish(A, b"snapshot", after=0, begins=True) == 1
    assert await data(carrier, A) == [b"snapshot"]


@in_world
async def test_a_restored_server_has_what_it_had(world: World) -> None:
    carrier = await world.carrier(A)
    sequence = await publish(carrier, A, b"one")
    kept = await world.keep()
    await eventually(lambda: carrier.last(A))
    await publish(carrier, A, b"two")
    await world.restore(kept)
    await eventually(lambda: carrier.last(A))
    last = await carrier.last(A)
    assert last is not None and (last.sequence, last.data) == (sequence, b"one")


@in_world
async def test_without_a_stream_every_request_is_refused_with_a_reason(world: World) -> None:
    carrier = await world.carrier(A)
    await world.remove_stream()
    assert await refusal(carrier.publish(A, b"one", after=0, begins=True)) == "NO_STREAM"
    assert await refusal(carrier.last(A)) == "NO_STREAM"
    assert await refusal(carrier.read(A)) == "NO_STREAM"
    assert await refusal(carrier.subjects()) == "NO_STREAM"
    assert await refusal(carrier.listen(lambda _: None)) == "NO_STREAM"


@in_world
async def test_a_server_that_is_away_says_so_and_is_found_again(world: World) -> None:
    carrier = await world.carrier(A)
    listener = Listener(carrier)
    await publish(carrier, A, b"one")
    await listener.until(lambda each: bool(each.arrived))
    await world.stop()
    await listener.until(lambda each: each.times > 1)
    assert carrier.state == "away"
    assert await refusal(carrier.publish(A, b"two", after=1, begins=False)) == "AWAY"
    assert await refusal(carrier.last(A)) == "AWAY"
    await world.start()
    await eventually(lambda: publish(carrier, A, b"two"))
    assert carrier.state == "connected"
    await listener.until(lambda each: each.arrived[-1].data == b"two")
    await listener.stop()
