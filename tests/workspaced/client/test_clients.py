"""The clients: connections that break are mended, and nothing is recorded twice."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from workspaced import Client, WorkspacedError, __version__, connect
from workspaced.errors import NoDaemon, RemoteError, TimedOut
from workspaced.limits import REQUEST_BYTES_MAX

LIMIT_S = 60


def looked_at(note: str) -> dict[str, Any]:
    return {"type": "active_note_set", "data": {"note": note}}


# -- sync --


def test_without_a_daemon_connecting_says_so(daemon: Any) -> None:
    with pytest.raises(NoDaemon) as raised:
        connect(daemon.root() / "none")
    assert raised.value.code == "NO_DAEMON" and "workspaced start DIR" in raised.value.hint


def test_every_error_is_one_of_ours_with_code_and_details(shared: Any) -> None:
    with shared.connect() as client:
        with pytest.raises(WorkspacedError) as raised:
            client.publish([looked_at("a.md"), looked_at("../x.md")])
        assert isinstance(raised.value, RemoteError)
        assert raised.value.code == "OUTSIDE_VAULT" and raised.value.details == {"index": 1}
        assert raised.value.hint and client.state(), "the connection goes on"


def names_both_versions(error: RemoteError) -> bool:
    return error.code == "UNKNOWN_METHOD" and all(
        words in error.hint for words in ("version 9.9.9", f"this client {__version__}", "`workspaced stop`")
    )


@pytest.mark.fault(row=64)
def test_row_64_a_method_that_the_daemon_does_not_know_is_refused_with_both_versions(shared: Any) -> None:
    with shared.connect() as client:
        client.server["version"] = "9.9.9"
        with pytest.raises(RemoteError) as raised:
            client.call("workspaced/of-another-version")
    assert names_both_versions(raised.value), raised.value.hint


def test_a_request_over_the_limit_is_refused_as_such(shared: Any) -> None:
    with shared.connect() as client:
        huge = {"type": "selection_changed", "data": {"note": "a.md", "text": "x" * REQUEST_BYTES_MAX}}
        with pytest.raises(WorkspacedError) as raised:
            client.publish([huge])
        assert raised.value.code == "LINE_TOO_LARGE"
        with pytest.raises(WorkspacedError) as raised:
            client.call("workspaced/state", {"vault": "half \ud83d"})
        assert raised.value.code == "INVALID_ARGUMENT" and "surrogate" in str(raised.value)
        assert client.state()


def test_the_sync_client_connects_anew_after_a_crash_and_records_once(daemon: Any) -> None:
    running = daemon()
    client = running.connect()
    client.publish([looked_at("a.md")])
    first = client.server["instance"]
    running.kill()
    with pytest.raises(NoDaemon):
        client.state()
    running.start()
    (receipt,) = client.publish([looked_at("b.md")])
    assert not receipt["duplicate"] and client.server["instance"] != first


def test_an_answer_that_does_not_come_is_a_timeout(shared: Any) -> None:
    with connect(shared.socket, timeout_s=1) as client:  # half of what that call waits
        with pytest.raises(TimedOut):
            client.call("workspaced/state", {"minSeq": 10**9})
        assert client.state(), "the late answer is not taken for this one"


def test_sync_events_stream_and_end_with_the_daemon(daemon: Any) -> None:
    running = daemon()
    clock = running.connect().server["clock"]
    running.connect().publish([looked_at("a.md")])
    notices = running.connect().events(since=clock, types=["active_note_set"])
    assert next(notices).params["events"][0]["data"] == {"note": "a.md"}
    running.stop()
    with pytest.raises(NoDaemon):
        next(notices)


# -- async --


@pytest.mark.fault(row=64)
async def test_the_async_client_does_what_the_sync_one_does(shared: Any) -> None:
    with anyio.fail_after(LIMIT_S):
        async with Client.open(shared.socket, name="async") as client:
            assert client.server["workspace"] == "default"
            (receipt,) = await client.publish([looked_at("a.md")])
            state = await client.state()
            assert state["seq"] >= receipt["seq"] and state["activeNote"]["id"] == "a.md"
            assert (await client.tool("get_current_note"))["data"]["id"] == "a.md"
            assert await client.state(at=0) != state
            with pytest.raises(RemoteError) as raised:
                client.server["version"] = "9.9.9"
                await client.call("workspaced/nothing")
            assert names_both_versions(raised.value), raised.value.hint


async def test_an_error_in_the_callers_block_comes_out_as_it_is(shared: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        async with Client.open(shared.socket):
            raise ZeroDivisionError


async def test_a_subscription_is_a_stream_of_notices(shared: Any) -> None:
    with anyio.fail_after(LIMIT_S):
        async with Client.open(shared.socket) as client, client.subscribe() as notices:
            sent = [(await client.publish([looked_at(f"n{number}.md")]))[0]["seq"] for number in range(20)]
            seen: list[int] = []
            while not seen or seen[-1] < sent[-1]:
                seen += [event["seq"] for event in (await notices.receive()).params["events"]]
            # A record of an earlier test's call may come first.
            assert [seq for seq in seen if seq >= sent[0]] == list(range(sent[0], sent[-1] + 1))


async def test_it_reconnects_after_a_crash_and_shows_its_view_again(daemon: Any) -> None:
    running = daemon()
    with anyio.fail_after(LIMIT_S):
        async with Client.open(running.socket, name="editor") as client:
            await client.show(active="a.md", pins=["b.md"], tabs=[{"note": "c.md"}])
            instance = client.server["instance"]
            running.kill()
            await anyio.to_thread.run_sync(running.start)
            with running.connect() as other:
                other.publish([{"type": "active_note_cleared"}], source="editor")
            state = await client.state()
            while client.server["instance"] == instance:
                state = await client.state()
            assert [pin["id"] for pin in state["pinnedNotes"]] == ["b.md"]


async def test_a_burst_of_views_is_the_first_and_the_newest(shared: Any) -> None:
    with anyio.fail_after(LIMIT_S):
        async with Client.open(shared.socket, name="bursting") as client:
            answers: list[Any] = []

            async def show(number: int) -> None:
                answers.append(await client.show(active=f"n{number % 100}.md", focused=True))

            async with anyio.create_task_group() as tasks:
                for number in range(200):
                    tasks.start_soon(show, number)
            events = await client.call("workspaced/log", {"types": ["active_note_set"], "limit": 10_000})
            shown = [each["data"]["note"] for each in events["events"] if each["source"] == "bursting"]
            assert shown[-1] == "n99.md" and len(shown) <= 2 and len(answers) == 200 and all(answers)
            with pytest.raises(RemoteError):
                await client.show(active="../outside.md")
            assert await client.show(active="n5.md")


async def test_while_no_daemon_runs_a_call_times_out_and_the_client_lives_on(daemon: Any) -> None:
    running = daemon()
    with anyio.fail_after(LIMIT_S):
        async with Client.open(running.socket, timeout_s=1) as client:
            running.kill()
            with pytest.raises((TimedOut, NoDaemon)):
                while True:
                    await client.state()
            with pytest.raises(TimedOut):
                await client.publish([looked_at("a.md")])
            await anyio.to_thread.run_sync(running.start)
            while True:
                try:
                    state = await client.state()
                    break
                except (TimedOut, NoDaemon):
                    continue
            assert state["seq"] > 0


async def test_a_subscription_ends_with_its_connection_and_resumes_without_a_loss(daemon: Any) -> None:
    running = daemon()
    with anyio.fail_after(LIMIT_S):
        async with Client.open(running.socket) as client:
            async with client.subscribe() as notices:
                await client.publish([looked_at("a.md")])
                clock = (await notices.receive()).params["clock"]
                running.kill()
                with pytest.raises(anyio.EndOfStream):
                    await notices.receive()
            await anyio.to_thread.run_sync(running.start)
            await client.publish([looked_at("b.md")])
            async with client.subscribe(since=clock, types=["active_note_set"]) as notices:
                (event,) = (await notices.receive()).params["events"]
                assert event["data"] == {"note": "b.md"}


async def test_a_view_the_daemon_refuses_after_a_restart_does_not_end_the_client(daemon: Any) -> None:
    running = daemon()
    with anyio.fail_after(LIMIT_S):
        async with Client.open(running.socket, name="editor") as client:
            await client.show(active="a.md")
            for number in range(5):
                await client.publish([looked_at(f"n{number}.md")])
            running.kill()
            (segment,) = (running.data / "log").glob("*.wlog")
            content = bytearray(segment.read_bytes())
            content[content.index(b"n2.md")] ^= 4
            segment.write_bytes(content)
            await anyio.to_thread.run_sync(running.start)  # read-only now
            while True:
                try:
                    state = await client.state()
                    break
                except (NoDaemon, TimedOut):
                    continue
            assert state["activeNote"]["id"] == "n1.md"
            with pytest.raises(RemoteError) as raised:
                await client.publish([looked_at("b.md")])
            assert raised.value.code == "LOG_READ_ONLY"
