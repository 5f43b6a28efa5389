"""The process that sends spans: `python -m workspaced.traces.process`, started by live.py.

It reads what wire.py says on standard input, and writes counts on standard output. A receiver that is slow or gone
stops this process alone. It goes on reading meanwhile, and drops and counts what it cannot hold. At the end of its
input it sends what is left, within END_S, and ends; also if its daemon was killed.
"""

import os
import signal
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from workspaced_events.replay.open import open_source
from workspaced_events.schema.codec import decode_batch

from .exporting import BATCH_MAX, Delivery
from .spans import Span, Spans
from .wire import Count, Start, TextsFrom

if TYPE_CHECKING:
    from .texts import Texts

HELD_MAX: Final = 8_192
"""Spans that wait for the receiver; later ones are dropped."""
_TIMEOUT_S: Final = 5.0
"""For a batch: all attempts together."""
END_S: Final = 8.0


class _Held:
    """The spans that wait. `add` and `end` on one thread, `take` on another."""

    def __init__(self) -> None:
        self._spans: deque[Span] = deque()
        self._some = threading.Condition()
        self._is_ended = False
        self.dropped = 0

    def add(self, spans: list[Span]) -> None:
        with self._some:
            room = HELD_MAX - len(self._spans)
            self._spans.extend(spans[:room])
            self.dropped += len(spans[room:])
            self._some.notify()

    def end(self) -> None:
        with self._some:
            self._is_ended = True
            self._some.notify()

    def take(self) -> list[Span] | None:
        """A batch; None: no more will come."""
        with self._some:
            self._some.wait_for(lambda: self._spans or self._is_ended)
            return [self._spans.popleft() for _ in range(min(BATCH_MAX, len(self._spans)))] or None


def _read(start: Start, held: _Held) -> None:
    texts = _texts(start.texts) if start.texts is not None else None
    spans = Spans(start.log_id, texts.of) if texts is not None else Spans(start.log_id)
    for line in sys.stdin.buffer:
        made: list[Span] = []
        for event in decode_batch(line):
            if texts is not None:
                texts.feed([event])
            made += spans.feed(event)
        held.add(made)
    held.add(spans.rest())
    held.end()
    stuck = threading.Timer(END_S, os._exit, (1,))
    stuck.daemon = True
    stuck.start()


def _texts(where: TextsFrom) -> "Texts":
    from .texts import Texts  # not needed by most

    texts = Texts(Path(where.data), where.deny, where.on_request)
    with open_source(Path(where.data)) as source:
        source.feed(texts.feed)
    return texts


def _main() -> None:
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)  # they are for the daemon, whose end is ours
    start = msgspec.json.decode(sys.stdin.buffer.readline(), type=Start)
    delivery, held = Delivery(start.url, _TIMEOUT_S), _Held()
    threading.Thread(target=_read, args=(start, held), daemon=True).start()
    while (spans := held.take()) is not None:
        delivery.add(spans)
        delivery.flush()
        count = Count(delivery.sent, delivery.dropped + held.dropped, delivery.problem)
        with suppress(OSError):  # the daemon has ended; what is left is sent all the same
            os.write(sys.stdout.fileno(), msgspec.json.encode(count) + b"\n")
    os._exit(0)  # nothing is to be waited for


if __name__ == "__main__":
    _main()
