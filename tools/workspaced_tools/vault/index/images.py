"""The index's tables of images: the paths of image files, and which notes embed an image of which name.

Of an embedded image only a short hash of its file name is stored, so that the index tells nothing about withheld
notes but how many images they embed. The rows of a withheld note that is gone stay until a crawl that began
afterwards has ended: the note may have moved, and may still be withheld where it is now.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from workspaced_events.ids import NoteId

from ...notes.name_keys import fold
from .database import IndexFile

_ORPHANS: Final = "SELECT DISTINCT note FROM embedded WHERE note NOT IN (SELECT note FROM notes)"


class Embedder(NamedTuple):
    """A note that embeds an image of some name."""

    note: NoteId | None
    """None: the note is gone, and may have moved; it was withheld."""
    is_withheld: bool


def image_name(path: str) -> str:
    """The name under which `images_named` finds the image at `path`."""
    return fold(path.rpartition("/")[2])


def images_named(file: IndexFile, name: str) -> list[str]:
    """The paths of the image files with this `image_name`, in no particular order."""
    return [row[0] for row in file.read("SELECT path FROM images WHERE name = ?", (name,))]


def any_image_below(file: IndexFile, folder: str) -> bool:
    """Whether any image is below `folder`, a path that ends in a slash."""
    below = (folder, f"{folder[:-1]}0")  # `0` follows the slash
    return bool(file.read("SELECT 1 FROM images WHERE path > ? AND path < ? LIMIT 1", below))


def embedders(file: IndexFile, name: bytes) -> list[Embedder]:
    """The notes that embed an image with this `name_hash`."""
    rows = file.read(
        "SELECT n.path, n.withheld FROM embedded e LEFT JOIN notes n ON n.note = e.note WHERE e.name = ?", (name,)
    )
    return [Embedder(path, path is None or bool(withheld)) for path, withheld in rows]


def replace_images(file: IndexFile, paths: Sequence[str]) -> None:
    """Makes these the only images. Raises as `IndexFile.writing`."""
    known = {row[0] for row in file.read("SELECT path FROM images")}
    present = set(paths)
    change_images(file, present - known, known - present)


def change_images(file: IndexFile, found: Iterable[str], gone: Iterable[str]) -> None:
    """Adds and removes images. Raises as `IndexFile.writing`."""
    added, removed = [(path, image_name(path)) for path in found], [(path,) for path in gone]
    if added or removed:
        with file.writing() as db:
            db.executemany("INSERT OR IGNORE INTO images VALUES (?, ?)", sorted(added))
            db.executemany("DELETE FROM images WHERE path = ?", removed)


def orphans(file: IndexFile) -> list[int]:
    """The numbers of withheld notes that are gone and whose rows are still here."""
    return [row[0] for row in file.read(_ORPHANS)]


def forget_orphans(file: IndexFile, numbers: Sequence[int]) -> None:
    """Removes the rows of notes that are gone. Raises as `IndexFile.writing`."""
    if numbers:
        with file.writing() as db:
            db.executemany("DELETE FROM embedded WHERE note = ?", [(number,) for number in numbers])


def move_embedded(db: Any, former: int, number: int) -> None:
    """Gives the rows of a note to the next version of it, whose text was not read."""
    db.execute("UPDATE OR REPLACE embedded SET note = ? WHERE note = ?", (number, former))


def put_embedded(db: Any, rows: list[tuple[bytes, int]], replaced: Iterable[int]) -> None:
    """Adds rows (name, number of the note), and removes those of former versions."""
    db.executemany("DELETE FROM embedded WHERE note = ?", [(number,) for number in replaced])
    db.executemany("INSERT OR IGNORE INTO embedded VALUES (?, ?)", sorted(rows))
