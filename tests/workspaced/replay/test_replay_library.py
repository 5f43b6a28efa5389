"""`workspaced.replay`: a recorded log read without a daemon and without its vault."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import session_machine as sessions
from support.profiles import examples

from workspaced import replay
from workspaced.cli import run
from workspaced_events.errors import InvalidArgument, LogDamaged, WorkspacedError
from workspaced_events.projections import workspace_fold
from workspaced_events.replay import kept_folds
from workspaced_events.replay.json_lines import export_lines
from workspaced_tools.errors import NotRecorded
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.vault.vault import Vault

QUESTIONS: dict[str, dict[str, Any]] = {name: {} for name in TOOLS} | {
    "get_workspace_context": {"includeContent": True},
    "get_current_note": {"includeLinks": True, "includeOutline": True},
    "get_note_by_reference": {"reference": "Beta"},
    "search_workspace": {"query": "zebra"},
    "get_note_diff": {"reference": "a.md"},
}
"""Every tool, asked something."""
NAMED = st.sampled_from(("a.md", "b.md"))


def settle(session: Any) -> None:
    """Waits until all calls are in the log, so that it has a tail to speak of."""
    session.run(session.service.threads.run(session.service.wait_until_recorded))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session that is over: a note was edited between two calls; a third one asks what nobody asked before."""
    made = sessions.Session(tmp_path_factory.mktemp("session"))
    for at, path in enumerate(("a.md", "b.md"), start=1):
        sessions.write(made.vaults["one"], path, sessions.TEXTS[at])
    made.open()
    made.look_at("a.md")
    made.publish({"type": "note_pinned", "data": {"note": "b.md"}})
    made.call("get_workspace_context", {"includeContent": True})
    sessions.write(made.vaults["one"], "a.md", b"# Alpha\n\nWritten anew.\n")
    made.reconcile()
    made.advance(60)
    made.call("get_current_note", caller="other")
    made.look_at("b.md")
    made.advance(60)
    made.call("get_note_by_reference", {"reference": "nobody"})
    made.close()
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def bundle(recorded: Any) -> Path:
    """That session from its fifth event on, as somebody else gets it."""
    made: Path = recorded.root / "bug.wsb"
    assert run(["bundle", "-o", str(made), "--data-dir", str(recorded.data), "--from", "5"]) == 0
    return made


@pytest.fixture
def log(recorded: Any) -> Iterator[replay.Log]:
    with replay.open(recorded.data) as opened:
        yield opened


def kinds(log: replay.Log) -> list[str]:
    return [event.type for event in log.events()]


class TestOpening:
    def test_a_data_directory_an_export_a_bundle_and_a_stream_are_logs(
        self, recorded: Any, bundle: Path, log: replay.Log, tmp_path: Path
    ) -> None:
        export = tmp_path / "session.jsonl"
        export.write_bytes(b"".join(export_lines("log", log.events())))
        with replay.open(str(export)) as exported, replay.open(bundle) as bundled, export.open("rb") as stream:
            assert kinds(exported) == kinds(log)
            assert exported.end.state == log.end.state == bundled.end.state
            assert kinds(bundled) == kinds(log)[bundled.events()[0].seq - 1 :]
            with replay.open(stream) as streamed:
                assert streamed.end.state == log.end.state

    def test_what_is_no_log_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "text.txt").write_text("hello\n")
        for place in (tmp_path / "nowhere", tmp_path, tmp_path / "text.txt"):
            with pytest.raises(InvalidArgument), replay.open(place):
                pass

    def test_damage_is_named_when_it_is_opened(self, bundle: Path, tmp_path: Path) -> None:
        cut_off = tmp_path / "cut.wsb"
        cut_off.write_bytes(bundle.read_bytes()[:-200])
        with pytest.raises(LogDamaged), replay.open(cut_off):
            pass


class TestMoments:
    def test_every_event_leads_to_the_fold_up_to_it(self, recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(kept_folds, "STATE_STRIDE_EVENTS", 3)
        with replay.open(recorded.data) as log:
            events = log.events()
            for place in reversed(range(len(events) + 1)):
                if place and events[place - 1].type == "tool_called":
                    continue
                folded = workspace_fold.fold_all(events[:place], workspace_fold.WorkspaceState())
                assert log.at(place).state == folded

    def test_a_part_of_a_log_begins_with_a_state_and_knows_no_earlier_moment(self, bundle: Path) -> None:
        with replay.open(bundle) as part:
            first = part.events()[0].seq
            assert first > 1 and part.at(first - 1).state_json()["vaults"]
            for unknown in (first - 2, 0, "2020-01-01"):
                with pytest.raises(InvalidArgument):
                    part.at(unknown)

    @pytest.mark.parametrize("wrong", [-1, 10_000, "yesterday", "2999-01-01", "", True, None, [1]])
    def test_what_is_no_moment_is_refused(self, log: replay.Log, wrong: Any) -> None:
        with pytest.raises(InvalidArgument):
            log.at(wrong)


class TestCallingTools:
    def test_wrong_arguments_are_a_result_and_a_wrong_call_is_an_error(self, log: replay.Log) -> None:
        assert log.end.call("get_current_note", offset="x")["code"] == "INVALID_ARGUMENT"
        assert log.end.call("get_current_note", tool=1, self=2)["code"] == "INVALID_ARGUMENT"
        with pytest.raises(WorkspacedError) as caught:
            log.end.call("get_nothing")
        assert caught.value.code == "UNKNOWN_TOOL"
        with pytest.raises(InvalidArgument):
            log.end.call("get_current_note", at=3)


class TestTheDaemonAndTheLibrary:
    """Asked the same about the same moment, they answer the same to the byte."""

    @pytest.mark.thorough
    @settings(max_examples=examples(25))
    @given(
        steps=st.lists(
            st.one_of(
                st.tuples(st.just("call"), st.sampled_from(sorted(QUESTIONS))),
                st.tuples(st.just("call"), st.sampled_from(("get_current_note", "get_note_diff"))),
                st.tuples(st.just("call at"), st.tuples(st.sampled_from(sorted(QUESTIONS)), st.integers(0, 20))),
                st.tuples(st.just("look"), NAMED),
                st.tuples(st.just("write"), st.tuples(NAMED, st.sampled_from(sessions.TEXTS[:3]))),
                st.tuples(st.just("publish"), sessions.actions),
                st.tuples(st.just("advance"), st.floats(0, 90_000)),
            ),
            min_size=6,
            max_size=16,
        ),
        places=st.lists(st.integers(0, 200) | st.floats(0, 90_000), min_size=1, max_size=4),
    )
    def test_of_any_moment(self, steps: list[tuple[str, Any]], places: list[int | float]) -> None:
        with patch.object(Vault, "known_to_withhold", return_value=False):  # the library withholds nothing
            self.asked_twice(steps, places)

    def asked_twice(self, steps: list[tuple[str, Any]], places: list[int | float]) -> None:
        root = Path(tempfile.mkdtemp(prefix="wsd-replay-"))
        session = sessions.Session(root)
        try:
            sessions.write(session.vaults["one"], "a.md", sessions.TEXTS[1])
            sessions.write(session.vaults["one"], "b.md", sessions.TEXTS[2])
            session.open()
            session.look_at("a.md")
            for kind, what in steps:
                self.do(session, kind, what)
            settle(session)
            seqs = {place % (session.service.tail.seq + 1) for place in places if isinstance(place, int)}
            times = {sessions.event_time(sessions.START_NS + int(place * 1e9)) for place in places}
            past = sorted(time for time in times if time <= session.clock())
            asked = [(tool, at) for at in (*sorted(seqs), *past) for tool in QUESTIONS]
            answers = [session.call(tool, {**QUESTIONS[tool], "at": at}).payload for tool, at in asked]
            with replay.open(session.data) as log:
                for (tool, at), payload in zip(asked, answers, strict=True):
                    answer = msgspec.json.encode(log.at(at).call(tool, **QUESTIONS[tool]))
                    assert answer == payload, (tool, at)
        finally:
            session.dispose()
            shutil.rmtree(root)

    @staticmethod
    def do(session: Any, kind: str, what: Any) -> None:
        if kind == "look":
            session.look_at(what)
        elif kind == "publish":
            session.publish(what)
        elif kind == "write":
            sessions.write(session.vaults["one"], *what)
            session.reconcile()
        elif kind == "call":
            session.call(what, QUESTIONS[what])
        elif kind == "call at":
            session.call(what[0], {**QUESTIONS[what[0]], "at": what[1]})
        else:
            session.advance(what)


class TestRecordedCalls:
    def test_show_what_a_changed_program_answers(self, log: replay.Log, monkeypatch: pytest.MonkeyPatch) -> None:
        context = log.calls()[0]
        monkeypatch.setitem(
            workspace_fold._VAULT_FOLDS, workspace_fold.c.NotePinned, lambda state, _event, _data: state
        )
        assert context.verify().outcome is replay.Outcome.DIFFERENT
        assert [pin["id"] for pin in context.served["data"]["pinnedNotes"]] == ["b.md"]
        assert context.again()["code"] == "NOT_RECORDED"  # it reads other notes than it did
        assert [each.outcome for each in log.verify()] == ["different", "same", "same"]

    def test_that_were_swept_are_not_recorded(self, recorded: Any, tmp_path: Path) -> None:
        shutil.copytree(recorded.data, tmp_path / "data")
        shutil.rmtree(tmp_path / "data" / "served")
        with replay.open(tmp_path / "data") as log:
            call = log.calls()[0]
            assert call.verify().outcome is replay.Outcome.NOT_RECORDED
            for ask in (call.again, lambda: call.served):
                with pytest.raises(NotRecorded):
                    ask()


class TestTheCommand:
    """`workspaced call --log`."""

    def json_of(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
        code = run(["call", *arguments, "--json"])
        out = capsys.readouterr().out
        return code, json.loads(out) if out else None

    def test_answers_from_a_log_at_its_end_and_at_a_moment(
        self, recorded: Any, log: replay.Log, capsys: pytest.CaptureFixture[str]
    ) -> None:
        at = log.calls()[0].seq
        asked = ("get_workspace_context", "includeContent=true", "--log", str(recorded.data))
        assert self.json_of(capsys, *asked, "--at", str(at)) == (0, log.calls()[0].served)
        assert self.json_of(capsys, *asked, f"at={at}") == (0, log.calls()[0].served)
        assert self.json_of(capsys, *asked) == (0, log.end.call("get_workspace_context", includeContent=True))

    def test_says_what_is_wrong_by_its_exit_code(self, recorded: Any, capsys: pytest.CaptureFixture[str]) -> None:
        where = ("--log", str(recorded.data))
        assert self.json_of(capsys, "search_workspace", "query=zebra", *where)[0] == 1
        assert self.json_of(capsys, "get_current_note", "offset=x", *where)[0] == 2
        assert self.json_of(capsys, "get_current_note", "--at", "10000", *where)[0] == 2
        assert self.json_of(capsys, "get_current_note", "at=null", *where)[0] == 2
        assert self.json_of(capsys, "get_nothing", *where)[0] == 2
        assert self.json_of(capsys, "get_current_note", *where, "--workspace", "x")[0] == 2
        assert self.json_of(capsys, "get_current_note", "--log", "nowhere")[0] == 2
