"""The demo's sample vault and recorded session: they fit together, and hold what the demo promises to show."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest

from workspaced_events.ids import EventId, VaultId
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema.catalogue import CATALOGUE

DEMO = Path(str(files("workspaced"))) / "demo"
VAULT = DEMO / "vault"
SAMPLE = VaultId("vault")


@pytest.fixture(scope="module")
def notes() -> dict[str, str]:
    return {path.relative_to(VAULT).as_posix(): path.read_text("utf-8") for path in VAULT.rglob("*.md")}


@pytest.fixture(scope="module")
def session() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / "session.jsonl").read_text("utf-8").splitlines()]


# -- the session --


def time_of(seq: int) -> str:
    return f"2026-04-17T{8 + seq // 60:02}:{seq % 60:02}:00.000000Z"


def test_every_action_may_be_published_and_does_what_it_was_recorded_for(session, notes):
    opened = CATALOGUE["vault_opened"]
    data = opened.data(vault_id=SAMPLE, name="vault", path="vault")
    states = [apply(EMPTY, opened.event(1, EventId("open"), time_of(1), "daemon", SAMPLE, data))]
    for seq, action in enumerate(session, start=2):
        entry = CATALOGUE[action["type"]]
        assert set(action) == {"type", "data"} and entry.by_ui and set(action["data"]) <= entry.fields
        # Tab ids follow from sequence numbers, which depend on what else the daemon has recorded by then.
        assert not {"tabId", "tabIds"} & set(action["data"])
        assert {action["data"].get("note") or "Home.md", *action["data"].get("notes", [])} <= set(notes)
        data = msgspec.convert(action["data"], entry.data)
        states.append(apply(states[-1], entry.event(seq, EventId(f"a{seq}"), time_of(seq), "demo", SAMPLE, data)))
        assert states[-1].of(SAMPLE) is not states[-2].of(SAMPLE), f"{action} changed nothing"
    moments = json.loads((DEMO / "session_moments.json").read_text("utf-8"))
    assert [set(moment) for moment in moments] == [{"after", "title", "question"}] * 3
    shown = [states[moment["after"]].of(SAMPLE) for moment in moments]
    assert all(state.active and len(state.pins) >= 2 and len(state.tabs) >= 2 for state in shown)
    assert len({state.active.id for state in shown}) == 3 and moments[-1]["after"] == len(session)


# -- the vault --


def test_links_lead_to_notes_but_for_the_few_that_are_meant_to_be_broken(notes):
    known = {Path(path).stem for path in notes} | {path.removesuffix(".md") for path in notes}
    outside_code = [re.sub(r"(?s)```.*?```|~~~.*?~~~|`[^`\n]*`|<!--.*?-->", "", text) for text in notes.values()]
    targets = {
        target.strip().removesuffix("\\")
        for text in outside_code
        for target in re.findall(r"\[\[([^\]|#]{1,200})", text)
    }

    assert targets - known == {"Heating quotes", "The Wind in the Reeds", "floorplan-huexstrasse.png"}
