"""`workspaced inspect` in a process of its own, and a client of its API."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from support import TESTS
from support.daemon import ANSWER_S, clean_environment
from support.program import Program

Json = dict[str, Any]
RECORDED = TESTS / "data" / "answers" / "v1.wsb"
"""A bundle of a real daemon: notes looked at, calls of every tool, two prompts."""


class Inspector(Program):
    """On a port of its own."""

    def __init__(self, *arguments: str | Path, env: Mapping[str, str], cwd: Path | None = None) -> None:
        """`arguments`: of `workspaced inspect`: the log, options; `cwd`: the folder it runs in."""
        super().__init__("inspect", *arguments, "--json", "--no-browser", env=env, cwd=cwd)
        self.url: str = self.started["url"]
        address = urlsplit(self.url)
        self.port = address.port or 0
        self.token = address.fragment.removeprefix("token=").partition("&")[0]
        self._client = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=ANSWER_S, trust_env=False)

    def request(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> httpx2.Response:
        """An answer, whatever its status; with the token unless `headers` has another `Authorization`."""
        own = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        return self._client.request(method, path, headers={k: v for k, v in own.items() if v}, **options)

    def get(self, path: str, **parameters: Any) -> Json:
        """The values of a view, which must answer."""
        answer = self.request("GET", path, params=parameters)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def post(self, path: str, **body: Any) -> Json:
        """As `get`, with a body of JSON."""
        answer = self.request("POST", path, json=body)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def error(self, path: str, method: str = "GET", **options: Any) -> tuple[int, str]:
        """The status and the code of a request that must fail; it says what was wrong."""
        answer = self.request(method, path, **options)
        error: Json = answer.json()["error"]
        assert answer.status_code >= 400 and error["message"]
        return answer.status_code, error["code"]

    @contextmanager
    def tail(self) -> Iterator["Tail"]:
        """A page's stream."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            connection.request("GET", "/api/tail", headers={"Authorization": f"Bearer {self.token}"})
            yield Tail(connection.getresponse())
        finally:
            connection.close()

    def __exit__(self, *error: Any) -> None:
        self._client.close()
        super().__exit__(*error)


def environment_in(home: Path) -> dict[str, str]:
    """A user's who has no daemon; what an interpreter reads at its start is ours, so that it is forked."""
    return {**clean_environment(home), "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}


def over_recorded(home: Path) -> Inspector:
    """One over `RECORDED`, for tests that only ask."""
    return Inspector(RECORDED, env=clean_environment(home))


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
