"""Reads and writes settings files that belong to other programs: all of a change or nothing, without damage.

A file that we change for the first time is kept beside as it was. A change is refused if the file has changed
since it was read. Texts are written as drafts, which get their names when they are safe on the disk; the drafts of
a run that died are cleared away by the next change of the file.
"""

import difflib
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from workspaced_events.private_files import make_folder

from ..discovery.records import state_directory
from ..errors import SettingsInvalid

FILE_BYTES_MAX: Final = 16 * 1024 * 1024
BACKUP: Final = ".before-workspaced"
BACKUPS_MAX: Final = 100
_DRAFT: Final = ".workspaced-draft"
_CONTEXT_LINES: Final = 3


class Change(NamedTuple):
    """A planned change of a file."""

    path: Path
    before: str | None
    """None: the file does not exist."""
    after: str | None
    """None: the file goes."""
    keeps_backup: bool = False
    """Whether the file is to be kept beside as it is now."""
    old_backup: Path | None = None
    """The backup that the file equals afterwards, and that goes."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    def difference(self) -> str:
        """The change as a unified diff."""
        before, after = _lines(self.before), _lines(self.after)
        same = 0  # difflib takes long for what it need not look at
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        begin = max(0, same - _CONTEXT_LINES)
        end = 0
        while end < min(len(before), len(after)) - same and before[-1 - end] == after[-1 - end]:
            end += 1
        end = max(0, end - _CONTEXT_LINES)
        hunks = difflib.unified_diff(
            before[begin : len(before) - end], after[begin : len(after) - end], str(self.path), str(self.path)
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in _moved(hunks, begin))


def read(path: Path) -> str | None:
    """The text of a file, through symlinks; None if there is none.

    Raises:
        SettingsInvalid: it cannot be read, is too large, no regular file, or no UTF-8.
    """
    try:
        # A pipe must not make us wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsInvalid(f"Cannot read {path}: {error.strerror or error}.") from None
    try:
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SettingsInvalid(f"{path} is no regular file; it was left as it is.")
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise SettingsInvalid(f"{path} is larger than {FILE_BYTES_MAX} bytes; it was left as it is.")
        return content.decode()
    except UnicodeDecodeError as error:
        raise SettingsInvalid(f"{path} is no UTF-8: {error.reason}; it was left as it is.") from None
    except OSError as error:
        raise SettingsInvalid(f"Cannot read {path}: {error.strerror or error}.") from None


def backups(path: Path) -> list[tuple[Path, str]]:
    """The readable backups of a file with their texts, the oldest first."""
    target = Path(os.path.realpath(path))
    found: list[tuple[Path, str]] = []
    for number in range(1, BACKUPS_MAX):
        backup = _numbered(target, number)
        if not backup.exists():
            break
        with suppress(SettingsInvalid):
            if (text := read(backup)) is not None:
                found.append((backup, text))
    return found


def write(changes: Sequence[Change]) -> list[Path | None]:
    """Writes all changes or none, each atomically and through symlinks; returns the new backup of each file.

    Raises:
        SettingsInvalid: a file has changed since the plan, is read-only, or cannot be written.
    """
    made: list[Path] = []  # backups, removed again on an error
    done: list[Change] = []
    try:
        drafts = [_prepare(change, made) for change in changes]
        for change in changes:
            if read(change.path) != change.before:
                raise SettingsInvalid(f"{change.path} has changed in this very moment.", hint="Run it again.")
        for change, (_backup, draft) in zip(changes, drafts, strict=True):
            _set(_target(change), draft)
            done.append(change)
    except (OSError, SettingsInvalid) as error:
        for change in reversed(done):
            target = _target(change)
            _set(target, None if change.before is None else _draft(target, change.before))
        for backup in made:
            backup.unlink(missing_ok=True)
        for change in changes:
            _clear_drafts(_target(change))
        if isinstance(error, SettingsInvalid):
            raise
        where = error.filename or changes[len(done)].path
        raise SettingsInvalid(
            f"Cannot write {where}: {error.strerror or error}; nothing was changed.",
            hint="Let yourself write there, or set HOME to the folder with the program's settings.",
        ) from None
    for change in changes:
        if change.old_backup is not None:
            change.old_backup.unlink(missing_ok=True)
    return [backup for backup, _draft_path in drafts]


def _prepare(change: Change, made: list[Path]) -> tuple[Path | None, Path | None]:
    """Writes what the change needs beside the file: the backup, and the new text."""
    target = _target(change)
    make_folder(target.parent)
    _clear_drafts(target)
    backup = draft = None
    if change.before is not None and not target.stat().st_mode & stat.S_IWUSR:
        raise SettingsInvalid(
            f"{target} is read-only; it was left as it is.", hint=f"chmod u+w {target}, if it is meant to change."
        )
    if change.before is not None and change.keeps_backup:
        backup = _draft(target, change.before).rename(_new_backup(target))
        made.append(backup)
    if change.after is not None:
        draft = _draft(target, change.after)
    return backup, draft


def _target(change: Change) -> Path:
    return Path(os.path.realpath(change.path))


def _set(target: Path, draft: Path | None) -> None:
    if draft is None:
        target.unlink(missing_ok=True)
    else:
        draft.replace(target)


def _draft(target: Path, text: str) -> Path:
    """Writes a text beside a file, with the mode and owner of that file, and syncs it."""
    content = text.encode()
    try:
        status = target.stat()
        mode = stat.S_IMODE(status.st_mode)
    except FileNotFoundError:
        status, mode = None, 0o600
    descriptor, path = tempfile.mkstemp(prefix=f"{target.name}{_DRAFT}-", dir=target.parent)
    with os.fdopen(descriptor, "wb") as file:
        if status is not None:
            with suppress(PermissionError):  # for root, who changes the file of a user
                os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    return Path(path)


def _clear_drafts(target: Path) -> None:
    """Removes all drafts of a file. Another run that needs one of them fails, and takes back what it did."""
    with suppress(OSError):
        for path in target.parent.iterdir():
            if path.name.startswith(f"{target.name}{_DRAFT}"):
                path.unlink(missing_ok=True)


def _new_backup(target: Path) -> Path:
    """The first name for a backup that is free."""
    for number in range(1, BACKUPS_MAX):
        path = _numbered(target, number)
        if not os.path.lexists(path):
            return path
    raise SettingsInvalid(f"There are {BACKUPS_MAX} files like {path}.", hint="Remove those you do not need.")


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}{BACKUP}{'' if number == 1 else f'-{number}'}")


# -- differences --


def _lines(text: str | None) -> list[str]:
    return (text or "").splitlines(keepends=True)


def _moved(hunks: Iterator[str], lines: int) -> Iterator[str]:
    """The hunks of a part of a file, with the line numbers of the whole file."""
    for line in hunks:
        is_head = line.startswith("@@")
        yield re.sub(r"(?<=[-+])\d+", lambda number: str(int(number[0]) + lines), line) if is_head else line


FILE: Final = "written.json"


class Ledger(NamedTuple):
    """What lies in the settings of other programs and bears no mark of ours.

    An entry or a hook is known by its command. A folder that was made for a settings file is not, nor is a rule
    that denies reading. The ledger also names each file that holds something of ours, because the environment may
    name others later (CLAUDE_CONFIG_DIR).
    """

    files: Mapping[str, Sequence[str]] = {}
    """Those that hold something of ours, each with the rules in it that we have added."""
    folders: Sequence[str] = ()
    """Those that were made, an outer one before the inner."""

    def rules(self, path: Path) -> Sequence[str]:
        """The rules in a file that we have added."""
        return self.files.get(str(path), ())


def ledger_path() -> Path:
    """Where the ledger is, whether or not it exists."""
    return Path(state_directory()).parent / FILE


def read_ledger() -> Ledger:
    """The ledger; an empty one if there is none.

    Raises:
        SettingsInvalid: it cannot be read.
    """
    return parsed(read(ledger_path()))


def text_of(ledger: Ledger) -> str | None:
    """The text of the ledger's file; None: there is to be none."""
    return json.dumps(ledger._asdict(), indent=1) + "\n" if any(ledger) else None


def parsed(text: str | None) -> Ledger:
    """Raises SettingsInvalid: the text is no ledger of ours."""
    try:
        whole: Any = json.loads(text) if text is not None else {}
        files = {str(path): list(map(str, rules)) for path, rules in whole.get("files", {}).items()}
        return Ledger(files, list(map(str, whole.get("folders", []))))
    except (ValueError, AttributeError, TypeError):
        raise SettingsInvalid(
            f"{ledger_path()} is no ledger of ours.", hint="Remove it; folders that were made then stay."
        ) from None
