"""The level of each client: how many are kept, and which client can still be given one."""

import pytest
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument
from workspaced_events.journal.actions import Planned
from workspaced_events.limits import SHARING_CLIENTS_MAX
from workspaced_events.projections.workspace_state import EMPTY, client_key
from workspaced_tools.sharing.levels import setting

FULL = replace(EMPTY, sharing={client_key(f"agent {number}"): "none" for number in range(SHARING_CLIENTS_MAX)})
NOW = Planned(FULL, 1, "2026-03-01T12:00:00.000000Z")


def test_no_level_is_lost_silently_when_too_many_clients_have_one() -> None:
    with pytest.raises(InvalidArgument, match=str(SHARING_CLIENTS_MAX)):
        setting("one more", "names")(NOW)


@pytest.mark.parametrize(("client", "level"), [("agent 7", "names"), ("one more", "all")])
def test_a_level_that_takes_no_room_can_always_be_set(client: str, level: str) -> None:
    [action] = setting(client, level)(NOW)  # type: ignore[arg-type]
    assert (action.data.client, action.data.level) == (client_key(client), level)  # type: ignore[union-attr]


def test_a_client_without_a_name_has_no_level() -> None:
    with pytest.raises(InvalidArgument):
        setting("", "none")
