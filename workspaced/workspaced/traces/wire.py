"""What the daemon and the process that sends spans tell each other, one JSON value a line.

First a `Start`, then arrays of events as in the log; the other way `Count`s.
"""

import msgspec


class TextsFrom(msgspec.Struct, frozen=True):
    """Where texts are, and what the settings say of notes."""

    data: str
    deny: tuple[str, ...]
    on_request: tuple[str, ...]


class Start(msgspec.Struct, frozen=True):
    """What the process is to do."""

    url: str
    log_id: str
    texts: TextsFrom | None = None
    """None: no texts are sent."""


class Count(msgspec.Struct, frozen=True):
    """What became of the spans since the process started."""

    sent: int = 0
    dropped: int = 0
    problem: str = ""
    """Why the last batch was not taken; empty: it was."""
