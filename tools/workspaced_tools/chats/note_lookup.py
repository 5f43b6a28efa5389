"""Looks up the notes that a loaded chat names in the present vault.

A name is the exact path of a note, else a former path of a note, else a file name that only one note has; with or
without `.md`. Nothing is guessed: a name without a note, or with several, is left out with a warning. The lookup
uses the `View` of the client that loads the chat, so withheld notes do not exist here.
"""

import unicodedata
from typing import Final

from msgspec.structs import replace

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId

from ..errors import NoActiveVault
from ..notes.name_keys import stem, without_case
from ..ports.questions import Members, Names, Resolve, Search
from ..ports.vault import NoteRef, SearchQuery
from ..ports.view import View
from ..prompts.model.note_names import NOTE_KINDS
from ..tools.note_answers import served_vault
from ..vault.links.resolver import not_archived, note_paths
from .model import ChatWarning, ReadChat, SavedAttachment, quoted

_OF_VAULT: Final = NOTE_KINDS | {"folder"}
_SEARCHED_MAX: Final = 200
_ONE_BY_ONE_MAX: Final = 50
"""After this many names that are no paths, all notes are listed once instead of searching for each name."""
_NEAR_MAX: Final = 50
"""The number of unknown names for which similar notes are searched."""
_NOTES_MAX: Final = 10_000_000
"""More than any vault has."""


def names_of_vault(read: ReadChat) -> bool:
    """Whether the chat names anything of a vault."""
    return any(
        each.kind in _OF_VAULT and each.id for message in read.chat.messages for each in message.attachments
    )


def looked_up(read: ReadChat, view: View) -> ReadChat:
    """The chat with its notes under their present paths, and a warning for each note that is not found.

    Folders, tags and URLs stay unchanged. Without a served vault everything does.
    """
    if not names_of_vault(read):
        return read
    try:
        finder = _Finder(view)
    except NoActiveVault as error:
        what = f"{error.message}: the notes of this chat were not looked for."
        return replace(read, warnings=(*read.warnings, ChatWarning(1, error.code, what)))
    warnings = list(read.warnings)
    messages = []
    for line, message in zip(read.lines, read.chat.messages, strict=True):
        kept = []
        for attached in message.attachments:
            found, warned = finder.find(attached)
            kept += [found] if found is not None else []
            warnings += [replace(warned, line=line)] if warned is not None else []
        messages.append(replace(message, attachments=tuple(kept)) if message.attachments else message)
    return replace(read, chat=replace(read.chat, messages=tuple(messages)), warnings=tuple(warnings))


_Found = tuple[NoteId | None, ChatWarning | None]


class _Finder:
    """Looks up each distinct name once."""

    def __init__(self, view: View) -> None:
        """Raises NoActiveVault: no vault is served."""
        self._vault, self._state = served_vault(view)
        self._known: dict[str, _Found] = {}
        self._named: dict[str, list[NoteRef]] | None = None
        self._searches = self._nears = 0

    def find(self, attached: SavedAttachment) -> tuple[SavedAttachment | None, ChatWarning | None]:
        """The attachment to use, or None; and a warning, if any, whose line is not set yet."""
        if attached.kind == "folder":
            return attached, self._folder(attached.id)
        if attached.kind not in NOTE_KINDS or not attached.id:
            return attached, None
        if attached.id not in self._known:
            self._known[attached.id] = self._note(attached.id)
        note, warning = self._known[attached.id]
        return replace(attached, id=note) if note is not None else None, warning

    def _folder(self, folder: str) -> ChatWarning | None:
        inner = folder.strip("/")
        if not inner or self._vault.ask(Members(inner, None, 1)).total:
            return None
        return ChatWarning(0, "FOLDER_NOT_FOUND", f"No note is in the folder {quoted(folder)}.")

    def _note(self, name: str) -> _Found:
        paths = list(note_paths(name))
        if (note := self._there(paths)) is not None:
            return note, None
        former = [now for path in paths if (now := self._state.current_path(path)) is not None]
        if (note := self._there(former)) is not None:
            return note, None
        if name.startswith("/") or ".." in name.split("/"):
            return None, ChatWarning(
                0, "NOTE_NOT_FOUND", f"{quoted(name)} is no path in the vault; it is left out."
            )
        return self._of_file_name(name)

    def _there(self, paths: list[NoteId]) -> NoteId | None:
        return next((ref.id for ref in self._vault.ask(Names(paths)) if ref is not None), None)

    def _of_file_name(self, name: str) -> _Found:
        hits = self._called(unicodedata.normalize("NFC", stem(name)))
        unarchived = not_archived(hits, self._state)
        if len(unarchived) == 1:
            note = unarchived[0].id
            if "/" not in name:
                return note, None
            what = f"No note is at {quoted(name)}; the only one of that file name is {quoted(note)}."
            return note, ChatWarning(0, "FOUND_ELSEWHERE", what, (note,))
        if hits:
            what = f"{quoted(name)} may be one of {len(hits)} notes; it is left out."
            return None, ChatWarning(0, "NOTE_AMBIGUOUS", what, tuple(sorted(ref.id for ref in hits)))
        return None, ChatWarning(
            0, "NOTE_NOT_FOUND", f"No note is called {quoted(name)}; it is left out.", self._near(name)
        )

    def _called(self, name: str) -> list[NoteRef]:
        """The notes of that file name: if some match in case, only those."""
        self._searches += 1
        alike = self._searched(name) if self._searches <= _ONE_BY_ONE_MAX else None
        if alike is None:
            alike = self._listed().get(without_case(name), [])
        return [ref for ref in alike if stem(ref.id) == name] or alike

    def _searched(self, name: str) -> list[NoteRef] | None:
        """The notes of that file name by search; None if search may have missed some.

        Search leaves out case and accents by its own rules, which equal ours only for ASCII.
        """
        found = self._vault.ask(Search(SearchQuery(name, _SEARCHED_MAX, names_only=True)))
        alike = [hit.note for hit in found.hits if without_case(stem(hit.note.id)) == without_case(name)]
        sure = any(stem(ref.id) == name for ref in alike) or (name.isascii() and any(map(str.isalnum, name)))
        return alike if sure and found.complete and found.total <= _SEARCHED_MAX else None

    def _listed(self) -> dict[str, list[NoteRef]]:
        """All notes by file name; takes seconds for a hundred thousand notes."""
        if self._named is None:
            self._named = {}
            for ref in self._vault.ask(Members(None, None, _NOTES_MAX)).notes:
                self._named.setdefault(without_case(stem(ref.id)), []).append(ref)
        return self._named

    def _near(self, name: str) -> tuple[str, ...]:
        self._nears += 1
        if self._nears > _NEAR_MAX:
            return ()
        try:
            found = self._vault.ask(Resolve(name))
        except WorkspacedError:  # not a reference
            return ()
        notes = [found.note] if found.note is not None else [*found.candidates, *found.near]
        return tuple(sorted(ref.id for ref in notes))
