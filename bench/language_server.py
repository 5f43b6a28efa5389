"""The language server: what completion takes over its pipe, and what a step of the user costs the editor."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

from .daemon import Place, daemon
from .measure import Figure, at_most, median, percentile
from .vaults import make_vault

NOTES: Final = 6_289
PREFIXES: Final = ("h", "ha", "har", "harb", "no", "notes", "plan 1", "Kü", "会", "projects/h", "retro", "me")
CONDITIONS: Final = {"running": None, "stopped": signal.SIGSTOP, "gone": signal.SIGKILL}
"""What happens to the daemon once it was told something: the signal that it gets."""
STEPS: Final = 2_000
QUICK_STEPS: Final = 100
STEP_S: Final = 0.002
"""Between two steps, as a user who types would leave more."""


class Editor:
    """An editor with `workspaced lsp`, as thin as can be."""

    def __init__(self, socket: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "workspaced", "lsp", "--socket", str(socket)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
        )
        self._id = 0
        self.ask("initialize", {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": {}})
        self.write({"method": "initialized", "params": {}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request; what the server says by itself is dropped."""
        self._id += 1
        self.write({"id": self._id, "method": method, "params": params})
        while (message := self._read()).get("id") != self._id:
            pass
        return message["result"]

    def write(self, message: dict[str, Any]) -> None:
        """Writes one message, and waits only for the pipe."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def open(self, path: Path, text: str) -> None:
        item = {"uri": path.as_uri(), "languageId": "markdown", "version": 1, "text": text}
        self.write({"method": "textDocument/didOpen", "params": {"textDocument": item}})

    def change(self, path: Path, text: str) -> None:
        """Replaces the whole text."""
        params = {"textDocument": {"uri": path.as_uri(), "version": 2}, "contentChanges": [{"text": text}]}
        self.write({"method": "textDocument/didChange", "params": params})

    def _read(self) -> dict[str, Any]:
        stream = self._process.stdout
        assert stream is not None
        length = int(stream.readline().partition(b":")[2])
        while stream.readline().strip():
            pass
        message: dict[str, Any] = json.loads(stream.read(length))
        return message


def figures(at: Place) -> Iterator[Figure]:
    """Completion on a vault of NOTES notes, and what a step of the user costs the editor's thread."""
    vault = at.new("lsp-vault")
    make_vault(vault, at.sizes.notes if at.sizes.quick else NOTES)
    yield _completion(at, vault)
    for condition, sent in CONDITIONS.items():
        yield _written(at, vault, condition, sent)


def _completion(at: Place, vault: Path) -> Figure:
    note = vault / "new.md"
    with daemon(at, vault, name="lsp") as running, Editor(running.socket, vault) as editor:
        running.wait_for_index()
        editor.open(note, "")
        editor.ask("workspace/executeCommand", {"command": "workspaced.settled"})
        taken_ms = []
        for turn in range(10 if at.sizes.quick else 40):
            for prefix in PREFIXES:
                editor.change(note, f"See [[{prefix}")
                place = {"line": 0, "character": 6 + len(prefix.encode("utf-16-le")) // 2}
                begun = time.perf_counter()
                found = editor.ask(
                    "textDocument/completion", {"textDocument": {"uri": note.as_uri()}, "position": place}
                )
                if turn:
                    taken_ms.append((time.perf_counter() - begun) * 1e3)
                assert found is not None
    return Figure(
        "publishers.lsp.completion",
        median(taken_ms),
        "ms, p50",
        at.sizes.whole(at_most(5.0)),
        fields={"p99": percentile(taken_ms, 0.99), "notes": NOTES, "calls": len(taken_ms)},
    )


def _written(at: Place, vault: Path, condition: str, sent: signal.Signals | None) -> Figure:
    notes = sorted(vault.glob("*.md"))[:20] or sorted(vault.rglob("*.md"))[:20]
    texts = [note.read_text() for note in notes]
    with daemon(at, vault, name=f"lsp-{condition}") as running, Editor(running.socket, vault) as editor:
        for note, text in zip(notes, texts, strict=True):
            editor.open(note, text)
        editor.ask("workspace/executeCommand", {"command": "workspaced.settled"})
        if sent is not None:
            os.kill(running.pid, sent)
        taken_ms = []
        for step in range(QUICK_STEPS if at.sizes.quick else STEPS):
            which = step % len(notes)
            begun = time.perf_counter()
            editor.change(notes[which], f"{texts[which]}\n{step}")
            taken_ms.append((time.perf_counter() - begun) * 1e3)
            time.sleep(STEP_S)
        if sent is signal.SIGSTOP:
            os.kill(running.pid, signal.SIGCONT)
    return Figure(
        f"publishers.lsp.{condition}",
        percentile(taken_ms, 0.99),
        "ms of the editor's thread, p99",
        at.sizes.whole(at_most(2.0)),
        fields={"p50": median(taken_ms), "max": max(taken_ms), "steps": len(taken_ms)},
    )
