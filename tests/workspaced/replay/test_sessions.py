"""Any session replays to the byte: from a copy of its log alone, on another day, without the vault."""

import random
import shutil
import signal
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from support import session_machine as sessions
from support.profiles import examples

from workspaced.errors import WorkspacedError
from workspaced.service.upkeep import expire_tabs
from workspaced_tools.replay.verify import Outcome

FOLDERS = st.sampled_from(("one", "two"))


class Replayed(RuleBasedStateMachine):
    """Users, editors and agents do what they like; at the end every call is made again."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="wsd-session-"))
        self.session = sessions.Session(self.root)

    @initialize(text=sessions.texts)
    def begin(self, text: bytes) -> None:
        for at, path in enumerate(sessions.PATHS[:-1], start=1):
            sessions.write(self.session.vaults["one"], path, sessions.TEXTS[at])
            sessions.write(self.session.vaults["two"], path, text)
        self.session.open()
        self.session.look_at("a.md")

    @rule(actions=st.lists(sessions.actions, min_size=1, max_size=6))
    def publish(self, actions: list[dict[str, Any]]) -> None:
        self.session.publish(*actions)

    @rule(data=st.data())
    def reorder(self, data: st.DataObject) -> None:
        self.session.publish(data.draw(sessions.reorderings(self.session)))

    @rule(call=sessions.calls, times=st.integers(1, 3))
    def ask(self, call: Any, times: int) -> None:
        for _ in range(times):
            self.session.call(*call)

    @rule(note=sessions.paths, calls=st.lists(sessions.calls, min_size=1, max_size=4))
    def look_and_ask(self, note: str, calls: list[Any]) -> None:
        self.session.look_at(note)
        for call in calls:
            self.session.call(*call)

    @rule(calls=st.lists(sessions.calls, min_size=2, max_size=6))
    def ask_at_once(self, calls: list[Any]) -> None:
        self.session.call_at_once(*calls)

    @rule(folder=FOLDERS, path=sessions.paths, text=sessions.texts, hint=st.booleans())
    def edit(self, folder: str, path: str, text: bytes, hint: bool) -> None:
        sessions.write(self.session.vaults[folder], path, text)
        self._hint(hint)

    @rule(path=sessions.paths, text=sessions.texts, caller=sessions.callers, since=st.sampled_from((None, 0, 1)))
    def compare(self, path: str, text: bytes, caller: str, since: int | None) -> None:
        self.session.call("get_note_by_reference", {"reference": path}, caller)
        sessions.write(self.session.vaults["one"], path, text)
        known = {} if since is None else {"sinceSeq": self.session.service.tail.seq - since}
        self.session.call("get_note_diff", {"reference": path, **known}, caller)

    @rule(folder=FOLDERS, path=sessions.paths, hint=st.booleans())
    def delete(self, folder: str, path: str, hint: bool) -> None:
        (self.session.vaults[folder] / path).unlink(missing_ok=True)
        self._hint(hint)

    @rule(folder=FOLDERS, path=sessions.paths, to=sessions.paths, hint=st.booleans())
    def rename(self, folder: str, path: str, to: str, hint: bool) -> None:
        vault = self.session.vaults[folder]
        if (vault / path).exists():
            (vault / to).parent.mkdir(exist_ok=True)
            (vault / path).rename(vault / to)
        self._hint(hint)

    @rule(folder=FOLDERS, rules=st.sampled_from(sessions.IGNORED))
    def withhold(self, folder: str, rules: bytes) -> None:
        (self.session.vaults[folder] / ".workspacedignore").write_bytes(rules)

    @rule(client=sessions.callers | st.just("*"), level=st.sampled_from(("all", "all", "names", "none")))
    def share(self, client: str, level: str) -> None:
        self.session.share(client, level)

    @rule(seconds=st.sampled_from((0.0, 0.05, 61.0, sessions.DAY_S - 1, sessions.DAY_S, -3_600.0)))
    def wait(self, seconds: float) -> None:
        self.session.advance(seconds)

    @rule()
    def expire(self) -> None:
        self.session.run(expire_tabs(self.session.service))

    @rule(record=st.sampled_from((True, True, False)), vaults=st.sampled_from((None, ("one",), ("two", "one"))))
    def restart(self, record: bool, vaults: Any) -> None:
        self.session.restart(record=record, vaults=vaults)

    def _hint(self, hint: bool) -> None:
        if hint:
            self.session.reconcile()

    def teardown(self) -> None:
        try:
            if self.session.is_open:
                self.session.check()
        finally:
            self.session.dispose()
            shutil.rmtree(self.root)


Replayed.TestCase.settings = settings(
    max_examples=examples(20),
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestAnySession = Replayed.TestCase


# -- a daemon of its own, many clients, signals --

CALLS_EACH = 60
REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_workspace_context", {}),
    ("get_workspace_context", {"includeContent": True}),
    ("get_current_note", {"includeLinks": True, "includeOutline": True}),
    ("get_note_by_reference", {"reference": "b"}),
    ("get_note_by_reference", {"reference": "work/plan"}),
    ("get_note_by_reference", {"reference": "x" * 6_000}),
    ("get_note_diff", {"reference": "a"}),
    ("search_workspace", {"query": "zebra"}),
    ("get_related_notes", {}),
    ("get_workspace_summary", {}),
    ("get_navigation_history", {"limit": 5}),
    ("get_workspace_context", {"at": 3}),
)


class Busy:
    """Two agents, a user and an editor, each on a thread, until they are done or the daemon is gone."""

    def __init__(self, running: Any, seed: int) -> None:
        self.running = running
        self.answered = 0
        self.half_way = threading.Event()
        self.failures: list[BaseException] = []
        works = [self.agent, self.agent, self.user, self.editor]
        self.threads = [
            threading.Thread(target=self._until_gone, args=(work, random.Random(seed + at)))
            for at, work in enumerate(works)
        ]
        for thread in self.threads:
            thread.start()

    def _until_gone(self, work: Any, dice: random.Random) -> None:
        try:
            work(dice)
        except (WorkspacedError, OSError):
            pass  # killed
        except BaseException as error:
            self.failures.append(error)
            self.half_way.set()

    def join(self) -> None:
        for thread in self.threads:
            thread.join(60)
        assert not self.failures

    def agent(self, dice: random.Random) -> None:
        with self.running.connect("agent") as client:
            for _ in range(CALLS_EACH):
                client.call("tools/call", dict(zip(("name", "arguments"), dice.choice(REQUESTS), strict=True)))
                self.answered += 1
                if self.answered >= CALLS_EACH:
                    self.half_way.set()

    def user(self, dice: random.Random) -> None:
        notes = [path for path in sessions.PATHS if " " not in path]
        with self.running.connect("editor") as client:
            for _ in range(CALLS_EACH):
                kind = dice.choice(("active_note_set", "active_note_set", "note_pinned", "note_unpinned"))
                client.call(
                    "workspaced/publish", {"actions": [{"type": kind, "data": {"note": dice.choice(notes)}}]}
                )

    def editor(self, dice: random.Random) -> None:
        for _ in range(CALLS_EACH):
            sessions.write(self.running.vault, dice.choice(sessions.PATHS), dice.choice(sessions.TEXTS))


@pytest.mark.fault(row=15)
@pytest.mark.thorough
def test_what_a_daemon_served_is_answered_again_however_it_ended(daemon: Any, tmp_path: Path) -> None:
    running = daemon()
    recorded_at_least = 0
    for seed, number in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGKILL, None)):
        busy = Busy(running, 100 * seed)
        if number is not None:
            assert busy.half_way.wait(60)
            running.send_signal(number)
            running.wait(60)
        busy.join()
        if number is not signal.SIGKILL:
            recorded_at_least += busy.answered
        if number is not None:
            running.start()
    running.stop()
    shutil.rmtree(running.vault)
    data = tmp_path / "data"
    shutil.copytree(running.data, data)

    found = sessions.verified(data)
    assert {each.outcome for each in found} == {Outcome.SAME}
    assert {each.called.tool for each in found} == {tool for tool, _ in REQUESTS}
    assert len(found) >= recorded_at_least >= 3 * CALLS_EACH
