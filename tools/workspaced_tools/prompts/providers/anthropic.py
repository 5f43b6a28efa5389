"""Anthropic's Messages API.

It writes its cache at breakpoints (`request.marked`). Its input count excludes cached tokens. It refuses an
image whose bytes are of another type than declared ("the image was specified using the image/jpeg media type, but
appears to be image/png"), and one whose base64 is longer than 5 MiB ("image exceeds 5 MB maximum").

It refuses a whole request for one refused tool: "input_schema does not support oneOf, allOf, or anyOf at the top
level", "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", for the top level only.
"""

from collections.abc import Iterable
from typing import Final

import regex

from ..model.types import Block
from .provider import Counted, Json, Part, Provider, ReadTool, Request, Unfit, UsageReport, any_thinking, read_tool

_KEY: Final = regex.compile(r"[a-zA-Z0-9_.-]{1,64}")


def _body(request: Request) -> Json:
    body: Json = {"model": request.model, "max_tokens": request.output_tokens}
    if request.system:
        body["system"] = list(map(_block, request.system))
    if request.tools or request.own_tools:
        defined = (
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        )
        body["tools"] = [*defined, *request.own_tools]
    body["messages"] = [
        {"role": message.role, "content": list(map(_block, message.content))} for message in request.messages
    ]
    return body


def _block(part: Part) -> Json:
    block = _unmarked(part)
    if part.cache and part.type != "thinking":
        block["cache_control"] = {"type": "ephemeral"}
    return block


def _unmarked(part: Part) -> Json:
    match part.type:
        case "text":
            return {"type": "text", "text": part.text}
        case "thinking" if part.redacted:
            return {"type": "redacted_thinking", "data": part.text}
        case "thinking":
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case "image":
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
            return {"type": "image", "source": source}
        case "toolCall":
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input}
        case "toolResult":
            return _result(part)


def _result(part: Part) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": part.id}
    says_something = bool(part.text and part.text.strip())
    if part.images:
        text = [{"type": "text", "text": part.text}] if says_something else []
        block["content"] = [*text, *map(_block, part.images)]
    elif says_something:
        block["content"] = part.text
    if part.is_error:
        block["is_error"] = True
    return block


def _usage(report: UsageReport) -> Counted:
    cached = report.count("cache_read_input_tokens", default=0)
    read = report.count("input_tokens") + report.count("cache_creation_input_tokens", default=0) + cached
    return Counted(read, cached, report.count("output_tokens"))


def _thinking(block: Block) -> Part | str:
    return any_thinking(block) if block.signature or block.redacted else "it is not signed"


def _read_tool(raw: Json) -> ReadTool | None:
    if "input_schema" not in raw or raw.get("type") not in (None, "custom"):
        return None
    return read_tool({key: each for key, each in raw.items() if key != "type"}, "input_schema", "anthropic")


def _fit_parameters(parameters: Json) -> tuple[Json, list[str]]:
    """Leaves out properties whose names are refused."""
    properties, required = parameters["properties"], parameters.get("required")
    bad = [key for key in properties if not _KEY.fullmatch(key)] if isinstance(properties, dict) else []
    if isinstance(required, list) and (needed := [key for key in bad if key in required]):
        raise Unfit(f"anthropic refuses the name of what it requires: {_listed(needed)}")
    if not bad:
        return parameters, []
    kept = {key: each for key, each in properties.items() if key not in bad}
    change = f"this is left out, since anthropic refuses the name: {_listed(bad)}"
    return {**parameters, "properties": kept}, [change]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name[:64]) for name in names)


ANTHROPIC: Final = Provider(
    shape="anthropic",
    family="anthropic",
    words=frozenset({"anthropic", "claude"}),
    render=_body,
    usage=_usage,
    thinking=_thinking,
    results_hold_images=True,
    image_types=frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    image_base64_chars_max=5 * 1024 * 1024,
    read_tool=_read_tool,
    refused_keywords=frozenset({"oneOf", "anyOf", "allOf"}),
    fit_parameters=_fit_parameters,
)
