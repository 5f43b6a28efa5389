"""Chats as clients of four forms write them: whole messages, with all that a client puts around the words."""

from typing import Any

REMINDER = "<system-reminder>todo</system-reminder>"
Said = tuple[str, str, bool]
"""What stands there (`user`, `answer`, `tools`), its words, and whether a list of blocks holds them."""


def text(words: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": words}


def openai(said: Said) -> list[dict[str, Any]]:
    what, words, in_blocks = said
    content: Any = [{"type": "image_url", "image_url": {"url": "data:,"}}, text(words)] if in_blocks else words
    if what == "user":
        return [{"role": "user", "content": content}]
    if what == "answer":
        return [{"role": "assistant", "content": words, "reasoning_content": "hm", "audio": {"id": "x"}}]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1.0}'}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": words},
    ]


def responses(said: Said) -> list[dict[str, Any]]:
    what, words, in_blocks = said
    if what == "user":
        return [{"role": "user", "content": [text(words, "input_text")] if in_blocks else words}]
    if what == "answer":
        return [{"type": "message", "role": "assistant", "content": [text(words, "output_text")]}]
    return [
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"},
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": words},
        {"type": "custom_tool_call_output", "call_id": "c", "output": words},
    ]


def anthropic(said: Said) -> list[dict[str, Any]]:
    what, words, in_blocks = said
    if what == "user":
        blocks = [text(REMINDER), {**text(words), "cache_control": {"type": "ephemeral"}}]
        return [{"role": "user", "content": blocks if in_blocks else words}]
    if what == "answer":
        thinking = {"type": "thinking", "thinking": "t", "signature": "s"}
        return [{"role": "assistant", "content": [thinking, text(words)]}]
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {"b": 1.0}, "caller": {"type": "direct"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": words}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result, text(REMINDER)]}]


def gemini(said: Said) -> list[dict[str, Any]]:
    what, words, in_blocks = said
    if what == "user":
        return [{"parts": [{"text": words}], **({"role": "user"} if in_blocks else {})}]
    if what == "answer":
        return [{"role": "model", "parts": [{"text": "th", "thought": True}, {"text": words}]}]
    return [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "z"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"r": words}}}]},
    ]


WRITERS = {"openai": openai, "responses": responses, "anthropic": anthropic, "gemini": gemini}
