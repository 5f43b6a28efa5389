"""What prompts cost a daemon: the time of a turn in a long conversation, and the memory of many conversations.

Both ask a daemon over its socket, as runtimes do. A turn is all that a runtime does: it adds the user's message,
asks for the provider's body, adds the calls and results of tools and asks again, and adds the answer.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from workspaced.client.sync_client import SyncClient

from .assembler import RESERVE
from .bare import BareLog
from .daemon import Place, daemon
from .measure import Figure, at_most, cpu_seconds, median, percentile, seconds
from .prompt_scenarios import SYSTEM, TOOL, TOOLS, Scenario, ScenarioTurn, Words, turns_of

LONG: Final = Scenario("long", 400_000, active=True, once=60, note_chars=3_000, edits=0.15, tools=0.3)
"""Nothing is cut: all turns stand in the last prompt."""
LONG_TURNS: Final = 200
LAST: Final = 40
"""The overhead is that of the last turns."""
CONVERSATIONS: Final = 200
MESSAGES: Final = 200
GROWTH_MB_MAX: Final = 8
_SEED: Final = 1
_LINE: Final = b"x" * 1_000


def overhead(at: Place) -> Iterator[Figure]:
    """A turn's whole overhead in a long conversation."""
    turns = turns_of(LONG, Words(at.new("words"), _SEED), _SEED, LONG_TURNS // 4 if at.sizes.quick else LONG_TURNS)
    vault = at.new("notes")
    _write(vault, turns)
    bare = BareLog(at.new("bare"))
    with daemon(at, vault, name="overhead") as running:
        running.wait_for_index()
        with running.client() as client:
            timed = _timed(client, vault, turns, bare)
            before = list(islice(timed, len(turns) - LAST))
            cpu_s = cpu_seconds(running.pid)
            last = list(timed)
            cpu_s = cpu_seconds(running.pid) - cpu_s
    bare.close()
    fields = {
        "p99": percentile([taken.whole for taken in last], 0.99),
        "bodies_ms": median([taken.bodies for taken in last]),
        "daemon_cpu_ms": cpu_s * 1e3 / len(last),
        "bare_syncs_ms": median([taken.bare for taken in last]),
        "first_turns_ms": median([taken.whole for taken in before[:LAST]]),
        "turns": len(turns),
        "note": "each call is recorded durably; bare_syncs: as many bare writes with fdatasync, after each turn",
    }
    whole = median([taken.whole for taken in last])
    yield Figure("context.long.overhead", whole, "ms", at.sizes.whole(at_most(20)), None, fields)


def memory(at: Place) -> Iterator[Figure]:
    """The growth of a daemon's memory over many conversations, after the first quarter of them."""
    conversations, messages = (12, 40) if at.sizes.quick else (CONVERSATIONS, MESSAGES)
    turns = turns_of(LONG, Words(at.new("words"), _SEED), _SEED, messages // 2)
    vault = at.new("notes")
    _write(vault, turns)
    resident = list[float]()
    with daemon(at, vault, name="memory") as running:
        running.wait_for_index()
        with running.client() as client:
            for number in range(1, conversations + 1):
                _converse(client, turns)
                if number % (conversations // 4) == 0:
                    resident.append(running.resident_mb())
    fields = {
        "conversations": conversations,
        "messages": messages,
        "resident_mb": [round(each) for each in resident],
    }
    goal = at.sizes.whole(at_most(GROWTH_MB_MAX))
    yield Figure("context.memory", resident[-1] - resident[0], "MB", goal, None, fields)


class _Taken(NamedTuple):
    """Milliseconds that one turn took."""

    whole: float
    bodies: float
    """The share of the requests for bodies."""
    bare: float
    """As many bare synced writes as the turn had calls, after the turn."""


def _timed(client: SyncClient, vault: Path, turns: Sequence[ScenarioTurn], bare: BareLog) -> Iterator[_Taken]:
    """Each turn of one conversation."""
    talk = _start(client)
    for turn in turns:
        _write(vault, [turn])
        calls = [partial(_say, client, talk, _question(turn)), partial(_body, client, talk)]
        if turn.result is not None:
            calls += [partial(_say, client, talk, *_round(turn)), partial(_body, client, talk)]
        calls.append(partial(_say, client, talk, {"role": "assistant", "text": turn.answer}))
        taken = [seconds(call) * 1e3 for call in calls]
        disk = sum(seconds(lambda: bare.append(_LINE)) for _ in calls) * 1e3
        yield _Taken(sum(taken), sum(taken[1::2]), disk)


def _converse(client: SyncClient, turns: Sequence[ScenarioTurn]) -> None:
    """A conversation of two messages a turn, told at once, with a prompt before its last answer; then it ends."""
    talk = _start(client)
    *told, answer = [
        message for turn in turns for message in (_question(turn), {"role": "assistant", "text": turn.answer})
    ]
    _say(client, talk, *told)
    _body(client, talk)
    _say(client, talk, answer)
    client.call("workspaced/context/end", {"conversation": talk})


def _start(client: SyncClient) -> str:
    settings = {"provider": "anthropic", "model": "bench", "contextWindow": LONG.limit, "outputReserve": RESERVE}
    started = client.call("workspaced/context/start", {**settings, "system": SYSTEM, "tools": TOOLS})
    talk: str = started["conversation"]
    client.call("workspaced/context/pin", {"conversation": talk, "id": "workspace", "kind": "workspace"})
    return talk


def _say(client: SyncClient, talk: str, *messages: dict[str, Any]) -> None:
    client.call("workspaced/context/message", {"conversation": talk, "messages": messages})


def _body(client: SyncClient, talk: str) -> None:
    client.call("workspaced/context/assemble", {"conversation": talk, "layers": False, "shape": "anthropic"})


def _question(turn: ScenarioTurn) -> dict[str, Any]:
    attached = [{"kind": "active_note" if note.active else "note", "id": note.path} for note in turn.attached]
    return {"role": "user", "text": turn.question, "attachments": attached}


def _round(turn: ScenarioTurn) -> Iterator[dict[str, Any]]:
    call = {"id": f"call-{turn.number}", "name": TOOL}
    yield {"role": "assistant", "toolCalls": [{**call, "arguments": {"query": turn.question}}]}
    yield {"role": "user", "toolResults": [{**call, "text": turn.result}]}


def _write(vault: Path, turns: Sequence[ScenarioTurn]) -> None:
    """The notes of the turns as files, each as the first of the turns that attaches it has it."""
    texts = {note.path: note.text for turn in reversed(turns) for note in turn.attached}
    for name, text in texts.items():
        path = vault / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
