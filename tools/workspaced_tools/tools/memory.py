"""`memory`: the memory folder, by the six commands that models know. The only tool that writes."""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, WithJsonSchema

from ..answers import MemoryData
from ..errors import ArgumentInvalid
from ..limits import CONTENT_CHARS_MAX, MEMORY_FILE_BYTES_MAX
from ..ports.memory import MemoryAnswer, MemoryVerb
from ..ports.questions import UseMemory
from ..ports.view import View
from .tool import Answer, PresentArguments, Tool

_MEMORY_SNIPPET_LINES: Final = 4
"""Lines shown around an edit."""
_NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
"""The arguments of each command that have no default."""
_LISTED_LEVELS: Final = 2
_KIB: Final = 1024


class MemoryArguments(PresentArguments):
    """The arguments that Anthropic's memory tool has, under its names."""

    model_config = ConfigDict(alias_generator=None)

    command: MemoryVerb
    path: str | None = Field(None, description="All but rename: below /memories.")
    view_range: Annotated[list[int] | None, WithJsonSchema({"type": "array", "items": {"type": "integer"}})] = (
        Field(None, description="view: first and last line; -1: to the end.")
    )
    file_text: str | None = Field(None, max_length=MEMORY_FILE_BYTES_MAX, description="create.")
    old_str: str | None = Field(
        None, max_length=MEMORY_FILE_BYTES_MAX, description="str_replace: it must be unique."
    )
    new_str: str | None = Field(None, max_length=MEMORY_FILE_BYTES_MAX, description="str_replace.")
    insert_line: int | None = Field(None, ge=0, le=2**31, description="insert: after this line; 0: first.")
    insert_text: str | None = Field(None, max_length=MEMORY_FILE_BYTES_MAX, description="insert.")
    old_path: str | None = Field(None, description="rename.")
    new_path: str | None = Field(None, description="rename.")


def memory(view: View, arguments: MemoryArguments) -> Answer[MemoryData]:
    """Carries out a command.

    Raises:
        ArgumentInvalid: the command's arguments are incomplete.
        ToolError: as `UseMemory`.
    """
    _check(arguments)
    done = view.vault.ask(_question(arguments))
    text = _said(arguments, done)
    return Answer(MemoryData(arguments.command, done.path, text), f"{_MESSAGES[arguments.command]}.")


_MESSAGES: Final = {
    "view": "What the memory holds",
    "create": "The file is created",
    "str_replace": "The file is edited",
    "insert": "The file is edited",
    "delete": "It is deleted",
    "rename": "It is renamed",
}


def _check(arguments: MemoryArguments) -> None:
    needed = _NEEDED[arguments.command]
    for name in needed:
        if getattr(arguments, name) is None:
            raise ArgumentInvalid(
                f"Missing argument '{name}'.", hint=f"{arguments.command} needs {', '.join(needed)}."
            )
    if arguments.view_range is not None and len(arguments.view_range) != 2:
        raise ArgumentInvalid("Argument 'view_range': expected two lines.", hint="Such as [1, 20], or [20, -1].")


def _question(arguments: MemoryArguments) -> UseMemory:
    texts = {"create": arguments.file_text, "str_replace": arguments.new_str, "insert": arguments.insert_text}
    return UseMemory(
        arguments.command,
        (arguments.old_path if arguments.command == "rename" else arguments.path) or "",
        to=arguments.new_path or "",
        text=texts.get(arguments.command) or "",
        old=arguments.old_str or "",
        line=arguments.insert_line or 0,
    )


# -- the words of the answer --


def _said(arguments: MemoryArguments, done: MemoryAnswer) -> str:
    match arguments.command:
        case "view" if done.text is None:
            return _folder(done)
        case "view":
            return _file(done.path, done.text or "", arguments.view_range)
        case "create":
            return f"File created successfully at: {done.path}"
        case "delete":
            return f"Successfully deleted {done.path}"
        case "rename":
            return f"Successfully renamed {arguments.old_path} to {done.path}"
        case _:
            lines, (first, last) = _lines(done.text or ""), done.lines or (1, 1)
            around = _numbered(lines, max(first - _MEMORY_SNIPPET_LINES, 1), last + _MEMORY_SNIPPET_LINES)
            head = f"The memory file {done.path} has been edited. Here's a snippet of it with line numbers:"
            return _capped(head, around, "View the file.")


def _folder(done: MemoryAnswer) -> str:
    """The folder, then its files and folders, two levels deep, each with its size."""
    sizes = {done.path: 0}
    for file in done.files:
        below = file.path.removeprefix(f"{done.path}/").split("/")
        sizes[done.path] += file.bytes
        for depth in range(1, min(len(below), _LISTED_LEVELS) + 1):
            path = "/".join((done.path, *below[:depth]))
            sizes[path] = sizes.get(path, 0) + file.bytes
    lines = [f"{size / _KIB:.1f}K\t{path}" for path, size in sizes.items()]
    head = f"Here're the files and directories up to 2 levels deep in {done.path}, excluding hidden items:"
    return _capped(head, lines, "View a directory in it.")


def _file(path: str, text: str, view_range: list[int] | None) -> str:
    lines = _lines(text)
    first, last = view_range or (1, -1)
    last = len(lines) if last == -1 else last
    if not 1 <= first <= min(last, len(lines)):
        raise ArgumentInvalid(
            f"Invalid `view_range`: {view_range}. The file has the lines [1, {len(lines)}].",
            hint="Give the first and the last line, or -1 as the last.",
        )
    numbered = _numbered(lines, first, last)
    return _capped(f"Here's the content of {path} with line numbers:", numbered, "Give a view_range.")


def _lines(text: str) -> list[str]:
    """The lines; the end of the last one begins no further line."""
    return text.removesuffix("\n").split("\n")


def _numbered(lines: list[str], first: int, last: int) -> list[str]:
    return [f"{number:6}\t{line}" for number, line in enumerate(lines[first - 1 : last], first)]


def _capped(head: str, lines: list[str], more: str) -> str:
    """The lines, as far as an answer holds them."""
    room = CONTENT_CHARS_MAX - len(head)
    for at, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            left = len(lines) - at
            return "\n".join((head, *lines[:at], f"[{left} more lines are left out. {more}]"))
    return "\n".join((head, *lines))


TOOL: Final[Tool[Any]] = Tool(
    name="memory",
    description="Your files in /memories, which outlast conversations: look there first, keep what you learn.",
    arguments=MemoryArguments,
    data=MemoryData,
    function=memory,
    writes=True,
)
