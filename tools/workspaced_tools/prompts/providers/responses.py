"""OpenAI's responses, of a history that the caller keeps. Items of reasoning, which have ids, are not kept."""

from collections.abc import Iterator
from typing import Final

from .openai import OPENAI, content_of, data_url, joined, result_text
from .provider import Json, Part, ReadTool, Request, RequestMessage, read_tool


def _body(request: Request) -> Json:
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
        yield {"role": message.role, "content": content_of(said, _piece)}
    for call in message.of_type("toolCall"):
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _piece(part: Part) -> Json:
    if part.type == "image":
        return {"type": "input_image", "detail": "auto", "image_url": data_url(part)}
    return {"type": "input_text", "text": part.text}


def _read_tool(raw: Json) -> ReadTool | None:
    """Reads what chat completions refuse."""
    if raw.get("type") != "function" or "function" in raw:
        return None
    return read_tool({key: each for key, each in raw.items() if key != "type"}, "parameters", "responses")


RESPONSES: Final = OPENAI._replace(shape="responses", render=_body, read_tool=_read_tool)
