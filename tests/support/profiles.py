"""How thoroughly properties are tried: the variable TEST_PROFILE says `quick` or `thorough`.

`quick` is what `make test` and `make test-all` run: a tenth of the examples. `thorough` is what `make thorough`
and `make mutants` run. A test states the thorough number, as `@settings(max_examples=examples(200))`; one that
states none has 100.
"""

import os
from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import HealthCheck, settings

VARIABLE = "TEST_PROFILE"
QUICK, THOROUGH = "quick", "thorough"
PROFILES = (QUICK, THOROUGH)
QUICK_SHARE = 10
QUICK_EXAMPLES_MIN = 10
"""Below this a property is not worth running; who states fewer gets what they state."""
DEFAULT_EXAMPLES = 100


def chosen() -> str:
    """The profile's name.

    Raises:
        ValueError: the environment names one that does not exist.
    """
    name = os.environ.get(VARIABLE) or QUICK
    if name not in PROFILES:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(PROFILES)}, and is {name!r}")
    return name


def is_thorough() -> bool:
    """Whether a test should take the time that it needs."""
    return chosen() == THOROUGH


def examples(thorough: int) -> int:
    """How many examples a property is tried on that gets `thorough` of them when there is time."""
    if is_thorough():
        return thorough
    return min(thorough, max(QUICK_EXAMPLES_MIN, thorough // QUICK_SHARE))


def some_of(values: Iterable[object], quick: int) -> list[ParameterSet]:
    """Parameters of a test, of which the first `quick` are run by `make test`, and the rest are thorough."""
    return [
        pytest.param(value, marks=() if at < quick else pytest.mark.thorough) for at, value in enumerate(values)
    ]


def load() -> None:
    """What `@given` takes where a test states nothing. Called once, before tests are collected.

    Examples are the same in every run, so that a run that passed passes again; TEST_RANDOM=1 looks for
    others. Neither an example nor its making has a time limit, which a busy machine would break. Examples of one
    test may share its fixtures.
    """
    settings.register_profile(
        chosen(),
        max_examples=examples(DEFAULT_EXAMPLES),
        derandomize=not os.environ.get("TEST_RANDOM"),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    settings.load_profile(chosen())
