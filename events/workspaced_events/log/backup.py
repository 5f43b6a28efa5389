"""Copies a data directory so that the copy is one moment of its log, also while a daemon writes.

The order makes it so. HEAD is never ahead of the log, and a text is written before the event that names it. So
HEAD comes first, then the segments, the last one up to its last whole line, then everything else. The daemon may
sweep some of what agents were shown meanwhile, so the mark `swept` comes last.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from .data_directory import BLOBS, ERASURE, LOG, SERVED, SNAPSHOTS, SWEPT
from .disk import RealDisk, write_all
from .head import NAME as HEAD

_LEFT_OUT: Final = {"lock", "cache", ERASURE, SNAPSHOTS}
"""What a start makes anew, and what only the directory itself needs."""


def back_up(directory: Path, to: Path) -> int:
    """Copies a data directory, durably; returns the bytes of the copy.

    Args:
        directory: only read; a daemon may write it meanwhile. A damaged log is copied as it is.
        to: an empty folder outside it.

    Raises:
        OSError: a file cannot be read or written; `to` holds a part of the copy.
    """
    source, copy = RealDisk(directory), RealDisk(to)
    folders, count = set(), 0
    for name in _in_order(source, directory):
        folder = name.rpartition("/")[0]
        try:
            data = source.read(name)
        except FileNotFoundError:  # swept, or of a batch that was refused: no event in the copy needs it
            continue
        if name.startswith(f"{LOG}/") and name != HEAD:
            data = data[: data.rfind(b"\n") + 1]
        if folder not in folders:
            copy.make_directory(folder or ".")
            folders.add(folder)
        file = copy.open(name, create=True)
        try:
            write_all(file, 0, data)
            file.sync()
        finally:
            file.close()
        count += len(data)
    for folder in folders:
        copy.sync_directory(folder)
    return count


def _in_order(source: RealDisk, directory: Path) -> Iterator[str]:
    """The names of the files to copy. Each folder is listed when its turn comes."""
    yield HEAD
    yield from (name for each in source.names(LOG) if (name := f"{LOG}/{each}") != HEAD)
    others = {each for each in source.names(".") if each not in {*_LEFT_OUT, LOG, BLOBS, SERVED, SWEPT}}
    for top in (BLOBS, *sorted(others), SERVED, SWEPT):
        yield from _files_below(directory / top, top)


def _files_below(path: Path, name: str) -> Iterator[str]:
    with suppress(FileNotFoundError):
        if path.is_file() and not path.is_symlink():
            yield name
        elif path.is_dir() and not path.is_symlink():
            for each in sorted(os.listdir(path)):
                yield from _files_below(path / each, f"{name}/{each}")
