"""What was put into requests to providers: insertions by the keys of their turns, the longest unused first."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from ..ids import VaultId
from ..schema.catalogue import ContextInserted, ContextWithdrawn, Event, PromptAnswered, PromptOverlaid

_TURNS_MAX: Final = 10_000
"""Turns of agents' chats whose insertions are known; beyond it those of the longest unused chats go."""
_RESPONSES_PER_INSERTION_MAX: Final = 4
"""Answers that a provider holds after one insertion; the newest can be continued."""
_INSERTIONS_PER_TURN_MAX: Final = 16
"""Chats that were the same up to a turn; the newest are known."""


class Insertion(msgspec.Struct, frozen=True, omit_defaults=True):
    """Its text is in the answer that `result_sha256` names."""

    id: str
    session: str
    near: str
    after: str | None
    """The insertion before it in its chat."""
    vault: VaultId | None
    as_of_seq: int
    result_sha256: str
    is_withdrawn: bool = False
    responses: dict[str, tuple[str, ...]] = {}
    """What the provider holds with this as the last insertion: of those before it the ones that it lacks."""

    @property
    def key(self) -> str:
        return key_of(self.id)


Insertions = dict[str, tuple[Insertion, ...]]
"""By the keys of their turns. A turn has several where it was said in several chats, or answered anew."""


def key_of(insertion: str) -> str:
    """The key of an insertion's turn."""
    return insertion.partition("-")[0]


def chain(insertions: Insertions, last: str | None) -> Iterator[Insertion]:
    """The insertion `last` and those before it in its chat, the newest first; ends where one is not known."""
    while last is not None:
        found = next((each for each in insertions.get(key_of(last), ()) if each.id == last), None)
        if found is None:
            return
        yield found
        last = found.after


def apply_insertion(insertions: Insertions, event: Event) -> Insertions:
    """The insertions after `event`; the same object if it changes none."""
    data = event.data
    if isinstance(data, ContextInserted):
        new = Insertion(
            data.insertion, data.session, data.near, data.after, event.vault, data.as_of_seq, data.result_sha256
        )
        here = (*insertions.get(new.key, ()), new)[-_INSERTIONS_PER_TURN_MAX:]
        return _used({**insertions, new.key: here}, new.id)
    if isinstance(data, PromptOverlaid):
        return _used(dict(insertions), data.insertion)
    if isinstance(data, ContextWithdrawn):
        changed = dict(insertions)
        for name in data.insertions:
            _change(changed, name, partial(replace, is_withdrawn=True))
        return changed
    if isinstance(data, PromptAnswered) and data.response is not None:
        changed = dict(insertions)
        _change(changed, data.insertion, partial(_answered, response=data.response, without=data.without))
        return changed
    return insertions


def _change(insertions: Insertions, name: str, change: Callable[[Insertion], Insertion]) -> None:
    """Changes an insertion, if it is known."""
    if (here := insertions.get(key_of(name))) is not None:
        insertions[key_of(name)] = tuple(change(each) if each.id == name else each for each in here)


def _answered(insertion: Insertion, *, response: str, without: tuple[str, ...]) -> Insertion:
    others = [each for each in insertion.responses.items() if each[0] != response]
    return replace(insertion, responses=dict([*others, (response, without)][-_RESPONSES_PER_INSERTION_MAX:]))


def _used(insertions: Insertions, last: str) -> Insertions:
    """The insertions, those of that chat as the last used ones; the longest unused go."""
    for each in reversed([*chain(insertions, last)]):
        insertions[each.key] = insertions.pop(each.key)
    while len(insertions) > _TURNS_MAX:
        del insertions[next(iter(insertions))]
    return insertions


INSERTION_TYPES: Final = frozenset((ContextInserted, ContextWithdrawn, PromptOverlaid, PromptAnswered))
