"""Fixtures of the situations: each editor of `support.publishers.EDITORS` goes through every one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from support.daemon import NOTES, Factory
from support.publishers import EDITORS, marks
from support.publishers.desk import Desk
from support.publishers.protocol import PublishingEditor


@pytest.fixture(params=[pytest.param(kind, id=name, marks=marks(name)) for name, kind in EDITORS.items()])
def kind(request: pytest.FixtureRequest) -> type[PublishingEditor]:
    """Each editor."""
    found: type[PublishingEditor] = request.param
    return found


@pytest.fixture
def desk(daemon: Factory, kind: type[PublishingEditor]) -> Iterator[Callable[..., Desk]]:
    """`desk(*flags, notes=, env=, start=)`: a daemon, and its user's desk."""
    with ExitStack() as stack:

        def make(*flags: str, notes: Any = NOTES, start: bool = True, **options: Any) -> Desk:
            return stack.enter_context(Desk(daemon(*flags, notes=notes, start=start, **options), kind))

        yield make
