"""A conversation over a real daemon and real files, each of whose prompts is held against the specification.

It keeps its own books of what the model must be sent: which notes stand in the library and with which text, what
was said before, what is pinned. After every turn the prompt, its layers, its manifest and the bodies for three
providers are compared with them: nothing is missing, nothing is there twice, and nothing is there besides.
"""

import html
import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from support import attachments as g
from support import provider_bodies as bodies
from support.diffs import applied

LAYERS = ("L1_SYSTEM", "L2_PREVIOUS", "L3_TURN", "L4_STRIP", "L5_USER")


class Talk:
    """One conversation. Settings are those of `context.start`."""

    def __init__(
        self, running: Any, name: str = "talk", shapes: Sequence[str] = bodies.SHAPES, **settings: Any
    ) -> None:
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
        self.id = name
        self.shapes = shapes
        self.client.context.start(conversation=self.id, **self.settings)
        self.words: dict[str, str] = {}
        """What the fifth layer said of each turn, by the id of its message."""
        self.named: dict[tuple[str, str | None], bool] = {}
        """Whether a note was named as changed, by its path and its text then."""
        self.seen: dict[tuple[str, str | None], int] = {}
        """The prompt that did so."""
        self.moved: set[str] = set()
        """Former paths of notes."""
        self.pins: dict[str, str | None] = {}
        """What each says; None: that is not known here. One that cannot be read has its line in brackets."""
        self.ids: list[str] = []
        self.prompts: list[dict[str, Any]] = []
        self.read: dict[str, Any] = {}
        """What the last body for each provider says."""
        self.bodies: dict[str, dict[str, Any]] = {}
        self.rebases: list[str] = []
        """Reasons that the log gives."""
        self._is_folded = False
        self._seq = 0
        self._number = 0

    # -- what the user and the runtime do --

    def write(self, path: str, text: str) -> None:
        target = self.running.vault / path
        is_new = not target.exists()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        if is_new:
            self.client.call("workspaced/reconcile")  # until it has settled

    def move(self, path: str, to: str, *, is_told: bool = False) -> None:
        """Moves a note on disk, or `is_told`: as an editor does that says so. The daemon knows the note before."""
        self.client.call("workspaced/reconcile")
        target = self.running.vault / to
        target.parent.mkdir(parents=True, exist_ok=True)
        self.moved.add(path)
        (self.running.vault / path).rename(target)
        if is_told:
            self.client.publish([{"type": "note_renamed", "data": {"from": path, "to": to}}])
        else:
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

    def turn(self, text: str, *attached: Any, **more: Any) -> dict[str, Any]:
        """A whole turn without tools: asked, checked and answered."""
        prompt = self.ask(text, *attached, **more)
        self.answer(f"Answer {self._number}.")
        return prompt

    def ask(self, text: str, *attached: Any, **more: Any) -> dict[str, Any]:
        """A user's message with the checked prompt for it.

        Args:
            more: see `_check_turn`.
        """
        self._number += 1
        now = [(each, self._text(each)) for each in attached]
        name = self.say(role="user", text=text, attachments=[each.said for each in attached])
        prompt = self.assemble()
        self._follow_log()
        self._check_turn(prompt, name, text, now, **more)
        self._check_bodies(prompt)
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
        self._follow_log()
        said = [bodies.Part("text", text)] if text else []
        said += [bodies.Part("call", bodies.arguments(each.arguments), each.id, each.name) for each in calls]
        heard = [
            bodies.Part("error" if each.is_error else "result", bodies.words(each.text), each.id) for each in calls
        ]
        added = [("assistant", said), ("user", heard)]
        assert prompt["messages"][:-2] == before["messages"], "a round only appends"
        assert bodies.of_prompt(prompt).messages[-2:] == bodies.merged(added)
        for name in self.ids[-2:]:
            [record] = [each for each in prompt["manifest"]["entries"] if each["id"] == name]
            assert record["state"] == "full"
        self.check_books(prompt)
        self._check_bodies(prompt)
        return prompt

    def answer(self, text: str) -> None:
        self.say(role="assistant", text=text)

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
        """The prompt begins as the last one unless the log tells of a fold, with its reason."""
        self._is_folded = False
        for event in self.events("library_rebased", "context_folded", after=self._seq):
            if event["data"]["conversation"] == self.id:
                self._is_folded = True
                self._seq = event["seq"]
                self.rebases.append(event["data"]["reason"])

    # -- the end --

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
        return prompt

    def _check_bodies(self, prompt: dict[str, Any]) -> None:
        """Each body says what the prompt says, as its provider takes it, and begins as the last one did."""
        read = bodies.of_prompt(prompt)
        for shape in self.shapes:
            made = self.client.context.assemble(self.id, shape=shape, layers=False)
            assert made["hashes"] == prompt["hashes"] and made["messages"] == []
            assert not made.get("changes"), made["changes"]
            before = bodies.stable(shape, self.bodies[shape]) if shape in self.bodies else []
            self.bodies[shape] = made["body"]
            assert self._is_folded or bodies.stable(shape, made["body"])[: len(before)] == before
            self.read[shape] = bodies.of_body(shape, made["body"])
            bodies.check_same(shape, self.read[shape], read)

    def _check_turn(
        self,
        prompt: dict[str, Any],
        name: str,
        text: str,
        now: Sequence[tuple[Any, str | None]],
        *,
        query: str | None = None,
        is_trimmed: bool = False,
    ) -> None:
        """The prompt for a turn's first message, against what a reader of it knows.

        Args:
            now: what is attached, with what it says now (None: it cannot be read).
            query: what the fifth layer says, where it is more than `text`.
            is_trimmed: whether the oldest turns may be left out.
        """
        self.check_books(prompt)
        wanted = g.joined(text if query is None else query)
        self.words[name] = wanted
        assert is_trimmed or not self._is_folded or self.rebases[-1] in {"asked", "each_turn", "withheld", "turns"}
        *earlier, said = prompt["messages"]
        assert (said["role"], said["id"]) == ("user", name)
        assert g.layer(prompt, "L5_USER")["text"] == wanted
        reader = Reader(self.words)
        for message in earlier:
            reader.read(message)
        self._check_said(reader, said, name, now)
        self._check_manifest(prompt, name, now)

    def _check_said(
        self, reader: "Reader", said: dict[str, Any], name: str, now: Sequence[tuple[Any, str | None]]
    ) -> None:
        """Each attached thing is there: above in this version, as changes to what is above, or whole; once."""
        known = dict(reader.shown)
        told = reader.read(said)
        first = g.one_of_each(now)
        for each, content in first:
            if content is None:
                assert told.lines.count(each.fails) == 1
                continue
            if each.besides:
                assert told.lines.count(each.besides) == 1
            if each.tag == "image":
                images = sum(block["type"] == "image" for block in said["content"])
                assert images or any(line.startswith(f"Attached: {each.id} (above") for line in told.lines)
                continue
            if each.tag == "search":
                assert each.text and each.text in told.text
                continue
            key = g.key_of(each, content)
            assert reader.shown[key] == content, (each, "the reader knows what it says now")
            is_above = known.get(key) == content or content in [
                text for other, text in known.items() if other[0] == key[0] == "note"
            ]
            assert (each.id in told.whole) != is_above, (each, "whole or changed, or above")
        active = next((each.id for each, content in first if each.is_active and content is not None), None)
        assert reader.active == active, "the active note can be told"
        self._check_old(reader, told, {each.id for each, _ in first})
        self._check_pins(reader)
        failed = [line for each, _ in first for line in (each.fails, each.besides) if line]
        rest = [line for line in told.lines if line not in failed and not g.OURS.match(line)]
        assert rest == [], "nothing besides"
        assert name in self.words

    def _check_old(self, reader: "Reader", told: "Told", attached: set[str]) -> None:
        """What stands above in another version than on disk, and is not attached, was named in this version."""
        for (kind, path), text in reader.shown.items():
            target = self.running.vault / path
            if kind != "note" or path in attached or path in self.moved:
                continue
            now = target.read_bytes().decode() if target.is_file() else None
            if now != text:
                self.named.setdefault((path, now), path in told.changed)
                assert self.named[path, now], (path, "changed, and nothing says so")
                if path in told.changed:
                    assert self.seen.setdefault((path, now), len(self.prompts)) == len(self.prompts), "told once"

    def _check_pins(self, reader: "Reader") -> None:
        """Every pin was said as it is now, and none that is there no more."""
        known = {name: text for name, text in self.pins.items() if text is not None}
        for name, text in known.items():
            if text.startswith("["):
                assert text in reader.failed
            else:
                assert g.joined(reader.pins[name]) == g.joined(text)
        assert set(reader.pins) <= set(self.pins)

    def _check_manifest(self, prompt: dict[str, Any], name: str, now: Sequence[tuple[Any, str | None]]) -> None:
        """Each thing has exactly one record in its layer, and the record is true."""
        for each, content in g.one_of_each(now):
            [record] = [one for one in g.entries(prompt, each.id) if one["why"] != "duplicate"]
            if content is None:
                assert record["state"] == "failed" and record["detail"]
                continue
            assert record["state"] in {"reference", "full", "changes"}, record
            assert record["revision"] == g.digest(content) or each.tag in {"image", "search"}
        for earlier in self.ids[:-1]:
            records = [each for each in prompt["manifest"]["entries"] if each["id"] == earlier]
            assert [each["layer"] for each in records] == ["L4_STRIP"], (earlier, records)
        [record] = g.entries(prompt, name, "L5_USER")
        assert record["state"] == "full"
        for pin, text in self.pins.items():
            [record] = g.entries(prompt, pin)
            assert (record["state"] == "failed") == (text or "").startswith("["), record

    def check_books(self, prompt: dict[str, Any], *, goes_on: bool = True) -> None:
        """Layers, hashes and the manifest agree; the prompt begins as the last one did, if it `goes_on`."""
        manifest = prompt["manifest"]
        assert tuple(each["id"] for each in prompt["layers"]) == LAYERS
        for each in prompt["layers"]:
            assert each["text"] == g.joined(*(part["text"] for part in each["segments"]))
            assert each["hash"] == g.digest(each["text"]) == prompt["hashes"][each["id"]]
        texts = [each["text"] for each in prompt["layers"] if each["text"]]
        assert prompt["combinedHash"] == g.digest("\n\n".join(texts))
        assert [(each["id"], each["hash"]) for each in manifest["layers"]] == list(prompt["hashes"].items())
        keys = Counter(
            (each["layer"], each["kind"], each["id"])
            for each in manifest["entries"]
            if each["why"] not in {"duplicate", "sent", "fold"}
        )
        assert max(keys.values()) == 1, keys.most_common(2)
        tokens = sum(each.get("tokens", 0) for each in manifest["entries"]) + manifest["toolTokens"]
        assert abs(tokens - prompt["estimate"]) <= len(manifest["entries"]), (
            "what takes room has a record, and once"
        )
        assert prompt["estimate"] == manifest["estimate"] <= manifest["limit"]
        assert all(each.startswith("nearLimit: ") for each in manifest["warnings"])
        if len(self.prompts) < 2 or not goes_on:
            return
        before = self.prompts[-2]
        assert g.layer(prompt, "L1_SYSTEM")["hash"] == g.layer(before, "L1_SYSTEM")["hash"]
        if not self._is_folded:
            assert prompt["messages"][: len(before["messages"])] == before["messages"], "a prompt only grows"


class Told(NamedTuple):
    """What one message says besides its words."""

    text: str
    lines: list[str]
    """Everything outside of blocks."""
    whole: set[str]
    """Ids of what is shown in a block, whole or as changes."""
    changed: set[str]


class Reader:
    """Knows what a reader of a prompt knows from its text alone.

    Attributes:
        shown: the text of each thing as last shown.
        active: the note that was last named as the active one.
        pins: what each pin says.
        failed: placeholders of pins.
        left_out: what a fold left a line for.
    """

    def __init__(self, words: dict[str, str]) -> None:
        """`words`: of each message of the user, with the instructions after them."""
        self.shown: dict[tuple[str, str], str] = {}
        self.active: str | None = None
        self.pins: dict[str, str] = {}
        self.failed: set[str] = set()
        self.left_out: set[str] = set()
        self._words = words

    def read(self, message: dict[str, Any]) -> Told:
        text = "\n\n".join(block["text"] for block in message["content"] if block["type"] == "text")
        words = self._words.get(message.get("id", ""))
        if message["role"] == "assistant" or (words is None and message["role"] != "system"):
            return Told("", [], set(), set())
        context = text.removesuffix(words or "").rstrip("\n")
        context = context.removesuffix(g.QUERY)
        whole: set[str] = set()
        for match in g.BLOCK.finditer(context):
            whole.add(self._block(match["tag"], match))
        lines = [line.strip() for line in g.BLOCK.sub("", g.SEARCHED.sub("", context)).split("\n\n")]
        changed: set[str] = set()
        for line in filter(None, lines):
            changed |= self._line(line)
        if message["role"] == "system":
            return Told(context, [], whole, set())
        return Told(context, [line for line in lines if line and line != g.TOOLS], whole, changed)

    def _block(self, tag: str, match: re.Match[str]) -> str:
        name = g.unescaped(html.unescape(match["at"] or match["title"]))
        body = g.unescaped(match["body"])
        if tag == "pinned_context":
            self.pins[match["title"]] = body
            return ""
        key = g.key(tag, name, body)
        if tag.endswith("_changes"):
            assert "changes_to" in match["fields"]
            body = applied(self.shown[key], body)
        else:
            is_newer = key[0] in g.VERSIONED and (key in self.shown or name in self.left_out)
            assert ("replaces_earlier" in match["fields"]) <= is_newer and (is_newer or key not in self.shown), (
                name
            )
        self.shown[key] = body
        if tag.startswith("active_note"):
            self.active = name
        return name

    def _line(self, line: str) -> set[str]:
        """Takes in what a line says; returns the notes that it says have changed."""
        if (found := g.STANDING.fullmatch(line)) is not None:
            name, other = (g.unescaped(html.unescape(found[part] or "")) for part in ("id", "other"))
            above = {key[1].partition("\0")[0] for key in self.shown}
            assert (other or name) in above or name.endswith(".png"), f"{line!r} points to nothing"
            if ("note", other) in self.shown:
                self.shown["note", name] = self.shown["note", other]
            if found["what"] == "Active note":
                self.active = name
        elif line.startswith("[Left out: "):
            self.left_out.add(g.unescaped(html.unescape(line[len("[Left out: ") : -1])))
        elif line == "Active note: none attached":
            self.active = None
        elif line.startswith("Changed since shown above: "):
            named = g.CHANGED.findall(line.removeprefix("Changed since shown above: "))
            return {g.unescaped(html.unescape(name)) for name in named}
        elif line.startswith("[Pinned context unavailable"):
            self.failed.add(line)
        elif line.startswith("[No longer pinned: "):
            self.pins.pop(line[len("[No longer pinned: ") : -1], None)
        return set()
