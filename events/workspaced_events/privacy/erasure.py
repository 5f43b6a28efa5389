"""Erasure of a note: rebuilds the log without it and removes everything beside the log that mentions it.

First a new log, with its own id, is built in `forgetting/` in the data directory and synced; nothing else changes
until then. Then the file `ready` is written there, durably: it lists the files of the new log and the files to
remove. From then on `finish` leads to the new state, however often it is interrupted: it copies, removes, and
removes `ready` last. Without `ready` it discards the new log. So every opener of the data directory calls
`finish_forgetting` first, holding the lock, which stays valid because it is on the directory itself.

An unreadable `ready` proves that the new log was complete. If the new log's first segment is already in place, the
rest follows, and everything that the new log does not name is removed; otherwise nothing has begun.

A blob stays if a remaining event names it; every other blob goes: those of the note, and those that no event
names. A pack that holds both is rewritten. All snapshots, kept states and
quarantined bytes go.
"""

import re
import shutil
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from ..blobs.durable import DurableBlobs, read_blob
from ..blobs.packs import PACKS, SUFFIX, members_of, only
from ..errors import InvalidArgument, LogDamaged, NotInLog
from ..ids import NoteId, VaultId
from ..journal.start import Start
from ..limits import READ_EVENTS_MAX
from ..log.data_directory import BLOBS, ERASURE, ERASURE_READY, LOG, SERVED, SNAPSHOTS
from ..log.disk import Disk, RealDisk, write_whole
from ..log.recovery import QUARANTINE
from ..log.salvage import AFTER_DAMAGE
from ..log.scan import scan_log
from ..log.segments import SegmentLog
from ..projections.workspace_fold import fold_all
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..replay.blob_check import texts_named
from ..replay.json_lines import import_events
from ..schema import catalogue as c
from ..schema.catalogue import Event, Redact, UnknownEvent
from .event_redaction import TAGS
from .tombstones import ConversationEraser, NoteEraser, Trail

_HASH: Final = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_POSITION_MARKS: Final = (b'"leftOut"', b'"ask":"visits"')
"""Marks of a recording that names entries by their position; they are wrong once an entry is erased."""


class Ready(msgspec.Struct, frozen=True):
    """The work of `finish`."""

    log: list[str]
    """The new log's files."""
    remove: list[str]
    """Paths in the data directory."""
    packs: dict[str, list[str]] = {}
    """The blobs that stay, of each pack that loses others."""


class Prepared(msgspec.Struct, frozen=True):
    """A prepared erasure; the log has not changed yet."""

    vault: VaultId
    vault_path: str
    paths: list[NoteId]
    """Every path the note had, the present one first."""
    events: int
    """The number of changed or replaced events, including tool calls."""
    calls: int
    ready: Ready


def prepare(
    disk: Disk, staging: Disk, note: NoteId, vault: VaultId | None = None, *, version: str, now: str
) -> Prepared:
    """Builds the log without a note in `staging`.

    Args:
        disk: the data directory; it is only read, and the caller holds its lock.
        staging: its directory `forgetting`; the present content is discarded.
        note: its path at the log's end.
        vault: the note's; by default the current one, or the only one.
        version: the program's.
        now: the present time.

    Raises:
        NotInLog: the log never mentions the note, or only under a former path.
        InvalidArgument: the vault is unknown, or the log goes on from a moment of another one.
        LogDamaged: the log does not verify.
        OSError, LogError: a disk operation failed; only `staging` has changed.
    """
    if Start.of(disk).seq:
        raise InvalidArgument(
            "The log begins with the state of another one, which names notes too.",
            hint="It is that of a run in the past: remove its whole directory.",
        )
    clear(staging)
    state = EMPTY

    def fold(events: list[Event]) -> None:
        nonlocal state
        state = fold_all(events, state)

    scan = scan_log(disk, fold)
    if scan.damage is not None:
        raise scan.damage
    log = SegmentLog(disk, scan.log_id, scan.tail, scan.positions)
    vault = _vault(state, vault)
    trail = Trail(vault, note)
    trail.feed(_events(log))
    if trail.note != note:
        # A former path is refused: after the erasure it would lead to another note that once had it.
        raise NotInLog(f"The note that was {note!r} last is {trail.note!r} now.", hint="Forget it by that path.")
    try:
        recordings = _Recordings(disk, _pattern(note, trail))
        eraser = NoteEraser(
            vault, trail, recordings.mentions_note, ConversationEraser(recordings.part_mentions_note)
        )
        import_events(staging, recordings.without_note(_events(log), eraser), version=version, now=now)
        if not eraser.changed:
            raise NotInLog(
                f"The log of vault {vault!r} never mentions {note!r}.",
                hint="Give the note's path in the vault; `workspaced log export` shows what the log holds.",
            )
        remove = [AFTER_DAMAGE] if recordings.after_damage_mentions_note() else []
        remove += _files_but(disk, recordings.kept)
        ready = Ready(staging.names(LOG), remove, _packs_left(disk, recordings.kept))
    except BaseException:
        with suppress(OSError):
            clear(staging)
        raise
    paths = sorted(trail.paths(), key=lambda path: (path != trail.note, path))
    return Prepared(vault, state.vaults[vault].path, paths, eraser.changed, recordings.calls, ready)


def carry_out(disk: Disk, staging: Disk, prepared: Prepared) -> None:
    """Carries out a prepared erasure.

    Raises:
        OSError: a disk operation failed; `finish` completes or undoes the erasure.
    """
    write_whole(staging, ERASURE_READY, msgspec.json.encode(prepared.ready))
    finish(disk, staging)


def finish(disk: Disk, staging: Disk, warnings: list[str] | None = None) -> bool:
    """Completes an interrupted erasure, or discards one that had not begun. Returns whether it completed one.

    Args:
        disk: the data directory.
        staging: its directory `forgetting`.
        warnings: gets messages for the user.

    Raises:
        OSError: a disk operation failed; call it again.
    """
    try:
        ready = msgspec.json.decode(staging.read(ERASURE_READY), type=Ready)
    except FileNotFoundError:
        clear(staging)
        return False
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        rebuilt = _rebuilt_ready(disk, staging)
        result = "was finished without it" if rebuilt else "had not begun; run `workspaced forget` again"
        if warnings is not None:
            warnings.append(f"{ERASURE}/{ERASURE_READY} cannot be read ({error}): forgetting a note {result}.")
        if rebuilt is None:
            clear(staging)
            return False
        ready = rebuilt
    for name in ready.log:
        write_whole(disk, f"{LOG}/{name}", staging.read(f"{LOG}/{name}"))
    old = [f"{LOG}/{name}" for name in disk.names(LOG) if name not in ready.log]
    for pack, names in ready.packs.items():
        write_whole(disk, pack, only(disk, pack, set(names)))
    _remove(disk, [*old, *ready.remove])
    with suppress(IsADirectoryError, PermissionError):  # raised if `ready` is a folder
        _remove(staging, [ERASURE_READY])
    clear(staging)
    return True


def _rebuilt_ready(disk: Disk, staging: Disk) -> Ready | None:
    """The work of `finish` if `ready` cannot be read; None if the old log is still in place."""
    new, old = scan_log(staging, lambda _events: None), scan_log(disk, lambda _events: None)
    if new.damage is not None or new.torn is not None or not new.segments or new.log_id != old.log_id:
        return None
    named: set[str] = set()
    for name in staging.names(LOG):
        named |= _names_in(staging.read(f"{LOG}/{name}"))
    with suppress(FileNotFoundError):
        named |= _names_in(disk.read(AFTER_DAMAGE))
    texts = DurableBlobs(disk)
    for name in list(named):
        named |= _names_in(_content(texts, name) or b"")
    return Ready(staging.names(LOG), list(_files_but(disk, named)), _packs_left(disk, named))


def finish_forgetting(data: Path, warnings: list[str] | None = None) -> bool:
    """`finish` for a data directory; the caller holds its lock."""
    directory = data / ERASURE
    if not directory.is_dir():
        return False
    finished = finish(RealDisk(data), RealDisk(directory), warnings)
    shutil.rmtree(directory)
    return finished


def clear(staging: Disk) -> None:
    """Discards the staged log, which is useless without `ready`."""
    _remove(staging, [f"{folder}/{name}" for folder in (LOG, QUARANTINE) for name in staging.names(folder)])


def _remove(disk: Disk, paths: list[str]) -> None:
    """Removes the existing ones of `paths`, durably."""
    folders = sorted({path.rpartition("/")[0] for path in paths})
    for path in paths:
        with suppress(FileNotFoundError):
            disk.remove(path)
    for folder in folders:
        with suppress(FileNotFoundError):
            disk.sync_directory(folder)


def _vault(state: WorkspaceState, vault: VaultId | None) -> VaultId:
    known = list(state.vaults)
    chosen = vault or state.current or (known[0] if len(known) == 1 else None)
    if chosen not in known:
        raise InvalidArgument(
            "Which vault is the note in?" if chosen is None else f"The log knows no vault {chosen!r}.",
            hint=f"Vaults: {', '.join(known) or 'none'}.",
        )
    assert chosen is not None
    return chosen


def _events(log: SegmentLog) -> Iterator[Event]:
    following = 1
    while events := log.read(following, READ_EVENTS_MAX):
        yield from events
        following = events[-1].seq + 1


def _files_but(disk: Disk, kept: set[str]) -> Iterator[str]:
    """All snapshots and quarantined files, and every blob not in `kept`; of packs those left empty."""
    for folder in (SNAPSHOTS, QUARANTINE):
        yield from (f"{folder}/{name}" for name in disk.names(folder))
    for store in (BLOBS, SERVED):
        for folder in disk.names(store):
            for name in disk.names(f"{store}/{folder}"):
                path = f"{store}/{folder}/{name}"
                members = members_of(disk, path) if folder == PACKS and name.endswith(SUFFIX) else {name}
                if kept.isdisjoint(members):
                    yield path


def _packs_left(disk: Disk, kept: set[str]) -> dict[str, list[str]]:
    """The members in `kept` of each pack that has something beside them."""
    left = {}
    for name in disk.names(f"{BLOBS}/{PACKS}"):
        path = f"{BLOBS}/{PACKS}/{name}"
        staying = kept & members_of(disk, path).keys() if name.endswith(SUFFIX) else set()
        if staying and only(disk, path, staying) != disk.read(path):
            left[path] = sorted(staying)
    return left


def _content(texts: DurableBlobs, name: str) -> bytes | None:
    """The content of a blob, from either store."""
    for read in (partial(read_blob, texts.disk, SERVED), texts.get):
        with suppress(LogDamaged):  # a damaged blob is useless, so it may go
            if (content := read(name)) is not None:
                return content
    return None


# -- mentions of the note --


def _pattern(note: NoteId, trail: Trail) -> re.Pattern[str]:
    """Matches mentions of the note in a text: its paths, and its names and titles as whole words.

    If no event names the note, only the exact path matches, so that a mistyped path does not match half the log.
    """
    if not trail.mentioned:
        return re.compile(rf"\A{re.escape(_without_case(note))}\Z")
    paths = trail.paths()
    stems = {
        path.rpartition("/")[2].removesuffix(".md") for path in paths
    }  # A file of the memory may end otherwise.
    words = sorted({_without_case(each.strip()) for each in {*paths, *stems, *trail.titles()} if each.strip()})
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")


def _without_case(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _names_in(content: bytes) -> set[str]:
    return {name.decode() for name in _HASH.findall(content)}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if "%" in value:
            yield unquote(value)
        while "&" in value and (plain := unescape(value)) != value:  # a name may be escaped more than once
            yield plain
            value = plain
    elif isinstance(value, dict):
        for key, held in value.items():
            if key == "filename" and str(value.get("path")).endswith(f"/{held}"):
                continue  # it repeats the end of the path, and would pass for a note at the vault's root
            yield from _strings(key)
            yield from _strings(held)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


class _Recordings:
    """The blobs and recordings of a log, searched for mentions of the note.

    Attributes:
        kept: names of the blobs that remaining events name.
        calls: the number of tool calls that mention the note.
    """

    def __init__(self, disk: Disk, pattern: re.Pattern[str]) -> None:
        self._disk = disk
        self._texts = DurableBlobs(disk)
        self._pattern = pattern
        self._known: dict[str, bool] = {}
        """By blob: whether it mentions the note."""
        self._known_deeply: dict[str, bool] = {}
        """By blob: whether it, or a blob it names, mentions the note."""
        self.kept: set[str] = set()
        self.calls = 0

    def mentions_note(self, event: Event) -> bool:
        """Whether an event that is erased whole, or of an unknown type, mentions the note."""
        data = event.data
        if type(event) is UnknownEvent:
            return self._json_mentions(bytes(data))
        written = [getattr(data, name) for name, tag in TAGS[type(data)].items() if tag is Redact.CONTENT]
        if not isinstance(data, c.ToolCalled):
            return self._value_mentions(written)
        blobs = filter(None, (data.result_sha256, data.inputs_sha256))
        found = self._value_mentions(written) or any(map(self._blob_mentions, blobs))
        self.calls += found
        return found

    def part_mentions_note(self, part: Any) -> bool:
        """Whether a part of a conversation mentions the note, itself or through blobs up to two levels deep."""
        content = msgspec.json.encode(part)
        return self._json_mentions(content) or any(map(self._blob_mentions_deeply, _names_in(content)))

    def without_note(self, events: Iterable[Event], eraser: Callable[[Event], Event]) -> Iterator[Event]:
        """Yields the events without the note and records which blobs they name."""
        has_changed = False
        for event in events:
            remaining = eraser(event)
            has_changed = has_changed or remaining is not event
            if type(remaining) is UnknownEvent:
                self._keep_named_in(bytes(remaining.data))
            elif isinstance(remaining.data, c.ToolCalled):
                remaining = self._call(remaining, has_changed)
            self.kept.update(texts_named(remaining))
            if type(remaining.data) is c.PromptAssembled:
                for name in filter(None, (remaining.data.inputs_sha256, remaining.data.turn_sha256)):
                    self._keep_named_in(self._blob(name) or b"")
            yield remaining

    def after_damage_mentions_note(self) -> bool:
        """Whether the events after a salvaged damage mention the note; if not, keeps their blobs."""
        try:
            lines = self._disk.read(AFTER_DAMAGE).splitlines()
        except FileNotFoundError:
            return False
        if any(map(self._json_mentions, lines)):
            return True
        for line in lines:
            self._keep_named_in(line)
        return False

    def _call(self, event: Event, has_changed: bool) -> Event:
        """A remaining tool call; loses its recording if erased entries make the recording's positions wrong."""
        data = event.data
        self.kept.add(data.result_sha256)
        recording = self._blob(data.inputs_sha256) if data.inputs_sha256 is not None else None
        if recording is None:
            return event
        if has_changed and any(mark in recording for mark in _POSITION_MARKS):
            return replace(event, data=replace(data, inputs_sha256=None))
        self.kept.add(data.inputs_sha256)
        self._keep_named_in(recording)
        return event

    def _keep_named_in(self, content: bytes) -> None:
        self.kept.update(_names_in(content))

    def _blob(self, name: str) -> bytes | None:
        return _content(self._texts, name)

    def _blob_mentions(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            content = self._blob(name)
            known = self._known[name] = content is not None and self._json_mentions(content)
        return known

    def _blob_mentions_deeply(self, name: str) -> bool:
        known = self._known_deeply.get(name)
        if known is None:
            named = _names_in(self._blob(name) or b"")
            known = self._known_deeply[name] = any(map(self._blob_mentions, {name, *named}))
        return known

    def _json_mentions(self, content: bytes) -> bool:
        try:
            value = msgspec.json.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            value = content.decode(errors="replace")
        return self._value_mentions(value)

    def _value_mentions(self, value: Any) -> bool:
        return any(self._pattern.search(_without_case(text)) for text in _strings(value))
