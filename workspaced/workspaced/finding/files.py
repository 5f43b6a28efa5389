"""What a search found as a bundle."""

import platform
from io import BytesIO

import msgspec

from workspaced_events.clock import system_clock
from workspaced_events.replay.bundle import Versions
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.source import Source
from workspaced_events.schema.catalogue import Event
from workspaced_tools.replay.bundling import make_bundle, named_blobs

from ..__about__ import __version__


def part_of(events: list[Event], source: Source) -> Slice:
    """The few events that are left of a log, as a part of it."""
    visits = msgspec.json.encode(source.start_visits())
    part = Slice("", source.start, visits, events, source.blob, redacted=source.redacted)
    # What the log gives is read now: it closes with the search.
    part.blob = {name: source.blob(name) for name in named_blobs(part)}.get
    return part


def bundle_of(part: Slice) -> bytes:
    """A part of a log as a bundle.

    Raises:
        InvalidArgument: it is too large for a bundle.
        OSError: temporary files cannot be written.
    """
    file = BytesIO()
    versions = Versions(
        __version__, platform.python_version(), f"{platform.system()} {platform.machine()}".strip()
    )
    make_bundle(file, part, versions=versions, created=system_clock(), redacted=part.redacted)
    return file.getvalue()
