"""`Volunteering`: offers a text to a runtime's hook, or an editor to its link, and records what was taken.

A hook may die between the offer and the runtime. So a session counts as told, and the log says so, only when the
hook confirms; until then the next offer tells the same again.

What each session was told last is kept in memory. A session that is not known, such as after a start of the
daemon, is told everything: rather twice than never.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.workspace_state import WorkspaceState, client_key
from workspaced_tools.recording.view_recorder import ViewRecorder
from workspaced_tools.tools.tool import Tool
from workspaced_tools.volunteering.editor import SHOW_EDITOR, EditorPart
from workspaced_tools.volunteering.tool import VOLUNTEER, text_told
from workspaced_tools.volunteering.wording import Form

from ..calls.calls import Calls
from ..recording.call_recorder import Call, VolunteeredTo

OFFERS_MAX: Final = 256
OFFERS_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of the texts behind them."""
P = TypeVar("P")


class Offers(Generic[P]):
    """Belongs to the loop's thread."""

    def __init__(self) -> None:
        self._offers: OrderedDict[str, tuple[P, int]] = OrderedDict()

    def put(self, offer: P, call: Call | None) -> str:
        """The token of an offer whose text the call answered."""
        token = secrets.token_hex(8)
        made_from = call.answer.made_from if call is not None else None
        self._offers[token] = offer, made_from.texts_bytes() if isinstance(made_from, ViewRecorder) else 0
        size = sum(each for _, each in self._offers.values())
        while len(self._offers) > 1 and (len(self._offers) > OFFERS_MAX or size > OFFERS_BYTES_MAX):
            size -= self._offers.popitem(last=False)[1][1]
        return token

    def pop(self, token: str) -> P | None:
        """The offer, which is known no more; None: it is not."""
        found = self._offers.pop(token, None)
        return found[0] if found is not None else None

    def __iter__(self) -> Iterator[tuple[str, P]]:
        """All, with their tokens. Any may be popped meanwhile."""
        return ((token, offer) for token, (offer, _) in [*self._offers.items()])


ON_ITS_WAY_S: Final = 1.0
"""For this long an offer may be on its way to its session, which is offered nothing else meanwhile."""

Reason = Literal["nothingNew", "offered", "off", "refused", "otherVault"]
"""Why there is no text: nothing changed; it was offered a moment ago; the user has turned it off for the client;
the client is shown nothing; the user looks at another vault."""
SESSIONS_MAX: Final = 1_000
"""Of all clients; beyond that the longest unused is forgotten."""


class SessionKey(NamedTuple):
    """One session of one client, as far as one vault is concerned."""

    client: str
    session: str
    vault: VaultId

    @classmethod
    def of(cls, client: str, session: str, vault: VaultId) -> "SessionKey":
        return cls(client_key(client), session, vault)


class Told(NamedTuple):
    """What a session was told last."""

    sight: dict[str, Any]
    """As the tool `volunteer_context` gave it."""
    as_of_seq: int


class Sessions:
    """Belongs to the loop's thread."""

    def __init__(self) -> None:
        self._told: OrderedDict[SessionKey, Told] = OrderedDict()

    def told(self, key: SessionKey) -> Told | None:
        """What the session was told; None: nothing, or it is not known any more."""
        found = self._told.get(key)
        if found is not None:
            self._told.move_to_end(key)
        return found

    def tell(self, key: SessionKey, told: Told) -> None:
        """Remembers that the session was told."""
        self._told[key] = told
        self._told.move_to_end(key)
        if len(self._told) > SESSIONS_MAX:
            self._told.popitem(last=False)

    def forget(self, key: SessionKey) -> None:
        """The agent has lost what it was told."""
        self._told.pop(key, None)

    def latest_of(self, client: str) -> SessionKey | None:
        """The client's session that was told last."""
        key = client_key(client)
        return next((each for each in reversed(self._told) if each.client == key), None)


class Offer(NamedTuple):
    """What is on its way to a session, and not confirmed yet."""

    key: SessionKey
    call: Call
    told: Told | None
    """What the session was told once it has the text; None: no difference will begin there."""


class Offered(NamedTuple):
    """A text for a hook, or JSON for an editor's link, and the token that confirms it; or why there is none."""

    text: str | None
    token: str | None = None
    reason: Reason | None = None


class Answered(msgspec.Struct, frozen=True):
    """What a call of `volunteer_context` answered."""

    text: str | None
    """None: nothing is new."""
    sight: dict[str, Any]
    notes: list[NoteId]
    textless: list[str]

    @property
    def words(self) -> str:
        return self.text or ""


class _Answer(msgspec.Struct, frozen=True):
    data: Answered


_ANSWER: Final = msgspec.json.Decoder(_Answer)


def answer_of(payload: bytes) -> Answered:
    return _ANSWER.decode(payload).data


class Volunteering:
    """One for each daemon. Belongs to the loop's thread."""

    def __init__(
        self,
        calls: Calls,
        state: Callable[[], WorkspaceState],
        record: Callable[[Call], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sessions = Sessions()
        self._calls = calls
        self._state = state
        self._record = record
        self._clock = clock
        self._offers: Offers[Offer] = Offers()
        self._begun: OrderedDict[SessionKey, float] = OrderedDict()
        """When an offer for a session began that is not confirmed yet."""

    async def offer(self, key: SessionKey, client: str, event: str, *, whole: bool, form: Form) -> Offered:
        """What to tell a session now; `confirm` says that it was told.

        Args:
            client: its name, which decides the sharing level.
            event: the runtime's name of the moment.
            whole: tell everything, since the agent has lost what it was told.

        Raises:
            WorkspacedError: as a call of a tool.
        """
        if whole:
            self.forget(key)
        if self._clock() - self._begun.get(key, -ON_ITS_WAY_S) < ON_ITS_WAY_S:
            return Offered(None, reason="offered")
        self._begun[key] = self._clock()
        self._begun.move_to_end(key)
        if len(self._begun) > OFFERS_MAX:
            self._begun.popitem(last=False)
        told = self.sessions.told(key)
        try:
            call, data, reason = await self.ask(key.vault, client, told.sight if told is not None else None, form)
        except BaseException:
            self._begun.pop(key, None)
            raise
        if data is None or data.text is None or call is None:
            self._begun.pop(key, None)
            return Offered(None, reason=reason)
        to = VolunteeredTo(session=key.session, event=event, from_seq=told.as_of_seq if told is not None else None)
        return Offered(data.text, self._keep(key, call, to, Told(data.sight, call.answer.as_of_seq)))

    async def offer_editor(self, key: SessionKey, client: str, event: str, *, part: EditorPart) -> Offered:
        """What to tell a link to an editor now; `confirm` says that it was told.

        Each offer is whole, so nothing is kept of what a link was told before, and an offer takes the place of the
        session's last one for that event: a link looks often, and tells only what is new.

        Args:
            client: as of `offer`.
            event: the link's name of the message.

        Raises:
            WorkspacedError: as a call of a tool.
        """
        call, reason = await self._call(SHOW_EDITOR, {"part": part}, key.vault, client)
        if call is None:
            return Offered(None, reason=reason)
        for token, offer in self._offers:
            if offer.key == key and offer.call.volunteered is not None and offer.call.volunteered.event == event:
                self._offers.pop(token)
        view = text_told(call.tool, call.answer.payload).decode()
        to = VolunteeredTo(session=key.session, event=event, from_seq=None)
        return Offered(view, self._keep(key, call, to, None))

    async def preview(self, key: SessionKey, client: str, *, form: Form) -> Offered:
        """What the session would be told now. Nobody is told, so the session stays as it is."""
        told = self.sessions.told(key)
        _call, data, reason = await self.ask(key.vault, client, told.sight if told is not None else None, form)
        return Offered(data.text if data is not None else None, reason=reason)

    def confirm(self, token: str) -> bool:
        """Records that the runtime has taken the text; False: the offer is not known any more."""
        offer = self._offers.pop(token)
        if offer is None:
            return False
        self._begun.pop(offer.key, None)
        if offer.told is not None:
            self.sessions.tell(offer.key, offer.told)
        self._record(offer.call)
        return True

    def forget(self, key: SessionKey) -> None:
        """The agent has lost what it was told, or will, and what is on its way too: it is told everything next."""
        self.sessions.forget(key)
        self._begun.pop(key, None)
        for token, offer in self._offers:
            if offer.key == key:
                self._offers.pop(token)

    def _keep(self, key: SessionKey, call: Call, to: VolunteeredTo, told: Told | None) -> str:
        """The token of an offer that waits to be confirmed."""
        return self._offers.put(Offer(key, replace(call, volunteered=to), told), call)

    async def ask(
        self, vault: VaultId, client: str, told: dict[str, Any] | None, form: Form, **more: Any
    ) -> tuple[Call | None, Answered | None, Reason | None]:
        """The call that answers, what it answered, and why there is no text. Nobody is told by it.

        Args:
            told: the sight that the agent was told last; None: it is told everything.
            more: further arguments of the tool.
        """
        arguments: dict[str, Any] = {"form": form, **more}
        if told is not None:
            arguments["told"] = told
        if self._state().peers.own is not None:
            arguments["ofPerson"] = True
        call, reason = await self._call(VOLUNTEER, arguments, vault, client)
        if call is None:
            return None, None, reason
        data = answer_of(call.answer.payload)
        return call, data, "nothingNew" if data.text is None else None

    async def _call(
        self, tool: Tool[Any], arguments: dict[str, Any], vault: VaultId, client: str
    ) -> tuple[Call | None, Reason | None]:
        """The call of a hidden tool with what the user lets the client be told, or why there is none."""
        state = self._state()
        setting = state.volunteering_of(client)
        if setting == "off":
            return None, "off"
        if state.current != vault:
            return None, "otherVault"
        arguments = {**arguments, "selection": setting == "on"}
        started = time.perf_counter_ns()
        answer = await self._calls.preview(tool, arguments, client)
        made_from = answer.made_from
        if not answer.ok or not isinstance(made_from, ViewRecorder):
            return None, "refused"
        if made_from.full.current != vault:
            return None, "otherVault"  # the user went there meanwhile
        duration_us = (time.perf_counter_ns() - started) // 1000
        return Call(tool.name, client, arguments, answer, duration_us), None
