"""A published note that the vault does not hold: recorded, with a warning that names near ones."""

from typing import Any

import pytest

NOTES = {
    "work/Kitchen budget.md": "# Kitchen budget\n",
    "work/Kitchen plan.md": "# Kitchen plan\n",
    "diary/Secret kitchen.md": "---\nworkspaced: private\n---\n# Secret kitchen\n",
    ".workspacedignore": "hidden/\n",
    "hidden/Kitchen hidden.md": "# Kitchen hidden\n",
}


@pytest.fixture(scope="module")
def served(module_daemon: Any) -> Any:
    return module_daemon(notes=NOTES)


MISSING = "warning: The vault vault holds no note "
"""What is published, and what the warning says of it and does not say."""
PUBLISHED: dict[str, tuple[list[str], list[str], list[str]]] = {
    "near ones are named": (
        ["active_note_set", "note=Kitchen budgt.md"],
        [MISSING + "'Kitchen budgt.md'", "near: work/Kitchen budget.md (Kitchen budget)"],
        [],
    ),
    "what exists": (["active_note_set", "note=work/Kitchen plan.md"], [], ["warning"]),
    "what goes may be gone": (["note_deleted", "note=Kitchen gone.md"], [], ["warning"]),
    "the new name of a note": (["note_renamed", "from=a.md", "to=gone.md"], [MISSING + "'gone.md'"], ["'a.md'"]),
    "a private note": (["active_note_set", "note=diary/Secret kitchen.md"], [], ["warning"]),
    "a ruled note": (["active_note_set", "note=hidden/Kitchen hidden.md"], [], ["warning"]),
    "a missing one that the rule would withhold": (["active_note_set", "note=hidden/none.md"], [], ["warning"]),
    "near a ruled note": (["active_note_set", "note=Kitchen hiddn.md"], ["warning"], ["Kitchen hidden.md"]),
    "near a private note": (["active_note_set", "note=Secret kitchn.md"], ["warning"], ["Secret kitchen.md"]),
}


@pytest.mark.parametrize("words", PUBLISHED)
def test_it_is_recorded_and_a_warning_names_near_notes_that_may_be_named(served: Any, words: str) -> None:
    arguments, holds, lacks = PUBLISHED[words]
    done = served.cli("publish", *arguments)
    assert done.returncode == 0 and arguments[0] in done.stdout
    assert all(each in done.stderr for each in holds) and not any(each in done.stderr for each in lacks)
    if arguments[0] == "active_note_set":
        with served.connect() as client:
            assert client.state()["activeNote"]["id"] == arguments[1].removeprefix("note=")


def test_actions_on_standard_input_are_checked_as_well(served: Any) -> None:
    lines = (
        b'{"type":"note_pinned","data":{"note":"No such.md"}}\n{"type":"active_note_set","data":{"note":null}}\n'
    )
    done = served.cli("publish", "--stdin", stdin=lines)
    assert done.returncode == 0 and done.stderr.count("warning") == 1
