"""`workspaced/context/overlay*`: what is put into requests to providers, for who sends them."""

from typing import Annotated, Any

from msgspec import Meta

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import TURNS_PER_REQUEST_MAX
from ..overlay.overlays import Asked
from ..overlay.request import Form
from ..service.session import Session

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
    asked = Asked(params.form, turns, params.open, params.chat)
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
