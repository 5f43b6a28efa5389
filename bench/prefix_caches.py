"""What two providers' caches make of a conversation's requests: tokens read, written and neither.

A request is its blocks in the order in which a provider reads it: tools, system, messages. A cache never looks at
`cache_control`, only at where it stands, so blocks are compared without it.

- `MarkedCache` is Anthropic's. It writes an entry at each mark whose prefix has 1,024 tokens. From each mark it
  looks for an earlier entry over 20 blocks backwards, the marked one included. The longest entry found is read;
  what follows it up to the last mark is written; the rest is neither.
- `BlockCache` is OpenAI's. It keeps the whole prompt unasked, in blocks of 128 tokens, and reads the longest run
  of blocks that any earlier prompt began with, from 1,024 tokens on.

Time is no part of it: every request comes before an entry expires, and a conversation's requests come one by one.
"""

import hashlib
import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

PREFIX_TOKENS_MIN: Final = 1_024
"""Neither provider keeps a shorter prefix."""
MARKS_MAX: Final = 4
LOOKBACK_BLOCKS: Final = 20
BLOCK_TOKENS: Final = 128
READ: Final = 0.1
"""The price of a token read from the cache; one that is neither read nor written costs 1."""
WRITTEN: Final = {"anthropic": 1.25, "openai": 1.0}
_ROUGH_CHARS: Final = 4
_ROLES: Final = ("tools", "system", "user", "assistant")
_PARAGRAPH: Final = "\n\n"

Encode = Callable[[str], Sequence[int]]


class Block(NamedTuple):
    """One block of a request."""

    role: str
    """`tools`, `system`, `user` or `assistant`."""
    text: str
    """Everything that the model reads of it."""
    mark: bool = False


@dataclass(frozen=True)
class Use:
    """The tokens of some requests."""

    read: int = 0
    written: int = 0
    neither: int = 0

    def __add__(self, other: "Use") -> "Use":
        return Use(self.read + other.read, self.written + other.written, self.neither + other.neither)

    @property
    def sent(self) -> int:
        return self.read + self.written + self.neither

    def base_tokens(self, provider: str) -> float:
        """The cost, in tokens at the price of one that no cache was asked for."""
        return READ * self.read + WRITTEN[provider] * self.written + self.neither


class Counter:
    """The tokens of texts, paragraph by paragraph, each encoded once: prompts repeat most of theirs."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._known: dict[str, array[int]] = {}

    def tokens(self, block: Block) -> "array[int]":
        """A token for the role, which no text has, and the text's."""
        found = array("i", [_ROLES.index(block.role) - len(_ROLES)])
        *whole, last = block.text.split(_PARAGRAPH)
        for piece in (*(each + _PARAGRAPH for each in whole), last):
            if piece:
                found += self._piece(piece)
        return found

    def _piece(self, piece: str) -> "array[int]":
        if (known := self._known.get(piece)) is None:
            known = self._known[piece] = array("i", self._encode(piece))
        return known


def rough_tokens(text: str) -> list[int]:
    """Four characters a token: for quick runs, where no tokenizer is installed."""
    pieces = (text[at : at + _ROUGH_CHARS] for at in range(0, len(text), _ROUGH_CHARS))
    return [zlib.crc32(piece.encode()) >> 1 for piece in pieces]


class MarkedCache:
    """A cache that is told by marks where to write."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._entries: set[bytes] = set()

    def serve(self, request: Sequence[Block]) -> Use:
        """What it reads and writes of a request.

        Raises:
            ValueError: there are more marks than the provider takes.
        """
        digest, names, ends = hashlib.sha256(), list[bytes](), list[int]()
        for block in request:
            digest.update(msgspec.json.encode((block.role, block.text)))
            names.append(digest.digest())
            ends.append((ends[-1] if ends else 0) + len(self._counter.tokens(block)))
        marks = [at for at, block in enumerate(request) if block.mark]
        if len(marks) > MARKS_MAX:
            raise ValueError(f"a request has {len(marks)} marks, at most {MARKS_MAX} are taken")
        read = max((self._found(names, ends, mark) for mark in marks), default=0)
        kept = [at for at in marks if ends[at] >= PREFIX_TOKENS_MIN]
        self._entries.update(names[at] for at in kept)
        written = ends[kept[-1]] - read if kept else 0
        return Use(read, written, (ends[-1] if ends else 0) - read - written)

    def _found(self, names: Sequence[bytes], ends: Sequence[int], mark: int) -> int:
        """The tokens of the longest entry within reach of the mark."""
        for at in range(mark, max(mark - LOOKBACK_BLOCKS, -1), -1):
            if names[at] in self._entries:
                return ends[at]
        return 0


class BlockCache:
    """A cache that keeps every prompt, in blocks of equal size."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._blocks: set[bytes] = set()

    def serve(self, request: Sequence[Block]) -> Use:
        """What it reads of a request. It counts nothing as written: keeping is free."""
        prompt: array[int] = array("i")
        for block in request:
            prompt += self._counter.tokens(block)
        read, digest = 0, hashlib.sha256()
        for begin in range(0, len(prompt) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
            digest.update(prompt[begin : begin + BLOCK_TOKENS])
            name = digest.digest()
            read += BLOCK_TOKENS * (name in self._blocks)  # a block is only known with all before it
            self._blocks.add(name)
        read = read if read >= PREFIX_TOKENS_MIN else 0
        return Use(read, 0, len(prompt) - read)


def blocks_of(body: dict[str, Any]) -> list[Block]:
    """The blocks of a body of the Messages API.

    A body of chat completions has the same texts in the same order, only joined. That makes no difference to
    `BlockCache`, so this body is the only one made.
    """
    blocks = [_block("tools", each) for each in body.get("tools", ())]
    blocks += [_block("system", each) for each in body.get("system", ())]
    for message in body["messages"]:
        blocks += [_block(message["role"], each) for each in message["content"]]
    return blocks


def _block(role: str, block: dict[str, Any]) -> Block:
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    return Block(role, _text(bare), block.get("cache_control") is not None)


def _text(block: dict[str, Any]) -> str:
    """A text as it is, a tool's result behind its id, everything else as JSON."""
    if block.get("type") == "text":
        return str(block["text"])
    if block.keys() == {"type", "tool_use_id", "content"} and isinstance(block["content"], str):
        return f"{block['tool_use_id']} {block['content']}"
    return _json(block)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
