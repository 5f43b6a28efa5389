"""What each client of the tools is shown (`all`, `names`, `none`), and whether it is told without asking.

Stored as events, so that it lasts.
"""

from collections.abc import Iterable
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

    def plan(now: Planned) -> list[Action]:
        state = now.state
        if name not in state.sharing and level != "all" and len(state.sharing) >= SHARING_CLIENTS_MAX:
            raise InvalidArgument(
                f"A level is kept for at most {SHARING_CLIENTS_MAX} clients.",
                hint="Set one of them to all, or set a level for every client with *.",
            )
        return [Action(c.SharingSet(name, level))]

    return plan


def volunteering(client: str, setting: Volunteering) -> Plan:
    """The plan that sets whether a client is told without asking.

    Raises:
        InvalidArgument: as `setting`.
    """
    name = _name(client)

    def plan(now: Planned) -> list[Action]:
        state = now.state
        if name not in state.volunteering and setting != "on" and len(state.volunteering) >= SHARING_CLIENTS_MAX:
            raise InvalidArgument(
                f"This is kept for at most {SHARING_CLIENTS_MAX} clients.",
                hint="Set one of them to on, or set it for every client with *.",
            )
        return [Action(c.VolunteeringSet(name, setting))]

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
