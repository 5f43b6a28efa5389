"""`workspaced replay --watch`: the terminal around a `Stepper`.

`Watching` handles keys and lays out the display; `watch` drives the terminal. The terminal stays in one mode from
the first display to the end, so nothing typed ahead is lost or echoed.
"""

import codecs
import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.layout import Layout
from rich.text import Text

from workspaced_events.errors import WorkspacedError
from workspaced_events.escaping import escape_control
from workspaced_events.projections.state_diff import lines

from ...terminal.state_text import state_lines
from ...terminal.step_text import event_lines
from .stepper import Stepper

_WIDE_COLUMNS: Final = 90
"""From this width on the state is shown beside the event, otherwise below it."""
_TYPED_BYTES: Final = 1_024
_TYPED_CHARS_MAX: Final = 200
_KEY: Final = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)

_MOVES: Final[dict[str, Callable[[Stepper], None]]] = {
    **dict.fromkeys(("n", " ", "\x1b[C", "\x1bOC"), lambda stepper: stepper.move(1)),
    **dict.fromkeys(("p", "\x1b[D", "\x1bOD"), lambda stepper: stepper.move(-1)),
    **dict.fromkeys(("\x1b[B", "\x1bOB"), lambda stepper: stepper.move(10)),
    **dict.fromkeys(("\x1b[A", "\x1bOA"), lambda stepper: stepper.move(-10)),
    **dict.fromkeys(("]", "\x1b[6~"), lambda stepper: stepper.move(100)),
    **dict.fromkeys(("[", "\x1b[5~"), lambda stepper: stepper.move(-100)),
    **dict.fromkeys(("g", "\x1b[H", "\x1bOH", "\x1b[1~"), Stepper.first),
    **dict.fromkeys(("G", "\x1b[F", "\x1bOF", "\x1b[4~"), Stepper.last),
}
_QUESTIONS: Final[dict[str, tuple[str, Callable[[Stepper, str], None]]]] = {
    **dict.fromkeys(("/", "t"), ("go to sequence or time: ", Stepper.jump)),
    "f": ("show only (changes, types; empty: all): ", Stepper.filter),
}
_HELP: Final = "→ ← step   ↓ ↑ 10   ] [ 100   g G ends   / go to   f filter   q quit"


def watch(stepper: Stepper) -> None:
    """Shows the steps in the terminal until the user quits.

    Raises:
        KeyboardInterrupt: on Ctrl-C, after the terminal was restored.
    """
    console = Console()
    watching = Watching(stepper)
    with _keyboard() as keyboard, console.screen() as screen:
        screen.update(watching.picture(console.width))
        for typed in keyboard:
            if not all(watching.press(key) for key in _KEY.findall(typed)):
                return
            screen.update(watching.picture(console.width))


class Watching:
    """The display, and the effect of each key."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper
        self._question: tuple[str, Callable[[Stepper, str], None]] | None = None
        self._answer = ""
        self._message = ""

    def press(self, key: str) -> bool:
        """Handles a key, as the terminal sends it; returns False to quit."""
        self._message = ""
        if self._question is not None:
            self._type(key)
        elif key in _MOVES:
            _MOVES[key](self._stepper)
        elif key in _QUESTIONS:
            self._question, self._answer = _QUESTIONS[key], ""
        return key != "q" or self._question is not None

    def _type(self, key: str) -> None:
        assert self._question is not None
        if key in ("\r", "\n"):
            ask, self._question = self._question[1], None
            try:
                ask(self._stepper, self._answer.strip())
            except WorkspacedError as error:
                self._message = str(error)
        elif key == "\x1b":
            self._question = None
        elif key in ("\x7f", "\b"):
            self._answer = self._answer[:-1]
        elif key.isprintable() and len(self._answer) < _TYPED_CHARS_MAX:
            self._answer += key

    def picture(self, columns: int) -> Layout:
        """The display for a terminal of that width; it crops itself to any height."""
        view = self._stepper.view()
        where = f"{view.position} of {view.events} events"
        if view.filter:
            where += f"   only {escape_control(view.filter)}: {view.stop} of {view.stops}"
        if view.event is None:
            event = _Pane("the start", ["before the first event" if view.events else "the log holds no event"])
        else:
            what, *rest = event_lines(view.event)
            event = _Pane(what, rest)
        difference = _Pane("changes", lines(view.changes) or ["nothing"])
        state = _Pane("state", state_lines(msgspec.to_builtins(view.state)))
        body = Layout()
        if columns >= _WIDE_COLUMNS:
            left = Layout(ratio=3)
            left.split_column(Layout(event), Layout(difference))
            body.split_row(left, Layout(state, ratio=2))
        else:
            body.split_column(Layout(event), Layout(difference), Layout(state))
        whole = Layout()
        whole.split_column(
            Layout(_Pane(where, []), size=1), body, Layout(Text(self._footer(), "dim", no_wrap=True), size=1)
        )
        return whole

    def _footer(self) -> str:
        if self._question is not None:
            return f"{self._question[0]}{escape_control(self._answer)}_"
        return escape_control(self._message) or _HELP


class _Pane:
    """A title and lines, cropped to the width; if the height is too small, the last line says so."""

    def __init__(self, title: str, rows: list[str]) -> None:
        self._title = title
        self._rows = rows

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        fitting = max((options.height or len(self._rows) + 1) - 1, 0)
        rows = self._rows
        if len(rows) > fitting:
            rows = [*rows[: max(fitting - 1, 0)], f"… {len(rows) - max(fitting - 1, 0)} more lines"]
        yield Text(self._title, "bold", no_wrap=True, overflow="ellipsis")
        for row in rows[:fitting]:
            yield Text(row, no_wrap=True, overflow="ellipsis")


@contextmanager
def _keyboard() -> Iterator[Iterator[str]]:
    """Yields typed text as it comes, without Enter and echo; an empty text after each change of the window's size.

    Ctrl-C is raised only while waiting for text, never during a drawing, because an interrupted drawing might
    leave the screen in a bad mode. Signals arrive as bytes in a pipe, because a Python handler would not run for a
    signal just before the wait.
    """
    own = sys.stdin.isatty()
    terminal = sys.stdin.fileno() if own else os.open("/dev/tty", os.O_RDONLY)
    signals, signalled = os.pipe()
    mode = termios.tcgetattr(terminal)
    os.set_blocking(signalled, False)
    wakeup = signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
    handlers = {each: signal.signal(each, lambda *_: None) for each in (signal.SIGWINCH, signal.SIGINT)}
    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        yield _typed(terminal, signals)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, mode)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        for descriptor in (signals, signalled, *(() if own else (terminal,))):
            os.close(descriptor)


def _typed(terminal: int, signals: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        ready, _, _ = select.select([terminal, signals], [], [])
        if signals in ready:
            if signal.SIGINT in os.read(signals, _TYPED_BYTES):
                raise KeyboardInterrupt
            yield ""
        if terminal in ready:
            if not (typed := os.read(terminal, _TYPED_BYTES)):
                return
            yield decoder.decode(typed)
