"""Long runs of combining marks are normalized as Unicode says, and without taking hours."""

import unicodedata
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.growth import costs_less_than

from workspaced_tools.notes.normal_form import normalized
from workspaced_tools.notes.search_text import search_form

MARKS = "\u0323\u0307\u0344\u1dc2\u1dc1\u0f71\u0f73\u3099\uff9e\u0903\u0488\u05bf\u0345"


@given(
    st.lists(
        st.tuples(
            st.sampled_from("aÅǰﬁ가が "),
            st.builds(mul, st.text(MARKS, max_size=60), st.integers(1, 12)),
            st.sampled_from("\u200d\u0338ᾳ"),
        ),
        max_size=4,
    ),
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
)
def test_it_equals_the_standard_library(parts, form) -> None:  # type: ignore[no-untyped-def]
    text = "".join(letter + marks + end for letter, marks, end in parts)
    assert normalized(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("text", ["a" + "\u0323\u0307" * 40_000, "a" + "\u1dc2\u1dc1\u200d" * 20_000])
def test_a_note_of_marks_is_folded_in_seconds(text: str) -> None:
    assert costs_less_than(10, lambda: search_form(text)), "many minutes with an insertion sort"
