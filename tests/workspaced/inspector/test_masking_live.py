"""A mask over the log of a running daemon, which answers what is withheld."""

import json

from support.daemon import Daemon, Factory

from workspaced import SyncClient
from workspaced.inspector.masking.mask import Mask, Withheld
from workspaced.inspector.masking.withheld_notes import asking
from workspaced_events.replay.source import DirectorySource
from workspaced_events.schema.catalogue import Event, ToolCalled

NOTES = {
    "a.md": "# Alpha\n\nThe first note.\n",
    "Salary talks.md": "# Salary talks\n\nA raise.\n",
    "Diary.md": "---\nworkspaced: private\n---\n# Diary\n\nDear diary.\n",
    "Health.md": "---\nworkspaced: on-request\n---\n# Health\n",
}


def look_at(client: SyncClient, *notes: str) -> None:
    client.publish([{"type": "active_note_set", "data": {"note": note, "title": note[:-3]}} for note in notes])


def masked(running: Daemon, client: SyncClient) -> tuple[str, list[Withheld | None]]:
    """All events as the page has them, and what stands for the calls."""
    events: list[Event] = []
    with DirectorySource(running.data) as source:
        source.feed(events.extend)
        mask = Mask(asking(client.call), source.blob)
        calls = [mask.withheld_in(event) for event in events if isinstance(event.data, ToolCalled)]
        return json.dumps(mask.events(events)), calls


def test_private_and_on_request_notes_are_masked_and_all_else_shows(daemon: Factory) -> None:
    running = daemon(notes=NOTES)
    client = running.connect("inspector")
    look_at(client, "Diary.md", "Health.md", "Deleted diary.md", "Salary talks.md")
    shown, _calls = masked(running, client)
    assert "iary" not in shown and "Health" not in shown
    assert "Salary talks.md" in shown and "(withheld 1)" in shown


def test_a_note_that_turns_private_takes_the_calls_with_it_that_showed_it(daemon: Factory) -> None:
    running = daemon(notes=NOTES)
    client = running.connect("inspector")
    for note in ("a.md", "Salary talks.md"):
        look_at(client, note)
        client.tool("get_current_note")
    client.tool("get_note_by_reference", {"reference": "Salary talks"})
    client.call("workspaced/calls")  # once they are recorded
    assert masked(running, client)[1] == [None, None, None]
    (running.vault / "Salary talks.md").write_text(NOTES["Diary.md"])
    shown, calls = masked(running, client)
    assert calls == [None, Withheld(1), Withheld(1)]
    assert "Salary" not in shown and "a.md" in shown
