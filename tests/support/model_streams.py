"""A model's answer as the server-sent events in which each provider streams it."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Final

Json = dict[str, Any]
PIECE: Final = 12
"""Characters of a delta."""
_UNSIGNED: Final[Mapping[str, Json]] = {"thinking": {"signature": ""}}
"""How a block begins that is signed at its end."""


def event(data: Json, name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name is not None else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str) -> Iterator[str]:
    yield from (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def openai_events(answer: Json, request: Json) -> Iterator[bytes]:
    """Chat completions: the usage comes only if it is asked for."""
    head = {key: answer[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = answer["choices"][0]

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"content": piece}) for piece in pieces(choice["message"].get("content") or ""))
    for index, call in enumerate(choice["message"].get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, **call, "function": function}]})
        for piece in pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if (request.get("stream_options") or {}).get("include_usage"):
        yield event({**head, "choices": [], "usage": answer["usage"]})
    yield b"data: [DONE]\n\n"


def anthropic_events(answer: Json, _request: Json) -> Iterator[bytes]:
    """Messages: what was read is counted at the beginning, what was written at the end."""

    def named(name: str, /, **data: Any) -> bytes:
        return event({"type": name, **data}, name)

    written = answer["usage"]["output_tokens"]
    begun = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
    yield named("message_start", message=begun)
    for index, block in enumerate(answer["content"]):
        if block["type"] == "tool_use":
            empty, kind, field, whole = (
                {"input": {}},
                "input_json_delta",
                "partial_json",
                json.dumps(block["input"]),
            )
        else:
            field = block["type"]  # `text` or `thinking`
            empty, kind, whole = {field: ""}, f"{field}_delta", block[field]
        yield named(
            "content_block_start", index=index, content_block={**block, **empty, **_UNSIGNED.get(field, {})}
        )
        for piece in pieces(whole):
            yield named("content_block_delta", index=index, delta={"type": kind, field: piece})
        if "signature" in block:
            signed = {"type": "signature_delta", "signature": block["signature"]}
            yield named("content_block_delta", index=index, delta=signed)
        yield named("content_block_stop", index=index)
    delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield named("message_delta", delta=delta, usage={"output_tokens": written})
    yield named("message_stop")


def responses_events(answer: Json, _request: Json) -> Iterator[bytes]:
    """Responses: each event has a number; the last one holds the whole answer."""
    numbers = count()

    def named(name: str, /, **data: Any) -> bytes:
        return event({"type": name, "sequence_number": next(numbers), **data}, name)

    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield named("response.created", response=begun)
    for index, item in enumerate(answer["output"]):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "reasoning":
            yield named("response.output_item.added", output_index=index, item={**item, "encrypted_content": None})
            yield named("response.output_item.done", output_index=index, item=item)
            continue
        is_call = item["type"] == "function_call"
        empty = {**item, "status": "in_progress", **({"arguments": ""} if is_call else {"content": []})}
        yield named("response.output_item.added", output_index=index, item=empty)
        if is_call:
            for piece in pieces(item["arguments"]):
                yield named("response.function_call_arguments.delta", **place, delta=piece)
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield named("response.function_call_arguments.done", **place, **done)
        else:
            part, inside = item["content"][0], {**place, "content_index": 0}
            yield named("response.content_part.added", **inside, part={**part, "text": ""})
            for piece in pieces(part["text"]):
                yield named("response.output_text.delta", **inside, delta=piece, logprobs=[])
            yield named("response.output_text.done", **inside, text=part["text"], logprobs=[])
            yield named("response.content_part.done", **inside, part=part)
        yield named("response.output_item.done", output_index=index, item=item)
    yield named("response.completed", response=answer)


def gemini_events(answer: Json, _request: Json) -> Iterator[bytes]:
    """streamGenerateContent: each event has the form of a whole answer; one is enough for a short text."""
    yield event(answer)


STREAMS: Final[Mapping[str, Callable[[Json, Json], Iterator[bytes]]]] = {
    "/v1/chat/completions": openai_events,
    "/v1/messages": anthropic_events,
    "/v1/responses": responses_events,
}
GEMINI_STREAM: Final = ":streamGenerateContent"
"""Gemini's streams have a path of their own, which names the model."""


def stream_of(path: str, body: Json) -> Callable[[Json, Json], Iterator[bytes]] | None:
    """How the answer to a request is streamed; None: the request asks for no stream."""
    if path.endswith(GEMINI_STREAM):
        return gemini_events
    return STREAMS[path] if body.get("stream") else None
