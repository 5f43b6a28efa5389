"""VS Code as the situations of publishers drive it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from support.publishers.protocol import ABILITIES
from support.vscode_host import MISSING, Window

TABS = """
const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
const tabsOf = (path) => tabs().filter((tab) => tab.input?.uri?.fsPath === path);
"""
IN_FRONT = "const front = () => vscode.window.tabGroups.activeTabGroup.activeTab?.input?.uri?.fsPath;"
OPEN = (
    IN_FRONT
    + """
const [path, options] = args;
await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(path), options);
await until(() => front() === path);
"""
)
BURST = """
const open = (path) => vscode.commands.executeCommand("vscode.open", vscode.Uri.file(path), { preview: true });
await Promise.allSettled(args.map(open));
"""
CLOSE = (
    TABS
    + """
await vscode.window.tabGroups.close(tabsOf(args[0]));
await until(() => tabsOf(args[0]).length === 0);
"""
)
GO_TO = (
    IN_FRONT
    + TABS
    + """
const [path] = args;
const group = tabsOf(path)[0]?.group;
await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(path), { viewColumn: group?.viewColumn });
await until(() => front() === path);
"""
)
PIN = GO_TO + 'await vscode.commands.executeCommand("workspaced.pin");'
UNPIN = GO_TO + 'await vscode.commands.executeCommand("workspaced.unpin");'
PIN_TAB = (
    GO_TO
    + """
await vscode.commands.executeCommand("workbench.action.pinEditor");
await until(() => tabsOf(path)[0].isPinned);
"""
)
SELECT = (
    GO_TO
    + """
const [, first, last] = args;
await until(() => vscode.window.activeTextEditor?.document.uri.fsPath === path);
const editor = vscode.window.activeTextEditor;
const wanted = new vscode.Range(new vscode.Position(first - 1, 0), editor.document.lineAt(last - 1).range.end);
const isThere = new Promise((resolve) => {
  const watch = vscode.window.onDidChangeTextEditorSelection(({ selections }) => {
    if (selections[0].isEqual(wanted)) resolve(watch.dispose());
  });
});
editor.selection = new vscode.Selection(wanted.start, wanted.end);
await isThere;
"""
)
RENAME = (
    TABS
    + """
const edit = new vscode.WorkspaceEdit();
edit.renameFile(...args.map((path) => vscode.Uri.file(path)));
if (!(await vscode.workspace.applyEdit(edit))) throw new Error("not renamed");
await until(() => tabsOf(args[1]).length > 0);
"""
)
SETTLED = """
const { told, settled } = await api();
await until(() => told().daemons.some(({ state }) => state === "connected"));
await settled();
"""
PAUSE = """
await vscode.commands.executeCommand("workspaced.pause", "");
const { told } = await api();
await until(() => told().daemons.every(({ paused }) => paused));
"""
RESUME = """
await vscode.commands.executeCommand("workspaced.resume");
const { told } = await api();
await until(() => told().daemons.every(({ paused }) => !paused));
"""


class VSCode:
    """Implements `PublishingEditor`: a window of code-server in a browser.

    Files open in the group's preview tab, as they do by a click, so that one takes the place of the one before.
    """

    can: ClassVar[frozenset[str]] = ABILITIES - {"bytes"}
    lasting: ClassVar[str] = "vscode"
    missing: ClassVar[str | None] = MISSING

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._window = Window(folder, env)
        self._is_over = False

    def end(self) -> None:
        if not self._is_over:
            self.kill()

    def open(self, path: Path) -> None:
        self._window.do(OPEN, str(path), {"preview": True})

    def split(self, path: Path) -> None:
        self._window.do(OPEN, str(path), {"preview": True, "viewColumn": -2})

    def close(self, path: Path) -> None:
        self._window.do(CLOSE, str(path))

    def pin(self, path: Path) -> None:
        self._window.do(PIN, str(path))

    def unpin(self, path: Path) -> None:
        self._window.do(UNPIN, str(path))

    def select(self, path: Path, first: int, last: int) -> None:
        self._window.do(SELECT, str(path), first, last)

    def rename(self, old: Path, new: Path) -> None:
        self._window.do(RENAME, str(old), str(new))

    def focus(self) -> None:
        self._window.focus()

    def blur(self) -> None:
        self._window.blur()

    def burst(self, paths: Sequence[Path]) -> None:
        self._window.do(BURST, *map(str, paths))

    def pause(self) -> None:
        self._window.do(PAUSE)

    def resume(self) -> None:
        self._window.do(RESUME)

    def settled(self) -> None:
        self._window.do(SETTLED)

    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = self._window.do("return (await api()).told()")
        return found

    def picture(self) -> bytes | None:
        """A PNG of the window; None once it is closed."""
        return None if self._is_over else self._window.page.picture()

    def kill(self) -> None:
        self._is_over = True
        self._window.kill()

    def quit(self) -> None:
        self._is_over = True
        self._window.close()
