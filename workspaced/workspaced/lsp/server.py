"""The language server: which message of the protocol does what; completion of `[[`, and pins, which it offers as
commands and code actions. All else that it does is in the other modules."""

import asyncio
import logging
import os
import re
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

import anyio
import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcMethodNotFound, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from workspaced_events.errors import InvalidArgument
from workspaced_tools.editing.names import name_before_part, part_completions
from workspaced_tools.editing.positions import Encoding, Position
from workspaced_tools.limits import ECHO_CHARS_MAX

from ..__about__ import __version__
from ..limits import LSP_NAMES_MAX
from . import links, renaming
from .documents import Change, Selection, path_of
from .links import position
from .session import Options, Session, Sight

PIN: Final = "workspaced.pin"
UNPIN: Final = "workspaced.unpin"
STATUS: Final = "workspaced.status"
SETTLED: Final = "workspaced.settled"
_TAKES_URI: Final = {PIN: True, UNPIN: True, STATUS: False, SETTLED: False}
"""Every command, and whether its one argument is a document's URI; else it takes none."""
_PATIENCE_S: Final = 10.0


def check_arguments(command: str, arguments: Sequence[Any] | None) -> None:
    """Checks what an editor sent, since pygls would call a command with whatever fits in number.

    Raises:
        JsonRpcInvalidParams: INVALID_ARGUMENT: there is no such command, or it takes other arguments.
    """
    given, takes_uri = arguments or (), _TAKES_URI.get(command)
    if takes_uri is None:
        problem = f"There is no command {command[:ECHO_CHARS_MAX]!r}."
        hint = f"Commands: {', '.join(_TAKES_URI)}."
    elif takes_uri:
        if len(given) == 1 and isinstance(given[0], str):
            return
        problem = f"{command} takes the URI of an open file; got {_counted(given)}."
        hint = 'Give it as the one argument: "arguments": ["file:///folder/note.md"].'
    else:
        if not given:
            return
        problem = f"{command} takes no arguments; got {_counted(given)}."
        hint = "Leave `arguments` out."
    raise JsonRpcInvalidParams(f"{problem} {hint}", data={"code": InvalidArgument.code, "hint": hint})


def _counted(given: Sequence[Any]) -> str:
    if not given:
        return "no argument"
    return f"{len(given)} arguments" if len(given) > 1 else f"one of type {type(given[0]).__name__}"


async def pin(session: Session, uri: str, action: str) -> str:
    """Pins or unpins (`note_pinned`, `note_unpinned`) the note of a document; says what became of it."""
    document = session.documents.get(uri)
    if document is None or document.path is None:
        return "Only an open file can be pinned."
    sight = await session.sight(uri)
    if document.real is None:
        return "Only an open file can be pinned."
    session.actions.add(action, document.real)
    if sight is None:
        return "No daemon serves this file yet; it is told once one does."
    return f"{'Pinned' if action == 'note_pinned' else 'Unpinned'} {sight.place.note} for agents."


_BEGUN: Final = re.compile(r"\[\[(?P<written>[^\[\]|]*)\Z")
_WRITTEN_CHARS_MAX: Final = 200
TRIGGERS: Final = ("[", "#", "^", "/")
_KINDS: Final = {
    "file": types.CompletionItemKind.File,
    "title": types.CompletionItemKind.File,
    "alias": types.CompletionItemKind.Reference,
    "heading": types.CompletionItemKind.Module,
    "block": types.CompletionItemKind.Constant,
}


async def completion(session: Session, uri: str, at: types.Position) -> types.CompletionList | None:
    """What the link that is being written may lead to. None: none is being written there."""
    document = session.documents.get(uri)
    if document is None or document.text is None or not document.is_markdown:
        return None
    where = position(at)
    line = document.positions.line(where.line).encode()
    start = document.positions.offset(Position(where.line, 0))
    cut = document.positions.offset(where) - start
    before = line[:cut].decode(errors="ignore")
    begun = _BEGUN.search(before)
    if begun is None or len(begun["written"]) > _WRITTEN_CHARS_MAX:
        return None
    sight = await session.sight(uri)
    if sight is None:
        return None
    found = await _names(session, sight, begun["written"])
    first = document.positions.at(start + len(before[: begun.start("written")].encode()))
    replaced = types.Range(types.Position(first.line, first.character), at)
    end = "" if line[cut:].startswith(b"]]") else "]]"
    items = [_item(each, number, begun["written"], replaced, end) for number, each in enumerate(found)]
    return types.CompletionList(is_incomplete=True, items=items)


async def _names(session: Session, sight: Sight, written: str) -> list[dict[str, Any]]:
    if name_before_part(written) == "":
        # Of this note the text in the editor counts.
        own = part_completions(sight.document.note(sight.place.note), written, LSP_NAMES_MAX)
        return [msgspec.to_builtins(each) for each in own.names]
    params = {"prefix": written, "note": sight.place.note, "limit": LSP_NAMES_MAX}
    answer = await session.ask(sight.place, "workspaced/names", params)
    names: list[dict[str, Any]] = answer["names"] if answer is not None else []
    return names


def _item(
    found: dict[str, Any], number: int, written: str, replaced: types.Range, end: str
) -> types.CompletionItem:
    """One offer. Its order is ours, and editors that filter compare it with what is written."""
    return types.CompletionItem(
        found["name"],
        kind=_KINDS[found["kind"]],
        detail=found["note"]["path"],
        sort_text=f"{number:04}",
        filter_text=f"{written} {found['link']}" if written else found["link"],
        text_edit=types.TextEdit(replaced, found["link"] + end),
    )


_LSP_DIAGNOSE_S: Final = 0.5
"""A text is looked through for broken links once it has not changed for this long."""
logger = logging.getLogger(__name__)
_FILES: Final = types.FileOperationRegistrationOptions(
    [types.FileOperationFilter(types.FileOperationPattern("**/*"), scheme="file")]
)


class _Protocol(LanguageServerProtocol):
    """Leaves the documents to us: pygls ends lines at more characters than the protocol does, and reads files that
    were never opened. Checks the arguments of commands. Answers a request that it cannot read, which pygls only
    logs, so that its editor does not wait for ever."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException:
            number, method = data.get("id"), data.get("method")
            if isinstance(number, str | int) and isinstance(method, str):
                error: JsonRpcException = JsonRpcMethodNotFound.of(method[:ECHO_CHARS_MAX])
                if self.get_message_type(method) is not None:
                    error = JsonRpcInvalidParams(f"{method} takes other parameters, by the protocol.")
                self._send_response(number, error=error.to_response_error())
            raise

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Generator[Any, Any, Any]:
        check_arguments(params.command, params.arguments)
        return (yield from super().lsp_workspace__execute_command(params))


class Server(LanguageServer):
    """One server for one editor, over standard input and output."""

    def __init__(self, socket: str | None) -> None:
        """`socket`: the daemon's, instead of those that serve the documents' folders."""
        super().__init__("workspaced", __version__, protocol_cls=_Protocol)
        self.session = Session()
        self._socket = socket
        self.was_asked_to_end = False
        self._diagnosing: dict[str, asyncio.TimerHandle] = {}
        _register(self)

    def begin(self, params: types.InitializeParams) -> None:
        """Takes the editor's options and how it counts columns."""
        given = params.initialization_options
        try:
            self.session.options = msgspec.convert(given if isinstance(given, dict) else {}, Options)
        except msgspec.ValidationError as error:
            self.say(f"workspaced: initializationOptions: {error}.", types.MessageType.Warning)
        self.session.documents.encoding = _ENCODINGS.get(self.workspace.position_encoding, "utf-16")
        self.session.daemons.socket = self.session.options.socket or self._socket

    def used(self, uri: str) -> str:
        """The URI again, of a document that the user asks about: they are in it."""
        document = self.session.documents.get(uri)
        if document is not None:
            self.session.use(document)
        return uri

    def say(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Shows the user a message."""
        self.window_show_message(types.ShowMessageParams(kind, text))

    def diagnose_soon(self, uri: str) -> None:
        """Looks for problems once the text has rested."""
        if not self.session.options.diagnostics:
            return
        before = self._diagnosing.pop(uri, None)
        if before is not None:
            before.cancel()
        loop = asyncio.get_running_loop()
        self._diagnosing[uri] = loop.call_later(_LSP_DIAGNOSE_S, lambda: self.session.start(self._diagnose(uri)))

    async def _diagnose(self, uri: str) -> None:
        self._diagnosing.pop(uri, None)
        if self.session.documents.get(uri) is None:
            return
        found = await links.problems(self.session, uri)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))

    def closed(self, uri: str) -> None:
        """Takes back what was said of a document."""
        before = self._diagnosing.pop(uri, None)
        if before is not None:
            before.cancel()
        if self.session.options.diagnostics:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """A message that we do not understand is no reason to interrupt the user."""
        logger.warning("%s: %s", source.__name__, error)


_ENCODINGS: Final[dict[str | None, Encoding]] = {
    types.PositionEncodingKind.Utf8: "utf-8",
    types.PositionEncodingKind.Utf32: "utf-32",
}


def _register(server: Server) -> None:
    session = server.session
    _register_documents(server)
    _register_reading(server)
    _register_renaming(server)
    _register_commands(server)

    @server.feature(types.INITIALIZE)
    def begin(params: types.InitializeParams) -> None:
        server.begin(params)

    @server.feature(types.SHUTDOWN)
    async def leave(_params: None) -> None:
        server.was_asked_to_end = True
        await session.leave()


def _register_documents(server: Server) -> None:
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        session.open(document.uri, document.text)
        server.diagnose_soon(document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        session.change(params.text_document.uri, [_change(each) for each in params.content_changes])
        server.diagnose_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        session.close(params.text_document.uri)
        server.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.diagnose_soon(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_RENAME_FILES, _FILES)
    def renamed(params: types.RenameFilesParams) -> None:
        for file in params.files:
            old, new = path_of(file.old_uri), path_of(file.new_uri)
            if old is not None and new is not None:
                session.renamed(old, new)


def _register_reading(server: Server) -> None:
    session = server.session

    def answer_at(method: str, find: Callable[[Session, str, types.Position], Any], options: Any = None) -> None:
        """Answers requests about a place in a document."""

        @server.feature(method, options)
        async def answer(params: types.TextDocumentPositionParams) -> Any:
            return await find(session, server.used(params.text_document.uri), params.position)

    answer_at(types.TEXT_DOCUMENT_DEFINITION, links.definition)
    answer_at(types.TEXT_DOCUMENT_REFERENCES, links.references)
    answer_at(types.TEXT_DOCUMENT_HOVER, links.hover)
    completes = types.CompletionOptions(trigger_characters=list(TRIGGERS))
    answer_at(types.TEXT_DOCUMENT_COMPLETION, completion, completes)
    answer_at(types.TEXT_DOCUMENT_PREPARE_RENAME, renaming.prepare_rename)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def document_link(params: types.DocumentLinkParams) -> list[types.DocumentLink] | None:
        return await links.document_links(session, server.used(params.text_document.uri))


def _register_renaming(server: Server) -> None:
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        uri, moves = server.used(params.text_document.uri), _moves_files(server.client_capabilities)
        return said(await renaming.rename(session, uri, params.position, params.new_name, moves_files=moves))

    @server.feature(types.WORKSPACE_WILL_RENAME_FILES, _FILES)
    async def will_rename(params: types.RenameFilesParams) -> types.WorkspaceEdit | None:
        return said(await renaming.will_rename(session, params.files))

    def said(made: renaming.Renaming | None) -> types.WorkspaceEdit | None:
        if made is not None and made.left:
            server.say(f"workspaced: {made.left}", types.MessageType.Warning)
        return made.edit if made is not None else None


def _register_commands(server: Server) -> None:
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    def actions(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        document = session.documents.get(params.text_document.uri)
        if document is None or document.path is None:
            return None
        positions = document.positions
        start, end = (positions.offset(position(each)) for each in (params.range.start, params.range.end))
        if start < end:
            # Whole lines end at the beginning of the next one.
            last = params.range.end.line + (params.range.end.character > 0)
            first = params.range.start.line + 1
            text = session.selected_text(document, start, end)
            session.select(document, Selection(first, max(first, last), text))
        else:
            session.select(document, None)
        return [
            types.CodeAction(title, command=types.Command(title, name, arguments=[document.uri]))
            for title, name in (("Pin this note for agents", PIN), ("Unpin this note for agents", UNPIN))
        ]

    @server.command(PIN)
    async def pin_note(uri: str) -> None:
        server.say(await pin(session, uri, "note_pinned"))

    @server.command(UNPIN)
    async def unpin_note(uri: str) -> None:
        server.say(await pin(session, uri, "note_unpinned"))

    @server.command(STATUS)
    def status() -> dict[str, Any]:
        return session.status()

    @server.command(SETTLED)
    async def settled() -> dict[str, Any]:
        """What is told to whom, once all is told; within _PATIENCE_S."""
        with anyio.move_on_after(_PATIENCE_S):
            while not session.is_settled:  # noqa: ASYNC110 (what settles is spread over tasks and connections)
                await anyio.sleep(0.01)
        return session.status()


def _change(given: types.TextDocumentContentChangeEvent) -> Change:
    if isinstance(given, types.TextDocumentContentChangePartial):
        return Change(given.text, position(given.range.start), position(given.range.end))
    return Change(given.text)


def _moves_files(capabilities: types.ClientCapabilities) -> bool:
    """Whether the editor renames files as a part of an edit."""
    edit = capabilities.workspace.workspace_edit if capabilities.workspace is not None else None
    operations = edit.resource_operations if edit is not None else None
    return types.ResourceOperationKind.Rename in (operations or ())


def run_server(socket: str | None) -> int:
    """Serves one editor over standard input and output, until it says so or closes them; returns the exit code.

    The protocol has copies of both to itself: pygls closes them, and nothing else may write between its messages.
    """
    server = Server(socket)
    given, taken = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server.start_io(given, taken)
    return 0 if server.was_asked_to_end else 1
