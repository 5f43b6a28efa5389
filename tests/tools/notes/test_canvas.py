"""A canvas is read as the Markdown of its cards, whatever its JSON holds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced_tools.notes.formats.canvas import canvas_text


def card(name: str, y: int = 0, **fields: Any) -> dict[str, Any]:
    return {"id": name, "type": "text", "x": 0, "y": y, "width": 10, "height": 10, **fields}


def group(name: str, size: int, label: str = "") -> dict[str, Any]:
    return card(name, -1, type="group", x=-1, width=size, height=size, label=label)


def shown(*nodes: Any, edges: Any = ()) -> str | None:
    return canvas_text(json.dumps({"nodes": nodes, "edges": edges}).encode())


def test_cards_stand_from_top_to_bottom_and_left_to_right_each_below_its_groups_heading() -> None:
    nodes = [card("c", 9, text="third"), card("b", 0, x=5, text="second"), card("a", text="first")]
    assert shown(*nodes) == "first\n\nsecond\n\nthird\n"
    nodes = [card("out", 900, text="outside"), card("in", text="inside")]
    assert shown(*nodes, group("small", 20, "Small"), group("large", 90, "Large")) == (
        "# Large\n\n## Small\n\ninside\n\noutside\n"
    )
    assert shown(*nodes, group("g", 20)) == "inside\n\noutside\n", "one without a name is no heading"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"type": "file", "file": "a/b.md", "subpath": "#Part"}, "![[a/b.md#Part]]"),
        ({"type": "file", "file": "a [1].md"}, "![a (1).md](/a%20%5B1%5D.md)"),
        ({"type": "link", "url": "https://example.org/x y"}, "<https://example.org/xy>"),
        ({"type": "of a plugin", "text": "words"}, "words"),
        ({"text": "```py\nx = 1"}, "```py\nx = 1\n```"),
        ({"text": "<!-- todo\nmore"}, "<!-- todo\nmore\n-->"),
        ({"text": 7}, ""),
    ],
)
def test_each_kind_of_card_is_the_markdown_that_means_it(fields: dict[str, Any], text: str) -> None:
    assert shown(card("a", **fields)) == f"{text}\n"


def test_arrows_follow_by_the_names_of_their_cards_and_hold_no_links() -> None:
    nodes = [card("a", text="See [[b]] #tag\nmore"), card("f", 9, type="file", file="x/Idea.md")]
    edges = [{"fromNode": "a", "toNode": "f", "label": "so"}, {"fromNode": "a", "toNode": "gone"}, 7]
    assert (shown(*nodes, edges=edges) or "").endswith("\n\n- See b tag -> Idea.md: so\n")


@pytest.mark.parametrize("source", [b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000])
def test_what_is_no_canvas_is_none(source: bytes) -> None:
    assert canvas_text(source) is None


def test_an_empty_file_is_an_empty_canvas() -> None:
    assert canvas_text(b" \n") == ""


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
NODES = st.dictionaries(st.sampled_from(["id", "type", "x", "y", "width", "text", "file", "url", "label"]), VALUES)


@given(st.lists(NODES | VALUES), st.lists(VALUES) | VALUES)
def test_any_json_object_is_a_canvas(nodes: list[Any], edges: Any) -> None:
    assert isinstance(canvas_text(json.dumps({"nodes": nodes, "edges": edges}).encode()), str)
