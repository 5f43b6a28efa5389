"""Events in plain words, with what each of them changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from workspaced_events.projections.state_diff import changes, lines
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, to_json
from workspaced_events.schema.catalogue import Event, UnknownEvent

_WORDS: Final = {
    "vault_opened": "opened the vault {name}",
    "vault_closed": "closed the vault {vault_id}",
    "vault_switched": "switched to the vault {vault_id}",
    "active_note_set": "looked at {note}",
    "active_note_cleared": "looked at no note any more",
    "selection_changed": "selected lines {start_line} to {end_line} of {note}",
    "note_pinned": "pinned {note}",
    "note_unpinned": "unpinned {note}",
    "pinned_notes_reordered": "put the pins in another order",
    "temporary_tab_opened": "opened a tab with {note}",
    "temporary_tab_closed": "closed a tab",
    "temporary_tabs_reordered": "put the tabs in another order",
    "temporary_tabs_cleared": "closed all tabs",
    "temporary_tabs_expired": "closed tabs that nobody used for a day",
    "note_renamed": "renamed {from_} to {to}",
    "note_deleted": "deleted {note}",
    "note_archived": "archived {note}",
    "note_unarchived": "took {note} out of the archive",
    "sharing_set": "set what {client} may see to {level}",
    "volunteering_set": "set what {client} is told without asking to {volunteering}",
    "pause_started": "paused the recording",
    "pause_ended": "resumed the recording",
    "view_opened": "began to show its whole view",
    "view_closed": "was gone",
    "clock_stepped": "noticed that the clock was set",
    "event_forgotten": "forgot an event",
}
"""What the source of an event did; the braces name fields of its data."""


class Step(msgspec.Struct, rename="camel"):
    """One event of a story."""

    seq: int
    """In the shrunk log."""
    origin: int | None
    """The same event's sequence in the inspected log; null: it stands for what was before the log's beginning."""
    time: str
    type: str
    source: str
    words: str
    changes: list[str]
    """How the state differs from the one before, as lines."""


def in_words(event: Event) -> str:
    """What happened, as the rest of a sentence that begins with the event's source."""
    words = _WORDS.get(event.type)
    if words is None or isinstance(event, UnknownEvent):
        return f"did {event.type.replace('_', ' ')}"
    # No name of a note is a template: `format_map` fills in each field once.
    return words.format_map({name: getattr(event.data, name) for name in event.data.__struct_fields__})


def story(events: Sequence[Event], origins: Mapping[str, int]) -> Iterator[Step]:
    """The steps of a log that begins with nothing.

    Args:
        origins: for ids of events their sequences in the inspected log.
    """
    state = EMPTY
    for event in events:
        after = apply(state, event)
        changed = lines(changes(to_json(state), to_json(after)))
        yield Step(
            event.seq, origins.get(event.id), event.time, event.type, event.source, in_words(event), changed
        )
        state = after
