"""What of a vault's notes may be shown, by what they said when somebody read them, and by what is remembered;
and notes that appeared a moment ago."""

import time
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.limits import SETTLE_EMPTY_S, SETTLE_S
from workspaced_tools.notes.note import Level, Note, StatKey
from workspaced_tools.ports.asking import WouldBlock, without_waiting
from workspaced_tools.ports.questions import Read, Resolve
from workspaced_tools.vault.files.note_levels import NoteLevels
from workspaced_tools.vault.vault import Vault

A, B = NoteId("a.md"), NoteId("b.md")
SHOWN, WITHHELD, WITHDRAWN = Visibility.SHOWN, Visibility.WITHHELD, Visibility.WITHDRAWN
START_NS = 1_700_000_000_000_000_000


class Notes:
    """A vault's visibility under clocks that a test moves, and what it reported."""

    def __init__(self, **findings: Visibility) -> None:
        self.now_s = 1_000.0
        self.found: list[tuple[str, bool]] = []
        self.woken = 0
        no_rules: Any = None
        self.visibility = NoteLevels(no_rules, clock_ns=self.wall_ns, clock_s=lambda: self.now_s)
        self.visibility.on_finding = lambda note, shown: self.found.append((note, shown))
        self.visibility.on_unsettled = self.wake
        self.visibility.remember({NoteId(f"{name}.md"): each for name, each in findings.items()})

    def wall_ns(self) -> int:
        return START_NS + int(self.now_s * 1e9)

    def wake(self) -> None:
        self.woken += 1

    def stat(self, version: int = 0, *, size: int = 1, age_s: float = 0.0) -> StatKey:
        time_ns = self.wall_ns() - int(age_s * 1e9)
        return StatKey(1, version, size, time_ns, time_ns)

    def saw(self, stat: StatKey, *, private: bool = False, was_shown: bool = False, note: NoteId = A) -> bool:
        flagged, was = Level.NEVER if private else Level.VOLUNTEER, Level.VOLUNTEER if was_shown else None
        return self.level(stat, flagged, was, note=note) is Level.VOLUNTEER

    def level(
        self,
        stat: StatKey,
        flagged: Level,
        was: Level | None = None,
        *,
        ruled: Level = Level.VOLUNTEER,
        note: NoteId = A,
    ) -> Level:
        return self.visibility.saw(note, stat, ruled=ruled, flagged=flagged, was=lambda _note: was)

    def searched(self, *there: NoteId, begun_s: float | None = None) -> None:
        def is_there(notes: Collection[NoteId]) -> set[NoteId]:
            return set(notes).intersection(there)

        self.visibility.searched(self.now_s if begun_s is None else begun_s, is_there)


@pytest.mark.parametrize("age_s", [0.0, 3_600.0])
@pytest.mark.parametrize("known", ["by the log", "by a former index", "as it was read"])
def test_what_was_private_is_shown_only_once_our_own_clock_has_seen_it_rest(age_s: float, known: str) -> None:
    notes = Notes(a=WITHHELD) if known == "by the log" else Notes()
    if known == "by a former index":
        notes.visibility.remember_flagged([A], [])
    if known == "as it was read":
        assert not notes.saw(notes.stat(age_s=3_600.0), private=True)
    stat = notes.stat(1, age_s=age_s)
    for _ in range(3):
        assert not notes.saw(stat, was_shown=True)
    notes.now_s += SETTLE_S
    assert notes.saw(stat)


# -- findings --


def test_what_is_found_of_a_note_that_the_log_names_is_reported_once_and_whenever_it_changes() -> None:
    notes = Notes()
    for private in (False, False, True, True, False):
        stat = notes.stat(age_s=9)
        notes.saw(stat, private=private)
        notes.now_s += SETTLE_S
        notes.saw(stat, private=private)
        notes.visibility.looked_at(A)
        notes.visibility.looked_at(A)
    assert notes.found == [(A, True), (A, False), (A, True)]
    assert notes.visibility.finding(A) is SHOWN


def test_a_finding_remembers_that_the_note_was_shown_whose_edit_is_shown_at_once() -> None:
    notes = Notes(a=SHOWN, b=WITHHELD)
    assert notes.saw(notes.stat()) and not notes.saw(notes.stat(), note=B)
    assert not notes.visibility.is_missing(B), "what was not shown is not missed"
    notes.visibility.follow(B)
    notes.saw(notes.stat(1), private=True)
    notes.saw(notes.stat(1), private=True, note=B)
    assert (notes.visibility.finding(A), notes.visibility.finding(B)) == (WITHDRAWN, WITHHELD)
    gone = Notes(a=SHOWN)
    gone.visibility.follow(A)
    assert gone.visibility.finding(A) is WITHDRAWN and gone.found == [(A, False)]


def test_a_finding_moves_with_its_note_which_is_no_less_withheld_under_its_new_path() -> None:
    notes = Notes(a=WITHHELD)
    notes.visibility.renamed(A, B)
    assert (notes.visibility.finding(A), notes.visibility.finding(B)) == (None, WITHHELD)
    assert notes.visibility.is_hidden(B) and notes.visibility.settles_in_s(B, Level.VOLUNTEER) is None
    assert notes.level(notes.stat(0, age_s=100), Level.ON_REQUEST, note=B) is Level.NEVER


def test_a_note_that_was_shown_and_is_missing_is_hidden_until_it_was_searched_for() -> None:
    notes = Notes(a=SHOWN, b=SHOWN)
    assert notes.visibility.is_missing(A) and notes.visibility.is_missing(A)
    assert notes.visibility.is_hidden(A) and notes.visibility.wants_search and notes.woken == 1
    notes.searched(B, begun_s=notes.now_s - 1)
    assert notes.visibility.is_hidden(A), "that search had begun before"
    notes.now_s += 1
    notes.searched(B)
    assert not notes.visibility.is_hidden(A) and not notes.visibility.wants_search
    assert not notes.visibility.is_missing(A), "it is known to be gone"
    assert notes.visibility.is_missing(B), "which was there"
    notes.searched()
    notes = Notes(a=SHOWN)
    notes.searched()
    assert not notes.visibility.is_missing(A), "nobody asked for it, and the search did not meet it"


STEP = st.tuples(
    st.sampled_from(["write", "write private", "write empty", "delete", "look", "search", "wait"]),
    st.sampled_from([0.0, 0.05, SETTLE_S, SETTLE_EMPTY_S]),
)


@pytest.mark.fault(row=52)
@given(st.lists(STEP, max_size=30), st.sampled_from([None, SHOWN, WITHHELD]))
def test_no_unsettled_version_follows_a_private(
    steps: list[tuple[str, float]], remembered: Visibility | None
) -> None:
    notes = Notes(**({"a": remembered} if remembered else {}))
    present: tuple[StatKey, bool] | None = None
    was_private, first_seen_s = remembered is WITHHELD, -1.0
    for number, (step, wait_s) in enumerate(steps):
        notes.now_s += wait_s
        if step.startswith("write"):
            present = notes.stat(number, size=step != "write empty"), step == "write private"
            first_seen_s = -1.0
        elif step == "delete":
            present = None
        elif step == "search":
            notes.searched(*([A] if present else []))
        elif step == "look" and present is None:
            notes.visibility.is_missing(A)
        elif step == "look" and present is not None:
            stat, private = present
            first_seen_s = notes.now_s if first_seen_s < 0 else first_seen_s
            shown = notes.saw(stat, private=private)
            assert shown is not notes.visibility.is_hidden(A)
            if private:
                was_private = True
                assert not shown
            elif was_private and shown:
                rested_s = notes.now_s - first_seen_s
                assert rested_s >= (SETTLE_S if stat.size else SETTLE_EMPTY_S)
                was_private = False


@example([("write", Level.ON_REQUEST), ("saw", None), ("gone", None), ("saw", None)])
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("write"), st.sampled_from(Level)),
            st.tuples(st.just("rule"), st.sampled_from(Level)),
            st.tuples(st.just("time"), st.sampled_from([0.1, SETTLE_S, 10.0])),
            st.tuples(st.sampled_from(["saw", "gone"]), st.none()),
        ),
        max_size=20,
    )
)
def test_a_note_goes_further_only_once_its_version_has_settled(steps: list[tuple[str, Any]]) -> None:
    notes, ruled, flagged, last, since_s = Notes(), Level.VOLUNTEER, Level.NEVER, Level.NEVER, 0.0
    seen: StatKey | None = None
    for version, (step, value) in enumerate(steps):
        if step == "write":
            flagged, seen = value, None
        elif step == "rule":
            ruled = value
        elif step == "time":
            notes.now_s += value
        elif step == "gone":
            notes.visibility.is_missing(A)
            seen = None
        else:
            if seen is None:
                seen, since_s = notes.stat(version), notes.now_s
            found = notes.level(seen, flagged, ruled=ruled)
            assert found <= min(ruled, flagged)
            assert found <= last or notes.now_s - since_s >= SETTLE_S
            last = found


NEW = NoteId("deep/new.md")


@pytest.fixture
def vault(make_vault: MakeVault) -> Vault:
    """Its clocks are the real ones, so that a file just written is young."""
    return make_vault({"old.md": "# Old\n", "deep/x.md": "x"}, clock_ns=time.time_ns, clock_s=time.monotonic)


def write(vault: Vault, text: str, path: str = NEW) -> None:
    (vault.root.path / path).write_text(text)


@pytest.mark.parametrize("reference", ["deep/new.md", "deep/new", "[[deep/new]]", "./deep/new.md#Part"])
def test_a_note_written_just_now_is_found_by_its_path(vault: Vault, reference: str) -> None:
    write(vault, "# New\n\n## Part\n")
    found = vault.ask(Resolve(reference), EMPTY_VAULT)
    assert found.note is not None and found.note.id == NEW
    [note] = vault.ask(Read([NEW]), EMPTY_VAULT)
    assert isinstance(note, Note) and note.text.startswith("# New")


def test_what_an_editor_shows_is_not_withheld_because_it_is_new(vault: Vault) -> None:
    write(vault, "# New\n")
    with pytest.raises(WouldBlock), without_waiting():
        vault.withholds(NEW)
    assert not vault.withholds(NEW)
    with without_waiting():
        assert not vault.withholds(NEW)


@pytest.mark.thorough
def test_an_empty_new_note_rests_longer_and_only_its_path_waits_for_it(vault: Vault) -> None:
    write(vault, "")
    begun = time.monotonic()
    assert vault.withholds(NEW)
    assert time.monotonic() - begun < SETTLE_EMPTY_S / 2
    found = vault.ask(Resolve(NEW), EMPTY_VAULT)
    assert found.note is not None and found.note.id == NEW


@pytest.mark.parametrize("level", [Level.VOLUNTEER, Level.ON_REQUEST])
def test_who_asks_for_a_note_that_was_private_waits_for_nothing(vault: Vault, level: Level) -> None:
    """Else the time would tell that there is such a note."""
    write(vault, "---\nworkspaced: private\n---\n")
    assert vault.ask(Resolve(NEW), EMPTY_VAULT).note is None
    write(vault, "---\nwork")  # an editor is in the middle of saving
    assert vault.ask(Resolve(NEW), EMPTY_VAULT).note is None
    assert NEW in vault.levels.unsettled
    assert vault.levels.settles_in_s(NEW, level) is None


def test_nor_does_who_asks_for_one_that_the_log_knows_as_withheld(vault: Vault) -> None:
    write(vault, "---\nworkspaced: private\n---\n")
    vault.look_at(NEW)
    findings: dict[Any, Any] = dict(vault.levels._findings)
    again = Vault(vault.root.path)
    again.levels.remember(findings)
    write(vault, "# Public now?\n")
    assert not isinstance(again.notes.read([NEW])[0], Note)
    assert again.levels.settles_in_s(NEW, Level.VOLUNTEER) is None
    again.close()


def test_nor_does_who_asks_for_one_that_a_rule_withholds(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "a"}, deny=["deep/"], clock_ns=time.time_ns, clock_s=time.monotonic)
    (vault.root.path / "deep").mkdir()
    write(vault, "# New\n")
    vault.reconcile()
    assert vault.ask(Resolve(NEW), EMPTY_VAULT).note is None
    assert vault.levels.settles_in_s(NEW, Level.VOLUNTEER) is None
