"""`workspaced judge`: what the user says of an answer is an event of the log, or of a bundle."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from workspaced import replay
from workspaced_events.limits import JUDGEMENT_CHARS_MAX

from .conftest import CALL, PROMPT, WANTED, Cli


def test_a_bundle_gets_one_event_more_and_is_otherwise_the_same(morning: Path, cli: Cli) -> None:
    with replay.open(morning) as log:
        before, seq = list(log.events()), log.end.seq
    done = cli("judge", PROMPT, "wrong", morning, "--wanted", WANTED, "--why", "It moved.", "--json")
    assert json.loads(done.out) == {"of": PROMPT, "verdict": "wrong", "seq": seq + 1}
    with replay.open(morning) as log:
        *rest, judged = log.events()
        assert rest == before
        assert (judged.type, judged.data.of, judged.data.wanted, judged.data.why) == (
            *("answer_judged", PROMPT),
            *(WANTED, "It moved."),
        )
        assert {each.outcome for each in log.verify()} == {"same"}


def test_a_bundle_with_a_damaged_part_stays_as_it_was(morning: Path, cli: Cli) -> None:
    with zipfile.ZipFile(morning) as bundle:
        blob = next(each for each in bundle.infolist() if each.filename.startswith("blobs/"))
    damaged = bytearray(morning.read_bytes())
    begin = blob.header_offset + 30 + len(blob.filename)  # where its content lies
    damaged[begin : begin + 4] = b"\xff" * 4
    morning.write_bytes(damaged)
    done = cli("judge", PROMPT, "wrong", morning, "--wanted", WANTED)
    assert done.code == 4 and f"damaged: {blob.filename} cannot be read" in done.err
    assert morning.read_bytes() == damaged


REFUSED: list[tuple[tuple[Any, ...], str]] = [
    ((PROMPT, "wrong"), "Expected `wanted`"),
    ((PROMPT, "wrong", "--wanted", ""), "is empty"),
    ((PROMPT, "wrong", "--wanted", "x" * (JUDGEMENT_CHARS_MAX + 1)), "`$.wanted`"),
    ((PROMPT + 1, "right"), "usage_reported, no prompt and no call"),
    ((100_000, "right"), "holds no event 100000"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_cannot_be_judged_is_refused_and_changes_nothing(
    morning: Path, cli: Cli, arguments: tuple[Any, ...], said: str
) -> None:
    before = morning.read_bytes()
    done = cli("judge", *arguments[:2], morning, *arguments[2:])
    assert done.code == 2 and "[INVALID_ARGUMENT]" in done.err
    assert said in done.err
    assert morning.read_bytes() == before


def test_what_is_no_bundle_is_refused(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "log.jsonl").write_bytes(b'{"workspaced":"log","version":1}\n')
    done = cli("judge", CALL, "right", tmp_path / "log.jsonl")
    assert done.code == 2 and "is no bundle" in done.err


def test_a_redacted_bundle_takes_no_words_of_the_user(daemon: Any, tmp_path: Path, cli: Cli) -> None:
    running = daemon()
    with running.connect("agent") as agent:
        agent.tool("get_workspace_context", {})
        seq = agent.call("workspaced/calls")["calls"][-1]["seq"]
    bundle = tmp_path / "redacted.wsb"
    assert running.cli("bundle", "--redact", "-o", str(bundle)).returncode == 0
    done = cli("judge", seq, "wrong", bundle, "--wanted", "a.md")
    assert done.code == 2 and "is redacted" in done.err


@pytest.mark.thorough
def test_judgements_of_one_bundle_at_once_are_all_kept(morning: Path) -> None:
    command = [sys.executable, "-m", "workspaced", "judge", str(PROMPT), "wrong", "--json", "--wanted"]
    judging = [subprocess.Popen([*command, each, morning], stdout=subprocess.PIPE) for each in ("29", "July", "x")]
    said = [json.loads(each.communicate()[0])["seq"] for each in judging]
    with replay.open(morning) as log:
        judged = {event.seq: event.data.wanted for event in log.events() if event.type == "answer_judged"}
    assert sorted(said) == sorted(judged) and sorted(judged.values()) == ["29", "July", "x"]
