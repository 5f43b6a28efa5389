"""What stands around the cursor of a completion, for templates of models that fill in the middle.

Such a model takes the text before and after the cursor apart from the prompt. Both are cut to the length that the
prompt shows, but nothing in them is escaped.
"""

from typing import Final, NamedTuple

from workspaced_events.schema.catalogue import PromptAssembled

from ..model.stored_inputs import inputs_of
from ..model.types import Texts, Turn
from ..sources.surroundings import around

_COMPLETION: Final = "completion"


class Cursor(NamedTuple):
    prefix: str = ""
    suffix: str = ""


NO_CURSOR: Final = Cursor()


def cursor_of(turn: Turn, texts: Texts) -> Cursor:
    """The first selection or cursor of a completion; empty texts for other pipelines, or where there is none.

    Raises:
        NotRecorded: from `texts`.
    """
    if turn.policy.pipeline != _COMPLETION:
        return NO_CURSOR
    for artifact in turn.artifacts:
        if artifact.kind == "selected_text" and artifact.failed is None:
            shown = around(artifact, texts)
            return Cursor(shown.before, shown.after)
    return NO_CURSOR


def recorded_cursor(data: PromptAssembled, texts: Texts) -> Cursor:
    """As `cursor_of`, for a prompt in a log.

    Raises:
        NotRecorded: a text is not kept.
    """
    return cursor_of(inputs_of(data.inputs_sha256, texts), texts) if data.pipeline == _COMPLETION else NO_CURSOR
