"""The overlay's reader: what a request holds, whatever its form, its style of JSON, and what stands around it."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.overlay_vectors import FILE, text_of_file
from support.written_chats import REMINDER, WRITERS, Said, text

from workspaced.overlay.asking import inserted, insertions
from workspaced.overlay.json_places import Unreadable
from workspaced.overlay.request import MESSAGES, TAG, Form, read_request

FORMS: tuple[Form, ...] = get_args(Form)
OURS = f'{TAG}"9">the note says "hi" \\ \U0001f525\n</workspace>'
WORDS = ("hi", " why? \n", "é \U0001f525", 'quote " back\\slash \u2028', '{"messages":[1]}', "\\n", "x" * 300)
chats = st.lists(
    st.tuples(st.sampled_from(("user", "user", "answer", "tools")), st.sampled_from(WORDS), st.booleans()),
    max_size=9,
).map(lambda said: [*said, ("user", "and now?", False)])
styles = st.sampled_from(
    (
        {},
        {"ensure_ascii": False},
        {"indent": 2},
        {"separators": (",", ":")},
        {"indent": "\t", "ensure_ascii": False},
    )
)


def body(form: Form, said: list[Said], style: dict[str, Any]) -> bytes:
    messages = [message for each in said for message in WRITERS[form](each)]
    whole = {"model": "m", MESSAGES[form]: messages, "unknown": {"deep": [1.10, -0.0, 10**19]}}
    return json.dumps(whole, **style).encode()


def texts(form: Form, content: Any) -> Iterator[str]:
    """The texts of one message as a provider reads them."""
    for part in [{"text": content}] if isinstance(content, str) else content or ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def without_ours(form: Form, value: Any) -> tuple[Any, int]:
    """The decoded body as the client wrote it, with a list of blocks for each string of Anthropic's; and how often
    we stand in it."""
    found = 0
    name = "parts" if form == "gemini" else "content"
    for message in value[MESSAGES[form]]:
        content = message.get(name)
        if isinstance(content, str):
            found += content.startswith(OURS)
            content = content.removeprefix(f"{OURS}\n\n")
            message[name] = [text(content)] if form == "anthropic" else content
        elif isinstance(content, list):
            message[name] = [each for each in content if each.get("text") != OURS]
            found += len(content) - len(message[name])
    return value, found


@pytest.mark.parametrize("form", FORMS)
@given(said=chats, style=styles, wanted=st.sets(st.integers(0, 9)))
def test_what_goes_on_is_what_came_and_our_texts(
    form: Form, said: list[Said], style: dict[str, Any], wanted: set[int]
) -> None:
    raw = body(form, said, style)
    request = read_request(form, raw)
    keys = [turn.key for turn in request.turns]
    assert len(keys) == sum(what == "user" for what, _, _ in said) and request.is_open
    given_texts = {keys[number]: OURS for number in wanted if number < len(keys)}
    pieces = insertions(request, given_texts)
    sent = inserted(raw, pieces)
    cut, at, shift = b"", 0, 0
    for offset, data in pieces:
        assert sent[offset + shift : offset + shift + len(data)] == data
        cut += sent[at : offset + shift]
        at = offset + shift + len(data)
        shift += len(data)
    assert cut + sent[at:] == raw
    plain, _ = without_ours(form, json.loads(raw))
    assert without_ours(form, json.loads(sent)) == (plain, len(given_texts))


@pytest.mark.parametrize("form", FORMS)
@given(said=chats, styles=st.tuples(styles, styles), later=chats)
def test_a_chat_has_the_same_keys_again(
    form: Form, said: list[Said], styles: tuple[dict[str, Any], dict[str, Any]], later: list[Said]
) -> None:
    first = read_request(form, body(form, said, styles[0]))
    other = [(what, words, not in_blocks) for what, words, in_blocks in said]
    again = read_request(form, body(form, [*other, *later], styles[1]))
    before = [(turn.key, turn.near_key) for turn in first.turns]
    assert [(turn.key, turn.near_key) for turn in again.turns][: len(before)] == before
    assert first.first_words == again.first_words


@pytest.mark.parametrize("form", FORMS)
def test_ours_stands_behind_results_and_before_the_users_words(form: Form) -> None:
    said: list[Said] = [("user", "do it", True), ("tools", "done", True), ("user", "and now?", True)]
    raw = body(form, said, {})
    request = read_request(form, raw)
    sent = json.loads(inserted(raw, insertions(request, {request.turns[-1].key: OURS})))
    last = sent[MESSAGES[form]][-1]
    found = [each for each in texts(form, last.get("content", last.get("parts"))) if each != REMINDER]
    assert found == [OURS, "and now?"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"no JSON", "JSON"),
        (b'{"messages":[{"role":"user","content":"a"}],"messages":[]}', "twice"),
        (b'{"model":"m"}', "'messages'"),
        (b'{"messages":[{"role":"system","content":"s"}]}', "no message of the user"),
        (b"[1]", "object"),
    ],
)
def test_what_cannot_be_read_says_why(raw: bytes, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        read_request("openai", raw)


def test_half_an_emoji_keeps_its_bytes() -> None:
    raw = rb'{"messages":[{"role":"user","content":"cut \ud83d"}],"x":"\\ud83d"}'
    request = read_request("openai", raw)
    pieces = insertions(request, {request.turns[0].key: "ours"})
    assert inserted(raw, pieces) == rb'{"messages":[{"role":"user","content":"ours\n\ncut \ud83d"}],"x":"\\ud83d"}'


def test_a_text_of_ours_that_a_hook_put_there_is_noticed() -> None:
    assert read_request("anthropic", body("anthropic", [("user", OURS, True)], {})).is_told
    assert not read_request("anthropic", body("anthropic", [("user", "hi", True)], {})).is_told


def test_the_recorded_requests_to_which_the_typescript_client_is_held_are_read_as_before() -> None:
    assert text_of_file() == FILE.read_text(), "run tests/support/overlay_vectors.py and look at the difference"
