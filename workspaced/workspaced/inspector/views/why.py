"""A note's line of life: looked at, changed, shown to whom at which revision, withheld since when.

How a call or a prompt showed it is known from recordings and manifests. And the notes that a log names, for
looking one up: an index that is read in pieces, and grows with the log.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any, Final, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Meta

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import NoteId, VaultId, note_id
from workspaced_events.projections.visits import Bounds, Visit, visits_of
from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, Event
from workspaced_events.schema.sentences import notes_named
from workspaced_tools.notes.name_keys import key, stem, without_ending
from workspaced_tools.prompts.model.note_names import names_of
from workspaced_tools.prompts.model.stored_texts import manifest_of_prompt, texts_in
from workspaced_tools.recording.format import RecordedNote, read_recording
from workspaced_tools.recording.recorded_calls import listed
from workspaced_tools.recording.shown_notes import NOT_IN_PROMPT, mentions
from workspaced_tools.vault.withholding_reasons import Reason

from ... import replay
from ..inspected import Inspected
from .agents import daemon_says
from .events import client_of, told_in_words

_SEARCHED_EVENTS: Final = 10_000
"""Events that one answer looks at, backwards."""
_RECORDINGS_READ: Final = 1_000
"""Recordings and manifests that one answer reads."""
_VISITS: Final = Bounds(visits=_SEARCHED_EVENTS)

Kind = Literal[
    "looked",
    "navigation",
    "file",
    "asked",
    "told",
    "refused",
    "prompt",
    "leftOut",
    "attached",
    "sharing",
    "memory",
]
Names = Collection[str]
"""The paths that a note has or had."""


class WhyParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which note."""

    path: str
    """Its present path, or a former one."""
    vault: str = ""
    """Its vault; empty: the current one."""
    before: Annotated[int, Meta(ge=1)] | None = None
    """Only what was before this sequence; left out: the newest."""


class Trace(msgspec.Struct, rename="camel"):
    """One thing that happened to the note."""

    seq: int
    time: str
    kind: Kind
    sentence: str
    agent: str | None
    """Who was shown it."""
    revision: str | None
    """The sha256 of what was shown, or of the file; null: unknown, or only the name was shown."""
    bytes: int | None
    """The file's size."""
    until: str | None
    """Of a visit: when it ended; null: it lasted on."""
    layer: str | None
    """Of a prompt: the layer that held it."""
    tokens: int | None
    """Likewise, as estimated."""


class Reach(msgspec.Struct, rename="camel"):
    """What a client is shown of the note."""

    client: str
    sharing: str
    shown: str
    """`nothing`, `names` or `all`."""
    unasked: bool
    """Whether also where the client does not ask for it."""


class Present(msgspec.Struct, rename="camel"):
    """What the daemon says of the note now, as `workspaced why`."""

    level: str
    withheld: bool
    reasons: list[Reason]
    clients: list[Reach]


class Life(msgspec.Struct, rename="camel"):
    """A note's line of life."""

    path: str
    """As it was asked for."""
    now: str
    """Its present path, as far as the log records its renames."""
    names: list[str]
    """All its paths that are known."""
    vault: str
    traces: list[Trace]
    """Newest first."""
    not_kept: int
    """Calls and prompts that were looked at whose recordings are not kept: they may have shown the note."""
    searched_from: int | None
    """The first sequence that was looked at; null: the log's beginning. Earlier ones: ask with it as `before`."""
    present: Present | None
    """Null: no daemon can be asked."""


def why(inspected: Inspected, parameters: WhyParameters) -> Life:
    """What became of a note.

    Raises:
        InvalidArgument: no note can have that path, or the log has no such vault.
    """
    log = inspected.log
    path = note_id(parameters.path)
    state = log.end.state
    vault = VaultId(parameters.vault) if parameters.vault else state.current
    if vault is None or vault not in state.vaults:
        raise InvalidArgument(
            f"This log has no vault {str(vault)[:100]!r}.",
            hint=f"Its vaults: {', '.join(state.vaults) or 'none'}.",
        )
    former = state.of(vault).former
    now = former.get(path, path)
    names = tuple(dict.fromkeys((now, path, *(old for old, new in former.items() if new == now))))
    search = _Search(log, vault, names)
    traces = search.back_from(parameters.before)
    present: Present | None = None
    if parameters.before is None:
        told = daemon_says(inspected, "workspaced/share/why", {"path": now, "vault": vault})
        present = msgspec.convert(told, Present) if told is not None else None
    return Life(path, now, list(names), vault, traces, search.not_kept, search.searched_from, present)


class _Search:
    """Reads one stretch of the log backwards."""

    def __init__(self, log: replay.Log, vault: VaultId, names: tuple[str, ...]) -> None:
        self._log = log
        self._vault = vault
        self._names = names
        self.not_kept = 0
        self.searched_from: int | None = None

    def back_from(self, before: int | None) -> list[Trace]:
        events = self._log.events()
        if not events:
            return []
        first = events[0].seq
        end = len(events) if before is None else min(max(before - first, 0), len(events))
        # Read twice, a page at a time: a list of so many events takes 5 MB.
        stretch = range(max(end - _SEARCHED_EVENTS, 0), end)
        visited = visits_of((events[at] for at in stretch), self._vault, _VISITS)
        visits = {each.seq: each for each in visited if each.note in self._names}
        found: list[Trace] = []
        recordings = 0
        reached = first + stretch.start
        for event in map(events.__getitem__, reversed(stretch)):
            recordings += isinstance(event.data, c.ToolCalled | c.PromptAssembled)
            if recordings > _RECORDINGS_READ:
                reached = event.seq + 1
                break
            if event.vault == self._vault:
                found += self._traces(event, visits)
        self.searched_from = reached if reached > first else None
        return found

    def _traces(self, event: Event, visits: dict[int, Visit]) -> Iterator[Trace]:
        data = event.data
        if isinstance(data, c.ToolCalled):
            yield from self._of_call(event, data)
        elif isinstance(data, c.PromptAssembled):
            yield from self._of_prompt(event, data)
        elif isinstance(data, c.ActiveNoteSet):
            if event.seq in visits:
                yield self._trace(event, "looked", until=visits[event.seq].until)
        elif isinstance(data, c.MessageData):
            if not set(notes_named(event)).isdisjoint(self._names):
                trace = self._trace(event, "attached")
                trace.sentence = "a message brings it along"
                yield trace
        elif not set(notes_named(event)).isdisjoint(self._names):
            trace = self._trace(event, _kind(data))
            trace.revision = getattr(data, "sha256", None) or getattr(data, "text_sha256", None)
            trace.bytes = getattr(data, "size", None)
            yield trace

    def _of_call(self, event: Event, called: c.ToolCalled) -> Iterator[Trace]:
        refused = _asked_for(called, self._names) if not called.ok else None
        found: list[Any] | None = None
        with suppress(WorkspacedError, msgspec.MsgspecError):  # what it read was swept, or is of a newer version
            content = self._log.blob(called.inputs_sha256) if called.inputs_sha256 is not None else None
            if content is not None:
                asked = read_recording(content, called.inputs_sha256 or "").asked
                found = [each for exchange in asked for each in mentions(exchange, self._names)]
        self.not_kept += found is None and refused is None
        # Each version that was read; None where the note was only named.
        shown = [msgspec.convert(each, RecordedNote) if each is not None else None for each in found or ()]
        if not shown:
            if refused is not None:
                trace = self._trace(event, "refused")
                code = listed(event, self._log.blob).code or "an error"
                trace.sentence = f"{called.caller} asks {called.tool} for {refused} and gets {code}"
                yield trace
            return
        version = next((each for each in reversed(shown) if each is not None), None)
        kind: Kind = "told" if isinstance(called, c.ContextVolunteered) else "asked"
        how = f"{called.caller} is told of it unasked" if kind == "told" else f"{called.caller} asks {called.tool}"
        what = "" if version is not None else ": only its name"
        trace = self._trace(event, kind)
        trace.sentence = f"{how}{what}"
        if version is not None:
            trace.revision, trace.bytes = version.text, version.stat.size
        yield trace

    def _of_prompt(self, event: Event, prompt: c.PromptAssembled) -> Iterator[Trace]:
        try:
            manifest = manifest_of_prompt(prompt.manifest_sha256, texts_in(self._log.blob))
        except WorkspacedError:
            self.not_kept += 1
            return
        wanted = set(map(NoteId, self._names))
        for entry in manifest.entries:
            if names_of(entry).notes.isdisjoint(wanted):
                continue
            is_left_out = entry.state in NOT_IN_PROMPT
            trace = self._trace(event, "leftOut" if is_left_out else "prompt", revision=entry.revision)
            trace.sentence = (
                f"a prompt does without it ({entry.state}: {entry.detail or entry.why})"
                if is_left_out
                else f"it stands in a prompt ({entry.state}, {entry.why})"
            )
            trace.layer, trace.tokens, trace.bytes = entry.layer, entry.tokens, entry.bytes or None
            yield trace

    def _trace(self, event: Event, kind: Kind, **more: Any) -> Trace:
        client = client_of(event)
        agent = client_key(client) if client is not None else None
        unknown = dict.fromkeys(("revision", "bytes", "until", "layer", "tokens"))
        return Trace(event.seq, event.time, kind, told_in_words(event), agent, **{**unknown, **more})


def _kind(data: c.Data) -> Kind:
    if isinstance(data, c.MemoryWritten):
        return "memory"
    kinds: dict[c.Lane, Kind] = {"files": "file", "sharing": "sharing"}
    return kinds.get(c.ENTRY_OF[type(data)].lane, "navigation")


def _asked_for(called: c.ToolCalled, names: Names) -> str | None:
    """The argument by which a call means the note: its path, or its name."""
    meant = {key(way) for name in names for way in (name, without_ending(name), stem(name), stem(name) + ".md")}
    for given in called.arguments.values():
        if isinstance(given, str) and key(given.strip("[]").partition("#")[0].lstrip("/")) in meant:
            return given
    return None


_READ_EVENTS: Final = 20_000
"""Events that one question reads into the index."""
_NAMING: Final = ("message_added", "message_replaced", *(name for name, each in CATALOGUE.items() if each.notes))
"""Types that may name notes."""


class NotesParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which notes."""

    query: str = ""
    """Words that all stand in the path, in any case."""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class NoteNamed(msgspec.Struct, rename="camel"):
    """One note."""

    path: str
    events: int
    """That name it by this path."""
    last: int
    """The sequence of the newest of them."""


class Notes(msgspec.Struct, rename="camel"):
    """The notes that fit, the last named first."""

    notes: list[NoteNamed]
    fitting: int
    """How many fit; of these `notes` has the first."""
    read: int
    """Events that were read so far. Fewer than `of`: ask again, and more are."""
    of: int


class _Index:
    def __init__(self) -> None:
        self.notes: dict[VaultId | None, dict[NoteId, NoteNamed]] = {}
        """By vault and path."""
        self.seq = 0
        """All up to this one was read."""

    def read(self, log: replay.Log) -> None:
        naming = log.events_of(_NAMING, after=self.seq)
        for event in islice(naming, _READ_EVENTS):
            of_vault = self.notes.setdefault(event.vault, {})
            for path in notes_named(event):
                note = of_vault.setdefault(NoteId(path), NoteNamed(path, 0, 0))
                note.events += 1
                note.last = event.seq
            self.seq = event.seq
        if not any(naming):
            self.seq = log.end.seq


_INDEXES: Final[WeakKeyDictionary[replay.Log, _Index]] = WeakKeyDictionary()


def notes(inspected: Inspected, parameters: NotesParameters) -> Notes:
    """The notes that the log names and that fit the query."""
    log = inspected.log
    index = _INDEXES.setdefault(log, _Index())
    index.read(log)
    fitting = _fitting(index, parameters.query.casefold().split())
    fitting.sort(key=lambda note: -note.last)
    events = log.events()
    before = events[0].seq - 1 if events else 0
    return Notes(fitting[: parameters.limit], len(fitting), max(index.seq - before, 0), len(events))


def _fitting(index: _Index, words: list[str]) -> list[NoteNamed]:
    """The notes with all words in their paths, those of the same path in several vaults together."""
    found: dict[NoteId, NoteNamed] = {}
    for notes in index.notes.values():
        for path, note in notes.items():
            if all(word in path.casefold() for word in words):
                other = found.get(path, NoteNamed(path, 0, 0))
                found[path] = NoteNamed(path, note.events + other.events, max(note.last, other.last))
    return list(found.values())
