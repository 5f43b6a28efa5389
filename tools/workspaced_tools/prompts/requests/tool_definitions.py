"""Reads definitions of tools in the forms that runtimes use into one form, from which every provider's is made.

A definition that only one provider knows, such as a tool that it runs itself, goes to that provider verbatim.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import msgspec

from ...ports.base import Wire
from .schema_dialects import Unfit, fitted
from .usage_report import FAMILY_OF_SHAPE

DEPTH_MAX: Final = 64
"""JSON nested deeper is left out or sent as text: providers refuse it from about 100 levels on."""
_SHOWN_CHARS_MAX: Final = 60
_NO_PARAMETERS: Final[dict[str, Any]] = {"type": "object", "properties": {}}


class Definition(Wire, frozen=True, omit_defaults=False):
    """A tool, provider-neutral."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema of type object."""


class Definitions(NamedTuple):
    tools: tuple[Definition, ...]
    own: tuple[dict[str, Any], ...]
    """Verbatim definitions in a form that only the conversation's provider knows."""
    changes: tuple[str, ...]
    """One sentence for each definition or part that was left out or changed."""


class _Read(NamedTuple):
    definition: Definition
    extra: tuple[str, ...] = ()
    """Further fields of the form, which only its family understands."""
    shape: str | None = None


def definitions_of(text: str, shape: str | None, provider: str | None) -> Definitions:
    """The tools that the JSON text defines.

    Args:
        shape: the built-in shape of the request; None: one of a runtime's own, so everything is kept.
        provider: the family of the conversation's provider. Its own definitions are kept only if the shape is of
            that family.
    """
    family = FAMILY_OF_SHAPE.get(shape or "")
    keeps = family is None or family == provider
    tools, own, changes = dict[str, Definition](), list[dict[str, Any]](), list[str]()
    for raw in _listed(text, changes):
        read = _read(raw)
        if read is None:
            if keeps and isinstance(raw, dict):
                own.append(raw)
            else:
                changes.append(
                    f"A tool is left out that {family or 'every provider'} would refuse: {_shown(raw)}."
                )
        elif read.extra and keeps and shape in (None, read.shape):
            own.append(raw)
        elif (name := read.definition.name) in tools:
            changes.append(f"A second tool of the same name is left out: {_shown(name)}.")
        elif (tool := _fitted(read.definition, family, changes)) is not None:
            tools[name] = tool
            if read.extra:
                changes.append(f"Of the tool {_shown(name)} this is left out: {', '.join(read.extra)}.")
    return Definitions(tuple(tools.values()), tuple(own), tuple(changes))


def _fitted(tool: Definition, family: str | None, changes: list[str]) -> Definition | None:
    """Fits a tool to `family`; None if the family would refuse it."""
    try:
        fits = fitted(tool.description, tool.parameters, family)
    except Unfit as error:
        changes.append(f"The tool {_shown(tool.name)} is left out, since {error}.")
        return None
    changes.extend(f"Of the tool {_shown(tool.name)} {each}." for each in fits.changes)
    return Definition(tool.name, fits.description, fits.parameters)


def kept_form(tools: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The definitions as a log may keep them, and the places of credentials that were taken out.

    Fields that no provider gets are left out, too: in MCP's form all except three.
    """
    sent = ("name", "description", "inputSchema")
    taken: list[str] = []
    kept = [
        {key: tool[key] for key in sent if key in tool}
        if "inputSchema" in tool
        else _without_secrets(tool, f"tools[{number}]", taken, DEPTH_MAX)
        for number, tool in enumerate(tools)
    ]
    return kept, taken


def nested_deeper(value: Any, most: int = DEPTH_MAX) -> bool:
    """Whether a JSON value has objects and lists within each other more than `most` times."""
    level = _nested([value])
    for _ in range(most):
        if not level:
            return False
        level = _nested(child for each in level for child in (each.values() if isinstance(each, dict) else each))
    return bool(level)


def _nested(values: Iterable[Any]) -> list[Any]:
    return [each for each in values if isinstance(each, dict | list)]


def _listed(text: str, changes: list[str]) -> Iterator[Any]:
    """Each definition; Gemini's come as lists and are split."""
    try:
        listed = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        changes.append(f"The tools are left out, since they are no JSON list: {_shown(text)}.")
        return
    for raw in listed:
        if nested_deeper(raw):
            changes.append(f"A tool is left out, since it is nested deeper than {DEPTH_MAX} levels.")
        elif isinstance(raw, dict) and isinstance(declared := _declared(raw), list):
            yield from ({"functionDeclarations": [each]} for each in declared)
            if rest := {key: each for key, each in raw.items() if key not in _DECLARED}:
                yield rest
        else:
            yield raw


_DECLARED: Final = ("functionDeclarations", "function_declarations")


def _declared(raw: Mapping[str, Any]) -> Any:
    return next((raw[key] for key in _DECLARED if key in raw), None)


# -- the forms --


def _read(raw: Any) -> _Read | None:
    if not isinstance(raw, dict):
        return None
    return next((read for form in _FORMS if (read := form(raw)) is not None), None)


def _gemini(raw: dict[str, Any]) -> _Read | None:
    if set(raw) != {_DECLARED[0]}:
        return None
    [declared] = raw[_DECLARED[0]]
    if not isinstance(declared, dict):
        return None
    for key in ("parametersJsonSchema", "parameters_json_schema"):
        if key in declared:
            return _defined(declared, key, "gemini")
    parameters = _lower_types(declared.get("parameters"))
    return _defined({**declared, "parameters": parameters}, "parameters", "gemini")


def _openai(raw: dict[str, Any]) -> _Read | None:
    function = raw.get("function")
    if raw.get("type") != "function" or not isinstance(function, dict):
        return None
    return _defined(function, "parameters", "openai", set(raw) - {"type", "function"})


def _openai_flat(raw: dict[str, Any]) -> _Read | None:
    """The form of OpenAI's newer interface; chat completions refuse it."""
    if raw.get("type") != "function" or "function" in raw:
        return None
    return _defined({key: each for key, each in raw.items() if key != "type"}, "parameters", "responses")


def _anthropic(raw: dict[str, Any]) -> _Read | None:
    if "input_schema" not in raw or raw.get("type") not in (None, "custom"):
        return None
    return _defined({key: each for key, each in raw.items() if key != "type"}, "input_schema", "anthropic")


def _mcp(raw: dict[str, Any]) -> _Read | None:
    """MCP's form; its further fields are for the runtime, so they are dropped."""
    read = _defined(raw, "inputSchema", "mcp") if "inputSchema" in raw else None
    return read._replace(extra=()) if read is not None else None


_FORMS: Final[tuple[Callable[[dict[str, Any]], _Read | None], ...]] = (
    _gemini,
    _openai,
    _openai_flat,
    _anthropic,
    _mcp,
)


def _defined(raw: Mapping[str, Any], key: str, shape: str, more: Set[str] = frozenset()) -> _Read | None:
    """The definition whose parameters are at `key`; None if it is not valid."""
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
    return _Read(Definition(name, description or "", schema), tuple(sorted(present)), shape)


# -- credentials --

_SECRET: Final = re.compile(
    "(?:^|_)(?:auth|authorization|authentication|api_?key|bearer|cookies?|credentials?|headers|passw(?:or)?d|secrets?"
    "|token)(?:_|$)"
)
"""Of names in the form `api_key`: what the types of openai, anthropic and google-genai name, and its like."""
_ADDRESS: Final = re.compile("(?:^|_)(?:url|uri|endpoint)$")
_SCHEMA: Final = re.compile("parameters|response|(?:input_|output_|.*json_)?schema|input_examples")
"""JSON Schemas and their examples: they name arguments, so nothing is taken out of them."""
_WORD: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|-")


def _without_secrets(given: Any, place: str, taken: list[str], levels: int) -> Any:
    if levels < 0:  # no provider takes it
        taken.append(place)
        return None
    if isinstance(given, list):
        return [_without_secrets(each, f"{place}[{n}]", taken, levels - 1) for n, each in enumerate(given)]
    if not isinstance(given, dict):
        return given
    kept = {}
    for name, value in given.items():
        word, where = _WORD.sub("_", name).lower(), f"{place}.{name}"
        if _SCHEMA.fullmatch(word):
            kept[name] = value
        elif _SECRET.search(word):
            taken.append(where)
        elif isinstance(value, str) and _ADDRESS.search(word):
            kept[name] = _without_key(value)
            taken.extend([where] if kept[name] != value else [])
        else:
            kept[name] = _without_secrets(value, where, taken, levels - 1)
    return kept


def _without_key(address: str) -> str:
    """The address without user, query and fragment, each of which may hold a key; empty if it cannot be read."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


_TYPES: Final = frozenset({"OBJECT", "ARRAY", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "NULL"})


def _lower_types(schema: Any) -> Any:
    """Converts Gemini's schema, with types in capitals, to JSON Schema."""
    if isinstance(schema, list):
        return [_lower_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    lowered = {key: _lower_types(each) for key, each in schema.items()}
    if isinstance(named := lowered.get("type"), str) and named in _TYPES:
        lowered["type"] = named.lower()
    return lowered


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return repr(text[:_SHOWN_CHARS_MAX])
