"""The picture of docs/how-to/neovim.md: the screen of a real Neovim, and what an agent is told meanwhile.

    python docs/generator/neovim_picture.py

Neovim draws into memory; its cells come back as JSON. The daemon is a real one, too. Needs `nvim`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from pictures import CHAR_PX, IMAGES, LINE_PX, PALETTES

from workspaced import connect

PLUGIN: Final = Path(__file__).parents[2] / "clients" / "neovim"
COLUMNS: Final = 92
ROWS: Final = 12
WAIT_S: Final = 30.0
NOTES: Final = {
    "Plan.md": "# Plan\n\n- order the flour\n- move the oven\n- ask the harbour for a crane\n- print the labels\n",
    "Oven.md": "# Oven\n\nIt weighs 420 kg, see [[Plan]].\n",
}
SCREEN: Final = """
local function is_told()
  local daemon = require('workspaced').status().daemons[1]
  return daemon and daemon.state == 'ready' and daemon.unanswered == 0 and daemon.vaults[1].active
end
local function work()
  for _, command in ipairs({ 'edit Oven.md', 'WorkspacedPin', 'vsplit Plan.md', 'normal! 4GVj' }) do
    vim.cmd(command)
  end
  assert(vim.wait(20000, is_told, 20))
  vim.wait(600) -- the selection rests
  vim.cmd('redraw!')
  local rows, at = {}, vim.fn.screenpos(0, 4, 3)
  local selected = vim.fn.screenattr(at.row, at.col)
  for row = 1, vim.o.lines do
    rows[row] = {}
    for column = 1, vim.o.columns do
      rows[row][column] = { vim.fn.screenstring(row, column), vim.fn.screenattr(row, column) == selected }
    end
  end
  local file = io.open(vim.env.SCREEN, 'w')
  file:write(vim.json.encode(rows))
  file:close()
end
vim.api.nvim_create_autocmd('VimEnter', { callback = vim.schedule_wrap(work) })
"""


@contextmanager
def serving(root: Path, vault: Path) -> Iterator[Path]:
    """The socket of a daemon on the vault."""
    socket = root / "s"
    command = [sys.executable, "-m", "workspaced", "serve", "--vault", str(vault), "--socket", str(socket)]
    command += ["--data-dir", str(root / "data")]
    with subprocess.Popen(
        command, env={**os.environ, "HOME": str(root)}, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        while "listening on" not in (line := run.stderr.readline()):
            assert line, "the daemon ended"
        yield socket
        run.terminate()


def seen(root: Path, vault: Path, socket: Path) -> tuple[list[Any], str]:
    """The cells of the screen, each a text and whether it is selected; and what an agent is told beside it."""
    (root / "screen.lua").write_text(SCREEN)
    os.mkfifo(root / "screen.json")
    command = ["nvim", "--headless", "-n", "-i", "NONE", "--clean", "--cmd", f"set runtimepath^={PLUGIN}"]
    command += ["--cmd", f"set columns={COLUMNS} lines={ROWS}", "-c", f"luafile {root / 'screen.lua'}"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NVIM", "VIM"))}
    env = {**kept, "HOME": str(root), "SCREEN": str(root / "screen.json")}
    with (
        subprocess.Popen(command, cwd=vault, env=env, stderr=subprocess.DEVNULL) as nvim,
        connect(socket, timeout_s=WAIT_S) as client,
    ):
        rows = json.loads((root / "screen.json").read_text())
        asked = {"client": "claude-code", "session": "s", "event": "UserPromptSubmit", "folders": [str(vault)]}
        told: str = client.call("workspaced/volunteer", asked)["text"]
        nvim.terminate()
    return rows, told.replace(str(vault), "~/notes")


def drawn(rows: list[Any], told: str, theme: str) -> str:
    """An SVG with the screen above and below it what the agent is told."""
    palette = PALETTES[theme]
    marks = []
    for number, cells in enumerate(rows):
        text = "".join(cell or " " for cell, _is_selected in cells).rstrip()
        marked = [column for column, (_cell, is_selected) in enumerate(cells) if is_selected]
        if marked:
            marks.append(
                f'<rect y="{number * LINE_PX + 5}" width="{(marked[-1] + 1) * CHAR_PX:g}" height="{LINE_PX}" '
                f'fill="{palette["accent"]}" opacity="0.3"/>'  # whole lines are selected
            )
        marks.append(f'<text y="{(number + 1) * LINE_PX}">{escape(text)}</text>')
    lines = ["The agent is told with its next prompt:", "", *told.splitlines()]
    for number, line in enumerate(lines, start=len(rows) + 2):
        marks.append(f'<text y="{number * LINE_PX}" fill="{palette["dim"]}">{escape(line)}</text>')
    width, height = round(COLUMNS * CHAR_PX) + 32, (len(rows) + len(lines) + 2) * LINE_PX
    body = "\n".join(mark for mark in marks if "></text>" not in mark)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>Neovim with two notes, one pinned, and a selection; below, what an agent is told</title>
<style>
text {{
  font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  white-space: pre;
}}
</style>
<rect width="{width}" height="{height}" rx="8" fill="{palette["box"]}"/>
<g transform="translate(16 6)" fill="{palette["text"]}" xml:space="preserve">
{body}
</g>
</svg>
"""


def main() -> None:
    """Writes the picture for both themes."""
    with tempfile.TemporaryDirectory(prefix="wp-", dir="/tmp") as folder:
        root = Path(folder)
        vault = root / "notes"
        vault.mkdir()
        for name, text in NOTES.items():
            (vault / name).write_text(text)
        with serving(root, vault) as socket:
            rows, told = seen(root, vault, socket)
    for theme in PALETTES:
        (IMAGES / f"neovim-{theme}.svg").write_text(drawn(rows, told, theme))


if __name__ == "__main__":
    main()
