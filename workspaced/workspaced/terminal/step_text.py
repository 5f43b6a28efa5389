"""An event and what it changed as lines of text, with control characters escaped."""

from typing import Any

import msgspec

from workspaced_events.escaping import escape_control
from workspaced_events.projections.state_diff import Change, lines
from workspaced_events.schema.catalogue import Event, UnknownEvent

from .screen import local_time


def step_block(event: Event, changes: list[Change]) -> str:
    """The event, its data a line per field, and its changes."""
    of = f" in {event.vault}" if event.vault is not None else ""
    time = local_time(event.time, timespec="microseconds")
    rows = [f"{event.seq} {event.type}", f"  {time} by {event.source}{of}"]
    if isinstance(event, UnknownEvent):
        rows.append("  " + bytes(event.data).decode(errors="backslashreplace"))
    else:
        fields: dict[str, Any] = msgspec.to_builtins(event.data)
        rows += [f"  {name}: {msgspec.json.encode(value).decode()}" for name, value in fields.items()]
    return "\n".join([*map(escape_control, rows), *(f"  => {row}" for row in lines(changes)), ""])
