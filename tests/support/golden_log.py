"""The events of the golden log (tests/data/logs): at least one of each type of the catalogue."""

from typing import Final

from support import DATA
from workspaced_events.replay.json_lines import read_export
from workspaced_events.schema.catalogue import CATALOGUE_VERSION, Event

EXPORT: Final = DATA / "logs" / f"v{CATALOGUE_VERSION}.jsonl"


def _exported() -> list[Event]:
    with EXPORT.open("rb") as lines:
        return list(read_export(lines, "golden"))


EVENTS: Final = _exported()
EVERY: Final = {event.type: event for event in reversed(EVENTS)}
"""The first one of each type."""
