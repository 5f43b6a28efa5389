"""A finding: one thing in a log that is worth looking at, with its evidence."""

from typing import Literal

import msgspec

Kind = Literal["olderNote", "failedCall", "withheldNote", "folded"]


class Evidence(msgspec.Struct, rename="camel"):
    """Where the page shows what a finding rests on."""

    title: str
    link: list[str]
    """The parts of the page's link, such as `prompt`, `167`."""


class Finding(msgspec.Struct, rename="camel"):
    """One thing that is worth looking at."""

    seq: int
    time: str
    kind: Kind
    sentence: str
    """Without the full stop: behind it stands `since`."""
    evidence: list[Evidence]
    since: str | None = None
    """When the note changed; null: no event says so, or this is no older note."""
    note: str | None = None
    """The note that was older, withheld, or left out."""
    difference: list[str] = []
    """A unified diff from what was read to what the note said, at most 200 lines; empty if a text is not kept."""
    answer: str = ""
    """The beginning of what the model then said; empty: nothing, or it is not kept."""
    times: int = 1
    """How many prompts of the conversation had this older version, or calls did without the withheld note."""


def life_of(note: str) -> Evidence:
    """The note's line of life."""
    return Evidence("the note's life", ["note", note])


def prompt_at(seq: int) -> Evidence:
    """A prompt."""
    return Evidence(f"prompt {seq}", ["prompt", str(seq)])
