"""A JSON Schema validator with bounds, for schemas that may come from anywhere."""

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import regex
from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from referencing import Registry

STEPS_MAX: Final = 20_000
"""Rules applied to values while checking one call. Bounded because schemas may refer to themselves many times."""
PATTERN_S: Final = 0.05
"""Seconds for all patterns of one call. Bounded because the patterns may come from anywhere."""
UNIQUE_MAX: Final = 200
"""Items of a list that must be unique: the check compares each pair."""
_NO_NETWORK: Final[Registry[Any]] = Registry()
"""With its own registry, jsonschema would fetch the schemas that a schema refers to."""


def bounded_validator(schema: dict[str, Any]) -> Any:
    """A `Draft202012Validator` with bounds.

    Its `iter_errors` raises OverflowError, TimeoutError or ValueError if the check would take too long.
    """
    return validators.extend(Draft202012Validator, _Bounds().rules())(schema, registry=_NO_NETWORK)  # type: ignore[no-untyped-call]


class _Bounds:
    """The bounds of one check.

    A schema comes from a runtime, which may have it from anywhere. A hostile pattern in Python's `re` would block
    the interpreter, and with it the daemon, without limit; `regex` has a timeout.
    """

    def __init__(self) -> None:
        self._steps, self._seconds = STEPS_MAX, PATTERN_S

    def rules(self) -> dict[str, Any]:
        """The rules of `Draft202012Validator`, bounded."""
        own = {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional}
        return {
            name: self._bounded(name, partial(own[name], self.found) if name in own else rule)
            for name, rule in Draft202012Validator.VALIDATORS.items()
        }

    def _bounded(self, name: str, rule: Any) -> Any:
        def bounded(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
            self._steps -= 1
            if self._steps < 0:
                raise OverflowError(f"more than {STEPS_MAX} steps")
            if name == "uniqueItems" and isinstance(instance, list) and len(instance) > UNIQUE_MAX:
                raise OverflowError(f"more than {UNIQUE_MAX} items to tell apart")
            if name == "unevaluatedProperties" and "patternProperties" in json.dumps(schema):
                raise ValueError("unevaluatedProperties beside patternProperties")
            yield from rule(validator, value, instance, schema) or ()

        return bounded

    def found(self, pattern: str, text: str) -> bool:
        """Whether the pattern matches somewhere in the text."""
        if self._seconds <= 0:
            raise TimeoutError("its patterns take too long")
        began = time.perf_counter()
        try:
            return regex.search(pattern, text, timeout=self._seconds) is not None
        finally:
            self._seconds -= time.perf_counter() - began


_Found = Callable[[str, str], bool]


def _pattern(found: _Found, validator: Any, pattern: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and not found(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(
    found: _Found, validator: Any, patterns: Any, value: Any, _schema: Any
) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        for pattern, inner in patterns.items():
            for name, each in value.items():
                if found(pattern, name):
                    yield from validator.descend(each, inner, path=name, schema_path=pattern)


def _additional(found: _Found, validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    more = [name for name in value if name not in known and not any(found(each, name) for each in patterns)]
    if validator.is_type(allowed, "object"):
        for name in more:
            yield from validator.descend(value[name], allowed, path=name)
    elif not allowed and more:
        yield ValidationError(f"Additional properties are not allowed ({', '.join(map(repr, more))})")
