"""An event as one sentence for people: who did what to what."""

from collections.abc import Iterator
from typing import Any, Final

from workspaced_events.escaping import escape_control
from workspaced_events.schema.catalogue import Event, MessageData, UnknownEvent, VaultOpened

_SENTENCES: Final = {
    "vault_opened": "the daemon serves the vault {name}",
    "vault_closed": "the daemon serves the vault {vault_id} no longer",
    "vault_switched": "{source} switches to the vault {vault_id}",
    "active_note_set": "{source} shows {note}",
    "active_note_cleared": "{source} shows no note",
    "selection_changed": "{source} selects lines {start_line} to {end_line} of {note}",
    "note_pinned": "{source} pins {note}",
    "note_unpinned": "{source} unpins {note}",
    "pinned_notes_reordered": "{source} puts the pins in another order",
    "temporary_tab_opened": "{source} opens a tab of {note}",
    "temporary_tab_closed": "{source} closes a tab",
    "temporary_tabs_reordered": "{source} puts the tabs in another order",
    "temporary_tabs_cleared": "{source} closes all tabs",
    "temporary_tabs_expired": "tabs that nobody used for a day are closed",
    "note_created": "the file {note} appeared, {size} B",
    "note_changed": "the file {note} changed, now {size} B",
    "note_shown": "{note} may be shown: its front matter withholds nothing",
    "note_withheld": "{note} is withheld from every agent by its front matter",
    "note_renamed": "{from_} is renamed to {to}",
    "note_deleted": "{source} deletes {note}",
    "note_archived": "{source} archives {note}",
    "note_unarchived": "{source} takes {note} out of the archive",
    "sharing_set": "{client} is shown {level} from now on",
    "volunteering_set": "telling {client} without asking is {volunteering} from now on",
    "pause_started": "{source} pauses the workspace",
    "pause_ended": "{source} ends the pause",
    "view_opened": "{source} shows its whole view from now on",
    "view_closed": "{source} is gone, and its view with it",
    "event_forgotten": "here stood an event about a note that was forgotten",
    "record_forgotten": "here stood a record about a note that was forgotten",
    "tool_called": "{caller} asks {tool} and is answered {bytes} B",
    "context_volunteered": "{caller} is told {bytes} B without asking, at {event}",
    "clock_stepped": "the clock is set from {before} to {after}",
    "log_recovered": "the log is recovered: {bytes} B of a torn line are put aside",
    "daemon_started": "the daemon {version} starts",
    "daemon_stopped": "the daemon stops: {reason}",
    "conversation_started": "a conversation with {model} begins",
    "conversation_branched": "a conversation begins as a branch of {origin}",
    "conversation_ended": "a conversation ends",
    "message_added": "the {role} says something",
    "message_replaced": "a message of the {role} is replaced",
    "message_removed": "a message is removed",
    "summary_set": "a summary stands for earlier messages",
    "context_pinned": "{id} is given to every prompt of a conversation",
    "context_unpinned": "{id} is no longer given to every prompt",
    "artifact_recorded": "{id} is read for a prompt, {bytes} B",
    "prompt_assembled": "a prompt is assembled, about {estimate} tokens",
    "context_folded": "what earlier turns sent is shortened by about {saved} tokens: {reason}",
    "library_rebased": "the context library is made anew: {reason}",
    "usage_reported": "{model} counted {input_tokens} tokens in, {output_tokens} out",
    "memory_written": "{client} asks to {command} {note} in the memory folder",
    "memory_write_ended": "the write of event {write} to the memory folder is {outcome}",
}
"""By type. Braces name fields of the data, or the event's source."""
_FAILED: Final = "{caller} asks {tool} and gets an error"
_PATHS: Final = ("note", "from_", "to", "path")


def sentence(event: Event) -> str:
    """The event in words, with control characters escaped. Without a full stop."""
    if isinstance(event, UnknownEvent) or event.type not in _SENTENCES:
        return escape_control(f"{event.source} recorded {event.type}, which this version does not know")
    data = event.data
    template = _FAILED if event.type == "tool_called" and not data.ok else _SENTENCES[event.type]
    fields = {name: getattr(data, name) for name in data.__struct_fields__}
    if event.type == "active_note_set" and data.note is None:
        template = _SENTENCES["active_note_cleared"]
    return escape_control(template.format_map({**fields, "source": event.source}))


def client_of(event: Event) -> str | None:
    """The agent that the event is about: who asked, was told, or got a level."""
    data = event.data
    client = getattr(data, "caller", None) or getattr(data, "client", None)
    return str(client) if client is not None else None


def notes_of(event: Event) -> list[str]:
    """The notes that the event names, without those inside of recordings and texts."""
    return list(dict.fromkeys(_names(event.data)))


def _names(data: Any) -> Iterator[str]:
    for field in _PATHS if not isinstance(data, VaultOpened) else ():
        if isinstance(name := getattr(data, field, None), str):
            yield name
    yield from getattr(data, "notes", ())
    if isinstance(data, MessageData):
        yield from (each.id for each in data.attachments if each.kind in ("note", "active_note"))
