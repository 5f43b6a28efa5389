"""Find and shrink over the inspector's API: one search at a time, its story, and its files."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import random_log as logs
from support.daemon import ANSWER_S, Factory
from support.inspector import Inspector, environment_in
from support.stored_logs import as_export

from workspaced import replay
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.schema import catalogue as c

V, A, B, C = VaultId("v"), NoteId("a.md"), NoteId("budget.md"), NoteId("c.md")
EVENTS = logs.recorded(
    *logs.opened(V),
    c.ActiveNoteSet(A),
    c.NotePinned(A),
    c.ActiveNoteSet(B),
    c.NotePinned(B),
    c.NotePinned(C),
    c.NoteUnpinned(A),
)
TWO_PINS = "length(pinnedNotes) > `1`"
MORNING_PINS = "length(pinnedNotes) > `2`"
RUNNING = ("finding", "shrinking")


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    folder = tmp_path_factory.mktemp("search")
    with Inspector(as_export(folder / "log.jsonl", EVENTS), env=environment_in(folder)) as running:
        yield running


def ended(inspector: Inspector) -> dict[str, Any]:
    """The search, once it is over."""
    until = time.monotonic() + ANSWER_S
    while (shown := inspector.get("/api/search"))["phase"] in RUNNING:
        assert time.monotonic() < until
        time.sleep(0.02)  # the API tells of a search as it goes on; nothing tells of its end
    return shown


def searched(inspector: Inspector, expression: str, **more: Any) -> dict[str, Any]:
    inspector.post("/api/search", expression=expression, **more)
    return ended(inspector)


class TestASearch:
    def test_finds_the_first_event_and_shrinks_the_log_to_a_story(self, inspector: Inspector) -> None:
        shown = searched(inspector, TWO_PINS)
        assert (shown["phase"], shown["expression"], shown["message"]) == ("done", TWO_PINS, "")
        assert (shown["found"]["seq"], shown["found"]["words"]) == (EVENTS[4].seq, "pinned budget.md")
        assert shown["found"]["changes"] == ["pinned + budget.md at 1"]
        steps = [(each["origin"], each["words"]) for each in shown["story"]]
        assert steps == [(1, "opened the vault v"), (3, "pinned a.md"), (5, "pinned budget.md")]
        assert (shown["given"], shown["left"]) == (5, 3) and shown["asked"] > 3

    def test_of_a_running_daemons_log_leaves_no_event(
        self, inspect: Callable[..., Inspector], daemon: Factory
    ) -> None:
        running = daemon()
        with running.connect("editor") as client:
            for note in ("a.md", "b.md", "c.md"):
                client.publish([{"type": "note_pinned", "data": {"note": note}}])
            before = client.state()
            shown = searched(inspect(running.data), "length(pinnedNotes) > `2`")
            assert [each["words"] for each in shown["story"]][1:] == [
                "pinned a.md",
                "pinned b.md",
                "pinned c.md",
            ]
            assert client.state() == before
            client.publish([{"type": "note_unpinned", "data": {"note": "a.md"}}])
            assert client.state()["seq"] == before["seq"] + 1

    def test_says_what_is_never_true_and_what_always_was(self, inspector: Inspector) -> None:
        never = searched(inspector, "length(pinnedNotes) > `9`")
        assert (never["phase"], never["code"], never["story"]) == ("failed", "NEVER_TRUE", [])
        assert never["message"] == "It is not true after any event up to 7."
        always = searched(inspector, "seq >= `0`")
        assert (always["phase"], always["code"]) == ("failed", "ALREADY_TRUE")

    @pytest.mark.parametrize("wrong", ["pinnedNotes[", "pinned", "nothing(seq)", "", "x" * 10_001])
    def test_is_not_begun_with_what_is_no_expression(self, inspector: Inspector, wrong: str) -> None:
        before = inspector.get("/api/search")
        assert inspector.error("/api/search", "POST", json={"expression": wrong}) == (400, "INVALID_ARGUMENT")
        assert inspector.get("/api/search") == before


class TestALongSearch:
    @pytest.fixture
    def long(self, inspect: Callable[..., Inspector], tmp_path: Path) -> Inspector:
        """Over a log in which shrinking takes long: many pins, all of which matter."""
        pins = [c.NotePinned(NoteId(f"{number}.md")) for number in range(900)]
        return inspect(as_export(tmp_path / "long.jsonl", logs.recorded(*logs.opened(V), *pins)))

    def test_is_stopped_and_keeps_what_it_found(self, long: Inspector) -> None:
        long.post("/api/search", expression="length(pinnedNotes) >= `900`")
        assert long.error("/api/search", "POST", json={"expression": TWO_PINS}) == (409, "BUSY")
        assert long.get("/api/calls")["calls"] == []  # other views answer meanwhile
        until = time.monotonic() + ANSWER_S
        while (shown := long.get("/api/search"))["asked"] < 10:
            assert time.monotonic() < until
        assert (shown["phase"], shown["given"], shown["left"]) == ("shrinking", 901, 901)
        long.post("/api/search/stop")
        shown = ended(long)
        assert (shown["phase"], shown["found"]["seq"]) == ("stopped", 901)
        assert len(shown["story"]) == shown["left"] == 901
        assert searched(long, TWO_PINS)["phase"] == "done"


class TestItsFiles:
    def test_are_a_bundle_that_leads_to_the_same(self, inspector: Inspector, tmp_path: Path) -> None:
        searched(inspector, TWO_PINS)
        with replay.open(save(inspector, "bundle", tmp_path)) as log:
            assert log.find(TWO_PINS).seq == 3
            assert len(log.events()) == 3


def save(inspector: Inspector, name: str, folder: Path) -> Path:
    """The file, under the name that a browser gives it."""
    answer = inspector.request("GET", f"/api/search/{name}")
    assert answer.status_code == 200, answer.text
    file = folder / answer.headers["content-disposition"].split('"')[1]
    file.write_bytes(answer.content)
    return file


class TestAnExpression:
    @pytest.mark.parametrize(
        ("expression", "is_true", "value"),
        [("pinnedNotes[].id", True, ["budget.md", "c.md"]), ("selection", False, None), ("`0`", True, 0)],
    )
    def test_is_tried_at_a_moment(self, inspector: Inspector, expression: str, is_true: bool, value: Any) -> None:
        tried = inspector.get("/api/search/tried", expression=expression)
        assert (tried["seq"], tried["isTrue"], tried["value"], tried["trouble"]) == (7, is_true, value, "")
        assert inspector.get("/api/search/tried", expression="pinnedNotes[].id", at=3)["value"] == ["a.md"]

    @pytest.mark.parametrize(
        ("expression", "position"),
        [
            ("pinnedNotes[?", 13),
            ("seq && pinned", 7),
            ("nothing(seq)", 0),
            ("length(`1`", 10),
            ("seq | null", None),
        ],
    )
    def test_that_is_wrong_says_where(self, inspector: Inspector, expression: str, position: int | None) -> None:
        tried = inspector.get("/api/search/tried", expression=expression)
        assert not tried["isTrue"]
        assert tried["position"] == position
        assert (tried["trouble"] != "") == (position is not None)

    def test_is_completed_with_fields_values_and_functions(self, inspector: Inspector) -> None:
        words = {each["text"]: each for each in inspector.get("/api/search/words")["words"]}
        assert words["activeNote.id"]["values"] == ["'budget.md'"]
        assert words["pinnedNotes[].id"]["values"] == ["'budget.md'", "'c.md'"]
        assert words["pinnedNotes"]["about"] == "a list" and words["seq"]["values"] == ["`7`"]
        assert words["contains("]["kind"] == "function"
        at_first = {each["text"]: each for each in inspector.get("/api/search/words", at=3)["words"]}
        assert at_first["pinnedNotes[].id"]["values"] == ["'a.md'"]
