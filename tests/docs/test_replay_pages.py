"""What docs/ says about replay is true: the commands of its pages run in their order, and they run its test."""

import re
import threading
from typing import Any

import pytest
from support import documentation as page

from workspaced.replay import Call, Log, Moment, Prompt
from workspaced.settings.settings import Settings

PAGE_S = 120.0
PAGE = page.Page(*page.REPLAY_PAGES)
REFERENCE = page.Page("reference/replay-library.md", "reference/recording.md", "reference/settings.md")


@pytest.mark.thorough
def test_its_commands_do_what_it_shows(daemon: Any) -> None:
    running = daemon(start=False)
    home = PAGE.serve(running)
    # `workspaced stop` waits until the process is gone, which one is not that nobody waited for.
    gone = threading.Thread(target=running.wait, args=(PAGE_S,))
    gone.start()
    PAGE.run(running, home)
    gone.join()


def test_it_has_a_regression_test_that_is_run() -> None:
    commands = [command for command, _shown in PAGE.commands]
    assert PAGE.files
    for name in PAGE.files:
        assert any(command.startswith("pytest ") and name in command for command in commands)


def test_it_names_the_whole_library_and_every_setting_of_recording() -> None:
    words = set(re.findall(r"\w+", REFERENCE.text))
    public = [name for kind in (Log, Moment, Call, Prompt) for name in vars(kind) if not name.startswith("_")]
    assert set(public) - words == set()
    assert {name for name in Settings.model_fields if name.startswith("record")} - words == set()
