"""Recording: what a View answered its recording answers too, whatever it was; what is withheld is in none."""

import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import images
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
from workspaced_tools.notes.note import Note
from workspaced_tools.ports import questions as q
from workspaced_tools.ports.asking import VaultPort
from workspaced_tools.ports.history import VersionAt
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.recording.format import read_recording, shown_of
from workspaced_tools.recording.view_recorder import ViewRecorder, recorded
from workspaced_tools.replay.call_replay import ANSWER_TYPES, Answers, Notes, RecordedVault
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.vault.files.selected_files import FileChoice
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
    "code/f.py": b"class F:\n    def zebra(self): pass\n",
    "code/data.bin": b"zebra\0",
    "pictures.md": b"![[a.png]] ![[b.svg]] ![[gone.png]]",
    "huge.md": b"# Huge\n\n" + b"on and on zebra " * 20_000,
}
PICTURES = {"a.png": images.png(), "b.svg": b"<svg/>"}
NOTES = [NoteId(path) for path in (*FILES, "gone.md")]
STATE = VaultState(former={NoteId("old.md"): NoteId("a.md")})

A = NoteId("a.md")
GONE = NoteId("gone.md")
QUESTIONS: dict[type[q.Question[Any]], list[q.Question[Any]]] = {
    q.Read: [q.Read(NOTES), q.Read([]), q.Read([NoteId("folder.md"), NoteId("link.md"), A, A])],
    q.Resolve: [
        q.Resolve(each)
        for each in (
            *("a.md", "alpha", "Twin", "[[b#Beta|x]]", "old.md", "Alpa", "nothing like"),
            *("../x.md", "/etc/passwd", "  ", "\0"),
        )
    ],
    q.ResolveFrom: [
        q.ResolveFrom(each, source)
        for each in ("b", "[[Twin]]", "[[b#Beta|x]]", "[a](a.md)", "[[#A]]", "nothing like", "../a", "\0")
        for source in ("a.md", "two/Twin", "old.md", "gone.md", "../x.md")
    ],
    q.LinkTargets: [q.LinkTargets(A, ["b", "Nowhere", "one/Twin.md"]), q.LinkTargets(GONE, [])],
    q.Images: [q.Images(NoteId("pictures.md")), q.Images(A), q.Images(GONE)],
    q.Outline: [q.Outline(NoteId("code/f.py")), q.Outline(NoteId("code/data.bin")), q.Outline(A), q.Outline(GONE)],
    q.Incoming: [q.Incoming(A, 1), q.Incoming(A, 100), q.Incoming(GONE, 5)],
    q.Names: [q.Names(NOTES), q.Names([])],
    q.NamesLike: [q.NamesLike("b", 5), q.NamesLike("", 3)],
    q.Search: [
        q.Search(SearchQuery("zebra", 2)),
        q.Search(SearchQuery("zebra", 10, among=(A,), tags=("x",), folder="one", names_only=True)),
        q.Search(SearchQuery("\0 * AND", 10)),
    ],
    q.Members: [
        q.Members("one", None, 9),
        q.Members("", "X", 1),
        q.Members(None, "rare", 9),
        q.Members("two", "x", 9),
        q.Members("none", None, 9),
    ],
    q.Similar: [q.Similar(A, 5), q.Similar(GONE, 5)],
    q.SharingTags: [q.SharingTags(A, 5), q.SharingTags(GONE, 5)],
    q.Overview: [q.Overview(0), q.Overview(10)],
    q.NoteCount: [q.NoteCount()],
    q.IndexState: [q.IndexState()],
}
"""Of each kind of question to a vault: some."""
OF_THE_LOG = {q.Visits, q.VersionOf, q.LinesChanged, q.ManifestOf, q.SharedBy}
TO_THE_MEMORY = {q.UseMemory}
"""Recorded and replayed in tests/workspaced/memory/test_memory_log.py."""


class Kept:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.times: dict[str, int] = {}

    def keep(self, content: bytes, name: str) -> None:
        assert name == sha256(content).hexdigest()
        self.blobs[name] = content
        self.times[name] = self.times.get(name, 0) + 1

    def answers(self, recorder: ViewRecorder) -> Answers:
        """What the recorder answers once it is nothing but JSON and blobs."""
        return Answers(read_recording(recorded(recorder, "agent", self.keep), "it").asked, Notes(self.blobs.get))


def recorder_over(vault: Any = None, level: Sharing = "all") -> ViewRecorder:
    state = WorkspaceState(7, V, {V: Vault(V, "Brain", "/somewhere", True)}, {V: STATE})
    return ViewRecorder(shared_view(state, NOW, vault, level=level, withheld=lambda _note: False), state)


@pytest.fixture
def folder(make_vault: Callable[..., Folder]) -> Folder:
    """A vault with notes of every kind, one that is a folder and one that is a link."""
    vault = make_vault(FILES | PICTURES, files=FileChoice(("code/**",)))
    (vault.root.path / "folder.md").mkdir()
    (vault.root.path / "link.md").symlink_to("a.md")
    return vault


def test_images_are_counted_as_texts_are_and_kept_under_their_hash(folder: Folder) -> None:
    recorder = recorder_over(folder)
    for _ in range(2):
        recorder.view.vault.ask(q.Images(NoteId("pictures.md")))
    assert recorder.texts_bytes() == recorder.texts_bytes(new=True) == 2 * len(images.png())
    kept = Kept()
    recorded(recorder, "agent", kept.keep)
    assert kept.times == {sha256(images.png()).hexdigest(): 2}


# -- every method, both ways --


def test_every_question_is_asked_here_and_a_recording_knows_the_form_of_its_answer() -> None:
    every = set(q.Question.__subclasses__())
    assert every == set(QUESTIONS) | OF_THE_LOG | TO_THE_MEMORY
    assert {each.name for each in every} == set(ANSWER_TYPES)


@pytest.mark.parametrize("level", ["all", "names"])
def test_a_recording_answers_as_the_vault_did(folder: Folder, level: Sharing) -> None:
    for asked in QUESTIONS.values():
        kept = Kept()
        recorder = recorder_over(folder, level=level)
        told = [outcome(recorder.view.vault, each) for each in asked]
        again = RecordedVault(kept.answers(recorder))
        assert [outcome(again, each) for each in asked] == told
        assert len(recorder.exchanges) == len(told)
        assert level == "all" or not kept.blobs  # no text


def outcome(vault: VaultPort, question: q.Question[Any]) -> Any:
    """The answer, or what is raised, with everything that tells one from another."""
    try:
        return plain(vault.ask(question))
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


VISITS = [Visit(NoteId(f"{name}.md"), at, NOW, None) for at, name in enumerate("abcabd", start=1)]


@given(st.lists(st.sampled_from(VISITS)), st.frozensets(st.sampled_from("abcd")))
def test_a_recording_gives_the_visits_that_were_shared(visits: list[Visit], gone: frozenset[str]) -> None:
    state = WorkspaceState(7, V, {V: Vault(V, "Brain", "/somewhere", True)}, {V: STATE})
    withheld = {f"{name}.md" for name in gone}
    recorder = ViewRecorder(
        shared_view(state, NOW, None, lambda: visits, level="all", withheld=withheld.__contains__), state
    )
    shared = recorder.view.vault.ask(q.Visits())
    [exchange] = read_recording(recorded(recorder, "agent", Kept().keep), "it").asked
    assert all(f'"{note}"'.encode() not in bytes(exchange.answer) for note in withheld)
    assert list(RecordedVault(Kept().answers(recorder), visits).ask(q.Visits())) == list(shared)


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

    def ask(self, question: q.Question[Any], state: VaultState, _least: Any = None) -> Any:
        raise self._error


def test_an_error_of_ours_is_raised_again_as_it_was() -> None:
    for kind in error_classes():
        error = kind("What is wrong", hint="What to do.", candidates=[{"id": "a.md", "n": 1}], seq=3)
        recorder = recorder_over(Raising(error))
        told = outcome(recorder.view.vault, q.NoteCount())
        again = RecordedVault(Kept().answers(recorder))
        assert outcome(again, q.NoteCount()) == told == (kind, error.message, error.hint, error.details)


def test_of_other_errors_only_that_there_was_one_is_kept() -> None:
    recorder = recorder_over(Raising(ValueError("/home/someone/secret.md")))
    with pytest.raises(ValueError, match="secret"):
        recorder.view.vault.ask(q.NoteCount())
    assert b"secret" not in recorded(recorder, "agent", Kept().keep)
    with pytest.raises(Exception, match="ValueError"):
        RecordedVault(Kept().answers(recorder)).ask(q.NoteCount())


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


@settings(max_examples=examples(150))
@given(versions)
def test_any_file_is_read_again_as_it_was(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "a.md").write_bytes(content)
        vault = Folder(place, clock_ns=lambda: time.time_ns() + LATER_NS)
        try:
            recorder = recorder_over(vault)
            told = plain(recorder.view.vault.ask(q.Read([A])))
        finally:
            vault.close()
    again = RecordedVault(Kept().answers(recorder))
    assert plain(again.ask(q.Read([A]))) == told


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
def test_the_state_is_made_of_positions(sub: VaultState, withheld: frozenset[NoteId], level: Sharing) -> None:
    vaults = {V: Vault(V, "Brain", "/somewhere", True)}
    state = WorkspaceState(7, V, vaults, {V: sub, VaultId("other"): STATE}, sharing={"x": "names"})
    view = shared_view(state, NOW, None, level=level, withheld=withheld.__contains__)
    content = recorded(ViewRecorder(view, state), "agent", Kept().keep)
    recording = read_recording(content, "it")
    assert shown_of(sub, recording) == view.vault_state
    assert list(shown_of(sub, recording).recents) == list(view.vault_state.recents)
    assert b".md" not in content
