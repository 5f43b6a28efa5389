"""Pydantic AI: a model that puts context into each request to another one.

    agent = Agent(WorkspacedModel("openai:gpt-5"))

The agent's history never holds the context: a model is given the messages after they were kept.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import KnownModelName, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from workspaced_events.errors import InvalidArgument

from .chat import Pair, answer, placed, result
from .placing import Json, Placing, Transform


class WorkspacedModel(WrapperModel):
    """The wrapped model, with context in its requests; they go on as they are if the daemon cannot help."""

    def __init__(self, wrapped: Model | KnownModelName | str, name: str = "pydantic-ai", **options: Any) -> None:
        """
        Args:
            name, options: as `Placing`; `context_window` is the wrapped model's, if that is known.
        """
        super().__init__(wrapped)
        self._placing = Placing(name, **{"context_window": self.wrapped.context_window, **options})

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        placed = await self._with_context(messages, model_request_parameters)
        return await self.wrapped.request(placed, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        placed = await self._with_context(messages, model_request_parameters)
        async with self.wrapped.request_stream(
            placed, model_settings, model_request_parameters, run_context
        ) as stream:
            yield stream

    async def _with_context(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> list[ModelMessage]:
        instructions = [each.content for each in parameters.instruction_parts or ()]

        def work(transform: Transform, messages: list[ModelMessage]) -> list[ModelMessage]:
            return _in_place(transform, messages, instructions)

        return await self._placing.place_async(work, messages)


class _Piece(NamedTuple):
    """A response, or a part of a request: what the form has as a message."""

    message: ModelMessage | None
    """None: of the request before."""
    part: ModelRequestPart | None = None


def _in_place(
    transform: Transform, messages: Sequence[ModelMessage], instructions: Sequence[str]
) -> list[ModelMessage]:
    prompts = [
        each.content
        for message in messages
        if isinstance(message, ModelRequest)
        for each in message.parts
        if isinstance(each, SystemPromptPart)
    ]
    made = placed(transform, "\n\n".join([*prompts, *instructions]), list(_given(messages)), _build)
    library = [_Piece(None, SystemPromptPart(made.library))] if made.library else []
    return list(_joined([*library, *made.messages]))


def _given(messages: Iterable[ModelMessage]) -> Iterator[Pair[_Piece]]:
    called = set[str]()
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [each for each in message.parts if isinstance(each, ToolCallPart)]
            called.update(each.tool_call_id for each in calls)
            converted = [(each.tool_call_id, each.tool_name, each.args_as_json_str()) for each in calls]
            texts = [each.content for each in message.parts if isinstance(each, TextPart)]
            yield Pair(_Piece(message), answer("".join(texts), converted))
        else:
            yield from (Pair(_Piece(message, part), _told(part, called)) for part in message.parts)


def _told(part: ModelRequestPart, called: set[str]) -> Json | None:
    if isinstance(part, UserPromptPart):
        content = part.content
        return {
            "role": "user",
            "content": content if isinstance(content, str) else [*_blocks(content)],
        }
    if isinstance(part, ToolReturnPart):
        return result(part.tool_call_id, part.model_response_str()) if part.tool_call_id in called else None
    if isinstance(part, RetryPromptPart):
        if part.tool_name is None:
            return {"role": "user", "content": part.model_response()}
        return result(part.tool_call_id, part.model_response()) if part.tool_call_id in called else None
    return None


def _blocks(content: Iterable[UserContent]) -> Iterator[Json]:
    for each in content:
        if isinstance(each, str | TextContent):
            yield {"type": "text", "text": each if isinstance(each, str) else each.content}
        elif isinstance(each, BinaryContent) and each.is_image:
            yield {"type": "image_url", "image_url": {"url": each.data_uri}}
        elif isinstance(each, ImageUrl):
            yield {"type": "image_url", "image_url": {"url": each.url}}
        elif not isinstance(each, CachePoint):
            raise InvalidArgument(f"A conversation does not hold {type(each).__name__}.")


def _build(made: Json, own: _Piece | None) -> _Piece:
    content = made["content"] or ""
    if made["role"] == "assistant":
        calls = [
            ToolCallPart(each["function"]["name"], each["function"]["arguments"], tool_call_id=each["id"])
            for each in made.get("tool_calls") or ()
        ]
        return _Piece(ModelResponse([*([TextPart(content)] if content else []), *calls]))
    message, part = own if own is not None else _Piece(None)
    if made["role"] == "tool":
        name = part.tool_name if isinstance(part, ToolReturnPart | RetryPromptPart) else None
        return _Piece(message, ToolReturnPart(name or "tool", content, made["tool_call_id"]))
    own_parts = part.content if isinstance(part, UserPromptPart) else ()
    contents = content if isinstance(content, str) else [_content(block, own_parts) for block in content]
    if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
        marks = [each for each in part.content if isinstance(each, CachePoint)]
        contents = [*([contents] if isinstance(contents, str) else contents), *marks]
    return _Piece(message, UserPromptPart(contents))


def _content(block: Json, own_parts: str | Sequence[UserContent]) -> UserContent:
    """`own_parts`: the framework's own, which hold more than the form."""
    if block["type"] == "text":
        return str(block["text"])
    image = BinaryContent.from_data_uri(block["image_url"]["url"])
    images = (each for each in own_parts if isinstance(each, BinaryContent))
    return next((each for each in images if each.data == image.data), image)


def _joined(pieces: Iterable[_Piece]) -> Iterator[ModelMessage]:
    """Messages of pieces: parts that come from one request are one again."""
    request: ModelRequest | None = None
    parts = list[ModelRequestPart]()

    def joined() -> Iterator[ModelMessage]:
        if parts:
            yield replace(request, parts=[*parts]) if request is not None else ModelRequest([*parts])
            parts.clear()

    for message, part in pieces:
        if part is None:
            yield from joined()
            assert message is not None
            yield message
            request = None
        else:
            if isinstance(message, ModelRequest) and request is not None and message is not request:
                yield from joined()
            request = message if isinstance(message, ModelRequest) else request
            parts.append(part)
    yield from joined()
