"""What the model is sent: the order of things, what ends the user's words, what cannot be assembled, and the
manifest."""

from collections import Counter

import pytest
from msgspec.structs import replace
from support.conversation import Talk

from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.assembly.layers import L1_CHANGED, L2_CHANGED, message_text
from workspaced_tools.prompts.model.types import Artifact, Block, ChatMessage, Policy, Provided


def test_all_kinds_of_a_turns_context_stand_in_one_order() -> None:
    chat = Talk()
    chat.ask("1", chat.read("old.md", "Old."))
    turn = chat.ask(
        "2",
        Artifact("note", "gone.md", "", failed="NOTE_NOT_FOUND"),
        chat.read("active.md", "Active.", kind="active_note"),
        chat.read("new.md", "New."),
        chat.read("old.md", "Old."),
        chat.read("1", "Found.", kind="tool_result", title="web_search"),
        chat.read("x.png", "bytes", kind="image", media_type="image/png"),
        Artifact("image", "y.png", "y.png", failed="IMAGE_NOT_READ"),
        provided=(chat.provided("p", "Pinned."), Provided("q", "note", failed="NOTE_NOT_FOUND")),
    )
    [*_, message] = turn.messages
    assert [block.type for block in message.content] == ["text", "text", "text", "image"]
    pinned, broken, text, image = message.content
    assert pinned.text == (
        "<pinned_context>\n<title>p</title>\n<source>text</source>\n<content>\nPinned.\n</content>\n</pinned_context>"
    )
    assert broken.text == "[Pinned context unavailable: q]"
    assert image == Block("image", blob=chat.keep("bytes"), media_type="image/png")
    marks = [
        "# Additional context:\n\n<web_search",
        "Attached: old.md (above)",
        "<path>new.md",
        "<active_note",
        "[Attachment unavailable: gone.md]\n\n[Image unavailable: y.png]\n\n---\n\n[User query]:\n\n2",
    ]
    assert text.text is not None and text.text.startswith(marks[0]) and text.text.endswith(marks[-1])
    places = [text.text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_where_there_are_only_carriers_pins_come_before_all_else() -> None:
    chat = Talk()
    chat.answer("", "one")
    chat.results("one")
    chat.answer("", "two", "three")
    results = tuple(c.ToolResult(call, "look", chat.keep("found")) for call in ("two", "three"))
    carrier = chat.say("And this.", tool_results=results)
    turn = chat.prompt(carrier, provided=(chat.provided("p", "Pinned."),))
    assert [each.role for each in turn.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert ["Pinned." in (block.text or "") for block in turn.messages[1].content] == [True]
    last = turn.messages[5].content
    assert [block.type for block in last] == ["toolResult", "toolResult", "text"]
    assert last[2].text == "And this."


def test_a_turn_of_another_conversation_or_version_or_of_no_message_is_refused() -> None:
    chat = Talk()
    turn = chat.turn(chat.say("1"))
    for wrong in (
        replace(turn, conversation=ConversationId("other")),
        replace(turn, version=0),
        replace(turn, message=MessageId("none")),
    ):
        with pytest.raises(ArgumentInvalid):
            assemble(chat.now, wrong, chat.texts)


@pytest.mark.parametrize(
    "other",
    [
        ChatMessage("assistant", (Block("text", "a"),)),
        ChatMessage("user", (Block("text", "b"),)),
        ChatMessage("user", (Block("toolResult", "a", "1", "look"),)),
        ChatMessage("user", (Block("toolResult", "a", "1", "look", is_error=True),)),
        ChatMessage("user", (Block("toolResult", "a", "2", "look"),)),
        ChatMessage("assistant", (Block("toolCall", "a", "1", "look"),)),
        ChatMessage("assistant", (Block("thinking", "a", signature="s"),)),
        ChatMessage("assistant", (Block("thinking", "a", signature="t"),)),
        ChatMessage("user", (Block("image", blob="1", media_type="image/png"),)),
        ChatMessage("user", (Block("image", blob="2", media_type="image/png"),)),
        ChatMessage("user", (Block("image", blob="2", media_type="image/gif"),)),
    ],
)
def test_all_that_is_sent_of_a_message_is_in_its_layers_text(other: ChatMessage) -> None:
    texts = {message_text(ChatMessage("user", (Block("text", "a"),))), message_text(other)}
    assert len(texts) == 2


def test_each_thing_is_in_one_record_that_says_what_became_of_it() -> None:
    chat = Talk(system="S", memory=" ", tools="[]")
    chat.policy = Policy(each_turn=True)
    chat.ask("1", chat.read("old.md", "Old."))
    chat.answer("", "unanswered")
    envelope = chat.ask(
        "2",
        chat.read("old.md", "Old."),
        chat.read("new.md", "New."),
        chat.read("x.png", "bytes", kind="image", media_type="image/png"),
        chat.read("x.pdf", "bytes", kind="pdf", media_type="application/pdf"),
        Artifact("note", "gone.md", "Gone", failed="NOTE_NOT_FOUND"),
        chat.read("new.md", "New."),
        provided=(
            chat.provided("pin", "Pinned."),
            chat.provided("blank", " \n"),
            Provided("none", "folder"),
            Provided("broken", "note", failed="NOTE_NOT_FOUND"),
        ),
    )
    records = {
        (each.layer[:2], each.id, each.kind, each.state, each.why)
        for each in envelope.manifest.entries
        if each.kind != "frame" and each.kind != "tool_call"
    }
    assert records == {
        ("L1", "system", "section", "full", "section"),
        ("L1", "memory", "section", "empty", "section"),
        ("L2", "old.md", "note", "full", "library"),
        ("L3", "old.md", "note", "reference", "attached"),
        ("L3", "new.md", "note", "full", "attached"),
        ("L3", "new.md", "note", "dropped", "duplicate"),
        ("L3", "x.png", "image", "full", "attached"),
        ("L3", "x.pdf", "pdf", "failed", "attached"),
        ("L3", "gone.md", "note", "failed", "attached"),
        ("L3", "pin", "text", "full", "pinned"),
        ("L3", "blank", "text", "empty", "pinned"),
        ("L3", "none", "folder", "empty", "pinned"),
        ("L3", "broken", "note", "failed", "pinned"),
        ("L4", "m1", "message", "full", "history"),
        ("L4", "old.md", "note", "elided", "fold"),
        ("L4", "m2", "message", "full", "history"),
        ("L4", "m3", "message", "dropped", "filtered"),
        ("L5", "m4", "query", "full", "query"),
    }
    assert max(Counter((each.layer, each.id, each.state) for each in envelope.manifest.entries).values()) == 1


def test_a_first_layer_that_changed_without_a_cause_in_the_log_is_warned_of() -> None:
    chat = Talk()
    chat.ask("1")
    [section] = chat.now.settings.sections
    chat.blobs[section.text_sha256] = b"What no event tells of."
    assert chat.ask("2").manifest.warnings == (L1_CHANGED,)


def test_a_library_that_does_not_begin_as_before_is_warned_of() -> None:
    chat = Talk()
    chat.policy = Policy(each_turn=True)
    chat.ask("1", chat.read("a.md", "A."), chat.read("b.md", "B."))
    chat.ask("2")
    message = chat.say("3")
    turn = chat.turn(message)
    lost = replace(chat.now, library=chat.now.library[1:])
    assert assemble(lost, turn, chat.texts).envelope.manifest.warnings == (L2_CHANGED,)
    assert assemble(chat.now, turn, chat.texts).envelope.manifest.warnings == ()
