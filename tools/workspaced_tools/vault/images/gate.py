"""Decides which attachments of a vault an audience is not shown: images, PDFs, audio, video, office documents.

One is withheld if a rule withholds its own path, or if a withheld note names a file of that name: one that its
front matter or a rule withholds, or that may still be being written. Notes are compared by the file name alone, in
which case does not count: a file of the same name in another folder is withheld too. That is more than needed, and
needs no path of what a withheld note names.
"""

from collections.abc import Callable, Iterable
from typing import Final

from workspaced_events.ids import NoteId

from ...limits import EMBEDDERS_COMPARED_MAX
from ...notes.images.names import ANY_NAME, name_hash
from ...notes.note import Level
from ..files.ignore_rules import Policy
from ..index.files import Embedder, embedders, file_name, files_named
from ..index.index import Index


class AttachmentGate:
    """One for each audience of a vault. Safe from any thread. Its methods raise IndexLost."""

    def __init__(
        self,
        index: Index,
        policy: Policy,
        is_withheld: Callable[[NoteId], bool],
        is_indexed: Callable[[Iterable[NoteId]], bool],
        least: Level = Level.VOLUNTEER,
    ) -> None:
        """
        Args:
            least: the least level that the audience is shown.
            is_withheld: whether a note is known to be withheld; touches no file.
            is_indexed: whether the index has the notes' present versions; if not, it is updated.
        """
        self._index: Final = index
        self._policy: Final = policy
        self._is_withheld: Final = is_withheld
        self._is_indexed: Final = is_indexed
        self._least: Final = least

    def withholds(self, path: str) -> bool:
        """Whether the attachment at `path` is withheld, as far as the index knows. Touches no file."""
        return self._denies(path) or self._withholds_name(path)

    def withholds_now(self, path: str) -> bool:
        """As `withholds`, once the notes that name the attachment are compared with their files.

        One may have become private since. True if more than EMBEDDERS_COMPARED_MAX notes name it.
        """
        if self.withholds(path):
            return True
        notes = [each.note for each in self._embedders(path) if each.note is not None]
        if len(notes) > EMBEDDERS_COMPARED_MAX:
            return True
        return not self._is_indexed(notes) and self.withholds(path)

    def named(self, path: str) -> list[str]:
        """The attachments with the file name of `path` that may be shown.

        If there are any, compares the notes that name them with their files: one may have become private since.
        There are none if more than EMBEDDERS_COMPARED_MAX notes name them.
        """
        found = self._allowed(path)
        if not found:
            return []
        notes = [each.note for each in self._embedders(path) if each.note is not None]
        if len(notes) > EMBEDDERS_COMPARED_MAX:
            return []
        return found if self._is_indexed(notes) else self._allowed(path)

    def _allowed(self, path: str) -> list[str]:
        # Both are looked up in any case: a withheld file takes as long as one that does not exist.
        is_withheld = self._withholds_name(path)
        known = files_named(self._index.file, file_name(path))
        return [] if is_withheld else [each for each in known if not self._denies(each)]

    def _withholds_name(self, path: str) -> bool:
        found = self._embedders(path)
        return any(self._hides(each) or each.note is None or self._is_withheld(each.note) for each in found)

    def _hides(self, each: Embedder) -> bool:
        is_shown = self._least is Level.ON_REQUEST and each.withheld.is_for_requests
        return bool(each.withheld) and not is_shown

    def _denies(self, path: str) -> bool:
        return self._policy.level(path) < self._least

    def _embedders(self, path: str) -> list[Embedder]:
        return embedders(self._index.file, (name_hash(path), ANY_NAME))
