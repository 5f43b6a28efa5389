"""What the readers of all forms have in common.

What a conversation cannot hold is an error, never left out: the caller then sends its request as it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.decoding import converted
from workspaced_tools.prompts.model.blocks import BLANK_LINE, trimmed

from .. import params as p

HINT: Final = "Send the request as it is."
SYSTEM_ROLES: Final = frozenset({"system", "developer"})
Json = Mapping[str, Any]


_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Of a tool, as all providers take it: another one would be renamed in the messages, not in its definition."""


class ReadRequest(NamedTuple):
    """A request's system prompt and messages."""

    system: str
    messages: tuple[p.Message, ...]


class Earlier(NamedTuple):
    """What the messages go on from."""

    calls: Mapping[str, str]
    """The name of each call by its id."""
    open: frozenset[str]
    """The ids of the calls that wait for their results."""


BEGINNING: Final = Earlier({}, frozenset())


def refused(at: int | None, what: str) -> InvalidArgument:
    """The error for the message `at`; None: for the system prompt."""
    where = f"messages[{at}]" if at is not None else "request"
    return InvalidArgument(f"{where}: {what}", hint=HINT)


def message_of(raw: Json, at: int) -> p.Message:
    """The message; outer white space of its words goes, as in the prompt.

    Raises:
        InvalidArgument: a conversation does not hold such a message.
    """
    try:
        message = converted({**raw, "text": trimmed(raw.get("text") or "")}, p.Message)
    except msgspec.ValidationError as error:
        raise refused(at, f"{error}.") from None
    for name in (each.name for each in message.tool_calls):
        if not _PLAIN_NAME.fullmatch(name):
            raise refused(at, f"Not every provider takes a tool of the name {name[:100]!r}.")
    return message


def check_pairs(messages: Iterable[p.Message], earlier: Earlier) -> None:
    """Checks that results follow their calls: a conversation would leave others out.

    Raises:
        InvalidArgument: a call has no result before the next answer, a result no call, or an id stands twice.
    """
    waiting = set(earlier.open)
    for at, message in enumerate(messages):
        for result in message.tool_results:
            if result.id not in waiting:
                raise refused(at, f"The result {result.id[:100]!r} answers no call before it.")
            waiting.remove(result.id)
        calls = [each.id for each in message.tool_calls]
        if waiting and (not message.tool_results or calls):
            raise refused(at, f"The call {min(waiting)[:100]!r} has no result.")
        if len(set(calls)) < len(calls):
            raise refused(at, "Two calls have the same id.")
        waiting.update(calls)
    if waiting:
        raise refused(None, f"The call {min(waiting)[:100]!r} has no result.")


def role_of(message: Any, at: int) -> str:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise refused(at, "Expected an object with a `role`.")
    return str(message["role"])


def check_fields(value: Json, known: Iterable[str], at: int | None) -> None:
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


def text_of(content: Any, at: int | None, types: Iterable[str] = ("text",), fields: Sequence[str] = ()) -> str:
    """The texts of a content that is nothing but text. `fields`: further ones that a block may have."""
    parts = list(parts_of(content, at))
    known = {"text", *types}
    if any(part.get("type") not in known or not isinstance(part.get("text"), str) for part in parts):
        raise refused(at, "Expected nothing but text.")
    for part in parts:
        check_fields(part, ("type", "text", *fields), at)
    return BLANK_LINE.join(part["text"] for part in parts)


def words_of(part: Json, at: int, fields: Sequence[str] = ()) -> str:
    """The text of a block. `fields`: further ones that it may have."""
    check_fields(part, ("type", "text", *fields), at)
    if not isinstance(part.get("text"), str):
        raise refused(at, "Expected a text as `text`.")
    return str(part["text"])


def listed(value: Any, at: int) -> list[Any]:
    """The value of a field that may be missing."""
    if not isinstance(value, list | None):
        raise refused(at, "Expected a list.")
    return value or []


def check_order(kinds: Sequence[str], order: Sequence[str], at: int) -> None:
    """Checks the order of a message's blocks, in which a conversation holds them. `kinds`: of `order`.

    Raises:
        InvalidArgument: it is another one.
    """
    if list(kinds) != sorted(kinds, key=order.index):
        raise refused(at, f"A conversation holds such blocks in this order alone: {', '.join(order)}.")


def arguments_of(text: Any, at: int) -> str:
    """The arguments of a call, which a model wrote as JSON.

    Raises:
        InvalidArgument: they are no object: a conversation would hold another call.
    """
    try:
        if isinstance(text, str) and isinstance(msgspec.json.decode(text or "{}"), dict):
            return text or "{}"
    except (msgspec.MsgspecError, RecursionError):
        pass
    raise refused(at, "Expected the arguments of a call as the JSON of an object.")


def detail_of(image: Json) -> tuple[str, ...]:
    """The field of an image that may be left out: the default of its detail."""
    return ("detail",) if image.get("detail") == "auto" else ()


def no_system(at: int) -> InvalidArgument:
    return refused(at, "A conversation holds messages of the system at its beginning alone.")


def no_block(part: Json, at: int) -> InvalidArgument:
    return refused(at, f"A conversation does not hold a block of type {part.get('type')!r}.")


def images_of(uris: Sequence[str], at: int) -> list[dict[str, str]]:
    """Images as attachments of a message."""
    if any(not uri.startswith("data:") for uri in uris):
        raise refused(at, "A conversation holds images as data URIs alone.")
    return [{"kind": "image", "id": f"image {number}", "text": uri} for number, uri in enumerate(uris, start=1)]
