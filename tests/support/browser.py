"""Debian's Chromium without a screen, driven over its own protocol (CDP) through pipes."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
ANSWER_S = 60.0
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-background-timer-throttling"),
    *("--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding", "--no-first-run"),
    *("--remote-debugging-pipe", "--window-size=1200,720"),
)


class Page:
    """One page, a tab of the one window: what comes to the front takes the focus from the others."""

    def __init__(self, browser: "Browser", target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, params, self._session)

    def go(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def evaluate(self, code: str) -> Any:
        """The value of a JavaScript expression, a promise's once it is there."""
        found = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def bring_to_front(self) -> None:
        self.call("Page.bringToFront")

    def picture(self) -> bytes:
        """A PNG of what it shows."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def crash(self) -> None:
        """Ends its process at once; no script of it runs any more."""
        self._browser.tell("Page.crash", {}, self._session)

    def close(self) -> None:
        """Closes it as a user does."""
        self._browser.call("Target.closeTarget", {"targetId": self._target})


class Browser:
    """Raises AssertionError where it ends, or does not answer in time."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        to_child, self._to = (_above_9(each) for each in os.pipe())
        self._from, from_child = (_above_9(each) for each in os.pipe())
        # Chromium reads descriptor 3 and writes descriptor 4; no shell but bash moves them from above 9.
        move = f'exec "$@" 3<&{to_child} 4>&{from_child} {to_child}<&- {from_child}>&-'
        self._process = subprocess.Popen(
            ["bash", "-c", move, "bash", CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_child, from_child),
            start_new_session=True,
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer = b""
        self._ids = 0

    def page(self) -> Page:
        """A new page in front of all others."""
        made = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        return Page(
            self, made, self.call("Target.attachToTarget", {"targetId": made, "flatten": True})["sessionId"]
        )

    def tell(self, method: str, params: dict[str, Any], session: str | None = None) -> int:
        self._ids += 1
        message = {"id": self._ids, "method": method, "params": params}
        message |= {"sessionId": session} if session else {}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._ids

    def call(self, method: str, params: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        """What it answers to a command; events in between are dropped."""
        wanted = self.tell(method, params, session)
        ends = time.monotonic() + ANSWER_S
        while True:
            while b"\0" not in self._buffer:
                ready, _, _ = select.select([self._from], [], [], max(0.0, ends - time.monotonic()))
                more = os.read(self._from, 1 << 20) if ready else b""
                assert more, f"the browser did not answer {method}"
                self._buffer += more
            line, _, self._buffer = self._buffer.partition(b"\0")
            message = json.loads(line)
            if message.get("id") == wanted:
                assert "error" not in message, (method, message)
                result: dict[str, Any] = message["result"]
                return result

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(ANSWER_S)
        os.close(self._to)
        os.close(self._from)


def _above_9(descriptor: int) -> int:
    """The same descriptor by a number that is none of those Chromium uses."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
