"""The editors that publish, each behind its driver; every one goes through tests/clients/publishers."""

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

SLOW = frozenset({"vscode"})
"""Of them: a window takes seconds to open, so they are thorough."""
