"""Gemini's generateContent.

It has an explicit cache, which is created once and named in later requests; what it holds may not be sent with
them. `parametersJsonSchema` accepts all of JSON Schema; the older `parameters`, with types in capitals, does not.
"""

import base64
import binascii
from typing import Any, Final

from msgspec.structs import replace

from ..model.types import Block
from .provider import Counted, Json, Part, Provider, ReadTool, Request, UsageReport, any_thinking, read_tool

DECLARED: Final = ("functionDeclarations", "function_declarations")
_TYPES: Final = frozenset({"OBJECT", "ARRAY", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "NULL"})


def _body(request: Request) -> Json:
    resource = request.cached_content.resource
    contents = [
        {"role": "model" if message.role == "assistant" else "user", "parts": list(map(_part, message.content))}
        for message in request.messages
    ]
    return {
        **({"cachedContent": resource} if resource else {}),
        "contents": contents,
        "generationConfig": {"maxOutputTokens": request.output_tokens},
        **({} if resource else _kept(request)),
    }


def _kept(request: Request) -> Json:
    """What an explicit cache holds."""
    kept: Json = {}
    if request.system:
        kept["systemInstruction"] = {"parts": [{"text": part.text} for part in request.system]}
    if request.tools or request.own_tools:
        defined = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in request.tools
        ]
        kept["tools"] = [*([{DECLARED[0]: defined}] if defined else []), *request.own_tools]
    return kept


def _create_cache(request: Request) -> Json | None:
    cached, model = request.cached_content, request.model
    named = {"model": model if "/" in model else f"models/{model}", "displayName": cached.key}
    kept = _kept(request)
    return {**named, "ttl": f"{cached.ttl_s}s", **kept} if kept else None


def _part(part: Part) -> Json:
    signed = {"thoughtSignature": part.signature} if part.signature else {}
    match part.type:
        case "text":
            return {"text": part.text}
        case "thinking":
            return {"text": part.text, "thought": True, **signed}
        case "image":
            return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
        case "toolCall":
            return {"functionCall": {"id": part.id, "name": part.name, "args": part.input}, **signed}
        case "toolResult":
            response = {"error" if part.is_error else "output": part.text}
            return {"functionResponse": {"id": part.id, "name": part.name, "response": response}}


def _usage(report: UsageReport) -> Counted:
    """Tokens read by Gemini's own tools do not count, since they were in no prompt."""
    read = report.count("promptTokenCount", "prompt_token_count")
    cached = report.count("cachedContentTokenCount", "cached_content_token_count", default=0)
    answered = report.count("candidatesTokenCount", "candidates_token_count", default=0)
    thought = report.count("thoughtsTokenCount", "thoughts_token_count", default=0)
    return report.counted(read, cached, "cachedContentTokenCount", answered + thought)


# -- thinking --


def _thinking(block: Block) -> Part | str:
    if block.redacted:
        return "gemini redacts none"
    if not block.signature:
        return "it is not signed"
    return any_thinking(block) if _is_base64(block.signature) else "its signature is none of gemini's"


def _is_base64(text: str) -> bool:
    """Whether the text is base64 as in protobuf's JSON: either alphabet, padded or not.

    Gemini's own client uses the alphabet for URLs.
    """
    plain = text.rstrip("=")
    padded = plain + "=" * (-len(plain) % 4)
    try:
        content = base64.urlsafe_b64decode(padded.replace("+", "-").replace("/", "_"))
    except (binascii.Error, ValueError):
        return False
    alphabets = (base64.b64encode(content), base64.urlsafe_b64encode(content))
    return bool(content) and text in (plain, padded) and padded.encode() in alphabets


def _with_signed_call(parts: list[Part]) -> list[Part]:
    """Moves the signature of thinking to the first call: Gemini signs the call and expects the signature there."""
    thought = next((at for at in reversed(range(len(parts))) if parts[at].type == "thinking"), None)
    call = next((at for at, part in enumerate(parts) if part.type == "toolCall"), None)
    if thought is None or call is None:
        return parts
    parts[call] = replace(parts[call], signature=parts[thought].signature)
    parts[thought] = replace(parts[thought], signature=None)
    return [part for part in parts if part.type != "thinking" or part.signature or part.text]


# -- definitions of tools --


def _read_tool(raw: Json) -> ReadTool | None:
    if set(raw) != {DECLARED[0]}:
        return None
    [declared] = raw[DECLARED[0]]
    if not isinstance(declared, dict):
        return None
    for key in ("parametersJsonSchema", "parameters_json_schema"):
        if key in declared:
            return read_tool(declared, key, "gemini")
    parameters = _lower_types(declared.get("parameters"))
    return read_tool({**declared, "parameters": parameters}, "parameters", "gemini")


def _lower_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_lower_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    lowered = {key: _lower_types(each) for key, each in schema.items()}
    if isinstance(named := lowered.get("type"), str) and named in _TYPES:
        lowered["type"] = named.lower()
    return lowered


GEMINI: Final = Provider(
    shape="gemini",
    family="gemini",
    words=frozenset({"gemini", "google"}),
    render=_body,
    marks_prefixes=False,
    create_cache=_create_cache,
    usage=_usage,
    thinking=_thinking,
    arranged=_with_signed_call,
    image_types=frozenset({"image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"}),
    fit_name=lambda name: name if name[0].isalpha() or name[0] == "_" else f"_{name}",
    read_tool=_read_tool,
)
