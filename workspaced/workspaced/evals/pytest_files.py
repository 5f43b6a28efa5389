"""Samples as a test module for pytest: was the agent shown what a right answer says? No model is asked."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from workspaced_events.errors import InvalidArgument

from .samples import Sample

FILE: Final = "test_judged.py"
_HEAD: Final = '''\
"""Answers that were judged in a log of workspaced: was the agent shown what a right answer says?

Made by `workspaced eval export`. The notes beside this file are as they were shown. Write into one what it should
have said: then the test says whether that would have been enough.
"""

{imports}from pathlib import Path

HERE = Path(__file__).parent
LOG = HERE / {log!r}
'''
_TEST: Final = """

def test_{name}({fixture}):
    {said}
    shown = {shown}
    assert {check}, "it does not show what was wanted: " + {wanted!r}
"""


def pytest_files(samples: Sequence[Sample], scorer: str, log: str) -> dict[str, str]:
    """The files, by their paths.

    Args:
        scorer: `includes` or `regex`; others judge an answer, and here no model gives one.
        log: the log's path as the module's folder sees it.

    Raises:
        InvalidArgument: another scorer.
    """
    if scorer not in {"includes", "regex"}:
        raise InvalidArgument(
            f"The scorer {scorer!r} judges an answer, and these tests ask no model.",
            hint="Give --scorer includes or regex, or --to inspect or promptfoo.",
        )
    imports = "import re\n" if scorer == "regex" else ""
    if any(sample.tool for sample in samples):
        imports = "import json\n" + imports
    files = {FILE: _HEAD.format(imports=imports, log=log) + "".join(_test(each, scorer) for each in samples)}
    for sample in samples:
        folder = PurePosixPath("notes", sample.name)
        files |= {str(folder / note): text for note, text in sample.notes.items()}
    return files


def _test(sample: Sample, scorer: str) -> str:
    notes = f'HERE / "notes" / "{sample.name}"'
    if sample.tool:
        answer = f"mcp_at(LOG, {sample.seq}, {notes}).call({sample.tool!r}, **{sample.arguments!r})"
        fixture, shown = "mcp_at", f"json.dumps({answer}, ensure_ascii=False)"
    else:
        fixture, shown = "prompt_at", f"prompt_at(LOG, {sample.seq}, {notes}).text()"
    check = {
        "includes": f"{sample.wanted.casefold()!r} in shown.casefold()",
        "regex": f"re.search({sample.wanted!r}, shown)",
    }[scorer]
    said = f"# Judged {sample.verdict}" + (f": {sample.why!r}" if sample.why else "")
    return _TEST.format(
        name=sample.name, fixture=fixture, said=said, shown=shown, check=check, wanted=sample.wanted
    )
