"""Links written anew after a rename: each keeps its form."""

import pytest

from workspaced.lsp.renaming import new_path, rewritten


@pytest.mark.parametrize(
    ("raw", "target", "expected"),
    [
        ("[[Plan]]", "Plan", "[[Later]]"),
        ("![[Plan#Steps|x]]", "Plan", "![[Later#Steps|x]]"),
        ("[[plan.md^a]]", "plan.md", "[[Later.md^a]]"),
        ("[[work/Plan]]", "work/Plan", "[[work/Later]]"),
        ("[[../work/Plan]]", "../work/Plan", "[[../work/Later]]"),
        ("[[/work/Plan|Plan]]", "/work/Plan", "[[/work/Later|Plan]]"),
    ],
)
def test_a_wikilink_keeps_its_form(raw: str, target: str, expected: str) -> None:
    assert rewritten(raw, target, "home/a.md", "work/Later.md", wiki=True, bare=True) == expected


def test_a_name_that_another_note_has_is_written_as_a_path() -> None:
    assert rewritten("[[Plan]]", "Plan", "a.md", "work/Later.md", wiki=True, bare=False) == "[[work/Later]]"


@pytest.mark.parametrize(
    ("raw", "target", "expected"),
    [
        ("[x](../work/Plan.md)", "../work/Plan.md", "[x](../work/So%20far.md)"),
        ("[x](../work/Plan#a)", "../work/Plan", "[x](../work/So%20far#a)"),
        ("[x](/work/Plan.md 'Title')", "/work/Plan.md", "[x](/work/So%20far.md 'Title')"),
        ("[x](<../work/My plan.md>)", "../work/My plan.md", "[x](<../work/So far.md>)"),
        ("[![i](i.png)](../work/Plan.md)", "../work/Plan.md", "[![i](i.png)](../work/So%20far.md)"),
    ],
)
def test_a_path_stays_relative_or_absolute_and_is_encoded(raw: str, target: str, expected: str) -> None:
    assert rewritten(raw, target, "home/a.md", "work/So far.md", wiki=False, bare=True) == expected


def test_a_link_by_reference_is_left() -> None:
    assert rewritten("[x][plan]", "Plan.md", "a.md", "Later.md", wiki=False, bare=True) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Later", "work/Later.md"),
        ("Later.md", "work/Later.md"),
        (" far/Later ", "far/Later.md"),
        ("far//x", None),
        ("../x", None),
        ("", None),
        (".x", None),
        ("a#b", None),
        ("a\nb", None),
    ],
)
def test_a_new_name_stays_in_the_folder_or_is_a_path(name: str, expected: str | None) -> None:
    assert new_path("work/Plan.md", name) == expected
