"""What of JSON Schema a provider refuses in a tool's parameters, and what it is given instead.

One tool that is refused refuses the whole request. The rules are those of the providers' own messages:

- OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top
  level", "array schema missing items";
- Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top level", "Property keys should match
  pattern '^[a-zA-Z0-9_.-]{1,64}$'", of the top level's only.

Gemini's `parametersJsonSchema` takes JSON Schema as it is; its older `parameters` would not.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
import regex

_REFUSED: Final = {
    "openai": frozenset({"oneOf", "anyOf", "allOf", "enum", "const", "not"}),
    "anthropic": frozenset({"oneOf", "anyOf", "allOf"}),
}
"""At the top level."""
_KEY: Final = regex.compile(r"[a-zA-Z0-9_.-]{1,64}")
_SCHEMAS: Final = frozenset(
    {
        *("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_LISTS: Final = frozenset({"oneOf", "anyOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
SATISFY: Final = "The arguments also satisfy this JSON Schema: "


class Unfit(Exception):
    """A provider takes no such tool; says why."""


class Fitted(NamedTuple):
    """A tool's description and parameters, and what of them is another, in words that follow "of the tool"."""

    description: str
    parameters: dict[str, Any]
    changes: tuple[str, ...] = ()


def fitted(description: str, parameters: dict[str, Any], family: str | None) -> Fitted:
    """The tool as `family` takes it; None: not known, so that it stays. What the schema may not say the
    description does.

    Args:
        parameters: a JSON Schema of type object that has `properties`.

    Raises:
        Unfit: a property that is required has a name that is refused.
    """
    changes = list[str]()
    refused = {key: each for key, each in parameters.items() if key in _REFUSED.get(family or "", ())}
    if refused:
        parameters = {key: each for key, each in parameters.items() if key not in refused}
        said = f"{SATISFY}{msgspec.json.encode(refused).decode()}"
        description = f"{description}\n\n{said}" if description else said
        changes.append(f"{', '.join(refused)} stands in the description, since {family} refuses it")
    if family == "anthropic" and (bad := _badly_named(parameters)):
        changes.append(f"this is left out, since anthropic refuses the name: {_listed(bad)}")
        properties = {key: each for key, each in parameters["properties"].items() if key not in bad}
        parameters = {**parameters, "properties": properties}
    if family == "openai":
        parameters = _with_items(parameters)
    return Fitted(description, parameters, tuple(changes))


def _badly_named(parameters: dict[str, Any]) -> list[str]:
    properties, required = parameters["properties"], parameters.get("required")
    bad = [key for key in properties if not _KEY.fullmatch(key)] if isinstance(properties, dict) else []
    if isinstance(required, list) and (needed := [key for key in bad if key in required]):
        raise Unfit(f"anthropic refuses the name of what it requires: {_listed(needed)}")
    return bad


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name[:64]) for name in names)


def _with_items(schema: Any) -> Any:
    """Each array that says nothing of its items says that they may be anything."""
    if not isinstance(schema, dict):
        return schema
    found = {key: _inner(key, each) for key, each in schema.items()}
    kinds = schema.get("type")
    if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "items" not in schema:
        found["items"] = {}
    return found


def _inner(key: str, value: Any) -> Any:
    if key in _SCHEMAS:
        return _with_items(value)
    if key in _LISTS and isinstance(value, list):
        return [_with_items(each) for each in value]
    if key in _NAMED and isinstance(value, dict):
        return {name: _with_items(each) for name, each in value.items()}
    return value
