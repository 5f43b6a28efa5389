"""Coverage over the inspector's API: what agents were given, and whether they came back to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.inspector import Inspector, environment_in

from workspaced import replay
from workspaced.demo.morning import INSTALLED
from workspaced_events.replay.json_lines import export_lines

NAMES = ("linked", "named", "numbered", "silent", "asked", "searched", "volunteered", "last")
SEARCHED = ("numbered", "other", "third", "fourth", "fifth")
NOTES = {f"{name}-note.md": f"# {name}\n\nThe text of {name}, a pangolin.\n" for name in NAMES}


def note(name: str) -> str:
    return f"{name}-note.md"


@pytest.fixture(scope="module")
def data(module_daemon: Any) -> Path:
    """The log of a runtime whose answers use some of its notes, and of an agent that only calls tools."""
    running = module_daemon(notes=NOTES)
    with running.connect("runtime") as client:
        context = client.context
        context.start(
            conversation="talk", provider="openai", model="some", context_window=100_000, output_reserve=1_000
        )

        def turn(message: str, *names: str, answer: str | None) -> None:
            attached = [{"kind": "note", "id": note(name)} for name in names]
            context.message("talk", {"id": message, "role": "user", "text": "What?", "attachments": attached})
            context.assemble("talk")
            if answer is not None:
                context.message("talk", {"role": "assistant", "text": answer})

        turn("m1", "linked", "named", "silent", answer="See [[linked-note]]; also, named-note says so.")
        turn("m2", "last", answer=None)
        context.start(
            conversation="search", provider="openai", model="some", context_window=100_000, output_reserve=1_000
        )
        documents = [{"title": name, "source": note(name), "text": f"Of {name}."} for name in SEARCHED]
        found = {"id": "1", "name": "find", "search": {"query": "what", "documents": documents}}
        asks = {"role": "assistant", "toolCalls": [{"id": "1", "name": "find"}]}
        context.message(
            "search", {"role": "user", "text": "What?"}, asks, {"role": "user", "toolResults": [found]}
        )
        context.assemble("search")
        context.message("search", {"role": "assistant", "text": "Both [1], and [^3-4]; not [[5]] nor x[5]."})
    with running.connect("agent") as client:
        client.tool("get_note_by_reference", {"reference": note("asked")})
        client.tool("get_note_by_reference", {"reference": note("searched")})
        client.tool("get_related_notes", {"reference": note("asked")})
        client.tool("get_note_by_reference", {"reference": note("silent")})
    assert running.stop() == 0
    kept: Path = running.data
    return kept


@pytest.fixture(scope="module")
def inspector(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    with Inspector(data, env=environment_in(tmp_path_factory.mktemp("home"))) as started:
        yield started


def notes_of(inspector: Inspector, **parameters: Any) -> dict[str, Any]:
    return {each["note"]: each for each in inspector.get("/api/coverage", **parameters)["notes"]}


def uses(found: Any) -> list[tuple[str, str]]:
    return [(each["how"], each["by"]) for each in found["used"]]


@pytest.mark.parametrize(("name", "how"), [("linked", "cited"), ("named", "named")])
def test_a_note_that_an_answer_names_is_used(inspector: Inspector, name: str, how: str) -> None:
    found = notes_of(inspector)[note(name)]
    assert (found["status"], uses(found)) == ("used", [(how, "runtime")])


def test_a_note_that_an_answered_prompt_had_and_no_answer_names_was_never_used(inspector: Inspector) -> None:
    found = notes_of(inspector, to=_first_prompt(inspector) + 1)[note("silent")]
    assert (found["status"], found["used"], found["unknownTo"]) == ("unused", [], [])


def test_what_an_answer_cites_of_a_search_is_used(inspector: Inspector) -> None:
    found = notes_of(inspector)
    assert {name: uses(found[note(name)]) for name in SEARCHED} == {
        name: [] if name in ("other", "fifth") else [("cited", "runtime")] for name in SEARCHED
    }
    assert [found[note(name)]["status"] for name in ("numbered", "other")] == ["used", "unused"]


def test_nobody_knows_of_a_note_whose_agent_s_answer_is_not_in_the_log(inspector: Inspector) -> None:
    found = notes_of(inspector)
    assert (found[note("last")]["status"], found[note("last")]["unknownTo"]) == ("unknown", ["runtime"])
    assert (found[note("searched")]["status"], found[note("searched")]["unknownTo"]) == ("unknown", ["agent"])


def test_a_note_that_a_later_call_of_its_agent_asks_for_is_used(inspector: Inspector) -> None:
    found = notes_of(inspector)[note("asked")]
    assert (found["status"], uses(found)) == ("used", [("touched", "agent")])
    assert found["used"][0]["seq"] > found["given"][0]["seq"]


def test_a_call_of_another_agent_that_never_had_the_note_is_no_use_of_it(inspector: Inspector) -> None:
    found = notes_of(inspector)[note("silent")]
    assert (found["used"], found["unknownTo"]) == ([], ["agent", "runtime"])
    assert [each["to"] for each in found["given"]] == ["runtime", "runtime", "agent"]


def test_only_what_was_given_in_the_range_counts(inspector: Inspector) -> None:
    first = _first_prompt(inspector)
    assert set(notes_of(inspector, to=first)) == {note("linked"), note("named"), note("silent")}
    later = notes_of(inspector, **{"from": first + 1})
    assert note("named") in later and min(each["seq"] for each in later[note("named")]["given"]) > first
    assert [each["how"] for each in later[note("silent")]["given"]] == ["prompt", "call"]
    assert inspector.get("/api/coverage", to=first - 1)["notes"] == []


def test_what_is_not_kept_is_counted_instead_of_guessed(tmp_path: Path) -> None:
    export = tmp_path / "morning.jsonl"
    with replay.open(INSTALLED) as log:
        export.write_bytes(b"".join(export_lines("log", log.events())))
    with Inspector(export, env=environment_in(tmp_path)) as inspector:
        found = inspector.get("/api/coverage")
    assert found["notes"] == [] and found["notKept"] == found["read"] == 33


def _first_prompt(inspector: Inspector) -> int:
    seq: int = inspector.get("/api/conversations/talk")["prompts"][0]["seq"]
    return seq
