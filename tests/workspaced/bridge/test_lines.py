"""Lines on both sides of a bridge, without any pipe."""

import itertools
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced.bridge.lines import Input, Output, TooLong
from workspaced.bridge.session import Session
from workspaced.errors import NoDaemon
from workspaced.ipc.jsonrpc import error_response, response

MAX = 64
IDS = st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data, cut at these places."""
    places = sorted({0, len(data), *(each % (len(data) + 1) for each in cuts)})
    return [data[begin:end] for begin, end in pairwise(places)]


@given(st.lists(st.binary(max_size=3 * MAX)), st.lists(st.integers(0, 10_000)))
@settings(max_examples=examples(300))
def test_lines_are_the_same_however_they_come_in_and_long_ones_are_left_out(
    parts: list[bytes], cuts: list[int]
) -> None:
    data = b"\n".join(parts)
    taken = Input(MAX)
    got = [line for piece in pieces(data, cuts) for line in taken.feed(piece)]
    wanted = [each + b"\n" if len(each) <= MAX else None for each in data.split(b"\n")[:-1]]
    assert [None if isinstance(each, TooLong) else each for each in got] == wanted


REQUEST = {"jsonrpc": "2.0", "method": "tools/call", "params": {"arguments": {"id": 7, "text": ',"id":8}'}}}


@pytest.mark.parametrize("request_id", [0, -5, 10**30, "", "7", 'a"b', "\\", "é\n", ',"id":9}'])
def test_the_id_of_a_long_line_is_found_before_and_behind_its_parameters(request_id: Any) -> None:
    long = {**REQUEST, "params": {**REQUEST["params"], "filled": "x" * 9_000}}  # type: ignore[dict-item]
    first = {"jsonrpc": "2.0", "id": request_id, **long}
    last = {**long, "id": request_id}
    usual = {"method": long["method"], "params": long["params"], "jsonrpc": "2.0", "id": request_id}
    forms = itertools.product((first, last, usual), [(",", ":"), (", ", ": ")], (False, True))
    for message, separators, ascii_only in forms:
        line = json.dumps(message, separators=separators, ensure_ascii=ascii_only).encode() + b"\r\n"
        assert list(Input(MAX).feed(line)) == [TooLong(request_id)]


@pytest.mark.parametrize(
    "line",
    [
        b'{"method":"m","params":{"id":1,"x":"' + b"x" * 9_000 + b'"}}',
        b'{"method":"m","params":{"x":"' + b"x" * 9_000 + b'","id":1}}',
        b'{"method":"m","params":{"x":"' + b"x" * 9_000 + b'\\",\\"id\\":1}"}',
        b"x" * 9_000,
        b'[{"id":1},' + b"x" * 9_000 + b"]",
    ],
)
def test_the_id_of_something_else_is_not_taken_for_a_requests(line: bytes) -> None:
    assert list(Input(MAX).feed(line + b"\n")) == [TooLong(None)]


@given(IDS, st.booleans())
@settings(max_examples=examples(300))
def test_whatever_the_id_a_request_is_in_flight_until_its_answer(request_id: float | str, granted: bool) -> None:
    session = Session()
    session.forward(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "m"}).encode())
    line = response(request_id, {}) if granted else error_response(request_id, NoDaemon("x"))
    assert session.answer(line) is line
    assert session.lost() == (b"", [])


def test_an_id_with_half_an_emoji_is_that_of_the_daemons_answer() -> None:
    session = Session()
    session.forward(b'{"jsonrpc":"2.0","id":"\\ud83d","method":"m"}\n')
    session.answer(response("\ufffd", {}))
    assert session.lost() == (b"", [])


@given(IDS, IDS)
@settings(max_examples=examples(100))
def test_an_answer_to_another_request_ends_none(one: float | str, other: float | str) -> None:
    session = Session()
    session.forward(json.dumps({"jsonrpc": "2.0", "id": one, "method": "m"}).encode())
    session.answer(response(other, {}))
    answers, _ = session.lost()
    is_same = one == other
    assert [json.loads(line)["id"] for line in answers.splitlines()] == ([] if is_same else [one])


def test_a_batch_is_in_flight_request_by_request() -> None:
    session = Session()
    batch = [{"jsonrpc": "2.0", "id": each, "method": "m"} for each in (1, "b", 3)]
    session.forward(json.dumps([*batch, {"jsonrpc": "2.0", "method": "n"}]).encode())
    session.answer(b"[" + response(1, {}).strip() + b"]\n")
    session.answer(response(3, {}))
    answers, _ = session.lost()
    assert [json.loads(line)["id"] for line in answers.splitlines()] == ["b"]


@given(st.lists(st.text("ab-").map(str.encode)), st.lists(st.integers(0, 999)))
@settings(max_examples=examples(200))
def test_an_agent_is_given_whole_lines_as_it_is_to_see_them(parts: list[bytes], cuts: list[int]) -> None:
    output = Output(lambda line: b"" if line.startswith(b"-") else line)
    got = b""
    for piece in pieces(b"\n".join(parts), cuts):
        output.feed(piece)
        output.add(b"own\n")
        count = (output.ready + 1) // 2
        got += output.first(count)
        output.written(count)
    output.drop_partial()
    assert output.partial == 0
    got += output.first(output.ready)
    assert got.endswith(b"\n") or not got
    theirs = [line for line in got.split(b"\n")[:-1] if line != b"own"]
    assert theirs == [line for line in parts[:-1] if not line.startswith(b"-")]
