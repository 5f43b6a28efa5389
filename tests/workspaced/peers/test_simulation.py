"""Whatever happens to daemons, network and server: once it is over, every machine sees what each one shares."""

import pytest
from support.peers.scenario import play


@pytest.mark.parametrize("seed", range(90))
def test_after_healing_all_agree(seed: int) -> None:
    play(seed)
