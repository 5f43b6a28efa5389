"""What the daemon says to put into requests where test_chats.py does not look: windows, attachments, what left."""

from typing import Any

import pytest
from support.overlaid_runtime import Runtime, looking_at, looks_at

NOTES = {"a.md": "# A\n\nAlpha.\n", "b.md": "# B\n\nBeta.\n", "c.md": "# C\n\nGamma.\n"}


def told_in_turns(chat: Runtime, *turns: tuple[str, str]) -> None:
    """The user looks at a note, and says words; the same answer each time."""
    for note, words in turns:
        looks_at(chat.daemon, note)
        chat.asks(words)


def test_where_nothing_changed_nothing_is_said_again(running: Any) -> None:
    chat = Runtime(running)
    first = chat.asks("One?")
    assert chat.asks("Two?") == first
    looks_at(running, "b.md")
    third = chat.asks("Three?")
    assert third[:1] == first and looking_at(third) == ["a.md", "b.md"]


# -- a window without the first words --


@pytest.fixture
def slid(running: Any) -> Runtime:
    """A chat whose next turns have the same words and the same answer before."""
    chat = Runtime(running, name="one")
    told_in_turns(chat, ("a.md", "Begin."), ("b.md", "Go on."), ("c.md", "Go on."))
    chat.messages = chat.messages[1:]
    return chat


def test_turns_that_are_alike_keep_their_own_texts_and_a_new_one_like_them_leaves_them(slid: Runtime) -> None:
    assert looking_at(slid.asks("And?")) == ["b.md", "c.md"]
    looks_at(slid.daemon, "a.md")
    assert looking_at(slid.asks("Go on.")) == ["b.md", "c.md", "a.md"]


def test_a_chat_with_the_name_of_another_is_told_all_where_a_turn_is_like_one_there(running: Any) -> None:
    one, other = Runtime(running, name="person"), Runtime(running, name="person")
    first = one.asks("Begin.")
    told_in_turns(one, ("b.md", "Go on."))
    looks_at(running, "c.md")
    other.messages = [{"role": "user", "content": "Else."}, {"role": "assistant", "content": "So."}]
    (told_other,) = other.asks("Go on.")
    assert "\nvault: " in told_other and looking_at([told_other]) == ["c.md"]
    assert one.asks("And?")[:1] == first


# -- attachments --


def test_of_an_attachment_without_a_text_that_is_said_once(running: Any) -> None:
    (running.vault / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    chat, attached = Runtime(running), ("b.md", "no such.md", "photo.png")
    first = chat.asks("One?", *attached)
    assert "\ntext of b.md:\n" in first[0] and "\nnot found, or no text: no such.md, photo.png\n" in first[0]
    assert chat.asks("Two?", *attached) == first
    (running.vault / "no such.md").write_text("Here.\n")
    (running.vault / "b.md").unlink()
    third = chat.asks("Three?", *attached)
    assert third[:1] == first and "\ntext of no such.md:\n| Here." in third[1]
    assert "\nnot found, or no text: b.md\n" in third[1]


def test_that_an_attachment_has_no_text_is_said_again_once_it_stands_nowhere(running: Any) -> None:
    chat = Runtime(running)
    said = []
    for number in range(4):
        said.append("".join(chat.asks(f"And {number}?", "no such.md")).count("no such.md"))
        looks_at(running, "b.md")
        if number == 1:  # the first text is withdrawn, for it names this note; the second one stands
            (running.vault / "a.md").write_text("---\nworkspaced: false\n---\n")
    assert said == [1] * 4
