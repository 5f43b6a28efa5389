"""The API: for each path a view, and its parameters."""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import msgspec

from workspaced_tools.prompts.audit.overlaid_chats import OverlaidChat

from .inspected import Download, EventParameters, Inspected, MomentParameters, NoParameters
from .tail import MESSAGES
from .views.about import About, Folding, about, folding
from .views.agents import Agents, agents
from .views.asked.call import (
    AskedParameters,
    Badge,
    Call,
    Calls,
    CallsParameters,
    Exchanged,
    Pair,
    PairParameters,
    answer,
    badge,
    call,
    calls,
    exchanged,
    pair,
)
from .views.events import Events, EventsParameters, events
from .views.findings import Findings, FindingsParameters, findings
from .views.judged import Judged, JudgeParameters, judge, judged
from .views.moment import Moment, moment
from .views.prompts.conversations import (
    ColumnParameters,
    Conversations,
    OverlaidParameters,
    PromptColumn,
    column,
    conversations,
    overlaid,
)
from .views.prompts.prompt import (
    BlockParameters,
    BlockShown,
    PromptBody,
    PromptParameters,
    PromptShown,
    Supposed,
    SupposedParameters,
    block,
    body,
    prompt,
    sent,
    supposed,
)
from .views.prompts.prompt_diff import DiffParameters, PromptDiff, diff
from .views.texts import Texts, TextsParameters, texts
from .views.timeline import Timeline, TimelineParameters, timeline
from .views.why import Life, Notes, NotesParameters, WhyParameters, notes, why


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
    Route("/api/about", about, NoParameters, About),
    Route("/api/events", events, EventsParameters, Events),
    Route("/api/findings", findings, FindingsParameters, Findings),
    Route("/api/folding", folding, NoParameters, Folding),
    Route("/api/state", moment, MomentParameters, Moment),
    Route("/api/agents", agents, MomentParameters, Agents),
    Route("/api/notes", notes, NotesParameters, Notes),
    Route("/api/notes/{path:path}", why, WhyParameters, Life),
    Route("/api/conversations", conversations, NoParameters, Conversations),
    Route("/api/conversations/{conversation:path}", column, ColumnParameters, PromptColumn),
    Route("/api/overlaid/{chat}", overlaid, OverlaidParameters, OverlaidChat),
    Route("/api/prompts/{seq}", prompt, PromptParameters, PromptShown),
    Route("/api/prompts/{seq}/body", body, PromptParameters, PromptBody),
    Route("/api/prompts/{seq}/sent", sent, PromptParameters, None),
    Route("/api/prompts/{seq}/diff", diff, DiffParameters, PromptDiff),
    Route("/api/prompts/{seq}/supposed", supposed, SupposedParameters, Supposed, "POST"),
    Route("/api/prompts/{seq}/layers/{layer}/blocks/{index}", block, BlockParameters, BlockShown),
    Route("/api/texts", texts, TextsParameters, Texts),
    Route("/api/timeline", timeline, TimelineParameters, Timeline),
    Route("/api/calls", calls, CallsParameters, Calls),
    Route("/api/calls/{seq}", call, EventParameters, Call),
    Route("/api/calls/{seq}/answer", answer, EventParameters, None),
    Route("/api/calls/{seq}/badge", badge, EventParameters, Badge),
    Route("/api/calls/{seq}/asked/{index}", exchanged, AskedParameters, Exchanged),
    Route("/api/calls/{seq}/with/{other}", pair, PairParameters, Pair),
    Route("/api/judged/{seq}", judged, EventParameters, Judged),
    Route("/api/judged/{seq}", judge, JudgeParameters, Judged, "POST"),
)

ANSWERS: Final = tuple(dict.fromkeys((*(each.answer for each in ROUTES if each.answer is not None), *MESSAGES)))
"""The types of the API's answers, for schemas/ and for the page's own types."""
