"""A journal, most often on a simulated disk: opened, recorded to, its files looked at."""

from typing import Any

from support.simulated_disk import SimDisk
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.journal.submissions import Outcome
from workspaced_events.log.disk import Disk
from workspaced_events.log.line_format import segment_first
from workspaced_events.log.scan import Scan, scan_log
from workspaced_events.schema.catalogue import Event


def opened(disk: Disk, **options: Any) -> Journal:
    """The journal, with a clock that ticks once a question from the beginning of 2026 on."""
    ticks = iter(range(1, 1_000_000))
    return open_journal(disk, version="t", clock=lambda: f"2026-01-01T00:00:00.{next(ticks):06}Z", **options)


def record(journal: Journal, *actions: Action) -> Outcome:
    """One batch, committed alone: what its publisher is told."""
    told: list[Outcome] = []
    journal.writer.submit(actions, "ui", told.append)
    for done, outcome in journal.writer.commit().outcomes:
        done(outcome)
    return told[0]


def flipped(data: bytes, bit: int) -> bytes:
    """The bytes with one bit changed."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def scanned(disk: SimDisk) -> tuple[Scan, list[Event]]:
    events: list[Event] = []
    return scan_log(disk, events.extend), events


def segments_of(disk: SimDisk) -> list[str]:
    return [name for name in disk.names("log") if segment_first(name) is not None]


def files_of(disk: SimDisk, *directories: str) -> dict[str, bytes]:
    return {f"{each}/{name}": disk.read(f"{each}/{name}") for each in directories for name in disk.names(each)}


def copy_of(disk: SimDisk, *directories: str) -> SimDisk:
    """Another disk with the files of these directories."""
    copied = SimDisk()
    for name, content in files_of(disk, *directories).items():
        copied.overwrite(name, content)
    return copied
