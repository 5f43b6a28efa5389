"""`Overlays`: what stands in an agent's requests to a provider, and what is put into the next one.

A request is never rewritten: its client puts each text where it stood in the chat's earlier requests, and a new
one before the newest words of the user. What a chat was told is what stands in this very request.

A request may never leave. So a new text counts, and the log says so, once `confirm` tells that it left; until then
the chat is offered the same text again.
"""

import hashlib
import logging
import secrets
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
from msgspec.structs import replace

from workspaced_events.ids import VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.projections.insertions import Insertion, Insertions, chain
from workspaced_events.projections.workspace_state import WorkspaceState, client_key
from workspaced_events.schema.catalogue import ContextWithdrawn, PromptAnswered, PromptOverlaid
from workspaced_tools.errors import ArgumentInvalid, SharingOff
from workspaced_tools.ports.questions import Read
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.providers.known import counted
from workspaced_tools.sharing.verdicts import Verdicts

from ..calls.calls import Calls
from ..calls.threads import Threads
from ..limits import UNCHANGED_REASONS_MAX
from ..recording.call_recorder import Call, Inserted
from ..volunteering.volunteering import OFFERS_MAX, Answered, Offers, Volunteering, answer_of
from .secret import secret_in

logger = logging.getLogger(__name__)

TEXTS_MAX: Final = 1_024
"""Texts of insertions held in memory; others are read from their blobs."""
_KEY_BYTES: Final = 16


class Asked(NamedTuple):
    """A request as its client tells of it: hashes, and nothing that could be read."""

    form: str
    turns: Sequence[tuple[str, str]]
    """Of the chat up to each message of the user, and of that message and the answer before it alone."""
    is_open: bool
    """Whether something may be put before the last of them."""
    chat: str
    """Of the chat's name, or of its first words."""
    texts: dict[str, Any]
    """The notes whose texts are told, as arguments of `volunteer_context`."""
    held: str | None
    """Of the name of what the provider holds of the chat; None: all of it is in the request."""


class Overlaid(NamedTuple):
    """What to put into a request, by its turns; the token that confirms it, or why there is nothing new."""

    texts: dict[str, str]
    token: str | None = None
    reason: str | None = None


class _Offer(NamedTuple):
    client: str
    last: Insertion
    without: tuple[str, ...]
    call: Call | None
    """Of the last insertion, if it is new."""


class _Known(NamedTuple):
    """An insertion of a chat."""

    insertion: Insertion
    given: Answered
    """Without a text nothing stands there: the turn was answered anew, and had told what is true no more."""
    turn: str | None
    """The client's key of the turn where it stands; None: that is not in the request."""
    is_held: bool
    """Whether the provider holds the turn where it stands, so that it cannot be taken out any more."""

    @property
    def stands(self) -> bool:
        return (self.is_held or self.turn is not None) and not self.insertion.is_withdrawn


class _Held(NamedTuple):
    """The part of a chat that a provider holds."""

    chain: list[Insertion]
    """The insertions in it, the newest first."""
    without: tuple[str, ...]
    """Those of them that the provider does not have."""


class Log(NamedTuple):
    """The log and its blobs, as far as insertions need them."""

    state: Callable[[], WorkspaceState]
    record: Callable[[list[Action]], Awaitable[Any]]
    record_call: Callable[[Call], None]
    wait_until_recorded: Callable[[], None]
    blob: Callable[[str], bytes | None]
    """None: it is not kept."""


class Overlays:
    """One for each daemon. Belongs to the loop's thread."""

    def __init__(self, volunteering: Volunteering, calls: Calls, log: Log, threads: Threads, data: Path) -> None:
        """`data`: the data directory, where the secret lies that makes keys of hashes."""
        self._volunteering = volunteering
        self._calls = calls
        self._log = log
        self._threads = threads
        self._data = data
        self._offers: Offers[_Offer] = Offers()
        self._left: OrderedDict[str, PromptOverlaid] = OrderedDict()
        self._leaving: dict[str, Insertion] = {}
        """Those that left and that the log does not hold yet."""
        self._texts: OrderedDict[str, Answered] = OrderedDict()
        """By the hashes of their answers."""
        self._one_by_one = anyio.Lock()
        self.unchanged: Counter[str] = Counter()
        """Requests that a proxy passed on without context since the daemon started, by the reasons' codes."""
        self._uncounted = set[str]()
        """The forms of which the daemon's log has that a report could not be read."""

    async def overlay(self, client: str, asked: Asked) -> Overlaid:
        """What stands in a request, and what is new in it.

        Raises:
            WorkspacedError: as a call of a tool.
        """
        async with self._one_by_one:
            return await self._overlay(client, asked)

    async def _overlay(self, client: str, asked: Asked) -> Overlaid:
        keyed = self._keys(client)
        held = self._held(keyed(asked.held)) if asked.held is not None else None
        session = held.chain[0].session if held is not None else keyed(asked.chat)
        key, near = map(keyed, asked.turns[-1]) if asked.turns else ("", "")
        chat = await self._chat(client, asked, session, held)
        offered = self._offered(client, key, session)
        try:
            chat, offered = await self._without_withheld(client, chat, offered)
        except SharingOff:
            return Overlaid({}, reason="refused")
        texts = {each.turn: each.given.words for each in chat if each.turn is not None and each.stands}
        without = tuple(each.insertion.id for each in chat if not each.stands and not each.is_held)
        last, call, reason = chat[0].insertion if chat else None, None, None
        if asked.is_open and asked.turns:
            new, reason = await self._new(client, asked, chat)
            if new is None:
                offered = None
            elif offered is None or not self._says_the_same(offered[0], new):
                to = Inserted(session, asked.form, new.from_seq, near, f"{key}-{secrets.token_hex(4)}", new.after)
                offered = _inserted(new, to)
            if offered is not None:
                last, call = offered
                texts[asked.turns[-1][0]] = self._texts[last.result_sha256].words
        texts = {turn: text for turn, text in texts.items() if text}
        if last is None or not (texts or held is not None):
            return Overlaid({}, reason=reason)
        return Overlaid(texts, self._offers.put(_Offer(client, last, without, call), call), reason)

    async def confirm(self, token: str, body_sha256: str, traceparent: str | None = None) -> bool:
        """Records that a request left with what was offered; False: the offer is not known any more.

        `traceparent`: the span of the client that sent it, which is only recorded.
        """
        offer = self._offers.pop(token)
        if offer is None:
            return False
        last = offer.last
        recorded = self._log.state().insertions.get(last.key, ())
        if offer.call is not None and not any(each.id == last.id for each in recorded):
            if last.id not in self._leaving:  # another request that left with it may have it recorded right now
                self._leaving[last.id] = last
                self._log.record_call(replace(offer.call, traceparent=traceparent))
            await self._threads.run(self._log.wait_until_recorded)
        body_hash = self._keys(offer.client)(body_sha256)
        overlaid = PromptOverlaid(offer.client, last.id, body_hash, offer.without, traceparent)
        await self._log.record([Action(overlaid)])
        self._leaving.pop(last.id, None)
        self._left[token] = overlaid
        while len(self._left) > OFFERS_MAX:
            self._left.popitem(last=False)
        return True

    async def finished(
        self, token: str, form: str, report: dict[str, Any] | None, response: str | None
    ) -> tuple[bool, str | None]:
        """Records how a request was answered, unless it is not known any more that it left.

        Args:
            report: what the provider counted. One that is none of a provider with that form is left out.
            response: of the name by which a later request may continue the chat.
        """
        sent = self._left.pop(token, None)
        if sent is None:
            return False, None
        usage, reason = None, None
        try:
            usage = counted(report, form) if report is not None else None
        except ArgumentInvalid as error:
            reason = error.message
        if reason is not None and form not in self._uncounted:
            self._uncounted.add(form)
            logger.warning("what providers count of prompts of the form %s is not recorded: %s", form, reason)
        read, cached, output = usage if usage is not None else (None, 0, 0)
        held_as = self._keys(sent.caller)(response) if response is not None else None
        answered = PromptAnswered(
            *(sent.caller, sent.insertion, sent.body_hash, read, cached, output, held_as, sent.without)
        )
        async with self._one_by_one:  # the request that continues the chat may come at once
            await self._log.record([Action(answered)])
        return True, reason

    def count_unchanged(self, reasons: Iterable[tuple[str, int]]) -> None:
        """Counts requests that a proxy passed on without context."""
        for code, count in reasons:
            is_counted = code in self.unchanged or len(self.unchanged) < UNCHANGED_REASONS_MAX
            self.unchanged[code if is_counted else "OTHER"] += count

    # -- what stands --

    @cached_property
    def _secret(self) -> bytes:
        """Made at the first request: a daemon also starts where nothing can be written."""
        return secret_in(self._data)

    def _keys(self, client: str) -> Callable[[str], str]:
        """Makes a hash that nobody without the log's secret can tell from a guess."""
        begun = hashlib.blake2b(f"{client_key(client)}\0".encode(), key=self._secret, digest_size=_KEY_BYTES)

        def keyed(told: str) -> str:
            made = begun.copy()
            made.update(told.encode())
            return made.hexdigest()

        return keyed

    def _known(self) -> Insertions:
        known = self._log.state().insertions
        for each in self._leaving.values():
            here = known.get(each.key, ())
            if all(one.id != each.id for one in here):  # by its name: it may be withdrawn or answered by now
                known = {**known, each.key: (*here, each)}
        return known

    def _held(self, response: str) -> "_Held | None":
        """What the provider holds by that name; None: that is not known."""
        known = self._log.state().insertions
        for last in (each for here in reversed(known.values()) for each in reversed(here)):
            if response in last.responses:
                return _Held([*chain(known, last.id)], last.responses[response])
        return None

    async def _chat(self, client: str, asked: Asked, session: str, held: "_Held | None") -> list[_Known]:
        """The insertions of this chat, the newest first; none if one of them is not kept any more.

        What the others tell is a difference from it, so the chat is told everything anew.
        """
        keyed = self._keys(client)
        keys = [keyed(key) for key, _near in asked.turns]
        nears: list[str] = []
        known = self._known()
        newest = _newest(known, keys, session)
        found = [*chain(known, newest.id)] if newest is not None else []
        own = found
        if held is not None:
            own = found[: found.index(held.chain[0])] if held.chain[0] in found else []
            found = [*own, *held.chain]
        elif not found or not {each.key for each in found} <= {*keys}:  # older words changed
            nears = [keyed(near) for _key, near in asked.turns]
            if newest is None and (newest := _newest_near(known, nears, session)) is not None:
                own = found = [*chain(known, newest.id)]
        await self._read_texts([each.result_sha256 for each in found])
        if (
            not found
            or found[-1].after is not None
            or any(each.result_sha256 not in self._texts for each in found)
        ):
            return []
        turns = [asked.turns[place][0] if place is not None else None for place in _places(own, keys, nears)]
        turns += [None] * (len(found) - len(own))
        lacks = held.without if held is not None else ()
        return [
            _Known(each, self._texts[each.result_sha256], turn, at >= len(own) and each.id not in lacks)
            for at, (each, turn) in enumerate(zip(found, turns, strict=True))
        ]

    async def _read_texts(self, hashes: Sequence[str]) -> None:
        """Reads those that are not in memory, and makes all of them the last used ones."""
        missing = [each for each in hashes if each not in self._texts]
        if missing:
            for sha256, answer in (await self._threads.run(self._read, missing)).items():
                self._remember(sha256, answer)
        for each in hashes:
            if each in self._texts:
                self._texts.move_to_end(each)

    def _read(self, hashes: Iterable[str]) -> dict[str, bytes]:
        return {sha256: answer for sha256 in hashes if (answer := self._log.blob(sha256)) is not None}

    def _remember(self, sha256: str, answer: bytes) -> None:
        self._texts[sha256] = answer_of(answer)
        while len(self._texts) > TEXTS_MAX:
            self._texts.popitem(last=False)

    # -- what is withheld by now --

    async def _without_withheld(
        self, client: str, chat: list[_Known], offered: tuple[Insertion, Call] | None
    ) -> tuple[list[_Known], tuple[Insertion, Call] | None]:
        """The same; those that name a note which is withheld by now are withdrawn for good.

        Raises:
            SharingOff: the client is shown nothing.
        """
        told = {
            each.insertion.id: (each.insertion, each.given) for each in chat if not each.insertion.is_withdrawn
        }
        if offered is not None:
            told[offered[0].id] = offered[0], self._texts[offered[0].result_sha256]
        gone: set[str] = set()
        for vault in {each.vault for each, _ in told.values()}:
            here = [(each.id, given) for each, given in told.values() if each.vault == vault]
            gone |= await self._calls.with_view(partial(_withheld, here), client, vault)
        if offered is not None and offered[0].id in gone:
            for token, offer in self._offers:
                if offer.last.id == offered[0].id:
                    self._offers.pop(token)
            offered = None
        if withdrawn := tuple(each.insertion.id for each in chat if each.insertion.id in gone):
            if not self._leaving.keys().isdisjoint(withdrawn):  # the log withdraws only what it holds
                await self._threads.run(self._log.wait_until_recorded)
            await self._log.record([Action(ContextWithdrawn(withdrawn))])
            chat = [
                each._replace(insertion=replace(each.insertion, is_withdrawn=True))
                if each.insertion.id in gone
                else each
                for each in chat
            ]
        return chat, offered

    # -- what is new --

    def _offered(self, client: str, key: str, session: str) -> tuple[Insertion, Call] | None:
        """The insertion that was offered to this turn and is not confirmed yet."""
        for _token, offer in self._offers:
            new = offer.last
            is_its = (offer.client, new.key, new.session) == (client, key, session)
            if is_its and offer.call is not None and new.result_sha256 in self._texts:
                return new, offer.call
        return None

    def _says_the_same(self, offered: Insertion, new: "_New") -> bool:
        """Whether what was offered is still new: the user may have gone elsewhere, or attach other notes."""
        before = self._texts[offered.result_sha256]
        now = answer_of(new.call.answer.payload)
        return (offered.after, before.notes) == (new.after, now.notes) and {**before.sight, "at": ""} == {
            **now.sight,
            "at": "",
        }

    async def _new(self, client: str, asked: Asked, chat: list[_Known]) -> tuple["_New | None", str | None]:
        """What is new to a chat, or why there is nothing."""
        vault = self._log.state().current
        if vault is None:
            return None, "otherVault"
        call, reason = await self._ask(client, asked, chat, vault)
        here = next((at for at, each in enumerate(chat) if each.turn == asked.turns[-1][0]), None)
        if call is not None and here is not None:  # answered anew: it goes on from the turn before
            chat = chat[here + 1 :]
            call, reason = await self._ask(client, asked, chat, vault, or_nothing=True)
        if call is None:
            return None, reason
        told = next((each.insertion for each in chat if each.insertion.vault == vault), None)
        after = chat[0].insertion.id if chat else None
        return _New(call, vault, told.as_of_seq if told is not None else None, after), None

    async def _ask(
        self, client: str, asked: Asked, chat: Sequence[_Known], vault: VaultId, *, or_nothing: bool = False
    ) -> tuple[Call | None, str | None]:
        """The call whose answer tells what is new beside these insertions, or why nothing is.

        `or_nothing`: the call whose answer tells nothing will do, too.
        """
        call, data, reason = await self._volunteering.ask(
            vault, client, _told(chat, vault), "tagged", **asked.texts
        )
        if call is None or data is None or (data.text is None and not or_nothing):
            return None, reason
        self._remember(hashlib.sha256(call.answer.payload).hexdigest(), call.answer.payload)
        return call, None


class _New(NamedTuple):
    call: Call
    vault: VaultId
    from_seq: int | None
    after: str | None


def _inserted(new: _New, to: Inserted) -> tuple[Insertion, Call]:
    """The insertion as the log will have it, and the call that the log will have."""
    answer = new.call.answer
    made = Insertion(
        id=to.insertion,
        session=to.session,
        near=to.near,
        after=to.after,
        vault=new.vault,
        as_of_seq=answer.as_of_seq,
        result_sha256=hashlib.sha256(answer.payload).hexdigest(),
    )
    return made, replace(new.call, volunteered=to)


def _newest(known: Insertions, keys: Sequence[str], session: str) -> Insertion | None:
    """The chat's own of its newest turn that has one; else another's, whose chat was the same up to there."""
    there = [each for key in reversed(keys) for each in reversed(known.get(key, ()))]
    return next((each for each in there if each.session == session), there[0] if there else None)


def _newest_near(known: Insertions, nears: Sequence[str], session: str) -> Insertion | None:
    """As `_newest`, where the chat's older words changed: the last of the chat that has most of its turns."""
    said, seen = {*nears}, set[str]()
    best, most = None, 0
    alike = [each for here in known.values() for each in here if each.session == session and each.near in said]
    for each in reversed(alike):  # of equal ones the last used
        if each.id not in seen:
            found = [*chain(known, each.id)]
            seen.update(one.id for one in found)
            if (count := sum(one.near in said for one in found)) > most:
                best, most = each, count
    return best


def _places(found: Sequence[Insertion], keys: Sequence[str], nears: Sequence[str]) -> list[int | None]:
    """The turns where a chat's insertions stand, the newest first; None: that is not in the request any more.

    No two stand at one turn, and they stand in their order, so that the newest words of ours are the last ones.
    Where several turns have the near of an insertion, the oldest take it: so it stays while the chat goes on.
    """
    by_key = {key: place for place, key in enumerate(keys)}
    by_near: dict[str, list[int]] = {}
    for place, near in enumerate(nears):
        by_near.setdefault(near, []).append(place)
    alike = Counter(each.near for each in found if each.key not in by_key)
    places, before = list[int | None](), len(keys)
    for each in found:
        place_of = by_key.get(each.key)
        if place_of is None:
            free = by_near.get(each.near, [])
            free = free[: bisect_left(free, before)]
            place_of = free[min(alike[each.near], len(free)) - 1] if free else None
            alike[each.near] -= 1
        if place_of is not None and place_of < before:
            before = place_of
        else:
            place_of = None
        places.append(place_of)
    return places


def _withheld(told: Sequence[tuple[str, Answered]], view: View, withheld: Verdicts) -> set[str]:
    """Which insertions show what is withheld by now."""
    if view.served:
        view.vault.ask(Read(sorted({note for _, given in told for note in given.notes})))  # for their flags
    is_short = view.sharing != "all"
    return {
        name for name, given in told if (is_short and given.sight["versions"]) or any(map(withheld, given.notes))
    }


def _told(chat: Sequence[_Known], vault: VaultId) -> dict[str, Any] | None:
    """What the insertions of a vault tell together; None: nothing.

    Each tells what was new to the ones before it, so the newest sight has all that they told; but what a text told
    that does not stand there any more is not told.
    """
    here = [each for each in chat if each.insertion.vault == vault]
    if not any(each.stands for each in here):
        return None
    gone, told_since = set[str](), set[str]()
    for each in here:
        named = {*each.given.notes, *each.given.textless}
        if each.stands:
            told_since |= named
        else:
            gone |= named - told_since
    looked = next((each for each in here if "\nlooking at: " in each.given.words), None)
    sight = here[0].given.sight
    return {
        **sight,
        "active": sight["active"] if looked is not None and looked.stands else "",  # neither a note nor none
        "pins": [note for note in sight["pins"] if note not in gone],
        "tabs": [note for note in sight["tabs"] if note not in gone],
        "versions": {note: sha256 for note, sha256 in sight["versions"].items() if note not in gone},
        "texts": {note: sha256 for note, sha256 in sight["texts"].items() if note not in gone},
        "vault": any(each.stands and "\nvault: " in each.given.words for each in here),
    }
