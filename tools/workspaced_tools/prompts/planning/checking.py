"""Reads the plan that a model answered. Each call is checked by itself, so a bad one does not spoil a good one."""

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

import msgspec
import regex
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing.exceptions import Unresolvable

from ...limits import ECHO_CHARS_MAX
from ...ports.base import Wire
from ...tools.tool import normalised
from ..providers.provider import Definition
from ..providers.tool_definitions import DEPTH_MAX, nested_deeper
from .asking import cut
from .bounded_validator import bounded_validator
from .plan_schema import CALLS_MAX, call_schema, own_tool, tools_by_name

ANSWER_CHARS_MAX: Final = 400_000
"""A longer answer is not read."""
TRIES_MAX: Final = 64
"""The number of failed attempts to decode an object in an answer."""
PROBLEMS_PER_CALL_MAX: Final = 10
NEAR_TOOLS_MAX: Final = 200
"""With more tools, an unknown name gets no suggestions."""
_PLAIN: Final = re.compile(r"[^\W\d]\w*")
_BEGIN: Final = re.compile(r"\{(?=\s*[\"}])|\[(?=\s*\{)|^[ \t\ufeff]*\[(?=\s*\][ \t]*$)", re.MULTILINE)
"""Where an object or a list of objects may begin; an empty list only where it stands alone on its lines."""
_DECODER: Final = json.JSONDecoder()


class Call(Wire, frozen=True):
    """A call that fits its tool's schema."""

    tool: str
    arguments: dict[str, Any]
    why: str = ""


class Problem(Wire, frozen=True):
    """A fault in a plan. `path` is its place, as in `calls[1].arguments.limit`; empty for the whole plan."""

    path: str
    message: str


class Planned(Wire, frozen=True):
    calls: tuple[Call, ...] = ()
    problems: tuple[Problem, ...] = ()


def planned(answer: str, tools: Iterable[Definition]) -> Planned:
    """Reads the plan in a model's answer: the calls that fit, and the problems of the others.

    The answer may be the JSON alone, or have a fence or words around it. The first object with `calls`
    counts, else the first bare list of calls. Never raises, for any answer.
    """
    plan = _plan_in(answer)
    if isinstance(plan, Problem):
        return Planned((), (plan,))
    problems = [
        Problem(_path("", [key]), "Expected nothing but calls, got a field of another name.")
        for key in plan
        if key != "calls"
    ]
    listed = plan.get("calls")
    if not isinstance(listed, list):
        got = "no such field" if "calls" not in plan else _echo(listed)
        return Planned((), (*problems, Problem("calls", f"Expected a list of calls, got {got}.")))
    if len(listed) > CALLS_MAX:
        more = f"Expected at most {CALLS_MAX} calls, got {len(listed)}: those from here on are left out."
        problems.append(Problem(f"calls[{CALLS_MAX}]", more))
    by_name, calls = tools_by_name(tools), list[Call]()
    for place, each in enumerate(_normalised(each, by_name) for each in listed[:CALLS_MAX]):
        wrong = _wrong(each, f"calls[{place}]", by_name)
        if wrong:
            problems += wrong
        else:
            calls.append(Call(each["tool"], each["arguments"], each.get("why", "")))
    return Planned(tuple(calls), tuple(problems))


def _plan_in(answer: str) -> dict[str, Any] | Problem:
    """The first JSON object with `calls`, else the first list of calls as such an object, else the first object.

    At most TRIES_MAX attempts may fail, so the search stays linear.
    """
    if len(answer) > ANSWER_CHARS_MAX:
        return Problem("", f"Expected at most {ANSWER_CHARS_MAX} characters, got {len(answer)}.")
    first: dict[str, Any] | None = None
    bare: list[Any] | None = None
    tries, begin = TRIES_MAX, _BEGIN.search(answer)
    while begin is not None and tries:
        place = begin.end() - 1
        try:
            _, end = _DECODER.raw_decode(answer, place)
            found = msgspec.json.decode(answer[place:end])
        except (ValueError, RecursionError, msgspec.MsgspecError):
            tries, end = tries - 1, place + 1
        else:
            whole = _with_calls(found)
            if whole is not None:
                first, bare = whole, None
                break
            if isinstance(found, dict):
                first = first if first is not None else found
            elif bare is None and (not found or any(isinstance(each, dict) and "tool" in each for each in found)):
                bare = found
        begin = _BEGIN.search(answer, end)
    if bare is not None:
        first = {"calls": bare}
    if first is None:
        return Problem("", 'Expected a JSON object such as {"calls": []}, or a list of calls, found neither.')
    if nested_deeper(first):
        return Problem("", f"Expected values nested at most {DEPTH_MAX} levels deep, got deeper ones.")
    return first


def _with_calls(found: Any) -> dict[str, Any] | None:
    """The object with `calls`: `found`, or the first one in the list `found`."""
    objects = found if isinstance(found, list) else [found]
    return next((each for each in objects if isinstance(each, dict) and "calls" in each), None)


def _normalised(call: Any, tools: Mapping[str, Definition]) -> Any:
    """The call of one of the daemon's own tools with its arguments as the tool reads them, any other as it is."""
    tool = tools.get(call["tool"]) if isinstance(call, dict) and isinstance(call.get("tool"), str) else None
    own = own_tool(tool) if tool is not None else None
    if own is None or "arguments" not in call:
        return call
    return {**call, "arguments": normalised(call["arguments"], own.input_schema)}


def _wrong(call: Any, path: str, tools: Mapping[str, Definition]) -> list[Problem]:
    """The problems of a call; empty if it fits."""
    if not isinstance(call, dict):
        return [Problem(path, f"Expected an object with tool and arguments, got {_echo(call)}.")]
    name = call.get("tool")
    if not isinstance(name, str):
        got = "no such field" if "tool" not in call else _echo(name)
        return [Problem(f"{path}.tool", f"Expected the name of a tool, got {got}.")]
    if name not in tools:
        near = get_close_matches(name[:ECHO_CHARS_MAX], tools, 3, 0.5) if len(tools) <= NEAR_TOOLS_MAX else []
        hint = f" Near names: {', '.join(near)}." if near else ""
        return [Problem(f"{path}.tool", f"Expected a tool that there is, got {_echo(name)}.{hint}")]
    tool = tools[name]
    try:
        Draft202012Validator.check_schema(tool.parameters)
        gate = bounded_validator(call_schema(tool, "#"))
        found = list(islice(gate.iter_errors(call), PROBLEMS_PER_CALL_MAX + 1))
    except (
        *(SchemaError, Unresolvable, regex.error, ValueError, ArithmeticError, RecursionError),
        TimeoutError,
    ) as error:
        what = f"Expected arguments that {name}'s schema can check; it cannot: {cut(str(error))}"
        return [Problem(f"{path}.arguments", what)]
    problems = [_problem(error, path) for error in found[:PROBLEMS_PER_CALL_MAX]]
    if len(found) > PROBLEMS_PER_CALL_MAX:
        problems.append(Problem(path, f"More is wrong with this call than these {PROBLEMS_PER_CALL_MAX} faults."))
    return problems


def _problem(error: ValidationError, path: str) -> Problem:
    where, instance = list(error.absolute_path), error.instance
    if error.validator == "required" and isinstance(needed := error.validator_value, list):
        where += [name for name in needed if error.message.startswith(f"{name!r} ")][:1]
    elif (
        error.validator == "additionalProperties" and isinstance(instance, dict) and isinstance(error.schema, dict)
    ):
        unknown = [name for name in instance if name not in error.schema.get("properties", {})]
        where += unknown if len(unknown) == 1 else []
    return Problem(_path(path, where), f"{cut(error.message)}.")


def _path(begin: str, parts: Iterable[str | int]) -> str:
    path = begin
    for part in parts:
        if isinstance(part, str) and _PLAIN.fullmatch(part) and len(part) <= ECHO_CHARS_MAX:
            path += f".{part}" if path else part
        else:
            path += f"[{_echo(part)}]"
    return path


def _echo(value: Any) -> str:
    """`value` as JSON, cut; for containers only their kind."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return cut(json.dumps(value[:ECHO_CHARS_MAX] if isinstance(value, str) else value, ensure_ascii=False))
