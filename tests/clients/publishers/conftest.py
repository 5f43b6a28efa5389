"""Fixtures of the situations: each editor of `support.publishers.EDITORS` goes through every one."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from support.daemon import NOTES, Factory
from support.peers.machines import link_alone
from support.publishers import EDITORS, marks
from support.publishers.desk import Desk
from support.publishers.protocol import PublishingEditor

IN_VSCODE = frozenset(
    (
        "test_the_same_walk_is_the_same_log",
        "test_what_a_killed_editor_showed_leaves_after_the_grace_and_one_started_again_shows_anew",
        "test_an_editor_that_quits_takes_its_view_back_without_a_grace",
        "test_a_daemon_started_after_the_editor_is_found",
        "test_a_daemon_that_comes_back_is_told_what_is_shown_now",
        "test_a_daemon_that_stands_still_holds_nobody_up_and_is_told_the_last_view",
        "test_each_note_that_is_opened_is_active_by_one_event_and_nothing_done_is_nothing_told",
        "test_notes_shown_side_by_side_are_tabs_and_the_one_in_focus_is_active",
        "test_a_note_is_pinned_and_unpinned",
        "test_a_thousand_switches_in_a_moment_are_few_events_and_end_right",
        "test_a_pause_leaves_nothing_of_it_and_its_end_tells_the_present",
        "test_a_withheld_note_is_recorded_and_shown_to_no_agent",
        "test_the_editor_that_the_user_comes_back_to_is_right_at_once",
    )
)
"""The situations of VS Code in each `make thorough`; `make editors` runs all. A window takes seconds to open."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("EVERY_SITUATION"):
        return
    left = [item for item in items if "vscode" in item.name and item.name.partition("[")[0] not in IN_VSCODE]
    left = [item for item in left if item.path.parent.name == "publishers"]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture(params=[pytest.param(kind, id=name, marks=marks(name)) for name, kind in EDITORS.items()])
def kind(request: pytest.FixtureRequest) -> type[PublishingEditor]:
    """Each editor."""
    found: type[PublishingEditor] = request.param
    return found


@pytest.fixture
def desk(daemon: Factory, kind: type[PublishingEditor]) -> Iterator[Callable[..., Desk]]:
    """`desk(*flags, notes=, env=, start=, linked=)`: a daemon, and its user's desk."""
    with ExitStack() as stack:

        def make(
            *flags: str, notes: Any = NOTES, start: bool = True, linked: bool = False, **options: Any
        ) -> Desk:
            running = daemon(*flags, notes=notes, start=start, **options)
            if linked:
                link_alone(running)
            return stack.enter_context(Desk(running, kind))

        yield make
