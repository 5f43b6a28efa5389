"""What a question about the past costs: counted, and bounded however long the log is."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import past_world

from workspaced_events.ids import NoteId
from workspaced_events.replay import backward_scan
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.questions import Incoming, Overview
from workspaced_tools.replay import past_facts
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.replay.past_vault import PastVault
from workspaced_tools.replay.recorded_reads import Recordings

CALLS = 600


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Any]:
    made = past_world.World(tmp_path, {"a.md": "one\n", "b.md": "See [[a]]\n"})
    yield made
    made.close()


class Counted:
    """The blobs of a world, and which of them were asked for."""

    def __init__(self, world: Any) -> None:
        self.asked: list[str] = []
        self._blobs = world.blobs

    def __call__(self, name: str) -> bytes | None:
        self.asked.append(name)
        content: bytes | None = self._blobs.get(name)
        return content


def past_of(world: Any, recordings: Any) -> Past:
    moment = world.events.moment(world.events.tail)
    return Past(world.events, recordings, past_world.V, moment)


def looked_for(world: Any, recordings: Any, note: str = "a.md") -> str:
    """The message of the failure to find another version of a note."""
    with pytest.raises(NotRecorded) as caught:
        past_of(world, recordings).other_version(NoteId(note), world.vault.notes.read([note])[0].sha256)
    return caught.value.message


def many_calls(world: Any, count: int = CALLS) -> None:
    """Calls none of which reads what another one did."""
    for number in range(count):
        world.call("get_note_by_reference", reference=f"none {number}")
    world.flush()


def test_nor_more_bytes_of_them(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    many_calls(world, 100)
    size = max(map(len, world.blobs.values()))
    monkeypatch.setattr(past_facts, "RECORDINGS_BYTES_MAX", 10 * size)
    counted = Counted(world)
    assert "as far back as" in looked_for(world, Recordings(counted))
    assert 10 <= len(counted.asked) <= 12


def test_it_looks_at_so_many_events_and_says_so(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward_scan, "SCAN_EVENTS_MAX", 20)
    many_calls(world, 100)
    message = looked_for(world, Recordings(world.blobs.get))
    assert message == f"No other version of a.md is recorded as far back as {world.events.all[-20].time}"


@pytest.mark.parametrize(
    "ask",
    [
        lambda past: past.other_version(NoteId("a.md"), ""),
        lambda past: past.version(NoteId("a.md")),
        lambda past: past.title(NoteId("a.md")),
        lambda past: past.answer(Overview(3)),
    ],
    ids=["other version", "version", "title", "answer"],
)
def test_a_question_reads_no_more_recordings_than_its_bound_and_says_how_far_it_came(
    world: Any, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Past], object]
) -> None:
    """The bound is one in work, and not in time: asked again a question is answered the same."""
    monkeypatch.setattr(past_facts, "RECORDINGS_READ_MAX", 50)
    many_calls(world, 100)
    counted = Counted(world)
    recordings = Recordings(counted)
    for _ in range(2):
        with pytest.raises(NotRecorded) as caught:
            ask(past_of(world, recordings))
        assert caught.value.message.endswith(f" as far back as {world.events.all[-50].time}")
        assert len(counted.asked) == 50


def test_what_names_the_withheld_fails_as_never_given(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_facts, "RECORDINGS_READ_MAX", 50)
    many_calls(world, 100)

    question = [NoteId("a.md"), 50]

    def refused() -> str:
        vault = PastVault(
            past_of(world, Recordings(world.blobs.get)), lambda note: note == "b.md", withheld_image=bool
        )
        with pytest.raises(NotRecorded) as caught:
            vault.ask(Incoming(*question), world.state.of(past_world.V))
        return caught.value.message

    never = refused()
    assert " as far back as " in never
    world.events.all.pop()
    world.recorded_call("get_related_notes", reference="a.md")
    recording = msgspec.json.decode(world.blobs[world.events.all[-1].data.inputs_sha256])
    [question] = [each["question"] for each in recording["asked"] if each["ask"] == "incoming"]
    assert refused() == never


def test_a_stop_ends_a_question_that_is_being_answered(world: Any) -> None:
    class Stopped(Exception):
        pass

    many_calls(world, 100)
    left = iter(range(10))

    def check() -> None:
        if next(left, None) is None:
            raise Stopped

    counted = Counted(world)
    with pytest.raises(Stopped):
        past_of(world, Recordings(counted, check)).other_version(NoteId("a.md"), "")
    assert len(counted.asked) <= 10
