"""The text that an agent was told without asking."""

import msgspec

from workspaced_events.schema.decoding import decoded


class _Data(msgspec.Struct):
    text: str | None = None


class _Answer(msgspec.Struct):
    data: _Data | None = None


def told_in(result: bytes | str | None) -> str | None:
    """The text in a recorded answer of `volunteer_context`; None: it holds none, or is not kept."""
    answer = decoded(result, _Answer) if result is not None else None
    return answer.data.text if answer is not None and answer.data is not None else None
