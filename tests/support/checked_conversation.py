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
from typing import Any

from support import attachments as g
from support import provider_bodies as bodies

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
        self.library: dict[str, str] = {}
        """What each thing in it says, by its id, in its order."""
        self.pins: dict[str, str | None] = {}
        """What each says; None: that is not known here. One that cannot be read has its line in brackets."""
        self.history: list[tuple[str, list[Any]]] = []
        """The role and the parts of each message; the skills of a turn stand before its words."""
        self.ids: list[str] = []
        self.prompts: list[dict[str, Any]] = []
        self.read: dict[str, Any] = {}
        """What the last body for each provider says."""
        self.bodies: dict[str, dict[str, Any]] = {}
        self.rebases: list[str] = []
        """Reasons that the log gives."""
        self._is_rebased = False
        self._seq = 0
        self._known: dict[str, str] = {}
        """Every text that was attached, by its hash."""
        self._promoted: dict[str, str] = {}
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

    def move(self, path: str, to: str, *, is_told: bool = False) -> None:
        """Moves a note on disk, or `is_told`: as an editor does that says so. The daemon knows the note before."""
        self.client.call("workspaced/reconcile")
        target = self.running.vault / to
        target.parent.mkdir(parents=True, exist_ok=True)
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
        for kept, content_then in self._promoted.items():
            self.library.setdefault(kept, content_then)
        self._promoted.clear()
        now = [(each, self._text(each)) for each in attached]
        name = self.say(role="user", text=text, attachments=[each.said for each in attached])
        prompt = self.assemble()
        self._known |= {g.digest(content): content for _, content in now if content is not None}
        self._follow_log()
        self._check_turn(prompt, name, text, now, **more)
        self._check_bodies(prompt)
        stay = [bodies.Part("text", f"skill {each.id}: {each.text}") for each in attached if each.tag == "skill"]
        self._turn = [("user", [*stay, bodies.Part("text", text)])]
        for each, content in now:
            if each.stays and content is not None:
                self._promoted.setdefault(each.id, content)
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
        """The library is another one where the log says so, and gives a reason; nowhere else."""
        self._is_rebased = False
        for event in self.events("library_rebased", after=self._seq):
            if event["data"]["conversation"] == self.id:
                self._is_rebased = True
                self._seq = event["seq"]
                self.rebases.append(event["data"]["reason"])
                self.library = {each["id"]: self._known[each["revision"]] for each in event["data"]["library"]}

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
        """Each body says what the prompt says, in a form that its provider takes."""
        read = bodies.of_prompt(prompt)
        for shape in self.shapes:
            made = self.client.context.assemble(self.id, shape=shape, layers=False)
            assert made["hashes"] == prompt["hashes"] and made["messages"] == []
            assert not made.get("changes"), made["changes"]
            self.bodies[shape] = made["body"]
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
        """The prompt for a turn's first message, against the books.

        Args:
            now: what is attached, with what it says now (None: it cannot be read).
            query: what the fifth layer says, where it is more than `text`.
            is_trimmed: whether the oldest turns may be left out.
        """
        self.check_books(prompt)
        system = prompt["messages"][0] if prompt["messages"][0]["role"] == "system" else None
        shown = "" if system is None else "".join(block["text"] for block in system["content"])
        framed = g.joined(g.LIBRARY, g.layer(prompt, "L2_PREVIOUS")["text"]) if self.library else ""
        assert shown == g.joined(g.layer(prompt, "L1_SYSTEM")["text"], framed)
        library = [(at, body) for _, at, body in g.blocks_in(g.layer(prompt, "L2_PREVIOUS")["text"])]
        assert library == list(self.library.items())

        said = prompt["messages"][-1]
        assert (said["role"], said["id"]) == ("user", name)
        wanted = g.joined(text if query is None else query)
        self._check_user("\n\n".join(block["text"] for block in said["content"] if "text" in block), now, wanted)
        assert g.layer(prompt, "L5_USER")["text"] == wanted
        images = sum(block["type"] == "image" for block in said["content"])
        assert images == sum(each.tag == "image" and not each.fails for each, _ in now)
        middle = prompt["messages"][0 if system is None else 1 : -1]
        left_out = self._check_history(middle, is_trimmed=is_trimmed)
        self._check_manifest(prompt, name, now, left_out)

    def _check_user(self, said: str, now: Sequence[tuple[Any, str | None]], query: str) -> None:
        """References, blocks and what could not be read, each thing once; then the words."""
        assert said.endswith(query)
        context = said.removesuffix(query).rstrip("\n")
        if not now and not self.pins:
            assert context == "", "no context: the words alone"
            return
        assert context.endswith(g.QUERY)
        context = context.removesuffix(g.QUERY)
        first = g.one_of_each(now)
        for each, _ in first:
            if each.tag == "search":
                [block] = re.findall(rf"(?s)<{each.id}>\n.*?</{each.id}>", context)
                assert each.text and block.count(each.text) == context.count(each.text) == 1
                context = context.replace(block, "")
        outside = g.BLOCK.sub("", context)
        assert g.QUERY not in outside
        wanted = [
            f"- {each.id}"
            + " (active)" * each.is_active
            + " (changed, see below)" * (self.library[each.id] != content)
            for each, content in first
            if each.id in self.library and content is not None
        ]
        lines = [line for match in g.REFERENCES.finditer(outside) for line in match["lines"].splitlines()]
        found = [g.unescaped(html.unescape(line)) for line in lines]
        assert sorted(found) == sorted(wanted)
        assert outside.count(g.HEAD) == outside.count(g.FOUND) == bool(wanted)
        self._check_marks(context, first)
        got = [each for each in g.blocks_in(context) if each[0] != "pinned_context"]
        shown = [
            (each.tag, each.id, content)
            for each, content in first
            if content is not None and each.tag not in {"image", "search"} and self.library.get(each.id) != content
        ]
        assert sorted(got) == sorted(shown)
        self._check_pins(context)
        failed = [line for each, _ in first for line in (each.fails, each.besides) if line]
        failed += [text for text in self.pins.values() if text is not None and text.startswith("[")]
        rest = [line.strip() for line in g.REFERENCES.sub("", outside).split("\n\n")]
        rest = [line for line in rest if line and line != g.TOOLS]
        assert sorted(rest) == sorted(failed), "nothing besides"

    def _check_marks(self, context: str, now: Sequence[tuple[Any, str | None]]) -> None:
        """References come before the blocks; a note's says of when it is, and whether the library's is old."""
        texts = {each.id: content for each, content in now}
        for match in g.BLOCK.finditer(context):
            if match["tag"] in {"note_context", "active_note"}:
                name = g.unescaped(html.unescape(match["at"]))
                assert "<mtime>" in match["fields"]
                assert ("replaces" in match["fields"]) == (self.library.get(name, texts[name]) != texts[name])
                assert g.HEAD not in g.BLOCK.sub("", context[match.end() :])

    def _check_pins(self, context: str) -> None:
        """Every pin is there once, in order, and says what is known of it."""
        found = {
            match["title"]: g.unescaped(match["body"])
            for match in g.BLOCK.finditer(context)
            if match["tag"] == "pinned_context"
        }
        wanted = {name: text for name, text in self.pins.items() if text is None or not text.startswith("[")}
        assert list(found) == list(wanted)
        assert all(text is None or g.joined(found[name]) == g.joined(text) for name, text in wanted.items())

    def _check_history(self, messages: Sequence[dict[str, Any]], *, is_trimmed: bool) -> int:
        """What was said before, word for word, without its context; returns how many messages are left out."""
        told = bodies.of_prompt({"messages": [g.with_skills_read(each) for each in messages]}).messages
        wanted = bodies.merged(self.history)
        left_out = len(wanted) - len(told)
        assert told == wanted[left_out:]
        assert left_out == 0 or (is_trimmed and told[0].role == "user")
        return left_out

    def _check_manifest(
        self, prompt: dict[str, Any], name: str, now: Sequence[tuple[Any, str | None]], left_out: int
    ) -> None:
        """Each thing has exactly one record in its layer, and the record is true."""
        held = [
            each["id"]
            for each in prompt["manifest"]["entries"]
            if (each["layer"], each["state"]) == ("L2_PREVIOUS", "full") and each["kind"] != "frame"
        ]
        assert held == list(self.library)
        once = g.one_of_each(now)
        for each, content in once:
            [record] = [one for one in g.entries(prompt, each.id) if one["why"] != "duplicate"]
            if content is None:
                assert record["state"] == "failed" and record["detail"]
                continue
            is_known = self.library.get(each.id) == content
            assert record["state"] == ("reference" if is_known else "full"), record
            assert record["revision"] == g.digest(content) or each.tag in {"image", "search"}
        for at, earlier in enumerate(self.ids[:-1]):
            [record] = [each for each in prompt["manifest"]["entries"] if each["id"] == earlier]
            state = "dropped" if at < left_out else "full"
            assert (record["layer"], record["state"]) == ("L4_STRIP", state), (at, left_out, record)
        [record] = g.entries(prompt, name, "L5_USER")
        assert record["state"] == "full"
        for pin, text in self.pins.items():
            [record] = g.entries(prompt, pin)
            assert record["state"] == ("failed" if (text or "").startswith("[") else "full"), record

    def check_books(self, prompt: dict[str, Any]) -> None:
        """Layers, hashes and the manifest agree with each other; the prefix is that of the last prompt."""
        manifest = prompt["manifest"]
        assert tuple(each["id"] for each in prompt["layers"]) == LAYERS
        for each in prompt["layers"]:
            assert each["text"] == g.joined(*(part["text"] for part in each["segments"]))
            assert each["hash"] == g.digest(each["text"]) == prompt["hashes"][each["id"]]
        texts = [each["text"] for each in prompt["layers"] if each["text"]]
        assert prompt["combinedHash"] == g.digest("\n\n".join(texts))
        assert [(each["id"], each["hash"]) for each in manifest["layers"]] == list(prompt["hashes"].items())
        keys = Counter(
            (each["layer"], each["kind"], each["id"]) for each in manifest["entries"] if each["why"] != "duplicate"
        )
        assert max(keys.values()) == 1, keys.most_common(2)
        tokens = sum(each.get("tokens", 0) for each in manifest["entries"]) + manifest["toolTokens"]
        assert abs(tokens - prompt["estimate"]) <= len(keys), "what takes room has a record, and once"
        assert prompt["estimate"] == manifest["estimate"] <= manifest["limit"]
        assert manifest["warnings"] == []
        if len(self.prompts) < 2:
            return
        before = self.prompts[-2]
        assert g.layer(prompt, "L1_SYSTEM")["hash"] == g.layer(before, "L1_SYSTEM")["hash"]
        if not self._is_rebased:
            earlier, later = (g.layer(each, "L2_PREVIOUS")["text"] for each in (before, prompt))
            assert later.startswith(earlier)
