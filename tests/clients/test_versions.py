"""All packages have one version."""

import json
import re

import pytest
from support import ROOT

from workspaced import __version__

CLIENTS = ROOT / "clients"
MANIFESTS = sorted([*CLIENTS.glob("*/package.json"), *CLIENTS.glob("*/manifest.json")])

pytestmark = pytest.mark.skipif(not CLIENTS.is_dir(), reason="clients/ is not here")


def test_each_package_has_our_version() -> None:
    assert {path.parent.name for path in MANIFESTS} >= {"obsidian", "typescript", "vscode"}
    assert {json.loads(path.read_text())["version"] for path in MANIFESTS} == {__version__}


def test_what_clients_say_of_themselves_is_our_version() -> None:
    typescript = (CLIENTS / "typescript" / "src" / "version.ts").read_text()
    neovim = (CLIENTS / "neovim" / "lua" / "workspaced" / "client.lua").read_text()
    assert re.findall(r'VERSION = "([^"]+)"', typescript) == [__version__]
    assert re.findall(r'VERSION = "([^"]+)"', neovim) == [__version__]
