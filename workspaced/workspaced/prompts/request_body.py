"""Renders a prompt as a provider's request body, and builds the `Shape` that is recorded with the prompt."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.conversations import Settings
from workspaced_events.schema.catalogue import Shape
from workspaced_tools.prompts.model.text_store import BlobStaging
from workspaced_tools.prompts.model.types import Envelope, Turn
from workspaced_tools.prompts.providers.bodies import RENDERER, RenderedBody, body_hash, cursor_of, shape
from workspaced_tools.prompts.providers.templates import Template, template_named

from . import params as p


class Wanted(NamedTuple):
    """The requested form of a body."""

    template: Template
    cached_content: str | None


class Body(NamedTuple):
    shaped: RenderedBody
    shape: Shape
    """The body's description in the log."""


def template_for(params: p.Assemble, folder: Path | None) -> Wanted:
    """The requested form, with the present text of its template. Reads `folder`, which holds the user's own.

    Raises:
        UnknownShape: there is no such template.
        InvalidArgument: `cachedContent` is given, but no shape.
    """
    if params.shape is None:
        raise InvalidArgument(
            "`cachedContent` is left out of a provider's body, and none is asked for.",
            hint="Name its `shape`, or leave `cachedContent` out.",
        )
    return Wanted(template_named(params.shape, folder), params.cached_content)


def body_of(
    envelope: Envelope,
    turn: Turn,
    settings: Settings,
    wanted: Wanted,
    staging: BlobStaging,
    blob: Callable[[str], bytes | None],
) -> Body:
    """The body of a prompt.

    Args:
        turn: the prompt's inputs.
        staging: gets a template of the user's, which is kept so that the body can be rebuilt.
        blob: reads a blob of the log.

    Raises:
        TemplateFailed: the template cannot be rendered.
        BodyInvalid: the rendered text is not a valid body.
    """

    def blob_text(name: str) -> bytes | None:
        return staging.blobs[name] if name in staging.blobs else blob(name)

    template, cached = wanted
    shaped = shape(envelope, settings, template, staging, blob_text, cached, cursor_of(turn, staging))
    own = staging.text(template.text) if template.text is not None else None
    renderer = RENDERER if own is None else None
    return Body(shaped, Shape(shaped.shape, body_hash(shaped.body), own, renderer, cached))
