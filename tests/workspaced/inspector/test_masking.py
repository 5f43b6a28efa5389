"""`Mask`: nothing of a withheld note is in what the inspector shows, and all else is as the log has it.

Two worlds: with secrets of different lengths, what is masked is the same to the byte.
"""

import json
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import hypothesis
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversation import NotesTalk
from support.past_world import V, World
from support.profiles import examples
from support.random_log import NOTES, W, random_log

from workspaced.errors import NoDaemon
from workspaced.inspector.masking.mask import Mask, Withheld
from workspaced.inspector.masking.masked_events import to_json as event_json
from workspaced.inspector.masking.withheld_notes import FRESH_S, Ask, Standing, asking
from workspaced.limits import WITHHELD_ASKED_MAX
from workspaced_events.ids import ConversationId, EventId, NoteId, VaultId
from workspaced_events.privacy.event_redaction import TAGS
from workspaced_events.projections.conversations import Message
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, Selection, StateJson, to_json
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, ENTRY_OF, Event, Redact, UnknownEvent
from workspaced_events.schema.codec import encode_event
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.audit.rebuild import rebuild

SECRETS = ("Xylophanes", "Hunter2 and a much longer name than the other one", "日本語の秘密 Ünïcode")
"""Of different lengths, in characters and in bytes."""
TIME = "2026-01-01T00:00:00.000000Z"


def nothing_kept(_name: str) -> None:
    """A log that keeps no blobs."""


def ask_of(is_withheld: Callable[[str], bool], exists: Callable[[str], bool] = lambda _note: True) -> Ask:
    def ask(_vault: VaultId, notes: Collection[NoteId]) -> dict[NoteId, Standing]:
        return {note: "withheld" if is_withheld(note) else "shown" for note in notes if exists(note)}

    return ask


def hiding(secret: str, exists: Callable[[str], bool] = lambda _note: True) -> Ask:
    """Withholds every note whose path holds the secret."""
    return ask_of(lambda note: secret in note, exists)


def event_of(data: Any, seq: int = 7, vault: VaultId | None = V) -> Event:
    made: Event = ENTRY_OF[type(data)].event(seq, EventId(f"e{seq}"), TIME, "ui", vault, data)
    return made


# -- every type of event --

NAMELESS = {
    *(
        "link_changed",
        "vault_opened",
        "vault_closed",
        "vault_switched",
        "active_note_cleared",
        "sharing_set",
        "volunteering_set",
    ),
    *("pause_started", "pause_ended", "view_opened", "view_closed", "event_forgotten", "record_forgotten"),
    *("temporary_tabs_reordered", "temporary_tabs_cleared", "temporary_tabs_expired", "clock_stepped"),
    *("log_recovered", "daemon_started", "daemon_stopped", "memory_write_ended"),
    *("conversation_started", "conversation_branched", "conversation_ended", "message_removed", "summary_set"),
    *("usage_reported", "context_withdrawn", "prompt_overlaid", "prompt_answered"),
}
"""Types of which no field names a note. A new type is either here, or masked."""


NAMED_IN_TEXTS = {
    *("tool_called", "context_volunteered", "context_inserted"),
    *("prompt_assembled", "message_added", "message_replaced"),
}
"""Types that name notes in texts beside the log."""


def planted(hint: Any, secret: str, tag: Redact, field: str) -> Any:
    """A value of a field's type with the secret in it, and as long as the secret wherever there is a length."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "note" if "note" in parts else parts[0]
    if origin is Annotated or type(None) in parts:
        return planted(parts[0], secret, tag, field)
    if origin is tuple:
        return (planted(parts[0], secret, tag, field),) * 2
    if origin is dict:
        return {"reference": f"{secret}.md", secret: [secret]}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return planted_in(hint, secret)
    if hint is bool:
        return True
    if hint is int:
        return 7 if field in SEQUENCES else len(secret)
    if tag is Redact.HASH:
        return sha256(secret.encode()).hexdigest()
    if tag in (Redact.ID, Redact.CLIENT) or field in ("tool", "now"):
        return "a name"
    return (
        f"{secret}.md" if hint is NoteId or field == "id" else str(len(secret)) if tag is Redact.PUBLIC else secret
    )


SEQUENCES = {"as_of_seq", "tail_seq", "from_seq", "limit", "undoes", "answer_version"}


def planted_in(struct: Any, secret: str) -> Any:
    hints = get_type_hints(struct, include_extras=True)
    values = {name: planted(hints[name], secret, tag, name) for name, tag in TAGS[struct].items()}
    if struct is c.TemporaryTabClosed:
        values["tab_id"] = None
    return struct(**values)


def told(mask: Mask, event: Event) -> Any:
    """The event as views show it."""
    (shown,) = mask.shown([event])
    return json.loads(bytes(shown.event)), shown.sentence, shown.notes


@pytest.mark.parametrize("name", sorted(CATALOGUE.keys() - NAMELESS))
def test_no_secret_of_a_withheld_note_is_in_any_event(name: str) -> None:
    worlds = set()
    for secret in SECRETS:
        event = event_of(planted_in(CATALOGUE[name].data, secret))
        assert secret in encode_event(event).decode() or name == "prompt_assembled"
        mask = Mask(hiding(secret), nothing_kept)
        shown = mask.event(event)
        text = json.dumps([shown, told(mask, event)], ensure_ascii=False)
        assert secret not in text and sha256(secret.encode()).hexdigest() not in text
        assert shown["withheld"]["reason"]
        assert shown["seq"] == 7 and shown["type"] == name and shown["id"] is None
        worlds.add(text)
    assert len(worlds) == 1


@pytest.mark.parametrize("name", sorted(NAMELESS))
def test_an_event_that_names_no_note_stays(name: str) -> None:
    event = event_of(planted_in(CATALOGUE[name].data, "words"))
    assert told(Mask(hiding(""), nothing_kept), event) == told(Mask(None, nothing_kept), event)
    assert msgspec.json.encode(Mask(hiding(""), nothing_kept).event(event)) == encode_event(event)


@pytest.mark.parametrize("name", sorted(CATALOGUE.keys() - NAMED_IN_TEXTS))
def test_an_event_about_shown_notes_stays_byte_for_byte(name: str) -> None:
    event = event_of(planted_in(CATALOGUE[name].data, "words"))
    assert msgspec.json.encode(Mask(hiding("secret"), nothing_kept).event(event)) == encode_event(event)


def test_an_event_of_an_unknown_type_shows_no_data() -> None:
    event = UnknownEvent(
        7, EventId("secret.md"), TIME, "ui", V, kind="zoomed", data=msgspec.Raw(b'{"to":"secret.md"}')
    )
    assert "secret" not in json.dumps(Mask(hiding("secret"), nothing_kept).event(event))
    assert Mask(None, nothing_kept).event(event)["data"] == {"to": "secret.md"}


def test_a_file_beside_the_vaults_is_no_note_of_theirs() -> None:
    event = event_of(c.MemoryWritten(NoteId("/memories/a.md"), "create", "agent"))
    assert Mask(ask_of(lambda _note: True), nothing_kept).event(event) == event_json(event)


def test_of_several_notes_only_the_withheld_ones_have_pseudonyms() -> None:
    mask = Mask(hiding("secret"), nothing_kept)
    event = event_of(c.PinnedNotesReordered((NoteId("a.md"), NoteId("secret.md"), NoteId("other secret.md"))))
    assert mask.event(event)["data"]["notes"] == ["a.md", "(withheld 1)", "(withheld 2)"]
    moved = event_of(c.NoteRenamed(NoteId("secret.md"), NoteId("b.md")))
    assert mask.event(moved)["data"] == {"from": "(withheld 1)", "to": "b.md"}


def test_of_several_blocks_only_those_of_withheld_notes_lose_their_sizes() -> None:
    blocks = tuple(c.LibraryEntry(each, "note", "0" * 64, "1" * 64, 12, "m") for each in ("a.md", "secret.md"))  # type: ignore[arg-type]
    rebased = c.LibraryRebased(conversation="talk", reason="asked", library=blocks)  # type: ignore[arg-type]
    shown = Mask(hiding("secret"), nothing_kept).event(event_of(rebased))["data"]["library"]
    assert shown[0] == msgspec.to_builtins(blocks[0])
    assert shown[1] == {
        **dict.fromkeys(shown[0]),
        "id": "(withheld 1)",
        "kind": "note",
        "message": "m",
    }


# -- random logs --


@hypothesis.settings(max_examples=examples(60))
@given(st.integers(0, 10_000), st.sets(st.sampled_from(NOTES)))
def test_a_log_and_its_states_name_no_withheld_note_and_are_the_same_otherwise(
    seed: int, withheld: set[NoteId]
) -> None:
    events = random_log(seed, 60, (V, W))
    mask = Mask(ask_of(withheld.__contains__), nothing_kept)
    for event, shown in zip(events, mask.events(events), strict=True):
        line = encode_event(event)
        if names_one(line, withheld) or isinstance(event.data, c.ToolCalled | c.PromptAssembled):
            assert not names_one(msgspec.json.encode(shown), withheld)
        else:
            assert msgspec.json.encode(shown) == line
    for count in (20, 40, 60):
        state = fold_all(events[:count], EMPTY)
        for vault in (V, W):
            plain = to_json(state, vault)
            masked = mask.state(plain, vault)
            if names_one(msgspec.json.encode(plain), withheld):
                assert not names_one(msgspec.json.encode(masked), withheld)
            else:
                assert masked == plain


def names_one(line: bytes, notes: set[NoteId]) -> bool:
    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from texts(each)

    return not notes.isdisjoint(texts(json.loads(line)))


# -- states --


def state_with(secret: str) -> StateJson:
    note = NoteId(f"{secret}.md")
    data = [
        c.VaultOpened(V, "Brain", "/brain"),
        c.NotePinned(NoteId("a.md")),
        c.TemporaryTabOpened(NoteId(f"tab {secret}.md"), "search"),
        c.NotePinned(NoteId(f"pin {secret}.md")),
        c.ActiveNoteSet(note),
        c.SelectionChanged(note, len(secret), 2 * len(secret), text=f"of {secret}"),
        c.NoteArchived(NoteId(f"old {secret}.md")),
    ]
    return to_json(fold_all([event_of(each, seq) for seq, each in enumerate(data, start=1)], EMPTY))


def test_no_secret_is_in_a_state() -> None:
    states = [Mask(hiding(secret), nothing_kept).state(state_with(secret)) for secret in SECRETS]
    assert states[1:] == states[:-1]
    state = states[0]
    assert not any(secret.encode() in msgspec.json.encode(state) for secret in SECRETS)
    assert state.pinned_notes[0].id == "a.md" and state.active_note is not None
    assert state.selection == Selection(state.active_note.id, 0, 0, TIME)


def test_every_field_of_a_state_that_names_notes_is_masked() -> None:
    """A field that is added must be masked too (`masking._notes_of`)."""

    def naming(hint: Any, path: str) -> Iterator[str]:
        if hint is NoteId:
            yield path
        elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            for name, each in get_type_hints(hint).items():
                yield from naming(each, f"{path}.{name}")
        else:
            for part in get_args(hint):
                yield from naming(part, path)

    assert set(naming(StateJson, "state")) == {
        "state.active_note.id",
        "state.pinned_notes.id",
        "state.temporary_tabs.note_id",
        "state.recent_notes.id",
        "state.selection.note",
        "state.archived",
    }


# -- calls --


@pytest.fixture
def world_of(tmp_path: Path) -> Iterator[Callable[[str], World]]:
    made: list[World] = []

    def make(secret: str) -> World:
        names = f"title: {secret} title\naliases: [{secret} alias]"
        text = f"---\n{names}\n---\n# {secret}\n\nzebra [[a]] {secret} text\n"
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(World(folder, {f"{secret}.md": text, "a.md": "# A\n\nzebra\n", "b.md": "# B\n"}))
        return made[-1]

    yield make
    for each in made:
        each.close()


def exists_in(world: World) -> Callable[[str], bool]:
    return lambda note: (world.folder / note).is_file()


def mask_of(world: World, secret: str) -> Mask:
    """Withholds the secret note now; when the calls were made it was shown."""
    return Mask(hiding(secret, exists_in(world)), world.blobs.get)


def called(world: World, tool: str, **arguments: Any) -> tuple[Event, bytes]:
    """A call that is recorded with its answer."""
    answer = world.call(tool, **arguments)
    world.blobs[sha256(answer).hexdigest()] = answer
    return world.events.all[world.flush()[-1] - 1], answer


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_workspace_context", {}),
    ("get_current_note", {"includeLinks": True}),
    ("get_note_by_reference", {"reference": "{}.md"}),
    ("get_note_by_reference", {"reference": "[[{} title]]"}),
    ("get_note_by_reference", {"reference": "{} alias"}),
    ("get_note_by_reference", {"reference": "{} of old, gone"}),
    ("search_workspace", {"query": "zebra"}),
    ("get_related_notes", {"reference": "a.md"}),
    ("get_navigation_history", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=[f"{tool} {args}" for tool, args in CALLS])
def test_a_call_that_shows_a_withheld_note_is_withheld_whole(
    world_of: Callable[[str], World], tool: str, arguments: dict[str, Any]
) -> None:
    shown = []
    for secret in SECRETS:
        world = world_of(secret)
        world.append(c.ActiveNoteSet(NoteId(f"{secret}.md")))
        filled = {name: each.format(secret) if isinstance(each, str) else each for name, each in arguments.items()}
        event, answer = called(world, tool, **filled)
        assert secret in answer.decode() + json.dumps(filled)
        mask = mask_of(world, secret)
        assert mask.withheld_in(event) in (Withheld(1), Withheld(None))
        event_shown = mask.event(event)
        assert event_shown["data"]["bytes"] is None and event_shown["data"]["resultSha256"] is None
        shown.append(
            msgspec.json.encode([event_shown, mask.text(event, answer.decode()), mask.text(event, filled)])
        )
        assert secret.encode() not in shown[-1]
    assert shown[1:] == shown[:-1]


def test_a_call_about_shown_notes_stays(world_of: Callable[[str], World]) -> None:
    world = world_of("Secret")
    world.append(c.ActiveNoteSet(NoteId("a.md")))
    for tool, arguments in (
        ("get_current_note", {}),
        ("get_note_by_reference", {"reference": "b"}),
        ("get_workspace_context", {"includeContent": True}),
        ("search_workspace", {"query": "nothing like it"}),
        ("get_note_diff", {"reference": "b.md", "since": 2}),
        ("get_context_manifest", {}),
    ):
        event, answer = called(world, tool, **arguments)
        mask = mask_of(world, "Secret")
        assert mask.withheld_in(event) is None, tool
        assert mask.text(event, answer) is answer
        assert msgspec.json.encode(mask.event(event)) == encode_event(event)


def test_a_call_whose_recording_is_gone_is_withheld(world_of: Callable[[str], World]) -> None:
    world = world_of("Secret")
    event, _answer = called(world, "get_note_by_reference", reference="a.md")
    del world.blobs[event.data.inputs_sha256]
    assert mask_of(world, "Secret").withheld_in(event) == Withheld(None)


def test_a_reference_that_nothing_was_found_for_is_withheld(world_of: Callable[[str], World]) -> None:
    world = world_of("Secret")
    event, _answer = called(world, "get_note_by_reference", reference="My diary")
    assert "diary" not in json.dumps(mask_of(world, "Secret").event(event))


# -- prompts --


def prompt_about(world: World, *notes: str, **settings: Any) -> tuple[NotesTalk, Event]:
    """A prompt in whose earlier turns stand the first notes, and in whose own turn the last one."""
    talk = NotesTalk(world, **settings)
    for note in notes[:-1]:
        talk.turn("So?", note)
    for note in notes[:-1]:
        world.write(note, (world.folder / note).read_text() + f"\nOne line more in {note}.\n")
    talk.say("And now?", notes[-1])
    talk.prompt()
    return talk, world.events.all[-1]


@pytest.mark.parametrize("promotion", ["each_turn", "at_fold"], ids=["library", "transcript"])
@pytest.mark.parametrize("order", [("a.md", "{}.md"), ("{}.md", "a.md"), ("{}.md", "b.md", "a.md")])
def test_a_prompt_loses_the_blocks_of_withheld_notes(
    world_of: Callable[[str], World], order: tuple[str, ...], promotion: c.Promotion
) -> None:
    shown = []
    for secret in SECRETS:
        world = world_of(secret)
        talk, event = prompt_about(world, *(each.format(secret) for each in order), promotion=promotion)
        before = talk.conversations.by_id[talk.id]
        envelope = rebuild(event.data, before, talk.texts).envelope
        assert secret in msgspec.json.encode(envelope).decode()
        mask = mask_of(world, secret)
        assert mask.withheld_in(event) == Withheld(1)
        manifest = mask.manifest(event)
        assert not isinstance(manifest, Withheld) and manifest.withheld
        assert "a.md" in {entry.id for entry in manifest.manifest.entries}
        masked = msgspec.json.encode([mask.event(event), manifest, mask.envelope(event, envelope)])
        assert secret.encode() not in masked
        # A transcript holds earlier turns as messages, which are withheld whole.
        is_in_a_message = promotion == "at_fold" and order[-1] != "a.md"
        assert (b"zebra" in masked) != is_in_a_message, "the text of the note that is shown"
        shown.append(masked)
    assert shown[1:] == shown[:-1]


def test_a_prompt_about_shown_notes_stays(world_of: Callable[[str], World]) -> None:
    world = world_of("Secret")
    talk, event = prompt_about(world, "a.md", "b.md")
    envelope = assemble(talk.now, talk.acquired(), talk.texts).envelope
    mask = mask_of(world, "Secret")
    assert mask.withheld_in(event) is None
    assert msgspec.json.encode(mask.envelope(event, envelope)) == msgspec.json.encode(envelope)
    assert msgspec.json.encode(mask.event(event)) == encode_event(event)
    manifest = mask.manifest(event)
    assert not isinstance(manifest, Withheld)
    assert msgspec.json.encode(manifest.manifest) == world.blobs[event.data.manifest_sha256]


def test_a_prompt_that_is_not_kept_shows_no_sizes(world_of: Callable[[str], World]) -> None:
    world = world_of("Secret")
    talk, event = prompt_about(world, "Secret.md", "a.md")
    envelope = rebuild(event.data, talk.now, talk.texts).envelope
    del world.blobs[event.data.manifest_sha256]
    mask = mask_of(world, "Secret")
    assert mask.withheld_in(event) == Withheld(None)
    assert mask.event(event)["data"]["estimate"] is None
    shown = mask.envelope(event, envelope)
    assert shown["manifest"] == {"withheld": None} and "Secret" not in json.dumps(shown)
    with pytest.raises(NotRecorded):
        mask.manifest(event)


# -- names, answers, and what changes --


def test_a_pseudonym_is_the_same_wherever_the_note_is_named() -> None:
    mask = Mask(hiding("secret"), nothing_kept)
    first = mask.path(V, NoteId("secret.md"))
    assert mask.paths(V, [NoteId("a.md"), NoteId("x secret.md"), NoteId("secret.md")]) == [
        "a.md",
        "(withheld 2)",
        first,
    ]
    assert mask.path(W, NoteId("secret.md")) not in (first, "(withheld 2)")
    assert mask.event(event_of(c.NotePinned(NoteId("secret.md"), title="T")))["data"] == {
        "note": first,
        "title": None,
    }
    assert mask.hides(V, NoteId("secret.md")) and not mask.hides(V, NoteId("a.md"))


def test_what_is_unknown_is_withheld() -> None:
    mask = Mask(ask_of(lambda _note: False, exists=lambda note: note == "a.md"), nothing_kept)
    assert not mask.hides(V, NoteId("a.md"))
    assert mask.hides(V, NoteId("b.md")) and mask.hides(None, NoteId("a.md"))


def test_a_mask_without_a_question_hides_nothing() -> None:
    mask = Mask(None, nothing_kept)
    event = event_of(planted_in(c.ToolCalled, "secret"))
    assert mask.reveals and msgspec.json.encode(mask.event(event)) == encode_event(event)
    assert mask.withheld_in(event) is None and mask.path(V, NoteId("secret.md")) == "secret.md"
    assert mask.state(state_with("secret")) == state_with("secret")


class Asked:
    """Counts the questions; `withheld` may change."""

    def __init__(self) -> None:
        self.questions: list[list[NoteId]] = []
        self.withheld: set[str] = set()
        self.now_s = 0.0

    def __call__(self, _vault: VaultId, notes: Collection[NoteId]) -> dict[NoteId, Standing]:
        self.questions.append(list(notes))
        return {note: "withheld" if note in self.withheld else "shown" for note in notes}

    def mask(self) -> Mask:
        return Mask(self, nothing_kept, clock_s=lambda: self.now_s)


def test_an_answer_is_asked_for_again_once_it_is_old_or_forgotten() -> None:
    asked = Asked()
    mask = asked.mask()
    note = NoteId("a.md")
    assert not mask.hides(V, note) and not mask.hides(V, note)
    assert len(asked.questions) == 1
    asked.withheld = {"a.md"}
    mask.forget_named(event_of(c.NoteWithheld(NoteId("b.md"))))
    assert not mask.hides(V, note)
    mask.forget_named(event_of(c.NoteWithheld(note)))
    assert mask.hides(V, note)
    asked.withheld = set()
    asked.now_s += FRESH_S / 2
    assert mask.hides(V, note)
    asked.now_s += FRESH_S
    assert not mask.hides(V, note)


def test_many_events_are_few_questions() -> None:
    asked = Asked()
    events = [event_of(c.NotePinned(NoteId(f"{number}.md"))) for number in range(WITHHELD_ASKED_MAX + 1)]
    asked.mask().events(events)
    assert [len(each) for each in asked.questions] == [WITHHELD_ASKED_MAX, 1]
    asked.questions.clear()
    asked.mask().paths(V, [NoteId(f"{number} {'é' * 1_000}") for number in range(200)])
    assert all(len(json.dumps({"notes": each})) < 1_000_000 for each in asked.questions)


def test_the_daemons_answer_is_read_by_level() -> None:
    def call(method: str, params: dict[str, Any]) -> Any:
        assert (method, params["vault"]) == ("workspaced/withheld", V)
        levels = {"a.md": ("volunteer", True), "asked.md": ("on-request", True), "gone.md": ("never", False)}
        return {
            "notes": [
                {"path": each, "level": levels[each][0], "known": levels[each][1]} for each in params["notes"]
            ]
        }

    notes = [NoteId(each) for each in ("a.md", "asked.md", "gone.md", "../out.md")]
    assert asking(call)(V, notes) == {"a.md": "shown", "asked.md": "withheld", "gone.md": "unknown"}
    mask = Mask(asking(call), nothing_kept)
    assert mask.paths(V, notes) == ["a.md", "(withheld 1)", "(withheld 2)", "(withheld 3)"]


def test_without_an_answer_everything_is_hidden() -> None:
    asked, answers = Asked(), True

    def ask(vault: VaultId, notes: Collection[NoteId]) -> dict[NoteId, Standing]:
        if not answers:
            raise NoDaemon("It is away.")
        return asked(vault, notes)

    mask = Mask(ask, nothing_kept, clock_s=lambda: asked.now_s)
    note = NoteId("a.md")
    pin = c.ContextPinned(conversation=ConversationId("talk"), id="p", kind="folder", folder="Salaries")
    folder = event_of(pin)
    assert not mask.hides(V, note) and b"Salaries" in bytes(mask.shown([folder])[0].event)
    answers = False
    assert not mask.hides(V, note), "the daemon said so a moment ago"
    asked.now_s += FRESH_S + 1
    assert mask.hides(V, note) and mask.path(V, note) == "(withheld 1)"
    shown = json.loads(bytes(mask.shown([folder])[0].event))
    assert "Salaries" not in json.dumps(shown) and shown["withheld"]["notes"] is None
    answers = True
    assert not mask.hides(V, note)


class OnePrompt:
    """Conversations with one prompt."""

    def __init__(self, prompt: Event) -> None:
        self._prompt = prompt

    def prompts_before(self, _seq: int) -> list[Event]:
        return [self._prompt]

    def messages_of(self, _prompt: Event) -> list[Message]:
        return []

    def stood_in(self, answered: c.PromptAnswered) -> list[Event] | None:
        return [self._prompt] if self._prompt.data.insertion == answered.insertion else None


def test_reported_usage_is_hidden_with_its_prompt(world_of: Callable[[str], World]) -> None:
    world = world_of("Secret")
    _, prompt = prompt_about(world, "a.md", "Secret.md")
    usage = c.UsageReported(
        conversation=prompt.data.conversation,
        message=prompt.data.message,
        provider="p",
        model="m",
        input_tokens=4321,
    )
    other = msgspec.structs.replace(usage, message="another")
    ask = hiding("Secret", exists_in(world))
    mask = Mask(ask, world.blobs.get, OnePrompt(prompt))
    for each in (usage, other):  # of the other one no prompt is known
        assert b"4321" not in bytes(mask.shown([event_of(each)])[0].event)
    assert b"4321" in bytes(Mask(None, world.blobs.get).shown([event_of(usage)])[0].event)


def test_what_was_counted_of_a_request_is_hidden_with_what_was_put_into_it() -> None:
    inserted = event_of(planted_in(c.ContextInserted, "Secret"))
    counted = c.PromptAnswered(
        caller="agent", insertion=inserted.data.insertion, body_hash="0" * 64, input_tokens=4321
    )
    for each in (counted, msgspec.structs.replace(counted, insertion="unknown-1")):
        event = event_of(each)
        assert b"4321" in bytes(Mask(None, nothing_kept).shown([event])[0].event)
        mask = Mask(hiding("Secret"), nothing_kept, OnePrompt(inserted))
        assert b"4321" not in bytes(mask.shown([event])[0].event)
