"""Writes into FAULTS.md which tests prove each row: those marked `@pytest.mark.fault(row=9)`.

    python docs/generator/faults.py           writes them
    python docs/generator/faults.py --check   exits with 1 where the file differs

The rows' sentences are written by hand; the block of tests under each is not. A row without a test is refused, and
so is a mark of a row that is not there.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]

_ROW: Final = re.compile(r"^(\*\*(\d+)\. (?:.+\n)+)\n(?:(?: {4}.+\n)+\n)?", re.MULTILINE)
"""A row's paragraph, its number, and the block of its tests."""


class Marked(NamedTuple):
    """One test, or class of tests, and the row that it proves."""

    row: int
    file: str
    name: str


def marked_tests(tests: Path) -> Iterator[Marked]:
    """Every marked test below the folder, by file and place."""
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text()
        if "pytest.mark.fault(" in text:
            file = path.relative_to(tests.parent).as_posix()
            yield from (Marked(row, file, name) for row, name in _marks(ast.parse(text).body))


def _marks(body: list[ast.stmt], outer: str = "") -> Iterator[tuple[int, str]]:
    for each in body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for mark in each.decorator_list:
                if found := re.fullmatch(r"pytest\.mark\.fault\(row=(\d+)\)", ast.unparse(mark)):
                    yield int(found[1]), outer + each.name
            if isinstance(each, ast.ClassDef):
                yield from _marks(each.body, f"{outer}{each.name}::")


def with_tests(text: str, marked: list[Marked]) -> str:
    """FAULTS.md with each row's tests under it: a file, then its tests.

    Raises:
        SystemExit: a row has no test, or a test is marked with a row that is not there.
    """
    rows = {int(found[2]) for found in _ROW.finditer(text)}
    proved = {each.row for each in marked}
    for row in sorted(rows - proved):
        sys.exit(f"FAULTS.md: no test proves row {row}. Mark one with @pytest.mark.fault(row={row}).")
    for each in marked:
        if each.row not in rows:
            sys.exit(f"{each.file}: {each.name} proves row {each.row}, which is not in FAULTS.md. Add the row.")
    return _ROW.sub(lambda found: f"{found[1]}\n{_block(int(found[2]), marked)}\n", text)


def _block(row: int, marked: list[Marked]) -> str:
    files: dict[str, list[str]] = {}
    for each in marked:
        if each.row == row:
            files.setdefault(each.file, []).append(each.name)
    lines = (f"    {file}\n" + "".join(f"      {name}\n" for name in names) for file, names in files.items())
    return "".join(lines)


def main() -> int:
    """Writes or compares the file; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write into FAULTS.md which tests prove each row.")
    parser.add_argument("--check", action="store_true", help="compare instead; exit with 1 where the file differs")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder of FAULTS.md and tests/")
    options = parser.parse_args()
    file = options.root / "FAULTS.md"
    made = with_tests(file.read_text(), list(marked_tests(options.root / "tests")))
    if not options.check:
        file.write_text(made)
    elif made != file.read_text():
        sys.stderr.write(f"{file} is not what the marks of the tests give. Run `make reference` and commit it.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
