"""What waits to be confirmed, by its token; beyond the bounds the oldest is given up."""

import secrets
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from workspaced_tools.recording.view_recorder import ViewRecorder

from ..recording.call_recorder import Call

OFFERS_MAX: Final = 256
OFFERS_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of the texts behind them."""
Offer = TypeVar("Offer")


class Offers(Generic[Offer]):
    """Belongs to the loop's thread."""

    def __init__(self) -> None:
        self._offers: OrderedDict[str, tuple[Offer, int]] = OrderedDict()

    def put(self, offer: Offer, call: Call | None) -> str:
        """The token of an offer whose text the call answered."""
        token = secrets.token_hex(8)
        made_from = call.answer.made_from if call is not None else None
        self._offers[token] = offer, made_from.texts_bytes() if isinstance(made_from, ViewRecorder) else 0
        size = sum(each for _, each in self._offers.values())
        while len(self._offers) > 1 and (len(self._offers) > OFFERS_MAX or size > OFFERS_BYTES_MAX):
            size -= self._offers.popitem(last=False)[1][1]
        return token

    def pop(self, token: str) -> Offer | None:
        """The offer, which is known no more; None: it is not."""
        found = self._offers.pop(token, None)
        return found[0] if found is not None else None

    def __iter__(self) -> Iterator[tuple[str, Offer]]:
        """All, with their tokens. Any may be popped meanwhile."""
        return ((token, offer) for token, (offer, _) in [*self._offers.items()])
