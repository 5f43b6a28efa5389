"""Links written anew after a rename: each keeps its form."""

import pytest

from workspaced.lsp.renaming import new_path, rewritten


@pytest.mark.parametrize(
    ("raw", "target", "expected"),
    [
        ("[[Plan]]", "Plan", "[[So far]]"),
        ("![[Plan#Steps|x]]", "Plan", "![[So far#Steps|x]]"),
        ("[[plan.md^a]]", "plan.md", "[[So far.md^a]]"),
        ("[[work/Plan]]", "work/Plan", "[[work/So far]]"),
        ("[[../work/Plan]]", "../work/Plan", "[[../work/So far]]"),
        ("[[/work/Plan|Plan]]", "/work/Plan", "[[/work/So far|Plan]]"),
        ("[x](../work/Plan.md)", "../work/Plan.md", "[x](../work/So%20far.md)"),
        ("[x](../work/Plan#a)", "../work/Plan", "[x](../work/So%20far#a)"),
        ("[x](/work/Plan.md 'Title')", "/work/Plan.md", "[x](/work/So%20far.md 'Title')"),
        ("[x](<../work/My plan.md>)", "../work/My plan.md", "[x](<../work/So far.md>)"),
        ("[![i](i.png)](../work/Plan.md)", "../work/Plan.md", "[![i](i.png)](../work/So%20far.md)"),
        ("[x][plan]", "Plan.md", None),  # by reference
    ],
)
def test_a_link_keeps_its_form(raw: str, target: str, expected: str | None) -> None:
    is_wikilink = "[[" in raw and "](" not in raw
    assert rewritten(raw, target, "home/a.md", "work/So far.md", wiki=is_wikilink, bare=True) == expected


def test_a_name_that_another_note_has_is_written_as_a_path() -> None:
    assert rewritten("[[Plan]]", "Plan", "a.md", "work/Later.md", wiki=True, bare=False) == "[[work/Later]]"


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
