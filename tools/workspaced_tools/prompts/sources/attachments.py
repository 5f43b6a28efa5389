"""Reads attachments: each becomes an `Artifact`, a folder or tag one for each of its notes."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Final

from msgspec.structs import replace

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import ArtifactKind, Attachment, AttachmentKind

from ...errors import NoActiveNote, NoteNotFound
from ...limits import ATTACHED_AT_ONCE, ATTACHED_IMAGE_BYTES_MAX, MEMBERS_ATTACHED_MAX
from ...notes.images.types import decoded
from ...notes.note import Note, NoteFailure
from ...ports.questions import Images, Members, Names, Read, Resolve
from ...ports.vault import ImageFailure
from ...ports.view import View
from ...tools.note_answers import file_time, served_vault
from ..model.note_names import notes_of, then_and_now
from ..model.types import Artifact
from .artifacts import distinct, named
from .view_reader import IMAGE_NOT_READ, NO_SELECTION, NOT_GIVEN, TOO_LARGE, TOO_MANY, Reading, Unavailable

_NOTHING: Final = {"active_note": NoActiveNote.code, "selected_text": NO_SELECTION}
"""What becomes of an attachment that the daemon resolved to a note which does not exist for the client: as if
nothing had been active or selected."""
_PLACE: Final = re.compile(r"#L[0-9]+-L[0-9]+\Z")
_NAMING: Final = frozenset({"note", "active_note", "selected_text"})


def attached(attachments: Iterable[Attachment], reading: Reading) -> tuple[Artifact, ...]:
    """The artifacts of the attachments, in their order, each once.

    Raises:
        OSError: from `Reading.keep`.
    """
    return distinct(artifact for attachment in attachments for artifact in _read(attachment, reading))


def _read(attachment: Attachment, reading: Reading) -> Iterator[Artifact]:
    if is_explicit(attachment):
        reading = reading.for_explicit()
    try:
        yield from _READERS.get(attachment.kind, _inline)(attachment, reading)
    except (Unavailable, WorkspacedError) as error:
        code = error.code
        if attachment.resolved and not _may_be_named(attachment, reading):
            attachment, code = replace(attachment, id="", text_sha256=None), _NOTHING[attachment.kind]
        yield replace(named(attachment), failed=code)


def _may_be_named(attachment: Attachment, reading: Reading) -> bool:
    """Whether the note that the daemon, not the runtime, named exists for the client."""
    try:
        vault, _ = reading.names()
        return vault.ask(Names([_note_of(attachment.id)])) != [None]
    except WorkspacedError:
        return False


# -- from the vault --


def _note(attachment: Attachment, reading: Reading) -> Iterator[Artifact]:
    yield artifact_of("note", reading.note(attachment.id), reading)


def _active_note(attachment: Attachment, reading: Reading) -> Iterator[Artifact]:
    """The note of that id, which was active when the message was written; without an id the active note."""
    if attachment.resolved and not attachment.id:
        raise NoActiveNote("No note was active", hint="Open a note.")
    note = reading.note(attachment.id or reading.active())
    artifact = artifact_of("active_note", note, reading)
    yield artifact
    if artifact.failed is None and note.images:
        yield from _images(note.id, reading)


def _images(note: NoteId, reading: Reading) -> Iterator[Artifact]:
    """The images that the note embeds, as tools show them; what cannot be sent fails, and so does the rest."""
    found = reading.whole()[0].ask(Images(note))
    for image in found.images:
        if isinstance(image, ImageFailure):
            path = image.address.partition("#")[0]
            yield Artifact("image", path, _last_name(path), failed=image.code, note=note)
            continue
        yield Artifact(
            "image",
            image.path,
            _last_name(image.path),
            reading.keep(image.content),
            bytes=len(image.content),
            media_type=image.media_type,
            note=note,
        )
    if more := found.total - len(found.images):
        yield Artifact("image", f"{note}#images", f"{more} more of {note}", failed=TOO_MANY, note=note)


def _last_name(path: str) -> str:
    return path.rpartition("/")[2] or path


def _folder(attachment: Attachment, reading: Reading) -> Iterator[Artifact]:
    folder = attachment.id.strip("/")
    yield from _members(folder, None, f"{folder}/", reading)


def _tag(attachment: Attachment, reading: Reading) -> Iterator[Artifact]:
    tag = attachment.id.strip().removeprefix("#").rstrip("/")
    yield from _members(None, tag, f"#{tag}", reading)


def _members(folder: str | None, tag: str | None, name: str, reading: Reading) -> Iterator[Artifact]:
    vault, _ = reading.whole()
    members = vault.ask(Members(folder, tag, MEMBERS_ATTACHED_MAX))
    if not members.notes:
        raise NoteNotFound(f"No note is in {name!r}", hint="Check the spelling.")
    notes = [ref.id for ref in members.notes]
    for begin in range(0, len(notes), ATTACHED_AT_ONCE):
        for found in vault.ask(Read(notes[begin : begin + ATTACHED_AT_ONCE])):
            if isinstance(found, Note) or found.code != NoteNotFound.code:  # a note that is gone is no member
                yield artifact_of("note", found, reading)
    if more := members.total - len(notes):
        yield Artifact("note", name, f"{more} more notes of {name}", failed=TOO_MANY)


def artifact_of(kind: ArtifactKind, found: Note | NoteFailure, reading: Reading) -> Artifact:
    if isinstance(found, NoteFailure):
        return Artifact(kind, found.id, found.id, failed=found.code, note=found.id)
    try:
        revision = reading.keep_note(found)
    except Unavailable as error:
        return Artifact(kind, found.id, found.title, failed=error.code, note=found.id)
    return Artifact(
        kind,
        found.id,
        found.title,
        revision,
        file_time(found.stat.mtime_ns),
        bytes=len(found.source),
        note=found.id,
    )


def _selected_text(attachment: Attachment, reading: Reading) -> Iterator[Artifact]:
    """The selection that the runtime sent, or the user's when the message came."""
    if attachment.resolved and attachment.text_sha256 is not None:
        # What the user had selected when the message came, if its note may still be shown.
        vault, state = reading.whole()
        note = _note_of(attachment.id)
        now = state.current_path(note) or note
        if vault.ask(Names([now])) == [None]:
            raise NoteNotFound("The selection's note is gone", hint="Select in another note.")
        text = reading.texts(attachment.text_sha256)
        title = attachment.title or attachment.id
        size = len(text.encode())
        yield Artifact("selected_text", attachment.id, title, attachment.text_sha256, bytes=size, note=now)
        return
    if attachment.text_sha256 is None:
        raise Unavailable(NO_SELECTION)
    yield from _inline(attachment, reading)


def _note_of(attached: str) -> NoteId:
    """The note of an id that the daemon filled in: its path, or the place of a selection in it."""
    return NoteId(_PLACE.sub("", attached))


# -- inline, from the runtime --


def _inline(attachment: Attachment, reading: Reading) -> Iterator[Artifact]:
    sha256 = attachment.text_sha256
    if sha256 is None:
        raise Unavailable(NOT_GIVEN)
    yield replace(named(attachment), revision=sha256, bytes=len(reading.texts(sha256).encode()))


def _image(attachment: Attachment, reading: Reading) -> Iterator[Artifact]:
    """The image of a data URI; its bytes become a blob."""
    if attachment.text_sha256 is None:
        raise Unavailable(IMAGE_NOT_READ)
    image = decoded(reading.texts(attachment.text_sha256))
    if image is None:
        raise Unavailable(IMAGE_NOT_READ)
    if len(image.content) > ATTACHED_IMAGE_BYTES_MAX:
        raise Unavailable(TOO_LARGE)
    revision = reading.keep(image.content)
    yield replace(named(attachment), revision=revision, bytes=len(image.content), media_type=image.media_type)


_READERS: Final[dict[AttachmentKind, Callable[[Attachment, Reading], Iterator[Artifact]]]] = {
    "note": _note,
    "active_note": _active_note,
    "folder": _folder,
    "tag": _tag,
    "selected_text": _selected_text,
    "image": _image,
}
"""All other kinds are inline."""


def is_explicit(attachment: Attachment) -> bool:
    """Whether the runtime itself named the note. A folder, a tag, or whatever is active names none."""
    return attachment.kind in _NAMING and bool(attachment.id) and not attachment.resolved


class ExplicitNotes:
    """A test for one conversation; look-ups by title are made when they are needed."""

    def __init__(self, conversation: Conversation, requested: View) -> None:
        """`requested`: the view of a client that asks for notes explicitly."""
        self._conversation = conversation
        self._requested = requested

    def __call__(self, note: NoteId) -> bool:
        return note in self._paths or note in self._resolved

    def _attached(self) -> Iterator[Attachment]:
        for message in self._conversation.messages.values():
            yield from filter(is_explicit, message.attachments)

    @cached_property
    def _paths(self) -> set[NoteId]:
        named = {note for each in self._attached() for note in notes_of(each.kind, each.id).notes}
        return then_and_now(named, self._requested.vault_state.former)

    @cached_property
    def _resolved(self) -> set[NoteId]:
        found = set()
        with suppress(WorkspacedError):
            vault, _ = served_vault(self._requested)
            for name in dict.fromkeys(each.id for each in self._attached()):
                with suppress(WorkspacedError):
                    note = vault.ask(Resolve(name)).note
                    found |= {note.id} if note is not None else set()
        return found
