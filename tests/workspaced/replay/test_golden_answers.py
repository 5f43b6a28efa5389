"""Recorded answers and prompts are made again to the byte: in any process, and from what was checked in."""

import json
import subprocess
import sys
from typing import Any, Final

import pytest
from support import answers_world as world
from support.daemon import Factory

from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import ANSWER_VERSION

CALLS_MADE: Final = 3 * len(world.CALLS)
PLACES: Final = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "4242", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0"},
)
"""Seeds, zones and locales; where a locale is not installed, Python takes C."""
ANSWERS: Final = """
import sys
from pathlib import Path
from workspaced import replay
from workspaced_events.schema.codec import encode_event
with replay.open(Path(sys.argv[1])) as log:
    for made in log.verify():
        given = getattr(made, "answered", None)
        if given is None:
            import msgspec
            given = msgspec.json.encode(made.envelope)
        sys.stdout.buffer.write(b"%d %s %s\\n" % (made.seq, made.outcome.encode(), given))
"""


@pytest.fixture(scope="module")
def data(module_daemon: Factory) -> Any:
    """A daemon that ended after a whole session."""
    return world.session(module_daemon)


@pytest.mark.fault(row=15)
@pytest.mark.thorough
def test_row_15_answers_and_prompts_are_equal_bytes_under_any_seed_zone_and_locale(data: Any) -> None:
    def said(place: dict[str, str], *command: str) -> bytes:
        done = subprocess.run(
            [sys.executable, *command], env={**data.env, **place}, cwd=data.root, capture_output=True, timeout=60
        )
        assert done.returncode == 0 and done.stderr == b"", done.stderr[-4_000:]
        return done.stdout

    for command in (
        ("-c", ANSWERS, str(data.data)),
        ("-m", "workspaced", "replay", str(data.data), "--verify", "--json"),
        ("-m", "workspaced", "replay", str(data.data), "--json"),
    ):
        first, *others = (said(place, *command) for place in PLACES)
        assert first.count(b"\n") >= 1 and all(other == first for other in others), command
    made = [line.split(b" ", 2) for line in said(PLACES[0], "-c", ANSWERS, str(data.data)).splitlines()]
    assert len(made) == CALLS_MADE + 2 and {outcome for _, outcome, _ in made} == {b"same"}


@pytest.mark.fault(row=14)
@pytest.mark.parametrize("version", range(1, ANSWER_VERSION + 1))
def test_row_14_what_was_recorded_long_ago_is_made_again_to_the_byte(data: Any, version: int) -> None:
    done = data.cli("replay", str(world.GOLDEN / f"v{version}.wsb"), "--verify", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    calls, prompts = ([line for line in lines if key in line] for key in ("tool", "conversation"))
    expected = "same" if version == ANSWER_VERSION else "otherVersion"
    assert [line for line in calls if line["outcome"] != expected] == []
    assert {line["outcome"] for line in prompts} == {"same"} and len(prompts) == 2
    if version == ANSWER_VERSION:
        assert (len(calls), {line["tool"] for line in calls}) == (CALLS_MADE, set(TOOLS))
        assert done.returncode == 0
