"""The API: for each path a view, and its parameters."""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import msgspec

from .inspected import Download, Inspected
from .views.about import About, AboutParameters, about
from .views.conversations import (
    ColumnParameters,
    Conversations,
    ConversationsParameters,
    PromptColumn,
    column,
    conversations,
)
from .views.coverage import CoverageParameters, CoverageShown, coverage
from .views.moment import Moment, MomentParameters, moment
from .views.prompt import (
    BlockParameters,
    BlockShown,
    BodyParameters,
    PromptBody,
    PromptParameters,
    PromptShown,
    block,
    body,
    prompt,
)
from .views.prompt_diff import DiffParameters, PromptDiff, diff
from .views.timeline import Timeline, TimelineParameters, timeline


class Route(NamedTuple):
    """A path of the API."""

    path: str
    """As Starlette writes it: `{name}` is a parameter too."""
    view: Callable[[Inspected, Any], msgspec.Struct | Download]
    parameters: type[msgspec.Struct]
    """Those of the path, of the query, and of a POST's JSON object."""
    answer: type[msgspec.Struct] | None
    """None: a `Download`."""
    method: Literal["GET", "POST"] = "GET"


ROUTES: Final = (
    Route("/api/about", about, AboutParameters, About),
    Route("/api/state", moment, MomentParameters, Moment),
    Route("/api/conversations", conversations, ConversationsParameters, Conversations),
    Route("/api/conversations/{conversation:path}", column, ColumnParameters, PromptColumn),
    Route("/api/coverage", coverage, CoverageParameters, CoverageShown),
    Route("/api/prompts/{seq:int}", prompt, PromptParameters, PromptShown),
    Route("/api/prompts/{seq:int}/body", body, BodyParameters, PromptBody),
    Route("/api/prompts/{seq:int}/diff", diff, DiffParameters, PromptDiff),
    Route("/api/prompts/{seq:int}/layers/{layer}/blocks/{index:int}", block, BlockParameters, BlockShown),
    Route("/api/timeline", timeline, TimelineParameters, Timeline),
)
