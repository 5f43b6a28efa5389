"""Real programs through the proxy: their bytes arrive as they sent them, with what is new in its place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.images import png
from support.insertions import told, without
from support.proxy import Proxy
from support.runtimes.model import ScriptedModel
from support.runtimes.programs import PROGRAMS, ClaudeCode, Codex, Program
from support.tap import Tap

pytestmark = pytest.mark.thorough
NOTES = {"Plan.md": "# Plan\n\nThe launch is in May.\n", "Budget.md": "# Budget\n\nTen euros.\n"}


class Bed:
    """A real program before the proxy, a user who looks at notes, and a model."""

    def __init__(self, program: Program, daemon: Any, model: ScriptedModel, tap: Tap) -> None:
        self.program, self.daemon, self.model, self.tap = program, daemon, model, tap

    def looks_at(self, note: str) -> None:
        self.daemon.publish("active_note_set", note=note)

    @property
    def arrived(self) -> list[bytes]:
        return [each.raw for each in self.model.exchanges]

    def told_in(self, words: str) -> list[list[str]]:
        """What was told in each request with these words, whose bytes are else the program's own."""
        # A helper of the agent asks beside it.
        assert sorted(without(each) for each in self.arrived) == sorted(self.tap.bodies)
        return [told(each) for each in self.arrived if words.encode() in each]


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
    chats = bed.told_in("What next?")
    assert all("Budget" not in "".join(told(each)) for each in bed.arrived if b"What next?" not in each)
    assert "looking at: Budget.md" in chats[-1][-1]
    helpers = [each for each in bed.arrived if b"Look around." in each and b"Delegate this." not in each]
    assert [told(each) for each in helpers] == [[]] * len(helpers)


def test_a_compacted_chat_is_told_what_its_summary_lost_and_nothing_twice(bed: Bed) -> None:
    if not isinstance(bed.program, ClaudeCode | Codex):
        pytest.skip(f"{bed.program.name} compacts only where a person types")
    bed.looks_at("Plan.md")
    bed.program.ask("What next?")
    bed.looks_at("Budget.md")
    bed.program.ask("And then?")
    bed.program.compact()
    bed.program.ask("At last?")
    bed.program.ask("Really?")
    before, after = bed.told_in("At last?")
    assert before == after != []
    assert sum("looking at: Budget.md" in each for each in before) == 1 and len(set(before)) == len(before)


def test_thoughts_and_pictures_are_in_nobodys_way(bed: Bed) -> None:
    bed.model.thinks = True
    picture = bed.program.vault / "picture.png"
    picture.write_bytes(png())
    bed.looks_at("Plan.md")
    bed.program.ask_about_picture(bed.model, picture)
    bed.looks_at("Budget.md")
    bed.program.ask("And then?")
    # Gemini CLI does not send back what was thought, and Copilot sends no picture that it has seen.
    assert any(b"c2ln" in each for each in bed.arrived) or bed.program.name == "gemini"
    assert any(b"iVBORw0KGgo" in each for each in bed.arrived) or bed.program.name == "copilot"
    chats = bed.told_in("Look at ")
    assert [each.count("looking at: ") for each in chats[-1]] == [1, 1]
    assert "looking at: Plan.md" in chats[-1][0] and "looking at: Budget.md" in chats[-1][1]
    # What is counted before the first request holds nothing of ours.
    assert all(each == chats[-1][: len(each)] for each in chats) and chats.count([]) <= 1


def test_a_request_that_is_sent_again_is_told_the_same(bed: Bed) -> None:
    bed.looks_at("Plan.md")
    bed.program.ask("What next?")
    bed.looks_at("Budget.md")
    bed.model.breaks = 1
    bed.program.ask("And then?")
    chats = bed.told_in("And then?")
    assert len(chats) > 1 and all(each == chats[0] for each in chats)
    assert [each.count("looking at: ") for each in chats[0]] == [1, 1]
