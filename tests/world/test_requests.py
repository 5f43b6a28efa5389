"""Requests as real programs send them, and where a text of ours goes in them: one file a request, in `requests/`.

A case is TOML: `follows` (the program, its version, and what it was asked; it ran before a server of ours, and its
request was cut down to words and ids of our own), `right` (what is read there, and why), `path`, and `body` as it
was sent, with a mark where each text goes, the number of its turn between `«` and `»`; a string that becomes
blocks has a mark at each end. Optionally `open = false` (the last turn takes nothing new), `chat = false` (the
program gives its chat no name), `told = true` (a text of ours stands there already), or instead of marks
`unreadable`, a part of the reason for which nothing can be put there.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import provider_parts
from support.world import read

from workspaced.overlay.asking import form_of, inserted, insertions
from workspaced.overlay.json_places import Unreadable
from workspaced.overlay.request import MESSAGES, TAG, ChatRequest, Form, read_request

FOLDER = Path(__file__).parent / "requests"
CASES = sorted(FOLDER.rglob("*.toml"))
MARK = re.compile("«([0-9]+)»".encode())
OURS = f'{TAG}"9">looking at: a.md</workspace>'
Json = dict[str, Any]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.relative_to(FOLDER).with_suffix("")))
def test_a_programs_request_is_read_and_takes_a_text_at_its_marks(case: Path) -> None:
    given = read(case)
    marked = given["body"].encode()
    raw = MARK.sub(b"", marked)
    json.loads(raw)
    form = form_of(given["path"].partition("?")[0].encode())
    if "unreadable" in given:
        assert form is not None and marked == raw
        with pytest.raises(Unreadable, match=re.escape(given["unreadable"])):
            read_request(form, raw)
        return
    assert form is not None, "the path is one of no form"
    request = read_request(form, raw)
    assert with_marks(request, raw).decode() == given["body"]
    told = (request.is_open, bool(request.chat), request.is_told)
    assert told == (given.get("open", True), given.get("chat", True), given.get("told", False))


def with_marks(request: ChatRequest, raw: bytes) -> bytes:
    """The body with the number of each turn where its text goes."""
    found = [
        (piece.offset, number)
        for number, turn in enumerate(request.turns, start=1)
        for piece in insertions(request, {turn.key: OURS})
    ]
    for offset, number in sorted(found, reverse=True):
        raw = raw[:offset] + f"«{number}»".encode() + raw[offset:]
    return raw


# -- what the type packages name, made from them: a new type in a new version is a new case --


def message(form: Form, role: str, parts: list[Any]) -> Json:
    role = "model" if (form, role) == ("gemini", "assistant") else role
    return {"role": role, "parts" if form == "gemini" else "content": parts}


def words(form: Form, text: str, role: str = "user") -> Json:
    kinds = {"gemini": {}, "responses": {"type": "input_text" if role == "user" else "output_text"}}
    return kinds.get(form, {"type": "text"}) | {"text": text}


def read_in(form: Form, messages: list[Json]) -> tuple[ChatRequest, list[Json]]:
    """What is read, and the messages with a text of ours in the newest turn, whose bytes are else the same."""
    raw = json.dumps({"model": "m", MESSAGES[form]: messages, "stream": True}, indent=1).encode()
    request = read_request(form, raw)
    pieces = insertions(request, {request.turns[-1].key: OURS})
    sent = inserted(raw, pieces)
    left = sent
    for piece in pieces:
        left = left[: piece.offset] + left[piece.offset + len(piece.data) :] if len(pieces) == 1 else left
    assert left == raw, "one piece goes into a list"
    found: list[Json] = json.loads(sent)[MESSAGES[form]]
    return request, found


def is_result(part: Json) -> bool:
    """By its name in the package."""
    kind = str(part.get("type") or next(iter(part)))
    return kind.lower().replace("_", "").endswith(("toolresult", "functionresponse", "toolresponse"))


def is_shown(part: Json) -> bool:
    return isinstance(part.get("text"), str)


PARTS: list[tuple[Form, Callable[[], Iterator[Json]]]] = [
    ("anthropic", provider_parts.blocks),
    ("responses", provider_parts.input_contents),
    ("openai", provider_parts.chat_parts),
    ("gemini", provider_parts.gemini_parts),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("form", "made"), PARTS, ids=[form for form, _ in PARTS])
def test_each_part_of_a_provider_stands_beside_the_words(form: Form, made: Callable[[], Iterator[Json]]) -> None:
    before = [
        message(form, "user", [words(form, "hi")]),
        message(form, "assistant", [words(form, "yo", "assistant")]),
    ]
    parts = list(made())
    assert len(parts) > 2, "the package's types could not be read"
    for part in parts:
        messages = [*before, message(form, "user", [part, words(form, "and now?")])]
        request, sent = read_in(form, messages)
        name = "parts" if form == "gemini" else "content"
        expected = [part, words(form, "and now?")]
        expected.insert(int(is_result(part)), words(form, OURS))
        assert (len(request.turns), request.is_open) == (2, True), part
        assert sent == [*before, message(form, "user", expected)], part
        alone = [*before, message(form, "user", [part])]
        request, sent = read_in(form, alone)
        assert (len(request.turns), request.is_open) == ((1, False) if is_result(part) else (2, True)), part
        assert sent[-1][name][0] == (part if is_result(part) else words(form, OURS)), part


@pytest.mark.thorough
@pytest.mark.parametrize(("form", "made"), PARTS, ids=[form for form, _ in PARTS])
def test_a_part_that_says_nothing_changes_no_key(form: Form, made: Callable[[], Iterator[Json]]) -> None:
    for part in filter(lambda part: not is_shown(part), made()):
        keys = []
        for answer in ([], [part]):
            said = message(form, "assistant", [*answer, words(form, "yo", "assistant"), *answer])
            question, more = (message(form, "user", [words(form, text)]) for text in ("hi", "and now?"))
            request, sent = read_in(form, [question, said, more])
            assert sent == [question, said, message(form, "user", [words(form, OURS), words(form, "and now?")])]
            keys.append([(turn.key, turn.near_key) for turn in request.turns])
        assert keys[0] == keys[1], part


SETTINGS = ("additional_tools", "configuration_update")
"""Items of OpenAI's responses that the client writes beside the words; all others follow a turn that is answered,
or ask for something else than an answer."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("form", "made"), [("responses", provider_parts.items), ("openai", provider_parts.chat_messages)]
)
def test_each_item_of_a_provider_stands_between_turns(form: Form, made: Callable[[], Iterator[Json]]) -> None:
    question, more = (message(form, "user", [words(form, text)]) for text in ("hi", "and now?"))
    items = list(made())
    assert len(items) > 5, "the package's types could not be read"
    plain = read_in(form, [question, more])[0].turns
    for item in items:
        role = item.get("role", "") if item.get("type", "message") == "message" else ""
        request, sent = read_in(form, [question, item, more])
        assert sent == [question, item, message(form, "user", [words(form, OURS), words(form, "and now?")])], item
        assert len(request.turns) == (3 if role == "user" else 2), item
        if role not in ("user", "assistant"):
            assert [turn.key for turn in request.turns] == [turn.key for turn in plain], item
        request, _sent = read_in(form, [question, item])
        is_beside = role in ("user", "assistant", "system", "developer") or item.get("type") in SETTINGS
        assert request.is_open == is_beside, item  # a last answer is the beginning of one
