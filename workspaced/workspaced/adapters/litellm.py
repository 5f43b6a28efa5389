"""LiteLLM's proxy: a hook before each call. A module `hook.py` beside the proxy's configuration:

    from workspaced.adapters.litellm import handler

and in the configuration:

    litellm_settings:
      callbacks: hook.handler

Calls of chat completions, of Anthropic's messages and of OpenAI's responses get context; others pass as they are.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from litellm.integrations.custom_logger import CustomLogger

from .chat import Pair, answer, placed, result, text_of
from .placing import Json, Placing, Transform

_CHAT: Final = {"completion", "acompletion"}
_RESPONSES: Final = {"responses", "aresponses"}
_HELD_BY_SERVER: Final = ("previous_response_id", "conversation")


class WorkspacedHandler(CustomLogger):
    """Puts context into the proxy's requests; they go on as they are if the daemon cannot help."""

    def __init__(self, name: str = "litellm", **options: Any) -> None:
        """
        Args:
            name, options: as `Placing`.
        """
        super().__init__()
        self._placing = Placing(name, **options)

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,  # noqa: ARG002 (LiteLLM names these parameters)
        cache: Any,  # noqa: ARG002
        data: Json,
        call_type: str,
    ) -> Json:
        if call_type in _CHAT:
            return await self._placing.place_async(_chat, data)
        if call_type == "anthropic_messages":
            return await self._placing.place_async(_anthropic, data)
        if call_type in _RESPONSES and not any(data.get(each) for each in _HELD_BY_SERVER):
            return await self._placing.place_async(_responses, data)
        return data


def _chat(transform: Transform, data: Json) -> Json:
    messages = data["messages"]
    system = [each for each in messages[:1] if each["role"] in ("system", "developer")]
    prompt = text_of(system[0]["content"]) if system else ""
    made = placed(transform, prompt, list(_given(messages[len(system) :])), _build)
    if made.library:
        head = system[0] if system else {"role": "system", "content": ""}
        system = [{**head, "content": "\n\n".join(filter(None, (prompt, made.library)))}]
    return {**data, "messages": [*system, *made.messages]}


def _given(messages: Iterable[Json]) -> Iterator[Pair[Json]]:
    called = set[str]()
    for message in messages:
        converted: Json | None = None
        if message["role"] == "assistant":
            calls = [each for each in message.get("tool_calls") or () if "function" in each]
            called.update(each["id"] for each in calls)
            converted = answer(text_of(message.get("content")), map(_call, calls))
        elif message["role"] == "tool" and message["tool_call_id"] in called:
            converted = result(message["tool_call_id"], text_of(message.get("content")))
        elif message["role"] == "user":
            converted = {"role": "user", "content": message["content"]}
        yield Pair(message, converted)


def _call(call: Mapping[str, Any]) -> tuple[str, str, str]:
    return call["id"], call["function"]["name"], call["function"].get("arguments") or "{}"


def _build(made: Json, own: Json | None) -> Json:
    return {**(own or {}), **made}


def _anthropic(transform: Transform, data: Json) -> Json:
    made = transform("anthropic", data["messages"], system=data.get("system"))
    system = {"system": made["system"]} if made["system"] else {}
    return {**data, "messages": made["messages"], **system}


def _responses(transform: Transform, data: Json) -> Json:
    items = data["input"]
    given = [{"role": "user", "content": items}] if isinstance(items, str) else items
    made = transform("responses", given, system=data.get("instructions"))
    instructions = {"instructions": made["system"]} if made["system"] else {}
    return {**data, "input": made["messages"], **instructions}


handler: Final = WorkspacedHandler()
