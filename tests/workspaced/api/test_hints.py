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


def test_a_field_that_there_is_not_is_answered_with_those_that_there_are(client: Any) -> None:
    for message, named, not_named in (
        ({"tool_results": []}, ("toolResults", "attachments"), "isError"),
        ({"toolResults": [{"id": "1", "nam": "x"}]}, ("isError",), "attachments"),
    ):
        params = {**TALK, "messages": [MESSAGE, {**MESSAGE, **message}]}
        error = refusal(client.call, f"{CONTEXT}/message", params)
        assert error.code == "INVALID_ARGUMENT" and all(each in error.hint for each in named)
        assert not_named not in error.hint
    error = refusal(client.call, f"{CONTEXT}/start", {"context_window": 1})
    assert "contextWindow" in error.hint and "outputReserve" in error.hint
