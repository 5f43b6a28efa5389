"""Images that a note embeds: which file an address means, what is sent of it, and what no agent is shown."""

import os
import socket
import sys
import time
import zlib
from hashlib import sha256
from io import BytesIO
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from support import images
from support.growth import thread_seconds
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.limits import (
    IMAGE_BYTES_MAX,
    IMAGE_FILE_BYTES_MAX,
    IMAGE_PIXELS_MAX,
    IMAGES_SHOWN_MAX,
    SETTLE_S,
)
from workspaced_tools.ports.questions import Images
from workspaced_tools.ports.vault import ImageFailure, NoteImage, NoteImages
from workspaced_tools.vault.index.crawl import Bounds
from workspaced_tools.vault.index.files import file_name
from workspaced_tools.vault.other_files import image_target
from workspaced_tools.vault.vault import Vault

HERE, BY_WORKERS = Bounds(notes=1_000, stale=1_000), Bounds(notes=0, stale=0)
PNG = images.png()
OTHER = images.png(5, 4)
PRIVATE = "---\nworkspaced: private\n---\n"


def ask(vault: Vault, note: str = "n.md") -> NoteImages:
    return vault.ask(Images(NoteId(note)), EMPTY_VAULT)


def seen(vault: Vault, note: str = "n.md") -> list[str]:
    """The path of each image that is shown, or the code of the failure."""
    return [each.path if isinstance(each, NoteImage) else each.code for each in ask(vault, note).images]


def failure(vault: Vault) -> ImageFailure:
    [found] = ask(vault).images
    assert isinstance(found, ImageFailure)
    return found


# -- which file an address means --


ADDRESSES = {
    "a.png": "a.png",
    "A.PNG": "a.png",
    "b.png": "x/b.png",
    "x/b.png": "x/b.png",
    "y/x/b.png": "y/x/b.png",
    "./b.png": "x/b.png",
    "../a.png": "a.png",
    "/y/x/b.png": "y/x/b.png",
    "/b.png": None,
    "./a.png": None,
    "../../a.png": None,
    "deep.png": "x/long/deep.png",
    "both.png": "x/y/both.png",
    "alike.png": "k/alike.png",
    "my%20file.png": "my file.png",
    "cafe\u0301.png": "café.png",
    "a.png#page": "a.png",
    "png": None,
    "": None,
    "..": None,
    "a.png\0": None,
    "nowhere.png": None,
}


def test_an_address_means_the_file_that_a_link_would_mean() -> None:
    files = ["a.png", "x/b.png", "y/x/b.png", "x/long/deep.png", "y/deep.png", "x/y/both.png", "z/both.png"]
    files += ["k/alike.png", "l/alike.png", "my file.png", "café.png"]

    def named(path: str) -> list[str]:
        return [each for each in files if file_name(each) == file_name(path)]

    assert {each: image_target(NoteId("x/note.md"), each, named) for each in ADDRESSES} == ADDRESSES


def test_at_most_four_are_shown_and_those_that_cannot_be_take_no_place_of_others(make_vault: MakeVault) -> None:
    gone = [f"gone-{n}.png" for n in range(4)]
    there = [f"{n}.png" for n in range(5)]
    urls = "![](https://x.y/z.png) ![](data:image/png;base64,AAAA) ![](//x.y/z.png) ![](film.mp4) "
    text = urls + " ".join(f"![[{name}]]" for name in (*gone, there[0], *there))
    vault = make_vault({"n.md": text, **dict.fromkeys(there, PNG)})
    assert seen(vault) == [*["IMAGE_NOT_FOUND"] * 4, *there[:IMAGES_SHOWN_MAX]]
    assert ask(vault).total == 9, "URLs are not ours"
    many = "".join(f"![[gone-{n}.png]]\n" for n in range(50))
    assert seen(make_vault({"n.md": many + "![[0.png]]", "0.png": PNG})) == ["IMAGE_NOT_FOUND"] * 16


def test_a_file_that_is_gone_gives_way_to_the_next_one_of_its_name(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "![[a.png]]", "a.png": PNG, "x/a.png": OTHER})
    (vault.root.path / "a.png").unlink()
    assert seen(vault) == ["x/a.png"]


# -- the gate --

MISSING = ImageFailure("a.png", "IMAGE_NOT_FOUND", "The vault has no such image.")


PASSPORT = "John's passport.jpg"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f'<img src="{PASSPORT}" width=300>', PASSPORT),
        (f'---\ncover: "{PASSPORT}"\n---\n', PASSPORT),
        ("---\nimages:\n  - scan.jpg\n---\n", "scan.jpg"),
        ("---\nimages: [scan.jpg]\n---\n", "scan.jpg"),
        ("---\nimages: ['x.png', 'scan.jpg']\n---\n", "scan.jpg"),
        ('---\n{"cover":"a.png"}\n---\n', "a.png"),
        ("---\ncover: >-\n  my\n  scan.png\n---\n", "my scan.png"),
        ('---\ncover: "a\\u002epng"\n---\n', "a.png"),
        ('<img srcset="x.jpg 1x, face.jpg 2x">', "face.jpg"),
        ('<b style="background: url(a.png)">', "a.png"),
        ('<img src=\n    "a.png">', "a.png"),
        ('```\n"[[scan[1].jpg]]"\n```', "scan[1].jpg"),
        ("<!-- ![](x%20(1).jpg) -->", "x (1).jpg"),
        ('<img src="C#.jpg">', "C#.jpg"),
        ("![](a.p&#37;6eg)", "a.png"),
        ("[[x\\a.png]]", "a.png"),
        ("[[a.png^x]]", "a.png"),
        ("[it](obsidian://open?vault=v&file=x%2Fa.png)", "a.png"),
        ("| ![[a.png\\|100]] |", "a.png"),
        ("見る：日本語の写真.png", "日本語の写真.png"),
        pytest.param(" ".join(f"{number}.jpg" for number in range(10_001)), "a.png", id="very many others"),
    ],
)
def test_however_a_withheld_note_writes_the_name_of_an_image(make_vault: MakeVault, text: str, name: str) -> None:
    front = "---\nworkspaced: private\n"
    private = front + text.removeprefix("---\n") if text.startswith("---") else f"{front}---\n{text}"
    shown = f"![]({quote(name)})"
    assert seen(make_vault({"n.md": shown, f"x/{name}": PNG})) == [f"x/{name}"]
    assert seen(make_vault({"n.md": shown, f"x/{name}": PNG, "keep/s.md": private})) == ["IMAGE_NOT_FOUND"]


def test_a_file_that_a_note_embeds_under_several_names_is_shown_once(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "![[a.png]] ![[A.png]] ![](./a.png) ![[b.png]]", "a.png": PNG, "b.png": PNG})
    assert seen(vault) == ["a.png", "b.png"] and ask(vault).total == 2


@pytest.mark.parametrize("inline", [HERE, BY_WORKERS])
def test_the_same_holds_for_every_way_of_crawling(make_vault: MakeVault, inline: Bounds) -> None:
    files = {
        "n.md": "![[a.png]] ![](x/b.gif)",
        "s.md": PRIVATE + "![[a.png]]",
        "a.png": PNG,
        "x/b.gif": images.GIF,
    }
    shown = NoteImage("x/b.gif", "image/gif", images.GIF, sha256(images.GIF).hexdigest(), 3, 2)
    assert ask(make_vault(files, inline=inline)) == NoteImages((MISSING, shown), 2)


def test_a_note_that_turns_private_or_is_denied_withholds_its_image_before_any_hint(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "![[a.png]]", "s.md": "![[a.png]]", "a.png": PNG})
    assert seen(vault) == ["a.png"]
    (vault.root.path / "s.md").write_text(PRIVATE + "![[a.png]]")
    assert seen(vault) == ["IMAGE_NOT_FOUND"]
    (vault.root.path / "s.md").write_text("![[a.png]]")
    vault.changed(["s.md"])
    assert seen(vault) == ["IMAGE_NOT_FOUND"], "it may still be being written"
    vault.own_clock.now_s += SETTLE_S  # type: ignore[attr-defined]
    vault.settle()
    assert seen(vault) == ["a.png"]
    (vault.root.path / ".workspacedignore").write_text("/s.md\n")
    vault.policy.refresh()
    assert seen(vault) == ["IMAGE_NOT_FOUND"]


def test_a_note_that_may_still_be_being_written_withholds_its_images(make_vault: MakeVault) -> None:
    now = time.time_ns()
    ahead_s = [10.0]
    vault = make_vault(
        {"n.md": "![[a.png]]", "a.png": PNG},
        clock_ns=lambda: now + int(ahead_s[0] * 1e9),
        clock_s=lambda: ahead_s[0],
    )
    assert seen(vault) == ["a.png"]
    (vault.root.path / "new.md").write_text("![[a.png]]")
    os.utime(vault.root.path / "new.md")
    ahead_s[0] = 0.0
    vault.changed(["new.md"])
    assert seen(vault) == ["IMAGE_NOT_FOUND"]
    ahead_s[0] = 20.0
    vault.settle()
    assert seen(vault) == ["a.png"]


def test_a_withheld_note_saved_in_parts_or_gone_withholds_until_a_crawl(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "![[a.png]]", "s.md": PRIVATE + "![[a.png]]", "a.png": PNG})
    for part in (PRIVATE, "", PRIVATE + "x"):
        (vault.root.path / "s.md").write_text(part)
        vault.changed(["s.md"])
        assert seen(vault) == ["IMAGE_NOT_FOUND"]
    vault.reconcile()
    assert seen(vault) == ["a.png"]
    (vault.root.path / "s.md").write_text(PRIVATE + "![[a.png]]")
    vault.reconcile()
    (vault.root.path / "s.md").rename(vault.root.path / "t.md")
    vault.changed(["s.md"])
    assert seen(vault) == ["IMAGE_NOT_FOUND"]
    vault.changed(["t.md"])
    vault.reconcile()
    assert seen(vault) == ["IMAGE_NOT_FOUND"]
    (vault.root.path / "t.md").unlink()
    vault.changed(["t.md"])
    assert seen(vault) == ["IMAGE_NOT_FOUND"]
    vault.reconcile()
    vault.reconcile()
    assert seen(vault) == ["a.png"]


def test_for_a_withheld_image_no_file_is_touched(make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make_vault(
        {
            ".workspacedignore": "/keep/",
            "n.md": "![[a.png]] ![[b.png]] ![[keep/a.png]] ![[gone.png]]",
            "s.md": PRIVATE + "![[b.png]]",
            "keep/a.png": PNG,
            "b.png": PNG,
        }
    )
    monkeypatch.setattr(type(vault.root), "open_image", pytest.fail)
    monkeypatch.setattr(type(vault.root), "has_other", pytest.fail)
    found = ask(vault).images
    assert [(type(each), each.path) for each in found] == [(ImageFailure, None)] * 4


# -- hostile files --


def test_special_files_and_links_are_no_images(make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make_vault({"n.md": "![[f.png]] ![[s.png]] ![[d.png]] ![[l.png]]", "out.bin": PNG})
    root = vault.root.path
    os.mkfifo(root / "f.png")
    with socket.socket(socket.AF_UNIX) as bound:
        monkeypatch.chdir(root)
        bound.bind("s.png")
    (root / "d.png").mkdir()
    (root / "l.png").symlink_to(root / "out.bin")
    vault.reconcile()
    assert seen(vault) == ["IMAGE_NOT_FOUND"] * 4
    vault.changed(["f.png", "s.png", "d.png", "l.png"])
    assert seen(vault) == ["IMAGE_NOT_FOUND"] * 4


def test_what_takes_an_images_place_after_the_crawl_is_not_read(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "![[f.png]] ![[l.png]] ![[x/p.png]]", "f.png": PNG, "l.png": PNG, "x/p.png": PNG})
    root = vault.root.path
    outside = root.parent / "outside"
    images.write(outside, {"p.png": PNG})
    for name in ("f.png", "l.png", "x/p.png"):
        (root / name).unlink()
    (root / "x").rmdir()
    os.mkfifo(root / "f.png")
    (root / "l.png").symlink_to(outside / "p.png")
    (root / "x").symlink_to(outside)
    assert seen(vault) == ["READ_ERROR", "IMAGE_NOT_FOUND", "IMAGE_NOT_FOUND"]


@pytest.mark.parametrize("inline", [HERE, BY_WORKERS])
def test_a_name_that_is_not_utf_8_is_left_out(make_vault: MakeVault, inline: Bounds) -> None:
    vault = make_vault({"n.md": "![[a.png]]", "a.png": PNG}, inline=inline)
    (vault.root.path / os.fsdecode(b"\xff.png")).write_bytes(PNG)
    vault.changed([os.fsdecode(os.fsencode(vault.root.path) + b"/\xff.png")])
    vault.reconcile()
    assert seen(vault) == ["a.png"]


def png_header(width: int, height: int) -> bytes:
    return images.png_of(width, height, zlib.compress(b"\0"))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "IMAGE_NOT_SENT"),
        (b"no image", "IMAGE_NOT_SENT"),
        (b"<svg/>", "IMAGE_NOT_SENT"),
        (b"BM" + bytes(100), "IMAGE_NOT_SENT"),
        (PNG[:10], "IMAGE_NOT_SENT"),
        (PNG[:-12], "IMAGE_NOT_SENT"),
        (b"\xff\xd8\xff" + b"\xff" * 1_000_000, "IMAGE_NOT_SENT"),
        (b"\xff\xd8\xff" + b"\xff\xe0\0\2" * 200_000, "IMAGE_NOT_SENT"),
        (b"GIF89a\0\0\0\0;", "IMAGE_NOT_SENT"),
        (b"RIFF\xff\xff\xff\xffWEBPVP8X" + bytes(20), "IMAGE_NOT_SENT"),
        (png_header(0, 5), "IMAGE_NOT_SENT"),
        (png_header(60_000, 60_000), "IMAGE_TOO_LARGE"),
        (png_header(2**32 - 1, 2**32 - 1), "IMAGE_TOO_LARGE"),
        (png_header(IMAGE_PIXELS_MAX + 1, 1), "IMAGE_TOO_LARGE"),
        (png_header(9_000, 5_000) + bytes(IMAGE_BYTES_MAX), "IMAGE_TOO_LARGE"),
        (bytes(IMAGE_FILE_BYTES_MAX + 1), "IMAGE_TOO_LARGE"),
    ],
    ids=range(16),
)
def test_what_cannot_be_sent_is_named_with_a_reason(make_vault: MakeVault, content: bytes, code: str) -> None:
    vault = make_vault({"n.md": "![[a.png]]", "a.png": content})
    found: list[ImageFailure] = []
    assert thread_seconds(lambda: found.append(failure(vault))) < 1
    assert [(each.address, each.code, each.path) for each in found] == [("a.png", code, "a.png")]
    assert found[0].message.endswith(".")


@pytest.mark.parametrize(
    ("form", "mode"), [("PNG", "RGBA"), ("JPEG", "RGB"), ("GIF", "P"), ("WEBP", "RGB"), ("WEBP", "RGBA")]
)
@pytest.mark.parametrize("lossless", [False, True])
def test_the_size_is_that_of_a_decoder(make_vault: MakeVault, form: str, mode: str, lossless: bool) -> None:
    file = BytesIO()
    Image.new(mode, (37, 19), 3).save(file, form, **({"lossless": lossless} if form == "WEBP" else {}))
    [found] = ask(make_vault({"n.md": "![[a.png]]", "a.png": file.getvalue()})).images
    assert isinstance(found, NoteImage)
    assert (found.width, found.height, found.media_type) == (37, 19, f"image/{form.lower()}")


# -- large ones --


def noisy(width: int, height: int, form: str, **options: Any) -> bytes:
    file = BytesIO()
    Image.frombytes("RGB", (width, height), os.urandom(width * height * 3)).save(file, form, **options)
    return file.getvalue()


def test_an_image_of_one_mebibyte_is_sent_as_it_is_and_one_byte_more_is_scaled(make_vault: MakeVault) -> None:
    exact, larger = images.png_of_size(IMAGE_BYTES_MAX), images.png_of_size(IMAGE_BYTES_MAX + 1)
    vault = make_vault({"n.md": "![[a.png]] ![[b.png]]", "a.png": exact, "b.png": larger})
    first, second = ask(vault).images
    assert isinstance(first, NoteImage) and isinstance(second, NoteImage)
    assert (first.content == exact, first.scaled) == (True, False)
    assert (len(second.content) < 1_000, second.scaled, second.width, second.height) == (True, True, 2, 1)


def test_a_photo_that_lies_on_its_side_is_sent_upright(make_vault: MakeVault) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6  # turned by 90 degrees
    content = noisy(2_000, 1_000, "JPEG", quality=95, exif=turned)
    [found] = ask(make_vault({"n.md": "![[a.jpg]]", "a.jpg": content})).images
    assert isinstance(found, NoteImage)
    assert found.width is not None and found.height == 2 * found.width


def test_a_photo_of_very_many_scans_is_only_named(make_vault: MakeVault) -> None:
    photo = noisy(1_600, 1_600, "JPEG", quality=95, progressive=True)
    assert len(photo) > IMAGE_BYTES_MAX
    scan = photo.index(b"\xff\xda")
    vault = make_vault(
        {"n.md": "![[a.jpg]]", "a.jpg": photo[:scan] + photo[scan : scan + 14] * 200 + photo[scan:]}
    )
    assert "scans" in failure(vault).message


def test_a_large_damaged_image_is_named(make_vault: MakeVault) -> None:
    content = noisy(1_500, 1_500, "PNG")
    vault = make_vault({"n.md": "![[a.png]]", "a.png": content[: len(content) // 2] + b"IEND"})
    assert failure(vault).code == "IMAGE_TOO_LARGE"


def test_without_pillow_it_says_what_to_install(make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make_vault({"n.md": "![[a.png]] ![[b.png]]", "a.png": noisy(800, 800, "PNG"), "b.png": PNG})
    monkeypatch.setitem(sys.modules, "PIL", None)
    first, second = ask(vault).images
    assert isinstance(first, ImageFailure) and first.code == "IMAGE_TOO_LARGE"
    assert "pip install pillow" in first.message
    assert isinstance(second, NoteImage)


def test_a_folder_of_images_alone_that_goes_takes_its_images_along(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "![[a.png]]", "v1.0/a.png": PNG, "b/a.png": OTHER})
    assert seen(vault) == ["b/a.png"]
    (vault.root.path / "b").rename(vault.root.path / "v2.0")
    vault.changed(["b", "v2.0"])
    assert seen(vault) == ["v1.0/a.png"]


def test_images_are_known_after_a_restart_and_none_after_a_reconcile_that_failed(
    make_vault: MakeVault, tmp_path: Any
) -> None:
    vault = make_vault({"n.md": "![[a.png]]", "a.png": PNG}, cache_dir=tmp_path / "cache")
    vault.close()
    again = Vault(vault.root.path, cache_dir=tmp_path / "cache")
    again.reconcile()
    assert seen(again) == ["a.png"]
    again._indexer.error = "The index cannot be written."
    assert seen(again) == ["INDEX_BUILDING"]
    again.close()
