"""What each client of the tools is shown (`all`, `names`, `none`), and whether it is told without asking.

Stored as events, so that it lasts.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workspaced_events.errors import InvalidArgument
from workspaced_events.journal.actions import Action, Plan, Planned
from workspaced_events.limits import SHARING_CLIENTS_MAX
from workspaced_events.projections.workspace_state import ANY_CLIENT, WorkspaceState, client_key
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Sharing, Volunteering


def setting(client: str, level: Sharing) -> Plan:
    """The plan that sets the level of a client.

    Raises:
        InvalidArgument: the name is empty. The plan itself raises it if too many clients have a level.
    """
    name = _name(client)
    return _bounded(name, level == "all", lambda state: state.sharing, Action(c.SharingSet(name, level)))


def volunteering(client: str, setting: Volunteering) -> Plan:
    """The plan that sets whether a client is told without asking. Raises as `setting`."""
    name = _name(client)
    action = Action(c.VolunteeringSet(name, setting))
    return _bounded(name, setting == "on", lambda state: state.volunteering, action)


def _bounded(
    name: str, is_default: bool, kept: Callable[[WorkspaceState], Mapping[str, object]], action: Action
) -> Plan:
    """The plan of an action that is kept for each client, unless it sets the default."""

    def plan(now: Planned) -> list[Action]:
        present = kept(now.state)
        if name not in present and not is_default and len(present) >= SHARING_CLIENTS_MAX:
            raise InvalidArgument(
                f"A setting of its own is kept for at most {SHARING_CLIENTS_MAX} clients.",
                hint="Set one of them back to the default, or set it for every client with *.",
            )
        return [action]

    return plan


def _name(client: str) -> str:
    name = client_key(client)
    if not name:
        raise InvalidArgument(
            "Expected the name of a client, got none.", hint="Give a name, or * for every client."
        )
    return name


def sharing_status(state: WorkspaceState, connected: Iterable[str]) -> dict[str, Any]:
    """The part of `status` about sharing: the default, and every client that is connected or has its own level."""
    names = {client_key(name) for name in connected}
    return {
        "default": state.sharing.get(ANY_CLIENT, "all"),
        "volunteering": state.volunteering.get(ANY_CLIENT, "on"),
        "clients": [
            {
                "client": name,
                "level": state.sharing_of(name),
                "volunteering": state.volunteering_of(name),
                "set": name in state.sharing or name in state.volunteering,
                "connected": name in names,
            }
            for name in sorted({*names, *state.sharing, *state.volunteering} - {ANY_CLIENT})
        ],
    }
