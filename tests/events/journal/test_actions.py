"""Actions: what is taken from a publisher, what is refused and why, before and at the moment of appending."""

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_log import EVERY
from support.profiles import examples
from support.random_log import event_of

from workspaced_events.errors import ActionError, BatchTooLarge, InvalidArgument, OutsideVault, WorkspacedError
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, admit, parse_actions
from workspaced_events.limits import (
    BATCH_ACTIONS_MAX,
    ID_CHARS_MAX,
    NOTES_PER_ACTION_MAX,
    SELECTION_CHARS_MAX,
    SELECTION_INLINE_CHARS_MAX,
    TITLE_CHARS_MAX,
)
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE
from workspaced_events.schema.codec import decode_batch, encode_batch


def parse(*raw: Any) -> list[Action]:
    return parse_actions(raw, keep_text=lambda text: sha256(text).hexdigest())


def parse_one(type_: str, data: dict[str, Any], **envelope: Any) -> Action:
    [action] = parse({"type": type_, "data": data, **envelope})
    return action


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_type_is_published_by_whom_its_row_says(name: str) -> None:
    data = EVERY[name].data
    raw = {"type": name, "data": msgspec.to_builtins(data)}
    if CATALOGUE[name].by_ui:
        assert [each.data for each in parse(raw)] == [data]
        return
    with pytest.raises(ActionError) as caught:
        parse(raw)
    assert caught.value.code == "NOT_ALLOWED"


class TestAnEnvelope:
    def test_carries_id_and_vault_or_neither_and_may_leave_out_empty_data(self) -> None:
        assert parse_one("note_pinned", {"note": "a.md"}) == Action(c.NotePinned(NoteId("a.md")))
        action = parse_one("note_pinned", {"note": "a.md"}, id="x", vault="v")
        assert (action.id, action.vault) == (EventId("x"), VaultId("v"))
        assert parse({"type": "active_note_cleared"}) == [Action(c.ActiveNoteCleared())]

    @pytest.mark.parametrize(
        "raw",
        [
            None,
            [],
            {},
            {"type": None, "data": {}},
            {"type": "note_pinned", "data": None},
            {"type": "note_pinned", "data": {}},
            {"type": "note_pinned", "data": {"note": None}},
            {"type": "note_pinned", "data": {"note": "a.md"}, "id": ""},
            {"type": "note_pinned", "data": {"note": "a.md"}, "id": "x" * (ID_CHARS_MAX + 1)},
            {"type": "note_pinned", "data": {"note": "a.md"}, "vault": "x" * (ID_CHARS_MAX + 1)},
            {"type": "note_pinned", "data": {"note": "a.md"}, "seq": 5},
            {"type": "note_pinned", "data": {"note": "a.md"}, "source": "somebody else"},
        ],
    )
    def test_of_another_shape_is_refused(self, raw: Any) -> None:
        with pytest.raises(InvalidArgument) as caught:
            parse(raw)
        assert caught.value.details["index"] == 0

    @pytest.mark.parametrize("name", ["", "note_starred", "NotePinned", "note-pinned", "x" * 100_000])
    def test_of_an_unknown_type_is_refused_without_an_endless_echo(self, name: str) -> None:
        with pytest.raises(ActionError) as caught:
            parse({"type": name, "data": {}})
        assert caught.value.code == "UNKNOWN_ACTION"
        assert len(str(caught.value)) < 500


class TestABatch:
    def test_of_none_or_too_many_is_refused(self) -> None:
        with pytest.raises(InvalidArgument):
            parse()
        most = [{"type": "active_note_cleared"}] * BATCH_ACTIONS_MAX
        assert len(parse(*most)) == BATCH_ACTIONS_MAX
        with pytest.raises(BatchTooLarge):
            parse(*most, most[0])

    @pytest.mark.parametrize("index", [0, 1, 2])
    def test_names_the_action_that_is_wrong(self, index: int) -> None:
        raw: list[Any] = [{"type": "active_note_cleared"}] * 3
        raw[index] = {"type": "nonsense"}
        with pytest.raises(ActionError) as caught:
            parse(*raw)
        assert caught.value.details["index"] == index


class TestData:
    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("note_pinned", {"note": "a.md", "index": -1}),
            ("note_pinned", {"note": "a.md", "index": 1.5}),
            ("note_pinned", {"note": "a.md", "title": "x" * (TITLE_CHARS_MAX + 1)}),
            ("note_pinned", {"note": "a.md", "Index": 1}),
            ("note_pinned", {"note": "a.md", "x" * 10_000: 1}),
            ("active_note_cleared", {"note": "a.md"}),
            ("temporary_tab_opened", {"note": "a.md"}),
            ("temporary_tab_opened", {"note": "a.md", "source": "elsewhere"}),
            ("temporary_tab_closed", {}),
            ("temporary_tab_closed", {"note": "a.md", "tabId": "tab-1"}),
            ("selection_changed", {"note": "a.md", "startLine": 0, "endLine": 1}),
            ("selection_changed", {"note": "a.md", "startLine": 3, "endLine": 2}),
            ("selection_changed", {"note": "a.md", "startLine": 1, "endLine": 2, "textSha256": "0" * 64}),
            (
                "selection_changed",
                {"note": "a.md", "startLine": 1, "endLine": 2, "text": "x" * (SELECTION_CHARS_MAX + 1)},
            ),
            ("pinned_notes_reordered", {"notes": ["a.md"] * (NOTES_PER_ACTION_MAX + 1)}),
            ("pinned_notes_reordered", {"notes": "a.md"}),
            ("note_renamed", {"from_": "a.md", "to": "b.md"}),
        ],
    )
    def test_that_does_not_fit_is_refused_shortly(self, name: str, data: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument) as caught:
            parse_one(name, data)
        assert len(str(caught.value)) < 1_000

    @pytest.mark.parametrize("path", ["../a.md", "/a.md", "x/../../a.md", "a\0.md"])
    @pytest.mark.parametrize(
        ("name", "field", "rest"),
        [
            ("active_note_set", "note", {}),
            ("note_renamed", "from", {"to": "b.md"}),
            ("note_renamed", "to", {"from": "b.md"}),
            ("pinned_notes_reordered", "notes", {}),
            ("temporary_tab_closed", "note", {}),
        ],
    )
    def test_of_a_path_out_is_refused(self, name: str, field: str, rest: dict[str, Any], path: str) -> None:
        with pytest.raises(OutsideVault):
            parse_one(name, {field: ["b.md", path] if field == "notes" else path, **rest})

    def test_gets_its_paths_composed_and_no_active_note_becomes_cleared(self) -> None:
        assert parse_one("note_pinned", {"note": "cafe\u0301.md"}).data == c.NotePinned(NoteId("caf\u00e9.md"))
        reordered = parse_one("pinned_notes_reordered", {"notes": ["cafe\u0301.md", "b.md"]})
        assert reordered.data == c.PinnedNotesReordered((NoteId("caf\u00e9.md"), NoteId("b.md")))
        assert parse_one("active_note_set", {"note": None}).data == c.ActiveNoteCleared()

    @pytest.mark.parametrize("size", [0, 1, SELECTION_INLINE_CHARS_MAX])
    def test_keeps_a_short_selection_inline(self, size: int) -> None:
        action = parse_one("selection_changed", {"note": "a.md", "startLine": 1, "endLine": 1, "text": "é" * size})
        assert (action.data.text, action.data.text_sha256, action.blobs) == ("é" * size, None, ())

    @pytest.mark.parametrize("size", [SELECTION_INLINE_CHARS_MAX + 1, SELECTION_CHARS_MAX])
    def test_names_a_long_selection_by_its_sha256(self, size: int) -> None:
        text = "é" * size
        action = parse_one("selection_changed", {"note": "a.md", "startLine": 1, "endLine": 1, "text": text})
        assert action.blobs == (text.encode(),)
        assert (action.data.text, action.data.text_sha256) == (None, sha256(text.encode()).hexdigest())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted({field for entry in CATALOGUE.values() for field in entry.fields})


@given(
    st.sampled_from(sorted(CATALOGUE)),
    st.dictionaries(st.sampled_from(FIELDS), JSON | st.sampled_from(["a.md", "search", ["a.md"], 1]), max_size=4),
)
@settings(max_examples=examples(200))
def test_whatever_is_sent_is_refused_or_read_back(name: str, data: dict[str, Any]) -> None:
    try:
        [action] = parse({"type": name, "data": data})
    except WorkspacedError:
        return
    event = event_of(1, action.data)
    payload = encode_batch([event])
    assert b"\n" not in payload
    assert decode_batch(payload) == [event]


def state_of(*data: c.Data) -> WorkspaceState:
    vaults = [getattr(each, "vault_id", VaultId("v")) for each in data]
    return fold_all(map(event_of, range(1, len(data) + 1), data, vaults), EMPTY)


V, W = (c.VaultOpened(VaultId(each), each, f"/{each}") for each in "vw")
PIN = c.NotePinned(NoteId("a.md"))


class TestAdmission:
    def test_gives_the_vault_named_or_else_the_current_one(self) -> None:
        state = state_of(V, W)
        assert admit(state, Action(PIN)) == "v"
        assert admit(state, Action(PIN, vault=VaultId("w"))) == "w"
        assert admit(state_of(V, W, c.VaultSwitched(VaultId("w"))), Action(PIN)) == "w"

    @pytest.mark.parametrize(
        ("state", "vault"),
        [
            (EMPTY, None),
            (EMPTY, "v"),
            (state_of(V), "w"),
            (state_of(V), ""),
            (state_of(V, c.VaultClosed(VaultId("v"))), None),
            (state_of(V, c.VaultClosed(VaultId("v"))), "v"),
        ],
    )
    def test_needs_an_open_vault(self, state: WorkspaceState, vault: str | None) -> None:
        with pytest.raises(InvalidArgument) as caught:
            admit(state, Action(PIN, vault=VaultId(vault) if vault is not None else None))
        assert caught.value.hint

    @pytest.mark.parametrize("data", [c.VaultSwitched(VaultId("w")), c.VaultClosed(VaultId("w"))])
    def test_of_a_switch_or_close_needs_that_vault_open(self, data: c.Data) -> None:
        assert admit(state_of(V, W), Action(data)) == "w"
        for state in (EMPTY, state_of(V), state_of(V, W, c.VaultClosed(VaultId("w")))):
            with pytest.raises(InvalidArgument):
                admit(state, Action(data))

    def test_of_the_daemons_own_needs_no_vault(self) -> None:
        assert admit(EMPTY, Action(c.DaemonStopped("x"))) is None
        assert admit(state_of(V), Action(c.DaemonStopped("x"))) == "v"
        assert admit(EMPTY, Action(V)) == "v"
