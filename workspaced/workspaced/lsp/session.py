"""The session with one editor: its documents, the view inferred from its messages, and the way to the daemons."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import anyio
import msgspec

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import uuid7
from workspaced_tools.errors import NoteNotFound

from ..errors import RemoteError
from ..limits import LSP_ANSWER_S, LSP_EDIT_S, LSP_TICK_S, LSP_WAITING_MAX
from .daemons import Daemon, Daemons, Place
from .documents import Change, Document, Documents, Selection, Shown, notes_below, path_of, real_path, shown

_LSP_SELECTION_CHARS: Final = 65_536
"""Of a longer selection only the lines are told."""
_LSP_LINKS_CHARS_MAX: Final = 100_000
"""Of the links in one request to a daemon, which takes at most a mebibyte; a character is up to 6 bytes there."""
_LSP_LINKS_MAX: Final = 1_000
_LSP_USED_MAX: Final = 50
"""Documents that are remembered for having been worked in."""
_LSP_COALESCE_S: Final = 0.05
"""What happens in an editor within this time is one view."""
logger = logging.getLogger(__name__)


class Waiting(NamedTuple):
    """An action that no daemon took yet. It keeps its id, so that however often it is sent, it is one event."""

    type: str
    real: str
    """The real path of the note."""
    to: str | None
    """Of a rename: the new real path."""
    id: str


class Actions:
    """Belongs to the loop's thread. Beyond LSP_WAITING_MAX the oldest are dropped."""

    def __init__(self, daemons: Daemons, touch: Callable[[], None]) -> None:
        """`touch` is called when some wait to be handed on."""
        self._daemons = daemons
        self._touch = touch
        self._waiting: list[Waiting] = []

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def add(self, action: str, real: str, to: str | None = None) -> None:
        """Tells the daemon of a note what the user did with it, now or once one serves it."""
        self._waiting = [*self._waiting, Waiting(action, real, to, uuid7())][-LSP_WAITING_MAX:]
        if self._daemons.place(real) is None:
            self._daemons.seek()
        self._touch()

    async def hand_on(self) -> None:
        """Tells each action to the daemon that serves its note; those that none takes wait."""
        waiting, self._waiting = self._waiting, []
        left = [each for each in waiting if not await self._told(each)]
        self._waiting = [*left, *self._waiting][-LSP_WAITING_MAX:]
        if self._waiting:
            asyncio.get_running_loop().call_later(LSP_TICK_S, self._touch)

    async def _told(self, action: Waiting) -> bool:
        """Whether the action needs to wait no more: a daemon took or refused it, or the note left its vault."""
        place = self._daemons.place(action.real)
        if place is None:
            return False
        data = {"note": place.note}
        if action.to is not None:
            to = place.note_at(action.to)
            if to is None:
                return True
            data = {"from": place.note, "to": to}
        try:
            await place.daemon.act(action.type, data, place.vault, action.id)
        except RemoteError as error:
            logger.info("%s: %s", action.type, error.message)
        except WorkspacedError:
            return False
        place.daemon.forget()
        return True


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """The editor's `initializationOptions`. Unknown fields are ignored: editors put their own there."""

    diagnostics: bool = False
    """Whether broken links are marked."""
    selection: bool = True
    """Whether what is selected is told."""
    socket: str | None = None
    """The daemon's socket; None: that of the daemon which serves a document's folder."""


class Sight(NamedTuple):
    """A document, and where it is a note."""

    document: Document
    place: Place


class Session:
    """Belongs to the loop's thread. Nothing here waits for a daemon but what answers a request."""

    def __init__(self) -> None:
        self.options = Options()
        self.documents = Documents()
        self.daemons = Daemons(self._real_paths, self.touch)
        self._used: list[Document] = []
        """The documents that the user worked in, the latest last; those that were closed since too."""
        self._selection: tuple[Document, Selection] | None = None
        self.actions = Actions(self.daemons, self.touch)
        self._looking: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # -- what the editor says --

    def open(self, uri: str, text: str) -> None:
        """A document is open, and was opened now."""
        document = Document(uri, path_of(uri), text, self.documents.encoding)
        self.documents.open(document)
        self.use(document)
        if document.path is not None:
            self.start(self._locate(document))

    def close(self, uri: str) -> None:
        """A document is closed. Which one the user looks at now shows with the next message about one."""
        document = self.documents.close(uri)
        if document is not None:
            document.is_closed = True
            self._select(document, None)
            self.touch()

    def change(self, uri: str, changes: Sequence[Change]) -> None:
        """The text of a document was changed. A document that is not open is none of ours."""
        document = self.documents.get(uri)
        if document is not None:
            document.change(changes)
            self.use(document)
            self._select(document, None)

    def use(self, document: Document) -> None:
        """The user works in a document."""
        if not self._used or self._used[-1] is not document:
            self._used = [*(each for each in self._used if each is not document), document][-_LSP_USED_MAX:]
            self.touch()

    def select(self, document: Document, selection: Selection | None) -> None:
        """These lines of the document are selected; None: nothing is."""
        self.use(document)
        if self.options.selection:
            self._select(document, selection)

    def selected_text(self, document: Document, start: int, end: int) -> str | None:
        """The text between two offsets in bytes; None if it is too long to be told."""
        text = (document.text or "").encode(errors="replace")[start:end]
        return text.decode(errors="ignore") if len(text) <= _LSP_SELECTION_CHARS else None

    def renamed(self, old: str, new: str) -> None:
        """A file or folder has another path now."""
        self.start(self._rename(old, new))

    # -- what the daemons say --

    async def sight(self, uri: str) -> Sight | None:
        """The open document and its note. None: it is not open, too long, or a note of no vault."""
        document = self.documents.get(uri)
        if document is None or document.text is None or document.path is None:
            return None
        if document.real is None:
            await self._locate(document)
        place = await self.daemons.placed(document.real, LSP_ANSWER_S) if document.real is not None else None
        return Sight(document, place) if place is not None else None

    async def ask(self, place: Place, method: str, params: dict[str, Any], timeout_s: float = LSP_ANSWER_S) -> Any:
        """The daemon's answer about the vault of `place`; None if it has none in time."""
        try:
            with anyio.fail_after(timeout_s):
                return await place.daemon.client.call(method, {**params, "vault": place.vault})
        except (WorkspacedError, TimeoutError) as error:
            logger.info("%s: %s", method, error)
        return None

    async def targets(
        self, place: Place, links: Sequence[dict[str, Any]], timeout_s: float = LSP_ANSWER_S, **more: Any
    ) -> list[dict[str, Any]] | None:
        """What links of a note's text lead to; None: the daemon does not say."""
        found: list[dict[str, Any]] = []
        for part in _parts(links):
            params = {"note": place.note, "direction": "out", "links": part, **more}
            answer = await self.ask(place, "workspaced/links", params, timeout_s)
            if answer is None:
                return None
            found += answer["links"]
        return found

    async def tells_of(self, place: Place) -> bool:
        """Whether the daemon tells of the note: not of one that is withheld, nor of one without a file."""
        params = {"note": place.note, "direction": "out", "limit": 1, "vault": place.vault}
        try:
            with anyio.fail_after(LSP_EDIT_S):
                await place.daemon.client.call("workspaced/links", params)
        except RemoteError as error:
            return error.code != NoteNotFound.code
        except (WorkspacedError, TimeoutError) as error:
            logger.info("%s: %s", place.note, error)
        return True

    # -- the view --

    def touch(self) -> None:
        """What the editor shows may be another: told _LSP_COALESCE_S later, with all that happened by then."""
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(_LSP_COALESCE_S, self._look)

    def _look(self) -> None:
        self._looking = None
        if any(real is not None and self.daemons.place(real) is None for real in self._real_paths()):
            self.daemons.seek()
        if self.actions.count:
            self.start(self.actions.hand_on())
        for daemon in self.daemons:
            self._show(daemon)

    def _show(self, daemon: Daemon) -> None:
        notes: dict[str, list[str]] = {}
        for document in self.documents:
            place = self._place(document, daemon)
            if place is not None:
                notes.setdefault(place.vault, []).append(place.note)
        focus, active, selection = self._latest(daemon)
        views = {
            vault: shown(active, names, selection) if vault == focus else shown(None, names, None)
            for vault, names in notes.items()
        }
        daemon.show(views, focus)

    def _latest(self, daemon: Daemon) -> tuple[str | None, str | None, Selection | None]:
        """The vault and the note of this daemon that the user worked in last, and what is selected there; nothing
        if that note was closed since. What is no note of the daemon does not count."""
        for document in reversed(self._used):
            place = self._place(document, daemon)
            if place is not None:
                chosen = self._selection
                selection = chosen[1] if chosen is not None and chosen[0] is document else None
                return (None, None, None) if document.is_closed else (place.vault, place.note, selection)
        return None, None, None

    def _place(self, document: Document, daemon: Daemon) -> Place | None:
        place = self.daemons.place(document.real) if document.real is not None else None
        return place if place is not None and place.daemon is daemon else None

    def _select(self, document: Document, selection: Selection | None) -> None:
        before = self._selection
        if selection is not None:
            self._selection = document, selection
        elif before is not None and before[0] is document:
            self._selection = None
        if self._selection != before:
            self.touch()

    # -- files --

    def _real_paths(self) -> list[str]:
        return [each.real for each in self.documents if each.real is not None]

    async def locate(self) -> None:
        """Knows then of every open document where its file lies, so that its text counts."""
        for document in [each for each in self.documents if each.real is None]:
            await self._locate(document)

    async def _locate(self, document: Document) -> None:
        """Finds where a document's file really lies; a disk that hangs makes nothing else wait."""
        if document.path is not None:
            document.real = await asyncio.to_thread(real_path, document.path)
            if document.real is not None and self.daemons.place(document.real) is None:
                self.daemons.seek()
            self.touch()

    async def _rename(self, old: str, new: str) -> None:
        was, now = await asyncio.gather(*(asyncio.to_thread(real_path, each) for each in (old, new)))
        if was is None or now is None:
            return
        for path in await asyncio.to_thread(notes_below, now):
            self.actions.add("note_renamed", was + path, now + path)

    # -- for people, and the end --

    def status(self) -> dict[str, Any]:
        """What is told to whom."""
        return {
            "daemons": [_status_of(daemon) for daemon in self.daemons],
            "unserved": [real for real in self._real_paths() if self.daemons.place(real) is None],
            "waiting": self.actions.count,
            "settled": self.is_settled,
        }

    @property
    def is_settled(self) -> bool:
        """Whether all that the editor said is told: a daemon is connected, and each one has answered."""
        if self._looking is not None or self._tasks or self.actions.count or self.daemons.is_busy:
            return False
        daemons = list(self.daemons)
        return bool(daemons) and all(daemon.is_told for daemon in daemons)

    async def leave(self) -> None:
        """Takes all views back. Bounded in time."""
        if self._looking is not None:
            self._looking.cancel()
        await self.daemons.leave()

    def start(self, coroutine: Any) -> None:
        """Runs a coroutine beside everything else."""
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _parts(links: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The links in parts that a daemon takes in one request each."""
    part: list[dict[str, Any]] = []
    chars = 0
    for link in links:
        size = sum(len(each) for each in link.values() if isinstance(each, str))
        if part and (len(part) == _LSP_LINKS_MAX or chars + size > _LSP_LINKS_CHARS_MAX):
            yield part
            part, chars = [], 0
        part.append(link)
        chars += size
    if part:
        yield part


def _status_of(daemon: Daemon) -> dict[str, Any]:
    told: dict[str, Shown] = daemon.told
    return {
        "socket": str(daemon.client.path),
        "state": "ready" if daemon.client.is_connected else "lost",
        "version": str(daemon.client.server.get("version", "unknown")),
        "problem": daemon.problem,
        "vaults": [
            {"id": vault, "path": path, "active": told[vault].active, "tabs": list(told[vault].tabs)}
            if vault in told
            else {"id": vault, "path": path, "active": None, "tabs": []}
            for vault, path in daemon.vaults
        ],
    }
