"""A log that grows: what pages are told of it, and the life of the inspector's process."""

import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.daemon import Daemon
from support.inspector import Inspector, over_recorded

from workspaced.inspector.server import Idle
from workspaced.inspector.tail import DaemonLink, Grew, Tail
from workspaced.limits import HTTP_DRAIN_S


def look_at(client: Any, note: str, source: str = "editor") -> int:
    """Shows a note; returns the event's sequence."""
    (receipt,) = client.publish([{"type": "active_note_set", "data": {"note": note}}], source=source)
    return int(receipt["seq"])


def follow(daemon: Daemon) -> Inspector:
    return Inspector("--socket", daemon.socket, env=daemon.env)


class TestALogThatGrows:
    def test_an_event_comes_to_the_page_and_into_every_view(self, shared: Any, client: Any) -> None:
        with follow(shared) as inspector, inspector.tail() as tail:
            assert tail.until("opened")["grows"]
            tail.until("daemon", connected=True)
            seq = look_at(client, "a.md")
            assert tail.until("grew")["last"] >= seq
            (shown,) = inspector.get("/api/events", **{"from": seq, "limit": 1})["events"]
            assert (shown["who"], shown["sentence"], shown["notes"]) == ("editor", "opened a.md", ["a.md"])
            assert inspector.get("/api/state")["state"]["activeNote"]["id"] == "a.md"

    @pytest.mark.thorough
    def test_a_daemon_that_stops_and_starts_is_followed_on(self, daemon: Any) -> None:
        running = daemon()
        with follow(running) as inspector, inspector.tail() as tail:
            tail.until("daemon", connected=True)
            assert running.stop() == 0
            assert "goes on when it is back" in tail.until("daemon", connected=False)["why"]
            running.start()
            tail.until("daemon", connected=True)
            with running.connect() as client:
                seq = look_at(client, "b.md")
            while tail.until("grew")["last"] < seq:
                pass
            kinds = [each["type"] for each in inspector.get("/api/events")["events"]]
            assert kinds[-1] == "active_note_set"
            assert {"daemon_stopped", "daemon_started"} <= set(kinds)

    @pytest.mark.thorough
    def test_another_log_at_the_same_socket_is_read_anew(self, daemon: Any) -> None:
        running = daemon()
        with running.connect() as client:
            look_at(client, "a.md")
        with follow(running) as inspector, inspector.tail() as tail:
            tail.until("daemon", connected=True)
            assert running.stop() == 0
            (running.data / "log").rename(running.data / "elsewhere")
            running.start()
            tail.until("opened")
            tail.until("daemon", connected=True)
            assert "active_note_set" not in [each["type"] for each in inspector.get("/api/events")["events"]]


class TestTheEndOfTheProcess:
    def test_ctrl_c_ends_at_once_with_open_pages(self, tmp_path: Path) -> None:
        def seconds() -> float:
            with over_recorded(tmp_path) as inspector, ExitStack() as pages:
                tails = [pages.enter_context(inspector.tail()) for _ in range(3)]
                for tail in tails:
                    tail.until("opened")
                began = time.monotonic()
                inspector.process.send_signal(signal.SIGINT)
                assert [tail.next() for tail in tails] == [None] * 3
                assert (inspector.wait(), inspector.stderr) == (130, [])
                return time.monotonic() - began

        assert any(seconds() < HTTP_DRAIN_S for _ in range(5)), "after that the pages are cut off"

    async def test_it_ends_after_its_last_page_whatever_else_is_open(self) -> None:
        leaving, entered, ended = anyio.Event(), anyio.Event(), anyio.Event()

        async def open_until_left(scope: Any, _receive: Any, _send: Any) -> None:
            entered.set()
            await (leaving.wait() if scope["path"] == "/api/tail" else anyio.sleep_forever())

        idle = Idle(open_until_left, after_s=0.01)

        async def wait_for_end() -> None:
            await idle.over()
            ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(idle, {"path": "/static/app.js"}, None, None)  # asks no question
            tasks.start_soon(idle, {"path": "/api/tail"}, None, None)
            await entered.wait()
            tasks.start_soon(wait_for_end)
            with anyio.move_on_after(0.1):  # ten times as long as nothing may be open
                await ended.wait()
            assert not ended.is_set()
            leaving.set()
            with anyio.fail_after(60):
                await ended.wait()
            tasks.cancel_scope.cancel()


class TestManyPages:
    async def test_a_page_that_does_not_read_is_told_the_latest_of_each_kind(self) -> None:
        tail = Tail()
        with tail.page() as page:
            for last in range(1, 1_000):
                tail.tell(Grew(last))
                tail.tell(DaemonLink(connected=last % 2 == 0))
            assert [await page.next(), await page.next()] == [
                b'event: grew\ndata: {"last":999}\n\n',
                b'event: daemon\ndata: {"connected":false,"why":""}\n\n',
            ]
