"""Events in words: each type of the catalogue has a sentence, made of the values that it has."""

from typing import Any

import msgspec
import pytest

from workspaced.inspector.views.event_sentence import _SENTENCES, client_of, notes_of, sentence
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, ENTRY_OF, Event
from workspaced_events.schema.codec import decode_event


def event(data: c.Data, source: str = "editor") -> Event:
    made: Event = ENTRY_OF[type(data)].event(1, "id", "2026-01-01T00:00:00.000000Z", source, "v", data)
    return made


def test_every_type_has_a_sentence_and_no_other_has() -> None:
    assert set(_SENTENCES) == set(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_sentence_names_only_fields_that_the_type_has(name: str) -> None:
    fields = {field.name: "x" for field in msgspec.structs.fields(CATALOGUE[name].data)}
    assert "x" in _SENTENCES[name].format_map({**fields, "source": "x"}) or "{" not in _SENTENCES[name]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (c.ActiveNoteSet("a.md"), "editor shows a.md"),
        (c.NoteRenamed("a.md", "b.md"), "a.md is renamed to b.md"),
        (c.SharingSet("claude", "names"), "claude is shown names from now on"),
    ],
)
def test_it_says_who_did_what(data: Any, words: str) -> None:
    assert sentence(event(data)) == words


def test_control_characters_and_braces_of_names_stay_names() -> None:
    assert sentence(event(c.ActiveNoteSet("{0}\u202e\x07.md"))) == "editor shows {0}\\u202e\\x07.md"


def test_notes_and_agents_are_those_that_the_event_names() -> None:
    assert notes_of(event(c.NoteRenamed("a.md", "b.md"))) == ["a.md", "b.md"]
    assert notes_of(event(c.PinnedNotesReordered(("a.md", "b.md")))) == ["a.md", "b.md"]
    assert client_of(event(c.SharingSet("claude", "names"))) == "claude"
    assert client_of(event(c.ActiveNoteSet("a.md"))) is None


def test_an_event_of_a_newer_version_is_said_to_be_one() -> None:
    raw = b'{"type":"dream_dreamt","seq":1,"id":"i","time":"t","source":"s","vault":null,"data":{"note":"a.md"}}'
    assert sentence(decode_event(raw)) == "s recorded dream_dreamt, which this version does not know"
