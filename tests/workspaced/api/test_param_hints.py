"""Parameters of the wrong shape are answered with what would have been right."""

from typing import Any

import pytest
from support.daemon import refusal


@pytest.fixture(scope="module")
def client(module_daemon: Any) -> Any:
    return module_daemon(notes={"a.md": "# A\n"}).connect()


def hint(client: Any, method: str, params: dict[str, Any]) -> str:
    error = refusal(client.call, method, params)
    assert error.code == "INVALID_ARGUMENT"
    return str(error.hint)


def said(**message: Any) -> dict[str, Any]:
    return {"conversation": "c", "messages": [{"role": "user", "text": "x"}, {"role": "user", **message}]}


def test_a_word_that_there_is_not_is_answered_with_those_that_there_are(client: Any) -> None:
    wrong = hint(client, "workspaced/context/message", said(attachments=[{"kind": "notes", "id": "a.md"}]))
    assert "note, " in wrong and "active_note" in wrong and "skill" in wrong
    wrong = hint(client, "workspaced/context/assemble", {"conversation": "c", "pipeline": "edit"})
    assert all(word in wrong for word in ("chat", "completion", "refactor", "compression"))
    assert "names" in hint(client, "workspaced/share", {"client": "x", "level": "some"})


def test_a_field_that_there_is_not_is_answered_with_those_that_there_are(client: Any) -> None:
    wrong = hint(client, "workspaced/context/message", said(tool_results=[]))
    assert "toolResults" in wrong and "attachments" in wrong
    wrong = hint(client, "workspaced/context/message", said(toolResults=[{"id": "1", "nam": "x"}]))
    assert "isError" in wrong and "attachments" not in wrong
    wrong = hint(client, "workspaced/context/start", {"context_window": 1})
    assert "contextWindow" in wrong and "outputReserve" in wrong


def test_anything_else_is_answered_with_what_is_needed_or_where_to_read_of_it(client: Any) -> None:
    assert "`workspaced schema methods/state`" in hint(client, "workspaced/state", {"minSeq": "x"})
    assert hint(client, "workspaced/context/end", {}) == "Needed: conversation."
    assert hint(client, "workspaced/status", {"odd": 1}) == "It takes no parameters."
