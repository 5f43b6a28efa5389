"""Folds the log step by step while somebody waits for it, and says how far it is."""

import time
from typing import Final

import msgspec

from ..inspected import Inspected

_BUDGET_S: Final = 0.1
"""Other views wait so long at most."""


class FoldingParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """None."""


class Folding(msgspec.Struct, rename="camel"):
    """How far the log is folded. Moments among the folded events are answered at once."""

    folded: int
    """Events from the first one on."""
    events: int


def folding(inspected: Inspected, _parameters: FoldingParameters) -> Folding:
    """Folds some more events, for a tenth of a second at most; ask again until all are folded."""
    until = time.monotonic() + _BUDGET_S
    while True:
        folded, events = inspected.log.fold_some()
        if folded >= events or time.monotonic() >= until:
            return Folding(folded, events)
