"""Uploads of long texts, and images in results of tools."""

import base64
import hashlib
from typing import Any

import pytest
from support import images
from support.daemon import refusal
from support.talk import Talk

from workspaced_tools.limits import ATTACHED_IMAGE_BYTES_MAX

CALL = {"role": "assistant", "toolCalls": [{"id": "c1", "name": "look", "arguments": {}}]}
LONG = "".join(f"{number} Zeile für Zeile 漢字 🌲\n" for number in range(60_000))


def uri(content: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


@pytest.fixture(scope="module")
def shared(module_daemon: Any) -> Any:
    return module_daemon(notes={"a.md": "# A\n"})


def begun(client: Any, provider: str = "anthropic", **settings: Any) -> str:
    known = {"provider": provider, "system": "You help.", "environment": False, "context_window": 5_000_000}
    return Talk(client, **{**known, **settings}).id


def result(**what: Any) -> dict[str, Any]:
    return {"role": "user", "toolResults": [{"id": "c1", "name": "look", **what}]}


def body(client: Any, talk: str, shape: str = "anthropic") -> dict[str, Any]:
    made: dict[str, Any] = client.context.assemble(talk, shape=shape, layers=False)["body"]
    return made


# -- uploads --


@pytest.mark.thorough
@pytest.mark.parametrize("where", ["message", "attachment", "result"])
def test_a_text_over_a_line_is_uploaded_and_named(shared: Any, client: Any, where: str) -> None:
    talk = begun(client)
    sha256 = client.upload(LONG)
    assert sha256 == hashlib.sha256(LONG.encode()).hexdigest()
    if where == "result":
        client.context.message(talk, {"role": "user", "text": "Look."}, CALL, result(textSha256=sha256))
    elif where == "attachment":
        attached = [{"kind": "file", "id": "long.txt", "textSha256": sha256}]
        client.context.message(talk, {"role": "user", "text": "Read.", "attachments": attached})
    else:
        client.context.message(talk, {"role": "user", "textSha256": sha256})
    assert "59999 Zeile für Zeile 漢字 🌲" in str(body(client, talk)["messages"])
    assert shared.cli("replay", "--verify", str(shared.data)).returncode == 0


def test_uploads_of_one_name_by_two_clients_do_not_mix(shared: Any, client: Any) -> None:
    put = "workspaced/blob/put"
    with shared.connect("other") as other:
        assert client.call(put, {"upload": "u", "text": "a"}) == {"bytes": 1}
        other.call(put, {"upload": "u", "text": "x"})
        mine = client.call(put, {"upload": "u", "text": "b", "last": True})
    assert mine == {"bytes": 2, "sha256": hashlib.sha256(b"ab").hexdigest()}


def test_a_text_that_was_not_uploaded_is_refused_and_nothing_is_recorded(client: Any) -> None:
    talk = begun(client)
    error = refusal(
        client.context.message, talk, {"role": "user", "text": "Yes."}, {"role": "user", "textSha256": "0" * 64}
    )
    assert error.code == "UNKNOWN_BLOB" and error.details["index"] == 1 and "blob/put" in error.hint
    assert refusal(client.context.assemble, talk).code == "UNKNOWN_MESSAGE"


def test_an_upload_beyond_its_bound_is_given_up(client: Any) -> None:
    part = "x" * (900 * 1024)
    for _ in range(18):
        client.call("workspaced/blob/put", {"upload": "u", "text": part})
    error = refusal(client.call, "workspaced/blob/put", {"upload": "u", "text": part})
    assert error.code == "INVALID_ARGUMENT" and "16777216" in str(error)
    assert client.call("workspaced/blob/put", {"upload": "u", "text": "new"}) == {"bytes": 3}


# -- images in results of tools --


def seen(client: Any, provider: str, **what: Any) -> tuple[str, list[Any], dict[str, Any]]:
    """A conversation with one result, the messages of its body, and the whole prompt."""
    talk = begun(client, provider)
    client.context.message(talk, {"role": "user", "text": "Look."}, CALL, result(**what))
    prompt = client.context.assemble(talk, shape=provider)
    return talk, prompt["body"]["contents" if provider == "gemini" else "messages"], prompt


def test_an_image_in_a_result_may_be_uploaded_and_is_bounded(client: Any) -> None:
    large = client.upload(uri(images.png_of_size(2 * 1024 * 1024)))
    _talk, messages, _prompt = seen(client, "anthropic", images=[{"textSha256": large}])
    assert messages[-1]["content"][0]["content"][0]["type"] == "image"
    too_large = client.upload(uri(images.png_of_size(ATTACHED_IMAGE_BYTES_MAX + 1)))
    error = refusal(client.context.message, begun(client), result(images=[{"textSha256": too_large}]))
    assert error.code == "INVALID_ARGUMENT" and str(ATTACHED_IMAGE_BYTES_MAX) in str(error)
