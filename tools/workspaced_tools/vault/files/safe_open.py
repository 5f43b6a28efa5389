"""Opens notes safely: one code path, a walk by directory descriptors that follows no symlink.

Resolving a path and then opening it has a race: in between, a directory can be swapped for a symlink. Here every
component is opened with O_NOFOLLOW relative to the descriptor of the one before, so no name can lead elsewhere at
any moment, and nothing outside the vault is even stat'ed. Descriptors of directories are not kept between calls: a
renamed directory would still answer under its old name.

Ids are NFC. On a file system that preserves spellings, the file may have another spelling; `VaultRoot` tries the
id itself, then the spelling that a scan has seen, then the names in the directory that are equal after
normalisation.
"""

import errno
import os
import posixpath
import stat
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

from workspaced_events.ids import NoteId, is_markdown
from workspaced_events.limits import NOTE_ID_CHARS_MAX

from ...errors import NoteNotFound, ReadFailed, ReferenceOutsideVault, SymlinkNotFollowed, ToolError
from ...limits import DIRECTORY_DEPTH_MAX, ECHO_CHARS_MAX, FOLDERS_ENTERED_MAX
from ...notes.formats.kinds import is_image_name
from ...notes.note import NoteFailure
from .gitignore import NOTHING, Ignored, is_ignored, with_folder
from .placeholders import is_dataless, not_downloaded, placeholders_of
from .selected_files import SelectedFiles

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_STEP: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO called x.md must not block the reader until a writer opens it.
_NOTE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_ABSENT: Final = frozenset({errno.ENOENT, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ})
_REDIRECTED: Final = frozenset({errno.ELOOP, errno.EMLINK, errno.ENOTDIR})
_Result = TypeVar("_Result")
_MISSING_HINT: Final = "Check the path, or search for the note by its title."


class RootDirectory:
    """The open root directory.

    Its descriptor lives as long as this object is referenced, so that a walk that began before the root was
    replaced never uses a descriptor number that was reused.
    """

    __slots__ = ("fd", "identity")

    def __init__(self, path: str) -> None:
        self.fd = -1
        self.fd = os.open(path, _DIRECTORY)
        status = os.fstat(self.fd)
        self.identity = (status.st_dev, status.st_ino)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


class VaultRoot:
    """The root directory of a vault, held open. Safe from any thread.

    The root itself may be a symlink (its owner named it); nothing below it may. The folder may be replaced,
    unmounted or absent at any time: every call compares (device, inode) and reopens the folder if they differ.
    """

    def __init__(self, path: str | os.PathLike[str], selected: SelectedFiles | None = None) -> None:
        """Does not fail if the folder is absent; calls raise READ_ERROR until it exists.

        Args:
            selected: the files that are notes; None: by default.
        """
        self.path: Final = Path(path).absolute()
        self.selected: Final = selected or SelectedFiles()
        self._path = os.fspath(self.path)
        self._lock = threading.Lock()
        self._directory: RootDirectory | None = None
        self._spellings: dict[str, str] = {}
        self._closed = False

    def open_note(self, note: NoteId) -> int:
        """A descriptor of the note, a regular file, for reading; the caller closes it. Never blocks.

        Raises:
            ReferenceOutsideVault: absolute, `..` as a component, or NUL.
            SymlinkNotFollowed: the path is a symlink, or leads through one.
            NoteNotFound: no file, or one that `.gitignore` leaves out.
            NotDownloaded: the system says that the file's bytes are elsewhere. None are fetched.
            ReadFailed: not a regular file, not permitted, or the vault's folder is gone.
        """
        return self._open_regular(note, _parts(note))

    def open_image(self, path: str) -> int:
        """As `open_note`, for an image's file: a regular file, opened for reading. Never blocks.

        Raises:
            ReferenceOutsideVault, SymlinkNotFollowed, NoteNotFound, ReadFailed: as `open_note`.
        """
        parts = tuple(path.split("/"))
        if ".." in parts or "\0" in path or not is_image_name(path) or not _may_be_found(path, parts):
            raise _missing(path)
        return self._open_regular(path, parts, heeds_gitignore=False)

    def has_other(self, path: str) -> bool:
        """Whether a file that is no note has exactly this path. Opens no file but `.gitignore`."""
        try:
            parts = _parts(NoteId(path))
            is_file = stat.S_ISREG(self._act(path, parts, _stat_file, heeds_gitignore=False).st_mode)
            if is_file and not is_image_name(path):
                self._act(path, parts, _stat_file)  # raises if `.gitignore` leaves it out
            return is_file and not self.selected.holds(path)
        except ToolError:
            return False

    def is_left_out(self, path: NoteId) -> bool:
        """Whether there is a file at `path` that `.gitignore` leaves out."""
        try:
            self._act(path, _parts(path), _stat_file, heeds_gitignore=False)
        except ToolError:
            return False
        try:
            self._act(path, _parts(path), _stat_file)
        except ToolError:
            return True
        return False

    def stat_note(self, note: NoteId, root: RootDirectory | None = None) -> os.stat_result:
        """The stat of the file that `open_note` would open now, without opening it. Raises the same.

        `root` is a recent result of `directory()`, so that a call on many notes checks the root once.
        """
        status = self._act(note, _parts(note), _stat_file, root)
        if stat.S_ISREG(status.st_mode):
            return status
        raise _linked(note) if stat.S_ISLNK(status.st_mode) else _not_regular(note)

    def is_taken(self, note: NoteId) -> bool:
        """Whether a file, even an unreadable one, has exactly this path. Opens no file."""
        try:
            self.stat_note(note)
        except ReadFailed:
            return True
        except ToolError:
            return False
        return True

    def stat_notes(self, notes: Sequence[NoteId], root: RootDirectory) -> list[os.stat_result | None]:
        """As `stat_note` of each, but enters each folder once. None: only `stat_note` can tell, or says why not.

        `root`: a recent result of `directory()`.
        """
        entered: dict[tuple[str, ...], int] = {(): root.fd}
        try:
            return [_stat_within(note, entered) for note in notes]
        finally:
            del entered[()]
            for descriptor in entered.values():
                os.close(descriptor)

    def read_root_file(self, name: str, bytes_max: int, root: RootDirectory) -> tuple[os.stat_result, bytes]:
        """Stat and first `bytes_max` bytes of the regular file `name` in the root itself. Never blocks.

        Raises:
            OSError: ENOENT if there is no file, ELOOP for a symlink, EINVAL for anything but a regular file.
        """
        descriptor = _open_file(name, root.fd)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            content = b""
            while len(content) < bytes_max and (more := os.read(descriptor, bytes_max - len(content))):
                content += more
            return status, content
        finally:
            os.close(descriptor)

    def directory(self) -> RootDirectory:
        """The present root; keep a reference to the object while using its descriptor.

        Raises:
            ReadFailed: the folder is absent or cannot be opened.
        """
        try:
            status = os.stat(self._path)  # a third of Path.stat's time, on every read
        except OSError as reason:
            raise _root_failed(reason) from None
        kept = self._directory
        if kept is not None and kept.identity == (status.st_dev, status.st_ino):
            return kept
        with self._lock:
            if self._closed:
                raise ReadFailed("The vault is closed.", hint="Open the vault again.")
            try:
                self._directory = fresh = RootDirectory(self._path)
            except OSError as reason:
                raise _root_failed(reason) from None
            self._spellings = {}
            return fresh

    def program_with(self, note: NoteId) -> str | None:
        """The sync program that keeps the note elsewhere, by the placeholder beside its path; None: none does."""
        try:
            root = self.directory()  # Held: its descriptor is used below.
            *folders, name = _parts(note)
            for beside, program in placeholders_of(name):
                with suppress(FileNotFoundError):
                    if stat.S_ISREG(_walk(root.fd, (*folders, beside), _stat_file).st_mode):
                        return program
        except (OSError, ToolError, _ThroughSymlink):
            pass
        return None

    def link_target(self, path: str) -> str | None:
        """Where in the vault the symlink at `path` leads, as its text says; None: elsewhere. Follows nothing."""
        try:
            root = self.directory()  # Held: its descriptor is used below.
            text = _walk(root.fd, _parts(NoteId(path)), lambda name, fd: os.readlink(name, dir_fd=fd))
        except (OSError, ToolError, _ThroughSymlink):
            return None
        found = posixpath.normpath(posixpath.join(self._path, posixpath.dirname(path), text))
        return found.removeprefix(f"{self._path}/") if found.startswith(f"{self._path}/") else None

    def is_folder(self, path: str) -> bool:
        """Whether a scan enters the directory `path`: reached without a symlink, in no dot folder."""
        parts = path.split("/")
        if (
            any(part == "" or part[0] == "." or "\0" in part for part in parts)
            or len(parts) >= DIRECTORY_DEPTH_MAX
        ):
            return False
        try:
            root = self.directory()  # Held: its descriptor is used below.
            return stat.S_ISDIR(_walk(root.fd, tuple(parts), _stat_file).st_mode)
        except (OSError, ToolError, _ThroughSymlink):
            return False

    def identity(self) -> tuple[int, int] | None:
        """(device, inode) of the present folder; None if it is absent. Another value means another folder."""
        try:
            return self.directory().identity
        except ReadFailed:
            return None

    def learn(self, note: str, raw_path: str) -> None:
        """Remembers `raw_path` as the spelling of the note's file. A hint: a wrong one only costs a look-up."""
        if raw_path != note:
            self._spellings[note] = raw_path

    def close(self) -> None:
        """Closes the descriptor once no call uses it; further calls raise READ_ERROR."""
        with self._lock:
            self._closed = True
            self._directory = None

    def ignored_in(self, folder: str, root: RootDirectory) -> Ignored | None:
        """The rules of `.gitignore` files that count in a folder; None if it is ignored itself."""
        if not self.selected.choice.gitignore:
            return NOTHING
        try:
            return _rules_in(root.fd, tuple(folder.split("/")) if folder else ())
        except (OSError, _ThroughSymlink):
            return None

    def _open_regular(self, path: str, parts: tuple[str, ...], *, heeds_gitignore: bool = True) -> int:
        descriptor = self._act(path, parts, _open_file, heeds_gitignore=heeds_gitignore)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _not_regular(path)
            if is_dataless(status):
                raise not_downloaded(path)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _act(
        self,
        note: str,
        parts: tuple[str, ...],
        act: Callable[[str, int], _Result],
        root: RootDirectory | None = None,
        *,
        heeds_gitignore: bool = True,
    ) -> _Result:
        """Walks to the note's directory and calls `act(name, directory)` with the last component."""
        root = self.directory() if root is None else root
        heeds_gitignore = heeds_gitignore and self.selected.choice.gitignore and not is_markdown(note)

        def reach(spelling: tuple[str, ...]) -> _Result:
            if heeds_gitignore and _is_ignored(root.fd, spelling):
                raise _missing(note)
            return _walk(root.fd, spelling, act)

        try:
            try:
                return reach(parts)
            except OSError as reason:
                if reason.errno not in _ABSENT:
                    raise
            for spelling in self._other_spellings(note, parts, root.fd):
                try:
                    return reach(spelling)
                except OSError as reason:
                    if reason.errno not in _ABSENT:
                        raise
        except _ThroughSymlink:
            raise _linked(note) from None
        except OSError as reason:
            if reason.errno in _REDIRECTED:
                raise _linked(note) from None
            raise failed(note, reason) from None
        raise _missing(note)

    def _other_spellings(self, note: str, parts: tuple[str, ...], root: int) -> Iterator[tuple[str, ...]]:
        learned = self._spellings.get(note)
        if learned is not None:
            yield tuple(learned.split("/"))
        # Only a few rare characters (KELVIN SIGN) normalise to ASCII. Only a scan learns those, so that a missing
        # note with an ordinary name costs no look-up.
        if not note.isascii():
            found = _spelled(root, parts)
            if found is not None and found != parts:
                self.learn(note, "/".join(found))
                yield found


class _ThroughSymlink(Exception):
    """A component of the path is a symlink."""


@lru_cache(maxsize=4_096)
def _parts(note: NoteId) -> tuple[str, ...]:
    """The components of an id, checked by form only. Raises as `VaultRoot.open_note`."""
    if "\0" in note:
        raise _outside(note, "holds a NUL byte")
    parts = tuple(note.split("/"))
    if note.startswith("/") or ".." in parts:
        raise _outside(note, "leads out of the vault")
    if not _may_be_found(note, parts):
        raise _missing(note)
    return parts


@lru_cache(maxsize=4_096)
def _markdown_parts(note: NoteId) -> tuple[tuple[str, ...], str]:
    """The folders and the name in an id of Markdown. Raises as `_parts`; NoteNotFound for other files."""
    *folders, name = _parts(note)
    if not is_markdown(note):
        raise _missing(note)
    return tuple(folders), name


def _may_be_found(path: str, parts: tuple[str, ...]) -> bool:
    """Whether a scan enters the folders and finds files with such names."""
    hidden = any(part == "" or part[0] == "." for part in parts)
    deep = len(parts) > DIRECTORY_DEPTH_MAX or len(path) > NOTE_ID_CHARS_MAX
    return not hidden and not deep and is_utf8(path)


def _walk(root: int, parts: tuple[str, ...], act: Callable[[str, int], _Result]) -> _Result:
    """Calls `act` on the last component, in the directory that the others lead to.

    Raises:
        OSError: from the system; ENOENT for a component that is missing or no directory.
        _ThroughSymlink: a directory on the way is a symlink.
    """
    directory = root
    try:
        for part in parts[:-1]:
            inner = _entered(part, directory)
            if directory != root:
                os.close(directory)
            directory = inner
        return act(parts[-1], directory)
    finally:
        if directory != root:
            os.close(directory)


def _is_ignored(root: int, parts: tuple[str, ...]) -> bool:
    """Whether `.gitignore` files name the file or a folder above it. Raises as `_walk`."""
    ignored = _rules_in(root, parts[:-1])
    return ignored is None or is_ignored("/".join(parts), ignored)


def _rules_in(root: int, folders: tuple[str, ...]) -> Ignored | None:
    """The rules of `.gitignore` files that count in a folder; None if it is ignored itself. Raises as `_walk`."""
    ignored, prefix, directory = with_folder(NOTHING, root, ""), "", root
    try:
        for part in folders:
            prefix += f"{part}/"
            if is_ignored(prefix, ignored):
                return None
            inner = _entered(part, directory)
            if directory != root:
                os.close(directory)
            directory = inner
            ignored = with_folder(ignored, directory, prefix)
        return ignored
    finally:
        if directory != root:
            os.close(directory)


def _entered(part: str, directory: int) -> int:
    """A descriptor of a folder below `directory`. Raises as `_walk`."""
    try:
        return os.open(part, _STEP, dir_fd=directory)
    except OSError as reason:
        if reason.errno in _REDIRECTED:
            raise _not_a_directory(part, directory) from None
        raise


def _not_a_directory(part: str, directory: int) -> Exception:
    # The symlink itself is stat'ed, never what it points to.
    status = os.stat(part, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return _ThroughSymlink()
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _stat_within(note: NoteId, entered: dict[tuple[str, ...], int]) -> os.stat_result | None:
    """Adds the folders that it enters to `entered`. Only of Markdown, which no `.gitignore` concerns."""
    try:
        folders, name = _markdown_parts(note)
        directory = entered.get(folders)
        if directory is None:
            directory = _enter(folders, entered)
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except (OSError, ToolError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _enter(folders: tuple[str, ...], entered: dict[tuple[str, ...], int]) -> int:
    """The descriptor of a folder, of `entered` or added to it.

    Raises:
        OSError: from the system, or with EMFILE if too many are open.
    """
    if folders not in entered:
        above = _enter(folders[:-1], entered)
        if len(entered) > FOLDERS_ENTERED_MAX:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        entered[folders] = os.open(folders[-1], _STEP, dir_fd=above)
    return entered[folders]


def _open_file(name: str, directory: int) -> int:
    return os.open(name, _NOTE, dir_fd=directory)


def _stat_file(name: str, directory: int) -> os.stat_result:
    return os.stat(name, dir_fd=directory, follow_symlinks=False)


def _spelled(root: int, parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names in the directories that equal `parts` after normalisation; None if one is missing."""
    found: list[str] = []
    directory = os.dup(root)
    try:
        for depth, part in enumerate(parts):
            name = _name_in(directory, part)
            if name is None:
                return None
            found.append(name)
            if depth < len(parts) - 1:
                inner = os.open(name, _STEP, dir_fd=directory)
                os.close(directory)
                directory = inner
        return tuple(found)
    except OSError:
        return None
    finally:
        os.close(directory)


def _name_in(directory: int, part: str) -> str | None:
    """`part` itself or decomposed, whichever exists.

    Only a scan learns rarer spellings: listing a large directory would cost each call on a missing note half a
    millisecond.
    """
    if part.isascii():
        return part
    for name in (part, unicodedata.normalize("NFD", part)):
        try:
            os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError:
            continue
        return name
    return None


def is_utf8(name: str) -> bool:
    """Whether a name from the file system was UTF-8; other bytes become lone surrogates."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(note: str) -> str:
    return repr(note[:ECHO_CHARS_MAX])[: ECHO_CHARS_MAX + 2]


def _outside(note: str, why: str) -> ToolError:
    return ReferenceOutsideVault(
        f"The path {_shown(note)} {why}.", hint="Give a path relative to the vault's root, such as 'work/plan.md'."
    )


def _linked(note: str) -> ToolError:
    return SymlinkNotFollowed(
        f"{_shown(note)} is a symlink or leads through one, and symlinks are not followed.",
        hint="Name the note by the path of its own file, if that is in the vault.",
    )


def _missing(note: str) -> ToolError:
    return NoteNotFound(f"There is no note at {_shown(note)}.", hint=_MISSING_HINT)


def missing_note(note: NoteId) -> NoteFailure:
    """The failure of reading a note that does not exist."""
    return NoteFailure(note, NoteNotFound.code, _missing(note).message)


def _not_regular(note: str) -> ToolError:
    return ReadFailed(f"{_shown(note)} is not a regular file.", hint="Only regular files are notes.")


def failed(note: str, reason: OSError) -> ToolError:
    """The error of opening or reading a note, for what the system says."""
    if reason.errno == errno.ENXIO:  # A socket cannot be opened at all.
        return _not_regular(note)
    if reason.errno == errno.EDEADLK:  # macOS, of a file that its provider cannot fetch now
        return not_downloaded(note)
    return ReadFailed(f"{_shown(note)} cannot be read: {os.strerror(reason.errno or 0)}.", hint="Try again later.")


def _root_failed(reason: OSError) -> ToolError:
    return ReadFailed(
        f"The vault's folder cannot be opened: {os.strerror(reason.errno or 0)}.",
        hint="Check that the folder exists, is mounted and is readable by the daemon.",
    )
