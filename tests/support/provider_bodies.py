"""What bodies of each shape say, read back into one form, so that they can be compared with a prompt.

A message is a role and its parts; neighbours of one role are one message, as models see them. White space between
texts is no difference: each provider joins them in its own way.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

SHAPES = ("openai", "responses", "anthropic", "gemini")
_MESSAGES = {"openai": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}
_SYSTEM = {"openai": "", "responses": "instructions", "anthropic": "system", "gemini": "systemInstruction"}


class Part(NamedTuple):
    """`text`, `call`, `result`, `error` (a result that is one), `image` or `thinking`."""

    kind: str
    text: str
    id: str = ""
    name: str = ""


class Said(NamedTuple):
    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(part.text for part in self.parts if part.kind == "text")


class Read(NamedTuple):
    """A prompt, whoever it is for."""

    system: str
    messages: tuple[Said, ...]


def words(text: str) -> str:
    """Without what is between words."""
    return " ".join(text.split())


def arguments(text: str) -> str:
    """The JSON of a call's arguments, in one form."""
    return json.dumps(json.loads(text or "{}"), sort_keys=True)


def merged(messages: Iterable[tuple[str, Sequence[Part]]]) -> tuple[Said, ...]:
    """Neighbours of one role, and neighbouring texts, are one; white space is one blank."""
    made: list[tuple[str, list[Part]]] = []
    for role, parts in messages:
        if not made or made[-1][0] != role:
            made.append((role, []))
        into = made[-1][1]
        for part in parts:
            if part.kind != "text":
                into.append(part)
            elif into and into[-1].kind == "text":
                into[-1] = Part("text", words(f"{into[-1].text} {part.text}"))
            elif words(part.text):
                into.append(Part("text", words(part.text)))
    return tuple(Said(role, tuple(parts)) for role, parts in made if parts)


def of_prompt(prompt: dict[str, Any]) -> Read:
    """The provider-neutral one."""
    system, messages = "", []
    for message in prompt["messages"]:
        if message["role"] == "system":
            system += words("\n\n".join(block["text"] for block in message["content"]))
        else:
            messages.append((message["role"], [_of_block(block) for block in message["content"]]))
    return Read(system, merged(messages))


def _of_block(block: dict[str, Any]) -> Part:
    text = block.get("text") or ""
    match block["type"]:
        case "toolCall":
            return Part("call", arguments(text), block["id"], block["name"])
        case "toolResult":
            return Part("error" if block.get("isError") else "result", words(text), block["id"])
        case "image":
            return Part("image", block["mediaType"])
        case kind:
            return Part(kind, text)


# -- providers --


def of_body(shape: str, body: dict[str, Any]) -> Read:
    """What a provider is sent.

    Raises:
        AssertionError: it would refuse it: roles do not alternate, a message is empty, a call is not answered by
            the next message, a result answers no call, there are more than four breakpoints.
    """
    readers = {"openai": _of_openai, "responses": _of_responses, "anthropic": _of_anthropic, "gemini": _of_gemini}
    made: Read = readers[shape](body)
    _check_pairs(made.messages)
    return made


def _check_pairs(messages: Sequence[Said]) -> None:
    """Every call has its result in the very next message, every result its call in the one before."""
    assert messages[0].role == "user" and all(each.parts for each in messages)
    open_calls: list[str] = []
    for each in messages:
        results = [part.id for part in each.parts if part.kind in {"result", "error"}]
        assert sorted(results) == sorted(open_calls), (each.role, results, open_calls)
        kinds = [part.kind in {"result", "error"} for part in each.parts]
        assert kinds == sorted(kinds, reverse=True), "results come first in their message"
        open_calls = [part.id for part in each.parts if part.kind == "call"]
    assert not open_calls


def _check_alternates(roles: Sequence[str], first: str, second: str) -> None:
    assert list(roles) == [(first, second)[at % 2] for at in range(len(roles))], roles
    assert roles and roles[-1] == first


def _of_openai(body: dict[str, Any]) -> Read:
    said = body["messages"]
    system = "".join(words(each["content"]) for each in said if each["role"] == "system")
    assert [each["role"] for each in said].index("user") <= 1, "the system message comes first, once"
    roles = [each["role"] for each in said if each["role"] != "system"]
    for before, after in pairwise(roles):
        assert (before, after) not in {("user", "user"), ("assistant", "assistant"), ("user", "tool")}, roles
    assert roles[-1] in {"user", "tool"}
    messages = []
    for each in said:
        parts: list[Part] = []
        content = each.get("content")
        if each["role"] == "tool":
            text = content if isinstance(content, str) else " ".join(part["text"] for part in content)
            parts.append(Part("result", words(text), each["tool_call_id"]))
        elif isinstance(content, str):
            parts.append(Part("text", content))
        else:
            parts += [_openai_part(part) for part in content or ()]
        for call in each.get("tool_calls") or ():
            function = call["function"]
            parts.append(Part("call", arguments(function["arguments"]), call["id"], function["name"]))
        if each["role"] != "system":
            assert parts, each
            messages.append(("assistant" if each["role"] == "assistant" else "user", parts))
    return Read(system, merged(messages))


def _openai_part(part: dict[str, Any]) -> Part:
    if part["type"] == "text":
        return Part("text", part["text"])
    head, data = part["image_url"]["url"].split(";base64,", 1)
    assert base64.b64decode(data, validate=True)
    return Part("image", head.removeprefix("data:"))


def _of_responses(body: dict[str, Any]) -> Read:
    messages = [_responses_item(each) for each in body["input"]]
    roles = [role for role, parts in messages if parts[0].kind in {"text", "image"}]
    assert all(pair != ("user", "user") for pair in pairwise(roles)) or "assistant" in {r for r, _ in messages}
    return Read(words(body.get("instructions", "")), merged(messages))


def _responses_item(item: dict[str, Any]) -> tuple[str, list[Part]]:
    match item.get("type", "message"):
        case "function_call":
            return "assistant", [Part("call", arguments(item["arguments"]), item["call_id"], item["name"])]
        case "function_call_output":
            return "user", [Part("result", words(item["output"]), item["call_id"])]
        case "reasoning":
            return "assistant", [Part("thinking", json.dumps(item))]
    content = item["content"]
    if isinstance(content, str):
        assert content.strip()
        return item["role"], [Part("text", content)]
    return item["role"], [_responses_part(part) for part in content]


def _responses_part(part: dict[str, Any]) -> Part:
    if part["type"] in {"input_text", "output_text"}:
        assert part["text"].strip()
        return Part("text", part["text"])
    head, data = part["image_url"].split(";base64,", 1)
    assert base64.b64decode(data, validate=True)
    return Part("image", head.removeprefix("data:"))


def _of_anthropic(body: dict[str, Any]) -> Read:
    assert json.dumps(body).count('"cache_control"') <= 4
    _check_alternates([each["role"] for each in body["messages"]], "user", "assistant")
    system = body.get("system", [])
    assert isinstance(system, list) and all(block["text"].strip() for block in system)
    messages = []
    for each in body["messages"]:
        content = each["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert blocks, each
        messages.append((each["role"], [_anthropic_part(block) for block in blocks]))
    return Read(words("\n\n".join(block["text"] for block in system)), merged(messages))


def _anthropic_part(block: dict[str, Any]) -> Part:
    match block["type"]:
        case "text":
            assert block["text"].strip()
            return Part("text", block["text"])
        case "tool_use":
            return Part("call", arguments(json.dumps(block["input"])), block["id"], block["name"])
        case "tool_result":
            content = block.get("content", "")
            text = content if isinstance(content, str) else " ".join(part["text"] for part in content)
            return Part("error" if block.get("is_error") else "result", words(text), block["tool_use_id"])
        case "image":
            assert base64.b64decode(block["source"]["data"], validate=True)
            return Part("image", block["source"]["media_type"])
        case kind:
            return Part(kind, block.get("thinking", block.get("data", "")))


def _of_gemini(body: dict[str, Any]) -> Read:
    _check_alternates([each["role"] for each in body["contents"]], "user", "model")
    system = body.get("systemInstruction", {"parts": []})["parts"]
    messages = []
    for each in body["contents"]:
        assert each["parts"], each
        role = "assistant" if each["role"] == "model" else "user"
        messages.append((role, [_gemini_part(part) for part in each["parts"]]))
    return Read(words("\n\n".join(part["text"] for part in system)), merged(messages))


def _gemini_part(part: dict[str, Any]) -> Part:
    if "functionCall" in part:
        call = part["functionCall"]
        return Part("call", arguments(json.dumps(call.get("args", {}))), call["id"], call["name"])
    if "functionResponse" in part:
        answer = part["functionResponse"]
        [(kind, text)] = answer["response"].items()
        return Part({"output": "result", "error": "error"}[kind], words(text), answer["id"])
    if "inlineData" in part:
        assert base64.b64decode(part["inlineData"]["data"], validate=True)
        return Part("image", part["inlineData"]["mimeType"])
    return Part("thinking" if part.get("thought") else "text", part["text"])


def stable(shape: str, body: dict[str, Any]) -> list[str]:
    """What a provider's cache looks at, message by message: the system's text first, breakpoints left out."""
    system, said = body.get(_SYSTEM[shape]), body[_MESSAGES[shape]]
    return [json.dumps(_without_breakpoints(each), sort_keys=True) for each in (system, *said)]


def sequence(shape: str, body: dict[str, Any]) -> list[str]:
    """What a provider's cache looks at, part by part: tools, system, messages; breakpoints left out."""
    system: Any = body.get(_SYSTEM[shape])
    if shape == "gemini":
        system = system and system["parts"]
    if shape == "responses":
        system = [system] if system else []
    made: list[Any] = [["tools", each] for each in body.get("tools", ())]
    made += [["system", each] for each in system or ()]
    for message in body[_MESSAGES[shape]]:
        parts = message.get("parts" if shape == "gemini" else "content") or []
        rest = {name: value for name, value in message.items() if name not in {"parts", "content"}}
        made += [[rest, part] for part in ([parts] if isinstance(parts, str) else parts)] or [[rest]]
    return [json.dumps(_without_breakpoints(each), sort_keys=True) for each in made]


def _without_breakpoints(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_breakpoints(each) for name, each in value.items() if name != "cache_control"}
    return [_without_breakpoints(each) for each in value] if isinstance(value, list) else value


def check_same(shape: str, body: Read, prompt: Read) -> None:
    """A body says what the prompt does: all of it, in its order, and nothing besides.

    OpenAI has no field for an error: there its text must be told apart by words of its own.
    """
    assert body.system == prompt.system, shape
    assert len(body.messages) == len(prompt.messages), shape
    for got, wanted in zip(body.messages, prompt.messages, strict=True):
        assert got.role == wanted.role and len(got.parts) == len(wanted.parts), (shape, got, wanted)
        for mine, theirs in zip(got.parts, wanted.parts, strict=True):
            if shape in {"openai", "responses"} and theirs.kind == "error":
                assert mine.id == theirs.id and mine.text.endswith(theirs.text) and mine.text != theirs.text
            else:
                assert mine._replace(name="") == theirs._replace(name=""), (shape, mine, theirs)
