"""get_note_diff: applied to the text that was, the diff gives the text that is, in one page or in many."""

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.tool_fixtures import NOW, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.errors import NotRecorded
from workspaced_tools.notes.note import Note, StatKey
from workspaced_tools.ports.history import VersionAt
from workspaced_tools.recording.view_recorder import ViewRecorder
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.get_note_diff import TOOL, unified
from workspaced_tools.tools.line_changes import COMPARED_LINES_MAX
from workspaced_tools.tools.tool import run

THEN = "2026-02-01T12:00:00.000000Z"
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NO_NEWLINE = "\n\\ No newline at end of file\n"


def lines_of(text: str) -> list[str]:
    """Lines end with LF and nothing else."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def applied(items: Sequence[str], text: str) -> str:
    """What `patch` makes of `text`; each line that is to stay or to go must be there."""
    old, new, at = lines_of(text), list[str](), 0
    left_old = left_new = 0
    for item in items:
        if hunk := HUNK.match(item):
            assert (left_old, left_new) == (0, 0)
            first, left_old, first_new, left_new = (int(each) if each is not None else 1 for each in hunk.groups())
            start = first - 1 if left_old else first
            new += old[at:start]
            assert len(new) == (first_new - 1 if left_new else first_new)
            at = start
            continue
        line = item[1:].removesuffix(NO_NEWLINE)
        if item[0] in " -":
            assert line == old[at]
            at, left_old = at + 1, left_old - 1
        if item[0] in " +":
            new.append(line)
            left_new -= 1
    assert (left_old, left_new) == (0, 0)
    return "".join(new + old[at:])


LINES = st.lists(
    st.sampled_from(
        ["a", "b", "c", "", "a\r", "\r", "x\u2028y", "\x00", "@@ -1 +1 @@", "+", "-", "\\ No newline"]
    ),
    max_size=25,
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"])) | st.text(
    max_size=60
)


@settings(max_examples=examples(300))
@given(TEXTS, TEXTS)
def test_applied_to_the_old_text_the_diff_gives_the_new_one(old: str, new: str) -> None:
    before, after = lines_of(old), lines_of(new)
    items = list(unified(before, after))
    assert applied(items, old) == new
    changed = sum(item[0] in "+-" for item in items)
    opcodes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    assert changed <= sum((b - a) + (d - c) for tag, a, b, c, d in opcodes if tag != "equal")
    assert (items == []) is (old == new)


def test_hunks_are_apart_when_their_contexts_are() -> None:
    old = [f"{n}\n" for n in range(30)]
    assert [item for item in unified(old, ["x\n", *old[1:7], "y\n", *old[8:]]) if item.startswith("@@")] == [
        "@@ -1,11 +1,11 @@\n"
    ]
    assert [item for item in unified(old, ["x\n", *old[1:8], "y\n", *old[9:]]) if item.startswith("@@")] == [
        "@@ -1,4 +1,4 @@\n",
        "@@ -6,7 +6,7 @@\n",
    ]


@pytest.mark.parametrize("count", [COMPARED_LINES_MAX, COMPARED_LINES_MAX + 1])
def test_very_long_texts_with_nothing_in_common_are_replaced(count: int) -> None:
    old, new = [f"a{n}\n" for n in range(count)], [f"b{n}\n" for n in range(count)]
    same = ["same\n"] * 5
    items = list(unified([*same, *old, *same], [*same, *new, *same]))
    assert sum(item[0] in "+-" for item in items) == 2 * count
    assert applied(items, "".join([*same, *old, *same])) == "".join([*same, *new, *same])


# -- the tool --


class Then:
    """Has one version of every note, or cannot tell."""

    def __init__(self, text: str | Exception) -> None:
        self.text = text
        self.asked: list[NoteId] = []

    def version(self, note: NoteId, _since: int | str | None, current: str) -> VersionAt:
        self.asked.append(note)
        if isinstance(self.text, Exception):
            raise self.text
        source = self.text.encode()
        sha256 = "0" * 64 if self.text != "same" else current
        return VersionAt(3, THEN, Note(note, StatKey(1, 1, len(source), 1, 1), None, sha256, source))


@pytest.fixture
def diff(make_vault: MakeVault, make_view: MakeView, check_result: Callable[..., None]) -> Callable[..., Any]:
    """diff(then, now, level, **arguments) -> the checked result for the note n.md."""

    def ask(then: Any, now: str | bytes, level: Sharing = "all", **arguments: Any) -> Any:
        vault = make_vault({"n.md": now, "folder/Other.md": "x"})
        state = make_view(vault, VaultState()).state
        past = then if isinstance(then, Then) else Then(then)
        shared = shared_view(state, NOW, vault, None, past.version, level=level, withheld=lambda _note: False)
        result = run(TOOL, ViewRecorder(shared, state).view, {"reference": "n.md", **arguments})
        check_result("get_note_diff", result)
        return result

    return ask


def test_the_whole_file_is_compared_front_matter_included(diff: Callable[..., Any]) -> None:
    result = diff("---\ntags: [a]\n---\n# N\n", "---\ntags: [b]\n---\n# N\n\nMore.\n")
    data = result["data"]
    assert data["diff"] == "@@ -1,4 +1,6 @@\n ---\n-tags: [a]\n+tags: [b]\n ---\n # N\n+\n+More.\n"
    assert (data["added"], data["removed"]) == (3, 1)
    assert data["since"] == {"seq": 3, "at": f"{THEN[:19]}Z", "sha256": "0" * 64}
    assert "truncation" not in result


def test_what_did_not_change_has_no_diff_and_bytes_that_are_no_text_may_have_changed(
    diff: Callable[..., Any],
) -> None:
    result = diff("same", "same")
    assert (result["data"]["diff"], result["data"]["changed"]) == ("", False)
    assert result["message"] == "Nothing changed."
    result = diff("# N\n", b"\xef\xbb\xbf# N\n")
    assert (result["data"]["diff"], result["data"].get("changed", True)) == ("", True)
    assert result["message"] != "Nothing changed."


def test_pages_end_with_whole_lines_where_they_fit(diff: Callable[..., Any]) -> None:
    old, new = "".join(f"old {n}\n" for n in range(60)), "".join(f"new {n}\n" for n in range(60))
    whole = diff(old, new)
    pages, offset = [], 0
    while offset is not None:
        result = diff(old, new, maxContentLength=100, offset=offset)
        assert result["data"]["added"] == 60
        pages.append(result["data"]["diff"])
        assert pages[-1].endswith("\n")
        offset = result["truncation"].get("nextOffset")
    assert len(pages) > 5
    assert "".join(pages) == whole["data"]["diff"]
    beyond = diff(old, new, offset=10**6)
    assert beyond["data"]["diff"] == "" and beyond["truncation"]["returnedLength"] == 0


def test_both_moments_at_once_are_refused(diff: Callable[..., Any]) -> None:
    assert diff("old", "new", sinceSeq=1, sinceTime="2026-02-01")["code"] == "INVALID_ARGUMENT"


def test_what_nobody_kept_is_said_to_be_not_recorded(diff: Callable[..., Any]) -> None:
    result = diff(NotRecorded("Nobody kept it", hint="Switch it on."), "new")
    assert (result["code"], result["message"]) == ("NOT_RECORDED", "Switch it on.")


def test_a_client_that_is_shown_names_gets_no_text(diff: Callable[..., Any]) -> None:
    past = Then("old text\n")
    result = diff(past, "new text\n", "names")
    assert result["code"] == "NOT_RECORDED"
    assert "text" not in str(result.get("data", "")) and not past.asked
