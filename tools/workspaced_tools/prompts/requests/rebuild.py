"""Bodies made again: a prompt is shaped by the very template that it was shaped by, whatever that has become."""

from collections.abc import Callable

from workspaced_events.projections.conversations import Settings
from workspaced_events.schema.catalogue import PromptAssembled
from workspaced_events.schema.catalogue import Shape as Recorded

from ...errors import NotRecorded
from ..model.stored_inputs import texts_in
from ..model.types import Envelope
from .templates import Shaped, Template, body_hash, shape

BODY = "body"
"""What differs where no layer does, nor the manifest."""
_Blob = Callable[[str], bytes | None]


def shaped_again(recorded: Recorded, envelope: Envelope, settings: Settings, blob: _Blob) -> Shaped:
    """The body that a prompt was given as.

    Args:
        recorded: what the log says of it.
        envelope: the prompt, made again.
        settings: of the conversation, as they were then.

    Raises:
        NotRecorded: the template or an image is not kept.
        TemplateFailed, BodyInvalid: this program cannot make a body with that template any more.
    """

    def kept(name: str) -> bytes:
        content = blob(name)
        if content is None:
            raise NotRecorded(
                "An image of the prompt is not kept",
                hint="It may have been forgotten with its note, or the log is an export, which holds no texts.",
            )
        return content

    texts = texts_in(blob)
    template = Template(recorded.name, texts(recorded.template_sha256))
    return shape(envelope, settings, template, texts, kept, recorded.cached_content)


def body_difference(data: PromptAssembled, envelope: Envelope, settings: Settings, blob: _Blob) -> str | None:
    """BODY where the prompt comes to another body than it was given as; None: to the same, or it was given as
    none.

    Raises:
        NotRecorded, TemplateFailed, BodyInvalid: as `shaped_again`.
    """
    if data.shape is None:
        return None
    made = shaped_again(data.shape, envelope, settings, blob)
    return None if body_hash(made.body) == data.shape.body_hash else BODY
