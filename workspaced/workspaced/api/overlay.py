"""`workspaced/context/overlay*`: what is put into requests to providers, for who sends them."""

from typing import Annotated, Any

from msgspec import Meta

from workspaced_events.limits import NOTE_ID_CHARS_MAX

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import ATTACHMENTS_PER_MESSAGE_MAX, TURNS_PER_REQUEST_MAX
from ..overlay.overlays import Asked
from ..overlay.request import Form
from ..service.session import Session

NotePath = Annotated[str, Meta(min_length=1, max_length=NOTE_ID_CHARS_MAX)]
Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Turn(Params, frozen=True):
    key: Hash
    """Of the chat up to a message of the user."""
    near: Hash
    """Of that message and the answer before it alone."""


class Overlay(Params, frozen=True):
    form: Form
    turns: Annotated[list[Turn], Meta(min_length=1, max_length=TURNS_PER_REQUEST_MAX)]
    """One for each message of the user, the oldest first."""
    open: bool
    """Whether nothing answers the last of them yet, so that something may be put before it."""
    chat: Hash
    """Of the chat's name, or of its first words."""
    active_text: bool = False
    """Whether the text of the active note is told, too, for a model that cannot ask for it."""
    attachments: Annotated[tuple[NotePath, ...], Meta(max_length=ATTACHMENTS_PER_MESSAGE_MAX)] = ()
    """Paths of other notes whose texts are told."""


class Confirm(Params, frozen=True):
    token: str
    body_sha256: Hash
    """Of the body as it was sent."""


class Finished(Params, frozen=True):
    token: str
    form: Form
    usage: dict[str, Any]
    """The provider's usage object, as it came."""


async def overlay(session: Session, _id: RequestId | None, params: Overlay) -> Any:
    service = session.service
    turns = [(each.key, each.near) for each in params.turns]
    texts: dict[str, Any] = {}
    if params.active_text:
        texts["activeText"] = True
    if params.attachments:
        texts["attached"] = list(params.attachments)
    asked = Asked(params.form, turns, params.open, params.chat, texts)
    made = await service.overlays.overlay(session.client, asked)
    return {
        "insertions": [{"turn": turn, "text": text} for turn, text in made.texts.items()],
        "token": made.token,
        "reason": made.reason,
        "clock": service.tail.clock(),
    }


async def confirm(session: Session, _id: RequestId | None, params: Confirm) -> Any:
    return {"recorded": await session.service.overlays.confirm(params.token, params.body_sha256)}


async def finished(session: Session, _id: RequestId | None, params: Finished) -> Any:
    return {"recorded": await session.service.overlays.finished(params.token, params.form, params.usage)}
