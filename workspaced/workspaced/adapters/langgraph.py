"""LangGraph: functions for any node that calls a model.

    answer = model.invoke(with_context(state["messages"]))

The graph's state and its checkpoints never hold the context, since the given messages do not change.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)

from .chat import Pair, Placed, answer, placed, result
from .placing import Json, Placing, Transform

_PLACING: Final = Placing("langgraph")


def with_context(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages for a model, with context in place; as they are if the daemon cannot help."""
    return _PLACING.place(_with_context, list(messages))


async def awith_context(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """As `with_context`, without blocking the event loop."""
    return await _PLACING.place_async(_with_context, list(messages))


def _with_context(transform: Transform, messages: list[AnyMessage]) -> list[AnyMessage]:
    system = messages[0] if messages and isinstance(messages[0], SystemMessage) else None
    made = in_place(transform, system, messages[system is not None :])
    system = with_library(system, made.library)
    return [system, *made.messages] if system is not None else made.messages


def in_place(
    transform: Transform, system: SystemMessage | None, messages: Sequence[AnyMessage]
) -> Placed[AnyMessage]:
    """The messages with context in place.

    Raises:
        WorkspacedError: as `transform`.
    """
    return placed(transform, str(system.text) if system is not None else "", list(_given(messages)), _build)


def with_library(system: SystemMessage | None, library: str) -> SystemMessage | None:
    """The system prompt with the context library behind it."""
    if system is None:
        return SystemMessage(library) if library else None
    if not library:
        return system
    content = [{"type": "text", "text": system.content}] if isinstance(system.content, str) else system.content
    return system.model_copy(update={"content": [*content, {"type": "text", "text": library}]})


def _given(messages: Iterable[AnyMessage]) -> Iterator[Pair[AnyMessage]]:
    called = set[str]()
    for message in messages:
        converted: Json | None = None
        if isinstance(message, AIMessage):
            converted = answer(str(message.text), _calls(message))
            called.update(each[0] for each in _calls(message))
        elif isinstance(message, HumanMessage):
            converted = {"role": "user", "content": convert_to_openai_messages(message)["content"]}
        elif isinstance(message, ToolMessage) and message.tool_call_id in called:
            converted = result(message.tool_call_id, str(message.text))
        yield Pair(message, converted)


def _calls(message: AIMessage) -> Iterator[tuple[str, str, str]]:
    for call in message.tool_calls:
        yield call["id"] or "", call["name"], json.dumps(call["args"], ensure_ascii=False)
    for invalid in message.invalid_tool_calls:
        yield invalid["id"] or "", invalid["name"] or "", invalid["args"] or ""


def _build(made: Json, own: AnyMessage | None) -> AnyMessage:
    content = made["content"] or ""
    if own is not None:
        return own.model_copy(update={"content": content})
    return convert_to_messages([made])[0]
