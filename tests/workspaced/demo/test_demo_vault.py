"""The demo's sample vault and recorded session: they fit together, and hold what the demo promises to show."""

import json
import re
import unicodedata
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from workspaced_events.ids import EventId, VaultId, note_id
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


def test_a_selection_is_text_of_its_lines(session, notes):
    selections = [action["data"] for action in session if action["type"] == "selection_changed"]
    for data in selections:
        lines = notes[data["note"]].split("\n")
        assert data["text"] == "\n".join(lines[data["startLine"] - 1 : data["endLine"]])


# -- the vault --


def test_every_file_is_a_note_with_a_portable_name(notes):
    every = [path.relative_to(VAULT).as_posix() for path in VAULT.rglob("*") if path.is_file()]

    assert sorted(every) == sorted(notes)
    assert 40 <= len(notes) <= 60
    assert all(note_id(path) == path == unicodedata.normalize("NFC", path) for path in notes)
    assert not [path for path in notes if set(path) & set('<>:"\\|?*')]
    assert len({path.casefold() for path in notes}) == len(notes)


def test_it_holds_what_users_files_hold(notes):
    titles = Counter(Path(path).stem for path in notes)
    assert [title for title, count in titles.items() if count > 1] == ["Kickoff"], "one title is ambiguous"
    sizes = {path: len(text.encode()) for path, text in notes.items()}
    assert [path for path, size in sizes.items() if size > 10_000] == ["projects/ferrybook/Field research.md"]
    assert [path for path, size in sizes.items() if size == 0] == ["Untitled.md"]
    for names in ("[\U0001f300-\U0001faff]", "[äöüß]", "[ぁ-ゖァ-ヺ]", "[一-龯]"):
        assert any(re.search(names, path) for path in notes), names
    broken = set()
    for path, text in notes.items():
        if found := re.match(r"(?s)---\n(.*?)\n---\n", text):
            try:
                yaml.safe_load(found[1])
            except yaml.YAMLError:
                broken.add(path)
    assert broken == {"recipes/Bread fair notes.md"}


def test_links_lead_to_notes_but_for_the_few_that_are_meant_to_be_broken(notes):
    known = {Path(path).stem for path in notes} | {path.removesuffix(".md") for path in notes}
    outside_code = [re.sub(r"(?s)```.*?```|~~~.*?~~~|`[^`\n]*`|<!--.*?-->", "", text) for text in notes.values()]
    targets = {
        target.strip().removesuffix("\\")
        for text in outside_code
        for target in re.findall(r"\[\[([^\]|#]{1,200})", text)
    }

    assert targets - known == {"Heating quotes", "The Wind in the Reeds", "floorplan-huexstrasse.png"}


def test_headings_that_links_name_exist(notes):
    by_stem = {Path(path).stem: text for path, text in notes.items()}
    links = {
        (target, heading.strip())
        for text in notes.values()
        for target, heading in re.findall(r"\[\[([^\]|#\n]{1,200})#([^\]|\n]{1,200})", text)
    }

    assert links
    for target, heading in links:
        assert re.search(rf"(?m)^#+ {re.escape(heading)}$", by_stem[target]), (target, heading)
