"""`workspaced/link/*`: one workspace on several machines."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from msgspec import Meta

from workspaced_events.schema.peer_events import Replicate

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import LINK_NAME_CHARS_MAX
from ..peers.link import Link
from ..service.session import Method, Session

_LINK_CODE_CHARS_MAX: Final = 512
"""Of an invitation."""
_LINK_SERVERS_MAX: Final = 16
_LINK_SERVER_CHARS_MAX: Final = 512
Name = Annotated[str, Meta(min_length=1, max_length=LINK_NAME_CHARS_MAX)]
Server = Annotated[str, Meta(min_length=1, max_length=_LINK_SERVER_CHARS_MAX)]
Servers = Annotated[tuple[Server, ...], Meta(max_length=_LINK_SERVERS_MAX)]
Origin = Annotated[str, Meta(pattern="^[0-9a-f]{4,32}$")]
"""The beginning of an origin's id, if only one begins so."""


class NewLink(Params, frozen=True):
    servers: Servers = ()
    """URLs of NATS servers; none: those of the setting `link`."""
    person: Name | None = None
    """Who works here; default: the user's name."""
    machine: Name | None = None
    """What this machine is called; default: its host name."""
    auto_approve: bool = False
    """Whether who has a code for this same person joins without `approve`."""


class Invite(Params, frozen=True):
    person: Name | None = None
    """Who is invited; None: this same person, at another machine."""


class Join(Params, frozen=True):
    code: Annotated[str, Meta(min_length=1, max_length=_LINK_CODE_CHARS_MAX)]
    servers: Servers = ()
    machine: Name | None = None


class OneOrigin(Params, frozen=True):
    origin: Origin


class MapVault(Params, frozen=True):
    folder: str
    """The folder of a vault that the daemon serves, or the vault's id."""
    name: Name
    """What all daemons of the link call the vault."""
    replicate: Replicate = "all"
    """What of it is shared."""


class NoLinkParams(Params, frozen=True):
    pass


def _method(params: type[Params], ask: Callable[[Link, Any], Any], *, writes: bool = True) -> Method:
    def handle(session: Session, _id: RequestId | None, given: Any) -> Any:
        return ask(session.service.link, given)

    return Method(params, handle, works_paused=True, writes=writes)


METHODS: Final = {
    "workspaced/link/new": _method(
        NewLink, lambda link, it: link.new(it.servers, it.person, it.machine, auto_approve=it.auto_approve)
    ),
    "workspaced/link/invite": _method(Invite, lambda link, it: link.invite(it.person)),
    "workspaced/link/join": _method(Join, lambda link, it: link.join(it.code, it.servers, it.machine)),
    "workspaced/link/approve": _method(OneOrigin, lambda link, it: link.approve(it.origin)),
    "workspaced/link/map": _method(MapVault, lambda link, it: link.map_vault(it.folder, it.name, it.replicate)),
    "workspaced/link/remove": _method(OneOrigin, lambda link, it: link.remove(it.origin)),
    "workspaced/link/leave": _method(NoLinkParams, lambda link, _: link.leave()),
    "workspaced/link/status": _method(NoLinkParams, lambda link, _: {"link": link.status()}, writes=False),
}
"""Each asks the daemon's link, paused or not."""
