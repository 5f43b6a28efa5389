"""The workspace of one person, of everyone, or of one machine, merged from what the machines of a link share.

The active note, tabs and selection are those of the machine that was touched last, the pins those of all.
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from workspaced_events.clock import AHEAD_MS_MAX, event_time, microseconds
from workspaced_events.ids import NoteId, TabId
from workspaced_events.peers.merging import merged_pins
from workspaced_events.projections.workspace_state import ActiveNote, Pin, Selection, Tab, VaultState

from ..errors import ArgumentInvalid
from ..ports.peers import LinkedMachines, Machine
from ..ports.questions import SharedBy
from ..ports.view import View
from .note_answers import served_vault

_NO_STEPS: Final = 2**62
"""A sequence behind all changes of this machine's clock: the times of other machines do not move with it."""


class LinkedWorkspace(NamedTuple):
    """What the machines that were asked for show."""

    state: VaultState
    machines: list[Machine]
    latest: Machine | None
    """Whose active note, tabs and selection it has."""


def workspace_of(own: VaultState, found: LinkedMachines, of: str, now: str) -> LinkedWorkspace:
    """The workspace of `me`, `here`, `everyone` or a person.

    Args:
        own: the vault's state on the machine that answers.
        now: machines whose clock is far ahead of it are not followed.

    Raises:
        ArgumentInvalid: nobody of that name takes part.
    """
    machines = _machines_of(found, of)
    now_ms = microseconds(now) // 1_000
    fresh = [each for each in machines if each.ms and each.ms <= now_ms + AHEAD_MS_MAX]
    here = next((each for each in machines if each.here), None)
    latest = max(fresh, key=lambda each: (each.ms, each.origin), default=here)
    return LinkedWorkspace(_merged(own, machines, latest), machines, latest)


class Shown(NamedTuple):
    """A view with the workspace of the machines that were asked for."""

    view: View
    found: LinkedMachines | None
    """None: the vault is not linked, and the view is as it was."""
    workspace: LinkedWorkspace | None
    """None: the view is as it was."""


def shown(view: View, of: str) -> Shown:
    """The view with the workspace that `of` names in place of this machine's.

    Raises:
        NoActiveVault.
        ArgumentInvalid: nobody of that name takes part.
    """
    vault, own = served_vault(view)
    found = vault.ask(SharedBy())
    if found is None or of == "here":
        return Shown(view, found, None)
    workspace, state = workspace_of(own, found, of, view.now), view.state
    assert state.current is not None, "the vault is served"
    merged = replace(state, by_vault={**state.by_vault, state.current: workspace.state})
    return Shown(replace(view, state=merged), found, workspace)


def of_person(view: View) -> View:
    """What this machine's person shows, at whichever machine of a link; as it is without a link."""
    return shown(view, "me").view if view.current is not None and view.served else view


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
    merged = VaultState(
        active=ActiveNote(active.note, time_of(active.since_us)) if active is not None else None,
        pins=_pins(machines),
        tabs=own.tabs if is_here else _tabs(latest),
        recents=own.recents if is_here else {},
        selection=own.selection
        if is_here or selected is None or active is None
        else Selection(
            selected.note, selected.start_line, selected.end_line, time_of(active.since_us), selected.text
        ),
        archived=own.archived,
        former=own.former,
    )
    return replace(merged, last_updated=merged.latest_time)


def _pins(machines: list[Machine]) -> dict[NoteId, Pin]:
    """Of one person after the other."""
    pins: dict[NoteId, Pin] = {}
    for person in dict.fromkeys(each.person for each in machines):
        of_person = [each for each in machines if each.person == person]
        own = next((each.origin for each in of_person if each.here), None)
        for pin in merged_pins({each.origin: each.vault for each in of_person}, own):
            pins.setdefault(pin.note, Pin(pin.note, time_of(pin.pinned_us), ""))
    return pins


def _tabs(machine: Machine | None) -> dict[NoteId, Tab]:
    """Ids of tabs never leave their machine, so they have others here."""
    if machine is None:
        return {}
    tabs = {}
    for number, tab in enumerate(machine.vault.tabs, 1):
        at = time_of(tab.accessed_us)
        tab_id = TabId(f"{machine.machine}-{number}")
        tabs[tab.note] = Tab(tab_id, tab.note, "navigation", at, at, "", _NO_STEPS)
    return tabs


def time_of(us: int) -> str:
    """A time of a machine, as events have it."""
    return event_time(us * 1_000)
