"""The index of the memory folder in the first layer: names, no texts.

It is taken when a conversation begins and stays as it was, so that the provider's cache keeps the prefix; the tool
`memory` knows what is there now.
"""

from collections.abc import Sequence
from typing import Final

from ...limits import MEMORY_INDEX_NAMES_MAX
from ...ports.memory import MEMORY_ROOT, MemoryFile
from ..model.untrusted_text import render_block

_NAME: Final = "memory_index"


def memory_index(files: Sequence[MemoryFile], fence: str) -> str:
    """The text of the index; empty if there is no file.

    Args:
        files: sorted by path.
        fence: as `render_block` takes it.
    """
    if not files:
        return ""
    lines = [file.path for file in files[:MEMORY_INDEX_NAMES_MAX]]
    if more := len(files) - len(lines):
        lines.append(f"and {more} more: view {MEMORY_ROOT}")
    return render_block(_NAME, {}, "\n".join(lines), fence=fence)


def is_memory_index(text: str) -> bool:
    """Whether the text is an index that `memory_index` made."""
    return text.startswith(f"<{_NAME}")
