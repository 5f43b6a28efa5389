"""The API: for each path a view, and its parameters."""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import msgspec

from .inspected import Download, Inspected
from .views.about import About, AboutParameters, about
from .views.events import Events, EventsParameters, events
from .views.folding import Folding, FoldingParameters, folding
from .views.moment import Moment, MomentParameters, moment
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
    Route("/api/events", events, EventsParameters, Events),
    Route("/api/folding", folding, FoldingParameters, Folding),
    Route("/api/state", moment, MomentParameters, Moment),
    Route("/api/timeline", timeline, TimelineParameters, Timeline),
)
