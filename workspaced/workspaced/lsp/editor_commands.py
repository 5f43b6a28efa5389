"""What the user tells the daemon through the editor: pins, offered as commands and code actions."""

from collections.abc import Sequence
from typing import Any, Final

from pygls.exceptions import JsonRpcInvalidParams

from workspaced_events.errors import InvalidArgument
from workspaced_tools.limits import ECHO_CHARS_MAX

from .session import Session

PIN: Final = "workspaced.pin"
UNPIN: Final = "workspaced.unpin"
STATUS: Final = "workspaced.status"
SETTLED: Final = "workspaced.settled"
_TAKES_URI: Final = {PIN: True, UNPIN: True, STATUS: False, SETTLED: False}
"""Every command, and whether its one argument is a document's URI; else it takes none."""
_PATIENCE_S: Final = 10.0


def check_arguments(command: str, arguments: Sequence[Any] | None) -> None:
    """Checks what an editor sent, since pygls would call a command with whatever fits in number.

    Raises:
        JsonRpcInvalidParams: INVALID_ARGUMENT: there is no such command, or it takes other arguments.
    """
    given, takes_uri = arguments or (), _TAKES_URI.get(command)
    if takes_uri is None:
        problem = f"There is no command {command[:ECHO_CHARS_MAX]!r}."
        hint = f"Commands: {', '.join(_TAKES_URI)}."
    elif takes_uri:
        if len(given) == 1 and isinstance(given[0], str):
            return
        problem = f"{command} takes the URI of an open file; got {_counted(given)}."
        hint = 'Give it as the one argument: "arguments": ["file:///folder/note.md"].'
    else:
        if not given:
            return
        problem = f"{command} takes no arguments; got {_counted(given)}."
        hint = "Leave `arguments` out."
    raise JsonRpcInvalidParams(f"{problem} {hint}", data={"code": InvalidArgument.code, "hint": hint})


def _counted(given: Sequence[Any]) -> str:
    if not given:
        return "no argument"
    return f"{len(given)} arguments" if len(given) > 1 else f"one of type {type(given[0]).__name__}"


async def pin(session: Session, uri: str, action: str) -> str:
    """Pins or unpins (`note_pinned`, `note_unpinned`) the note of a document; says what became of it."""
    document = session.documents.get(uri)
    if document is None or document.path is None:
        return "Only an open file can be pinned."
    sight = await session.sight(uri)
    if document.real is None:
        return "Only an open file can be pinned."
    session.actions.add(action, document.real)
    if sight is None:
        return "No daemon serves this file yet; it is told once one does."
    return f"{'Pinned' if action == 'note_pinned' else 'Unpinned'} {sight.place.note} for agents."
