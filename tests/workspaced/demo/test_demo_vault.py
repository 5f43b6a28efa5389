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
from workspaced_events.limits import TEMPORARY_TABS_MAX
from workspaced_events.projections.workspace_fold import apply, is_permutation
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.schema.catalogue import CATALOGUE, NoteUnpinned, TemporaryTabClosed

DEMO = Path(str(files("workspaced"))) / "demo"
VAULT = DEMO / "vault"
SAMPLE = VaultId("vault")


@pytest.fixture(scope="module")
def notes() -> dict[str, str]:
    return {path.relative_to(VAULT).as_posix(): path.read_text("utf-8") for path in VAULT.rglob("*.md")}


@pytest.fixture(scope="module")
def session() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / "session.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def moments() -> list[dict[str, Any]]:
    return json.loads((DEMO / "session_moments.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def states(session: list[dict[str, Any]]) -> list[WorkspaceState]:
    """The state before the first action, and after each."""
    opened = CATALOGUE["vault_opened"]
    data = opened.data(vault_id=SAMPLE, name="vault", path="vault")
    states = [apply(EMPTY, opened.event(1, EventId("open"), time_of(1), "daemon", SAMPLE, data))]
    for seq, action in enumerate(session, start=2):
        entry = CATALOGUE[action["type"]]
        data = msgspec.convert(action["data"], entry.data)
        event = entry.event(seq, EventId(f"a{seq}"), time_of(seq), "demo", SAMPLE, data)
        states.append(apply(states[-1], event))
    return states


def time_of(seq: int) -> str:
    return f"2026-04-17T{8 + seq // 60:02}:{seq % 60:02}:00.000000Z"


def named(data: dict[str, Any]) -> list[str]:
    return [*([data["note"]] if data.get("note") else []), *data.get("notes", [])]


# -- the session --


def test_the_session_is_what_a_ui_may_publish(session):
    assert 50 <= len(session) <= 80
    for action in session:
        entry = CATALOGUE[action["type"]]
        assert set(action) == {"type", "data"}
        assert entry.by_ui
        assert set(action["data"]) <= entry.fields


def test_every_note_of_the_session_is_in_the_vault(session, notes):
    assert {note for action in session for note in named(action["data"])} <= set(notes)


def test_no_action_names_a_tab_by_id(session):
    # Tab ids follow from sequence numbers, which depend on what else the daemon has recorded by then.
    assert not [action for action in session if {"tabId", "tabIds"} & set(action["data"])]


def test_every_action_does_what_it_was_recorded_for(session, states):
    for action, before, after in zip(session, states, states[1:], strict=False):
        was, now = before.of(SAMPLE), after.of(SAMPLE)
        assert now is not was, f"{action} changed nothing"
        if action["type"] == "pinned_notes_reordered":
            assert is_permutation(action["data"]["notes"], was.pins)
            assert list(now.pins) != list(was.pins)
        if CATALOGUE[action["type"]].data in (TemporaryTabClosed, NoteUnpinned):
            assert set(was.tabs) != set(now.tabs)
        assert len(was.tabs) < TEMPORARY_TABS_MAX


def test_the_session_shows_the_kinds_of_action(session):
    types = Counter(action["type"] for action in session)
    sources = {action["data"].get("source") for action in session if action["type"] == "temporary_tab_opened"}

    assert sources == {"search", "wikilink", "navigation", "history"}
    assert types.keys() >= {
        "active_note_set",
        "active_note_cleared",
        "note_pinned",
        "note_unpinned",
        "pinned_notes_reordered",
        "temporary_tab_closed",
        "temporary_tabs_cleared",
        "selection_changed",
        "note_archived",
        "note_unarchived",
    }


def test_a_selection_is_text_of_its_lines(session, notes):
    selections = [action["data"] for action in session if action["type"] == "selection_changed"]
    for data in selections:
        lines = notes[data["note"]].split("\n")
        assert data["text"] == "\n".join(lines[data["startLine"] - 1 : data["endLine"]])


def test_at_each_moment_there_is_something_to_see(moments, session, states):
    assert [set(moment) for moment in moments] == [{"after", "title", "question"}] * 3
    assert sorted({moment["after"] for moment in moments}) == [moment["after"] for moment in moments]
    assert moments[-1]["after"] == len(session)
    for moment in moments:
        state = states[moment["after"]].of(SAMPLE)
        assert state.active and len(state.pins) >= 2 and len(state.tabs) >= 2
        assert moment["question"].endswith("?")
    assert len({states[moment["after"]].of(SAMPLE).active.id for moment in moments}) == 3


# -- the vault --


def test_every_file_is_a_note_with_a_portable_name(notes):
    every = [path.relative_to(VAULT).as_posix() for path in VAULT.rglob("*") if path.is_file()]

    assert sorted(every) == sorted(notes)
    assert 40 <= len(notes) <= 60
    assert all(note_id(path) == path == unicodedata.normalize("NFC", path) for path in notes)
    assert not [path for path in notes if set(path) & set('<>:"\\|?*')]
    assert len({path.casefold() for path in notes}) == len(notes)


def test_one_title_is_ambiguous(notes):
    titles = Counter(Path(path).stem for path in notes)

    assert {title for title, count in titles.items() if count > 1} == {"Kickoff"}


def test_one_note_is_long_and_one_is_empty(notes):
    sizes = {path: len(text.encode()) for path, text in notes.items()}

    assert [path for path, size in sizes.items() if size > 10_000] == ["projects/ferrybook/Field research.md"]
    assert 15_000 <= sizes["projects/ferrybook/Field research.md"] <= 20_000
    assert [path for path, size in sizes.items() if size == 0] == ["Untitled.md"]


@pytest.mark.parametrize(
    "feature",
    [
        r"(?m)^tags: \[",
        r"(?m)^tags: [a-z\"]",
        r"(?m)^tags:? ?\[[^\]\n]*$",
        r"(?m)^aliases:",
        r"(?m)^id: ",
        r"(?m)^date: ",
        r"(?m)^type: ",
        r"(?m)^(===+|---+-)$",
        r"(?m)^\|[-:| ]+\|$",
        r"(?m)^- \[[ x]\] ",
        r"(?s)```\w+\n(?:(?!```).)*\[\[",
        r"(?s)```python\n# Not a heading",
        r"(?m)^\$\$$",
        r"<!-- \[\[",
        r"[^!]\[\[[^\]|#]+\|[^\]]+\]\]",
        r"\[\[[^\]|#]+#[^\]]+\]\]",
        r"!\[\[[^\]]+#[^\]]+\]\]",
        r"[^\]\[]\]\([\w/#. -]+\)",
        r"[\U0001F300-\U0001FAFF]",
    ],
)
def test_the_vault_has(feature, notes):
    assert any(re.search(feature, text) for text in notes.values())


def test_the_front_matter_of_one_note_is_broken(notes):
    broken = set()
    for path, text in notes.items():
        if found := re.match(r"(?s)---\n(.*?)\n---\n", text):
            try:
                fields = yaml.safe_load(found[1])
            except yaml.YAMLError:
                broken.add(path)
            else:
                assert isinstance(fields, dict)

    assert broken == {"recipes/Bread fair notes.md"}


def test_names_hold_emoji_umlauts_and_japanese(notes):
    for range_ in ("[\U0001f300-\U0001faff]", "[äöüß]", "[ぁ-ゖァ-ヺ]", "[一-龯]"):
        assert any(re.search(range_, path) for path in notes)


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
