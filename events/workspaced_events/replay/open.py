"""Opens a log for replay from a directory, a bundle, JSON Lines or standard input."""

import shutil
import tempfile
from pathlib import Path
from typing import IO

from ..errors import InvalidArgument
from .bundle import MAGIC, BundleSource
from .source import DirectorySource, ExportSource, StoredSource

_SPOOLED_BYTES_MAX = 16 * 1024 * 1024


def open_source(place: Path | IO[bytes]) -> StoredSource:
    """The source at `place`: a data directory (or its `log` directory), or the file or binary stream of an export
    or a bundle.

    Raises:
        InvalidArgument: `place` is missing or holds no log.
        LogDamaged: nothing of a bundle can be read.
        OSError: the file cannot be read.
    """
    if not isinstance(place, Path):
        return _of_file(_spooled(place), "standard input")
    if place.is_dir():
        return DirectorySource(place)
    if not place.exists():
        raise InvalidArgument(
            f"There is no {place}.", hint="Give a data directory, an export, a bundle, or - for stdin."
        )
    file: IO[bytes] = place.open("rb")
    if not file.seekable():
        with file as pipe:
            file = _spooled(pipe)
    return _of_file(file, place.name)


def _of_file(file: IO[bytes], name: str) -> StoredSource:
    try:
        begin = file.read(len(MAGIC))
        file.seek(0)
        return BundleSource(file, name) if begin == MAGIC else ExportSource(file, name)
    except BaseException:
        file.close()
        raise


def _spooled(stream: IO[bytes]) -> IO[bytes]:
    """A seekable copy of the whole `stream`."""
    file = tempfile.SpooledTemporaryFile(_SPOOLED_BYTES_MAX)  # noqa: SIM115 (lives as long as its source)
    shutil.copyfileobj(stream, file)
    file.seek(0)
    return file
