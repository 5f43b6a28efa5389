"""Prompts given as the bodies that providers take, and how the log tells of them."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.conversations import Settings
from workspaced_events.schema.catalogue import Shape
from workspaced_tools.prompts.model.text_store import BlobStaging
from workspaced_tools.prompts.model.types import Envelope
from workspaced_tools.prompts.requests.templates import Shaped, Template, body_hash, shape, template_named

from . import params as p


class Wanted(NamedTuple):
    """The shape that a prompt is asked for in."""

    template: Template
    cached_content: str | None


class Body(NamedTuple):
    shaped: Shaped
    shape: Shape
    """As the log tells of it."""


def template_for(params: p.Assemble, folder: Path | None) -> Wanted:
    """What is asked for, with the template as it is now. Reads `folder`, of own templates.

    Raises:
        UnknownShape: there is no such template.
        InvalidArgument: a part of a body is told of that is not asked for.
    """
    if params.shape is None:
        raise InvalidArgument(
            "`cachedContent` is left out of a provider's body, and none is asked for.",
            hint="Name its `shape`, or leave `cachedContent` out.",
        )
    return Wanted(template_named(params.shape, folder), params.cached_content)


def body_of(
    envelope: Envelope, settings: Settings, wanted: Wanted, aside: BlobStaging, blob: Callable[[str], bytes | None]
) -> Body:
    """The body of a prompt. `aside` takes the template, which the body is made again from; `blob` gives what the
    log keeps.

    Raises:
        TemplateFailed: the template cannot be rendered.
        BodyInvalid: what it gives is no body.
    """

    def kept(name: str) -> bytes | None:
        return aside.blobs[name] if name in aside.blobs else blob(name)

    template, cached = wanted
    shaped = shape(envelope, settings, template, aside, kept, cached)
    name = aside.text(template.text)
    return Body(shaped, Shape(shaped.shape, name, body_hash(shaped.body), cached))
