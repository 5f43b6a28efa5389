"""Chats as files: what is written is read, whatever it holds; words that a person changes count."""

from typing import Any, Final, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced.prompts import params as p
from workspaced.prompts.chat_file import ChatFile, Summary, read_chat, write_chat
from workspaced_events.schema.catalogue import AttachmentKind, Role
from workspaced_tools.errors import ArgumentInvalid

MARK = "---\nworkspaced-chat: 1\n---\n\n"
HOSTILE: Final = st.sampled_from(
    [
        *["**user**", "**assistant** · 2026-03-01 12:00", "**summary**", "**robot** · 2026-03-01 12:00"],
        *["[Context:", "[Context: a.md]", "<!-- workspaced: {} -->", '<!-- workspaced: {"id":"x"} -->'],
        *["<!--", "-->", "---", "workspaced-chat: 2", "\\", "\\\\", "\\n", "\\U0000000a", "\n", "\n\n", "\r"],
        *["\r\n", "\t", " ", ", ", "|", "]", "[", "{}", '"', "'", "#", ": ", "- ", "&a *a", "%", "\ufeff"],
        *["\u2028", "\x85", "\x00", "\x7f", "\x1b[31m", "\u200b", "é", "e\u0301", "😀", "null", "~", "1", "1e9"],
    ]
)
TEXT: Final = st.one_of(
    st.text(max_size=20),
    st.lists(HOSTILE, max_size=6).map("".join),
    st.lists(st.one_of(HOSTILE, st.text(max_size=5)), max_size=6).map("".join),
    st.lists(HOSTILE, max_size=5).map("\n".join),
)
NAME: Final = TEXT.filter(bool)
WORDS: Final = TEXT.map(lambda text: text.strip("\n") or None)
MAYBE: Final = st.none() | TEXT
DOCUMENT: Final = st.builds(p.Document, TEXT, NAME, TEXT)
SEARCH: Final = st.none() | st.builds(p.Search, TEXT, st.lists(DOCUMENT, max_size=2))
ATTACHED: Final = st.builds(p.Attached, st.sampled_from(get_args(AttachmentKind)), TEXT, MAYBE, MAYBE, SEARCH)
MESSAGE: Final = st.builds(
    p.Message,
    st.sampled_from(get_args(Role)),
    NAME,
    WORDS,
    attachments=st.lists(ATTACHED, max_size=4),
    tool_calls=st.lists(st.builds(p.ToolCall, NAME, NAME, TEXT), max_size=2),
    tool_results=st.lists(st.builds(p.ToolResult, NAME, NAME, MAYBE, st.booleans(), SEARCH), max_size=2),
    thinking=st.lists(st.builds(p.Thinking, MAYBE, MAYBE, MAYBE), max_size=2),
)
FIELDS: Final = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("conversation", "provider", "model"), TEXT),
        **{name: st.integers(0, 10**9) for name in ("contextWindow", "outputReserve")},
    },
)
SUMMARY: Final = st.none() | st.builds(Summary, WORDS.map(lambda text: text or ""), TEXT)
CHAT: Final = st.builds(
    lambda fields, messages, summary: ChatFile(
        fields, tuple(messages), ("2026-03-01T12:00:30.000000Z",) * len(messages), summary
    ),
    FIELDS,
    st.lists(MESSAGE, max_size=4, unique_by=lambda each: each.id),
    SUMMARY,
)


def read(text: str) -> ChatFile:
    return read_chat(MARK + text)


@settings(max_examples=examples(150))
@given(CHAT)
def test_every_chat_is_read_as_it_was_written(chat: ChatFile) -> None:
    assert read_chat(write_chat(chat)) == chat._replace(times=())


@settings(max_examples=examples(200))
@given(st.one_of(TEXT, st.lists(HOSTILE, max_size=12).map("\n".join)))
def test_any_text_at_all_is_read_or_refused_by_its_type(text: str) -> None:
    for given_text in (text, MARK + text, "---\n" + text):
        try:
            chat = read_chat(given_text)
        except ArgumentInvalid:
            continue
        assert read_chat(write_chat(chat._replace(times=("",) * len(chat.messages)))) == chat


def test_a_person_reads_names_and_words_and_the_rest_is_in_a_comment() -> None:
    asked = p.Message(
        "user",
        "m1",
        "What is left?",
        attachments=[p.Attached("note", "work/plan.md"), p.Attached("file", "log.txt", "secret --> given")],
    )
    times = ("2026-03-01T12:00:30Z", "2026-03-01T12:01:00Z")
    answer = p.Message("assistant", "a1", "Two things.")
    lines = write_chat(ChatFile({"conversation": "talk"}, (asked, answer), times)).split("\n")
    assert lines[:7] == [
        *["---", "workspaced-chat: 1", 'conversation: "talk"', "---", ""],
        *["**user** · 2026-03-01 12:00", "[Context: work/plan.md, log.txt]"],
    ]
    comment = lines[7]
    assert comment.startswith("<!-- workspaced: {") and comment.endswith("} -->")
    assert "--" not in comment[4:-3] and ">" not in comment[4:-3]
    assert lines[8:11] == ["", "What is left?", ""] and lines[-3:] == ["", "Two things.", ""]


def test_words_that_a_person_writes_are_the_messages() -> None:
    chat = read(
        "**user** · 2026-03-01 12:00\nEdited.\n\n\\**user**\n\n**assistant**\n\nTyped below its heading.\n"
    )
    assert [(each.role, each.id, each.text) for each in chat.messages] == [
        ("user", "line-5", "Edited.\n\n**user**"),
        ("assistant", "line-10", "Typed below its heading."),
    ]


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_an_editor_that_ends_lines_its_own_way_or_marks_the_encoding_changes_nothing(change: Any) -> None:
    message = p.Message("user", "m1", "one\n\ntwo", attachments=[p.Attached("note", "a.md")])
    chat = ChatFile({"model": "m"}, (message,), ("",))
    assert read_chat(change(write_chat(chat))) == chat._replace(times=())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("---\nworkspaced-chat: 1\na: [\n---\n**user**\nHi.\n", "line 1"),
        ("---\nworkspaced-chat: 2\n---\n**user**\nHi.\n", "version 1"),
        ("**user**\nHi.\n", "workspaced-chat: 1"),
        ("Just a note.\n", "workspaced-chat: 1"),
        (MARK + "Words.\n**user**\nHi.\n", "line 5"),
        (MARK + "**user**\n<!-- workspaced: {nonsense} -->\nHi.\n", "line 6"),
        (MARK + '**user**\n<!-- workspaced: {"id": 5} -->\nHi.\n', "line 5"),
        (MARK + "**user**\n<!-- workspaced: " + "[" * 100_000 + " -->\nHi.\n", "line 6"),
        (MARK + '**user**\n<!-- workspaced: {"replaces": "m1"} -->\nHi.\n', "'replaces'"),
        (MARK + '**user**\n<!-- workspaced: {"id":"m"} -->\n' * 2, "'m'"),
        (MARK + "**summary**\none\n**user**\nHi.\n", "line 5"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(ArgumentInvalid) as refused:
        read_chat(text)
    assert says in refused.value.message and refused.value.hint
