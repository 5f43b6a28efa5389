"""Where a text stands, over the inspector's API: in prompts as sent, calls as answered, messages and events."""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import process
from support import random_log as logs
from support.daemon import clean_environment
from support.inspector import RECORDED, Inspector, environment_in
from support.stored_logs import as_export

from workspaced import replay
from workspaced.demo.morning import INSTALLED
from workspaced.inspector.inspected import Inspected
from workspaced.inspector.subject import Subject
from workspaced.inspector.views import texts
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.schema import catalogue as c

NOTE = NoteId("読書/ガラス 🫖 café.md")


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over a log of five events that name NOTE, behind the two that open it."""
    folder = tmp_path_factory.mktemp("named")
    events = logs.recorded(*logs.opened(VaultId("v")), *[c.ActiveNoteSet(NOTE)] * 5)
    with Inspector(as_export(folder / "log.jsonl", events), env=environment_in(folder)) as running:
        yield running


def found(inspector: Inspector, text: str, **more: Any) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = inspector.get("/api/texts", text=text, **more)["hits"]
    return hits


def test_the_first_prompt_with_a_text_comes_first_and_says_where_it_stands(morning: Inspector) -> None:
    first = found(morning, "22 june", lanes="prompts")[0]
    assert (first["row"]["type"], first["where"]) == ("prompt_assembled", "L3_TURN")
    assert (first["block"], first["found"]) == ("projects/ferrybook/Kickoff.md", "22 June")
    assert first["before"].endswith("before the school holidays: **")
    blocks = morning.get(f"/api/prompts/{first['row']['seq']}")["blocks"]
    assert first["block"] in {each["note"] for each in blocks}


def test_an_answer_is_found_as_it_was_answered(morning: Inspector) -> None:
    for hit in found(morning, "29 June", lanes="calls"):
        assert hit["where"] == "answer"
        assert "29 June" in morning.request("GET", f"/api/calls/{hit['row']['seq']}/answer").text
    assert found(morning, "29 June", lanes="calls")


@pytest.mark.parametrize("text", ["ガラス", "🫖", "CAFÉ.md", unicodedata.normalize("NFD", "ガラス 🫖 café")])
def test_a_name_is_found_in_any_case_and_any_form_of_unicode(named: Inspector, text: str) -> None:
    assert len(found(named, text)) == 5


def test_the_command_finds_what_the_page_finds(recorded: Inspector, tmp_path: Path) -> None:
    page = recorded.get("/api/texts", text="note", lanes="calls")
    command = ("log", "search", "--in", "calls", "--json", "note", str(RECORDED))
    lines = process.run(*command, env=clean_environment(tmp_path)).stdout.splitlines()
    assert [json.loads(line) for line in lines] == page["hits"] != []


def test_one_answer_reads_few_calls_and_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "RECORDINGS_READ_MAX", 5)
    with replay.open(INSTALLED) as log:
        inspected = Inspected(Subject(INSTALLED, "morning", "bundle"), log)
        begin, read = 1, []
        while begin is not None:
            answer = texts.texts(inspected, texts.TextsParameters("22 June", begin))
            read.append([each.row.seq for each in answer.hits])
            begin = answer.next
    hits = [seq for part in read for seq in part]
    assert len(read) > 5 and hits == sorted(set(hits)) and {81, 86, 157, 169} <= set(hits)
