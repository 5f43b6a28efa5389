"""Whole sessions without a socket, for what must hold of any of them.

A `Session` is a daemon's `Service` over real folders and a real log, with a clock that is moved by hand. It counts
what it was asked, so that what `verify` finds in a copy of its log can be held against it. Below it the strategies
for what users, editors and agents may do to it.
"""

import asyncio
import itertools
import os
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from workspaced.calls.calls import ToolAnswer
from workspaced.recording.call_recorder import Sweeper
from workspaced.service.service import Service
from workspaced.service.upkeep import expire_tabs, reconcile
from workspaced.settings.link import LinkSettings
from workspaced.settings.settings import TracesSettings
from workspaced.traces.live import LiveTraces
from workspaced.traces.wire import TextsFrom
from workspaced.vaults.registration import registrations
from workspaced.vaults.served_vault import ServedVault
from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.clock import event_time
from workspaced_events.errors import ActionError, WorkspacedError
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.journal.submissions import Outcome
from workspaced_events.journal.writer import OWN_SOURCE
from workspaced_events.log.disk import RealDisk
from workspaced_events.replay.source import DirectorySource
from workspaced_events.schema import catalogue as c
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.replay.verify import Outcome as Verdict
from workspaced_tools.replay.verify import Verified, verify
from workspaced_tools.sharing.levels import setting
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.vault.vault import Vault

START_NS = 1_772_366_400_000_000_000
DAY_S = 86_400.0
LATER_NS = 10_000_000_000
SNAPSHOT_EVENTS = 25
SEGMENT_BYTES = 16 * 1024

Call = tuple[str, dict[str, Any], str]
"""Tool, arguments, caller."""
Told = tuple[str, str, str, bool]
"""Tool, caller, hash of the answer, and whether it was recorded."""


class Session:
    """One workspace from its first start to its last. Belongs to one thread, whose loop it runs step by step."""

    def __init__(self, root: Path, vaults: Sequence[str] = ("one", "two")) -> None:
        self.root = root
        self.data = root / "data"
        self.vaults = {name: root / name for name in vaults}
        for folder in self.vaults.values():
            folder.mkdir()
        self.now_ns = START_NS
        self._numbers = itertools.count(1)
        self._naming = patch("workspaced_events.journal.writer.uuid7", self._name)
        self._naming.start()
        self.told: Counter[Told] = Counter()
        """What was answered, as often as it was."""
        self.loop = asyncio.new_event_loop()
        self.service: Service
        self.is_open = False

    def _name(self) -> str:
        """The next event's id.

        A UUID is made of `random`, which hypothesis sets back when it writes an example out: two events of one
        millisecond would then have the same.
        """
        return f"00000000-0000-7000-8000-{next(self._numbers):012x}"

    def clock(self) -> str:
        """The present, as the session has it."""
        return event_time(self.now_ns)

    def advance(self, seconds: float) -> None:
        """Moves the clock, be it back."""
        self.now_ns += int(seconds * 1e9)

    def run(self, awaitable: Any) -> Any:
        """What it gives, the loop being run that long."""
        return self.loop.run_until_complete(awaitable)

    # -- life --

    def open(self, *, record: bool = True, vaults: Sequence[str] | None = None) -> "Session":
        """Starts, as the daemon does; `vaults`: only these are served."""
        self.data.mkdir(mode=0o700, exist_ok=True)
        self.record = record
        journal = open_journal(
            RealDisk(self.data),
            version="test",
            clock=self.clock,
            deliver=lambda committed: self.service.tail.deliver(committed),
            segment_bytes_max=SEGMENT_BYTES,
            snapshot_events=SNAPSHOT_EVENTS,
        )
        sweeper = Sweeper(EvictableBlobStore(self.data), 2**30, 90.0)
        record = record and journal.log.damage is None
        self.service = Service(
            journal,
            workspace="test",
            loop=self.loop,
            sweeper=sweeper,
            record=record,
            data=self.data,
            link=LinkSettings(),
            traces=LiveTraces(TracesSettings(), journal.log.log_id, TextsFrom("", (), ())),
        )
        self.service.writer.start()
        self.service.call_recorder.start()
        self.is_open = True
        self.run(self._register([self.vaults[name] for name in vaults or self.vaults]))
        return self

    async def _register(self, folders: list[Path]) -> None:
        service = self.service
        served, actions = registrations(service.tail.state, folders)
        await service.publishing.note([*actions, Action(c.DaemonStarted("test", 1, tuple(served)))])
        for vault_id, path in served.items():
            # Files just written count as certain, else no call would ever be warm.
            vault = Vault(path, clock_ns=lambda: time.time_ns() + LATER_NS, cache_bytes_max=1024 * 1024)
            service.serve(ServedVault(vault_id, path, vault, service.publishing.record_findings))
            vault.start()
        await expire_tabs(service)

    def close(self) -> None:
        """Stops in good order."""
        if not self.is_open:
            return
        self.is_open = False
        self.service.call_recorder.close()
        self.run(self.service.publishing.note([Action(c.DaemonStopped("test"))]))
        for served in self.service.served.values():
            served.vault.close()
        self.service.threads.close()
        self.service.writer.close()
        self.run(asyncio.sleep(0))  # what the writer left for the loop

    def restart(self, **options: Any) -> "Session":
        """Stops and starts again."""
        self.close()
        return self.open(**options)

    def dispose(self) -> None:
        """Ends whatever there is."""
        self.close()
        self._naming.stop()
        self.loop.close()

    # -- what users and editors do --

    def publish(self, *actions: dict[str, Any]) -> WorkspacedError | None:
        """Publishes a batch; the error, where it was refused."""

        async def submit() -> Outcome:
            done: asyncio.Future[Outcome] = self.loop.create_future()
            self.service.publishing.publish(actions, "ui", lambda outcome, _is_held: done.set_result(outcome))
            return await done

        try:
            outcome = self.run(submit())
        except ActionError as error:
            return error
        return outcome if isinstance(outcome, WorkspacedError) else None

    def look_at(self, note: str) -> None:
        assert self.publish({"type": "active_note_set", "data": {"note": note}}) is None

    def share(self, client: str, level: Any) -> None:
        """Sets how much a client is shown."""

        async def submit() -> None:
            done: asyncio.Future[Outcome] = self.loop.create_future()
            self.service.writer.submit(setting(client, level), OWN_SOURCE, done.set_result)
            await done

        self.run(submit())

    def reconcile(self) -> None:
        """Compares the vaults with what is known of them."""
        self.run(reconcile(self.service))

    # -- what agents do --

    def call(self, tool: str, arguments: dict[str, Any] | None = None, caller: str = "agent") -> ToolAnswer:
        """Calls a tool as a connection would: on the loop where that is possible, else on a thread."""
        [answer] = self.call_at_once((tool, arguments or {}, caller))
        return answer

    def call_at_once(self, *calls: Call) -> list[ToolAnswer]:
        """Calls made together; those that are not warm run side by side."""

        async def one(tool: str, arguments: dict[str, Any], caller: str) -> ToolAnswer:
            try:
                return self.service.calls.try_call(TOOLS[tool], arguments, caller)
            except WouldBlock:
                return await self.service.calls.call(TOOLS[tool], arguments, caller)

        async def every() -> list[ToolAnswer]:
            return await asyncio.gather(*(one(*each) for each in calls))

        answers: list[ToolAnswer] = self.run(every())
        for (tool, _arguments, caller), answer in zip(calls, answers, strict=True):
            self.told[tool, caller, sha256(answer.payload).hexdigest(), self.record] += 1
        return answers

    # -- afterwards --

    def verified(self) -> list[Verified]:
        """Stops, and verifies a copy of the log where there is no vault any more."""
        self.close()
        for name, folder in self.vaults.items():
            folder.rename(self.root / f"{name} is away")
        copy = self.root / "copy"
        shutil.copytree(self.data, copy)
        found = verified(copy)
        for name, folder in self.vaults.items():
            (self.root / f"{name} is away").rename(folder)
        shutil.rmtree(copy)
        return found

    def check(self) -> list[Verified]:
        """Verifies: every call is in the log, and is made again to the byte where it was recorded."""
        found = self.verified()
        for each in found:
            assert each.outcome is not Verdict.DIFFERENT, explained(each)
            assert (each.outcome is Verdict.SAME) == (each.called.inputs_sha256 is not None), explained(each)
        in_log = Counter(
            (each.called.tool, each.called.caller, each.called.result_sha256, each.outcome is Verdict.SAME)
            for each in found
        )
        assert in_log == self.told
        return found


def verified(data: Path) -> list[Verified]:
    """Every recorded call of a data directory, made again."""
    found: list[Verified] = []
    with DirectorySource(data) as source:
        verify(source, found.append)
    return found


def explained(each: Verified) -> str:
    """What there is to see of a call that was made again."""
    called = each.called
    return f"{each.seq} {called.tool} {called.arguments} {each.why}\n{each.served!r}\n{each.answered!r}"


# -- what may be done --

PATHS = ("a.md", "b.md", "work/plan.md", "work/日記.md", "keep/Secret plan.md", "gone.md")
NAMES = (
    *PATHS,
    "Alpha",
    "beta",
    "[[Secret plan#Steps]]",
    "Codename",
    "plan",
    "old.md",
    "../x.md",
    "\0",
    "s-17",
    " ",
)
CALLERS = ("agent", "Agent", "other", "third", "ctl\x1b[31m\n", "日本")
WORDS = ("zebra", "alpha plan", "日記", "AND OR NOT *", "…", "a" * 600)

TEXTS: tuple[bytes, ...] = (
    b"",
    b"# Alpha\n\nSee [[b]], [[Codename]] and [[Nowhere]]. zebra #tag\n",
    b"---\ntitle: Beta\ntags: [two, tag]\naliases: [Codename]\nid: s-17\n---\n# B\n\n[[a]], [it](work/plan.md).\n",
    b"---\nworkspaced: private\ntitle: Secret plan\n---\n# Secret plan\n\n## Steps\n\nzebra [[a]]\n",
    b"---\nbroken: [private\n---\nnever shown\n",
    "\ufeff# 日記\r\n\r\nZeilen 🧑‍🚀 zebra\r\n\r\n## Ende\r\n".encode(),
    b"# Not UTF-8 \xff\xfe\x00 zebra\n\n```\nopen fence\n",
    b"# Long\n\n" + b"The zebra went on and on. " * 4_000,
    b"# Emoji\n\n" + "👩‍👩‍👧‍👦 [[a]] ".encode() * 700,
)
IGNORED = (b"", b"", b"", b"keep/\n", b"*\n!a.md\n", b"[broken\n", b"work/*\n!work/plan.md\n", b"\xff\n")

paths = st.sampled_from(PATHS)
callers = st.sampled_from(CALLERS)
texts = st.sampled_from(TEXTS) | st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode())


def _action(type_: str, **data: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(type_), "data": st.fixed_dictionaries(data)})


_note = {"note": paths}
actions: st.SearchStrategy[dict[str, Any]] = st.one_of(
    _action("active_note_set", note=paths | st.none()),
    _action("active_note_set", **_note),
    _action("active_note_cleared"),
    _action("note_pinned", **_note),
    _action("note_pinned", **_note, index=st.integers(0, 3)),
    _action("note_unpinned", **_note),
    _action("temporary_tab_opened", **_note, source=st.sampled_from(("search", "wikilink", "history"))),
    _action("temporary_tab_closed", **_note),
    _action("temporary_tabs_cleared"),
    _action(
        "selection_changed",
        **_note,
        startLine=st.just(1),
        endLine=st.integers(1, 9),
        text=st.sampled_from(("a few words", "long " * 1_000)),
    ),
    _action("note_renamed", **{"from": paths, "to": paths | st.sampled_from(("old.md", "new/place.md"))}),
    _action("note_deleted", **_note),
    _action("note_archived", **_note),
    _action("note_unarchived", **_note),
    _action("vault_switched", vaultId=st.sampled_from(("one", "two"))),
)


def reorderings(session: Session) -> st.SearchStrategy[dict[str, Any]]:
    """New orders of the pins and tabs there are."""
    state = session.service.tail.state
    sub = state.of(state.current)
    pins, tabs = list(sub.pins), [tab.id for tab in sub.tabs.values()]
    return _action("pinned_notes_reordered", notes=st.permutations(pins)) | _action(
        "temporary_tabs_reordered", tabIds=st.permutations(tabs)
    )


odd_values: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 60_000),
    st.sampled_from((2**70, -(2**64), 10**400, -0.0, 1e23, 5e-324, 100.0, 100.5)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def _fitting(name: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a tool's input schema allows for one argument."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if name == "at":
        return st.integers(0, 40) | st.sampled_from(("2026-03-01T12:00:00Z", "2026-03-02", "yesterday", -1, 10**6))
    match schema["type"]:
        case "boolean":
            return st.booleans()
        case "integer" if name in ("minSeq", "sinceSeq"):
            return st.integers(0, 2)
        case "integer":
            low, high = schema["minimum"], schema.get("maximum", 2**31)
            return st.integers(low, high) | st.sampled_from((low, high))
        case "array":
            return st.lists(_fitting(name, schema["items"]), max_size=2)
    if name == "sinceTime":
        return st.sampled_from(("2026-03-01T12:00:00Z", "2026-03-01", "yesterday", "0001-01-01T00:00:00+14:00"))
    known = {"query": WORDS, "tags": ("two", "#tag", ""), "folder": ("work", "/keep", "../x", "")}.get(name, NAMES)
    return st.sampled_from([each for each in known if len(each) <= schema.get("maxLength", 9**9)])


def arguments_of(tool: str) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that its published schema allows, and some that it does not."""
    schema = TOOLS[tool].input_schema
    required = set(schema.get("required", ()))
    properties = {name: _fitting(name, each) for name, each in schema["properties"].items()}
    at = properties.pop("at")
    valid = st.fixed_dictionaries(
        {name: each for name, each in properties.items() if name in required},
        optional={name: each for name, each in properties.items() if name not in required},
    )
    names = st.sampled_from([*sorted(schema["properties"].keys() - {"minSeq"}), "unknown", ""]) | st.text(
        max_size=5
    )
    past = st.builds(lambda one, moment: {**one, "at": moment}, valid, at)
    wrong = st.builds(lambda one, other: {**one, **other}, valid, st.dictionaries(names, odd_values, max_size=3))
    return st.one_of(valid, valid, valid, valid, past, wrong)


def _calls() -> st.SearchStrategy[Call]:
    return st.one_of([st.tuples(st.just(tool), arguments_of(tool), callers) for tool in sorted(TOOLS)])


# Deferred: written out, as hypothesis does where an example fails, it is too long for anybody.
calls: st.SearchStrategy[Call] = st.deferred(_calls)


def write(folder: Path, path: str, content: bytes) -> None:
    """Saves a note, as editors do: a new file in the place of the old one."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(".aside")
    aside.write_bytes(content)
    os.replace(aside, file)
