"""Renders an envelope as the body of a provider's request, by the provider's module or a runtime's template."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

import msgspec

from workspaced_events.projections.conversations import Settings
from workspaced_events.schema.catalogue import Shape as Recorded

from ...errors import BodyInvalid, NotRecorded
from ...ports.base import Wire
from ..model.stored_texts import NOT_KEPT, texts_in
from ..model.types import Envelope, Texts
from .cache_breakpoints import MARKS_MAX
from .known import SHAPES
from .provider import OWN, Json
from .request import Blob, request_of
from .templates import Rendered, Template, rendered

RENDERER: Final = 1
"""The version of the functions that render SHAPES: a change of their bodies raises it."""
BODY: Final = "body"
"""The difference reported if all layers and the manifest are equal."""
_FREE_FORM: Final = frozenset(
    {
        *("input_schema", "inputSchema", "parameters", "parametersJsonSchema", "parameters_json_schema"),
        *("input", "args", "arguments"),
    }
)
"""Fields with schemas or arguments, in which any name is allowed."""


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
    """None: the provider has no explicit cache, or the template no macro `cached_content`."""


def shape(
    envelope: Envelope,
    settings: Settings,
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
        BodyInvalid: the provider would refuse the rendered body.
        NotRecorded: from `texts`.
    """
    provider = SHAPES[template.name] if template.text is None else OWN
    request, changes = request_of(envelope, settings, provider, texts, blob, cached_content)
    if template.text is not None:
        made = rendered(template.name, template.text, request)
    else:
        assert provider.render is not None, "of SHAPES"
        create = provider.create_cache
        made = Rendered(provider.render(request), create(request) if create else None, create is not None)
    if template.text is not None or request.own_tools:
        _check_breakpoints(made.body, template.name)
    cached = request.cached_content
    offer = CacheOffer(cached.key, f"{cached.ttl_s}s", made.created) if made.offers else None
    return RenderedBody(template.name, made.body, changes, request.tool_names, offer)


def body_hash(body: Json) -> str:
    """Lower-case hex sha256 of the body's compact JSON."""
    return sha256(msgspec.json.encode(body)).hexdigest()


def _check_breakpoints(body: Json, template: str) -> None:
    """Refuses what the provider would refuse with a less helpful message.

    Raises:
        BodyInvalid: there are too many breakpoints.
    """
    marks = list(_breakpoints(body))
    if len(marks) > MARKS_MAX:
        raise BodyInvalid(
            f"The body of {template!r} has {len(marks)} cache_control, one too many at {marks[MARKS_MAX]}.",
            hint=f"At most {MARKS_MAX} are allowed, those of tools' definitions included: leave some out.",
            template=template,
            path=marks[MARKS_MAX],
        )


def _breakpoints(body: Json) -> Iterator[str]:
    """The paths of all `cache_control`, in their order."""
    waiting: list[tuple[str, Any]] = [("$", body)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, list):
            waiting += ((f"{path}[{at}]", each) for at, each in reversed([*enumerate(value)]))
        elif isinstance(value, dict):
            if value.get("cache_control") is not None:
                yield f"{path}.cache_control"
            inner = ((key, each) for key, each in reversed(value.items()) if key not in _FREE_FORM)
            waiting += ((f"{path}.{key}", each) for key, each in inner if isinstance(each, list | dict))


# -- recorded prompts --


def rebuild_request_body(recorded: Recorded, envelope: Envelope, settings: Settings, blob: Blob) -> RenderedBody:
    """Rebuilds the request body of a recorded prompt, by the recorded template even if it has changed since.

    Args:
        recorded: the shape in the prompt's event.
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

    texts, sha256 = texts_in(blob), recorded.template_sha256
    template = Template(recorded.name, texts(sha256) if sha256 is not None else None)
    return shape(envelope, settings, template, texts, recorded_blob, recorded.cached_content)
