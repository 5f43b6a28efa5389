"""The secret beside the log that makes keys of hashes: with the log alone nobody can try a guess against them."""

import secrets
from pathlib import Path
from typing import Final

from workspaced_events.errors import DiskFull, LogFailed
from workspaced_events.log.segments import NO_SPACE
from workspaced_events.private_files import read_private, write_durably

_NAME: Final = "overlay-key"
_BYTES: Final = 32


def secret_in(data: Path) -> bytes:
    """The secret of a data directory, made where there is none.

    Raises:
        DiskFull, LogFailed: it can be neither read nor written.
    """
    try:
        found = read_private(data / _NAME)
        if found is None:
            found = secrets.token_bytes(_BYTES)
            write_durably(data / _NAME, found)
    except OSError as error:
        kind = DiskFull if error.errno in NO_SPACE else LogFailed
        raise kind(
            f"Cannot read or write {_NAME} in the data directory: {error.strerror or error}.",
            hint="Requests go on without context until it can be. Free some space or check the disk.",
            file=_NAME,
        ) from error
    return found
