"""FAULTS.md says which test proves which row: it must name every row, and tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "FAULTS.md").read_text()
ROWS = [line for line in TEXT.splitlines() if re.match(r"\| \d+ \|", line)]
NOT_YET = {30}
"""HTTP does not exist yet."""


def numbers() -> list[int]:
    return [int(line.split("|")[1]) for line in ROWS]


def test_every_row_of_the_table_stands_there_once_and_in_order() -> None:
    assert numbers() == [number for number in range(1, 46) if number not in NOT_YET]


def test_every_row_names_a_test() -> None:
    for line in ROWS:
        assert re.search(r"`tests/[\w/]+\.py::\w+`", line), line


def test_every_named_test_is_there() -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT):
        source = (ROOT / file).read_text()
        assert re.search(rf"^ *(async )?def {name}\b|^class {name}\b", source, re.MULTILINE), f"{file}::{name}"
