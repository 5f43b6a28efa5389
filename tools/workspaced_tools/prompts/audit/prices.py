"""What a prompt cost: tokens times the prices of a dated list, which the user may replace.

A sum is as good as its list. It leaves out what providers ask for writing into their cache, since no report tells
how many tokens they wrote.
"""

import importlib.resources
import tomllib
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.decoding import converted

from ...ports.base import Wire

FILE: Final = "prices.toml"
_PER_TOKENS: Final = 1_000_000
_ISO_DAY: Final = r"^\d{4}-\d{2}-\d{2}$"
_Money = Annotated[float, msgspec.Meta(ge=0)]


class Price(Wire, frozen=True, forbid_unknown_fields=True):
    """Money for 1,000,000 tokens of the models whose name fits."""

    provider: str
    model: str
    """`*` stands for any characters."""
    input: _Money
    output: _Money
    cached: _Money | None = None
    """For tokens that came from the provider's cache; None: as `input`."""


class PriceList(Wire, frozen=True, forbid_unknown_fields=True):
    """Prices as they were on one day."""

    dated: Annotated[str, msgspec.Meta(pattern=_ISO_DAY)]
    """The day, ISO 8601."""
    currency: str
    models: tuple[Price, ...]

    def price(self, provider: str, model: str) -> Price | None:
        """The first price that fits; upper and lower case are one."""
        name = model.lower()
        fitting = (
            each
            for each in self.models
            if each.provider.lower() == provider.lower() and fnmatchcase(name, each.model.lower())
        )
        return next(fitting, None)


class Cost(Wire, frozen=True):
    """Money for one prompt, or for several."""

    amount: float
    basis: Literal["reported", "estimated", "both"]
    """`reported`: by the provider's counts. `estimated`: the prompt's estimated tokens as if no cache served any,
    and no answer. `both`: a sum of such."""


def read_prices(text: str, name: str) -> PriceList:
    """The list in a TOML text; `name` is the file's, for the error.

    Raises:
        InvalidArgument: the text holds no such list.
    """
    try:
        return converted(tomllib.loads(text), PriceList)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidArgument(
            f"The prices in {name} cannot be read: {error}.",
            hint="Mend the file, or remove it: then the prices that came with workspaced count.",
        ) from None


def packaged_prices() -> PriceList:
    """The list that comes with this program."""
    return read_prices(importlib.resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8"), FILE)


def reported_cost(price: Price, read_tokens: int, cached_tokens: int, output_tokens: int) -> Cost:
    """What the provider's own counts come to. `read_tokens`: all that it read, cached or not."""
    cached = min(cached_tokens, read_tokens)
    at_cache = price.input if price.cached is None else price.cached
    money = (read_tokens - cached) * price.input + cached * at_cache + output_tokens * price.output
    return Cost(money / _PER_TOKENS, "reported")


def estimated_cost(price: Price, tokens: int) -> Cost:
    """What a prompt of so many tokens costs if no cache serves any of them, without its answer."""
    return Cost(tokens * price.input / _PER_TOKENS, "estimated")


def summed_cost(costs: list[Cost]) -> Cost | None:
    """The sum; None of no costs."""
    if not costs:
        return None
    bases = {each.basis for each in costs}
    return Cost(sum(each.amount for each in costs), next(iter(bases)) if len(bases) == 1 else "both")
