"""Counts how tools are used while a log streams by. Holds counters and hashes, never the calls themselves.

A session is a series of calls of one client without a pause longer than SESSION_PAUSE_MINUTES. We assume that a
client still holds the answers of its session. A client is identified only by the name that it gives itself.
"""

from array import array
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema.catalogue import Event, ToolCalled

from ..prompts.model.token_estimate import estimate_json_tokens_of_chars
from ..tools.registry import EVERY_TOOL
from ..tools.tool import normalised
from .cheaper_calls import Answer, Held, advised, read_answer
from .format import Blob
from .recorded_calls import result_of

SESSION_PAUSE_MINUTES: Final = 30
_ANSWERS_KEPT: Final = 10_000
_SESSIONS_KEPT: Final = 1_000
"""Beyond this number, ended sessions are dropped."""


class Used(msgspec.Struct, rename="camel"):
    """The calls of one tool by one client. Tokens are estimates (token_estimate.py)."""

    tool: str
    caller: str
    calls: int = 0
    failures: int = 0
    bytes: int = 0
    tokens: int = 0
    p50_us: int = 0
    p99_us: int = 0
    repeated: int = 0
    """Calls that repeated a question of the same session and got the same answer."""
    repeated_tokens: int = 0
    """The tokens of the repeated answers."""


class Advised(msgspec.Struct, rename="camel"):
    """The calls of one client to one tool for which one rule has a cheaper alternative."""

    rule: str
    tool: str
    caller: str
    calls: int
    tokens: int
    """The tokens that the alternative would have saved."""
    example: int
    """The sequence of the latest of these calls."""
    advice: str


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """How tools were used. A call counts at most once: as repeated, or under the first rule that matches."""

    calls: int
    sessions: int
    not_kept: int
    """Calls whose answer is not kept. Their tokens are estimated from their bytes, and no rule covers them."""
    used: list[Used]
    advised: list[Advised]
    """The greatest saving first."""


class _Session:
    def __init__(self, ends: str) -> None:
        self.ends = ends
        """A call after this time begins a new session."""
        self.identities: set[bytes] = set()
        """Digests of question and answer."""
        self.held = Held()


class UsageCounter:
    """A sink of events that counts the calls among them."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        self._used: dict[tuple[str, str], Used] = {}
        self._durations_us: dict[tuple[str, str], array[int]] = {}
        self._saved: dict[tuple[str, str, str], Advised] = {}
        self._sessions: dict[str, _Session] = {}
        self._session_count = 0
        self._not_kept = 0
        self._answers: dict[tuple[str, int, str], Answer] = {}

    def feed(self, events: Iterable[Event]) -> None:
        """Counts the calls among the next events."""
        for event in events:
            if type(called := event.data) is ToolCalled:
                if (tool := EVERY_TOOL.get(called.tool)) is not None:
                    called = replace(called, arguments=normalised(called.arguments, tool.input_schema))
                self._add(event, called)

    def _add(self, event: Event, called: ToolCalled) -> None:
        answer = self._answer(called)
        key = called.tool, called.caller
        counts = self._used.setdefault(key, Used(*key))
        counts.calls += 1
        counts.failures += not called.ok
        counts.bytes += called.bytes
        counts.tokens += answer.tokens
        self._durations_us.setdefault(key, array("Q")).append(max(called.duration_us, 0))
        session = self._session(called.caller, event.time)
        identity = _identity(called)
        if identity in session.identities:
            counts.repeated += 1
            counts.repeated_tokens += answer.tokens
        elif found := advised(called, answer, session.held):
            rule, tokens = found
            new = Advised(rule.name, *key, 0, 0, 0, rule.advice)
            saved = self._saved.setdefault((rule.name, *key), new)
            saved.calls, saved.tokens, saved.example = saved.calls + 1, saved.tokens + tokens, event.seq
        session.identities.add(identity)
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
                return Answer(estimate_json_tokens_of_chars(called.bytes))
            if len(self._answers) >= _ANSWERS_KEPT:
                self._answers.clear()
            answer = self._answers[key] = read_answer(called, result)
        return answer

    def usage(self) -> Usage:
        """The counts so far."""
        for key, used in self._used.items():
            durations = sorted(self._durations_us[key])
            used.p50_us = durations[len(durations) // 2]
            used.p99_us = durations[min(len(durations) - 1, len(durations) * 99 // 100)]
        saved = sorted(self._saved.items(), key=lambda each: (-each[1].tokens, each[0]))
        return Usage(
            calls=sum(each.calls for each in self._used.values()),
            sessions=self._session_count,
            not_kept=self._not_kept,
            used=[used for _key, used in sorted(self._used.items())],
            advised=[advised for _key, advised in saved],
        )


def _identity(called: ToolCalled) -> bytes:
    """A digest of question and answer. The order of the arguments does not matter."""
    asked = [called.tool, called.arguments, called.arguments_sha256, called.result_sha256]
    return blake2b(msgspec.json.encode(asked, order="sorted"), digest_size=16).digest()


def _later(time: str) -> str:
    """The time at which a session ends without another call, in the form of an event's time."""
    end = datetime.fromisoformat(time) + timedelta(minutes=SESSION_PAUSE_MINUTES)
    return end.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
