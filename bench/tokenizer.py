"""A real tokenizer, in a process of its own: `Tokenizer(python)(text)` gives the tokens of a text.

It is Mistral's (tekken, 131,000 tokens), since its package brings the vocabulary along: others are downloaded when
first used. It is installed by the benchmark alone; the package knows nothing of it.
"""

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from .peer_install import Pip

PACKAGE: Final = Pip(("mistral-common==1.13.1",))
NAME: Final = "tekken"

_WORKER: Final = """\
import json, sys
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
encode = MistralTokenizer.v3(is_tekken=True).instruct_tokenizer.tokenizer.encode
for line in sys.stdin:
    print(json.dumps(encode(json.loads(line), bos=False, eos=False)), flush=True)
"""


class Tokenizer:
    """`python` has PACKAGE. Each text is counted once: prompts repeat most of theirs."""

    def __init__(self, python: Path, stderr: Path) -> None:
        self._known: dict[str, list[int]] = {}
        with open(stderr, "wb") as errors:
            self._process = subprocess.Popen(
                [str(python), "-c", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )

    def __call__(self, text: str) -> list[int]:
        """The tokens of `text`."""
        if (known := self._known.get(text)) is None:
            known = self._known[text] = self.encoded(text)
        return known

    def encoded(self, text: str) -> list[int]:
        """The tokens of `text`, counted now and not kept here."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(text) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=list[int])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
