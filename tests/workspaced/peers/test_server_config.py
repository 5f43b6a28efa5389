"""`workspaced link server-config --create` makes the stream that links need."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.nats_server import make_stream, nats_server, needs_server

from workspaced.peers.carrying.server_config import stream_config

pytestmark = [pytest.mark.thorough, needs_server]


def create(url: str) -> Any:
    return process.run("link", "server-config", "--create", url, "--json")


def test_it_makes_the_stream_once(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        for _ in range(2):
            done = create(server.url)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["created"]
        asyncio.run(make_stream(server.url))  # the server refuses a stream that differs


def test_a_stream_of_somebody_else_is_left_as_it_is(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        asyncio.run(make_stream(server.url, stream_config() | {"max_msgs_per_subject": 5}))
        done = create(server.url)
        assert done.returncode != 0
        assert b"[NO_STREAM]" in done.stderr
