"""What insertions cost: the price of a client's chats with them, beside the same chats without, and their memory.

The chats are those of prompt_scenarios.py, of a client of Anthropic's interface that marks its system prompt and
its newest block and attaches the notes itself; the user's open notes are in a daemon, which says what to insert.
Prices are base tokens (prefix_caches.py), means of both providers and sums of all seeds.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from workspaced import SyncClient
from workspaced.overlay.asking import METHOD, overlaid, params_of
from workspaced.overlay.request import read_request

from .daemon import Daemon, Place, daemon
from .measure import Figure, at_most
from .prefix_caches import BlockCache, Counter, MarkedCache, Use, blocks_of
from .prompt_cost import QUICK_TURNS, SEEDS, encoder
from .prompt_scenarios import SCENARIOS, SYSTEM, TOOL, TOOLS, TURNS, Scenario, ScenarioTurn, Words, turns_of

PRICE_MAX: Final = 1.05
INSERTIONS: Final = 10_000
MEMORY_MB_MAX: Final = 8
WARM: Final = 100
Json = dict[str, Any]


def figures(at: Place) -> Iterator[Figure]:
    """All of them."""
    vault = at.new("notes")
    vault.mkdir()
    with daemon(at, vault, name="overlay") as running:
        yield _memory(at, running)
        yield from _prices(at, running, vault)


# -- the price --


def _prices(at: Place, running: Daemon, vault: Path) -> Iterator[Figure]:
    seeds, turns = (SEEDS[:1], QUICK_TURNS) if at.sizes.quick else (SEEDS, TURNS)
    words = {seed: Words(at.new("words"), seed) for seed in seeds}
    with encoder(at) as encode, running.client() as client:
        for scenario in SCENARIOS:
            raw, ours = _Bill(), _Bill()
            for seed in seeds:
                counter = Counter(encode)
                chat = _Chat(client, vault, scenario, seed)
                raw.begin(counter)
                ours.begin(counter)
                for body, sent in chat.requests(turns_of(scenario, words[seed], seed, turns)):
                    raw.add(body)
                    ours.add(sent)
            fields = {"prompts": ours.prompts, "insertions": ours.insertions, "breaks": ours.breaks}
            fields |= {"raw_base_tokens": raw.base_tokens, "overlay_base_tokens": ours.base_tokens}
            ratio = ours.base_tokens / raw.base_tokens
            goal = at.sizes.whole(at_most(PRICE_MAX))
            yield Figure(f"overlay.price.{scenario.name}", ratio, "x raw client", goal, None, fields)


class _Bill:
    """What requests cost."""

    def __init__(self) -> None:
        self.uses = {"anthropic": Use(), "openai": Use()}
        self.prompts, self.insertions, self.breaks = 0, 0, 0

    def begin(self, counter: Counter) -> None:
        """A chat, which finds the caches empty."""
        self._caches = {"anthropic": MarkedCache(counter), "openai": BlockCache(counter)}
        self._before: list[tuple[str, str]] = []

    def add(self, body: bytes) -> None:
        blocks = blocks_of(json.loads(body))
        for name, cache in self._caches.items():
            self.uses[name] += cache.serve(blocks)
        plain = [each[:2] for each in blocks]
        begun = self._before
        self.prompts += 1
        self.breaks += plain[: len(begun)] != begun
        self.insertions += sum(text.startswith("<workspace ") for _, text in plain[len(begun) :])
        self._before = plain

    @property
    def base_tokens(self) -> float:
        """The mean of both providers."""
        return sum(use.base_tokens(name) for name, use in self.uses.items()) / len(self.uses)


class _Chat:
    """A client that keeps its chat, and a user beside it."""

    def __init__(self, client: SyncClient, vault: Path, scenario: Scenario, seed: int) -> None:
        self._client, self._vault, self._scenario = client, vault, scenario
        self._name = f"{scenario.name} {seed}"
        self._messages: list[Json] = []

    def requests(self, turns: Sequence[ScenarioTurn]) -> Iterator[tuple[bytes, bytes]]:
        """Each request as the client makes it, and as it leaves."""
        for turn in turns:
            self._look(turn)
            notes = "\n\n".join(f"<note>\n{each.path}\n{each.text}\n</note>" for each in turn.attached)
            self._say("user", *([_text(notes)] if notes else []), _text(turn.question))
            yield self._sent()
            if turn.result is not None:
                name = f"call-{turn.number}"
                self._say("assistant", {"type": "tool_use", "id": name, "name": TOOL, "input": {}})
                self._say("user", {"type": "tool_result", "tool_use_id": name, "content": turn.result})
                yield self._sent()
            self._say("assistant", _text(turn.answer))

    def _say(self, role: str, *content: Json) -> None:
        self._messages.append({"role": role, "content": [*content]})

    def _look(self, turn: ScenarioTurn) -> None:
        """The user's notes are open, and saved, as the turn has them."""
        opened = [line.removeprefix("- ") for line in turn.state.split("\n")[1:]]
        texts = {**dict.fromkeys(opened, "An open note.\n"), **{each.path: each.text for each in turn.attached}}
        for path, text in texts.items():
            file = self._vault / path
            file.parent.mkdir(exist_ok=True)
            if not file.exists() or file.read_text() != text:
                file.write_text(text)
        active = next((each.path for each in turn.attached if each.active), None)
        tabs = [{"note": path} for path in opened]
        self._client.call("workspaced/snapshot", {"source": "bench", "active": active, "pins": [], "tabs": tabs})

    def _sent(self) -> tuple[bytes, bytes]:
        *before, last = self._messages
        marked = {**last["content"][-1], "cache_control": {"type": "ephemeral"}}
        whole = {
            "metadata": {"user_id": self._name},
            "tools": TOOLS,
            "system": [{**_text(SYSTEM), "cache_control": {"type": "ephemeral"}}],
            "messages": [*before, {**last, "content": [*last["content"][:-1], marked]}],
        }
        body = json.dumps(whole).encode()
        return body, _with_context(self._client, body)


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _with_context(client: SyncClient, body: bytes) -> bytes:
    """The body as it leaves."""
    request = read_request("anthropic", body)
    answer = client.call(METHOD, params_of(request))
    if answer["token"] is not None:
        client.call(f"{METHOD}/confirm", {"token": answer["token"], "bodySha256": "0" * 64})
    return overlaid(request, body, answer)


# -- memory --


def _memory(at: Place, running: Daemon) -> Figure:
    """The growth of the daemon's memory by insertions, each in a chat of its own."""
    count = INSERTIONS // 50 if at.sizes.quick else INSERTIONS
    with running.client() as client:
        first = 0.0
        for number in range(WARM + count):
            if number == WARM:
                first = running.resident_mb()
            body = {"messages": [{"role": "user", "content": f"Question {number}?"}], "tools": TOOLS}
            assert b"<workspace " in _with_context(client, json.dumps(body).encode())
    last = running.resident_mb()
    fields = {"insertions": count, "resident_mb": round(last, 1)}
    return Figure("overlay.memory", last - first, "MB", at.sizes.whole(at_most(MEMORY_MB_MAX)), None, fields)
