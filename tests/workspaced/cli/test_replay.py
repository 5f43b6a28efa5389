"""`workspaced replay`: up to a place, of a vault, and step by step."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from workspaced.cli import run
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, to_json
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.open import open_source
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Data, Event, UnknownEvent

V, W = VaultId("v"), VaultId("w")
A, B = NoteId("a.md"), NoteId("b.md")
SESSION: list[tuple[Data, VaultId]] = [
    (c.VaultOpened(V, "v", "/v"), V),
    (c.VaultOpened(W, "w", "/w"), W),
    (c.NotePinned(note=A), V),
    (c.TemporaryTabOpened(note=B, source="search"), W),
    (c.ActiveNoteSet(note=B), V),
    (c.DaemonStopped("SIGTERM"), V),
]


def time_of(seq: int) -> str:
    """Two events a second."""
    return f"2026-03-01T10:00:{seq // 2:02}.000000Z"


def events_of(session: list[tuple[Data, VaultId]]) -> list[Event]:
    return [
        ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), time_of(seq), "ui", vault, data)
        for seq, (data, vault) in enumerate(session, start=1)
    ]


Answer = SimpleNamespace


@pytest.fixture
def replay(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Any]:
    """`replay(events, *flags)`: runs the command on an export of them; says what it printed and its exit code."""

    def ran(events: list[Event], *flags: str) -> Any:
        file = tmp_path / "export.jsonl"
        file.write_bytes(b"".join(export_lines("log-1", events)))
        code = run(["replay", str(file), *flags])
        sys.stdout.flush()
        said = capfdbinary.readouterr()
        return Answer(code=code, out=said.out.decode(), err=said.err.decode())

    return ran


EVENTS = events_of(SESSION)


def state_json(events: list[Event], vault: VaultId | None = None) -> Any:
    return msgspec.to_builtins(to_json(fold_all(events, EMPTY), vault))


class TestUntil:
    @pytest.mark.parametrize(
        ("until", "seq"), [("0", 0), ("4", 4), ("2026-03-01T11:00:01+01:00", 3), ("2027-01-01", 6)]
    )
    def test_it_is_the_state_after_that_event_or_the_last_one_by_that_time(
        self, replay: Any, until: str, seq: int
    ) -> None:
        assert json.loads(replay(EVENTS, "--json", "--until", until).out) == state_json(EVENTS[:seq])

    @pytest.mark.parametrize(
        ("until", "named"),
        [("7", ["6", time_of(6)]), ("2026-03-01T09:59:59Z", ["1", time_of(1)]), ("yesterday", [])],
    )
    def test_what_the_log_does_not_hold_is_refused_and_what_it_holds_is_named(
        self, replay: Any, until: str, named: list[str]
    ) -> None:
        done = replay(EVENTS, "--until", until)
        assert done.code == 2 and "INVALID_ARGUMENT" in done.err
        assert all(each in done.err for each in named)

    def test_an_export_of_a_part_names_where_it_begins(self, replay: Any) -> None:
        done = replay(EVENTS[3:], "--until", "2")
        assert done.code == 2 and f"event 4 at {time_of(4)}" in done.err
        assert [replay(EVENTS[3:], "--until", until).code for until in ("3", "4")] == [0, 0]
        assert [replay([], "--until", until).code for until in ("0", "1", "2026-03-01")] == [0, 2, 2]


class TestOfVault:
    @pytest.mark.parametrize("vault", [V, W])
    def test_shows_that_vault(self, replay: Any, vault: VaultId) -> None:
        assert json.loads(replay(EVENTS, "--json", "--of-vault", vault).out) == state_json(EVENTS, vault)

    def test_one_that_the_log_does_not_hold_is_refused(self, replay: Any) -> None:
        done = replay(EVENTS, "--of-vault", "x")
        assert done.code == 2 and "v, w" in done.err


def test_reading_an_export_tells_how_far_it_is(tmp_path: Path) -> None:
    lines = b"".join(export_lines("log-1", events_of([SESSION[0], *[SESSION[2]] * 25_000])))
    (tmp_path / "export").write_bytes(lines)
    told: list[tuple[int, int]] = []
    with open_source(tmp_path / "export") as source:
        source.feed(lambda _events: None, lambda done, total: told.append((done, total)))
    assert len(told) >= 3 and told == sorted(told)
    assert told[-1] == (len(lines), len(lines))


class TestStepsAsText:
    def test_every_event_is_a_block_with_what_it_changed(self, replay: Any) -> None:
        blocks = replay(EVENTS, "--steps", "--utc").out.split("\n\n")
        assert blocks[2].splitlines() == [
            "3 note_pinned",
            f"  {time_of(3).replace('T', ' ')} by ui in v",
            '  note: "a.md"',
            "  => pinned + a.md at 0",
        ]
        assert [block.split(maxsplit=1)[0] for block in blocks[:6]] == list("123456")

    def test_as_json_they_are_events_with_their_changes(self, replay: Any) -> None:
        steps = [json.loads(line) for line in replay(EVENTS, "--steps", "--json").out.splitlines()]
        assert [step["event"] for step in steps] == [msgspec.to_builtins(event) for event in EVENTS]
        assert [bool(step["changes"]) for step in steps] == [True, True, True, False, True, False]
        steps_of_w = replay(EVENTS, "--steps", "--json", "--of-vault", "w").out.splitlines()
        assert "temporaryTabs" in {change["field"] for change in json.loads(steps_of_w[3])["changes"]}
        assert {"field": "pinnedNotes", "kind": "added", "id": "a.md", "at": 0}.items() <= {
            key: value for key, value in steps[2]["changes"][0].items() if key != "after"
        }.items()

    @pytest.mark.parametrize(
        ("raw", "text"), [(b'{"stars": 1.50, "of":"\\u001b"}', None), (b'["\xff"]', r'["\xff"]')]
    )
    def test_what_is_unknown_is_shown_as_it_stands(self, replay: Any, raw: bytes, text: str | None) -> None:
        event = UnknownEvent(1, EventId("x"), time_of(1), "ui", V, kind="note_starred", data=msgspec.Raw(raw))
        assert (text or raw.decode()) in replay([event], "--steps").out
