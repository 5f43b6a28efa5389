"""Neovim as the situations of publishers drive it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from support.neovim import ANSWER_S, NVIM, Editor
from support.publishers.protocol import ABILITIES

SHOW = "local how, path = ...; vim.cmd(how .. ' ' .. vim.fn.fnameescape(path))"
CLOSE = "vim.cmd('bdelete! ' .. vim.fn.bufnr(vim.fn.fnameescape(...)))"
RENAME = """
local old, new = ...
vim.fn.rename(old, new)
vim.cmd('file ' .. vim.fn.fnameescape(new))
vim.cmd('write!')
"""
GO_TO = """
local path = ...
local win = vim.fn.win_findbuf(vim.fn.bufnr(vim.fn.fnameescape(path)))[1]
if win then
  vim.api.nvim_set_current_win(win)
else
  vim.cmd('edit ' .. vim.fn.fnameescape(path))
end
"""


def _name(path: Path) -> str | bytes:
    """A path as the editor's RPC takes it; bytes where it is no UTF-8."""
    name = os.fsencode(path)
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name


class Neovim:
    """Implements `PublishingEditor`: a headless editor with the plugin."""

    can: ClassVar[frozenset[str]] = ABILITIES
    lasting: ClassVar[str] = "neovim"
    missing: ClassVar[str | None] = None if NVIM else "nvim is not installed (Debian: apt-get install neovim)"

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._editor = Editor(Path(env["HOME"]), folder, env)

    def end(self) -> None:
        self._editor.close()

    def open(self, path: Path) -> None:
        self._show("edit", path)

    def split(self, path: Path) -> None:
        self._show("split", path)

    def close(self, path: Path) -> None:
        self._editor.lua(CLOSE, _name(path))

    def pin(self, path: Path) -> None:
        self._go_to(path)
        self._editor.do("WorkspacedPin")

    def unpin(self, path: Path) -> None:
        self._go_to(path)
        self._editor.do("WorkspacedUnpin")

    def select(self, path: Path, first: int, last: int) -> None:
        self._go_to(path)
        self._editor.keys(f"<Esc>{first}GV{last}G")
        self._editor.until("vim.api.nvim_get_mode().mode == 'V' and vim.fn.line('.') == a[1]", last)

    def rename(self, old: Path, new: Path) -> None:
        self._go_to(old)
        self._editor.lua(RENAME, _name(old), _name(new))

    def focus(self) -> None:
        self._editor.do("doautocmd FocusGained")

    def blur(self) -> None:
        self._editor.do("doautocmd FocusLost")

    def burst(self, paths: Sequence[Path]) -> None:
        for path in paths:  # a call each, so that the editor's loop runs in between
            self.open(path)

    def pause(self) -> None:
        self._editor.do("WorkspacedPause")
        self._editor.until("s.paused")

    def resume(self) -> None:
        self._editor.do("WorkspacedResume")
        self._editor.until("not s.paused")

    def settled(self) -> None:
        self._editor.settled()

    def told(self) -> dict[str, Any]:
        return self._editor.status()

    def kill(self) -> None:
        self._editor.process.kill()
        self._editor.process.wait(ANSWER_S)

    def quit(self) -> None:
        self._editor.quit()

    def _show(self, command: str, path: Path) -> None:
        self._editor.lua(SHOW, command, _name(path))

    def _go_to(self, path: Path) -> None:
        """Goes to the window that shows a file, or shows it in the current one."""
        self._editor.lua(GO_TO, _name(path))
