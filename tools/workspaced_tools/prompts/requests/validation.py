"""Checks a rendered body for faults that its provider would refuse with a less helpful message.

For templates that are not built in, only breakpoints are checked: the rules of their providers are not known.
"""

from collections.abc import Iterator
from typing import Any, Final

from ...errors import BodyInvalid

BREAKPOINTS_MAX: Final = 4
_FREE_FORM: Final = frozenset(
    {
        *("input_schema", "inputSchema", "parameters", "parametersJsonSchema", "parameters_json_schema"),
        *("input", "args", "arguments"),
    }
)
"""Fields with schemas or arguments, in which any name is allowed."""
_MESSAGES: Final = {"openai": "messages", "anthropic": "messages", "gemini": "contents"}
"""Where each shape has its messages. The items of responses need no order of roles."""
_AFTER: Final = {
    "": ("user",),
    "user": ("assistant",),
    "assistant": ("user", "tool"),
    "tool": ("user", "assistant", "tool"),
}
"""The roles that may follow each role; results of tools count as the user's."""


def check_body(body: dict[str, Any], template: str, shape: str | None, *, marks_max: int | None = None) -> None:
    """Checks breakpoints and, for a shape that is built in, roles.

    `marks_max`: the body has at most so many breakpoints; None: not known.

    Raises:
        BodyInvalid: there are too many breakpoints, or roles do not alternate.
    """
    marks = list(_breakpoints(body)) if marks_max is None or marks_max > BREAKPOINTS_MAX else []
    if len(marks) > BREAKPOINTS_MAX:
        raise BodyInvalid(
            f"The body of {template!r} has {len(marks)} cache_control, one too many at {marks[BREAKPOINTS_MAX]}.",
            hint=f"At most {BREAKPOINTS_MAX} are allowed, those of tools' definitions included: leave some out.",
            template=template,
            path=marks[BREAKPOINTS_MAX],
        )
    if shape in _MESSAGES:
        _check_roles(body, template, _MESSAGES[shape])


def _breakpoints(body: dict[str, Any]) -> Iterator[str]:
    """The paths of all `cache_control`, in their order."""
    waiting: list[tuple[str, Any]] = [("$", body)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, list):
            waiting += ((f"{path}[{at}]", each) for at, each in reversed([*enumerate(value)]))
        elif isinstance(value, dict):
            if value.get("cache_control") is not None:
                yield f"{path}.cache_control"
            inner = ((key, each) for key, each in reversed(value.items()) if key not in _FREE_FORM)
            waiting += ((f"{path}.{key}", each) for key, each in inner if isinstance(each, list | dict))


def _check_roles(body: dict[str, Any], template: str, field: str) -> None:
    messages = body.get(field)
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise _roles(template, f"$.{field}", "Expected a list of messages")
    before = ""
    for at, message in enumerate(messages):
        role = message.get("role")
        if role == "system" and at == 0:
            continue
        turn = "assistant" if role == "model" else role
        if turn not in _AFTER[before]:
            expected = " or ".join(_AFTER[before])
            raise _roles(template, f"$.{field}[{at}].role", f"Expected {expected}, got {role!r}")
        before = turn
    if not before:
        raise _roles(template, f"$.{field}", "Expected a message")


def _roles(template: str, path: str, what: str) -> BodyInvalid:
    return BodyInvalid(
        f"{what} at {path} of the body of {template!r}.",
        hint="Roles alternate strictly, the user's first: write each of `request.messages` once.",
        template=template,
        path=path,
    )
