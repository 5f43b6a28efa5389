"""The manifest: everything in exactly one record, sums that are sums, and warnings of what has no cause."""

from collections import Counter

from msgspec.structs import replace
from support.conversation import Talk

from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.assembly.layers import L1_CHANGED, L2_CHANGED
from workspaced_tools.prompts.model.types import Artifact, Policy, Provided


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
