"""The ratio of providers' token counts to our estimates, learnt from usage reports (EWMA)."""

from typing import Final

import msgspec

CALIBRATIONS_MAX: Final = 100
"""Models remembered; beyond that, the one that reported first is dropped."""
SAMPLES_MIN: Final = 3
SAMPLE_TOKENS_MIN: Final = 500
ALPHA: Final = 0.3
RATIO_MIN: Final = 0.5
RATIO_MAX: Final = 3.0


class Calibration(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ratio of a model's tokens to our estimate."""

    ratio: float = 1.0
    samples: int = 0

    @property
    def factor(self) -> float:
        """The factor for an estimate: 1 until there are SAMPLES_MIN samples."""
        return self.ratio if self.samples >= SAMPLES_MIN else 1.0


NO_CALIBRATION: Final = Calibration()


def model_key(provider: str, model: str) -> str:
    return f"{provider}/{model}"


def sampled(calibrations: dict[str, Calibration], key: str, estimate: int, counted: int) -> dict[str, Calibration]:
    """Adds a sample for the model `key`: its token count for a prompt with the seed estimate `estimate`.

    Ignores samples below SAMPLE_TOKENS_MIN, which are too noisy.
    """
    if estimate < SAMPLE_TOKENS_MIN or counted < SAMPLE_TOKENS_MIN:
        return calibrations
    before = calibrations.get(key, NO_CALIBRATION)
    sample = min(RATIO_MAX, max(RATIO_MIN, counted / estimate))
    ratio = sample if before.samples == 0 else (1 - ALPHA) * before.ratio + ALPHA * sample
    after = {**calibrations, key: Calibration(ratio, before.samples + 1)}
    if len(after) > CALIBRATIONS_MAX:
        del after[next(iter(after))]
    return after
