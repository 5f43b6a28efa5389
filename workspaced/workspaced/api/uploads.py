"""`workspaced/blob/put`: texts too long for one line."""

from typing import Annotated, Any

from msgspec import Meta

from workspaced_events.limits import ID_CHARS_MAX

from ..ipc.jsonrpc import RequestId
from ..prompts.params import Params
from ..service.session import Session


class PutBlob(Params, frozen=True):
    upload: Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX)]
    """The client's name for the upload; parts are joined in the order in which they come."""
    text: str
    last: bool = False
    """Whether the text is complete with this part."""


def put_blob(session: Session, _id: RequestId | None, params: PutBlob) -> Any:
    put = session.service.uploads.put(session.client, params.upload, params.text, last=params.last)
    return {"bytes": put.bytes} if put.sha256 is None else {"bytes": put.bytes, "sha256": put.sha256}
