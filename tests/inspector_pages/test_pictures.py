"""The pictures that documents show, of the demo's log. `make pictures` puts them into docs/images."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ROOT
from support.daemon import clean_environment
from support.inspector import Inspector
from support.inspector_page import PICTURES, OpenPage

from workspaced.demo import morning

MORNING = Path(morning.__file__).with_name("morning.wsb")
FOLDER = ROOT / os.environ["PICTURES"] if "PICTURES" in os.environ else PICTURES
BYTES_MAX = 120_000
"""Of a picture: a document loads several."""
KICKOFF = "projects%2Fferrybook%2FKickoff.md"

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over the demo's morning, under a name that is the same on every machine."""
    home = tmp_path_factory.mktemp("pictures")
    shutil.copy(MORNING, home / morning.NAME)
    with Inspector(morning.NAME, env=clean_environment(home), cwd=home) as running:
        yield running


@pytest.mark.parametrize(
    ("name", "link", "begins", "height"),
    [
        ("findings", "findings", ".finding:nth-child(2)", 350),
        ("moment", "at/116", "body", 600),
        ("call", "call/116", ".tabs", 620),
        ("conversation", "prompt/of/letter-to-imke", ".prompt-line:nth-child(6)", 500),
        ("prompt", "prompt/167/layer/L2/block/1", ".tabs", 520),
        ("why", f"note/{KICKOFF}", ".tabs", 560),
    ],
)
def test_a_picture_shows_a_view_of_the_demo_and_is_small(
    demo: Inspector, open_page: OpenPage, name: str, link: str, begins: str, height: int
) -> None:
    page = open_page(demo.url, (1280, height)).page
    page.get_by_role("region", name="Timeline").wait_for()
    page.evaluate("link => { location.hash = link }", f"#/{link}")
    page.locator("main#view .command:visible").first.wait_for()
    page.locator("main#view:not(:has([aria-busy=true], .stale))").wait_for()
    page.locator(begins).evaluate("begins => { begins.scrollIntoView(); document.activeElement.blur() }")
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"inspector-{name}.png"
    page.screenshot(path=file, animations="disabled", caret="hide")
    assert file.stat().st_size <= BYTES_MAX
