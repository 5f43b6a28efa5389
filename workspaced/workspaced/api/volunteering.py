"""`workspaced/volunteer*`: what an agent is told without asking, for hooks of runtimes and links to an editor."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from workspaced_tools.volunteering.editor import EditorPart
from workspaced_tools.volunteering.wording import Form

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import CLIENT_NAME_CHARS_MAX
from ..service.service import Service
from ..service.session import Method, Session
from ..volunteering.volunteering import Offered, SessionKey

ClientName = Annotated[str, Meta(min_length=1, max_length=CLIENT_NAME_CHARS_MAX)]
SessionName = Annotated[str, Meta(min_length=1, max_length=200)]


class Volunteer(Params, frozen=True):
    client: ClientName
    """The name of the runtime's MCP client: one sharing level governs both."""
    session: SessionName
    event: Annotated[str, Meta(min_length=1, max_length=64)]
    folders: Annotated[list[str], Meta(max_length=32)] | None = None
    """Absolute paths without symlinks: the first one that is in a served folder says which vault the agent works
    for. Default: the current vault."""
    tell: Literal["difference", "whole", "nothing"] = "difference"
    """`nothing`: the agent will lose what it was told; the next time it is told everything."""
    form: Form = "tagged"


class VolunteerEditor(Params, frozen=True):
    client: ClientName
    session: SessionName
    event: Annotated[str, Meta(min_length=1, max_length=64)]
    folders: Annotated[list[str], Meta(max_length=32)]
    """As of `Volunteer`."""
    part: EditorPart = "selection"


class Confirm(Params, frozen=True):
    token: str


class Preview(Params, frozen=True):
    client: ClientName
    session: SessionName | None = None
    """Default: the client's session that was told last; if there is none, one that was told nothing."""
    form: Form = "tagged"


async def volunteer(session: Session, _id: RequestId | None, params: Volunteer) -> Any:
    service = session.service
    vault = service.vault_of(params.folders)
    if vault is None:
        return _answer(service, Offered(None, reason="otherVault"))
    key = SessionKey.of(params.client, params.session, vault)
    if params.tell == "nothing":
        service.volunteering.forget(key)
        return _answer(service, Offered(None, reason="nothingNew"))
    is_whole = params.tell == "whole"
    offered = await service.volunteering.offer(key, params.client, params.event, whole=is_whole, form=params.form)
    return _answer(service, offered)


async def editor(session: Session, _id: RequestId | None, params: VolunteerEditor) -> Any:
    service = session.service
    vault = service.vault_of(params.folders)
    offered = Offered(None, reason="otherVault")
    if vault is not None:
        key = SessionKey.of(params.client, params.session, vault)
        offered = await service.volunteering.offer_editor(key, params.client, params.event, part=params.part)
    return {
        "view": msgspec.Raw(offered.text) if offered.text is not None else None,
        "token": offered.token,
        "reason": offered.reason,
        "clock": service.tail.clock(),
    }


def confirm(session: Session, _id: RequestId | None, params: Confirm) -> Any:
    return {"recorded": session.service.volunteering.confirm(params.token)}


async def preview(session: Session, _id: RequestId | None, params: Preview) -> Any:
    service = session.service
    vault = service.vault_of(None)
    if vault is None:
        return _answer(service, Offered(None, reason="otherVault"))
    key = SessionKey.of(params.client, params.session or "", vault)
    if params.session is None:
        key = service.volunteering.sessions.latest_of(params.client) or key
    return _answer(service, await service.volunteering.preview(key, params.client, form=params.form))


def _answer(service: Service, offered: Offered) -> dict[str, Any]:
    return {"text": offered.text, "token": offered.token, "reason": offered.reason, "clock": service.tail.clock()}


METHODS: Final = {
    "workspaced/volunteer": Method(Volunteer, volunteer),
    "workspaced/volunteer/confirm": Method(Confirm, confirm, works_paused=True),
    "workspaced/volunteer/preview": Method(Preview, preview),
    "workspaced/volunteer/editor": Method(VolunteerEditor, editor),
}
