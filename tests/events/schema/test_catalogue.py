"""The catalogue on the wire: names and keys, what is refused, and the form of a note's path."""

import functools
import json
import operator
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_log import EVERY, EXPORT
from support.profiles import examples

from workspaced_events.errors import ActionError, InvalidArgument, OutsideVault
from workspaced_events.ids import COMPONENT_BYTES_MAX, EventId, NoteId, VaultId, is_markdown, note_id
from workspaced_events.limits import (
    NOTE_ID_CHARS_MAX,
    NOTES_PER_ACTION_MAX,
    SELECTION_CHARS_MAX,
    TITLE_CHARS_MAX,
)
from workspaced_events.schema.catalogue import (
    CATALOGUE,
    ENTRY_OF,
    Data,
    NoteRenamed,
    UnknownEvent,
)

SHA256 = "0123456789abcdef" * 4
NOTES = VaultId("notes")
TIME = "2026-03-01T12:00:00.000000Z"

TALK = {"conversation": "chat-1"}
MESSAGE = {
    **TALK,
    "message": "m1",
    "role": "user",
    "textSha256": SHA256,
    "attachments": [
        {"kind": "note", "id": "a.md", "title": "A"},
        {"kind": "selected_text", "id": "a.md#L1-L2", "textSha256": SHA256},
        {"kind": "folder", "id": "work"},
    ],
    "toolCalls": [{"id": "call-1", "name": "get_note", "argumentsSha256": SHA256}],
    "toolResults": [
        {
            "id": "call-1",
            "name": "get_note",
            "textSha256": SHA256,
            "isError": True,
            "images": [{"sha256": SHA256, "mediaType": "image/png"}],
        }
    ],
    "thinking": [{"textSha256": SHA256, "signature": "c2ln"}, {"textSha256": SHA256}],
    "cache": "5m",
}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((line["type"], line["data"]) for line in map(json.loads, EXPORT.read_text().splitlines()[1:])),
    ("active_note_set", {"note": None}),
    ("pinned_notes_reordered", {"notes": []}),
    ("temporary_tabs_expired", {"tabIds": []}),
    ("message_replaced", MESSAGE),
]


@functools.cache
def any_event() -> Any:
    """The union of all events: what one decoder of log lines is made of."""
    return functools.reduce(operator.or_, (entry.event for entry in CATALOGUE.values()))


def event_with(name: str, data: Data, *, seq: int = 7, vault: VaultId | None = NOTES) -> Any:
    return CATALOGUE[name].event(seq, EventId("id-7"), TIME, "editor", vault, data)


def data_of(name: str, wire: dict[str, Any]) -> Data:
    return msgspec.json.decode(msgspec.json.encode(wire), type=CATALOGUE[name].data)


# -- names, keys --


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_entry_knows_its_name_its_data_and_the_keys_on_the_wire(name: str) -> None:
    entry = CATALOGUE[name]
    assert entry.name == name
    assert ENTRY_OF[entry.data] is entry
    assert msgspec.to_builtins(EVERY[name].data).keys() <= entry.fields
    assert all(key == key.strip("_") and "_" not in key for key in entry.fields)


def test_every_data_struct_is_registered_once() -> None:
    assert len(ENTRY_OF) == len(CATALOGUE) == len({entry.event for entry in CATALOGUE.values()})


# -- there and back --


@pytest.mark.parametrize(("name", "wire"), VARIANTS)
def test_data_round_trips_as_json(name: str, wire: dict[str, Any]) -> None:
    data = data_of(name, wire)
    encoded = msgspec.json.encode(data)
    assert msgspec.json.decode(encoded) == wire
    assert msgspec.json.decode(encoded, type=CATALOGUE[name].data) == data


@pytest.mark.parametrize(("name", "wire"), VARIANTS)
def test_an_event_round_trips_through_its_own_type_and_the_union(name: str, wire: dict[str, Any]) -> None:
    event = event_with(name, data_of(name, wire))
    encoded = msgspec.json.encode(event)
    for decoded in (
        msgspec.json.decode(encoded, type=CATALOGUE[name].event),
        msgspec.json.decode(encoded, type=any_event()),
    ):
        assert decoded == event
        assert type(decoded) is CATALOGUE[name].event
        assert msgspec.json.encode(decoded) == encoded


@pytest.mark.parametrize(("name", "wire"), VARIANTS)
def test_an_event_on_the_wire_is_its_action_and_five_keys_more(name: str, wire: dict[str, Any]) -> None:
    event = event_with(name, data_of(name, wire))
    assert event.type == name
    assert msgspec.json.decode(msgspec.json.encode(event)) == {
        "type": name,
        "seq": 7,
        "id": "id-7",
        "time": TIME,
        "source": "editor",
        "vault": "notes",
        "data": wire,
    }


@pytest.mark.parametrize("vault", [None, NOTES])
def test_an_event_always_says_its_vault_even_if_it_has_none(vault: VaultId | None) -> None:
    event = event_with("daemon_stopped", data_of("daemon_stopped", {"reason": "SIGTERM"}), vault=vault)
    assert msgspec.json.decode(msgspec.json.encode(event))["vault"] == vault
    assert msgspec.json.decode(msgspec.json.encode(event), type=any_event()) == event


@pytest.mark.parametrize("key", ["seq", "id", "time", "source", "vault", "data", "type"])
def test_an_event_lacking_a_key_is_refused(key: str) -> None:
    wire = msgspec.to_builtins(event_with("note_pinned", data_of("note_pinned", {"note": "a.md"})))
    del wire[key]
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(wire), type=any_event())


def test_an_unknown_type_is_refused_by_the_union_so_that_it_can_be_kept_as_unknown() -> None:
    wire = msgspec.to_builtins(event_with("note_pinned", data_of("note_pinned", {"note": "a.md"})))
    encoded = msgspec.json.encode({**wire, "type": "note_starred"})
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(encoded, type=any_event())
    kept = msgspec.json.decode(encoded, type=UnknownEvent)
    assert (kept.type, kept.seq, bytes(kept.data)) == ("note_starred", 7, b'{"note":"a.md"}')


def test_an_unknown_event_encodes_to_what_it_was_read_from() -> None:
    wire = {"type": "note_starred", "seq": 7, "id": "id-7", "time": TIME, "source": "editor", "vault": None}
    encoded = msgspec.json.encode({**wire, "data": {"stars": [1, {"b": 2, "a": 1}]}})
    kept = msgspec.json.decode(encoded, type=UnknownEvent)
    assert msgspec.json.decode(msgspec.json.encode(kept)) == msgspec.json.decode(encoded)


def test_a_renames_source_is_called_from_on_the_wire() -> None:
    data = NoteRenamed(from_=NoteId("a.md"), to=NoteId("b.md"))
    assert msgspec.json.decode(msgspec.json.encode(data)) == {"from": "a.md", "to": "b.md"}
    assert CATALOGUE["note_renamed"].fields == {"from", "to"}
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"from_": "a.md", "to": "b.md"}', type=NoteRenamed)


def test_data_of_a_newer_version_with_an_optional_field_more_still_reads() -> None:
    data = msgspec.json.decode(b'{"note": "a.md", "colour": "red"}', type=CATALOGUE["note_pinned"].data)
    assert data == data_of("note_pinned", {"note": "a.md"})


def test_data_and_events_are_frozen() -> None:
    data: Any = data_of("note_pinned", {"note": "a.md"})
    with pytest.raises(AttributeError):
        data.note = "b.md"
    with pytest.raises(AttributeError):
        event_with("note_pinned", data).seq = 8


@settings(max_examples=examples(150))
@given(
    st.sampled_from(VARIANTS),
    st.integers(0, 2**53),
    st.text(max_size=20).map(VaultId) | st.none(),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=30),
)
def test_every_event_reads_back_whatever_text_it_carries(
    variant: tuple[str, dict[str, Any]], seq: int, vault: VaultId | None, text: str
) -> None:
    name, wire = variant
    wire = {
        key: text if key in ("note", "from", "to", "name", "title", "text") else held for key, held in wire.items()
    }
    event = event_with(name, data_of(name, wire), seq=seq, vault=vault)
    assert msgspec.json.decode(msgspec.json.encode(event), type=any_event()) == event


# -- data that is refused --

REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("active_note_set", {}),
    ("active_note_set", {"note": 1}),
    ("active_note_set", {"note": {"path": "a.md"}}),
    ("active_note_set", {"note": "a.md", "title": "x" * (TITLE_CHARS_MAX + 1)}),
    ("vault_opened", {"vaultId": "notes", "name": "Notes"}),
    ("vault_opened", {"vault_id": "notes", "name": "Notes", "path": "/notes"}),
    ("vault_switched", {}),
    ("vault_switched", {"vaultId": None}),
    ("note_pinned", {"note": None}),
    ("note_pinned", {"note": "a.md", "index": -1}),
    ("note_pinned", {"note": "a.md", "index": 0.5}),
    ("note_pinned", {"note": "a.md", "index": "0"}),
    ("note_pinned", {"note": "a.md", "index": True}),
    ("pinned_notes_reordered", {"notes": "a.md"}),
    ("pinned_notes_reordered", {"notes": ["a.md", None]}),
    ("pinned_notes_reordered", {"notes": ["a.md"] * (NOTES_PER_ACTION_MAX + 1)}),
    ("temporary_tab_opened", {"note": "a.md"}),
    ("temporary_tab_opened", {"note": "a.md", "source": "Search"}),
    ("temporary_tab_opened", {"note": "a.md", "source": "bookmark"}),
    ("temporary_tab_opened", {"note": "a.md", "source": None}),
    ("temporary_tab_closed", {}),
    ("temporary_tab_closed", {"tabId": None, "note": None}),
    ("temporary_tab_closed", {"tabId": "tab-1", "note": "a.md"}),
    ("temporary_tabs_reordered", {"tabIds": ["tab-1"] * (NOTES_PER_ACTION_MAX + 1)}),
    ("temporary_tabs_expired", {"tabIds": [1]}),
    ("selection_changed", {"note": "a.md", "startLine": 0, "endLine": 1}),
    ("selection_changed", {"note": "a.md", "startLine": 5, "endLine": 4}),
    ("selection_changed", {"note": "a.md", "startLine": 1}),
    ("selection_changed", {"note": "a.md", "start_line": 1, "end_line": 2}),
    ("selection_changed", {"note": "a.md", "startLine": 1, "endLine": 1, "text": "x" * (SELECTION_CHARS_MAX + 1)}),
    ("selection_changed", {"note": "a.md", "startLine": 1, "endLine": 1, "textSha256": SHA256.upper()}),
    ("selection_changed", {"note": "a.md", "startLine": 1, "endLine": 1, "textSha256": SHA256 + "0"}),
    ("note_created", {"note": "a.md", "size": -1, "mtimeNs": "1"}),
    ("note_created", {"note": "a.md", "size": 1, "mtimeNs": 1}),
    ("note_created", {"note": "a.md", "size": 1, "mtimeNs": "1.5"}),
    ("note_changed", {"note": "a.md", "size": 1, "mtimeNs": ""}),
    ("note_changed", {"note": "a.md", "size": 1, "mtimeNs": "1", "sha256": "abc"}),
    ("note_renamed", {"from": "a.md"}),
    ("note_renamed", {"to": "a.md"}),
    ("note_renamed", {"from": "a.md", "to": None}),
    ("note_deleted", {}),
    ("tool_called", {"tool": "x", "caller": "y", "arguments": []}),
    ("message_added", {**TALK, "message": "m1"}),
    ("message_added", {**MESSAGE, "role": "tool"}),
    ("message_added", {**MESSAGE, "textSha256": "what was said"}),
    ("message_added", {**MESSAGE, "attachments": [{"kind": "mood", "id": "a.md"}]}),
    ("message_added", {**MESSAGE, "toolResults": [{"id": "call-1", "name": "get_note"}]}),
    ("context_folded", {**TALK, "reason": "whim", "library": []}),
    ("context_folded", {**TALK, "reason": "asked", "library": [], "leftOut": ["a.md"]}),
    ("context_folded", {**TALK, "reason": "asked", "library": [{"id": "a.md"}]}),
    ("context_pinned", {**TALK, "id": "p1", "kind": "weather"}),
    ("artifact_recorded", {"id": "a", "kind": "folder", "revision": SHA256, "bytes": 1}),
]


@pytest.mark.parametrize(("name", "wire"), REFUSED)
def test_data_out_of_its_form_is_refused(name: str, wire: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        data_of(name, wire)


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("active_note_set", {"note": "a.md", "title": "x" * TITLE_CHARS_MAX}),
        ("pinned_notes_reordered", {"notes": ["a.md"] * NOTES_PER_ACTION_MAX}),
        ("temporary_tabs_reordered", {"tabIds": ["tab-1"] * NOTES_PER_ACTION_MAX}),
        ("selection_changed", {"note": "a.md", "startLine": 4, "endLine": 4, "text": "x" * SELECTION_CHARS_MAX}),
    ],
)
def test_data_exactly_at_a_limit_is_taken(name: str, wire: dict[str, Any]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(data_of(name, wire))) == wire


# -- the form of a note's path --

OUTSIDE = [
    "/",
    "/a.md",
    "//a.md",
    "//host/share/a.md",
    "/etc/passwd",
    "/etc/passwd.md",
    "/proc/self/root/a.md",
    "..",
    "../",
    "../a.md",
    "../../a.md",
    "../vault-sibling/a.md",
    "../vault/a.md",
    "../.md",
    "work/..",
    "work/../a.md",
    "work/../../a.md",
    "work/plan/../../../a.md",
    "./../a.md",
    "a.md/..",
    "a.md/../b.md",
    "work//../a.md",
    ".hidden/../a.md",
    "../\ud800.md",
    "a\0.md",
    "\0",
    "\0a.md",
    "a.md\0",
    "a.md\0.txt",
    "work\0/../a.md",
    "/" + "x" * NOTE_ID_CHARS_MAX + ".md",
    "../" * NOTE_ID_CHARS_MAX + "a.md",
]

INVALID = [
    "",
    ".",
    "a.md/",
    "work/",
    "work//a.md",
    "work///a.md",
    "./a.md",
    "work/./a.md",
    ".git/a.md",
    ".obsidian/plugins/a.md",
    "work/.trash/a.md",
    ".../a.md",
    "work/.../a.md",
    "x" * (NOTE_ID_CHARS_MAX - 2) + ".md",
    "x/" * (NOTE_ID_CHARS_MAX // 2) + "a.md",
    "x" * (COMPONENT_BYTES_MAX - 2) + ".md",
    "x" * (COMPONENT_BYTES_MAX + 1) + "/a.md",
    "é" * (COMPONENT_BYTES_MAX // 2) + ".md",
    "日" * (COMPONENT_BYTES_MAX // 3) + ".md",
]

NO_MARKDOWN = [
    "a",
    "a.txt",
    "a.md.txt",
    "a.mdx",
    "a.markdown",
    "amd",
    "md",
    "a.md ",
    "a.md.",
    "a.md\n",
    "work",
    "a.md#heading",
    "a.md?x=1",
    "a.ｍｄ",
    "a．md",
    " ",
]
"""Paths of files that only a vault can say belong to it."""

GOOD = [
    "a.md",
    "A.MD",
    "a.Md",
    "work/plan.md",
    "a/b/c/d/e/f/g.md",
    "a..b.md",
    "a...md",
    "a../b.md",
    "v1.2.3/notes v1.2.md",
    "work./plan.md",
    "a.md/b.md",
    "a.md.md",
    "my plan.md",
    " plan .md",
    "work /plan.md",
    "2026-03-01.md",
    "#tag.md",
    "what?.md",
    "50%.md",
    "%2e%2e/a.md",
    "a,b|c]d[e.md",
    "a\\b.md",
    "work\\..\\a.md",
    "C:\\a.md",
    "~/a.md",
    "-rf.md",
    "日記/三月.md",
    "Приве́т.md",
    "👩‍👩‍👧/🇨🇭.md",
    "café.md",
    "tab\there.md",
    "．．/a.md",
    "x" * (COMPONENT_BYTES_MAX - 3) + ".md",
    "é" * ((COMPONENT_BYTES_MAX - 3) // 2) + ".md",
    "x/" * ((NOTE_ID_CHARS_MAX - 4) // 2) + "a.md",
]


def shown(path: str) -> str:
    return ascii(path if len(path) <= 30 else f"{path[:20]} and {len(path) - 20} more")


def test_there_are_forty_bad_paths_and_more() -> None:
    bad = [*OUTSIDE, *INVALID]
    assert len({*bad, *NO_MARKDOWN}) == len(bad) + len(NO_MARKDOWN) >= 40


@pytest.mark.parametrize("path", OUTSIDE, ids=shown)
def test_a_path_that_leads_out_is_outside_the_vault(path: str) -> None:
    with pytest.raises(OutsideVault) as caught:
        note_id(path)
    assert caught.value.code == "OUTSIDE_VAULT"


@pytest.mark.parametrize("path", INVALID, ids=shown)
def test_a_path_that_can_be_no_note_is_an_invalid_argument(path: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        note_id(path)
    assert caught.value.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("path", ["a\ud800.md", "\udcff.md", "work\udc80/a.md"], ids=shown)
def test_a_name_that_is_not_utf_8_is_an_invalid_argument(path: str) -> None:
    with pytest.raises(InvalidArgument):
        note_id(path)


@pytest.mark.parametrize("path", NO_MARKDOWN, ids=shown)
def test_a_file_of_any_ending_has_an_id_and_is_no_markdown(path: str) -> None:
    assert note_id(path) == path
    assert not is_markdown(path)


@pytest.mark.parametrize("path", GOOD, ids=shown)
def test_a_good_path_is_its_own_id(path: str) -> None:
    assert note_id(path) == unicodedata.normalize("NFC", path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("cafe\u0301.md", "caf\u00e9.md"),
        ("U\u0308ber/A\u030angstro\u0308m.md", "\u00dcber/\u00c5ngstr\u00f6m.md"),
        ("\u1100\u1161.md", "\uac00.md"),
        ("\u212b.md", "\u00c5.md"),
        ("\ufb01ne.md", "\ufb01ne.md"),
    ],
    ids=ascii,
)
def test_an_id_is_in_nfc_and_no_further_folded(path: str, expected: str) -> None:
    assert note_id(path) == expected


def test_both_forms_of_a_name_have_one_id() -> None:
    composed = "Tâches/É.md"
    assert note_id(unicodedata.normalize("NFD", composed)) == note_id(unicodedata.normalize("NFC", composed))


def test_a_long_name_has_one_id_in_both_forms() -> None:
    composed = "é" * 100 + ".md"
    assert note_id(unicodedata.normalize("NFD", composed)) == composed


def test_a_name_that_grows_over_the_limit_in_nfc_is_refused() -> None:
    # U+0958 is three bytes, and by its composition exclusion six in NFC: its id could not be sent back to us.
    with pytest.raises(InvalidArgument):
        note_id("\u0958" * ((COMPONENT_BYTES_MAX - 3) // 3) + ".md")


def test_case_makes_another_note() -> None:
    assert note_id("Plan.md") != note_id("plan.md")


@pytest.mark.parametrize("path", ["/" + "x" * 100_000, "x" * 100_000, "\0" * 100_000], ids=shown)
def test_an_error_echoes_little_of_a_long_path(path: str) -> None:
    with pytest.raises(ActionError) as caught:
        note_id(path)
    # 200 characters of input, each at most six when escaped, and the sentences around them.
    assert len(str(caught.value)) < 200 * 6 + 300


@settings(max_examples=examples(200))
@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from([*"ab/.. \0é", "\u0301", ".md", "/../"]), max_size=12).map("".join)
)
def test_whatever_the_text_it_is_an_id_or_a_typed_error(path: str) -> None:
    try:
        made = note_id(path)
    except ActionError as error:
        assert error.code in ("OUTSIDE_VAULT", "INVALID_ARGUMENT")
        return
    parts = made.split("/")
    assert "\0" not in made
    assert not any(part == "" or part.startswith(".") for part in parts[:-1])
    assert parts[-1] not in ("", ".", "..")
    assert note_id(made) == made


@settings(max_examples=examples(100))
@given(st.lists(st.characters(codec="utf-8", exclude_characters="/\0."), min_size=1, max_size=60))
def test_an_id_is_itself_a_path_with_that_id(letters: list[str]) -> None:
    made = note_id("".join(letters) + ".md")
    assert note_id(made) == made
