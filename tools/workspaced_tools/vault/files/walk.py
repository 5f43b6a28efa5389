"""Walks a vault for its notes.

The walk is iterative, with one open descriptor per level and a limit on levels, so that hostile depth costs
neither stack nor descriptors. Every directory is opened relative to its parent with O_NOFOLLOW, as in `safe_open`.
"""

import os
import unicodedata
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from workspaced_events.ids import NoteId, is_markdown
from workspaced_events.limits import NOTE_ID_CHARS_MAX

from ...limits import DIRECTORY_DEPTH_MAX, SCAN_REPORT_NAMES_MAX
from ...notes.formats.kinds import is_image_name
from ...notes.note import StatKey
from .gitignore import Ignored, is_ignored, with_folder
from .safe_open import VaultRoot, is_utf8
from .selected_files import SelectedFiles

_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ScannedNote(NamedTuple):
    """A note's file found by a scan."""

    id: NoteId
    raw_path: str
    """The path as spelled on disk; differs from the id if the file's name is not NFC."""
    stat: StatKey


class ScanReport(msgspec.Struct):
    """Vault-relative paths that a scan skipped or renamed; each list is at most SCAN_REPORT_NAMES_MAX long.

    The scan fills it while it runs; it is complete once the iterator is exhausted.
    """

    undecodable: list[str] = []
    """Names that are not UTF-8, escaped so that they can be shown."""
    special: list[str] = []
    """FIFOs, sockets, devices and directories called `*.md`."""
    too_deep: list[str] = []
    """Directories below the depth limit, and paths longer than an id may be."""
    unreadable: list[str] = []
    """Directories that could not be opened."""
    same_name: list[str] = []
    """Files whose NFC name belongs to another file; they keep their raw path as id."""
    links: list[str] = []
    """Symlinks, which are not followed; of folders, as far as a name can tell, and of notes."""
    dropped: int = 0
    """The number of further paths."""

    def add(self, names: list[str], path: str) -> None:
        if len(names) < SCAN_REPORT_NAMES_MAX:
            names.append(path)
        else:
            self.dropped += 1


class ScannedFile(NamedTuple):
    """A file found by a scan that is no note."""

    path: str
    """NFC. Files whose paths differ only in normalisation are one."""
    raw_path: str


class _Walk(NamedTuple):
    """What the levels of one walk share."""

    selected: SelectedFiles
    report: ScanReport
    others: list[ScannedFile] | None


class _Level(NamedTuple):
    descriptor: int
    prefix: str
    """Path of the directory with a trailing slash; empty for the root."""
    directories: list[str]
    """Names of directories not entered yet."""
    ignored: Ignored | None
    """The rules of `.gitignore` files that count here; None: the folder is ignored."""


def scan(
    root: VaultRoot, report: ScanReport | None = None, others: list[ScannedFile] | None = None
) -> Iterator[ScannedNote]:
    """The notes of a vault, in no particular order; exhaust or close the iterator to free its descriptors.

    Adds the other regular files to `others`, without a stat: those that no `.gitignore` file ignores, and all
    images, which are shown with the notes that embed them. A name without an ending is no link's target.

    A note is a regular `*.md` file (any case of the ending), or another one that `root.selected` holds and no
    `.gitignore` file ignores, outside dot folders, itself without a leading dot;
    symlinks are not followed. If the paths of files differ only in normalisation, the file with the NFC name owns
    the id (without one: the first by code points); the others keep their raw path. `root` learns every spelling
    that is not NFC. A file that appears or disappears during the scan may be included or not.

    Raises:
        ReadFailed: the vault's folder is absent or cannot be opened.
    """
    report = ScanReport() if report is None else report
    owned: set[str] = set()
    spelled: list[ScannedNote] = []
    for path, status in _files(root, report, others=others):
        key = StatKey(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if path.isascii() or unicodedata.is_normalized("NFC", path):
            owned.add(path)
            yield ScannedNote(NoteId(path), path, key)
        else:
            spelled.append(ScannedNote(NoteId(path), path, key))
    for found in sorted(spelled, key=lambda note: note.raw_path):
        name = NoteId(unicodedata.normalize("NFC", found.raw_path))
        if name in owned:
            report.add(report.same_name, found.raw_path)
            yield found
        else:
            owned.add(name)
            root.learn(name, found.raw_path)
            yield found._replace(id=name)


def folders(root: VaultRoot) -> list[str]:
    """The directories that a scan enters, relative to the root, which is the empty string and comes first.

    Raises:
        ReadFailed: the vault's folder is absent or cannot be opened.
    """
    found: list[str] = []
    for _ in _files(root, ScanReport(), found.append):
        pass
    return found


def notes_below(root: VaultRoot, folder: str, notes_max: int) -> list[NoteId]:
    """The first notes that a walk of one folder finds, at most `notes_max`; none if there is no such folder.

    Raises:
        ReadFailed: the vault's folder is absent or cannot be opened.
    """
    if not root.is_folder(folder):
        return []
    found: list[NoteId] = []
    with closing(_files(root, ScanReport(), folder=folder)) as files:
        for path, _status in islice(files, notes_max):
            note = NoteId(unicodedata.normalize("NFC", path))
            if note != path:
                root.learn(note, path)
            found.append(note)
    return found


def _files(
    root: VaultRoot,
    report: ScanReport,
    entered: Callable[[str], object] = str,
    *,
    folder: str = "",
    others: list[ScannedFile] | None = None,
) -> Generator[tuple[str, os.stat_result]]:
    """Raw path and stat of every note's file, of the vault or of one folder; calls `entered` with each
    directory."""
    directory = root.directory()  # Held to the end: its descriptor is used below.
    walk = _Walk(root.selected, report, others)
    levels: list[_Level] = []
    try:
        entered("")
        ignored = root.ignored_in(folder, directory)
        prefix = f"{folder}/" if folder else ""
        yield from _enter(walk, folder or ".", _Level(directory.fd, prefix, [], ignored), levels)
        while levels:
            level = levels[-1]
            if not level.directories:
                os.close(levels.pop().descriptor)
                continue
            name = level.directories.pop()
            path = level.prefix + name
            if len(levels) >= DIRECTORY_DEPTH_MAX:
                report.add(report.too_deep, path)
                continue
            depth = len(levels)
            yield from _enter(walk, name, _Level(level.descriptor, path + "/", [], _below(level, path)), levels)
            if len(levels) > depth:
                entered(path)
    finally:
        for level in levels:
            os.close(level.descriptor)


def _below(level: _Level, path: str) -> Ignored | None:
    """The rules that count in the folder `path` of this level, without those of its own file."""
    ignored = level.ignored
    return None if ignored is None or is_ignored(f"{path}/", ignored) else ignored


def _enter(walk: _Walk, name: str, at: _Level, levels: list[_Level]) -> Iterator[tuple[str, os.stat_result]]:
    """Opens a directory, puts it on `levels`, and yields its notes; adds its other files to those of the walk.

    Args:
        at: the level to come, with the descriptor of the directory above it.
    """
    report, prefix, ignored = walk.report, at.prefix, at.ignored
    try:
        descriptor = os.open(name, _ENTER, dir_fd=at.descriptor)
    except FileNotFoundError:
        return
    except OSError:
        report.add(report.unreadable, prefix)
        return
    if ignored is not None and walk.selected.choice.gitignore:
        ignored = with_folder(ignored, descriptor, prefix)
    level = _Level(descriptor, prefix, [], ignored)
    levels.append(level)
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                status = _file(entry, level, walk)
                if status is not None:
                    yield prefix + entry.name, status
    except OSError:
        report.add(report.unreadable, prefix)


def _file(entry: os.DirEntry[str], level: _Level, walk: _Walk) -> os.stat_result | None:
    """The stat of a note's file; None for everything else. Adds a directory to `level`."""
    name, report = entry.name, walk.report
    if name[0] == ".":
        return None
    is_note = is_markdown(name)
    if is_note and entry.is_file(follow_symlinks=False) and name.isascii():
        return _stat(entry, level, report)
    is_directory = entry.is_dir(follow_symlinks=False)
    if not is_utf8(name):
        if is_note or is_directory:
            shown = (level.prefix + name).encode(errors="backslashreplace").decode()
            report.add(report.undecodable, shown)
        return None
    if is_directory:
        level.directories.append(name)
    if entry.is_symlink():
        # What it leads to may lie outside the vault, so is not even stat'ed: a folder's name has no ending.
        if is_note or "." not in name:
            report.add(report.links, level.prefix + name)
        return None
    if not is_note:
        return _other_file(entry, level, walk) if not is_directory else None
    if entry.is_file(follow_symlinks=False):
        return _stat(entry, level, report)
    report.add(report.special, level.prefix + name)
    return None


def _other_file(entry: os.DirEntry[str], level: _Level, walk: _Walk) -> os.stat_result | None:
    """The stat of a regular file that is no Markdown, but a note; any other is added to those of the walk."""
    path = level.prefix + entry.name
    if not entry.is_file(follow_symlinks=False):
        return None
    is_left_out = level.ignored is None or is_ignored(path, level.ignored)
    if walk.selected.holds(path):
        return _stat(entry, level, walk.report) if not is_left_out else None
    is_shown = len(path) <= NOTE_ID_CHARS_MAX and (not is_left_out or is_image_name(path))
    if walk.others is not None and is_shown and "." in entry.name:
        walk.others.append(ScannedFile(unicodedata.normalize("NFC", path), path))
    return None


def _stat(entry: os.DirEntry[str], level: _Level, report: ScanReport) -> os.stat_result | None:
    if len(level.prefix) + len(entry.name) > NOTE_ID_CHARS_MAX:
        report.add(report.too_deep, level.prefix + entry.name)
        return None
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
