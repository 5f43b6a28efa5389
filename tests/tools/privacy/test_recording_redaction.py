"""Redacted recordings: nothing of what was secret is in them, and every call can still be made again."""

import io
import json
import random
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support import session_machine as sessions
from support.profiles import examples

from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId
from workspaced_events.privacy.pseudonyms import KEY_BYTES, Pseudonyms
from workspaced_events.projections.conversations import NO_CONVERSATIONS
from workspaced_events.projections.peers import NO_PEERS
from workspaced_events.projections.visits import VisitFold, visits_from
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.replay.bundle import Versions
from workspaced_events.replay.log_slice import Slice, cut
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import DirectorySource, Source
from workspaced_tools.errors import NotRecorded
from workspaced_tools.notes.note import Note, StatKey
from workspaced_tools.ports.questions import LinkTargets, Names, Overview, Search
from workspaced_tools.ports.vault import Found, LinkTarget, NoteRef, SearchQuery
from workspaced_tools.privacy import recording_redaction
from workspaced_tools.privacy.recording_redaction import Redacted, Rephrased, redact
from workspaced_tools.recording.format import Exchange, RecordedNote
from workspaced_tools.replay.bundling import make_bundle
from workspaced_tools.replay.call_replay import ANSWER_TYPES, Notes
from workspaced_tools.replay.verify import Outcome, Verified, verify

KEY = bytes(range(KEY_BYTES))


@contextmanager
def redacted_bundle(data: Path, key: bytes = KEY, last: int = 10_000) -> Iterator[tuple[bytes, Redacted, Slice]]:
    """A redacted bundle of a data directory, what it was made of, and the part that was redacted."""
    with DirectorySource(data) as source, tempfile.TemporaryDirectory() as directory:
        part = cut(source, last=last)
        made = redact(part, Pseudonyms(key), EvictableBlobStore(Path(directory)))
        file = io.BytesIO()
        make_bundle(file, made.part, versions=MADE_BY, created="2026-03-02T00:00:00.000000Z", redacted=True)
        yield file.getvalue(), made, part


MADE_BY = Versions("0", "3.11.0", "Linux")


def verified(source: Source) -> list[Verified]:
    found: list[Verified] = []
    verify(source, found.append)
    return found


def bundle_verified(content: bytes) -> list[Verified]:
    with open_source(io.BytesIO(content)) as source:
        return verified(source)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    """A workspace, not open yet; its vaults are empty."""
    made = sessions.Session(tmp_path)
    yield made
    made.dispose()


# -- canaries --


class Canaries:
    """Words that nobody else uses, each at one place."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.words: list[str] = []

    def __call__(self, letters: str = "abcdefghijklmnopqrstuvwxyz") -> str:
        word = "".join(self._random.choices(letters, k=12))
        self.words.append(word)
        return word

    def found_in(self, content: str) -> list[str]:
        """Those that stand in `content`, in whatever form."""
        texts = {unicodedata.normalize(form, content).casefold() for form in ("NFC", "NFD", "NFKC")}
        return [
            word
            for word in self.words
            for form in {
                unicodedata.normalize("NFC", word).casefold(),
                unicodedata.normalize("NFD", word).casefold(),
                quote(word).casefold(),
                json.dumps(word)[1:-1].casefold(),
                word.encode("utf-16-be").hex(),
            }
            if any(form in text for text in texts)
        ]


GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
ACCENTED = "àéîõüçñåøšžý"
HAN = "山川空雨風花鳥月星水火木金土日"


def planted(canary: Canaries) -> tuple[str, str, str]:
    """A note's path, its title and its text, with secrets at every place that the tools read."""
    path = f"{canary()}/{canary(ACCENTED)} {canary()}.md"
    title = f"{canary()} {canary(GREEK)}"
    text = f"""---
title: {title}
tags: [{canary()}, {canary()}/{canary()}]
aliases:
  - {canary()} {canary()}
id: {canary()}
type: {canary()}
created: 2026-01-02
{canary()}: "{canary()} # {canary()}"
nested: {{{canary()}: [{canary()}, 12, true]}}
---
# {canary()} {canary(HAN)}

{canary()} *{canary()}* `{canary()}` #{canary()} common words 2026-03-01.
[[{canary()} {canary()}#{canary()}|{canary()}]] and [{canary()}]({canary()}%20{canary()}.md) and [[a]].
[outside](https://{canary()}.example/{canary()}?{canary()}={canary()}) <!-- {canary()} -->

## {canary()} {canary()}

- [ ] {canary()} ^{canary()}
```{canary()}
{canary()}
```
"""
    return path, title, text


def play(session: Any, canary: Canaries) -> None:
    """A session in which every tool reads, and fails over, what is secret."""
    one = session.vaults["one"]
    path, title, text = planted(canary)
    other, other_title, other_text = planted(canary)
    sessions.write(one, path, text.encode())
    sessions.write(one, other, (other_text + f"\n[[{title}]] {canary()}\n").encode())
    sessions.write(one, "a.md", f"\ufeff# A\r\n\r\n[[{other_title}]] {canary()} \x00".encode() + b"\xff\n")
    session.open()
    long = f"{canary()} {canary(GREEK)}\n" * 400
    for selected in (f"{canary()} words", long):
        session.look_at(path)
        data = {"note": path, "startLine": 1, "endLine": 2, "text": selected}
        assert session.publish({"type": "selection_changed", "data": data}) is None
    for pin in ({"note": other, "title": f"{canary()} {canary()}"}, {"note": "a.md"}):
        assert session.publish({"type": "note_pinned", "data": pin}) is None
    gone = f"{canary()}.md"
    session.publish({"type": "temporary_tab_opened", "data": {"note": gone, "source": "search"}})
    session.publish({"type": "note_renamed", "data": {"from": f"{canary()}.md", "to": path}})
    session.look_at(path)
    session.share(f"{canary()} Client", "names")
    arguments: dict[str, list[dict[str, Any]]] = {tool: [{}] for tool in sessions.TOOLS} | {
        "get_workspace_context": [
            {},
            {"includeContent": True},
            {canary(): canary()},
            {"includeContent": canary()},
        ],
        "get_current_note": [
            {"includeLinks": True, "includeOutline": True},
            {"offset": [canary()]},
            {canary(): canary() * 400},
        ],
        "get_note_by_reference": [
            {"reference": reference, "includeMetadata": True}
            for reference in (
                path,
                title,
                title.upper(),
                f"[[{other_title}]]",
                canary(),
                f"../{canary()}",
                gone,
                "a",
            )
        ],
        "search_workspace": [
            {"query": text.split("*")[1], "scope": scope, "folder": path.partition("/")[0], "tags": [canary()]}
            for scope in ("vault", "workspace")
        ]
        + [{"query": "common words"}, {"query": canary()}],
        "get_related_notes": [{}, {"reference": other}],
        "get_navigation_history": [{}, {"sinceTime": "2026-01-01"}, {"sinceTime": canary()}],
        "get_note_diff": [{"reference": path}],
        "get_context_manifest": [{}, {"conversation": canary()}],
    }
    for caller in ("agent", canary(), f"{canary()} client"):
        for tool, each in arguments.items():
            for given_arguments in each:
                session.call(tool, given_arguments, caller)
    sessions.write(one, path, (text + f"{canary()}\n").encode())
    session.call("get_note_diff", {"reference": path})
    session.share("agent", "none")
    session.call("get_workspace_context", {})
    canary.words += [session.root.name, *(each for each in session.root.parts if len(each) > 8)]
    session.close()


@pytest.mark.thorough
@pytest.mark.fault(row=44)
@pytest.mark.parametrize("seed", range(2))
def test_no_secret_is_in_a_redacted_bundle_and_every_call_in_it_is_made_again(session: Any, seed: int) -> None:
    canary = Canaries(seed)
    play(session, canary)
    with redacted_bundle(session.data, random.Random(seed).randbytes(KEY_BYTES)) as (content, made, part):
        assert made.calls_lost == 0
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            for name in file.namelist():
                assert canary.found_in(name + file.read(name).decode()) == []
        assert verified(part), "the session holds calls"
        assert {each.outcome for each in verified(part)} == {Outcome.SAME}
        again = bundle_verified(content)
        assert {each.outcome for each in again} == {Outcome.SAME}


def test_no_hash_of_what_was_secret_is_in_it(session: Any) -> None:
    canary = Canaries(7)
    play(session, canary)
    with redacted_bundle(session.data) as (content, _made, part), zipfile.ZipFile(io.BytesIO(content)) as file:
        every = " ".join(name + file.read(name).decode() for name in file.namelist())
        named = {path.name for path in session.data.glob("*/??/*") if canary.found_in(blob_text(part, path.name))}
        named |= {sha256(path.read_bytes()).hexdigest() for path in session.vaults["one"].rglob("*.md")}
        assert len(named) > 20
        assert [name for name in named if name in every] == []
        assert part.log_id not in every


def blob_text(part: Slice, name: str) -> str:
    content = part.blob(name)
    assert content is not None
    return content.decode()


steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.lists(sessions.actions, min_size=1, max_size=3)),
        st.tuples(st.just("call"), sessions.calls),
        st.tuples(st.just("write"), st.tuples(sessions.paths, sessions.texts)),
        st.tuples(st.just("share"), st.tuples(sessions.callers, st.sampled_from(("all", "names", "none")))),
        st.tuples(st.just("restart"), st.just(())),
    ),
    min_size=4,
    max_size=14,
)


@given(steps, st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), st.sampled_from((3, 10_000)))
@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
def test_any_session_replays_from_its_bundle_redacted_or_not(taken: list[Any], key: bytes, last: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        session = sessions.Session(Path(directory))
        try:
            for path, text in zip(sessions.PATHS, sessions.TEXTS[1:], strict=False):
                sessions.write(session.vaults["one"], path, text)
            session.open()
            session.look_at("a.md")
            for step, what in taken:
                match step:
                    case "publish":
                        session.publish(*what)
                    case "call":
                        session.call(*what)
                    case "write":
                        sessions.write(session.vaults["one"], *what)
                    case "share":
                        session.share(*what)
                    case _:
                        session.restart()
            session.close()
            with redacted_bundle(session.data, key, last) as (content, made, part):
                file = io.BytesIO()
                make_bundle(file, part, versions=MADE_BY, created="2026-03-02T00:00:00.000000Z")
                assert all(each.outcome is Outcome.SAME for each in bundle_verified(file.getvalue()))
                assert made.calls_lost == 0
                assert all(each.outcome is Outcome.SAME for each in bundle_verified(content))
        finally:
            session.dispose()


# -- what cannot be made again --


@pytest.fixture
def called(session: Any) -> Any:
    """A closed session in which the active note was asked for."""
    sessions.write(session.vaults["one"], "a.md", b"# Alpha\n")
    session.open()
    session.look_at("a.md")
    session.call("get_current_note")
    session.close()
    return session


def assert_lost(session: Any) -> None:
    """Of a redacted bundle of it, that the call's recording is in it no more."""
    with redacted_bundle(session.data) as (content, made, _part):
        assert made.calls_lost == 1
        assert [each.outcome for each in bundle_verified(content)] == [Outcome.NOT_RECORDED]


def test_a_call_whose_recording_is_gone_keeps_none(called: Any) -> None:
    for path in (called.data / "served").glob("??/*"):
        path.unlink()
    assert_lost(called)


def test_a_call_that_comes_out_otherwise_loses_its_recording(called: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other = b'{"success":false,"code":"INTERNAL"}'
    monkeypatch.setattr(recording_redaction, "replay_answer", lambda *_args: other)
    assert_lost(called)


# -- questions put otherwise --


def exchange(ask: str, question: Any, answer: Any) -> Exchange:
    return Exchange(ask, msgspec.Raw(msgspec.json.encode(question)), msgspec.Raw(msgspec.json.encode(answer)))


A, B = NoteRef(NoteId("a.md"), "A", "a.md"), NoteRef(NoteId("b.md"), "B", "b.md")
ONE, TWO, NEW = "one", "two", "new"


def names(*notes: str) -> Names:
    return Names([NoteId(note) for note in notes])


def answers() -> Rephrased:
    return Rephrased(
        [
            exchange("names", [["a.md", "b.md"]], [A, B]),
            exchange("names", [["c.md"]], [None]),
            exchange("link_targets", ["a.md", [ONE, TWO]], [LinkTarget(A), LinkTarget(B)]),
            exchange("search", [SearchQuery("x", 1)], Found((), 1, True)),
            exchange("search", [SearchQuery("y", 1)], Found((), 2, True)),
            exchange("note_count", [], 1),
            exchange("note_count", [], 2),
        ],
        Notes(lambda _name: None),
    )


def test_each_item_of_a_list_keeps_its_own_answer_whatever_is_asked_with_it() -> None:
    asked = answers()
    assert asked.to(names("c.md", "b.md")) == [None, B]
    assert asked.to(LinkTargets(NoteId("a.md"), [TWO, NEW])) == [LinkTarget(B), LinkTarget(None)]
    with pytest.raises(NotRecorded):
        asked.to(names("never.md"))


def test_a_question_put_otherwise_gets_the_answer_of_the_one_asked_in_its_place() -> None:
    asked = answers()
    assert asked.to(Search(SearchQuery("Y", 1))).total == 1
    assert asked.to(Search(SearchQuery("Z", 1))).total == 2
    with pytest.raises(NotRecorded):
        asked.to(Overview(5))


# -- values --


def redaction() -> Any:
    part = Slice("log", EMPTY, msgspec.json.encode(visits_from(0)), [], {NOTE_SHA: NOTE_TEXT}.get)
    store = EvictableBlobStore(Path(tempfile.mkdtemp()))
    return recording_redaction._Redaction(part, Pseudonyms(KEY), store)


NOTE_TEXT = b"Canaryword in a note"
NOTE_SHA = sha256(NOTE_TEXT).hexdigest()

_SCALARS: Any = {
    msgspec.inspect.IntType: 1,
    msgspec.inspect.FloatType: 1.5,
    msgspec.inspect.BoolType: True,
    msgspec.inspect.NoneType: None,
}


def sample(kind: Any, *, plain: bool = False) -> Any:
    """JSON of a type with a canary in every text but those that are listed as plain."""
    info = msgspec.inspect
    match kind:
        case info.StructType():
            return sample_struct(kind, plain=plain)
        case info.UnionType():
            return sample(next(each for each in kind.types if not isinstance(each, info.NoneType)), plain=plain)
        case info.ListType() | info.VarTupleType():
            return [sample(kind.item_type, plain=plain)]
        case info.TupleType():
            return [sample(each, plain=plain) for each in kind.item_types]
        case info.DictType():
            return {sample(kind.key_type, plain=plain): sample(kind.value_type, plain=plain)}
        case info.LiteralType():
            return kind.values[0]
        case info.RawType():
            return sample(info.type_info(RecordedNote))
        case info.StrType():
            return "path" if plain else "0" * 64 if kind.pattern else "Canaryword"
    return _SCALARS[type(kind)]


def sample_struct(kind: Any, *, plain: bool) -> dict[str, Any]:
    hidden = recording_redaction._PLAIN.get(kind.cls, frozenset())
    made = {each.encode_name: sample(each.type, plain=plain or each.name in hidden) for each in kind.fields}
    if kind.cls is RecordedNote:
        made |= {"text": NOTE_SHA, "sha256": "Canaryword"}
    return made if kind.tag_field is None else {kind.tag_field: kind.tag, **made}


@pytest.mark.parametrize("kind", [*ANSWER_TYPES.values(), WorkspaceState, VisitFold], ids=str)
def test_every_text_of_every_answer_is_hidden_unless_it_is_listed(kind: Any) -> None:
    value = msgspec.json.decode(msgspec.json.encode(sample(msgspec.inspect.type_info(kind))), type=kind)
    if isinstance(value, WorkspaceState):
        value = replace(value, conversations=NO_CONVERSATIONS, peers=NO_PEERS)  # as `redact` does
    hidden = msgspec.json.encode(redaction().value(value)).decode()
    assert "canaryword" not in hidden.casefold()
    assert msgspec.json.decode(hidden, type=kind) is not None


def test_where_a_file_lay_on_its_disk_is_hidden() -> None:
    note = RecordedNote(Note.__struct_fields__[0], StatKey(17, 18, 19, 20, 21), 22, "s", NOTE_SHA)  # type: ignore[arg-type]
    assert redaction().value(note).stat == StatKey(0, 0, 19, 20, 21)


def test_a_damaged_recording_counts_as_none(called: Any) -> None:
    def damaged(_name: str) -> bytes | None:
        raise LogDamaged("not what its name says")

    with DirectorySource(called.data) as source, tempfile.TemporaryDirectory() as directory:
        part = cut(source)
        part.blob = damaged
        assert redact(part, Pseudonyms(KEY), EvictableBlobStore(Path(directory))).calls_lost == 1
