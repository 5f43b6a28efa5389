"""The libraries of the inspector's page run under its Content Security Policy; tests see what is wrong with it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ROOT, TESTS
from support.inspector_page import NARROW, WIDE, OpenPage
from support.static_pages import serve

VENDOR = ROOT / "workspaced" / "workspaced" / "inspector" / "static" / "vendor"
RUN_S = 120.0
HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
ICON = '<link rel="icon" href="data:,">'
PAGES = {
    "/libraries.html": f"""{HEAD}{ICON}<link rel="stylesheet" href="/vendor/uPlot.min.css">
        <script type="module" src="/libraries.js"></script></head><body><main id="page"></main></body></html>""",
    "/libraries.js": """
        import { html, render, useEffect, useRef, useState, signal } from "/vendor/index.js";
        import { uPlot } from "/vendor/uplot.js";
        const shared = signal(0);
        function Counter() {
          const [own, setOwn] = useState(0);
          return html`
            <h1 style=${{ color: "rgb(0, 0, 120)" }}>Two counters</h1>
            <button onClick=${() => setOwn(own + 1)}>State ${own}</button>
            <button onClick=${() => { shared.value += 1; }}>Signal ${shared}</button>
            <p>${"</script><b>text</b>"}</p>`;
        }
        function Chart() {
          const place = useRef(null);
          useEffect(() => {
            const series = [{ label: "time" }, { label: "events", stroke: "red", fill: "red" }];
            new uPlot({ width: 300, height: 200, series }, [[1, 2, 3], [40, 43, 60]], place.current);
          }, []);
          return html`<div ref=${place}></div>`;
        }
        render(html`<${Counter} /><${Chart} />`, document.getElementById("page"));
    """,
    "/plain.html": f"{HEAD}{ICON}</head><body><main><h1>Nothing</h1></main></body></html>",
    "/console.html": f'{HEAD}{ICON}<script src="/console.js"></script></head><body></body></html>',
    "/console.js": 'console.error("planted");',
    "/exception.html": f'{HEAD}{ICON}<script src="/exception.js"></script></head><body></body></html>',
    "/exception.js": 'throw new Error("planted");',
    "/style.html": f'{HEAD}{ICON}</head><body><p style="color: red">red</p></body></html>',
    "/script.html": f"{HEAD}{ICON}<script>window.ran = true;</script></head><body></body></html>",
    "/stranger.html": f'{HEAD}{ICON}<link rel="stylesheet" href="http://localhost:9/a.css"></head><body></body></html>',
    "/missing.html": f'{HEAD}{ICON}<script src="/none.js"></script></head><body></body></html>',
    "/unnamed.html": f"{HEAD}{ICON}</head><body><main><h1>A</h1><button></button></main></body></html>",
}

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serve(PAGES, VENDOR) as address:
        yield address


def test_components_state_signals_and_charts_work_under_the_policy(open_page: OpenPage, site: str) -> None:
    opened = open_page(f"{site}/libraries.html")
    page = opened.page
    state, signal = page.get_by_role("button", name="State 0"), page.get_by_role("button", name="Signal 0")
    state.click()
    signal.click()
    page.get_by_role("button", name="State 1").wait_for()
    page.get_by_role("button", name="Signal 1").wait_for()
    assert page.locator("p").inner_text() == "</script><b>text</b>"
    assert page.locator("h1").evaluate("each => getComputedStyle(each).color") == "rgb(0, 0, 120)"
    page.locator(".uplot canvas").wait_for()
    is_drawn = """each => new Promise((resolve) => requestAnimationFrame(() => resolve(
        each.getContext("2d").getImageData(0, 0, each.width, each.height).data.some((value) => value > 0))))"""
    assert page.locator(".uplot canvas").evaluate(is_drawn)
    assert page.locator(".uplot").evaluate("each => getComputedStyle(each).width") == "300px"
    assert opened.accessibility_violations() == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_page_has_the_size_and_the_colours_it_was_opened_with(
    open_page: OpenPage, site: str, size: tuple[int, int], is_dark: bool
) -> None:
    opened = open_page(f"{site}/plain.html", size, is_dark=is_dark)
    assert opened.page.evaluate("[innerWidth, innerHeight]") == list(size)
    assert opened.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is is_dark
    picture = opened.picture("harness").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == size


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("console", "console: planted"),
        ("exception", "exception: planted"),
        ("style", "policy: style-src-attr refused inline"),
        ("script", "policy: script-src-elem refused inline"),
        ("stranger", "policy: style-src-elem refused http://localhost:9/a.css"),
        ("stranger", "request: http://localhost:9/a.css is not of http://127.0.0.1"),
        ("missing", "console: Failed to load resource"),
    ],
)
def test_a_problem_of_a_page_is_seen(open_page: OpenPage, site: str, name: str, words: str) -> None:
    problems = open_page(f"{site}/{name}.html").problems()
    assert any(words in each for each in problems), problems


def test_the_policy_is_not_bypassed(open_page: OpenPage, site: str) -> None:
    opened = open_page(f"{site}/script.html")
    assert opened.page.evaluate("window.ran === undefined")
    assert opened.problems() != []


def test_a_page_without_a_problem_has_none(open_page: OpenPage, site: str) -> None:
    opened = open_page(f"{site}/plain.html")
    assert (opened.problems(), opened.accessibility_violations()) == ([], [])


def test_what_is_hard_to_use_for_some_is_seen(open_page: OpenPage, site: str) -> None:
    (found,) = open_page(f"{site}/unnamed.html").accessibility_violations()
    assert found.startswith("button-name: ") and found.endswith(": button")


def test_a_problem_fails_the_test_that_opened_the_page(chromium: object, tmp_path: Path) -> None:
    test = tmp_path / "test_planted.py"
    page = "data:text/html,<script>console.error('planted')</script>"
    test.write_text(f"def test_opens(open_page):\n    open_page({page!r})\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(tmp_path),
    ]
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [*command, "-p", "support.inspector_page", str(test)],
        capture_output=True,
        text=True,
        env=env,
        timeout=RUN_S,
    )
    assert done.returncode == 1 and "console: planted" in done.stdout, done.stdout
    assert "1 passed, 1 error" in done.stdout


async def test_a_test_with_a_loop_of_its_own_runs_beside_the_browser(chromium: object) -> None:
    assert chromium is not None
