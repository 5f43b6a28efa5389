"""Items of OpenAI's reasoning, held in a conversation as redacted thinking.

The item goes back as it came. The provider wants the items that it reasoned about by their own ids, which a
conversation does not hold elsewhere; so the first item of a message holds them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


def hold_reasoning(
    item: Mapping[str, Any] | None, message: str | None, calls: Mapping[str, str], phase: str | None = None
) -> str:
    """The text of redacted thinking for an item.

    Args:
        item: None: there is none, and only the phase is held.
        message: the id of the message that follows, if it has one.
        calls: the item's id of each call that follows, by the id of the call.
        phase: of that message.
    """
    ids = {"message": message, "calls": dict(calls), "phase": phase}
    return msgspec.json.encode({"item": item, "ids": ids}).decode()


def reasoning_of(text: str) -> dict[str, Any] | None:
    """`{item, ids: {message, calls, phase}}`; None if the text is not from `hold_reasoning`."""
    try:
        held = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not isinstance(held, dict) or held.keys() != {"item", "ids"}:
        return None
    item, ids = held["item"], held["ids"]
    is_item = item is None or (isinstance(item, dict) and item.get("type") == "reasoning")
    has_ids = isinstance(ids, dict) and ids.keys() == {"message", "calls", "phase"}
    has_ids = has_ids and isinstance(ids["calls"], dict)
    return held if is_item and has_ids else None
