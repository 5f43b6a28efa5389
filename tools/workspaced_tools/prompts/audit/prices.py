"""What a prompt cost: tokens times the prices of the data package genai-prices, or of a list of the user's own.

A sum is as good as its prices. It leaves out what providers ask for writing into their cache, since no report
tells how many tokens they wrote.
"""

import tomllib
from contextlib import suppress
from datetime import datetime
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import msgspec

from workspaced_events.errors import InvalidArgument

from ...ports.base import Wire

FILE: Final = "prices.toml"
_PACKAGE: Final = "genai-prices"
_PER_TOKENS: Final = 1_000_000
_ISO_DAY: Final = r"^\d{4}-\d{2}-\d{2}$"
_Money = Annotated[float, msgspec.Meta(ge=0)]


class Tokens(NamedTuple):
    """What one request took."""

    read: int
    """All that the provider read, cached or not."""
    cached: int = 0
    output: int = 0


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

    @property
    def source(self) -> str:
        """Its name with its day."""
        return f"your own list of {self.dated}"

    def amount(self, provider: str | None, model: str, at: str, tokens: Tokens) -> float | None:  # noqa: ARG002 - one day's
        """What a request cost at a time, ISO 8601; None: the model has no price.

        By the first price that fits; upper and lower case are one.

        Args:
            provider: None: whoever hosts the model.
        """
        fitting = (
            each
            for each in self.models
            if provider is None or each.provider.lower() == provider.lower()
            if fnmatchcase(model.lower(), each.model.lower())
        )
        price = next(fitting, None)
        if price is None:
            return None
        cached = min(tokens.cached, tokens.read)
        at_cache = price.input if price.cached is None else price.cached
        money = (tokens.read - cached) * price.input + cached * at_cache + tokens.output * price.output
        return money / _PER_TOKENS


class PackagedPrices:
    """The prices of the data package, as they were at the time of a request; nothing is asked of the network."""

    currency: Final = "USD"

    @property
    def source(self) -> str:
        return f"{_PACKAGE} {version(_PACKAGE)}"

    def amount(self, provider: str | None, model: str, at: str, tokens: Tokens) -> float | None:
        from genai_prices import Usage, calc_price  # takes half a second and is needed where money is shown

        usage = Usage(
            input_tokens=tokens.read,
            cache_read_tokens=min(tokens.cached, tokens.read),
            output_tokens=tokens.output,
        )
        when = datetime.fromisoformat(at)
        with suppress(LookupError, ValueError):
            found = calc_price(
                usage, model, provider_id=provider and provider.lower(), genai_request_timestamp=when
            )
            return float(found.total_price)
        return None


Prices: TypeAlias = PriceList | PackagedPrices
"""Where prices come from."""


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
        return msgspec.convert(tomllib.loads(text), PriceList)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidArgument(
            f"The prices in {name} cannot be read: {error}.",
            hint="Mend the file, or remove it: then the prices of genai-prices count.",
        ) from None


def summed_cost(costs: list[Cost]) -> Cost | None:
    """The sum; None of no costs."""
    if not costs:
        return None
    bases = {each.basis for each in costs}
    return Cost(sum(each.amount for each in costs), next(iter(bases)) if len(bases) == 1 else "both")
