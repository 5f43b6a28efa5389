"""A conversation over a real daemon and real files, each of whose prompts is held against the specification.

It keeps its own books of what the model must be sent: what was attached and what it says now, what was said
before, what is pinned, where notes have moved. After every turn the prompt is read as a model reads it
(prompt_reader.py), and what is known then is compared with the books. A prompt begins with the one before, unless
the log tells of a fold. What holds of layers and manifests: tests/tools/prompts/test_random_conversations.py.
"""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from support import attachments as g
from support import prompt_reader as r

State = tuple[str, str | None]
"""Where a note is now, and what it says; None: it is not there."""
Now = Sequence[tuple[g.Given, str | None]]
"""What is attached, with what it says now; None: it cannot be read."""


class Reading(NamedTuple):
    """A prompt as it was read."""

    before: r.Reader
    """What the model knew before the turn."""
    after: r.Reader
    seen: list[r.Seen]
    """What the turn's message says before its words."""
    told: dict[str, State]
    """The state in which each changed note was last named before."""
    said: tuple[r.Said, ...]
    """All messages before the turn, without their context."""


class Talk:
    """One conversation. Settings are those of `context.start`."""

    def __init__(self, running: Any, **settings: Any) -> None:
        self.running = running
        self.client = running.connect("runtime")
        self.settings = {
            "provider": "anthropic",
            "model": "large",
            "context_window": 400_000,
            "output_reserve": 1_000,
            "environment": False,
            "system": "You help with notes.",
            **settings,
        }
        self.id = "talk"
        self.client.context.start(conversation=self.id, **self.settings)
        self.pins: dict[str, str | None] = {}
        """What each says; None: that is not known here. One that cannot be read has its line in brackets."""
        self.history: list[tuple[str, list[Any]]] = []
        """The role and the parts of each message, without context."""
        self.prompts: list[dict[str, Any]] = []
        self.folds: list[str] = []
        """Reasons that the log gives."""
        self._words: dict[str, str] = {}
        """What the user's message says behind its context, by its id."""
        self._images: dict[str, list[tuple[str, str]]] = {}
        """Ids and texts of those that a message brought; likewise the texts of pins, and states of notes named."""
        self._pins: dict[str, dict[str, str | None]] = {}
        self._named: dict[str, dict[str, State]] = {}
        self._moved: dict[str, str] = {}
        self._turn: list[tuple[str, list[Any]]] = []
        self._number = 0

    # -- what the user and the runtime do --

    def write(self, path: str, text: str) -> None:
        target = self.running.vault / path
        is_new = not target.exists()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        if is_new:
            self.client.call("workspaced/reconcile")  # until it has settled

    def move(self, path: str, to: str) -> None:
        """Moves a note on disk, which the daemon knows."""
        self.client.call("workspaced/reconcile")
        target = self.running.vault / to
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.running.vault / path).rename(target)
        self._moved[path] = to
        self.client.call("workspaced/reconcile")

    def look_at(self, path: str | None) -> None:
        self.client.publish([{"type": "active_note_set", "data": {"note": path}}])

    def restart(self) -> None:
        """The daemon is killed and comes back."""
        self.running.kill()
        self.running.start()
        self.client = self.running.connect("runtime")

    def pin(self, name: str, kind: str, says: str | None, **more: Any) -> None:
        """Pins something of which the model must be told what it `says`."""
        self.client.context.pin(self.id, name, kind, **more)
        self.pins[name] = says

    def say(self, **message: Any) -> str:
        (name,) = self.client.context.message(self.id, message)["messages"]
        return str(name)

    def turn(self, text: str, *attached: Any) -> dict[str, Any]:
        """A whole turn without tools: asked, checked and answered."""
        prompt = self.ask(text, *attached)
        self.answer(f"Answer {self._number}.")
        return prompt

    def ask(self, text: str, *attached: Any) -> dict[str, Any]:
        """A user's message with the checked prompt for it."""
        self._number += 1
        now = [(each, self._text(each)) for each in attached]
        name = self.say(role="user", text=text, attachments=[each.said for each in attached])
        self._words[name] = g.joined(text)
        self._images[name] = []
        self._pins[name] = dict(self.pins)
        prompt = self.assemble()
        self._check_turn(prompt, name, g.one_of_each(now))
        self._turn = [("user", [r.Part("text", self._words[name])])]
        return prompt

    def round(self, *calls: Any, text: str = "") -> dict[str, Any]:
        """Calls of tools with their results, and the checked prompt by which the turn goes on."""
        told = [{"id": each.id, "name": each.name, "arguments": each.arguments} for each in calls]
        self.say(role="assistant", text=text, toolCalls=told)
        results = [
            {"id": each.id, "name": each.name, "text": each.text, "isError": each.is_error} for each in calls
        ]
        self.say(role="user", toolResults=results)
        prompt = self.assemble()
        said = [r.Part("text", text)] if text else []
        said += [r.Part("call", each.arguments, each.id, each.name) for each in calls]
        heard = [r.Part("error" if each.is_error else "result", r.words(each.text), each.id) for each in calls]
        added = [("assistant", said), ("user", heard)]
        self._turn += added
        assert r.said_in(prompt["messages"])[-2:] == r.merged(added)
        return prompt

    def answer(self, text: str) -> None:
        self.say(role="assistant", text=text)
        self.history += [*self._turn, ("assistant", [r.Part("text", text)])]

    def _text(self, each: Any) -> str | None:
        if each.fails:
            return None
        if each.text is not None:
            return str(each.text)
        content: bytes = (self.running.vault / each.id).read_bytes()
        return content.decode()

    # -- the end --

    def finish(self) -> None:
        """The daemon is killed, the vault is gone, and every prompt and body is made again from the log alone."""
        count = len(self.running.events("prompt_assembled"))
        self.running.kill()
        shutil.rmtree(self.running.vault)
        done = self.running.cli("replay", "--verify", "--json", str(self.running.data))
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        told = Counter(each["outcome"] for each in lines if "message" in each)
        assert (done.returncode, told) == (0, {"same": count}), (told, done.stderr, lines[-1:])
        assert count >= len(self.prompts)

    # -- what a prompt has to be --

    def assemble(self) -> dict[str, Any]:
        """The prompt for the last message."""
        prompt: dict[str, Any] = self.client.context.assemble(self.id)
        folds, self.folds = self.folds, [each["data"]["reason"] for each in self.running.events("context_folded")]
        if self.prompts and self.folds == folds:
            earlier, later = (r.sequence(each["messages"]) for each in (self.prompts[-1], prompt))
            assert later[: len(earlier)] == earlier, "a prompt begins with the one before"
        self.prompts.append(prompt)
        return prompt

    def _check_turn(self, prompt: dict[str, Any], name: str, now: Now) -> None:
        """The prompt for a turn's first message, against the books."""
        said = prompt["messages"][-1]
        assert (said["role"], said["id"]) == ("user", name)
        assert g.layer(prompt, "L5_USER")["text"] == self._words[name]
        reading = self._read(prompt, now)
        self._check_context(name, reading, now)
        self._check_named(name, reading, self._old_notes(reading, {each.id for each, _ in now}))
        self._check_history(reading)

    # -- what it says, read as a model reads it --

    def _read(self, prompt: dict[str, Any], now: Now) -> Reading:
        messages = list(prompt["messages"])
        reader = r.Reader(is_folded=bool(self.folds))
        system = messages.pop(0)["content"] if messages[0]["role"] == "system" else []
        text = "".join(block["text"] for block in system)
        first, second = g.layer(prompt, "L1_SYSTEM")["text"], g.layer(prompt, "L2_PREVIOUS")["text"]
        assert text == g.joined(first, g.joined(g.LIBRARY, second) if second else "")
        if second:
            reader.read_library(second)
        told = dict[str, State]()
        words = list[dict[str, Any]]()
        for message in messages[:-1]:
            if message.get("id") in self._words:
                if any(each.how == "named" for each in self._read_message(reader, message)):
                    told |= self._named[message["id"]]
                message = {**message, "content": [{"type": "text", "text": self._words[message["id"]]}]}
            words.append(message)
        before = r.Reader()
        before.known, before.once, before.active = dict(reader.known), set(reader.once), reader.active
        before.pins, before.failed_pins = dict(reader.pins), set(reader.failed_pins)
        standing = {(name, text) for kind, name, text in reader.once if kind == "image"}
        images = [(each.id, text) for each, text in now if each.tag == "image" and text is not None]
        self._images[messages[-1]["id"]] = [each for each in images if each not in standing]
        seen = self._read_message(reader, messages[-1])
        return Reading(before, reader, seen, told, r.said_in(words))

    def _read_message(self, reader: r.Reader, message: dict[str, Any]) -> list[r.Seen]:
        """What stands before the words of a user's message."""
        name, content = message["id"], message["content"]
        text = "\n\n".join(block["text"] for block in content if block["type"] == "text")
        assert text.endswith(self._words[name])
        context = text.removesuffix(self._words[name]).rstrip("\n")
        is_framed = context.endswith(g.QUERY)
        count = sum(block["type"] == "image" for block in content)
        seen = reader.read_turn(context.removesuffix(g.QUERY), self._pins[name], self._images[name], count)
        is_context = any(each.kind not in {"pin", "image"} for each in seen)
        assert is_framed == is_context or (is_framed and self.folds), "the words are told from their context"
        return seen

    def _check_context(self, name: str, reading: Reading, now: Now) -> None:
        """Everything attached can be seen, in one form; nothing is there besides."""
        before, after, rest = reading.before, reading.after, list(reading.seen)
        for each, content in now:
            mine = [one for one in rest if one.id == each.id and one.how in _FORMS]
            lines = [line for line in (each.fails, each.besides) if line]
            failed = [one for one in rest if one.how == "failed" and one.text in lines]
            assert [one.text for one in failed] == lines, (each, rest)
            rest = [one for one in rest if one not in mine and one not in failed]
            if content is None:
                assert mine == []
            else:
                self._check_attached(each, content, mine, before, after)
        active = next((each.id for each, content in now if each.is_active and content is not None), None)
        assert after.active == active, "the active note can always be told"
        results = [one for one in reading.seen if one.how == "whole" and one.kind == "tool_result"]
        assert [one.id for one in rest if one.how == "heading"] == [g.TOOLS] * bool(results)
        assert [one for one in rest if one.how not in _BESIDES] == [], "nothing besides"
        kinds = {each.id: r.kind_of(each) for each, _ in now}
        places = [_place(one, kinds.get(one.id, ""), active) for one in reading.seen]
        assert places == sorted(places), reading.seen
        self._check_pins(name, reading)

    def _check_attached(
        self, each: g.Given, content: str, mine: Sequence[r.Seen], before: r.Reader, after: r.Reader
    ) -> None:
        """It is whole, or changes that make it what it is now, or a line to where it stands with this text."""
        kind = r.kind_of(each)
        thing = (kind, each.id)
        assert after.says(thing, content) == content, each
        if before.says(thing, content) == content:
            is_said_before = each.is_active and before.active == each.id
            assert [one.how for one in mine] == ["line"] * (not is_said_before), (each, mine)
        else:
            [one] = mine
            is_known = before.says(thing) is not None
            assert one.how in ({"newer", "changes"} if is_known else {"whole"})
            assert one.how != "changes" or len(one.text) < len(content) / 2
        assert all((one.kind == "Active note") == each.is_active for one in mine if one.how == "line")

    def _check_pins(self, name: str, reading: Reading) -> None:
        """Every pin stands as it is now; what did not change is not said again."""
        said = Counter(each.id for each in reading.seen if each.kind == "pin")
        for pin, text in self.pins.items():
            if text is not None and text.startswith("["):
                assert pin in reading.after.failed_pins and pin not in reading.after.pins
                assert said[pin] == (pin not in reading.before.failed_pins)
                continue
            if text is None:
                assert said[pin] <= 1
                continue
            got = reading.after.pins[pin]
            assert got is not None and g.joined(got) == g.joined(text)
            known = reading.before.pins.get(pin)
            assert said[pin] == (known is None or g.joined(known) != g.joined(text)), (pin, said)
        assert set(said) <= {*self.pins, *reading.before.pins}
        assert set(reading.after.pins) <= set(self.pins)

    # -- notes that have changed --

    def _state(self, note: str) -> State:
        """Where a note is now, and what it says."""
        at = note
        while not (self.running.vault / at).exists() and at in self._moved:
            at = self._moved[at]
        target = self.running.vault / at
        return at, target.read_bytes().decode() if target.exists() else None

    def _old_notes(self, reading: Reading, attached: set[str]) -> dict[str, State]:
        """The notes that stand in the prompt in another version than they are, and are not attached."""
        old = {}
        for kind, note in reading.before.known:
            state = self._state(note)
            is_current = state == (note, reading.before.known[kind, note])
            if kind == "note" and not is_current and not {note, state[0]} & attached:
                old[note] = state
        return old

    def _check_named(self, name: str, reading: Reading, old: Mapping[str, State]) -> None:
        """Nothing is silently old: each version is named once."""
        wanted = {note: state for note, state in old.items() if reading.told.get(note) != state}
        lines = [each.text for each in reading.seen if each.how == "named"]
        assert len(lines) == bool(wanted), (wanted, lines)
        named = dict(one.split("\t") for line in lines for one in line.splitlines())
        assert set(named) == set(wanted)
        for note, (at, text) in wanted.items():
            shown = reading.before.known["note", note]
            assert named[note] == _told_change(note, at, shown, text, named[note])
        self._named[name] = wanted

    def _check_history(self, reading: Reading) -> None:
        """What was said before, word for word."""
        told, wanted = reading.said, r.merged(self.history)
        assert [each.role for each in told] == [each.role for each in wanted]
        for got, one in zip(told, wanted, strict=True):
            for mine, theirs in zip(got.parts, one.parts, strict=True):
                is_elided = theirs.kind in {"result", "error"} and mine.text.startswith("[tool result elided - ")
                assert mine == theirs or (is_elided and self.folds), (mine, theirs)


_FORMS = frozenset({"whole", "newer", "changes", "line"})
_BESIDES = frozenset({"none_active", "heading", "named", "pin", "pin_changes", "pin_failed", "pin_gone"})


def _place(each: r.Seen, kind: str, active: str | None) -> int:
    """The place in a message: pins, tools' results, lines, blocks, the active note's, failed, changed; images."""
    if each.kind in {"pin", "heading"}:
        return 0 if each.kind == "pin" else 1
    if each.how in _FORMS and kind in {"tool_result", "image"}:
        return 9 if kind == "image" else 2
    places = {"none_active": 3, "line": 4, "failed": 7, "named": 8}
    if each.how in places:
        return places[each.how]
    return 6 if (each.kind, each.id) == ("note", active) else 5


def _told_change(note: str, at: str, shown: str, text: str | None, told: str) -> str:
    """What must be told of a note that changed; `told`: what was; any true numbers of lines will do."""
    if text is None:
        return "gone"
    moved = f"now {at}" if at != note else ""
    if text == shown:
        return moved
    added, removed = (int(number[1:]) for number in told.split(", ")[-1].split(" ")[-2:])
    old, new = shown.split("\n"), text.split("\n")
    assert added - removed == len(new) - len(old) and added + removed > 0
    assert added >= sum((Counter(new) - Counter(old)).values())
    assert removed >= sum((Counter(old) - Counter(new)).values())
    return ", ".join(filter(None, (moved, f"+{added} -{removed}")))
