"""Forgetting a note: the events that tell of it, what they named, and every other trace of it."""

import itertools
import json
import random
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_log as logs
from support.journals import record
from support.profiles import examples
from support.random_log import V, W, event_of, time_at

from workspaced_events.blobs.durable import unpacked
from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.errors import InvalidArgument, LogDamaged, LogReadOnly, NotInLog
from workspaced_events.ids import ConversationId, LinkedVaultId, MessageId, NoteId, OriginId, VaultId
from workspaced_events.journal.actions import Action, parse_actions
from workspaced_events.journal.opening import Journal, open_journal, read_journal
from workspaced_events.limits import TEMPORARY_TABS_MAX
from workspaced_events.log.data_directory import ERASURE, ERASURE_READY
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.salvage import AFTER_DAMAGE
from workspaced_events.log.segments import Batch
from workspaced_events.peers.without_notes import name_hash
from workspaced_events.privacy.asked_notes import AskedNote, AskedNotes
from workspaced_events.privacy.erasure import Prepared, carry_out, finish_forgetting, prepare
from workspaced_events.privacy.tombstones import ConversationEraser, NoteEraser, Trail
from workspaced_events.projections.conversations import FORGOTTEN, Conversation
from workspaced_events.projections.visits import visits_of
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, VaultState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema import peer_events as p
from workspaced_events.schema.catalogue import STATE_TYPES, Data, Event, UnknownEvent
from workspaced_events.schema.codec import encode_event

A, B, C, UNTITLED = (NoteId(f"{name}.md") for name in ("a", "b", "work/c", "Untitled"))
HASH, HASH_1 = "0" * 64, "1" * 64


def log_of(*datas: Data) -> list[Event]:
    opened = [c.VaultOpened(V, "v", "/v"), c.VaultOpened(W, "w", "/w")]
    return [event_of(seq, data) for seq, data in enumerate([*opened, *datas], start=1)]


def trail_of(events: list[Event], note: NoteId, vault: VaultId = V) -> Trail:
    trail = Trail(vault, note)
    trail.feed(events)
    return trail


def without(events: list[Event], note: NoteId) -> list[Event]:
    forgetting = NoteEraser(
        V, trail_of(events, note), lambda _event: False, ConversationEraser(lambda _said: False)
    )
    return [forgetting(event) for event in events]


def state_without(events: list[Event], note: NoteId) -> VaultState:
    return fold_all(without(events, note), EMPTY).of(V)


# -- the fold of what remains --


def entries_without(state: VaultState, names: frozenset[NoteId]) -> VaultState:
    """The state with the note's entries taken out, as the word says."""
    return VaultState(
        active=None if state.active and state.active.id in names else state.active,
        pins={note: pin for note, pin in state.pins.items() if note not in names},
        tabs={note: tab for note, tab in state.tabs.items() if note not in names},
        recents={note: at for note, at in state.recents.items() if note not in names},
        selection=None if state.selection and state.selection.note in names else state.selection,
        archived={note: None for note in state.archived if note not in names},
        former={old: new for old, new in state.former.items() if new not in names},
    )


def lists(state: VaultState) -> Any:
    return (
        state.active,
        list(state.pins.values()),
        list(state.tabs.values()),
        list(state.recents.items()),
        state.selection,
        list(state.archived),
    )


@settings(max_examples=examples(400))
@given(st.integers(0, 2**32), st.integers(3, 80), st.sampled_from(logs.NOTES[:8]))
def test_the_rest_folds_to_the_state_without_the_note_and_tells_no_more_of_it(
    seed: int, length: int, note: NoteId
) -> None:
    events = logs.random_log(seed, length, (V, W))
    trail = trail_of(events, note)
    if trail.note != note:
        return  # refused: it is called otherwise now
    rest = without(events, note)
    whole, left = fold_all(events, EMPTY), fold_all(rest, EMPTY)
    expected = entries_without(whole.of(V), trail.at(length))
    assert lists(left.of(V)) == lists(expected)
    assert expected.former.items() <= left.of(V).former.items()
    assert {*left.of(V).former} - {*expected.former} <= trail.paths()
    assert (left.seq, left.current, left.vaults) == (whole.seq, whole.current, whole.vaults)
    assert left.of(W) == whole.of(W) and left.of(V).last_updated == whole.of(V).last_updated
    assert trail_of(rest, note).note != note or without(rest, note) == rest


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32), st.integers(3, 80), st.sampled_from(logs.NOTES[:8]))
def test_every_event_stays_in_its_place_and_others_stay_whole(seed: int, length: int, note: NoteId) -> None:
    events = logs.random_log(seed, length, (V, W))
    trail = trail_of(events, note)
    rest = without(events, note)
    for event, kept in zip(events, rest, strict=True):
        assert (kept.seq, kept.time, kept.source, kept.vault) == (event.seq, event.time, event.source, event.vault)
        assert (type(kept.data) in STATE_TYPES) == (type(event.data) in STATE_TYPES)
        assert (kept.id == event.id) == (kept is event)
        names = {getattr(event.data, name, None) for name in ("note", "to")}
        if kept is not event:
            assert event.vault == V
        elif event.vault == V:
            assert names.isdisjoint(trail.at(event.seq))


@settings(max_examples=examples(200))
@given(st.integers(0, 2**32), st.integers(3, 80), st.sampled_from(logs.NOTES[:8]))
def test_visits_of_other_notes_are_as_long_as_they_were(seed: int, length: int, note: NoteId) -> None:
    events = [each for each in logs.random_log(seed, length, (V, W)) if type(each.data) is not c.NoteRenamed]
    stays = [(each.note, each.at, each.until) for each in visits_of(events, V) if each.note != note]
    left = [(each.note, each.at, each.until) for each in visits_of(without(events, note), V)]
    assert left == stays


def test_tabs_are_counted_without_it() -> None:
    names = [NoteId(f"{number}.md") for number in range(TEMPORARY_TABS_MAX)]
    opened = [c.TemporaryTabOpened(name, "search") for name in [*names, A]]
    assert list(fold_all(log_of(*opened), EMPTY).of(V).tabs) == [*names[1:], A]
    assert list(state_without(log_of(*opened), A).tabs) == names  # as if it had not been pushed out


class TestTheTrail:
    def test_goes_through_renames_both_ways(self) -> None:
        events = log_of(c.NotePinned(A), c.NoteRenamed(A, B), c.ActiveNoteSet(B), c.NoteRenamed(B, C))
        assert trail_of(events, C).paths() == {A, B, C}
        rest = without(events, C)
        assert not re.search(rb"a\.md|b\.md|c\.md", b"".join(map(msgspec.json.encode, rest)))

    def test_tells_notes_apart_that_had_the_same_path_one_after_the_other(self) -> None:
        events = log_of(
            *(c.NotePinned(UNTITLED), c.NoteRenamed(UNTITLED, A)),
            *(c.NotePinned(UNTITLED), c.NoteRenamed(UNTITLED, B)),
            *(c.NotePinned(UNTITLED), c.ActiveNoteSet(A)),
        )
        assert list(state_without(events, B).pins) == [A, UNTITLED]
        assert list(state_without(events, UNTITLED).pins) == [A, B]

    def test_knows_the_titles_of_its_note_alone(self) -> None:
        events = log_of(
            c.ActiveNoteSet(A, title="One"), c.NoteRenamed(A, B), c.ActiveNoteSet(A, title="Two"), c.NotePinned(C)
        )
        assert trail_of(events, B).titles() == {"One"}
        assert trail_of(events, A).titles() == {"Two"}


class TestAGlobOfFiles:
    @pytest.mark.parametrize(
        "glob", ["src/keys.py", "/src/keys.py", "**/src/keys.py", "!src/keys.py", r"src/key\s.py"]
    )
    def test_that_is_the_path_goes_and_the_others_stay(self, glob: str) -> None:
        files = ("src/*.py", glob, "lib/src/keys.py", "src/keys.pyi")
        [opened] = without([event_of(1, c.VaultOpened(V, "v", "/v", files))], NoteId("src/keys.py"))
        assert opened.data == c.VaultOpened(V, "v", "/v", ("src/*.py", "lib/src/keys.py", "src/keys.pyi"))

    def test_that_is_a_path_it_had_at_another_time_goes_but_not_of_another_vault(self) -> None:
        old, new = NoteId("old.py"), NoteId("new.py")
        opened = event_of(1, c.VaultOpened(V, "v", "/v", (old, new, "rest.py")))
        kept = without([opened, event_of(2, c.NotePinned(old)), event_of(3, c.NoteRenamed(old, new))], new)[0]
        assert kept.data.files == ("rest.py",)
        opened = event_of(1, c.VaultOpened(W, "w", "/w", (A,)), W)
        assert without([opened], A) == [opened]


SECRET, MOVED, OTHER = NoteId("keep/Geheimplan-Falke.md"), NoteId("archive/Falkennest-77.md"), NoteId("other.md")
CANARIES = ("geheimplan", "falkennest", "deckname", "zugvogel", "flugroute")
UNKNOWN = b'{"type":"note_starred","seq":%d,"id":"n","time":"%s","source":"ui","vault":"v","data":{"note":"%s"}}'


class Desk:
    """A data directory in which much happened to one note, and some to others."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.served = EvictableBlobStore(root)
        ticks = itertools.count()
        self.clock = lambda: f"2026-03-01T12:00:00.{next(ticks):06}Z"

    def open(self, **options: Any) -> Journal:
        return open_journal(RealDisk(self.root), version="t", clock=self.clock, **options)

    def fill(self) -> None:
        journal = self.open(segment_bytes_max=3_000)
        self.journal = journal
        self.put(c.VaultOpened(V, "v", "/v"), c.DaemonStarted("1", 1, (V,)))
        self.publish("active_note_set", note=SECRET, title="Deckname Zugvogel")
        self.publish("selection_changed", note=SECRET, startLine=1, endLine=2, text="Flugroute kurz")
        self.publish("note_pinned", note=SECRET)
        self.publish("note_pinned", note=OTHER, index=1)
        self.publish("pinned_notes_reordered", notes=[OTHER, SECRET])
        self.put(c.NoteChanged(SECRET, 5, "7", HASH))
        self.publish("note_renamed", **{"from": SECRET, "to": MOVED})
        self.publish("active_note_set", note=MOVED)
        self.publish("selection_changed", note=MOVED, startLine=1, endLine=9, text="Flugroute lang " * 400)
        self.call({"reference": "[[deckname zugvogel#Ziel]]"}, {"error": "swept"}, None)
        self.call({}, {"data": {"path": MOVED}}, {"asked": [{"text": self.text("Flugroute im Text")}]})
        self.call({}, {"data": {"ok": 1}}, {"asked": [{"id": str(SECRET), "text": self.text("Flugroute alt")}]})
        self.call({"reference": "keep%2FGeheimplan%2DFalke"}, {}, {})
        self.call({"reference": "other"}, {"n": 1}, {"asked": [{"id": OTHER, "text": self.text("Alltag")}]})
        self.call({}, {"n": 2}, {"leftOut": {"pins": [0]}, "asked": [{"text": self.text("versetzt")}]})
        self.text("Flugroute, von keinem Ereignis genannt")
        self.publish("active_note_set", note=OTHER, title="Alltag")
        self.publish("selection_changed", note=OTHER, startLine=1, endLine=9, text="Alltag lang " * 400)
        seq = journal.log.tail.seq
        unknown = UNKNOWN % (seq + 1, self.clock().encode(), MOVED.encode())
        journal.log.append(Batch(seq + 1, seq + 1, b"[" + unknown + b"]"), seq)
        journal.writer.close()

    def put(self, *datas: Data) -> None:
        self._submit([Action(data) for data in datas])

    def publish(self, kind: str, **data: Any) -> None:
        keep = lambda text: sha256(text).hexdigest()  # noqa: E731
        action = {"type": kind, "data": data, "id": f"{kind}:{data.get('note')}:{random.random()}"}
        self._submit(parse_actions([action], keep_text=keep))

    def _submit(self, actions: list[Action]) -> None:
        outcome = record(self.journal, *actions)
        assert isinstance(outcome, list), outcome

    def text(self, text: str) -> str:
        return self.served.keep(text.encode())

    def call(self, arguments: Any, result: Any, recording: Any) -> None:
        made = self.served.keep(json.dumps(result).encode())
        inputs = self.served.keep(json.dumps(recording).encode()) if recording is not None else None
        self.put(
            c.ToolCalled("get_note", "agent", arguments, 3, made, 9, 9, True, time_at(1), inputs_sha256=inputs)
        )

    # -- forgetting --

    def prepare(self, note: NoteId, vault: VaultId | None = None) -> Prepared:
        RealDisk(self.root).make_directory(ERASURE)
        aside = RealDisk(self.root / ERASURE)
        return prepare(RealDisk(self.root), aside, note, vault, version="t", now=time_at(9))

    def forget(self, note: NoteId, vault: VaultId | None = None) -> Prepared:
        prepared = self.prepare(note, vault)
        carry_out(RealDisk(self.root), RealDisk(self.root / ERASURE), prepared)
        finish_forgetting(self.root)
        return prepared

    # -- looking --

    def events(self) -> list[Event]:
        events: list[Event] = []
        scan = read_journal(self.root, events.extend)
        assert scan.damage is None
        assert scan.warnings == []
        return events

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*") if path.is_file()
        }


def telling(files: dict[str, bytes]) -> list[str]:
    """The files that hold a canary, in their name or their bytes, compressed or escaped."""
    found = []
    for name, data in files.items():
        text = b"\n".join([name.encode(), data, unpacked(data)]).decode(errors="replace").casefold()
        if any(canary in text for canary in CANARIES):
            found.append(name)
    return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path / "data")
    made.fill()
    return made


class TestADataDirectory:
    def test_holds_no_trace_of_the_note_afterwards(self, desk: Desk) -> None:
        (desk.root / "quarantine").mkdir(exist_ok=True)
        (desk.root / "quarantine" / "1.torn").write_bytes(b'{"note":"keep/Geheimpl')
        (desk.root / AFTER_DAMAGE).write_text(json.dumps({"note": MOVED}) + "\n")
        with max((desk.root / "log").glob("*.wlog")).open("ab") as file:  # a torn tail
            file.write(b'01234567 [{"note":"archive/Falkennest')
        assert len(telling(desk.files())) >= 10
        desk.forget(MOVED)
        files = desk.files()
        assert telling(files) == []
        assert not [name for name in files if name.startswith(("quarantine", "snapshots", ERASURE, AFTER_DAMAGE))]

    def test_keeps_every_event_of_others_in_its_place(self, desk: Desk) -> None:
        before = desk.events()
        prepared = desk.forget(MOVED)
        after = desk.events()
        assert [event.seq for event in after] == [event.seq for event in before]
        assert [event.time for event in after] == [event.time for event in before]
        changed = {event.type for event, was in zip(after, before, strict=True) if event != was}
        assert changed == {
            *("event_forgotten", "record_forgotten"),
            *("note_pinned", "pinned_notes_reordered", "tool_called"),
        }
        assert prepared.paths == [MOVED, SECRET]
        assert prepared.calls == 4
        assert prepared.events == sum(
            event.type in ("event_forgotten", "record_forgotten", "note_pinned", "pinned_notes_reordered")
            for event in after
        )

    def test_keeps_what_other_events_name(self, desk: Desk) -> None:
        desk.forget(MOVED)
        blobs = [unpacked(data) for name, data in desk.files().items() if name.startswith(("blobs", "served"))]
        assert sorted(blobs) == sorted(
            [
                ("Alltag lang " * 400).encode(),
                b"Alltag",
                b'{"n": 1}',
                b'{"n": 2}',
                json.dumps({"asked": [{"id": OTHER, "text": sha256(b"Alltag").hexdigest()}]}).encode(),
            ]
        )

    def test_forgets_what_was_judged_of_the_note_and_keeps_what_was_judged_of_others(self, desk: Desk) -> None:
        calls = [event.seq for event in desk.events() if type(event.data) is c.ToolCalled]
        about_it, about_other = calls[1], calls[4]
        desk.journal = desk.open()
        first = desk.journal.log.tail.seq + 1
        desk.put(
            c.AnswerJudged(about_it, "wrong", "What stands in it"),
            c.AnswerJudged(about_other, "wrong", "See the Geheimplan-Falke"),
            c.AnswerJudged(about_other, "right", "Monday", "Alltag."),
        )
        desk.journal.writer.close()
        desk.forget(MOVED)
        left = {event.seq - first: event.data for event in desk.events() if event.seq >= first}
        assert [type(left[at]) for at in range(3)] == [c.RecordForgotten, c.RecordForgotten, c.AnswerJudged]
        assert telling(desk.files()) == []

    def test_lets_go_of_a_recording_that_would_be_misread_without_the_note(self, desk: Desk) -> None:
        desk.forget(MOVED)
        calls = [event.data for event in desk.events() if type(event.data) is c.ToolCalled]
        assert [call.inputs_sha256 is None for call in calls] == [False, True]

    def test_is_another_log_that_opens_and_goes_on(self, desk: Desk) -> None:
        whole = fold_all(desk.events(), EMPTY)
        old = desk.open()
        old.writer.close()
        desk.forget(MOVED)
        journal = desk.open()
        assert journal.warnings == []
        assert journal.recovered is None
        assert journal.log.log_id != old.log.log_id
        assert lists(journal.writer.state.of(V)) == lists(entries_without(whole.of(V), frozenset({MOVED})))
        assert journal.writer.state.seq == whole.seq
        desk.journal = journal
        desk.publish("note_pinned", note="new.md")
        journal.writer.close()
        assert desk.events()[-1].type == "note_pinned"

    @pytest.mark.parametrize(
        ("note", "said"),
        [
            ("falkennest-77.md", ""),
            ("Falkennest-77.md", ""),
            ("archive/Falkennest-7.md", ""),
            ("deckname zugvogel.md", ""),
            (SECRET, MOVED),
        ],
        ids=["another case", "without its folder", "shorter", "a title", "its former path"],
    )
    def test_is_not_changed_by_a_path_that_no_note_of_the_log_has(self, desk: Desk, note: str, said: str) -> None:
        before = desk.files()
        with pytest.raises(NotInLog) as refused:
            desk.forget(NoteId(note))
        assert said in str(refused.value)
        finish_forgetting(desk.root)
        assert desk.files() == before

    def test_asks_for_a_vault_that_it_knows(self, desk: Desk) -> None:
        with pytest.raises(InvalidArgument):
            desk.forget(MOVED, VaultId("nowhere"))

    def test_forgets_a_note_that_only_calls_tell_of(self, desk: Desk) -> None:
        desk.journal = desk.open()
        desk.call({}, {"path": "found/by-search.md"}, {"read": ["found/by-search.md"]})
        desk.journal.writer.close()
        prepared = desk.forget(NoteId("found/by-search.md"))
        assert (prepared.events, prepared.calls) == (1, 1)
        assert not [name for name, data in desk.files().items() if b"by-search" in data + unpacked(data)]

    def test_with_damage_is_refused_and_as_it_was(self, desk: Desk) -> None:
        first = sorted((desk.root / "log").glob("*.wlog"))[0]
        first.write_bytes(first.read_bytes().replace(b"other", b"0ther", 1))
        before = desk.files()
        with pytest.raises(LogDamaged):
            desk.forget(MOVED)
        finish_forgetting(desk.root)
        assert desk.files() == before

    def test_is_not_read_while_it_is_half_done(self, desk: Desk) -> None:
        prepared = desk.prepare(MOVED)
        (desk.root / ERASURE / ERASURE_READY).write_bytes(msgspec.json.encode(prepared.ready))
        with pytest.raises(LogReadOnly):
            desk.events()
        assert finish_forgetting(desk.root)
        assert telling(desk.files()) == []

    def test_keeps_an_event_of_a_newer_version_that_does_not_tell_of_it(self, desk: Desk) -> None:
        before = [event for event in desk.events() if type(event) is UnknownEvent]
        assert before
        desk.forget(OTHER)
        assert [event for event in desk.events() if type(event) is UnknownEvent] == before


# -- conversations --

TALK = ConversationId("talk")
FALCON = "What does the Geheimplan-Falke say?"
PLAIN = "And what is for lunch?"


def named(text: str) -> str:
    return sha256(text.encode()).hexdigest()


class Talk:
    """A conversation in a desk's log, about the note and about another one."""

    def __init__(self, desk: Desk, talk: ConversationId = TALK) -> None:
        self.desk = desk
        self.talk = talk
        self.library: tuple[c.LibraryEntry, ...] = ()
        self.journal = desk.journal = desk.open()

    def say(self, data: Data, *texts: str) -> None:
        self.desk._submit([Action(data, blobs=tuple(text.encode() for text in texts))])

    def start(self, *sections: str, tools: str | None = None) -> None:
        parts = tuple(c.Section("system", named(text)) for text in sections)
        used = {"provider": "p", "model": "m", "context_window": 9, "output_reserve": 1, "sections": parts}
        data = c.ConversationStarted(
            conversation=self.talk, tools_sha256=named(tools) if tools is not None else None, **used
        )
        self.say(data, *sections, *([tools] if tools is not None else []))

    def message(self, name: str, text: str, *attached: c.Attachment, role: c.Role = "user", **more: Any) -> None:
        texts = [text, *more.pop("texts", ())]
        self.say(c.MessageAdded(self.talk, MessageId(name), role, named(text), attached, **more), *texts)

    def pin(self, name: str, text: str | None = None, **more: Any) -> None:
        kind = "text" if text is not None else "note"
        data = c.ContextPinned(
            conversation=self.talk, id=name, kind=kind, text_sha256=text and named(text), **more
        )
        self.say(data, *([text] if text is not None else []))

    def assembled(self, message: str, **read: str) -> None:
        """A prompt for which these artifacts were read; a fold brings all into the library."""
        artifacts = [{"kind": "note", "id": each, "revision": named(text)} for each, text in read.items()]
        inputs = json.dumps({"version": 1, "conversation": self.talk, "message": message, "artifacts": artifacts})
        manifest = json.dumps({"entries": [{"id": each} for each in read]})
        blocks = {each: f"<note_context>{text}</note_context>" for each, text in read.items()}
        for each, text in read.items():
            self.say(c.ArtifactRecorded(each, "note", named(text), len(text)), text)
        self.library += tuple(
            c.LibraryEntry(each, "note", named(text), named(blocks[each]), 9, MessageId(message))
            for each, text in read.items()
        )
        data = c.PromptAssembled(
            conversation=self.talk,
            message=MessageId(message),
            as_of_seq=1,
            estimate=900,
            inputs_sha256=named(inputs),
            manifest_sha256=named(manifest),
            combined_hash=HASH_1,
            layer_hashes=c.LayerHashes(*[HASH_1] * 5),
            prefix_tokens=5,
            seed_estimate=900,
            limit=9_000,
        )
        self.say(data, inputs, manifest)
        held = c.ContextFolded(conversation=self.talk, reason="each_turn", library=self.library)
        self.say(held, *blocks.values())

    def after(self, note: NoteId = MOVED) -> list[Event]:
        """The events of this conversation once the note is forgotten."""
        first = self.journal.log.tail.seq
        self.journal.writer.close()
        self.desk.forget(note)
        return [event for event in self.desk.events() if event.seq <= first]

    def folded(self, note: NoteId = MOVED) -> Conversation:
        return fold_all(self.after(note), EMPTY).conversations.by_id[self.talk]


@pytest.fixture
def talk(desk: Desk) -> Talk:
    return Talk(desk)


def prompts_of(events: list[Event]) -> list[c.PromptAssembled]:
    return [event.data for event in events if type(event.data) is c.PromptAssembled]


class TestAConversation:
    def fill(self, talk: Talk) -> None:
        """Everything that a conversation may tell of the note."""
        asks, knows, found, marked = (
            *('{"reference": "[[Falkennest-77]]"}', "The Falkennest-77, hm."),
            *("Deckname Zugvogel: x", "Flugroute, markiert"),
        )
        talk.start("Project Geheimplan-Falke", "Project Alltag", tools='["zugvogel_tool", "deckname zugvogel"]')
        talk.message("m1", FALCON, c.Attachment("note", MOVED, title="Deckname Zugvogel"))
        talk.assembled("m1", **{MOVED: "Flugroute im Text", OTHER: "Alltag im Text"})
        talk.message(
            *("m2", "Let me look."),
            role="assistant",
            tool_calls=(c.ToolCall("1", "get", named(asks)), c.ToolCall("2", "get", named("{}"))),
            thinking=(c.Thinking(named(knows), "sig"), c.Thinking(named("Hm."))),
            texts=[asks, "{}", knows, "Hm."],
        )
        results = (c.ToolResult("1", "get", named(found)), c.ToolResult("2", "get", named("[]")))
        talk.message("m3", "", tool_results=results, texts=[found, "[]"])
        selected = c.Attachment("selected_text", f"{MOVED}#L1-L2", named(marked))
        talk.message("m4", PLAIN, c.Attachment("note", OTHER), selected, texts=[marked])
        talk.pin("tone", "Speak of the Geheimplan-Falke")
        talk.pin("about", path=MOVED)
        talk.pin("lunch", "Speak of lunch")
        talk.assembled("m4", **{"third.md": "A third text"})
        told, again = "On Falkennest-77", "Flugroute neu"
        talk.say(c.SummarySet(conversation=TALK, text_sha256=named(told), up_to=MessageId("m1")), told)
        entry = c.LibraryEntry(MOVED, "note", named(again), named(f"<{again}>"), 9, MessageId("m1"))
        folded = c.ContextFolded(conversation=TALK, reason="asked", library=(entry,))
        talk.say(folded, again, f"<{again}>")

    def test_holds_no_trace_of_the_note_afterwards(self, talk: Talk) -> None:
        before = len(telling(talk.desk.files()))
        self.fill(talk)
        assert len(telling(talk.desk.files())) > before + 14
        events = talk.after()
        assert telling(talk.desk.files()) == []
        assert [event.seq for event in events] == list(range(1, len(events) + 1))

    def test_keeps_its_messages_in_their_places_with_what_does_not_tell(self, talk: Talk) -> None:
        self.fill(talk)
        left = talk.folded()
        assert list(left.messages) == ["m1", "m2", "m3", "m4"]
        first, second, third, fourth = left.messages.values()
        assert (first.text_sha256, first.attachments) == (None, ())
        assert (second.text_sha256, [each.id for each in second.tool_calls]) == (named("Let me look."), ["2"])
        assert [each.text_sha256 for each in second.thinking] == [named("Hm.")]
        assert [each.id for each in third.tool_results] == ["2"]
        assert (fourth.text_sha256, [each.id for each in fourth.attachments]) == (named(PLAIN), [OTHER])
        assert [each.text_sha256 for each in left.settings.sections] == [named("Project Alltag")]
        assert left.settings.tools_sha256 is None
        assert list(left.pins) == ["lunch"]
        assert left.summary is None
        assert left.library == ()  # as the last fold made it, without the note

    def test_has_prompts_that_cannot_be_made_again_from_there_on(self, talk: Talk) -> None:
        talk.start()
        talk.message("m0", PLAIN)
        talk.assembled("m0", **{OTHER: "Alltag im Text"})
        talk.message("m1", "What of this?", c.Attachment("note", MOVED))
        talk.assembled("m1", **{MOVED: "Flugroute im Text", "third.md": "A third text"})
        talk.message("m2", PLAIN)
        talk.assembled("m2")
        events = talk.after()
        before, with_it, later = prompts_of(events)
        assert FORGOTTEN not in (before.inputs_sha256, before.manifest_sha256, before.combined_hash)
        assert talk.desk.open().blobs.get(before.inputs_sha256) is not None
        for each in (with_it, later):
            hashes = {each.inputs_sha256, each.manifest_sha256, each.combined_hash}
            assert {*hashes, *msgspec.structs.astuple(each.layer_hashes)} == {FORGOTTEN}
            assert each.estimate == 900
        left = fold_all(events, EMPTY).conversations.by_id[TALK]
        assert [each.id for each in left.library] == [OTHER, "third.md"]

    def test_of_which_a_prompt_alone_tells_goes_on_as_it_was(self, talk: Talk) -> None:
        """As where a list of open notes was part of it, and nothing else."""
        talk.start()
        for name, opened in (("m1", "- Falkennest-77"), ("m2", "- other")):
            talk.message(name, PLAIN)
            inputs = json.dumps({"version": 1, "provided": [{"id": "workspace", "textSha256": named(opened)}]})
            talk.assembled(name)
            *_others, last = prompts_of(talk.journal.log.read(1, 9_999))
            data = msgspec.structs.replace(last, inputs_sha256=named(inputs))
            talk.say(data, inputs, opened)
        first, telling_one, second, other = prompts_of(talk.after())
        told = [each.inputs_sha256 == FORGOTTEN for each in (first, telling_one, second, other)]
        assert told == [False, True, False, False]
        assert telling(talk.desk.files()) == []

    def test_about_a_note_that_only_conversations_name_is_found(self, talk: Talk) -> None:
        path = NoteId("chat/Seeadler-Plan.md")
        talk.start()
        talk.message("m1", "What of Seeadler-Plan?", c.Attachment("note", path, title="Horst am See"))
        talk.assembled("m1", **{path: "Wegbeschreibung"})
        talk.message("m2", "The Horst am See is far.", role="assistant")
        left = talk.folded(path)
        assert [each.text_sha256 for each in left.messages.values()] == [None, None]
        words = ("seeadler", "horst am see", "wegbeschreibung")
        texts = [unpacked(data) + data for data in talk.desk.files().values()]
        assert not [text for text in texts if any(word.encode() in text.lower() for word in words)]

    def test_called_like_the_note_is_forgotten_whole(self, talk: Talk) -> None:
        talk.talk = ConversationId("About Falkennest-77")
        talk.start()
        talk.message("m1", PLAIN)
        talk.assembled("m1")
        events = talk.after()
        assert [event.type for event in events[-3:]] == ["record_forgotten"] * 3
        assert telling(talk.desk.files()) == []

    def test_about_others_stays_to_the_byte(self, talk: Talk) -> None:
        talk.start("Project Alltag", tools="[]")
        talk.message("m1", PLAIN, c.Attachment("note", OTHER))
        talk.assembled("m1", **{OTHER: "Alltag im Text"})
        talk.pin("lunch", "Speak of lunch")
        first = talk.journal.log.read(1, 9_999)
        start = next(event.seq for event in first if event.type == "conversation_started")
        blobs = {name: data for name, data in talk.desk.files().items() if name.startswith("blobs")}
        after = talk.after()
        assert after[start - 1 :] == first[start - 1 :]
        gone = blobs.keys() - talk.desk.files().keys()
        assert [name for name in gone if b"Flugroute" not in unpacked(blobs[name])] == []


HERE, THERE = OriginId("a" * 32), OriginId("b" * 32)
L, OTHER_PEER = LinkedVaultId("c" * 32), LinkedVaultId("d" * 32)
PEER_SECRET, KEPT = NoteId("secret.md"), NoteId("kept.md")


def vault(linked: LinkedVaultId) -> p.SharedVault:
    pins = (p.SharedPin(PEER_SECRET, 1, 1, 1), p.SharedPin(KEPT, 2, 2, 1))
    renames = (p.SharedRename(PEER_SECRET, KEPT),)
    return p.SharedVault(
        linked, p.SharedActive(PEER_SECRET, 1), pins=pins, tabs=(p.SharedTab(PEER_SECRET, 1),), renames=renames
    )


def log(*more: c.Data) -> list[c.Event]:
    members = (p.LinkMember(HERE, "Ann", "desk"), p.LinkMember(THERE, "Ann", "laptop"))
    changed = p.VaultDifference(
        L,
        p.SharedPresence(p.SharedActive(PEER_SECRET, 3)),
        pinned=(p.NewPin(0, PEER_SECRET, 3, 3),),
        order=(PEER_SECRET, KEPT),
    )
    data: tuple[c.Data, ...] = (
        c.VaultOpened(V, "v", "/v"),
        c.LinkChanged(HERE, members, ()),
        c.RemoteEventsApplied(THERE, p.Position(1, 1), 1, True, (vault(L), vault(OTHER_PEER))),
        c.LinkChanged(HERE, members, (p.VaultMapping(V, L),)),
        c.RemoteEventsApplied(THERE, p.Position(1, 2), 2, changed=(changed,)),
        *more,
        c.LinkChanged(),
    )
    return [event_of(seq, each, source="workspaced") for seq, each in enumerate(data, 1)]


def test_no_event_of_a_peer_names_it_any_more_and_its_other_vaults_stay() -> None:
    trail = Trail(V, PEER_SECRET)
    trail.feed(log())
    assert trail.mentioned
    eraser = NoteEraser(V, trail, lambda _event: False, ConversationEraser(lambda _part: False))
    left = [eraser(event) for event in log()]
    first, second = left[2].data, left[4].data
    assert [pin.note for pin in first.view[0].pins] == [KEPT] and first.view[1] == vault(OTHER_PEER)
    assert b"secret" not in encode_event(left[4]) and second.position == p.Position(1, 2)
    assert [event.seq for event in left] == [1, 2, 3, 4, 5, 6], "also what came before its vault was mapped"


def asks(n: int, note: NoteId, vault: LinkedVaultId = L, ask: int = 0) -> c.RemoteEventsApplied:
    forgetting = p.Forgetting((p.AskedName(name_hash(vault, note), ask),))
    return c.RemoteEventsApplied(
        THERE, p.Position(2, n), n, n == 3, changed=(p.VaultDifference(vault, forgetting=forgetting),)
    )


def asked(*more: c.Data) -> list[AskedNote]:
    found = AskedNotes()
    found(log(*more)[:-1])
    return found.found()


def test_what_a_peer_asks_to_forget_is_found_by_what_the_log_names_before() -> None:
    assert asked(asks(3, PEER_SECRET)) == [AskedNote(PEER_SECRET, V, "laptop")]
    assert asked(asks(3, NoteId("never.md"))) == []
    assert asked(asks(3, PEER_SECRET, OTHER_PEER)) == [AskedNote(PEER_SECRET, None, "laptop")]
    own = NoteId("own.md")
    assert asked(c.ActiveNoteSet(own), asks(3, own)) == [AskedNote(own, V, "laptop")]
    again = c.ActiveNoteSet(PEER_SECRET)
    assert asked(asks(3, PEER_SECRET), again, asks(4, PEER_SECRET)) == [AskedNote(PEER_SECRET, V, "laptop")]
    assert asked(asks(3, own), c.ActiveNoteSet(own), asks(4, own)) == []
    assert asked(asks(3, own), c.ActiveNoteSet(own), asks(4, own, ask=1)) == [AskedNote(own, V, "laptop")]


def test_a_log_that_has_forgotten_it_is_asked_no_more() -> None:
    events = log(asks(3, PEER_SECRET))[:-1]
    trail = Trail(V, PEER_SECRET)
    trail.feed(events)
    eraser = NoteEraser(V, trail, lambda _event: False, ConversationEraser(lambda _part: False))
    found = AskedNotes()
    found(map(eraser, events))
    assert [each.vault for each in found.found()] == []
