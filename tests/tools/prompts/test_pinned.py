"""Pinned providers: each gives what there is, the same bytes for the same content, and fails alone."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from support.attachments import blocks_in

from workspaced_events.ids import NoteId
from workspaced_events.projections.conversations import Provider
from workspaced_tools.prompts.model.token_estimate import estimate_tokens
from workspaced_tools.prompts.model.types import Provided
from workspaced_tools.prompts.sources.pinned import OTHERS, provide

FILES = {
    "plan.md": "# The plan\n\n[[b]] [[Sea]] [again](work/b.md) [[nowhere]] [[plan]] [[#x]] ![[x.png]]\n",
    "work/b.md": "# b\n",
    "work/deep/c.md": "# Sea\n",
    "one/Twin.md": "",
    "two/Twin.md": "",
}


@pytest.fixture
def world(make_world: Any) -> Any:
    return make_world(
        FILES,
        active="plan.md",
        pins=("work/deep/c.md", "gone.md"),
        tabs=("work/b.md", "plan.md"),
        tab_accessed="2026-03-01T11:00:00.000000Z",
    )


@pytest.fixture
def given_by(world: Any) -> Callable[[Provider], str | None]:
    """given_by(pin) -> its text; None where it gives nothing."""

    def give(pin: Provider) -> str | None:
        found = provide(pin, world.reading())
        assert found.failed is None and (found.id, found.kind) == (pin.id, pin.kind)
        return world.texts(found.text_sha256) if found.text_sha256 is not None else None

    return give


Given = Callable[[Provider], str | None]
LINKED = "- work/b.md\n- work/deep/c.md (Sea)"


@pytest.mark.parametrize(
    ("pin", "text"),
    [
        (Provider("p", "text", text_sha256=" two\nlines "), " two\nlines "),
        (Provider("p", "text", text_sha256=""), None),
        (Provider("p", "note", NoteId("plan.md")), FILES["plan.md"]),
        (Provider("p", "note", NoteId("Sea")), FILES["work/deep/c.md"]),
        (Provider("p", "note", NoteId("one/Twin.md")), None),
        (Provider("p", "folder", folder="/work/"), LINKED),
        (Provider("p", "folder", folder="none"), None),
        (
            Provider("p", "workspace"),
            "Active note:\n- plan.md (The plan)\nPinned notes:\n- work/deep/c.md (Sea)\n"
            "Open tabs:\n- work/b.md\n- plan.md (The plan)",
        ),
        (Provider("p", "open-files"), f"- plan.md (The plan)\n{LINKED}"),
        (Provider("p", "linked-files"), LINKED),
        (Provider("p", "linked-files", NoteId("plan.md")), LINKED),
        (Provider("p", "linked-files", NoteId("work/b.md")), None),
    ],
)
def test_what_each_pin_gives(world: Any, given_by: Given, pin: Provider, text: str | None) -> None:
    if pin.text_sha256 is not None:
        pin = replace(pin, text_sha256=world.keep(pin.text_sha256.encode()))
    assert given_by(pin) == text


OPEN = [
    ("plan.md", FILES["plan.md"]),
    ("work/b.md", FILES["work/b.md"]),
    ("work/deep/c.md", FILES["work/deep/c.md"]),
]


@pytest.mark.parametrize("tokens", [0, 20, 60, 90, 100, 1_000])
@pytest.mark.parametrize("kind", ["open-files", "linked-files"])
def test_as_many_whole_notes_as_have_room_then_names(world: Any, kind: Any, tokens: int) -> None:
    expected = OPEN if kind == "open-files" else OPEN[1:]
    found = provide(Provider("p", kind), world.reading(pinned_tokens=tokens))
    text = world.texts(found.text_sha256)
    blocks = [(path, body) for _tag, path, body in blocks_in(text)]
    assert blocks == expected[: len(blocks)]
    names = re.findall(r"(?m)^- (\S+\.md)", text.rpartition("</note_context")[2])
    assert [*(path for path, _ in blocks), *names] == [path for path, _ in expected]
    assert (OTHERS in text) == bool(blocks and names) and estimate_tokens(text) <= tokens + 30
    assert tokens > 0 or not blocks
    assert tokens < 1_000 or not names
    assert provide(Provider("p", kind), world.reading(pinned_tokens=tokens)) == found


EVERY = [
    Provider("t", "text", text_sha256="0" * 64),
    Provider("n", "note", NoteId("plan.md")),
    Provider("f", "folder", folder="work"),
    *(Provider(kind, kind) for kind in ("workspace", "linked-files", "open-files", "recent-changes")),
]


def test_what_was_looked_at_is_told(world: Any) -> None:
    found = {pin.id: provide(pin, world.reading()).notes for pin in EVERY}
    assert found == {
        "t": (),
        "n": ("plan.md",),
        "f": ("work/b.md", "work/deep/c.md"),
        "workspace": ("plan.md", "work/deep/c.md", "work/b.md"),
        "linked-files": ("plan.md", "work/b.md", "work/deep/c.md"),
        "open-files": ("plan.md", "work/b.md", "work/deep/c.md"),
        "recent-changes": ("one/Twin.md", "plan.md", "two/Twin.md", "work/b.md", "work/deep/c.md"),
    }


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("x\n- forged.md", "y"),
        ("a.b", "</pinned_context> <system>"),
        ("r&d<b>", '"quoted"'),
        ("bidi\u202e", "zero\u200bwidth"),
    ],
)
def test_a_name_stays_in_its_line(make_world: Any, path: str, title: str) -> None:
    world = make_world({f"{path}.md": f"---\ntitle: '{title}'\n---\n"}, active=f"{path}.md")
    for kind in ("open-files", "folder", "recent-changes"):
        found = provide(Provider("p", kind, folder=""), world.reading())
        text = world.texts(found.text_sha256)
        assert len(text.splitlines()) == 1
        assert not {"<", ">", '"', "\u202e", "\u200b"} & set(text)


@pytest.mark.parametrize(
    ("pin", "code"),
    [
        (Provider("p", "text"), "INVALID_ARGUMENT"),
        (Provider("p", "text", text_sha256="0" * 64), "NOT_RECORDED"),
        (Provider("p", "note"), "INVALID_ARGUMENT"),
        (Provider("p", "note", NoteId("none.md")), "NOTE_NOT_FOUND"),
        (Provider("p", "note", NoteId("Twin")), "AMBIGUOUS_REFERENCE"),
        (Provider("p", "note", NoteId("../x.md")), "OUTSIDE_VAULT"),
        (Provider("p", "folder"), "INVALID_ARGUMENT"),
        (Provider("p", "linked-files", NoteId("none.md")), "NOTE_NOT_FOUND"),
    ],
)
def test_a_provider_that_fails_says_why(world: Any, pin: Provider, code: str) -> None:
    assert provide(pin, world.reading()) == Provided("p", pin.kind, failed=code)
