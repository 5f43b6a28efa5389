"""Decides which images of a vault no agent is shown.

An image is withheld if a rule denies its own path, or if a withheld note embeds an image of that name: one that
its front matter or a rule withholds, or that may still be being written. Notes are compared by the file name
alone, in which case does not count: an image of the same name in another folder is withheld too. That is more than
needed, and needs no path of a withheld note's image.
"""

from collections.abc import Callable, Iterable
from typing import Final

from workspaced_events.ids import NoteId

from ...limits import EMBEDDERS_COMPARED_MAX
from ...notes.images.names import name_hash
from ..files.ignore_rules import Policy
from ..index.images import embedders, image_name, images_named
from ..index.index import Index


class ImageGate:
    """One for each vault. Safe from any thread. Its methods raise IndexLost."""

    def __init__(
        self,
        index: Index,
        policy: Policy,
        is_withheld: Callable[[NoteId], bool],
        is_indexed: Callable[[Iterable[NoteId]], bool],
    ) -> None:
        """
        Args:
            is_withheld: whether a note is known to be withheld; touches no file.
            is_indexed: whether the index has the notes' present versions; if not, it is updated.
        """
        self._index: Final = index
        self._policy: Final = policy
        self._is_withheld: Final = is_withheld
        self._is_indexed: Final = is_indexed

    def withholds(self, path: str) -> bool:
        """Whether the image at `path` is withheld, as far as the index knows. Touches no file."""
        if self._policy.denies(path):
            return True
        found = embedders(self._index.file, name_hash(path))
        return any(each.is_withheld or each.note is None or self._is_withheld(each.note) for each in found)

    def named(self, path: str) -> list[str]:
        """The images with the file name of `path` that may be shown.

        If there are any, compares the notes that embed them with their files: one may have become private since.
        """
        found = self._allowed(path)
        if found and not self._is_indexed(self._embedders(path)):
            found = self._allowed(path)
        return found

    def _allowed(self, path: str) -> list[str]:
        known = images_named(self._index.file, image_name(path))
        return [each for each in known if not self.withholds(each)]

    def _embedders(self, path: str) -> list[NoteId]:
        found = [each.note for each in embedders(self._index.file, name_hash(path)) if each.note is not None]
        return sorted(found)[:EMBEDDERS_COMPARED_MAX]
