"""The six commands: each reads what it needs and says which files change how. Changes nothing itself."""

from typing import NamedTuple

from ..errors import ArgumentInvalid, MemoryExists, MemoryFull
from ..limits import MEMORY_BYTES_MAX, MEMORY_FILE_BYTES_MAX, MEMORY_FILES_MAX
from ..ports.memory import MEMORY_ROOT, MemoryAnswer, MemoryFile
from ..ports.questions import UseMemory
from .edits import Edited, inserted, replaced
from .folder import Change
from .paths import Parts, parts_of, shown
from .shared_folder import SharedFolder, missing


class Planned(NamedTuple):
    """What a command answers once its changes are made."""

    answer: MemoryAnswer
    changes: tuple[Change, ...] = ()


def plan(command: UseMemory, folder: SharedFolder) -> Planned:
    """The changes and the answer of a command, as the folder is now.

    Raises:
        ToolError: as `UseMemory`.
    """
    path = parts_of(command.path)
    match command.command:
        case "view":
            return _view(path, folder)
        case "create":
            return _create(path, command.text, folder)
        case "str_replace":
            text = folder.text(_a_file(path))
            return _edit(path, text, replaced(text, command.old, command.text, shown(path)), folder)
        case "insert":
            text = folder.text(_a_file(path))
            return _edit(path, text, inserted(text, command.line, command.text), folder)
        case "delete":
            return _delete(path, folder)
        case "rename":
            return _rename(path, parts_of(command.to), folder)


def listing(folder: SharedFolder, path: Parts = ()) -> tuple[MemoryFile, ...]:
    """The files below a folder, as agents name them."""
    return tuple(MemoryFile(shown(each.path), each.size) for each in folder.files(path))


def _view(path: Parts, folder: SharedFolder) -> Planned:
    if folder.is_folder(path):
        return Planned(MemoryAnswer(shown(path), files=listing(folder, path)))
    return Planned(MemoryAnswer(shown(path), folder.text(path)))


def _create(path: Parts, text: str, folder: SharedFolder) -> Planned:
    content = _content(_a_file(path), text)
    _check_free(path, folder)
    _check_room(folder, path, content)
    return Planned(MemoryAnswer(shown(path)), (Change(path, None, content),))


def _edit(path: Parts, text: str, edited: Edited, folder: SharedFolder) -> Planned:
    content = _content(path, edited.text)
    _check_room(folder, path, content)
    answer = MemoryAnswer(shown(path), edited.text, lines=edited.lines)
    return Planned(answer, (Change(path, text.encode(), content),))


def _delete(path: Parts, folder: SharedFolder) -> Planned:
    found = _files_at(_not_the_root(path), folder)
    return Planned(MemoryAnswer(shown(path)), tuple(Change(each, content, None) for each, content in found))


def _rename(path: Parts, to: Parts, folder: SharedFolder) -> Planned:
    found = _files_at(_not_the_root(path), folder)
    if _not_the_root(to)[: len(path)] == path:
        raise ArgumentInvalid(
            f"The path {shown(path)} cannot be moved into itself.", hint="Give another new_path."
        )
    _check_free(to, folder)
    changes = []
    for each, content in found:
        target = parts_of(shown((*to, *each[len(path) :])))  # It may become too long, or lie too deep.
        folder.check_free(target)
        changes.append(Change(target, content, content, each))
    return Planned(MemoryAnswer(shown(to)), tuple(changes))


def _files_at(path: Parts, folder: SharedFolder) -> list[tuple[Parts, bytes]]:
    """The file at the path, or all files below the folder at the path.

    Raises:
        MemoryNotFound: there is none.
    """
    paths = [each.path for each in folder.files(path)] if folder.is_folder(path) else [path]
    found = [(each, content) for each in paths if (content := folder.read(each)) is not None]
    if not found:
        raise missing(path)
    return found


def _check_free(path: Parts, folder: SharedFolder) -> None:
    """Checks that nothing is at the path.

    Raises:
        MemoryExists: a file is, or a folder with files.
        MemoryPathUnusable: something is that is not the agent's.
    """
    if folder.is_folder(path) or folder.read(path) is not None:
        raise MemoryExists(
            f"The path {shown(path)} already exists.",
            hint="Edit it with str_replace or insert, or choose another path.",
        )
    folder.check_free(path)


def _a_file(path: Parts) -> Parts:
    if not path:
        raise ArgumentInvalid(f"{MEMORY_ROOT} is a folder.", hint=f"Name a file in it, {MEMORY_ROOT}/plan.md.")
    return path


def _not_the_root(path: Parts) -> Parts:
    if not path:
        raise ArgumentInvalid(f"{MEMORY_ROOT} itself stays.", hint="Name a file or a folder in it.")
    return path


def _content(path: Parts, text: str) -> bytes:
    content = text.encode()
    if len(content) > MEMORY_FILE_BYTES_MAX:
        raise MemoryFull(
            f"The file {shown(path)} would have {len(content)} bytes; at most {MEMORY_FILE_BYTES_MAX} are kept.",
            hint="Split it, or keep less.",
        )
    if b"\0" in content:
        raise ArgumentInvalid("The text holds a NUL.", hint="Give plain text.")
    return content


def _check_room(folder: SharedFolder, path: Parts, content: bytes) -> None:
    """Checks the bounds of the whole folder. Withheld files count too: they take the same room.

    Raises:
        MemoryFull: a bound would be passed.
    """
    others = [each.size for each in folder.folder.files() if each.path != path]
    if len(others) >= MEMORY_FILES_MAX:
        raise MemoryFull(
            f"The memory holds {MEMORY_FILES_MAX} files, and no more.", hint="Delete files you no longer need."
        )
    if sum(others) + len(content) > MEMORY_BYTES_MAX:
        raise MemoryFull(
            f"The memory would hold more than {MEMORY_BYTES_MAX} bytes.", hint="Delete what you no longer need."
        )
