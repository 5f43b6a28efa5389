"""Seed events lead to the state at the beginning of a part of a log, also where random logs seldom or never go."""

import msgspec
from support import random_log as logs

from workspaced_events.finding.shrink import seed_events
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, to_json
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Data


def test_levels_of_sharing_are_part_of_the_state() -> None:
    assert_led_to(c.SharingSet("agent", "names"), c.SharingSet("*", "none"))


def test_what_clients_are_told_without_asking_is_part_of_the_state() -> None:
    assert_led_to(c.VolunteeringSet("agent", "off"), c.VolunteeringSet("*", "selection-off"))


def test_no_vault_is_current_if_the_current_one_was_closed() -> None:
    assert_led_to(c.VaultSwitched(logs.W), c.VaultClosed(logs.W))


def assert_led_to(*data: Data) -> None:
    state = fold_all(logs.recorded(*logs.opened(logs.V, logs.W), *data), EMPTY)
    again = fold_all(seed_events(state), EMPTY)
    wanted, found = (msgspec.to_builtins(to_json(each)) for each in (state, again))
    for each in (wanted, found):
        del each["seq"], each["lastUpdated"]
    assert found == wanted
