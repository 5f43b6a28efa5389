"""One walk of a user, in every editor: the logs say the same."""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest
from support.publishers.desk import Desk, shown

TOLD = ("active_note_set", "note_pinned", "selection_changed", "note_renamed")


@pytest.mark.thorough
@pytest.mark.parametrize("linked", [False, True], ids=["alone", "linked"])
def test_the_same_walk_is_the_same_log(desk: Callable[..., Desk], linked: bool) -> None:
    here = desk(
        "--no-watch", linked=linked, notes=dict.fromkeys(("a.md", "b.md", "c.md"), "one\ntwo ä😀\nthree\n")
    )
    editor = here.editor("pin", "selection", "rename")
    a, b, c = (here.vault / name for name in ("a.md", "b.md", "c.md"))
    for step in (
        lambda: editor.open(a),
        lambda: editor.open(b),
        lambda: editor.pin(b),
        lambda: editor.select(b, 1, 2),
        lambda: here.until(lambda state: state["selection"] is not None),
        lambda: editor.open(c),
        lambda: here.until(lambda state: state["selection"] is None),
        lambda: editor.rename(c, here.vault / "new.md"),
        lambda: here.until(lambda state: shown(state).active == "new.md"),
    ):
        step()
        editor.settled()
    # Editors differ in whether they show a renamed note anew, and some do before they say that it was renamed.
    told = [event for event in here.events(*TOLD) if event["data"].get("note") != "new.md"]
    walk = [(event["type"], event["data"]) for event in told]
    assert [list(steps)[-1] for _, steps in groupby(walk, lambda step: step[0])] == [
        ("active_note_set", {"note": "b.md"}),
        ("note_pinned", {"note": "b.md"}),
        ("selection_changed", SELECTED),
        ("active_note_set", {"note": "c.md"}),
        ("note_renamed", {"from": "c.md", "to": "new.md"}),
    ]


SELECTED: dict[str, Any] = {"note": "b.md", "startLine": 1, "endLine": 2, "text": "one\ntwo ä😀"}
