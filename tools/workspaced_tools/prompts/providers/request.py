"""Builds the `Request` that is rendered, in a form that every provider accepts.

It does once what all providers demand: a user's message begins, roles alternate, no message is empty, results of
tools come first, ids and names are short and plain. A block that the provider would refuse is left out or written
as text, and reported in the list of changes. Pure: the same envelope gives the same request.

A name or id that does not fit gets the same replacement each time, so that a provider's cache stays valid. A call
and its result get the same replacement. Runtimes may reuse an id in a later round; providers refuse that, so all
but its first use are replaced as well.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, count, groupby
from operator import itemgetter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.schema.catalogue import ConversationStarted

from ...notes.images.types import media_type as detected
from ..model.blocks import BLANK_LINE, LIBRARY_FRAME
from ..model.turn_window import end_of_previous
from ..model.types import Block, ChatMessage, Envelope, Texts
from .known import provider_named
from .provider import NAME_CHARS_MAX, CachedContent, Part, Provider, Request, RequestMessage
from .tool_definitions import DEPTH_MAX, Definitions, definitions_of, nested_deeper

Blob = Callable[[str], bytes | None]
"""Returns the bytes of a sha256; None if they are not kept."""
OUTPUT_TOKENS: Final = 4_096
"""The output limit if the conversation reserves nothing for answers."""
Message = tuple[str, list[Part]]
"""A role and its parts."""
Place = tuple[int, int]
"""The index of a part's message, and the part's index in the message."""
ASSISTANT_BEGINS: Final = "(The assistant begins.)"
NO_WORDS: Final = "(The user said nothing.)"
IMAGES_OF: Final = "(Images in the result of {}:)"
FAILED_SILENTLY: Final = "The tool failed and gave no reason."
MESSAGES_SHOWN_MAX: Final = 5
_OTHER_NAMES: Final = {"image/jpg": "image/jpeg"}
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS: Final = 8
_SHOWN_CHARS_MAX: Final = 60

Change = Callable[[str, str | None], None]
"""Takes a sentence about a replacement, and the id of its message, if any."""


class Names:
    """Names and ids of one request for a provider.

    Args:
        defined: the names of the defined tools.
    """

    def __init__(self, provider: Provider, defined: Iterable[str], change: Change) -> None:
        self._provider, self._change = provider, change
        defined = tuple(defined)
        self._sent = frozenset[str]()
        self._names = {name: name for name in defined if name == self._fitted(name)}
        self._names_taken = set(self._names)
        self._ids: dict[str, str] = {}
        self._ids_taken: set[str] = set()
        self.renamed = {sent: name for name in defined if (sent := self.name(name)) != name}
        """Maps the sent name of each renamed tool to the defined name."""
        self._sent = frozenset(self.renamed)

    def name(self, name: str) -> str:
        """The name to send for a tool, in its definition, calls and results; sent names stay as they are."""
        found = name if name in self._sent else self._names.get(name)
        if found is None:
            found = self._fitted(name)
            if found in self._names_taken:
                stem = found[: NAME_CHARS_MAX - _DIGEST_CHARS - 1]
                tries = (f"{stem}_{_digest(name, at)[:_DIGEST_CHARS]}" for at in count())
                found = next(each for each in tries if each not in self._names_taken)
            self._names[name] = found
            self._names_taken.add(found)
            if found != name:
                self._change(f"The tool {name[:_SHOWN_CHARS_MAX]!r} is called {found!r}", None)
        return found

    def call(self, call: str, message: str) -> str:
        """The id to send for a call in `message`."""
        found = call
        if not _PLAIN.fullmatch(call) or len(call) > self._provider.call_id_chars_max or call in self._ids_taken:
            seeds = chain([(call,)], ((call, message, at) for at in count()))
            tries = (f"call_{_digest(*seed)[:32]}" for seed in seeds)
            found = next(each for each in tries if each not in self._ids_taken)
            self._change("The ids of tools' calls are others, since they are used twice or not plain", message)
        self._ids[call] = found
        self._ids_taken.add(found)
        return found

    def answered(self, call: str) -> str:
        """The id that was sent for the last call with this id."""
        return self._ids.get(call, call)

    def _fitted(self, name: str) -> str:
        return self._provider.fit_name(_OTHER.sub("_", name) or "_")[:NAME_CHARS_MAX]


def _digest(*of: str | int) -> str:
    return sha256(msgspec.json.encode(of)).hexdigest()


def request_of(
    envelope: Envelope,
    settings: ConversationStarted,
    provider: Provider,
    texts: Texts,
    blob: Blob,
    cached_content: str | None,
) -> tuple[Request, tuple[str, ...]]:
    """The request for an envelope, and one sentence for each change to the envelope's content.

    Args:
        provider: the target's. OWN: a template of one's own, so nothing is left out.
        cached_content: the provider's resource that holds system and tools.

    Raises:
        NotRecorded: from `texts`.
    """
    changes, of = _Changes(), provider_named(settings.provider)
    tools = Definitions((), (), ())
    if settings.tools_sha256 is not None:
        tools = definitions_of(texts(settings.tools_sha256), provider, of)
    names = Names(provider, [tool.name for tool in tools.tools], changes.add)
    defined = tuple(replace(tool, name=names.name(tool.name)) for tool in tools.tools)
    reader = _Reader(provider, of, blob, names, changes)
    own, library = _system(envelope, changes)
    system, read = own + library, reader.read(envelope)
    if provider.marks_prefixes:
        system, read = marked(system, len(library), read)
    messages = tuple(reader.alternating((role, parts) for role, parts in read if parts))
    output_tokens = settings.output_reserve or OUTPUT_TOKENS
    if not settings.output_reserve:
        changes.add(f"The conversation reserves nothing for answers: they may have {OUTPUT_TOKENS} tokens")
    if cached_content is not None and provider.family is not None and provider.create_cache is None:
        changes.add(f"The cached content is not used, since {provider.family} knows none")
        cached_content = None
    hashes = envelope.hashes
    held = (envelope.conversation_id, hashes.L1_SYSTEM, hashes.L2_PREVIOUS, settings.model, settings.tools_sha256)
    request = Request(
        provider=settings.provider,
        model=settings.model,
        conversation=envelope.conversation_id,
        conversation_key=sha256(envelope.conversation_id.encode()).hexdigest(),
        message=envelope.message_id,
        output_tokens=output_tokens,
        limit=envelope.manifest.limit,
        system=system,
        messages=messages,
        tools=defined,
        own_tools=tools.own,
        tool_names=names.renamed,
        cached_content=CachedContent(sha256(msgspec.json.encode(held)).hexdigest(), resource=cached_content),
    )
    return request, (*tools.changes, *changes.sentences())


class _Changes:
    """The changes to the envelope's content, in the order first made, with the ids of their messages."""

    def __init__(self) -> None:
        self._where: dict[str, list[str]] = {}

    def add(self, what: str, message: str | None = None) -> None:
        self._where.setdefault(what, []).extend([message] if message is not None else [])

    def sentences(self) -> Iterator[str]:
        for what, messages in self._where.items():
            ids = list(dict.fromkeys(messages))
            more = f" and {len(ids) - MESSAGES_SHOWN_MAX} more" if len(ids) > MESSAGES_SHOWN_MAX else ""
            yield f"{what} ({', '.join(ids[:MESSAGES_SHOWN_MAX])}{more})." if ids else f"{what}."


# -- system --


def _system(envelope: Envelope, changes: _Changes) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The envelope's system message in two: the runtime's sections, and the library."""
    messages = (message for message in envelope.messages if message.role == "system")
    whole = BLANK_LINE.join(block.text or "" for message in messages for block in message.content)
    second = envelope.layers[1]
    own, library = [whole], list[str]()
    shown = BLANK_LINE.join((LIBRARY_FRAME, second.text))
    if second.segments and whole.endswith(shown):
        own = [whole.removesuffix(shown).removesuffix(BLANK_LINE)]
        blocks = [segment.text for segment in second.segments]
        library = [BLANK_LINE.join((LIBRARY_FRAME, blocks[0])), *blocks[1:]]
    if whole != BLANK_LINE.join(text for text in (*own, *library) if text.strip()):
        changes.add("White text of the system message is left out")
    return _texts(own), _texts(library)


def _texts(texts: Iterable[str]) -> tuple[Part, ...]:
    return tuple(Part("text", text) for text in texts if text.strip())


# -- messages --


class _Reader:
    """Converts the envelope's messages for one provider."""

    def __init__(
        self, provider: Provider, of: Provider | None, blob: Blob, names: Names, changes: _Changes
    ) -> None:
        """`of`: the conversation's provider, which signed its thinking."""
        self._provider, self._of, self._blob = provider, of, blob
        self._names, self._changes = names, changes

    def read(self, envelope: Envelope) -> list[Message]:
        """All messages except the system's, one by one; a message with nothing left has no parts."""
        messages = (message for message in envelope.messages if message.role != "system")
        return [(message.role, self._parts(message)) for message in messages]

    def _parts(self, message: ChatMessage) -> list[Part]:
        """The parts of one message; none if nothing is left that a provider accepts."""
        where, parts = message.id or "the summary", list[Part]()
        for block in message.content:
            if (part := self._part(block, where)) is not None:
                parts += self._with_images(part, block, where) if block.images else (part,)
        if not parts or (parts[0].type == "thinking" and all(part.type == "thinking" for part in parts)):
            self._changes.add("Nothing is left of the message", where)
            return []
        return self._provider.arranged(parts)

    def _with_images(self, part: Part, block: Block, where: str) -> tuple[Part, ...]:
        """The images of a tool's result follow it where its provider takes none in it."""
        images = tuple(self._image(image, where) for image in block.images)
        if self._provider.results_hold_images:
            return (replace(part, images=images),)
        self._changes.add("Images in a tool's result follow the result", where)
        return part, Part("text", IMAGES_OF.format(part.name)), *images

    def _part(self, block: Block, where: str) -> Part | None:
        match block.type:
            case "text":
                return self._text(block.text or "", where)
            case "thinking":
                return self._thinking(block, where)
            case "image":
                return self._image(block, where)
            case "toolCall":
                return self._call(block, where)
            case "toolResult":
                return self._result(block, where)

    def _text(self, text: str, where: str) -> Part | None:
        if text.strip():
            return Part("text", text)
        self._changes.add("White text is left out", where)
        return None

    def _thinking(self, block: Block, where: str) -> Part | None:
        thinking = self._provider.thinking
        if thinking is None:
            made: Part | str = f"{self._provider.family} takes none"
        elif not self._provider.is_of(self._of):
            made = "another provider signed it"
        else:
            made = thinking(block)
        if isinstance(made, Part):
            return made
        self._changes.add(f"Thinking is left out, since {made}", where)
        return None

    def _image(self, block: Block, where: str) -> Part:
        """The image, of the type that its bytes say: a type declared from a file's name is often wrong."""
        provider, content = self._provider, self._blob(block.blob or "")
        declared = block.media_type or "image/unknown"
        real = detected(content or b"") or _OTHER_NAMES.get(declared, declared)
        if provider.image_types is not None and real not in provider.image_types:
            why = f"{provider.family} takes no {real}"
        elif content is None:
            why = "its bytes are not kept"
        else:
            data, most = base64.b64encode(content).decode(), provider.image_base64_chars_max
            if most is None or len(data) <= most:
                return Part("image", media_type=real, data=data)
            why = f"{provider.family} takes no more than {most} characters of base64"
        self._changes.add(f"An image is left out, since {why}", where)
        return Part("text", f"[Image unavailable: {real}]")

    def _call(self, block: Block, where: str) -> Part:
        text = block.text or ""
        arguments = _object(text)
        if arguments is None:
            self._changes.add("Arguments that are no JSON object are sent as text in one", where)
            arguments = {"arguments": text}
            text = msgspec.json.encode(arguments).decode()
        return Part(
            "toolCall",
            id=self._names.call(block.id or "", where),
            name=self._names.name(block.name or ""),
            arguments=text if text.strip() else "{}",
            input=arguments,
        )

    def _result(self, block: Block, where: str) -> Part:
        text = block.text or ""
        if block.is_error and not text.strip() and not block.images:
            self._changes.add("A tool's error that says nothing says that", where)
            text = FAILED_SILENTLY
        return Part(
            "toolResult",
            text,
            id=self._names.answered(block.id or ""),
            name=self._names.name(block.name or ""),
            is_error=block.is_error,
        )

    def alternating(self, read: Iterable[Message]) -> list[RequestMessage]:
        """Merges consecutive messages of one role, results of tools first; a user's message begins and ends."""
        merged: list[RequestMessage] = []
        for role, group in groupby(read, key=itemgetter(0)):
            parts = [*chain.from_iterable(map(itemgetter(1), group))]
            if len(parts) > 1:
                parts.sort(key=lambda part: part.type != "toolResult")
            merged.append(RequestMessage("assistant" if role == "assistant" else "user", tuple(parts)))
        if merged and merged[0].role == "assistant":
            self._changes.add(f"A user's message stands before all others: {ASSISTANT_BEGINS}")
            merged.insert(0, RequestMessage("user", (Part("text", ASSISTANT_BEGINS),)))
        if not merged or merged[-1].role == "assistant":
            self._changes.add(f"A user's message stands after all others: {NO_WORDS}")
            merged.append(RequestMessage("user", (Part("text", NO_WORDS),)))
        return merged


def _object(text: str) -> dict[str, Any] | None:
    """Decodes a JSON object; an empty one for blank text; None if the text is no object or is nested too deep."""
    if not text.strip():
        return {}
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    may_be_deep = text.count("{") + text.count("[") > DEPTH_MAX
    return None if not isinstance(found, dict) or (may_be_deep and nested_deeper(found, DEPTH_MAX)) else found


def marked(
    system: Sequence[Part], library: int, messages: Sequence[Message]
) -> tuple[tuple[Part, ...], list[Message]]:
    """The parts of system and messages with marks, after which a provider may cache the prefix.

    Anthropic writes its cache at the marks, and reads what an earlier request wrote at one of them
    (platform.claude.com/docs/en/build-with-claude/prompt-caching). Each request begins with the one before it, so
    the marks are after the runtime's own system prompt, the library, the last message of the request before, and
    the last message of all: at most four, as many as it takes.

    `library`: the number of the system's last parts that are the library.
    """
    ends = {len(system) - library, len(system)}
    parts = [replace(part, cache=at in ends) for at, part in enumerate(system, start=1)]
    copies = [(role, list(each)) for role, each in messages]
    for at, place in _ends(messages):
        copies[at][1][place] = replace(copies[at][1][place], cache=True)
    return tuple(parts), copies


def _ends(messages: Sequence[Message]) -> Iterator[Place]:
    """The ends of the request before, which is up to the last answers of the assistant, and of all messages."""
    ends = (_last(messages, end_of_previous([role for role, _ in messages])), _last(messages, len(messages)))
    yield from dict.fromkeys(place for place in ends if place is not None)


def _last(messages: Sequence[Message], end: int) -> Place | None:
    """The last part of the first `end` messages that may have a mark: thinking may not."""
    for at in reversed(range(end)):
        parts = messages[at][1]
        for place in reversed(range(len(parts))):
            if parts[place].type != "thinking":
                return at, place
    return None
