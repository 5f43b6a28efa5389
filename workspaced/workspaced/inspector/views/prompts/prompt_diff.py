"""How a prompt differs from another one: layer by layer, what came and went, and line by line."""

from typing import Final, Literal

import msgspec

from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.manifest import LAYERS, LayerId, ManifestEntry
from workspaced_tools.prompts.assembly.layers import message_text
from workspaced_tools.prompts.audit.cache_accounting import OTHER_PIPELINE, causes_of, common_tokens, first_changed
from workspaced_tools.prompts.model.blocks import BLANK_LINE
from workspaced_tools.prompts.model.changes import unified_diff
from workspaced_tools.prompts.model.types import Envelope

from ...inspected import Inspected
from .conversations import before_in
from .prompt import OpenedPrompt, opened

LINES_MAX: Final = 1_000
"""Of the difference; the command line has no such bound."""
ENTRIES_MAX: Final = 200


class DiffParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which two prompts."""

    seq: int
    against: int | None = None
    """Left out: the prompt of the same pipeline before it."""


class LayerDiff(msgspec.Struct, rename="camel"):
    """One layer of both prompts."""

    layer: LayerId
    same: bool
    before_tokens: int
    after_tokens: int


class EntryChange(msgspec.Struct, rename="camel"):
    """What one prompt's manifest says and the other's does not."""

    sign: Literal["+", "-"]
    layer: LayerId
    id: str
    kind: str
    state: str
    why: str
    tokens: int


class PromptDiff(msgspec.Struct, rename="camel"):
    """Both prompts beside each other."""

    before: int
    after: int
    first: LayerId | None
    """The first layer, in the order sent, that differs; null: both are the same."""
    causes: list[str]
    """Why it differs, by the log."""
    common: int
    """Tokens that both begin with; a cache can serve them."""
    lost: int
    """Tokens of the earlier prompt that a cache lost."""
    anew: int
    """Tokens of the later one that are read at the full price."""
    layers: list[LayerDiff]
    entries: list[EntryChange]
    entries_left_off: int
    lines: list[str]
    """A unified diff of all messages as they were sent; each line begins with `+`, `-`, a blank or `@@`."""
    lines_left_off: int
    too_long: bool
    """Whether the texts are too long to compare line by line."""


def diff(inspected: Inspected, parameters: DiffParameters) -> PromptDiff:
    """Compares two prompts; both are rebuilt.

    Raises:
        InvalidArgument: there is no such prompt.
        NotRecorded: there is no prompt before it, or one of both cannot be rebuilt.
    """
    two = opened(inspected.log, parameters.seq)
    one = opened(inspected.log, _before(two) if parameters.against is None else parameters.against)
    before, after = _envelope(one), _envelope(two)
    first = first_changed(before, after)
    common = common_tokens(before, after, same_tools=_tools(one) == _tools(two))
    entries = _entry_changes(before, after)
    changes = unified_diff(_text(before), _text(after))
    lines = changes.split("\n") if changes else []
    return PromptDiff(
        before=one.event.seq,
        after=two.event.seq,
        first=first,
        causes=_causes(one, two, first) if first is not None else [],
        common=common,
        lost=max(0, before.estimate - common),
        anew=max(0, after.estimate - common),
        layers=[
            LayerDiff(name, old.hash == new.hash, was.tokens, now.tokens)
            for name, old, new, was, now in zip(
                LAYERS, before.layers, after.layers, before.manifest.layers, after.manifest.layers, strict=True
            )
        ],
        entries=entries[:ENTRIES_MAX],
        entries_left_off=max(0, len(entries) - ENTRIES_MAX),
        lines=lines[:LINES_MAX],
        lines_left_off=max(0, len(lines) - LINES_MAX),
        too_long=not lines and first is not None,
    )


def _before(made: OpenedPrompt) -> int:
    last = before_in(made.log, made.latest, made.record)
    if last is None:
        raise NotRecorded(
            "The log knows no prompt before it",
            hint="It is the first one of its conversation, or the one before is no longer remembered.",
        )
    return last.seq


def _envelope(made: OpenedPrompt) -> Envelope:
    if made.rebuilt.envelope is None:
        raise NotRecorded(f"Prompt {made.event.seq} cannot be rebuilt", hint=made.rebuilt.why)
    return made.rebuilt.envelope


def _tools(made: OpenedPrompt) -> str | None:
    return made.then.settings.tools_sha256


def _causes(one: OpenedPrompt, two: OpenedPrompt, first: LayerId) -> list[str]:
    if one.data.conversation != two.data.conversation:
        return ["another conversation"]
    if one.data.pipeline != two.data.pipeline:
        return [OTHER_PIPELINE]
    low, high = sorted((one.event.seq, two.event.seq))
    between = [each for each in two.latest.prompts if low <= each.seq <= high]
    return causes_of(two.latest, between, first) if len(between) > 1 else []


def _text(envelope: Envelope) -> str:
    """All messages in the order sent: what stood in this turn's layer stands in the history's later."""
    return BLANK_LINE.join(map(message_text, envelope.messages))


def _entry_changes(before: Envelope, after: Envelope) -> list[EntryChange]:
    old, new = ([_fact(each) for each in envelope.manifest.entries] for envelope in (before, after))
    gone = [each for each in zip(old, before.manifest.entries, strict=True) if each[0] not in set(new)]
    come = [each for each in zip(new, after.manifest.entries, strict=True) if each[0] not in set(old)]
    return [*(_change("-", entry) for _, entry in gone), *(_change("+", entry) for _, entry in come)]


def _fact(entry: ManifestEntry) -> tuple[str, ...]:
    return (entry.layer, entry.kind, entry.id, entry.state, entry.why, entry.revision or "")


def _change(sign: Literal["+", "-"], entry: ManifestEntry) -> EntryChange:
    return EntryChange(sign, entry.layer, entry.id, entry.kind, entry.state, entry.why, entry.tokens)
