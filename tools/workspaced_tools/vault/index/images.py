"""The index's tables of images: the paths of image files, and which notes embed an image of which name.

Of an embedded image only a short hash of its file name is stored, so that the index tells nothing about withheld
notes but how many images they embed. What a withheld note embedded before its last change stays until a crawl that
began afterwards has ended: the note may have moved, or may be being saved in parts.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from workspaced_events.ids import NoteId

from ...notes.name_keys import fold
from .database import IndexFile
from .entries import Withheld


class Embedder(NamedTuple):
    """A note that embeds an image of some name."""

    note: NoteId | None
    """None: the note is gone, and may have moved; it was withheld."""
    withheld: Withheld


def image_name(path: str) -> str:
    """The name under which `images_named` finds the image at `path`."""
    return fold(path.rpartition("/")[2])


def images_named(file: IndexFile, name: str) -> list[str]:
    """The paths of the image files with this `image_name`, in no particular order."""
    return [row[0] for row in file.read("SELECT path FROM images WHERE name = ?", (name,))]


def all_images(file: IndexFile) -> list[str]:
    """The paths of all image files."""
    return [row[0] for row in file.read("SELECT path FROM images")]


def any_image_below(file: IndexFile, folder: str) -> bool:
    """Whether any image is below `folder`, a path that ends in a slash."""
    below = (folder, f"{folder[:-1]}0")  # `0` follows the slash
    return bool(file.read("SELECT 1 FROM images WHERE path > ? AND path < ? LIMIT 1", below))


def embedders(file: IndexFile, names: tuple[bytes, bytes]) -> list[Embedder]:
    """The notes that may embed an image with one of these `name_hash`es."""
    rows = file.read(
        "SELECT n.path, n.withheld FROM embedded e LEFT JOIN notes n ON n.note = e.note WHERE e.name IN (?, ?)",
        names,
    )
    return [Embedder(path, Withheld(withheld or 0)) for path, withheld in rows]


def replace_images(file: IndexFile, paths: Sequence[str]) -> None:
    """Makes these the only images. Raises as `IndexFile.writing`."""
    known = set(all_images(file))
    present = set(paths)
    change_images(file, present - known, known - present)


def change_images(file: IndexFile, found: Iterable[str], gone: Iterable[str]) -> None:
    """Adds and removes images. Raises as `IndexFile.writing`."""
    added, removed = [(path, image_name(path)) for path in found], [(path,) for path in gone]
    if added or removed:
        with file.writing() as db:
            db.executemany("INSERT OR IGNORE INTO images VALUES (?, ?)", sorted(added))
            db.executemany("DELETE FROM images WHERE path = ?", removed)


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
