"""`workspaced replay --watch`: going through a log, forwards and backwards, and the terminal around it."""

import fcntl
import io
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from support.profiles import examples

from workspaced.cli.log.step_terminal import Watching
from workspaced.cli.log.stepper import Stepper, Tape, View
from workspaced_events.clock import event_time
from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.projections.state_diff import changes
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, to_json
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.source import ExportSource
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Data, Event, UnknownEvent

V, W = VaultId("v"), VaultId("w")
NOTES = [NoteId(f"{name}.md") for name in "abc"]
ANSWER_S = 60.0


def events_of(actions: list[Data | None], *, first: int = 1) -> list[Event]:
    """One event for each action, every tenth of a second; None stands for one of an unknown type."""
    made: list[Event] = []
    for seq, data in enumerate(actions, start=first):
        about = (seq, EventId(f"id-{seq}"), event_time(seq * 100_000_000), "ui", W if seq % 3 == 0 else V)
        if data is None:
            made.append(UnknownEvent(*about, kind="zoom_set", data=msgspec.Raw(b'{"zoom": 1.50}')))
        else:
            made.append(ENTRY_OF[type(data)].event(*about, data))
    return made


def pins(many: int) -> list[Event]:
    return events_of(
        [c.VaultOpened(V, "v", "/v"), *[c.NotePinned(note=NoteId(f"{n}.md")) for n in range(2, many + 1)]]
    )


def stepper_of(events: list[Event], *, at: int = 0, vault: VaultId | None = None) -> Stepper:
    export = io.BytesIO(b"".join(export_lines("", events)))
    return Stepper(Tape(ExportSource(export, "log"), vault), at)


def expected(events: list[Event], position: int, vault: VaultId | None) -> tuple[Any, ...]:
    """What is at a position, by folding from the beginning."""
    before = to_json(fold_all(events[: max(position - 1, 0)], EMPTY), vault)
    after = to_json(fold_all(events[:position], EMPTY), vault)
    return position, events[position - 1] if position else None, changes(before, after), after


def seen(view: View) -> tuple[Any, ...]:
    return view.position, view.event, view.changes, view.state


# -- going through --

A_NOTE = st.sampled_from(NOTES)
AN_ACTION: st.SearchStrategy[Data | None] = st.one_of(
    st.none(),
    st.builds(c.ActiveNoteSet, note=A_NOTE),
    st.builds(c.NotePinned, note=A_NOTE, index=st.none() | st.just(0)),
    st.builds(c.NoteUnpinned, note=A_NOTE),
    st.builds(c.NoteRenamed, from_=A_NOTE, to=A_NOTE),
    st.builds(c.NoteArchived, note=A_NOTE),
    st.builds(c.VaultOpened, vault_id=st.sampled_from([V, W]), name=st.just("n"), path=st.just("/p")),
    st.builds(c.VaultSwitched, vault_id=st.sampled_from([V, W])),
    st.just(c.DaemonStopped("SIGTERM")),
)
A_FILTER = st.sampled_from(["", "changes", "note_pinned", "changes, note_renamed,zoom_set", "daemon_stopped"])
A_MOVE: st.SearchStrategy[Callable[[Stepper], None]] = st.one_of(
    st.integers(-12, 12).map(lambda by: lambda stepper: stepper.move(by)),
    st.just(Stepper.first),
    st.just(Stepper.last),
    st.integers(0, 30).map(lambda seq: lambda stepper: stepper.jump(str(seq))),
    st.integers(1, 400).map(lambda n: lambda stepper: stepper.jump(event_time(n * 10_000_000))),
    A_FILTER.map(lambda text: lambda stepper: stepper.filter(text)),
)


@settings(max_examples=examples(100))
@given(st.lists(AN_ACTION, max_size=25), st.lists(A_MOVE, max_size=15), st.sampled_from([None, V, W]))
def test_whatever_the_way_there_a_position_shows_the_fold_of_what_is_before_it(
    actions: list[Data | None], moves: list[Callable[[Stepper], None]], vault: VaultId | None
) -> None:
    events = events_of(actions)
    stepper = stepper_of(events, vault=vault)
    for move in moves:
        before = stepper.position
        try:
            move(stepper)
        except InvalidArgument:
            assert stepper.position == before
        view = stepper.view()
        assert seen(view) == expected(events, stepper.position, vault)
        assert view.events == len(events) and 0 <= view.position <= len(events)


# -- what the terminal shows --


def drawn(watching: Watching, columns: int = 120, rows: int = 30) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=columns, height=rows, color_system=None)
    with console.screen() as screen:
        screen.update(watching.picture(console.width))
    return out.getvalue()


def pressed(watching: Watching, *keys: str) -> str:
    assert all(watching.press(key) for key in keys)
    return drawn(watching)


RIGHT, LEFT, DOWN, UP, PAGE_DOWN, END, ESCAPE = "\x1b[C", "\x1b[D", "\x1b[B", "\x1b[A", "\x1b[6~", "\x1b[F", "\x1b"


@pytest.mark.parametrize(
    ("keys", "position"),
    [
        ("n ", 52), ([RIGHT, "p", LEFT], 49), ([DOWN], 60), ([UP], 40), ("]", 150), ([PAGE_DOWN], 150), ("[", 0),
        ("gp", 0), ("Gn", 200), ([END], 200), ("t77\n", 77), (["/", "7", "8", "\x7f", "7", "\r"], 77),
        (["/", "7", ESCAPE, "n"], 51), ("/999\r", 50), ("fnope\r", 50), ("fvault_opened\rn", 1), ("x", 50),
        ("/1970-01-01T00:00:07.75\r", 77),
    ],
    ids=repr,
)  # fmt: skip
def test_keys_move(keys: list[str], position: int) -> None:
    assert f"{position} of 200 events" in pressed(Watching(stepper_of(pins(200), at=50)), *keys)


def test_a_step_shows_the_event_the_difference_and_the_state_and_what_was_typed_wrong() -> None:
    watching = Watching(stepper_of(pins(3), at=3))
    shown = drawn(watching)
    assert "3 note_pinned" in shown and 'note: "3.md"' in shown and "pinned       2.md" in shown
    assert "ends with event 3" in pressed(watching, *"/9\r")
    assert "ends with event 3" not in pressed(watching, "p"), "until the next key"
    assert "note_pinned" in pressed(watching, *"fnote_pined\r")
    assert watching.press("/") and watching.press("q") and watching.press(ESCAPE), "q that is typed"
    assert not watching.press("q")
    assert "more lines" in drawn(Watching(stepper_of(pins(60), at=60)))


# -- in a terminal --


class Terminal:
    """A `workspaced replay --watch` in a terminal of its own."""

    def __init__(self, keyboard: int, process: "subprocess.Popen[bytes]") -> None:
        self._keyboard = keyboard
        self._process = process
        self.output = b""

    def until(self, text: bytes) -> None:
        """Reads on until `text` has come since the last such reading."""
        came = b""
        while text not in came:
            assert select.select([self._keyboard], [], [], ANSWER_S)[0], self.output
            came += os.read(self._keyboard, 65_536)
            self.output += came

    def type(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._keyboard)[3] & termios.ECHO)

    def code(self) -> int:
        return self._process.wait(ANSWER_S)


@contextmanager
def terminal(*arguments: str, stdin: bytes | None = None) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "workspaced", "replay", "--watch", *arguments],
        stdin=theirs if stdin is None else subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
        env={**env, "TERM": "xterm-256color", "NO_COLOR": "1"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),  # so that Ctrl-C is its
    )
    try:
        if stdin is not None:
            assert process.stdin is not None
            process.stdin.write(stdin)
            process.stdin.close()
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An export of 40 events."""
    file = tmp_path / "export.jsonl"
    file.write_bytes(b"".join(export_lines("log-1", pins(40))))
    return file


RESTORED = b"\x1b[?1049l"


def test_a_log_is_stepped_through_in_a_terminal(log: Path) -> None:
    with terminal(str(log)) as at:
        at.until(b"1 of 40 events")
        assert not at.echoes()
        at.type(b"nn\x1b[C\x1b[Dn")
        at.until(b"4 of 40 events")
        at.type("/3é\x7f9\r".encode())
        at.until(b"39 of 40 events")
        at.resize(10, 40)
        at.until(b"39 of 40 events")
        at.type(b"q")
        at.until(RESTORED)
        assert at.code() == 0 and at.echoes()
        assert b"\x1b[3" not in at.output.replace(b"\x1b[3m", b"")  # no colour


def test_ctrl_c_gives_the_terminal_back(log: Path) -> None:
    with terminal(str(log), "--until", "30") as at:
        at.until(b"30 of 30 events")
        at.type(b"\x03")
        at.until(RESTORED)
        assert at.code() == 130 and at.echoes() and b"Traceback" not in at.output
