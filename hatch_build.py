"""Two additions to packages: the Neovim plugin in the wheel, and a README whose links lead somewhere.

A package index has no files beside the README, so that relative links would lead nowhere.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"<picture>.*?</picture>\n*", re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")


class NeovimPlugin(BuildHookInterface[Any]):
    """Puts the plugin into the wheel, where `workspaced path neovim` finds it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            plugin = Path(self.root) / "clients" / "neovim"
            build_data["force_include"][str(plugin)] = "workspaced/workspaced/editors/neovim"


class PackageReadme(MetadataHookInterface):
    """Puts the package's form of README.md into the metadata.

    REPOSITORY_URL, or `repository` of the hook's configuration, is where the files can be read, such as
    https://example.org/workspaced/blob/main. Without it links become their text. MCP_NAMESPACE is whose name the
    MCP registry knows: it looks for it in the README of a package, to see that the same person has made both.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        base = os.environ.get("REPOSITORY_URL") or self.config.get("repository", "")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        owner = os.environ.get("MCP_NAMESPACE")
        text = package_form(text, base) + (f"\n<!-- mcp-name: {owner}/workspaced -->\n" if owner else "")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def package_form(text: str, base: str) -> str:
    """The text with absolute links below `base`; without a base, with the links' texts. Pictures are left out."""

    def absolute(link: re.Match[str]) -> str:
        mark, words, target = link.groups()
        if mark:
            return ""
        return f"[{words}]({base.rstrip('/')}/{target})" if base else words

    return _LINK.sub(absolute, _PICTURE.sub("", text))
