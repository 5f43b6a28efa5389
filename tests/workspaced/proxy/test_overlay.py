"""What a provider gets of a chat through the proxy: the client's bytes, and what was inserted."""

import json
import re
from typing import Any

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
    with world.daemon.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
    assert world.proxy.request("POST", "/v1/messages", second).context == "added"
    got = [each.raw for each in world.model.exchanges]
    assert [BLOCK.sub(b"", each) for each in got] == [first, second]
    told = [[json.loads(each[:-1])["text"] for each in BLOCK.findall(raw)] for raw in got]
    assert [len(each) for each in told] == [1, 2]
    assert told[0] == told[1][:1]
    assert "looking at: a.md" in told[0][0] and "looking at: b.md" in told[1][1]
