"""Whole conversations, each turn of which is held against the specification (support/checked_conversation.py).

At the end of each the daemon is killed, the vault deleted, and all prompts are made again.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support import checked_conversation as t
from support import images

note, active, gone, given = t.g.note, t.g.active, t.g.gone, t.g.given
Call, layer = t.g.Call, t.g.layer

Begin = Callable[..., Any]
LONG = "Words that take room. " * 400
PIXEL = f"data:image/png;base64,{b64encode(images.png()).decode()}"


@pytest.fixture
def talk(daemon: Any) -> Begin:
    """talk(notes, **settings) -> a conversation with a daemon of its own."""

    def begin(notes: dict[str, str], *flags: str, **settings: Any) -> Any:
        return t.Talk(daemon(*flags, notes=notes), **settings)

    return begin


PROMOTIONS = pytest.mark.parametrize("promotion", ["at_fold", "each_turn"])


@PROMOTIONS
def test_a_note_attached_again_is_referred_to_and_its_text_stands_above_once(talk: Begin, promotion: str) -> None:
    notes = {"a.md": "First words.\n", "b.md": "Second words.\n", "deep/c.md": "Third words.\n"}
    chat = talk(notes, promotion=promotion)
    page = given("url", "https://example.org/?a=1&b=2", "Words of a page.", title="A page")
    chat.turn("One?", note("a.md"))
    chat.turn("Two?", note("a.md"), note("b.md"))
    chat.turn("Three?", note("a.md"))
    chat.turn("Nothing attached?")
    chat.turn("Five?", note("b.md"), page, note("deep/c.md"), note("a.md"))
    chat.restart()
    chat.turn("Six?", page, note("deep/c.md"))
    chat.turn("By other names?", note("a", "a.md"), note("c", "deep/c.md"))
    libraries = [layer(each, "L2_PREVIOUS")["text"].count("words.") for each in chat.prompts]
    if promotion == "at_fold":
        assert libraries == [0] * 7 and chat.folds == []
    else:
        assert libraries == [0, 1, 2, 2, 2, 3, 3] and set(chat.folds) == {"each_turn"}
    whole = Counter(block["text"].count("words.") for _, block in t.r.sequence(chat.prompts[-1]["messages"]))
    assert sum(times * count for times, count in whole.items()) == 3, "each text stands once"
    chat.finish()


@pytest.mark.thorough
@PROMOTIONS
def test_an_edited_note_is_shown_as_it_is_now_in_every_turn(talk: Begin, promotion: str) -> None:
    chat = talk({"a.md": "It is red.\n", "b.md": LONG}, promotion=promotion)
    chat.turn("What is it?", note("a.md"), note("b.md"))
    chat.write("a.md", "It is tan.\n")
    chat.turn("And now?", note("a.md"))
    chat.turn("And now again?", note("a.md"), note("b.md"))
    chat.write("a.md", "It is as long as it never was before.\n")
    chat.restart()
    chat.turn("After a crash?", note("a.md"))
    chat.write("a.md", "It is red.\n")
    chat.turn("As it was at first?", note("a.md"))
    chat.write("a.md", "")
    chat.turn("Without a word?", note("a.md"))
    chat.turn("Not attached?")
    (chat.running.vault / "a.md").unlink()
    chat.turn("Deleted?", gone("a.md"), note("b.md"))
    chat.turn("Still deleted, and not attached?")
    chat.write("a.md", "It is back.\n")
    chat.turn("Back?", note("a.md"))
    assert set(chat.folds) <= {promotion}
    chat.finish()


def test_the_active_note_is_told_apart_in_every_turn(talk: Begin) -> None:
    notes = {"a.md": "Alpha.\n", "b.md": "Beta.\n", "c.md": LONG, "i.md": "![[x.png]]\nWith an image.\n"}
    chat = talk(notes)
    chat.look_at("a.md")
    chat.turn("This?", note("c.md"), active("a.md"))
    chat.turn("Still this?", active("a.md"))
    chat.look_at("b.md")
    chat.turn("Now that?", note("a.md"), active("b.md"))
    chat.restart()
    chat.turn("After a crash?", active("b.md"), note("b.md"), note("a", "a.md"))
    chat.write("b.md", "Beta, edited.\n")
    chat.turn("Edited?", active("b.md"), note("c.md"))
    chat.look_at("i.md")
    chat.turn("With an image?", active("i.md", stays=False, besides="[Image unavailable: x.png]"))
    chat.turn("Which is given?", given("image", "x.png", PIXEL, stays=False), note("b.md"))
    chat.turn("Both?", active("i.md", stays=False), given("image", "y.png", PIXEL, stays=False))
    chat.move("a.md", "z.md")
    chat.look_at("z.md")
    chat.turn("Moved?", active("z.md"))
    chat.turn("The moved one again?", active("z.md"), note("c.md"))
    chat.turn("Not attached?", note("c.md"))
    chat.turn("Still not?")
    chat.turn("The moved one, for the third time?", active("z.md"))
    chat.finish()


def test_what_failed_is_told_to_the_model_in_every_turn(talk: Begin) -> None:
    chat = talk(
        {"a.md": "Alpha.\n", "b.md": "Beta.\n", "diary.md": "---\nworkspaced: private\n---\nCanary.\n"},
        "--no-watch",
    )
    chat.pin("plan", "note", "[Pinned context unavailable: plan]", path="nowhere.md")
    picture = t.g.Given(
        {"kind": "image", "id": "shot.png", "text": "no data URI"},
        "shot.png",
        stays=False,
        fails="[Image unavailable: shot.png]",
    )
    page = t.g.Given(
        {"kind": "url", "id": "https://example.org/"},
        "https://example.org/",
        stays=False,
        fails="[Attachment unavailable: https://example.org/]",
    )
    chat.turn("One?", gone("lost.md"), note("a.md"), picture)
    chat.ask("Two?", gone("diary.md"), page)
    chat.round(
        Call("call-1", "No such table: people", is_error=True), Call("call-2", "Three rows."), text="I look."
    )
    chat.round(Call("call-3", "?", is_error=True))
    chat.answer("It failed.")
    (chat.running.vault / "a.md").unlink()
    chat.turn("Three?", gone("a.md"), gone("lost.md"))
    chat.write("lost.md", "Found again.\n")
    chat.write("nowhere.md", "A plan.\n")
    chat.pins["plan"] = "A plan.\n"
    chat.turn("Four?", note("lost.md"), gone("diary.md"))
    chat.restart()
    chat.turn("Five?", note("lost.md"), gone("a.md"))
    assert not any("Canary" in str(prompt) for prompt in chat.prompts)
    chat.finish()
