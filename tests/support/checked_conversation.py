"""A conversation over a real daemon and real files, each of whose prompts is held against the specification.

It keeps its own books of what the model must be sent: what was attached and what it says now, what was said
before, what is pinned, where notes have moved. After every turn the prompt is read as a model reads it
(prompt_reader.py), and what is known then is compared with the books, as are its records and the bodies for
the providers. A prompt begins with the one before, unless the log says why not.
"""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from support import attachments as g
from support import prompt_reader as r
from support import provider_bodies as bodies

LAYERS = ("L1_SYSTEM", "L2_PREVIOUS", "L3_TURN", "L4_STRIP", "L5_USER")
BREAKS = ("context_folded", "message_replaced", "message_removed", "conversation_started", "summary_set")
"""Only what these tell may change what was sent."""
IN_USE_TURNS = 10
"""A fold keeps the notes of so many turns; those of LATEST_TURNS also where the window is tight."""
LATEST_TURNS = 5
State = tuple[str, str | None]
"""Where a note is now, and what it says; None: it is not there."""
Now = Sequence[tuple[g.Given, str | None]]
"""What is attached, with what it says now; None: it cannot be read."""


class Reading(NamedTuple):
    """A prompt as it was read."""

    before: r.Reader
    """What the model knew before the turn."""
    after: r.Reader
    library: list[r.Seen]
    seen: list[r.Seen]
    """What the turn's message says before its words."""
    earlier: dict[str, list[r.Seen]]
    """The same of each message that was sent before, by its id."""
    told: dict[str, State]
    """The state in which each changed note was last named before."""
    said: tuple[bodies.Said, ...]
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
        self.ids: list[str] = []
        self.prompts: list[dict[str, Any]] = []
        self.readings: list[Reading] = []
        self.read: dict[str, Any] = {}
        """What the last body for each provider says."""
        self.bodies: dict[str, dict[str, Any]] = {}
        self.folds: list[str] = []
        """Reasons that the log gives."""
        self._breaks = False
        """Whether the log says that the last prompt need not begin with the one before."""
        self._is_folded = False
        self._seq = 0
        self._words: dict[str, str] = {}
        """What the user's message says behind its context, by its id."""
        self._images: dict[str, list[tuple[str, str]]] = {}
        """Ids and texts of those that a message brought; likewise the texts of pins, and states of notes named."""
        self._pins: dict[str, dict[str, str | None]] = {}
        self._named: dict[str, dict[str, State]] = {}
        self._moved: dict[str, str] = {}
        self._used: list[set[str]] = []
        """The notes attached in each turn."""
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
        """Moves a note on disk. The daemon knows the note before."""
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
        self.ids.append(name)
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
        self._used.append({each.id for each, content in now if r.kind_of(each) == "note" and content is not None})
        prompt = self.assemble()
        self._check_turn(prompt, name, g.one_of_each(now))
        self._check_bodies(prompt)
        self._turn = [("user", [bodies.Part("text", self._words[name])])]
        return prompt

    def round(self, *calls: Any, text: str = "") -> dict[str, Any]:
        """Calls of tools with their results, and the checked prompt by which the turn goes on."""
        before = self.prompts[-1]
        told = [{"id": each.id, "name": each.name, "arguments": each.arguments} for each in calls]
        self.say(role="assistant", text=text, toolCalls=told)
        results = [
            {"id": each.id, "name": each.name, "text": each.text, "isError": each.is_error} for each in calls
        ]
        self.say(role="user", toolResults=results)
        prompt = self.assemble()
        said = [bodies.Part("text", text)] if text else []
        said += [bodies.Part("call", bodies.arguments(each.arguments), each.id, each.name) for each in calls]
        heard = [
            bodies.Part("error" if each.is_error else "result", bodies.words(each.text), each.id) for each in calls
        ]
        added = [("assistant", said), ("user", heard)]
        self._turn += added
        assert self._breaks or prompt["messages"][:-2] == before["messages"], "a round only appends"
        assert bodies.of_prompt(prompt).messages[-2:] == bodies.merged(added)
        for name in self.ids[-2:]:
            [record] = [each for each in prompt["manifest"]["entries"] if each["id"] == name]
            assert record["state"] == "full"
        self._check_grows(prompt)
        self._check_bodies(prompt)
        return prompt

    def answer(self, text: str) -> None:
        self.say(role="assistant", text=text)
        self.history += [*self._turn, ("assistant", [bodies.Part("text", text)])]

    def _text(self, each: Any) -> str | None:
        if each.fails:
            return None
        if each.text is not None:
            return str(each.text)
        content: bytes = (self.running.vault / each.id).read_bytes()
        return content.decode()

    def events(self, *types: str, after: int = 0) -> list[dict[str, Any]]:
        """What the log tells of every conversation, behind that sequence."""
        found: list[dict[str, Any]] = []
        while True:
            asked = {"from": after + 1, "limit": 1_000, "types": list(types)}
            events = self.client.call("workspaced/log", asked)["events"]
            if not events:
                return found
            found += events
            after = events[-1]["seq"]

    def _follow_log(self) -> None:
        """What was sent may be another one where the log says why; nowhere else."""
        self._breaks = self._is_folded = False
        for event in self.events(*BREAKS, after=self._seq):
            self._seq = event["seq"]
            if event["data"]["conversation"] == self.id:
                self._breaks = True
                if event["type"] == "context_folded":
                    self._is_folded = True
                    self.folds.append(event["data"]["reason"])

    def finish(self) -> None:
        """The daemon is killed, the vault is gone, and every prompt and body is made again from the log alone."""
        count = len(self.events("prompt_assembled"))
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
        self.prompts.append(prompt)
        self._follow_log()
        return prompt

    def _check_bodies(self, prompt: dict[str, Any]) -> None:
        """Each body says what the prompt says, in a form that its provider takes."""
        read = bodies.of_prompt(prompt)
        for shape in bodies.SHAPES:
            made = self.client.context.assemble(self.id, shape=shape, layers=False)
            assert made["hashes"] == prompt["hashes"] and made["messages"] == []
            assert not made.get("changes"), made["changes"]
            if shape in self.bodies and not self._breaks:
                earlier, later = (bodies.sequence(shape, each) for each in (self.bodies[shape], made["body"]))
                assert later[: len(earlier)] == earlier, "a body begins with the one before"
            self.bodies[shape] = made["body"]
            self.read[shape] = bodies.of_body(shape, made["body"])
            bodies.check_same(shape, self.read[shape], read)

    def _check_turn(self, prompt: dict[str, Any], name: str, now: Now) -> None:
        """The prompt for a turn's first message, against the books."""
        self._check_grows(prompt)
        said = prompt["messages"][-1]
        assert (said["role"], said["id"]) == ("user", name)
        assert g.layer(prompt, "L5_USER")["text"] == self._words[name]
        reading = self._read(prompt, now)
        self.readings.append(reading)
        self._check_context(name, reading, now)
        old = self._old_notes(reading, {each.id for each, _ in now})
        self._check_named(name, reading, old)
        self._check_history(reading)
        self._check_manifest(prompt, name, now, reading, old)
        if self._is_folded:
            self._check_fold(prompt, reading, old)

    # -- what it says, read as a model reads it --

    def _read(self, prompt: dict[str, Any], now: Now) -> Reading:
        messages = list(prompt["messages"])
        reader, library = r.Reader(is_folded=bool(self.folds)), list[r.Seen]()
        system = messages.pop(0)["content"] if messages[0]["role"] == "system" else []
        text = "".join(block["text"] for block in system)
        first, second = g.layer(prompt, "L1_SYSTEM")["text"], g.layer(prompt, "L2_PREVIOUS")["text"]
        assert text == g.joined(first, g.joined(g.LIBRARY, second) if second else "")
        if second:
            library = reader.read_library(second)
        earlier = dict[str, list[r.Seen]]()
        told = dict[str, State]()
        words = list[dict[str, Any]]()
        for message in messages[:-1]:
            if message.get("id") in self._words:
                seen = earlier[message["id"]] = self._read_message(reader, message)
                if any(each.how == "named" for each in seen):
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
        return Reading(
            before, reader, library, seen, earlier, told, bodies.of_prompt({"messages": words}).messages
        )

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
        results = [one for one in reading.seen if one.how == "whole" and one.kind in {"tool_result", "search"}]
        assert [one.id for one in rest if one.how == "heading"] == [g.TOOLS] * bool(results)
        assert [one for one in rest if one.how not in _BESIDES] == [], "nothing besides"
        self._check_pins(name, reading)

    def _check_attached(
        self, each: g.Given, content: str, mine: Sequence[r.Seen], before: r.Reader, after: r.Reader
    ) -> None:
        """It is whole, or changes that make it what it is now, or a line to where it stands with this text."""
        thing = (r.kind_of(each), each.id)
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

    def _check_fold(self, prompt: dict[str, Any], reading: Reading, old: Mapping[str, State]) -> None:
        """A note of the last turns stands as it is, or is named; else the manifest says that it left."""
        for each in reading.library:
            if each.kind == "note" and each.id not in old:
                at, text = self._state(each.id)
                assert (at, text) == (each.id, each.text) or at in self._used[-1] | {each.id}
        dropped = {each["id"] for each in prompt["manifest"]["entries"] if each["state"] == "dropped"}
        latest = {note for used in self._used[-LATEST_TURNS:] for note in used}
        size = sum(len(self._state(note)[1] or "") for note in latest)
        for note in {note for used in self._used[-IN_USE_TURNS:] for note in used}:
            at, text = self._state(note)
            is_there = any(reading.after.known.get(("note", each)) == text for each in (note, at))
            if text is not None and not is_there and note not in old:
                stood = ("note", note) in self.readings[-2].after.known
                assert not stood or note in dropped, f"{note} vanished without a record"
                assert note not in latest or size / 4 > prompt["manifest"]["limit"] / 2, f"{note} is in use"

    def _check_history(self, reading: Reading) -> None:
        """What was said before, word for word."""
        told, wanted = reading.said, bodies.merged(self.history)
        assert [each.role for each in told] == [each.role for each in wanted]
        for got, one in zip(told, wanted, strict=True):
            assert len(got.parts) == len(one.parts)
            for mine, theirs in zip(got.parts, one.parts, strict=True):
                is_elided = theirs.kind in {"result", "error"} and mine.text.startswith("[tool result elided - ")
                assert mine == theirs or (is_elided and self.folds), (mine, theirs)

    # -- the manifest --

    def _check_manifest(
        self,
        prompt: dict[str, Any],
        name: str,
        now: Now,
        reading: Reading,
        old: Mapping[str, State],
    ) -> None:
        """Each thing has exactly one record in its layer, and the record is true."""
        entries = prompt["manifest"]["entries"]
        for each, content in now:
            [record] = [one for one in g.entries(prompt, each.id) if one["why"] != "duplicate"]
            if content is None:
                assert record["state"] == "failed" and record["detail"]
                continue
            hows = [one.how for one in reading.seen if one.id == each.id and one.how in _FORMS]
            assert record["state"] == (
                "changes" if "changes" in hows else "full" if _is_new(hows) else "reference"
            )
            assert record["revision"] == g.digest(content) or each.tag in {"image", "search"}
        held = [each for each in entries if each["layer"] == "L2_PREVIOUS" and each["why"] == "library"]
        assert [each["id"] for each in held] == [each.id for each in reading.library]
        assert [each["revision"] for each in held] == [g.digest(each.text) for each in reading.library]
        sent = [each for each in entries if each["layer"] == "L4_STRIP" and each["why"] == "sent"]
        shown = [each for seen in reading.earlier.values() for each in seen if _is_new([each.how])]
        assert [each["id"] for each in sent] == [each.id for each in shown]
        for record, one in [*zip(held, reading.library, strict=True), *zip(sent, shown, strict=True)]:
            state = "changes" if one.how in {"changes", "pin_changes"} else "full"
            assert record["state"] == ("stale" if one.kind == "note" and one.id in old else state), (record, one)
        kept = {each["id"] for each in prompt["messages"] if "id" in each}
        for earlier in self.ids[:-1]:
            [record] = [each for each in entries if each["id"] == earlier]
            assert record["layer"] == "L4_STRIP"
            assert record["state"] in {"full", "elided"} and earlier in kept, record
        [record] = g.entries(prompt, name, "L5_USER")
        assert record["state"] == "full"
        self._check_pin_records(prompt, reading)
        self._check_nothing_left_silently(entries, reading)

    def _check_pin_records(self, prompt: dict[str, Any], reading: Reading) -> None:
        for pin, text in self.pins.items():
            [record] = g.entries(prompt, pin)
            how = next((each.how for each in reading.seen if (each.kind, each.id) == ("pin", pin)), None)
            state = _PIN_STATES.get(how, "empty")
            is_failed = text is not None and text.startswith("[")
            if text is not None or how is not None:
                assert record["state"] == ("failed" if is_failed else state), record

    def _check_nothing_left_silently(self, entries: Sequence[dict[str, Any]], reading: Reading) -> None:
        """What stood in the last prompt and does not any more has a record; what is withheld, one without name."""
        if len(self.readings) < 2:
            return
        dropped = {each["id"] for each in entries if each["state"] in {"dropped", "elided"}}
        is_withheld = any(each["why"] == "withheld" and each["id"] == "" for each in entries)
        last, now = self.readings[-2].after, reading.after
        for _, note in last.known.keys() - now.known.keys():
            assert note in dropped or is_withheld, note
        for _, each, _ in last.once - now.once:
            assert each in dropped or is_withheld, each

    def _check_grows(self, prompt: dict[str, Any]) -> None:
        assert tuple(each["id"] for each in prompt["layers"]) == LAYERS
        assert all(each.startswith("nearLimit: ") for each in prompt["manifest"]["warnings"])
        if len(self.prompts) >= 2 and not self._breaks:
            earlier, later = (r.sequence(each["messages"]) for each in self.prompts[-2:])
            assert later[: len(earlier)] == earlier, "a prompt begins with the one before"


_PIN_STATES = {"pin": "full", "pin_changes": "changes", "pin_failed": "failed", None: "reference"}
_FORMS = frozenset({"whole", "newer", "changes", "line"})
_BESIDES = frozenset({"none_active", "heading", "named", "pin", "pin_changes", "pin_failed", "pin_gone"})


def _is_new(hows: Sequence[str]) -> bool:
    return bool({"whole", "newer", "changes", "pin_changes"} & {*hows}) or hows == ["pin"]


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
