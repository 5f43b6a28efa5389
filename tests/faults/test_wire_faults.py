"""Who may connect, and clients that send too slowly. Rows of the table; the others are in test_wire.py."""

import os
import select
import socket
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.another_user import NEEDS_ROOT, as_nobody
from support.daemon import ANSWER_S

from workspaced.ipc.socket_path import bind_socket
from workspaced.limits import PARTIAL_LINE_S


@pytest.mark.fault(row=29)
def test_row_29_a_socket_is_0600_in_the_call_that_makes_it(daemon: Any) -> None:
    path, modes = daemon.root() / "s", []

    def look(_frame: object, event: str, called: Any) -> None:
        if event == "c_return" and called.__name__ == "bind":
            modes.append(stat.S_IMODE(path.lstat().st_mode))

    before = os.umask(0)
    sys.setprofile(look)
    try:
        made = bind_socket(path)
    finally:
        sys.setprofile(None)
        os.umask(before)
    made.close()
    assert [*modes, stat.S_IMODE(path.lstat().st_mode)] == [0o600, 0o600]


@pytest.mark.fault(row=29)
@NEEDS_ROOT
@pytest.mark.parametrize("opened", [False, True], ids=["as it is made", "opened by somebody"])
def test_row_29_another_user_never_gets_a_byte(daemon: Any, opened: bool) -> None:
    running = daemon("--no-watch")
    os.chmod(running.root, 0o755)
    if opened:
        os.chmod(running.socket, 0o666)
    assert as_nobody(lambda: asked(running.socket)) == (b"end" if opened else b"refused")
    assert running.call("workspaced/status")["queues"]["connections"] == 1
    assert not any(event["type"] == "active_note_set" for event in running.call("workspaced/log")["events"])


def asked(path: Path) -> bytes:
    """What a publish gets: `refused` at connecting, `end` without a byte, or the bytes."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(60)
    try:
        made.connect(str(path))
    except PermissionError:
        return b"refused"
    request = b'{"jsonrpc":"2.0","id":1,"method":"workspaced/publish","params":{"actions":'
    with suppress(OSError):
        made.sendall(request + b'[{"type":"active_note_set","data":{"note":"a.md"}}]}}\n')
    try:
        return made.recv(10) or b"end"
    except ConnectionResetError:
        return b"end"


@pytest.mark.fault(row=28)
def test_row_28_a_hundred_and_fifty_half_sent_lines_are_dropped_in_time_however_they_dribble(daemon: Any) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    started = time.monotonic()
    half = [running.wire() for _ in range(150)]
    for wire in half:
        wire.send(b'{"jsonrpc":"2.0","id":1,"method":"')
    dribbling = half[:20]
    open_ones = {wire.socket for wire in half}
    while open_ones:
        for wire in dribbling:
            with suppress(OSError):  # a byte now and then buys no time
                wire.send(b"x")
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        readable, _, _ = select.select(list(open_ones), [], [], 0.2)
        for each in readable:
            with suppress(ConnectionResetError):
                if each.recv(4_096):
                    continue
            open_ones.discard(each)
        assert time.monotonic() - started < PARTIAL_LINE_S + ANSWER_S, f"{len(open_ones)} were kept"
    assert time.monotonic() - started > PARTIAL_LINE_S - 1
    assert client.call("workspaced/status")["queues"]["connections"] == 1
