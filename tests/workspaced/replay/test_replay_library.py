"""`workspaced.replay`: a recorded log read without a daemon and without its vault."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import session_machine as sessions

from workspaced import replay
from workspaced.cli import run
from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.projections import workspace_fold
from workspaced_events.replay.json_lines import export_lines
from workspaced_tools.errors import NotRecorded


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


class TestMoments:
    def test_a_part_of_a_log_begins_with_a_state_and_knows_no_earlier_moment(self, bundle: Path) -> None:
        with replay.open(bundle) as part:
            first = part.events()[0].seq
            assert first > 1 and part.at(first - 1).state_json()["vaults"]
            for unknown in (first - 2, 0, "2020-01-01"):
                with pytest.raises(InvalidArgument):
                    part.at(unknown)


class TestCallingTools:
    def test_wrong_arguments_are_a_result_and_a_wrong_call_is_an_error(self, log: replay.Log) -> None:
        assert log.end.call("get_current_note", offset="x")["code"] == "INVALID_ARGUMENT"
        assert log.end.call("get_current_note", tool=1, self=2)["code"] == "INVALID_ARGUMENT"
        with pytest.raises(WorkspacedError) as caught:
            log.end.call("get_nothing")
        assert caught.value.code == "UNKNOWN_TOOL"
        with pytest.raises(InvalidArgument):
            log.end.call("get_current_note", at=3)


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
