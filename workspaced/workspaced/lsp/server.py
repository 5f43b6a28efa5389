"""The language server: which message of the protocol does what. What it does is in the other modules."""

import asyncio
import logging
import os
from collections.abc import Callable, Generator
from typing import Any, Final

import anyio
import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcMethodNotFound, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from workspaced_tools.editing.positions import Encoding
from workspaced_tools.limits import ECHO_CHARS_MAX

from ..__about__ import __version__
from . import links, renaming
from .completion import TRIGGERS, completion
from .documents import Change, Selection, path_of
from .editor_commands import _PATIENCE_S, PIN, SETTLED, STATUS, UNPIN, check_arguments, pin
from .links import position
from .session import Options, Session

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
