"""The notes that a loaded chat names, found in a real vault: by path, former path, file name; never guessed."""

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from workspaced_tools.chats.model import Chat, ReadChat, SavedAttachment, SavedMessage
from workspaced_tools.chats.note_lookup import looked_up

MakeWorld = Callable[..., Any]
NOTES = {
    "a.md": "# Alpha\n",
    "x/b.md": "# Beta\n",
    "x/many.md": "# One\n",
    "y/many.md": "# Two\n",
    "z/Many.md": "# Three\n",
    "y/b, c | d].md": "# Comma\n",
    "y/plan.md": "# Plan\n",
    "y/plan #2.md": "# Second\n",
    "y/titled.md": "# lone\n",
    "y/e\u0301.md": "# Accent\n",
}
PRIVATE = "---\nworkspaced: private\n---\n# Diary\n"


def chat(*names: str | SavedAttachment) -> ReadChat:
    """One message a name, each on a line of its own."""
    attached = [SavedAttachment("note", name) if isinstance(name, str) else name for name in names]
    messages = tuple(SavedMessage("user", text="x", attachments=(each,)) for each in attached)
    return ReadChat(Chat(messages=messages), tuple(range(10, 10 + len(messages))))


def ids(read: ReadChat) -> list[str | None]:
    return [message.attachments[0].id if message.attachments else None for message in read.chat.messages]


def told(read: ReadChat) -> list[tuple[int, str, tuple[str, ...]]]:
    return [(each.line, each.code, each.candidates) for each in read.warnings]


def find(world: Any, *names: str | SavedAttachment) -> ReadChat:
    return looked_up(chat(*names), world.view())


@pytest.fixture
def world(make_world: MakeWorld) -> Any:
    return make_world(NOTES)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("a.md", "a.md"),
        ("a", "a.md"),
        ("x/b.md", "x/b.md"),
        ("x/b", "x/b.md"),
        ("b", "x/b.md"),
        ("b.md", "x/b.md"),
        ("B.MD", "x/b.md"),
        ("x/many.md", "x/many.md"),
        ("Many", "z/Many.md"),
        ("b, c | d].md", "y/b, c | d].md"),
        ("plan #2", "y/plan #2.md"),
        ("plan", "y/plan.md"),
        ("\u00e9", "y/e\u0301.md"),
    ],
)
def test_a_note_is_found_by_path_or_by_its_file_name_with_or_without_md(world: Any, name: str, note: str) -> None:
    read = find(world, name)
    assert [_nfc(each) for each in ids(read)] == [_nfc(note)]
    assert read.warnings == ()


def _nfc(text: str | None) -> str:
    assert text is not None
    return unicodedata.normalize("NFC", text)


def test_a_moved_note_is_found_by_its_former_path_before_its_file_name(make_world: MakeWorld) -> None:
    world = make_world(NOTES, former={"old/many.md": "y/many.md", "gone.md": "deleted.md"})
    read = find(world, "old/many.md", "old/many", "gone.md")
    assert ids(read) == ["y/many.md", "y/many.md", None]
    assert [(line, code) for line, code, _ in told(read)] == [(12, "NOTE_NOT_FOUND")]


def test_a_path_that_only_the_file_name_still_tells_is_found_and_said(world: Any) -> None:
    read = find(world, "q/b.md")
    assert ids(read) == ["x/b.md"] and told(read) == [(10, "FOUND_ELSEWHERE", ("x/b.md",))]


def test_a_name_of_several_notes_is_left_out_with_all_of_them_sorted(make_world: MakeWorld) -> None:
    every = tuple(f"f{number:03}/same.md" for number in range(250))
    world = make_world(dict.fromkeys(every, "# Same\n") | {"same/0/other.md": "x\n"})
    read = find(world, "Same", "old/same.md")
    assert ids(read) == [None, None]
    assert told(read) == [(10, "NOTE_AMBIGUOUS", every), (11, "NOTE_AMBIGUOUS", every)]


def test_a_note_at_the_root_does_not_stand_for_one_of_the_same_name_in_another_folder(
    make_world: MakeWorld,
) -> None:
    world = make_world({"b.md": "# B\n", "x/b.md": "# B\n"})
    read = find(world, "q/b.md", "b")
    assert ids(read) == [None, "b.md"] and told(read) == [(10, "NOTE_AMBIGUOUS", ("b.md", "x/b.md"))]


def test_a_title_or_a_part_of_a_name_is_no_file_name_but_is_told_as_near(world: Any) -> None:
    read = find(world, "lone", "nothing like it.md", "missing#2.md", "plan #3.md", "[[a]]")
    assert ids(read) == [None] * 5
    assert [(line, code) for line, code, _ in told(read)] == [(line, "NOTE_NOT_FOUND") for line in range(10, 15)]
    assert told(read)[0][2] == ("y/titled.md",)


@pytest.mark.parametrize("name", ["../b.md", "/home/x/b.md", "x/../b.md", "b\0.md", "#", "   ", "a" * 3_000])
def test_what_is_no_path_in_the_vault_is_left_out(world: Any, name: str) -> None:
    read = find(world, name)
    assert ids(read) == [None] and [code for _, code, _ in told(read)] == ["NOTE_NOT_FOUND"]


def test_everything_else_stays_and_a_missing_folder_is_told(world: Any) -> None:
    given = [
        SavedAttachment("folder", "x"),
        SavedAttachment("folder", "nowhere/"),
        SavedAttachment("folder", "/"),
        SavedAttachment("tag", "none"),
        SavedAttachment("url", "https://example.org/b.md"),
        SavedAttachment("selected_text", "gone.md#L1-L2", text="words"),
        SavedAttachment("file", "gone.md", text="words"),
        SavedAttachment("active_note"),
        SavedAttachment("active_note", "b", title="Beta"),
    ]
    read = looked_up(chat(*given), world.view())
    assert [message.attachments for message in read.chat.messages] == [
        *((each,) for each in given[:-1]),
        (SavedAttachment("active_note", "x/b.md", title="Beta"),),
    ]
    assert told(read) == [(11, "FOLDER_NOT_FOUND", ())]


def test_a_withheld_note_is_as_one_that_is_not_there(make_world: MakeWorld) -> None:
    names = ("diary.md", "old.md", "diary", "q/diary.md", "secret/plan.md", "secret/plan", "many")
    former = {"old.md": "diary.md"}
    without = make_world(NOTES, former={}, deny=["secret/"])
    having = make_world(
        {**NOTES, "diary.md": PRIVATE, "secret/plan.md": "# Plan\n", "q/many.md": PRIVATE},
        former=former,
        deny=["secret/"],
    )
    assert find(having, *names) == find(without, *names)
    assert None in ids(find(having, *names))


def test_a_client_that_is_shown_names_finds_notes(make_world: MakeWorld) -> None:
    world = make_world(NOTES, level="names", former={"old.md": "a.md"})
    read = find(world, "b", "old.md", "many")
    assert ids(read) == ["x/b.md", "a.md", None]
    assert told(read) == [(12, "NOTE_AMBIGUOUS", ("x/many.md", "y/many.md"))]


def test_without_a_vault_all_stays_and_that_is_said_once(make_world: MakeWorld) -> None:
    read = find(make_world(None), "a.md", "b.md")
    assert ids(read) == ["a.md", "b.md"] and told(read) == [(1, "NO_ACTIVE_VAULT", ())]
    assert looked_up(chat(SavedAttachment("url", "u")), make_world(None).view()).warnings == ()
