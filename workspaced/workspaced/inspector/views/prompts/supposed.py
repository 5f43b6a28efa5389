"""What if a note of a prompt had been another one: what the model would have been shown. Never recorded."""

import msgspec

from ....evals.fork import fork
from ...inspected import Inspected


class SupposedParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which prompt, with which notes."""

    seq: int
    notes: dict[str, str | None] = {}
    """By the path that a note had then the text that it should have had; null: it should not have been there."""


class Supposed(msgspec.Struct, rename="camel"):
    """A prompt as it would have been."""

    notes: dict[str, str]
    """Those that the prompt shows whole, with the texts that came last: these can be other ones."""
    changes: list[str]
    """How the text that the model is shown differs, as lines of a unified diff."""


def supposed(inspected: Inspected, parameters: SupposedParameters) -> Supposed:
    """A prompt with other notes, as `workspaced replay --prompt` gives it.

    Raises:
        InvalidArgument: there is no such prompt, or it does not show whole what it should be without.
        NotRecorded, LogDamaged: what it was made from is not kept, or damaged.
    """
    made = fork(inspected.log, parameters.seq, parameters.notes, None, ())
    return Supposed(inspected.log.prompt(parameters.seq).notes(), made.changes)
