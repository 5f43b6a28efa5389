"""The log as a whole: its name and extent, and what a reader of the page should know of it."""

import msgspec

from ... import replay
from ...__about__ import __version__
from ..inspected import Inspected


class AboutParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """None."""


class About(msgspec.Struct, rename="camel"):
    """The log that the page looks at."""

    name: str
    kind: str
    """`daemon`, `directory`, `bundle` or `export`."""
    socket: str
    """The daemon's, if one runs; else empty."""
    version: str
    """Of this program."""
    events: int
    calls: int
    prompts: int
    first: int
    """The sequence of the first event; 0: the log holds none."""
    last: int
    first_time: str
    last_time: str
    vaults: list[str]
    warnings: list[str]
    may_change: bool
    """Whether the page may change levels and pauses."""
    hides: bool
    """Whether notes that are withheld from agents are hidden: over a running daemon, without `--reveal`."""


def about(inspected: Inspected, _parameters: AboutParameters) -> About:
    """Says what is inspected."""
    events, counts = inspected.log.events(), inspected.log.counts()
    socket = inspected.subject.socket
    first, last = (events[0], events[-1]) if events else (None, None)
    return About(
        name=inspected.subject.name,
        kind=inspected.subject.kind,
        socket=str(socket) if socket is not None else "",
        version=__version__,
        events=len(events),
        calls=counts.get("tool_called", 0),
        prompts=counts.get("prompt_assembled", 0),
        first=first.seq if first else 0,
        last=last.seq if last else 0,
        first_time=first.time if first else "",
        last_time=last.time if last else "",
        vaults=_vaults(inspected.log),
        warnings=inspected.log.warnings,
        may_change=inspected.may_change,
        hides=not inspected.mask.reveals,
    )


def _vaults(log: replay.Log) -> list[str]:
    """The vaults ever opened, without a fold of the whole log, for which the page's first paint would wait."""
    if not log.events():
        return list(log.end.state.vaults)
    before = log.at(log.events()[0].seq - 1).state.vaults
    opened = log.events_of(("vault_opened",), limit=len(log.events()))
    return list(dict.fromkeys([*before, *(event.data.vault_id for event in opened)]))
