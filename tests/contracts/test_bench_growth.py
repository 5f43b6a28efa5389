"""What the bench says of a curve: its exponent, and where it leads."""

import math
from collections.abc import Callable

import pytest
from bench.growth import N_LOG_N, drawn_out, exponent

SIZES = (1_000, 10_000, 100_000, 300_000)


@pytest.mark.parametrize(
    ("cost", "slope"),
    [
        (lambda _n: 7.0, 0),
        (lambda n: 0.01 * n, 1),
        (lambda n: n * math.log(n), N_LOG_N),
        (lambda n: 1e-9 * n**2, 2),
    ],
)
def test_a_curves_exponent_is_its_slope_on_logarithmic_axes(cost: Callable[[int], float], slope: float) -> None:
    assert exponent({size: cost(size) for size in SIZES}) == pytest.approx(slope, abs=0.005)


def test_a_curve_is_drawn_out_as_it_goes_on_between_its_last_points() -> None:
    assert drawn_out({1: 5.0, 10: 10.0, 20: 30.0}, 100) == pytest.approx(190.0)
    assert drawn_out({10: 10.0, 20: 9.0}, 100) == 9.0
