"""The editors that publish, each behind its driver; every one goes through tests/clients/publishers."""

import pytest

from support.publishers.lsp import LanguageServer
from support.publishers.neovim import Neovim
from support.publishers.obsidian import Obsidian
from support.publishers.protocol import PublishingEditor
from support.publishers.vscode import VSCode

EDITORS: dict[str, type[PublishingEditor]] = {
    "neovim": Neovim,
    "vscode": VSCode,
    "obsidian": Obsidian,
    "lsp": LanguageServer,
}


def marks(*names: str) -> list[pytest.MarkDecorator]:
    """The marks of a situation with these editors: only those of Neovim alone are quick."""
    return [] if {*names} == {"neovim"} else [pytest.mark.thorough]
