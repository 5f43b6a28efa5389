"""`workspaced log backup`: a copy of a log that is written meanwhile, and what a daemon makes of it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TEXT = "words of a long message\n" * 500


def start(client: Any) -> None:
    settings = {"provider": "anthropic", "model": "m", "contextWindow": 1_000_000, "outputReserve": 1_000}
    client.call("workspaced/context/start", {"conversation": "talk", **settings})


def tell(client: Any, text: str) -> None:
    """Records a message, whose text is kept as a blob."""
    message = {"id": text.partition(" ")[0], "role": "user", "text": text}
    client.call("workspaced/context/message", {"conversation": "talk", "messages": [message]})


@contextmanager
def written_meanwhile(running: Any) -> Iterator[None]:
    """Has messages, each with a text of its own, and calls recorded all the time."""
    ended = threading.Event()

    def write() -> None:
        with running.connect("writer") as client:
            start(client)
            number = 0
            while not ended.is_set():
                number += 1
                tell(client, f"{number} {TEXT}")
                client.tool("get_current_note")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


def events(running: Any, data: Path) -> list[str]:
    done = running.cli("log", "export", "--data-dir", str(data))
    assert done.returncode == 0, done.stderr
    lines: list[str] = done.stdout.splitlines()[1:]
    return lines


def test_a_copy_of_a_log_that_is_written_meanwhile_is_whole_and_goes_on(daemon: Any) -> None:
    running = daemon()
    with running.connect("agent") as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        client.tool("get_current_note")
    with written_meanwhile(running):
        made = []
        for number in range(5):
            done = running.cli("log", "backup", str(running.root / f"copy{number}"), "--json")
            assert done.returncode == 0, done.stderr
            made.append(json.loads(done.stdout))
    assert made[0]["lastSeq"] < made[-1]["lastSeq"], "it was written meanwhile"
    assert running.stop() == 0
    whole = events(running, running.data)
    for each in made:
        copy = Path(each["output"])
        assert events(running, copy) == whole[: each["lastSeq"]]
        assert running.cli("log", "verify", "--data-dir", str(copy)).returncode == 0
        verified = running.cli("replay", str(copy), "--verify")
        assert verified.returncode == 0, verified.stdout + verified.stderr
        assert copy.stat().st_mode & 0o077 == 0
    running.data.rename(running.root / "lost")
    copy.rename(running.data)
    running.start()
    with running.connect("agent") as client:
        assert client.tool("get_current_note")["success"]
        log = client.call("workspaced/log", {"from": made[-1]["lastSeq"], "limit": 100})["events"]
    assert "log_recovered" not in {event["type"] for event in log}, "nothing in it was torn"


def test_a_text_that_is_missing_in_the_log_is_told(daemon: Any) -> None:
    running = daemon()
    with running.connect() as client:
        start(client)
        tell(client, TEXT)
    assert running.stop() == 0
    for each in (running.data / "blobs").rglob("*"):
        if each.is_file():
            each.unlink()
    done = running.cli("log", "backup", str(running.root / "copy"), "--data-dir", str(running.data))
    assert done.returncode == 4, done.stderr


@pytest.mark.parametrize("where", ["data/inside", "full", "file"])
def test_it_goes_to_a_new_folder_only(daemon: Any, where: str) -> None:
    running = daemon()
    (running.root / "full" / "x").mkdir(parents=True)
    (running.root / "file").touch()
    to = running.data / "inside" if where == "data/inside" else running.root / where
    done = running.cli("log", "backup", str(to))
    assert done.returncode == 2 and "no new folder" in done.stderr


def test_half_a_line_of_the_log_is_not_copied(daemon: Any) -> None:
    running = daemon()
    running.publish("active_note_set", note="a.md")
    assert running.stop() == 0
    whole = events(running, running.data)
    [segment] = (running.data / "log").glob("*.wlog")
    line = segment.read_bytes().splitlines()[-1]
    with segment.open("ab") as log:
        log.write(line[: len(line) // 2])
    copy = running.root / "copy"
    done = running.cli("log", "backup", str(copy), "--data-dir", str(running.data))
    assert done.returncode == 0, done.stderr
    assert events(running, copy) == whole
    assert (copy / "log" / segment.name).read_bytes().endswith(line + b"\n")
