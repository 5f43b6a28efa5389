"""What a provider accepts, how it writes a request and what it reports: one value in each module beside this one.

A template of a runtime's own has `OWN`, for which nothing is left out.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any, Final, Literal, NamedTuple

from workspaced_events.schema.catalogue import Role

from ...errors import ArgumentInvalid
from ...limits import CONTEXT_TOKENS_MAX
from ...ports.base import Wire
from ..model.types import Block

Json = dict[str, Any]
TTL_S: Final = 3_600
NAME_CHARS_MAX: Final = 64
_SHOWN_CHARS_MAX: Final = 60
_NO_PARAMETERS: Final[Json] = {"type": "object", "properties": {}}


# -- what is rendered --


class Part(Wire, frozen=True):
    """A part of a message. Which fields it has depends on `type`."""

    type: Literal["text", "toolCall", "toolResult", "thinking", "image"]
    text: str | None = None
    """The text of a text, toolResult or thinking part; a text part is never blank."""
    id: str | None = None
    """The id of a toolCall, or of the toolCall that a toolResult answers."""
    name: str | None = None
    arguments: str | None = None
    """The arguments of a toolCall as the JSON text of an object."""
    input: Json | None = None
    """The arguments of a toolCall as an object."""
    is_error: bool = False
    redacted: bool = False
    """Whether the text of a thinking part is data that only its provider can read."""
    signature: str | None = None
    """The signature of a thinking part, or of a toolCall that Gemini signed instead."""
    media_type: str | None = None
    data: str | None = None
    """The bytes of an image in base64."""
    cache: bool = False
    """Whether the provider may cache the prefix that ends here: at most four parts of a request."""
    images: tuple["Part", ...] = ()
    """Of a toolResult: the images that belong to it."""


class RequestMessage(Wire, frozen=True):
    role: Role
    content: tuple[Part, ...]

    def of_type(self, *types: str) -> list[Part]:
        return [part for part in self.content if part.type in types]


class Definition(Wire, frozen=True, omit_defaults=False):
    """A tool, provider-neutral."""

    name: str
    description: str
    parameters: Json
    """A JSON Schema of type object."""


class CachedContent(Wire, frozen=True):
    """The content of a provider's explicit cache: system and tools."""

    key: str
    """Changes whenever the cached content changes."""
    ttl_s: int = TTL_S
    resource: str | None = None
    """The provider's name of the cached content; None: it is not cached yet."""


class Request(Wire, frozen=True):
    provider: str
    model: str
    conversation: str
    conversation_key: str
    """Identifies the conversation where its id would be too long: 64 hexadecimal digits."""
    message: str
    output_tokens: int
    """The maximum of output tokens."""
    limit: int
    """The maximum of input tokens."""
    system: tuple[Part, ...]
    """Texts: the runtime's sections, then the context library with a text for each note; none of them empty."""
    messages: tuple[RequestMessage, ...]
    """Strictly alternating, the first and the last a user's, none of them empty."""
    tools: tuple[Definition, ...]
    own_tools: tuple[Json, ...]
    """Verbatim definitions in a form that only the conversation's provider knows."""
    tool_names: dict[str, str]
    """Maps the sent name of each renamed tool to the defined name."""
    cached_content: CachedContent


# -- definitions of tools --


class ReadTool(NamedTuple):
    definition: Definition
    extra: tuple[str, ...] = ()
    """Further fields of the form, which only its family understands."""
    shape: str | None = None


class Unfit(Exception):
    """The provider would refuse the tool; the message says why."""


def read_tool(raw: Mapping[str, Any], key: str, shape: str, more: Set[str] = frozenset()) -> ReadTool | None:
    """The definition whose parameters are at `key`, with `more` further fields; None if it is not valid."""
    name, description, parameters = raw.get("name"), raw.get("description"), raw.get(key)
    if not isinstance(name, str) or not name or not isinstance(description, str | None):
        return None
    if parameters is not None and not isinstance(parameters, dict):
        return None
    schema = {**_NO_PARAMETERS, **parameters} if parameters else _NO_PARAMETERS
    if schema["type"] != "object":
        return None
    extra = (set(raw) - {"name", "description", key}) | more
    present = {each for each in extra if raw.get(each) is not None or each in more}
    return ReadTool(Definition(name, description or "", schema), tuple(sorted(present)), shape)


# -- usage --


class Counted(NamedTuple):
    """Tokens of one request."""

    input_tokens: int
    """All tokens read, cached ones included."""
    cached_tokens: int
    """The input tokens served from a cache."""
    output_tokens: int
    """All tokens written, thinking included."""


class UsageReport:
    """A provider's usage report, read field by field."""

    def __init__(self, fields: Mapping[str, Any], family: str, path: str = "") -> None:
        self._fields, self._family, self._path = fields, family, path

    def has(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def part(self, name: str) -> "UsageReport":
        """The object in field `name`; an empty one if the field is absent."""
        found = self._fields.get(name)
        if found is not None and not isinstance(found, Mapping):
            raise self._wrong(name, "an object", found)
        return UsageReport(found or {}, self._family, f"{self._path}{name}.")

    def count(self, name: str, *others: str, default: int | None = None) -> int:
        """The number in the first present field, or `default`."""
        name = next((each for each in (name, *others) if self.has(each)), name)
        found = self._fields.get(name, default)
        found = default if found is None else found
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= CONTEXT_TOKENS_MAX:
            raise self._wrong(name, f"a number of tokens, at most {CONTEXT_TOKENS_MAX},", found)
        return found

    def counted(self, read: int, cached: int, cached_name: str, written: int) -> Counted:
        if cached > read:
            raise self._wrong(cached_name, f"at most the {read} tokens that were read", cached)
        return Counted(read, cached, written)

    def _wrong(self, name: str, expected: str, found: Any) -> ArgumentInvalid:
        got = "nothing" if found is None else repr(found)[:_SHOWN_CHARS_MAX]
        return ArgumentInvalid(
            f"Expected {expected} as `{self._path}{name}` of a report of {self._family}, got {got}.",
            hint="Give the usage of the provider's answer as it came.",
        )


# -- providers --


def any_thinking(block: Block) -> Part:
    return Part("thinking", block.text or "", signature=block.signature, redacted=block.redacted)


class Provider(NamedTuple):
    """One built-in shape of a request. The defaults leave nothing out."""

    shape: str | None = None
    family: str | None = None
    """Of shapes with the same account, usage reports and signatures; OpenAI has two."""
    words: frozenset[str] = frozenset()
    """Words in the names of providers of this family."""
    render: Callable[[Request], Json] | None = None

    # its cache
    marks_prefixes: bool = True
    """Whether a request says by marks after which parts the provider may cache."""
    create_cache: Callable[[Request], Json | None] | None = None
    """The body that creates an explicit cache; None: there is nothing to keep."""

    # its usage reports
    usage: Callable[[UsageReport], Counted] | None = None

    # what it accepts
    thinking: Callable[[Block], Part | str] | None = any_thinking
    """The part for thinking of its own family, or why it is left out. None: it takes none."""
    arranged: Callable[[list[Part]], list[Part]] = lambda parts: parts
    """The parts of one message as the provider expects them."""
    results_hold_images: bool = False
    """If not, the images of a tool's result follow it."""
    image_types: frozenset[str] | None = None
    """None: all."""
    image_base64_chars_max: int | None = None
    call_id_chars_max: int = NAME_CHARS_MAX
    fit_name: Callable[[str], str] = lambda name: name
    """Fits a tool's name of letters, digits, `_` and `-`."""

    # definitions of tools
    read_tool: Callable[[Json], ReadTool | None] | None = None
    """Reads a definition in the provider's own form; None: it is in another form."""
    refused_keywords: frozenset[str] = frozenset()
    """Keywords of JSON Schema that it refuses at the top level of parameters."""
    fit_parameters: Callable[[Json], tuple[Json, list[str]]] = lambda parameters: (parameters, [])
    """Fits parameters, and says what changed in words that follow "of the tool". Raises Unfit."""

    def is_of(self, other: "Provider | None") -> bool:
        """Whether what only `other` understands may be sent; all may to what is not known."""
        return self.family is None or (other is not None and other.family == self.family)


OWN: Final = Provider()
