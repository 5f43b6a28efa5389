"""The first and the last layer: the runtime's system sections, and the user's words with instructions after them.

Two instructions follow the words of each turn, each after a blank line: the composer's (how to write answers) and
the adapter's (what this model needs). An instruction is left out if the words already end with it because the
runtime added it. If the user wrote nothing, the instructions follow the context, without the label of words,
because they apply to answers about the context too. The history has no instructions.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from workspaced_events.projections.conversations import Message, Settings
from workspaced_events.schema.catalogue import Pipeline

from ..model.blocks import TRIMMED, trimmed
from ..model.pipelines import COMPRESSION_SYSTEM, COMPRESSION_TASK
from ..model.types import Texts
from .layers import LayerBuilder, LayerEntry

_WORDS_HAVE_IT: Final = "the user's words end with it"


def add_system(builder: LayerBuilder, settings: Settings, pipeline: Pipeline, texts: Texts) -> None:
    """Adds the runtime's sections; for a compression our own instruction instead.

    Raises:
        NotRecorded: a text is not kept.
    """
    is_compression = pipeline == "compression"
    if is_compression:
        builder.add(LayerEntry(pipeline, "instruction", "pipeline"), COMPRESSION_SYSTEM)
    for section in settings.sections:
        entry = LayerEntry(section.name, "section", "section", revision=section.text_sha256)
        if is_compression:
            builder.record(replace(entry, why="pipeline", state="dropped"))
        else:
            builder.add(entry, texts(section.text_sha256))


def add_words(
    builder: LayerBuilder, message: Message | None, settings: Settings, pipeline: Pipeline, texts: Texts
) -> None:
    """Adds the user's words in `message` and the instructions after them; for a compression the task alone.

    `message`: None if the turn does not begin with a user's message.

    Raises:
        NotRecorded: a text is not kept.
    """
    named = {"composer": settings.composer_sha256, "adapter": settings.adapter_sha256}
    configured = {name: sha256 for name, sha256 in named.items() if sha256 is not None}
    entries = {
        name: LayerEntry(name, "instruction", "settings", revision=sha256) for name, sha256 in configured.items()
    }
    if pipeline == "compression":
        builder.add(LayerEntry("task", "instruction", "pipeline"), COMPRESSION_TASK)
        for entry in entries.values():
            builder.record(replace(entry, why="pipeline", state="dropped"))
        return
    words = ""
    if message is not None:
        words = texts(message.text_sha256) if message.text_sha256 is not None else ""
        builder.add(LayerEntry(message.id, "query", "query", revision=message.text_sha256), words)
    instructions = {name: trimmed(texts(sha256)) for name, sha256 in configured.items()}
    present = _ends(trimmed(words), list(instructions.values()))
    for name, text in instructions.items():
        if text and text in present:
            builder.record(replace(entries[name], why="query", state="dropped", detail=_WORDS_HAVE_IT))
        else:
            builder.add(entries[name], text)
            present.add(text)


def _ends(words: str, texts: Sequence[str]) -> set[str]:
    """The texts that the words end with, one after the other in the order of `texts`."""
    found = set()
    for text in reversed(texts):
        rest = words.removesuffix(text)
        if text and rest != words and (not rest or rest[-1] in TRIMMED):
            found.add(text)
            words = trimmed(rest)
    return found
