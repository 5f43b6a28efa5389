"""An answer that is given again is, after any change whatever, the one that would be made anew."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced.calls.answers import Answers, Present
from workspaced.calls.traced_answers import TracedAnswers
from workspaced.limits import TRACES_BYTES_MAX, TRACES_MAX
from workspaced.recording.call_recorder import ToolAnswer
from workspaced.vaults.served_vault import ReconcileFirst, ServedVault
from workspaced_events.clock import event_time
from workspaced_events.errors import ActionError
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, admit
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Data
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.recording.view_recorder import ViewRecorder, recorded
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import run_call
from workspaced_tools.vault.vault import Vault

V, W = VaultId("v"), VaultId("w")
A, B, PLAN, DEEP, NEW = map(NoteId, ("a.md", "b.md", "work/plan.md", "work/deep/x.md", "new.md"))
NOTES: Final = (A, B, PLAN, DEEP, NEW)
TEXTS: Final = (
    "# Alpha\n\nSee [[b]].\n",
    "---\ntitle: Plan\ntags: [x]\n---\nText.\n",
    "---\nworkspaced: private\n---\n# Secret\n",
    "---\nworkspaced: on-request\n---\n# Asked\n",
    "",
)
CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("get_workspace_context", {}),
    ("get_workspace_context", {"includeContent": True, "maxTotalLength": 100}),
    ("get_current_note", {}),
    ("get_current_note", {"includeLinks": True}),
    ("get_note_by_reference", {"reference": "plan"}),
    ("get_note_by_reference", {"reference": "work/deep/x.md"}),
)
BASE_NS: Final = 1_772_366_400_000_000_000
HOUR_NS: Final = 3_600_000_000_000


class World:
    """A vault on disk, a log's state and their clocks, which stand still while answers are compared."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "vault"
        self.outside = folder / "outside"
        for path in (self.folder / "work/deep", self.outside):
            path.mkdir(parents=True)
        self.ahead_ns = 0
        self.tick()
        for note in (A, B, PLAN, DEEP):
            self.write(note, TEXTS[0])
        vault = Vault(self.folder, clock_ns=lambda: self.wall_ns, clock_s=lambda: self.wall_ns / 1e9)
        self.served = ServedVault(V, self.folder, vault)
        self.served.policy_enforced(vault.policy.digest)
        vault.reconcile()
        vault.notes.await_names()  # as the first question does, which may wait
        self.state = EMPTY
        self.publish(c.VaultOpened(V, "v", str(self.folder)), c.VaultOpened(W, "w", "/w"))
        self.publish(c.ActiveNoteSet(A), c.NotePinned(B), c.NotePinned(PLAN), c.TemporaryTabOpened(DEEP, "search"))
        self.pass_time(10_000_000_000)
        self.settle()
        self.traced = self.answers()

    def answers(self) -> Answers:
        unused: Any = Mock()
        return Answers(unused, unused, unused, unused, lambda: self.now)

    def tick(self) -> None:
        self.wall_ns = time.time_ns() + self.ahead_ns
        self.now = event_time(BASE_NS + self.ahead_ns)

    def pass_time(self, ns: int) -> None:
        self.ahead_ns += ns
        self.tick()

    def settle(self) -> None:
        """What the daemon does in the background: notes may be shown once they have settled, and are looked at."""
        vault = self.served.vault
        vault.settle()
        for note in NOTES:
            vault.look_at(note)

    def publish(self, *actions: Data) -> None:
        for data in actions:
            with suppress(ActionError):
                of = admit(self.state, Action(data))
                seq = self.state.seq + 1
                event = ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), self.now, "ui", of, data)
                self.state = apply(self.state, event)

    def write(self, note: NoteId, text: str) -> None:
        with suppress(OSError):
            (self.folder / note).write_text(text)

    def ask(self, answers: Answers, tool: str, arguments: dict[str, Any], caller: str) -> ToolAnswer:
        """As `Calls` does."""
        served = self.served if self.state.current == V else None
        call = TOOLS[tool], arguments, caller, Present(self.state, self.state.seq, served)
        with suppress(WouldBlock):
            return answers.answer(*call, nonblocking=True)
        for _ in range(4):
            try:
                return answers.answer(*call, nonblocking=False)
            except ReconcileFirst:
                digest = self.served.vault.policy.digest
                self.served.vault.reconcile()
                self.served.policy_enforced(digest)
        raise AssertionError("the policy kept changing")

    def check(self) -> None:
        """Asks every call twice, and once of answers that know of no former one."""
        for tool, arguments in CALLS:
            for caller in ("agent", "other"):
                first, again = (self.ask(self.traced, tool, arguments, caller) for _ in range(2))
                anew = self.ask(self.answers(), tool, arguments, caller)
                assert shown(first) == shown(again) == shown(anew), (tool, arguments, caller)


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        made = World(Path(folder))
        try:
            yield made
        finally:
            made.served.vault.close()


def shown(answer: ToolAnswer) -> tuple[object, ...]:
    """All that a client, the log and a replay get of an answer."""
    if answer.text is not None:
        assert msgspec.json.decode(answer.text).encode() == answer.payload
    made_from = answer.made_from
    is_read = isinstance(made_from, ViewRecorder)
    inputs = recorded(made_from, "agent", lambda _text, _sha: None) if is_read else made_from
    return answer.payload, answer.ok, answer.as_of_seq, answer.tail_seq, answer.now, inputs


def link(world: World, note: NoteId) -> None:
    """The note, or its folder, becomes a symlink."""
    place = world.folder / (note.partition("/")[0])
    with suppress(OSError):
        place.rename(world.outside / f"{place.name}-{time.monotonic_ns()}")
        place.symlink_to(world.outside)


def unlink(world: World, note: NoteId) -> None:
    place = world.folder / (note.partition("/")[0])
    if place.is_symlink():
        place.unlink()
    (world.folder / "work/deep").mkdir(parents=True, exist_ok=True)
    world.write(note, TEXTS[0])


def moved(world: World, note: NoteId, to: NoteId) -> None:
    with suppress(OSError):
        (world.folder / note).rename(world.folder / to)


def back_in_time(world: World, note: NoteId) -> None:
    with suppress(OSError):
        os.utime(world.folder / note, (1, 1))


def rules(world: World, text: str) -> None:
    (world.folder / ".workspacedignore").write_text(text)


notes = st.sampled_from(NOTES)
Step = Callable[[World], object]


def step(act: Callable[..., object], *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(*arguments).map(lambda given: lambda world: act(world, *given))


STEPS: Final = st.one_of(
    step(World.write, notes, st.sampled_from(TEXTS)),
    step(lambda world, note: (world.folder / note).unlink(missing_ok=True), notes).filter(bool),
    step(moved, notes, notes),
    step(back_in_time, notes),
    step(link, st.sampled_from((A, DEEP))),
    step(unlink, notes),
    step(rules, st.sampled_from(("", "work/\n", "b.md\n", "[\n", "*\n"))),
    step(lambda world: world.served.vault.reconcile()),
    step(World.settle),
    step(World.pass_time, st.sampled_from((1, 1_000_000_000, 10_000_000_000, HOUR_NS, 23 * HOUR_NS, -HOUR_NS))),
    step(lambda world, note: world.publish(c.ActiveNoteSet(note)), notes),
    step(lambda world, note: world.publish(c.NotePinned(note)), notes),
    step(lambda world, note: world.publish(c.NoteUnpinned(note)), notes),
    step(lambda world, note: world.publish(c.TemporaryTabOpened(note, "search")), notes),
    step(lambda world, note: world.publish(c.NoteArchived(note)), notes),
    step(lambda world, note, to: world.publish(c.NoteRenamed(note, to)), notes, notes),
    step(lambda world, vault: world.publish(c.VaultSwitched(vault)), st.sampled_from((V, W))),
    step(
        lambda world, level: world.publish(c.SharingSet("other", level)), st.sampled_from(("all", "names", "none"))
    ),
)


def shows_on_request(world: World) -> None:
    world.write(B, TEXTS[3])
    world.pass_time(10_000_000_000)
    world.settle()


@pytest.mark.thorough
@example([lambda world: world.pass_time(25 * HOUR_NS)])
@example([shows_on_request, lambda world: world.write(B, TEXTS[2]), World.settle])
@example([lambda world: world.publish(c.VaultSwitched(W)), lambda world: world.publish(c.VaultSwitched(V))])
@example([lambda world: world.write(NEW, TEXTS[1]), lambda world: world.served.vault.reconcile()])
@settings(max_examples=examples(40))
@given(st.lists(STEPS, max_size=8))
def test_after_any_change_every_answer_is_the_one_made_anew(steps: list[Step]) -> None:
    with world() as it:
        it.check()
        for each in steps:
            each(it)
            it.tick()
            it.check()


@pytest.mark.parametrize(("tool", "arguments"), [call for call in CALLS if "includeLinks" not in call[1]])
def test_asked_again_no_tool_runs(tool: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def counting(tool: Any, *rest: Any) -> Any:
        ran.append(tool.name)
        return run_call(tool, *rest)

    monkeypatch.setattr("workspaced.calls.traced_answers.run_call", counting)
    with world() as it:
        for asked in (1, 2):
            for _ in range(3):
                it.ask(it.traced, tool, arguments, "agent")
            assert ran == asked * [tool]
            it.publish(c.NotePinned(NEW))


@pytest.mark.thorough
def test_after_10_000_different_calls_memory_is_bounded() -> None:
    traced = TracedAnswers()
    with world() as it:
        it.traced._traced = traced
        for number in range(10_000):
            it.ask(it.traced, "get_workspace_context", {"includeContent": True, "minSeq": number}, "agent")
        assert 0 < traced.size_bytes <= TRACES_BYTES_MAX
        assert len(traced._traces) == TRACES_MAX


def test_an_answer_larger_than_the_bound_is_not_kept() -> None:
    with world() as it:
        it.traced._traced = traced = TracedAnswers(bytes_max=10_000)
        it.write(A, "x" * 20_000)
        it.pass_time(10_000_000_000)
        it.check()
        assert traced.size_bytes <= 10_000
