import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.nats_server import NatsServer, make_stream, nats_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path / "server") as made:
        asyncio.run(make_stream(made.url))
        yield made
