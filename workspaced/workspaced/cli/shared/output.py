"""What commands print: JSON, tables, bytes, warnings, progress."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.escaping import shown as shown
from workspaced_events.private_files import FILE_MODE


@contextmanager
def segment_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr that counts segments, where a person watches; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_json(value: Any) -> None:
    """One JSON value on a line, for programs."""
    click.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def print_ndjson(values: Iterable[Any]) -> None:
    """Values of ours as JSON, one a line, for programs."""
    print_bytes(b"".join(msgspec.json.encode(value) + b"\n" for value in values))


def print_bytes(data: bytes) -> None:
    """To standard output, to the byte."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_table(
    rows: Sequence[tuple[str, ...]], right: set[int], colours: Mapping[int, str] | None = None
) -> None:
    """Columns as wide as they must be; those of `right` end together. `colours` are those of some rows."""
    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        padded = (
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        click.echo(click.style("  ".join(padded).rstrip(), fg=(colours or {}).get(number)))


def write_lines(lines: Iterator[bytes], output: Path | None) -> None:
    """Writes a file whole, or not at all; only its owner can read it. None: to standard output.

    Raises:
        InvalidArgument: there can be no such file.
    """
    if output is None:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
        return
    if output.exists() and not output.is_file():  # a device or a pipe is written to, never replaced
        with _naming(output):
            device = output.open("wb")
        with device:
            device.writelines(lines)
        return
    # No name that others could guess: in a folder like /tmp they would put a file or a link of theirs there.
    aside = output.with_name(f".workspaced-{os.urandom(8).hex()}.tmp")
    with _naming(output):
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, FILE_MODE)  # a strict umask has taken rights from its owner, too
            file.writelines(lines)
        with _naming(output):
            aside.replace(output)
    finally:
        aside.unlink(missing_ok=True)


def print_warnings(warnings: list[str]) -> None:
    """What reading a log warned of."""
    for warning in warnings:
        click.echo(f"{click.style('warning:', fg='yellow')} {warning}", err=True)


@contextmanager
def _naming(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidArgument(
            f"Cannot write {shown(str(output))}: {error.strerror or error}.",
            hint="Name a file in a folder that is there and that you may write to.",
        ) from None
