"""The oracle by which bodies are held, tests/support/model_server.py, refuses what providers refuse."""

import json
from copy import deepcopy
from typing import Any

import pytest
from support import model_server

Json = dict[str, Any]
LONG = "The ceiling of the kitchen budget is 7,900 euros.\n" + "Nobody reads this line. " * 400
PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/any:generateContent",
}
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}


def conversation(provider: str, question: str = "What is the ceiling?", system: str = LONG) -> Json:
    """A question after a round of tools, as the provider takes it."""
    if provider == "openai":
        function = {"name": "search_workspace", "parameters": SCHEMA}
        called = {"id": "c1", "type": "function", "function": {"name": "search_workspace", "arguments": "{}"}}
        return {
            "model": "any",
            "max_completion_tokens": 100,
            "tools": [{"type": "function", "function": function}],
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": None, "tool_calls": [called]},
                {"role": "tool", "tool_call_id": "c1", "content": "found"},
                {"role": "assistant", "content": "Yes."},
                {"role": "user", "content": question},
            ],
        }
    if provider == "anthropic":
        called = {"type": "tool_use", "id": "c1", "name": "search_workspace", "input": {}}
        mark = {"cache_control": {"type": "ephemeral"}}
        return {
            "model": "any",
            "max_tokens": 100,
            "tools": [{"name": "search_workspace", "input_schema": SCHEMA}],
            "system": [{"type": "text", "text": system, **mark}],
            "messages": [
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": [called]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "found"}]},
                {"role": "assistant", "content": "Yes."},
                {"role": "user", "content": [{"type": "text", "text": question, **mark}]},
            ],
        }
    found = {"id": "c1", "name": "search_workspace", "response": {"output": "found"}}
    return {
        "systemInstruction": {"parts": [{"text": system}]},
        "tools": [{"functionDeclarations": [{"name": "search_workspace", "parametersJsonSchema": SCHEMA}]}],
        "generationConfig": {"maxOutputTokens": 100},
        "contents": [
            {"role": "user", "parts": [{"text": "Hello"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "search_workspace", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": found}]},
            {"role": "model", "parts": [{"text": "Yes."}]},
            {"role": "user", "parts": [{"text": question}]},
        ],
    }


def messages(body: Json) -> list[Json]:
    """Those of the body, whatever they are called."""
    found: list[Json] = body["contents" if "contents" in body else "messages"]
    return found


def answered(body: Json, path: str, server: Any = None) -> Any:
    return (server or model_server.ModelServer()).answered(path, body)


def refused(body: Json, path: str) -> str:
    """The message of the refusal, whose form is the provider's own."""
    made = answered(body, path)
    assert made.status in {400, 403}
    error = made.answer["error"]
    if path.startswith("/v1beta"):
        assert error["code"] == made.status and error["status"] in {"INVALID_ARGUMENT", "PERMISSION_DENIED"}
    elif path == PATHS["anthropic"]:
        assert made.answer["type"] == "error" and error["type"] == "invalid_request_error"
    else:
        assert error["type"] == "invalid_request_error" and {"param", "code"} <= error.keys()
    message: str = error["message"]
    return message


every = pytest.mark.parametrize("provider", PATHS)


@every
def test_a_good_conversation_is_answered_with_a_line_of_its_context(provider: str) -> None:
    made = answered(conversation(provider), PATHS[provider])
    assert made.status == 200, made.answer
    assert "It says: The ceiling of the kitchen budget is 7,900 euros." in json.dumps(made.answer)


@every
def test_a_field_that_the_provider_does_not_know_is_refused_where_it_stands(provider: str) -> None:
    top, inside = conversation(provider), conversation(provider)
    top["conversation"] = "x"
    messages(inside)[0]["conversation"] = "x"
    assert "conversation" in refused(top, PATHS[provider])
    assert refused(inside, PATHS[provider]).startswith(("messages.0", "contents.0"))


@every
def test_roles_alternate_begin_with_the_user_and_end_there(provider: str) -> None:
    for change in ("twice", "first", "last", "none"):
        body = conversation(provider)
        said = messages(body)
        users = [each for each in said if each["role"] == "user"]
        others = [each for each in said if each["role"] in {"assistant", "model"}]
        if change == "twice":
            said.insert(said.index(users[-1]), deepcopy(users[0]))
        elif change == "first":
            said.remove(users[0])
        elif change == "last":
            said.append(deepcopy(others[-1]))
        else:
            said.clear()
        message = refused(body, PATHS[provider])
        assert "alternate" in message or "end with a user" in message


@every
def test_a_call_without_its_result_and_a_result_without_its_call_are_refused(provider: str) -> None:
    for at in (1, 2):
        body = conversation(provider)
        said = [each for each in messages(body) if each["role"] != "system"]
        said[at].pop("tool_calls", None)
        said[at].update(
            {"parts": [{"text": "x"}]} if provider == "gemini" else {"role": ("assistant", "user")[at - 1]}
        )
        if provider != "gemini":
            said[at].pop("tool_call_id", None)
            said[at]["content"] = "x"
        assert "tool" in refused(body, PATHS[provider])


@every
def test_empty_text_is_refused_in_messages_and_in_the_system(provider: str) -> None:
    assert "non-empty" in refused(conversation(provider, question=" \n"), PATHS[provider])
    assert "non-empty" in refused(conversation(provider, system=""), PATHS[provider])


def test_anthropic_wants_max_tokens_and_at_most_4_breakpoints() -> None:
    body = conversation("anthropic")
    mark = {"cache_control": {"type": "ephemeral"}}
    body["tools"][0].update(mark)
    body["messages"][2]["content"][0].update(mark)
    assert answered(body, PATHS["anthropic"]).status == 200
    body["system"].append({"type": "text", "text": "more", **mark})
    assert "maximum of 4" in refused(body, PATHS["anthropic"])
    del body["max_tokens"]
    assert "max_tokens" in refused(body, PATHS["anthropic"])
