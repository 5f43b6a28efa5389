"""Sums what providers counted of prompts, beside our estimates, while a log streams by."""

from collections.abc import Iterable
from typing import Final

import msgspec

from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema.catalogue import (
    Event,
    PromptAssembled,
    UsageReported,
)

from .recorded_calls import Wanted

_PROMPTS_KEPT: Final = 10_000
"""Prompts without a report; of more, the oldest are forgotten."""


class ReportedPrompts(msgspec.Struct, rename="camel"):
    """The prompts of one client to one model whose tokens the provider has counted."""

    caller: str
    provider: str
    model: str
    prompts: int = 0
    estimate: int = 0
    """Ours, made before the provider's counts of these prompts."""
    input_tokens: int = 0
    """All that the provider read, cached or not."""
    cached_tokens: int = 0
    output_tokens: int = 0


class ReportedCounter:
    """A sink of events. Of several reports of a prompt the first counts, as it calibrates estimates."""

    def __init__(self, wanted: Wanted) -> None:
        """`wanted`: of its fields `caller`, who reported, and `since`."""
        self._wanted = wanted
        self._estimates: dict[tuple[ConversationId, MessageId], int] = {}
        self._found: dict[tuple[str, str, str], ReportedPrompts] = {}

    def feed(self, events: Iterable[Event]) -> None:
        """Takes the next events, those before `since` too: a prompt may be reported later."""
        for event in events:
            data = event.data
            if isinstance(data, PromptAssembled):
                self._assembled(data)
            elif isinstance(data, UsageReported):
                self._reported(event, data)

    def _assembled(self, data: PromptAssembled) -> None:
        key = data.conversation, data.message
        self._estimates.pop(key, None)
        self._estimates[key] = data.estimate
        if len(self._estimates) > _PROMPTS_KEPT:
            del self._estimates[next(iter(self._estimates))]

    def _reported(self, event: Event, data: UsageReported) -> None:
        estimate = self._estimates.pop((data.conversation, data.message), None)
        caller = self._wanted.caller
        is_other = caller is not None and client_key(event.source) != client_key(caller)
        if estimate is None or is_other or self._wanted.is_before(event):
            return
        key = event.source, data.provider, data.model
        sums = self._found.setdefault(key, ReportedPrompts(*key))
        sums.prompts += 1
        sums.estimate += estimate
        sums.input_tokens += data.input_tokens
        sums.cached_tokens += data.cached_tokens
        sums.output_tokens += data.output_tokens

    def sums(self) -> list[ReportedPrompts]:
        """Of each client and model, by their names."""
        return [sums for _key, sums in sorted(self._found.items())]
