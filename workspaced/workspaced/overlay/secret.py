"""The secret beside the log that makes keys of hashes: with the log alone nobody can try a guess against them."""

import secrets
from pathlib import Path
from typing import Final

from workspaced_events.private_files import read_private, write_durably

_NAME: Final = "overlay-key"
_BYTES: Final = 32


def secret_in(data: Path) -> bytes:
    """The secret of a data directory, made where there is none.

    Raises:
        OSError: it can be neither read nor written.
    """
    found = read_private(data / _NAME)
    if found is None:
        found = secrets.token_bytes(_BYTES)
        write_durably(data / _NAME, found)
    return found
