"""A workspace over real files whose answers at each moment are kept, to hold those about the past against.

Time is the world's own, and so are the times of its files. Calls are recorded as late as the test likes.
"""

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from workspaced_events.clock import event_time
from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, admit
from workspaced_events.projections.visits import visits_of
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, VaultState, WorkspaceState
from workspaced_events.replay.log_cursor import Moment, moment_of
from workspaced_events.replay.position import parse_position
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Data, Event, ToolCalled
from workspaced_tools.notes.note import Note
from workspaced_tools.ports.questions import Question, Read
from workspaced_tools.ports.view import View
from workspaced_tools.recording.view_recorder import ViewRecorder, recorded
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.replay.past_vault import PastVault, PastVersions
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import payload_of, run
from workspaced_tools.vault.vault import Vault

V = VaultId("brain")
START_NS = 1_772_366_400_000_000_000
LATER_NS = 10_000_000_000

Json = dict[str, Any]


class Events:
    """Implements `PastEvents` over a list."""

    def __init__(self) -> None:
        self.all: list[Event] = []

    @property
    def tail(self) -> int:
        return len(self.all)

    def before(self, seq: int) -> Iterator[Event]:
        return iter(self.all[:seq][::-1])

    def after(self, seq: int) -> Iterator[Event]:
        return iter(self.all[seq:])

    def moment(self, at: int | str) -> Moment:
        place = parse_position(at) if isinstance(at, str) else at
        if isinstance(place, str):
            return Moment(bisect_right(self.all, place, key=lambda event: event.time), place)
        if not 1 <= place <= self.tail:
            raise InvalidArgument(f"Expected a sequence up to {self.tail}.")
        return moment_of(self.all[place - 1])

    def state(self, seq: int) -> WorkspaceState:
        state = EMPTY
        for event in self.all[:seq]:
            state = apply(state, event)
        return state


class Aged:
    """A vault whose files were last changed when they were last written, by the world's clock."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def ask(self, question: Question[Any], state: VaultState, _least: Any = None) -> Any:
        answer = self._vault.ask(question, state)
        if not isinstance(question, Read):
            return answer
        return [
            replace(each, stat=replace(each.stat, ctime_ns=each.stat.mtime_ns)) if isinstance(each, Note) else each
            for each in answer
        ]


class World:
    """One vault `brain` in `folder`, and the log of what happened."""

    def __init__(self, folder: Path, notes: dict[str, str]) -> None:
        self.folder = folder
        self.now_ns = START_NS
        self.events = Events()
        self.state = EMPTY
        self.blobs: dict[str, bytes] = {}
        self.in_flight: list[ToolCalled] = []
        for note, text in notes.items():
            self._write(note, text)
        self.vault = Vault(folder, clock_ns=lambda: time.time_ns() + LATER_NS)
        self.vault.reconcile()
        self.append(c.VaultOpened(V, "Brain", "/somewhere"))

    def close(self) -> None:
        self.vault.close()

    def tick(self) -> str:
        """A second passes; what the clock says then."""
        self.now_ns += 1_000_000_000
        return event_time(self.now_ns)

    # -- what happens --

    def append(self, data: Data) -> int:
        seq = self.events.tail + 1
        of = admit(self.state, Action(data))
        event = ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), self.tick(), "ui", of, data)
        self.events.all.append(event)
        self.state = apply(self.state, event)
        return seq

    def write(self, note: str, text: str, *, told: bool = True) -> None:
        """Saves a note; `told`: the daemon notices, and records it as it does."""
        self.tick()
        self._write(note, text)
        if told:
            self.notice()

    def delete(self, note: str) -> None:
        """Takes a file away, of which the daemon never says anything."""
        (self.folder / note).unlink(missing_ok=True)
        self.vault.reconcile()

    def rename(self, note: str, to: str) -> None:
        if (self.folder / note).exists() and not (self.folder / to).exists():
            self.tick()
            (self.folder / to).parent.mkdir(exist_ok=True)
            (self.folder / note).rename(self.folder / to)
            self.notice()

    def notice(self) -> None:
        """As `ServedVault` does."""
        changes = self.vault.reconcile()
        for old, new in sorted(changes.renamed):
            self.append(c.NoteRenamed(old, new))
        for kind, versions in ((c.NoteCreated, changes.created), (c.NoteChanged, changes.changed)):
            for each in versions:
                if each.id in self.members:
                    self.append(kind(each.id, each.stat.size, str(each.stat.mtime_ns), each.sha256))

    @property
    def members(self) -> set[str]:
        sub = self.state.of(V)
        return {*([sub.active.id] if sub.active else []), *sub.pins, *sub.tabs, *sub.recents}

    def _write(self, note: str, text: str) -> None:
        file = self.folder / note
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        os.utime(file, ns=(0, self.now_ns))

    # -- what agents do --

    def call(self, tool: str, **arguments: Any) -> bytes:
        """A call at the present; it is in the log only after `flush`."""
        now = self.tick()
        recorder = ViewRecorder(self.live_view(now), self.state)
        payload = payload_of(run(TOOLS[tool], recorder.view, arguments))
        self._take(tool, arguments, payload, recorder, self.state.seq, self.events.tail, now)
        return payload

    def call_at(self, at: int | str, tool: str, **arguments: Any) -> bytes:
        """A recorded call about a past moment."""
        moment = self.events.moment(at)
        view = self.past_view(moment)
        recorder = ViewRecorder(view, self.events.state(moment.seq))
        arguments["at"] = at
        payload = payload_of(run(TOOLS[tool], recorder.view, arguments))
        self._take(tool, arguments, payload, recorder, view.as_of_seq, moment.seq, moment.time)
        return payload

    def _take(
        self,
        tool: str,
        arguments: Json,
        payload: bytes,
        recorder: ViewRecorder,
        as_of_seq: int,
        tail: int,
        now: str,
    ) -> None:
        inputs = recorded(recorder, "agent", self._keep)
        self._keep(inputs, name := sha256(inputs).hexdigest())
        self.in_flight.append(
            ToolCalled(
                tool,
                "agent",
                arguments,
                as_of_seq,
                sha256(payload).hexdigest(),
                len(payload),
                1,
                True,
                now,
                tail,
                name,
            )
        )

    def _keep(self, content: bytes, name: str) -> None:
        self.blobs[name] = content

    def flush(self) -> list[int]:
        """Records the calls that were made; their sequences."""
        calls, self.in_flight = self.in_flight, []
        return [self.append(called) for called in calls]

    def recorded_call(self, tool: str, **arguments: Any) -> int:
        """Makes a call and records it."""
        self.call(tool, **arguments)
        return self.flush()[-1]

    # -- what there is to see --

    def live_view(self, now: str) -> View:
        present = Moment(self.events.tail, now, lasts=True)
        return self._view(self.state, present, Aged(self.vault), self.vault.levels.is_withheld)

    def past_view(self, moment: Moment, withheld: Callable[[NoteId], bool] = lambda _note: False) -> View:
        past = Past(self.events, Recordings(self.blobs.get), V, moment)
        vault = PastVault(
            past, withheld, withheld_image=self.vault.files.withholds, some_withheld=self.vault.withholds_some
        )
        return self._view(self.events.state(moment.seq), moment, vault, withheld)

    def _view(self, state: WorkspaceState, moment: Moment, vault: Any, withheld: Callable[[NoteId], bool]) -> View:
        return shared_view(
            state,
            moment.time,
            vault,
            lambda: visits_of(self.events.all[: moment.seq], V),
            PastVersions(self.events, Recordings(self.blobs.get), V, moment, withheld).version,
            level="all",
            withheld=withheld,
        )

    def look(self, tool: str, now: str, **arguments: Any) -> bytes:
        """What a call at the present would answer, if the clock said `now`."""
        return payload_of(run(TOOLS[tool], self.live_view(now), arguments))

    def at(self, at: int | str | Moment, tool: str, **arguments: Any) -> bytes:
        """What is told of a past moment."""
        moment = at if isinstance(at, Moment) else self.events.moment(at)
        return payload_of(run(TOOLS[tool], self.past_view(moment), arguments))

    def told(self, at: int | str, tool: str, **arguments: Any) -> Json:
        answer: Json = msgspec.json.decode(self.at(at, tool, **arguments))
        return answer
