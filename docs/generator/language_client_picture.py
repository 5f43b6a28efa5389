"""The picture of docs/how-to/language-clients.md: an editor without a plugin, and what an agent is told.

    python docs/generator/language_client_picture.py

The editor is Neovim with its own language client, which lists the links to a note. Needs `nvim`.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from neovim_picture import COLUMNS, ROWS, WAIT_S, drawn, serving
from pictures import IMAGES, PALETTES

from workspaced import connect

NOTES: Final = {
    "Plan.md": "# Plan\n\n- order the flour\n- move the [[Oven#Weight]]\n",
    "Oven.md": "# Oven\n\n## Weight\n\nIt weighs 420 kg.\n",
    "Harbour.md": "# Harbour\n\nAsk for a crane, see [[Oven|the oven]].\n",
}
SCREEN: Final = """
local function work()
  vim.cmd('edit Oven.md')
  local command = { vim.env.PYTHON, '-m', 'workspaced', 'lsp' }
  local id = vim.lsp.start_client({ cmd = command, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(0, id)
  assert(vim.wait(20000, function() return vim.lsp.get_client_by_id(id) ~= nil end, 20))
  local told
  vim.lsp.get_client_by_id(id).request('workspace/executeCommand', { command = 'workspaced.settled' },
    function() told = true end, vim.api.nvim_get_current_buf())
  assert(vim.wait(20000, function() return told end, 20))
  vim.lsp.buf.references()
  assert(vim.wait(20000, function() return #vim.fn.getqflist() > 0 end, 20))
  vim.cmd('resize 4 | redraw!')
  local rows = {}
  for row = 1, vim.o.lines do
    rows[row] = {}
    for column = 1, vim.o.columns do
      rows[row][column] = { vim.fn.screenstring(row, column), false }
    end
  end
  local file = io.open(vim.env.SCREEN, 'w')
  file:write(vim.json.encode(rows))
  file:close()
end
vim.api.nvim_create_autocmd('VimEnter', { callback = vim.schedule_wrap(work) })
"""


def seen(root: Path, vault: Path, socket: Path) -> tuple[list[Any], str]:
    """The cells of the screen; and what an agent is told beside it."""
    (root / "screen.lua").write_text(SCREEN)
    os.mkfifo(root / "screen.json")
    command = ["nvim", "--headless", "-n", "-i", "NONE", "--clean", "--cmd", f"set columns={COLUMNS} lines={ROWS}"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NVIM", "VIM"))}
    env = {**kept, "HOME": str(root), "SCREEN": str(root / "screen.json"), "PYTHON": sys.executable}
    with (
        subprocess.Popen(
            [*command, "-c", f"luafile {root / 'screen.lua'}"], cwd=vault, env=env, stderr=subprocess.DEVNULL
        ) as nvim,
        connect(socket, timeout_s=WAIT_S) as client,
    ):
        rows = json.loads((root / "screen.json").read_text())
        asked = {"client": "claude-code", "session": "s", "event": "UserPromptSubmit", "folders": [str(vault)]}
        told: str = client.call("workspaced/volunteer", asked)["text"]
        nvim.terminate()
    return rows, told.replace(str(vault), "~/notes")


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
    title = "Neovim without a plugin lists the links to a note; below, what an agent is told"
    for theme in PALETTES:
        picture = drawn(rows, told, theme)
        begun, _, rest = picture.partition("<title>")
        named = f"{begun}<title>{title}{rest[rest.index('</title>') :]}"
        (IMAGES / f"language-client-{theme}.svg").write_text(named)


if __name__ == "__main__":
    main()
