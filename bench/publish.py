"""Durable publishing: in process and over the socket, against the bare writes and echoes it is made of."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final

from workspaced_events.ids import EventId, NoteId, VaultId, uuid7
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.journal.submissions import Outcome
from workspaced_events.journal.writer import Committed, LogWriter, deliver_here
from workspaced_events.log.disk import RealDisk
from workspaced_events.schema import catalogue as c

from .bare import BareLog, Wire, echo, echo_request, latencies_ms
from .daemon import Daemon, Place, daemon
from .load import Load, drive, publish_lines
from .measure import Figure, at_least, at_most, interleaved, median, p50s, percentile, pooled
from .session import MIX, NOTES

SUBMITTERS: Final = 64
ONE_CLIENT_CALLS: Final = 100
NEW_TEXTS: Final = 100
TEXT_CHARS: Final = 3_000
LOADS: Final = (
    # in flight, actions, must, aim
    (1, 1, at_least(15_000), at_least(25_000)),
    (8, 1, at_least(40_000), at_least(70_000)),
    (1, 16, at_least(90_000), at_least(150_000)),
)


# -- in process --


class _Bench:
    """A recorder on a new log, with its writer thread."""

    def __init__(self, at: Place) -> None:
        self.data = at.new("append")
        self.deliver = deliver_here
        journal = open_journal(RealDisk(self.data), version="bench", deliver=lambda done: self.deliver(done))
        self.recorder: LogWriter = journal.writer
        self.recorder.start()
        self.append(Action(c.VaultOpened(VaultId("bench"), "bench", "/bench")))

    def append(self, action: Action) -> None:
        """Returns once it is durable."""
        finished = threading.Event()

        def done(outcome: Outcome) -> None:
            _check(outcome)
            finished.set()

        self.recorder.submit([action], "bench", done, client="bench")
        finished.wait()

    def log_bytes(self) -> int:
        return sum(path.stat().st_size for path in (self.data / "log").glob("*.wlog"))


def _check(outcome: Outcome) -> None:
    if not isinstance(outcome, list):
        raise outcome


def _action(number: int) -> Action:
    return Action(c.ActiveNoteSet(note=NoteId(NOTES[number % len(NOTES)])), EventId(uuid7()))


def append(at: Place) -> Iterator[Figure]:
    """The recorder alone: one submitter that waits for each action, and 64 of them."""
    bench = _Bench(at)
    bare = BareLog(at.new("bare"))
    try:
        yield _append_one(at, bench, bare)
        yield _append_many(at, bench, bare)
    finally:
        bench.recorder.close()
        bare.close()


def _append_one(at: Place, bench: _Bench, bare: BareLog) -> Figure:
    before = bench.log_bytes()
    latencies_ms(20, lambda number: bench.append(_action(number)))
    line = b"x" * ((bench.log_bytes() - before) // 20)
    ours, theirs = interleaved(
        at.sizes.rounds,
        lambda: latencies_ms(ONE_CLIENT_CALLS, lambda number: bench.append(_action(number))),
        lambda: latencies_ms(ONE_CLIENT_CALLS, lambda _: bare.append(line)),
    )
    return Figure(
        "publish.append.1_submitter.p50",
        median([a / b for a, b in zip(p50s(ours), p50s(theirs), strict=True)]),
        "x bare write+fdatasync",
        fields={
            "ours_ms": median(p50s(ours)),
            "bare_ms": median(p50s(theirs)),
            "line_bytes": len(line),
            "rounds": len(ours),
            "note": "in process: submit, writer thread, fold, receipt; in flight 1",
        },
    )


def _append_many(at: Place, bench: _Bench, bare: BareLog) -> Figure:
    """64 actions in flight: each receipt at once causes the next submit."""
    appends = 40 * SUBMITTERS
    group_events: list[int] = []

    def ours() -> float:
        actions = iter([_action(number) for number in range(appends)])
        left, finished = [appends], threading.Event()

        def done(outcome: Outcome) -> None:
            _check(outcome)
            left[0] -= 1
            if left[0] == 0:
                finished.set()
            elif (action := next(actions, None)) is not None:
                bench.recorder.submit([action], "bench", done)

        def deliver(committed: Committed) -> None:
            group_events.append(len(committed.events))
            deliver_here(committed)

        bench.deliver = deliver
        started = time.perf_counter()
        for action in itertools.islice(actions, SUBMITTERS):
            bench.recorder.submit([action], "bench", done)
        finished.wait()
        return appends / (time.perf_counter() - started)

    before = bench.log_bytes()
    ours()
    line = b"x" * ((bench.log_bytes() - before) // appends)

    def single() -> float:
        return 1_000 * ONE_CLIENT_CALLS / sum(latencies_ms(ONE_CLIENT_CALLS, lambda _: bare.append(line)))

    def grouped() -> float:
        calls = appends // SUBMITTERS
        return 1_000 * appends / sum(latencies_ms(calls, lambda _: bare.append(line * SUBMITTERS)))

    group_events.clear()
    rates, singles, groups = interleaved(at.sizes.rounds, ours, single, grouped)
    return Figure(
        f"publish.append.{SUBMITTERS}_submitters",
        median(rates),
        "events/s",
        fields={
            "x_bare_one_event_a_sync": median([a / b for a, b in zip(rates, singles, strict=True)]),
            "x_bare_64_events_a_sync": median([a / b for a, b in zip(rates, groups, strict=True)]),
            "events_a_group": median(group_events),
            "event_bytes": len(line),
            "rounds": len(rates),
            "note": "in process: 64 actions in flight, each resubmitted when its receipt comes",
        },
    )


def texts(at: Place) -> Iterator[Figure]:
    """A prompt that attaches 100 new notes: how long it takes, and how long others wait meanwhile."""
    bench = _Bench(at)
    bare = BareLog(at.new("bare"))
    try:
        taken, waits, syncs = zip(*(_with_texts(bench, bare) for _ in range(at.sizes.rounds)), strict=True)
    finally:
        bench.recorder.close()
        bare.close()
    fields = {"bare_sync_ms": median(syncs), "texts": NEW_TEXTS, "text_chars": TEXT_CHARS, "rounds": len(taken)}
    yield Figure("publish.texts.100_new", median(taken), "ms", at_most(60), at_most(30), fields)
    yield Figure("publish.texts.others_wait", median(waits), "ms, the longest", None, None, fields)


def _with_texts(bench: _Bench, bare: BareLog) -> tuple[float, float, float]:
    """Milliseconds: until the batch is durable, the longest wait of another publisher meanwhile, a bare sync."""
    contents = [" ".join(f"{uuid7()}" for _ in range(TEXT_CHARS // 37)).encode() for _ in range(NEW_TEXTS)]
    actions = [
        Action(c.SelectionChanged(NoteId("a.md"), 1, 2, text_sha256=sha256(each).hexdigest()), blobs=(each,))
        for each in contents
    ]
    finished = threading.Event()

    def done(outcome: Outcome) -> None:
        _check(outcome)
        finished.set()

    waits = []
    started = time.perf_counter()
    bench.recorder.submit(actions, "prompts", done, client="prompts", texts=contents)
    while not finished.is_set():
        waits += latencies_ms(1, lambda _: bench.append(_action(0)))
    taken = (time.perf_counter() - started) * 1e3
    return taken, max(waits), median(latencies_ms(20, lambda _: bare.append(b"x" * 200)))


# -- over the socket --


def one_client(at: Place) -> Iterator[Figure]:
    """A client that waits for each answer, against the write, the sync and the echo of the same bytes."""
    vault = at.new("empty-vault")
    vault.mkdir()
    with daemon(at, vault) as running, echo(at.sockets) as bare_wire:
        wire = running.wire()
        bare = BareLog(at.new("bare"))
        try:
            yield from _one_client(at, running, wire, bare, bare_wire)
        finally:
            bare.close()
            wire.close()


def _one_client(at: Place, running: Daemon, wire: Wire, bare: BareLog, bare_wire: Wire) -> Iterator[Figure]:
    rounds, calls = at.sizes.rounds, ONE_CLIENT_CALLS
    lines = list(publish_lines((rounds + 2) * calls, 1))
    waiting = iter(lines)
    before = running.log_bytes()
    answers = [wire.ask(next(waiting)) for _ in range(calls)]
    if any(b'"error"' in answer for answer in answers):
        raise RuntimeError(f"publishing failed: {answers[0]!r}")
    log_line = b"x" * ((running.log_bytes() - before) // calls)
    request = echo_request(sum(map(len, lines)) // len(lines), sum(map(len, answers)) // calls)
    ours, syncs, echoes = interleaved(
        rounds,
        lambda: latencies_ms(calls, lambda _: wire.ask(next(waiting))),
        lambda: latencies_ms(calls, lambda _: bare.append(log_line)),
        lambda: latencies_ms(calls, lambda _: bare_wire.ask(request)),
    )
    parts = [a + b for a, b in zip(p50s(syncs), p50s(echoes), strict=True)]
    own_us = [1_000 * (a - b) for a, b in zip(p50s(ours), parts, strict=True)]
    yield Figure(
        "publish.socket.1_client.own",
        median(own_us),
        "us beside a bare fdatasync and an echo",
        at_most(250),
        at_most(150),
        {"lowest": min(own_us), "highest": max(own_us), "rounds": rounds},
    )
    yield Figure(
        "publish.socket.1_client.p50",
        median([a / b for a, b in zip(p50s(ours), parts, strict=True)]),
        "x bare fdatasync + echo",
        fields={
            "ours_ms": median(p50s(ours)),
            "ours_p99_ms": percentile(pooled(ours), 0.99),
            "bare_sync_ms": median(p50s(syncs)),
            "echo_ms": median(p50s(echoes)),
            "log_line_bytes": len(log_line),
            "request_bytes": len(request),
            "answer_bytes": int(request[:8]),
            "in_flight": 1,
            "actions_a_publish": 1,
            "rounds": rounds,
            "note": f"{calls} calls a round; {MIX}; each action with an id",
        },
    )


def many_clients(at: Place) -> Iterator[Figure]:
    """64 clients at once, in three ways of publishing."""
    vault = at.new("empty-vault")
    vault.mkdir()
    with daemon(at, vault) as running:
        runs = interleaved(at.sizes.load_rounds, *(_load(at, running, *load[:2]) for load in LOADS))
    for (in_flight, actions, goal, aim), results in zip(LOADS, runs, strict=True):
        yield Figure(
            f"publish.socket.{SUBMITTERS}_clients.{in_flight}_in_flight.{actions}_a_publish",
            median([each.events_per_s for each in results]),
            "events/s",
            at.sizes.whole(goal),
            at.sizes.whole(aim),
            {
                "clients": SUBMITTERS,
                "in_flight": in_flight,
                "actions_a_publish": actions,
                "worst": min(each.events_per_s for each in results),
                "best": max(each.events_per_s for each in results),
                "events_a_daemon_cpu_s": median([each.events_per_s / (each.daemon_cpu or 1) for each in results]),
                "daemon_cpu": median([each.daemon_cpu for each in results]),
                "generator_cpu": median([each.generator_cpu for each in results]),
                "rounds": len(results),
                "note": f"one generator process; CPU in cores, {os.cpu_count()} there; {MIX}; each with an id",
            },
        )


def _load(at: Place, running: Daemon, in_flight: int, actions: int) -> Callable[[], Load]:
    return lambda: drive(
        running.socket,
        running.pid,
        clients=SUBMITTERS,
        in_flight=in_flight,
        actions=actions,
        seconds=at.sizes.load_s,
    )
