"""Positions in a text: lines and columns as editors count them, in each encoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced_tools.editing.positions import Encoding, Position, Positions

TEXT = "a\r\n𝄞é𝄞b\rlast\n"


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 10), ("utf-16", 5), ("utf-32", 3)])
def test_a_column_counts_the_units_of_its_encoding(encoding: Encoding, column: int) -> None:
    positions = Positions(TEXT, encoding)
    offset = TEXT.encode().index(b"b")
    assert positions.at(offset) == Position(1, column)
    assert positions.offset(Position(1, column)) == offset


def test_a_line_ends_with_any_of_three_ends_and_what_lies_beyond_is_the_end() -> None:
    positions = Positions(TEXT)
    assert [positions.line(number) for number in range(5)] == ["a", "𝄞é𝄞b", "last", "", ""]
    positions = Positions(TEXT)
    assert positions.offset(Position(0, 99)) == 1
    assert positions.offset(Position(99, 0)) == len(TEXT.encode())
    assert positions.offset(Position(-1, -1)) == 0
    assert positions.at(10_000) == Position(3, 0)


@given(
    st.text(alphabet=st.sampled_from("a\r\né𝄞 \u2028"), max_size=30),
    st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_each_offset_of_a_character_comes_back(text: str, encoding: Encoding) -> None:
    positions = Positions(text, encoding)
    at = 0
    for character in text:
        if not text.encode()[:at].endswith(b"\r") or character != "\n":
            assert positions.offset(positions.at(at)) == at or character in "\r\n"
        at += len(character.encode())
