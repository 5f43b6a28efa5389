"""Random chats of several frameworks through `workspaced/context/transform`; see tests/support/random_chats.py."""

from typing import Any

import pytest
from support.random_chats import Driver, Notes

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("seed", [22, 24])
def test_whatever_frameworks_do_their_chats_stay_whole_and_keep_their_context(daemon: Any, seed: int) -> None:
    running = daemon(notes={Notes.name(number): "Empty.\n" for number in range(4)})
    driver = Driver(running, seed)
    for number in driver.notes.versions:
        driver.notes.write(number)
    driver.run(40)
    assert driver.chats
