"""Edits of JSON and TOML as text: nothing but the edit changes, and an edit can be taken back."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced.connecting import json_text, toml_text
from workspaced.connecting.json_text import Unmergeable

texts = st.text(st.characters(codec="utf-8"), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, max_size=5)


@st.composite
def spread(draw: st.DrawFn) -> str:
    """JSON text of an object in any layout: compact, indented, with space, empty lines, comments and final commas
    wherever they may be."""
    whole = draw(objects)
    written = json.dumps(whole, indent=draw(st.sampled_from([None, 0, 2, "\t"])), ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        written = written.replace("\n", "\r\n")
    if not draw(st.booleans()):
        return written
    space = draw(
        st.sampled_from([" ", "\n", " \n\t", "\r\n", " // why, }\n", '/* "mine", [ */', "\n// a\n\n  // b\n"])
    )
    tokens = _tokens(written)
    if draw(st.booleans()):  # a final comma wherever one may be
        tokens = [
            f",{token}" if token in ("}", "]") and last not in ("{", "[") else token
            for last, token in zip(["", *tokens], tokens, strict=False)
        ]
    return space.join(tokens) + space


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text):
        if text[at] == '"':
            _value, end = json.JSONDecoder().raw_decode(text, at)
        else:
            end = at + 1
            while text[at] not in "{}[],: \r\n\t" and end < len(text) and text[end] not in "{}[],: \r\n\t":
                end += 1
        tokens.append(text[at:end])
        at = end
    return tokens


@settings(max_examples=examples(150))
@given(text=spread(), value=values, path=st.lists(texts, min_size=1, max_size=3))
def test_a_member_that_is_put_and_taken_leaves_the_same_text(text: str, value: Any, path: list[str]) -> None:
    whole = json_text.parse(text)
    if path[0] in whole:
        return
    after = json_text.put(text, tuple(path), value)
    expected = value
    for key in reversed(path[1:]):
        expected = {key: expected}
    assert json_text.parse(after) == {**whole, path[0]: expected} and list(json_text.parse(after)) == [
        *whole,
        path[0],
    ]
    taken = json_text.take(after, (path[0],))
    assert taken == text or (whole == {} and json_text.parse(taken) == {})


@settings(max_examples=examples(150))
@given(text=spread(), value=values, data=st.data())
def test_any_member_can_be_replaced_or_taken_wherever_it_stands(
    text: str, value: Any, data: st.DataObject
) -> None:
    whole = json_text.parse(text)
    path: list[str | int] = []
    inner: Any = whole
    while isinstance(inner, dict | list) and inner and (not path or data.draw(st.booleans())):
        step: Any = data.draw(st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner))))
        path.append(step)
        inner = inner[step]
    if not path:
        return
    holder: Any = whole
    for step in path[:-1]:
        holder = holder[step]
    replaced = json_text.put(text, tuple(path), value)
    del_text = json_text.take(text, tuple(path))
    holder[path[-1]] = value
    assert json_text.parse(replaced) == whole
    del holder[path[-1]]
    assert json_text.parse(del_text) == whole


def test_half_a_character_is_written_as_an_escape() -> None:
    text = json_text.put('{"ä": 1}', ("b",), "\udce9 ü")
    assert text == '{"ä": 1, "b": "\\udce9 ü"}'
    assert json_text.parse(text) == {"ä": 1, "b": "\udce9 ü"}


names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=12)
plain = ["# why", "", "[a]", "[mcp_servers.other]", "[[b]]", '[mcp_servers."quoted name"]']
lines = st.sampled_from([*plain, 'x = """\n[mcp_servers.n]\n"""', "y = [\n  1,\n]"])


@settings(max_examples=examples(150))
@given(
    written=st.lists(lines, max_size=6),
    behind=st.lists(lines, max_size=3),
    name=names,
    newline=st.sampled_from(["\n", "\r\n"]),
    ends=st.booleans(),
)
def test_a_table_that_is_appended_can_be_cut_out(
    written: list[str], behind: list[str], name: str, newline: str, ends: bool
) -> None:
    before = newline.join(written).replace("\r\n", "\n").replace("\n", newline) + (
        newline if ends and written else ""
    )
    try:
        after = toml_text.put(before, "mcp_servers", name, {"command": "/x", "args": ["mcp", "é\x7f"]})
    except Unmergeable:
        return
    assert after.startswith(before) and tomllib.loads(after)["mcp_servers"][name]["args"] == ["mcp", "é\x7f"]
    taken = toml_text.take(after, "mcp_servers", name)
    assert taken.rstrip("\r\n") == before.rstrip("\r\n")
    more = after + newline.join(["", *behind, ""])
    try:
        whole = toml_text.parse(more)
        cut = toml_text.take(more, "mcp_servers", name)
    except Unmergeable:
        return
    del whole["mcp_servers"][name]
    without = {key: value for key, value in whole.items() if key != "mcp_servers" or value}
    assert toml_text.parse(cut) in (whole, without)


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {n = {command = "x"}}\n',
        'mcp_servers.n.command = "x"\n',
        '[mcp_servers]\nn = {command = "x"}\n',
        '[mcp_servers.n]\nargs = [\n["x"]\n]\n',
    ],
)
def test_a_table_in_another_form_is_refused_and_never_half_cut(text: str) -> None:
    with pytest.raises(Unmergeable):
        toml_text.take(text, "mcp_servers", "n")
