"""Adapts JSON Schemas of tools' parameters to the parts of JSON Schema that a provider accepts.

A provider refuses a whole request for one refused tool. The rules come from the providers' own error messages:

- OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top
  level", "array schema missing items";
- Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top level", "Property keys should match
  pattern '^[a-zA-Z0-9_.-]{1,64}$'", for the top level only.

Gemini's `parametersJsonSchema` accepts all of JSON Schema; its older `parameters` does not.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
import regex

_REFUSED: Final = {
    "openai": frozenset({"oneOf", "anyOf", "allOf", "enum", "const", "not"}),
    "anthropic": frozenset({"oneOf", "anyOf", "allOf"}),
}
"""Keywords refused at the top level."""
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
    """The provider would refuse the tool; the message says why."""


class Fitted(NamedTuple):
    """A tool's description and parameters, and their changes in words that follow "of the tool"."""

    description: str
    parameters: dict[str, Any]
    changes: tuple[str, ...] = ()


def fitted(description: str, parameters: dict[str, Any], family: str | None) -> Fitted:
    """Fits a tool to `family`; None: not known, so nothing changes. Refused keywords move to the description.

    Args:
        parameters: a JSON Schema of type object that has `properties`.

    Raises:
        Unfit: the family refuses the name of a required property.
    """
    changes = list[str]()
    refused = {key: each for key, each in parameters.items() if key in _REFUSED.get(family or "", ())}
    if refused:
        parameters = {key: each for key, each in parameters.items() if key not in refused}
        text = f"{SATISFY}{msgspec.json.encode(refused).decode()}"
        description = f"{description}\n\n{text}" if description else text
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
    """Adds an empty `items`, which allows anything, to each array schema without one."""
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
