"""Publishing beside a thousand subscribers that never read, against publishing alone."""

from collections.abc import Iterator
from typing import Final

from workspaced.client.wire import request_line

from .bare import Wire, latencies_ms
from .daemon import Daemon, Place, daemon
from .load import publish_lines
from .measure import Figure, at_most, interleaved, median, p50s, percentile, pooled

CONNECTIONS: Final = 20
SUBSCRIPTIONS: Final = 50
"""On each of them. Together they are a thousand."""
FILLED: Final = 3_500
"""Events that wait for each subscriber: more than it may leave unread."""
BATCH: Final = 500


def beside(at: Place) -> Iterator[Figure]:
    """One client that waits for each answer, on two daemons in turns; one of them has the subscribers."""
    vault = at.new("empty-vault")
    vault.mkdir()
    with daemon(at, vault, name="quiet") as quiet, daemon(at, vault, name="silent") as silent:
        alone, among = quiet.wire(), silent.wire()
        for wire in (alone, among):
            for line in publish_lines(FILLED // BATCH, BATCH):
                wire.ask(line)
        deaf = [_deaf(silent) for _ in range(CONNECTIONS)]
        try:
            yield _beside(at, silent, alone, among)
        finally:
            for wire in (*deaf, alone, among):
                wire.close()


def _deaf(running: Daemon) -> Wire:
    wire = running.wire()
    for number in range(SUBSCRIPTIONS):
        wire.send(request_line(number + 1, "workspaced/subscribe", {"since": 0}))
    return wire


def _beside(at: Place, silent: Daemon, alone: Wire, among: Wire) -> Figure:
    rounds, calls = at.sizes.rounds, at.sizes.calls // 2
    lines = publish_lines(2 * (rounds + 1) * calls, 1)
    ours, bare = interleaved(
        rounds,
        lambda: latencies_ms(calls, lambda _: among.ask(next(lines))),
        lambda: latencies_ms(calls, lambda _: alone.ask(next(lines))),
    )
    return Figure(
        "publish.beside_silent.p50",
        median([a / b for a, b in zip(p50s(ours), p50s(bare), strict=True)]),
        "x without them",
        at_most(1.2),
        None,
        {
            "beside_p99_ms": percentile(pooled(ours), 0.99),
            "alone_p99_ms": percentile(pooled(bare), 0.99),
            "subscribers": CONNECTIONS * SUBSCRIPTIONS,
            "still_there": silent.status()["queues"]["connections"] - 2,
            "rounds": rounds,
        },
    )
