"""The log of a morning in which an agent answers wrongly, as a bundle to look into.

docs/generator/demo_morning.py makes it. Its events have the same sequences everywhere.
"""

import os
from importlib.resources import files
from pathlib import Path
from typing import Final

from workspaced_events.private_files import make_folder, write_file

QUESTION: Final = "The writer answered 22 June; the note Kickoff says 29 June. Why?"
INSTALLED: Final = Path(str(files(__package__) / "morning.wsb"))
NAME: Final = "demo.wsb"


def leave_log(folder: Path) -> Path:
    """Writes the bundle into the folder, which is made if it is missing; replaces the one of an earlier demo.

    Raises:
        OSError: the folder cannot be made or written to; an earlier bundle is then unchanged.
    """
    make_folder(folder)
    left = folder / NAME
    written = folder / f".{NAME}-{os.urandom(8).hex()}.tmp"
    try:
        write_file(written, INSTALLED.read_bytes())
        written.replace(left)
    finally:
        written.unlink(missing_ok=True)
    return left
