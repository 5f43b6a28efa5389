"""What clients and daemon of an older version said to each other (tests/data/wire); that daemon, played again."""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from support import DATA

RECORDED = sorted((DATA / "wire").glob("*.json"))


def connections(file: Path) -> list[dict[str, Any]]:
    """The recorded connections: `client`, and `lines` of [who, message]."""
    found: list[dict[str, Any]] = json.loads(file.read_text())
    return found


def answers(lines: list[Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The requests that a client made, each with its answer."""
    by_id = {message["id"]: message for who, message in lines if who == "daemon" and "id" in message}
    return [(message, by_id[message["id"]]) for who, message in lines if who == "client" and "id" in message]


def key(request: dict[str, Any]) -> tuple[str, str]:
    """What an answer depends on, roughly enough: the method, and the tool."""
    return request["method"], str((request.get("params") or {}).get("name", ""))


class OldDaemon:
    """Listens at `path` and answers each request as the older daemon did; what it did not know, with its error."""

    def __init__(self, file: Path, path: Path, vault: Path) -> None:
        """`vault`: the folder that it says it serves."""
        self.asked: list[str] = []
        """The methods, in order."""
        self.requests: list[dict[str, Any]] = []
        """The same, whole."""
        self._answers: dict[tuple[str, str], dict[str, Any]] = {}
        self._notice: dict[str, Any] | None = None
        first = connections(file)[0]["lines"][1][1]["result"]["vaults"][0]["path"]
        self._paths = json.dumps(first)[1:-1], json.dumps(str(vault))[1:-1]
        for connection in connections(file):
            for request, answer in answers(connection["lines"]):
                self._answers.setdefault(key(request), answer)
            notices = [message for who, message in connection["lines"] if who == "daemon" and "method" in message]
            self._notice = next((each for each in notices if each["method"] == "workspaced/event"), self._notice)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                made = self._listener.accept()[0]
                self._open.append(made)
                self._threads.append(threading.Thread(target=self._serve, args=(made,)))
                self._threads[-1].start()

    def _serve(self, made: socket.socket) -> None:
        with suppress(OSError), made.makefile("rb") as lines:
            for line in lines:
                for message in self._answered(json.loads(line)):
                    made.sendall(json.dumps(message).replace(*self._paths).encode() + b"\n")
        with suppress(OSError):
            made.shutdown(socket.SHUT_RDWR)

    def _answered(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        self.asked.append(request["method"])
        self.requests.append(request)
        if "id" not in request:
            return []
        unknown = self._answers[("workspaced/of-a-later-version", "")]
        answer = {**self._answers.get(key(request), unknown), "id": request["id"]}
        if request["method"] != "workspaced/subscribe" or self._notice is None:
            return [answer]
        params = {**self._notice["params"], "subscription": answer["result"]["subscription"]}
        return [answer, {**self._notice, "params": params}]

    def close(self) -> None:
        """Ends every connection."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()
