"""The catalogue on the wire: names and keys, what is refused, and the form of a note's path."""

import json
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_log import EVERY, EXPORT
from support.profiles import examples

from workspaced_events.errors import ActionError, InvalidArgument, OutsideVault
from workspaced_events.ids import COMPONENT_BYTES_MAX, EventId, VaultId, is_markdown, note_id
from workspaced_events.limits import NOTE_ID_CHARS_MAX
from workspaced_events.schema.catalogue import CATALOGUE, ENTRY_OF, Data, UnknownEvent
from workspaced_events.schema.codec import decode_event, encode_event

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
}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((line["type"], line["data"]) for line in map(json.loads, EXPORT.read_text().splitlines()[1:])),
    ("active_note_set", {"note": None}),
    ("pinned_notes_reordered", {"notes": []}),
    ("temporary_tabs_expired", {"tabIds": []}),
    ("message_replaced", MESSAGE),
]


def event_with(name: str, data: Data, *, seq: int = 7, vault: VaultId | None = NOTES) -> Any:
    return CATALOGUE[name].event(seq, EventId("id-7"), TIME, "editor", vault, data)


def data_of(name: str, wire: dict[str, Any]) -> Data:
    return msgspec.json.decode(msgspec.json.encode(wire), type=CATALOGUE[name].data)


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_entry_knows_its_name_its_data_and_the_keys_on_the_wire(name: str) -> None:
    entry = CATALOGUE[name]
    assert entry.name == name
    assert ENTRY_OF[entry.data] is entry
    assert msgspec.to_builtins(EVERY[name].data).keys() <= entry.fields
    assert all(key == key.strip("_") and "_" not in key for key in entry.fields)


# -- there and back --


@pytest.mark.parametrize(("name", "wire"), VARIANTS)
def test_an_event_is_its_action_and_five_keys_and_reads_back(name: str, wire: dict[str, Any]) -> None:
    event = event_with(name, data_of(name, wire))
    encoded = encode_event(event)
    envelope = {"type": name, "seq": 7, "id": "id-7", "time": TIME, "source": "editor", "vault": "notes"}
    assert msgspec.json.decode(encoded) == {**envelope, "data": wire}
    decoded = decode_event(encoded)
    assert decoded == event and type(decoded) is CATALOGUE[name].event
    assert encode_event(decoded) == encoded


def test_an_event_always_says_its_vault_even_if_it_has_none() -> None:
    event = event_with("daemon_stopped", data_of("daemon_stopped", {"reason": "SIGTERM"}), vault=None)
    assert b'"vault":null' in encode_event(event) and decode_event(encode_event(event)) == event


@pytest.mark.parametrize("key", ["seq", "id", "time", "source", "vault", "data", "type"])
def test_an_event_lacking_a_key_is_refused(key: str) -> None:
    wire = msgspec.to_builtins(event_with("note_pinned", data_of("note_pinned", {"note": "a.md"})))
    del wire[key]
    with pytest.raises(msgspec.ValidationError):
        decode_event(msgspec.json.encode(wire))


def test_an_event_of_an_unknown_type_or_with_unknown_data_is_kept_as_it_is() -> None:
    wire = msgspec.to_builtins(event_with("note_pinned", data_of("note_pinned", {"note": "a.md"})))
    for changed in ({"type": "note_starred"}, {"data": {"note": {"path": "a.md"}, "stars": [1, None]}}):
        encoded = msgspec.json.encode({**wire, **changed})
        kept = decode_event(encoded)
        assert type(kept) is UnknownEvent
        assert msgspec.json.decode(encode_event(kept)) == msgspec.json.decode(encoded)


def test_an_optional_field_more_of_a_newer_version_still_reads() -> None:
    data = msgspec.json.decode(b'{"note": "a.md", "colour": "red"}', type=CATALOGUE["note_pinned"].data)
    assert data == data_of("note_pinned", {"note": "a.md"})


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("vault_opened", {"vaultId": "notes", "name": "Notes"}),
        ("temporary_tabs_expired", {"tabIds": [1]}),
        ("note_created", {"note": "a.md", "size": -1, "mtimeNs": "1"}),
        ("note_changed", {"note": "a.md", "size": 1, "mtimeNs": "1.5"}),
        ("note_changed", {"note": "a.md", "size": 1, "mtimeNs": "1", "sha256": "abc"}),
        ("tool_called", {"tool": "x", "caller": "y", "arguments": []}),
        ("message_added", {**TALK, "message": "m1"}),
        ("message_added", {**MESSAGE, "role": "tool"}),
        ("message_added", {**MESSAGE, "textSha256": "what was said"}),
        ("message_added", {**MESSAGE, "attachments": [{"kind": "mood", "id": "a.md"}]}),
        ("context_folded", {**TALK, "reason": "whim", "library": []}),
        ("context_folded", {**TALK, "reason": "asked", "library": [], "leftOut": ["a.md"]}),
        ("context_pinned", {**TALK, "id": "p1", "kind": "weather"}),
    ],
)
def test_data_out_of_its_form_is_refused(name: str, wire: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        data_of(name, wire)


# -- the form of a note's path --

OUTSIDE = [
    *("/", "//a.md", "/etc/passwd", "/proc/self/root/a.md", "..", "../a.md", "../../a.md"),
    *("../vault-sibling/a.md", "work/..", "work/../a.md", "./../a.md", "a.md/..", "../\ud800.md", "a\0.md"),
    *("\0", "work\0/../a.md", "/" + "x" * NOTE_ID_CHARS_MAX + ".md", "../" * NOTE_ID_CHARS_MAX + "a.md"),
]

INVALID = [
    "",
    ".",
    "a.md/",
    "work/",
    "work//a.md",
    "./a.md",
    ".git/a.md",
    "work/.trash/a.md",
    ".../a.md",
    "x" * (NOTE_ID_CHARS_MAX - 2) + ".md",
    "x" * (COMPONENT_BYTES_MAX - 2) + ".md",
    "x" * (COMPONENT_BYTES_MAX + 1) + "/a.md",
    "é" * (COMPONENT_BYTES_MAX // 2) + ".md",
    "a\ud800.md",
    "work\udc80/a.md",
    # Three bytes each, and six in NFC: its id could not be sent back to us.
    "\u0958" * ((COMPONENT_BYTES_MAX - 3) // 3) + ".md",
]

NO_MARKDOWN = ["a", "a.txt", "a.mdx", "amd", "a.md ", "a.md#heading", "a.ｍｄ", " "]
"""Paths of files that only a vault can say belong to it."""

GOOD = [
    "a.md",
    "A.MD",
    "work/plan.md",
    "a/b/c/d/e/f/g.md",
    "a..b.md",
    "work./plan.md",
    "a.md/b.md",
    " plan .md",
    "#tag.md",
    "%2e%2e/a.md",
    "a,b|c]d[e.md",
    "a\\b.md",
    "work\\..\\a.md",
    "~/a.md",
    "日記/三月.md",
    "👩‍👩‍👧/🇨🇭.md",
    "．．/a.md",
    "x" * (COMPONENT_BYTES_MAX - 3) + ".md",
    "é" * ((COMPONENT_BYTES_MAX - 3) // 2) + ".md",
    "x/" * ((NOTE_ID_CHARS_MAX - 4) // 2) + "a.md",
    *["cafe\u0301.md", "U\u0308ber/A\u030angstro\u0308m.md", "\u1100\u1161.md", "\u212b.md", "\ufb01ne.md"],
]


def shown(path: str) -> str:
    return ascii(path if len(path) <= 30 else f"{path[:20]} and {len(path) - 20} more")


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


@pytest.mark.parametrize("path", NO_MARKDOWN, ids=shown)
def test_a_file_of_any_ending_has_an_id_and_is_no_markdown(path: str) -> None:
    assert note_id(path) == path
    assert not is_markdown(path)


@pytest.mark.parametrize("path", GOOD, ids=shown)
def test_a_good_path_is_its_own_id(path: str) -> None:
    assert note_id(path) == unicodedata.normalize("NFC", path)


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
