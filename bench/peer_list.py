"""The servers that are compared: how each is installed, started and asked.

One more is one more entry; when `workspaced mcp` exists it is
`Peer("workspaced-mcp", None, lambda spot: [sys.executable, "-m", "workspaced", "mcp", ...], _workspaced)`.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from .peer_install import Npm, Pip
from .peer_questions import COMMON, COMMON_IN_NAMES, RARE, Questions

CLIENT: Final = Pip(("mcp==1.30.0",))
"""The official Python client. Not 2.x, which refuses the tool list of one of the servers."""
HERE: Final = Path(__file__).parent
NAMES_ONLY: Final = "searches file names only"


@dataclass(frozen=True)
class Spot:
    """Where a server runs."""

    commands: Path
    """The directory of its installed commands."""
    vault: Path
    """Its own copy: some write into it."""
    home: Path
    """Its home directory, empty at each cold start."""
    client: Path
    """The commands of the client's environment."""


@dataclass(frozen=True)
class Ask:
    """A question in a server's own words."""

    tool: str
    arguments: tuple[dict[str, Any], ...]
    """Taken in turn when the question is asked many times."""
    needle: str
    """What is in the right answer to the first of them."""
    note: str = ""
    in_view: str = ""
    """Over our socket: the note the user is looking at, published before."""


Asks = dict[str, Ask]


@dataclass(frozen=True)
class Peer:
    """A server; `None` for what is to be installed means nothing, for `notes` the vault of all others."""

    name: str
    package: Npm | Pip | None
    command: Callable[[Spot], list[str]]
    asks: Callable[[Questions, Path], Asks]
    env: Callable[[Spot], Mapping[str, str]] = lambda _: {}
    via: Literal["client", "socket", "pipe"] = "client"
    """The official client; our own socket; or bare lines on stdin and stdout."""
    notes: int | None = None
    """A smaller vault, where the whole one takes too long."""
    starts: int = 3
    """Cold starts."""
    note: str = ""


# -- the questions in each server's words --


def _reads(questions: Questions, tool: str, arguments: Callable[[str], dict[str, Any]], note: str = "") -> Ask:
    notes = questions.read
    return Ask(tool, tuple(arguments(each.path) for each in notes), notes[0].needle, note)


def _one(tool: str, needle: str, note: str = "", **arguments: Any) -> Ask:
    return Ask(tool, (arguments,), needle, note)


def _bare(questions: Questions, _vault: Path) -> Asks:
    return {"read": _reads(questions, "read", lambda path: {"path": path})}


def _workspaced(questions: Questions, _vault: Path) -> Asks:
    by_name, linked = "get_note_by_reference", questions.linked.path
    links: dict[str, Any] = {"includeLinks": True, "maxContentLength": 100}
    return {
        "read": _reads(questions, by_name, lambda path: {"reference": path}),
        "title": _one(by_name, questions.titled.needle, reference=questions.titled.stem),
        "search_rare": _one("search_workspace", questions.rare.stem, query=RARE),
        "search_common": _one("search_workspace", ".md", query=COMMON),
        "backlinks": Ask("get_current_note", (links,), questions.linking, "of the note in view", linked),
    }


def _mcp_obsidian(questions: Questions, _vault: Path) -> Asks:
    search = "search_notes"
    return {
        "read": _reads(questions, "read_notes", lambda path: {"paths": [path]}),
        "search_rare": _one(search, questions.titled.stem, NAMES_ONLY, query=questions.titled.stem),
        "search_common": _one(search, COMMON_IN_NAMES, NAMES_ONLY, query=COMMON_IN_NAMES),
    }


def _filesystem(questions: Questions, vault: Path) -> Asks:
    search, root = "search_files", str(vault)
    rare, common = f"**/*{questions.titled.stem}*", f"**/*{COMMON_IN_NAMES}*"
    return {
        "read": _reads(questions, "read_text_file", lambda path: {"path": f"{root}/{path}"}),
        "search_rare": _one(search, questions.titled.stem, NAMES_ONLY, path=root, pattern=rare),
        "search_common": _one(search, COMMON_IN_NAMES, NAMES_ONLY, path=root, pattern=common),
    }


def _obsidian_npm(questions: Questions, _vault: Path) -> Asks:
    search, vault = "obsidian_search_vault", "notes"
    return {
        "read": _reads(questions, "obsidian_read_note", lambda path: {"vault": vault, "path": path}),
        "search_rare": _one(search, questions.rare.stem, vault=vault, query=RARE),
        "search_common": _one(search, ".md", vault=vault, query=COMMON),
    }


def _mcpvault(questions: Questions, _vault: Path) -> Asks:
    search = "search_notes"
    return {
        "read": _reads(questions, "read_note", lambda path: {"path": path}),
        "title": _one("wiki_link", questions.titled.needle, "by file name", document=questions.titled.stem),
        "search_rare": _one(search, questions.rare.stem, query=RARE),
        "search_common": _one(search, ".md", query=COMMON),
    }


def _obsidian_pypi(questions: Questions, _vault: Path) -> Asks:
    search = "search_notes_tool"
    return {
        "read": _reads(questions, "read_note_tool", lambda path: {"path": path}),
        "search_rare": _one(search, questions.rare.stem, query=RARE),
        "search_common": _one(search, ".md", query=COMMON),
        "backlinks": _one("get_backlinks_tool", questions.linking, path=questions.linked.path),
    }


def _markdown_vault(questions: Questions, _vault: Path) -> Asks:
    return {
        "read": _reads(questions, "read", lambda path: {"path": path}),
        "search_rare": _one("search", questions.rare.stem, query=RARE),
        "search_common": _one("search", ".md", query=COMMON),
        "backlinks": _one("get_backlinks", questions.linking, path=questions.linked.path),
    }


def _basic_memory(questions: Questions, _vault: Path) -> Asks:
    search, read = "search_notes", "read_note"
    around = f"memory://{questions.linked.path.removesuffix('.md')}"
    return {
        "read": _reads(questions, read, lambda path: {"identifier": path.removesuffix(".md")}),
        "title": _one(read, questions.titled.needle, identifier=questions.titled.stem),
        "search_rare": _one(search, questions.rare.stem, query=RARE, search_type="text"),
        "search_common": _one(search, "harbour", query=COMMON, search_type="text"),
        "backlinks": _one("build_context", questions.linking, "links both ways", url=around, max_related=100),
    }


# -- the servers --


def _python(script: str, *before: str) -> Callable[[Spot], list[str]]:
    return lambda spot: [sys.executable, *before, str(HERE / script), str(spot.vault)]


BARE: Final = Peer(
    "bare", None, _python("peer_bare.py", "-I"), _bare, note="the floor: reads the file, checks nothing"
)
BARE_PIPE: Final = Peer(
    "bare-direct", None, BARE.command, _bare, via="pipe", note="the same loop, asked without the client"
)

PEERS: Final = (
    BARE,
    BARE_PIPE,
    Peer(
        "workspaced",
        None,
        lambda _: [],
        _workspaced,
        via="socket",
        note="our native socket, no MCP client in between; ratios are to the bare loop without it, too",
    ),
    Peer(
        "mcp-sdk",
        CLIENT,
        lambda spot: [str(spot.client / "python"), str(HERE / "peer_sdk.py"), str(spot.vault)],
        _bare,
        note="the floor of the official Python SDK",
    ),
    Peer(
        "mcp-obsidian",
        Npm(("mcp-obsidian@1.0.0",)),
        lambda spot: [str(spot.commands / "mcp-obsidian"), str(spot.vault)],
        _mcp_obsidian,
    ),
    Peer(
        "server-filesystem",
        Npm(("@modelcontextprotocol/server-filesystem@2026.8.31",)),
        lambda spot: [str(spot.commands / "mcp-server-filesystem"), str(spot.vault)],
        _filesystem,
    ),
    Peer(
        "obsidian-mcp-npm",
        Npm(("obsidian-mcp@2.0.1", "node@24.21.0")),  # it needs a newer Node than many machines have
        lambda spot: [str(spot.commands / "obsidian-mcp"), "serve", "--vault", f"notes={spot.vault}"],
        _obsidian_npm,
    ),
    Peer(
        "mcpvault",
        Npm(("@bitbonsai/mcpvault@0.16.0",)),
        lambda spot: [str(spot.commands / "mcpvault"), str(spot.vault)],
        _mcpvault,
    ),
    Peer(
        "obsidian-mcp-pypi",
        Pip(("obsidian-mcp==2.1.6", "fastmcp<2.12")),  # it imports what later ones no longer have
        lambda spot: [str(spot.commands / "obsidian-mcp")],
        _obsidian_pypi,
        env=lambda spot: {"OBSIDIAN_VAULT_PATH": str(spot.vault)},
    ),
    Peer(
        "markdown-vault-mcp",
        Pip(("markdown-vault-mcp==5.1.0",)),
        lambda spot: [str(spot.commands / "markdown-vault-mcp"), "serve"],
        _markdown_vault,
        env=lambda spot: {
            "MARKDOWN_VAULT_MCP_SOURCE_DIR": str(spot.vault),
            "MARKDOWN_VAULT_MCP_INDEX_PATH": str(spot.home / "index.db"),
            "MARKDOWN_VAULT_MCP_READ_ONLY": "true",
        },
    ),
    Peer(
        "basic-memory",
        Pip(("basic-memory==0.23.2",), python=(3, 12)),
        lambda spot: [str(spot.commands / "basic-memory"), "mcp"],
        _basic_memory,
        env=lambda spot: {
            "BASIC_MEMORY_HOME": str(spot.vault),
            "BASIC_MEMORY_CONFIG_DIR": str(spot.home / "config"),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",  # else it downloads a model
        },
        notes=500,
        starts=1,
        note="500 notes, keyword search alone",
    ),
)
