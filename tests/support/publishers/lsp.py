"""The language server as the situations of publishers drive it: a plain editor that speaks the protocol.

The editor keeps every file open that it ever showed, as most do that speak the protocol, which says nothing of
which ones are shown: all are tabs. It has no focus either.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from support.language_client import LanguageClient, uri_of
from support.publishers.protocol import ABILITIES


class LanguageServer:
    """Implements `PublishingEditor`: `workspaced lsp` with an editor that does what the protocol asks of one."""

    can: ClassVar[frozenset[str]] = ABILITIES - {"focus", "pause"}
    lasting: ClassVar[str] = "lsp"
    missing: ClassVar[str | None] = None

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._client = LanguageClient(env, folder)
        self._open: list[Path] = []
        """The one that is worked in comes last."""

    def end(self) -> None:
        self._client.kill()

    def open(self, path: Path) -> None:
        if path in self._open:
            self._work_in(path)
        else:
            self._client.open(path, path.read_bytes().decode(errors="replace"))
            self._open.append(path)

    def split(self, path: Path) -> None:
        self.open(path)

    def close(self, path: Path) -> None:
        self._open.remove(path)
        self._client.close(uri_of(path))
        if self._open:
            self._work_in(self._open[-1])

    def pin(self, path: Path) -> None:
        self._work_in(path)
        self._client.run("workspaced.pin", uri_of(path))

    def unpin(self, path: Path) -> None:
        self._work_in(path)
        self._client.run("workspaced.unpin", uri_of(path))

    def select(self, path: Path, first: int, last: int) -> None:
        line = path.read_text().splitlines()[last - 1]
        self._client.actions(uri_of(path), (first - 1, 0), (last - 1, len(line.encode("utf-16-le")) // 2))

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)
        files = [{"oldUri": uri_of(old), "newUri": uri_of(new)}]
        self._client.tell("workspace/didRenameFiles", {"files": files})
        self._client.close(uri_of(old))
        self._open.remove(old)
        self.open(new)

    def focus(self) -> None:
        raise NotImplementedError("the protocol has no focus")

    def blur(self) -> None:
        raise NotImplementedError("the protocol has no focus")

    def burst(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self.open(path)

    def pause(self) -> None:
        raise NotImplementedError("it has no command for it")

    def resume(self) -> None:
        raise NotImplementedError("it has no command for it")

    def settled(self) -> None:
        status = self._client.settled()
        assert status["settled"], status

    def told(self) -> dict[str, Any]:
        status: dict[str, Any] = self._client.run("workspaced.status")
        return status

    def kill(self) -> None:
        self._client.kill()

    def quit(self) -> None:
        self._client.quit()

    def _work_in(self, path: Path) -> None:
        """What an editor asks of its own accord about the document that its user works in."""
        self._open.remove(path)
        self._open.append(path)
        self._client.of("documentLink", uri_of(path))
