"""Any session replays to the byte: from a copy of its log alone, on another day, without the vault."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from support import session_machine as sessions
from support.profiles import examples

from workspaced.service.upkeep import expire_tabs

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
