"""Forgetting a note: the log made anew without it, and everything beside the log that told of it removed.

First a new log, with an id of its own, is built in `forgetting/` in the data directory, synced; until then nothing
else has changed. Then the file `ready` is put there, durably: it says which files are the new log and which files
have to go. From that moment `finish` leads to the new state however often it is interrupted, and only there: it
copies, removes, and removes `ready` last. Without `ready` it throws away what was built. So whoever opens the data
directory calls `finish_forgetting` first, holding the lock, which is on the directory itself and so stays true.

A `ready` that cannot be read says at least that the new log was whole. If that one's first segment is in its place
already, the rest follows, with everything removed that nothing of it names; else nothing has begun.

What the log names by hash is kept if an event that stays names it; every other blob goes: those of the note, and
whatever no event names. Snapshots and quarantined bytes go whole.
"""

import re
import shutil
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from ..blobs.durable import read_blob
from ..errors import InvalidArgument, LogDamaged, NotInLog
from ..ids import NoteId, VaultId
from ..limits import READ_EVENTS_MAX
from ..log.data_directory import BLOBS, ERASURE, ERASURE_READY, LOG, SERVED, SNAPSHOTS
from ..log.disk import Disk, RealDisk, write_whole
from ..log.recovery import QUARANTINE
from ..log.salvage import AFTER_DAMAGE
from ..log.scan import scan_log
from ..log.segments import SegmentLog
from ..projections.conversations import CONVERSATION_EVENT_TYPES
from ..projections.workspace_fold import fold_all
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..replay.json_lines import import_events
from ..schema import catalogue as c
from ..schema.catalogue import Event, UnknownEvent
from .conversation_erasure import ConversationEraser
from .tombstones import Forgetting, Trail

_HASH: Final = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_SAYS_POSITIONS: Final = (b'"leftOut"', b'"ask":"visits"')
"""A recording that names entries of the state or the history by where they stood; once one is gone they lie."""


class Ready(msgspec.Struct, frozen=True):
    """What `finish` has to do."""

    log: list[str]
    """The files of the new log."""
    remove: list[str]
    """Paths in the data directory."""


class Prepared(msgspec.Struct, frozen=True):
    """What a forgetting is going to do; nothing is done yet."""

    vault: VaultId
    vault_path: str
    paths: list[NoteId]
    """Every path the note had, the present one first."""
    events: int
    """How many are changed or replaced, calls of tools among them."""
    calls: int
    ready: Ready


def prepare(
    disk: Disk, aside: Disk, note: NoteId, vault: VaultId | None = None, *, version: str, now: str
) -> Prepared:
    """Builds in `aside` what the log is without a note.

    Args:
        disk: the data directory; it is only read, and the caller holds its lock.
        aside: its directory `forgetting`; whatever is in it goes.
        note: its path at the log's end.
        vault: the note's; by default the current one, or the only one.
        version: of the program.
        now: the time.

    Raises:
        NotInLog: the log never mentions the note, or only by what is a former path of it.
        InvalidArgument: there is no such vault.
        LogDamaged: the log does not verify.
        OSError, LogError: the disk refused; nothing but `aside` has changed.
    """
    clear(aside)
    state = EMPTY

    def fold(events: list[Event]) -> None:
        nonlocal state
        state = fold_all(events, state)

    scan = scan_log(disk, fold)
    if scan.damage is not None:
        raise scan.damage
    log = SegmentLog(disk, scan.log_id, scan.tail, scan.positions, writable=None)
    vault = _vault(state, vault)
    trail = Trail(vault, note)
    trail.feed(_events(log))
    if trail.note != note:
        # Not a short cut to it: asked again, it would lead to the next note that was once called so.
        raise NotInLog(f"The note that was {note!r} last is {trail.note!r} now.", hint="Forget it by that path.")
    try:
        recordings = _Recordings(disk, _pattern(note, trail))
        forgetting = Forgetting(vault, trail, recordings.tells, ConversationEraser(recordings.tells_of))
        import_events(aside, recordings.kept_of(_events(log), forgetting), version=version, now=now)
        if not forgetting.changed:
            raise NotInLog(
                f"The log of vault {vault!r} never mentions {note!r}.",
                hint="Give the note's path in the vault; `workspaced log export` shows what the log holds.",
            )
        ready = Ready(aside.names(LOG), list(_to_remove(disk, recordings)))
    except BaseException:
        with suppress(OSError):
            clear(aside)
        raise
    paths = sorted(trail.paths(), key=lambda path: (path != trail.note, path))
    return Prepared(vault, state.vaults[vault].path, paths, forgetting.changed, recordings.calls, ready)


def carry_out(disk: Disk, aside: Disk, prepared: Prepared) -> None:
    """Does what was prepared.

    Raises:
        OSError: the disk refused; `finish` goes on with it, or undoes it.
    """
    write_whole(aside, ERASURE_READY, msgspec.json.encode(prepared.ready))
    finish(disk, aside)


def finish(disk: Disk, aside: Disk, warnings: list[str] | None = None) -> bool:
    """Ends a forgetting that was interrupted: it is done, or had not begun. Returns whether it is done by this.

    Args:
        disk: the data directory.
        aside: its directory `forgetting`.
        warnings: get what a person should know.

    Raises:
        OSError: the disk refused; call it again.
    """
    try:
        ready = msgspec.json.decode(aside.read(ERASURE_READY), type=Ready)
    except FileNotFoundError:
        clear(aside)
        return False
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        found = _ready_again(disk, aside)
        said = "was finished without it" if found else "had not begun; run `workspaced forget` again"
        if warnings is not None:
            warnings.append(f"{ERASURE}/{ERASURE_READY} cannot be read ({error}): forgetting a note {said}.")
        if found is None:
            clear(aside)
            return False
        ready = found
    for name in ready.log:
        write_whole(disk, f"{LOG}/{name}", aside.read(f"{LOG}/{name}"))
    old = [f"{LOG}/{name}" for name in disk.names(LOG) if name not in ready.log]
    _remove(disk, [*old, *ready.remove])
    with suppress(IsADirectoryError, PermissionError):  # what unlinking a folder of that name gives
        _remove(aside, [ERASURE_READY])
    clear(aside)
    return True


def _ready_again(disk: Disk, aside: Disk) -> Ready | None:
    """What `finish` has to do where `ready` cannot be read; None if the old log is in its place untouched."""
    new, old = scan_log(aside, lambda _events: None), scan_log(disk, lambda _events: None)
    if new.damage is not None or new.torn is not None or not new.segments or new.log_id != old.log_id:
        return None
    kept: set[str] = set()
    for name in aside.names(LOG):
        kept |= _names_in(aside.read(f"{LOG}/{name}"))
    with suppress(FileNotFoundError):
        kept |= _names_in(disk.read(AFTER_DAMAGE))
    for name in list(kept):
        kept |= _names_in(_content(disk, name) or b"")
    return Ready(aside.names(LOG), list(_files_but(disk, kept)))


def finish_forgetting(data: Path, warnings: list[str] | None = None) -> bool:
    """`finish` for a data directory, whose lock the caller holds."""
    directory = data / ERASURE
    if not directory.is_dir():
        return False
    finished = finish(RealDisk(data), RealDisk(directory), warnings)
    shutil.rmtree(directory)
    return finished


def clear(aside: Disk) -> None:
    """Removes what was built; without `ready` it is of no use."""
    _remove(aside, [f"{folder}/{name}" for folder in (LOG, QUARANTINE) for name in aside.names(folder)])


def _remove(disk: Disk, paths: list[str]) -> None:
    """Removes those that are there, durably."""
    folders = sorted({path.rpartition("/")[0] for path in paths})
    for path in paths:
        with suppress(FileNotFoundError):
            disk.remove(path)
    for folder in folders:
        with suppress(FileNotFoundError):
            disk.sync_directory(folder)


def _vault(state: WorkspaceState, vault: VaultId | None) -> VaultId:
    known = list(state.vaults)
    found = vault or state.current or (known[0] if len(known) == 1 else None)
    if found not in known:
        raise InvalidArgument(
            "Which vault is the note in?" if found is None else f"The log knows no vault {found!r}.",
            hint=f"Vaults: {', '.join(known) or 'none'}.",
        )
    assert found is not None
    return found


def _events(log: SegmentLog) -> Iterator[Event]:
    following = 1
    while events := log.read(following, READ_EVENTS_MAX):
        yield from events
        following = events[-1].seq + 1


def _to_remove(disk: Disk, recordings: "_Recordings") -> Iterator[str]:
    if recordings.tells_after_damage():
        yield AFTER_DAMAGE
    yield from _files_but(disk, recordings.kept)


def _files_but(disk: Disk, kept: set[str]) -> Iterator[str]:
    """The snapshots, what is in quarantine, and every blob that is not `kept`."""
    for folder in (SNAPSHOTS, QUARANTINE):
        yield from (f"{folder}/{name}" for name in disk.names(folder))
    for store in (BLOBS, SERVED):
        for folder in disk.names(store):
            for name in disk.names(f"{store}/{folder}"):
                if name not in kept:
                    yield f"{store}/{folder}/{name}"


def _content(disk: Disk, name: str) -> bytes | None:
    """The content of a blob, wherever it lies."""
    for store in (SERVED, BLOBS):
        with suppress(LogDamaged):  # nothing can be made of it, so it need not be kept either
            if (content := read_blob(disk, store, name)) is not None:
                return content
    return None


# -- what tells of the note --


def _pattern(note: NoteId, trail: Trail) -> re.Pattern[str]:
    """What tells of the note in a text: its paths, and as words its names and titles.

    Where no event names the note only the path as a whole will do: a mistyped one must not match half the log.
    """
    if not trail.mentioned:
        return re.compile(rf"\A{re.escape(_folded(note))}\Z")
    paths = trail.paths()
    stems = {path.rpartition("/")[2][: -len(".md")] for path in paths}
    words = sorted({_folded(each.strip()) for each in {*paths, *stems, *trail.titles()} if each.strip()})
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _names_in(content: bytes) -> set[str]:
    return {name.decode() for name in _HASH.findall(content)}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if "%" in value:
            yield unquote(value)
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from _strings(key)
            yield from _strings(held)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


class _Recordings:
    """The calls of tools, with what was recorded of them.

    Attributes:
        kept: the names of the blobs that events which stay name.
        calls: how many calls tell of the note.
    """

    def __init__(self, disk: Disk, pattern: re.Pattern[str]) -> None:
        self._disk = disk
        self._pattern = pattern
        self._known: dict[str, bool] = {}
        """Whether a blob tells of the note,"""
        self._known_deeply: dict[str, bool] = {}
        """or one that it names."""
        self.kept: set[str] = set()
        self.calls = 0

    def tells(self, event: Event) -> bool:
        """Whether a call, or an event of an unknown type, tells of the note."""
        if type(event) is UnknownEvent:
            return self._tells_json(bytes(event.data))
        data = event.data
        blobs = (data.result_sha256, data.inputs_sha256)
        if self._tells_value(data.arguments) or any(map(self._tells_blob, filter(None, blobs))):
            self.calls += 1
            return True
        return False

    def tells_of(self, said: Any) -> bool:
        """Whether what was said in a conversation does, or a blob that it names, or one that such a blob names."""
        content = msgspec.json.encode(said)
        return self._tells_json(content) or any(map(self._tells_deeply, _names_in(content)))

    def kept_of(self, events: Iterable[Event], forgetting: Callable[[Event], Event]) -> Iterator[Event]:
        """The events with the note taken out; takes note of the blobs that these name."""
        has_changed = False
        for event in events:
            kept = forgetting(event)
            has_changed = has_changed or kept is not event
            if type(kept) is UnknownEvent:
                self._keep_named_in(bytes(kept.data))
            elif type(kept.data) is c.SelectionChanged and kept.data.text_sha256 is not None:
                self.kept.add(kept.data.text_sha256)
            elif type(kept.data) is c.ToolCalled:
                kept = self._call(kept, has_changed)
            elif type(kept.data) in CONVERSATION_EVENT_TYPES:
                self._keep_said(kept.data)
            yield kept

    def tells_after_damage(self) -> bool:
        """Whether what a salvage put aside tells of the note; if not, its blobs stay."""
        try:
            lines = self._disk.read(AFTER_DAMAGE).splitlines()
        except FileNotFoundError:
            return False
        if any(map(self._tells_json, lines)):
            return True
        for line in lines:
            self._keep_named_in(line)
        return False

    def _call(self, event: Event, has_changed: bool) -> Event:
        """The call of a tool that stays, without its recording where that would be misread from now on."""
        data = event.data
        self.kept.add(data.result_sha256)
        recording = self._blob(data.inputs_sha256) if data.inputs_sha256 is not None else None
        if recording is None:
            return event
        if has_changed and any(mark in recording for mark in _SAYS_POSITIONS):
            return replace(event, data=replace(data, inputs_sha256=None))
        self.kept.add(data.inputs_sha256)
        self._keep_named_in(recording)
        return event

    def _keep_said(self, data: Any) -> None:
        self._keep_named_in(msgspec.json.encode(data))
        if type(data) is c.PromptAssembled and (inputs := self._blob(data.inputs_sha256)) is not None:
            self._keep_named_in(inputs)

    def _keep_named_in(self, content: bytes) -> None:
        self.kept.update(_names_in(content))

    def _blob(self, name: str) -> bytes | None:
        return _content(self._disk, name)

    def _tells_blob(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            content = self._blob(name)
            known = self._known[name] = content is not None and self._tells_json(content)
        return known

    def _tells_deeply(self, name: str) -> bool:
        known = self._known_deeply.get(name)
        if known is None:
            named = _names_in(self._blob(name) or b"")
            known = self._known_deeply[name] = any(map(self._tells_blob, {name, *named}))
        return known

    def _tells_json(self, content: bytes) -> bool:
        try:
            value = msgspec.json.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            value = content.decode(errors="replace")
        return self._tells_value(value)

    def _tells_value(self, value: Any) -> bool:
        return any(self._pattern.search(_folded(text)) for text in _strings(value))
