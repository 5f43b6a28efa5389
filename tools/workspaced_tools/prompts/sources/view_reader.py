"""Reads for one prompt: the part that attachments and pinned providers share.

Everything is read through the calling client's `View`. So a note that the share policy withholds does not exist
here, and a client that may see names only gets no text. A text becomes a blob as soon as it is read; only its
sha256 stays.

A code says why something cannot be shown: the code of an error, one of artifacts.py, or one of these.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from workspaced_events.errors import InvalidArgument, OutsideVault
from workspaced_events.ids import NoteId, VaultId, note_id
from workspaced_events.projections.workspace_state import VaultState

from ...errors import NoActiveNote, NoActiveVault, NoteNotFound
from ...limits import ATTACHED_CHARS_MAX
from ...notes.note import Note, NoteFailure
from ...ports.asking import VaultPort
from ...ports.questions import Names, Read, Resolve
from ...ports.view import View
from ...tools.note_answers import note_or_error, served_vault
from ...tools.read_note import only_note
from ..model.types import Texts

Keep = Callable[[bytes], str]
"""Stores a text, or the bytes of an image, as a blob and returns its sha256."""

NAMES_ONLY: Final = "NAMES_ONLY"
"""The client may see names only, and this needs text."""
NO_SELECTION: Final = "NO_SELECTION"
"""Nothing is selected, or the selection is not the attached one."""
IMAGE_NOT_READ: Final = "IMAGE_NOT_READ"
"""The image was not sent as a data URI."""
NOT_GIVEN: Final = "NOT_GIVEN"
"""Only the runtime has the text, and it sent none."""
TOO_LARGE: Final = "TOO_LARGE"
"""Longer than ATTACHED_CHARS_MAX, or than ATTACHED_IMAGE_BYTES_MAX."""
TOO_MANY: Final = "TOO_MANY"
"""The rest of a folder, of a tag, or of a note's images."""


class Unavailable(Exception):
    """An attachment or pin cannot be shown; `code` says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Reading:
    """Reads the sources of one prompt."""

    def __init__(
        self,
        view: View,
        texts: Texts,
        keep: Keep,
        vault: VaultId | None,
        *,
        fence: str,
        pinned_tokens: int = 0,
        requested: "Reading | None" = None,
        is_explicit: Callable[[NoteId], bool] = lambda _note: False,
    ) -> None:
        """
        Args:
            requested: reads what an attachment names explicitly, also notes that nothing else may show.
            is_explicit: whether an attachment of the conversation names the note.
            vault: the conversation's: its paths mean nothing in another vault. None: any vault.
            fence: as in blocks.artifact_block.
            pinned_tokens: for the contents of notes of one pin of many notes; 0: their names alone.
        """
        self.fence: Final = fence
        self.pinned_tokens: Final = pinned_tokens
        self.view: Final = view
        self.texts: Final = texts
        self.keep: Final = keep
        self._vault = vault
        self._requested = requested
        self._is_explicit = is_explicit

    def for_explicit(self) -> "Reading":
        """What reads a note that an attachment names."""
        return self if self._requested is None else self._requested

    def of(self, note: NoteId) -> "Reading":
        """What reads a note that was attached before."""
        return self.for_explicit() if self._is_explicit(note) else self

    def names(self) -> tuple[VaultPort, VaultState]:
        """The conversation's vault, for reading names, which every client may see.

        Raises:
            NoActiveVault: the vault is not the current one, or not served.
        """
        vault, state = served_vault(self.view)
        if self._vault is not None and self.view.state.current != self._vault:
            raise NoActiveVault(
                f"The conversation is about the vault '{self._vault}', which is not the current one",
                hint="Switch back to that vault, or start a conversation in this one.",
            )
        return vault, state

    def whole(self) -> tuple[VaultPort, VaultState]:
        """As `names`, for reading texts.

        Raises:
            NoActiveVault: as `names`.
            Unavailable: the client may see names only.
        """
        if self.view.sharing != "all":
            raise Unavailable(NAMES_ONLY)
        return self.names()

    def note(self, reference: str) -> Note:
        """The note at exactly this path, else the one that the resolver finds; never a guess.

        Raises:
            ToolError: no note or several notes match, the note cannot be read, or no vault can.
            Unavailable: the client may see names only.
        """
        vault, _ = self.whole()
        found = _at_path(vault, reference)
        if not isinstance(found, Note) and (found is None or found.code == NoteNotFound.code):
            note = only_note(vault.ask(Resolve(reference)), reference, vault)
            [found] = vault.ask(Read([note.id]))
        return note_or_error(found, missing=partial(NoteNotFound, "The note is gone", hint="Ask again."))

    def active(self) -> NoteId:
        """The workspace's active note.

        Raises:
            NoActiveVault: as `names`.
            NoActiveNote: no note is active.
        """
        active = self.names()[1].active
        if active is None:
            raise NoActiveNote("No note is active", hint="Open a note.")
        return active.id

    def keep_note(self, note: Note) -> str:
        """Stores the note's whole text as a blob and returns its revision.

        Raises:
            Unavailable: the text is too long.
        """
        if len(note.source) > ATTACHED_CHARS_MAX:  # bytes; no copy for most notes
            checked(note.text)
        return self.keep(note.source)

    def shows(self, notes: Iterable[NoteId]) -> bool:
        """Whether the client may still see these notes, under these names or under their present ones."""
        wanted = list(dict.fromkeys(notes))
        if not wanted:
            return True
        try:
            vault, state = self.whole()
        except (Unavailable, NoActiveVault):
            return False
        gone = [note for note, ref in zip(wanted, vault.ask(Names(wanted)), strict=True) if ref is None]
        moved = [now for note in gone if (now := state.current_path(note)) is not None]
        return len(moved) == len(gone) and None not in vault.ask(Names(list(dict.fromkeys(moved))))


def _at_path(vault: VaultPort, path: str) -> Note | NoteFailure | None:
    try:
        [found] = vault.ask(Read([note_id(path)]))
    except (InvalidArgument, OutsideVault):  # not a path, perhaps a title
        return None
    return found


def checked(text: str) -> str:
    """Returns `text` if it is short enough to be attached.

    Raises:
        Unavailable: the text is too long.
    """
    if len(text) > ATTACHED_CHARS_MAX:
        raise Unavailable(TOO_LARGE)
    return text
