"""A daemon of a later version, as far as a client can tell: a relay before a real one that says more than it."""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NEWS = {"jsonrpc": "2.0", "method": "workspaced/of-a-later-version", "params": {"anything": [1, {"deep": None}]}}


class NewerDaemon:
    """Listens at `path`. Each answer has fields that nobody knows, hello's also capabilities; before each comes a
    notification of an unknown method."""

    def __init__(self, path: Path, real: Path) -> None:
        self.path = path
        self.said = 0
        """How many answers it gave."""
        self._real = real
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen()
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()

    def _start(self, work: Any, *arguments: Any) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                real = socket.socket(socket.AF_UNIX)
                real.connect(str(self._real))
                self._open += [client, real]
                self._start(self._pass_on, client, real, False)
                self._start(self._pass_on, real, client, True)

    def _pass_on(self, source: socket.socket, target: socket.socket, says_more: bool) -> None:
        with suppress(OSError), source.makefile("rb") as lines:
            for line in lines:
                target.sendall(self._with_more(line) if says_more else line)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def _with_more(self, line: bytes) -> bytes:
        message = json.loads(line)
        if isinstance(message.get("result"), dict):
            self.said += 1
            message["result"]["ofALaterVersion"] = {"known": False}
            if "capabilities" in message["result"]:
                message["result"]["capabilities"] += ["telepathy", "inferred-by-telepathy"]
                message["result"]["version"] = "99.0.0"
            for vault in message["result"].get("vaults", ()):
                vault["ofALaterVersion"] = [None]
        return json.dumps(NEWS).encode() + b"\n" + json.dumps(message).encode() + b"\n"
