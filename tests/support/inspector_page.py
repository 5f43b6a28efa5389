"""The inspector's page in Debian's Chromium, by Playwright: what it does, looks like, and what is wrong with it.

`make .venv/.inspector` installs what this needs. Where Playwright, Chromium or axe-core is missing, the tests that
ask for it are skipped and say so.

Playwright's calls look synchronous, and leave its event loop marked as the thread's running one. Between tests the
mark is taken away, so that tests with loops of their own run in the same process.
"""

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from . import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

CHROMIUM: Final = shutil.which("chromium")
AXE: Final = ROOT / "clients" / "inspector" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES: Final = Path(sys.prefix) / "inspector-pictures"
WCAG_AA: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
ANSWER_MS: Final = 30_000
"""The longest wait of one step; a busy machine is slow."""

WIDE: Final = (1280, 800)
NARROW: Final = (400, 800)
"""In CSS pixels."""

# Says which rule of the policy was broken, by what. The console's words for it change with Chromium.
REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  reportViolation(`${event.effectiveDirective} refused ${event.blockedURI || "inline"}`));
"""
FOLLOW = """
link => new Promise((done) => {
  addEventListener("hashchange", () => requestAnimationFrame(() => setTimeout(done)), { once: true });
  if (location.hash === link) done();
  location.hash = link;
})
"""
RUN_AXE = """
async (tags) => {
  const { violations } = await axe.run(document, { runOnly: { type: "tag", values: tags } });
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target }) => `${id}: ${help}: ${target.join(" ")}`));
}
"""


class InspectorPage:
    """One page in a context of its own, with the tabs that it opens: `page` is Playwright's.

    A problem of it is an error on the console, an uncaught exception, a violation of the policy, or a request to
    another host than the page's.
    """

    def __init__(self, context: "BrowserContext", look: str) -> None:
        self._problems: list[str] = []
        self._look = look
        self._address = ""
        context.set_default_timeout(ANSWER_MS)
        context.on("console", self._console)
        context.on("weberror", lambda raised: self._problems.append(f"exception: {raised.error}"))
        context.on("request", self._request)
        context.expose_function("reportViolation", lambda text: self._problems.append(f"policy: {text}"))
        context.add_init_script(REPORT_VIOLATIONS)
        self.page: Page = context.new_page()

    def _console(self, message: "ConsoleMessage") -> None:
        if message.type == "error":
            self._problems.append(f"console: {message.text}")

    def _request(self, request: "Request") -> None:
        host = "/".join(self._address.split("/")[:3]) + "/"
        if not request.url.startswith((host, "data:", "blob:")):
            self._problems.append(f"request: {request.url} is not of {host}")

    def open(self, address: str) -> "Page":
        """Goes to the address; returns when the page's scripts and styles are loaded."""
        self._address = address
        self.page.goto(address)
        return self.page

    def show(self, link: str) -> "Page":
        """Follows a link of the page, such as `call/116`, and waits until its view has all values."""
        self.page.get_by_role("navigation", name="Views").wait_for()
        self.page.evaluate(FOLLOW, f"#/{link}")
        self.page.locator("main#view .command:visible, main#view h2").first.wait_for()
        self.settled()
        return self.page

    def settled(self) -> None:
        """Waits until no value of the view is on its way."""
        self.page.locator("main#view:not(:has([aria-busy=true], .stale))").wait_for()

    def problems(self) -> list[str]:
        """What went wrong since the last call."""
        if not self.page.is_closed():
            # What the page told before it answers this has been told by then.
            self.page.evaluate("() => new Promise((resolve) => setTimeout(resolve))")
        found, self._problems = self._problems, []
        return found

    def accessibility_violations(self) -> list[str]:
        """What axe-core finds against WCAG 2, levels A and AA, on what the page shows now: rule, help, element.

        Skips the test if axe-core is not installed.
        """
        if not AXE.is_file():
            pytest.skip("axe-core is not installed: `make .venv/.inspector` installs it")
        self.page.evaluate(AXE.read_text())
        found: list[str] = self.page.evaluate(RUN_AXE, list(WCAG_AA))
        return found

    def picture(self, name: str) -> Path:
        """Keeps a picture of what the page shows now; returns its file, whose name says width and colours."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        file = PICTURES / f"{name}-{self._look}.png"
        self.page.screenshot(path=file, animations="disabled", caret="hide")
        return file


class Chromium(NamedTuple):
    """A running browser, and the loop by which Playwright talks with it."""

    browser: "Browser"
    loop: asyncio.AbstractEventLoop

    @contextmanager
    def used(self) -> Iterator["Browser"]:
        """Playwright's calls work inside, other event loops outside."""
        asyncio._set_running_loop(self.loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """One browser for each process of tests."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("playwright is not installed: `make .venv/.inspector` installs it")
    playwright = sync_playwright().start()
    started = Chromium(playwright.chromium.launch(executable_path=CHROMIUM), asyncio.get_running_loop())
    asyncio._set_running_loop(None)
    yield started
    with started.used():
        started.browser.close()
        playwright.stop()


OpenPage = Callable[..., InspectorPage]


@pytest.fixture
def open_page(chromium: Chromium) -> Iterator[OpenPage]:
    """Opens pages: `open_page(address, size=NARROW, is_dark=True)`. The test fails if one of them has problems."""
    opened: list[InspectorPage] = []
    with chromium.used() as browser:

        def open_one(address: str, size: tuple[int, int] = WIDE, *, is_dark: bool = False) -> InspectorPage:
            options: dict[str, Any] = {
                "viewport": {"width": size[0], "height": size[1]},
                "color_scheme": "dark" if is_dark else "light",
                "reduced_motion": "reduce",
                "locale": "en-GB",
                "timezone_id": "UTC",
            }
            opened.append(InspectorPage(browser.new_context(**options), f"{size[0]}-{options['color_scheme']}"))
            opened[-1].open(address)
            return opened[-1]

        yield open_one
        problems = [problem for each in opened for problem in each.problems()]
        for each in opened:
            each.page.context.close()
    assert not problems, problems
