"""Four pipelines over one assembler: what each shows, what it leaves out, and that none disturbs another."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support import conversation as w
from support import past_world
from support.profiles import examples

from workspaced_events.projections.conversations import PROMPTS_MAX, blobs_named
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import ArgumentInvalid, BudgetExceeded
from workspaced_tools.limits import SURROUNDINGS_CHARS_MAX
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.audit.cache_accounting import OTHER_PIPELINE, account, causes_of
from workspaced_tools.prompts.model.token_estimate import estimate_tokens
from workspaced_tools.prompts.model.types import COMPRESSION_SYSTEM, COMPRESSION_TASK, PARTS, ChatMessage, Turn
from workspaced_tools.prompts.sources.surroundings import LEFT_OUT, SHORTENED

NOTES = {"a.md": "# Alpha\n\nOne.\nTwo, two.\nThree.\n", "b.md": "# Beta\n\nThe second.\n"}
OTHERS: tuple[c.Pipeline, ...] = ("completion", "refactor", "compression")
MakeChat = Callable[..., Any]


@pytest.fixture
def make_chat(tmp_path: Path) -> Iterator[MakeChat]:
    """make_chat(**settings) -> a conversation over NOTES."""
    worlds: list[Any] = []

    def make(**settings: Any) -> Any:
        worlds.append(past_world.World(tmp_path / f"vault{len(worlds)}", NOTES))
        return w.NotesTalk(worlds[-1], **settings)

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def chat(make_chat: MakeChat) -> Any:
    return make_chat()


def words(messages: tuple[ChatMessage, ...]) -> list[tuple[str, str]]:
    return [(each.role, w.text_of(each)) for each in messages]


def states(made: Any, name: str) -> list[tuple[str, str, str]]:
    return [(each.layer, each.state, each.why) for each in w.entries(made, name)]


# -- completion and refactor --


@pytest.mark.parametrize("pipeline", ["completion", "refactor"])
def test_everything_of_the_turn_is_pushed_and_nothing_of_earlier_ones(
    make_chat: MakeChat, pipeline: c.Pipeline
) -> None:
    chat = make_chat(promotion="each_turn")
    chat.turn("First.", "a.md", "b.md")
    chat.turn("Then.")
    chat.pin("p", "text", text="Pinned.")
    asked = chat.say("Do it.", "a.md", chat.selection("a.md#L3-L3", "One.", "before ", " after"))
    library = chat.now.library
    made = chat.prompt(pipeline=pipeline)
    assert (
        w.system(made) == "You help." and w.layer_text(made, "L2_PREVIOUS") == w.layer_text(made, "L4_STRIP") == ""
    )
    assert [each.id for each in w.spoken(made)] == [asked]
    user = w.user(made)
    assert "Pinned." in user and "# Alpha" in user and user.endswith("[User query]:\n\nDo it.")
    assert "before <selection_start/>One.<selection_end/> after" in user
    assert "First." not in w.whole(made) and "Find them in the Context Library" not in user
    for message in ("m1", "m2", "m3", "m4"):
        assert states(made, message) == [("L4_STRIP", "dropped", "pipeline")]
    assert states(made, "b.md") == [("L2_PREVIOUS", "dropped", "pipeline")]
    assert states(made, "a.md") == [("L2_PREVIOUS", "dropped", "pipeline"), ("L3_TURN", "full", "attached")]
    assert (made.compacted, made.blocks) == (None, ())
    assert chat.now.library == library
    assert [hint.after for hint in made.envelope.cache_hints] == ["L1_SYSTEM", "last"]


def test_a_completion_needs_no_words(chat: Any) -> None:
    chat.say(None, chat.selection("draft.py#L2-L2", None, "def f():\n    ", "\n"))
    made = chat.prompt(pipeline="completion")
    assert words(made.envelope.messages)[1:] == [
        (
            "user",
            "<cursor_context>\n<title>draft.py</title>\n<path>draft.py</path>\n<file_language>Python</file_language>\n"
            "<line_numbers>2</line_numbers>\n<content>\ndef f():\n    <cursor_position/>\n"
            "\n</content>\n</cursor_context>",
        )
    ]


def test_no_summary_of_earlier_messages_is_in_a_completion(chat: Any) -> None:
    chat.turn("First.")
    chat.summarise("They met.", "m2")
    chat.say("Go on.", "a.md")
    made = chat.prompt(pipeline="completion")
    assert "They met." not in w.whole(made)
    assert states(made, "summary") == [("L4_STRIP", "dropped", "pipeline")]


def test_tools_go_on_with_a_refactoring(chat: Any) -> None:
    chat.say("Do it.", "a.md", chat.selection("a.md#L3-L3", "One."))
    first = chat.prompt(pipeline="refactor")
    chat.world.write("a.md", "another text")
    chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    second = chat.prompt(pipeline="refactor")
    assert second.envelope.messages[: len(first.envelope.messages)] == first.envelope.messages
    assert "found" in w.text_of(second.envelope.messages[-1])


def test_what_is_never_left_out_is_too_much_for_a_small_window(make_chat: MakeChat) -> None:
    chat = make_chat(window=1_300)
    chat.say("Do it.", chat.selection("a.md#L3-L3", "One.", "before " * 1_000))
    with pytest.raises(BudgetExceeded):
        chat.prompt(pipeline="refactor")
    chat.prompt()  # where it is left out


# -- what stands around --


def test_what_was_not_given_is_read_from_the_note_and_told_of_it(chat: Any) -> None:
    chat.say("Do it.", chat.selection("a.md#L4-L4", "Two, two."))
    turn = chat.acquired(pipeline="refactor")
    [artifact] = turn.artifacts
    assert (artifact.note, artifact.title) == ("a.md", "Alpha")
    user = w.user(assemble(chat.now, turn, chat.texts))
    assert "# Alpha\n\nOne.\n<selection_start/>Two, two.<selection_end/>\nThree.\n" in user


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.md#L4-L4", "two"), ("a.md#L4-L4", "gone"), ("a.md#L9-L9", "x"), ("no.md#L1-L1", "x"), ("a.md", "x")],
)
def test_where_the_note_does_not_hold_it_only_what_was_given_is_shown(chat: Any, name: str, text: str) -> None:
    text = "o" if text == "two" else text  # there twice
    chat.say("Do it.", chat.selection(name, text))
    turn = chat.acquired(pipeline="refactor")
    [artifact] = turn.artifacts
    assert (artifact.before, artifact.after, artifact.note, artifact.failed) == ("", "", None, None)
    assert f"<content>\n{text}\n</content>" in w.user(assemble(chat.now, turn, chat.texts))


def test_what_was_given_wins_over_the_note(chat: Any) -> None:
    chat.say("Do it.", chat.selection("a.md#L3-L3", "One.", "unsaved\n"))
    user = w.user(chat.prompt(pipeline="refactor"))
    assert "unsaved\n<selection_start/>One.<selection_end/>\n</content>" in user and "Alpha" not in user


def test_a_chat_shows_the_selection_alone_and_a_cursor_as_one(chat: Any) -> None:
    chat.say("Why?", chat.selection("a.md#L3-L3", "One.", "b4", "aft"), chat.selection("b.md#L1-L1", "", "x", "y"))
    made = chat.prompt()
    assert "<content>\nOne.\n</content>\n</selected_text>" in w.user(made) and "b4" not in w.user(made)
    assert "x<cursor_position/>y" in w.user(made)
    assert [each.detail for each in w.entries(made, "a.md#L3-L3")] == [LEFT_OUT]
    assert [each.detail for each in w.entries(made, "b.md#L1-L1")] == [None]


def test_long_surroundings_are_shortened_and_the_manifest_says_so(chat: Any) -> None:
    most = SURROUNDINGS_CHARS_MAX
    chat.say("Do it.", chat.selection("x.py#L3-L3", "One.", "-" + "x" * most, "y" * most))
    made = chat.prompt(pipeline="refactor")
    [entry] = w.entries(made, "x.py#L3-L3")
    assert (entry.state, entry.detail) == ("shortened", SHORTENED)
    assert f"\n{'x' * most}<selection_start/>" in w.user(made)


def test_of_a_long_note_no_more_is_kept_than_tells_that_it_is_longer(chat: Any) -> None:
    chat.world.write("long.md", "x" * 50_000 + "\nHere.\n" + "y" * 50_000)
    chat.say("Do it.", chat.selection("long.md#L2-L2", "Here."))
    [artifact] = chat.acquired(pipeline="refactor").artifacts
    assert SURROUNDINGS_CHARS_MAX < len(chat.texts(artifact.before)) < SURROUNDINGS_CHARS_MAX + 200
    assert SURROUNDINGS_CHARS_MAX < len(chat.texts(artifact.after)) < SURROUNDINGS_CHARS_MAX + 200
    assert w.entries(chat.prompt(pipeline="refactor"), "long.md#L2-L2")[0].state == "shortened"


def test_surroundings_that_are_forgotten_make_the_selection_unavailable(chat: Any) -> None:
    selection = chat.selection("x.py#L3-L3", "One.", "before")
    chat.say("Do it.", selection)
    del chat.world.blobs[selection.before_sha256]
    made = chat.prompt(pipeline="refactor")
    assert "[Attachment unavailable: x.py#L3-L3]" in w.user(made)
    assert [each.detail for each in w.entries(made, "x.py#L3-L3")] == ["NOT_RECORDED"]


def test_what_stands_around_is_among_the_texts_that_a_prompt_needs(chat: Any) -> None:
    chat.say("Do it.", chat.selection("a.md#L3-L3", "One."))
    turn = chat.acquired(pipeline="refactor")
    [artifact] = turn.artifacts
    assert artifact.before and artifact.after
    assert set(blobs_named(turn)) == {artifact.revision, artifact.before, artifact.after}


def test_two_cursors_of_one_id_are_two_things(chat: Any) -> None:
    chat.say("", *(chat.selection("x.py#L3-L3", None, before) for before in ("one", "two", "one")))
    made = chat.prompt(pipeline="completion")
    assert w.user(made).count("<cursor_position/>") == 1 and "one<cursor" in w.user(made)
    assert [each.detail for each in w.entries(made, "x.py#L3-L3")] == [None, "DUPLICATE_ID"]


# -- compression --


def test_a_compression_reads_the_history_alone(make_chat: MakeChat) -> None:
    chat = make_chat(composer="Be brief.", adapter="No emoji.", memory="Tea.", tools='[{"name": "look_up"}]')
    chat.pin("p", "text", text="Pinned.")
    chat.turn("First.", "a.md")
    chat.say("Second.", "b.md")
    chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    last = chat.answer("Done.")
    made = chat.prompt(last, pipeline="compression")
    assert [role for role, _ in words(made.envelope.messages)] == [
        *("system", "user", "assistant", "user", "assistant", "user", "assistant", "user")
    ]
    assert w.system(made) == COMPRESSION_SYSTEM
    assert w.text_of(made.envelope.messages[-1]) == COMPRESSION_TASK
    for text in ("Pinned.", "# Alpha", "Be brief.", "No emoji.", "Tea."):
        assert text not in w.whole(made)
    for name in ("p", "composer", "adapter", "system", "memory"):
        assert [state[1:] for state in states(made, name)] == [("dropped", "pipeline")], name
    assert made.envelope.manifest.tool_tokens > 0
    assert [hint.after for hint in made.envelope.cache_hints] == ["L1_SYSTEM", "history", "last"]
    assert chat.acquired(last, pipeline="compression").artifacts == ()


def test_it_goes_up_to_what_a_summary_up_to_its_message_stands_for(chat: Any) -> None:
    chat.turn("First.")
    chat.say("Second.")
    call = chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    chat.answer("Done.")
    chat.say("Third.")
    amid = chat.prompt(call, pipeline="compression")
    assert [each.id for each in w.spoken(amid)] == ["m1", "m2", None]
    for name in ("m3", "m4"):
        assert states(amid, name) == [("L4_STRIP", "dropped", "pipeline")]
    whole = chat.prompt("m6", pipeline="compression")
    assert [each.id for each in w.spoken(whole)] == ["m1", "m2", "m3", "m4", "m5", "m6", None]
    chat.summarise("Both.", call)
    assert [each.id for each in w.spoken(chat.prompt())] == [None, "m3", "m4", "m5", "m6", "m7"]


def test_the_summary_of_earlier_messages_comes_first_and_they_do_not_come_again(chat: Any) -> None:
    chat.turn("First.")
    chat.summarise("They met.", "m2")
    chat.turn("Second.")
    made = chat.prompt("m4", pipeline="compression")
    assert "They met." in w.text_of(w.spoken(made)[0]) and "First." not in w.whole(made)
    assert [each.id for each in w.spoken(made)] == [None, "m3", "m4", None]
    assert states(made, "m1") == [("L4_STRIP", "dropped", "summary")]


def test_what_chats_had_no_room_for_is_summed_up_all_the_same(make_chat: MakeChat) -> None:
    chat = make_chat(window=3_000)
    for number in range(8):
        chat.turn(f"Question {number}. {'Words and words. ' * 100}")
    assert chat.now.elided_until is not None
    chat.start(window=100_000)
    made = chat.prompt(next(reversed(chat.now.messages)), pipeline="compression")
    assert all(f"Question {number}." in w.whole(made) for number in range(8))


def test_a_history_that_is_too_long_loses_its_oldest_rounds_for_this_once(make_chat: MakeChat) -> None:
    chat = make_chat(window=2_500, reserve=0)
    for number in range(8):
        chat.say(f"Question {number}. {'Words and words. ' * 100}")
        chat.answer()
    made = chat.prompt("m16", pipeline="compression")
    assert made.envelope.estimate <= 2_500 and made.elided > 0
    assert states(made, "m1") == [("L4_STRIP", "dropped", "budget")]
    assert chat.now.elided_until is None


def test_what_a_compression_shortened_is_whole_in_the_conversation(make_chat: MakeChat) -> None:
    chat = make_chat(window=3_000, reserve=0)
    for number in range(8):
        chat.say(f"Question {number}.")
        chat.answer(None, f"call-{number}")
        chat.results((f"call-{number}", "row " * 500))
        chat.answer()
    last = next(reversed(chat.now.messages))
    made = chat.prompt(last, pipeline="compression")
    assert made.elided > 0 and "[tool result elided" in w.whole(made)
    assert (chat.now.results_up_to, chat.now.elided_until) == (None, None)


@pytest.mark.parametrize("message", ["m1", "m2"])
def test_nothing_can_be_summed_up_before_a_turn_is_whole(chat: Any, message: str) -> None:
    chat.say("First.")
    chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    with pytest.raises(ArgumentInvalid):
        chat.prompt(message, pipeline="compression")


def test_what_a_summary_is_to_hold_takes_little_room() -> None:
    assert 150 <= estimate_tokens(COMPRESSION_SYSTEM) <= 300
    assert "200 to 300 tokens" in COMPRESSION_SYSTEM


def test_a_later_compression_repeats_the_earlier_one(chat: Any) -> None:
    chat.turn("First.")
    chat.prompt("m2", pipeline="compression")
    chat.turn("Second.")
    made = chat.prompt("m4", pipeline="compression")
    assert {each.id: each.cached for each in made.envelope.manifest.entries if each.layer == "L4_STRIP"} == {
        **dict.fromkeys(("m1", "m2"), True),
        **dict.fromkeys(("m3", "m4"), False),
    }
    chat.remove("m1")
    assert not any(each.cached for each in chat.prompt("m4", pipeline="compression").envelope.manifest.entries[1:])


# -- side by side --


@pytest.mark.parametrize("other", OTHERS)
def test_another_pipeline_in_between_costs_a_chat_neither_cache_nor_a_warning(
    make_chat: MakeChat, other: c.Pipeline
) -> None:
    chat = make_chat(promotion="each_turn")
    chat.turn("First.", "a.md")
    chat.turn("Second.", "b.md")
    before = chat.prompt("m3")
    chat.say("Third.", "a.md")
    chat.prompt("m4" if other == "compression" else None, pipeline=other)
    made = chat.prompt()
    assert w.system(made).startswith(w.system(before))
    assert made.envelope.layers[0].stable and made.envelope.layers[1].stable and made.envelope.layers[3].stable
    assert [each.cached for each in w.entries(made, "a.md") if each.layer == "L2_PREVIOUS"] == [True]
    assert made.envelope.manifest.warnings == ()
    told = account(chat.now)
    assert [each.pipeline for each in told] == ["chat", "chat", "chat", other, "chat"]
    assert [each.cause for each in told[-2:]] == ["first prompt", "folded: each_turn"]
    assert told[-1].expected > 0


def test_each_pipeline_is_held_against_its_own_last_prompt(chat: Any) -> None:
    chat.turn("First.", "a.md")
    chat.say("", chat.selection("x.py#L1-L1", None, "one"))
    first = chat.prompt(pipeline="completion")
    assert not any(layer.stable for layer in first.envelope.layers)
    chat.prompt()
    second = chat.prompt(pipeline="completion")
    assert all(layer.stable for layer in second.envelope.layers)
    prompts = chat.now.prompts
    assert causes_of(chat.now, prompts[1:3], "L2_PREVIOUS") == [OTHER_PIPELINE]
    assert causes_of(chat.now, prompts[1:4], "L3_TURN") == []


def test_many_completions_push_no_chat_out(chat: Any) -> None:
    chat.say("First.", "a.md")
    chat.prompt()
    for _ in range(PROMPTS_MAX + 2):
        chat.prompt(pipeline="completion")
    chat.world.write("a.md", "another text")
    chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    made = chat.prompt()  # goes on with what was read for the first
    assert "# Alpha" in w.whole(made) and made.envelope.layers[2].stable


def test_a_turn_that_goes_on_takes_what_its_own_pipeline_read(chat: Any) -> None:
    chat.say("First.", chat.selection("a.md#L3-L3", "One."))
    chat.prompt()
    chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    assert "<selection_start/>" in w.whole(chat.prompt(pipeline="refactor"))
    assert "<selection_start/>" not in w.whole(chat.prompt())


@pytest.mark.parametrize("pipeline", OTHERS)
def test_no_other_pipeline_rebases_the_library(chat: Any, pipeline: c.Pipeline) -> None:
    chat.turn("First.", "a.md")
    chat.world.write("a.md", "another text")
    chat.say("Second.", "a.md")
    assert chat.acquired(pipeline=pipeline, rebase=True).rebase is False
    assert chat.prompt(pipeline=pipeline, rebase=True).compacted is None


@settings(max_examples=examples(30))
@given(
    pipeline=st.sampled_from(list(PARTS)),
    factor=st.sampled_from([0.5, 1.0, 3.0]),
    texts=st.lists(st.text(max_size=40), min_size=1, max_size=5),
    around=st.tuples(st.text(max_size=30), st.text(max_size=30)),
)
def test_whatever_the_pipeline_equal_inputs_give_equal_bytes_and_all_is_counted(
    pipeline: c.Pipeline, factor: float, texts: list[str], around: tuple[str, str], tmp_path_factory: Any
) -> None:
    world = past_world.World(tmp_path_factory.mktemp("vault"), NOTES)
    chat = w.NotesTalk(world, composer="Be brief.", adapter="No emoji.")
    for number, text in enumerate(texts):
        chat.say(text, "a.md", chat.selection(f"x.py#L{number + 1}-L{number + 1}", text, *around))
        chat.answer(text)
    chat.say("Last.")
    turn = replace(chat.acquired(pipeline=pipeline), factor=factor)
    world.close()
    made = assemble(chat.now, turn, chat.texts)
    again = msgspec.json.decode(msgspec.json.encode(turn), type=Turn)
    assert msgspec.json.encode(assemble(chat.now, again, chat.texts)) == msgspec.json.encode(made)
    manifest = made.envelope.manifest
    assert manifest.estimate == sum(entry.tokens for entry in manifest.entries) <= manifest.limit
    for name in chat.now.messages:
        assert sum(entry.id == name for entry in manifest.entries) == 1
