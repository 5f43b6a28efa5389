"""The log of a morning in which an agent answers wrongly, as a bundle to look into.

docs/generator/demo_morning.py makes it. Its events have the same sequences everywhere.
"""

import os
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Final

from workspaced_events.private_files import make_folder, write_file

from ..discovery.own_files import DEMO, DEMO_HOME

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


EDITED: Final = "move/Kitchen budget.md"
"""The note that the demo edits."""
LINE: Final = "Edited a moment ago: the tiles arrive on Friday."
_ADDED: Final = f"\n{LINE}\n"
_INSTALLED: Final = Path(str(files(__package__) / "vault"))


def copied(name: str) -> Path:
    """A new folder with the copy below `name`; `workspaced uninstall` of this home knows it as its own.

    Raises:
        OSError: it cannot be made; nothing is left of it.
    """
    root = Path(tempfile.mkdtemp(prefix=DEMO))
    try:
        (root / DEMO_HOME).write_text(str(Path.home()))
        shutil.copytree(_INSTALLED, root / name)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    return root


def edit(folder: Path) -> None:
    """Appends a line to a note of the copy, as any editor would."""
    with (folder / EDITED).open("a") as note:
        note.write(_ADDED)


def is_changed(folder: Path) -> bool:
    """Whether the copy holds anything but the sample, and what the demo writes into it."""
    found, sample = _texts(folder), _texts(_INSTALLED)
    if found.get(EDITED) == sample[EDITED] + _ADDED.encode():
        found[EDITED] = sample[EDITED]
    return found not in ({}, sample)


def _texts(folder: Path) -> dict[str, bytes]:
    inner = (each for each in folder.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in inner}
