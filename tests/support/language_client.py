"""An editor as a language server sees it: `workspaced lsp` in a process, driven message by message.

It keeps what the protocol asks of an editor: an id for each request, versions of documents, answers to the
server's own requests. What the server says by itself is kept in `said`.
"""

import itertools
import json
import os
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from support import process

ANSWER_S = 60.0
"""Far from what anything takes: a busy machine fails no test."""
EVERYTHING: dict[str, Any] = {
    "workspace": {
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "fileOperations": {"didRename": True, "willRename": True},
    },
    "textDocument": {"rename": {"prepareSupport": True}},
}
"""The capabilities of an editor that can do all we ask for."""


def uri_of(path: Path | str) -> str:
    return f"file://{quote(os.fsencode(path))}"


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class LanguageClient:
    """One editor with one server. A context manager; the server must end by itself at the end."""

    def __init__(
        self,
        env: Mapping[str, str],
        cwd: Path,
        *flags: str,
        capabilities: Mapping[str, Any] = EVERYTHING,
        options: Mapping[str, Any] | None = None,
        encodings: Sequence[str] = (),
    ) -> None:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = process.spawn("lsp", *flags, env=env, cwd=cwd, **streams)
        self.said: list[dict[str, Any]] = []
        self._ids = itertools.count(1)
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._heard = threading.Condition()
        self._versions: dict[str, int] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        general = {"general": {"positionEncodings": list(encodings)}} if encodings else {}
        self.server = self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri_of(cwd),
                "capabilities": {**capabilities, **general},
                **({"initializationOptions": dict(options)} if options is not None else {}),
            },
        )
        self.tell("initialized", {})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if self.process.poll() is None:
                self.quit()
        finally:
            self.kill()

    # -- messages --

    def ask(self, method: str, params: Any = None) -> Any:
        """The answer to a request.

        Raises:
            Refused: it is an error.
        """
        number = self.send(method, params)
        answer = self._answers.get(timeout=ANSWER_S)
        assert answer is not None, f"the server ended: {self._complaints()}"
        assert answer["id"] == number
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def send(self, method: str, params: Any = None) -> int:
        """Sends a request without waiting for its answer; returns its id."""
        number = next(self._ids)
        self._write({"id": number, "method": method, **({} if params is None else {"params": params})})
        return number

    def tell(self, method: str, params: Any) -> None:
        """Sends a notification."""
        self._write({"method": method, "params": params})

    def hear(self, method: str) -> dict[str, Any]:
        """The parameters of the next message of this kind that the server sends by itself."""
        with self._heard:
            found = self._heard.wait_for(lambda: self._first(method), ANSWER_S)
            assert found is not None, f"the server did not send {method}"
            self.said.remove(found)
        params: dict[str, Any] = found["params"]
        return params

    # -- what editors do --

    def open(self, path: Path | str, text: str | None = None) -> str:
        """Opens a file, or what has this URI, with its own text unless another one is given; returns the URI."""
        uri = path if isinstance(path, str) else uri_of(path)
        if text is None:
            text = Path(path).read_text()
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": "markdown", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(
        self, uri: str, text: str, start: Sequence[int] | None = None, end: Sequence[int] | None = None
    ) -> None:
        """Replaces a part of the text, from (line, column) to (line, column), or all of it."""
        self._versions[uri] = self._versions.get(uri, 0) + 1
        where = {} if start is None or end is None else {"range": {"start": _at(start), "end": _at(end)}}
        changes = [{"text": text, **where}]
        self.tell(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": self._versions[uri]}, "contentChanges": changes},
        )

    def close(self, uri: str) -> None:
        self._versions.pop(uri, None)
        self.tell("textDocument/didClose", {"textDocument": {"uri": uri}})

    def at(self, what: str, uri: str, line: int, column: int, **more: Any) -> Any:
        """A request about a place, such as `definition`."""
        params = {"textDocument": {"uri": uri}, "position": _at((line, column)), **more}
        return self.ask(f"textDocument/{what}", params)

    def of(self, what: str, uri: str) -> Any:
        """A request about a document, such as `documentLink`."""
        return self.ask(f"textDocument/{what}", {"textDocument": {"uri": uri}})

    def actions(self, uri: str, start: Sequence[int], end: Sequence[int]) -> Any:
        """The code actions for a range: what the user has selected."""
        where = {"start": _at(start), "end": _at(end)}
        params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": []}}
        return self.ask("textDocument/codeAction", params)

    def references(self, uri: str, line: int, column: int) -> Any:
        return self.at("references", uri, line, column, context={"includeDeclaration": False})

    def run(self, command: str, *arguments: Any) -> Any:
        """Runs one of the server's commands."""
        return self.ask("workspace/executeCommand", {"command": command, "arguments": list(arguments)})

    def settled(self) -> dict[str, Any]:
        """What is told to whom, once all is told."""
        status: dict[str, Any] = self.run("workspaced.settled")
        return status

    def quit(self) -> None:
        """Ends the server as an editor does."""
        self.ask("shutdown")
        self.tell("exit", None)
        assert self.process.wait(ANSWER_S) == 0, self._complaints()
        self._close()

    def kill(self) -> None:
        """Ends the server as a crash does."""
        self.process.kill()
        self.process.wait(ANSWER_S)
        self._close()

    @property
    def opened(self) -> list[str]:
        """The URIs of the open documents."""
        return list(self._versions)

    # -- the wire --

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            length = int(line.partition(b":")[2])
            while stream.readline().strip():
                pass
            self._take(json.loads(stream.read(length)))
        self._answers.put(None)

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._answers.put(message)
            return
        with self._heard:
            self.said.append(message)
            self._heard.notify_all()
        if "id" in message:
            self._write({"id": message["id"], "result": None})

    def _first(self, method: str) -> dict[str, Any] | None:
        return next((each for each in self.said if each["method"] == method), None)

    def _close(self) -> None:
        """Closes the pipes of a process that has ended."""
        self._reader.join(ANSWER_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def _complaints(self) -> str:
        assert self.process.stderr is not None
        self.process.kill()
        return self.process.stderr.read().decode(errors="replace")


def _at(place: Sequence[int]) -> dict[str, int]:
    return {"line": place[0], "character": place[1]}
