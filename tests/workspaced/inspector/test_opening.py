"""An inspector over logs that take long to open or fold, and over logs that are not whole."""

import re
import shutil
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import anyio
import anyio.lowlevel
import pytest
from support import TESTS, process
from support.inspector import RECORDED, Inspector
from support.random_log import random_log
from support.stored_logs import as_directory, as_export

from workspaced.inspector.inspected import Inspected
from workspaced.inspector.inspecting import OpenLog
from workspaced.inspector.subject import Subject
from workspaced_events.errors import LogUnreadable
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.replay import kept_folds
from workspaced_events.schema.codec import encode_event

LOGS = TESTS / "data" / "logs"
EVENTS = random_log(3, 60)


# -- folding --


@pytest.fixture
def short_stretches() -> Iterator[None]:
    """A log of 60 events is folded in 12 steps."""
    with patch.object(kept_folds, "STATE_STRIDE_EVENTS", 5), patch.object(kept_folds, "VISITS_STRIDE_EVENTS", 20):
        yield


def opened(path: Path, use: Callable[[OpenLog], Awaitable[None]]) -> None:
    """Runs `use` with the log, which opens and folds beside it."""

    async def run() -> None:
        with anyio.fail_after(30), OpenLog(Subject(path, "a log", "directory"), lambda _done, _of: None) as log:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(log.open)
                await use(log)
                tasks.cancel_scope.cancel()

    anyio.run(run)


def nothing(_inspected: Inspected) -> None:
    """A view that needs no fold."""


def last_state(inspected: Inspected) -> WorkspaceState:
    return inspected.log.end.state


@pytest.mark.usefixtures("short_stretches")
def test_views_are_answered_while_a_log_is_folded(tmp_path: Path) -> None:
    seen: list[int] = []

    async def look(log: OpenLog) -> None:
        while not seen or seen[-1] < len(EVENTS):
            seen.append((await log.read(lambda inspected: inspected.log.folded))[0])

    opened(as_directory(tmp_path / "data", EVENTS), look)
    steps = dict.fromkeys(seen)
    assert len(steps) > 5, "nobody waits for more than a step or two"


@pytest.mark.usefixtures("short_stretches")
def test_a_view_that_needs_more_than_is_folded_gets_it_and_holds_up_no_other(tmp_path: Path) -> None:
    async def look(log: OpenLog) -> None:
        answers: list[object] = []

        async def ask_for_the_end() -> None:
            answers.append(await log.read(last_state))

        await log.read(nothing)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_for_the_end)
            await anyio.lowlevel.checkpoint()  # now it has asked
            await log.read(nothing)
            answers.append("another view")
        assert answers == ["another view", fold_all(EVENTS, EMPTY)]

    opened(as_directory(tmp_path / "data", EVENTS), look)


@pytest.mark.usefixtures("short_stretches")
def test_whoever_waits_for_a_fold_is_refused_when_the_inspector_ends(tmp_path: Path) -> None:
    async def look(log: OpenLog) -> None:
        await log.read(nothing)
        log.end()
        with pytest.raises(LogUnreadable, match="ends"):
            await log.read(last_state)

    opened(as_directory(tmp_path / "data", EVENTS), look)


# -- logs that are not whole --


def directory_with_a_flipped_bit(place: Path) -> Path:
    shutil.copytree(LOGS / "v1", place)
    segment = min((place / "log").glob("*.wlog"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    return place


def export_that_is_cut_off(place: Path) -> Path:
    whole = (LOGS / "v1.jsonl").read_bytes()
    place.write_bytes(whole[: len(whole) // 2])
    return place


def bundle_without_its_last_events(place: Path) -> Path:
    return _rewritten(place, lambda name, content: _lines(content, 20) if name == "log.jsonl" else content)


def _lines(content: bytes, count: int) -> bytes:
    return b"".join(content.splitlines(keepends=True)[:count])


def _rewritten(place: Path, change: Callable[[str, bytes], bytes]) -> Path:
    with zipfile.ZipFile(RECORDED) as recorded_there, zipfile.ZipFile(place, "w") as written:
        for name in recorded_there.namelist():
            written.writestr(name, change(name, recorded_there.read(name)))
    return place


@pytest.mark.parametrize(
    ("damaged", "place", "repair"),
    [
        (
            directory_with_a_flipped_bit,
            r"log/0+1\.wlog is damaged at offset \d+.* sequences 14 to 27",
            "log salvage",
        ),
        (export_that_is_cut_off, r"line \d+: no event", "Ask for the file again"),
        (bundle_without_its_last_events, r"log.jsonl ends before event \d+", "Ask for it again"),
    ],
)
def test_a_damaged_log_is_shown_up_to_its_damage_and_says_where_that_is(
    inspect: Callable[..., Inspector], tmp_path: Path, damaged: Callable[[Path], Path], place: str, repair: str
) -> None:
    inspector = inspect(damaged(tmp_path / "a log"))
    about = inspector.get("/api/about")
    assert inspector.get("/api/state")["seq"] == about["last"] > 0
    assert about["damage"]["code"] == "LOG_DAMAGED"
    assert re.search(place, about["damage"]["message"])
    assert repair in about["damage"]["hint"]


def test_a_bundle_of_which_nothing_can_be_read_is_refused_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "cut.wsb").write_bytes(RECORDED.read_bytes()[:5_000])
    done = process.run("inspect", tmp_path / "cut.wsb", "--no-browser")
    assert done.returncode == 4
    assert b"LOG_DAMAGED" in done.stderr and b"Ask for it again." in done.stderr


def test_a_directory_that_was_moved_is_said_to_be_and_not_to_lack_recordings(
    inspect: Callable[..., Inspector], tmp_path: Path
) -> None:
    place = shutil.copytree(LOGS / "v1", tmp_path / "a log")
    inspector = inspect(place)
    assert inspector.get("/api/about")["events"] > 0
    place.rename(tmp_path / "elsewhere")
    for path in ("/api/about", "/api/calls", "/api/state"):
        answer = inspector.request("GET", path)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "LOG_UNREADABLE")
        assert "is not there any more: it was moved or deleted" in error["message"]
    (tmp_path / "elsewhere").rename(place)
    assert inspector.get("/api/about")["events"] > 0


def test_events_that_only_a_newer_version_knows_are_counted(
    inspect: Callable[..., Inspector], tmp_path: Path
) -> None:
    place = as_export(tmp_path / "newer.jsonl", EVENTS)
    event = encode_event(EVENTS[-1]).replace(b'"seq":60,', b'"seq":61,')
    newer = re.sub(rb'"type":"\w+"', b'"type":"moon_rose"', event)
    with place.open("ab") as file:
        file.write(newer + b"\n")
    inspector = inspect(place)
    assert inspector.get("/api/about")["newerEvents"] == 1
    assert inspector.get("/api/events", **{"from": 61})["events"][0]["type"] == "moon_rose"
