"""What agents write into the log in an hour has a bound."""

import sys
from typing import Any

import pytest
from support import short_limits
from support.memory import FLAGS, file, refused, said, undo, writes

from workspaced.limits import MEMORY_LOGGED_BYTES_PER_HOUR
from workspaced.memory.writing import TextBudget
from workspaced_tools.errors import MemoryFull


def test_the_bound_counts_for_an_hour() -> None:
    now = 0.0
    budget = TextBudget(lambda: now)
    budget.take(MEMORY_LOGGED_BYTES_PER_HOUR)
    now = 3599
    with pytest.raises(MemoryFull):
        budget.take(1)
    now = 3600
    budget.take(MEMORY_LOGGED_BYTES_PER_HOUR)


def test_an_agent_that_has_written_too_much_is_refused_and_the_user_may_still_undo(daemon: Any) -> None:
    running = daemon(start=False)
    running.flags = FLAGS
    running.wrapper = (sys.executable, short_limits.__file__, "MEMORY_LOGGED_BYTES_PER_HOUR=10", "--")
    running.start()
    with running.connect("agent") as agent:
        said(agent, "create", "/memories/plan.md", file_text="ten bytes\n")
        assert refused(agent, "delete", "/memories/plan.md") == "MEMORY_FULL"
        assert "ten bytes" in said(agent, "view", "/memories/plan.md")
        undo(agent, writes(agent)[-1]["seq"])
        assert not file(running, "plan.md").exists()
