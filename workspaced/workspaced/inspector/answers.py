"""The types of the API's answers, for schemas/ and for the page's own types."""

from typing import Final

from .routes import ROUTES

ANSWERS: Final = tuple(dict.fromkeys(route.answer for route in ROUTES))
