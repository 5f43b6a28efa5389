"""A daemon whose user looks at a note, behind a proxy."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.model_server import ModelServer
from support.proxy import Proxy

NOTES = {"a.md": "# A\n\nAlpha is red.\n", "b.md": "# B\n\nBeta is blue.\n"}


class World:
    """A daemon, a model, and a proxy between the model and a runtime."""

    def __init__(self, daemon: Any, model: ModelServer, proxy: Proxy) -> None:
        self.daemon = daemon
        self.model = model
        self.proxy = proxy

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What the provider got."""
        return [each.body for each in self.model.exchanges]


def started(daemon: Any) -> Any:
    running = daemon(notes=NOTES)
    running.publish("active_note_set", note="a.md")
    return running


@pytest.fixture
def looking(daemon: Any) -> Any:
    """The daemon."""
    return started(daemon)


@pytest.fixture
def world(looking: Any) -> Iterator[World]:
    model = ModelServer()
    with model as url, Proxy(looking, url) as proxy:
        yield World(looking, model, proxy)
