"""The six commands: each reads what it needs and says which files change how. Changes nothing itself.

Messages of an edit have the words that models were trained on, because they act on them without a further
question.
"""

from typing import Final, NamedTuple

from ..errors import ArgumentInvalid, MemoryEditFailed, MemoryExists, MemoryFull
from ..limits import ECHO_CHARS_MAX, MEMORY_BYTES_MAX, MEMORY_FILE_BYTES_MAX, MEMORY_FILES_MAX
from ..ports.memory import MEMORY_ROOT, MemoryAnswer, MemoryFile
from ..ports.questions import UseMemory
from .folder import Change
from .paths import Parts, parts_of, shown
from .shared_folder import SharedFolder, missing

_NAMED_MAX: Final = 20
"""Occurrences that are looked for and named: each costs a look at the text."""


class Edited(NamedTuple):
    """A text after an edit."""

    text: str
    lines: tuple[int, int]
    """The first and the last changed line of the new text, from 1."""


def replaced(text: str, old: str, new: str, path: str) -> Edited:
    """The text with `new` for its only occurrence of `old`.

    Raises:
        ArgumentInvalid: `old` is empty.
        MemoryEditFailed: `old` does not occur, or more than once.
    """
    if not old:
        raise ArgumentInvalid("Argument 'old_str' is empty.", hint="Give the exact text to replace.")
    at = text.find(old)
    if at < 0:
        raise MemoryEditFailed(
            f"No replacement was performed, old_str `{old[:ECHO_CHARS_MAX]}` did not appear verbatim in {path}.",
            hint="View the file, and give old_str exactly as it is there, with its blanks.",
        )
    lines = [_line_at(text, at)]
    while len(lines) < _NAMED_MAX and (at := text.find(old, at + 1)) >= 0:
        lines.append(_line_at(text, at))
    if len(lines) > 1:
        named = ", ".join(map(str, lines))
        raise MemoryEditFailed(
            f"No replacement was performed. Multiple occurrences of old_str `{old[:ECHO_CHARS_MAX]}` "
            f"in lines: {named}. Please ensure it is unique.",
            hint="Give more of the text around it.",
        )
    return Edited(text.replace(old, new, 1), (lines[0], lines[0] + new.rstrip("\n").count("\n")))


def inserted(text: str, line: int, new: str) -> Edited:
    """The text with `new` as lines of its own after line number `line`; 0: at the beginning.

    Raises:
        MemoryEditFailed: the text has fewer lines.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= line <= len(lines):
        raise MemoryEditFailed(
            f"Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: "
            f"[0, {len(lines)}].",
            hint="View the file for its line numbers.",
        )
    added = new.removesuffix("\n").split("\n")
    whole = [*lines[:line], *added, *lines[line:]]
    ends_line = text.endswith("\n") or (line == len(lines) and new.endswith("\n"))
    return Edited("\n".join(whole) + "\n" * ends_line, (line + 1, line + len(added)))


def _line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


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
            if folder.is_folder(path):
                return Planned(MemoryAnswer(shown(path), files=listing(folder, path)))
            return Planned(MemoryAnswer(shown(path), folder.text(path)))
        case "create":
            content = _content(_a_file(path), command.text)
            _check_free(path, folder)
            _check_room(folder, path, content)
            return Planned(MemoryAnswer(shown(path)), (Change(path, None, content),))
        case "str_replace":
            text = folder.text(_a_file(path))
            return _edit(path, text, replaced(text, command.old, command.text, shown(path)), folder)
        case "insert":
            text = folder.text(_a_file(path))
            return _edit(path, text, inserted(text, command.line, command.text), folder)
        case "delete":
            found = _files_at(_not_the_root(path), folder)
            return Planned(MemoryAnswer(shown(path)), tuple(Change(each, gone, None) for each, gone in found))
        case "rename":
            return _rename(path, parts_of(command.to), folder)


def listing(folder: SharedFolder, path: Parts = ()) -> tuple[MemoryFile, ...]:
    """The files below a folder, as agents name them."""
    return tuple(MemoryFile(shown(each.path), each.size) for each in folder.files(path))


def _edit(path: Parts, text: str, edited: Edited, folder: SharedFolder) -> Planned:
    content = _content(path, edited.text)
    _check_room(folder, path, content)
    answer = MemoryAnswer(shown(path), edited.text, lines=edited.lines)
    return Planned(answer, (Change(path, text.encode(), content),))


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
