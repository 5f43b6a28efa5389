"""The VS Code extension: its own tests, its package, and windows of a real VS Code that tell a real daemon.

What it does as every publisher is in tests/clients/publishers; here is what only VS Code has.
"""

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support import npm
from support.daemon import NOTES, Factory
from support.publishers.desk import Desk, Shown, shown
from support.publishers.vscode import CLOSE, OPEN, PIN_TAB, RENAME, SELECT, SETTLED, VSCode
from support.vscode_host import EXTENSION, MISSING, Window, packed_extension

from workspaced import __version__

pytestmark = pytest.mark.skipif(not EXTENSION.is_dir(), reason="clients/ is not here")
in_vscode = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

SHIPPED = {
    "extension/LICENSE.txt",
    "extension/THIRD_PARTY.md",
    "extension/dist/extension.js",
    "extension/dist/web.js",
    "extension/media/icon.png",
    "extension/package.json",
    "extension/readme.md",
}


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
    return found


def commands() -> set[str]:
    return {each["command"] for each in manifest()["contributes"]["commands"]}


# -- the package --


def test_every_setting_and_command_is_documented() -> None:
    contributed, readme = manifest()["contributes"], (EXTENSION / "README.md").read_text()
    for name, setting in contributed["configuration"]["properties"].items():
        assert setting["markdownDescription"] and f"`{name}`" in readme, name
    for command in contributed["commands"]:
        assert f"**{command['title']}**" in readme or command["title"] in readme, command


def test_in_a_browser_every_command_answers_too() -> None:
    listed = re.search(r"const COMMANDS = \[(.*?)\]", (EXTENSION / "src" / "web.ts").read_text())
    assert listed is not None
    assert {f"workspaced.{name}" for name in re.findall(r'"(\w+)"', listed[1])} == commands()


@pytest.mark.thorough
def test_its_own_tests_pass() -> None:
    npm.prepared(EXTENSION)
    report = npm.succeed(EXTENSION, "npm", "test")
    assert int(report.partition("\n# pass ")[2].split("\n")[0]) >= 22, report[-500:]


@pytest.mark.thorough
def test_what_is_packed_is_what_runs_and_the_licences_of_what_it_bundles(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed_extension(tmp_path)) as packed:
        names = {name for name in packed.namelist() if name.startswith("extension/")}
        licences = packed.read("extension/THIRD_PARTY.md").decode()
        shipped = json.loads(packed.read("extension/package.json"))
        code = packed.read("extension/dist/extension.js").decode()
    assert names == SHIPPED
    bundled = set(re.findall(r"^// node_modules/((?:@[^/]+/)?[^/]+)/", code, re.MULTILINE))
    assert bundled == {"picomatch"} == set(re.findall(r"^## (\S+) ", licences, re.MULTILINE))
    assert "devDependencies" not in shipped and shipped["version"] == __version__


# -- windows --

TO_SIDE = {"preview": False, "viewColumn": -2}
RUN = "await vscode.commands.executeCommand(...args)"
PAGE = """
await vscode.commands.executeCommand("workspaced.showTold");
await until(() => vscode.window.activeTextEditor?.document.uri.scheme === "workspaced");
const { document } = vscode.window.activeTextEditor;
await until(() => document.getText().includes(args[0]));
return document.getText();
"""
NOT_NOTES = """
const untitled = await vscode.workspace.openTextDocument({ language: "markdown", content: "# never saved" });
await vscode.window.showTextDocument(untitled, { preview: false });
const [left, right] = args.map((path) => vscode.Uri.file(path));
await vscode.commands.executeCommand("vscode.diff", left, right, "a diff", { preview: false });
await vscode.commands.executeCommand("workbench.action.openSettings2");
await until(() => vscode.window.tabGroups.all.flatMap((group) => group.tabs).length >= 4);
"""
STATUS_BAR = """
const item = document.querySelector('[id="workspaced.workspaced.workspaced"]')
  ?? document.querySelector('.statusbar-item[id*="workspaced"]');
item ? item.getAttribute("aria-label") + " " + item.innerText : ""
"""


class Sitting:
    """A window beside a daemon."""

    def __init__(self, desk: Desk, window: Window) -> None:
        self.desk = desk
        self.window = window

    def settled(self) -> Shown:
        """What the daemon's state shows, once it was told all."""
        self.window.do(SETTLED)
        return self.desk.shown()

    def open(self, path: Path, **options: Any) -> None:
        self.window.do(OPEN, str(path), {"preview": False, **options})


@pytest.fixture
def sit(daemon: Factory) -> Iterator[Callable[..., Sitting]]:
    """`sit(settings=)`: a daemon, and a window on its vault."""
    with ExitStack() as stack:

        def make(*, settings: dict[str, Any] | None = None) -> Sitting:
            running = daemon(notes=NOTES)
            desk = stack.enter_context(Desk(running, VSCode))
            window = Window(running.vault, running.env, settings)
            stack.callback(lambda: None if window.is_closed else window.kill())
            return Sitting(desk, window)

        yield make


@in_vscode
@pytest.mark.thorough
def test_tabs_behind_others_are_not_told_but_for_previews_and_pins_until_the_window_ends(
    sit: Callable[..., Sitting],
) -> None:
    here = sit()
    vault = here.desk.vault
    here.open(vault / "a.md")
    here.open(vault / "b.md", preview=True)
    here.open(vault / "c.md")
    assert here.settled() == ("c.md", ["b.md", "c.md"], [])
    here.window.do(PIN_TAB, str(vault / "a.md"))
    here.open(vault / "c.md")
    assert here.settled() == ("c.md", ["b.md", "c.md"], ["a.md"])
    here.open(vault / "work" / "plan.md", **TO_SIDE)
    assert here.settled() == ("work/plan.md", ["b.md", "c.md", "work/plan.md"], ["a.md"])
    assert {tab["source"] for tab in here.desk.state()["temporaryTabs"]} == {"navigation"}
    here.window.do(RENAME, str(vault / "a.md"), str(vault / "new.md"))
    here.desk.until(lambda state: shown(state).pins == ["new.md"])
    here.desk.until(lambda _state: bool(here.desk.events("note_renamed")))
    assert here.desk.events("note_renamed")[-1]["data"] == {"from": "a.md", "to": "new.md"}
    here.window.close()
    here.desk.until(lambda state: shown(state) == (None, [], []))


@in_vscode
@pytest.mark.thorough
def test_what_is_no_note_leaves_the_last_note_active_until_it_is_closed(sit: Callable[..., Sitting]) -> None:
    here = sit()
    vault = here.desk.vault
    here.open(vault / "a.md")
    here.settled()
    here.desk.mark()
    here.window.do(NOT_NOTES, str(vault / "b.md"), str(vault / "c.md"))
    assert here.settled().active == "a.md"
    assert here.desk.events() == [], "nor is anything else told of them"
    here.window.do(CLOSE, str(vault / "a.md"))
    assert here.settled() == (None, [], [])


@in_vscode
@pytest.mark.thorough
def test_commands_pin_for_all_windows_and_show_what_is_told(sit: Callable[..., Sitting]) -> None:
    here = sit()
    vault = here.desk.vault
    assert commands() <= set(here.window.do("return vscode.commands.getCommands(true)"))
    here.open(vault / "a.md")
    here.window.do(RUN, "workspaced.pin")
    assert here.settled().pins == ["a.md"]
    [pinned] = here.desk.events("note_pinned")
    assert pinned["source"] == "vscode"
    told = here.window.do(PAGE, "active note: a.md")
    assert str(here.desk.daemon.socket) in told
    here.open(vault / "a.md")
    here.window.do(RUN, "workspaced.unpin")
    assert here.settled().pins == []
    here.desk.client.tool("get_current_note")
    bar = here.window.page.evaluate(STATUS_BAR)
    assert "workspaced" in bar and "not found" not in bar
    here.window.do(RUN, "workspaced.connectAgent")
    here.window.do(RUN, "workspaced.inspect")
    names = here.window.do("return vscode.window.terminals.map(({ name }) => name)")
    assert names == ["workspaced connect", "workspaced inspect"]


@in_vscode
@pytest.mark.thorough
def test_settings_say_which_files_and_whether_the_selection(sit: Callable[..., Sitting]) -> None:
    settings = {"workspaced.files": ["work/*.md"], "workspaced.shareSelection": False}
    here = sit(settings=settings)
    vault = here.desk.vault
    here.open(vault / "work" / "plan.md")
    here.window.do(SELECT, str(vault / "work" / "plan.md"), 1, 2)
    here.window.do(SETTLED)
    here.open(vault / "a.md")
    here.window.do(SETTLED)
    assert here.settled().active == "work/plan.md"
    assert here.desk.state()["selection"] is None and "a.md" not in str(here.desk.events())
