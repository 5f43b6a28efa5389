"""How far the log is folded. It is folded in the background, step by step (`OpenLog`)."""

import msgspec

from ..inspected import Inspected


class FoldingParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """None."""


class Folding(msgspec.Struct, rename="camel"):
    """How far the log is folded. Moments among the folded events are answered at once, others once they are."""

    folded: int
    """Events from the first one on."""
    events: int


def folding(inspected: Inspected, _parameters: FoldingParameters) -> Folding:
    """Says how far it is; ask again until all events are folded."""
    return Folding(*inspected.log.folded)
