"""`workspaced.replay` reads a log in pages: what it says of a call or a prompt is what the whole says."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support import conversation, past_world
from support import session_machine as sessions
from support.profiles import examples
from support.random_log import random_log
from support.stored_logs import as_bundle, as_directory, as_export, part_of

from workspaced import replay
from workspaced_events.errors import InvalidArgument
from workspaced_events.log import scan
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay import event_pages, kept_folds
from workspaced_events.replay.log_slice import Slice, cut
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import Source
from workspaced_events.schema.catalogue import Event, ToolCalled
from workspaced_tools.replay.bundling import named_blobs
from workspaced_tools.replay.call_replay import Notes
from workspaced_tools.replay.verify import (
    Moments,
    Outcome,
    Rebuilt,
    StateNotRetained,
    Verified,
    verify,
    verify_call,
)

TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_navigation_history", {}),
    ("get_workspace_context", {"includeContent": True}),
    ("get_current_note", {}),
    ("get_navigation_history", {"at": 4}),
)


@pytest.fixture(autouse=True)
def short_pages() -> Iterator[None]:
    """Pages and strides so short that a small log has many."""
    with (
        patch.object(event_pages, "PAGE_BYTES", 900),
        patch.object(scan, "INDEX_STRIDE_BYTES", 700),
        patch.object(kept_folds, "STATE_STRIDE_EVENTS", 5),
        patch.object(kept_folds, "VISITS_STRIDE_EVENTS", 10),
    ):
        yield


def rebuilt_in_a_pass(place: Path) -> list[Rebuilt]:
    """What one pass over the whole log says of its prompts."""
    prompts: list[Rebuilt] = []
    with open_source(place) as source:
        verify(source, lambda _call: None, each_prompt=prompts.append)
    return prompts


def folded_from_the_first(source: Source) -> list[Verified]:
    """What each call is if all events up to its moment are folded for it alone."""
    events: list[Event] = []
    source.feed(events.extend)
    found = []
    for event in events:
        if isinstance(event.data, ToolCalled):
            then = Moments(source)
            for each in events:
                if each.seq <= event.data.tail:
                    then.take(each)
            try:
                verified = verify_call(source, Notes(source.blob), then, event)
            except StateNotRetained:
                why = "Its moment is not in this log."
                verified = Verified(event.seq, event.data, Outcome.NOT_RECORDED, why)
            found.append(verified)
    return found


def kept_whole(data: Path) -> Slice:
    """All of a data directory, in memory."""
    events: list[Event] = []
    source = open_source(data)
    source.feed(events.extend)
    return part_of(events, source.blob, source.log_id)


def forms_of(root: Path, whole: Slice, since: int) -> dict[str, Path]:
    """The log as an export, as a bundle, and as a bundle from the event `since` on."""
    part = cut(whole, since=since)
    return {
        "export": as_export(root / "log.jsonl", whole.events),
        "bundle": as_bundle(root / "whole.wsb", whole, [*named_blobs(whole)]),
        "part": as_bundle(root / "part.wsb", part, [*named_blobs(part)]),
    }


class TestTheWholeAndTheLibrary:
    """Asked what became of a call or a prompt, they say the same."""

    @settings(max_examples=examples(30))
    @given(
        steps=st.lists(
            st.one_of(
                st.tuples(st.just("call"), st.sampled_from(TOOLS)),
                st.tuples(st.just("publish"), sessions.actions),
                st.tuples(st.just("look"), st.sampled_from(("a.md", "b.md"))),
                st.tuples(st.just("advance"), st.floats(-90_000, 90_000)),
                st.tuples(st.just("restart"), st.none()),
            ),
            min_size=6,
            max_size=30,
        ),
        data=st.data(),
    )
    def test_of_every_call(self, steps: list[tuple[str, Any]], data: st.DataObject) -> None:
        root = Path(tempfile.mkdtemp(prefix="wsd-pages-"))
        session = sessions.Session(root)
        try:
            self.play(session, steps)
            whole = kept_whole(session.data)
            since = data.draw(st.integers(1, whole.last))
            first_call = next(event.seq for event in whole.events if event.type == "tool_called")
            for place in (session.data, *forms_of(root, whole, min(since, first_call)).values()):
                self.compare(place, data)
        finally:
            session.dispose()
            shutil.rmtree(root)

    @staticmethod
    def play(session: Any, steps: list[tuple[str, Any]]) -> None:
        sessions.write(session.vaults["one"], "a.md", sessions.TEXTS[1])
        sessions.write(session.vaults["one"], "b.md", sessions.TEXTS[2])
        session.open()
        session.look_at("a.md")
        session.call("get_navigation_history")
        for kind, what in steps:
            if kind == "call":
                session.call(*what)
            elif kind == "publish":
                session.publish(what)
            elif kind == "look":
                session.look_at(what)
            elif kind == "advance":
                session.advance(what)
            else:
                session.restart()
        session.close()

    @staticmethod
    def compare(place: Path, data: st.DataObject) -> None:
        with open_source(place) as source:
            calls = folded_from_the_first(source)
        assert calls
        with replay.open(place) as log:
            for _ in range(data.draw(st.integers(0, 6))):
                log.fold_some()
            for at in data.draw(st.permutations(range(len(calls)))):
                assert log.call(calls[at].seq).verify() == calls[at]
            seqs = [each.seq for each in calls]
            assert [call.seq for call in log.calls()] == seqs
            assert [call.seq for call in log.calls(after=seqs[0], limit=2)] == seqs[1:3]
            assert [call.seq for call in log.calls(before=seqs[-1], limit=1)] == seqs[:-1][-1:]
            # One pass keeps less: where a part begins amid a call, it may not know what each call alone does.
            passed = sorted(log.verify(), key=lambda each: each.seq)
            for one, other in zip(passed, calls, strict=True):
                assert one == other or (one.seq, one.outcome) == (other.seq, Outcome.NOT_RECORDED)

    @pytest.mark.parametrize("forged", [False, True])
    def test_of_every_prompt(self, tmp_path: Path, *, forged: bool) -> None:
        world = past_world.World(tmp_path / "vault", {"a.md": "# Alpha\n", "b.md": "# Beta\n"})
        chat = conversation.NotesTalk(world, tools='[{"name": "look_up"}]')
        chat.turn("What is Alpha?", "a.md")
        world.write("a.md", "# Alpha\n\nAnother text.\n")
        chat.turn("And Beta?", "a.md", "b.md")
        chat.say("Once more.", "a.md")
        chat.prompt(rebase=True)
        world.close()
        events = list(world.events.all)
        if forged:
            at = next(at for at, event in enumerate(events) if event.type == "prompt_assembled")
            events[at] = replace(events[at], data=replace(events[at].data, manifest_sha256="f" * 64))
        whole = part_of(events, world.blobs.get)
        outcomes = set()
        for since in range(1, whole.last + 1, 3):
            place = as_bundle(tmp_path / "part.wsb", cut(whole, since=since), [*world.blobs])
            prompts = rebuilt_in_a_pass(place)
            with replay.open(place) as log:
                for expected in reversed(prompts):
                    found = log.prompt(expected.seq).verify()
                    assert found == expected
                    outcomes.add(found.outcome)
                assert [prompt.seq for prompt in log.prompts()] == [each.seq for each in prompts]
        assert outcomes == ({Outcome.SAME, Outcome.DIFFERENT} if forged else {Outcome.SAME})


class TestLookingAround:
    @pytest.fixture
    def events(self) -> list[Event]:
        return random_log(7, 60)

    @pytest.fixture
    def log(self, events: list[Event], tmp_path: Path) -> Iterator[replay.Log]:
        with replay.open(as_directory(tmp_path / "data", events)) as opened:
            yield opened

    def test_nothing_is_folded_before_it_is_needed_and_each_step_says_how_far_it_came(
        self, log: replay.Log, events: list[Event]
    ) -> None:
        with patch.object(kept_folds, "fold_all", side_effect=AssertionError("folded")):
            assert log.event(33) == events[32]
            assert next(log.events_of(["note_pinned"])) == next(e for e in events if e.type == "note_pinned")
            span = log.span_us()
            assert span is not None
            assert sum(map(sum, log.bins(span[0], span[1] + 1, 7, str).values())) == 60
        said = [log.fold_some() for _ in range(13)]
        assert said == [*((folded, 60) for folded in range(5, 61, 5)), (60, 60)]

    @pytest.mark.parametrize("seq", [0, 61, -1, True, "3"])
    def test_an_event_that_is_not_there_is_refused(self, log: replay.Log, seq: Any) -> None:
        for ask in (log.event, log.call, log.prompt):
            with pytest.raises(InvalidArgument):
                ask(seq)

    def test_a_log_that_goes_on_has_new_moments(self, events: list[Event], tmp_path: Path) -> None:
        with replay.open(as_export(tmp_path / "log.jsonl", events[:40])) as log:
            before = log.end
            log.extend(events[40:])
            assert (before.seq, log.end.seq, len(log.events())) == (40, 60, 60)
            assert log.end.state == fold_all(events, EMPTY)
            assert log.at(events[50].time).state == fold_all(events[: log.at(events[50].time).seq], EMPTY)
            assert before.state == fold_all(events[:40], EMPTY)
            assert log.find("activeNote").type == "active_note_set"
            with pytest.raises(InvalidArgument):
                log.extend(events[40:])
