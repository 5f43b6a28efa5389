"""Estimates the tokens of a prompt's parts for the prompt's model.

An estimate is a seed (token_estimate.py) times the factor that the provider's own counts gave
(token_calibration.Calibration). The log records each prompt's estimate, so no reader has to repeat it.
"""

from typing import Final

from .token_estimate import estimate_tokens
from .types import ChatMessage

IMAGE_TOKENS: Final = 1_600
"""Per image of any size: providers scale large images down to about as many."""

seed_tokens: Final = estimate_tokens
"""Without calibration, so the same for every model and every time: numbers written into a prompt use it."""


def message_seed(message: ChatMessage) -> int:
    """Seed tokens of all blocks of the message: texts, names of tools, images."""
    return sum(
        (IMAGE_TOKENS if block.type == "image" else seed_tokens(block.text or ""))
        + seed_tokens(block.name or "")
        + IMAGE_TOKENS * len(block.images)
        for block in message.content
    )


class Estimator:
    """Estimates for one model: seed tokens times `factor`."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def tokens(self, text: str) -> int:
        """0 for an empty text, else at least 1."""
        return self.calibrated(seed_tokens(text))

    def message_tokens(self, message: ChatMessage) -> int:
        return self.calibrated(message_seed(message))

    def calibrated(self, seed: int) -> int:
        """The estimate for so many seed tokens: 0 for 0, else at least 1."""
        if self._factor == 1.0:
            return seed
        return max(1, round(seed * self._factor)) if seed else 0
