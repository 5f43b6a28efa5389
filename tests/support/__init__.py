"""What tests share: imported as `support`, since pytest puts `tests/` on the path (see pyproject.toml)."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data"
ROOT = TESTS.parent
