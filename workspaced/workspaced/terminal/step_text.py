"""Events and their changes as lines of text, with control characters escaped.

Apart from `state_text`, because it imports the catalogue of events, which commands that show a state do without.
"""

from typing import Any

import msgspec

from workspaced_events.escaping import escape_control
from workspaced_events.projections.state_diff import Change, lines
from workspaced_events.schema.catalogue import Event, UnknownEvent

from .screen import local_time


def step_block(event: Event, changes: list[Change]) -> str:
    """One step: the event, its data, its changes."""
    what, *rest = event_lines(event)
    return "\n".join([what, *(f"  {row}" for row in rest), *(f"  => {row}" for row in lines(changes)), ""])


def event_lines(event: Event) -> list[str]:
    """The event's type, time, source and vault; then its data, a line per field."""
    of = f" in {event.vault}" if event.vault is not None else ""
    time = local_time(event.time, timespec="microseconds")
    rows = [f"{event.seq} {event.type}", f"{time} by {event.source}{of}"]
    if isinstance(event, UnknownEvent):
        rows.append(bytes(event.data).decode(errors="backslashreplace"))
    else:
        fields: dict[str, Any] = msgspec.to_builtins(event.data)
        rows += [f"{name}: {msgspec.json.encode(value).decode()}" for name, value in fields.items()]
    return [escape_control(row) for row in rows]
