"""A server as `Carrier` sees it, without one: deterministic from a `Random`, with every fault of a real one.

    server = SimulatedServer(Random(seed), Faults(delay_s=0.05, lost_answers=0.1))
    carrier = server.carrier("a")       # the connection of one origin
    server.cut("a"), server.mend("a")   # its network
    server.stop(), server.start(), server.wipe(), server.remove_stream(), server.make_stream()
    kept = server.kept(); server.restore(kept)
    server.put("b", b"...")             # what another member of the account can do

Run it in virtual time (`virtual_time`), or nothing is deterministic and its timeouts last.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from workspaced.peers.carrier import Carried, CarrierError, CarrierState, SubjectName

R = TypeVar("R")

ANSWER_S = 5.0
"""How long a connection waits for an answer, as the real one does."""


@dataclass
class Faults:
    """What goes wrong: probabilities from 0 to 1, of each request or delivery. May be changed at any time."""

    delay_s: float = 0.0
    """The longest time that a request, an answer or a delivery is on its way; each draws its own."""
    lost_requests: float = 0.0
    """The server never sees it."""
    lost_answers: float = 0.0
    """The server did it, and nobody is told."""
    late_requests: float = 0.0
    """The server does it after the caller has given up."""
    refused: float = 0.0
    """The server answers that it is AWAY, FULL, or has NO_STREAM."""
    undelivered: float = 0.0
    repeated: float = 0.0
    reordered: float = 0.0
    """A delivery that later ones overtake."""
    duplicate_acknowledgements: float = 0.0
    """A publish that is acknowledged as a copy, and not kept."""

    def heal(self) -> None:
        """Nothing goes wrong any more; the delay stays."""
        delay_s = self.delay_s
        self.__init__(delay_s=delay_s)  # type: ignore[misc]


@dataclass
class Store:
    """What the server has. Sequences rise over all subjects."""

    sequence: int = 0
    subjects: dict[SubjectName, list[Carried]] = field(default_factory=dict)

    def keep(self, subject: SubjectName, data: bytes, *, begins: bool) -> Carried:
        self.sequence += 1
        message = Carried(subject, self.sequence, data)
        before = [] if begins else self.subjects.get(subject, [])
        self.subjects[subject] = [*before, message]
        return message


class SimulatedServer:
    """One stream and the network around it."""

    def __init__(self, random: Random, faults: Faults | None = None) -> None:
        self.random = random
        self.faults = faults or Faults()
        self.store: Store | None = Store()
        self.is_running = True
        self._cut: set[str] = set()
        self._carriers: list[SimulatedCarrier] = []

    def carrier(self, origin: str) -> "SimulatedCarrier":
        """A new connection; one origin may have several, as a copied data directory has."""
        carrier = SimulatedCarrier(self, origin)
        self._carriers.append(carrier)
        return carrier

    # -- what happens to the server and the network --

    def cut(self, origin: str) -> None:
        self._cut.add(origin)
        self._disconnect()

    def mend(self, origin: str) -> None:
        self._cut.discard(origin)

    def stop(self) -> None:
        self.is_running = False
        self._disconnect()

    def start(self) -> None:
        self.is_running = True

    def wipe(self) -> None:
        """Loses everything: sequences begin at 1 again, and listeners are not told."""
        self.store = Store()

    def remove_stream(self) -> None:
        self.store = None

    def make_stream(self) -> None:
        self.store = self.store or Store()

    def kept(self) -> Store | None:
        """What the server has now, for `restore`."""
        return copy.deepcopy(self.store)

    def restore(self, store: Store | None) -> None:
        """An older store, from a backup: sequences go back, and listeners are not told."""
        self.store = copy.deepcopy(store)

    # -- what another member of the account can do --

    def put(self, subject: SubjectName, data: bytes, *, begins: bool = False) -> None:
        """Publishes to any subject, without an expected predecessor."""
        if self.store is not None:
            self._deliver(self.store.keep(subject, data, begins=begins))

    # -- what connections ask --

    def is_reached_by(self, origin: str) -> bool:
        return self.is_running and origin not in self._cut

    def stream(self) -> Store:
        if self.store is None:
            raise CarrierError(
                "NO_STREAM", "The server has no stream.", "Make it: `workspaced link server-config`."
            )
        return self.store

    def publish(self, subject: SubjectName, data: bytes, after: int, begins: bool) -> int:
        store = self.stream()
        messages = store.subjects.get(subject, [])
        found = messages[-1].sequence if messages else 0
        if found != after:
            raise CarrierError("WRONG_PREDECESSOR", f"The last message of {subject} is {found}, not {after}.")
        if self.chance(self.faults.duplicate_acknowledgements):
            raise CarrierError("DUPLICATE", "The server took the message for a copy.")
        message = store.keep(subject, data, begins=begins)
        self._deliver(message)
        return message.sequence

    def chance(self, probability: float) -> bool:
        return probability > 0 and self.random.random() < probability

    def delay(self) -> float:
        return self.random.uniform(0, self.faults.delay_s)

    def _deliver(self, message: Carried) -> None:
        for carrier in self._carriers:
            carrier.deliver(message)

    def _disconnect(self) -> None:
        for carrier in self._carriers:
            carrier.check()


class SimulatedCarrier:
    """A `Carrier`."""

    def __init__(self, server: SimulatedServer, origin: str) -> None:
        self._server = server
        self._origin = origin
        self._waiting: dict[asyncio.Future[None], None] = {}
        """Of each request and listener, in their order: done when the connection is lost."""
        self._listeners: dict[asyncio.Future[None], Callable[[Carried], None]] = {}
        self._delivered_at = 0.0
        self._reports: asyncio.Queue[CarrierError | None] = asyncio.Queue()
        self._is_closed = False

    @property
    def state(self) -> CarrierState:
        return "connected" if self._is_connected else "away"

    async def publish(self, subject: SubjectName, data: bytes, *, after: int, begins: bool) -> int:
        lost = CarrierError("NOT_ACKNOWLEDGED", f"Nobody acknowledged a message of {subject}.")
        return await self._ask(lambda: self._server.publish(subject, bytes(data), after, begins), lost)

    async def last(self, subject: SubjectName) -> Carried | None:
        return next(iter((await self.read(subject))[-1:]), None)

    async def read(self, subject: SubjectName) -> list[Carried]:
        return await self._ask(lambda: [*self._server.stream().subjects.get(subject, [])], _away())

    async def subjects(self) -> dict[SubjectName, int]:
        def list_them() -> dict[SubjectName, int]:
            return {name: kept[-1].sequence for name, kept in self._server.stream().subjects.items()}

        return await self._ask(list_them, _away())

    async def listen(self, arrived: Callable[[Carried], None]) -> None:
        lost = self._loses_connection()

        def begin() -> None:
            latest = [kept[-1] for kept in self._server.stream().subjects.values()]
            if not lost.done():
                self._listeners[lost] = arrived
                for message in sorted(latest, key=lambda each: each.sequence):
                    self._deliver_to(lost, message)

        try:
            await self._ask(begin, _away())
            await lost
        finally:
            self._waiting.pop(lost, None)
            self._listeners.pop(lost, None)
            lost.cancel()

    async def reports(self) -> AsyncIterator[CarrierError]:
        while (report := await self._reports.get()) is not None:
            yield report

    def report(self, error: CarrierError) -> None:
        """The server tells of something by itself."""
        self._reports.put_nowait(error)

    async def aclose(self) -> None:
        self._is_closed = True
        self._reports.put_nowait(None)
        self.check()

    # -- the network --

    @property
    def _is_connected(self) -> bool:
        return not self._is_closed and self._server.is_reached_by(self._origin)

    def check(self) -> None:
        """Tells everyone who waits when the connection is lost."""
        if not self._is_connected:
            for each in self._waiting:
                if not each.done():
                    each.set_result(None)

    def deliver(self, message: Carried) -> None:
        for listener in [*self._listeners]:
            self._deliver_to(listener, message)

    def _deliver_to(self, listener: asyncio.Future[None], message: Carried) -> None:
        server, loop = self._server, asyncio.get_running_loop()
        if server.chance(server.faults.undelivered):
            return

        def arrive() -> None:
            arrived = self._listeners.get(listener)
            if arrived is not None and self._is_connected:
                arrived(message)

        for _ in range(2 if server.chance(server.faults.repeated) else 1):
            at = loop.time() + server.delay()
            if server.chance(server.faults.reordered):
                at += 3 * server.faults.delay_s + 0.001
            else:
                self._delivered_at = at = max(at, self._delivered_at)
            loop.call_at(at, arrive)

    async def _ask(self, act: Callable[[], R], unanswered: CarrierError) -> R:
        """Sends a request and waits for its answer; what is on its way arrives even when the caller is gone."""
        if not self._is_connected:
            raise _away()
        server, loop = self._server, asyncio.get_running_loop()
        faults, lost = server.faults, self._loses_connection()
        answer: asyncio.Future[R] = loop.create_future()

        def give(result: R | CarrierError) -> None:
            if not answer.done():
                if isinstance(result, CarrierError):
                    answer.set_exception(result)
                else:
                    answer.set_result(result)

        def arrive() -> None:
            if not self._is_connected:
                return
            try:
                self._refuse_sometimes()
                result: R | CarrierError = act()
            except CarrierError as error:
                result = error
            if not server.chance(faults.lost_answers):
                loop.call_later(server.delay(), give, result)

        if not server.chance(faults.lost_requests):
            late = server.random.uniform(ANSWER_S, 2 * ANSWER_S) if server.chance(faults.late_requests) else 0.0
            loop.call_later(late + server.delay(), arrive)
        try:
            await asyncio.wait({answer, lost}, timeout=ANSWER_S, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise unanswered
            return answer.result()
        finally:
            self._waiting.pop(lost, None)
            lost.cancel()
            answer.cancel()

    def _refuse_sometimes(self) -> None:
        server = self._server
        if server.chance(server.faults.refused):
            code = server.random.choice(["AWAY", "FULL", "NO_STREAM"])
            raise CarrierError(code, "The server refused.", "Wait.")

    def _loses_connection(self) -> "asyncio.Future[None]":
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[lost] = None
        if not self._is_connected:
            lost.set_result(None)
        return lost


def _away() -> CarrierError:
    return CarrierError("AWAY", "The server is away, or does not answer.", "Nothing is lost: it is sent later.")
