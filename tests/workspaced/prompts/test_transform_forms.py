"""Responses and Gemini's contents through transform: their providers take what comes back, and it only grows."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from support import model_server
from support.daemon import refusal
from support.images import png
from support.transforms import own_client

Json = dict[str, Any]
NOTES = {"a.md": "# A\n\nAlpha is red.\n"}
METHOD = "workspaced/context/transform"
PIXEL = base64.b64encode(png()).decode()
URI = f"data:image/png;base64,{PIXEL}"


@pytest.fixture(scope="module")
def running(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


@pytest.fixture
def client(running: Any, request: Any) -> Iterator[Any]:
    with own_client(running, request) as client:
        yield client


def transform(client: Any, form: str, messages: list[Json], **more: Any) -> Json:
    made: Json = client.call(METHOD, {"form": form, "messages": messages, **more})
    return made


def taken(path: str, body: Json) -> Json:
    made = model_server.ModelServer().answered(path, body)
    assert made.status == 200, made.answer
    return made.answer


# -- responses --

REASONED: Json = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "c2VjcmV0"}
CALLS = [
    {"id": f"fc_{at}", "type": "function_call", "call_id": f"call_{at}", "name": "look", "arguments": '{"q": "x"}'}
    for at in (1, 2)
]
RESULTS = [{"type": "function_call_output", "call_id": f"call_{at}", "output": f"Found {at}."} for at in (1, 2)]


def test_items_of_responses_come_back_with_context_and_only_grow(running: Any, client: Any) -> None:
    items: list[Json] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "What is Alpha?"},
    ]
    one = transform(client, "responses", items, system="You help.")
    assert one["system"] == "You help.\n\nBe brief." and "Alpha is red." in one["messages"][-1]["content"]
    items += [REASONED, *CALLS, *RESULTS]
    two = transform(client, "responses", items, system="You help.")
    assert two["session"] == one["session"] and two["messages"][:1] == one["messages"]
    assert two["messages"][1:] == [REASONED, *CALLS, *RESULTS], "with their ids"
    answer = {"type": "output_text", "text": "Red.", "annotations": []}
    said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [answer]}
    items += [
        REASONED,
        said,
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Sure?"}]},
    ]
    three = transform(client, "responses", items, system="You help.")
    assert three["messages"][: len(two["messages"])] == two["messages"]
    assert three["messages"][len(two["messages"]) :][:2] == [REASONED, said]
    taken("/v1/responses", {"model": "any", "input": three["messages"], "instructions": three["system"]})
    assert running.cli("replay", "--verify", str(running.data)).returncode == 0


def test_without_reasoning_ids_of_items_are_left_out(client: Any) -> None:
    said = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Red."}],
    }
    items = [{"role": "user", "content": "What?"}, said, {"role": "user", "content": "Sure?"}]
    assert transform(client, "responses", items)["messages"][1] == {"role": "assistant", "content": "Red."}


def test_the_phase_of_an_answer_stays(client: Any) -> None:
    answer = {"role": "assistant", "content": "Red.", "phase": "final_answer"}
    items = [{"role": "user", "content": "What?"}, answer, {"role": "user", "content": "Sure?"}]
    made = transform(client, "responses", items)
    assert made["messages"][1] == answer
    taken("/v1/responses", {"model": "any", "input": made["messages"]})
    both = [*items[:2], {**answer, "phase": "commentary"}, items[2]]
    assert refusal(transform, client, "responses", both).code == "INVALID_ARGUMENT"


def test_an_image_of_an_item_stays(client: Any) -> None:
    image = {"type": "input_image", "image_url": URI, "detail": "auto"}
    words = {"type": "input_text", "text": "What is this?"}
    made = transform(client, "responses", [{"role": "user", "content": [words, image]}])
    content = made["messages"][0]["content"]
    assert [each["image_url"] for each in content if each["type"] == "input_image"] == [URI]
    taken("/v1/responses", {"model": "any", "input": made["messages"]})


@pytest.mark.parametrize(
    "items",
    [
        [{"type": "item_reference", "id": "msg_1"}],
        [{"type": "web_search_call", "id": "ws_1", "status": "completed"}],
        [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}],
        [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}],
        [{"role": "user", "content": "x"}, CALLS[0], REASONED],
        [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        ],
        [{"role": "robot", "content": "x"}],
        [{"role": "user", "content": "x"}, {**CALLS[0], "call_id": None}],
        [{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image"}]}],
    ],
)
def test_items_that_a_conversation_does_not_hold_are_refused(client: Any, items: list[Json]) -> None:
    before = client.call("workspaced/state")["clock"]
    assert refusal(client.call, METHOD, {"form": "responses", "messages": items}).code == "INVALID_ARGUMENT"
    assert client.call("workspaced/state")["clock"] == before


# -- gemini --


def said(role: str, *parts: Json) -> Json:
    return {"role": role, "parts": list(parts)}


def generated(made: Json) -> Json:
    body = {"contents": made["messages"]} | ({"systemInstruction": made["system"]} if made["system"] else {})
    return taken("/v1beta/models/any:generateContent", body)


@pytest.mark.parametrize("has_ids", [True, False])
def test_contents_come_back_with_context_and_only_grow(client: Any, has_ids: bool) -> None:
    ids: list[Json] = [{"id": f"c{at}"} if has_ids else {} for at in range(3)]
    contents = [said("user", {"text": "What is Alpha?"})]
    instruction = {"parts": [{"text": "You help."}]}
    one = transform(client, "gemini", contents, system=instruction)
    assert "Alpha is red." in str(one["messages"][-1]) and one["system"] == instruction
    call = {"name": "look", "args": {"q": "x"}}
    first = {"functionCall": {**call, **ids[0]}, "thoughtSignature": "c2lnbmVk"}
    calls = [
        first,
        {"functionCall": {**call, **ids[1]}},
        {"functionCall": {"name": "other", "args": {}, **ids[2]}},
    ]
    names = ("look", "look", "other")
    results = [
        {"functionResponse": {"name": name, "response": {"output": f"Found {at}."}, **ids[at]}}
        for at, name in enumerate(names)
    ]
    contents += [said("model", *calls), said("user", *results)]
    two = transform(client, "gemini", contents, system=instruction)
    assert two["session"] == one["session"] and two["messages"][:1] == one["messages"]
    [asked, answered] = two["messages"][1:]
    assert asked["parts"][0]["thoughtSignature"] == "c2lnbmVk" and len(asked["parts"]) == 3
    pairs = [each["functionCall"]["id"] for each in asked["parts"]]
    assert [each["functionResponse"]["id"] for each in answered["parts"]] == pairs
    assert [each["functionResponse"]["response"] for each in answered["parts"]] == [
        {"output": f"Found {at}."} for at in range(3)
    ]
    generated(two)
    contents += [said("model", {"text": "Red.", "thought_signature": "c2ln"}), said("user", {"text": "Sure?"})]
    three = transform(client, "gemini", contents, system=instruction)
    assert three["messages"][: len(two["messages"])] == two["messages"]
    generated(three)


def test_an_image_and_an_error_of_contents_stay(client: Any) -> None:
    data = PIXEL
    failed = {"functionResponse": {"name": "look", "response": {"error": "No."}}}
    contents = [
        said("user", {"inline_data": {"mime_type": "image/png", "data": data}}, {"text": "What is this?"}),
        said("model", {"functionCall": {"name": "look", "args": {}}}),
        said("user", failed),
    ]
    made = transform(client, "gemini", contents)
    assert {"inlineData": {"mimeType": "image/png", "data": data}} in made["messages"][0]["parts"]
    assert made["messages"][2]["parts"][0]["functionResponse"]["response"] == {"error": "No."}
    generated(made)


@pytest.mark.parametrize(
    "contents",
    [
        [said("user", {"fileData": {"fileUri": "gs://x"}})],
        [said("user", {"inlineData": {"mimeType": "audio/wav", "data": "eA=="}})],
        [said("user", {"text": "x", "inlineData": {}})],
        [{"role": "user"}],
        [said("user", {})],
        [said("robot", {"text": "x"})],
        [said("user", {"text": "x"}), said("model", {"executableCode": {}})],
    ],
)
def test_contents_that_a_conversation_does_not_hold_are_refused(client: Any, contents: list[Json]) -> None:
    before = client.call("workspaced/state")["clock"]
    assert refusal(client.call, METHOD, {"form": "gemini", "messages": contents}).code == "INVALID_ARGUMENT"
    assert client.call("workspaced/state")["clock"] == before
