"""The editors that publish, each behind its driver; every one goes through tests/clients/publishers."""

from support.publishers.lsp import LanguageServer
from support.publishers.neovim import Neovim
from support.publishers.protocol import PublishingEditor

EDITORS: dict[str, type[PublishingEditor]] = {
    "neovim": Neovim,
    "lsp": LanguageServer,
}
