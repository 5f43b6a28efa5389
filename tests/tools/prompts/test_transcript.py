"""Transcripts without a vault: what a turn says of what stands above, and what a compaction leaves."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import conversation as w
from support.profiles import examples

from workspaced_events.ids import MessageId, NoteId
from workspaced_events.schema import catalogue as c
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.model.types import Envelope, Policy, Provided

LONG = "".join(f"Line {number} of the note.\n" for number in range(80))


class Talk(w.Talk):
    """A conversation whose prompts are transcripts."""

    def ask_tool(self, arguments: str, found: str = "found", answer: str = "!") -> None:
        """A call, its result and an answer."""
        self._add("assistant", "", "", tool_calls=(c.ToolCall("call", "look", self.keep(arguments)),))
        self._add("user", "", "", tool_results=(c.ToolResult("call", "look", self.keep(found)),))
        self.answer(answer)


@pytest.fixture
def talk() -> Talk:
    return Talk()


def whole(envelope: Envelope) -> str:
    return "\n\n".join(block.text or "" for message in envelope.messages for block in message.content)


def sent_again(before: Envelope, after: Envelope) -> bool:
    """Whether a prompt begins with all blocks of the one before."""
    one = [(message.role, block) for message in before.messages for block in message.content]
    two = [(message.role, block) for message in after.messages for block in message.content]
    return two[: len(one)] == one


def test_what_is_kept_of_a_turn_is_made_again_where_a_part_of_it_is_withheld(talk: Talk) -> None:
    """For what else happens between two prompts: the random conversations."""
    talk.ask("One?", talk.read("a.md", LONG))
    talk.ask("Two?")
    left = c.LeftOut(MessageId("m1"), "note", "a.md", "withheld")
    talk.tell(c.ContextFolded(conversation=w.ID, reason="withheld", library=(), left_out=(left,)))
    turn = talk.turn(talk.say("Three?"), talk.read("a.md", LONG))
    fresh = assemble(talk.now, turn, talk.texts)
    assert assemble(talk.now, turn, talk.texts, talk.kept) == fresh


# -- what a turn says --


LINES = ["cost: 100", "- a.md", "-- b.md", "@@ -1,1 +1,1 @@"]
CHANGES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 1), st.sampled_from([[], ["cost: 999"], ["- a.md"]])),
    min_size=1,
    max_size=2,
)
"""At which line, how many leave, which come."""


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(LINES), min_size=8, max_size=8), CHANGES, CHANGES)
@example(["Kitchen", *LINES[:1] * 6, "Bath"], [(1, 1, ["cost: 999"])], [(5, 1, ["cost: 999"])])
@pytest.mark.parametrize("kind", ["text", "note", "workspace", "folder"])
def test_two_changes_of_a_pin_never_read_alike(kind: Any, lines: list[str], first: Any, second: Any) -> None:
    before = [*lines, *(f"Line {number} of a pin." for number in range(20))]

    def changed(changes: Any) -> tuple[str, str]:
        talk, after = Talk(), list(before)
        for at, leave, come in changes:
            after[at : at + leave] = come
        for text in ("\n".join(before), "\n".join(after)):
            said = w.user_text(talk.ask("?", provided=(talk.provided("here", text, kind),)))
        return "\n".join(after), said

    (one, said), (two, also_said) = changed(first), changed(second)
    assert (said == also_said) == (one == two)


def test_a_change_in_a_pinned_note_says_where(talk: Talk) -> None:
    def ask(kitchen: int, bath: int, path: str = "work/plan.md") -> str:
        rooms = [f"## {room}\n\ncost: {cost}\nsize: 12\n" for room, cost in (("Kitchen", kitchen), ("Bath", bath))]
        pin = Provided("plan", "note", talk.keep("# Plan\n\n" + LONG + "".join(rooms)), notes=(NoteId(path),))
        return w.user_text(talk.ask("?", provided=(pin,)))

    assert "<path>work/plan.md</path>" in ask(100, 100)
    said = ask(100, 999)
    assert "<path>work/plan.md</path>" in said and "\n ## Bath\n \n-cost: 100\n+cost: 999\n" in said
    assert "Line 40 of" not in said and "Kitchen" not in said
    assert ask(100, 999) == "?"
    moved = ask(100, 999, "home/plan.md")
    assert "<path>home/plan.md</path>" in moved and "<replaces_earlier>" in moved and "Line 40 of" in moved
    assert ask(100, 999, "home/plan.md") == "?"
    assert w.user_text(talk.ask("?")).startswith("[No longer pinned: plan]")
    assert w.user_text(talk.ask("?")) == "?"


def test_a_change_of_a_workspace_says_in_which_list(talk: Talk) -> None:
    def ask(active: str, pins: list[str], tabs: list[str]) -> str:
        lists = {"Active note:": [active], "Pinned notes:": pins, "Open tabs:": tabs}
        lines = [
            line for head, notes in lists.items() if notes for line in (head, *(f"- {note}" for note in notes))
        ]
        return w.user_text(talk.ask("?", provided=(talk.provided("here", "\n".join(lines), "workspace"),)))

    pins, tabs = [f"work/{number}.md" for number in range(20)], [f"home/{number}.md" for number in range(20)]
    ask("a.md", pins, tabs)
    said = ask("a.md", [*pins, tabs[19]], tabs[:19])
    assert "\n@@ -23,0 +24,1 @@ Pinned notes:\n+- home/19.md\n" in said
    assert "\n@@ -44,1 +44,0 @@ Open tabs:\n-- home/19.md\n</" in said
    assert "replaces_earlier" not in said and "work/" not in said
    assert "\n@@ -2,1 +2,1 @@ Active note:\n-- a.md\n+- b.md\n</" in ask("b.md", [*pins, tabs[19]], tabs[:19])
    few = ask("b.md", [], ["c.md"])
    assert "<replaces_earlier>" in few and "\nActive note:\n- b.md\nOpen tabs:\n- c.md\n" in few


# -- compactions --


def test_a_fold_keeps_the_notes_of_the_last_turns_in_their_newest_version() -> None:
    talk = Talk(window=6_000)
    for number in range(40):
        envelope = talk.ask(f"Question {number}?", talk.read(f"n{number}.md", f"Note {number}. {LONG}"))
        if talk.last.compacted is not None:
            break
    fold, sent = talk.last.compacted, whole(envelope)
    assert fold is not None and fold.reason == "budget" and fold.up_to is not None
    turns = [each for each in talk.now.messages.values() if each.role == "user"]
    numbers = range(max(0, len(turns) - 3), len(turns))
    assert all(f"Note {number}. Line 0" in sent for number in numbers)
    assert talk.now.library and envelope.estimate <= 6_000 * 0.6
    after = talk.ask("And then?")
    assert sent_again(envelope, after) and talk.last.compacted is None


def test_rounds_of_tools_in_one_turn_are_shortened_before_it_is_refused() -> None:
    talk = Talk(window=3_000)
    asked = talk.say("Look it all up.")
    talk.prompt(asked)
    for number in range(12):
        talk.answer("", f"call-{number}")
        envelope = talk.go_on(talk.results(f"call-{number}", text="row " * 300), asked)
    assert "[tool result elided - " in whole(envelope) and "found" not in whole(envelope)
    assert envelope.estimate <= 3_000


def test_a_fold_takes_all_images_but_those_of_the_last_turn(talk: Talk) -> None:
    def images(envelope: Envelope) -> list[str | None]:
        return [block.blob for message in envelope.messages for block in message.content if block.type == "image"]

    one, two = (talk.read(f"{name}.png", name, kind="image", media_type="image/png") for name in ("one", "two"))
    talk.ask("One?", one)
    assert images(talk.ask("Two?", two)) == [one.revision, two.revision]
    assert images(talk.ask("Three?", rebase=True)) == [two.revision]
    assert images(talk.ask("Four?", rebase=True)) == []


@pytest.mark.parametrize(
    ("uses", "stays"),
    [
        (lambda talk: talk.pin("plan", "note", path=NoteId("a.md")), True),
        (lambda talk: talk.answer("It says so in a.md, as you know."), True),
        (lambda talk: talk.answer("It says so in [[a|the plan]]."), True),
        (lambda talk: talk.answer("It says so in [it](<a.md>)."), True),
        (lambda talk: talk.ask_tool('{"reference": "a"}'), True),
        (lambda talk: talk.ask_tool('{"notes": [{"path": "\\u0061.md"}]}'), True),
        (lambda talk: talk.ask_tool('{"reference": "ba.md"}', "a.md"), False),
        (lambda talk: talk.answer("Nothing of a note, and banana.md is none."), False),
    ],
)
def test_a_note_that_is_pinned_or_that_the_assistant_read_or_named_counts_as_used(uses: Any, stays: bool) -> None:
    talk = Talk()
    talk.policy = Policy(used_within_turns=1)
    talk.ask("One?", talk.read("a.md", LONG))
    talk.answer()
    talk.ask("Two?")
    uses(talk)
    talk.ask("Three?", rebase=True)
    assert ("Line 7 of" in whole(talk.last.envelope)) == stays


def test_that_a_tool_failed_reaches_the_model_wherever_its_result_stands(chat: Any) -> None:
    chat.say("Which?")
    chat.answer(None, "call-1")
    chat.results(("call-1", "It broke."), is_error=True)
    now = chat.prompt()
    chat.answer()
    later = chat.turn("And now?")
    for made, layer in ((now, "L3_TURN"), (later, "L4_STRIP")):
        assert [b.is_error for m in made.envelope.messages for b in m.content if b.type == "toolResult"] == [True]
        assert "[toolResult look_up call-1 error]" in w.layer_text(made, layer)
        assert "It broke." in w.whole(made)
