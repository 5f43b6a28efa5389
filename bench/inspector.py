"""`workspaced inspect` over long logs: how soon its page shows something, what waits for a fold, and its memory.

The page is painted by Debian's Chromium, through Playwright (`make .venv/.inspector`); without them its figures
are left out.
"""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

import httpx2

from .daemon import Place, resident_mb
from .library import LENGTHS, log_with_calls
from .measure import Figure, at_most, median, percentile, progress

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_STARTS: Final = 5
_REQUESTS: Final = 10_000
_ANSWER_S: Final = 60.0
_PAINTED: Final = """() => performance.timeOrigin +
  performance.getEntriesByName("first-contentful-paint")[0].startTime"""
_IS_PAINTED: Final = '() => performance.getEntriesByName("first-contentful-paint").length > 0'
_SETTLED: Final = "main#view:not(:has([aria-busy=true]))"


def figures(at: Place) -> Iterator[Figure]:
    """The page and the memory over a log of usual length; what waits for a fold over a long one."""
    usual, long = (times * at.sizes.replay_events for times in LENGTHS)
    progress(f"making a log of {usual} events with calls")
    log = log_with_calls(at, usual)
    yield from _page(log, usual, at.sizes.whole)
    yield from _memory(log, usual, at)
    progress(f"making a log of {long} events with calls")
    yield from _folding(log_with_calls(at, long), long, at.sizes.whole)


class _Inspector:
    """A running one, over HTTP."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str) -> None:
        address = urlsplit(url)
        self.process = process
        self.url = url
        self._client = httpx2.Client(
            base_url=f"http://{address.netloc}",
            headers={"Authorization": f"Bearer {address.fragment.removeprefix('token=')}"},
            timeout=_ANSWER_S,
            trust_env=False,
        )

    def get(self, path: str, **parameters: Any) -> Any:
        return self._client.get(path, params=parameters).raise_for_status().json()

    def post(self, path: str, **body: Any) -> Any:
        return self._client.post(path, json=body).raise_for_status().json()

    def resident_mb(self) -> float:
        return resident_mb(self.process.pid)


@contextmanager
def _inspecting(log: Path) -> Iterator[_Inspector]:
    command = [sys.executable, "-m", "workspaced", "inspect", str(log), "--json", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield _Inspector(process, json.loads(process.stdout.readline())["url"])
        finally:
            process.send_signal(signal.SIGINT)


# -- the page --


def _page(log: Path, events: int, goal: Callable[..., Any]) -> Iterator[Figure]:
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        progress("no Chromium or no Playwright: the page is not measured")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        starts = [_start(browser, log) for _ in range(_STARTS + 1)][1:]
        browser.close()
    fields = {"events": events, "starts": len(starts)}
    for what, goals in (("paint", goal(at_most(1))), ("timeline", None), ("moment", None)):
        taken = [start[what] for start in starts]
        yield Figure(f"inspector.first_{what}", median(taken), "s", goals, fields={**fields, "max": max(taken)})


def _start(browser: "Browser", log: Path) -> dict[str, float]:
    """Seconds from the process's start until the page shows something, the timeline, and the log's last moment."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    started, clock = time.time(), time.perf_counter()
    with _inspecting(log) as inspector:
        page.goto(inspector.url)
        page.locator(".uplot").first.wait_for()
        timeline = time.perf_counter() - clock
        page.locator(_SETTLED).wait_for()
        moment = time.perf_counter() - clock
        page.wait_for_function(_IS_PAINTED)
        paint = page.evaluate(_PAINTED) / 1_000 - started
        context.close()
    return {"paint": paint, "timeline": timeline, "moment": moment}


# -- memory --


def _memory(log: Path, events: int, at: Place) -> Iterator[Figure]:
    with _inspecting(log) as inspector:
        last = inspector.get("/api/about")["last"]
        opened_mb = inspector.resident_mb()
        _until_folded(inspector)
        folded_mb = inspector.resident_mb()
        _ask_all_views(inspector)
        asked_mb = inspector.resident_mb()
        fields = {"events": events, "opened": opened_mb, "folded": folded_mb}
        yield Figure("inspector.resident.views", asked_mb, "MB", at.sizes.whole(at_most(80)), fields=fields)
        requests = _REQUESTS // 100 if at.sizes.quick else _REQUESTS
        for number in range(requests):
            inspector.get("/api/state", at=1 + number * 7_919 % last)
        fields = {"events": events, "requests": requests, "before": asked_mb}
        yield Figure("inspector.resident.requests", inspector.resident_mb(), "MB", fields=fields)


def _until_folded(inspector: _Inspector) -> None:
    while (found := inspector.get("/api/folding"))["folded"] < found["events"]:
        time.sleep(0.1)


def _ask_all_views(inspector: _Inspector) -> None:
    for path in ("about", "timeline", "events", "state", "agents", "conversations"):
        inspector.get(f"/api/{path}")
    for note in inspector.get("/api/notes")["notes"][:20]:
        inspector.get(f"/api/notes/{quote(note['path'])}")
    for call in inspector.get("/api/calls")["calls"][:20]:
        inspector.get(f"/api/calls/{call['seq']}")
        inspector.get(f"/api/calls/{call['seq']}/badge")


# -- while it folds --


def _folding(log: Path, events: int, goal: Callable[..., Any]) -> Iterator[Figure]:
    """What a view waits at most while somebody waits for the last moment, and how soon Ctrl-C ends that."""
    taken: list[float] = []
    with _inspecting(log) as inspector:
        inspector.get("/api/about")
        began = time.perf_counter()
        folded = {"folded": 0, "events": 1}
        while folded["folded"] < folded["events"]:
            asked = time.perf_counter()
            folded = inspector.get("/api/folding")
            taken.append(1_000 * (time.perf_counter() - asked))
        fields = {
            "events": events,
            "answers": len(taken),
            "max": max(taken),
            "fold_s": time.perf_counter() - began,
        }
        yield Figure("inspector.beside_fold.p99", percentile(taken, 0.99), "ms", goal(at_most(50)), fields=fields)
    with _inspecting(log) as inspector:
        inspector.get("/api/about")
        asked = time.perf_counter()
        inspector.process.send_signal(signal.SIGINT)
        inspector.process.wait(_ANSWER_S)
        yield Figure(
            "inspector.ctrl_c", time.perf_counter() - asked, "s", goal(at_most(1)), fields={"events": events}
        )
