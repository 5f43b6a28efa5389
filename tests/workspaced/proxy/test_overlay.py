"""What a provider gets of a chat through the proxy: the client's bytes, and what was inserted."""

import json
import re
from typing import Any

import pytest
from support.proxy import Proxy
from support.raw_upstream import Connection, RawUpstream, Recorder

BLOCK = re.compile(rb'\{"type":"text","text":"<workspace[^}]*</workspace>"\},')


def body(*messages: Any) -> bytes:
    return json.dumps({"model": "m", "max_tokens": 100, "messages": list(messages)}, indent=1).encode()


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_the_clients_bytes_arrive_with_what_is_new_before_the_words_of_the_user(world: Any) -> None:
    first = body(user("What is red?"))
    second = body(user("What is red?"), assistant("Alpha."), user("And now?"))
    assert world.proxy.request("POST", "/v1/messages", first).context == "added"
    world.daemon.publish("active_note_set", note="b.md")
    assert world.proxy.request("POST", "/v1/messages", second).context == "added"
    got = [each.raw for each in world.model.exchanges]
    assert [BLOCK.sub(b"", each) for each in got] == [first, second]
    told = [[json.loads(each[:-1])["text"] for each in BLOCK.findall(raw)] for raw in got]
    assert [len(each) for each in told] == [1, 2]
    assert told[0] == told[1][:1]
    assert "looking at: a.md" in told[0][0] and "looking at: b.md" in told[1][1]


PART = {"role": "user", "parts": [{"text": "What is red?"}]}
ITEM = {"role": "user", "content": "What is red?"}


@pytest.mark.parametrize(
    ("path", "counting", "given"),
    [
        ("/v1/messages", "/v1/messages/count_tokens", {"max_tokens": 100, "messages": [user("What is red?")]}),
        ("/v1/responses", "/v1/responses/input_tokens", {"input": [ITEM]}),
        ("/v1beta/models/m:generateContent", "/v1beta/models/m:countTokens", {"contents": [PART]}),
    ],
)
def test_what_is_counted_is_what_stands(looking: Any, path: str, counting: str, given: dict[str, Any]) -> None:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        said = [proxy.request("POST", each, given).context for each in (counting, path, counting)]
    assert said == ["unchanged", "added", "added"]
    before, sent, after = (each.body for each in seen.requests)
    assert before == json.dumps(given).encode() and after == sent != before


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_chat_that_the_provider_holds_is_told_what_is_new_alone(looking: Any, is_streamed: bool) -> None:
    came: list[bytes] = []

    def serve(connection: Connection) -> None:
        while (request := connection.request()) is not None:
            came.append(request.body)
            usage = {"input_tokens": 9, "output_tokens": 2}
            answer = json.dumps({"id": f"resp_{len(came)}", "object": "response", "usage": usage}).encode()
            if is_streamed:
                connection.answer(b'data: {"response":' + answer + b"}\n\n", "text/event-stream")
            else:
                connection.answer(answer)

    bodies = [
        {"input": "What is red?"},
        *({"input": "So?", "previous_response_id": f"resp_{n}"} for n in (1, 2, 3)),
    ]
    bodies.insert(2, {"input": [{"type": "function_call_output"}], "previous_response_id": "resp_2"})
    bodies[-2:] = [{"input": "And now?", "previous_response_id": "resp_3"}]
    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        said = []
        for number, given in enumerate(bodies):
            if number == 3:
                looking.publish("active_note_set", note="b.md")
            answer = proxy.request("POST", "/v1/responses", given)
            said.append((answer.context, answer.reason.partition(":")[0]))
    assert said == [("added", ""), ("unchanged", "NOTHING_NEW"), ("unchanged", "NOTHING_NEW"), ("added", "")]
    assert came[1:3] == [json.dumps(each).encode() for each in bodies[1:3]]
    assert b"Alpha" in came[0] and b"looking at: b.md" in came[3] and b"Alpha" not in came[3]


@pytest.mark.parametrize("header", ["x-claude-code-agent-id", "x-codex-parent-thread-id"])
def test_a_helper_of_an_agent_is_told_nothing(world: Any, header: str) -> None:
    answer = world.proxy.request("POST", "/v1/messages", body(user("What is red?")), {header: "1"})
    assert answer.reason.startswith("SUBAGENT")
    assert [each.raw for each in world.model.exchanges] == [body(user("What is red?"))]


def test_no_provider_gets_a_note_that_is_withheld_and_none_for_a_client_that_is_shown_nothing(world: Any) -> None:
    world.daemon.add({"secret.md": "---\nworkspaced: private\n---\nThe code is 4711.\n"})
    world.daemon.publish("active_note_set", note="secret.md")
    world.proxy.request("POST", "/v1/messages", body(user("What is the code?")))
    world.daemon.publish("active_note_set", note="a.md")
    assert world.daemon.cli("share", "proxy", "none").returncode == 0
    world.proxy.request("POST", "/v1/messages", body(user("What is Alpha?")))
    assert not any(word in str(world.bodies) for word in ("4711", "secret", "Alpha is red"))
