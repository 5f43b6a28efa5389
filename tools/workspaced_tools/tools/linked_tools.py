"""The tools that a daemon of a link has in place of those of the same name: whose workspace they answer from is an
argument.

`me` follows the person to the machine that they touched last; pins are those of all their machines. Texts always
come from the vault of the machine that answers.
"""

from typing import Any, Final

from msgspec.structs import replace
from pydantic import Field

from workspaced_events.clock import event_time, microseconds
from workspaced_events.ids import NoteId, TabId
from workspaced_events.peers.clock import AHEAD_MS_MAX
from workspaced_events.peers.merging import merged_pins
from workspaced_events.projections.workspace_state import ActiveNote, Pin, Selection, Tab, VaultState

from ..errors import ArgumentInvalid
from ..ports.peers import LinkedMachines, Machine
from ..ports.questions import SharedBy
from ..ports.view import View
from . import get_current_note, get_workspace_context
from .get_current_note import GetCurrentNote
from .get_workspace_context import GetWorkspaceContext, WorkspaceContext
from .note_answers import served_vault
from .read_note import LinkedNote
from .tool import Answer, Json, Model, Tool

PERSON_CHARS_MAX: Final = 64
_OF: Final = "me (default), here, everyone, or a person: whose machines."
_NO_STEPS: Final = 2**62
"""A sequence behind all changes of this machine's clock: the times of other machines do not move with it."""


class MachineInfo(Model):
    """What one machine shows now."""

    person: str
    machine: str
    here: bool
    active_note: str | None
    since: str | None
    heard_at: str | None
    """When the answering machine last heard of it; null: it is the answering one, or was never heard of."""


class Linked(Model):
    of: str
    person: str | None
    """Whose workspace is shown; null: everyone's."""
    machine: str | None
    """Which machine's active note, tabs and selection are shown."""
    peers_seq: int
    """The sequence of the event that last told of another machine."""
    machines: list[MachineInfo]


class ContextOfMachines(WorkspaceContext):
    linked: Linked


class NoteOfMachine(LinkedNote):
    linked: Linked


class ContextArguments(GetWorkspaceContext):
    of: str = Field("me", min_length=1, max_length=PERSON_CHARS_MAX, description=_OF)


class NoteArguments(GetCurrentNote):
    of: str = Field("me", min_length=1, max_length=PERSON_CHARS_MAX, description=_OF)


def get_context_of_machines(view: View, arguments: ContextArguments) -> Answer:
    """As `get_workspace_context`, of the workspace that `of` names."""
    seen, linked = _seen(view, arguments.of)
    return _with_linked(get_workspace_context.get_workspace_context(seen, arguments), linked)


def get_note_of_machine(view: View, arguments: NoteArguments) -> Answer:
    """As `get_current_note`, of the workspace that `of` names."""
    seen, linked = _seen(view, arguments.of)
    return _with_linked(get_current_note.get_current_note(seen, arguments), linked)


def _with_linked(answer: Answer, linked: Json) -> Answer:
    answer.data["linked"] = linked
    where = linked["machine"]
    if where is not None and linked["of"] != "here":
        answer.message += f" As {linked['person'] or 'everyone'} sees it, on {where}."
    return answer


def _seen(view: View, of: str) -> tuple[View, Json]:
    """The view with the workspace of the machines that `of` names, and what the answer says of them.

    Raises:
        NoActiveVault.
        ArgumentInvalid: nobody of that name takes part.
    """
    vault, own = served_vault(view)
    found = vault.ask(SharedBy())
    if found is None or of == "here":
        return view, _linked_json(of, found, _only_here(found), None)
    machines = _machines_of(found, of)
    now_ms = microseconds(view.now) // 1_000
    fresh = [each for each in machines if each.ms and each.ms <= now_ms + AHEAD_MS_MAX]
    latest = max(fresh, key=lambda each: (each.ms, each.origin), default=None)
    state = view.state
    assert state.current is not None, "the vault is served"
    merged = _merged(own, machines, latest)
    seen = replace(view, state=replace(state, by_vault={**state.by_vault, state.current: merged}))
    return seen, _linked_json(of, found, machines, latest)


def _only_here(found: LinkedMachines | None) -> list[Machine]:
    return [each for each in found.machines if each.here] if found is not None else []


def _machines_of(found: LinkedMachines, of: str) -> list[Machine]:
    if of == "everyone":
        return list(found.machines)
    person = found.machines[0].person if of == "me" else of
    machines = [each for each in found.machines if each.person == person]
    if not machines:
        known = ", ".join(dict.fromkeys(each.person for each in found.machines))
        raise ArgumentInvalid(
            f"Argument 'of': nobody of the link is called {of!r}.",
            hint=f"Give me, here, everyone, or one of: {known}.",
        )
    return machines


def _merged(own: VaultState, machines: list[Machine], latest: Machine | None) -> VaultState:
    """The workspace of these machines: the pins of all, and what the one touched last shows."""
    shown = latest.vault if latest is not None else None
    active = shown.active if shown is not None else None
    selected = shown.selection if shown is not None else None
    is_here = latest is not None and latest.here
    return VaultState(
        active=ActiveNote(active.note, _time(active.since_us)) if active is not None else None,
        pins=_pins(machines),
        tabs=own.tabs if is_here else _tabs(latest),
        recents=own.recents if is_here else {},
        selection=own.selection
        if is_here or selected is None or active is None
        else Selection(
            selected.note, selected.start_line, selected.end_line, _time(active.since_us), selected.text
        ),
        archived=own.archived,
        former=own.former,
        last_updated=own.last_updated if is_here else _time(active.since_us) if active is not None else None,
    )


def _pins(machines: list[Machine]) -> dict[NoteId, Pin]:
    """Of one person after the other."""
    pins: dict[NoteId, Pin] = {}
    for person in dict.fromkeys(each.person for each in machines):
        of_person = [each for each in machines if each.person == person]
        own = next((each.origin for each in of_person if each.here), None)
        for pin in merged_pins({each.origin: each.vault for each in of_person}, own):
            pins.setdefault(pin.note, Pin(pin.note, _time(pin.pinned_us), ""))
    return pins


def _tabs(machine: Machine | None) -> dict[NoteId, Tab]:
    """Ids of tabs never leave their machine, so they have others here."""
    if machine is None:
        return {}
    tabs = {}
    for number, tab in enumerate(machine.vault.tabs, 1):
        at = _time(tab.accessed_us)
        tab_id = TabId(f"{machine.machine}-{number}")
        tabs[tab.note] = Tab(tab_id, tab.note, "navigation", at, at, "", _NO_STEPS)
    return tabs


def _time(us: int) -> str:
    return event_time(us * 1_000)


def _linked_json(of: str, found: LinkedMachines | None, shown: list[Machine], latest: Machine | None) -> Json:
    persons = {each.person for each in shown}
    if latest is None and len(shown) == 1:
        latest = shown[0]
    return {
        "of": of,
        "person": persons.pop() if len(persons) == 1 else None,
        "machine": latest.machine if latest is not None else None,
        "peersSeq": found.seq if found is not None else 0,
        "machines": [_machine_json(each) for each in (found.machines if found is not None else ())],
    }


def _machine_json(machine: Machine) -> Json:
    active = machine.vault.active
    return {
        "person": machine.person,
        "machine": machine.machine,
        "here": machine.here,
        "activeNote": active.note if active is not None else None,
        "since": _time(active.since_us) if active is not None else None,
        "heardAt": machine.heard_at or None,
    }


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
