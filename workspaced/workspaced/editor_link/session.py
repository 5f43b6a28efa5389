"""One session of Claude Code: what it is told as the user moves, and the answers to its requests.

The requests are those of MCP 2025-03-26, as far as the link uses them.

Lines count from 0 here, and from 1 in the daemon. Names and fields are those of coder/claudecode.nvim, PROTOCOL.md
(2026-06-25), compared with what Claude Code 2.1.330 takes.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, NamedTuple

import anyio
from websockets.asyncio.connection import Connection

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import is_markdown
from workspaced_events.schema import catalogue
from workspaced_events.schema.registry import CATALOGUE

from ..__about__ import __version__
from ..client.async_client import Client
from ..errors import NoDaemon
from ..limits import LINK_BATCH_MAX, LINK_LISTENS_S, LINK_PAUSE_S, LINK_REPEAT_S

_LINK_RETRY_S: Final = 1.0
"""How often a link looks for a daemon that is gone."""
_LINK_ANSWER_S: Final = 5.0
"""How long a link waits for the daemon."""
logger = logging.getLogger(__name__)

CLIENT_NAME: Final = "workspaced-ide"
_SHOWN: Final = {catalogue.NoteShown, catalogue.NoteWithheld}
TYPES: Final = tuple(name for name, entry in CATALOGUE.items() if entry.changes_state or entry.data in _SHOWN)
"""The events after which something else may be told. What was told is an event too, and not among them."""

Part = Literal["selection", "editors"]


class Look(NamedTuple):
    """What may be told at a moment."""

    view: dict[str, Any] | None
    """None: nothing."""
    token: str | None = None
    """Confirms that it was told."""
    failure: WorkspacedError | None = None
    """Why the daemon did not answer; None: it did."""


class DaemonLink:
    """The connection to the daemon: says when to look again, and what may be told then.

    It is kept until the link ends. While the daemon is gone nothing is told; once it is back, the present is.
    Belongs to the loop's thread.
    """

    def __init__(self, socket: Path, client: str, folders: Sequence[str]) -> None:
        """
        Args:
            client: the name whose sharing level and volunteering count.
            folders: the first one in a served vault says which vault is told of.
        """
        self._socket = socket
        self._about = {"client": client, "folders": list(folders)}
        self._client: Client | None = None
        self._moved = anyio.Event()
        self.moves = 0
        """Counts the moments at which something else may be told."""

    async def keep_connected(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                async with Client.open(self._socket, name=CLIENT_NAME, timeout_s=_LINK_ANSWER_S) as client:
                    self._client = client
                    while True:
                        await self._follow(client)
            except WorkspacedError as error:
                if self._client is not None:  # else it was gone before, and that was said
                    logger.warning("the daemon is gone, and waited for: %s", error.message)
            self._client = None
            self._move()
            await anyio.sleep(_LINK_RETRY_S)

    async def moved_since(self, moves: int) -> None:
        """Returns once something else may be told than at that count."""
        while self.moves == moves:
            await self._moved.wait()

    async def look(self, session: str, event: str, part: Part = "selection") -> Look:
        """What may be told now. Never raises, never waits longer than _LINK_ANSWER_S.

        Args:
            event: the name of the message that will tell it; recorded if it was told.
        """
        client = self._client
        if client is None or not client.is_connected:
            return Look(None, failure=NoDaemon(f"The daemon on {self._socket} is gone."))
        asked = {**self._about, "session": session, "event": event, "part": part}
        try:
            answer = await client.call("workspaced/volunteer/editor", asked)
        except WorkspacedError as failure:
            return Look(None, failure=failure)
        return Look(answer["view"], answer["token"])

    async def confirm(self, look: Look) -> None:
        """Has it recorded that the look was told."""
        if look.token is None or self._client is None or not self._client.is_connected:
            return
        try:
            await self._client.call("workspaced/volunteer/confirm", {"token": look.token})
        except WorkspacedError as error:
            logger.warning("what was told was not recorded: %s [%s]", error.message, error.code)

    async def _follow(self, client: Client) -> None:
        """Follows one subscription to its end, which is a lost connection or too many events at once.

        Raises:
            WorkspacedError: the daemon did not come back in time.
        """
        async with client.subscribe(types=TYPES) as notices:
            self._move()
            async for _ in notices:
                self._move()
        self._move()

    def _move(self) -> None:
        self.moves += 1
        before, self._moved = self._moved, anyio.Event()
        before.set()


_LINK_LOOK_AGAIN_S: Final = 30.0
"""How often a link looks without an event: a selection grows old, and rules in files change, without one."""
PROTOCOL: Final = "2025-03-26"
SELECTION_CHANGED: Final = "selection_changed"
_NO_ARGUMENTS: Final = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS: Final = {
    "getCurrentSelection": "The note that the user looks at in their editor, and what is selected in it.",
    "getLatestSelection": "As getCurrentSelection.",
    "getOpenEditors": "The notes that are open in the user's editors.",
    "getWorkspaceFolders": "The folder of the notes.",
}
CHANGING: Final = frozenset(
    {
        *("openFile", "openDiff", "close_tab", "closeAllDiffTabs", "saveDocument"),
        *("checkDocumentDirty", "getDiagnostics", "executeCode"),
    }
)
"""Tools of other editors' links that need the editor itself."""
_INVALID_JSON, _INVALID_REQUEST, _UNKNOWN_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602
Json = dict[str, Any]
_ANSWERS: Final[dict[str, Json]] = {
    "initialize": {
        "protocolVersion": PROTOCOL,
        "capabilities": {"tools": {"listChanged": False}, "prompts": {"listChanged": False}},
        "serverInfo": {"name": "workspaced", "version": __version__},
    },
    "ping": {},
    "prompts/list": {"prompts": []},
    "tools/list": {
        "tools": [{"name": name, "description": TOOLS[name], "inputSchema": _NO_ARGUMENTS} for name in TOOLS]
    },
}
"""The results of the methods that ask for what never changes."""
_NOWHERE: Final = {"line": 0, "character": 0}
_NOTHING: Final = {"start": _NOWHERE, "end": _NOWHERE, "isEmpty": True}
NO_SELECTION: Final[Json] = {"text": "", "filePath": "", "fileUrl": "", "selection": _NOTHING}
"""The parameters of `selection_changed` where no note is shown. Takes back what was told before."""


def selection_of(view: Json | None, folder: str) -> Json:
    """The parameters of `selection_changed`.

    Args:
        view: what the daemon lets be told; None: nothing.
        folder: of the vault.
    """
    if view is None or view["active"] is None:
        return NO_SELECTION
    path = PurePosixPath(folder, view["active"])
    selected = view["selection"]
    told = {"text": "", "filePath": str(path), "fileUrl": path.as_uri(), "selection": _NOTHING}
    if selected is None:
        return told
    start = {"line": selected["startLine"] - 1, "character": 0}
    end = {"line": selected["endLine"] - 1, "character": selected["endCharacter"]}
    return {**told, "text": selected["text"], "selection": {"start": start, "end": end, "isEmpty": False}}


def current_selection(view: Json | None, folder: str) -> Json:
    """The answer of `getCurrentSelection` and `getLatestSelection`."""
    told = selection_of(view, folder)
    if told is NO_SELECTION:
        return {"success": False, "message": "No active editor found"}
    return {"success": True, **told}


def open_editors(view: Json | None, folder: str) -> Json:
    """The answer of `getOpenEditors`. Whether a note is saved is not known, so none is called dirty."""
    if view is None:
        return {"tabs": []}
    return {
        "tabs": [
            {
                "uri": PurePosixPath(folder, note).as_uri(),
                "isActive": note == view["active"],
                "label": PurePosixPath(note).name,
                "languageId": "markdown" if is_markdown(note) else "plaintext",
                "isDirty": False,
            }
            for note in view["open"] or ()
        ]
    }


def workspace_folders(folders: Sequence[str]) -> Json:
    """The answer of `getWorkspaceFolders`; the first folder is the vault."""
    paths = [PurePosixPath(folder) for folder in folders]
    listed = [{"name": path.name, "uri": path.as_uri(), "path": str(path)} for path in paths]
    return {"success": True, "folders": listed, "rootPath": str(paths[0])}


def text_result(answer: Json | str, *, is_error: bool = False) -> Json:
    """The result of a tool: its answer as text."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


class Failed(Exception):
    """A request that is answered with an error."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.error: Final = {"code": number, "message": message}


class Session:
    """Belongs to the loop's thread."""

    def __init__(self, name: str, connection: Connection, daemon: DaemonLink, folders: Sequence[str]) -> None:
        """
        Args:
            name: of the session, in the log.
            folders: where Claude Code may work; the first one is the vault.
        """
        self._name = name
        self._connection = connection
        self._daemon = daemon
        self._folders = folders
        self._ready = anyio.Event()

    async def tell(self) -> None:
        """Tells what is selected, now and whenever that changes, until it is cancelled.

        A session that does not read is told nothing meanwhile, and then only the present. Claude Code drops what
        comes before it listens, some time after it has said hello. So the first message waits a little, and the
        present is repeated once.

        Raises:
            ConnectionClosed: the session has ended.
        """
        await self._ready.wait()
        await anyio.sleep(LINK_LISTENS_S)
        told, is_repeated = NO_SELECTION, False
        while True:
            moves = self._daemon.moves
            look = await self._daemon.look(self._name, SELECTION_CHANGED)
            selection = selection_of(look.view, self._folders[0])
            if selection != told:
                await self._send({"jsonrpc": "2.0", "method": SELECTION_CHANGED, "params": selection})
                told = selection
                if selection is not NO_SELECTION:
                    await self._daemon.confirm(look)
            await anyio.sleep(LINK_PAUSE_S)
            with anyio.move_on_after(_LINK_LOOK_AGAIN_S if is_repeated else LINK_REPEAT_S) as quiet:
                await self._daemon.moved_since(moves)
            if quiet.cancelled_caught and not is_repeated:
                told, is_repeated = NO_SELECTION, True

    async def answer(self) -> None:
        """Answers requests, one after another.

        Raises:
            ConnectionClosed: the session has ended.
        """
        while True:
            answer = await self._answer_message(await self._connection.recv())
            if answer is not None:
                await self._send(answer)

    async def _send(self, message: Any) -> None:
        await self._connection.send(json.dumps(message))

    # -- requests --

    async def _answer_message(self, message: str | bytes) -> Any:
        """The answer to a request, or to each of a batch; None where none is due."""
        try:
            request = json.loads(message)
        except (ValueError, RecursionError):
            return _failed(None, Failed(_INVALID_JSON, "Expected one JSON value."))
        if not isinstance(request, list):
            return await self._answer_request(request)
        if not 1 <= len(request) <= LINK_BATCH_MAX:
            return _failed(None, Failed(_INVALID_REQUEST, f"A batch has 1 to {LINK_BATCH_MAX} requests."))
        answers = [await self._answer_request(each) for each in request]
        return [each for each in answers if each is not None] or None

    async def _answer_request(self, request: Any) -> Json | None:
        if not isinstance(request, dict) or not isinstance(request.get("method", ""), str):
            return _failed(None, Failed(_INVALID_REQUEST, "Expected a request of JSON-RPC."))
        request_id, method, params = request.get("id"), request.get("method"), request.get("params")
        if method is None:
            return None  # an answer, and we ask nothing
        if "id" not in request:
            if method == "notifications/initialized":
                self._ready.set()
            return None
        if not isinstance(request_id, str | int) or isinstance(request_id, bool):
            return _failed(None, Failed(_INVALID_REQUEST, "An id is a string or a whole number."))
        try:
            if method == "tools/call":
                result = await self._call_tool(params if isinstance(params, dict) else {})
            elif method in _ANSWERS:
                result = _ANSWERS[method]
            else:
                raise Failed(_UNKNOWN_METHOD, f"There is no method {method[:100]!r} on this link.")
        except Failed as failed:
            return _failed(request_id, failed)
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    async def _call_tool(self, params: Json) -> Json:
        name = params.get("name")
        if not isinstance(name, str) or name not in {*TOOLS, *CHANGING}:
            raise Failed(
                _INVALID_PARAMS, f"There is no tool {str(name)[:100]!r} on this link: {', '.join(TOOLS)}."
            )
        if name in CHANGING:
            return text_result(
                f"{name} needs the editor itself, and workspaced only tells what the user has before them there.",
                is_error=True,
            )
        look = await self._daemon.look(self._name, name, "editors" if name == "getOpenEditors" else "selection")
        if look.failure is not None:
            return text_result(f"{look.failure.code}: {look.failure.message}", is_error=True)
        if name == "getWorkspaceFolders":
            return text_result(workspace_folders(self._folders))
        if look.view is not None and (look.view["active"] is not None or look.view["open"]):
            await self._daemon.confirm(look)
        answer = open_editors if name == "getOpenEditors" else current_selection
        return text_result(answer(look.view, self._folders[0]))


def _failed(request_id: str | int | None, failed: Failed) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "error": failed.error}
