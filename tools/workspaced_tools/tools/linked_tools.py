"""The tools that a daemon of a link has in place of those of the same name: whose workspace they answer from is an
argument.

`me` follows the person to the machine that they touched last; pins are those of all their machines. Texts always
come from the vault of the machine that answers.
"""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import asdict
from pydantic import Field

from ..answers import ContextOfMachines, Linked, MachineInfo, NoteOfMachine
from ..ports.peers import LinkedMachines, Machine
from ..ports.view import View
from . import get_current_note, get_workspace_context
from .get_current_note import GetCurrentNote
from .get_workspace_context import GetWorkspaceContext
from .linked_workspace import shown, time_of
from .note_answers import to_second
from .tool import Answer, D, Tool

PERSON_CHARS_MAX: Final = 64
_OF: Final = "me (default), here, everyone, or a person: whose machines."


class ContextArguments(GetWorkspaceContext):
    of: str = Field("me", min_length=1, max_length=PERSON_CHARS_MAX, description=_OF)


class NoteArguments(GetCurrentNote):
    of: str = Field("me", min_length=1, max_length=PERSON_CHARS_MAX, description=_OF)


def get_context_of_machines(view: View, arguments: ContextArguments) -> Answer[ContextOfMachines]:
    """As `get_workspace_context`, of the workspace that `of` names."""
    seen, linked = _seen(view, arguments.of)
    return _with_linked(ContextOfMachines, get_workspace_context.get_workspace_context(seen, arguments), linked)


def get_note_of_machine(view: View, arguments: NoteArguments) -> Answer[NoteOfMachine]:
    """As `get_current_note`, of the workspace that `of` names."""
    seen, linked = _seen(view, arguments.of)
    return _with_linked(NoteOfMachine, get_current_note.get_current_note(seen, arguments), linked)


def _with_linked(made: Callable[..., D], answer: Answer[Any], linked: Linked) -> Answer[D]:
    """The answer with the struct that `made` makes of its fields and of `linked`."""
    message = answer.message
    if linked.machine is not None and linked.of != "here":
        message += f" As {linked.person or 'everyone'} sees it, on {linked.machine}."
    data = made(**asdict(answer.data), linked=linked)
    return Answer(data, message, answer.warnings, answer.truncation, answer.images)


def _seen(view: View, of: str) -> tuple[View, Linked]:
    """The view with the workspace of the machines that `of` names, and what the answer says of them.

    Raises:
        NoActiveVault.
        ArgumentInvalid: nobody of that name takes part.
    """
    seen, found, workspace = shown(view, of)
    if workspace is None:
        here = [each for each in found.machines if each.here] if found is not None else []
        return seen, _linked(of, found, here, None)
    return seen, _linked(of, found, workspace.machines, workspace.latest)


def _linked(of: str, found: LinkedMachines | None, shown: list[Machine], latest: Machine | None) -> Linked:
    persons = {each.person for each in shown}
    if latest is None and len(shown) == 1:
        latest = shown[0]
    return Linked(
        of=of,
        person=persons.pop() if len(persons) == 1 else None,
        machine=latest.machine if latest is not None else None,
        peers_seq=found.seq if found is not None else 0,
        machines=[_machine(each) for each in (found.machines if found is not None else ())],
    )


def _machine(machine: Machine) -> MachineInfo:
    active = machine.vault.active
    return MachineInfo(
        person=machine.person,
        machine=machine.machine,
        here=machine.here,
        active_note=active.note if active is not None else None,
        since=to_second(time_of(active.since_us)) if active is not None else None,
        heard_at=to_second(machine.heard_at) if machine.heard_at else None,
    )


def _linked_tool(tool: Tool[Any], **changes: Any) -> Tool[Any]:
    return Tool(
        **{
            "name": tool.name,
            "description": tool.description,
            "listed_lists": tool.listed_lists,
            "paged": tool.paged,
            "answers_on_request": tool.answers_on_request,
            "is_timeless": False,
            **changes,
        }
    )


LINKED: Final[dict[str, Tool[Any]]] = {
    tool.name: tool
    for tool in (
        _linked_tool(
            get_workspace_context.TOOL,
            arguments=ContextArguments,
            data=ContextOfMachines,
            function=get_context_of_machines,
        ),
        _linked_tool(
            get_current_note.TOOL, arguments=NoteArguments, data=NoteOfMachine, function=get_note_of_machine
        ),
    )
}
"""By name."""
