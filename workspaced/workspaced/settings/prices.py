"""The prices that count: the user's list in the configuration folder, else those of the data package."""

import msgspec
import platformdirs

from workspaced_events.errors import InvalidArgument
from workspaced_tools.prompts.audit.prices import FILE, PackagedPrices, read_prices
from workspaced_tools.prompts.audit.prices import Prices as PriceSource


class Prices(msgspec.Struct, rename="camel"):
    """Where the prices come from."""

    source: str
    """The data package with its version, or the user's list with its day."""
    currency: str
    file: str
    """The user's file, which takes the place of the data package if it is there."""
    is_own: bool
    """Whether the user's file counts."""
    problem: str = ""
    """Why the user's file does not count though it is there."""


def current_prices() -> tuple[PriceSource, Prices]:
    """The prices that count; the user's list is read anew so that an edit counts at once."""
    path, problem = platformdirs.user_config_path("workspaced") / FILE, ""
    try:
        found = read_prices(path.read_text(encoding="utf-8"), str(path))
        return found, Prices(found.source, found.currency, str(path), True)
    except FileNotFoundError:
        pass
    except InvalidArgument as error:
        problem = error.message
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{path} cannot be read: {error}."
    packaged = PackagedPrices()
    return packaged, Prices(packaged.source, packaged.currency, str(path), False, problem)
