"""What a note's front matter says of its level, however people and programs write it; doubt withholds the note."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced_events.ids import NoteId
from workspaced_tools.notes.note import Level, Note, StatKey
from workspaced_tools.notes.privacy_flag import HEAD_BYTES, flag_line, level_of, level_of_head, not_understood

NEVER, ON_REQUEST, VOLUNTEER = Level
PADDING = "x" * HEAD_BYTES
FIELDS = {
    NEVER: [
        *["workspaced: PRIVATE", "Workspaced:   ' private '", '"workspaced": "private"', "workspaced: never"],
        *["workspaced: private, for now", "workspaced: [draft, Private]", "workspaced: [[share: none]]"],
        *["workspaced: {private: yes}", "workspaced: {private: }", "workspaced: {share: names}"],
        *["workspaced:\n  - private", "workspaced:\n  Private: true", "workspaced: public"],
        *["workspaced: privately", "workspaced: {visibility: none, private: false}", "workspaced: on requests"],
        *["workspaced: private on-request", "workspaced: {on-request: true, share: none}"],
        *["workspaced: [draft, on-request]", "workspaced: on-request\nWorkspaced: private"],
        *["workspaced: !x [open, private]", "base: &b\n  workspaced: private\n<<: *b"],
        *["work\u00adspaced: private", "<<: [{a: b}, {workspaced: private}]", "workspaced: {<<: {private: true}}"],
        *["workspaced: pri\u200bvate", "workspaced: \uff50\uff52\uff49\uff56\uff41\uff54\uff45"],
        *['"work\\u0073paced": "\\x70rivate"', "workspaced: private\ntitle: [unclosed", "# Private!\n: : :"],
        *["- workspaced: private", "workspaced: on-request\n: [", "workspaced: private\nworkspaced: private"],
        *["a: b: c\nworkspaced: never", "title: a: b\nworkspaced: @x", "title: a: b\n'WORKSPACED' : [x"],
    ],
    ON_REQUEST: [
        *["WORKSPACED: On-Request", "workspaced: on request", "workspaced: [on_request]"],
        *["workspaced: shown on-request, please", "workspaced: on\u2011re\u200bquest"],
        *["workspaced: {on-request: true}", "workspaced: {share: on-request}", "workspaced: !x on-request"],
        "base: &b\n  workspaced: on-request\n<<: *b",
    ],
    VOLUNTEER: [
        *["workspaced:", "workspaced: true", "workspaced: All", "workspaced: volunteer", "workspaced: []"],
        *["workspaced: {level: volunteer}", "workspaced: {private: no}", "workspaced: {on-request: no}"],
        *["private: true", "title: private", "on-request: true", "base: {workspaced: private}"],
        *["title: [unclosed", "title: A: b"],
    ],
}
HEADS = [
    ("\n\n---\nworkspaced: private\n---\n", NEVER),
    ("  \t---\nworkspaced: private\n---\n", NEVER),
    ("\ufeff\ufeff---\nworkspaced: private\n---\n", NEVER),
    ("\u200b---\nworkspaced: private\n---\n", NEVER),
    ("\u00a0---\nworkspaced: private\n---\n", NEVER),
    ("\u2060\n---\nworkspaced: private\n---\n", NEVER),
    ("--- # a comment\nworkspaced: private\n---\n", NEVER),
    ("--- !x\nworkspaced: private\n---\n", NEVER),
    ("--- &a\nworkspaced: private\n---\n", NEVER),
    ("\uff0d\uff0d\uff0d\nworkspaced: private\n---\n", NEVER),
    ("---\nworkspaced: private\n", NEVER),
    (f"---\nworkspaced: private\nlong: {'x' * 70_000}\n---\n", NEVER),
    (f"---\nfill: {PADDING}\nworkspaced: private\n---\n", NEVER),
    (f"---\nfill: {PADDING}\n---\n", NEVER),
    (f"---\n{PADDING}", NEVER),
    ("\n" * 5_000 + "---\nworkspaced: private\n---\n", NEVER),
    (f"\n---\n{PADDING}", VOLUNTEER),
    ("--- Title ---\nprivate\n---\n", VOLUNTEER),
    ("\n---\nprivate text below a rule\n", VOLUNTEER),
    ("----\nprivate\n---\n", VOLUNTEER),
    (f"---\ntitle: x\n---\n{PADDING} private", VOLUNTEER),
    (PADDING + "\n---\nworkspaced: private\n---\n", VOLUNTEER),
    ("\n" * 2 * HEAD_BYTES, VOLUNTEER),
    ("-", VOLUNTEER),
    ("", VOLUNTEER),
]


def assert_level(source: bytes, level: Level) -> None:
    """Of a note and of the head of its file, which is all that is read to decide."""
    note = Note(NoteId("a.md"), StatKey(1, 1, 1, 1, 1), None, "", source)
    assert level_of(note) is level, source[:80]
    assert level_of_head(source[:HEAD_BYTES], whole=len(source) <= HEAD_BYTES) is level, source[:80]


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_says_a_level_in_these_ways(level: Level, end: str) -> None:
    for fields in FIELDS[level]:
        assert_level(f"---\n{fields}\n---\nprivate text\n".replace("\n", end).encode(), level)


def test_what_looks_like_front_matter_counts_wherever_it_begins_and_ends() -> None:
    for text, level in HEADS:
        assert_level(text.encode(), level)
    as_it_is_read = "\ufffd\ufffd".encode() + "---\nworkspaced: private\n---\n".encode("utf-16-le")
    assert_level(as_it_is_read, NEVER)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ("workspaced: privat", 'workspaced: "privat"'),
        ("a: 1\nWorkspaced: {visibility: none}", 'Workspaced: {"visibility":"none"}'),
        ("workspaced: [private, hush]", 'workspaced: ["private","hush"]'),
        ("a: b: c\nworkspaced: @x", "workspaced: @x"),
        *[
            (f"workspaced: {value}", None)
            for value in ("private", "{private: true}", "' never '", "private for now")
        ],
        *[(f"workspaced: {value}", None) for value in ("{share: names}", "on-request", "", "all")],
        *[("x: y", None), ("a: b: c", None)],
    ],
)
def test_a_value_that_withholds_since_nobody_understands_it_is_named(fields: str, named: str | None) -> None:
    text = f"---\n{fields}\n---\ntext".encode()
    assert not_understood(text) == named
    assert named is None or level_of_head(text, whole=True) is NEVER


def test_the_line_of_the_flag_is_found() -> None:
    assert flag_line(b"---\ntitle: x\nWorkspaced: on-request\n---\n") == 3
    assert flag_line(b"# Text") is None


@given(st.binary(max_size=200), st.sampled_from([b"", b"---\n", b"\xef\xbb\xbf---\n", b"\xff\xfe-\0-\0-\0\n\0"]))
def test_whatever_a_file_holds_it_has_a_level(content: bytes, before: bytes) -> None:
    assert level_of_head(before + content, whole=True) in Level
    assert level_of_head(before + content, whole=False) in Level
