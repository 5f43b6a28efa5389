"""The index's tables of files that are no notes: their paths, and which notes name an attachment of which name.

Of such a name only a short hash is stored, so that the index tells nothing about withheld notes but how many
attachments they name. What a withheld note embedded before its last change stays until a crawl that
began afterwards has ended: the note may have moved, or may be being saved in parts.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from workspaced_events.ids import NoteId

from ...notes.name_keys import without_case
from .database import IndexFile
from .entries import Withheld


class Embedder(NamedTuple):
    """A note that names an attachment of some name."""

    note: NoteId | None
    """None: the note is gone, and may have moved; it was withheld."""
    withheld: Withheld


def file_name(path: str) -> str:
    """The name under which `files_named` finds the file at `path`; the `key` of a link's target that means it."""
    return without_case(path.rpartition("/")[2])


def files_named(file: IndexFile, name: str) -> list[str]:
    """The paths of the files with this `file_name`, in no particular order."""
    return [row[0] for row in file.read("SELECT path FROM files WHERE name = ?", (name,))]


def all_files(file: IndexFile) -> list[str]:
    """The paths of all files that are no notes."""
    return [row[0] for row in file.read("SELECT path FROM files")]


def any_file_below(file: IndexFile, folder: str) -> bool:
    """Whether any such file is below `folder`, a path that ends in a slash."""
    below = (folder, f"{folder[:-1]}0")  # `0` follows the slash
    return bool(file.read("SELECT 1 FROM files WHERE path > ? AND path < ? LIMIT 1", below))


def embedders(file: IndexFile, names: tuple[bytes, bytes]) -> list[Embedder]:
    """The notes that may name an attachment with one of these `name_hash`es."""
    rows = file.read(
        "SELECT n.path, n.withheld FROM embedded e LEFT JOIN notes n ON n.note = e.note WHERE e.name IN (?, ?)",
        names,
    )
    return [Embedder(path, Withheld(withheld or 0)) for path, withheld in rows]


def replace_files(file: IndexFile, paths: Sequence[str]) -> None:
    """Makes these the only files. Raises as `IndexFile.writing`."""
    known = set(all_files(file))
    present = set(paths)
    change_files(file, present - known, known - present)


def change_files(file: IndexFile, found: Iterable[str], gone: Iterable[str]) -> None:
    """Adds and removes files. Raises as `IndexFile.writing`."""
    added, removed = [(path, file_name(path)) for path in found], [(path,) for path in gone]
    if added or removed:
        with file.writing() as db:
            db.executemany("INSERT OR IGNORE INTO files VALUES (?, ?)", sorted(added))
            db.executemany("DELETE FROM files WHERE path = ?", removed)


# -- the names that notes embed; `former` is 0, or 1 for a former version, or 2 once a crawl began since --


def age_former(file: IndexFile) -> None:
    """Takes that a crawl begins. Raises as `IndexFile.writing`."""
    if file.read("SELECT 1 FROM embedded WHERE former = 1 LIMIT 1"):
        with file.writing() as db:
            db.execute("UPDATE embedded SET former = 2 WHERE former = 1")


def forget_former(file: IndexFile) -> None:
    """Takes that a crawl has ended: what was former when it began is gone. Raises as `IndexFile.writing`."""
    if file.read("SELECT 1 FROM embedded WHERE former = 2 LIMIT 1"):
        with file.writing() as db:
            db.execute("DELETE FROM embedded WHERE former = 2")


def keep_embedded(db: Any, former: int, number: int | None, *, is_read: bool) -> None:
    """Keeps the rows of a note's former version, because the present one is withheld, or gone and was withheld.

    Args:
        number: of the present version; None: the note is gone.
        is_read: whether the present version was read, so that it has rows of its own.
    """
    if is_read or number is None:
        db.execute("UPDATE embedded SET former = max(former, 1) WHERE note = ?", (former,))
    if number is not None:
        db.execute("UPDATE embedded SET note = ? WHERE note = ?", (number, former))


def put_embedded(db: Any, rows: list[tuple[bytes, int]]) -> None:
    """Adds rows (name, number of the note) of present versions."""
    db.executemany("INSERT OR REPLACE INTO embedded VALUES (?, ?, 0)", sorted(rows))


def drop_embedded(db: Any, number: int) -> None:
    """Removes the rows of a note, former ones included."""
    db.execute("DELETE FROM embedded WHERE note = ?", (number,))
