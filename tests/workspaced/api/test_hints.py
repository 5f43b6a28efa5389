"""Whoever sends a bad request is told the next step: no refusal of a method has an empty hint."""

from typing import Any

import pytest
from msgspec import inspect

from workspaced.api.routes import METHODS
from workspaced.errors import RemoteError

SETTINGS = {"provider": "openai", "model": "m", "contextWindow": 9_000, "outputReserve": 100}
OURS = [name for name in METHODS if name.startswith("workspaced/") and name != "workspaced/shutdown"]
CONTEXT, TALK = "workspaced/context", {"conversation": "talk"}
MESSAGE = {"role": "user", "text": "Hi."}


@pytest.fixture(scope="module")
def client(module_daemon: Any) -> Any:
    with module_daemon().connect() as made:
        made.call(f"{CONTEXT}/start", {**SETTINGS, **TALK})
        made.call(f"{CONTEXT}/message", {**TALK, "messages": [{**MESSAGE, "id": "m1"}]})
        yield made


def without_hint(client: Any, method: str, params: Any) -> str | None:
    """The message of a refusal that says no next step."""
    try:
        client.call(method, params)
    except RemoteError as error:
        return None if error.hint else error.message
    return None


@pytest.mark.parametrize("method", OURS)
def test_parameters_of_another_kind(client: Any, method: str) -> None:
    fields = [each.encode_name for each in getattr(inspect.type_info(METHODS[method].params), "fields", ())]
    bad = [[1], {"odd": 1}, *({name: {"odd": [1]}} for name in fields), *({name: -(2**70)} for name in fields)]
    assert [found for params in bad if (found := without_hint(client, method, params))] == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (f"{CONTEXT}/start", {**SETTINGS, "contextWindow": 0}),
        (f"{CONTEXT}/start", {**SETTINGS, "outputReserve": 9_000}),
        (f"{CONTEXT}/start", {**SETTINGS, "agent": "nobody"}),
        (f"{CONTEXT}/start", {**SETTINGS, "vault": "none"}),
        (f"{CONTEXT}/message", {**TALK, "messages": []}),
        (f"{CONTEXT}/message", {**TALK, "messages": [{}]}),
        (f"{CONTEXT}/message", {**TALK, "messages": [{"role": "tool", "text": "x"}]}),
        (f"{CONTEXT}/message", {**TALK, "messages": [{**MESSAGE, "attachments": [{"kind": "odd"}]}]}),
        (f"{CONTEXT}/message", {**TALK, "messages": [{**MESSAGE, "textSha256": "0" * 64}]}),
        (f"{CONTEXT}/message", {**TALK, "remove": {"id": "none"}}),
        (f"{CONTEXT}/pin", {**TALK, "id": "p", "kind": "text"}),
        (f"{CONTEXT}/pin", {**TALK, "id": "p", "kind": "note", "path": "../x.md"}),
        (f"{CONTEXT}/pin", {**TALK, "id": "p", "kind": "workspace", "path": "a.md"}),
        (f"{CONTEXT}/assemble", {"conversation": "none"}),
        (f"{CONTEXT}/assemble", {**TALK, "message": "none"}),
        (f"{CONTEXT}/assemble", {**TALK, "shape": "none"}),
        (f"{CONTEXT}/usage", {**TALK, "seq": 1, "input": 1, "output": 1}),
        (f"{CONTEXT}/summary", {**TALK, "until": "none", "text": "x"}),
        (f"{CONTEXT}/cite", {**TALK, "text": "x", "message": "none"}),
        (f"{CONTEXT}/plan", {**TALK, "message": "none"}),
        (f"{CONTEXT}/import", {"text": "no chat"}),
        (f"{CONTEXT}/import", {"text": "---\nprovider: 3\n---\n", **SETTINGS}),
        ("workspaced/state", {"at": 9_999_999}),
        ("workspaced/state", {"at": "9999-01-01T00:00:00Z"}),
        ("workspaced/state", {"at": "yesterday"}),
        ("workspaced/state", {"vault": "none"}),
        ("workspaced/state", {"of": "Ann"}),
        ("workspaced/snapshot", {"source": "", "active": None, "pins": [], "tabs": []}),
        ("workspaced/snapshot", {"source": "e", "active": "/x.md", "pins": [], "tabs": []}),
        ("workspaced/snapshot", {"source": "e", "active": None, "pins": [], "tabs": [], "vault": "none"}),
        ("workspaced/publish", {"actions": [{"type": "odd"}]}),
        ("workspaced/publish", {"actions": [], "source": "x" * 999}),
        ("workspaced/unsubscribe", {"subscription": "none"}),
    ],
)
def test_what_a_method_refuses(client: Any, method: str, params: Any) -> None:
    with pytest.raises(RemoteError) as refused:
        client.call(method, params)
    assert refused.value.hint, refused.value.message
