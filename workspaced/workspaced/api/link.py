"""`workspaced/link/*`: one workspace on several machines."""

from typing import Annotated, Any, Final

from msgspec import Meta

from workspaced_events.schema.peer_events import Replicate

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import LINK_NAME_CHARS_MAX
from ..service.session import Session

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


async def new(session: Session, _id: RequestId | None, params: NewLink) -> Any:
    """Makes a link of which this daemon is the creator, and its first invitation."""
    return await session.service.link.new(
        params.servers, params.person, params.machine, auto_approve=params.auto_approve
    )


async def invite(session: Session, _id: RequestId | None, params: Invite) -> Any:
    return await session.service.link.invite(params.person)


async def join(session: Session, _id: RequestId | None, params: Join) -> Any:
    return await session.service.link.join(params.code, params.servers, params.machine)


async def approve(session: Session, _id: RequestId | None, params: OneOrigin) -> Any:
    return await session.service.link.approve(params.origin)


async def map_vault(session: Session, _id: RequestId | None, params: MapVault) -> Any:
    return await session.service.link.map_vault(params.folder, params.name, params.replicate)


async def remove(session: Session, _id: RequestId | None, params: OneOrigin) -> Any:
    return await session.service.link.remove(params.origin)


async def rotate(session: Session, _id: RequestId | None, _params: NoLinkParams) -> Any:
    return await session.service.link.rotate()


async def renew(session: Session, _id: RequestId | None, params: Join) -> Any:
    return await session.service.link.renew(params.code, params.servers, params.machine)


async def leave(session: Session, _id: RequestId | None, _params: NoLinkParams) -> Any:
    return await session.service.link.leave()


def link_status(session: Session, _id: RequestId | None, _params: NoLinkParams) -> Any:
    return {"link": session.service.link.status()}
