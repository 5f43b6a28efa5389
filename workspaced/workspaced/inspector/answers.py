"""The types of the API's answers, for schemas/ and for the page's own types."""

from typing import Final

from .routes import ROUTES
from .tail import MESSAGES

ANSWERS: Final = tuple(dict.fromkeys((*(each.answer for each in ROUTES if each.answer is not None), *MESSAGES)))
