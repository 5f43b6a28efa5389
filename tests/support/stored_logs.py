"""One log in each form in which it may be stored: a data directory, an export, a bundle, and in memory."""

import io
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from workspaced_events.log.disk import RealDisk
from workspaced_events.log.recovery import open_log
from workspaced_events.log.scan import scan_log
from workspaced_events.log.segments import Batch
from workspaced_events.projections.visits import visits_from
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay.bundle import Manifest, Versions, write_bundle
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.open import open_source
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.codec import encode_batch
from workspaced_tools.replay.verify import verify

SEGMENT_BYTES = 4_000
"""So that short logs have several segments."""


class MemoryLog:
    """A log in memory, which may grow, that gives its events in pages and counts how often it is read."""

    def __init__(self, events: Sequence[Event] = (), page: int = 1_000) -> None:
        self.events = list(events)
        self.page = page
        self.reads = 0

    @property
    def tail(self) -> Any:
        return SimpleNamespace(seq=len(self.events))

    def read(self, first: int, limit: int, bytes_max: int = 1) -> list[Event]:
        assert bytes_max > 0
        self.reads += 1
        return self.events[first - 1 : first - 1 + min(limit, self.page)]


def part_of(
    events: Sequence[Event], blob: Callable[[str], bytes | None] = lambda _name: None, log_id: str = "log-1"
) -> Slice:
    """The events of a whole log."""
    return Slice(log_id, EMPTY, msgspec.json.encode(visits_from(0)), events, blob)


def as_directory(place: Path, events: Sequence[Event], events_a_line: int = 3) -> Path:
    """A data directory of several segments; returns `place`."""
    place.mkdir()
    disk = RealDisk(place)
    scan = scan_log(disk, lambda _events: None)
    log = open_log(disk, scan, version="t", now=lambda: "now", segment_bytes_max=SEGMENT_BYTES)
    for begin in range(0, len(events), events_a_line):
        batch = events[begin : begin + events_a_line]
        log.append(Batch(batch[0].seq, batch[-1].seq, encode_batch(batch)), log.tail.seq)
    log.close()
    return place


def as_export(place: Path, events: Sequence[Event]) -> Path:
    """An export; returns `place`."""
    place.write_bytes(b"".join(export_lines("log-1", events, visibility=True)))
    return place


def bundled(part: Slice, blobs: Sequence[str] = (), *, visibility: bool = False) -> bytes:
    """A bundle of a part, which holds at least one event."""
    manifest = Manifest(
        log=part.log_id,
        first=part.first,
        last=part.last,
        created="2026-03-02T00:00:00.000000Z",
        redacted=False,
        versions=Versions("0.1.0", "3.11", "Linux"),
    )
    file = io.BytesIO()
    write_bundle(file, part, blobs, manifest, visibility=visibility)
    return file.getvalue()


def as_bundle(place: Path, part: Slice, blobs: Sequence[str] = ()) -> Path:
    """The same in a file, with what was found of notes; returns `place`."""
    place.write_bytes(bundled(part, blobs, visibility=True))
    return place


def outcomes(path: Path, *, prompts: bool = False) -> Counter[str]:
    """What becomes of the recorded calls, or of the prompts, of a data directory or bundle that are made again."""
    calls, made = Counter[str](), Counter[str]()
    with open_source(path) as source:
        verify(
            source, lambda each: calls.update([each.outcome]), each_prompt=lambda each: made.update([each.outcome])
        )
    return made if prompts else calls
