"""Fixtures of all tests: daemons in processes of their own (support/daemon.py), pages in a browser
(support/inspector_page.py), and the profiles of Hypothesis."""

import gc
import signal
from collections.abc import Iterator

import pytest
from support import answers, profiles
from support.daemon import Daemon, Factory
from support.inspector_page import chromium, open_page  # noqa: F401  fixtures

from workspaced import SyncClient

pytest_plugins = ["support.tool_fixtures"]
profiles.load()
answers.watch()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it puts into the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leaves what collecting made, half a million objects, out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def _factory(*, indexed: bool = False) -> Iterator[Factory]:
    made = Factory(indexed=indexed)
    yield made
    made.tear_down()


@pytest.fixture
def daemon() -> Iterator[Factory]:
    """Starts daemons that end with the test."""
    yield from _factory()


@pytest.fixture(scope="module")
def module_daemon() -> Iterator[Factory]:
    """Starts daemons that end with the module. They have indexed their vaults."""
    yield from _factory(indexed=True)


@pytest.fixture(scope="module")
def shared(module_daemon: Factory) -> Daemon:
    """One running daemon for all tests of a module. They may not assume that its log is empty."""
    return module_daemon()


@pytest.fixture
def client(shared: Daemon) -> Iterator[SyncClient]:
    """A fresh client of the shared daemon."""
    with shared.connect() as made:
        yield made
