"""OpenAI's chat completions; and its responses, of a history that the caller keeps, without items of reasoning.

The prefix is cached without being asked; the key keeps a conversation on one machine. It refuses a whole request
for one refused tool: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at
the top level", "array schema missing items".
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..model.blocks import BLANK_LINE
from .provider import Counted, Json, Part, Provider, ReadTool, Request, RequestMessage, UsageReport, read_tool

_SCHEMAS: Final = frozenset(
    {
        *("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_LISTS: Final = frozenset({"oneOf", "anyOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def _body(request: Request) -> Json:
    body: Json = {
        "model": request.model,
        "max_completion_tokens": request.output_tokens,
        "prompt_cache_key": request.conversation_key,
    }
    if request.tools or request.own_tools:
        defined = (
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        )
        body["tools"] = [*({"type": "function", "function": each} for each in defined), *request.own_tools]
    system = [{"role": "system", "content": joined(request.system)}] if request.system else []
    body["messages"] = [*system, *(each for message in request.messages for each in _messages(message))]
    return body


def _messages(message: RequestMessage) -> list[Json]:
    said, calls = message.of_type("text", "image"), message.of_type("toolCall")
    found: list[Json] = [
        {"role": "tool", "tool_call_id": result.id, "content": result_text(result)}
        for result in message.of_type("toolResult")
    ]
    if message.role == "user":
        return [*found, {"role": "user", "content": content_of(said, _piece)}] if said else found
    answer: Json = {"role": "assistant"}
    if said:
        answer["content"] = joined(said)
    if calls:
        answer["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return [*found, answer]


def _piece(part: Part) -> Json:
    if part.type == "image":
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    return {"type": "text", "text": part.text}


# -- what both of OpenAI's shapes have --


def joined(parts: Iterable[Part]) -> str:
    return BLANK_LINE.join(part.text or "" for part in parts)


def content_of(said: list[Part], piece: Any) -> Any:
    """The user's words: one text, or a list if there are images among them."""
    return list(map(piece, said)) if any(part.type == "image" for part in said) else joined(said)


def data_url(image: Part) -> str:
    return f"data:{image.media_type};base64,{image.data}"


def result_text(result: Part) -> str:
    return f"{'Error: ' if result.is_error else ''}{result.text}"


def _usage(report: UsageReport) -> Counted:
    """Reads a report of chat completions or of responses."""
    if not report.has("prompt_tokens") and report.has("input_tokens"):
        names = ("input_tokens", "input_tokens_details", "output_tokens")
    else:
        names = ("prompt_tokens", "prompt_tokens_details", "completion_tokens")
    read, details, written = names
    cached = report.part(details).count("cached_tokens", default=0)
    return report.counted(report.count(read), cached, f"{details}.cached_tokens", report.count(written))


# -- definitions of tools --


def _read_tool(raw: Json) -> ReadTool | None:
    function = raw.get("function")
    if raw.get("type") != "function" or not isinstance(function, dict):
        return None
    return read_tool(function, "parameters", "openai", set(raw) - {"type", "function"})


def _with_items(schema: Any) -> Any:
    """Adds an empty `items`, which allows anything, to each array schema without one."""
    if not isinstance(schema, dict):
        return schema
    found = {key: _inner(key, each) for key, each in schema.items()}
    kinds = schema.get("type")
    if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "items" not in schema:
        found["items"] = {}
    return found


def _inner(key: str, value: Any) -> Any:
    if key in _SCHEMAS:
        return _with_items(value)
    if key in _LISTS and isinstance(value, list):
        return [_with_items(each) for each in value]
    if key in _NAMED and isinstance(value, dict):
        return {name: _with_items(each) for name, each in value.items()}
    return value


OPENAI: Final = Provider(
    shape="openai",
    family="openai",
    words=frozenset({"openai", "azure"}),
    render=_body,
    marks_prefixes=False,
    usage=_usage,
    thinking=None,
    image_types=frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    call_id_chars_max=40,
    read_tool=_read_tool,
    refused_keywords=frozenset({"oneOf", "anyOf", "allOf", "enum", "const", "not"}),
    fit_parameters=lambda parameters: (_with_items(parameters), []),
)


# -- responses --


def _responses_body(request: Request) -> Json:
    body: Json = {
        "model": request.model,
        "max_output_tokens": request.output_tokens,
        "prompt_cache_key": request.conversation_key,
    }
    if request.system:
        body["instructions"] = joined(request.system)
    if request.tools or request.own_tools:
        defined = (
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        )
        body["tools"] = [*defined, *request.own_tools]
    body["input"] = [item for message in request.messages for item in _items(message)]
    return body


def _items(message: RequestMessage) -> Iterator[Json]:
    said = message.of_type("text", "image")
    for result in message.of_type("toolResult"):
        yield {"type": "function_call_output", "call_id": result.id, "output": result_text(result)}
    if said:
        yield {"role": message.role, "content": content_of(said, _responses_piece)}
    for call in message.of_type("toolCall"):
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _responses_piece(part: Part) -> Json:
    if part.type == "image":
        return {"type": "input_image", "detail": "auto", "image_url": data_url(part)}
    return {"type": "input_text", "text": part.text}


def _read_responses_tool(raw: Json) -> ReadTool | None:
    """Reads what chat completions refuse."""
    if raw.get("type") != "function" or "function" in raw:
        return None
    return read_tool({key: each for key, each in raw.items() if key != "type"}, "parameters", "responses")


RESPONSES: Final = OPENAI._replace(shape="responses", render=_responses_body, read_tool=_read_responses_tool)
