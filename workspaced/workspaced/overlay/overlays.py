"""`Overlays`: what stands in an agent's requests to a provider, and what is put into the next one.

A request is never rewritten: its client puts each text where it stood in the chat's earlier requests, and a new
one before the newest words of the user. What a chat was told is what stands in this very request.

A request may never leave. So a new text counts, and the log says so, once `confirm` tells that it left; until then
the chat is offered the same text again.
"""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import anyio
import msgspec
from msgspec.structs import replace

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.projections.insertions import Insertion, Insertions, chain
from workspaced_events.projections.workspace_state import WorkspaceState, client_key
from workspaced_events.schema.catalogue import ContextWithdrawn, PromptAnswered, PromptOverlaid
from workspaced_tools.errors import SharingOff
from workspaced_tools.ports.questions import Read
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.requests.usage_report import FAMILY_OF_SHAPE, counted
from workspaced_tools.sharing.gate import Withheld

from ..calls.calls import Calls
from ..calls.threads import Threads
from ..recording.call_recorder import Call, Inserted
from ..volunteering.volunteering import Volunteering

OFFERS_MAX: Final = 256
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


class Overlaid(NamedTuple):
    """What to put into a request, by its turns; the token that confirms it, or why there is nothing new."""

    texts: dict[str, str]
    token: str | None = None
    reason: str | None = None


class _Given(msgspec.Struct, frozen=True):
    """What an insertion's call answered."""

    text: str
    sight: dict[str, Any]
    notes: list[NoteId]


class _Answer(msgspec.Struct, frozen=True):
    data: _Given


_ANSWER: Final = msgspec.json.Decoder(_Answer)


class _Offer(NamedTuple):
    client: str
    last: Insertion
    without: tuple[str, ...]
    call: Call | None
    """Of the last insertion, if it is new."""


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

    def __init__(
        self,
        volunteering: Volunteering,
        calls: Calls,
        log: Log,
        threads: Threads,
        secret: bytes,
    ) -> None:
        """`secret`: makes keys of hashes."""
        self._volunteering = volunteering
        self._calls = calls
        self._log = log
        self._threads = threads
        self._secret = secret
        self._offers: OrderedDict[str, _Offer] = OrderedDict()
        self._left: OrderedDict[str, PromptOverlaid] = OrderedDict()
        self._leaving: dict[str, Insertion] = {}
        """Those that left and that the log does not hold yet."""
        self._texts: OrderedDict[str, _Given] = OrderedDict()
        """By the hashes of their answers."""
        self._one_by_one = anyio.Lock()

    async def overlay(self, client: str, asked: Asked) -> Overlaid:
        """What stands in a request, and what is new in it.

        Raises:
            WorkspacedError: as a call of a tool.
        """
        async with self._one_by_one:
            return await self._overlay(client, asked)

    async def _overlay(self, client: str, asked: Asked) -> Overlaid:
        turns = {self._keyed(client, key): key for key, _near in asked.turns}
        session = self._keyed(client, asked.chat)
        known = await self._given([*self._standing(list(turns), session)])
        try:
            chain_of = await self._without_withheld(client, known)
        except SharingOff:
            return Overlaid({}, reason="refused")
        texts = {turns[each.key]: given.text for each, given in chain_of if not each.is_withdrawn}
        without = tuple(each.id for each, _ in chain_of if each.is_withdrawn)
        last = chain_of[0][0] if chain_of else None
        call, reason = None, None
        if asked.is_open:
            key = [*turns][-1]
            offered = self._offered(client, key, session, last)
            if offered is None:
                offered, reason = await self._new(client, asked, key, session, chain_of)
            if offered is not None:
                last, call = offered
                texts[asked.turns[-1][0]] = self._texts[last.result_sha256].text
        if not texts or last is None:
            return Overlaid({}, reason=reason)
        token = secrets.token_hex(8)
        self._offers[token] = _Offer(client, last, without, call)
        while len(self._offers) > OFFERS_MAX:
            self._offers.popitem(last=False)
        return Overlaid(texts, token, reason)

    async def confirm(self, token: str, body_sha256: str) -> bool:
        """Records that a request left with what was offered; False: the offer is not known any more."""
        offer = self._offers.pop(token, None)
        if offer is None:
            return False
        last = offer.last
        if offer.call is not None and not any(each.id == last.id for each in self._known().get(last.key, ())):
            self._leaving[last.id] = last
            self._log.record_call(offer.call)
            await self._threads.run(self._log.wait_until_recorded)
        body_hash = self._keyed(offer.client, body_sha256)
        overlaid = PromptOverlaid(offer.client, last.id, body_hash, offer.without)
        await self._log.record([Action(overlaid)])
        self._leaving.pop(last.id, None)
        self._left[token] = overlaid
        while len(self._left) > OFFERS_MAX:
            self._left.popitem(last=False)
        return True

    async def finished(self, token: str, form: str, report: dict[str, Any]) -> bool:
        """Records what the provider counted of a request; False: that it left is not known any more.

        Raises:
            ArgumentInvalid: the report is none of a provider with that form.
        """
        read, cached, output = counted(report, FAMILY_OF_SHAPE[form])
        sent = self._left.pop(token, None)
        if sent is None:
            return False
        answered = PromptAnswered(sent.caller, sent.insertion, sent.body_hash, read, cached, output)
        await self._log.record([Action(answered)])
        return True

    # -- what stands --

    def _keyed(self, client: str, told: str) -> str:
        """A hash that nobody without the log's secret can tell from a guess."""
        data = f"{client_key(client)}\0{told}".encode()
        return hashlib.blake2b(data, key=self._secret, digest_size=_KEY_BYTES).hexdigest()

    def _known(self) -> Insertions:
        known = self._log.state().insertions
        for each in self._leaving.values():
            here = known.get(each.key, ())
            if each not in here:
                known = {**known, each.key: (*here, each)}
        return known

    def _standing(self, keys: Sequence[str], session: str) -> Iterable[Insertion]:
        """The insertions of this chat, the newest first: from the newest turn that has one. Where several chats
        were the same up to there, its own, else the newest."""
        known = self._known()
        for key in reversed(keys):
            if here := known.get(key):
                newest = next((each for each in reversed(here) if each.session == session), here[-1])
                return chain(known, newest.id)
        return ()

    async def _given(self, standing: Sequence[Insertion]) -> list[tuple[Insertion, _Given]]:
        """The insertions with what they gave, up to the first one whose answer is not kept any more."""
        missing = [each.result_sha256 for each in standing if each.result_sha256 not in self._texts]
        if missing:
            for sha256, answer in (await self._threads.run(self._read, missing)).items():
                self._remember(sha256, answer)
        found = []
        for each in standing:
            if (given := self._texts.get(each.result_sha256)) is None:
                break
            self._texts.move_to_end(each.result_sha256)
            found.append((each, given))
        return found

    def _read(self, hashes: Iterable[str]) -> dict[str, bytes]:
        return {sha256: answer for sha256 in hashes if (answer := self._log.blob(sha256)) is not None}

    def _remember(self, sha256: str, answer: bytes) -> None:
        self._texts[sha256] = _ANSWER.decode(answer).data
        while len(self._texts) > TEXTS_MAX:
            self._texts.popitem(last=False)

    # -- what is withheld by now --

    async def _without_withheld(
        self, client: str, known: list[tuple[Insertion, _Given]]
    ) -> list[tuple[Insertion, _Given]]:
        """The same insertions; those that name a note which is withheld by now are withdrawn, for good.

        Raises:
            SharingOff: the client is shown nothing.
        """
        withdrawn: set[str] = set()
        for vault in {each.vault for each, _ in known}:
            here = [(each, given) for each, given in known if each.vault == vault and not each.is_withdrawn]
            withdrawn |= await self._calls.with_view(_withheld_of(here), client, vault)
        if not withdrawn:
            return known
        await self._log.record([Action(ContextWithdrawn(tuple(sorted(withdrawn))))])
        return [
            (replace(each, is_withdrawn=each.is_withdrawn or each.id in withdrawn), given) for each, given in known
        ]

    # -- what is new --

    def _offered(
        self, client: str, key: str, session: str, last: Insertion | None
    ) -> tuple[Insertion, Call | None] | None:
        """The insertion that was offered to this turn and is not confirmed yet."""
        after = last.id if last is not None else None
        for offer in self._offers.values():
            new = offer.last
            if offer.call is not None and (offer.client, new.key, new.session, new.after) == (
                client,
                key,
                session,
                after,
            ):
                return new, offer.call
        return None

    async def _new(
        self, client: str, asked: Asked, key: str, session: str, known: Sequence[tuple[Insertion, _Given]]
    ) -> tuple[tuple[Insertion, Call] | None, str | None]:
        vault = self._log.state().current
        if vault is None:
            return None, "otherVault"
        call, reason = await self._ask(client, known, vault)
        if call is not None and known and known[0][0].key == key:  # answered anew: it goes on from the turn before
            known = known[1:]
            call, reason = await self._ask(client, known, vault)
        if call is None:
            return None, reason
        told = next((each for each, _ in known if each.vault == vault), None)
        payload = call.answer.payload
        new = Insertion(
            id=f"{key}-{secrets.token_hex(4)}",
            session=session,
            after=known[0][0].id if known else None,
            vault=vault,
            as_of_seq=call.answer.as_of_seq,
            result_sha256=hashlib.sha256(payload).hexdigest(),
        )
        self._remember(new.result_sha256, payload)
        to = Inserted(session, asked.form, told.as_of_seq if told is not None else None, new.id, new.after)
        return (new, replace(call, volunteered=to)), None

    async def _ask(
        self, client: str, known: Sequence[tuple[Insertion, _Given]], vault: VaultId
    ) -> tuple[Call | None, str | None]:
        """The call whose answer tells what is new beside these insertions, or why nothing is."""
        call, data, reason = await self._volunteering.ask(vault, client, _told(known, vault), "tagged")
        return call if data is not None and data.text is not None else None, reason


def _withheld_of(known: Sequence[tuple[Insertion, _Given]]) -> Callable[[View, Withheld], set[str]]:
    """Says which of these insertions show what is withheld."""

    def found(view: View, withheld: Withheld) -> set[str]:
        if view.served:
            view.vault.ask(Read(sorted({note for _, given in known for note in given.notes})))  # their flags
        is_short = view.sharing != "all"
        return {
            each.id
            for each, given in known
            if (is_short and given.sight["versions"]) or any(map(withheld, given.notes))
        }

    return found


def _told(known: Sequence[tuple[Insertion, _Given]], vault: VaultId) -> dict[str, Any] | None:
    """What the insertions of a vault tell together; None: nothing.

    Each tells what was new to the ones before it, so the newest sight has it all, but for what was withdrawn.
    """
    here = [(each, given) for each, given in known if each.vault == vault]
    if all(each.is_withdrawn for each, _ in here):
        return None
    gone = {note for each, given in here if each.is_withdrawn for note in given.notes}
    sight = here[0][1].sight
    return {
        **sight,
        "active": None if sight["active"] in gone else sight["active"],
        "pins": [note for note in sight["pins"] if note not in gone],
        "tabs": [note for note in sight["tabs"] if note not in gone],
        "versions": {note: sha256 for note, sha256 in sight["versions"].items() if note not in gone},
    }
