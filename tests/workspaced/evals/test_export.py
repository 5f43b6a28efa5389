"""`workspaced eval export`: judged answers become tests for other programs; what cannot be one is named."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Factory, clean_environment

from workspaced import replay
from workspaced_events.ids import EventId, NoteId
from workspaced_events.replay.bundle import append_to_bundle
from workspaced_events.schema.catalogue import ENTRY_OF, NoteWithheld, PromptOverlaid

from .conftest import CALL, KICKOFF, PROMPT, WANTED, Cli, Scripted, calls, says


def pytest_in(folder: Path, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    """Runs pytest there, without the plugins of this program's own tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "workspaced.evals.fixtures", "-p", "no:cacheprovider"]
    env = {**clean_environment(tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(
        [*command, str(folder)], capture_output=True, text=True, env=env, cwd=folder, timeout=120
    )


def rewrite(note: Path, old: str, new: str) -> None:
    assert old in note.read_text()
    note.write_text(note.read_text().replace(old, new))


@pytest.mark.thorough
def test_the_test_fails_with_the_note_as_it_was_and_passes_with_it_as_it_should_be(
    judged: Path, tmp_path: Path, cli: Cli
) -> None:
    done = cli("eval", "export", judged, "--to", "pytest", "-o", "tests")
    assert done.code == 0, done.err
    failed = pytest_in(tmp_path / "tests", tmp_path)
    assert failed.returncode == 1 and f"it does not show what was wanted: {WANTED}" in failed.stdout
    notes = tmp_path / "tests" / "notes" / f"prompt_{PROMPT}"
    for left in ("Kickoff.md~", "Kickoff.md.bak", ".Kickoff.md"):  # by editors and systems: no notes
        (notes / left).write_bytes(b"29 June \xff")
    assert pytest_in(tmp_path / "tests", tmp_path).returncode == 1
    rewrite(notes / KICKOFF, "22 June", WANTED)
    passed = pytest_in(tmp_path / "tests", tmp_path)
    assert passed.returncode == 0, passed.stdout


def test_a_call_is_made_again_over_the_note_as_it_should_be(morning: Path, tmp_path: Path, cli: Cli) -> None:
    assert cli("judge", CALL, "wrong", morning, "--wanted", r"\b1 Jul(y|i)\b").code == 0
    assert cli("eval", "export", morning, "--to", "pytest", "--scorer", "regex", "-o", "tests").code == 0
    assert pytest_in(tmp_path / "tests", tmp_path).returncode == 1
    rewrite(tmp_path / "tests" / "notes" / f"call_{CALL}" / KICKOFF, "29 June", "1 July")
    passed = pytest_in(tmp_path / "tests", tmp_path)
    assert passed.returncode == 0, passed.stdout


def test_the_fixtures_answer_as_the_log_does(judged: Path, tmp_path: Path) -> None:
    (tmp_path / "test_them.py").write_text(f"""
import pytest

LOG = {str(judged)!r}

def test_workspace(workspace_at):
    assert workspace_at(LOG, 10).seq == 10

def test_mcp(mcp_at):
    asked = mcp_at(LOG, {CALL}).call("get_note_by_reference", reference={KICKOFF!r})
    assert asked["data"]["id"] == {KICKOFF!r}
    assert mcp_at(LOG, {CALL}).call("get_note_by_reference", reference="never asked")["code"] == "NOT_RECORDED"
    with pytest.raises(Exception, match="a call of get_note_by_reference, did not ask get_current_note this"):
        mcp_at(LOG, {CALL}, {{}}).call("get_current_note")
    with pytest.raises(Exception, match="no call of a tool: its type is prompt_assembled"):
        mcp_at(LOG, {PROMPT}, {{}}).call("get_current_note")

def test_prompt(prompt_at):
    assert prompt_at(LOG, {PROMPT}).body()["model"] == "claude-sonnet-4-5"
    assert "1 May" in prompt_at(LOG, {PROMPT}, {{{KICKOFF!r}: "On 1 May."}}).text()
    assert "29 June" in prompt_at(LOG, {PROMPT}, {{"work/more.md": "29 June"}}).text()
""")
    done = pytest_in(tmp_path, tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_fixtures_import_nothing_of_ours_before_they_are_used(tmp_path: Path) -> None:
    program = "import sys, pytest, workspaced.evals.fixtures as _\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    ours = {name for name in done.stdout.split() if name.startswith("workspaced")}
    assert "workspaced.evals.fixtures" in ours
    assert ours.isdisjoint({"workspaced.replay", "workspaced_tools", "workspaced_events.schema"})
    assert "msgspec" not in done.stdout.split()


def append(bundle: Path, data: Any) -> int:
    """Appends an event with this data, and returns its sequence."""
    with replay.open(bundle) as log:
        last = log.events()[-1]
        vault = log.event(PROMPT).vault
    event = ENTRY_OF[type(data)].event(last.seq + 1, EventId(f"id-{last.seq}"), last.time, "test", vault, data)
    draft = bundle.with_suffix(".new")
    with bundle.open("rb") as old, draft.open("wb") as new:
        append_to_bundle(old, new, event)
    draft.replace(bundle)
    return last.seq + 1


@pytest.mark.parametrize("target", ["pytest", "inspect", "promptfoo"])
def test_what_shows_a_note_that_is_withheld_by_now_is_left_out(judged: Path, cli: Cli, target: str) -> None:
    append(judged, NoteWithheld(NoteId(KICKOFF)))
    done = cli("eval", "export", judged, "--to", target, "-o", "tests")
    assert done.code == 1 and "WITHHELD" in done.err and "[NOT_RECORDED]" in done.err
    assert not Path("tests").exists()
    assert (
        "withheld by now"
        in cli("replay", judged, "--prompt", PROMPT, "--model", "m", "--base-url", "http://x").err
    )


def test_an_answer_of_a_tool_that_shows_a_withheld_note_goes_to_no_model(
    judged: Path, cli: Cli, scripted: Scripted
) -> None:
    glaze = "projects/tsuchiya/Glaze names 釉薬.md"  # not in the prompt, but in what its agent asked afterwards
    asked = ("replay", judged, "--prompt", PROMPT, "--model", "m", "--base-url", scripted.url)
    scripted.answers = [calls("get_workspace_summary", "{}"), says("Done.")]
    cli(*asked)
    cli("eval", "export", judged, "--to", "promptfoo", "-o", "before")
    append(judged, NoteWithheld(NoteId(glaze)))
    scripted.answers += scripted.answers
    cli(*asked)
    cli("eval", "export", judged, "--to", "promptfoo", "-o", "after")
    given = [json.dumps(body, ensure_ascii=False) for body in scripted.bodies]
    assert [glaze in body for body in given] == [False, True, False, False]
    assert "NOT_RECORDED" in given[-1]
    assert glaze in Path("before/samples.json").read_text()
    assert glaze not in Path("after/samples.json").read_text()


def test_each_answer_that_is_no_test_is_named_with_why(judged: Path, cli: Cli) -> None:
    assert cli("judge", PROMPT + 4, "right", judged).code == 0
    assert cli("judge", CALL, "right", judged, "--wanted", "Kickoff").code == 0
    proxied = append(judged, PromptOverlaid("proxy", "aaaa-1", "0" * 64))
    assert cli("judge", proxied, "wrong", judged, "--wanted", "Kickoff").code == 0
    done = cli("eval", "export", judged, "--to", "inspect", "-o", "tests", "--json")
    report = json.loads(done.out)
    assert report["samples"] == [PROMPT]
    left_out = {PROMPT + 4: "NO_WANTED", CALL: "NO_PROMPT", proxied: "NOT_RECORDED"}
    assert {each["seq"]: each["code"] for each in report["leftOut"]} == left_out


REFUSED = [
    ((), "No answer of this log was judged", False),
    (("--scorer", "exact"), "these tests ask no model", True),
    (("--scorer", "model-graded"), "these tests ask no model", True),
]


@pytest.mark.parametrize(("options", "said", "is_judged"), REFUSED)
def test_what_cannot_be_exported_says_what_to_do(
    request: pytest.FixtureRequest, cli: Cli, options: tuple[str, ...], said: str, is_judged: bool
) -> None:
    log = request.getfixturevalue("judged" if is_judged else "morning")
    done = cli("eval", "export", log, "--to", "pytest", "-o", "tests", *options)
    assert done.code == 2 and said in done.err and "[INVALID_ARGUMENT]" in done.err
    assert not Path("tests").exists()


def test_words_that_are_no_regular_expression_are_no_test_by_one_and_a_folder_that_is_there_stays(
    morning: Path, cli: Cli
) -> None:
    assert cli("judge", PROMPT, "wrong", morning, "--wanted", "29 June (").code == 0
    export = ("eval", "export", morning, "--to", "pytest", "-o", "tests")
    done = cli(*export, "--scorer", "regex")
    assert done.code == 1 and "[NO_REGEX]" in done.err and "unterminated subpattern" in done.err
    assert cli(*export).code == 0
    again = cli(*export)
    assert again.code == 2 and "no new folder" in again.err, "its notes may have been changed"


def test_words_of_a_judgement_that_name_a_withheld_note_stay(morning: Path, cli: Cli) -> None:
    assert cli("judge", PROMPT, "wrong", morning, "--wanted", WANTED, "--why", "[[2026-04-17]] says so").code == 0
    done = cli("eval", "export", morning, "--to", "pytest", "-o", "tests")
    assert done.code == 1 and "[WITHHELD]" in done.err and "2026-04-17" not in done.err


def test_of_a_note_that_was_forgotten_nothing_is_exported(daemon: Factory, tmp_path: Path, cli: Cli) -> None:
    running = daemon(notes={"secret.md": "# Kestrel\n\nThe kestrel flies at dawn.\n", "plan.md": "# Plan\n"})
    with running.connect("agent") as client:
        context = client.context
        for talk in ("secret", "plan"):
            context.start(
                conversation=talk, provider="openai", model="some", context_window=9_000, output_reserve=900
            )
            attached = [{"kind": "note", "id": f"{talk}.md"}]
            context.message(talk, {"id": f"m-{talk}", "role": "user", "text": "And?", "attachments": attached})
            context.assemble(talk)
        client.tool("get_note_by_reference", {"reference": "secret.md"})
        client.tool("get_note_by_reference", {"reference": "plan.md"})
    assert running.stop() == 0
    with replay.open(running.data) as log:
        answered = [*log.prompts(), *log.calls()]
    running.start()
    with running.connect("agent") as client:
        for each in answered:
            client.call("workspaced/judge", {"of": each.seq, "verdict": "wrong", "wanted": "Plan"})
    assert running.stop() == 0
    assert cli("forget", "secret.md", "--data-dir", running.data, "--yes").code == 0
    for target in ("pytest", "inspect", "promptfoo"):
        done = cli("eval", "export", running.data, "--to", target, "-o", target)
        assert done.code == 0, done.err
        files = [path for path in (tmp_path / target).rglob("*") if path.is_file()]
        written = "".join(f"{path}\n{path.read_text()}" for path in files) + done.out + done.err
        assert "plan.md" in written and "secret" not in written and "kestrel" not in written.casefold()
