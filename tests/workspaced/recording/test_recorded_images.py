"""Images that agents were shown: recorded by hash, replayed without vault and decoder, redacted and forgotten."""

import json
import shutil
import sys
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support import images

from workspaced import replay
from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_tools.limits import IMAGE_BYTES_MAX

PICTURE = images.png(3, 2)
LARGE = images.png_of_size(IMAGE_BYTES_MAX + 1)
NOTES = {
    "home.md": "# Home\n\n![[Zanzibarium.png]] ![[large.png]] ![[gone.png]]\n",
    "secret.md": "# Secret\n\n![[falcon.gif]] ![[Zanzibarium.png]]\n",
    "other.md": "# Other\n",
}
FILES = {"pics/Zanzibarium.png": PICTURE, "large.png": LARGE, "falcon.gif": images.GIF}


@pytest.fixture
def used(daemon: Any) -> Any:
    """A daemon that showed the images of a note to an agent."""
    made = daemon(notes=NOTES, start=False)
    images.write(made.vault, FILES)
    made.start()
    assert len(images.images_in(ask(made, "home"))) == 2
    return made


def ask(running: Any, reference: str, **more: Any) -> Any:
    arguments = {"reference": reference, "includeImages": True, **more}
    with running.connect("agent") as client:
        return client.call("tools/call", {"name": "get_note_by_reference", "arguments": arguments})


def calls(running: Any) -> list[Any]:
    found: list[Any] = running.call("workspaced/calls")["calls"]
    return found


def recording(running: Any, seq: int) -> Any:
    return running.call("workspaced/call", {"seq": seq})["recording"]


def test_a_log_verifies_after_the_vault_is_gone_and_without_a_decoder(
    used: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    used.stop()
    shutil.rmtree(used.vault)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with replay.open(used.data) as log:
        assert {each.outcome for each in log.verify()} == {"same"}


def test_an_image_that_was_swept_is_not_recorded(used: Any) -> None:
    kept = recording(used, calls(used)[-1]["seq"])
    used.stop()
    name = next(each for each in kept["asked"] if each["ask"] == "images")["answer"]["images"][0]["sha256"]
    EvictableBlobStore(used.data).remove(name)
    with replay.open(used.data) as log:
        [found] = log.verify()
    assert found.outcome == "notRecorded" and "Zanzibarium.png" in found.why


def test_a_redacted_bundle_holds_no_image_and_none_of_its_names_and_verifies(used: Any, tmp_path: Path) -> None:
    bundle = tmp_path / "b.wsb"
    assert used.cli("bundle", "--redact", "-o", str(bundle)).returncode == 0
    with zipfile.ZipFile(bundle) as file:
        content = b"\n".join(name.encode() + file.read(name) for name in file.namelist())
    for secret in (b"Zanzibarium", b"zanzibarium", sha256(PICTURE).hexdigest().encode(), b"IHDR", b"GIF89a"):
        assert secret not in content
    with replay.open(bundle) as log:
        [found] = log.verify()
        assert found.outcome == "same"
    assert found.answered is not None
    shown = json.loads(found.answered)["data"]["images"]
    assert [each["code"] for each in shown] == ["IMAGE_NOT_SENT", "IMAGE_NOT_SENT", "IMAGE_NOT_FOUND"]


def test_forgetting_a_note_removes_the_images_that_only_its_calls_recorded(used: Any) -> None:
    ask(used, "secret")
    used.stop()
    blobs = EvictableBlobStore(used.data)
    own, shared = sha256(images.GIF).hexdigest(), sha256(PICTURE).hexdigest()
    assert blobs.get(own) is not None
    assert used.cli("forget", "secret.md", "--data-dir", str(used.data), "--yes").returncode == 0
    assert (blobs.get(own), blobs.get(shared)) == (None, PICTURE)
    with replay.open(used.data) as log:
        assert {each.outcome for each in log.verify()} == {"same"}
