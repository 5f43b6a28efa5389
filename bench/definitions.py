"""The tokens of the list of tools: name, description and input schema, which a model reads in every request."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from workspaced_tools.tools.registry import CORE, TOOLS

from .daemon import Place
from .measure import Bound, Figure, at_most
from .peer_install import Skip, install
from .peer_table import Skipped
from .tokenizer import NAME, PACKAGE, Tokenizer

SHOWN: Final = ("name", "description", "inputSchema")


def tokens(at: Place) -> Iterator[Figure]:
    """All tools, and the core."""
    try:
        python = install(PACKAGE, at.new("tokenizer")) / "python"
    except Skip as skip:
        yield Skipped("definitions.all", 0.0, "tokens", reason=str(skip))
        return
    with Tokenizer(python, at.new("tokenizer.stderr")) as tokenizer:
        yield _figure("all", TOOLS, tokenizer, at_most(1_000))
        yield _figure("core", [name for name in TOOLS if name in CORE], tokenizer, at_most(640))


def shown(tool: str) -> msgspec.Raw:
    """One definition as compact JSON, without what a model is not shown."""
    definition = TOOLS[tool].definition
    return msgspec.Raw(msgspec.json.encode({key: definition[key] for key in SHOWN}))


def _figure(name: str, tools: Iterable[str], tokenizer: Tokenizer, goal: Bound) -> Figure:
    texts = {tool: shown(tool) for tool in tools}
    each = {tool: len(tokenizer(bytes(text).decode())) for tool, text in texts.items()}
    listed = len(tokenizer(msgspec.json.encode(list(texts.values())).decode()))
    return Figure(f"definitions.{name}", listed, "tokens", goal, fields={"tokenizer": NAME, **each})
