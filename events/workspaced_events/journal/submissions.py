"""Submissions: batches queued for the writer; the texts of large ones are packed on a thread of its own, so that
other publishers do not wait for them.

A batch with several texts goes this way before it is queued for the writer, and so does what its client, or the
daemon itself, submits behind it: nobody's own order changes. The writer lets the pack be found when it accepts the
batch, and removes it otherwise. Where packing fails, the writer stores the texts itself and reports what failed.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

import msgspec

from ..blobs.durable import PACKED_MIN, DurableBlobStore
from ..blobs.packs import Pack
from ..errors import Busy, WorkspacedError
from ..ids import EventId
from ..limits import BUSY_RETRY_MS, WAITING_BYTES_MAX, WAITING_CLIENT_BYTES_MAX
from .actions import Action, Plan

_logger: Final = logging.getLogger(__name__)


class Receipt(msgspec.Struct, frozen=True):
    """An action's sequence and id. `duplicate`: an earlier append at `seq` already had this id."""

    seq: int
    id: EventId
    duplicate: bool


Outcome = list[Receipt] | WorkspacedError
Done = Callable[[Outcome], None]


class Submission(NamedTuple):
    """A queued batch of actions, appended as a whole or not at all."""

    actions: Sequence[Action] | Plan
    source: str
    done: Done
    client: Hashable = None
    """None: the daemon itself."""
    size_bytes: int = 0
    begins: bool = False
    """True for `LogWriter.begin`: retries an opening that found no room on the disk."""
    texts: Sequence[bytes] = ()
    """Texts that the events will name, as far as they are known before."""
    pack: Pack | None = None
    """Holds those of them that were new."""


class TextPacking:
    """Packs the texts of batches, in the order in which these come."""

    def __init__(
        self, blobs: DurableBlobStore, is_wanted: Callable[[], bool], queue: Callable[[Submission], None]
    ) -> None:
        """
        Args:
            is_wanted: whether the log takes batches at present.
            queue: gets each batch when its texts are packed; called on the packing thread.
        """
        self._blobs = blobs
        self._is_wanted = is_wanted
        self._queue = queue
        self._waiting: SimpleQueue[Submission | None] = SimpleQueue()
        """None ends the thread."""
        self._clients: Counter[Hashable] = Counter()
        """The clients of the batches that are not handed on yet."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def count(self) -> int:
        """The number of batches that are not handed on yet."""
        return self._clients.total()

    def take(self, batch: Submission) -> bool:
        """Takes a batch if it has texts to pack, or must not overtake one that has. On any thread."""
        with self._lock:
            follows = self._clients.total() if batch.client is None else self._clients[batch.client]
            if len(batch.texts) < PACKED_MIN and not follows:
                return False
            self._clients[batch.client] += 1
            self._waiting.put(batch)
            return True

    def start(self) -> None:
        """Starts the packing thread."""
        self._thread = threading.Thread(target=self._run, name="workspaced-packing", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Hands on all that waits, and ends the thread."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
        self.pack_waiting()

    def pack_waiting(self) -> None:
        """Hands on all that waits, on the calling thread."""
        while True:
            try:
                batch = self._waiting.get_nowait()
            except Empty:
                return
            if batch is not None:
                self._hand_on(batch)

    def _run(self) -> None:
        while (batch := self._waiting.get()) is not None:
            self._hand_on(batch)

    def _hand_on(self, batch: Submission) -> None:
        packed = self._packed(batch)
        with self._lock:
            self._queue(packed)
            self._clients[batch.client] -= 1
            if not self._clients[batch.client]:
                del self._clients[batch.client]

    def _packed(self, batch: Submission) -> Submission:
        if len(batch.texts) < PACKED_MIN or not self._is_wanted():
            return batch
        try:
            pack = self._blobs.pack(batch.texts)
        except OSError as error:
            _logger.debug("the texts of a batch are not packed: %s", error)
            return batch
        except Exception:
            # The batch must reach the writer whatever happens here.
            _logger.exception("Packing the texts of a batch failed.")
            return batch
        return batch._replace(pack=pack)


class WaitingBytes:
    """The bytes of batches that wait for the disk, in total and per client. Safe from any thread.

    Batch sizes differ by four orders of magnitude, so a limit on their number bounds no memory. The daemon's own
    records are small and not counted, because a client's large batches must not cause their refusal.
    """

    def __init__(self) -> None:
        self.total = 0
        self._of: dict[Hashable, int] = {}
        self._lock = threading.Lock()

    def take(self, client: Hashable, size_bytes: int) -> None:
        """Counts a batch until `give_back` is called with the same arguments.

        Each limit applies only while other batches count towards it, because a larger batch would be refused
        forever.

        Raises:
            Busy: more than WAITING_BYTES_MAX would wait, or more than WAITING_CLIENT_BYTES_MAX of this client.
        """
        if not size_bytes:
            return
        with self._lock:
            client_bytes = self._of.get(client, 0)
            if client_bytes and client_bytes + size_bytes > WAITING_CLIENT_BYTES_MAX:
                raise busy(f"{client_bytes} bytes of this client wait for the disk.")
            if self.total and self.total + size_bytes > WAITING_BYTES_MAX:
                raise busy(f"{self.total} bytes wait for the disk.")
            self._of[client] = client_bytes + size_bytes
            self.total += size_bytes

    def give_back(self, client: Hashable, size_bytes: int) -> None:
        """Ends the counting of a batch."""
        if not size_bytes:
            return
        with self._lock:
            self.total -= size_bytes
            self._of[client] -= size_bytes
            if not self._of[client]:
                del self._of[client]


def busy(message: str) -> Busy:
    """The error for a full queue."""
    hint = "Publish again after retryAfterMs; with the same ids nothing is recorded twice."
    return Busy(message, hint=hint, retry_after_ms=BUSY_RETRY_MS)
