"""A tool is a value: name, description, argument model, data struct, and a function `(View, arguments) -> Answer`.

Arguments are put into the form of the published JSON Schema (`normalised`), validated against it, and then read
into the argument model. Answers are built without validation; tests validate each against the output schema.

In the argument models, a field with the default None may be absent and is never null.
"""

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic import ValidationError as PydanticError
from pydantic.alias_generators import to_camel

from workspaced_events.errors import WorkspacedError
from workspaced_events.replay.position import ALSO_SHOWN_MAX

from ..answers import PagedResult, Result, Truncation
from ..errors import ArgumentInvalid, ToolError
from ..limits import ECHO_CHARS_MAX, WARNINGS_CHARS_MAX, WARNINGS_MAX
from ..ports.vault import NoteImage
from ..ports.view import View

ANSWER_VERSION: Final = 1
"""Raised when a tool answers the same question with other bytes. Calls of other versions are not compared."""
Json = dict[str, Any]

_LISTED_LEVELS: Final = 2
"""The levels of objects whose fields a listed output schema describes: the result and the objects in it. Lists are
no level: the items of a list in `data` are described too."""
_UNLISTED_KEYWORDS: Final = frozenset({"additionalProperties", "minLength", "maxLength", "maxItems"})
_UNLISTED_ARGUMENTS: Final = frozenset({"minSeq"})
"""Arguments for runtimes, not for models."""
_DESCRIBED_ONCE: Final = frozenset({"offset", "sinceSeq", "sinceTime"})
"""Arguments that the description of get_workspace_context, the first tool of the list, describes for all tools."""
_CLEAR: Final = frozenset({"maxContentLength", "maxTotalLength", "limit", "folder", "conversation", "message"})
"""Arguments whose names say, beside the description of their tool, what they are."""
_log = logging.getLogger(__name__)


AT_SCHEMA: Final[Json] = {"type": ["integer", "string"]}
"""Short, since every tool has it. The code that makes the View refuses a value that is no moment of the log."""
_LISTED_AT: Final[Json] = {"type": "string"}
"""A sequence is its digits: clients of Gemini's refuse the whole list for an argument of two types."""
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS: Final = {"true": True, "false": False}


class Model(BaseModel):
    """A part of a tool's arguments: camelCase on the wire, snake_case in Python."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class PresentArguments(Model):
    """The arguments of every tool, also of one that only knows the present."""

    model_config = ConfigDict(extra="forbid")

    min_seq: int | None = Field(None, ge=0, alias="minSeq")


class Arguments(PresentArguments):
    """The arguments of every tool that answers questions, which may be about the past."""

    at: Annotated[int | str | None, WithJsonSchema(AT_SCHEMA)] = None
    """The moment to answer for, a sequence or a time. The View is made for this moment."""


A = TypeVar("A", bound=PresentArguments)
D = TypeVar("D", bound=msgspec.Struct)


@dataclass(slots=True)
class Answer(Generic[D]):
    """What a tool's function returns. `run` makes a result from it."""

    data: D
    message: str
    warnings: list[str] = field(default_factory=list)
    truncation: Truncation | None = None
    images: list[NoteImage] = field(default_factory=list)
    """Images that travel beside the result; its data names them in this order."""


class Ran(NamedTuple):
    """One call of a tool that ran."""

    result: Result
    images: Sequence[NoteImage] = ()


@dataclass(frozen=True)
class Tool(Generic[A]):
    """One tool. Its schemas are built once, at first use."""

    name: str
    description: str
    arguments: type[A]
    data: type[msgspec.Struct]
    """The struct of a success's `data`."""
    function: Callable[[View, A], Answer[Any]]
    failures: tuple[type[msgspec.Struct], ...] = ()
    """The structs of failures' `data`."""
    listed_lists: int = 0
    """How many levels of lists in `data` the list of tools describes: agents pay for it."""
    paged: bool = False
    """Whether results have `truncation`, because the tool returns one text in parts."""
    answers_on_request: bool = False
    """Whether the agent names notes explicitly, so that its view has notes for explicit requests only. A tool that
    says anything unasked, if only a count, must not."""
    is_timeless: bool = False
    """Whether of the time only matters which tabs have expired: then equal reads mean an equal result."""
    writes: bool = False
    """Whether a call may change files. Such a tool runs once for each call, and never for a moment of the past."""

    @cached_property
    def input_schema(self) -> Json:
        """JSON Schema 2020-12 of the arguments. Every call is checked against it."""
        schema = _tidy(self.arguments.model_json_schema(by_alias=True))
        properties = schema["properties"]
        for name in ("at", "minSeq"):  # last, after the tool's own arguments
            if name in properties:
                properties[name] = properties.pop(name)
        return schema

    @cached_property
    def output_schema(self) -> Json:
        """JSON Schema 2020-12 of the result. It names every field of every object, and allows no others."""
        types = [PagedResult if self.paged else Result, self.data, *self.failures]
        (result, *data), parts = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
        schema = {"$defs": parts, **parts.pop(_name_of(result))}
        schema["properties"]["data"] = {"anyOf": data} if self.failures else data[0]
        return _closed(_tidy(schema))

    @cached_property
    def definition(self) -> Json:
        """The tool's entry in the list of tools, with short schemas: agents pay for the list in every request.

        Arguments that `input_schema` allows are valid under the listed schema too, except for `at` as an integer,
        and so are all results.
        """
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": _listed_input(self.input_schema),
            "outputSchema": _listed_output(self.output_schema, lists=self.listed_lists),
            "annotations": {"readOnlyHint": not self.writes},
        }

    @cached_property
    def _gate(self) -> Draft202012Validator:
        return Draft202012Validator(self.input_schema)

    @cached_property
    def _defaults(self) -> A | None:
        """The arguments of a call without arguments; None if one is required."""
        return None if self.input_schema.get("required") else self.arguments.model_validate({})

    def check(self, arguments: Json) -> A:
        """The arguments, normalised and checked against the published schema, defaults applied.

        Raises:
            ArgumentInvalid: names the argument, the allowed values and the value. No value is clamped.
        """
        arguments = normalised(arguments, self.input_schema)
        if not arguments and type(arguments) is dict and self._defaults is not None:
            return self._defaults
        try:
            errors = sorted(self._gate.iter_errors(arguments), key=_order)
        except ValueError:  # the library cannot print an integer of thousands of digits
            raise ArgumentInvalid("An argument is a number beyond all bounds.", hint=_names(self)) from None
        if errors:
            raise _argument_invalid(self, errors[0], arguments)
        try:
            return self.arguments.model_validate(arguments)
        except PydanticError as error:  # text with lone surrogates, which a schema cannot exclude
            place = error.errors(include_input=False, include_url=False)[0]
            raise ArgumentInvalid(f"Argument '{place['loc'][0]}': {place['msg']}.", hint=_names(self)) from None


def normalised(value: Any, schema: Json) -> Any:
    """A value as the schema has it, where a client wrote it otherwise and means the same: null for one that may be
    absent, digits for an integer, `true` or `false` as text. What else does not fit stays, for `Tool.check` to
    refuse."""
    if isinstance(value, str):
        kind = schema.get("type")
        if kind == "integer" and _INTEGER.fullmatch(value):
            return int(value)
        return _BOOLEANS.get(value.lower(), value) if kind == "boolean" else value
    if isinstance(value, list):
        return [normalised(each, schema.get("items", {})) for each in value]
    if not isinstance(value, dict):
        return value
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: normalised(each, properties.get(name, {}))
        for name, each in value.items()
        if each is not None or name in required or name not in properties
    }


def run(tool: Tool[Any], view: View, arguments: Json) -> Json:
    """The result of `run_call` as JSON values."""
    made: Json = msgspec.to_builtins(run_call(tool, view, arguments).result)
    return made


def run_call(tool: Tool[Any], view: View, arguments: Json) -> Ran:
    """Runs one call. Never raises. The caller has already waited for `minSeq`."""
    try:
        answer = tool.function(view, tool.check(arguments))
    except WorkspacedError as error:
        return Ran(_failure(error, view))
    except Exception:
        _log.exception("tool %s failed", tool.name)
        return Ran(
            Result(
                success=False,
                error="The tool failed unexpectedly.",
                code="INTERNAL",
                message="Try again, or another tool; what went wrong is in the daemon's own log.",
                as_of_seq=view.as_of_seq,
            )
        )
    warnings = answer.warnings
    if view.also_at:
        others = ", ".join(map(str, view.also_at[:ALSO_SHOWN_MAX]))
        named = f"The clock was set, and `at` names other moments, too: the newest is answered. Others: {others}."
        warnings = [named, *warnings]
    result = PagedResult(
        success=True,
        data=answer.data,
        message=answer.message,
        as_of_seq=view.as_of_seq,
        warnings=_capped(warnings) or None,
        truncation=part_only(answer.truncation),
    )
    return Ran(result, answer.images)


def part_only(truncation: Truncation | None) -> Truncation | None:
    """The truncation that an answer has: none where the text is whole."""
    return truncation if truncation is not None and truncation.truncated else None


def payload_of(result: Result | Json) -> bytes:
    """The JSON of a result, for the client and for the recording."""
    return msgspec.json.encode(result)


def _capped(warnings: list[str]) -> list[str]:
    shown: list[str] = []
    room = WARNINGS_CHARS_MAX
    warnings = list(dict.fromkeys(warnings))
    for warning in warnings:
        room -= len(warning)
        if room < 0 or len(shown) == WARNINGS_MAX:
            shown.append(f"{len(warnings) - len(shown)} more warnings are left out.")
            break
        shown.append(warning)
    return shown


def _failure(error: WorkspacedError, view: View) -> Result:
    return Result(
        success=False,
        data=error.details or None if isinstance(error, ToolError) else None,
        error=error.message,
        code=error.code,
        message=error.hint or "Check the arguments against the tool's schema and try again.",
        as_of_seq=view.as_of_seq,
    )


# -- errors about arguments --


def _order(error: ValidationError) -> tuple[bool, str, str]:
    """Sorts unknown and missing arguments first, then by name, so that equal input gets an equal message."""
    path = [str(part) for part in error.absolute_path]
    return bool(path), "/".join(path), str(error.validator)


def _names(tool: Tool[Any]) -> str:
    return f"Arguments of {tool.name}: {', '.join(tool.input_schema['properties'])}."


def _argument_invalid(tool: Tool[Any], error: ValidationError, arguments: Any) -> ArgumentInvalid:
    properties: Json = tool.input_schema["properties"]
    hint = _names(tool)
    if not isinstance(arguments, dict):
        return ArgumentInvalid(f"Expected an object of arguments, got {_echo(arguments)}.", hint=hint)
    if error.validator == "additionalProperties":
        unknown = sorted(set(arguments) - set(properties))[0]
        return ArgumentInvalid(f"Unknown argument {_echo(unknown)}.", hint=hint)
    if error.validator == "required":
        missing = next(name for name in tool.input_schema["required"] if name not in arguments)
        return ArgumentInvalid(
            f"Missing argument '{missing}'.", hint=f"{missing}: {_allowed(properties[missing])}."
        )
    name = str(error.absolute_path[0])
    allowed = _allowed(properties[name])
    return ArgumentInvalid(
        f"Argument '{name}': expected {allowed}, got {_echo(arguments[name])}.",
        hint=f"Give {name} as {allowed}, or leave it out for its default."
        if name not in tool.input_schema.get("required", ())
        else f"Give {name} as {allowed}.",
    )


_KINDS: Final = {
    "integer": "an integer",
    "boolean": "true or false",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}


def _allowed(schema: Json) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if schema == AT_SCHEMA:
        return "a sequence or an ISO 8601 time"
    words = _KINDS.get(schema.get("type", ""), "a value of the schema")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"{words} from {low} to {high}"
    if "maxLength" in schema:
        return f"{words} of {schema.get('minLength', 0)} to {schema['maxLength']} characters"
    if "maxItems" in schema:
        return f"{words} of at most {schema['maxItems']}, each {_allowed(schema['items'])}"
    return words


def _echo(value: Any) -> str:
    """`value` as JSON, at most ECHO_CHARS_MAX characters; for an object or array only its kind."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = json.dumps(value[:ECHO_CHARS_MAX] if isinstance(value, str) else value, default=repr)
    return text if len(text) <= ECHO_CHARS_MAX else text[: ECHO_CHARS_MAX - 1] + "…"


# -- short schemas --


def _tidy(schema: Json) -> Json:
    """The schema without titles, class docstrings and null types that are never sent."""
    if "default" in schema and schema["default"] is None:
        schema = _without_null({key: value for key, value in schema.items() if key != "default"})
    if "enum" in schema:
        schema = {"type": "string", **schema}  # msgspec leaves it out; some clients need it
    dropped = {"title", "description"} if "properties" in schema else {"title"}
    return {key: _each_schema(key, value, _tidy) for key, value in schema.items() if key not in dropped}


def _closed(schema: Json) -> Json:
    """The schema with `additionalProperties: false` in every object that names its fields."""
    more = {"additionalProperties": False} if "properties" in schema else {}
    return {**{key: _each_schema(key, value, _closed) for key, value in schema.items()}, **more}


def _listed_input(schema: Json) -> Json:
    """Shortens an input schema: without bounds of texts and lists, and the arguments that no model needs."""
    properties = {
        name: _LISTED_AT if part == AT_SCHEMA else _listed_argument(name, part)
        for name, part in schema["properties"].items()
        if name not in _UNLISTED_ARGUMENTS
    }
    return {**_without(schema, _UNLISTED_KEYWORDS), "properties": properties}


def _listed_argument(name: str, schema: Json) -> Json:
    """The short schema of one argument. The name of a flag says what it is for. Left out is also what everybody
    assumes: that a flag is false by default, and that a number is small and not negative."""
    if name in _DESCRIBED_ONCE:
        return {"type": schema["type"]}
    assumed = {
        "description": schema.get("type") == "boolean" or name in _CLEAR,
        "default": not schema.get("default"),
        "minimum": schema.get("minimum", 0) <= 1,
        "maximum": schema.get("maximum", 0) >= 2**31,
    }
    return _without(schema, _UNLISTED_KEYWORDS | {each for each in assumed if assumed[each]})


def _without(schema: Json, keywords: frozenset[str]) -> Json:
    return {
        key: _without(value, keywords) if key == "items" else value
        for key, value in schema.items()
        if key not in keywords
    }


def _listed_output(schema: Json, *, lists: int) -> Json:
    """Shortens an output schema.

    The short schema describes the fields of the result, of a success's `data`, and of items in `lists` levels of
    lists; for deeper objects and lists, and for `truncation`, only the kind. A definition is inlined unless it is
    used several times. The short schema leaves out, and allows: the `data` of failures, descriptions, and which
    fields of `data` are required.
    """
    properties = dict(schema["properties"])
    properties["data"] = properties["data"].get("anyOf", [properties["data"]])[0]
    if "truncation" in properties:
        properties["truncation"] = {"type": "object"}
    definitions: Json = schema.get("$defs", {})
    text = json.dumps(definitions.get(_name_of(properties["data"]), properties["data"]))
    often = {name for name in definitions if text.count(f'"#/$defs/{name}"') > 1}
    brief = _brief({**schema, "properties": properties}, definitions, often, _LISTED_LEVELS, lists=lists)
    brief["required"] = schema["required"]
    used = [name for name in definitions if f'"#/$defs/{name}"' in json.dumps(brief)]
    if used:
        # A definition that is used often is the item type of lists in `data`.
        brief["$defs"] = {name: _brief(definitions[name], definitions, set(), 1, lists=0) for name in used}
    return brief


def _name_of(schema: Json) -> str:
    """The name of the definition that `schema` refers to; empty if it is no reference."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _brief(schema: Json, definitions: Json, often: set[str], levels: int, *, lists: int) -> Json:
    """`schema` with the fields of `levels` levels of objects and the items of `lists` levels of lists."""
    if name := _name_of(schema):
        return schema if name in often else _brief(definitions[name], definitions, often, levels, lists=lists)
    if "anyOf" in schema:
        return {"anyOf": [_brief(part, definitions, often, levels, lists=lists) for part in schema["anyOf"]]}
    dropped = {"$defs", "description", "required", "additionalProperties"}
    if "properties" in schema:
        levels -= 1
    elif "items" in schema:
        levels, lists = levels + 1, lists - 1
    if levels < 0:
        dropped.add("properties")
    if lists < 0:
        dropped.add("items")
    return {
        key: _each_schema(key, value, lambda part: _brief(part, definitions, often, levels, lists=lists))
        for key, value in schema.items()
        if key not in dropped
    }


def _each_schema(key: str, value: Any, change: Callable[[Json], Json]) -> Any:
    """The value of a schema's keyword `key`, with `change` applied to the schemas in it."""
    if key in ("properties", "$defs"):
        return {name: change(part) for name, part in value.items()}
    if key == "items" or (key == "additionalProperties" and isinstance(value, dict)):
        return change(value)
    if key == "anyOf":
        return [change(part) for part in value]
    return value


def _without_null(schema: Json) -> Json:
    kinds = [part for part in schema.get("anyOf", ()) if part != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if not kinds:
        return rest
    return {**kinds[0], **rest} if len(kinds) == 1 else {"anyOf": kinds, **rest}
