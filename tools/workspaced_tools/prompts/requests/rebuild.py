"""Rebuilds request bodies with the recorded template, even if the template has changed since."""

from collections.abc import Callable

from workspaced_events.projections.conversations import Settings
from workspaced_events.schema.catalogue import PromptAssembled
from workspaced_events.schema.catalogue import Shape as Recorded

from ...errors import NotRecorded
from ..model.stored_inputs import NOT_KEPT, texts_in
from ..model.types import Envelope
from .cursor import recorded_cursor
from .templates import RenderedBody, Template, body_hash, shape

BODY = "body"
"""The difference reported if all layers and the manifest are equal."""
_Blob = Callable[[str], bytes | None]


def rebuild_request_body(
    data: PromptAssembled, recorded: Recorded, envelope: Envelope, settings: Settings, blob: _Blob
) -> RenderedBody:
    """Rebuilds the request body of a recorded prompt.

    Args:
        data: the prompt's event.
        recorded: its shape.
        envelope: the rebuilt prompt.
        settings: the conversation's settings when the prompt was made.

    Raises:
        NotRecorded: the template or an image is not kept.
        TemplateFailed, BodyInvalid: this version cannot render the recorded template.
    """

    def recorded_blob(name: str) -> bytes:
        content = blob(name)
        if content is None:
            raise NotRecorded("An image of the prompt is not kept", hint=NOT_KEPT)
        return content

    texts = texts_in(blob)
    template = Template(recorded.name, texts(recorded.template_sha256))
    cursor = recorded_cursor(data, texts)
    return shape(envelope, settings, template, texts, recorded_blob, recorded.cached_content, cursor)


def body_difference(data: PromptAssembled, envelope: Envelope, settings: Settings, blob: _Blob) -> str | None:
    """BODY if the rebuilt body differs from the recorded one; None if not, or if the prompt has no body.

    Raises:
        NotRecorded, TemplateFailed, BodyInvalid: as `rebuild_request_body`.
    """
    if data.shape is None:
        return None
    made = rebuild_request_body(data, data.shape, envelope, settings, blob)
    return None if body_hash(made.body) == data.shape.body_hash else BODY
