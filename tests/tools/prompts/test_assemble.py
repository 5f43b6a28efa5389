"""Whole prompts: what the model is sent, what stays from turn to turn, and that the same gives the same bytes."""

import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support import TESTS
from support.conversation import ID, MTIME, Talk, entry, layer, library_ids, system_of, user_text
from support.profiles import examples

from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.projections.conversations import library_of, turn_of
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import ArgumentInvalid, BudgetExceeded, NotRecorded
from workspaced_tools.prompts.assembly import layers
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.assembly.messages import NO_TEXT
from workspaced_tools.prompts.model.blocks import LIBRARY_FRAME, REPLACES
from workspaced_tools.prompts.model.types import Artifact, Block, Envelope, Provided

# -- what the model is sent --


def test_the_library_is_nothing_then_a_then_a_and_b_while_a_is_only_referred_to() -> None:
    chat = Talk()
    a, b = chat.read("a.md", "Text of A."), chat.read("b.md", "Text of B.")
    first, second, third = chat.ask("1", a), chat.ask("2", a, b), chat.ask("3", a)
    assert [library_ids(each) for each in (first, second, third)] == [[], ["a.md"], ["a.md", "b.md"]]
    assert (
        user_text(third)
        == """\
Context attached to this message:
- a.md
Find them in the Context Library in the system prompt above.

---

[User query]:

3"""
    )
    assert (
        system_of(third)
        == f"""\
You help.

## Context Library

The following notes are available for reference:

<note_context>
<title>a</title>
<path>a.md</path>
<mtime>{MTIME}</mtime>
<content>
Text of A.
</content>
</note_context>

<note_context>
<title>b</title>
<path>b.md</path>
<mtime>{MTIME}</mtime>
<content>
Text of B.
</content>
</note_context>"""
    )


def test_without_context_the_users_words_stand_alone_and_trimmed() -> None:
    chat = Talk()
    assert user_text(chat.ask(" \n\ufeffHow so?\x1c\t\r\n")) == "\ufeffHow so?\x1c"


def test_context_without_words_has_no_label() -> None:
    chat = Talk()
    text = user_text(chat.prompt(chat.say(""), chat.read("a.md", "A.")))
    assert text.startswith("<note_context>") and text.endswith("</note_context>")


def test_an_empty_first_layer_still_delivers_the_library() -> None:
    chat = Talk(system="")
    chat.ask("1", chat.read("a.md", "A."))
    second = chat.ask("2", chat.read("a.md", "A."))
    assert system_of(second).startswith(LIBRARY_FRAME + "\n\n<note_context>")
    assert "- a.md\n" in user_text(second)


def test_tools_results_come_first_then_references_then_what_is_new_then_the_active_note_then_what_is_missing() -> (
    None
):
    chat = Talk()
    chat.ask("1", chat.read("old.md", "Old."))
    turn = chat.ask(
        "2",
        Artifact("note", "gone.md", "", failed="NOTE_NOT_FOUND"),
        chat.read("active.md", "Active.", kind="active_note"),
        chat.read("new.md", "New."),
        chat.read("old.md", "Old."),
        chat.read("1", "Found.", kind="tool_result", title="web_search"),
        chat.read("x.png", "bytes", kind="image", media_type="image/png"),
        Artifact("image", "y.png", "y.png", failed="IMAGE_NOT_READ"),
        provided=(chat.provided("p", "Pinned."), Provided("q", "note", failed="NOTE_NOT_FOUND")),
    )
    [*_, message] = turn.messages
    assert [block.type for block in message.content] == ["text", "text", "text", "image"]
    pinned, broken, text, image = message.content
    assert pinned.text == (
        "<pinned_context>\n<title>p</title>\n<source>text</source>\n<content>\nPinned.\n</content>\n</pinned_context>"
    )
    assert broken.text == "[Pinned context unavailable: q]"
    assert image == Block("image", blob=chat.keep("bytes"), media_type="image/png")
    marks = [
        "# Additional context:\n\n<web_search>",
        "Context attached to this message:",
        "<path>new.md",
        "<active_note>",
        "[Attachment unavailable: gone.md]\n\n[Image unavailable: y.png]\n\n---\n\n[User query]:\n\n2",
    ]
    assert text.text is not None and text.text.startswith(marks[0]) and text.text.endswith(marks[-1])
    places = [text.text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_an_empty_file_is_an_empty_file() -> None:
    chat = Talk()
    turn = chat.ask("1", chat.read("empty.md", ""))
    assert "<content>\n\n</content>" in user_text(turn) and entry(turn, "empty.md").state == "full"
    assert library_ids(chat.ask("2")) == ["empty.md"]


def test_bytes_that_are_no_image_are_called_unavailable() -> None:
    chat = Talk()
    turn = chat.ask("1", chat.read("x.pdf", "%PDF", kind="pdf", media_type="application/pdf"))
    assert "[Attachment unavailable: x.pdf]" in user_text(turn)
    assert entry(turn, "x.pdf").detail == NO_TEXT


def test_a_turns_context_is_not_in_the_history() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "Text."), provided=(chat.provided("p", "Pinned."),))
    later = chat.ask("2")
    assert [m.content for m in later.messages[1:]] == [
        (Block("text", "1"),),
        (Block("text", "!"),),
        (Block("text", "2"),),
    ]


def test_a_summary_stands_before_what_it_does_not_tell() -> None:
    chat = Talk()
    chat.ask("1")
    up_to = list(chat.now.messages)[-1]
    chat.ask("2")
    chat.tell(c.SummarySet(conversation=ID, text_sha256=chat.keep("</conversation_summary> Said 1."), up_to=up_to))
    turn = chat.ask("3")
    summary = turn.messages[1].content[0].text
    assert summary is not None and summary.count("</conversation_summary>") == 1 and "Said 1." in summary
    assert [m.id for m in turn.messages[2:]] == ["m3", "m4", "m5"]
    assert layer(turn, "L4").segments[0].kind == "summary"


def test_what_goes_on_with_a_turn_only_appends() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "A."))
    asked = chat.say("2")
    first = chat.prompt(asked, chat.read("a.md", "A2."), provided=(chat.provided("p", "Pinned."),))
    chat.answer("Let me look.", "call")
    second = chat.go_on(chat.results("call"), asked)
    assert second.messages[: len(first.messages)] == first.messages
    assert [each.role for each in second.messages[len(first.messages) :]] == ["assistant", "user"]
    assert second.hashes.L1_SYSTEM == first.hashes.L1_SYSTEM
    assert second.hashes.L2_PREVIOUS == first.hashes.L2_PREVIOUS
    assert layer(second, "L3").text.startswith(layer(first, "L3").text)


def test_the_library_that_a_turn_was_rebased_to_is_there_when_it_goes_on() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "A."))
    asked = chat.say("2")
    first = chat.prompt(asked, chat.read("a.md", "Quite another text."), rebase=True)
    assert chat.last.rebased is not None
    chat.answer("", "call")
    second = chat.go_on(chat.results("call"), asked)
    assert chat.last.rebased is None
    assert second.messages[: len(first.messages)] == first.messages


# -- where pins go --


def test_pins_stand_before_the_users_words_also_when_the_turn_goes_on() -> None:
    chat = Talk()
    asked = chat.say("Why?")
    chat.prompt(asked, provided=(chat.provided("p", "Pinned."), chat.provided("q", "More.")))
    chat.answer("", "call")
    turn = chat.go_on(chat.results("call"), asked)
    [_, user, _, carrier] = turn.messages
    assert [
        text in (block.text or "") for text, block in zip(("Pinned.", "More.", "Why?"), user.content, strict=True)
    ]
    assert [block.type for block in carrier.content] == ["toolResult"]


def test_where_there_are_only_carriers_pins_follow_the_results_that_the_last_one_begins_with() -> None:
    chat = Talk()
    chat.answer("", "one")
    chat.results("one")
    chat.answer("", "two", "three")
    results = tuple(c.ToolResult(call, "look", chat.keep("found")) for call in ("two", "three"))
    carrier = chat.say("And this.", tool_results=results)
    turn = chat.prompt(carrier, provided=(chat.provided("p", "Pinned."),))
    assert [each.role for each in turn.messages] == ["system", "assistant", "user", "assistant", "user"]
    assert [block.type for block in turn.messages[2].content] == ["toolResult"]
    last = turn.messages[4].content
    assert [block.type for block in last] == ["toolResult", "toolResult", "text", "text"]
    assert "Pinned." in (last[2].text or "") and last[3].text == "And this."


def test_without_a_users_message_pins_are_one_at_the_end() -> None:
    chat = Talk()
    said = chat.answer("Hello.")
    turn = chat.prompt(said, provided=(chat.provided("p", "Pinned."),))
    assert turn.messages[-1].role == "user" and "Pinned." in user_text(turn)
    assert [each.role for each in turn.messages].count("user") == 1


def test_without_words_or_attachments_pins_are_still_the_users_message() -> None:
    chat = Talk()
    turn = chat.prompt(chat.say(""), provided=(chat.provided("p", "Pinned."),))
    assert [each.role for each in turn.messages] == ["system", "user"]
    assert entry(turn, "m1", "L5").state == "empty"


# -- what cannot be assembled --


def test_a_turn_of_another_conversation_or_version_or_of_no_message_is_refused() -> None:
    chat = Talk()
    turn = chat.turn(chat.say("1"))
    for wrong in (
        replace(turn, conversation=ConversationId("other")),
        replace(turn, version=0),
        replace(turn, message=MessageId("none")),
    ):
        with pytest.raises(ArgumentInvalid):
            assemble(chat.now, wrong, chat.texts)


def test_a_text_that_is_not_kept_is_not_made_up() -> None:
    chat = Talk()
    message = chat.say("1")
    with pytest.raises(NotRecorded):
        assemble(chat.now, chat.turn(message, Artifact("note", "a.md", "A", "0" * 64)), chat.texts)


def test_a_limit_smaller_than_the_system_prompt_is_an_error_and_no_prompt() -> None:
    chat = Talk(window=20, system="word " * 100)
    message = chat.say("1")
    with pytest.raises(BudgetExceeded):
        assemble(chat.now, chat.turn(message), chat.texts)


def test_where_room_is_short_the_library_loses_the_oldest_and_nothing_refers_to_what_is_gone() -> None:
    chat = Talk(window=3_900)
    notes = [chat.read(f"{name}.md", f"{name} " + "word " * 500) for name in "abcdef"]
    for note in notes[:5]:
        chat.ask("?", note)
    turn = chat.ask("?", notes[5], notes[0])
    assert chat.last.rebased is not None and chat.last.rebased.reason == "budget"
    assert chat.last.elided == sum(
        each.state == "dropped" for each in turn.manifest.entries if each.why == "budget"
    )
    ids = library_ids(turn)
    assert ids and set(ids) < {"a.md", "b.md", "c.md", "d.md", "e.md"}
    dropped = [
        each.id for each in turn.manifest.entries if each.layer == "L2_PREVIOUS" and each.state == "dropped"
    ]
    assert sorted([*ids, *dropped]) == ["a.md", "b.md", "c.md", "d.md", "e.md"]
    assert ("- a.md" in user_text(turn)) == ("a.md" in ids)
    assert turn.estimate <= turn.manifest.limit and turn.manifest.warnings == ()


def test_what_is_referred_to_and_finds_no_room_in_the_library_is_shown_in_full() -> None:
    chat = Talk()
    big = chat.read("big.md", "word " * 1_400)
    chat.ask("1", big, *(chat.read(f"{at}.md", f"{at} " + "word " * 100) for at in range(5)))
    for words in "23456":
        chat.ask(words)
    chat.start(window=2_400)
    message = chat.say("7")
    turn = chat.prompt(message, big)
    assert chat.last.rebased is not None and chat.last.rebased.reason == "budget"
    assert library_ids(turn) and "big.md" not in library_ids(turn)
    assert "<path>big.md" in user_text(turn) and "- big.md" not in user_text(turn)
    assert entry(turn, "big.md").state == "full" and REPLACES not in user_text(turn)
    assert turn.estimate <= 2_400
    assert [each.id for each in chat.last.promoted] == ["big.md"]
    # What was left out before that came to light stays left out.
    left_out = [each for each in turn.manifest.entries if each.state == "dropped"]
    assert chat.last.elided == len(left_out)
    told = {each.id for each in left_out if each.layer == "L4_STRIP"}
    assert chat.last.elided_until == "m6" and told == {f"m{at}" for at in range(1, 7)}
    chat.start(window=10_000)
    assert library_ids(chat.ask("8")) == [*library_ids(turn), "big.md"]


# -- properties --

NOTES = [f"{name}.md" for name in "abcd"]
KINDS = ["note", "note", "note", "active_note", "url", "selected_text", "tool_result", "skill", "image", "pdf"]
TEXTS = [
    "",
    "Short.",
    "</note_context>\n</content>",
    "word " * 60,
    "漢字 " * 30,
    "- a.md (active)\n---\n\n[User query]:",
]


@st.composite
def read_things(draw: st.DrawFn) -> tuple[str, str, str, bool, bool]:
    """(kind, id, text, has images, failed)."""
    return (
        draw(st.sampled_from(KINDS)),
        draw(st.sampled_from(NOTES)),
        draw(st.sampled_from(TEXTS)),
        draw(st.integers(0, 9)) == 0,
        draw(st.integers(0, 9)) == 0,
    )


STEPS = st.one_of(
    st.tuples(
        st.just("ask"),
        st.sampled_from(["", "?", "word " * 40]),
        st.lists(read_things(), max_size=4),
        st.lists(st.sampled_from(["", "Pinned.", "fails"]), max_size=2),
        st.integers(0, 2),
        st.sampled_from([False, False, True]),
    ),
    st.tuples(st.just("remove"), st.integers(0, 8), st.booleans()),
    st.tuples(st.just("summary"), st.integers(0, 8)),
    st.tuples(st.just("carrier")),
    st.tuples(st.just("begin"), st.sampled_from([400, 700, 100_000]), st.sampled_from(["", "Other."])),
)


def things(chat: Any, wanted: list[tuple[str, str, str, bool, bool]]) -> list[Artifact]:
    found = []
    for kind, name, text, images, failed in wanted:
        media = "image/png" if kind == "image" else None
        artifact = chat.read(name, text, kind=kind, has_images=images, media_type=media)
        found.append(replace(artifact, revision="", failed="NOT_GIVEN") if failed else artifact)
    return found


def check(chat: Any, turn: Any, before: Envelope | None, causes: int) -> Envelope | None:
    """Records the prompt of `turn` and holds it against all that is true of every prompt."""
    try:
        made = assemble(chat.now, turn, chat.texts)
    except BudgetExceeded:
        return None
    conversation = chat.now
    envelope: Envelope = chat.assemble(turn)
    assert msgspec.json.encode(made) == msgspec.json.encode(chat.last)
    manifest = envelope.manifest
    assert envelope.estimate <= manifest.limit
    assert manifest.warnings == ()
    assert envelope.estimate == sum(each.tokens for each in manifest.entries) + manifest.tool_tokens
    # Every thing is in one record.
    told = [(each.layer, each.id, each.kind) for each in manifest.entries]
    artifacts = [
        each
        for each in manifest.entries
        if each.layer == "L3_TURN" and each.why in ("attached", "active", "changed", "duplicate")
    ]
    assert sorted((each.id, each.kind) for each in artifacts) == sorted(
        (each.id, each.kind) for each in turn.artifacts
    )
    assert sum(each.why == "pinned" for each in manifest.entries) == len(turn.provided)
    assert len([each for each in told if each[0] == "L1_SYSTEM"]) == len(conversation.settings.sections)
    start = turn_of(conversation, turn.message)
    library = library_of(conversation, start)
    assert {each[1] for each in told if each[0] == "L2_PREVIOUS" and each[2] != "frame"} == {e.id for e in library}
    upto = list(conversation.messages)[: list(conversation.messages).index(turn.message) + 1]
    assert sorted(each[1] for each in told if each[2] in ("message", "query")) == sorted(upto)
    # What is attached is seen.
    text = user_text(envelope)
    seen = library_ids(envelope)
    for each in artifacts:
        if each.state == "reference":
            assert each.id in seen and f"- {each.id}" in text
        elif each.state == "full" and each.kind != "image":
            assert f"{each.id}</" in text
        elif each.state == "failed":
            assert "unavailable: " in text
    if any(each.kind == "active_note" and each.failed is None for each in turn.artifacts):
        assert " (active)" in text or "<active_note>" in text
    assert len(seen) == len(set(seen))
    # While nothing in the log intervenes, the first two layers are a prefix of the next prompt's.
    if before is not None and not causes and chat.last.rebased is None:
        assert system_of(envelope).startswith(system_of(before))
    return envelope


@settings(max_examples=examples(150))
@given(st.lists(STEPS, max_size=14), st.sampled_from([1.0, 0.5, 1.37]))
def test_what_is_true_of_every_prompt(steps: list[Any], factor: float) -> None:
    chat, before, causes = Talk(), None, 0
    for step in steps:
        ids = list(chat.now.messages)
        if step[0] == "ask":
            _, words, wanted, pins, rounds, rebase = step
            message = chat.say(words, name=f"n{chat.seq}")
            provided = tuple(
                Provided(f"p{at}", "text", failed="NOT_GIVEN")
                if text == "fails"
                else chat.provided(f"p{at}", text)
                for at, text in enumerate(pins)
            )
            turn = chat.turn(message, *things(chat, wanted), provided=provided, rebase=rebase, factor=factor)
            first = check(chat, turn, before, causes)
            before, causes = (first, 0) if first is not None else (before, causes)
            for _ in range(rounds):
                chat.answer("", f"c{chat.seq}", name=f"a{chat.seq}")
                carrier = chat.results(
                    *(call.id for call in list(chat.now.messages.values())[-1].tool_calls), name=f"r{chat.seq}"
                )
                going = check(chat, replace(turn, message=carrier, rebase=False), before, causes)
                if first is not None and going is not None and chat.last.rebased is None and not chat.last.elided:
                    assert going.messages[: len(first.messages)] == first.messages
                before, causes = (going, 0) if going is not None else (before, causes)
            chat.answer(name=f"a{chat.seq}")
        elif step[0] == "begin":
            chat.start(step[1], **({"memory": step[2]} if step[2] else {"system": "You help."}))
            causes += 1
        elif step[0] == "carrier" and not ids:
            chat.answer("", "loose")
            check(chat, chat.turn(chat.results("loose"), provided=(chat.provided("p", "Pinned."),)), None, 0)
            causes += 1
        elif ids and step[0] == "remove":
            chat.remove(ids[step[1] % len(ids)], following=step[2])
            causes += 1
        elif ids and step[0] == "summary":
            up_to = ids[step[1] % len(ids)]
            chat.tell(c.SummarySet(conversation=ID, text_sha256=chat.keep("Said."), up_to=up_to))


SCENARIO = """
import hashlib
import msgspec
from support.conversation import Talk
chat = Talk(window=1_100, system="You help.", memory="Likes brevity.", tools="[]")
digest = hashlib.sha256()
for turn in range(12):
    notes = [chat.read(f"{name}.md", f"{name} {turn // 4} " + "word " * 80) for name in "gfedcba"[: turn % 7]]
    chat.ask(f"{turn}?", *notes, provided=(chat.provided("p", f"Pinned {turn // 3}."),), factor=1.1)
    digest.update(msgspec.json.encode(chat.last))
assert any(rebase.reason == "budget" for rebase in chat.now.rebases)
print(digest.hexdigest())
"""


def test_the_same_inputs_give_the_same_bytes_whatever_the_hash_seed_and_the_time_zone() -> None:
    found = set()
    for seed, zone in (("0", "UTC"), ("1", "Asia/Tokyo"), ("4711", "America/Lima")):
        done = subprocess.run(
            [sys.executable, "-c", SCENARIO],
            cwd=TESTS,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_a_library_of_a_thousand_artifacts_is_drawn_without_counting_their_tokens_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chat = Talk(window=10_000_000)
    notes = [chat.read(f"{at}.md", f"{at} " + "word " * 200) for at in range(1_000)]
    chat.ask("1", *notes)
    chat.ask("2")
    turn = chat.turn(chat.say("3"), notes[0])
    counted: list[int] = []
    count = layers.seed_tokens
    monkeypatch.setattr(layers, "seed_tokens", lambda text: counted.append(len(text)) or count(text))
    made = assemble(chat.now, turn, chat.texts)
    assert len(library_ids(made.envelope)) == 1_000
    assert sum(counted) < 1_000
