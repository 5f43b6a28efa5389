"""The model of tests/support/model_server.py refuses what providers refuse, and counts as they count."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support import model_server

SERVER = Path(model_server.__file__)

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
def test_a_value_of_another_type_is_refused(provider: str) -> None:
    body = conversation(provider)
    messages(body)[0]["role"] = 7
    refused(body, PATHS[provider])


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


@every
def test_a_tool_whose_name_no_provider_takes_is_refused(provider: str) -> None:
    body = conversation(provider)
    tool = body["tools"][0]
    {"openai": lambda: tool["function"], "gemini": lambda: tool["functionDeclarations"][0]}.get(
        provider, lambda: tool
    )()["name"] = "look up"
    assert "look up" in refused(body, PATHS[provider])


def test_two_calls_of_one_id_are_refused() -> None:
    body = conversation("anthropic")
    for message in body["messages"][1:3]:
        message["content"] *= 2
    assert "c1" in refused(body, PATHS["anthropic"])


def test_results_of_tools_come_first() -> None:
    body = conversation("anthropic")
    body["messages"][2]["content"].insert(0, {"type": "text", "text": "first"})
    assert "first" in refused(body, PATHS["anthropic"])


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


def test_what_gemini_keeps_is_sent_by_name_alone_and_for_its_model_alone() -> None:
    server = model_server.ModelServer()
    body = conversation("gemini")
    start = {"systemInstruction": body.pop("systemInstruction"), "tools": body.pop("tools")}
    small = {"model": "models/any", "systemInstruction": {"parts": [{"text": "short"}]}, "ttl": "3600s"}
    assert answered(small, "/v1beta/cachedContents", server).status == 400
    made = answered({**small, **start}, "/v1beta/cachedContents", server)
    body["cachedContent"] = made.answer["name"]
    done = answered(body, PATHS["gemini"], server).answer
    used = done["usageMetadata"]
    assert used["cachedContentTokenCount"] == made.answer["usageMetadata"]["totalTokenCount"]
    assert used["promptTokenCount"] > used["cachedContentTokenCount"]
    assert "7,900" in json.dumps(done)
    for name in start:
        assert answered({**body, name: start[name]}, PATHS["gemini"], server).status == 400
    assert answered({**body, "cachedContent": "cachedContents/9"}, PATHS["gemini"], server).status == 403
    assert answered(body, "/v1beta/models/other:generateContent", server).status == 403


def test_gemini_takes_both_spellings_of_its_fields_and_versions_of_its_paths_but_no_field_twice() -> None:
    """Google's client spells some of them one way, some the other."""
    server = model_server.ModelServer()
    body = conversation("gemini")
    [tool] = body["tools"][0]["functionDeclarations"]
    tool["parametersJsonSchema"] = {"type": "object", "properties": {"a_b": {}, "aB": {}}}
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    body["contents"][1]["parts"][0]["functionCall"]["args"] = {"a_b": 1, "aB": 2}
    body["contents"][0]["parts"].append(image)
    camel = answered(body, PATHS["gemini"], server)
    names = (("parametersJsonSchema", "parameters_json_schema"), ("mimeType", "mime_type"))
    snake = json.dumps(body)
    for old, new in (*names, ("systemInstruction", "system_instruction"), ("functionCall", "function_call")):
        snake = snake.replace(f'"{old}"', f'"{new}"')
    for path in (PATHS["gemini"], PATHS["gemini"].replace("v1beta", "v1")):
        made = answered(json.loads(snake), path, server)
        assert (made.status, made.answer) == (200, camel.answer)
    body["contents"][0]["parts"][1]["inlineData"]["mime_type"] = "image/png"
    assert "mime_type" in refused(body, PATHS["gemini"])
    kept = {
        "model": "models/any",
        "system_instruction": body["systemInstruction"],
        "display_name": "a",
        "ttl": "9s",
    }
    name = answered(kept, "/v1/cachedContents", server).answer["name"]
    asked = {"contents": [{"role": "user", "parts": [{"text": "What is the ceiling?"}]}], "cached_content": name}
    for path in (PATHS["gemini"], PATHS["gemini"].replace("v1beta", "v1")):
        assert answered(asked, path, server).answer["usageMetadata"]["cachedContentTokenCount"] > 1_024


def counted(provider: str, answer: Json) -> tuple[int, int]:
    """All that was read, and what of it the cache gave."""
    if provider == "openai":
        used = answer["usage"]
        return used["prompt_tokens"], used["prompt_tokens_details"]["cached_tokens"]
    used = answer["usage"]
    cached = used["cache_read_input_tokens"]
    return used["input_tokens"] + used["cache_creation_input_tokens"] + cached, cached


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_what_began_alike_is_served_from_the_cache_unless_it_is_short(provider: str) -> None:
    server = model_server.ModelServer()
    first, again, other = (
        counted(provider, answered(conversation(provider, question, system), PATHS[provider], server).answer)
        for question, system in (("One?", LONG), ("Another?", LONG), ("Another?", LONG.replace("7,900", "8,000")))
    )
    assert first[1] == 0 and other[1] == 0
    assert len(LONG) // 4 - 128 < again[1] < again[0] - len("Another?") // 4
    assert again[0] - first[0] == (len("Another?") - len("One?")) // 4
    for _ in range(2):
        brief = answered(conversation(provider, system=LONG[:3_000]), PATHS[provider], server).answer
        assert counted(provider, brief)[1] == 0


def test_openai_serves_nothing_that_stood_elsewhere() -> None:
    server = model_server.ModelServer()
    for system in ("a" * 3_000, "a" * 9_000):
        answer = answered(conversation("openai", system=system), PATHS["openai"], server).answer
        assert counted("openai", answer)[1] == 0


def test_anthropic_keeps_and_serves_nothing_behind_the_last_breakpoint() -> None:
    server = model_server.ModelServer()
    body = conversation("anthropic")
    without = deepcopy(body)
    for block in (*without["system"], *without["messages"][-1]["content"]):
        block.pop("cache_control")
    for each in (without, body, without):
        assert answered(each, PATHS["anthropic"], server).answer["usage"]["cache_read_input_tokens"] == 0


@every
@pytest.mark.parametrize(
    ("question", "tool"),
    [("Please look for kitchen budget.", "search_workspace"), ("And [[Oven notes]]?", "get_note_by_reference")],
)
def test_it_calls_a_tool_that_is_offered_once_and_then_answers_from_its_result(
    provider: str, question: str, tool: str
) -> None:
    offered = json.dumps(conversation(provider, question, "Be brief."))
    for others in (
        offered.replace("search_workspace", "list_notes"),
        offered.replace("Be brief", "Oven notes: 250"),
    ):
        body = json.loads(others.replace("search_workspace", tool))
        is_search = tool == "search_workspace" and "list_notes" not in others
        assert ("call_" in json.dumps(answered(body, PATHS[provider]).answer)) == is_search
    body = json.loads(offered.replace("search_workspace", tool))
    asked = json.dumps(answered(body, PATHS[provider]).answer)
    assert tool in asked and "call_" in asked
    said = messages(body)
    result = json.dumps({"data": [{"snippet": "The oven notes say the kitchen budget is fine."}]})
    if provider == "openai":
        call = {"id": "n", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": "n", "content": result})
    elif provider == "anthropic":
        said.append({"role": "assistant", "content": [{"type": "tool_use", "id": "n", "name": tool, "input": {}}]})
        said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "n", "content": result}]})
    else:
        said.append({"role": "model", "parts": [{"functionCall": {"id": "n", "name": tool, "args": {}}}]})
        found = {"id": "n", "name": tool, "response": {"output": result}}
        said.append({"role": "user", "parts": [{"functionResponse": found}]})
    done = json.dumps(answered(body, PATHS[provider]).answer)
    assert "It says: The oven notes say the kitchen budget is fine." in done and "call_" not in done


def test_it_cites_where_there_are_sources() -> None:
    body = conversation("openai", "[1] Kitchen (Kitchen.md)\n---\n[User query]:\nWhat is the ceiling?")
    assert answered(body, PATHS["openai"]).answer["choices"][0]["message"]["content"].endswith("[^1]")


def test_as_a_program_it_serves_at_the_url_that_it_prints() -> None:
    with subprocess.Popen(
        [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        url = running.stdout.readline().strip()
        statuses = []
        for path, body in ((PATHS["openai"], conversation("openai")), (PATHS["openai"], {}), ("/v2", {})):
            asked = urllib.request.Request(url + path, json.dumps(body).encode())
            try:
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    statuses.append(answer.status)
            except urllib.error.HTTPError as error:
                with error:
                    statuses.append(error.code)
        assert statuses == [200, 400, 404]
        running.stdin.close()
        assert running.wait(60) == 0


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("<pin>\nThe ceiling is low.\n<which>ceiling</which>\n</pin>\nWhich ceiling?", "The ceiling is low."),
        ("---\n[User query]:\nWhere was the lamp?", "The lamp was there."),
    ],
)
def test_it_is_asked_by_the_words_behind_the_context_and_quotes_its_texts_and_earlier_results(
    said: str, quoted: str
) -> None:
    body = conversation("openai", said, system="Be brief.")
    body["messages"][3]["content"] = "The lamp was there."
    assert answered(body, PATHS["openai"]).answer["choices"][0]["message"]["content"] == f"It says: {quoted}"


SEARCH = {"type": "function", "name": "search_workspace", "description": "", "parameters": SCHEMA, "strict": False}


@pytest.mark.parametrize("question", ["What is the ceiling of the budget?", "Please look for the ceiling."])
def test_a_streamed_answer_is_the_same_answer(question: str) -> None:
    words = f"{LONG}\n[User query]:\n{question}"
    with model_server.ModelServer() as url:
        from anthropic import Anthropic  # takes a second, so not while tests are collected
        from openai import OpenAI

        openai, anthropic = OpenAI(base_url=f"{url}/v1", api_key="x"), Anthropic(base_url=url, api_key="x")
        chat = conversation("openai", words)
        whole = openai.chat.completions.create(**chat).choices[0].message
        with openai.chat.completions.stream(**chat) as stream:
            streamed = stream.get_final_completion().choices[0].message
        assert (streamed.content or "") == (whole.content or "")
        called = [[each.function.arguments for each in made.tool_calls or ()] for made in (whole, streamed)]
        assert called[0] == called[1]
        request = {"model": "any", "input": words, "tools": [SEARCH]}
        response = openai.responses.create(**request)
        with openai.responses.stream(**request) as events:
            final = events.get_final_response()
        assert final.output_text == response.output_text
        assert [each.type for each in final.output] == [each.type for each in response.output]
        body = conversation("anthropic", words)
        message = anthropic.messages.create(**body)
        with anthropic.messages.stream(**body) as parts:
            got = parts.get_final_message()
        assert [each.type for each in got.content] == [each.type for each in message.content]
        assert got.usage.output_tokens == message.usage.output_tokens


def test_gemini_streams_the_answer_that_it_gives_whole() -> None:
    body = conversation("gemini")
    with model_server.ModelServer() as url:
        asked = urllib.request.Request(
            f"{url}/v1beta/models/any:streamGenerateContent?alt=sse",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked) as stream:
            events = [json.loads(line[len("data: ") :]) for line in stream.read().decode().split("\n\n") if line]
    assert events == [model_server.ModelServer().answered(PATHS["gemini"], body).answer]


def test_responses_refuse_a_result_without_its_call() -> None:
    result = {"type": "function_call_output", "call_id": "c9", "output": "found"}
    items = [{"role": "user", "content": "Hello"}, result]
    made = model_server.ModelServer().answered("/v1/responses", {"model": "any", "input": items})
    assert made.status == 400 and "do not answer" in made.answer["error"]["message"]
