"""Front matter: where it ends, what it says, and that nothing in it fails a note."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growth import costs_less_than, grows_linearly, thread_seconds
from support.profiles import examples

from workspaced_tools.limits import FRONT_MATTER_ALIASES_MAX, FRONT_MATTER_CHARS_MAX
from workspaced_tools.notes.frontmatter import split_front_matter


def split(text: str) -> tuple[dict[str, object], str, int]:
    """(fields, body, line of the body)."""
    found = split_front_matter(text)
    assert found.error is None
    return found.fields, text[found.body_offset :], found.body_line


def failed(text: str) -> str:
    """The error, after checking that the fields are empty and the body is what follows the front matter."""
    found = split_front_matter(text)
    assert found.fields == {}
    assert found.error is not None
    assert len(found.error) < 400
    return found.error


def test_a_note_without_front_matter_is_all_body() -> None:
    for text in ("", "# Title\n", "-- -\n", "----\na: 1\n----\n", " ---\na: 1\n---\n", "text\n---\na: 1\n---\n"):
        assert split(text) == ({}, text, 1)


def test_values_are_read_and_the_body_follows_the_closing_line() -> None:
    text = "---\ntitle: A plan\ntags: [a, b]\n---\n# Body\n"
    assert split(text) == ({"title": "A plan", "tags": ["a", "b"]}, "# Body\n", 5)


@pytest.mark.parametrize("closing", ["---", "...", "---\n", "...  \n", "---\t\r\n"])
def test_either_closing_line_ends_it_also_at_the_end_of_the_text(closing: str) -> None:
    assert split(f"---\na: 1\n{closing}") == ({"a": 1}, "", 4)


def test_crlf_counts_as_one_line_break() -> None:
    assert split("---\r\na: x\r\n---\r\nbody\r\n") == ({"a": "x"}, "body\r\n", 4)


def test_empty_front_matter_is_no_error() -> None:
    assert split("---\n---\nbody") == ({}, "body", 3)
    assert split("---\n# comment\n---\nbody") == ({}, "body", 4)


def test_unclosed_front_matter_is_body_with_an_error_and_can_still_be_searched() -> None:
    text = "---\nworkspaced: private\nno end"
    found = split_front_matter(text)
    assert "never closed" in failed(text)
    assert (found.body_offset, found.body_line) == (0, 1)
    assert "private" in found.raw


def test_dates_times_and_yaml_1_1_words_stay_text() -> None:
    fields, _, _ = split("---\na: 2024-02-31\nb: 2024-02-03T10:00:00Z\nc: 12:30\nd: yes\ne: 017\n---\n")
    assert fields == {"a": "2024-02-31", "b": "2024-02-03T10:00:00Z", "c": "12:30", "d": "yes", "e": "017"}


def test_what_json_cannot_hold_becomes_text() -> None:
    fields, _, _ = split("---\n2: a\ntrue: b\nnull: c\n1.5: d\nx: .nan\ny: [.inf, -.inf]\n---\n")
    assert fields == {"2": "a", "true": "b", "null": "c", "1.5": "d", "x": "nan", "y": ["inf", "-inf"]}


def test_merge_keys_stay_ordinary_keys() -> None:
    assert split("---\na: &a {x: 1}\nb: {<<: *a, y: 2}\n---\n")[0]["b"] == {"<<": {"x": 1}, "y": 2}


@pytest.mark.parametrize(
    "yaml",
    [
        *[
            "a: [1\n",
            "a: b: c\n",
            "a:\n\tb: 1\n",
            "a: \x01\n",
            "a: \0\n",
            "a: 1\na: 2\n",
            "a: @x\n",
            "[1, 2]: x\n",
        ],
        *["- a list\n", "one value\n", "a: &a [*a]\n", 'a: "\\ud800"\n', "a: " + "[" * 900 + "]" * 900 + "\n"],
        *["a: " + "x" * 400_000 + "\n", "a: *unknown\n", "x: " + "9" * 30 + "\n"],
    ],
)
def test_what_cannot_be_read_leaves_no_fields_an_error_and_the_body(yaml: str) -> None:
    text = f"---\n{yaml}---\nbody"
    failed(text)
    assert text[split_front_matter(text).body_offset :] == "body"
    assert split_front_matter(text).raw == yaml


def test_an_error_names_the_line_of_the_raw_file() -> None:
    assert "line 3" in failed("---\nfine: 1\nbroken: b: c\n---\n")


def alias_bomb(width: int, depth: int) -> str:
    lines = ["a0: &a0 [" + ",".join("x" * width) + "]"]
    lines += [f"a{i}: &a{i} [" + ",".join([f"*a{i - 1}"] * width) + "]" for i in range(1, depth)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "yaml",
    [
        *[alias_bomb(9, 9), alias_bomb(2, 60)],
        "a: &a [" + "1," * 10_000 + "1]\nb: [" + "*a," * 10_000 + "*a]\n",
        "a: &a {x: 1}\nb: {" + ", ".join(f"k{i}: *a" for i in range(50)) + "}\n",
    ],
)
def test_alias_bombs_are_refused_before_they_grow(yaml: str) -> None:
    assert costs_less_than(0.5, lambda: failed(f"---\n{yaml}---\n"))


def test_a_few_aliases_are_read() -> None:
    yaml = "a: &a [1]\n" + "".join(f"b{i}: *a\n" for i in range(FRONT_MATTER_ALIASES_MAX))
    assert split(f"---\n{yaml}---\n")[0]["b7"] == [1]


def test_stars_in_prose_are_no_aliases() -> None:
    prose = "".join(f"k{i}: see *a* and R&D at &b\n" for i in range(3)) + "t: |\n" + "  * item\n" * 50
    assert len(split(f"---\n{prose}---\n")[0]) == 4


@pytest.mark.parametrize("unit", ["---", "-", "--- ", "\n", "a: b\n", "\r", " ", "&a ", "*a "])
def test_splitting_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        text = "---\n" + unit * (length // len(unit))
        return thread_seconds(lambda: split_front_matter(text))

    assert grows_linearly(seconds, 100_000, 400_000)


@settings(max_examples=examples(200))
@given(st.text(alphabet="ab:-[]{}&*!|>'\"%@#, \n\t01.~<?\\é\x07", max_size=80))
def test_any_text_gives_json_shaped_fields_and_a_whole_body(yaml: str) -> None:
    text = f"---\n{yaml}\n---\nbody"
    found = split_front_matter(text)
    assert msgspec.json.decode(msgspec.json.encode(found.fields)) == found.fields
    assert text[found.body_offset :].endswith("body")
    assert text[: found.body_offset].count("\n") + 1 == found.body_line
    assert found.error is None or found.fields == {}
    assert len(found.raw) <= max(FRONT_MATTER_CHARS_MAX, len(text))
