"""What the readers of all forms have in common.

What a conversation cannot hold is an error, never left out: the caller then sends its request as it is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.decoding import converted
from workspaced_tools.prompts.model.blocks import BLANK_LINE

from .. import params as p

HINT: Final = "Send the request as it is."
SYSTEM_ROLES: Final = frozenset({"system", "developer"})
Json = Mapping[str, Any]


class Told(NamedTuple):
    """A request's system prompt and messages."""

    system: str
    messages: tuple[p.Message, ...]


def refused(at: int | None, what: str) -> InvalidArgument:
    """The error for the message `at`; None: for the system prompt."""
    where = f"messages[{at}]" if at is not None else "system"
    return InvalidArgument(f"{where}: {what}", hint=HINT)


def message_of(raw: Json, at: int) -> p.Message:
    """
    Raises:
        InvalidArgument: a conversation does not hold such a message.
    """
    try:
        return converted(raw, p.Message)
    except msgspec.ValidationError as error:
        raise refused(at, f"{error}.") from None


def role_of(message: Any, at: int) -> str:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise refused(at, "Expected an object with a `role`.")
    return str(message["role"])


def check_fields(value: Json, known: Iterable[str], at: int) -> None:
    """
    Raises:
        InvalidArgument: another field has a value.
    """
    unknown = sorted(name for name, each in value.items() if name not in known and each not in (None, [], {}))
    if unknown:
        raise refused(at, f"A conversation does not hold `{unknown[0]}`.")


def parts_of(content: Any, at: int | None) -> Iterator[dict[str, Any]]:
    """A message's content as blocks."""
    if content is None or content == "":
        return
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise refused(at, "Expected a text or a list of blocks as `content`.")
    yield from content


def text_of(content: Any, at: int | None, types: Iterable[str] = ("text",)) -> str:
    """The texts of a content that is nothing but text."""
    parts = list(parts_of(content, at))
    known = {"text", *types}
    if any(part.get("type") not in known or not isinstance(part.get("text"), str) for part in parts):
        raise refused(at, "Expected nothing but text.")
    return BLANK_LINE.join(part["text"] for part in parts)


def no_block(part: Json, at: int) -> InvalidArgument:
    return refused(at, f"A conversation does not hold a block of type {part.get('type')!r}.")


def images_of(uris: Sequence[str], at: int) -> list[dict[str, str]]:
    """Images as attachments of a message."""
    if any(not uri.startswith("data:") for uri in uris):
        raise refused(at, "A conversation holds images as data URIs alone.")
    return [{"kind": "image", "id": f"image {number}", "text": uri} for number, uri in enumerate(uris, start=1)]
