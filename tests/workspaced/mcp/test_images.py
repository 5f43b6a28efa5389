"""Images of the vault over MCP: what an agent gets with `includeImages`, and what it never gets."""

import base64
import hashlib
import json
from typing import Any

import pytest
from support import images

PICTURE = images.png(3, 2)
NOTES = {
    "home.md": "# Home\n\n![[a.png|100]] and ![b](pics/b%20c.gif) and ![[gone.png]] and ![](https://x.y/z.png)\n",
    "bare.md": "# Bare\n",
}


@pytest.fixture
def running(daemon: Any) -> Any:
    made = daemon(notes=NOTES, start=False)
    images.write(made.vault, {"deep/a.png": PICTURE, "pics/b c.gif": images.GIF})
    return made.start()


def call(running: Any, name: str = "agent", **arguments: Any) -> Any:
    with running.connect(name) as client:
        tool = "get_note_by_reference" if "reference" in arguments else "get_current_note"
        return client.call("tools/call", {"name": tool, "arguments": arguments})


def test_images_come_as_blocks_in_the_order_of_the_data(running: Any) -> None:
    result = call(running, reference="home", includeImages=True)
    found = result["structuredContent"]["data"]["images"]
    assert found == [
        {
            "path": "deep/a.png",
            "mediaType": "image/png",
            "bytes": len(PICTURE),
            "sha256": hashlib.sha256(PICTURE).hexdigest(),
            "width": 3,
            "height": 2,
        },
        {
            "path": "pics/b c.gif",
            "mediaType": "image/gif",
            "bytes": len(images.GIF),
            "sha256": hashlib.sha256(images.GIF).hexdigest(),
            "width": 3,
            "height": 2,
        },
        {"path": "gone.png", "code": "IMAGE_NOT_FOUND", "error": "The vault has no such image."},
    ]
    assert result["content"][0]["type"] == "text"
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    shown = images.images_in(result)
    assert [base64.b64decode(each["data"]) for each in shown] == [PICTURE, images.GIF]
    assert [each["mimeType"] for each in shown] == ["image/png", "image/gif"]


def test_the_active_note_shows_its_images_too(running: Any) -> None:
    with running.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "home.md"}}])
    assert len(images.images_in(call(running, includeImages=True))) == 2


def test_without_the_argument_nothing_is_said_of_images(running: Any) -> None:
    result = call(running, reference="home")
    assert "images" not in result["structuredContent"]["data"]
    assert not images.images_in(result)
