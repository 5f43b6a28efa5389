"""Calls over the inspector's API: who asked what, the exact bytes, what was read, and whether it replays."""

import json
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.inspector import RECORDED, Inspector

from workspaced import replay
from workspaced.demo.morning import INSTALLED

READ = 31
"""A call of `get_workspace_context` that read notes."""


@pytest.fixture(scope="module")
def calls() -> dict[int, replay.Call]:
    """The same calls, as the library reads them."""
    with replay.open(RECORDED) as log:
        return {each.seq: each for each in log.calls()}


def listed(inspector: Inspector, **parameters: Any) -> list[int]:
    return [each["seq"] for each in inspector.get("/api/calls", **parameters)["calls"]]


class TestTheList:
    def test_gives_the_latest_calls_first_a_page_at_a_time(
        self, recorded: Inspector, calls: dict[int, replay.Call]
    ) -> None:
        pages: list[list[int]] = []
        before: int | None = None
        while before is not None or not pages:
            page = recorded.get("/api/calls", limit=20, **({"before": before} if before is not None else {}))
            pages.append([each["seq"] for each in page["calls"]])
            before = page["before"]
        assert [len(page) for page in pages] == [20, 20, 5]
        assert [seq for page in pages for seq in page] == sorted(calls, reverse=True)

    @pytest.mark.parametrize(
        ("filters", "fits"),
        [
            ({"tool": "search_workspace"}, lambda call: call.tool == "search_workspace"),
            ({"caller": "NAMES"}, lambda call: call.caller == "names"),
            ({"failed": True}, lambda call: not call.ok),
            ({"failed": True, "caller": "agent"}, lambda call: not call.ok and call.caller == "agent"),
            ({"tool": "none"}, lambda _call: False),
        ],
    )
    def test_takes_filters(
        self,
        recorded: Inspector,
        calls: dict[int, replay.Call],
        filters: dict[str, Any],
        fits: Callable[[replay.Call], bool],
    ) -> None:
        expected = sorted((seq for seq, call in calls.items() if fits(call)), reverse=True)
        assert listed(recorded, limit=100, **filters) == expected


class TestOneCall:
    def test_shows_the_answer_to_the_byte(self, recorded: Inspector) -> None:
        for seq in listed(recorded, limit=100):
            shown, saved = recorded.get(f"/api/calls/{seq}"), recorded.request("GET", f"/api/calls/{seq}/answer")
            assert shown["answer"].encode() == saved.content
            assert len(saved.content) == shown["bytes"] and shown["answerChars"] == len(shown["answer"])
            assert saved.headers["content-disposition"] == f'attachment; filename="call-{seq}.json"'

    def test_gives_each_question_with_its_answer_and_the_notes_texts(self, recorded: Inspector) -> None:
        read = recorded.get(f"/api/calls/{READ}/asked/0")
        assert [each["id"] for each in read["notes"]][:2] == ["b.md", "a.md"]
        assert "# Beta" in read["notes"][0]["text"]
        assert read["notes"][0]["bytes"] == len(read["notes"][0]["text"].encode())
        assert recorded.get(f"/api/calls/{READ}/asked/1") == {
            "question": "note_count",
            "asked": [],
            "answer": 4,
            "raised": None,
            "notes": [],
        }


class TestTheBadge:
    def test_is_that_of_the_library(self, recorded: Inspector, morning: Inspector) -> None:
        for inspector, file in ((recorded, RECORDED), (morning, INSTALLED)):
            with replay.open(file) as log:
                expected = {each.seq: each.verify().outcome.value for each in log.calls()}
            found = {seq: inspector.get(f"/api/calls/{seq}/badge")["outcome"] for seq in expected}
            assert found == expected
            assert set(found.values()) == {"same"}

    def test_shows_how_a_changed_answer_differs(self, inspect: Callable[..., Inspector], tmp_path: Path) -> None:
        changed = tampered(tmp_path / "changed.wsb")
        badge = inspect(changed).get(f"/api/calls/{READ}/badge")
        assert (badge["outcome"], badge["differs"]) == ("different", "answer")
        assert any(line.startswith("-") and "planted" in line for line in badge["difference"])
        assert badge["tookUs"] > 0

    def test_a_swept_recording_says_so_and_how_to_keep_it_longer(
        self, inspect: Callable[..., Inspector], tmp_path: Path
    ) -> None:
        inspector = inspect(swept(tmp_path / "swept.wsb"))
        badge, shown = inspector.get(f"/api/calls/{READ}/badge"), inspector.get(f"/api/calls/{READ}")
        assert badge["outcome"] == "notRecorded" and "swept" in badge["why"]
        assert (shown["answer"], shown["asked"]) == (None, None)
        assert "record_days" in shown["keepLonger"] and shown["bytes"] == 1541
        assert inspector.error(f"/api/calls/{READ}/answer") == (404, "NOT_RECORDED")
        assert not inspector.get("/api/calls", limit=100)["calls"][-1]["kept"]


# -- bundles with a changed call --


def tampered(file: Path) -> Path:
    """The bundle, in which another answer to the call was recorded."""

    with zipfile.ZipFile(RECORDED) as old, zipfile.ZipFile(file, "w") as new:
        event = called(old)
        before: str = event["data"]["resultSha256"]
        content = old.read(f"blobs/{before}").replace(b'"title":"Beta"', b'"title":"planted"')
        after = sha256(content).hexdigest()
        new.writestr(f"blobs/{after}", content)
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(before.encode(), after.encode()) if name == "log.jsonl" else data)
    return file


def swept(file: Path) -> Path:
    """The bundle without the answer of the call and without what it read."""

    with zipfile.ZipFile(RECORDED) as old, zipfile.ZipFile(file, "w") as new:
        data = called(old)["data"]
        gone = {f"blobs/{data['resultSha256']}", f"blobs/{data['inputsSha256']}"}
        for name in old.namelist():
            if name not in gone:
                new.writestr(name, old.read(name))
    return file


def called(bundle: Any) -> dict[str, Any]:
    events = map(json.loads, bundle.read("log.jsonl").splitlines()[1:])
    found: dict[str, Any] = next(each for each in events if each["seq"] == READ)
    return found
