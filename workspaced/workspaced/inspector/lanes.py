"""The lanes of the timeline: what kind of thing each type of event tells of."""

from typing import Final, Literal, get_args

from workspaced_events.schema.catalogue import ENTRY_OF

Lane = Literal["navigation", "files", "calls", "prompts", "volunteered", "sharing", "log"]
LANES: Final[tuple[Lane, ...]] = get_args(Lane)

_LANES: Final[dict[Lane, str]] = {
    "files": "note_created note_changed note_renamed note_deleted note_archived note_unarchived "
    "memory_written memory_write_ended",
    "calls": "tool_called",
    "prompts": "conversation_started conversation_branched conversation_ended message_added message_replaced "
    "message_removed summary_set context_pinned context_unpinned artifact_recorded prompt_assembled "
    "context_folded context_near_limit usage_reported prompt_overlaid prompt_answered context_withdrawn "
    "answer_judged",
    "volunteered": "context_volunteered context_inserted",
    "sharing": "note_shown note_withheld sharing_set volunteering_set pause_started pause_ended",
    "log": "vault_opened vault_closed event_forgotten record_forgotten clock_stepped log_recovered daemon_started "
    "daemon_stopped",
}
_NAMED: Final[dict[str, Lane]] = {name: lane for lane, names in _LANES.items() for name in names.split()}

LANE_OF: Final[dict[str, Lane]] = {entry.name: _NAMED.get(entry.name, "navigation") for entry in ENTRY_OF.values()}
"""The lane of each type of event."""
