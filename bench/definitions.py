"""The tokens of the list of tools: name, description and input schema, which a model reads in every request.

Tokens are those of o200k_base. `tiktoken` downloads that vocabulary at its first use; `rs-bpe` contains it.
"""

import subprocess
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from workspaced_tools.tools.registry import CORE, TOOLS

from .daemon import Place
from .measure import Bound, Figure, at_most
from .peer_install import Pip, Skip, install
from .peer_table import Skipped

PACKAGE: Final = Pip(("rs-bpe==0.1.0",))
NAME: Final = "o200k_base"
SHOWN: Final = ("name", "description", "inputSchema")
_WORKER: Final = """\
import json, sys
from rs_bpe.bpe import openai
count = openai.o200k_base().count
print(json.dumps([count(text) for text in json.load(sys.stdin)]))
"""


def tokens(at: Place) -> Iterator[Figure]:
    """All tools, and the core."""
    try:
        python = install(PACKAGE, at.new("o200k")) / "python"
    except Skip as skip:
        yield Skipped("definitions.all", 0.0, "tokens", reason=str(skip))
        return
    texts = [shown(name) for name in TOOLS]
    done = subprocess.run(
        [str(python), "-c", _WORKER], input=msgspec.json.encode(texts), capture_output=True, check=True
    )
    counted = dict(zip(TOOLS, msgspec.json.decode(done.stdout, type=list[int]), strict=True))
    yield _figure("all", TOOLS, counted, at_most(1_000))
    yield _figure("core", sorted(CORE), counted, at_most(600))


def shown(tool: str) -> str:
    """One definition as compact JSON, without what a model is not shown."""
    definition = TOOLS[tool].definition
    return msgspec.json.encode({key: definition[key] for key in SHOWN}).decode()


def _figure(name: str, tools: Iterable[str], counted: dict[str, int], goal: Bound) -> Figure:
    each = {tool: counted[tool] for tool in tools}
    return Figure(f"definitions.{name}", sum(each.values()), "tokens", goal, fields={"tokenizer": NAME, **each})
