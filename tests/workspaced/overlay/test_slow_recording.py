"""An insertion that left while the log is slow: the log holds it only after its chat has asked again."""

import json
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

from workspaced.overlay.overlays import Asked, Log, Overlaid, Overlays
from workspaced.recording.call_recorder import Call, CallRecorder, ToolAnswer
from workspaced_events.ids import EventId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema.catalogue import ENTRY_OF, Data
from workspaced_tools.recording.format import Raised

VAULT = VaultId("vault")
NOW = "2026-03-01T12:00:00.000000Z"
SIGHT = {"active": "a.md", "pins": [], "tabs": [], "versions": {}, "texts": {}}


class World:
    """What the overlays of a daemon ask; calls are recorded when the log is waited for, and no sooner."""

    def __init__(self, data: Path) -> None:
        self.state = replace(EMPTY, current=VAULT)
        self.text = ""
        self.withheld = set[str]()
        self.held = anyio.Event()
        """Until it is set, no thread comes to an end."""
        recorder = CallRecorder(None, self._apply)
        log = Log(lambda: self.state, self.record, recorder.record, recorder.flush, lambda _sha256: None)
        whole: Any = self
        self.overlays = Overlays(whole, whole, log, whole, data)

    async def run(self, function: Any, *args: Any) -> Any:
        await self.held.wait()
        return function(*args)

    async def ask(self, *_args: Any, **_more: Any) -> Any:
        data = {"text": self.text, "sight": SIGHT, "notes": ["a.md"], "textless": []}
        answer = ToolAnswer(json.dumps({"data": data}).encode(), True, 1, 1, NOW, Raised("", ""))
        return Call("volunteer_context", "agent", {}, answer, 0), self, None

    async def with_view(self, _make: Any, _client: str, _vault: VaultId) -> set[str]:
        return self.withheld

    async def record(self, actions: list[Action]) -> None:
        for action in actions:
            self._apply(action.data)

    def _apply(self, data: Data) -> None:
        seq = self.state.seq + 1
        self.state = apply(
            self.state, ENTRY_OF[type(data)].event(seq, EventId(str(seq)), NOW, "test", VAULT, data)
        )

    async def asks(self, text: str, *turns: str) -> tuple[Overlaid, list[str]]:
        """A request with these turns, where `text` is new; what is put into it."""
        self.text = text
        asked = Asked("openai", [(each, each) for each in turns], True, "chat", {}, None)
        found = await self.overlays.overlay("agent", asked)
        return found, [found.texts[turn] for turn in turns if turn in found.texts]


async def test_what_was_withdrawn_before_the_log_held_it_never_returns(tmp_path: Path) -> None:
    world = World(tmp_path)
    first, stood = await world.asks("looking at: a.md", "one")
    assert stood == ["looking at: a.md"] and first.token is not None
    [leaving] = [each.last.id for _token, each in world.overlays._offers]
    async with anyio.create_task_group() as tasks:
        world.held = anyio.Event()
        tasks.start_soon(world.overlays.confirm, first.token, "")
        await anyio.wait_all_tasks_blocked()
        world.withheld = {leaving}
        tasks.start_soon(world.asks, "nothing", "one", "two")
        await anyio.wait_all_tasks_blocked()
        world.held.set()
    world.withheld = set()
    _third, stood = await world.asks("looking at: b.md", "one", "two", "three")
    assert stood == ["looking at: b.md"]
