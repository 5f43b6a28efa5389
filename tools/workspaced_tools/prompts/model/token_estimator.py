"""About how many tokens a prompt's parts are to the model that it is for.

A seed (tokens.py), times what the provider's own counts have shown (calibration.Calibration). What a prompt was
estimated at is recorded with it, so that nobody needs to count it again.
"""

from typing import Final

from .token_estimate import estimate_tokens
from .types import ChatMessage

IMAGE_TOKENS: Final = 1_600
"""Of an image, whatever its size: providers scale large ones down to about as many."""

seed_tokens: Final = estimate_tokens
"""Before calibration: the same for every model, for ever. What is written into a prompt is counted so."""


def message_seed(message: ChatMessage) -> int:
    """Seed tokens of all its blocks: texts, names of tools, images."""
    return sum(
        (IMAGE_TOKENS if block.type == "image" else seed_tokens(block.text or "")) + seed_tokens(block.name or "")
        for block in message.content
    )


class Estimator:
    """Counts for one model; `factor` is what seeds are multiplied with."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def tokens(self, text: str) -> int:
        """None of an empty text, else at least one."""
        return self.calibrated(seed_tokens(text))

    def message_tokens(self, message: ChatMessage) -> int:
        return self.calibrated(message_seed(message))

    def calibrated(self, seed: int) -> int:
        """What so many seed tokens come to."""
        if self._factor == 1.0:
            return seed
        return max(1, round(seed * self._factor)) if seed else 0
