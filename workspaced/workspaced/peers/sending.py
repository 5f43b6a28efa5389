"""`Sender`: keeps what the server has of this origin equal to what this daemon shares.

One message is on its way at a time, and it is durable before it is sent. Where it is unknown whether the server
has it, the subject's last message decides: it is ours (go on), the one before (send the same bytes again), older
or none (the server has lost something: begin a generation), or one that we never made (`ORIGIN_TAKEN`: two daemons
use the same data directory).
"""

import logging
from collections.abc import Callable
from typing import Any, Final

import anyio
import msgspec
from msgspec.structs import replace

from workspaced_events.peers.differences import SharedView, difference, notes_of
from workspaced_events.peers.without_notes import has_new_asks
from workspaced_events.schema.peer_events import SharedVault

from .carrier import Carried, Carrier, CarrierError
from .keys.keyring import Keyring
from .keys.message import MessageRefused, digest, header_of
from .outbox import NamesByVault, Outbox, Sent
from .payload import PAYLOAD_BYTES_MAX, Payload

logger = logging.getLogger(__name__)

TOGETHER_S: Final = 0.02
"""What changes within this time is one message."""
GENERATION_MESSAGES_MAX: Final = 1_000
RETRY_FIRST_S: Final = 0.1
RETRY_MAX_S: Final = 30.0
LOOK_S: Final = 60.0
"""How often the subject's last message is compared, while nothing is sent."""
LOOKS_A_CHAIN: Final = 10
"""Every so many looks, and after each connecting, all messages of the subject are compared."""
Make = Callable[[SharedView, int], tuple[SharedView, int]]
"""What to share, and the hybrid clock, from what was shared before and the number of the message."""


class OriginTaken(CarrierError):
    """Another daemon sends in this one's name."""


class Sender:
    """Belongs to the loop's thread."""

    def __init__(self, keyring: Keyring, carrier: Carrier, outbox: Outbox, make: Make) -> None:
        """Raises OSError, msgspec.MsgspecError: the outbox cannot be read."""
        self._keyring = keyring
        self._carrier = carrier
        self._outbox = outbox
        self._make = make
        self.sent = outbox.load()
        """The message that was made last."""
        self.problem: CarrierError | None = None
        self.attempts = 0
        """How often sending failed since it last succeeded."""
        self._sequence: int | None = None
        """Of `sent` at the server; None: it is not known whether the server has it."""
        self._wants_generation = bool(self.sent.n) and not self.sent.frame
        self._looks = 0
        self._changed = anyio.Event()

    @property
    def unsent(self) -> int:
        """0: the server has all that is shared, as far as known."""
        return int(self._sequence is None or self._wants_generation or self._changed.is_set())

    def share(self) -> None:
        """Looks at what is shared, soon. Costs nothing."""
        self._changed.set()

    def begin_generation(self) -> None:
        """Replaces all that the server has of this origin, soon."""
        self._wants_generation = True
        self._changed.set()

    def check(self) -> None:
        """Compares with what the server has, soon: the connection is a new one."""
        self._sequence, self._looks = None, 0
        self._changed.set()

    async def run(self) -> None:
        """Sends until cancelled. A failure is `problem`, and tried again.

        Raises:
            OriginTaken: nothing more can be sent in this name.
        """
        pause_s = RETRY_FIRST_S
        self._changed.set()
        while True:
            with anyio.move_on_after(LOOK_S):
                await self._changed.wait()
            if not self._changed.is_set():
                self._sequence = None
            await anyio.sleep(TOGETHER_S)
            self._changed = anyio.Event()
            try:
                await self._send_what_changed()
            except OriginTaken as error:
                self.problem = error
                raise
            except (CarrierError, OSError) as error:
                self.problem = error if isinstance(error, CarrierError) else _not_kept(error)
                self.attempts += 1
                self._sequence = None
                self._changed.set()
                await anyio.sleep(pause_s)
                pause_s = min(2 * pause_s, RETRY_MAX_S)
            else:
                self.problem, self.attempts, pause_s = None, 0, RETRY_FIRST_S

    async def _send_what_changed(self) -> None:
        if self._sequence is None and self.sent.n:
            await self._settle()
        while (following := self._next()) is not None:
            await self._outbox.keep(following)
            after, self._sequence = self._sequence or 0, None
            if following.n == 1 and (last := await self._carrier.last(self._keyring.origin)) is not None:
                after = last.sequence
            self._wants_generation = self._wants_generation and bool(following.previous)
            self.sent = following
            self._sequence = await self._publish(following, after)
            await anyio.sleep(TOGETHER_S)

    async def _settle(self) -> None:
        """Finds out what the server has, until it has `sent`.

        Raises:
            CarrierError: it cannot be found out now, or the message cannot be sent.
            OriginTaken.
        """
        last = await self._carrier.last(self._keyring.origin)
        # A generation may take back what the frame tells, and who was removed has the former key.
        is_outdated = self._wants_generation or self.sent.epoch != self._keyring.epoch
        frame = b"" if is_outdated else self.sent.frame
        if last is not None and (found := digest(last.data)) == self.sent.digest:
            self._sequence = last.sequence
            self._wants_generation = self._wants_generation or not await self._is_whole_chain()
        elif last is not None and found == self.sent.previous and frame:
            self._sequence = await self._publish(self.sent, last.sequence)
        elif last is None and not self.sent.previous and frame:
            self._sequence = await self._publish(self.sent, 0)
        else:
            if last is not None:
                self._check_origin(last)
            self._sequence = last.sequence if last is not None else 0
            self._wants_generation = True

    async def _is_whole_chain(self) -> bool:
        """Whether peers can read the subject from its beginning; true without a look, most of the times.

        Sequences are reused after a server has lost its stream, so a message may have been taken behind another
        one than the one that it follows.
        """
        self._looks += 1
        if self._looks % LOOKS_A_CHAIN != 1:
            return True
        previous = ""
        for message in await self._carrier.read(self._keyring.origin):
            try:
                header = header_of(message.data)
            except MessageRefused:
                return False
            if header.previous != previous:
                return False
            previous = digest(message.data)
        return previous == self.sent.digest

    def _check_origin(self, last: Carried) -> None:
        """What this origin never made, though it is signed with its key, is a second daemon's."""
        try:
            header, _payload = self._keyring.open(last.data, self._keyring.origin)
        except MessageRefused as error:
            logger.info("not ours, on our own subject, and replaced: %s", error)
            return
        if (header.generation, header.n) >= (self.sent.generation, self.sent.n):
            raise OriginTaken(
                "ORIGIN_TAKEN",
                "Another daemon sends in this machine's name: its data directory is a copy, or an older backup.",
                "`workspaced link leave` on one of the two, then join again, makes it a machine of its own.",
            )

    async def _publish(self, sent: Sent, after: int) -> int:
        begins = not sent.previous
        return await self._carrier.publish(self._keyring.origin, sent.frame, after=after, begins=begins)

    def _next(self) -> Sent | None:
        """The message that leads from what was shared to what is to be; None: nothing changed."""
        sent = self.sent
        n = sent.n + 1
        before = sent.shared
        after, ms = self._make(before, n)
        is_whole = (
            self._wants_generation
            or not sent.n
            or sent.epoch != self._keyring.epoch
            or sent.since_whole >= GENERATION_MESSAGES_MAX
            or has_new_asks(before, after)
        )
        if not is_whole and not difference(before, after):
            return None
        if is_whole:
            before = {}
        after = _fitting(before, after, is_whole=is_whole)
        payload = (
            Payload(ms, True, tuple(after.values()))
            if is_whole
            else Payload(ms, changed=difference(before, after))
        )
        generation = sent.generation + is_whole
        previous = "" if is_whole else sent.digest
        frame = self._keyring.seal(generation, n, previous, msgspec.json.encode(payload))
        return Sent(
            generation,
            n,
            self._keyring.epoch,
            digest(frame),
            previous,
            frame,
            tuple(after.values()),
            since_whole=0 if is_whole else sent.since_whole + 1,
            named=_named({} if is_whole else sent.named, after),
        )


def _named(before: NamesByVault, after: SharedView) -> NamesByVault:
    now = {vault: {*before.get(vault, ()), *notes_of(each)} for vault, each in after.items()}
    return {**before, **{vault: tuple(sorted(notes)) for vault, notes in now.items()}}


def _not_kept(error: OSError) -> CarrierError:
    return CarrierError(
        "OUTBOX_FAILED",
        f"The next message cannot be kept in the data directory: {error.strerror}.",
        "Free space and check its permissions; nothing is sent until then.",
    )


def _fitting(before: SharedView, after: SharedView, *, is_whole: bool) -> SharedView:
    """`after`, or as much of it as one message can hold; what is left comes with the next one."""
    items = max((_length(each) for each in after.values()), default=0)
    known = max((_length(each) for each in before.values()), default=0)
    view = after
    while items > known + 1:
        size = msgspec.json.encode(tuple(view.values()) if is_whole else difference(before, view))
        if len(size) <= PAYLOAD_BYTES_MAX // 2:
            break
        items = (items + known) // 2
        view = {}
        for vault, each in after.items():
            lists: dict[str, Any] = {name: getattr(each, name)[:items] for name in _LISTS}
            view[vault] = replace(each, **lists)
    return view


_LISTS: Final = ("pins", "renames", "removals")


def _length(vault: SharedVault) -> int:
    return max(len(getattr(vault, name)) for name in _LISTS)
