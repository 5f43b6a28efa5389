"""Whoever sends a bad request is told the next step: no refusal of a method has an empty hint."""

from typing import Any

import pytest
from msgspec import inspect
from support.daemon import refusal

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


def test_parameters_of_another_kind(client: Any) -> None:
    for method in OURS:
        fields = [each.encode_name for each in getattr(inspect.type_info(METHODS[method].params), "fields", ())]
        bad = [[1], {"odd": 1}, *({name: wrong} for name in fields for wrong in ({"odd": [1]}, -(2**70)))]
        assert [found for params in bad if (found := without_hint(client, method, params))] == [], method


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


# -- what would have been right --


def hint(client: Any, method: str, params: dict[str, Any]) -> str:
    error = refusal(client.call, method, params)
    assert error.code == "INVALID_ARGUMENT"
    return str(error.hint)


def said(**message: Any) -> dict[str, Any]:
    return {"conversation": "c", "messages": [{"role": "user", "text": "x"}, {"role": "user", **message}]}


def test_a_field_that_there_is_not_is_answered_with_those_that_there_are(client: Any) -> None:
    wrong = hint(client, "workspaced/context/message", said(tool_results=[]))
    assert "toolResults" in wrong and "attachments" in wrong
    wrong = hint(client, "workspaced/context/message", said(toolResults=[{"id": "1", "nam": "x"}]))
    assert "isError" in wrong and "attachments" not in wrong
    wrong = hint(client, "workspaced/context/start", {"context_window": 1})
    assert "contextWindow" in wrong and "outputReserve" in wrong
