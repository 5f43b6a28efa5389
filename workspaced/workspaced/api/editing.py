"""`workspaced/names`, `workspaced/links`: what an editor offers its user while they write.

Both show what tools show: the vault's levels and the client's sharing level hold, by the name that it gave in
hello. Names are told as what is shown unasked; links of and to a note also of one that is shown on request, since
the request names it. A client with `names` is told no links.

They go on in a pause. A pause stops what agents are told and what is recorded of the user; these answers go to the
user's own editor, are no calls of tools and are recorded nowhere, and an editor that stopped completing would be
in the user's way.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from workspaced_events.ids import note_id
from workspaced_events.limits import NOTE_ID_CHARS_MAX
from workspaced_tools.editing.links import IncomingPlaces, OutgoingLink, Wanted, WrittenLink, incoming, outgoing
from workspaced_tools.editing.names import Completions, completions
from workspaced_tools.editing.positions import Encoding

from ..calls.answers import Seen
from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..service.session import Method, Session

_EXCERPT_CHARS_MAX: Final = 2_000
"""Of a link's target, in an answer to an editor."""
_LINKS_MAX: Final = 1_000
"""Links in one answer to an editor, and in one request."""
_COMPLETION_PREFIX_CHARS_MAX: Final = 1_000
_COMPLETIONS_MAX: Final = 500
"""Names in one answer to an editor."""


class Names(Params, frozen=True):
    prefix: Annotated[str, Meta(max_length=_COMPLETION_PREFIX_CHARS_MAX)]
    """What the user has written behind `[[`."""
    note: Annotated[str, Meta(max_length=NOTE_ID_CHARS_MAX)] | None = None
    """The note in which they write; default: one in the vault's root."""
    limit: Annotated[int, Meta(ge=1, le=_COMPLETIONS_MAX)] = 30
    vault: str | None = None
    """Default: the current vault."""


class Links(Params, frozen=True):
    note: Annotated[str, Meta(max_length=NOTE_ID_CHARS_MAX)]
    direction: Literal["out", "in"]
    links: Annotated[tuple[WrittenLink, ...], Meta(max_length=_LINKS_MAX)] | None = None
    """Only with `out`: these links, of the note's unsaved text, instead of those in its file."""
    parts: bool = False
    """Only with `out`: also the lines of headings and blocks, for which the targets are read."""
    excerpt_chars: Annotated[int, Meta(ge=0, le=_EXCERPT_CHARS_MAX)] = 0
    """Only with `out`: how much of each target, or of the part of it that is named, is told."""
    encoding: Encoding = "utf-16"
    """What the columns of ranges count."""
    limit: Annotated[int, Meta(ge=1, le=_LINKS_MAX)] = _LINKS_MAX
    vault: str | None = None
    """Default: the current vault."""


async def names(session: Session, _id: RequestId | None, params: Names) -> Any:
    """What a link may lead to that begins with `prefix`, best first."""
    service = session.service
    served = service.served_vault(params.vault)
    source = note_id(params.note) if params.note is not None else None

    def look(shown: Seen, _requested: Seen) -> Completions:
        return completions(shown.view, params.prefix, source, params.limit)

    found = await service.calls.with_views(look, session.client, served.id, works_paused=True)
    return {"vault": served.id, "names": found.names, "complete": found.complete, "clock": service.tail.clock()}


async def links(session: Session, _id: RequestId | None, params: Links) -> Any:
    """The links of a note with what they lead to, or the links to it with what they stand in."""
    service = session.service
    served = service.served_vault(params.vault)
    note = note_id(params.note)

    wanted = Wanted(params.limit, params.encoding, params.parts, params.excerpt_chars)

    def look(_shown: Seen, requested: Seen) -> list[OutgoingLink] | IncomingPlaces:
        if params.direction == "in":
            return incoming(requested.view, note, wanted)
        return outgoing(requested.view, note, params.links, wanted)

    found = await service.calls.with_views(look, session.client, served.id, works_paused=True)
    answer = {"links": found} if isinstance(found, list) else {"links": found.links, "total": found.total}
    return {"vault": served.id, "note": note, **answer, "clock": service.tail.clock()}


METHODS: Final = {
    "workspaced/names": Method(Names, names, works_paused=True),
    "workspaced/links": Method(Links, links, works_paused=True),
}
