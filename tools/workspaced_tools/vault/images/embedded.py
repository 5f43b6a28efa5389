"""Answers `Images`: the first images of a note, each found, checked by the gate, and read."""

from typing import Final

from ...errors import IndexBuilding
from ...limits import IMAGES_SHOWN_MAX
from ...notes.images.names import image_files
from ...notes.note import Note
from ...ports.images import ImageFailure, NoteImage, NoteImages
from ..files.safe_open import VaultRoot
from ..index.indexer import Indexer
from .gate import AttachmentGate
from .reading import missing, read_image
from .targets import image_target

_ATTEMPTS: Final = 3
"""A path whose file is gone is removed from the index, and the address is looked up again."""


class EmbeddedImages:
    """One for each vault. Safe from any thread; blocks."""

    def __init__(self, root: VaultRoot, indexer: Indexer, gate: AttachmentGate) -> None:
        self._root: Final = root
        self._indexer: Final = indexer
        self._gate: Final = gate

    def of(self, note: Note, *, complete: bool) -> NoteImages:
        """The first images of `note`, each file once.

        Args:
            complete: whether the index is complete; if not, no image is shown, because a note that withholds it
                may not be indexed yet.

        Raises:
            IndexLost.
        """
        addresses = image_files(note.images)
        shown = addresses[:IMAGES_SHOWN_MAX]
        images: dict[str, NoteImage | ImageFailure] = {}
        for address in shown:
            found = self._image(note, address) if complete else _building(address)
            images.setdefault(found.path if isinstance(found, NoteImage) else f"\0{address}", found)
        return NoteImages(tuple(images.values()), len(addresses) - len(shown) + len(images))

    def _image(self, note: Note, address: str) -> NoteImage | ImageFailure:
        for _ in range(_ATTEMPTS):
            path = image_target(note.id, address, self._gate.named)
            if path is None:
                break
            found = read_image(self._root, path, address)
            # A rule or a note may have withheld the image while it was read.
            if self._gate.withholds(path):
                break
            if isinstance(found, NoteImage) or found.path is not None:
                return found
            self._indexer.file_others([path])
        return missing(address)


def _building(address: str) -> ImageFailure:
    return ImageFailure(address, IndexBuilding.code, "The vault is still being indexed: try again shortly.")
