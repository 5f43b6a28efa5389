"""The log as a whole: its name and extent, and what a reader of the page should know of it."""

from typing import Final, Literal

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.schema.catalogue import CATALOGUE

from ... import replay
from ...__about__ import __version__
from ..inspected import Inspected, NoParameters

_FIRST_CALLS: Final = 8


class Damage(msgspec.Struct, rename="camel"):
    """Why the log is shown only up to its last event, not to its end."""

    code: str
    message: str
    """What is damaged and where: file, line or offset, and the sequences that are lost."""
    hint: str
    """What repairs it."""


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
    warnings: list[str]
    damage: Damage | None
    newer_events: int
    """Of types that only a newer version knows: they are listed, but change no moment."""
    redacted: bool
    """Whether pseudonyms replace names and texts."""
    recordings: Literal["kept", "missing", "damaged"]
    """What became of the recordings of the first calls. An export never has any."""
    may_change: bool
    """Whether the page may judge answers."""


class Folding(msgspec.Struct, rename="camel"):
    """How far the log is folded. Moments among the folded events are answered at once, others once they are."""

    folded: int
    """Events from the first one on."""
    events: int


def about(inspected: Inspected, _parameters: NoParameters) -> About:
    """Says what is inspected."""
    events, counts = inspected.log.events(), inspected.log.counts()
    socket, damage = inspected.subject.socket, inspected.log.damage
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
        warnings=inspected.log.warnings,
        damage=Damage(damage.code, damage.message, damage.hint or "") if damage is not None else None,
        newer_events=sum(number for type_, number in counts.items() if type_ not in CATALOGUE),
        redacted=inspected.log.redacted,
        recordings=_recordings(inspected.log),
        may_change=inspected.may_change,
    )


def folding(inspected: Inspected, _parameters: NoParameters) -> Folding:
    """Says how far the log is folded; ask again until all events are. `OpenLog` folds it step by step."""
    return Folding(*inspected.log.folded)


def _recordings(log: replay.Log) -> Literal["kept", "missing", "damaged"]:
    """Looks at few, since all would take long: what is oldest is swept first."""
    names = {call.event.data.inputs_sha256 for call in log.calls(limit=_FIRST_CALLS)}
    try:
        return "missing" if any(name is not None and log.blob(name) is None for name in names) else "kept"
    except LogDamaged:
        return "damaged"
