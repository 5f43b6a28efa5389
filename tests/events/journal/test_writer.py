"""The recorder: what becomes of actions, alone, in groups, sent again, on a refusing disk, from many threads."""

import errno
import threading
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import ROOT
from support.simulated_disk import SimDisk

from workspaced_events.clock import just_after
from workspaced_events.errors import (
    BatchTooLarge,
    Busy,
    Conflict,
    DiskFull,
    InvalidArgument,
    LogFailed,
    WorkspacedError,
)
from workspaced_events.ids import EventId, NoteId, TabId, VaultId
from workspaced_events.journal import writer as recorder_module
from workspaced_events.journal.actions import Action, Plan, Planned, parse_actions
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.journal.submissions import Outcome, Receipt
from workspaced_events.journal.writer import Committed
from workspaced_events.limits import (
    BATCH_BYTES_MAX,
    ID_WINDOW_EVENTS,
    LINE_BYTES_MAX,
    SELECTION_INLINE_CHARS_MAX,
    WAITING_BYTES_MAX,
    WAITING_CLIENT_BYTES_MAX,
)
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

EVERYTHING = 1 << 40


class Desk:
    """A journal on a simulated disk, with its vault open and a clock that tests set."""

    def __init__(self) -> None:
        self.disk = SimDisk()
        self.times: Iterator[str] = (f"2026-01-01T00:00:00.{n:06}Z" for n in range(1, 1_000_000))
        self.open()
        self.publish(Action(c.VaultOpened(VaultId("v"), "v", "/v")), source="daemon")

    def open(self) -> None:
        self.journal: Journal = open_journal(self.disk, version="t", clock=lambda: next(self.times))
        self.recorder, self.log = self.journal.writer, self.journal.log

    def submit(self, actions: Sequence[Action] | Plan, source: str = "ui", **options: Any) -> list[Outcome]:
        told: list[Outcome] = []
        self.recorder.submit(actions, source, told.append, **options)
        return told

    def commit(self) -> list[Event]:
        committed = self.recorder.commit()
        recorder_module.deliver_here(committed)
        return committed.events

    def publish(self, *actions: Action, source: str = "ui") -> Outcome:
        told = self.submit(actions, source)
        self.commit()
        [outcome] = told
        return outcome

    def receipts(self, *actions: Action) -> list[Receipt]:
        outcome = self.publish(*actions)
        assert isinstance(outcome, list), outcome
        return outcome

    def events(self) -> list[Event]:
        return self.log.read(1, EVERYTHING, EVERYTHING)

    def lines(self) -> int:
        return self.disk.read(f"log/{self.log.tail.segment}").count(b"\n")

    def refuse(self, code: int, operation: str, part: str) -> None:
        """From now on the disk refuses this operation on files with that part in their names, and no other."""
        self.disk.faults = lambda asked, name: OSError(code, "no") if asked == operation and part in name else None

    def check_state(self) -> None:
        folded = fold_all(self.events(), EMPTY)
        assert msgspec.json.encode(self.recorder.state) == msgspec.json.encode(folded)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def active(note: str, event_id: str | None = None, vault: str | None = None) -> Action:
    return Action(
        c.ActiveNoteSet(NoteId(note)), EventId(event_id) if event_id else None, VaultId(vault) if vault else None
    )


def pin(note: str, event_id: str | None = None) -> Action:
    return Action(c.NotePinned(NoteId(note)), EventId(event_id) if event_id else None)


class TestAnEvent:
    def test_gets_the_next_sequence_a_time_and_the_publishers_name(self, desk: Desk) -> None:
        desk.publish(active("a.md", "mine"), active("b.md"), source="editor")
        first, second = desk.events()[1:]
        assert (first.seq, second.seq) == (2, 3)
        assert first.id == "mine"
        assert first.source == second.source == "editor"
        assert first.vault == second.vault == "v"
        assert first.time == second.time == "2026-01-01T00:00:00.000003Z"

    def test_without_an_id_gets_a_uuid7_of_ours(self, desk: Desk) -> None:
        receipts = desk.receipts(*[active("a.md") for _ in range(50)])
        assert len({receipt.id for receipt in receipts}) == 50
        assert all(receipt.id[14] == "7" and len(receipt.id) == 36 for receipt in receipts)
        assert [event.id for event in desk.events()[1:]] == [receipt.id for receipt in receipts]

    @pytest.mark.fault(row=19)
    def test_never_has_an_earlier_time_than_the_one_before(self, desk: Desk) -> None:
        times = ["2026-02-01T00:00:00.000000Z", "2026-01-31T00:00:00.000000Z", "2027-02-01T00:00:00.000000Z"]
        desk.times = iter([*times, times[0]])
        for number in range(4):
            desk.publish(active(f"{number}.md"))
        found = [event.time for event in desk.events()[1:]]
        assert found == [times[0], just_after(times[0]), times[2], just_after(times[2])]

    def test_has_no_earlier_time_after_a_restart_unless_the_clock_was_set(self, desk: Desk) -> None:
        desk.times = iter([last := "2030-01-01T00:05:00.000000Z"])
        desk.publish(active("a.md"))
        desk.recorder.close()
        desk.times = iter([step_less := "2030-01-01T00:00:00.000000Z"] * 9)
        desk.open()
        desk.publish(active("b.md"))
        assert desk.events()[-1].time == just_after(last) > step_less
        desk.recorder.close()
        desk.times = iter([earlier := "2026-01-01T00:00:00.000000Z"] * 9)
        desk.open()
        desk.publish(active("c.md"))
        *_, step, event = desk.events()
        assert step.data == c.ClockStepped(just_after(just_after(last)), earlier)
        assert (step.time, step.source, event.time) == (earlier, "workspaced", earlier)
        desk.publish(active("d.md"))
        assert desk.events()[-1].time == just_after(earlier)
        desk.check_state()

    def test_of_an_action_in_the_batch_sees_those_before_it(self, desk: Desk) -> None:
        switch = Action(c.VaultSwitched(VaultId("w")))
        desk.publish(Action(c.VaultOpened(VaultId("w"), "w", "/w")), switch, active("a.md"))
        assert desk.events()[-1].vault == "w"


class TestAGroup:
    def test_is_one_line_and_one_sync_for_many_submissions(self, desk: Desk) -> None:
        lines = desk.lines()
        told = [desk.submit([active(f"{n}.md"), active(f"{n}-2.md")]) for n in range(50)]
        synced: list[str] = []
        desk.disk.faults = lambda operation, name: synced.append(name) if operation == "sync" else None
        assert len(desk.commit()) == 100
        assert desk.lines() == lines + 1
        assert [name for name in synced if name.endswith(".wlog")] == [f"log/{desk.log.tail.segment}"]
        assert [[receipt.seq for receipt in outcome] for [outcome] in told] == [
            [n, n + 1] for n in range(2, 102, 2)
        ]

    def test_does_not_suffer_from_one_that_is_refused(self, desk: Desk) -> None:
        good = desk.submit([pin("a.md")])
        bad = desk.submit([pin("b.md"), Action(c.PinnedNotesReordered((NoteId("c.md"),)))])
        after = desk.submit([Action(c.PinnedNotesReordered((NoteId("a.md"),)))])
        desk.commit()
        assert isinstance(bad[0], InvalidArgument)
        assert bad[0].details["index"] == 1
        assert [receipt.seq for [outcome] in (good, after) for receipt in outcome] == [2, 3]
        assert list(desk.recorder.state.of(VaultId("v")).pins) == ["a.md"]
        desk.check_state()

    @pytest.mark.fault(row=25)
    def test_stops_where_the_line_is_full_and_goes_on_with_the_next(self, desk: Desk) -> None:
        big = [Action(c.ActiveNoteSet(NoteId("a.md"), title="x" * 500)) for _ in range(500)]
        told = [desk.submit(big) for _ in range(7)]
        groups = []
        while desk.recorder.queued:
            groups.append(len(desk.commit()))
        assert sum(groups) == 3_500
        assert len(groups) > 1
        assert all(len(outcome) == 1 and isinstance(outcome[0], list) for outcome in told)
        longest = max(len(line) for line in desk.disk.read(f"log/{desk.log.tail.segment}").split(b"\n"))
        assert longest <= LINE_BYTES_MAX + 9

    def test_takes_a_batch_of_the_largest_size_and_refuses_a_larger_one(self, desk: Desk) -> None:
        def batch(title: int) -> list[Action]:
            return [Action(c.ActiveNoteSet(NoteId("a.md"), title="x" * title), EventId("i" * 128))] + [
                Action(c.ActiveNoteSet(NoteId("a.md"), title="é" * 512)) for _ in range(650)
            ]

        small = desk.submit(batch(1))
        desk.commit()
        assert isinstance(small[0], list)
        large = desk.submit(batch(1) * 2)
        desk.commit()
        assert isinstance(large[0], BatchTooLarge)
        assert str(BATCH_BYTES_MAX) in large[0].message
        desk.check_state()


class TestPermutations:
    @pytest.mark.parametrize(
        "order", [(), ("a.md",), ("a.md", "a.md"), ("a.md", "c.md"), ("a.md", "b.md", "b.md")]
    )
    def test_that_are_none_are_refused(self, desk: Desk, order: tuple[str, ...]) -> None:
        desk.publish(pin("a.md"), pin("b.md"))
        outcome = desk.publish(Action(c.PinnedNotesReordered(tuple(NoteId(each) for each in order))))
        assert isinstance(outcome, InvalidArgument)
        assert desk.log.tail.seq == 3

    def test_of_tabs_name_their_ids(self, desk: Desk) -> None:
        desk.publish(*[Action(c.TemporaryTabOpened(NoteId(f"{n}.md"), "search")) for n in range(2)])
        good = desk.publish(Action(c.TemporaryTabsReordered((TabId("tab-3"), TabId("tab-2")))))
        bad = desk.publish(Action(c.TemporaryTabsReordered((TabId("tab-3"), TabId("tab-9")))))
        assert isinstance(good, list)
        assert isinstance(bad, InvalidArgument)


@pytest.mark.fault(row=23)
@pytest.mark.fault(row=61)
class TestTheSameIdAgain:
    def test_within_one_group_is_one_event(self, desk: Desk) -> None:
        first, second = desk.submit([active("a.md", "x")]), desk.submit([active("a.md", "x")])
        desk.commit()
        assert first == [[Receipt(2, EventId("x"), False)]]
        assert second == [[Receipt(2, EventId("x"), True)]]

    def test_in_a_mixed_batch_is_reported_and_the_rest_is_appended(self, desk: Desk) -> None:
        desk.publish(active("a.md", "x"), active("b.md", "y"))
        receipts = desk.receipts(active("c.md", "z"), active("b.md", "y"), active("d.md", "w"))
        assert [(each.id, each.seq, each.duplicate) for each in receipts] == [
            ("z", 4, False),
            ("y", 3, True),
            ("w", 5, False),
        ]

    @pytest.mark.parametrize(
        "other", [active("b.md", "x"), pin("a.md", "x"), active("a.md", "x", "w")], ids=["data", "type", "vault"]
    )
    @pytest.mark.parametrize("where", ["batch", "group", "log", "restart"])
    def test_for_something_else_is_a_conflict(self, desk: Desk, other: Action, where: str) -> None:
        desk.publish(Action(c.VaultOpened(VaultId("w"), "w", "/w")))
        if where == "batch":
            outcome = desk.publish(active("a.md", "x"), other)
        elif where == "group":
            desk.submit([active("a.md", "x")])
            told = desk.submit([other])
            desk.commit()
            outcome = told[0]
        else:
            desk.publish(active("a.md", "x"))
            if where == "restart":
                desk.recorder.close()
                desk.open()
            outcome = desk.publish(other)
        assert isinstance(outcome, Conflict)
        assert outcome.details["seq"] == 3
        assert outcome.details["index"] == (1 if where == "batch" else 0)
        assert desk.log.tail.seq == (2 if where == "batch" else 3)

    def test_of_a_permutation_is_a_duplicate_though_it_is_none_any_more(self, desk: Desk) -> None:
        order = Action(c.PinnedNotesReordered((NoteId("a.md"),)), EventId("x"))
        desk.publish(pin("a.md"))
        desk.publish(order)
        desk.publish(pin("b.md"))
        [receipt] = desk.receipts(order)
        assert receipt.duplicate

    def test_of_the_daemons_own_event_is_a_conflict(self, desk: Desk) -> None:
        desk.publish(Action(c.DaemonStopped("x"), EventId("x")), source="daemon")
        assert isinstance(desk.publish(active("a.md", "x")), Conflict)

    def test_is_recognised_among_as_many_events_as_the_reference_says(self, desk: Desk) -> None:
        reference = (ROOT / "docs" / "reference" / "events.md").read_text()
        assert f"the latest {ID_WINDOW_EVENTS:,} events" in " ".join(reference.split())
        desk.publish(active("old.md", "too old"))
        desk.publish(active("first.md", "first"))
        left = ID_WINDOW_EVENTS - 1
        while left:
            desk.publish(*[active("a.md") for _ in range(min(left, 1_000))])
            left -= min(left, 1_000)
        assert desk.receipts(active("first.md", "first"))[0].duplicate
        desk.recorder.close()
        desk.open()
        assert desk.receipts(active("first.md", "first")) == [Receipt(3, EventId("first"), True)]


class TestPlans:
    def test_decide_by_the_state_they_meet(self, desk: Desk) -> None:
        met: list[tuple[int, int]] = []

        def plan(now: Planned) -> list[Action]:
            met.append((len(now.state.of(VaultId("v")).pins), now.seq))
            return [pin(f"{now.seq}.md")]

        told = [desk.submit(plan) for _ in range(3)]
        desk.commit()
        assert met == [(0, 1), (1, 2), (2, 3)]
        assert [outcome[0][0].seq for outcome in told] == [2, 3, 4]

    def test_that_raise_harm_nobody_else_nor_does_text_without_a_utf8_form(self, desk: Desk) -> None:
        def broken(_now: Planned) -> list[Action]:
            raise KeyError("a bug")

        def refusing(_now: Planned) -> list[Action]:
            raise InvalidArgument("no")

        no_utf8 = [pin("c.md"), Action(c.NotePinned(NoteId("d.md"), title="\ud800"))]
        told = [desk.submit(each) for each in ([pin("a.md")], broken, refusing, no_utf8, [pin("b.md")])]
        desk.commit()
        outcomes = [outcome for [outcome] in told]
        kinds = [list, WorkspacedError, InvalidArgument, WorkspacedError, list]
        assert [type(outcome) for outcome in outcomes] == kinds
        assert outcomes[1].code == "INTERNAL"
        assert list(desk.recorder.state.of(VaultId("v")).pins) == ["a.md", "b.md"]
        desk.check_state()


def selection(text: str) -> Action:
    raw = {"type": "selection_changed", "data": {"note": "a.md", "startLine": 1, "endLine": 2, "text": text}}
    [action] = parse_actions([raw], keep_text=lambda content: sha256(content).hexdigest())
    return action


TEXTS = ("x" * 5_000, "y" * 5_000, "z" * 5_000)
NO_ORDER = Action(c.PinnedNotesReordered((NoteId("no.md"),)))


class TestLongText:
    def test_is_kept_as_a_blob_before_the_event(self, desk: Desk) -> None:
        text = "é" * (SELECTION_INLINE_CHARS_MAX + 1)
        desk.publish(active("a.md"), selection(text))
        event = desk.events()[-1]
        assert event.data.text is None
        assert desk.journal.blobs.get(event.data.text_sha256) == text.encode()
        survivor = open_journal(desk.disk.crash(1), version="t")
        assert survivor.blobs.get(event.data.text_sha256) == text.encode()
        assert text[:100].encode() not in desk.disk.read(f"log/{desk.log.tail.segment}")

    @pytest.mark.parametrize(("code", "error"), [(errno.ENOSPC, "DISK_FULL"), (errno.EIO, "BLOB_FAILED")])
    def test_that_cannot_be_kept_refuses_the_batch_alone(self, desk: Desk, code: int, error: str) -> None:
        bad = desk.submit([selection("x" * 5_000)])
        good = desk.submit([active("b.md")])
        desk.refuse(code, "write", "blobs/")
        desk.commit()
        assert isinstance(bad[0], WorkspacedError)
        assert bad[0].code == error and bad[0].hint
        assert bad[0].details["file"].startswith("blobs/")
        assert desk.log.is_healthy
        assert isinstance(good[0], list)
        desk.disk.faults = lambda _operation, _name: None
        assert isinstance(desk.publish(selection("x" * 5_000)), list)


@pytest.mark.fault(row=61)
@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS], ids=["one", "packed"])
class TestBlobs:
    """One file, of one text or of several: what no event names is removed again."""

    def test_are_not_left_by_a_batch_that_is_refused_or_dropped(self, desk: Desk, texts: Sequence[str]) -> None:
        actions = [selection(text) for text in texts]
        told = [
            desk.submit([*actions, NO_ORDER], texts=texts_of(actions)),
            desk.submit(lambda _now: [], texts=texts_of(actions)),
        ]
        desk.commit()
        assert isinstance(told[0][0], InvalidArgument) and told[1] == [[]]
        assert blob_files(desk) == []

    def test_are_not_left_where_the_log_takes_no_more(self, desk: Desk, texts: Sequence[str]) -> None:
        actions = [selection(text) for text in texts]
        desk.refuse(errno.ENOSPC, "write", ".wlog")
        told = [desk.submit(actions, texts=texts_of(actions)) for _ in range(2)]
        desk.commit()
        assert {type(outcome) for [outcome] in told} == {DiskFull}
        assert blob_files(desk) == []

    def test_stay_where_another_batch_names_them(self, desk: Desk, texts: Sequence[str]) -> None:
        actions = [selection(text) for text in texts]
        for _ in range(2):
            for given in ([*actions, NO_ORDER], actions, [*actions, NO_ORDER]):
                desk.submit(given, texts=texts_of(actions))
            desk.commit()
            desk.refuse(errno.ENOSPC, "write", ".wlog")
        assert [desk.journal.blobs.get(sha256(text).hexdigest()) for text in texts_of(actions)] == texts_of(
            actions
        )
        assert len(blob_files(desk)) == 1

    def test_stay_where_the_batch_may_yet_be_in_the_log_and_are_not_written_afterwards(
        self, desk: Desk, texts: Sequence[str]
    ) -> None:
        desk.refuse(errno.EIO, "sync", ".wlog")
        told: list[list[Outcome]] = []
        for actions in ([selection(text) for text in texts], [selection(text[:4_500]) for text in texts]):
            told.append(desk.submit(actions, texts=texts_of(actions)))
            desk.commit()
        assert isinstance(told[0][0], LogFailed) and len(blob_files(desk)) == 1


@pytest.mark.fault(row=61)
class TestPackedTexts:
    """The texts of a large batch are one file, which is written before the writer takes the batch."""

    def test_are_in_one_file_before_the_events(self, desk: Desk) -> None:
        actions = [selection(text) for text in TEXTS]
        told = desk.submit(actions, texts=texts_of(actions), client="ui")
        desk.commit()
        assert isinstance(told[0], list)
        assert blob_files(desk) == ["packs/00000000000000000001.wpack"]
        survivor = open_journal(desk.disk.crash(1), version="t")
        named = [event.data.text_sha256 for event in desk.events() if event.type == "selection_changed"]
        assert [survivor.blobs.get(name) for name in named] == [text.encode() for text in TEXTS]

    def test_are_files_of_their_own_where_they_cannot_be_packed(self, desk: Desk) -> None:
        actions = [selection(text) for text in TEXTS]
        desk.disk.faults = lambda _operation, name: OSError(errno.EACCES, "no") if "packs" in name else None
        told = desk.submit(actions, texts=texts_of(actions))
        desk.commit()
        assert isinstance(told[0], list) and len(blob_files(desk)) == 3

    def test_do_not_keep_other_publishers_waiting_and_nobody_overtakes_himself(self, desk: Desk) -> None:
        packing, go_on = threading.Event(), threading.Event()

        def wait(operation: str, name: str) -> None:
            if operation == "sync" and "packs" in name:
                packing.set()
                assert go_on.wait(60)

        desk.disk.faults = wait
        told: dict[str, Outcome] = {}
        done = {name: threading.Event() for name in ("large", "behind it", "of the daemon", "of another")}

        def submit(name: str, client: str | None, *actions: Action, texts: Sequence[bytes] = ()) -> None:
            def taken(outcome: Outcome) -> None:
                told[name] = outcome
                done[name].set()

            desk.recorder.submit(actions, "ui", taken, client=client, texts=texts)

        desk.recorder.start()
        large = [selection(text) for text in TEXTS]
        submit("large", "one", *large, texts=texts_of(large))
        assert packing.wait(60)
        submit("behind it", "one", active("b.md"))
        submit("of the daemon", None, active("c.md"))
        submit("of another", "another", active("d.md"))
        assert done["of another"].wait(60)
        assert list(told) == ["of another"] and desk.recorder.queued == 3
        go_on.set()
        assert all(each.wait(60) for each in done.values())
        assert list(told) == ["of another", "large", "behind it", "of the daemon"]
        assert desk.recorder.queued == 0
        desk.recorder.close()
        assert [event.type for event in desk.events()][1:] == [
            "active_note_set",
            *["selection_changed"] * 3,
            *["active_note_set"] * 2,
        ]

    def test_what_waits_to_be_packed_is_written_at_the_end(self, desk: Desk) -> None:
        actions = [selection(text) for text in TEXTS]
        told = desk.submit(actions, texts=texts_of(actions))
        desk.recorder.close()
        assert isinstance(told[0], list) and len(told[0]) == 3


def texts_of(actions: Sequence[Action]) -> list[bytes]:
    return [text for action in actions for text in action.blobs]


def blob_files(desk: Desk) -> list[str]:
    return [
        f"{directory}/{name}"
        for directory in desk.disk.names("blobs")
        for name in desk.disk.names(f"blobs/{directory}")
    ]


class TestAFailedSync:
    def test_poisons_everybody_and_retries_of_what_is_safe_are_answered(self, desk: Desk) -> None:
        desk.publish(pin("a.md", "x"))
        desk.refuse(errno.EIO, "sync", ".wlog")
        told = [desk.submit([pin("b.md", "y")]) for _ in range(2)]
        assert desk.commit() == [] and all(isinstance(outcome, LogFailed) for [outcome] in told)
        assert desk.receipts(pin("a.md", "x"))[0].duplicate
        assert isinstance(desk.publish(pin("b.md", "y")), LogFailed)
        desk.check_state()


class TestTheQueue:
    def test_says_busy_when_it_is_full(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recorder_module, "QUEUE_BATCHES_MAX", 3)
        told = [desk.submit([pin(f"{n}.md")]) for n in range(3)]
        with pytest.raises(Busy) as caught:
            desk.submit([pin("x.md")])
        assert caught.value.code == "BUSY"
        assert caught.value.details["retry_after_ms"] > 0
        desk.commit()
        assert all(isinstance(outcome, list) for [outcome] in told)
        desk.submit([pin("x.md")])
        assert len(desk.commit()) == 1

    @pytest.mark.fault(row=54)
    def test_holds_so_many_bytes_of_one_client_and_of_all(self, desk: Desk) -> None:
        share = WAITING_CLIENT_BYTES_MAX // 2
        for client in range(WAITING_BYTES_MAX // WAITING_CLIENT_BYTES_MAX):
            for _ in range(2):
                desk.submit([pin("a.md")], client=client, size_bytes=share)
            with pytest.raises(Busy, match="of this client"):
                desk.submit([pin("a.md")], client=client, size_bytes=1)
        with pytest.raises(Busy, match="bytes wait") as caught:
            desk.submit([pin("a.md")], client="another", size_bytes=1)
        assert caught.value.details["retry_after_ms"] > 0
        own = desk.submit([pin("b.md")])
        desk.commit()
        assert isinstance(own[0], list), "the daemon's own records do not wait for clients"
        assert desk.recorder.queued_bytes == 0

    def test_counts_no_more_what_was_refused_or_failed_to_be_written(self, desk: Desk) -> None:
        told = desk.submit(lambda now: [now.no_such_thing], client="c", size_bytes=1_000)
        desk.commit()
        assert isinstance(told[0], WorkspacedError)
        desk.disk.free_bytes = 10
        told = desk.submit([pin("a.md")], client="c", size_bytes=1_000)
        desk.commit()
        assert isinstance(told[0], DiskFull)
        assert desk.recorder.queued_bytes == 0

    def test_takes_a_batch_larger_than_a_share_if_nothing_else_waits(self, desk: Desk) -> None:
        told = desk.submit([pin("a.md")], client="c", size_bytes=2 * WAITING_BYTES_MAX)
        desk.commit()
        assert isinstance(told[0], list)

    def test_is_written_out_at_closing_and_then_refuses(self, desk: Desk) -> None:
        told = desk.submit([pin("a.md")])
        buffered = desk.submit([pin("b.md")], buffered=True)
        desk.recorder.close()
        assert isinstance(told[0], list)
        assert isinstance(buffered[0], list)
        with pytest.raises(Busy):
            desk.submit([pin("c.md")])


class Daemon:
    """A journal on the real disk with its writer thread."""

    def __init__(self, path: Path, deliver: Callable[[Committed], None] | None = None) -> None:
        self.journal = open_journal(RealDisk(path), version="t", deliver=deliver, segment_bytes_max=60_000)
        self.recorder = self.journal.writer
        self.recorder.start()

    def publish(self, *actions: Action, buffered: bool = False) -> Outcome:
        answered, told = threading.Event(), []

        def done(outcome: Outcome) -> None:
            told.append(outcome)
            answered.set()

        self.recorder.submit(actions, "ui", done, buffered=buffered)
        assert answered.wait(60)
        [outcome] = told
        return outcome


class TestTheWriterThread:
    def test_gives_every_publisher_a_receipt_of_its_own_that_can_be_read(self, tmp_path: Path) -> None:
        daemon = Daemon(tmp_path)
        daemon.publish(Action(c.VaultOpened(VaultId("v"), "v", "/v")))
        receipts: list[tuple[Receipt, str]] = []

        def client(number: int) -> None:
            for turn in range(60):
                note = f"{number}-{turn}.md"
                outcome = daemon.publish(pin(note), active(note, f"{number}/{turn}"))
                assert isinstance(outcome, list), outcome
                last = outcome[-1]
                [event] = daemon.journal.log.read(last.seq, 1)
                assert (event.id, event.data.note) == (last.id, note)
                assert daemon.recorder.state.seq >= last.seq
                receipts.extend((receipt, note) for receipt in outcome)

        threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        daemon.recorder.close()
        assert sorted(receipt.seq for receipt, _ in receipts) == list(range(2, 962))
        assert len({receipt.id for receipt, _ in receipts}) == 960
        again = open_journal(RealDisk(tmp_path), version="t")
        events = again.log.read(1, EVERYTHING, EVERYTHING)
        assert {(event.seq, event.id, event.data.note) for event in events[1:]} == {
            (receipt.seq, receipt.id, note) for receipt, note in receipts
        }
        assert msgspec.json.encode(daemon.recorder.state) == msgspec.json.encode(fold_all(events, EMPTY))
        assert again.recovered is None
        again.writer.close()

    def test_lets_buffered_batches_wait_for_company(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recorder_module, "BUFFERED_DELAY_S", 60.0)
        groups: list[int] = []

        def deliver(committed: Committed) -> None:
            groups.append(len(committed.outcomes))
            recorder_module.deliver_here(committed)

        daemon = Daemon(tmp_path, deliver)
        told: list[Outcome] = []
        for _ in range(5):
            daemon.recorder.submit([Action(c.DaemonStopped("x"))], "daemon", told.append, buffered=True)
        assert told == []
        assert isinstance(daemon.publish(Action(c.DaemonStopped("now"))), list)
        assert len(told) == 5
        assert sum(groups) == 6
        assert len(groups) <= 2
        daemon.recorder.close()

    def test_writes_buffered_batches_alone_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recorder_module, "BUFFERED_DELAY_S", 0.01)
        daemon = Daemon(tmp_path)
        assert isinstance(daemon.publish(Action(c.DaemonStopped("x")), buffered=True), list)
        daemon.recorder.close()
