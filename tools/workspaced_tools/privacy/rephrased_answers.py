"""Maps recorded answers onto the questions that a tool asks under pseudonyms."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ..errors import NotRecorded
from ..ports.questions import LinkTargets, Names, Question, Read
from ..ports.vault import LinkTarget
from ..recording.format import Exchange
from ..replay.call_replay import Answers, Key, Notes, answer_of, key_of, raise_or_return

_ITEMWISE: Final = frozenset({Read.name, Names.name, LinkTargets.name})
"""The questions whose last field is a list, and whose answer is a list of the same length."""
_NO_TARGET: Final = msgspec.json.encode(LinkTarget(None))
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Rephrased(Answers):
    """As `Answers`, but a question that the call did not ask gets the answer of a similar question.

    The answer to an itemwise question is put together from the recorded answers to its items, in any order. For
    another question, the n-th question of a name gets the answer of the n-th recorded one.
    """

    def __init__(self, asked: Sequence[Exchange], notes: Notes) -> None:
        super().__init__((), notes)
        self.asked: list[Exchange] = []
        """The questions asked so far with their answers: the exchanges of the new recording."""
        self._notes = notes
        self._same: dict[Key, list[Exchange]] = {}
        self._alike: dict[str, list[Exchange]] = {}
        self._items: dict[tuple[str, bytes, bytes], bytes] = {}
        for exchange in asked:
            self._same.setdefault((exchange.ask, bytes(exchange.question)), []).append(exchange)
            self._alike.setdefault(exchange.ask, []).append(exchange)
            if exchange.ask in _ITEMWISE and exchange.raised is None:
                about, items = _about_and_items(bytes(exchange.question))
                for item, answer in zip(items, _RAWS.decode(exchange.answer), strict=True):
                    self._items.setdefault((exchange.ask, about, item), bytes(answer))

    def to(self, question: Question[Any]) -> Any:
        exchange = self._found(*key_of(question))
        self.asked.append(exchange)
        return raise_or_return(answer_of(exchange, self._notes))

    def _found(self, name: str, question: bytes) -> Exchange:
        left = self._same.get((name, question))
        if left is not None:
            return left.pop(0) if len(left) > 1 else left[0]
        alike = self._alike.get(name)
        if alike is None:
            raise NotRecorded(f"The call asked for no {name}", hint="The tool reads something else.")
        if name in _ITEMWISE:
            return Exchange(name, msgspec.Raw(question), self._item_answers(name, question))
        asked = sum(exchange.ask == name for exchange in self.asked)
        return replace(alike[min(asked, len(alike) - 1)], question=msgspec.Raw(question))

    def _item_answers(self, name: str, question: bytes) -> msgspec.Raw:
        about, items = _about_and_items(question)
        answers = [self._items.get((name, about, item)) for item in items]
        if name == LinkTargets.name:
            answers = [answer or _NO_TARGET for answer in answers]
        if None in answers:
            raise NotRecorded(f"The call asked for no such {name}", hint="The tool reads something else.")
        return msgspec.Raw(b"[" + b",".join(answer for answer in answers if answer is not None) + b"]")


def _about_and_items(question: bytes) -> tuple[bytes, list[bytes]]:
    *about, items = _RAWS.decode(question)
    return b",".join(map(bytes, about)), [bytes(item) for item in _RAWS.decode(items)]
