"""What a search found as files: a bundle, and a test that fails as long as the events in it lead to the same."""

import platform
from collections.abc import Callable
from io import BytesIO
from typing import Final

import msgspec

from workspaced_events.clock import system_clock
from workspaced_events.projections.visits import visits_from
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay.bundle import Versions
from workspaced_events.replay.log_slice import Slice
from workspaced_events.schema.catalogue import Event
from workspaced_tools.privacy.recording_redaction import under_pseudonyms
from workspaced_tools.replay.bundling import make_bundle, named_blobs

from ..__about__ import __version__

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

    def __init__(
        self, predicate: str, vault: str | None, events: list[Event], blob: Callable[[str], bytes | None]
    ) -> None:
        self.predicate = predicate
        self.vault = vault
        self.events = events
        self.part = Slice("", EMPTY, msgspec.json.encode(visits_from(0)), events, blob)
        """The events as a log that begins with nothing."""
        # What the log gives is read now: it closes with the search.
        self.part.blob = {name: blob(name) for name in named_blobs(self.part)}.get


def bundle_name(*, redacted: bool, with_calls: bool = False) -> str:
    """The name of a bundle; the test looks for the one without calls."""
    return f"found{'-with-calls' if with_calls else ''}{'-redacted' if redacted else ''}.wsb"


def pytest_file_name(*, redacted: bool) -> str:
    return "test_found_redacted.py" if redacted else "test_found.py"


def bundle_of(part: Slice, *, redacted: bool) -> bytes:
    """A part of a log as a bundle; `redacted` puts pseudonyms for names and texts.

    Raises:
        InvalidArgument: they are too large for a bundle.
        OSError: temporary files cannot be written.
    """
    file = BytesIO()
    system = f"{platform.system()} {platform.machine()}".strip()
    versions = Versions(__version__, platform.python_version(), system)
    if redacted:
        with under_pseudonyms(part) as made:
            make_bundle(file, made.part, versions=versions, settings={}, created=system_clock(), redacted=True)
    else:
        make_bundle(file, part, versions=versions, settings={}, created=system_clock())
    return file.getvalue()


def pytest_file_of(shrunk: Shrunk, *, redacted: bool) -> str:
    """The Python of a test, for pytest, that opens the bundle beside it."""
    return _TEST.format(
        bundle=bundle_name(redacted=redacted),
        test=pytest_file_name(redacted=redacted),
        version=__version__,
        predicate=shrunk.predicate,
        vault=shrunk.vault,
    )


def shows_under_pseudonyms(shrunk: Shrunk, is_shown: Callable[[list[Event]], bool]) -> bool:
    """Whether the redacted events are shown to lead to it too: a predicate may name what has a pseudonym then.

    Raises:
        OSError: temporary files cannot be written.
    """
    with under_pseudonyms(shrunk.part) as made:
        return is_shown(list(made.part.events))
