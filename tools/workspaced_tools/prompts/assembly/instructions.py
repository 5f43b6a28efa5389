"""The first layer and the last: what the runtime says of itself, and the user's words with what stands behind.

Behind the words of each turn stand once, each after a blank line, the composer's instruction (how answers are to
be written) and the adapter's (what this model has to be told). Words that end with such a text, since a runtime
put it there itself, have it already. Where the user said nothing they stand all the same, behind the context and
without the label of words: what the turn has is to be answered so. They are in no history.
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

_SAID: Final = "the user's words end with it"


def add_system(sheet: LayerBuilder, settings: Settings, pipeline: Pipeline, texts: Texts) -> None:
    """The sections that the runtime gave; for a compression an instruction of ours instead.

    Raises:
        NotRecorded: a text is not kept.
    """
    is_compression = pipeline == "compression"
    if is_compression:
        sheet.add(LayerEntry(pipeline, "instruction", "pipeline"), COMPRESSION_SYSTEM)
    for section in settings.sections:
        thing = LayerEntry(section.name, "section", "section", revision=section.text_sha256)
        if is_compression:
            sheet.record(replace(thing, why="pipeline", state="dropped"))
        else:
            sheet.add(thing, texts(section.text_sha256))


def add_words(
    sheet: LayerBuilder, message: Message | None, settings: Settings, pipeline: Pipeline, texts: Texts
) -> None:
    """What the user said in `message`, and the instructions behind it; for a compression the task alone.

    `message`: None where the turn begins with none of a user's.

    Raises:
        NotRecorded: a text is not kept.
    """
    named = {"composer": settings.composer_sha256, "adapter": settings.adapter_sha256}
    given = {name: sha256 for name, sha256 in named.items() if sha256 is not None}
    things = {name: LayerEntry(name, "instruction", "settings", revision=sha256) for name, sha256 in given.items()}
    if pipeline == "compression":
        sheet.add(LayerEntry("task", "instruction", "pipeline"), COMPRESSION_TASK)
        for thing in things.values():
            sheet.record(replace(thing, why="pipeline", state="dropped"))
        return
    words = ""
    if message is not None:
        words = texts(message.text_sha256) if message.text_sha256 is not None else ""
        sheet.add(LayerEntry(message.id, "query", "query", revision=message.text_sha256), words)
    instructions = {name: trimmed(texts(sha256)) for name, sha256 in given.items()}
    said = _ends(trimmed(words), list(instructions.values()))
    for name, text in instructions.items():
        if text and text in said:
            sheet.record(replace(things[name], why="query", state="dropped", detail=_SAID))
        else:
            sheet.add(things[name], text)
            said.add(text)


def _ends(words: str, texts: Sequence[str]) -> set[str]:
    """Which of the texts the words end with, the last one last."""
    found = set()
    for text in reversed(texts):
        rest = words.removesuffix(text)
        if text and rest != words and (not rest or rest[-1] in TRIMMED):
            found.add(text)
            words = trimmed(rest)
    return found
