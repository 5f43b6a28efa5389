"""Recording: what a View answered its recording answers too, whatever it was; what is withheld is in none."""

import inspect
import tempfile
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

import workspaced_events.errors as event_errors
import workspaced_tools.errors as tool_errors
from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, TabId, VaultId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import (
    ActiveNote,
    Pin,
    Selection,
    Tab,
    Vault,
    VaultState,
    WorkspaceState,
)
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.errors import NoteNotFound
from workspaced_tools.notes.note import Note, NoteFailure
from workspaced_tools.ports.history import HistoryPort, NoHistory, PastPort, VersionAt
from workspaced_tools.ports.vault import LinkName, Search, VaultPort
from workspaced_tools.recording.format import raised, refused, without
from workspaced_tools.recording.reading import read_recording
from workspaced_tools.recording.tape import Asked, Tape, TapedVault, recorded
from workspaced_tools.replay.call_replay import (
    Answers,
    Notes,
    RecordedHistory,
    RecordedPast,
    RecordedVault,
    error_of,
)
from workspaced_tools.sharing.gate import NamesOnly, shared_view, sharing_off
from workspaced_tools.vault.vault import Vault as Folder

NOW = "2026-03-01T12:00:00.000000Z"
V = VaultId("brain")
LATER_NS = 10_000_000_000

FILES: dict[str, bytes] = {
    "a.md": b"---\ntitle: Alpha\ntags: [x, rare]\n---\n# A\n\nSee [[b]], [[Nowhere]] and [[Twin]]. zebra\n",
    "b.md": "\ufeff# Beta\r\n\r\nBack to [[a]] and [a](a.md) #x #rare 🧑‍🚀 zebra\r\n".encode(),
    "one/Twin.md": b"# Twin\n",
    "two/Twin.md": b"# Twin\n",
    "raw.md": b"# Raw \xff\xfe\n\x00\n",
    "empty.md": b"",
    "huge.md": b"# Huge\n\n" + b"on and on zebra " * 20_000,
}
NOTES = [NoteId(path) for path in (*FILES, "gone.md")]
STATE = VaultState(former={NoteId("old.md"): NoteId("a.md")})

Question = tuple[Any, ...]
QUESTIONS: dict[str, list[Question]] = {
    "read": [(NOTES,), ([],), ([NoteId("folder.md"), NoteId("link.md"), NoteId("a.md"), NoteId("a.md")],)],
    "resolve": [
        (each, STATE) for each in ("a.md", "alpha", "Twin", "[[b#Beta|x]]", "old.md", "Alpa", "nothing like")
    ]
    + [("../x.md", STATE), ("/etc/passwd", STATE), ("  ", STATE), ("\0", STATE)],
    "link_targets": [
        (NoteId("a.md"), [LinkName("b", True), LinkName("Nowhere", True), LinkName("one/Twin.md", False)], STATE),
        (NoteId("gone.md"), [], STATE),
    ],
    "incoming": [(NoteId("a.md"), 1, STATE), (NoteId("a.md"), 100, STATE), (NoteId("gone.md"), 5, STATE)],
    "names": [(NOTES,), ([],)],
    "search": [
        (Search("zebra", 2),),
        (Search("zebra", 10, among=(NoteId("a.md"),), tags=("x",), folder="one", names_only=True),),
        (Search("\0 * AND", 10),),
    ],
    "members": [("one", None, 9), ("", "X", 1), (None, "rare", 9), ("two", "x", 9), ("none", None, 9)],
    "similar": [(NoteId("a.md"), 5), (NoteId("gone.md"), 5)],
    "sharing_tags": [(NoteId("a.md"), 5), (NoteId("gone.md"), 5)],
    "overview": [(0,), (10,)],
    "note_count": [()],
    "index_state": [()],
}
"""For each method of the port: what it is asked."""


def methods_of(port: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(port, inspect.isfunction) if not name.startswith("_")}


class Kept:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.times: dict[str, int] = {}

    def keep(self, content: bytes, name: str) -> None:
        assert name == sha256(content).hexdigest()
        self.blobs[name] = content
        self.times[name] = self.times.get(name, 0) + 1

    def answers(self, tape: Tape) -> Answers:
        """What the tape answers once it is nothing but JSON and blobs."""
        return Answers(read_recording(recorded(tape, self.keep), "it").asked, Notes(self.blobs.get))


def tape_over(vault: Any = None, history: HistoryPort | None = None, past: PastPort | None = None) -> Tape:
    state = WorkspaceState(7, V, {V: Vault(V, "Brain", "/somewhere", True)}, {V: STATE})
    return Tape(
        shared_view(state, NOW, vault, history, past, level="all", withheld=lambda _note: False),
        state,
    )


@pytest.fixture
def folder(make_vault: Callable[..., Folder]) -> Folder:
    """A vault with notes of every kind, one that is a folder and one that is a link."""
    vault = make_vault(FILES)
    (vault.root.path / "folder.md").mkdir()
    (vault.root.path / "link.md").symlink_to("a.md")
    return vault


# -- every method, both ways --


def test_every_method_of_the_vault_is_asked_here_and_answered_by_a_recording() -> None:
    assert methods_of(VaultPort) == set(QUESTIONS)
    assert methods_of(HistoryPort) == {"visits"}
    assert methods_of(PastPort) == {"version"}
    assert all(callable(getattr(RecordedVault(Answers((), Notes({}.get))), name)) for name in QUESTIONS)


@pytest.mark.parametrize("names_only", [False, True], ids=["all", "names"])
@pytest.mark.parametrize("method", sorted(QUESTIONS))
def test_a_recording_answers_as_the_vault_did(folder: Folder, method: str, names_only: bool) -> None:
    kept = Kept()
    tape = tape_over(NamesOnly(folder) if names_only else folder)
    said = [outcome(getattr(tape.view.vault, method), *question) for question in QUESTIONS[method]]
    again = RecordedVault(kept.answers(tape))
    assert [outcome(getattr(again, method), *question) for question in QUESTIONS[method]] == said
    assert len(tape.asked) == len(said)
    if names_only:
        assert not kept.blobs  # no text


def outcome(function: Callable[..., Any], *question: Any) -> Any:
    """What it gives, or raises, with everything that tells one from another."""
    try:
        return plain(function(*question))
    except WorkspacedError as error:
        return type(error), error.message, error.hint, error.details
    except Exception as error:
        return type(error).__name__


def plain(answer: Any) -> Any:
    """A note's class and text, and what follows from them, beside what is compared anyway."""
    if isinstance(answer, list):
        return [plain(each) for each in answer]
    if isinstance(answer, VersionAt):
        return answer.seq, answer.at, plain(answer.note)
    if isinstance(answer, Note):
        return type(answer), answer, answer.title, answer.source, answer.markdown, answer.fields, answer.warnings
    return type(answer), answer


class Past:
    """A `PastPort` that knows one note."""

    def __init__(self, note: Note) -> None:
        self._note = note

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        if since == 1:
            return VersionAt(1, NOW, NoteFailure(note, NoteNotFound.code, "There is no such note."))
        if since is None:
            raise tool_errors.NotRecorded("Nobody kept it", hint="Switch it on.")
        return VersionAt(3, NOW, self._note)


def test_a_recording_answers_as_the_past_did(folder: Folder) -> None:
    [note] = folder.read([NoteId("b.md")])
    assert isinstance(note, Note)
    kept = Kept()
    tape = tape_over(folder, past=Past(note))
    questions = [(NoteId("b.md"), since, "abc") for since in (1, 2, "2026-03-01", None)]
    said = [outcome(tape.view.past.version, *question) for question in questions]
    again = RecordedPast(kept.answers(tape))
    assert [outcome(again.version, *question) for question in questions] == said


VISITS = [Visit(NoteId(f"{name}.md"), at, NOW, None) for at, name in enumerate("abcabd", start=1)]


class Visited:
    """A `HistoryPort` with these visits, or none that can be read."""

    def __init__(self, visits: Sequence[Visit] | Exception) -> None:
        self._visits = visits

    def visits(self) -> Sequence[Visit]:
        if isinstance(self._visits, Exception):
            raise self._visits
        return self._visits


@given(st.lists(st.sampled_from(VISITS)), st.frozensets(st.sampled_from("abcd")))
def test_a_recording_gives_the_visits_that_were_shared(visits: list[Visit], gone: frozenset[str]) -> None:
    state = WorkspaceState(7, V, {V: Vault(V, "Brain", "/somewhere", True)}, {V: STATE})
    withheld = {f"{name}.md" for name in gone}
    tape = Tape(
        shared_view(state, NOW, None, Visited(visits), level="all", withheld=withheld.__contains__),
        state,
    )
    shared = tape.view.history.visits()
    [exchange] = read_recording(recorded(tape, Kept().keep), "it").asked
    assert all(f'"{note}"'.encode() not in bytes(exchange.answer) for note in withheld)
    assert list(RecordedHistory(Kept().answers(tape), visits).visits()) == list(shared)


# -- what is raised --


def error_classes() -> list[type[WorkspacedError]]:
    found = {
        each
        for module in (event_errors, tool_errors)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, WorkspacedError)
    }
    return sorted(found, key=lambda each: (each.__module__, each.__name__))


class Raising:
    """A vault that cannot answer."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def note_count(self) -> int:
        raise self._error


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_an_error_of_ours_is_raised_again_as_it_was(kind: type[WorkspacedError]) -> None:
    error = kind("What is wrong", hint="What to do.", candidates=[{"id": "a.md", "n": 1}], seq=3)
    tape = tape_over(Raising(error))
    said = outcome(tape.view.vault.note_count)  # type: ignore[union-attr]
    again = RecordedVault(Kept().answers(tape))
    assert outcome(again.note_count) == said == (kind, error.message, error.hint, error.details)


def test_of_other_errors_only_that_there_was_one_is_kept() -> None:
    tape = tape_over(Raising(ValueError("/home/someone/secret.md")))
    with pytest.raises(ValueError, match="secret"):
        tape.view.vault.note_count()  # type: ignore[union-attr]
    assert b"secret" not in recorded(tape, Kept().keep)
    with pytest.raises(Exception, match="ValueError"):
        RecordedVault(Kept().answers(tape)).note_count()


# -- the texts --

versions = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(str.encode),
    st.sampled_from(sorted(FILES.values())),
    st.builds(
        lambda name, text: f"---\n{name}: {text!r}\n---\n# H\n".encode(), st.just("title"), st.text(max_size=9)
    ),
    st.sampled_from(
        (b"\xef\xbb\xbf# BOM\n", b"a\r\nb\rc\n", b"\0", "👩‍👩‍👧 e\u0301".encode(), b"---\n---", b"\xff\xfeU\0")
    ),
)


@settings(deadline=None, max_examples=examples(150))
@given(versions)
def test_any_file_is_read_again_as_it_was(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "a.md").write_bytes(content)
        vault = Folder(place, clock_ns=lambda: time.time_ns() + LATER_NS)
        try:
            tape = tape_over(vault)
            said = plain(tape.view.vault.read([NoteId("a.md")]))  # type: ignore[union-attr]
        finally:
            vault.close()
    again = RecordedVault(Kept().answers(tape))
    assert plain(again.read([NoteId("a.md")])) == said


def test_a_text_is_kept_once_however_often_it_is_read_and_renamed(folder: Folder) -> None:
    kept = Kept()
    tape = tape_over(folder)
    vault = tape.view.vault
    assert vault is not None
    for _ in range(3):
        vault.read([NoteId("a.md"), NoteId("one/Twin.md"), NoteId("two/Twin.md")])
    content = recorded(tape, kept.keep)
    assert len(kept.blobs) == 2 and b"zebra" not in content
    assert FILES["a.md"] in kept.blobs.values()


def test_equal_calls_make_equal_recordings(folder: Folder) -> None:
    made = set()
    for _ in range(2):
        folder._cache.evict(NoteId("a.md"))
        tape = tape_over(folder, Visited(VISITS))
        assert tape.view.vault is not None
        tape.view.vault.read(NOTES)
        tape.view.history.visits()
        tape.view.vault.search(Search("zebra", 3))
        made.add(recorded(tape, Kept().keep))
    assert len(made) == 1


def test_the_same_question_gets_the_answers_it_got_in_their_order_and_then_the_last() -> None:
    class Counting:
        count = 0

        def note_count(self) -> int:
            self.count += 1
            return self.count

    tape = tape_over(Counting())
    vault: Any = tape.view.vault
    assert [vault.note_count() for _ in range(3)] == [1, 2, 3]
    again = RecordedVault(Kept().answers(tape))
    assert [again.note_count() for _ in range(4)] == [1, 2, 3, 3]


def test_a_question_nobody_asked_is_not_recorded(folder: Folder) -> None:
    tape = tape_over(folder)
    assert tape.view.vault is not None
    tape.view.vault.names([NoteId("a.md")])
    again = RecordedVault(Kept().answers(tape))
    with pytest.raises(tool_errors.NotRecorded):
        again.names([NoteId("b.md")])
    with pytest.raises(tool_errors.NotRecorded):
        again.search(Search("zebra", 1))


def test_a_taped_vault_lets_what_is_no_exception_pass_unrecorded() -> None:
    class Stop(BaseException):
        pass

    class Stopping:
        def note_count(self) -> int:
            raise Stop

    asked = Asked()
    with pytest.raises(Stop):
        TapedVault(Stopping(), asked).note_count()  # type: ignore[arg-type]
    assert asked.exchanges == []


def test_without_a_vault_there_is_little_to_record() -> None:
    tape = tape_over()
    recording = read_recording(recorded(tape, Kept().keep), "it")
    assert (recording.served, recording.level, recording.asked) == (False, "all", ())
    assert isinstance(tape.view.history, NoHistory)


def test_of_a_call_that_no_tool_was_run_for_the_refusal_is_recorded() -> None:
    error = sharing_off("agent")
    recording = read_recording(refused(raised(error)), "it")
    assert not recording.asked and recording.refused is not None
    again = error_of(recording.refused)
    assert (type(again), str(again)) == (type(error), str(error))


# -- the state, as far as it was shown --

ids = st.sampled_from([NoteId(f"{name}.md") for name in "abcdef"])


@st.composite
def vault_states(draw: st.DrawFn) -> VaultState:
    def some() -> list[NoteId]:
        return draw(st.lists(ids, unique=True))

    active = draw(st.none() | ids)
    return VaultState(
        active=ActiveNote(active, NOW) if active else None,
        pins={each: Pin(each, NOW, "ui") for each in some()},
        tabs={each: Tab(TabId(f"tab-{at}"), each, "search", NOW, NOW, "ui") for at, each in enumerate(some())},
        recents=dict.fromkeys(some(), NOW),
        selection=Selection(active, 1, 2, NOW, "words") if active and draw(st.booleans()) else None,
        archived=dict.fromkeys(some()),
        former={each: draw(ids) for each in some()},
        last_updated=NOW,
    )


@given(vault_states(), st.frozensets(ids), st.sampled_from(("all", "names")))
def test_the_shared_state_is_made_again_of_positions(
    sub: VaultState, withheld: frozenset[NoteId], level: Sharing
) -> None:
    vaults = {V: Vault(V, "Brain", "/somewhere", True)}
    state = WorkspaceState(7, V, vaults, {V: sub, VaultId("other"): STATE}, sharing={"x": "names"})
    view = shared_view(state, NOW, None, level=level, withheld=withheld.__contains__)
    content = recorded(Tape(view, state), Kept().keep)
    recording = read_recording(content, "it")
    assert without(sub, recording.left_out) == view.vault_state
    assert list(without(sub, recording.left_out).recents) == list(view.vault_state.recents)
    assert b".md" not in content
