"""Whatever happens to daemons, network and server: once it is over, every machine sees what each one shares."""

import pytest
from support.peers.scenario import play
from support.profiles import some_of


@pytest.mark.parametrize("seed", some_of(range(90), 30))
def test_after_healing_all_agree(seed: int) -> None:
    play(seed)
