"""`workspaced hook RUNTIME`: reads a hook's JSON from standard input, asks the daemon what to tell the agent, and
writes the runtime's answer.

It is never in the way: whatever fails, it prints nothing and exits with 0, at the latest after GIVE_UP_S. It
starts no daemon. The prompt and the transcript's path never leave this process.

Imports only a small part of the standard library, because it runs at every prompt.
"""

import fcntl
import json
import os
import signal
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ..discovery.records import running, serving
from ..ipc.peer import open_socket
from .runtimes import RUNTIMES, Moment, moment

GIVE_UP_S: Final = 0.5
TIMEOUT_S_MAX: Final = 60.0
INPUT_BYTES_MAX: Final = 1024 * 1024
"""A longer input is read to its end, so that the runtime is not kept waiting, and not answered."""
_CHUNK_BYTES: Final = 64 * 1024


class HookTarget(NamedTuple):
    """The runtime that a hook was installed for, and the daemon that it asks."""

    runtime: str
    vaults: tuple[str, ...] = ()
    """Folders that the hook was installed for: asked about where the agent works in no served folder."""
    socket_path: str | None = None
    workspace: str | None = None
    timeout_s: float = GIVE_UP_S


def target_of(arguments: Sequence[str]) -> HookTarget | None:
    """Parses plain arguments; None if there are others, which the full command line handles."""
    names = {
        "--socket": "socket_path",
        "--workspace": "workspace",
        "--vault": "vaults",
        "--timeout": "timeout",
    }
    found: dict[str, list[str]] = {name: [] for name in names.values()}
    words, rest = list[str](), list(arguments)
    while rest:
        option, equals, value = rest.pop(0).partition("=")
        if option not in names:
            words.append(option)
        elif equals or rest:
            found[names[option]].append(value if equals else rest.pop(0))
        else:
            return None
    if len(words) != 1 or words[0] not in RUNTIMES or not all(map(_is_timeout, found["timeout"])):
        return None
    last = {name: values[-1] for name, values in found.items() if values}
    timeout_s = float(last.get("timeout", GIVE_UP_S))
    vaults = tuple(found["vaults"])
    return HookTarget(words[0], vaults, last.get("socket_path"), last.get("workspace"), timeout_s)


def _is_timeout(text: str) -> bool:
    try:
        return 0 < float(text) <= TIMEOUT_S_MAX
    except ValueError:
        return False


def run(target: HookTarget) -> int:
    """Answers one hook; returns 0."""
    for number in (signal.SIGALRM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: os._exit(0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])  # the runtime may have blocked it
    signal.setitimer(signal.ITIMER_REAL, target.timeout_s)
    with suppress(Exception):
        os.fstat(1)  # if it is closed, the socket would take its place
        sent = _input()
        found = moment(target.runtime, json.loads(sent)) if sent else None
        if found is not None:
            _tell(target, found)
    signal.setitimer(signal.ITIMER_REAL, 0)  # an interpreter that ends has no handler any more
    return 0


def _input() -> bytes:
    """Standard input; empty if it is longer than INPUT_BYTES_MAX."""
    parts, size = list[bytes](), 0
    while part := os.read(0, _CHUNK_BYTES):
        size += len(part)
        if size <= INPUT_BYTES_MAX:
            parts.append(part)
    return b"".join(parts) if size <= INPUT_BYTES_MAX else b""


def _tell(target: HookTarget, found: Moment) -> None:
    folders = [os.path.realpath(folder) for folder in (found.folder, *target.vaults) if folder is not None]
    path = _socket_of(target, folders)
    connection = open_socket(path) if path is not None else None
    if connection is None:
        return
    with connection, connection.makefile("rb") as answers:
        offer = {
            "client": found.runtime.client,
            "session": found.session,
            "event": found.event,
            "folders": folders,
            "tell": found.tell,
            "form": found.runtime.form,
        }
        _send(connection, "workspaced/volunteer", offer, 1)
        result = json.loads(answers.readline()).get("result") or {}
        text, token = result.get("text"), result.get("token")
        if not isinstance(text, str) or not text:
            return
        answer = json.dumps(found.output(text), ensure_ascii=False).encode() + b"\n"
        if not _fits(answer):
            return
        signal.setitimer(signal.ITIMER_REAL, 0)  # half of an answer would be read as text
        os.write(1, answer)
        _send(connection, "workspaced/volunteer/confirm", {"token": token}, 2)


def _socket_of(target: HookTarget, folders: Sequence[str]) -> str | None:
    """The socket of the daemon that serves the first of the folders that any daemon serves."""
    named = target.socket_path or os.environ.get("WORKSPACED_SOCKET")
    if named:
        return named
    records = running()
    if target.workspace is not None:
        records = [each for each in records if each.workspace == target.workspace]
    for folder in folders:
        if (record := serving(records, [folder])) is not None:
            return record.socket
    return None


def _send(connection: socket.socket, method: str, params: dict[str, Any], number: int) -> None:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    connection.sendall(json.dumps(request).encode() + b"\n")


def _fits(answer: bytes) -> bool:
    """Whether standard output takes the whole answer at once, also from a runtime that reads only at the end."""
    if not stat.S_ISFIFO(os.fstat(1).st_mode) or not hasattr(fcntl, "F_GETPIPE_SZ"):
        return True
    return len(answer) <= fcntl.fcntl(1, fcntl.F_GETPIPE_SZ)
