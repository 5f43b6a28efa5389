"""Output of commands: JSON, tables, bytes, warnings, progress."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from workspaced_events.errors import InvalidArgument
from workspaced_events.escaping import escape_control
from workspaced_events.private_files import FILE_MODE

from .options import given
from .printing import print_bytes, print_json, say, styled, warn
from .screen import columns, wrapped

T = TypeVar("T")


def output(answer: T, show: Callable[[T], None] | str) -> None:
    """Prints the answer of a command: for people as `show` does, or as this line; with --json as JSON."""
    if given("json"):
        print_json(answer)
    elif isinstance(show, str):
        say(show)
    else:
        show(answer)


def output_rows(rows: Sequence[T], show: Callable[[Sequence[T]], None], none: str) -> None:
    """Prints rows: for people as `show` does, or that there are `none`; with --json one a line."""
    if given("json"):
        print_json(*rows)
    elif rows:
        show(rows)
    else:
        say(none, err=True)


_PATIENCE_S = 1.0


@contextmanager
def segment_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar for segments, on stderr if it is a terminal and reading takes its time; otherwise None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar, begun = Progress(console=Console(stderr=True), transient=True), time.monotonic()
    task = bar.add_task(what, total=None)

    def show(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if done < total and time.monotonic() - begun > _PATIENCE_S:
            bar.start()

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


def print_table(
    rows: Sequence[tuple[str, ...]],
    right: set[int],
    colours: Mapping[int, str] | None = None,
    *,
    drop: Sequence[int] = (),
    wrap: int | None = None,
) -> None:
    """Prints aligned columns that fit the terminal.

    Args:
        right: columns that are right-aligned.
        colours: maps row numbers to colours.
        drop: columns that a narrow terminal does without, the first one first.
        wrap: the column whose cells go on in a further line where that is not enough; they break at spaces.
    """
    cells = [[escape_control(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    kept, limit = list(range(len(widths))), columns()

    def width() -> int:
        return sum(widths[at] + 2 for at in kept) - 2

    for column in drop:
        if limit is not None and width() > limit:
            kept.remove(column)
    if limit is not None and wrap is not None and width() > limit:
        widths[wrap] = max(_CELL_CHARS_MIN, widths[wrap] - (width() - limit))
    for number, row in enumerate(cells):
        for line in _lines_of(row, widths, wrap):
            padded = (line[at].rjust(widths[at]) if at in right else line[at].ljust(widths[at]) for at in kept)
            say(styled("  ".join(padded).rstrip(), fg=(colours or {}).get(number)))


_CELL_CHARS_MIN = 10


def _lines_of(row: list[str], widths: list[int], wrap: int | None) -> Iterator[list[str]]:
    """The lines of one row: several where the cell of column `wrap` is wider than its column."""
    if wrap is None or len(row[wrap]) <= widths[wrap]:
        yield row
        return
    for number, part in enumerate(wrapped(row[wrap], widths[wrap])):
        yield [part if at == wrap else "" if number else cell for at, cell in enumerate(row)]


def write_lines(lines: Iterator[bytes], output: Path | None) -> None:
    """Writes a file as a whole or not at all, readable by its owner only. None: standard output.

    Raises:
        InvalidArgument: the file cannot be written.
    """
    if output is None:
        print_bytes(*lines)
        return
    if output.exists() and not output.is_file():  # a device or a pipe is written to, never replaced
        with _naming(output):
            device = output.open("wb")
        with device:
            device.writelines(lines)
        return
    # An unpredictable name: in a folder like /tmp others could create a file or link with a known name.
    temporary = output.with_name(f".workspaced-{os.urandom(8).hex()}.tmp")
    with _naming(output):
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE
        )
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, FILE_MODE)  # os.open applies the umask, which may remove the owner's rights too
            file.writelines(lines)
        with _naming(output):
            temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def print_warnings(warnings: Iterable[str]) -> None:
    """Prints the warnings of reading a log."""
    for warning in warnings:
        warn(warning)


@contextmanager
def _naming(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidArgument(
            f"Cannot write {output!s}: {error.strerror or error}.",
            hint="Name a file in a folder that is there and that you may write to.",
        ) from None
