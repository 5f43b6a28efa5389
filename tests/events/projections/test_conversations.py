"""Conversations: what the fold remembers of what runtimes said, and what it does not let itself be told."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_log import EVERY
from support.profiles import examples
from support.random_log import event_of

from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.projections.conversations import (
    ALPHA,
    CALIBRATIONS_MAX,
    CONVERSATION_TYPES,
    CONVERSATIONS_MAX,
    NO_CONVERSATIONS,
    PROMPTS_MAX,
    Conversation,
    Conversations,
    apply_conversation,
    blobs_named,
    library_of,
    turn_of,
)
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, Data, LibraryEntry
from workspaced_events.schema.codec import decode_event, encode_event

TALK = ConversationId("talk")
M1, M2, M3, M4, M5 = MESSAGES = [MessageId(f"m{number}") for number in range(1, 6)]
SHA = [f"{number:064x}" for number in range(20)]


def folded(*datas: Data, state: Conversations = NO_CONVERSATIONS, first: int = 1) -> Conversations:
    for seq, data in enumerate(datas, start=first):
        state = apply_conversation(state, event_of(seq, data))
    return state


def talk_of(*datas: Data) -> Conversation:
    """The conversation after it was started and `datas` happened."""
    return folded(started(), *datas).by_id[TALK]


def started(talk: ConversationId = TALK, **settings: Any) -> c.ConversationStarted:
    values = {"provider": "p", "model": "m", "context_window": 1_000, "output_reserve": 100, **settings}
    return c.ConversationStarted(conversation=talk, **values)


def said(message: MessageId, *attached: str, role: c.Role = "user", talk: ConversationId = TALK) -> c.MessageAdded:
    attachments = tuple(c.Attachment("note", each) for each in attached)
    return c.MessageAdded(talk, message, role, SHA[1], attachments)


def removed(message: MessageId, following: bool = False) -> c.MessageRemoved:
    return c.MessageRemoved(conversation=TALK, message=message, following=following)


def entry(artifact: str, message: MessageId, revision: str = SHA[3]) -> LibraryEntry:
    return LibraryEntry(artifact, "note", revision, SHA[4], 10, message)


def prompt(
    message: MessageId, *, talk: ConversationId = TALK, seed: int = 1_000, pipeline: c.Pipeline = "chat"
) -> c.PromptAssembled:
    made: c.PromptAssembled = EVERY["prompt_assembled"].data
    hashes = {"inputs_sha256": SHA[5], "manifest_sha256": SHA[6]}
    counts = {"estimate": seed, "seed_estimate": seed}
    values = {"conversation": talk, "message": message, "pipeline": pipeline, **hashes, **counts}
    return msgspec.structs.replace(made, **values)


def fold(*entries: LibraryEntry, until: MessageId | None = None) -> c.ContextFolded:
    return c.ContextFolded(conversation=TALK, reason="asked", library=entries, up_to=until)


def usage(message: MessageId, tokens: int, cached: int = 0, model: str = "m") -> c.UsageReported:
    return c.UsageReported(
        conversation=TALK, message=message, provider="p", model=model, input_tokens=tokens, cached_tokens=cached
    )


def library(talk: Conversation) -> list[str]:
    return [each.id for each in talk.library]


class TestMessages:
    def test_that_are_removed_are_gone_alone_or_with_all_that_follow(self) -> None:
        three = [said(M1), said(M2), said(M3)]
        assert list(talk_of(*three, removed(M2)).messages) == [M1, M3]
        assert list(talk_of(*three, removed(M2, following=True)).messages) == [M1]

    def test_that_bring_results_of_tools_go_on_with_the_turn(self) -> None:
        carried = c.MessageAdded(TALK, M3, "user", tool_results=(c.ToolResult("call", "get_note", SHA[2]),))
        talk = talk_of(said(M1), said(M2, role="assistant"), carried, said(M4, role="assistant"), said(M5))
        assert [turn_of(talk, each) for each in MESSAGES] == [M1, M1, M1, M1, M5]


class TestTheLibrary:
    def test_of_a_turn_is_what_earlier_turns_had_attached(self) -> None:
        messages = (said(M1, "a"), said(M2, "a", "b"), said(M3, "a"))
        talk = talk_of(*messages, fold(entry("a", M1), entry("b", M2)))
        by_turn = [[each.id for each in library_of(talk, turn)] for turn in (M1, M2, M3)]
        assert by_turn == [[], ["a"], ["a", "b"]]

    def test_loses_what_only_removed_turns_had_attached(self) -> None:
        held = fold(entry("a", M1), entry("b", M1), entry("c", M2))
        turns = [said(M1, "a", "b"), said(M2, "b", "c"), held]
        assert library(talk_of(*turns, removed(M2, following=True))) == ["a", "b"]
        talk = talk_of(*turns, removed(M1), said(M3))
        assert library(talk) == ["b", "c"]
        assert [each.id for each in library_of(talk, M2)] == []
        assert [each.id for each in library_of(talk, M3)] == ["b", "c"]


@pytest.mark.parametrize("other", ["compression"])
class TestOtherPipelines:
    def test_do_not_use_the_library(self, other: c.Pipeline) -> None:
        talk = talk_of(said(M1), fold(entry("a", M1)), said(M2), prompt(M2), prompt(M2, pipeline=other))
        made = talk.prompts[-1]
        assert (made.pipeline, made.library, made.blocks, made.tokens_not_kept) == (other, (), 0, 0)

    def test_leave_what_a_chat_goes_on_from(self, other: c.Pipeline) -> None:
        chats = [said(M1), fold(entry("a", M1), entry("b", M1)), said(M2), prompt(M2), said(M3)]
        alone = talk_of(*chats, prompt(M3)).prompts[-1]
        talk = talk_of(*chats, prompt(M3, pipeline=other), prompt(M3))
        assert msgspec.structs.replace(talk.prompts[-1], seq=alone.seq) == alone
        assert alone.blocks_kept == 2
        assert talk.last_prompt() == talk.prompts[-1]
        assert talk.last_prompt(other) == talk.prompts[-2]
        assert talk_of(*chats).last_prompt(other) is None

    def test_push_out_only_their_own(self, other: c.Pipeline) -> None:
        several = [prompt(M1, pipeline=other)] * (PROMPTS_MAX + 2)
        talk = talk_of(said(M1), prompt(M1), *several, prompt(M1))
        assert [each.pipeline for each in talk.prompts] == ["chat", *[other] * PROMPTS_MAX, "chat"]
        assert talk.prompts[1].seq == 6, "the oldest ones went"
        more = talk_of(said(M1), prompt(M1, pipeline=other), *[prompt(M1)] * (PROMPTS_MAX + 2))
        assert [each.pipeline for each in more.prompts] == [other, *["chat"] * PROMPTS_MAX]

    def test_are_counted_by_their_provider_like_any(self, other: c.Pipeline) -> None:
        talk = talk_of(said(M1), prompt(M1), prompt(M1, pipeline=other), usage(M1, 700, 100))
        assert [each.input_tokens for each in talk.prompts] == [None, 700]


class TestWhatIsLeftOut:
    turns = (said(M1), said(M2), said(M3), said(M4))

    def test_stays_so_when_its_last_message_is_removed(self) -> None:
        left_out = [*self.turns, fold(until=M2)]
        assert talk_of(*left_out, removed(M2)).elided_until == M1
        assert talk_of(*left_out, removed(M1), removed(M2)).elided_until is None

    def test_a_summary_stands_for_is_that_up_to_a_message_that_is_there(self) -> None:
        summary = c.SummarySet(conversation=TALK, text_sha256=SHA[1], up_to=M2)
        assert talk_of(summary).summary is None
        kept = talk_of(*self.turns, summary).summary
        assert kept is not None
        assert (kept.text_sha256, kept.up_to) == (SHA[1], M2)
        before = talk_of(*self.turns, summary, removed(M2)).summary
        assert before is not None and (before.text_sha256, before.up_to) == (SHA[1], M1)
        assert talk_of(*self.turns, summary, removed(M1, following=True)).summary is None


class TestCalibration:
    def ratio(self, *tokens: int, seed: int = 1_000) -> tuple[float, int]:
        state = folded(started(), *(said(each) for each in MESSAGES))
        for number, count in enumerate(tokens):
            message = MESSAGES[number % len(MESSAGES)]
            state = folded(prompt(message, seed=seed), usage(message, count), state=state, first=10 + 2 * number)
        found = state.calibration(state.by_id[TALK].settings)
        return found.ratio, found.samples

    def test_is_the_moving_average_of_what_providers_counted_within_bounds(self) -> None:
        expected = (1 - ALPHA) * ((1 - ALPHA) * 1.2 + ALPHA * 2.0) + ALPHA * 1.0
        ratio, samples = self.ratio(1_200, 2_000, 1_000)
        assert (ratio, samples) == (pytest.approx(expected), 3)
        assert ALPHA == 0.3
        assert self.ratio(50_000)[0] == 3.0
        assert self.ratio(600, seed=20_000)[0] == 0.5

    def test_counts_from_the_third_sample_on(self) -> None:
        state = folded(started(), said(M1))
        factors = []
        for number in range(4):
            state = folded(prompt(M1), usage(M1, 2_000), state=state, first=10 + 2 * number)
            factors.append(state.calibration(state.by_id[TALK].settings).factor)
        assert factors == [1.0, 1.0, pytest.approx(2.0), pytest.approx(2.0)]

    @pytest.mark.parametrize(("tokens", "seed"), [(499, 1_000), (1_000, 499), (499, 499)])
    def test_ignores_small_samples(self, tokens: int, seed: int) -> None:
        assert self.ratio(tokens, seed=seed) == (1.0, 0)

    def test_takes_one_sample_of_a_prompt_with_its_cached_tokens_for_the_model_that_reported(self) -> None:
        state = folded(started(), said(M1), prompt(M1), usage(M1, 1_000, cached=800))
        [made] = state.by_id[TALK].prompts
        assert (made.input_tokens, made.cached_tokens) == (1_000, 800)
        assert state.calibrations["p/m"].ratio == 1
        state = folded(started(), said(M1), prompt(M1), usage(M1, 1_500), usage(M1, 1_700))
        assert (state.calibrations["p/m"].ratio, state.calibrations["p/m"].samples) == (1.5, 1)
        assert state.by_id[TALK].prompts[0].input_tokens == 1_700
        state = folded(started(), said(M1), prompt(M1), usage(M1, 1_500, model="other"))
        assert list(state.calibrations) == ["p/other"]


class TestBounds:
    def test_the_conversation_that_was_silent_for_longest_goes_first(self) -> None:
        talks = [ConversationId(f"talk {number}") for number in range(CONVERSATIONS_MAX)]
        state = folded(*map(started, talks))
        state = folded(said(M1, talk=talks[0]), started(ConversationId("one more")), state=state)
        assert len(state.by_id) == CONVERSATIONS_MAX
        assert talks[0] in state.by_id
        assert talks[1] not in state.by_id

    def test_the_last_prompts_and_folds_and_so_many_models_are_remembered(self) -> None:
        talk = talk_of(said(M1), *[prompt(M1), fold()] * (PROMPTS_MAX + 3))
        assert len(talk.prompts) == len(talk.folds) == PROMPTS_MAX
        assert talk.prompts[-1].seq == talk.seq - 1
        state = folded(started(), said(M1))
        for number in range(CALIBRATIONS_MAX + 1):
            state = folded(prompt(M1), usage(M1, 1_500, model=str(number)), state=state)
        assert list(state.calibrations) == [f"p/{number}" for number in range(1, CALIBRATIONS_MAX + 1)]


# -- whatever is said --

TALKS = [TALK, ConversationId("other")]
talks, messages = st.sampled_from(TALKS), st.sampled_from([*MESSAGES, MessageId("unknown")])
entries = st.builds(entry, st.sampled_from("abcde"), messages, st.sampled_from(SHA))
some = st.lists(entries, max_size=4)
attached = st.lists(st.sampled_from("abcde").map(lambda name: c.Attachment("note", name)), max_size=3).map(tuple)
results = st.sampled_from([(), (c.ToolResult("call", "get_note", SHA[2]),)])
message_data: dict[str, Any] = {
    "conversation": talks,
    "message": messages,
    "role": st.sampled_from(["user", "assistant"]),
    "text_sha256": st.none() | st.just(SHA[1]),
    "attachments": attached,
    "tool_results": results,
}
anything = st.one_of(
    st.builds(started, talks),
    st.builds(c.MessageAdded, **message_data),
    st.builds(c.MessageAdded, **message_data),
    st.builds(c.MessageReplaced, **message_data),
    st.builds(c.MessageRemoved, conversation=talks, message=messages, following=st.booleans()),
    st.builds(c.SummarySet, conversation=talks, text_sha256=st.just(SHA[1]), up_to=messages),
    st.builds(c.ContextPinned, conversation=talks, id=st.sampled_from("xy"), kind=st.just("workspace")),
    st.builds(c.ContextUnpinned, conversation=talks, id=st.sampled_from("xyz")),
    st.builds(prompt, messages, talk=talks, seed=st.integers(0, 9_000)),
    st.builds(prompt, messages, talk=talks),
    st.builds(
        c.ContextFolded,
        conversation=talks,
        reason=st.just("asked"),
        library=some.map(tuple),
        up_to=st.none() | messages,
    ),
    st.builds(usage, messages, st.integers(0, 90_000), st.integers(0, 90_000)),
    st.builds(
        c.ContextNearLimit,
        conversation=talks,
        message=messages,
        estimate=st.just(9),
        limit=st.just(10),
        up_to=messages,
    ),
    st.builds(c.ConversationEnded, conversation=talks),
    st.just(c.ArtifactRecorded("a", "note", SHA[1], 9)),
)


def test_every_type_about_a_conversation_is_folded() -> None:
    of_one = {entry.data for entry in CATALOGUE.values() if "conversation" in entry.data.__struct_fields__}
    assert of_one == CONVERSATION_TYPES


@settings(max_examples=examples(300))
@given(st.lists(anything, max_size=40))
def test_whatever_is_said_the_fold_takes_it_and_makes_sense(datas: list[Data]) -> None:
    state = folded(started())
    for seq, data in enumerate(datas, start=2):
        before, state = state, apply_conversation(state, event_of(seq, data))
        if isinstance(data, c.ArtifactRecorded):
            assert state is before
            continue
        check_step(before, state, seq, data)
    # A snapshot brings it all back, and a fold from the log's own lines is the same.
    assert msgspec.json.decode(msgspec.json.encode(state), type=Conversations) == state
    lines = [encode_event(event_of(seq, data)) for seq, data in enumerate([started(), *datas], start=1)]
    assert fold_all(map(decode_event, lines), EMPTY).conversations == state


def check_step(before: Conversations, after: Conversations, seq: int, data: Any) -> None:
    for name in TALKS:
        if name != data.conversation:
            assert after.by_id.get(name) is before.by_id.get(name)
    old, new = before.by_id.get(data.conversation), after.by_id.get(data.conversation)
    if new is old:
        assert after is before
        return
    assert new is not None and new.seq == seq
    assert list(after.by_id)[-1] == new.id
    if old is not None and not isinstance(data, c.MessageRemoved | c.ContextFolded):
        assert new.library[: len(old.library)] == old.library
        assert [each for each in new.messages if each in old.messages] == list(old.messages)
    assert new.elided_until is None or new.elided_until in new.messages
    assert new.summary is None or new.summary.up_to in new.messages
    for message in new.messages:
        turn = turn_of(new, message)
        seen = library_of(new, turn)
        assert [each for each in new.library if each in seen] == list(seen)
        assert turn not in {each.message for each in seen}
    for each in after.calibrations.values():
        assert 0.5 <= each.ratio <= 3.0


def test_the_blobs_that_a_struct_names_are_found_at_any_depth() -> None:
    message = c.MessageAdded(
        *(TALK, M1, "user", SHA[1], (c.Attachment("note", "a", SHA[2]), c.Attachment("note", "b"))),
        *((c.ToolCall("1", "get", SHA[3]),), (c.ToolResult("1", "get", SHA[4]),), (c.Thinking(SHA[5]),)),
    )
    assert list(blobs_named(message)) == SHA[1:6]
    assert list(blobs_named(c.ToolResult("1", "look", SHA[1], images=(c.ResultImage(SHA[2], "image/png"),)))) == [
        *(SHA[1], SHA[2])
    ]
    assert set(blobs_named(prompt(M1))) == {SHA[5], SHA[6]}
    assert set(blobs_named(fold(entry("a", M1)))) == {SHA[3], SHA[4]}
    section = (c.Section("system", SHA[8]),)
    assert set(blobs_named(folded(started(sections=section, tools_sha256=SHA[9]), message))) == {
        *SHA[1:6],
        *SHA[8:10],
    }
