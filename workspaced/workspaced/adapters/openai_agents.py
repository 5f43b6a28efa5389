"""OpenAI's Agents SDK: a filter of what a run sends to its model.

    await Runner.run(agent, "...", run_config=RunConfig(call_model_input_filter=WorkspacedFilter()))

The run's items and sessions never hold the context: the filter is given a copy of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agents.run import CallModelData, ModelInputData

from workspaced_events.errors import InvalidArgument

from .chat import Pair, answer, placed, result, text_of
from .placing import Json, Placing, Transform

Items = list[Any]
"""A message, a result, or all items of one answer."""


class WorkspacedFilter:
    """A `call_model_input_filter`; what it is given goes on as it is if the daemon cannot help.

    A filter does not see whether the server holds the history (`conversation_id`, `previous_response_id`). Such a
    run should have none: its requests with results of tools pass unchanged, but those with new words get context,
    which the server then keeps.
    """

    def __init__(self, name: str = "openai-agents", **options: Any) -> None:
        """
        Args:
            name, options: as `Placing`.
        """
        self._placing = Placing(name, **options)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        return await self._placing.place_async(_with_context, data.model_data)


def _with_context(transform: Transform, data: ModelInputData) -> ModelInputData:
    given = list(_given(data.input))
    if all(each.converted is None for each in given):
        return data
    made = placed(transform, data.instructions or "", given, _build)
    instructions = "\n\n".join(filter(None, (data.instructions, made.library)))
    items = [item for each in made.messages for item in each]
    return ModelInputData(input=items, instructions=instructions or None)


def _given(items: Iterable[Any]) -> Iterator[Pair[Items]]:
    called, answered = set[str](), Items()
    for item in items:
        if not (_is_message(item, "user", "system", "developer") or _kind(item) == "function_call_output"):
            answered.append(item)
            continue
        if answered:
            yield Pair(answered, _answer(answered))
            called.update(str(each["call_id"]) for each in answered if _kind(each) == "function_call")
            answered = Items()
        converted: Json | None = None
        if _is_message(item, "user"):
            converted = {"role": "user", "content": _content(item["content"])}
        elif _kind(item) == "function_call_output" and item["call_id"] in called:
            converted = result(item["call_id"], _text(item["output"]))
        yield Pair([item], converted)
    if answered:
        yield Pair(answered, _answer(answered))


def _kind(item: Any) -> str:
    return str(item.get("type") or "message")


def _is_message(item: Any, *roles: str) -> bool:
    return _kind(item) == "message" and item.get("role") in roles


def _answer(items: Sequence[Any]) -> Json | None:
    texts = (_text(each["content"]) for each in items if _kind(each) == "message")
    calls = (
        (each["call_id"], each["name"], each["arguments"]) for each in items if _kind(each) == "function_call"
    )
    return answer("\n\n".join(filter(None, texts)), calls)


def _text(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(str(each["text"]) for each in content if "text" in each)


def _content(content: str | Sequence[Mapping[str, Any]]) -> str | list[Json]:
    return content if isinstance(content, str) else list(map(_block, content))


def _block(block: Mapping[str, Any]) -> Json:
    if block["type"] == "input_text":
        return {"type": "text", "text": block["text"]}
    if block["type"] == "input_image" and block.get("image_url"):
        return {"type": "image_url", "image_url": {"url": block["image_url"]}}
    raise InvalidArgument(f"A conversation does not hold a block of type {block['type']!r}.")


def _build(made: Json, own: Items | None) -> Items:
    content = made["content"] or ""
    if made["role"] == "tool":
        item = own[0] if own else {"type": "function_call_output", "call_id": made["tool_call_id"]}
        return [{**item, "output": content}]
    if made["role"] == "user":
        ours = own[0]["content"] if own else ()
        images = [each for each in ours if isinstance(each, Mapping) and each.get("type") == "input_image"]
        blocks = content if isinstance(content, str) else [_input(block, images) for block in content]
        return [{**(own[0] if own else {"role": "user"}), "content": blocks}]
    calls = [
        {
            "type": "function_call",
            "call_id": each["id"],
            "name": each["function"]["name"],
            "arguments": each["function"]["arguments"],
        }
        for each in made.get("tool_calls") or ()
    ]
    return [*([{"role": "assistant", "content": text_of(content)}] if content else []), *calls]


def _input(block: Json, images: Sequence[Mapping[str, Any]]) -> Json:
    """`images`: the framework's own, which hold more than the form."""
    if block["type"] == "text":
        return {"type": "input_text", "text": block["text"]}
    url = block["image_url"]["url"]
    own = next((each for each in images if each.get("image_url") == url), {})
    return {"type": "input_image", "detail": "auto", **own, "image_url": url}
