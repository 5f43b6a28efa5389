"""`get_context_manifest`: what a prompt held and left out, as far as the client may know it by now."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import conversation as w
from support import past_world
from support.gate import shared_view

from workspaced_events.ids import ConversationId, NoteId, VaultId
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Sharing, ToolCalled
from workspaced_tools.limits import MANIFEST_CHARS_MAX
from workspaced_tools.ports.questions import ManifestOf
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import manifest_at
from workspaced_tools.prompts.model.stored_texts import texts_in
from workspaced_tools.recording.format import read_recording
from workspaced_tools.recording.view_recorder import ViewRecorder, recorded
from workspaced_tools.replay.call_replay import Answers, Notes, replay_answer
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import payload_of, run

TOOL = "get_context_manifest"
DIARY = "private/diary.md"
NOTES = {
    "a.md": "# Alpha\n\nThe first.\n",
    "b.md": "# Beta\n\nThe second, much longer than the first one.\n",
    DIARY: "# Diary\n\nDear diary.\n",
}
Json = dict[str, Any]


class Held:
    """A conversation of three prompts, the second of which has the diary and a pin that shows it."""

    def __init__(self, folder: Path, check: Callable[[str, Json], None]) -> None:
        self.world = past_world.World(folder, NOTES)
        self.chat = w.NotesTalk(self.world)
        self.check = check
        self.private: set[str] = set()
        self.chat.turn("One", "a.md", "gone.md")
        self.chat.pin("pinned-diary", "note", path=NoteId(DIARY))
        self.chat.turn("Two", "a.md", "b.md", DIARY)
        self.chat.unpin("pinned-diary")
        self.chat.turn("Three", "a.md", w.c.Attachment("selected_text", f"{DIARY}#L1-L3", self.chat.keep(b"Dear")))

    def view(self, level: Sharing) -> View:
        state = self.world.state
        prompts = partial(manifest_at, state.conversations, state.current, texts_in(self.world.blobs.get))
        return shared_view(
            state,
            past_world.event_time(0),
            self.world.vault,
            prompts=prompts,
            level=level,
            withheld=self.is_private,
            refresh_flags=self.world.vault.notes.names,
        )

    def is_private(self, note: NoteId) -> bool:
        """As `WithheldNames`, also under a former path."""
        former = self.world.state.of(self.world.state.current).former
        return not self.private.isdisjoint({note, former.get(note, note)})

    def asked(self, *, level: Sharing = "all", **arguments: Any) -> Json:
        result = run(TOOLS[TOOL], self.view(level), arguments)
        self.check(TOOL, result)
        answer: Json = json.loads(msgspec.json.encode(result))
        return answer

    def entries(self, **arguments: Any) -> list[Json]:
        layers = self.asked(**arguments)["data"]["layers"]
        return [{"layer": layer["id"], **entry} for layer in layers for entry in layer["entries"]]


@pytest.fixture
def held(tmp_path: Path, check_result: Callable[[str, Json], None]) -> Iterator[Held]:
    made = Held(tmp_path / "vault", check_result)
    yield made
    made.world.close()


# -- what is told --


def test_of_the_last_prompt_every_entry_is_told_with_its_size(held: Held) -> None:
    told = held.asked()
    data, manifest = told["data"], held.chat.prompt(held.chat.now.prompts[-1].message).envelope.manifest
    assert (data["conversation"], data["message"]) == (manifest.conversation, manifest.message)
    assert data["estimate"] == manifest.estimate
    assert [layer["tokens"] for layer in data["layers"]] == [layer.tokens for layer in manifest.layers]
    assert [
        (each["layer"], each["id"], each["state"], each["why"], each["tokens"]) for each in held.entries()
    ] == [(each.layer, each.id, each.state, each.why, each.tokens) for each in manifest.entries]
    assert "warnings" not in told and str(manifest.limit) in told["message"]


def test_a_prompt_is_named_by_its_message(held: Held) -> None:
    failed = next(each for each in held.entries(message="m1") if each["id"] == "gone.md")
    assert (failed["state"], failed["detail"]) == ("failed", "NOTE_NOT_FOUND")
    assert held.asked(conversation="chat", message="m1")["data"]["message"] == "m1"
    assert "1 of" in held.asked(message="m1")["message"]


def test_the_conversation_that_was_spoken_of_last_and_has_a_prompt_is_meant(held: Held) -> None:
    for name in ("second", "third"):
        start = c.ConversationStarted(
            conversation=ConversationId(name), provider="p", model="m", context_window=10, output_reserve=1
        )
        held.world.append(start)
    assert held.asked()["data"]["conversation"] == "chat"
    assert held.asked(conversation="third")["code"] == "NOT_RECORDED"


@pytest.mark.parametrize(
    "wrong", [{"conversation": "x" * 500}, {"message": "m2"}, {"message": ""}, {"message": 7}]
)
def test_what_there_is_none_of_is_an_invalid_argument_that_names_the_latest(held: Held, wrong: Json) -> None:
    told = held.asked(**wrong)
    assert told["code"] == "INVALID_ARGUMENT" and told["message"]
    assert len(told["error"]) < 300


def test_conversations_of_another_vault_are_not_there(held: Held) -> None:
    held.world.append(c.VaultOpened(VaultId("other"), "Other", "/elsewhere"))
    held.world.append(c.VaultSwitched(VaultId("other")))
    assert held.asked()["code"] == "NOT_RECORDED"
    assert held.asked(conversation="chat")["code"] == "INVALID_ARGUMENT"


def test_a_manifest_that_is_not_kept_is_not_recorded(held: Held) -> None:
    name = held.chat.now.prompts[-1].manifest_sha256
    assert held.world.blobs.pop(name)
    assert held.asked()["code"] == "NOT_RECORDED"
    held.world.blobs[name] = b"[]"
    assert held.asked()["code"] == "NOT_RECORDED"


def test_where_there_is_no_room_what_is_not_whole_stays(held: Held) -> None:
    held.chat.turn("Many", "gone.md", *(held.chat.given("url", f"https://e/{at}", "x") for at in range(600)))
    told = held.asked()
    entries = held.entries()
    assert len(msgspec.json.encode(entries)) < MANIFEST_CHARS_MAX * 2
    assert any(each["id"] == "gone.md" for each in entries) and len(entries) < 600
    assert "left out" in told["warnings"][-1]


# -- what is withheld --


def test_entries_of_a_note_that_is_withheld_by_now_are_left_out_with_their_sizes_and_counted(held: Held) -> None:
    before, manifest = held.entries(message="m3"), held.asked(message="m3")["data"]
    held.private = {DIARY}
    told = held.asked(message="m3")
    after = held.entries(message="m3")
    gone = [each for each in before if each not in after]
    assert {each["id"] for each in gone} == {DIARY, "pinned-diary"}
    assert DIARY not in json.dumps(told) and "pinned-diary" not in json.dumps(told)
    assert told["warnings"] == ["2 entries of notes that are withheld by now are left out."]
    hidden = sum(each["tokens"] for each in gone)
    assert hidden and told["data"]["estimate"] == manifest["estimate"] - hidden
    for was, layer in zip(manifest["layers"], told["data"]["layers"], strict=True):
        assert layer["tokens"] == sum(each["tokens"] for each in layer["entries"])
        assert layer["tokens"] <= was["tokens"]


def test_what_a_withheld_note_shows_is_left_out_though_its_name_is_another(held: Held) -> None:
    (held.world.vault.root.path / "seen.md").write_text("![](x.png)\n")
    held.chat.turn("Four", w.c.Attachment("active_note", "seen.md"))
    assert {"seen.md", "x.png"} <= {each["id"] for each in held.entries()}
    held.private.add("seen.md")
    assert not {"seen.md", "x.png"} & {each["id"] for each in held.entries()}


def test_a_withheld_note_stays_withheld_under_its_former_name(held: Held) -> None:
    held.world.append(c.NoteRenamed(NoteId(DIARY), NoteId("private/now.md")))
    held.private = {"private/now.md"}
    assert "diary" not in json.dumps(held.asked()) + json.dumps(held.asked(message="m3"))


def test_without_a_served_vault_no_note_is_named(held: Held) -> None:
    state = held.world.state
    prompts = partial(manifest_at, state.conversations, state.current, texts_in(held.world.blobs.get))
    view = shared_view(state, "", None, prompts=prompts, level="all", withheld=lambda _note: True)
    told = payload_of(run(TOOLS[TOOL], view, {"message": "m3"})).decode()
    assert '"success":true' in told and ".md" not in told


def test_a_client_that_is_shown_names_learns_no_size_and_no_place(held: Held) -> None:
    told = held.asked(level="names")
    assert "estimate" not in told["data"] and "tokens" not in json.dumps(told["data"])
    assert "tokens" not in told["message"]
    entries = held.entries(level="names", message="m5")
    assert {"a.md", "b.md", DIARY} <= {each["id"] for each in entries}
    assert "#L1" not in json.dumps(told)
    assert all("detail" not in each for each in held.entries(level="names", message="m1"))
    view = held.view("names")
    shown = view.vault.ask(ManifestOf(None, None)).manifest
    assert not any(each.bytes or each.tokens or each.revision for each in shown.entries)
    assert not any(each.bytes or each.tokens or each.hash for each in shown.layers)


@pytest.mark.parametrize("level", ["all", "names"])
@pytest.mark.parametrize("arguments", [{}, {"message": "m3"}, {"conversation": "no"}, {"message": "no"}])
def test_a_call_made_again_tells_of_nothing_withheld(held: Held, arguments: Json, level: Sharing) -> None:
    held.private = {DIARY}
    state = held.world.state
    recorder = ViewRecorder(held.view(level), state)
    payload = payload_of(run(TOOLS[TOOL], recorder.view, arguments))
    recording = recorded(recorder, "agent", lambda _content, _name: None)
    assert b"diary" not in recording
    called = ToolCalled(
        TOOL, "agent", arguments, state.seq, sha256(payload).hexdigest(), len(payload), 1, True, recorder.view.now
    )
    bare = msgspec.structs.replace(state, conversations=past_world.EMPTY.conversations)
    read = read_recording(recording, "it")
    answers = Answers(read.asked, Notes({}.get))
    assert replay_answer(answers, called, read, bare, lambda _vault: ()) == payload
