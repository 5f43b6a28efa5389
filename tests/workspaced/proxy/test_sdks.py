"""The providers' own SDKs through the proxy, unchanged: with another base URL, and nothing else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openai import OpenAI
from support.model_server import ModelServer
from support.proxy import Proxy

NOTES = {"a.md": "# A\n\nAlpha is red.\n", "b.md": "# B\n\nBeta is blue.\n"}


class World:
    """A daemon whose user looks at a note, a model, and a proxy between them and a runtime."""

    def __init__(self, daemon: Any, model: ModelServer, proxy: Proxy) -> None:
        self.daemon = daemon
        self.model = model
        self.proxy = proxy

    @property
    def openai(self) -> OpenAI:
        return OpenAI(base_url=f"{self.proxy.url}/v1", api_key="secret-key", max_retries=0)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What the provider got."""
        return [each.body for each in self.model.exchanges]


@contextmanager
def world(daemon: Any, *flags: str) -> Iterator[World]:
    running = daemon(notes=NOTES)
    with running.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    model = ModelServer()
    with model as url, Proxy(running, url, *flags) as proxy:
        yield World(running, model, proxy)


@pytest.fixture
def made(daemon: Any) -> Iterator[World]:
    with world(daemon) as one:
        yield one


def test_a_chat_completion_has_the_note_that_the_user_looks_at(made: World) -> None:
    reply = made.openai.chat.completions.create(
        model="gpt-x", messages=[{"role": "user", "content": "What is Alpha?"}]
    )
    assert reply.choices[0].message.content == "It says: Alpha is red."
    assert "Alpha is red." in json.dumps(made.bodies[0])
