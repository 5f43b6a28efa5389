"""A published note that the vault does not hold: recorded, with a warning that names near ones."""

import json
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


def test_it_is_recorded_and_the_warning_names_near_ones(served: Any) -> None:
    done = served.cli("publish", "active_note_set", "note=Kitchen budgt.md")
    assert done.returncode == 0 and "active_note_set" in done.stdout
    assert "warning: The vault vault holds no note 'Kitchen budgt.md'" in done.stderr
    assert "near: work/Kitchen budget.md (Kitchen budget)" in done.stderr
    with served.connect() as client:
        assert client.state()["activeNote"]["id"] == "Kitchen budgt.md"


def test_what_exists_is_no_warning(served: Any) -> None:
    done = served.cli("publish", "active_note_set", "note=work/Kitchen plan.md")
    assert "warning" not in done.stderr


def test_a_wrong_folder_names_the_note_itself(served: Any) -> None:
    done = served.cli("publish", "note_pinned", "note=Kitchen budget.md", "--json")
    (warning,) = json.loads(done.stdout)["warnings"]
    assert warning["note"] == "Kitchen budget.md"
    assert warning["near"][0]["path"] == "work/Kitchen budget.md"


def test_what_goes_may_be_gone(served: Any) -> None:
    done = served.cli("publish", "note_deleted", "note=Kitchen gone.md")
    assert done.returncode == 0 and "warning" not in done.stderr


def test_withheld_notes_are_neither_missing_nor_near(served: Any) -> None:
    for note in ("diary/Secret kitchen.md", "hidden/Kitchen hidden.md", "hidden/none.md"):
        assert "warning" not in served.cli("publish", "active_note_set", f"note={note}").stderr
    said = served.cli("publish", "active_note_set", "note=Kitchen hiddn.md").stderr
    assert "warning" in said and "Kitchen hidden.md" not in said
    said = served.cli("publish", "active_note_set", "note=Secret kitchn.md").stderr
    assert "warning" in said and "Secret kitchen.md" not in said


def test_actions_on_standard_input_are_checked_as_well(served: Any) -> None:
    lines = (
        b'{"type":"note_pinned","data":{"note":"No such.md"}}\n{"type":"active_note_set","data":{"note":null}}\n'
    )
    done = served.cli("publish", "--stdin", stdin=lines)
    assert done.returncode == 0 and done.stderr.count("warning") == 1


def test_a_refused_batch_is_refused(served: Any) -> None:
    done = served.cli("publish", "note_pinned", "note=a.md", "index=-1")
    assert done.returncode == 2 and "[INVALID_ARGUMENT]" in done.stderr
