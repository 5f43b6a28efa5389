"""Reads definitions of tools in the forms that runtimes use into one form, from which every provider's is made.

A definition that only one provider knows, such as a tool that it runs itself, goes to that provider verbatim. A
provider refuses a whole request for one refused tool, so each one's module says what it refuses.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import msgspec

from .gemini import DECLARED
from .known import SHAPES
from .provider import Definition, Json, Provider, ReadTool, Unfit, read_tool

DEPTH_MAX: Final = 64
"""JSON nested deeper is left out or sent as text: providers refuse it from about 100 levels on."""
SATISFY: Final = "The arguments also satisfy this JSON Schema: "
_SHOWN_CHARS_MAX: Final = 60


class Definitions(NamedTuple):
    tools: tuple[Definition, ...]
    own: tuple[dict[str, Any], ...]
    """Verbatim definitions in a form that only the conversation's provider knows."""
    changes: tuple[str, ...]
    """One sentence for each definition or part that was left out or changed."""


def definitions_of(text: str, provider: Provider, of: Provider | None) -> Definitions:
    """The tools that the JSON text defines.

    Args:
        provider: the request's; OWN: a template of a runtime's own, so everything is kept.
        of: the conversation's. Its own definitions are kept only for a request to the same family.
    """
    keeps = provider.is_of(of)
    tools, own, changes = dict[str, Definition](), list[dict[str, Any]](), list[str]()
    for raw in _listed(text, changes):
        read = _read(raw)
        if read is None:
            if keeps and isinstance(raw, dict):
                own.append(raw)
            else:
                changes.append(
                    f"A tool is left out that {provider.family or 'every provider'} would refuse: {_shown(raw)}."
                )
        elif read.extra and keeps and provider.shape in (None, read.shape):
            own.append(raw)
        elif (name := read.definition.name) in tools:
            changes.append(f"A second tool of the same name is left out: {_shown(name)}.")
        elif (tool := _fitted(read.definition, provider, changes)) is not None:
            tools[name] = tool
            if read.extra:
                changes.append(f"Of the tool {_shown(name)} this is left out: {', '.join(read.extra)}.")
    return Definitions(tuple(tools.values()), tuple(own), tuple(changes))


def _fitted(tool: Definition, provider: Provider, changes: list[str]) -> Definition | None:
    """The tool as the provider accepts it; refused keywords move to the description. None: it would be refused."""
    description, refused = tool.description, tool.parameters.keys() & provider.refused_keywords
    parameters = {key: each for key, each in tool.parameters.items() if key not in refused}
    found = list[str]()
    if refused:
        moved = {key: each for key, each in tool.parameters.items() if key in refused}
        text = f"{SATISFY}{msgspec.json.encode(moved).decode()}"
        description = f"{description}\n\n{text}" if description else text
        found.append(f"{', '.join(moved)} stands in the description, since {provider.family} refuses it")
    try:
        parameters, more = provider.fit_parameters(parameters)
    except Unfit as error:
        changes.append(f"The tool {_shown(tool.name)} is left out, since {error}.")
        return None
    changes.extend(f"Of the tool {_shown(tool.name)} {each}." for each in (*found, *more))
    return Definition(tool.name, description, parameters)


def kept_form(tools: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The definitions as a log may keep them, and the places of credentials that were taken out.

    Fields that no provider gets are left out, too: in MCP's form all except three; and marks for a
    provider's cache, which are set here.
    """
    sent = ("name", "description", "inputSchema")
    taken: list[str] = []
    kept = [
        {key: tool[key] for key in sent if key in tool}
        if "inputSchema" in tool
        else _without_secrets(
            {key: each for key, each in tool.items() if key != "cache_control"},
            f"tools[{number}]",
            taken,
            DEPTH_MAX,
        )
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
        elif isinstance(raw, dict) and isinstance(
            declared := next((raw[key] for key in DECLARED if key in raw), None), list
        ):
            yield from ({DECLARED[0]: [each]} for each in declared)
            if rest := {key: each for key, each in raw.items() if key not in DECLARED}:
                yield rest
        else:
            yield raw


def _read(raw: Any) -> ReadTool | None:
    if not isinstance(raw, dict):
        return None
    return next((read for form in _FORMS if (read := form(raw)) is not None), None)


def _mcp(raw: Json) -> ReadTool | None:
    """MCP's form; its further fields are for the runtime, so they are dropped."""
    read = read_tool(raw, "inputSchema", "mcp") if "inputSchema" in raw else None
    return read._replace(extra=()) if read is not None else None


_FORMS: Final = (*(each.read_tool for each in SHAPES.values() if each.read_tool is not None), _mcp)


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


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return repr(text[:_SHOWN_CHARS_MAX])
