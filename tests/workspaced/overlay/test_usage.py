"""The provider's usage is found in what passes, however it is cut, and whatever else comes."""

from hashlib import sha256

import pytest

from workspaced.limits import PROXY_USAGE_BYTES_MAX
from workspaced.overlay.usage import UsageReader

STREAM = b"text/event-stream; charset=utf-8"
CHAT = (
    b'data: {"choices":[],"usage":null}\r\n\r\n'
    b'data: {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}\r\n\r\ndata: [DONE]\r\n\r\n'
)
MESSAGES = (
    b'event: message_start\ndata: {"message":{"usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
    b': ping\n\ndata: {"usage":{"output_tokens":2,"input_tokens":null}}\n\n'
)
RESPONSES = (
    b'data: {"response":{"id":"resp_1","object":"response","conversation":null,"usage":null}}\n\n'
    b'data: {"type":"response.output_text.delta","delta":"a \\"usage\\" of"}\n\n'
    b'data: {"response":{"usage":{"input_tokens":9}}}\n\n'
)
QUEUED = b'{"id":"resp_1","object":"response","conversation":{"id":"conv_1"},"status":"queued","usage":null}'
GEMINI = (
    b'[{"usageMetadata": {"promptTokenCount": 9}},\n'
    b' {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}}]'
)
NOTHING = [
    b"",
    b'<html>"usage"',
    b'{"usage": 5}',
    b'{"usage": "\xff"}',
    b'{"usage": {"a": ',
    b'{"usage": {}}',
    b'[1, "usage"]',
    b'{"id":"chatcmpl-1","object":"chat.completion","usage":null}',
    b'{"id":["resp_1"],"object":"response","conversation":"conv_1","usage":null}',
]


def hashed(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def told(content_type: bytes, *parts: bytes) -> object:
    reader = UsageReader(content_type)
    for part in parts:
        reader.feed(part)
    return reader.told()


@pytest.mark.parametrize(
    ("content_type", "answer", "expected"),
    [
        (STREAM, CHAT, {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}),
        (STREAM, MESSAGES, {"usage": {"input_tokens": 9, "output_tokens": 2}}),
        (STREAM, RESPONSES, {"usage": {"input_tokens": 9}, "responseId": hashed("resp_1")}),
        (b"application/json", GEMINI, {"usage": {"promptTokenCount": 9, "candidatesTokenCount": 2}}),
        (b"application/json", b'{"id": 1, "usage": {"input_tokens": 9}}', {"usage": {"input_tokens": 9}}),
        (b"application/json", QUEUED.replace(b"null", b'"much"'), {"responseId": hashed("conv_1")}),
        (b"application/json", QUEUED, {"responseId": hashed("conv_1")}),
    ],
)
def test_wherever_an_answer_is_cut(content_type: bytes, answer: bytes, expected: object) -> None:
    for at in range(len(answer)):
        assert told(content_type, answer[:at], answer[at:]) == expected
    assert told(content_type, *(answer[at : at + 1] for at in range(len(answer)))) == expected


@pytest.mark.parametrize("answer", NOTHING)
def test_an_answer_without_one_has_none(answer: bytes) -> None:
    assert told(b"application/json", answer) is None
    assert told(STREAM, b"data: " + answer + b"\n\n") is None


def test_an_answer_that_is_too_long_is_not_held() -> None:
    part, usage = b"x" * 65_536, b'"usage": {"input_tokens": 9}}'
    parts = [part] * (PROXY_USAGE_BYTES_MAX // len(part) + 2)
    assert told(b"application/json", b'{"text": "', *parts, b'", ', usage) is None
    assert told(STREAM, b'data: {"text": "', *parts, b'", ', usage, b"\n") is None
    assert told(STREAM, b"data: ", *parts, b"\n", b"data: {" + usage + b"\n") == {"usage": {"input_tokens": 9}}


@pytest.mark.parametrize(("media_type", "end"), [(b"Text/Event-Stream", b"\n"), (b"text/event-stream", b"\r")])
def test_usage_is_found_in_every_stream_that_the_standard_allows(media_type: bytes, end: bytes) -> None:
    lines = [b'data: {"choices": []}', b"", b'data: {"usage": {"prompt_tokens": 9}}', b"", b""]
    assert told(media_type, end.join(lines)) == {"usage": {"prompt_tokens": 9}}
