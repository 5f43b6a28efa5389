"""What the daemon and the process that sends spans tell each other, one JSON value a line.

First a `Start`, then arrays of events as in the log; the other way `Count`s.
"""

import msgspec


class Start(msgspec.Struct, frozen=True):
    """What the process is to do."""

    url: str
    log_id: str


class Count(msgspec.Struct, frozen=True):
    """What became of the spans since the process started."""

    sent: int = 0
    dropped: int = 0
    problem: str = ""
    """Why the last batch was not taken; empty: it was."""
