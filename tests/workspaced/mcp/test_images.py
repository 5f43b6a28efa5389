"""Images of the vault over MCP: what an agent gets with `includeImages`, and what it never gets."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support import images

from workspaced_tools.limits import IMAGE_BYTES_MAX

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


def test_with_the_level_names_an_agent_gets_no_images(running: Any) -> None:
    running.publish("active_note_set", note="home.md")
    running.call("workspaced/share", {"client": "agent", "level": "names"})
    for result in (call(running, reference="home.md", includeImages=True), call(running, includeImages=True)):
        assert result["structuredContent"]["success"]
        assert "images" not in result["structuredContent"]["data"]
        assert not images.images_in(result)


def test_four_images_of_a_mebibyte_and_a_long_text_pass_whole(daemon: Any, modern: Any) -> None:
    text = "".join(f"![[{n}.png]]\n" for n in range(5)) + "ü \\ \n" * 12_000
    made = daemon(notes={"n.md": text}, start=False)
    large = {f"{n}.png": images.png_of_size(IMAGE_BYTES_MAX - n) for n in range(5)}
    images.write(made.vault, large)
    made.start()
    made.publish("active_note_set", note="n.md")
    for result in (
        call(made, includeImages=True),
        modern(made).result("tools/call", name="get_current_note", arguments={"includeImages": True}),
    ):
        blocks = [base64.b64decode(each["data"]) for each in images.images_in(result)]
        assert blocks == [large[f"{n}.png"] for n in range(4)]
        answer = result["structuredContent"]
        assert len(answer["data"]["content"]) > 40_000
        assert "The note embeds 5 images; the last 1 are not shown." in answer["warnings"]


def test_a_daemon_imports_no_image_library_before_it_must(daemon: Any) -> None:
    made = daemon(notes={"n.md": "![[a.png]] ![[b.png]]"}, start=False, real=True)
    images.write(made.vault, {"a.png": PICTURE})
    made.start()
    assert len(images.images_in(call(made, reference="n", includeImages=True))) == 1
    assert "/PIL/" not in Path(f"/proc/{made.pid}/maps").read_text()
    images.write(made.vault, {"b.png": images.png_of_size(IMAGE_BYTES_MAX + 1)})
    made.reconcile()
    assert len(images.images_in(call(made, reference="n", includeImages=True))) == 2
    assert "/PIL/" in Path(f"/proc/{made.pid}/maps").read_text()
