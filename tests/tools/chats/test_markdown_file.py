"""Chats as files: what is written is read, whatever it holds; what a person changes counts; losses are named."""

from typing import Any, Final, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DATA
from support.profiles import examples

from workspaced_events.schema.catalogue import AttachmentKind, Form, Role
from workspaced_tools.chats.markdown_file import read_chat, write_chat
from workspaced_tools.chats.model import (
    Chat,
    ReadChat,
    SavedAttachment,
    SavedCall,
    SavedMessage,
    SavedResult,
    SavedSummary,
    SavedThinking,
)
from workspaced_tools.errors import ArgumentInvalid

CHATS = DATA / "chats"
MARK = "---\nworkspaced-chat: 1\n---\n\n"

HOSTILE: Final = st.sampled_from(
    [
        *["**user**", "**assistant** · 2026-03-01 12:00", "**summary**", "**robot** · 2026-03-01 12:00"],
        *["**user**: text", "**ai**:", "[Context:", "[Context: Notes: a.md]"],
        *["[Timestamp: 2025/03/01 10:00:00]", "<!-- workspaced: {} -->", '<!-- workspaced: {"id":"x"} -->'],
        *["<!--", "-->", "---", "workspaced-chat: 2", "\\", "\\\\", "\\u{20}", "\\,", "\\n", "\\U0000000a"],
        *["\n", "\n\n", "\r", "\r\n", "\t", " ", ", ", " | ", "|", "]", "[", "Notes: ", "URLs: x", "{}", '"'],
        *["'", "#", ": ", "- ", "&a *a", "%", "\ufeff", "\u2028", "\x85", "\x00", "\x1b[31m", "\u200b", "é"],
        *["e\u0301", "😀", "null", "~", "1", "1e9", "a.md", "b, c.md"],
    ]
)
TEXT: Final = st.one_of(
    st.text(max_size=20),
    st.lists(HOSTILE, max_size=6).map("".join),
    st.lists(st.one_of(HOSTILE, st.text(max_size=5)), max_size=6).map("".join),
    st.lists(HOSTILE, max_size=5).map("\n".join),
)
MAYBE: Final = st.none() | TEXT
JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OURS = ("conversation", "title", "vault", "provider", "model", "contextWindow", "outputReserve", "started")
TOKENS = st.none() | st.integers(0, 10**9)
ATTACHMENT: Final = st.builds(
    SavedAttachment,
    st.sampled_from(get_args(AttachmentKind)),
    TEXT,
    MAYBE,
    MAYBE,
    st.sampled_from(get_args(Form)),
    MAYBE,
    MAYBE,
)
PLAIN: Final = st.builds(SavedAttachment, st.sampled_from(("note", "url", "tag", "folder")), TEXT)
MESSAGE: Final = st.builds(
    SavedMessage,
    st.sampled_from(get_args(Role)),
    MAYBE,
    MAYBE | st.just("2026-03-01T12:00:30.000000Z"),
    MAYBE,
    st.lists(ATTACHMENT, max_size=4).map(tuple) | st.lists(PLAIN, max_size=4).map(tuple),
    st.lists(st.builds(SavedCall, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    st.lists(
        st.builds(SavedResult, TEXT, TEXT, TEXT, st.booleans(), st.sampled_from(get_args(Form))), max_size=2
    ).map(tuple),
    st.lists(st.builds(SavedThinking, TEXT, MAYBE), max_size=2).map(tuple),
    st.dictionaries(TEXT, TEXT, max_size=2),
)
CHAT: Final = st.builds(
    Chat,
    conversation=MAYBE,
    title=MAYBE,
    vault=MAYBE,
    provider=MAYBE,
    model=MAYBE,
    context_window=TOKENS,
    output_reserve=TOKENS,
    started=MAYBE,
    version=st.just(1),
    more=st.dictionaries(TEXT.filter(lambda name: name not in {*OURS, "workspaced-chat"}), JSON, max_size=2),
    summary=st.none() | st.builds(SavedSummary, TEXT, MAYBE),
    messages=st.lists(MESSAGE, max_size=4, unique_by=lambda each: (each.id is None and object()) or each.id).map(
        tuple
    ),
)


def user(text: str | None, *attachments: SavedAttachment, **more: Any) -> SavedMessage:
    return SavedMessage("user", text=text, attachments=attachments, **more)


def note(path: str) -> SavedAttachment:
    return SavedAttachment("note", path)


def codes(read: ReadChat) -> list[tuple[int, str]]:
    return [(each.line, each.code) for each in read.warnings]


def read_file(name: str) -> ReadChat:
    return read_chat((CHATS / name).read_text())


# -- round trips --


@settings(max_examples=examples(150))
@given(CHAT)
def test_every_chat_is_read_as_it_was_written(chat: Chat) -> None:
    text = write_chat(chat)
    read = read_chat(text)
    assert read.warnings == ()
    assert read.chat == chat
    assert write_chat(read.chat) == text


@settings(max_examples=examples(200))
@given(st.one_of(TEXT, st.lists(HOSTILE, max_size=12).map("\n".join)))
def test_any_text_at_all_is_read_or_refused_by_its_type(text: str) -> None:
    for given_text in (text, MARK + text, "---\n" + text):
        try:
            read = read_chat(given_text)
        except ArgumentInvalid:
            continue
        assert len(read.lines) == len(read.chat.messages)
        again = read_chat(write_chat(read.chat))
        assert again.chat == read.chat


def test_unknown_front_matter_of_a_newer_version_is_kept_and_written_again() -> None:
    text = '---\nworkspaced-chat: 2\nworkspaced: private\nnext: {a: [1, "x"]}\n---\n\n**user**\n\nHi.\n'
    read = read_chat(text)
    assert codes(read) == [(1, "NEWER_VERSION")]
    assert read.chat.more == {"workspaced": "private", "next": {"a": [1, "x"]}}
    again = read_chat(write_chat(read.chat)).chat
    assert again == read.chat and again.version == 2


# -- what a person sees --


def test_a_person_reads_names_and_words_and_the_rest_is_in_a_comment() -> None:
    given_text = SavedAttachment("file", "log.txt", text="secret --> given")
    chat = Chat(
        conversation="talk",
        model="large",
        messages=(
            user(
                "What is left?",
                note("work/plan.md"),
                note("a, b | c].md"),
                given_text,
                id="m1",
                at="2026-03-01T12:00:30Z",
            ),
            SavedMessage("assistant", text="Two things."),
        ),
    )
    lines = write_chat(chat).split("\n")
    assert lines[:6] == ["---", "workspaced-chat: 1", 'conversation: "talk"', 'model: "large"', "---", ""]
    assert lines[6:8] == [
        "**user** · 2026-03-01 12:00",
        r"[Context: Notes: work/plan.md, a\, b \| c\].md | Files: log.txt]",
    ]
    comment = lines[8]
    assert comment.startswith("<!-- workspaced: {") and comment.endswith("} -->")
    assert "--" not in comment[4:-3] and ">" not in comment[4:-3]
    assert lines[9:] == ["", "What is left?", "", "**assistant**", "", "Two things.", ""]


# -- what a person changes --


def test_what_is_visible_wins_over_the_comment() -> None:
    read = read_file("edited.md")
    assert read.warnings == () and read.lines == (7, 13)
    first, second = read.chat.messages
    assert first.id == "m1" and first.at == "2026-03-01T12:00:30.000000Z" and first.text == "The words, edited."
    assert first.attachments == (
        SavedAttachment("active_note", "a.md", "Alpha"),
        note("typed by hand"),
        SavedAttachment("tag", "x"),
    )
    assert second == SavedMessage("assistant", text="An answer typed below its heading.")
    assert read.chat.title == "Edited by hand" and read.chat.more == {"colour": {"red": [1, 2.5, None]}}


def test_an_attachment_without_a_name_is_only_in_the_comment_and_stays() -> None:
    attached = SavedAttachment("active_note")
    text = write_chat(Chat(messages=(user("x", attached, note("a.md")),)))
    assert read_chat(text.replace("[Context: Notes: a.md]\n", "")).chat.messages[0].attachments == (attached,)


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_an_editor_that_ends_lines_its_own_way_or_marks_the_encoding_changes_nothing(change: Any) -> None:
    chat = Chat(
        title="T", messages=(user("one\n\ntwo", note("a.md"), id="m1"), SavedMessage("assistant", text="x"))
    )
    read = read_chat(change(write_chat(chat)))
    assert read.chat == chat and read.warnings == ()


# -- broken files --


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nworkspaced-chat: 1\na: [\n---\n**user**\nHi.\n", [(1, "FRONT_MATTER_INVALID")]),
        ("---\nworkspaced-chat: 1\n**user**\nHi.\n", [(1, "FRONT_MATTER_INVALID"), (1, "TEXT_BEFORE_MESSAGES")]),
        ("---\nworkspaced-chat: 1\ncontextWindow: big\n---\n**user**\nHi.\n", [(1, "FIELD_INVALID")]),
        ("---\nworkspaced-chat: new\n---\n**user**\nHi.\n", [(1, "FIELD_INVALID")]),
        ("\nWords.\n**user**\nHi.\n", [(2, "TEXT_BEFORE_MESSAGES")]),
        ("**robot** · 2026-01-01 10:00\nBeep.\n**user**\nHi.\n", [(1, "UNKNOWN_ROLE")]),
        ("**user**\n[Context: Notes: a.md\n\nHi.\n", [(2, "CONTEXT_INVALID")]),
        (r"**user**" + "\n[Context: Notes: a.md\\]\nHi.\n", [(2, "CONTEXT_INVALID")]),
        ("**user**\n[Context: Wishes: a.md]\nHi.\n", [(2, "CONTEXT_INVALID")]),
        ("**user**\n<!-- workspaced: {nonsense} -->\nHi.\n", [(2, "COMMENT_INVALID")]),
        ('**user**\n<!-- workspaced: {"id": 5} -->\nHi.\n', [(2, "COMMENT_INVALID")]),
        ('**user**\n<!-- workspaced: {"id": "m"}\nHi.\n', [(2, "COMMENT_INVALID")]),
        ("**user**\n<!-- workspaced: " + "[" * 100_000 + " -->\nHi.\n", [(2, "COMMENT_INVALID")]),
        ('**user**\n<!-- workspaced: {"later": 1} -->\nHi.\n', [(2, "COMMENT_FIELD_UNKNOWN")]),
        (
            '**user**\n<!-- workspaced: {"id":"m"} -->\nHi.\n**user**\n<!-- workspaced: {"id":"m"} -->\nYes.\n',
            [(4, "DUPLICATE_ID")],
        ),
        ("**summary**\none\n**summary**\ntwo\n**user**\nHi.\n", [(3, "SECOND_SUMMARY")]),
    ],
)
def test_of_a_broken_file_what_can_be_read_is_read_and_the_rest_is_named(text: str, expected: Any) -> None:
    read = read_chat(text)
    assert codes(read) == expected
    assert next(each for each in read.chat.messages if each.role == "user").text == "Hi."


@pytest.mark.parametrize(
    "text", ["", "\n", "Just a note.\n\n**Note**: bold.\n", "---\ntitle: x\n---\n", "**bold** words"]
)
def test_a_text_that_is_no_chat_is_refused(text: str) -> None:
    with pytest.raises(ArgumentInvalid) as refused:
        read_chat(text)
    assert "**user**" in refused.value.hint


# -- files of other tools --


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Notes: a, b", ["a", "b"]),
        ("Notes: a.md", ["a.md"]),
        ("Notes: one, two.md, three.MD", ["one, two.md", "three.MD"]),
        ("Notes: a | b.md | URLs: u", ["a | b.md", "u"]),
        ("Notes: [x] y.md", ["[x] y.md"]),
        ("Notes: ", []),
    ],
)
def test_names_of_an_older_line_keep_their_commas_and_bars(line: str, names: list[str]) -> None:
    [message] = read_chat(f"**user**: Hi.\n[Context: {line}]\n").chat.messages
    assert [each.id for each in message.attachments] == names and message.text == "Hi."


def test_what_is_broken_in_an_older_file_is_named() -> None:
    read = read_chat("---\nepoch: 1e99\nmodelKey: [1]\n---\nWords.\n\n**user**: Hi.\n[Context: Wishes: a]\n")
    assert codes(read) == [(5, "TEXT_BEFORE_MESSAGES"), (8, "CONTEXT_INVALID")]
    assert read.chat.more == {"epoch": 1e99, "modelKey": [1]} and read.chat.messages[0].text == "Hi."
    assert codes(read_chat("---\nepoch: 999999999999999\n---\n**user**: Hi.\n")) == [(1, "FIELD_INVALID")]
    unread = codes(read_chat("---\nepoch: [\n---\n**user**: Hi.\n"))
    assert unread == [(1, "FRONT_MATTER_INVALID"), (1, "TEXT_BEFORE_MESSAGES")]


def test_an_older_file_is_written_in_our_form_and_read_as_the_same() -> None:
    chat = read_file("older.md").chat
    assert read_chat(write_chat(chat)).chat == chat
