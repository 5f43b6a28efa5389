"""A model for agents' real programs: it takes any body, keeps it, and answers by a script.

`ModelServer` holds bodies against the providers' Python types; programs send fields that these do not know yet.
"""

import json
import re
import threading
from collections.abc import Iterator
from typing import Any, Final

from support.model_server import Exchange, ModelServer

Json = dict[str, Any]
Call = tuple[str, Json]
"""Name and arguments of a tool."""
PROMPT_TOKENS: Final = 1_000
"""What each request is said to have cost: a program may be set to compact its history above fewer."""
WAIT_S: Final = 20
"""So long an answer waits for `awaited`."""
SIDE_REQUEST: Final = re.compile(r"/v1beta/models/[^/:]+:generateContent")
"""Gemini's program asks on the side how hard a question is, and for a summary of its history."""


class ScriptedModel(ModelServer):
    """Answers `Answer N.`, or calls the tool that `calls` has for words of the user."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, Call] = {}
        """By words of the question for which they are made, once each."""
        self.awaited = ""
        """Words of a subagent's prompt: until they came, nothing but a call of a tool is answered."""
        self.thinks = False
        """Whether what it thinks stands before each answer."""
        self.breaks = 0
        """So many of the next answers end in their middle."""
        self._came = threading.Condition()

    @property
    def bodies(self) -> list[Json]:
        """Of all requests but side requests, in their order."""
        return [each.body for each in self.exchanges if not SIDE_REQUEST.fullmatch(each.path)]

    def answered(self, path: str, body: Json, raw: bytes = b"") -> Exchange:
        words = "\n".join(text for role, text in messages(body) if role == "user")
        with self._came:
            call = self.calls.pop(next((key for key in self.calls if key in words), ""), None)
            answer = _answer(path, body, len(self.exchanges) + 1, call)
            made = Exchange(path, body, 200, _thought(path, answer) if self.thinks else answer, raw)
            self.exchanges.append(made)
            if self.awaited in words:
                self.awaited = ""
                self._came.notify_all()
            elif call is None:
                self._came.wait_for(lambda: not self.awaited, WAIT_S)
        return made

    def events(self, path: str, body: Json, answer: Json) -> Iterator[bytes] | None:
        stream = super().events(path, body, answer)
        if stream is None or not self.breaks or SIDE_REQUEST.fullmatch(path):
            return stream
        self.breaks -= 1
        whole = list(stream)
        return iter(whole[: len(whole) // 2])


def messages(body: Json) -> list[tuple[str, str]]:
    """Role and text of each text of a request's messages, in their order, whichever provider's form it has."""
    if isinstance(body.get("input"), str):
        return [("user", body["input"])]
    return [
        (str(message.get("role", "")), text)
        for message in body.get("messages") or body.get("input") or body.get("contents") or ()
        for text in _texts(message)
    ]


def _texts(message: Json) -> Iterator[str]:
    content = message.get("content") or message.get("parts") or ()
    if isinstance(content, str):
        yield content
        return
    for part in content:
        if isinstance(part.get("text"), str):
            yield part["text"]


def _answer(path: str, body: Json, number: int, call: Call | None) -> Json:
    if path == "/v1/messages":
        return _anthropic(body, number, call)
    return _responses(body, number, call) if path == "/v1/responses" else _gemini(number, call)


def _thought(path: str, answer: Json) -> Json:
    if path == "/v1/messages":
        return answer | {
            "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, *answer["content"]]
        }
    if path == "/v1/responses":
        item = {"type": "reasoning", "id": f"rs_{answer['id']}", "summary": [], "encrypted_content": "c2ln"}
        return answer | {"output": [item, *answer["output"]]}
    content = answer["candidates"][0]["content"]
    content["parts"] = [{"text": "Hm.", "thought": True}, *content["parts"]]
    content["parts"][-1]["thoughtSignature"] = "c2ln"
    return answer


def _anthropic(body: Json, number: int, call: Call | None) -> Json:
    content: Json = {"type": "text", "text": f"Answer {number}."}
    if call is not None:
        content = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": call[1]}
    used = {"input_tokens": PROMPT_TOKENS, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [content],
        "stop_reason": "end_turn" if call is None else "tool_use",
        "stop_sequence": None,
        "usage": {**used, "output_tokens": 5},
    }


def _responses(body: Json, number: int, call: Call | None) -> Json:
    part = {"type": "output_text", "text": f"Answer {number}.", "annotations": []}
    item: Json = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": [part]}
    if call is not None:
        arguments = json.dumps(call[1])
        item = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}"}
        item |= {"name": call[0], "arguments": arguments, **_namespace(body, call[0])}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body.get("model"),
        "output": [{**item, "status": "completed"}],
        "usage": {
            "input_tokens": PROMPT_TOKENS,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": PROMPT_TOKENS + 5,
        },
    }


def _gemini(number: int, call: Call | None) -> Json:
    part: Json = {"text": f"Answer {number}."}
    if call is not None:
        part = {"functionCall": {"id": f"call_{number}", "name": call[0], "args": call[1]}}
    used = {"promptTokenCount": PROMPT_TOKENS, "candidatesTokenCount": 5, "totalTokenCount": PROMPT_TOKENS + 5}
    content = {"role": "model", "parts": [part]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": used}


def _namespace(body: Json, name: str) -> Json:
    """Codex groups tools."""
    groups = [each for each in body.get("tools", ()) if each["type"] == "namespace"]
    holding = [each["name"] for each in groups if name in [tool["name"] for tool in each["tools"]]]
    return {"namespace": holding[0]} if holding else {}
