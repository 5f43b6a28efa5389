"""`workspaced path`."""

from pathlib import Path
from typing import Final

import click

from ...errors import SettingsInvalid
from ...terminal.options import json_option
from ...terminal.output import output

_PACKAGE: Final = Path(__file__).parents[2]
_PLACES: Final = {"neovim": ("editors/neovim", "clients/neovim")}
"""For each name its folder in the installed package, and in a clone."""


@click.command()
@click.argument("name", type=click.Choice(list(_PLACES)))
@json_option
def path_command(name: str) -> None:
    """Print where a part of this installation is: `neovim` is the plugin's folder, for init.lua.

    \b
    local found, folder = pcall(vim.fn.system, { "workspaced", "path", "neovim" })
    if found and vim.v.shell_error == 0 then
      vim.opt.runtimepath:prepend(vim.trim(folder))
    end
    """
    place = str(_installed_folder(name))
    output({"name": name, "path": place}, place)


def _installed_folder(name: str) -> Path:
    """The folder of `name`, in the installed package or in the clone that it runs from."""
    in_package, in_clone = _PLACES[name]
    for place in (_PACKAGE / in_package, _PACKAGE.parents[1] / in_clone):
        if place.is_dir():
            return place
    raise SettingsInvalid(
        f"This installation has no {name} plugin.", hint="Run `pip install .` in a clone: its wheel has it."
    )
