"""Reads the notes that stand in a prompt again, to find those that have changed since they were shown."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId

from ...errors import NotRecorded
from ...limits import ATTACHED_AT_ONCE
from ...ports.asking import VaultPort
from ...ports.questions import Read
from ..model.changes import line_changes
from ..model.sent_so_far import SentSoFar
from ..model.types import Artifact, Present, Texts
from .attachments import artifact_of
from .view_reader import Reading, Unavailable


def changed_since(sent_so_far: SentSoFar, attached: Iterable[Artifact], reading: Reading) -> tuple[Present, ...]:
    """The notes of another version than the prompt shows, also those moved or gone; none that the turn attaches.

    If the vault cannot be read, no note is known to have changed.

    Raises:
        OSError: from `Reading.keep`.
    """
    now = {artifact.id for artifact in attached}
    shown = {key[1]: each.revision for key, each in sent_so_far.shown.items() if key[0] == "note"}
    wanted = [note for note in shown if note not in now]
    if not wanted:
        return ()
    try:
        vault, state = reading.whole()
    except (Unavailable, WorkspacedError):
        return ()
    paths = {note: state.current_path(NoteId(note)) or NoteId(note) for note in wanted}
    found = []
    for note, artifact in zip(wanted, _read(vault, list(paths.values()), reading), strict=True):
        if artifact.failed is not None and reading.of(paths[note]) is not reading:
            [artifact] = _read(reading.of(paths[note]).whole()[0], [paths[note]], reading)
        if artifact.id != note and artifact.id in now:
            continue
        if artifact.failed is not None or artifact.revision != shown[note] or artifact.id != note:
            present = Present(artifact, note)
            if artifact.failed is None and sent_so_far.reported.get(note) != present.state:
                added, removed = _counts(shown[note], artifact.revision, reading.texts)
                present = replace(present, added=added, removed=removed)
            found.append(present)
    return tuple(found)


def _read(vault: VaultPort, notes: list[NoteId], reading: Reading) -> Iterator[Artifact]:
    for begin in range(0, len(notes), ATTACHED_AT_ONCE):
        for each in vault.ask(Read(notes[begin : begin + ATTACHED_AT_ONCE])):
            yield artifact_of("note", each, reading)


def _counts(before: str, after: str, texts: Texts) -> tuple[int, int]:
    try:
        return line_changes(texts(before), texts(after))
    except NotRecorded:
        return 0, 0
