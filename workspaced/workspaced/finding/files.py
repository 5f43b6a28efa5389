"""What a search found as files: a bundle, and a test that fails as long as the events in it lead to the same."""

import platform
from io import BytesIO
from typing import Final

import msgspec

from workspaced_events.clock import system_clock
from workspaced_events.replay.bundle import Versions
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.source import Source
from workspaced_events.schema.catalogue import Event
from workspaced_tools.replay.bundling import make_bundle, named_blobs

from ..__about__ import __version__

BUNDLE: Final = "found.wsb"
PYTEST_FILE: Final = "test_found.py"
_TEST: Final = '''\
"""The events in {bundle} lead to a state that should not be. This test fails as long as they do.

Made by workspaced {version}. Put both files into one folder, then run: pytest {test}
"""

from pathlib import Path

import pytest

import workspaced.replay
from workspaced_events.errors import NeverTrue

BUNDLE = Path(__file__).with_name({bundle!r})
PREDICATE = {predicate!r}
VAULT = {vault!r}


def test_the_state_never_becomes_so() -> None:
    with workspaced.replay.open(BUNDLE) as log:
        try:
            event = log.find(PREDICATE, vault=VAULT)
        except NeverTrue:
            return
    pytest.fail(f"after event {{event.seq}}, {{event.type}}, this is true: {{PREDICATE}}")
'''


class Shrunk:
    """The few events that lead to what was looked for."""

    def __init__(self, predicate: str, vault: str | None, events: list[Event], source: Source) -> None:
        """`source`: the log that was shrunk, still open."""
        self.predicate = predicate
        self.vault = vault
        visits = msgspec.json.encode(source.start_visits())
        self.part = Slice("", source.start, visits, events, source.blob, redacted=source.redacted)
        """The events as a part of a log."""
        # What the log gives is read now: it closes with the search.
        self.part.blob = {name: source.blob(name) for name in named_blobs(self.part)}.get


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
    make_bundle(file, part, versions=versions, settings={}, created=system_clock(), redacted=part.redacted)
    return file.getvalue()


def pytest_file_of(shrunk: Shrunk) -> str:
    """The Python of a test, for pytest, that opens the bundle beside it."""
    return _TEST.format(
        bundle=BUNDLE,
        test=PYTEST_FILE,
        version=__version__,
        predicate=shrunk.predicate,
        vault=shrunk.vault,
    )
