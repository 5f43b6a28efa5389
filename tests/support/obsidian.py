"""The Obsidian plugin, built with its tests, and someone who uses it on the host of its own tests."""

import json
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from support import ROOT, npm

PLUGIN = ROOT / "clients" / "obsidian"
MISSING = npm.MISSING if PLUGIN.is_dir() else "clients/ is not here"
ANSWER_S = 60.0
_SOURCES = (
    *(PLUGIN / name for name in ("src", "test", "scripts", "package.json", "manifest.json", "styles.css")),
    *(ROOT / "clients" / "typescript" / name for name in ("src", "test")),
)


def built() -> Path:
    """The folder of what was built, tests included."""
    npm.prepared(PLUGIN, _state, [["node", "scripts/build.js", "--test"]])
    return PLUGIN / "dist"


def _state() -> str:
    """Changes with what is built; and if that is gone."""
    return f"{npm.content_of(*_SOURCES)} {(PLUGIN / 'dist' / 'test' / 'driver.js').exists()}"


class Person:
    """Node with the plugin on its host, driven by lines of JSON (clients/obsidian/test/driver.ts)."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        driver = built() / "test" / "driver.js"
        self.process = subprocess.Popen(
            [str(npm.NODE), str(driver), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=folder,
            text=True,
        )
        self._ids = 0
        self._answer(0)

    def does(self, what: str, *words: Any) -> Any:
        """Has something done, and gives what came of it.

        Raises:
            AssertionError: it failed, or took longer than `ANSWER_S`.
        """
        assert self.process.stdin is not None
        self._ids += 1
        asked = {"id": self._ids, "does": what, "with": words}
        self.process.stdin.write(f"{json.dumps(asked, default=str)}\n")
        self.process.stdin.flush()
        return self._answer(self._ids)

    def end(self) -> None:
        """Ends the process, however it is."""
        self.process.kill()
        self.process.wait(ANSWER_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(OSError):  # what it did not read any more
                pipe.close()

    def _answer(self, wanted: int) -> Any:
        out, err = self.process.stdout, self.process.stderr
        assert out is not None and err is not None
        watchdog = threading.Timer(ANSWER_S, self.process.kill)
        watchdog.start()
        try:
            line = out.readline()
        finally:
            watchdog.cancel()
        assert line, f"the plugin's host ended, or did not answer within {ANSWER_S:g} s: {err.read()[-4_000:]}"
        answer = json.loads(line)
        assert answer["id"] == wanted and "error" not in answer, answer
        return answer["result"]
