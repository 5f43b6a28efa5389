"""Random chats of several frameworks through `workspaced/context/transform`, with what must hold after each call.

A message has a mark of its own (`Q7x` of a user, `A7x` of a model, `R7x` of a tool), each version of a note one
(`N2v5`): so it is seen what stands where, how often, and in which order.
"""

import json
import random
import re
from itertools import count, takewhile
from typing import Any

from support.provider_bodies import of_body, sequence

Json = dict[str, Any]
FORMS = ("openai", "responses", "anthropic", "gemini")
KEEPINGS = ("plain", "got", "merged", "without empty", "spaced")
_MESSAGES = {"openai": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}
_SYSTEM = {"openai": "", "responses": "instructions", "anthropic": "system", "gemini": "systemInstruction"}
_MARK = re.compile(r"[QAR]\d+x")
_NOTE = re.compile(r"MARK (N\d+v\d+)\.")
_ACTIVE = re.compile(r"<active_note\w*\b[^>]*>.*?<path>(.*?)</path>|- (\S+) \(active|Active note: (\S+)")


class Notes:
    """The vault's notes, each with a mark for its present version."""

    def __init__(self, daemon: Any, chance: random.Random) -> None:
        self.daemon, self.chance = daemon, chance
        self.versions = dict.fromkeys(range(4), 0)
        self.active: int | None = None
        self.hidden: set[int] = set()

    @staticmethod
    def name(number: int) -> str:
        return f"n{number}.md"

    def text(self, number: int) -> str:
        head = "---\nworkspaced: private\n---\n" if number in self.hidden else ""
        lines = "".join(f"Line {at} of note {number}.\n" for at in range(12))
        return f"{head}# Note {number}\n\n{lines}\nMARK N{number}v{self.versions[number]}.\n"

    def write(self, number: int) -> None:
        self.daemon.add({self.name(number): self.text(number)})

    def change(self, client: Any) -> None:
        number = self.chance.randrange(len(self.versions))
        kind = self.chance.random()
        if kind < 0.6:
            self.active = number if kind > 0.05 else None
            self.look(client)
        elif kind < 0.9:
            self.versions[number] += 1
            self.write(number)
        else:
            self.hidden ^= {number}
            self.versions[number] += 1
            self.write(number)

    def look(self, client: Any) -> None:
        if self.active is None:
            client.publish([{"type": "active_note_cleared", "data": {}}])
        else:
            client.publish([{"type": "active_note_set", "data": {"note": self.name(self.active)}}])


class Chat:
    """One chat in a framework, which has its own way to keep messages."""

    def __init__(self, form: str, keeping: str, window: Json, first: str) -> None:
        self.form, self.keeping, self.window, self.first = form, keeping, window, first
        self.said: list[Json] = []
        """`{role, text, marks, calls?, results?}`, as they were said."""
        self.kept: list[Any] | None = None
        """Of a framework that keeps what it got: that, for the first `len(kept_for)` messages."""
        self.kept_for = 0
        self.before: tuple[list[Json], list[str]] | None = None
        """What was said at the last call, and the parts that were sent."""
        self.system: Any = None

    # -- in the form --

    def messages(self) -> list[Any]:
        start = self.kept_for if self.kept is not None else 0
        said = [dict(each) for each in self.said[start:]]
        if self.keeping == "without empty":
            said = [each for each in said if each["text"] or each["calls"] or each["results"]]
        if self.keeping == "merged":
            joined: list[Json] = []
            for each in said:
                if (
                    joined
                    and each["role"] == joined[-1]["role"] == "user"
                    and not each["results"]
                    and not joined[-1]["results"]
                ):
                    joined[-1]["text"] = "\n\n".join(filter(None, (joined[-1]["text"], each["text"])))
                else:
                    joined.append(each)
            said = joined
        rendered = [item for each in said for item in getattr(self, f"_{self.form}")(each)]
        made = [*(self.kept or []), *rendered]
        if self.form == "openai" and self.kept is None:
            made = [{"role": "system", "content": "You help."}, *made]
        return made

    def _space(self, text: str) -> str:
        return f" {text}\n" if self.keeping == "spaced" and text else text

    def _openai(self, said: Json) -> list[Json]:
        if said["results"]:
            return [{"role": "tool", "tool_call_id": name, "content": text} for name, text in said["results"]]
        made: Json = {"role": said["role"], "content": self._space(said["text"])}
        if said["calls"]:
            made["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": "look", "arguments": '{"q": "x"}'}}
                for name in said["calls"]
            ]
        return [made]

    def _responses(self, said: Json) -> list[Json]:
        if said["results"]:
            return [
                {"type": "function_call_output", "call_id": name, "output": text} for name, text in said["results"]
            ]
        made: list[Json] = []
        if said["text"] or not said["calls"]:
            made.append({"role": said["role"], "content": self._space(said["text"])})
        made += [
            {"type": "function_call", "call_id": name, "name": "look", "arguments": '{"q": "x"}'}
            for name in said["calls"]
        ]
        return made

    def _anthropic(self, said: Json) -> list[Json]:
        blocks: list[Json] = [
            {"type": "tool_result", "tool_use_id": name, "content": text} for name, text in said["results"]
        ]
        if said["text"]:
            blocks.append({"type": "text", "text": self._space(said["text"])})
        blocks += [{"type": "tool_use", "id": name, "name": "look", "input": {"q": "x"}} for name in said["calls"]]
        return [{"role": said["role"], "content": blocks}]

    def _gemini(self, said: Json) -> list[Json]:
        parts: list[Json] = [
            {"functionResponse": {"id": name, "name": "look", "response": {"output": text}}}
            for name, text in said["results"]
        ]
        if said["text"]:
            parts.append({"text": self._space(said["text"])})
        parts += [{"functionCall": {"id": name, "name": "look", "args": {"q": "x"}}} for name in said["calls"]]
        return [{"role": {"assistant": "model"}.get(said["role"], "user"), "parts": parts}]


class Driver:
    """Frameworks in one process, all of them one client."""

    def __init__(self, daemon: Any, seed: int) -> None:
        self.daemon, self.seed = daemon, seed
        self.chance = random.Random(seed)
        self.notes = Notes(daemon, self.chance)
        self.numbers = count()
        self.chats: list[Chat] = []
        self.trail: list[str] = []
        self.client = daemon.connect("framework")
        self.folds = 0
        self.at = 1

    def restart(self) -> None:
        self.client.close()
        self.daemon.kill()
        self.daemon.start()
        self.client = self.daemon.connect("framework")
        self.client.call("workspaced/reconcile")
        self.trail.append("restart")

    def run(self, steps: int) -> None:
        self.notes.active = 0
        self.notes.look(self.client)
        for step in range(steps):
            if self.chance.random() < 0.03:
                self.restart()
            if self.chance.random() < 0.4:
                self.notes.change(self.client)
                self.trail.append(
                    f"notes: active {self.notes.active} {self.notes.versions} hidden {self.notes.hidden}"
                )
            self.step(step)
        self.client.close()
        done = self.daemon.cli("replay", "--verify", str(self.daemon.data))
        assert done.returncode == 0, done.stderr

    def step(self, step: int) -> None:
        chance = self.chance
        if not self.chats or chance.random() < 0.08:
            small = chance.random() < 0.3
            window: Json = {"contextWindow": 2_500, "outputReserve": 100} if small else {}
            self.chats.append(Chat(chance.choice(FORMS), chance.choice(KEEPINGS), window, ""))
        chat = chance.choice(self.chats[-5:])
        name = f"{step}: chat {self.chats.index(chat)} {chat.form} {chat.keeping} {bool(chat.window)}"
        kind = chance.random()
        said = chat.said
        users = [at for at, each in enumerate(said) if each["role"] == "user" and not each["results"]]
        if said and kind < 0.12 and users:
            at = chance.choice(users)
            self.trail.append(f"{name}: edits {said[at]['marks']}")
            self._cut(chat, at)
            self._say(chat, "user")
        elif said and kind < 0.2 and users:
            at = chance.choice(users)
            self.trail.append(f"{name}: regenerates {said[at]['marks']}")
            self._cut(chat, at + 1)
        elif said and kind < 0.26:
            self.trail.append(f"{name}: no answer, goes on")
            self._say(chat, "user")
        elif said and kind < 0.4 and said[-1]["role"] == "user":
            self.trail.append(f"{name}: tools")
            calls = [f"c{next(self.numbers)}" for _ in range(chance.choice((1, 1, 2, 3)))]
            self._add(chat, "assistant", chance.choice(("", self._words("A"))), calls=calls)
            self._add(chat, "user", "", results=[(each, self._words("R")) for each in calls])
        else:
            self.trail.append(f"{name}: goes on")
            if said:
                self._add(chat, "assistant", "" if chance.random() < 0.06 else self._words("A"))
            self._say(chat, "user")
        self.call(chat)

    def _words(self, letter: str) -> str:
        return f"{letter}{next(self.numbers)}x" + " and more words" * self.chance.choice((1, 5, 30))

    def _say(self, chat: Chat, role: str) -> None:
        self._add(chat, role, self._words("Q"))

    def _add(self, chat: Chat, role: str, text: str, **more: Any) -> None:
        said = {"role": role, "text": text, "calls": [], "results": [], **more}
        marks = _MARK.findall(text) + [mark for _name, each in said["results"] for mark in _MARK.findall(each)]
        chat.said.append({**said, "marks": marks})

    def _cut(self, chat: Chat, at: int) -> None:
        """Of one that keeps what it got, the kept messages go, too."""
        del chat.said[at:]
        if chat.kept is None or at >= chat.kept_for:
            return
        there = {mark for each in chat.said for mark in each["marks"]}
        kept = [*takewhile(lambda each: set(_MARK.findall(json.dumps(each))) <= there, chat.kept)]
        while (
            kept
            and kept[-1].get("role") != "system"
            and (
                not _MARK.findall(json.dumps(kept[-1]))
                or "c" in re.findall(r'"(?:call_)?id": "(c)', json.dumps(kept[-1]))
            )
        ):
            kept.pop()  # empty, or a call without its result
        marks = {mark for each in kept for mark in _MARK.findall(json.dumps(each))}
        whole = [*takewhile(lambda each: set(each["marks"]) <= marks, chat.said)]
        while whole and (not whole[-1]["marks"] or whole[-1]["calls"]):
            whole.pop()
        chat.said = whole
        chat.kept, chat.kept_for = kept, len(chat.said)

    # -- a call, and what must hold after it --

    def call(self, chat: Chat) -> None:
        if not chat.said or chat.said[-1]["role"] != "user":
            self._say(chat, "user")
        params: Json = {"form": chat.form, "messages": chat.messages(), **chat.window}
        if chat.form != "openai":
            params["system"] = chat.system if chat.system is not None else "You help."
        made = self.client.call("workspaced/context/transform", params)
        body = {
            _MESSAGES[chat.form]: made["messages"],
            **({_SYSTEM[chat.form]: made["system"]} if made["system"] else {}),
        }
        try:
            self.check(chat, body, made)
        except AssertionError as error:
            raise AssertionError(
                f"seed {self.seed}\n"
                + "\n".join(self.trail[-14:])
                + f"\nsaid {[each['marks'] or each['role'] for each in chat.said]}"
                f"\n{error}\nREQUEST {json.dumps(params)[-6000:]}\nMADE {json.dumps(made)[-9000:]}"
            ) from error
        if chat.keeping == "got":
            chat.kept, chat.kept_for = made["messages"], len(chat.said)
            if chat.form != "openai":
                chat.system = made["system"]
        chat.before = ([dict(each) for each in chat.said], sequence(chat.form, body))

    def check(self, chat: Chat, body: Json, made: Json) -> None:
        events = self.client.call(
            "workspaced/log", {"from": self.at, "limit": 10_000, "types": ["context_folded", "message_added"]}
        )["events"]
        self.at = made["seq"]
        folded = [each for each in events if each["type"] == "context_folded"]
        self.folds += len(folded)
        read = of_body(chat.form, body)
        texts = [part.text for each in read.messages for part in each.parts]
        spoken = " ".join(texts)
        wanted = [mark for each in chat.said for mark in each["marks"]]
        found = _MARK.findall(spoken)
        is_folded = found != wanted and (bool(chat.window) or folded)
        if is_folded:
            assert found == wanted[len(wanted) - len(found) :], f"words: {found} for {wanted}"
        else:
            assert found == wanted, f"words: {found} for {wanted}"
        assert "[User query]" not in read.system
        assert read.system.count("Context Library") <= 1, "library twice"
        last = chat.said[-1]
        if not last["results"]:
            assert spoken.endswith(" ".join(last["text"].split())), "the last words"
        raw = json.dumps(body)
        for mark in set(_NOTE.findall(raw)):
            times = raw.count(f"MARK {mark}.") - raw.count(f"-MARK {mark}.")
            assert times <= 1, f"{mark} stands {times} times"
        for number in self.notes.hidden:
            mark = f"MARK N{number}v{self.notes.versions[number]}."
            assert mark not in raw, "withheld"
        if not last["results"]:
            self.check_active(chat, read)
        self.check_prefix(chat, body, folded)

    def check_active(self, chat: Chat, read: Any) -> None:
        text = " ".join(part.text for each in read.messages for part in each.parts if each.role == "user")
        names = ["".join(found) for found in _ACTIVE.findall(text)]
        if self.notes.active is None or self.notes.active in self.notes.hidden:
            return
        assert names and names[-1] == self.notes.name(self.notes.active), f"active: {names}"

    def check_prefix(self, chat: Chat, body: Json, folded: list[Json]) -> None:
        if chat.before is None or folded:
            return
        said, sent = chat.before
        now = sequence(chat.form, body)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(said, chat.said, strict=False)))
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(sent, now, strict=False)))
        if same == len(sent):
            return
        kept = {mark for each in said[:common] for mark in each["marks"]}
        differing = set(_MARK.findall(sent[same]))
        if common == len(said) and same < len(now) and now[same].startswith(sent[same].rstrip('"}]')):
            return  # joined with the words before, to which there was no answer
        newest = set(chat.said[-1]["marks"])
        if chat.said[-1]["role"] == "user" and newest & (
            differing | set(_MARK.findall(now[same] if same < len(now) else ""))
        ):
            return  # the newest turn, again: it may be over another note
        assert not differing & kept, (
            f"prefix: part {same} with {differing} changed: {sent[same][-700:]} -> {now[same : same + 1]}"
        )
