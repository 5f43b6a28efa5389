"""Who may open the link, how much they may send, and what it leaves on the disk."""

import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.editor_link import TOKEN, Link, opened
from websockets.exceptions import ConnectionClosed, InvalidStatus

from workspaced.editor_link.lock_files import announced
from workspaced.limits import (
    LINK_BATCH_MAX,
    LINK_CONNECTIONS_MAX,
    LINK_MESSAGE_BYTES_MAX,
    LINK_OPEN_S,
    LINK_SESSIONS_MAX,
)

from .conftest import NOTES


@pytest.fixture(scope="module")
def link(module_daemon: Any) -> Iterator[Link]:
    """One for all who are refused or hostile: it serves Claude after each of them."""
    world = module_daemon(notes=NOTES)
    world.publish("active_note_set", note="Plan.md")
    with Link(world) as running:
        yield running


def refused(link: Link, **changes: Any) -> int:
    """The status of a connection that is refused."""
    with pytest.raises(InvalidStatus) as caught, opened(link, **changes):
        pass
    return caught.value.response.status_code


def is_served(link: Link) -> bool:
    with link.claude() as claude:
        return claude.told()["filePath"].endswith("Plan.md")


def answer_to(link: Link, **handshaken: Any) -> bytes:
    with socket.create_connection(("127.0.0.1", link.port)) as bare:
        bare.sendall(handshake(link, **handshaken))
        return bare.recv(4_096)


@pytest.mark.fault(row=71)
class TestOnlyWhoReadTheLockFileIsServed:
    @pytest.mark.parametrize("token", ["", "wrong", "ä", "0" * 64])
    def test_with_its_token(self, link: Link, token: str) -> None:
        assert refused(link, headers={TOKEN: token}) == 401
        assert answer_to(link, token=None).startswith(b"HTTP/1.1 401 ")
        assert is_served(link)

    def test_and_no_page_in_a_browser_even_with_it(self, link: Link) -> None:
        for origin in ("https://example.org", "null", f"http://127.0.0.1:{link.port}"):
            assert refused(link, origin=origin) == 403
        assert is_served(link)

    def test_by_this_machines_name(self, link: Link) -> None:
        for host in ("example.org", "127.0.0.1", f"127.0.0.1.example.org:{link.port}", f"[::1]:{link.port}"):
            assert answer_to(link, host=host).startswith(b"HTTP/1.1 403 ")

    def test_with_or_without_the_subprotocol_on_the_loopback_interface_alone(self, link: Link) -> None:
        with opened(link) as chosen, opened(link, subprotocols=None) as none:
            assert (chosen.subprotocol, none.subprotocol) == ("mcp", None)

        def bound(table: str) -> set[str]:
            listening = [line.split()[1] for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
            return {each for each in listening if each.endswith(f":{link.port:04X}")}

        assert (bound("tcp") & {f"0100007F:{link.port:04X}", f"00000000:{link.port:04X}"}, bound("tcp6")) == (
            {f"0100007F:{link.port:04X}"},
            set(),
        )


def handshake(link: Link, *, host: str | None = None, token: str | None = "") -> bytes:
    lines = [
        "GET / HTTP/1.1",
        f"Host: {host or f'127.0.0.1:{link.port}'}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ]
    if token is not None:
        lines.append(f"{TOKEN}: {token or link.lock['authToken']}")
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.fault(row=71)
class TestAHostileSession:
    def test_with_a_huge_message_is_ended(self, link: Link) -> None:
        with opened(link) as hostile, pytest.raises(ConnectionClosed) as caught:
            hostile.send("x" * (LINK_MESSAGE_BYTES_MAX + 1))
            hostile.recv(10)
        assert caught.value.rcvd is not None and caught.value.rcvd.code == 1009
        assert is_served(link)

    @pytest.mark.parametrize(
        ("message", "code"),
        [
            ("{", -32700),
            ("[" * 100_000, -32700),
            ("[]", -32600),
            ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
            ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
            ('{"jsonrpc":"2.0","id":"\\ud800","method":"no"}', -32601),
            (json.dumps([{"id": 1, "method": "ping"}] * (LINK_BATCH_MAX + 1)), -32600),
            ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["a"]}}', -32602),
            ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', -32602),
        ],
    )
    def test_with_a_wrong_message_gets_an_error_and_goes_on(
        self, link: Link, message: str | bytes, code: int
    ) -> None:
        with opened(link) as hostile:
            hostile.send(message)
            assert json.loads(hostile.recv(10))["error"]["code"] == code
            hostile.send('{"jsonrpc":"2.0","id":2,"method":"ping"}')
            assert json.loads(hostile.recv(10)) == {"jsonrpc": "2.0", "id": 2, "result": {}}
            hostile.send(json.dumps([{"id": 1, "method": "ping"}, {"method": "x"}, {"id": 2, "method": "ping"}]))
            assert [each["id"] for each in json.loads(hostile.recv(10))] == [1, 2], "a batch is answered as one"

    def test_is_told_nothing_before_it_has_said_hello(self, world: Any) -> None:
        with Link(world) as link, opened(link) as session:
            world.publish("active_note_set", note="Budget.md")
            with pytest.raises(TimeoutError):
                session.recv(0.3)

    @pytest.mark.thorough
    def test_of_many_that_say_nothing_none_keeps_claude_out_for_long(self, link: Link) -> None:
        with ExitStack() as stack:
            idle = [
                stack.enter_context(socket.create_connection(("127.0.0.1", link.port), LINK_OPEN_S + 10))
                for _ in range(LINK_CONNECTIONS_MAX + 36)
            ]
            for each in idle:
                with suppress(ConnectionResetError):
                    each.recv(1)
            assert is_served(link)

    def test_that_does_not_read_keeps_no_other_waiting(self, world: Any) -> None:
        with Link(world) as link, link.claude(), link.claude() as reading, world.connect() as client:
            assert reading.told()
            for number in range(200):
                data = {"note": "Plan.md", "startLine": 1, "endLine": 1, "text": f"{number} " + "x" * 900}
                client.publish([{"type": "selection_changed", "data": data}])
            while not reading.told()["text"].startswith("199 "):
                pass

    def test_no_more_than_so_many_are_served_at_once(self, link: Link) -> None:
        with ExitStack() as stack:
            for _ in range(LINK_SESSIONS_MAX):
                stack.enter_context(link.claude())
            assert [refused(link) for _ in range(50 - LINK_SESSIONS_MAX)] == [503] * (50 - LINK_SESSIONS_MAX)
        assert is_served(link)


@pytest.mark.fault(row=71)
class TestTheLockFile:
    def test_is_its_users_alone_and_says_what_claude_looks_for(self, world: Any, tmp_path: Path) -> None:
        folder = Path(world.env["HOME"]) / ".claude" / "ide"
        with Link(world, "--folder", str(tmp_path)) as link:
            assert link.path == folder / f"{link.port}.lock" and 10_000 <= link.port <= 65_535
            assert stat.S_IMODE(link.path.stat().st_mode) == 0o600
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert len(bytes.fromhex(link.lock.pop("authToken"))) >= 16
            assert link.lock == {
                "pid": link.process.pid,
                "workspaceFolders": [str(world.vault), str(tmp_path.resolve())],
                "ideName": "workspaced",
                "transport": "ws",
            }
            assert [path.name for path in folder.iterdir()] == [link.path.name]
        none_meant = world.cli("ide", "--socket", str(world.socket), "--vault", "/nowhere")
        assert none_meant.returncode == 2 and str(world.vault) in none_meant.stderr
        assert world.cli("ide", "--socket", str(world.root / "nobody")).returncode == 3
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        assert world.cli("ide").returncode == 2 and not [*folder.iterdir()], "not where others may write"

    def test_of_anybody_else_stays(self, world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = Path(world.env["HOME"]) / ".claude" / "ide"
        folder.mkdir(parents=True, mode=0o700)
        child = process.spawn("--version", env=dict(os.environ))
        child.wait(60)
        ours = {"pid": child.pid, "workspaceFolders": [], "ideName": "workspaced", "authToken": ""}
        others = {
            "10001.lock": json.dumps({**ours, "ideName": "Code"}),
            "10002.lock": json.dumps({**ours, "pid": os.getpid()}),
            "10003.lock": "not JSON",
            "10004.lock": "x" * 100_000,
            "10005.txt": json.dumps(ours),
        }
        for name, text in others.items():
            (folder / name).write_text(text)
        (folder / "10006.lock").symlink_to(folder / "10001.lock")
        (folder / "10007.lock").mkdir()
        before = {path.name for path in folder.iterdir()}
        with Link(world) as link:
            assert {path.name for path in folder.iterdir()} == {*before, link.path.name}
        monkeypatch.setenv("HOME", world.env["HOME"])
        with pytest.raises(FileExistsError), announced(10_003, ["/notes"], "token"):
            pass  # the port of another editor
        with announced(10_008, ["/notes"], "token") as path:
            path.unlink()
            path.write_text("another editor's, in its place")
        assert path.read_text() == "another editor's, in its place"
        path.unlink()
        assert {path.name for path in folder.iterdir()} == before
        assert {name: (folder / name).read_text() for name in others} == others

    @pytest.mark.parametrize(
        ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)], ids=str
    )
    def test_goes_with_the_link(self, world: Any, number: int, code: int) -> None:
        with Link(world) as link, link.claude():
            assert link.stop(number) == code
            assert not link.path.exists()

    def test_of_one_that_was_killed_goes_with_the_next_start(self, world: Any) -> None:
        with Link(world) as first:
            first.stop(signal.SIGKILL)
            assert first.path.exists() and links_found(world) == ["warning"]
            with Link(world) as second:
                assert [path.name for path in first.path.parent.glob("*.lock")] == [second.path.name]
                assert is_served(second) and links_found(world) == ["ok"]


def links_found(world: Any) -> list[str]:
    """What `workspaced doctor` finds of links."""
    findings = json.loads(world.cli("doctor", "--json").stdout)
    return [each["level"] for each in findings if each["about"] == "link of Claude Code"]
