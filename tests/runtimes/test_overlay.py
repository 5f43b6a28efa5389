"""Real programs through the proxy: their bytes arrive as they sent them, with what is new in its place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.insertions import told, without
from support.proxy import Proxy
from support.runtimes.model import ScriptedModel
from support.runtimes.programs import PROGRAMS, Program
from support.tap import Tap

pytestmark = pytest.mark.thorough
NOTES = {"Plan.md": "# Plan\n\nThe launch is in May.\n", "Budget.md": "# Budget\n\nTen euros.\n"}


class Bed:
    """A real program before the proxy, a user who looks at notes, and a model."""

    def __init__(self, program: Program, daemon: Any, model: ScriptedModel, tap: Tap) -> None:
        self.program, self.daemon, self.model, self.tap = program, daemon, model, tap

    def looks_at(self, note: str) -> None:
        with self.daemon.connect() as client:
            client.publish([{"type": "active_note_set", "data": {"note": note}}])

    @property
    def arrived(self) -> list[bytes]:
        return [each.raw for each in self.model.exchanges]


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.name)
def bed(request: pytest.FixtureRequest, daemon: Any, tmp_path: Path) -> Iterator[Bed]:
    program = request.param
    if reason := program.missing():
        pytest.skip(reason)
    running, model = daemon(notes=NOTES), ScriptedModel()
    with model as url, Proxy(running, url) as proxy:
        tap = Tap(proxy.url)
        with tap as before:
            yield Bed(program(tmp_path / program.name, before, "true"), running, model, tap)


def test_its_bytes_arrive_and_each_text_stays_where_it_was(bed: Bed) -> None:
    bed.looks_at("Plan.md")
    bed.program.ask("What next?")
    bed.program.ask("And then?")
    bed.looks_at("Budget.md")
    bed.program.ask("At last?")
    assert [without(each) for each in bed.arrived] == bed.tap.bodies
    chats = [each for each in bed.arrived if b"What next?" in each]
    last = told(chats[-1])
    assert [each.count("looking at: ") for each in last] == [1, 1]
    assert "looking at: Plan.md" in last[0] and "looking at: Budget.md" in last[1]
    for body in chats:
        assert told(body) == last[: len(told(body))] != []


def test_within_a_tool_loop_nothing_new_is_said(bed: Bed) -> None:
    bed.looks_at("Plan.md")
    bed.program.ask_for_tool(bed.model)
    bed.looks_at("Budget.md")
    bed.program.ask("What next?")
    # A helper of the agent asks beside it, and is told nothing.
    assert sorted(without(each) for each in bed.arrived) == sorted(bed.tap.bodies)
    assert all("Budget" not in "".join(told(each)) for each in bed.arrived if b"What next?" not in each)
    assert "looking at: Budget.md" in told(bed.arrived[-1])[-1]
