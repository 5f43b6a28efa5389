"""Whole conversations, random ones: what holds of every prompt, whatever was said, edited and taken back.

A conversation is a list of steps; a step is three numbers, so that one that fails gets small. After each prompt
`Talk.check` holds it against what the log tells, rule by rule.
"""

import re
import tempfile
from collections import Counter
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from support import conversation as w
from support import past_world
from support.profiles import examples

from workspaced_events.ids import MessageId, NoteId
from workspaced_events.projections.conversations import Conversation, compacted, library_of, turn_of
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import ArgumentInvalid, BudgetExceeded
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.model.blocks import NO_ACTIVE_NOTE
from workspaced_tools.prompts.model.sent_so_far import read_turn
from workspaced_tools.prompts.model.sent_turn import SentPart, key_of
from workspaced_tools.prompts.model.types import COMPRESSION_SYSTEM, COMPRESSION_TASK, Assembled, Turn

NOTES = ("a.md", "b.md", "c, d.md", "work/plan.md", "work/日記.md", "pictures.md")
SIZES = (0, 60, 400, 3_000)
WINDOWS = (200_000, 200_000, 12_000, 6_000, 2_500)
RESERVE = 500
NEVER_KEPT = {"selected_text", "tool_result", "image"}
PINS: tuple[tuple[c.ProviderKind, dict[str, Any]], ...] = (
    ("text", {"text": "Pinned words."}),
    ("text", {"text": " \n"}),
    ("note", {"path": NoteId("b.md")}),
    ("note", {"path": NoteId("nowhere.md")}),
    ("folder", {"folder": "work"}),
    ("workspace", {}),
    ("linked-files", {}),
    ("recent-changes", {}),
)
Step = tuple[int, int, int]
steps = st.tuples(st.integers(0, 99), st.integers(0, 9_999), st.integers(0, 9_999))


class Talk:
    """A conversation that is led by numbers, and what was seen of it."""

    def __init__(self, folder: Path, window: int, promotion: c.Promotion = "at_fold") -> None:
        self.versions: Counter[str] = Counter()
        self.world = past_world.World(folder, {note: self.version(note, 1) for note in NOTES})
        self.promotion: c.Promotion = promotion
        self.chat = w.NotesTalk(
            self.world, window=window, reserve=RESERVE, tools='[{"name": "look_up"}]', promotion=promotion
        )
        self.prompts: list[tuple[Turn, Assembled]] = []
        """Of chats."""
        self.refused = 0
        self.moved: dict[str, str] = {}
        self.cause = False
        """Whether since the last prompt something happened that may change what comes first."""
        self.calls = 0

    def version(self, note: str, size: int) -> str:
        """A text that no other version of any note has."""
        self.versions[note] += 1
        filler = f"Words of {note}. </note_context>\n" * (SIZES[size % len(SIZES)] // 20)
        picture = "![[x.png]]\n" if note == "pictures.md" and size % 2 else ""
        return f"{self.mark(note)}\n{picture}[[a]] [[plan]]\n{filler}"

    def mark(self, note: str) -> str:
        return f"<<{note} v{self.versions[note]}>>"

    # -- steps --

    def take(self, step: Step) -> None:
        kind, n, m = step
        bounds = (
            (36, self.ask),
            (42, self.ask_otherwise),
            (55, self.use_tools),
            (62, self.edit),
            (64, self.move),
            (65, self.delete),
            (70, self.look_at),
            (75, self.pin),
            (79, self.unpin),
            (83, self.replace),
            (86, self.remove),
            (88, self.summarise),
            (91, self.report),
            (93, self.change_settings),
            (95, self.say_oddly),
            (97, self.rebase),
            (100, self.ask_again),
        )
        next(act for bound, act in bounds if kind < bound)(n, m)

    def attachments(self, n: int, m: int) -> list[Any]:
        """Up to four; some twice, some that cannot be read."""
        found: list[Any] = []
        for at in range(n % 5):
            which = (m >> (3 * at)) % 25
            if which < 2 * len(NOTES):
                found.append(NOTES[which % len(NOTES)])
                continue
            odd: tuple[Any, ...] = (
                "nowhere.md",
                w.active(),
                w.active(),
                c.Attachment("folder", "work"),
                c.Attachment("tag", "none"),
                self.chat.given("selected_text", f"a.md#L1-L{n}", f"Selected {n}."),
                self.chat.selection(f"b.md#L{n}-L{n}", f"Selected {n}."),
                self.chat.given("url", f"https://x.test/{n % 3}", f"A page {n % 3}."),
                self.chat.given("tool_result", f"call {n}", f"Found {n}.", "look_up"),
                self.chat.given("image", "dot.png", "data:image/png;base64,iVBORw0KGgo="),
                self.chat.given("file", "list.txt", f"- {n % 2}"),
            )
            found.append(odd[(which - 2 * len(NOTES)) % len(odd)])
        return found

    def ask_otherwise(self, n: int, m: int) -> None:
        """For a summary up to a message that is there, or to a new one."""
        name = self._some_message(n)
        if name is None:
            name = self.chat.say("" if n % 3 else f"Do {n}.", *self.attachments(n, m))
        before = self.chat.now
        turn = self.chat.acquired(name, pipeline="compression", rebase=n % 5 == 0)
        try:
            made = assemble(before, turn, self.chat.texts, self.chat.kept)
        except (BudgetExceeded, ArgumentInvalid):
            return
        self.chat.record(turn, made)
        self.check(before, turn, made)
        self.check_other(before, turn, made)

    def ask(self, n: int, m: int) -> None:
        self.chat.say(f"Question {n}? {'And why? ' * (m % 60)}", *self.attachments(n, m))
        if self.prompt():
            self.chat.answer(f"Answer {n}. {'Because. ' * (n % 60)}")

    def use_tools(self, n: int, m: int) -> None:
        """A turn with rounds of tools, whose results may be long, late or never come."""
        self.chat.say(f"Look up {n}.", *self.attachments(n, m))
        self.prompt()
        for _ in range(1 + n % 2):
            self.calls += 1
            calls = [f"call-{self.calls}-{at}" for at in range(1 + m % 2)]
            thinking = c.Thinking(self.chat.keep(b"Hm."), "signed" if n % 3 else None)
            self.chat.answer("" if m % 3 else "One moment.", *calls, thinking=(thinking,))
            given_back = calls[: len(calls) - (m % 7 == 0)]
            if not given_back:
                return
            results = ((call, f"Result. {'row ' * (m % 600)}") for call in given_back)
            self.chat.results(*results, is_error=m % 5 == 0)
            if not self.prompt():
                return
        self.chat.answer("Done.")

    def say_oddly(self, n: int, m: int) -> None:
        """What runtimes say that no provider would take."""
        match n % 4:
            case 0:
                self.chat.results((f"nobody-{m}", "A result without its call."))
            case 1:
                self.chat.answer(None, f"late-{m}")
            case 2:
                self.chat.answer(" \n\t")
            case _:
                self.chat.say("", *self.attachments(n, m))
        if n % 4 != 1:
            self.prompt()

    def edit(self, n: int, m: int) -> None:
        note = NOTES[n % len(NOTES)]
        self.world.write(self.found(note)[0], self.version(note, m))

    def move(self, n: int, m: int) -> None:
        """Under another name, or back."""
        note = NOTES[n % len(NOTES)]
        (at, revision), to = self.found(note), f"old/{m % 3}/{note}" if m % 4 else note
        if revision and not (self.world.folder / to).exists():
            (self.world.folder / to).parent.mkdir(parents=True, exist_ok=True)
            self.world.rename(at, to)
            self.moved.pop(to, None)
            self.moved[at] = to

    def delete(self, n: int, _m: int) -> None:
        self.world.delete(self.found(NOTES[n % len(NOTES)])[0])

    def found(self, note: str) -> tuple[str, str]:
        """Where a note is now, and the hash of what it says; none: it is not there."""
        while note in self.moved:
            note = self.moved[note]
        file = self.world.folder / note
        return note, sha256(file.read_bytes()).hexdigest() if file.exists() else ""

    def look_at(self, n: int, _m: int) -> None:
        self.world.append(c.ActiveNoteSet(note=NoteId(NOTES[n % len(NOTES)])))

    def pin(self, n: int, m: int) -> None:
        kind, of = PINS[n % len(PINS)]
        self.chat.pin(f"pin {m % 4}", kind, **of)

    def unpin(self, _n: int, m: int) -> None:
        self.chat.unpin(f"pin {m % 4}")

    def _some_message(self, n: int) -> MessageId | None:
        """One of the last ten."""
        ids = list(self.chat.now.messages)[-10:]
        return ids[n % len(ids)] if ids else None

    def replace(self, n: int, m: int) -> None:
        name = self._some_message(n)
        if name is not None and self.chat.now.messages[name].role == "user":
            self.chat.say(f"Edited {n}.", *self.attachments(n, m), replaces=name)
            self.cause = True  # a carrier may have become the first message of a turn

    def remove(self, n: int, m: int) -> None:
        """One, or all from it on; another may come under its id."""
        if (name := self._some_message(n)) is not None:
            self.chat.remove(name, following=bool(m % 2))
            self.cause = True
            if m % 4 == 1:
                self.chat.add("user", f"Another {n}, {m}.", name)

    def summarise(self, n: int, _m: int) -> None:
        if (name := self._some_message(n)) is not None:
            self.chat.summarise(f"Summary {n}.", name)
            self.cause = True

    def report(self, n: int, m: int) -> None:
        if self.chat.now.prompts and self.chat.now.prompts[-1].message in self.chat.now.messages:
            self.chat.report(n * 3, min(m, n * 3))

    def change_settings(self, n: int, m: int) -> None:
        now = self.chat.now.settings
        system = f"You help, kind {n % 2}." if m % 2 else " "
        self.chat.start(
            window=now.context_window,
            reserve=RESERVE,
            promotion=self.promotion,
            system=system,
            memory=f"Remember {n % 3}.",
        )
        self.cause = True

    def rebase(self, _n: int, _m: int) -> None:
        if self.chat.now.messages:
            self.prompt(rebase=True)

    def ask_again(self, n: int, _m: int) -> None:
        """The prompt for an earlier message, or for the same one once more."""
        if (name := self._some_message(n)) is not None:
            self.cause = True
            self.prompt(name)
            self.cause = True

    # -- prompts --

    def prompt(self, message: MessageId | None = None, *, rebase: bool = False) -> bool:
        """A prompt that holds what every prompt does; False where there was no room for it."""
        before = self.chat.now
        turn = self.chat.acquired(message, rebase=rebase)
        try:
            made = assemble(before, turn, self.chat.texts, self.chat.kept)
        except BudgetExceeded:
            self.refused += 1
            assert self.chat.now is before
            return False
        self.chat.record(turn, made)
        self.check(before, turn, made)
        self.check_chat(before, turn, made)
        self.cause = False
        self.prompts.append((turn, made))
        return True

    def check(self, before: Conversation, turn: Turn, made: Assembled) -> None:
        is_pure(before, turn, made, self.chat.texts)
        is_whole(made)
        fits(before, turn, made)
        is_valid_for_providers(made)
        records_all_once(before, turn, made)
        has_the_words(before, made, self.chat.texts)

    def check_chat(self, before: Conversation, turn: Turn, made: Assembled) -> None:
        has_what_is_attached(turn, made, self.chat.texts)
        above = Above(before, turn, made, self.chat.texts)
        says_each_thing_once(above, turn, made)
        says_each_pin_once(above, turn, made)
        if turn.message == turn_of(before, turn.message):
            names_what_changed(above, turn, made, self)
        folds_whole_turns_and_far_enough(before, turn, made)
        if self.prompts and not self.cause and self.prompts[-1][0].message != turn.message:
            grows_from(self.prompts[-1][1], made)
        assert made.sent is not None
        told = [each.id for each in turn.present]
        assert len(told) == len(set(told))
        assert {each.id for each in made.envelope.manifest.entries if each.state == "stale"} <= set(told)
        is_near = made.envelope.estimate >= 0.8 * made.envelope.manifest.limit
        assert [each.split(":")[0] for each in made.envelope.manifest.warnings] == ["nearLimit"] * is_near

    def check_other(self, before: Conversation, turn: Turn, made: Assembled) -> None:
        assert (made.blocks, made.compacted) == ((), None)
        assert made.envelope.manifest.warnings == () and w.layer_text(made, "L2_PREVIOUS") == ""
        after = self.chat.now
        assert (after.library, after.elided_until, after.last_prompt()) == (
            before.library,
            before.elided_until,
            before.last_prompt(),
        )
        assert turn.policy.pipeline == "compression"
        assert (w.system(made), w.layer_text(made, "L5_USER")) == (COMPRESSION_SYSTEM, COMPRESSION_TASK)
        assert w.layer_text(made, "L3_TURN") == ""


# -- what holds of every prompt --


def is_pure(before: Conversation, turn: Turn, made: Assembled, texts: Any) -> None:
    """Equal inputs, equal bytes: also of inputs read back from JSON, and with nothing kept from before."""
    again = msgspec.json.decode(msgspec.json.encode(turn), type=Turn)
    assert msgspec.json.encode(assemble(before, again, texts)) == msgspec.json.encode(made)


def is_whole(made: Assembled) -> None:
    """All five layers, each the hash of its text, each text its segments; the messages say what the layers say."""
    envelope = made.envelope
    assert [each.id for each in envelope.layers] == ["L1_SYSTEM", "L2_PREVIOUS", "L3_TURN", "L4_STRIP", "L5_USER"]
    for layer in envelope.layers:
        assert layer.text == "\n\n".join(segment.text for segment in layer.segments)
        assert all(segment.text and segment.text.strip(" \t\r\n") == segment.text for segment in layer.segments)
        assert layer.hash == sha256(layer.text.encode()).hexdigest() == getattr(envelope.hashes, layer.id)
    assert [(each.id, each.hash) for each in envelope.manifest.layers] == [
        (each.id, each.hash) for each in envelope.layers
    ]
    joined = "\n\n".join(layer.text for layer in envelope.layers if layer.text)
    assert envelope.combined_hash == sha256(joined.encode()).hexdigest()
    assert w.system(made).startswith(w.layer_text(made, "L1_SYSTEM"))
    assert w.system(made).endswith(w.layer_text(made, "L2_PREVIOUS"))
    sent = w.whole(made)
    for layer in envelope.layers[:3]:
        assert all(each.text in sent for each in layer.segments if each.kind not in {"message", "image"})
    assert w.layer_text(made, "L5_USER") in sent
    assert len(envelope.cache_hints) <= 4
    tokens = [hint.tokens for hint in envelope.cache_hints]
    assert tokens == sorted(tokens) or "previous" in {hint.after for hint in envelope.cache_hints}


def fits(before: Conversation, turn: Turn, made: Assembled) -> None:
    """The estimate is the sum of what it counts, and within the limit; the last rounds are untouched."""
    manifest = made.envelope.manifest
    assert manifest.limit == before.settings.context_window - RESERVE
    assert made.envelope.estimate == manifest.estimate <= manifest.limit
    assert manifest.estimate == sum(layer.tokens for layer in manifest.layers) + manifest.tool_tokens
    for layer in manifest.layers:
        assert layer.tokens == sum(entry.tokens for entry in manifest.entries if entry.layer == layer.id)
    ids = list(before.messages)
    first = ids.index(turn_of(before, turn.message))
    rounds = [at for at in range(first) if begins(before, ids[at])]
    if turn.policy.pipeline == "chat":
        omitted = before.elided_until is not None or before.summary is not None or made.compacted is not None
        stays = ids[rounds[-1] : first] if rounds and not omitted else []
        for name in stays:
            assert any(entry.state != "dropped" or entry.why == "filtered" for entry in w.entries(made, name))


def begins(conversation: Conversation, name: MessageId) -> bool:
    message = conversation.messages[name]
    return message.role == "user" and not message.is_carrier


def is_valid_for_providers(made: Assembled) -> None:
    """Rule 9: whatever was said, no provider refuses it."""
    messages = made.envelope.messages
    assert [each.role for each in messages[1:] if each.role == "system"] == []
    called: set[str] = set()
    seen: set[str] = set()
    for message in messages:
        assert message.content, message
        assert any(block.text or block.type in {"image", "toolCall", "toolResult"} for block in message.content)
        results = [str(block.id) for block in message.content if block.type == "toolResult"]
        calls = [str(block.id) for block in message.content if block.type == "toolCall"]
        assert all(block.signature for block in message.content if block.type == "thinking")
        if message.role == "assistant":
            assert results == [] and len(calls) == len(set(calls)) and not called & set(calls)
            called |= set(calls)
        else:
            assert calls == [] and set(results) == called and len(results) == len(called)
            seen |= called
            called = set()
    assert called == set()


def has_the_words(before: Conversation, made: Assembled, texts: Any) -> None:
    """What each message says that is recorded as whole."""
    sent = w.whole(made)
    for entry in made.envelope.manifest.entries:
        message = before.messages.get(MessageId(entry.id))
        if entry.kind in {"message", "query"} and entry.state == "full" and message and message.text_sha256:
            assert texts(message.text_sha256).strip() in sent


# -- what holds of every transcript --


def blocks_sent(made: Assembled) -> list[tuple[str, Any]]:
    return [(message.role, block) for message in made.envelope.messages for block in message.content]


def grows_from(last: Assembled, made: Assembled) -> None:
    """The prefix property: a prompt begins with the blocks of the one before, unless the log tells why not."""
    if made.compacted is None:
        before, now = blocks_sent(last), blocks_sent(made)
        at = next(
            (at for at, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]), len(before)
        )
        assert now[: len(before)] == before, (before[at:][:1], now[at:][:1])


def has_what_is_attached(turn: Turn, made: Assembled, texts: Any) -> None:
    """Whatever is attached stands in the prompt in the version that was read: above, or in this turn."""
    whole, own, system = w.whole(made), w.user(made), w.system(made)
    for artifact in turn.artifacts:
        if artifact.failed is not None or artifact.kind == "image":
            continue
        states = {entry.state for entry in w.entries(made, artifact.id) if entry.layer == "L3_TURN"}
        mark = texts(artifact.revision).partition("\n")[0]
        if states & {"full", "changes", "shortened"}:
            assert mark in own
        if "reference" in states:
            assert mark in whole, (artifact, mark)
        if artifact.kind == "selected_text" and mark:
            assert mark not in system
    assert "<active_note>" not in system
    assert not {segment.kind for segment in made.envelope.layers[1].segments} & NEVER_KEPT


class Above:
    """What stands above a turn, read from the turns that stay after a compaction as before.

    Attributes:
        known: the revision of each thing that was shown last, by its key; so of each pin.
        active: the note that was last told to be the active one.
        failed: why a pin could not be read, as the model was told last, by its id.
        named: the state in which each changed note was named, by its id.
        images: those that stand, in the order sent.
        own: the parts of this turn.
    """

    def __init__(self, before: Conversation, turn: Turn, made: Assembled, texts: Any) -> None:
        after = before if made.compacted is None else compacted(before, made.compacted)
        start, self.texts = turn_of(before, turn.message), texts
        library = library_of(after, start)
        self.known = {key_of(each.kind, each.id, each.revision): each.revision for each in library}
        self.active: str | None = None
        self.failed: dict[str, str] = {}
        self.named: dict[str, str] = {}
        self.images: list[str] = []
        gone = {(each.message, each.kind, each.id) for each in after.left_out}
        for name in list(before.messages)[: list(before.messages).index(start)]:
            if name in after.turns:
                for part in read_turn(texts, after.turns[name].turn_sha256).parts:
                    self._take(part, is_gone=(name, part.kind, part.id) in gone)
        assert made.sent is not None
        self.own = made.sent.parts
        self.images += [part.revision for part in self.own if part.is_image]
        own = w.user(made)
        assert all(part.text in own for part in self.own)
        assert all(part.base in {"", self.known.get(part.key)} for part in self.own)
        assert [block.blob for _, block in blocks_sent(made) if block.type == "image"] == self.images

    def _take(self, part: SentPart, *, is_gone: bool) -> None:
        stands = not part.base or self.known.get(part.key) == part.base
        if part.kind == "changes":
            self.named |= {} if is_gone else dict(part.reported)
        elif part.kind == "pin":
            self.failed.pop(part.id, None)
            if not part.revision:
                self.known.pop(part.key, None)
                self.failed |= {part.id: part.failed} if part.failed else {}
        if part.revision and stands and not is_gone:
            self.known[part.key] = part.revision
            if part.is_image:
                self.images.append(part.revision)
        if part.kind == "active_note" and (not part.revision or (stands and not is_gone)):
            self.active = part.id or None

    def part(self, kind: str, name: str, revision: str = "") -> SentPart:
        [found] = [each for each in self.own if each.key == key_of(kind, name, revision)]
        return found


def says_each_thing_once(above: Above, turn: Turn, made: Assembled) -> None:
    """What stands above is a line or nothing; what stands in another version says so; what failed is told."""
    active = next((each.id for each in turn.artifacts if each.kind == "active_note" and not each.failed), None)
    told = [part.text for part in above.own if part.kind == "active_note" and not (part.id or part.failed)]
    assert told == [NO_ACTIVE_NOTE] * (active is None and above.active is not None)
    for artifact in turn.artifacts:
        states = {each.state for each in w.entries(made, artifact.id) if each.why != "duplicate"}
        if artifact.failed is not None:
            what = "Image" if artifact.kind == "image" else "Attachment"
            line = f"[{what} unavailable: {artifact.title or artifact.id}]"
            is_of_note = artifact.kind == "image" and artifact.note is not None
            assert "failed" not in states or line in (w.whole(made) if is_of_note else w.user(made))
            continue
        part = above.part(artifact.kind, artifact.id, artifact.revision)
        known = above.known.get(part.key)
        if known == artifact.revision:
            is_active = artifact.id == active and part.kind == "active_note"
            what = "Active note" if is_active else "Attached"
            is_said = artifact.is_embedded or (is_active and above.active == active)
            assert part.text == ("" if is_said else f"{what}: {artifact.id} (above)")
        elif not part.is_image:
            assert ("<replaces_earlier>" in part.text or "<changes_to>" in part.text) == (known is not None)
            assert above.texts(artifact.revision).partition("\n")[0] in part.text


def says_each_pin_once(above: Above, turn: Turn, made: Assembled) -> None:
    """A pin that stands as it is says nothing; one that is another, failed or is gone says so, once."""
    for pin in turn.provided:
        text = above.texts(pin.text_sha256) if pin.text_sha256 is not None else ""
        known, line = above.known.get(("pin", pin.id)), ""
        said = "".join(part.text for part in above.own if part.key == ("pin", pin.id))
        if pin.failed is not None:
            line = f"[Pinned context unavailable: {pin.id}]" * (above.failed.get(pin.id) != pin.failed)
        elif not text.strip():
            line = f"[No longer pinned: {pin.id}]" * (known is not None)
        elif known != pin.text_sha256:
            assert said.startswith("<pinned_context")
            assert ("<replaces_earlier>" in said or "<changes_to>" in said) == (known is not None)
            continue
        assert said == line or (pin.kind == "note" and "<replaces_earlier>" in said)
    pins = {pin.id for pin in turn.provided}
    for key in above.known:
        if key[0] == "pin" and key[1] not in pins:
            assert above.part(*key).text == f"[No longer pinned: {key[1]}]"


def names_what_changed(above: Above, turn: Turn, made: Assembled, talk: Talk) -> None:
    """One line names each note that stands in another version than it has, or that moved or is gone: once."""
    attached = {each.id for each in turn.artifacts}
    wanted: dict[str, tuple[str, str]] = {}
    for note, known in ((key[1], known) for key, known in above.known.items() if key[0] == "note"):
        at, revision = talk.found(note)
        state = f"{at} {revision}" if revision else "NOTE_NOT_FOUND"
        if (at, revision) != (note, known) and not {note, at} & attached and above.named.get(note) != state:
            wanted[note] = at, revision
    lines = [part.text for part in above.own if part.kind == "changes"]
    assert len(lines) == bool(wanted), (wanted, lines)
    for note, (at, revision) in wanted.items():
        [told] = re.findall(rf"(?:: |, ){re.escape(note)} \((.*?)\)", lines[0])
        if not revision:
            assert told == "gone"
            continue
        assert told.startswith(f"now {at}") == (at != note)
        if revision != above.known["note", note]:
            counts = re.search(r"\+(\d+) -(\d+)$", told)
            assert counts is not None, "how many lines are others"
            added, removed = map(int, counts.groups())
            one, two = above.texts(above.known["note", note]), (talk.world.folder / at).read_text()
            assert added > 0 and added - removed == two.count("\n") - one.count("\n")


def folds_whole_turns_and_far_enough(before: Conversation, turn: Turn, made: Assembled) -> None:
    """A fold never cuts a turn; one over budget makes room for turns to come, however long the chat is."""
    if made.compacted is None:
        return
    ids = list(before.messages)
    up_to = made.compacted.up_to
    assert up_to is None or begins(before, ids[ids.index(up_to) + 1])
    if made.compacted.reason != "budget":
        return
    left = compacted(before, made.compacted).elided_until
    stays = ids[ids.index(left) + 1 if left is not None else 0 : ids.index(turn_of(before, turn.message))]
    tokens = {layer.id: layer.tokens for layer in made.envelope.manifest.layers}
    standing = made.envelope.estimate - tokens["L3_TURN"] - tokens["L5_USER"]
    room_is_made = standing <= turn.policy.compact_below * made.envelope.manifest.limit
    assert room_is_made or sum(begins(before, name) for name in stays) <= turn.policy.keep_turns


def records_all_once(before: Conversation, turn: Turn, made: Assembled) -> None:
    """One record for each message, section, pin, library entry, attachment, and thing that a turn shows."""
    entries = made.envelope.manifest.entries
    after = before if made.compacted is None else compacted(before, made.compacted)
    start, pipeline = turn_of(before, turn.message), turn.policy.pipeline
    ids = list(before.messages)
    until = before.elided_until if pipeline == "chat" else None
    earlier = ids[: min(ids.index(until) + 1, ids.index(start))] if until is not None else []
    ranges = [(entry.id, (entry.detail or "").split()[0]) for entry in entries if entry.kind == "messages"]
    assert ranges == ([(earlier[-1], str(len(earlier)))] if earlier else [])
    for name in ids[len(earlier) : ids.index(turn.message) + 1]:
        is_query = name == start and begins(before, name) and pipeline != "compression"
        kind = "query" if is_query else "message"
        assert sum(entry.id == name and entry.kind == kind for entry in entries) == 1, name
    assert not {entry.id for entry in entries} & set(ids[ids.index(turn.message) + 1 :])
    for section in before.settings.sections:
        assert sum(entry.kind == "section" and entry.id == section.name for entry in entries) == 1
    pinned = [(each.id, each.kind) for each in turn.provided]
    assert [(entry.id, entry.kind) for entry in entries if entry.why == "pinned"] == pinned
    library = {(each.id, each.kind) for each in (*library_of(before, start), *library_of(after, start))}
    above = (each for each in entries if each.layer == "L2_PREVIOUS" and each.kind != "frame")
    assert Counter((each.id, each.kind) for each in above) == dict.fromkeys(library, 1)
    whys = {"attached", "active", "duplicate", "changed"}
    own = (each for each in entries if each.layer == "L3_TURN" and each.why in whys and each.kind != "changes")
    assert Counter((each.id, each.kind) for each in own) == Counter(
        (each.id, each.kind) for each in turn.artifacts
    )
    assert made.elided >= 0 and all(entry.tokens >= 0 for entry in entries)
    assert all(entry.tokens == 0 for entry in entries if entry.state in {"dropped", "empty"})


# -- conversations --


def test_a_rebase_for_an_earlier_message_keeps_what_came_later(tmp_path: Path) -> None:
    talk = Talk(tmp_path, 200_000, "each_turn")
    chat = talk.chat
    chat.turn("one", "a.md")
    earlier = chat.say("two", "a.md")
    chat.prompt()
    chat.answer()
    chat.turn("three", "b.md")
    chat.turn("four")
    talk.edit(0, 2)
    talk.prompt(earlier, rebase=True)
    assert [entry.id for entry in chat.now.library] == ["a.md", "b.md"]
    talk.world.close()


def led(steps_taken: list[Step], window: int, promotion: c.Promotion = "at_fold") -> Talk:
    """A conversation of these steps; at the end one more question, which there may be no room for."""
    with tempfile.TemporaryDirectory(prefix="wsd-talk-") as folder:
        talk = Talk(Path(folder), window, promotion)
        try:
            for step in steps_taken:
                talk.take(step)
            talk.ask(1, 0)
        finally:
            talk.world.close()
    return talk


@given(
    taken=st.lists(steps, min_size=12, max_size=60),
    window=st.sampled_from(WINDOWS),
    promotion=st.sampled_from(["at_fold", "each_turn"]),
)
@settings(max_examples=examples(50))
def test_any_transcript_only_grows_until_a_fold(taken: list[Step], window: int, promotion: c.Promotion) -> None:
    talk = led(taken, window, promotion)
    event(f"refused: {bool(talk.refused)}")
    for reason in {made.compacted.reason for _, made in talk.prompts if made.compacted is not None}:
        event(f"folded: {reason}")


@pytest.mark.parametrize("window", sorted(set(WINDOWS)))
@pytest.mark.thorough
def test_two_hundred_turns_keep_every_rule(window: int) -> None:
    dice = Random(window)
    taken = [(dice.randrange(100), dice.randrange(10_000), dice.randrange(10_000)) for _ in range(300)]
    talk = led(taken, window)
    assert len(talk.prompts) + talk.refused >= 200
    reasons = Counter(made.compacted.reason for _, made in talk.prompts if made.compacted is not None)
    assert reasons.total() - reasons["budget"] <= len(talk.prompts) / 4
    if window <= 12_000:
        assert any(made.elided for _, made in talk.prompts)
