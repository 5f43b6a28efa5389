"""Renders an envelope as the body of a provider's request, by the provider's module or a runtime's template."""

from hashlib import sha256
from typing import Final

import msgspec

from workspaced_events.schema.catalogue import ConversationStarted
from workspaced_events.schema.catalogue import Shape as Recorded

from ...errors import NotRecorded
from ...ports.base import Wire
from ..model.stored_texts import NOT_KEPT, texts_in
from ..model.types import Envelope, Texts
from .known import SHAPES
from .provider import OWN, Json
from .request import Blob, request_of
from .templates import Template, rendered

RENDERER: Final = 1
"""The version of the functions that render SHAPES: a change of their bodies raises it."""
BODY: Final = "body"
"""The difference reported if all layers and the manifest are equal."""


class CacheOffer(Wire, frozen=True, omit_defaults=False):
    """What a provider may be asked to keep under a name of its own."""

    key: str
    """Changes whenever the cached content changes."""
    ttl: str
    create: Json | None
    """The body of the request that creates the cache; None: there is nothing to cache."""


class RenderedBody(Wire, frozen=True, omit_defaults=False):
    shape: str
    body: Json
    changes: tuple[str, ...]
    """One sentence for each change to the envelope's content."""
    tool_names: dict[str, str]
    """Maps the sent name of each renamed tool to the defined name."""
    cached_content: CacheOffer | None
    """None: the provider has no explicit cache, or a template of your own made the body."""


def shape(
    envelope: Envelope,
    settings: ConversationStarted,
    template: Template,
    texts: Texts,
    blob: Blob,
    cached_content: str | None = None,
) -> RenderedBody:
    """Renders the request body of an envelope. Pure except for reading `texts` and `blob`.

    Args:
        cached_content: the provider's resource that holds the first two layers and the tools.

    Raises:
        TemplateFailed: the template cannot be rendered, or renders no JSON object.
        NotRecorded: from `texts`.
    """
    provider = SHAPES[template.name] if template.text is None else OWN
    request, changes = request_of(envelope, settings, provider, texts, blob, cached_content)
    if template.text is not None:
        body, offer = rendered(template.name, template.text, request), None
    else:
        assert provider.render is not None, "of SHAPES"
        body, cached, create = provider.render(request), request.cached_content, provider.create_cache
        offer = CacheOffer(cached.key, f"{cached.ttl_s}s", create(request)) if create is not None else None
    return RenderedBody(template.name, body, changes, request.tool_names, offer)


def body_hash(body: Json) -> str:
    """Lower-case hex sha256 of the body's compact JSON."""
    return sha256(msgspec.json.encode(body)).hexdigest()


# -- recorded prompts --


def rebuild_request_body(
    recorded: Recorded, envelope: Envelope, settings: ConversationStarted, blob: Blob
) -> RenderedBody:
    """Rebuilds the request body of a recorded prompt, by the recorded template even if it has changed since.

    Args:
        recorded: the shape in the prompt's event.
        envelope: the rebuilt prompt.
        settings: the conversation's settings when the prompt was made.

    Raises:
        NotRecorded: the template or an image is not kept.
        TemplateFailed: this version cannot render the recorded template.
    """

    def recorded_blob(name: str) -> bytes:
        content = blob(name)
        if content is None:
            raise NotRecorded("An image of the prompt is not kept", hint=NOT_KEPT)
        return content

    texts, sha256 = texts_in(blob), recorded.template_sha256
    template = Template(recorded.name, texts(sha256) if sha256 is not None else None)
    return shape(envelope, settings, template, texts, recorded_blob, recorded.cached_content)
