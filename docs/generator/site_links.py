"""A hook of the site's builder: pages that lie beside docs/, such as ARCHITECTURE.md, become pages of the site.

A page links to another by its path in the repository, so that the links work where the files are read. The hook
turns each link, also to a picture, into one between the site's pages. A link to a file that is not a page, such as
a test, becomes its text; a link to nothing stays as it is, and the build fails (`--strict`).
"""

import os
import posixpath
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).parents[2]
BESIDE: Final = {
    "README.md": "introduction.md",
    "ARCHITECTURE.md": "explanation/architecture.md",
    "FAULTS.md": "explanation/faults.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "clients/typescript/README.md": "how-to/typescript-client.md",
}
"""The files beside docs/ that are pages: their path in the repository, and that in the site."""

_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_BLOCK: Final = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_PICTURE: Final = re.compile(r"<picture>.*?</picture>\n?", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages beside docs/."""
    for path, site_path in BESIDE.items():
        files.append(File.generated(config, site_path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001 (named by mkdocs)
    """Turns links of the repository into links of the site."""
    site_path = page.file.src_uri
    path = next((each for each, place in BESIDE.items() if place == site_path), f"docs/{site_path}")
    if path in BESIDE:
        markdown = _PICTURE.sub("", markdown)
    parts = _BLOCK.split(markdown)
    code = parts[1::2]
    # A link's text may hold code, so code is replaced by a number that no page holds.
    bare = "".join(part if not index % 2 else f"\0{index // 2}\0" for index, part in enumerate(parts))
    bare = _LINK.sub(lambda match: _link(match, path, site_path), bare)
    return re.sub("\0(\\d+)\0", lambda match: code[int(match.group(1))], bare)


def _link(match: re.Match[str], path: str, site_path: str) -> str:
    mark, text, link = match.groups()
    place, _, anchor = link.partition("#")
    if "://" in link or not place:
        return match.group()
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
    if not (ROOT / target).exists():
        return match.group()
    if target not in BESIDE and not target.startswith("docs/"):
        return text
    wanted = BESIDE.get(target) or target.removeprefix("docs/")
    relative = os.path.relpath(wanted, posixpath.dirname(site_path) or ".")
    return f"{mark}[{text}]({relative}{'#' if anchor else ''}{anchor})"
