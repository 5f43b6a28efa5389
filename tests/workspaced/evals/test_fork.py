"""`workspaced replay LOG --prompt SEQ`: the prompt with other notes, and what models make of it."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from workspaced import replay

from .conftest import KICKOFF, PROMPT, WANTED, Cli, Scripted, calls, says


def test_a_model_answers_by_the_note_as_it_was_and_as_it_should_have_been(
    morning: Path, tmp_path: Path, cli: Cli, model: str
) -> None:
    with replay.open(morning) as log:
        text = log.prompt(PROMPT).notes()[KICKOFF]
    (tmp_path / "Kickoff.md").write_text(text.replace("22 June", WANTED))
    ask = ("replay", morning, "--prompt", PROMPT, "--model", "gpt-5,mine", "--base-url", model)
    check = ("--check", f"grep -q '{WANTED}'")
    wrong = cli(*ask, *check)
    assert wrong.code == 1
    assert "We deliver release 1 on 22 June" in wrong.out  # what was answered then
    assert "--- gpt-5: wrong, 2," in wrong.out and "--- mine: wrong, 2," in wrong.out
    right = cli(*ask, *check, "--with", f"{KICKOFF}=Kickoff.md")
    assert right.code == 0
    was, is_now = (f"- Release 1 before the school holidays: **{date}**" for date in ("22 June", WANTED))
    assert f"-{was}\n+{is_now}" in right.out
    assert "--- gpt-5: right" in right.out and right.out.count(" USD") == 1  # only this model has a price


def test_a_prompt_is_shown_without_a_note_or_with_one_more_without_any_model(
    morning: Path, tmp_path: Path, cli: Cli
) -> None:
    done = cli("replay", morning, "--prompt", PROMPT, "--without", KICKOFF, "--json")
    made = json.loads(done.out)
    assert (done.code, made["answers"]) == (0, [])
    assert f"-<path>{KICKOFF}</path>" in made["changes"]
    assert not any(line.startswith("+") for line in made["changes"][2:])
    (tmp_path / "Kickoff.md").write_text("# The kickoff\n\nRelease 1 on 29 June")
    mistyped = ("replay", morning, "--prompt", PROMPT, "--with", "Kickof.md=Kickoff.md")
    assert cli(*mistyped).out.startswith("Kickof.md was not in the prompt; it is attached.\n")
    made = json.loads(cli(*mistyped, "--json").out)
    assert made["attached"] == ["Kickof.md"] and "+<title>The kickoff</title>" in made["changes"]
    shown = cli("replay", morning, "--prompt", PROMPT, "--with", f"{KICKOFF}=Kickoff.md")
    assert shown.code == 0 and "is attached" not in shown.out


def test_the_request_is_the_recorded_one_and_tools_answer_what_was_recorded(
    morning: Path, cli: Cli, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    scripted.answers = [
        calls("get_workspace_summary", "{}"),
        calls("search_workspace", '{"query": "release"}'),
        says("Done."),
    ]
    done = cli("replay", morning, "--prompt", PROMPT, "--model", "m", "--base-url", scripted.url, "--json")
    [answer] = json.loads(done.out)["answers"]
    assert (answer["state"], answer["text"]) == ("answered", "Done.")
    assert [(each["tool"], each["recorded"]) for each in answer["calls"]] == [
        *(("get_workspace_summary", True), ("search_workspace", False))
    ]
    with replay.open(morning) as log:
        body = log.prompt(PROMPT).body(shape="openai")
        [summary] = [call for call in log.calls() if call.tool == "get_workspace_summary"]
        assert scripted.bodies[0] == {**body, "model": "m"}
        assert json.loads(scripted.bodies[1]["messages"][-1]["content"]) == summary.served
    assert json.loads(scripted.bodies[2]["messages"][-1]["content"])["code"] == "NOT_RECORDED"
    assert scripted.headers[0]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in done.out + done.err


FAILING: list[tuple[str, tuple[int, Any], str]] = [
    ("silent", (200, None), "give it more with --timeout"),
    ("rate_limited", (429, {"error": "slow down"}), "asks to wait 7 s"),
    ("refused", (401, {"error": "no key"}), "Is OPENAI_API_KEY set?"),
    ("refused", (404, b"what?"), "answers 404: what?. Are the model's name and --base-url right?"),
    ("refused", (204, b""), "answers 204: nothing"),
    ("cut_off", says("Release 1 comes", "length"), "limit of its tokens"),
    ("no_answer", calls("search_workspace", "{}"), "8 rounds"),
    ("no_answer", says(" "), "says nothing"),
    ("no_answer", (200, {"choices": [{"message": {"refusal": "I must not."}}]}), "declines: I must not."),
    ("unreadable", (200, b"<html>"), "no chat completion"),
    ("unreadable", (200, {"choices": []}), "no chat completion"),
    ("unreadable", (200, {**says("29 June")[1], "usage": {"prompt_tokens": -5}}), "`$.usage.prompt_tokens`"),
    ("unreadable", calls("search_workspace", "query=1"), "no arguments in JSON"),
    (
        "unreadable",
        calls("search_workspace", '{"query":' + "[" * 9_999 + "]" * 9_999 + "}"),
        "no arguments in JSON",
    ),
    ("unreadable", (200, b" " * (32 * 1024 * 1024 + 1)), "more than 33,554,432 bytes"),
    ("cut_off", says("Release 1 comes", "content_filter"), "filter ended the answer"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("state", "answer", "why"), FAILING)
def test_what_goes_wrong_with_a_model_is_a_state_and_the_next_is_asked(
    morning: Path, cli: Cli, scripted: Scripted, state: str, answer: tuple[int, Any], why: str
) -> None:
    scripted.answers = [answer]
    before = morning.read_bytes()
    ask = ("replay", morning, "--prompt", PROMPT, "--model", "a,b", "--base-url", scripted.url)
    patience = ("--timeout", "0.3") if state == "silent" else ()
    done = cli(*ask, *patience, "--check", "false", "--json")
    answers = json.loads(done.out)["answers"]
    assert done.code == 1
    assert [(each["model"], each["state"], each["verdict"]) for each in answers] == [
        ("a", state, None),
        ("b", state, None),
    ]
    assert why in answers[0]["why"]
    assert morning.read_bytes() == before


def test_a_server_that_is_not_there_is_a_state(morning: Path, cli: Cli) -> None:
    done = cli("replay", morning, "--prompt", PROMPT, "--model", "a", "--base-url", "http://127.0.0.1:1/v1")
    assert done.code == 1 and "--- a: unreachable" in done.out and "Is --base-url right?" in done.out


def test_an_answer_whose_connection_ends_within_it_is_cut_off(morning: Path, cli: Cli, scripted: Scripted) -> None:
    scripted.answers, scripted.kept_back = [says("Release 1 comes on")], 20
    done = cli("replay", morning, "--prompt", PROMPT, "--model", "a", "--base-url", scripted.url)
    assert done.code == 1 and "--- a: cut off; The connection ended within the answer" in done.out


CHECKS = [
    ("true", "right", ""),
    ("exit 1", "wrong", ""),
    ("exit 125", "unknown", ""),
    ("echo broken >&2; exit 3", "unknown", "exit code 3 for the answer: broken"),
    (f"kill -{int(signal.SIGSEGV)} $$", "unknown", "was killed by signal 11"),
    ("no-such-command-41", "unknown", "exit code 127"),
    ("sleep 60", "unknown", "took longer than 0.5 s"),
]


@pytest.mark.parametrize(("command", "verdict", "why"), CHECKS)
def test_a_check_gives_the_verdict_and_one_that_crashes_gives_none(
    morning: Path, cli: Cli, scripted: Scripted, command: str, verdict: str, why: str
) -> None:
    scripted.answers = [says("29 June")]
    ask = ("replay", morning, "--prompt", PROMPT, "--model", "a", "--base-url", scripted.url, "--json")
    done = cli(*ask, "--check", command, *(("--timeout", "0.5") if "sleep" in command else ()))
    [answer] = json.loads(done.out)["answers"]
    assert (answer["verdict"], answer["text"]) == (verdict, "29 June")
    assert why in answer["why"] and bool(why) == bool(answer["why"])
    assert done.code == (0 if verdict == "right" else 1)


REFUSED: list[tuple[tuple[Any, ...], str]] = [
    (("--prompt", PROMPT, "--model", "a"), "--model and --base-url belong together"),
    (("--prompt", PROMPT, "--model", "a", "--base-url", "ftp://x"), "is no URL of HTTP"),
    (("--prompt", PROMPT, "--model", "a", "--base-url", "http://[::1"), "'http://[::1' is no URL of HTTP"),
    (("--prompt", PROMPT, "--model", "a", "--base-url", "http://x", "--check", " "), "The command is empty"),
    (("--prompt", PROMPT, "--check", "true"), "--check is about the answers of models"),
    (("--check", ""), "belong to --prompt"),
    (("--model", "a"), "belong to --prompt"),
    (("--prompt", PROMPT, "--verify"), "--prompt is about one prompt"),
    (("--prompt", PROMPT, "--with", f"{KICKOFF}=nowhere.md"), "Cannot read nowhere.md"),
    (("--prompt", PROMPT, "--with", f"{KICKOFF}=."), "Cannot read .: Is a directory"),
    (("--prompt", PROMPT, "--with", f"{KICKOFF}=/dev/zero"), "Cannot read /dev/zero: it has more than 16,777,216"),
    (("--prompt", PROMPT, "--with", f"{KICKOFF}=demo.wsb"), "Cannot read demo.wsb: it is not UTF-8"),
    (("--prompt", PROMPT, "--with", "../more.md=/dev/null"), "leads out of the vault"),
    (("--prompt", PROMPT, "--with", f"{KICKOFF}=/dev/null", "--without", KICKOFF), "name a note once"),
    (("--prompt", PROMPT, "--without", "nothing.md"), f"It shows: {KICKOFF}"),
    (("--prompt", PROMPT + 1), "is no prompt"),
]


@pytest.mark.parametrize(("options", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_cannot_be_asked_is_refused(morning: Path, cli: Cli, options: tuple[Any, ...], said: str) -> None:
    done = cli("replay", morning, *options)
    assert done.code == 2 and said in done.err
