"""Redacted events: nothing of what was written shows, and they fold to the same state under other names."""

import json
import random
import string
import typing
import unicodedata
from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.profiles import examples
from support.random_log import time_at
from support.simulated_disk import SimDisk

from workspaced_events.ids import ConversationId, EventId, MessageId, NoteId, TabId, VaultId
from workspaced_events.privacy.event_redaction import TAGS, Redactor, tags
from workspaced_events.privacy.pseudonyms import KEY_BYTES, PUBLIC_WORDS, REMOVED, Pseudonyms
from workspaced_events.projections.conversations import CONVERSATION_TYPES, Conversations
from workspaced_events.projections.insertions import INSERTION_TYPES, Insertion
from workspaced_events.projections.note_visibility import without_visibility
from workspaced_events.projections.peers import Peers
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, VaultState, WorkspaceState, client_key
from workspaced_events.replay.json_lines import export_lines, import_events, read_export
from workspaced_events.replay.replay import replay
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, ENTRY_OF, Data, Event, Redact, UnknownEvent
from workspaced_events.schema.codec import decode_event, encode_event

KEY = bytes(range(KEY_BYTES))
SHA256 = "0123456789abcdef" * 4
UUID4, UUID7 = "9b2f0f1c-8c7e-4b7a-9d9e-1f2e3d4c5b6a", "019a2b3c-4d5e-7f60-8123-456789abcdef"
UUID1, UUID5 = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "886313e1-3b8a-5372-9b90-0c9aee199e5d"

PIECES = [*"aAb1 -./_#\n", "Plan", "ÉÜ", "e\u0301", "日本", "ß", "ς", "🦓", "\u200d", ".md", "привет"]
some_text = st.text(st.characters(codec="utf-8"), max_size=30) | st.lists(st.sampled_from(PIECES), max_size=8).map(
    "".join
)
a_key = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def event_of(data: Data, seq: int = 1, **envelope: Any) -> Event:
    values: dict[str, Any] = {"id": f"id-{seq}", "source": "ui", "vault": "v", "time": time_at(seq), **envelope}
    made: Event = ENTRY_OF[type(data)].event(seq=seq, data=data, **values)
    return made


def unknown_event(data: bytes, seq: int = 1) -> Event:
    return UnknownEvent(
        seq, EventId(f"u{seq}"), time_at(seq), "ui", VaultId("v"), kind="zoomed", data=msgspec.Raw(data)
    )


class TestAPseudonym:
    @pytest.mark.thorough
    @settings(max_examples=examples(150))
    @given(some_text.map(nfc), a_key)
    def test_has_the_length_the_case_and_the_punctuation_of_the_text(self, text: str, key: bytes) -> None:
        made = Pseudonyms(key).text(text)
        assert len(made) == len(text)
        assert len(made.encode()) == len(text.encode())
        for old, new in zip(text, made, strict=True):
            assert (unicodedata.category(old)[0] in "PZ") == (unicodedata.category(new)[0] in "PZ")
            if old.isascii():
                assert (old.isupper(), old.islower(), old.isdigit()) == (
                    new.isupper(), new.islower(), new.isdigit()
                )  # fmt: skip
            if not old.isalnum() and (old.isascii() or unicodedata.category(old)[0] in "PZ"):
                assert new == old

    @pytest.mark.thorough
    @settings(max_examples=examples(200))
    @given(st.lists(some_text.map(nfc), unique=True, min_size=2, max_size=8), a_key)
    @example(["é.md", "e\u0301.md"], KEY)
    def test_of_another_text_is_another_one(self, texts: list[str], key: bytes) -> None:
        pseudonyms = Pseudonyms(key)
        assert len({pseudonyms.text(text) for text in texts}) == len(texts)

    @pytest.mark.parametrize("key", [KEY, bytes(32)])
    def test_permutes_all_words_of_one_two_and_three_letters(self, key: bytes) -> None:
        pseudonyms, letters = Pseudonyms(key), string.ascii_lowercase
        for words in (
            list(letters),
            [a + b for a in letters for b in letters],
            [a + b + digit for a in letters for b in letters for digit in string.digits],
        ):
            assert sorted(map(pseudonyms.text, words)) == sorted(words)

    @given(some_text, some_text)
    @settings(max_examples=examples(100))
    def test_is_made_of_those_of_the_words(self, first: str, second: str) -> None:
        pseudonyms = Pseudonyms(KEY)
        for between in (" ", "/", "\n- [[", ".", "。"):
            whole = pseudonyms.text(first + between + second)
            assert whole == pseudonyms.text(first) + between + pseudonyms.text(second)

    @pytest.mark.parametrize("word", ["plan", "größe", "привет", "λόγοι", "v1x", "plan日"])
    def test_is_the_same_in_another_case(self, word: str) -> None:
        made = Pseudonyms(KEY).text(word)
        assert made.casefold() == Pseudonyms(KEY).text(word.capitalize()).casefold() != word
        if "ß" not in word:
            assert Pseudonyms(KEY).text(word.upper()) == made.upper()

    def test_of_a_folded_letter_is_a_folded_letter(self) -> None:
        letters = [ch for ch in map(chr, range(0x80, 0x600)) if ch.isalpha() and ch.casefold() == nfc(ch) == ch]
        for key in (KEY, bytes(32)):
            made = [Pseudonyms(key).text(ch) for ch in letters]
            assert [ch for ch in made if not ch.isalpha() or ch.casefold() != ch] == []

    @pytest.mark.parametrize("word", ["café", "ệ", "ǖber", "한국어", "が"])
    def test_is_the_same_in_another_normalisation(self, word: str) -> None:
        decomposed = unicodedata.normalize("NFD", word)
        made = Pseudonyms(KEY).text(decomposed)
        assert len(made) == len(decomposed)
        assert made != Pseudonyms(KEY).text(word) == nfc(made)

    @pytest.mark.parametrize("word", sorted(PUBLIC_WORDS))
    def test_of_a_word_of_ours_is_that_word_and_of_no_other(self, word: str) -> None:
        for seed in range(50):
            pseudonyms = Pseudonyms(random.Random(seed).randbytes(KEY_BYTES))
            assert pseudonyms.text(f"{word} {word.upper()}") == f"{word} {word.upper()}"
        others = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase]
        assert [other for other in others if pseudonyms.text(other) == "md"] == ["md"]

    def test_depends_on_the_key_alone(self) -> None:
        text = "Some words, of 1999 and later."
        assert Pseudonyms(KEY).text(text) == Pseudonyms(KEY).text(text)
        made = {Pseudonyms(random.Random(seed).randbytes(KEY_BYTES)).text(text) for seed in range(50)}
        assert len(made) == 50

    def test_of_a_long_word_is_made_in_linear_time_and_stays_one_word(self) -> None:
        made = Pseudonyms(KEY).text("aB3" * 50_000)
        assert len(made) == 150_000 and made.isalnum()

    def test_of_a_hash_keeps_equality_alone(self) -> None:
        made = Pseudonyms(KEY).digest(SHA256)
        assert len(made) == 64 and set(made) <= set("0123456789abcdef")
        assert made == Pseudonyms(KEY).digest(SHA256) != Pseudonyms(bytes(32)).digest(SHA256)
        assert made not in (SHA256, Pseudonyms(KEY).digest("0" * 64))

    @pytest.mark.parametrize("key", [b"", b"x" * 31, b"x" * 33])
    def test_needs_a_whole_key(self, key: bytes) -> None:
        with pytest.raises(ValueError, match="32 bytes"):
            Pseudonyms(key)


# -- tags --


class TestTheTags:
    def test_are_demanded_of_new_fields(self) -> None:
        class Untagged(Data, frozen=True, gc=False):
            note: NoteId
            mood: str | None = None

        class TwiceTagged(Data, frozen=True, gc=False):
            mood: Annotated[str, Redact.CONTENT] | Annotated[int, Redact.PUBLIC]

        with pytest.raises(TypeError, match="mood"):
            tags(Untagged)
        with pytest.raises(TypeError, match="mood"):
            tags(TwiceTagged)

    def test_let_these_texts_stay_and_no_others(self) -> None:
        stay = {
            f"{ENTRY_OF[struct].name if issubclass(struct, Data) else struct.__name__}.{field}"
            for struct, tagged in TAGS.items()
            for field, tag in tagged.items()
            if tag is Redact.PUBLIC and is_free_text(get_type_hints(struct)[field])
        }
        assert stay == {
            *("note_created.mtime_ns", "note_changed.mtime_ns", "tool_called.tool", "tool_called.now"),
            *("context_volunteered.tool", "context_volunteered.now", "context_inserted.tool"),
            *("context_inserted.now", "context_inserted.near", "context_inserted.insertion"),
            *("context_inserted.after", "context_withdrawn.insertions", "prompt_overlaid.insertion"),
            *("prompt_overlaid.without", "prompt_answered.insertion", "prompt_answered.response"),
            *("prompt_answered.without", "clock_stepped.before", "clock_stepped.after"),
            *("pause_started.until", "log_recovered.segment", "log_recovered.quarantined"),
            *("daemon_started.version", "daemon_stopped.reason"),
        }

    def test_that_are_not_public_are_on_texts_which_are_what_can_be_redacted(self) -> None:
        for struct, tagged in TAGS.items():
            for field, tag in tagged.items():
                hint = get_type_hints(struct)[field]
                redactable = is_free_text(hint) or typing.get_origin(hint) is dict
                assert tag is Redact.PUBLIC or (redactable != (tag is Redact.FIELDS))


def is_free_text(hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return False
    return hint is str or hasattr(hint, "__supertype__") or any(is_free_text(part) for part in get_args(hint))


# -- canaries --

CANARIES = (
    "Xylophanes",
    "hunter2hunter2",
    "Éclairïsé",
    "Приветмир",
    "日本語秘密文書",
    "🦓🦒🐘🦏🦛",
    "ｆｕｌｌｗｉｄｔｈ",
    "שלוםעולם",
    "\U000e0073\U000e0065\U000e0063\U000e0072\U000e0065\U000e0074",
)
PLAIN = {"mtime_ns": "1", "now": time_at(1)}


def planted(hint: Any, canary: str, tag: Redact, field: str) -> Any:
    """A value of a field's type that holds the canary wherever there is text."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return parts[0]
    if origin is Annotated or (type(None) in parts):
        return planted(parts[0], canary, tag, field)
    if origin is tuple:
        return (planted(parts[0], canary, tag, field), planted(parts[0], f"2{canary}", tag, field))
    if origin is dict:
        nested = {"deep": [canary, {canary: [canary]}], f"{canary} of": 1}
        return {"reference": f"[[{canary}]]", "limit": 5, canary: canary, "tags": nested}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return planted_in(hint, canary)
    if hint in (int, bool):
        return hint(1)
    if tag is Redact.PUBLIC:
        return PLAIN.get(field, "1.0")
    if tag is Redact.HASH:
        return SHA256
    return (
        f"{canary}/{canary.upper()} {canary}.md" if hint is NoteId else f"“{canary}”, {canary.lower()}s_{canary}"
    )


def planted_in(struct: Any, canary: str) -> Any:
    hints = get_type_hints(struct, include_extras=True)
    values = {name: planted(hints[name], canary, tag, name) for name, tag in TAGS[struct].items()}
    if struct is c.TemporaryTabClosed:
        values["note"] = None
    return struct(**values)


def textual_fields(struct: Any) -> int:
    """How many fields hold text of people, those of structs within included."""
    hints = get_type_hints(struct)
    return sum(
        tag in TEXTUAL or (tag is Redact.FIELDS and textual_fields((*get_args(hints[name]), hints[name])[0]))
        for name, tag in TAGS[struct].items()
    )


def shows(data: bytes, canary: str) -> bool:
    """Whether the canary is there, in any case, normalisation or escaping."""
    text = data.decode()
    texts = [text, unquote(text), *map(str, map(json.loads, text.splitlines()))]
    forms = {canary, json.dumps(canary)[1:-1]}
    return any(
        unicodedata.normalize(form, each).casefold() in unicodedata.normalize(form, whole).casefold()
        for form in ("NFC", "NFD", "NFKC")
        for each in forms
        for whole in texts
    )


def redacted(events: Iterable[Event], key: bytes = KEY, names: Iterable[str] = ("reference", "limit")) -> bytes:
    redactor = Redactor(Pseudonyms(key), frozenset(names))
    return b"".join(export_lines("", map(redactor.event, events), redacted=True))


@pytest.mark.fault(row=44)
class TestNoCanary:
    @pytest.mark.parametrize("name", CATALOGUE)
    def test_of_any_field_of_any_type_shows(self, name: str) -> None:
        entry = CATALOGUE[name]
        for canary in CANARIES:
            data = planted_in(entry.data, canary)
            assert decode_event(encode_event(event_of(data))).data == data
            event = event_of(data, id=canary, source=f"{canary}-app", vault=f"{canary}-2")
            plain = b"".join(export_lines("x", [event], visibility=True))
            assert plain.count(canary.encode()) >= 3 + textual_fields(entry.data)
            line = redacted([event])
            assert SHA256.encode() not in line
            assert not shows(line, canary), ascii(canary)
            kept = "record_forgotten" if isinstance(data, c.NoteShown | c.NoteWithheld) else name
            assert decode_event(line.splitlines()[1]).type == kept

    @pytest.mark.parametrize("canary", CANARIES, ids=ascii)
    def test_of_an_unknown_event_shows(self, canary: str) -> None:
        data = {canary: [canary, {"x": f"{canary}.md", canary: {canary: None}}]}
        assert not shows(redacted([unknown_event(json.dumps(data).encode())]), canary)
        assert not shows(redacted([unknown_event(json.dumps(data, ensure_ascii=False).encode())]), canary)

    @pytest.mark.parametrize("canary", CANARIES, ids=ascii)
    def test_of_known_types_with_fields_of_a_newer_version_shows(self, canary: str) -> None:
        wire = {"seq": 1, "id": UUID4, "time": time_at(1), "source": "ui", "vault": "v", "type": "note_pinned"}
        more = {**wire, "data": {"note": "a.md", canary: canary}, canary: canary}
        other = {**wire, "data": {"note": {"path": canary}}}
        for each in (more, other):
            assert not shows(redacted([decode_event(json.dumps(each).encode())]), canary)

    @settings(max_examples=examples(100))
    @given(st.text(st.characters(categories=["L"]), min_size=8, max_size=20), a_key)
    def test_of_any_script_shows(self, canary: str, key: bytes) -> None:
        assume(canary.casefold() not in PUBLIC_WORDS)
        made = Redactor(Pseudonyms(key)).event(event_of(c.NotePinned(NoteId(f"x/{canary}.md"), title=canary)))
        assert canary not in made.data.note and canary not in made.data.title

    def test_that_is_a_number_shows_where_numbers_are_not_known(self) -> None:
        arguments = {"limit": 5551234, "phone": 5550000, "reference": [5550000]}
        called = c.ToolCalled("t", "agent", arguments, 1, SHA256, 1, 1, False, "now")
        made = redacted([event_of(called), unknown_event(b'{"a":5550000,"b":[5.55e6,true,null]}')])
        assert b"5550000" not in made and b"5551234" in made and b"[0,true,null]" in made


TEXTUAL = (Redact.PATH, Redact.CONTENT, Redact.SECRET, Redact.CLIENT)


class TestUnknownData:
    @pytest.mark.parametrize(
        "data", [b'{"a":"\xff"}', b"[" * 5_000 + b"]" * 5_000, b'{"a":' + b"9" * 5_000 + b"}"]
    )
    def test_that_cannot_be_read_is_left_out(self, data: bytes) -> None:
        line = redacted([unknown_event(data)]).splitlines()[1]
        assert json.loads(line)["data"] in ({}, {Pseudonyms(KEY).text("a"): 0})
        assert isinstance(decode_event(line), UnknownEvent)

    def test_of_arguments_too_deep_to_walk_is_left_out(self) -> None:
        deep: Any = "end"
        for _ in range(3_000):
            deep = [deep]
        called = c.ToolCalled("t", "agent", {"reference": deep}, 1, SHA256, 1, 1, True, "now")
        assert Redactor(Pseudonyms(KEY), {"reference"}).event(event_of(called)).data.arguments == {}


class TestAnIdentifier:
    @pytest.mark.parametrize("given_id", [UUID4, UUID7, "tab-7"])
    def test_stays_if_it_says_nothing(self, given_id: str) -> None:
        made = Redactor(Pseudonyms(KEY)).event(event_of(c.TemporaryTabClosed(TabId(given_id)), id=given_id))
        assert (made.id, made.data.tab_id) == (given_id, given_id)

    @pytest.mark.parametrize("given_id", [UUID1, UUID5, UUID4.upper(), "pin-of-Secret.md", "tab-7b", "tab-٧", "1"])
    def test_goes_if_it_may_say_something(self, given_id: str) -> None:
        for seed in range(3):
            redactor = Redactor(Pseudonyms(random.Random(seed).randbytes(KEY_BYTES)))
            made = redactor.event(event_of(c.TemporaryTabClosed(TabId(given_id)), id=given_id))
            if made.id != given_id:
                break
        assert made.id == made.data.tab_id != given_id and len(made.id) == len(given_id)

    def test_of_the_daemon_as_a_source_stays(self) -> None:
        made = Redactor(Pseudonyms(KEY)).event(event_of(c.ActiveNoteCleared(), source="workspaced", vault=None))
        assert (made.source, made.vault) == ("workspaced", None)


# -- folding --

NOTES = [
    NoteId(f"{name}.md")
    for name in (
        *("a", "b", "A", "日", "月", "é", "e\u0301", "🦓", "12"),
        *("work/Plan", "work/plan", "md", "tab", "a.md/b"),
    )
]
VAULTS = [VaultId(each) for each in ("notes", "notes-2", "ノート")]
TALKS = [ConversationId(each) for each in (UUID4, "Über Müller")]
MESSAGES = [MessageId(each) for each in (UUID7, "first", "zweite", "tab-7")]
CLIENTS = ["*", "Agent", "agent", " agent ", "Straße", "STRASSE", "  ", "ΐ"]
INSERTIONS = ["a1-1", "a1-2", "b2-1"]
PUBLIC_TEXT = {**PLAIN, "tool": "get_current_note"}


def a_value(hint: Any, field: str) -> st.SearchStrategy[Any]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is Annotated:
        if Redact.HASH in hint.__metadata__:
            return st.just(SHA256)
        most = min((each.le for each in hint.__metadata__ if getattr(each, "le", None)), default=None)
        value = a_value(parts[0], field)
        return value if most is None else value.filter(lambda number: number <= most)
    if type(None) in parts:
        return st.none() | a_value(parts[0], field)
    if origin is tuple:
        return st.lists(a_value(parts[0], field), max_size=4).map(tuple)
    if origin is dict:
        return st.dictionaries(st.sampled_from(["reference", "limit", "x"]), some_text | st.integers(0, 9))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return fields_of(hint).map(lambda values: hint(**values))
    if hint is int:
        return st.integers(1, 9) | st.just(700)
    if field in PUBLIC_TEXT:
        return st.just(PUBLIC_TEXT[field])
    if field in ("insertion", "insertions", "after", "without"):
        return st.sampled_from(INSERTIONS)
    by_type: dict[Any, st.SearchStrategy[Any]] = {
        NoteId: st.sampled_from(NOTES),
        VaultId: st.sampled_from(VAULTS),
        TabId: st.integers(1, 30).map(lambda seq: f"tab-{seq}") | st.just("other"),
        ConversationId: st.sampled_from(TALKS),
        MessageId: st.sampled_from(MESSAGES),
        bool: st.booleans(),
    }
    return by_type.get(hint, st.sampled_from(CLIENTS) if field in ("client", "caller") else some_text)


def fields_of(struct: Any) -> st.SearchStrategy[dict[str, Any]]:
    hints = get_type_hints(struct, include_extras=True)
    return st.fixed_dictionaries({name: a_value(hints[name], name) for name in struct.__struct_fields__})


def some_data(entry: c.Entry) -> st.SearchStrategy[Data]:
    def build(values: dict[str, Any]) -> Data | None:
        try:
            return entry.data(**values)
        except ValueError:  # what __post_init__ refuses
            return None

    return fields_of(entry.data).map(build).filter(lambda data: data is not None)  # type: ignore[return-value]


a_step = st.tuples(
    st.one_of(
        st.one_of(*map(some_data, CATALOGUE.values()), st.none()),
        st.one_of(*(some_data(ENTRY_OF[data]) for data in CONVERSATION_TYPES)),
        st.one_of(*(some_data(each) for each in CATALOGUE.values() if each.data in INSERTION_TYPES)),
    ),
    st.sampled_from(VAULTS),
    st.sampled_from(["ui", "workspaced", "Straße", UUID4]),
)


def log_of(steps: list[Any]) -> list[Event]:
    started = [
        c.ConversationStarted(conversation=talk, provider="p", model="Größe/1", context_window=9, output_reserve=1)
        for talk in TALKS
    ]
    said = [c.MessageAdded(talk, message, "user") for talk in TALKS for message in MESSAGES[:2]]
    opened = [c.VaultOpened(VAULTS[0], "Notes", "/home/me/notes"), *started, *said]
    return [event_of(data, seq, vault=VAULTS[0]) for seq, data in enumerate(opened, start=1)] + [
        unknown_event(b'{"note":"a.md"}', seq)
        if data is None
        else event_of(data, seq, vault=vault, source=source, id=f"{source}/{seq}")
        for seq, (data, vault, source) in enumerate(steps, start=len(opened) + 1)
    ]


def renamed(state: WorkspaceState, p: Pseudonyms) -> WorkspaceState:
    """The state with pseudonyms for its names, written down field by field."""
    vaults = [
        replace(with_names(each, p, "id", "name"), path=REMOVED, files=tuple(map(p.text, each.files)))
        for each in state.vaults.values()
    ]
    return replace(
        state,
        current=None if state.current is None else VaultId(p.text(state.current)),
        vaults={each.id: each for each in vaults},
        by_vault={VaultId(p.text(vault)): renamed_vault(sub, p) for vault, sub in state.by_vault.items()},
        sharing={client_key(p.text(client)): level for client, level in state.sharing.items()},
        volunteering={client_key(p.text(client)): each for client, each in state.volunteering.items()},
        views={
            VaultId(p.text(vault)): {p.text(source): each for source, each in views.items()}
            for vault, views in state.views.items()
        },
        conversations=msgspec.convert(renamed_values(plain(state.conversations), p), Conversations),
        peers=msgspec.convert(renamed_values(plain(state.peers), p), Peers),
        insertions={
            key: tuple(renamed_insertion(each, p) for each in here) for key, here in state.insertions.items()
        },
    )


def plain(struct: msgspec.Struct) -> Any:
    return json.loads(msgspec.json.encode(struct))


GENERATED = (UUID4, UUID7, "tab-7")
WORDS_OF_OURS = {
    "role",
    "kind",
    "at",
    "reason",
    "section",
    "pipeline",
    "form",
    "promotion",
    "replicate",
    "applied_at",
}
KEYED_BY_NAMES = {"by_id", "messages", "pins", "calibrations", "turns"}
KEYED_BY_NAMES |= {"members", "vaults", "origins", "view", "removals", "pinned_ms"}


def renamed_values(value: Any, p: Pseudonyms, of: str = "") -> Any:
    """Conversations as plain values: every text has its pseudonym, but for times and words of ours."""
    if isinstance(value, list):
        return [renamed_values(each, p, "" if of in KEYED_BY_NAMES else of) for each in value]
    if isinstance(value, dict) and of in KEYED_BY_NAMES:
        return {renamed_values(name, p): renamed_values(each, p) for name, each in value.items()}
    if isinstance(value, dict):
        fields = {name: "section" if (of, name) == ("sections", "name") else name for name in value}
        return {name: renamed_values(each, p, fields[name]) for name, each in value.items()}
    if not isinstance(value, str) or of in WORDS_OF_OURS or value in GENERATED:
        return value
    if of == "signature":
        return REMOVED
    return p.digest(value) if value == SHA256 or of == "digest" else p.text(value)


def with_names(struct: Any, p: Pseudonyms, *fields: str) -> Any:
    """The struct with pseudonyms in these fields, and for the hash of a text that it has."""
    names = {field: p.text(getattr(struct, field)) for field in fields if getattr(struct, field) is not None}
    for field in ("text_sha256", "result_sha256"):
        if getattr(struct, field, None) is not None:
            names[field] = p.digest(getattr(struct, field))
    return replace(struct, **names)


def renamed_insertion(insertion: Insertion, p: Pseudonyms) -> Any:
    """Its other names are keyed hashes, which confirm no guess."""
    said = [] if insertion.session in GENERATED else ["session"]
    return with_names(insertion, p, "vault", *said)


def renamed_vault(sub: VaultState, p: Pseudonyms) -> VaultState:
    pins = [with_names(pin, p, "id", "publisher") for pin in sub.pins.values()]
    tabs = [with_names(tab, p, "note_id", "publisher") for tab in sub.tabs.values()]
    return VaultState(
        active=sub.active and with_names(sub.active, p, "id", "publisher"),
        pins={pin.id: pin for pin in pins},
        tabs={tab.note_id: tab for tab in tabs},
        recents={NoteId(p.text(note)): at for note, at in sub.recents.items()},
        selection=sub.selection and with_names(sub.selection, p, "note", "text"),
        archived={NoteId(p.text(note)): None for note in sub.archived},
        former={NoteId(p.text(old)): NoteId(p.text(new)) for old, new in sub.former.items()},
        last_updated=sub.last_updated,
    )


class TestARedactedLog:
    @pytest.mark.fault(row=44)
    @settings(max_examples=examples(150))
    @given(st.integers(0, 40).flatmap(lambda n: st.lists(a_step, min_size=n, max_size=n)), a_key)
    def test_folds_to_the_same_state_under_other_names(self, steps: list[Any], key: bytes) -> None:
        events = log_of(steps)
        again = list(read_export(redacted(events, key).splitlines(), "x"))
        expected = renamed(fold_all(events, EMPTY), Pseudonyms(key))
        assert msgspec.json.encode(fold_all(again, EMPTY)) == msgspec.json.encode(expected)
        assert [(each.seq, each.time, each.type) for each in again] == [
            (each.seq, each.time, each.type) for each in without_visibility(events)
        ]
        assert len({each.id for each in again}) == len({each.id for each in events})

    def test_says_that_it_is_redacted_and_loads_like_any_other(self, tmp_path: Any) -> None:
        notes = [event_of(c.NotePinned(note), seq) for seq, note in enumerate(NOTES, start=2)]
        events = [event_of(c.VaultOpened(VaultId("v"), "v", "/v")), *notes]
        lines = redacted(events)
        header = json.loads(lines.splitlines()[0])
        assert header["redacted"] is True and header["log"] == ""
        assert "redacted" not in json.loads(next(export_lines("x", events)))
        (tmp_path / "x.jsonl").write_bytes(lines)
        assert replay(tmp_path / "x.jsonl").last_seq == len(events)
        last = import_events(SimDisk(), read_export(lines.splitlines(), "x"), version="t", now=time_at(1))
        assert last == len(events)
        (state,) = fold_all(read_export(lines.splitlines(), "x"), EMPTY).by_vault.values()
        assert len(state.pins) == len(NOTES)

    def test_keeps_a_calls_client_equal_to_the_one_a_level_is_set_for(self) -> None:
        redactor = Redactor(Pseudonyms(KEY))
        called = c.ToolCalled("t", "STRASSE", {}, 1, SHA256, 1, 1, True, "now")
        state = fold_all(map(redactor.event, [event_of(c.SharingSet("Straße", "none"))]), EMPTY)
        assert state.sharing_of(redactor.event(event_of(called)).data.caller) == "none"
        every = c.SharingSet("*", "names")
        assert redactor.event(event_of(every)).data == every

    def test_stays_within_the_limits_of_its_fields(self) -> None:
        long = c.SharingSet("ß" * 200, "none")
        line = encode_event(Redactor(Pseudonyms(KEY)).event(event_of(long)))
        assert isinstance(decode_event(line).data, c.SharingSet)
