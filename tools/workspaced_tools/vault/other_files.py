"""`OtherFiles`: the files of a vault that are no notes. Their names are indexed, their text is not.

One is opened only where an editor shows it or a link in a shown note leads to it: an agent that guesses a path
learns nothing of the file there. An image is opened only where an editor shows it; with the notes that embed it,
agents get it anyway.

Attachments are images, PDFs, audio, video and office documents. One is withheld if a rule withholds its own path,
or if a withheld note names a file of that name: one that its front matter or a rule withholds, or that may still
be being written. Notes are compared by the file name alone, in which case does not count: a file of the same name
in another folder is withheld too. That is more than needed, and needs no path of what a withheld note names.
"""

import posixpath
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..errors import IndexBuilding
from ..limits import EMBEDDERS_COMPARED_MAX, IMAGES_LOOKED_AT_MAX, IMAGES_SHOWN_MAX
from ..notes.formats.kinds import is_image_name
from ..notes.images.names import ANY_NAME, image_files, name_hash, readings
from ..notes.name_keys import without_case
from ..notes.note import Level, Note
from ..ports.asking import check_may_wait
from ..ports.vault import ImageFailure, NoteImage, NoteImages
from .images.reading import missing, read_image
from .index.entries import NamedNote
from .index.files import Embedder, embedders, file_name, files_named
from .links.link_targets import incoming
from .links.resolver import IndexLookup, members
from .shared_notes import UPDATE_ATTEMPTS, SharedNotes

_READS_MAX: Final = 3
"""A path whose image is gone is removed from the index, and the address is looked up again."""


class OtherFiles:
    """One for each vault. Safe from any thread. Where a method takes `least`, it is the least level that its
    audience is shown."""

    def __init__(self, notes: SharedNotes) -> None:
        self._notes: Final = notes
        self._index: Final = notes.index.file
        self._selected: Final = notes.root.selected

    def withholds(self, path: str, least: Level = Level.VOLUNTEER) -> bool:
        """Whether the file at `path` is withheld, as far as known. Touches no file of the vault."""
        if not self._selected.is_attachment(path):
            return self._denies(path, least)
        indexer = self._notes.indexer
        return self._notes.asking(lambda: not indexer.is_complete or self._withholds(path, least))

    def named(self, name_key: str, least: Level = Level.VOLUNTEER) -> list[NamedNote]:
        """The files with this name that are not withheld."""
        found = files_named(self._index, name_key)
        return [file_at(NoteId(path)) for path in found if not self.withholds(path, least)]

    def lookup(self, own: NamedNote | None = None, least: Level = Level.VOLUNTEER) -> IndexLookup:
        """A look-up for links: of notes, as `SharedNotes.lookup`, and of files."""
        return self._notes.lookup(own, lambda name_key: self.named(name_key, least))

    def opens(self, path: NoteId, state: VaultState, least: Level = Level.VOLUNTEER) -> bool:
        """Whether the file at `path` may be opened for an audience that sees `state`."""
        if self._selected.is_attachment(path) or path not in members(state):
            check_may_wait()
        if self.withholds(path, least):
            return False
        if self._selected.is_attachment(path) and self._notes.asking(lambda: self._withholds_now(path, least)):
            return False
        if path in members(state):
            return True
        return not is_image_name(path) and self._is_linked(file_at(path), state, least)

    def closed(self, notes: Iterable[NoteId], state: VaultState, least: Level = Level.VOLUNTEER) -> set[NoteId]:
        """Those of the notes that are files which may not be opened."""
        return {note for note in notes if not self._selected.holds(note) and not self.opens(note, state, least)}

    def images(self, note: Note, least: Level) -> NoteImages:
        """The first images of `note` that can be shown, each file once, and those before them that cannot. Blocks.

        Waits for the index; while it is not complete, no image is shown, because a note that withholds it may not
        be indexed yet.
        """
        self._notes.await_names()
        self._notes.await_ready()
        return self._notes.asking(lambda: self._images(note, least, complete=self._notes.indexer.is_complete))

    def _images(self, note: Note, least: Level, *, complete: bool) -> NoteImages:
        addresses = image_files(note.images)
        images: dict[str, NoteImage | ImageFailure] = {}
        why = "The vault is still being indexed: try again shortly."
        looked_at = 0
        for address in addresses[: IMAGES_LOOKED_AT_MAX if complete else IMAGES_SHOWN_MAX]:
            if sum(isinstance(each, NoteImage) for each in images.values()) == IMAGES_SHOWN_MAX:
                break
            looked_at += 1
            building = ImageFailure(address, IndexBuilding.code, why)
            found = self._image(note, address, least) if complete else building
            images.setdefault(found.path if isinstance(found, NoteImage) else f"\0{address}", found)
        return NoteImages(tuple(images.values()), len(addresses) - looked_at + len(images))

    def _image(self, note: Note, address: str, least: Level) -> NoteImage | ImageFailure:
        for _ in range(_READS_MAX):
            path = image_target(note.id, address, lambda path: self._named_like(path, least))
            if path is None:
                break
            found = read_image(self._notes.root, path, address)
            # A rule or a note may have withheld the image while it was read.
            if self._withholds(path, least):
                break
            if isinstance(found, NoteImage) or found.path is not None:
                return found
            self._notes.indexer.file_others([path])
        return missing(address)

    def _is_linked(self, file: NamedNote, state: VaultState, least: Level) -> bool:
        self._notes.await_names()
        for _ in range(UPDATE_ATTEMPTS):
            found = incoming(file, 1, state, self._notes.index, self.lookup(least=least))
            if self._notes.is_current({link.source.id for link in found.links}):
                break
        return bool(found.links)

    # -- which attachments are withheld; these methods raise IndexLost --

    def _withholds(self, path: str, least: Level) -> bool:
        """Whether the attachment at `path` is withheld, as far as the index knows. Touches no file."""
        return self._denies(path, least) or self._withholds_name(path, least)

    def _withholds_now(self, path: str, least: Level) -> bool:
        """As `_withholds`, once the notes that name the attachment are compared with their files.

        One may have become private since. True if more than EMBEDDERS_COMPARED_MAX notes name it.
        """
        if self._withholds(path, least):
            return True
        is_indexed = self._has_embedders_indexed(path, least)
        return is_indexed is None or (not is_indexed and self._withholds(path, least))

    def _named_like(self, path: str, least: Level) -> list[str]:
        """The attachments with the file name of `path` that may be shown.

        If there are any, compares the notes that name them with their files: one may have become private since.
        There are none if more than EMBEDDERS_COMPARED_MAX notes name them.
        """
        found = self._allowed(path, least)
        if not found or (is_indexed := self._has_embedders_indexed(path, least)) is None:
            return []
        return found if is_indexed else self._allowed(path, least)

    def _has_embedders_indexed(self, path: str, least: Level) -> bool | None:
        """Whether the index had the present versions of the notes that name an attachment; None: they are too many
        to compare."""
        notes = [each.note for each in self._embedders(path) if each.note is not None]
        return self._notes.is_current(notes, least) if len(notes) <= EMBEDDERS_COMPARED_MAX else None

    def _allowed(self, path: str, least: Level) -> list[str]:
        # Both are looked up in any case: a withheld file takes as long as one that does not exist.
        is_withheld = self._withholds_name(path, least)
        known = files_named(self._index, file_name(path))
        return [] if is_withheld else [each for each in known if not self._denies(each, least)]

    def _withholds_name(self, path: str, least: Level) -> bool:
        is_withheld = self._notes.levels.is_withheld
        return any(
            _hides(each, least) or each.note is None or is_withheld(each.note, least)
            for each in self._embedders(path)
        )

    def _denies(self, path: str, least: Level) -> bool:
        return self._notes.levels.policy.level(path) < least

    def _embedders(self, path: str) -> list[Embedder]:
        return embedders(self._index, (name_hash(path), ANY_NAME))


def _hides(each: Embedder, least: Level) -> bool:
    is_shown = least is Level.ON_REQUEST and each.withheld.is_for_requests
    return bool(each.withheld) and not is_shown


def file_at(path: NoteId) -> NamedNote:
    """A file by its names."""
    return NamedNote(path, path.rpartition("/")[2])


_EXACT_ONLY: Final = ("./", "../", "/")

Named = Callable[[str], Sequence[str]]
"""The paths of the image files with a name, which is that at the end of the given path; without those withheld."""


def image_target(source: NoteId, address: str, named: Named) -> str | None:
    """The path of the image that `address` means in the note `source`, by the rule of links; None: there is none.

    Case does not count, but a file in the case that is written comes first. An address is read as it is written
    and then percent-decoded: what the first reading means wins.
    """
    folder = source.rpartition("/")[0]
    for reading in readings(unicodedata.normalize("NFC", address)):
        if is_image_name(reading) and (found := _target(folder, reading, named)) is not None:
            return found
    return None


def _target(folder: str, target: str, named: Named) -> str | None:
    exact_only = target.startswith(_EXACT_ONLY)
    if exact_only:
        target = target.lstrip("/") if target[0] == "/" else posixpath.normpath(posixpath.join(folder, target))
    if not target or "\0" in target or ".." in target.split("/"):
        return None
    wanted = without_case(target)
    ending = [path for path in named(target) if f"/{without_case(path)}".endswith(f"/{wanted}")]
    exact = [path for path in ending if without_case(path) == wanted]
    if exact or exact_only:
        return min(exact, key=lambda path: (path != target, path), default=None)
    below = f"{folder}/" if folder else ""
    return min(
        ending, key=lambda path: (not path.startswith(below), len(path), without_case(path), path), default=None
    )
