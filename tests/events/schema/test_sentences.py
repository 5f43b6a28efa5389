"""What events tell, in plain sentences."""

import pytest
from support import random_log
from support.golden_log import EVERY

from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, Event
from workspaced_events.schema.codec import decode_event
from workspaced_events.schema.sentences import notes_named, sentence, who

NOTE = random_log.NOTES[5]


def called(**arguments: object) -> Event:
    data = c.ToolCalled("read", "claude", arguments, 1, "0" * 64, 10, 20, False, "2026-01-01T00:00:00.000000Z")
    return CATALOGUE["tool_called"].event(1, "id", "2026-01-01T00:00:00.000000Z", "workspaced", None, data)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_type_of_the_catalogue_has_a_sentence_of_its_own(name: str) -> None:
    told = sentence(EVERY[name])
    assert told and "\n" not in told and "None" not in told and "{" not in told
    assert [each for each in EVERY if sentence(EVERY[each]) == told] == [name]


@pytest.mark.parametrize("seed", range(5))
def test_every_event_tells_something_in_one_line_and_names_its_notes(seed: int) -> None:
    for event in random_log.random_log(seed, 200, (random_log.V, random_log.W)):
        assert sentence(event).strip()
        for note in notes_named(event)[:1]:
            assert note in sentence(event) or event.type == "pinned_notes_reordered"


@pytest.mark.parametrize(
    ("data", "told", "notes"),
    [
        (c.NotePinned(NOTE), f"pinned {NOTE}", [NOTE]),
        (c.NoteRenamed(NOTE, random_log.NOTES[1]), f"renamed {NOTE} to note 1.md", [NOTE, "note 1.md"]),
        (c.SelectionChanged(NOTE, 3, 3, text=""), f"put the cursor in line 3 of {NOTE}", [NOTE]),
        (c.SelectionChanged(NOTE, 3, 4), f"selected lines 3 to 4 of {NOTE}", [NOTE]),
        (c.SharingSet("claude", "names"), "set what claude is shown to “names”", []),
    ],
)
def test_an_event_is_told_as_a_person_would(data: c.Data, told: str, notes: list[str]) -> None:
    entry = c.ENTRY_OF[type(data)]
    event = entry.event(1, "id", "2026-01-01T00:00:00.000000Z", "editor", None, data)
    assert (sentence(event), notes_named(event), who(event)) == (told, notes, "editor")


def test_a_call_or_a_write_is_its_clients_and_long_arguments_are_cut() -> None:
    event = called(reference="a.md", query="x" * 500, at=3, limit=4)
    assert who(event) == "claude"
    assert notes_named(event) == ["a.md"]
    assert sentence(event).startswith("called read(reference=“a.md”, query=“xxx")
    assert sentence(event).endswith("…, at=3, …), which failed")
    assert len(sentence(event)) < 200
    assert who(EVERY["memory_written"]) == "agent" != EVERY["memory_written"].source


def test_an_event_that_only_a_newer_version_knows_is_told_by_its_type() -> None:
    line = b'{"seq":1,"id":"i","time":"t","source":"s","vault":null,"type":"moon_risen","data":{}}'
    event = decode_event(line)
    assert (sentence(event), notes_named(event), who(event)) == ("moon risen", [], "s")
