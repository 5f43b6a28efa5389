"""The picture of docs/how-to/vscode.md: a real window of VS Code on the demo's notes, with a real daemon.

PYTHONPATH=tests python docs/generator/vscode_picture.py      needs `make .venv/.vscode`, Chromium and Pillow
"""

import io
import shutil
from pathlib import Path
from typing import Final

from PIL import Image
from support.daemon import Factory
from support.publishers.vscode import OPEN, PIN_TAB, SELECT, SETTLED
from support.vscode_host import Window

ROOT: Final = Path(__file__).parents[2]
NOTES: Final = ROOT / "workspaced" / "workspaced" / "demo" / "vault"
PICTURE: Final = ROOT / "docs" / "images" / "vscode.png"
COLOURS: Final = 64
SHOW: Final = """
await vscode.commands.executeCommand("workbench.action.closeAuxiliaryBar");
await vscode.commands.executeCommand("notifications.clearAll");
await vscode.commands.executeCommand("workspaced.showTold");
"""
BACK: Final = 'await vscode.commands.executeCommand("workbench.action.focusFirstEditorGroup"); '


def take(window: Window, notes: Path) -> bytes:
    """A PNG of three notes (one pinned, one selected) beside the page of what is told."""
    pinned, active, *_ = sorted(notes.rglob("*.md"))
    window.do(OPEN, str(pinned), {"preview": False})
    window.do(PIN_TAB, str(pinned))
    window.do(OPEN, str(active), {"preview": False})
    window.do(SELECT, str(active), 1, 3)
    window.do(SETTLED)
    window.do('await vscode.commands.executeCommand("workbench.action.newGroupRight");' + SHOW)
    window.do(BACK + SETTLED)
    return window.page.picture()


def main() -> None:
    factory = Factory()
    try:
        daemon = factory()
        shutil.copytree(NOTES, daemon.root / "notes")
        daemon.stop()
        daemon.vault = daemon.root / "notes"
        daemon.start()
        window = Window(daemon.vault, daemon.env, {"workbench.colorTheme": "Default Light Modern"})
        png = take(window, daemon.vault)
        window.kill()
    finally:
        factory.tear_down()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
