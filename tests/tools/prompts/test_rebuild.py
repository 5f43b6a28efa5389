"""Prompts made again: from the log and its blobs alone they are what was sent, and whatever changed is noticed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from support import conversation as w
from support import past_world

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.projections.visits import visits_from
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay.log_slice import Slice
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event, PromptAssembled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.manifest import LAYERS
from workspaced_tools.prompts.audit.rebuild import checked
from workspaced_tools.prompts.audit.sent_prompts import read_prompt_history, rebuild_prompts
from workspaced_tools.prompts.model.stored_texts import inputs_of, manifest_of_prompt, texts_in
from workspaced_tools.replay.verify import Outcome, Rebuilt, Verified, verify

NOTES = {"a.md": "# Alpha\n\nThe first.\n", "b.md": "# Beta\n\nThe second.\n", "work/plan.md": "# Plan\n"}
OTHER = "f" * 64


class Log:
    """The events of a conversation and the texts they name; the vault is gone."""

    def __init__(self, events: list[Event], blobs: dict[str, bytes]) -> None:
        self.events = events
        self.blobs = blobs

    def source(self, start: int = 0) -> Slice:
        """The log from after `start` events on."""
        state = fold_all(self.events[:start], EMPTY)
        visits = msgspec.json.encode(visits_from(0))
        return Slice("log", state, visits, self.events[start:], self.blobs.get)

    def verified(self, start: int = 0) -> list[Rebuilt]:
        found: list[Rebuilt] = []
        calls: list[Verified] = []
        verify(self.source(start), calls.append, each_prompt=found.append)
        assert not calls
        return found

    def outcomes(self) -> list[Outcome]:
        return [each.outcome for each in self.verified()]

    @property
    def prompts(self) -> list[PromptAssembled]:
        return [event.data for event in self.events if isinstance(event.data, PromptAssembled)]

    def forge(self, at: int, **fields: Any) -> None:
        """Lets the log say something else of its prompt `at`."""
        seq = [event.seq for event in self.events if isinstance(event.data, PromptAssembled)][at]
        event = self.events[seq - 1]
        self.events[seq - 1] = replace(event, data=replace(event.data, **fields))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """A conversation of six prompts: with notes that change, a pin, tools, a file, an edit, a rebase,
    and a compression."""
    world = past_world.World(tmp_path / "vault", NOTES)
    chat = w.NotesTalk(world, tools='[{"name": "look_up"}]', memory="Likes tea.")
    chat.turn("What is Alpha?", "a.md", "gone.md", chat.given("file", "baking", "Knead it."))
    chat.pin("words", "text", text="Pinned words.")
    world.write("a.md", "# Alpha\n\nAnother text.\n")
    chat.turn("And Beta?", "a.md", "b.md")
    chat.say("Look it up.", "work/plan.md")
    chat.prompt()
    chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    chat.prompt()
    chat.answer()
    chat.start(system="You are brief.")
    chat.say("Once more.", "a.md")
    chat.prompt(rebase=True)
    chat.prompt("m5", pipeline="compression")
    world.close()
    shutil.rmtree(world.folder)
    yield Log(world.events.all, world.blobs)


# -- the same --


def test_every_prompt_is_what_was_sent_though_the_vault_is_gone(log: Log) -> None:
    found = log.verified()
    assert [each.prompt for each in found] == log.prompts
    assert len(found) == 6
    assert {each.prompt.pipeline for each in found} == {"chat", "compression"}
    for each in found:
        assert (each.outcome, each.differs, each.why) == (Outcome.SAME, None, "")
        assert each.envelope is not None and each.envelope.combined_hash == each.prompt.combined_hash


def test_one_prompt_is_made_again_by_its_message(log: Log) -> None:
    source = log.source()
    found = read_prompt_history(source)
    about = found.conversation("ch")
    sent = [found.sent(about, None), found.sent(about, "m1")]
    last, first = rebuild_prompts(source, sent)
    assert (last.differs, first.differs) == (None, None)
    assert first.made.envelope.message_id == "m1" and last.made.envelope.messages[-1].role == "user"
    kept = manifest_of_prompt(sent[1].data.manifest_sha256, texts_in(source.blob))
    assert kept == first.made.envelope.manifest


def test_what_the_log_does_not_hold_is_said_to_be_missing(log: Log) -> None:
    found = read_prompt_history(log.source())
    about = found.conversation("chat")
    for wrong in ("", "nothing"):
        with pytest.raises(InvalidArgument):
            found.sent(about, wrong)
    with pytest.raises(InvalidArgument):
        found.conversation("nothing")


@pytest.mark.parametrize("layer", LAYERS)
def test_the_first_layer_that_is_another_one_is_named(log: Log, layer: str) -> None:
    hashes = log.prompts[-1].layer_hashes
    later = LAYERS[LAYERS.index(layer) :]  # type: ignore[arg-type]
    log.forge(-1, layer_hashes=replace(hashes, **dict.fromkeys(later, OTHER)))
    *others, last = log.verified()
    assert {each.outcome for each in others} == {Outcome.SAME}
    assert (last.outcome, last.differs) == (Outcome.DIFFERENT, layer)


# -- not recorded --


def test_whatever_text_is_gone_its_prompts_are_not_recorded_or_the_same(log: Log) -> None:
    gone_for = 0
    for name in list(log.blobs):
        content = log.blobs.pop(name)
        found = log.verified()
        assert {each.outcome for each in found} <= {Outcome.SAME, Outcome.NOT_RECORDED}
        assert all(each.why for each in found if each.outcome is Outcome.NOT_RECORDED)
        gone_for += any(each.outcome is Outcome.NOT_RECORDED for each in found)
        log.blobs[name] = content
    assert gone_for > 10


def test_inputs_of_a_newer_version_are_not_read(log: Log) -> None:
    log.blobs[OTHER] = b'{"version": 99, "unheard": "of"}'
    log.forge(0, inputs_sha256=OTHER)
    assert log.outcomes()[0] is Outcome.NOT_RECORDED


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"version": "x"}', b'{"version": 1}'])
def test_inputs_that_are_none_are_damage(log: Log, content: bytes) -> None:
    log.blobs[OTHER] = content
    with pytest.raises(LogDamaged):
        inputs_of(OTHER, texts_in(log.blobs.get))
    log.forge(0, inputs_sha256=OTHER)
    assert log.outcomes()[0] is Outcome.DAMAGED


def test_a_conversation_that_the_log_does_not_know_is_not_recorded(log: Log) -> None:
    with pytest.raises(NotRecorded):
        checked(None)
    log.events = [event for event in log.events if not isinstance(event.data, c.ConversationStarted)]
    assert set(log.outcomes()) == {Outcome.NOT_RECORDED}
