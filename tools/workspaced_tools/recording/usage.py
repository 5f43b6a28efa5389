"""How tools are used, counted while a log streams by: counters and hashes, never the calls themselves.

A session is what one client calls with no pause longer than SESSION_PAUSE_MINUTES: what it was given then it may
be taken to hold still. The log knows no better: a client is the name it gives itself.
"""

from array import array
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

import msgspec

from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema.catalogue import Event, ToolCalled

from ..prompts.model.token_estimate import estimate_tokens_of_chars
from .reading import Blob
from .recorded_calls import result_of
from .usage_advice import RULES, Answer, Held, advised, read_answer

SESSION_PAUSE_MINUTES: Final = 30
_ANSWERS_KEPT: Final = 10_000
_SESSIONS_KEPT: Final = 1_000
"""Beyond these, sessions that have ended are forgotten."""


class Used(msgspec.Struct, frozen=True, rename="camel"):
    """One tool as one client used it. Tokens are estimates (tokens.py)."""

    tool: str
    caller: str
    calls: int
    failures: int
    bytes: int
    tokens: int
    p50_us: int
    p99_us: int
    repeated: int
    """Calls that asked for what the client had asked in the same session, and got the very same answer,"""
    repeated_tokens: int
    """which were so many tokens."""


class Advised(msgspec.Struct, frozen=True, rename="camel"):
    """Calls of one client for which one rule knows something cheaper."""

    rule: str
    tool: str
    caller: str
    calls: int
    tokens: int
    """That would have been saved."""
    example: int
    """The sequence of the latest such call."""
    advice: str


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """How tools were used. A call counts once: as repeated, or for the first rule that fits."""

    calls: int
    sessions: int
    not_kept: int
    """Calls whose answer is not kept: their tokens are guessed from their bytes, and no rule looks at them."""
    used: list[Used]
    advised: list[Advised]
    """What saves most comes first."""


class _Counts:
    def __init__(self) -> None:
        self.failures = 0
        self.bytes = 0
        self.tokens = 0
        self.repeated = 0
        self.repeated_tokens = 0
        self.durations_us = array("Q")


class _Saved:
    def __init__(self) -> None:
        self.calls = 0
        self.tokens = 0
        self.example = 0


class _Session:
    def __init__(self, ends: str) -> None:
        self.ends = ends
        """A call after this time begins another."""
        self.given: set[bytes] = set()
        """Digests of question and answer."""
        self.held = Held()


class UsageCounter:
    """A sink that counts the calls it is fed."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        self._counts: dict[tuple[str, str], _Counts] = {}
        self._saved: dict[tuple[str, str, str], _Saved] = {}
        self._sessions: dict[str, _Session] = {}
        self._session_count = 0
        self._not_kept = 0
        self._answers: dict[tuple[str, int, str], Answer] = {}

    def feed(self, events: Iterable[Event]) -> None:
        """Counts the calls among the next events."""
        for event in events:
            if type(event.data) is ToolCalled:
                self._add(event, event.data)

    def _add(self, event: Event, called: ToolCalled) -> None:
        answer = self._answer(called)
        counts = self._counts.setdefault((called.tool, called.caller), _Counts())
        counts.failures += not called.ok
        counts.bytes += called.bytes
        counts.tokens += answer.tokens
        counts.durations_us.append(max(called.duration_us, 0))
        session = self._session(called.caller, event.time)
        identity = _identity(called)
        if identity in session.given:
            counts.repeated += 1
            counts.repeated_tokens += answer.tokens
        elif found := advised(called, answer, session.held):
            rule, tokens = found
            saved = self._saved.setdefault((rule.name, called.tool, called.caller), _Saved())
            saved.calls, saved.tokens, saved.example = saved.calls + 1, saved.tokens + tokens, event.seq
        session.given.add(identity)
        session.held.add(called, answer)

    def _session(self, caller: str, time: str) -> _Session:
        key = client_key(caller)
        session = self._sessions.get(key)
        ends = _later(time)
        if session is None or time > session.ends:
            if len(self._sessions) >= _SESSIONS_KEPT:
                self._sessions = {name: each for name, each in self._sessions.items() if time <= each.ends}
            session = self._sessions[key] = _Session(ends)
            self._session_count += 1
        session.ends = ends
        return session

    def _answer(self, called: ToolCalled) -> Answer:
        key = (called.tool, called.arguments.get("offset", 0), called.result_sha256)
        answer = self._answers.get(key)
        if answer is None:
            result = result_of(called, self._blob)
            if result is None:
                self._not_kept += 1
                return Answer(estimate_tokens_of_chars(called.bytes))
            if len(self._answers) >= _ANSWERS_KEPT:
                self._answers.clear()
            answer = self._answers[key] = read_answer(called, result)
        return answer

    def usage(self) -> Usage:
        """What was counted so far."""
        used = [_used(tool, caller, counts) for (tool, caller), counts in sorted(self._counts.items())]
        advice = {rule.name: rule.advice for rule in RULES}
        saved = sorted(self._saved.items(), key=lambda each: (-each[1].tokens, each[0]))
        return Usage(
            calls=sum(each.calls for each in used),
            sessions=self._session_count,
            not_kept=self._not_kept,
            used=used,
            advised=[
                Advised(rule, tool, caller, each.calls, each.tokens, each.example, advice[rule])
                for (rule, tool, caller), each in saved
            ],
        )


def _used(tool: str, caller: str, counts: _Counts) -> Used:
    durations = sorted(counts.durations_us)
    return Used(
        tool=tool,
        caller=caller,
        calls=len(durations),
        failures=counts.failures,
        bytes=counts.bytes,
        tokens=counts.tokens,
        p50_us=durations[len(durations) // 2],
        p99_us=durations[min(len(durations) - 1, len(durations) * 99 // 100)],
        repeated=counts.repeated,
        repeated_tokens=counts.repeated_tokens,
    )


def _identity(called: ToolCalled) -> bytes:
    """Names what was asked and answered; in the order of their names, arguments ask the same."""
    asked = [called.tool, called.arguments, called.arguments_sha256, called.result_sha256]
    return blake2b(msgspec.json.encode(asked, order="sorted"), digest_size=16).digest()


def _later(time: str) -> str:
    """The time at which a session ends if nothing more is called; in an event's form."""
    end = datetime.fromisoformat(time) + timedelta(minutes=SESSION_PAUSE_MINUTES)
    return end.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
