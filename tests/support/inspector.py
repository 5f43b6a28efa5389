"""`workspaced inspect` in a process of its own, and a bare client of its API."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from support import process
from support.daemon import ANSWER_S, STOP_S, Daemon

Json = dict[str, Any]


class Inspector:
    """`with` it runs, over a log or a daemon."""

    def __init__(self, subject: Daemon | Path, *flags: str, env: Mapping[str, str] | None = None) -> None:
        of_daemon = isinstance(subject, Daemon)
        named = ["--socket", str(subject.socket)] if of_daemon else [str(subject)]
        environment = {**(subject.env if of_daemon else {}), "NO_PROXY": "*", **(env or {})} if of_daemon else env
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process: process.Process = process.spawn(
            "inspect", *named, "--json", "--no-browser", *flags, env=environment, **streams
        )
        self.stderr: list[str] = []
        self._reader = threading.Thread(target=self._read_stderr)
        self._reader.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self._end_of_one_that_did_not_start()
        self.started: Json = json.loads(line)
        self.url: str = self.started["url"]
        parts = urlsplit(self.url)
        self.port: int = parts.port or 0
        self.token: str = parse_qs(parts.fragment)["token"][0]

    def __enter__(self) -> "Inspector":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.wait()
        if kind is None:
            assert code in (0, 130) and not any("Traceback" in line for line in self.stderr), self.stderr

    def _end_of_one_that_did_not_start(self) -> list[str]:
        self.wait()
        return self.stderr

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            self.stderr.extend(line.decode(errors="replace").rstrip("\n") for line in self.process.stderr)

    def wait(self) -> int:
        """The exit code, once it has ended."""
        code = self.process.wait(STOP_S)
        self._reader.join(STOP_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    # -- its API --

    @contextmanager
    def connection(self) -> Iterator[HTTPConnection]:
        made = HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            yield made
        finally:
            made.close()

    def asked(self, method: str, path: str, body: Any = None) -> tuple[int, Json]:
        """The status and the JSON of an answer."""
        with self.connection() as connection:
            response = self.send(connection, method, path, body)
            return response.status, json.loads(response.read())

    def get(self, path: str, **parameters: Any) -> Json:
        """The answer of a view; it must succeed."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        status, answer = self.asked("GET", quote(path) + query)
        assert status == 200, answer
        return answer

    def post(self, path: str, **body: Any) -> Json:
        """The answer to a change; it must succeed."""
        status, answer = self.asked("POST", path, body)
        assert status == 200, answer
        return answer

    def send(self, connection: HTTPConnection, method: str, path: str, body: Any = None) -> HTTPResponse:
        """One request on an open connection; the caller reads the response."""
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, path, data, {"Authorization": f"Bearer {self.token}"})
        return connection.getresponse()

    @contextmanager
    def tail(self) -> Iterator["Tail"]:
        """A page's stream."""
        with self.connection() as connection:
            yield Tail(self.send(connection, "GET", "/api/tail"))


class Tail:
    """The messages of a stream, read as they come."""

    def __init__(self, response: HTTPResponse) -> None:
        self.status = response.status
        self._response = response

    def next(self) -> tuple[str, Json] | None:
        """The next message, without comments; None: the stream ended."""
        kind = ""
        while line := self._response.readline().decode():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ").strip()
            elif line.startswith("data: "):
                return kind, json.loads(line.removeprefix("data: "))
        return None

    def until(self, kind: str, **wanted: Any) -> Json:
        """The next message of a kind that has these values; those before it are dropped."""
        while (message := self.next()) is not None:
            if message[0] == kind and all(message[1].get(name) == value for name, value in wanted.items()):
                return message[1]
        raise AssertionError(f"the stream ended without {kind} {wanted}")
