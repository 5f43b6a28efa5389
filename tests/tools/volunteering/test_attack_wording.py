"""What is told, attacked: names that must be right to be of use."""

import pytest

from workspaced_tools.volunteering.sight import Sight
from workspaced_tools.volunteering.wording import whole_lines

SIGHT = Sight(active=None, selection=None, pins=[], more_pins=0, tabs=[], versions={}, left={}, at="")


@pytest.mark.parametrize("folder", ["/home/u/" + "/".join(["deep" * 10] * 4), '/home/u/the "good" notes'])
def test_the_folder_that_the_agent_may_read_in_is_the_folder(folder: str) -> None:
    first = whole_lines(SIGHT, None, vault="notes", folder=folder)[0]
    assert isinstance(first, str) and folder in first.replace('\\"', '"')
