"""Which notes an event names, and a recorded call, prompt or message in its texts: none is overlooked."""

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from support.conversation import NotesTalk
from support.past_world import World

from workspaced_events.ids import MessageId, NoteId
from workspaced_events.privacy.event_redaction import TAGS
from workspaced_events.projections.conversations import Message
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, Event, Redact
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.model.note_names import NoteNames
from workspaced_tools.recording.named_notes import NotKnown, in_json, of_call, of_fields, of_prompt, of_tools

SECRET = "日本語の秘密 Ünïcode"
NOTE = NoteId(f"{SECRET}.md")

# -- every type of event --

NAMELESS = {
    *("link_changed", "vault_opened", "vault_closed", "vault_switched", "active_note_cleared"),
    *("sharing_set", "volunteering_set", "pause_started", "pause_ended", "view_opened", "view_closed"),
    *("temporary_tabs_reordered", "temporary_tabs_cleared", "temporary_tabs_expired", "clock_stepped"),
    *("log_recovered", "daemon_started", "daemon_stopped", "memory_write_ended"),
    *("conversation_started", "conversation_branched", "conversation_ended", "message_removed", "summary_set"),
    *("usage_reported", "context_withdrawn", "prompt_overlaid", "prompt_answered", "context_near_limit"),
    *("event_forgotten", "record_forgotten"),
}
"""Types of which no field names a note. A new type is either here, or its fields are found."""
IN_TEXTS = {"tool_called", "context_volunteered", "context_inserted", "prompt_assembled"}
"""Types that name notes in texts alone."""


def planted(hint: Any, tag: Redact, field: str) -> Any:
    """A value of a field's type that names the note wherever it can."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "note" if "note" in parts else parts[0]
    if origin is Annotated or type(None) in parts:
        return planted(parts[0], tag, field)
    if origin is tuple:
        return (planted(parts[0], tag, field),) * 2
    if origin is dict:
        return {"reference": NOTE}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return planted_in(hint)
    if hint in (bool, int):
        return hint(7)
    if tag is Redact.HASH:
        return sha256(SECRET.encode()).hexdigest()
    return NOTE if hint is NoteId or field == "id" else SECRET


def planted_in(struct: Any) -> Any:
    hints = get_type_hints(struct, include_extras=True)
    values = {name: planted(hints[name], tag, name) for name, tag in TAGS[struct].items()}
    if struct is c.TemporaryTabClosed:
        values["tab_id"] = None
    return struct(**values)


@pytest.mark.parametrize("name", sorted(CATALOGUE.keys() - IN_TEXTS))
def test_the_fields_of_every_event_name_its_notes(name: str) -> None:
    names = of_fields(planted_in(CATALOGUE[name].data))
    is_folder = any(SECRET in each for each in names.perhaps)
    assert (NOTE in names.every or is_folder) != (name in NAMELESS)


def test_a_file_beside_the_vaults_is_no_note_of_theirs() -> None:
    assert of_fields(c.MemoryWritten(NoteId("/memories/a.md"), "create", "agent")) == NoteNames()


def test_an_attachment_names_its_note_and_a_part_of_one_too() -> None:
    attached = c.Attachment("selected_text", "Plan.md#3-7")
    assert "Plan.md" in of_fields(attached).notes
    assert of_fields(c.Attachment("url", "https://example.org/Plan.md")) == NoteNames()


# -- calls --


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    names = f"title: {SECRET} title\naliases: [{SECRET} alias]"
    text = f"---\n{names}\n---\n# {SECRET}\n\nzebra [[a]] {SECRET} text\n"
    made = World(tmp_path, {NOTE: text, "a.md": "# A\n\nzebra\n", "b.md": "# B\n"})
    yield made
    made.close()


def called(world: World, tool: str, **arguments: Any) -> Event:
    """A call that is recorded with its answer."""
    answer = world.call(tool, **arguments)
    world.blobs[sha256(answer).hexdigest()] = answer
    return world.events.all[world.flush()[-1] - 1]


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_workspace_context", {}),
    ("get_current_note", {"includeLinks": True}),
    ("get_note_by_reference", {"reference": NOTE}),
    ("get_note_by_reference", {"reference": f"[[{SECRET} title]]"}),
    ("get_note_by_reference", {"reference": f"{SECRET} alias"}),
    ("search_workspace", {"query": "zebra"}),
    ("get_related_notes", {"reference": "a.md"}),
    ("get_navigation_history", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=[tool for tool, _ in CALLS])
def test_a_call_names_the_notes_that_it_shows(world: World, tool: str, arguments: dict[str, Any]) -> None:
    world.append(c.ActiveNoteSet(NOTE))
    assert NOTE in of_call(called(world, tool, **arguments).data, world.blobs.get).notes


def test_a_call_names_no_note_that_it_does_not_show(world: World) -> None:
    world.append(c.ActiveNoteSet(NoteId("a.md")))
    for tool, arguments in (
        ("get_current_note", {}),
        ("get_note_by_reference", {"reference": "b"}),
        ("get_workspace_context", {"includeContent": True}),
        ("search_workspace", {"query": "nothing like it"}),
        ("get_note_diff", {"reference": "b.md", "since": 2}),
        ("get_context_manifest", {}),
    ):
        names = of_call(called(world, tool, **arguments).data, world.blobs.get)
        assert names.notes <= {"a.md", "b.md"} and NOTE not in names.perhaps, tool


@pytest.mark.parametrize("field", ["inputs_sha256", "result_sha256"])
def test_of_a_call_that_is_not_kept_nothing_is_known(world: World, field: str) -> None:
    event = called(world, "get_note_by_reference", reference="a.md")
    del world.blobs[getattr(event.data, field)]
    with pytest.raises(NotKnown):
        of_call(event.data, world.blobs.get)


def test_a_name_that_nothing_was_found_for_may_be_that_of_any_note(world: World) -> None:
    with pytest.raises(NotKnown):
        of_call(called(world, "get_note_by_reference", reference="My diary").data, world.blobs.get)


# -- prompts and messages --


def prompt_about(world: World, *notes: str, **settings: Any) -> tuple[NotesTalk, c.PromptAssembled]:
    """A prompt in whose earlier turns stand the first notes, and in whose own turn the last one."""
    talk = NotesTalk(world, **settings)
    for note in notes[:-1]:
        talk.turn("So?", note)
    for note in notes[:-1]:
        world.write(note, (world.folder / note).read_text() + f"\nOne line more in {note}.\n")
    talk.say("And now?", notes[-1])
    talk.prompt()
    prompt: c.PromptAssembled = world.events.all[-1].data
    return talk, prompt


def names_of(talk: NotesTalk, prompt: c.PromptAssembled) -> NoteNames:
    return of_prompt(prompt, talk.now.messages.values(), talk.texts)


@pytest.mark.parametrize("promotion", ["each_turn", "at_fold"], ids=["library", "transcript"])
@pytest.mark.parametrize("order", [("a.md", NOTE), (NOTE, "a.md"), (NOTE, "b.md", "a.md")])
def test_a_prompt_names_the_notes_of_its_turns(world: World, order: tuple[str, ...], promotion: str) -> None:
    names = names_of(*prompt_about(world, *order, promotion=promotion))
    assert names.notes == set(order)


def test_of_a_prompt_that_is_not_kept_nothing_is_known(world: World) -> None:
    talk, prompt = prompt_about(world, "a.md")
    del world.blobs[prompt.manifest_sha256]
    with pytest.raises(NotKnown):
        names_of(talk, prompt)


def told_by_tools(**texts: str) -> tuple[Message, Callable[[str], str]]:
    """A message in which a tool was called and answered; and the texts."""
    message = Message(
        MessageId("m"),
        "user",
        seq=1,
        at="2026-01-01T00:00:00Z",
        tool_calls=(c.ToolCall("c1", "get", "asked"),),
        tool_results=(c.ToolResult("c1", "get", "answered"),),
    )

    def text_of(name: str) -> str:
        if name not in texts:
            raise NotRecorded(name)
        return texts[name]

    return message, text_of


def test_what_tools_were_asked_and_answered_in_a_message_may_name_notes() -> None:
    message, texts = told_by_tools(asked=json.dumps({"reference": SECRET}), answered="Plan.md")
    names = of_tools(message, texts)
    assert not names.notes and {NOTE, "Plan.md"} <= names.perhaps


def test_a_prompt_names_what_tools_told_in_its_messages(world: World) -> None:
    talk, prompt = prompt_about(world, "a.md")
    message, texts = told_by_tools(asked="{}", answered=json.dumps({"path": NOTE}))

    def either(name: str) -> str:
        return texts(name) if name in ("asked", "answered") else talk.texts(name)

    assert NOTE in of_prompt(prompt, [*talk.now.messages.values(), message], either).perhaps
    assert NOTE not in names_of(talk, prompt).every


def test_of_a_message_whose_texts_are_not_kept_nothing_is_known() -> None:
    message, texts = told_by_tools(asked="{}")
    with pytest.raises(NotKnown):
        of_tools(message, texts)


@pytest.mark.parametrize(
    ("value", "certain", "perhaps"),
    [
        ("[[Plan|the plan]]", set(), {"Plan.md"}),
        ("![[Plan.md#Aims]]", {"Plan.md"}, set()),
        ({"id": "Plan", "title": "The plan", "path": "Plan"}, {"Plan"}, {"Plan.md"}),
        ({"Plan.md": 1}, {"Plan.md"}, set()),
        ("two\nlines.md", set(), set()),
        ("../Plan.md", set(), set()),
        ([None, 1, True, ""], set(), set()),
    ],
)
def test_any_text_of_json_that_may_be_a_path_counts(value: Any, certain: set[str], perhaps: set[str]) -> None:
    names = in_json(value)
    assert certain <= names.notes and perhaps <= names.perhaps
    if not certain | perhaps:
        assert names == NoteNames()
