"""Publishes cancelled at each of their awaits, in the daemon and in the client. Row 22 of the table of faults."""

import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest
from support import session_machine
from support.crowd import look, verified

from workspaced import Client
from workspaced.api.conversations import begun
from workspaced.prompts import params
from workspaced_events.ids import EventId, NoteId
from workspaced_events.journal.actions import Action
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.replay import replay
from workspaced_events.schema import catalogue as c

LIMIT_S = 60
SETTINGS = params.Start(
    conversation="talk", provider="openai", model="m", context_window=100_000, output_reserve=1_000
)


class Steps(Awaitable[Any]):
    """A coroutine that calls `at_last` at its `last`-th checkpoint, counting all of them."""

    def __init__(self, inner: Coroutine[Any, Any, Any], last: int, at_last: Callable[[], None]) -> None:
        self.count = 0
        self._inner = inner
        self._last = last
        self._at_last = at_last

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[Any], Any] = self._inner.send
        given: Any = None
        while True:
            try:
                waiting = step(given)
            except StopIteration as end:
                return end.value
            self.count += 1
            if self.count == self._last:
                self._at_last()
            try:
                given, step = (yield waiting), self._inner.send
            except BaseException as error:  # what is thrown into us is for the coroutine
                given, step = error, self._inner.throw


async def cancelled_at(last: int, inner: Coroutine[Any, Any, Any], before: Callable[[], None]) -> tuple[bool, int]:
    """Whether it was cancelled at its `last`-th checkpoint, and how many it came to. `before` is called first."""
    with anyio.CancelScope() as scope:

        def cancel() -> None:
            before()
            scope.cancel()

        steps = Steps(inner, last, cancel)
        await steps
    return scope.cancel_called, steps.count


# -- in the daemon --


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    made = session_machine.Session(tmp_path, vaults=("one",)).open()
    yield made
    made.dispose()


def looking(session: Any, number: int) -> Coroutine[Any, Any, Any]:
    action = Action(c.ActiveNoteSet(NoteId(f"n{number}.md")), id=EventId(f"look-{number}"))
    made: Coroutine[Any, Any, Any] = session.service.publishing.record([action])
    return made


def starting(session: Any, number: int) -> Coroutine[Any, Any, Any]:
    settings = msgspec.structs.replace(SETTINGS, conversation=f"talk-{number}")
    made: Coroutine[Any, Any, Any] = begun(session.service, settings, "agent")
    return made


def named(number: int) -> dict[str, Callable[[Any], bool]]:
    """Which events of the log each publish makes."""
    return {
        "looking": lambda event: event.id == f"look-{number}",
        "starting": lambda event: getattr(event.data, "conversation", None) == f"talk-{number}",
    }


class Writer:
    """Knows whether the writer has anything left that was submitted."""

    def __init__(self, session: Any) -> None:
        self._idle = threading.Event()
        self._idle.set()
        service = session.service
        submit, deliver = service.writer.submit, service.tail.deliver

        def submitting(*args: Any, **named: Any) -> None:
            self._idle.clear()
            submit(*args, **named)

        def delivering(committed: Any) -> None:
            deliver(committed)
            self._idle.set()

        service.writer.submit, service.tail.deliver = submitting, delivering

    def wait(self) -> None:
        """Returns once what was submitted lies on the disk and its outcome is on its way to the loop."""
        assert self._idle.wait(LIMIT_S)


def folded(session: Any) -> list[Any]:
    """The log's events; the state is their fold."""
    session.run(session.service.threads.run(session.service.wait_until_recorded))
    events: list[Any] = []
    result = replay(session.data, each=events.extend)
    assert msgspec.json.encode(to_json(session.service.tail.state)) == msgspec.json.encode(to_json(result.state))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return events


@pytest.mark.fault(row=22)
@pytest.mark.parametrize("written", [False, True], ids=["before it is written", "once it is written"])
@pytest.mark.parametrize("publish", [looking, starting], ids=lambda each: each.__name__)
def test_row_22_cancelled_at_any_await_a_retry_makes_it_one(session: Any, publish: Any, written: bool) -> None:
    writer = Writer(session)
    cancelled, last, outcomes = True, 0, []
    while cancelled:
        last += 1
        before = writer.wait if written else lambda: None
        cancelled, count = session.run(cancelled_at(last, publish(session, last), before))
        writer.wait()
        session.run(anyio.lowlevel.checkpoint())  # an outcome that nobody waits for any more
        is_it = named(last)[publish.__name__]
        there = [event for event in folded(session) if is_it(event)]
        assert len(there) <= 1
        assert there or cancelled, "it was answered and is not there"
        session.run(publish(session, last))
        assert len([event for event in folded(session) if is_it(event)]) == 1, "the retry is no retry"
        outcomes.append((cancelled, bool(there)))
    assert last > 1 and count == last - 1, "it never waited: the test proves nothing"
    assert not written or (True, True) in outcomes, "nothing was cancelled that had been written"
    session.restart()
    folded(session)


@pytest.mark.fault(row=22)
@pytest.mark.parametrize("large", [False, True], ids=["a line", "more than a socket takes at once"])
async def test_row_22_a_client_cancelled_at_any_await_goes_on(daemon: Any, large: bool) -> None:
    running = daemon("--no-watch")
    note = "/".join(["d" * 250] * 3)
    acknowledged: dict[str, int] = {}
    with anyio.fail_after(60):
        async with Client.open(running.socket, name="fickle") as client:
            cancelled, last = True, 0
            while cancelled:
                last += 1
                batch = [look(f"{note}/{each}.md", f"gone-{last}-{each}") for each in range(600 if large else 1)]
                cancelled, count = await cancelled_at(last, client.publish(batch), lambda: None)
                for receipt in await client.publish(batch):
                    acknowledged[receipt["id"]] = receipt["seq"]
            assert last > 1 and count == last - 1, "it never waited: the test proves nothing"
    events = verified(running, acknowledged)
    assert len([event for event in events if event.id.startswith("gone-")]) == len(acknowledged)
