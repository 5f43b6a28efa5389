"""`RecordedPolicy`: which notes are withheld at a moment of a log, by what the log says.

It stands in for the rules of a vault, which are not there: the log holds findings about notes, but no rules. So a
note is shown if an agent was told of it up to the moment, unless the last finding until then withholds it, or the
last call until then left it out.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.note_visibility import Visibility, VisibilityFold
from workspaced_events.projections.workspace_state import VaultState
from workspaced_events.replay.backward_scan import LATE_EVENTS_MAX
from workspaced_events.schema.catalogue import Event, NoteRenamed, NoteShown, NoteWithheld, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.recording.format import VAULT_LISTS, VAULT_SINGLES, read_recording
from workspaced_tools.recording.shown_notes import texts_of
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.sharing.verdicts import Verdicts

from .recorded_log import RecordedLog

_ANSWERS_MAX: Final = 200
"""The latest answers that are searched for names; of all others the recordings are, which take longer."""


class RecordedPolicy:
    """For one vault at the moment of a log. For whoever holds the log's lock."""

    def __init__(self, log: RecordedLog, vault: VaultId) -> None:
        findings = VisibilityFold()
        findings.feed(log.events_of(NoteShown, NoteWithheld, NoteRenamed, until=log.here.seq))
        found = {note for note, finding in findings.of(vault).items() if finding is not Visibility.SHOWN}
        self.withheld_notes: frozenset[str] = frozenset(found).union(_left_out(log, vault))
        """The notes that are known to be withheld."""
        self._past = Past(log, log.recordings, vault, log.here)
        self._former = log.state_at(log.here.seq).of(vault).former
        self._told = _told(log, vault)
        self._known: dict[NoteId, bool] = {}
        """Whether an agent was told of a note."""

    def verdicts(self) -> Verdicts:
        """Those of one call."""
        return Verdicts(self.withheld, withdrew=self._withdrew)

    def withheld(self, name: NoteId) -> bool:
        """Whether the note is withheld, by its path or a former one."""
        names = {name, self._former.get(name, name)}
        return not names.isdisjoint(self.withheld_notes) or not any(map(self.is_known, names))

    def is_known(self, note: NoteId) -> bool:
        """Whether an agent was told of the note up to the moment."""
        if note in self._told:
            return True
        if note not in self._known:
            try:
                self._past.title(note)
                self._known[note] = True
            except NotRecorded:
                self._known[note] = False
        return self._known[note]

    def _withdrew(self, name: NoteId) -> bool:
        """Withheld, and saying so does not reveal the note: an agent was told of it before."""
        return self.withheld(name) and self.is_known(name)


def _calls(log: RecordedLog, vault: VaultId) -> Iterator[Event]:
    """The calls that were made up to the moment, the latest first. Their records may come later."""
    here = log.here
    for event in reversed(log.events_of(ToolCalled, until=here.seq + LATE_EVENTS_MAX)):
        called: ToolCalled = event.data
        if event.vault != vault or called.tail > here.seq:
            continue
        if called.tail < here.seq or here.lasts or called.now <= here.time:
            yield event


def _left_out(log: RecordedLog, vault: VaultId) -> list[NoteId]:
    """The notes of the state that the last call was not shown."""
    found = (_left_out_of(log, event, vault) for event in _calls(log, vault))
    return next((left for left in found if left is not None), [])


def _told(log: RecordedLog, vault: VaultId) -> set[str]:
    """All texts of the latest answers up to the moment, the names of notes among them."""
    texts: set[str] = set()
    # Also of the calls after the moment that saw its state: they were told what was open then.
    latest = reversed(log.events_of(ToolCalled, until=log.here.seq + LATE_EVENTS_MAX))
    seen = (each for each in latest if each.vault == vault and each.data.as_of_seq <= log.start.state.seq)
    for event in islice(seen, _ANSWERS_MAX):
        with suppress(LogDamaged, msgspec.MsgspecError):
            texts.update(texts_of(msgspec.json.decode(log.blob(event.data.result_sha256) or b"null")))
    return texts


def _left_out_of(log: RecordedLog, event: Event, vault: VaultId) -> list[NoteId] | None:
    """None: it is not recorded what the call was not shown."""
    called: ToolCalled = event.data
    try:
        content = log.blob(called.inputs_sha256) if called.inputs_sha256 is not None else None
        recording = read_recording(content, called.inputs_sha256 or "") if content is not None else None
    except (LogDamaged, NotRecorded):
        return None
    if recording is None or recording.refused is not None or not recording.served or recording.level != "all":
        return None
    state = log.state_at(called.as_of_seq).of(vault)
    left = [note for name in VAULT_LISTS for note in _at(getattr(state, name), recording.left_out.get(name, ()))]
    return left + [note for name in VAULT_SINGLES if name in recording.left_out for note in _single(state, name)]


def _at(items: dict[NoteId, object], positions: tuple[int, ...]) -> Iterator[NoteId]:
    wanted = set(positions)
    return (note for at, note in enumerate(items) if at in wanted)


def _single(state: VaultState, name: str) -> list[NoteId]:
    if name == "active":
        return [state.active.id] if state.active is not None else []
    return [state.selection.note] if state.selection is not None else []
