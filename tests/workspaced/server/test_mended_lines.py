"""What is read of a line that is not quite JSON: its text, and the ids of its requests."""

import json
import re
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced.ipc.jsonrpc import mended, readable_ids

texts = st.text(st.characters() | st.sampled_from('\ud83d\ude00\udfff\\"{}[]'), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("id"), inner, max_size=3),
    max_leaves=8,
)
numbers = st.integers() | st.text(max_size=6) | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=examples(200))
@given(values, st.booleans())
def test_what_javascript_writes_is_read_with_a_mark_for_each_half_character(value: Any, is_ascii: bool) -> None:
    written = json.dumps(value, ensure_ascii=is_ascii).encode(errors="surrogatepass")
    marked = re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(json.loads(json.dumps(value)), ensure_ascii=False))
    if is_ascii:
        assert msgspec.json.decode(mended(written)) == json.loads(marked)
    else:
        assert "\ufffd" in marked or mended(written) == written
        msgspec.json.decode(mended(written))


@settings(max_examples=examples(200))
@given(st.binary(max_size=40))
def test_whatever_comes_is_text_afterwards_and_text_stays_as_it_is(line: bytes) -> None:
    text = mended(line).decode()
    assert mended(text.encode()) == text.encode().removeprefix(b"\xef\xbb\xbf")


@settings(max_examples=examples(200))
@given(numbers, values, st.booleans(), st.data())
def test_the_id_is_read_wherever_it_stands_and_however_the_line_ends(
    number: Any, params: Any, is_last: bool, data: st.DataObject
) -> None:
    members = [("id", number), ("method", "tools/call"), ("params", params)]
    line = json.dumps(dict(reversed(members) if is_last else members)).encode()
    assert readable_ids(line) == [number]
    assert readable_ids(line + b"garbage") == [number]
    assert readable_ids(b"[" + line + b"," + line) == [number, number]
    cut = line[: data.draw(st.integers(0, len(line) - 1))]
    assert readable_ids(cut) in ([], [number])
    assert is_last or len(cut) < len(json.dumps({"id": number})) or readable_ids(cut) == [number]
